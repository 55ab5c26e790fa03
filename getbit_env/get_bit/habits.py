"""What a player does where: the cards that it plays, and how often it is bitten, by place and limbs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.habits import Habit, ordinal
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.variants import LIMBS, Variant


def place_names(robots: int) -> tuple[str, ...]:
    """What places are called by how many robots are behind: `last`, `2nd last`, ..."""
    return tuple("last" if behind == 0 else f"{ordinal(behind + 1)} last" for behind in range(robots))


class Habits:
    """See `core.habits.Habits`. Places are counted from the shark, since the last robot is bitten."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        robots, limbs, cards = variant.robots, variant.limbs, variant.cards
        self._cards = np.zeros((robots, limbs, cards), np.int64)
        self._bites = np.zeros((robots, limbs, 2), np.int64)

    def start_places(self, starts: Sequence[Any], player: int) -> list[str]:
        """The places of the player's robots in each starting line."""
        own = range(player * self.variant.robots_per_player, (player + 1) * self.variant.robots_per_player)
        places = [[place for place, robot in enumerate(start, 1) if robot in own] for start in starts]
        return [" and ".join(map(ordinal, some)) for some in places]

    def before(self, engine: Engine, player: int) -> None:
        """Look at the positions before a round."""
        state, each = engine.state, self.variant.robots_per_player
        self._own = np.arange(player * each, (player + 1) * each)
        self._limbs = state.limbs[self._own].astype(np.int64)
        self._behind = (state.limbs > 0).sum(axis=0) - 1 - state.place[self._own].astype(np.int64)
        self._bites_begin = state.rounds > 0  # nobody is bitten in the first round (G4.1)

    def after(self, engine: Engine, active: NDArray[np.bool_]) -> None:
        """Count the cards that the player's robots played, and the bites."""
        card_of = np.array([int(bit).bit_length() - 1 for bit in range(256)])
        for k, robot in enumerate(self._own):
            cards = card_of[engine.state.played[robot]]
            counts = active & (self._limbs[k] > 0)
            where = self._behind[k, counts], self._limbs[k, counts] - 1
            np.add.at(self._cards, (*where, cards[counts]), 1)
            counts &= self._bites_begin
            where = self._behind[k, counts], self._limbs[k, counts] - 1
            np.add.at(self._bites, (*where, (engine.outcome.bitten[robot, counts] > 0).astype(np.int64)), 1)

    def habits(self) -> list[Habit]:
        """Cards, and bites."""
        variant = self.variant
        unit = "limbs" if variant.limbs == LIMBS else "bites"
        situations: dict[str, Any] = {
            "rows": place_names(variant.robots),
            "columns": tuple(f"{left} {unit if left > 1 else unit[:-1]} left" for left in range(variant.limbs, 0, -1)),
            "row_name": "place in line",
            "column_name": f"{unit} left",
        }
        cards = tuple(str(card) for card in range(1, variant.cards + 1))
        return [
            Habit("cards", "cards played", **situations, kinds=cards, counts=self._cards[:, ::-1]),
            Habit("bites", "bitten", **situations, kinds=("spared", "bitten"), counts=self._bites[:, ::-1], event=True),
        ]
