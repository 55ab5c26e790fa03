"""What a player does where: where it draws from, and what it does with its cards, by coins and by the length of its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.habits import Habit, ordinal
from getbit_env.sharks_are_wild.engine import Deal, Engine
from getbit_env.sharks_are_wild.rules import BLOCK, BLOCK_IT, DISCARD, DRAW, FROM_DRAW_PILE, NUMBER, PASS, PLAY, SHARK_AT, STEAL
from getbit_env.sharks_are_wild.variants import Variant

DRAWS = ("draw pile", "discard pile", "nothing there")
PLAYS = ("number", "Shark", "Octopus", "discards", "no card")
BLOCKS = ("lets it pass", "blocks")


class Habits:
    """See `core.habits.Habits`."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        shape = variant.coins, variant.run
        self._counts = {stage: np.zeros((*shape, n), np.int64) for stage, n in ((DRAW, 3), (PLAY, 5), (BLOCK, 2))}

    def start_places(self, starts: Sequence[Deal], player: int) -> list[str]:
        """Which turn the first one of the player is."""
        return [f"{ordinal((player - start.first) % self.variant.players + 1)} to move" for start in starts]

    def before(self, engine: Engine, player: int) -> None:
        """Look at the positions before a decision."""
        state, self._player = engine.state, player
        self._decides = engine.choosing()[:, player]
        self._stage = state.stage.copy()
        self._coins = np.minimum(state.coins[:, player].astype(np.int64), self.variant.coins - 1)
        length = state.high[:, player].astype(np.int64) - state.low[:, player]  # 0: the starter alone
        self._run = np.minimum(length, self.variant.run - 1)

    def after(self, engine: Engine, active: NDArray[np.bool_]) -> None:
        """Count what the player decided."""
        action = engine.actions[:, self._player]
        draws = np.where(action == PASS, 2, np.where(action == FROM_DRAW_PILE, 0, 1))
        plays = np.select(
            [action == PASS, action < SHARK_AT, action < DISCARD, action >= STEAL], [4, 0, 1, 2], default=3
        )  # below SHARK_AT lie the numbers
        kinds = {DRAW: draws, PLAY: plays, BLOCK: (action == BLOCK_IT).astype(np.int64)}
        for stage, counts in self._counts.items():
            games = active & self._decides & (self._stage == stage)
            np.add.at(counts, (self._coins[games], self._run[games], kinds[stage][games]), 1)

    def habits(self) -> list[Habit]:
        """Draws, plays, and in level two blocks."""
        variant = self.variant
        situations: dict[str, Any] = {
            "rows": tuple(f"{coins} coin{'s' * (coins != 1)}" for coins in range(variant.coins)),
            "columns": tuple(f"run of {length}" for length in range(1, variant.run + 1)),
            "row_name": "own coins",
            "column_name": "own run",
        }
        found = [
            Habit("draws", "where it draws from", **situations, kinds=DRAWS, counts=self._counts[DRAW]),
            Habit("plays", "what it does with a card", **situations, kinds=PLAYS, counts=self._counts[PLAY]),
        ]
        if variant.level == 2:
            found.append(Habit("blocks", "blocks an Octopus", **situations, kinds=BLOCKS, counts=self._counts[BLOCK], event=True))
        return found


assert NUMBER > PASS  # so that what lies below SHARK_AT, PASS aside, are numbers
