"""An equilibrium of the game for three and more players, one robot each: in every position one of the game of its next round.

A position is a game for its players over their cards, whose payoffs are the chances of winning from the positions that follow;
`quantal_response` finds an equilibrium of it. There can be others, with other values, so what is found is *an* equilibrium. A
`Selection` says which one is taken in every position; by default the end of the principal branch of quantal response
equilibria. How good the equilibrium is as a whole, after rounding, is measured by `exploitability`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.exact.best_response import Exploitability, end_values, low_bit
from getbit_env.exact.positions import (
    AT_ONCE,
    Expansion,
    Index,
    Positions,
    Progress,
    Workers,
    check_numbered,
    expand,
    new_expansion,
    silent,
)
from getbit_env.exact.quantal_response import Selection, StageGame, new_stage_game, solve_stage_game
from getbit_env.exact.ram import need_memory
from getbit_env.exact.stored_results import StoredResult, read_kept, save_result
from getbit_env.get_bit.variants import Variant

KIND = "many-player equilibrium"  # of the stored result
ARRAYS = ("words", "policy")
ONE = 65535  # what stands for certainty in a stored policy


class SolverWorkspace(NamedTuple):
    """What one thread needs to solve positions."""

    expansion: Expansion
    game: StageGame


def new_solver_workspace(index: Index) -> SolverWorkspace:
    """A workspace for positions of this numbering."""
    cards = int(index.rules.deck).bit_count()
    return SolverWorkspace(new_expansion(index), new_stage_game(index.players, cards, cards**index.players))


@kernel
def solve_positions(
    values: NDArray[np.float64],
    first: int,
    last: int,
    policy: NDArray[np.uint16],
    regrets: NDArray[np.float64],
    paths: NDArray[np.uint8],
    selection: int,
    workspace: SolverWorkspace,
) -> None:
    """Find an equilibrium in each of the positions `first:last`, which were just expanded.

    Args:
        values: `[N + 1, P]`, filled in.
        first: number of the first position.
        last: the one after the last.
        policy: `[last - first, P, A]`, filled in, in parts of `ONE`.
        regrets: `[last - first]`, filled in.
        paths: `[last - first]`, how many paths were followed, filled in.
        selection: a `Selection`.
        workspace: of the thread.
    """
    expansion, game = workspace.expansion, workspace.game
    players = game.choices.shape[0]
    for k in range(last - first):
        game.choices[:] = expansion.choices[k]
        for g in range(expansion.joint[k]):
            for p in range(players):
                game.averages[0, g * players + p] = values[expansion.successor[k, g], expansion.role[k, p, g]]
        regrets[k], paths[k] = solve_stage_game(game, selection)
        for p in range(players):
            values[first + k, p] = 0
            for i in range(expansion.choices[k, p]):
                a = game.first[p] + i
                values[first + k, p] += game.chance[a] * game.worth[a]
                if expansion.options[k, p, 0] != 0:
                    policy[k, p, low_bit(expansion.options[k, p, i])] = np.uint16(np.round(game.chance[a] * ONE))


@dataclass(frozen=True)
class ManyPlayerSolution:
    """An equilibrium of a game for three and more players.

    Attributes:
        positions: the numbering.
        policy: `[N, P, A]` uint16, what each role does in each position, in parts of `ONE`, up to rounding.
        start: `[P]`, the chance of winning from each place of the starting line.
        branches: how many positions needed more than the path that was followed first.
        gains: `[P]`, what the player in each place of the starting line gains by a best response to all others over the whole game;
            exact, and computed against the policy as it is rounded here. Not a number before `judged`.
        regret: the most that a player could gain in any one position by another card, if all go on by the rounded policy;
            likewise.
    """

    positions: Positions
    policy: NDArray[np.uint16]
    start: NDArray[np.float64]
    branches: int
    gains: NDArray[np.float64]
    regret: float = math.nan

    def judged(self, result: Exploitability) -> ManyPlayerSolution:
        """The same with what a best response to it gains."""
        return replace(self, gains=(result.best - result.own)[0], regret=result.regret)

    def store(self, path: Path) -> None:
        """Write the equilibrium and the numbering to a file; whole or not at all.

        Raises:
            OSError: it can't be written.
            ValueError: it is not judged yet.
        """
        if not np.isfinite(self.gains).all():
            raise ValueError("an equilibrium is stored with its gains: it has to be judged first")
        facts = {
            "start": self.start.tolist(),
            "branches": self.branches,
            "gains": self.gains.tolist(),
            "regret": self.regret,
        }
        arrays: dict[str, NDArray[Any]] = {"words": self.positions.index.words, "policy": self.policy}
        save_result(path, KIND, self.positions.variant, facts, arrays)

    @classmethod
    def read(cls, stored: StoredResult) -> ManyPlayerSolution:
        """The equilibrium in a stored result.

        Raises:
            StoredResultError: it is damaged.
        """
        positions, players, actions = Positions.stored(stored), stored.variant.players, stored.variant.actions
        policy = stored.array("policy", np.uint16, (positions.count, players, actions))
        sums = policy.sum(axis=2, dtype=np.int64)
        if not ((sums == 0) | (abs(sums - ONE) <= actions)).all():
            raise stored.error("what is played in a position is no distribution")
        start, gains = (np.array(stored.numbers(fact, players)) for fact in ("start", "gains"))
        return cls(positions, policy, start, int(stored.number("branches")), gains, stored.number("regret"))

    def chances(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distribution, `[B, A]`, in each role, `[B]`, of the positions, `[B]`."""
        parts = self.policy[numbers, roles].astype(np.float64)
        distribution: NDArray[np.float64] = parts / parts.sum(axis=1, keepdims=True)
        return distribution


