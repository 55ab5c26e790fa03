"""How an environment is shown: what all games share."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.drawing import Canvas


class Rendered:
    """`render`, `close` and copying of an environment that has a `snapshot`.

    Attributes:
        title: of its window.
        rendering: the module that draws it, with `scene_from_snapshot`, `ansi`, `picture` and `svg`; imported when something is
            drawn.
        render_mode: None, or one of `metadata["render_modes"]`.
    """

    title: ClassVar[str]
    rendering: ClassVar[str]
    metadata: dict[str, Any]
    variant: Any
    render_mode: str | None
    _canvas: Canvas | None = None

    def snapshot(self) -> dict[str, Any]:
        """The position; each environment says what it holds."""
        raise NotImplementedError

    def render(self) -> str | NDArray[np.uint8] | None:
        """Show the position: a text ("ansi"), an image `[H, W, 3]` uint8 ("rgb_array"), or a window ("human").

        The text is plain ASCII where standard output can't hold more, so that it can be printed on any terminal.

        Raises:
            ValueError: the environment was made without a `render_mode`.
            RuntimeError: the environment was never reset.
        """
        if self.render_mode is None:
            raise ValueError(f"make the environment with render_mode one of {self.metadata['render_modes']} to render it")
        self._check_begun("render")
        rendering = import_module(self.rendering)
        scene = rendering.scene_from_snapshot(self.snapshot(), self.variant)
        if self.render_mode == "ansi":
            return printable(rendering.ansi(scene))
        if self._canvas is None:
            self._canvas = Canvas(self.render_mode, self.metadata["render_fps"], self.title, rendering.picture)
        return self._canvas.draw(scene)

    def _repr_svg_(self) -> str | None:
        """What notebooks show: the position; None before the first reset."""
        if not self._is_begun():
            return None
        rendering = import_module(self.rendering)
        picture: str = rendering.svg(rendering.scene_from_snapshot(self.snapshot(), self.variant))
        return picture

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._canvas is not None:
            self._canvas.close()
            self._canvas = None

    def _check_begun(self, call: str) -> None:
        """Refuse a call before the first reset, where an environment needs one."""

    def _is_begun(self) -> bool:
        """Whether there is a position to show."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_canvas": None}  # a window is neither copied nor pickled

    def __str__(self) -> str:
        return f"{self.metadata['name']}({self.variant})"


def as_html_strip(rendering: Any, scenes: Iterable[Any]) -> str:
    """Scenes for notebooks, one below the other, in a box that scrolls.

    Args:
        rendering: the module that draws them, with `svg`.
        scenes: what there is to see.
    """
    shown = "\n".join(rendering.svg(scene) for scene in scenes)
    return f'<div style="max-height: 30em; overflow: auto">{shown}</div>'


def as_text(text: str) -> str:
    """A text for notebooks, with its columns."""
    return f"<pre>{html.escape(text)}</pre>"


_ASCII = str.maketrans({"●": "#", "○": "."})


def printable(text: str) -> str:
    """A text with its signs replaced by ASCII ones if standard output can't hold them, on a cp1252 terminal for example."""
    encoding = getattr(sys.stdout, "encoding", None)
    if encoding is None:  # it takes any text, or there is none
        return text
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII)
    return text
