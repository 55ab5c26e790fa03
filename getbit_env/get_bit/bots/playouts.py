"""Random playouts in batches that shrink: what flat Monte-Carlo and tree search play.

The games of several decisions are played side by side. As soon as the viewer has won or is out, a game can't matter any more; when
enough games are done, the others move up.

Axes as in `rules`: R robots, G games; and B decisions, A actions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import inlined, lean_kernel, part
from getbit_env.core.streams import random_bits
from getbit_env.get_bit.observations import View, read_position, reads_first_round
from getbit_env.get_bit.rules import BLOCK, Games, Outcome, Rules, Scratch, new_games, new_outcome, new_scratch, play_round
from getbit_env.get_bit.variants import Variant

MOVES_UP = 0.65  # part of the games that is done before the others move up
AT_ONCE = 2 * BLOCK  # games that are played side by side, or those of one decision
_GOLDEN, _MIX_1, _MIX_2 = np.uint32(0x9E3779B9), np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_1, _2, _4, _15, _16 = (np.uint32(number) for number in (1, 2, 4, 15, 16))
_BITS, _PAIRS, _NIBBLE = np.uint8(0x55), np.uint8(0x33), np.uint8(0x0F)


class Lots(NamedTuple):
    """Rows that cards are drawn in."""

    low: NDArray[np.uint16]  # [BLOCK] random bits
    high: NDArray[np.uint16]  # [BLOCK]
    skip: NDArray[np.uint8]  # [BLOCK]


class PlayoutWorkspace(NamedTuple):
    """What playouts are played in."""

    games: Games  # [R, G]
    outcome: Outcome
    scratch: Scratch
    lots: Lots
    cards: NDArray[np.uint8]  # [R, G]
    own: NDArray[np.uint8]  # [2, G] cards of the viewer's robots in the first round
    pays: NDArray[np.float32]  # [P + 1] nothing
    seeds: NDArray[np.uint32]  # [G]
    cell: NDArray[np.int64]  # [G] decision and action, as place in `wins`
    won: NDArray[np.uint8]  # [G] 1: the viewer has won
    done: NDArray[np.uint8]  # [G] 1: the viewer's fate is decided
    stays: NDArray[np.int64]  # [G]
    place: NDArray[np.uint8]  # [R] of the position that is read
    limbs: NDArray[np.uint8]  # [R]
    hand: NDArray[np.uint8]  # [R]


def new_lots() -> Lots:
    """Allocate the rows that one thread draws in."""
    return Lots(np.zeros(BLOCK, np.uint16), np.zeros(BLOCK, np.uint16), np.zeros(BLOCK, np.uint8))


def new_playout_workspace(variant: Variant, playouts: int) -> PlayoutWorkspace:
    """Allocate for so many playouts of each action."""
    robots, games = variant.robots, max(AT_ONCE, playouts * variant.actions)
    return PlayoutWorkspace(
        new_games(robots, games),
        new_outcome(robots, variant.players, games),
        new_scratch(robots),
        new_lots(),
        np.zeros((robots, games), np.uint8),
        np.zeros((2, games), np.uint8),
        np.zeros(variant.players + 1, np.float32),
        np.zeros(games, np.uint32),
        np.zeros(games, np.int64),
        np.zeros(games, np.uint8),
        np.zeros(games, np.uint8),
        np.zeros(games, np.int64),
        np.zeros(robots, np.uint8),
        np.zeros(robots, np.uint8),
        np.zeros(robots, np.uint8),
    )


# --- chance ---------------------------------------------------------------------------------------------------------------
# Conversions keep every operand as narrow as it is, so that the compiler makes vectors of bytes. In these loops numba would
# otherwise reckon in 64 bits.


@part
def _mix(seeds: NDArray[np.uint32], number: np.uint32, low: NDArray[np.uint16], high: NDArray[np.uint16]) -> None:
    """Random bits for every game: its seed and a number, mixed (the constants are those of "lowbias32")."""
    for g in range(seeds.shape[0]):
        x = np.uint32(seeds[g] + number)
        x = np.uint32(np.uint32(x ^ (x >> _16)) * _MIX_1)
        x = np.uint32(np.uint32(x ^ (x >> _15)) * _MIX_2)
        x = np.uint32(x ^ (x >> _16))
        low[g] = np.uint16(x)
        high[g] = np.uint16(x >> _16)


@part
def _draw_row(
    hand: NDArray[np.uint8], limbs: NDArray[np.uint8], bits: NDArray[np.uint16], skip: NDArray[np.uint8], card: NDArray[np.uint8]
) -> None:
    """Draw for one robot of every game: count its cards, skip a random number of the lowest, take the lowest that is left."""
    one, n = np.uint8(1), hand.shape[0]
    for g in range(n):
        size = np.uint8(hand[g] - np.uint8(np.uint8(hand[g] >> _1) & _BITS))
        size = np.uint8(np.uint8(size & _PAIRS) + np.uint8(np.uint8(size >> _2) & _PAIRS))
        skip[g] = np.uint8(np.uint8(size + np.uint8(size >> _4)) & _NIBBLE)
    for g in range(n):
        skip[g] = np.uint8((np.uint32(bits[g]) * np.uint32(skip[g])) >> _16)
    for g in range(n):
        left, skips = np.uint8(hand[g] & np.uint8(0 - np.uint8(limbs[g] > 0))), skip[g]
        left = np.uint8(left & np.uint8(np.uint8(left - one) | np.uint8(0 - np.uint8(skips <= 0))))
        left = np.uint8(left & np.uint8(np.uint8(left - one) | np.uint8(0 - np.uint8(skips <= 1))))
        left = np.uint8(left & np.uint8(np.uint8(left - one) | np.uint8(0 - np.uint8(skips <= 2))))
        left = np.uint8(left & np.uint8(np.uint8(left - one) | np.uint8(0 - np.uint8(skips <= 3))))
        left = np.uint8(left & np.uint8(np.uint8(left - one) | np.uint8(0 - np.uint8(skips <= 4))))
        left = np.uint8(left & np.uint8(np.uint8(left - one) | np.uint8(0 - np.uint8(skips <= 5))))
        card[g] = np.uint8(left & np.uint8(0 - left))


@inlined
def draw(games: Games, seeds: NDArray[np.uint32], turn: int, lots: Lots, cards: NDArray[np.uint8], stop: int) -> None:
    """See `draw_playout_cards`."""
    for first in range(0, stop, BLOCK):
        last = min(first + BLOCK, stop)
        low, high, skip = lots.low[: last - first], lots.high[: last - first], lots.skip[: last - first]
        for r in range(games.hand.shape[0]):
            if r % 2 == 0:
                _mix(seeds[first:last], np.uint32(np.uint32(4 * turn + r // 2) * _GOLDEN), low, high)
                _draw_row(games.hand[r, first:last], games.limbs[r, first:last], low, skip, cards[r, first:last])
            else:
                _draw_row(games.hand[r, first:last], games.limbs[r, first:last], high, skip, cards[r, first:last])


@lean_kernel
def draw_playout_cards(games: Games, seeds: NDArray[np.uint32], turn: int, lots: Lots, cards: NDArray[np.uint8], stop: int) -> None:
    """Draw a card of its hand, any with the same chance, for every robot in the line of the first `stop` games.

    Each draw uses 16 random bits, so that no card is likelier than another by more than 1 in 9,000. `rules.draw_cards` gives every
    game a stream of 64 bits; here a playout has a seed of 32 bits, which takes a third of the time.

    Args:
        games: the positions.
        seeds: `[G]`, of the playouts.
        turn: rounds that they have lasted.
        lots: of this thread.
        cards: `[R, G]`, overwritten with bits of cards; 0 for robots that are out.
        stop: the one after the last game.
    """
    draw(games, seeds, turn, lots, cards, stop)


@inlined
def playout_seed(key: np.uint64, number: int) -> np.uint32:
    """The seed of a playout of a key."""
    return np.uint32(random_bits(key, np.uint64(number)) >> np.uint64(32))


@inlined
def own_cards(view: View, action: int, cards: NDArray[np.uint8], start: int, stop: int) -> None:
    """The viewer plays an action in the games `start:stop`; its robot 0 is the one nearer the front."""
    if view.robots_per_player == 1:
        cards[0, start:stop] = np.uint8(1) << np.uint8(action)
    else:
        cards[0, start:stop] = np.uint8(1) << np.uint8(action // view.cards)
        cards[1, start:stop] = np.uint8(1) << np.uint8(action % view.cards)


@inlined
def copy_position(
    place: NDArray[np.uint8], limbs: NDArray[np.uint8], hand: NDArray[np.uint8], rounds: int, games: Games, start: int, stop: int
) -> None:
    """Set the games `start:stop` to one position."""
    for r in range(place.shape[0]):
        games.place[r, start:stop] = place[r]
        games.limbs[r, start:stop] = limbs[r]
        games.hand[r, start:stop] = hand[r]
    games.rounds[start:stop] = rounds


# --- playouts -------------------------------------------------------------------------------------------------------------


@inlined
def _settle(each: int, work: PlayoutWorkspace, n: int) -> np.int64:
    """Note which of the first `n` games are decided for the viewer, and which it won; returns how many are decided."""
    won, done, over, finish = work.won[:n], work.done[:n], work.outcome.over[:n], work.outcome.finish[0, :n]
    limbs = work.games.limbs[0, :n]
    for g in range(n):
        won[g] |= finish[g] == 1
    for g in range(n):
        done[g] |= over[g]
    if each == 1:  # with two robots the first one that goes out ends the game
        for g in range(n):
            done[g] |= limbs[g] == 0
    count = np.int64(0)
    for g in range(n):
        count += done[g]
    return count


@inlined
def _gather(row: NDArray[np.uint8], stays: NDArray[np.int64], count: np.int64) -> None:
    for i in range(count):
        row[i] = row[stays[i]]


@inlined
def _move_up(work: PlayoutWorkspace, n: int, wins: NDArray[np.int64]) -> np.int64:
    """Count the wins of the games that are done, which make room; returns how many are left."""
    games, m = work.games, np.int64(0)
    for g in range(n):
        work.stays[m] = g
        m += 1 - np.int64(work.done[g])
        wins[work.cell[g]] += work.won[g]
    for r in range(games.place.shape[0]):
        _gather(games.place[r], work.stays, m)
        _gather(games.limbs[r], work.stays, m)
        _gather(games.hand[r], work.stays, m)
    _gather(games.rounds, work.stays, m)
    for i in range(m):
        work.seeds[i] = work.seeds[work.stays[i]]
        work.cell[i] = work.cell[work.stays[i]]
        work.done[i] = 0
        work.won[i] = 0
    return m


@inlined
def _set_up(
    view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    b: int,
    playouts: int,
    key: np.uint64,
    work: PlayoutWorkspace,
    n: int,
) -> int:
    """Add the playouts of decision `b` to the `n` games that there are; returns how many there are then."""
    games, actions, first = work.games, action_mask.shape[1], n
    for a in range(actions):
        if action_mask[b, a] == 0:
            continue
        own_cards(view, a, work.own, n, n + playouts)
        for g in range(n, n + playouts):
            work.cell[g] = b * actions + a
        n += playouts
    copy_position(work.place, work.limbs, work.hand, int(not reads_first_round(view, observation, b)), games, first, n)
    for g in range(first, n):
        work.seeds[g] = playout_seed(key, g - first)
        work.won[g] = 0
        work.done[g] = 0
    return n


@inlined
def _play(rules: Rules, view: View, n: int, wins: NDArray[np.int64], work: PlayoutWorkspace) -> None:
    """Play `n` games until they are all decided."""
    each, turn = view.robots_per_player, 0
    while n > 0:
        draw(work.games, work.seeds, turn, work.lots, work.cards, n)
        if turn == 0:
            for r in range(each):
                for g in range(n):
                    work.cards[r, g] = work.own[r, g]
        play_round(rules, work.games, work.cards, work.pays, np.float32(0), work.scratch, work.outcome, 0, n)
        turn += 1
        if _settle(each, work, n) >= MOVES_UP * n:
            n = int(_move_up(work, n, wins))


@lean_kernel
def play_out(
    rules: Rules,
    view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    playouts: int,
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    work: PlayoutWorkspace,
    wins: NDArray[np.int64],
) -> None:
    """How often the viewer wins if it plays an action and from then on all play uniformly at random.

    Args:
        rules: of the face-up variant.
        view: of its layout.
        observation: `[B, D]`.
        action_mask: `[B, A]`.
        playouts: games for each action.
        streams: `[B]`, the stream of each row.
        counters: `[B]`, how many decisions each has made.
        work: for `playouts` games of each action.
        wins: `[B * A]`, zeros, to which wins are added.
    """
    n = 0
    for b in range(observation.shape[0]):
        if read_position(view, observation, b, work.place, work.limbs, work.hand) == 0:
            continue
        more = 0
        for a in range(action_mask.shape[1]):
            more += playouts * int(action_mask[b, a] != 0)
        if n + more > work.seeds.shape[0]:
            _play(rules, view, n, wins, work)
            n = 0
        counters[b] += np.uint64(1)
        n = _set_up(view, observation, action_mask, b, playouts, random_bits(streams[b], counters[b]), work, n)
    _play(rules, view, n, wins, work)
