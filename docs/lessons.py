"""`python -m docs.lessons`: make the tables and pictures of docs/lessons.md from docs/lessons.json.

The figures are computed by `python -m eval.lessons`.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from docs.lesson_pictures import draw_all
from docs.tables import ROOT, written

PAGE = ROOT / "docs" / "lessons.md"
FIGURES = ROOT / "docs" / "lessons.json"
PICTURES = ROOT / "docs" / "images"
SELECTIONS = {  # of equilibria, as the page calls them
    "PRINCIPAL_BRANCH": "principal branch (`equilibrium`)",
    "OTHER_BRANCH": "a path from another start",
    "PURE_FIRST": "pure, lowest card of the front first",
    "PURE_LAST": "pure, highest card of the front first",
}
Figures = dict[str, Any]


def _table(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] + ["---:"] * (len(head) - 1), *rows])


def _agents(figures: dict[str, list[float]], form: str) -> str:
    rows = [
        [f"`{name}`" if name != "equilibrium" else name, *(format(value, form) for value in result[:2]), f"{result[3]:.6f}"]
        for name, result in sorted(figures.items(), key=lambda item: item[1][2])
    ]
    return _table(["agent", "among its like", "best response", "NashConv"], rows)


def _equilibria(equilibria: Figures) -> str:
    rows = [
        [
            SELECTIONS[name],
            *(f"{chance:.4f}" for chance in found["start"]),
            f"{found['length']:.1f}",
            *(f"{found['limbs'][lead][1]:.3f}" if lead in found["limbs"] else "" for lead in ("behind", "level", "ahead")),
            f"{max(found['gains']):.1e}" if max(found["gains"]) > 0 else "0",
        ]
        for name, found in equilibria.items()
    ]
    places = [f"place {k}" for k in range(1, len(next(iter(equilibria.values()))["start"]) + 1)]
    return _table(["selected by", *places, "rounds", "behind", "level", "ahead", "most gain"], rows)


def _openings(equilibria: Figures) -> str:
    """The first cards that are played at all, the likeliest first, by place."""
    rows = []
    for name, found in equilibria.items():
        row = [SELECTIONS[name]]
        for place in range(len(found["start"])):
            chances = found["openings"][f"0 {place}"]
            cards = sorted((card for card in range(len(chances)) if chances[card] >= 0.005), key=lambda card: -chances[card])
            row.append(", ".join(f"{card + 1} ({chances[card]:.2f})" if chances[card] < 0.995 else str(card + 1) for card in cards))
        rows.append(row)
    return _table(["selected by", *(f"place {k}" for k in range(1, len(rows[0])))], rows)


def table(what: str, figures: Figures) -> str:
    """The table of the page that has this name, in Markdown."""
    two, many = figures["two"], figures["many"]
    if what == "start-two":
        rows = [[line, f"{value:+.6f}", f"{(1 + value) / 2:.4f}"] for line, value in two["start"].items()]
        return _table(["starting line", "value to A", "chance of winning of A"], rows)
    if what == "start-many":
        return _table(["place", "chance of winning"], [[str(k), f"{chance:.4f}"] for k, chance in enumerate(many["start"], 1)])
    if what == "lead-two":
        leads = two["limbs"]["lead"]
        rows = []
        for lead in sorted(int(key) for key in leads if int(key) >= 0):
            share, value = leads[str(lead)]
            other = leads[str(-lead)][0] if lead else 0.0  # the other side leads
            rows.append([str(lead), f"{share + other:.4f}", f"{value:+.3f}"])
        return _table(["lead of either side", "share of rounds", "mean value to the side that leads"], rows)
    if what == "limbs-many":
        limbs = many["limbs"]["limbs"]
        places = range(1, len(many["start"]) + 1)
        most = max(int(key.split()[0]) for key in limbs)
        rows = [
            [str(own), *(f"{limbs[f'{own} {place}'][1]:.3f}" if f"{own} {place}" in limbs else "" for place in places)]
            for own in range(most, 0, -1)
        ]
        return _table(["own limbs", *(f"place {place}" for place in places)], rows)
    if what in ("explained-two", "explained-many"):
        limbs = (two if what == "explained-two" else many)["limbs"]
        return _table(["what is known", "part explained"], [[name, f"{part:.2f}"] for name, part in limbs["explained"].items()])
    if what in ("ties-places", "ties-rounds", "ties-last"):
        kind = what.split("-")[1]
        rows = [
            [key.replace(" ", " and "), f"{share:.4f}", f"{ties:.3f}", f"{chance:.3f}", f"{cost:.5f}", f"{needed:.3f}"]
            for key, (share, ties, chance, cost, needed) in two["ties"][kind].items()
        ]
        name = {"places": "places of the own robots", "rounds": "round", "last": "limbs of the last robot less its fellow's"}[kind]
        return _table([name, "share of rounds", "ties", "by chance", "cost of not being allowed to", "costs anything in"], rows)
    if what == "ties-never":
        rows = [[line, *(f"{cost:.6f}" for cost in costs)] for line, costs in two["ties"]["never"].items()]
        return _table(["starting line", "cost to A", "cost to B"], rows)
    if what == "ties-positions":
        ties = two["ties"]
        rows = [
            ["part of all positions in which not being allowed to costs something", f"{ties['positions']:.4f}"],
            ["most that it costs in a position", f"{ties['most']:.4f}"],
            ["that position", f"`{ties['position']}`"],
        ]
        return _table(["of a player in any position, in its next round alone", ""], rows)
    if what == "equilibria":
        return _equilibria(many["equilibria"])
    if what == "equilibria-openings":
        return _openings(many["equilibria"])
    if what == "agents-two":
        return _agents(two["agents"], "+.4f")
    if what == "agents-many":
        return _agents(many["agents"], ".4f")
    raise ValueError(f"no table {what!r}")


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    argparse.ArgumentParser(prog="python -m docs.lessons", description=__doc__.splitlines()[0], allow_abbrev=False).parse_args(argv)
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    draw_all(figures, PICTURES)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), partial(table, figures=figures)), encoding="utf-8")


if __name__ == "__main__":
    main()
