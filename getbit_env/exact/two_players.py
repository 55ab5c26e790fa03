"""The two-player game solved: the value of every position, from the last round to the first.

A position is a matrix game over the joint choices of both players, whose entries are the values of the positions that follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.exact.matrix_game import TOLERANCE, MatrixGame, new_matrix_game, solve_matrix
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
from getbit_env.exact.ram import need_memory
from getbit_env.exact.stored_results import StoredResult, read_kept, save_result
from getbit_env.get_bit.variants import Variant

KIND = "two-player values"  # of the stored result
ARRAYS = ("words", "values")
PATTERNS = ("AABB", "ABAB", "ABBA")  # starting lines by owner; the owner of the front robot is A


class SolverWorkspace(NamedTuple):
    """What one thread needs to solve positions."""

    expansion: Expansion
    game: MatrixGame


def new_solver_workspace(index: Index) -> SolverWorkspace:
    """A workspace for positions of this numbering."""
    actions = int(index.rules.deck).bit_count() ** index.rules.robots_per_player
    return SolverWorkspace(new_expansion(index), new_matrix_game(actions, actions))


@kernel
def solve_position(values: NDArray[np.float64], k: int, workspace: SolverWorkspace) -> tuple[float, float]:
    """Solve the matrix game of position `k` of those just expanded; `workspace` then holds the strategies.

    Returns:
        The value to the owner of the front robot, and the gap of the certificate.
    """
    expansion = workspace.expansion
    m, n = expansion.choices[k, 0] * expansion.choices[k, 1], expansion.choices[k, 2] * expansion.choices[k, 3]
    for i in range(m):
        for j in range(n):
            workspace.game.payoff[i, j] = values[expansion.successor[k, i * n + j], expansion.role[k, 0, i * n + j]]
    return solve_matrix(workspace.game, m, n)


@kernel
def solve_positions(values: NDArray[np.float64], first: int, last: int, workspace: SolverWorkspace) -> float:
    """Fill in the values of the positions `first:last`, which were just expanded. Returns the widest gap."""
    widest = 0.0
    for number in range(first, last):
        value, gap = solve_position(values, number - first, workspace)
        values[number, 0], values[number, 1] = value, -value
        widest = max(widest, gap)
    return widest


@dataclass(frozen=True)
class TwoPlayerSolution:
    """The solved two-player game.

    Attributes:
        positions: the numbering.
        values: `[N + 1, 2]` float64 in -1..1, the value of each position to each role.
        gap: the widest gap between what both optimal strategies guarantee in any one position.
    """

    positions: Positions
    values: NDArray[np.float64]
    gap: float

    def store(self, path: Path) -> None:
        """Write the values and the numbering to a file; whole or not at all.

        Raises:
            OSError: it can't be written.
        """
        arrays = {"words": self.positions.index.words, "values": self.values[:-1, 0]}
        save_result(path, KIND, self.positions.variant, {"gap": self.gap}, arrays)

    @classmethod
    def read(cls, stored: StoredResult) -> TwoPlayerSolution:
        """The solution in a stored result.

        Raises:
            StoredResultError: it is damaged.
        """
        positions = Positions.stored(stored)
        values = np.empty((positions.count + 1, 2))
        values[:-1, 0] = stored.array("values", np.float64, (positions.count,))
        values[:-1, 1] = -values[:-1, 0]
        values[-1] = 1, -1
        if not (abs(values) <= 1 + TOLERANCE).all():
            raise stored.error("a value is not in -1..1")
        return cls(positions, values, stored.number("gap"))

    def starting_values(self) -> dict[str, float]:
        """The value of each starting line, by owners front to back, to the owner of the front robot."""
        values = {}
        for pattern, number in zip(PATTERNS, self.positions.starts, strict=True):
            for line in (pattern, pattern.translate(str.maketrans("AB", "BA"))):
                values[line] = float(self.values[number, 0])
        return values


def solve_two_players(
    variant: Variant, *, threads: int = 1, progress: Progress = silent, partial: Path | None = None
) -> TwoPlayerSolution:
    """Solve a variant for two players.

    Args:
        variant: the game.
        threads: positions solved at the same time; the result does not depend on it.
        progress: is told how far it is.
        partial: a folder in which finished waves are kept, so that an interrupted call can be repeated and goes on from there;
            what lies there of another game or of other rules is not used.

    Raises:
        ValueError: it is no game for two players, or too large, for this machine or at all.
        ArithmeticError: a position could not be solved to within `TOLERANCE`; this would be a bug.
        OSError: `partial` can't be written.
    """
    check_numbered(variant)
    if variant.players != 2:
        raise ValueError(f"{variant} is no game for two players")
    positions = Positions.kept(variant, partial, threads=threads, progress=progress)
    need_memory(positions.count * 2 * 8, f"the solution of the {positions.count:,} positions of {variant}")
    values = np.zeros((positions.count + 1, 2))
    values[positions.count] = 1, -1  # the end of a game: the role is the finishing place - 1
    workers = Workers(lambda: new_solver_workspace(positions.index), threads)
    widest = 0.0

    def solve(begin: int, end: int, workspace: SolverWorkspace) -> float:
        expand(positions.index, np.arange(begin, end), workspace.expansion)
        return float(solve_positions(values, begin, end, workspace))

    for wave in range(positions.waves - 1, -1, -1):
        first, last = int(positions.first[wave]), int(positions.first[wave + 1])

        def tick(end: int, first: int = first, last: int = last) -> None:
            progress("solving", positions.count - last + (end - first), positions.count)

        kept = np.zeros(last - first)
        gap = read_kept(partial, f"wave-{wave}", KIND, variant, {"values": kept}, "gap")
        if gap is not None and gap <= TOLERANCE and (abs(kept) <= 1 + TOLERANCE).all():
            values[first:last, 0], values[first:last, 1] = kept, -kept
            tick(last)
        else:
            gap = max(workers.run(solve, first, last, AT_ONCE, tick), default=0.0)
            if gap > TOLERANCE:
                raise ArithmeticError(f"{variant}: after {wave} rounds a position is solved only to within {gap}")
            if partial is not None:
                save_result(partial / f"wave-{wave}.npz", KIND, variant, {"gap": gap}, {"values": values[first:last, 0]})
        widest = max(widest, gap)
    return TwoPlayerSolution(positions, values, widest)