def solve_many_players(
    variant: Variant,
    *,
    selection: Selection = Selection.PRINCIPAL_BRANCH,
    threads: int = 1,
    progress: Progress = silent,
    partial: Path | None = None,
) -> ManyPlayerSolution:
    """Find an equilibrium of a game for three or more players with one robot each.

    Args:
        variant: the game.
        selection: which equilibrium is taken in a position that has several.
        threads: positions solved at the same time; the result does not depend on it.
        progress: is told how far it is.
        partial: a folder in which finished waves are kept, so that an interrupted call can be repeated and goes on from there. One
            selection a folder.

    Raises:
        ValueError: it is another game, or too large, for this machine or at all.
        OSError: `partial` can't be written.
    """
    check_numbered(variant)
    if variant.robots_per_player != 1:
        raise ValueError(f"{variant} is no game with one robot a player")
    positions = Positions.kept(variant, partial, threads=threads, progress=progress)
    count, players = positions.count, variant.players
    need_memory(count * (players * (8 + 2 * variant.actions) + 9), f"the solution of the {count:,} positions of {variant}")
    values = np.zeros((count + 1, players))
    values[count] = end_values(variant)
    policy = np.zeros((count, players, variant.actions), np.uint16)
    regrets, paths = np.zeros(count), np.zeros(count, np.uint8)
    workers = Workers(lambda: new_solver_workspace(positions.index), threads)

    def solve(begin: int, end: int, workspace: SolverWorkspace) -> None:
        expand(positions.index, np.arange(begin, end), workspace.expansion)
        solve_positions(values, begin, end, policy[begin:end], regrets[begin:end], paths[begin:end], int(selection), workspace)

    for wave in range(positions.waves - 1, -1, -1):
        first, last = int(positions.first[wave]), int(positions.first[wave + 1])
        kept: dict[str, NDArray[Any]] = {
            "values": values[first:last],
            "policy": policy[first:last],
            "regrets": regrets[first:last],
            "paths": paths[first:last],
        }

        def tick(end: int, first: int = first, last: int = last) -> None:
            progress("solving", count - last + (end - first), count)

        if read_kept(partial, f"wave-{wave}", KIND, variant, kept) is not None:
            tick(last)
        else:
            workers.run(solve, first, last, AT_ONCE, tick)
            if partial is not None:
                save_result(partial / f"wave-{wave}.npz", KIND, variant, {}, kept)
    return ManyPlayerSolution(positions, policy, values[0], int((paths > 1).sum()), np.full(players, math.nan))
