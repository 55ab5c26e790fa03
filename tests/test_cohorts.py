"""Games counted by the rollout in which they began."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from getbit_env.single_agent.cohorts import Cohorts


def test_long_games_that_are_won_count_as_much_as_short_ones_that_are_lost() -> None:
    """Half of the games take 2 steps and are lost, half take 11 and are won; a rollout has 4 steps."""
    slots, rng = 2000, np.random.default_rng(0)
    cohorts: Cohorts[float] = Cohorts()
    began, left, won = np.zeros(slots, int), np.zeros(slots, int), np.zeros(slots, bool)

    def begin(slot: int, rollout: int) -> None:
        began[slot], won[slot] = rollout, rng.random() < 0.5
        left[slot] = 11 if won[slot] else 2

    told, by_end = list[list[float]](), list[float]()
    for _ in range(8):
        rollout, ended = cohorts.begin(), list[float]()
        if rollout == 0:
            for slot in range(slots):
                begin(slot, rollout)
        for _ in range(4):
            left -= 1
            for slot in np.flatnonzero(left == 0).tolist():
                cohorts.add(int(began[slot]), float(won[slot]))
                ended.append(float(won[slot]))
                begin(slot, rollout)
        told.append(cohorts.end(Counter(began.tolist())))
        by_end.append(float(np.mean(ended)))
    assert by_end[0] == 0, "what ends in the first rollout are losses alone"
    complete = [results for results in told if results]
    assert told[0] == told[1] == [], "nothing is told before the last game of a rollout is over"
    assert len(complete) == 5
    for results in complete:
        assert abs(np.mean(results) - 0.5) < 4 * 0.5 / np.sqrt(len(results))


def test_a_rollout_whose_games_were_thrown_away_is_not_told() -> None:
    cohorts: Cohorts[str] = Cohorts()
    first = cohorts.begin()
    cohorts.add(first, "short")
    assert cohorts.end({first: 2}) == []
    second = cohorts.begin()  # after a reset: both games of the first rollout are gone
    assert cohorts.end({second: 3}) == []
    assert cohorts.awaited == {second}
    third = cohorts.begin()
    for _ in range(3):
        cohorts.add(second, "whole")
    cohorts.add(first, "late")
    assert cohorts.end({third: 3}) == ["whole"] * 3


@pytest.mark.parametrize("ended", [[], ["a"], ["a", "b"]])
def test_a_rollout_is_told_once_and_with_all_its_games(ended: list[str]) -> None:
    cohorts: Cohorts[str] = Cohorts()
    number = cohorts.begin()
    for one in ended:
        cohorts.add(number, one)
    assert cohorts.end({}) == [], "in its own rollout more games of it could begin"
    cohorts.begin()
    assert cohorts.end({}) == ended
    assert cohorts.end({}) == []
