"""Callbacks that measure the learner while it trains: `WinRate` and `BenchmarkScore`; `exact_gain` has `ExactGain`.

They take every model that `getbit_env.as_agent` takes, in whatever way it is trained.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from stable_baselines3.common.callbacks import BaseCallback

from getbit_env.agent_registry import check_agents, load_agent
from getbit_env.benchmark.protocol import BUDGETS, SEED, TASKS, starts_of, tables_of
from getbit_env.benchmark.results import Status, TableResult, TaskResult, mean_of
from getbit_env.core.agent import Agent, SeatPlayer
from getbit_env.core.choices import did_you_mean, whole_number
from getbit_env.core.files import write_whole
from getbit_env.core.layouts import layout_of
from getbit_env.core.records import CsvRecord
from getbit_env.core.spec import Layout, Variant
from getbit_env.game_registry import game_of
from getbit_env.match import MatchResult, play_match
from getbit_env.match.statistics import Estimate
from getbit_env.network import save_network
from getbit_env.policies import as_agent
from getbit_env.sb3.models import network_of, normalization_of

COLUMNS = ("timesteps", "name", "value", "low", "high")
NETWORK, MODEL = ".safetensors", ".zip"  # endings of files that keep the best policy


class Figure(NamedTuple):
    """A number that was measured.

    Attributes:
        name: as TensorBoard and the CSV file call it.
        value: the number.
        low, high: the ends of its 95 % interval; the number itself if it is exact.
    """

    name: str
    value: float
    low: float
    high: float


def figure(name: str, value: float | Estimate) -> Figure:
    """The figure of an estimate, or of an exact number."""
    if isinstance(value, Estimate):
        low, high = (value.mean if end is None else end for end in (value.low, value.high))
        return Figure(name, value.mean, low, high)
    return Figure(name, value, value, value)


class Evaluation(BaseCallback):
    """Measures the learner at the end of a rollout, whenever `every` more decisions have been trained on.

    The figures are logged at the timestep at which they were measured: to the logger of the model, so to TensorBoard if the model
    has a `tensorboard_log`, and to a CSV file. A training that goes on (`learn(..., reset_num_timesteps=False)`) adds to the file,
    drops what was measured after the checkpoint from which it goes on, and knows the best so far.

    Attributes:
        figures: of the last evaluation.
        score: that of the last evaluation by which the best policy is chosen; NaN before the first.
        best: of all evaluations.

    Examples:
        >>> from getbit_env.match import play_match
        >>> from getbit_env.sb3 import Evaluation, Figure
        >>> class Places(Evaluation):
        ...     judged_by, higher_is_better = "eval/last", False
        ...
        ...     def measure(self, agent, variant):
        ...         last = play_match([agent, "random", "random", "random"], variant, starts=24)[0].places[-1]
        ...         return [Figure("eval/last", last, last, last)]
        >>> callback = Places(every=100_000)  # for model.learn(..., callback=callback)
    """

    every: int
    csv: Path | None
    save_best: Path | None
    score: float
    best: float
    model: Any  # SB3 types it as the base of all algorithms
    judged_by: str  # name of the figure that is the score
    higher_is_better: ClassVar[bool] = True

    def __init__(
        self,
        *,
        every: int,
        csv: str | os.PathLike[str] | None = None,
        save_best: str | os.PathLike[str] | None = None,
        deterministic: bool = False,
    ) -> None:
        """Set when it measures, and what it keeps.

        Args:
            every: decisions between evaluations.
            csv: file for all figures, a row for each: timesteps, name, value, and the ends of its interval. Several callbacks can
                have the same one.
            save_best: file for the best policy so far: `*.zip`, the model with its `VecNormalize` beside it, as `load_agent` takes
                it; or `*.safetensors`, which plays without torch, of a policy that `network_of` takes.
            deterministic: measures the policy that plays its likeliest action.

        Raises:
            ValueError: an argument has a value that is not allowed.
        """
        super().__init__()
        self.every = whole_number("every", every, 1)
        self.csv = None if csv is None else Path(csv)
        self.save_best = None if save_best is None else Path(save_best)
        if self.save_best is not None and self.save_best.suffix not in (NETWORK, MODEL):
            raise ValueError(f"save_best is a file *{MODEL} or *{NETWORK}, not {save_best}")
        if self.save_best is not None and self.save_best.suffix == NETWORK and deterministic:
            raise ValueError(
                f"a policy in a file *{NETWORK} draws its actions: give save_best a file *{MODEL}, or no deterministic"
            )
        self.deterministic = deterministic
        self.figures: list[Figure] = []
        self.score = self.best = math.nan
        self._record: CsvRecord | None = None
        self._before = 0  # timesteps when it was last asked whether it is time

    def evaluate(self) -> None:
        """Measure the policy as it is, log the figures, and keep the policy if it is the best so far.

        Raises:
            RuntimeError: there is nothing to measure, since somebody could not play.
        """
        agent = self.agent()
        self.figures = self.measure(agent, layout_of(self.model.env).variant)
        self.score = next(one.value for one in self.figures if one.name == self.judged_by)
        for one in self.figures:
            self.logger.record(one.name, one.value)
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)
        if self._is_better(self.score):
            self.best = self.score
            self._save()
        if self._record is not None:  # last, so that a best policy that is on record has been kept
            self._record.append([dict(zip(COLUMNS, (self.num_timesteps, *one), strict=True)) for one in self.figures])

    def agent(self) -> SeatPlayer:
        """The learner as it is now."""
        return as_agent(self.model, deterministic=self.deterministic, name="learner")

    def check(self, agent: SeatPlayer, layout: Layout) -> None:
        """Refuse a learner that can't be measured, before training begins.

        Raises:
            ValueError: with the reason.
        """

    def measure(self, agent: SeatPlayer, variant: Variant) -> list[Figure]:
        """Measure a policy; one of the figures is called `judged_by`."""
        raise NotImplementedError

    def _init_callback(self) -> None:
        agent = self.agent()
        if self.save_best is not None and self.save_best.suffix == NETWORK:
            network_of(self.model)
        self.check(agent, layout_of(self.model.env))
        now = self._before = int(self.model.num_timesteps)
        if self.csv is None:
            return
        _check_record(self.csv)
        with self.csv.open(encoding="utf-8") if self.csv.exists() else open(os.devnull, encoding="utf-8") as file:
            if now == 0 and sum(1 for _ in file) > 1:
                raise ValueError(
                    f"{self.csv} holds figures of a training before this one: give csv another name, delete it, or go on with that "
                    "training, learn(..., reset_num_timesteps=False)"
                )
        self._record = CsvRecord(self.csv, now)
        self.best = math.nan  # it is on record, unless it was measured after the checkpoint from which the training goes on
        for row in self._record.rows:
            if row["name"] == self.judged_by and self._is_better(float(row["value"])):
                self.best = float(row["value"])

    def _is_better(self, score: float) -> bool:
        return math.isnan(self.best) or (score > self.best if self.higher_is_better else score < self.best)

    def _save(self) -> None:
        """Keep the policy as the best. Each file is whole at any moment."""
        if self.save_best is None:
            return
        if self.save_best.suffix == NETWORK:
            network = network_of(self.model)
            network.about["score"] = f"{self.score:.4f}"
            save_network(self.save_best, network)
            return
        if (normalize := normalization_of(self.model.env)) is not None:
            beside = self.save_best.with_name(f"{self.save_best.stem}_vecnormalize.pkl")
            write_whole(beside, lambda part: normalize.save(str(part)))
        write_whole(self.save_best, lambda part: self.model.save(part))

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        due = self.num_timesteps // self.every > self._before // self.every
        self._before = self.num_timesteps
        if due:
            self.evaluate()


def _check_record(path: Path) -> None:
    """Refuse a file that holds something else, before anything is dropped from it.

    Raises:
        ValueError: it is no record of figures.
    """
    head = ",".join(COLUMNS)
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline().rstrip("\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise ValueError(f"csv {path} can't be read: {error.strerror}") from error
    if not head.startswith(first):  # a crash can have torn it
        raise ValueError(f"csv {path} holds something else than figures, whose first line is {head}: give another name")


class WinRate(Evaluation):
    """Plays the policy against some opponents, every start in every rotation of the seats.

    Its score is `eval/win`, the mean of the win rates.

    Attributes:
        results: of the last evaluation, by the name of the opponents.

    Examples:
        >>> from sb3_contrib import MaskablePPO
        >>> from getbit_env.sb3 import GetBitVecEnv, WinRate
        >>> model = MaskablePPO("MlpPolicy", GetBitVecEnv(8, "random", seed=0), n_steps=32, seed=0, device="cpu")
        >>> win_rate = WinRate(["random", "lowest"], every=256, starts=24)
        >>> _ = model.learn(256, callback=win_rate)
        >>> print([figure.name for figure in win_rate.figures])
        ['eval/win', 'eval/win_random', 'eval/win_lowest']
    """

    starts: int
    seed: int
    judged_by = "eval/win"

    def __init__(
        self,
        opponents: Sequence[str] | None = None,
        *,
        every: int = 200_000,
        starts: int = 480,
        seed: int = 0,
        csv: str | os.PathLike[str] | None = None,
        save_best: str | os.PathLike[str] | None = None,
        deterministic: bool = False,
    ) -> None:
        """Name the opponents.

        Args:
            opponents: names of agents, by default the `default_opponents` of the game; each in turn has all seats but the policy's.
            every: see `Evaluation`.
            starts: starts against each of them.
            seed: of starts and agents.
            csv: see `Evaluation`.
            save_best: see `Evaluation`.
            deterministic: see `Evaluation`.

        Raises:
            ValueError: an argument has a value that is not allowed.
        """
        super().__init__(every=every, csv=csv, save_best=save_best, deterministic=deterministic)
        if opponents is not None and not opponents:
            raise ValueError("opponents names at least one agent")
        self._opponents = None if opponents is None else loaded(opponents)
        self.starts, self.seed = starts, seed
        self.results: dict[str, MatchResult] = {}

    def check(self, agent: SeatPlayer, layout: Layout) -> None:  # noqa: ARG002 - see `Evaluation`
        """See `Evaluation`."""
        if self._opponents is None:
            self._opponents = loaded(game_of(layout.variant).default_opponents)
        check_agents(self._opponents, layout.variant)

    def measure(self, agent: SeatPlayer, variant: Variant) -> list[Figure]:
        """See `Evaluation`.

        Raises:
            RuntimeError: an opponent failed, so that there is nothing to measure.
        """
        others, results = variant.players - 1, dict[str, MatchResult]()
        for name in self._opponents or {}:
            line_up: list[Agent | str] = [agent, *[name] * others]
            results[name] = play_match(line_up, variant, starts=self.starts, seed=self.seed)
            if (failure := results[name].failure) is not None:
                raise RuntimeError(f"no evaluation against {name}: {failure.agent} failed: {failure.reason}")
        self.results = results
        won = {name: result[0].win for name, result in results.items()}
        mean = mean_of(list(won.values()))  # all play the same starts, so their errors may have one sign
        return [figure(self.judged_by, mean), *(figure(f"eval/win_{name}", win) for name, win in won.items())]


SCORES: dict[str, Callable[[TaskResult], Estimate | None]] = {
    "win": lambda result: result.win,
    "payoff": lambda result: result.payoff,
    "worst_win": lambda result: result.worst.value if result.worst else None,
    "mixed_win": lambda result: result.mixed_win,
}


class BenchmarkScore(Evaluation):
    """Plays the benchmark's task of the learner's variant (`docs/benchmark.md`): every table, as the command plays it.

    Its figures are `eval/benchmark_win`, `_payoff`, `_worst_win`, `_mixed_win` (of three players or more), and the wins at the
    table of each bot, `eval/benchmark_win_NAME`. The opponents that search take most of the time.

    Attributes:
        result: of the last evaluation.

    Examples:
        >>> from getbit_env.sb3 import BenchmarkScore
        >>> callback = BenchmarkScore(every=1_000_000, csv="runs/score.csv", save_best="runs/best.zip")
    """

    judged_by: str
    budget: str

    def __init__(
        self,
        *,
        every: int = 1_000_000,
        by: str = "win",
        budget: str = "quick",
        csv: str | os.PathLike[str] | None = None,
        save_best: str | os.PathLike[str] | None = None,
        deterministic: bool = False,
    ) -> None:
        """Set the budget.

        Args:
            every: see `Evaluation`.
            by: what the best policy is chosen by: win, payoff, worst_win or mixed_win.
            budget: quick, standard or full.
            csv: see `Evaluation`.
            save_best: see `Evaluation`.
            deterministic: see `Evaluation`.

        Raises:
            ValueError: an argument has a value that is not allowed.
        """
        super().__init__(every=every, csv=csv, save_best=save_best, deterministic=deterministic)
        for option, value, known in (("by", by, SCORES), ("budget", budget, BUDGETS)):
            if value not in known:
                raise ValueError(f"{option} is one of {', '.join(known)}, not {value!r}{did_you_mean(str(value), known)}")
        self.judged_by, self.budget = f"eval/benchmark_{by}", budget
        self.result: TaskResult | None = None

    def check(self, agent: SeatPlayer, layout: Layout) -> None:
        """See `Evaluation`."""
        variant = layout.variant
        if variant.name not in TASKS:
            raise ValueError(f"the benchmark has no task {variant.name}; there are {', '.join(TASKS)}")
        check_agents({"learner": agent}, variant)
        if self.judged_by == "eval/benchmark_mixed_win" and variant.players < 3:
            raise ValueError(f"by is win, payoff or worst_win in {variant.name}: two players have no mixed tables")

    def measure(self, agent: SeatPlayer, variant: Variant) -> list[Figure]:
        """See `Evaluation`.

        Raises:
            RuntimeError: somebody failed, so that there is nothing to measure.
        """
        tables = []
        for others in tables_of(variant.name):
            starts = starts_of(others, BUDGETS[self.budget])
            played = play_match(["the agent", *others], variant, agents={"the agent": agent}, starts=starts, seed=SEED)
            if (failure := played.failure) is not None:
                raise RuntimeError(f"no evaluation at the table of {', '.join(others)}: {failure.agent} failed: {failure.reason}")
            mine = played["the agent"]
            tables.append(TableResult(others, played.starts, mine.win, mine.payoff, mine.places))
        self.result = TaskResult(variant.name, "learner", self.budget, {}, Status.PLAYED, tables=tuple(tables))
        scores = {name: of(self.result) for name, of in SCORES.items()}
        return [
            *(figure(f"eval/benchmark_{name}", value) for name, value in scores.items() if value is not None),
            *(figure(f"eval/benchmark_win_{one.name}", one.win) for one in self.result.of_bots if one.win is not None),
        ]


def loaded(names: Sequence[str]) -> dict[str, Agent]:
    """Agents by their names.

    Raises:
        ValueError: one is unknown, or they are no list.
    """
    if isinstance(names, str):
        raise ValueError(f"agents are given as a list of names, not as {names!r}")
    return {name: load_agent(name) for name in names}
