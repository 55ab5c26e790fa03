"""Get Bit! as a Gymnasium environment: the learner in one seat, agents in the others.

For algorithms that know nothing of several agents, or of masks: an illegal card is replaced by the lowest legal one. For many games
at a time `getbit_env.sb3.GetBitVecEnv` is far faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent import Agent
from getbit_env.get_bit.environment import GetBitParallelEnv, parallel_env
from getbit_env.one_seat import OneSeat


class GetBitEnv(OneSeat):
    """One seat of `parallel_env`. Make it with `gymnasium.make("getbit_env:getbit/GetBit-v0", opponents="random", players=4)`.

    Observations are the vector of `parallel_env`, `[D]` float32; actions and rewards are the same too. The mask of legal actions is
    `info["action_mask"]`, int8 `[A]`, and `action_masks()`, bool `[A]`. The episode ends when the learner's fate is decided.

    Attributes:
        game: the `GetBitParallelEnv` behind it.
        seat: the learner's in this game.
    """

    metadata: dict[str, Any] = GetBitParallelEnv.metadata

    def __init__(
        self,
        opponents: str | Agent | Sequence[str | Agent] = "random",
        *,
        seat: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Set the table.

        Args:
            opponents: an agent, or its name (`load_agent`), for all other seats; or one for each, from the next seat on.
            seat: the learner's, or None: drawn anew each game.
            render_mode: see `parallel_env`.
            **options: of `parallel_env`.

        Raises:
            ValueError: there is no such seat, or the opponents are too few or too many.
        """
        super().__init__(parallel_env(render_mode=render_mode, **options), opponents, seat, render_mode, together=True)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a game; `options` are those of `parallel_env`'s reset."""
        drawn, players = self._sit_down(seed), self.game.variant.players
        self._others = [f"player_{(self.seat + k) % players}" for k in range(1, players)]
        self._seen, infos = self.game.reset(seed=drawn, options=options)
        self._over = False
        return self._own(infos)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play a round.

        Raises:
            RuntimeError: the game is over, or was not begun.
        """
        self._check_begun()
        actions = {f"player_{self.seat}": action}
        for agent, rows in zip(self._opponents, self._rows, strict=True):
            names = self._others[rows]
            seen = np.zeros((len(names), self.layout.size), np.float32)
            masks = np.ones((len(names), self.game.variant.actions), np.int8)
            for row, name in enumerate(names):
                if name in self.game.agents:
                    seen[row], masks[row] = self._seen[name]["observation"], self._seen[name]["action_mask"]
            chosen = agent.act(seen, masks)
            actions |= {name: chosen[row] for row, name in enumerate(names) if name in self.game.agents}
        self._seen, rewards, terminations, truncations, infos = self.game.step(actions)
        me = f"player_{self.seat}"
        self._over = terminations[me] or truncations[me]
        observation, info = self._own(infos)
        return observation, rewards[me], terminations[me], truncations[me], info

    def action_masks(self) -> NDArray[np.bool_]:
        """What the learner may play, `[A]`; all ones when its fate is decided."""
        mask: NDArray[np.int8] = self._seen[f"player_{self.seat}"]["action_mask"]
        return mask.astype(np.bool_)

    def _own(self, infos: dict[str, dict[str, Any]]) -> tuple[NDArray[np.float32], dict[str, Any]]:
        me = f"player_{self.seat}"
        return self._seen[me]["observation"].copy(), {**infos[me], "seat": self.seat}
