"""The agents that people can choose in the browser: by name, made on the server, one of its own for every game."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from getbit_env.agent_registry import check_agents, load_agent, shipped_agents
from getbit_env.core.agent import Agent
from getbit_env.core.spec import GameSpec, Variant
from getbit_env.game_registry import find_game, game_ids, game_of
from getbit_env.network import TrainedPolicy

MOST_VARIANTS = 64  # whose lists of agents are kept


class Roster:
    """Which agents can play which variant, and a new one for every game.

    A client names an agent of the list; nothing else that it says leads to a file or to code.

    Attributes:
        own: names of agents beyond those of the registry, as `load_agent` reads them; they come from the command line alone.
    """

    own: list[str]

    def __init__(self, own: Sequence[str] = ()) -> None:
        """Make a roster.

        Raises:
            ValueError: an agent can't be loaded, or plays no variant of any game by default.
        """
        self.own = list(dict.fromkeys(own))
        self._lock = threading.RLock()
        self._models: dict[str, Agent] = {}  # what copies are made of
        self._names: OrderedDict[str, list[str]] = OrderedDict()
        for name in self.own:
            self._models[name] = load_agent(name)

    def names(self, variant: Variant) -> list[str]:
        """The agents that can play a variant: bots first, from the simplest on, then trained ones, then what was solved."""
        with self._lock:
            if variant.name in self._names:
                self._names.move_to_end(variant.name)
                return self._names[variant.name]
            game = game_of(variant)
            names = []
            for name in dict.fromkeys([*self.own, *game.bots, *shipped_agents(), *game.named_agents]):
                wrapped = [f"{wrapper}:{name}" for wrapper in game.agent_wrappers]
                names += [next((one for one in (name, *wrapped) if self._plays(one, variant)), "")]
            self._names[variant.name] = [name for name in names if name]
            while len(self._names) > MOST_VARIANTS:
                self._names.popitem(last=False)
            return self._names[variant.name]

    def _plays(self, name: str, variant: Variant) -> bool:
        try:
            check_agents({name: self._make(name, game_of(variant))}, variant)
        except (ValueError, TypeError):
            return False
        return True

    def make(self, name: str, variant: Variant) -> Agent:
        """An agent for one game.

        Raises:
            ValueError: there is no such agent that plays the variant.
        """
        if name not in self.names(variant):
            raise ValueError(f"no agent {name[:80]!r} plays {variant}; there are {', '.join(self.names(variant))}")
        with self._lock:
            return self._make(name, game_of(variant))

    def _make(self, name: str, game: GameSpec) -> Agent:
        before, colon, rest = name.partition(":")
        if colon and before in game.agent_wrappers and name not in self.own:
            wrapped: Agent = _attribute(game.agent_wrappers[before])(self._make(rest, game))
            return wrapped
        if any(name in find_game(game_id).bots for game_id in game_ids()) and name not in self.own:
            return load_agent(name)
        if name not in self._models:
            self._models[name] = load_agent(name, modules=False)
        model = self._models[name]
        if isinstance(model, TrainedPolicy):  # weights are never written to
            return copy.copy(model)
        if name in game.named_agents:  # what was solved is large: games share it, one asking at a time
            return _Shared(copy.copy(model), self._lock)
        return copy.deepcopy(model)


class _Shared:
    """An agent whose large parts belong to several games: they ask it one at a time."""

    def __init__(self, agent: Any, lock: Any) -> None:
        self._agent, self._lock = agent, lock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._agent, name)
        if not callable(found):
            return found

        def locked(*arguments: Any) -> Any:
            with self._lock:
                return found(*arguments)

        return locked

    def reset(self, *arguments: Any) -> None:
        """See `Agent`."""
        with self._lock:
            self._agent.reset(*arguments)

    def act(self, *arguments: Any) -> Any:
        """See `Agent`."""
        with self._lock:
            return self._agent.act(*arguments)


def _attribute(entry_point: str) -> Any:
    module, _, attributes = entry_point.partition(":")
    found: Any = import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found
