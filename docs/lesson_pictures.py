"""The pictures of docs/lessons.md, from its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")  # in a command, no user of a library has chosen another
from matplotlib import pyplot as plt

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#666666"  # told apart by colour-blind readers as well
SELDOM = 0.002  # what is met in a smaller share of the rounds is left out of curves and bars
NOTHING = 1e-6
Figures = dict[str, Any]


def draw_all(figures: Figures, folder: Path) -> list[Path]:
    """Draw all pictures into a folder."""
    two, many = figures["two"], figures["many"]
    plots = {
        "places": draw_places(two["start"], many["start"]),
        "limbs": draw_limbs(two["limbs"], many["limbs"], len(many["start"])),
        "openings_2p": draw_openings_two(two["openings"], two["cards"], list(two["start"])),
        "openings_4p": draw_openings_many(many["openings"], many["cards"]),
        "ties": draw_ties(two["ties"]),
        "agents": draw_agents(two["agents"], many["agents"], len(many["start"])),
    }
    paths = []
    for name, figure in plots.items():
        paths.append(folder / f"lessons_{name}.png")
        figure.savefig(paths[-1], dpi=120, metadata={"Software": None})
        plt.close(figure)
    return paths


def _heat(axes: Any, shares: NDArray[np.float64], *, form: str = "{:.2f}", **options: Any) -> Any:
    """A table in colours, each cell with its figure; none where it is not a number."""
    image = axes.imshow(shares, **options)
    for (row, column), share in np.ndenumerate(shares):
        if np.isfinite(share) and form.format(share) not in ("0.00", "-0.00"):
            red, green, blue, _ = image.cmap(image.norm(share))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            axes.text(column, row, form.format(share), ha="center", va="center", fontsize=9, color="white" if dark else "black")
    axes.tick_params(length=0)
    return image


def _from_one(count: int) -> list[str]:
    return [str(n) for n in range(1, count + 1)]


def draw_places(two: dict[str, float], many: list[float]) -> Any:
    """The value of each starting line and of each starting place."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    bars = left.bar(list(two), list(two.values()), color=BLUE, width=0.6)
    left.bar_label(bars, [f"{value:+.3f}" for value in two.values()], padding=2)
    left.set(xlabel="starting line, front to back, by owner", ylabel="value to A (-1 lost, +1 won)", title="2 players")
    left.set_ylim(0, 1.2 * max(NOTHING, *two.values()))
    bars = right.bar(range(1, len(many) + 1), many, color=BLUE, width=0.6)
    right.bar_label(bars, [f"{chance:.3f}" for chance in many], padding=2)
    right.axhline(1 / len(many), color=GREY, linestyle="--", linewidth=1)
    right.text(len(many) + 0.45, 1 / len(many), "equal\nshare", color=GREY, va="center", fontsize=9)
    right.set(xlabel="place in the starting line (1 is the front)", ylabel="chance of winning")
    right.set(title=f"{len(many)} players, in one equilibrium", ylim=(0, 1.2 * max(many)), xlim=(0.4, len(many) + 0.4))
    right.set_xticks(range(1, len(many) + 1))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_limbs(two: Figures, many: Figures, players: int) -> Any:
    """The value of limbs: for two players by their weakest robots, for more by the lead in limbs."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    keys = [tuple(map(int, key.split())) for key in two["weakest"]]
    most = max(own for own, _ in keys)
    value = np.full((most, most), np.nan)
    for (own, other), (_, mean) in zip(keys, two["weakest"].values(), strict=True):
        value[own - 1, other - 1] = mean
    image = _heat(left, value, form="{:+.2f}", cmap="PuOr_r", vmin=-1, vmax=1, origin="lower")
    left.set_xticks(range(most), _from_one(most))
    left.set_yticks(range(most), _from_one(most))
    left.set(
        xlabel="limbs of the other player's weakest robot",
        ylabel="limbs of the own weakest robot",
        title="2 players, after round 1",
    )
    figure.colorbar(image, ax=left, label="mean value to the player", shrink=0.85)
    for robots, colour, marker in zip(range(players, 2, -1), (BLUE, ORANGE, GREEN, GREY, "black"), "osD^v", strict=False):
        rows = [
            (int(lead) / (robots - 1), chance)
            for key, (share, chance) in many["lead"].items()
            for count, lead in [key.split()]
            if int(count) == robots and share >= SELDOM
        ]
        right.plot(
            *zip(*sorted(rows), strict=True), color=colour, marker=marker, markersize=5, label=f"{robots} robots in the line"
        )
    right.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
    right.set(xlabel="own limbs less the mean of the others'", ylabel="mean chance of winning", ylim=(0, None))
    right.set_title(f"{players} players, in one equilibrium, after round 1")
    right.grid(alpha=0.3)
    right.legend(frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    return figure


def draw_openings_two(openings: dict[str, list[float]], cards: int, lines: list[str]) -> Any:
    """The first cards of both players by starting line."""
    figure, all_axes = plt.subplots(2, len(lines), figsize=(10, 6.6), layout="constrained", sharex=True, sharey=True)
    for column, line in enumerate(lines):
        for role in range(2):
            axes = all_axes[role, column]
            shares = np.array(openings[f"{column} {role}"]).reshape(cards, cards)
            _heat(axes, shares, cmap="Blues", vmin=0, vmax=0.6, origin="lower")
            places = [place + 1 for place, owner in enumerate(line) if owner == "AB"[role]]
            axes.set_title(f"{line}: {'AB'[role]} has places {places[0]} and {places[1]}", fontsize=10)
            axes.set_xticks(range(cards), _from_one(cards))
            axes.set_yticks(range(cards), _from_one(cards))
            axes.plot([-0.5, cards - 0.5], [-0.5, cards - 0.5], color=ORANGE, linewidth=1, linestyle=":")
    figure.supxlabel("card of the own robot behind", fontsize=11)
    figure.supylabel("card of the own robot in front", fontsize=11)
    return figure


def draw_openings_many(openings: dict[str, list[float]], cards: int) -> Any:
    """The first card by place."""
    shares = np.array([openings[f"0 {place}"] for place in range(len(openings))])
    figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    image = _heat(axes, shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(cards), _from_one(cards))
    axes.set_yticks(range(len(shares)), _from_one(len(shares)))
    axes.set(xlabel="first card", ylabel="place in the starting line\n(1 is the front)")
    figure.colorbar(image, ax=axes, label="probability", shrink=0.85)
    return figure


def draw_ties(ties: Figures) -> Any:
    """How often a player ties with himself, and what it costs not to, by places and by limbs."""
    figure, panels = plt.subplots(2, 2, figsize=(10, 6), layout="constrained", sharex="col", sharey="row")
    labels = {"places": "places of the own two robots", "last": "limbs of the last robot\nless its fellow's"}
    for (left, right), (kind, label) in zip(panels, labels.items(), strict=True):
        shown = {key: row for key, row in ties[kind].items() if row[0] >= SELDOM}
        rows = np.arange(len(shown))
        _, often, chance, cost, _ = np.transpose(list(shown.values()))
        left.barh(rows - 0.18, often, height=0.36, color=BLUE, label="equilibrium")
        left.barh(rows + 0.18, chance, height=0.36, color=ORANGE, label="any legal pair of cards alike")
        left.set_yticks(
            rows, [key.replace(" ", " and ") if kind == "places" else f"{int(key):+d}".replace("+0", "0") for key in shown]
        )
        left.invert_yaxis()
        left.set_ylabel(label)
        bars = right.barh(rows, cost, height=0.5, color=BLUE)
        right.bar_label(bars, [f"{each:.4f}" for each in cost], padding=3)
    left.set_xlabel("how often both robots play the same card")
    right.set_xlabel("mean cost of not being allowed to, in this one round")
    right.set_xlim(0, 1.2 * max(NOTHING, *(row[3] for kind in labels for row in ties[kind].values())))
    panels[0, 0].legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    for axes in panels.ravel():
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_agents(two: dict[str, list[float]], many: dict[str, list[float]], players: int) -> Any:
    """What a perfect opponent gets from each agent."""
    figure, both = plt.subplots(1, 2, figsize=(10, 1.3 + 0.38 * max(len(two), len(many))), layout="constrained")
    optimum = {"equilibrium": [0.0, 0.0, 0.0, 0.0]}
    for axes, agents, fair in ((both[0], optimum | two, 0.0), (both[1], many, 1 / players)):
        ordered = sorted(agents.items(), key=lambda item: item[1][1])
        best = np.array([result[1] for _, result in ordered])
        axes.hlines(range(len(ordered)), fair, best, color=BLUE, linewidth=3)
        axes.plot(best, range(len(ordered)), "o", color=BLUE, markersize=7)
        for row, value in enumerate(best):
            axes.text(value + 0.03, row, f"{value:.3f}", va="center", fontsize=9)
        axes.axvline(fair, color=GREY, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(ordered)), [name for name, _ in ordered])
        axes.invert_yaxis()
        axes.set_xlim(-0.05, 1.15)
        axes.spines[["top", "right"]].set_visible(False)
    both[0].set(title="2 players", xlabel="mean value of a best response")
    both[1].set(title=f"{players} players", xlabel="a best response's mean chance of winning")
    return figure
