"""What a player sees: zeros and ones, the player itself first and then the others from the next seat on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.layouts import BlockLayout
from tests.third_game.rules import Games
from tests.third_game.variants import Variant


@dataclass(frozen=True)
class Options:
    """What an observation shows beyond hands and prizes."""

    points: bool = False  # of all players; whoever remembers the rounds knows them


class Layout(BlockLayout):
    """Where things stand in an observation."""

    def __init__(self, variant: Variant, options: Options | None = None) -> None:
        """Place the fields."""
        self.variant, self.options = variant, options or Options()
        block = [("hand", variant.cards, "the card is in its hand")]
        if self.options.points:
            block.append(("points", variant.points + 1, "it has so many points"))
        game = [("prize", variant.cards, "the prize that is turned up"), ("next", variant.cards, "prizes that are still to come")]
        super().__init__(variant.players, block, game, "player k, counted from the observer on")

    @property
    def view(self) -> tuple[Variant, Options]:
        """Equal views show the same."""
        return self.variant, self.options

    def write(self, games: Games, observation: NDArray[np.float32]) -> None:
        """What all seats see, `[G, P, D]`."""
        size, cards = games.prizes.shape
        all_games = np.arange(size)
        turned_up, to_come = np.zeros((2, size, cards), np.float32)
        goes_on = games.rounds < cards
        turned_up[all_games[goes_on], games.prizes[all_games[goes_on], games.rounds[goes_on]]] = 1
        np.put_along_axis(to_come, games.prizes, (np.arange(cards) > games.rounds[:, None]).astype(np.float32), axis=1)
        self.field(observation, "prize")[:] = turned_up[:, None]
        self.field(observation, "next")[:] = to_come[:, None]
        for seat in range(self.variant.players):
            seen = np.roll(np.arange(self.variant.players), -seat)
            self.field(observation[:, seat], "hand")[:] = games.hand[:, seen]
            if self.options.points:
                points = np.arange(self.variant.points + 1)
                self.field(observation[:, seat], "points")[:] = games.points[:, seen, None] == points
