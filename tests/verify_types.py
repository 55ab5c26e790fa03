"""`python -m tests.verify_types [MODULE ...]`: every name that the package exports has a type that is known without guessing.

Pyright asks this of an installed package. PettingZoo has annotations, but no `py.typed`. So Pyright takes all its classes for
unknown, and ours that inherit from them too. It gets a copy of PettingZoo's sources with the marker, and likewise of OpenSpiel's
and stubs of `pyspiel`, which is compiled.

OpenSpiel and Ray are extras. Where one is not installed, the bases of classes that inherit from it are unknown, and nothing else
may be; `nox -s openspiel` and `nox -s ray` check the classes with their bases.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BASES = {"getbit_env.openspiel": "pyspiel", "getbit_env.rllib": "ray"}  # by module: the extra that its classes inherit from
# What follows from an unknown base: of the class, and of a function that takes or returns an instance of a class of the module.
_OF_BASES = re.compile(
    r"[\w.]+: (?:Type of (?:metaclass|base class) unknown"
    r'|(?:Return type|Type of parameter "\w+") is partially unknown\n\s+(?:Return|Parameter) type is "\w+")'
)
# RLlib imports torch by a function, so that what its own classes inherit from is known when they run alone.
_OF_RAY = "getbit_env.rllib.MaskedPPOModule: Type of metaclass unknown"


def report() -> dict[str, Any]:
    """What Pyright says of the package, as it says it in JSON."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for name in ("pettingzoo", "open_spiel"):
            _mark(name, folder / "with")
        if find_spec("pyspiel"):
            _write_stubs("pyspiel", folder / "with")
        (folder / "with" / "getbit_env").symlink_to(ROOT / "getbit_env")
        (folder / "work").mkdir()
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # Pyright asks `python` where packages are
        done = subprocess.run(
            [sys.executable, "-m", "pyright", "--verifytypes", "getbit_env", "--ignoreexternal", "--outputjson"],
            cwd=folder / "work",
            env={**os.environ, "PATH": path, "PYTHONPATH": str(folder / "with"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _mark(package: str, folder: Path) -> None:
    """Copy the sources of an installed package, with the marker of typed ones."""
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        shutil.copytree(
            Path(spec.origin).parent,
            folder / package,
            ignore=lambda _, names: [one for one in names if "." in one and not one.endswith(".py")],
        )
        (folder / package / "py.typed").touch()


def _write_stubs(module: str, folder: Path) -> None:
    """Write what a compiled module says of its classes."""
    code = "from mypy.stubgen import main; main()"
    call = [sys.executable, "-c", code, "--quiet", "--inspect-mode", "--module", module, "--output", folder]
    subprocess.run(call, check=True, capture_output=True)


def excused(fault: str) -> bool:
    """Whether a fault is that of an unknown base: of an extra that is not installed, or that Ray itself does not know."""
    if fault == _OF_RAY:
        return True
    missing = tuple(module for module, extra in BASES.items() if find_spec(extra) is None)
    return fault.startswith(missing) and _OF_BASES.fullmatch(fault) is not None


def faults(found: dict[str, Any]) -> list[str]:
    """A line for each name whose type is not known, and for what is wrong with the package as a whole."""
    lines = [one["message"] for one in found["generalDiagnostics"] if one["severity"] == "error"]
    for symbol in found["typeCompleteness"]["symbols"]:
        if symbol["isExported"] or symbol["referenceCount"]:
            lines += [f"{symbol['name']}: {one['message']}" for one in symbol["diagnostics"] if one["severity"] == "error"]
    return lines


def main(modules: Sequence[str]) -> int:
    """Print what is not known, of some modules or of all; the exit code is 1 if there is anything that is not excused."""
    found = report()
    lines = [line for line in faults(found) if not modules or line.startswith(tuple(modules))]
    sys.stdout.writelines(f"{line}{' (excused: a base of an extra)' if excused(line) else ''}\n" for line in lines)
    completeness = found["typeCompleteness"]
    exported = [one for one in completeness["symbols"] if one["isExported"]]
    for module in modules:
        names = [one for one in exported if f"{one['name']}.".startswith(f"{module}.")]
        known = sum(one["isTypeKnown"] for one in names)
        sys.stdout.write(f"{module}: the types of {known} of {len(names)} names are known\n")
    if not modules:
        sys.stdout.write(f"type completeness {completeness['completenessScore']:.1%}\n")
    return int(not all(map(excused, lines)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
