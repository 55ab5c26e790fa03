"""The driver of the recipes: it trains in legs, evaluates, keeps records and checkpoints, and writes the card at the end.

A recipe is its algorithm and its options (`train.recipe`); `train` and `command` do the rest.

A run is a sequence of legs. At the start of a leg all games begin anew, and every random state is derived from the seed and the
number of the leg; at its end a checkpoint is written. So a run that is resumed goes on from its last checkpoint as it would have,
to the byte, and what a crash or Ctrl-C costs is the leg that it breaks off. The folder of a run holds

    config.json           every option, commit, versions, machine
    policy.safetensors    the policy that `getbit_env.load_agent(folder)` plays: the best of the evaluations, or the last one
    last.safetensors      the policy at the last checkpoint
    metrics.csv           a row a rollout
    evaluation.csv        a row for each evaluation and kind of opponents
    tensorboard/          the same figures as in both
    card.md               what was trained, how, and what came of it, with learning.png; written last
    checkpoints/          what `--resume` needs; nothing in it is unpickled

Every file is whole or not there. One process at a time owns a folder.
"""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import shlex
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from tqdm import tqdm

from getbit_env.command_line import VARIANT_OPTIONS, add_variant_arguments, command_parser, interruptible, no_bar, variant_of
from getbit_env.core.files import InUseError, owned
from getbit_env.core.provenance import provenance
from getbit_env.network import LARGEST_WEIGHT, POLICY_FILE, save_network

from .card import play_against, write_card
from .checkpoints import Progress, load_checkpoint, save_checkpoint
from .recipe import Algorithm, DivergedError, Recipe, check_used, flag
from .records import Records
from .run_file import RunFile, agents_named, read_config

EXAMPLES = {
    "--players 4 --total-timesteps 4000000 --output runs/first": "a run of some minutes",
    "--resume runs/first": "go on after Ctrl-C, or a crash",
    "--variant 3p-1r-4c-1l --total-timesteps 100000": "a small game",
}


def train(recipe: Recipe, options: Any, folder: Path, *, quiet: bool = False) -> Path:
    """Train, or go on where the folder's last checkpoint is.

    Args:
        recipe: how.
        options: every option of the recipe.
        folder: of the run; it is made if need be. A run that it holds has the same options, or is finished and has fewer
            `total_timesteps`.
        quiet: no progress bar.

    Returns:
        The folder.

    Raises:
        ValueError: the folder holds another run, or a damaged one.
        InUseError: another process trains there.
        DivergedError: the weights are no numbers any more.
        KeyboardInterrupt: Ctrl-C was pressed. The last checkpoint is where the run goes on.
    """
    folder = Path(folder)
    with owned(folder, "run"):
        if (folder / "config.json").exists():
            config = read_config(recipe, folder, allowed=agents_named(dataclasses.asdict(options)))
            if dataclasses.replace(config.options, total_timesteps=options.total_timesteps) != options:
                raise ValueError(f"{folder} holds a run with other options")
            extend(recipe, config, options.total_timesteps, folder)
        else:
            config = begin(recipe, options, folder)
        _go_on(recipe, config, folder, quiet)
    return folder


def begin(recipe: Recipe, options: Any, folder: Path, command: str = "") -> RunFile:
    """Make the folder of a new run; `command` as in `provenance`."""
    config = RunFile(recipe.name, options, provenance(options.game.id, command), secrets.token_hex(8))
    config.write(folder)
    return config


def extend(recipe: Recipe, config: RunFile, total_timesteps: int, folder: Path, command: str = "") -> None:
    """Note that a run goes on, and give it more decisions to train on. The ends of its schedules move with them.

    Only a finished run gets more. How far an unfinished one had come when its schedules moved is no part of its commands, so that
    these would not train the same agent again.

    Args:
        recipe: of the run.
        config: of the run; it is changed.
        total_timesteps: as many as before, or more.
        folder: of the run.
        command: as in `provenance`.

    Raises:
        ValueError: they are fewer than before, or the run is not finished.
    """
    before, last = config.options.total_timesteps, folder / recipe.last
    if total_timesteps < before:
        raise ValueError(f"--total-timesteps of {folder} is {before}, and can only be raised, not set to {total_timesteps}")
    extended = total_timesteps > before
    if extended and not last.exists():
        raise ValueError(
            f"--total-timesteps of {folder} is {before}, and can be raised to {total_timesteps} once the run is finished: it has "
            f"no {recipe.last} yet; first go on with it as it is"
        )
    if last.exists() and not extended:
        return
    config.goes_on(provenance(config.options.game.id, command), extended=extended)
    config.options = dataclasses.replace(config.options, total_timesteps=total_timesteps)
    last.unlink(missing_ok=True)  # before the run is longer: whoever finds this file takes the run for finished
    config.write(folder)


