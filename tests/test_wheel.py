"""What `pip install` brings: the package alone, which plays. The command and the code of all pages work outside of a checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

from getbit_env.commands import COMMANDS, is_there
from tests import pages

ROOT = Path(__file__).parent.parent
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
PLAY = """
import sys, getbit_env
from getbit_env.agent_registry import shipped_agents
env = getbit_env.parallel_env(2)
seen, _ = env.reset(seed=0)
while env.agents:
    seen, *_ = env.step({a: int(seen[a]["action_mask"].argmax()) for a in env.agents})
for name in shipped_agents():
    getbit_env.load_agent(name)
assert "torch" not in sys.modules
print(getbit_env.__file__, env.snapshot()["winner"], *shipped_agents(), sep="|")
"""


def test_what_pip_installs_is_the_package_alone_and_its_command_works_anywhere(tmp_path: Path) -> None:
    subprocess.run(
        [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, ROOT], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([*PIP, "--python", python, "install", "--no-deps", wheel], check=True, capture_output=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    assert {path.name for path in packages.iterdir() if not path.name.endswith(".dist-info")} == {"getbit_env"}
    assert (packages / "getbit_env" / "py.typed").exists()
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # of this environment; not what is editable in it
    work = tmp_path / "work"
    work.mkdir()
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "NUMBA_CACHE_DIR", "GETBIT_ENV_QUIET")
    }
    environment |= {"GETBIT_ENV_CACHE": str(tmp_path / "cache"), "COLUMNS": "80"}

    def run(*command: str | Path) -> tuple[str, str]:
        done = subprocess.run(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    played, said = run(python, "-c", PLAY)
    file, winner, *shipped = played.strip().split("|")
    assert Path(file).is_relative_to(packages)
    assert winner in "01"
    assert shipped == sorted(path.parent.name for path in ROOT.glob("agents/*/policy.safetensors"))
    assert said.count("compiling for the first use") == said.count("\n") == 1, said

    getbit = python.with_name("getbit")
    for name in (name for name, command in COMMANDS.items() if is_there(command.module)):
        assert f"usage: getbit {name}" in run(getbit, name, "--help")[0]
    two = ("--players", "2", "--starts", "24")
    table, said = run(getbit, "tournament", "lowest", "highest", *two)
    assert "Results and picture are in runs/tournament" in table
    assert "%|" not in said, "a bar in a file"
    again, said = run(getbit, "tournament", "lowest", "highest", *two, "--output", "more")
    assert again.splitlines()[:-1] == table.splitlines()[:-1]
    assert said == "", "nothing is left to compile"
    assert run(getbit, "play", "--terminal", "--players", "2", "--against", "lowest")[0].endswith("Bye.\n")
    small = ("--total-timesteps", "64", "--n-envs", "8", "--n-steps", "8", "--batch-size", "16", "--eval-starts", "24")
    agents = ("--eval-opponents", "lowest", "--bots", "lowest", "--opponent-groups", "4", "--quiet")
    run(getbit, "train", "--players", "2", *small, *agents, "--output", "run")
    assert (work / "run" / "card.md").exists()
    assert "getbit train" in (work / "run" / "config.json").read_text(encoding="utf-8")

    # The code of the pages.
    (work / "given" / "runs").mkdir(parents=True)
    shutil.copytree(work / "run", work / "given" / "runs" / "first")
    shutil.copy(pages.__file__, work)
    (work / "pages.json").write_text(json.dumps(pages.all_blocks(checkout=False)), encoding="utf-8")
    environment["MPLBACKEND"] = "Agg"
    run(python, "pages.py", "pages.json")


def test_an_editable_installation_finds_the_folders_of_the_checkout(tmp_path: Path) -> None:
    code = f"from hatchling.build import build_editable; build_editable({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".pth"))
        assert Path(archive.read(path).decode().strip()) == ROOT
        (scripts,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "getbit = getbit_env.commands.main:entry" in archive.read(scripts).decode()
