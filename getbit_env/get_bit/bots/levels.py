"""Bots that weigh what the others may play: the levels of reasoning, and one that learns how its opponents play.

They play for one round, after which one robot is at the back of the line, where the shark bites (but for the first round, G4.2).
What they need is how likely that robot is their own, for each of their numbers, if every other robot draws its number from a
distribution of its own. By G3.3 the robot at the back is the rearmost one of those that tie; if none do, it is the one with the
lowest number. So of the robots ahead it matters which numbers they play, and of those behind that they all play distinct numbers
that nobody ahead plays. Both are sums over sets of numbers, of which there are at most 128: exact, and no joint play is ever tried.

Axes: B rows, N places of the line, P players, C cards, S sets of cards (bit c for card c + 1), M models of a player.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import legal_set, size_of
from getbit_env.core.compiled import inlined, kernel, lean_kernel
from getbit_env.core.scripted_bot import Mixture, ScriptedBot, SetBot
from getbit_env.get_bit.bots.scripted import Forgetful, Highest
from getbit_env.get_bit.observations import (
    Layout,
    Options,
    View,
    read_hand,
    read_last,
    read_number,
    read_seat,
    reads_first_round,
    reads_in_line,
)
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.get_bit.variants import ID, Variant

SAME = 1e-9  # chances that differ by less do so by rounding
DOUBT = 0.1  # how often an opponent is taken to play something else than its model says
MODELS = ("random", "highest", "lowest", "level1", "level2")


class Line(NamedTuple):
    """The line as a player sees it, and what is reckoned with; one row at a time."""

    owner: NDArray[np.int64]  # [N] whose robot: 0 the viewer
    hand: NDArray[np.int64]  # [N] mask of the cards that it holds
    chance: NDArray[np.float64]  # [N, C] how likely it plays each card
    ahead: NDArray[np.float64]  # [N + 1, S] how likely the robots ahead of a place play these numbers together
    behind: NDArray[np.float64]  # [N + 1, S] how likely those from a place on play distinct numbers outside of a set
    part: NDArray[np.float64]  # [2, S] likewise, from one own robot to the other
    preferred: NDArray[np.uint64]  # [P] the set of actions that each player likes best
    models: NDArray[np.float64]  # [M, N, C] `chance` by each model


def new_line(variant: Variant) -> Line:
    """Allocate it."""
    robots, sets = variant.robots, 1 << variant.cards
    return Line(
        np.zeros(robots, np.int64),
        np.zeros(robots, np.int64),
        np.zeros((robots, variant.cards)),
        np.zeros((robots + 1, sets)),
        np.zeros((robots + 1, sets)),
        np.zeros((2, sets)),
        np.zeros(variant.players, np.uint64),
        np.zeros((len(MODELS), robots, variant.cards)),
    )


@inlined
def _read_line(view: View, observation: NDArray[np.float32], b: int, line: Line) -> int:
    """Read row `b`; returns how many robots are in the line. Opponents have numbers: by seat if that is shown, else in order."""
    places = others = 0
    for k in range(view.players * view.robots_per_player):
        if not reads_in_line(view, observation, b, k):
            break
        owner = read_seat(view, observation, b, k)
        if view.seat < 0 and view.robots_per_player == 1:
            others += owner > 0
            owner = others if owner > 0 else 0
        line.owner[k] = min(owner, view.players - 1)  # also if the row shows what is no position
        line.hand[k] = read_hand(view, observation, b, k)
        places += 1
    return places


@inlined
def _spread_evenly(line: Line, places: int, chance: NDArray[np.float64]) -> None:
    """All cards of a hand are equally likely."""
    for k in range(places):
        each = 1 / size_of(np.uint64(line.hand[k]))
        for c in range(chance.shape[1]):
            chance[k, c] = each * ((line.hand[k] >> c) & 1)


@inlined
def _one_more_ahead(chance: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64]) -> None:
    """`[S]` of the robots ahead, with one robot more, which plays `chance`, `[C]`."""
    after[:] = 0
    for c in range(chance.shape[0]):
        if chance[c] > 0:
            bit = 1 << c
            for first in range(0, before.shape[0], 2 * bit):
                for s in range(first, first + bit):
                    after[s + bit] += chance[c] * (before[s] + before[s + bit])


@inlined
def _one_more_behind(chance: NDArray[np.float64], after: NDArray[np.float64], before: NDArray[np.float64]) -> None:
    """`[S]` of the robots behind, with one robot more in front of them, which plays `chance`, `[C]`."""
    before[:] = 0
    for c in range(chance.shape[0]):
        if chance[c] > 0:
            bit = 1 << c
            for first in range(0, after.shape[0], 2 * bit):
                for s in range(first, first + bit):
                    before[s] += chance[c] * after[s + bit]


@lean_kernel
def _sweep(line: Line, places: int) -> None:
    """Fill in `ahead` and `behind` from `chance`."""
    line.ahead[0] = 0
    line.ahead[0, 0] = 1
    for k in range(places):
        _one_more_ahead(line.chance[k], line.ahead[k], line.ahead[k + 1])
    line.behind[places] = 1
    for k in range(places - 1, -1, -1):
        _one_more_behind(line.chance[k], line.behind[k + 1], line.behind[k])


@inlined
def _bitten(ahead: NDArray[np.float64], behind: NDArray[np.float64], place: int, card: int) -> float:
    """How likely the robot in a place gets to the back by a card: it ties and nobody behind does, or it is lower than all."""
    chance, lower = 0.0, (2 << card) - 1
    for s in range(ahead.shape[0]):
        if ahead[s] > 0:
            if (s >> card) & 1:
                chance += ahead[s] * behind[s]
            elif s & lower == 0 and size_of(np.uint64(s)) == place:
                chance += ahead[s] * behind[s | lower]
    return chance


@lean_kernel
def _risks(line: Line, places: int, player: int, risk: NDArray[np.float64]) -> bool:
    """How likely a robot of a player gets to the back, `[A]`, by each of its actions; 2 for illegal ones. False: it is out."""
    cards, front, rear = line.chance.shape[1], -1, -1
    risk[:] = 2
    for k in range(places):
        if line.owner[k] == player:
            front, rear = (k, -1) if front < 0 or risk.shape[0] == cards else (front, k)
    if front < 0:
        return False
    if rear < 0:
        for c in range(cards):
            if (line.hand[front] >> c) & 1:
                risk[c] = _bitten(line.ahead[front], line.behind[front + 1], front, c)
        return True
    for own in range(2):  # the robot that is reckoned to get to the back: the rear one, the front one
        for fixed in range(cards):  # what the other one plays
            if (line.hand[front if own == 0 else rear] >> fixed) & 1 == 0:
                continue
            at, bit = 0, 1 << fixed
            if own == 0:
                for s in range(line.part.shape[1]):
                    line.part[0, s] = line.ahead[front, s] + line.ahead[front, s ^ bit] if (s >> fixed) & 1 else 0.0
                for k in range(front + 1, rear):
                    _one_more_ahead(line.chance[k], line.part[at], line.part[1 - at])
                    at = 1 - at
            else:
                for s in range(line.part.shape[1]):
                    line.part[0, s] = 0.0 if (s >> fixed) & 1 else line.behind[rear + 1, s | bit]
                for k in range(rear - 1, front, -1):
                    _one_more_behind(line.chance[k], line.part[at], line.part[1 - at])
                    at = 1 - at
            for c in range(cards):
                if own == 0 and (line.hand[rear] >> c) & 1:
                    risk[fixed * cards + c] = _bitten(line.part[at], line.behind[rear + 1], rear, c)
                elif own == 1 and (line.hand[front] >> c) & 1:
                    risk[c * cards + fixed] += _bitten(line.ahead[front], line.part[at], front, c)
    return True


@inlined
def _safest(line: Line, places: int, player: int, risk: NDArray[np.float64]) -> np.uint64:
    """The set of actions by which a player is least likely to have the robot at the back; empty if it is out."""
    actions = np.uint64(0)
    if _risks(line, places, player, risk):
        least = risk[0]
        for a in range(risk.shape[0]):
            least = min(least, risk[a])
        for a in range(risk.shape[0]):
            actions |= np.uint64(risk[a] <= least + SAME) << np.uint64(a)
    return actions


@lean_kernel
def _think(line: Line, places: int, risk: NDArray[np.float64], chance: NDArray[np.float64]) -> None:
    """Into `chance`, `[N, C]`, what is safest for each player if all others play `line.chance`; a distribution for each robot."""
    cards = chance.shape[1]
    _sweep(line, places)
    for player in range(line.preferred.shape[0]):
        line.preferred[player] = _safest(line, places, player, risk)
    chance[:] = 0
    for k in range(places):
        actions = line.preferred[line.owner[k]]
        each = 1 / size_of(actions)
        if risk.shape[0] == cards:
            for c in range(cards):
                chance[k, c] = each * ((actions >> np.uint64(c)) & np.uint64(1))
            continue
        front = True
        for j in range(k):
            front &= line.owner[j] != line.owner[k]
        for a in range(risk.shape[0]):
            if (actions >> np.uint64(a)) & np.uint64(1):
                chance[k, a // cards if front else a % cards] += each


@kernel
def prefer_level(
    view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    level: int,
    line: Line,
    risk: NDArray[np.float64],
    preferred: NDArray[np.uint64],
) -> None:
    """Write what a `Level` plays.

    Args:
        view: of the layout.
        observation: `[B, D]`, face up.
        action_mask: `[B, A]`.
        level: 1 or more.
        line: to work in.
        risk: `[A]`, overwritten: how likely each action of the last row gets a robot to the back.
        preferred: `[B]`, overwritten.
    """
    for b in range(observation.shape[0]):
        places = _read_line(view, observation, b, line)
        if places == 0:
            preferred[b] = legal_set(action_mask, b)
            continue
        _spread_evenly(line, places, line.chance)
        for _ in range(level - 1):
            _think(line, places, risk, line.chance)
        _sweep(line, places)
        preferred[b] = _safest(line, places, 0, risk)


@kernel
def prefer_adapted(
    view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    weights: NDArray[np.float64],
    expected: NDArray[np.float64],
    line: Line,
    risk: NDArray[np.float64],
    preferred: NDArray[np.uint64],
) -> None:
    """Write what an `Adaptive` plays, and remember.

    Args:
        view: of a layout that shows seats and last cards.
        observation: `[B, D]`.
        action_mask: `[B, A]`.
        weights: `[B, P, M]`, how well each model has foretold each player so far; brought up to date.
        expected: `[B, R, M, C]`, what each model foretold of each robot, by seat and number; then what it foretells of this round.
        line: to work in.
        risk: `[A]`, to work in.
        preferred: `[B]`, overwritten.
    """
    cards, models, each = line.chance.shape[1], line.models.shape[0], view.robots_per_player
    for b in range(observation.shape[0]):
        places = _read_line(view, observation, b, line)
        if places == 0:
            preferred[b] = legal_set(action_mask, b)
            continue
        if not reads_first_round(view, observation, b):
            for k in range(places):
                seat, played = line.owner[k], read_last(view, observation, b, k)
                robot = seat * each + read_number(view, observation, b, k)
                for c in range(cards):
                    if seat > 0 and (played >> c) & 1:
                        for m in range(models):
                            weights[b, seat, m] *= DOUBT * expected[b, robot, 0, c] + (1 - DOUBT) * expected[b, robot, m, c]
        for seat in range(view.players):
            weights[b, seat] /= weights[b, seat].sum()
        _spread_evenly(line, places, line.models[0])
        line.models[1:3] = 0
        for k in range(places):
            lowest = highest = -1
            for c in range(cards):
                if (line.hand[k] >> c) & 1:
                    lowest, highest = c if lowest < 0 else lowest, c
            line.models[1, k, highest] = line.models[2, k, lowest] = 1
        for m in range(3, models):
            line.chance[:] = line.models[m - 1 if m > 3 else 0]
            _think(line, places, risk, line.models[m])
        line.chance[:] = 0
        for k in range(places):
            seat = line.owner[k]
            robot = seat * each + read_number(view, observation, b, k)
            for m in range(models):
                for c in range(cards):
                    expected[b, robot, m, c] = line.models[m, k, c]
                    line.chance[k, c] += weights[b, seat, m] * line.models[m, k, c]
        _sweep(line, places)
        preferred[b] = _safest(line, places, 0, risk)


class _Level(ScriptedBot):
    """`Level` for the face-up game."""

    game = ID

    def __init__(self, level: int) -> None:
        super().__init__()
        self.level = level

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""
        super().reset(layout, begins, seed)
        self._line, self.risk = new_line(layout.variant), np.zeros(layout.variant.actions)

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """See `SetBot`."""
        preferred = np.empty(observation.shape[0], np.uint64)
        prefer_level(self._view, observation, action_mask, self.level, self._line, self.risk, preferred)
        return preferred


class Level(PerfectRecall):
    """Level-k reasoning: plays what is least likely to leave it at the back of the line, if all others reason one level less.

    Level 0 plays uniformly at random. Level 1 is the best response to that in the game of one round that the owner of the robot at
    the back loses; level 2 is the best response to level 1 in all other seats, and so on. Of several actions that are equally good
    it draws one. It takes each robot of the others to draw for itself.
    """

    name: str

    def __init__(self, level: int) -> None:
        """Make the bot.

        Raises:
            ValueError: the level is less than 1.
        """
        if level < 1:
            raise ValueError(f"level is 1 or more, not {level}; level 0 is the bot Random")
        super().__init__(_Level(level))
        self.name = f"Level{level}"


class _Adaptive(SetBot):
    """`Adaptive` for the face-up game."""

    game = ID
    options = Options(observe_last=True, identity=True)

    def check_layout(self, layout: Layout) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: it does not show who played what.
        """
        if layout.view.seat < 0 or layout.view.last < 0:
            raise ValueError(
                f"Adaptive has to see whose robots are whose, and the last cards: {self.options}, not {layout.options}"
            )

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the layout is of another game, or does not show who played what.
        """
        anew = seed is not None or self._streams is None or self._streams.keys.size != begins.size
        super().reset(layout, begins, seed)
        self.check_layout(layout)
        variant = layout.variant
        self._line, self._risk = new_line(variant), np.zeros(variant.actions)
        if anew:
            self.weights = np.ones((begins.size, variant.players, len(MODELS)))
            self._expected = np.zeros((begins.size, variant.robots, len(MODELS), variant.cards))
        else:
            self.weights[begins] = np.sqrt(self.weights[begins])

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """See `SetBot`."""
        preferred = np.empty(observation.shape[0], np.uint64)
        prefer_adapted(self._view, observation, action_mask, self.weights, self._expected, self._line, self._risk, preferred)
        return preferred


class Adaptive(PerfectRecall):
    """Learns how each opponent plays, and plays what is then least likely to leave it at the back of the line.

    It keeps five models of a player: the bots `random`, `highest` and `lowest`, and levels 1 and 2. After every round it weighs
    them by how well they foretold what each opponent played (Bayes's rule; one time in ten an opponent may play anything).

    A row begins a match knowing nothing, and learns from its own games alone, so batches and processes change nothing. In `match`
    a row plays one game. In environments that play one game after another a row remembers: when a game begins, what it learnt
    counts half as much, since others may sit there now.
    """

    def __init__(self) -> None:
        super().__init__(_Adaptive())
        self.name = "Adaptive"


class MixedBot(PerfectRecall):
    """Is another bot in every game: it draws `highest`, `counter`, `level1` or `level2` when a game begins, and keeps it."""

    def __init__(self) -> None:
        mixture = Mixture([Highest(), Forgetful(), _Level(1), _Level(2)])
        mixture.game = ID  # type: ignore[misc]  # of this one
        super().__init__(mixture)
        self.name = "MixedBot"
