"""All arrays of an engine in one block of memory, so that compiled code takes one argument for all of them.

To hand an array to compiled code takes 0.3 us, and to count references to it in a decision of one game takes longer than the
decision. A *plan* says instead where each array lies: four numbers for each, its address and its shape, behind a head of
numbers of the game's own. The caller keeps the block alive.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]  # numba has it
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel

ALIGNMENT = 64  # bytes: arrays begin where lines of the cache do


class Gathered(NamedTuple):
    """A batch whose arrays lie in one block."""

    plan: NDArray[np.int64]
    block: NDArray[np.uint8]
    batch: Any


def _leaves(batch: tuple[Any, ...]) -> list[Any]:
    """The arrays of a batch, those within its named tuples as well, in the order of the fields."""
    return [leaf for entry in batch for leaf in (entry if isinstance(entry, tuple) else (entry,))]


def _with_leaves(kind: Callable[..., Any], leaves: Iterable[Any]) -> Any:
    """A batch of other leaves, in the order of `_leaves`."""
    left = iter(leaves)
    entries: list[Any] = []
    for entry in get_type_hints(kind).values():
        fields = getattr(entry, "_fields", None)
        entries.append(next(left) if fields is None else entry._make(next(left) for _ in fields))
    return kind(*entries)


def places_in_plan(kind: type[tuple[Any, ...]], head: int) -> Any:
    """Where each array stands in a plan, by the names of the fields: `AT.games.hand`.

    Args:
        kind: a NamedTuple of arrays, and of NamedTuples of arrays.
        head: numbers before the first array.

    Returns:
        int64 of NumPy: for each plain integer numba would compile anew.
    """
    return _with_leaves(kind, (np.int64(head + 4 * i) for i in itertools.count()))


def gather(head: Sequence[int], batch: tuple[Any, ...]) -> Gathered:
    """Move the arrays of a batch into one block.

    Args:
        head: numbers that the plan begins with.
        batch: as `places_in_plan` takes its kind.
    """
    arrays = _leaves(batch)
    starts = [0]
    for array in arrays:
        starts.append(starts[-1] + -(-array.nbytes // ALIGNMENT) * ALIGNMENT)
    block = np.zeros(starts[-1], np.uint8)
    plan = [*head]
    moved: list[Any] = []
    for array, start in zip(arrays, starts, strict=False):
        moved.append(block[start : start + array.nbytes].view(array.dtype).reshape(array.shape))
        moved[-1][:] = array
        plan += [block.ctypes.data + start, *array.shape, *[0] * (3 - array.ndim)]
    return Gathered(np.array(plan, np.int64), block, _with_leaves(type(batch), moved))


def pointer(address: int) -> Any:
    """An address that stands in a plan, as `numba.carray` takes it."""
    return ctypes.c_void_p(int(address))


@overload(pointer)
def _compiled_pointer(address: Any) -> Any:  # noqa: ARG001 - numba looks at its type
    def compiled(address: Any) -> Any:
        return _as_pointer(address)  # type: ignore[call-arg]  # numba gives the context

    return compiled


@intrinsic
def _as_pointer(_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


# --- arrays by their places in a plan, for compiled code --------------------------------------------------------------------------


@kernel
def shape(plan: NDArray[np.int64], at: np.int64) -> tuple[int, int, int]:
    """The shape of the array at this place; 0 for axes that it has not."""
    return plan[at + 1], plan[at + 2], plan[at + 3]


@kernel
def bytes_1d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint8]:
    """The array of uint8 at this place, `[A]`."""
    return carray(pointer(plan[at]), shape(plan, at)[0], np.uint8)


@kernel
def bytes_2d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint8]:
    """The array of uint8 at this place, `[A, B]`."""
    return carray(pointer(plan[at]), shape(plan, at)[:2], np.uint8)


@kernel
def bytes_3d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint8]:
    """The array of uint8 at this place, `[A, B, C]`."""
    return carray(pointer(plan[at]), shape(plan, at), np.uint8)


@kernel
def words_1d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint64]:
    """The array of uint64 at this place, `[A]`."""
    return carray(pointer(plan[at]), shape(plan, at)[0], np.uint64)


@kernel
def words_2d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.uint64]:
    """The array of uint64 at this place, `[A, B]`."""
    return carray(pointer(plan[at]), shape(plan, at)[:2], np.uint64)


@kernel
def floats_1d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.float32]:
    """The array of float32 at this place, `[A]`."""
    return carray(pointer(plan[at]), shape(plan, at)[0], np.float32)


@kernel
def floats_2d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.float32]:
    """The array of float32 at this place, `[A, B]`."""
    return carray(pointer(plan[at]), shape(plan, at)[:2], np.float32)


@kernel
def floats_3d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.float32]:
    """The array of float32 at this place, `[A, B, C]`."""
    return carray(pointer(plan[at]), shape(plan, at), np.float32)


@kernel
def actions_2d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.int64]:
    """The array of int64 at this place, `[A, B]`."""
    return carray(pointer(plan[at]), shape(plan, at)[:2], np.int64)


@kernel
def masks_3d(plan: NDArray[np.int64], at: np.int64) -> NDArray[np.int8]:
    """The array of int8 at this place, `[A, B, C]`."""
    return carray(pointer(plan[at]), shape(plan, at), np.int8)
