"""Play a game yourself: on a page in the browser, or with --terminal in this terminal.

You choose for one seat, agents have the others. Hidden cards stay hidden. At any time you can ask what an agent would play in your
place, and begin the same game anew. The page lets you choose everything, and watch agents play; it needs the extra [web].
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from typing import Any

from getbit_env.command_line import add_variant_arguments, command_parser, flags_of, variant_of
from getbit_env.core.spec import Variant
from getbit_env.terminal.faces import face_of
from getbit_env.terminal.loops import Game
from getbit_env.terminal.screen import LeftError, Screen
from getbit_env.terminal.table import YOU, AgentError, Table
from getbit_env.web.command import PAGE_OPTIONS, add_page_arguments, serve

EXAMPLES = {
    "": "in the browser; choose everything on the page",
    "--variant 4p-memory --seat 2 --against counter montecarlo lowest": "the memory game, from the third seat",
    "--agent runs/first": "your own agent is in the lists of the page as well",
    "--watch --variant 7p": "agents play, you look on",
    "--host 0.0.0.0": "for other machines too; the address that is printed holds a token",
    "--terminal": "four players, in this terminal",
    "--terminal --players 2 --against two_players": "two robots each, against a trained agent",
    "--terminal --variant sharks-3p-level2 --ascii": "the second game, without colours and signs",
    "--terminal --start CADB --seed 7": "a game that can be played again: this line, this luck",
}
TERMINAL_OPTIONS = ("seed", "start", "ascii")


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    add_variant_arguments(parser)
    parser.add_argument("--against", nargs="+", metavar="AGENT", help="of the other seats, in turn (default: a bot that counts)")
    parser.add_argument("--seat", type=int, help="your seat, from 0 on (default 0)")
    add_page_arguments(parser.add_argument_group("in the browser"))
    terminal = parser.add_argument_group("in the terminal")
    terminal.add_argument("--terminal", action="store_true", help="play in this terminal")
    add_game_arguments(terminal)
    return parser


def add_game_arguments(parser: argparse._ActionsContainer) -> None:
    """Add what says how a game begins, and how a terminal shows it. An option that is not given is None."""
    parser.add_argument("--seed", type=int, help="the same seed and choices are the same game (default: drawn)")
    parser.add_argument(
        "--start", metavar="LINE", help="the starting line of the first game, front to back, such as CADB (Get Bit!)"
    )
    parser.add_argument("--ascii", action="store_true", default=None, help="no colours, and no signs beyond ASCII")


def main(arguments: Sequence[str], prog: str) -> int:
    """Run the command; returns its exit code."""
    parser = make_parser(prog)
    options = parser.parse_args(arguments)
    foreign = PAGE_OPTIONS if options.terminal else TERMINAL_OPTIONS
    if given := [name for name in foreign if getattr(options, name) is not None]:
        away = "is for the browser, and --terminal is not" if options.terminal else "is for the terminal: say --terminal as well"
        parser.error(f"{flags_of(given)} {away}")
    try:
        variant = variant_of(options)
        check_seats(options, variant)
        if options.terminal:
            play_here(options, variant)
        else:
            serve(options, variant)
    except LeftError:
        print("Bye.")
    except ValueError as error:
        parser.error(str(error))
    except AgentError as error:
        sys.stderr.write(f"{prog}: error: {error}\n")
        return 1
    return 0


def check_seats(options: argparse.Namespace, variant: Variant) -> None:
    """Refuse a seat that there is not, and more agents than seats.

    Raises:
        ValueError: with the reason.
    """
    if options.watch and options.seat is not None:
        raise ValueError("--watch takes no seat, and --seat takes one; give one or the other")
    if options.seat is not None and not 0 <= options.seat < variant.players:
        raise ValueError(f"--seat is 0 to {variant.players - 1} in {variant}, not {options.seat}")
    seated(options.against or [YOU], variant.players - (not options.watch), "--against")


def play_here(options: argparse.Namespace, variant: Variant) -> None:
    """Play in this terminal.

    Raises:
        AgentError: an agent failed.
        LeftError: the person leaves.
        ValueError: an option is wrong.
    """
    names = seated(options.against or [face_of(variant).DEFAULT_OPPONENT], variant.players - 1, "--against")
    names.insert(options.seat or 0, YOU)
    table = Table(variant, names)
    seed, start = beginning(options, variant)
    Game(table, Screen(ascii_only=bool(options.ascii))).play(seed, start)


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
