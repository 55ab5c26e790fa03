"""`python -m eval.speed.quality`: how hard a policy is to exploit after so many minutes of training.

Every way to train gets the same time on the clock, set-up included, on one thread and on two, and the policy that it leaves is
judged: the exact gain of a best response, and wins of one seat against each bot in all others. A way is a recipe with its defaults,
but for the length of the run. That is set by a first look at the speed, so that schedules end when the time does. A run that is not
done in time is stopped, and what it saved last is judged.

Nothing runs beside a run. The command goes on where it was broken off, and writes docs/quality.json and a picture;
`python -m docs.tables` puts the figures into docs/speed.md.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from getbit_env import load_agent
from getbit_env.command_line import need, no_bar
from getbit_env.core.agent import Agent, name_of
from getbit_env.core.files import write_json, write_whole
from getbit_env.core.provenance import provenance
from getbit_env.exact import Positions, exploitability
from getbit_env.game_registry import find_variant
from getbit_env.get_bit import ID
from getbit_env.get_bit.variants import Variant
from getbit_env.match import play_match
from getbit_env.network import load_network
from train.exact.study import TABLE_FILE

from ..studies import conduct, study_parser

MINUTES, THREADS, SEEDS = (1.0, 5.0, 30.0), (1, 2), (0, 1, 2)
USED = 0.95  # part of the time that a run is planned to take: speeds differ from minute to minute
STARTS = 2400


class Way(NamedTuple):
    """A way to train."""

    module: str  # its command is `python -m module`
    options: tuple[str, ...]  # beside the variant, the length, the seed and the threads
    few: int  # timesteps of two looks at its speed: what they take more than the other one is speed, the rest is set-up
    many: int
    policy: str  # the file of a run that holds the last policy
    saves: str = ""  # option that says how often that is, where a run has few timesteps


DESCENT = ("train.exact.exploitability_descent", ("--step", "24"))
NETWORK = ("--net-arch", "256", "256", "--n-batches", "16", "--batch-size", "8192", "--muon-rate", "0.08")
WAYS = {
    "train.ppo": Way("train.ppo", (), 400_000, 1_600_000, "last.safetensors"),
    "train.selfplay, by SB3": Way("train.selfplay", (), 100_000, 400_000, "last.safetensors"),
    "exploitability descent, network": Way(DESCENT[0], (*DESCENT[1], *NETWORK), 1, 3, "policy.safetensors", "--eval-freq"),
    "exploitability descent, table": Way(DESCENT[0], DESCENT[1], 1, 3, TABLE_FILE, "--eval-freq"),
}


def command(way: Way, variant: str, timesteps: int, seed: int, threads: int, folder: Path) -> list[str]:
    """The command of a run."""
    called = [sys.executable, "-m", way.module, "--variant", variant, "--total-timesteps", str(timesteps), *way.options]
    if way.saves:
        called += [way.saves, str(max(1, -(-timesteps // 3)))]
    if way.policy != TABLE_FILE:  # nothing that a table learns is random
        called += ["--seed", str(seed)]
    return [*called, "--threads", str(threads), "--output", str(folder), "--quiet"]


def run(called: Sequence[str], threads: int, seconds: float | None = None) -> float:
    """Run a command, and stop it as Ctrl-C does when its time is up; returns the seconds that it took.

    Raises:
        RuntimeError: it failed.
    """
    limits = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    begun = time.perf_counter()
    process = subprocess.Popen(called, env={**os.environ, **limits}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        try:
            _, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
        took = time.perf_counter() - begun
    finally:
        process.kill()
    if process.returncode not in (0, 130):
        raise RuntimeError(f"{' '.join(called)} failed:\n{said}")
    return took


def look_at_speed(way: Way, variant: str, threads: int) -> dict[str, float]:
    """Timesteps a second of a way, and seconds before the first one."""
    took = []
    for timesteps in (way.few, way.many):
        with tempfile.TemporaryDirectory() as folder:
            took.append(run(command(way, variant, timesteps, 0, threads, Path(folder) / "run"), threads))
    rate = (way.many - way.few) / max(took[1] - took[0], 1e-3)
    return {"rate": rate, "set_up": max(took[0] - way.few / rate, 0.0)}


def judge(agent: Agent, positions: Positions) -> dict[str, Any]:
    """The exact gain on an agent, and its wins in one seat against each bot in all others, with intervals of 95 %."""
    found, wins, name = exploitability(agent, positions), {}, name_of(agent)
    for bot in ("random", "highest", "counter"):
        win = play_match([agent, *[bot] * (positions.variant.players - 1)], positions.variant, starts=STARTS, seed=1)[name].win
        wins[bot] = [win.mean, win.low, win.high]
    return {"gain": found.gain, "nash_conv": found.nash_conv, "wins": wins}


def policy_in(file: Path) -> Agent:
    """The policy that a run left."""
    return load_agent(str(file)) if file.name == TABLE_FILE else load_network(file, "learner")


def train_and_judge(
    way: Way, positions: Positions, speed: dict[str, float], minutes: float, threads: int, seed: int
) -> dict[str, Any]:
    """Train for so long, and judge; without a gain if nothing was saved in that time."""
    timesteps = max(1, int((USED * 60 * minutes - speed["set_up"]) * speed["rate"]))
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "run"
        took = run(command(way, positions.variant.name, timesteps, seed, threads, at), threads, 60 * minutes)
        found = {"took": took / 60, "timesteps": timesteps, "load_before": load}
        if not (at / way.policy).exists():
            return {**found, "gain": None}
        return {**found, **judge(policy_in(at / way.policy), positions)}


def study(given: Any, kept: dict[str, Any], at: Path) -> None:
    """Do the runs that are not kept yet, short ones first, and keep each as it is ready."""
    positions = Positions(find_variant(given.variant))
    jobs = list(wanted(given.ways, given.minutes, given.threads, given.seeds))
    for name, minutes, threads, seed in tqdm(jobs, unit=" runs", disable=no_bar()):
        way, pace = WAYS[name], f"{name}, {threads} thread{'s' * (threads > 1)}"
        key = f"{pace}, {minutes:g} min, seed {seed}"
        if key in kept["runs"]:
            continue
        speeds = kept["speeds"]
        if pace not in speeds:
            speeds[pace] = look_at_speed(way, given.variant, threads)
            write_json(at, kept)
        found = train_and_judge(way, positions, speeds[pace], minutes, threads, seed)
        kept["runs"][key] = {"way": name, "minutes": minutes, "threads": threads, "seed": seed, **found}
        said = "nothing saved in time" if found["gain"] is None else f"gain {found['gain']:.4f}"
        tqdm.write(f"{key}: {said}, {found['timesteps']:,} timesteps in {found['took']:.2f} min", file=sys.stderr)
        write_json(at, kept)


def wanted(
    ways: Sequence[str], minutes: Sequence[float], threads: Sequence[int], seeds: Sequence[int]
) -> Iterator[tuple[str, float, int, int]]:
    """All runs: way, minutes, threads and seed. Those of one length and seed stand together, so that a busy hour hits all ways."""
    for its_minutes in sorted(minutes):
        for seed in seeds:
            for its_threads in threads:
                for way in ways:
                    yield way, its_minutes, its_threads, seed


def make_parser(prog: str) -> Any:
    """The command line."""
    examples = {
        "": "as docs/speed.md says; 7 hours and more",
        "--minutes 1 --threads 1 --seeds 0 --figures q.json --picture q.png": "a first look, in some minutes",
    }
    parser = study_parser(prog, __doc__ or "", examples, "quality")
    parser.add_argument("--variant", default="4p", help="a game whose positions are numbered, one robot a player (%(default)s)")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), metavar="WAY", help=f"of {'; '.join(WAYS)} (default: all)")
    parser.add_argument("--minutes", type=float, nargs="+", default=list(MINUTES), help="of training (default: 1 5 30)")
    parser.add_argument("--threads", type=int, nargs="+", default=list(THREADS), help="of a run (default: 1 2)")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="of the runs (default: 0 1 2)")
    return parser


def check(given: Any) -> None:
    """Refuse what can't be measured, and give the variant its full name.

    Raises:
        ValueError: with what is wrong.
    """
    need("stable_baselines3", "sb3_contrib", "torch", "matplotlib")
    if unknown := [way for way in given.ways if way not in WAYS]:
        raise ValueError(f"--ways are of {', '.join(map(repr, WAYS))}, not {unknown[0]!r}")
    if not all(0 < minutes < float("inf") for minutes in given.minutes):
        raise ValueError(f"--minutes are over 0, not {min(given.minutes):g}")
    if min(given.threads) < 1 or min(given.seeds) < 0:
        raise ValueError("--threads are at least 1, and --seeds at least 0")
    variant = find_variant(given.variant)
    if not isinstance(variant, Variant) or variant.memory or variant.robots_per_player != 1:
        raise ValueError(f"--variant is a face-up game of Get Bit! with one robot a player, not {variant}")
    given.variant = variant.name


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.speed.quality") -> None:
    """Run the command."""
    parser = make_parser(prog)
    given = parser.parse_args(arguments)

    def study_all() -> dict[str, Any]:
        given.output.mkdir(parents=True, exist_ok=True)
        at = given.output / f"{given.variant}.json"
        kept = json.loads(at.read_text(encoding="utf-8")) if at.exists() else {"speeds": {}, "runs": {}}
        study(given, kept, at)
        return {"about": provenance(ID), "variant": given.variant, **kept}

    conduct(parser, given, check=lambda: check(given), study=study_all, draw=draw)


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw the median gain over the seeds against minutes, a line for each way and number of threads; the seeds are dots."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator

    judged = [one for one in found["runs"].values() if one["gain"] is not None]
    if not judged:
        return
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for number, way in enumerate(dict.fromkeys(one["way"] for one in judged)):
        for threads, line in zip(sorted({one["threads"] for one in judged}), ("-", "--", ":", "-."), strict=False):
            its = [one for one in judged if one["way"] == way and one["threads"] == threads]
            minutes = sorted({one["minutes"] for one in its})
            medians = [statistics.median(one["gain"] for one in its if one["minutes"] == each) for each in minutes]
            label = f"{way}, {threads} thread{'s' * (threads > 1)}"
            axes.plot(minutes, medians, color=f"C{number}", linestyle=line, marker="o", markersize=3, label=label)
            axes.scatter([one["minutes"] for one in its], [one["gain"] for one in its], color=f"C{number}", s=4, alpha=0.5)
    axes.set(xlabel="minutes of training", ylabel="gain of a best response", xscale="log", ylim=(0, None))
    ticks = sorted({one["minutes"] for one in judged})
    axes.xaxis.set(major_locator=FixedLocator(ticks), minor_locator=NullLocator(), major_formatter="{x:g}")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    write_whole(path, lambda part: figure.savefig(part, dpi=120, format="png"))


if __name__ == "__main__":
    main()
