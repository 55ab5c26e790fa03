"""What the examples of frameworks share: their options, and the match that says what came of a training."""

import argparse
from collections.abc import Sequence
from typing import Any

from getbit_env import as_agent, parse_variant
from getbit_env.match import MatchResult, play_match


def read(doc: str | None, arguments: Sequence[str] | None, total_timesteps: int) -> argparse.Namespace:
    """Read the options of an example from the command line.

    Args:
        doc: the docstring of the example.
        arguments: in place of those of the command line.
        total_timesteps: the default.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--total-timesteps", type=int, default=total_timesteps, help="decisions of learning seats")
    parser.add_argument("--variant", default="4p", help="such as 4p-memory or 3p")
    parser.add_argument("--starts", type=int, default=5040, help="starts of the match, each in all rotations of the seats")
    return parser.parse_args(arguments)


def against_random(policy: Any, options: argparse.Namespace) -> MatchResult:
    """Play one seat by a policy, the others at random, and print the result.

    Args:
        policy: what `getbit_env.as_agent` takes, such as a torch module from observations `[B, D]` to logits `[B, A]`.
        options: from `read`.
    """
    agent = as_agent(policy, variant=options.variant, name="learner")
    others = ["random"] * (parse_variant(options.variant).players - 1)
    result = play_match([agent, *others], options.variant, starts=options.starts)
    print(result)
    return result
