"""Bots of OpenSpiel as agents of this package, and agents of this package as bots and policies of OpenSpiel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python import policy as policies

from getbit_env.agent_registry import check_agents
from getbit_env.core.agent import Agent, SeatPlayer, name_of
from getbit_env.core.messages import shown
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import ID
from getbit_env.openspiel.game import GetBitGame, GetBitState, game_of_variant
from getbit_env.policies import as_agent

MakeBot = Callable[[Any, int, int], Any]


class OpenSpielAgent(SeatPlayer):
    """A bot of OpenSpiel as an agent, for matches, tournaments and environments.

    The agent builds the bot's state from what it sees. There its own seat is player 0, the next seat player 1, and so on; of two
    robots the first is the one nearer the front of the starting line. The rules treat all seats alike, so this is the same game.
    In memory games the bot has perfect recall, as OpenSpiel's states have.

    Attributes:
        name: what results call it.
        deterministic: whether the bot uses no random numbers.
    """

    game = ID
    options: Options = Options(observe_last=True, identity=True, history=True)
    name: str
    deterministic: bool

    def __init__(
        self, make_bot: MakeBot, *, turn_based: bool = False, deterministic: bool = False, name: str | None = None
    ) -> None:
        """Wrap a bot.

        Args:
            make_bot: makes a bot. It is called as `(game, player, seed)` for each game that is played at the same time; the player
                is 0.
            turn_based: show the bot the turn-based form of the game, for bots such as MCTS that know no simultaneous moves. The
                bot chooses first in a round.
            deterministic: the bot uses no random numbers, so that matches need not be repeated.
            name: what results call it; by default the name of `make_bot`.
        """
        self._make_bot, self._turn_based = make_bot, turn_based
        self.deterministic = deterministic
        self.name = name or str(getattr(make_bot, "__name__", type(make_bot).__name__))
        self._plays: list[_Play] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def check_layout(self, layout: Layout) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the layout shows no history.
        """
        if layout.history_rounds == 0 or "seat" not in layout.block_fields:
            raise ValueError(
                f"agent {self.name} needs observations with history=True and identity=True, to tell the bot what was played"
            )

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the layout shows no history.
        """
        if seed is not None or not self._plays:
            self.check_layout(layout)
            self._layout = layout
            game: Any = game_of_variant(layout.variant)
            if self._turn_based:
                game = pyspiel.convert_to_turn_based(game)
            seeds = np.random.SeedSequence(seed).generate_state(begins.size) >> 1  # a bot of C++ takes 31 bits
            self._plays = [_Play(game, self._make_bot(game, 0, int(one))) for one in seeds]
        for row in np.flatnonzero(begins):
            self._plays[row].restart()

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the bot played what is not legal.
        """
        actions = np.zeros(len(observation), np.int64)
        lines = self._layout.field(observation, "start").reshape(len(observation), self._layout.variant.robots, -1)
        rounds = self._layout.field(observation, "history")
        rounds = rounds.reshape(len(observation), self._layout.history_rounds, self._layout.variant.robots, -1)
        for row in np.flatnonzero(lines.any(axis=(1, 2))):  # a row of zeros has nothing to choose
            cards = rounds[row, :, :, : self._layout.variant.cards]
            state = self._plays[row].catch_up(lines[row], cards)
            action = int(self._plays[row].bot.step(state))
            if not 0 <= action < action_mask.shape[1] or not action_mask[row, action]:
                legal = np.flatnonzero(action_mask[row]).tolist()
                raise ValueError(f"the bot of {self.name} played {shown(action)}; legal are {legal}")
            actions[row] = action
        return actions


class _Play:
    """A game that a bot plays."""

    def __init__(self, game: Any, bot: Any) -> None:
        self.game, self.bot = game, bot
        self._state: Any = None
        self._rounds = 0

    def restart(self) -> None:
        """Begin a game."""
        self._state, self._rounds = self.game.new_initial_state(), 0
        self.bot.restart_at(self._state)

    def catch_up(self, line: NDArray[np.float32], rounds: NDArray[np.float32]) -> Any:
        """Play what has been played since the bot last chose.

        Args:
            line: `[R, R]`, for each robot its place in the starting line, one-hot.
            rounds: `[H, R, C]`, for each past round and robot its card, one-hot; zero for one that was out.
        """
        if self._state.is_chance_node():
            for robot in line.argmax(axis=1).argsort()[:-1]:
                self._apply(pyspiel.PlayerId.CHANCE, int(robot))
        while self._rounds < len(rounds) and rounds[self._rounds].any():
            cards = np.where(rounds[self._rounds].any(axis=1), rounds[self._rounds].argmax(axis=1), 0)
            joint = actions_of_cards(simultaneous(self._state), cards.tolist())
            if self._state.is_simultaneous_node():
                self.bot.inform_actions(self._state, joint)
                self._state.apply_actions(joint)
            else:
                position = simultaneous(self._state).position
                assert position is not None
                for player, legal in enumerate(position.legal):
                    if legal:
                        self._apply(player, joint[player])
            self._rounds += 1
        return self._state

    def _apply(self, player: int, action: int) -> None:
        if player != 0:  # a bot knows what it chose itself
            self.bot.inform_action(self._state, player, action)
        self._state.apply_action(action)


