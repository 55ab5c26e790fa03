"""One number an agent, from the finishing orders of many matches."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from getbit_env.match.runner import MatchResult, Order

SHUFFLES = 8
GAMES = 64  # of each match, a shuffle


class Rating(NamedTuple):
    """How strong an agent is on OpenSkill's scale, on which a newcomer has 25 with a deviation of 25/3.

    Ratings come from one field of agents and say nothing outside of it.

    Attributes:
        mu: mean over the shuffled orders of the games.
        sigma: what the model calls its deviation. It is a parameter of its updates, not the error of `mu`, which is far smaller.
        error: standard error of `mu`, from how much it differs between the orders. It covers which games were drawn, and their
            order. It does not cover the starts: all line-ups of a tournament play those of one seed.
    """

    mu: float
    sigma: float
    error: float


def rate(matches: Sequence[MatchResult], seed: int = 0) -> dict[str, Rating]:
    """Rate the agents of some matches by the Plackett-Luce model of OpenSkill.

    The model learns from one game after another, so its ratings depend on their order: as many games of each match are drawn by
    their frequency and rated in shuffled order, `SHUFFLES` times, and the ratings averaged. An agent with several seats in a
    game plays each with the rating that it has, and takes the mean of what they would get. Agents that tie in a game tie in its
    rating, and so do all in a drawn game.

    Args:
        matches: those in which an agent failed are left out, and with them agents that never finished a game: a forfeit says
            nothing about how strong anybody is.
        seed: of draws and shuffles.

    Returns:
        the ratings by name, the strongest first.

    Raises:
        ImportError: openskill is not installed.
        TypeError: a single match is given.
    """
    if isinstance(matches, MatchResult):
        raise TypeError("matches is a list of MatchResult, not one of them")
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    dice = random.Random(seed)
    played = [match for match in matches if match.failure is None]
    names = sorted({name for match in played for name in match.line_up})
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(SHUFFLES):
        games: list[Order] = []
        for match in played:
            orders, times = zip(*match.orders, strict=True)
            games += dice.choices(orders, times, k=GAMES)
        dice.shuffle(games)
        now = {name: model.rating(name=name) for name in names}
        for order in games:
            ranked = [(name, rank) for rank, names_of_place in enumerate(order) for name in names_of_place]
            rated = model.rate([[now[name]] for name, _ in ranked], ranks=[rank for _, rank in ranked])
            for name in {name for name, _ in ranked}:
                mine = [team[0] for team, (other, _) in zip(rated, ranked, strict=True) if other == name]
                now[name] = model.create_rating(
                    [statistics.fmean(one.mu for one in mine), statistics.fmean(one.sigma for one in mine)], name=name
                )
        for name in names:
            found[name].append((now[name].mu, now[name].sigma))
    ratings = {
        name: Rating(
            statistics.fmean(mu for mu, _ in values),
            statistics.fmean(sigma for _, sigma in values),
            statistics.stdev(mu for mu, _ in values) / math.sqrt(SHUFFLES),
        )
        for name, values in found.items()
    }
    return dict(sorted(ratings.items(), key=lambda item: -item[1].mu))
