"""What a game is, in one typed value: `GameSpec`. Matches, training, stored policies and loading by name know this and no game.

The protocols say what generic code asks of the parts of a game. Letters of axes: G games, P players, D entries of an observation,
A actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.agent import Agent
from getbit_env.core.choices import whole_numbers


class Dynamics(StrEnum):
    """Whether the players decide at the same time or in turns."""

    SIMULTANEOUS = "simultaneous"  # all players of a game at once
    SEQUENTIAL = "sequential"  # one player after another


@runtime_checkable
class Variant(Protocol):
    """One variant of a game: frozen, hashable, and told apart from all others by its `name`."""

    game: ClassVar[str]  # id of the game

    @property
    def players(self) -> int:
        """Number of players."""

    @property
    def actions(self) -> int:
        """Size of a player's action space."""

    @property
    def name(self) -> str:
        """Short name, which `GameSpec.parse_variant` reads."""

    def reward_of_finish(self, reward: str) -> NDArray[np.float64]:
        """What each finishing place pays: `[players + 1]` float64; entry 0 is for players without one.

        Players who tie share what the places that they fill pay (`core.finish.rewards_of_finish`).
        """


class Layout(Protocol):
    """What the entries of an observation mean."""

    @property
    def variant(self) -> Any:
        """The variant whose observations these are."""

    @property
    def options(self) -> Any:
        """What they show beyond what the rules make them show: a frozen dataclass."""

    @property
    def size(self) -> int:
        """Entries of an observation, D."""

    @property
    def view(self) -> Any:
        """The layout as the kernels take it; equal views show the same, entry by entry."""


class Outcome(Protocol):
    """What the last round, or decision, of a batch did."""

    @property
    def finish(self) -> NDArray[np.uint8]:
        """`[P, G]`, the finishing place (1 = winner) of a player whose fate was decided just now; else 0. Players can tie."""

    @property
    def over(self) -> NDArray[np.uint8]:
        """`[G]`, 1 = the game has just ended, by its rules or by a limit (`Engine.truncated`)."""

    @property
    def reward(self) -> NDArray[np.float32]:
        """`[P, G]`, what the last round or decision paid to each player."""


class Engine(Protocol):
    """A batch of games of one variant, played in place. A finished game stays as it is until it begins anew."""

    size: int  # G

    @property
    def variant(self) -> Any:
        """The variant of all games."""

    @property
    def layout(self) -> Any:
        """The layout of the observations."""

    @property
    def outcome(self) -> Any:
        """`Outcome` of the last round or decision."""

    @property
    def observation(self) -> NDArray[np.float32]:
        """`[G, P, D]`, as of the last `observe`."""

    @property
    def action_mask(self) -> NDArray[np.int8]:
        """`[G, P, A]`, 1 = legal."""

    @property
    def replaced(self) -> NDArray[np.uint8]:
        """`[G, P]`, 1 = the action asked for was illegal, and another one was played in its place."""

    @property
    def streams(self) -> NDArray[np.uint64]:
        """`[G]`, keys of the games' random streams."""

    @property
    def counters(self) -> NDArray[np.uint64]:
        """`[G]`, how many numbers each stream has given."""

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """`[G]`, the games that are over because a limit cut them off, such as a number of turns.

        Learning bootstraps from the last position of such a game. Every other game that is over ended by its rules: it is
        terminated, also where it is a draw in which nobody has a finishing place.
        """

    @property
    def lengths(self) -> NDArray[np.integer[Any]]:
        """`[G]`, rounds or turns that each game has taken so far."""

    def seed(self, seed: int | np.random.SeedSequence | None) -> None:
        """Set every game to the beginning of its stream, by this seed."""

    def start(self, begin: NDArray[np.uint8] | None = None, starts: Any = None) -> None:
        """Begin the games for which `begin` is not 0, from these starts, one a game, or from the next one of their streams."""

    def play(self, actions: NDArray[np.int64]) -> None:
        """Play a round, or a decision, of every game that is not over; `actions` `[G, P]`."""

    def observe(self, show: NDArray[np.uint8] | None = None) -> None:
        """Write observations and masks. `show` `[G]` is whom each game is shown to, a `layouts.Show`; all players by default."""

    def choosing(self) -> NDArray[np.bool_]:
        """`[G, P]`, the players who choose next."""


class SequentialEngine(Engine, Protocol):
    """The engine of a sequential game, some of whose games can wait."""

    def play(self, actions: NDArray[np.int64], active: NDArray[np.uint8] | None = None) -> None:
        """Play a decision of every game that is `active` (`[G]`, by default all) and not over; `actions` `[G, P]`."""


