"""Score cards in Markdown, which also read well on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from getbit_env.benchmark.protocol import BUDGETS, PROTOCOL
from getbit_env.benchmark.results import Kind, Over, SeedsRow, Status, TaskResult, Truth
from getbit_env.game_registry import find_variant
from getbit_env.match.statistics import Estimate
from getbit_env.version import __version__

STRENGTHS = ("wins", "payoff", "worst table", "held out", "worst held out", "mixed tables")  # columns of all tables


def cite(budget: str) -> str:
    """How to cite a number."""
    return f"{PROTOCOL}, budget {budget}, getbit-env {__version__}"


def shown(value: Estimate | None) -> str:
    """A value in a table."""
    return "-" if value is None else str(value)


def worst_shown(worst: Over | None) -> str:
    """The worst table in a cell: its wins, and whose it is."""
    return "-" if worst is None else f"{worst.value}, {worst.table}"


def truth_shown(truth: Truth) -> str:
    """What is known of the gain of a best response, in a few words."""
    if truth.kind is Kind.EXACT:
        return f"{truth.gain:.4f} (NashConv {truth.nash_conv:.4f})"
    return f"at least {truth.gain:.4f} (lower bound)" if truth.kind is Kind.LOWER_BOUND else "-"


def in_cell(text: str) -> str:
    """A text on one line that ends no cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown whose columns are aligned."""
    cells = [[in_cell(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(heads))]
    head, *body = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells]
    return "\n".join([head, "| " + " | ".join("-" * width for width in widths) + " |", *body])


def as_card(results: Sequence[TaskResult]) -> str:
    """The score card of one agent at some tasks."""
    played = [result for result in results if result.status is Status.PLAYED]
    budget = BUDGETS[results[0].budget]
    lines = [
        f"# {results[0].agent}",
        "",
        f"{cite(results[0].budget)}. A row of the first table is a task: one seat of the agent, one bot in all others, means over "
        "the bots with 95 % intervals. Held out: over the bots against which recipes don't train by default. "
        f"{budget.starts:,} starts a table, {budget.searching_starts:,} where a bot searches, each in all rotations. "
        "Gain: what a best response gains when the agent plays all other seats.",
        "",
    ]
    if played:
        lines += [
            table(
                (
                    "task",
                    "share",
                    *STRENGTHS,
                    "gain",
                    "µs a decision",
                ),
                [
                    (
                        one.task,
                        f"{1 / find_variant(one.task).players:.3f}",
                        *strengths(one),
                        truth_shown(one.truth),
                        f"{one.microseconds:.3g}",
                    )
                    for one in played
                ],
            ),
            "",
        ]
    for one in played:
        places = ", ".join(f"{place:.3f}" for place in one.places)
        lines += [f"## {one.task}", "", f"Part of games finished first, second, ...: {places}.", ""]
        if one.truth.note:
            known = {Kind.EXACT: "Gain is exact", Kind.LOWER_BOUND: "Gain is a lower bound", Kind.UNKNOWN: "Gain is not known"}
            lines += [f"{known[one.truth.kind]}: {in_cell(one.truth.note)}.", ""]
        rows = [(each.name, "yes" * each.held_out, shown(each.win), shown(each.payoff), f"{each.starts:,}") for each in one.tables]
        lines += [table(("table of", "held out", "wins", "payoff", "starts"), rows), ""]
    lost = [result for result in results if result.status is not Status.PLAYED]
    if lost:
        lines += ["## Not played", "", "These tasks have no numbers; nothing is counted as won.", ""]
        lines += [table(("task", "status", "reason"), [(one.task, str(one.status), one.reason) for one in lost]), ""]
    if results[0].settings["unchecked"]:
        lines += ["The agent is code: a change in what its module imports or reads is not noticed.", ""]
    return "\n".join(lines)


def as_seeds_card(rows: Sequence[SeedsRow], budget: str) -> str:
    """The score card of a recipe over its training seeds."""
    seeds = rows[0].seeds
    lines = [
        f"# {rows[0].recipe}: {len(seeds)} seeds",
        "",
        f"{cite(budget)}. A row is a task. Means over {len(seeds)} training seeds ({', '.join(seeds)}) with 95 % t-intervals over "
        "the means of seeds. One seed that can't play leaves a task without numbers.",
        "",
        table(
            (
                "task",
                "seeds",
                *STRENGTHS,
                "exact gain",
                "reason",
            ),
            [
                (
                    row.task,
                    str(len(seeds)),
                    *strengths(row),
                    shown(row.gain),
                    row.reason,
                )
                for row in rows
            ],
        ),
        "",
    ]
    return "\n".join(lines)


def strengths(one: TaskResult | SeedsRow) -> tuple[str, ...]:
    """The cells of these columns."""
    return (
        shown(one.win),
        shown(one.payoff),
        worst_shown(one.worst),
        shown(one.held_out_win),
        worst_shown(one.held_out_worst),
        shown(one.mixed_win),
    )
