"""Drawing from distributions by rows, each row from its own stream, so that a row's draws don't depend on the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import legal_set, pick
from getbit_env.core.compiled import kernel
from getbit_env.core.streams import RowStreams, random_bits


def sample(probabilities: NDArray[np.float64], streams: NDArray[np.uint64], counters: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Draw an action a row.

    Args:
        probabilities: `[B, A]` float64, rows that sum to 1.
        streams: `[B]` uint64, keys of `streams.random_bits`.
        counters: `[B]` uint64, numbers drawn so far; each is raised by one.

    Returns:
        `[B]` int64.
    """
    actions = np.empty(len(probabilities), np.int64)
    _sample(probabilities, streams, counters, actions)
    return actions


def sample_legal(action_mask: NDArray[np.int8], streams: RowStreams) -> NDArray[np.int64]:
    """Draw a legal action a row, all alike.

    Args:
        action_mask: `[B, A]`, 1 = legal; at least one a row.
        streams: of the rows.

    Returns:
        `[B]`.
    """
    actions = np.empty(len(action_mask), np.int64)
    _sample_legal(action_mask, streams.keys, streams.counters, actions)
    return actions


@kernel
def _sample_legal(
    action_mask: NDArray[np.int8], streams: NDArray[np.uint64], counters: NDArray[np.uint64], actions: NDArray[np.int64]
) -> None:
    for b in range(action_mask.shape[0]):
        counters[b] += np.uint64(1)
        actions[b] = pick(legal_set(action_mask, b), random_bits(streams[b], counters[b]))


@kernel
def _sample(
    probabilities: NDArray[np.float64], streams: NDArray[np.uint64], counters: NDArray[np.uint64], actions: NDArray[np.int64]
) -> None:
    for b in range(probabilities.shape[0]):
        counters[b] += np.uint64(1)
        left = (random_bits(streams[b], counters[b]) >> np.uint64(11)) * 2.0**-53
        chosen = -1
        for a in range(probabilities.shape[1]):
            if probabilities[b, a] > 0:  # so that rounding never draws what has no probability
                chosen = a
                left -= probabilities[b, a]
                if left < 0:
                    break
        actions[b] = chosen
