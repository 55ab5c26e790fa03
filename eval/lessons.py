"""Compute what the solved games teach: docs/lessons.json, the figures of docs/lessons.md.

Games that are not solved yet are solved first, as `getbit solve` does. `python -m docs.lessons` then makes the tables and
pictures of the page.
"""

from __future__ import annotations

import os
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env import load_agent
from getbit_env.agent_registry import shipped_agents
from getbit_env.command_line import at_least_one, command_parser, interruptible, leave, need
from getbit_env.core.compiled import kernel
from getbit_env.core.files import InUseError, owned, write_json
from getbit_env.exact import (
    Equilibrium,
    Exploitability,
    ManyPlayerSolution,
    Positions,
    TwoPlayerSolution,
    cache_folder,
    exploitability,
    solved,
)
from getbit_env.exact.many_players import solve_many_players
from getbit_env.exact.matrix_game import solve_matrix
from getbit_env.exact.positions import AT_ONCE, Progress, Workers, expand, new_expansion, silent
from getbit_env.exact.quantal_response import Selection
from getbit_env.exact.solutions import load_solution, save_solution
from getbit_env.exact.solving import judged
from getbit_env.exact.stored_results import NotSolvedError, StoredResultError
from getbit_env.exact.two_players import PATTERNS, SolverWorkspace, new_solver_workspace
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.notation import print_position
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import Variant, standard_variant

from .solve import check_output, progress_bar, say

FIGURES = Path(__file__).parent.parent / "docs" / "lessons.json"
NOTHING = 1e-8  # a difference of values that the certificates of two solved positions may leave open
DIGITS = 6  # of the figures that are kept
TINY_DIGITS = 10  # of gains and regrets of equilibria
Figures = dict[str, Any]


class EquilibriumPlay:
    """Games in which all play the equilibrium, every starting line as likely as any other.

    Attributes:
        met: `[G]` the positions that such games come to, ascending.
        weight: `[G]` how likely a game comes to each; together, the rounds that a game takes on average.
        policy: `[G, P, A]` what is played there; zero for players who are out.
        legal: `[G, P, A]` what could be.
        rounds: `[G]` rounds played before.
        place, limbs: `[R, G]` of each robot; robots are numbered by role, of two own ones the one in front first.
    """

    def __init__(self, solution: TwoPlayerSolution | ManyPlayerSolution, progress: Progress = silent) -> None:
        positions = solution.positions
        agent = Equilibrium(solution)
        agent.reset(Layout(positions.variant), np.ones(1, np.bool_), 0)
        expansion = new_expansion(positions.index)
        reach = np.zeros(positions.count + 1)
        reach[positions.starts] = 1 / len(positions.starts)
        met, policies, masks = [], [], []
        for wave in range(positions.waves):
            first, last = (int(n) for n in positions.first[wave : wave + 2])
            here = first + np.flatnonzero(reach[first:last])
            for begin in range(0, len(here), AT_ONCE):
                some = here[begin : begin + AT_ONCE]
                observation, mask = positions.see(some)
                alive = np.any(observation, axis=-1)
                policy = np.zeros(mask.shape)
                policy[alive] = agent.probabilities(observation[alive], mask[alive])
                expand(positions.index, some, expansion)
                for k, number in enumerate(some):
                    # Legal actions in ascending order are the choices in the order of `expand`; a player who is out has one.
                    each = [policy[k, p][mask[k, p] > 0] if alive[k, p] else np.ones(1) for p in range(len(alive[k]))]
                    chance: NDArray[np.float64] = reduce(np.multiply.outer, each).ravel()
                    played = np.flatnonzero(chance)
                    np.add.at(reach, expansion.successor[k, played], reach[number] * chance[played])
                policies.append(policy)
                masks.append(mask > 0)
                progress("playing", int(some[-1]) + 1, positions.count)
            met.append(here)
        self.met, self.policy, self.legal = np.concatenate(met), np.concatenate(policies), np.concatenate(masks)
        self.weight = reach[self.met]
        games = positions.games(self.met)
        self.rounds, self.place, self.limbs = games.rounds.astype(int), games.place.astype(int), games.limbs.astype(int)


