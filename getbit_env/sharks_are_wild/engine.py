"""A batch of games with everything that an environment needs around the rules: streams, deals, observations, masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.blocks import gather
from getbit_env.core.layouts import Show
from getbit_env.core.messages import check_array, shown
from getbit_env.core.streams import game_streams
from getbit_env.sharks_are_wild.batch import Batch, head_of, play_and_observe_one
from getbit_env.sharks_are_wild.observations import Layout, Options, observe
from getbit_env.sharks_are_wild.rules import (
    BLOCK,
    OVER,
    Games,
    Outcome,
    Rules,
    deal,
    new_games,
    new_outcome,
    play,
    replace_illegal_actions,
    start_games,
)
from getbit_env.sharks_are_wild.variants import KIND_NAMES, Reward, Variant


class Deal(NamedTuple):
    """How a game begins."""

    cards: Sequence[int]  # kinds of the whole deck, the first that is dealt first
    first: int  # the player who begins
    stream: int | None = None  # key of the game's random stream from here on; None: that which it has


class Engine:
    """A batch of G games of one variant, played in place, a decision at a time.

    Axes: G games, P players, D entries of an observation, A actions.

    Attributes:
        variant, layout: the game and what its players see.
        state: `rules.Games`, the positions.
        outcome: `rules.Outcome` of the last decision.
        observation: `[G, P, D]` float32, as of the last `observe`.
        action_mask: `[G, P, A]` int8, 1 = legal.
        actions: `[G, P]` int64, what was played last; for players who decided nothing, what was given.
        asked: `[G, P]` int64, for the actions that a caller will ask for: a decision of one game is quicker from here.
        replaced: `[G, P]` uint8, 1 = the action asked for was illegal, and another one was played.
        streams, counters: `[G]` uint64, the games' random streams and how many numbers each has given.
    """

    layout: Layout
    rules: Rules
    asked: NDArray[np.int64]
    state: Games
    outcome: Outcome
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
    ) -> None:
        """Allocate; `start` begins the games.

        Args:
            variant: the game.
            games: how many.
            seed: of the games' streams.
            options: of the observations.
            reward: what finishing places pay.

        Raises:
            ValueError: there is no game, or no such reward.
        """
        if isinstance(games, bool) or not isinstance(games, int | np.integer) or games < 1:
            raise ValueError(f"games is a whole number from 1 on, not {shown(games)}")
        self.variant = variant
        self.layout = Layout(variant, options)
        self.size = games
        self.rules = variant.rules
        self._keep(
            Batch(
                games=new_games(self.rules, games),
                outcome=new_outcome(variant.players, games),
                deck=self.rules.deck,
                streams=game_streams(seed, games),
                counters=np.zeros(games, np.uint64),
                pays=variant.reward_of_finish(reward).astype(np.float32),
                actions=np.zeros((games, variant.players), np.int64),
                replaced=np.zeros((games, variant.players), np.uint8),
                observation=np.zeros((games, variant.players, self.layout.size), np.float32),
                action_mask=np.ones((games, variant.players, variant.actions), np.int8),
                active=np.ones(games, np.uint8),
                show=np.full(games, Show.CHOOSING, np.uint8),
            )
        )
        self.asked = np.zeros((games, variant.players), np.int64)
        self._to_all = np.full(games, Show.ALL, np.uint8)

    def _keep(self, batch: Batch) -> None:
        """Move the arrays of a batch to where the kernels take them from."""
        self._plan, self._block, batch = gather(head_of(self.rules, self.layout.view), batch)
        self._batch = batch
        self.state, self.outcome, self._pays, self._all = batch.games, batch.outcome, batch.pays, batch.active
        self.streams, self.counters = batch.streams, batch.counters
        self.actions, self.replaced = batch.actions, batch.replaced
        self.observation, self.action_mask = batch.observation, batch.action_mask

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plan": None, "_block": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._keep(self._batch)  # the arrays of a copy are copies, no longer parts of one block

    def seed(self, seed: int | np.random.SeedSequence | None) -> None:
        """Set every game to the beginning of its stream, by this seed."""
        self.streams[:] = game_streams(seed, self.size)
        self.counters[:] = 0

    def start(self, begin: NDArray[np.uint8] | None = None, starts: Sequence[Deal] | None = None) -> None:
        """Begin games, each with the next shuffle of its stream.

        Args:
            begin: `[G]` uint8, the games to begin are not 0; all by default.
            starts: a deal for each game, to use instead of a shuffle.

        Raises:
            ValueError: a deal is not an order of the deck and a player, or an array is of another kind. No game has begun then.
        """
        begin = self._all if begin is None else begin
        check_array("begin", begin, (self.size,), np.uint8)
        if starts is None:
            start_games(self.rules, self.state, begin, self.streams, self.counters, 0, self.size)
            return
        if len(starts) != self.size:
            raise ValueError(f"starts is a deal for each of {self.size} games, not {len(starts)}")
        for cards, first, stream in starts:
            check_deal(self.variant, cards, first)
            if stream is not None and (not _is_whole(stream) or not 0 <= stream < 1 << 64):
                raise ValueError(f"the stream of a deal is a whole number of 64 bits or None, not {shown(stream)}")
        for g in np.flatnonzero(begin).tolist():
            cards, first, stream = starts[g]
            if stream is not None:
                self.streams[g], self.counters[g] = stream, 0
            self.state.draw[g] = np.asarray(cards)[::-1]
            deal(self.rules, self.state, g, first)

    def play(self, actions: NDArray[np.integer], active: NDArray[np.uint8] | None = None) -> None:
        """Play a decision of every game that is not over; illegal actions are replaced by the lowest legal one and flagged.

        Args:
            actions: `[G, P]` int64, each within the action space; those of players who decide nothing are ignored.
            active: `[G]` uint8; games for which it is 0 wait. All play by default.

        Raises:
            ValueError: an array is of another kind.
        """
        active = self._all if active is None else active
        check_array("actions", actions, self.actions.shape, np.integer)
        check_array("active", active, (self.size,), np.uint8)
        self.actions[:] = actions
        rules, games, size = self.rules, self.state, self.size
        replace_illegal_actions(rules, games, self.actions, active, self.replaced, 0, size)
        play(rules, games, self.actions, active, self.streams, self.counters, self._pays, self.outcome, 0, size)

    def observe(self, show: NDArray[np.uint8] | None = None) -> None:
        """Write `observation` and `action_mask`.

        Args:
            show: `[G]` uint8 of `Show`, whom each game is shown to; all players by default.

        Raises:
            ValueError: it is another kind of array.
        """
        show = self._to_all if show is None else show
        check_array("show", show, (self.size,), np.uint8)
        observe(self.layout.view, self.rules, self.state, show, self.observation, self.action_mask, 0, self.size)

    def step(self, actions: NDArray[np.integer]) -> int:
        """`play` a batch of one game, and `observe` it for the player who decides next, in one call of compiled code.

        Args:
            actions: `[1, P]` int64.

        Returns:
            The player who decides next.

        Raises:
            ValueError: there are several games, or it is another kind of array.
        """
        if self.size != 1:
            raise ValueError(f"step is for a batch of one game, this one has {self.size}: play, then observe")
        if actions is not self.asked:
            check_array("actions", actions, self.actions.shape, np.integer)
        self.actions[:] = actions
        return play_and_observe_one(self._plan)

    def observe_as(self, layout: Layout) -> NDArray[np.float32]:
        """The games as seen in another layout of the same variant: `[G, P, layout.size]`; all players look on.

        Raises:
            ValueError: it is the layout of another game.
        """
        if not isinstance(layout, Layout) or layout.variant != self.variant:
            of_game = layout.variant if isinstance(layout, Layout) else shown(layout)
            raise ValueError(f"games of {self.variant} can't be observed with the layout of {of_game}")
        observation = np.zeros((self.size, self.variant.players, layout.size), np.float32)
        mask = np.zeros_like(self.action_mask)
        observe(layout.view, self.rules, self.state, self._to_all, observation, mask, 0, self.size)
        return observation

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """`[G]`: the turn limit cut the game off (S4)."""
        state = self.state
        cut: NDArray[np.bool_] = (state.stage == OVER) & (state.turns > 0) & (state.coins < self.variant.coins).all(axis=1)
        return cut

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Turns that each game has taken so far, `[G]`."""
        return self.state.turns

    def choosing(self) -> NDArray[np.bool_]:
        """`[G, P]`: the player decides next."""
        state = self.state
        decides = np.where(state.stage == BLOCK, state.victim, state.player)
        is_asked: NDArray[np.bool_] = (decides[:, None] == np.arange(self.variant.players)) & (state.stage != OVER)[:, None]
        return is_asked


