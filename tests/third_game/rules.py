"""The rules, for a batch of games in place. Letters of axes: G games, P players, C cards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.finish import rewards_of_finish


class Games(NamedTuple):
    """Positions."""

    hand: NDArray[np.bool_]  # [G, P, C] the cards that a player holds
    points: NDArray[np.int64]  # [G, P]
    prizes: NDArray[np.int64]  # [G, C] 0..C-1, in the order in which they are turned up
    rounds: NDArray[np.int64]  # [G] rounds played


class Outcome(NamedTuple):
    """What the last round did."""

    finish: NDArray[np.uint8]  # [P, G] finishing place of those whose game has just ended, else 0
    over: NDArray[np.uint8]  # [G] the game has just ended
    reward: NDArray[np.float32]  # [P, G]


def play_round(games: Games, bids: NDArray[np.int64], plays: NDArray[np.bool_], pays: NDArray[np.float64], out: Outcome) -> None:
    """Play legal bids `[G, P]` in the games that play, `[G]`."""
    for array in out:
        array[:] = 0
    g = np.flatnonzero(plays)
    bid, prize = bids[g], games.prizes[g, games.rounds[g]]
    games.hand[g[:, None], np.arange(bid.shape[1]), bid] = False
    highest = bid == bid.max(axis=1, keepdims=True)
    games.points[g] += highest * (highest.sum(axis=1) == 1)[:, None] * (prize + 1)[:, None]
    games.rounds[g] += 1
    ends = g[games.rounds[g] == games.prizes.shape[1]]
    points = games.points[ends]
    out.finish[:, ends] = (1 + (points[:, None, :] > points[:, :, None]).sum(axis=2)).T
    out.over[ends] = 1
    out.reward[:, ends] = rewards_of_finish(out.finish[:, ends], pays)
