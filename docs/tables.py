"""`python -m docs.tables`: write the tables of README.md and docs/ from code; `--check` only says if they differ."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from getbit_env import parallel_env, parse_variant
from getbit_env.core.spec import Dynamics
from getbit_env.game_registry import game_named
from getbit_env.get_bit import Layout, Options
from getbit_env.get_bit.variants import SET_UP, standard_variant
from getbit_env.sharks_are_wild import notation, observations, raw_env
from getbit_env.sharks_are_wild import variants as sharks

ROOT = Path(__file__).parent.parent
_NAMES = (
    "citing",
    "environment",
    "environments",
    "exact_learning",
    "getting_started",
    "memory",
    "search",
    "sharks_are_wild",
    "speed",
)
PAGES = (ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in _NAMES))
EXTRAS = {  # what each extra of pyproject.toml is for
    "sb3": "Stable-Baselines3, sb3-contrib, torch and TensorBoard: training",
    "commands": "progress bars and pictures of the commands",
    "render": "pictures of the games, and the window",
    "movies": "replays as GIF and MP4",
    "ratings": "OpenSkill ratings of tournaments",
    "web": "the game in the browser, `getbit play`",
    "ray": "exact results, tournaments and benchmarks on a cluster; RLlib",
    "openspiel": "Get Bit! as a game of OpenSpiel; alpha-Rank and votes in tournaments",
}
FOR_WORK_ON_IT = {"dev", "docs"}  # extras of a checkout
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


def extras() -> str:
    """What `pip install` can bring beyond the package itself."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    rows = ["| extra | what it is for |", "| --- | --- |"]
    return "\n".join(rows + [f"| `[{name}]` | {EXTRAS[name]} |" for name in declared if name not in FOR_WORK_ON_IT])


def bibtex() -> str:
    """CITATION.cff as an entry of BibTeX."""
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    field = {name: value.strip('"') for name, value in re.findall(r"^(?:  - )?([\w-]+): (.+)$", cff, re.MULTILINE)}
    entry = {
        "title": f"{{{field['title']}}}",
        "author": f"{{{field['name']}}}",
        "year": field["date-released"][:4],
        "version": field["version"],
        "note": f"Software, {field['license']} licence",
    }
    return "```bibtex\n@software{getbit_env,\n" + "".join(f"  {name} = {{{text}}},\n" for name, text in entry.items()) + "}\n```"


