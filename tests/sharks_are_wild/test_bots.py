"""Bots: legal, seeded, and what each is for; positions by hand."""

from __future__ import annotations

import numpy as np
import pytest

from getbit_env.agent_registry import load_agent
from getbit_env.core.agent import Agent
from getbit_env.game_registry import game_named
from getbit_env.get_bit.observations import Layout as GetBitLayout
from getbit_env.get_bit.variants import standard_variant as get_bit_variant
from getbit_env.match import play_match
from getbit_env.sharks_are_wild.bots import BOTS, MixedBot, MonteCarlo, Soft
from getbit_env.sharks_are_wild.bots.scripted import choose_any
from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.notation import parse_position, print_action
from getbit_env.sharks_are_wild.rules import OVER
from getbit_env.sharks_are_wild.variants import parse_variant
from tests.sharks_are_wild.play import MANY_VARIANTS, random_actions

TWO = "sharks-2p-level2-9of"


def chooses(bot: str, position: str, name: str = TWO) -> set[str]:
    """What a bot may do in a position."""
    variant = parse_variant(name)
    engine = Engine(variant, 1)
    for array, one in zip(engine.state, parse_position(variant, position, all_cards=False), strict=True):
        array[:] = one
    engine.observe()
    decides = engine.choosing()[0].argmax()
    agent = load_agent(bot)
    agent.reset(engine.layout, np.ones(1, bool), 0)
    likely = agent.probabilities(engine.observation[:, decides], engine.action_mask[:, decides])[0]
    assert likely.sum() == pytest.approx(1)
    return {print_action(variant, engine.state, int(action)) for action in np.flatnonzero(likely)}


@pytest.mark.parametrize("bot", BOTS)
@pytest.mark.parametrize("name", MANY_VARIANTS)
def test_bots_play_legally_whatever_the_variant_and_repeat_themselves(bot: str, name: str) -> None:
    variant = parse_variant(name)
    size = 2 if bot == "sharks-montecarlo" else 12
    agents = [MonteCarlo(2), MonteCarlo(2)] if bot == "sharks-montecarlo" else [load_agent(bot), load_agent(bot)]
    engine = Engine(variant, size, seed=3)
    engine.start()
    for agent in agents:
        assert isinstance(agent, Agent)
        agent.reset(engine.layout, np.ones(size * variant.players, bool), 9)
    number = 0
    while (engine.state.stage != OVER).any() and number < 60:
        engine.observe(np.ones(size, np.uint8))
        seen, mask = engine.observation.reshape(-1, engine.layout.size), engine.action_mask.reshape(-1, variant.actions)
        one, other = (agent.act(seen, mask) for agent in agents)
        assert (one == other).all()
        assert mask[np.arange(len(one)), one].all()
        engine.play(one.reshape(size, -1))
        assert not engine.replaced.any()
        number += 1


@pytest.mark.parametrize(
    ("position", "does"),
    [
        ("0. A draw A0:45/01278 B0:5/00111 draw=89 discard=63", {"takes 6"}),
        ("0. A draw A0:45/01278 B0:5/00111 draw=89 discard=S3", {"takes S"}),
        ("0. A draw A0:45/01278 B0:5/00111 draw=89 discard=73", {"draws"}),
        ("0. A play A0:45/01236S B0:5/00111 draw=89 discard=7", {"plays S low", "plays S high"}),  # it has the 3 and the 6
        ("0. A play A0:45/012368 B0:5/00111 draw=89 discard=7", {"plays 3"}),
        ("0. A play A0:45/01178O B0:56/00111 draw=89 discard=7", {"steals B high"}),
        ("0. A play A0:45/002789 B0:5/00111 draw=89 discard=7", {"discards 0"}),
        ("0. B steals A high A0:456/01278 B0:5/0011 draw=89 discard=O7", {"passes"}),
        ("0. B steals A high A0:456/0127D B0:5/0011 draw=89 discard=O7", {"blocks"}),
    ],
)
def test_greedy_plays_when_it_can_draws_what_it_needs_and_discards_what_helps_least(position: str, does: set[str]) -> None:
    assert chooses("sharks-greedy", position) == does


