"""The report as one HTML file, which loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from getbit_env.game_registry import find_variant, game_of
from getbit_env.report.charts import (
    LEAST_SEEN,
    NONE,
    STEPS,
    cross_table,
    curve_chart,
    habit_table,
    heat_table,
    interval,
    number,
    row_head,
    said,
    table,
    win_bar,
)
from getbit_env.report.figures import (
    Board,
    CrossTable,
    Row,
    board_of_tournament,
    boards_of_results,
    cross_of_tournament,
    crosses_of_results,
)
from getbit_env.report.leaks import Leaks
from getbit_env.report.profiles import Profile, Share
from getbit_env.report.sources import Run, Sources
from getbit_env.viewer.html import embedded_json, hash_of, script, style

MOST_FILMS = 12
BITES = "bites"  # what Get Bit! calls its counts of bites
WIDE = 5  # columns of tables that stand alone
RARE = 1e-6  # decisions a game: what is met more rarely is not shown
SECTIONS = {  # every report has them all; what is missing is said there
    "leaderboard": "Leaderboard",
    "cross-play": "Cross play",
    "learning": "Learning curves",
    "seats": "Wins by seat and starting place",
    "habits": "What is played where",
    "bites": "How often it is bitten",
    "leaks": "What is lost where",
    "games": "Sample games",
    "about": "Where this comes from",
}
BOOT = """
const films = JSON.parse(document.getElementById("films").textContent);
for (const [number, film] of films.entries()) {
  const details = document.getElementById(`game-${number}`);
  const open = () => {
    const root = document.getElementById(`film-${number}`);
    if (details.open && !root.firstChild) createPlayer(root, film, {keys: false});
  };
  details.addEventListener("toggle", open);
  open();
}
"""


def as_page(
    sources: Sources,
    profiles: Sequence[Profile] = (),
    leaks: Sequence[Leaks] = (),
    *,
    unknown: Mapping[tuple[str, str], str] | None = None,
    about: Mapping[str, str] | None = None,
    title: str = "Report",
) -> str:
    """The report.

    Args:
        sources: what files say.
        profiles: how agents play.
        leaks: where they lose what.
        unknown: why an agent in a variant is not judged exactly.
        about: where the report comes from (`core.provenance.provenance`).
        title: of the page.
    """
    films = _films(sources, profiles, leaks)
    parts = {
        "leaderboard": _leaderboard(sources),
        "cross-play": _cross_play(sources),
        "learning": _learning(sources.runs),
        "seats": _seats(profiles),
        "habits": _habits(profiles),
        "bites": _bites(profiles),
        "leaks": _leaks(leaks, unknown or {}, profiles),
        "games": _games(films),
        "about": _about(sources, about or {}),
    }
    sections = "\n".join(f'<section id="{name}">\n<h2>{SECTIONS[name]}</h2>\n{text}\n</section>' for name, text in parts.items())
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading in SECTIONS.items())
    code, sheet = script() + BOOT, style() + (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
    policy = f"default-src 'none'; script-src {hash_of(code)}; style-src {hash_of(sheet)}; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{said(title)}</title>\n<style>{sheet}</style>\n</head>\n"
        f'<body class="gb-page report">\n<main>\n<h1>{said(title)}</h1>\n{_summary(sources, profiles, leaks)}\n'
        f'<nav aria-label="sections"><ul>{links}</ul></nav>\n{sections}\n</main>\n'
        f'<script type="application/json" id="films">{embedded_json(films)}</script>\n'
        f'<script type="module">{code}</script>\n</body>\n</html>\n'
    )


def _note(text: str) -> str:
    return f'<p class="note">{said(text)}</p>'


def _block(title: str, *parts: str, wide: bool = False) -> str:
    """What belongs to one agent; several stand side by side where there is room."""
    kind = ' class="wide"' if wide else ""
    return f"<div{kind}>\n<h3>{said(title)}</h3>\n{''.join(parts)}</div>"


def _blocks(blocks: Sequence[str]) -> str:
    return f'<div class="blocks">{"".join(blocks)}</div>' if blocks else ""


def _summary(sources: Sources, profiles: Sequence[Profile], leaks: Sequence[Leaks]) -> str:
    """What the page is about, in a sentence or two."""
    agents = dict.fromkeys(name for name, _ in sources.agents)
    variants = dict.fromkeys(variant for _, variant in sources.agents)
    games = sum(match.games for _, one in sources.tournaments for match in one.matches) + sum(one.games for one in profiles)
    text = f"{len(agents)} agents in {', '.join(variants)}." if agents else "No agents."
    played = f" {games:,} games of tournaments and of this report." if games else ""
    judged = f" {len(leaks)} judged exactly." if leaks else ""
    return f"<p>{said(text + played + judged)} Intervals are 95 %.</p>"


# --- leaderboard and cross play ------------------------------------------------------------------------------------------------


def _leaderboard(sources: Sources) -> str:
    boards = boards_of_results(sources.results, sources.seeds) + [
        board_of_tournament(file, one) for file, one in sources.tournaments
    ]
    if not boards:
        return _note("No results of a benchmark or a tournament were given: getbit benchmark and getbit tournament make them.")
    head = (
        "<p>A row is an agent; the first wins most. It has one seat, another player has all others: the wins are means over those "
        "players. The dashed tick is the equal share. <em>Worst</em> is the table at which it wins least. <em>Gain</em> is what a "
        "best response wins more than its share against the agent; ≥ is a lower bound. A row over training seeds has an "
        "interval over them.</p>"
    )
    return head + "\n".join(map(_board, boards))


def _board(board: Board) -> str:
    numbered = [row for row in board.rows if row.win is not None]
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("wins", lambda row: interval(row.win)),
        ("", lambda row: win_bar(row.win, board.share) if row.win else ""),
        ("payoff", lambda row: interval(row.payoff)),
        ("worst", lambda row: interval(row.worst)),
        ("against", lambda row: f"<td>{said(row.against)}</td>"),
    ]
    if any(row.held_out for row in numbered):
        columns.append(("held out", lambda row: interval(row.held_out)))
    if any(row.mixed for row in numbered):
        columns.append(("mixed tables", lambda row: interval(row.mixed)))
    if any(row.gain for row in numbered):
        columns.append(("gain", lambda row: f"<td>{said(row.gain) or NONE}</td>"))
    if any(row.rating is not None for row in numbered):
        columns.append(("rating", lambda row: f"<td>{NONE if row.rating is None else number(row.rating, 1)}</td>"))
    told, shown = "", _note("Nobody has numbers.")
    if numbered and numbered[0].win is not None:
        told = _finding(f"{numbered[0].agent} wins most, {numbered[0].win.mean:.0%} of its games{_but_close(board)}.")
        rows = [[row_head(row.agent), *(cell(row) for _, cell in columns)] for row in numbered]
        shown = table(["agent", *(head for head, _ in columns)], rows, f"leaderboard of {board.title}")
    lost = [f"<li><strong>{said(row.agent)}</strong>: {_reason(row.reason)}</li>" for row in board.rows if row.win is None]
    without = f"<details><summary>{len(lost)} without numbers</summary><ul>{''.join(lost)}</ul></details>" if lost else ""
    caption = f'<p class="quiet">{said(board.source)}. Equal share {number(board.share)}.</p>'
    return "\n".join([f"<h3>{said(board.title)}</h3>", told, caption, shown, without])


def _but_close(board: Board) -> str:
    return (
        f", but its interval overlaps that of {board.rows[1].agent}: these games do not tell which is better" if board.close else ""
    )


def _reason(reason: str) -> str:
    """Why an agent has no numbers. Where the machine that played keeps its files is nobody's matter."""
    return said(re.sub(r": there is no .*?;", ";", reason)[:300])


