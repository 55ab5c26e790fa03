"""List the agents that have names: bots, trained agents, and what was solved.

An agent can also be the folder of a run, a best response in a file *.npz, or module:attribute for one of your own; recall: before a
name gives it perfect recall in memory games.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Sequence
from typing import NamedTuple

from getbit_env.agent_registry import check_agents, load_agent, shipped_agents
from getbit_env.command_line import command_parser
from getbit_env.commands.tables import in_columns
from getbit_env.game_registry import find_game, find_variant, game_ids, game_of

EXAMPLES = {"": "all of them", "--variant 4p-memory": "those that can play a variant", "--json": "as JSON"}


class Known(NamedTuple):
    """An agent that has a name."""

    name: str
    kind: str
    game: str
    does: str


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    parser.add_argument("--variant", metavar="NAME", help="only agents that can play it")
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of a table")
    return parser


def known_agents() -> list[Known]:
    """All agents that have names."""
    found = []
    for game in map(find_game, game_ids()):
        found += [Known(name, "bot", str(game), _first_sentence(make)) for name, make in game.bots.items()]
        found += [Known(name, "computed", str(game), _first_sentence(type(load_agent(name)))) for name in game.named_agents]
    for name in shipped_agents():
        agent = load_agent(name)
        variant = agent.variant  # type: ignore[attr-defined]  # a trained agent has one
        found.append(Known(name, "trained", str(game_of(variant)), f"trained on {variant}"))
    return found


def can_play(name: str, variant: str) -> bool:
    """Whether an agent can play a variant."""
    try:
        check_agents({name: load_agent(name)}, find_variant(variant))
    except ValueError:
        return False
    return True


def main(arguments: Sequence[str], prog: str) -> int:
    """Run the command; returns its exit code."""
    options = make_parser(prog).parse_args(arguments)
    try:
        if options.variant is not None:
            find_variant(options.variant)
    except ValueError as error:
        sys.stderr.write(f"{prog}: error: --variant: {error}\n")
        return 2
    found = [one for one in known_agents() if options.variant is None or can_play(one.name, options.variant)]
    if options.json:
        print(json.dumps([one._asdict() for one in found]))
    else:
        print(in_columns([Known._fields, *found]))
    return 0


def _first_sentence(of: object) -> str:
    """The first sentence of a docstring, without its full stop."""
    text = " ".join((inspect.getdoc(of) or "").split("\n\n")[0].split())
    return text.partition(". ")[0].removesuffix(".")