def simultaneous(state: Any) -> GetBitState:
    """A state of the game, out of its turn-based form if it is one.

    Raises:
        TypeError: it is a state of another game.
    """
    inner = state.simultaneous_game_state() if hasattr(state, "simultaneous_game_state") else state
    if not isinstance(inner, GetBitState):
        raise TypeError(f"this needs a state of {GetBitGame.__name__} or of its turn-based form, not of {state.get_game()}")
    return inner


def actions_of_cards(state: GetBitState, cards: list[int]) -> list[int]:
    """The players' actions that play these cards.

    Args:
        state: in which they are played.
        cards: of each robot, from 0.
    """
    variant = state.table.variant
    if variant.robots_per_player == 1:
        return cards
    assert state.position is not None
    place = state.position.arrays[0][:, 0]
    joint = []
    for first in range(0, variant.robots, 2):
        front, back = (first, first + 1) if place[first] < place[first + 1] else (first + 1, first)
        joint.append(cards[front] * variant.cards + cards[back])
    return joint


class AgentPolicy(policies.Policy):  # type: ignore[misc]  # OpenSpiel ships no types
    """An agent of this package as a policy of OpenSpiel, in all seats: for its best responses, NashConv and others.

    Its agent has `probabilities`, or is deterministic; it looks at one observation at a time (`getbit_env.core.agent.Agent`).
    """

    def __init__(self, game: Any, agent: Any) -> None:
        """Make a policy.

        Args:
            game: `GetBitGame`, or its turn-based form.
            agent: an agent, or what `getbit_env.as_agent` makes one of.

        Raises:
            ValueError: the agent can't play the game, or what it plays is no function of an observation.
        """
        super().__init__(game, list(range(game.num_players())))
        self._agent = as_agent(agent)
        self._layout = _begin(self._agent, game)
        deterministic = getattr(self._agent, "deterministic", False) is True
        if not deterministic and not hasattr(self._agent, "probabilities"):
            raise ValueError(
                f"agent {name_of(self._agent)} has no probabilities and is not deterministic, so it is no policy; AgentBot plays it"
            )

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """How likely the agent plays each legal action."""
        player = state.current_player() if player_id is None else player_id
        position, table = simultaneous(state).position, simultaneous(state).table
        legal = [] if position is None else position.legal[player]
        if position is None or not legal:
            return {}
        seen = table.observe_as(position, self._layout)[[player]]
        mask = np.zeros((1, table.variant.actions), np.int8)
        mask[0, legal] = 1
        if hasattr(self._agent, "probabilities"):
            chances = self._agent.probabilities(seen, mask)[0]
        else:
            chances = np.eye(mask.shape[1])[int(self._agent.act(seen, mask)[0])]
        return {action: float(chances[action]) for action in legal}


class AgentBot(pyspiel.Bot):  # type: ignore[misc]  # OpenSpiel ships no types
    """An agent of this package as a bot of OpenSpiel, in one seat. It plays the game and its turn-based form."""

    def __init__(self, game: Any, player: int, agent: Any, seed: int | None = None) -> None:
        """Make a bot.

        Args:
            game: `GetBitGame`, or its turn-based form.
            player: its seat.
            agent: an agent, or what `getbit_env.as_agent` makes one of. A second seat needs a second one.
            seed: fixes what the agent draws.

        Raises:
            ValueError: the agent can't play the game.
        """
        super().__init__()
        self._game, self._player = game, player
        self._agent: Any = as_agent(agent)
        self._layout = _begin(self._agent, game)
        self._agent.begin(self._layout, seed)

    def player_id(self) -> int:
        """Its seat."""
        return self._player

    def restart_at(self, state: Any) -> None:  # noqa: ARG002 - whatever the state, a game begins
        """Begin a game."""
        self._agent.begin(self._layout)

    def restart(self) -> None:
        """Begin a game."""
        self._agent.begin(self._layout)

    def step(self, state: Any) -> int:
        """Choose."""
        inner = simultaneous(state)
        assert inner.position is not None
        mask = np.zeros(self._layout.variant.actions, np.int8)
        mask[inner.position.legal[self._player]] = 1
        chosen: int = self._agent.choose(inner.table.observe_as(inner.position, self._layout)[self._player], mask)
        return chosen


def _begin(agent: Agent, game: Any) -> Layout:
    """The layout that an agent wants to see of a game, which is shown to it."""
    variant = simultaneous(game.new_initial_state()).table.variant
    wanted: Options = check_agents({name_of(agent): agent}, variant)[name_of(agent)]
    layout = Layout(variant, wanted)
    agent.reset(layout, np.ones(1, np.bool_), 0)
    return layout