def number_of_starts(variant: Variant) -> float:  # noqa: ARG001 - of the other game it depends on the variant
    """More than anybody plays."""
    return math.inf


def rotated_starts(variant: Variant, seed: int, first: int, number: int, every: bool) -> list[Deal]:  # noqa: ARG001 - likewise
    """Deals for a match, each followed by the same with the seats moved on: every player has every hand.

    Args:
        variant: of the games.
        seed: from which deals and later shuffles are drawn.
        first: number of the first deal.
        number: of deals.
        every: no deals are enumerated: there are too many.

    Returns:
        `number * players` deals.
    """
    engine = Engine(variant, number)
    engine.streams[:] = game_streams(np.random.SeedSequence((seed, 0)), number, first)
    engine.start()
    cards, begins = engine.state.draw[:, ::-1].tolist(), engine.state.player.tolist()
    later = game_streams(np.random.SeedSequence((seed, 2)), number, first).tolist()
    return [
        Deal(cards[k], (begins[k] + moved) % variant.players, later[k]) for k in range(number) for moved in range(variant.players)
    ]


def check_deal(variant: Variant, cards: Sequence[int], first: int) -> None:
    """Refuse a deal that is not one of the variant.

    Raises:
        ValueError: with what is wrong.
    """
    wanted = variant.rules.deck.tolist()
    if len(cards) != len(wanted) or not all(map(_is_whole, cards)) or sorted(cards) != wanted:
        counts = ", ".join(f"{count} x {kind} ({KIND_NAMES[kind]})" for kind, count in enumerate(variant.counts))
        raise ValueError(f"a deck of {variant} is a list of {len(wanted)} kinds, from the top: {counts}; not {shown(list(cards))}")
    if not _is_whole(first) or not 0 <= first < variant.players:
        raise ValueError(f"the first player is 0 to {variant.players - 1}, not {shown(first)}")


def _is_whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
