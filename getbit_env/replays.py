"""Replays: recorded games as JSON, one file a game, which play again to the same end. `docs/replays.md` is the format.

A replay is data. It names agents but needs none of them: the decisions are in it. `load_replay` checks every field of a file, and
`Replay.verify` plays it by the rules of this package and compares where it leads.

Axes: G games, P players, D entries of an observation, A actions.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import whole_number
from getbit_env.core.files import write_text
from getbit_env.core.messages import shown
from getbit_env.core.rendering import as_html_strip, as_text
from getbit_env.core.snapshots import same
from getbit_env.core.spec import Dynamics, GameSpec, Variant
from getbit_env.game_registry import find_game, find_variant, game_ids, game_of
from getbit_env.version import __version__

FORMAT, FORMAT_VERSION = "getbit-replay", 1
SUFFIX = ".replay.json"
MOST_BYTES = 16_000_000  # of a file
MOST_MOVES = 100_000  # of a game
LONGEST_NAME = 500  # letters of the name of an agent
DIGITS = 6  # of probabilities and values
LEAST_CHANCE = 0.5 * 10**-DIGITS  # smaller ones are not kept
SUM_ERROR = 1e-3  # of probabilities that were rounded, at most A times half of the last digit

Probabilities = Mapping[int, float]


class ReplayError(ValueError):
    """A replay is damaged, or of another format or game; the message says which, and where."""


@dataclass(frozen=True)
class Move:
    """What was decided at one time: a round of a simultaneous game, a decision of a sequential one.

    Attributes:
        actions: an action a player; None for players who had nothing to choose.
        probabilities: for each player the chance of every action that it had one for; None where the agent gives none.
        values: for each player what it expected to be paid; None where the agent does not say.
    """

    actions: tuple[int | None, ...]
    probabilities: tuple[Probabilities | None, ...] | None = None
    values: tuple[float | None, ...] | None = None


@dataclass(frozen=True)
class End:
    """Where the moves lead.

    Attributes:
        over: the game is over by its rules; else it was broken off.
        placement: finishing place of each player, 0 if it has none.
        length: of the game, in its `length_unit`.
        statistics: what the game counts, a number a player.
        digest: of all that all players saw.
    """

    over: bool
    placement: tuple[int, ...]
    length: int
    statistics: dict[str, tuple[int, ...]]
    digest: str


@dataclass(frozen=True)
class Replay:
    """A recorded game.

    Attributes:
        game: id of its environment; the number at its end is the version of the rules.
        variant: name of the variant.
        package: version of the package that recorded it.
        agents: who played, a name a player.
        seed: of the match, or None.
        number: of the game in its match, or None.
        start: the starting line or deal, as JSON holds it.
        moves: all that was decided.
        end: where that led.
    """

    game: str
    variant: str
    package: str
    agents: tuple[str, ...]
    seed: int | None
    number: int | None
    start: Any
    moves: tuple[Move, ...]
    end: End

    @property
    def actions(self) -> list[list[int | None]]:
        """The joint actions, `[moves][players]`."""
        return [list(move.actions) for move in self.moves]

    @property
    def winners(self) -> tuple[str, ...]:
        """The names of those who finished first."""
        return tuple(name for name, place in zip(self.agents, self.end.placement, strict=True) if place == 1)

    def __str__(self) -> str:
        unit = find_game(self.game).length_unit
        end = f"{' and '.join(self.winners) or 'nobody'} won" if self.end.over else "broken off"
        return f"{self.variant}: {' against '.join(self.agents)}, {self.end.length} {unit}, {end}"

    def __repr__(self) -> str:
        return f"<Replay {self}>"

    def _repr_html_(self) -> str:
        """What notebooks show: every position, or the text alone where nothing draws the game, or it can't be played."""
        game = find_game(self.game)
        if not game.rendering:
            return as_text(str(self))
        rendering = import_module(game.rendering)
        try:
            strip = as_html_strip(rendering, (rendering.scene_of_batch(engine, 0) for engine in self.positions()))
        except ReplayError as error:
            return as_text(f"{self}\n{error}")
        return f"{as_text(str(self))}\n{strip}"

    def verify(self) -> None:
        """Play the game again, and compare.

        Raises:
            ReplayError: a move is not legal, or the moves lead to something else than what is recorded.
        """
        for _ in self.positions():
            pass

    def positions(self) -> Iterator[Any]:
        """Play the game again: yields an engine of one game at the start and after each move. It is the same engine every time.

        Raises:
            ReplayError: as `verify`, when it comes to it.
        """
        variant = find_variant(self.variant)
        game = game_of(variant)
        again = _begun(game, variant, self.start)
        yield again.engine
        for number, move in enumerate(self.moves, 1):
            again.check(number, move)
            again.play([move.actions])
            yield again.engine
        end = again.ends()[0]
        for name in ("over", "placement", "length", "statistics", "digest"):
            says, is_so = getattr(self.end, name), getattr(end, name)
            if says != is_so:
                raise ReplayError(f"the replay says {name} {shown(says)} at its end, but its moves lead to {shown(is_so)}")

    def film(self, title: str | None = None) -> dict[str, Any]:
        """The game as the viewer shows it (`getbit_env.viewer`), with what the agents thought.

        Raises:
            ValueError: the game has no viewer, or a move is not legal.
        """
        from getbit_env.viewer import film  # here, since few who read replays show them

        variant = find_variant(self.variant)
        start = game_of(variant).stored_starts.read(variant, self.start)
        notes = [_note(move) for move in self.moves]
        return film(variant, start, self.actions, agents=self.agents, notes=notes, title=title)

    def to_dict(self) -> dict[str, Any]:
        """The replay as JSON can hold it."""
        end = self.end
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "package": self.package,
            "game": self.game,
            "variant": self.variant,
            "agents": list(self.agents),
            "seed": self.seed,
            "number": self.number,
            "start": self.start,
            "moves": [_move_to_dict(move) for move in self.moves],
            "end": {
                "over": end.over,
                "placement": list(end.placement),
                "length": end.length,
                "statistics": {name: list(counts) for name, counts in end.statistics.items()},
                "digest": end.digest,
            },
        }

    def to_json(self) -> str:
        """The replay as a file holds it: a line for each move."""
        data = self.to_dict()
        moves = ",\n".join(f"  {json.dumps(move)}" for move in data["moves"])
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in data.items() if key != "moves"]
        lines.insert(-1, f' "moves": [\n{moves}\n ]' if moves else ' "moves": []')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, or into a folder under a name that says what it is; whole or not at all.

        Returns:
            The file.

        Raises:
            OSError: it can't be written.
        """
        file = Path(path)
        if file.is_dir():
            file = file / self.file_name
        write_text(file, self.to_json())
        return file

    @property
    def file_name(self) -> str:
        """A name for its file: the same for the same game of the same match."""
        line_up = "_".join(re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")[-20:] or "agent" for name in self.agents)[:100]
        told_apart = hashlib.sha256(json.dumps([self.agents, self.seed, self.start, self.end.digest]).encode()).hexdigest()[:8]
        number = "" if self.number is None else f"-{self.number:06}"
        return f"{self.variant}-{line_up}{number}-{told_apart}{SUFFIX}"


def load_replay(path: str | os.PathLike[str]) -> Replay:
    """Read a replay, and check every field of it. `Replay.verify` plays it as well.

    Raises:
        OSError: the file can't be read.
        ReplayError: it is no replay, damaged, or of another version of the format or of the rules.
    """
    file = Path(path)
    if file.stat().st_size > MOST_BYTES:
        raise ReplayError(f"{file} is larger than {MOST_BYTES:,} bytes, which no replay is")
    try:
        return parse_replay(file.read_bytes())
    except ReplayError as error:
        raise ReplayError(f"{file}: {error}") from error


def parse_replay(text: str | bytes) -> Replay:
    """The replay in a text; see `load_replay`.

    Raises:
        ReplayError: see `load_replay`.
    """
    try:
        data = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except ReplayError:
        raise
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"this is no JSON, so no replay: {error}") from error
    return _read(data)


def replay_of(env: Any, agents: Sequence[str] | None = None, *, seed: int | None = None) -> Replay:
    """The game that a PettingZoo environment is in, to be called when it is over, before the next `reset`.

    Args:
        env: an environment with `snapshot`, in wrappers or not, or one seat of it (`SingleAgentEnv`).
        agents: the name of each player's agent; by default the names of the environment's agents.
        seed: that `reset` was given; it is noted, and no more.

    Returns:
        The game so far. One that was cut off, or goes on, is a replay as well.

    Raises:
        ValueError: there are not as many names as players.
        TypeError: it is no environment with a snapshot.
        RuntimeError: the environment was never reset.
    """
    inner = getattr(env, "multi_agent_env", env)
    inner = getattr(inner, "unwrapped", inner)
    inner = getattr(inner, "multi_agent_env", inner)
    if not callable(getattr(inner, "snapshot", None)) or not isinstance(getattr(inner, "variant", None), Variant):
        raise TypeError(f"a replay is made of an environment with `snapshot` and `variant`, which {shown(env)} has not")
    variant: Variant = inner.variant
    names = tuple(inner.possible_agents) if agents is None else tuple(agents)
    if len(names) != variant.players or not all(isinstance(name, str) for name in names):
        raise ValueError(f"agents holds {variant.players} names, one a player of {variant}, not {shown(agents)}")
    game, snapshot = game_of(variant), inner.snapshot()
    again = _Again(game, variant, 1)
    start = game.stored_starts.of_snapshot(snapshot)
    again.begin([start])
    moves = []
    for played in snapshot["actions"]:
        joint = played
        if game.dynamics == Dynamics.SEQUENTIAL:
            joint = [played if chooses else None for chooses in again.engine.choosing()[0]]
        moves.append(Move(tuple(joint)))
        again.play([moves[-1].actions])
    return Replay(game.id, variant.name, __version__, names, seed, None, start, tuple(moves), again.ends()[0])


class Recorder:
    """Records games of a batch while they are played, and makes replays of them; for what plays batches, such as matches.

    Attributes:
        games: how many are recorded, the first ones of the batch.
    """

    def __init__(self, variant: Variant, starts: Sequence[Any], games: int) -> None:
        """Begin to record.

        Args:
            variant: of the games.
            starts: of all games of the batch, as `GameSpec.rotated_starts` gives them.
            games: how many are recorded.
        """
        self.games = games
        self._variant, self._game = variant, game_of(variant)
        self._starts = [self._game.stored_starts.describe(start) for start in starts[:games]]
        self._moves: list[tuple[NDArray[np.int64], NDArray[np.bool_], dict[str, NDArray[np.float64]]]] = []
        self._now: dict[str, NDArray[np.float64]] = {}

    def think(self, name: str, seats: NDArray[np.int64], told: NDArray[np.float64]) -> None:
        """Note what some seats think of the next move.

        Args:
            name: `probabilities` or `values`.
            seats: `[S]`.
            told: `[G * S, A]` or `[G * S]`, NaN for nothing.
        """
        shape = (self.games, self._variant.players, *told.shape[1:])
        into = self._now.setdefault(name, np.full(shape, math.nan))
        into[:, seats] = told.reshape(self.games, len(seats), *told.shape[1:])

    def move(self, actions: NDArray[np.int64], chooses: NDArray[np.bool_]) -> None:
        """Note a move: `actions` `[G, P]`, and who `chooses`, `[G, P]`."""
        self._moves.append((actions[: self.games].copy(), chooses[: self.games].copy(), self._now))
        self._now = {}

    def replays(self, agents: Sequence[str], seed: int | None, first: int) -> list[Replay]:
        """The games, which are over, numbered from `first` on."""
        if self.games == 0:
            return []
        found: list[list[Move]] = [[] for _ in range(self.games)]
        again = _Again(self._game, self._variant, self.games)
        again.begin(self._starts)
        nothing = (None,) * self._variant.players
        for actions, chooses, thought in self._moves:
            joint: list[tuple[int | None, ...]] = [nothing] * self.games
            for g in np.flatnonzero(chooses.any(axis=1)).tolist():
                joint[g] = tuple(int(a) if c else None for a, c in zip(actions[g], chooses[g], strict=True))
                found[g].append(Move(joint[g], _probabilities(thought, g, chooses[g]), _values(thought, g, chooses[g])))
            again.play(joint)
        return [
            Replay(
                self._game.id, self._variant.name, __version__, tuple(agents), seed, first + g, self._starts[g], tuple(moves), end
            )
            for g, (moves, end) in enumerate(zip(found, again.ends(), strict=True))
        ]


def _probabilities(thought: Mapping[str, Any], g: int, chooses: Any) -> tuple[Probabilities | None, ...] | None:
    if "probabilities" not in thought:
        return None
    rows: list[Probabilities | None] = []
    for row, asked in zip(thought["probabilities"][g], chooses, strict=True):
        told = asked and np.isfinite(row).all()
        rows.append({int(a): round(float(row[a]), DIGITS) for a in np.flatnonzero(row >= LEAST_CHANCE)} if told else None)
    return tuple(rows) if any(rows) else None


def _values(thought: Mapping[str, Any], g: int, chooses: Any) -> tuple[float | None, ...] | None:
    if "values" not in thought:
        return None
    rows = zip(thought["values"][g].tolist(), chooses, strict=True)
    values = tuple(round(value, DIGITS) if asked and math.isfinite(value) else None for value, asked in rows)
    return values if any(value is not None for value in values) else None


class _Again:
    """Games that are played again, with the default observations, whatever the agents wanted to see."""

    def __init__(self, game: GameSpec, variant: Variant, games: int) -> None:
        self.game, self.variant = game, variant
        self.engine = game.make_engine(variant, games, seed=0)
        self._digests = [hashlib.sha256(variant.name.encode()) for _ in range(games)]
        self._finish = np.zeros((variant.players, games), np.int64)
        self._running = np.ones(games, bool)

    def begin(self, starts: Sequence[Any]) -> None:
        """Begin all games, from starts as replays hold them."""
        self.engine.start(starts=[self.game.stored_starts.read(self.variant, start) for start in starts])
        self._look(self._running)

    def check(self, number: int, move: Move) -> None:
        """Refuse a move of a batch of one game that the rules don't allow."""
        if not self._running[0]:
            raise ReplayError(f"move {number} of the replay can't be played: the game is over")
        chooses, mask = self.engine.choosing()[0], self.engine.action_mask[0]
        for p, action in enumerate(move.actions):
            legal = np.flatnonzero(mask[p]).tolist()
            if (action is not None) != bool(chooses[p]):
                wanted = f"one of {legal}" if chooses[p] else "null, since it has nothing to choose"
                raise ReplayError(
                    f"move {number} of the replay can't be played: that of player {p} is {wanted}, not {shown(action)}"
                )
            if action is not None and action not in legal:
                raise ReplayError(f"move {number} of the replay can't be played: player {p} plays {action}, legal are {legal}")
            chances = None if move.probabilities is None else move.probabilities[p]
            if chances is not None and not (set(chances) <= set(legal) and chooses[p]):
                raise ReplayError(f"move {number} of the replay gives player {p} chances of actions that are not legal")

    def play(self, joint: Sequence[Sequence[int | None]]) -> None:
        """Play a move of each game; games that are over stay as they are."""
        actions = np.array([[0 if action is None else action for action in row] for row in joint], np.int64)
        self.engine.play(actions)
        running = self._running.copy()
        self._finish[:, running] += self.engine.outcome.finish[:, running]
        self._running &= self.engine.outcome.over == 0
        self._look(running)

    def _look(self, games: NDArray[np.bool_]) -> None:
        self.engine.observe()
        for g in np.flatnonzero(games):
            self._digests[g].update(np.packbits(self.engine.observation[g] != 0).tobytes())

    def ends(self) -> list[End]:
        """Where each game is now."""
        counted = {one.name: np.asarray(one.count(self.engine)) for one in self.game.statistics}
        return [
            End(
                not bool(self._running[g]),
                tuple(self._finish[:, g].tolist()),
                int(self.engine.lengths[g]),
                {name: tuple(counts[:, g].tolist()) for name, counts in counted.items()},
                self._digests[g].hexdigest()[:16],
            )
            for g in range(self.engine.size)
        ]


