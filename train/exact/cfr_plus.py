"""CFR+ in every position: regret matching on the exact values of all actions, and an average that weighs later policies more.

Each position is a game of its own whose outcomes are the values of the positions that follow, so regrets need no weights by reach.
With two players the average comes to an equilibrium (Tammelin, arXiv 1407.5042). With more it need not, and here it does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import run
from ..recipe import option
from .stores import Numbers, softmax
from .study import Config, Learner, recipe_of


@dataclass(frozen=True)
class CFRPlusConfig(Config):
    """Every option of a run."""

    power: float = option(2.0, "of its number, by which the policy of an iteration is weighted in the average", least=0, most=1e3)


class CFRPlus(Learner):
    """Keeps regrets, and the average policy as logits."""

    def make_stores(self) -> None:
        """See `Learner`."""
        self.regrets = self.store("regrets", of_policy=False)
        self.average = self.store("policy", of_policy=True)

    def learn(self, iteration: int, rng: np.random.Generator) -> dict[str, float]:
        """See `Learner`."""
        graph = self.graph
        regrets = np.maximum(self.regrets.read(), 0) * graph.legal
        policy = matched(regrets, graph.uniform_policy())
        values, action_values = graph.go_back(policy)
        met = self.met(policy)
        self.regrets.write(np.maximum(regrets + (action_values - values[:-1, :, None]) * graph.legal, 0), met, rng)
        average = softmax(self.average.read(), graph.legal)
        power = self.options.power
        average += (power + 1) / (power + iteration) * (policy - average)
        self.average.write(np.log(np.maximum(average, 1e-12)), met, rng)
        return {}


def matched(regrets: Numbers, otherwise: Numbers) -> Numbers:
    """Regret matching: actions in proportion to their regrets, `[N, P, A]`, or another policy where there are none."""
    total = regrets.sum(axis=2, keepdims=True)
    return np.where(total > 0, regrets / np.maximum(total, 1e-300), otherwise)


RECIPE = recipe_of("train.exact.cfr_plus", CFRPlusConfig, CFRPlus, "the average policy")


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    return run.make_parser(RECIPE, __doc__ or "", prog)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m train.exact.cfr_plus") -> None:
    """Run the command."""
    run.command(RECIPE, make_parser(prog), arguments)


if __name__ == "__main__":
    main()