@pytest.mark.parametrize(
    ("position", "does"),
    [
        # A Shark goes where no number of the hand fits.
        ("0. A play A0:5/00014S B0:5/00111 draw=89 discard=7", {"plays S high"}),
        # The last Dolphin is kept for a card that matters.
        ("0. B steals A high A0:56/0127D B0:45/0011 draw=89 discard=O7", {"blocks"}),
        ("0. B steals A high A0:56/0127D B0:567/0011 draw=89 discard=O7", {"passes"}),
        # It doesn't grab what a known Dolphin guards, and does rob who is about to complete his run.
        ("0. A play A0:5/00111O B0:5678/0022D*D draw=89 discard=7", None),
        ("0. A play A0:5/00111O B0:5678/00223 draw=89 discard=7", {"steals B high"}),
    ],
)
def test_careful_gives_nothing_away_and_robs_by_value(position: str, does: set[str] | None) -> None:
    done = chooses("sharks-careful", position)
    if does is None:
        assert not any(what.startswith("steals") for what in done)
    else:
        assert done == does


@pytest.mark.parametrize("bot", ["sharks-greedy", "sharks-careful"])
@pytest.mark.parametrize(("run", "does"), [("567", "plays 7"), ("56S", "plays S high")])
def test_a_thief_who_may_decline_uses_the_card(bot: str, run: str, does: str) -> None:
    position = f"0. A stole B high A0:456/01278 B0:{run}/00111 draw=89 discard=O3"
    assert chooses(bot, position, f"{TWO}-maydecline") == {does}


def test_careful_keeps_from_the_next_player_what_he_needs() -> None:
    """Both discards are as useless to its own run; B can play the 7."""
    done = chooses("sharks-careful", "0. A play A0:2345/777000 B0:56/00111 draw=89 discard=1")
    assert done == {"discards 0"}
    done = chooses("sharks-greedy", "0. A play A0:5/444778 B0:5/00111 draw=89 discard=1")
    assert done == {"plays 4"}


def test_monte_carlo_sees_a_win_and_a_threat() -> None:
    variant = parse_variant(TWO)
    engine = Engine(variant, 1)
    for position, wanted in (
        ("0. A play A4:3456/001178 B4:5/00111 draw=8999988877 discard=7666", "plays 7"),
        ("0. B steals A high A0:5678/0011D B4:567/0011 draw=8999988877 discard=O7666", "blocks"),
    ):
        for array, one in zip(engine.state, parse_position(variant, position, all_cards=False), strict=True):
            array[:] = one
        engine.observe()
        decides = engine.choosing()[0].argmax()
        agent = MonteCarlo()
        agent.reset(engine.layout, np.ones(1, bool), 1)
        action = int(agent.act(engine.observation[:, decides], engine.action_mask[:, decides])[0])
        assert print_action(variant, engine.state, action) == wanted
    with pytest.raises(ValueError, match="determinizations is at least 1"):
        MonteCarlo(0)


@pytest.mark.parametrize("name", ["sharks-2p-level1", "sharks-3p-level2"])
def test_greedy_beats_random_by_far(name: str) -> None:
    variant = parse_variant(name)
    result = play_match(["sharks-greedy", *["sharks-random"] * (variant.players - 1)], name, starts=64)
    assert result["sharks-greedy"].win.low > 0.8


def test_careful_beats_greedy() -> None:
    result = play_match(["sharks-careful", "sharks-greedy"], "sharks-2p-level2", starts=1500)
    assert result["sharks-careful"].win.low > 0.5


def test_all_legal_actions_are_alike_to_choose_any() -> None:
    engine = Engine(parse_variant("sharks-2p-level2"), 4000, seed=1)
    engine.start()
    for array in engine.state:
        array[:] = array[0].copy()
    actions, keys, counters = np.zeros((4000, 2), np.int64), engine.streams, np.zeros(4000, np.uint64)
    choose_any(engine.rules, engine.state, keys, counters, actions)
    player = engine.state.player[0]
    assert np.bincount(actions[:, player]).tolist() == pytest.approx([2000, 2000], abs=130)  # four standard deviations
    assert (counters == 1).all()


