"""Matrix games against a general solver of linear programmes, degenerate ones above all."""

import numpy as np
import pytest
from scipy.optimize import linprog

from getbit_env.exact.matrix_game import TOLERANCE, new_matrix_game, solve_matrix


def highs(payoff):
    m, n = payoff.shape
    return -linprog(
        np.r_[np.zeros(m), -1],
        A_ub=np.c_[-payoff.T, np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=[[1] * m + [0]],
        b_eq=[1],
        bounds=[(0, None)] * m + [(None, None)],
    ).fun


def solve(payoff):
    m, n = payoff.shape
    game = new_matrix_game(25, 25)
    game.payoff[:m, :n] = payoff
    value, gap = solve_matrix(game, m, n)
    return value, gap, game.row[:m], game.column[:n]


KINDS = {
    "generic": lambda rng, shape: rng.uniform(-1, 1, shape),
    "three values": lambda rng, shape: rng.integers(-1, 2, shape).astype(float),
    "few ranks": lambda rng, shape: rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1])),
    "equal but for noise": lambda rng, shape: rng.integers(-1, 2, shape) + rng.uniform(-1e-14, 1e-14, shape),
    "repeated rows": lambda rng, shape: rng.uniform(-1, 1, shape)[rng.integers(0, shape[0], shape[0])],
}


@pytest.mark.parametrize("kind", KINDS)
def test_value_and_certificate(kind):
    rng = np.random.default_rng(1)
    for _ in range(40):
        payoff = KINDS[kind](rng, tuple(rng.integers(1, 26, 2)))
        value, gap, row, column = solve(payoff)
        assert value == pytest.approx(highs(payoff), abs=1e-9)
        assert row.min() >= 0
        assert column.min() >= 0
        assert row.sum() == pytest.approx(1)
        assert column.sum() == pytest.approx(1)
        assert gap == pytest.approx((payoff @ column).max() - (row @ payoff).min(), abs=1e-12)
        assert gap <= TOLERANCE


def test_games_whose_solution_is_known():
    assert solve(np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]]))[:2] == (pytest.approx(0, abs=1e-12), pytest.approx(0, abs=1e-12))
    value, _, row, column = solve(np.array([[3.0, 1], [0, 2]]))  # row mixes 1/2 1/2, column 1/4 3/4
    assert value == pytest.approx(1.5)
    assert row == pytest.approx([0.5, 0.5])
    assert column == pytest.approx([0.25, 0.75])
    assert solve(np.full((4, 7), 0.25))[:2] == (0.25, 0.0)
