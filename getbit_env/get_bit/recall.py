"""Perfect recall: remembering every round of a memory game shows all hands, as the face-up game does (G7.3).

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

from getbit_env.core.agent import Agent, SeatPlayer, described, name_of
from getbit_env.core.compiled import kernel
from getbit_env.core.environment import Observation
from getbit_env.core.messages import shown
from getbit_env.core.scripted_bot import check_game
from getbit_env.get_bit.observations import (
    Layout,
    Options,
    View,
    read_hand,
    read_last,
    read_number,
    read_seat,
    reads_full_hand,
    reads_in_line,
)
from getbit_env.get_bit.variants import ID


class Recall:
    """Remembers the hands of B seats of memory games, one a row.

    Every observation of a game from its first round on must pass through `see`, in order. That a new game began is seen from
    its first round, in which all hands are whole.

    Attributes:
        layout: of the face-up observations that `see` returns, with the options of the memory layout.
    """

    layout: Layout

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
        self._memory = layout
        self.layout = Layout(replace(layout.variant, memory=False), layout.options)
        self._copied = _entries_of_both(layout, self.layout)
        self._hands = np.zeros((rows, layout.variant.robots), np.uint8)  # by seat from the viewer on and number

    def see(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """`[B, D]` of the memory game -> `[B, layout.size]` of the face-up game. Rows of zeros stay so.

        Raises:
            ValueError: these are not B observations of the memory game.
        """
        rows = len(self._hands)
        if observation.shape != (rows, self._memory.size):
            raise ValueError(
                f"perfect recall got observations {observation.shape}; {rows} of {self._memory.variant} are "
                f"({rows}, {self._memory.size})"
            )
        face_up = np.zeros((rows, self.layout.size), np.float32)
        _remember(self._memory.view, self.layout.view, self._copied, observation, self._hands, face_up)
        return face_up


def _entries_of_both(memory: Layout, face_up: Layout) -> NDArray[np.int64]:
    """`[2, N]`: entries of the one layout and of the other that say the same. A hand is hidden in one of them."""
    entries = np.arange(memory.size), np.arange(face_up.size)
    pairs = [
        [layout.field(numbers, name).ravel() for layout, numbers in zip((memory, face_up), entries, strict=True)]
        for name in [*memory.block_fields, *memory.game_fields]
        if name in {**face_up.block_fields, **face_up.game_fields} and name != "hand"
    ]
    return np.concatenate(pairs, axis=1)


@kernel
def _remember(
    view: View,
    shown: View,
    copied: NDArray[np.int64],
    observation: NDArray[np.float32],
    hands: NDArray[np.uint8],
    face_up: NDArray[np.float32],
) -> None:
    """Bring `hands` up to date and write `face_up`, whose layout is `shown`; `copied`, `[2, N]`, are entries that both have."""
    deck = (1 << view.cards) - 1
    for b in range(observation.shape[0]):
        if not reads_in_line(view, observation, b, 0):
            continue
        for i in range(copied.shape[1]):
            face_up[b, copied[1, i]] = observation[b, copied[0, i]]
        first_opponent = -1
        for k in range(view.players * view.robots_per_player):
            if not reads_in_line(view, observation, b, k):
                break
            seat = read_seat(view, observation, b, k)
            robot = seat * view.robots_per_player + read_number(view, observation, b, k)
            if seat == 0:
                hand = read_hand(view, observation, b, k)
            elif reads_full_hand(view, observation, b, k):
                hand = deck
            else:
                hand = int(hands[b, robot]) & ~read_last(view, observation, b, k)
            hands[b, robot] = hand
            at = k * shown.block
            for c in range(view.cards):
                face_up[b, at + shown.hand + c] = (hand >> c) & 1
            if seat == 0 and shown.owner >= 0:
                face_up[b, at + shown.owner] = 1
            elif shown.owner_size == 3:
                first_opponent = seat if first_opponent < 0 else first_opponent
                face_up[b, at + shown.owner + (1 if seat == first_opponent else 2)] = 1


class PerfectRecall(SeatPlayer):
    """An agent that shows another the face-up observation in memory games; face-up games it leaves to it.

    Attributes:
        agent: the agent within, which sees layouts of face-up games only.
        options: what the agent within wants to see (`getbit_env.core.agent`).
        deterministic: whether it uses no random numbers.

    Examples:
        >>> from getbit_env.get_bit.bots import Forgetful
        >>> from getbit_env.get_bit.recall import PerfectRecall
        >>> from getbit_env.match import play_match
        >>> agent = PerfectRecall(Forgetful())
        >>> print(play_match([agent, "forgetful", "random", "random"], "4p-memory", starts=24).failure)
        None
    """

    name: str

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

    def __repr__(self) -> str:
        return described(self)

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: it plays another game.
        """
        check_game(self, layout)
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

    def options_for(self, variant: Any) -> Options:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the agent within can't play the face-up game.
        """
        if not hasattr(self.agent, "options_for") or variant.game != self.game:
            return self.options
        wanted: Options | None = self.agent.options_for(replace(variant, memory=False))
        return wanted or Options()

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


def remember(agent: Agent, _name: str = "") -> PerfectRecall:
    """The agent, of whatever name, with perfect recall; one that has it is returned as it is.

    Raises:
        ValueError: it plays another game.
    """
    return agent if isinstance(agent, PerfectRecall) else PerfectRecall(agent)


class PerfectRecallEnv(BaseParallelWrapper[str, Observation, int]):  # type: ignore[misc]  # PettingZoo ships no types
    """A memory environment that shows the face-up observation. Make it with `perfect_recall`."""

    layout: Layout

    def __init__(self, env: ParallelEnv[str, Observation, int]) -> None:
        """See `perfect_recall`."""
        memory = getattr(env.unwrapped, "layout", None) if isinstance(env, ParallelEnv) else None
        if not isinstance(memory, Layout):
            raise TypeError(f"env is a parallel environment of Get Bit!, not {shown(env)}")
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


def perfect_recall(env: ParallelEnv[str, Observation, int]) -> PerfectRecallEnv:
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
