"""Self-play with Stable-Baselines3: MaskablePPO, or MaskableRecurrentPPO, in one seat, past selves and bots in the others.

`train.run` says what the folder of a run holds, and how a run is resumed. Past selves are in `pool/`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import set_random_seed

from getbit_env.core.choices import choice
from getbit_env.network import TrainedPolicy
from getbit_env.sb3 import MaskableRecurrentPPO, OpponentPool, PastSampling, SingleAgentVecEnv, network_of
from getbit_env.sb3.callbacks import Groups
from getbit_env.single_agent.batch import SingleAgentBatch

from . import run
from .recipe import CommonConfig, Recipe, option


class Policy(StrEnum):
    """What learns, as Stable-Baselines3 calls it."""

    MLP = "MlpPolicy"
    LSTM = "MlpLstmPolicy"


@dataclass(frozen=True)
class Config(CommonConfig):
    """Every option of a run."""

    policy: str = option("MlpPolicy", "MlpPolicy, or MlpLstmPolicy, which remembers what it has seen in a game")
    lstm_hidden_size: int = option(64, "units of the LSTM that MlpLstmPolicy has before its layers", least=1, most=10**5)
    opponent_groups: int = option(8, "groups of opponents at a time; each plays an equal number of the games", least=1, most=10**6)
    latest_share: float = option(0.4, "share of the groups that are the policy as of this rollout", least=0, most=1)
    bots: list[str] | None = option(None, "agents that stay in the pool, by default the game's opponents")
    bot_share: float = option(0.3, "share of the groups that are bots; past selves are the rest", least=0, most=1)
    sampling: str = option("uniform", "which past selves: latest, uniform, or prioritised (those that it does not beat yet)")
    pool_size: int = option(30, "past selves kept; older ones are thinned out", least=1, most=10**6)
    snapshot_freq: int = option(8, "rollouts between past selves", least=1)
    threads: int = option(1, "torch threads; equal runs on one only", least=1, most=1024)

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            ValueError: with what is wrong.
        """
        super().__post_init__()
        choice(PastSampling, "--sampling", self.sampling)
        choice(Policy, "--policy", self.policy)
        if self.bot_share > 0 and self.bots == []:
            raise ValueError("--bot-share is over 0, but there are no --bots")
        if self.bot_share > 0 and not self.groups.bots:
            raise ValueError(
                f"--bot-share {self.bot_share:g} of --opponent-groups {self.opponent_groups} is less than half a group, so that no "
                f"--bots would play; give a --bot-share of 0, or more of either"
            )
        if self.groups.bots:
            self._set_agents("bots")
        for name in self.bots or []:
            OpponentPool.check_bot_name(name)
        if self.n_envs % self.opponent_groups:
            raise ValueError(f"--n-envs {self.n_envs} can't be shared equally by --opponent-groups {self.opponent_groups}")
        if self.batch_size > self.n_envs * self.n_steps:
            raise ValueError(
                f"--batch-size {self.batch_size} is more than a rollout of --n-envs {self.n_envs} * --n-steps {self.n_steps}"
            )

    @property
    def groups(self) -> Groups:
        """How many groups of opponents are of which kind.

        Raises:
            ValueError: the shares are more than the whole.
        """
        if self.latest_share + self.bot_share > 1:
            raise ValueError("--latest-share and --bot-share are shares that add up to 1 at most")
        return Groups.of(self.opponent_groups, self.latest_share, self.bot_share)

    def unused(self) -> dict[str, str]:
        """See `CommonConfig`."""
        names: dict[str, str] = {}
        if self.policy == Policy.MLP:
            names["lstm_hidden_size"] = f"--policy {Policy.MLP} has no LSTM, {Policy.LSTM} has one"
        groups = self.groups
        if not groups.bots and self.bots:
            names["bots"] = "--bot-share is 0"
        if not groups.past:
            shares = f"--latest-share {self.latest_share:g} and --bot-share {self.bot_share:g} leave none"
            names |= dict.fromkeys(("sampling", "pool_size", "snapshot_freq"), f"no group is of past selves, since {shares}")
        return names


