"""The report: its figures are those of its sources, it has every section, loads nothing, and shows what is hostile as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.report import main
from getbit_env.agent_registry import load_agent
from getbit_env.benchmark import over_seeds, play_task
from getbit_env.core.habits import ordinal
from getbit_env.exact import Positions, exploitability
from getbit_env.get_bit.variants import parse_variant
from getbit_env.match import play_games, play_match, play_tournament
from getbit_env.report.charts import LEAST_SEEN, curve_chart, diverging, heat_table
from getbit_env.report.figures import board_of_tournament, boards_of_results, cross_of_tournament, crosses_of_results
from getbit_env.report.leaks import by_situation, leaks_of
from getbit_env.report.page import SECTIONS, as_page
from getbit_env.report.profiles import profile_of, watch
from getbit_env.report.sources import MOST_POINTS, Curve, Sources, read_curves, read_sources

HOSTILE = '<script>alert("x")</script>&amp;\'"--><!--'
EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Reader(HTMLParser):
    """Reads a page: its texts by the section that they stand in, and whatever would load something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.sections: dict[str, str] = {}
        self.tables: dict[str, list[list[list[str]]]] = {}
        self.loads: list[str] = []
        self.scripts = 0
        self.ids: list[str] = []
        self._section = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.loads += [
            f"{tag} {name}" for name in found if name in ("src", "srcset", "data", "action", "style") or name.startswith("on")
        ]
        if (href := found.get("href")) and not href.startswith("#"):
            self.loads.append(f"{tag} {href}")
        if name := found.get("id"):
            self.ids.append(name)
        self.scripts += tag == "script"
        if tag == "section":
            self._section = str(found["id"])
            self.sections[self._section], self.tables[self._section] = "", []
        if tag == "table":
            self.tables[self._section].append([])
        if tag == "tr":
            self.tables[self._section][-1].append([])
        if tag in ("td", "th"):
            self.tables[self._section][-1][-1].append("")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> does not close what is open"
        if tag == "section":
            self._section = ""

    def handle_data(self, data: str) -> None:
        if self._section and self.open[-1] not in ("script", "style"):
            self.sections[self._section] += data
            if "table" in self.open and self.open[-1] in ("td", "th", "small"):
                self.tables[self._section][-1][-1][-1] += data