def _finding(text: str) -> str:
    return f'<p class="finding">{said(text)}</p>'


def _cross_play(sources: Sources) -> str:
    tables = [cross_of_tournament(one) for _, one in sources.tournaments] + crosses_of_results(sources.results)
    if not tables:
        return _note("No results of a benchmark or a tournament were given.")
    head = (
        "<p>A cell is how often one agent (row) wins when the other one (column) plays all other seats, and half its interval.</p>"
    )
    return head + _scale("less than the equal share", "more") + "\n".join(map(_cross, tables))


def _cross(cross: CrossTable) -> str:
    top = cross.most_lopsided
    told = "" if top is None else _finding(f"Most one-sided: {top[0]} wins {top[2]:.0%} against {top[1]}.")
    shown = cross_table(cross.rows, cross.columns, cross.cells, cross.share, cross.title)
    return f"<h3>{said(cross.title)}</h3>\n{told}\n{shown}"


def _scale(less: str, more: str) -> str:
    """What colours mean. They say nothing that numbers don't."""
    steps = "".join(f'<span class="heat h{"m" if k < 0 else ""}{abs(k)}">&#8199;</span>' for k in range(-STEPS, STEPS + 1))
    return f'<p class="scale"><em>{said(less)}</em>{steps}<em>{said(more)}</em></p>'


# --- learning ------------------------------------------------------------------------------------------------------------------


