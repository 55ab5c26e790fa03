"""Perfect recall: who remembers all rounds of a memory game knows all hands, and both games are the same (G7.3).

`Recall` turns the observations of memory games, round by round, into those that the face-up game would show. `PerfectRecall` makes
any agent for the face-up game play the memory game, and `perfect_recall` makes a memory environment show its players the
face-up observation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.env import ParallelEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper

from getbit_env.core.agent import Agent, name_of
from getbit_env.core.choices import short
from getbit_env.core.compiled import kernel
from getbit_env.get_bit.observations import Layout, Options, View
from getbit_env.get_bit.variants import ID


class Recall:
    """Remembers the hands of B seats of memory games, one a row.

    Every observation of a game from its first round on must pass through `see`, in order. That a new game began is seen from
    its first round, in which all hands are whole.

    Attributes:
        layout: of the face-up observations that `see` returns, with the options of the memory layout.
    """

    def __init__(self, layout: Layout, rows: int) -> None:
        """Begin to remember.

        Args:
            layout: of the observations to come.
            rows: B.

        Raises:
            ValueError: it is not the layout of a memory game.
        """
        if not layout.variant.memory:
            raise ValueError(f"there is nothing to remember in {layout.variant}: its tables lie face up")
        self._view = layout.view
        self.layout = Layout(replace(layout.variant, memory=False), layout.options)
        self._hands = np.zeros((rows, layout.variant.robots), np.uint8)  # by seat from the viewer on and number

    def see(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """`[B, D]` of the memory game -> `[B, layout.size]` of the face-up game. Rows of zeros stay so."""
        face_up = np.zeros((observation.shape[0], self.layout.size), np.float32)
        _remember(self._view, self.layout.view, observation, self._hands, face_up)
        return face_up


@kernel
def _remember(
    view: View, shown: View, observation: NDArray[np.float32], hands: NDArray[np.uint8], face_up: NDArray[np.float32]
) -> None:
    """Bring `hands` up to date and write `face_up`, whose layout is `shown`."""
    deck = (1 << view.cards) - 1
    for b in range(observation.shape[0]):
        if observation[b, view.limb] == 0:
            continue
        first_opponent = -1
        for k in range(view.players * view.robots_per_player):
            at, to = k * view.block, k * shown.block
            if observation[b, at + view.limb] == 0:
                break
            seat = number = 0
            for s in range(view.players):
                seat += s * (observation[b, at + view.seat + s] != 0)
            if view.number >= 0:
                number = int(observation[b, at + view.number + 1] != 0)
            robot = seat * view.robots_per_player + number

            hand = 0
            if seat == 0:
                for c in range(view.cards):
                    hand |= int(observation[b, at + view.hand + c] != 0) << c
            elif observation[b, at + view.hand_size + view.cards - 1] != 0:
                hand = deck  # it has not played yet, or took its table back
            else:
                hand = int(hands[b, robot])
                for c in range(view.cards):
                    hand &= ~(int(observation[b, at + view.last + c] != 0) << c)
            hands[b, robot] = hand

            for i in range(view.limbs):
                face_up[b, to + shown.limb + i] = observation[b, at + view.limb + i]
            for c in range(view.cards):
                face_up[b, to + shown.hand + c] = (hand >> c) & 1
            if shown.seat >= 0:
                face_up[b, to + shown.seat + seat] = 1
                if shown.number >= 0:
                    face_up[b, to + shown.number + number] = 1
            elif seat == 0:
                face_up[b, to + shown.owner] = 1
            elif shown.owner_size == 3:
                first_opponent = seat if first_opponent < 0 else first_opponent
                face_up[b, to + shown.owner + (1 if seat == first_opponent else 2)] = 1
            if shown.last >= 0:
                for c in range(view.cards):
                    face_up[b, to + shown.last + c] = observation[b, at + view.last + c]
        face_up[b, shown.first_round] = observation[b, view.first_round]
        if shown.history >= 0:
            for i in range(view.size - view.history):
                face_up[b, shown.history + i] = observation[b, view.history + i]


class PerfectRecall:
    """An agent that shows another the face-up observation in memory games; face-up games it leaves to it.

    Attributes:
        agent: the agent within, which sees layouts of face-up games only.
        options: what the agent within wants to see (`getbit_env.core.agent`).
        deterministic: whether it uses no random numbers.
    """

    def __init__(self, agent: Agent) -> None:
        """Put an agent behind perfect recall.

        Raises:
            ValueError: it plays another game.
        """
        if getattr(agent, "game", ID) != ID:
            raise ValueError(f"agent {name_of(agent)!r} plays another game, and only Get Bit! has a memory game (G7.3)")
        self.agent = agent
        self.name = name_of(agent)
        self.game = ID
        self.options: Options = getattr(agent, "options", None) or Options()
        self.deterministic: bool = getattr(agent, "deterministic", False)
        self._recall: Recall | None = None

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""
        if not layout.variant.memory:
            self._recall = None
        elif seed is not None or self._recall is None:
            self._recall = Recall(layout, begins.size)
        self.agent.reset(layout if self._recall is None else self._recall.layout, begins, seed)

    def check_layout(self, layout: Layout) -> None:
        """See `getbit_env.core.agent.Agent`."""
        check = getattr(self.agent, "check_layout", None)
        if check is not None:
            check(Layout(replace(layout.variant, memory=False), layout.options))

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`."""
        return self.agent.act(observation if self._recall is None else self._recall.see(observation), action_mask)

    @property
    def probabilities(self) -> Callable[[NDArray[np.float32], NDArray[np.int8]], NDArray[np.float64]]:
        """Those of the agent within, in face-up games.

        Raises:
            AttributeError: in memory games what it plays is no function of one observation; or the agent within has none.
        """
        if self._recall is not None:
            raise AttributeError("what an agent with perfect recall plays in a memory game is no function of one observation")
        found: Callable[[NDArray[np.float32], NDArray[np.int8]], NDArray[np.float64]] = self.agent.probabilities  # type: ignore[attr-defined]  # optional
        return found


