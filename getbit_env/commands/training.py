"""`getbit train [RECIPE] ...`: the recipes of `train`, of which `selfplay` is the one that needs no name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from getbit_env.commands import load

RECIPES = {
    "selfplay": "MaskablePPO of Stable-Baselines3 against past selves and bots; any game",
    "rllib_selfplay": "PPO of Ray RLlib in all seats, on one machine or a cluster; any game; needs the extra `ray`",
    "ppo": "every seat learns from every game; hard to exploit; Get Bit! alone",
    "exact.mirror_descent": "from all positions at once, a table or a network: magnetic mirror descent",
    "exact.cfr_plus": "likewise: CFR+",
    "exact.policy_gradient": "likewise: the exact policy gradient",
    "exact.exploitability_descent": "likewise: against best responses",
}
DEFAULT = "selfplay"


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line of the recipe that needs no name."""
    parser: argparse.ArgumentParser = load(f"train.{DEFAULT}").make_parser(prog)
    width = max(map(len, RECIPES))
    listed = "\n".join(f"  {prog} {name:{width}}  {does}" for name, does in RECIPES.items())
    parser.description = f"{parser.description}\n\nrecipes, {DEFAULT} by default, each with its own --help:\n{listed}"
    return parser


def main(arguments: Sequence[str], prog: str) -> None:
    """Run the command."""
    if arguments and arguments[0] in RECIPES:
        load(f"train.{arguments[0]}").main(arguments[1:], f"{prog} {arguments[0]}")
    else:
        load("train.run").command(load(f"train.{DEFAULT}").RECIPE, make_parser(prog), arguments)
