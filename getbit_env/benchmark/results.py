"""What came out of a task, what is concluded from it, and how several training seeds become one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from getbit_env.benchmark.protocol import is_held_out
from getbit_env.match.comparison import seed_interval
from getbit_env.match.statistics import Estimate


class Status(StrEnum):
    """What became of a task, or of a table."""

    PLAYED = "played"
    UNFIT = "can't play"  # the agent was refused before anything was played
    FAILED = "failed"  # someone at a table could not play on


class Kind(StrEnum):
    """What is known of the gain of a best response."""

    EXACT = "exact"
    LOWER_BOUND = "lower bound"
    UNKNOWN = "unknown"


class Over(NamedTuple):
    """A number of one table out of several."""

    table: str
    value: Estimate


@dataclass(frozen=True)
class Truth:
    """What a best response gains over the agent's own share when the agent plays all other seats.

    Attributes:
        kind: how much is known.
        gain: mean over seats and starts; of a lower bound, the least with 95 % confidence.
        nash_conv: the gains of all players together; exact only.
        note: of what it holds, or why it is not known.
    """

    kind: Kind
    gain: float | None = None
    nash_conv: float | None = None
    note: str = ""


@dataclass(frozen=True)
class TableResult:
    """One seat of the agent at one table.

    Attributes:
        others: the players of the other seats.
        starts: that were played, each in all rotations.
        win, payoff: of the agent; None if the table could not play.
        places: part of its games finished first, second, ...
        failure: who could not play, and why.
    """

    others: tuple[str, ...]
    starts: int
    win: Estimate | None
    payoff: Estimate | None
    places: tuple[float, ...]
    failure: str = ""

    @property
    def name(self) -> str:
        """How a card calls it."""
        return self.others[0] if self.of_a_kind else ", ".join(self.others)

    @property
    def of_a_kind(self) -> bool:
        """Whether one bot plays all seats beside the agent."""
        return len(set(self.others)) == 1

    @property
    def held_out(self) -> bool:
        """Whether one bot plays them against which recipes don't train by default."""
        return self.of_a_kind and is_held_out(self.others[0])


