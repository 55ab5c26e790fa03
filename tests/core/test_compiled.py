"""Compiled kernels are kept, never stale; damage costs time and one warning. A small package stands for ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
CALL = "from numpy import uint64 as u; from CALLER import call; print(call(u(1), u(2)), len(call.stats.cache_hits))"
CALLER = """\
from getbit_env.core.compiled import kernel
from CALLEE import CALLED

@kernel
def call(key, counter):
    return CALLED(key, counter)
"""


class Printed(NamedTuple):
    """What a process printed."""

    value: str
    hits: str
    warnings: list[str]


def make_package(folder: Path) -> Path:
    """A package with `core.compiled`, `core.streams` and one more kernel that calls it."""
    package = folder / "getbit_env"
    (package / "core").mkdir(parents=True)
    for file in ("compiled.py", "first_use.py", "streams.py"):
        (package / "core" / file).write_text((ROOT / "getbit_env" / "core" / file).read_text())
    for init in (package, package / "core"):
        (init / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER.replace("CALLEE", "getbit_env.core.streams").replace("CALLED", "random_bits"))
    return package


def run(folder: Path, caller: str, before: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Call the kernel in a new process."""
    inherited = {key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "GETBIT_ENV_QUIET")}
    return subprocess.run(
        [sys.executable, "-c", before + CALL.replace("CALLER", caller)],
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def call(folder: Path, caller: str = "getbit_env.caller", before: str = "", **environment: str) -> Printed:
    """What a new process prints that calls the kernel."""
    done = run(folder, caller, before, environment)
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return Printed(value, hits, [line for line in done.stderr.splitlines() if "Warning:" in line])


def told(folder: Path, **environment: str) -> list[str]:
    """The lines in which a new process that calls the kernel says that it compiles."""
    said = run(folder, "getbit_env.caller", "", environment).stderr
    return [line for line in said.splitlines() if line.startswith("getbit-env: compiling")]


def test_an_edit_of_the_rules_reaches_kernels_that_call_them(tmp_path: Path) -> None:
    """numba's own cache would still play the old rules in every other file that calls them."""
    package = make_package(tmp_path)
    first, again = call(tmp_path), call(tmp_path)
    assert (first.hits, again) == ("0", (first.value, "1", [])), "the second process uses what the first compiled"
    rules = package / "core" / "streams.py"
    edited = rules.read_text().replace("return z ^ (z >> np.uint64(31))", "return z ^ (z >> np.uint64(32))")
    assert edited != rules.read_text()
    rules.write_text(edited)
    changed = call(tmp_path)
    assert changed.value != first.value
    assert changed.hits == "0"


def test_an_edit_of_a_game_outside_the_package_reaches_its_kernels(tmp_path: Path) -> None:
    make_package(tmp_path)
    game = tmp_path / "game"
    game.mkdir()
    (game / "__init__.py").touch()
    (game / "rules.py").write_text("from getbit_env.core.compiled import kernel\n\n@kernel\ndef rule(a, b):\n    return a + b\n")
    (game / "engine.py").write_text(CALLER.replace("CALLEE", "game.rules").replace("CALLED", "rule"))
    assert call(tmp_path, "game.engine")[:2] == ("3", "0")
    assert call(tmp_path, "game.engine")[:2] == ("3", "1")
    (game / "rules.py").write_text((game / "rules.py").read_text().replace("a + b", "a - b - b + a"))
    assert call(tmp_path, "game.engine").value != "3"


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_damaged_files_are_compiled_anew_and_replaced(tmp_path: Path, ending: str) -> None:
    package = make_package(tmp_path)
    first = call(tmp_path)
    files = [path for path in package.rglob(f"*{ending}") if path.name.startswith(("caller", "streams"))]
    assert len(files) >= 2
    for path in files:
        path.write_bytes(path.read_bytes()[:20])
    damaged = call(tmp_path)
    assert (damaged.value, damaged.hits) == (first.value, "0")
    (warning,) = damaged.warnings
    assert str(package) in warning
    assert "caller.call" in warning
    assert call(tmp_path) == (first.value, "1", []), "the files are whole again"


def test_a_full_disk_costs_time_and_one_warning(tmp_path: Path) -> None:
    make_package(tmp_path)
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))\n"
    done = call(tmp_path, before=full, PYTHONDONTWRITEBYTECODE="1")
    (warning,) = done.warnings
    assert "File too large" in warning
    assert "NUMBA_CACHE_DIR" in warning
    assert str(tmp_path) in warning
    assert call(tmp_path) == (done.value, "0", [])


def test_no_place_for_files_is_one_warning(tmp_path: Path) -> None:
    package = make_package(tmp_path)
    for folder in (package, package / "core"):
        (folder / "__pycache__").touch()  # a file where the folder would be: not even root writes there
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache"}
    done = call(tmp_path, **nowhere)
    (warning,) = done.warnings
    assert "NUMBA_CACHE_DIR" in warning
    kept = call(tmp_path, **nowhere, NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert kept == (done.value, "0", [])
    assert call(tmp_path, **nowhere, NUMBA_CACHE_DIR=str(tmp_path / "kept")) == (done.value, "1", [])


# --- what the user is told ---------------------------------------------------------------------------------------------------


def test_the_first_process_says_once_that_it_compiles_and_where_it_keeps_it(tmp_path: Path) -> None:
    package = make_package(tmp_path)
    (line,) = told(tmp_path)  # it compiles two kernels
    assert "`getbit warm-up`" in line
    assert "GETBIT_ENV_QUIET=1" in line
    assert str(package) in line
    assert told(tmp_path) == [], "nothing is left to compile"
    kept = tmp_path / "kept"
    (line,) = told(tmp_path, NUMBA_CACHE_DIR=str(kept))
    assert f"in {kept}." in line


@pytest.mark.parametrize(("value", "lines"), [("1", 0), ("yes", 0), ("0", 1), ("", 1)])
def test_the_line_can_be_hidden(tmp_path: Path, value: str, lines: int) -> None:
    make_package(tmp_path)
    assert len(told(tmp_path, GETBIT_ENV_QUIET=value)) == lines


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_workers_say_nothing(tmp_path: Path, method: str) -> None:
    make_package(tmp_path)
    for folder in ("getbit_env", "getbit_env/core"):
        (tmp_path / folder / "__pycache__").touch()  # so that they could warn, too
    (tmp_path / "job.py").write_text(
        "import multiprocessing, numpy\n"
        "def job(_):\n"
        "    from getbit_env.caller import call\n"
        "    return call(numpy.uint64(1), numpy.uint64(2))\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool: print(len(set(pool.map(job, range(4)))))\n"
    )
    for place in ({"NUMBA_CACHE_DIR": str(tmp_path / "kept")}, {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache"}):
        inherited = {key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "GETBIT_ENV_QUIET")}
        done = subprocess.run(
            [sys.executable, "job.py"],
            cwd=tmp_path,
            env={**inherited, "PYTHONPATH": str(tmp_path), **place},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ("1\n", "")
