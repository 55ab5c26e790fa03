"""Bots: agents that need no training, by name."""

from collections.abc import Callable

from getbit_env.core.agent import Agent
from getbit_env.get_bit.bots.scripted import Counter, Forgetful, Highest, Lowest, Random
from getbit_env.get_bit.bots.search import LookAhead, MonteCarlo

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
