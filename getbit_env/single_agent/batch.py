"""A batch of games in which one seat is the learner's and agents have the others: what single-agent training needs.

`getbit_env.sb3` makes a Stable-Baselines3 `VecEnv` of it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import load_opponent
from getbit_env.core.agent import Agent
from getbit_env.core.choices import seed_or_none, whole_number
from getbit_env.core.compiled import kernel
from getbit_env.core.environment import checked_max_cycles
from getbit_env.core.finish import wins_of_finish
from getbit_env.core.messages import shown
from getbit_env.core.spec import Dynamics, Engine, Layout, SequentialEngine, Variant
from getbit_env.core.streams import random_bits
from getbit_env.game_registry import find_variant, game_of

# The players of all seats but the learner's: an agent, or its name, for all of them; or a sequence with one for each, from the
# seat after the learner's on.
Opponents = str | Agent | Sequence[str | Agent]

SEAT_STREAM = np.uint64(0x5EA75EA75EA75EA7)  # keeps the draws of seats apart from those of starts


class SingleAgentStep(NamedTuple):
    """What a step did, one row a game."""

    reward: NDArray[np.float32]  # [G] of the learner
    terminated: NDArray[np.bool_]  # [G] the learner's fate is decided, or the game ended by its rules
    truncated: NDArray[np.bool_]  # [G] a limit cut the game off before that
    done: NDArray[np.int64]  # [n] the games of which either is true; they have begun anew
    final_observation: NDArray[np.float32]  # [n, D] what the learner saw at the end of those
    placement: NDArray[np.uint8]  # [n] the learner's finishing place in those, 0 if it has none: cut off, or a draw without places
    win: NDArray[np.float64]  # [n] 1 if it came first in those, less if it shares that place, else 0
    total: NDArray[np.float64]  # [n] the learner's rewards over those
    length: NDArray[np.int64]  # [n] decisions of the learner in those: rounds, where all decide at once
    group: NDArray[np.int64]  # [n] number of the opponents that played those, as `set_opponents` gave it


def seat_opponents(opponents: Opponents, layout: Layout) -> list[Agent]:
    """The agents of the seats that are not the learner's: one that plays all of them, or one for each.

    Raises:
        ValueError: there are too few or too many, or one can't play this game.
    """
    others = layout.variant.players - 1
    if isinstance(opponents, str | Agent):
        listed: list[str | Agent] = [opponents]
    elif isinstance(opponents, Sequence):
        listed = list(opponents)
        if len(listed) != others:
            raise ValueError(
                f"opponents is one agent for all {others} other seats of {layout.variant}, or a sequence of {others}, "
                f"one for each; not {len(listed)}"
            )
    else:
        raise TypeError(f"opponents is an agent, its name, or a sequence of {others} of these, not {opponents!r}")
    return [load_opponent(one, layout) for one in listed]


class _OpponentGroup:
    """Some of the games, and the agents that play the other seats of those."""

    def __init__(self, opponents: Opponents, layout: Layout, number: int, games: slice) -> None:
        self.number, self.games = number, games
        self.size = games.stop - games.start
        others = layout.variant.players - 1
        # Copies, so that one agent may be in several groups, and finish games that it began before the group changed.
        self.agents = [copy.deepcopy(agent) for agent in seat_opponents(opponents, layout)]
        self.seats = [slice(0, others)] if len(self.agents) == 1 else [slice(k, k + 1) for k in range(others)]
        self.plays = np.zeros(self.size, np.bool_)  # the games in which these agents sit


class SingleAgentBatch:
    """A batch of G games in which one seat is the learner's.

    A game in which the learner's fate is decided begins anew at once; what the learner saw at its end is handed out first. In a
    sequential game a step goes from a decision of the learner to its next one, or to the end, and its reward is the sum of all in
    between.

    Attributes:
        engine: the games.
        seat: `[G]` int64, the learner's seat.
        observation: `[G, D]` float32, what the learner sees; a new array after every step.
        action_mask: `[G, A]` int8, likewise.
        max_cycles: decisions of the learner after which a game is cut off, or None.
        group: `[G]`, the number of the opponents that play each game, as `set_opponents` gave it.
        begun: `reset` was called.
    """

    engine: Engine
    fixed_seat: NDArray[np.int64]
    seat: NDArray[np.int64]
    group: NDArray[np.int64]
    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]
    begun: bool = False

    def __init__(
        self,
        variant: Variant | str,
        games: int,
        opponents: Opponents | None = None,
        *,
        opponent_groups: Sequence[Opponents] | None = None,
        seat: int | None = None,
        seed: int | None = None,
        options: Any = None,
        reward: str | None = None,
        max_cycles: int | None = None,
        **engine_options: Any,
    ) -> None:
        """Seat the opponents; `reset` begins the games.

        Args:
            variant: the game, or its name.
            games: how many.
            opponents: an agent or its name (see `load_agent`) for all other seats; or a sequence with one for each of them, from
                the seat after the learner's on.
            opponent_groups: in place of `opponents`, several of those, each for an equal number of the games.
            seat: the learner's, or None: drawn anew each game.
            seed: of starts, seats and agents.
            options: of the observations.
            reward: what finishing places pay, by default the first of the game's `rewards`.
            max_cycles: decisions of the learner after which a game is cut off, or None.
            **engine_options: of the game's engine.

        Raises:
            ValueError: an argument has a value that is not allowed; the message names it.
            TypeError: `variant` is neither a variant nor a name, or `options` are not those of the game.
        """
        variant = cast(Variant, find_variant(variant))
        try:
            seat = None if seat is None else whole_number("seat", seat, 0, variant.players - 1)
        except ValueError:
            raise ValueError(f"seat is 0 to {variant.players - 1}, or None to draw it anew each game, not {shown(seat)}") from None
        games, seed = whole_number("games", games, 1), seed_or_none(seed)
        max_cycles = None if max_cycles is None else checked_max_cycles(max_cycles)
        game = game_of(variant)
        if options is not None and not isinstance(options, game.options):
            raise TypeError(f"options are the Options of {game}, or None, not {shown(options)}")
        self.variant = variant
        reward = next(iter(game.rewards)) if reward is None else reward
        self.engine = game.make_engine(variant, games, seed=seed, options=options, reward=reward, **engine_options)
        self._sequential = game.dynamics == Dynamics.SEQUENTIAL
        self.max_cycles = max_cycles
        self.fixed_seat = np.full(games, -1 if seat is None else seat, np.int64)
        self.seat = np.zeros(games, np.int64)
        self._actions = np.zeros((games, variant.players), np.int64)
        self._games = np.arange(games)
        self._total = np.zeros(games)
        self._length = np.zeros(games, np.int64)
        self._seed = np.random.SeedSequence(seed)
        self._made = 0  # agents so far, each of which has its own seed
        self._groups_made = 0
        self.group = np.zeros(games, np.int64)
        self._groups: list[_OpponentGroup] = []
        if (opponents is None) == (opponent_groups is None):
            raise ValueError("give opponents, or opponent_groups, and not both")
        self.set_opponent_groups([opponents] if opponent_groups is None else opponent_groups)  # type: ignore[list-item]  # one is given

    def set_opponents(self, opponents: Opponents) -> int:
        """Change the opponents of all games. A game that is going on is finished by the opponents that began it.

        Args:
            opponents: as for the constructor.

        Returns:
            A number, by which `SingleAgentStep.group` tells the opponents of a game.

        Raises:
            ValueError: there are too few or too many, or one can't play this game.
        """
        return self.set_opponent_groups([opponents])[0]

    def set_opponent_groups(self, opponent_groups: Sequence[Opponents]) -> list[int]:
        """`set_opponents` for several groups, each with an equal number of the games.

        Raises:
            ValueError: as `set_opponents`, or the games can't be shared equally.
        """
        groups, games = len(opponent_groups), self.engine.size
        if isinstance(opponent_groups, str) or not groups or games % groups:
            raise ValueError(f"opponent_groups is a list whose length divides the number of games, {games}; it has {groups}")
        share = games // groups
        made = [
            _OpponentGroup(one, self.engine.layout, self._groups_made + k, slice(k * share, (k + 1) * share))
            for k, one in enumerate(opponent_groups)
        ]
        self._groups_made += groups
        for group in made:
            self._make_agents_ready(group)
        self._current = made
        self._groups = [group for group in self._groups if group.plays.any()] + made
        return [group.number for group in made]

    def reset(self, seed: int | None = None) -> None:
        """Begin all games anew.

        Args:
            seed: of starts, seats and agents; without one their streams go on.
        """
        if seed is not None:
            self._seed, self._made = np.random.SeedSequence(seed), 0
            self.engine.seed(seed)
            for group in self._current:
                self._make_agents_ready(group)
        for group in self._groups:
            group.plays[:] = False
        self._groups = list(self._current)
        self._begin(np.ones(self.engine.size, np.uint8))
        self._look()
        self.begun = True

    def step(self, actions: NDArray[np.integer]) -> SingleAgentStep:
        """Play a round of every game.

        Args:
            actions: `[G]`, the learner's. An illegal action is replaced by the lowest legal one.

        Returns:
            Rewards, ends of episodes, and the results of those.

        Raises:
            RuntimeError: the games were not begun.
            ValueError: an action of the learner is out of range, or one of an opponent is not legal.
        """
        engine, games, limit = self.engine, self._games, self.variant.actions
        if not self.begun:
            raise RuntimeError("call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape != (engine.size,) or actions.dtype.kind not in "iu" or actions.min() < 0 or actions.max() >= limit:
            raise ValueError(f"actions are {engine.size} whole numbers 0..{limit - 1}, not {actions!r:.200}")
        self._actions[games, self.seat] = actions
        if not self._sequential:
            for group in self._groups:
                self._ask(group)
        engine.play(self._actions)

        finish = engine.outcome.finish[self.seat, games]
        reward = engine.outcome.reward[self.seat, games]
        win = self._wins()
        over = engine.outcome.over > 0
        if self._sequential:
            self._play_on(finish, reward, win, over)
        self._total += reward
        self._length += 1
        cut = over & engine.truncated
        terminated = (finish > 0) | (over & ~cut)
        truncated = ~terminated & cut
        if self.max_cycles is not None:
            truncated |= ~terminated & (self._length >= self.max_cycles)
        ends = terminated | truncated
        done = np.flatnonzero(ends)
        engine.observe(
            np.where(ends, np.uint8(2), np.uint8(not self._sequential))
        )  # in turns the learner's decision is seen already
        step = SingleAgentStep(
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            done=done,
            final_observation=engine.observation[done, self.seat[done]],
            placement=finish[done],
            win=win[done],
            total=self._total[done],
            length=self._length[done],
            group=self.group[done],
        )
        if done.size:
            self._begin(ends.astype(np.uint8))
        self._look()
        return step

    def _begin(self, begin: NDArray[np.uint8]) -> None:
        """Begin games: start, seat, opponents, and what everybody sees."""
        engine, begins = self.engine, begin.astype(np.bool_)
        engine.start(begin)
        _draw_seats(engine.streams, engine.counters, begin, self.fixed_seat, self.variant.players, self.seat)
        self._others = (self.seat[:, None] + np.arange(1, self.variant.players)) % self.variant.players
        self._total[begins] = 0
        self._length[begins] = 0
        for group in self._groups:
            group.plays &= ~begins[group.games]
        self._groups = [group for group in self._groups if group.plays.any() or group in self._current]
        for group in self._current:
            mine = begins[group.games]
            if mine.any():
                group.plays |= mine
                self.group[group.games][mine] = group.number
                for agent, seats in zip(group.agents, group.seats, strict=True):
                    agent.reset(engine.layout, np.repeat(mine, seats.stop - seats.start), None)
        engine.observe(begin)
        if self._sequential:
            begins &= ~engine.choosing()[self._games, self.seat]
            over = ~begins
            nothing = np.zeros((3, engine.size))
            self._play_on(nothing[0].astype(np.uint8), nothing[1].astype(np.float32), nothing[2], over)
            if (over & begins).any():  # a game that is over before the learner decides anything is no episode
                self._begin((over & begins).astype(np.uint8))

    def _wins(self) -> NDArray[np.float64]:
        """`[G]`, the learner's share of wins that were decided just now."""
        finish, win = self.engine.outcome.finish, np.zeros(self.engine.size)
        won = np.flatnonzero((finish == 1).any(axis=0))  # few games end in a round
        win[won] = wins_of_finish(finish[:, won])[self.seat[won], np.arange(len(won))]
        return win

    def _play_on(
        self, finish: NDArray[np.uint8], reward: NDArray[np.float32], win: NDArray[np.float64], over: NDArray[np.bool_]
    ) -> None:
        """The others play until the learner decides in every game that is not over.

        Args:
            finish: `[G]`, the learner's finishing places; those that it gets are written.
            reward: `[G]`, of the learner; what it gets is added.
            win: `[G]`, likewise.
            over: `[G]`, games that are over, or in which nobody is to play; those that end are marked.
        """
        engine = cast(SequentialEngine, self.engine)
        waits = ~over
        while True:
            engine.observe(waits.astype(np.uint8))
            waits &= ~over & ~engine.choosing()[self._games, self.seat]
            if not waits.any():
                return
            for group in self._groups:
                self._ask(group)
            engine.play(self._actions, waits.astype(np.uint8))
            finish |= engine.outcome.finish[self.seat, self._games]
            reward += engine.outcome.reward[self.seat, self._games]
            win += self._wins()
            over |= engine.outcome.over > 0

    def _look(self) -> None:
        self.observation = self.engine.observation[self._games, self.seat]
        self.action_mask = self.engine.action_mask[self._games, self.seat]

    def _make_agents_ready(self, group: _OpponentGroup) -> None:
        for agent, seats in zip(group.agents, group.seats, strict=True):
            child = np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, self._made))
            self._made += 1
            rows = group.size * (seats.stop - seats.start)
            agent.reset(self.engine.layout, np.ones(rows, np.bool_), int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)))

    def _ask(self, group: _OpponentGroup) -> None:
        """Fill in the actions of the opponents in the games of a group that they play."""
        games, plays = self._games[group.games, None], group.plays
        everywhere = plays.all()
        for agent, seats in zip(group.agents, group.seats, strict=True):
            others = self._others[group.games, seats]
            observation = self.engine.observation[games, others].reshape(-1, self.engine.layout.size)
            mask = self.engine.action_mask[games, others].reshape(len(observation), -1)
            if not everywhere:
                absent = np.repeat(~plays, others.shape[1])
                observation[absent] = 0
                mask[absent] = 1
            chosen = np.asarray(agent.act(observation, mask))
            _refuse_illegal(agent, chosen, mask)
            chosen = chosen.reshape(others.shape)
            if everywhere:
                self._actions[games, others] = chosen
            else:
                self._actions[games[plays], others[plays]] = chosen[plays]


