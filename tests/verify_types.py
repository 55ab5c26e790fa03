"""`python -m tests.verify_types`: every name that the package exports has a type that is known without guessing.

Pyright asks this of an installed package. PettingZoo has annotations, but no `py.typed`. So Pyright takes all its classes for
unknown, and ours that inherit from them too. It gets a copy of PettingZoo's sources with the marker.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def report() -> dict[str, Any]:
    """What Pyright says of the package, as it says it in JSON."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = find_spec("pettingzoo")
        assert spec is not None
        assert spec.origin is not None
        shutil.copytree(
            Path(spec.origin).parent,
            folder / "with" / "pettingzoo",
            ignore=lambda _, names: [one for one in names if "." in one and not one.endswith(".py")],
        )
        (folder / "with" / "pettingzoo" / "py.typed").touch()
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


def faults(found: dict[str, Any]) -> list[str]:
    """A line for each name whose type is not known, and for what is wrong with the package as a whole."""
    lines = [one["message"] for one in found["generalDiagnostics"] if one["severity"] == "error"]
    for symbol in found["typeCompleteness"]["symbols"]:
        if symbol["isExported"] or symbol["referenceCount"]:
            lines += [f"{symbol['name']}: {one['message']}" for one in symbol["diagnostics"] if one["severity"] == "error"]
    return lines


def main() -> int:
    """Print what is not known; the exit code is 1 if there is anything."""
    found = report()
    lines = faults(found)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.write(f"type completeness {found['typeCompleteness']['completenessScore']:.1%}\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
