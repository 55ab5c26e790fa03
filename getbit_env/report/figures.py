"""What a report shows, as numbers: leaderboards and cross tables of benchmarks and tournaments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from getbit_env.benchmark.card import cite
from getbit_env.benchmark.protocol import BUDGETS
from getbit_env.benchmark.results import Kind, SeedsRow, Status, TaskResult, mean_of
from getbit_env.game_registry import find_variant
from getbit_env.match.ratings import rate
from getbit_env.match.statistics import Estimate
from getbit_env.match.tournament import TournamentResult


@dataclass(frozen=True)
class Row:
    """An agent on a leaderboard.

    Attributes:
        agent: its name.
        win: mean over tables.
        payoff: likewise.
        worst: wins at the table at which it wins least.
        against: the agent in the other seats of that table.
        held_out: mean over the tables of bots that are held out of the recipes.
        mixed: wins at mixed tables.
        gain: of a best response, in words: exact, at least, or unknown.
        rating: OpenSkill's, of tournaments.
        reason: why it has no numbers.
    """

    agent: str
    win: Estimate | None
    payoff: Estimate | None = None
    worst: Estimate | None = None
    against: str = ""
    held_out: Estimate | None = None
    mixed: Estimate | None = None
    gain: str = ""
    rating: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Board:
    """A leaderboard.

    Attributes:
        title: of the game and where it comes from.
        variant: name of the variant.
        share: the equal share of the wins.
        rows: the most wins first; those without numbers last.
        source: the protocol and its budget, or the tournament's file.
    """

    title: str
    variant: str
    share: float
    rows: tuple[Row, ...]
    source: str

    @property
    def close(self) -> bool:
        """Whether the intervals of the first two overlap."""
        wins = [row.win for row in self.rows[:2] if row.win is not None]
        if len(wins) < 2:
            return False
        first, second = wins
        low = first.mean if first.low is None else first.low
        high = second.mean if second.high is None else second.high
        return low <= high


@dataclass(frozen=True)
class CrossTable:
    """Who wins how often against whom.

    Attributes:
        title: of the game and where it comes from.
        share: the equal share.
        rows: the agents whose wins are shown.
        columns: the agents that play all other seats.
        cells: `[rows][columns]`; None where nothing was played, an agent against itself for one.
        failed: what stands for such a cell where an agent failed.
    """

    title: str
    share: float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Estimate | None, ...], ...]
    failed: frozenset[tuple[str, str]] = frozenset()

    @property
    def most_lopsided(self) -> tuple[str, str, float] | None:
        """Who beats whom most clearly, and with how many wins."""
        found = [
            (row, column, cell.mean)
            for row, cells in zip(self.rows, self.cells, strict=True)
            for column, cell in zip(self.columns, cells, strict=True)
            if cell is not None
        ]
        return max(found, key=lambda one: one[2], default=None)


def boards_of_results(results: Sequence[TaskResult], seeds: Sequence[tuple[str, SeedsRow]] = ()) -> list[Board]:
    """A leaderboard for each task and budget of the benchmark. A recipe has a row over its seeds beside theirs."""
    boards = []
    for (task, budget), group in _groups(results).items():
        rows = [row for of_budget, row in seeds if (of_budget, row.task) == (budget, task)]
        boards.append(_board(task, budget, group, rows))
    return boards


def _row(name: str, one: TaskResult | SeedsRow, gain: str) -> Row:
    worst = one.worst
    return Row(
        name,
        one.win,
        one.payoff,
        worst.value if worst else None,
        worst.table if worst else "",
        one.held_out_win,
        one.mixed_win,
        gain,
        reason=one.reason,
    )


def _groups(results: Sequence[TaskResult]) -> dict[tuple[str, str], list[TaskResult]]:
    groups: dict[tuple[str, str], list[TaskResult]] = {}
    for result in results:
        groups.setdefault((result.task, result.budget), []).append(result)
    return groups


def _board(task: str, budget: str, results: Sequence[TaskResult], seeds: Sequence[SeedsRow]) -> Board:
    rows = [_row(f"{row.recipe}, {len(row.seeds)} seeds", row, f"{row.gain.mean:.4f}" if row.gain else "") for row in seeds]
    for one in results:
        if one.win is None:
            rows.append(Row(one.agent, None, reason=one.reason or str(one.status)))
        else:
            rows.append(_row(one.agent, one, _gain(one)))
    return Board(
        f"{task}, benchmark", task, 1 / find_variant(task).players, _sorted(rows), cite(budget) if budget in BUDGETS else budget
    )


def _gain(result: TaskResult) -> str:
    truth = result.truth
    if truth.kind is Kind.EXACT and truth.gain is not None:
        return f"{truth.gain:.4f}"
    return f"≥ {truth.gain:.4f}" if truth.kind is Kind.LOWER_BOUND and truth.gain is not None else ""


def board_of_tournament(source: str, result: TournamentResult) -> Board:
    """The leaderboard of a tournament: means over tables of one agent against many of another."""
    try:
        ratings = {name: rating.mu for name, rating in rate(result.matches).items()}
    except ImportError:
        ratings = {}
    rows = []
    for name in result.agents:
        tables = [(other, _standing(result, name, other)) for other in result.agents if other != name]
        played = [(other, standing.win, standing.payoff) for other, standing in tables if standing is not None]
        if not played:
            reason = next((m.failure.reason for m in result.matches if m.failure and m.failure.agent == name), "not played")
            rows.append(Row(name, None, reason=reason))
            continue
        against, worst, _ = min(played, key=lambda one: one[1].mean)
        mixed = [match[name].win for match in result.mixed if match.failure is None and name in match.line_up]
        rows.append(
            Row(
                name,
                mean_of([win for _, win, _ in played]),
                mean_of([payoff for _, _, payoff in played]),
                worst,
                against,
                mixed=mean_of(mixed) if mixed else None,
                rating=ratings.get(name),
            )
        )
    variant = result.settings["variant"]
    return Board(f"{variant}, tournament", variant, 1 / result.players, _sorted(rows), source)


def _sorted(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: (row.win is None, -row.win.mean if row.win else 0.0)))


def _standing(result: TournamentResult, one: str, many: str) -> Any:
    try:
        match = result.match(one, many)
    except KeyError:
        return None
    return None if match.failure else match[one]


def cross_of_tournament(result: TournamentResult) -> CrossTable:
    """One agent (row) against many of another (column)."""
    cells, failed = [], set()
    for one in result.agents:
        row = []
        for many in result.agents:
            standing = None if one == many else _standing(result, one, many)
            row.append(None if standing is None else standing.win)
            if one != many and standing is None:
                failed.add((one, many))
        cells.append(tuple(row))
    share, variant = 1 / result.players, result.settings["variant"]
    return CrossTable(f"{variant}, tournament", share, result.agents, result.agents, tuple(cells), frozenset(failed))


def crosses_of_results(results: Sequence[TaskResult]) -> list[CrossTable]:
    """For each task and budget: agents (rows) at the tables of each bot (columns)."""
    found = []
    for (task, _), group in _groups(results).items():
        played = [one for one in group if one.status is Status.PLAYED and one.win is not None]
        played.sort(key=lambda one: -one.win.mean if one.win else 0.0)
        if not played:
            continue
        bots = tuple(dict.fromkeys(table.name for one in played for table in one.of_bots))
        cells = tuple(tuple(next((t.win for t in one.of_bots if t.name == bot), None) for bot in bots) for one in played)
        share = 1 / find_variant(task).players
        found.append(CrossTable(f"{task}, benchmark", share, tuple(one.agent for one in played), bots, cells))
    return found
