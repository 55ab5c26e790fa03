"""All agents stay until the game ends, for libraries that stack the agents of a game into one array."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo.utils.env import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper

from getbit_env.core.messages import shown


class FixedPopulation(BaseParallelWrapper[Any, Any, Any]):  # type: ignore[misc]  # PettingZoo ships no types
    """A `ParallelEnv` whose dead agents stay until the game ends. Make it with `fixed_population`."""

    def __init__(self, env: ParallelEnv[Any, Any, Any], *, mask: str = "observation") -> None:
        """See `fixed_population`."""
        if isinstance(env, AECEnv):
            raise TypeError(f"env is a ParallelEnv, not the AEC environment {env}; pettingzoo.utils.aec_to_parallel converts it")
        if not isinstance(env, ParallelEnv):
            raise TypeError(f"env is a ParallelEnv, not {shown(env)}")
        if not hasattr(env, "possible_agents"):
            raise ValueError(f"{env} has no possible_agents, so nobody knows who its population is")
        if mask not in ("observation", "infos"):
            raise ValueError(f"mask is 'observation' or 'infos', not {shown(mask)}")
        super().__init__(env)
        self._vectors = mask == "infos"
        self._nothing = {}
        for agent in env.possible_agents:
            space = env.observation_space(agent)
            masked = isinstance(space, spaces.Dict) and {"observation", "action_mask"} <= space.keys()
            if self._vectors and not masked:
                raise ValueError(f"mask='infos', but the observation of {agent} holds no action_mask: {space}")
            try:
                self._nothing[agent] = _nothing(space)
            except ValueError as error:
                raise ValueError(f"{agent} can't stay with a zero observation: {error}") from None
        self._last_infos: dict[Any, dict[str, Any]] = {}

    @property
    def agents(self) -> list[Any]:
        """Everybody until the game ends, then nobody."""
        return list(self.env.possible_agents) if self.env.agents else []

    @property
    def max_cycles(self) -> Any:
        """`max_cycles` of the environment within; may be written at any time."""
        return self.env.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: Any) -> None:
        self.env.max_cycles = value

    def observation_space(self, agent: Any) -> spaces.Space[Any]:
        """The observation space of an agent, the same object at every call."""
        space: spaces.Space[Any] = self.env.observation_space(agent)
        return space["observation"] if self._vectors and isinstance(space, spaces.Dict) else space

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
        """Begin a game."""
        said = self.env.reset(seed=seed, options=options)
        self._last_infos = {}
        return self._fill(*said)

    def restore(self, snapshot: Mapping[str, Any]) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
        """Go to the position of a snapshot, if the environment within can.

        Returns:
            Observations and infos of all agents; nothing if the game is over.

        Raises:
            AttributeError: the environment within has no `restore`, or no `infos_of_ended` (the last infos of dead agents).
            ValueError: see the environment within.
        """
        for name in ("restore", "infos_of_ended"):
            if not hasattr(self.env, name):
                raise AttributeError(f"{self.env} has no {name}, so that a game in which some are dead can't be restored")
        said = self.env.restore(snapshot)
        self._last_infos = {}
        ended = self.env.infos_of_ended()
        self._fill({agent: self._nothing[agent] for agent in ended}, ended)
        return self._fill(*said) if self.agents else ({}, {})

    def step(
        self, actions: Mapping[Any, Any]
    ) -> tuple[dict[Any, Any], dict[Any, float], dict[Any, bool], dict[Any, bool], dict[Any, dict[str, Any]]]:
        """Play a step, as the environment within does. Actions of dead agents are ignored and may be missing.

        Raises:
            TypeError: `actions` is no dict. Other errors are those of the environment within.
        """
        if not isinstance(actions, Mapping):
            raise TypeError(f"actions is a dict with an action for each agent, not {shown(actions)}")
        playing = list(self.env.agents)
        heeded = {agent: action for agent, action in actions.items() if agent in playing or agent not in self._nothing}
        observations, rewards, terminations, _, infos = self.env.step(heeded)
        if not playing:
            return {}, {}, {}, {}, {}
        over = not self.env.agents
        cut_off = over and not all(terminations[agent] for agent in playing)
        decided = {agent: agent not in playing or terminations[agent] for agent in self._nothing}
        observations, infos = self._fill(observations, infos)
        return (
            observations,
            {agent: rewards.get(agent, 0.0) for agent in self._nothing},
            {agent: over and (decided[agent] or not cut_off) for agent in self._nothing},
            dict.fromkeys(self._nothing, cut_off),
            infos,
        )

    def _fill(self, observations: Mapping[Any, Any], infos: Mapping[Any, Any]) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
        """Add the dead agents, and put the masks where they belong."""
        seen, told = {}, {}
        for agent, nothing in self._nothing.items():
            seen[agent] = observations[agent] if agent in observations else copy.deepcopy(nothing)
            info = dict(infos[agent]) if agent in infos else copy.deepcopy(self._last_infos.get(agent, {}))
            if isinstance(nothing, dict) and "action_mask" in nothing:
                info.pop("action_mask", None)
            elif agent not in infos and "action_mask" in info:
                info["action_mask"] = np.ones_like(info["action_mask"])
            if self._vectors:
                info["action_mask"] = seen[agent]["action_mask"]
                seen[agent] = seen[agent]["observation"]
            told[agent] = info | {"alive": agent in self.env.agents}
            if agent in infos and agent not in self.env.agents:
                self._last_infos[agent] = copy.deepcopy(told[agent])
        return seen, told


def fixed_population(env: ParallelEnv[Any, Any, Any], *, mask: str = "observation") -> FixedPopulation:
    """Keep the dead agents of a `ParallelEnv` until the game ends.

    | of a dead agent | value |
    | --- | --- |
    | observation | zero, but its `action_mask` is all ones: it has nothing to choose, and an empty mask is no distribution |
    | reward | 0 |
    | termination, truncation | False until the game ends |
    | info | its last one, with `alive` False |
    | action | ignored; it may be missing |

    The step in which an agent dies still brings its last observation and reward. `infos[agent]["alive"]` says of everybody
    whether the next action counts, so a transition counts if `alive` was True before it. At the end all agents end alike: all
    are terminated; or, if the game was cut off, all are truncated, and those whose fate was decided are terminated as well.
    Infos have the same keys throughout if those of the environment do.

    All else, `state` and spaces included, is that of the environment within.

    Args:
        env: an environment whose agents may die, but not be born.
        mask: where the masks in observations go. "observation" leaves them there (and nowhere else, since TorchRL breaks on a
            mask that comes twice). "infos" moves them to `infos[agent]["action_mask"]`, for libraries that feed whole observations
            to a network.

    Returns:
        The wrapped environment.

    Raises:
        TypeError: `env` is no `ParallelEnv`.
        ValueError: the environment does not say who its possible agents are, `mask` is unknown, there is no mask to move, or an
            observation space holds no zero.
    """
    return FixedPopulation(env, mask=mask)


def _nothing(space: spaces.Space[Any]) -> Any:
    """The zero of a space, with a mask of ones."""
    if isinstance(space, spaces.Dict):
        return {
            key: np.ones(inner.shape or (), inner.dtype) if key == "action_mask" else _nothing(inner)
            for key, inner in space.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(_nothing(inner) for inner in space)
    zero = None if space.shape is None else np.zeros(space.shape, space.dtype)[()]
    if zero is None or zero not in space:
        raise ValueError(f"{space} holds no zero")
    return zero
