"""What a report is made of: results of benchmarks and tournaments, curves of training runs, and replays, out of files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from getbit_env.agent_registry import text_of
from getbit_env.benchmark.results import Over, SeedsRow, Status, TaskResult
from getbit_env.game_registry import find_variant
from getbit_env.match.runner import MatchResult
from getbit_env.match.statistics import Estimate
from getbit_env.match.tournament import TournamentResult
from getbit_env.network import POLICY_FILE, load_network
from getbit_env.replays import SUFFIX, Replay, load_replay

MOST_BYTES = 50_000_000  # of a file
MOST_FILES = 500  # of a folder
MOST_POINTS = 200  # of a curve: more than can be told apart
CURVES = ("evaluation.csv", "metrics.csv")  # of a run, shown first


@dataclass(frozen=True)
class Curve:
    """A figure over the course of a run.

    Attributes:
        figure: what it is, the name of its column.
        series: against whom or at which task, the other columns that are no numbers; empty if there are none.
        timesteps, values: `[N]`, the points.
        low, high: `[N]`, intervals; empty where the file has none.
    """

    figure: str
    series: str
    timesteps: tuple[int, ...]
    values: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Run:
    """A training run.

    Attributes:
        name: of its folder, as `load_agent` takes it.
        curves: by file.
        variant: that its policy plays, if it has one yet.
    """

    name: str
    curves: dict[str, list[Curve]]
    variant: str | None = None


@dataclass
class Sources:
    """All that was found.

    Attributes:
        results: of benchmarks, each agent and task once.
        seeds: rows over the training seeds of a recipe, with their budget.
        tournaments: with the file of each.
        runs: training runs.
        replays: recorded games.
        notes: what could not be used, and why.
    """

    results: list[TaskResult] = field(default_factory=list)
    seeds: list[tuple[str, SeedsRow]] = field(default_factory=list)
    tournaments: list[tuple[str, TournamentResult]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def agents(self) -> list[tuple[str, str]]:
        """The agents and the variants that they played, each pair once."""
        pairs = [(result.agent, result.task) for result in self.results if result.status is Status.PLAYED]
        pairs += [(name, result.settings["variant"]) for _, result in self.tournaments for name in result.agents]
        pairs += [(run.name, run.variant) for run in self.runs if run.variant]
        return list(dict.fromkeys(pairs))


def read_sources(paths: Sequence[str | Path]) -> Sources:
    """Read files and folders.

    Args:
        paths: files of benchmarks (`getbit benchmark`), `tournament.json`, replays; folders that hold such files, and
            folders of runs.

    Raises:
        ValueError: a path does not exist, or holds nothing that a report shows. Files that are damaged are noted instead, if there
            is something else.
    """
    found = Sources()
    for path in map(Path, paths):
        if not path.exists():
            raise ValueError(f"there is no file or folder {str(path)!r}")
        before = _size(found)
        noted = len(found.notes)
        if path.is_dir():
            _read_folder(path, found)
        else:
            _read_file(path, found)
        if _size(found) == before:
            why = f": {found.notes[noted]}" if len(found.notes) > noted else ""
            raise ValueError(
                f"{str(path)!r} holds nothing that a report shows{why}. It shows results of getbit benchmark, tournament.json of "
                "getbit tournament, replays, and folders of runs"
            )
    unique = {(one.agent, one.task, one.budget): one for one in found.results}  # the last one of an agent at a task is the newest
    found.results = list(unique.values())
    return found


def _size(found: Sources) -> int:
    return len(found.results) + len(found.tournaments) + len(found.runs) + len(found.replays)


def _read_folder(folder: Path, found: Sources) -> None:
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")][:MOST_FILES]
    for file in files:
        if file.suffix == ".json" and file.name not in ("config.json", "run.json"):
            _read_file(file, found, quiet=True)
    tables = [file for name in CURVES for file in files if file.name == name]
    tables += [file for file in files if file.suffix == ".csv" and file.name not in CURVES]
    curves = {}
    for file in tables:
        try:
            read = read_curves(file)
        except ValueError as error:
            found.notes.append(str(error))
            continue
        if read:
            curves[file.name] = read
    variant = None
    if (folder / POLICY_FILE).exists():
        try:
            variant = load_network(folder / POLICY_FILE, folder.name).variant.name
        except (ValueError, OSError) as error:
            found.notes.append(f"{folder / POLICY_FILE}: {error}")
    if curves or variant:
        found.runs.append(Run(text_of(folder), curves, variant))
    if (folder / "tournament" / "tournament.json").exists():  # that of `eval.demo`
        _read_file(folder / "tournament" / "tournament.json", found)


def _read_file(file: Path, found: Sources, quiet: bool = False) -> None:
    """Read a file of any kind; what is wrong with it is noted, unless `quiet` and it is of no kind that is known."""
    try:
        if file.name.endswith(SUFFIX):
            replay = load_replay(file)
            replay.verify()
            found.replays.append(replay)
            return
        if file.stat().st_size > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
        data = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("it is no object")
        if "matches" in data:
            found.tournaments.append((str(file), _tournament(data)))
        elif "results" in data and "protocol" in data:
            results = [_task(one) for one in data["results"]]
            rows = [(_text(data["budget"]), _seeds(row)) for row in data.get("seeds", ())]
            found.results += results
            found.seeds += rows
        elif "task" in data and "tables" in data:
            found.results.append(_task(data))
        elif data.get("format") == "getbit-replay":
            replay = load_replay(file)
            replay.verify()
            found.replays.append(replay)
        elif not quiet:
            raise ValueError("it is neither the result of a benchmark, nor a tournament, nor a replay")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        said = str(error) if isinstance(error, ValueError | OSError) else repr(error)
        found.notes.append(f"{file} is left out: {said[:300]}")


def _task(data: dict[str, Any]) -> TaskResult:
    """The result of a task, whose numbers are numbers and whose names are texts."""
    result = TaskResult.from_dict(data)
    find_variant(_text(result.task))
    for text in (result.agent, result.budget, result.reason, result.truth.note):
        _text(text)
    _number(result.microseconds)
    for table in result.tables:
        _estimates(table.win, table.payoff)
        for name in table.others:
            _text(name)
        for place in table.places:
            _number(place)
    for value in (result.truth.gain, result.truth.nash_conv):
        if value is not None:
            _number(value)
    return result


def _seeds(data: dict[str, Any]) -> SeedsRow:
    """A row over seeds, as `SeedsRow.to_dict` gave it."""
    win, payoff, held_out, mixed, gain = (
        Estimate(*data[name]) if data[name] else None for name in ("win", "payoff", "held_out_win", "mixed_win", "gain")
    )
    worst, worst_held_out = (
        Over(_text(data[name][0]), Estimate(*data[name][1])) if data[name] else None for name in ("worst", "held_out_worst")
    )
    _estimates(win, payoff, held_out, mixed, gain, *(one.value for one in (worst, worst_held_out) if one))
    find_variant(_text(data["task"]))
    seeds, reason = tuple(_text(seed) for seed in data["seeds"]), _text(data["reason"])
    return SeedsRow(data["task"], _text(data["recipe"]), seeds, reason, win, payoff, worst, held_out, worst_held_out, mixed, gain)


def _tournament(data: dict[str, Any]) -> TournamentResult:
    matches = tuple(MatchResult.from_dict(match) for match in data["matches"])
    names = tuple(_text(name) for name in data["agents"])
    variant = find_variant(_text(data["settings"]["variant"]))
    _number(data["settings"]["seed"])
    for match in matches:
        if len(match.line_up) != variant.players or match.variant != variant.name:
            raise ValueError(f"a table of {match.variant!r:.80} in a tournament of {variant}")
        _number(match.games)
        for name, standing in match.standings.items():
            _text(name)
            _estimates(standing.win, standing.payoff)
    return TournamentResult(names, variant.players, dict(data["settings"]), matches)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.80} is no number")
    return value


def _estimates(*values: Estimate | None) -> None:
    for value in values:
        for part in value or ():
            if part is not None:
                _number(part)


# --- curves ------------------------------------------------------------------------------------------------------------------


def read_curves(file: Path) -> list[Curve]:
    """The curves of a CSV file whose first column is `timesteps`; none if it is another file.

    Columns that hold no numbers tell series apart. `low` and `high` are the interval of `win`, or of the column before them.

    Raises:
        ValueError: it begins as such a file, and is damaged.
    """
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file} is larger than {MOST_BYTES:,} bytes")
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8", errors="replace"), newline="")))
    if not rows or rows[0][:1] != ["timesteps"]:
        return []
    columns, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    names = [k for k in range(1, len(columns)) if any(_float(row[k]) is None for row in body)]
    numbers = [k for k in range(1, len(columns)) if k not in names and columns[k] not in ("low", "high")]
    try:
        steps = [int(float(row[0])) for row in body]
    except (ValueError, OverflowError):
        raise ValueError(f"{file} is damaged: its timesteps are no whole numbers") from None
    ends = [columns.index(end) for end in ("low", "high") if end in columns]
    with_interval = columns.index("win") if "win" in columns else ends[0] - 1 if ends else -1
    series: dict[str, list[int]] = {}
    for number, row in enumerate(body):
        series.setdefault(" ".join(row[k] for k in names), []).append(number)
    curves = []
    for k in numbers:
        for name, of in series.items():
            points = [n for n in of if math.isfinite(_float(body[n][k]) or 0.0)]
            points = [points[i] for i in _thinned(len(points))]
            if not points:
                continue
            interval = [tuple(_float(body[n][end]) or 0.0 for n in points) for end in ends] if k == with_interval else []
            values = tuple(_float(body[n][k]) or 0.0 for n in points)
            if len(interval) == 2 and all(map(math.isfinite, (*interval[0], *interval[1]))):
                curves.append(Curve(columns[k], name, tuple(steps[n] for n in points), values, *interval))
            else:
                curves.append(Curve(columns[k], name, tuple(steps[n] for n in points), values))
    return curves


def _float(text: str) -> float | None:
    """A number; NaN where nothing was measured; None if it is something else."""
    if text in ("", "None", "nan"):
        return math.nan
    try:
        return float(text)
    except ValueError:
        return None


def _thinned(points: int) -> Iterator[int]:
    """Which of so many points are kept: the first, the last, and others evenly."""
    kept = min(points, MOST_POINTS)
    yield from dict.fromkeys(round(i * (points - 1) / max(kept - 1, 1)) for i in range(kept))
