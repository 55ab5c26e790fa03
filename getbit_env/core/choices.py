"""Arguments that users give, and how a wrong one is refused: with its name, what was given, and what is allowed."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from numbers import Real
from operator import index
from typing import Any, ParamSpec, TypeVar

import numpy as np

from getbit_env.core.messages import shown

E = TypeVar("E", bound=StrEnum)
D = TypeVar("D")
P = ParamSpec("P")
R = TypeVar("R")


class IllegalAction(StrEnum):
    """What an environment does with an action that is not legal."""

    LOWEST = "lowest"  # plays the lowest legal one instead
    RAISE = "raise"


def choice(kind: type[E], option: str, value: str) -> E:
    """`value` as a member of the enum `kind`; the error names the option and what it may be."""
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{option} is one of {', '.join(repr(m.value) for m in kind)}, not {shown(value)}") from None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The end of an error message: `; did you mean 'history'?`, or nothing if no known name is near."""
    near = difflib.get_close_matches(given, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def switch(name: str, value: Any) -> bool:
    """`value`, which must be True or False.

    Raises:
        ValueError: it is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is True or False, not {shown(value)}")
    return bool(value)


def whole_number(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """`value` as an int. NumPy's integers are whole numbers; True and 3.0 are not.

    Raises:
        ValueError: it is no whole number, or below `least`, or above `most`.
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else index(value)
    except TypeError:
        number = None
    if least is not None and most is not None:
        allowed = f"a whole number from {least} to {most}"
    else:
        allowed = "a whole number" if least is None else f"a whole number, at least {least}"
    if number is None or (least is not None and number < least) or (most is not None and number > most):
        raise ValueError(f"{name} is {allowed}, not {shown(value)}")
    return number


def whole_numbers(name: str, value: Any) -> list[int]:
    """The entries of a list, a tuple or an array of one dimension, as ints.

    Raises:
        ValueError: it is something else, or an entry is no whole number.
    """
    if not isinstance(value, list | tuple | range | np.ndarray) or (isinstance(value, np.ndarray) and value.ndim != 1):
        raise ValueError(f"{name} is a list of whole numbers, not {shown(value)}")
    return [whole_number(f"each entry of {name}", entry) for entry in value]


def finite(name: str, value: Any) -> float:
    """`value` as a float.

    Raises:
        ValueError: it is no number, or infinite, or NaN.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} is a finite number, not {shown(value)}")
    return float(value)


def seed_or_none(value: Any) -> int | None:
    """A seed: a whole number of at least 0, or None.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return None
    try:
        return whole_number("seed", value, 0)
    except ValueError:
        raise ValueError(f"seed is a whole number, at least 0, or None, not {shown(value)}") from None


def reset_options(value: Any, example: str = "") -> Mapping[str, Any]:
    """The options of a `reset`: a mapping; an empty one for None.

    Args:
        value: what was given.
        example: options that there are, for the message.

    Raises:
        ValueError: it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"options is a dict{f' such as {example}' if example else ''}, or None, not {shown(value)}")
    return value


def options_from(kind: type[D], given: Mapping[str, Any], maker: Callable[..., Any] | None = None) -> D:
    """The options of an observation, from keyword arguments.

    Args:
        kind: a dataclass of switches.
        given: values by name.
        maker: the function that took them, whose own arguments an unknown name may have meant too.

    Raises:
        TypeError: there is no option of that name, as for any other keyword argument.
        ValueError: a value is neither True nor False.
    """
    known = [entry.name for entry in dataclasses.fields(kind)]  # type: ignore[arg-type]  # it is a dataclass
    for name in given:
        if name not in known:
            also = _named_arguments(maker) if maker is not None else []
            raise TypeError(f"unexpected keyword argument {name!r}{did_you_mean(name, [*also, *known])}")
    return kind(**{name: switch(name, value) for name, value in given.items()})


def suggesting(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: an unknown keyword argument is refused with the nearest one that there is."""
    known = _named_arguments(function)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise TypeError(f"unexpected keyword argument {name!r}{did_you_mean(name, known)}")
        return function(*args, **kwargs)

    return called


def taking_arguments_of(maker: Callable[P, Any]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """A decorator for a function that passes all its arguments on to `maker`: `help` and type checkers see what it takes."""

    def decorate(function: Callable[..., R]) -> Callable[P, R]:
        returned = inspect.signature(function).return_annotation
        function.__signature__ = inspect.signature(maker).replace(return_annotation=returned)  # type: ignore[attr-defined]  # as `inspect` reads it
        own, arguments = inspect.getdoc(function) or "", inspect.getdoc(maker) or ""
        function.__doc__ = f"{own}\n\nArgs:{arguments.partition('Args:')[2]}"
        return function

    return decorate


def _named_arguments(function: Callable[..., Any]) -> Sequence[str]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, parameter in inspect.signature(function).parameters.items() if parameter.kind in kinds]
