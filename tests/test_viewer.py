"""Games as frames, and the pages in which they are watched."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit.notation import parse_game, robot_number
from getbit_env.get_bit.rendering import scenes
from getbit_env.sharks_are_wild.notation import Game as SharksGame
from getbit_env.sharks_are_wild.rendering import scenes as sharks_scenes
from getbit_env.viewer import film, page, recorder
from getbit_env.viewer.html import embedded_json

GET_BIT = ["2p", "2p-memory", "3p", "3p-literal", "4p", "4p-half", "4p-pick1", "5p", "6p", "7p-memory", "3p-1r-4c-1l", "4p-20l"]
SHARKS = ["sharks-2p-level1", "sharks-2p-level2", "sharks-4p-level1", "sharks-3p-level2", "sharks-2p-level2-3coins-30turns"]


def random_game(name: str, seed: int) -> tuple[Any, list[list[int | None]]]:
    """A start and the actions of a whole game."""
    variant, dice = find_variant(name), random.Random(seed)
    game = recorder(variant)
    game.begin(game_of(variant).rotated_starts(variant, seed, 0, 1, False)[0])
    played: list[list[int | None]] = []
    while not game.over:
        played.append([dice.choice(game.legal(p)) if game.legal(p) else None for p in range(variant.players)])
        game.play(played[-1])
    return game.start, played


@pytest.mark.parametrize("name", GET_BIT)
def test_frames_say_what_the_scenes_of_the_rendering_say(name: str) -> None:
    """Two tellings of one game: that of the frames goes through its events, that of the rendering through replayed positions."""
    variant = find_variant(name)
    for seed in range(5):
        start, played = random_game(name, seed)
        frames = film(name, start, played)["frames"]
        text = [f"{variant} " + " ".join(_letters(variant)[robot] for robot in start)]
        for number, frame in enumerate(frames[1:], 1):
            cards = next(event["cards"] for event in frame["events"] if event["kind"] == "reveal")
            text.append(f"{number}. " + " ".join(f"{_letters(variant)[r]}{card}" for r, card in enumerate(cards) if card))
        for frame, scene in zip(frames, scenes(parse_game("\n".join(text))), strict=True):
            assert tuple(frame["line"]) == scene.line
            assert tuple(frame["out"]) == scene.out
            assert tuple(frame["places"]) == scene.placement
            assert (frame["bitten"], set(frame["tied"])) == (scene.bitten, scene.tied)
            for robot, entry in enumerate(frame["robots"]):
                assert entry["limbs"] == scene.limbs[robot]
                assert entry["card"] == scene.revealed[robot]
                if entry["limbs"]:
                    assert tuple(entry["hand"]) == scene.hands[robot]
                    assert tuple(entry["table"]) == scene.tables[robot]
                    assert (entry["hand_size"], entry["table_size"]) == (len(entry["hand"]), len(entry["table"]))


def _letters(variant: Any) -> list[str]:
    names = "AaBbCcDdEeFfGg" if variant.robots_per_player == 2 else "ABCDEFG"
    assert [robot_number(variant, name) for name in names[: variant.robots]] == list(range(variant.robots))
    return list(names[: variant.robots])


@pytest.mark.parametrize("name", GET_BIT)
def test_events_lead_from_one_position_to_the_next(name: str) -> None:
    """G3.2 to G4.4: the lowest untied card moves first, tied robots stay, then the bite."""
    for seed in range(5):
        frames = film(name, *random_game(name, seed))["frames"]
        for before, after in pairwise(frames):
            line = before["line"]
            kinds = [event["kind"] for event in after["events"]]
            assert kinds[0] == "reveal"
            assert kinds == sorted(kinds, key=["reveal", "move", "calm", "bite", "escape", "out", "take_back", "end"].index)
            cards, tied = after["events"][0]["cards"], after["events"][0]["tied"]
            moves = [event for event in after["events"] if event["kind"] == "move"]
            assert [cards[event["robot"]] for event in moves] == sorted(cards[r] for r in line if r not in tied)
            for event in after["events"]:
                if event["kind"] == "move":
                    assert event["line"] == [event["robot"], *(robot for robot in line if robot != event["robot"])]
                if event["kind"] == "bite":
                    assert event["robot"] == line[-1]
                    assert event["limbs"] == before["robots"][line[-1]]["limbs"] - 1
                line = event.get("line", line)
            assert line == after["line"]
            assert ("bite" in kinds) == (before["number"] > 0)


@pytest.mark.parametrize("name", SHARKS)
def test_frames_of_sharks_say_what_its_scenes_say(name: str) -> None:
    variant = find_variant(name)
    for seed in range(3):
        start, played = random_game(name, seed)
        frames = film(name, start, played)["frames"]
        actions = []
        game = recorder(variant)
        game.begin(start)
        for joint in played:
            [player] = game.deciding()
            actions.append(int(joint[player] or 0))
            game.play(joint)
        recorded = SharksGame(variant, start["stream"], 0, start["cards"], start["first"], actions)
        for frame, scene in zip(frames, sharks_scenes(recorded), strict=True):
            assert tuple(entry["run"] for entry in frame["table"]) == scene.runs
            assert tuple("".join(entry["hand"]) for entry in frame["table"]) == scene.hands
            assert tuple("".join(entry["taken"]) for entry in frame["table"]) == scene.taken
            assert tuple(entry["coins"] for entry in frame["table"]) == scene.coins
            assert (frame["draw_size"], frame["discard_size"]) == (len(scene.draw), len(scene.discard))
            assert frame["top"] == (scene.discard[0] if scene.discard else None)
            assert frame["grab"] == (None if scene.grab is None else list(scene.grab))
            assert sum(frame["discarded"].values()) == len(scene.discard)
        assert frames[-1]["over"]


@pytest.mark.parametrize("name", SHARKS)
def test_cards_of_sharks_go_where_the_events_say(name: str) -> None:
    """Told to somebody who sees all: what leaves and enters each hand adds up."""
    for seed in range(3):
        frames = film(name, *random_game(name, seed))["frames"]
        for before, after in pairwise(frames):
            hands = [sorted(entry["hand"]) for entry in before["table"]]
            for event in after["events"]:
                kind, player = event["kind"], event.get("player")
                if kind in ("play", "discard"):
                    hands[player].remove(event["card"])
                elif kind == "octopus":
                    hands[player].remove("O")
                elif kind == "block":
                    hands[player].remove("D")
                elif kind in ("draw", "take"):
                    hands[player].append(event["card"])
                elif kind == "refill":
                    hands[player] += event["cards"]
            assert [sorted(hand) for hand in hands] == [sorted(entry["hand"]) for entry in after["table"]]


def test_what_is_hidden_from_the_viewer_is_absent() -> None:
    start, played = random_game("4p-memory", 1)
    for frame in film("4p-memory", start, played, viewer=2)["frames"]:
        assert [("hand" in entry, "table" in entry) for entry in frame["robots"]] == [(r == 2, r == 2) for r in range(4)]
    for frame in film("4p", start, played, viewer=2)["frames"]:  # face up, hands can be worked out from the tables
        assert all("hand" in entry for entry in frame["robots"])
    start, played = random_game("sharks-3p-level2", 1)
    for frame in film("sharks-3p-level2", start, played, viewer=0)["frames"]:
        assert ["hand" in entry for entry in frame["table"]] == [True, False, False]
    for frame in film("sharks-3p-level1", *random_game("sharks-3p-level1", 1), viewer=0)["frames"]:
        assert all("hand" in entry for entry in frame["table"])


def test_thoughts_are_shown_with_the_position_in_which_they_were_thought() -> None:
    start, played = random_game("4p", 2)
    notes: list[dict[int, dict[str, Any]]] = [
        {0: {"probabilities": np.full(5, 0.2), "value": 0.25}, 1: {"probabilities": {2: 1.0}}}
    ]
    told = film("4p", start, played, notes=notes)["frames"][0]["thoughts"]
    assert [one["player"] for one in told] == [0, 1]
    assert [chance["text"] for chance in told[0]["chances"]] == ["1", "2", "3", "4", "5"]
    assert (told[0]["value"], told[1]["value"]) == (0.25, None)
    assert told[1]["chances"] == [{"action": 2, "text": "3", "probability": 1.0}]
    [seen] = film("4p", start, played, notes=notes, viewer=1)["frames"][0]["thoughts"]
    assert seen["player"] == 1  # what others think is hidden as their choices are


@pytest.mark.parametrize(
    ("variant", "start", "actions", "message"),
    [
        ("4p", [0, 1, 2], [], "starting line of 4p holds each"),
        ("4p", "ABCD", [], "list of robots"),
        ("4p", [0, 1, 2, 3], [[0, 0, 0]], "round 1: 3 actions for 4 players"),
        ("4p", [0, 1, 2, 3], [[0, 0, 0, 5]], "round 1: player_3 plays 5, legal are"),
        ("4p", [0, 1, 2, 3], [[0, 1, 2, 3], [0, 1, 2, 3]], "round 2: player_0 plays 0, legal are"),
        ("4p", [0, 1, 2, 3], [[True, 1, 2, 3]], "round 1: player_0 plays True"),
        ("4p", [0, 1, 2, 3], [None], "entry 0 of actions"),
        ("sharks-2p-level1", {"cards": [1], "first": 0, "stream": 1}, [], "a deck of sharks-2p-level1"),
        ("sharks-2p-level1", {"deck": []}, [], "not 'deck'"),
        ("sharks-2p-level1", 7, [], "a deal of sharks-2p-level1"),
        ("9p", [], [], "players is 2 to 7"),
    ],
)
def test_games_that_can_not_be_played_are_refused(variant: str, start: Any, actions: Sequence[Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        film(variant, start, actions)


def test_a_game_goes_on_no_longer_than_its_end() -> None:
    for name in ("4p", "sharks-2p-level1"):
        start, played = random_game(name, 0)
        with pytest.raises(ValueError, match="the game ended"):
            film(name, start, [*played, played[-1]])


@pytest.mark.parametrize("wrong", [{"viewer": 4}, {"viewer": True}, {"agents": ["a"]}, {"notes": [{}] * 99}, {"viewer": "A"}])
def test_other_arguments_are_checked(wrong: dict[str, Any]) -> None:
    start, played = random_game("4p", 0)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        film("4p", start, played, **wrong)


# --- pages ----------------------------------------------------------------------------------------

NASTY = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> &amp; \u2028 \U0001f988 \"'"


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags:
            self.texts.append((self.tags[-1][0], data))


def test_a_page_holds_all_text_as_text() -> None:
    start, played = random_game("4p", 0)
    games = [film("4p", start, played, agents=[NASTY] * 4, title=NASTY) for _ in range(2)]
    parsed = Tags()
    text = page(games, NASTY)
    parsed.feed(text)
    assert [tag for tag, _ in parsed.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in parsed.tags]
    assert [data for tag, data in parsed.texts if tag in ("title", "h1", "h2") and data.strip()] == [NASTY] * 4
    held = next(data for tag, data in parsed.texts if tag == "script")
    assert json.loads(held) == json.loads(json.dumps(games))
    for attributes in (attributes for _, attributes in parsed.tags):
        assert not any(name.startswith("on") or name in ("style", "src") for name in attributes)
    assert not re.search(r"""(src|href|url\()\s*=?\s*["']?(https?:)?//""", text)


def test_numbers_that_json_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded_json({"value": float("nan")})


def test_a_game_without_frames_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = dataclasses.replace(game_of(find_variant("4p")), frames="")
    monkeypatch.setattr("getbit_env.viewer.frames.game_of", lambda _variant: spec)
    with pytest.raises(ValueError, match="names no `frames`"):
        recorder(find_variant("4p"))
