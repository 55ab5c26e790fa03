"""Pictures, drawn with pygame or written as SVG: what the games' drawings share. pygame is imported when it is first needed."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FINE = 3  # shapes are drawn so many times larger and scaled down, which smooths their edges

Color = tuple[int, int, int]
Point = tuple[float, float]

# Okabe and Ito's palette, made to be told apart also by the colour-blind; a colour a player.
OWNERS: tuple[Color, ...] = (
    (230, 159, 0),
    (0, 114, 178),
    (0, 158, 115),
    (213, 94, 0),
    (204, 121, 167),
    (240, 228, 66),
    (86, 180, 233),
)
NIGHT, INK, WHITE = (16, 42, 67), (30, 41, 59), (255, 255, 255)
SKY_HIGH, SKY_LOW, SEA_HIGH, SEA_LOW, SAND = (226, 241, 249), (247, 251, 252), (176, 219, 233), (96, 168, 204), (240, 228, 200)
RED, GOLD, GREY, SLATE = (190, 30, 45), (255, 200, 40), (148, 163, 184), (71, 85, 105)
SHARK_BACK, SHARK_BELLY = (92, 110, 128), (226, 232, 238)


class Canvas:
    """Draws scenes, as arrays or in a window. Arrays need no display."""

    def __init__(self, render_mode: str, fps: float, title: str, picture: Callable[[Any, Any], Any]) -> None:
        """Make a canvas.

        Args:
            render_mode: "rgb_array" or "human".
            fps: scenes a second that a window shows at most.
            title: of the window.
            picture: draws a scene: called with pygame and the scene, it returns a surface.

        Raises:
            ImportError: pygame is not installed.
        """
        self._pygame = import_pygame()
        self._title, self._picture = title, picture
        self._human = render_mode == "human"
        self._fps = fps
        self._clock = self._pygame.time.Clock()
        self._window_open = False
        self._dismissed = False

    def draw(self, scene: Any) -> NDArray[np.uint8] | None:
        """Draw a scene.

        Returns:
            `[height, width, 3]` uint8; None if it went to the window. After somebody closed the window nothing
            more is shown, and the game goes on.

        Raises:
            RuntimeError: there is no display for a window.
        """
        if self._dismissed:
            return None
        picture = self._picture(self._pygame, scene)
        if self._human:
            self._show(picture)
            return None
        return np.ascontiguousarray(self._pygame.surfarray.array3d(picture).swapaxes(0, 1))

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window_open:
            self._pygame.display.quit()
        self._window_open = False

    def _show(self, picture: Any) -> None:
        # `pygame.display` rather than `pygame.Window`, which the older package of the same name lacks.
        display = self._pygame.display
        window = display.get_surface()
        if window is None or window.get_size() != picture.get_size():
            try:
                window = display.set_mode(picture.get_size())
            except self._pygame.error as error:
                raise RuntimeError(f"no window can be opened ({error}); 'rgb_array' and 'ansi' need no display") from error
            display.set_caption(self._title)
        self._window_open = True
        window.blit(picture, (0, 0))
        display.flip()
        if any(event.type == self._pygame.QUIT for event in self._pygame.event.get()):
            self._dismissed = True
            self.close()
        else:
            self._clock.tick(self._fps)


def picture_array(picture: Callable[[Any, Any], Any], scene: Any) -> NDArray[np.uint8]:
    """A scene as an array, `[height, width, 3]` uint8; `picture` is as for `Canvas`.

    Raises:
        ImportError: pygame is not installed.
    """
    pygame = import_pygame()
    return np.ascontiguousarray(pygame.surfarray.array3d(picture(pygame, scene)).swapaxes(0, 1))


def save_surface(surface: Any, path: str | os.PathLike[str]) -> None:
    """Write a picture to a file; the ending of its name says of which kind, `.png` for example."""
    import_pygame().image.save(surface, Path(path))


def import_pygame() -> Any:
    """Import pygame, or say how to get it."""
    try:
        import pygame
    except ImportError as error:
        raise ImportError('drawing needs pygame: pip install "getbit-env[render]"', name=error.name) from error
    return pygame


class Pens(Protocol):
    """What a picture is drawn with. Lengths are pixels of the picture as it is to be seen.

    Attributes:
        width: of the picture.
        height: of the picture.
    """

    width: int
    height: int

    def box(self, x: float, y: float, width: float, height: float, color: Color) -> None:
        """A filled rectangle."""

    def shade(self, top: float, bottom: float, high: Color, low: Color) -> None:
        """The whole width from `top` to `bottom`, one colour turning into the other."""

    def rounded(self, x: float, y: float, width: float, height: float, radius: float, fill: Color, edge: Color) -> None:
        """A rectangle with round corners and an edge."""

    def disc(self, at: Point, radius: float, color: Color) -> None:
        """A filled circle."""

    def polygon(self, points: list[Point], fill: Color | None, edge: Color | None = None) -> None:
        """A polygon, filled or with an edge or both."""

    def veil(self, points: list[Point], color: Color, alpha: int) -> None:
        """A polygon that can be seen through: `alpha` is 0 to 255."""

    def stroke(self, a: Point, b: Point, width: float, color: Color) -> None:
        """A line with round ends."""

    def text(self, text: str, at: Point, size: int, color: Color, align: str = "center") -> None:
        """A line of text, its middle at the height of `at`; `align` is "left", "center" or "right" of it."""


class Drawing:
    """A picture of a scene in the making, with pens of any kind."""

    def __init__(self, pens: Pens, scene: Any) -> None:
        self._scene = scene
        self._width, self._height = pens.width, pens.height
        self._box, self._shade, self._rounded, self._disc = pens.box, pens.shade, pens.rounded, pens.disc
        self._polygon, self._veil, self._stroke, self._text = pens.polygon, pens.veil, pens.stroke, pens.text

    @classmethod
    def surface(cls, pygame: Any, scene: Any) -> Any:
        """The scene as a surface of pygame."""
        paper = Paper(pygame, *cls.size(scene))
        cls(paper, scene).draw()
        return paper.scaled()

    @classmethod
    def svg(cls, scene: Any, description: str) -> str:
        """The scene as SVG, which needs no other package; the description is for whoever can't see it."""
        paper = SvgPaper(*cls.size(scene))
        cls(paper, scene).draw()
        return paper.picture(description)

    @staticmethod
    def size(scene: Any) -> tuple[int, int]:
        """Width and height of the picture of a scene, in pixels."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw all of it."""
        raise NotImplementedError


