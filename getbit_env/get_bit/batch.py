"""All arrays of a batch of games in one block of memory, and what an engine does with them.

To hand twenty arrays to compiled code takes 4 us, as long as a round of a thousand games, and to count references to them in a
round of one game takes longer than to play it. Here they lie in one block, of which the kernels are only told where it is and what
lies in it. Who calls them keeps the block alive.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]  # numba has it
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.get_bit.observations import Record, View, Words, lay_cards, observe, record_round, record_start
from getbit_env.get_bit.rules import Games, Outcome, Rules, Scratch, play_round, start_games

ALIGNMENT = 64  # bytes: arrays begin where lines of the cache do


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
    words: Words


# The arrays by number, in the order of `Batch`; no plain integers, for each of which numba would compile anew.
PLACE, LIMBS, HAND, PLAYED, ROUNDS, BITTEN, FINISH, OVER, REWARD, START, PAST_PLAYED, PAST_PLACE, PAST_LIMBS = (
    np.int64(n) for n in range(13)
)
STREAMS, COUNTERS, PAYS, LIMB_REWARD, ACTIONS, REPLACED, CARDS, OBSERVATION, ACTION_MASK = (np.int64(n) for n in range(13, 22))
UNTIED, AHEAD, BYTE_ROWS, WORD_ROWS, SEEN, LEGAL, FRONT, WORK = (np.int64(n) for n in range(22, 30))
# A plan is the fields of `Rules`, then those of `View`, then four numbers for each array, its address and its shape.
VIEW = len(Rules._fields)
WHERE = VIEW + len(View._fields)


def gather(rules: Rules, view: View, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.uint8], Batch]:
    """Move the arrays of a batch into one block.

    Returns:
        The plan of the block (the fields of `Rules` and of `View`, then for each array its address and shape), the block, and the
        batch in it.
    """
    arrays: list[NDArray[Any]] = [*batch.games, *batch.outcome, *batch.record, *batch[3:-2], *batch.scratch, *batch.words]
    starts = [0]
    for array in arrays:
        starts.append(starts[-1] + -(-array.nbytes // ALIGNMENT) * ALIGNMENT)
    block = np.zeros(starts[-1], np.uint8)
    plan = [*rules, *view]
    moved: list[Any] = []
    for array, start in zip(arrays, starts, strict=False):
        moved.append(block[start : start + array.nbytes].view(array.dtype).reshape(array.shape))
        moved[-1][:] = array
        plan += [block.ctypes.data + start, *array.shape, *[0] * (3 - array.ndim)]
    games, outcome, record = Games(*moved[:5]), Outcome(*moved[5:9]), Record(*moved[9:13])
    inside = Batch(games, outcome, record, *moved[13:22], Scratch(*moved[22:26]), Words(*moved[26:]))  # type: ignore[call-arg]
    return np.array(plan, np.int64), block, inside


# --- finding things in the block ---------------------------------------------------------------------------------------------
# `i` is the number of an array.


def _pointer(address: int) -> Any:
    return ctypes.c_void_p(int(address))


@overload(_pointer)
def _compiled_pointer(address: Any) -> Any:  # noqa: ARG001 - numba looks at its type
    def pointer(address: Any) -> Any:
        return _as_pointer(address)  # type: ignore[call-arg]  # numba gives the context

    return pointer


@intrinsic
def _as_pointer(_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


@kernel
def _shape(plan: NDArray[np.int64], i: np.int64) -> tuple[int, int, int]:
    return plan[WHERE + 4 * i + 1], plan[WHERE + 4 * i + 2], plan[WHERE + 4 * i + 3]


@kernel
def _row(plan: NDArray[np.int64], i: np.int64) -> NDArray[np.uint8]:
    return carray(_pointer(plan[WHERE + 4 * i]), _shape(plan, i)[0], np.uint8)


@kernel
def _rows(plan: NDArray[np.int64], i: np.int64) -> NDArray[np.uint8]:
    return carray(_pointer(plan[WHERE + 4 * i]), _shape(plan, i)[:2], np.uint8)


@kernel
def _past(plan: NDArray[np.int64], i: np.int64) -> NDArray[np.uint8]:
    return carray(_pointer(plan[WHERE + 4 * i]), _shape(plan, i), np.uint8)


@kernel
def _word_row(plan: NDArray[np.int64], i: np.int64) -> NDArray[np.uint64]:
    return carray(_pointer(plan[WHERE + 4 * i]), _shape(plan, i)[0], np.uint64)


@kernel
def _word_rows(plan: NDArray[np.int64], i: np.int64) -> NDArray[np.uint64]:
    return carray(_pointer(plan[WHERE + 4 * i]), _shape(plan, i)[:2], np.uint64)


@kernel
def _float_row(plan: NDArray[np.int64], i: np.int64) -> NDArray[np.float32]:
    return carray(_pointer(plan[WHERE + 4 * i]), _shape(plan, i)[0], np.float32)


@kernel
def _rules(plan: NDArray[np.int64]) -> Rules:
    return Rules(plan[0], plan[1], plan[2], plan[3], plan[4], plan[5])


@kernel
def _view(plan: NDArray[np.int64]) -> View:
    v = plan[VIEW:WHERE]
    return View(
        *(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]),
        *(v[10], v[11], v[12], v[13], v[14], v[15], v[16], v[17], v[18], v[19]),
    )


@kernel
def _games(plan: NDArray[np.int64]) -> Games:
    return Games(
        _rows(plan, PLACE),
        _rows(plan, LIMBS),
        _rows(plan, HAND),
        _rows(plan, PLAYED),
        _row(plan, ROUNDS),
    )


@kernel
def _outcome(plan: NDArray[np.int64]) -> Outcome:
    reward = carray(_pointer(plan[WHERE + 4 * REWARD]), _shape(plan, REWARD)[:2], np.float32)
    return Outcome(_rows(plan, BITTEN), _rows(plan, FINISH), _row(plan, OVER), reward)


@kernel
def _record(plan: NDArray[np.int64]) -> Record:
    return Record(
        _rows(plan, START),
        _past(plan, PAST_PLAYED),
        _past(plan, PAST_PLACE),
        _past(plan, PAST_LIMBS),
    )


@kernel
def _scratch(plan: NDArray[np.int64]) -> Scratch:
    return Scratch(_rows(plan, UNTIED), _rows(plan, AHEAD), _rows(plan, BYTE_ROWS), _word_rows(plan, WORD_ROWS))


@kernel
def _words(plan: NDArray[np.int64]) -> Words:
    return Words(_word_rows(plan, SEEN), _word_rows(plan, LEGAL), _word_rows(plan, FRONT), _word_rows(plan, WORK))


@kernel
def _actions(plan: NDArray[np.int64]) -> NDArray[np.int64]:
    return carray(_pointer(plan[WHERE + 4 * ACTIONS]), _shape(plan, ACTIONS)[:2], np.int64)


@kernel
def _observation(plan: NDArray[np.int64]) -> NDArray[np.float32]:
    return carray(_pointer(plan[WHERE + 4 * OBSERVATION]), _shape(plan, OBSERVATION), np.float32)


@kernel
def _action_mask(plan: NDArray[np.int64]) -> NDArray[np.int8]:
    return carray(_pointer(plan[WHERE + 4 * ACTION_MASK]), _shape(plan, ACTION_MASK), np.int8)


# --- what is done with it ----------------------------------------------------------------------------------------------------
# `size` is the number of games.


@kernel
def begin_games(plan: NDArray[np.int64], begin: NDArray[np.uint8], size: int) -> None:
    """`start_games` and `record_start` for those of the games that `begin`, `[G]` uint8."""
    games, streams, counters = _games(plan), _word_row(plan, STREAMS), _word_row(plan, COUNTERS)
    start_games(_rules(plan), games, begin, streams, counters, _scratch(plan), 0, size)
    record_start(games, _record(plan), begin, 0, size)


@kernel
def play_cards(plan: NDArray[np.int64], cards: NDArray[np.uint8], size: int) -> None:
    """`play_round` with given cards, `[R, G]` uint8, and `record_round`."""
    games, pays, limb_reward = _games(plan), _float_row(plan, PAYS), _float_row(plan, LIMB_REWARD)
    play_round(_rules(plan), games, cards, pays, limb_reward[0], _scratch(plan), _outcome(plan), 0, size)
    record_round(games, _record(plan), 0, size)


@kernel
def play_actions(plan: NDArray[np.int64], size: int) -> None:
    """`lay_cards` of the actions in the block, and `play_cards`."""
    cards = _rows(plan, CARDS)
    lay_cards(_view(plan), _games(plan), _actions(plan), cards, _rows(plan, REPLACED), 0, size)
    play_cards(plan, cards, size)


@kernel
def look(plan: NDArray[np.int64], show: NDArray[np.uint8], size: int) -> None:
    """`observe`; `show` is `[G]` uint8."""
    last_line, words, observation, mask = _rules(plan).last_line, _words(plan), _observation(plan), _action_mask(plan)
    observe(_view(plan), last_line, _games(plan), _record(plan), show, words, observation, mask, 0, size)


@kernel
def one_game(plan: NDArray[np.int64], asked: NDArray[np.int64], show: NDArray[np.uint8], plays: bool) -> None:
    """For a batch of one game: `play_actions` of the actions asked for, `[1, P]`, if it `plays`; and `look`.

    That there is one game is known to the compiler, which leaves out all loops over games: half of the time. It calls the rules
    itself and not the kernels above, since the compiler would work on each layer again.
    """
    rules, view, games, record = _rules(plan), _view(plan), _games(plan), _record(plan)
    if plays:
        actions, cards = _actions(plan), _rows(plan, CARDS)
        for p in range(view.players):
            actions[0, p] = asked[0, p]
        lay_cards(view, games, actions, cards, _rows(plan, REPLACED), 0, 1)
        pays, limb_reward = _float_row(plan, PAYS), _float_row(plan, LIMB_REWARD)
        play_round(rules, games, cards, pays, limb_reward[0], _scratch(plan), _outcome(plan), 0, 1)
        record_round(games, record, 0, 1)
    observe(view, rules.last_line, games, record, show, _words(plan), _observation(plan), _action_mask(plan), 0, 1)
