"""The study of search: who is judged, by what, and that what is ready is not done again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval import search
from getbit_env import load_agent, parse_variant
from getbit_env.exact import Positions, exploitability

VARIANT = "2p-3c-1l"


def given(folder: Path, *more: str) -> list[str]:
    figures = ["--figures", str(folder / "s.json"), "--picture", str(folder / "s.png")]
    budgets = ["--playouts", "4", "--simulations", "16", "--network-simulations", "--endgame-simulations", "16", "32"]
    return ["--variants", VARIANT, "--output", str(folder / "runs"), *figures, *budgets, "--starts", "4", *more]


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(search, "trained", lambda *_: "level1")


@pytest.mark.usefixtures("untrained")
def test_searchers_are_judged_exactly_and_what_is_ready_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search.main(given(tmp_path, "--endgames", "3"))
    found = json.loads((tmp_path / "s.json").read_text())["games"][VARIANT]
    kinds = ["flat Monte-Carlo 4", "tree search 16", "tree search, endgames 16", "tree search, endgames 32"]
    assert list(found["agents"]) == [f"{search.PRIOR} 0", *kinds]
    positions = Positions(parse_variant(VARIANT))
    for kind, name in zip(kinds[1:3], ("tree-search@simulations=16", "tree-search@simulations=16@endgames=3"), strict=True):
        assert found["agents"][kind]["gain"] == pytest.approx(exploitability(load_agent(name), positions).gain, abs=1e-9)
    assert found["agents"][kinds[0]]["gain"] is None
    assert found["about"]["env"] == "getbit/GetBit-v0"
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")

    judged, judge = [], search.judge

    def watched(searcher: search.Searcher, *others: Any) -> dict[str, Any]:
        judged.append(searcher.budget)
        return judge(searcher, *others)

    monkeypatch.setattr(search, "judge", watched)
    search.main(given(tmp_path, "--simulations", "16", "48"))
    again = json.loads((tmp_path / "s.json").read_text())["games"][VARIANT]
    assert judged == [48]
    assert again["settings"]["endgames"] == 3, "it goes on with the settings that it began with"
    assert {**again["agents"], **found["agents"]} == again["agents"]
