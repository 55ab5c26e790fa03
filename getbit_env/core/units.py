"""Units of work, and where they are done: in this process, in processes of this machine, or on a Ray cluster.

A unit is an argument of a function that can be pickled, as its result can be. Code that has units to do takes an `Executor` of
`concurrent.futures`, which all three places are, and calls `results`. Nothing else of a program depends on the place, so the
results do not either.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

RETRIES = 20  # how often Ray does a unit again whose node was lost
LOCAL = "local"
U = TypeVar("U")
R = TypeVar("R")


class RayError(ValueError):
    """Ray is not installed, or there is no cluster at the address; the message says which."""


def _call(function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    return function(*args, **kwargs)


class RayExecutor(Executor):
    """Does each call as a Ray task, on any node of the cluster.

    A task whose node or worker is lost is done again elsewhere. An exception that the function raises is raised here, and the task
    is not tried again. Workers import what they call: the package is installed on every node, or lies where this process found it.
    """

    def __init__(self, address: str = LOCAL, *, cpus: float = 1, workers: int | None = None) -> None:
        """Connect to a cluster; one that this process is connected to already is used, and left running.

        Args:
            address: of the cluster, as `ray.init` takes it ("auto", "ray://HOST:10001", "HOST:6379"), or "local" for one on this
                machine, which ends with the executor.
            cpus: processors of each task.
            workers: processors of the local cluster, by default all of this machine.

        Raises:
            RayError: Ray is not installed, or there is no such cluster.
        """
        try:
            import ray
        except ImportError as error:
            raise RayError(f"--ray needs Ray ({error}): pip install 'getbit-env[ray]'") from error
        self._ray = ray
        self._mine = not ray.is_initialized()
        self._call = ray.remote(num_cpus=cpus, max_retries=RETRIES)(_call)
        self._refs: dict[Future[Any], Any] = {}
        if self._mine:
            options: dict[str, Any] = {"address": address}
            if address == LOCAL:
                options |= {"num_cpus": workers or os.cpu_count(), "include_dashboard": False}
            try:
                ray.init(log_to_driver=False, **options)
            except Exception as error:  # whatever Ray raises, a bare `Exception` among it
                raise RayError(f"--ray {address} leads to no cluster: {error}") from error

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor`."""
        ref = self._call.remote(fn, *args, **kwargs)
        future: Future[Any] = ref.future()
        self._refs[future] = ref
        future.add_done_callback(lambda done: self._refs.pop(done, None))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the signature of `Executor`
        """See `concurrent.futures.Executor`; tasks that run are stopped if `cancel_futures`."""
        if cancel_futures:
            for ref in list(self._refs.values()):
                self._ray.cancel(ref, force=True)
        if self._mine:
            self._ray.shutdown()


@contextmanager
def executor(*, threads: int = 1, processes: int = 1, ray: str | None = None) -> Iterator[Executor]:
    """Where units are done, for a block.

    Args:
        threads: of this process, if neither of the others is given.
        processes: of this machine, if more than one.
        ray: address of a Ray cluster, or "local"; see `RayExecutor`.

    Raises:
        RayError: there is no such cluster.
    """
    pool: Executor
    if ray is not None:
        pool = RayExecutor(ray, workers=max(threads, processes) if ray == LOCAL else None)
    elif processes > 1:
        pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    else:
        pool = ThreadPoolExecutor(threads)
    done = False
    try:
        yield pool
        done = True
    finally:
        pool.shutdown(wait=done, cancel_futures=not done)


def results(pool: Executor, function: Callable[[U], R], units: Iterable[U]) -> Iterator[tuple[int, R]]:
    """Do units, in any order.

    Args:
        pool: where.
        function: picklable, unless the pool is of threads.
        units: its arguments.

    Yields:
        The place of each unit, and its result, as they finish.
    """
    futures = {pool.submit(function, unit): place for place, unit in enumerate(units)}
    try:
        while futures:
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                yield futures.pop(future), future.result()
    finally:
        for future in futures:
            future.cancel()


def results_in_order(
    pool: Executor, function: Callable[[U], R], units: Iterable[U], tick: Callable[[R], None] = lambda _result: None
) -> list[R]:
    """The results of units in their order; `tick` is called with each when it is there."""
    found = {}
    for place, result in results(pool, function, units):
        found[place] = result
        tick(result)
    return [found[place] for place in range(len(found))]
