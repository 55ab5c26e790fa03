"""`python -m eval.memory`: what remembering is worth in the memory game.

Four policies learn by `train.selfplay`, with layers of the same widths and the same number of decisions, several seeds of each: one
that remembers (an LSTM), one that is shown all past rounds, one without a memory, and one of the face-up game, which plays the
memory game behind perfect recall. Each plays one against many of every other, and of the bots. The command goes on where it was
broken off, and writes docs/memory.json and a picture; `python -m docs.tables` puts the figures into the page.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from getbit_env.command_line import need, no_bar
from getbit_env.core.files import write_json, write_whole
from getbit_env.core.provenance import provenance
from getbit_env.game_registry import find_variant
from getbit_env.get_bit import ID
from getbit_env.get_bit.variants import Variant
from getbit_env.match import play_match
from getbit_env.match.comparison import seed_interval
from train import selfplay
from train.run_file import read_config

from .studies import conduct, study_parser

VARIANT = "4p-memory"
BOTS = ("counter", "forgetful", "lookahead")
DECISIONS, STARTS, SEEDS = 400_000, 960, (0, 1, 2, 3)
WIDTHS = [64, 64]
# Rollouts are a quarter of those that the recipe has by default: so few decisions need more updates.
OPTIONS: dict[str, Any] = {"n_envs": 256, "batch_size": 2048, "eval_freq": 16, "eval_starts": 240}


class Policy(NamedTuple):
    """One of the policies that are compared."""

    title: str
    options: Mapping[str, Any]  # of `train.selfplay`
    face_up: bool = False  # trained in the face-up game, and plays behind perfect recall


POLICIES = {
    "recall": Policy("face-up, behind perfect recall", {}, face_up=True),
    "history": Policy("shown all past rounds", {"observe": ["history"]}),
    # An LSTM in place of the first layer, so that there are as many layers, of the same widths.
    "recurrent": Policy("with an LSTM", {"policy": "MlpLstmPolicy", "lstm_hidden_size": WIDTHS[0], "net_arch": WIDTHS[1:]}),
    "memoryless": Policy("without a memory", {}),
}


class Match(NamedTuple):
    """One agent in one seat, another in all others."""

    one: str  # names, as the figures have them
    many: str
    line_up: tuple[str, ...]  # as `load_agent` knows them
    seed: int  # of the training, and of the starts: what they add by chance is in the intervals over seeds


def run_options(policy: Policy, variant: Variant, seed: int, decisions: int) -> selfplay.Config:
    """How a policy is trained."""
    game = dataclasses.replace(variant, memory=not policy.face_up)
    options = {"net_arch": WIDTHS, **OPTIONS, **policy.options}
    return selfplay.Config(variant=game.name, total_timesteps=decisions, seed=seed, **options)


def trained(folder: Path, options: selfplay.Config) -> Path:
    """Train a policy, unless it is there.

    Raises:
        ValueError: the folder holds a run with other options.
    """
    if (folder / "card.md").exists() and read_config(selfplay.RECIPE, folder).options == options:
        return folder
    return selfplay.train(options, folder, quiet=no_bar())


def minutes_of(folder: Path) -> float:
    """How long a run took, evaluations included."""
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        *_, last = csv.DictReader(file)
    return float(last["seconds"]) / 60


def matches(folders: Mapping[tuple[str, int], Path], variant: Variant, seeds: Sequence[int]) -> Iterator[Match]:
    """All that is played: the policies of a seed among each other, and each among every bot."""
    others = variant.players - 1
    names = {key: f"recall:{folder}" if POLICIES[key[0]].face_up else str(folder) for key, folder in folders.items()}
    for seed in seeds:
        for one, many in itertools.permutations(POLICIES, 2):
            yield Match(f"{one} {seed}", many, (names[one, seed], *[names[many, seed]] * others), seed)
        for one, bot in itertools.product(POLICIES, BOTS):
            yield Match(f"{one} {seed}", f"bot {bot}", (names[one, seed], *[bot] * others), seed)


def conclude(wins: Mapping[str, Mapping[str, Sequence[float]]], seeds: Sequence[int]) -> dict[str, Any]:
    """What the matches say of the policies, with intervals over training seeds.

    Args:
        wins: `wins["recurrent 0"]["memoryless"]`: how often it wins as one among many of the same seed.
        seeds: of the trainings.

    Returns:
        `bots`: by policy, wins as one among many of a bot, the mean over bots; `among`: by policy and policy, wins of one among
        many; `lead`: by pair, wins of the first among the second less those of the second among the first; each a mean and the ends
        of its interval. `order`: the pairs whose lead tells which one is better, the better one first.
    """

    def over_seeds(values: Sequence[float], least: float = 0.0) -> list[float | None]:
        return list(seed_interval(values, least, 1.0))

    def share(one: str, many: str, seed: int) -> float:
        return float(wins[f"{one} {seed}"][many][0])

    bots = {
        one: over_seeds([sum(share(one, f"bot {bot}", seed) for bot in BOTS) / len(BOTS) for seed in seeds]) for one in POLICIES
    }
    among: dict[str, Any] = {one: {} for one in POLICIES}
    for one, many in itertools.permutations(POLICIES, 2):
        among[one][many] = over_seeds([share(one, many, seed) for seed in seeds])
    lead, order = {}, []
    for one, other in itertools.combinations(POLICIES, 2):
        low_high = over_seeds([share(one, other, seed) - share(other, one, seed) for seed in seeds], -1.0)
        lead[f"{one} {other}"] = low_high
        _, low, high = low_high
        assert low is not None
        assert high is not None
        if low > 0 or high < 0:
            order.append([one, other] if low > 0 else [other, one])
    return {"bots": bots, "among": among, "lead": lead, "order": order}


def study(given: Any) -> dict[str, Any]:
    """Train what is not trained, and play what is not played."""
    variant: Variant = find_variant(given.variant)
    settings = {  # with others, other matches are played
        "variant": variant.name,
        "decisions": given.decisions,
        "starts": given.starts,
        "widths": WIDTHS,
        "options": OPTIONS,
    }
    folders, minutes = {}, {name: list[float]() for name in POLICIES}
    runs = list(itertools.product(given.seeds, POLICIES))
    for number, (seed, name) in enumerate(runs, 1):
        print(f"{number}/{len(runs)}: {name}, seed {seed}", file=sys.stderr, flush=True)
        options = run_options(POLICIES[name], variant, seed, given.decisions)
        folders[name, seed] = folder = trained(given.output / f"{name}-{seed}", options)
        minutes[name].append(round(minutes_of(folder), 1))
    at = given.output / "figures.json"
    kept = json.loads(at.read_text(encoding="utf-8")) if at.exists() else {}
    if kept.get("settings") != settings:
        kept = {"settings": settings, "wins": {}}
    wins = kept["wins"]
    wanted = list(matches(folders, variant, given.seeds))
    for number, match in enumerate(wanted, 1):
        its = wins.setdefault(match.one, {})
        if match.many in its:
            continue
        result = play_match(match.line_up, variant, starts=given.starts, seed=match.seed)
        if result.failure:
            raise ValueError(f"{match.one} among {match.many} failed: {result.failure}")
        its[match.many] = list(result[match.line_up[0]].win)
        print(
            f"{number}/{len(wanted)}: {match.one} among {match.many}: {result[match.line_up[0]].win}", file=sys.stderr, flush=True
        )
        write_json(at, kept)
    its_own = {match.one: wins[match.one] for match in wanted}
    return {"settings": {**settings, "seeds": given.seeds}, "wins": its_own, "minutes": minutes, **conclude(wins, given.seeds)}


def draw(figures: Mapping[str, Any], path: Path) -> None:
    """Draw the lead of each pair, and wins among bots beside it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    panels = (
        (
            left,
            {name.replace(" ", " over "): lead for name, lead in figures["lead"].items()},
            0.0,
            "lead in wins of one among many",
        ),
        (right, figures["bots"], 1 / find_variant(figures["settings"]["variant"]).players, "wins among bots"),
    )
    for axes, shown, neutral, title in panels:
        for row, (mean, low, high) in enumerate(shown.values()):
            axes.errorbar(mean, row, xerr=[[mean - low], [high - mean]], fmt="o", color="C0", capsize=3)
        axes.axvline(neutral, color="grey", linestyle="--", linewidth=1)
        axes.set_yticks(range(len(shown)), list(shown))
        axes.invert_yaxis()
        axes.set_xlabel(title)
        axes.grid(alpha=0.3)
    write_whole(path, lambda part: figure.savefig(part, dpi=120, format="png"))


