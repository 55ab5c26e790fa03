"""Files of what was computed: whole or not there, and never taken for what they are not."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.get_bit.variants import Variant, parse_variant
from getbit_env.version import __version__

FORMAT = 1
FOLDER_VARIABLE = "GETBIT_ENV_CACHE"


class StoredResultError(ValueError):
    """A file is damaged, or of another game, other rules or another format than it has to be; the message says which."""


def cache_folder() -> Path:
    """Where tables lie: the folder that the environment variable `GETBIT_ENV_CACHE` names, else the user's cache folder."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "getbit-env"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "getbit-env"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "getbit-env"


@cache
def rules_digest() -> str:
    """Hex digest of the sources that say what a number in a table means: the rules, and the numbering of positions."""
    digest = hashlib.sha256()
    for name in ("get_bit/rules.py", "exact/positions.py"):
        digest.update((Path(__file__).parents[1] / name).read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def solution_path(variant: Variant) -> Path:
    """The file of a solved variant in the cache folder."""
    return cache_folder() / f"{variant.name}-solved.npz"


def save_result(path: Path, kind: str, variant: Variant, facts: dict[str, Any], **arrays: NDArray[Any]) -> None:
    """Write a table, compressed, so that `path` holds all of it or what it held before.

    Args:
        path: the file.
        kind: what it is a table of.
        variant: of which game.
        facts: what else is told with it, JSON-able.
        **arrays: the table.

    Raises:
        OSError: it can't be written, for one because the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "format": FORMAT,
        "kind": kind,
        "variant": variant.name,
        "rules": list(variant.rules),
        "digest": rules_digest(),
        "version": __version__,
        "facts": facts,
    }
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, about=np.array(json.dumps(about)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load_result(path: Path, kind: str, variant: Variant | None = None) -> tuple[Variant, dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `save_result` wrote.

    Args:
        path: the file.
        kind: what it has to be a table of.
        variant: of which game it has to be; any by default.

    Returns:
        The variant, the facts, and the arrays by name.

    Raises:
        FileNotFoundError: there is no such file.
        StoredResultError: it is damaged, or not what it has to be.
    """
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        found = {key: about[key] for key in ("format", "kind", "variant", "rules", "digest", "version", "facts")}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise StoredResultError(f"{path} is damaged or no table ({error})") from error
    if found["format"] != FORMAT:
        raise StoredResultError(f"{path} has format {found['format']}, this version reads format {FORMAT}")
    if found["kind"] != kind:
        raise StoredResultError(f"{path} holds {found['kind']}, not {kind}")
    if variant is not None and found["variant"] != variant.name:
        raise StoredResultError(f"{path} is of the variant {found['variant']}, not {variant}")
    its_variant = parse_variant(found["variant"])
    if found["digest"] != rules_digest() or found["rules"] != list(its_variant.rules):
        raise StoredResultError(f"{path} was computed by other rules (those of version {found['version']}) than this package plays")
    return its_variant, found["facts"], arrays


def read_kept(folder: Path | None, name: str, kind: str, variant: Variant) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """Facts and arrays that an interrupted computation kept, None where there are none that can be used."""
    if folder is None:
        return None
    try:
        return load_result(folder / f"{name}.npz", kind, variant)[1:]
    except (FileNotFoundError, StoredResultError):
        return None
