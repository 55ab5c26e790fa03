"""The board game Get Bit! for research on multi-agent learning.

`parallel_env` is the game as a PettingZoo `ParallelEnv`, `env` and `raw_env` the same as AEC environments. Importing the package
registers them with PettingZoo as `getbit/GetBit-v0`, and one seat of the game with Gymnasium under the same name.
"""

import gymnasium
import pettingzoo

from getbit_env.get_bit import ID, GetBitParallelEnv, Variant, env, parallel_env, parse_variant, raw_env, standard_variant
from getbit_env.loading import load_agent
from getbit_env.version import __version__

__all__ = [
    "GetBitParallelEnv",
    "Variant",
    "__version__",
    "env",
    "load_agent",
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
if "getbit/SharksAreWild-v0" not in pettingzoo.aec_registry:  # the second game, which is imported when it is made
    pettingzoo.register("aec", "getbit/SharksAreWild-v0", entry_point="getbit_env.sharks_are_wild.environment:env")
for _id, _entry_point in (
    (ID, "getbit_env.single_agent:GetBitEnv"),
    ("getbit/SharksAreWild-v0", "getbit_env.sharks_are_wild.single_agent:SharksAreWildSeatEnv"),
):
    if _id not in gymnasium.registry:
        gymnasium.register(_id, entry_point=_entry_point)  # one seat of the game, agents in the others
