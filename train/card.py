"""What a run leaves behind: its policy judged against opponents, the learning curve, and a page that says how it was made."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from getbit_env.core.escaping import for_markdown, for_markdown_code, for_matplotlib
from getbit_env.core.files import write_text, write_whole
from getbit_env.match import MatchResult, play_match
from getbit_env.network import POLICY_FILE, RecurrentNetworkAgent, TrainedPolicy, load_network

from .recipe import Recipe
from .run_file import RunFile

CARD_STARTS = 2400


def play_against(agent: TrainedPolicy, opponents: Sequence[str], starts: int, seed: int) -> dict[str, MatchResult]:
    """The agent in one seat against each kind of opponents in all others, every start in every rotation of the seats.

    Raises:
        RuntimeError: one could not play.
    """
    results = {}
    for name in opponents:
        results[name] = play_match([agent, *[name] * (agent.variant.players - 1)], agent.variant, starts=starts, seed=seed)
        if (failure := results[name].failure) is not None:
            raise RuntimeError(f"no evaluation against {name}: {failure.agent} failed: {failure.reason}")
    return results


def write_card(folder: Path, recipe: Recipe, config: RunFile, timesteps: int, seconds: float) -> None:
    """Write `learning.png` and `card.md`. The policy is judged on other starts than those by which it may have been chosen."""
    options, name = config.options, folder.resolve().name
    agent = load_network(folder / POLICY_FILE, "learner")
    results = play_against(agent, options.eval_opponents, CARD_STARTS, options.seed + 1)
    players = options.played.players
    draw_learning(folder, 1 / players)
    layers = f"an LSTM of {agent.lstm[0].weight_hh.shape[1]} units, " if isinstance(agent, RecurrentNetworkAgent) else ""
    lines = [
        f"# {for_markdown(name)}",
        "",
        f"A policy for {options.variant}: {layers}tanh layers of {options.net_arch}, "
        f"after {int(agent.about['timesteps']):,} decisions of a run of {recipe.name} of {timesteps:,} decisions that took "
        f"{seconds / 60:.1f} minutes; {recipe.judged_by}.",
        "",
        f"One seat against {players - 1} of a kind, {CARD_STARTS} starts in every rotation of the seats, 95 % intervals over "
        f"starts; the equal share is {1 / players:.3f}.",
        "",
        "| opponents | win rate | payoff |",
        "| --- | --- | --- |",
    ]
    for opponents, result in results.items():
        own = result[result.line_up[0]]
        lines.append(f"| {for_markdown(opponents)} | {own.win} | {own.payoff} |")
    lines += ["", "![learning curve](learning.png)", "", "| | |", "| --- | --- |"]
    lines += [f"| {for_markdown(key)} | {for_markdown_code(value)} |" for key, value in config.about.items()]
    write_text(folder / "card.md", "\n".join(lines) + "\n")


def draw_learning(folder: Path, equal_share: float) -> None:
    """Draw `learning.png` from `evaluation.csv`. It touches no setting of matplotlib that others see."""
    from matplotlib.figure import Figure

    with (folder / "evaluation.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for opponents in dict.fromkeys(row["opponents"] for row in rows):
        mine = [row for row in rows if row["opponents"] == opponents]
        timesteps = [int(row["timesteps"]) / 1e6 for row in mine]
        axes.plot(timesteps, [float(row["win"]) for row in mine], marker=".", label=for_matplotlib(f"against {opponents}"))
        axes.fill_between(timesteps, [float(row["low"]) for row in mine], [float(row["high"]) for row in mine], alpha=0.2)
    axes.axhline(equal_share, color="grey", linewidth=1, linestyle="--", label="equal share")
    axes.set(xlabel="decisions trained on (millions)", ylabel="win rate of one seat", ylim=(0, None))
    axes.set_title(for_matplotlib(folder.resolve().name))
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    write_whole(folder / "learning.png", lambda part: figure.savefig(part, dpi=120, format="png"))
