"""`python -m eval.tournament NAME...`: a tournament of agents, as a table, JSON and a picture."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from getbit_env.agent_registry import load_agent
from getbit_env.command_line import add_variant_arguments, variant_of
from getbit_env.exact.agents import PositionAgent
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.variants import Reward, Variant
from getbit_env.match.ratings import Rating, rate
from getbit_env.match.runner import STARTS
from getbit_env.match.tournament import MIXED, TIME_LIMIT, TournamentResult, cross_tables, mixed_tables, play_tournament


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m eval.tournament", description=__doc__)
    parser.add_argument(
        "agents",
        nargs="+",
        metavar="NAME",
        help=f"a bot ({', '.join(BOTS)}), a trained agent, equilibrium, a run's folder, module:attribute, recall: and one of these",
    )
    add_variant_arguments(parser)
    parser.add_argument("--starts", type=int, default=STARTS, help="starts a table, each in all rotations (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--reward", default="win", choices=[r.value for r in Reward], help="what finishing places pay (default %(default)s)"
    )
    parser.add_argument("--mixed", type=int, default=MIXED, help="mixed tables at most (default %(default)s)")
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, help="seconds for one call of an agent (default %(default)s)"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, help="folder for results and picture (default runs/tournament/...)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args(arguments)
    try:
        variant = variant_of(options)
        folder = options.output or Path("runs/tournament") / f"{variant}-starts{options.starts}-seed{options.seed}"
        _look_over(options.agents, variant)
        result = _play(options, variant, folder / "tournament.json")
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("broken off; the same command goes on from here\n")
        return 130
    ratings = _ratings(result, options.seed)
    draw(result, ratings, folder / "tournament.png")
    if options.json:
        rated = {name: rating._asdict() for name, rating in ratings.items()}
        sys.stdout.write(json.dumps({**result.to_dict(), "ratings": rated}) + "\n")
    else:
        sys.stdout.write(report(result, ratings) + f"\n\nResults and picture are in {folder}\n")
    return 0


def _look_over(names: Sequence[str], variant: Variant) -> None:
    """Refuse what plays by a table that is not there, and would lose all of its matches.

    Raises:
        ValueError: a name stands for no agent, or its table can't be used.
        FileNotFoundError: its table was not made yet.
    """
    for name in names:
        agent = load_agent(name)
        if isinstance(agent, PositionAgent):
            agent.positions_of(variant)


def _play(options: argparse.Namespace, variant: Variant, file: Path) -> TournamentResult:
    tables = len(cross_tables(options.agents, variant.players)) + len(mixed_tables(options.agents, variant.players, options.mixed))
    with tqdm(
        total=tables, file=sys.stderr, bar_format="{percentage:3.0f}% {bar} {n:.1f}/{total} tables, {remaining} left {desc}"
    ) as bar:
        tables_done: dict[tuple[str, ...], float] = {}

        def show(table: tuple[str, ...], part: float) -> None:
            bar.set_description_str(" ".join(table), refresh=False)
            bar.update(part - tables_done.get(table, 0.0))
            tables_done[table] = part

        return play_tournament(
            options.agents,
            variant,
            starts=options.starts,
            seed=options.seed,
            reward=options.reward,
            mixed=options.mixed,
            time_limit=options.time_limit,
            processes=options.processes,
            path=file,
            progress=show,
        )


def _ratings(result: TournamentResult, seed: int) -> dict[str, Rating]:
    try:
        return rate(result.matches, seed)
    except ImportError as error:
        sys.stderr.write(f"no ratings: {error}\n")
        return {}


def report(result: TournamentResult, ratings: dict[str, Rating]) -> str:
    """The result as text."""
    many = result.players - 1
    share = 1 / result.players
    width = max(len(name) for name in result.agents)
    column = max(width, 21)
    head = f"{result.settings['variant']}, {result.matches[0].games or result.settings['starts'] * result.players} games a table"
    rows = [
        head + f", 95 % intervals over starting lines; the equal share is {share:.3f}",
        "",
        f"Wins of one (row) among {many} x another (column)",
        " " * width + "".join(f"  {name:>{column}}" for name in result.agents),
    ]
    for one in result.agents:
        cells = [f"{result.win(one, other)}{_failed(result, one, other)}" if one != other else "-" for other in result.agents]
        rows.append(f"{one:{width}}" + "".join(f"  {cell:>{column}}" for cell in cells))
    if result.mixed:
        rows += ["", "Mixed tables: wins and mean payoff of a seat"]
        for match in result.mixed:
            rows.append(", ".join(f"{name} x{s.seats}" if s.seats > 1 else name for name, s in match.standings.items()))
            rows += [f"    {name:{width}}  {s.win!s:{column}}  {s.payoff}" for name, s in match.standings.items()]
    if ratings:
        rows += ["", f"OpenSkill ratings over shuffled orders\n{'':{width}}      mu  sigma  spread"]
        rows += [f"{name:{width}}  {r.mu:6.2f}  {r.sigma:5.2f}  {r.spread:6.2f}" for name, r in ratings.items()]
    failures = [match for match in result.matches if match.failure]
    if failures:
        rows += ["", "* Failures: these matches count as lost"]
        rows += [f"{m.failure.agent} at {', '.join(m.line_up)}: {m.failure.reason}" for m in failures if m.failure]
    return "\n".join(rows)


def draw(result: TournamentResult, ratings: dict[str, Rating], file: Path) -> None:
    """The cross table as a picture, and the ratings beside it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import colors, pyplot

    names, share = result.agents, 1 / result.players
    n = len(names)
    side = max(3.5, 1.0 * n + 1)
    figure, axes = pyplot.subplots(
        1,
        2 if ratings else 1,
        figsize=(side * (1.8 if ratings else 1.2), side),
        width_ratios=[1.6, 1] if ratings else None,
        layout="constrained",
        squeeze=False,
    )
    cross = axes[0, 0]
    wins = [[result.win(one, many) for many in names] for one in names]
    scale = colors.TwoSlopeNorm(share, 0, 1)
    cross.imshow([[win.mean for win in row] for row in wins], cmap="RdBu", norm=scale)
    for i, row in enumerate(wins):
        for j, win in enumerate(row):
            strong = abs(scale(win.mean) - 0.5) > 0.3
            cross.text(
                j, i, _cell(result, names[i], names[j]), ha="center", va="center", color="white" if strong else "black", fontsize=9
            )
    cross.set_xticks(
        range(n), [f"{result.players - 1} x {name}" if result.players > 2 else name for name in names], rotation=30, ha="right"
    )
    cross.set_yticks(range(n), names)
    cross.set_title(f"{result.settings['variant']}: wins of one (row) among others (column)\nequal share {share:.3f}", fontsize=10)
    if ratings:
        rated = axes[0, 1]
        order = list(reversed(ratings))
        rated.errorbar(
            [ratings[name].mu for name in order],
            range(len(order)),
            xerr=[2 * ratings[name].sigma for name in order],
            fmt="o",
            color="black",
            capsize=3,
        )
        rated.set_yticks(range(len(order)), order)
        rated.set_ylim(-0.5, len(order) - 0.5)
        rated.grid(axis="x", alpha=0.3)
        rated.set_title("OpenSkill rating, ± 2 sigma", fontsize=10)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


def _failed(result: TournamentResult, one: str, many: str) -> str:
    return "*" if result.match(one, many).failure else ""


def _cell(result: TournamentResult, one: str, many: str) -> str:
    if one == many:
        return "-"
    win = result.win(one, many)
    text = f"{win.mean:.3f}{_failed(result, one, many)}"
    return text if win.low is None or win.high is None else f"{text}\n±{(win.high - win.low) / 2:.3f}"


if __name__ == "__main__":
    sys.exit(main())
