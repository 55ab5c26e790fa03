"""The engine refuses arrays and layouts for which compiled code would read or write behind their ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from getbit_env.core.layouts import Show
from getbit_env.get_bit.observations import Layout as GetBitLayout
from getbit_env.get_bit.variants import parse_variant as parse_get_bit
from getbit_env.sharks_are_wild.engine import Deal, Engine
from getbit_env.sharks_are_wild.observations import Layout, Options
from getbit_env.sharks_are_wild.rules import KINDS
from getbit_env.sharks_are_wild.variants import parse_variant

TWO = parse_variant("sharks-2p-level2")
CARDS = TWO.rules.deck.tolist()


def begun(games: int = 3) -> Engine:
    engine = Engine(TWO, games, seed=1)
    engine.start()
    engine.observe()
    return engine


def all_of(engine: Engine) -> list[np.ndarray]:
    return [a.copy() for a in (*engine.state, engine.streams, engine.counters, engine.actions, engine.observation)]


WRONG: list[tuple[str, tuple[Any, ...], str]] = [
    ("start", (np.ones(2, np.uint8),), "begin is an array (3,) of uint8, not (2,) of uint8"),
    ("start", (np.ones(3),), "begin is an array (3,) of uint8, not (3,) of float64"),
    ("start", (None, [Deal(CARDS, 0)]), "starts is a deal for each of 3 games, not 1"),
    ("start", (None, [Deal(CARDS, 0)] * 2 + [Deal(CARDS, 2)]), "the first player is 0 to 1, not 2"),
    ("start", (None, [Deal(CARDS, 0.0)] * 3), "the first player is 0 to 1, not 0.0"),
    ("start", (None, [Deal(CARDS, 0)] * 2 + [Deal(CARDS[:-1], 0)]), "a deck of sharks-2p-level2 is a list of 54 kinds"),
    ("start", (None, [Deal([float(c) for c in CARDS], 0)] * 3), "a deck of sharks-2p-level2 is a list of 54 kinds"),
    ("start", (None, [Deal([str(c) for c in CARDS], 0)] * 3), "a deck of sharks-2p-level2 is a list of 54 kinds"),
    ("start", (None, [Deal(CARDS, 0, -1)] * 3), "the stream of a deal is a whole number of 64 bits or None, not -1"),
    ("start", (None, [Deal(CARDS, 0, 1 << 64)] * 3), "the stream of a deal is a whole number of 64 bits or None"),
    ("play", (np.zeros((1, 2), np.int64),), "actions is an array (3, 2) of whole numbers, not (1, 2) of int64"),
    ("play", (np.zeros((3, 2)),), "actions is an array (3, 2) of whole numbers, not (3, 2) of float64"),
    ("play", (0,), "actions is an array (3, 2) of whole numbers, not 0"),
    ("play", (np.zeros((3, 2), np.int64), np.ones(2, np.uint8)), "active is an array (3,) of uint8, not (2,)"),
    ("observe", (np.ones(2, np.uint8),), "show is an array (3,) of uint8, not (2,)"),
    ("step", (np.zeros((1, 2), np.int64),), "step is for a batch of one game, this one has 3"),
    ("observe_as", (Layout(parse_variant("sharks-2p-level1")),), "can't be observed with the layout of sharks-2p-level1"),
    ("observe_as", (Layout(parse_variant("sharks-4p-level2")),), "can't be observed with the layout of sharks-4p-level2"),
    ("observe_as", (GetBitLayout(parse_get_bit("4p")),), "can't be observed with the layout of <"),
]


@pytest.mark.parametrize(("method", "arguments", "message"), WRONG)
def test_what_does_not_fit_is_refused_and_changes_nothing(method: str, arguments: tuple[Any, ...], message: str) -> None:
    engine = begun()
    before = all_of(engine)
    with pytest.raises(ValueError) as refusal:
        getattr(engine, method)(*arguments)
    assert message in str(refusal.value)
    assert len(str(refusal.value)) < 600
    for old, new in zip(before, all_of(engine), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("actions", [np.zeros((1, 3), np.int64), np.zeros(2, np.int64), np.zeros((1, 2)), [[0, 0]]])
def test_a_single_game_is_as_strict(actions: Any) -> None:
    engine = begun(1)
    with pytest.raises(ValueError, match=r"actions is an array \(1, 2\) of whole numbers, not"):
        engine.step(actions)
    assert engine.step(np.zeros((1, 2), np.int64)) in (0, 1)


@pytest.mark.parametrize("games", [0, -1, 1.5, True])
def test_a_batch_holds_a_game(games: Any) -> None:
    with pytest.raises(ValueError, match=f"games is a whole number from 1 on, not {games!r}"):
        Engine(TWO, games)


@pytest.mark.parametrize("action", [-1, TWO.actions, 63, 64, 64 + 26, -(1 << 63), (1 << 63) - 1])
def test_what_is_no_action_becomes_the_lowest_legal_one(action: int) -> None:
    engine = begun(8)
    for _ in range(60):
        legal, choosing = engine.action_mask.argmax(axis=2), engine.choosing()
        engine.play(np.full((8, 2), action))
        assert (engine.actions[choosing] == legal[choosing]).all()
        assert (engine.replaced == choosing).all()
        assert engine.state.hand.sum() + engine.state.draw_size.sum() + engine.state.discard_size.sum() <= 8 * TWO.cards
        engine.observe()


def test_whom_a_game_is_shown_to() -> None:
    engine = begun()
    choosing = engine.choosing()
    engine.observation[:] = 7
    engine.observe(np.array(list(Show), np.uint8))
    assert (engine.observation[0] == 7).all()
    assert engine.observation[1].any(axis=1).tolist() == choosing[1].tolist()
    assert engine.observation[2].any(axis=1).all()


def test_another_layout_of_the_same_variant_is_observed() -> None:
    engine = begun()
    layout = Layout(TWO, Options(open_hands=True))
    seen = layout.field(engine.observe_as(layout), "hand").sum(axis=-1)
    assert (seen == 5).all()
    assert engine.state.hand.shape[2] == KINDS
