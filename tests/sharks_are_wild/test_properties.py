"""What holds in every position of every game, and the kernels against rules that were written a second time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.notation import LETTERS, legal_actions, parse_position, print_action, print_position, start_position
from getbit_env.sharks_are_wild.rules import DRAW, OVER, SHARK, Games, kind_of, new_outcome, play
from getbit_env.sharks_are_wild.variants import LEVEL_TWO_READINGS, READINGS, Variant, parse_variant
from tests.sharks_are_wild.play import MANY_VARIANTS, random_actions
from tests.sharks_are_wild.reference import Stream, Table

clause = pytest.mark.clause

variants = st.builds(
    lambda players, level, numbers, sharks, specials, hand, run, coins, turns, readings: _variant(
        players, level, numbers, sharks, specials, hand, run, coins, turns, readings
    ),
    *(st.integers(2, 4), st.integers(1, 2), st.integers(1, 4), st.integers(0, 8), st.tuples(st.integers(0, 9), st.integers(0, 6))),
    *(st.integers(1, 6), st.integers(2, 7), st.integers(1, 5), st.integers(1, 80), st.sets(st.sampled_from(READINGS))),
).filter(lambda variant: variant is not None)


def _variant(players, level, numbers, sharks, specials, hand, run, coins, turns, readings) -> Variant | None:
    octopuses, dolphins = specials if level == 2 else (6, 4)
    readings = dict.fromkeys(readings if level == 2 else readings - set(LEVEL_TWO_READINGS), True)
    try:
        return Variant(players, level, numbers, sharks, octopuses, dolphins, hand, run, coins, turns, **readings)
    except ValueError:
        return None  # more hands than cards


def cards_by_kind(variant: Variant, games: Games, g: int) -> list[int]:
    """All cards of a game, wherever they are."""
    found = games.hand[g].sum(axis=0, dtype=np.int64)
    for pile, size in ((games.draw, games.draw_size), (games.discard, games.discard_size)):
        found += np.bincount(pile[g, : size[g]], minlength=len(LETTERS))
    for p in range(variant.players):
        for n in range(games.low[g, p], games.high[g, p] + 1):
            if n != 5:
                found[SHARK if games.sharks[g, p] >> n & 1 else kind_of(n)] += 1
    return found.tolist()


@clause("S1.1", "S2.1", "S2.4", "S3", "S4")
@given(variants, st.integers(0, 2**32), st.data())
def test_whole_games_of_any_variant(variant: Variant, seed: int, data: st.DataObject) -> None:
    """Every card is in one place, runs are consecutive around their 5, coins only come, hands are full if piles are not empty."""
    engine = Engine(variant, 1, seed=seed)
    engine.start()
    games, number, coins, exhausted = engine.state, 0, engine.state.coins.copy(), False
    wanted = [*variant.counts, *[0] * (len(LETTERS) - variant.kinds)]
    while games.stage[0] != OVER:
        assert cards_by_kind(variant, games, 0) == wanted
        assert (games.taken <= games.hand).all()
        for p in range(variant.players):
            low, high, sharks = int(games.low[0, p]), int(games.high[0, p]), int(games.sharks[0, p])
            assert 0 <= low <= 5 <= high <= 9
            assert high - low + 1 < variant.run
            assert sharks & ~sum(1 << n for n in range(low, high + 1) if n != 5) == 0
        exhausted |= games.draw_size[0] + games.discard_size[0] == 0 or bool(games.draw_size[0] == 0 and games.stage[0] == DRAW)
        sizes = games.hand[0].sum(axis=1)
        if not exhausted:
            assert (sizes[np.arange(variant.players) != games.player[0]] == variant.hand).all()
            assert sizes[games.player[0]] == variant.hand + (games.stage[0] == 1)
        assert games.stage[0] != DRAW or games.draw_size[0] > 0 or games.discard_size[0] < 2, "turned over before one draws (S2.5)"
        may = legal_actions(engine.rules, games)
        assert may
        before = games.coins.copy()
        if number < 12:
            action = data.draw(st.sampled_from(may))
            actions = np.full((1, variant.players), action)
        else:
            actions = random_actions(engine, number, seed)
        actor = int(games.player[0])
        engine.play(actions)
        assert not engine.replaced.any()
        gained = games.coins.astype(int) - before
        assert (np.delete(gained[0], actor) == 0).all()
        assert 0 <= gained[0, actor] <= 2
        number += 1
        assert number <= 4 * variant.turn_limit
    assert cards_by_kind(variant, games, 0) == wanted
    assert engine.outcome.over[0]
    assert (games.coins >= variant.coins).sum() == (engine.outcome.finish == 1).sum() <= 1
    assert games.turns[0] == variant.turn_limit or engine.outcome.finish.any()
    assert games.coins.max() <= variant.coins + 1
    assert (coins <= games.coins).all()
    assert engine.outcome.reward.sum() == pytest.approx(0, abs=1e-6)


EVERY_READING = [
    "-".join([game, *words])
    # Few cards, so that the piles run out; many thefts. At level one three of the readings are about cards that it lacks.
    for game in ("sharks-3p-level2-1of-4sharks-9octopuses-2dolphins-3hand-60turns", "sharks-2p-level1-1of-4sharks-3hand-60turns")
    for number in range(1, len(READINGS) + 1)
    for words in combinations([name.replace("_", "") for name in READINGS], number)
    if "level2" in game or words == ("earlyshuffle",)
]


@pytest.mark.parametrize("name", [*MANY_VARIANTS, *EVERY_READING])
def test_the_kernels_play_as_the_rules_written_a_second_time(name: str) -> None:
    """What is legal, every position that follows, the random numbers used, and who wins, for many whole games."""
    variant = parse_variant(name)
    size = 12
    engine = Engine(variant, size, seed=17)
    engine.start()
    games = engine.state
    tables = []
    for g in range(size):
        stream = Stream(int(engine.streams[g]), int(engine.counters[g]))
        table = Table(
            *(variant.players, stream),
            hand=variant.hand,
            run=variant.run,
            coins=variant.coins,
            turn_limit=variant.turn_limit,
            readings=frozenset(name for name in READINGS if getattr(variant, name)),
        )
        table.deal([LETTERS[kind] for kind in games.draw[g][::-1]], int(games.player[g]))
        tables.append(table)
    number, ended = 0, 0
    while (games.stage != OVER).any():
        actions = random_actions(engine, number)
        for g, table in enumerate(tables):
            assert print_position(variant, games, g) == table.position()
            may = {print_action(variant, games, action, g): action for action in legal_actions(engine.rules, games, g)}
            assert may.keys() == table.legal()
            if may:
                (said,) = (what for what, action in may.items() if action == actions[g, table.decides])
                table.decide(said)
        engine.play(actions)
        for g, table in enumerate(tables):
            assert int(engine.counters[g]) == table.stream.drawn
            if engine.outcome.over[g]:
                ended += 1
                assert table.stage == "over"
                winner = np.flatnonzero(engine.outcome.finish[:, g] == 1).tolist()
                assert winner == ([] if table.winner is None else [table.winner])
        number += 1
    assert ended == size


@clause("S2.5")
def test_piles_run_out_in_the_small_variant() -> None:
    """So that the tests above meet it."""
    engine = Engine(parse_variant(MANY_VARIANTS[6]), 200, seed=1)
    engine.start()
    met = np.zeros(3, int)
    number = 0
    while (engine.state.stage != OVER).any():
        empty = (engine.state.draw_size == 0) & (engine.state.stage == DRAW)
        met += [(empty & (engine.state.discard_size == k)).sum() for k in range(2)] + [
            (engine.state.hand.sum(axis=2).min(axis=1) < 5).sum()
        ]
        engine.play(random_actions(engine, number))
        number += 1
    assert met.min() > 10


@settings(max_examples=30)
@given(st.sampled_from(MANY_VARIANTS), st.integers(0, 2**32))
def test_positions_are_read_as_they_are_written(name: str, seed: int) -> None:
    variant = parse_variant(name)
    engine = Engine(variant, 1, seed=seed)
    engine.start()
    number = 0
    while engine.state.stage[0] != OVER:
        text = print_position(variant, engine.state)
        again = parse_position(variant, text)
        assert print_position(variant, again) == text
        engine.play(random_actions(engine, number, seed))
        number += 1


def test_a_game_is_the_same_from_every_seat() -> None:
    """The same cards, streams and decisions with the seats moved on give the same positions with the seats moved on."""
    variant = parse_variant("sharks-3p-level2")
    cards = np.random.default_rng(4).permutation(variant.rules.deck).tolist()
    one, two = (start_position(variant, cards, first) for first in (0, 1))
    streams = np.array([9], np.uint64)
    counters = [np.zeros(1, np.uint64), np.zeros(1, np.uint64)]
    outcomes = [new_outcome(3, 1), new_outcome(3, 1)]
    rng = np.random.default_rng(1)
    moved = np.roll(np.arange(3), 1)
    while one.stage[0] != OVER:
        may = legal_actions(variant.rules, one)
        assert may == legal_actions(variant.rules, two)
        actions = np.full((1, 3), rng.choice(may))
        for games, counter, outcome in zip((one, two), counters, outcomes, strict=True):
            pays = variant.reward_of_finish().astype(np.float32)
            play(variant.rules, games, actions, np.ones(1, np.uint8), streams, counter, pays, outcome, 0, 1)
        for field in ("hand", "taken", "low", "high", "sharks", "coins"):
            assert (getattr(one, field)[0][moved] == getattr(two, field)[0]).all()
        assert (one.player[0] + 1) % 3 == two.player[0]
        assert (outcomes[0].finish[moved] == outcomes[1].finish).all()