def _learning(runs: Sequence[Run]) -> str:
    runs = [run for run in runs if run.curves]
    if not runs:
        return _note("No folder of a training run was given: getbit train --output FOLDER makes one.")
    parts = [
        "<p>A chart is a figure over the course of training. The legend has the last value. Bands are 95 % intervals of the "
        "games of an evaluation. They say nothing about what another training seed would learn. The dashed line: equal share.</p>"
    ]
    for run in runs:
        parts.append(f"<h3>{said(run.name)}{f' ({said(run.variant)})' if run.variant else ''}</h3>")
        share = 1 / find_variant(run.variant).players if run.variant else None
        last = max(curve.timesteps[-1] for curves in run.curves.values() for curve in curves)
        for file, curves in run.curves.items():
            figures: dict[str, list[Any]] = {}
            for curve in curves:
                figures.setdefault(curve.figure, []).append((curve.series or curve.figure, curve))
            charts = [
                curve_chart(f"{figure.replace('_', ' ')}", some[:12], last, share if figure == "win" else None)
                for figure, some in figures.items()
            ]
            parts.append(f'<p class="quiet">{said(file)}</p><div class="charts">{"".join(charts)}</div>')
    return "\n".join(parts)


# --- profiles ------------------------------------------------------------------------------------------------------------------


def _unplayed() -> str:
    return _note(
        "No games were played for this report. It plays agents that it finds by their names (bots, shipped agents, folders of "
        "runs) unless --starts is 0."
    )


def _seats(profiles: Sequence[Profile]) -> str:
    if not profiles:
        return _unplayed()
    blocks = []
    head = (
        "<p>The agent has one seat at tables of one bot each. A start is played in all rotations; in seat <em>+1</em> all sit "
        "one seat further on. Seats are alike, so that differences between them are chance. Differences between starting places "
        "are the game's, and the agent's.</p>"
    )
    for one in profiles:
        share = 1 / find_variant(one.variant).players
        shares = [("all games", Share("", one.games, one.win))]
        shares += [(f"{kind} {each.name}", each) for kind, some in (("seat", one.seats), ("begins", one.places)) for each in some]
        rows = [[row_head(name), interval(each.win), win_bar(each.win, share), f"<td>{each.games:,}</td>"] for name, each in shares]
        name = f"{one.agent} in {one.variant}"
        against = f"Against {', '.join(one.opponents)}, {one.starts} starts each. Equal share {number(share)}."
        shown = table(["", "wins", "", "games"], rows, f"wins of {name}")
        blocks.append(_block(name, _spread(one), f'<p class="quiet">{said(against)}</p>', shown))
    return head + _blocks(blocks)


def _spread(profile: Profile) -> str:
    if len(profile.places) < 2:
        return ""
    best, worst = (pick(profile.places, key=lambda one: one.win.mean) for pick in (max, min))
    low, high = best.win.low, worst.win.high
    apart = low is not None and high is not None and low > high
    sure = "" if apart else " Their intervals overlap."
    text = f"It wins most where it begins {best.name} ({best.win.mean:.0%}), least {worst.name} ({worst.win.mean:.0%}).{sure}"
    return _finding(text)


def _habits(profiles: Sequence[Profile]) -> str:
    if not profiles:
        return _unplayed()
    shown = [
        _block(f"{one.agent} in {one.variant}: {habit.title}", habit_table(habit), wide=max(map(len, habit.kinds)) > 2)
        for one in profiles
        for habit in one.habits
        if habit.name != BITES
    ]
    head = (
        "<p>Bars are how often it chose what, in the games above, by its place in line and its limbs, or its coins and its run. A "
        f"dot stands for situations seen less than {LEAST_SEEN} times.</p>"
    )
    return head + _blocks(shown) if shown else _note("Nothing is counted in these games: their GameSpec names no `habits`.")


def _bites(profiles: Sequence[Profile]) -> str:
    bitten = [(one, habit) for one in profiles for habit in one.habits if habit.name == BITES]
    if not profiles:
        return _unplayed()
    if not bitten:
        return _note("Nobody is bitten in these games: bites are of Get Bit!.")
    rows = []
    for one, habit in bitten:
        bites, rounds = int(habit.counts[..., 1].sum()), int(habit.counts.sum())
        cells = [f"<td>{number(bites / one.games, 2)}</td>", f"<td>{number(bites / max(rounds, 1))}</td>"]
        rows.append([row_head(f"{one.agent} in {one.variant}"), *cells])
    parts = [
        "<p>Tables of one agent show the part of the rounds in which a robot of the agent is bitten, by where it was before "
        "the round. The first round, in which nobody is bitten, does not count.</p>",
        table(["", "bites a game", "bites a round of a robot"], rows, "bites of all agents"),
    ]
    parts.append(_blocks([_block(f"{one.agent} in {one.variant}", habit_table(habit)) for one, habit in bitten]))
    return "\n".join(parts)


