"""Line-ups, tasks and responders as units on Ray: the same results as here. `nox -s ray` runs this; without Ray it is skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval import benchmark, tournament
from getbit_env import load_agent
from getbit_env.core.units import executor
from getbit_env.game_registry import find_variant
from getbit_env.match import play_tournament

ray: Any = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own code warns of what it will change


@pytest.fixture(scope="module", autouse=True)
def connected() -> Iterator[None]:
    """One Ray for all tests; commands use the one that is there."""
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_tournament_is_the_same(tmp_path: Path) -> None:
    agents, settings = ["random", "highest", "counter"], {"variant": "3p-1r-4c-1l", "starts": 24}
    far = play_tournament(agents, **settings, ray="local", path=tmp_path / "far.json")
    assert far.to_dict() == play_tournament(agents, **settings).to_dict()
    assert ray.is_initialized()  # what was there before is left running
    arguments = [
        *agents,
        "--variant",
        "3p-1r-4c-1l",
        "--starts",
        "24",
        "--output",
        str(tmp_path / "out"),
        "--ray",
        "local",
        "--json",
    ]
    assert tournament.main(arguments) == 0


def test_the_benchmark_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for folder, more in (("far", ["--ray", "local"]), ("near", [])):
        arguments = ["random", "highest", "--tasks", "2p", "--without-truth", "--output", str(tmp_path / folder), "--json", *more]
        assert benchmark.main(arguments) == 0
        results = json.loads(capsys.readouterr().out)["results"]
        found.append([{key: result[key] for key in ("agent", "task", "status", "tables")} for result in results])
    assert found[0] == found[1]
    kept = [{path.name for path in (tmp_path / folder / "results").iterdir()} for folder in ("far", "near")]
    assert kept[0] == kept[1] != set()


def test_responders_are_units_and_the_best_one_counts() -> None:
    lower_bound = pytest.importorskip("eval.lower_bound", exc_type=ImportError)
    variant = find_variant("3p-1r-4c-1l")
    with executor(ray="local") as pool:
        best = lower_bound.best_lower_bound("random", variant, 8192, 2, pool, starts=64)
    agent = load_agent("random")
    alone = [lower_bound.lower_bound(agent, variant, 8192, seed=seed, starts=64, quiet=True) for seed in (0, 1)]
    assert best.score == max(one.score for one in alone)
    assert best.value == max(alone, key=lambda one: one.score).value
