"""How strong an agent is, in numbers that two papers can compare (docs/benchmark.md).

Each task is kept in the output folder when it is done. The same command goes on where it was broken off, and plays a task again
only if the agent, the package or the protocol has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from getbit_env.agent_registry import load_agent
from getbit_env.benchmark import BUDGETS, PROTOCOL, TASKS, TaskResult, over_seeds, play_task
from getbit_env.benchmark.card import as_card, as_seeds_card
from getbit_env.benchmark.tasks import Bound, settings_of, truth_of
from getbit_env.command_line import (
    add_ray_argument,
    add_running_arguments,
    command_parser,
    interruptible,
    leave,
    need,
    no_bar,
    progress_of,
)
from getbit_env.core.files import InUseError, owned, write_json, write_text
from getbit_env.core.provenance import provenance
from getbit_env.core.units import executor, results_in_order
from getbit_env.game_registry import find_variant

from . import leaderboard

EXAMPLES = {
    "two_players --tasks 2p": "a trained agent at one task",
    "runs/first --tasks 4p 4p-memory --budget standard": "a run of your own at two tasks, for a paper",
    "--seeds-of my-recipe runs/a runs/b runs/c": "three seeds of one recipe as one row",
}
OUTPUT = Path("runs/benchmark")


def say(text: str) -> None:
    """Tell the user something, beside the results."""
    print(text, file=sys.stderr, flush=True)


@dataclass
class BenchmarkRun:
    """The benchmark with a folder in which results are kept.

    Attributes:
        folder: where.
        budget: name of the budget.
        truth: whether exact gains are computed.
        bound: what finds lower bounds; None: none are looked for.
        threads: that compute exact gains.
    """

    folder: Path
    budget: str
    truth: bool = True
    bound: Bound | None = None
    threads: int = 1
    progress: Callable[[str, int, int], None] | None = field(default=None, repr=False)

    def result(self, agent: str, task: str) -> TaskResult:
        """The result of an agent at a task: the one that is kept, if it still holds, else a new one, which is kept.

        Raises:
            ValueError: no agent is called so.
            OSError: the result can't be written.
        """
        settings = settings_of(agent, task, self.budget, truth=self.truth, bound=self.bound is not None)
        file = self.file(settings)
        if (kept := kept_result(file, settings)) is not None:
            return kept
        played = {**settings, "truth": False, "lower_bound": False}
        if self.truth and (kept := kept_result(self.file(played), played)) is not None:  # only the truth is missing
            variant, loaded = find_variant(task), load_agent(agent)
            truth = truth_of(agent, loaded, variant, self.budget, True, self.bound, self.threads)
            result = replace(kept, settings=settings, truth=truth)
        else:
            result = play_task(
                agent, task, self.budget, truth=self.truth, bound=self.bound, threads=self.threads, progress=self.progress
            )
        if settings_of(agent, task, self.budget, truth=self.truth, bound=self.bound is not None) != settings:
            raise ValueError(f"agent {agent!r} changed while it played {task}; run the command again when it is done")
        write_json(file, result.to_dict())
        return result

    def file(self, settings: dict[str, Any]) -> Path:
        """Where the result of these settings is kept."""
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
        return self.folder / "results" / f"{plain(settings['agent'])}-{settings['task']}-{self.budget}-{digest}.json"


def kept_result(file: Path, settings: dict[str, Any]) -> TaskResult | None:
    """A result that is kept, if it was played with these settings by an agent that played: whatever failed is tried again."""
    try:
        result = TaskResult.from_dict(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        say(f"{file} holds no result ({error!r:.100}); the task is played again")
        return None
    return result if result.settings == settings and result.status == "played" else None


def plain(name: str) -> str:
    """A name as a file's name can hold it."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[-60:] or "agent"


