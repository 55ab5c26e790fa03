"""Bots: legal in every game, seeded row by row, and as their documentation says."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from getbit_env import Variant, load_agent, parse_variant
from getbit_env.core.agent import Agent
from getbit_env.core.layouts import Show
from getbit_env.get_bit.bots import BOTS, Forgetful, Highest, Lowest, Random
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import cards_of, parse_position
from getbit_env.get_bit.observations import Layout, Options, new_observation_workspace, new_record, observe
from getbit_env.get_bit.rules import Games
from tests.get_bit.play import copy_of, fresh, play_round, random_cards

SLOW = ("lookahead", "soft-lookahead", "montecarlo")
VARIANTS = ["2p", "3p", "4p", "5p", "7p", "3p-1r", "2p-memory", "3p-memory", "4p-memory", "6p-memory", "4p-3c-1l-pick1"]


def agent_options(agent: Agent) -> Options:
    """What it wants to see."""
    return getattr(agent, "options", None) or Options()


def rows_of(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, array.shape[-1])


def play_all_seats(
    agent: Agent, engine: Engine, seed: int, rounds: int | None = None, show: Show = Show.CHOOSING
) -> list[np.ndarray]:
    """The actions `[G, P]` of an agent in all seats of whole games, with 0 where nobody has to choose."""
    games, players = engine.size, engine.variant.players
    agent.reset(engine.layout, np.ones(games * players, bool), seed)
    engine.start()
    played = []
    for _ in range(rounds or engine.variant.most_rounds + 3):
        engine.observe(np.full(games, show, np.uint8))
        actions = agent.act(rows_of(engine.observation), rows_of(engine.action_mask)).reshape(games, players)
        assert actions.dtype == np.int64
        chosen = np.take_along_axis(engine.action_mask, actions[..., None], 2)
        assert (chosen == 1).all()
        dead = (engine.action_mask == 1).all(2) & (engine.state.rounds[:, None] > 0)
        played.append(np.where(dead, 0, actions))
        engine.play(actions)
    return played


def see(name: str, position: str, viewer: int = 0, options: Options | None = None) -> tuple[Layout, np.ndarray, np.ndarray]:
    """What a player sees in a position."""
    variant = parse_variant(name)
    return look(variant, parse_position(variant, position), viewer, options)


def look(variant: Variant, games: Games, viewer: int, options: Options | None = None) -> tuple[Layout, np.ndarray, np.ndarray]:
    layout = Layout(variant, options)
    number = games.rounds.size
    observation = np.zeros((number, variant.players, layout.size), np.float32)
    mask = np.zeros((number, variant.players, variant.actions), np.int8)
    record, show, work = new_record(layout, number), np.full(number, Show.CHOOSING, np.uint8), new_observation_workspace(layout)
    observe(layout.view, variant.last_line, games, record, show, work, observation, mask, 0, number)
    return layout, observation[:, viewer].copy(), mask[:, viewer].copy()


def liked(agent: Agent, layout: Layout, observation: np.ndarray, mask: np.ndarray) -> list[list[int]]:
    """The actions that an agent may play, of each row."""
    agent.reset(layout, np.ones(len(mask), bool), 0)
    return [np.flatnonzero(row).tolist() for row in agent.probabilities(observation, mask)]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", BOTS)
def test_legal_in_whole_games(name: str, variant: str) -> None:
    agent = load_agent(name)
    engine = Engine(parse_variant(variant), 4 if name in SLOW else 64, seed=1, options=agent_options(agent))
    play_all_seats(agent, engine, seed=2)
    assert engine.outcome.over.max() == 0
    assert (engine.state.limbs > 0).sum(0).max() <= engine.variant.last_line, "all games came to their end"


@pytest.mark.parametrize("variant", ["4p", "3p-memory"])
@pytest.mark.parametrize("name", BOTS)
def test_same_actions_whatever_the_options_and_the_batch(name: str, variant: str) -> None:
    games = 4 if name in SLOW else 24
    least = agent_options(load_agent(name))
    whole = play_all_seats(load_agent(name), Engine(parse_variant(variant), games, seed=1, options=least), seed=2)
    for options in (Options(observe_last=True, identity=True), replace(least, history=True)):
        other = play_all_seats(load_agent(name), Engine(parse_variant(variant), games, seed=1, options=options), seed=2)
        np.testing.assert_array_equal(other, whole)
    part = play_all_seats(load_agent(name), Engine(parse_variant(variant), 3, seed=1, options=least), seed=2)
    np.testing.assert_array_equal(part, np.array(whole)[:, :3])


@pytest.mark.parametrize("name", BOTS)
def test_the_seed_decides(name: str) -> None:
    def play(seed: int) -> list[np.ndarray]:
        agent = load_agent(name)
        return play_all_seats(agent, Engine(parse_variant("4p"), 16, seed=1, options=agent_options(agent)), seed, rounds=3)

    np.testing.assert_array_equal(play(5), play(5))
    if not getattr(load_agent(name), "deterministic", False):
        assert not np.array_equal(play(5), play(6))


def test_rows_that_have_nothing_to_choose_draw_nothing() -> None:
    """How long a row waits for the end of others' games does not change what it plays in its next game."""
    layout = Layout(parse_variant("4p"))
    mask = np.ones((8, 5), np.int8)
    dead, live = np.zeros((8, layout.size), np.float32), np.ones((8, layout.size), np.float32)
    one, other = Random(), Random()
    for agent in (one, other):
        agent.reset(layout, np.ones(8, bool), 3)
    other.act(dead, mask)
    np.testing.assert_array_equal(one.act(live, mask), other.act(live, mask))


