"""What the recipes share: options, the folder of a run, checkpoints, and the card that a run leaves behind.

A run is a sequence of legs. At the start of a leg all games begin anew, and every random state is derived from the seed and the
number of the leg; at its end weights, optimiser and counters are written. So a run that is resumed goes on as it would have, and
what a crash costs is a part of a leg. The folder of a run holds

    config.json           every option, commit, versions, machine
    policy.safetensors    the policy that `getbit_env.load_agent(folder)` plays: the best of the evaluations, or the last one
    last.safetensors      the policy at the last checkpoint
    metrics.csv           a row a rollout; the same in tensorboard/
    evaluation.csv        a row for each evaluation and table
    card.md               what was trained, how, and what came of it
    checkpoints/          what `--resume` needs; nothing in it is unpickled
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import shlex
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tqdm import tqdm

from getbit_env import standard_variant
from getbit_env.agent_registry import load_agent
from getbit_env.core.provenance import provenance
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit.variants import Variant
from getbit_env.match import MatchResult, play_match
from getbit_env.network import POLICY_FILE, NetworkAgent, load_network

KEPT_CHECKPOINTS = 2
CARD_LINES = 2400
NOT_COUNTS = {"seed", "memory", "half_limbs", "observe_last", "identity", "history"}


# --- options -----------------------------------------------------------------------------------------------------------------


def option(default: Any, meaning: str) -> Any:
    """A field of a config with its sentence for `--help`."""
    return field(default_factory=lambda: default, metadata={"help": meaning})


@dataclass(frozen=True)
class Common:
    """The options of every recipe."""

    players: int = option(4, "2 to 7")
    memory: bool = option(False, "the memory game")
    half_limbs: bool = option(False, "the longer game")
    pick_up_at: int = option(2, "a hand of so many cards takes its table back, 2 or 1")
    three_player_ending: str = option("skip_loser", "skip_loser or literal")
    variant: str = option("", "name of a variant of any game, in place of the five options above")
    observe_last: bool = option(False, "see the last cards in the face-up game too")
    identity: bool = option(False, "see whose robot each one is in the face-up game too")
    history: bool = option(False, "see all past rounds")
    reward: str = option("win", "win or placement")

    frames: int = option(4_000_000, "decisions to train on")
    games: int = option(1024, "games at a time")
    rollout: int = option(32, "rounds of each game between updates")
    leg: int = option(16, "rollouts between checkpoints")
    batch: int = option(8192, "decisions a minibatch")
    epochs: int = option(4, "passes over a rollout")
    learning_rate: float = option(1e-3, "of Adam at the start")
    learning_rate_end: float = option(3e-4, "and at the end, linear in between")
    gae_lambda: float = option(0.95, "of the advantages; rewards are not discounted, since games end")
    clip: float = option(0.2, "range of the policy's ratio")
    entropy: float = option(0.05, "entropy coefficient at the start")
    entropy_end: float = option(0.02, "and at the end, linear in between")
    network: list[int] = option([64, 64], "widths of the tanh layers, of policy and of value")

    evaluate: int = option(8, "rollouts between evaluations")
    evaluation_tables: list[str] = option(["random", "lowest", "highest", "counter"], "who sits around the policy then")
    evaluation_lines: int = option(480, "starting lines of an evaluation, each in every rotation of the seats")
    seed: int = option(0, "of everything")
    threads: int = option(1, "torch threads; equal runs on one only")

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            ValueError: with what is wrong.
        """
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, int) and entry.name not in NOT_COUNTS and value < 1:
                raise ValueError(f"--{entry.name.replace('_', '-')} is at least 1, not {value}")
        for name in self.evaluation_tables:
            load_agent(name)
        _ = self.game, self.options

    @property
    def game(self) -> Variant:
        """The variant to train on."""
        if self.variant:
            named: Variant = find_variant(self.variant)
            return named
        return standard_variant(
            self.players,
            memory=self.memory,
            half_limbs=self.half_limbs,
            pick_up_at=self.pick_up_at,
            three_player_ending=self.three_player_ending,
        )

    @property
    def options(self) -> Any:
        """What the learner sees: `Options` of the game."""
        asked = {"observe_last": self.observe_last, "identity": self.identity, "history": self.history}
        try:
            return game_of(self.game).options(**{name: True for name, on in asked.items() if on})
        except TypeError as error:
            raise ValueError(f"{self.game} has nothing of the kind to show: {error}") from error

    def at(self, frames: int, name: str) -> float:
        """The value that an option with a schedule has after so many decisions: from `name` to `name_end`."""
        start, end = getattr(self, name), getattr(self, f"{name}_end")
        return float(start + min(frames / self.frames, 1.0) * (end - start))


