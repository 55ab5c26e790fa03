"""Which of two agents is better, how long to play until that is known, and whether the seeds of a recipe agree."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import load_agent, text_of
from getbit_env.core.agent import Agent, name_of
from getbit_env.core.messages import shown
from getbit_env.core.spec import Variant
from getbit_env.game_registry import find_variant, game_of
from getbit_env.match.runner import (
    STARTS,
    Failure,
    ForfeitError,
    LineUp,
    MatchResult,
    check_agents_given,
    check_settings,
    chosen_reward,
    play_match,
)
from getbit_env.match.statistics import CONFIDENCE, Estimate, estimate, t_quantile

PILOT = 240  # starts from which the first guess is made of how many are needed
MARGIN = 1.1  # more starts than the guess says: it is one
MOST_STARTS = 1_000_000
ONE, OTHER = "one", "other"

Named = Agent | str | os.PathLike[str]


def seed_interval(values: Sequence[float], least: float, most: float) -> Estimate:
    """The mean over training seeds, with the t-interval of a recipe's mean.

    Each seed counts as one value, however many games it played: games say nothing about what another seed would learn. With few
    seeds the interval is wide, as it should be. It needs values that are not far from normal.

    Args:
        values: one of each seed.
        least: no value can be below.
        most: no value can be above.

    Raises:
        ValueError: there are fewer than two values.
    """
    array = np.asarray(values, np.float64)
    quantile = t_quantile((1 + CONFIDENCE) / 2, array.size - 1)
    half = quantile * float(array.std(ddof=1)) / math.sqrt(array.size)
    mean = float(array.mean())
    return Estimate(mean, max(least, mean - half), min(most, mean + half))


def play_until(
    line_up: Sequence[Named],
    variant: Variant | str = "4p",
    *,
    width: float,
    seat: int = 0,
    agents: Mapping[str, Agent] | None = None,
    most_starts: int = MOST_STARTS,
    seed: int = 0,
    reward: str | None = None,
) -> MatchResult:
    """Play until the interval of an agent's wins is as narrow as asked.

    A match that is stopped when its own interval looks good reports intervals that miss too often. Here earlier games only decide
    how many starts the next match has, and that match has a seed of its own: nothing of the earlier ones is in the result.

    Args:
        line_up: see `play_match`.
        variant: see `play_match`.
        width: of the interval of `win`, from its low to its high end.
        seat: whose wins are meant.
        agents: see `play_match`.
        most_starts: starts that a match has at most.
        seed: of the first match, the next ones have the next numbers.
        reward: see `play_match`.

    Returns:
        The last match. Its interval is wider than `width` only if `most_starts` did not suffice. One that is exact has no interval.

    Raises:
        ValueError: an argument is out of range, or see `play_match`.
        ForfeitError: an agent failed.
    """
    check_agents_given("line_up", line_up)
    if not isinstance(width, int | float | np.integer | np.floating) or not 0 < width < 1:
        raise ValueError(f"width is a number between 0 and 1, not {shown(width)}")
    if isinstance(seat, bool) or not isinstance(seat, int | np.integer) or not 0 <= seat < len(line_up):
        raise ValueError(f"seat is one of 0 to {len(line_up) - 1}, not {shown(seat)}")
    check_settings(most_starts, seed, None)
    starts = min(PILOT, most_starts)
    for number in itertools.count(seed):
        result = play_match(line_up, variant, agents=agents, starts=starts, seed=number, reward=reward)
        _, low, high = result[seat].win
        if low is None or high is None or high - low <= width or starts == most_starts:
            return result
        needed = math.ceil(MARGIN * result.starts * ((high - low) / width) ** 2)
        starts = min(most_starts, max(needed, starts + 1))
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class Comparison:
    """Two agents, one after the other, in the same seat against the same players from the same starts.

    Attributes:
        variant: name of the variant.
        others: the agents of the other seats.
        starts: that both played, each in all rotations: the units of the intervals.
        win: of the first agent, of the second, and the first less the second.
        payoff: likewise.
    """

    variant: str
    others: tuple[str, ...]
    starts: int
    win: tuple[Estimate, Estimate, Estimate]
    payoff: tuple[Estimate, Estimate, Estimate]

    @property
    def better(self) -> str | None:
        """`one` or `other`, if the interval of the difference in wins leaves out 0; else None: these games don't tell."""
        mean, low, high = self.win[2]
        low, high = mean if low is None else low, mean if high is None else high
        return ONE if low > 0 else OTHER if high < 0 else None


