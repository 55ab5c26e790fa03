"""Sets of actions as bits, against Python's own arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from getbit_env.core.action_sets import legal_set, pick, probabilities_of, size_of

SETS = [1, 1 << 63, 0b101, 0b1111111, 0b11111111, (1 << 64) - 1, 0x8000000000000001, 0xF0F0F0F0F0F0F0F0, 1 << 40 | 1 << 5 | 1 << 4]


def members(actions: int) -> list[int]:
    return [a for a in range(64) if actions >> a & 1]


@pytest.mark.parametrize("actions", [0, *SETS])
def test_the_size_is_the_number_of_members(actions: int) -> None:
    assert size_of(np.uint64(actions)) == actions.bit_count()


@pytest.mark.parametrize("actions", SETS)
def test_equal_shares_of_the_random_numbers_pick_each_member(actions: int) -> None:
    of = members(actions)
    for k, action in enumerate(of):
        first, last = -(-(k << 32) // len(of)), -(-((k + 1) << 32) // len(of)) - 1
        for high in (first, (first + last) // 2, last):
            for low in (0, 2**32 - 1):
                assert pick(np.uint64(actions), np.uint64(high << 32 | low)) == action


def test_the_legal_set_is_what_the_mask_says() -> None:
    mask = (np.random.default_rng(0).random((20, 64)) < 0.3).astype(np.int8)
    for b, row in enumerate(mask):
        assert legal_set(mask, b) == sum(1 << a for a in np.flatnonzero(row).tolist())
        assert legal_set(mask[:, :5], b) == sum(1 << a for a in np.flatnonzero(row[:5]).tolist())


def test_probabilities_are_equal_within_a_set_and_zero_outside() -> None:
    probabilities = np.full((3, 64), np.nan)
    probabilities_of(np.array([0b1, 0b1010, (1 << 64) - 1], np.uint64), probabilities)
    assert np.flatnonzero(probabilities[0]).tolist() == [0]
    assert np.flatnonzero(probabilities[1]).tolist() == [1, 3]
    assert probabilities[1, 3] == 0.5
    assert (probabilities[2] == 1 / 64).all()
    assert probabilities.sum(axis=1).tolist() == [1, 1, 1]
