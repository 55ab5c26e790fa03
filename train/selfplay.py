"""Self-play with Stable-Baselines3: MaskablePPO in one seat, past selves and bots in the others.

    python -m train.selfplay --players 4 --frames 4000000 --output runs/first
    python -m train.selfplay --resume runs/first

A run is a sequence of legs. At the start of a leg all games begin anew, and every random state is derived from the seed and the
number of the leg; at its end weights, optimiser, counters and pool are written. So a run that is resumed goes on as it would
have, and what a crash costs is a part of a leg. The folder of a run holds

    config.json           every option, commit, versions, machine
    policy.safetensors    the best policy by the periodic evaluation; `getbit_env.load_agent(folder)` plays it
    last.safetensors      the policy at the last checkpoint
    metrics.csv           a row a rollout; the same in tensorboard/
    evaluation.csv        a row for each evaluation and table
    card.md               what was trained, how, and what came of it
    checkpoints/, pool/   what `--resume` needs; nothing in it is unpickled
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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.utils import set_random_seed
from tqdm import tqdm

from getbit_env import parse_variant, standard_variant
from getbit_env.get_bit.observations import Options
from getbit_env.get_bit.variants import Variant
from getbit_env.loading import load_agent
from getbit_env.match import play_match
from getbit_env.network import FILE, load_network, save_network
from getbit_env.provenance import provenance
from getbit_env.sb3 import SAMPLING, GetBitVecEnv, OpponentPool, Past, WinRate, network_of

KEPT_CHECKPOINTS = 2
CARD_LINES = 2400
NOT_COUNTS = {"seed", "memory", "half_limbs", "observe_last", "identity", "history"}


def option(default: Any, meaning: str) -> Any:
    """A field of `Config` with its sentence for `--help`."""
    return field(default_factory=lambda: default, metadata={"help": meaning})


@dataclass(frozen=True)
class Config:
    """Every option of a run."""

    players: int = option(4, "2 to 7")
    memory: bool = option(False, "the memory game")
    half_limbs: bool = option(False, "the longer game")
    pick_up_at: int = option(2, "a hand of so many cards takes its table back, 2 or 1")
    three_player_ending: str = option("skip_loser", "skip_loser or literal")
    variant: str = option("", "name of a variant, in place of the five options above")
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

    tables: int = option(8, "tables of opponents at a time; each has an equal share of the games")
    latest: float = option(0.4, "share of the tables at which the policy as of this rollout sits")
    bots: list[str] = option(["random", "lowest", "highest", "counter"], "bots that stay in the pool")
    bot_share: float = option(0.3, "share of the tables at which bots sit; past selves sit at the rest")
    sampling: str = option("uniform", "which past selves: latest, uniform, or prioritised (those that it does not beat yet)")
    pool: int = option(30, "past selves kept; older ones are thinned out")
    snapshot: int = option(8, "rollouts between past selves")

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
            name = entry.name
            if isinstance(getattr(self, name), int) and name not in NOT_COUNTS and getattr(self, name) < 1:
                raise ValueError(f"--{name.replace('_', '-')} is at least 1, not {getattr(self, name)}")
        if self.sampling not in SAMPLING:
            raise ValueError(f"--sampling is one of {', '.join(SAMPLING)}, not {self.sampling}")
        if min(self.latest, self.bot_share) < 0 or self.latest + self.bot_share > 1:
            raise ValueError("--latest and --bot-share are shares that add up to 1 at most")
        if self.bot_share > 0 and not self.bots:
            raise ValueError("--bot-share is over 0, but there are no --bots")
        if self.tables > self.games:
            raise ValueError(f"there are {self.games} games for {self.tables} tables")
        if self.batch > self.games * self.rollout:
            raise ValueError(f"a minibatch of {self.batch} is more than a rollout of {self.games} games * {self.rollout} rounds")
        for name in {*self.bots, *self.evaluation_tables}:
            load_agent(name)
        _ = self.game, self.options

    @property
    def game(self) -> Variant:
        """The variant to train on."""
        if self.variant:
            return parse_variant(self.variant)
        return standard_variant(
            self.players,
            memory=self.memory,
            half_limbs=self.half_limbs,
            pick_up_at=self.pick_up_at,
            three_player_ending=self.three_player_ending,
        )

    @property
    def options(self) -> Options:
        """What the learner sees."""
        return Options(last=self.observe_last, identity=self.identity, history=self.history)


# --- a run -------------------------------------------------------------------------------------------------------------------


class Run(BaseCallback):
    """A run in its folder: what is noted after every rollout, and what happens between legs."""

    model: Any  # SB3 types it as the base of all algorithms

    def __init__(self, config: Config, folder: Path, model: MaskablePPO) -> None:
        super().__init__()
        self.config, self.folder, self.model = config, folder, model
        self.pool = OpponentPool(
            folder / "pool",
            tables=config.tables,
            latest=config.latest,
            bots=config.bots,
            bot_share=config.bot_share,
            sampling=config.sampling,
            size=config.pool,
            every=config.snapshot,
            seed=config.seed,
        )
        self.pool.model = model
        self.evaluation = WinRate(
            config.evaluation_tables,
            every=config.evaluate,
            lines=config.evaluation_lines,
            seed=config.seed,
            save_best=folder / FILE,
        )
        self.callbacks = [self.pool, self.evaluation, self]
        self.seconds = 0.0  # of training, over all sessions
        self.leg = 0
        self.interrupted = False
        self.bar: Any = None
        self._since = time.perf_counter()

    # After rollouts.

    def _on_rollout_start(self) -> None:
        config, done = self.config, min(self.model.num_timesteps / self.config.frames, 1.0)
        self.model.ent_coef = config.entropy + done * (config.entropy_end - config.entropy)
        rate = config.learning_rate + done * (config.learning_rate_end - config.learning_rate)
        self.model.lr_schedule = lambda _: rate  # SB3's own goes from the start to the end of each call of `learn`

    def _on_step(self) -> bool:
        self.bar.update(self.config.games)
        return True

    def _on_rollout_end(self) -> None:
        by_table = {name: float(np.mean(wins)) for name, wins in sorted(self.pool.results.items())}
        everything = [win for wins in self.pool.results.values() for win in wins]
        row = {
            "frames": self.model.num_timesteps,
            "seconds": round(self.seconds + time.perf_counter() - self._since, 1),
            "episodes": len(everything),
            "win_rate": float(np.mean(everything)) if everything else float("nan"),
            "rounds": float(np.mean(self.pool.lengths)) if everything else float("nan"),
            "win_rate_latest": by_table.get("latest", float("nan")),
            "entropy_coefficient": self.model.ent_coef,
            **{f"win_rate_{name}": by_table.get(name, float("nan")) for name in self.config.bots},
        }
        _append(self.folder / "metrics.csv", row)
        for name, value in row.items():
            if value == value:  # not NaN: nobody of that name was met
                self.logger.record(f"selfplay/{name}", value)
        if self.evaluation.rollouts % self.config.evaluate == 0:
            self.note_evaluation()
        self.logger.dump(self.model.num_timesteps)
        self.bar.set_postfix(win=f"{row['win_rate']:.3f}", **{k: f"{v:.2f}" for k, v in by_table.items() if k in self.config.bots})

    def note_evaluation(self) -> None:
        """Write the results of the last evaluation."""
        for table, result in self.evaluation.results.items():
            win, payoff = result["learner"].win, result["learner"].payoff
            row = {"frames": self.model.num_timesteps, "table": table, "win": win.mean, "low": win.low, "high": win.high}
            _append(self.folder / "evaluation.csv", {**row, "payoff": payoff.mean})

    # Between legs.

    def begin_leg(self) -> None:
        """Begin all games anew, and derive every random state from the seed and the number of the leg."""
        self.pool.seat_opponents()  # before the games begin, so that they are played by these from the start
        state = np.random.SeedSequence([self.config.seed, self.leg]).generate_state(2)
        set_random_seed(int(state[0]))
        self.model.env.seed(int(state[1]))
        self.model._last_obs = None  # makes `learn` reset the games

    def end_leg(self) -> None:
        """Write a checkpoint. It appears whole or not at all."""
        self.leg += 1
        now = time.perf_counter()
        self.seconds += now - self._since
        self._since = now
        save_network(self.folder / "last.safetensors", network_of(self.model))
        root = self.folder / "checkpoints"
        part, whole = root / "part", root / f"{self.leg:06d}"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        tensors = {f"policy.{name}": tensor for name, tensor in self.model.policy.state_dict().items()}
        optimiser = self.model.policy.optimizer.state_dict()["state"]
        tensors |= {f"adam.{i}.{name}": tensor for i, entry in optimiser.items() for name, tensor in entry.items()}
        save_file(tensors, part / "state.safetensors")
        state = {
            "leg": self.leg,
            "frames": self.model.num_timesteps,
            "updates": self.model._n_updates,
            "rollouts": self.pool.rollouts,
            "best": self.evaluation.best,
            "seconds": self.seconds,
            "past": [[past.name, past.win_rate] for past in self.pool.past],
        }
        (part / "state.json").write_text(json.dumps(state, indent=1))
        part.rename(whole)
        for old in sorted(path for path in root.iterdir() if path.name.isdigit())[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)

    def load_checkpoint(self) -> None:
        """Go to the last finished checkpoint; forget what was written after it.

        Raises:
            ValueError: it is damaged.
        """
        found = sorted(path for path in (self.folder / "checkpoints").glob("*") if path.name.isdigit())
        if not found:
            return
        try:
            state = json.loads((found[-1] / "state.json").read_text())
            tensors = load_file(found[-1] / "state.safetensors")
            self.model.policy.load_state_dict({k.removeprefix("policy."): v for k, v in tensors.items() if k.startswith("policy.")})
            entries: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
            for name, tensor in tensors.items():
                if name.startswith("adam."):
                    _, i, key = name.split(".")
                    entries[int(i)][key] = tensor
            groups = self.model.policy.optimizer.state_dict()["param_groups"]
            self.model.policy.optimizer.load_state_dict({"state": dict(entries), "param_groups": groups})
            self.pool.past = [Past(name, rate) for name, rate in state["past"]]
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise ValueError(f"checkpoint {found[-1]} is damaged; delete it to go on from the one before ({error})") from error
        self.leg, self.seconds, self.evaluation.best = state["leg"], state["seconds"], state["best"]
        self.pool.rollouts = self.evaluation.rollouts = state["rollouts"]
        self.model.num_timesteps, self.model._n_updates = state["frames"], state["updates"]
        for name in ("metrics.csv", "evaluation.csv"):
            _forget_after(self.folder / name, state["frames"])


def _append(path: Path, row: dict[str, Any]) -> None:
    """Add a row to a CSV file, which begins with the names of its columns."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, row.keys())
        if new:
            writer.writeheader()
        writer.writerow(row)