def _begun(game: GameSpec, variant: Variant, start: Any) -> _Again:
    """One game at its start.

    Raises:
        ReplayError: it is no start of the variant.
    """
    again = _Again(game, variant, 1)
    try:
        again.begin([start])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ReplayError(f"the replay's start is none of {variant}: {error}") from error
    return again


# --- reading -----------------------------------------------------------------------------------------------------------------


def _read(data: Any) -> Replay:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReplayError(f"this is no replay: a replay is a JSON object with the format {FORMAT!r}")
    if not same(data.get("format_version"), FORMAT_VERSION):
        raise ReplayError(
            f"the replay has format version {shown(data.get('format_version'))}; this package reads version {FORMAT_VERSION}"
        )
    keys = ("format", "format_version", "package", "game", "variant", "agents", "seed", "number", "start", "moves", "end")
    _check_keys("the replay", data, keys)
    game_id, name = _text("game", data["game"], 100), _text("variant", data["variant"], 200)
    if game_id not in game_ids():
        rest = game_id.rpartition("-v")[0]
        others = [known for known in game_ids() if known.rpartition("-v")[0] == rest]
        why = f"other rules than {others[0]}, which this package plays" if others else f"none of {', '.join(game_ids())}"
        raise ReplayError(f"the replay is of {game_id!r}: {why}")
    game = find_game(game_id)
    try:
        variant = game.parse_variant(name)
    except ValueError as error:
        raise ReplayError(f"the replay's variant: {error}") from error
    players = variant.players
    agents = tuple(_text("each entry of agents", one, LONGEST_NAME) for one in _list("agents", data["agents"], players, players))
    moves = tuple(_read_move(number, move, variant) for number, move in enumerate(_list("moves", data["moves"], 0, MOST_MOVES), 1))
    _begun(game, variant, data["start"])
    return Replay(
        game_id,
        name,
        _text("package", data["package"], 100),
        agents,
        _count("seed", data["seed"]),
        _count("number", data["number"]),
        data["start"],
        moves,
        _read_end(data["end"], game, players),
    )


