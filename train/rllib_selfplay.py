"""Self-play with Ray RLlib: PPO with masks in all seats at once, of one shared policy or of a policy a seat.

The same command trains on one machine and on a cluster: --ray names the cluster, --env-runners and --learners say how many
processes play and learn. Rounds of all games are played by RLlib's environment runners. `train.run` says what the folder of a run
holds; RLlib's own checkpoint is in `rllib/`, which --resume unpickles: resume runs that are yours alone. The policies of all seats
are in `policies/`, and policy.safetensors is the best of the evaluations.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from tqdm import tqdm

from getbit_env.command_line import no_bar
from getbit_env.core.files import temporary_beside, write_json
from getbit_env.network import POLICY_FILE, NetworkAgent, save_network
from getbit_env.rllib import MaskedPPOModule, RLlibGameEnv, network_layers

from . import run
from .card import play_against, write_card
from .recipe import CommonConfig, DamagedError, Recipe, option
from .records import Records
from .run_file import RunFile

SHARED, SEPARATE = "shared", "separate"
CHECKPOINT, STATE = "rllib", "state.json"


@dataclass(frozen=True)
class Config(CommonConfig):
    """Every option of a run."""

    total_timesteps: int = option(400_000, "decisions to train on", least=1, most=10**12)
    n_envs: int = option(32, "games at a time, of each environment runner", least=1, most=10**6)
    n_steps: int = option(64, "rounds, or turns, of each game in a rollout", least=1, most=10**6)
    batch_size: int = option(512, "decisions a minibatch", least=2, most=10**9)
    policies: str = option(SHARED, "shared: one policy learns in all seats; separate: each seat has its own")
    ray: str | None = option(None, "address of a Ray cluster, or auto; by default one on this machine for this run alone")
    env_runners: int = option(0, "processes that play; 0: the learner plays as well", least=0, most=10**5)
    learners: int = option(0, "processes that learn; 0: this one does", least=0, most=10**4)
    gpus: float = option(0.0, "of each learner", least=0, most=8)

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            ValueError: with what is wrong.
        """
        super().__post_init__()
        if self.policies not in (SHARED, SEPARATE):
            raise ValueError(f"--policies is {SHARED} or {SEPARATE}, not {self.policies!r:.80}")
        if self.gpus and not self.learners:
            raise ValueError("--gpus are of learners: give --learners 1 or more as well")
        if self.batch_size > self.rollout:
            raise ValueError(
                f"--batch-size {self.batch_size} is more than the {self.rollout} steps of a rollout that a learner gets"
            )

    @property
    def rollout(self) -> int:
        """Steps of all games together, of each learner."""
        return max(1, self.n_envs * self.n_steps * max(self.env_runners, 1) // max(self.learners, 1))


def policy_of(policies: str, agent: str) -> str:
    """The policy that plays an agent."""
    return SHARED if policies == SHARED else agent


def algorithm_config(config: Config) -> PPOConfig:
    """The options as RLlib takes them."""
    env_config = {"variant": config.variant, "reward": config.reward, **dict.fromkeys(config.observe, True)}
    env = RLlibGameEnv(env_config)
    names = sorted({policy_of(config.policies, agent) for agent in env.possible_agents})
    network = DefaultModelConfig(fcnet_hiddens=list(config.net_arch), fcnet_activation="tanh", vf_share_layers=False)
    end = max(config.total_timesteps, 1)
    return (
        PPOConfig()
        .environment(RLlibGameEnv, env_config=env_config, disable_env_checking=True)
        .framework("torch")
        .env_runners(
            num_env_runners=config.env_runners,
            num_envs_per_env_runner=config.n_envs,
            rollout_fragment_length="auto",
            batch_mode="truncate_episodes",
        )
        .fault_tolerance(restart_failed_env_runners=True)
        .learners(num_learners=config.learners, num_gpus_per_learner=config.gpus)
        .training(
            train_batch_size_per_learner=config.rollout,
            minibatch_size=config.batch_size,
            num_epochs=config.n_epochs,
            lr=[[0, config.learning_rate], [end, config.learning_rate_end]],
            entropy_coeff=[[0, config.ent_coef], [end, config.ent_coef_end]],
            gamma=1.0,
            lambda_=config.gae_lambda,
            clip_param=config.clip_range,
            use_kl_loss=False,
            grad_clip=0.5,
            vf_clip_param=float("inf"),
        )
        .multi_agent(
            policies=set(names),
            policy_mapping_fn=lambda agent, _episode=None, policies=config.policies, **_: policy_of(policies, agent),
        )
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(
                rl_module_specs={name: RLModuleSpec(module_class=MaskedPPOModule, model_config=network) for name in names}
            )
        )
        .debugging(seed=config.seed, log_level="ERROR")
    )


def agents_of(algorithm: Any, config: Config, timesteps: int) -> dict[str, NetworkAgent]:
    """Each policy as it is now, as an agent that plays without Ray."""
    weights = algorithm.learner_group.get_weights()
    about = {"timesteps": str(timesteps)}
    return {
        name: NetworkAgent(network_layers(state), config.played, config.observed, name="learner", about=dict(about))
        for name, state in sorted(weights.items())
    }


def connect(config: Config) -> bool:
    """Connect to Ray; returns whether this call did, and so has to end it.

    Raises:
        ValueError: there is no cluster at the address.
    """
    if ray.is_initialized():
        return False
    options: dict[str, Any] = {"address": config.ray} if config.ray else {"address": "local", "include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", **options)
    except Exception as error:  # whatever Ray raises, a bare `Exception` among it
        raise ValueError(f"--ray {config.ray or 'local'} leads to no cluster: {error}") from error
    return True


