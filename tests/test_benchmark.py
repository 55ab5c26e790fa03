"""The benchmark: what the protocol holds fixed, what is counted, what is kept, and the command."""

import hashlib
import json
import shutil
from collections import Counter as Times
from pathlib import Path

import numpy as np
import pytest

from eval import benchmark as command
from eval import leaderboard
from getbit_env import load_agent, parse_variant
from getbit_env.agent_registry import SHIPPED
from getbit_env.benchmark import (
    BUDGETS,
    PROTOCOL,
    TASKS,
    Budget,
    TableResult,
    TaskResult,
    Truth,
    over_seeds,
    play_task,
    protocol_digest,
    tasks,
)
from getbit_env.benchmark.card import as_card, as_seeds_card
from getbit_env.benchmark.protocol import (
    FAMILIAR,
    HELD_OUT,
    ONLY_AT,
    SEARCHING,
    is_held_out,
    mixed_tables,
    opponents_of,
    starts_of,
    tables_of,
)
from getbit_env.benchmark.results import Kind, Status, mean_of
from getbit_env.exact import Positions, exploitability
from getbit_env.game_registry import find_game, find_variant
from getbit_env.get_bit.bots import Highest
from getbit_env.match import Estimate, play_match

GET_BIT = "getbit/GetBit-v0"


class Broken(Highest):
    def act(self, *_: np.ndarray) -> np.ndarray:
        raise OSError("no board")


