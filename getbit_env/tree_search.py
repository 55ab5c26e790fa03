"""Tree search as an agent: `tree-search`, of Get Bit!.

The trees and the rules of the search are in `getbit_env.get_bit.bots.tree`. Here a search is given what it may know: a trained
policy and its values, and solved endgames.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import agent_files, check_plays, load_agent
from getbit_env.compiled_network import CompiledNetwork
from getbit_env.core.agent import Agent, name_of
from getbit_env.core.choices import choice, finite, whole_number
from getbit_env.core.layouts import Show
from getbit_env.core.scripted_bot import DrawingBot
from getbit_env.exact.endgames import Endgames, endgames_path, ending_of
from getbit_env.exact.endgames import endgames as solved_endgames
from getbit_env.get_bit.bots import tree
from getbit_env.get_bit.observations import Layout, Options, new_observation_workspace, new_record, observe
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.get_bit.variants import ID, Variant
from getbit_env.network import NetworkAgent

SIMULATIONS = 512
PRIOR_WEIGHT = 2.0
TREES = 32  # that are grown at a time; the trees of one thread should stay in its caches
MOST_BYTES = 1 << 28  # of the trees of a thread
ROWS = 8  # of one question to a prior
STEPS = 4  # times `AT_A_TIME` simulations between two looks at the clock


class Leaves(StrEnum):
    """What a new position is worth."""

    PLAYOUTS = "playouts"  # what a random playout wins
    VALUES = "values"  # what the prior expects


class _Space:
    """What one thread works in."""

    def __init__(self, layout: Layout, simulations: int) -> None:
        variant = layout.variant
        nodes = simulations + 1
        each = variant.players * (8 + 12 * variant.actions)
        self.count = max(1, min(TREES, MOST_BYTES // (nodes * each)))
        self.trees = tree.new_trees(variant, self.count, nodes)
        walks = self.count * tree.AT_A_TIME
        self.walks = tree.new_walks(variant, walks)
        self.observation = np.zeros((walks, variant.players, layout.size), np.float32)
        self.mask = np.zeros((walks, variant.players, variant.actions), np.int8)
        self.show = np.full(walks, Show.CHOOSING, np.uint8)
        self.record, self.sight = new_record(layout, walks), new_observation_workspace(layout)


class _TreeSearch(DrawingBot):
    """`TreeSearch` for the face-up game."""

    game = ID

    def __init__(
        self,
        simulations: int,
        milliseconds: float,
        prior: Agent | None,
        prior_weight: float,
        leaves: Leaves,
        endgames: int,
        exploration: float,
        threads: int,
    ) -> None:
        super().__init__()
        self.simulations, self.milliseconds, self.prior_agent, self.prior_weight = simulations, milliseconds, prior, prior_weight
        self.leaves, self.endgames, self.exploration, self.threads = leaves, endgames, exploration, threads
        self._solved: tuple[Variant, Endgames | None, tree.KnownValues] | None = None
        self._spaces: list[_Space] = []
        # What a network says of a row must not depend on the rows beside it.
        self._asked: Any = CompiledNetwork(prior) if type(prior) is NetworkAgent else _ByRows(prior)

    def check_layout(self, layout: Layout) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the prior can't play such games, or their endgames can't be solved.
        """
        if self.prior_agent is not None:
            check_plays(self.prior_agent, Layout(layout.variant))
        if self.endgames:
            try:
                ending_of(layout.variant, self.endgames)
            except ValueError as error:
                raise ValueError(f"endgames is {self.endgames}: {error}") from error

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""
        before = getattr(self, "_layout", None)
        super().reset(layout, begins, seed)
        if before is None or (before.variant, before.view) != (layout.variant, layout.view):
            self._spaces = []
            self._plain = Layout(layout.variant)
        if self.prior_agent is not None and (seed is not None or not self._spaces):
            self.prior_agent.reset(self._plain, np.ones(1, np.bool_), 0)
        if self._solved is None or self._solved[0] != layout.variant:
            solved = solved_endgames(layout.variant, self.endgames) if self.endgames else None
            known = tree.no_values(layout.variant.players) if solved is None else solved.table()
            self._solved = layout.variant, solved, known
        while len(self._spaces) < self.threads:
            self._spaces.append(_Space(self._plain, self.simulations))

    def distribution(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `DrawingBot`."""
        assert self._solved is not None
        rows, variant = len(observation), self._layout.variant
        keys, roles = np.zeros(rows, np.uint64), np.zeros(rows, np.int64)
        tree.read_roots(self._view, observation, self._spaces[0].walks, keys, roles)
        keys, first, which = np.unique(keys, return_index=True, return_inverse=True)
        found = np.zeros((len(first), variant.players, variant.actions))
        searched = roles[first] >= 0  # rows of zeros are one position, in which there is nothing to do
        if (endgames := self._solved[1]) is not None:
            solved, policy = endgames.chances(keys)
            found[solved, : policy.shape[1]] = policy
            searched &= ~solved
        live = np.flatnonzero(searched)
        chunk = self._spaces[0].count
        parts = [live[begin : begin + chunk] for begin in range(0, len(live), chunk)]
        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                found[part] = self._search(observation[first[part]], self._spaces[0])
        else:
            with ThreadPoolExecutor(self.threads) as pool:

                def one(part: NDArray[np.int64]) -> NDArray[np.float64]:
                    space = self._spaces.pop()
                    try:
                        return self._search(observation[first[part]], space)
                    finally:
                        self._spaces.append(space)

                for part, its in zip(parts, pool.map(one, parts), strict=True):
                    found[part] = its
        chances = found[which, np.maximum(roles, 0)] * (action_mask != 0)
        sums = chances.sum(axis=1, keepdims=True)
        uniform = (action_mask != 0) / np.maximum((action_mask != 0).sum(axis=1, keepdims=True), 1)
        distribution: NDArray[np.float64] = np.where(sums > 0, chances / np.where(sums > 0, sums, 1), uniform)
        return distribution

    def _search(self, observation: NDArray[np.float32], space: _Space) -> NDArray[np.float64]:
        """Average policies of all roles, `[C, P, A]`, in the positions of some rows."""
        assert self._solved is not None
        rules, view, known = self._layout.variant.rules, self._view, self._solved[2]
        trees, walks, count = space.trees, space.walks, len(observation)
        deadline = time.perf_counter() + count * self.milliseconds / 1000 if self.milliseconds else None
        tree.plant(view, observation, trees, walks)
        plays_out = self.leaves == Leaves.PLAYOUTS
        steps = -(-self.simulations // tree.AT_A_TIME)
        asks = self.prior_agent is not None
        if asks:
            self._ask(space)
        at_once = 1 if asks else STEPS if deadline else steps
        for done in range(0, steps, at_once):
            times = min(at_once, steps - done)
            tree.grow(rules, view, count, times, self.exploration, plays_out, not asks, known, trees, walks)
            if asks:
                self._ask(space)
                tree.go_back(count, trees, walks)
            if deadline and time.perf_counter() >= deadline:
                break
        policy: NDArray[np.float64] = trees.policy[:count] / np.maximum(trees.policy[:count].sum(axis=2, keepdims=True), 1e-300)
        return policy

    def _ask(self, space: _Space) -> None:
        """Ask the prior about the new nodes."""
        walks, players = space.walks, self._layout.variant.players
        fresh = int(walks.fresh[0])
        if fresh == 0:
            return
        each, seen, mask = self._view.robots_per_player, space.observation, space.mask
        last_line = self._layout.variant.last_line
        observe(self._plain.view, last_line, walks.fresh_games, space.record, space.show, space.sight, seen, mask, 0, fresh)
        rows, masks = seen[:fresh].reshape(fresh * players, -1), mask[:fresh].reshape(fresh * players, -1)
        live = np.flatnonzero(rows.any(axis=1))
        policy = np.zeros(masks.shape)
        policy[live] = self._asked.probabilities(rows[live], masks[live])
        tree.write_priors(each, self.prior_weight, policy.reshape(fresh, players, -1), space.trees, walks)
        if self.leaves == Leaves.VALUES:
            shares = np.zeros(len(rows))
            # Payoffs are 1 for the win and -1 / (players - 1) for every other player.
            shares[live] = np.maximum((self._asked.values(rows[live], masks[live]) * (players - 1) + 1) / players, 0)
            values = shares.reshape(fresh, players)
            values /= np.maximum(values.sum(axis=1, keepdims=True), 1e-9)
            tree.write_values(each, values, space.trees, walks)


class _ByRows:
    """An agent that is asked about `ROWS` rows at a time, the last ones filled up.

    Networks round by the size of a batch, and by the place of a row in a large one. A search can make another play of that.
    """

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        return self._ask(self.agent.probabilities, observation, action_mask)

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        return self._ask(self.agent.values, observation, action_mask)

    def _ask(self, function: Any, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        rows = len(observation)
        filled = np.resize(np.arange(rows), -(-rows // ROWS) * ROWS)
        parts = [function(observation[part], action_mask[part]) for part in filled.reshape(-1, ROWS)]
        said: NDArray[np.float64] = np.concatenate(parts)[:rows]
        return said


class TreeSearch(PerfectRecall):
    """Simultaneous-move Monte-Carlo tree search with regret matching; a trained policy and solved endgames help it if it has them.

    In every node all players match regrets; what is played is the average policy of the root, in which later simulations count
    more. What it draws is decided by the position alone, so that its play is a pure function of what it sees, and can be judged
    exactly. With `milliseconds` it is not, since no clock is.
    """

    prior: str | None

    def __init__(
        self,
        simulations: int = SIMULATIONS,
        milliseconds: float = 0.0,
        prior: str | Agent | None = None,
        prior_weight: float = PRIOR_WEIGHT,
        leaves: str = Leaves.PLAYOUTS,
        endgames: int = 0,
        exploration: float = tree.EXPLORATION,
        threads: int = 1,
    ) -> None:
        """Make the agent.

        Args:
            simulations: of a decision, rounded up to whole multiples of 16. With `milliseconds`, the most.
            milliseconds: after which a decision is made; 0: when all simulations are done. A batch has so many for each position.
            prior: an agent with `probabilities`, or its name: every node begins with its policy.
            prior_weight: the regret of not playing the prior with which a node begins.
            leaves: what a new position is worth: `playouts`, or `values`, those of the prior.
            endgames: positions with at most so many limbs in the line end a simulation with the value of an equilibrium, which is
                played there. They are solved when a game begins, and kept in the cache folder; 0: none.
            exploration: part of the actions of simulations that is drawn uniformly.
            threads: that search in different positions of a batch; changes nothing but the time.

        Raises:
            ValueError: an option is out of its range, or they don't go together.
        """
        simulations = whole_number("simulations", simulations, 1)
        if not finite("milliseconds", milliseconds) >= 0:
            raise ValueError(f"milliseconds is 0 or more, not {milliseconds}")
        if not 0 < finite("exploration", exploration) <= 1:
            raise ValueError(f"exploration is over 0 and at most 1, not {exploration}")
        if not finite("prior_weight", prior_weight) >= 0:
            raise ValueError(f"prior_weight is 0 or more, not {prior_weight}")
        endgames, threads = whole_number("endgames", endgames, 0), whole_number("threads", threads, 1)
        kind = choice(Leaves, "leaves", leaves)
        loaded = None if prior is None else load_agent(prior)
        if loaded is not None and not callable(getattr(loaded, "probabilities", None)):
            raise ValueError(f"prior is an agent with `probabilities`, which {name_of(loaded)} has not")
        if loaded is not None and (getattr(loaded, "options", None) or Options()) != Options():
            raise ValueError(f"prior is an agent that looks at the position alone, and {name_of(loaded)} looks at more")
        if kind == Leaves.VALUES and not callable(getattr(loaded, "values", None)):
            raise ValueError("leaves='values' needs a prior that has values, such as the folder of a run of train.ppo")
        within = _TreeSearch(simulations, milliseconds, loaded, prior_weight, kind, endgames, exploration, threads)
        super().__init__(within)
        self.name = "TreeSearch"
        self.prior = prior if isinstance(prior, str) else None if loaded is None else name_of(loaded)

    def files(self, variant: Variant) -> list[Path]:
        """See `getbit_env.core.agent.Agent`."""
        endgames: int = self.agent.endgames  # type: ignore[attr-defined]  # that of the agent within
        face_up = replace(variant, memory=False)
        of_prior = [] if self.prior is None else agent_files(self.prior, face_up)
        return [*of_prior, *([endgames_path(face_up, endgames)] if endgames else [])]

    @property
    def probabilities(self) -> Callable[[NDArray[np.float32], NDArray[np.int8]], NDArray[np.float64]]:
        """See `PerfectRecall`.

        Raises:
            AttributeError: a clock decides how far it searches.
        """
        if self.agent.milliseconds:  # type: ignore[attr-defined]  # likewise
            raise AttributeError("a search that ends by the clock is no function of what it sees")
        return super().probabilities
