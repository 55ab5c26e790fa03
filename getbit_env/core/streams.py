"""Random numbers: one counter-based 64-bit stream a game or a row, so that batch size and threads change nothing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def random_bits(key: np.uint64, counter: np.uint64) -> np.uint64:
    """Number `counter` of the stream `key`, 64 bits (the SplitMix64 output function, which is counter-based)."""
    z = key + counter * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


def game_streams(seed: int | np.random.SeedSequence | None, games: int, first: int = 0) -> NDArray[np.uint64]:
    """The random stream of each game `first`..`first + games - 1` of a seed.

    Game `i` has the same stream whatever the size of the batch that it is played in.

    Args:
        seed: entropy; `None` takes it from the operating system.
        games: how many.
        first: number of the first one.

    Returns:
        `[games]` uint64, keys of `random_bits`.

    Raises:
        ValueError: the seed is negative.
    """
    root = (seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)).generate_state(1, np.uint64)[0]
    numbers: Any = np.arange(first + 1, first + games + 1, dtype=np.uint64)
    return cast(NDArray[np.uint64], random_bits(root, numbers))


class RowStreams:
    """One stream a row: what a row draws depends on the seed and its number, not on the batch.

    Attributes:
        keys, counters: `[B]` uint64, as `random_bits` takes them.
    """

    keys: NDArray[np.uint64]
    counters: NDArray[np.uint64]

    def __init__(self, seed: int | None, rows: int) -> None:
        self.keys = game_streams(seed, rows)
        self.counters = np.zeros(rows, np.uint64)
