"""The report and a replay in Chromium: games can be stepped through, nothing is loaded, nothing is wider than a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.replay import main as replay
from eval.report import main as report
from getbit_env.agent_registry import load_agent
from getbit_env.match import play_match, play_tournament
from tests import chromium

pytestmark = chromium.MARKS
LONG = "a_name_that_is_much_too_long_for_a_cell" * 2
GOLDEN = Path(__file__).parent / "golden_replays"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.started() as one:
        yield one


@pytest.fixture(scope="module")
def page_of_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    play_tournament(["highest", LONG], "4p", own={LONG: load_agent("lowest")}, starts=24, path=folder / "t.json")
    play_match(["random", "highest"], "2p", starts=4, record=folder / "games", record_games=1)
    play_match(["sharks-greedy", "sharks-random"], "sharks-2p-level2", starts=4, record=folder / "games", record_games=1)
    file = folder / "report.html"
    assert report([str(folder / "t.json"), str(folder / "games"), "--starts", "4", "--without-truth", "--output", str(file)]) == 0
    return file


class Window(chromium.Window):
    """A window that shows a file."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        super().__init__(browser, **options)
        self.page.goto(file.as_uri())
        self.page.wait_for_selector(".gb-board")

    def close(self) -> None:
        assert self.said == []
        assert len(self.requests) == 1, "the page itself"
        self.context.close()


@pytest.mark.parametrize(
    "options", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["light", "dark", "phone"]
)
def test_the_report_is_no_wider_than_its_window(browser: Any, page_of_report: Path, options: dict[str, Any]) -> None:
    window = Window(browser, page_of_report, **options)
    width = window.page.viewport_size["width"]
    assert window.page.evaluate("document.documentElement.scrollWidth") <= width
    assert window.page.evaluate("getComputedStyle(document.querySelector('.heat')).backgroundColor") != "rgba(0, 0, 0, 0)"
    window.close()


def test_games_of_the_report_are_stepped_through(browser: Any, page_of_report: Path) -> None:
    window = Window(browser, page_of_report)
    games = window.page.locator("#games details[id^=game]")
    assert games.count() >= 3
    for k in range(games.count()):
        game = games.nth(k)
        if game.get_attribute("open") is None:
            game.locator("> summary").click()
        game.locator(".gb-board").wait_for()
        moves = game.locator(".gb-log li")
        assert moves.count() > 5
        last = moves.nth(moves.count() - 1)
        last.locator("button").click()
        window.page.wait_for_function("li => li.hasAttribute('aria-current')", arg=last.element_handle())
        game.locator("> summary").click()
    window.close()


@pytest.mark.parametrize("name", ["4p", "2p", "sharks-2p-level2"])
def test_a_replay_is_watched(browser: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "game.html"
    assert replay([str(GOLDEN / f"{name}.replay.json"), "--html", str(file)]) == 0
    window = Window(browser, file)
    moves = window.page.locator(".gb-log li")
    last = moves.nth(moves.count() - 1)
    last.locator("button").click()
    window.page.wait_for_function("li => li.hasAttribute('aria-current')", arg=last.element_handle())
    window.close()
