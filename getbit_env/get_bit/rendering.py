"""Positions of Get Bit! for people: as text, and as a picture drawn with pygame.

Both show the spectator everything, also the tables that the memory game hides from the players (G7.3); there they are marked as
face down. pygame is imported when the first picture is drawn: importing this module does not need it.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from getbit_env.core.drawing import (
    GOLD,
    GREY,
    INK,
    NIGHT,
    OWNERS,
    RED,
    SAND,
    SEA_HIGH,
    SEA_LOW,
    SHARK_BACK,
    SHARK_BELLY,
    SKY_HIGH,
    SKY_LOW,
    SLATE,
    WHITE,
    Color,
    Drawing,
    Pens,
    Point,
    import_pygame,
    mix,
    save_surface,
)
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import Game, cards_of, replay, robot_name
from getbit_env.get_bit.variants import HALF_LIMBS, LIMBS, Variant


class Scene(NamedTuple):
    """What there is to see of a game. Robots and players are numbered as in `rules`."""

    variant: Variant
    rounds: int  # rounds played
    line: tuple[int, ...]  # the robots in the line, front to back
    out: tuple[int, ...]  # the robots that are out, the last one first
    limbs: tuple[int, ...]  # bites left of each robot
    hands: tuple[tuple[int, ...], ...]  # cards in each robot's hand, ascending
    tables: tuple[tuple[int, ...], ...]  # cards on each robot's table, in the order played
    revealed: tuple[int | None, ...]  # card that each robot played in the last round
    bitten: int | None  # robot that lost a limb in the last round
    placement: tuple[int | None, ...]  # finishing place of each player, None while undecided

    @property
    def winner(self) -> int | None:
        """The player who won, None while the game goes on."""
        return self.placement.index(1) if 1 in self.placement else None

    @property
    def eaten(self) -> int | None:
        """The last robot in the line when that is the end of it (G6.1)."""
        return self.line[-1] if self.winner is not None and self.variant.robots_per_player == 1 else None

    @property
    def tied(self) -> frozenset[int]:
        """The robots whose card of the last round another robot played as well (G3.1)."""
        played = Counter(self.revealed)
        return frozenset(r for r, card in enumerate(self.revealed) if card is not None and played[card] > 1)

    @property
    def news(self) -> str:
        """What the last round did, in a sentence."""
        if self.rounds == 0:
            return "The robots are in the water"
        if self.bitten is None:
            return "Nobody is bitten in the first round"  # G4.1
        name = robot_name(self.variant, self.bitten)
        left = self.limbs[self.bitten]
        if self.winner is not None:
            eaten = "" if self.eaten is None else f", the shark eats {robot_name(self.variant, self.eaten)}"
            return f"{name} is out{eaten}: player_{self.winner} wins"
        if left == 0:
            return f"{name} is bitten and out"
        unit = "half limb" if self.variant.limbs == HALF_LIMBS else "limb"
        return f"{name} is bitten, has {left} {unit}{'s' * (left != 1)} left, and swims to the front"

    def _repr_svg_(self) -> str:
        """What notebooks show."""
        return svg(self)


def scene_from_snapshot(snapshot: Mapping[str, Any], variant: Variant) -> Scene:
    """The scene of an environment's snapshot.

    Args:
        snapshot: has at least `round`, `line` (of those in it), `hands`, `tables`, `limbs`, `revealed` (a list, or None before the
            first round), `bitten` and `placement`.
        variant: of the game.
    """
    line, placement = tuple(snapshot["line"]), tuple(snapshot["placement"])
    # Where more than one robot can be out each has its own player, who finishes the better the later it went out (G6.4).
    out = sorted(set(range(variant.robots)) - set(line), key=lambda r: placement[r // variant.robots_per_player])
    return Scene(
        variant=variant,
        rounds=snapshot["round"],
        line=line,
        out=tuple(out),
        limbs=tuple(snapshot["limbs"]),
        hands=tuple(tuple(hand) for hand in snapshot["hands"]),
        tables=tuple(tuple(table) for table in snapshot["tables"]),
        revealed=tuple(snapshot["revealed"] or [None] * variant.robots),
        bitten=snapshot["bitten"],
        placement=placement,
    )


def scene_of_batch(engine: Engine, game: int) -> Scene:
    """The scene of one game of a batch. It does not remember in which order cards were played, so tables are in ascending order."""
    variant, state, outcome = engine.variant, engine.state, engine.outcome
    order = np.argsort(state.place[:, game]).tolist()
    hands = [cards_of(hand) for hand in state.hand[:, game]]
    deck = cards_of(variant.rules.deck)
    finish = outcome.finish[:, game].tolist()
    if variant.robots_per_player == 1:  # behind the line the robots lie in the order in which they went out (G6.4)
        finish = [
            place + 1 if limbs == 0 else now
            for place, limbs, now in zip(state.place[:, game].tolist(), state.limbs[:, game].tolist(), finish, strict=True)
        ]
    return Scene(
        variant=variant,
        rounds=int(state.rounds[game]),
        line=tuple(r for r in order if state.limbs[r, game]),
        out=tuple(r for r in order if not state.limbs[r, game]),
        limbs=tuple(state.limbs[:, game].tolist()),
        hands=tuple(map(tuple, hands)),
        tables=tuple(tuple(card for card in deck if card not in hand) for hand in hands),
        revealed=tuple(next(iter(cards_of(bit)), None) for bit in state.played[:, game]),
        bitten=next(iter(np.flatnonzero(outcome.bitten[:, game]).tolist()), None) if state.rounds[game] else None,
        placement=tuple(place or None for place in finish),
    )


def scenes(game: Game) -> Iterator[Scene]:
    """The scenes of a recorded game: the start, and one a round."""
    variant = game.variant
    finish = np.zeros(variant.players, np.uint8)
    for rounds, (games, tables, outcome) in enumerate(replay(game)):
        finish |= outcome.finish[:, 0]
        order = np.argsort(games.place[:, 0]).tolist()
        yield Scene(
            variant=variant,
            rounds=rounds,
            line=tuple(r for r in order if games.limbs[r, 0]),
            out=tuple(r for r in order if not games.limbs[r, 0]),
            limbs=tuple(games.limbs[:, 0].tolist()),
            hands=tuple(tuple(cards_of(hand)) for hand in games.hand[:, 0]),
            tables=tuple(map(tuple, tables)),
            revealed=tuple(card or None for card in game.cards[rounds - 1]) if rounds else (None,) * variant.robots,
            bitten=next(iter(np.flatnonzero(outcome.bitten[:, 0]).tolist()), None),
            placement=tuple(place or None for place in finish.tolist()),
        )


# --- text ------------------------------------------------------------------------------------------------------------------


def ansi(scene: Scene) -> str:
    """The scene as text of at most 100 columns, a row a robot from the front of the line to the back; no colour codes."""
    variant = scene.variant
    table_of = "table (face down)" if variant.memory else "table"
    rows = [("place", "robot", "owner", "limbs", "played", "hand", table_of, "")]
    for place, robot in enumerate(scene.line + scene.out):
        limbs, owner = scene.limbs[robot], robot // variant.robots_per_player
        card, finish = scene.revealed[robot], scene.placement[owner]
        rows.append(
            (
                "out" if limbs == 0 else "front" if place == 0 else str(place + 1),
                robot_name(variant, robot),
                f"player_{owner}",
                "●" * limbs + "○" * (variant.limbs - limbs) if variant.limbs <= HALF_LIMBS else f"{limbs}/{variant.limbs}",
                f"{card or ''}{' tied' * (robot in scene.tied)}",
                " ".join(map(str, scene.hands[robot])),
                " ".join(map(str, scene.tables[robot])),
                ", ".join(["bitten"] * (robot == scene.bitten) + ([_ordinal(finish)] if finish else [])),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1 + len(scene.line), "~~~~~ shark ".ljust(sum(widths[:-1]) + 2 * len(widths) - 4, "~"))
    return "\n".join([f"Get Bit! {variant}, round {scene.rounds}", scene.news, "", *lines]) + "\n"


def _ordinal(number: int) -> str:
    return f"{number}{('st', 'nd', 'rd', 'th')[min(number, 4) - 1]}"


# --- picture ---------------------------------------------------------------------------------------------------------------
# The front of the line is at the left, as in the notation; the shark follows behind its last robot, and behind the shark are the
# robots that are out. Lengths are pixels. Width and height are multiples of 16, which video encoders want.

COLUMN, LEFT, SHARK, RIGHT = 144, 72, 208, 8  # width of a robot's column, of the row titles, of the shark, of the margin
HEIGHT = 448
HEADER, WATER, FLOOR = 56, 256, 330  # heights of the lower edge of the headline, of the surface, of the sea floor
NAMES, HANDS, TABLES = 350, 386, 421  # heights of the middles of the rows below the floor
# Joints of a robot, from its middle on the surface: shoulder, elbow, hand; hip, knee, foot. Bites take limbs from the end of this
# list, half limbs from their far end; which one is bitten off changes nothing (G4.2).
ROBOT_LIMBS: tuple[tuple[Point, Point, Point], ...] = (
    ((-25, -56), (-43, -47), (-50, -80)),
    ((25, -56), (43, -47), (50, -80)),
    ((-13, -6), (-17, 20), (-20, 46)),
    ((13, -6), (17, 20), (20, 46)),
)


def picture(pygame: Any, scene: Scene) -> Any:
    """The scene as a surface of pygame."""
    return _Drawing.surface(pygame, scene)


def svg(scene: Scene) -> str:
    """The scene as SVG, which needs no other package."""
    return _Drawing.svg(scene, ansi(scene))


def save_picture(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene to a picture file; the ending of its name says of which kind, `.png` for example.

    Raises:
        ImportError: pygame is not installed.
    """
    save_surface(picture(import_pygame(), scene), path)