def _go_on(recipe: Recipe, config: RunFile, folder: Path, quiet: bool) -> None:
    """Train to the end in a folder that this process owns."""
    options = config.options
    for left in [*folder.glob(".*.part"), *folder.glob("*/.*.part")]:  # of a process that was killed
        left.unlink()
    if recipe.go_on is not None:
        recipe.go_on(config, folder, quiet)
        return
    assert recipe.make is not None
    algorithm = recipe.make(options, folder)
    progress = load_checkpoint(folder, config.run, algorithm)
    records = Records(folder, algorithm.timesteps)
    try:
        _train_legs(recipe, config, folder, algorithm, progress, records, quiet)
    finally:
        records.close()
    write_card(folder, recipe, config, algorithm.timesteps, progress.seconds)


def _train_legs(
    recipe: Recipe,
    config: RunFile,
    folder: Path,
    algorithm: Algorithm,
    progress: Progress,
    records: Records,
    quiet: bool,
) -> None:
    options, total, saved = config.options, config.options.total_timesteps, algorithm.timesteps
    since = time.perf_counter() - progress.seconds
    with tqdm(total=total, initial=saved, unit=" decisions", unit_scale=True, mininterval=1, disable=quiet or no_bar()) as bar:
        while algorithm.timesteps < total:
            algorithm.begin_leg(np.random.SeedSequence([options.seed, progress.leg]))
            for _ in range(options.save_freq):
                figures = _finite_rollout(algorithm, saved, folder)
                progress.rollouts += 1
                row = {"timesteps": algorithm.timesteps, "seconds": round(time.perf_counter() - since, 1), **figures}
                records.add_metrics(row)
                over = algorithm.timesteps >= total
                if over or progress.rollouts % options.eval_freq == 0:
                    _evaluate(recipe, options, folder, algorithm, progress, records)
                bar.update(algorithm.timesteps - bar.n)
                if over:
                    break
            progress.leg += 1
            progress.seconds = time.perf_counter() - since
            save_network(folder / "last.safetensors", algorithm.agent())
            save_checkpoint(folder, config.run, progress, algorithm)
            saved = algorithm.timesteps


def _finite_rollout(algorithm: Algorithm, saved: int, folder: Path) -> dict[str, float]:
    """A rollout, after which all weights are numbers.

    Raises:
        DivergedError: they are not.
    """
    begun = algorithm.timesteps
    cause: ValueError | None = None
    try:
        figures = algorithm.train_rollout()
    except ValueError as error:  # of torch's distributions, when a network gives NaN
        cause = error
    if not all(bool((tensor.abs() < LARGEST_WEIGHT).all()) for tensor in algorithm.module.state_dict().values()):
        kept = f"the checkpoint after {saved:,} decisions is kept" if saved else "there is no checkpoint yet"
        raise DivergedError(
            f"training diverged: weights became NaN, infinite or larger than {LARGEST_WEIGHT:g} in the update after {begun:,} "
            f"decisions; {kept} in {folder}. Try a lower --learning-rate in a new run"
        ) from cause
    if cause is not None:
        raise cause
    return figures


def _evaluate(recipe: Recipe, options: Any, folder: Path, algorithm: Algorithm, progress: Progress, records: Records) -> None:
    """Play against all opponents, record it, and keep the policy if it is the one to keep."""
    agent = algorithm.agent()
    results = play_against(agent, options.eval_opponents, options.eval_starts, options.seed)
    records.add_evaluation(algorithm.timesteps, results)
    score = float(np.mean([result[result.line_up[0]].win.mean for result in results.values()]))
    if not recipe.keeps_best or progress.best is None or score > progress.best:
        agent.about["score"] = f"{score:.4f}"
        save_network(folder / POLICY_FILE, agent)
    progress.best = score if progress.best is None else max(score, progress.best)


# --- the command -------------------------------------------------------------------------------------------------------------


