"""What a player does where: counts over many games, which a game keeps (`GameSpec.habits`) and reports show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Habit:
    """How often what was done, or happened, in which situation.

    Attributes:
        name: of what is counted, such as `cards`.
        title: for people.
        rows, columns: what the situations are called.
        row_name, column_name: what rows and columns stand for.
        kinds: what can be done, or happen.
        counts: `[rows, columns, kinds]`.
        event: whether the last of two kinds is an event, whose rate is of interest.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str
    column_name: str
    kinds: tuple[str, ...]
    counts: NDArray[np.int64]
    event: bool = False


class Habits(Protocol):
    """Counts what one player does, while games are played in a batch. Letters of axes: G games."""

    def start_places(self, starts: Sequence[Any], player: int) -> list[str]:
        """Where the player begins in each of some starts, such as `2nd in line`."""

    def before(self, engine: Any, player: int) -> None:
        """Look at the positions before a move."""

    def after(self, engine: Any, active: NDArray[np.bool_]) -> None:
        """Count what the player did in the move just played, in the games that are `active`, `[G]`."""

    def habits(self) -> list[Habit]:
        """All that was counted."""


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, ..."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
