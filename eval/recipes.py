"""The two training recipes side by side.

Without --minutes: how fast they train as they are by default, four players, networks of 64 x 64. They take turns, several
rounds of it, in one process for each number of threads; figures are medians, ratios the medians of the ratios of the rounds. A
sample is a decision of a seat that learns. Collecting is playing, with values and advantages; periodic evaluations and checkpoints
are not counted.

With --minutes: both train for the same time, one after the other, and the last policy of each is judged: the exact gain of a best
response (mean over the starting lines, no sampling), and wins of one seat against each bot in all others. Options of the recipes
are their defaults, but for the number of decisions (and so the ends of their schedules), which is set by a first look at the
speed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from getbit_env.command_line import command_parser, no_bar
from getbit_env.core.provenance import provenance
from getbit_env.exact import Positions, exploitability
from getbit_env.match import play_match
from getbit_env.network import load_network

OURS, SB3 = "train.ppo", "train.selfplay"
STARTS = 2400
CURVE = 5  # looks at a run


class Took(NamedTuple):
    """Seconds for so many samples."""

    samples: int
    collecting: float
    updating: float


Turn = Callable[[], Took]  # a rollout and its update


# --- speed -------------------------------------------------------------------------------------------------------------------


def turn_of_ppo(threads: int) -> Turn:
    """A rollout of `train.ppo` and its update."""
    import torch

    from train.ppo import Collectors, Config, Learner, workers

    config = Config(threads=threads)
    collectors = Collectors(config)
    collectors.begin(np.random.SeedSequence(0))
    learner = Learner(config, collectors.layout)
    together = workers(threads)

    def turn() -> Took:
        torch.set_num_threads(1)
        start = time.perf_counter()
        samples, advantage = collectors.collect(learner.model, together)
        collected = time.perf_counter()
        learner.update(samples, advantage, 0, together)
        return Took(len(advantage), collected - start, time.perf_counter() - collected)

    return turn


def turn_of_selfplay(threads: int) -> Turn:
    """A rollout of `train.selfplay` and its update. The opponents are those of mid-training: itself, past selves and bots."""
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    from train.selfplay import Config, SelfPlay

    class Clock(BaseCallback):
        """When a rollout begins and ends."""

        begun = ended = 0.0

        def _on_rollout_start(self) -> None:
            self.begun = time.perf_counter()

        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            self.ended = time.perf_counter()

    config = Config(threads=threads)
    folder = tempfile.TemporaryDirectory()
    algorithm = SelfPlay(config, Path(folder.name))
    size = config.n_envs * config.n_steps
    clock = Clock()

    def turn() -> Took:
        assert folder.name  # keeps the pool's folder as long as this function
        torch.set_num_threads(threads)
        start = time.perf_counter()
        algorithm.model.learn(size, callback=[clock, algorithm.pool], reset_num_timesteps=False)
        collecting = clock.ended - clock.begun
        return Took(size, collecting, time.perf_counter() - start - collecting)

    return turn


TURNS = {OURS: turn_of_ppo, SB3: turn_of_selfplay}


def measure(threads: int, rounds: int) -> dict[str, Any]:
    """Measure both in turns: samples a second, and our rate over SB3's. SB3's is its better one, of so many threads and of one."""
    turns = {name: make(threads) for name, make in TURNS.items()}
    if threads > 1:
        turns[f"{SB3}, one thread"] = turn_of_selfplay(1)
    for turn in turns.values():
        turn()  # compiles what is not compiled yet
    rates: dict[str, dict[str, list[float]]] = {name: {"all": [], "collecting": [], "updating": []} for name in turns}
    for _ in tqdm(range(rounds), desc=f"{threads} threads", file=sys.stderr, disable=no_bar()):
        for name, turn in turns.items():
            taken = [turn() for _ in range(3 if name == OURS else 1)]  # which makes the turns about as long
            samples, collecting, updating = (sum(figures) for figures in zip(*taken, strict=True))
            for kind, seconds in (("all", collecting + updating), ("collecting", collecting), ("updating", updating)):
                rates[name][kind].append(samples / seconds)
    ratios: dict[str, dict[str, float]] = {}
    for kind, ours in rates[OURS].items():
        theirs = np.max([of[kind] for name, of in rates.items() if name != OURS], axis=0)
        by_round = np.array(ours) / theirs
        ratios[kind] = {"median": float(np.median(by_round)), "least": float(by_round.min()), "most": float(by_round.max())}
    medians = {name: {kind: statistics.median(rate) for kind, rate in of.items()} for name, of in rates.items()}
    return {"threads": threads, "rounds": rounds, "samples_per_second": medians, "ratios": ratios}


def in_a_process(threads: int, rounds: int) -> dict[str, Any]:
    """`measure` in a process with so many threads for torch. NumPy has one: SB3's opponents are faster so."""
    limits = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "eval.recipes", "--rounds", str(rounds), "--in-this-process", str(threads)]
    done = subprocess.run(command, env={**os.environ, **limits}, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# --- strength ----------------------------------------------------------------------------------------------------------------


def train(recipe: str, seed: int, minutes: float, timesteps: int, folder: Path) -> list[tuple[float, Path]]:
    """Train by a recipe's command on one thread, and stop it when its time is up.

    Returns:
        Minutes and copies of the policy on the way, the last one at the end.

    Raises:
        RuntimeError: the command failed.
    """
    command = [sys.executable, "-m", recipe, "--total-timesteps", str(timesteps), "--seed", str(seed)]
    command += ["--output", str(folder), "--quiet"]
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    last, copies = folder / "last.safetensors", list[tuple[float, Path]]()
    start = time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, **limits}, stderr=subprocess.PIPE, text=True)
    try:
        for k in range(1, CURVE + 1):
            until = start + 60 * minutes * k / CURVE
            while process.poll() is None and time.perf_counter() < until:
                time.sleep(0.2)
            if process.poll() is None and k < CURVE and last.exists():
                copies.append(((time.perf_counter() - start) / 60, folder / f"copy-{k}.safetensors"))
                shutil.copy(last, copies[-1][1])
        took = (time.perf_counter() - start) / 60
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    finally:
        process.kill()
    if process.returncode not in (0, 130):
        raise RuntimeError(f"{recipe} failed:\n{said}")
    return [*copies, (took, last)]