C = TypeVar("C", bound=Common)


def read_config(kind: type[C], folder: Path) -> C:
    """The options of a run.

    Raises:
        ValueError: there is no run in the folder, or it has options that this recipe does not know.
    """
    try:
        return kind(**json.loads((folder / "config.json").read_text())["config"])
    except OSError as error:
        raise ValueError(f"{folder} holds no run: it has no config.json") from error
    except (TypeError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder / 'config.json'} is not of this recipe and version: {error}") from error


def _parser(kind: type[Common], program: str, description: str) -> argparse.ArgumentParser:
    """The command line: an option for each field of the config."""
    made = argparse.ArgumentParser(prog=program, description=description, allow_abbrev=False)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument("--output", type=Path, metavar="FOLDER", help="of the run; by default runs/VARIANT-TIME")
    made.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with a run; takes its options from there")
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    for entry in dataclasses.fields(kind):
        flag, meaning = f"--{entry.name.replace('_', '-')}", entry.metadata["help"]
        default = entry.default_factory()  # type: ignore[operator]  # `option` gives every field one
        if isinstance(default, bool):
            made.add_argument(flag, action="store_true", default=None, help=meaning)
        elif isinstance(default, list):
            made.add_argument(
                flag, nargs="*", type=type(default[0]), default=None, help=f"{meaning} ({' '.join(map(str, default))})"
            )
        else:
            made.add_argument(flag, type=type(default), default=None, help=f"{meaning} ({default})" if default != "" else meaning)
    return made


def command(
    kind: type[C], train: Callable[[C, Path, bool], Path], program: str, description: str, arguments: Sequence[str] | None
) -> None:
    """The command of a recipe.

    Args:
        kind: its config.
        train: called with config, folder, and whether to be quiet.
        program: as it is called, `python -m train...`.
        description: for `--help`.
        arguments: of the command line.
    """
    parser = _parser(kind, program, description)
    given = vars(parser.parse_args(arguments))
    output, resume, quiet = given.pop("output"), given.pop("resume"), given.pop("quiet")
    chosen = {name: value for name, value in given.items() if value is not None}
    try:
        if resume is not None:
            if chosen or output:
                said = ", ".join(f"--{name.replace('_', '-')}" for name in chosen) or "--output"
                raise ValueError(f"--resume takes every option from the run; leave out {said}")
            config, folder = read_config(kind, resume), resume
        else:
            config = kind(**chosen)
            folder = output or Path("runs") / f"{config.game}-{time.strftime('%Y%m%d-%H%M%S')}"
            if (folder / "config.json").exists():
                raise ValueError(f"{folder} already holds a run; go on with --resume {folder}, or choose another --output")
            folder.mkdir(parents=True, exist_ok=True)
            saved = {"config": dataclasses.asdict(config), "about": provenance(game_of(config.game).id)}
            (folder / "config.json").write_text(json.dumps(saved, indent=1))
        train(config, folder, quiet)
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print(f"stopped; go on with: {program} --resume {shlex.quote(str(folder))}", file=sys.stderr)
        sys.exit(130)
    print(f"{folder}: policy, card.md, learning.png, metrics.csv, tensorboard/", file=sys.stderr)


# --- during a run ------------------------------------------------------------------------------------------------------------


