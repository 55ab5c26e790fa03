"""A finished run becomes an agent that ships, with a card that says how good it is and what a best response gains on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents import promote
from getbit_env.agent_registry import load_agent
from getbit_env.get_bit.bots import BOTS
from train import selfplay

pytestmark = pytest.mark.usefixtures("one_torch_thread")
QUICK: dict[str, Any] = {"total_timesteps": 512, "n_envs": 16, "n_steps": 32, "batch_size": 256, "opponent_groups": 4}
QUICK |= {"net_arch": [8], "eval_starts": 4, "eval_opponents": ["random"], "bots": ["random"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(promote, "FOLDER", tmp_path / "agents")
    monkeypatch.setattr(promote, "RESPONDER_STARTS", 24)
    monkeypatch.setattr("train.card.CARD_STARTS", 4)
    (tmp_path / "agents").mkdir()
    return tmp_path


def promoted(folder: Path, **options: Any) -> str:
    """The card of an agent that a short run trained."""
    selfplay.train(selfplay.Config(**{**QUICK, **options}), folder / "run", quiet=True)
    made = promote.promote(folder / "run", "learned", starts=4, timesteps=1)
    assert {path.name for path in made.iterdir()} == {"card.md", "config.json", "learning.png", "policy.safetensors"}
    return (made / "card.md").read_text(encoding="utf-8")


def test_what_can_be_judged_exactly_is(folder: Path) -> None:
    card = promoted(folder, variant="3p-1r-4c-1l")
    assert "Exactly: where all other seats play this agent, a best response reaches 0." in card
    assert "lower-bound" not in card
    assert all(f"| {name} | " in card for name in BOTS)


@pytest.mark.parametrize(
    ("options", "why", "unit"),
    [
        (
            {"variant": "3p-1r-4c-1l-memory", "observe": ["history"]},
            "positions of 3p-1r-4c-1l-memory are not numbered",
            "chance of winning, equal share 0.333",
        ),
        ({"variant": "3p-4c-1l"}, "three players with two robots each have too many", "chance of winning, equal share 0.333"),
        (
            {"variant": "sharks-2p-level1-1coins", "eval_opponents": ["sharks-random"], "bots": ["sharks-random"]},
            "best responses are not computed in Sharks are Wild",
            "payoff, in -1..1",
        ),
    ],
)
def test_else_a_responder_is_trained_and_its_budget_named(folder: Path, options: dict[str, Any], why: str, unit: str) -> None:
    card = promoted(folder, **options)
    assert "Its exploitability is not known exactly: " in card
    assert why in card
    assert "a responder that was trained on 8,192 decisions reaches " in card
    assert f"({unit}). So a best response " in card
    assert f"`getbit lower-bound learned --variant {options['variant']} --total-timesteps 1`." in card


def test_what_can_not_ship_is_refused(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty is no finished run: it has neither card\.md nor curve\.png"):
        promote.promote(folder / "empty", "learned", starts=4, timesteps=1)
    selfplay.train(selfplay.Config(**QUICK, variant="3p-1r-4c-1l"), folder / "run", quiet=True)
    for name in ("counter", "not-a-name"):
        with pytest.raises(ValueError, match=f"'{name}' can't be the name of a trained agent"):
            promote.promote(folder / "run", name, starts=4, timesteps=1)
    assert load_agent(folder / "run")
