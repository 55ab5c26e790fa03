"""`python -m tests.release FOLDER`: what is published, built twice and checked.

The second build is made from a copy of the files that Git knows, in another folder and with other times. Both must be equal to the
byte: what a wheel holds depends on the commit alone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EPOCH = "1764460800"  # the time in the archives, where there is no commit to take it from


def run(*arguments: str | Path, cwd: Path = ROOT, epoch: str = EPOCH) -> str:
    """A module of Python, as `python -m`; raises what it said if it failed."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise RuntimeError(f"python -m {' '.join(map(str, arguments))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def time_of_commit() -> str:
    """When the commit was made, in seconds."""
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or EPOCH


def copy_of_sources(folder: Path) -> None:
    """The files that Git knows, or all that a sdist holds, with other times than here."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    if not names:
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".venv*", "__pycache__", "runs", "dist", "build"))
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
        os.utime(folder / name, (1, 1))


def built(source: Path, folder: Path, epoch: str) -> dict[str, bytes]:
    """Wheel and sdist of a folder, by name."""
    run("build", "--no-isolation", "--outdir", folder, source, epoch=epoch)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def version_faults() -> list[str]:
    """Where the version of the package, of CITATION.cff and of the changelog, and their dates, differ."""
    found = {
        name: re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name, pattern in {
            "getbit_env/version.py": r'^__version__ = "(.+)"$',
            "CITATION.cff": r"^version: (.+)$",
            "CHANGELOG.md": r"^## (\S+)",
        }.items()
    }
    versions = {name: match[1] if match else None for name, match in found.items()}
    return [f"{name} is of {version}" for name, version in versions.items() if version != versions["getbit_env/version.py"]]


def release(folder: Path, epoch: str) -> list[Path]:
    """Build, compare and check. Returns the files, which are in `folder` if nothing is wrong.

    Raises:
        RuntimeError: with what is wrong.
    """
    faults = version_faults()
    with tempfile.TemporaryDirectory() as name:
        there = Path(name)
        (there / "copy").mkdir()
        copy_of_sources(there / "copy")
        first, second = built(ROOT, there / "first", epoch), built(there / "copy", there / "second", epoch)
        faults += [f"{one}: two builds differ" for one in first.keys() | second.keys() if first.get(one) != second.get(one)]
        if faults:
            raise RuntimeError("\n".join(faults))
        files = [there / "first" / one for one in first]
        run("twine", "check", "--strict", *files)
        run("check_wheel_contents", *(file for file in files if file.suffix == ".whl"))
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(file, folder)) for file in files]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path, help="where wheel and sdist go")
    for file in release(parser.parse_args().folder, time_of_commit()):
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main()
