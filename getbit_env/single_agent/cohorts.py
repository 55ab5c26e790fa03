"""Figures of training games that short games don't distort: games are counted by the rollout in which they began."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Cohort(Generic[T]):
    results: list[T] = field(default_factory=list)
    told: int = 0  # results when the last rollout ended
    left: int | None = None  # games that were going on then; None before its own rollout has ended


class Cohorts(Generic[T]):
    """Results of games that are played one after another, by the rollout in which each began.

    The games that *end* in a rollout are no fair sample. After all games have begun together, those that end first are the short
    ones; and in most games short ones are lost: of seven players many are out before the first one has won. Opponents that are new
    in a rollout are judged in the same wrong way. So a game belongs to the rollout in which it *began*. Which games these are is
    decided before anything of them is known, so their results have the right mean (Wald's identity); and they are told once the
    last of them is over, since the missing ones would be the long ones again.
    """

    def __init__(self) -> None:
        self._pending: dict[int, _Cohort[T]] = {}
        self._made = 0

    def begin(self) -> int:
        """Begin a rollout; returns the number of its games."""
        self._pending[self._made] = _Cohort()
        self._made += 1
        return self._made - 1

    def add(self, number: int, result: T) -> None:
        """Note the result of a game that began in rollout `number`; those of rollouts that are not awaited are dropped."""
        if number in self._pending:
            self._pending[number].results.append(result)

    @property
    def awaited(self) -> frozenset[int]:
        """The rollouts whose results were not told yet."""
        return frozenset(self._pending)

    def end(self, playing: Mapping[int, int]) -> list[T]:
        """End a rollout.

        Args:
            playing: how many games that go on began in each rollout.

        Returns:
            The results of earlier rollouts whose last game is over. A rollout is dropped if games of it were thrown away, as by a
            reset of the environment: the rest would be no fair sample.
        """
        complete: list[T] = []
        for number, cohort in list(self._pending.items()):
            before, cohort.left = cohort.left, playing.get(number, 0)
            ended, cohort.told = len(cohort.results) - cohort.told, len(cohort.results)
            if before is None:
                continue
            if cohort.left != before - ended:
                del self._pending[number]
            elif cohort.left == 0:
                complete += cohort.results
                del self._pending[number]
        return complete
