"""Get Bit! as a `VecEnv` of Stable-Baselines3.

The learner sits in one seat of every game and the others are played by agents, in batch; nothing is copied from game to game
in Python. Masks come through `action_masks`, as sb3-contrib's `MaskablePPO` asks for them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from getbit_env.get_bit.observations import Options
from getbit_env.get_bit.variants import Reward, Variant, parse_variant
from getbit_env.loading import load_agent
from getbit_env.seat import SeatBatch, Table

Named = Table | str | Sequence["Named"]


class SeatVecEnv(VecEnv):
    """A batch of games of any kind as a `VecEnv`, with the learner in one seat of each; `GetBitVecEnv` is that of Get Bit!.

    Observations are `[num_envs, D]` float32 of zeros and ones (`layout`), actions `Discrete(A)`. An episode ends when the
    learner's fate is decided, in the middle of the game or at its end; the game then begins anew. Its last info holds
    `terminal_observation`, `TimeLimit.truncated`, and `episode` with `r` (sum of rewards), `l` (decisions of the learner), `t`
    (seconds since this object was made), `win` (1.0 or 0.0), `placement` (finishing place, 0 if there is none) and `table` (see
    `set_opponents`).

    Attributes:
        batch: the `SeatBatch` behind it.
        layout: what the entries of an observation mean.
    """

    def __init__(self, batch: SeatBatch) -> None:
        """Wrap a batch of games."""
        self.batch = batch
        self.layout = batch.engine.layout
        num_envs = batch.engine.size
        self._attributes: dict[str, list[Any]] = {"render_mode": [None] * num_envs}
        self._made = time.perf_counter()
        super().__init__(num_envs, spaces.Box(0, 1, (self.layout.size,), np.float32), spaces.Discrete(batch.variant.actions))

    def set_opponents(self, opponents: Named) -> list[int]:
        """Change the opponents; games that are going on are finished by those who began them.

        Args:
            opponents: as for the constructor.

        Returns:
            A number for each table, which the episodes that it plays bear.
        """
        return self.batch.set_tables(load_table(opponents))

    def action_masks(self) -> NDArray[np.bool_]:
        """What the learner may play: `[num_envs, A]`."""
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
        """Take the learner's actions, `[num_envs]`."""
        self._asked = np.asarray(actions)

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play a round: observations `[num_envs, D]`, rewards `[num_envs]`, dones `[num_envs]`, infos."""
        step = self.batch.step(self._asked)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        now = round(time.perf_counter() - self._made, 6)
        truncated = step.truncated[step.done].tolist()
        ended = zip(
            step.done.tolist(),
            truncated,
            step.total.tolist(),
            step.length.tolist(),
            step.finish.tolist(),
            step.table.tolist(),
            strict=True,
        )
        for k, (game, cut, total, length, finish, table) in enumerate(ended):
            infos[game] = {
                "terminal_observation": step.final_observation[k],
                "TimeLimit.truncated": cut,
                "episode": {"r": total, "l": length, "t": now, "win": float(finish == 1), "placement": finish, "table": table},
            }
        return self.batch.observation, step.reward, step.terminated | step.truncated, infos

    def close(self) -> None:
        """Nothing is held open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each game: `seat`, `action_masks`, what `set_attr` set, or an attribute of this object.

        Raises:
            AttributeError: there is none of that name.
        """
        games = list(self._get_indices(indices))
        if attr_name in self._attributes:
            return [self._attributes[attr_name][g] for g in games]
        if attr_name == "seat":
            return [int(self.batch.seat[g]) for g in games]
        if attr_name in ("max_cycles", "variant"):
            return [getattr(self.batch, attr_name) for _ in games]
        if attr_name in ("action_masks", "layout", "set_opponents"):
            return [getattr(self, attr_name) for _ in games]
        raise AttributeError(f"the games have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of each game. `seat` (None: drawn) holds from the next game on, `max_cycles` is one for all games.

        Raises:
            ValueError: there is no such seat, or `max_cycles` is set for some games only.
        """
        games = list(self._get_indices(indices))
        if attr_name == "seat":
            players = self.batch.variant.players
            if value is not None and not 0 <= value < players:
                raise ValueError(f"seat is 0 to {players - 1}, or None to draw it anew each game, not {value}")
            self.batch.fixed_seat[games] = -1 if value is None else value
        elif attr_name == "max_cycles":
            if len(games) != self.num_envs:
                raise ValueError("max_cycles is one for all games: set it without indices")
            self.batch.max_cycles = value
        else:
            values = self._attributes.setdefault(attr_name, [None] * self.num_envs)
            for g in games:
                values[g] = value

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """`action_masks` of each game, `[A]` bool; `set_opponents` is for all games at once.

        Raises:
            AttributeError: there is no such method.
        """
        if method_name == "action_masks":
            masks = self.action_masks()
            return list(masks) if indices is None else [masks[g] for g in self._get_indices(indices)]
        if method_name == "set_opponents":
            numbers = self.set_opponents(*method_args, **method_kwargs)
            return [numbers for _ in self._get_indices(indices)]
        raise AttributeError(f"the games have no method {method_name!r}; there are action_masks and set_opponents")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:  # noqa: ARG002 - SB3's signature
        """No game is wrapped in anything."""
        return [False for _ in self._get_indices(indices)]


class GetBitVecEnv(SeatVecEnv):
    """A batch of games of Get Bit!; all that it can do is said in `SeatVecEnv`. An episode's length is in rounds."""

    def __init__(
        self,
        num_envs: int,
        opponents: Named = "random",
        *,
        variant: Variant | str = "4p",
        seat: int | None = None,
        seed: int | None = None,
        reward: Reward | str = Reward.WIN,
        limb_reward: float = 0.0,
        observe_last: bool = False,
        identity: bool = False,
        history: bool = False,
        max_cycles: int | None = None,
    ) -> None:
        """Set the tables.

        Args:
            num_envs: games at a time.
            opponents: an agent (or its name, see `load_agent`) for all other seats; or a list of tables, each with an equal share
                of the games, a table being an agent for all other seats or a tuple of agents, one for each, from the seat
                after the learner's on.
            variant: the game, or its name.
            seat: the learner's, or None: drawn anew each game.
            seed: of lines, seats and agents; with one the same calls give the same bytes.
            reward: see `parallel_env`.
            limb_reward: see `parallel_env`.
            observe_last: see `parallel_env`.
            identity: see `parallel_env`.
            history: see `parallel_env`.
            max_cycles: rounds after which a game is cut off, or None.

        Raises:
            ValueError: an option is none of those that it may be.
        """
        variant = parse_variant(variant) if isinstance(variant, str) else variant
        batch = SeatBatch(
            variant,
            num_envs,
            load_table(opponents),
            seat=seat,
            seed=seed,
            options=Options(last=observe_last, identity=identity, history=history),
            reward=reward,
            limb_reward=limb_reward,
            max_cycles=max_cycles,
        )
        super().__init__(batch)


def load_table(opponents: Named) -> Any:
    """`opponents` with agents in place of names."""
    if isinstance(opponents, str):
        return load_agent(opponents)
    if isinstance(opponents, list | tuple):
        return type(opponents)(load_table(one) for one in opponents)
    return opponents
