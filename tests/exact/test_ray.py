"""Best responses on a Ray cluster of several nodes on this machine. `nox -s ray` runs it; without Ray it is skipped."""

from __future__ import annotations

import threading
import time
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

VARIANT = "3p-1r-4c-2l"


class SlowAgent:
    """Plays its cards with the same chances, and says in a folder where it begins and ends to think; slow until a node is lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reset(self, _layout: Any, _begins: Any, _seed: int | None) -> None:
        """See `Agent`."""

    def probabilities(self, _observation: Any, action_mask: np.ndarray) -> np.ndarray:
        worker = ray.is_initialized() and ray.get_runtime_context().worker.mode == ray.WORKER_MODE
        node = ray.get_runtime_context().get_node_id() if worker else "driver"
        call = self.folder / f"{node}-{time.monotonic_ns()}"
        call.with_suffix(".began").touch()
        if worker and not (self.folder / "lost").exists():
            time.sleep(5)
        call.with_suffix(".ended").touch()
        return action_mask / action_mask.sum(axis=1, keepdims=True)


def calls(folder: Path, ending: str) -> set[str]:
    """Node and time of the calls of a `SlowAgent` that began, or ended."""
    return {path.stem for path in folder.glob(f"*.{ending}")}


def test_nothing_is_lost_with_a_node(ray_cluster: Any, tmp_path: Path) -> None:
    variant, folder = parse_variant(VARIANT), tmp_path / "calls"
    folder.mkdir()
    lost: list[str] = []
    over = threading.Event()

    def lose_a_busy_node() -> None:
        while not lost and not over.is_set():
            thinking = {call.split("-")[0] for call in calls(folder, "began") - calls(folder, "ended")}
            nodes = [node for node in ray_cluster.worker_nodes if node.node_id in thinking]
            if nodes:
                lost.append(nodes[0].node_id)
                ray_cluster.remove_node(nodes[0], allow_graceful=False)
                (folder / "lost").touch()
            over.wait(0.05)

    watcher = threading.Thread(target=lose_a_busy_node)
    watcher.start()
    with executor(ray=ray_cluster.address) as pool:
        far = judge_in_shards(SlowAgent(folder), variant, tmp_path / "far", part=64, pool=pool)
    over.set()
    watcher.join()
    near = judge_in_shards(SlowAgent(folder), variant, tmp_path / "near", part=64)
    cut = {call.split("-")[0] for call in calls(folder, "began") - calls(folder, "ended")}
    assert lost, "no node was lost"
    assert cut == set(lost), "no unit was lost in the middle"
    assert far.digest == near.digest
    files = [
        {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*.npz")}
        for run in (tmp_path / "far", tmp_path / "near")
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


def test_an_address_without_a_cluster_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(**_options: Any) -> None:
        raise Exception("timed out")  # as Ray does, after minutes

    monkeypatch.setattr(ray, "init", nobody)
    with pytest.raises(RayError, match=r"--ray 127\.0\.0\.1:1 leads to no cluster: timed out"), executor(ray="127.0.0.1:1"):
        pass
