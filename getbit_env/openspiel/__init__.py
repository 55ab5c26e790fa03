"""Get Bit! as a game of OpenSpiel, its bots at our tables, and our agents at its own. Needs the extra `getbit-env[openspiel]`.

Importing this module registers the game with OpenSpiel as `python_getbit`.
"""

try:
    import pyspiel  # noqa: F401 - only to say what is missing
except ImportError as error:
    raise ImportError('getbit_env.openspiel needs OpenSpiel: pip install "getbit-env[openspiel]"', name=error.name) from error

from getbit_env.openspiel.agents import AgentBot, AgentPolicy, OpenSpielAgent
from getbit_env.openspiel.game import NAME, GetBitGame, GetBitState, game_of_variant

__all__ = ["NAME", "AgentBot", "AgentPolicy", "GetBitGame", "GetBitState", "OpenSpielAgent", "game_of_variant"]
