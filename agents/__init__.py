"""The agents of the project: trained ones, each in a folder here with its card, the bots of the package, and what was solved.

`AGENTS` says of every name that `getbit_env.load_agent` knows what it is.
"""

from getbit_env.bots import BOTS
from getbit_env.games import OTHERS
from getbit_env.loading import EQUILIBRIUM, bots_of, load_agent, shipped_agents

AGENTS: dict[str, str] = {
    **{name: f"bot: {(maker.__doc__ or '').splitlines()[0]}" for name, maker in BOTS.items()},
    **{name: f"bot: {(bot.__doc__ or '').splitlines()[0]}" for game in OTHERS for name, bot in bots_of(game).items()},
    **{name: f"trained: agents/{name}/card.md" for name in shipped_agents()},
    EQUILIBRIUM: "solved: docs/exact.md; `python -m eval.solve` first",
}

__all__ = ["AGENTS", "load_agent"]
