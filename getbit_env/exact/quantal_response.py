"""Nash equilibria of small games for many players, as limits of quantal response equilibria.

In a (logit) quantal response equilibrium of precision `t` every player chooses action `a` with a chance in proportion to
`exp(t * u(a))`, where `u(a)` is the worth of `a` against the others. At precision 0 all play uniformly. From there one path of such
equilibria, the principal branch, leads to a Nash equilibrium as the precision grows (McKelvey and Palfrey 1995, Turocy 2005).
The path is followed by steps along its tangent and Newton's method back to it, with arc length as the parameter, so that it may
turn back in `t`. On the way the actions that remain in play are guessed, and equal worth of these is solved for directly; where
that gives an equilibrium it is exact to rounding.

A game can have several equilibria. `Selection` says which of them is taken.

Axes: P players, J joint choices with player 0 the slowest digit, N choices of all players one after the other.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.core.streams import random_bits

MOST_STEPS = 200
MOST_PATHS = 8
_FIRST_STEP = 0.5
_MOST_PRECISION = 1e6
_GOOD = 1e-9  # a regret below is none
_ENOUGH = 1e-6  # a path that leaves so much is not lost: some mixtures are approached, and never met
_NEAR = 0.2  # most that a solved mixture may differ from the point of the path where its support was read off


PRINCIPAL_BRANCH, OTHER_BRANCH, PURE_FIRST, PURE_LAST = range(4)  # as kernels take a `Selection`


class Selection(IntEnum):
    """Which equilibrium of a game is taken, where it has several."""

    PRINCIPAL_BRANCH = PRINCIPAL_BRANCH  # the end of the principal branch
    OTHER_BRANCH = OTHER_BRANCH  # the end of a path that starts at one other mixture, the same in every game
    PURE_FIRST = PURE_FIRST  # the first one in pure choices, where there is one; else as `PRINCIPAL_BRANCH`
    PURE_LAST = PURE_LAST  # the last one in pure choices, likewise


class StageGame(NamedTuple):
    """A game and the equilibrium found, in the workspace that `follow_path` needs."""

    averages: NDArray[np.float64]  # [2^P, J * P] payoffs `[J, P]`, in row m averaged over the choices of the players of mask m
    choices: NDArray[np.int64]  # [P]
    first: NDArray[np.int64]  # [P + 1] place of each player's first choice among N
    chance: NDArray[np.float64]  # [N]
    worth: NDArray[np.float64]  # [N] of each choice against the others
    pair: NDArray[np.float64]  # [N, N] likewise if one of the others makes the second choice
    point: NDArray[np.float64]  # [3, N + 1] log chances up to a constant, then the precision: of the path, tried, of the tangent
    system: NDArray[np.float64]  # [N + P + 1, N + P + 2] linear equations and their right side
    bias: NDArray[np.float64]  # [N] log chances where the path starts
    support: NDArray[np.int64]  # [N]
    kept: NDArray[np.float64]  # [N]
    best: NDArray[np.float64]  # [N]


def new_stage_game(players: int, actions: int, joint: int) -> StageGame:
    """Allocate for games of at most so many players, choices each and joint choices."""
    n = players * actions
    return StageGame(
        np.zeros((1 << players, joint * players)),
        np.zeros(players, np.int64),
        np.zeros(players + 1, np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros((3, n + 1)),
        np.zeros((n + players + 1, n + players + 2)),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros(n),
        np.zeros(n),
    )


@kernel
def _average(game: StageGame, left: int, axis: int, outside: int) -> None:
    """Average over the choices of player `axis`: from the payoffs averaged over the players `left` to those over `outside`."""
    n, first = game.choices[axis], game.first[axis]
    inner, outer = game.choices.shape[0], 1
    for p in range(game.choices.shape[0]):
        if p != axis and (left >> p) & 1 == 0:
            if p > axis:
                inner *= game.choices[p]
            else:
                outer *= game.choices[p]
    source, target = game.averages[left], game.averages[outside]
    for o in range(outer):
        there = target[o * inner : (o + 1) * inner]
        there[:] = 0
        for c in range(n):
            chance = game.chance[first + c]
            here = source[(o * n + c) * inner : (o * n + c + 1) * inner]
            for i in range(inner):
                there[i] += chance * here[i]


@kernel
def _weigh(game: StageGame) -> None:
    """Fill in `worth` and `pair` for the chances."""
    players, first = game.choices.shape[0], game.first
    game.worth[: first[players]] = 0
    for outside in range(1 << players):
        members, last = 0, 0
        for p in range(players):
            if (outside >> p) & 1:
                members, last = members + 1, p
        if members > players - 2 or (members < players - 2 and last == players - 1):
            continue  # a pair is left, or nobody comes after the last player
        if members > 0:
            _average(game, outside ^ (1 << last), last, outside)
        if members < players - 2:
            continue
        p = 0
        while (outside >> p) & 1:
            p += 1
        q = p + 1
        while (outside >> q) & 1:
            q += 1
        left = game.averages[outside]
        for a in range(game.choices[p]):
            for b in range(game.choices[q]):
                at = (a * game.choices[q] + b) * players
                game.pair[first[p] + a, first[q] + b] = left[at + p]
                game.pair[first[q] + b, first[p] + a] = left[at + q]
    for p in range(players):
        q = (p + 1) % players
        for a in range(first[p], first[p + 1]):
            for b in range(first[q], first[q + 1]):
                game.worth[a] += game.pair[a, b] * game.chance[b]


@kernel
def regret(game: StageGame) -> float:
    """The most that any one player could gain, from `worth` and `chance`."""
    most = 0.0
    for p in range(game.choices.shape[0]):
        best, mean = -np.inf, 0.0
        for a in range(game.first[p], game.first[p + 1]):
            best = max(best, game.worth[a])
            mean += game.chance[a] * game.worth[a]
        most = max(most, best - mean)
    return most


@kernel
def _eliminate(system: NDArray[np.float64], n: int) -> bool:
    """Solve `system[:n, :n] x = system[:n, n]` into the last column; False if the matrix is singular."""
    for c in range(n):
        r = c
        for i in range(c + 1, n):
            if abs(system[i, c]) > abs(system[r, c]):
                r = i
        if not abs(system[r, c]) > 1e-14:
            return False
        if r != c:
            for j in range(c, n + 1):
                system[r, j], system[c, j] = system[c, j], system[r, j]
        inverse = 1 / system[c, c]
        for i in range(c + 1, n):
            factor = system[i, c] * inverse
            if factor != 0:
                for j in range(c, n + 1):
                    system[i, j] -= factor * system[c, j]
    for c in range(n - 1, -1, -1):
        total = system[c, n]
        for j in range(c + 1, n):
            total -= system[c, j] * system[j, n]
        system[c, n] = total / system[c, c]
    return True


@kernel
def _set_chances(game: StageGame, point: NDArray[np.float64]) -> None:
    """The chances that go with log chances."""
    for p in range(game.choices.shape[0]):
        first, last = game.first[p], game.first[p + 1]
        top = point[first:last].max()
        total = 0.0
        for a in range(first, last):
            game.chance[a] = np.exp(point[a] - top)
            total += game.chance[a]
        for a in range(first, last):
            game.chance[a] /= total


@kernel
def _linearise(game: StageGame, point: NDArray[np.float64], tangent: NDArray[np.float64]) -> float:
    """Set up, at a point, the equations of the path and one more, across the tangent; returns how far off the point is.

    The path is where `y = bias + t * centred worth`, with log chances `y` and precision `t`.
    """
    players = game.choices.shape[0]
    n = int(game.first[players])
    _set_chances(game, point)
    _weigh(game)
    system, off = game.system, 0.0
    precision = point[n]
    for p in range(players):
        first, last = game.first[p], game.first[p + 1]
        each = 1.0 / (last - first)
        for q in range(players):
            for a in range(first, last):
                mean = 0.0
                for b in range(game.first[q], game.first[q + 1]):
                    mean += game.pair[a, b] * game.chance[b]
                for b in range(game.first[q], game.first[q + 1]):
                    system[a, b] = 0.0 if p == q else -precision * game.chance[b] * (game.pair[a, b] - mean)
        for a in range(first, last):
            system[a, n] = -game.worth[a]
        for b in range(n + 1):
            mean = 0.0
            for a in range(first, last):
                mean += system[a, b]
            for a in range(first, last):
                system[a, b] -= mean * each
        for a in range(first, last):
            system[a, a] += 1
            system[a, n + 1] = game.bias[a] - point[a] - precision * system[a, n]
            off = max(off, abs(system[a, n + 1]))
    for b in range(n + 1):
        system[n, b] = tangent[b]
    system[n, n + 1] = 0
    return off


@kernel
def _turn_tangent(game: StageGame, point: NDArray[np.float64], tangent: NDArray[np.float64]) -> bool:
    """Make the tangent that of the path at a point, in the direction in which it went before."""
    n = int(game.first[game.choices.shape[0]])
    _linearise(game, point, tangent)
    for i in range(n):
        game.system[i, n + 1] = 0
    game.system[n, n + 1] = 1
    if not _eliminate(game.system, n + 1):
        return False
    length = 0.0
    for i in range(n + 1):
        length += game.system[i, n + 1] ** 2
    for i in range(n + 1):
        tangent[i] = game.system[i, n + 1] / np.sqrt(length)
    return True


@kernel
def _solve_support(game: StageGame, least: float) -> bool:
    """Look for the equilibrium in which all choices with a chance above `least` are worth the same, and no other is played.

    Starts from `chance`, and leaves it there if it fails.
    """
    players = game.choices.shape[0]
    n = int(game.first[players])
    game.kept[:n] = game.chance[:n]
    count = 0
    for p in range(players):
        total = 0.0
        for a in range(game.first[p], game.first[p + 1]):
            if game.chance[a] > least:
                game.support[count] = a
                count += 1
                total += game.chance[a]
            else:
                game.chance[a] = 0
        for a in range(game.first[p], game.first[p + 1]):
            game.chance[a] /= total
    system, size = game.system, int(count + players)
    for _ in range(12):
        _weigh(game)
        system[:size, : size + 1] = 0
        row = 0
        for p in range(players):
            for i in range(count):
                a = game.support[i]
                if game.first[p] <= a < game.first[p + 1]:
                    for k in range(count):
                        b = game.support[k]
                        if not game.first[p] <= b < game.first[p + 1]:
                            system[row, k] = game.pair[a, b]
                    system[row, count + p] = -1
                    system[row, size] = -game.worth[a]
                    system[count + p, i] = 1
                    system[count + p, size] -= game.chance[a]
                    row += 1
            system[count + p, size] += 1
        if not _eliminate(system, size):
            break
        change = 0.0
        for i in range(count):
            game.chance[game.support[i]] += system[i, size]
            change = max(change, abs(system[i, size]))
        if not change < 1:
            break
        if change < 1e-13:
            break
    good = True
    for a in range(n):
        good &= -1e-12 < game.chance[a] < 1 + 1e-12 and abs(game.chance[a] - game.kept[a]) < _NEAR
        game.chance[a] = max(game.chance[a], 0.0)
    if good:
        _weigh(game)
        good = regret(game) <= _GOOD
    if not good:
        game.chance[:n] = game.kept[:n]
    return good


@kernel
def _follow_path(game: StageGame) -> float:
    """Follow the path that starts at `bias` to an equilibrium, into `chance`; returns its regret."""
    n = int(game.first[game.choices.shape[0]])
    at, tried, tangent = game.point[0, : n + 1], game.point[1, : n + 1], game.point[2, : n + 1]
    at[:n] = game.bias[:n]
    at[n] = 0
    tangent[:] = 0
    tangent[n] = 1
    step, next_guess, steps = _FIRST_STEP, 10.0, 0
    while steps < MOST_STEPS and 0 <= at[n] < _MOST_PRECISION and _turn_tangent(game, at, tangent):
        steps += 1
        if at[n] >= next_guess or steps == MOST_STEPS:
            next_guess = 2 * at[n]
            if regret(game) <= _GOOD or _solve_support(game, 0.02) or _solve_support(game, 0.001):
                _weigh(game)
                return regret(game)
        arrived = False
        while not arrived and step > 1e-6:
            for i in range(n + 1):
                tried[i] = at[i] + step * tangent[i]
            corrections = 0
            for _ in range(6):
                _linearise(game, tried, tangent)
                if not _eliminate(game.system, n + 1):
                    break
                far = 0.0
                for i in range(n + 1):
                    tried[i] += game.system[i, n + 1]
                    far = max(far, abs(game.system[i, n + 1]))
                corrections += 1
                if not far < 2:
                    break
                if far < 1e-6:
                    arrived = True
                    break
            if not arrived:
                step /= 2
        if not arrived:
            break
        at[:] = tried
        step *= 2.0 if corrections <= 2 else 1.5 if corrections == 3 else 1.0 if corrections == 4 else 0.5
    _set_chances(game, at)
    _weigh(game)
    return regret(game)


@kernel
def _solve_pure(game: StageGame, last: bool) -> bool:
    """Look for an equilibrium in pure choices, into `chance`: the first joint choice that is one, or the last one.

    Joint choices are in ascending order, the choice of player 0 being the slowest digit.
    """
    players = game.choices.shape[0]
    payoff = game.averages[0]
    joint = 1
    for p in range(players):
        joint *= game.choices[p]
    for number in range(joint):
        j = joint - 1 - number if last else number
        good, stride = True, 1
        for p in range(players - 1, -1, -1):
            picked = (j // stride) % game.choices[p]
            for a in range(game.choices[p]):
                good &= payoff[(j + (a - picked) * stride) * players + p] <= payoff[j * players + p] + _GOOD
            stride *= game.choices[p]
        if good:
            game.chance[: game.first[players]] = 0
            for p in range(players - 1, -1, -1):
                game.chance[game.first[p] + j % game.choices[p]] = 1
                j //= game.choices[p]
            _weigh(game)
            return True
    return False


@kernel
def _start_elsewhere(game: StageGame, path: int) -> None:
    """Let a path start at a mixture of its own, by its number the same in every game."""
    for a in range(game.first[game.choices.shape[0]]):
        bits = random_bits(np.uint64(path), np.uint64(a)) >> np.uint64(11)
        game.bias[a] = 4 * (bits * 2.0**-53) - 2


@kernel
def solve_stage_game(game: StageGame, selection: int) -> tuple[float, int]:
    """Find an equilibrium of the payoffs in `averages[0]` with `choices`, into `chance`; `worth` is then that of all choices.

    The principal branch, or the one that `selection` asks for, is followed first. Where it is lost, paths that start from other
    mixtures are tried, the same ones in every game, and the best of what they lead to is kept.

    Args:
        game: the game.
        selection: a `Selection`.

    Returns:
        The regret, and how many paths were followed.
    """
    players = game.choices.shape[0]
    for p in range(players):
        game.first[p + 1] = game.first[p] + game.choices[p]
    n = int(game.first[players])
    if selection in (PURE_FIRST, PURE_LAST) and _solve_pure(game, selection == PURE_LAST):
        return regret(game), 0
    game.bias[:n] = 0
    if selection == OTHER_BRANCH:
        _start_elsewhere(game, MOST_PATHS)
    least = _follow_path(game)
    game.best[:n] = game.chance[:n]
    paths = 1
    while least > _ENOUGH and paths < MOST_PATHS:
        _start_elsewhere(game, paths)
        found = _follow_path(game)
        paths += 1
        if found < least:
            least = found
            game.best[:n] = game.chance[:n]
    game.chance[:n] = game.best[:n]
    _weigh(game)
    return regret(game), paths