def _forget_after(path: Path, frames: int) -> None:
    """Drop the rows of a CSV file that were written after so many frames."""
    if path.exists():
        head, *rows = path.read_text().splitlines(keepends=True)
        path.write_text(head + "".join(row for row in rows if int(row.split(",")[0]) <= frames))


def make_model(config: Config) -> MaskablePPO:
    """The learner over its games."""
    env = GetBitVecEnv(
        config.games,
        "random",
        variant=config.game,
        seed=config.seed,
        reward=config.reward,
        observe_last=config.observe_last,
        identity=config.identity,
        history=config.history,
    )
    return MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=config.learning_rate,
        n_steps=config.rollout,
        batch_size=config.batch,
        n_epochs=config.epochs,
        gamma=1.0,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip,
        ent_coef=config.entropy,
        policy_kwargs={"net_arch": list(config.network), "activation_fn": torch.nn.Tanh},
        seed=config.seed,
        device="cpu",
    )


def train(config: Config, folder: Path, *, quiet: bool = False) -> Path:
    """Train, or go on where the folder's last checkpoint is.

    Args:
        config: every option.
        folder: of the run; made if it is not there.
        quiet: no progress bar.

    Returns:
        The folder.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; what was learnt is saved.
    """
    torch.set_num_threads(config.threads)
    folder.mkdir(parents=True, exist_ok=True)
    model = make_model(config)
    run = Run(config, folder, model)
    run.load_checkpoint()
    model.set_logger(Logger(str(folder), [TensorBoardOutputFormat(str(folder / "tensorboard"))]))

    def interrupt(_signal: int, _frame: Any) -> None:
        if run.interrupted:
            raise KeyboardInterrupt
        run.interrupted = True
        tqdm.write(
            "stopping after this update; press Ctrl-C again to lose what was learnt since the last checkpoint", file=sys.stderr
        )

    before = signal.signal(signal.SIGINT, interrupt)
    frames_a_rollout = config.games * config.rollout
    rollouts = -(-config.frames // frames_a_rollout)
    try:
        with tqdm(
            total=rollouts * frames_a_rollout,
            initial=model.num_timesteps,
            unit="frame",
            unit_scale=True,
            mininterval=1,
            disable=quiet,
        ) as run.bar:
            while run.pool.rollouts < rollouts and not run.interrupted:
                run.begin_leg()
                for _ in range(min(config.leg - run.pool.rollouts % config.leg, rollouts - run.pool.rollouts)):
                    model.learn(frames_a_rollout, callback=run.callbacks, reset_num_timesteps=False)
                    if run.interrupted:
                        break
                run.end_leg()
    finally:
        signal.signal(signal.SIGINT, before)
    if run.interrupted:
        raise KeyboardInterrupt
    run.evaluation.evaluate()
    run.note_evaluation()
    write_card(run)
    return folder


# --- what a run leaves behind ------------------------------------------------------------------------------------------------


def write_card(run: Run) -> None:
    """Write `card.md` and `learning.png`. The policy is judged on other lines than those by which it was chosen."""
    config, folder = run.config, run.folder
    agent = load_network(folder / FILE, folder.name)
    others = config.game.players - 1
    results = {
        table: play_match([agent, *[table] * others], config.game, lines=CARD_LINES, seed=config.seed + 1)
        for table in config.evaluation_tables
    }
    about = json.loads((folder / "config.json").read_text())["about"]
    share = 1 / config.game.players
    lines = [
        f"# {folder.name}",
        "",
        f"A policy for {config.game}: tanh layers of {config.network}, after {int(agent.about['frames']):,} decisions of a "
        f"self-play run of {run.model.num_timesteps:,} that took {run.seconds / 60:.1f} minutes; the best by the mean win rate "
        "of the run's evaluations.",
        "",
        f"One seat against {config.game.players - 1} of a kind, {CARD_LINES} starting lines in every rotation of the seats, 95 % "
        f"intervals over lines; the equal share is {share:.3f}.",
        "",
        "| table of | win rate | payoff |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {name} | {result[folder.name].win} | {result[folder.name].payoff} |" for name, result in results.items()]
    lines += ["", "![learning curve](learning.png)", "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | `{value}` |" for name, value in about.items()]
    (folder / "card.md").write_text("\n".join(lines) + "\n")
    draw_learning(folder)


def draw_learning(folder: Path) -> None:
    """Draw the win rates of the periodic evaluations: `learning.png`."""
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
    players = Config(**json.loads((folder / "config.json").read_text())["config"]).game.players
    axes.axhline(1 / players, color="grey", linewidth=1, linestyle="--", label="equal share")
    axes.set(xlabel="decisions trained on (millions)", ylabel="win rate of one seat", title=folder.name, ylim=(0, None))
    axes.legend(fontsize="small")
    figure.savefig(folder / "learning.png", dpi=120)
    plt.close(figure)


def read_config(folder: Path) -> Config:
    """The options of a run.

    Raises:
        ValueError: there is no run in the folder, or it has options that this version does not know.
    """
    try:
        return Config(**json.loads((folder / "config.json").read_text())["config"])
    except OSError as error:
        raise ValueError(f"{folder} holds no run: it has no config.json") from error
    except (TypeError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder / 'config.json'} is not of this version: {error}") from error


def parser() -> argparse.ArgumentParser:
    """The command line: an option for each field of `Config`."""
    made = argparse.ArgumentParser(prog="python -m train.selfplay", description=__doc__, allow_abbrev=False)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument("--output", type=Path, metavar="FOLDER", help="of the run; by default runs/VARIANT-TIME")
    made.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with a run; takes its options from there")
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    for entry in dataclasses.fields(Config):
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


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    command = parser()
    given = vars(command.parse_args(arguments))
    output, resume, quiet = given.pop("output"), given.pop("resume"), given.pop("quiet")
    chosen = {name: value for name, value in given.items() if value is not None}
    try:
        if resume is not None:
            if chosen or output:
                raise ValueError(
                    f"--resume takes every option from the run; leave out {', '.join('--' + name for name in chosen) or '--output'}"
                )
            config, folder = read_config(resume), resume
        else:
            config = Config(**chosen)
            folder = output or Path("runs") / f"{config.game}-{time.strftime('%Y%m%d-%H%M%S')}"
            if (folder / "config.json").exists():
                raise ValueError(f"{folder} already holds a run; go on with --resume {folder}, or choose another --output")
            folder.mkdir(parents=True, exist_ok=True)
            saved = {"config": dataclasses.asdict(config), "about": provenance()}
            (folder / "config.json").write_text(json.dumps(saved, indent=1))
        train(config, folder, quiet=quiet)
    except ValueError as error:
        command.error(str(error))
    except KeyboardInterrupt:
        print(f"stopped; go on with: python -m train.selfplay --resume {shlex.quote(str(folder))}", file=sys.stderr)
        sys.exit(130)
    print(f"{folder}: policy, card.md, learning.png, metrics.csv, tensorboard/", file=sys.stderr)


if __name__ == "__main__":
    main()
