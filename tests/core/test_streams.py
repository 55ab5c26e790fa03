"""Random streams: the published numbers of SplitMix64, and independence of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from getbit_env.core.streams import RowStreams, game_streams, random_bits


def test_numbers_are_those_of_splitmix64() -> None:
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]  # of the seed 0
    assert [int(random_bits(np.uint64(0), np.uint64(k))) for k in range(1, 5)] == published
    counters: Any = np.arange(1, 5, dtype=np.uint64)
    assert random_bits(np.uint64(0), counters).tolist() == published


def test_every_bit_is_set_half_the_time() -> None:
    counters: Any = np.arange(1 << 14, dtype=np.uint64)
    for key in game_streams(0, 3):
        bits = random_bits(key, counters)[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        assert (abs(bits.mean(axis=0) - 0.5) < 5 * 0.5 / 2**7).all(), "five standard errors"


def test_a_game_has_the_same_stream_in_every_batch() -> None:
    streams = game_streams(7, 100)
    assert np.unique(streams).size == 100
    assert np.array_equal(game_streams(7, 10), streams[:10])
    assert np.array_equal(game_streams(7, 40, first=60), streams[60:])
    assert np.array_equal(game_streams(np.random.SeedSequence(7), 100), streams)
    assert not np.isin(game_streams(8, 100), streams).any()
    assert not np.isin(game_streams(None, 100), game_streams(None, 100)).any(), "without a seed each time others"
    assert game_streams(7, 0).shape == (0,)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        game_streams(-1, 4)


def test_rows_begin_at_the_beginning_of_their_streams() -> None:
    few, many = RowStreams(3, 4), RowStreams(3, 9)
    assert np.array_equal(few.keys, many.keys[:4])
    assert few.counters.tolist() == [0] * 4
    assert few.counters.dtype == few.keys.dtype == np.uint64
