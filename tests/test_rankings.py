"""Rankings of a tournament: the tables that are ranked, the votes, and what OpenSpiel makes of them where it is installed."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from eval import tournament as command
from getbit_env.get_bit.bots import Highest
from getbit_env.match import Estimate, ForfeitError, TournamentResult, play_tournament
from getbit_env.match.comparison import CrossPlay
from getbit_env.match.rankings import Voting, alpha_rank, ballots_of, elect, payoffs_of, wins_of

AGENTS = ("a", "b", "c")
CIRCLE = np.array([[0, 0.3, -0.2], [-0.3, 0, 0.4], [0.2, -0.4, 0]])  # a beats b beats c beats a
ORDER = np.array([[0, 0.3, 0.5], [-0.3, 0, 0.4], [-0.5, -0.4, 0]])  # a beats b beats c, and a beats c
HAS_OPENSPIEL = all(importlib.util.find_spec(package) for package in ("open_spiel", "networkx", "cvxpy", "ecos"))
with_openspiel = pytest.mark.skipif(not HAS_OPENSPIEL, reason="OpenSpiel is not installed")


class Broken(Highest):
    def act(self, *_: np.ndarray) -> np.ndarray:
        raise OSError("no board")


@pytest.mark.parametrize("variant", ["4p", "2p"])
def test_the_cross_tables_are_those_of_the_tournament(variant: str) -> None:
    result = play_tournament(["random", "highest", "lowest"], variant, starts=24, mixed=0)
    payoffs, wins = payoffs_of(result), wins_of(result)
    for i, one in enumerate(result.agents):
        for j, many in enumerate(result.agents):
            if one == many:
                assert (payoffs[i, j], wins[i, j]) == (0, 1 / result.players)
            else:
                standing = result.match(one, many)[one]
                assert (payoffs[i, j], wins[i, j]) == (standing.payoff.mean, standing.win.mean)
    if variant == "2p":
        np.testing.assert_allclose(payoffs, -payoffs.T)
    assert wins[0, 2] > 1 / result.players, "among lowest even random play wins most"


def test_seeds_of_a_recipe_are_ranked_as_well() -> None:
    table = CrossPlay("4p", ("x", "y"), ((None, Estimate(0.4)), (Estimate(0.2), None)))
    assert wins_of(table).tolist() == [[0.25, 0.4], [0.2, 0.25]]
    assert ballots_of(table.agents, wins_of(table)) == [["x", "y"]] * 4


def test_a_table_that_was_not_played_is_not_ranked() -> None:
    result = play_tournament(["random", "broken"], "2p", own={"broken": Broken()}, starts=4, mixed=0)
    for table_of in (payoffs_of, wins_of):
        with pytest.raises(ForfeitError, match="broken failed"):
            table_of(result)


def test_every_opponent_votes_twice_and_prefers_no_agent_that_ties() -> None:
    wins = np.array([[0.5, 0.7, 0.2], [0.3, 0.5, 0.2], [0.8, 0.7, 0.5]])
    assert ballots_of(AGENTS, wins) == [
        ["c", "a", "b"],
        ["c", "a", "b"],
        ["a", "c", "b"],  # among b the others win the same
        ["c", "a", "b"],
        ["c", "a", "b"],  # among c
        ["c", "b", "a"],
    ]


@pytest.mark.parametrize(
    ("agents", "table", "message"),
    [
        (("a",), np.zeros((1, 1)), "agents are two or more with different names, not a"),
        (("a", "a"), np.zeros((2, 2)), "agents are two or more with different names, not a, a"),
        (AGENTS, np.zeros((2, 2)), r"3 agents has as many rows and columns of numbers, not \(2, 2\)"),
        (("a", "b"), np.full((2, 2), np.nan), "numbers"),
    ],
)
def test_a_table_that_is_none_is_refused(agents: tuple[str, ...], table: np.ndarray, message: str) -> None:
    for rank in (alpha_rank, elect):
        with pytest.raises(ValueError, match=message):
            rank(agents, table)


def test_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="alpha is over 0, and for these payoffs at most 875, not 1000"):
        alpha_rank(AGENTS, CIRCLE, alpha=1000)
    for alpha in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="alpha is over 0"):
            alpha_rank(AGENTS, CIRCLE, alpha=alpha)
    with pytest.raises(ValueError, match="population is 2 or more, not 1"):
        alpha_rank(AGENTS, CIRCLE, population=1)
    with pytest.raises(ValueError, match="method is one of 'schulze', 'maximal-lotteries'"):
        elect(AGENTS, CIRCLE, "plurality!")
    with pytest.raises(ValueError, match="kemeny-young tries all orders of 8 agents at most, not of 9"):
        elect([*"abcdefghi"], np.zeros((9, 9)), "kemeny-young")


def test_without_openspiel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open_spiel", None)
    for module in [name for name in sys.modules if name.startswith("open_spiel.")]:
        monkeypatch.delitem(sys.modules, module)
    for rank in (alpha_rank, elect):
        with pytest.raises(ImportError, match=r"getbit-env\[openspiel\]"):
            rank(AGENTS, CIRCLE)


def test_the_command_names_the_extra_before_it_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "open_spiel" else found(name, *more))
    with pytest.raises(SystemExit):
        command.main(["random", "highest", "--vase", "--output", str(tmp_path / "out")])
    assert "getbit-env[openspiel" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--alpha-rank", "0"], "--alpha-rank takes a number over 0, and 350 at most, not 0.0"),
        (["--alpha-rank", "400"], "--alpha-rank takes a number over 0, and 350 at most, not 400.0"),
        (["--vase", "best"], "argument --vase: invalid choice: 'best'"),
        (["lowest", "counter", *["level1", "level2", "adaptive", "mixture", "lookahead"], "--vase", "kemeny-young"], "not of 9"),
    ],
)
def test_the_command_refuses_before_it_plays(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(["random", "highest", *arguments, "--output", str(tmp_path / "out")])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@with_openspiel
def test_alpha_rank_of_an_order_and_of_a_circle() -> None:
    assert list(alpha_rank(AGENTS, ORDER)) == ["a", "b", "c"]
    assert alpha_rank(AGENTS, ORDER)["a"] == pytest.approx(1)
    assert list(alpha_rank(AGENTS, CIRCLE).values()) == pytest.approx([1 / 3] * 3)
    assert alpha_rank(AGENTS[::-1], ORDER[::-1, ::-1]) == pytest.approx(alpha_rank(AGENTS, ORDER))


@with_openspiel
def test_alpha_rank_by_hand() -> None:
    """Of two agents: the parts are as the chances to take over."""
    payoffs, alpha, m = np.array([[0, 0.1], [-0.1, 0]]), 2.0, 10
    u = alpha * 0.2
    spreads, dies = (1 - np.exp(-u)) / (1 - np.exp(-m * u)), (1 - np.exp(u)) / (1 - np.exp(m * u))
    found = alpha_rank(("a", "b"), payoffs, alpha=alpha, population=m)
    assert found == pytest.approx({"a": spreads / (spreads + dies), "b": dies / (spreads + dies)})


@with_openspiel
@pytest.mark.parametrize("method", Voting)
def test_votes_that_agree_rank_by_every_method(method: Voting) -> None:
    """All opponents prefer c to a to b."""
    wins = np.array([[0.5, 0.6, 0.4], [0.4, 0.5, 0.3], [0.6, 0.7, 0.5]])
    scores = elect(AGENTS, wins, method)
    assert list(scores) == ["c", "a", "b"]
    assert scores["c"] > scores["a"] > scores["b"]
    assert scores == elect(AGENTS, wins, method.value)


@with_openspiel
def test_the_command_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["random", "highest", "lowest", "--players", "2", "--starts", "24", "--mixed", "0", "--output", str(tmp_path)]
    assert command.main([*arguments, "--alpha-rank", "--vase", "copeland", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = TournamentResult(("random", "highest", "lowest"), 2, {}, ())
    assert set(printed["rankings"]) == {"alpha-Rank, alpha 100", "Votes of the opponents, copeland"}
    assert all(set(scores) == set(result.agents) for scores in printed["rankings"].values())
    assert next(iter(printed["rankings"]["alpha-Rank, alpha 100"])) == "highest"
    assert command.main([*arguments, "--alpha-rank", "20"]) == 0
    assert "alpha-Rank, alpha 20\nhighest" in capsys.readouterr().out
