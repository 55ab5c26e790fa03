"""Bots: agents that need no training, by name."""

from collections.abc import Callable

from getbit_env.agent import Agent
from getbit_env.bots.scripted import Counter, Highest, Lowest, Random

BOTS: dict[str, Callable[[], Agent]] = {"random": Random, "highest": Highest, "lowest": Lowest, "counter": Counter}

__all__ = ["BOTS", "Counter", "Highest", "Lowest", "Random"]
