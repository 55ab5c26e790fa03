"""Agents by name: bots, trained agents, run folders, what was solved, and anything that Python can import."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from getbit_env.core.agent import Agent, name_of
from getbit_env.core.choices import did_you_mean
from getbit_env.core.spec import GameSpec, Layout, Variant
from getbit_env.game_registry import find_game, game_ids, game_named, game_of
from getbit_env.network import POLICY_FILE, load_network

PACKAGE = Path(__file__).parent
# In a wheel the trained agents lie inside the package; in a checkout they stay where they are made.
SHIPPED = PACKAGE / "shipped" if (PACKAGE / "shipped").is_dir() else PACKAGE.parent / "agents"


def shipped_agents() -> list[str]:
    """Names of the trained agents that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{POLICY_FILE}"))


def load_agent(agent: str | os.PathLike[str] | Agent) -> Agent:
    """The agent that a name stands for.

    Args:
        agent: one of

            - the name of a bot (`GameSpec.bots`) or of a trained agent (`shipped_agents`);
            - `equilibrium`, which plays the games that `python -m eval.solve` has solved (`getbit_env.exact.Equilibrium`);
            - the folder of a run, which holds a `policy.safetensors`;
            - a file `*.npz` that holds a best response (`getbit_env.exact.BestResponse`);
            - `module:attribute`, where the attribute is an agent, or makes one when it is called without arguments;
            - `recall:` and one of these, which remembers all rounds of memory games, and so plays them as it plays face up
              (`getbit_env.get_bit.recall.PerfectRecall`);
            - an agent, which is returned as it is.

    Returns:
        An agent, not yet reset.

    Raises:
        ValueError: nothing is called so, or it is no agent, or a file that can't be used; the message says what was looked for.
        TypeError: it is neither a name nor an agent.
    """
    if isinstance(agent, Agent) and not isinstance(agent, type):
        return agent
    if not isinstance(agent, str | os.PathLike):
        raise TypeError(f"an agent is given by its name, or as an object with `reset` and `act`, not as {_described(agent)}")
    return _load_named(os.fspath(agent))


def load_opponent(agent: str | os.PathLike[str] | Agent, layout: Layout) -> Agent:
    """`load_agent`, and the agent can play games whose observations are laid out so.

    Raises:
        ValueError: it can't.
    """
    loaded = load_agent(agent)
    check_plays(loaded, layout, agent if isinstance(agent, str) else None)
    return loaded


def check_plays(agent: Agent, layout: Layout, name: str | None = None) -> None:
    """Refuse an agent that can't play games whose observations are laid out so.

    Raises:
        ValueError: with the reason.
    """
    name = name or name_of(agent)
    game = game_of(layout.variant)
    its_game = getattr(agent, "game", game.id)
    if its_game != game.id:
        raise ValueError(f"agent {name!r} plays {find_game(its_game)}, but {layout.variant} is a variant of {game}")
    check = getattr(agent, "check_layout", None)
    if check is not None:
        check(layout)


def check_agents(agents: Mapping[str, Agent], variant: Variant) -> None:
    """Refuse agents that can't play a variant, before anything is played: each is asked with the observation that it wants.

    Raises:
        ValueError: with the name of the first one, and the reason.
    """
    game = game_of(variant)
    for name, agent in agents.items():
        options = getattr(agent, "options", None)
        fits = options is None or isinstance(options, game.options)
        check_plays(agent, game.make_layout(variant, options if fits else None), name)
        if not fits:
            raise ValueError(f"agent {name!r} wants to see {options}, which {game} does not have")
        secret = [option for option in game.secret_options if getattr(options, option, False)]
        if secret:
            raise ValueError(f"agent {name!r} wants to see {', '.join(secret)}, which the rules of {variant} hide from players")


def _load_named(name: str) -> Agent:
    game = game_named(name)
    before, colon, rest = name.partition(":")
    wrappers = {key: made for one in map(find_game, _imported(game)) for key, made in one.agent_wrappers.items()}
    if colon and before in wrappers:
        wrapped: Agent = _attribute(wrappers[before])(_load_named(rest))
        return wrapped
    if name in game.bots:
        return game.bots[name]()
    if name in shipped_agents():
        return load_network(SHIPPED / name / POLICY_FILE, name)
    if name in game.named_agents:
        made: Agent = _attribute(game.named_agents[name])()
        return made
    path = Path(name)
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        is_folder = False
    if is_folder:
        if not (path / POLICY_FILE).exists():
            raise ValueError(f"agent {name!r}: the folder holds no {POLICY_FILE}; a run writes it at its first evaluation")
        return load_network(path / POLICY_FILE, path.resolve().name)
    if path.suffix in game.agent_files:
        try:
            loaded: Agent = _attribute(game.agent_files[path.suffix])(path)
        except FileNotFoundError as error:
            raise ValueError(f"agent {name!r}: there is no such file; `python -m eval.exploitability --save` writes one") from error
        return loaded
    if colon:
        return _import_agent(name, before, rest)
    known = [*game.bots, *shipped_agents(), *game.named_agents]
    raise ValueError(
        f"no agent {name[:80]!r}{did_you_mean(name, known)}; there are {', '.join(known)}, folders of runs, "
        f"{', '.join(f'files *{suffix}' for suffix in game.agent_files)}{', ' * bool(game.agent_files)}"
        f"module:attribute, and {', '.join(f'{key}:' for key in wrappers)} before one of these"
    )


def _imported(game: GameSpec) -> list[str]:
    """The ids of the game that a name belongs to, and of the first one, whose prefix is empty."""
    return list(dict.fromkeys([game.id, game_ids()[0]]))


def _attribute(entry_point: str) -> Any:
    module, _, attributes = entry_point.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found


def _import_agent(name: str, module: str, attribute: str) -> Agent:
    try:
        found: Any = importlib.import_module(module)
    except (ImportError, ValueError, TypeError) as error:  # ValueError and TypeError: a name that no module can have
        raise ValueError(f"agent {name!r}: module {module!r} can't be imported: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"agent {name!r}: {found!r} has no attribute {part!r}")
        found = getattr(found, part)
    agent = found if isinstance(found, Agent) and not isinstance(found, type) else found() if callable(found) else found
    if not isinstance(agent, Agent):
        raise ValueError(f"agent {name!r} gives {agent!r}, which has no `reset` and `act` (see getbit_env.core.agent.Agent)")
    return agent


def _described(value: Any) -> str:
    """What was given in place of an agent, with what may be meant."""
    if isinstance(value, type):
        return f"the class {value.__name__}: call it"
    if hasattr(value, "policy") and hasattr(value, "predict"):
        return "a model of Stable-Baselines3: make an agent of it with getbit_env.sb3.network_of"
    if callable(value):
        return f"the function {getattr(value, '__name__', value)!r}: `module:function` names one that makes an agent"
    return repr(value)
