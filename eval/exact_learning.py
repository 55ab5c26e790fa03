"""`python -m eval.exact_learning`: what learning costs, in three parts: the algorithm's, the network's and sampling's.

Every recipe of `train.exact` learns with a table and with a network, from all positions of small games, and `train.ppo` learns with
a network of the same shape from games that it plays. All are judged exactly, by the gain of a best response. The command goes on
where it was broken off, and writes docs/exact_learning.json and a picture; `python -m docs.tables` puts them into the page.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from getbit_env import load_agent
from getbit_env.command_line import no_bar
from getbit_env.core.provenance import provenance
from getbit_env.exact import GameGraph, Positions, gain_of
from getbit_env.game_registry import find_variant
from getbit_env.get_bit import ID
from train import ppo, run
from train.exact import cfr_plus, exploitability_descent, mirror_descent, policy_gradient, study

from .studies import conduct, study_parser

VARIANTS = ("4p-2l", "2p-2l")
RECIPES: dict[str, Any] = {
    "magnetic mirror descent": mirror_descent,
    "CFR+": cfr_plus,
    "policy gradient": policy_gradient,
    "exploitability descent": exploitability_descent,
}
WIDTHS = [64, 64]
ITERATIONS, DECISIONS = 200, 2_000_000
SEEDS = (0, 1, 2)


def learn(variant: str, folder: Path, iterations: int, decisions: int, seeds: Sequence[int]) -> dict[str, Any]:
    """Train everything for one game.

    Args:
        variant: name of the game.
        folder: of its runs.
        iterations: of each recipe.
        decisions: that `train.ppo` plays.
        seeds: of the networks.

    Returns:
        The gain of a best response to the uniform policy, and by recipe the gains with a table and with a network, a number a seed.
    """
    graph = GameGraph(Positions(find_variant(variant)))
    found: dict[str, Any] = {"random": gain_of(graph.uniform_policy(), graph)[0], "positions": graph.positions.count, "recipes": {}}
    for name, module in RECIPES.items():
        slug = module.__name__.rpartition(".")[2]
        options = {"variant": variant, "total_timesteps": iterations, "eval_freq": 20}
        gains = [_gain(module, options, folder / f"{slug}-table")]
        for seed in seeds:
            more = {"net_arch": WIDTHS, "seed": seed, "batch_size": 2048}
            gains.append(_gain(module, {**options, **more}, folder / f"{slug}-network-{seed}"))
        curve = _curve(folder / f"{slug}-table")
        found["recipes"][name] = {"table": gains[0], "network": gains[1:], "curve": curve}
        print(f"{variant}, {name}: table {gains[0]:.4f}, network {', '.join(f'{gain:.4f}' for gain in gains[1:])}", file=sys.stderr)
    played = []
    for seed in seeds:
        played_by = folder / f"ppo-{seed}"
        if not (played_by / "card.md").exists():
            ppo.train(ppo.Config(variant=variant, total_timesteps=decisions, net_arch=WIDTHS, seed=seed), played_by, quiet=no_bar())
        played.append(gain_of(graph.policy_of(load_agent(played_by)), graph)[0])
    print(f"{variant}, train.ppo: {', '.join(f'{gain:.4f}' for gain in played)}", file=sys.stderr)
    found["ppo"] = played
    return found


def _gain(module: Any, options: dict[str, Any], folder: Path) -> float:
    """Train by a recipe, or read how it ended."""
    run.train(module.RECIPE, module.RECIPE.config(**options), folder, quiet=no_bar())
    return _curve(folder)[-1][1]


def _curve(folder: Path) -> list[tuple[int, float]]:
    """Gain by iteration."""
    with (folder / study.CURVE).open(encoding="utf-8", newline="") as file:
        return [(int(row[study.COUNTED]), float(row["gain"])) for row in csv.DictReader(file)]


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.exact_learning") -> None:
    """Run the command."""
    parser = study_parser(prog, __doc__ or "", {"": "as docs/exact_learning.md says"}, "exact_learning")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), help=f"small games (default: {' '.join(VARIANTS)})")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="of each recipe (%(default)s)")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="that train.ppo plays (%(default)s)")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="of the networks (default: 0 1 2)")
    given = parser.parse_args(arguments)

    def study_all() -> dict[str, Any]:
        games = {
            variant: learn(variant, given.output / variant, given.iterations, given.decisions, given.seeds)
            for variant in given.variants
        }
        settings = {"iterations": given.iterations, "decisions": given.decisions, "seeds": given.seeds, "widths": WIDTHS}
        return {"about": provenance(ID), "settings": settings, "games": games}

    conduct(parser, given, check=lambda: None, study=study_all, draw=lambda found, path: draw(found["games"], path))


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw the tables' curves, a panel a game."""
    from matplotlib.figure import Figure

    from getbit_env.core.files import write_whole

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, (variant, found) in zip(np.atleast_1d(figure.subplots(1, len(figures))), figures.items(), strict=True):
        for name, recipe in found["recipes"].items():
            counts, gains = zip(*recipe["curve"], strict=True)
            axes.plot(counts, np.maximum(gains, study.LEAST_DRAWN), label=name if variant == next(iter(figures)) else None)
        named = variant == next(iter(figures))
        axes.axhline(found["random"], color="black", linestyle=":", label="uniform policy" if named else None)
        axes.axhline(float(np.median(found["ppo"])), color="black", linestyle="--", label="train.ppo, network" if named else None)
        axes.set(title=variant, xlabel="iterations", yscale="log")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("gain of a best response")
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    write_whole(path, lambda part: figure.savefig(part, dpi=120, format="png"))


if __name__ == "__main__":
    main()
