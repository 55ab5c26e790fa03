"""How every kernel is compiled, and when a compiled one may be reused.

numba's own cache asks whether the file of a kernel changed, not whether a kernel that it *calls* did: after an edit of the
rules a cached caller in another file would still play the old ones. Here the stamp of every cached kernel is a digest of all
files of the package that hold kernels, so that an edit to any of them recompiles all of them. The stamp of a kernel outside
the package covers the files of its own folder too.

A cache that can't be read or written costs time, never a result: the kernels are compiled in each process, and one warning
says where. A process that compiles says so in one line (`core.first_use`).
"""

from __future__ import annotations

import glob
import hashlib
import inspect
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

from getbit_env.core.first_use import is_worker, tell_that_it_compiles

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
_MARKS = (b"@kernel", b"@lean_kernel", b"@inlined", b"@part")
_warned: set[str] = set()
_compiled: list[Any] = []


@cache
def kernel_sources_digest(folder: Path = PACKAGE) -> str:
    """Hex digest of every source file of the package that holds kernels, and of those in a folder outside of it."""
    files = sorted(PACKAGE.rglob("*.py"))
    if not folder.is_relative_to(PACKAGE):
        files += sorted(folder.glob("*.py"))
    digest = hashlib.sha256()
    for path in files:
        text = path.read_bytes()
        if any(mark in text for mark in _MARKS):
            name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.name
            digest.update(str(name).encode() + b"\0" + text + b"\0")
    return digest.hexdigest()


def compiled_functions() -> tuple[Any, ...]:
    """All functions that were compiled, or will be when they are called: dispatchers of numba, in the order of their making."""
    return tuple(_compiled)


def cache_files(functions: Iterable[Any]) -> dict[Path, int]:
    """The files in which compiled functions are kept, with their sizes in bytes."""
    found = {}
    for function in functions:
        cache = function._cache
        if isinstance(cache, _KernelCache):
            folder, name = Path(cache.cache_path), cache.filename_base
            found.update({path: path.stat().st_size for path in folder.glob(f"{glob.escape(name)}.*") if path.is_file()})
    return found


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


_Untyped: Any = FunctionCache  # numba calls itself typed, but these functions are not


class _KernelCache(_Untyped):  # type: ignore[misc]  # it is typed no better than its base
    """numba's cache of one function, stamped with all kernels, in which nothing that is wrong with its files stops a program."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        folder = Path(inspect.getfile(function)).resolve().parent
        self._cache_file._source_stamp = (self._cache_file._source_stamp, kernel_sources_digest(folder))

    @property
    def filename_base(self) -> str:
        """What the names of the function's files begin with."""
        return str(self._impl.filename_base)

    def load_overload(self, *arguments: Any) -> Any:
        found = self._load(*arguments)
        if found is None:  # numba compiles it now
            tell_that_it_compiles(_place(Path(self.cache_path)))
        return found

    def _load(self, *arguments: Any) -> Any:
        try:
            return super().load_overload(*arguments)
        except Exception as error:  # whatever unpickling half a file raises
            self._warn("reading", "deleting the folder repairs it", error)
            try:
                self.flush()  # the kernel is compiled now, and kept in place of what is damaged
            except OSError:
                self.disable()
            return None

    def save_overload(self, *arguments: Any) -> None:
        try:
            super().save_overload(*arguments)
        except Exception as error:  # the disk is full, or the index was damaged meanwhile
            self._warn("writing", _ADVICE, error)

    def _warn(self, doing: str, advice: str, error: Exception) -> None:
        where = f"{Path(self.cache_path) / self.filename_base}.*"
        _warn_once(doing, f"{doing} compiled kernels failed at {where}: {_described(error)}; they are compiled anew, and {advice}")


_ADVICE = "the environment variable NUMBA_CACHE_DIR can name another folder to keep them in"


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    compiled: Any = numba.njit(**options)(function)
    _compiled.append(compiled)
    try:
        compiled._cache = _KernelCache(function)
    except (AttributeError, RuntimeError, OSError) as error:  # no folder for a cache, or a numba that keeps its stamp elsewhere
        _warn_once("keeping", f"compiled kernels are not kept, so that every process compiles anew: {_described(error)}; {_ADVICE}")
    return compiled


def _place(folder: Path) -> str:
    """The folder that holds all kernels, given that of one: they are kept beside their sources, or below one folder."""
    return str(PACKAGE / "**" / "__pycache__") if folder.is_relative_to(PACKAGE) else str(folder.parent)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _warn_once(kind: str, message: str) -> None:
    """Warn, once a process: what is wrong with one kernel's files is wrong with those of dozens, and of workers."""
    if kind not in _warned and not is_worker():
        _warned.add(kind)
        warnings.warn(message, stacklevel=2)
