"""What the PettingZoo environments of all games share: agents, spaces, and the cut-off of long games.

A call that fails changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from operator import index
from typing import Any, Self, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from getbit_env.core.choices import IllegalAction, choice, whole_number
from getbit_env.core.messages import shown
from getbit_env.core.rendering import Rendered

Observation = dict[str, NDArray[Any]]
T = TypeVar("T")


class GameEnv(Rendered):
    """The common part of `ParallelEnv`s and `AECEnv`s of games with masked actions.

    It never hands out its own lists and dicts: `agents`, `possible_agents` and `metadata` are copies.

    Attributes:
        variant: the game.
        layout: what the entries of an observation mean; `layout.table()` is its documentation.
        state_layout: the same for `state()`.
        max_cycles: after how many rounds or turns a game is cut off, or None; may be written at any time.
        render_mode: None, "ansi", "rgb_array" or "human".
    """

    variant: Any
    layout: Any
    state_layout: Any
    metadata: dict[str, Any]
    state_space: spaces.Box
    _played: list[Any] | None = None  # what was decided so far; None before the first reset

    def __init__(
        self,
        engine: Any,
        state_layout: Any,
        *,
        illegal_action: IllegalAction | str,
        max_cycles: int | None,
        render_mode: str | None,
    ) -> None:
        """Make what does not change from game to game.

        Args:
            engine: of a batch of one game.
            state_layout: of `state()`.
            illegal_action: what is done with an illegal action.
            max_cycles: see the class.
            render_mode: see the class.

        Raises:
            ValueError: an argument has a value that is not allowed.
        """
        super().__init__()
        self._engine = engine
        self.variant, self.layout, self.state_layout = engine.variant, engine.layout, state_layout
        self.metadata = copy.deepcopy(type(self).metadata)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode is None or one of {self.metadata['render_modes']}, not {shown(render_mode)}")
        self.render_mode = render_mode
        self.max_cycles = max_cycles
        self._refuse_illegal = choice(IllegalAction, "illegal_action", illegal_action) == IllegalAction.RAISE
        players, actions = self.variant.players, self.variant.actions
        self._names = [f"player_{p}" for p in range(players)]
        self._seats = {agent: p for p, agent in enumerate(self._names)}
        self._agents = self._names[:]
        self._limit = actions
        self._asked = engine.asked
        self.state_space = spaces.Box(0, 1, (state_layout.size,), np.float32)
        self._observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, (self.layout.size,), np.float32),
                    "action_mask": spaces.Box(0, 1, (actions,), np.int8),
                }
            )
            for agent in self._names
        }
        self._action_spaces = {agent: spaces.Discrete(actions) for agent in self._names}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.variant}: {self._where()}>"

    def _is_begun(self) -> bool:
        return self._played is not None

    def _where(self) -> str:
        """Where the game stands, in a few words."""
        if self._played is None:
            return "before the first reset()"
        steps = f"{len(self._played)} step{'s' * (len(self._played) != 1)}"
        ended = {agent for told in ("terminations", "truncations") for agent, is_so in getattr(self, told, {}).items() if is_so}
        live = [agent for agent in self._agents if agent not in ended]
        return f"{steps}, {', '.join(live)} play" if live else f"over after {steps}"

    @property
    def possible_agents(self) -> list[str]:
        """All agents, in order of their seats."""
        return self._names[:]

    @property
    def agents(self) -> list[str]:
        """The agents of the game in play. May be set to `[]`, which breaks the game off."""
        return self._agents[:]

    @agents.setter
    def agents(self, agents: Any) -> None:
        if list(agents) not in ([], self._agents):
            raise ValueError(f"agents may be set to [] alone, which breaks the game off, not to {shown(agents)}")
        self._agents = list(agents)

    @property
    def max_cycles(self) -> int | None:
        """After how many rounds or turns a game is cut off, or None; may be written at any time."""
        return self._max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self._max_cycles = None if value is None else checked_max_cycles(value)

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent, the same object at every call."""
        self._seat(agent)
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The action space of an agent, the same object at every call."""
        self._seat(agent)
        return self._action_spaces[agent]

    def state(self) -> NDArray[np.float32]:
        """The position for centralised critics, `state_layout.size` entries float32, as `player_0` would see it in that layout.

        Raises:
            RuntimeError: the environment was never reset.
        """
        self._check_begun("state")
        position: NDArray[np.float32] = self._engine.observe_as(self.state_layout)[0, 0]
        return position

    def check_action(self, agent: str, action: Any) -> int:
        """The action of a playing agent as a number.

        Raises:
            ValueError: it is out of range, or (with `illegal_action="raise"`) illegal.
            TypeError: it is not a whole number.
        """
        try:
            number = index(action)
        except TypeError:
            raise TypeError(f"{agent}: an action is a whole number, not {shown(action)}") from None
        if not 0 <= number < self._limit:
            raise ValueError(f"{agent}: action {shown(number)} is out of range, actions are 0..{self._limit - 1}")
        if self._refuse_illegal:
            mask = self._engine.action_mask[0, self._seats[agent]]
            if not mask[number]:
                raise ValueError(f"{agent}: action {number} is illegal, legal are {np.flatnonzero(mask).tolist()}")
        return number

    def _seat(self, agent: Any) -> int:
        seat = self._seats.get(agent) if isinstance(agent, str) else None
        if seat is None:
            raise ValueError(f"there is no agent {shown(agent)}; there are {', '.join(self._names)}")
        return seat

    def _check_begun(self, call: str) -> None:
        if self._played is None:
            raise RuntimeError(f"call reset() before {call}()")

    def _twin(self) -> Self:
        """A copy in which a game can be tried out. What does not change from game to game is shared, spaces for example."""
        shared = (self.variant, self.layout, self.state_layout, self.state_space, self._observation_spaces, self._action_spaces)
        return copy.deepcopy(self, {id(thing): thing for thing in shared})

    def _become(self, twin: Self) -> None:
        """Take over the state of a copy made by `_twin`."""
        canvas = self._canvas
        self.__dict__.clear()
        self.__dict__.update(twin.__dict__, _canvas=canvas)

    def _shown(self, change: Callable[[], T]) -> T:
        """Change the game and draw it in the window. If either fails (a window needs a display), nothing changes."""
        before = self._twin()
        try:
            result = change()
            self.render()
        except BaseException:
            self._become(before)
            raise
        return result


def checked_max_cycles(value: Any) -> int:
    """A number of rounds or turns after which a game is cut off.

    Raises:
        ValueError: it is no whole number of at least 1.
    """
    try:
        return whole_number("max_cycles", value, 1)
    except ValueError:
        raise ValueError(f"max_cycles is a whole number, at least 1, or None for no limit, not {shown(value)}") from None


class TurnBased:
    """The common part of `AECEnv`s whose `agents` can't be changed from outside."""

    _agents: list[str]
    agent_selection: str
    rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, dict[str, Any]]
    _cumulative_rewards: dict[str, float]
    _skip_agent_selection: str | None

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last step, terminated, truncated and info of `agent_selection`.

        Raises:
            RuntimeError: the environment was never reset, or the game is over.
        """
        self._check_playing("last")
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def observe(self, agent: str) -> Any:
        """What an agent sees now."""
        raise NotImplementedError

    def _check_begun(self, call: str) -> None:
        raise NotImplementedError

    def _check_playing(self, call: str) -> None:
        self._check_begun(call)
        if not self._agents:
            raise RuntimeError(f"the game is over: call reset() before {call}()")

    def _was_dead_step(self, action: Any) -> None:
        """Do as PettingZoo does, whose own method would remove the agent from `agents`, here a copy."""
        agent = self.agent_selection
        if action is not None:
            raise ValueError(f"{agent}: its game is over, so that its action is None, not {shown(action)}")
        for told in (self.rewards, self.terminations, self.truncations, self.infos, self._cumulative_rewards):
            told.pop(agent, None)
        self._agents = [other for other in self._agents if other != agent]
        ended = [other for other in self._agents if self.terminations.get(other) or self.truncations.get(other)]
        if ended:
            if self._skip_agent_selection is None:
                self._skip_agent_selection = agent
            self.agent_selection = ended[0]
        elif self._skip_agent_selection is not None:
            self.agent_selection, self._skip_agent_selection = self._skip_agent_selection, None
        self.rewards = dict.fromkeys(self.rewards, 0.0)


class OrderEnforcedEnv(OrderEnforcingWrapper[str, Observation, int]):  # type: ignore[misc]  # PettingZoo ships no types
    """PettingZoo's `OrderEnforcingWrapper` for environments that can be restored, and in which a failed call changes nothing."""

    def __repr__(self) -> str:
        return repr(self.env)

    def _repr_svg_(self) -> str | None:
        """What notebooks show."""
        shown: str | None = self.env._repr_svg_()
        return shown

    @property
    def max_cycles(self) -> int | None:
        """`max_cycles` of the wrapped environment; may be written at any time."""
        limit: int | None = self.env.max_cycles
        return limit

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self.env.max_cycles = value

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a game."""
        self.env.reset(seed=seed, options=options)
        self._has_reset = self._has_updated = True

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go to the position of a snapshot. It counts as a reset."""
        self.env.restore(snapshot)
        self._has_reset = self._has_updated = True

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`."""
        before = self._has_updated
        try:
            super().step(action)
        except BaseException:
            self._has_updated = before
            raise

    def __str__(self) -> str:
        return str(self.env)
