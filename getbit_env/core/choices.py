"""Options that are one of a few names, and how a wrong one is refused."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

E = TypeVar("E", bound=StrEnum)
D = TypeVar("D")


class IllegalAction(StrEnum):
    """What an environment does with an action that is not legal."""

    LOWEST = "lowest"  # plays the lowest legal one instead
    RAISE = "raise"


def choice(kind: type[E], option: str, value: str) -> E:
    """`value` as a member of the enum `kind`; the error names the option and what it may be."""
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{option} is one of {', '.join(repr(m.value) for m in kind)}, not {value!r}") from None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The end of an error message: `; did you mean 'history'?`, or nothing if no known name is near."""
    near = difflib.get_close_matches(given, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def options_from(kind: type[D], given: Mapping[str, Any]) -> D:
    """The options of an observation, from keyword arguments.

    Args:
        kind: a dataclass of switches.
        given: values by name.

    Raises:
        TypeError: there is no option of that name, as for any other keyword argument.
        ValueError: a value is neither True nor False.
    """
    known = [entry.name for entry in dataclasses.fields(kind)]  # type: ignore[arg-type]  # it is a dataclass
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}{did_you_mean(name, known)}")
        if not isinstance(value, bool):
            raise ValueError(f"{name} is True or False, not {value!r}")
    return kind(**given)
