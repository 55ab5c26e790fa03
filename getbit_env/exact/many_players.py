"""An equilibrium of the game for three and more players, one robot each: in every position one of the game of its next round.

A position is a game for its players over their cards, whose payoffs are the chances of winning from the positions that follow;
`logit` finds an equilibrium of it. There can be others with other values, so what is found is *an* equilibrium, and the principal
branch of logit equilibria is what selects it. How good it is as a whole, after rounding, is measured by `exploitability`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.exact.best_response import end_values, low_bit
from getbit_env.exact.positions import AT_ONCE, Index, Positions, Progress, Work, Workers, expand, new_work, silent
from getbit_env.exact.quantal_response import StageGame, new_stage_game, solve_stage
from getbit_env.exact.ram import need_memory
from getbit_env.exact.stored_results import StoredResultError, load_result, read_kept, save_result, solution_path
from getbit_env.get_bit.variants import Variant

KIND = "many-player equilibrium"
ONE = 65535  # what stands for certainty in a table


class Stage(NamedTuple):
    """What one thread needs to solve positions."""

    work: Work
    game: StageGame


def new_stage(index: Index) -> Stage:
    """Allocate it."""
    cards = int(index.rules.deck).bit_count()
    return Stage(new_work(index), new_stage_game(index.players, cards, cards**index.players))


@kernel
def _solve_positions(
    values: NDArray[np.float64],
    first: int,
    last: int,
    policy: NDArray[np.uint16],
    regrets: NDArray[np.float64],
    paths: NDArray[np.uint8],
    stage: Stage,
) -> None:
    """Find an equilibrium in each of the positions `first:last`, which were just expanded.

    Args:
        values: `[N + 1, P]`, filled in.
        first: number of the first position.
        last: the one after the last.
        policy: `[last - first, P, A]`, filled in, in parts of `ONE`.
        regrets: `[last - first]`, filled in.
        paths: `[last - first]`, how many paths were followed, filled in.
        stage: work space.
    """
    work, game = stage.work, stage.game
    players = game.choices.shape[0]
    for k in range(last - first):
        game.choices[:] = work.choices[k]
        for g in range(work.joint[k]):
            for p in range(players):
                game.averages[0, g * players + p] = values[work.successor[k, g], work.role[k, p, g]]
        regrets[k], paths[k] = solve_stage(game)
        for p in range(players):
            values[first + k, p] = 0
            for i in range(work.choices[k, p]):
                a = game.first[p] + i
                values[first + k, p] += game.chance[a] * game.worth[a]
                if work.options[k, p, 0] != 0:
                    policy[k, p, low_bit(work.options[k, p, i])] = np.uint16(np.round(game.chance[a] * ONE))


@dataclass(frozen=True)
class ManySolution:
    """An equilibrium.

    Attributes:
        positions: the numbering.
        policy: `[N, P, A]` uint16, what each role does in each position, in parts of `ONE`, up to rounding.
        start: `[P]`, the chance of winning from each place of the starting line.
        regret: the most that a player could gain in any one position by another card, all that follows being equal.
        branches: how many positions needed more than the principal branch.
        gain: what one player gains by a best response to all others over the whole game, mean over the places; exact, and
            computed against the policy as it is rounded here. None before it is measured.
    """

    positions: Positions
    policy: NDArray[np.uint16]
    start: NDArray[np.float64]
    regret: float
    branches: int
    gain: float | None = None

    def chances(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distribution, `[B, A]`, in each role, `[B]`, of the positions, `[B]`."""
        parts = self.policy[numbers, roles].astype(np.float64)
        distribution: NDArray[np.float64] = parts / parts.sum(axis=1, keepdims=True)
        return distribution


def solve_many_players(
    variant: Variant, *, threads: int = 1, progress: Progress = silent, partial: Path | None = None
) -> ManySolution:
    """Find an equilibrium of a game for three or more players with one robot each.

    Args:
        variant: the game.
        threads: positions solved at the same time; the result does not depend on it.
        progress: is told how far it is.
        partial: a folder in which finished waves are kept, so that an interrupted call can be repeated and goes on from there.

    Raises:
        ValueError: it is another game, or too large, for this machine or at all.
        OSError: `partial` can't be written.
    """
    if variant.robots_per_player != 1:
        raise ValueError(f"{variant} is no game with one robot a player")
    positions = Positions.kept(variant, partial, threads=threads, progress=progress)
    count, players = positions.count, variant.players
    need_memory(count * (players * (8 + 2 * variant.actions) + 9), f"the solution of the {count:,} positions of {variant}")
    values = np.zeros((count + 1, players))
    values[count] = end_values(variant)
    policy = np.zeros((count, players, variant.actions), np.uint16)
    regrets, paths = np.zeros(count), np.zeros(count, np.uint8)
    workers = Workers(lambda: new_stage(positions.index), threads)

    def solve(begin: int, end: int, stage: Stage) -> None:
        expand(positions.index, np.arange(begin, end), stage.work)
        _solve_positions(values, begin, end, policy[begin:end], regrets[begin:end], paths[begin:end], stage)

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

        _, arrays = read_kept(partial, f"wave-{wave}", KIND, variant) or ({}, {})
        if all(name in arrays and arrays[name].shape == array.shape for name, array in kept.items()):
            for name, array in kept.items():
                array[:] = arrays[name]
            tick(last)
        else:
            workers.run(solve, first, last, AT_ONCE, tick)
            if partial is not None:
                save_result(partial / f"wave-{wave}.npz", KIND, variant, {}, **kept)
    return ManySolution(positions, policy, values[0], float(regrets.max()), int((paths > 1).sum()))


def save_many(solution: ManySolution, path: Path | None = None) -> Path:
    """Write the equilibrium and the numbering, by default into the cache folder; whole or not at all.

    Raises:
        OSError: it can't be written.
    """
    variant = solution.positions.variant
    path = solution_path(variant) if path is None else path
    facts = {
        "start": solution.start.tolist(),
        "regret": solution.regret,
        "branches": solution.branches,
        "gain": solution.gain,
    }
    save_result(path, KIND, variant, facts, words=solution.positions.index.words, policy=solution.policy)
    return path


def load_many(variant: Variant, path: Path | None = None) -> ManySolution:
    """Read an equilibrium, by default from the cache folder.

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
        positions, policy = Positions(variant, arrays["words"]), arrays["policy"]
        if policy.shape != (positions.count, variant.players, variant.actions) or policy.dtype != np.uint16:
            raise ValueError(f"a policy of {policy.shape} {policy.dtype}")
        start = np.array(facts["start"], np.float64)
        return ManySolution(positions, policy, start, float(facts["regret"]), int(facts["branches"]), facts["gain"])
    except (KeyError, ValueError, TypeError) as error:
        raise StoredResultError(f"{path} is damaged ({error})") from error
