"""Bots for Sharks are Wild: agents that need no training. They know what an observation tells, and nothing else.

Each reads its observation back into a position, in which it is player 0, and of other hands the cards are missing that it can't
know. A policy is a kernel that gives every legal action of a position a score; what is played is one of the best, by lot. The same
kernels play on in the positions that the Monte-Carlo player makes up.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import pick
from getbit_env.core.compiled import inlined, kernel
from getbit_env.core.scripted_bot import LogitBot, Mixture, ScriptedBot
from getbit_env.core.streams import random_bits
from getbit_env.sharks_are_wild.observations import View, hand_size, read, unseen
from getbit_env.sharks_are_wild.rules import (
    BLOCK,
    BLOCK_IT,
    DISCARD,
    DOLPHIN,
    DRAW,
    FROM_DISCARD_PILE,
    FROM_DRAW_PILE,
    KINDS,
    LOW,
    NUMBER,
    OCTOPUS,
    SHARK,
    SHARK_AT,
    STARTER,
    STEAL,
    STOLEN,
    Games,
    Rules,
    actor,
    kind_of,
    legal,
    new_games,
    number_of,
    seat_after,
)
from getbit_env.sharks_are_wild.variants import ID

MOST_ACTIONS = 33
TEMPERATURE = 0.03  # coins
NEVER = -1e9

# --- positions as a player judges them --------------------------------------------------------------------------------------


@inlined
def _next_number(games: Games, g: int, p: int, end: int) -> int:
    """The number that would come next at an end of a run; -1 if there is none."""
    if end == LOW:
        return int(games.low[g, p]) - 1
    above = int(games.high[g, p]) + 1
    return above if above <= 9 else -1


@inlined
def _fits(games: Games, g: int, p: int, number: int) -> bool:
    return number >= 0 and (number == _next_number(games, g, p, 0) or number == _next_number(games, g, p, 1))


@inlined
def _in_hand(games: Games, g: int, p: int, number: int) -> bool:
    return 0 <= number <= 9 and number != STARTER and games.hand[g, p, kind_of(number)] > 0


@inlined
def _grabbed(games: Games, g: int, action: int) -> tuple[int, int]:
    """Victim and number of an Octopus action."""
    victim = (int(games.player[g]) + 1 + ((action - STEAL) >> 1)) % games.low.shape[1]
    return victim, int(games.low[g, victim]) if (action - STEAL) & 1 == LOW else int(games.high[g, victim])


@inlined
def _still_fits(rules: Rules, games: Games, g: int, p: int, number: int) -> bool:
    """A run of `p` that holds this number can still be completed as it lies."""
    low, high = min(number, int(games.low[g, p])), max(number, int(games.high[g, p]))
    return high - low < rules.run


# --- greedy -----------------------------------------------------------------------------------------------------------------


@inlined
def greedy_score(rules: Rules, games: Games, g: int, action: int) -> float:
    """Play when you can, draw what you need, discard what is least likely to help."""
    p, stage = actor(games, g), games.stage[g]
    hand = games.hand[g, p]
    if stage == BLOCK:
        return 1.0 if action == BLOCK_IT else 0.0
    if stage == STOLEN:
        return 1.0 if action < DISCARD else 0.0
    if stage == DRAW:
        if action != FROM_DISCARD_PILE:
            return 0.5
        top = int(games.discard[g, int(games.discard_size[g]) - 1])
        return 1.0 if top == SHARK or (top < SHARK and _fits(games, g, p, number_of(top))) else 0.0
    if action >= STEAL:
        number = _grabbed(games, g, action)[1]
        return 400.0 if _fits(games, g, p, number) else 300.0
    if SHARK_AT <= action < DISCARD:
        return 1000.0 if _in_hand(games, g, p, _next_number(games, g, p, action - SHARK_AT)) else 1001.0
    if action < SHARK_AT:
        number = number_of(action - NUMBER)
        follow = number - 1 if number < STARTER else number + 1
        return 501.0 if _in_hand(games, g, p, follow) else 500.0
    kind = action - DISCARD
    if kind == SHARK:
        return -100.0
    if kind == OCTOPUS:
        return -12.0
    if kind == DOLPHIN:
        return -8.0
    number = number_of(kind)
    from_starter = abs(number - STARTER)
    low, high = int(games.low[g, p]), int(games.high[g, p])
    if from_starter >= rules.run:
        help_ = 0.0  # no run can hold it
    elif low <= number <= high or not _still_fits(rules, games, g, p, number):
        help_ = 10.0 - from_starter  # perhaps in the next run
    else:
        help_ = 20.0 - 2 * (low - number if number < low else number - high)
    return float(6.0 * (hand[kind] > 1) - help_)


@inlined
def greedy_set(rules: Rules, games: Games, g: int) -> int:
    """The set of legal actions that greedy likes best."""
    may = legal(rules, games, g)
    best, actions = NEVER, 0
    for action in range(MOST_ACTIONS):
        if (may >> action) & 1 != 0:
            score = greedy_score(rules, games, g, action)
            if score > best:
                best, actions = score, 0
            if score == best:
                actions |= 1 << action
    return actions


# --- careful ----------------------------------------------------------------------------------------------------------------


@inlined
def _run_worth(rules: Rules, cards: int) -> float:
    """What a run of so many cards is worth, in coins."""
    return 1.0 if cards >= rules.run else ((cards - 1) / (rules.run - 1)) ** 1.3


@inlined
def _length(games: Games, g: int, p: int) -> int:
    return int(games.high[g, p]) - int(games.low[g, p]) + 1


@inlined
def _gain(rules: Rules, games: Games, g: int, p: int) -> float:
    """What one card more in the run of `p` is worth."""
    cards = _length(games, g, p)
    return _run_worth(rules, cards + 1) - _run_worth(rules, cards)


@inlined
def _keep(rules: Rules, games: Games, g: int, kind: int, rest: NDArray[np.int64]) -> float:
    """What a card in the own hand promises, given how many of each kind are not yet seen. Player 0 looks."""
    copies = int(games.hand[g, 0, kind])
    if kind == SHARK:
        return 8.0
    if kind == OCTOPUS:
        return 0.5
    if kind == DOLPHIN:
        return 0.7 if copies <= 1 else 0.2
    number = number_of(kind)
    from_starter = abs(number - STARTER)
    if from_starter >= rules.run:
        return 0.0
    low, high = int(games.low[g, 0]), int(games.high[g, 0])
    promise = 0.25 * 0.8 ** (from_starter - 1)
    if (number < low or number > high) and _still_fits(rules, games, g, 0, number):
        promise = 1.0
        for between in range(number + 1, low) if number < low else range(high + 1, number):
            seen = rest[kind_of(between)]
            promise *= 0.8 if _in_hand(games, g, 0, between) else 0.5 if seen > 1 else 0.3 if seen > 0 else 0.1
    return promise if copies <= 1 else 0.4 * promise


@inlined
def _gift(rules: Rules, games: Games, g: int, kind: int) -> float:
    """What the next player gets from a card on top of the discard pile."""
    p = seat_after(rules, 0, 1)
    if kind == SHARK:
        return 1.0 + _gain(rules, games, g, p)
    return _gain(rules, games, g, p) if kind < SHARK and _fits(games, g, p, number_of(kind)) else 0.0


@inlined
def _has_dolphin(games: Games, g: int, victim: int, hidden: int, rest: NDArray[np.int64]) -> float:
    """How likely it is that a victim, of whose hand so many cards are hidden, holds a Dolphin."""
    if games.hand[g, victim, DOLPHIN] > 0:
        return 1.0
    cards = 0
    for kind in range(KINDS):
        cards += rest[kind]
    without = 1.0
    for i in range(hidden):
        if cards - i > 0:
            without *= max(0.0, 1.0 - rest[DOLPHIN] / (cards - i))
    return 1.0 - without


@inlined
def _draws(rules: Rules, games: Games, g: int, kind: int, rest: NDArray[np.int64]) -> float:
    """What it is worth to draw a card."""
    if kind == SHARK:
        return 1.0 + _gain(rules, games, g, 0)
    if kind < SHARK and _fits(games, g, 0, number_of(kind)) and games.hand[g, 0, kind] == 0:
        idle = games.hand[g, 0, SHARK] == 0
        for end in range(2):
            idle &= not _in_hand(games, g, 0, _next_number(games, g, 0, end))
        return _gain(rules, games, g, 0) * (1.0 if idle else 0.5)
    games.hand[g, 0, kind] += 1
    worth = 0.1 * _keep(rules, games, g, kind, rest)
    games.hand[g, 0, kind] -= 1
    return worth


@inlined
def _careful_score(rules: Rules, games: Games, g: int, action: int, rest: NDArray[np.int64], hidden: NDArray[np.int64]) -> float:
    """Count the cards that are not yet seen; rob by value, keep a Dolphin, give nothing away. All in coins; player 0 decides."""
    stage = games.stage[g]
    if stage == BLOCK:
        if action != BLOCK_IT:
            return 0.0
        number = int(games.low[g, 0]) if games.end[g] == LOW else int(games.high[g, 0])
        loss = _run_worth(rules, _length(games, g, 0)) - _run_worth(rules, _length(games, g, 0) - 1)
        if _fits(games, g, int(games.player[g]), number):
            loss += _gain(rules, games, g, int(games.player[g]))
        return loss - (0.25 if games.hand[g, 0, DOLPHIN] == 1 else 0.0)
    if stage == DRAW:
        if action == FROM_DISCARD_PILE:
            top = int(games.discard[g, int(games.discard_size[g]) - 1])
            return _draws(rules, games, g, top, rest) + 0.15 * _gift(rules, games, g, top)
        worth, cards = 0.0, 0
        if action == FROM_DRAW_PILE:
            for kind in range(KINDS):
                if rest[kind] > 0:
                    cards += rest[kind]
                    worth += rest[kind] * _draws(rules, games, g, kind, rest)
        return worth / max(cards, 1)
    if action >= STEAL:
        victim, number = _grabbed(games, g, action)
        loss = _run_worth(rules, _length(games, g, victim)) - _run_worth(rules, _length(games, g, victim) - 1)
        worth = loss * (0.5 + games.coins[g, victim] / rules.coins) / (rules.players - 1)
        if _fits(games, g, 0, number):
            worth += _gain(rules, games, g, 0)
        return float(worth * (1.0 - _has_dolphin(games, g, victim, hidden[victim], rest)) - 0.02)
    if DISCARD <= action < BLOCK_IT:
        kind = action - DISCARD
        return -0.1 * _keep(rules, games, g, kind, rest) - 0.3 * _gift(rules, games, g, kind)
    if action < NUMBER:
        return 0.0
    if action >= SHARK_AT:
        number = _next_number(games, g, 0, action - SHARK_AT)
        worth = 1.0 + _gain(rules, games, g, 0) - 0.01 * rest[kind_of(number)] - 0.1 * _in_hand(games, g, 0, number)
    else:
        number = number_of(action - NUMBER)
        worth = _gain(rules, games, g, 0)
    follow = number - 1 if number < STARTER else number + 1
    return worth + 0.03 * _in_hand(games, g, 0, follow)


# --- what plays -------------------------------------------------------------------------------------------------------------


@kernel
def _prefer_any(view: View, rules: Rules, observation: NDArray[np.float32], games: Games, preferred: NDArray[np.uint64]) -> None:
    for b in range(observation.shape[0]):
        if observation[b].any():
            read(view, observation[b], games, 0)
            preferred[b] = np.uint64(legal(rules, games, 0))


@kernel
def _prefer_greedy(view: View, rules: Rules, observation: NDArray[np.float32], games: Games, preferred: NDArray[np.uint64]) -> None:
    for b in range(observation.shape[0]):
        if observation[b].any():
            read(view, observation[b], games, 0)
            preferred[b] = np.uint64(greedy_set(rules, games, 0))


@kernel
def _prefer_careful(
    view: View, rules: Rules, observation: NDArray[np.float32], games: Games, preferred: NDArray[np.uint64]
) -> None:
    rest, hidden = np.zeros(KINDS, np.int64), np.zeros(view.players, np.int64)
    for b in range(observation.shape[0]):
        if not observation[b].any():
            continue
        read_all(view, observation[b], games, rest, hidden)
        may = legal(rules, games, 0)
        best, actions = NEVER, 0
        for action in range(MOST_ACTIONS):
            if (may >> action) & 1 != 0:
                score = _careful_score(rules, games, 0, action, rest, hidden)
                if score > best + 1e-9:
                    best, actions = score, 0
                if score >= best - 1e-9:
                    actions |= 1 << action
        preferred[b] = np.uint64(actions)


@kernel
def _careful_scores(view: View, rules: Rules, observation: NDArray[np.float32], games: Games, scores: NDArray[np.float64]) -> None:
    """What each action is worth to `Careful`, in coins, into `scores`, `[B, A]`; 0 for illegal ones and in rows of zeros."""
    rest, hidden = np.zeros(KINDS, np.int64), np.zeros(view.players, np.int64)
    scores[:] = 0
    for b in range(observation.shape[0]):
        if observation[b].any():
            read_all(view, observation[b], games, rest, hidden)
            may = legal(rules, games, 0)
            for action in range(scores.shape[1]):
                if (may >> action) & 1 != 0:
                    scores[b, action] = _careful_score(rules, games, 0, action, rest, hidden)


@kernel
def read_all(view: View, seen: NDArray[np.float32], games: Games, rest: NDArray[np.int64], hidden: NDArray[np.int64]) -> None:
    """Read an observation, count what is not seen, and how many cards of each hand are hidden."""
    read(view, seen, games, 0)
    unseen(view, games, 0, rest)
    for p in range(view.players):
        known = 0
        for kind in range(KINDS):
            known += int(games.hand[0, p, kind])
        hidden[p] = hand_size(view, seen, p) - known


@kernel
def choose_any(
    rules: Rules, games: Games, keys: NDArray[np.uint64], counters: NDArray[np.uint64], actions: NDArray[np.int64]
) -> None:
    """Draw a legal action for the player who decides in each game, into `actions`, `[G, P]`: random play without observations."""
    for g in range(actions.shape[0]):
        may = legal(rules, games, g)
        if may != 0:
            counters[g] += np.uint64(1)
            actions[g, actor(games, g)] = pick(np.uint64(may), random_bits(keys[g], counters[g]))


class Policy(Protocol):
    """The kernel of a bot."""

    def __call__(
        self, view: View, rules: Rules, observation: NDArray[np.float32], games: Games, preferred: NDArray[np.uint64], /
    ) -> None:
        """Write for every row that is not all zero the set of actions that a bot likes best, `[B]`, working in `games`."""


class Scripted(ScriptedBot):
    """Plays by a rule that is a pure function of the observation: its kernel `prefer`."""

    game: ClassVar[str | None] = ID
    draws_for_one = True
    prefer: ClassVar[Policy]

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """See `SetBot`."""
        preferred = np.full(len(observation), (1 << action_mask.shape[1]) - 1, np.uint64)
        rules = self._layout.variant.rules
        type(self).prefer(self._view, rules, observation, new_games(rules, 1), preferred)
        return preferred


class Random(Scripted):
    """Any legal action, all alike."""

    prefer: ClassVar[Policy] = staticmethod(_prefer_any)


class Greedy(Scripted):
    """Plays when it can: a Shark before a number before an Octopus.

    It takes what it can play at once, discards what is farthest from its run, and always blocks.
    """

    prefer: ClassVar[Policy] = staticmethod(_prefer_greedy)


class Careful(Scripted):
    """Weighs in coins what each action is worth, with an eye on the cards that are not yet seen.

    It robs by what the theft brings it, hurts the victim, and how likely a Dolphin is; keeps a Dolphin and uses the last one for
    a card that matters; and gives the next player nothing on the discard pile.
    """

    prefer: ClassVar[Policy] = staticmethod(_prefer_careful)


class Soft(LogitBot):
    """Weighs actions as `Careful` does, and plays the better ones more often instead of the best one always.

    An action is played with a probability proportional to exp(worth in coins / temperature).
    """

    game: ClassVar[str | None] = ID

    def __init__(self, temperature: float = TEMPERATURE) -> None:
        """Make the bot.

        Raises:
            ValueError: the temperature is not a number over 0.
        """
        super().__init__(temperature)

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `LogitBot`."""
        scores, rules = np.empty(action_mask.shape), self._layout.variant.rules
        _careful_scores(self._view, rules, observation, new_games(rules, 1), scores)
        return scores


class MixedBot(Mixture):
    """Is another bot in every game: it draws `Greedy`, `Careful` or `Soft` when a game begins, and keeps it."""

    game: ClassVar[str | None] = ID

    def __init__(self) -> None:
        super().__init__([Greedy(), Careful(), Soft()])
