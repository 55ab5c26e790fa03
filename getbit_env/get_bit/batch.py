"""What an engine does with its games, in one compiled call: their arrays lie in one block (`core.blocks`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
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
    words_1d,
    words_2d,
)
from getbit_env.core.compiled import kernel
from getbit_env.get_bit.observations import (
    ObservationWorkspace,
    Record,
    View,
    actions_to_cards,
    observe,
    record_round,
    record_start,
)
from getbit_env.get_bit.rules import Games, Outcome, Rules, Scratch, play_round, start_games


class Batch(NamedTuple):
    """What an engine holds of G games."""

    games: Games
    outcome: Outcome
    record: Record
    streams: NDArray[np.uint64]  # [G]
    counters: NDArray[np.uint64]  # [G]
    pays: NDArray[np.float32]  # [P + 1] what each finishing place pays
    limb_reward: NDArray[np.float32]  # [1]
    actions: NDArray[np.int64]  # [G, P]
    replaced: NDArray[np.uint8]  # [G, P]
    cards: NDArray[np.uint8]  # [R, G]
    observation: NDArray[np.float32]  # [G, P, D]
    action_mask: NDArray[np.int8]  # [G, P, A]
    scratch: Scratch
    work: ObservationWorkspace


# A plan begins with the fields of `Rules` and those of `View`.
RULES, VIEWS = len(Rules._fields), len(View._fields)
HEAD = RULES + VIEWS
AT = places_in_plan(Batch, HEAD)


# --- finding things in the block ---------------------------------------------------------------------------------------------


@kernel
def _rules(plan: NDArray[np.int64]) -> Rules:
    return Rules(*to_fixed_tuple(plan[:RULES], RULES))  # type: ignore[call-arg]  # numba gives the context


@kernel
def _view(plan: NDArray[np.int64]) -> View:
    return View(*to_fixed_tuple(plan[RULES:HEAD], VIEWS))  # type: ignore[call-arg]  # likewise


@kernel
def _games(plan: NDArray[np.int64]) -> Games:
    at = AT.games
    return Games(
        place=bytes_2d(plan, at.place),
        limbs=bytes_2d(plan, at.limbs),
        hand=bytes_2d(plan, at.hand),
        played=bytes_2d(plan, at.played),
        rounds=bytes_1d(plan, at.rounds),
    )


@kernel
def _outcome(plan: NDArray[np.int64]) -> Outcome:
    at = AT.outcome
    return Outcome(
        bitten=bytes_2d(plan, at.bitten),
        finish=bytes_2d(plan, at.finish),
        over=bytes_1d(plan, at.over),
        reward=floats_2d(plan, at.reward),
    )


@kernel
def _record(plan: NDArray[np.int64]) -> Record:
    at = AT.record
    return Record(
        start=bytes_2d(plan, at.start),
        played=bytes_3d(plan, at.played),
        place=bytes_3d(plan, at.place),
        limbs=bytes_3d(plan, at.limbs),
    )


@kernel
def _scratch(plan: NDArray[np.int64]) -> Scratch:
    at = AT.scratch
    return Scratch(
        untied=bytes_2d(plan, at.untied), ahead=bytes_2d(plan, at.ahead), row=bytes_2d(plan, at.row), word=words_2d(plan, at.word)
    )


@kernel
def _work(plan: NDArray[np.int64]) -> ObservationWorkspace:
    at = AT.work
    return ObservationWorkspace(
        seen=words_2d(plan, at.seen),
        legal=words_2d(plan, at.legal),
        front=words_2d(plan, at.front),
        row=words_2d(plan, at.row),
    )


# --- what is done with it ----------------------------------------------------------------------------------------------------
# `size` is the number of games.


@kernel
def begin_games(plan: NDArray[np.int64], begin: NDArray[np.uint8], size: int) -> None:
    """`start_games` and `record_start` for those of the games that `begin`, `[G]` uint8."""
    games, streams, counters = _games(plan), words_1d(plan, AT.streams), words_1d(plan, AT.counters)
    start_games(_rules(plan), games, begin, streams, counters, _scratch(plan), 0, size)
    record_start(games, _record(plan), begin, 0, size)


@kernel
def play_cards(plan: NDArray[np.int64], cards: NDArray[np.uint8], size: int) -> None:
    """`play_round` with given cards, `[R, G]` uint8, and `record_round`."""
    games, pays, limb_reward = _games(plan), floats_1d(plan, AT.pays), floats_1d(plan, AT.limb_reward)
    play_round(_rules(plan), games, cards, pays, limb_reward[0], _scratch(plan), _outcome(plan), 0, size)
    record_round(games, _record(plan), 0, size)


@kernel
def play_actions(plan: NDArray[np.int64], size: int) -> None:
    """`actions_to_cards` of the actions in the block, and `play_cards`."""
    cards = bytes_2d(plan, AT.cards)
    actions_to_cards(_view(plan), _games(plan), actions_2d(plan, AT.actions), cards, bytes_2d(plan, AT.replaced), 0, size)
    play_cards(plan, cards, size)


@kernel
def observe_games(plan: NDArray[np.int64], show: NDArray[np.uint8], size: int) -> None:
    """`observe`; `show` is `[G]` uint8 of `Show`."""
    last_line, work, observation, mask = (
        _rules(plan).last_line,
        _work(plan),
        floats_3d(plan, AT.observation),
        masks_3d(plan, AT.action_mask),
    )
    observe(_view(plan), last_line, _games(plan), _record(plan), show, work, observation, mask, 0, size)


@kernel
def one_game(plan: NDArray[np.int64], asked: NDArray[np.int64], show: NDArray[np.uint8], plays: bool) -> None:
    """For a batch of one game: `play_actions` of the actions asked for, `[1, P]`, if it `plays`; and
    `observe_games`.

    That there is one game is known to the compiler, which leaves out all loops over games: half of the time. It calls the rules
    itself and not the kernels above, since the compiler would work on each layer again.
    """
    rules, view, games, record = _rules(plan), _view(plan), _games(plan), _record(plan)
    if plays:
        actions, cards = actions_2d(plan, AT.actions), bytes_2d(plan, AT.cards)
        for p in range(view.players):
            actions[0, p] = asked[0, p]
        actions_to_cards(view, games, actions, cards, bytes_2d(plan, AT.replaced), 0, 1)
        pays, limb_reward = floats_1d(plan, AT.pays), floats_1d(plan, AT.limb_reward)
        play_round(rules, games, cards, pays, limb_reward[0], _scratch(plan), _outcome(plan), 0, 1)
        record_round(games, record, 0, 1)
    observe(
        view,
        rules.last_line,
        games,
        record,
        show,
        _work(plan),
        floats_3d(plan, AT.observation),
        masks_3d(plan, AT.action_mask),
        0,
        1,
    )
