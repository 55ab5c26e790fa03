"""What all tests share: the marker that names a clause of the rules, and a Hypothesis that does the same on every run."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("same every run", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("same every run")


os.environ["GETBIT_ENV_QUIET"] = "1"  # what a test finds on stderr does not depend on what was compiled before


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """One thread for torch: small networks only wait for each other's threads, when tests run in parallel."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def ray_cluster() -> Iterator[Any]:
    """A Ray cluster on this machine: a head that does no work, and two nodes with a processor each."""
    ray: Any = pytest.importorskip("ray")
    cluster_utils: Any = pytest.importorskip("ray.cluster_utils")
    store = {"object_store_memory": 80_000_000}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **store})
    for _ in range(2):
        made.add_node(num_cpus=1, **store)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(*numbers): the clauses of the pages of rules that the test is about, as in 'G4.3'")
    config.addinivalue_line("markers", "browser: needs Chromium; skipped where it is not installed")
