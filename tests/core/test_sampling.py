"""Draws from distributions: their frequencies, and that a row does not depend on the others."""

from __future__ import annotations

import numpy as np

from getbit_env.core.sampling import sample
from getbit_env.core.streams import game_streams


def test_draws_have_the_frequencies_of_the_distribution() -> None:
    rows, wanted = 40_000, np.array([0.5, 0.0, 0.3, 0.15, 0.05, 0.0])
    drawn = sample(np.tile(wanted, (rows, 1)), game_streams(0, rows), np.zeros(rows, np.uint64))
    often = np.bincount(drawn, minlength=6) / rows
    assert (often[wanted == 0] == 0).all()
    assert (abs(often - wanted) <= 4 * np.sqrt(wanted * (1 - wanted) / rows)).all()


def test_rounding_never_draws_what_has_no_probability() -> None:
    short = np.array([[0.0, 0.25, 0.0, 0.25, 0.0]])  # rows should sum to 1; half of the draws run off the end of this one
    drawn = {int(sample(short, game_streams(seed, 1), np.zeros(1, np.uint64))[0]) for seed in range(60)}
    assert drawn == {1, 3}


def test_a_row_draws_the_same_in_every_batch() -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    streams, counters = game_streams(3, 50), np.arange(50, dtype=np.uint64)
    before = counters.copy()
    drawn = sample(probabilities, streams, counters)
    assert np.array_equal(counters, before + np.uint64(1))
    order = np.random.default_rng(1).permutation(50)[:20]
    assert np.array_equal(sample(probabilities[order], streams[order], before[order]), drawn[order])
