"""Magnetic mirror descent in every position: a step towards better actions, held to a magnet that moves after it.

A step solves `max <policy, values> - strength KL(policy, magnet) - KL(policy, policy before) / step` in closed form
(arXiv 2206.05825). With a fixed uniform magnet it comes to the logit equilibrium of precision 1 / strength; with a magnet that is
brought up to the policy from time to time it goes on towards an equilibrium of the game itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import run
from ..recipe import option
from .stores import centred, softmax
from .study import GentleConfig, Learner, recipe_of


@dataclass(frozen=True)
class MirrorDescentConfig(GentleConfig):
    """Every option of a run."""

    step: float = option(2.0, "how far an iteration goes, at the start", over=0, most=1e9)
    step_end: float = option(0.2, "and at the end, geometric in between", over=0, most=1e9)
    strength: float = option(0.1, "of the magnet, at the start", over=0, most=1e9)
    strength_end: float = option(0.1, "and at the end, geometric in between", over=0, most=1e9)
    refresh_freq: int = option(20, "iterations after which the magnet is brought up to the policy; 0: it stays uniform", least=0)


class MirrorDescent(Learner):
    """Keeps logits of the policy and of the magnet."""

    def make_stores(self) -> None:
        """See `Learner`."""
        self.logits = self.store("policy", of_policy=True)
        self.magnet = self.store("magnet", of_policy=True) if self.options.refresh_freq else None

    def learn(self, iteration: int, rng: np.random.Generator) -> dict[str, float]:
        """See `Learner`."""
        options, legal = self.options, self.graph.legal
        step, strength = options.at(iteration, "step"), options.at(iteration, "strength")
        logits = centred(self.logits.read(), legal)
        policy = softmax(logits, legal)
        action_values = self.graph.go_back(policy)[1]
        held = 0 if self.magnet is None else centred(self.magnet.read(), legal)
        wanted = (logits + step * (centred(action_values, legal) + strength * held)) / (1 + step * strength)
        self.logits.write(wanted, self.met(policy), rng)
        if self.magnet is not None and iteration % options.refresh_freq == 0:
            self.magnet.load_state_dict(self.logits.state_dict())
        return {"step": step, "strength": strength}


RECIPE = recipe_of("train.exact.mirror_descent", MirrorDescentConfig, MirrorDescent, "the last policy")


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    return run.make_parser(RECIPE, __doc__ or "", prog)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m train.exact.mirror_descent") -> None:
    """Run the command."""
    run.command(RECIPE, make_parser(prog), arguments)


if __name__ == "__main__":
    main()
