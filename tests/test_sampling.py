"""Drawing by rows: the right frequencies, nothing that has no probability, and no row that depends on another."""

import numpy as np
import pytest
from scipy import stats

from getbit_env.core.sampling import sample
from getbit_env.core.streams import game_streams, random_bits


def draw(probabilities: np.ndarray, seed: int = 0, times: int = 1) -> np.ndarray:
    """`times` draws of every row, `[times, B]`."""
    streams, counters = game_streams(seed, len(probabilities)), np.zeros(len(probabilities), np.uint64)
    return np.array([sample(probabilities, streams, counters) for _ in range(times)])


@pytest.mark.parametrize("row", [[1.0], [0.5, 0.5], [0.1, 0.0, 0.2, 0.7], [0.0, 0.999, 0.001], [1 / 7] * 7])
def test_actions_come_as_often_as_their_probabilities_say(row: list[float]) -> None:
    rows = np.tile(np.array(row), (2000, 1))
    drawn = draw(rows, times=20)
    counts = np.bincount(drawn.ravel(), minlength=len(row))
    possible = np.flatnonzero(row)
    assert counts.sum() == counts[possible].sum() == 40_000
    if len(possible) > 1:
        assert stats.chisquare(counts[possible], 40_000 * np.array(row)[possible]).pvalue > 1e-4


def test_what_has_no_probability_is_never_drawn() -> None:
    """Also where rounding leaves a rest: rows that sum to a little less than one."""
    for row in ([0.0, 0.3, 0.0], [0.0, 1e-300, 0.0], [1 / 3, 1 / 3, 1 / 3 - 1e-9, 0.0]):
        allowed = set(np.flatnonzero(row).tolist())
        assert set(draw(np.tile(np.array(row), (500, 1)), times=4).ravel().tolist()) <= allowed


def test_a_row_draws_the_same_whatever_the_others_draw() -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(5), 64)
    whole = draw(rows, seed=3, times=10)
    np.testing.assert_array_equal(draw(rows[:7], seed=3, times=10), whole[:, :7])
    other = rows.copy()
    other[1::2] = rng.dirichlet(np.ones(5), 32)
    np.testing.assert_array_equal(draw(other, seed=3, times=10)[:, ::2], whole[:, ::2])
    assert (draw(rows, seed=4, times=10) != whole).any()


def test_each_draw_takes_the_next_number_of_its_stream() -> None:
    """Counted from one, 53 bits of it, as the reference in plain Python does it."""
    streams, counters = game_streams(1, 5), np.arange(5, dtype=np.uint64)
    rows = np.tile(np.array([0.2, 0.3, 0.5]), (5, 1))
    drawn = sample(rows, streams, counters)
    np.testing.assert_array_equal(counters, np.arange(1, 6))
    for b in range(5):
        number = (int(random_bits(streams[b], counters[b])) >> 11) * 2.0**-53
        assert drawn[b] == int(number >= 0.2) + int(number >= 0.5)


def test_no_rows_are_no_actions() -> None:
    drawn = sample(np.empty((0, 3)), np.empty(0, np.uint64), np.empty(0, np.uint64))
    assert drawn.shape == (0,)
    assert drawn.dtype == np.int64
