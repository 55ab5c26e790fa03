"""What plays: the protocol of an agent, batched and seeded."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Agent(Protocol):
    """Plays B seats at once, one a row, knowing nothing but what it is given here.

    A row is one seat of one game after another: row `b` is the same seat of the same table until `reset` says that its next game
    begins. A row whose player has nothing to choose is all zero with a mask of ones, and what is played for it is ignored.

    An agent whose choice depends on nothing but its two arguments can also have

        def probabilities(self, observation, action_mask) -> float64 [B, A]

    a pure function, each row a distribution over legal actions, the one that `act` draws from. It is what exact best responses
    are computed against. Matches (`getbit_env.match`) also look for two attributes: `deterministic = True` says that an agent
    uses no random numbers, and `options` (`observations.Options`) what it wants to see beyond the default.
    """

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """Some games begin.

        Args:
            layout: what the columns of observations mean, a `Layout` of the game that is played; `layout.variant` is its variant.
            begins: `[B]`, the rows whose next observation is the first of a game.
            seed: given once, before anything else, when all rows begin and the agent forgets what it knew; later None.
        """

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose.

        Args:
            observation: `[B, D]`, zeros and ones.
            action_mask: `[B, A]`, 1 = legal.

        Returns:
            `[B]`, a legal action a row.
        """
