"""The engine refuses arrays and layouts for which compiled code would read or write behind their ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from getbit_env.core.layouts import Show
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import parse_variant
from getbit_env.sharks_are_wild.engine import Engine as SharksEngine
from getbit_env.sharks_are_wild.variants import parse_variant as parse_sharks

FOUR = parse_variant("4p")


def begun(games: int = 3, name: str = "4p", **more) -> Engine:
    engine = Engine(parse_variant(name), games, seed=1, **more)
    engine.start()
    engine.observe()
    return engine


def all_of(engine: Engine) -> list[np.ndarray]:
    return [a.copy() for a in (*engine.state, *engine.record, engine.streams, engine.counters, engine.actions, engine.observation)]


WRONG = [
    ("start", (np.ones(2, np.uint8),), "begin is an array (3,) of uint8, not (2,) of uint8"),
    ("start", (np.ones(4, np.uint8),), "begin is an array (3,) of uint8, not (4,)"),
    ("start", (np.ones(3),), "begin is an array (3,) of uint8, not (3,) of float64"),
    ("start", ([1, 1, 1],), "begin is an array (3,) of uint8, not [1, 1, 1]"),
    ("start", (None, np.arange(4)), "starts is an array (3, 4) of whole numbers, not (4,) of int64"),
    ("start", (None, [[0, 1, 2, 3]] * 2), "starts is an array (3, 4) of whole numbers, not (2, 4)"),
    ("start", (None, [[0, 1, 2, 3]] * 2 + [[0, 1, 2, 2]]), "a starting line of 4p holds each of the robots 0..3 once"),
    ("start", (None, [[0.0, 1.0, 2.0, 3.0]] * 3), "a starting line of 4p holds each of the robots 0..3 once"),
    ("start", (None, [list("0123")] * 3), "a starting line of 4p holds each of the robots 0..3 once"),
    ("start", (None, [[0, 1, 2]] * 3), "a starting line of 4p holds each of the robots 0..3 once"),
    ("start", (None, [[0, 1, 2, 99]] * 3), "a starting line of 4p holds each of the robots 0..3 once"),
    ("play", (np.zeros((2, 4), np.int64),), "actions is an array (3, 4) of whole numbers, not (2, 4) of int64"),
    ("play", (np.zeros((1, 4), np.int64),), "actions is an array (3, 4) of whole numbers"),
    ("play", (np.zeros(4, np.int64),), "actions is an array (3, 4) of whole numbers"),
    ("play", (np.zeros((3, 4)),), "actions is an array (3, 4) of whole numbers, not (3, 4) of float64"),
    ("play", (0,), "actions is an array (3, 4) of whole numbers, not 0"),
    ("play_cards", (np.ones((4, 2), np.uint8),), "cards is an array (4, 3) of uint8, not (4, 2)"),
    ("play_cards", (np.ones((3, 4), np.uint8),), "cards is an array (4, 3) of uint8, not (3, 4)"),
    ("play_cards", (np.ones((4, 3), np.int64),), "cards is an array (4, 3) of uint8, not (4, 3) of int64"),
    ("observe", (np.ones(2, np.uint8),), "show is an array (3,) of uint8, not (2,)"),
    ("observe", (Show.ALL,), "show is an array (3,) of uint8, not <Show.ALL: 2>"),
    ("play_and_observe_one", (np.zeros((1, 4), np.int64),), "play_and_observe_one is for a batch of one game, this one has 3"),
    ("play_and_observe_one", (np.zeros((3, 4), np.int64),), "actions is an array (1, 4) of int64, not (3, 4)"),
    ("observe_as", (Layout(parse_variant("7p")),), "games of 4p can't be observed with the layout of 7p"),
    ("observe_as", (Layout(parse_variant("4p-half")),), "games of 4p can't be observed with the layout of 4p-half"),
    ("observe_as", (Layout(parse_variant("4p-6c")),), "games of 4p can't be observed with the layout of 4p-6c"),
    ("observe_as", (SharksEngine(parse_sharks("sharks-4p-level1"), 1).layout,), "can't be observed with the layout of <"),
    ("observe_as", (Layout(FOUR, Options(history=True)),), "only if its own options have history=True"),
    ("observe_as", (None,), "games of 4p can't be observed with the layout of None"),
]


@pytest.mark.parametrize(("method", "arguments", "message"), WRONG)
def test_what_does_not_fit_is_refused_and_changes_nothing(method, arguments, message):
    engine = begun()
    before = all_of(engine)
    with pytest.raises(ValueError) as refusal:
        getattr(engine, method)(*arguments)
    assert message in str(refusal.value)
    for old, new in zip(before, all_of(engine), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    "actions", [np.zeros((1, 3), np.int64), np.zeros((1, 4), np.int32), np.zeros(4, np.int64), [[0] * 4], None]
)
def test_a_single_game_is_as_strict(actions):
    engine = begun(1)
    with pytest.raises(ValueError, match=r"actions is an array \(1, 4\) of int64, not"):
        engine.play_and_observe_one(actions)
    assert engine.state.rounds.tolist() == [0]
    engine.play_and_observe_one(np.zeros((1, 4), np.int64))
    assert engine.state.rounds.tolist() == [1]


@pytest.mark.parametrize("games", [0, -1, 1.5, True, "3"])
def test_a_batch_holds_a_game(games):
    with pytest.raises(ValueError, match=f"games is a whole number from 1 on, not {games!r}"):
        Engine(FOUR, games)


def test_another_layout_of_the_same_game_is_observed():
    engine = begun(3, "4p-memory", options=Options(history=True))
    face_up = replace(engine.variant, memory=False)
    for options in (Options(), Options(identity=True, observe_last=True), Options(history=True)):
        layout = Layout(face_up, options)
        other = begun(3, "4p", options=options)
        np.testing.assert_array_equal(engine.observe_as(layout), other.observation)


def test_whom_a_game_is_shown_to():
    """A is out: it looks on, or sees nothing; and where nobody is to see, all stays as it was."""
    engine = begun(3)
    engine.state.limbs[0], engine.state.place[:] = 0, np.array([[3], [0], [1], [2]])
    engine.observation[:] = 7
    engine.observe(np.array(list(Show), np.uint8))
    assert (engine.observation[0] == 7).all()
    assert not engine.observation[1, 0].any()
    assert engine.observation[1, 1:].any(axis=1).all()
    assert engine.observation[2].any(axis=1).all()
