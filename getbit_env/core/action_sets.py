"""Sets of actions as masks of 64 bits, and the random choice from one; no game here has more than 64 actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import inlined, kernel


@inlined
def size_of(actions: np.uint64) -> int:
    """How many actions a set holds."""
    x = actions - ((actions >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


SMALL = np.uint64(256)  # sets of the actions 0 to 7 are below; what `pick` finds of these stands in tables
_SIZES = np.array([number.bit_count() for number in range(256)], np.uint64)
_MEMBERS = np.zeros((256, 8), np.uint8)
for _number in range(256):
    _members = [action for action in range(8) if _number >> action & 1]
    _MEMBERS[_number, : len(_members)] = _members


@inlined
def pick(actions: np.uint64, bits: np.uint64) -> int:
    """One action of a set that is not empty, uniformly by 64 random bits (the bias is below 2^-26)."""
    if actions < SMALL:
        skip = ((bits >> np.uint64(32)) * _SIZES[actions]) >> np.uint64(32)
        return int(np.uint64(_MEMBERS[actions, skip]))  # of the type of what is returned below
    size = size_of(actions)
    skip = ((bits >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)
    if size <= 7:  # without a branch, which the processor could not foresee
        for k in range(6):
            actions &= (actions - np.uint64(1)) | (np.uint64(0) - np.uint64(skip <= k))
    else:
        for _ in range(skip):
            actions &= actions - np.uint64(1)
    return size_of((actions & (~actions + np.uint64(1))) - np.uint64(1))


@inlined
def legal_set(action_mask: NDArray[np.int8], b: int) -> np.uint64:
    """The set of legal actions of row `b`."""
    actions = np.uint64(0)
    for a in range(action_mask.shape[1]):
        actions |= np.uint64(action_mask[b, a] != 0) << np.uint64(a)
    return actions


@kernel
def probabilities_of(preferred: NDArray[np.uint64], probabilities: NDArray[np.float64]) -> None:
    """Write every row's set, `[B]`, as a uniform distribution, `[B, A]`."""
    for b in range(preferred.shape[0]):
        each = 1 / size_of(preferred[b])
        for a in range(probabilities.shape[1]):
            probabilities[b, a] = each * ((preferred[b] >> np.uint64(a)) & np.uint64(1))
