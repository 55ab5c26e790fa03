"""The same games whatever executes them: a compiled batch, parts of it, one game at a time, or plain Python; and chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, pairwise, permutations, product
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from getbit_env.core import action_sets, streams
from getbit_env.core.streams import game_streams
from getbit_env.get_bit import observations, rules
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import mask_of
from getbit_env.get_bit.observations import Layout, Options, new_observation_workspace, new_record
from getbit_env.get_bit.rules import BLOCK, Games, Outcome, new_games, new_outcome, new_scratch, play_round
from getbit_env.get_bit.variants import Variant, parse_variant
from tests.get_bit.play import copy_of, line_of, random_cards
from tests.plain_python import plain_copies

clause = pytest.mark.clause


@pytest.fixture(scope="module")
def plain() -> list[ModuleType]:
    """`rules` and `observations` as Python runs them, without the compiler."""
    return plain_copies(streams, action_sets, rules, observations)[2:]


class Played(NamedTuple):
    """All that a kernel changes in a round."""

    games: Games
    outcome: Outcome


def whole_games(variant: Variant, size: int) -> Iterator[tuple[Games, np.ndarray]]:
    """Every round of a batch of random games to the last of them: positions and the cards to play."""
    engine = Engine(variant, size, seed=5)
    engine.start()
    rng = np.random.default_rng(5)
    while ((engine.state.limbs > 0).sum(axis=0) > variant.last_line).any():
        cards = random_cards(variant, engine.state, rng)
        yield engine.state, cards
        engine.play_cards(cards)


def play_in_parts(variant: Variant, games: Games, cards: np.ndarray, cuts: list[int], play=play_round) -> Played:
    """A round, part by part of the batch; parts that are left out stay as they are."""
    games = copy_of(games)
    outcome = new_outcome(variant.robots, variant.players, len(games.rounds))
    pays = variant.reward_of_finish("placement").astype(np.float32)
    scratch = new_scratch(variant.robots)
    for start, stop in pairwise(cuts):
        play(variant.rules, games, cards, pays, np.float32(-0.5), scratch, outcome, start, stop)
    return Played(games, outcome)


def assert_equal(one: Played, other: Played) -> None:
    for a, b in zip((*one.games, *one.outcome), (*other.games, *other.outcome), strict=True):
        np.testing.assert_array_equal(a, b)


VARIANTS = ["2p", "3p", "3p-literal", "4p", "4p-pick1", "5p-half", "7p", "3p-1r-3c-1l"]


@pytest.mark.parametrize("name", VARIANTS)
def test_parts_of_a_batch_and_single_games_are_as_the_whole_batch(name):
    variant = parse_variant(name)
    size = 2 * BLOCK + 100  # no multiple of the blocks that the kernel works in
    ways_to_cut = cycle(
        ([0, BLOCK, 2 * BLOCK, size], [0, 1, 7, BLOCK - 1, BLOCK + 1, 2 * BLOCK + 99, size], [0, 0, 500, 500, size])
    )
    ended = 0
    for number, (games, cards) in enumerate(whole_games(variant, size)):
        whole = play_in_parts(variant, games, cards, [0, size])
        assert_equal(play_in_parts(variant, games, cards, next(ways_to_cut)), whole)
        for g in (number, BLOCK - 1, BLOCK, size - 1):
            single = play_in_parts(variant, copy_of(games, [g]), np.ascontiguousarray(cards[:, [g]]), [0, 1])
            assert_equal(single, Played(copy_of(whole.games, [g]), Outcome(*(array[..., [g]] for array in whole.outcome))))
        ended += whole.outcome.over.sum()
    assert ended == size


@pytest.mark.parametrize("name", ["2p", "3p-memory", "4p", "7p-memory"])
def test_an_engine_of_one_game_plays_and_sees_as_a_batch_does(name):
    """The one game has a kernel of its own."""
    variant = parse_variant(name)
    options = Options(observe_last=True, identity=True, history=True)
    batch, one = (Engine(variant, size, seed=4, options=options, reward="placement", limb_reward=-0.1) for size in (3, 1))
    rng = np.random.default_rng(0)
    for engine in (batch, one):
        engine.start()
        engine.observe()
    for number in range(3 * variant.most_rounds):
        actions = rng.integers(0, variant.actions, (3, variant.players))
        batch.play(actions)
        batch.observe()
        one.play_and_observe_one(actions[:1])
        for got, wanted in zip((*one.state, *one.outcome, *one.record), (*batch.state, *batch.outcome, *batch.record), strict=True):
            np.testing.assert_array_equal(got, wanted[..., :1])
        for field in ("observation", "action_mask", "actions", "replaced", "counters"):
            np.testing.assert_array_equal(getattr(one, field), getattr(batch, field)[:1], err_msg=f"{field}, round {number}")
        for engine in (batch, one):
            if engine.outcome.over[0]:
                engine.start(engine.outcome.over)
    assert one.counters[0] > 1


def test_games_outside_the_part_are_not_touched():
    variant = parse_variant("4p")
    outside = np.r_[0:10, 30:50]
    for games, cards in whole_games(variant, 50):
        part = play_in_parts(variant, games, cards, [10, 30])
        for before, after in zip(games, part.games, strict=True):
            np.testing.assert_array_equal(before[..., outside], after[..., outside])
        assert not any(array[..., outside].any() for array in part.outcome)
    assert part.games.rounds[10:30].min() >= variant.least_rounds


@pytest.mark.parametrize("name", VARIANTS)
def test_plain_python_plays_the_same(name, plain):
    """A byte that runs over wraps in NumPy as in compiled code, but of single numbers NumPy says so."""
    variant = parse_variant(name)
    for games, cards in whole_games(variant, 20):
        with np.errstate(over="ignore"):
            interpreted = play_in_parts(variant, games, cards, [0, 7, 20], plain[0].play_round)
        assert_equal(interpreted, play_in_parts(variant, games, cards, [0, 20]))


@pytest.mark.parametrize(
    ("name", "history"),
    [
        *(("2p-memory", True), ("3p", True), ("4p", True), ("7p-memory", True)),
        ("7p-32l-memory", False),  # so wide that offsets do not fit into the bytes that places are
    ],
)
def test_plain_python_starts_sees_and_lays_the_same(name, history, plain):
    variant = parse_variant(name)
    plain_rules, plain_observations = plain
    layout, size = Layout(variant, Options(observe_last=True, history=history)), 6
    streams = game_streams(3, size)
    seen = []
    for rules_used, observations_used in ((rules, observations), (plain_rules, plain_observations)):
        rng = np.random.default_rng(3)
        games, record, words = new_games(variant.robots, size), new_record(layout, size), new_observation_workspace(layout)
        outcome, scratch = new_outcome(variant.robots, variant.players, size), new_scratch(variant.robots)
        counters, all_games, show = np.zeros(size, np.uint64), np.ones(size, np.uint8), np.array([0, 1, 2, 1, 2, 2], np.uint8)
        observation = np.full((size, variant.players, layout.size), 7, np.float32)
        mask = np.full((size, variant.players, variant.actions), 7, np.int8)
        cards, replaced = np.zeros((variant.robots, size), np.uint8), np.zeros((size, variant.players), np.uint8)
        everything = []
        with np.errstate(over="ignore"):
            rules_used.start_games(variant.rules, games, all_games, streams, counters, scratch, 0, size)
            observations_used.record_start(games, record, all_games, 0, size)
            for _ in range(12):
                observations_used.observe(layout.view, variant.last_line, games, record, show, words, observation, mask, 0, size)
                actions = rng.integers(0, variant.actions, (size, variant.players))
                asked = actions.copy()
                observations_used.actions_to_cards(layout.view, games, actions, cards, replaced, 0, size)
                pays = variant.reward_of_finish("win").astype(np.float32)
                rules_used.play_round(variant.rules, games, cards, pays, np.float32(0), scratch, outcome, 0, size)
                observations_used.record_round(games, record, 0, size)
                everything += [a.copy() for a in (observation, mask, asked, actions, cards, replaced, *games, *record, *outcome)]
        seen.append(everything)
    for compiled, interpreted in zip(*seen, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)


# --- chance ----------------------------------------------------------------------------------------------------------------


def chi_square(counts: Counter, outcomes: int) -> float:
    """How far counts are from all outcomes being equally likely, in standard deviations of the statistic."""
    expected = sum(counts.values()) / outcomes
    statistic = sum((n - expected) ** 2 for n in counts.values()) / expected + expected * (outcomes - len(counts))
    return (statistic - (outcomes - 1)) / math.sqrt(2 * (outcomes - 1))


@clause("G1.2")
@pytest.mark.parametrize("name", ["4p", "3p-1r", "5p"])
def test_every_starting_line_is_equally_likely(name):
    variant = parse_variant(name)
    orders = math.factorial(variant.robots)
    engine = Engine(variant, 200 * orders, seed=11)
    for _ in range(2):  # the first line of each stream, and the next one
        engine.start()
        counts = Counter(map(tuple, engine.state.place.T.tolist()))
        assert set(counts) == set(permutations(range(variant.robots)))
        assert abs(chi_square(counts, orders)) < 4


@clause("G1.2")
@pytest.mark.parametrize("name", ["2p", "3p", "7p"])
def test_every_robot_is_equally_likely_in_every_place(name):
    variant = parse_variant(name)
    engine = Engine(variant, 20_000, seed=12)
    engine.start()
    for robot in range(variant.robots):
        assert abs(chi_square(Counter(engine.state.place[robot].tolist()), variant.robots)) < 4


@clause("G1.2")
def test_lines_of_one_stream_or_of_neighbouring_games_tell_nothing_of_each_other():
    variant = parse_variant("4p")
    engine = Engine(variant, 40_000, seed=13)
    lines = []
    for _ in range(2):
        engine.start()
        lines.append(list(map(tuple, engine.state.place.T.tolist())))
    assert abs(chi_square(Counter(zip(*lines, strict=True)), 24 * 24)) < 4
    assert abs(chi_square(Counter(zip(lines[0][:-1:2], lines[0][1::2], strict=True)), 24 * 24)) < 4
    assert abs(chi_square(Counter(zip(lines[0][:20_000], lines[0][20_000:], strict=True)), 24 * 24)) < 4


@clause("G1.2")
def test_a_game_has_the_same_lines_whatever_the_batch():
    variant = parse_variant("6p")
    big, small = Engine(variant, 1500, seed=21), Engine(variant, 3, seed=21)
    for _ in range(3):
        big.start()
        small.start()
        np.testing.assert_array_equal(big.state.place[:, :3], small.state.place)
    np.testing.assert_array_equal(game_streams(21, 5, first=1000), game_streams(21, 1005)[1000:])
    np.testing.assert_array_equal(game_streams(np.random.SeedSequence(21), 5), game_streams(21, 5))
    assert len(set(game_streams(21, 1000).tolist())) == 1000
    assert not set(game_streams(21, 1000).tolist()) & set(game_streams(22, 1000).tolist())


def test_a_seed_fixes_the_lines_and_no_seed_leaves_them_open():
    variant = parse_variant("7p")
    lines = []
    for seed in (1, 1, 2, None, None):
        engine = Engine(variant, 20, seed=seed)
        engine.start()
        lines.append(engine.state.place.tobytes())
    assert lines[0] == lines[1]
    assert len(set(lines)) == 4
    engine.seed(1)  # also of an engine that has played
    engine.start()
    assert engine.state.place.tobytes() == lines[0]
    with pytest.raises(ValueError, match="non-negative"):
        Engine(variant, 1, seed=-1)


def test_the_stream_is_the_published_splitmix64():
    """The first outputs of SplitMix64 with seed 1234567, as its users publish them for checking."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert [int(rules.random_bits(np.uint64(1234567), np.uint64(n))) for n in range(1, 6)] == published