def _read_move(number: int, data: Any, variant: Variant) -> Move:
    where, players = f"move {number}", variant.players
    _check_keys(where, data, ("actions",), ("probabilities", "values"))
    actions = [
        None if action is None else _whole(f"each action of {where}", action, 0, variant.actions - 1)
        for action in _list(f"the actions of {where}", data["actions"], players, players)
    ]
    probabilities = values = None
    if "probabilities" in data:
        rows = _list(f"the probabilities of {where}", data["probabilities"], players, players)
        probabilities = tuple(None if row is None else _read_chances(where, row, variant.actions) for row in rows)
    if "values" in data:
        rows = _list(f"the values of {where}", data["values"], players, players)
        values = tuple(None if value is None else _real(f"each value of {where}", value) for value in rows)
    return Move(tuple(actions), probabilities, values)


def _read_chances(where: str, data: Any, actions: int) -> Probabilities:
    name = f"the probabilities of {where}"
    if not isinstance(data, dict) or not 1 <= len(data) <= actions:
        raise ReplayError(f"{name} are an object such as {{'2': 0.25, '4': 0.75}} for each player, or null, not {shown(data)}")
    chances = {}
    for key, value in data.items():
        if not re.fullmatch("0|[1-9][0-9]{0,6}", key, re.ASCII) or int(key) >= actions:
            raise ReplayError(f"{name}: {shown(key)} is no action; actions are 0 to {actions - 1}")
        chances[int(key)] = _real(name, value)
        if not 0 <= chances[int(key)] <= 1:
            raise ReplayError(f"{name} are numbers from 0 to 1, not {value!r}")
    if abs(sum(chances.values()) - 1) > SUM_ERROR:
        raise ReplayError(f"{name} sum to 1, not to {sum(chances.values()):.6g}")
    return chances