class SelfPlay:
    """The learner against a pool, as `train.run` drives it.

    Attributes:
        model: of Stable-Baselines3.
        pool: of the opponents.
    """

    def __init__(self, config: Config, folder: Path) -> None:
        """Begin with a new policy."""
        torch.set_num_threads(config.threads)
        self.config = config
        self.model: Any = make_model(config)
        self.model.set_logger(Logger(None, []))  # what it logs is recorded by `train.run`
        self.pool = OpponentPool(
            folder / "pool",
            opponent_groups=config.opponent_groups,
            latest_share=config.latest_share,
            bots=config.bots,
            bot_share=config.bot_share,
            sampling=config.sampling,
            pool_size=config.pool_size,
            snapshot_freq=config.snapshot_freq,
            seed=config.seed,
        )
        self.pool.init_callback(self.model)

    @property
    def timesteps(self) -> int:
        """Decisions trained on."""
        return int(self.model.num_timesteps)

    @timesteps.setter
    def timesteps(self, number: int) -> None:
        self.model.num_timesteps = number

    @property
    def module(self) -> torch.nn.Module:
        """See `Algorithm`."""
        policy: torch.nn.Module = self.model.policy
        return policy

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """See `Algorithm`."""
        optimizer: torch.optim.Optimizer = self.model.policy.optimizer
        return optimizer

    def begin_leg(self, seed: np.random.SeedSequence) -> None:
        """See `Algorithm`."""
        self.pool.seat_opponents()  # before the games begin, so that they are played by these from the start
        of_model, of_games = seed.generate_state(2).tolist()
        set_random_seed(of_model)
        self.model.env.seed(of_games)
        self.model._last_obs = None  # makes `learn` reset the games

    def train_rollout(self) -> dict[str, float]:
        """See `Algorithm`."""
        model, config, pool, nan = self.model, self.config, self.pool, float("nan")
        model.ent_coef = config.at(self.timesteps, "ent_coef")
        rate = config.at(self.timesteps, "learning_rate")
        model.lr_schedule = lambda _: rate  # SB3's own goes from the start to the end of each call of `learn`
        model.learn(config.n_envs * config.n_steps, callback=pool, reset_num_timesteps=False)
        win = {name: float(np.mean(wins)) for name, wins in pool.results.items()}
        wins = [one for wins in pool.results.values() for one in wins]
        logged = {name.removeprefix("train/"): float(value) for name, value in model.logger.name_to_value.items()}
        return {
            "episodes": len(wins),
            "win_rate": float(np.mean(wins)) if wins else nan,
            "length": float(np.mean(pool.lengths)) if pool.lengths else nan,
            "ent_coef": model.ent_coef,
            "win_rate_latest": win.get("latest", nan),
            **{f"win_rate_{name}": win.get(name, nan) for name in config.bots or []},
            **{name: value for name, value in sorted(logged.items()) if not name.startswith("time/")},
        }

    def agent(self) -> TrainedPolicy:
        """See `Algorithm`."""
        return network_of(self.model)

    def state(self) -> dict[str, Any]:
        """See `Algorithm`."""
        return {"updates": self.model._n_updates, **self.pool.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Algorithm`."""
        if type(state["updates"]) is not int:
            raise ValueError(f"updates is {state['updates']!r:.80}")
        self.model._n_updates = state["updates"]
        self.pool.restore(state)


def make_model(config: Config) -> MaskablePPO | MaskableRecurrentPPO:
    """The learner over its games."""
    anybody = (config.eval_opponents or [""])[0]  # a leg begins with seating opponents
    batch = SingleAgentBatch(config.played, config.n_envs, anybody, seed=config.seed, options=config.observed, reward=config.reward)
    layers: dict[str, Any] = {"net_arch": list(config.net_arch), "activation_fn": torch.nn.Tanh}
    make: Any = MaskablePPO
    if config.policy == Policy.LSTM:
        make, layers["lstm_hidden_size"] = MaskableRecurrentPPO, config.lstm_hidden_size
    made: MaskablePPO | MaskableRecurrentPPO = make(
        config.policy,
        SingleAgentVecEnv(batch),
        learning_rate=config.learning_rate,
        n_steps=config.n_steps,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        gamma=1.0,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        ent_coef=config.ent_coef,
        policy_kwargs=layers,
        seed=config.seed,
        device="cpu",
    )
    return made


RECIPE = Recipe(
    name="train.selfplay",
    config=Config,
    make=SelfPlay,
    keeps_best=True,
    judged_by="the best by the mean win rate of its evaluations",
)


def train(config: Config, folder: Path, quiet: bool = False) -> Path:
    """`train.run.train` with this recipe."""
    return run.train(RECIPE, config, folder, quiet=quiet)


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    return run.make_parser(RECIPE, __doc__ or "", prog)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m train.selfplay") -> None:
    """Run the command."""
    run.command(RECIPE, make_parser(prog), arguments)


if __name__ == "__main__":
    main()
