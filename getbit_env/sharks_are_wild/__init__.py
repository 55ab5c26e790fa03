"""Sharks are Wild, the second game of the package: turn by turn, with hidden hands at level two.

Importing it registers it with PettingZoo as `getbit/SharksAreWild-v0`, which importing `getbit_env` does as well.
"""

from getbit_env.core.choices import IllegalAction
from getbit_env.sharks_are_wild.environment import SharksAreWildEnv, env, raw_env
from getbit_env.sharks_are_wild.observations import Layout, Options
from getbit_env.sharks_are_wild.variants import ID, Variant, parse_variant, standard_variant

__all__ = [
    "ID",
    "IllegalAction",
    "Layout",
    "Options",
    "SharksAreWildEnv",
    "Variant",
    "env",
    "parse_variant",
    "raw_env",
    "standard_variant",
]
