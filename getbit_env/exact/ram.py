"""Whether a computation fits into memory is asked before it begins: a system that runs out kills the process without a message."""

from __future__ import annotations

import os


def machine_memory() -> int | None:
    """Bytes of memory of this machine, None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no such function on Windows, no such name on some systems
        return None


def need_memory(size: int, what: str) -> None:
    """Refuse what does not fit into memory.

    Args:
        size: bytes that it takes.
        what: it is, for the message.

    Raises:
        ValueError: there is not so much.
    """
    there = machine_memory()
    if there is not None and size > there:
        raise ValueError(f"{what} takes {size / 1e9:.1f} GB of memory, and this machine has {there / 1e9:.1f}")
