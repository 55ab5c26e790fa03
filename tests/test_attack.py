"""A short part of `python -m tests.attack`, and that it would notice a fault."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from getbit_env.get_bit.environment import GetBitParallelEnv
from tests.attack import calls
from tests.attack.files import attack_files
from tests.attack.report import Report, attempt


def test_odd_calls_do_no_harm() -> None:
    report = Report(1)
    calls.attack_calls(report, random.Random(1), 150)
    assert sum(report.tried.values()) == 600
    assert not report.faults, report


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    report = Report(2)
    attack_files(report, random.Random(2), 60, tmp_path)
    assert not report.faults, report
    assert report.outcomes["ValueError"] + report.outcomes["StoredResultError"] > 100


def test_a_call_that_fails_and_changes_something_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = GetBitParallelEnv.reset

    def wrong(self: GetBitParallelEnv, seed: int | None = None, options: Any = None) -> Any:
        if options is not None:
            self._engine.state.hand[:] = 1
        return right(self, seed, options)

    monkeypatch.setattr(GetBitParallelEnv, "reset", wrong)
    report = Report(3)
    for _ in range(200):
        calls.attack_parallel(report, random.Random(len(report.tried) + sum(report.tried.values())))
    assert any("changed the environment" in fault for fault in report.faults)


@pytest.mark.parametrize(
    ("error", "noticed"),
    [
        (ValueError("line is an order of the robots"), False),
        (ValueError(""), True),
        (ValueError("x" * 3000), True),
        (KeyError("x"), True),
    ],
)
def test_what_is_not_promised_is_a_fault(error: Exception, noticed: bool) -> None:
    def fail() -> None:
        raise error

    report = Report(0)
    assert not attempt(report, "a call", fail, (ValueError,))
    assert bool(report.faults) == noticed
