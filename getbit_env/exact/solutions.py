"""Solved games in the cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from getbit_env.exact import many_players, two_players
from getbit_env.exact.many_players import ManyPlayerSolution
from getbit_env.exact.stored_results import NotSolvedError, open_result, solution_path
from getbit_env.exact.two_players import TwoPlayerSolution
from getbit_env.get_bit.variants import Variant

Solution = TwoPlayerSolution | ManyPlayerSolution


def save_solution(solution: Solution, path: Path | None = None) -> Path:
    """Write a solved game and its numbering; whole or not at all.

    Args:
        solution: the solved game.
        path: the file; by default the one of its variant in the cache folder.

    Returns:
        The file.

    Raises:
        OSError: it can't be written.
        ValueError: there is no cache folder, or an equilibrium is not judged yet.
    """
    path = solution_path(solution.positions.variant) if path is None else path
    solution.store(path)
    return path


def load_solution(variant: Variant, path: Path | None = None) -> Solution:
    """Read a solved game.

    Args:
        variant: the game.
        path: the file; by default the one of the variant in the cache folder.

    Raises:
        NotSolvedError: there is no such file; the message says by which command the variant is solved.
        StoredResultError: the file can't be read, is damaged, or of another variant or other rules.
        ValueError: there is no cache folder.
    """
    path = solution_path(variant) if path is None else path
    try:
        if variant.players == 2:
            with open_result(path, two_players.KIND, variant, two_players.ARRAYS) as stored:
                return TwoPlayerSolution.read(stored)
        with open_result(path, many_players.KIND, variant, many_players.ARRAYS) as stored:
            return ManyPlayerSolution.read(stored)
    except FileNotFoundError:
        raise NotSolvedError(not_solved(variant, path)) from None


def check_solved(variant: Variant) -> None:
    """Refuse a variant that has no solution in the cache folder. Nothing is read.

    Raises:
        NotSolvedError: with the command that solves it.
        ValueError: there is no cache folder.
    """
    path = solution_path(variant)
    if not os.path.exists(path):  # False for a name that no file can have
        raise NotSolvedError(not_solved(variant, path))


def not_solved(variant: Variant, path: Path) -> str:
    """The error message for a variant that is not solved."""
    return f"{variant} is not solved here: there is no {path}; `getbit solve --variant {variant}` makes it"
