"""Figures that are measured as something goes on, in CSV files that survive a crash."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from getbit_env.core.files import write_text


class CsvRecord:
    """A CSV file that only grows, its first column a count. What a crash tore off is dropped when it is opened.

    Attributes:
        rows: those that it held then.
    """

    columns: list[str]

    def __init__(self, path: Path, until: int, *, counted: str = "timesteps") -> None:
        """Open it, and drop the rows whose count is over `until`.

        Args:
            path: of the file; it may be missing, empty or torn.
            until: the count at the checkpoint from which the run goes on.
            counted: name of the first column.

        Raises:
            ValueError: it is no such file.
        """
        self.path = path
        try:
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline="")))
            self.columns = rows[0] if rows and rows[0][:1] == [counted] else []
            kept = [row for row in rows[1:] if len(row) == len(self.columns) and int(row[0]) <= until]
        except (csv.Error, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}; delete it to go on without what it records") from error
        if not kept:
            self.columns = []
            path.unlink(missing_ok=True)
        elif (repaired := _csv_text([self.columns, *kept])) != text:
            write_text(path, repaired)
        self.rows: list[dict[str, Any]] = [dict(zip(self.columns, row, strict=True)) for row in kept]

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows, all at once; the first ones make the file. Several records with the same columns can add to one file."""
        new = not self.columns and not self.path.exists()
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
