"""Text and pictures show the position; pictures are looked at where it matters."""

from __future__ import annotations

import numpy as np
import pytest

from getbit_env.core.drawing import Canvas
from getbit_env.get_bit.rendering import GOLD, OWNERS
from getbit_env.sharks_are_wild import raw_env
from getbit_env.sharks_are_wild.notation import parse_game
from getbit_env.sharks_are_wild.rendering import HEADER, PILES, ROW, Scene, ansi, picture, save_picture, scene_from_snapshot, scenes
from tests.sharks_are_wild.make_golden import GOLDEN, TRANSCRIPTS, random_game


def played(name: str) -> list[Scene]:
    return list(scenes(random_game(name, 1)))


def test_text_of_a_game_under_way() -> None:
    scene = next(scene for scene in played("sharks-4p-level2") if scene.grab and any(scene.taken))
    thief, victim = scene.player, scene.grab[0]
    lines = ansi(scene).splitlines()
    assert lines[0] == f"Sharks are Wild sharks-4p-level2, turn {scene.turn}"
    assert lines[1].endswith(f"end of player_{victim}'s run; player_{victim} is asked whether to block")
    assert lines[3].split() == ["player", "coins", "run", "hand", "(secret)"]
    assert [line.startswith(">") for line in lines[4:8]] == [p == thief for p in range(4)]
    fives = {line.index("5") for line in (line.replace("player_", "") for line in lines[4:8]) if "5" in line}
    assert len(fives) == 1, "the starters stand in one column"
    assert "openly taken: " in "".join(lines)
    assert lines[-1] == f"draw pile: {len(scene.draw)} cards; discard pile: {len(scene.discard)} cards, top O"


def test_text_tells_who_won_and_what_was_done() -> None:
    first, *_, last = played("sharks-2p-level1")
    assert ansi(first).splitlines()[1].startswith("The cards are dealt; player_")
    assert ansi(last).splitlines()[1].endswith(f": player_{last.winner} wins")
    assert "secret" not in ansi(last)
    undecided = played(TRANSCRIPTS[-1])[-1]
    assert ansi(undecided).splitlines()[1].endswith("the game is a draw")


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_text_of_every_scene_fits_100_columns_and_has_no_control_codes(name: str) -> None:
    for scene in scenes(parse_game((GOLDEN / f"{name}.txt").read_text())):
        text = ansi(scene)
        assert max(map(len, text.splitlines())) <= 100
        assert text.replace("\n", "").isprintable()


def test_a_snapshot_gives_the_scene_of_the_recorded_game() -> None:
    game = random_game("sharks-2p-level2", 1)
    env = raw_env(variant=game.variant)
    cards = "".join("012346789SOD"[kind] for kind in game.cards)
    env.reset(seed=0, options={"deal": {"cards": cards, "first": game.first}})
    recorded = list(scenes(game))
    for number, action in enumerate(game.actions[:30]):
        seen = scene_from_snapshot(env.snapshot(), game.variant)
        assert seen == recorded[number]
        env.step(action)


def test_pictures_show_coins_turn_and_winner_where_they_are() -> None:
    canvas = Canvas("rgb_array", 0, "Sharks are Wild", picture)
    *_, last = played("sharks-4p-level1")
    image = canvas.draw(last)
    assert image.dtype == np.uint8
    assert image.shape[0] % 16 == image.shape[1] % 16 == 0
    for p in range(4):
        middle = HEADER + PILES + ROW * p + ROW // 2
        assert np.abs(image[middle - 28, 30].astype(int) - OWNERS[p]).max() < 30
        for i in range(5):
            there = np.abs(image[middle + 6, 34 + 24 * i].astype(int) - GOLD).max() < 20
            assert there == (i < last.coins[p])
    moving = next(scene for scene in played("sharks-4p-level2") if scene.grab)
    assert not np.array_equal(canvas.draw(moving), canvas.draw(moving._replace(grab=None, stage=1)))
    assert not np.array_equal(canvas.draw(moving), canvas.draw(moving._replace(hands=("", "", "", ""))))


@pytest.mark.parametrize("name", ["sharks-2p-level2", "sharks-4p-level2-1of-12sharks-9octopuses-1hand-3run-2coins"])
def test_pictures_of_whole_games_can_be_drawn_and_saved(name: str, tmp_path) -> None:
    canvas = Canvas("rgb_array", 0, "Sharks are Wild", picture)
    for scene in played(name)[::9]:
        assert canvas.draw(scene).std() > 10
    save_picture(scene, tmp_path / "scene.png")
    assert (tmp_path / "scene.png").stat().st_size > 1000
