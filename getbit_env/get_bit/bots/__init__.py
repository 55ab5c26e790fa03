"""Bots: agents that need no training, by name."""

from collections.abc import Callable
from functools import partial

from getbit_env.core.agent import Agent
from getbit_env.get_bit.bots.levels import Adaptive, Level, MixedBot
from getbit_env.get_bit.bots.scripted import Counter, Forgetful, Highest, Lowest, Random
from getbit_env.get_bit.bots.search import LookAhead, MonteCarlo, SoftLookAhead

BOTS: dict[str, Callable[[], Agent]] = {
    "random": Random,
    "highest": Highest,
    "lowest": Lowest,
    "forgetful": Forgetful,
    "counter": Counter,
    "level1": partial(Level, 1),
    "level2": partial(Level, 2),
    "adaptive": Adaptive,
    "mixture": MixedBot,
    "lookahead": LookAhead,
    "soft-lookahead": SoftLookAhead,
    "montecarlo": MonteCarlo,
}

__all__ = [
    "BOTS",
    "Adaptive",
    "MixedBot",
    "Counter",
    "Forgetful",
    "Highest",
    "Level",
    "LookAhead",
    "Lowest",
    "MonteCarlo",
    "Random",
    "SoftLookAhead",
]