def bound_by_training(agent: Any, variant: Any, frames: int, seed: int) -> float:
    """A lower bound of the gain of a best response, by a responder that is trained.

    Raises:
        ValueError: the protocol trains none for this game.
    """
    from getbit_env.get_bit.variants import ID

    from .lower_bound import lower_bound

    if variant.game != ID:
        raise ValueError(f"{PROTOCOL} trains responders for Get Bit! alone; `getbit lower-bound` trains one here as well")
    return float(lower_bound(agent, variant, frames, seed=seed, quiet=True).lower_bound)


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    made = command_parser(prog, __doc__, EXAMPLES)
    made.add_argument(
        "agents", nargs="*", metavar="AGENT", help="a bot, a trained agent, the folder of a run, sb3:PATH.zip, or module:attribute"
    )
    made.add_argument("--tasks", nargs="+", choices=TASKS, metavar="TASK", help=f"some of {', '.join(TASKS)} (default: all)")
    made.add_argument("--budget", choices=tuple(BUDGETS), default="quick", help="how much is played (default %(default)s)")
    made.add_argument("--output", type=Path, default=OUTPUT, metavar="FOLDER", help="keeps the results (default %(default)s)")
    made.add_argument("--seeds-of", metavar="NAME", help="the agents are seeds of one recipe: one row, with intervals over seeds")
    made.add_argument("--without-truth", action="store_true", help="compute no exact gain and no lower bound")
    made.add_argument("--leaderboard", action="store_true", help="play every bot and shipped agent, and write docs/leaderboard.*")
    add_running_arguments(made)
    add_ray_argument(made, "tasks")
    return made


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.benchmark") -> int:
    """The command; returns its exit code."""
    made = make_parser(prog)
    options = made.parse_args(arguments)
    if options.leaderboard and (options.agents or options.seeds_of):
        made.error("--leaderboard takes all bots and shipped agents; give no AGENT and no --seeds-of with it")
    if options.leaderboard and not leaderboard.FOLDER.is_dir():
        made.error(f"--leaderboard writes into {leaderboard.FOLDER}, which only a checkout has")
    if not options.leaderboard and not options.agents:
        made.error("name an AGENT, or give --leaderboard")
    if len(set(options.agents)) < len(options.agents):
        made.error(f"an AGENT stands twice: {' '.join(options.agents)}")
    if options.seeds_of and len(options.agents) < 2:
        made.error(f"--seeds-of {options.seeds_of} needs two agents or more, one a seed, not {len(options.agents)}")
    tasks = tuple(task for task in TASKS if options.tasks is None or task in options.tasks)
    pairs = [(agent, task) for task in tasks for agent in (leaderboard.agents(task) if options.leaderboard else options.agents)]
    try:
        bound: Bound | None = None
        if BUDGETS[options.budget].bound_frames and not options.without_truth:
            need("torch", "stable_baselines3", "sb3_contrib", "tqdm")
            bound = bound_by_training
        if not no_bar():
            need("tqdm")
        for agent in dict.fromkeys(agent for agent, _ in pairs):
            load_agent(agent)
        bench = BenchmarkRun(options.output, options.budget, not options.without_truth, bound, options.threads)
        options.output.mkdir(parents=True, exist_ok=True)
        with owned(options.output, "the benchmark's folder"), interruptible():
            results = play_all(bench, pairs) if options.ray is None else play_far(bench, pairs, options.ray)
            return report(options, results)
    except KeyboardInterrupt:
        say(f"interrupted: tasks that are done are kept in {options.output}, and the same command goes on from there")
        return 130
    except (ValueError, InUseError) as error:
        say(f"error: {error}")
        return 2
    except OSError as error:
        say(f"error: --output {options.output} can't be written: {error}")
        return 2


def play_all(bench: BenchmarkRun, pairs: Sequence[tuple[str, str]]) -> list[TaskResult]:
    """Agents at tasks, task by task, so that what is computed for a game serves all of them."""
    results = []

    def each() -> None:
        for agent, task in pairs:
            result = bench.result(agent, task)
            results.append(result)
            if no_bar() and result.status != "can't play":
                say(f"{agent} on {task}: {f'wins {result.win}' if result.win else result.reason}")

    if no_bar():
        each()
    else:
        from tqdm import tqdm

        with tqdm(total=0, unit="table", file=sys.stderr) as bar:
            bench.progress = progress_of(bar)
            each()
    return results


def play_far(bench: BenchmarkRun, pairs: Sequence[tuple[str, str]], ray: str) -> list[TaskResult]:
    """Agents at tasks on a Ray cluster; a pair is a unit. Workers keep the results in the folder, which they all reach.

    Raises:
        ValueError: there is no cluster at the address.
    """
    there = replace(bench, folder=bench.folder.resolve(), threads=1, progress=None)

    def tick(result: TaskResult) -> None:
        if result.status != "can't play":
            say(f"{result.agent} on {result.task}: {f'wins {result.win}' if result.win else result.reason}")

    with executor(threads=bench.threads, ray=ray) as pool:
        return results_in_order(pool, partial(_result, there), pairs, tick)


def _result(bench: BenchmarkRun, pair: tuple[str, str]) -> TaskResult:
    return bench.result(*pair)


def report(options: argparse.Namespace, results: Sequence[TaskResult]) -> int:
    """Print and write what was found; returns the exit code: 1 if someone failed."""
    folder: Path = options.output
    about = provenance()
    found: dict[str, Any] = {"protocol": PROTOCOL, "budget": options.budget, "results": [one.to_dict() for one in results]}
    cards = []
    for agent in dict.fromkeys(result.agent for result in results):
        mine = [result for result in results if result.agent == agent]
        cards.append(as_card(mine))
        write_json(folder / f"{plain(agent)}-{options.budget}.json", {**found, "results": [one.to_dict() for one in mine]})
        write_text(folder / f"{plain(agent)}-{options.budget}.md", cards[-1])
    if options.seeds_of:
        tasks = list(dict.fromkeys(result.task for result in results))
        rows = [over_seeds(options.seeds_of, [result for result in results if result.task == task]) for task in tasks]
        found["seeds"] = [row.to_dict() for row in rows]
        cards = [as_seeds_card(rows, options.budget)]
        write_json(folder / f"{plain(options.seeds_of)}-seeds-{options.budget}.json", {**found, "about": about})
        write_text(folder / f"{plain(options.seeds_of)}-seeds-{options.budget}.md", cards[0])
    if options.leaderboard:
        cards = [leaderboard.write(results, options.budget, about)]
    print(json.dumps({**found, "about": about}) if options.json else "\n".join(cards))
    return int(any(result.status == "failed" for result in results))


if __name__ == "__main__":
    leave(main())
