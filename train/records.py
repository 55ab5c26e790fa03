"""The figures of a run: CSV files that survive a crash, and TensorBoard's files, which are made from them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from getbit_env.core.records import CsvRecord
from getbit_env.match import MatchResult

from .recipe import DamagedError


class Records:
    """All figures of a run. TensorBoard's files are made from the CSV files, so that both say the same, after a crash too."""

    def __init__(self, folder: Path, until: int) -> None:
        """Open them, and drop what was written after `until` decisions."""
        try:
            self.metrics, self.evaluation = (CsvRecord(folder / f"{name}.csv", until) for name in ("metrics", "evaluation"))
        except ValueError as error:
            raise DamagedError(str(error)) from error
        shutil.rmtree(folder / "tensorboard", ignore_errors=True)
        self._board = SummaryWriter(str(folder / "tensorboard"))
        try:
            self._show_metrics(self.metrics.rows)
            self._show_evaluations(self.evaluation.rows)
        except (KeyError, ValueError) as error:
            raise DamagedError(f"metrics.csv or evaluation.csv of {folder} is damaged: {error}; delete it to go on") from error

    def add_metrics(self, row: Mapping[str, Any]) -> None:
        """Add the figures of a rollout, `timesteps` first."""
        self.metrics.append([row])
        self._show_metrics([row])

    def add_evaluation(self, timesteps: int, results: Mapping[str, MatchResult]) -> None:
        """Add the results of an evaluation, a row for each kind of opponents."""
        rows: list[dict[str, Any]] = []
        for opponents, result in results.items():
            own = result[result.line_up[0]]
            row = {"timesteps": timesteps, "opponents": opponents, "win": own.win.mean, "low": own.win.low, "high": own.win.high}
            rows.append({**row, "payoff": own.payoff.mean})
        self.evaluation.append(rows)
        self._show_evaluations(rows)

    def close(self) -> None:
        """Write what TensorBoard has not written yet."""
        self._board.close()

    def _show_metrics(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            for name, value in row.items():
                if name != "timesteps" and not math.isnan(float(value)):
                    self._board.add_scalar(f"train/{name}", float(value), int(row["timesteps"]))

    def _show_evaluations(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            self._board.add_scalar(f"eval/win_{row['opponents']}", float(row["win"]), int(row["timesteps"]))