def remember(agent: Agent) -> PerfectRecall:
    """The agent with perfect recall; one that has it is returned as it is.

    Raises:
        ValueError: it plays another game.
    """
    return agent if isinstance(agent, PerfectRecall) else PerfectRecall(agent)


class PerfectRecallEnv(BaseParallelWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A memory environment that shows the face-up observation. Make it with `perfect_recall`."""

    def __init__(self, env: ParallelEnv) -> None:
        """See `perfect_recall`."""
        memory = getattr(env.unwrapped, "layout", None) if isinstance(env, ParallelEnv) else None
        if not isinstance(memory, Layout):
            raise TypeError(f"env is a parallel environment of Get Bit!, not {short(env)}")
        super().__init__(env)
        self._recalls = {agent: Recall(memory, 1) for agent in env.possible_agents}
        self.layout = self._recalls[env.possible_agents[0]].layout
        box = spaces.Box(0, 1, (self.layout.size,), np.float32)
        self._spaces = {
            agent: spaces.Dict({"observation": box, "action_mask": env.observation_space(agent)["action_mask"]})
            for agent in env.possible_agents
        }

    @property
    def max_cycles(self) -> int | None:
        """That of the environment within; may be written."""
        rounds: int | None = self.env.max_cycles
        return rounds

    @max_cycles.setter
    def max_cycles(self, rounds: int | None) -> None:
        self.env.max_cycles = rounds

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent, the same object at every call."""
        return self._spaces[agent]

    def restore(self, _snapshot: Mapping[str, Any]) -> None:
        """Refused: a restored game has rounds that the players did not see.

        Raises:
            ValueError: always.
        """
        raise ValueError("players with perfect recall must see every round: play the game again from the snapshot's actions")

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin a game."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._see(observations), infos

    def step(self, actions: Mapping[str, int]) -> tuple[Any, ...]:
        """Play a round."""
        observations, *rest = self.env.step(actions)
        return self._see(observations), *rest

    def _see(self, observations: dict[str, Any]) -> dict[str, Any]:
        return {
            agent: {"observation": self._recalls[agent].see(seen["observation"][None])[0], "action_mask": seen["action_mask"]}
            for agent, seen in observations.items()
        }


def perfect_recall(env: ParallelEnv) -> PerfectRecallEnv:
    """Let the players of a memory environment remember everything: they see what the face-up game would show.

    Args:
        env: from `parallel_env(memory=True, ...)`.

    Returns:
        The environment with other observations; its `layout` says what they mean.

    Raises:
        TypeError: `env` is no parallel environment of Get Bit!.
        ValueError: nothing is hidden in this environment.
    """
    return PerfectRecallEnv(env)
