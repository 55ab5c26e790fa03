"""`config.json` of a run: what it was begun with. It may come from strangers; what it names is not run unless that is allowed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from getbit_env.agent_registry import is_code
from getbit_env.core.files import write_json

from .recipe import DamagedError, Recipe

THEN = ", then "


class RunFile:
    """What `config.json` says.

    Attributes:
        recipe: name of the recipe.
        options: of the recipe.
        about: where the run comes from, by name.
        run: a token that no other run has; checkpoints bear it.
    """

    def __init__(self, recipe: str, options: Any, about: dict[str, str], run: str) -> None:
        self.recipe, self.options, self.about, self.run = recipe, options, about, run

    def goes_on(self, about: Mapping[str, str], *, extended: bool) -> None:
        """Note where a later part of the run comes from: what differs from the part before, behind it.

        Args:
            about: of this part.
            extended: it began with another command, so that both together make the run.
        """
        for name, value in about.items():
            before = self.about.get(name, "")
            if name == "command":
                self.about[name] = f"{before} && {value}" if extended else before
            elif name != "time" and value != before.rpartition(THEN)[2]:
                self.about[name] = f"{before}{THEN}{value}"

    def write(self, folder: Path) -> None:
        """Write `config.json`, whole or not at all."""
        config = dataclasses.asdict(self.options)
        write_json(folder / "config.json", {"recipe": self.recipe, "run": self.run, "config": config, "about": self.about})


def read_config(recipe: Recipe, folder: Path, *, allowed: Collection[str] | None = ()) -> RunFile:
    """The configuration of a run.

    Args:
        recipe: that trains it.
        folder: of the run.
        allowed: the agents that may be named as `module:attribute`, whose code is run; None: all.

    Raises:
        ValueError: there is no run in the folder, it is another recipe's, or one of its options is wrong.
    """
    path = folder / "config.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(f"{folder} holds no run: it has no config.json") from error
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    kinds = {"recipe": str, "run": str, "config": dict, "about": dict}
    if not isinstance(data, dict) or any(not isinstance(data.get(name), kind) for name, kind in kinds.items()):
        raise DamagedError(f"{path} is not of this version: it holds {', '.join(kinds)}")
    if data["recipe"] != recipe.name:
        raise ValueError(f"{folder} is a run of {data['recipe']:.80}, not of {recipe.name}")
    if not all(isinstance(value, str) for value in data["about"].values()):
        raise DamagedError(f"{path} is not of this version: about holds texts")
    known = [entry.name for entry in dataclasses.fields(recipe.config)]
    for name in data["config"].keys() ^ set(known):
        said = f"it has no option {name!r}" if name in known else f"there is no option {name[:80]!r}"
        raise DamagedError(f"{path} is not of this version: {said}")
    for name in agents_named(data["config"]):
        if allowed is not None and name not in allowed and is_code(name):
            raise ValueError(f"{path} names the agent {name[:80]!r}, whose module would be run; --allow-modules allows that")
    try:
        options = recipe.config(**data["config"])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return RunFile(data["recipe"], options, data["about"], data["run"])


def agents_named(config: Mapping[str, Any]) -> list[str]:
    """The names of agents among the options."""
    lists = [config[name] for name in ("eval_opponents", "bots") if isinstance(config.get(name), list)]
    return [name for listed in [*lists, [config.get("imitate")]] for name in listed if isinstance(name, str)]
