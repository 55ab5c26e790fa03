"""The speed of everything, in one process, on one thread unless it says otherwise.

Everything is measured in turns, several rounds of it, so that what disturbs the machine disturbs all alike; the figures are
medians. Compare figures of one run with each other, and not with those of another run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tqdm import tqdm

from getbit_env.command_line import at_least_one, command_parser, interruptible, no_bar
from getbit_env.core.provenance import provenance

from .first_use import as_rows, measure_first_use
from .peers import OURS, PEERS, peer_versions
from .workloads import RATIOS, WORKLOADS, Block, engine_steps

EXAMPLES = {
    "--only engine --rounds 3": "the batch engine alone",
    "--first-use --rounds 1": "how long the first game of a process takes, with and without compiled kernels",
    "--json": "everything, as JSON",
}
SECONDS = 0.5  # that a measurement takes at least
SIZES = tuple(4**k for k in range(9))  # games per batch
Workloads = Mapping[str, tuple[str, Callable[[], Block]]]

PEER_WORKLOADS: Workloads = {name: ("agent-steps/s", make) for name, make in PEERS.items()}
PEER_RATIOS = {f"{ours} / {name}": (ours, name) for ours in OURS for name in PEERS if not name.startswith("getbit-env")}


def growth() -> Workloads:
    """Rounds with cards drawn, by players, games in all and threads: names as `4 players, 1,024 games, 2 threads`."""
    return {
        growth_name(players, games, threads): (
            "rounds/s",
            partial(engine_steps, f"{players}p", games, draw=True, threads=threads, rounds=max(32, 1024 // games)),
        )
        for players in (4, 5, 6, 7)
        for threads in (1, 2)
        for games in SIZES
        if games >= threads
    }


def growth_name(players: int, games: int, threads: int) -> str:
    """The name of a point of the curves."""
    return f"{players} players, {games:,} games, {threads} thread{'s' * (threads > 1)}"


def measure(workloads: Workloads, rounds: int, optional: bool) -> dict[str, list[float]]:
    """Measure in turns: the rates of each, a round each.

    Args:
        workloads: unit and set-up of each by name.
        rounds: how often each is measured.
        optional: what can't be set up is left out, with a message: it needs packages that may be missing.
    """
    blocks: dict[str, Block] = {}
    for name, (_, make) in tqdm(workloads.items(), desc="set-up", file=sys.stderr, disable=no_bar()):
        try:
            block = make()
            block()  # compiles what is not compiled yet
            blocks[name] = block
        except Exception as error:  # of a package that we don't know
            if not optional:
                raise
            tqdm.write(f"left out: {name}: {type(error).__name__}: {error}", file=sys.stderr)
    rates: dict[str, list[float]] = {name: [] for name in blocks}
    for _ in tqdm(range(rounds), desc="rounds", file=sys.stderr, disable=no_bar()):
        for name, block in blocks.items():
            done, start = 0, time.perf_counter()
            while (taken := time.perf_counter() - start) < SECONDS:
                done += block()
            rates[name].append(done / taken)
    return rates


def summary(workloads: Workloads, rates: Mapping[str, list[float]], ratios: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Medians of rates, and of ratios within a round."""
    return {
        "rates": {
            name: {"unit": workloads[name][0], "median": statistics.median(r), "least": min(r), "most": max(r)}
            for name, r in rates.items()
        },
        "ratios": {
            name: statistics.median(a / b for a, b in zip(rates[over], rates[under], strict=True))
            for name, (over, under) in ratios.items()
            if over in rates and under in rates
        },
    }


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--growth", action="store_true", help="the batch engine by games, players and threads")
    kind.add_argument("--peers", action="store_true", help="other environments beside ours (eval/speed/requirements-peers.txt)")
    kind.add_argument("--first-use", action="store_true", help="import, first reset and step, with and without compiled kernels")
    parser.add_argument("--only", default="", metavar="TEXT", help="only what has this text in its name")
    parser.add_argument("--rounds", type=at_least_one, default=7, help="how often each is measured (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, as python -m docs.speed takes it")
    return parser


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.speed.bench") -> None:
    """Run the command."""
    parser = make_parser(prog)
    options = parser.parse_args(arguments)
    try:
        with interruptible():
            result = _measured(parser, options)
    except KeyboardInterrupt:
        print("interrupted: nothing is kept of it", file=sys.stderr)
        sys.exit(130)
    print(json.dumps(result) if options.json else as_text(result))


def _measured(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict[str, Any]:
    about = provenance()
    result: dict[str, Any]
    if options.first_use:
        with tqdm(total=4 * options.rounds, desc="processes", file=sys.stderr, disable=no_bar()) as bar:
            result = {"what": "first use", **measure_first_use(options.rounds, bar.update)}
    else:
        workloads: Workloads
        what, workloads, ratios = "workloads", WORKLOADS, RATIOS
        if options.growth:
            what, workloads, ratios = "growth", growth(), {}
        elif options.peers:
            what, workloads, ratios = "peers", PEER_WORKLOADS, PEER_RATIOS
            about |= peer_versions()
            if hasattr(os, "sched_setaffinity"):  # one core for everybody, whatever threads a library likes to start
                os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        chosen = {name: work for name, work in workloads.items() if options.only in name}
        if not chosen:
            parser.error(f"nothing has {options.only!r} in its name; there are: {'; '.join(workloads)}")
        result = {"what": what, **summary(chosen, measure(chosen, options.rounds, options.peers), ratios)}
    result["about"] = {**about, "rounds": str(options.rounds)}
    return result


def as_text(result: Mapping[str, Any]) -> str:
    """A result as Markdown tables."""
    if result["what"] == "first use":
        lines = ["| seconds | warm | cold |", "| --- | ---: | ---: |"]
        lines += [f"| {what} | {warm:.3f} | {cold:.3f} |" for what, warm, cold in as_rows(result["seconds"])]
        lines += ["", "| kernel compiled | times | seconds, without what it calls |", "| --- | ---: | ---: |"]
        lines += [f"| {name} | {times} | {seconds:.2f} |" for name, (times, seconds) in result["kernels"].items()]
    else:
        lines = ["| what | rate (median of rounds) | least to most |", "| --- | --- | --- |"]
        for name, rate in result["rates"].items():
            lines.append(f"| {name} | {rate['median']:,.0f} {rate['unit']} | {rate['least']:,.0f} to {rate['most']:,.0f} |")
        if result["ratios"]:
            lines += ["", "| ratio | median of rounds |", "| --- | ---: |"]
            lines += [f"| {name} | {ratio:,.2f} |" for name, ratio in result["ratios"].items()]
    return "\n".join([*lines, "", ", ".join(f"{key} {value}" for key, value in result["about"].items())])


if __name__ == "__main__":
    main()
