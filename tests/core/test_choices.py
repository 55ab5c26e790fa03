"""Arguments that are refused: the message has the name, what was given and what is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from getbit_env.core import choices, messages
from getbit_env.core.choices import IllegalAction


@dataclass(frozen=True)
class Shown:
    history: bool = False
    identities: bool = True


def make(players: int, *, memory: bool = False, **observe: bool) -> Any:
    """Make a game.

    Args:
        players: seats.
        memory: whether tables lie face down.
        **observe: of the observation.
    """
    return players, memory, choices.options_from(Shown, observe, make)


def test_a_choice_is_a_member_or_refused_with_all_of_them() -> None:
    assert choices.choice(IllegalAction, "illegal_action", "raise") is IllegalAction.RAISE
    assert choices.choice(IllegalAction, "illegal_action", IllegalAction.LOWEST) is IllegalAction.LOWEST
    with pytest.raises(ValueError, match=r"^illegal_action is one of 'lowest', 'raise', not 'highest'$"):
        choices.choice(IllegalAction, "illegal_action", "highest")


def test_the_nearest_name_is_suggested_if_it_is_near() -> None:
    assert choices.did_you_mean("histroy", ["identities", "history"]) == "; did you mean 'history'?"
    assert choices.did_you_mean("chess", ["identities", "history"]) == ""


@pytest.mark.parametrize(
    ("check", "given", "wanted"),
    [
        (lambda v: choices.switch("memory", v), True, True),
        (lambda v: choices.switch("memory", v), np.False_, False),
        (lambda v: choices.whole_number("seat", v), np.int8(3), 3),
        (lambda v: choices.whole_number("seat", v, 0, 3), 3, 3),
        (lambda v: choices.whole_numbers("line", v), np.array([2, 0]), [2, 0]),
        (lambda v: choices.whole_numbers("line", v), range(2), [0, 1]),
        (lambda v: choices.finite("limb_reward", v), np.float32(0.5), 0.5),
        (lambda v: choices.finite("limb_reward", v), 1, 1.0),
        (choices.seed_or_none, None, None),
        (choices.seed_or_none, 2**70, 2**70),
        (lambda v: choices.reset_options(v, "{'line': [1, 0]}"), None, {}),
    ],
)
def test_what_is_allowed_is_taken(check: Callable[[Any], Any], given: Any, wanted: Any) -> None:
    taken = check(given)
    assert taken == wanted
    assert type(taken) is type(wanted)


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (lambda v: choices.switch("memory", v), "no", "memory is True or False, not 'no'"),
        (lambda v: choices.switch("memory", v), 1, "memory is True or False, not 1"),
        (lambda v: choices.whole_number("seat", v, 0, 3), 4, "seat is a whole number from 0 to 3, not 4"),
        (lambda v: choices.whole_number("seat", v, 0), -1, "seat is a whole number, at least 0, not -1"),
        (lambda v: choices.whole_number("seat", v), 3.0, "seat is a whole number, not 3.0"),
        (lambda v: choices.whole_number("seat", v), True, "seat is a whole number, not True"),
        (lambda v: choices.whole_numbers("line", v), "ABCD", "line is a list of whole numbers, not 'ABCD'"),
        (lambda v: choices.whole_numbers("line", v), np.zeros((1, 2), int), "line is a list of whole numbers, not array"),
        (lambda v: choices.whole_numbers("line", v), [0.0, 1.0], "each entry of line is a whole number, not 0.0"),
        (lambda v: choices.finite("limb_reward", v), "0.1", "limb_reward is a finite number, not '0.1'"),
        (lambda v: choices.finite("limb_reward", v), float("nan"), "limb_reward is a finite number, not nan"),
        (lambda v: choices.finite("limb_reward", v), float("inf"), "limb_reward is a finite number, not inf"),
        (choices.seed_or_none, -1, "seed is a whole number, at least 0, or None, not -1"),
        (
            lambda v: choices.reset_options(v, "{'line': [1, 0]}"),
            [1, 0],
            "options is a dict such as {'line': [1, 0]}, or None, not",
        ),
    ],
)
def test_anything_else_is_refused_by_name(check: Callable[[Any], Any], given: Any, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        check(given)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("value", ["a" * 10**6, list(range(10**5)), {k: [k] * 99 for k in range(9999)}, np.zeros(10**5)])
def test_messages_are_short(value: Any) -> None:
    assert 10 < len(messages.shown(value)) < 400
    assert messages.shown([1, "two"]) == "[1, 'two']"


def test_options_are_switches_with_names() -> None:
    assert make(4, history=True) == (4, False, Shown(history=True))
    with pytest.raises(ValueError, match=r"^history is True or False, not 'yes'$"):
        make(4, history="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^unexpected keyword argument 'histroy'; did you mean 'history'"):
        make(4, histroy=True)
    with pytest.raises(TypeError, match=r"^unexpected keyword argument 'memry'; did you mean 'memory'"):
        make(4, memry=True)


def test_a_wrong_keyword_is_refused_with_the_nearest_one() -> None:
    @choices.suggesting
    def seat(players: int, *, memory: bool = False) -> tuple[int, bool]:
        return players, memory

    assert seat(4, memory=True) == (4, True)
    with pytest.raises(TypeError, match=r"^unexpected keyword argument 'memroy'; did you mean 'memory'"):
        seat(4, memroy=True)  # type: ignore[call-arg]


def test_a_function_shows_the_arguments_that_it_passes_on() -> None:
    @choices.taking_arguments_of(make)
    def wrapped(*args: Any, **kwargs: Any) -> str:
        """Make a game, as a text."""
        return str(make(*args, **kwargs))

    signature = inspect.signature(wrapped)
    assert list(signature.parameters) == ["players", "memory", "observe"]
    assert signature.return_annotation == "str"
    assert (inspect.getdoc(wrapped) or "").startswith("Make a game, as a text.\n\nArgs:\n    players: seats.")
    assert wrapped(2, memory=True).startswith("(2, True")


def test_what_was_given_is_shortened_where_it_is_long():
    with pytest.raises(ValueError, match="illegal_action is one of 'lowest'") as refused:
        choices.choice(IllegalAction, "illegal_action", "recall:" * 500)
    assert len(str(refused.value)) < 400
