"""What the studies of this folder share: commands that keep what is ready, and write figures and a picture for a page of docs/."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from getbit_env.command_line import command_parser, interruptible
from getbit_env.core.files import InUseError, owned, write_json


def study_parser(prog: str, description: str, examples: Mapping[str, str], name: str) -> argparse.ArgumentParser:
    """The command line of a study, with the options that all have: `--output`, `--figures` and `--picture`.

    Args:
        prog: how the command was called.
        description: for `--help`.
        examples: for `--help`, see `command_parser`.
        name: of its files in docs/.
    """
    figures, picture = Path(f"docs/{name}.json"), Path(f"docs/images/{name}.png")
    output = Path("runs") / name.replace("_", "-")
    parser = command_parser(prog, description, examples)
    parser.add_argument("--output", type=Path, default=output, metavar="FOLDER", help="of what is ready (%(default)s)")
    parser.add_argument("--figures", type=Path, default=figures, metavar="FILE", help="where the figures are written (%(default)s)")
    parser.add_argument("--picture", type=Path, default=picture, metavar="FILE", help="where the picture is drawn (%(default)s)")
    return parser


def conduct(
    parser: argparse.ArgumentParser,
    given: argparse.Namespace,
    *,
    check: Callable[[], None],
    study: Callable[[], dict[str, Any]],
    draw: Callable[[dict[str, Any], Path], None],
) -> None:
    """Do a study in its folder, which this process owns meanwhile, and write what it found. Errors are one line.

    Args:
        parser: of the command.
        given: its options.
        check: raises `ValueError` for what can't be studied. Nothing is written then.
        study: returns the figures.
        draw: draws them, into a file.
    """
    try:
        check()
        with interruptible(), owned(given.output, "the study"):
            figures = study()
            write_json(given.figures, figures)
            draw(figures, given.picture)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, InUseError, RuntimeError) as error:
        parser.error(str(error))
    print(f"{given.figures}, {given.picture}", file=sys.stderr)
