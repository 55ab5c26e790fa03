"""Solved games from the cache folder, solved first where they have to be."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

from getbit_env.exact.agents import Equilibrium
from getbit_env.exact.best_response import exploitability
from getbit_env.exact.many_players import ManySolution, load_many, save_many, solve_many_players
from getbit_env.exact.positions import Progress, silent
from getbit_env.exact.stored_results import StoredResultError, solution_path
from getbit_env.exact.two_players import Solution, load_solution, save_solution, solve_two_players
from getbit_env.get_bit.variants import Variant


def solved(
    variant: Variant, *, threads: int = 1, progress: Progress = silent, say: Callable[[str], None] = lambda _text: None
) -> Solution | ManySolution:
    """The solved game, read from the cache folder or written there.

    Args:
        variant: a game for two players, or for three and more with one robot each.
        threads: positions solved at the same time; the result does not depend on it.
        progress: is told how far it is.
        say: is told why a table that is there can't be used.

    Raises:
        ValueError: it is another game, or too large.
        OSError: the table can't be written; what is finished stays, and the next call goes on from there.
    """
    try:
        return load_solution(variant) if variant.players == 2 else load_many(variant)
    except FileNotFoundError:
        pass
    except StoredResultError as error:
        say(f"{error}; solving again")
    partial = solution_path(variant).with_suffix(".partial")
    solution: Solution | ManySolution
    if variant.players == 2:
        solution = solve_two_players(variant, threads=threads, progress=progress, partial=partial)
        save_solution(solution)
    else:
        found = solve_many_players(variant, threads=threads, progress=progress, partial=partial)
        judged = exploitability(
            Equilibrium(found), found.positions, name="equilibrium", threads=threads, progress=progress, least_rate=0
        )
        solution = replace(found, gain=judged.gain)
        save_many(solution)
    shutil.rmtree(partial, ignore_errors=True)
    return solution
