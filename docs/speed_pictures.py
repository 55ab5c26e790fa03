"""The pictures of docs/speed.md, from its figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from docs.lesson_pictures import BLUE, GREEN, GREY, ORANGE
from eval.speed.bench import SIZES, growth_name
from eval.speed.peers import ALL_SEATS, BATCH, SCALAR, our_like

COLOURS = {4: BLUE, 5: ORANGE, 6: GREEN, 7: GREY}


def draw_all(figures: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw all pictures into a folder."""
    plots = {"peers": draw_peers(figures["peers"]["rates"]), "growth": draw_growth(figures["growth"]["rates"])}
    paths = []
    for name, figure in plots.items():
        paths.append(folder / f"speed_{name}.png")
        figure.savefig(paths[-1], dpi=120, metadata={"Software": None})
    return paths


def draw_peers(rates: Mapping[str, Any]) -> Any:
    """Agent-steps a second of every environment."""
    ordered = sorted(rates.items(), key=lambda item: -item[1]["median"])
    figure = Figure(figsize=(9, 0.8 + 0.32 * len(ordered)), layout="constrained")
    axes = figure.subplots()
    steps = [rate["median"] for _, rate in ordered]
    least = 10 ** (len(str(int(min(steps)))) - 2)
    kinds = ["ours" if name.startswith("getbit-env") else our_like(name) or SCALAR for name, _ in ordered]
    labels = {
        "ours": ("getbit-env", BLUE),
        BATCH: ("peers, roll-outs without observations", GREEN),
        ALL_SEATS: ("peers, many games in a call", ORANGE),
        SCALAR: ("peers, stepped from Python", GREY),
    }
    for kind, (label, colour) in labels.items():
        rows = [row for row, its in enumerate(kinds) if its == kind]
        axes.barh(rows, [steps[row] for row in rows], color=colour, height=0.7, label=label)
    for row, value in enumerate(steps):
        axes.text(value * 1.1, row, f"{value:.2g}".replace("e+0", "e"), va="center", fontsize=9)
    axes.set_yticks(range(len(ordered)), [name for name, _ in ordered])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(least, 5 * max(steps))
    axes.legend(frameon=False, loc="lower right")
    axes.set_xlabel("agent-steps a second on one core, logarithmic")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_growth(rates: Mapping[str, Any]) -> Any:
    """Rounds a second by games per batch: for each number of players, and with a second thread."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)

    def curve(axes: Any, players: int, threads: int, colour: str, label: str, style: str = "-") -> None:
        games = [size for size in SIZES if size >= threads]
        rounds = [rates[growth_name(players, size, threads)]["median"] for size in games]
        axes.plot(games, rounds, color=colour, marker="o", markersize=4, linestyle=style, label=label)

    for players, colour in COLOURS.items():
        curve(left, players, 1, colour, f"{players} players")
    for players in (4, 7):
        for threads, style in ((1, "-"), (2, "--")):
            curve(right, players, threads, COLOURS[players], f"{players} players, {threads} thread{'s' * (threads > 1)}", style)
    for axes, title in ((left, "1 thread"), (right, "a second thread")):
        axes.set(xscale="log", yscale="log", xlabel="games in all", title=title)
        axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES], rotation=45)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_ylabel("rounds a second, cards drawn included")
    return figure
