"""Rankings of a tournament by OpenSpiel: alpha-Rank, and votes (VasE).

Both read the cross table: what one agent (row) gets among others that all are one agent (column). Neither knows how sure its
entries are. The intervals of the table say that.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import choice
from getbit_env.game_registry import find_variant
from getbit_env.match.comparison import CrossPlay
from getbit_env.match.tournament import TournamentResult

ALPHA, POPULATION = 100.0, 50
MOST_PRESSURE = 700.0  # alpha times a difference of payoffs: exp of more is no number
MOST_PERMUTED = 8  # agents whose orders Kemeny-Young tries one by one
INSTALL = 'pip install "getbit-env[openspiel]"'


class Voting(StrEnum):
    """How votes become a ranking."""

    SCHULZE = "schulze"
    MAXIMAL_LOTTERIES = "maximal-lotteries"  # iterated: who shares the best lottery comes first, then the best of the others
    RANKED_PAIRS = "ranked-pairs"
    COPELAND = "copeland"
    BORDA = "borda"
    KEMENY_YOUNG = "kemeny-young"


def payoffs_of(result: TournamentResult) -> NDArray[np.float64]:
    """The cross table of mean payoffs, `[A, A]`: of one agent (row) among others (column); 0 among copies of itself.

    Raises:
        ForfeitError: an agent failed at one of these tables.
    """
    return np.array(
        [[0.0 if one == many else result.match(one, many)[one].payoff.mean for many in result.agents] for one in result.agents]
    )


def wins_of(result: TournamentResult | CrossPlay) -> NDArray[np.float64]:
    """The cross table of wins, `[A, A]`, likewise; the equal share among copies of itself.

    Raises:
        ForfeitError: an agent failed at one of these tables.
    """
    if isinstance(result, CrossPlay):
        share = 1 / find_variant(result.variant).players
        return np.array([[share if win is None else win.mean for win in row] for row in result.win])
    share = 1 / result.players
    return np.array(
        [[share if one == many else result.match(one, many)[one].win.mean for many in result.agents] for one in result.agents]
    )


def alpha_rank(
    agents: Sequence[str], payoffs: NDArray[np.float64], *, alpha: float = ALPHA, population: int = POPULATION
) -> dict[str, float]:
    """How much of the time a population that evolves consists of each agent.

    All of a population play as one agent. Now and then somebody tries another one, and it spreads or dies out by how it fares
    among the others, and they beside it. What is returned is the stationary distribution of that. Agents that beat each other in a
    circle share it; an agent that all others replace has none of it.

    Args:
        agents: names.
        payoffs: `[A, A]`, of one agent (row) among others (column), as `payoffs_of` or `wins_of` gives them.
        alpha: how strongly payoffs select: two agents whose payoffs differ by much less than 1 / alpha are as good as equal.
        population: how many there are.

    Returns:
        Parts that sum to 1, the greatest first.

    Raises:
        ImportError: OpenSpiel is not installed.
        ValueError: the table is none of these agents, or alpha is too large for its payoffs.
    """
    _check(agents, payoffs)
    most = float(abs(payoffs - payoffs.T).max())
    if not alpha > 0 or alpha * most > MOST_PRESSURE:
        raise ValueError(f"alpha is over 0, and for these payoffs at most {MOST_PRESSURE / max(most, 1e-300):.4g}, not {alpha!r}")
    if population < 2:
        raise ValueError(f"population is 2 or more, not {population}")
    try:
        from open_spiel.python.egt import alpharank
    except ImportError as error:
        raise ImportError(f"alpha-Rank needs OpenSpiel ({error}): {INSTALL}") from error
    with np.errstate(over="ignore"):  # of an agent that surely dies out
        found = alpharank.compute([np.asarray(payoffs, np.float64)], m=population, alpha=alpha)[2]
    parts = np.clip(np.real(found), 0, None)
    return _ordered(agents, parts / parts.sum())


def ballots_of(agents: Sequence[str], wins: NDArray[np.float64]) -> list[list[str]]:
    """Votes on the agents: each opponent orders them by how much they win among it.

    Every opponent votes twice. Agents that win the same against it stand in the order of `agents` in one vote, and in the opposite
    order in the other: it prefers neither.

    Args:
        agents: names.
        wins: `[A, A]`, as `wins_of` gives them.

    Returns:
        Two for each opponent, the best agent first.

    Raises:
        ValueError: the table is none of these agents.
    """
    _check(agents, wins)
    numbers = np.arange(len(agents))
    orders = [np.lexsort((tied, -column)) for column in wins.T for tied in (numbers, -numbers)]
    return [[agents[k] for k in order] for order in orders]


def check_method(method: str, agents: int) -> Voting:
    """The method of voting of this name, if it can rank so many agents.

    Raises:
        ValueError: it can't, or there is none.
    """
    chosen = choice(Voting, "method", method)
    if chosen is Voting.KEMENY_YOUNG and agents > MOST_PERMUTED:
        raise ValueError(f"kemeny-young tries all orders of {MOST_PERMUTED} agents at most, not of {agents}")
    return chosen


def elect(agents: Sequence[str], wins: NDArray[np.float64], method: str = "schulze") -> dict[str, float]:
    """Rank agents by the votes of their opponents (voting as evaluation, VasE).

    Args:
        agents: names.
        wins: `[A, A]`, as `wins_of` gives them.
        method: a `Voting`.

    Returns:
        The score that the method gives each agent, the best agent first. Agents with equal scores are equally good.

    Raises:
        ImportError: OpenSpiel is not installed.
        ValueError: there is no such method, the table is none of these agents, or the method can't rank so many.
    """
    chosen = check_method(method, len(agents))
    ballots = ballots_of(agents, wins)
    module = chosen.replace("-", "_")
    try:
        base = importlib.import_module("open_spiel.python.voting.base")
        voting = getattr(
            importlib.import_module(f"open_spiel.python.voting.{module}"), f"{module.title().replace('_', '')}Voting"
        )()
    except ImportError as error:
        raise ImportError(f"votes need OpenSpiel ({error}): {INSTALL}") from error
    profile = base.PreferenceProfile(votes=ballots, alternatives=list(agents))
    outcome = voting.run_election(profile)
    scores = dict(zip(outcome.ranking, outcome.scores, strict=True))
    return _ordered(agents, np.array([scores[agent] for agent in agents], np.float64))


def _check(agents: Sequence[str], table: NDArray[np.float64]) -> None:
    if len(agents) < 2 or len(set(agents)) < len(agents):
        raise ValueError(f"agents are two or more with different names, not {', '.join(agents) or 'none'}")
    if table.shape != (len(agents), len(agents)) or not np.isfinite(table).all():
        raise ValueError(f"the cross table of {len(agents)} agents has as many rows and columns of numbers, not {table.shape}")


def _ordered(agents: Sequence[str], scores: NDArray[np.float64]) -> dict[str, float]:
    """The best agent first. OpenSpiel adds noise to scores that tie, and solves to some digits: what is beyond them is cut off."""
    scores = scores.round(6) + 0.0
    return {agents[k]: float(scores[k]) for k in np.argsort(-scores, kind="stable")}
