"""The games of the package, and of whoever registers another: found by variant, by name or by id, imported when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from getbit_env.core.spec import GameSpec, Variant

V = TypeVar("V")


class _Entry(NamedTuple):
    prefix: str
    spec: str


_GAMES: dict[str, _Entry] = {}


def register_game(game_id: str, *, prefix: str, spec: str) -> None:
    """Make a game known to everything that finds games by name. To register the same game again changes nothing.

    Args:
        game_id: id of its environment.
        prefix: what the names of its variants and bots begin with, such as `sharks-`.
        spec: where its `GameSpec` is, as `module:attribute`; imported when it is first needed.

    Raises:
        ValueError: another game has the id or the prefix.
    """
    entry = _Entry(prefix, spec)
    for known_id, known in _GAMES.items():
        if (known_id, known) != (game_id, entry) and (known_id == game_id or known.prefix == prefix):
            raise ValueError(f"game {game_id!r} with the prefix {prefix!r} is like {known_id!r} with {known.prefix!r}")
    _GAMES[game_id] = entry


def game_ids() -> list[str]:
    """The ids of all games."""
    return list(_GAMES)


def find_game(game_id: str) -> GameSpec:
    """The game of this id.

    Raises:
        ValueError: there is none.
    """
    if game_id not in _GAMES:
        raise ValueError(f"no game {game_id!r}; there are {', '.join(_GAMES)}")
    module, _, attribute = _GAMES[game_id].spec.partition(":")
    spec: GameSpec = getattr(import_module(module), attribute)
    return spec


def game_of(variant: Variant) -> GameSpec:
    """The game that a variant is one of."""
    return find_game(variant.game)


def game_named(name: str) -> GameSpec:
    """The game to which the name of a variant or of a bot belongs, by its beginning."""
    longest = max((entry.prefix for entry in _GAMES.values() if name.startswith(entry.prefix)), key=len)
    return find_game(next(game_id for game_id, entry in _GAMES.items() if entry.prefix == longest))


def find_variant(variant: Any) -> Any:
    """The variant of any game that has this name; a variant is returned as it is.

    Raises:
        ValueError: no game has it.
        TypeError: it is neither a name nor a variant.
    """
    if isinstance(variant, str):
        return game_named(variant).parse_variant(variant)
    if isinstance(variant, type) or not isinstance(variant, Variant):
        raise TypeError(f"a variant is given by its name, such as '4p', or as a Variant, not as {variant!r}")
    return variant


register_game("getbit/GetBit-v0", prefix="", spec="getbit_env.get_bit.spec:SPEC")
register_game("getbit/SharksAreWild-v0", prefix="sharks-", spec="getbit_env.sharks_are_wild.spec:SPEC")
