"""What measures speed does the work that it says, and what it says of it is what it measured; nothing here looks at a clock."""

from __future__ import annotations

import gc
import json
import platform
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from docs import speed, tables
from docs.speed_pictures import draw_all
from eval.speed import bench, guard, workloads
from eval.speed import first_use as first
from eval.speed.peers import ALL_SEATS, BATCH, OURS, PEERS, SCALAR, our_engine, our_like
from getbit_env.core.streams import game_streams
from getbit_env.exact.positions import expand, new_expansion
from getbit_env.exact.two_players import solve_two_players
from getbit_env.get_bit.bots.search import MonteCarlo
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.rules import Games
from getbit_env.get_bit.variants import Variant, parse_variant


def copies(games: Any) -> list[np.ndarray]:
    return [array.copy() for array in games]


def same(games: Any, others: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(games, others, strict=True))


# --- the work ----------------------------------------------------------------------------------------------------------------


def test_a_batch_draws_legal_cards_and_begins_the_same_games_again() -> None:
    batch = workloads.RecurringGames(parse_variant("5p"), 40, seed=3)
    begun, played = copies(batch.engine.state), []
    for _ in range(20):
        state = batch.engine.state
        batch.draw()
        assert (batch.cards & (batch.cards - 1) == 0).all()
        assert (batch.cards & ~state.hand == 0).all()
        assert ((batch.cards > 0) == (state.limbs > 0)).all()
        played.append(batch.cards.copy())
        batch.play(batch.cards)
    assert not same(begun, batch.engine.state)
    end = copies(batch.engine.state)
    batch.begin()
    assert same(begun, batch.engine.state)
    for cards in played:
        batch.draw()
        assert np.array_equal(batch.cards, cards)
        batch.play(batch.cards)
    assert same(end, batch.engine.state)


