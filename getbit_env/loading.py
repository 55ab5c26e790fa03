"""Agents by name: bots, shipped agents, run folders, and anything that Python can import."""

from __future__ import annotations

import importlib
from pathlib import Path

from getbit_env.agent import Agent
from getbit_env.bots import BOTS


def load_agent(spec: str) -> Agent:
    """The agent that a name stands for.

    Args:
        spec: the name of a bot (`getbit_env.bots.BOTS`), or `module:attribute`, where the attribute is an agent or something
            that makes one when it is called without arguments.

    Returns:
        An agent, not yet reset.

    Raises:
        ValueError: nothing is called so, or it is no agent; the message says what was looked for.
    """
    if spec in BOTS:
        return BOTS[spec]()
    module, colon, attribute = spec.partition(":")
    if colon:
        return _import_agent(spec, module, attribute)
    if Path(spec).exists():
        raise ValueError(f"agent {spec!r}: folders can't be loaded by this version")
    raise ValueError(f"no agent {spec!r}: it is none of the bots {', '.join(BOTS)}, no folder, and not module:attribute")


def _import_agent(spec: str, module: str, attribute: str) -> Agent:
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"agent {spec!r}: module {module!r} can't be imported: {error}") from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise ValueError(f"agent {spec!r}: {found!r} has no attribute {name!r}")
        found = getattr(found, name)
    agent = found if isinstance(found, Agent) and not isinstance(found, type) else found() if callable(found) else found
    if not isinstance(agent, Agent):
        raise ValueError(f"agent {spec!r} gives {agent!r}, which has no `reset` and `act` (see getbit_env.agent.Agent)")
    return agent
