"""A tournament of agents: a cross table of wins, ratings, JSON and a picture.

Every agent plays every other in line-ups of one against many, and in mixed line-ups, all from the same starts. The same command
continues a tournament that was broken off.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from getbit_env.command_line import (
    add_ray_argument,
    add_variant_arguments,
    at_least_one,
    at_least_zero,
    command_parser,
    interruptible,
    leave,
    need,
    no_bar,
    variant_of,
)
from getbit_env.core.files import InUseError, write_whole
from getbit_env.core.spec import Variant
from getbit_env.game_registry import find_game, game_ids
from getbit_env.match.rankings import ALPHA, MOST_PRESSURE, Voting, alpha_rank, check_method, elect, payoffs_of, wins_of
from getbit_env.match.ratings import Rating, rate
from getbit_env.match.runner import STARTS, ForfeitError
from getbit_env.match.tournament import MIXED, TIME_LIMIT, TournamentResult, cross_line_ups, mixed_line_ups, play_tournament

EXAMPLES = {
    "counter random highest lowest --players 4": "four bots in the game of four",
    "two_players counter --players 2 --starts 24 --json": "a trained agent and a bot, as JSON, from 24 starts",
    "sharks-greedy sharks-careful --variant sharks-2p-level2": "the second game",
}
NOT_PLAYED = "forfeit*"
NOT_KNOWN = "-"
RECORDED = 12  # games of a line-up
MOST_ALPHA = MOST_PRESSURE / 2  # payoffs lie within -1..1
LONGEST_LABEL = 24  # letters; longer ones leave no room for the picture


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    games = [find_game(game) for game in game_ids()]
    bots = "; ".join(f"in {game}: {', '.join(game.bots)}" for game in games)
    rewards = dict.fromkeys(reward.value for game in games for reward in game.rewards)
    parser.add_argument(
        "agents",
        nargs="+",
        metavar="NAME",
        help=f"a bot ({bots}), a trained agent, equilibrium, a run's folder, sb3:PATH.zip, module:attribute, recall: and a name",
    )
    add_variant_arguments(parser)
    parser.add_argument("--starts", type=int, default=STARTS, help="starts a line-up, each in all rotations (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reward", help=f"what finishing places pay: {', '.join(rewards)} (default: the first that the game has)")
    parser.add_argument("--mixed", type=at_least_zero, default=MIXED, help="mixed line-ups at most (default %(default)s)")
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, help="seconds for one call of an agent (default %(default)s)"
    )
    parser.add_argument("--processes", type=at_least_one, default=1)
    add_ray_argument(parser, "line-ups")
    parser.add_argument("--output", type=Path, help="folder for results and picture (default runs/tournament/...)")
    parser.add_argument(
        "--record", type=Path, metavar="FOLDER", help="record games of the line-ups that are played, as replays, a file each"
    )
    parser.add_argument(
        "--record-games", type=at_least_one, metavar="N", help=f"with --record: games of each line-up (default {RECORDED})"
    )
    parser.add_argument(
        "--alpha-rank",
        nargs="?",
        type=float,
        const=ALPHA,
        metavar="ALPHA",
        help=f"rank by alpha-Rank of OpenSpiel, with this selection intensity (default {ALPHA:g})",
    )
    parser.add_argument(
        "--vase",
        nargs="?",
        const=Voting.SCHULZE.value,
        choices=[method.value for method in Voting],
        metavar="METHOD",
        help=f"rank by votes of the opponents (VasE), counted by OpenSpiel: {', '.join(Voting)} (default {Voting.SCHULZE})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    return parser


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.tournament") -> int:
    """Run the command; returns its exit code."""
    parser = make_parser(prog)
    options = parser.parse_args(arguments)
    if options.record_games is not None and options.record is None:
        parser.error("--record-games N says how many games go into --record FOLDER, which is not given")
    try:
        need("tqdm", "matplotlib", *_packages_of_rankings(options))
        variant = variant_of(options)
        folder = options.output or Path("runs/tournament") / f"{variant}-starts{options.starts}-seed{options.seed}"
        with interruptible():
            result = _play(options, variant, folder / "tournament.json")
            ratings, rankings = _ratings(result, options.seed), _rankings(result, options.alpha_rank, options.vase)
            _draw(result, ratings, folder / "tournament.png")
    except (ValueError, InUseError, OSError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("broken off; the same command goes on from here\n")
        return 130
    if options.json:
        rated = {name: rating._asdict() for name, rating in ratings.items()}
        sys.stdout.write(json.dumps({**result.to_dict(), "ratings": rated, "rankings": rankings}) + "\n")
    else:
        sys.stdout.write(report(result, ratings, rankings) + f"\n\nResults and picture are in {folder}\n")
    if result.failed:
        sys.stderr.write(f"failed in every line-up: {', '.join(result.failed)}\n")
        return 1
    return 0


def _draw(result: TournamentResult, ratings: dict[str, Rating], file: Path) -> None:
    """`draw`; results that were played are told also if the picture can't be written."""
    try:
        draw(result, ratings, file)
    except OSError as error:
        sys.stderr.write(f"no picture: {error}\n")


