"""What seats see becomes rows of agents, and what agents choose becomes actions of seats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel


@kernel
def hand_out(
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    first: NDArray[np.int64],
    step: NDArray[np.int64],
    sees: NDArray[np.float32],
    may: NDArray[np.int8],
) -> None:
    """Copy what seats see, `[G, P, D]` and `[G, P, A]`, to rows `[B, D]` and `[B, A]`, in one pass over all seats.

    Args:
        observation: what is seen.
        action_mask: what is legal.
        first: `[P]`, the row of each seat in the first game.
        step: `[P]`, how many rows further it has its row in the next game; 0: it has none.
        sees: overwritten.
        may: overwritten.
    """
    for g in range(observation.shape[0]):
        for seat in range(observation.shape[1]):
            if step[seat] == 0:
                continue
            b = first[seat] + g * step[seat]
            for i in range(observation.shape[2]):
                sees[b, i] = observation[g, seat, i]
            for a in range(action_mask.shape[2]):
                may[b, a] = action_mask[g, seat, a]


@kernel
def collect(chosen: NDArray[np.int64], seats: NDArray[np.int64], most: int, actions: NDArray[np.int64]) -> int:
    """Put the actions of rows, `[G * seats]`, where those of the seats belong, in `[G, P]`; one out of range becomes 0.

    Returns:
        How many were not from 0 to `most - 1`.
    """
    outside = 0
    b = 0
    for g in range(actions.shape[0]):
        for seat in seats:
            inside = (chosen[b] >= 0) & (chosen[b] < most)
            outside += not inside
            actions[g, seat] = chosen[b] if inside else 0
            b += 1
    return outside
