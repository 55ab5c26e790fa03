"""Paired comparison, the stopping rule, cross play, and intervals over training seeds."""

from collections.abc import Callable

import numpy as np
import pytest

from getbit_env.get_bit.bots import Counter, Highest
from getbit_env.match import ForfeitError, comparison, play_match
from getbit_env.match.comparison import compare, cross_play, play_until, seed_interval

LOWEST = ["lowest"] * 3


class Broken(Highest):
    name = "broken"

    def act(self, *_: np.ndarray) -> np.ndarray:
        raise OSError("no board")


def test_an_interval_over_seeds() -> None:
    mean, low, high = seed_interval([0.4, 0.5, 0.6], 0, 1)
    assert mean == pytest.approx(0.5)
    half = 4.302653 * 0.1 / np.sqrt(3)  # t quantile of two degrees of freedom, standard deviation 0.1
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)
    assert seed_interval([0.0, 0.9], 0, 1)[1:] == (0, 1)
    with pytest.raises(ValueError, match="at least two values, not 1"):
        seed_interval([0.5], 0, 1)


def test_equals_do_not_differ_where_they_share_starts_and_seeds() -> None:
    found = compare("random", "random", LOWEST, "4p", starts=96)
    assert found.win[2].mean == found.payoff[2].mean == 0
    assert found.win[2].low is not None
    assert found.win[2].low < 0  # a sample never proves that they don't differ
    assert found.better is None


def test_a_comparison_is_the_difference_of_two_matches() -> None:
    found = compare("random", "counter", ["random", "highest", "lowest"], "4p", starts=96, seed=5)
    one, other = (
        play_match([name, "random", "highest", "lowest"], "4p", agents={"agent": Counter()}, starts=96, seed=5)
        for name in ("agent", "counter")
    )
    assert one["agent"] == other["counter"]
    assert found.win[1] == other["counter"].win
    assert found.payoff[1] == other["counter"].payoff
    for kind in (found.win, found.payoff):
        assert kind[2].mean == pytest.approx(kind[0].mean - kind[1].mean)
    assert found.others == ("random", "highest", "lowest")
    assert found.starts == one.starts


def test_which_is_better_is_told_only_if_it_is_known() -> None:
    assert compare("counter", "lowest", ["random"] * 3, "4p", starts=240).better == "one"
    assert compare("lowest", "counter", ["random"] * 3, "4p", starts=240).better == "other"
    exact = compare("highest", "lowest", LOWEST, "4p", starts=24)
    assert exact.win[2].low is exact.win[2].high is None
    assert exact.better in ("one", "other")


def test_an_agent_among_its_like_is_one_seat() -> None:
    """At a table of `lowest`, `lowest` is compared by its own seat, not by all four."""
    found = compare("lowest", "highest", LOWEST, "4p", starts=24)
    assert found.win[0].mean <= 0.25


def test_a_comparison_with_an_agent_that_fails_is_none() -> None:
    with pytest.raises(ForfeitError, match=r"compared agent|failed \(OSError: no board"):
        compare("random", Broken(), LOWEST, "4p", starts=24)
    with pytest.raises(ForfeitError, match=r"broken failed \(OSError: no board"):
        compare("random", "lowest", [Broken(), "lowest", "lowest"], "4p", starts=24)
    with pytest.raises(ValueError, match="4p has 3 other seats, `others` 2"):
        compare("random", "lowest", ["lowest", "lowest"], "4p")


def test_play_until_the_interval_is_narrow() -> None:
    result = play_until(["random", *LOWEST], "4p", width=0.03)
    _, low, high = result["random"].win
    assert low is not None
    assert high is not None
    assert high - low <= 0.03
    assert result.starts > comparison.PILOT
    # The pilot of seed 0 is not in it.
    assert result in [play_match(["random", *LOWEST], "4p", starts=result.starts, seed=seed) for seed in (1, 2, 3)]


def test_play_until_stops_at_the_most_starts_and_at_exact_results() -> None:
    result = play_until(["random", *LOWEST], "4p", width=0.001, most_starts=480)
    assert result.starts == 480
    assert play_until(["highest", *LOWEST], "4p", width=0.001).exact


@pytest.mark.parametrize("width", [0, 1, -0.1, float("nan")])
def test_play_until_refuses_a_width(width: float) -> None:
    with pytest.raises(ValueError, match="width is a number between 0 and 1"):
        play_until(["random", *LOWEST], "4p", width=width)


def test_play_until_refuses_a_seat_and_a_failure() -> None:
    with pytest.raises(ValueError, match="seat is one of 0 to 3, not 4"):
        play_until(["random", *LOWEST], "4p", width=0.1, seat=4)
    with pytest.raises(ForfeitError, match="no board"):
        play_until([Broken(), *LOWEST], "4p", width=0.1)


def test_cross_play() -> None:
    names = ["random", "counter", "lowest"]
    found = cross_play(names, "4p", starts=48, seed=3)
    assert [found.win[k][k] for k in range(3)] == [None] * 3
    assert found.win[1][2] == play_match(["counter", *LOWEST], "4p", starts=48, seed=3)["counter"].win
    means = [np.mean([one.mean for one in row if one is not None]) for row in found.win]
    assert found.spread == pytest.approx(max(means) - min(means))
    for wrong in (["random"], ["random", "random"]):
        with pytest.raises(ValueError, match="two or more different agents"):
            cross_play(wrong, "4p")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: compare("random", "lowest", "lowest", "2p"),
            TypeError,
            "others is a list of agents or of their names",
        ),
        (lambda: cross_play("random", "2p"), TypeError, "agents is a list of agents or of their names, not 'random'"),
        (lambda: play_until("random", "2p", width=0.1), TypeError, "line_up is a list of agents or of their names"),
        (lambda: play_until(["random", "lowest"], "2p", width="x"), ValueError, "width is a number between 0 and 1, not 'x'"),
        (
            lambda: play_until(["random", "lowest"], "2p", width=0.1, seat="random"),
            ValueError,
            "seat is one of 0 to 1, not 'random'",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