def facts(name: str) -> str:
    """What PettingZoo's pages say first of an environment: of a variant with default options."""
    game = game_named(name)
    parallel = game.dynamics is Dynamics.SIMULTANEOUS
    env: Any = (parallel_env if parallel else raw_env)(variant=name)
    env.reset(seed=0)
    (agent, *_), spaces = env.possible_agents, env.observation_space(env.possible_agents[0])
    actions, seen = env.action_space(agent), spaces["observation"]
    agents = ", ".join(f"`{one}`" for one in env.possible_agents)
    pays = env.variant.reward_of_finish("win")
    module = "getbit_env" if parallel else "getbit_env.sharks_are_wild"
    rows = {
        "import": f"`import {module}`" if parallel else "`from getbit_env import sharks_are_wild`",
        "id": f"`{game.id}`",
        "actions": "discrete",
        "parallel API": f"yes, `{module}.parallel_env`" if parallel else "no: players move in turn",
        "AEC API": f"yes, `{module}.env`",
        "manual control": "no; `getbit play` is the game in the browser",
        "agents": str(len(env.possible_agents)),
        "names of agents": agents,
        "shape of an action": f"`{actions.shape}`",
        "values of an action": f"`{actions}`",
        "shape of an observation": f"`{seen.shape}`, and a mask of `{spaces['action_mask'].shape}`",
        "values of an observation": f"0 and 1, {seen.dtype}",
        "shape of the state": f"`{env.state().shape}`",
        "values of a reward": f"{min(pays):.3g} to {max(pays):.3g}",
    }
    return "\n".join(["| fact | value |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows.items())])


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
    seeds = ", ".join(map(str, settings["seeds"]))
    told = f"{settings['iterations']} iterations, networks of {widths}, seeds {seeds}; {about['machine']}."
    return "\n".join([*rows, "", told])


def search(variant: str) -> str:
    """What `python -m eval.search` found for a game."""
    kept = json.loads((ROOT / "docs/search.json").read_text(encoding="utf-8"))
    found = kept["games"][variant]
    settings, about = found["settings"], found["about"]
    agents = found["agents"].values()
    opponents = next(iter(agents))["wins"]
    rows = [f"| `{variant}` | budget | milliseconds | gain | {' | '.join(f'among `{name}`' for name in opponents)} |"]
    rows.append("| --- |" + " ---: |" * (3 + len(opponents)))
    for one in agents:
        gain = "" if one["gain"] is None else f"{one['gain']:.4f}"
        wins = " | ".join(f"{mean:.3f} [{low:.3f}, {high:.3f}]" for mean, low, high in one["wins"].values())
        rows.append(f"| {one['kind']} | {one['budget'] or ''} | {one['ms']:.3f} | {gain} | {wins} |")
    rows.append(f"| the uniform policy | | | {found['random']:.4f} |{' |' * len(opponents)}")
    widths = " x ".join(map(str, settings["widths"]))
    told = (
        f"Endgames of {settings['endgames']} limbs; a prior of {widths} from {settings['decisions']:,} decisions of `train.ppo`; "
        f"{settings['starts']} starts in all rotations; seed {settings['seed']}; {about['machine']}, numba {about['numba']}."
    )
    return "\n".join([*rows, "", told])


def quality() -> str:
    """What `python -m eval.speed.quality` found: gains by minutes, a number a seed, and wins after the longest time."""
    kept = json.loads((ROOT / "docs/quality.json").read_text(encoding="utf-8"))
    runs = list(kept["runs"].values())
    minutes, bots = sorted({one["minutes"] for one in runs}), next(one["wins"] for one in runs if one["gain"] is not None)

    def gains(its: list[dict[str, Any]]) -> str:
        return ", ".join("nothing saved" if one["gain"] is None else f"{one['gain']:.3f}" for one in its)

    rows = [
        "| way | threads |" + "".join(f" {each:g} min |" for each in minutes) + "".join(f" wins against `{bot}` |" for bot in bots)
    ]
    rows.append("| --- | ---: |" + " --- |" * (len(minutes) + len(bots)))
    for way, threads in dict.fromkeys((one["way"], one["threads"]) for one in runs):
        its = [one for one in runs if (one["way"], one["threads"]) == (way, threads)]
        last = [one for one in its if one["gain"] is not None and one["minutes"] == max(each["minutes"] for each in its)]
        wins = [f"{statistics.median(one['wins'][bot][0] for one in last):.3f}" if last else "" for bot in bots]
        at = [gains([one for one in its if one["minutes"] == each]) for each in minutes]
        rows.append(f"| {way} | {threads} | {' | '.join([*at, *wins])} |")
    seeds = sorted({one["seed"] for one in runs})
    about = kept["about"]
    told = f"`{kept['variant']}`; seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}; {about['machine']}, "
    told += f"commit {about['commit']}, torch {about['torch']}."
    return "\n".join([*rows, "", told])


def memory(what: str) -> str:
    """What `python -m eval.memory` found: `wins` or `lead`."""
    kept = json.loads((ROOT / "docs/memory.json").read_text(encoding="utf-8"))
    settings, about = kept["settings"], kept["about"]

    def shown(estimate: list[float]) -> str:
        mean, low, high = estimate
        return f"{mean:.3f} [{low:.3f}, {high:.3f}]"

    if what == "lead":
        rows = ["| pair | lead of the first | better |", "| --- | ---: | --- |"]
        for pair, lead in kept["lead"].items():
            one, other = pair.split()
            better = next((first for first, second in kept["order"] if {first, second} == {one, other}), "can't be told")
            rows.append(f"| {one} and {other} | {shown(lead)} | {better} |")
        return "\n".join(rows)
    rows = [
        f"| policy | minutes | wins among bots | {' | '.join(f'among {name}' for name in kept['bots'])} |",
        "| --- |" + " ---: |" * (2 + len(kept["bots"])),
    ]
    for name, bots in kept["bots"].items():
        wins = [shown(kept["among"][name][many]) if many != name else "" for many in kept["bots"]]
        rows.append(f"| {name} | {statistics.median(kept['minutes'][name]):.1f} | {shown(bots)} | {' | '.join(wins)} |")
    widths, seeds = " x ".join(map(str, settings["widths"])), ", ".join(map(str, settings["seeds"]))
    told = (
        f"`{settings['variant']}`; {settings['decisions']:,} decisions each, layers of {widths}, seeds {seeds}; "
        f"{settings['starts']} starts of each match in all rotations; {about['machine']}, torch {about['torch']}, "
        f"sb3-contrib {about['sb3-contrib']}."
    )
    return "\n".join([*rows, "", told])


def table(what: str) -> str:
    """The table that a page asks for: `variants`, `layout` and `facts` with a variant, one of the second game, of speeds, ..."""
    kind, *words = what.split()
    if kind in ("extras", "bibtex"):
        return {"extras": extras, "bibtex": bibtex}[kind]()
    if kind == "facts":
        return facts(words[0])
    if kind.startswith("speed-"):
        from docs import speed

        return speed.table(what, speed.kept_figures())
    if kind == "exact-learning":
        return exact_learning(words[0])
    if kind == "memory":
        return memory(words[0])
    if kind == "search":
        return search(words[0])
    if kind == "quality":
        return quality()
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
