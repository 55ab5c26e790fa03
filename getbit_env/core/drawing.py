"""Pictures drawn with pygame: what the games' drawings share. pygame is imported when the first picture is drawn."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def picture_png(picture: Callable[[Any, Any], Any], scene: Any) -> bytes:
    """A scene as a PNG file; `picture` is as for `Canvas`.

    Raises:
        ImportError: pygame is not installed.
    """
    pygame = import_pygame()
    file = io.BytesIO()
    pygame.image.save(picture(pygame, scene), file, "scene.png")
    return file.getvalue()


def save_surface(surface: Any, path: str | os.PathLike[str]) -> None:
    """Write a picture to a file; the ending of its name says of which kind, `.png` for example."""
    import_pygame().image.save(surface, Path(path))


def import_pygame() -> Any:
    """Import pygame, or say how to get it."""
    try:
        import pygame
    except ImportError as error:
        raise ImportError('drawing needs pygame: pip install "getbit-env[render]"') from error
    return pygame


class Paper:
    """A large surface with pens, that is scaled down at last. Lengths are pixels of the scaled picture."""

    def __init__(self, pygame: Any, width: int, height: int) -> None:
        self._pygame, self._width, self._height = pygame, width, height
        self._large = pygame.Surface((width * FINE, height * FINE), 0, 32)
        self._fonts: dict[int, Any] = {}  # of this picture only: somebody may call `pygame.quit` before the next
        pygame.font.init()  # fonts need no display

    def scaled(self) -> Any:
        """The picture as it is to be seen."""
        return self._pygame.transform.smoothscale(self._large, (self._width, self._height))

    def _box(self, x: float, y: float, width: float, height: float, color: Color) -> None:
        self._large.fill(color, [v * FINE for v in (x, y, width, height)])

    def _rounded(self, x: float, y: float, width: float, height: float, radius: float, fill: Color, edge: Color) -> None:
        for inset, color in ((0, edge), (2, fill)):
            box = [round(v * FINE) for v in (x + inset, y + inset, width - 2 * inset, height - 2 * inset)]
            self._pygame.draw.rect(self._large, color, box, border_radius=round((radius - inset) * FINE))

    def _disc(self, at: Point, radius: float, color: Color) -> None:
        self._pygame.draw.circle(self._large, color, (at[0] * FINE, at[1] * FINE), radius * FINE)

    def _polygon(self, points: list[Point], fill: Color | None, edge: Color | None = None) -> None:
        if fill is not None:
            self._pygame.draw.polygon(self._large, fill, [(x * FINE, y * FINE) for x, y in points])
        if edge is not None:
            for a, b in zip(points, points[1:] + points[:1], strict=True):
                self._stroke(a, b, 2, edge)

    def _stroke(self, a: Point, b: Point, width: float, color: Color) -> None:
        """A line with round ends."""
        length = math.hypot(b[0] - a[0], b[1] - a[1])
        if length > 0:
            dx, dy = (a[1] - b[1]) / length * width / 2, (b[0] - a[0]) / length * width / 2
            self._polygon([(a[0] + dx, a[1] + dy), (b[0] + dx, b[1] + dy), (b[0] - dx, b[1] - dy), (a[0] - dx, a[1] - dy)], color)
        for end in (a, b):
            self._disc(end, width / 2, color)

    def _text(self, text: str, at: Point, size: int, color: Color, align: str = "center") -> None:
        if size not in self._fonts:
            self._fonts[size] = self._pygame.font.Font(None, size * FINE)
        drawn = self._fonts[size].render(text, True, color)
        width, height = drawn.get_size()
        left = at[0] * FINE - {"left": 0, "center": width / 2, "right": width}[align]
        self._large.blit(drawn, (round(left), round(at[1] * FINE - height / 2)))


def mix(a: Color, b: Color, share: float) -> Color:
    """`a` with a share of `b`."""
    red, green, blue = (round(p + (q - p) * share) for p, q in zip(a, b, strict=True))
    return red, green, blue
