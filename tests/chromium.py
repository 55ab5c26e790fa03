"""Chromium for tests of pages; where it or its driver is missing, they are skipped."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="playwright is not installed"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (on Debian: apt-get install chromium)"),
]
PATIENCE = 120_000  # milliseconds to wait for a page before a test fails


@contextmanager
def started() -> Iterator[Any]:
    """A browser, closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
        one = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        yield one
        one.close()


class Window:
    """A window, which notes all that the console says, and every request."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, "reduced_motion": "reduce", **options})
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
