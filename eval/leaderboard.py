"""The leaderboard, docs/leaderboard.md and .json: `python -m eval.benchmark --leaderboard` writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from getbit_env.agent_registry import shipped_agents
from getbit_env.benchmark import BUDGETS, PROTOCOL, TASKS, TaskResult
from getbit_env.benchmark.card import STRENGTHS, cite, in_cell, strengths, table, truth_shown
from getbit_env.benchmark.protocol import SEED, opponents_of
from getbit_env.benchmark.results import Status
from getbit_env.core.files import write_json, write_text
from getbit_env.game_registry import find_game, find_variant

FOLDER = Path(__file__).parent.parent / "docs"


def agents(task: str) -> tuple[str, ...]:
    """All that can have a row: opponents, equilibria and shipped agents; in memory games some with perfect recall as well.

    `tree-search` has none: it takes as much time as it is given, and docs/search.md is about what it does with that.
    """
    named = [name for name in find_game(find_variant(task).game).named_agents if name != "tree-search"]
    remembering = ("recall:equilibrium", "recall:four_players") if task.endswith("-memory") else ()
    return (*opponents_of(task), *named, *shipped_agents(), *remembering)


def write(results: Sequence[TaskResult], budget: str, about: dict[str, str], folder: Path = FOLDER) -> str:
    """Write the page and the figures; returns the page."""
    page = as_page(results, budget, about)
    figures = {"protocol": PROTOCOL, "budget": budget, "about": about, "results": [one.to_dict() for one in results]}
    write_json(folder / "leaderboard.json", figures)
    write_text(folder / "leaderboard.md", page)
    return page


def as_page(results: Sequence[TaskResult], budget: str, about: dict[str, str]) -> str:
    """The leaderboard of some results."""
    chosen, tasks = BUDGETS[budget], list(dict.fromkeys(result.task for result in results))
    left_out = [task for task in TASKS if task not in tasks]
    lines = [
        "# Leaderboard",
        "",
        f"How strong bots and shipped agents are: {cite(budget)}. [The protocol](benchmark.md) says what is played. "
        "This page is made by",
        "",
        "```sh",
        about["command"],
        "```",
        "",
        "A row is an agent; the first has most wins in the mean. It plays one seat, one bot plays all others; the wins are means "
        "over the bots' tables, with 95 % intervals. The worst table is the one with least wins. Held out are the bots against "
        "which recipes don't train by default: their mean and their worst. A mixed table holds different bots. Gain is what a best "
        "response gains when the agent plays all other seats.",
        "",
        f"{chosen.starts:,} starts a table, {chosen.searching_starts:,} where a bot searches, each in all rotations of the seats.",
    ]
    if budget == "quick":
        lines[-1] += " This tells strong from weak, and not much between neighbours. For a paper, use `standard` or `full`."
    if not any(result.settings["truth"] for result in results):
        lines += ["", "Gains were not computed for this page (`--without-truth`)."]
    if left_out:
        lines += ["", f"Not played for this page: {', '.join(left_out)}."]
    for task in tasks:
        mine = [result for result in results if result.task == task]
        lines += ["", f"## {task}", "", *_of_task(mine)]
    lines += ["", "## Where this comes from", ""]
    facts = {**about, "seed of the protocol": str(SEED)}
    lines.append(table(("", ""), [(f"{key}", f"`{value}`") for key, value in facts.items() if value]))
    return "\n".join([*lines, ""])


def _of_task(results: Sequence[TaskResult]) -> list[str]:
    played = sorted((one for one in results if one.win is not None), key=lambda one: -one.win.mean if one.win else 0.0)
    share = 1 / find_variant(results[0].task).players
    lines = [
        f"The equal share is {share:.3f}.",
        "",
        table(
            ("agent", *STRENGTHS, "gain"),
            [(one.agent, *strengths(one), truth_shown(one.truth)) for one in played],
        ),
    ]
    lost = [
        one for one in results if one.status is Status.FAILED or (one.status is Status.UNFIT and "is not solved here" in one.reason)
    ]
    no_path = re.compile(r": there is no .*?;")  # where this machine keeps solutions is nobody's matter
    if lost:
        lines += ["", *(f"- {one.agent} has no row: {in_cell(no_path.sub(';', one.reason))}" for one in lost)]
    return lines
