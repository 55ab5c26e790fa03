"""Best responses on a Ray cluster of several nodes on this machine. `nox -s ray` runs it; without Ray it is skipped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from getbit_env.core.units import RayError, executor, results_in_order
from getbit_env.exact.best_response import AgentError
from getbit_env.exact.sharded import judge_in_shards
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.variants import parse_variant

ray: Any = pytest.importorskip("ray")
cluster_utils: Any = pytest.importorskip("ray.cluster_utils")

NODES = 3
VARIANT = "4p-4c-2l"


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that does no work, and nodes with a processor each."""
    store = {"object_store_memory": 80_000_000}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **store})
    for _ in range(NODES):
        made.add_node(num_cpus=1, **store)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


class SlowAgent:
    """Plays its cards with the same chances, takes its time, and says in a folder where it begins and ends to think."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reset(self, _layout: Any, _begins: Any, _seed: int | None) -> None:
        """See `Agent`."""

    def probabilities(self, _observation: Any, action_mask: np.ndarray) -> np.ndarray:
        node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else "here"
        call = self.folder / f"{node}-{time.monotonic_ns()}"
        call.with_suffix(".began").touch()
        time.sleep(0.02)
        call.with_suffix(".ended").touch()
        return action_mask / action_mask.sum(axis=1, keepdims=True)


def test_nothing_is_lost_with_a_node(cluster: Any, tmp_path: Path) -> None:
    variant = parse_variant(VARIANT)
    for name in ("calls", "calls-here"):
        (tmp_path / name).mkdir()
    lost: list[str] = []

    def lose_a_node(what: str, _done: int, _of: int) -> None:
        if what == "best response" and not lost:
            busy = {path.name.split("-")[0] for path in (tmp_path / "calls").glob("*.ended")}
            node = next(node for node in cluster.worker_nodes if node.node_id in busy)
            began = {path.stem for path in (tmp_path / "calls").glob(f"{node.node_id}-*.began")}
            while True:  # until it thinks, so that a unit is lost in the middle
                now = {path.stem for path in (tmp_path / "calls").glob(f"{node.node_id}-*.began")}
                if now - began - {path.stem for path in (tmp_path / "calls").glob(f"{node.node_id}-*.ended")}:
                    break
            lost.append(node.node_id)
            cluster.remove_node(node, allow_graceful=False)

    with executor(ray=cluster.address) as pool:
        far = judge_in_shards(SlowAgent(tmp_path / "calls"), variant, tmp_path / "far", part=64, pool=pool, progress=lose_a_node)
    near = judge_in_shards(SlowAgent(tmp_path / "calls-here"), variant, tmp_path / "near", part=64)
    assert len(lost) == 1
    nodes = {path.name.split("-")[0] for path in (tmp_path / "calls").glob("*.ended")}
    assert len(nodes) == NODES
    cut = {path.stem for path in (tmp_path / "calls").glob("*.began")} - {
        path.stem for path in (tmp_path / "calls").glob("*.ended")
    }
    assert any(call.startswith(lost[0]) for call in cut), "no unit was lost in the middle"
    assert far.digest == near.digest
    for folder in ("positions", "agents"):
        files = [
            {str(p.relative_to(tmp_path / run)): p.read_bytes() for p in (tmp_path / run / folder).rglob("*.npz")}
            for run in ("far", "near")
        ]
        assert files[0] == files[1]
    np.testing.assert_array_equal(far.best, near.best)


def _fail(number: int) -> None:
    raise AgentError(f"number {number}")


def test_local_ray_does_units_and_errors_come_back(tmp_path: Path) -> None:
    variant = parse_variant("3p-1r-3c-1l")
    with executor(threads=2, ray="local") as pool:
        assert results_in_order(pool, abs, [-1, 2, -3]) == [1, 2, 3]
        with pytest.raises(AgentError, match="number 7"):
            results_in_order(pool, _fail, [7])
        far = judge_in_shards(BOTS["counter"](), variant, tmp_path / "far", part=64, pool=pool)
    assert not ray.is_initialized()
    near = judge_in_shards(BOTS["counter"](), variant, tmp_path / "near", part=64)
    assert far.digest == near.digest


def test_an_address_without_a_cluster_is_one_clear_error() -> None:
    with pytest.raises(RayError, match="--ray 127.0.0.1:1 leads to no cluster"), executor(ray="127.0.0.1:1"):
        pass
