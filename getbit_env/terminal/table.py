"""One game with agents in some of its seats. The person sees it through the faces of the games, the agents as in every match."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import check_agents, load_agent
from getbit_env.core.agent import Agent
from getbit_env.core.spec import Dynamics, GameSpec, Variant
from getbit_env.game_registry import game_of

YOU = "you"  # what the seat of a person is called


class AgentError(RuntimeError):
    """An agent failed; the message says which, and how."""


class Advice(NamedTuple):
    """What an agent would do.

    Attributes:
        action: that it would take now.
        probabilities: `[A]`, if it has such.
    """

    action: int
    probabilities: NDArray[np.float64] | None


class _View:
    """The game as an environment with some options shows it."""

    def __init__(self, game: GameSpec, variant: Variant, options: Any = None) -> None:
        asked = {name: True for name, value in vars(options).items() if value} if options is not None else {}
        self.env = game.make_env(variant=variant, **asked)
        self._at_once = game.dynamics == Dynamics.SIMULTANEOUS
        self._seen: Mapping[str, Any] = {}

    def begin(self, seed: int, start: Mapping[str, Any] | None) -> None:
        found = self.env.reset(seed=seed, options=start)
        self._seen = found[0] if self._at_once else {}

    def play(self, actions: Mapping[int, int]) -> None:
        if self._at_once:
            self._seen = self.env.step({f"player_{seat}": action for seat, action in actions.items()})[0]
        else:
            ((_, action),) = actions.items()
            self.env.step(action)

    def choosing(self) -> list[int]:
        """The seats that choose next; none if the game is over."""
        if self._at_once:
            return [_seat(agent) for agent in self.env.agents]
        ended = {**self.env.terminations, **{a: True for a, cut in self.env.truncations.items() if cut}}
        return [] if not self.env.agents or any(ended.values()) else [_seat(self.env.agent_selection)]

    def seen(self, seat: int) -> Mapping[str, Any]:
        """What a seat that chooses sees."""
        agent = f"player_{seat}"
        seen: Mapping[str, Any] = self._seen[agent] if self._at_once else self.env.observe(agent)
        return seen


class _Player:
    """An agent in one seat."""

    def __init__(self, name: str, agent: Agent, game: GameSpec, variant: Variant, seat: int) -> None:
        options = check_agents({name: agent}, variant)[name]
        self.name, self.seat = name, seat
        self._agent = copy.deepcopy(agent)  # so that one object can sit in several seats
        self.view = _View(game, variant, options)

    def begin(self, seed: int, start: Mapping[str, Any] | None) -> None:
        self.view.begin(seed, start)
        own = int(np.random.SeedSequence((seed, self.seat)).generate_state(1)[0])
        self._called(self._agent.reset, self.view.env.layout, np.ones(1, np.bool_), own)

    def act(self) -> int:
        observation, mask = self._row()
        action = int(self._called(self._agent.act, observation, mask)[0])
        if not 0 <= action < mask.shape[1] or not mask[0, action]:
            raise AgentError(f"agent {self.name} chose the illegal action {action}")
        return action

    def probabilities(self) -> NDArray[np.float64] | None:
        observation, mask = self._row()
        if not hasattr(self._agent, "probabilities"):
            return None
        try:
            found: NDArray[np.float64] = self._agent.probabilities(observation, mask)[0]
        except ValueError:  # as of an agent that remembers, in a memory game
            return None
        return found

    def _row(self) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        seen = self.view.seen(self.seat)
        return seen["observation"][None].copy(), seen["action_mask"][None].copy()

    def _called(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:  # whatever an agent raises
            raise AgentError(f"agent {self.name} failed: {type(error).__name__}: {error}") from error


class Table:
    """A game with its players.

    Attributes:
        variant, game: what is played.
        names: of the players, by seat; `YOU` for a person.
        actions: what was played so far, a mapping from seats to actions each round or decision.
    """

    variant: Variant
    game: GameSpec
    names: list[str]

    def __init__(self, variant: Variant, names: Sequence[str]) -> None:
        """Seat the players.

        Args:
            variant: the game.
            names: an agent's name for each seat, or `YOU`.

        Raises:
            ValueError: an agent is unknown, or can't play this game; or there are too many or too few names.
        """
        if len(names) != variant.players:
            raise ValueError(f"{variant} has {variant.players} players, not {len(names)}")
        self.variant, self.game, self.names = variant, game_of(variant), list(names)
        self._players = {seat: self._player(name, seat) for seat, name in enumerate(names) if name != YOU}
        self._view = _View(self.game, variant)
        self._rendering = import_module(self.game.rendering)
        self.actions: list[dict[int, int]] = []
        self._seed = 0
        self._start: Mapping[str, Any] | None = None

    def begin(self, seed: int, start: Mapping[str, Any] | None = None) -> None:
        """Begin a game: the same seed, start and choices give the same game."""
        self._seed, self._start, self.actions = seed, start, []
        self._view.begin(seed, start)
        for player in self._players.values():
            player.begin(seed, start)

    def choosing(self) -> list[int]:
        """The seats that choose next; none if the game is over."""
        return self._view.choosing()

    def mask(self, seat: int) -> NDArray[np.int8]:
        """What a seat that chooses may do, `[A]`."""
        mask: NDArray[np.int8] = self._view.seen(seat)["action_mask"]
        return mask

    def play(self, chosen: Mapping[int, int]) -> None:
        """Play a round, or a decision.

        Args:
            chosen: actions of the persons whose turn it is; agents choose by themselves.

        Raises:
            AgentError: an agent failed.
        """
        actions = {seat: chosen[seat] if seat in chosen else self._players[seat].act() for seat in self.choosing()}
        self._view.play(actions)
        for player in self._players.values():
            player.view.play(actions)
        self.actions.append(actions)

    def scene(self) -> Any:
        """What there is to see: a `Scene` of the game's rendering. It hides nothing."""
        return self._rendering.scene_from_snapshot(self._view.env.snapshot(), self.variant)

    def advice(self, name: str, seat: int) -> Advice:
        """What an agent would do in a seat that chooses now, had it played there from the start.

        Raises:
            ValueError: it is unknown, or can't play this game.
            AgentError: it failed.
        """
        player = self._player(name, seat)
        player.begin(self._seed, self._start)
        for actions in self.actions:
            if seat in actions:
                player.act()  # so that it has seen what it would have seen
            player.view.play(actions)
        return Advice(player.act(), player.probabilities())

    def _player(self, name: str, seat: int) -> _Player:
        return _Player(name, load_agent(name), self.game, self.variant, seat)


def _seat(agent: str) -> int:
    return int(agent.removeprefix("player_"))
