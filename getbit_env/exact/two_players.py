"""The two-player game solved: the value of every position, from the last round to the first.

A position is a matrix game over the joint choices of both players, whose entries are the values of the positions that follow.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env._compiled import kernel
from getbit_env.exact.matrix_game import TOLERANCE, MatrixGame, new_matrix_game, solve_matrix
from getbit_env.exact.positions import (
    Index,
    Positions,
    Progress,
    Work,
    Workers,
    expand_number,
    new_work,
    silent,
)
from getbit_env.exact.tables import TableError, cache_folder, load_table, save_table
from getbit_env.get_bit.variants import Variant

KIND = "two-player values"
PATTERNS = ("AABB", "ABAB", "ABBA")  # starting lines by owner; the owner of the front robot is A
_CHUNK = 256


class Stage(NamedTuple):
    """What one thread needs to solve positions."""

    work: Work
    game: MatrixGame


def new_stage(index: Index) -> Stage:
    """Allocate it."""
    actions = int(index.rules.deck).bit_count() ** index.rules.robots_per_player
    return Stage(new_work(index), new_matrix_game(actions, actions))


@kernel
def solve_position(index: Index, values: NDArray[np.float64], number: int, stage: Stage) -> tuple[float, float]:
    """Solve the matrix game of a position; `stage` then holds the strategies.

    Returns:
        The value to the owner of the front robot, and the gap of the certificate.
    """
    expand_number(index, number, stage.work)
    choices = stage.work.choices
    m, n = choices[0] * choices[1], choices[2] * choices[3]
    for i in range(m):
        for j in range(n):
            stage.game.payoff[i, j] = values[stage.work.successor[i * n + j], stage.work.role[0, i * n + j]]
    return solve_matrix(stage.game, m, n)


@kernel
def _solve_positions(index: Index, values: NDArray[np.float64], first: int, last: int, stage: Stage) -> float:
    """Fill in the values of the positions `first:last`; those of the next wave are known. Returns the widest gap."""
    widest = 0.0
    for number in range(first, last):
        value, gap = solve_position(index, values, number, stage)
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


def table_path(variant: Variant) -> Path:
    """The file of a variant's table in the cache folder."""
    return cache_folder() / f"{variant.name}-values.npz"


def solve_two_players(variant: Variant, *, threads: int = 1, progress: Progress = silent, partial: Path | None = None) -> Solution:
    """Solve a variant for two players.

    Args:
        variant: the game.
        threads: positions solved at the same time; the result does not depend on it.
        progress: is told how far it is.
        partial: a folder in which finished waves are kept, so that an interrupted call can be repeated and goes on from there;
            what lies there of another game or of other rules is not used.

    Raises:
        ValueError: it is no game for two players, or too large.
        ArithmeticError: a position could not be solved to within `TOLERANCE`; this would be a bug.
        OSError: `partial` can't be written.
    """
    if variant.players != 2:
        raise ValueError(f"{variant} is no game for two players")
    kept = _read_kept(partial, variant, "words", "numbering")
    positions = Positions(variant, None if kept is None else kept[0], threads=threads, progress=progress)
    if partial is not None and kept is None:
        save_table(partial / "words.npz", "numbering", variant, {}, it=positions.index.words)
    values = np.zeros((positions.count + 1, 2))
    values[positions.count] = 1, -1  # the end of a game: the role is the finishing place - 1
    workers = Workers(lambda: new_stage(positions.index), threads)
    widest = 0.0

    def solve(begin: int, end: int, stage: Stage) -> float:
        return float(_solve_positions(positions.index, values, begin, end, stage))

    for wave in range(positions.waves - 1, -1, -1):
        first, last = int(positions.first[wave]), int(positions.first[wave + 1])

        def tick(end: int, first: int = first, last: int = last) -> None:
            progress("solving", positions.count - last + (end - first), positions.count)

        kept = _read_kept(partial, variant, f"wave-{wave}", KIND)
        if kept is not None and kept[0].shape == (last - first,) and kept[1] <= TOLERANCE:
            values[first:last, 0], values[first:last, 1] = kept[0], -kept[0]
            gap = kept[1]
            tick(last)
        else:
            gap = max(workers.run(solve, first, last, _CHUNK, tick), default=0.0)
            if gap > TOLERANCE:
                raise ArithmeticError(f"{variant}: after {wave} rounds a position is solved only to within {gap}")
            if partial is not None:
                save_table(partial / f"wave-{wave}.npz", KIND, variant, {"gap": gap}, it=values[first:last, 0])
        widest = max(widest, gap)
    return Solution(positions, values, widest)


def _read_kept(partial: Path | None, variant: Variant, name: str, kind: str) -> tuple[NDArray[Any], float] | None:
    """An array of an interrupted solve, and its gap."""
    if partial is None:
        return None
    try:
        _, facts, arrays = load_table(partial / f"{name}.npz", kind, variant)
        return arrays["it"], float(facts.get("gap", 0.0))
    except (FileNotFoundError, TableError, KeyError):
        return None


def save_solution(solution: Solution, path: Path | None = None) -> Path:
    """Write the values and the numbering, by default into the cache folder; whole or not at all.

    Raises:
        OSError: it can't be written.
    """
    variant = solution.positions.variant
    path = table_path(variant) if path is None else path
    save_table(path, KIND, variant, {"gap": solution.gap}, words=solution.positions.index.words, values=solution.values[:-1, 0])
    return path


def load_solution(variant: Variant, path: Path | None = None) -> Solution:
    """Read a solved game, by default from the cache folder.

    Raises:
        FileNotFoundError: the variant has not been solved; the message says by which command it is.
        TableError: the table is damaged, or of another variant or other rules; never used then.
    """
    path = table_path(variant) if path is None else path
    try:
        _, facts, arrays = load_table(path, KIND, variant)
    except FileNotFoundError:
        raise FileNotFoundError(f"{variant} is not solved here: no {path}; `python -m eval.solve` makes it") from None
    try:
        positions = Positions(variant, arrays["words"])
        values = np.empty((positions.count + 1, 2))
        values[:-1, 0], values[:-1, 1] = arrays["values"], -arrays["values"]
        values[-1] = 1, -1
        return Solution(positions, values, float(facts["gap"]))
    except (KeyError, ValueError) as error:
        raise TableError(f"{path} is damaged ({error})") from error


def solved(
    variant: Variant, *, threads: int = 1, progress: Progress = silent, say: Callable[[str], None] = lambda _text: None
) -> Solution:
    """The solved game from the cache folder, where it is solved first if it has to be.

    Args:
        variant: a game for two players.
        threads: see `solve_two_players`.
        progress: see `solve_two_players`.
        say: is told why a table that is there can't be used.

    Raises:
        OSError: the table can't be written; what is finished stays, and the next call goes on from there.
    """
    try:
        return load_solution(variant)
    except FileNotFoundError:
        pass
    except TableError as error:
        say(f"{error}; solving again")
    partial = table_path(variant).with_suffix(".partial")
    solution = solve_two_players(variant, threads=threads, progress=progress, partial=partial)
    save_solution(solution)
    shutil.rmtree(partial, ignore_errors=True)
    return solution