def _read_end(data: Any, game: GameSpec, players: int) -> End:
    _check_keys("the end", data, ("over", "placement", "length", "statistics", "digest"))
    if not isinstance(data["over"], bool):
        raise ReplayError(f"over is true or false, not {shown(data['over'])}")
    _check_keys("statistics", data["statistics"], tuple(one.name for one in game.statistics))
    if not isinstance(data["digest"], str) or not re.fullmatch("[0-9a-f]{16}", data["digest"]):
        raise ReplayError(f"digest is 16 hexadecimal digits, not {shown(data['digest'])}")

    def numbers(name: str, value: Any, most: int) -> tuple[int, ...]:
        return tuple(_whole(f"each entry of {name}", one, 0, most) for one in _list(name, value, players, players))

    return End(
        data["over"],
        numbers("placement", data["placement"], players),
        _whole("length", data["length"], 0, MOST_MOVES),
        {name: numbers(name, counts, 1 << 62) for name, counts in data["statistics"].items()},
        data["digest"],
    )


def _check_keys(what: str, data: Any, keys: Sequence[str], optional: Sequence[str] = ()) -> None:
    if not isinstance(data, dict):
        raise ReplayError(f"{what} is an object with {', '.join(keys)}, not {shown(data)}")
    if missing := [key for key in keys if key not in data]:
        raise ReplayError(f"{what} lacks {', '.join(missing)}")
    if unknown := [key for key in data if key not in keys and key not in optional]:
        raise ReplayError(f"{what} has {', '.join(shown(key) for key in unknown[:5])}, which no replay has there")


