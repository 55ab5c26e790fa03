"""`getbit train [RECIPE] ...`: the recipes of `train`, of which `selfplay` is the one that needs no name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from getbit_env.command_line import need
from getbit_env.commands import load

NEEDS = ("torch", "tensorboard", "tqdm", "matplotlib")  # packages that every recipe imports


class Entry(NamedTuple):
    """A recipe.

    Attributes:
        does: what it does, for the list.
        needs: packages that it imports beyond those of every recipe.
    """

    does: str
    needs: tuple[str, ...] = ()


RECIPES = {
    "selfplay": Entry(
        "MaskablePPO of Stable-Baselines3 against past selves and bots; any game", ("stable_baselines3", "sb3_contrib")
    ),
    "rllib_selfplay": Entry(
        "PPO of Ray RLlib in all seats, on one machine or a cluster; any game; needs the extra `ray`", ("ray",)
    ),
    "ppo": Entry("every seat learns from every game; hard to exploit; Get Bit! alone"),
    "exact.mirror_descent": Entry("from all positions at once, a table or a network: magnetic mirror descent"),
    "exact.cfr_plus": Entry("likewise: CFR+"),
    "exact.policy_gradient": Entry("likewise: the exact policy gradient"),
    "exact.exploitability_descent": Entry("likewise: against best responses"),
}
DEFAULT = "selfplay"


def need_for(recipe: str | None) -> None:
    """Refuse to begin without the packages of a recipe; without a name, those of every recipe.

    Raises:
        ValueError: with how to install what is missing.
    """
    need(*NEEDS, *(RECIPES[recipe].needs if recipe in RECIPES else ()))


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line of the recipe that needs no name."""
    parser: argparse.ArgumentParser = load(f"train.{DEFAULT}").make_parser(prog)
    width = max(map(len, RECIPES))
    listed = "\n".join(f"  {prog} {name:{width}}  {does}" for name, (does, _) in RECIPES.items())
    parser.description = f"{parser.description}\n\nrecipes, {DEFAULT} by default, each with its own --help:\n{listed}"
    return parser


def main(arguments: Sequence[str], prog: str) -> None:
    """Run the command.

    Raises:
        ImportError: it needs packages that are not installed.
    """
    named = bool(arguments) and arguments[0] in RECIPES
    try:
        need_for(arguments[0] if named else DEFAULT)
    except ValueError as error:
        raise ImportError(str(error)) from error
    if named:
        load(f"train.{arguments[0]}").main(arguments[1:], f"{prog} {arguments[0]}")
    else:
        load("train.run").command(load(f"train.{DEFAULT}").RECIPE, make_parser(prog), arguments)