class Paper:
    """`Pens` on a large surface of pygame, which is scaled down at last."""

    width: int
    height: int

    def __init__(self, pygame: Any, width: int, height: int) -> None:
        self._pygame, self.width, self.height = pygame, width, height
        self._large = pygame.Surface((width * FINE, height * FINE), 0, 32)
        self._fonts: dict[int, Any] = {}  # of this picture only: somebody may call `pygame.quit` before the next
        pygame.font.init()  # fonts need no display

    def scaled(self) -> Any:
        """The picture as it is to be seen."""
        return self._pygame.transform.smoothscale(self._large, (self.width, self.height))

    def box(self, x: float, y: float, width: float, height: float, color: Color) -> None:
        """See `Pens`."""
        self._large.fill(color, [v * FINE for v in (x, y, width, height)])

    def shade(self, top: float, bottom: float, high: Color, low: Color) -> None:
        """See `Pens`."""
        for y in range(round(top), round(bottom)):
            self.box(0, y, self.width, 1, mix(high, low, (y - top) / (bottom - top)))

    def rounded(self, x: float, y: float, width: float, height: float, radius: float, fill: Color, edge: Color) -> None:
        """See `Pens`."""
        for inset, color in ((0, edge), (2, fill)):
            box = [round(v * FINE) for v in (x + inset, y + inset, width - 2 * inset, height - 2 * inset)]
            self._pygame.draw.rect(self._large, color, box, border_radius=round((radius - inset) * FINE))

    def disc(self, at: Point, radius: float, color: Color) -> None:
        """See `Pens`."""
        self._pygame.draw.circle(self._large, color, (at[0] * FINE, at[1] * FINE), radius * FINE)

    def polygon(self, points: list[Point], fill: Color | None, edge: Color | None = None) -> None:
        """See `Pens`."""
        if fill is not None:
            self._pygame.draw.polygon(self._large, fill, [(x * FINE, y * FINE) for x, y in points])
        if edge is not None:
            for a, b in zip(points, points[1:] + points[:1], strict=True):
                self.stroke(a, b, 2, edge)

    def veil(self, points: list[Point], color: Color, alpha: int) -> None:
        """See `Pens`."""
        veil = self._pygame.Surface(self._large.get_size(), self._pygame.SRCALPHA, 32)
        self._pygame.draw.polygon(veil, (*color, alpha), [(x * FINE, y * FINE) for x, y in points])
        self._large.blit(veil, (0, 0))

    def stroke(self, a: Point, b: Point, width: float, color: Color) -> None:
        """See `Pens`."""
        length = math.hypot(b[0] - a[0], b[1] - a[1])
        if length > 0:
            dx, dy = (a[1] - b[1]) / length * width / 2, (b[0] - a[0]) / length * width / 2
            self.polygon([(a[0] + dx, a[1] + dy), (b[0] + dx, b[1] + dy), (b[0] - dx, b[1] - dy), (a[0] - dx, a[1] - dy)], color)
        for end in (a, b):
            self.disc(end, width / 2, color)

    def text(self, text: str, at: Point, size: int, color: Color, align: str = "center") -> None:
        """See `Pens`."""
        if size not in self._fonts:
            self._fonts[size] = self._pygame.font.Font(None, size * FINE)
        drawn = self._fonts[size].render(text, True, color)
        width, height = drawn.get_size()
        left = at[0] * FINE - {"left": 0, "center": width / 2, "right": width}[align]
        self._large.blit(drawn, (round(left), round(at[1] * FINE - height / 2)))


