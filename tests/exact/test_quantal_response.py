"""Equilibria of stage games, held against their definition."""

import numpy as np
import pytest

from getbit_env.exact.matrix_game import new_matrix_game, solve_matrix
from getbit_env.exact.quantal_response import Selection, new_stage_game, solve_stage_game


def solve(payoff, selection=Selection.PRINCIPAL_BRANCH):
    """`[n_0, ..., n_k, P]` -> the mixtures, the regret told, and the number of paths."""
    players = payoff.shape[-1]
    game = new_stage_game(players, max(payoff.shape[:-1]), payoff[..., 0].size)
    game.choices[:] = payoff.shape[:-1]
    game.averages[0, : payoff.size] = payoff.ravel()
    regret, paths = solve_stage_game(game, selection)
    return [game.chance[game.first[p] : game.first[p + 1]].copy() for p in range(players)], regret, paths


def regret_of(payoff, mixtures):
    most = 0.0
    for p in range(len(mixtures)):
        worth = payoff[..., p]
        for q in reversed(range(len(mixtures))):
            if q != p:
                worth = np.tensordot(worth, mixtures[q], (q, 0))
        most = max(most, worth.max() - worth @ mixtures[p])
    return most


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_nobody_gains_by_another_choice(players):
    rng = np.random.default_rng(players)
    for _ in range(30):
        shape = tuple(rng.integers(1, 4 if players == 5 else 6, players))
        payoff = rng.dirichlet(np.ones(players), shape)
        mixtures, regret, _ = solve(payoff)
        for mixture in mixtures:
            assert mixture.min() >= 0
            assert mixture.sum() == pytest.approx(1)
        assert regret == pytest.approx(regret_of(payoff, mixtures), abs=1e-12)
        assert regret < 1e-8


def test_payoffs_that_are_all_zero_or_one_are_no_worse():
    rng = np.random.default_rng(1)
    for _ in range(60):
        payoff = np.eye(4)[rng.integers(0, 4, rng.integers(2, 6, 4))]
        mixtures, regret, _ = solve(payoff)
        assert regret == pytest.approx(regret_of(payoff, mixtures), abs=1e-12)
        assert regret < 1e-5


def test_two_players_with_opposite_interests_get_the_value_of_the_matrix_game():
    rng = np.random.default_rng(2)
    for _ in range(20):
        m, n = rng.integers(2, 6, 2)
        matrix = rng.uniform(-1, 1, (m, n))
        game = new_matrix_game(m, n)
        game.payoff[:] = matrix
        (row, column), regret, _ = solve(np.stack([matrix, -matrix], axis=-1))
        assert row @ matrix @ column == pytest.approx(solve_matrix(game, m, n)[0], abs=1e-7)
        assert regret < 1e-8


def test_the_principal_branch_prefers_what_is_known_of_it():
    """In a pure coordination game it ends in the equilibrium that pays more; with a dominant choice, there."""
    both, _, paths = solve(np.array([[[2.0, 2], [0, 0]], [[0, 0], [1, 1]]]))
    assert [mixture.round(6).tolist() for mixture in both] == [[1, 0], [1, 0]]
    assert paths == 1
    dilemma, _, _ = solve(np.array([[[3.0, 3], [0, 5]], [[5, 0], [1, 1]]]))
    assert [mixture.round(6).tolist() for mixture in dilemma] == [[0, 1], [0, 1]]


def test_a_player_who_is_out_has_one_choice():
    rng = np.random.default_rng(3)
    payoff = rng.dirichlet(np.ones(3), (4, 3, 1))
    mixtures, regret, _ = solve(payoff)
    assert mixtures[2].tolist() == [1]
    assert regret < 1e-8


def test_a_selection_says_which_of_several_equilibria_is_taken():
    """In the battle of the sexes: two in pure choices, and a mixed one, which the principal branch leads to by symmetry."""
    payoff = np.array([[[2.0, 1], [0, 0]], [[0, 0], [1, 2]]])
    found = {selection: [mixture.round(6).tolist() for mixture in solve(payoff, selection)[0]] for selection in Selection}
    assert found[Selection.PURE_FIRST] == [[1, 0], [1, 0]]
    assert found[Selection.PURE_LAST] == [[0, 1], [0, 1]]
    assert found[Selection.PRINCIPAL_BRANCH] == [[pytest.approx(2 / 3, abs=1e-5), pytest.approx(1 / 3, abs=1e-5)]] + [
        [pytest.approx(1 / 3, abs=1e-5), pytest.approx(2 / 3, abs=1e-5)]
    ]
    assert found[Selection.OTHER_BRANCH] in (found[Selection.PURE_FIRST], found[Selection.PURE_LAST])


@pytest.mark.parametrize("selection", Selection)
def test_whatever_is_selected_is_an_equilibrium(selection):
    rng = np.random.default_rng(4)
    pure = 0
    for _ in range(30):
        shape = tuple(rng.integers(1, 5, 3))
        payoff = rng.dirichlet(np.ones(3), shape)
        mixtures, regret, paths = solve(payoff, selection)
        assert regret == pytest.approx(regret_of(payoff, mixtures), abs=1e-12)
        assert regret < 1e-8
        pure += paths == 0
        if selection in (Selection.PURE_FIRST, Selection.PURE_LAST):
            found = [
                j for j in np.ndindex(shape) if regret_of(payoff, [np.eye(n)[c] for n, c in zip(shape, j, strict=True)]) < 1e-9
            ]
            assert (paths == 0) == bool(found)
            if found:
                expected = found[0] if selection == Selection.PURE_FIRST else found[-1]
                assert [int(mixture.argmax()) for mixture in mixtures] == list(expected)
    assert (pure > 10) == (selection in (Selection.PURE_FIRST, Selection.PURE_LAST))


def test_without_a_pure_equilibrium_the_principal_branch_is_followed():
    payoff = np.array([[[1.0, -1], [-1, 1]], [[-1, 1], [1, -1]]])  # matching pennies
    for selection in Selection:
        mixtures, _, _ = solve(payoff, selection)
        for mixture in mixtures:
            assert mixture == pytest.approx([0.5, 0.5], abs=1e-6)
