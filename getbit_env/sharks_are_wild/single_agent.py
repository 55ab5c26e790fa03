"""Sharks are Wild as a Gymnasium environment: the learner in one seat, agents in the others.

For algorithms that know nothing of several agents, or of masks: an illegal action is replaced by the lowest legal one. For many
games at a time `getbit_env.sharks_are_wild.sb3.SharksAreWildVecEnv` is far faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent import Agent
from getbit_env.one_seat import OneSeat
from getbit_env.sharks_are_wild.environment import SharksAreWildEnv, raw_env


class SharksAreWildSeatEnv(OneSeat):
    """One seat of `raw_env`: `gymnasium.make("getbit_env:getbit/SharksAreWild-v0", opponents="sharks-greedy", players=2, level=2)`.

    A step goes from a decision of the learner to its next one, or to the end of the game; its reward is the sum of what came in
    between. Observations are the vector of `raw_env`, `[D]` float32. What is legal is `info["action_mask"]`, int8 `[A]`, and
    `action_masks()`, bool `[A]`.

    Attributes:
        game: the `SharksAreWildEnv` behind it.
        seat: the learner's in this game.
    """

    metadata: dict[str, Any] = SharksAreWildEnv.metadata

    def __init__(
        self,
        opponents: str | Agent | Sequence[str | Agent] = "sharks-random",
        *,
        seat: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Set the table.

        Args:
            opponents: an agent, or its name (`load_agent`), for all other seats; or one for each, from the next seat on.
            seat: the learner's, or None: drawn anew each game.
            render_mode: see `raw_env`.
            **options: of `raw_env`.

        Raises:
            ValueError: there is no such seat, or the opponents are too few or too many.
        """
        super().__init__(raw_env(render_mode=render_mode, **options), opponents, seat, render_mode, together=False)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a game; `options` are those of `raw_env`'s reset. The others play until the learner has something to decide."""
        self.game.reset(seed=self._sit_down(seed), options=options)
        while not self._play_on():  # a game that was lost before there was anything to decide is none
            self.game.reset()
        return self._own()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide, and let the others play until the next own decision.

        Raises:
            RuntimeError: the game is over, or was not begun.
        """
        self._check_begun()
        self.game.step(action)
        me = f"player_{self.seat}"
        replaced = self.game.infos[me]["illegal_action"]
        self._play_on()
        observation, info = self._own()
        info["illegal_action"] = replaced
        return observation, self.game.rewards[me], self.game.terminations[me], self.game.truncations[me], info

    def action_masks(self) -> NDArray[np.bool_]:
        """What the learner may do, `[A]`; all ones when the game is over."""
        mask: NDArray[np.int8] = self.game.observe(f"player_{self.seat}")["action_mask"]
        return mask.astype(np.bool_)

    def _play_on(self) -> bool:
        """The others play until the learner decides, or the game is over; says whether it is not. Rewards come at its end only."""
        game, players, me = self.game, self.game.variant.players, f"player_{self.seat}"
        while not game.terminations[me] and not game.truncations[me] and game.agent_selection != me:
            seen = game.observe(game.agent_selection)
            agent = self._opponents[(int(game.agent_selection.removeprefix("player_")) - self.seat) % players - 1]
            game.step(int(agent.act(seen["observation"][None], seen["action_mask"][None])[0]))
        self._over = game.terminations[me] or game.truncations[me]
        return not self._over

    def _own(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        me = f"player_{self.seat}"
        return self.game.observe(me)["observation"], {**self.game.infos[me], "seat": self.seat}
