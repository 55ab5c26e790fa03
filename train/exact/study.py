"""The driver of the recipes that learn from all positions at once: it iterates, judges exactly, and keeps what a run needs.

An iteration evaluates the policy in every position (`getbit_env.exact.GameGraph`) and improves it in every position. Nothing is
sampled but the minibatches of a network, so a curve shows what the algorithm does, and the same algorithm with a network shows what
the network costs. The folder of a run holds

    config.json           every option, commit, versions, machine
    curve.csv             exact gain and NashConv by iteration, with curve.png
    policy.npz            the policy of a table, which `getbit_env.load_agent` reads; of a network, policy.safetensors
    checkpoints/          what `--resume` needs; nothing in it is unpickled

Every file is whole or not there. One process at a time owns a folder. Ctrl-C costs what came after the last judgement.
"""

from __future__ import annotations

import csv
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from tqdm import tqdm

from getbit_env.command_line import no_bar, progress_of
from getbit_env.core.escaping import for_matplotlib
from getbit_env.core.files import write_whole
from getbit_env.core.records import CsvRecord
from getbit_env.core.spec import GameSpec
from getbit_env.exact import GameGraph, Positions, StoredPolicy, gain_of
from getbit_env.exact.evaluation import met_by_others
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit import ID
from getbit_env.network import LARGEST_WEIGHT, POLICY_FILE, save_network

from ..checkpoints import load_checkpoint, save_checkpoint
from ..recipe import DamagedError, DivergedError, Recipe, check_options, check_used, option
from ..run_file import RunFile
from .optimizer import MuonAndAdam
from .stores import Network, Numbers, Rows, Store, Table, see_rows, softmax

TABLE_FILE, CURVE, PICTURE = "policy.npz", "curve.csv", "curve.png"
COUNTED = "iterations"
EXAMPLES = {
    "--variant 3p-1r-4c-1l --total-timesteps 300": "a small game, in seconds",
    "--players 4 --threads 2 --output runs/table": "a table for the whole game",
    "--players 4 --net-arch 256 256 --output runs/network": "a network",
    "--resume runs/table": "go on after Ctrl-C, or a crash",
}
OF_NETWORKS = ("learning_rate", "learning_rate_end", "muon_rate", "muon_rate_end", "n_batches", "batch_size", "seed")
LEAST_DRAWN = 1e-9  # a gain of nothing has no place on a logarithmic scale


