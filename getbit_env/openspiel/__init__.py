"""Get Bit! as a game of OpenSpiel, its bots at our tables, and our agents at its own. Needs the extra `getbit-env[openspiel]`.

Importing this module registers the game with OpenSpiel as `python_getbit`.
"""

try:
    import pyspiel  # noqa: F401 - only to say what is missing
except ImportError as _missing:
    _message = 'getbit_env.openspiel needs OpenSpiel: pip install "getbit-env[openspiel]"'
    raise ImportError(_message, name=_missing.name) from _missing

from getbit_env.openspiel.agents import AgentBot, AgentPolicy, OpenSpielAgent
from getbit_env.openspiel.game import NAME, GetBitGame, GetBitState, game_of_variant

__all__ = ["NAME", "AgentBot", "AgentPolicy", "GetBitGame", "GetBitState", "OpenSpielAgent", "game_of_variant"]
