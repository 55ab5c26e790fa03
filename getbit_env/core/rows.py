"""Rows of a batch of games for those who play them: what each sees is gathered, what each chose is put in its place.

Axes: G games, P players, D entries of an observation, A actions. A row is one seat of one game. Seats are counted from a seat of
each game on, `seat` `[G]`: seat `first + k` stands `first + k` places after it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import lean_kernel
from getbit_env.core.streams import random_bits

SEAT_STREAM = np.uint64(0x5EA75EA75EA75EA7)  # keeps the draws of seats apart from those of starts


@lean_kernel
def take_rows(
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    seat: NDArray[np.int64],
    first: int,
    plays: NDArray[np.bool_],
    rows: NDArray[np.float32],
    masks: NDArray[np.int8],
) -> None:
    """Gather what some seats of every game see.

    Args:
        observation: `[G, P, D]`.
        action_mask: `[G, P, A]`.
        seat: `[G]`, from which seats are counted.
        first: the first of them.
        plays: `[G]`; rows of the other games become zero, with masks of ones.
        rows: `[G * K, D]`, overwritten with what seats `first` to `first + K - 1` see, game by game.
        masks: `[G * K, A]`, overwritten likewise.
    """
    games, players, size = observation.shape
    actions, each = action_mask.shape[2], rows.shape[0] // games
    for g in range(games):
        for k in range(each):
            p, b = seat[g] + first + k, g * each + k
            p -= players * (p >= players)
            if plays[g]:
                for d in range(size):
                    rows[b, d] = observation[g, p, d]
                for a in range(actions):
                    masks[b, a] = action_mask[g, p, a]
            else:
                for d in range(size):
                    rows[b, d] = 0
                for a in range(actions):
                    masks[b, a] = 1


@lean_kernel
def put_own_actions(chosen: NDArray[np.int64], seat: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
    """Put what one seat of every game chose, `[G]`, where the engine takes it from, `[G, P]`."""
    for g in range(chosen.shape[0]):
        actions[g, seat[g]] = chosen[g]


@lean_kernel
def put_actions(
    chosen: NDArray[np.int64],
    masks: NDArray[np.int8],
    seat: NDArray[np.int64],
    first: int,
    plays: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> int:
    """Put what the rows of `take_rows` chose where the engine takes it from.

    Args:
        chosen: `[G * K]`.
        masks: `[G * K, A]`.
        seat: `[G]`, likewise `first` and `plays`: as `take_rows` has them.
        first: see above.
        plays: see above.
        actions: `[G, P]`, in which those of the rows are overwritten.

    Returns:
        A row whose choice is not legal, or -1. With such a row nothing is written.
    """
    games, players = actions.shape
    each = chosen.shape[0] // games
    for b in range(chosen.shape[0]):
        if chosen[b] < 0 or chosen[b] >= masks.shape[1] or masks[b, chosen[b]] == 0:
            return b
    for g in range(games):
        if plays[g]:
            for k in range(each):
                p = seat[g] + first + k
                actions[g, p - players * (p >= players)] = chosen[g * each + k]
    return -1


@lean_kernel
def add_results(
    finish: NDArray[np.uint8],
    reward: NDArray[np.float32],
    replaced: NDArray[np.uint8],
    seat: NDArray[np.int64],
    own_finish: NDArray[np.uint8],
    own_reward: NDArray[np.float32],
    own_win: NDArray[np.float64],
    own_illegal: NDArray[np.bool_],
) -> None:
    """Add what a round or a decision brought one seat of every game.

    Args:
        finish: `[P, G]`, finishing places that were decided just now, else 0.
        reward: `[P, G]`.
        replaced: `[G, P]`, 1 = another action was played than the one asked for.
        seat: `[G]`.
        own_finish: `[G]`, finishing place of the seat; one that was decided is written.
        own_reward: `[G]`, to which the seat's reward is added.
        own_win: `[G]`, to which its share of a win is added: players who tie for the first place share it equally.
        own_illegal: `[G]`; True where the seat's action was replaced.
    """
    players, games = finish.shape
    for g in range(games):
        p = seat[g]
        own_reward[g] += reward[p, g]
        own_illegal[g] |= replaced[g, p] != 0
        own_finish[g] |= finish[p, g]
        if finish[p, g] == 1:
            first = 0
            for q in range(players):
                first += finish[q, g] == 1
            own_win[g] += 1 / first


@lean_kernel
def settle_all_seats(
    finish: NDArray[np.uint8],
    reward: NDArray[np.float32],
    over: NDArray[np.bool_],
    cut: NDArray[np.bool_],
    replaced: NDArray[np.uint8],
    alive: NDArray[np.bool_],
    rewards: NDArray[np.float32],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    placement: NDArray[np.uint8],
    illegal: NDArray[np.bool_],
) -> None:
    """Tell every seat what a round or a decision brought it, and which seats go on.

    Args:
        finish: `[P, G]`, finishing places that were decided just now, else 0.
        reward: `[P, G]`.
        over: `[G]`, games that ended.
        cut: `[G]`, games that a limit cut off, among them or not.
        replaced: `[G, P]`, 1 = another action was played than the one asked for.
        alive: `[G, P]`, seats whose fate was open; updated.
        rewards: `[G, P]`, overwritten; 0 for seats that were not alive, likewise all that follow.
        terminated: `[G, P]`, overwritten: the fate of the seat was decided, or the game ended by its rules.
        truncated: `[G, P]`, overwritten: a limit cut the game off before that.
        placement: `[G, P]`, overwritten with finishing places.
        illegal: `[G, P]`, overwritten with `replaced`.
    """
    players, games = finish.shape
    rows = games * players
    was_alive, of_rows, illegal_rows = alive.reshape(rows), replaced.reshape(rows), illegal.reshape(rows)
    for b in range(rows):
        illegal_rows[b] = was_alive[b] & (of_rows[b] != 0)
    terminated.reshape(rows)[:] = False  # in most games nothing is decided
    truncated.reshape(rows)[:] = False
    placement.reshape(rows)[:] = 0
    for p in range(players):
        for g in range(games):
            rewards[g, p] = reward[p, g] * np.float32(alive[g, p])
    for g in range(games):
        decided = over[g] | cut[g]
        for p in range(players):
            decided |= finish[p, g] != 0
        if decided:
            ends = over[g] & (not cut[g])
            for p in range(players):
                place = finish[p, g]
                if alive[g, p]:
                    placement[g, p] = place
                    terminated[g, p] = ends | (place != 0)
                    truncated[g, p] = cut[g] & (place == 0)
                    alive[g, p] = not (terminated[g, p] | truncated[g, p])


@lean_kernel
def draw_seats(
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    begin: NDArray[np.uint8],
    fixed: NDArray[np.int64],
    players: int,
    seat: NDArray[np.int64],
) -> None:
    """Seat the learner of the games that begin: where it is fixed (not below 0), else anywhere, by the game's own stream.

    Args:
        streams: `[G]`, keys of the games' streams.
        counters: `[G]`, games that were begun of each stream; raised by one where a game begins.
        begin: `[G]`, the games that begin are not 0.
        fixed: `[G]`, seats, or -1.
        players: of each game.
        seat: `[G]`, overwritten where a game begins.
    """
    for g in range(seat.shape[0]):
        if begin[g] != 0:
            counters[g] += np.uint64(1)
            if fixed[g] >= 0:
                seat[g] = fixed[g]
            else:
                bits = random_bits(streams[g] ^ SEAT_STREAM, counters[g]) >> np.uint64(32)
                seat[g] = np.int64((bits * np.uint64(players)) >> np.uint64(32))
