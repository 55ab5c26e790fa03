"""The games in Ray RLlib: `RLlibGameEnv`, a `MultiAgentEnv`, and `MaskedPPOModule`, an RLModule that plays legal actions alone.

Importing this module imports Ray and torch (extra `ray`). Both classes are for RLlib's new API stack.

Example:
    >>> from ray.rllib.algorithms.ppo import PPOConfig
    >>> from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    >>> config = (
    ...     PPOConfig()
    ...     .environment(RLlibGameEnv, env_config={"variant": "4p"})
    ...     .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
    ...     .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedPPOModule))
    ... )
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.utils.torch_utils import FLOAT_MIN

from getbit_env.core.spec import Dynamics
from getbit_env.game_registry import find_variant, game_of
from getbit_env.network import Layers

OBSERVATIONS, MASK = "observations", "action_mask"  # the names that RLlib's own examples of masks use
Seen = dict[str, NDArray[np.float32]]
# Observations, rewards, terminated, truncated and infos, by agent.
Stepped = tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]
_LINEAR = re.compile(r"(?:encoder\.actor_encoder|pi)\..*\.(\d+)\.(weight|bias)")


class RLlibGameEnv(MultiAgentEnv):  # type: ignore[misc]  # Ray's classes are untyped
    """A game for RLlib. Every seat is an agent, named as in the PettingZoo environment.

    What an agent observes is a dict of `observations` and `action_mask`, two boxes of float32 in 0..1. In Get Bit! all players in
    the game act at each step. In a game of turns the player to act alone observes, and every player's reward comes with the step
    that earned it. A player that is out has ended; `__all__` ends with the game.

    Attributes:
        env: the PettingZoo environment within.
        layout: what the entries of an observation mean.
        possible_agents: every seat.
        agents: the seats that are in the game.
        observation_spaces, action_spaces: of each seat.
    """

    env: Any
    layout: Any
    possible_agents: list[str]
    agents: list[str]
    observation_spaces: dict[str, spaces.Space[Any]]
    action_spaces: dict[str, spaces.Space[Any]]

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        """Make the environment.

        Args:
            config: `variant`, by default "4p", and options of the game's PettingZoo environment, such as `reward` and
                `max_cycles`.

        Raises:
            ValueError: there is no such variant, or an option has a value that is not allowed.
            TypeError: there is no option of that name.
        """
        super().__init__()
        options = dict(config or {})
        variant = find_variant(options.pop("variant", "4p"))
        game = game_of(variant)
        self.env = game.make_env(variant=variant, **options)
        self.layout = self.env.layout
        self._in_turn = game.dynamics is not Dynamics.SIMULTANEOUS
        self.possible_agents = self.env.possible_agents
        self.agents = list(self.possible_agents)
        sees = spaces.Dict(
            {
                OBSERVATIONS: spaces.Box(0, 1, (self.layout.size,), np.float32),
                MASK: spaces.Box(0, 1, (variant.actions,), np.float32),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, sees)
        self.action_spaces = {agent: spaces.Discrete(variant.actions) for agent in self.possible_agents}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begin a game; see `MultiAgentEnv.reset`."""
        if self._in_turn:
            self.env.reset(seed=seed, options=options)
            self.agents = self.env.agents
            return {self.env.agent_selection: self._see(self.env.agent_selection)}, {}
        observations, _ = self.env.reset(seed=seed, options=options)
        self.agents = self.env.agents
        return {agent: _boxes(observation) for agent, observation in observations.items()}, {}

    def step(self, action_dict: Mapping[str, int]) -> Stepped:
        """Play a round, or the action of the player to act; see `MultiAgentEnv.step`."""
        if self._in_turn:
            return self._take_turn(action_dict)
        observations, rewards, terminated, truncated, _ = self.env.step({a: int(action) for a, action in action_dict.items()})
        seen = {agent: _boxes(observation) for agent, observation in observations.items()}
        self.agents = self.env.agents
        return seen, dict(rewards), *self._ends(dict(terminated), dict(truncated)), {}

    def render(self) -> Any:
        """See `MultiAgentEnv.render`."""
        return self.env.render()

    def close(self) -> None:
        """See `MultiAgentEnv.close`."""
        self.env.close()

    def _take_turn(self, actions: Mapping[str, int]) -> Stepped:
        env = self.env
        before = list(env.agents)
        env.step(int(actions[env.agent_selection]))
        rewards = {agent: float(env.rewards[agent]) for agent in before}
        terminated, truncated = ({agent: bool(ends[agent]) for agent in before} for ends in (env.terminations, env.truncations))
        ended = [agent for agent in before if terminated[agent] or truncated[agent]]
        seen = {agent: self._see(agent) for agent in ended}
        while env.agents and env.agent_selection in ended:
            env.step(None)
        self.agents = list(env.agents)
        if env.agents:
            seen[env.agent_selection] = self._see(env.agent_selection)
        return seen, rewards, *self._ends(terminated, truncated), {}

    def _see(self, agent: str) -> Seen:
        return _boxes(self.env.observe(agent))

    def _ends(self, terminated: dict[str, bool], truncated: dict[str, bool]) -> tuple[dict[str, bool], dict[str, bool]]:
        """The same with `__all__`."""
        over, cut = not self.agents, any(truncated.values())
        return {**terminated, "__all__": over and not cut}, {**truncated, "__all__": over and cut}


