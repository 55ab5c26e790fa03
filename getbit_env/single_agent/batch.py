"""A batch of games in which one seat is the learner's and agents have the others: what single-agent training needs.

`getbit_env.vector_envs` makes a Gymnasium `VectorEnv` of it, `getbit_env.sb3` a `VecEnv` of Stable-Baselines3.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from getbit_env.agent_registry import load_opponent
from getbit_env.core.agent import Agent
from getbit_env.core.choices import whole_number
from getbit_env.core.layouts import Show
from getbit_env.core.messages import shown
from getbit_env.core.rows import add_results, draw_seats, put_actions, put_own_actions, take_rows
from getbit_env.core.spec import Layout, SequentialEngine, Variant
from getbit_env.game_batch import GameBatch, Seeds, checked_seeds
from getbit_env.game_registry import find_variant

# The players of all seats but the learner's: an agent, or its name, for all of them; or a sequence with one for each, from the
# seat after the learner's on.
Opponents = str | Agent | Sequence[str | Agent]


class SingleAgentStep(NamedTuple):
    """What a step did: a row a game, or one for each of the games whose episode ended."""

    reward: NDArray[np.float32]  # [G] of the learner
    terminated: NDArray[np.bool_]  # [G] the learner's fate is decided, or the game ended by its rules
    truncated: NDArray[np.bool_]  # [G] a limit cut the game off before that
    placement: NDArray[np.uint8]  # [G] the learner's finishing place if it was decided, else 0: also in a draw without places
    illegal: NDArray[np.bool_]  # [G] the learner's action was illegal, and another one was played
    done: NDArray[np.int64]  # [n] the games whose episode ended
    final_observation: NDArray[np.float32]  # [n, D] what the learner saw at the end of those
    final_action_mask: NDArray[np.int8]  # [n, A] likewise
    final_seat: NDArray[np.int64]  # [n] its seat in those
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


def checked_seat(seat: Any, players: int) -> int | None:
    """The learner's seat, or None: drawn anew each game.

    Raises:
        ValueError: there is no such seat.
    """
    try:
        return None if seat is None else whole_number("seat", seat, 0, players - 1)
    except ValueError:
        raise ValueError(f"seat is 0 to {players - 1}, or None to draw it anew each game, not {shown(seat)}") from None


class AgentSeeds:
    """A seed for each agent that is made, from the seed of the games."""

    def __init__(self, seeds: Seeds) -> None:
        """Begin with the first one; without a seed the operating system gives it."""
        known = seeds if isinstance(seeds, int) or seeds is None else [seed for seed in seeds if seed is not None] or None
        self._root, self._made = np.random.SeedSequence(known), 0

    def next(self) -> int:
        """The seed of the next agent."""
        child = np.random.SeedSequence(self._root.entropy, spawn_key=(self._made,))
        self._made += 1
        return int(child.generate_state(1, np.uint64)[0] >> np.uint64(1))


class _OpponentGroup:
    """Some of the games, and the agents that play the other seats of those."""

    def __init__(self, opponents: Opponents, layout: Layout, number: int, games: slice) -> None:
        self.number, self.games = number, games
        self.size = games.stop - games.start
        others = layout.variant.players - 1
        # Copies, so that one agent may be in several groups, and finish games that it began before the group changed.
        self.agents = [copy.deepcopy(agent) for agent in seat_opponents(opponents, layout)]
        self.each = others if len(self.agents) == 1 else 1  # seats of an agent in a game
        self.plays = np.zeros(self.size, np.bool_)  # the games in which these agents sit
        rows = self.size * self.each
        self.rows, self.masks = np.zeros((rows, layout.size), np.float32), np.ones((rows, layout.variant.actions), np.int8)


class SingleAgentBatch(GameBatch):
    """A batch of G games in which one seat is the learner's.

    By default a game in which the learner's fate is decided begins anew at once; what the learner saw at its end is handed out
    first. In a sequential game a step goes from a decision of the learner to its next one, or to the end, and its reward is the sum
    of all in between.

    Attributes:
        seat: `[G]` int64, the learner's seat.
        observation: `[G, D]` float32, what the learner sees; a new array after every step, unless `copy` is False.
        action_mask: `[G, A]` int8, likewise.
        group: `[G]`, the number of the opponents that play each game, as `set_opponents` gave it.
    """

    fixed_seat: NDArray[np.int64]
    seat: NDArray[np.int64]
    group: NDArray[np.int64]
    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]
    ended: NDArray[np.bool_]

    def __init__(
        self,
        variant: Variant | str,
        games: int,
        opponents: Opponents | None = None,
        *,
        opponent_groups: Sequence[Opponents] | None = None,
        seat: int | None = None,
        seed: int | None = None,
        copy: bool = True,
        **of_games: Any,
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
            copy: whether each step makes new arrays of observations and masks. Without, it writes into those of the last step.
            **of_games: other arguments of `GameBatch`.

        Raises:
            ValueError: an argument has a value that is not allowed; the message names it.
            TypeError: `variant` is neither a variant nor a name, or `options` are not those of the game.
        """
        variant = cast(Variant, find_variant(variant))
        seat = checked_seat(seat, variant.players)
        super().__init__(variant, games, seed=seed, **of_games)
        games = self.engine.size
        self.fixed_seat = np.full(games, -1 if seat is None else seat, np.int64)
        self.seat = np.zeros(games, np.int64)
        self._seat_streams, self._seats_drawn = self.engine.streams.copy(), np.zeros(games, np.uint64)
        self._copy = copy
        self._new_arrays()
        self._actions = np.zeros((games, variant.players), np.int64)
        self._games, self._every = np.arange(games), np.ones(games, np.bool_)
        self._total = np.zeros(games)
        self._length = np.zeros(games, np.int64)
        self._seeds = AgentSeeds(seed)
        self._groups_made = 0
        self.group = np.zeros(games, np.int64)
        self._groups: list[_OpponentGroup] = []
        if (opponents is None) == (opponent_groups is None):
            raise ValueError("give opponents, or opponent_groups, and not both")
        groups = [opponents] if opponent_groups is None else opponent_groups
        self.set_opponent_groups(cast(Sequence[Opponents], groups))

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

    def reset(self, seed: Seeds = None, games: NDArray[np.bool_] | None = None) -> None:
        """Begin games anew.

        Args:
            seed: of starts, seats and agents; without one their streams go on. A list has a seed for each game, or None.
            games: `[G]`, the games that begin; all by default. Where only some begin, a seed is one of starts and seats alone.

        Raises:
            ValueError: a seed is wrong. Nothing has happened then.
            RuntimeError: only some of the games begin, but none were begun before.
        """
        seed = checked_seeds(seed, self.engine.size)
        if games is None or games.all():
            games = self._every
        elif not self.begun:
            raise RuntimeError("call reset() for all games before a reset of some")
        seeded = self.seed_games(seed, games)
        self._seat_streams[seeded], self._seats_drawn[seeded] = self.engine.streams[seeded], 0
        if games is self._every:
            if seed is not None:
                self._seeds = AgentSeeds(seed)
                for group in self._current:
                    self._make_agents_ready(group)
            for group in self._groups:
                group.plays[:] = False
            self._groups = list(self._current)
        self.ended = self.ended & ~games
        self._begin(games.astype(np.uint8))
        self._look()
        self.begun = True

    def step(self, actions: NDArray[np.integer]) -> SingleAgentStep:
        """Play a round of every game.

        A game whose episode ended in the last step begins anew instead if `autoreset_mode` is "NextStep"; its action is ignored.

        Args:
            actions: `[G]`, the learner's. An illegal action is replaced by the lowest legal one.

        Returns:
            Rewards, ends of episodes, and the results of those.

        Raises:
            RuntimeError: the games were not begun, or wait for a reset.
            ValueError: an action of the learner is out of range, or one of an opponent is not legal.
        """
        self.check_playing()
        engine, limit, waiting = self.engine, self.variant.actions, self.ended
        actions = np.asarray(actions)
        if actions.shape != (engine.size,) or actions.dtype.kind not in "iu" or actions.min() < 0 or actions.max() >= limit:
            raise ValueError(f"actions are {engine.size} whole numbers 0..{limit - 1}, not {actions!r:.200}")
        put_own_actions(np.ascontiguousarray(actions, np.int64), self.seat, self._actions)
        if not self.sequential:
            for group in self._groups:
                self._ask(group)
        self.play(self._actions)
        results = self._no_results()
        self._add_results(results, ~waiting)
        if self.sequential:
            self._play_on(results, waiting)
        if waiting.any():
            for array in results:
                array[waiting] = 0
        finish, reward, win, illegal, over, cut = results
        self._total += reward
        self._length += ~waiting
        terminated = (finish > 0) | (over & ~cut)
        truncated = ~terminated & cut
        ends = terminated | truncated
        if not self.sequential and self.autoreset_mode == AutoresetMode.NEXT_STEP and waiting.any():
            self._start(waiting.astype(np.uint8))
        others = Show.NONE if self.sequential else Show.CHOOSING  # in turns the learner's decision is seen already
        engine.observe(np.where(ends, np.uint8(Show.ALL), np.uint8(others)))
        done = np.flatnonzero(ends)
        seat = self.seat[done]
        step = SingleAgentStep(
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            placement=finish,
            illegal=illegal,
            done=done,
            final_observation=engine.observation[done, seat],
            final_action_mask=engine.action_mask[done, seat],
            final_seat=seat,
            win=win[done],
            total=self._total[done],
            length=self._length[done],
            group=self.group[done],
        )
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            if done.size:
                self._begin(ends.astype(np.uint8))
        else:
            if self.sequential and waiting.any():
                self._begin(waiting.astype(np.uint8))
            self.ended = ends
            for group in self._groups:
                group.plays &= ~ends[group.games]
        self._look()
        return step

    def _start(self, begin: NDArray[np.uint8]) -> None:
        """Begin games: start, seat, opponents."""
        engine, begins = self.engine, begin.astype(np.bool_)
        engine.start(begin)
        draw_seats(self._seat_streams, self._seats_drawn, begin, self.fixed_seat, self.variant.players, self.seat)
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
                for agent in group.agents:
                    agent.reset(engine.layout, np.repeat(mine, group.each), None)

    def _begin(self, begin: NDArray[np.uint8]) -> None:
        """Begin games, and what everybody sees, until the learner has something to decide."""
        self._start(begin)
        self.engine.observe(begin)
        if self.sequential:
            results = self._no_results()
            self._play_on(results, begin == 0)
            if (results.over | results.cut).any():  # a game that is over before the learner decides anything is no episode
                self._begin((results.over | results.cut).astype(np.uint8))

    def _no_results(self) -> _Results:
        games = self.engine.size
        nothing = (np.zeros(games, np.bool_) for _ in range(3))
        return _Results(np.zeros(games, np.uint8), np.zeros(games, np.float32), np.zeros(games), *nothing)

    def _add_results(self, results: _Results, playing: NDArray[np.bool_]) -> None:
        """Add what the last round or decision did; `playing` `[G]` are the games in which there was one."""
        outcome = self.engine.outcome
        replaced, own = self.engine.replaced, (results.finish, results.reward, results.win, results.illegal)
        add_results(outcome.finish, outcome.reward, replaced, self.seat, *own)
        over = (outcome.over > 0) & playing
        np.logical_or(results.cut, self.cut_off(over) & playing, out=results.cut)
        np.logical_or(results.over, over, out=results.over)

    def _play_on(self, results: _Results, waiting: NDArray[np.bool_]) -> None:
        """The others play until the learner decides in every game that goes on.

        Args:
            results: to which what happens is added; games that are over are marked there.
            waiting: `[G]`, other games in which nobody is to play.
        """
        engine = cast(SequentialEngine, self.engine)
        waits = ~waiting
        while True:
            waits &= ~results.over & ~results.cut
            engine.observe(waits.astype(np.uint8))
            waits &= ~engine.choosing()[self._games, self.seat]
            if not waits.any():
                return
            for group in self._groups:
                self._ask(group)
            engine.play(self._actions, waits.astype(np.uint8))
            self._add_results(results, waits)

    def _look(self) -> None:
        if self._copy:
            self._new_arrays()
        engine = self.engine
        take_rows(engine.observation, engine.action_mask, self.seat, 0, self._every, self.observation, self.action_mask)

    def _new_arrays(self) -> None:
        games, layout = self.engine.size, self.engine.layout
        self.observation = np.empty((games, layout.size), np.float32)
        self.action_mask = np.empty((games, self.variant.actions), np.int8)

    def _make_agents_ready(self, group: _OpponentGroup) -> None:
        for agent in group.agents:
            agent.reset(self.engine.layout, np.ones(len(group.rows), np.bool_), self._seeds.next())

    def _ask(self, group: _OpponentGroup) -> None:
        """Fill in the actions of the opponents in the games of a group that they play."""
        engine, games, rows, masks = self.engine, group.games, group.rows, group.masks
        seat = self.seat[games]
        for k, agent in enumerate(group.agents, 1):
            take_rows(engine.observation[games], engine.action_mask[games], seat, k, group.plays, rows, masks)
            chosen = np.asarray(agent.act(rows, masks))
            if chosen.shape != (len(rows),) or chosen.dtype.kind not in "iu":
                raise ValueError(
                    f"opponent {agent!r} returned {chosen.dtype} {chosen.shape}, not one whole number for each of {len(rows)} rows"
                )
            chosen = np.ascontiguousarray(chosen, np.int64)
            wrong = put_actions(chosen, masks, seat, k, group.plays, self._actions[games])
            if wrong >= 0:
                raise ValueError(f"opponent {agent!r} played {chosen[wrong]}; legal are {np.flatnonzero(masks[wrong]).tolist()}")


class _Results(NamedTuple):
    """What a step brought the learner of each game."""

    finish: NDArray[np.uint8]  # [G] its finishing place if it was decided, else 0
    reward: NDArray[np.float32]  # [G]
    win: NDArray[np.float64]  # [G] its share of a win
    illegal: NDArray[np.bool_]  # [G] its action was illegal, and another one was played
    over: NDArray[np.bool_]  # [G] the engine ended the game
    cut: NDArray[np.bool_]  # [G] a limit cut it off
