"""`eval.memory`: what it concludes, that it goes on, and what it refuses."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest

from eval import memory
from eval.memory import BOTS, POLICIES, conclude, main, run_options
from getbit_env import load_agent, parse_variant
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.network import RecurrentNetworkAgent
from train import card, selfplay

SMALL = "3p-1r-4c-1l-memory"


def made_up(leads: dict[str, list[float]]) -> Any:
    """Wins in which the named pairs differ by so much, seed by seed."""
    wins: dict[str, Any] = {}
    for seed in range(3):
        for one in POLICIES:
            wins[f"{one} {seed}"] = {f"bot {bot}": (0.2 + 0.1 * k + 0.01 * seed, 0, 1) for k, bot in enumerate(BOTS)}
        for one, many in itertools.permutations(POLICIES, 2):
            lead = leads.get(f"{one} {many}", [0, 0, 0])[seed]
            wins[f"{one} {seed}"][many] = (0.25 + lead, 0, 1)
    return wins


def test_leads_are_over_seeds_and_order_only_what_they_tell() -> None:
    found = conclude(made_up({"recall memoryless": [0.10, 0.11, 0.12], "memoryless history": [-0.3, 0.3, 0.1]}), range(3))
    half = 4.30265 * 0.01 / math.sqrt(3)  # Student's t with two degrees of freedom
    assert found["lead"]["recall memoryless"] == pytest.approx([0.11, 0.11 - half, 0.11 + half], abs=1e-4)
    mean, low, high = found["lead"]["history memoryless"]
    assert mean == pytest.approx(-0.1 / 3)
    assert low < 0 < high
    assert found["order"] == [["recall", "memoryless"]]
    assert found["among"]["recall"]["memoryless"][0] == pytest.approx(0.36)
    assert found["bots"]["recurrent"][0] == pytest.approx(0.2 + 0.1 * (len(BOTS) - 1) / 2 + 0.01)


def test_the_better_one_of_a_pair_is_named_first() -> None:
    found = conclude(made_up({"memoryless history": [0.2, 0.21, 0.22]}), range(3))
    assert found["order"] == [["memoryless", "history"]]


def test_all_policies_learn_from_equally_many_decisions_with_equal_widths() -> None:
    configs = {name: run_options(policy, parse_variant(SMALL), 3, 12_345) for name, policy in POLICIES.items()}
    assert {config.total_timesteps for config in configs.values()} == {12_345}
    assert {config.seed for config in configs.values()} == {3}
    assert {name: config.played.memory for name, config in configs.items()} == {
        "recall": False,
        "history": True,
        "recurrent": True,
        "memoryless": True,
    }
    assert [name for name, config in configs.items() if config.observed.history] == ["history"]
    widths = {
        name: [config.lstm_hidden_size] * (config.policy != "MlpPolicy") + config.net_arch for name, config in configs.items()
    }
    assert all(its == memory.WIDTHS for its in widths.values())


def test_it_goes_on_where_it_was_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole study of a small game: played twice, it trains and plays once."""
    monkeypatch.setattr(card, "CARD_STARTS", 24)
    monkeypatch.setattr(memory, "WIDTHS", [8, 8])
    monkeypatch.setattr(memory, "OPTIONS", {"n_envs": 16, "n_steps": 8, "batch_size": 64, "n_epochs": 1, "eval_starts": 24})
    arguments = [
        "--variant",
        SMALL,
        "--decisions",
        "256",
        "--seeds",
        "0",
        "1",
        "--starts",
        "24",
        "--output",
        str(tmp_path / "runs"),
    ]
    arguments += ["--figures", str(tmp_path / "memory.json"), "--picture", str(tmp_path / "memory.png")]
    main(arguments)
    found = json.loads((tmp_path / "memory.json").read_text())
    assert found["settings"]["variant"] == SMALL
    assert len(found["lead"]) == 6
    assert {name: len(minutes) for name, minutes in found["minutes"].items()} == dict.fromkeys(POLICIES, 2)
    assert (tmp_path / "memory.png").stat().st_size > 0
    assert isinstance(load_agent(f"recall:{tmp_path / 'runs' / 'recall-1'}"), PerfectRecall)
    assert isinstance(load_agent(tmp_path / "runs" / "recurrent-1"), RecurrentNetworkAgent)

    def not_again(*_: Any, **__: Any) -> Any:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(selfplay, "train", not_again)
        patched.setattr(memory, "play_match", not_again)
        main(arguments)
    again = json.loads((tmp_path / "memory.json").read_text())
    assert again["wins"] == found["wins"]
    assert again["settings"] == found["settings"]
    assert again["settings"]["seeds"] == [0, 1]
    monkeypatch.setattr(memory, "play_match", not_again)
    with pytest.raises(AssertionError):  # other starts are other matches
        main([*arguments, "--starts", "48"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variant", "4p"], "--variant is a memory game of Get Bit!, such as 4p-memory, not '4p'"),
        (["--variant", "sharks-2p-level1"], "--variant is a memory game of Get Bit!, such as 4p-memory, not 'sharks-2p-level1'"),
        (["--seeds", "1"], "--seeds are two or more different ones, not 1"),
        (["--seeds", "1", "1"], "--seeds are two or more different ones, not 1 1"),
    ],
)
def test_nonsense_is_refused(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*arguments, "--output", str(tmp_path / "runs")])
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "runs").exists()
