"""Solved games from the cache folder, solved first where they have to be."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from getbit_env.core.files import owned
from getbit_env.exact.agents import Equilibrium
from getbit_env.exact.best_response import exploitability
from getbit_env.exact.many_players import ManyPlayerSolution, solve_many_players
from getbit_env.exact.positions import Progress, check_numbered, silent
from getbit_env.exact.solutions import Solution, load_solution, save_solution
from getbit_env.exact.stored_results import NotSolvedError, StoredResultError, solution_path
from getbit_env.exact.two_players import solve_two_players
from getbit_env.get_bit.variants import Variant


def solved(
    variant: Variant, *, threads: int = 1, progress: Progress = silent, say: Callable[[str], None] = lambda _text: None
) -> Solution:
    """The solved game, read from the cache folder or written there.

    Args:
        variant: a game for two players, or for three and more with one robot each.
        threads: positions solved at the same time; the result does not depend on it.
        progress: is told how far it is.
        say: is told why a solution that is there can't be used.

    Raises:
        ValueError: it is another game, or too large; or there is no cache folder.
        InUseError: another process solves this variant at the moment.
        OSError: the solution can't be written; what is finished stays, and the next call goes on from there.

    Examples:
        >>> from getbit_env import parse_variant
        >>> from getbit_env.exact import solved
        >>> solution = solved(parse_variant("2p-3c-1l"))  # kept in the cache folder
        >>> print(solution.values[0].round(3), "in the first position")
        [ 0.714 -0.714] in the first position
    """
    check_solvable(variant)
    try:
        return load_solution(variant)
    except NotSolvedError:
        pass
    except StoredResultError as error:
        say(f"{error}; solving again")
    path = solution_path(variant)
    with owned(path, "the solution"):
        try:  # another process may have solved it in between
            return load_solution(variant)
        except (NotSolvedError, StoredResultError):
            pass
        partial = path.with_suffix(".partial")
        solution: Solution
        if variant.players == 2:
            solution = solve_two_players(variant, threads=threads, progress=progress, partial=partial)
        else:
            found = solve_many_players(variant, threads=threads, progress=progress, partial=partial)
            solution = judged(found, threads=threads, progress=progress)
        save_solution(solution)
        shutil.rmtree(partial, ignore_errors=True)
    return solution


def judged(solution: ManyPlayerSolution, *, threads: int = 1, progress: Progress = silent) -> ManyPlayerSolution:
    """An equilibrium with what a best response gains on it."""
    result = exploitability(Equilibrium(solution), solution.positions, name="equilibrium", threads=threads, progress=progress)
    return solution.judged(result)


def check_solvable(variant: Variant) -> None:
    """Refuse a variant that can't be solved.

    Raises:
        ValueError: with the reason, and which games can be solved.
    """
    try:
        check_numbered(variant)
    except ValueError as error:
        raise ValueError(
            f"{error}. Solved can be face-up games for two players, or with one robot a player, that are small enough: "
            "2p and 4p, their pick1 and half variants, and custom ones such as 3p-1r-5c-2l"
        ) from None
