"""Zero-sum matrix games, solved by the simplex method with a certificate that does not trust it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel

TOLERANCE = 1e-9  # what the two strategies of a solution may leave open
_FINE = 1e-13  # a solution as good as this is not tried to be bettered
_PIVOTS = 20  # at most, times the rows and columns together
# How small a number is taken for zero, and Bland's rule or not. Which works depends on how degenerate a game is.
_ATTEMPTS = ((1e-11, False), (1e-13, False), (1e-9, False), (1e-11, True), (1e-13, True), (1e-9, True))


class MatrixGame(NamedTuple):
    """A matrix game of at most M x N and its solution, in the workspace that `solve_matrix` needs."""

    payoff: NDArray[np.float64]  # [M, N] to the row player, who maximises it
    row: NDArray[np.float64]  # [M] strategy of the row player
    column: NDArray[np.float64]  # [N] strategy of the column player
    tableau: NDArray[np.float64]  # [M + 1, N + 1]
    basic: NDArray[np.int64]  # [M] the variable of each tableau row: columns are 0..N-1, slacks of rows N..
    free: NDArray[np.int64]  # [N] the variable of each tableau column


def new_matrix_game(rows: int, columns: int) -> MatrixGame:
    """Allocate for games of at most so many rows and columns."""
    return MatrixGame(
        np.zeros((rows, columns)),
        np.zeros(rows),
        np.zeros(columns),
        np.zeros((rows + 1, columns + 1)),
        np.zeros(rows, np.int64),
        np.zeros(columns, np.int64),
    )


@kernel
def _pivot(tableau: NDArray[np.float64], m: int, n: int, r: int, c: int) -> None:
    """Exchange the variables of row `r` and column `c`."""
    inverse = 1 / tableau[r, c]
    for j in range(n + 1):
        tableau[r, j] *= inverse
    tableau[r, c] = inverse
    for i in range(m + 1):
        factor = tableau[i, c]
        if i != r and factor != 0:
            tableau[i, c] = 0
            for j in range(n + 1):
                tableau[i, j] -= factor * tableau[r, j]


@kernel
def _simplex(game: MatrixGame, m: int, n: int, zero: float, bland: bool) -> None:
    """Strategies by the primal simplex method on: maximise the sum of y where (payoff + shift) y <= 1 and y >= 0.

    A reduced cost, a pivot or a difference of ratios below `zero` counts as none. The entering variable is the one of steepest
    reduced cost, the leaving one that of the largest pivot; or, by Bland's rule, which can't cycle, the first of each.
    """
    tableau, basic, free = game.tableau, game.basic, game.free
    shift = 1 - game.payoff[:m, :n].min()
    for i in range(m):
        for j in range(n):
            tableau[i, j] = game.payoff[i, j] + shift
        tableau[i, n] = 1
        basic[i] = n + i
    for j in range(n):
        tableau[m, j] = -1
        free[j] = j
    tableau[m, n] = 0
    for _ in range(_PIVOTS * (m + n)):
        c = -1
        for j in range(n):
            if tableau[m, j] < -zero and (c < 0 or (free[j] < free[c] if bland else tableau[m, j] < tableau[m, c])):
                c = j
        if c < 0:
            break
        r, least = -1, np.inf
        for i in range(m):
            if tableau[i, c] > zero:
                ratio = tableau[i, n] / tableau[i, c]
                close = abs(ratio - least) <= zero
                if (ratio < least and not close) or (close and (basic[i] < basic[r] if bland else tableau[i, c] > tableau[r, c])):
                    r, least = i, min(least, ratio)
        if r < 0:
            break  # a number went astray; the certificate will tell
        _pivot(tableau, m, n, r, c)
        basic[r], free[c] = free[c], basic[r]
    game.row[:m] = 0
    game.column[:n] = 0
    for i in range(m):
        if basic[i] < n:
            game.column[basic[i]] = max(tableau[i, n], 0.0)
    for j in range(n):
        if free[j] >= n:
            game.row[free[j] - n] = max(tableau[m, j], 0.0)


@kernel
def _guarantees(game: MatrixGame, m: int, n: int) -> tuple[float, float]:
    """What the row player gets at least by its strategy, and what the column player concedes at most by its own."""
    rows, columns = game.row[:m].sum(), game.column[:n].sum()
    if not (rows > 0 and columns > 0):
        return -np.inf, np.inf
    game.row[:m] /= rows
    game.column[:n] /= columns
    most = -np.inf
    against = game.tableau[m, :n]
    against[:] = 0
    for i in range(m):
        concedes = 0.0
        for j in range(n):
            concedes += game.payoff[i, j] * game.column[j]
            against[j] += game.payoff[i, j] * game.row[i]
        most = max(most, concedes)
    return against.min(), most


@kernel
def _attempt(game: MatrixGame, m: int, n: int, attempt: int) -> tuple[float, float]:
    zero, bland = _ATTEMPTS[attempt]
    _simplex(game, m, n, zero, bland)
    return _guarantees(game, m, n)


@kernel
def solve_matrix(game: MatrixGame, m: int, n: int) -> tuple[float, float]:
    """Solve the game `payoff[:m, :n]`.

    Returns:
        The value to the row player, and the gap: what the strategies in `row[:m]` and `column[:n]` guarantee differs by so much,
        computed from the payoffs and the strategies alone. It is above `TOLERANCE` only if every attempt failed.
    """
    # A saddle point in pure strategies needs no pivots.
    low, high, row, column = -np.inf, np.inf, 0, 0
    for i in range(m):
        worst = game.payoff[i, :n].min()
        if worst > low:
            low, row = worst, i
    for j in range(n):
        best = game.payoff[:m, j].max()
        if best < high:
            high, column = best, j
    if high <= low:
        game.row[:m] = 0
        game.column[:n] = 0
        game.row[row] = 1
        game.column[column] = 1
        return low, 0.0
    best, least = 0, np.inf
    for attempt in range(len(_ATTEMPTS)):
        low, high = _attempt(game, m, n, attempt)
        if high - low < least:
            best, least = attempt, high - low
        if least <= _FINE:
            return (low + high) / 2, high - low
    low, high = _attempt(game, m, n, best)
    return (low + high) / 2, high - low
