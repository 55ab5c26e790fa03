"""List the variants of the games. Names given describe those alone, also custom small games such as 3p-1r-4c-1l."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from getbit_env.command_line import command_parser
from getbit_env.commands.tables import in_columns
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit.variants import SET_UP

EXAMPLES = {
    "": "the variants of the rulebooks",
    "4p-half-memory 3p-1r-4c-1l": "what two names stand for",
    "2p --json": "as JSON",
}
LISTED = (
    *(f"{players}p{option}" for players in SET_UP for option in ("", "-memory", "-half", "-half-memory")),
    "4p-pick1",
    "3p-literal",
    *(f"sharks-{players}p-level{level}" for level in (1, 2) for players in (2, 3, 4)),
)
HEAD = ("name", "game", "players", "actions", "entries of an observation")


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of variants (default: those of the rulebooks)")
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of a table")
    return parser


def about(variant: Any) -> dict[str, Any]:
    """What there is to say of a variant: its name and game, sizes, and every parameter."""
    game = game_of(variant)
    sizes = (variant.name, str(game), variant.players, variant.actions, game.make_layout(variant, game.options()).size)
    return dict(zip(HEAD, sizes, strict=True)) | {name: value for name, value in vars(variant).items() if name != "players"}


def main(arguments: Sequence[str], prog: str) -> int:
    """Run the command; returns its exit code."""
    options = make_parser(prog).parse_args(arguments)
    try:
        found = [about(find_variant(name)) for name in options.names or LISTED]
    except ValueError as error:
        sys.stderr.write(f"{prog}: error: {error}\n")
        return 2
    if options.json:
        print(json.dumps(found))
    elif options.names:
        print("\n\n".join("\n".join(f"{name:26}{value}" for name, value in one.items()) for one in found))
    else:
        print(in_columns([HEAD, *(tuple(str(one[name]) for name in HEAD) for one in found)]))
        print(f"\n-pick1 goes with every game of Get Bit!. Custom games have names too: {prog} --help")
    return 0
