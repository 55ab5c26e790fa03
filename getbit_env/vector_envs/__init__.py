"""Many games at a time for Gymnasium: one seat of each learns (`SingleAgentVectorEnv`), or all do (`AllSeatsVectorEnv`)."""

from getbit_env.vector_envs.all_seats import AllSeatsVectorEnv
from getbit_env.vector_envs.single_agent import SingleAgentVectorEnv

__all__ = ["AllSeatsVectorEnv", "SingleAgentVectorEnv"]