def _play(options: argparse.Namespace, variant: Variant, file: Path) -> TournamentResult:
    players, mixed = variant.players, options.mixed
    line_ups = len(cross_line_ups(options.agents, players)) + len(mixed_line_ups(options.agents, players, mixed))
    with nullcontext() if no_bar() else _bar(line_ups) as bar:
        return play_tournament(
            options.agents,
            variant,
            starts=options.starts,
            seed=options.seed,
            reward=options.reward,
            mixed=options.mixed,
            time_limit=options.time_limit,
            processes=options.processes,
            ray=options.ray,
            path=file,
            progress=None if bar is None else _mover(bar),
            record=options.record,
            record_games=None if options.record is None else options.record_games or RECORDED,
        )


def _bar(line_ups: int) -> Any:
    from tqdm import tqdm

    shape = "{percentage:3.0f}% {bar} {n:.1f}/{total} line-ups, {remaining} left {desc}"
    return tqdm(total=line_ups, file=sys.stderr, bar_format=shape)


def _mover(bar: Any) -> Callable[[tuple[str, ...], float], None]:
    """A function that moves a bar of line-ups to the sum of the parts that are done; rounding never moves it beyond its end."""
    done: dict[tuple[str, ...], float] = {}

    def show(line_up: tuple[str, ...], part: float) -> None:
        done[line_up] = part
        bar.set_description_str(" ".join(line_up), refresh=False)
        bar.update(min(math.fsum(done.values()), bar.total) - bar.n)
        bar.n = round(bar.n, 9)

    return show


def _ratings(result: TournamentResult, seed: int) -> dict[str, Rating]:
    try:
        return rate(result.matches, seed)
    except ImportError as error:
        sys.stderr.write(f"no ratings: {error}\n")
        return {}


def _packages_of_rankings(options: argparse.Namespace) -> list[str]:
    """What the rankings that are asked for import.

    Raises:
        ValueError: they can't be computed of any tournament of these agents.
    """
    if options.alpha_rank is not None and not 0 < options.alpha_rank <= MOST_ALPHA:
        raise ValueError(f"--alpha-rank takes a number over 0, and {MOST_ALPHA:g} at most, not {options.alpha_rank}")
    if options.vase is not None:
        check_method(options.vase, len(options.agents))
    asked = options.alpha_rank is not None or options.vase is not None
    return [*["open_spiel", "networkx"] * asked, *["cvxpy", "ecos"] * (options.vase == Voting.MAXIMAL_LOTTERIES)]


def _rankings(result: TournamentResult, alpha: float | None, method: str | None) -> dict[str, dict[str, float]]:
    """The rankings that were asked for, by what they are called. A table that was not played leaves the tournament without them.

    Raises:
        ValueError: alpha is too large or no number over 0, or there are too many agents for the method.
    """
    found: dict[str, dict[str, float]] = {}
    try:
        if alpha is not None:
            found[f"alpha-Rank, alpha {alpha:g}"] = alpha_rank(result.agents, payoffs_of(result), alpha=alpha)
        if method is not None:
            found[f"Votes of the opponents, {method}"] = elect(result.agents, wins_of(result), method)
    except ForfeitError as error:
        sys.stderr.write(f"no rankings: {error}\n")
    return found


