"""What an engine does with a single game, in one compiled call: its arrays lie in one block (`core.blocks`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]  # numba has it
from numba.np.unsafe.ndarray import to_fixed_tuple
from numpy.typing import NDArray

from getbit_env.core.blocks import (
    actions_2d,
    bytes_1d,
    bytes_2d,
    bytes_3d,
    floats_1d,
    floats_2d,
    floats_3d,
    masks_3d,
    places_in_plan,
    pointer,
    shape,
    words_1d,
)
from getbit_env.core.compiled import kernel
from getbit_env.sharks_are_wild.observations import View, observe
from getbit_env.sharks_are_wild.rules import KINDS, Games, Outcome, Rules, actor, play, replace_illegal_actions


class Batch(NamedTuple):
    """What an engine holds of G games."""

    games: Games
    outcome: Outcome
    deck: NDArray[np.uint8]  # [N] `Rules.deck`
    streams: NDArray[np.uint64]  # [G]
    counters: NDArray[np.uint64]  # [G]
    pays: NDArray[np.float32]  # [P + 1] what each finishing place pays
    actions: NDArray[np.int64]  # [G, P]
    replaced: NDArray[np.uint8]  # [G, P]
    observation: NDArray[np.float32]  # [G, P, D]
    action_mask: NDArray[np.int8]  # [G, P, A]
    active: NDArray[np.uint8]  # [G] ones: all games play
    show: NDArray[np.uint8]  # [G] all games are shown to the players who choose


def head_of(rules: Rules, view: View) -> list[int]:
    """The numbers that a plan begins with: the fields of `Rules` but the deck, then those of `View`, its tuples written out."""
    numbers: list[Any] = [number for name, number in zip(Rules._fields, rules, strict=True) if name != "deck"]
    for entry in view:
        numbers += entry if isinstance(entry, tuple) else [entry]
    return numbers


RULES = len(Rules._fields) - 1
STARTS = KINDS + 1  # entries of `View.hand_starts` and of `View.discard_starts`
HAND_STARTS = RULES + View._fields.index("hand_starts")
DISCARD_STARTS = RULES + View._fields.index("discard_starts") + STARTS - 1
HEAD = RULES + len(View._fields) + 2 * (STARTS - 1)
BEFORE, BETWEEN, AFTER = HAND_STARTS - RULES, DISCARD_STARTS - HAND_STARTS - STARTS, HEAD - DISCARD_STARTS - STARTS
AT = places_in_plan(Batch, HEAD)
_numbers: Any = to_fixed_tuple  # numba gives it the context that its type asks for


@kernel
def _rules(plan: NDArray[np.int64]) -> Rules:
    return Rules(
        players=plan[0],
        kinds=plan[1],
        hand=plan[2],
        run=plan[3],
        coins=plan[4],
        turn_limit=plan[5],
        deck=bytes_1d(plan, AT.deck),
        octopus_on_top=plan[6],
        must_block=plan[7],
        may_decline=plan[8],
        early_shuffle=plan[9],
    )


@kernel
def _view(plan: NDArray[np.int64]) -> View:
    return View(  # type: ignore[call-arg]  # as many as it has fields
        *_numbers(plan[RULES:HAND_STARTS], BEFORE),
        _numbers(plan[HAND_STARTS : HAND_STARTS + STARTS], STARTS),
        *_numbers(plan[HAND_STARTS + STARTS : DISCARD_STARTS], BETWEEN),
        _numbers(plan[DISCARD_STARTS : DISCARD_STARTS + STARTS], STARTS),
        *_numbers(plan[DISCARD_STARTS + STARTS : HEAD], AFTER),
    )


@kernel
def _games(plan: NDArray[np.int64]) -> Games:
    at = AT.games
    sharks = carray(pointer(plan[at.sharks]), shape(plan, at.sharks)[:2], np.int16)
    return Games(
        draw=bytes_2d(plan, at.draw),
        discard=bytes_2d(plan, at.discard),
        draw_size=bytes_1d(plan, at.draw_size),
        discard_size=bytes_1d(plan, at.discard_size),
        hand=bytes_3d(plan, at.hand),
        taken=bytes_3d(plan, at.taken),
        low=bytes_2d(plan, at.low),
        high=bytes_2d(plan, at.high),
        sharks=sharks,
        coins=bytes_2d(plan, at.coins),
        player=bytes_1d(plan, at.player),
        stage=bytes_1d(plan, at.stage),
        victim=bytes_1d(plan, at.victim),
        end=bytes_1d(plan, at.end),
        turns=carray(pointer(plan[at.turns]), plan[at.turns + 1], np.int32),
    )


@kernel
def _outcome(plan: NDArray[np.int64]) -> Outcome:
    at = AT.outcome
    return Outcome(finish=bytes_2d(plan, at.finish), over=bytes_1d(plan, at.over), reward=floats_2d(plan, at.reward))


@kernel
def play_and_observe_one(plan: NDArray[np.int64]) -> int:
    """Of a batch of one game: play the actions in the block, and observe for the player who decides next, who is returned."""
    rules, games, outcome = _rules(plan), _games(plan), _outcome(plan)
    actions, active, pays = actions_2d(plan, AT.actions), bytes_1d(plan, AT.active), floats_1d(plan, AT.pays)
    streams, counters = words_1d(plan, AT.streams), words_1d(plan, AT.counters)
    replace_illegal_actions(rules, games, actions, active, bytes_2d(plan, AT.replaced), 0, 1)
    play(rules, games, actions, active, streams, counters, pays, outcome, 0, 1)
    observation, action_mask = floats_3d(plan, AT.observation), masks_3d(plan, AT.action_mask)
    observe(_view(plan), rules, games, bytes_1d(plan, AT.show), observation, action_mask, 0, 1)
    decides: int = actor(games, 0)
    return decides
