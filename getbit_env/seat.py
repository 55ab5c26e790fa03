"""One seat of every game is played from outside, the others by agents: what single-agent training in batch needs.

`getbit_env.sb3` makes a Stable-Baselines3 `VecEnv` of it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env._compiled import kernel
from getbit_env.agent import Agent
from getbit_env.games import game_of
from getbit_env.get_bit.rules import random_bits
from getbit_env.get_bit.variants import Reward

Table = Agent | Sequence[Agent]  # who sits around the learner: one agent in all other seats, or one for each, from the next seat on

SEAT_STREAM = np.uint64(0x5EA75EA75EA75EA7)  # keeps the draws of seats apart from those of starting lines


class SeatStep(NamedTuple):
    """What a step did, one row a game."""

    reward: NDArray[np.float32]  # [G] of the learner
    terminated: NDArray[np.bool_]  # [G] the learner's fate is decided
    truncated: NDArray[np.bool_]  # [G] the game was cut off undecided
    done: NDArray[np.int64]  # [n] the games of which either is true; they have begun anew
    final_observation: NDArray[np.float32]  # [n, D] what the learner saw at the end of those
    finish: NDArray[np.uint8]  # [n] the learner's finishing place in those, 0 if they were cut off
    total: NDArray[np.float64]  # [n] the learner's rewards over those
    length: NDArray[np.int64]  # [n] decisions of the learner in those: rounds, where all decide at once
    table: NDArray[np.int64]  # [n] number of the table that played those, as `set_tables` gave it


class _Share:
    """The games that one table of opponents plays, and the agents that play them."""

    def __init__(self, table: Table, number: int, games: slice, others: int) -> None:
        self.number, self.games = number, games
        self.size = games.stop - games.start
        alike = isinstance(table, Agent)
        # Copies, so that one agent may sit at several tables, and finish games at one that it has left.
        self.agents: list[Agent] = [copy.deepcopy(agent) for agent in ([table] if isinstance(table, Agent) else table)]
        if not alike and len(self.agents) != others:
            raise ValueError(f"a table has one agent, or one for each of the {others} other seats, not {len(self.agents)}")
        self.seats = [slice(0, others)] if alike else [slice(k, k + 1) for k in range(others)]
        self.plays = np.zeros(self.size, np.bool_)  # the games in which these agents sit


class SeatBatch:
    """A batch of G games in which one seat is the learner's.

    A game in which the learner's fate is decided begins anew at once; what the learner saw at its end is handed out first. Where
    players decide one after another (the engine then has `choosing`), a step goes from a decision of the learner to its next one,
    or to the end, and its reward is the sum of all in between.

    Attributes:
        engine: the games.
        seat: `[G]` int64, the learner's seat.
        observation: `[G, D]` float32, what the learner sees; a new array after every step.
        action_mask: `[G, A]` int8, likewise.
        max_cycles: rounds after which a game is cut off, or None.
    """

    def __init__(
        self,
        variant: Any,
        games: int,
        tables: Table | Sequence[Table],
        *,
        seat: int | None = None,
        seed: int | None = None,
        options: Any = None,
        reward: Reward | str = Reward.WIN,
        limb_reward: float = 0.0,
        max_cycles: int | None = None,
    ) -> None:
        """Set the tables; `reset` begins the games.

        Args:
            variant: the game.
            games: how many.
            tables: an agent for all other seats; or a list of tables, each with an equal share of the games, a table being an
                agent for all other seats or a tuple of agents, one for each, from the seat after the learner's on.
            seat: the learner's, or None: drawn anew each game.
            seed: of lines, seats and agents.
            options: of the observations.
            reward: see `parallel_env`.
            limb_reward: see `parallel_env`.
            max_cycles: rounds after which a game is cut off, or None.

        Raises:
            ValueError: there is no such seat, no table, or more tables than games.
        """
        if seat is not None and not 0 <= seat < variant.players:
            raise ValueError(f"seat is 0 to {variant.players - 1}, or None to draw it anew each game, not {seat}")
        if games < 1:
            raise ValueError(f"there is at least one game, not {games}")
        self.variant = variant
        shaping = {"limb_reward": limb_reward} if limb_reward else {}
        self.engine = game_of(variant).Engine(variant, games, seed=seed, options=options, reward=reward, **shaping)
        self._in_turns = hasattr(self.engine, "choosing")
        self.max_cycles = max_cycles
        self.fixed_seat = np.full(games, -1 if seat is None else seat, np.int64)
        self.seat = np.zeros(games, np.int64)
        self._actions = np.zeros((games, variant.players), np.int64)
        self._games = np.arange(games)
        self._total = np.zeros(games)
        self._length = np.zeros(games, np.int64)
        self._seed = np.random.SeedSequence(seed)
        self._made = 0
        self._tables = 0
        self._table = np.zeros(games, np.int64)  # number of the table that plays a game
        self._shares: list[_Share] = []
        self.set_tables(tables)

    def set_tables(self, tables: Table | Sequence[Table]) -> list[int]:
        """Change the opponents. A game that is going on is finished by those who began it.

        Returns:
            A number for each table, by which `SeatStep.table` tells who played a game.

        Raises:
            ValueError: there is no table, or there are more than games.
        """
        listed = list(tables) if isinstance(tables, list) else [tables]
        if not 1 <= len(listed) <= self.engine.size:
            raise ValueError(f"there are 1 to {self.engine.size} tables (one a game at most), not {len(listed)}")
        edges = [len(self._games) * k // len(listed) for k in range(len(listed) + 1)]
        shares = [
            _Share(table, self._tables + k, slice(edges[k], edges[k + 1]), self.variant.players - 1)  # type: ignore[arg-type]  # a list holds tables
            for k, table in enumerate(listed)
        ]
        self._tables += len(shares)
        for share in shares:
            self._make_agents_ready(share)
        self._current = shares
        self._shares = [share for share in self._shares if share.plays.any()] + shares
        return [share.number for share in shares]

    def reset(self, seed: int | None = None) -> None:
        """Begin all games anew.

        Args:
            seed: of lines, seats and agents; without one their streams go on.
        """
        if seed is not None:
            self._seed, self._made = np.random.SeedSequence(seed), 0
            self.engine.seed(seed)
            for share in self._current:
                self._make_agents_ready(share)
        for share in self._shares:
            share.plays[:] = False
        self._shares = list(self._current)
        self._begin(np.ones(self.engine.size, np.uint8))
        self._look()

    def step(self, actions: NDArray[np.integer]) -> SeatStep:
        """Play a round of every game.

        Args:
            actions: `[G]`, the learner's. Illegal cards are replaced by the lowest legal one.

        Returns:
            What came of it.

        Raises:
            ValueError: an action of the learner is out of range, or one of an opponent is not legal.
        """
        engine, games, limit = self.engine, self._games, self.variant.actions
        if actions.shape != (engine.size,) or actions.min() < 0 or actions.max() >= limit:
            raise ValueError(f"actions are {engine.size} whole numbers 0..{limit - 1}, not {actions!r}")
        self._actions[games, self.seat] = actions
        if not self._in_turns:
            for share in self._shares:
                self._ask(share)
        engine.play(self._actions)

        finish = engine.outcome.finish[self.seat, games]
        reward = engine.outcome.reward[self.seat, games]
        cut = engine.outcome.over > 0  # if the learner did not finish
        if self._in_turns:
            self._play_on(finish, reward, cut)
        self._total += reward
        self._length += 1
        terminated = finish > 0
        truncated = ~terminated & cut
        if self.max_cycles is not None:
            truncated |= ~terminated & (self._length >= self.max_cycles)
        ends = terminated | truncated
        done = np.flatnonzero(ends)
        engine.observe(np.where(ends, np.uint8(2), np.uint8(not self._in_turns)))  # in turns the learner's decision is seen already
        step = SeatStep(
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            done=done,
            final_observation=engine.observation[done, self.seat[done]],
            finish=finish[done],
            total=self._total[done],
            length=self._length[done],
            table=self._table[done],
        )
        if done.size:
            self._begin(ends.astype(np.uint8))
        self._look()
        return step

    def _begin(self, begin: NDArray[np.uint8]) -> None:
        """Begin games: line, seat, who plays them, and what everybody sees."""
        engine, begins = self.engine, begin.astype(np.bool_)
        engine.start(begin)
        _draw_seats(engine.streams, engine.counters, begin, self.fixed_seat, self.variant.players, self.seat)
        self._others = (self.seat[:, None] + np.arange(1, self.variant.players)) % self.variant.players
        self._total[begins] = 0
        self._length[begins] = 0
        for share in self._shares:
            share.plays &= ~begins[share.games]
        self._shares = [share for share in self._shares if share.plays.any() or share in self._current]
        for share in self._current:
            mine = begins[share.games]
            if mine.any():
                share.plays |= mine
                self._table[share.games][mine] = share.number
                for agent, seats in zip(share.agents, share.seats, strict=True):
                    agent.reset(engine.layout, np.repeat(mine, seats.stop - seats.start), None)
        engine.observe(begin)
        if self._in_turns:
            begins &= ~engine.choosing()[self._games, self.seat]
            over = ~begins
            self._play_on(np.zeros(engine.size, np.uint8), np.zeros(engine.size, np.float32), over)
            if (over & begins).any():  # a game that the learner lost before it had anything to decide is none
                self._begin((over & begins).astype(np.uint8))

    def _play_on(self, finish: NDArray[np.uint8], reward: NDArray[np.float32], over: NDArray[np.bool_]) -> None:
        """The others play until the learner decides in every game that is not over.

        Args:
            finish: `[G]`, the learner's finishing places; those that it gets are written.
            reward: `[G]`, of the learner; what it gets is added.
            over: `[G]`, games that are over, or in which nobody is to play; those that end are marked.
        """
        engine = self.engine
        waits = ~over
        while True:
            engine.observe(waits.astype(np.uint8))
            waits &= ~over & ~engine.choosing()[self._games, self.seat]
            if not waits.any():
                return
            for share in self._shares:
                self._ask(share)
            engine.play(self._actions, waits.astype(np.uint8))
            finish |= engine.outcome.finish[self.seat, self._games]
            reward += engine.outcome.reward[self.seat, self._games]
            over |= engine.outcome.over > 0

    def _look(self) -> None:
        self.observation = self.engine.observation[self._games, self.seat]
        self.action_mask = self.engine.action_mask[self._games, self.seat]

    def _make_agents_ready(self, share: _Share) -> None:
        for agent, seats in zip(share.agents, share.seats, strict=True):
            child = np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, self._made))
            self._made += 1
            rows = share.size * (seats.stop - seats.start)
            agent.reset(self.engine.layout, np.ones(rows, np.bool_), int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)))

    def _ask(self, share: _Share) -> None:
        """Fill in the actions of the opponents in the games of a share that they play."""
        games, plays = self._games[share.games, None], share.plays
        everywhere = plays.all()
        for agent, seats in zip(share.agents, share.seats, strict=True):
            others = self._others[share.games, seats]
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
