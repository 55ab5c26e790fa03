"""How much a trained opponent gains on an agent: a lower bound of what a best response would gain, where that can't be computed.

It is for games that are too large for an exact figure, for all of Sharks are Wild, and for agents that can't have one: with memory,
or other observations. MaskablePPO plays one seat against the frozen agent in all others. It sees what the agent sees; in memory
games it has perfect recall. The best of its policies, which plays its likeliest actions, is then measured on starts that it was not
chosen by. No figure of this command is an upper bound: an agent can be worse than it says.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

# Before NumPy and torch are imported: small networks run slower on two threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from getbit_env.command_line import (
    add_ray_argument,
    add_variant_arguments,
    at_least_one,
    command_parser,
    interruptible,
    leave,
    need,
    no_bar,
    variant_of,
)
from getbit_env.commands import COMMANDS

if __name__ == "__main__":  # before what may be missing is imported
    try:
        need(*COMMANDS["lower-bound"].needs)
    except ValueError as missing:
        sys.exit(f"error: {missing}")

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import SafetensorError
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnvWrapper
from tqdm import tqdm

from getbit_env.agent_registry import check_agents, load_agent
from getbit_env.core.agent import Agent, name_of
from getbit_env.core.provenance import provenance
from getbit_env.core.spec import Variant
from getbit_env.core.units import executor, results_in_order
from getbit_env.game_registry import game_of
from getbit_env.get_bit.recall import PerfectRecall, Recall
from getbit_env.match import Estimate, play_match
from getbit_env.network import POLICY_FILE, NetworkAgent, TrainedPolicy, save_network
from getbit_env.sb3 import SingleAgentVecEnv, network_of
from getbit_env.single_agent import SingleAgentBatch

from .solve import check_output

EXAMPLES = {
    "counter --players 3": "a bot in a game that has no exact figure",
    "runs/first --variant 4p-memory --total-timesteps 4000000": "a run of your own in the memory game",
    "sharks-careful --variant sharks-2p-level1": "a bot of Sharks are Wild",
    "random --variant 3p-1r-4c-1l --total-timesteps 20000 --json": "a small game, as JSON",
}
GAMES, ROLLOUT = 256, 32


class LowerBound(NamedTuple):
    """What a trained responder reaches in one seat against the agent in all others, mean over seats and starts.

    Two players: payoffs in -1..1. More: chances of winning. `own` is what the agent itself would have there, by symmetry. Where
    games can end without a winner, that is less than an equal share of wins; `own` is the equal share, so that the bound holds. In
    a memory game `responder` is for the face-up game, and plays within `PerfectRecall`.
    """

    value: Estimate
    own: float
    responder: NetworkAgent
    timesteps: int
    score: float  # that it reached on the starts by which it was chosen

    @property
    def lower_bound(self) -> float:
        """What a best response gains at least, with 95 % confidence; never below 0, since a response may play as the agent does."""
        return max(0.0, self.value.mean - self.own if self.gain.low is None else self.gain.low)

    @property
    def gain(self) -> Estimate:
        """What the responder gains over the agent itself, with its 95 % interval."""
        mean, low, high = self.value
        return Estimate(mean - self.own, (mean if low is None else low) - self.own, (mean if high is None else high) - self.own)


class Remembering(VecEnvWrapper):
    """A memory game that shows its learner what the face-up game would show."""

    def __init__(self, env: SingleAgentVecEnv) -> None:
        """Wrap a memory game."""
        self._recall = Recall(env.layout, env.num_envs)
        super().__init__(env, spaces.Box(0, 1, (self._recall.layout.size,), np.float32))

    def reset(self) -> NDArray[np.float32]:
        """See `VecEnv`."""
        return self._recall.see(self.venv.reset())  # type: ignore[arg-type]  # an array

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """See `VecEnv`."""
        observation, *rest = self.venv.step_wait()
        return self._recall.see(observation), *rest  # type: ignore[arg-type,return-value]  # an array

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """See `VecEnv`; the layout is that of what is shown."""
        found = self.venv.get_attr(attr_name, indices)
        return [self._recall.layout] * len(found) if attr_name == "layout" else found


def likeliest(network: TrainedPolicy) -> NetworkAgent:
    """The network that plays the likeliest action of another: against a frozen agent a mixture gains nothing."""
    *layers, (weight, bias) = network.layers
    sharp = [*layers, (1000 * weight, 1000 * bias)]
    return NetworkAgent(sharp, network.variant, network.options, name=network.name, about=network.about)


def lower_bound(
    agent: Agent,
    variant: Variant,
    total_timesteps: int,
    *,
    seed: int = 0,
    starts: int = 2400,
    network: Sequence[int] = (128, 128),
    quiet: bool = False,
) -> LowerBound:
    """Train a responder and measure it.

    Args:
        agent: to respond to; it sits in all seats but one.
        variant: the game.
        total_timesteps: decisions to train on.
        seed: of everything.
        starts: starts of the measurement, each in every rotation of the seats.
        network: widths of the responder's tanh layers.
        quiet: no progress bar.

    Returns:
        The best of the policies that were tried on the way, measured on starts that it was not chosen by.

    Raises:
        ValueError: the agent can't play the game.
    """
    torch.set_num_threads(1)
    (options,) = check_agents({name_of(agent): agent}, variant).values()
    games = SingleAgentVecEnv(SingleAgentBatch(variant, GAMES, agent, seed=seed, options=options))
    remembers = getattr(variant, "memory", False)
    model = MaskablePPO(
        "MlpPolicy",
        Remembering(games) if remembers else games,
        n_steps=ROLLOUT,
        batch_size=2048,
        n_epochs=4,
        gamma=1.0,
        ent_coef=0.01,
        policy_kwargs={"net_arch": list(network), "activation_fn": torch.nn.Tanh},
        seed=seed,
        device="cpu",
    )

    def measure(network: NetworkAgent, starts: int, seed: int) -> Estimate:
        responder = PerfectRecall(network) if remembers else network
        match = play_match([responder, *[agent] * (variant.players - 1)], variant, starts=starts, seed=seed)
        standing = match[match.line_up[0]]  # the agent may be called responder as well
        return standing.payoff if variant.players == 2 else standing.win

    best, score = likeliest(network_of(model, "responder")), -float("inf")
    rollouts = max(1, round(total_timesteps / (GAMES * ROLLOUT)))
    with tqdm(
        total=rollouts * GAMES * ROLLOUT, unit=" decisions", unit_scale=True, mininterval=1, disable=quiet, file=sys.stderr
    ) as bar:
        for rollout in range(1, rollouts + 1):
            model.learning_rate = 1e-3 + (1e-4 - 1e-3) * rollout / rollouts
            model._setup_lr_schedule()
            model.learn(GAMES * ROLLOUT, reset_num_timesteps=False)
            bar.update(GAMES * ROLLOUT)
            if rollout % 8 == 0 or rollout == rollouts:
                candidate = likeliest(network_of(model, "responder"))
                reached = measure(candidate, starts // 4, seed).mean
                bar.set_postfix(reached=f"{reached:.3f}")
                if reached > score:
                    best, score = candidate, reached
    own = 0.0 if variant.players == 2 else 1 / variant.players
    return LowerBound(measure(best, starts, seed + 1), own, best, model.num_timesteps, score)


def best_lower_bound(
    agent: str, variant: Variant, total_timesteps: int, responders: int, pool: Executor, *, seed: int = 0, starts: int = 2400
) -> LowerBound:
    """Train several responders, each a unit of work, and take the one that did best on the starts by which it was chosen.

    Its value is measured on other starts, so that the choice does not flatter it.

    Args:
        agent: name of the agent; see `lower_bound`, as of the others.
        variant: the game.
        total_timesteps: decisions that each responder trains on.
        responders: how many.
        pool: does the units.
        seed: of the first responder; the others have the next ones.
        starts: of the measurement.
    """
    train = partial(_train_responder, agent, variant, total_timesteps, starts)
    found = results_in_order(pool, train, range(seed, seed + responders))
    return max(found, key=lambda one: one.score)


def _train_responder(agent: str, variant: Variant, total_timesteps: int, starts: int, seed: int) -> LowerBound:
    return lower_bound(load_agent(agent), variant, total_timesteps, seed=seed, starts=starts, quiet=True)


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    parser.add_argument(
        "agent", help="a name, a run's folder, sb3:PATH.zip, module:attribute, or recall: and one of these, with perfect recall"
    )
    add_variant_arguments(parser, players=4)
    parser.add_argument("--total-timesteps", type=at_least_one, default=2_000_000, help="decisions of the responder (%(default)s)")
    parser.add_argument("--starts", type=at_least_one, default=2400, help="starts of the measurement (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--responders", type=at_least_one, default=1, help="responders, trained with seeds of their own; the best one counts"
    )
    add_ray_argument(parser, "responders")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the responder, as an agent")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.lower_bound") -> int:
    """The command; returns its exit code."""
    parser = make_parser(prog)
    options = parser.parse_args(arguments)
    try:
        variant = variant_of(options)
        agent = load_agent(options.agent)
        check_agents({options.agent: agent}, variant)
        if options.save is not None:
            check_output(options.save / POLICY_FILE)
        with interruptible():
            if options.responders == 1 and options.ray is None:
                found = lower_bound(
                    agent, variant, options.total_timesteps, seed=options.seed, starts=options.starts, quiet=no_bar()
                )
            else:
                with executor(ray=options.ray) as pool:
                    found = best_lower_bound(
                        options.agent,
                        variant,
                        options.total_timesteps,
                        options.responders,
                        pool,
                        seed=options.seed,
                        starts=options.starts,
                    )
    except ValueError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"--save: the responder can't be written to {options.save}: {error}")
    except KeyboardInterrupt:
        print("interrupted: nothing is kept of it", file=sys.stderr)
        return 130
    unit = "payoff in -1..1" if variant.players == 2 else "chance of winning"
    if options.json:
        about = {"agent": options.agent, "variant": variant.name, "timesteps": found.timesteps, "unit": unit, "about": provenance()}
        bound = {"gain": found.gain._asdict(), "lower_bound": found.lower_bound}
        print(json.dumps({**about, "value": found.value._asdict(), "own": found.own, **bound}))
    else:
        print(f"{options.agent} in {variant}: a responder trained on {found.timesteps:,} decisions reaches {found.value} ({unit})")
        if found.lower_bound > 0:
            conclusion = f"so a best response gains at least {found.lower_bound:.4f} (95 %), lower bound"
        else:
            conclusion = "so no gain was found (lower bound 0); a best response may gain all the same"
        most = "at most " * (variant.players > 2 and game_of(variant).can_end_undecided)
        print(f"the agent itself has {most}{found.own:.4f}; {conclusion}")
    if options.save is not None:
        try:
            options.save.mkdir(parents=True, exist_ok=True)
            save_network(options.save / POLICY_FILE, found.responder)
        except (OSError, SafetensorError) as error:
            print(f"error: the responder can't be written to {options.save}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    leave(main())