def mean_by(keys: NDArray[np.int64], weight: NDArray[np.float64], *columns: NDArray[np.float64]) -> dict[str, list[float]]:
    """For each row of `keys`, `[G, K]`: its share of the weight, `[G]`, and the weighted mean of each column, `[G]`."""
    found, group = np.unique(keys, axis=0, return_inverse=True)
    shares, *sums = (np.bincount(group.ravel(), weight * column) for column in (np.ones(len(weight)), *columns))
    rows = np.column_stack([shares / shares.sum(), *(total / shares for total in sums)])
    return {" ".join(map(str, key)): row for key, row in zip(found.tolist(), rows.tolist(), strict=True)}


def explained(keys: NDArray[np.int64], weight: NDArray[np.float64], value: NDArray[np.float64]) -> float:
    """Which part of the weighted variance of a value, `[G]`, lies between groups, `[G, K]`."""
    mean = np.average(value, weights=weight)
    between = sum(share * (average - mean) ** 2 for share, average in mean_by(keys, weight, value).values())
    return float(between / np.average((value - mean) ** 2, weights=weight))


def limbs_two(solution: TwoPlayerSolution, play: EquilibriumPlay) -> Figures:
    """What a lead in limbs is worth to a player, over all rounds of equilibrium games but the first, from both sides.

    Returns:
        `weakest`: by the limbs of the weakest robot of the player and of the other one, `lead`: by all limbs of the player less
        all of the other: share of the rounds and mean value. `explained`: which part of the variance of the value they explain.
    """
    later = play.rounds > 0
    sides = play.limbs[:, later].reshape(2, 2, -1)
    weak, whole = (np.concatenate([each.T, each.T[:, ::-1]]) for each in (sides.min(axis=1), sides.sum(axis=1)))
    weight, value = np.tile(play.weight[later], 2), solution.values[play.met[later]].T.ravel()
    lead, weak_lead = (np.subtract(*each.T)[:, None] for each in (whole, weak))
    return {
        "weakest": mean_by(weak, weight, value),
        "lead": mean_by(lead, weight, value),
        "explained": {
            "all limbs of a player less all of the other": explained(lead, weight, value),
            "limbs of a player's weakest robot less those of the other's": explained(weak_lead, weight, value),
        },
    }


def limbs_many(values: NDArray[np.float64], play: EquilibriumPlay) -> Figures:
    """The same for players with one robot each.

    Args:
        values: `[N + 1, P]`, the chance of winning from each position.
        play: of the equilibrium.

    Returns:
        `lead`: by robots in the line, and own limbs times the others' number less all limbs of the others; `limbs`: with all
        robots in the line by own limbs and place; share of the players' rounds and mean chance of winning. `explained` as above.
    """
    later = play.rounds > 0
    limbs, chance = play.limbs[:, later], values[play.met[later]].T
    alive = limbs > 0
    robots = alive.sum(axis=0) + np.zeros_like(limbs)
    lead = limbs * robots - limbs.sum(axis=0)
    place = play.place[:, later] + 1
    weight = (play.weight[later] + np.zeros(limbs.shape))[alive]
    keys = np.stack([robots, lead, limbs, place], axis=-1)[alive]
    chance = chance[alive]
    whole = keys[:, 0] == len(limbs)
    return {
        "lead": mean_by(keys[:, :2], weight, chance),
        "limbs": mean_by(keys[whole][:, 2:], weight[whole], chance[whole]),
        "explained": {
            "robots in the line, and own limbs less the others' mean": explained(keys[:, :2], weight, chance),
            "robots in the line, and the own place": explained(keys[:, [0, 3]], weight, chance),
            "all of these": explained(keys[:, [0, 1, 3]], weight, chance),
        },
    }


def openings(play: EquilibriumPlay) -> Figures:
    """How likely each action of the first round is, by the number of the starting line and role."""
    first = np.flatnonzero(play.rounds == 0)
    return {f"{line} {role}": chances.tolist() for line, i in enumerate(first) for role, chances in enumerate(play.policy[i])}


