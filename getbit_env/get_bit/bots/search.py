"""Bots that try things out with the rules themselves: a look one round ahead, and playouts to the end.

Both need the whole position. They read it off a face-up observation, and have perfect recall in memory games.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import size_of
from getbit_env.core.compiled import inlined, kernel
from getbit_env.core.scripted_bot import LogitBot, ScriptedBot, SetBot
from getbit_env.core.streams import random_bits
from getbit_env.get_bit.bots.playouts import copy_position, new_playout_workspace, own_cards, play_out
from getbit_env.get_bit.observations import Layout, View, read_position, reads_first_round
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.get_bit.rules import (
    BLOCK,
    Games,
    Outcome,
    Rules,
    Scratch,
    draw_cards,
    new_games,
    new_outcome,
    new_scratch,
    play_round,
)
from getbit_env.get_bit.variants import ID, Variant

SAMPLES = 512
PLAYOUTS = 200
EXACT_UP_TO = 5  # robots
LIMB_POWER = 2.0
TEMPERATURE = 0.02


class SearchWorkspace(NamedTuple):
    """What a search works in."""

    games: Games
    outcome: Outcome
    scratch: Scratch
    cards: NDArray[np.uint8]  # [R, G]
    streams: NDArray[np.uint64]  # [G]
    counters: NDArray[np.uint64]  # [G]


def new_search_workspace(variant: Variant, games: int) -> SearchWorkspace:
    """Allocate what a search of so many games works in."""
    robots = variant.robots
    outcome, scratch = new_outcome(robots, variant.players, games), new_scratch(robots)
    cards, streams, counters = np.zeros((robots, games), np.uint8), *(np.zeros(games, np.uint64) for _ in range(2))
    return SearchWorkspace(new_games(robots, games), outcome, scratch, cards, streams, counters)


@kernel
def _seed_games(work: SearchWorkspace, key: np.uint64, first: int, stop: int) -> None:
    """Give the games of the workspace the streams `first:stop` of a key."""
    for g in range(stop - first):
        work.streams[g] = random_bits(key, np.uint64(first + g))
        work.counters[g] = 0


@inlined
def _share(each: int, strength: NDArray[np.float64], games: Games, outcome: Outcome, g: int) -> float:
    """What player 0 has of all strength, or of the win if the game is over."""
    if outcome.over[g]:
        return 1.0 if outcome.finish[0, g] == 1 else 0.0
    mine = every = 0.0
    for p in range(outcome.finish.shape[0]):
        its = 1.0
        for r in range(p * each, p * each + each):
            its *= strength[games.limbs[r, g]]
        mine += its if p == 0 else 0.0
        every += its
    return mine / every


@inlined
def _next_joint_play(
    each: int, hand: NDArray[np.uint8], limbs: NDArray[np.uint8], next_card: NDArray[np.uint8], cards: NDArray[np.uint8], g: int
) -> None:
    """The others play `next_card` `[R]` in game `g`; then it becomes the joint play after that, like the digits of a number."""
    carry = True
    for r in range(each, hand.shape[0]):
        cards[r, g] = next_card[r] if limbs[r] > 0 else 0
        if carry and limbs[r] > 0:
            higher = hand[r] & ~((next_card[r] << 1) - 1)
            carry = higher == 0
            following = hand[r] if carry else higher
            next_card[r] = following & (~following + 1)


@kernel
def look_ahead(
    rules: Rules,
    view: View,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    strength: NDArray[np.float64],
    exact_up_to: int,
    samples: int,
    work: SearchWorkspace,
    values: NDArray[np.float64],
) -> None:
    """The value of every action, one round ahead, if all others play uniformly at random.

    Args:
        rules: of the face-up variant.
        view: of its layout.
        observation: `[B, D]`.
        action_mask: `[B, A]`.
        strength: `[limbs + 1]`, what a robot with so many bites left counts.
        exact_up_to: robots in the line up to which all joint plays of the others are tried.
        samples: joint plays that are drawn where there are more robots, by a stream that the position alone decides.
        work: for `BLOCK` games.
        values: `[B, A]`, overwritten; -1 for what is illegal.
    """
    games, outcome, cards = work.games, work.outcome, work.cards
    robots, each = games.place.shape[0], view.robots_per_player
    pays = np.zeros(view.players + 1, np.float32)
    place, limbs, hand = np.zeros(robots, np.uint8), np.zeros(robots, np.uint8), np.zeros(robots, np.uint8)
    next_card = np.zeros(robots, np.uint8)
    for b in range(observation.shape[0]):
        for a in range(action_mask.shape[1]):
            values[b, a] = 0.0 if action_mask[b, a] else -1.0
        line = read_position(view, observation, b, place, limbs, hand)
        if line == 0:
            continue
        exact = line <= exact_up_to
        rounds = int(not reads_first_round(view, observation, b))
        key = np.uint64(rounds)
        plays = 1
        for r in range(robots):
            its = (np.uint64(place[r]) << np.uint64(16)) | (np.uint64(limbs[r]) << np.uint64(8)) | np.uint64(hand[r])
            key = random_bits(key ^ its, np.uint64(1))
            if r >= each and limbs[r] > 0:
                plays *= size_of(np.uint64(hand[r]))
            next_card[r] = hand[r] & (~hand[r] + 1)
        plays = plays if exact else samples
        for first in range(0, plays, BLOCK):
            n = min(BLOCK, plays - first)
            if exact:
                for g in range(n):
                    _next_joint_play(each, hand, limbs, next_card, cards, g)
            else:
                copy_position(place, limbs, hand, rounds, games, 0, n)
                _seed_games(work, key, first, first + n)
                draw_cards(games, work.streams, work.counters, work.scratch, cards, 0, n)
            for a in range(action_mask.shape[1]):
                if action_mask[b, a] == 0:
                    continue
                copy_position(place, limbs, hand, rounds, games, 0, n)
                own_cards(view, a, cards, 0, n)
                play_round(rules, games, cards, pays, np.float32(0), work.scratch, outcome, 0, n)
                total = 0.0
                for g in range(n):
                    total += _share(each, strength, games, outcome, g)
                values[b, a] += total / plays


@kernel
def _best(values: NDArray[np.float64], preferred: NDArray[np.uint64]) -> None:
    """The set of best actions of each row; values that differ by rounding only are equal."""
    for b in range(values.shape[0]):
        best = values[b].max() - 1e-9
        preferred[b] = 0
        for a in range(values.shape[1]):
            preferred[b] |= np.uint64(values[b, a] >= best) << np.uint64(a)


class _LookAhead(ScriptedBot):
    """`LookAhead` for the face-up game."""

    game = ID

    def __init__(self, exact_up_to: int, samples: int) -> None:
        super().__init__()
        self.exact_up_to, self.samples = exact_up_to, samples

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""
        super().reset(layout, begins, seed)
        self._work = new_search_workspace(layout.variant, BLOCK)
        self._strength = np.arange(layout.variant.limbs + 1, dtype=np.float64) ** LIMB_POWER

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The expected share of each action, `[B, A]`; -1 for what is illegal."""
        values = np.empty(action_mask.shape, np.float64)
        rules, strength = self._layout.variant.rules, self._strength
        look_ahead(rules, self._view, observation, action_mask, strength, self.exact_up_to, self.samples, self._work, values)
        return values

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """See `SetBot`."""
        preferred = np.empty(observation.shape[0], np.uint64)
        _best(self.values(observation, action_mask), preferred)
        return preferred