def _refuse_illegal(agent: Agent, chosen: NDArray[np.integer], mask: NDArray[np.int8]) -> None:
    rows, limit = mask.shape
    if chosen.shape != (rows,) or chosen.dtype.kind not in "iu":
        raise ValueError(f"opponent {agent!r} returned {chosen.dtype} {chosen.shape}, not one whole number for each of {rows} rows")
    if chosen.min() < 0 or chosen.max() >= limit or not mask[np.arange(rows), chosen].all():
        row = next(b for b in range(rows) if not 0 <= chosen[b] < limit or not mask[b, chosen[b]])
        raise ValueError(f"opponent {agent!r} played {chosen[row]}; legal are {np.flatnonzero(mask[row]).tolist()}")


@kernel
def _draw_seats(
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    begin: NDArray[np.uint8],
    fixed: NDArray[np.int64],
    players: int,
    seat: NDArray[np.int64],
) -> None:
    """Seat the learner of the games that begin: where it is fixed, else anywhere, by the game's own stream."""
    for g in range(seat.shape[0]):
        if begin[g] != 0:
            if fixed[g] >= 0:
                seat[g] = fixed[g]
            else:
                bits = random_bits(streams[g] ^ SEAT_STREAM, counters[g]) >> np.uint64(32)
                seat[g] = np.int64((bits * np.uint64(players)) >> np.uint64(32))