def _boxes(observation: Mapping[str, NDArray[Any]]) -> Seen:
    """An observation of PettingZoo as RLlib takes it."""
    return {OBSERVATIONS: observation["observation"].astype(np.float32), MASK: observation["action_mask"].astype(np.float32)}


class MaskedPPOModule(DefaultPPOTorchRLModule):  # type: ignore[misc]  # Ray's classes are untyped
    """RLlib's PPO network over `observations`, whose illegal actions have no probability.

    The network is that of `DefaultModelConfig`. `network_layers` reads it if its layers are of tanh and the value has its own.

    Attributes:
        observation_space: what it is shown, mask included.
    """

    observation_space: spaces.Space[Any]

    def __init__(self, *, observation_space: Any = None, **options: Any) -> None:
        """Make the network for the part of an observation that it reads.

        Raises:
            ValueError: observations have no mask.
        """
        if not isinstance(observation_space, spaces.Dict) or not {OBSERVATIONS, MASK} <= set(observation_space.spaces):
            raise ValueError(
                f"observations are a Dict of {OBSERVATIONS} and {MASK}, as RLlibGameEnv gives, not {observation_space}"
            )
        self._whole_space = observation_space
        super().__init__(observation_space=observation_space[OBSERVATIONS], **options)

    def setup(self) -> None:
        """See `RLModule.setup`."""
        super().setup()
        self.observation_space = self._whole_space

    def _forward(self, batch: dict[str, Any], **options: Any) -> dict[str, Any]:
        return _masked(super()._forward(_read(batch), **options), batch)

    def _forward_train(self, batch: dict[str, Any], **options: Any) -> dict[str, Any]:
        return _masked(super()._forward_train(_read(batch), **options), batch)

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """See `ValueFunctionAPI.compute_values`."""
        return super().compute_values(_read(batch), embeddings)


def _read(batch: dict[str, Any]) -> dict[str, Any]:
    """A batch as the network takes it."""
    return {**batch, Columns.OBS: batch[Columns.OBS][OBSERVATIONS]}


def _masked(out: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
    """What the network says, without illegal actions."""
    legal = batch[Columns.OBS][MASK] > 0
    return {**out, Columns.ACTION_DIST_INPUTS: out[Columns.ACTION_DIST_INPUTS].masked_fill(~legal, FLOAT_MIN)}


def network_layers(state: Mapping[str, Any]) -> Layers:
    """The layers of a `MaskedPPOModule`'s policy, as `getbit_env.network.NetworkAgent` takes them.

    Args:
        state: of the module, such as `algorithm.get_module(NAME).get_state()` or `algorithm.get_weights([NAME])[NAME]` gives.

    Raises:
        ValueError: it is not the state of a network of linear layers with a bias each.
    """
    found: dict[tuple[bool, int], dict[str, NDArray[np.float32]]] = {}
    for name, value in state.items():
        if match := _LINEAR.fullmatch(name):
            layer = found.setdefault((name.startswith("pi."), int(match[1])), {})
            layer[match[2]] = np.asarray(value, np.float32)
    if not found or any(layer.keys() != {"weight", "bias"} for layer in found.values()):
        raise ValueError(f"these are no weights of linear layers with a bias each: {', '.join(sorted(state))}")
    return [(found[place]["weight"], found[place]["bias"]) for place in sorted(found)]
