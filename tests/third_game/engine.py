"""A batch of games."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.streams import game_streams, random_bits
from tests.third_game.observations import Layout, Options
from tests.third_game.rules import Games, Outcome, play_round
from tests.third_game.variants import Reward, Variant


class Engine:
    """A batch of games, as `getbit_env.core.spec.Engine` says."""

    def __init__(
        self,
        variant: Variant,
        games: int,
        *,
        seed: int | np.random.SeedSequence | None = None,
        options: Options | None = None,
        reward: Reward | str = Reward.WIN,
    ) -> None:
        players, cards = variant.players, variant.cards
        self.variant, self.size, self.layout = variant, games, Layout(variant, options)
        self._pays = variant.reward_of_finish(reward)
        self.state = Games(
            np.zeros((games, players, cards), np.bool_),
            np.zeros((games, players), np.int64),
            np.zeros((games, cards), np.int64),
            np.full(games, cards),
        )
        self.outcome = Outcome(
            np.zeros((players, games), np.uint8), np.zeros(games, np.uint8), np.zeros((players, games), np.float32)
        )
        self.observation = np.zeros((games, players, self.layout.size), np.float32)
        self.action_mask = np.ones((games, players, cards), np.int8)
        self.actions = np.zeros((games, players), np.int64)
        self.replaced = np.zeros((games, players), np.uint8)
        self.seed(seed)

    def seed(self, seed: int | np.random.SeedSequence | None) -> None:
        self.streams = game_streams(seed, self.size)
        self.counters = np.zeros(self.size, np.uint64)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        return np.zeros(self.size, np.bool_)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.state.rounds

    def start(self, begin: NDArray[np.uint8] | None = None, starts: Sequence[Any] | NDArray[np.int64] | None = None) -> None:
        """Begin games, with prizes `[G, C]` or from the streams."""
        begins = np.ones(self.size, np.bool_) if begin is None else begin.astype(np.bool_)
        cards = self.variant.cards
        if starts is None:
            numbers = []
            for _ in range(cards):
                self.counters[begins] += np.uint64(1)
                numbers.append(random_bits(self.streams, self.counters))
            prizes = np.argsort(np.stack(numbers, axis=1), axis=1)
        else:
            prizes = np.asarray(starts)
            if prizes.shape != (self.size, cards) or (np.sort(prizes, axis=1) != np.arange(cards)).any():
                raise ValueError(f"a start is an order of the prizes 0 to {cards - 1}, one a game, not {starts!r}")
        self.state.prizes[begins] = prizes[begins]
        self.state.hand[begins], self.state.points[begins], self.state.rounds[begins] = True, 0, 0

    def play(self, actions: NDArray[np.int64], active: NDArray[np.uint8] | None = None) -> None:
        plays = self.choosing()[:, 0] & (True if active is None else active > 0)
        self.actions[:] = actions
        legal = np.take_along_axis(self.state.hand, self.actions[..., None], axis=2)[..., 0]
        self.replaced[:] = ~legal & plays[:, None]
        self.actions[~legal] = self.state.hand.argmax(axis=2)[~legal]
        play_round(self.state, self.actions, plays, self._pays, self.outcome)

    def observe(self, show: NDArray[np.uint8] | None = None) -> None:
        show = np.full(self.size, 2, np.uint8) if show is None else show
        seen = np.zeros_like(self.observation)
        self.layout.write(self.state, seen)
        chooses = self.choosing()
        seen[(show == 1)[:, None] & ~chooses] = 0
        mask = np.where(chooses[..., None], self.state.hand, True)
        self.observation[show > 0], self.action_mask[show > 0] = seen[show > 0], mask[show > 0]

    def choosing(self) -> NDArray[np.bool_]:
        return np.repeat((self.state.rounds < self.variant.cards)[:, None], self.variant.players, axis=1)


def number_of_starts(variant: Variant) -> float:
    """Orders of the prizes."""
    return math.factorial(variant.cards)


def rotated_starts(variant: Variant, seed: int, first: int, number: int, every: bool) -> NDArray[np.int64]:
    """Orders of the prizes. All seats are alike, so that a start with the players moved on is the same start."""
    starts = []
    for k in range(first, first + number):
        left, rest = list(range(variant.cards)), k % math.factorial(variant.cards)
        if every:
            order = []
            for size in range(variant.cards, 0, -1):
                at, rest = divmod(rest, math.factorial(size - 1))
                order.append(left.pop(at))
        else:
            order = np.random.default_rng([seed, k]).permutation(variant.cards).tolist()
        starts += [order] * variant.players
    return np.array(starts)
