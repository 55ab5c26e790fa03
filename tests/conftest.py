"""What all tests share: the marker that names a clause of the rules, and a Hypothesis that does the same on every run."""

import os
from collections.abc import Iterator

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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(*numbers): the clauses of the pages of rules that the test is about, as in 'G4.3'")
    config.addinivalue_line("markers", "browser: needs Chromium; skipped where it is not installed")
