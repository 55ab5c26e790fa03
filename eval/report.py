"""Write a report of what was found, one HTML file that can be mailed: it loads nothing from elsewhere.

Give it results of `getbit benchmark`, `tournament.json` of `getbit tournament`, folders of training runs, and replays. It plays
some games of the agents that it finds there, to see what they play where, and judges them exactly where that is possible.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from getbit_env.agent_registry import is_code, load_agent
from getbit_env.command_line import at_least_one, command_parser, interruptible, leave, need, no_bar, progress_of
from getbit_env.core.files import write_text
from getbit_env.core.provenance import provenance
from getbit_env.match.runner import LEAST_STARTS, ForfeitError
from getbit_env.report.leaks import Leaks, leaks_of
from getbit_env.report.page import as_page, size_of
from getbit_env.report.profiles import Profile, profile_of
from getbit_env.report.sources import Sources, read_sources

STARTS = 24
EXAMPLES = {
    "runs/benchmark": "what the benchmark found, and how its agents play",
    "runs/first runs/tournament/4p-starts5040-seed0 --output report.html": "a training run, and a tournament of its agent",
    "runs/benchmark --starts 0 --without-truth": "the figures alone: no games, nothing judged",
}
Progress = Callable[[str, int, int], None]


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    made = command_parser(prog, __doc__, EXAMPLES)
    made.add_argument("sources", nargs="+", type=Path, metavar="PATH", help="files and folders with results, runs and replays")
    made.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE", help="default %(default)s")
    made.add_argument("--title", default="getbit-env report", help="of the page (default: %(default)s)")
    made.add_argument("--agents", nargs="*", metavar="NAME", help="which agents play games here (default: all that are found)")
    made.add_argument(
        "--starts",
        type=int,
        default=STARTS,
        metavar="N",
        help=f"of each table; 0 plays nothing, else {LEAST_STARTS} or more (default {STARTS})",
    )
    made.add_argument("--seed", type=int, default=0, help="of those games")
    made.add_argument("--without-truth", action="store_true", help="judge no agent exactly; it takes up to a minute each")
    made.add_argument("--threads", type=at_least_one, default=os.cpu_count() or 1, help="that judge exactly (default: all)")
    return made


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.report") -> int:
    """The command; returns its exit code."""
    made = make_parser(prog)
    options = made.parse_args(arguments)
    if options.starts != 0 and options.starts < LEAST_STARTS:
        made.error(f"--starts is 0 or {LEAST_STARTS} and more, not {options.starts}")
    if options.seed < 0:
        made.error(f"--seed is 0 or more, not {options.seed}")
    try:
        if not no_bar():
            need("tqdm")
        sources = read_sources(options.sources)
        known = {name for name, _ in sources.agents}
        if unknown := [name for name in options.agents or () if name not in known]:
            raise ValueError(
                f"--agents: {', '.join(unknown)} stands in no source; there are {', '.join(sorted(known)) or 'no agents'}"
            )
        with interruptible(), nullcontext() if no_bar() else _bar() as bar:
            progress = None if bar is None else progress_of(bar)
            profiles, leaks, reasons = look(sources, options, progress)
        text = as_page(sources, profiles, leaks, unknown=reasons, about=provenance(), title=options.title)
        write_text(options.output, text)
    except ValueError as error:
        made.error(str(error))
    except OSError as error:
        made.error(f"--output {options.output} can't be written: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.stderr.write("broken off; nothing was written\n")
        return 130
    for note in sources.notes:
        sys.stderr.write(f"{note}\n")
    sys.stdout.write(f"{options.output}: {size_of(text)}\n")
    return 0


def look(
    sources: Sources, options: argparse.Namespace, progress: Progress | None
) -> tuple[list[Profile], list[Leaks], dict[tuple[str, str], str]]:
    """Play and judge the agents that were found. What one of them can't do is noted."""
    profiles, leaks, reasons = list[Profile](), list[Leaks](), dict[tuple[str, str], str]()
    for name, variant in sources.agents:
        if options.agents is not None and name not in options.agents:
            continue
        if options.starts == 0 and options.without_truth:
            break
        if is_code(name) and name not in (options.agents or ()):
            reasons[name, variant] = "it is code, which a name out of a file does not run; name it with --agents if you trust it"
            continue
        try:
            agent = load_agent(name, modules=name in (options.agents or ()))
            if options.starts:
                profiles.append(profile_of(name, agent, variant, starts=options.starts, seed=options.seed, progress=progress))
        except (ValueError, ForfeitError) as error:
            sources.notes.append(f"{name} in {variant} plays no games here: {error}")
            continue
        if options.without_truth:
            continue
        try:
            leaks.append(leaks_of(name, agent, variant, options.threads, progress))
        except ValueError as error:
            reasons[name, variant] = str(error)
    return profiles, leaks, reasons


def _bar() -> Any:
    from tqdm import tqdm

    return tqdm(total=0, file=sys.stderr, bar_format="{desc} {percentage:3.0f}% {bar} {elapsed}")


if __name__ == "__main__":
    leave(main())
