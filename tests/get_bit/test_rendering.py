"""What people see: the text to the letter, and of the picture what can be said of single pixels."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from getbit_env import parallel_env, parse_variant
from getbit_env.core.drawing import Canvas
from getbit_env.get_bit import rendering
from getbit_env.get_bit.notation import Game, parse_game
from getbit_env.get_bit.rendering import Scene, ansi, picture, save_picture, scene_from_snapshot, scenes
from tests.get_bit.play import MANY_VARIANTS

clause = pytest.mark.clause
DRAW_PICTURES = Path(__file__).parents[2] / "docs/images/draw.py"
VARIANTS = [*MANY_VARIANTS, "2p-memory", "7p-half-pick1-memory", "3p-half-pick1-memory-literal", "3p-1r-4c-32l"]

MIDDLE: dict[str, Any] = {  # of a four-player game: A is out, B and D tied at the back, D was bitten
    "round": 11,
    "line": [3, 2, 1],
    "hands": [[1, 3, 4], [2, 3, 5], [1, 2, 3, 5], [1, 2, 3, 4, 5]],
    "tables": [[2, 5], [4, 1], [4], []],
    "limbs": [0, 3, 2, 1],
    "revealed": [None, 1, 4, 1],
    "bitten": 3,
    "winner": None,
    "placement": [4, None, None, None],
}
START: dict[str, Any] = {
    "round": 0,
    "line": [2, 1, 0, 3],
    "hands": [[1, 2, 3, 4, 5]] * 4,
    "tables": [[]] * 4,
    "limbs": [4] * 4,
    "revealed": None,
    "bitten": None,
    "winner": None,
    "placement": [None] * 4,
}
END = MIDDLE | {"line": [1, 2], "limbs": [0, 3, 1, 0], "winner": 1, "placement": [4, 1, 2, 3]}
HALF = MIDDLE | {"limbs": [0, 3, 6, 1]}


def scene(snapshot: dict[str, Any], variant: str = "4p") -> Scene:
    return scene_from_snapshot(snapshot, parse_variant(variant))


def image_of(of: Scene) -> np.ndarray:
    image = Canvas("rgb_array", 0, "Get Bit!", picture).draw(of)
    assert image is not None
    return image


def is_colored(image: np.ndarray, x: float, y: float, color: Any) -> bool:
    """A pixel has a color, but for what scaling the picture down rounds away."""
    return bool(np.abs(image[round(y), round(x)] - np.array(color, float)).max() < 4)


def middle(place: int, *, behind_shark: bool = False) -> float:
    return rendering.LEFT + rendering.COLUMN * (place + 0.5) + rendering.SHARK * behind_shark


def played_through(name: str, seed: int = 1) -> tuple[list[Scene], Game]:
    """Scenes of a whole random game by way of the environment's snapshots, and the game itself."""
    env = parallel_env(variant=name)
    rng = np.random.default_rng(seed)
    observations, _ = env.reset(seed=seed)
    snapshots = [env.snapshot()]
    while env.agents:
        masks = {agent: observations[agent]["action_mask"] for agent in env.agents}
        observations, *_ = env.step({agent: int(rng.choice(np.flatnonzero(mask))) for agent, mask in masks.items()})
        snapshots.append(env.snapshot())
    cards = [[card or 0 for card in snapshot["revealed"]] for snapshot in snapshots[1:]]
    game = Game(env.variant, snapshots[0]["line"], cards)
    return [scene_from_snapshot(snapshot, env.variant) for snapshot in snapshots], game


# --- scenes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_a_recorded_game_gives_the_scenes_that_the_environment_gave(name):
    seen, game = played_through(name)
    assert list(scenes(game)) == seen
    assert seen[-1].winner is not None
    assert all(s.winner is None for s in seen[:-1])


@clause("G3.1")
def test_tied_robots_are_those_that_played_the_same():
    assert scene(MIDDLE).tied == {1, 3}
    assert scene(START).tied == set()
    assert scene(MIDDLE | {"revealed": [None, 1, 4, 2]}).tied == set(), "robots that are out played nothing: no tie of theirs"


@clause("G6.4")
def test_robots_that_are_out_lie_behind_the_shark_the_last_one_first():
    assert scene(END).out == (3, 0)
    assert scene(START).out == ()