def test_bots_belong_to_their_game() -> None:
    assert set(game_named("sharks-2p-level1").bots) == set(BOTS)
    assert not set(game_named("4p").bots) & set(BOTS)
    layout = GetBitLayout(get_bit_variant(4))
    with pytest.raises(ValueError, match="Greedy plays getbit/SharksAreWild-v0 and no other game, not 4p"):
        load_agent("sharks-greedy").reset(layout, np.ones(1, bool), 0)
    with pytest.raises(RuntimeError, match="3 rows without a reset"):
        load_agent("sharks-greedy").act(np.zeros((3, 287), np.float32), np.ones((3, 29), np.int8))


def test_a_row_with_nothing_to_decide_uses_no_random_number() -> None:
    """How long others play is all one."""
    engine = Engine(parse_variant("sharks-2p-level2"), 1, seed=1)
    engine.start()
    one, other = load_agent("sharks-random"), load_agent("sharks-random")
    for agent in (one, other):
        agent.reset(engine.layout, np.ones(1, bool), 5)
    nothing, free = np.zeros((1, engine.layout.size), np.float32), np.ones((1, 29), np.int8)
    picked = []
    for agent, waits in ((one, 0), (other, 3)):
        for _ in range(waits):
            agent.act(nothing, free)
        engine.observe()
        decides = engine.choosing()[0].argmax()
        picked.append([int(agent.act(engine.observation[:, decides], engine.action_mask[:, decides])[0]) for _ in range(20)])
    assert picked[0] == picked[1]
    assert len(set(picked[0])) > 1
    assert random_actions(engine, 0).shape == (1, 2)


def test_the_soft_bot_is_the_logit_of_what_the_careful_one_reckons() -> None:
    """Its likeliest actions are those of the careful one, and the colder it is, the likelier."""
    engine = Engine(parse_variant("sharks-2p-level2"), 40, seed=2)
    engine.start()
    engine.observe()
    decides = engine.choosing()
    seen, mask = engine.observation[decides], engine.action_mask[decides]
    careful = load_agent("sharks-careful")
    careful.reset(engine.layout, np.ones(40, bool), 1)
    best = careful.probabilities(seen, mask) > 0
    likely = []
    for temperature in (1.0, 0.03, 1e-6):
        soft = Soft(temperature)
        soft.reset(engine.layout, np.ones(40, bool), 1)
        chances = soft.probabilities(seen, mask)
        worth = np.where(mask, soft.values(seen, mask), -np.inf)
        weights = np.exp((worth - worth.max(axis=1, keepdims=True)) / temperature)
        np.testing.assert_allclose(chances, weights / weights.sum(axis=1, keepdims=True), atol=1e-12)
        np.testing.assert_array_equal(np.isclose(chances, chances.max(axis=1, keepdims=True), rtol=1e-6), best)
        likely.append((chances * best).sum(axis=1).mean())
    assert likely[0] < likely[1] < likely[2]
    assert likely[2] == pytest.approx(1)


def test_the_mixture_is_one_of_its_bots_all_game_long() -> None:
    agent = MixedBot()
    assert [type(each).__name__ for each in agent.agents] == ["Greedy", "Careful", "Soft"]
    engine = Engine(parse_variant("sharks-2p-level2"), 300, seed=2)
    engine.start()
    engine.observe()
    decides = engine.choosing()
    seen, mask = engine.observation[decides], engine.action_mask[decides]
    agent.reset(engine.layout, np.ones(300, bool), 1)
    first = agent.act(seen, mask)
    drawn = agent._drawn.copy()
    assert np.bincount(drawn.astype(int), minlength=3).min() > 70
    for number, other in enumerate((load_agent("sharks-greedy"), load_agent("sharks-careful"))):
        other.reset(engine.layout, np.ones(300, bool), 1)
        liked = other.probabilities(seen, mask)[np.arange(300), first] > 0
        assert liked[drawn == number].all()
        assert not liked.all()
    agent.reset(engine.layout, np.arange(300) < 100, None)
    np.testing.assert_array_equal(agent._drawn[100:], drawn[100:])
    assert (agent._drawn[:100] != drawn[:100]).any()