def test_without_a_seed_every_run_differs() -> None:
    layout = Layout(parse_variant("4p"))
    rows, mask = np.ones((64, layout.size), np.float32), np.ones((64, 5), np.int8)
    played = []
    for _ in range(2):
        agent = Random()
        agent.reset(layout, np.ones(64, bool), None)
        played.append(agent.act(rows, mask))
    assert not np.array_equal(*played)


def test_acting_without_a_reset_for_so_many_rows_is_refused() -> None:
    layout = Layout(parse_variant("4p"))
    agent = Random()
    rows, mask = np.ones((2, layout.size), np.float32), np.ones((2, 5), np.int8)
    with pytest.raises(RuntimeError, match=r"Random.act got 2 rows without a reset"):
        agent.act(rows, mask)
    agent.reset(layout, np.ones(3, bool), 0)
    with pytest.raises(RuntimeError, match=r"Random.act got 2 rows without a reset"):
        agent.act(rows, mask)


PURE = ["random", "highest", "lowest", "forgetful"]
REMEMBERING = ["counter", "level1", "level2", "lookahead", "soft-lookahead"]  # with perfect recall, so only in face-up games
PURE_GAMES = [(n, v) for v in ("4p", "2p") for n in PURE + REMEMBERING] + [(n, "3p-memory") for n in PURE]


@pytest.mark.parametrize(("name", "variant"), PURE_GAMES)
def test_acts_by_its_probabilities(name: str, variant: str) -> None:
    agent = load_agent(name)
    games = 12 if name in SLOW else 256
    engine = Engine(parse_variant(variant), games, seed=3)
    play_all_seats(Random(), engine, seed=4, rounds=4)
    engine.observe(np.ones(games, np.uint8))
    observation, mask = rows_of(engine.observation), rows_of(engine.action_mask)
    live = observation.any(axis=1)
    observation, mask = observation[live], mask[live]
    agent.reset(engine.layout, np.ones(len(mask), bool), 5)
    probabilities = agent.probabilities(observation, mask)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert (probabilities[mask == 0] == 0).all()
    if agent.deterministic:
        assert (probabilities.max(1) == 1).all()
    else:
        assert (probabilities.max(1) < 1).any()

    draws = 200
    counts = np.zeros_like(probabilities)
    for _ in range(draws):
        counts[np.arange(len(mask)), agent.act(observation, mask)] += 1
    np.testing.assert_array_equal(agent.probabilities(observation, mask), probabilities)  # a pure function, whatever was played
    assert (counts[probabilities == 0] == 0).all()
    often = draws * probabilities >= 4  # what is rarer is far from normal
    deviation = (counts - draws * probabilities)[often] / np.sqrt(draws * probabilities[often])
    assert counts[~often & (probabilities > 0)].sum() <= 2 * draws * probabilities[~often].sum() + 20
    assert np.abs(deviation).max() < 5.5
    assert np.square(deviation).mean() < 1  # that of a multinomial is 1 - p


