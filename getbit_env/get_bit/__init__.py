"""Get Bit!, the board game, as a multi-agent environment."""

from getbit_env.core.choices import IllegalAction
from getbit_env.get_bit.environment import GetBitParallelEnv, env, parallel_env, raw_env
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import ID, Reward, ThreePlayerEnding, Variant, parse_variant, standard_variant

__all__ = [
    "ID",
    "GetBitParallelEnv",
    "IllegalAction",
    "Layout",
    "Options",
    "Reward",
    "ThreePlayerEnding",
    "Variant",
    "env",
    "parallel_env",
    "parse_variant",
    "raw_env",
    "standard_variant",
]