class Interrupt:
    """Whether Ctrl-C was pressed."""

    pressed = False


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Within, the first Ctrl-C is only noted; the second one is a `KeyboardInterrupt`."""
    noted = Interrupt()

    def note(_signal: int, _frame: Any) -> None:
        if noted.pressed:
            raise KeyboardInterrupt
        noted.pressed = True
        said = "stopping after this update; press Ctrl-C again to lose what was learnt since the last checkpoint"
        tqdm.write(said, file=sys.stderr)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row to a CSV file, which begins with the names of its columns."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, row.keys())
        if new:
            writer.writeheader()
        writer.writerow(row)


def append_evaluation(path: Path, frames: int, results: Mapping[str, MatchResult]) -> None:
    """Add the results of an evaluation, one row a table, to `evaluation.csv`."""
    for table, result in results.items():
        win, payoff = result["learner"].win, result["learner"].payoff
        row = {"frames": frames, "table": table, "win": win.mean, "low": win.low, "high": win.high, "payoff": payoff.mean}
        append_row(path, row)


def save_checkpoint(
    folder: Path, leg: int, model: torch.nn.Module, optimiser: torch.optim.Optimizer, state: Mapping[str, Any]
) -> None:
    """Write the checkpoint at the end of a leg. It appears whole or not at all.

    Args:
        folder: of the run.
        leg: its number.
        model: its weights are written,
        optimiser: its moments,
        state: and what else there is, for JSON; `frames` among it.
    """
    root = folder / "checkpoints"
    part, whole = root / "part", root / f"{leg:06d}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    moments = optimiser.state_dict()["state"]
    tensors |= {f"adam.{i}.{name}": tensor for i, entry in moments.items() for name, tensor in entry.items()}
    save_file(tensors, part / "state.safetensors")
    (part / "state.json").write_text(json.dumps({"leg": leg, **state}, indent=1))
    part.rename(whole)
    for old in sorted(path for path in root.iterdir() if path.name.isdigit())[:-KEPT_CHECKPOINTS]:
        shutil.rmtree(old)


def load_checkpoint(folder: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Any] | None:
    """Go to the last finished checkpoint; forget the rows of CSV files that were written after it.

    Returns:
        Its state, or None if there is no checkpoint yet.

    Raises:
        ValueError: it is damaged.
    """
    found = sorted(path for path in (folder / "checkpoints").glob("*") if path.name.isdigit())
    state: dict[str, Any] | None = None
    if found:
        try:
            state = json.loads((found[-1] / "state.json").read_text())
            tensors = load_file(found[-1] / "state.safetensors")
            model.load_state_dict({k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")})
            entries: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
            for name, tensor in tensors.items():
                if name.startswith("adam."):
                    _, i, key = name.split(".")
                    entries[int(i)][key] = tensor
            optimiser.load_state_dict({"state": dict(entries), "param_groups": optimiser.state_dict()["param_groups"]})
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise ValueError(f"checkpoint {found[-1]} is damaged; delete it to go on from the one before ({error})") from error
    frames = state["frames"] if state else 0
    for name in ("metrics.csv", "evaluation.csv"):
        path = folder / name
        if path.exists():
            head, *rows = path.read_text().splitlines(keepends=True)
            path.write_text(head + "".join(row for row in rows if int(row.split(",")[0]) <= frames))
    return state


# --- what a run leaves behind ------------------------------------------------------------------------------------------------


def play_tables(agent: NetworkAgent, tables: Sequence[str], lines: int, seed: int) -> dict[str, MatchResult]:
    """The agent in one seat against each table, every starting line in every rotation of the seats."""
    others = agent.variant.players - 1
    return {table: play_match([agent, *[table] * others], agent.variant, starts=lines, seed=seed) for table in tables}


def write_card(
    folder: Path, config: Common, frames: int, seconds: float, which: str = "the best by the mean win rate of its evaluations"
) -> None:
    """Write `card.md` and `learning.png`. The policy is judged on other lines than those by which it may have been chosen."""
    agent = load_network(folder / POLICY_FILE, folder.name)
    results = play_tables(agent, config.evaluation_tables, CARD_LINES, config.seed + 1)
    about = json.loads((folder / "config.json").read_text())["about"]
    players = config.game.players
    lines = [
        f"# {folder.name}",
        "",
        f"A policy for {config.game}: tanh layers of {config.network}, after {int(agent.about['frames']):,} decisions of a "
        f"self-play run of {frames:,} that took {seconds / 60:.1f} minutes; {which}.",
        "",
        f"One seat against {players - 1} of a kind, {CARD_LINES} starting lines in every rotation of the seats, 95 % intervals "
        f"over lines; the equal share is {1 / players:.3f}.",
        "",
        "| table of | win rate | payoff |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {name} | {result[folder.name].win} | {result[folder.name].payoff} |" for name, result in results.items()]
    lines += ["", "![learning curve](learning.png)", "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | `{value}` |" for name, value in about.items()]
    (folder / "card.md").write_text("\n".join(lines) + "\n")
    _draw_learning(folder, 1 / players)


def _draw_learning(folder: Path, share: float) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with (folder / "evaluation.csv").open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for table in dict.fromkeys(row["table"] for row in rows):
        mine = [row for row in rows if row["table"] == table]
        frames = [int(row["frames"]) / 1e6 for row in mine]
        axes.plot(frames, [float(row["win"]) for row in mine], marker=".", label=f"against {table}")
        axes.fill_between(frames, [float(row["low"]) for row in mine], [float(row["high"]) for row in mine], alpha=0.2)
    axes.axhline(share, color="grey", linewidth=1, linestyle="--", label="equal share")
    axes.set(xlabel="decisions trained on (millions)", ylabel="win rate of one seat", title=folder.name, ylim=(0, None))
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    figure.savefig(folder / "learning.png", dpi=120)
    plt.close(figure)