def test_highest_and_lowest_play_them() -> None:
    for viewer, cards in ((0, (3, 5)), (1, (1, 5)), (2, (1, 5)), (3, (2, 4))):
        seen = see("4p", "3. A2:345/12 B4:145/23 C1:12345 D4:234/15", viewer)
        assert liked(Lowest(), *seen) == [[cards[0] - 1]]
        assert liked(Highest(), *seen) == [[cards[1] - 1]]
    seen = see("2p", "3. B2:345/12 A2:134/25 a4:235/14 b4:2345/1")
    assert liked(Lowest(), *seen) == [[(1 - 1) * 5 + (2 - 1)]]
    assert liked(Highest(), *seen) == [[(4 - 1) * 5 + (5 - 1)]]


def worst(variant: Variant, games: Games, robots: list[int], cards: tuple[int, ...]) -> bool:
    """Can the robots be bitten if they play these cards? Tries all cards of all others by the rules."""
    hands = [cards_of(games.hand[r, 0]) if games.limbs[r, 0] else [0] for r in range(variant.robots)]
    for robot, card in zip(robots, cards, strict=True):
        hands[robot] = [card]
    every = np.array(list(itertools.product(*hands)), np.uint8).T.copy()
    bits = np.where(every > 0, 1 << (every.astype(np.int64) - 1), 0).astype(np.uint8)
    many = copy_of(games, [0] * bits.shape[1])
    outcome, scratch = fresh(variant, bits.shape[1])
    play_round(
        variant.rules,
        many,
        bits,
        variant.reward_of_finish("win").astype(np.float32),
        np.float32(0),
        scratch,
        outcome,
        0,
        bits.shape[1],
    )
    return bool(outcome.bitten[robots].any())


@pytest.mark.parametrize("name", ["4p", "5p"])
@pytest.mark.clause("G3.3", "G4.2")
def test_the_counter_is_not_bitten_when_its_rule_says_so(name: str) -> None:
    """A card that not all others can pass, and that nobody ahead can tie, is safe; if there is one, the counter plays one."""
    variant, rng = parse_variant(name), np.random.default_rng(2)
    engine = Engine(variant, 40, seed=4)
    engine.start()
    safe_ones = 0
    for number in range(variant.least_rounds):
        state = copy_of(engine.state)
        engine.play_cards(random_cards(variant, engine.state, rng))
        if number == 0:
            continue  # nobody is bitten
        layout, observation, mask = look(variant, state, 0)
        for game, may in enumerate(liked(Forgetful(), layout, observation, mask)):
            if state.limbs[0, game] == 0:
                continue
            others = [r for r in range(1, variant.robots) if state.limbs[r, game]]
            hands = {r: set(cards_of(state.hand[r, game])) for r in others}
            ahead = set().union(*(hands[r] for r in others if state.place[r, game] < state.place[0, game]))
            anyone = set().union(*hands.values())
            safe = [
                card
                for card in cards_of(state.hand[0, game])
                if card not in ahead and sum(other > card for other in anyone) < len(others)
            ]
            alone = [card for card in safe if card not in anyone]
            if safe:
                assert [a + 1 for a in may] == (alone or safe)
                safe_ones += 1
                assert not any(worst(variant, copy_of(state, [game]), [0], (card,)) for card in safe)
    assert safe_ones > 80


