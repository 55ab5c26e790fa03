"""What Gymnasium environments share in which the learner has one seat and agents have the others, whichever the game."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from getbit_env.agent import Agent
from getbit_env.loading import load_agent


class OneSeat(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A table around a learner; what a step is, each game says.

    Attributes:
        game: the PettingZoo environment behind it.
        layout: of the observations.
        seat: the learner's in this game.
    """

    seat: int

    def __init__(
        self,
        game: Any,
        opponents: str | Agent | Sequence[str | Agent],
        seat: int | None,
        render_mode: str | None,
        *,
        together: bool,
    ) -> None:
        """Set the table.

        Args:
            game: the environment.
            opponents: an agent, or its name (`load_agent`), for all other seats; or one for each, from the next seat on.
            seat: the learner's, or None: drawn anew each game.
            render_mode: of the environment.
            together: one agent for all other seats is asked for all of them at once, instead of a copy in each.

        Raises:
            ValueError: there is no such seat, or the opponents are too few or too many.
        """
        self.game, self.layout, self.render_mode = game, game.layout, render_mode
        others = game.variant.players - 1
        if seat is not None and not 0 <= seat <= others:
            raise ValueError(f"seat is 0 to {others}, or None to draw it anew each game, not {seat}")
        if isinstance(opponents, str | Agent):
            self._rows = [slice(0, others)] if together else [slice(k, k + 1) for k in range(others)]
            listed: list[str | Agent] = [opponents] * len(self._rows)
        else:
            self._rows, listed = [slice(k, k + 1) for k in range(others)], list(opponents)
        if len(listed) != len(self._rows):
            raise ValueError(f"there are {others} other seats, but {len(listed)} opponents")
        self._opponents = [load_agent(one) if isinstance(one, str) else copy.deepcopy(one) for one in listed]
        self._seat = seat
        self._seeded = False
        self._over = True
        self.observation_space = spaces.Box(0, 1, (self.layout.size,), np.float32)
        self.action_space = spaces.Discrete(game.variant.actions)

    def _sit_down(self, seed: int | None) -> int | None:
        """Draw seeds and the learner's seat, make the others ready; returns the seed of the game, None to go on with its stream."""
        super().reset(seed=seed)
        drawn: list[Any] = [None] * (1 + len(self._opponents))
        if seed is not None or not self._seeded:
            self._seeded = True
            drawn = self.np_random.integers(2**62, size=len(drawn)).tolist()
        self.seat = int(self.np_random.integers(self.game.variant.players)) if self._seat is None else self._seat
        for agent, rows, its_seed in zip(self._opponents, self._rows, drawn[1:], strict=True):
            agent.reset(self.layout, np.ones(rows.stop - rows.start, np.bool_), its_seed)
        own: int | None = drawn[0]
        return own

    def _check_begun(self) -> None:
        if self._over:
            raise RuntimeError("the game is over, or was not begun: call reset()")

    def render(self) -> Any:
        """See the environment behind it."""
        return self.game.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.game.close()
