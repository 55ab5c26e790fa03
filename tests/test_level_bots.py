"""Bots that weigh what the others may play: what they reckon against the rules, and what they learn."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from getbit_env import Variant, load_agent, parse_variant
from getbit_env.agent_registry import check_agents
from getbit_env.core.layouts import Show
from getbit_env.core.scripted_bot import Mixture
from getbit_env.get_bit.bots import Adaptive, Highest, Level, LookAhead, Lowest, Random, SoftLookAhead
from getbit_env.get_bit.bots.levels import MODELS
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import cards_of
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.rules import Games
from getbit_env.match import play_match
from tests.get_bit.play import copy_of, fresh, play_round
from tests.test_bots import liked, look, rows_of, see
from tests.test_search_bots import positions

Dealt = dict[int, dict[int, float]]  # robot -> card -> how likely it plays it


def own_robots(variant: Variant, games: Games, player: int) -> list[int]:
    """Its robots in the line, front to back."""
    each = variant.robots_per_player
    mine = [r for r in range(player * each, player * each + each) if games.limbs[r, 0]]
    return sorted(mine, key=lambda r: int(games.place[r, 0]))


def evenly(variant: Variant, games: Games) -> Dealt:
    """Every robot in the line plays any of its cards."""
    hands = {r: cards_of(games.hand[r, 0]) for r in range(variant.robots) if games.limbs[r, 0]}
    return {r: {card: 1 / len(hand) for card in hand} for r, hand in hands.items()}


def bitten_by_the_rules(variant: Variant, games: Games, player: int, cards: tuple[int, ...], dealt: Dealt) -> float:
    """How likely a robot of the player is bitten if it plays these cards, all joint plays of the others played by the rules."""
    mine = own_robots(variant, games, player)
    others = [r for r in dealt if r not in mine]
    joint = list(itertools.product(*(dealt[r] for r in others)))
    chance = np.array([np.prod([dealt[r][card] for r, card in zip(others, played, strict=True)]) for played in joint])
    bits = np.zeros((variant.robots, len(joint)), np.uint8)
    for r, card in zip(mine, cards, strict=True):
        bits[r] = 1 << (card - 1)
    for k, r in enumerate(others):
        bits[r] = [1 << (played[k] - 1) for played in joint]
    many = copy_of(games, [0] * len(joint))
    outcome, scratch = fresh(variant, len(joint))
    pays = variant.reward_of_finish("win").astype(np.float32)
    play_round(variant.rules, many, bits, pays, np.float32(0), scratch, outcome, 0, len(joint))
    return float(chance @ outcome.bitten[mine].any(axis=0))


def safest(variant: Variant, games: Games, player: int, dealt: Dealt) -> dict[tuple[int, ...], float]:
    """The cards by which a player is bitten least, and how likely by each of its cards."""
    plays = itertools.product(*(cards_of(games.hand[r, 0]) for r in own_robots(variant, games, player)))
    return {cards: bitten_by_the_rules(variant, games, player, cards, dealt) for cards in plays}


def best_of(risks: dict[tuple[int, ...], float]) -> list[tuple[int, ...]]:
    return [cards for cards, risk in risks.items() if risk < min(risks.values()) + 1e-9]


def thought(variant: Variant, games: Games, dealt: Dealt) -> Dealt:
    """What each robot plays if all players choose what is safest against `dealt`."""
    found: Dealt = {}
    for player in range(variant.players):
        mine = own_robots(variant, games, player)
        best = best_of(safest(variant, games, player, dealt)) if mine else []
        for k, r in enumerate(mine):
            played = [cards[k] for cards in best]
            found[r] = {card: played.count(card) / len(played) for card in set(played)}
    return found


def action_of(variant: Variant, cards: tuple[int, ...]) -> int:
    return cards[0] - 1 if len(cards) == 1 else (cards[0] - 1) * variant.cards + cards[1] - 1


CASES = [("4p", 1), ("4p", 7), ("5p", 4), ("3p-1r", 5), ("2p", 3), ("2p", 6), ("3p-3c-1l", 1), ("4p-pick1", 4), ("4p-half", 6)]


@pytest.mark.parametrize(("name", "rounds"), CASES)
@pytest.mark.clause("G3.3", "G4.2")
def test_the_chance_to_be_bitten_is_exact(name: str, rounds: int) -> None:
    variant, state, agent = parse_variant(name), positions(name, 4, rounds), Level(1)
    for g, player in itertools.product(range(4), range(variant.players)):
        one = copy_of(state, [g])
        if not own_robots(variant, one, player):
            continue
        may = liked(agent, *look(variant, one, player))
        wanted = safest(variant, one, player, evenly(variant, one))
        risk = {a: agent.agent.risk[a] for a in np.flatnonzero(agent.agent.risk < 2)}  # type: ignore[attr-defined]  # a level
        assert risk == {action_of(variant, cards): pytest.approx(chance) for cards, chance in wanted.items()}
        assert may == [sorted(action_of(variant, cards) for cards in best_of(wanted))]


@pytest.mark.parametrize(("name", "rounds"), [("4p", 1), ("4p", 6), ("3p-1r", 4), ("2p", 4), ("3p", 4)])
@pytest.mark.parametrize("level", [2, 3])
def test_a_level_is_the_best_response_to_the_one_below(name: str, rounds: int, level: int) -> None:
    variant, state = parse_variant(name), positions(name, 3, rounds)
    differs = 0
    for g, player in itertools.product(range(3), range(variant.players)):
        one = copy_of(state, [g])
        if not own_robots(variant, one, player):
            continue
        dealt = evenly(variant, one)
        for _ in range(level - 1):
            dealt = thought(variant, one, dealt)
        wanted = sorted(action_of(variant, cards) for cards in best_of(safest(variant, one, player, dealt)))
        seen = look(variant, one, player)
        assert liked(Level(level), *seen) == [wanted]
        differs += liked(Level(level - 1), *seen) != [wanted]
    assert differs > 0


def test_levels_by_hand() -> None:
    """A is in front of B and C. Its 1 is lowest unless both others play the same; nobody else holds a 2."""
    agent: Any = Level(1)
    seen = see("3p-1r-5c", "3. A4:125/34 B4:345/12 C4:345/12")
    assert liked(agent, *seen) == [[4]]
    # Lower than both, unless they tie (3 of 9). A 5 ties with B or C or both, which is bitten behind it in place of A.
    assert agent.agent.risk.tolist() == pytest.approx([2 / 3, 2 / 3, 2, 2, 0])


def test_a_level_is_refused() -> None:
    with pytest.raises(ValueError, match="level is 1 or more, not 0"):
        Level(0)


def test_level2_beats_level1_and_that_beats_random() -> None:
    """As in `docs/bots.md`: the equal share is a quarter."""
    assert play_match(["level1", *["random"] * 3], "4p", starts=240)["level1"].win.mean > 0.4
    assert play_match(["level2", *["level1"] * 3], "4p", starts=240)["level2"].win.mean > 0.4
    assert play_match(["level2", *["random"] * 3], "4p", starts=240)["level2"].win.mean < 0.4


# --- the adaptive bot ---------------------------------------------------------------------------------------------------------


def watch(agent: Any, other: Any, rounds: int, games: int = 12, variant: str = "4p", seed: int = 5, first: bool = True) -> None:
    """The agent in seat 0 plays some rounds of a game against another in all other seats."""
    engine = Engine(parse_variant(variant), games, seed=seed, options=agent.options)
    players = engine.variant.players
    begins = np.ones(games, bool)
    agent.reset(engine.layout, begins, 1 if first else None)
    other.reset(engine.layout, np.ones(games * players, bool), 2)
    engine.start()
    for _ in range(rounds):
        engine.observe(np.full(games, Show.CHOOSING, np.uint8))
        actions = other.act(rows_of(engine.observation), rows_of(engine.action_mask)).reshape(games, players)
        actions[:, 0] = agent.act(engine.observation[:, 0].copy(), engine.action_mask[:, 0].copy())
        engine.play(actions)
    engine.observe(np.full(games, Show.CHOOSING, np.uint8))
    agent.act(engine.observation[:, 0].copy(), engine.action_mask[:, 0].copy())


@pytest.mark.parametrize("variant", ["4p", "2p", "4p-memory"])
@pytest.mark.parametrize("name", MODELS)
def test_the_adaptive_bot_learns_how_its_opponents_play(name: str, variant: str) -> None:
    agent = Adaptive()
    watch(agent, load_agent(name), 7, variant=variant)
    weights = agent.agent.weights[:, 1:]  # type: ignore[attr-defined]  # of this bot
    np.testing.assert_allclose(weights.sum(axis=2), 1)
    assert weights.mean(axis=(0, 1)).argmax() == MODELS.index(name)


def test_what_it_learnt_counts_half_in_the_next_game_and_nothing_in_the_next_match() -> None:
    agent = Adaptive()
    watch(agent, Highest(), 6)
    inner: Any = agent.agent
    learnt = inner.weights.copy()
    assert learnt[:, 1:, MODELS.index("highest")].min() > 0.9
    layout, begins = Layout(parse_variant("4p"), agent.options), np.arange(12) < 5
    agent.reset(layout, begins, None)
    np.testing.assert_allclose(inner.weights[:5], np.sqrt(learnt[:5]))
    np.testing.assert_array_equal(inner.weights[5:], learnt[5:])
    watch(agent, Lowest(), 1, first=False)
    assert (inner.weights[:, 1:, MODELS.index("highest")] > inner.weights[:, 1:, MODELS.index("lowest")]).any(), "it remembers"
    watch(agent, Lowest(), 6, first=False)
    assert (inner.weights[:, 1:].argmax(axis=2) == MODELS.index("lowest")).all()
    agent.reset(layout, np.ones(12, bool), 7)
    assert (inner.weights == 1).all()


def test_the_adaptive_bot_plays_what_is_safest_against_what_it_learnt() -> None:
    """Against three that surely play their highest number it plays as the safest answer to that, which level 1 does not."""
    agent: Any = Adaptive()
    variant, state = parse_variant("4p"), positions("4p", 40, 5)
    differs = 0
    for g in range(40):
        one = copy_of(state, [g])
        if not own_robots(variant, one, 0):
            continue
        layout, observation, mask = look(variant, one, 0, agent.options)
        observation[0, layout.view.first_round] = 1  # so that it takes no last card into account
        agent.reset(layout, np.ones(1, bool), 0)
        agent.agent.weights[:] = 0
        agent.agent.weights[..., MODELS.index("highest")] = 1
        dealt = {r: {max(cards): 1.0} for r, cards in evenly(variant, one).items()}
        wanted = [cards[0] - 1 for cards in best_of(safest(variant, one, 0, dealt))]
        preferred = agent.agent.preferred(observation, mask)
        assert [a for a in range(5) if int(preferred[0]) >> a & 1] == sorted(wanted)
        differs += liked(Level(1), *look(variant, one, 0)) != [sorted(wanted)]
    assert differs > 5


def test_the_adaptive_bot_asks_for_what_it_needs_to_see() -> None:
    agent = Adaptive()
    assert check_agents({"adaptive": agent}, parse_variant("4p")) == {"adaptive": Options(observe_last=True, identity=True)}
    with pytest.raises(ValueError, match="Adaptive has to see whose robots are whose, and the last cards"):
        agent.reset(Layout(parse_variant("4p")), np.ones(1, bool), 0)
    with pytest.raises(ValueError, match="Adaptive has to see"):
        agent.check_layout(Layout(parse_variant("4p-memory")))
    agent.check_layout(Layout(parse_variant("4p-memory"), agent.options))


# --- another bot in every game -------------------------------------------------------------------------------------------------


def test_a_mixture_is_one_bot_for_a_game_and_another_one_in_the_next() -> None:
    rows = 400
    layout, seen, mask = see("4p", "3. A4:245/13 B4:135/24 C4:135/24 D4:12345")
    observation, masks = np.repeat(seen, rows, 0), np.repeat(mask, rows, 0)
    agent = Mixture([Lowest(), Highest()])
    agent.reset(layout, np.ones(rows, bool), 3)
    first = agent.act(observation, masks)
    assert set(first.tolist()) == {1, 4}
    assert abs((first == 1).mean() - 0.5) < 0.1
    for _ in range(3):
        np.testing.assert_array_equal(agent.act(observation, masks), first)
    begins = np.arange(rows) < rows // 2
    agent.reset(layout, begins, None)
    second = agent.act(observation, masks)
    np.testing.assert_array_equal(second[~begins], first[~begins])
    assert 0.3 < (second[begins] != first[begins]).mean() < 0.7
    few = Mixture([Lowest(), Highest()])
    few.reset(layout, np.ones(7, bool), 3)
    np.testing.assert_array_equal(few.act(observation[:7], masks[:7]), first[:7])


def test_rows_of_a_mixture_do_not_depend_on_who_plays_other_rows() -> None:
    """An agent that draws lots draws them for its own rows alone."""
    layout, seen, mask = see("4p", "3. A4:12345 B4:135/24 C4:135/24 D4:12345")
    played = []
    for rows in (1, 64):
        agent = Mixture([Random(), Random()])
        agent.reset(layout, np.ones(rows, bool), 11)
        acts = []
        for _ in range(12):
            acts.append(int(agent.act(np.repeat(seen, rows, 0), np.repeat(mask, rows, 0))[0]))
            agent.reset(layout, np.ones(rows, bool), None)
        played.append(acts)
    assert played[0] == played[1]
    assert len(set(played[0])) > 2


def test_a_mixture_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="agents are one or more, not none"):
        Mixture([])


# --- the softened look-ahead ---------------------------------------------------------------------------------------------------


def test_the_soft_look_ahead_is_the_logit_of_its_values() -> None:
    layout, observation, mask = look(parse_variant("4p"), positions("4p", 8, 4), 0)
    live = observation.any(axis=1)
    observation, mask = observation[live], mask[live]
    hard: Any = LookAhead()
    hard.reset(layout, np.ones(len(mask), bool), 0)
    values = hard.agent.values(observation, mask)
    for temperature in (0.02, 0.5):
        soft = SoftLookAhead(temperature)
        soft.reset(layout, np.ones(len(mask), bool), 0)
        weights = np.where(mask, np.exp(values / temperature), 0)
        np.testing.assert_allclose(soft.probabilities(observation, mask), weights / weights.sum(axis=1, keepdims=True))
    cold = SoftLookAhead(1e-7)
    cold.reset(layout, np.ones(len(mask), bool), 0)
    np.testing.assert_allclose(cold.probabilities(observation, mask), hard.probabilities(observation, mask), atol=0.01)


@pytest.mark.parametrize("temperature", [0, -1, float("nan"), float("inf")])
def test_a_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature is a number over 0, not"):
        SoftLookAhead(temperature)
