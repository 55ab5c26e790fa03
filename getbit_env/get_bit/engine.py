"""A batch of games with everything that an environment needs around the rules: streams, records, observations, masks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from getbit_env.core.blocks import gather
from getbit_env.core.layouts import Show
from getbit_env.core.messages import check_array, shown
from getbit_env.core.streams import game_streams
from getbit_env.get_bit.batch import Batch, begin_games, observe_games, one_game, play_actions, play_cards
from getbit_env.get_bit.notation import check_line
from getbit_env.get_bit.observations import Layout, Options, Record, new_observation_workspace, new_record, observe, record_start
from getbit_env.get_bit.rules import Games, Outcome, new_games, new_outcome, new_scratch, start_games
from getbit_env.get_bit.variants import Reward, Variant


def number_of_starts(variant: Variant) -> int:
    """Starting lines that the variant has."""
    return math.factorial(variant.robots)


def rotated_starts(variant: Variant, seed: int, first: int, number: int, every: bool) -> NDArray[np.int64]:
    """Starting lines for a match, each followed by the same line with its robots renamed: every player has every place.

    Args:
        variant: of the games.
        seed: from which lines are drawn.
        first: number of the first line.
        number: of lines.
        every: take all lines in turn instead of drawing them.

    Returns:
        `[number * players, R]`.
    """
    robots = variant.robots
    if every:
        orders = np.array(list(itertools.permutations(range(robots))))
        lines = orders[np.arange(first, first + number) % len(orders)]
    else:
        drawn = new_games(robots, number)
        streams = game_streams(np.random.SeedSequence((seed, 0)), number, first)
        begin, counters = np.ones(number, np.uint8), np.zeros(number, np.uint64)
        start_games(variant.rules, drawn, begin, streams, counters, new_scratch(robots), 0, number)
        lines = np.argsort(drawn.place, axis=0).T
    rotation = np.arange(variant.players)[:, None] * variant.robots_per_player
    return ((lines[:, None, :] + rotation) % robots).reshape(-1, robots)


_ndarray, _UINT8 = np.ndarray, np.dtype(np.uint8)  # looked up once: calls for single games count nanoseconds


class Engine:
    """A batch of G games of one variant, played in place.

    Axes: G games, P players, R robots, D entries of an observation, A actions. The arrays stay where they are; what is written to
    them changes the games.

    Attributes:
        variant, layout: the game and what its players see.
        state: `rules.Games`, the positions.
        outcome: `rules.Outcome` of the last round.
        record: `observations.Record`.
        observation: `[G, P, D]` float32, as of the last `observe`.
        action_mask: `[G, P, A]` int8, 1 = legal.
        actions: `[G, P]` int64, what was played in the last round.
        asked: `[G, P]` int64, for the actions that a caller will ask for: a round of one game is quicker from here.
        replaced: `[G, P]` uint8, 1 = the action asked for was illegal, and another one was played.
        streams, counters: `[G]` uint64, the games' random streams and how many numbers each has given.
    """

    layout: Layout
    asked: NDArray[np.int64]
    state: Games
    outcome: Outcome
    record: Record
    streams: NDArray[np.uint64]
    counters: NDArray[np.uint64]
    actions: NDArray[np.int64]
    replaced: NDArray[np.uint8]
    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]

    def __init__(
        self,
        variant: Variant,
        games: int,
        *,
        seed: int | np.random.SeedSequence | None = None,
        options: Options | None = None,
        reward: Reward | str = Reward.WIN,
        limb_reward: float = 0.0,
    ) -> None:
        """Allocate; `start` begins the games.

        Args:
            variant: the game.
            games: how many.
            seed: of the games' streams.
            options: of the observations.
            reward: what finishing places pay.
            limb_reward: added per limb lost.

        Raises:
            ValueError: there is no game, or no such reward.
        """
        if isinstance(games, bool) or not isinstance(games, int | np.integer) or games < 1:
            raise ValueError(f"games is a whole number from 1 on, not {shown(games)}")
        self.variant = variant
        self.layout = Layout(variant, options)
        self.size = games
        self._all = np.ones(games, np.uint8)
        self._to_all = np.full(games, Show.ALL, np.uint8)
        robots, players = variant.robots, variant.players
        self.asked = np.zeros((games, players), np.int64)
        self._keep(
            Batch(
                games=new_games(robots, games),
                outcome=new_outcome(robots, players, games),
                record=new_record(self.layout, games),
                streams=game_streams(seed, games),
                counters=np.zeros(games, np.uint64),
                pays=variant.reward_of_finish(reward).astype(np.float32),
                limb_reward=np.full(1, limb_reward, np.float32),
                actions=np.zeros((games, players), np.int64),
                replaced=np.zeros((games, players), np.uint8),
                cards=np.zeros((robots, games), np.uint8),
                observation=np.zeros((games, players, self.layout.size), np.float32),
                action_mask=np.ones((games, players, variant.actions), np.int8),
                scratch=new_scratch(robots, games),
                work=new_observation_workspace(self.layout, games),
            )
        )

    def _keep(self, batch: Batch) -> None:
        """Move the arrays of a batch to where the kernels take them from."""
        self._plan, self._block, batch = gather([*self.variant.rules, *self.layout.view], batch)
        self._batch = batch
        self.state, self.outcome, self.record = batch.games, batch.outcome, batch.record
        self.streams, self.counters = batch.streams, batch.counters
        self.actions, self.replaced = batch.actions, batch.replaced
        self.observation, self.action_mask = batch.observation, batch.action_mask
        self._is_one = self.size == 1

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plan": None, "_block": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._keep(self._batch)  # the arrays of a copy are copies, no longer parts of one block

    def seed(self, seed: int | np.random.SeedSequence | None) -> None:
        """Set every game to the beginning of its stream, by this seed."""
        self.streams[:] = game_streams(seed, self.size)
        self.counters[:] = 0

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """`[G]`, all False: games end by their rules alone."""
        return np.zeros(self.size, np.bool_)

    @property
    def lengths(self) -> NDArray[np.uint8]:
        """Rounds that each game has taken so far, `[G]`."""
        return self.state.rounds

    def choosing(self) -> NDArray[np.bool_]:
        """`[G, P]`: the player has a robot in the line of a game that goes on."""
        variant, line = self.variant, self.state.limbs > 0
        goes_on = line.sum(axis=0) > variant.last_line
        chooses: NDArray[np.bool_] = np.any(line.reshape(variant.players, -1, self.size), axis=1).T & goes_on[:, None]
        return chooses

    def start(self, begin: NDArray[np.uint8] | None = None, starts: ArrayLike | None = None) -> None:
        """Begin games, each with the next line of its stream.

        Args:
            begin: `[G]` uint8, the games to begin are not 0; all by default.
            starts: `[G, R]` robots front to back, to use instead of random lines.

        Raises:
            ValueError: a line is not an order of the robots, or an array is of another kind. No game has begun then.
        """
        begin = self._all if begin is None else begin
        if begin is not self._all and begin is not self.outcome.over:  # ours fit, and a single game has no time to lose
            check_array("begin", begin, (self.size,), np.uint8)
        if starts is None:
            begin_games(self._plan, begin, self.size)
            return
        begun = np.flatnonzero(begin)
        given = self._checked_starts(starts, begun)
        begin_games(self._plan, begin, self.size)
        self.state.place[given, begun[:, None]] = np.arange(self.variant.robots)
        record_start(self.state, self.record, begin, 0, self.size)

    def _checked_starts(self, starts: ArrayLike, begun: NDArray[np.intp]) -> NDArray[np.integer[Any]]:
        """The starting lines of the games that begin."""
        lines = np.asarray(starts)
        if lines.ndim != 2 or len(lines) != self.size:
            check_array("starts", lines, (self.size, self.variant.robots), np.integer)
        given: NDArray[np.integer[Any]] = lines[begun]
        places = np.arange(self.variant.robots)
        is_row_of_numbers = given.shape[1:] == places.shape and np.issubdtype(given.dtype, np.integer)
        for wrong in given[(np.sort(given, axis=1) != places).any(axis=1)] if is_row_of_numbers else given:
            check_line(self.variant, wrong.tolist())
        return given

    def play(self, actions: NDArray[np.integer]) -> None:
        """Play a round of every game that is not over; illegal cards are replaced by the lowest legal one and flagged.

        Args:
            actions: `[G, P]` int64, each within the action space; those of players who are out are ignored.

        Raises:
            ValueError: it is another kind of array.
        """
        check_array("actions", actions, self.actions.shape, np.integer)
        self.actions[:] = actions
        play_actions(self._plan, self.size)

    def play_cards(self, cards: NDArray[np.uint8]) -> None:
        """Play a round with given legal cards: `[R, G]`, one bit each, 0 for robots that are out.

        Raises:
            ValueError: it is another kind of array.
        """
        if cards.__class__ is not _ndarray or cards.shape != self._batch.cards.shape or cards.dtype is not _UINT8:
            check_array("cards", cards, (self.variant.robots, self.size), np.uint8)
        play_cards(self._plan, cards, self.size)

    def observe(self, show: NDArray[np.uint8] | None = None) -> None:
        """Write `observation` and `action_mask`.

        Args:
            show: `[G]` uint8 of `Show`, whom each game is shown to; all players by default, also those who are out.

        Raises:
            ValueError: it is another kind of array.
        """
        if show is None:
            show = self._to_all
        elif show.__class__ is not _ndarray or show.shape != self._all.shape or show.dtype is not _UINT8:
            check_array("show", show, (self.size,), np.uint8)
        if self.size == 1:
            one_game(self._plan, self.actions, show, False)
        else:
            observe_games(self._plan, show, self.size)

    def play_and_observe_one(self, actions: NDArray[np.int64]) -> None:
        """`play` and `observe` for a batch of one game, in a fraction of the time.

        Args:
            actions: `[1, P]` int64.

        Raises:
            ValueError: there are several games, or it is another kind of array.
        """
        if actions is not self.asked or not self._is_one:
            check_array("actions", actions, (1, self.variant.players), np.int64)
            if not self._is_one:
                raise ValueError(f"play_and_observe_one is for a batch of one game, this one has {self.size}: play, then observe")
        one_game(self._plan, actions, self._to_all, True)

    def observe_as(self, layout: Layout) -> NDArray[np.float32]:
        """The games as seen in another layout of the same game, face up or not: `[G, P, layout.size]`; all players look on.

        Raises:
            ValueError: it is the layout of another game, or it shows a history that this engine does not keep.
        """
        own, other = self.layout.view, layout.view if isinstance(layout, Layout) else None
        if other is None or any(
            getattr(own, of) != getattr(other, of) for of in ("players", "robots_per_player", "cards", "limbs")
        ):
            of_game = layout.variant if isinstance(layout, Layout) else shown(layout)
            raise ValueError(f"games of {self.variant} can't be observed with the layout of {of_game}")
        if other.history_rounds > own.history_rounds:
            raise ValueError("an engine keeps the history that such a layout shows only if its own options have history=True")
        observation = np.zeros((self.size, self.variant.players, layout.size), np.float32)
        mask, work = np.zeros_like(self.action_mask), new_observation_workspace(layout, self.size)
        last_line = self.variant.last_line
        observe(layout.view, last_line, self.state, self.record, self._to_all, work, observation, mask, 0, self.size)
        return observation
