"""Watch agents play in this terminal, everything face up.

In a terminal a round follows the other after --delay seconds, or with --step when you press Enter; into a file they are written at
once. The same seed is the same game.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from getbit_env.command_line import add_variant_arguments, at_least_one, command_parser, variant_of
from getbit_env.commands.play import add_game_arguments, beginning, seated
from getbit_env.terminal.loops import Game, every, for_a_key
from getbit_env.terminal.screen import LeftError, Screen
from getbit_env.terminal.table import AgentError, Table

EXAMPLES = {
    "counter random highest lowest": "four bots, a round a second",
    "two_players counter --players 2 --step": "two robots each, a round whenever you press Enter",
    "counter --variant 7p --delay 0.2 --seed 3": "seven of a kind, fast; always the same game",
    "sharks-greedy sharks-careful --variant sharks-2p-level2 --games 3 --delay 0": "three games of the second game, at once",
}


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="of the seats, in turn")
    add_variant_arguments(parser)
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--delay", type=seconds, default=1.0, help="seconds between rounds (default %(default)s)")
    pace.add_argument("--step", action="store_true", help="wait for Enter between rounds")
    parser.add_argument("--games", type=at_least_one, default=1, help="one after the other (default %(default)s)")
    add_game_arguments(parser)
    return parser


def seconds(text: str) -> float:
    """Read a number of seconds, as a `type` of argparse."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to 3600")
    return number


def main(arguments: Sequence[str], prog: str) -> int:
    """Run the command; returns its exit code."""
    parser = make_parser(prog)
    options = parser.parse_args(arguments)
    screen = Screen(ascii_only=bool(options.ascii))
    try:
        variant = variant_of(options)
        table = Table(variant, seated(options.agents, variant.players, "AGENT"))
        seed, start = beginning(options, variant)
        wait = for_a_key(screen) if options.step else every(options.delay if screen.is_terminal else 0)
        fresh = screen.is_terminal and not options.step
        Game(table, screen).watch(seed, start, wait, games=options.games, fresh=fresh)
    except LeftError:
        pass
    except ValueError as error:
        parser.error(str(error))
    except AgentError as error:
        sys.stderr.write(f"{prog}: error: {error}\n")
        return 1
    return 0
