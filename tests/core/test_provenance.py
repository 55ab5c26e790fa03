"""What stands beside a figure is where it comes from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from getbit_env.core import provenance

PRINT = "\nimport json\nprint(json.dumps(provenance('a/Game-v0')))\n"


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_it_names_command_commit_and_versions(tmp_path: Path) -> None:
    """Of a module of its own in a repository of its own, so that it can be edited."""
    module = tmp_path / "figures.py"
    module.write_text(Path(provenance.__file__).read_text() + PRINT)

    def printed(*command: str) -> dict[str, str]:
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, check=True, capture_output=True, text=True)
        about: dict[str, str] = json.loads(done.stdout)
        return about

    git(tmp_path, "init")
    git(tmp_path, "add", "figures.py")
    git(tmp_path, "commit", "-m", "figures")
    commit = git(tmp_path, "rev-parse", "HEAD")[:12]
    about = printed("-m", "figures", "--seed", "two words")
    assert about["command"] == "python -m figures --seed 'two words'"
    assert about["commit"] == commit
    assert about["env"] == "a/Game-v0"
    assert {"numpy", "numba", "python", "machine", "time"} <= about.keys()
    (tmp_path / "new.txt").touch()
    assert printed("figures.py")["commit"] == commit, "a file that git does not know changes nothing"
    module.write_text(module.read_text() + "# edited\n")
    assert printed("figures.py")["commit"] == f"{commit}+changes"
    assert printed("figures.py")["command"] == "python figures.py"


def test_without_git_or_a_package_there_is_nothing_to_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(provenance, "PACKAGES", ("numpy", "no-such-package"))
    monkeypatch.setenv("PATH", str(tmp_path))
    about = provenance.provenance()
    assert about["commit"] == ""
    assert "numpy" in about
    assert "no-such-package" not in about
