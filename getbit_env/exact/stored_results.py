"""Files of what was computed: whole or not there, and never taken for what they are not.

A stored result is a zip file of NumPy arrays and a JSON object, `about.json`, which says of what they are. A reader knows from the
variant which arrays there have to be, of which type and size, and checks what the file declares before it reads any of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from getbit_env.core.files import write_whole
from getbit_env.exact.ram import need_memory
from getbit_env.get_bit.variants import Variant, parse_variant
from getbit_env.version import __version__

FORMAT = 1
FOLDER_VARIABLE = "GETBIT_ENV_CACHE"
ABOUT = "about.json"
MOST_ABOUT = 1 << 16  # bytes of `about.json`
MOST_HEADER = 1 << 10  # bytes of what an array file says of itself
_ABOUT_TYPES = {"format": int, "kind": str, "variant": str, "rules": list, "digest": str, "version": str, "facts": dict}
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
T = TypeVar("T")


class StoredResultError(ValueError):
    """A file is damaged, or of another game, other rules or another format than it has to be; the message says which."""


class NotSolvedError(ValueError):
    """A variant is not solved here; the message names the command that solves it."""


def cache_folder() -> Path:
    """Where solutions lie: the folder that the environment variable `GETBIT_ENV_CACHE` names, else the user's cache folder.

    Raises:
        ValueError: there is no home folder, and no variable that names another one.
    """
    try:
        if named := os.environ.get(FOLDER_VARIABLE):
            return Path(named).expanduser()
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "getbit-env"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "getbit-env"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "getbit-env"
    except RuntimeError as error:
        raise ValueError(
            f"there is no home folder in which solutions could be kept ({error}); set {FOLDER_VARIABLE} to a folder"
        ) from error


@cache
def rules_digest() -> str:
    """Hex digest of the sources that say what a number in a stored result means: the rules, and the numbering of positions."""
    digest = hashlib.sha256()
    for name in ("get_bit/rules.py", "exact/positions.py"):
        digest.update((Path(__file__).parents[1] / name).read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def solution_path(variant: Variant) -> Path:
    """The file of a solved variant in the cache folder.

    Raises:
        ValueError: there is no cache folder, see `cache_folder`.
    """
    return cache_folder() / f"{variant.name}-solved.npz"


def save_result(
    path: Path,
    kind: str,
    variant: Variant,
    facts: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    compress: bool = True,
) -> None:
    """Write a result so that `path` holds all of it or what it held before. Equal results give equal files.

    Args:
        path: the file.
        kind: what it is.
        variant: of which game.
        facts: what else is told with it, JSON-able.
        arrays: the result.
        compress: its arrays; values, which hardly get smaller, are written ten times as fast without.

    Raises:
        OSError: it can't be written, for one because the disk is full.
    """
    about = {
        "format": FORMAT,
        "kind": kind,
        "variant": variant.name,
        "rules": list(variant.rules),
        "digest": rules_digest(),
        "version": __version__,
        "facts": dict(facts),
    }

    def write(part: Path) -> None:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as file:
            for name, array in arrays.items():
                with file.open(_member(f"{name}.npy", compress), "w", force_zip64=True) as member:
                    npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            with file.open(_member(ABOUT, compress), "w") as member:
                member.write(json.dumps(about).encode())

    write_whole(path, write)


def _member(name: str, compress: bool) -> zipfile.ZipInfo:
    """A member of a zip file that has no date, so that equal contents give equal bytes."""
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    return member


class StoredResult:
    """A stored result that is open: of the right kind, and computed by the rules of this package.

    Attributes:
        path: the file.
        variant: the game.
    """

    path: Path
    variant: Variant

    def __init__(self, path: Path, file: zipfile.ZipFile, kind: str, variant: Variant | None, arrays: tuple[str, ...]) -> None:
        """Check what the file says of itself.

        Args:
            path: the file, for messages.
            file: the same, open.
            kind: what it has to be.
            variant: of which game it has to be; any by default.
            arrays: that it has to hold, no more and no less.

        Raises:
            StoredResultError: it is something else.
        """
        self.path, self._file = path, file
        names = {ABOUT, *(f"{name}.npy" for name in arrays)}
        members = file.infolist()
        if len(members) != len(names) or {member.filename for member in members} != names:
            raise self.error(f"it does not hold {', '.join(sorted(names))} and nothing else")
        self._members = {member.filename: member for member in members}
        about = self._about()
        if about["format"] != FORMAT:
            raise StoredResultError(f"{path} has format {about['format']}, this version reads format {FORMAT}")
        if about["kind"] != kind:
            raise StoredResultError(f"{path} holds {about['kind'][:80]}, not {kind}")
        if variant is not None and about["variant"] != variant.name:
            raise StoredResultError(f"{path} is of the variant {about['variant'][:80]}, not {variant}")
        try:
            self.variant = parse_variant(about["variant"]) if variant is None else variant
        except ValueError as error:
            raise self.error(str(error)) from error
        if about["digest"] != rules_digest() or about["rules"] != list(self.variant.rules):
            raise StoredResultError(
                f"{path} was computed by other rules (those of version {about['version'][:80]}) than this package plays"
            )
        self._facts: dict[str, Any] = about["facts"]

    def error(self, reason: str) -> StoredResultError:
        """What to raise if something in the file is not as it has to be."""
        return StoredResultError(f"{self.path} is damaged or no stored result of this package ({reason[:300]})")

    def number(self, fact: str) -> float:
        """A fact that is a finite number.

        Raises:
            StoredResultError: it is none.
        """
        found = self._facts.get(fact)
        if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < math.inf:
            raise self.error(f"{fact} is no number")
        return float(found)

    def text(self, fact: str) -> str:
        """A fact that is a text.

        Raises:
            StoredResultError: it is none.
        """
        found = self._facts.get(fact)
        if not isinstance(found, str):
            raise self.error(f"{fact} is no text")
        return found

    def numbers(self, fact: str, count: int) -> list[float]:
        """A fact that is so many finite numbers.

        Raises:
            StoredResultError: it is something else.
        """
        found = self._facts.get(fact)
        if not isinstance(found, list) or len(found) != count:
            raise self.error(f"{fact} is no list of {count} numbers")
        if not all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < math.inf for x in found):
            raise self.error(f"{fact} is no list of {count} numbers")
        return [float(x) for x in found]

    def array(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
        """An array that has to be of this type and shape. No more than that is ever read or allocated.

        Raises:
            StoredResultError: the file declares, or holds, something else; or this machine has not so much memory.
        """
        kind, size = np.dtype(dtype), math.prod(shape) * np.dtype(dtype).itemsize
        member = self._members[f"{name}.npy"]
        if not size < member.file_size <= size + MOST_HEADER:
            raise self.error(f"{name} has {member.file_size} bytes, not {size} and a header")
        try:
            need_memory(size, f"{name} of {self.path}")
        except ValueError as error:
            raise StoredResultError(str(error)) from error

        def read(file: IO[bytes]) -> NDArray[Any] | None:
            version = npy.read_magic(file)
            if version != (1, 0):
                return None
            found, by_column, its_type = npy.read_array_header_1_0(file, max_header_size=MOST_HEADER)
            if found != shape or by_column or its_type != kind:
                return None
            array = np.empty(shape, kind)
            bytes_of = array.reshape(-1).view(np.uint8).data
            at = 0
            while at < size and (got := file.readinto(bytes_of[at:])):  # type: ignore[attr-defined]  # a ZipExtFile
                at += got
            return array if at == size and not file.read(1) else None  # at the end the checksum is compared

        array = self._read(member, read)
        if array is None:
            raise self.error(f"{name} is no array of shape {shape} and type {kind}")
        return array

    def _about(self) -> dict[str, Any]:
        member = self._members[ABOUT]
        if member.file_size > MOST_ABOUT:
            raise self.error(f"{ABOUT} has {member.file_size} bytes, and {MOST_ABOUT} is the most")
        about = self._read(member, lambda file: json.loads(file.read(MOST_ABOUT)))
        if not isinstance(about, dict) or set(about) != set(_ABOUT_TYPES):
            raise self.error(f"{ABOUT} is no object of {', '.join(_ABOUT_TYPES)}")
        for name, kind in _ABOUT_TYPES.items():
            if type(about[name]) is not kind:
                raise self.error(f"{name} in {ABOUT} is no {kind.__name__}")
        return about

    def _read(self, member: zipfile.ZipInfo, read: Callable[[IO[bytes]], T]) -> T:
        """Read a member with a function that may raise whatever it stumbles over."""
        if member.compress_type not in _COMPRESSIONS or member.flag_bits & _ENCRYPTED:
            raise self.error(f"{member.filename} is encrypted, or compressed in a way that is never used here")
        try:
            with self._file.open(member) as file:
                return read(file)
        except Exception as error:  # zipfile, zlib, json and NumPy raise a dozen kinds over damaged bytes
            raise self.error(f"{member.filename}: {error!r}") from error


@contextmanager
def open_result(path: Path, kind: str, variant: Variant | None, arrays: tuple[str, ...]) -> Iterator[StoredResult]:
    """Open what `save_result` wrote.

    Args:
        path: the file.
        kind: what it has to be.
        variant: of which game it has to be; any if None.
        arrays: the names of what it has to hold.

    Raises:
        FileNotFoundError: there is no such file.
        StoredResultError: it can't be read, is damaged, or is not what it has to be.
    """
    try:
        file = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile raises a dozen kinds over damaged bytes
        raise StoredResultError(f"{path} is damaged or no stored result of this package ({error!r})") from error
    with file:
        yield StoredResult(path, file, kind, variant, arrays)


def kind_of(path: Path, kinds: tuple[str, ...]) -> str:
    """Which of some kinds a stored result says that it is; the first of them if it says something else.

    To read it is to check it: `open_result` refuses what this only guesses.

    Raises:
        FileNotFoundError: there is no such file.
    """
    try:
        with zipfile.ZipFile(path) as file, file.open(ABOUT) as member:
            said = json.loads(member.read(MOST_ABOUT))["kind"]
    except FileNotFoundError:
        raise
    except Exception:  # zipfile and json raise a dozen kinds over damaged bytes
        return kinds[0]
    return said if said in kinds else kinds[0]


def read_kept(
    folder: Path | None, name: str, kind: str, variant: Variant, arrays: Mapping[str, NDArray[Any]], fact: str | None = None
) -> float | None:
    """Fill arrays with what an interrupted computation kept.

    Args:
        folder: where it kept it; None if nowhere.
        name: of the file, without its ending.
        kind: what it has to be.
        variant: of which game.
        arrays: that it has to hold; filled in, or left as they are.
        fact: a number that is told with it; none by default.

    Returns:
        The fact, 0 if none is asked for; None where nothing can be used.
    """
    if folder is None:
        return None
    try:
        with open_result(folder / f"{name}.npz", kind, variant, tuple(arrays)) as stored:
            number = 0.0 if fact is None else stored.number(fact)
            found = {key: stored.array(key, array.dtype, array.shape) for key, array in arrays.items()}
    except (FileNotFoundError, StoredResultError):
        return None
    for key, array in arrays.items():
        array[...] = found[key]
    return number