def _list(name: str, value: Any, least: int, most: int) -> list[Any]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        long = f"{least} entries" if least == most else f"at most {most} entries"
        raise ReplayError(f"{name} is a list of {long}, not {shown(value)}")
    return value


def _text(name: str, value: Any, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise ReplayError(f"{name} is a text of at most {most} letters, not {shown(value)}")
    return value


def _whole(name: str, value: Any, least: int, most: int) -> int:
    try:
        return whole_number(name, value, least, most)
    except ValueError as error:
        raise ReplayError(str(error)) from None


def _count(name: str, value: Any) -> int | None:
    return None if value is None else _whole(name, value, 0, 1 << 128)


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e9:
        raise ReplayError(f"{name} is a number, not {shown(value)}")
    return float(value)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ReplayError(f"the replay says {shown(key)} twice")
        found[key] = value
    return found


def _no_number(text: str) -> float:
    raise ReplayError(f"{text} is no number of JSON")


def _note(move: Move) -> dict[int, dict[str, Any]]:
    """What players thought, as the viewer takes it."""
    note: dict[int, dict[str, Any]] = {}
    for name, told in (("probabilities", move.probabilities), ("value", move.values)):
        for player, thought in enumerate(told or ()):
            if thought is not None:
                note.setdefault(player, {})[name] = thought
    return note


def _move_to_dict(move: Move) -> dict[str, Any]:
    data: dict[str, Any] = {"actions": list(move.actions)}
    if move.probabilities is not None:
        chances = [None if row is None else {str(action): chance for action, chance in row.items()} for row in move.probabilities]
        data["probabilities"] = chances
    if move.values is not None:
        data["values"] = list(move.values)
    return data
