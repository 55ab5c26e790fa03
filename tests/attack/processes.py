"""Kills, signals and full disks, at random moments of commands that write: given again, a command ends as if nothing had been."""

from __future__ import annotations

import csv
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetensors.numpy import load_file

from tests.attack.report import Report

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds for one run of a command, beside others on a slow machine
TRACEBACK = "Traceback (most recent call last)"
CLOCK_COLUMNS = {"seconds"}

TINY_RUN = ["--variant", "4p-3c-1l", "--total-timesteps", "4096", "--n-envs", "32", "--n-steps", "8", "--batch-size", "128"]
TINY_RUN += ["--net-arch", "8", "--eval-freq", "4", "--eval-starts", "24", "--quiet"]


@dataclass(frozen=True)
class Command:
    """A command that writes into a folder, and how it goes on."""

    name: str
    begin: Callable[[Path], list[str]]
    again: Callable[[Path], list[str]]
    results: Callable[[Path], dict[str, object]]  # what must be the same however often it was broken off


def _run_results(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in ("policy.safetensors", "last.safetensors"):
        found[name] = {key: value.tobytes() for key, value in load_file(folder / name).items()}
    for name in ("metrics.csv", "evaluation.csv"):
        with (folder / name).open(newline="") as file:
            found[name] = [{k: v for k, v in row.items() if k not in CLOCK_COLUMNS} for row in csv.DictReader(file)]
    found["card"] = (folder / "card.md").exists() and (folder / "learning.png").exists()
    return found


def _training(module: str, *more: str) -> Command:
    def again(folder: Path) -> list[str]:
        return ["-m", module, "--resume", str(folder), "--quiet"] if (folder / "config.json").exists() else begin(folder)

    def begin(folder: Path) -> list[str]:
        return ["-m", module, *TINY_RUN, *more, "--output", str(folder)]

    return Command(module, begin, again, _run_results)


def _tournament(folder: Path) -> list[str]:
    options = ["--variant", "4p-3c-1l", "--starts", "24", "--output", str(folder)]
    return ["-m", "eval.tournament", "random", "lowest", "highest", *options]


def _solve(_cache: Path) -> list[str]:
    return ["-m", "eval.solve", "--variant", "2p-3c-2l", "--threads", "1", "--json"]


COMMANDS = [
    _training("train.selfplay"),
    _training("train.ppo"),
    Command("eval.tournament", _tournament, _tournament, lambda folder: {"file": (folder / "tournament.json").read_bytes()}),
    Command("eval.solve", _solve, _solve, lambda folder: {"file": sorted(path.name for path in folder.glob("*.npz"))}),
]


def _start(arguments: list[str], folder: Path, most_bytes: int | None = None) -> subprocess.Popen[str]:
    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GETBIT_ENV_CACHE": str(folder)}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    )


def _finish(report: Report, command: Command, folder: Path, expected: dict[str, object], what: str) -> None:
    """Give the command again until it ends well; what it leaves must be what an uninterrupted run leaves."""
    process = _start(command.again(folder), folder)
    _, errors = process.communicate(timeout=PATIENCE)
    if process.returncode != 0 or TRACEBACK in errors:
        report.fault(f"{what}: given again it ended with {process.returncode}: {errors.strip()[-300:]}")
        return
    found = command.results(folder)
    for name, value in expected.items():
        if found[name] != value:
            report.fault(f"{what}: {name} is not what an uninterrupted run leaves")
    left = [path.name for path in folder.rglob("*.part")]
    if left and command.name != "eval.solve":
        report.outcomes["temporary files left behind by a kill"] += len(left)


def attack_processes(report: Report, dice: random.Random, rounds: int, folder: Path) -> None:
    """So many rounds of kills, interrupts and full disks for every command."""
    for command in COMMANDS:
        reference = folder / f"{command.name}-whole"
        reference.mkdir()
        begun = time.monotonic()
        process = _start(command.begin(reference / "run"), reference / "run")
        _, errors = process.communicate(timeout=PATIENCE)
        took = time.monotonic() - begun
        if process.returncode != 0:
            report.fault(f"{command.name} ends with {process.returncode}: {errors[-300:]}")
            continue
        expected = command.results(reference / "run")
        for n in range(rounds):
            for kind in ("kill", "interrupt", "two interrupts", "full disk"):
                place = folder / f"{command.name}-{n}-{kind.replace(' ', '-')}" / "run"
                place.parent.mkdir()
                report.tried[f"{kind} of {command.name}"] += 1
                limit = dice.choice([0, 100, 1000, 5000, 20_000]) if kind == "full disk" else None
                process = _start(command.begin(place), place, limit)
                wait = dice.random() * took * 1.1
                what = f"{command.name}, {kind} after {wait:.2f} s" + (f" at {limit} bytes" if limit is not None else "")
                try:
                    process.wait(wait if kind != "full disk" else PATIENCE)
                except subprocess.TimeoutExpired:
                    if kind == "kill":
                        process.kill()
                    else:
                        process.send_signal(signal.SIGINT)
                        if kind == "two interrupts":
                            process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=PATIENCE)
                if TRACEBACK in errors and wait > took / 3:  # before that Python itself is still importing
                    report.fault(f"{what}: a traceback: {errors.strip()[-300:]}")
                report.outcomes[f"{kind}: ended with {process.returncode}"] += 1
                try:
                    _finish(report, command, place, expected, what)
                except (OSError, ValueError, KeyError) as error:
                    report.fault(f"{what}: its results can't be read: {error!r}")
