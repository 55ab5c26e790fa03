"""Policy gradients without noise: the exact gradient of every role's own value by its logits, in every position.

What sampled policy gradients estimate, each position as if the game began there (exploring starts), with the gradient of the
entropy beside it. Simultaneous gradients need not come to an equilibrium; entropy is what holds them.
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
class PolicyGradientConfig(GentleConfig):
    """Every option of a run."""

    step: float = option(4.0, "how far an iteration goes along the gradient, at the start", over=0, most=1e9)
    step_end: float = option(1.0, "and at the end, geometric in between", over=0, most=1e9)
    ent_coef: float = option(0.1, "entropy coefficient at the start", over=0, most=1e9)
    ent_coef_end: float = option(0.005, "and at the end, geometric in between", over=0, most=1e9)


class PolicyGradient(Learner):
    """Keeps logits."""

    def make_stores(self) -> None:
        """See `Learner`."""
        self.logits = self.store("policy", of_policy=True)

    def learn(self, iteration: int, rng: np.random.Generator) -> dict[str, float]:
        """See `Learner`."""
        options, legal = self.options, self.graph.legal
        step, entropy = options.at(iteration, "step"), options.at(iteration, "ent_coef")
        logits = centred(self.logits.read(), legal)
        policy = softmax(logits, legal)
        pays = self.graph.go_back(policy)[1] - entropy * np.log(np.maximum(policy, 1e-300))
        gradient = policy * (pays - (policy * pays).sum(axis=2, keepdims=True))
        self.logits.write(centred(logits + step * gradient, legal), self.met(policy), rng)
        return {"step": step, "entropy": entropy}


RECIPE = recipe_of("train.exact.policy_gradient", PolicyGradientConfig, PolicyGradient, "the last policy")


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    return run.make_parser(RECIPE, __doc__ or "", prog)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m train.exact.policy_gradient") -> None:
    """Run the command."""
    run.command(RECIPE, make_parser(prog), arguments)


if __name__ == "__main__":
    main()
