"""Figures as HTML: tables with coloured cells, and plain SVG. All text is escaped, and colours are classes of `report.css`."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.habits import Habit
from getbit_env.match.statistics import Estimate
from getbit_env.report.sources import Curve

MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"
SERIES = 7  # colours and dashes; more series repeat them
STEPS = 5  # of colour on each side of the middle
WIDTH, HEIGHT = 360, 220  # of a chart of curves, in its own units
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 34
RARE = '<p class="note">Seen too rarely to tell.</p>'
LEAST_SEEN = 10  # situations seen less often are too rare to tell a rate


def said(text: object) -> str:
    """A text as HTML shows it letter by letter."""
    return html.escape(" ".join(str(text).split()))


def number(value: float, digits: int = 3) -> str:
    """A number with so many digits behind the point, and a true minus."""
    text = f"{value:.{digits}f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")


def interval(value: Estimate | None, digits: int = 3) -> str:
    """A mean with its interval, for a cell of a table."""
    if value is None:
        return f'<td class="none">{NONE}</td>'
    if value.low is None or value.high is None:
        return f"<td>{number(value.mean, digits)} <small>exact</small></td>"
    return f"<td>{number(value.mean, digits)} <small>{number(value.low, digits)} to {number(value.high, digits)}</small></td>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], label: str, kind: str = "") -> str:
    """A table that scrolls by itself where the page is narrow.

    Args:
        heads: HTML of the heads.
        rows: HTML of each row, cell by cell, `<td>` or `<th>` included.
        label: what the table is, for those who hear the page.
        kind: class of the table.
    """
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{said(label)}"><table class="{kind}">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def row_head(text: object) -> str:
    """The first cell of a row."""
    return f'<th scope="row">{said(text)}</th>'


def win_bar(value: Estimate, share: float, most: float = 1.0) -> str:
    """Wins as a dot with its interval, on a line from 0 to `most`; a tick marks the equal share. A cell of a table."""
    width = 120

    def x(at: float) -> str:
        return f"{4 + (width - 8) * min(max(at / most, 0), 1):.1f}"

    low = value.mean if value.low is None else value.low
    high = value.mean if value.high is None else value.high
    return (
        f'<td class="bar"><svg class="win" viewBox="0 0 {width} 16" role="img" aria-label="{number(value.mean)}">'
        f'<line class="axis" x1="4" y1="8" x2="{width - 4}" y2="8"/>'
        f'<line class="share" x1="{x(share)}" y1="2" x2="{x(share)}" y2="14"/>'
        f'<line class="span" x1="{x(low)}" y1="8" x2="{x(high)}" y2="8"/>'
        f'<circle class="dot" cx="{x(value.mean)}" cy="8" r="3.6"/></svg></td>'
    )


def diverging(value: float, middle: float) -> int:
    """A step of colour from -5 to 5: how far a share of wins is from the middle, on a scale that reaches 0 and 1."""
    part = (value - middle) / (1 - middle) if value >= middle else (value - middle) / middle
    return round(STEPS * max(-1.0, min(1.0, part)))


def heat_cell(text: str, step: int, tip: str = "") -> str:
    """A coloured cell."""
    told = f' title="{html.escape(tip)}"' if tip else ""
    return f'<td class="heat h{"m" if step < 0 else ""}{abs(step)}"{told}>{text}</td>'


def cross_table(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Estimate | None]], middle: float, label: str
) -> str:
    """A heat map of wins: blue above the middle, orange below."""
    body = []
    for row, values in zip(rows, cells, strict=True):
        line = [row_head(row)]
        for column, value in zip(columns, values, strict=True):
            if value is None:
                line.append(f'<td class="none">{"·" if row == column else "failed"}</td>')
                continue
            half = "" if value.low is None or value.high is None else f"<small>±{number((value.high - value.low) / 2, 2)}</small>"
            tip = f"{row} against {column}: {value}"
            line.append(heat_cell(f"{number(value.mean, 2)}{half}", diverging(value.mean, middle), tip))
        body.append(line)
    return table(["", *map(said, columns)], body, label, "map")


def heat_table(
    rows: Sequence[str],
    columns: Sequence[str],
    values: NDArray[np.float64],
    seen: NDArray[np.float64],
    digits: int,
    head: str,
    unit: str,
    least: float = 0.0,
) -> str:
    """A heat map of rates or losses, from 0 to the largest; situations that are seen too rarely stay empty."""
    shown = np.where(seen > least, values, 0)
    top = float(shown.max(initial=0)) or 1.0
    used = [i for i in range(len(rows)) if (seen[i] > least).any()]
    if not used:
        return RARE
    body = []
    for i in used:
        line = [row_head(rows[i])]
        for j in range(len(columns)):
            if seen[i, j] <= least:
                line.append('<td class="none">·</td>')
            else:
                tip = f"{rows[i]}, {columns[j]}: {values[i, j]:.{digits}f} {unit}"
                line.append(heat_cell(number(float(values[i, j]), digits), -round(STEPS * max(0.0, shown[i, j]) / top), tip))
        body.append(line)
    return table([said(head), *map(said, columns)], body, f"{unit} by {head}", "map")


def habit_table(habit: Habit) -> str:
    """What is done where: a cell holds a bar for each kind, or the rate of an event."""
    seen = habit.counts.sum(axis=2)
    if habit.event:
        rate = habit.counts[..., 1] / np.maximum(seen, 1)
        return heat_table(
            habit.rows, habit.columns, rate, seen.astype(np.float64), 2, habit.row_name, habit.kinds[1], LEAST_SEEN - 1
        )
    columns = [j for j in range(len(habit.columns)) if (seen[:, j] >= LEAST_SEEN).any()]
    if not columns:
        return RARE
    body = []
    for i, row in enumerate(habit.rows):
        if not (seen[i] >= LEAST_SEEN).any():
            continue
        line = [row_head(row)]
        for j in columns:
            if seen[i, j] < LEAST_SEEN:
                line.append(f'<td class="none" title="seen {seen[i, j]} times">·</td>')
            else:
                line.append(f"<td>{_bars(habit.counts[i, j], habit.kinds, f'{row}, {habit.columns[j]}')}</td>")
        body.append(line)
    return table(
        [said(habit.row_name), *(said(habit.columns[j]) for j in columns)], body, f"{habit.title} by {habit.row_name}", "bars"
    )


def _bars(counts: NDArray[np.int64], kinds: Sequence[str], where: str) -> str:
    """Bars of a distribution, each as high as its part, the names of the kinds below."""
    whole = int(counts.sum())
    wide = max(14, 6 * max(map(len, kinds)))  # so that names don't overlap
    width, high = wide * len(kinds), 44
    told = ", ".join(f"{kind} {count / whole:.0%}" for kind, count in zip(kinds, counts, strict=True) if count)
    parts = []
    for k, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        height = high * count / whole
        at = wide * k + wide / 2
        parts.append(
            f'<rect class="slot" x="{at - 5:.0f}" y="0" width="10" height="{high}"/>'
            f'<rect class="fill" x="{at - 5:.0f}" y="{high - height:.1f}" width="10" height="{height:.1f}"/>'
            f'<text x="{at:.0f}" y="{high + 11}">{said(kind)}</text>'
        )
    label = html.escape(f"{where}: {told}; seen {whole} times")
    return f'<svg class="cards" width="{width}" height="{high + 14}" role="img"><title>{label}</title>{"".join(parts)}</svg>'


# --- curves ------------------------------------------------------------------------------------------------------------------


def curve_chart(title: str, curves: Sequence[tuple[str, Curve]], last: int, reference: float | None = None) -> str:
    """Curves over the steps of training, as a figure with its legend.

    Args:
        title: of the figure.
        curves: with what each is called.
        last: step at the end of the axis.
        reference: a value to mark, such as the equal share.
    """
    values = [v for _, c in curves for v in (*c.values, *c.low, *c.high)] + ([] if reference is None else [reference])
    bottom, top, marks = _axis(min(values), max(values))
    last = last or 1

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / last

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - bottom) / (top - bottom)

    def points(steps: Sequence[int], at: Sequence[float]) -> str:
        return " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in zip(steps, at, strict=True))

    parts = []
    for mark in marks:
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y(mark):.1f}" x2="{WIDTH - RIGHT}" y2="{y(mark):.1f}"/>')
        parts.append(f'<text class="tick end" x="{LEFT - 5}" y="{y(mark) + 4:.1f}">{_tick(mark)}</text>')
    for step in _axis(0, last)[2]:
        if 0 <= step <= last:
            anchor = "end" if x(step) > WIDTH - 30 else "mid"
            parts.append(f'<text class="tick {anchor}" x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 15}">{_tick(step)}</text>')
    parts.append(f'<text class="tick mid" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 4}">decisions trained on</text>')
    if reference is not None:
        parts.append(f'<line class="share" x1="{LEFT}" y1="{y(reference):.1f}" x2="{WIDTH - RIGHT}" y2="{y(reference):.1f}"/>')
    for k, (_, curve) in enumerate(curves):
        if curve.low:
            band = f"{points(curve.timesteps, curve.high)} {points(curve.timesteps[::-1], curve.low[::-1])}"
            parts.append(f'<polygon class="band s{k % SERIES}" points="{band}"/>')
    for k, (name, curve) in enumerate(curves):
        told = html.escape(f"{name}: {_short(curve.values[-1])} at {curve.timesteps[-1]:,}")
        line = points(curve.timesteps, curve.values)
        if len(curve.values) == 1:
            at = line.partition(",")
            parts.append(f'<circle class="point s{k % SERIES}" cx="{at[0]}" cy="{at[2]}" r="3.5"><title>{told}</title></circle>')
        else:
            parts.append(f'<polyline class="curve s{k % SERIES}" points="{line}"><title>{told}</title></polyline>')
    names = "".join(
        f'<li><svg class="key" viewBox="0 0 28 10" width="28" height="10" aria-hidden="true">'
        f'<line class="curve s{k % SERIES}" x1="1" y1="5" x2="27" y2="5"/></svg>'
        f"{said(name)} <small>{_short(curve.values[-1])}</small></li>"
        for k, (name, curve) in enumerate(curves)
    )
    return (
        f'<figure><figcaption>{said(title)}</figcaption><svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(title)}">{"".join(parts)}</svg><ul class="legend">{names}</ul></figure>'
    )


def _axis(least: float, most: float) -> tuple[float, float, list[float]]:
    """Ends of an axis, and round numbers along it."""
    if not most > least:
        least, most = least - 0.5, most + 0.5
    rough = (most - least) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    begin, end = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return begin * step, end * step, [k * step for k in range(begin, end + 1)]


def _short(value: float) -> str:
    return f"{value:.3g}".replace("-", MINUS) if abs(value) < 1000 else f"{value:,.0f}".replace("-", MINUS)


def _tick(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}".replace("-", MINUS)
    return f"{round(value, 10):g}".replace("-", MINUS)