def make_parser(prog: str) -> Any:
    """The command line."""
    parser = study_parser(prog, __doc__ or "", {"": "as docs/memory.md says", "--decisions 4000000": "longer"}, "memory")
    parser.add_argument("--variant", default=VARIANT, help="a memory game (%(default)s)")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="that each policy learns from (%(default)s)")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help=f"of each (default: {' '.join(map(str, SEEDS))})")
    parser.add_argument("--starts", type=int, default=STARTS, help="of each match (%(default)s)")
    return parser


def check(given: Any) -> None:
    """Refuse what can't be studied.

    Raises:
        ValueError: with what is wrong.
    """
    need("sb3_contrib", "matplotlib")
    if not getattr(find_variant(given.variant), "memory", False):
        raise ValueError(f"--variant is a memory game of Get Bit!, such as {VARIANT}, not {given.variant!r}")
    if len(set(given.seeds)) < max(len(given.seeds), 2):
        raise ValueError(f"--seeds are two or more different ones, not {' '.join(map(str, given.seeds))}")


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.memory") -> None:
    """Run the command."""
    parser = make_parser(prog)
    given = parser.parse_args(arguments)
    conduct(parser, given, check=lambda: check(given), study=lambda: {"about": provenance(ID), **study(given)}, draw=draw)


if __name__ == "__main__":
    main()
