"""What holds of the tree as a whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.tables import PAGES, written
from getbit_env.match import play_match
from tests.pages import blocks_of

ROOT = Path(__file__).parent.parent


def run(code: str, *, path: Path | None = None, cwd: Path = ROOT) -> str:
    environment = {**os.environ, "PYTHONPATH": str(path or ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, getbit_env; print(*sorted({m.split('.')[0] for m in sys.modules} & HEAVY))"
    heavy = {"torch", "matplotlib", "pygame", "stable_baselines3", "sb3_contrib", "openskill", "tqdm"}
    assert run(code.replace("HEAVY", repr(heavy))) == ""


def test_tables_of_the_pages_are_made_from_code() -> None:
    for page in PAGES:
        text = page.read_text()
        assert text.count("<!-- table:") == text.count("<!-- end -->") > 0
        assert written(text) == text, f"{page.name}: run python -m docs.tables"


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("agents/**/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert "://" in link or (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_agent_of_the_readme_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for block in blocks_of(ROOT / "README.md") if block.startswith("# my_agents.py"))
    (tmp_path / "my_agents.py").write_text(block)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert play_match(["my_agents:Cautious", "lowest", "lowest", "lowest"], "4p", starts=24).failure is None


def test_the_example_of_many_games_runs() -> None:
    *_, block = blocks_of(ROOT / "docs" / "environment.md")
    found: dict[str, Any] = {}
    exec(block, found)
    assert found["won"].sum() > 4096  # in a hundred rounds every game is over more than once
    assert (found["won"] > 0).all()
