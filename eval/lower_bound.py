"""How much a trained opponent gains on an agent: a lower bound of what a best response would gain, where that can't be computed.

    python -m eval.lower_bound counter --players 3
    python -m eval.lower_bound runs/first --variant 4p-memory --frames 4000000

For games that are too large for `eval.exploitability`, and for agents that it refuses: with memory, other observations, or slow.
MaskablePPO plays one seat against the frozen agent in all others, and sees what the agent sees; the best of its policies is then
measured on lines that it was not chosen by. No figure of this command is an upper bound: an agent can be worse than it says.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# Before NumPy and torch are imported: small networks run slower on two threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from sb3_contrib import MaskablePPO
from tqdm import tqdm

from getbit_env.agent import Agent
from getbit_env.get_bit.observations import Options
from getbit_env.get_bit.variants import Variant, parse_variant, standard_variant
from getbit_env.loading import load_agent
from getbit_env.match import Estimate, play_match
from getbit_env.network import FILE, NetworkAgent, save_network
from getbit_env.provenance import provenance
from getbit_env.sb3 import GetBitVecEnv, network_of

GAMES, ROLLOUT = 256, 32


class LowerBound(NamedTuple):
    """What a trained responder reaches in one seat against the agent in all others, mean over seats and starting lines.

    Two players: payoffs in -1..1. More: chances of winning. `own` is what the agent itself would have there, by symmetry.
    """

    value: Estimate
    own: float
    responder: NetworkAgent
    frames: int

    @property
    def gain(self) -> Estimate:
        """What the responder gains over the agent itself; `low` is the lower bound, with 95 % confidence."""
        mean, low, high = self.value
        return Estimate(mean - self.own, (mean if low is None else low) - self.own, (mean if high is None else high) - self.own)


def lower_bound(
    agent: Agent,
    variant: Variant,
    frames: int,
    *,
    seed: int = 0,
    lines: int = 2400,
    network: Sequence[int] = (128, 128),
    quiet: bool = False,
) -> LowerBound:
    """Train a responder and measure it.

    Args:
        agent: to respond to; it sits in all seats but one.
        variant: the game.
        frames: decisions to train on.
        seed: of everything.
        lines: starting lines of the measurement, each in every rotation of the seats.
        network: widths of the responder's tanh layers.
        quiet: no progress bar.

    Returns:
        The best of the policies that were tried on the way, measured on lines that it was not chosen by.
    """
    torch.set_num_threads(1)
    options = getattr(agent, "options", None) or Options()
    env = GetBitVecEnv(
        GAMES, agent, variant=variant, seed=seed, observe_last=options.last, identity=options.identity, history=options.history
    )
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=ROLLOUT,
        batch_size=2048,
        n_epochs=4,
        gamma=1.0,
        ent_coef=0.01,
        policy_kwargs={"net_arch": list(network), "activation_fn": torch.nn.Tanh},
        seed=seed,
        device="cpu",
    )

    def measure(responder: NetworkAgent, lines: int, seed: int) -> Estimate:
        standing = play_match([responder, *[agent] * (variant.players - 1)], variant, lines=lines, seed=seed)[responder.name]
        return standing.payoff if variant.players == 2 else standing.win

    best, score = network_of(model, "responder"), -float("inf")
    rollouts = max(1, round(frames / (GAMES * ROLLOUT)))
    with tqdm(
        total=rollouts * GAMES * ROLLOUT, unit="frame", unit_scale=True, mininterval=1, disable=quiet, file=sys.stderr
    ) as bar:
        for rollout in range(1, rollouts + 1):
            model.learning_rate = 1e-3 + (1e-4 - 1e-3) * rollout / rollouts
            model._setup_lr_schedule()
            model.learn(GAMES * ROLLOUT, reset_num_timesteps=False)
            bar.update(GAMES * ROLLOUT)
            if rollout % 8 == 0 or rollout == rollouts:
                candidate = network_of(model, "responder")
                reached = measure(candidate, lines // 4, seed).mean
                bar.set_postfix(reached=f"{reached:.3f}")
                if reached > score:
                    best, score = candidate, reached
    own = 0.0 if variant.players == 2 else 1 / variant.players
    return LowerBound(measure(best, lines, seed + 1), own, best, model.num_timesteps)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m eval.lower_bound", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("agent", help="a name, the folder of a run, or module:attribute")
    parser.add_argument("--players", type=int, default=4, help="the standard game for so many (%(default)s)")
    parser.add_argument("--variant", help="a variant by name, such as 4p-memory, in place of --players")
    parser.add_argument("--frames", type=int, default=2_000_000, help="decisions to train the responder on (%(default)s)")
    parser.add_argument("--lines", type=int, default=2400, help="starting lines of the measurement (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the responder, as an agent")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        variant = parse_variant(options.variant) if options.variant else standard_variant(options.players)
        found = lower_bound(load_agent(options.agent), variant, options.frames, seed=options.seed, lines=options.lines)
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print("interrupted: nothing is kept of it", file=sys.stderr)
        return 130
    if options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
        save_network(options.save / FILE, found.responder)
    unit = "payoff in -1..1" if variant.players == 2 else "chance of winning"
    if options.json:
        about = {"agent": options.agent, "variant": variant.name, "frames": found.frames, "unit": unit, "about": provenance()}
        print(json.dumps({**about, "value": found.value._asdict(), "own": found.own, "gain_lower_bound": found.gain._asdict()}))
    else:
        print(f"{options.agent} in {variant}: a responder trained on {found.frames:,} decisions reaches {found.value} ({unit})")
        print(f"the agent itself has {found.own:.4f}; so a best response gains at least {found.gain.low:.4f} (95 %), lower bound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
