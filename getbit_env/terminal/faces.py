"""The face of each game in a terminal."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from getbit_env.core.spec import Variant
from getbit_env.game_registry import game_of

FACES = {
    "getbit/GetBit-v0": "getbit_env.terminal.get_bit",
    "getbit/SharksAreWild-v0": "getbit_env.terminal.sharks_are_wild",
}


def face_of(variant: Variant) -> Any:
    """The module that shows a game.

    Raises:
        ValueError: nothing shows it.
    """
    if variant.game not in FACES:
        raise ValueError(f"nothing shows {game_of(variant)} in a terminal; shown are {', '.join(FACES)}")
    return import_module(FACES[variant.game])
