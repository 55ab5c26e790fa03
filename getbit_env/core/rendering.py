"""What the environments of all games share in how they are shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.drawing import Canvas


class Rendered:
    """`render`, `close` and copying of an environment that has a `snapshot`.

    Attributes:
        title: of its window.
        rendering: the module that draws it, with `scene_from_snapshot`, `ansi` and `picture`; imported when something is drawn.
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

        Raises:
            ValueError: the environment was made without a `render_mode`.
            RuntimeError: the environment was never reset.
        """
        if self.render_mode is None:
            raise ValueError(f"make the environment with render_mode one of {self.metadata['render_modes']} to render it")
        rendering = import_module(self.rendering)
        scene = rendering.scene_from_snapshot(self.snapshot(), self.variant)
        if self.render_mode == "ansi":
            text: str = rendering.ansi(scene)
            return text
        if self._canvas is None:
            self._canvas = Canvas(self.render_mode, self.metadata["render_fps"], self.title, rendering.picture)
        return self._canvas.draw(scene)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._canvas is not None:
            self._canvas.close()
            self._canvas = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_canvas": None}  # a window is neither copied nor pickled

    def __str__(self) -> str:
        return f"{self.metadata['name']}({self.variant})"