def read(page: str) -> Reader:
    """Read a page, which must be well formed and load nothing."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert reader.loads == []
    assert len(set(reader.ids)) == len(reader.ids)
    assert list(reader.sections) == list(SECTIONS)
    assert reader.scripts == 2
    without_names = page.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xlink", "")
    assert re.findall(r"https?:|url\((?!#)|@import|//[a-z]+\.", without_names) == []
    assert "default-src 'none'" in page
    return reader


def written(tmp_path: Path, *arguments: str, output: str = "report.html") -> str:
    file = tmp_path / output
    assert main([*arguments, "--output", str(file)]) == 0
    return file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tournament, a benchmark's results, a run, and replays, all small."""
    folder = tmp_path_factory.mktemp("sources")
    play_tournament(["highest", "lowest", "random"], "4p", starts=24, path=folder / "tournament" / "tournament.json")
    results = [play_task(agent, "2p", "quick", truth=False).to_dict() for agent in ("highest", "counter")]
    (folder / "benchmark").mkdir()
    found = {"protocol": "getbit-benchmark-v1", "budget": "quick", "results": results}
    (folder / "benchmark" / "both.json").write_text(json.dumps(found), encoding="utf-8")
    run = folder / "run"
    run.mkdir()
    rows = [(1000, "random", 0.3, 0.2, 0.4), (1000, "lowest", 0.5, 0.4, 0.6), (2000, "random", 0.45, 0.35, 0.55)]
    lines = ["timesteps,opponents,win,low,high", *(",".join(map(str, row)) for row in rows)]
    (run / "evaluation.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (run / "metrics.csv").write_text("timesteps,loss,win_rate_random\n500,0.25,nan\n1000,0.125,0.5\n", encoding="utf-8")
    play_match(["random", "highest"], "2p", starts=4, record=folder / "games", record_games=2)
    return folder


@pytest.fixture(scope="module")
def page(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    paths = [str(sources / name) for name in ("tournament", "benchmark", "run", "games")]
    return written(tmp_path_factory.mktemp("out"), *paths, "--starts", "8", "--without-truth", "--title", "A & B")


# --- the page ----------------------------------------------------------------------------------------------------------------


def test_the_page_has_every_section_and_can_be_mailed(page: str) -> None:
    reader = read(page)
    assert all(len(text.strip()) > 100 for text in reader.sections.values())
    assert len(page.encode()) < 1_000_000
    assert "<title>A &amp; B</title>" in page


def test_leaderboards_show_the_numbers_of_the_files(page: str, sources: Path) -> None:
    found = read_sources([sources / "tournament", sources / "benchmark"])
    tables = read(page).tables["leaderboard"]
    boards = boards_of_results(found.results) + [board_of_tournament(file, one) for file, one in found.tournaments]
    assert len(tables) == len(boards) == 2
    for rows, board in zip(tables, boards, strict=True):
        assert [row[0] for row in rows[1:]] == [row.agent for row in board.rows]
        for cells, row in zip(rows[1:], board.rows, strict=True):
            assert row.win is not None
            assert cells[1].split()[0] == f"{row.win.mean:.3f}"
            assert cells[5] == row.against
        means = [row.win.mean for row in board.rows if row.win]
        assert means == sorted(means, reverse=True)


def test_a_recipe_has_a_row_over_its_seeds(sources: Path, tmp_path: Path) -> None:
    found = read_sources([sources / "benchmark"])
    row = over_seeds("my recipe", found.results)
    data = json.loads((sources / "benchmark" / "both.json").read_text(encoding="utf-8"))
    (tmp_path / "seeds.json").write_text(json.dumps({**data, "seeds": [row.to_dict()]}), encoding="utf-8")
    again = read_sources([tmp_path / "seeds.json"])
    assert again.seeds == [("quick", row)]
    (board,) = boards_of_results(again.results, again.seeds)
    mine = next(one for one in board.rows if one.agent == "my recipe, 2 seeds")
    assert row.win is not None
    assert row.worst is not None
    assert (mine.win, mine.worst, mine.against) == (row.win, row.worst.value, row.worst.table)
    assert row.win.mean == pytest.approx(np.mean([one.win.mean for one in found.results if one.win]))
    assert len(board.rows) == 3


def test_a_board_of_a_tournament_is_the_mean_of_its_tables(sources: Path) -> None:
    ((file, result),) = read_sources([sources / "tournament"]).tournaments
    board = board_of_tournament(file, result)
    for row in board.rows:
        others = [name for name in result.agents if name != row.agent]
        wins = {name: result.win(row.agent, name).mean for name in others}
        assert row.win is not None
        assert row.worst is not None
        assert row.win.mean == pytest.approx(np.mean(list(wins.values())))
        assert row.worst.mean == min(wins.values()) == wins[row.against]
    assert board.share == 0.25
    cross = cross_of_tournament(result)
    for i, one in enumerate(cross.rows):
        for j, many in enumerate(cross.columns):
            assert cross.cells[i][j] == (None if one == many else result.win(one, many))


def test_the_heat_map_shows_its_cells(page: str, sources: Path) -> None:
    found = read_sources([sources / "tournament", sources / "benchmark"])
    crosses = [cross_of_tournament(one) for _, one in found.tournaments] + crosses_of_results(found.results)
    tables = read(page).tables["cross-play"]
    for rows, cross in zip(tables, crosses, strict=True):
        assert rows[0][1:] == list(cross.columns)
        for cells, values in zip(rows[1:], cross.cells, strict=True):
            for text, value in zip(cells[1:], values, strict=True):
                assert text.startswith("·" if value is None else f"{value.mean:.2f}")
    assert [diverging(share, 0.25) for share in (0, 0.125, 0.25, 0.625, 1)] == [-5, -2, 0, 2, 5]


def test_learning_curves_go_through_their_points(sources: Path, page: str) -> None:
    curves = read_curves(sources / "run" / "evaluation.csv")
    assert curves == [
        Curve("win", "random", (1000, 2000), (0.3, 0.45), (0.2, 0.35), (0.4, 0.55)),
        Curve("win", "lowest", (1000,), (0.5,), (0.4,), (0.6,)),
    ]
    assert read_curves(sources / "run" / "metrics.csv")[1] == Curve("win_rate_random", "", (1000,), (0.5,))
    chart = curve_chart("win", [("random", curves[0])], 2000, 0.25)
    (points,) = re.findall('<polyline class="curve s0" points="([^"]*)"', chart)
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in points.split())
    assert x2 - x1 == pytest.approx((360 - 46 - 10) / 2, abs=0.2)
    assert y1 > y2, "a higher rate stands higher"
    assert "evaluation.csv" in read(page).sections["learning"]


def test_seats_and_starting_places_are_counted(page: str) -> None:
    """Each place and each seat has its part of the games, and their mean is that of all."""
    for table in read(page).tables["seats"]:
        rows = {row[0]: (float(row[1].split()[0]), int(row[3])) for row in table[1:]}
        whole, games = rows.pop("all games")
        for kind in ("seat", "begins"):
            of_kind = [values for name, values in rows.items() if name.startswith(kind)]
            assert sum(number for _, number in of_kind) == games
            assert sum(win * number for win, number in of_kind) / games == pytest.approx(whole, abs=0.001)


def test_missing_sources_are_notes(tmp_path: Path, sources: Path) -> None:
    bare = read(as_page(Sources()))
    for name in SECTIONS:
        assert bare.sections[name].strip()
    assert "No results of a benchmark or a tournament were given" in bare.sections["leaderboard"]
    assert "No folder of a training run was given" in bare.sections["learning"]
    assert "There are no games to show" in bare.sections["games"]
    run = read(written(tmp_path, str(sources / "run"), "--starts", "0", "--without-truth"))
    assert "random" in run.sections["learning"]
    assert "No results" in run.sections["leaderboard"]


# --- how agents play -----------------------------------------------------------------------------------------------------------


def test_habits_are_those_of_the_games() -> None:
    """The counts agree with what the replays say, game by game and robot by robot."""
    for name, line_up in (("4p", ["counter", "random", "highest", "random"]), ("2p", ["random", "counter"])):
        variant = parse_variant(name)
        replays = play_games(line_up, name, starts=6)
        (cards, bites), places = watch(replays, variant, 1)
        each = variant.robots_per_player
        played = np.zeros(variant.cards, int)
        for replay in replays:
            for move in replay.moves:
                if (action := move.actions[1]) is not None:
                    for card in divmod(action, variant.cards) if each == 2 else (action,):
                        played[card] += 1
        assert cards.counts.sum(axis=(0, 1)).tolist() == played.tolist()
        assert bites.counts[..., 1].sum() == sum(replay.end.statistics["bites"][1] for replay in replays)
        for replay, place in zip(replays, places, strict=True):
            own = [at + 1 for at, robot in enumerate(replay.start) if robot // each == 1]
            assert place == " and ".join(map(ordinal, own))


def test_a_habit_knows_where_it_was() -> None:
    """`highest` plays its highest card: of a robot that begins last, with all limbs, that is the 5 in the first round."""
    replays = [replay for replay in play_games(["highest"] * 4, "4p", starts=24) if replay.start[-1] == 0]
    first = [type(replay)(**{**vars(replay), "moves": replay.moves[:1]}) for replay in replays]
    (cards, bites), _ = watch(first, parse_variant("4p"), 0)
    assert cards.counts[cards.rows.index("last"), cards.columns.index("4 limbs left")].tolist() == [0, 0, 0, 0, len(first)]
    assert cards.counts.sum() == len(first)
    assert bites.counts.sum() == 0, "nobody is bitten in the first round"


def test_sharks_are_watched_as_well() -> None:
    profile = profile_of("sharks-greedy", load_agent("sharks-greedy"), "sharks-2p-level2", starts=4)
    draws, plays, blocks = profile.habits
    assert draws.counts.sum() > 0
    assert draws.counts.sum() >= plays.counts.sum() > blocks.counts.sum()
    assert {share.name for share in profile.places} == {"1st to move", "2nd to move"}
    assert sum(share.games for share in profile.places) == profile.games == 3 * 4 * 2


def test_a_profile_is_the_match() -> None:
    profile = profile_of("counter", load_agent("counter"), "4p", starts=24, opponents=["highest"], seed=3)
    match = play_match(["counter", "highest", "highest", "highest"], "4p", starts=24, seed=3)
    assert profile.win.mean == pytest.approx(match["counter"].win.mean)
    assert profile.statistics["bites"] == pytest.approx(match["counter"].statistics["bites"])
    assert [share.games for share in profile.places] == [24, 24, 24, 24]
    assert all(replay.agents[0] == "counter" for replay in profile.samples)


# --- leaks ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["2p-3c-1l", "3p-1r-3c-2l", "4p-3c-1l"])
def test_losses_sum_to_the_gain(name: str) -> None:
    variant = parse_variant(name)
    for agent in ("highest", "random"):
        loaded = load_agent(agent)
        result = exploitability(loaded, Positions(variant), name=f"{agent}\n2. A1 |")
        leaks = by_situation(result, loaded)
        assert leaks.loss.sum() == pytest.approx(result.gain, abs=1e-12)
        assert leaks.loss.min() >= -1e-12
        by_limbs: dict[int, float] = {}
        for leak in result.leaks:
            by_limbs[leak.robots] = by_limbs.get(leak.robots, 0.0) + leak.gain
        assert leaks.loss.sum() == pytest.approx(sum(by_limbs.values()))
        assert leaks.loss.shape == (len(leaks.rows), len(leaks.columns))
        assert leaks.exploited["agents"].count("best response") == 1
        *before, last = leaks.exploited["frames"]
        assert last["events"]
        values = [thought["value"] for frame in before for thought in frame["thoughts"]]
        assert len(values) == len(before)
        assert values[0] == pytest.approx(result.best.ravel()[(result.best - result.own).argmax()], abs=0.001)


def test_what_can_not_be_judged_is_told() -> None:
    with pytest.raises(ValueError, match="no best response is computed in Sharks are Wild"):
        leaks_of("sharks-greedy", load_agent("sharks-greedy"), "sharks-2p-level1")
    with pytest.raises(ValueError, match="a report judges 2p and 4p exactly, not 5p"):
        leaks_of("random", load_agent("random"), "5p")
    bare = read(as_page(Sources(), unknown={("x", "5p"): "it is too large"}))
    assert "x in 5p" in bare.sections["leaks"]
    assert "it is too large" in bare.sections["leaks"]


def test_rare_situations_have_no_rate() -> None:
    values, seen = np.array([[0.5, 1.0]]), np.array([[100.0, 3.0]])
    text = heat_table(["last"], ["4", "3"], values, seen, 2, "place", "bitten", LEAST_SEEN - 1)
    assert "Seen too rarely" in heat_table(["last"], ["4", "3"], values, np.zeros((1, 2)), 2, "place", "bitten", LEAST_SEEN - 1)
    assert "0.50" in text
    assert "1.00" not in text


# --- hostile and damaged sources -----------------------------------------------------------------------------------------------


def hostile_tournament(folder: Path) -> Path:
    result = play_match(["highest", "lowest", "lowest", "lowest"], "4p", starts=24)
    text = json.dumps(
        {
            "agents": ["highest", "lowest"],
            "players": 4,
            "settings": {"variant": "4p", "seed": 0, "contents": {}, "unchecked": []},
            "matches": [result.to_dict()],
        }
    )
    file = folder / "tournament.json"
    file.write_text(text.replace('"highest"', json.dumps(HOSTILE)), encoding="utf-8")
    return file


def test_hostile_names_are_text(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    row = f'"{HOSTILE.replace(chr(34), chr(34) * 2)}"'
    (run / "evaluation.csv").write_text(f"timesteps,opponents,win{HOSTILE.replace(',', '')}\n1,{row},0.5\n", encoding="utf-8")
    replay = play_games(["highest", "lowest"], "2p")[0]
    named = type(replay)(**{**vars(replay), "agents": (HOSTILE, "b")})
    named.save(tmp_path / "x.replay.json")
    page = written(tmp_path, str(hostile_tournament(tmp_path)), str(run), str(tmp_path / "x.replay.json"), "--title", HOSTILE)
    reader = read(page)
    assert "<script>alert" not in page
    assert HOSTILE in reader.sections["leaderboard"]
    assert HOSTILE in reader.sections["learning"]
    assert HOSTILE in reader.sections["games"]


def test_names_in_files_run_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = hostile_tournament(tmp_path)
    file.write_text(file.read_text(encoding="utf-8").replace(json.dumps(HOSTILE), '"os:abort"'), encoding="utf-8")
    page = written(tmp_path, str(file), "--starts", "4", "--without-truth")
    assert "it is code, which a name out of a file does not run" in read(page).sections["leaks"]
    assert capsys.readouterr().err == ""


def edited(file: Path, change: Callable[[Any], object]) -> None:
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["settings"].update(variant="9p"), "players is 2 to 7"),
        (lambda data: data["matches"][0]["standings"]["lowest"].update(win=["much", 0, 1]), "'much' is no number"),
        (lambda data: data["matches"][0].update(line_up=["a"]), "a table of '4p' in a tournament of 4p"),
        (lambda data: data["agents"].append(7), "7 is no text"),
        (lambda data: data.pop("settings"), "settings"),
    ],
)
def test_damaged_files_are_told(
    tmp_path: Path, change: Callable[[Any], object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = hostile_tournament(tmp_path)
    edited(file, change)
    with pytest.raises(SystemExit) as error:
        main([str(file)])
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_what_is_damaged_beside_what_is_not_is_noted(tmp_path: Path, sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.json").write_text((sources / "benchmark" / "both.json").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "tournament.json").write_text("{", encoding="utf-8")
    (folder / "evaluation.csv").write_text("timesteps,win\nsoon,0.5\n", encoding="utf-8")
    reader = read(written(tmp_path, str(folder), "--starts", "0", "--without-truth"))
    said = capsys.readouterr().err
    for text in (reader.sections["about"], said):
        assert "tournament.json is left out" in text
        assert "evaluation.csv is damaged: its timesteps are no whole numbers" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no file or folder 'nowhere'"),
        (["{tmp}"], "holds nothing that a report shows"),
        (["{tmp}", "--starts", "2"], "--starts is 0 or 4 and more, not 2"),
        (["{tmp}", "--seed", "-1"], "--seed is 0 or more, not -1"),
        (["{run}", "--agents", "nobody"], "--agents: nobody stands in no source; there are no agents"),
    ],
)
def test_bad_arguments_are_one_line(
    tmp_path: Path, sources: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [one.format(tmp=tmp_path, run=sources / "run") for one in arguments]
    with pytest.raises(SystemExit) as error:
        main([*given, "--output", str(tmp_path / "x.html")])
    assert error.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


def test_an_output_that_can_not_be_written_is_told(tmp_path: Path, sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SystemExit):
        main([str(sources / "run"), "--output", str(tmp_path / "file" / "x.html")])
    assert "can't be written" in capsys.readouterr().err


def test_long_curves_are_thinned(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    rows = "".join(f"{step},{step / 10_000}\n" for step in range(1, 5001))
    file.write_text(f"timesteps,loss\n{rows}", encoding="utf-8")
    (curve,) = read_curves(file)
    assert len(curve.timesteps) == MOST_POINTS
    assert (curve.timesteps[0], curve.timesteps[-1]) == (1, 5000)
    assert curve.values[-1] == 0.5