@kernel
def _solve_restricted(
    values: NDArray[np.float64], ties: bool, first: int, count: int, workspace: SolverWorkspace, found: NDArray[np.float64]
) -> None:
    """Solve positions just expanded for a player who may not tie with himself, once for each role.

    Args:
        values: `[N + 1, 2]` of what follows, to each role if it is the player's.
        ties: he may after all.
        first: number of the first position.
        count: how many.
        workspace: of the thread, with the positions.
        found: `[N + 1, 2]`, filled in, to each role if it is the player's.
    """
    expansion, payoff = workspace.expansion, workspace.game.payoff
    for k in range(count):
        sizes = expansion.choices[k]
        columns = (sizes[0] * sizes[1], sizes[2] * sizes[3])
        for p in range(2):
            rows = 0
            for i in range(columns[p]):
                fore, rear = (
                    expansion.options[k, 2 * p, i // sizes[2 * p + 1]],
                    expansion.options[k, 2 * p + 1, i % sizes[2 * p + 1]],
                )
                if fore != rear or ties:
                    for j in range(columns[1 - p]):
                        g = i * columns[1] + j if p == 0 else j * columns[1] + i
                        payoff[rows, j] = values[expansion.successor[k, g], expansion.role[k, p, g]]
                    rows += 1
            found[first + k, p], _ = solve_matrix(workspace.game, rows, columns[1 - p])


def values_without_ties(
    solution: TwoPlayerSolution, *, always: bool, ties: bool = False, threads: int = 1, progress: Progress = silent
) -> NDArray[np.float64]:
    """Values to a player who must not play the same card with both robots.

    Args:
        solution: the solved game.
        always: in no round that is left; or else only not in the next one.
        ties: he may after all: then these are the values of the solved game.
        threads: the result does not depend on it.
        progress: is told how far it is.

    Returns:
        `[N + 1, 2]`, the value of each position to each role, if it is that player's and the other one is free.
    """
    positions = solution.positions
    found = solution.values.copy()
    follow = found if always else solution.values
    workers = Workers(lambda: new_solver_workspace(positions.index), threads)

    def solve(begin: int, end: int, workspace: SolverWorkspace) -> None:
        expand(positions.index, np.arange(begin, end), workspace.expansion)
        _solve_restricted(follow, ties, begin, end - begin, workspace, found)

    for wave in range(positions.waves - 1, -1, -1):
        first, last = int(positions.first[wave]), int(positions.first[wave + 1])

        def tick(end: int, first: int = first, last: int = last) -> None:
            progress("forbidding ties", positions.count - last + (end - first), positions.count)

        workers.run(solve, first, last, AT_ONCE, tick)
    return found


def own_ties(solution: TwoPlayerSolution, play: EquilibriumPlay, *, threads: int = 1, progress: Progress = silent) -> Figures:
    """How often a player ties with himself, and what it costs not to.

    Returns:
        `places`: by the places of the two own robots; `rounds`: by the round; `last`: of the owner of the last robot, by its
        limbs less those of its fellow: share of the rounds, how often the equilibrium ties, how often chance would, what it costs
        not to in this one round, and in which part of them it costs anything.
        `never`: what it costs not to in the whole game, by starting line, to the owner of the front robot and to the other one.
        `positions`: the part of all positions, from either side, where it costs something in this one round.
        `most`: most of this cost, in any position; and this position, with the player that ties.
    """
    variant, count = solution.positions.variant, solution.positions.count
    tied = slice(None, None, variant.cards + 1)  # actions that name one card twice
    once = solution.values - values_without_ties(solution, always=False, threads=threads, progress=progress)
    never = solution.values - values_without_ties(solution, always=True, threads=threads, progress=progress)
    weight = np.tile(play.weight, 2)
    cost = once[play.met].T.ravel()
    columns = (
        play.policy[..., tied].sum(axis=-1).T.ravel(),
        (play.legal[..., tied].sum(axis=-1) / play.legal.sum(axis=-1)).T.ravel(),
        cost,
        (cost > NOTHING).astype(float),
    )
    places, limbs = (np.concatenate([each[:2].T, each[2:].T]) for each in (play.place + 1, play.limbs))
    last = places[:, 1] == 4
    number, role = np.unravel_index(once[:count].argmax(), (count, 2))
    return {
        "places": mean_by(places, weight, *columns),
        "rounds": mean_by(np.tile(play.rounds + 1, 2)[:, None], weight, *columns),
        "last": mean_by((limbs[:, 1:] - limbs[:, :1])[last], weight[last], *(column[last] for column in columns)),
        "never": {pattern: never[start].tolist() for pattern, start in zip(PATTERNS, solution.positions.starts, strict=True)},
        "positions": float((once[:count] > NOTHING).mean()),
        "most": float(once[number, role]),
        "position": f"{'AB'[role]} in " + print_position(variant, solution.positions.games(np.array([number]))),
    }


def judged_agents(variant: Variant) -> list[str]:
    """Names of the bots and the shipped agents whose play on a variant can be judged exactly."""
    bots = [name for name, make in BOTS.items() if hasattr(make(), "probabilities")]
    shipped = [(name, load_agent(name)) for name in shipped_agents()]
    return bots + [
        name
        for name, agent in shipped
        if getattr(agent, "variant", None) == variant and getattr(agent, "options", None) == Options()
    ]


def judgement(result: Exploitability) -> list[float]:
    """Own value, best response, mean gain, NashConv."""
    return [float(result.own.mean()), float(result.best.mean()), result.gain, result.nash_conv]


def agents(positions: Positions, *, threads: int = 1, progress: Progress = silent) -> Figures:
    """`judgement` of each agent of `judged_agents`."""
    found = {}
    for name in judged_agents(positions.variant):
        result = exploitability(load_agent(name), positions, name=name, threads=threads, progress=progress)
        found[name] = judgement(result)
    return found


def teach_two(solution: TwoPlayerSolution, *, threads: int = 1, progress: Progress = silent) -> Figures:
    """All figures of a game for two."""
    play = EquilibriumPlay(solution, progress)
    figures: Figures = rounded(
        {
            "cards": solution.positions.variant.cards,
            "start": {pattern: solution.starting_values()[pattern] for pattern in PATTERNS},
            "length": float(play.weight.sum()),
            "limbs": limbs_two(solution, play),
            "openings": openings(play),
            "ties": own_ties(solution, play, threads=threads, progress=progress),
            "agents": agents(solution.positions, threads=threads, progress=progress),
        }
    )
    return figures


def teach_many(
    solution: ManyPlayerSolution, others: dict[str, ManyPlayerSolution], *, threads: int = 1, progress: Progress = silent
) -> Figures:
    """All figures of a game for more, one robot each.

    Args:
        solution: the equilibrium that everything but `equilibria` is about.
        others: other equilibria, by what selects them.
        threads: the result does not depend on it.
        progress: is told how far it is.
    """
    play = EquilibriumPlay(solution, progress)
    own = exploitability(Equilibrium(solution), solution.positions, name="equilibrium", threads=threads, progress=progress)
    figures: Figures = rounded(
        {
            "cards": solution.positions.variant.cards,
            "start": solution.start.tolist(),
            "length": float(play.weight.sum()),
            "limbs": limbs_many(own.own_values, play),
            "openings": openings(play),
            "agents": {
                "equilibrium": judgement(own),
                **agents(solution.positions, threads=threads, progress=progress),
            },
        }
    )
    figures["equilibria"] = {Selection.PRINCIPAL_BRANCH.name: equilibrium(solution, own, play)}
    for name, other in others.items():
        result = exploitability(Equilibrium(other), other.positions, name=name, threads=threads, progress=progress)
        figures["equilibria"][name] = equilibrium(other, result, EquilibriumPlay(other, progress))
    return figures


def equilibrium(solution: ManyPlayerSolution, result: Exploitability, play: EquilibriumPlay) -> Figures:
    """The figures by which an equilibrium is compared with others.

    Returns:
        `start`: the chance of winning from each place; `openings` as above; `length`: rounds of a game; `limbs`: by own limbs less
        the others' mean, `behind`, `level` or `ahead`, with all robots in the line: share of the rounds and mean chance;
        `gains`: of a best response in each place; `regret`: the most in one position.
    """
    limbs = play.limbs
    whole = (limbs > 0).all(axis=0) & (play.rounds > 0)
    lead = np.sign(limbs * len(limbs) - limbs.sum(axis=0))[:, whole]
    chance = result.own_values[play.met[whole]].T
    weight = np.broadcast_to(play.weight[whole], lead.shape)
    found = mean_by(lead.ravel()[:, None], weight.ravel(), chance.ravel())
    names = {"-1": "behind", "0": "level", "1": "ahead"}
    return {
        **rounded(
            {
                "start": solution.start.tolist(),
                "length": float(play.weight.sum()),
                "openings": openings(play),
                "limbs": {names[key]: row for key, row in found.items()},
            }
        ),
        "gains": [round(gain, TINY_DIGITS) for gain in (result.best - result.own)[0].tolist()],
        "regret": round(result.regret, TINY_DIGITS),
        "lost": solution.branches,
    }


def equilibria(variant: Variant, *, threads: int = 1, progress: Progress = silent) -> dict[str, ManyPlayerSolution]:
    """Equilibria of every other selection, from the cache folder, else solved and kept there."""
    found = {}
    for selection in Selection:
        if selection == Selection.PRINCIPAL_BRANCH:
            continue
        path = cache_folder() / f"{variant.name}-{selection.name.lower()}.npz"
        with owned(path, "the equilibrium"):
            try:
                solution = load_solution(variant, path)
            except (NotSolvedError, StoredResultError):
                solution = judged(
                    solve_many_players(variant, selection=selection, threads=threads, progress=progress),
                    threads=threads,
                    progress=progress,
                )
                save_solution(solution, path)
        assert isinstance(solution, ManyPlayerSolution)
        found[selection.name] = solution
    return found


def rounded(figures: Any) -> Any:
    """Figures as they are kept: without the digits in which machines differ, since they add in different orders."""
    if isinstance(figures, dict):
        return {key: rounded(value) for key, value in figures.items()}
    if isinstance(figures, list):
        return [rounded(value) for value in figures]
    return round(figures, DIGITS) + 0.0 if isinstance(figures, float) else figures


def compute(variants: tuple[Variant, Variant], *, threads: int = 1, progress: Progress = silent) -> Figures:
    """All figures of the page.

    Args:
        variants: a game for two players, and one for more.
        threads: the result does not depend on it.
        progress: is told how far it is.
    """
    two, many = (solved(variant, threads=threads, progress=progress, say=say) for variant in variants)
    assert isinstance(two, TwoPlayerSolution)
    assert isinstance(many, ManyPlayerSolution)
    others = equilibria(variants[1], threads=threads, progress=progress)
    return {
        "two": teach_two(two, threads=threads, progress=progress),
        "many": teach_many(many, others, threads=threads, progress=progress),
    }


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    examples = {"": "write docs/lessons.json", "--output figures.json": "write them elsewhere"}
    parser = command_parser("python -m eval.lessons", __doc__, examples)
    parser.add_argument(
        "--threads", type=at_least_one, default=os.cpu_count() or 1, help="the figures do not depend on it (default: all)"
    )
    parser.add_argument("--output", type=Path, default=FIGURES, help="the file of the figures (default: %(default)s)")
    options = parser.parse_args(argv)
    try:
        need("tqdm")
        check_output(options.output)
        with interruptible(), progress_bar() as progress:
            figures = compute((standard_variant(2), standard_variant(4)), threads=options.threads, progress=progress)
        write_json(options.output, figures)
    except KeyboardInterrupt:
        say("interrupted: solutions are kept, no figures are")
        return 130
    except (ValueError, OSError, InUseError) as error:
        say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    leave(main())