@dataclass(frozen=True)
class Statistic:
    """A number that a game counts for each player, shown in the results of matches.

    Attributes:
        name: as results name it.
        count: called with an engine whose games are over, it returns `[P, G]`.
    """

    name: str
    count: Callable[[Any], NDArray[np.integer[Any]]]


def describe_numbers(start: Any) -> list[int]:
    """A start that is a list of whole numbers, as JSON can hold it."""
    return [int(number) for number in start]


def read_numbers(variant: Any, value: Any) -> list[int]:  # noqa: ARG001 - of other games it depends on the variant
    """A start that is a list of whole numbers; the engine says whether it is one of the variant.

    Raises:
        ValueError: it is something else.
    """
    return whole_numbers("the start", value)


def start_in_snapshot(snapshot: Mapping[str, Any]) -> Any:
    """The entry `start` of an environment's snapshot."""
    return snapshot["start"]


@dataclass(frozen=True)
class StoredStarts:
    """How the start of a game stands in a replay. The defaults are for games whose starts are lists of whole numbers.

    Attributes:
        describe: makes a value for JSON of one start of `GameSpec.rotated_starts`.
        read: called with a variant and such a value, it returns the start as `Engine.start` takes it. It raises ValueError for a
            value that is none: the value can come from a damaged file.
        of_snapshot: makes such a value of the `snapshot` of an environment.
    """

    describe: Callable[[Any], Any] = describe_numbers
    read: Callable[[Any, Any], Any] = read_numbers
    of_snapshot: Callable[[Mapping[str, Any]], Any] = start_in_snapshot


@dataclass(frozen=True)
class GameSpec:
    """A game.

    Attributes:
        id: of its environment, with its version.
        title: its name for people.
        dynamics: who decides when.
        prefix: what the names of its variants and bots begin with; empty for one game only.
        default_variant: name of the variant that is used where none is named.
        length_unit: what the length of a game is counted in, in the plural.
        parse_variant: reads the name of a variant; raises ValueError for one that it does not know.
        make_engine: called as `(variant, games, seed=, options=, reward=, **engine options)`; of a sequential game it makes a
            `SequentialEngine`.
        make_layout: called as `(variant, options)`.
        make_env: the PettingZoo environment: a `ParallelEnv` if all decide at once, else an unwrapped `AECEnv`.
        options: the class of the observation's options, a frozen dataclass whose fields all have defaults.
        rewards: what finishing places can pay; the first member is the default.
        number_of_starts: how many starts a variant has, infinity if there are too many to play them all.
        rotated_starts: called as `(variant, seed, first, number, every)`, it returns starts for a match, each followed by the same
            with the players moved on by one seat, so that everybody has every place.
        bots: makers of agents that need no training, by name.
        default_opponents: the bots against which recipes train and judge unless others are named. All other bots are held out.
        can_end_undecided: whether games can end without anybody in the first place, as where a limit cuts them off. Where they
            can't, the wins of a game add up to 1.
        statistics: what matches count beside wins and places.
        named_agents: other agents by name, each as the text `module:attribute` of what makes it.
        agent_files: what loads an agent from a file, by the ending of its name, likewise.
        agent_wrappers: what `NAME:` before the name of an agent does to it, likewise; called with the agent and its name.
        rendering: the module that draws the game, with `scene_of_batch` and `picture`, imported when something is drawn; empty if
            nothing does.
        frames: the module that tells games to the viewer in the browser, with a `Recorder` (`getbit_env.viewer.Recorder`),
            likewise.
        habits: the module that counts what players do where, with a class `Habits` (`core.habits.Habits`), likewise.
        stored_starts: how the start of a game stands in a replay.
        secret_options: names of options that show what the rules hide; agents that ask for them are refused in matches.
    """

    id: str
    title: str
    dynamics: Dynamics
    prefix: str
    default_variant: str
    length_unit: str
    parse_variant: Callable[[str], Variant]
    make_engine: Callable[..., Engine]
    make_layout: Callable[..., Layout]
    make_env: Callable[..., Any]
    options: type[Any]
    rewards: type[StrEnum]
    number_of_starts: Callable[[Any], float]
    rotated_starts: Callable[[Any, int, int, int, bool], Any]
    bots: Mapping[str, Callable[[], Agent]]
    default_opponents: tuple[str, ...]
    can_end_undecided: bool = False
    statistics: tuple[Statistic, ...] = ()
    named_agents: Mapping[str, str] = field(default_factory=dict)
    agent_files: Mapping[str, str] = field(default_factory=dict)
    agent_wrappers: Mapping[str, str] = field(default_factory=dict)
    rendering: str = ""
    frames: str = ""
    habits: str = ""
    stored_starts: StoredStarts = StoredStarts()
    secret_options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.title