@clause("G6.1", "G6.2", "G6.3")
def test_only_with_one_robot_each_is_the_last_robot_in_the_line_eaten():
    assert scene(END).eaten == 2
    assert scene(MIDDLE).eaten is None
    for name in ("2p", "3p"):
        assert played_through(name)[0][-1].eaten is None


@pytest.mark.parametrize(
    ("snapshot", "variant", "news"),
    [
        (START, "4p", "The robots are in the water"),
        (MIDDLE | {"bitten": None, "round": 1}, "4p", "Nobody is bitten in the first round"),
        (MIDDLE, "4p", "D is bitten, has 1 limb left, and swims to the front"),
        (MIDDLE | {"bitten": 2}, "4p", "C is bitten, has 2 limbs left, and swims to the front"),
        (HALF | {"bitten": 2}, "4p-half", "C is bitten, has 6 half limbs left, and swims to the front"),
        (HALF, "4p-half", "D is bitten, has 1 half limb left, and swims to the front"),
        (MIDDLE | {"bitten": 0}, "4p", "A is bitten and out"),
        (END, "4p", "D is out, the shark eats C: player_1 wins"),
        (
            END | {"line": [3, 0, 2], "limbs": [3, 0, 2, 1], "bitten": 1, "placement": [2, 1], "winner": 1},
            "2p",
            "a is out: player_1 wins",
        ),
    ],
)
def test_news(snapshot, variant, news):
    assert scene(snapshot, variant).news == news


# --- text ------------------------------------------------------------------------------------------------------------------


def test_text_of_a_game_under_way():
    assert ansi(scene(MIDDLE)) == (
        "Get Bit! 4p, round 11\n"
        "D is bitten, has 1 limb left, and swims to the front\n"
        "\n"
        "place  robot  owner     limbs  played  hand       table\n"
        "front  D      player_3  ●○○○   1 tied  1 2 3 4 5         bitten\n"
        "2      C      player_2  ●●○○   4       1 2 3 5    4\n"
        "3      B      player_1  ●●●○   1 tied  2 3 5      4 1\n"
        "~~~~~ shark ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "out    A      player_0  ○○○○           1 3 4      2 5    4th\n"
    )


def test_text_of_a_finished_game_with_tables_face_down():
    assert ansi(scene(END, "4p-memory")) == (
        "Get Bit! 4p-memory, round 11\n"
        "D is out, the shark eats C: player_1 wins\n"
        "\n"
        "place  robot  owner     limbs  played  hand       table (face down)\n"
        "front  B      player_1  ●●●○   1 tied  2 3 5      4 1                1st\n"
        "2      C      player_2  ●○○○   4       1 2 3 5    4                  2nd\n"
        "~~~~~ shark ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "out    D      player_3  ○○○○   1 tied  1 2 3 4 5                     bitten, 3rd\n"
        "out    A      player_0  ○○○○           1 3 4      2 5                4th\n"
    )


def test_text_of_a_start_with_two_robots_each():
    assert ansi(scene(START | {"placement": [None, None]}, "2p")).splitlines()[4:6] == [
        "front  B      player_1  ●●●●           1 2 3 4 5",
        "2      a      player_0  ●●●●           1 2 3 4 5",
    ]


@pytest.mark.parametrize("name", VARIANTS)
def test_text_of_every_variant_fits_100_columns_and_has_no_control_codes(name):
    for seen in played_through(name)[0]:
        lines = ansi(seen).splitlines()
        assert len(lines) == 5 + seen.variant.robots
        assert max(map(len, lines)) <= 100
        assert "".join(lines).isprintable()