def test_a_line_comes_from_the_digits_of_the_random_bits():
    """The shuffle in Python integers: 56 bits as a fraction, its digits in bases R, R-1, ..., 2 say what to swap."""
    variant = parse_variant("7p")
    engine = Engine(variant, 200, seed=31)
    engine.start()
    for g in range(200):
        fraction = int(rules.random_bits(engine.streams[g], np.uint64(1))) >> 8
        line = list(range(7))
        for i in range(6, 0, -1):
            j, fraction = divmod(fraction * (i + 1), 1 << 56)
            line[i], line[j] = line[j], line[i]
        assert line_of(engine.state, g) == line


@clause("G1.2")
def test_the_same_line_and_cards_are_the_same_game():
    """Nothing but the line is left to chance: engines with other seeds play the same from there."""
    variant = parse_variant("5p")
    engines = [Engine(variant, 30, seed=seed) for seed in (1, 2)]
    lines = [list(line) for line in list(permutations(range(5)))[:30]]
    for engine in engines:
        engine.start(starts=lines)
        assert [line_of(engine.state, g) for g in range(30)] == lines
    rng = np.random.default_rng(1)
    while ((engines[0].state.limbs > 0).sum(axis=0) > variant.last_line).any():
        cards = random_cards(variant, engines[0].state, rng)
        for engine in engines:
            engine.play_cards(cards)
        for one, other in zip(engines[0].state, engines[1].state, strict=True):
            np.testing.assert_array_equal(one, other)


