"""The same games whatever executes them: a compiled batch, parts of it, one game at a time, or plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from getbit_env.core import action_sets, streams
from getbit_env.sharks_are_wild import observations, rules
from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.observations import Layout
from getbit_env.sharks_are_wild.rules import OVER, new_games, new_outcome
from getbit_env.sharks_are_wild.variants import parse_variant
from tests.plain_python import plain_copies
from tests.sharks_are_wild.play import MANY_VARIANTS, copy_of, random_actions


@pytest.fixture(scope="module")
def plain() -> list[ModuleType]:
    """`rules` and `observations` as Python runs them, without the compiler."""
    return plain_copies(streams, action_sets, rules, observations)[2:]


def decide(module: ModuleType, engine: Engine, games, actions, streams, counters, cuts) -> list[np.ndarray]:
    """A decision of every game, part by part; all that it changes."""
    outcome, replaced = new_outcome(engine.variant.players, len(streams)), np.full(actions.shape, 7, np.uint8)
    active = (np.arange(len(streams)) % 5 != 4).astype(np.uint8)  # some games wait
    actions, counters = actions.copy(), counters.copy()
    pays = engine.variant.reward_of_finish().astype(np.float32)
    for start, stop in pairwise(cuts):
        module.replace_illegal_actions(engine.rules, games, actions, active, replaced, start, stop)
        module.play(engine.rules, games, actions, active, streams, counters, pays, outcome, start, stop)
    return [*games, *outcome, actions, replaced, counters]


def positions(name: str, size: int, heedless: int) -> Iterator[tuple[Engine, np.ndarray]]:
    """A batch of random games and what is decided in them; in every `heedless`-th one players don't look what is legal."""
    engine = Engine(parse_variant(name), size, seed=5)
    engine.start()
    rng, number = np.random.default_rng(5), 0
    while (engine.state.stage != OVER).any():
        actions = random_actions(engine, number)
        blind = rng.integers(0, engine.variant.actions, actions.shape)
        actions[::heedless] = blind[::heedless]
        yield engine, actions
        engine.play(actions)
        number += 1


@pytest.mark.parametrize("name", MANY_VARIANTS)
def test_parts_of_a_batch_single_games_and_plain_python_are_as_the_whole_batch(name, plain):
    size = 11
    for number, (engine, actions) in enumerate(positions(name, size, 3)):
        state, streams, counters = engine.state, engine.streams, engine.counters
        whole = decide(rules, engine, copy_of(state), actions, streams, counters, [0, size])
        cut = decide(rules, engine, copy_of(state), actions, streams, counters, [0, 1, 7, 7, size])
        for a, b in zip(whole, cut, strict=True):
            np.testing.assert_array_equal(a, b)
        if number % 4 == 0 or number < 20:
            with np.errstate(over="ignore"):  # the stream's numbers wrap
                interpreted = decide(plain[0], engine, copy_of(state), actions, streams, counters, [0, size])
            for a, b in zip(whole, interpreted, strict=True):
                np.testing.assert_array_equal(a, b)


def test_games_outside_the_part_or_waiting_are_not_touched():
    for engine, actions in positions("sharks-3p-level2", 20, 1000):
        games = copy_of(engine.state)
        decide(rules, engine, games, actions, engine.streams, engine.counters, [5, 15])
        still = [*range(5), 9, 14, *range(15, 20)]
        for before, after in zip(engine.state, games, strict=True):
            np.testing.assert_array_equal(before[still], after[still])


@pytest.mark.parametrize("name", ["sharks-2p-level1", "sharks-4p-level2", MANY_VARIANTS[6]])
def test_plain_python_deals_sees_and_reads_the_same(name, plain):
    plain_rules, plain_observations = plain
    variant, size = parse_variant(name), 4
    layout, seen = Layout(variant), []
    for rules_used, observations_used in ((rules, observations), (plain_rules, plain_observations)):
        everything = []
        games, outcome = new_games(variant.rules, size), new_outcome(variant.players, size)
        streams, counters = np.arange(size, dtype=np.uint64), np.zeros(size, np.uint64)
        observation = np.full((size, variant.players, layout.size), 7, np.float32)
        mask = np.full((size, variant.players, variant.actions), 7, np.int8)
        show, active = np.array([0, 1, 2, 2], np.uint8), np.ones(size, np.uint8)
        rng = np.random.default_rng(1)
        with np.errstate(over="ignore"):
            rules_used.start_games(variant.rules, games, active, streams, counters, 0, size)
            for _ in range(25):
                observations_used.observe(layout.view, variant.rules, games, show, observation, mask, 0, size)
                read = new_games(variant.rules, variant.players)
                for p in range(variant.players):
                    observations_used.read(layout.view, observation[3, p], read, p)
                unseen = np.zeros(rules.KINDS, np.int64)
                observations_used.unseen(layout.view, read, 0, unseen)
                actions, replaced = rng.integers(0, variant.actions, mask.shape[:2]), np.zeros(mask.shape[:2], np.uint8)
                rules_used.replace_illegal_actions(variant.rules, games, actions, active, replaced, 0, size)
                pays = variant.reward_of_finish().astype(np.float32)
                rules_used.play(variant.rules, games, actions, active, streams, counters, pays, outcome, 0, size)
                everything += [a.copy() for a in (observation, mask, actions, replaced, unseen, *games, *outcome, *read)]
        seen.append(everything)
    for compiled, interpreted in zip(*seen, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)


def test_a_game_does_not_depend_on_the_batch_that_it_is_in():
    for name in ("sharks-2p-level2", "sharks-4p-level1"):
        large, small = (Engine(parse_variant(name), size, seed=3) for size in (40, 3))
        large.start()
        small.start()
        for number in range(60):
            actions = random_actions(large, number)
            large.play(actions)
            small.play(actions[:3])
        for one, other in zip(large.state, small.state, strict=True):
            np.testing.assert_array_equal(one[:3], other)
