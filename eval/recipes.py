"""How fast the two recipes that learn from games train, side by side, as they are by default: four players, networks of 64 x 64.

They take turns, several rounds of it, in one process for each number of threads; figures are medians, ratios the medians of the
ratios of the rounds. A sample is a decision of a seat that learns. Collecting is playing, with values and advantages; periodic
evaluations and checkpoints are not counted. `eval.speed.quality` says how good a policy is after some time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from getbit_env.command_line import command_parser, no_bar
from getbit_env.core.provenance import provenance

OURS, SB3 = "train.ppo", "train.selfplay"


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python -m eval.recipes", __doc__, {"--rounds 3": "a quick look"})
    parser.add_argument("--rounds", type=int, default=7, help="turns of each (%(default)s)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="with so many threads (1 2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--in-this-process", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rounds < 1 or min(options.threads) < 1:
        parser.error("--rounds and --threads are at least 1")
    if options.in_this_process:
        try:
            print(json.dumps(measure(options.in_this_process, options.rounds)))
        except KeyboardInterrupt:  # Ctrl-C reaches both processes, and the other one tells
            sys.exit(130)
        return
    rows, broken_off = list[dict[str, Any]](), False
    try:
        for threads in options.threads:
            rows.append(in_a_process(threads, options.rounds))  # one by one, so that what is ready is not lost
    except KeyboardInterrupt:
        broken_off = True
    if options.json:
        print(json.dumps({"about": provenance(), "speed": rows}))
    elif rows:
        print_speed(rows)
        print("\n" + ", ".join(f"{key} {value}" for key, value in provenance().items()))
    if broken_off:
        said = ", ".join(f"threads {row['threads']}" for row in rows)
        print(f"broken off; ready was: {said or 'nothing'}", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
