"""Bots that follow a rule: each plays uniformly from a set of actions that the observation alone determines.

A set of actions is a mask of 64 bits (49 actions at most), so that a rule is a kernel that writes one number a row, and what is
played and the `probabilities` come from the same number.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import legal_set, pick, probabilities_of, size_of
from getbit_env.core.compiled import inlined, kernel
from getbit_env.core.streams import RowStreams, random_bits
from getbit_env.get_bit.observations import Layout, View
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.get_bit.variants import ID


@kernel
def _draw(
    view: View,
    observation: NDArray[np.float32],
    preferred: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """Play an action of every row's set. A row with nothing to choose uses no random number: how long others play is all one."""
    for b in range(preferred.shape[0]):
        if observation[b, view.limb] == 0:
            actions[b] = 0
            continue
        bits = np.uint64(0)
        if preferred[b] & (preferred[b] - np.uint64(1)):  # more than one
            counters[b] += np.uint64(1)
            bits = random_bits(keys[b], counters[b])
        actions[b] = pick(preferred[b], bits)


class Chooser:
    """Plays uniformly from a set of actions that `preferred` finds for each row.

    Attributes:
        deterministic: whether the set never holds more than one action.
    """

    deterministic: ClassVar[bool] = False
    game: ClassVar[str] = ID

    def __init__(self) -> None:
        self._streams: RowStreams | None = None

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""
        self._layout, self._view = layout, layout.view
        if seed is not None or self._streams is None or self._streams.keys.size != begins.size:
            self._streams = RowStreams(seed, begins.size)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            RuntimeError: there was no `reset`, or one for another number of rows.
        """
        rows = observation.shape[0]
        if self._streams is None or self._streams.keys.size != rows:
            raise RuntimeError(f"{type(self).__name__}.act got {rows} rows without a reset for so many")
        actions = np.empty(rows, np.int64)
        preferred = self.preferred(observation, action_mask)
        _draw(self._view, observation, preferred, self._streams.keys, self._streams.counters, actions)
        return actions

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """The set of actions of each row, `[B]`; each holds an action, and legal ones only."""
        raise NotImplementedError


class Rule(Protocol):
    """A kernel."""

    def __call__(
        self, view: View, observation: NDArray[np.float32], action_mask: NDArray[np.int8], preferred: NDArray[np.uint64], /
    ) -> None:
        """Write what `Chooser.preferred` returns."""


class Scripted(Chooser):
    """Plays by a rule that is a pure function of observation and mask: its kernel `prefer`, or an own `preferred`."""

    prefer: ClassVar[Rule]

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """The set of actions of each row, `[B]`; each holds an action, and legal ones only."""
        preferred = np.empty(observation.shape[0], np.uint64)
        type(self).prefer(self._view, observation, action_mask, preferred)
        return preferred

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """What `act` draws from: `[B, A]`, a pure function of its arguments."""
        probabilities = np.empty(action_mask.shape, np.float64)
        probabilities_of(self.preferred(observation, action_mask), probabilities)
        return probabilities


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


@inlined
def _can_play(view: View, observation: NDArray[np.float32], b: int, at: int) -> np.uint64:
    """1 in the byte of each card that another's robot, whose block starts at `at`, may hold, as far as row `b` tells.

    That is its hand, and where hands are hidden all but the card just played, which is gone unless the table was taken back.
    """
    hidden = view.hidden != 0
    shown = at + (view.last if hidden else view.hand)
    whole = np.uint64(hidden and observation[b, at + view.hand_size + view.cards - 1] != 0)
    cards = np.uint64(0)
    for c in range(view.cards):
        cards |= (whole | (np.uint64(observation[b, shown + c]) ^ np.uint64(hidden))) << np.uint64(8 * c)
    return cards


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
    owner = max(view.seat, view.owner)  # one of them is there, and its first entry says: the viewer's
    risk = np.zeros(actions, np.int64)
    for b in range(observation.shape[0]):
        holders = every = np.uint64(0)  # how many robots of others can play each card, and whether one can
        ahead_1 = ahead_2 = np.uint64(0)  # how many of them ahead of the viewer's first and last robot
        others = mine = 0
        for k in range(view.players * each):  # without branches, which the processor could not foresee
            at = k * view.block
            own, there = observation[b, at + owner] != 0, observation[b, at + view.limb] != 0
            ahead_1 = holders if own and mine == 0 else ahead_1
            ahead_2 = holders if own else ahead_2
            hand = _can_play(view, observation, b, at) & (np.uint64(0) - np.uint64(there and not own))
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

    prefer = staticmethod(_prefer_any)


class Highest(Scripted):
    """The highest card of each robot."""

    prefer = staticmethod(_prefer_highest)
    deterministic = True


class Lowest(Scripted):
    """The lowest card of each robot."""

    prefer = staticmethod(_prefer_lowest)
    deterministic = True


class Forgetful(Scripted):
    """Counts cards, but remembers only the last round: plays a number that can't get it bitten, if it sees one.

    By G3.3 a robot ends up at the back only if all others play distinct higher numbers, or if it ties and all behind it do not.
    So it avoids numbers that all others can pass, then those that many robots ahead of it can tie (a tie with one behind it does
    no harm), then those that anybody else can still play; what is left is drawn by lot.
    """

    prefer = staticmethod(_prefer_safe)


class Counter(PerfectRecall):
    """Counts cards and forgets none: `Forgetful` with perfect recall, which in the face-up game is the same."""

    def __init__(self) -> None:
        super().__init__(Forgetful())
        self.name = "Counter"