class _Drawing(Drawing):
    """One picture in the making."""

    _scene: Scene

    @staticmethod
    def size(scene: Scene) -> tuple[int, int]:
        """See `Drawing`."""
        return LEFT + COLUMN * scene.variant.robots + SHARK + RIGHT, HEIGHT

    def __init__(self, pens: Pens, scene: Scene) -> None:
        super().__init__(pens, scene)
        self._variant = scene.variant

    def draw(self) -> None:
        """See `Drawing`."""
        scene = self._scene
        shark = LEFT + COLUMN * len(scene.line)
        middles = {robot: LEFT + COLUMN * (place + 0.5) for place, robot in enumerate(scene.line)}
        middles |= {robot: shark + SHARK + COLUMN * (place + 0.5) for place, robot in enumerate(scene.out)}
        self._sky()
        for robot, x in middles.items():
            self._robot(robot, x)
        self._shark(shark)
        self._sea()
        for robot, x in middles.items():
            self._card_played(robot, x)
            self._below_floor(robot, x)
        self._titles(shark + SHARK / 2)

    # The parts of the picture.

    def _sky(self) -> None:
        self._shade(HEADER, WATER, SKY_HIGH, SKY_LOW)
        self._box(0, WATER - 4, self._width, 4, SEA_HIGH)
        self._shade(WATER, FLOOR, SEA_HIGH, SEA_LOW)
        self._box(0, FLOOR, self._width, HEIGHT - FLOOR, SEA_LOW)
        self._polygon([(0, WATER - 5), *self._waves(WATER, 3.5, 72), (self._width, WATER - 5)], SKY_LOW)

    def _sea(self) -> None:
        """Water in front of all that swims, and the sea floor."""
        surface, floor = self._waves(WATER, 3.5, 72), self._waves(FLOOR, 3, 190)
        self._veil(surface + floor[::-1], SEA_LOW, 90)
        for a, b in pairwise(surface):
            self._stroke(a, b, 2.5, WHITE)
        self._polygon([(0, HEIGHT), *floor, (self._width, HEIGHT)], SAND)

    def _waves(self, y: float, height: float, length: float) -> list[Point]:
        return [(x, y + height * math.sin(x * math.tau / length)) for x in range(0, self._width + 4, 4)]

    def _robot(self, robot: int, x: float) -> None:
        """A robot in the line, or a wreck on the sea floor."""
        color, left, most = self._color(robot), self._scene.limbs[robot], self._variant.limbs
        if left == 0:
            self._torso(robot, x, FLOOR + 36, mix(color, GREY, 0.35))
            return
        if most == HALF_LIMBS:
            halves = [(2, min(2, max(0, left - 2 * number))) for number in range(LIMBS)]
        elif most <= LIMBS:
            halves = [(2 * (number < most), 2 * (number < left)) for number in range(LIMBS)]
        else:
            halves = [(2, 2)] * LIMBS  # `_bar` tells
        for number, (joints, (had, has)) in enumerate(zip(ROBOT_LIMBS, halves, strict=True)):
            self._limb([(x + dx, WATER + dy) for dx, dy in joints], had, has, color, foot=number >= 2)
        self._torso(robot, x, WATER, color)

    def _torso(self, robot: int, x: float, y: float, color: Color) -> None:
        """Body and head; `y` is the height of the hips. An owner's second robot has two antennas, a winner's wear crowns."""
        player, second = divmod(robot, self._variant.robots_per_player)
        alive, dark = self._scene.limbs[robot] > 0, mix(color, NIGHT, 0.55)
        if alive and player == self._scene.winner:
            crown = ((-17, -97), (-21, -116), (-9, -107), (0, -120), (9, -107), (21, -116), (17, -97))
            self._polygon([(x + dx, y + dy) for dx, dy in crown], GOLD, mix(GOLD, NIGHT, 0.55))
        else:
            for dx in (-9, 9) if second else (0,):
                self._stroke((x + dx, y - 96), (x + dx, y - 108), 3, dark)
                self._disc((x + dx, y - 110), 4, dark)
        self._rounded(x - 26, y - 66, 52, 66, 12, color, dark)
        self._rounded(x - 21, y - 98, 42, 30, 10, mix(color, WHITE, 0.35), dark)
        for eye in (x - 9, x + 10):
            self._disc((eye, y - 84), 6.5, WHITE)
            if alive:
                self._disc((eye + 2.5, y - 84), 3, INK)  # it looks back at the shark
            else:
                for slope in (-3.5, 3.5):
                    self._stroke((eye - 3.5, y - 84 - slope), (eye + 3.5, y - 84 + slope), 2.2, INK)
        if alive:
            self._disc((x, y - 35), 17, dark)
            self._disc((x, y - 35), 15, WHITE)
            self._text(robot_name(self._variant, robot), (x, y - 34), 32, INK)

    def _limb(self, joints: list[Point], had: int, left: int, color: Color, *, foot: bool) -> None:
        """A limb of `had` halves of which `left` are left; the others are drawn as an outline."""
        pairs = list(pairwise(joints))
        ghost = mix(SEA_HIGH, SEA_LOW, 0.4) if foot else SKY_LOW
        ghost_edge = mix(ghost, WHITE if foot else GREY, 0.5)
        for edge, fill, first, last in (
            (ghost_edge, ghost, left, had),
            (mix(color, NIGHT, 0.55), color, 0, left),
        ):
            for width, paint in ((17, edge), (12, fill)):
                for a, b in pairs[first:last]:
                    self._stroke(a, b, width, paint)
                if first < last == 2:
                    end = joints[-1]
                    if foot:
                        self._stroke((end[0] - 7, end[1]), (end[0] + 5, end[1]), width, paint)
                    else:
                        self._disc(end, width / 2 + 3, paint)

    def _shark(self, left: float) -> None:
        """The shark, its open mouth towards the back of the line, with what it bit off."""

        def at(*points: Point) -> list[Point]:
            return [(left + 4 + dx, WATER + 30 + dy) for dx, dy in points]

        back = _smooth(at((6, -12), (34, -30), (78, -40), (124, -32), (162, -12), (180, -3)))
        belly = _smooth(at((180, 5), (160, 14), (118, 32), (70, 40), (40, 36), (18, 30)))
        corner = at((54, 6))
        tail = at((172, -8), (200, -46), (192, 0), (200, 36), (172, 8))
        fin = _smooth(at((76, -36), (92, -66), (112, -84))) + _smooth(at((112, -84), (110, -58), (124, -30)))
        edge = mix(SHARK_BACK, NIGHT, 0.5)
        for shape in (tail, fin):
            self._polygon(shape, SHARK_BACK, edge)
        self._polygon(at((8, -8), (54, 4), (54, 10), (22, 28), (30, 10)), (120, 24, 36))
        if self._scene.bitten is not None:
            color = self._color(self._scene.bitten)
            a, b = at((2, 10), (36, 8))
            self._stroke(a, b, 17, mix(color, NIGHT, 0.55))
            self._stroke(a, b, 12, color)
            self._disc(a, 9, mix(color, NIGHT, 0.55))
            self._disc(a, 6.5, color)
        self._polygon(back + belly + corner, SHARK_BACK, edge)
        self._polygon([*_smooth(at((172, 4), (140, 10), (96, 14), (54, 10))), *reversed(belly[:-1])], SHARK_BELLY)
        self._polygon([*belly, *corner, *back], None, edge)
        self._teeth(at((12, -9), (48, 3)), 7)
        self._teeth(at((46, 11), (22, 27)), -7)
        self._disc(at((48, -19))[0], 5.5, WHITE)
        self._disc(at((46, -19))[0], 3, INK)
        for a, b in pairwise(at((40, -27), (54, -23))):  # a frown
            self._stroke(a, b, 2.5, edge)
        for dx in (74, 82, 90):
            self._polygon(at((dx, -14), (dx - 4, 6)), None, edge)
        self._polygon(at((96, 22), (124, 20), (122, 52)), SHARK_BACK, edge)

    def _teeth(self, jaw: list[Point], height: float) -> None:
        """Five triangles along a jaw."""
        for i in range(5):
            a, tip, b = (_between(jaw[0], jaw[1], (i + share) / 5) for share in (0.05, 0.6, 0.95))
            self._polygon([a, (tip[0], tip[1] + height), b], WHITE)

    def _card_played(self, robot: int, x: float) -> None:
        """Above the robot: the card that it played last, and what became of it."""
        scene, card = self._scene, self._scene.revealed[robot]
        if card is None:
            return
        tied = robot in scene.tied
        self._card(card, (x, 88), (34, 44), 34, mix(WHITE, GREY, 0.45) if tied else WHITE, self._color(robot))
        badges = [("tied", SLATE)] * tied + [("bitten", RED)] * (robot == scene.bitten) + [("eaten", RED)] * (robot == scene.eaten)
        widths = [10 + 7.5 * len(word) for word, _ in badges]
        left = x - (sum(widths) + 4 * (len(widths) - 1)) / 2
        for (word, color), width in zip(badges, widths, strict=True):
            self._rounded(left, 114, width, 18, 9, color, color)
            self._text(word, (left + width / 2, 123), 18, WHITE)
            left += width + 4

    def _below_floor(self, robot: int, x: float) -> None:
        """Below the robot: its name and owner, and its cards."""
        scene, variant, color = self._scene, self._variant, self._color(robot)
        owner, left = robot // variant.robots_per_player, scene.limbs[robot]
        name, finish = f"{robot_name(variant, robot)} player_{owner}", scene.placement[owner]
        ink = WHITE if owner == 1 else INK  # the blue alone is dark
        self._rounded(x - 64, NAMES - 12, 128, 24, 12, color, mix(color, NIGHT, 0.55))
        if finish is None:
            self._text(name, (x, NAMES + 1), 21, ink)
        else:
            self._text(name, (x - 57, NAMES + 1), 21, ink, "left")
            self._text(_ordinal(finish), (x + 57, NAMES + 1), 21, ink, "right")
        if left == 0:
            self._text("out", (x, HANDS), 22, SLATE)
            return
        if variant.limbs > LIMBS and variant.limbs != HALF_LIMBS:
            self._bar(left, variant.limbs, x)
        size, step = (17, 24), 19  # seven cards fit into a column
        first = x - step * (variant.cards - 1) / 2
        for number in range(1, variant.cards + 1):
            at = (first + step * (number - 1), HANDS)
            if number in scene.hands[robot]:
                self._card(number, at, size, 21, WHITE, SLATE)
            else:
                self._rounded(at[0] - 8.5, at[1] - 12, *size, 4, mix(SAND, GREY, 0.12), mix(SAND, GREY, 0.4))
        for i, number in enumerate(scene.tables[robot]):
            self._card(number, (first + step * i, TABLES), size, 21, SLATE if variant.memory else WHITE, SLATE)

    def _titles(self, under_shark: float) -> None:
        scene, variant = self._scene, self._variant
        self._box(0, 0, self._width, HEADER, NIGHT)
        self._text(f"Round {scene.rounds}" if scene.rounds else "Start", (16, HEADER / 2), 36, WHITE, "left")
        self._text(scene.news, (152, HEADER / 2), 24, WHITE if scene.winner is None else GOLD, "left")
        self._text("front", (LEFT / 2, WATER + 28), 22, WHITE)
        self._polygon([(14, WATER + 46), (26, WATER + 39), (26, WATER + 53)], WHITE)
        self._stroke((26, WATER + 46), (58, WATER + 46), 3, WHITE)
        self._text("hand", (12, HANDS), 22, SLATE, "left")
        self._text("table", (12, TABLES - 7 * variant.memory), 22, SLATE, "left")
        if variant.memory:
            self._text("face down", (12, TABLES + 9), 16, SLATE, "left")
        self._text("Get Bit!", (under_shark, HANDS), 26, SLATE)
        self._text(str(variant), (under_shark, TABLES), 17, SLATE)

    # What the parts are made of.

    def _color(self, robot: int) -> Color:
        return OWNERS[robot // self._variant.robots_per_player]

    def _card(self, number: int, at: Point, size: Point, font: int, fill: Color, edge: Color) -> None:
        self._rounded(at[0] - size[0] / 2, at[1] - size[1] / 2, *size, size[0] / 4, fill, edge)
        self._text(str(number), (at[0], at[1] + 1), font, WHITE if fill == SLATE else INK)

    def _bar(self, left: int, most: int, x: float) -> None:
        """Limbs left, for games in which a robot doesn't have four of them."""
        self._rounded(x - 40, FLOOR - 21, 80, 18, 9, mix(SAND, GREY, 0.4), INK)
        self._rounded(x - 38, FLOOR - 19, max(14, 76 * left / most), 14, 7, WHITE, WHITE)
        self._text(f"{left} of {most}", (x, FLOOR - 12), 18, INK)


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def _smooth(points: list[Point]) -> list[Point]:
    """A Catmull-Rom curve through the points."""
    ends = np.array([points[0], *points, points[-1]])
    t = np.arange(8)[:, None] / 8
    curve: list[Point] = []
    for p, q, r, s in zip(ends, ends[1:], ends[2:], ends[3:], strict=False):
        piece = q + t / 2 * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p)))
        curve += [(x, y) for x, y in piece.tolist()]
    return [*curve, points[-1]]
