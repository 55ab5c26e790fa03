"""A batch of games of any kind as a `VecEnv` of Stable-Baselines3.

The learner sits in one seat of every game and the others are played by agents, in batch; nothing is copied from game to game
in Python. Masks come through `action_masks`, as sb3-contrib's `MaskablePPO` asks for them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from getbit_env.core.environment import checked_max_cycles
from getbit_env.game_batch import RENDER_FPS, checked_render_mode
from getbit_env.single_agent import Opponents, SingleAgentBatch
from getbit_env.single_agent.batch import checked_seat


class SingleAgentVecEnv(VecEnv):
    """A batch of games as a `VecEnv`, with the learner in one seat of each; `GetBitVecEnv` is the one of Get Bit!.

    Observations are `[num_envs, D]` float32 of zeros and ones (`layout`), actions `Discrete(A)`. An episode ends when the
    learner's fate is decided, in the middle of the game or at its end; the game then begins anew. Its last info holds

    - `terminal_observation` and `TimeLimit.truncated`;
    - `episode` with `r` (sum of rewards), `l` (decisions of the learner) and `t` (seconds since this object was made);
    - `game` with `win` (1.0 or 0.0, or a share of 1.0 if the learner shares the first place), `placement` (finishing place, 0 if
      there is none), `length` (decisions of the learner) and
      `opponents` (the number that `set_opponents` or `set_opponent_groups` gave to those that played it). `VecMonitor` puts its own
      `episode` in place of that above, and leaves `game` alone.

    Attributes:
        batch: the `SingleAgentBatch` behind it.
        layout: what the entries of an observation mean.
    """

    layout: Any
    reset_infos: list[dict[str, Any]]

    def __init__(self, batch: SingleAgentBatch, *, render_mode: str | None = None) -> None:
        """Wrap a batch of games.

        Args:
            batch: the games.
            render_mode: None, or "rgb_array", so that `render` and `VecVideoRecorder` show the games.

        Raises:
            ValueError: there is no such mode, or nothing draws this game; or the games don't begin anew in the step that ends them.
        """
        if batch.autoreset_mode != AutoresetMode.SAME_STEP:
            raise ValueError(f"a VecEnv takes a batch whose autoreset_mode is 'SameStep', not {batch.autoreset_mode.value!r}")
        render_mode = checked_render_mode(render_mode, batch.game)
        self.batch = batch
        self.layout = batch.engine.layout
        num_envs = batch.engine.size
        self._attributes: dict[str, list[Any]] = {"render_mode": [render_mode] * num_envs}
        self._made = time.perf_counter()
        super().__init__(num_envs, spaces.Box(0, 1, (self.layout.size,), np.float32), spaces.Discrete(batch.variant.actions))
        self.metadata: dict[str, Any] = {**self.metadata, "render_fps": RENDER_FPS}

    def set_opponents(self, opponents: Opponents) -> int:
        """Change the opponents of all games; games that are going on are finished by those that began them.

        Args:
            opponents: as for the constructor.

        Returns:
            The number of these opponents in the infos of the games that they play.
        """
        return self.batch.set_opponents(opponents)

    def set_opponent_groups(self, opponent_groups: Sequence[Opponents]) -> list[int]:
        """`set_opponents` for several groups of opponents, each for an equal number of the games.

        Returns:
            A number for each group.
        """
        return self.batch.set_opponent_groups(opponent_groups)

    def action_masks(self) -> NDArray[np.bool_]:
        """What the learner may play: `[num_envs, A]`.

        Raises:
            RuntimeError: the games were not begun.
        """
        if not self.batch.begun:
            raise RuntimeError("call reset() before action_masks()")
        masks: NDArray[np.bool_] = self.batch.action_mask.astype(np.bool_)
        return masks

    def reset(self) -> NDArray[np.float32]:
        """Begin all games anew, with the seed of the last call of `seed` if there was one since the last reset."""
        self.batch.reset(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        seen: NDArray[np.float32] = self.batch.observation
        return seen

    def step_async(self, actions: NDArray[np.integer]) -> None:
        """Take the learner's actions, `[num_envs]` whole numbers."""
        self._asked = np.asarray(actions)

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play a round: observations `[num_envs, D]`, rewards `[num_envs]`, dones `[num_envs]`, infos.

        Raises:
            RuntimeError: the games were not begun.
            ValueError: an action is no whole number, or out of range.
        """
        step = self.batch.step(self._asked)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        now = round(time.perf_counter() - self._made, 6)
        truncated = step.truncated[step.done].tolist()
        ended = zip(
            step.done.tolist(),
            truncated,
            step.total.tolist(),
            step.length.tolist(),
            step.placement[step.done].tolist(),
            step.win.tolist(),
            step.group.tolist(),
            strict=True,
        )
        for k, (game, cut, total, length, placement, win, group) in enumerate(ended):
            infos[game] = {
                "terminal_observation": step.final_observation[k],
                "TimeLimit.truncated": cut,
                "episode": {"r": total, "l": length, "t": now},
                "game": {"win": win, "placement": placement, "length": length, "opponents": group},
            }
        return self.batch.observation, step.reward, step.terminated | step.truncated, infos

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """A reset takes no options.

        Raises:
            ValueError: there are some.
        """
        given = [options] if isinstance(options, dict) else options or []
        if any(given):
            raise ValueError(f"the games take no options of a reset, not {options!r:.200}; starts are drawn from the seed")

    def get_images(self) -> list[NDArray[np.uint8] | None]:
        """A picture of each game, `[H, W, 3]`; Stable-Baselines3's `render` puts them together. Meant for a few games at a time.

        Raises:
            RuntimeError: the games were not begun.
        """
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        return [*self.batch.pictures(range(self.num_envs))]

    def close(self) -> None:
        """Do nothing: the games hold no resources."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each game: `seat`, `opponents` (the number of those that play it now, as in `info["game"]`),
        `action_masks`, what `set_attr` set, or an attribute of this object.

        Raises:
            AttributeError: there is none of that name.
        """
        games = list(self._get_indices(indices))
        if attr_name in self._attributes:
            return [self._attributes[attr_name][g] for g in games]
        if attr_name in ("seat", "opponents"):
            of_games = self.batch.seat if attr_name == "seat" else self.batch.group
            return [int(of_games[g]) for g in games]
        if attr_name in ("max_cycles", "variant"):
            return [getattr(self.batch, attr_name) for _ in games]
        if attr_name in ("action_masks", "layout", "set_opponents", "set_opponent_groups"):
            return [getattr(self, attr_name) for _ in games]
        raise AttributeError(f"the games have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of each game. `seat` (None: drawn) holds from the next game on, `max_cycles` is one for all games.

        Raises:
            ValueError: there is no such seat, or `max_cycles` is set for some games only.
        """
        games = list(self._get_indices(indices))
        if attr_name == "seat":
            seat = checked_seat(value, self.batch.variant.players)
            self.batch.fixed_seat[games] = -1 if seat is None else seat
        elif attr_name == "max_cycles":
            if len(games) != self.num_envs:
                raise ValueError("max_cycles is one for all games: set it without indices")
            self.batch.max_cycles = None if value is None else checked_max_cycles(value)
        else:
            values = self._attributes.setdefault(attr_name, [None] * self.num_envs)
            for g in games:
                values[g] = value

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """`action_masks` of each game, `[A]` bool; `set_opponents` and `set_opponent_groups` are for all games at once.

        Raises:
            AttributeError: there is no such method.
        """
        if method_name == "action_masks":
            masks = self.action_masks()
            return list(masks) if indices is None else [masks[g] for g in self._get_indices(indices)]
        if method_name in ("set_opponents", "set_opponent_groups"):
            numbers = getattr(self, method_name)(*method_args, **method_kwargs)
            return [numbers for _ in self._get_indices(indices)]
        raise AttributeError(
            f"the games have no method {method_name!r}; there are action_masks, set_opponents and set_opponent_groups"
        )

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:  # noqa: ARG002 - SB3's signature
        """No game is wrapped in anything."""
        return [False for _ in self._get_indices(indices)]
