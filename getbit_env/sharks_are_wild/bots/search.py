"""The bot that plays made-up positions to their end."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import pick
from getbit_env.core.compiled import kernel
from getbit_env.core.scripted_bot import RowBot
from getbit_env.core.streams import random_bits
from getbit_env.sharks_are_wild.bots.scripted import MOST_ACTIONS, NEVER, greedy_score, greedy_set, read_all
from getbit_env.sharks_are_wild.observations import View
from getbit_env.sharks_are_wild.rules import (
    KINDS,
    OVER,
    Games,
    Outcome,
    Rules,
    actor,
    legal,
    new_games,
    new_outcome,
    play,
)
from getbit_env.sharks_are_wild.variants import ID

DETERMINIZATIONS = 48  # positions that the Monte-Carlo player makes up for a decision
CANDIDATES = 5  # actions that it tries
DOUBT = 1.0


@kernel
def _copy(games: Games, source: int, target: int) -> None:
    games.draw[target] = games.draw[source]
    games.discard[target] = games.discard[source]
    games.draw_size[target] = games.draw_size[source]
    games.discard_size[target] = games.discard_size[source]
    games.hand[target] = games.hand[source]
    games.taken[target] = games.taken[source]
    games.low[target] = games.low[source]
    games.high[target] = games.high[source]
    games.sharks[target] = games.sharks[source]
    games.coins[target] = games.coins[source]
    games.player[target] = games.player[source]
    games.stage[target] = games.stage[source]
    games.victim[target] = games.victim[source]
    games.end[target] = games.end[source]
    games.turns[target] = games.turns[source]


@kernel
def _determinize(
    games: Games,
    rest: NDArray[np.int64],
    hidden: NDArray[np.int64],
    cards: NDArray[np.uint8],
    key: np.uint64,
    counter: np.uint64,
) -> np.uint64:
    """Into game 1 a position that game 0 may be: what is not seen is shuffled and dealt. Returns the numbers drawn."""
    _copy(games, 0, 1)
    size = 0
    for kind in range(KINDS):
        for _ in range(rest[kind]):
            cards[size] = kind
            size += 1
    for i in range(size - 1, 0, -1):
        counter += np.uint64(1)
        j = int(((random_bits(key, counter) >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        card = cards[i]
        cards[i] = cards[j]
        cards[j] = card
    for p in range(1, hidden.shape[0]):
        for _ in range(hidden[p]):
            size -= 1
            games.hand[1, p, cards[size]] += 1
    for i in range(size):
        games.draw[1, i] = cards[i]
    return counter


class _Workspace(NamedTuple):
    """What `_choose` works in: game 0 is what is seen, 1 a position that it may be, 2 that position played on."""

    games: Games
    streams: NDArray[np.uint64]  # [3]
    drawn: NDArray[np.uint64]  # [3]
    actions: NDArray[np.int64]  # [3, P]
    active: NDArray[np.uint8]  # [3]
    pays: NDArray[np.float32]  # [P + 1]
    outcome: Outcome


def _new_workspace(rules: Rules) -> _Workspace:
    players = rules.players
    pays = np.full(players + 1, -1 / (players - 1), np.float32)
    pays[0], pays[1] = 0, 1
    return _Workspace(
        games=new_games(rules, 3),
        streams=np.zeros(3, np.uint64),
        drawn=np.zeros(3, np.uint64),
        actions=np.zeros((3, players), np.int64),
        active=np.ones(3, np.uint8),
        pays=pays,
        outcome=new_outcome(players, 3),
    )


@kernel
def _choose(
    view: View,
    rules: Rules,
    observation: NDArray[np.float32],
    determinizations: int,
    work: _Workspace,
    keys: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """Play the action that pays most in positions that may be, if all play greedily from there on.

    Most actions are worth nearly the same, and what is played after them is mostly chance. So greedy's own choice stands unless
    another action was better by more than `DOUBT` standard errors of the difference, in the same positions with the same luck.
    """
    games, outcome = work.games, work.outcome
    rest, hidden = np.zeros(KINDS, np.int64), np.zeros(view.players, np.int64)
    cards, tried = np.zeros(rules.deck.shape[0], np.uint8), np.zeros(CANDIDATES, np.int64)
    ahead, square = np.zeros(CANDIDATES), np.zeros(CANDIDATES)
    for b in range(observation.shape[0]):
        actions[b] = 0
        if not observation[b].any():
            continue
        read_all(view, observation[b], games, rest, hidden)
        candidates = _candidates(rules, games, tried)
        ahead[:] = 0.0
        square[:] = 0.0
        for _ in range(determinizations if candidates > 1 else 0):
            counters[b] = _determinize(games, rest, hidden, cards, keys[b], counters[b])
            paid = 0.0
            for i in range(candidates):
                _copy(games, 1, 2)
                work.streams[2] = keys[b] ^ counters[b]  # the same shuffles and lots after every action
                work.drawn[2] = np.uint64(0)
                wanted, step = tried[i], np.uint64(0)
                while games.stage[2] != OVER:
                    work.actions[2, actor(games, 2)] = wanted
                    play(rules, games, work.actions, work.active, work.streams, work.drawn, work.pays, outcome, 2, 3)
                    if games.stage[2] != OVER:
                        step += np.uint64(1)
                        wanted = pick(np.uint64(greedy_set(rules, games, 2)), random_bits(~work.streams[2], step))
                if i == 0:
                    paid = outcome.reward[0, 2]
                else:
                    ahead[i] += outcome.reward[0, 2] - paid
                    square[i] += (outcome.reward[0, 2] - paid) ** 2
        best, actions[b] = 0.0, tried[0]
        for i in range(1, candidates):
            surely = ahead[i] - DOUBT * np.sqrt(square[i])
            if surely > best:
                best = surely
                actions[b] = tried[i]


@kernel
def _candidates(rules: Rules, games: Games, tried: NDArray[np.int64]) -> int:
    """Write the legal actions that greedy likes best, the best one first; returns how many."""
    left, found = legal(rules, games, 0), 0
    while left != 0 and found < tried.shape[0]:
        best, action = 2 * NEVER, 0
        for a in range(MOST_ACTIONS):
            if (left >> a) & 1 != 0:
                score = greedy_score(rules, games, 0, a)
                if score > best:
                    best, action = score, a
        tried[found] = action
        found += 1
        left &= ~(1 << action)
    return found


class MonteCarlo(RowBot):
    """Determinized Monte-Carlo: plays on as greedy does in made-up positions that agree with what it sees.

    It takes the action that pays most, if that is surely better than greedy's. What it can't see is dealt at random.

    Attributes:
        determinizations: positions that it makes up for a decision.
    """

    game: ClassVar[str | None] = ID

    def __init__(self, determinizations: int = DETERMINIZATIONS) -> None:
        """Set how long it thinks.

        Raises:
            ValueError: it is not at all.
        """
        super().__init__()
        if determinizations < 1:
            raise ValueError(f"determinizations is at least 1, not {determinizations}")
        self.determinizations = determinizations

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            RuntimeError: there was no `reset`, or one for another number of rows.
            ValueError: these are not observations and masks of the layout of that reset.
        """
        streams, rules = self.streams_for(observation, action_mask), self._layout.variant.rules
        actions, work = np.empty(len(observation), np.int64), _new_workspace(rules)
        _choose(self._view, rules, observation, self.determinizations, work, streams.keys, streams.counters, actions)
        return actions
