"""`python -m docs.tables`: write the tables of README.md and docs/ from code; `--check` only says if they differ."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from getbit_env import parse_variant
from getbit_env.get_bit import Layout, Options
from getbit_env.get_bit.variants import SET_UP, standard_variant
from getbit_env.sharks_are_wild import notation, observations, raw_env
from getbit_env.sharks_are_wild import variants as sharks

ROOT = Path(__file__).parent.parent
PAGES = tuple(
    ROOT / name
    for name in ("README.md", "docs/environment.md", "docs/exact_learning.md", "docs/sharks_are_wild.md", "docs/speed.md")
)
_TABLE = re.compile(r"(<!-- table: (?P<what>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def variants() -> str:
    """The set-up table (G1) with what follows from it."""
    rows = ["| players | robots each | cards | actions | entries of an observation | rounds a game | half limbs |"]
    rows.append("| --- | --- | --- | --- | --- | --- | --- |")
    for players in SET_UP:
        game, longer = standard_variant(players), standard_variant(players, half_limbs=True)
        rows.append(
            f"| {players} | {game.robots_per_player} | 1-{game.cards} | {game.actions} | {Layout(game).size} "
            f"| {game.least_rounds}-{game.most_rounds} | {longer.least_rounds}-{longer.most_rounds} |"
        )
    return "\n".join(rows)


def snapshot(name: str) -> str:
    """What a snapshot of a game of Sharks are Wild holds after four turns in which the lowest legal actions were played."""
    env = raw_env(variant=name)
    env.reset(seed=0)
    for _ in range(8):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    rows = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in env.snapshot().items()]
    return "```json\n{\n" + ",\n".join(rows) + "\n}\n```"


def exact_learning(variant: str) -> str:
    """What `python -m eval.exact_learning` found for a game."""
    kept = json.loads((ROOT / "docs/exact_learning.json").read_text(encoding="utf-8"))
    found, settings, about = kept["games"][variant], kept["settings"], kept["about"]

    def shown(gains: list[float]) -> str:
        return ", ".join(f"{gain:.4f}" for gain in gains)

    rows = [f"| `{variant}`, {found['positions']:,} positions | table | network |", "| --- | ---: | ---: |"]
    rows += [f"| {name} | {shown([it['table']])} | {shown(it['network'])} |" for name, it in found["recipes"].items()]
    rows.append(f"| self-play, {settings['decisions']:,} decisions | | {shown(found['ppo'])} |")
    rows.append(f"| the uniform policy | {shown([found['random']])} | |")
    widths = " x ".join(map(str, settings["widths"]))
    told = f"{settings['iterations']} iterations, networks of {widths}, seeds {', '.join(map(str, settings['seeds']))}; {about['machine']}."
    return "\n".join([*rows, "", told])


def table(what: str) -> str:
    """The table that a page asks for: `variants`, `layout` with a variant and options, one of the second game, or of speeds."""
    kind, *words = what.split()
    if kind.startswith("speed-"):
        from docs import speed

        return speed.table(what, speed.kept_figures())
    if kind == "exact-learning":
        return exact_learning(words[0])
    if kind == "sharks-actions":
        return notation.action_table(sharks.parse_variant(words[0]))
    if kind == "sharks-snapshot":
        return snapshot(words[0])
    if kind == "sharks-layout":
        return observations.Layout(sharks.parse_variant(words[0])).table()
    if kind == "variants":
        return variants()
    return Layout(parse_variant(words[0]), Options(**dict.fromkeys(words[1:], True))).table()


def written(text: str, table: Callable[[str], str] = table) -> str:
    """A page with its tables made anew."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{table(found['what'])}\n\n{found[3]}", text)


def write(*, check: bool = False) -> None:
    """Write the tables of all pages; or only exit with a message if one differs."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        made = written(text)
        if check and made != text:
            sys.exit(f"{page.name} is not what code says; run python -m docs.tables")
        page.write_text(made, encoding="utf-8")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables", description=__doc__, allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page differs")
    write(check=parser.parse_args().check)


if __name__ == "__main__":
    main()