def liked_by_the_rule(variant: Variant, games: Games, game: int) -> set[tuple[int, ...]]:
    """The cards that the rule of the counter leaves player 0, front robot first, computed with sets."""
    each = variant.robots_per_player
    line = sorted((r for r in range(variant.robots) if games.limbs[r, game]), key=lambda r: games.place[r, game])
    hands = {r: set(cards_of(games.hand[r, game])) for r in line}
    others = [r for r in line if r >= each]

    def fear(cards: tuple[int, ...]) -> tuple[bool, int]:
        passed, ties = False, 0
        for robot, card in zip([r for r in line if r < each], cards, strict=True):
            rest = [c for c in cards if c != card]
            numbers = set().union(*(hands[r] for r in others)) - set(rest)
            passed |= sum(c > card for c in numbers) >= len(others) and all(c > card for c in rest) and len(set(cards)) == each
            ahead = line[: line.index(robot)]
            ties += 2 * sum(card in hands[r] for r in others if r in ahead) + any(card in hands[r] for r in others)
        return passed, ties + 4 * (each - len(set(cards)))

    plays = list(itertools.product(*(sorted(hands[r]) for r in line if r < each)))
    return {cards for cards in plays if fear(cards) == min(map(fear, plays))}


@pytest.mark.parametrize("name", ["4p", "6p", "2p", "3p", "3p-1r"])
@pytest.mark.clause("G3.1", "G3.3")
def test_the_counter_follows_its_rule(name: str) -> None:
    variant, rng = parse_variant(name), np.random.default_rng(5)
    engine = Engine(variant, 15, seed=6)
    engine.start()
    for _ in range(variant.least_rounds):
        state = copy_of(engine.state)
        engine.play_cards(random_cards(variant, engine.state, rng))
        for game, may in enumerate(liked(Forgetful(), *look(variant, state, 0))):
            if state.limbs[0, game]:
                deck = variant.cards
                cards = {(a + 1,) if variant.robots_per_player == 1 else (a // deck + 1, a % deck + 1) for a in may}
                assert cards == liked_by_the_rule(variant, state, game)


@pytest.mark.clause("G3.1", "G3.3")
def test_the_counter_by_hand() -> None:
    # Nobody else holds 2 or 4, and three robots can't pass a 2 with 3 and 5; a 5 can be tied by one ahead.
    assert liked(Forgetful(), *see("4p", "3. B4:135/24 A4:245/13 C4:135/24 D4:135/24")) == [[1, 3]]
    # All can pass a 1; a 3 can be tied by two ahead, a 5 by one.
    assert liked(Forgetful(), *see("4p", "3. B4:234/15 C4:345/12 A4:135/24 D4:234/15")) == [[4]]
    # At the front a tie does no harm; where nobody else holds a number, it comes first.
    assert liked(Forgetful(), *see("4p", "3. A4:135/24 B4:345/12 C4:245/13 D4:245/13")) == [[2, 4]]
    assert liked(Forgetful(), *see("4p", "3. A4:135/24 B4:145/23 C4:245/13 D4:245/13")) == [[2]]
    # It counts higher cards and does not ask who holds them: a 3 is safe here, since B can't pass it, but 4 and 5 are two cards.
    assert liked(Forgetful(), *see("3p-1r-5c", "3. A4:123/45 B4:123/45 C4:345/12")) == [[0, 1, 2]]
    # Two robots: own numbers differ, and 3 is held by others.
    assert liked(Forgetful(), *see("2p", "3. A4:345/12 a4:345/12 B4:123/45 b4:123/45")) == [[3 * 5 + 4, 4 * 5 + 3]]


@pytest.mark.clause("G7.3")
def test_the_forgetful_knows_the_last_round_only() -> None:
    """In the memory game it takes a hand that it does not see for all cards but the one just played."""
    variant = parse_variant("4p-memory")
    games = parse_position(variant, "3. A4:245/13 B4:135/24 C4:135/24 D4:12345")
    games.played[:, 0] = [1 << 0, 1 << 1, 1 << 3, 1 << 2]
    # As far as it sees B lacks only the 2, C only the 4, and D, which took all back, nothing: all behind it, so that ties do no
    # harm, but all three can pass a 2.
    assert liked(Forgetful(), *look(variant, games, 0)) == [[3, 4]]
    # Behind B and C: B can tie a 4, and both can tie a 5.
    games.place[:, 0] = [2, 0, 1, 3]
    assert liked(Forgetful(), *look(variant, games, 0)) == [[3]]
