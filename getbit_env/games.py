"""The games of the package, and what matches, training and stored policies use of each.

Each game is a subpackage whose modules define the same names (see docs/third_game.md). A game is imported when one of its variants
is met: who plays Get Bit! alone never loads another.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

GET_BIT = "getbit_env.get_bit"
OTHERS = {"sharks-": "getbit_env.sharks_are_wild"}  # by the beginning of the names of variants and bots


class Game(NamedTuple):
    """A game; what its parts do is said where they are defined."""

    id: str  # of its environment
    Engine: Any
    Layout: Any
    Options: Any
    number_of_starts: Any
    rotated_starts: Any


def game_of(variant: Any) -> Game:
    """The game that a variant is one of."""
    package = type(variant).__module__.rpartition(".")[0]
    environment, engine, observations = (import_module(f"{package}.{part}") for part in ("environment", "engine", "observations"))
    return Game(
        environment.ID,
        engine.Engine,
        observations.Layout,
        observations.Options,
        engine.number_of_starts,
        engine.rotated_starts,
    )


def package_of(name: str) -> str:
    """The subpackage of the game to which the name of a variant or a bot belongs."""
    return next((package for beginning, package in OTHERS.items() if name.startswith(beginning)), GET_BIT)


def find_variant(name: Any) -> Any:
    """The variant of any game that has this name; what is no name is returned as it is.

    Raises:
        ValueError: no game has it.
    """
    return import_module(f"{package_of(name)}.variants").parse_variant(name) if isinstance(name, str) else name
