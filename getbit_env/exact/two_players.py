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
from getbit_env.exact.positions import AT_ONCE, Index, Positions, Progress, Work, Workers, expand, new_work, silent
from getbit_env.exact.ram import need_memory
from getbit_env.exact.stored_results import StoredResultError, load_result, read_kept, save_result, solution_path
from getbit_env.get_bit.variants import Variant

KIND = "two-player values"
PATTERNS = ("AABB", "ABAB", "ABBA")  # starting lines by owner; the owner of the front robot is A


class Stage(NamedTuple):
    """What one thread needs to solve positions."""

    work: Work
    game: MatrixGame


def new_stage(index: Index) -> Stage:
    """Allocate it."""
    actions = int(index.rules.deck).bit_count() ** index.rules.robots_per_player
    return Stage(new_work(index), new_matrix_game(actions, actions))


@kernel
def solve_position(values: NDArray[np.float64], k: int, stage: Stage) -> tuple[float, float]:
    """Solve the matrix game of position `k` of those just expanded; `stage` then holds the strategies.

    Returns:
        The value to the owner of the front robot, and the gap of the certificate.
    """
    work = stage.work
    m, n = work.choices[k, 0] * work.choices[k, 1], work.choices[k, 2] * work.choices[k, 3]
    for i in range(m):
        for j in range(n):
            stage.game.payoff[i, j] = values[work.successor[k, i * n + j], work.role[k, 0, i * n + j]]
    return solve_matrix(stage.game, m, n)


@kernel
def _solve_positions(values: NDArray[np.float64], first: int, last: int, stage: Stage) -> float:
    """Fill in the values of the positions `first:last`, which were just expanded. Returns the widest gap."""
    widest = 0.0
    for number in range(first, last):
        value, gap = solve_position(values, number - first, stage)
        values[number, 0], values[number, 1] = value, -value
        widest = max(widest, gap)
    return widest


@dataclass(frozen=True)
class Solution:
    """The solved game.

    Attributes:
        positions: the numbering.
        values: `[N + 1, 2]` float64 in -1..1, the value of each position to each role.
        gap: the widest gap between what both optimal strategies guarantee in any one position.
    """

    positions: Positions
    values: NDArray[np.float64]
    gap: float

    def starting_values(self) -> dict[str, float]:
        """The value of each starting line, by owners front to back, to the owner of the front robot."""
        values = {}
        for pattern, number in zip(PATTERNS, self.positions.starts, strict=True):
            for line in (pattern, pattern.translate(str.maketrans("AB", "BA"))):
                values[line] = float(self.values[number, 0])
        return values


def solve_two_players(variant: Variant, *, threads: int = 1, progress: Progress = silent, partial: Path | None = None) -> Solution:
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
    if variant.players != 2:
        raise ValueError(f"{variant} is no game for two players")
    positions = Positions.kept(variant, partial, threads=threads, progress=progress)
    need_memory(positions.count * 2 * 8, f"the solution of the {positions.count:,} positions of {variant}")
    values = np.zeros((positions.count + 1, 2))
    values[positions.count] = 1, -1  # the end of a game: the role is the finishing place - 1
    workers = Workers(lambda: new_stage(positions.index), threads)
    widest = 0.0

    def solve(begin: int, end: int, stage: Stage) -> float:
        expand(positions.index, np.arange(begin, end), stage.work)
        return float(_solve_positions(values, begin, end, stage))

    for wave in range(positions.waves - 1, -1, -1):
        first, last = int(positions.first[wave]), int(positions.first[wave + 1])

        def tick(end: int, first: int = first, last: int = last) -> None:
            progress("solving", positions.count - last + (end - first), positions.count)

        facts, arrays = read_kept(partial, f"wave-{wave}", KIND, variant) or ({}, {})
        gap = facts.get("gap", np.inf)
        if gap <= TOLERANCE and "values" in arrays and arrays["values"].shape == (last - first,):
            values[first:last, 0], values[first:last, 1] = arrays["values"], -arrays["values"]
            tick(last)
        else:
            gap = max(workers.run(solve, first, last, AT_ONCE, tick), default=0.0)
            if gap > TOLERANCE:
                raise ArithmeticError(f"{variant}: after {wave} rounds a position is solved only to within {gap}")
            if partial is not None:
                save_result(partial / f"wave-{wave}.npz", KIND, variant, {"gap": gap}, values=values[first:last, 0])
        widest = max(widest, gap)
    return Solution(positions, values, widest)


def save_solution(solution: Solution, path: Path | None = None) -> Path:
    """Write the values and the numbering, by default into the cache folder; whole or not at all.

    Raises:
        OSError: it can't be written.
    """
    variant = solution.positions.variant
    path = solution_path(variant) if path is None else path
    save_result(path, KIND, variant, {"gap": solution.gap}, words=solution.positions.index.words, values=solution.values[:-1, 0])
    return path


def load_solution(variant: Variant, path: Path | None = None) -> Solution:
    """Read a solved game, by default from the cache folder.

    Raises:
        FileNotFoundError: the variant has not been solved; the message says by which command it is.
        StoredResultError: the table is damaged, or of another variant or other rules; never used then.
    """
    path = solution_path(variant) if path is None else path
    try:
        _, facts, arrays = load_result(path, KIND, variant)
    except FileNotFoundError:
        raise FileNotFoundError(f"{variant} is not solved here: no {path}; `python -m eval.solve` makes it") from None
    try:
        positions = Positions(variant, arrays["words"])
        values = np.empty((positions.count + 1, 2))
        values[:-1, 0], values[:-1, 1] = arrays["values"], -arrays["values"]
        values[-1] = 1, -1
        return Solution(positions, values, float(facts["gap"]))
    except (KeyError, ValueError) as error:
        raise StoredResultError(f"{path} is damaged ({error})") from error
