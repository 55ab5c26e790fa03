"""The board game Get Bit! for research on multi-agent learning.

`parallel_env` is the game as a PettingZoo `ParallelEnv`, `env` and `raw_env` the same as AEC environments. Importing the package
registers them with PettingZoo as `getbit/GetBit-v0`.
"""

import pettingzoo

from getbit_env.get_bit import ID, GetBitParallelEnv, Variant, env, parallel_env, parse_variant, raw_env, standard_variant
from getbit_env.version import __version__

__all__ = [
    "GetBitParallelEnv",
    "Variant",
    "__version__",
    "env",
    "parallel_env",
    "parse_variant",
    "raw_env",
    "standard_variant",
]

for _kind, _registry, _maker in (
    ("parallel", pettingzoo.parallel_registry, "parallel_env"),
    ("aec", pettingzoo.aec_registry, "env"),
):
    if ID not in _registry:
        pettingzoo.register(_kind, ID, entry_point=f"getbit_env.get_bit.environment:{_maker}")