def report(result: TournamentResult, ratings: dict[str, Rating], rankings: Mapping[str, Mapping[str, float]] | None = None) -> str:
    """The result as text."""
    many = result.players - 1
    share = 1 / result.players
    width = max(len(name) for name in result.agents)
    column = max(width, 21)
    games = next((match.games for match in result.matches if match.failure is None), 0)
    rows = [
        f"{result.settings['variant']}, {games} games a line-up, all from the same starts (seed {result.settings['seed']})",
        f"95 % intervals over starts; the equal share is {share:.3f}",
        "",
        f"Wins of one (row) among {many} x another (column)",
        " " * width + "".join(f"  {name:>{column}}" for name in result.agents),
    ]
    for one in result.agents:
        cells = [_win(result, one, other) for other in result.agents]
        rows.append(f"{one:{width}}" + "".join(f"  {cell:>{column}}" for cell in cells))
    if result.mixed:
        rows += ["", "Mixed line-ups: wins and mean payoff of a seat"]
        for match in result.mixed:
            rows.append(", ".join(f"{name} x{s.seats}" if s.seats > 1 else name for name, s in match.standings.items()))
            if match.failure:
                rows.append(f"    {NOT_PLAYED}")
            else:
                rows += [f"    {name:{width}}  {s.win!s:{column}}  {s.payoff}" for name, s in match.standings.items()]
    if ratings:
        rows += [
            "",
            f"OpenSkill ratings: mean over shuffled orders of the games, and its standard error\n{'':{width}}      mu  error",
        ]
        rows += [f"{name:{width}}  {r.mu:6.2f}  {r.error:5.2f}" for name, r in ratings.items()]
    for name, scores in (rankings or {}).items():
        rows += ["", name]
        rows += [f"{agent:{width}}  {score:8.4g}" for agent, score in scores.items()]
    failures = [match for match in result.matches if match.failure]
    if failures:
        rows += ["", "* Forfeits: an agent failed, and nothing was played. The ratings leave these line-ups out"]
        rows += [f"{m.failure.agent} at {', '.join(m.line_up)}: {m.failure.reason}" for m in failures if m.failure]
    if result.settings["unchecked"]:
        rows += ["", f"Code, whose changes a resumed tournament can't notice in full: {', '.join(result.settings['unchecked'])}"]
    return "\n".join(rows)


def _win(result: TournamentResult, one: str, many: str) -> str:
    try:
        win = result.win(one, many)
    except ForfeitError:
        return NOT_PLAYED
    return NOT_KNOWN if win is None else str(win)


def draw(result: TournamentResult, ratings: dict[str, Rating], file: Path) -> None:
    """The cross table as a picture, and the ratings beside it."""
    from matplotlib import colormaps, colors
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names, share = [_plain(name) for name in result.agents], 1 / result.players
    n = len(names)
    side = max(3.5, 1.0 * n + 1)
    figure = Figure(figsize=(side * (1.8 if ratings else 1.2), side), layout="constrained")
    FigureCanvasAgg(figure)
    ratios = [1.6, 1] if ratings else None
    axes = figure.subplots(1, 2 if ratings else 1, width_ratios=ratios, squeeze=False)
    cross = axes[0, 0]
    cells = [[_cell(result, one, many) for many in result.agents] for one in result.agents]
    scale = colors.TwoSlopeNorm(share, 0, 1)
    cross.imshow([[mean for mean, _ in row] for row in cells], cmap=colormaps["RdBu"].with_extremes(bad="0.92"), norm=scale)
    for i, row in enumerate(cells):
        for j, (mean, text) in enumerate(row):
            strong = abs(scale(mean) - 0.5) > 0.3  # not where nothing was played
            cross.text(j, i, text, ha="center", va="center", color="white" if strong else "black", fontsize=9)
    cross.set_xticks(
        range(n), [f"{result.players - 1} x {name}" if result.players > 2 else name for name in names], rotation=30, ha="right"
    )
    cross.set_yticks(range(n), names)
    cross.set_title(f"{result.settings['variant']}: wins of one (row) among others (column)\nequal share {share:.3f}", fontsize=10)
    if ratings:
        rated = axes[0, 1]
        order = list(reversed(ratings.items()))
        rated.errorbar(
            [rating.mu for _, rating in order],
            range(len(order)),
            xerr=[2 * rating.error for _, rating in order],
            fmt="o",
            color="black",
            capsize=3,
        )
        rated.set_yticks(range(len(order)), [_plain(name) for name, _ in order])
        rated.set_ylim(-0.5, len(order) - 0.5)
        rated.grid(axis="x", alpha=0.3)
        rated.set_title("OpenSkill rating, ± 2 standard errors", fontsize=10)
    write_whole(file, lambda part: figure.savefig(part, dpi=150, format="png"))


def _plain(name: str) -> str:
    """The end of a name, as matplotlib writes it: between two `$` it would read mathematics."""
    return (name if len(name) <= LONGEST_LABEL else f"…{name[-LONGEST_LABEL:]}").replace("$", r"\$")


def _cell(result: TournamentResult, one: str, many: str) -> tuple[float, str]:
    """Mean and text of a cell; no number where an agent failed, or where a win of an agent among its like is not known."""
    try:
        win = result.win(one, many)
    except ForfeitError:
        return math.nan, NOT_PLAYED.rstrip("*")
    if win is None:
        return math.nan, NOT_KNOWN
    text = f"{win.mean:.3f}"
    return win.mean, text if win.low is None or win.high is None else f"{text}\n±{(win.high - win.low) / 2:.3f}"


if __name__ == "__main__":
    leave(main())
