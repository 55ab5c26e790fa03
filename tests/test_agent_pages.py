"""The code of the pages on agents and on watching training runs, in one folder and in the order of the page."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest

from getbit_env import load_agent
from getbit_env.match import play_match
from train.records import Records

ROOT = Path(__file__).parent.parent


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def blocks_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_on_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = blocks_of("agents.md")
    assert len(blocks) == 6
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out
    assert printed.count("24 starts, 96 games") == 3
    gain, won = printed.splitlines()[-2:]
    assert 0 < float(gain) < 1
    assert "'player_0': " in won
    assert load_agent("sb3:mine").name == "sb3:mine"  # type: ignore[attr-defined]  # every agent of a file has a name


def test_the_page_on_watching_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mpl, "rcParams", mpl.rcParams.copy())
    mpl.use("Agg")
    records = Records(tmp_path / "runs" / "first", 0)
    for timesteps in (100, 200):
        records.add_evaluation(timesteps, {name: play_match(["highest", name], "2p", starts=12) for name in ("random", "lowest")})
    records.close()
    names: dict[str, object] = {}
    blocks = blocks_of("logging.md")
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)
    assert load_agent("runs/hardest_to_exploit.zip")
    for file in ("eval.csv", "eval.svg", "last.csv", "first/wins.png"):
        assert (tmp_path / "runs" / file).stat().st_size > 0
    assert list((tmp_path / "runs" / "board").iterdir())
