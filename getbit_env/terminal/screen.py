"""What a terminal can show: colours and signs where it can, plain ASCII where it can't."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from typing import TextIO

WIDTH = 78  # columns of prose, with room for the space behind a question
SIGNS = {"●": "#", "○": ".", "▲": "^", "→": "->", "…": "..."}
# Colours of the players in the line, those of the pictures as near as a terminal of 256 colours has them.
PLAYERS = (214, 32, 36, 166, 175, 227, 74)
STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}


class LeftError(Exception):
    """The person left: at the end of the input, or by a word."""


class Screen:
    """Where a game is shown, and where a person answers.

    Attributes:
        ascii: only ASCII is written.
        color: colours are written.
        is_terminal: what is written goes to a terminal, which shows it as it comes.
    """

    is_terminal: bool
    ascii: bool
    color: bool

    def __init__(
        self,
        out: TextIO | None = None,
        read: Callable[[], str] | None = None,
        *,
        ascii_only: bool = False,
    ) -> None:
        """Look at what the terminal can do.

        Args:
            out: where the game is shown; standard output by default.
            read: gives the next line of the person, empty at the end of the input; by default from standard input.
            ascii_only: write ASCII and no colours, whatever it can do.
        """
        self._out = sys.stdout if out is None else out
        self._read = sys.stdin.readline if read is None else read
        self.is_terminal = self._out.isatty()
        self.ascii = ascii_only or not _can_show("".join(SIGNS), getattr(self._out, "encoding", None))
        plain = ascii_only or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.color = self.is_terminal and not plain
        if self.color and os.name == "nt":
            os.system("")  # which makes consoles of Windows understand colours

    def show(self, text: str = "") -> None:
        """Write lines as they are."""
        self._write(text + "\n")

    def tell(self, text: str, style: str = "") -> None:
        """Write lines of prose, in a style, folded to `WIDTH` columns."""
        folded = _folded(self._as_it_can(text))
        self._write((self.painted(folded, style) if style else folded) + "\n")

    def ask(self, question: str) -> str:
        """The person's answer, without spaces around it.

        Raises:
            LeftError: the input is at its end.
        """
        self._write(_folded(self._as_it_can(question)) + " ")
        answer = self._read()
        if not answer:
            self._write("\n")
            raise LeftError
        return answer.strip()

    def clear(self) -> None:
        """Begin at the top of an empty screen, on a terminal that can."""
        if self.color:
            self._write("\x1b[H\x1b[2J")

    def painted(self, text: str, style: str) -> str:
        """A text in a style, one of `STYLES`."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.color and text else text

    def of_player(self, text: str, player: int) -> str:
        """A text in the colour of a player."""
        return f"\x1b[38;5;{PLAYERS[player]}m{text}\x1b[0m" if self.color and text else text

    def _as_it_can(self, text: str) -> str:
        """A text with the signs that the screen can show."""
        if self.ascii:
            for sign, plain in SIGNS.items():
                text = text.replace(sign, plain)
            text = text.encode("ascii", "replace").decode("ascii")
        return text

    def _write(self, text: str) -> None:
        self._out.write(self._as_it_can(text))
        self._out.flush()


def _folded(text: str) -> str:
    """Lines of at most `WIDTH` columns; what is carried over is indented."""
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) if line else "" for line in text.split("\n")
    )


def _can_show(signs: str, encoding: str | None) -> bool:
    try:
        signs.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
