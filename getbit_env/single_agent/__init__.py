"""One seat of a game is the learner's, agents have the others: a batch of games, and the Gymnasium environment."""

from getbit_env.single_agent.batch import Opponents, SingleAgentBatch, SingleAgentStep
from getbit_env.single_agent.environment import SingleAgentEnv

__all__ = ["Opponents", "SingleAgentBatch", "SingleAgentEnv", "SingleAgentStep"]
