"""`python -m docs.speed FILE ...`: make the tables and pictures of docs/speed.md from results of `eval.speed.bench --json`.

Results are kept in docs/speed.json, the last one of each kind: of the workloads, of `--growth`, `--peers` and `--first-use`.
Without files, tables and pictures are made from those. `make speed` measures everything anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.speed.bench import SIZES, growth_name
from eval.speed.first_use import as_rows
from eval.speed.peers import OURS, our_like

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "speed.json"
PICTURES = ROOT / "docs" / "images"
KINDS = ("workloads", "first use", "growth", "peers")
README = (  # the workloads whose rates stand there
    "engine, 4 players",
    "engine, 4 players, cards drawn",
    "engine, 4 players, observations and masks",
    "VectorEnv of all seats, 4 players",
    "VectorEnv of one seat, 4 players, random opponents",
    "parallel_env, 4 players, argmax of the mask",
    "match of random, highest, lowest, counter",
    "MaskablePPO against random",
    "MaskablePPO on nothing",
)
Figures = Mapping[str, Any]


def kept_figures() -> dict[str, Any]:
    """The last result of each kind."""
    kept: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return kept


def short(rate: float) -> str:
    """Three digits and a power of ten, or a plain number below 1,000."""
    if rate < 1000:
        return f"{rate:.3g}"
    digits, power = f"{rate:.2e}".split("e")
    return f"{digits}e{int(power)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---", *["---:"] * (len(head) - 1)], *rows])


def _rates(result: Figures, names: Sequence[str]) -> str:
    rates = {name: result["rates"][name] for name in names if name in result["rates"]}
    rows = [[n, f"{short(r['median'])} {r['unit']}", f"{short(r['least'])} to {short(r['most'])}"] for n, r in rates.items()]
    return _table(["what", "median", "least to most"], rows)


def _growth(rates: Figures) -> str:
    rows = []
    for players in (4, 5, 6, 7):
        of_one = [rates[growth_name(players, games, 1)]["median"] for games in SIZES]
        two = rates[growth_name(players, SIZES[-1], 2)]["median"]
        rows.append([str(players), *map(short, of_one), short(two), f"{two / of_one[-1]:.2f}"])
    return _table(["players", *(f"{games:,}" for games in SIZES), f"{SIZES[-1]:,}, 2 threads", "2 threads / 1"], rows)


def _peers(result: Figures) -> str:
    rows = []
    for name, rate in sorted(result["rates"].items(), key=lambda item: -item[1]["median"]):
        cells = []
        for ours in OURS:
            ratio = result["ratios"].get(f"{ours} / {name}")
            text = "" if ratio is None else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
            cells.append(f"**{text}**" if text and ours == our_like(name) else text)
        rows.append([f"**{name}**" if name.startswith("getbit-env") else name, short(rate["median"]), *cells])
    names = ("batch engine", "VectorEnv of all seats", "`parallel_env`")
    return _table(["environment", "agent-steps/s", *(f"{name} is times as fast" for name in names)], rows)


def table(what: str, figures: Figures) -> str:
    """A table of a page.

    Raises:
        ValueError: there is none of this name.
    """
    kind, _, rest = what.partition(" ")
    if kind == "speed-rates":
        result = figures["workloads"]
        return _rates(result, list(result["rates"]))
    if kind == "speed-readme":
        return _rates(figures["workloads"], README)
    if kind == "speed-ratios":
        return _table(["ratio within a round", "median"], [[n, f"{r:.2f}"] for n, r in figures["workloads"]["ratios"].items()])
    if kind == "speed-first-use":
        rows = as_rows(figures["first use"]["seconds"])
        return _table(["seconds", "warm", "cold"], [[name, f"{warm:.3f}", f"{cold:.3f}"] for name, warm, cold in rows])
    if kind == "speed-growth":
        return _growth(figures["growth"]["rates"])
    if kind == "speed-peers":
        return _peers(figures["peers"])
    if kind == "speed-about":
        about = {key: value for key, value in figures[rest]["about"].items() if value}
        return f"`{about.pop('command')}`; " + ", ".join(f"{key} {value}" for key, value in about.items())
    raise ValueError(f"no table {what!r}")


def take(file: Path, figures: dict[str, Any]) -> None:
    """Put a result in the place of the last one of its kind.

    Raises:
        ValueError: the file holds no result, or only a part of one.
    """
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
        kind = result["what"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is no result of python -m eval.speed.bench --json ({error!r})") from None
    if kind not in KINDS:
        raise ValueError(f"{file} is a result of an unknown kind, {kind!r}")
    if "--only" in result["about"]["command"]:
        raise ValueError(f"{file} is only a part of a result: {result['about']['command']}")
    figures[kind] = result


def rounded(value: Any) -> Any:
    """Figures as they are kept: four digits."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    from docs import tables
    from docs.speed_pictures import draw_all

    parser = argparse.ArgumentParser(prog="python -m docs.speed", description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a result of python -m eval.speed.bench --json")
    options = parser.parse_args(argv)
    figures = kept_figures() if FIGURES.exists() else {}
    try:
        for file in options.files:
            take(file, figures)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    missing = [kind for kind in KINDS if kind not in figures]
    if missing:
        parser.error(f"no result yet of: {', '.join(missing)}")
    FIGURES.write_text(json.dumps(rounded({kind: figures[kind] for kind in KINDS}), indent=1) + "\n", encoding="utf-8")
    draw_all(figures, PICTURES)
    tables.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
