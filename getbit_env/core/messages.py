"""What error messages say of what was given."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 80
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxdict = 40


def shown(given: Any) -> str:
    """`repr(given)`, shortened in the middle where it is long: a message stays one line that can be read."""
    try:
        text = _short.repr(given)
    except Exception:  # an int of thousands of digits has no `repr`, for example
        text = f"a value of type {type(given).__name__}"
    return text if len(text) <= 300 else f"{text[:300]}..."


def check_array(name: str, given: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Refuse all but an array of this shape and type, before compiled code reads or writes past its end.

    Args:
        name: of the argument.
        given: what was given for it.
        shape: which it must have.
        dtype: the NumPy type of its entries; `np.integer` allows all whole numbers.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(given, np.ndarray) and given.shape == shape:
        kind = given.dtype.type
        if kind is dtype or issubclass(kind, dtype):
            return
    wanted = "whole numbers" if dtype is np.integer else dtype.__name__
    is_so = f"{given.shape} of {given.dtype}" if isinstance(given, np.ndarray) else shown(given)
    raise ValueError(f"{name} is an array {shape} of {wanted}, not {is_so}")
