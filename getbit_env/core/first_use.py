"""What a process says when it compiles: one line on stderr, with the way to avoid it.

Workers of `multiprocessing` say nothing: their parent does. Programs for which the line is too much set `GETBIT_ENV_QUIET`.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

QUIET = "GETBIT_ENV_QUIET"  # the environment variable that hides the line; anything but nothing and 0 does
_told = False


def is_worker() -> bool:
    """Whether this process works for another one, by `multiprocessing`."""
    return multiprocessing.parent_process() is not None


def tell_that_it_compiles(where: str) -> None:
    """Say, once a process, that compilation takes its time.

    Args:
        where: the folder in which compiled kernels are kept.
    """
    global _told
    if _told or is_worker() or os.environ.get(QUIET, "") not in ("", "0") or sys.stderr is None:
        return
    _told = True
    sys.stderr.write(
        "getbit-env: compiling for the first use, which takes seconds to a minute; later processes find it in "
        f"{where}. `getbit warm-up` compiles everything at once; {QUIET}=1 hides this line\n"
    )
    sys.stderr.flush()
