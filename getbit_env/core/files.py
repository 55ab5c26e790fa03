"""Files that are whole or not there, and folders with one owner at a time.

A process may be killed, and a disk may be full, at any moment. A process number is not unique: every container has a process 1.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout


class InUseError(RuntimeError):
    """A file or folder belongs to another process at the moment; the message names it."""


def temporary_beside(path: Path) -> Path:
    """A name that nobody else uses, for a temporary file or folder in the folder of `path`."""
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(6)}.part")  # 50 letters are at most 200 bytes, of 255


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that `path` holds all of it, or what it held before.

    Args:
        path: the file, or a link to it; its folder is made if need be.
        write: writes the file that it is given.

    Raises:
        OSError: it can't be written, for one because the disk is full. Nothing is left behind then.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = temporary_beside(path)
    try:
        write(part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """`write_whole` of a text, in UTF-8."""
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """`write_whole` of a value as JSON."""
    write_text(path, json.dumps(value, indent=1) + "\n")


@contextmanager
def owned(path: Path, what: str) -> Iterator[None]:
    """Own a file or folder while the block runs. The system releases it when the process ends, however it ends.

    Args:
        path: the file or folder, which need not exist yet; a file `.NAME.lock` beside it keeps the lock. All paths that lead to
            it, such as links, are one.
        what: what it is, for the message.

    Raises:
        InUseError: another process owns it, or another block of this one.
        OSError: the lock can't be written.
    """
    real = path.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(real.with_name(f".{real.name}.lock"))
    holder = real.with_name(f".{real.name}.holder")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        try:
            by = holder.read_text(encoding="utf-8")
        except OSError:
            by = "another process"
        raise InUseError(f"{what} {path} is in use by {by}; wait until it is done, or choose another") from None
    try:
        holder.write_text(f"process {os.getpid()} on {platform.node()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC", "utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()
