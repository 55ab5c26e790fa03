"""Self-play with Stable-Baselines3: MaskablePPO in one seat, past selves and bots in the others.

    python -m train.selfplay --players 4 --frames 4000000 --output runs/first
    python -m train.selfplay --resume runs/first

What the folder of a run holds, and how a run is resumed, is said in `train.run`; past selves are in `pool/`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.utils import set_random_seed
from tqdm import tqdm

from getbit_env.agent_registry import load_agent
from getbit_env.network import POLICY_FILE, save_network
from getbit_env.sb3 import SAMPLING, OpponentPool, Past, SingleAgentVecEnv, WinRate, network_of
from getbit_env.single_agent.batch import SingleAgentBatch
from train.run import (
    Common,
    append_evaluation,
    append_row,
    command,
    interruptible,
    load_checkpoint,
    option,
    save_checkpoint,
    write_card,
)


@dataclass(frozen=True)
class Config(Common):
    """Every option of a run."""

    tables: int = option(8, "tables of opponents at a time; each has an equal share of the games")
    latest: float = option(0.4, "share of the tables at which the policy as of this rollout sits")
    bots: list[str] = option(["random", "lowest", "highest", "counter"], "bots that stay in the pool")
    bot_share: float = option(0.3, "share of the tables at which bots sit; past selves sit at the rest")
    sampling: str = option("uniform", "which past selves: latest, uniform, or prioritised (those that it does not beat yet)")
    pool: int = option(30, "past selves kept; older ones are thinned out")
    snapshot: int = option(8, "rollouts between past selves")

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            ValueError: with what is wrong.
        """
        super().__post_init__()
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
        for name in self.bots:
            load_agent(name)


class Run(BaseCallback):
    """A run in its folder: what is noted after every rollout, and what happens between legs."""

    model: Any  # SB3 types it as the base of all algorithms

    def __init__(self, config: Config, folder: Path, model: MaskablePPO) -> None:
        super().__init__()
        self.config, self.folder, self.model = config, folder, model
        self.pool = OpponentPool(
            folder / "pool",
            groups=config.tables,
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
            starts=config.evaluation_lines,
            seed=config.seed,
            save_best=folder / POLICY_FILE,
        )
        self.callbacks = [self.pool, self.evaluation, self]
        self.seconds = 0.0  # of training, over all sessions
        self.leg = 0
        self.bar: Any = None
        self._since = time.perf_counter()
        state = load_checkpoint(folder, model.policy, model.policy.optimizer)
        if state is not None:
            self.leg, self.seconds, self.evaluation.best = state["leg"], state["seconds"], state["best"]
            self.pool.rollouts = self.evaluation.rollouts = state["rollouts"]
            self.pool.past = [Past(name, rate) for name, rate in state["past"]]
            model.num_timesteps, model._n_updates = state["frames"], state["updates"]

    # After rollouts.

    def _on_rollout_start(self) -> None:
        frames = self.model.num_timesteps
        self.model.ent_coef = self.config.at(frames, "entropy")
        rate = self.config.at(frames, "learning_rate")
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
        append_row(self.folder / "metrics.csv", row)
        for name, value in row.items():
            if value == value:  # not NaN: nobody of that name was met
                self.logger.record(f"selfplay/{name}", value)
        if self.evaluation.rollouts % self.config.evaluate == 0:
            append_evaluation(self.folder / "evaluation.csv", self.model.num_timesteps, self.evaluation.results)
        self.logger.dump(self.model.num_timesteps)
        self.bar.set_postfix(win=f"{row['win_rate']:.3f}", **{k: f"{v:.2f}" for k, v in by_table.items() if k in self.config.bots})

    # Between legs.

    def begin_leg(self) -> None:
        """Begin all games anew, and derive every random state from the seed and the number of the leg."""
        self.pool.seat_opponents()  # before the games begin, so that they are played by these from the start
        state = np.random.SeedSequence([self.config.seed, self.leg]).generate_state(2)
        set_random_seed(int(state[0]))
        self.model.env.seed(int(state[1]))
        self.model._last_obs = None  # makes `learn` reset the games

    def end_leg(self) -> None:
        """Write a checkpoint."""
        self.leg += 1
        now = time.perf_counter()
        self.seconds += now - self._since
        self._since = now
        save_network(self.folder / "last.safetensors", network_of(self.model))
        state = {
            "frames": self.model.num_timesteps,
            "updates": self.model._n_updates,
            "rollouts": self.pool.rollouts,
            "best": self.evaluation.best,
            "seconds": self.seconds,
            "past": [[past.name, past.win_rate] for past in self.pool.past],
        }
        save_checkpoint(self.folder, self.leg, self.model.policy, self.model.policy.optimizer, state)


def make_model(config: Config) -> MaskablePPO:
    """The learner over its games."""
    anybody = load_agent(config.evaluation_tables[0])  # a leg begins with setting the tables
    batch = SingleAgentBatch(config.game, config.games, anybody, seed=config.seed, options=config.options, reward=config.reward)
    env = SingleAgentVecEnv(batch)
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


def train(config: Config, folder: Path, quiet: bool = False) -> Path:
    """Train, or go on where the folder's last checkpoint is.

    Args:
        config: every option.
        folder: of the run, with its `config.json`.
        quiet: no progress bar.

    Returns:
        The folder.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; what was learnt is saved.
    """
    torch.set_num_threads(config.threads)
    model = make_model(config)
    run = Run(config, folder, model)
    model.set_logger(Logger(str(folder), [TensorBoardOutputFormat(str(folder / "tensorboard"))]))
    frames_a_rollout = config.games * config.rollout
    rollouts = -(-config.frames // frames_a_rollout)
    with (
        interruptible() as interrupt,
        tqdm(
            total=rollouts * frames_a_rollout,
            initial=model.num_timesteps,
            unit="frame",
            unit_scale=True,
            mininterval=1,
            disable=quiet,
        ) as run.bar,
    ):
        while run.pool.rollouts < rollouts and not interrupt.pressed:
            run.begin_leg()
            for _ in range(min(config.leg - run.pool.rollouts % config.leg, rollouts - run.pool.rollouts)):
                model.learn(frames_a_rollout, callback=run.callbacks, reset_num_timesteps=False)
                if interrupt.pressed:
                    break
            run.end_leg()
    if interrupt.pressed:
        raise KeyboardInterrupt
    run.evaluation.evaluate()
    append_evaluation(folder / "evaluation.csv", model.num_timesteps, run.evaluation.results)
    write_card(folder, config, model.num_timesteps, run.seconds)
    return folder


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    command(Config, train, "python -m train.selfplay", __doc__ or "", arguments)


if __name__ == "__main__":
    main()
