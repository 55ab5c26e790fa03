"""`python -m eval.search`: what search is worth, against the time of a decision.

Flat Monte-Carlo and tree search of growing budgets: by random playouts, with a trained policy and its values, and with solved
endgames. Each is judged exactly where it can be, by the gain of a best response, and plays one against many of several opponents.
The command trains the policy first. It goes on where it was broken off, and writes docs/search.json and a picture;
`python -m docs.tables` puts the figures into the page.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from getbit_env import load_agent
from getbit_env.command_line import need, no_bar
from getbit_env.core.files import write_json, write_whole
from getbit_env.core.provenance import provenance
from getbit_env.exact import GameGraph, Positions, gain_of
from getbit_env.game_registry import find_variant
from getbit_env.get_bit import ID
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.variants import Variant
from getbit_env.match import play_match
from train import ppo

from .speed.workloads import midgame
from .studies import conduct, study_parser

VARIANTS = ("4p-2l",)
OPPONENTS = ("counter", "lookahead", "montecarlo")
PLAYOUTS, SIMULATIONS = (10, 40, 200, 1000), (32, 128, 512, 2048)
WITH_NETWORK = (32, 128)  # simulations: each costs as much as ten without
ENDGAMES = 5 / 8  # of the limbs that are in the line at the start
DECISIONS, WIDTHS, SEED = 2_000_000, [64, 64], 0
STARTS = 48
TIMED = 64  # decisions
PRIOR = "train.ppo alone"  # kind of what searches nothing


class Searcher(NamedTuple):
    """An agent of the study."""

    kind: str  # what it searches with
    budget: int  # playouts of an action, or simulations; 0: it does not search
    name: str  # as `load_agent` knows it


def searchers(
    prior: str,
    playouts: Sequence[int],
    simulations: Sequence[int],
    networks: Sequence[int],
    endgames: int,
    with_endgames: Sequence[int],
) -> Iterator[Searcher]:
    """All agents of the study.

    Args:
        prior: name of the trained agent.
        playouts: of each action of flat Monte-Carlo.
        simulations: of tree search without a network.
        networks: likewise with one.
        endgames: limbs in the line of the endgames that are solved.
        with_endgames: simulations of tree search with these and without a network.
    """
    yield Searcher(PRIOR, 0, prior)
    for budget in playouts:
        yield Searcher("flat Monte-Carlo", budget, f"montecarlo@playouts={budget}")
    tree = "tree-search@simulations={}"
    for budget in simulations:
        yield Searcher("tree search", budget, tree.format(budget))
    for budget in networks:
        yield Searcher("tree search, prior", budget, f"{tree.format(budget)}@prior={prior}")
    for budget in networks:
        yield Searcher("tree search, prior and values", budget, f"{tree.format(budget)}@prior={prior}@leaves=values")
    for budget in with_endgames:
        yield Searcher("tree search, endgames", budget, f"{tree.format(budget)}@endgames={endgames}")
    for budget in networks:
        its = f"{tree.format(budget)}@prior={prior}@leaves=values@endgames={endgames}"
        yield Searcher("tree search, prior, values and endgames", budget, its)


def trained(variant: str, folder: Path, decisions: int) -> str:
    """The folder of the policy that the search begins with, trained if it is not there yet."""
    if not (folder / "card.md").exists():
        config = ppo.Config(variant=variant, total_timesteps=decisions, net_arch=WIDTHS, seed=SEED)
        ppo.train(config, folder, quiet=no_bar())
    return str(folder)


def judge(searcher: Searcher, variant: Variant, graph: GameGraph | None, starts: int) -> dict[str, Any]:
    """What one agent takes, gives away, and wins.

    Args:
        searcher: the agent.
        variant: the game.
        graph: of the game; None: it is not judged exactly.
        starts: of each match.

    Returns:
        Processor time of a decision in milliseconds, in a batch and alone; exact gain and NashConv, None where it has no policy to
        judge; and by opponent the win rate of one among many of it, with its interval.
    """
    agent: Any = load_agent(searcher.name)
    seen, mask = midgame(variant, TIMED, rounds=variant.least_rounds // 2)
    seen, mask = seen[:TIMED], mask[:TIMED]
    found: dict[str, Any] = {"kind": searcher.kind, "budget": searcher.budget}
    for what, rows in (("ms", len(seen)), ("ms alone", 1)):
        agent.reset(Layout(variant), np.ones(rows, np.bool_), SEED)
        agent.act(seen[:rows], mask[:rows])  # it compiles
        begun = time.process_time()
        for first in range(0, len(seen) if what == "ms" else 8, rows):
            agent.act(seen[first : first + rows], mask[first : first + rows])
        found[what] = (time.process_time() - begun) * 1000 / (len(seen) if what == "ms" else 8)
    found["gain"] = found["nash_conv"] = None
    if graph is not None and hasattr(agent, "probabilities"):
        found["gain"], found["nash_conv"] = gain_of(graph.policy_of(agent, name=searcher.name), graph)
    found["wins"] = {}
    for opponent in OPPONENTS:
        if opponent == searcher.name:
            continue
        line_up = [searcher.name, *[opponent] * (variant.players - 1)]
        match = play_match(line_up, variant, starts=starts, seed=SEED)
        if match.failure:
            raise ValueError(f"{searcher.name} among {opponent} failed: {match.failure}")
        win = match[searcher.name].win
        found["wins"][opponent] = [win.mean, win.low, win.high]
    return found


def study(variant: str, folder: Path, given: Any, kept: dict[str, Any]) -> dict[str, Any]:
    """Judge all agents in one game, those that are not kept yet."""
    game = find_variant(variant)
    prior = trained(variant, folder / "prior", kept.get("settings", {}).get("decisions", given.decisions))
    graph = GameGraph(Positions(game))
    kept.setdefault("random", gain_of(graph.uniform_policy(), graph)[0])
    kept.setdefault("positions", graph.positions.count)
    endgames = given.endgames or int(ENDGAMES * game.robots * game.limbs)
    settings = {"decisions": given.decisions, "widths": WIDTHS, "seed": SEED, "starts": given.starts, "endgames": endgames}
    if kept.setdefault("settings", settings) != settings:
        print(f"{variant} goes on with the settings that it began with: {kept['settings']}", file=sys.stderr)
    agents = kept.setdefault("agents", {})
    with_endgames = given.endgame_simulations or given.simulations
    endgames = kept["settings"]["endgames"]
    wanted = list(searchers(prior, given.playouts, given.simulations, given.network_simulations, endgames, with_endgames))
    for number, searcher in enumerate(wanted):
        key = f"{searcher.kind} {searcher.budget}"
        if key in agents:
            continue
        agents[key] = judge(searcher, game, graph, kept["settings"]["starts"])
        gain = agents[key]["gain"]
        said = "no policy to judge" if gain is None else f"gain {gain:.4f}"
        print(f"{variant} {number + 1}/{len(wanted)}: {key}: {agents[key]['ms']:.3f} ms, {said}", file=sys.stderr, flush=True)
        kept["about"] = provenance(ID)
        write_json(folder / "figures.json", kept)
    return kept


def make_parser(prog: str) -> Any:
    """The command line."""
    parser = study_parser(prog, __doc__ or "", {"": "as docs/search.md says"}, "search")
    parser.add_argument(
        "--variants", nargs="+", default=list(VARIANTS), help=f"games whose positions are numbered (default: {' '.join(VARIANTS)})"
    )
    parser.add_argument("--playouts", type=int, nargs="+", default=list(PLAYOUTS), help="of flat Monte-Carlo, for an action")
    parser.add_argument("--simulations", type=int, nargs="+", default=list(SIMULATIONS), help="of tree search")
    parser.add_argument("--network-simulations", type=int, nargs="*", default=list(WITH_NETWORK), help="likewise, with a network")
    parser.add_argument(
        "--endgame-simulations", type=int, nargs="+", help="likewise, with solved endgames (default: --simulations)"
    )
    parser.add_argument("--endgames", type=int, metavar="LIMBS", help="in the line of these (default: 5/8 of those at the start)")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="that train.ppo plays (%(default)s)")
    parser.add_argument("--starts", type=int, default=STARTS, help="of each match (%(default)s)")
    return parser


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.search") -> None:
    """Run the command."""
    parser = make_parser(prog)
    given = parser.parse_args(arguments)

    def study_all() -> dict[str, Any]:
        games = {}
        for variant in given.variants:
            folder = given.output / variant
            folder.mkdir(parents=True, exist_ok=True)
            at = folder / "figures.json"
            games[variant] = study(variant, folder, given, json.loads(at.read_text(encoding="utf-8")) if at.exists() else {})
        return {"games": games}

    conduct(
        parser, given, check=lambda: need("torch", "matplotlib"), study=study_all, draw=lambda found, to: draw(found["games"], to)
    )


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw gain against time a decision, and wins among `counter` below it, a column a game."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = np.asarray(figure.subplots(2, len(figures), squeeze=False, sharex="col"))
    for column, (variant, found) in enumerate(figures.items()):
        above, below = panels[0, column], panels[1, column]
        kinds = list(dict.fromkeys(one["kind"] for one in found["agents"].values()))
        for number, kind in enumerate(kinds):
            its = [one for one in found["agents"].values() if one["kind"] == kind]
            style = {"color": f"C{number}", "marker": "o", "markersize": 3, "label": kind if column == 0 else None}
            judged = [one for one in its if one["gain"] is not None]
            above.plot([one["ms"] for one in judged], [one["gain"] for one in judged], **style)
            below.plot([one["ms"] for one in its], [one["wins"][OPPONENTS[0]][0] for one in its], **{**style, "label": None})
        above.axhline(found["random"], color="black", linestyle=":", label="uniform policy" if column == 0 else None)
        equal = 1 / find_variant(variant).players
        below.axhline(equal, color="black", linestyle="--", label="equal share" if column == 0 else None)
        above.set(title=variant, xscale="log", ylim=(0, None))
        below.set(xlabel="milliseconds a decision", xscale="log")
        for axes in (above, below):
            axes.grid(alpha=0.3)
    panels[0, 0].set_ylabel("gain of a best response")
    panels[1, 0].set_ylabel(f"wins among {OPPONENTS[0]}")
    figure.legend(loc="outside lower center", fontsize="small", frameon=False, ncols=3)
    write_whole(path, lambda part: figure.savefig(part, dpi=120, format="png"))


if __name__ == "__main__":
    main()