class SvgPaper:
    """`Pens` that write SVG. They need no other package."""

    width: int
    height: int
    _EM = 0.6875  # of the size of a text: pygame scales its own font by this as well

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def picture(self, description: str) -> str:
        """The picture as an element of SVG.

        Args:
            description: what it shows, for whoever can't see it.
        """
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'style="max-width: 100%; height: auto" role="img" font-family="sans-serif" font-weight="bold">'
            f"<title>{html.escape(description)}</title>{''.join(self._parts)}</svg>"
        )

    def box(self, x: float, y: float, width: float, height: float, color: Color) -> None:
        """See `Pens`."""
        self._parts.append(f'<rect x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}" fill="{_hex(color)}"/>')

    def shade(self, top: float, bottom: float, high: Color, low: Color) -> None:
        """See `Pens`."""
        name = f"shade-{_hex(high)[1:]}-{_hex(low)[1:]}"  # the same name has the same colours, also in another picture of a page
        stops = f'<stop stop-color="{_hex(high)}"/><stop offset="1" stop-color="{_hex(low)}"/>'
        self._parts.append(f'<linearGradient id="{name}" x2="0" y2="1">{stops}</linearGradient>')
        self._parts.append(f'<rect y="{top:.4g}" width="{self.width}" height="{bottom - top:.4g}" fill="url(#{name})"/>')

    def rounded(self, x: float, y: float, width: float, height: float, radius: float, fill: Color, edge: Color) -> None:
        """See `Pens`."""
        self._parts.append(
            f'<rect x="{x + 1:.4g}" y="{y + 1:.4g}" width="{width - 2:.4g}" height="{height - 2:.4g}" rx="{radius - 1:.4g}" '
            f'fill="{_hex(fill)}" stroke="{_hex(edge)}" stroke-width="2"/>'
        )

    def disc(self, at: Point, radius: float, color: Color) -> None:
        """See `Pens`."""
        self._parts.append(f'<circle cx="{at[0]:.4g}" cy="{at[1]:.4g}" r="{radius:.4g}" fill="{_hex(color)}"/>')

    def polygon(self, points: list[Point], fill: Color | None, edge: Color | None = None) -> None:
        """See `Pens`."""
        line = "" if edge is None else f' stroke="{_hex(edge)}" stroke-width="2" stroke-linejoin="round"'
        self._parts.append(f'<polygon points="{_corners(points)}" fill="{"none" if fill is None else _hex(fill)}"{line}/>')

    def veil(self, points: list[Point], color: Color, alpha: int) -> None:
        """See `Pens`."""
        self._parts.append(f'<polygon points="{_corners(points)}" fill="{_hex(color)}" fill-opacity="{alpha / 255:.3g}"/>')

    def stroke(self, a: Point, b: Point, width: float, color: Color) -> None:
        """See `Pens`."""
        self._parts.append(
            f'<path d="M{_corners([a, b])}" stroke="{_hex(color)}" stroke-width="{width:.4g}" stroke-linecap="round"/>'
        )

    def text(self, text: str, at: Point, size: int, color: Color, align: str = "center") -> None:
        """See `Pens`."""
        anchor = {"left": "start", "center": "middle", "right": "end"}[align]
        self._parts.append(
            f'<text x="{at[0]:.4g}" y="{at[1]:.4g}" dy="0.35em" font-size="{size * self._EM:.4g}" text-anchor="{anchor}" '
            f'fill="{_hex(color)}">{html.escape(text)}</text>'
        )


def _hex(color: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def _corners(points: list[Point]) -> str:
    return " ".join(f"{x:.4g},{y:.4g}" for x, y in points)


def mix(a: Color, b: Color, share: float) -> Color:
    """`a` with a share of `b`."""
    red, green, blue = (round(p + (q - p) * share) for p, q in zip(a, b, strict=True))
    return red, green, blue
