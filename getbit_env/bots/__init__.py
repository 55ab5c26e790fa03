"""Bots: agents that need no training, by name."""

from collections.abc import Callable

from getbit_env.agent import Agent
from getbit_env.bots.scripted import Counter, Forgetful, Highest, Lowest, Random
from getbit_env.bots.search import LookAhead, MonteCarlo

BOTS: dict[str, Callable[[], Agent]] = {
    "random": Random,
    "highest": Highest,
    "lowest": Lowest,
    "forgetful": Forgetful,
    "counter": Counter,
    "lookahead": LookAhead,
    "montecarlo": MonteCarlo,
}

__all__ = ["BOTS", "Counter", "Forgetful", "Highest", "LookAhead", "Lowest", "MonteCarlo", "Random"]
