"""Agents by name: bots, trained agents, run folders, what was solved, and anything that Python can import."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

from getbit_env.agent import Agent
from getbit_env.bots import BOTS
from getbit_env.games import GET_BIT, package_of
from getbit_env.get_bit.observations import Options
from getbit_env.network import FILE, load_network
from getbit_env.recall import PerfectRecall

PACKAGE = Path(__file__).parent
EQUILIBRIUM = "equilibrium"
RECALL = "recall:"
# In a wheel the trained agents lie inside the package; in a checkout they stay where they are made.
SHIPPED = PACKAGE / "shipped" if (PACKAGE / "shipped").is_dir() else PACKAGE.parent / "agents"


def shipped_agents() -> list[str]:
    """Names of the trained agents that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{FILE}"))


def bots_of(name: str) -> Mapping[str, Callable[[], Agent]]:
    """The bots of the game to which the name of a variant or of a bot belongs."""
    package = package_of(name)
    found: Mapping[str, Callable[[], Agent]] = BOTS if package == GET_BIT else importlib.import_module(f"{package}.bots").BOTS
    return found


def load_agent(spec: str) -> Agent:
    """The agent that a name stands for.

    Args:
        spec: the name of a bot (`getbit_env.bots.BOTS`; of another game, `bots_of`) or of a trained agent (`shipped_agents`);
            `equilibrium`, which plays the games that `python -m eval.solve` has solved (`getbit_env.exact.Equilibrium`);
            the folder of a run, which holds a `policy.safetensors`; a file `*.npz` that holds a best response
            (`getbit_env.exact.BestResponse`); `module:attribute`, where the attribute is an agent or something that makes one when
            it is called without arguments; or `recall:` and one of these, which remembers all rounds of memory games, and so plays
            them as it plays face up (`getbit_env.recall.PerfectRecall`).

    Returns:
        An agent, not yet reset.

    Raises:
        ValueError: nothing is called so, or it is no agent, or a file that can't be used; the message says what was looked for.
    """
    if spec.startswith(RECALL):
        agent = load_agent(spec.removeprefix(RECALL))
        if not isinstance(getattr(agent, "options", None) or Options(), Options):
            raise ValueError(f"agent {spec!r}: it plays another game, and only Get Bit! has a memory game (G7.3)")
        return agent if isinstance(agent, PerfectRecall) else PerfectRecall(agent)
    bots = bots_of(spec)
    if spec in bots:
        return bots[spec]()
    if spec in shipped_agents():
        return load_network(SHIPPED / spec / FILE, spec)
    if spec == EQUILIBRIUM:
        from getbit_env.exact import Equilibrium  # here, because who plays no solved game never loads the solver

        return Equilibrium()
    path = Path(spec)
    if path.is_dir():
        if not (path / FILE).exists():
            raise ValueError(f"agent {spec!r}: the folder holds no {FILE}; a run writes it at its first evaluation")
        return load_network(path / FILE, path.name)
    if path.suffix == ".npz":
        from getbit_env.exact import BestResponse

        try:
            return BestResponse.load(path)
        except FileNotFoundError as error:
            raise ValueError(f"agent {spec!r}: there is no such file; `python -m eval.exploitability --save` writes one") from error
    module, colon, attribute = spec.partition(":")
    if colon:
        return _import_agent(spec, module, attribute)
    known = ", ".join([*bots, *shipped_agents(), EQUILIBRIUM])
    raise ValueError(
        f"no agent {spec!r}: it is none of {known}, no folder, no file .npz, not module:attribute, nor {RECALL} before one of these"
    )


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
