"""What finishing places are worth: wins and rewards, also where players tie.

Axes: P players, G games. A finishing place is 1 for the winner; 0 says that a player has none, as where a game was cut off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def wins_of_finish(finish: NDArray[np.integer]) -> NDArray[np.float64]:
    """Who won, `[P, G]`: a game is one win, and players who tie for the first place share it equally.

    So the wins of a game add up to 1 if somebody came first, and to 0 if nobody has a place.

    Args:
        finish: `[P, G]`, finishing places.
    """
    first = finish == 1
    wins: NDArray[np.float64] = first / np.maximum(first.sum(axis=0), 1)
    return wins


def rewards_of_finish(finish: NDArray[np.integer], pays: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each player gets, `[P, G]`: players who tie share equally what the places that they fill pay.

    Two who tie for the first place fill the first and the second. So the rewards of a game add up to what all places pay together,
    which is 0 in the games of this package, whoever ties.

    Args:
        finish: `[P, G]`, finishing places.
        pays: `[P + 1]`, what each place pays if one player has it; entry 0 is for players without a place.
    """
    players = len(finish)
    tied = (finish[:, None] == finish[None]).sum(axis=1)
    shares = np.zeros((players + 1, players + 1))
    shares[0] = pays[0]
    for place in range(1, players + 1):
        for many in range(1, players + 1):
            filled = pays[place : place + many]
            shares[place, many] = pays[place] if (filled == pays[place]).all() else filled.mean()  # the first of these is exact
    rewards: NDArray[np.float64] = shares[finish, tied]
    return rewards