class LookAhead(PerfectRecall):
    """Looks one round ahead: plays what leaves it the greatest share of all strength, if the others play uniformly at random.

    The chance that it is bitten, and every other chance, is exact: all joint plays of the others are tried by the rules. A robot
    counts the square of its limbs, a player the product of its robots, a game that ends is won or lost.
    Where more than `exact_up_to` robots are in the line, `samples` joint plays are drawn instead, by a stream that the position
    decides, so that it stays a pure function of what it sees.
    """

    def __init__(self, exact_up_to: int = EXACT_UP_TO, samples: int = SAMPLES) -> None:
        """Make the bot.

        Raises:
            ValueError: there are no samples.
        """
        if samples < 1:
            raise ValueError(f"samples is 1 or more, not {samples}")
        super().__init__(_LookAhead(exact_up_to, samples))
        self.name = "LookAhead"


class _SoftLookAhead(LogitBot):
    """`SoftLookAhead` for the face-up game."""

    game = ID

    def __init__(self, temperature: float) -> None:
        super().__init__(temperature)
        self._search = _LookAhead(EXACT_UP_TO, SAMPLES)

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""
        super().reset(layout, begins, seed)
        self._search.reset(layout, begins, seed)

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `LogitBot`."""
        return self._search.values(observation, action_mask)


class SoftLookAhead(PerfectRecall):
    """Looks one round ahead as `LookAhead` does, and plays the better actions more often instead of the best one always.

    An action is played with a probability proportional to exp(share / temperature).
    """

    def __init__(self, temperature: float = TEMPERATURE) -> None:
        """Make the bot.

        Raises:
            ValueError: the temperature is not a number over 0.
        """
        super().__init__(_SoftLookAhead(temperature))
        self.name = "SoftLookAhead"


class _MonteCarlo(SetBot):
    """`MonteCarlo` for the face-up game."""

    game = ID

    def __init__(self, playouts: int) -> None:
        super().__init__()
        self.playouts = playouts

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""
        super().reset(layout, begins, seed)
        self._work = new_playout_workspace(layout.variant, self.playouts)

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The part of playouts won after each action, `[B, A]`; -1 for what is illegal."""
        assert self._streams is not None
        wins = np.zeros(action_mask.shape, np.int64)
        rules, keys, counters = self._layout.variant.rules, self._streams.keys, self._streams.counters
        play_out(rules, self._view, observation, action_mask, self.playouts, keys, counters, self._work, wins.reshape(-1))
        return np.where(action_mask != 0, wins / self.playouts, -1.0)

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """See `SetBot`."""
        preferred = np.empty(observation.shape[0], np.uint64)
        _best(self.values(observation, action_mask), preferred)
        return preferred


class MonteCarlo(PerfectRecall):
    """Flat Monte-Carlo: plays the action that wins the most of `playouts` games in which all go on at random.

    It draws its playouts from the stream of the row and so has no `probabilities`.
    """

    def __init__(self, playouts: int = PLAYOUTS) -> None:
        """Make the bot.

        Raises:
            ValueError: there are no playouts.
        """
        if playouts < 1:
            raise ValueError(f"playouts is 1 or more, not {playouts}")
        super().__init__(_MonteCarlo(playouts))
        self.name = "MonteCarlo"
