"""A match: one line-up of agents plays many games, and every agent plays from every place.

The unit is a start (a starting line, a deal) with all its rotations: every agent plays it from the place of every other. Seats see
each other relative to themselves, so a start with all players moved on by one seat is the same start with the agents moved on by
one. Agents stay in their seats, and the starts are rotated.

If there are no more starts than asked for, all of them are played, in whole blocks. Otherwise starts are drawn from the seed.
Games are played in chunks of `GAMES_PER_CHUNK`, and everything random in a chunk follows from the seed and its number:
any number of processes gives the same result.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import check_agents, load_agent, text_of
from getbit_env.core.agent import Agent, name_of
from getbit_env.core.choices import choice, whole_number
from getbit_env.core.finish import rewards_of_finish, wins_of_finish
from getbit_env.core.messages import shown
from getbit_env.core.spec import Engine, GameSpec, Variant
from getbit_env.game_registry import find_variant, game_of
from getbit_env.match.rows import collect, hand_out
from getbit_env.match.statistics import Estimate, estimate
from getbit_env.replays import SUM_ERROR, Recorder, Replay

T = TypeVar("T")

Order = tuple[tuple[str, ...], ...]  # of a finished game: the names in each place, from the winner on; those who tie share a place

STARTS = 5040  # every starting line of seven robots, and whole blocks of all those of fewer
GAMES_PER_CHUNK = 4096  # larger is faster up to here, and a long history of seven players still fits into memory
LEAST_STARTS = 4  # an interval of fewer says nothing


class Failure(NamedTuple):
    """An agent that could not play."""

    agent: str
    reason: str


class ForfeitError(RuntimeError):
    """A forfeit was read as a result: an agent failed, and the match says nothing about how strong anybody is."""


@dataclass(frozen=True)
class Standing:
    """What an agent did in a match, over all its seats.

    Attributes:
        seats: how many of the seats were its own.
        win: share of the games that a seat wins, mean over its seats; the equal share is 1 / players. Seats that tie for the first
            place share the win. A game in which nobody has a place, as one that a limit cut off, is won by nobody.
        payoff: mean reward of a game; the equal share is 0. Seats that tie share what the places that they fill pay.
        places: `[players]`, part of its games finished first, second, ... A place that is shared counts for all who share it.
        statistics: what the game counts beside that, by name: means of a game.
    """

    seats: int
    win: Estimate
    payoff: Estimate
    places: tuple[float, ...]
    statistics: dict[str, float]


@dataclass(frozen=True)
class MatchResult:
    """What came out of a match.

    `result["name"]` and `result[seat]` are what an agent did. Both raise `ForfeitError` if an agent failed (`failure`): the match
    was not played, so nobody won it. `standings` says what a forfeit counts where it has to count, as in a league.

    Attributes:
        variant: name of the variant.
        line_up: the agent of each seat.
        starts: starts played, each in all rotations: the units of the intervals.
        games: games played.
        exact: all agents were deterministic and all starts were played: the numbers are exact.
        standings: of each agent, by name.
        length: mean length of a game, in rounds or turns; 0 if none was played.
        length_unit: what lengths are counted in.
        orders: how many games ended in each finishing order: the names in each place, from the winner on. Agents that tie stand
            in one place together, such as all of them in a drawn game.
        failure: the agent that could not play and why. The match then breaks off. In `standings` that agent lost every game, and
            the others share the wins.
    """

    variant: str
    line_up: tuple[str, ...]
    starts: int
    games: int
    exact: bool
    standings: dict[str, Standing]
    length: float
    length_unit: str
    orders: tuple[tuple[Order, int], ...]
    failure: Failure | None = None

    def require_played(self) -> MatchResult:
        """The result itself, if the match was played.

        Raises:
            ForfeitError: an agent failed.
        """
        if self.failure is not None:
            raise ForfeitError(
                f"{' against '.join(self.line_up)} on {self.variant} was not played: {self.failure.agent} failed "
                f"({self.failure.reason})"
            )
        return self

    def __getitem__(self, agent: str | int) -> Standing:
        """What an agent did, by its name or by one of its seats.

        Raises:
            ForfeitError: an agent failed.
            KeyError: no agent is called so, or there is no such seat.
        """
        standings = self.require_played().standings
        if isinstance(agent, int) and not -len(self.line_up) <= agent < len(self.line_up):
            raise KeyError(f"no seat {agent} in this line-up; there are 0 to {len(self.line_up) - 1}")
        name = self.line_up[agent] if isinstance(agent, int) else agent
        if name not in standings:
            raise KeyError(f"no agent {name!r} in this line-up; there are {', '.join(standings)}")
        return standings[name]

    def __str__(self) -> str:
        width = max(map(len, self.standings))
        length = f"{self.length:.1f} {self.length_unit}{', exact' * self.exact}"
        rows = [f"{self.variant}: {self.starts} starts, {self.games} games of {length}"]
        if self.failure:
            return f"{self.variant}: not played, lost by {self.failure.agent}, which failed: {self.failure.reason}"
        rows += [
            f"{name:{width}}  x{s.seats}  win {s.win}  payoff {s.payoff}  places {' '.join(f'{p:.3f}' for p in s.places)}"
            f"{''.join(f'  {what} {mean:.2f}' for what, mean in s.statistics.items())}"
            for name, s in self.standings.items()
        ]
        return "\n".join(rows)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> MatchResult:
        """The result that `to_dict` gave, also after a way through JSON.

        Raises:
            ValueError: it is none.
        """
        try:
            return MatchResult._read(data)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"no result of a match: {type(error).__name__}: {error!s:.200}") from error

    @staticmethod
    def _read(data: dict[str, Any]) -> MatchResult:
        standings = {
            name: Standing(s["seats"], Estimate(*s["win"]), Estimate(*s["payoff"]), tuple(s["places"]), dict(s["statistics"]))
            for name, s in data["standings"].items()
        }
        orders = tuple((tuple(tuple(names) for names in order), games) for order, games in data["orders"])
        failure = Failure(*data["failure"]) if data["failure"] else None
        return MatchResult(
            **{
                **data,
                "line_up": tuple(data["line_up"]),
                "standings": standings,
                "orders": orders,
                "failure": failure,
            }
        )


def play_match(
    line_up: Sequence[Agent | str | os.PathLike[str]],
    variant: Variant | str = "4p",
    *,
    agents: Mapping[str, Agent] | None = None,
    starts: int = STARTS,
    seed: int = 0,
    reward: str | None = None,
    time_limit: float | None = None,
    pool: Executor | None = None,
    on_chunk: Callable[[int, int], None] | None = None,
    record: str | os.PathLike[str] | None = None,
    record_games: int | None = None,
) -> MatchResult:
    """Play a match.

    Args:
        line_up: an agent a seat, or its name (one of `agents`, or one that `getbit_env.load_agent` knows), or the path of its
            folder. An agent that is named, or given, several times plays all these seats in one batch. It sees the observation
            of its attribute `options` if it has one, else the default. `deterministic = True` says of an agent that it uses no
            random numbers.
        variant: the game, or its name.
        agents: agents by the names that the line-up uses.
        starts: starts to play, each in all rotations of the seats. If the variant has no more than so many, all of them are played,
            in blocks, as often as it takes; once is enough if all agents are deterministic.
        seed: of the starts that are drawn and of the agents.
        reward: what finishing places pay, by default the first of the game's `rewards`.
        time_limit: seconds that an agent may take for one call of `reset` or `act`, with all its rows. Python code is
            interrupted where the system can do so; compiled code is only found to be late when it comes back. A timer of yours
            (`signal.setitimer`, `signal.alarm`) that would go off during a call goes off after it.
        pool: plays chunks in its processes; the agents must be names, or picklable.
        on_chunk: called with the number of starts done and of all, after every chunk.
        record: a folder into which games are recorded, a file each (`getbit_env.replays`). A game of the same match has the same
            file again. A match in which an agent fails records what was played in whole chunks before.
        record_games: how many games are recorded at most, the first ones; by default all.

    Returns:
        The result; it has a `failure` if an agent raised something, `SystemExit` included, played what is not legal, or took too
        long. Intervals are those of `statistics.estimate` over starts. If all starts are played in blocks, they are
        wider than necessary, because which starts are played is not chance.

    Raises:
        ValueError: the line-up does not fit the variant, a name is unknown, an agent can't play this game, or there are
            too few starts. Nothing has been played then.
        OSError: a replay can't be written.
        TypeError: something in the line-up is no agent, such as a class.

    Examples:
        >>> from getbit_env.match import play_match
        >>> result = play_match(["counter", "random", "random", "random"], "4p", starts=24)
        >>> print(result["counter"].seats, result["random"].seats, result.failure)
        1 3 None
    """
    chosen: Variant = find_variant(variant)
    check_agents_given("line_up", line_up)
    check_own("agents", agents)
    if len(line_up) != chosen.players:
        raise ValueError(f"{chosen} has {chosen.players} players, the line-up {len(line_up)}")
    check_settings(starts, seed, time_limit)
    if pool is not None and not isinstance(pool, Executor):
        raise TypeError(f"pool is an Executor of concurrent.futures, or None, not {shown(pool)}")
    recorded = recorded_games(record, record_games)
    own = tuple((agents or {}).items())
    seats = tuple(text_of(one) if isinstance(one, os.PathLike) else one for one in line_up)
    seated = LineUp(seats, own, chosen, seed, starts, chosen_reward(game_of(chosen), reward), time_limit, recorded)
    chunks = range(math.ceil(seated.starts / seated.starts_per_chunk))
    played: Iterable[_Chunk | Failure] = (
        map(seated.play, chunks) if pool is None else pool.map(partial(_play_elsewhere, seated.arguments), chunks)
    )
    done: list[_Chunk] = []
    for chunk in played:
        if isinstance(chunk, Failure):
            return seated.forfeit(chunk)
        for replay in chunk.replays:
            assert record is not None
            replay.save(Path(record) / replay.file_name)
        done.append(chunk._replace(replays=()))
        if on_chunk is not None:
            on_chunk(min(len(done) * seated.starts_per_chunk, seated.starts), seated.starts)
    return seated.result(done)


def check_agents_given(name: str, agents: Any) -> None:
    """Refuse what is no sequence of agents, such as one name, which would be taken for its letters.

    Raises:
        TypeError: with the argument, and what it may be.
    """
    if isinstance(agents, str | bytes | os.PathLike) or not isinstance(agents, Sequence):
        raise TypeError(f"{name} is a list of agents or of their names, not {shown(agents)}")


def check_own(name: str, own: Any) -> None:
    """Refuse what does not say which agent has which name.

    Raises:
        TypeError: with the argument, and what it may be.
    """
    if own is not None and not isinstance(own, Mapping):
        raise TypeError(f"{name} is a dict of agents by their names, or None, not {shown(own)}")


def check_settings(starts: int, seed: int, time_limit: float | None) -> None:
    """Refuse what no match can be played with.

    Raises:
        ValueError: with the argument, and what it may be.
    """
    for name, value, least, why in (("starts", starts, LEAST_STARTS, ": fewer tell nothing"), ("seed", seed, 0, "")):
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise ValueError(f"{name} is a whole number, not {shown(value)}")
        if value < least:
            raise ValueError(f"{name} is {least} or more, not {value}{why}")
    is_number = isinstance(time_limit, int | float | np.integer | np.floating) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and 0 < time_limit < math.inf):
        raise ValueError(f"time_limit is a number of seconds over 0, or None, not {shown(time_limit)}")


def recorded_games(record: str | os.PathLike[str] | None, games: int | None) -> int:
    """How many games a match records.

    Raises:
        ValueError: the number is none, or there is no folder to record them in.
    """
    if games is not None:
        games = whole_number("record_games", games, 0)
        if record is None:
            raise ValueError("record_games says how many games go into the folder `record`, which is not given")
    if record is None:
        return 0
    return sys.maxsize if games is None else games


def play_games(
    line_up: Sequence[Agent | str | os.PathLike[str]],
    variant: Variant | str = "4p",
    *,
    agents: Mapping[str, Agent] | None = None,
    starts: int = LEAST_STARTS,
    seed: int = 0,
    time_limit: float | None = None,
) -> list[Replay]:
    """Play a match, and return its games instead of its result: each start is followed by its rotations.

    Args:
        line_up: see `play_match`, as the others.
        variant: the game, or its name.
        agents: agents by the names that the line-up uses.
        starts: starts to play, each in all rotations of the seats.
        seed: of the starts that are drawn and of the agents.
        time_limit: seconds for one call of an agent.

    Raises:
        ValueError: see `play_match`.
        ForfeitError: an agent failed.
    """
    chosen: Variant = find_variant(variant)
    if len(line_up) != chosen.players:
        raise ValueError(f"{chosen} has {chosen.players} players, the line-up {len(line_up)}")
    check_settings(starts, seed, time_limit)
    seats = tuple(text_of(one) if isinstance(one, os.PathLike) else one for one in line_up)
    own = tuple((agents or {}).items())
    table = LineUp(seats, own, chosen, seed, starts, chosen_reward(game_of(chosen), None), time_limit, sys.maxsize)
    games: list[Replay] = []
    for chunk in range(math.ceil(table.starts / table.starts_per_chunk)):
        played = table.play(chunk)
        if isinstance(played, Failure):
            raise ForfeitError(
                f"{' against '.join(table.names)} on {chosen} was not played: {played.agent} failed ({played.reason})"
            )
        games += played.replays
    return games


def chosen_reward(game: GameSpec, reward: str | None) -> str:
    """The name of a game's reward; by default its first one.

    Raises:
        ValueError: the game has none of that name.
    """
    return next(iter(game.rewards)).value if reward is None else choice(game.rewards, "reward", reward).value


class _Chunk(NamedTuple):
    """What came out of some starts; A agents, S starts."""

    win: NDArray[np.float64]  # [A, S] mean over seats and rotations
    payoff: NDArray[np.float64]  # [A, S]
    places: NDArray[np.int64]  # [A, P] games finished in each place
    statistics: NDArray[np.int64]  # [A, statistics of the game]
    length: int  # of all games together
    orders: Counter[Order]
    replays: tuple[Replay, ...]


class _Seats(NamedTuple):
    """The seats of one agent, and its own copy of what they see, a row a seat of a game."""

    agent: Agent
    seats: NDArray[np.int64]
    engine: Any
    observation: NDArray[np.float32]  # [G * seats, D]
    action_mask: NDArray[np.int8]  # [G * seats, A]


class _Eyes:
    """An engine, and the rows of all agents that want to see its observations: those of one agent lie together."""

    def __init__(self, engine: Any, seats: list[list[int]]) -> None:
        self.engine = engine
        rows = engine.size * sum(map(len, seats))
        self._sees = np.empty((rows, engine.layout.size), np.float32)
        self._may = np.empty((rows, engine.variant.actions), np.int8)
        self._first, self._step = (np.zeros(engine.variant.players, np.int64) for _ in range(2))
        row = 0
        self.rows = []  # of each agent: what it sees, what it may play
        for mine in seats:
            self._first[mine], self._step[mine] = row + np.arange(len(mine)), len(mine)
            part = slice(row, row + engine.size * len(mine))
            self.rows.append((self._sees[part], self._may[part]))
            row = part.stop

    def look(self, seeing: NDArray[np.uint8]) -> None:
        """Bring all rows up to date; `seeing` `[G]` is as `show` of `Engine.observe`."""
        self.engine.observe(seeing)
        hand_out(self.engine.observation, self.engine.action_mask, self._first, self._step, self._sees, self._may)


class _AgentError(Exception):
    """What an agent raised, or did wrong."""


class LineUp:
    """The agents of a match in their seats, and what they play; see `play_match`.

    Attributes:
        arguments: what makes the same line-up elsewhere.
        names: of the agents, each once, by first seat.
        starts, starts_per_chunk: how many are played, and how many at once.
        exact: see `MatchResult`.
    """

    arguments: tuple[tuple[Agent | str, ...], tuple[tuple[str, Agent], ...], Variant, int, int, str, float | None, int]
    names: list[str]
    exact: bool
    starts: int
    starts_per_chunk: int

    def __init__(
        self,
        line_up: tuple[Agent | str, ...],
        agents: tuple[tuple[str, Agent], ...],
        variant: Variant,
        seed: int,
        starts: int,
        reward: str,
        time_limit: float | None,
        recorded: int = 0,
    ) -> None:
        self.arguments = (line_up, agents, variant, seed, starts, reward, time_limit, recorded)
        self._variant, self._seed, self._time_limit, self._recorded = variant, seed, time_limit, recorded
        self._pays = variant.reward_of_finish(reward)
        chosen: dict[Any, list[int]] = {}
        for seat, one in enumerate(line_up):
            chosen.setdefault(one if isinstance(one, str) else id(one), []).append(seat)
        self._seats = list(chosen.values())
        first = [line_up[seats[0]] for seats in self._seats]
        own = dict(agents)
        self._agents = [load_agent(own.get(one, one) if isinstance(one, str) else one) for one in first]
        self.names = _names(first)
        self._game = game_of(variant)
        self._wishes = list(check_agents(dict(zip(self.names, self._agents, strict=True)), variant).values())
        self._all_starts = self._game.number_of_starts(variant)
        deterministic = all(getattr(agent, "deterministic", False) for agent in self._agents)
        self._enumerated = starts >= self._all_starts
        self.exact = self._enumerated and deterministic
        blocks = 1 if deterministic else math.ceil(starts / self._all_starts)
        self.starts = int(blocks * self._all_starts) if self._enumerated else starts
        self.starts_per_chunk = GAMES_PER_CHUNK // variant.players
        self._engines: dict[tuple[int, Any], Any] = {}

    def play(self, chunk: int) -> _Chunk | Failure:
        """Play the starts of a chunk in all rotations."""
        starts = self._rotations(chunk)
        games, players = len(starts), self._variant.players
        first = chunk * self.starts_per_chunk * players
        recorder = Recorder(self._variant, starts, min(games, max(0, self._recorded - first)))
        eyes, all_seats = self._sit_down(games)
        engine = eyes[0].engine
        finish = np.zeros((players, games), np.uint8)
        running = np.ones(games, np.uint8)
        seeing = running.copy()
        actions = np.zeros((games, players), np.int64)
        for each in eyes:
            each.engine.start(None, starts)
        try:
            for number, own in enumerate(all_seats):
                seeds = np.random.SeedSequence((self._seed, 1, chunk, number)).generate_state(1)
                everywhere = np.ones(games * len(own.seats), bool)
                self._call(number, partial(own.agent.reset, own.engine.layout, everywhere, int(seeds[0])))
            while running.any():
                for each in eyes:
                    each.look(seeing)
                for number, own in enumerate(all_seats):
                    if recorder.games:
                        self._think(number, own, recorder)
                    self._act(number, own, actions)
                if recorder.games:
                    recorder.move(actions, engine.choosing())
                for each in eyes:
                    each.engine.play(actions)
                if np.logical_and(engine.replaced, running[:, None]).any():
                    self._refuse(all_seats, engine.replaced & running[:, None], actions)
                finish += engine.outcome.finish
                seeing[:] = running
                running &= ~engine.outcome.over & 1
        except _AgentError as error:
            name, reason = error.args
            return Failure(name, reason)
        names = self._name_of_seat
        replays = tuple(recorder.replays([names[seat] for seat in range(players)], self._seed, first))
        return self._add_up(finish, engine)._replace(replays=replays)

    def _rotations(self, chunk: int) -> Any:
        """The starts of a chunk, each followed by its rotations."""
        first = chunk * self.starts_per_chunk
        number = min(self.starts_per_chunk, self.starts - first)
        return self._game.rotated_starts(self._variant, self._seed, first, number, self._enumerated)

    def _sit_down(self, games: int) -> tuple[list[_Eyes], list[_Seats]]:
        """Give the agents their rows: those that want to see the same share an engine."""
        eyes, all_seats = [], {}
        for options in dict.fromkeys(self._wishes):
            engine = self._engines.get((games, options))
            if engine is None:
                engine = self._engines[games, options] = self._game.make_engine(self._variant, games, seed=0, options=options)
            alike = [number for number, wish in enumerate(self._wishes) if wish == options]
            eyes.append(_Eyes(engine, [self._seats[number] for number in alike]))
            for number, rows in zip(alike, eyes[-1].rows, strict=True):
                all_seats[number] = _Seats(self._agents[number], np.array(self._seats[number]), engine, *rows)
        return eyes, [all_seats[number] for number in range(len(self._agents))]

    def _act(self, number: int, own: _Seats, actions: NDArray[np.int64]) -> None:
        """Ask an agent for the actions of its seats, into `actions`."""
        seen, most = own.engine.observation, self._variant.actions
        rows = len(own.observation)
        chosen: Any = self._call(number, partial(own.agent.act, own.observation, own.action_mask))
        if not isinstance(chosen, np.ndarray) or chosen.shape != (rows,) or chosen.dtype.kind not in "iu":
            what = f"{chosen.dtype} {list(chosen.shape)}" if isinstance(chosen, np.ndarray) else f"{type(chosen).__name__}"
            nan = " with NaN" if what.startswith("float") and np.isnan(chosen).any() else ""
            raise _AgentError(self.names[number], f"act gave {what}{nan} for {rows} rows, not int64 [{rows}]")
        chosen = np.ascontiguousarray(chosen, np.int64)
        if collect(chosen, own.seats, most, actions):
            live = seen[:, own.seats].any(axis=2).ravel()
            wrong = chosen[live & ((chosen < 0) | (chosen >= most))]
            if wrong.size:
                raise _AgentError(self.names[number], f"act gave {wrong[0]}, actions are 0 to {most - 1}")

    def _think(self, number: int, own: _Seats, recorder: Recorder) -> None:
        """Ask an agent what it thinks of the next move of the games that are recorded. It loses nothing if it can't say."""
        rows = recorder.games * len(own.seats)
        observation, mask = own.observation[:rows], own.action_mask[:rows]
        for name, shape in (("probabilities", mask.shape), ("values", (rows,))):
            if not callable(getattr(own.agent, name, None)):
                continue
            try:
                told = np.array(self._call(number, partial(getattr(own.agent, name), observation, mask)), np.float64)
            except (_AgentError, TypeError, ValueError):
                continue
            if told.shape != shape:
                continue
            if name == "probabilities":
                wrong = ~((told >= 0) & ((mask != 0) | (told == 0))).all(axis=1) | ~(abs(told.sum(axis=1) - 1) < SUM_ERROR / 2)
                told[wrong] = math.nan
            recorder.think(name, own.seats, told)

    def _refuse(self, all_seats: list[_Seats], illegal: NDArray[np.uint8], actions: NDArray[np.int64]) -> None:
        game, seat = (int(i[0]) for i in np.nonzero(illegal))
        number = next(n for n, own in enumerate(all_seats) if seat in own.seats)
        mask = all_seats[number].engine.action_mask[game, seat]
        raise _AgentError(
            self.names[number],
            f"act gave the illegal action {actions[game, seat]} where {', '.join(map(str, np.flatnonzero(mask)))} were legal",
        )

    def _call(self, number: int, function: Callable[[], T]) -> T:
        """Call an agent; whatever it raises, or takes too long for, becomes its failure."""
        outer = _outer_timer() if self._time_limit is not None else None
        try:
            if self._time_limit is None:
                return function()
            with _deadline(self._time_limit):
                return function()
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # also SystemExit, which would end all matches
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = next(iter(str(error).splitlines()), "")
            reason = f"{type(error).__name__}: {text} ({where.filename}, line {where.lineno})"
            raise _AgentError(self.names[number], reason) from error
        finally:  # outside of the agent's call, so that what the other timer raises is not the agent's failure
            if outer is not None:
                outer()

    def _add_up(self, finish: NDArray[np.uint8], engine: Engine) -> _Chunk:
        """What agents did in games that are over, with these finishing places, `[P, G]`."""
        players = len(finish)
        won, paid = wins_of_finish(finish), rewards_of_finish(finish, self._pays)
        if not self._game.can_end_undecided and not (finish == 1).any(axis=0).all():
            raise ValueError(f"a game of {self._variant} ended without a winner, which the GameSpec of {self._game} says can't be")
        win, payoff = (
            np.array([values[seats].reshape(len(seats), -1, players).mean(axis=(0, 2)) for seats in self._seats])
            for values in (won, paid)
        )
        counts = [statistic.count(engine).sum(axis=1, dtype=np.int64) for statistic in self._game.statistics]
        of_player = np.array(counts, np.int64).reshape(-1, players).T
        return _Chunk(
            win,
            payoff,
            np.array([np.bincount(finish[seats].ravel(), minlength=players + 1)[1:] for seats in self._seats]),
            np.array([of_player[seats].sum(axis=0) for seats in self._seats]),
            int(engine.lengths.sum(dtype=np.int64)),
            self._orders(finish),
            (),
        )

    def _orders(self, finish: NDArray[np.uint8]) -> Counter[Order]:
        """How often each finishing order came out, of the places `[P, G]`."""
        players, agents = len(finish), len(self._seats)
        agent_of = np.zeros(players, np.int64)
        for number, seats in enumerate(self._seats):
            agent_of[seats] = number
        place = np.where(finish == 0, players + 1, finish).astype(np.int64)  # without a place: all of these tie for the last one
        ranked = np.sort(place * agents + agent_of[:, None], axis=0)  # ties in the order of the agents, not of the seats
        tied = np.diff(ranked // agents, axis=0) == 0
        units = agents ** np.arange(players)
        codes = units @ (ranked % agents) + agents**players * (2 ** np.arange(players - 1) @ tied)
        orders: Counter[Order] = Counter()
        for code, times in zip(*np.unique(codes, return_counts=True), strict=True):
            ties, names = divmod(int(code), agents**players)
            order: list[tuple[str, ...]] = []
            for rank in range(players):
                name = self.names[names // int(units[rank]) % agents]
                if rank > 0 and ties >> (rank - 1) & 1:
                    order[-1] += (name,)
                else:
                    order.append((name,))
            orders[tuple(order)] += int(times)
        return orders

    def result(self, chunks: list[_Chunk]) -> MatchResult:
        """The result of the match, from all its chunks."""
        games = self.starts * self._variant.players
        standings = {}
        for number, (name, seats) in enumerate(zip(self.names, self._seats, strict=True)):
            played = games * len(seats)
            standings[name] = Standing(
                len(seats),
                self._estimate(np.concatenate([chunk.win[number] for chunk in chunks]), 0, 1),
                self._estimate(np.concatenate([chunk.payoff[number] for chunk in chunks]), self._pays[1:].min(), self._pays[1]),
                tuple((sum(chunk.places[number] for chunk in chunks) / played).tolist()),
                self._statistics(sum(chunk.statistics[number] for chunk in chunks) / played),
            )
        orders = sum((chunk.orders for chunk in chunks), Counter())
        return self._report(games, standings, sum(chunk.length for chunk in chunks) / games, tuple(sorted(orders.items())))

    def forfeit(self, failure: Failure) -> MatchResult:
        """The result of a match in which this agent failed: it loses, and the others share the wins. Payoffs add up to zero."""
        players = self._variant.players
        failed = len(self._seats[self.names.index(failure.agent)])
        standings = {}
        for name, seats in zip(self.names, self._seats, strict=True):
            places = np.zeros(players)
            if name == failure.agent:
                places[players - failed :] = 1 / failed
                win, payoff = 0.0, self._pays[-1]
            else:
                places[: players - failed] = 1 / (players - failed)
                win = 1 / (players - failed)
                payoff = -failed * self._pays[-1] / (players - failed)
            standings[name] = Standing(len(seats), Estimate(win), Estimate(float(payoff)), tuple(places.tolist()), {})
        return self._report(0, standings, 0.0, (), failure)

    def _statistics(self, means: NDArray[np.float64]) -> dict[str, float]:
        return {one.name: float(mean) for one, mean in zip(self._game.statistics, means, strict=True)}

    def _estimate(self, values: NDArray[np.float64], least: float, most: float) -> Estimate:
        return Estimate(float(values.mean())) if self.exact else estimate(values, least, most)

    @property
    def _name_of_seat(self) -> dict[int, str]:
        return {seat: name for name, seats in zip(self.names, self._seats, strict=True) for seat in seats}

    def _report(
        self,
        games: int,
        standings: dict[str, Standing],
        length: float,
        orders: tuple[tuple[Order, int], ...],
        failure: Failure | None = None,
    ) -> MatchResult:
        names = self._name_of_seat
        line_up = tuple(names[seat] for seat in range(self._variant.players))
        exact = self.exact and failure is None
        starts, unit = self.starts if failure is None else 0, self._game.length_unit
        return MatchResult(self._variant.name, line_up, starts, games, exact, standings, length, unit, orders, failure)


_line_up = lru_cache(maxsize=1)(LineUp)  # a worker plays many chunks of a match one after another


def _play_elsewhere(arguments: tuple[Any, ...], chunk: int) -> _Chunk | Failure:
    return _line_up(*arguments).play(chunk)


def _names(agents: Sequence[Agent | str]) -> list[str]:
    """A name for each: its own, its attribute `name`, or that of its class; with a number where two would be called alike."""
    names = [one if isinstance(one, str) else name_of(one) for one in agents]
    return [name if names.count(name) == 1 else f"{name}#{names[:i].count(name) + 1}" for i, name in enumerate(names)]


def _can_interrupt() -> bool:
    """Whether a timer of ours can interrupt Python code here; it can't where a handler was set that Python does not know."""
    main = threading.current_thread() is threading.main_thread()
    return hasattr(signal, "setitimer") and main and signal.getsignal(signal.SIGALRM) is not None


def _outer_timer() -> Callable[[], None] | None:
    """A function that sets the timer that runs now again, less the time that has passed by then; None if no timer runs."""
    if not _can_interrupt():
        return None
    left, every = signal.getitimer(signal.ITIMER_REAL)
    if left == 0:
        return None
    begin = time.monotonic()

    def set_again() -> None:
        late = 1e-6  # it was due during the call: it goes off at once
        signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - begin), late), every)

    return set_again


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in or after the block if it takes longer. No timer runs afterwards."""
    late = f"it took longer than {seconds:g} s"

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(late)

    begin = time.monotonic()
    can_interrupt = _can_interrupt()
    if can_interrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)  # so that no timer but ours reaches `stop`
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if can_interrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    if time.monotonic() - begin > seconds:
        raise TimeoutError(late)
