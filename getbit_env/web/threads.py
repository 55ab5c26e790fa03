"""Threads that work beside the server, and that don't keep the process from ending."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """Some threads that take calls in turn. They are daemons: who ends the program doesn't wait for an agent that thinks."""

    def __init__(self, number: int, name: str) -> None:
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{k}", daemon=True) for k in range(number)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            future, call, arguments = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call(*arguments))
            except BaseException as error:  # whoever waits gets it
                future.set_exception(error)
            del item, future, call, arguments  # what they hold is not kept while the thread waits

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Call something in one of the threads, and wait for it while others go on."""
        future: Future[T] = Future()
        self._calls.put((future, call, arguments))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let the threads end, each when its call is done."""
        for _ in self._threads:
            self._calls.put(None)