@pytest.mark.parametrize("options", [{}, {"draw": True}, {"observe": True}, {"threads": 2}, {"draw": True, "threads": 2}])
def test_a_block_of_the_engine_plays_so_many_rounds(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    block = workloads.engine_steps("4p", 32, rounds=6, **options)
    played: list[int] = []
    inner = workloads.RecurringGames.play
    monkeypatch.setattr(
        workloads.RecurringGames, "play", lambda batch, cards: (inner(batch, cards), played.append(batch.engine.size))
    )
    assert block() == sum(played) == 6 * 32
    assert block() == 6 * 32


def test_parts_of_the_parallel_loop_play_the_same_games(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [
        workloads.parallel_loop(rounds=60),
        workloads.parallel_part(rounds=60),
        workloads.parallel_part(rounds=60, engine=True),
    ]
    inner = workloads.Engine.play_and_observe_one
    seen: list[bytes] = []

    def step(game: Any, actions: Any) -> None:
        inner(game, actions)
        seen.append(b"".join(array.tobytes() for array in (*game.state, game.observation)))

    monkeypatch.setattr(workloads.Engine, "play_and_observe_one", step)
    games = []
    for block in blocks:
        assert block() == 60
        games.append(tuple(seen))
        seen.clear()
    assert len(games[0]) == 60
    assert len(set(games)) == 1


def wins_of_viewer(variant: Variant, games: Games) -> NDArray[np.bool_]:
    """Whether player 0 has won, `[G]`: of the players who lost no robot, or are still in the line, it has the frontmost robot."""
    each, inside = variant.robots_per_player, games.limbs > 0
    places = np.where(inside, games.place, 99).reshape(variant.players, each, -1)
    places = np.where(inside.reshape(places.shape).all(axis=1, keepdims=True), places, 99).min(axis=1)
    over: NDArray[np.bool_] = inside.sum(axis=0) <= variant.last_line
    return over & (places.argmin(axis=0) == 0)


@pytest.mark.parametrize("name", ["2p", "3p", "4p"])
def test_the_rounds_recorded_of_a_search_are_those_that_it_plays(name: str) -> None:
    """Played again by the rules alone, they are won as often, after each action."""
    variant = parse_variant(name)
    rows, masks = workloads.midgame(variant, 3)
    bot, keys = MonteCarlo(playouts=20), game_streams(7, 1)
    for seen, mask in zip(rows[:, None], masks[:, None], strict=True):
        bot.reset(Layout(variant), np.ones(1, np.bool_), seed=7)
        values = bot.agent.values(seen, mask)[0]
        recorded = workloads.record_playouts(variant, seen, mask, keys, 20)
        assert recorded.cards.flags.c_contiguous  # with strides the rules alone took longer than the whole search
        block, games = workloads.rules_alone(variant, recorded, 5)
        assert block() == block() == 5
        assert games.limbs.shape[1] == recorded.first[-1] == recorded.playing[0, 0] == 20 * mask.sum()
        assert (np.diff(recorded.playing[0]) <= 0).all()
        assert recorded.playing[0, -1] < recorded.playing[0, 0]
        numbers = np.log2(recorded.cards[0, : variant.robots_per_player]).astype(np.int64)
        actions = numbers[0] if len(numbers) == 1 else numbers[0] * variant.cards + numbers[1]
        won = np.bincount(actions, wins_of_viewer(variant, games), variant.actions)
        np.testing.assert_allclose(won[mask[0] > 0] / 20, values[mask[0] > 0])
    together = workloads.record_playouts(variant, rows, masks, game_streams(7, len(rows)), 20)
    assert together.first[-1] == 20 * masks.sum()
    assert (np.diff(together.first) <= max(workloads.AT_ONCE_PLAYED, 20 * variant.actions)).all()
    assert together.playing[:, 0].sum() == together.first[-1]


def test_the_rounds_recorded_of_a_solver_are_those_that_it_plays() -> None:
    solution = solve_two_players(parse_variant("2p-3c-2l-pick1"))
    positions = solution.positions
    numbers = np.linspace(0, positions.count - 1, 12).astype(np.int64)
    recorded = workloads.record_expansion(solution, numbers)
    block, games = workloads.rules_alone(positions.variant, recorded, 12)
    assert block() == 12
    work = new_expansion(positions.index)
    for k, number in enumerate(numbers):
        expand(positions.index, np.array([number]), work)
        start, stop = recorded.first[k : k + 2]
        assert stop - start == work.joint[0]
        assert same([array[..., start:stop] for array in games], [array[..., : work.joint[0]] for array in work.games])


def test_our_agent_steps_are_cards_of_robots_in_the_line() -> None:
    batch = workloads.RecurringGames(parse_variant("4p"), 64)
    steps = 0
    for _ in range(30):
        steps += int((batch.engine.state.limbs > 0).sum())
        batch.draw()
        batch.play(batch.cards)
    block = our_engine(64, 30)
    assert block() == block() == steps
    assert steps < 64 * 30 * 4


def test_like_is_compared_with_like() -> None:
    like = {
        ours: {name for name in PEERS if our_like(name) == ours and not name.startswith("getbit-env")} for ours in (*OURS, None)
    }
    assert like[BATCH] == {name for name in PEERS if "roll-outs" in name}
    assert like[ALL_SEATS] == {name for name in PEERS if name.split()[0] in ("Pgx", "EnvPool", "PufferLib's")}
    assert like[None] == {"OpenSpiel goofspiel, no observations"}
    assert like[SCALAR] >= {"OpenSpiel goofspiel, observations and masks", "RLCard Uno"}


@pytest.mark.parametrize(("opponents", "rows"), [("random", 16), (None, 64)])
def test_steps_of_a_vector_environment_are_those_of_rows_that_act(opponents: str | None, rows: int) -> None:
    seen: list[Any] = []

    def make(*arguments: Any, **given: Any) -> Any:
        seen.append(gymnasium.make_vec(*arguments, **given))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(workloads, "gymnasium", SimpleNamespace(make_vec=make))
        make_id = "getbit/GetBit-v0" if opponents else "getbit/GetBitAllSeats-v0"
        block = workloads.vector_steps(make_id, rows, opponents=opponents, rounds=30)
    (env,) = seen
    acted, inner = [], env.step

    def step(actions: Any) -> Any:
        choosing = env.batch.engine.choosing()
        acted.append(rows if opponents else int(choosing.sum()))
        return inner(actions)

    env.step = step
    assert block() == sum(acted)
    assert opponents or min(acted) < rows, "some seats are out"


def test_names_agree() -> None:
    assert {name for pair in workloads.RATIOS.values() for name in pair} <= workloads.WORKLOADS.keys()
    assert set(speed.README) <= workloads.WORKLOADS.keys()
    compared = {name for name in PEERS if not name.startswith("getbit-env") or name in OURS}
    assert {name for pair in bench.PEER_RATIOS.values() for name in pair} == compared
    assert len(bench.growth()) == 4 * (9 + 8)


# --- the measurement ---------------------------------------------------------------------------------------------------------


def test_rates_are_work_by_time_and_ratios_are_within_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    monkeypatch.setattr(bench, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(bench, "SECONDS", 3)

    def missing() -> workloads.Block:
        raise ImportError("no such package")

    work: bench.Workloads = {"six": ("things/s", lambda: lambda: 6), "two": ("things/s", lambda: lambda: 2), "none": ("", missing)}
    rates = bench.measure(work, 2, optional=True)
    assert rates == {"six": [4, 4], "two": [4 / 3, 4 / 3]}, "two blocks are begun before three seconds are over"
    with pytest.raises(ImportError):
        bench.measure(work, 1, optional=False)
    ratios = {"a / b": ("six", "two"), "a / none": ("six", "none")}
    result = bench.summary(work, {"six": [1, 8, 6], "two": [1, 2, 3]}, ratios)
    assert result["rates"]["six"] == {"unit": "things/s", "median": 6, "least": 1, "most": 8}
    assert result["ratios"] == {"a / b": 2}


def test_the_command_refuses_what_it_cannot_measure(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--only", "chess"], "nothing has 'chess' in its name"),
        (["--rounds", "0"], "'0' is no whole number from 1 on"),
    ):
        with pytest.raises(SystemExit):
            bench.main(arguments)
        assert message in capsys.readouterr().err


def test_the_first_use_is_measured_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, _ = first.first_use(None)
    assert parts.keys() == first.PARTS.keys()
    assert all(seconds > 0 for seconds in parts.values())
    cold = {part: 10.0 * k for k, part in enumerate(first.PARTS, 1)}
    warm = {part: 1.0 * k for k, part in enumerate(first.PARTS, 1)}
    folders: list[Path] = []

    def fake(cache: Path) -> tuple[dict[str, float], dict[str, tuple[int, float]]]:
        is_cold = cache not in folders
        folders.append(cache)
        return (cold, {"rules.fast": (1, 0.5), "rules.slow": (2, 3.0)}) if is_cold else (warm, {})

    monkeypatch.setattr(first, "first_use", fake)
    ticks: list[None] = []
    result = first.measure_first_use(2, lambda: ticks.append(None))
    assert len(ticks) == 8
    assert result["seconds"] == {"warm": warm, "cold": cold}
    assert list(result["kernels"].items()) == [("rules.slow", (2, 3.0)), ("rules.fast", (1, 0.5))]
    assert [row[1:] for row in first.as_rows(result["seconds"])[-2:]] == [(1 + 2, 10 + 20), (3 + 4 + 5, 30 + 40 + 50)]
    monkeypatch.setattr(first, "first_use", lambda _cache: (cold, {"rules.slow": (1, 1.0)}))
    with pytest.raises(RuntimeError, match=r"warm process compiled rules\.slow"):
        first.measure_first_use(1, lambda: None)


# --- the guard ---------------------------------------------------------------------------------------------------------------

CALLGRIND = """\
desc: Trigger: Client Request: engine, 4 players
events: Ir
fn=(1) work
1 80
totals: 120
# callgrind format
desc: Trigger: Client Request: parallel_env
fn=(1) work
1 7
totals: 7000
desc: Trigger: Program termination
totals: 99
"""


def test_counts_are_read_by_name() -> None:
    assert guard.read_counts(CALLGRIND) == {"engine, 4 players": 120, "parallel_env": 7000}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of figures, 100 each, on a machine that can count."""
    path = tmp_path / "guard.json"
    path.write_text(json.dumps({"versions": guard.versions(), "instructions": dict.fromkeys(guard.GUARDED, 100.0)}))
    monkeypatch.setattr(guard, "STORED", path)
    monkeypatch.setattr(guard.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(guard.shutil, "which", lambda name: f"/usr/bin/{name}")
    return path


@pytest.mark.usefixtures("stored")
def test_more_instructions_than_may_be_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (compiled, *_), (interpreted, *_) = (
        [name for name, (_, tolerance, _) in guard.GUARDED.items() if tolerance == wanted]
        for wanted in (guard.COMPILED, guard.INTERPRETED)
    )
    for name, more, worse in ((compiled, 1, 0), (compiled, 3, 1), (compiled, -9, 0), (interpreted, 3, 0), (interpreted, 6, 1)):
        counts = {**dict.fromkeys(guard.GUARDED, 100.0), name: 100.0 + more}
        monkeypatch.setattr(guard, "counted", lambda names, counts=counts: {each: counts[each] for each in names})
        assert guard.main([]) == worse
        assert (f"more instructions than before: {name}\n" in capsys.readouterr().out) == bool(worse)


def test_counts_are_kept_on_demand(stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    one, *others = guard.GUARDED
    monkeypatch.setattr(guard, "counted", lambda names: dict.fromkeys(names, 250.04))
    assert guard.main([]) == 1
    assert guard.main(["--only", one, "--update"]) == 0
    kept = json.loads(stored.read_text())["instructions"]
    assert {kept[name] for name in others if one not in name} == {100.0}
    assert kept[one] == 250.0
    assert guard.main(["--update"]) == 0
    assert guard.main([]) == 0
    other = json.loads(stored.read_text())
    other["versions"]["numba"] = "0.1"
    stored.write_text(json.dumps(other))
    with pytest.raises(SystemExit):
        guard.main([])
    assert "made with numba 0.1" in capsys.readouterr().err, "counts of other versions are not compared"
    assert guard.main(["--only", one, "--update"]) == 0
    assert set(json.loads(stored.read_text())["instructions"]) == {name for name in guard.GUARDED if one in name}, "nor mixed"


def test_every_guarded_piece_has_a_figure() -> None:
    assert json.loads(guard.STORED.read_text())["instructions"].keys() == guard.GUARDED.keys()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="it speaks to valgrind in machine code")
def test_guarded_work_is_done_outside_valgrind_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert not guard.Valgrind().present
    try:
        guard.work(["engine of one game, 4 players", "parallel_env, 4 players"])
    finally:
        gc.enable()
    assert json.loads(capsys.readouterr().out) == {"engine of one game, 4 players": 50, "parallel_env, 4 players": 100}


# --- the page ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def figures() -> dict[str, Any]:
    """Results of every kind, in which everything does 1,000 a second, but the batch engine and two threads 500 times that."""

    def result(what: str, work: bench.Workloads, ratios: Any) -> dict[str, Any]:
        fast = ("batch engine", "2 threads")
        rates = {name: [500e3 if any(word in name for word in fast) else 1e3] for name in work}
        about = {"command": f"python -m eval.speed.bench ({what})", "machine": "an abacus", "getbit-env": ""}
        return {"what": what, **bench.summary(work, rates, ratios), "about": about}

    seconds = {kind: dict.fromkeys(first.PARTS, 0.25) for kind in ("warm", "cold")}
    return {
        "workloads": result("workloads", workloads.WORKLOADS, workloads.RATIOS),
        "first use": {
            "what": "first use",
            "seconds": seconds,
            "kernels": {},
            "about": {"command": "python -m eval.speed.bench --first-use"},
        },
        "growth": result("growth", bench.growth(), {}),
        "peers": result("peers", bench.PEER_WORKLOADS, bench.PEER_RATIOS),
    }


def test_tables_say_what_was_measured(figures: dict[str, Any]) -> None:
    assert "| parallel_env, 4 players, argmax of the mask | 1.00e3 rounds/s | 1.00e3 to 1.00e3 |" in speed.table(
        "speed-rates", figures
    )
    assert speed.table("speed-readme", figures).count("\n") == 1 + len(speed.README)
    assert "| engine, 4 players: 2 threads / 1 thread | 500.00 |" in speed.table("speed-ratios", figures)
    peers = speed.table("speed-peers", figures)
    assert "| Pgx Kuhn poker | 1.00e3 | 500 | **1** | 1 |" in peers
    assert "| RLCard Uno | 1.00e3 | 500 | 1 | **1** |" in peers
    assert "| OpenSpiel goofspiel, C++ roll-outs | 1.00e3 | **500** | 1 | 1 |" in peers
    assert "| OpenSpiel goofspiel, no observations | 1.00e3 | 500 | 1 | 1 |" in peers
    assert f"| **{BATCH}** | 5.00e5 |  |  |  |" in peers
    assert "| 7 |" + " 1.00e3 |" * 9 + " 5.00e5 | 500.00 |" in speed.table("speed-growth", figures)
    assert "| **import, in all** | 0.500 | 0.500 |" in speed.table("speed-first-use", figures)
    assert speed.table("speed-about peers", figures) == "`python -m eval.speed.bench (peers)`; machine an abacus"
    with pytest.raises(ValueError, match="no table 'speed-other'"):
        speed.table("speed-other", figures)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the pages, their figures and no picture."""
    pages = []
    for page in (speed.ROOT / "README.md", speed.ROOT / "docs" / "speed.md"):
        pages.append(tmp_path / page.name)
        pages[-1].write_text(page.read_text())
    (tmp_path / "speed.json").write_text(speed.FIGURES.read_text())
    monkeypatch.setattr(tables, "PAGES", tuple(pages))
    monkeypatch.setattr(speed, "FIGURES", tmp_path / "speed.json")
    monkeypatch.setattr(speed, "PICTURES", tmp_path)
    return tmp_path


def test_the_command_takes_results_and_makes_the_page(elsewhere: Path, figures: dict[str, Any]) -> None:
    files = []
    for kind, result in figures.items():
        files.append(elsewhere / f"{kind}.json")
        files[-1].write_text(json.dumps(result))
    speed.main([str(file) for file in files[1:]])
    assert speed.kept_figures()["peers"] == json.loads(json.dumps(figures["peers"]))
    assert speed.kept_figures()["workloads"] != figures["workloads"], "what no file speaks of stays"
    speed.main([str(files[0])])
    page = (elsewhere / "speed.md").read_text()
    assert "| Pgx Kuhn poker | 1.00e3 | 500 | **1** | 1 |" in page
    assert "| MaskablePPO on nothing | 1.00e3 steps/s" in (elsewhere / "README.md").read_text()
    for picture in draw_all(figures, elsewhere):
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert f"images/{picture.name}" in page, "the page shows it"
        assert (speed.ROOT / "docs" / "images" / picture.name).exists()


def test_the_command_refuses_what_is_no_result(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = {"what": "peers", "about": {"command": "python -m eval.speed.bench --peers --only Pgx"}}
    for text, message in (
        ("| what | rate |", "is no result of python -m eval.speed.bench --json"),
        ("[]", "is no result of python -m eval.speed.bench --json"),
        ('{"what": "weather"}', "unknown kind, 'weather'"),
        (json.dumps(part), "only a part of a result"),
    ):
        (elsewhere / "wrong.json").write_text(text)
        with pytest.raises(SystemExit):
            speed.main([str(elsewhere / "wrong.json")])
        assert message in capsys.readouterr().err
    speed.FIGURES.unlink()
    with pytest.raises(SystemExit):
        speed.main([])
    assert "no result yet of: workloads, first use, growth, peers" in capsys.readouterr().err
