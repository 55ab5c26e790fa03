"""The callback for self-play over a `SingleAgentVecEnv`: opponents."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from getbit_env.agent_registry import check_agents
from getbit_env.core.agent import Agent
from getbit_env.core.choices import choice
from getbit_env.game_registry import game_of
from getbit_env.network import TrainedPolicy, load_network, save_network
from getbit_env.sb3.evaluation import loaded
from getbit_env.sb3.models import network_of
from getbit_env.single_agent.cohorts import Cohorts

# --- opponents ---------------------------------------------------------------------------------------------------------------


@dataclass
class Past:
    """A past self, and how the learner did against it lately."""

    name: str  # of its file in the pool's folder
    win_rate: float = 0.5
    agent: TrainedPolicy | None = None  # loaded when first needed


def _latest(past: Sequence[Past], rng: np.random.Generator) -> Past:  # noqa: ARG001 - all rules take the same
    return past[-1]


def _uniform(past: Sequence[Past], rng: np.random.Generator) -> Past:
    return past[int(rng.integers(len(past)))]


def _prioritised(past: Sequence[Past], rng: np.random.Generator) -> Past:
    weight = np.array([(1 - p.win_rate) ** 2 + 1e-3 for p in past])
    return past[int(rng.choice(len(past), p=weight / weight.sum()))]


class PastSampling(StrEnum):
    """Which past selves a pool seats."""

    LATEST = "latest"
    UNIFORM = "uniform"
    PRIORITISED = "prioritised"  # those that the learner does not beat yet


SAMPLING: dict[PastSampling, Callable[[Sequence[Past], np.random.Generator], Past]] = {
    PastSampling.LATEST: _latest,
    PastSampling.UNIFORM: _uniform,
    PastSampling.PRIORITISED: _prioritised,
}
LATEST = "latest"  # name of the learner itself in `OpponentPool.results`


class _GameResult(NamedTuple):
    """What came of a game of the learner."""

    opponents: str  # their name
    win: float
    length: int  # decisions of the learner


class Groups(NamedTuple):
    """How many groups of opponents are of which kind."""

    latest: int
    past: int
    bots: int

    @classmethod
    def of(cls, opponent_groups: int, latest_share: float, bot_share: float) -> Groups:
        """Round the shares; where bots leave room, a group at least is the learner as it is."""
        bots = round(opponent_groups * bot_share)
        latest = min(max(round(opponent_groups * latest_share), 1), opponent_groups - bots)
        return cls(latest, opponent_groups - bots - latest, bots)


class OpponentPool(BaseCallback):
    """Seats opponents around the learner for every rollout: itself as it is now, past selves, and bots. Takes the snapshots.

    Attributes:
        past: the past selves, the oldest first.
        rollouts: how many there were.
        results: wins of the learner (1.0, 0.0, or a share of a shared first place) by the name of the opponents, in the games of
            those earlier rollouts whose last game ended in the last rollout (`Cohorts` says why). Empty where no rollout is
            complete yet.
        lengths: decisions of the learner in the same games.

    Examples:
        >>> from sb3_contrib import MaskablePPO
        >>> from getbit_env.sb3 import GetBitVecEnv, OpponentPool
        >>> model = MaskablePPO("MlpPolicy", GetBitVecEnv(8, "random", seed=0), n_steps=16, seed=0, device="cpu")
        >>> pool = OpponentPool("runs/pool", opponent_groups=4, snapshot_freq=1)
        >>> _ = model.learn(256, callback=pool)
        >>> print(pool.rollouts, "rollouts,", len(pool.past), "past selves")
        2 rollouts, 2 past selves
    """

    folder: Path
    opponent_groups: int
    seed: int
    pool_size: int
    snapshot_freq: int
    groups: Groups
    rollouts: int
    model: Any  # SB3 types it as the base of all algorithms

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        opponent_groups: int = 8,
        latest_share: float = 0.4,
        bots: Sequence[str] | None = None,
        bot_share: float = 0.3,
        sampling: PastSampling | str = PastSampling.UNIFORM,
        pool_size: int = 30,
        snapshot_freq: int = 8,
        seed: int = 0,
    ) -> None:
        """Set the pool.

        Args:
            folder: for the weights of past selves.
            opponent_groups: groups of opponents at a time, each with an equal number of the games.
            latest_share: share of the groups that are the policy as of this rollout.
            bots: names of agents that stay in the pool, by default the `default_opponents` of the game.
            bot_share: share of the groups that are bots; the rest are past selves.
            sampling: which past selves.
            pool_size: past selves kept; older ones are thinned out.
            snapshot_freq: rollouts between snapshots.
            seed: of what is drawn.

        Raises:
            ValueError: an argument has a value that is not allowed.
        """
        super().__init__()
        self._sample = SAMPLING[choice(PastSampling, "sampling", sampling)]
        if not (latest_share >= 0 and bot_share >= 0 and latest_share + bot_share <= 1):
            raise ValueError(f"latest_share and bot_share are shares that add up to 1 at most, not {latest_share} and {bot_share}")
        if bot_share > 0 and bots is not None and not bots:
            raise ValueError("bot_share is over 0, but there are no bots")
        counts = {"opponent_groups": opponent_groups, "pool_size": pool_size, "snapshot_freq": snapshot_freq}
        for option, value in counts.items():
            _check_count(option, value)
        self.folder, self.opponent_groups, self.seed = Path(folder), opponent_groups, seed
        self.pool_size, self.snapshot_freq = pool_size, snapshot_freq
        self.groups = Groups.of(opponent_groups, latest_share, bot_share)
        self._bots = None if bots is None else loaded(bots)
        self.past: list[Past] = []
        self.rollouts = 0
        self.results: dict[str, list[float]] = defaultdict(list)
        self.lengths: list[int] = []
        self._cohorts: Cohorts[_GameResult] = Cohorts()
        self._sits: dict[int, tuple[int, str]] = {}  # of the opponents of this number: their rollout, as `Cohorts` counts, and name
        self._seated = False

    def seat_opponents(self) -> None:
        """Choose the opponents of the next rollout; a snapshot of the learner is taken first when it is time."""
        self._seated = True
        if self.rollouts % self.snapshot_freq == 0:
            self._take_snapshot()
        rng = np.random.default_rng([self.seed, self.rollouts])
        chosen: list[tuple[str, Agent]] = [(LATEST, network_of(self.model, LATEST))] * self.groups.latest
        for _ in range(self.groups.past):
            past = self._sample(self.past, rng)
            past.agent = past.agent or load_network(self._file(past.name), past.name)
            chosen.append((past.name, past.agent))
        bots = list((self._bots or {}).items())
        chosen += [bots[int(rng.integers(len(bots)))] for _ in range(self.groups.bots)]
        numbers = self.model.env.env_method("set_opponent_groups", [agent for _, agent in chosen], indices=[0])[0]
        rollout = self._cohorts.begin()
        self._sits = {number: sits for number, sits in self._sits.items() if sits[0] in self._cohorts.awaited}
        self._sits |= {number: (rollout, name) for number, (name, _) in zip(numbers, chosen, strict=True)}

    def state(self) -> dict[str, Any]:
        """Where the pool is, for JSON; the weights of past selves are in its folder."""
        return {"rollouts": self.rollouts, "past": [[past.name, past.win_rate] for past in self.past]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go to what `state` returned.

        Raises:
            ValueError: it is none, or the weights of a past self are missing.
        """
        rollouts, past = state.get("rollouts"), state.get("past")
        if type(rollouts) is not int or rollouts < 0 or not isinstance(past, list):
            raise ValueError(f"no state of a pool: rollouts {rollouts!r:.80}, past {past!r:.80}")
        for one in past:
            if not (
                isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and one[0].isdecimal() and type(one[1]) is float
            ):
                raise ValueError(f"no past self of a pool: {one!r:.80}")
            if not self._file(one[0]).exists():
                raise ValueError(f"past self {self._file(one[0])} is missing")
        self.rollouts, self.past = rollouts, [Past(name, rate) for name, rate in past]

    @staticmethod
    def check_bot_name(name: str) -> None:
        """Refuse a bot whose name means something else in the results.

        Raises:
            ValueError: the name is that of the learner or of a past self.
        """
        if name == LATEST or name.isdecimal():
            raise ValueError(
                f"a bot of a pool can't be called {name!r}, as the learner or a past self is; write ./{name} for a folder"
            )

    def _init_callback(self) -> None:
        """Refuse bots that can't play the learner's game, before training begins."""
        variant = network_of(self.model).variant
        if self._bots is None:
            self._bots = loaded(game_of(variant).default_opponents) if self.groups.bots else {}
        for name in self._bots:
            self.check_bot_name(name)
        check_agents(self._bots, variant)
        games = self.model.env.num_envs
        if games % self.opponent_groups:
            raise ValueError(f"{games} games can't be shared equally by opponent_groups={self.opponent_groups}")

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
            if result["opponents"] in self._sits:  # else others than those of this pool began the game
                rollout, name = self._sits[result["opponents"]]
                self._cohorts.add(rollout, _GameResult(name, result["win"], result["length"]))
        return True

    def _on_rollout_end(self) -> None:
        playing = Counter(self._sits[number][0] for number in self.model.env.get_attr("opponents") if number in self._sits)
        for result in self._cohorts.end(playing):
            self.results[result.opponents].append(result.win)
            self.lengths.append(result.length)
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
        if len(self.past) > self.pool_size:  # every second one of the older half goes
            half = len(self.past) // 2
            self.past = self.past[:half:2] + self.past[half:]

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"


def _check_count(option: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{option} is a whole number from 1 on, not {value!r}")
