"""Show a recorded game: in the browser, as one HTML file to attach to a paper or an issue, as GIF or MP4.

Replays are made by `play_match(..., record=FOLDER)`, by `getbit tournament ... --record FOLDER`, and of a PettingZoo environment by
`getbit_env.replays.replay_of(env)`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from getbit_env.command_line import command_parser, interruptible, leave, need
from getbit_env.core.files import write_text
from getbit_env.movies import NEEDED, SECONDS, write_gif, write_mp4
from getbit_env.replays import load_replay
from getbit_env.viewer import page

EXAMPLES = {
    "game.replay.json": "watch it in the browser",
    "game.replay.json --html game.html": "one file to attach to an issue",
    "game.replay.json --gif game.gif --seconds 0.8": "a quick film for a talk",
}


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    made = command_parser(prog, __doc__, EXAMPLES)
    made.add_argument("file", type=Path, metavar="FILE", help="a replay")
    made.add_argument("--html", type=Path, metavar="OUT", help="write one self-contained HTML file with the viewer inside")
    made.add_argument("--gif", type=Path, metavar="OUT", help="write an animated GIF (needs the extra [movies])")
    made.add_argument("--mp4", type=Path, metavar="OUT", help="write an MP4 film (likewise)")
    made.add_argument("--seconds", type=float, default=SECONDS, help="that GIF and MP4 show each position (default %(default)s)")
    return made


def main(arguments: Sequence[str] | None = None, prog: str = "python -m eval.replay") -> int:
    """The command; returns its exit code."""
    made = make_parser(prog)
    options = made.parse_args(arguments)
    if not 0.02 <= options.seconds <= 60:
        made.error(f"--seconds is 0.02 to 60, not {options.seconds:g}")
    try:
        need(*dict.fromkeys(package for kind, packages in NEEDED.items() if getattr(options, kind) for package in packages))
        replay = load_replay(options.file)
        with interruptible():
            replay.verify()
            wrote = [file for file in (options.html, options.gif, options.mp4) if file is not None]
            if options.html is not None or not wrote:
                text = page(replay.film(), str(replay))
            if options.html is not None:
                write_text(options.html, text)
            if options.gif is not None:
                write_gif(replay, options.gif, options.seconds)
            if options.mp4 is not None:
                write_mp4(replay, options.mp4, options.seconds)
            if not wrote:
                wrote = [open_in_browser(text)]
    except ValueError as error:
        made.error(str(error))
    except OSError as error:
        made.error(f"{error.filename or 'a file'} can't be read or written: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.stderr.write("broken off\n")
        return 130
    sys.stdout.write("\n".join([str(replay), *(f"{file}: {file.stat().st_size / 1000:,.0f} kB" for file in wrote)]) + "\n")
    return 0


def open_in_browser(text: str) -> Path:
    """Open a page in the browser. Returns its file, which stays: the browser reads it when it likes."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="getbit-replay-", suffix=".html", delete=False) as file:
        file.write(text)
    path = Path(file.name)
    if not webbrowser.open(path.as_uri()):
        sys.stderr.write(f"no browser could be opened; open {path} in one\n")
    return path


if __name__ == "__main__":
    leave(main())
