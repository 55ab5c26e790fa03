"""Replays as moving pictures: GIF with Pillow, MP4 with ffmpeg, of what `render_mode="rgb_array"` draws (extra `movies`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.drawing import picture_array
from getbit_env.core.files import write_whole
from getbit_env.game_registry import find_variant, game_of
from getbit_env.replays import Replay

SECONDS = 1.2  # that a position is shown
LAST = 3  # times as long is the last one
RATE = 10  # pictures a second of MP4: players stumble over fewer
COLORS = 128  # of GIF; the drawings have few
NEEDED = {"gif": ("pygame", "PIL"), "mp4": ("pygame", "imageio_ffmpeg")}  # packages of each kind


def pictures(replay: Replay) -> Iterator[NDArray[np.uint8]]:
    """The positions of a game, `[height, width, 3]` uint8 each, as `rgb_array` draws them.

    Raises:
        ValueError: nothing draws the game.
        ReplayError: a move is not legal, or the end is another one.
        ImportError: pygame is not installed.
    """
    game = game_of(find_variant(replay.variant))
    if not game.rendering:
        raise ValueError(f"nothing draws {game}: its GameSpec names no `rendering`")
    rendering = import_module(game.rendering)
    for engine in replay.positions():
        yield picture_array(rendering.picture, rendering.scene_of_batch(engine, 0))


def write_gif(replay: Replay, path: str | os.PathLike[str], seconds: float = SECONDS) -> None:
    """Write a game as an animated GIF, whole or not at all.

    Args:
        replay: the game.
        path: of the file.
        seconds: that each position is shown.

    Raises:
        ValueError: see `pictures`.
        ImportError: pygame or Pillow is not installed.
        OSError: it can't be written.
    """
    from PIL import Image

    images = [Image.fromarray(picture).quantize(COLORS, dither=Image.Dither.NONE) for picture in pictures(replay)]
    times = [round(1000 * seconds)] * (len(images) - 1) + [round(1000 * seconds * LAST)]
    first, *rest = images

    def write(part: Path) -> None:
        first.save(part, format="GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=True)

    write_whole(Path(path), write)


def write_mp4(replay: Replay, path: str | os.PathLike[str], seconds: float = SECONDS) -> None:
    """Write a game as an MP4 film (H.264), whole or not at all.

    Args:
        replay: the game.
        path: of the file.
        seconds: that each position is shown.

    Raises:
        ValueError: see `pictures`.
        ImportError: pygame or imageio-ffmpeg is not installed.
        OSError: it can't be written.
    """
    import imageio_ffmpeg

    shown = [_even(picture) for picture in pictures(replay)]
    height, width = shown[0].shape[:2]
    times = max(1, round(seconds * RATE))

    def write(part: Path) -> None:
        # ffmpeg tells the format by the ending of the name, which a part has not
        output: Any = imageio_ffmpeg.write_frames(
            str(part), (width, height), fps=RATE, macro_block_size=2, output_params=["-f", "mp4", "-movflags", "+faststart"]
        )
        output.send(None)
        try:
            for number, picture in enumerate(shown, 1):
                for _ in range(times * (LAST if number == len(shown) else 1)):
                    output.send(picture)
        finally:
            output.close()

    write_whole(Path(path), write)


def _even(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture with an even number of rows and columns, which H.264 needs."""
    rows, columns = picture.shape[0] % 2, picture.shape[1] % 2
    return np.ascontiguousarray(np.pad(picture, ((0, rows), (0, columns), (0, 0)), mode="edge"))