def compare(
    one: Named,
    other: Named,
    others: Sequence[Named],
    variant: Variant | str = "4p",
    *,
    starts: int = STARTS,
    seed: int = 0,
    reward: str | None = None,
) -> Comparison:
    """Compare two agents, start by start.

    What a start favours, it favours for both, and drops out of the difference. Its interval is narrower than what two separate
    intervals suggest, the more so the more alike the agents play.

    Args:
        one: an agent, or its name.
        other: likewise.
        others: the agents of the other seats.
        variant: the game, or its name.
        starts: see `play_match`.
        seed: see `play_match`.
        reward: see `play_match`.

    Raises:
        ValueError: see `play_match`.
        ForfeitError: an agent failed; the message names it.
    """
    chosen: Variant = find_variant(variant)
    check_agents_given("others", others)
    if len(others) + 1 != chosen.players:
        raise ValueError(f"{chosen} has {chosen.players - 1} other seats, `others` {len(others)}")
    check_settings(starts, seed, None)
    pays = chosen_reward(game_of(chosen), reward)
    found = [_by_start(agent, others, chosen, starts, seed, pays) for agent in (one, other)]
    (_, played, exact), (_, _, also_exact) = found
    reward_of_finish = chosen.reward_of_finish(pays)[1:]
    ends = ((0.0, 1.0), (float(reward_of_finish.min()), float(reward_of_finish.max())))

    def three(kind: int) -> tuple[Estimate, Estimate, Estimate]:
        first, second = found[0][0][kind], found[1][0][kind]
        (least, most), apart = ends[kind], ends[kind][1] - ends[kind][0]
        if exact and also_exact:
            return Estimate(float(first.mean())), Estimate(float(second.mean())), Estimate(float((first - second).mean()))
        return estimate(first, least, most), estimate(second, least, most), estimate(first - second, -apart, apart)

    names = tuple(os.fspath(one) if isinstance(one, str | os.PathLike) else name_of(one) for one in others)
    return Comparison(chosen.name, names, played, three(0), three(1))


def _by_start(
    agent: Named, others: Sequence[Named], variant: Variant, starts: int, seed: int, reward: str
) -> tuple[NDArray[np.float64], int, bool]:
    """Wins and payoffs, `[2, S]`, of an agent in the first seat by start, how many starts, and whether they are exact."""
    seats = tuple(text_of(one) if isinstance(one, os.PathLike) else one for one in (agent, *others))
    # The agent has a name of its own: among its like, its seat is still the first one alone.
    alone = "the compared agent"
    own = ((alone, load_agent(seats[0])),)
    seated = LineUp((alone, *seats[1:]), own, variant, seed, starts, reward, None)
    parts = []
    for chunk in range(math.ceil(seated.starts / seated.starts_per_chunk)):
        played = seated.play(chunk)
        if isinstance(played, Failure):
            name = seats[0] if played.agent == alone else played.agent
            raise ForfeitError(f"the comparison on {variant} was not played: {name} failed ({played.reason})")
        parts.append(np.stack([played.win[0], played.payoff[0]]))
    return np.concatenate(parts, axis=1), seated.starts, seated.exact


@dataclass(frozen=True)
class CrossPlay:
    """Agents of one recipe, each as one among the others.

    Attributes:
        variant: name of the variant.
        agents: names.
        win: `win[i][j]`, how often agent `i` wins in one seat when agent `j` plays all others; None for `i == j`, which is not
            played.
    """

    variant: str
    agents: tuple[str, ...]
    win: tuple[tuple[Estimate | None, ...], ...]

    @property
    def spread(self) -> float:
        """How far the mean wins of the strongest and the weakest agent lie apart: near 0 if the seeds learn equally good play."""
        means = [float(np.mean([one.mean for one in row if one is not None])) for row in self.win]
        return max(means) - min(means)


def cross_play(
    agents: Sequence[str | os.PathLike[str]],
    variant: Variant | str = "4p",
    *,
    starts: int = STARTS,
    seed: int = 0,
) -> CrossPlay:
    """Play every seed of a recipe against every other one: one seat of the first, the second in all others.

    Args:
        agents: names, or folders of runs.
        variant: the game, or its name.
        starts: see `play_match`.
        seed: see `play_match`; all line-ups play the same starts.

    Raises:
        ValueError: there are fewer than two agents, or one stands twice; or see `play_match`.
        ForfeitError: an agent failed.
    """
    chosen: Variant = find_variant(variant)
    check_agents_given("agents", agents)
    names = tuple(text_of(agent) for agent in agents)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"cross play has two or more different agents, not {', '.join(names) or 'none'}")

    def win(one: str, many: str) -> Estimate:
        return play_match([one, *[many] * (chosen.players - 1)], chosen, starts=starts, seed=seed)[one].win

    rows = tuple(tuple(None if one == many else win(one, many) for many in names) for one in names)
    return CrossPlay(chosen.name, names, rows)
