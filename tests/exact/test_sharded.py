"""Best responses over files: equal to those in memory, whoever does the parts and however often it was interrupted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from getbit_env.core.files import InUseError, owned
from getbit_env.core.units import executor, results, results_in_order
from getbit_env.exact.best_response import AgentError, exploitability, exploiting_line
from getbit_env.exact.groups import (
    check_grouped,
    codes_at_most,
    groups_of,
    layers_of,
    number_of_codes,
    successors_of,
)
from getbit_env.exact.positions import Positions
from getbit_env.exact.sharded import ShardError, bundles, find_positions, judge_in_shards, parts_of
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.variants import parse_variant
from tests.exact.brute_force import Whim

GAMES = ["2p-3c-1l", "2p-4c-2l", "3p-1r-4c-2l", "4p-4c-2l", "4p-3c-2l-pick1", "5p-4c-1l"]


def files_of(folder: Path) -> dict[str, bytes]:
    """All results in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.npz"))}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("agent", [Whim(), BOTS["counter"]()], ids=["whim", "counter"])
def test_equals_the_best_response_in_memory(name: str, agent: Any, tmp_path: Path) -> None:
    variant = parse_variant(name)
    positions = Positions(variant)
    whole = exploitability(agent, positions, name="it")
    parts = judge_in_shards(agent, variant, tmp_path / "shards", name="it", part=64)
    assert parts.count == positions.count
    assert [sum(counts) for counts in parts.counts] == np.diff(positions.first).tolist()
    same = (
        0 if getattr(agent, "name", "") == "counter" else 1e-14
    )  # products of matrices round differently in batches of another size
    np.testing.assert_allclose(parts.best, whole.best, rtol=0, atol=same)
    np.testing.assert_allclose(parts.own, whole.own, rtol=0, atol=same)
    np.testing.assert_array_equal(parts.answers(positions), whole.answer)
    assert parts.regret == pytest.approx(whole.regret, rel=0, abs=same)
    assert [leak[:2] for leak in parts.leaks] == sorted((leak[:2] for leak in whole.leaks), key=lambda at: (-at[1], -at[0]))
    gains = {leak[:2]: leak.gain for leak in whole.leaks}
    assert [leak.gain for leak in parts.leaks] == pytest.approx([gains[leak[:2]] for leak in parts.leaks], abs=1e-12)
    assert parts.exploiting_line() == exploiting_line(whole, agent)


def test_files_do_not_depend_on_the_executor(tmp_path: Path) -> None:
    variant = parse_variant("4p-4c-2l")
    one = judge_in_shards(Whim(), variant, tmp_path / "one", part=64)
    with executor(threads=3) as pool:
        three = judge_in_shards(Whim(), variant, tmp_path / "three", part=64, pool=pool)
    assert one.digest == three.digest
    assert files_of(tmp_path / "one") == files_of(tmp_path / "three")


def test_processes_do_parts_as_threads_do(tmp_path: Path) -> None:
    variant = parse_variant("3p-1r-3c-1l")
    agent = BOTS["counter"]()
    one = judge_in_shards(agent, variant, tmp_path / "one", part=64)
    with executor(processes=2) as pool:
        two = judge_in_shards(agent, variant, tmp_path / "two", part=64, pool=pool)
    assert one.digest == two.digest
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


class InterruptionError(Exception):
    """What stands for a process that is killed."""


@pytest.mark.parametrize("at", [("finding groups", 3), ("best response", 40), ("leaks", 100)])
def test_goes_on_where_it_was_interrupted(at: tuple[str, int], tmp_path: Path) -> None:
    variant, folder = parse_variant("4p-4c-2l"), tmp_path / "shards"

    def stop(what: str, done: int, _of: int) -> None:
        if what == at[0] and done >= at[1]:
            raise InterruptionError

    with pytest.raises(InterruptionError):
        judge_in_shards(Whim(), variant, folder, part=64, progress=stop)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz") if path.parent.name in ("positions", "values")}
    assert before
    result = judge_in_shards(Whim(), variant, folder, part=64)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert result.digest == judge_in_shards(Whim(), variant, tmp_path / "other", part=64).digest
    assert files_of(folder) == files_of(tmp_path / "other")
    done = {stage: sum(cost.done for cost in result.costs if cost.stage == stage) for stage in ("best response", "leaks")}
    assert done["best response"] < result.count or at[0] == "finding groups"


@pytest.mark.parametrize("kind", ["positions", "values"])
def test_damaged_files_are_computed_anew(kind: str, tmp_path: Path) -> None:
    variant, folder = parse_variant("3p-1r-4c-2l"), tmp_path / "shards"
    judge_in_shards(Whim(), variant, folder, part=64)
    good = files_of(folder)
    for path in sorted(path for path in folder.rglob("*.npz") if path.parent.name == kind)[1:4]:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    judge_in_shards(Whim(), variant, folder, part=64)
    assert files_of(folder) == good


