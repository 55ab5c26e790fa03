"""Bots that follow a rule: each plays uniformly from a set of actions that the observation alone determines."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import legal_set, size_of
from getbit_env.core.compiled import inlined, kernel
from getbit_env.core.scripted_bot import ScriptedBot
from getbit_env.get_bit.observations import View, read_hand, read_last, reads_full_hand, reads_in_line, reads_own
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.get_bit.variants import ID


class Rule(Protocol):
    """The kernel of a bot."""

    def __call__(
        self, view: View, observation: NDArray[np.float32], action_mask: NDArray[np.int8], preferred: NDArray[np.uint64], /
    ) -> None:
        """Write what `SetBot.preferred` returns."""


class Scripted(ScriptedBot):
    """Plays by a rule that is a pure function of observation and mask: its kernel `prefer`, or an own `preferred`."""

    game: ClassVar[str | None] = ID
    prefer: ClassVar[Rule]

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """See `SetBot`."""
        preferred = np.empty(observation.shape[0], np.uint64)
        type(self).prefer(self._view, observation, action_mask, preferred)
        return preferred


@kernel
def _prefer_any(
    _view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    preferred: NDArray[np.uint64],
) -> None:
    for b in range(observation.shape[0]):
        preferred[b] = legal_set(action_mask, b)


@kernel
def _prefer_highest(
    _view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    preferred: NDArray[np.uint64],
) -> None:
    for b in range(observation.shape[0]):
        below = legal_set(action_mask, b)
        for shift in (1, 2, 4, 8, 16, 32):
            below |= below >> np.uint64(shift)
        preferred[b] = below ^ (below >> np.uint64(1))


@kernel
def _prefer_lowest(
    _view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    preferred: NDArray[np.uint64],
) -> None:
    for b in range(observation.shape[0]):
        actions = legal_set(action_mask, b)
        preferred[b] = actions & (~actions + np.uint64(1))


# --- the counter: what the cards 1, 2, ... have is packed into the bytes 0, 1, ... of one number, added and counted at once ---


TO_BYTES, OF_BYTE = np.uint64(0x40810204081), np.uint64(0x01010101010101)  # seven bits, a byte apart


@inlined
def _can_play(view: View, observation: NDArray[np.float32], b: int, k: int) -> np.uint64:
    """1 in the byte of each card that another's robot, in place `k`, may hold, as far as row `b` tells.

    That is its hand, and where hands are hidden all but the card just played, which is gone unless the table was taken back.
    """
    if view.hidden == 0:
        cards = read_hand(view, observation, b, k)
    else:
        deck = (1 << view.cards) - 1
        cards = (read_last(view, observation, b, k) ^ deck) | (deck * int(reads_full_hand(view, observation, b, k)))
    return (np.uint64(cards) * TO_BYTES) & OF_BYTE


@inlined
def _of_card(packed: np.uint64, card: int) -> int:
    return int((packed >> np.uint64(8 * card)) & np.uint64(0xFF))


WORST = 64  # counts more than ties with all robots
NEVER = 1024


@kernel
def _prefer_safe(
    view: View, observation: NDArray[np.float32], action_mask: NDArray[np.int8], preferred: NDArray[np.uint64]
) -> None:
    each, cards, actions = view.robots_per_player, view.cards, action_mask.shape[1]
    risk = np.zeros(actions, np.int64)
    for b in range(observation.shape[0]):
        holders = every = np.uint64(0)  # how many robots of others can play each card, and whether one can
        ahead_1 = ahead_2 = np.uint64(0)  # how many of them ahead of the viewer's first and last robot
        others = mine = 0
        for k in range(view.players * each):  # without branches, which the processor could not foresee
            own, there = reads_own(view, observation, b, k), reads_in_line(view, observation, b, k)
            ahead_1 = holders if own and mine == 0 else ahead_1
            ahead_2 = holders if own else ahead_2
            hand = _can_play(view, observation, b, k) & (np.uint64(0) - np.uint64(there and not own))
            holders += hand
            every |= hand
            others += there and not own
            mine += own
        best, above = NEVER, 0  # above: how many higher cards others can play
        for a in range(actions - 1, -1, -1):
            if each == 1:
                risk[a] = 2 * _of_card(ahead_1, a) + (_of_card(holders, a) > 0) + WORST * (above >= others)
                above += _of_card(every, a)
            else:
                front, rear = a // cards, a % cards
                risk[a] = 2 * _of_card(ahead_1, front) + (_of_card(holders, front) > 0)
                risk[a] += 2 * _of_card(ahead_2, rear) + (_of_card(holders, rear) > 0)
                risk[a] += 4 * (front == rear)  # G3.1: own robots tie as well
                low, high = min(front, rear), max(front, rear)
                free = every & ~(np.uint64(1) << np.uint64(8 * high))
                risk[a] += WORST * (low < high and size_of(free >> np.uint64(8 * low) >> np.uint64(8)) >= others)
            risk[a] += NEVER * (action_mask[b, a] == 0)
            best = min(best, risk[a])
        chosen = np.uint64(0)
        for a in range(actions):
            chosen |= np.uint64(risk[a] == best) << np.uint64(a)
        preferred[b] = chosen


class Random(Scripted):
    """Any legal action, all alike."""

    prefer: ClassVar[Rule] = staticmethod(_prefer_any)


class Highest(Scripted):
    """The highest card of each robot."""

    prefer: ClassVar[Rule] = staticmethod(_prefer_highest)
    deterministic = True


class Lowest(Scripted):
    """The lowest card of each robot."""

    prefer: ClassVar[Rule] = staticmethod(_prefer_lowest)
    deterministic = True


class Forgetful(Scripted):
    """Counts cards, but remembers only the last round: plays a number that its count of higher cards calls safe, if there is one.

    By G3.3 a robot ends up at the back only if all others play distinct higher numbers, or if it ties and all behind it do not.
    So it avoids numbers below as many distinct cards in the hands of others as there are others, then those that many robots
    ahead of it can tie (a tie with one behind it does no harm), then those that anybody else can still play; what is left is drawn
    by lot. It counts the higher cards of all others together and does not ask whether each of them has one of its own: a number
    that some opponent can't pass is safe, but the count may call it unsafe.
    """

    prefer: ClassVar[Rule] = staticmethod(_prefer_safe)


class Counter(PerfectRecall):
    """Counts cards and forgets none: `Forgetful` with perfect recall. In the face-up game both play the same."""

    def __init__(self) -> None:
        super().__init__(Forgetful())
        self.name = "Counter"
