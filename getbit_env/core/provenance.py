"""Where a figure comes from: machine, versions, commit and command, to stand beside every number that is kept."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "numba", "pettingzoo", "gymnasium", "torch", "stable-baselines3", "sb3-contrib")


def provenance(env: str = "", command: str = "") -> dict[str, str]:
    """Command, commit (with `+changes` if files differ from it), environment id, versions, machine and time.

    Args:
        env: id of the environment.
        command: as it is to be shown; by default the one of this process.
    """
    about = {
        "command": command or _command(),
        "commit": _commit(),
        "env": env,
        "getbit-env": _version("getbit-env"),
        "python": platform.python_version(),
    }
    about |= {name: found for name in PACKAGES if (found := _version(name))}
    return {**about, "machine": _machine(), "time": datetime.now(UTC).isoformat(timespec="seconds")}


def _command() -> str:
    module = getattr(sys.modules.get("__main__"), "__spec__", None)
    script = Path(sys.argv[0]).name
    program = ["python", "-m", module.name.removesuffix(".__main__")] if module else ["python", script]
    if script == "getbit" or program[-1] == "getbit_env":  # the command of the package, however it was called
        program = ["getbit"]
    return shlex.join(program + sys.argv[1:])


def _commit() -> str:
    def git(*arguments: str) -> str:
        folder = Path(__file__).parent
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # not Linux: what `platform` says must do
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"
