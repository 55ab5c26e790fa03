"""The figures of a run: CSV files that survive a crash, and TensorBoard's files, which are made from them."""

from __future__ import annotations

import csv
import io
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from getbit_env.core.files import write_text
from getbit_env.match import MatchResult

from .recipe import DamagedError


class CsvRecord:
    """A CSV file that only grows, first column `timesteps`. What a crash tore off is dropped when it is opened.

    Attributes:
        rows: those that it held then.
    """

    def __init__(self, path: Path, until: int) -> None:
        """Open it, and drop the rows that were written after `until` decisions.

        Args:
            path: of the file; it may be missing, empty or torn.
            until: the number of decisions at the checkpoint from which the run goes on.

        Raises:
            DamagedError: it is no such file.
        """
        self.path = path
        try:
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline="")))
            self.columns = rows[0] if rows and rows[0][:1] == ["timesteps"] else []
            kept = [row for row in rows[1:] if len(row) == len(self.columns) and int(row[0]) <= until]
        except (csv.Error, ValueError) as error:
            raise DamagedError(f"{path} is damaged: {error}; delete it to go on without what it records") from error
        if not kept:
            self.columns = []
            path.unlink(missing_ok=True)
        elif (repaired := _csv_text([self.columns, *kept])) != text:
            write_text(path, repaired)
        self.rows: list[dict[str, Any]] = [dict(zip(self.columns, row, strict=True)) for row in kept]

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows, all at once; the first ones make the file."""
        new = not self.columns
        self.columns = self.columns or list(rows[0])
        text = _csv_text([[str(row.get(name, "nan")) for name in self.columns] for row in rows])
        if new:
            write_text(self.path, _csv_text([self.columns]) + text)
        else:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                file.write(text)


def _csv_text(rows: Sequence[Sequence[str]]) -> str:
    made = io.StringIO(newline="")
    csv.writer(made, lineterminator="\n").writerows(rows)
    return made.getvalue()


class Records:
    """All figures of a run. TensorBoard's files are made from the CSV files, so that both say the same, after a crash too."""

    def __init__(self, folder: Path, until: int) -> None:
        """Open them, and drop what was written after `until` decisions."""
        self.metrics = CsvRecord(folder / "metrics.csv", until)
        self.evaluation = CsvRecord(folder / "evaluation.csv", until)
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
