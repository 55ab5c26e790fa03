"""Time to quality: what is trained for how long, what is judged, and that what is ready is not done again."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.speed import quality
from getbit_env import parse_variant
from getbit_env.exact import GameGraph, Positions, StoredPolicy, gain_of

VARIANT = "3p-1r-4c-1l"
TABLE = "exploitability descent, table"


def given(folder: Path, *more: str) -> list[str]:
    figures = ["--figures", str(folder / "q.json"), "--picture", str(folder / "q.png")]
    return ["--variant", VARIANT, "--output", str(folder / "runs"), *figures, *more]


def of(called: Sequence[str], option: str) -> str:
    return called[called.index(option) + 1]


class Runs:
    """Stands for `quality.run`: an iteration takes two seconds after ten of set-up, and leaves the uniform policy."""

    def __init__(self) -> None:
        self.called: list[tuple[Sequence[str], int, float | None]] = []
        graph = GameGraph(Positions(parse_variant(VARIANT)))
        self.policy = StoredPolicy(graph.positions, graph.uniform_policy().astype(np.float32), "uniform")
        self.saves = True

    def __call__(self, called: Sequence[str], threads: int, seconds: float | None = None) -> float:
        self.called.append((called, threads, seconds))
        folder = Path(of(called, "--output"))
        folder.mkdir(parents=True)
        if self.saves:
            self.policy.save(folder / "policy.npz")
        return 10 + 2 * int(of(called, "--total-timesteps"))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    stand_in = Runs()
    monkeypatch.setattr(quality, "run", stand_in)
    return stand_in


def test_runs_are_as_long_as_their_time_and_what_is_ready_is_kept(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = given(tmp_path, "--ways", TABLE, "--minutes", "5", "1", "--threads", "1", "--seeds", "0", "1")
    quality.main(asked)
    looks, trained = runs.called[:2], runs.called[2:]
    assert [of(called, "--total-timesteps") for called, _, _ in looks] == ["1", "3"]
    # 0.95 of the time, without the set-up, at two seconds an iteration
    assert [(of(called, "--total-timesteps"), of(called, "--seed"), limit) for called, _, limit in trained] == [
        ("23", "0", 60),
        ("23", "1", 60),
        ("137", "0", 300),
        ("137", "1", 300),
    ]
    assert of(trained[0][0], "--eval-freq") == "8"
    found = json.loads((tmp_path / "q.json").read_text())
    one = found["runs"][f"{TABLE}, 1 thread, 5 min, seed 1"]
    graph = GameGraph(Positions(parse_variant(VARIANT)))
    assert one["gain"] == pytest.approx(gain_of(graph.uniform_policy(), graph)[0])
    assert one["timesteps"] == 137
    assert set(one["wins"]) == {"random", "highest", "counter"}
    assert found["variant"] == VARIANT
    assert (tmp_path / "q.png").read_bytes().startswith(b"\x89PNG")
    assert f"{TABLE}, 1 thread, 1 min, seed 0: gain" in capsys.readouterr().err

    quality.main([*asked, "--seeds", "0", "1", "2"])
    assert [of(called, "--seed") for called, _, _ in runs.called[6:]] == ["2", "2"]


def test_a_run_that_saved_nothing_in_time_has_no_gain(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.saves = False
    quality.main(given(tmp_path, "--ways", TABLE, "--minutes", "0.1", "--threads", "2", "--seeds", "0"))
    (one,) = json.loads((tmp_path / "q.json").read_text())["runs"].values()
    assert (one["gain"], one["timesteps"], one["threads"]) == (None, 1, 2)
    assert "nothing saved in time" in capsys.readouterr().err


def test_commands_are_those_of_the_recipes(tmp_path: Path) -> None:
    """Each is understood by the recipe that it calls."""
    for way in quality.WAYS.values():
        called = quality.command(way, "4p", 1000, 3, 2, tmp_path)
        assert called[:3] == [sys.executable, "-m", way.module]
        options: Any = importlib.import_module(way.module).make_parser("").parse_args(called[3:])
        assert (options.total_timesteps, options.threads) == (1000, 2)
        assert options.seed == (None if way.policy == "policy.npz" else 3), "nothing that a table learns is random"


def test_a_command_is_stopped_when_its_time_is_up_and_failures_are_told() -> None:
    waits = "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    raise SystemExit(130)"
    assert quality.run([sys.executable, "-c", waits], 1, 1.0) < 30
    with pytest.raises(RuntimeError, match="no such thing"):
        quality.run([sys.executable, "-c", "raise SystemExit('no such thing')"], 1)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--ways", "magic"], "--ways are of 'train.ppo', .* not 'magic'"),
        (["--minutes", "0"], "--minutes are over 0, not 0"),
        (["--threads", "0"], "--threads are at least 1"),
        (["--variant", "2p"], "with one robot a player, not 2p"),
        (["--variant", "sharks-2p-level2"], "with one robot a player, not sharks-2p-level2"),
        (["--variant", "4p-memory"], "face-up"),
    ],
)
def test_what_cannot_be_measured_is_refused(more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        quality.main(given(tmp_path, *more))
    assert stopped.value.code == 2
    assert re.search(said, capsys.readouterr().err)
    assert not (tmp_path / "runs").exists()
