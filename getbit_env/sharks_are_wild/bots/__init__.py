"""Bots for Sharks are Wild: agents that need no training, by name."""

from collections.abc import Callable

from getbit_env.core.agent import Agent
from getbit_env.sharks_are_wild.bots.scripted import Careful, Greedy, MixedBot, Random, Soft
from getbit_env.sharks_are_wild.bots.search import MonteCarlo

BOTS: dict[str, Callable[[], Agent]] = {
    "sharks-random": Random,
    "sharks-greedy": Greedy,
    "sharks-careful": Careful,
    "sharks-soft": Soft,
    "sharks-mixture": MixedBot,
    "sharks-montecarlo": MonteCarlo,
}

__all__ = ["BOTS", "Careful", "Greedy", "MixedBot", "MonteCarlo", "Random", "Soft"]
