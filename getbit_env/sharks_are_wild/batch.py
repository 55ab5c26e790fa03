"""What an engine does with a single game, in one compiled call: its arrays lie in one block (`core.blocks`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]  # numba has it
from numba.np.unsafe.ndarray import to_fixed_tuple
from numpy.typing import NDArray

from getbit_env.core.blocks import places_in_plan, pointer
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
def _shape(plan: NDArray[np.int64], at: np.int64) -> tuple[int, int, int]:
    return plan[at + 1], plan[at + 2], plan[at + 3]


@kernel
def _row(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint8]:
    return carray(pointer(plan[at]), plan[at + 1], np.uint8)


@kernel
def _rows(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint8]:
    return carray(pointer(plan[at]), _shape(plan, at)[:2], np.uint8)


@kernel
def _hands(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint8]:
    return carray(pointer(plan[at]), _shape(plan, at), np.uint8)


@kernel
def _word_row(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint64]:
    return carray(pointer(plan[at]), plan[at + 1], np.uint64)


@kernel
def _rules(plan: NDArray[np.int64]) -> Rules:
    return Rules(
        players=plan[0],
        kinds=plan[1],
        hand=plan[2],
        run=plan[3],
        coins=plan[4],
        turn_limit=plan[5],
        deck=_row(plan, AT.deck),
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
    sharks = carray(pointer(plan[at.sharks]), _shape(plan, at.sharks)[:2], np.int16)
    return Games(
        draw=_rows(plan, at.draw),
        discard=_rows(plan, at.discard),
        draw_size=_row(plan, at.draw_size),
        discard_size=_row(plan, at.discard_size),
        hand=_hands(plan, at.hand),
        taken=_hands(plan, at.taken),
        low=_rows(plan, at.low),
        high=_rows(plan, at.high),
        sharks=sharks,
        coins=_rows(plan, at.coins),
        player=_row(plan, at.player),
        stage=_row(plan, at.stage),
        victim=_row(plan, at.victim),
        end=_row(plan, at.end),
        turns=carray(pointer(plan[at.turns]), plan[at.turns + 1], np.int32),
    )


@kernel
def _outcome(plan: NDArray[np.int64]) -> Outcome:
    at = AT.outcome
    reward = carray(pointer(plan[at.reward]), _shape(plan, at.reward)[:2], np.float32)
    return Outcome(finish=_rows(plan, at.finish), over=_row(plan, at.over), reward=reward)


@kernel
def play_and_observe_one(plan: NDArray[np.int64]) -> int:
    """Of a batch of one game: play the actions in the block, and observe for the player who decides next, who is returned."""
    rules, games, outcome = _rules(plan), _games(plan), _outcome(plan)
    actions = carray(pointer(plan[AT.actions]), _shape(plan, AT.actions)[:2], np.int64)
    active, pays = _row(plan, AT.active), carray(pointer(plan[AT.pays]), plan[AT.pays + 1], np.float32)
    streams, counters = _word_row(plan, AT.streams), _word_row(plan, AT.counters)
    replace_illegal_actions(rules, games, actions, active, _rows(plan, AT.replaced), 0, 1)
    play(rules, games, actions, active, streams, counters, pays, outcome, 0, 1)
    observation = carray(pointer(plan[AT.observation]), _shape(plan, AT.observation), np.float32)
    action_mask = carray(pointer(plan[AT.action_mask]), _shape(plan, AT.action_mask), np.int8)
    observe(_view(plan), rules, games, _row(plan, AT.show), observation, action_mask, 0, 1)
    decides: int = actor(games, 0)
    return decides
