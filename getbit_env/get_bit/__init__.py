"""Get Bit!, the board game, as a multi-agent environment."""

from getbit_env.get_bit.environment import ID, GetBitParallelEnv, env, parallel_env, raw_env
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import IllegalAction, Reward, ThreePlayerEnding, Variant, parse_variant, standard_variant

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
