"""Play a game yourself: in the browser, or with --terminal in this terminal.

You choose for one seat, agents have the others. Hidden cards stay hidden. At any time you can ask what an agent would play in your
place, and begin the same game anew.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from getbit_env.command_line import add_variant_arguments, command_parser, variant_of
from getbit_env.terminal.faces import face_of
from getbit_env.terminal.loops import Game
from getbit_env.terminal.screen import LeftError, Screen
from getbit_env.terminal.table import YOU, AgentError, Table

EXAMPLES = {
    "--terminal": "four players, in this terminal",
    "--terminal --players 2 --against two_players": "two robots each, against a trained agent",
    "--terminal --variant 4p-memory --seat 2 --against counter random lowest": "the memory game, from the third seat",
    "--terminal --variant sharks-3p-level2 --ascii": "the second game, without colours and signs",
    "--terminal --start CADB --seed 7": "a game that can be played again: this line, this luck",
}


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    add_variant_arguments(parser)
    parser.add_argument("--terminal", action="store_true", help="in this terminal, not in the browser")
    parser.add_argument("--against", nargs="+", metavar="AGENT", help="of the other seats, in turn (default: a bot that counts)")
    parser.add_argument("--seat", type=int, default=0, help="your seat, from 0 on (default %(default)s)")
    add_game_arguments(parser)
    return parser


def add_game_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says how a game begins, and how it is shown."""
    parser.add_argument("--seed", type=int, help="the same seed and choices are the same game (default: drawn)")
    parser.add_argument(
        "--start", metavar="LINE", help="the starting line of the first game, front to back, such as CADB (Get Bit!)"
    )
    parser.add_argument("--ascii", action="store_true", help="no colours, and no signs beyond ASCII")


def main(arguments: Sequence[str], prog: str) -> int:
    """Run the command; returns its exit code."""
    parser = make_parser(prog)
    if "--terminal" not in arguments and not {"-h", "--help"} & {*arguments}:
        if find_spec("getbit_env.web") is None:
            parser.error("the page for the browser is not in this installation; --terminal plays here")
        code: int = import_module("getbit_env.web.command").main(arguments)
        return code
    options = parser.parse_args(arguments)
    try:
        variant = variant_of(options)
        if not 0 <= options.seat < variant.players:
            raise ValueError(f"--seat is 0 to {variant.players - 1} in {variant}, not {options.seat}")
        others = options.against or [face_of(variant).DEFAULT_OPPONENT]
        names = seated(others, variant.players - 1, "--against")
        names.insert(options.seat, YOU)
        table = Table(variant, names)
        seed, start = beginning(options, variant)
        Game(table, Screen(ascii_only=options.ascii)).play(seed, start)
    except LeftError:
        print("Bye.")
    except ValueError as error:
        parser.error(str(error))
    except AgentError as error:
        sys.stderr.write(f"{prog}: error: {error}\n")
        return 1
    return 0


def seated(names: Sequence[str], seats: int, argument: str) -> list[str]:
    """Agents for so many seats, in turn.

    Raises:
        ValueError: there are more agents than seats.
    """
    if len(names) > seats:
        raise ValueError(f"{argument} names {len(names)} agents for {seats} seat{'s' * (seats > 1)}")
    return [names[seat % len(names)] for seat in range(seats)]


def beginning(options: argparse.Namespace, variant: Any) -> tuple[int, dict[str, Any] | None]:
    """Seed and start of the first game.

    Raises:
        ValueError: the seed is negative, or the start is none of the game.
    """
    if options.seed is not None and options.seed < 0:
        raise ValueError(f"--seed is a whole number from 0 on, not {options.seed}")
    try:
        start = None if options.start is None else face_of(variant).start_of(variant, options.start)
    except ValueError as error:
        raise ValueError(f"--start: {error}") from error
    return secrets.randbelow(10**6) if options.seed is None else options.seed, start