@dataclass(frozen=True)
class TaskResult:
    """What an agent did at a task.

    Attributes:
        task: name of the variant.
        agent: its name.
        budget: name of the budget.
        settings: all that the result depends on.
        status: whether the task was played.
        reason: why it was not.
        tables: what happened at each, those of one bot first.
        truth: what is known of its exploitability.
        decisions: that it made at these tables.
        microseconds: that a decision took, in the mean over batches of many games.
        about: where and when it was played.
    """

    task: str
    agent: str
    budget: str
    settings: dict[str, Any]
    status: Status
    reason: str = ""
    tables: tuple[TableResult, ...] = ()
    truth: Truth = Truth(Kind.UNKNOWN)
    decisions: int = 0
    microseconds: float = 0.0
    about: dict[str, str] | None = None

    @property
    def of_bots(self) -> tuple[TableResult, ...]:
        """The tables of one bot."""
        return tuple(table for table in self.tables if table.of_a_kind)

    @property
    def of_held_out(self) -> tuple[TableResult, ...]:
        """The tables of one bot that is held out."""
        return tuple(table for table in self.tables if table.held_out)

    @property
    def mixed(self) -> tuple[TableResult, ...]:
        """The mixed tables."""
        return tuple(table for table in self.tables if not table.of_a_kind)

    def mean(self, of: Callable[[TableResult], Estimate | None], tables: Sequence[TableResult]) -> Estimate | None:
        """The mean of tables; None if there is none, or one could not play.

        All tables play the same starts, so their errors may have the same sign. The ends of the interval are the means of the
        tables' ends, which holds however they depend on each other.
        """
        values = [of(table) for table in tables]
        if self.status is not Status.PLAYED or not values:
            return None
        return mean_of([value for value in values if value is not None])

    @property
    def win(self) -> Estimate | None:
        """Mean wins over the bots' tables."""
        return self.mean(lambda table: table.win, self.of_bots)

    @property
    def payoff(self) -> Estimate | None:
        """Mean payoff over the bots' tables."""
        return self.mean(lambda table: table.payoff, self.of_bots)

    @property
    def mixed_win(self) -> Estimate | None:
        """Mean wins over the mixed tables."""
        return self.mean(lambda table: table.win, self.mixed)

    @property
    def held_out_win(self) -> Estimate | None:
        """Mean wins over the tables of bots that are held out."""
        return self.mean(lambda table: table.win, self.of_held_out)

    @property
    def worst(self) -> Over | None:
        """The bot's table at which it wins least. As the least of several, it errs to the low side."""
        return self._worst(self.of_bots)

    @property
    def held_out_worst(self) -> Over | None:
        """Likewise of the bots that are held out."""
        return self._worst(self.of_held_out)

    def _worst(self, tables: Sequence[TableResult]) -> Over | None:
        found = [Over(table.name, table.win) for table in tables if table.win is not None]
        return min(found, key=lambda one: one.value.mean) if self.status is Status.PLAYED and found else None

    @property
    def places(self) -> tuple[float, ...]:
        """Placement distribution over the bots' tables, each with the same weight."""
        if self.status is not Status.PLAYED:
            return ()
        return tuple(np.mean([table.places for table in self.of_bots], axis=0).tolist())

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it, with what is concluded from it."""
        worst, held_out = self.worst, self.held_out_worst
        return {
            **asdict(self),
            "summary": {
                "win": self.win,
                "payoff": self.payoff,
                "worst": worst and {"table": worst.table, "win": worst.value},
                "held_out_win": self.held_out_win,
                "held_out_worst": held_out and {"table": held_out.table, "win": held_out.value},
                "mixed_win": self.mixed_win,
                "places": self.places,
            },
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> TaskResult:
        """The result that `to_dict` gave, also after a way through JSON."""
        fields = {key: value for key, value in data.items() if key != "summary"}
        tables = tuple(
            TableResult(
                tuple(table["others"]),
                table["starts"],
                Estimate(*table["win"]) if table["win"] else None,
                Estimate(*table["payoff"]) if table["payoff"] else None,
                tuple(table["places"]),
                table["failure"],
            )
            for table in data["tables"]
        )
        truth = Truth(**{**data["truth"], "kind": Kind(data["truth"]["kind"])})
        return TaskResult(**{**fields, "status": Status(data["status"]), "tables": tables, "truth": truth})


def mean_of(values: Sequence[Estimate]) -> Estimate:
    """The mean of estimates that may depend on each other in any way; no interval if all are exact."""
    mean = float(np.mean([value.mean for value in values]))
    if all(value.low is None for value in values):
        return Estimate(mean)
    low = float(np.mean([value.mean if value.low is None else value.low for value in values]))
    high = float(np.mean([value.mean if value.high is None else value.high for value in values]))
    return Estimate(mean, low, high)


@dataclass(frozen=True)
class SeedsRow:
    """Several training seeds of one recipe at one task. All intervals are t-intervals over the means of seeds.

    Attributes:
        task: name of the variant.
        recipe: its name.
        seeds: the agents.
        reason: why there are no numbers: a seed that could not play is not left out of a mean.
        win, payoff: mean over the bots' tables.
        worst: the bot against which the recipe wins least, in the mean over its seeds.
        held_out_win, held_out_worst: likewise over the bots that are held out.
        mixed_win: mean over the mixed tables.
        gain: of a best response, if it is exact for all seeds.
    """

    task: str
    recipe: str
    seeds: tuple[str, ...]
    reason: str = ""
    win: Estimate | None = None
    payoff: Estimate | None = None
    worst: Over | None = None
    held_out_win: Estimate | None = None
    held_out_worst: Over | None = None
    mixed_win: Estimate | None = None
    gain: Estimate | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON can hold it."""
        return {**asdict(self), "number_of_seeds": len(self.seeds)}


def over_seeds(recipe: str, results: Sequence[TaskResult]) -> SeedsRow:
    """One row from the results of several seeds at the same task.

    Raises:
        ValueError: there are fewer than two, or they are of different tasks or budgets.
    """
    kinds = {(result.task, result.budget) for result in results}
    if len(results) < 2 or len(kinds) > 1:
        raise ValueError(f"a row over seeds needs two results or more of one task and budget, not {len(results)} of {len(kinds)}")
    seeds, task = tuple(result.agent for result in results), results[0].task
    lost = [f"{result.agent}: {result.reason}" for result in results if result.status is not Status.PLAYED]
    if lost:
        return SeedsRow(task, recipe, seeds, "; ".join(lost))

    def over(values: Sequence[Estimate | None], least: float, most: float) -> Estimate | None:
        means = [value.mean for value in values if value is not None]
        return seed_interval(means, least, most) if len(means) == len(results) else None

    by_bot = [
        (tables[0].held_out, Over(tables[0].name, value))
        for tables in zip(*(result.of_bots for result in results), strict=True)
        if (value := over([table.win for table in tables], 0, 1)) is not None
    ]

    def worst(found: Sequence[Over]) -> Over | None:
        return min(found, key=lambda one: one.value.mean, default=None)

    gains = [Estimate(r.truth.gain) if r.truth.kind is Kind.EXACT and r.truth.gain is not None else None for r in results]
    return SeedsRow(
        task,
        recipe,
        seeds,
        "",
        over([result.win for result in results], 0, 1),
        over([result.payoff for result in results], -float("inf"), float("inf")),
        worst([one for _, one in by_bot]),
        over([result.held_out_win for result in results], 0, 1),
        worst([one for held_out, one in by_bot if held_out]),
        over([result.mixed_win for result in results], 0, 1),
        over(gains, 0, float("inf")),
    )
