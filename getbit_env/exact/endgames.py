"""Endgames: the last rounds of a game, solved, for agents that look ahead.

From the second round on each round costs a limb, so the positions with few limbs in the line are the last ones of every game. They
are solved by the kernels that solve whole games, from the last round back, and kept in the cache folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.files import owned
from getbit_env.exact import many_players, two_players
from getbit_env.exact.agents import solve_strategies
from getbit_env.exact.best_response import end_values
from getbit_env.exact.positions import AT_ONCE, Positions, Progress, check_numbered, expand, silent
from getbit_env.exact.quantal_response import Selection
from getbit_env.exact.stored_results import StoredResultError, cache_folder, open_result, save_result
from getbit_env.get_bit.bots.tree import KnownValues, fill_known, position_keys, table_size
from getbit_env.get_bit.variants import Variant

KIND = "endgames"  # of the stored result


@dataclass(frozen=True)
class Endgames:
    """The last positions of a game, and what an equilibrium is worth in them.

    Attributes:
        variant: the game.
        limbs: how many there are in the line at most.
        keys: `[N]` uint64, the positions (`getbit_env.get_bit.bots.tree.position_keys`).
        values: `[N, P]` float32, the chance of winning of each role.
        policy: `[N, P, A]` uint16, what each role does, in parts of `ONE`, up to rounding.
    """

    variant: Variant
    limbs: int
    keys: NDArray[np.uint64]
    values: NDArray[np.float32]
    policy: NDArray[np.uint16]

    def chances(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which of some positions, `[B]`, are endgames; and the distributions of all roles in these, `[those, P, A]`."""
        order = np.argsort(self.keys)
        at = np.minimum(np.searchsorted(self.keys, keys, sorter=order), max(len(order) - 1, 0))
        number = order[at] if len(order) else at
        found = self.keys[number] == keys if len(order) else np.zeros(len(keys), np.bool_)
        parts = self.policy[number[found]].astype(np.float64)
        distributions: NDArray[np.float64] = parts / np.maximum(parts.sum(axis=2, keepdims=True), 1)
        return found, distributions

    def table(self) -> KnownValues:
        """The same as a hash table."""
        size = table_size(len(self.keys))
        known = KnownValues(self.limbs, np.zeros(size, np.uint64), np.zeros((size, self.variant.players), np.float32))
        fill_known(self.keys, self.values, known)
        return known

    def store(self, path: Path) -> None:
        """Write it to a file; whole or not at all.

        Raises:
            OSError: it can't be written.
        """
        facts = {"limbs": self.limbs, "positions": len(self.keys)}
        save_result(path, KIND, self.variant, facts, {"keys": self.keys, "values": self.values, "policy": self.policy})

    @classmethod
    def read(cls, path: Path, variant: Variant) -> Endgames:
        """Read it from a file.

        Raises:
            FileNotFoundError: there is no such file.
            StoredResultError: it is damaged, or of another variant or other rules.
        """
        with open_result(path, KIND, variant, ("keys", "values", "policy")) as stored:
            count = int(stored.number("positions"))
            keys, values = stored.array("keys", np.uint64, (count,)), stored.array("values", np.float32, (count, variant.players))
            policy = stored.array("policy", np.uint16, (count, variant.players, variant.actions))
            if (keys == 0).any() or len(np.unique(keys)) != count or not ((values >= 0) & (values <= 1)).all():
                raise stored.error("its positions or values are none")
            return cls(variant, int(stored.number("limbs")), keys, values, policy)


def endgames_path(variant: Variant, limbs: int) -> Path:
    """The file of solved endgames in the cache folder.

    Raises:
        ValueError: there is no cache folder.
    """
    return cache_folder() / f"{variant.name}-endgames-{limbs}.npz"


def solve_endgames(variant: Variant, limbs: int, *, progress: Progress = silent) -> Endgames:
    """Solve all positions with at most so many limbs in the line.

    Args:
        variant: a game whose positions are numbered.
        limbs: in the line, of all robots together.
        progress: is told how far it is.

    Raises:
        ValueError: it is another game, or too large.

    Examples:
        >>> from getbit_env import parse_variant
        >>> from getbit_env.exact.endgames import solve_endgames
        >>> endgames = solve_endgames(parse_variant("4p-2l"), 3)
        >>> print(len(endgames.keys), "positions of three robots with a limb each")
        1000 positions of three robots with a limb each
    """
    check_numbered(variant)
    positions = Positions(variant, progress=progress)
    index, count, players = positions.index, positions.count, variant.players
    in_line = positions.games(positions.first[:-1]).limbs.sum(axis=0)
    wave = int(np.searchsorted(-in_line.astype(np.int64), -limbs))
    # With all limbs whole the first round comes before the second one, whose positions have as many.
    first = int(positions.first[wave]) if wave < positions.waves else count
    values = np.zeros((count + 1, players))
    values[count] = end_values(variant)
    two = two_players.new_solver_workspace(index) if players == 2 else None
    many = many_players.new_solver_workspace(index) if players != 2 else None
    policy = np.zeros((count - first, players, variant.actions), np.uint16)
    strategies = np.zeros((AT_ONCE, 2, variant.actions))
    regrets, paths = np.zeros(AT_ONCE), np.zeros(AT_ONCE, np.uint8)
    done = 0
    for step in range(positions.waves - 1, wave - 1, -1):
        for begin in range(int(positions.first[step]), int(positions.first[step + 1]), AT_ONCE):
            end = min(begin + AT_ONCE, int(positions.first[step + 1]))
            several, its = end - begin, policy[begin - first : end - first]
            if two is not None:
                expand(index, np.arange(begin, end), two.expansion)
                two_players.solve_positions(values, begin, end, two)
                solve_strategies(values, strategies[:several], two)
                its[:] = np.round(strategies[:several] * many_players.ONE)
            elif many is not None:
                expand(index, np.arange(begin, end), many.expansion)
                many_players.solve_positions(
                    values, begin, end, its, regrets[:several], paths[:several], int(Selection.PRINCIPAL_BRANCH), many
                )
            done += several
            progress("endgames", done, count - first)
    keys = np.zeros(count - first, np.uint64)
    position_keys(variant.robots_per_player, positions.games(np.arange(first, count)), keys)
    chances = (values[first:-1] + 1) / 2 if players == 2 else values[first:-1]
    return Endgames(variant, limbs, keys, np.clip(chances, 0, 1).astype(np.float32), policy)


def endgames(variant: Variant, limbs: int, *, progress: Progress = silent) -> Endgames:
    """Solved endgames, read from the cache folder or written there.

    Args:
        variant: a game whose positions are numbered.
        limbs: in the line, of all robots together.
        progress: is told how far it is.

    Raises:
        ValueError: it is another game, or too large; or there is no cache folder.
        InUseError: another process solves them at the moment.
        OSError: they can't be written.
    """
    path = endgames_path(variant, limbs)
    try:
        return _kept(path, path.stat().st_mtime_ns, variant)
    except (FileNotFoundError, StoredResultError):
        pass
    check_numbered(variant)
    with owned(path, "the endgames"):
        try:  # another process may have solved them in between
            return _kept(path, path.stat().st_mtime_ns, variant)
        except (FileNotFoundError, StoredResultError):
            found = solve_endgames(variant, limbs, progress=progress)
            found.store(path)
    return found


@lru_cache(maxsize=4)
def _kept(path: Path, _written: int, variant: Variant) -> Endgames:
    return Endgames.read(path, variant)