def test_agents_share_positions_but_not_values(tmp_path: Path) -> None:
    variant, folder = parse_variant("3p-1r-4c-2l"), tmp_path / "shards"
    one = judge_in_shards(Whim(), variant, folder, name="whim", part=64)
    two = judge_in_shards(BOTS["counter"](), variant, folder, name="counter", part=64)
    assert one.digest != two.digest
    assert not any(cost.stage == "finding positions" for cost in two.costs)
    with pytest.raises(ShardError, match="was begun with another agent of the name whim"):
        judge_in_shards(BOTS["counter"](), variant, folder, name="whim", part=64)


def test_a_folder_is_for_one_game_one_size_of_parts_and_one_process(tmp_path: Path) -> None:
    variant, folder = parse_variant("3p-1r-3c-1l"), tmp_path / "shards"
    find_positions(variant, folder, part=64)
    with pytest.raises(ShardError, match=r"holds the shards of .*'part': 64"):
        find_positions(variant, folder, part=128)
    with pytest.raises(ShardError, match="3p-1r-3c-1l"):
        find_positions(parse_variant("4p-3c-1l"), folder, part=64)
    with owned(folder / "plan.json", "the folder"), pytest.raises(InUseError):
        find_positions(variant, folder, part=64)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").touch()
    with pytest.raises(ShardError, match="is not empty, and holds no shards"):
        find_positions(variant, tmp_path / "letters")
    with pytest.raises(ValueError, match=r"part .* is 64 or more, not 63"):
        find_positions(variant, folder, part=63)


class Forgetful(Whim):
    """Plays by how often it was asked."""

    asked = 0

    def probabilities(self, _observation: Any, action_mask: Any) -> Any:
        Forgetful.asked += 1
        likes = action_mask * (1.0 + np.arange(action_mask.shape[1]) * (self.asked % 2))
        return likes / likes.sum(axis=1, keepdims=True)


def test_agents_that_play_by_more_than_the_position_are_refused(tmp_path: Path) -> None:
    variant = parse_variant("3p-1r-4c-2l")
    with pytest.raises(AgentError, match="depends on more than the position"):
        judge_in_shards(Forgetful(), variant, tmp_path / "shards", part=64)
    whim = Whim()
    whim.unpicklable = lambda: None  # type: ignore[attr-defined]
    with pytest.raises(ShardError, match="can't be pickled"):
        judge_in_shards(whim, variant, tmp_path / "others", part=64)


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "cluster.md", "exec"), {"__name__": "cluster"})
    assert "a best response gains 0.1768 on counter" in capsys.readouterr().out


# --- groups ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["2p", "4p", "4p-pick1", "5p-4c-2l", "5p"])
def test_groups_have_every_code_once(name: str) -> None:
    variant = parse_variant(name)
    waves = groups_of(variant)
    assert len(waves) == variant.most_rounds
    for wave, groups in enumerate(waves):
        assert len(set(groups)) == len(groups)
        if wave + 1 < len(waves):
            led = {after for group in groups for after in successors_of(variant, wave, group)}
            assert led == set(waves[wave + 1])
    for group in waves[-1]:
        layers, first = layers_of(variant, [group])
        assert number_of_codes(variant, group) == layers.start[-2] + np.prod(
            [len([m for m in range(1 << variant.cards) if m.bit_count() == size]) for size in layers.sizes[-1] if size]
        ) * (3 if name == "2p" else 1)
        assert first[-1] % 64 == 0


def test_five_players_are_grouped_and_six_are_refused() -> None:
    five = parse_variant("5p")
    check_grouped(five)
    codes = [number_of_codes(five, group) for wave in groups_of(five) for group in wave]
    assert sum(codes) == pytest.approx(3.05e9, rel=0.01)
    assert max(codes) == 14_400_000
    assert codes_at_most(five) == sum(codes)
    with pytest.raises(ValueError, match="6p is too large to be judged exactly, on any number of machines"):
        check_grouped(parse_variant("6p"))
    with pytest.raises(ValueError, match="three players with two robots each"):
        check_grouped(parse_variant("3p"))
    with pytest.raises(ValueError, match="give the face-up game 5p"):
        check_grouped(parse_variant("5p-memory"))


def test_bundles_hold_every_part_once_and_are_no_larger_than_a_large_part() -> None:
    parts = parts_of(3, [10, 5000, 0, 64, 130], 64)
    units = bundles(parts, 10_000)
    assert [part for unit in units for part in unit] == parts
    assert max(map(len, units)) <= 5
    assert all(unit for unit in bundles(parts, 1))


# --- units ----------------------------------------------------------------------------------------------------------------


def _third(number: int) -> float:
    return 3 / number


def test_results_come_in_order_and_the_first_error_ends_it() -> None:
    with executor(threads=2) as pool:
        assert results_in_order(pool, _third, [1, 3, 6]) == [3, 1, 0.5]
        assert dict(results(pool, _third, [3, 1])) == {0: 1, 1: 3}
        with pytest.raises(ZeroDivisionError):
            results_in_order(pool, _third, [1, 0, 2])
