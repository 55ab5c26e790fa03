"""How every kernel of the package is compiled, and when a compiled one may be reused.

numba's own cache asks whether the file of a kernel changed, not whether a kernel that it *calls* did: after an edit of the
rules a cached caller in another file would still play the old ones. Here the stamp of every cached kernel is a digest of all
files that hold kernels, so that an edit to any of them recompiles all of them.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


@cache
def kernel_sources_digest() -> str:
    """Hex digest of every source file of the package that holds kernels."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        text = path.read_bytes()
        if any(mark in text for mark in (b"@kernel", b"@lean_kernel", b"@inlined", b"@part")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + text + b"\0")
    return digest.hexdigest()


def kernel(function: F) -> F:
    """Compile `function` with numba, without the interpreter lock, cached on disk until any kernel of the package changes."""
    return cast(F, _compile(function, nogil=True))


def lean_kernel(function: F) -> F:
    """`kernel` for what makes no arrays and returns none.

    Numba then counts no references to arrays: in kernels that branch it can't prove most of that away, and the counting takes
    several times as long as the play.
    """
    return cast(F, _compile(function, nogil=True, _nrt=False))


def inlined(function: F) -> F:
    """Compile a function into all that call it; lean as well."""
    return cast(F, _compile(function, nogil=True, forceinline=True, _nrt=False))


def part(function: F) -> F:
    """Put a part of one lean kernel into that before it is compiled, so that it is not compiled by itself in vain as well."""
    return cast(F, _compile(function, nogil=True, inline="always"))


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    compiled: Any = numba.njit(**options)(function)
    try:
        compiled.enable_caching()
        cache_file = compiled._cache._cache_file
        cache_file._source_stamp = (cache_file._source_stamp, kernel_sources_digest())
    except (AttributeError, RuntimeError) as error:  # no place for a cache, or a numba that keeps its stamp elsewhere
        warnings.warn(f"compiled kernels are not cached, every process compiles anew: {error}", stacklevel=3)
        compiled = numba.njit(**options)(function)
    return compiled
