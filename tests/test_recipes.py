"""The comparison of the recipes: what it prints, and that what is ready is not lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eval import recipes


def test_ctrl_c_keeps_what_is_ready(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def in_a_process(threads: int, rounds: int) -> dict[str, Any]:
        if threads == 2:
            raise KeyboardInterrupt
        return {"threads": threads, "rounds": rounds}

    monkeypatch.setattr(recipes, "in_a_process", in_a_process)
    with pytest.raises(SystemExit) as stopped:
        recipes.main(["--rounds", "3", "--json"])
    assert stopped.value.code == 130
    out, err = capsys.readouterr()
    assert err == "broken off; ready was: threads 1\n"
    assert json.loads(out)["speed"] == [{"threads": 1, "rounds": 3}]


def test_speed_is_by_the_better_of_the_other_recipes_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def turn(samples: int, collecting: float, updating: float) -> recipes.Turn:
        return lambda: recipes.Took(samples, collecting, updating)

    monkeypatch.setitem(recipes.TURNS, recipes.OURS, lambda _threads: turn(1200, 1.0, 2.0))
    monkeypatch.setitem(recipes.TURNS, recipes.SB3, lambda _threads: turn(300, 1.0, 1.0))
    monkeypatch.setattr(recipes, "turn_of_selfplay", lambda _threads: turn(200, 2.0, 0.5))
    found = recipes.measure(2, 3)
    assert found["samples_per_second"]["train.ppo"] == {"all": 400, "collecting": 1200, "updating": 600}
    medians = {kind: ratio["median"] for kind, ratio in found["ratios"].items()}
    assert medians == {
        "all": pytest.approx(400 / 150),
        "collecting": pytest.approx(1200 / 300),
        "updating": pytest.approx(600 / 400),
    }
    monkeypatch.setattr(recipes, "in_a_process", lambda threads, rounds: {**found, "threads": threads, "rounds": rounds})
    recipes.main(["--rounds", "3", "--threads", "2"])
    assert "| 2 | collecting | 1,200 | 300 | 4.00 (4.00 to 4.00) |" in capsys.readouterr().out