def make_parser(recipe: Recipe, description: str, prog: str) -> argparse.ArgumentParser:
    """The command line: an option for each field of the recipe's options.

    Args:
        recipe: how to train.
        description: for `--help`.
        prog: how the command was called.
    """
    made = command_parser(prog, description, recipe.examples or EXAMPLES)
    made.add_argument("--output", type=Path, metavar="FOLDER", help="of the run; by default runs/VARIANT-TIME")
    made.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with a run; only its --total-timesteps can be raised")
    made.add_argument(
        "--allow-modules", action="store_true", help="with --resume: run agents that the run names as module:attribute"
    )
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    add_variant_arguments(made)
    kinds = get_type_hints(recipe.config)
    for entry in dataclasses.fields(recipe.config):
        if entry.name == "variant":
            continue
        kind, meaning = kinds[entry.name], entry.metadata["help"]
        default = entry.default_factory()  # type: ignore[operator]  # `option` gives every field one
        shown = " ".join(map(str, default)) if isinstance(default, list) else "" if default is None else str(default)
        meaning = f"{meaning} ({shown})".replace("%", "%%") if shown else meaning.replace("%", "%%")
        of_list = {list[int]: int, list[str]: str, list[str] | None: str}.get(kind)
        if of_list is not None:
            made.add_argument(flag(entry.name), nargs="*", type=of_list, help=meaning)
        else:
            of_one = {str | None: str, float | None: float}.get(kind, kind)
            made.add_argument(flag(entry.name), type=of_one, help=meaning)
    return made


def command(recipe: Recipe, parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    """The command of a recipe.

    Args:
        recipe: how to train.
        parser: from `make_parser`.
        arguments: of the command line.
    """
    typed = sys.argv[1:] if arguments is None else list(arguments)
    given = parser.parse_args(typed)
    program, folder = parser.prog, given.resume or given.output
    try:
        try:
            with interruptible():
                names = [entry.name for entry in dataclasses.fields(recipe.config)]
                chosen = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
                if given.resume is not None:
                    _resume(recipe, given, chosen, f"{program} {shlex.join(typed)}")
                elif given.allow_modules:
                    raise ValueError("--allow-modules would be ignored: it is about --resume; a new run may name any agent")
                else:
                    options = recipe.config(**{**chosen, "variant": variant_of(given).name})
                    check_used(options, chosen)
                    if folder is None:
                        folder = Path("runs") / f"{options.variant}-{time.strftime('%Y%m%d-%H%M%S')}"
                        typed += ["--output", str(folder)]
                    _begin(recipe, options, folder, given.quiet, f"{program} {shlex.join(typed)}")
        except KeyboardInterrupt:
            _ignore_ctrl_c()
            raise
    except KeyboardInterrupt:
        _ignore_ctrl_c()
        if folder is not None and (folder / "config.json").exists():
            more = " --allow-modules" * bool(given.allow_modules)
            print(
                f"stopped; go on from the last checkpoint with: {program} --resume {shlex.quote(str(folder))}{more}",
                file=sys.stderr,
            )
        sys.exit(130)
    except (ValueError, InUseError) as error:
        parser.error(str(error))
    except (OSError, DivergedError, RuntimeError) as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        sys.exit(1)
    print(f"{folder}: {recipe.leaves}", file=sys.stderr)


def _begin(recipe: Recipe, options: Any, folder: Path, quiet: bool, command: str) -> None:
    with owned(folder, "run"):
        if (folder / "config.json").exists():
            raise ValueError(f"{folder} already holds a run; go on with --resume {folder}, or choose another --output")
        _go_on(recipe, begin(recipe, options, folder, command), folder, quiet)


def _resume(recipe: Recipe, given: argparse.Namespace, chosen: Mapping[str, Any], command: str) -> None:
    asked = {"variant", *VARIANT_OPTIONS, "output"}
    more = [name for name in (*asked, *chosen) if getattr(given, name) is not None and name != "total_timesteps"]
    if more:
        said = ", ".join(map(flag, dict.fromkeys(sorted(more))))
        raise ValueError(f"--resume takes every option but --total-timesteps from the run; leave out {said}")
    allowed = None if given.allow_modules else ()
    read_config(recipe, given.resume, allowed=allowed)  # before anything is written
    with owned(given.resume, "run"):
        config = read_config(recipe, given.resume, allowed=allowed)
        extend(recipe, config, chosen.get("total_timesteps", config.options.total_timesteps), given.resume, command)
        _go_on(recipe, config, given.resume, given.quiet)


def _ignore_ctrl_c() -> None:
    """Pressed again while the command says how to go on, it would only tear the message."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
