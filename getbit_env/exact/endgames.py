"""Endgames: the last rounds of a game, solved, for agents that look ahead.

From the second round on each round costs a limb, so the positions with few limbs in the line are the last ones of every game. They
are solved by the kernels that solve whole games, from the last round back, and kept in the cache folder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.files import owned
from getbit_env.exact import many_players, two_players
from getbit_env.exact.agents import solve_strategies
from getbit_env.exact.best_response import end_values
from getbit_env.exact.positions import AT_ONCE, Positions, Progress, check_numbered, expand, number_of_words, silent
from getbit_env.exact.quantal_response import Selection
from getbit_env.exact.stored_results import StoredResultError, cache_folder, open_result, save_result
from getbit_env.get_bit.bots.tree import KnownValues, fill_known, position_keys, table_size
from getbit_env.get_bit.variants import Variant

KIND = "endgames"  # of the stored result
MOST_CODES = 1 << 30  # of a game that is numbered as a whole for its endgames
MOST_JOINT_CHOICES = 1 << 28  # of all positions of the last robots of a larger game


@dataclass(frozen=True)
class Endgames:
    """The last positions of a game, and what an equilibrium is worth in them.

    Attributes:
        variant: the game to which they belong; in a larger one they are the last rounds (`ending_of`). Axis P is its players.
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


class Ending(NamedTuple):
    """Which positions are the endgames of a game, as positions of a game that is numbered."""

    game: Variant  # by whose rules they are played
    reachable: bool  # whether they are those that `game` comes to; else all that there could be, however they came about


def ending_of(variant: Variant, limbs: int) -> Ending:
    """The numbered game to which the endgames of a game belong: itself, if it is small enough.

    Else the rest of it is a smaller game. With one robot each, players who are out no longer matter: the last rounds of a game for
    seven are those of a game for three, whose robots have lost limbs and cards already. As many robots are taken as can be solved
    within minutes.

    Args:
        variant: the game.
        limbs: in the line, of all robots together.

    Raises:
        TypeError: it is no variant of Get Bit!.
        ValueError: there are no such endgames, or too many; the message says what is possible.
    """
    if not isinstance(variant, Variant) or variant.memory:
        check_numbered(variant)
    if variant.robots_per_player == 2 and variant.players == 3:
        raise ValueError(
            f"{variant} has no small endgames: three players with two robots each keep all six in the line until the game is over"
        )
    if _number_of_codes(variant) <= MOST_CODES:
        return Ending(variant, True)
    fewest = variant.last_line + 1
    for robots in range(max(min(variant.robots, limbs), fewest), fewest - 1, -1):
        if (game := _last_robots(variant, robots, limbs)) is not None:
            return Ending(game, False)
    most = limbs - 1
    while most >= fewest and _last_robots(variant, fewest, most) is None:
        most -= 1
    possible = f"at most {most} limbs can be" if most >= fewest else f"even those of {fewest} limbs can't be"
    raise ValueError(f"endgames of {limbs} limbs in {variant} are too many to be solved within minutes: {possible}")


def _number_of_codes(variant: Variant) -> float:
    """How many positions a game could have; infinite where they are not numbered."""
    try:
        return 64 * number_of_words(variant)
    except ValueError:
        return math.inf


def _last_robots(variant: Variant, robots: int, limbs: int) -> Variant | None:
    """The game of so many last robots; None if its positions have too many joint choices."""
    each = variant.robots_per_player
    most = max(1, min(variant.limbs, limbs - robots + 1))  # that the others leave to one
    game = replace(variant, players=robots // each, robots_per_player=each, limbs=most)
    sizes = range(variant.pick_up_at + 1, variant.cards + 1)
    cards = sum(math.comb(variant.cards, size) * size for size in sizes)  # in all hands that there are
    joint = 0
    for line in range(variant.last_line + 1, robots + 1):
        joint += _ways(line, limbs, most) * cards**line
        if joint * (3 if each == 2 else 1) > MOST_JOINT_CHOICES:
            return None
    return game


def _ways(robots: int, limbs: int, most: int) -> int:
    """How many ways there are for robots to have `limbs` limbs or fewer together, each at least one and at most so many."""
    ways = [1] + [0] * limbs  # by limbs
    for _ in range(robots):
        ways = [sum(ways[max(total - most, 0) : total]) for total in range(limbs + 1)]
    return sum(ways)


def _number(ending: Ending, limbs: int, progress: Progress) -> Positions:
    """Number the positions of a game: all of them, or, where they need not be reachable, those with so many limbs or fewer."""
    game = ending.game
    if ending.reachable:
        return Positions(game, progress=progress)
    words = np.zeros(number_of_words(game), np.uint64)
    index = Positions(game, words).index
    marks = np.zeros(64 * len(words), np.bool_)
    for layer, its in enumerate(index.layer_limbs[1:], 1):  # the first layer is the first round
        if its.sum() <= limbs:
            first = index.layer_start[layer]
            marks[first : first + index.patterns * index.power[np.count_nonzero(its)]] = True
    return Positions(game, np.packbits(marks, bitorder="little").view(np.uint64))


def endgames_path(variant: Variant, limbs: int) -> Path:
    """The file of solved endgames in the cache folder. Games that end alike share one.

    Raises:
        ValueError: there are no such endgames (`ending_of`), or there is no cache folder.
    """
    ending = ending_of(variant, limbs)
    return cache_folder() / f"{ending.game.name}-{'endgames' if ending.reachable else 'last-robots'}-{limbs}.npz"


def solve_endgames(variant: Variant, limbs: int, *, progress: Progress = silent) -> Endgames:
    """Solve all positions with at most so many limbs in the line.

    Args:
        variant: the game, face up. Of one that is too large to be numbered, those of its last robots are solved (`ending_of`).
        limbs: in the line, of all robots together.
        progress: is told how far it is.

    Raises:
        TypeError: it is no variant of Get Bit!.
        ValueError: there are no such endgames, or too many.

    Examples:
        >>> from getbit_env import parse_variant
        >>> from getbit_env.exact.endgames import solve_endgames
        >>> endgames = solve_endgames(parse_variant("4p-2l"), 3)
        >>> print(len(endgames.keys), "positions of three robots with a limb each")
        1000 positions of three robots with a limb each
    """
    ending = ending_of(variant, limbs)
    variant = ending.game
    positions = _number(ending, limbs, progress)
    index, count, players = positions.index, positions.count, variant.players
    in_line = positions.games(np.minimum(positions.first[:-1], count - 1)).limbs.sum(axis=0) if count else np.zeros(0)
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
        variant: the game, face up (`solve_endgames`).
        limbs: in the line, of all robots together.
        progress: is told how far it is.

    Raises:
        TypeError: it is no variant of Get Bit!.
        ValueError: there are no such endgames, or too many; or there is no cache folder.
        InUseError: another process solves them at the moment.
        OSError: they can't be written.
    """
    path, game = endgames_path(variant, limbs), ending_of(variant, limbs).game
    try:
        return _kept(path, path.stat().st_mtime_ns, game)
    except (FileNotFoundError, StoredResultError):
        pass
    with owned(path, "the endgames"):
        try:  # another process may have solved them in between
            return _kept(path, path.stat().st_mtime_ns, game)
        except (FileNotFoundError, StoredResultError):
            found = solve_endgames(variant, limbs, progress=progress)
            found.store(path)
    return found


@lru_cache(maxsize=4)
def _kept(path: Path, _written: int, variant: Variant) -> Endgames:
    return Endgames.read(path, variant)