def judge(policy: Path, opponents: Sequence[str], positions: Positions) -> dict[str, Any]:
    """The exact gain on a policy, and its wins in one seat against each of these in all others, with 95 % intervals."""
    agent = load_network(policy, "learner")
    found: dict[str, Any] = {
        "timesteps": int(agent.about["timesteps"]),
        "gain": exploitability(agent, positions, name="learner").gain,
    }
    others = agent.variant.players - 1
    for name in opponents:
        win = play_match([agent, *[name] * others], agent.variant, starts=STARTS, seed=1)["learner"].win
        found[name] = {"win": win.mean, "low": win.low, "high": win.high}
    return found


def compare(minutes: float, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Train both and judge them: a row for each recipe and seed, as they are ready."""
    from train.recipe import CommonConfig

    defaults = CommonConfig()
    rates = in_a_process(1, 3)["samples_per_second"]
    positions = Positions(defaults.played)
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            for recipe in TURNS:
                timesteps = round(0.9 * rates[recipe]["all"] * 60 * minutes)  # the rest is for evaluations and checkpoints
                tqdm.write(f"{recipe}, seed {seed}: {minutes:g} minutes, {timesteps:,} decisions", file=sys.stderr)
                copies = train(recipe, seed, minutes, timesteps, Path(folder) / f"{recipe}-{seed}")
                curve = [{"minutes": at, **judge(copy, [], positions)} for at, copy in copies]
                last = judge(copies[-1][1], defaults.eval_opponents or [], positions)
                run = {"recipe": recipe, "seed": seed, "minutes": copies[-1][0]}
                yield {**run, **last, "curve": curve}


# --- the command -------------------------------------------------------------------------------------------------------------


def print_speed(measured: Sequence[dict[str, Any]]) -> None:
    """Print the measured speeds as a Markdown table."""
    print(f"| threads | what | {OURS}, samples/s | {SB3}, samples/s | ratio (least to most) |\n| --- | --- | --- | --- | --- |")
    for one in measured:
        for kind, ratio in one["ratios"].items():
            rates = one["samples_per_second"]
            ours, theirs = rates[OURS][kind], max(of[kind] for name, of in rates.items() if name != OURS)
            spread = f"{ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f})"
            print(f"| {one['threads']} | {kind} | {ours:,.0f} | {theirs:,.0f} | {spread} |")


def print_strength(rows: Sequence[dict[str, Any]]) -> None:
    """Print the judged policies as Markdown tables."""
    tables = [name for name, value in rows[0].items() if isinstance(value, dict)]
    print(f"| recipe | seed | minutes | decisions | exact gain | {' | '.join(f'wins against {name}' for name in tables)} |")
    print("| --- " * (5 + len(tables)) + "|")
    for row in rows:
        wins = " | ".join(f"{row[name]['win']:.3f} [{row[name]['low']:.3f}, {row[name]['high']:.3f}]" for name in tables)
        print(f"| {row['recipe']} | {row['seed']} | {row['minutes']:.1f} | {row['timesteps']:,} | {row['gain']:.4f} | {wins} |")
    print("\nExact gain on the way, by minutes:\n")
    for row in rows:
        print(
            f"- {row['recipe']}, seed {row['seed']}: "
            + ", ".join(f"{one['minutes']:.1f}: {one['gain']:.3f}" for one in row["curve"])
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    examples = {"--rounds 3": "how fast both train", "--minutes 5 --seeds 0 1": "how strong they are after the same time"}
    parser = command_parser("python -m eval.recipes", __doc__, examples)
    parser.add_argument("--rounds", type=int, default=7, help="turns of each, for speed (%(default)s)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="with so many threads, for speed (1 2)")
    parser.add_argument("--minutes", type=float, help="train both for so long each, and judge them")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of those runs (0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--in-this-process", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rounds < 1 or min(options.threads) < 1:
        parser.error("--rounds and --threads are at least 1")
    if options.minutes is not None and options.minutes <= 0:
        parser.error(f"--minutes is over 0, not {options.minutes:g}")
    if options.in_this_process:
        try:
            print(json.dumps(measure(options.in_this_process, options.rounds)))
        except KeyboardInterrupt:  # Ctrl-C reaches both processes, and the other one tells
            sys.exit(130)
        return
    what, rows, broken_off = "strength" if options.minutes else "speed", list[dict[str, Any]](), False
    try:
        if options.minutes is None:
            rows.extend(in_a_process(threads, options.rounds) for threads in options.threads)
        else:
            for row in compare(options.minutes, options.seeds):
                rows.append(row)  # one by one, so that what is ready is not lost
    except KeyboardInterrupt:
        broken_off = True
    if options.json:
        print(json.dumps({"about": provenance(), what: rows}))
    elif rows:
        (print_speed if what == "speed" else print_strength)(rows)
        print("\n" + ", ".join(f"{key} {value}" for key, value in provenance().items()))
    if broken_off:
        said = ", ".join(f"{row['recipe']} seed {row['seed']}" if "seed" in row else f"threads {row['threads']}" for row in rows)
        print(f"broken off; ready was: {said or 'nothing'}", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