# --- starting games --------------------------------------------------------------------------------------------------------


def test_only_the_games_that_begin_are_set_up():
    variant = parse_variant("4p")
    engine = Engine(variant, 6, seed=41)
    engine.start()
    rng = np.random.default_rng(41)
    for _ in range(5):
        engine.play_cards(random_cards(variant, engine.state, rng))
    before = copy_of(engine.state)
    begin = np.array([0, 1, 0, 0, 1, 0], np.uint8)
    engine.start(begin)
    for old, new in zip(before, engine.state, strict=True):
        np.testing.assert_array_equal(old[..., begin == 0], new[..., begin == 0])
    begun = copy_of(engine.state, np.flatnonzero(begin))
    assert begun.rounds.tolist() == [0, 0]
    assert (begun.limbs == 4).all()
    assert (begun.hand == mask_of([1, 2, 3, 4, 5])).all()
    assert not begun.played.any()
    assert engine.counters.tolist() == [1, 2, 1, 1, 2, 1]
    engine.start(begin, starts=[[3, 2, 1, 0]] * 6)
    assert [line_of(engine.state, g) == [3, 2, 1, 0] for g in (1, 4)] == [True, True]
    np.testing.assert_array_equal(engine.state.place[:, begin == 0], before.place[:, begin == 0])


