"""The Python of docs/frameworks.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
PAGE = (Path(__file__).parent.parent.parent / "docs" / "frameworks.md").read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), ids=["play", "nash_conv", "match"])
def test_code_of_the_page_runs(code: str) -> None:
    exec(compile(code, "docs/frameworks.md", "exec"), {})