def _leaks(leaks: Sequence[Leaks], unknown: Mapping[tuple[str, str], str], profiles: Sequence[Profile]) -> str:
    parts = []
    if leaks:
        parts.append(
            "<p><strong>Exact.</strong> A cell is what the agent's choices in this situation lose of the value of a game against "
            "its own kind, if its player goes on with best responses. It counts how often the situation is met. So the cells "
            "sum to the gain of a best response. Numbers are thousandths.</p>"
        )
    blocks = []
    for one in leaks:
        row, column, loss = one.most
        part = f" ({loss / one.gain:.0%} of the gain)" if one.gain > 0 else ""
        text = f"A best response gains {one.gain:.4f} ({one.unit}). Most is lost {_where(one, row)} with {column}{part}."
        shown = heat_table(one.rows, one.columns, 1000 * one.loss, one.reach, 2, one.row_name, "thousandths", RARE)
        same = f'<p class="quiet">Judged in {said(one.judged)}, which is the same game with perfect recall.</p>'
        known = same if one.judged != one.variant else ""
        blocks.append(_block(f"{one.agent} in {one.variant}", _finding(text), known, shown, wide=len(one.columns) > WIDE))
    parts.append(_blocks(blocks))
    exact = {(one.agent, one.variant) for one in leaks}
    counted = [
        (profile, habit)
        for profile in profiles
        for habit in profile.habits
        if habit.name == BITES and (profile.agent, profile.variant) not in exact
    ]
    if counted:
        parts.append(
            "<p><strong>From games.</strong> These agents were not judged exactly. A cell is how many limbs the agent loses there "
            "in a game of this report. It shows where it is hurt, not whether another card would have been better.</p>"
        )
    blocks = []
    for profile, habit in counted:
        name = f"{profile.agent} in {profile.variant}"
        rate = habit.counts[..., 1] / profile.games
        seen = habit.counts.sum(axis=2).astype(np.float64)
        shown = heat_table(habit.rows, habit.columns, rate, seen, 2, habit.row_name, "a game", LEAST_SEEN - 1)
        why = unknown.get((profile.agent, profile.variant), "")[:300]
        reason = f'<p class="quiet">{said(f"Not judged exactly: {why}")}</p>' if why else ""
        blocks.append(_block(f"{name}: limbs lost a game", reason, shown))
    parts.append(_blocks(blocks))
    told = {(profile.agent, profile.variant) for profile, _ in counted}
    rows = [
        [row_head(f"{agent} in {variant}"), f"<td>{said(why[:300])}</td>"]
        for (agent, variant), why in unknown.items()
        if (agent, variant) not in told
    ]
    if rows:
        parts.append(f"<h3>Not known</h3>\n{table(['', 'why'], rows, 'agents of which this is not known', 'why')}")
    return "\n".join(parts) if any(parts) else _note("No agent was judged exactly, and none played games.")


def _where(leaks: Leaks, row: str) -> str:
    return f"{row} in line" if leaks.row_name == "place in line" else f"with robots {row}"


# --- games ---------------------------------------------------------------------------------------------------------------------


def _films(sources: Sources, profiles: Sequence[Profile], leaks: Sequence[Leaks]) -> list[dict[str, Any]]:
    """Games to step through: those that were given, those in which agents are exploited, then losses and wins."""
    found = [one.exploited for one in leaks]
    samples = [*sources.replays, *(one.samples[0] for one in profiles if one.samples)]
    samples += [replay for one in profiles for replay in one.samples[1:]]
    given = len(sources.replays)
    films = [replay.film(title=str(replay)) for replay in samples if game_of(find_variant(replay.variant)).frames]
    return [*films[:given], *found, *films[given:]][:MOST_FILMS]


def _games(films: Sequence[Mapping[str, Any]]) -> str:
    if not films:
        return _note("There are no games to show.")
    games = [
        f'<details id="game-{k}"{" open" if k == 0 else ""}><summary>{said(film.get("name") or f"game {k + 1}")}</summary>'
        f'<div id="film-{k}"></div></details>'
        for k, film in enumerate(films)
    ]
    head = "<p>Open a game to step through it, with buttons or keys. What agents thought is shown where they say it.</p>"
    return "\n".join([head, *games, "<noscript><p>Games need JavaScript. The page loads nothing from elsewhere.</p></noscript>"])


def _about(sources: Sources, about: Mapping[str, str]) -> str:
    facts = "".join(f"<dt>{said(key)}</dt><dd>{said(value)}</dd>" for key, value in about.items() if value)
    notes = "".join(f"<li>{said(note)}</li>" for note in sources.notes)
    left_out = f"<h3>What could not be shown</h3>\n<ul>{notes}</ul>" if notes else ""
    meaning = (
        "<p>Wins by tables are read from the files that were given. Habits, seats and sample games are played for this report. "
        "Intervals of games cover which starts are drawn; they do not cover which seed an agent was trained with.</p>"
    )
    return f"{meaning}\n<dl>{facts}</dl>\n{left_out}"


def size_of(page: str) -> str:
    """How large a page is, for people."""
    size = len(page.encode())
    return f"{size / 1000:,.0f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"
