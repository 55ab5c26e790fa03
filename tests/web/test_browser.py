"""The page of `getbit play` in Chromium: whole games by clicks and by keys, reloads, narrow windows, dark, reduced motion."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from getbit_env.game_registry import find_variant, game_of
from getbit_env.viewer import film, page, recorder
from tests import chromium
from tests.web.client import Served

pytestmark = chromium.MARKS
NARROW = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.started() as one:
        yield one


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as one:
        yield one


class Page(chromium.Window):
    """A window that shows the page of a server."""

    def open(self, served: Served) -> Any:
        self.page.goto(served.address + "/")
        self.page.wait_for_selector("#start:enabled")
        return self.page


@pytest.fixture
def window(browser: Any) -> Iterator[Any]:
    opened: list[Page] = []

    def make(**options: Any) -> Page:
        opened.append(Page(browser, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.context.close()
        assert one.said == []  # the console is free of errors, and of violations of the policy


def choose(page: Any, variant: str) -> None:
    """Choose a variant in the form, as people do."""
    sharks = re.fullmatch(r"sharks-(\d)p-level(\d)", variant)
    bit = re.fullmatch(r"(\d)p(-half)?(-pick1)?(-memory)?(-literal)?", variant)
    if sharks:
        page.get_by_label("Sharks are Wild").check()
        page.select_option("#sharks-players", sharks[1])
        page.select_option("#level", sharks[2])
    elif bit:
        page.select_option("#players", bit[1])
        page.set_checked("#half", bool(bit[2]))
        page.select_option("#pick", "1" if bit[3] else "2")
        page.set_checked("#memory", bool(bit[4]))
        if bit[5]:
            page.select_option("#ending", "literal")
    else:
        page.click("#other summary")
        page.fill("#variant", variant)
        page.press("#variant", "Tab")
    page.wait_for_selector(f"#setup-name:text-is('{variant}')")


def fast(page: Any) -> None:
    page.select_option("select[aria-label=Speed]", "16")
    page.evaluate("document.activeElement.blur()")  # keys are for the page again


def ready(page: Any) -> bool:
    """Wait for a choice or the end, whichever comes, without the animations in between; says whether it is the end."""
    while not page.locator(READY).count():
        page.keyboard.press("End")
        page.wait_for_timeout(20)
    return bool(page.is_visible("#over"))


READY = "#choices button:enabled, #over:not([hidden])"


def click_through(page: Any) -> int:
    """Play to the end by clicks; says how often."""
    clicks = 0
    while True:
        if ready(page):
            return clicks
        rows = page.locator("#choices .hand").count() if page.locator("#choices .card").count() else 0
        for row in range(max(1, rows)):
            where = page.locator("#choices .hand").nth(row) if rows else page.locator("#choices")
            buttons = where.locator("button:enabled")
            buttons.nth(clicks % buttons.count()).click()
            clicks += 1


def type_through(page: Any) -> int:
    """Play to the end by keys; says how many."""
    keys = 0
    while True:
        if ready(page):
            return keys
        if page.locator("#choices .card").count():
            for row in range(page.locator("#choices .hand").count()):
                cards = page.locator("#choices .hand").nth(row).locator("button").all_inner_texts()
                page.keyboard.press(cards[keys % len(cards)])
                keys += 1
        else:
            letters = page.locator("#choices kbd").all_inner_texts()
            page.keyboard.press(letters[keys % len(letters)])
            keys += 1


@pytest.mark.parametrize("variant", ["2p", "4p-memory", "7p", "3p-1r-4c-2l", "sharks-2p-level1"])
def test_whole_games_by_clicks(served: Served, window: Any, variant: str) -> None:
    page = window().open(served)
    choose(page, variant)
    page.click("#start")
    page.wait_for_selector("#choices button")
    fast(page)
    assert click_through(page) > 1
    assert re.search("win|draw", page.inner_text("#result"))
    assert page.inner_text("#message") == ""
    page.click("#watch")
    page.wait_for_selector(".gb-controls input[type=range]")
    page.keyboard.press("End")
    assert page.locator(".gb-log li").count() > 3


@pytest.mark.parametrize("variant", ["2p-memory", "3p-literal", "4p-half", "5p", "6p-pick1", "sharks-3p-level2"])
def test_whole_games_by_keys(served: Served, window: Any, variant: str) -> None:
    """From the form on nothing is clicked."""
    page = window().open(served)
    choose(page, variant)
    page.focus("#start")
    page.keyboard.press("Enter")
    page.wait_for_selector("#choices button")
    for _ in range(4):
        page.keyboard.press("+")
    assert type_through(page) > 1
    assert page.inner_text("#message") == ""
    page.focus("#rematch")
    page.keyboard.press("Enter")
    page.wait_for_selector("#choices button:enabled")


def test_a_game_in_which_robots_swim(served: Served, window: Any) -> None:
    """With motion, in a dark and narrow window, and paused and stepped through on the way."""
    page = window(viewport=NARROW, color_scheme="dark", reduced_motion="no-preference", has_touch=True).open(served)
    page.click("#start")
    fast(page)
    page.wait_for_selector(".card:enabled")
    page.keyboard.press(" ")  # paused
    page.wait_for_selector("button[aria-label^=Play]:not(.card)")
    page.locator(".card:enabled").first.click()
    page.wait_for_selector("#choices:has-text('Paused')")
    assert page.inner_text(".gb-caption") == "Start"
    page.keyboard.press(".")
    page.wait_for_selector(".gb-news:has-text('Cards:')")
    assert page.inner_text(".gb-caption") == "Round 1"
    page.keyboard.press(" ")
    click_through(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_events_come_one_after_the_other_the_lowest_untied_card_first(served: Served, window: Any) -> None:
    page = window(reduced_motion="no-preference").open(served)
    page.click("#start")
    page.wait_for_selector(".card:enabled")
    page.evaluate(
        "window.told = []; new MutationObserver(() => told.push(document.querySelector('.gb-news').textContent))"
        ".observe(document.querySelector('.gb-news'), {childList: true, characterData: true, subtree: true})"
    )
    fast(page)
    page.keyboard.press("3")
    page.wait_for_selector(".gb-caption:has-text('Round 1')")
    page.wait_for_selector(".card:enabled")
    told = page.evaluate("told")
    assert told[0].startswith("Cards:")
    cards = [int(text.split(" with ")[1][0]) for text in told if "swims to the front with" in text]
    assert cards == sorted(cards)
    assert told[-1].startswith("Nobody is bitten")


def test_a_reload_in_the_middle_goes_on_with_the_game(served: Served, window: Any) -> None:
    page = window().open(served)
    choose(page, "5p")
    page.click("#start")
    for number in (1, 2):
        page.wait_for_selector(".card:enabled")
        fast(page)
        page.locator(".card:enabled").first.click()
        page.wait_for_selector(f".gb-caption:has-text('Round {number}')")
    page.wait_for_selector(".card:enabled")
    before = page.get_attribute(".gb-board", "aria-label"), page.locator(".card").all_inner_texts()
    page.reload()
    page.wait_for_selector(".card:enabled")
    assert (page.get_attribute(".gb-board", "aria-label"), page.locator(".card").all_inner_texts()) == before
    fast(page)
    click_through(page)


def test_a_lost_connection_is_made_again(window: Any) -> None:
    with Served() as served:
        page = window().open(served)
        page.click("#start")
        page.wait_for_selector(".card:enabled")
        fast(page)
        [session] = served.server.sessions.values()
        lost = session.socket
        served.drop(session)
        page.wait_for_selector("#link:not(:empty)")
        page.wait_for_selector("#link:empty", state="attached")
        click_through(page)
        assert session.socket is not lost


def test_the_whole_page_by_tab_and_enter(served: Served, window: Any) -> None:
    """The first card is reached by Tab from the top of the page, focus can be seen, and everything has a name."""
    page = window().open(served)
    page.click("#start")
    page.wait_for_selector(".card:enabled")
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('card')"):
            break
    assert page.evaluate("document.activeElement.classList.contains('card')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector(".gb-caption:has-text('Round 1')")
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, input, svg[role=img], section')]"
        ".filter((node) => !node.closest('[hidden]'))"
        ".filter((node) => !(node.ariaLabel || node.textContent.trim() || node.labels?.length)).map((node) => node.outerHTML)"
    )
    assert nameless == []
    assert "From the front" in page.get_attribute(".gb-board", "aria-label")
    assert page.inner_text(".gb-player [aria-live]") != ""


def test_advice_shows_probabilities(served: Served, window: Any) -> None:
    page = window().open(served)
    page.click("#start")
    page.wait_for_selector(".card:enabled")
    page.select_option("#adviser", "four_players")
    page.keyboard.press("?")
    page.wait_for_selector("#told table")
    shares = [float(text.rstrip(" %")) for text in page.locator("#told td:last-child").all_inner_texts()]
    assert 97 < sum(shares) < 103


def test_agents_are_watched(served: Served, window: Any) -> None:
    page = window().open(served)
    page.get_by_label("nobody: just watch").check()
    page.click("#start")
    page.wait_for_selector(".gb-board")
    fast(page)
    page.keyboard.press("End")
    page.wait_for_selector("#over:not([hidden])")
    assert "wins" in page.inner_text("#result")


@pytest.mark.parametrize("variant", ["7p-memory", "3p", "sharks-4p-level2"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_windows_need_no_sideways_scrolling(served: Served, window: Any, variant: str, scheme: str) -> None:
    page = window(viewport=NARROW, color_scheme=scheme).open(served)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    choose(page, variant)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.click("#start")
    page.wait_for_selector("#choices button:enabled, #choices p")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", background)[:3])) > 380
    assert light == (scheme == "light")


def test_a_game_that_is_over_is_saved_as_a_page_that_runs_alone(served: Served, window: Any, tmp_path: Path) -> None:
    first = window()
    page = first.open(served)
    page.click("#start")
    page.wait_for_selector(".card:enabled")
    fast(page)
    click_through(page)
    with page.expect_download() as download:
        page.click("#save")
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    with page.expect_download() as download:
        page.click("#picture")
    picture = tmp_path / "picture.svg"
    download.value.save_as(picture)
    second = window()
    second.page.goto(saved.as_uri())
    second.page.wait_for_selector(".gb-board")
    second.page.keyboard.press("End")
    assert second.requests == [saved.as_uri()]
    second.page.goto(picture.as_uri())
    assert second.page.evaluate("document.documentElement.getBoundingClientRect().width") > 300


# --- the viewer alone ------------------------------------------------------------------------------------------


def recorded(variant: str) -> dict[str, Any]:
    chosen = find_variant(variant)
    game = recorder(chosen)
    game.begin(game_of(chosen).rotated_starts(chosen, 3, 0, 1, False)[0])
    actions = []
    while not game.over:
        actions.append([(game.legal(p) or [None])[len(actions) % max(1, len(game.legal(p)))] for p in range(chosen.players)])
        game.play(actions[-1])
    return film(chosen, game.start, actions, agents=["</script><img src=x onerror=alert(1)>"] * chosen.players, title="<b>one</b>")


def test_a_page_of_films_requests_nothing_and_runs_no_script_of_its_data(window: Any, tmp_path: Path) -> None:
    one = window()
    file = tmp_path / "films.html"
    films = [recorded("4p"), recorded("sharks-2p-level2")]
    file.write_text(page(films, "</title><script>document.body.remove()</script>"), encoding="utf-8")
    one.page.goto(file.as_uri())
    assert one.page.locator(".gb-board").count() == 2
    assert one.page.locator("img").count() == 0
    assert one.page.locator("h2").all_inner_texts() == ["<b>one</b>"] * 2
    assert one.requests == [file.as_uri()]
    frames = len(json.loads(one.page.text_content("#films"))[0]["frames"])
    boxes = one.page.locator(".gb-player")
    boxes.nth(0).focus()
    one.page.keyboard.press("End")
    assert boxes.nth(0).locator("input[type=range]").input_value() == str(frames - 1)
    assert boxes.nth(1).locator("input[type=range]").input_value() == "0"  # keys are for the one with the focus
    one.page.keyboard.press("Home")
    for _ in range(2):
        one.page.keyboard.press("ArrowRight")
    assert boxes.nth(0).locator("input[type=range]").input_value() == "2"


def test_a_film_plays_to_its_end(window: Any, tmp_path: Path) -> None:
    one = window(reduced_motion="no-preference")
    file = tmp_path / "film.html"
    file.write_text(page(recorded("2p"), "two"), encoding="utf-8")
    one.page.goto(file.as_uri())
    fast(one.page)
    one.page.keyboard.press(" ")
    one.page.wait_for_selector("button[aria-label^=Next]:disabled")
    one.page.wait_for_selector("button[aria-label^=Play]")
    last = one.page.get_attribute("input[type=range]", "max")
    assert one.page.input_value("input[type=range]") == last
