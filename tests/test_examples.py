"""The examples run, with their defaults made small."""

from __future__ import annotations

import re

import numpy as np
import pytest

from examples import dqn_single_agent, maskable_ppo, own_agent, ppo_single_agent
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import parse_position
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.variants import parse_variant

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.parametrize("example", [ppo_single_agent, dqn_single_agent], ids=["ppo", "dqn"])
@pytest.mark.parametrize("players", [4, 2])
def test_single_agent_examples_train_and_print_payoffs(example: object, players: int, capsys: pytest.CaptureFixture[str]) -> None:
    model = example.main(
        ["--total-timesteps", "600", "--players", str(players), "--n-eval-episodes", "20", "--opponents", "lowest"]
    )  # type: ignore[attr-defined]
    assert model.num_timesteps >= 600
    assert model._n_updates > 0
    printed = re.findall(r"(before|after): mean payoff ([+-]\d\.\d{3}) against lowest", capsys.readouterr().out)
    assert [when for when, _ in printed] == ["before", "after"]
    assert all(-1 <= float(payoff) <= 1 for _, payoff in printed)


@pytest.mark.parametrize("variant", ["4p", "2p-memory"])
def test_maskable_ppo_ends_in_a_match(variant: str) -> None:
    result = maskable_ppo.main(["--total-timesteps", "8192", "--variant", variant, "--starts", "24"])
    assert result["learner"].seats == 1
    assert result.failure is None


def test_own_agent_beats_random_by_far() -> None:
    result = own_agent.main(["--starts", "480"])
    # Measured: 0.485 (examples/own_agent.py prints it); the half-width of the interval of 480 lines is about 0.02.
    assert result["Wary"].win.low > 0.4


def test_own_agent_plays_by_its_rule() -> None:
    variant = parse_variant("4p")
    engine = Engine(variant, 1)
    # After a first round with cards 3, 2, 4, 4 (the tied stay behind). B has nobody ahead but A, who can't play a 3.
    for mine, given in zip(engine.state, parse_position(variant, "1. A4:1245/3 B4:1345/2 C4:1235/4 D4:1235/4 ~"), strict=True):
        mine[:] = given
    engine.observe()
    agent = own_agent.Wary()
    agent.reset(engine.layout, np.ones(4, np.bool_), 0)
    assert (agent.act(engine.observation[0], engine.action_mask[0]) + 1).tolist() == [5, 3, 3, 3]


def test_own_agent_says_what_it_can_not_play() -> None:
    with pytest.raises(ValueError, match="Wary plays face-up games with one robot a player, not 2p"):
        own_agent.Wary().reset(Layout(parse_variant("2p")), np.ones(4, np.bool_), 0)
