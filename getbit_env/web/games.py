"""A table: one game between a person and agents, or between agents alone. It knows no network; the server shows it to clients."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.agent import Agent
from getbit_env.core.layouts import Show
from getbit_env.core.spec import Variant
from getbit_env.game_registry import game_of
from getbit_env.viewer.frames import Recorder, film, recorder, thought
from getbit_env.web.agents import Roster

MOST_FRAMES = 240  # that a table keeps for a client that comes back
MOST_MOVES = 4000  # rounds or decisions of a game; longer ones are cut off
SAMPLES = 24  # how often an agent without probabilities is asked what it would play
MOST_REPLAYED = 200  # decisions that such an agent is led through before it is asked


class RefusedError(ValueError):
    """What a client asked for can't be done; the message says why, and the game goes on."""


class _Player:
    """An agent with the rows that it sees: its seats of the one game."""

    def __init__(self, name: str, agent: Agent, seats: Sequence[int], engine: Any) -> None:
        self.name, self.agent, self.seats, self.engine = name, agent, list(seats), engine

    def reset(self) -> None:
        begins = np.ones(len(self.seats), np.bool_)
        self.agent.reset(self.engine.layout, begins, int(np.random.SeedSequence(secrets.randbits(63)).generate_state(1)[0]))

    def act(self) -> NDArray[np.int64]:
        observation, mask = self.engine.observation[0, self.seats], self.engine.action_mask[0, self.seats]
        return np.asarray(self.agent.act(np.ascontiguousarray(observation), np.ascontiguousarray(mask)))


