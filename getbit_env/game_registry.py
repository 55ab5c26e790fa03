"""The games of the package and those that users register: found by variant, name or id, and imported when first needed."""

from __future__ import annotations

import re
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
        prefix: what the names of its variants and bots begin with: a word and a hyphen, such as `sharks-`. A name belongs to the
            game with the longest prefix that it begins with.
        spec: where its `GameSpec` is, as `module:attribute`; imported when it is first needed.

    Raises:
        ValueError: another game has the id or the prefix, or the prefix is none, or `spec` is not `module:attribute`.
    """
    if prefix and not re.fullmatch(r"[a-z][a-z0-9_]*(-[a-z0-9_]+)*-", prefix):
        raise ValueError(f"prefix is a word in small letters and a hyphen, such as 'sharks-', not {prefix!r}")
    if not re.fullmatch(r"[^:]+:[^:]+", spec):
        raise ValueError(f"spec is module:attribute, not {spec!r}")
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
        ValueError: there is none, or what was registered for it is not its `GameSpec`.
    """
    if game_id not in _GAMES:
        raise ValueError(f"no game {game_id!r}; there are {', '.join(_GAMES)}")
    entry = _GAMES[game_id]
    module, _, attribute = entry.spec.partition(":")
    spec = getattr(import_module(module), attribute, None)
    if not isinstance(spec, GameSpec):
        raise ValueError(f"game {game_id!r} is registered with {entry.spec}, which is no GameSpec")
    if (spec.id, spec.prefix) != (game_id, entry.prefix):
        raise ValueError(f"{entry.spec} is {spec.id!r} with the prefix {spec.prefix!r}, not {game_id!r} with {entry.prefix!r}")
    return spec


def game_of(variant: Variant) -> GameSpec:
    """The game that a variant is one of."""
    return find_game(variant.game)


def game_named(name: str) -> GameSpec:
    """The game to which the name of a variant or of a bot belongs, by its beginning."""
    return find_game(max((game_id for game_id in _GAMES if name.startswith(_GAMES[game_id].prefix)), key=_length_of_prefix))


def _length_of_prefix(game_id: str) -> int:
    return len(_GAMES[game_id].prefix)


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