@dataclass(frozen=True)
class Config:
    """The options of every recipe."""

    variant: str = option("4p", "name of the variant")
    total_timesteps: int = option(200, "iterations", least=1, most=10**9)
    eval_freq: int = option(10, "iterations between judgements, each with a checkpoint", least=1, most=10**9)
    net_arch: list[int] = option([], "widths of the ReLU layers of a network; none: a table", least=1, most=10**5)
    learning_rate: float = option(3e-3, "network: of Adam, for biases and the last layer, at the start", over=0, most=1e30)
    learning_rate_end: float = option(1e-4, "network: and at the end, geometric in between", over=0, most=1e30)
    muon_rate: float = option(0.1, "network: learning rate of Muon, for weights between layers, at the start", over=0, most=1e30)
    muon_rate_end: float = option(0.003, "network: and at the end, geometric in between", over=0, most=1e30)
    n_batches: int = option(8, "network: minibatches an iteration", least=1, most=10**6)
    batch_size: int = option(4096, "network: roles in positions a minibatch", least=1, most=10**7)
    seed: int = option(0, "network: of its weights, and of the minibatches", least=0, most=2**32 - 1)
    threads: int = option(1, "that work at the same time; no result depends on it", least=1, most=1024)

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            ValueError: with what is wrong.
        """
        check_options(self)
        check_used(self)
        variant = find_variant(self.variant)
        if self.game.id != ID or variant.memory:
            raise ValueError(
                f"--variant is a face-up game of Get Bit!, not {self.variant}: nothing else is known in every position"
            )

    @property
    def game(self) -> GameSpec:
        """The game that it is a variant of."""
        return game_of(find_variant(self.variant))

    def unused(self) -> dict[str, str]:
        """The options that have no effect beside the others, and why; see `check_used`."""
        return {} if self.net_arch else dict.fromkeys(OF_NETWORKS, "it is about networks, and without --net-arch a table learns")

    def at(self, iteration: int, name: str) -> float:
        """The value that an option with a schedule has in an iteration."""
        return self.between(name, iteration / self.total_timesteps)

    def between(self, name: str, part: float) -> float:
        """A value between those of `name` (part 0) and `name_end` (part 1 and more), geometrically."""
        start, end = getattr(self, name), getattr(self, f"{name}_end")
        return float(start * (end / start) ** min(part, 1.0))


@dataclass(frozen=True)
class GentleConfig(Config):
    """Lower rates, for a network that takes small steps from what it says itself: at high ones its noise is larger."""

    learning_rate: float = option(1e-3, "network: of Adam, for biases and the last layer, at the start", over=0, most=1e30)
    muon_rate: float = option(0.02, "network: learning rate of Muon, for weights between layers, at the start", over=0, most=1e30)
    muon_rate_end: float = option(0.001, "network: and at the end, geometric in between", over=0, most=1e30)


class Learner(ABC):
    """An algorithm, as the driver sees it.

    Attributes:
        timesteps: iterations done.
        module: its stores, by name.
        policy_store: name of the one that holds the policy to judge, as logits.
    """

    policy_store = "policy"

    def __init__(self, options: Any, graph: GameGraph) -> None:
        """Begin with the uniform policy, or a network that is close to it."""
        torch.set_num_threads(1)
        torch.manual_seed(options.seed)
        self.options, self.graph, self.timesteps = options, graph, 0
        self._rows: Rows | None = see_rows(graph) if options.net_arch else None
        self.module, self.stores = nn.ModuleDict(), dict[str, Store]()
        self.make_stores()
        networks = [store for store in self.stores.values() if isinstance(store, Network)]
        self.optimizer = MuonAndAdam(store.layers for store in networks)
        for store in networks:
            store.optimizer = self.optimizer

    @abstractmethod
    def make_stores(self) -> None:
        """Make the stores, with `store`."""

    @abstractmethod
    def learn(self, iteration: int, rng: np.random.Generator) -> dict[str, float]:
        """Do an iteration.

        Args:
            iteration: its number; the first is 1.
            rng: for `Store.write`.

        Returns:
            What the curve tells beside the gain, always the same.
        """

    def store(self, name: str, *, of_policy: bool) -> Store:
        """A new store, a table or a network, as the options say."""
        if self._rows is None:
            return self.table(name)
        return self._add(name, Network(self.graph, self._rows, self.options, of_policy=of_policy))

    def table(self, name: str) -> Store:
        """A new table, whatever the options say."""
        return self._add(name, Table(self.graph))

    def _add(self, name: str, store: Store) -> Store:
        self.module[name] = self.stores[name] = store
        return store

    def policy(self) -> Numbers:
        """The policy to judge, `[N, P, A]`."""
        return softmax(self.stores[self.policy_store].read(), self.graph.legal)

    def iterate(self) -> dict[str, float]:
        """Do the next iteration."""
        self.timesteps += 1
        self.optimizer.set_rates(*(self.options.at(self.timesteps, name) for name in ("learning_rate", "muon_rate")))
        return self.learn(self.timesteps, np.random.default_rng([self.options.seed, self.timesteps]))

    def met(self, policy: Numbers) -> NDArray[np.float64]:
        """How likely each role of each position, `[N, P]`, meets a player who goes where it likes while all others play a policy.

        A policy has to be good there, and a network's minibatches are drawn by it. A table asks for nothing of the kind.
        """
        if self._rows is None:
            return np.ones(policy.shape[:2])
        return met_by_others(self.graph.go_forward(policy)[1][:-1], self.graph.legal)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the stores."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: B027 - what is kept is all in the stores
        """Go to what `state` returned."""


# --- a run -------------------------------------------------------------------------------------------------------------------


def recipe_of(name: str, config: type[Any], make: Callable[[Any, GameGraph], Learner], judged_by: str) -> Recipe:
    """A recipe that `train.run` drives.

    Args:
        name: its module.
        config: its class of options, a `Config`.
        make: the algorithm, called with the options and the graph of the game.
        judged_by: which policy is judged and saved.
    """
    leaves = f"{TABLE_FILE} or {POLICY_FILE}, {CURVE}, {PICTURE}"
    return Recipe(name, config, None, False, judged_by, partial(go_on, make), PICTURE, leaves, EXAMPLES)


def go_on(make: Callable[[Any, GameGraph], Learner], run: RunFile, folder: Path, quiet: bool) -> None:
    """Learn to the end in a folder that this process owns; see `Recipe.go_on`."""
    options = run.options
    with tqdm(disable=quiet or no_bar(), mininterval=1, unit=" positions", unit_scale=True) as bar:
        shown = progress_of(bar)
        positions = Positions(find_variant(options.variant), progress=shown)
        graph = GameGraph(positions, threads=options.threads, progress=shown)
    learner = make(options, graph)
    progress = load_checkpoint(folder, run.run, learner)
    try:
        curve = CsvRecord(folder / CURVE, learner.timesteps, counted=COUNTED)
    except ValueError as error:
        raise DamagedError(str(error)) from error
    since = time.perf_counter() - progress.seconds
    total = options.total_timesteps
    with tqdm(total=total, initial=learner.timesteps, unit=" iterations", mininterval=1, disable=quiet or no_bar()) as bar:
        while learner.timesteps < total:
            told = learner.iterate()
            bar.update()
            if learner.timesteps == total or learner.timesteps % options.eval_freq == 0:
                bar.set_postfix(gain=f"{_judge(learner, told, curve, folder, since):.4f}")
                progress.leg += 1
                progress.seconds = time.perf_counter() - since
                save_checkpoint(folder, run.run, progress, learner)
    draw_curves({folder.resolve().name: folder}, folder / PICTURE)


def _judge(learner: Learner, told: Mapping[str, float], curve: CsvRecord, folder: Path, since: float) -> float:
    """Judge the policy, record it, and save it.

    Raises:
        DivergedError: weights are no numbers any more.
    """
    if not all(bool((tensor.abs() < LARGEST_WEIGHT).all()) for tensor in learner.module.state_dict().values()):
        raise DivergedError(
            f"learning diverged: numbers became NaN or infinite before iteration {learner.timesteps}; the checkpoint before it is "
            f"kept in {folder}. Try smaller steps in a new run"
        )
    policy = learner.policy()
    gain, nash_conv = gain_of(policy, learner.graph)
    seconds = round(time.perf_counter() - since, 1)
    curve.append([{COUNTED: learner.timesteps, "seconds": seconds, "gain": gain, "nash_conv": nash_conv, **told}])
    store = learner.stores[learner.policy_store]
    if isinstance(store, Network):
        agent = store.agent(learner.graph, learner.timesteps)
        agent.about["gain"] = f"{gain:.4f}"
        save_network(folder / POLICY_FILE, agent)
    else:
        StoredPolicy(learner.graph.positions, policy.astype(np.float32), f"{folder.resolve().name}").save(folder / TABLE_FILE)
    return gain


def draw_curves(folders: Mapping[str, Path], path: Path) -> None:
    """Draw the exact gain against iterations and minutes.

    Args:
        folders: of runs, by the name that the legend gives them.
        path: of the picture, a PNG.

    Raises:
        ValueError: a folder holds no curve.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    by_iteration, by_time = figure.subplots(1, 2, sharey=True)
    for name, folder in folders.items():
        try:
            with (folder / CURVE).open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            gains = [max(float(row["gain"]), LEAST_DRAWN) for row in rows]
            counts, minutes = [int(row[COUNTED]) for row in rows], [max(float(row["seconds"]), 0.1) / 60 for row in rows]
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{folder} holds no {CURVE} of these recipes ({error})") from error
        by_iteration.plot(counts, gains, marker=".", label=for_matplotlib(name))
        by_time.plot(minutes, gains, marker=".")
    for axes, label in ((by_iteration, "iterations"), (by_time, "minutes")):
        axes.set(xlabel=label, yscale="log")
        axes.yaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}", minor_formatter=NullFormatter())
        axes.grid(alpha=0.3)
    by_iteration.set_ylabel("gain of a best response")
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    write_whole(path, lambda part: figure.savefig(part, dpi=120, format="png"))