BROKEN = f"{__name__}:Broken"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget and opponents for tests."""
    protocol_digest()  # before anything is changed
    monkeypatch.setitem(BUDGETS, "tiny", Budget(8, 4, 1000, 0))
    monkeypatch.setitem(FAMILIAR, GET_BIT, ("random", "highest"))
    monkeypatch.setitem(HELD_OUT, GET_BIT, ("lowest", "counter"))


def test_the_protocol_is_frozen() -> None:
    """A change of tasks, seed, budgets, opponents, tables or starts needs a new name of the protocol.

    Since 0.1.0 is not out yet, Sharks are Wild for three and four players could join under the same name.
    """
    assert (PROTOCOL, protocol_digest()) == ("getbit-benchmark-v1", "f7762722093ab7ec")


def test_the_opponents_play_as_they_did() -> None:
    """A bot that plays otherwise needs a new `OPPONENTS_VERSION`, and so a new name of the protocol.

    Since 0.1.0 is not out yet, `montecarlo` could get other random numbers, with the same chances of every action, under version 1.
    """
    line_ups = {
        "4p": [
            ("random", "highest", "lowest", "counter"),
            ("level1", "level2", "adaptive", "mixture"),
            ("lookahead", "soft-lookahead", "montecarlo", "adaptive"),
        ],
        "4p-memory": [("forgetful", "counter", "lookahead", "random"), ("level1", "level2", "adaptive", "mixture")],
        "3p": [("level2", "adaptive", "soft-lookahead")],
        "sharks-2p-level2": [
            ("sharks-random", "sharks-greedy"),
            ("sharks-careful", "sharks-montecarlo"),
            ("sharks-soft", "sharks-mixture"),
        ],
    }
    played = [(task, play_match(line_up, task, starts=4, seed=0).orders) for task, some in line_ups.items() for line_up in some]
    assert hashlib.sha256(repr(played).encode()).hexdigest()[:16] == "41b2a9c5fb5ed9ef"


def test_the_opponents() -> None:
    everybody = set().union(*(opponents_of(task) for task in TASKS))
    assert everybody == set().union(*FAMILIAR.values(), *HELD_OUT.values())
    assert everybody >= SEARCHING | set(ONLY_AT)
    for game, bots in FAMILIAR.items():
        assert set(find_game(game).bots) <= set(bots + HELD_OUT[game])
    for name in sorted(everybody):
        assert load_agent(name)


def test_recipes_do_not_train_against_what_is_held_out() -> None:
    for game, bots in HELD_OUT.items():
        assert set(find_game(game).default_opponents) == set(FAMILIAR[game])
        assert not set(find_game(game).default_opponents) & set(bots)
    assert [is_held_out(bot) for bot in ("level2", "counter", "sharks-soft", "sharks-greedy")] == [True, False, True, False]


def test_no_opponent_is_at_a_task_twice_by_another_name() -> None:
    """In face-up games `forgetful` is `counter`; a best response plays one variant."""
    for task in TASKS:
        assert ("forgetful" in opponents_of(task)) == (task == "4p-memory")
        assert len(set(opponents_of(task))) == len(opponents_of(task))
    of_4p = ("best-response:four_players", "best-response:four_players_ppo")
    assert [opponents_of(task)[-2:] == of_4p for task in ("2p", "3p", "4p", "4p-memory")] == [False, False, True, False]
    assert opponents_of("2p")[-1] == "best-response:two_players"


def test_the_tables() -> None:
    for task in TASKS:
        tables = tables_of(task)
        assert {len(table) for table in tables} == {int(task.removeprefix("sharks-")[0]) - 1}
        mixed = mixed_tables(task)
        assert len({frozenset(table) for table in mixed}) == len(mixed) == (0 if "2p" in task else 4)
        assert all(max(Times(table).values()) == 1 for table in mixed)
    budget = BUDGETS["quick"]
    assert starts_of(("random", "montecarlo"), budget) == budget.searching_starts < starts_of(("random",), budget)


@pytest.mark.usefixtures("tiny")
def test_a_task_is_its_matches() -> None:
    result = play_task("counter", "4p", "tiny", truth=False)
    assert result.status is Status.PLAYED
    assert [table.others for table in result.tables] == tables_of("4p")
    agents = {"mine": load_agent("counter")}
    for table in result.tables:
        match = play_match(["mine", *table.others], "4p", agents=agents, starts=8, seed=tasks.SEED)
        assert (table.win, table.payoff, table.places) == (match["mine"].win, match["mine"].payoff, match["mine"].places)
    assert result.win == mean_of([table.win for table in result.of_bots if table.win])
    assert result.mixed_win == mean_of([table.win for table in result.mixed if table.win])
    assert sum(result.places) == pytest.approx(1)
    assert result.decisions > 0
    assert result.microseconds > 0
    assert TaskResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result


@pytest.mark.usefixtures("tiny")
def test_an_agent_that_fails_has_no_numbers() -> None:
    result = play_task(BROKEN, "4p", "tiny", truth=False)
    assert result.status is Status.FAILED
    assert result.win is result.payoff is result.worst is result.mixed_win is None
    assert result.places == ()
    card = as_card([result])
    assert "OSError: no board" in card
    assert "nothing is counted as won" in card
    assert "The agent is code" in card


@pytest.mark.usefixtures("tiny")
def test_nothing_is_won_against_a_table_that_could_not_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIAR, GET_BIT, ("random",))
    monkeypatch.setitem(HELD_OUT, GET_BIT, (BROKEN,))
    result = play_task("counter", "2p", "tiny", truth=False)
    assert [table.win is None for table in result.tables] == [False, True]
    assert result.status is Status.FAILED
    assert result.win is result.worst is None
    assert f"at the table of {BROKEN}: {BROKEN} failed: OSError: no board" in result.reason


@pytest.mark.usefixtures("tiny")
def test_an_agent_that_cannot_play_a_task_is_told_why() -> None:
    result = play_task("two_players", "4p", "tiny")
    assert result.status is Status.UNFIT
    assert "two_players" in result.reason
    assert result.reason in as_card([result])


@pytest.mark.usefixtures("tiny")
def test_the_exact_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tasks.POSITIONS, "3p-1r", 1000)
    agent = load_agent("lowest")
    expected = exploitability(agent, Positions(parse_variant("3p-1r")))
    truth = tasks.truth_of("lowest", agent, parse_variant("3p-1r"), "tiny", True, None, 1)
    assert truth == Truth(Kind.EXACT, expected.gain, expected.nash_conv)
    monkeypatch.setitem(tasks.POSITIONS, "3p-1r", 1001)
    truth = tasks.truth_of("lowest", agent, parse_variant("3p-1r"), "tiny", True, None, 1)
    assert truth.kind is Kind.UNKNOWN
    assert "3p-1r has 1,001 positions, and this budget judges at most 1,000" in truth.note


@pytest.mark.usefixtures("tiny")
def test_where_nothing_is_exact_a_bound_is_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, memory = load_agent("lowest"), parse_variant("4p-memory")
    truth = tasks.truth_of("lowest", agent, memory, "tiny", True, None, 1)
    assert truth.kind is Kind.UNKNOWN
    assert "no perfect recall" in truth.note
    assert "the budget tiny trains no lower bound" in truth.note
    monkeypatch.setitem(BUDGETS, "tiny", Budget(8, 4, 1000, 500))
    assert "no lower bound was looked for" in tasks.truth_of("lowest", agent, memory, "tiny", True, None, 1).note
    asked: list[tuple[int, int]] = []

    def bound(_agent: object, _variant: object, frames: int, seed: int) -> float:
        asked.append((frames, seed))
        return 0.125

    truth = tasks.truth_of("lowest", agent, memory, "tiny", True, bound, 1)
    assert (truth.kind, truth.gain, truth.nash_conv) == (Kind.LOWER_BOUND, 0.125, None)
    assert asked == [(500, tasks.SEED)]
    sharks = find_variant("sharks-2p-level1")
    truth = tasks.truth_of("x", load_agent("sharks-greedy"), sharks, "tiny", True, command.bound_by_training, 1)
    assert truth.kind is Kind.UNKNOWN
    assert "trains responders for Get Bit! alone; `getbit lower-bound`" in truth.note


def made(agent: str, wins: tuple[float, ...], status: Status = Status.PLAYED, gain: float = 0.1) -> TaskResult:
    """A result with a table a bot."""
    tables = tuple(
        TableResult((bot,), 240, Estimate(win, win - 0.1, win + 0.1), Estimate(2 * win - 1, -1, 1), (win, 1 - win))
        for bot, win in zip("ab", wins, strict=True)
    )
    return TaskResult(
        "2p", agent, "quick", {"unchecked": False}, status, "why" * (status != "played"), tables, Truth(Kind.EXACT, gain, 2 * gain)
    )


def test_mean_and_worst() -> None:
    result = made("x", (0.75, 0.25))
    assert result.win == pytest.approx((0.5, 0.4, 0.6))  # the errors of tables may have the same sign
    assert result.worst is not None
    assert result.worst.table == "b"
    assert result.worst.value.mean == 0.25
    assert result.places == pytest.approx((0.5, 0.5))
    assert result.mixed_win is None
    assert result.held_out_win is result.held_out_worst is None
    assert mean_of([Estimate(0.5), Estimate(0.75)]) == (0.625, None, None)
    assert mean_of([Estimate(0.5), Estimate(0.7, 0.6, 0.9)]) == pytest.approx((0.6, 0.55, 0.7))


@pytest.mark.usefixtures("tiny")
def test_held_out_opponents_have_a_mean_and_a_worst_of_their_own() -> None:
    """Of the tables of `random` and `highest`, and of those held out in this test, `lowest` and `counter`."""
    result = play_task("highest", "2p", "tiny", truth=False)
    wins = {table.name: table.win for table in result.tables if table.win is not None}
    assert [table.name for table in result.of_held_out] == ["lowest", "counter"]
    assert result.held_out_win == mean_of([wins["lowest"], wins["counter"]])
    assert result.win == mean_of(list(wins.values()))
    assert result.held_out_worst is not None
    assert result.held_out_worst.table == min(("lowest", "counter"), key=lambda name: wins[name].mean)
    assert result.to_dict()["summary"]["held_out_win"] == result.held_out_win
    row = over_seeds("recipe", [result, result])
    assert row.held_out_win is not None
    assert row.held_out_win.mean == pytest.approx(result.held_out_win.mean)
    assert row.held_out_worst is not None
    assert row.held_out_worst.table == result.held_out_worst.table
    card = as_card([result])
    assert f"{result.held_out_win}" in card
    assert "| counter  | yes " in card


def test_several_seeds_are_one_row() -> None:
    row = over_seeds("recipe", [made("s0", (0.4, 0.9), gain=0.1), made("s1", (0.6, 0.3), gain=0.3)])
    assert row.win is not None
    half = 12.7062 * np.std([0.65, 0.45], ddof=1) / np.sqrt(2)  # one degree of freedom
    assert row.win == pytest.approx((0.55, max(0, 0.55 - half), min(1, 0.55 + half)), abs=1e-4)
    assert row.worst is not None
    assert row.worst.table == "a"  # 0.5 in the mean over seeds, b 0.6
    assert row.gain is not None
    assert row.gain.mean == pytest.approx(0.2)
    assert row.to_dict()["number_of_seeds"] == 2
    assert "2 seeds" in as_seeds_card([row], "quick")


def test_a_seed_that_failed_is_not_left_out_of_a_mean() -> None:
    row = over_seeds("recipe", [made("s0", (0.4, 0.9)), made("s1", (0.6, 0.3), Status.FAILED), made("s2", (0.5, 0.5))])
    assert row.win is row.worst is row.gain is None
    assert row.reason == "s1: why"
    with pytest.raises(ValueError, match="two results or more"):
        over_seeds("recipe", [made("s0", (0.4, 0.9))])


@pytest.mark.usefixtures("tiny")
def test_a_result_is_kept_until_the_agent_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []

    def counted(agent: str, *arguments: object, **options: object) -> TaskResult:
        played.append(agent)
        return play_task(agent, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "play_task", counted)
    run = tmp_path / "run"
    shutil.copytree(SHIPPED / "four_players", run)
    bench = command.BenchmarkRun(tmp_path / "out", "tiny", truth=False)
    first = bench.result(str(run), "4p")
    assert bench.result(str(run), "4p") == first
    assert len(played) == 1
    shutil.copy(SHIPPED / "four_players_ppo" / "policy.safetensors", run)
    assert bench.result(str(run), "4p") != first
    assert len(played) == 2
    for file in (tmp_path / "out" / "results").iterdir():
        file.write_text("{")
    bench.result(str(run), "4p")
    assert len(played) == 3


@pytest.mark.usefixtures("tiny")
def test_the_truth_can_be_added_to_tables_that_are_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = command.BenchmarkRun(tmp_path, "tiny", truth=False).result("lowest", "4p-memory")
    monkeypatch.setattr(command, "play_task", None)  # nothing is played any more
    second = command.BenchmarkRun(tmp_path, "tiny").result("lowest", "4p-memory")
    assert second.tables == first.tables
    assert first.truth.note == "not asked for"
    assert "no perfect recall" in second.truth.note
    assert command.BenchmarkRun(tmp_path, "tiny").result("lowest", "4p-memory") == second


@pytest.mark.usefixtures("tiny")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--tasks", "2p", "sharks-2p-level1", "--budget", "tiny", "--without-truth", "--output", str(tmp_path / "out")]
    assert command.main(["lowest", "highest", *where, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["agent"], one["task"], one["status"]) for one in found["results"]] == [
        ("lowest", "2p", "played"),
        ("highest", "2p", "played"),
        ("lowest", "sharks-2p-level1", "can't play"),
        ("highest", "sharks-2p-level1", "can't play"),
    ]
    assert found["about"]["getbit-env"]
    assert command.main(["lowest", "highest", "--seeds-of", "mine", *where]) == 0
    card = capsys.readouterr().out
    assert "# mine: 2 seeds" in card
    assert (tmp_path / "out" / "mine-seeds-tiny.md").read_text().strip() == card.strip()
    assert "| random" in (tmp_path / "out" / "lowest-tiny.md").read_text()
    assert command.main([BROKEN, *where]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an AGENT"),
        (["lowest", "--leaderboard"], "give no AGENT"),
        (["lowest", "lowest"], "an AGENT stands twice"),
        (["lowest", "--seeds-of", "mine"], "--seeds-of mine needs two agents or more"),
        (["lowest", "--tasks", "9p"], "invalid choice: '9p'"),
    ],
)
def test_the_command_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert message in capsys.readouterr().err


def test_the_leaderboard_is_for_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leaderboard, "FOLDER", tmp_path / "docs")
    with pytest.raises(SystemExit):
        command.main(["--leaderboard"])
    assert "which only a checkout has" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_unknown_agent_is_refused_before_anything_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["lowest", "lowset", "--output", str(tmp_path / "out")]) == 2
    assert "did you mean 'lowest'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("tiny")
def test_what_is_done_is_kept_when_the_command_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(agent: str, *arguments: object, **options: object) -> TaskResult:
        if agent == "highest":
            raise KeyboardInterrupt
        return play_task(agent, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "play_task", interrupted)
    arguments = ["lowest", "highest", "--tasks", "2p", "--budget", "tiny", "--without-truth", "--output", str(tmp_path)]
    assert command.main(arguments) == 130
    assert "interrupted: tasks that are done are kept" in capsys.readouterr().err
    assert len(list((tmp_path / "results").iterdir())) == 1


@pytest.mark.usefixtures("tiny")
def test_the_leaderboard(tmp_path: Path) -> None:
    results = [play_task(name, "2p", "tiny", truth=False) for name in ("lowest", "highest", "four_players")]
    page = leaderboard.write(results, "quick", {"command": "python -m eval.benchmark", "machine": "m"}, tmp_path)
    assert page == (tmp_path / "leaderboard.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith(("| lowest", "| highest", "| four_players"))]
    best = max(results[:2], key=lambda one: one.win or (0,)).agent
    assert len(rows) == 2
    assert rows[0].startswith(f"| {best}")
    assert "Not played for this page: 3p, 4p" in page


def test_who_has_a_row() -> None:
    assert {"random", "equilibrium", "two_players", "best-response:two_players"} <= set(leaderboard.agents("2p"))
    assert {"sharks-careful", "sharks_two_players"} <= set(leaderboard.agents("sharks-2p-level1"))
    for task in TASKS:
        assert set(opponents_of(task)) <= set(leaderboard.agents(task))
    remembering = {"forgetful", "recall:equilibrium", "recall:four_players"}
    assert set(leaderboard.agents("4p-memory")) - set(leaderboard.agents("4p")) == remembering


def test_the_page_shows_the_protocol() -> None:
    page = (Path(__file__).parent.parent / "docs" / "benchmark.md").read_text()
    assert PROTOCOL in page
    for task in TASKS:
        assert f"`{task}`" in page
    for bot in set().union(*FAMILIAR.values(), *HELD_OUT.values()):
        assert f"`{bot}`" in page
    for name, budget in BUDGETS.items():
        frames = f"{budget.bound_frames:,}" if budget.bound_frames else "none"
        assert f"| `{name}` | {budget.starts:,} | {budget.searching_starts:,} | {budget.positions:,} | {frames} |" in page
