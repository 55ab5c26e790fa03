"""The board game Get Bit! for research on multi-agent learning.

`parallel_env` is the game as a PettingZoo `ParallelEnv`, `env` and `raw_env` the same as AEC environments. Importing the package
registers them with PettingZoo (from its version 1.27 on, which has a registry) as `getbit/GetBit-v0`, one seat of the game with
Gymnasium under the same name, and all seats as `getbit/GetBitAllSeats-v0`, for `gymnasium.make_vec`.
"""

import gymnasium
import pettingzoo

from getbit_env.agent_registry import load_agent
from getbit_env.core.agent import Agent
from getbit_env.get_bit import ID, GetBitParallelEnv, Variant, env, parallel_env, parse_variant, raw_env, standard_variant
from getbit_env.policies import as_agent
from getbit_env.version import __version__

__all__ = [
    "Agent",
    "GetBitParallelEnv",
    "Variant",
    "__version__",
    "as_agent",
    "env",
    "load_agent",
    "parallel_env",
    "parse_variant",
    "raw_env",
    "standard_variant",
]

_SHARKS_ARE_WILD = "getbit/SharksAreWild-v0"  # the second game, which is imported when it is made
if hasattr(pettingzoo, "register"):  # since PettingZoo 1.27
    for _kind, _registry, _id, _entry_point in (
        ("parallel", pettingzoo.parallel_registry, ID, "getbit_env.get_bit.environment:parallel_env"),
        ("aec", pettingzoo.aec_registry, ID, "getbit_env.get_bit.environment:env"),
        ("aec", pettingzoo.aec_registry, _SHARKS_ARE_WILD, "getbit_env.sharks_are_wild.environment:env"),
    ):
        if _id not in _registry:
            pettingzoo.register(_kind, _id, entry_point=_entry_point)
for _id in (ID, _SHARKS_ARE_WILD):
    if _id not in gymnasium.registry:  # one seat of the game, agents in the others
        gymnasium.register(
            _id,
            entry_point="getbit_env.single_agent:SingleAgentEnv",
            vector_entry_point="getbit_env.vector_envs:SingleAgentVectorEnv",
            kwargs={"game": _id},
        )
    _all_seats = _id.replace("-v", "AllSeats-v")
    if _all_seats not in gymnasium.registry:  # every seat learns
        gymnasium.register(_all_seats, vector_entry_point="getbit_env.vector_envs:AllSeatsVectorEnv", kwargs={"game": _id})