@pytest.mark.parametrize("line", [[0, 1, 2, 2], [0, 1, 2], [1, 2, 3, 4], [0, 1, 2, 3, 4]])
def test_a_starting_line_that_is_none_is_refused(line):
    engine = Engine(parse_variant("4p"), 1, seed=1)
    with pytest.raises(ValueError, match=r"holds each of the robots 0\.\.3 once"):
        engine.start(starts=[line])


@pytest.mark.parametrize("name", ["2p", "3p", "4p"])
def test_actions_are_played_as_the_cards_that_they_mean(name):
    """An engine that plays actions and one that plays their cards."""
    variant = parse_variant(name)
    engine, by_cards = Engine(variant, 64, seed=51), Engine(variant, 64, seed=51)
    rng = np.random.default_rng(51)
    engine.start()
    by_cards.start()
    for _ in range(variant.most_rounds):
        cards = random_cards(variant, engine.state, rng)
        actions = np.zeros((64, variant.players), np.int64)
        for g, p in product(range(64), range(variant.players)):
            own = sorted(
                range(p * variant.robots_per_player, (p + 1) * variant.robots_per_player), key=engine.state.place[:, g].item
            )
            for robot in own:  # front robot first
                actions[g, p] = actions[g, p] * variant.cards + max(int(cards[robot, g]).bit_length() - 1, 0)
        engine.play(actions)
        by_cards.play_cards(cards)
        for one, other in zip((*engine.state, *engine.outcome), (*by_cards.state, *by_cards.outcome), strict=True):
            np.testing.assert_array_equal(one, other)
    assert ((engine.state.limbs > 0).sum(axis=0) == variant.last_line).all()


# --- random play -----------------------------------------------------------------------------------------------------------


def drawn_cards(draw_cards, games: Games, streams: np.ndarray, parts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Cards drawn for a batch, part by part, and what the counters say then."""
    cards, counters = np.full_like(games.hand, 99), np.zeros_like(streams)
    for start, stop in pairwise(parts):
        draw_cards(games, streams, counters, new_scratch(games.hand.shape[0]), cards, start, stop)
    return cards, counters


@pytest.mark.parametrize("name", ["4p", "7p", "2p"])
def test_drawn_cards_are_legal_and_the_same_in_parts_and_in_plain_python(name, plain):
    variant = parse_variant(name)
    streams = game_streams(1, 40)
    for games, _ in whole_games(variant, 40):
        cards, counters = drawn_cards(rules.draw_cards, games, streams, [0, 40])
        in_line = games.limbs > 0
        assert np.array_equal(np.bitwise_count(cards), in_line)
        assert not (cards & ~games.hand).any()
        assert (counters == (1 if variant.robots <= 4 else 2)).all()
        with np.errstate(over="ignore"):
            others = [
                drawn_cards(rules.draw_cards, games, streams, [0, 7, 40]),
                drawn_cards(plain[0].draw_cards, games, streams, [0, 40]),
            ]
        for drawn in others:
            assert np.array_equal(drawn[0], cards)
            assert np.array_equal(drawn[1], counters)


@pytest.mark.parametrize("hand", ["12345", "245", "1234567"])
def test_every_card_of_a_hand_is_drawn_as_often(hand):
    variant, size = parse_variant("7p"), 20 * BLOCK + 5
    games = new_games(variant.robots, size)
    games.limbs[:] = 1
    games.hand[:] = mask_of([int(card) for card in hand])
    cards, _ = drawn_cards(rules.draw_cards, games, game_streams(2, size), [0, size])
    for robot in range(variant.robots):
        counts = Counter(cards[robot].tolist())
        assert counts.keys() == {1 << (int(card) - 1) for card in hand}
        assert abs(chi_square(counts, len(hand))) < 4
    pairs = Counter((cards[0].astype(int) * 128 + cards[1]).tolist())
    assert abs(chi_square(pairs, len(hand) ** 2)) < 4, "the draws of two robots have nothing to do with each other"
