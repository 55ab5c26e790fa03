"""Callbacks for self-play over a `GetBitVecEnv`: who sits around the learner, and how well it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from getbit_env.agent_registry import load_agent
from getbit_env.core.agent import Agent
from getbit_env.match import MatchResult, play_match
from getbit_env.network import NetworkAgent, load_network, save_network


def network_of(model: Any, name: str = "learner") -> NetworkAgent:
    """The policy of an SB3 model as it is now, as an agent that plays without torch.

    Args:
        model: an on-policy algorithm with an `MlpPolicy` of tanh layers, whose environment is a `GetBitVecEnv`, wrapped or not.
        name: what to call the agent.

    Raises:
        ValueError: the policy has other layers.
    """
    layout = model.env.get_attr("layout", indices=[0])[0]
    modules = list(model.policy.mlp_extractor.policy_net)
    linear = [module for module in modules if isinstance(module, torch.nn.Linear)]
    if any(not isinstance(module, torch.nn.Linear | torch.nn.Tanh) for module in modules):
        raise ValueError(f"a policy of linear and tanh layers can be played with NumPy, not {modules}")
    layers = [(one.weight.detach().numpy().copy(), one.bias.detach().numpy().copy()) for one in [*linear, model.policy.action_net]]
    return NetworkAgent(layers, layout.variant, layout.options, name=name, about={"frames": str(model.num_timesteps)})


@dataclass
class Past:
    """A past self, and how the learner did at its table lately."""

    name: str  # of its file in the pool's folder
    win_rate: float = 0.5
    agent: NetworkAgent | None = None  # loaded when first needed


def _latest(past: Sequence[Past], rng: np.random.Generator) -> Past:  # noqa: ARG001 - all rules take the same
    return past[-1]


def _uniform(past: Sequence[Past], rng: np.random.Generator) -> Past:
    return past[int(rng.integers(len(past)))]


def _prioritised(past: Sequence[Past], rng: np.random.Generator) -> Past:
    weight = np.array([(1 - p.win_rate) ** 2 + 1e-3 for p in past])
    return past[int(rng.choice(len(past), p=weight / weight.sum()))]


SAMPLING = {"latest": _latest, "uniform": _uniform, "prioritised": _prioritised}


class OpponentPool(BaseCallback):
    """Seats opponents around the learner for every rollout: itself as it is now, past selves, and bots. Takes the snapshots.

    Attributes:
        past: the past selves, the oldest first.
        rollouts: how many there were.
        results: of the last rollout, wins (1.0 or 0.0) of the learner by the name of the opponents.
        lengths: of the last rollout, rounds of the learner's games.
    """

    model: Any  # SB3 types it as the base of all algorithms

    def __init__(
        self,
        folder: Path,
        *,
        groups: int = 8,
        latest: float = 0.4,
        bots: Sequence[str] = ("random", "lowest", "highest", "counter"),
        bot_share: float = 0.3,
        sampling: str = "uniform",
        size: int = 30,
        every: int = 8,
        seed: int = 0,
    ) -> None:
        """Set the pool.

        Args:
            folder: for the weights of past selves.
            groups: groups of opponents at a time, each with an equal number of the games.
            latest: share of the groups that are the policy as of this rollout.
            bots: names of agents that stay in the pool.
            bot_share: share of the groups that are bots; the rest are past selves.
            sampling: which past selves: one of `SAMPLING`.
            size: past selves kept; older ones are thinned out.
            every: rollouts between snapshots.
            seed: of what is drawn.

        Raises:
            ValueError: a share is negative or both are over 1 together, there are no bots for theirs, or no such sampling.
        """
        super().__init__()
        if sampling not in SAMPLING:
            raise ValueError(f"sampling is one of {', '.join(SAMPLING)}, not {sampling}")
        if min(latest, bot_share) < 0 or latest + bot_share > 1:
            raise ValueError(f"latest and bot_share are shares that add up to 1 at most, not {latest} and {bot_share}")
        if bot_share > 0 and not bots:
            raise ValueError("bot_share is over 0, but there are no bots")
        self.folder, self.groups, self.size, self.every, self.seed = folder, groups, size, every, seed
        self.bot_groups = round(groups * bot_share)
        self.latest_groups = min(max(round(groups * latest), 1), groups - self.bot_groups)
        self._sample = SAMPLING[sampling]
        self._bots = {name: load_agent(name) for name in bots}
        self.past: list[Past] = []
        self.rollouts = 0
        self.results: dict[str, list[float]] = defaultdict(list)
        self.lengths: list[int] = []
        self._sits: dict[int, str] = {}  # name of the opponents of this number
        self._seated = False

    def seat_opponents(self) -> None:
        """Choose who sits around the learner in the next rollout; a snapshot of the learner is taken first when it is time."""
        self._seated = True
        if self.rollouts % self.every == 0:
            self._take_snapshot()
        rng = np.random.default_rng([self.seed, self.rollouts])
        chosen: list[tuple[str, Agent]] = [("latest", network_of(self.model, "latest"))] * self.latest_groups
        while len(chosen) < self.groups - self.bot_groups:
            past = self._sample(self.past, rng)
            past.agent = past.agent or load_network(self._file(past.name), past.name)
            chosen.append((past.name, past.agent))
        chosen += [list(self._bots.items())[int(rng.integers(len(self._bots)))] for _ in range(self.bot_groups)]
        numbers = self.model.env.env_method("set_opponent_groups", [agent for _, agent in chosen], indices=[0])[0]
        known = {number: name for number, name in self._sits.items() if number >= numbers[0] - 8 * self.groups}
        self._sits = known | dict(zip(numbers, (name for name, _ in chosen), strict=True))

    def _on_rollout_start(self) -> None:
        if not self._seated:
            self.seat_opponents()
        self._seated = False
        self.results.clear()
        self.lengths.clear()

    def _on_step(self) -> bool:
        infos = self.locals["infos"]
        for game in np.flatnonzero(self.locals["dones"]):
            result = infos[game]["game"]
            self.results[self._sits.get(result["opponents"], "earlier")].append(result["win"])
            self.lengths.append(infos[game]["episode"]["l"])
        return True

    def _on_rollout_end(self) -> None:
        for past in self.past:
            wins = self.results.get(past.name)
            if wins:
                past.win_rate += 0.3 * (float(np.mean(wins)) - past.win_rate)
        self.rollouts += 1

    def _take_snapshot(self) -> None:
        name = f"{self.rollouts:06d}"
        self.folder.mkdir(parents=True, exist_ok=True)
        save_network(self._file(name), network_of(self.model, name))
        self.past.append(Past(name))
        if len(self.past) > self.size:  # every second one of the older half goes
            half = len(self.past) // 2
            self.past = self.past[:half:2] + self.past[half:]

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"


class WinRate(BaseCallback):
    """Every so many rollouts, plays the policy against some opponents, every start in every rotation of the seats.

    Attributes:
        results: of the last evaluation, by the name of who sat around the policy.
        score: mean of the win rates of the last evaluation.
        best: of all evaluations.
        rollouts: how many there were.
    """

    model: Any  # SB3 types it as the base of all algorithms

    def __init__(
        self,
        tables: Sequence[str] = ("random", "lowest", "highest", "counter"),
        *,
        every: int = 32,
        starts: int = 480,
        seed: int = 0,
        save_best: Path | None = None,
    ) -> None:
        """Set the tables.

        Args:
            tables: names of agents; each in turn sits in all seats but the policy's.
            every: rollouts between evaluations.
            starts: starts of each table.
            seed: of starts and agents.
            save_best: file for the best policy so far.
        """
        super().__init__()
        self.tables, self.every, self.starts, self.seed, self.save_best = tables, every, starts, seed, save_best
        self.results: dict[str, MatchResult] = {}
        self.score, self.best = -1.0, -1.0
        self.rollouts = 0

    def evaluate(self) -> None:
        """Play the tables, log the win rates, and keep the policy if its score is the best so far."""
        agent = network_of(self.model)
        others = agent.variant.players - 1
        for name in self.tables:
            line_up: list[Agent | str] = [agent, *[name] * others]
            self.results[name] = play_match(line_up, agent.variant, starts=self.starts, seed=self.seed)
            self.logger.record(f"evaluation/win_{name}", self.results[name][agent.name].win.mean)
        self.score = float(np.mean([result[agent.name].win.mean for result in self.results.values()]))
        if self.score > self.best:
            self.best = self.score
            if self.save_best is not None:
                agent.about["score"] = f"{self.score:.4f}"
                save_network(self.save_best, agent)

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.rollouts += 1
        if self.rollouts % self.every == 0:
            self.evaluate()
