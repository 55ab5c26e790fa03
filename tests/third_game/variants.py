"""The variants of Goofspiel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import choice

ID = "tests/Goofspiel-v0"
PREFIX = "goofspiel-"


class Reward(StrEnum):
    """What finishing places pay."""

    WIN = "win"
    PLACEMENT = "placement"


@dataclass(frozen=True)
class Variant:
    """A game of `players` with the cards 1 to `cards`."""

    game: ClassVar[str] = ID
    players: int = 2
    cards: int = 3

    def __post_init__(self) -> None:
        """Refuse what makes no game."""
        if not 2 <= self.players <= 4 or not 2 <= self.cards <= 9:
            raise ValueError(f"Goofspiel has 2 to 4 players and 2 to 9 cards, not {self.players} and {self.cards}")

    @property
    def actions(self) -> int:
        """Action `a` bids card `a + 1`."""
        return self.cards

    @property
    def points(self) -> int:
        """Of all prizes together."""
        return self.cards * (self.cards + 1) // 2

    @property
    def name(self) -> str:
        """Such as `goofspiel-2p-3c`."""
        return f"{PREFIX}{self.players}p-{self.cards}c"

    def __str__(self) -> str:
        return self.name

    def reward_of_finish(self, reward: str) -> NDArray[np.float64]:
        """`[players + 1]`."""
        places = np.arange(1, self.players + 1)
        wins = np.where(places == 1, 1, -1 / (self.players - 1))
        by_place = 1 - 2 * (places - 1) / (self.players - 1)
        return np.concatenate([[0.0], wins if choice(Reward, "reward", reward) is Reward.WIN else by_place])


def parse_variant(name: str) -> Variant:
    """Read the name of a variant."""
    found = re.fullmatch(rf"{PREFIX}([2-4])p-([2-9])c", name)
    if found is None:
        raise ValueError(f"no variant {name[:80]!r}; {PREFIX}2p-3c is one, with 2 to 4 players and 2 to 9 cards")
    return Variant(int(found[1]), int(found[2]))
