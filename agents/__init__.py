"""The agents of the project: trained ones, each in a folder here with its card, the bots of the package, and what was solved.

`AGENTS` says of every name that `getbit_env.load_agent` knows what it is.
"""

from getbit_env.agent_registry import load_agent, shipped_agents
from getbit_env.game_registry import find_game, game_ids

GAMES = [find_game(game_id) for game_id in game_ids()]

AGENTS: dict[str, str] = {
    **{name: f"bot: {(bot.__doc__ or '').splitlines()[0]}" for game in GAMES for name, bot in game.bots.items()},
    **{name: f"trained: agents/{name}/card.md" for name in shipped_agents()},
    **{name: "solved: docs/exact.md; `getbit solve` first" for game in GAMES for name in game.named_agents},
}

__all__ = ["AGENTS", "load_agent"]