class Table:
    """One game.

    A person has at most one seat. All that leaves this class for a client is seen from that seat, until the game is over; a table
    without a person is seen by spectators, who see everything.

    Attributes:
        variant: the game.
        seat: the person's, or None.
        agents: name of the agent of each seat, None for the person.
        start: how the game began.
        records: the game.
        failure: what an agent did wrong, which ends the game; else None.
        frames: what the client has seen, as JSON.
    """

    variant: Variant
    seat: int | None
    roster: Roster
    agents: list[str | None]
    start: Any
    frames: list[str]

    def __init__(self, roster: Roster, variant: Variant, seat: int | None, agents: Sequence[str | None], start: Any = None) -> None:
        """Begin a game.

        Args:
            roster: makes the agents.
            variant: the game.
            seat: of the person, or None.
            agents: name of the agent of each seat; that of the person's does not count.
            start: how it begins, by default at random.

        Raises:
            RefusedError: the seat or an agent does not fit the variant.
        """
        if seat is not None and not 0 <= seat < variant.players:
            raise RefusedError(f"a seat of {variant} is 0 to {variant.players - 1}, not {seat}")
        if len(agents) != variant.players:
            raise RefusedError(f"{variant} has {variant.players} seats, not {len(agents)}")
        self.variant, self.seat, self.roster = variant, seat, roster
        self.agents = [None if number == seat else name for number, name in enumerate(agents)]
        game = game_of(variant)
        if start is None:
            start = game.rotated_starts(variant, secrets.randbits(63), 0, 1, False)[0]
        self.records: Recorder = recorder(variant)
        self.records.begin(start)
        self.start = self.records.start
        self.actions: list[list[int | None]] = []
        self.failure: str | None = None
        self._engines: dict[Any, Any] = {}
        self._players = self._seated(self.agents)
        self.frames = [self._frame()]

    def _seated(self, agents: Sequence[str | None]) -> list[_Player]:
        seats: dict[str, list[int]] = {}
        for number, name in enumerate(agents):
            if number != self.seat:
                if not isinstance(name, str):
                    raise RefusedError(f"seat {number} has no agent")
                seats.setdefault(name, []).append(number)
        return [self._player(name, mine) for name, mine in seats.items()]

    def _player(self, name: str, seats: Sequence[int]) -> _Player:
        try:
            agent = self.roster.make(name, self.variant)
            options = getattr(agent, "options", None) or game_of(self.variant).options()
            if options not in self._engines:
                self._engines[options] = engine = game_of(self.variant).make_engine(self.variant, 1, options=options)
                _begin(engine, self.start, self.records)
            player = _Player(name, agent, seats, self._engines[options])
            player.reset()
        except ValueError as error:
            raise RefusedError(str(error)) from error
        return player

    @property
    def over(self) -> bool:
        """Whether nothing more can be played."""
        return self.records.over or self.failure is not None or len(self.actions) >= MOST_MOVES

    @property
    def waits(self) -> bool:
        """Whether the person is to choose."""
        return not self.over and self.seat is not None and self.seat in self.records.deciding()

    @property
    def open(self) -> bool:
        """Whether a client may be shown the frames of earlier rounds again: not where players have to remember them."""
        return self.seat is None or not getattr(self.variant, "memory", False)

    def header(self) -> dict[str, Any]:
        """What does not change in the course of the game."""
        return self.records.header() | {"viewer": self.seat, "agents": self.agents}

    def choices(self) -> dict[str, Any] | None:
        """What the person chooses from now; None if it is to choose nothing."""
        return self.records.choices(self.seat) if self.waits and self.seat is not None else None

    def seen(self) -> list[str]:
        """The frames that a client may be shown now, as JSON; the last one is the position."""
        return self.frames if self.open else self.frames[-1:]

    def check_choice(self, number: Any, action: Any) -> int:
        """Refuse what the person can't play now.

        Args:
            number: of the round or decision that it is for.
            action: which.

        Raises:
            RefusedError: with the reason.
        """
        choices = self.choices()
        if choices is None:
            raise RefusedError("the game is over" if self.over else "it is not your turn")
        if type(number) is not int or number != choices["number"]:
            raise RefusedError(
                f"this is number {choices['number']}, and the choice is for {_quoted(number)}: it was made already, or too early"
            )
        assert self.seat is not None
        may = self.records.legal(self.seat)
        if type(action) is not int or action not in may:
            raise RefusedError(f"{_quoted(action)} is not legal; legal are {', '.join(map(str, may))}")
        return action

    def play(self, choice: int | None) -> str:
        """Play a round or a decision: the agents think, and all is played.

        Args:
            choice: of the person, checked; None if it has none.

        Returns:
            The frame that follows, as the client sees it, as JSON. If an agent fails, `failure` is set, and it is the last frame
            again.
        """
        actions: list[int | None] = [None] * self.variant.players
        deciding = self.records.deciding()
        show = np.array([Show.CHOOSING], np.uint8)
        for engine in self._engines.values():
            engine.observe(show)
        for player in self._players:
            try:
                chosen = player.act()
                if chosen.shape != (len(player.seats),) or chosen.dtype.kind not in "iu":
                    raise ValueError(f"act gave {chosen.dtype} {list(chosen.shape)}")
            except (Exception, SystemExit) as error:  # whatever its code does
                return self._fail(f"agent {player.name} failed: {type(error).__name__}: {str(error)[:200]}")
            for seat, action in zip(player.seats, chosen.tolist(), strict=True):
                if seat in deciding:
                    if action not in self.records.legal(seat):
                        return self._fail(f"agent {player.name} played {action}, which is not legal")
                    actions[seat] = int(action)
        if self.seat is not None and self.seat in deciding:
            actions[self.seat] = choice
        self._apply(actions)
        return self.frames[-1]

    def _apply(self, actions: list[int | None]) -> None:
        self.records.play(actions)
        self.actions.append(actions)
        joint = np.array([[action or 0 for action in actions]], np.int64)
        for engine in self._engines.values():
            engine.play(joint)
        self.frames.append(self._frame())
        del self.frames[:-MOST_FRAMES]

    def _frame(self) -> str:
        return json.dumps(self.records.frame(self.seat), separators=(",", ":"))

    def _fail(self, reason: str) -> str:
        self.failure = reason
        return self.frames[-1]

    def advise(self, name: str) -> dict[str, Any]:
        """What an agent would play in place of the person, knowing what the person knows.

        Raises:
            RefusedError: the person has nothing to choose, or no such agent plays the variant, or it fails.
        """
        if not self.waits or self.seat is None:
            raise RefusedError("advice is for a player who is to choose")
        try:
            probabilities = self._probabilities(name, self.seat)
        except RefusedError:
            raise
        except (Exception, SystemExit) as error:  # whatever its code does
            raise RefusedError(f"agent {name} failed: {type(error).__name__}: {str(error)[:200]}") from error
        return thought(self.records, self.seat, probabilities)

    def _probabilities(self, name: str, seat: int) -> NDArray[np.float64]:
        """The chances with which an agent plays each action in a seat, now. It is led through the game so far, if it remembers."""
        try:
            agent = self.roster.make(name, self.variant)
        except ValueError as error:
            raise RefusedError(str(error)) from error
        game = game_of(self.variant)
        engine = game.make_engine(self.variant, 1, options=getattr(agent, "options", None) or game.options())
        _begin(engine, self.start, self.records)
        agent.reset(engine.layout, np.ones(1, np.bool_), secrets.randbits(31))
        pure = callable(getattr(agent, "probabilities", None))  # asked now, since it can depend on the layout
        rows = 1 if pure or getattr(agent, "deterministic", False) else SAMPLES
        agent.reset(engine.layout, np.ones(rows, np.bool_), secrets.randbits(31))
        show = np.array([Show.CHOOSING], np.uint8)
        led = len(self.actions) <= MOST_REPLAYED and not pure
        for actions in self.actions:
            if led:
                engine.observe(show)
                agent.act(*_rows(engine, seat, rows))
            engine.play(np.array([[action or 0 for action in actions]], np.int64))
        engine.observe(show)
        observation, mask = _rows(engine, seat, rows)
        if pure:
            asked: Any = agent
            chances: NDArray[np.float64] = np.asarray(asked.probabilities(observation, mask), np.float64)[0]
            return chances
        chosen = np.asarray(agent.act(observation, mask))
        return np.bincount(chosen, minlength=self.variant.actions)[: self.variant.actions] / rows

    def film(self) -> dict[str, Any]:
        """The whole game with everything visible, once it is over.

        Raises:
            RefusedError: it is not over.
        """
        if not self.over:
            raise RefusedError("the game is not over: nobody sees all cards before")
        agents = ["you" if name is None else name for name in self.agents]
        return film(self.variant, self.start, self.actions, agents=agents)


def _begin(engine: Any, start: Any, records: Recorder) -> None:
    """Begin the game of an engine as recorded."""
    engine.seed(0)
    engine.start(starts=[records.read_start(start)])


def _rows(engine: Any, seat: int, rows: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    return np.repeat(engine.observation[:, seat], rows, axis=0), np.repeat(engine.action_mask[:, seat], rows, axis=0)


def _quoted(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, int | float | str | bool | None) else type(value).__name__


def read_new_game(roster: Roster, message: Mapping[str, Any], variant: Variant, start: Any = None) -> Table:
    """The table that a client asks for.

    Raises:
        RefusedError: with what is wrong.
    """
    seat, agents = message.get("seat"), message.get("agents")
    if seat is not None and type(seat) is not int:
        raise RefusedError("seat is a number, or null to watch")
    if not isinstance(agents, list) or len(agents) > 16 or not all(name is None or isinstance(name, str) for name in agents):
        raise RefusedError("agents is a list of names, one a seat")
    return Table(roster, variant, seat, agents, start)