def go_on(file: RunFile, folder: Path, quiet: bool) -> None:
    """Train to the end in a folder that this process owns; see `Recipe.go_on`."""
    config: Config = file.options
    mine = connect(config)
    try:
        _train(file, config, folder, quiet)
    finally:
        if mine:
            ray.shutdown()


def _train(file: RunFile, config: Config, folder: Path, quiet: bool) -> None:
    algorithm = algorithm_config(config).build_algo()
    state = _restore(algorithm, file, folder)
    records = Records(folder, state["timesteps"])
    since = time.perf_counter() - state["seconds"]
    bar = tqdm(
        total=config.total_timesteps,
        initial=state["timesteps"],
        unit=" decisions",
        unit_scale=True,
        mininterval=1,
        disable=quiet or no_bar(),
    )
    try:
        with bar:
            while state["timesteps"] < config.total_timesteps:
                result = algorithm.train()
                played = result["env_runners"]
                state["timesteps"] += _decisions(played)
                state["rollouts"] += 1
                state["seconds"] = time.perf_counter() - since
                over = state["timesteps"] >= config.total_timesteps
                records.add_metrics({"timesteps": state["timesteps"], "seconds": round(state["seconds"], 1), **_figures(result)})
                if over or state["rollouts"] % config.eval_freq == 0:
                    _evaluate(algorithm, config, folder, state, records)
                if over or state["rollouts"] % config.save_freq == 0:
                    _save(algorithm, file, folder, state)
                bar.update(state["timesteps"] - bar.n)
    finally:
        records.close()
        algorithm.stop()
    write_card(folder, RECIPE, file, state["timesteps"], state["seconds"])


def _decisions(played: Any) -> int:
    """Decisions of all seats in a rollout."""
    return int(sum(played["num_agent_steps_sampled"].values()))


def _figures(result: Any) -> dict[str, float]:
    """What a rollout's row holds; the same figures each time."""
    played, nan = result["env_runners"], float("nan")
    learnt = {name: values for name, values in result["learners"].items() if name != "__all_modules__"}

    def mean(name: str) -> float:
        return float(np.mean([values.get(name, nan) for values in learnt.values()]))

    names = ("policy_loss", "vf_loss", "entropy", "vf_explained_var", "mean_kl_loss", "gradients_default_optimizer_global_norm")
    episodes = {"episodes": float(played.get("num_episodes", nan)), "length": float(played.get("episode_len_mean", nan))}
    return episodes | {name: mean(name) for name in names}


def _evaluate(algorithm: Any, config: Config, folder: Path, state: dict[str, Any], records: Records) -> None:
    """Play each policy against all opponents, record the best one, and keep it if it is the best so far."""
    found = {}
    for name, agent in agents_of(algorithm, config, state["timesteps"]).items():
        save_network(folder / "policies" / f"{name}.safetensors", agent)
        results = play_against(agent, config.eval_opponents or [], config.eval_starts, config.seed)
        found[name] = float(np.mean([result[result.line_up[0]].win.mean for result in results.values()])), agent, results
    score, agent, results = max(found.values(), key=lambda one: one[0])
    records.add_evaluation(state["timesteps"], results)
    if state["best"] is None or score > state["best"]:
        state["best"] = score
        agent.about["score"] = f"{score:.4f}"
        save_network(folder / POLICY_FILE, agent)


def _save(algorithm: Any, file: RunFile, folder: Path, state: dict[str, Any]) -> None:
    """Write RLlib's checkpoint, whole or not at all, and keep it alone."""
    made = folder.resolve() / CHECKPOINT / f"{state['rollouts']:06}"
    part = temporary_beside(made)
    algorithm.save_to_path(part)
    write_json(part / STATE, {"run": file.run, **state})
    part.rename(made)
    for old in made.parent.iterdir():
        if old != made:
            shutil.rmtree(old)


def _restore(algorithm: Any, file: RunFile, folder: Path) -> dict[str, Any]:
    """Go to the last checkpoint; without one, to the beginning. Returns how far it is.

    Raises:
        DamagedError: it is another run's, or damaged.
    """
    found = sorted(path for path in (folder.resolve() / CHECKPOINT).glob("[0-9]*") if path.name.isdecimal())
    if not found:
        return {"timesteps": 0, "rollouts": 0, "seconds": 0.0, "best": None}

    try:
        state = json.loads((found[-1] / STATE).read_text(encoding="utf-8"))
        if state.pop("run") != file.run:
            raise DamagedError(f"checkpoint {found[-1]} is of another run than config.json of {folder}")
        algorithm.restore_from_path(found[-1])
    except (OSError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise DamagedError(f"checkpoint {found[-1]} is damaged ({error!r:.200})") from error
    return dict(state)


RECIPE = Recipe(
    name="train.rllib_selfplay",
    config=Config,
    make=None,
    keeps_best=True,
    judged_by="the best by the mean win rate of its evaluations",
    go_on=go_on,
)


def train(config: Config, folder: Path, quiet: bool = False) -> Path:
    """`train.run.train` with this recipe."""
    return run.train(RECIPE, config, folder, quiet=quiet)


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    return run.make_parser(RECIPE, __doc__ or "", prog)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m train.rllib_selfplay") -> None:
    """Run the command."""
    run.command(RECIPE, make_parser(prog), arguments)


if __name__ == "__main__":
    main()