# --- picture ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_drawn(name):
    seen, game = played_through(name)
    for of in (seen[0], seen[len(seen) // 2], seen[-1]):
        image = image_of(of)
        height, width, colors = image.shape
        assert image.dtype == np.uint8
        assert image.flags.c_contiguous
        assert (height, colors) == (rendering.HEIGHT, 3)
        assert width == 288 + 144 * game.variant.robots
        assert height % 16 == width % 16 == 0


def test_the_same_scene_is_the_same_picture_and_another_scene_another():
    canvas = Canvas("rgb_array", 0, "Get Bit!", picture)
    first = image_of(scene(MIDDLE))
    assert not np.array_equal(canvas.draw(scene(END)), first)
    assert np.array_equal(canvas.draw(scene(MIDDLE)), first)


def test_robots_stand_in_the_order_of_the_line_in_their_owners_color():
    image = image_of(scene(MIDDLE))
    for place, robot in enumerate(MIDDLE["line"]):
        assert is_colored(image, middle(place) - 18, rendering.WATER - 50, rendering.OWNERS[robot])
        assert is_colored(image, middle(place) - 50, rendering.NAMES + 8, rendering.OWNERS[robot])
    assert is_colored(image, middle(3, behind_shark=True) - 50, rendering.NAMES + 8, rendering.OWNERS[0])

    image = image_of(scene(START | {"placement": [None, None]}, "2p"))
    for place, robot in enumerate(START["line"]):
        assert is_colored(image, middle(place) - 18, rendering.WATER - 50, rendering.OWNERS[robot // 2])


def limbs_in(image: np.ndarray, place: int, owner: int) -> list[bool]:
    """Upper and lower half of the arm and leg at the left, then at the right: is it there?"""
    there = []
    for limb in (0, 2, 1, 3):
        joints = rendering.ROBOT_LIMBS[limb]
        color = np.array(rendering.OWNERS[owner], float)
        if limb >= 2:  # under water
            color += (np.array(rendering.SEA_LOW) - color) * 90 / 255
        for (x, y), (to_x, to_y) in pairwise(joints):
            at = middle(place) + (x + 2 * to_x) / 3, rendering.WATER + (y + 2 * to_y) / 3
            there.append(is_colored(image, *at, color))
    return there


@clause("G4.2")
def test_limbs_that_were_bitten_off_are_not_drawn():
    image = image_of(scene(MIDDLE))
    yes, no = [True, True], [False, False]
    assert limbs_in(image, 0, 3) == yes + no + no + no, "one limb left"
    assert limbs_in(image, 1, 2) == yes + no + yes + no, "two limbs left"
    assert limbs_in(image, 2, 1) == yes + yes + yes + no, "three limbs left"
    assert limbs_in(image_of(scene(START)), 0, 2) == yes * 4

    image = image_of(scene(HALF, "4p-half"))
    assert limbs_in(image, 0, 3) == [True, False] + no + no + no, "one half limb left"
    assert limbs_in(image, 1, 2) == yes + yes + yes + no, "six half limbs left"
    assert limbs_in(image, 2, 1) == yes + no + [True, False] + no, "three half limbs left"


def test_a_bar_tells_the_limbs_of_a_game_of_another_number():
    few, many = (image_of(scene(START | {"limbs": [limbs] * 4}, "4p-6l")) for limbs in (1, 6))
    right_end = middle(0) + 32, rendering.FLOOR - 12
    assert is_colored(many, *right_end, rendering.WHITE)
    assert not is_colored(few, *right_end, rendering.WHITE)
    assert limbs_in(few, 0, 2) == [True] * 8


@clause("G7.3")
def test_cards_on_the_table_are_marked_where_they_lie_face_down():
    first, above_number = -38, rendering.TABLES - 8
    open_, hidden = image_of(scene(MIDDLE)), image_of(scene(MIDDLE, "4p-memory"))
    assert is_colored(open_, middle(2) + first, above_number, rendering.WHITE)
    assert is_colored(hidden, middle(2) + first, above_number, rendering.SLATE)
    assert is_colored(open_, middle(0) + first, above_number, rendering.SAND), "D's table is empty"


def test_the_winner_wears_a_crown():
    crown = middle(0), rendering.WATER - 103
    assert is_colored(image_of(scene(END)), *crown, rendering.GOLD)
    assert not is_colored(image_of(scene(MIDDLE)), *crown, rendering.GOLD)


def test_pictures_are_saved(tmp_path):
    import pygame

    save_picture(scene(MIDDLE), tmp_path / "scene.png")
    loaded = pygame.surfarray.array3d(pygame.image.load(tmp_path / "scene.png")).swapaxes(0, 1)
    assert np.array_equal(loaded, image_of(scene(MIDDLE)))


def test_the_picture_in_the_documentation_is_of_the_game_beside_it():
    import pygame

    *_, last = scenes(parse_game(runpy.run_path(str(DRAW_PICTURES))["GAME"]))
    assert last == scene(MIDDLE), "the tests' position by hand is the one that the game leads to"
    shown = pygame.surfarray.array3d(pygame.image.load(DRAW_PICTURES.parent / "get_bit_4p.png")).swapaxes(0, 1)
    drawn = image_of(last)
    assert shown.shape == drawn.shape
    # Edges may be smoothed otherwise on another machine.
    assert np.abs(shown.astype(int) - drawn).mean() < 1, "draw it again: python docs/images/draw.py"


def test_somebody_elses_pygame_quit_does_no_harm():
    import pygame

    before = image_of(scene(MIDDLE))
    canvas = Canvas("rgb_array", 0, "Get Bit!", picture)
    canvas.draw(scene(MIDDLE))
    pygame.quit()
    assert np.array_equal(canvas.draw(scene(MIDDLE)), before)


# --- window ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def display(monkeypatch):
    """pygame's display without a screen."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    import pygame

    pygame.display.quit()
    yield pygame.display
    pygame.display.quit()


class Clock:
    def __init__(self) -> None:
        self.ticks: list[float] = []

    def tick(self, fps: float) -> None:
        self.ticks.append(fps)


def test_a_window_shows_the_picture_and_keeps_time(display, monkeypatch):
    import pygame

    canvas, clock = Canvas("human", 3, "Get Bit!", picture), Clock()
    monkeypatch.setattr(canvas, "_clock", clock)
    assert not display.get_init(), "no window before there is something to show"
    for snapshot in (START, MIDDLE):
        assert canvas.draw(scene(snapshot)) is None
        assert np.array_equal(pygame.surfarray.array3d(display.get_surface()).swapaxes(0, 1), image_of(scene(snapshot)))
    assert clock.ticks == [3, 3]
    canvas.close()
    assert not display.get_init()
    canvas.close()


def test_who_closes_the_window_sees_no_more_and_the_game_goes_on(display):
    import pygame

    canvas = Canvas("human", 0, "Get Bit!", picture)
    canvas.draw(scene(START))
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert canvas.draw(scene(MIDDLE)) is None
    assert not display.get_init()
    assert canvas.draw(scene(END)) is None
    assert not display.get_init()
    canvas.close()
    canvas.close()


def test_canvases_survive_one_another(display):
    one, other = Canvas("human", 0, "Get Bit!", picture), Canvas("human", 0, "Get Bit!", picture)
    one.draw(scene(START))
    other.draw(played_through("7p")[0][0])
    assert display.get_surface().get_size() == (1296, 448), "the picture is wider"
    one.draw(scene(START))
    assert display.get_surface().get_size() == (864, 448)
    other.close()
    one.draw(scene(MIDDLE))
    assert display.get_surface().get_size() == (864, 448)
    one.close()


def test_arrays_open_no_window(display):
    canvas = Canvas("rgb_array", 0, "Get Bit!", picture)
    canvas.draw(scene(MIDDLE))
    canvas.close()
    canvas.close()
    assert not display.get_init()


def run(program: str, **environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "PYGAME_HIDE_SUPPORT_PROMPT"}
    finished = subprocess.run(
        [sys.executable, "-c", program], env=inherited | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_text_needs_no_pygame_and_pygame_does_not_greet():
    program = """
import sys
import getbit_env, getbit_env.get_bit.rendering
env = getbit_env.parallel_env(render_mode="ansi")
env.reset(seed=1)
assert "player_3" in env.render()
assert "pygame" not in sys.modules
env = getbit_env.parallel_env(render_mode="rgb_array")
env.reset(seed=1)
assert env.render().shape == (448, 864, 3)
assert "pygame" in sys.modules
"""
    assert run(program) == ""


def test_without_a_display_arrays_are_drawn_and_a_window_says_why_not():
    program = """
import getbit_env
env = getbit_env.parallel_env(render_mode="rgb_array")
env.reset(seed=1)
assert env.render().shape == (448, 864, 3)
env = getbit_env.parallel_env(render_mode="human")
try:
    env.reset(seed=1)
    env.render()
except RuntimeError as error:
    print(error)
env.close()
"""
    told = run(program, SDL_VIDEODRIVER="none such")
    assert told.startswith("no window can be opened (")
    assert told.endswith("'rgb_array' and 'ansi' need no display\n")


def test_without_pygame_the_error_names_the_cure(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pygame", None)
    for draw in (lambda: Canvas("rgb_array", 0, "Get Bit!", picture), lambda: save_picture(scene(MIDDLE), tmp_path / "scene.png")):
        with pytest.raises(ImportError, match=r'pip install "getbit-env\[render\]"'):
            draw()
    assert "player_3" in ansi(scene(MIDDLE))
