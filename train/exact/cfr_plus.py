"""CFR+ in every position: regret matching on the exact values of all actions, and an average that weighs later policies more.

Each position is a game of its own whose outcomes are the values of the positions that follow, so regrets need no weights by reach.
The roles take turns: each regrets what it did not do against the newest policies of the others. All at once, they chase each other
through the rounds, and need several times the iterations. With two players the average comes to an equilibrium (Tammelin, arXiv
1407.5042). With more it need not.
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
        graph, legal = self.graph, self.graph.legal
        uniform = graph.uniform_policy()
        policy = matched(self._regrets(), uniform)
        for role in range(legal.shape[1]):
            values, action_values = graph.go_back(policy)
            regrets = self._regrets()
            regrets[:, role] += (action_values[:, role] - values[:-1, role, None]) * legal[:, role]
            self.regrets.write(np.maximum(regrets, 0), self.met(policy), rng)
            policy = matched(self._regrets(), uniform)
        average = softmax(self.average.read(), legal)
        power = self.options.power
        average += (power + 1) / (power + iteration) * (policy - average)
        self.average.write(np.log(np.maximum(average, 1e-12)), self.met(policy), rng)
        return {}

    def _regrets(self) -> Numbers:
        """What is regretted of legal actions, `[N, P, A]`; a network can say less than nothing."""
        return np.maximum(self.regrets.read(), 0) * self.graph.legal


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
