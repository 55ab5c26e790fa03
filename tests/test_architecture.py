"""Which way imports run. `docs/architecture.md` draws it; each rule is shown to find what breaks it in a made-up source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
LAYERS: dict[str, set[str]] = {  # what each top-level package imports of the others
    "getbit_env": set(),
    "agents": {"getbit_env"},
    "train": {"getbit_env", "agents"},
    "eval": {"getbit_env", "agents", "train"},
    "examples": {"getbit_env"},
    "docs": {"getbit_env", "agents", "train", "eval"},
}
GAMES = ("get_bit", "sharks_are_wild")
# The parts of the package, and what each imports of the others. `generic` is all that stands directly in `getbit_env`, and the
# packages that are none of these.
PARTS: dict[str, set[str]] = {
    "core": set(),
    **{game: {"core"} for game in GAMES},
    "version": set(),
    "exact": {"core", "get_bit", "version"},
    "generic": {"core", "version"},
    "terminal": {"core", "generic", "version"},
    "commands": {"core", *GAMES, "exact", "generic", "terminal", "version"},
}
FACES = {  # modules that say of one game what generic code says of all
    "getbit_env": {*GAMES, "generic", "exact"},  # what users import
    "getbit_env.command_line": set(GAMES),  # the flags of their variants
    "getbit_env.best_responses": {"get_bit", "exact"},  # `best-response:` before the name of an agent
    "getbit_env.tree_search": {"get_bit", "exact"},  # `tree-search`, with trained policies and solved endgames
    "getbit_env.benchmark.tasks": {"get_bit", "exact"},  # its protocol names the tasks that are judged exactly
    "getbit_env.web.advice": {"get_bit", "exact"},  # the exact values of positions
    "getbit_env.report.leaks": {"get_bit", "exact"},  # only there is it known what an agent loses where
    **{f"getbit_env.sb3.{game}": {game} for game in GAMES},
    "getbit_env.sb3": set(GAMES),
    "getbit_env.sb3.exact_gain": {"get_bit", "exact"},  # exact gains are of Get Bit!
    **{f"getbit_env.openspiel.{module}": {"get_bit"} for module in ("game", "agents")},  # the game as one of OpenSpiel
    "getbit_env.__main__": {"commands"},
    **{f"getbit_env.terminal.{game}": {game} for game in GAMES},
}


class Source(NamedTuple):
    """A module."""

    name: str
    text: str
    is_package: bool = False


def sources(*packages: str) -> list[Source]:
    """All modules of some packages."""
    found = []
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            found.append(Source(".".join(parts[:-1] if is_package else parts), path.read_text(encoding="utf-8"), is_package))
        assert found
    return found


def is_module(name: str) -> bool:
    """Whether a module of ours has this name."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imports(source: Source) -> Iterator[tuple[str, str, str]]:
    """All that a module imports, wherever in it: module, name in it (or nothing), and the name that it is given."""
    package = source.name if source.is_package else source.name.rpartition(".")[0]
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, "", alias.asname or alias.name
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                yield module, alias.name, alias.asname or alias.name


def imported_modules(source: Source) -> set[str]:
    """The modules that a module imports; `from package import module` is an import of the latter."""
    return {f"{module}.{name}" if name and is_module(f"{module}.{name}") else module for module, name, _ in imports(source)}


def part_of(module: str) -> str:
    """The part of the package that a module belongs to."""
    name = (module.split(".") + [""])[1]
    return name if name in PARTS else "generic"


def wrong_layers(source: Source) -> list[str]:
    """Imports from a top-level package that stands above that of the module."""
    layer = source.name.split(".")[0]
    tops = {module.split(".")[0] for module in imported_modules(source)}
    return [f"{source.name} imports {top}" for top in sorted(tops & LAYERS.keys() - LAYERS[layer] - {layer})]


def wrong_parts(source: Source) -> list[str]:
    """Imports within `getbit_env` from a part that the module must not know."""
    mine = part_of(source.name)
    allowed = PARTS[mine] | {mine} | FACES.get(source.name, set())
    ours = [module for module in sorted(imported_modules(source)) if module.split(".")[0] == "getbit_env"]
    return [f"{source.name} imports {module}" for module in ours if module == "getbit_env" or part_of(module) not in allowed]


def private_uses(source: Source) -> list[str]:
    """Names with an underscore that belong to another module of ours."""
    wrong, modules = [], {}
    for module, name, known_as in imports(source):
        if module.split(".")[0] not in LAYERS:
            continue
        if not name or is_module(f"{module}.{name}"):
            modules[known_as] = f"{module}.{name}".rstrip(".")
        private = any(part.startswith("_") and not part.startswith("__") for part in [*module.split("."), name])
        if private and module != source.name:
            wrong.append(f"{source.name} imports {module}.{name}".rstrip("."))
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            of = ast.unparse(node.value)
            if of in modules:
                wrong.append(f"{source.name} uses {modules[of]}.{node.attr}")
    return wrong


# --- the tree ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_point_one_way(layer: str) -> None:
    assert [wrong for source in sources(layer) for wrong in wrong_layers(source)] == []


def test_core_knows_no_game_and_games_know_core_alone() -> None:
    assert [wrong for source in sources("getbit_env") for wrong in wrong_parts(source)] == []


def test_nothing_private_is_used_by_another_module() -> None:
    assert [wrong for source in sources(*LAYERS) for wrong in private_uses(source)] == []


def test_every_face_is_there() -> None:
    for name in FACES:
        assert is_module(name), name


def test_games_have_the_same_files() -> None:
    def files(game: str) -> set[str]:
        folder = ROOT / "getbit_env" / game
        return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}

    # Perfect recall of its memory games, and bots that weigh or search the joint plays of simultaneous players.
    alone = {"get_bit": {"recall.py", "bots/levels.py", "bots/playouts.py", "bots/tree.py"}}
    one, *others = ({*files(game)} - alone.get(game, set()) for game in GAMES)
    assert "engine.py" in one
    assert all(each == one for each in others)
    for game, names in alone.items():
        assert names <= files(game)


def test_the_page_says_what_every_file_is_for() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = page[page.index("## What is where") : page.index("## Inside a game")]
    for path in sorted((ROOT / "getbit_env").iterdir()):
        name = f"{path.name}/" if (path / "__init__.py").exists() else path.name
        if name.endswith(("/", ".py")) and name != "__init__.py":
            assert f"`{name}`" in listed, name


# --- the checks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("train.ppo", "import eval.bench", ["train.ppo imports eval"]),
        ("train.ppo", "def f():\n    from eval import bench", ["train.ppo imports eval"]),
        ("getbit_env.core.spec", "import agents, numpy", ["getbit_env.core.spec imports agents"]),
        ("examples.dqn", "from train.run import option", ["examples.dqn imports train"]),
        ("train.ppo", "from getbit_env import sb3\nimport agents\nimport trainers", []),
    ],
)
def test_an_import_from_a_layer_above_is_found(name: str, text: str, found: list[str]) -> None:
    assert wrong_layers(Source(name, text)) == found


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("getbit_env.core.spec", "from getbit_env.get_bit.rules import play", ["getbit_env.get_bit.rules"]),
        ("getbit_env.core.spec", "from ..get_bit import rules", ["getbit_env.get_bit.rules"]),
        ("getbit_env.core.spec", "from getbit_env import game_registry", ["getbit_env.game_registry"]),
        ("getbit_env.core.spec", "from getbit_env.core import agent", []),
        ("getbit_env.get_bit.rules", "import getbit_env.sharks_are_wild.rules as rules", ["getbit_env.sharks_are_wild.rules"]),
        ("getbit_env.get_bit.rules", "import getbit_env.network", ["getbit_env.network"]),
        ("getbit_env.get_bit.rules", "from getbit_env.exact import solving", ["getbit_env.exact.solving"]),
        ("getbit_env.get_bit.rules", "import getbit_env", ["getbit_env"]),
        ("getbit_env.get_bit.rules", "from getbit_env.get_bit import engine\nfrom getbit_env.core import files", []),
        ("getbit_env.network", "if TYPE_CHECKING:\n    from getbit_env.get_bit import Layout", ["getbit_env.get_bit"]),
        ("getbit_env.match.runner", "from getbit_env.exact import Equilibrium", ["getbit_env.exact"]),
        ("getbit_env.match.runner", "from getbit_env.network import NetworkAgent", []),
        ("getbit_env.sb3.get_bit", "from getbit_env.get_bit import Layout", []),
        ("getbit_env.sb3.get_bit", "from getbit_env.sharks_are_wild import Layout", ["getbit_env.sharks_are_wild"]),
        ("getbit_env.exact.solving", "from getbit_env.get_bit import rules", []),
        ("getbit_env.exact.solving", "from getbit_env import command_line", ["getbit_env.command_line"]),
    ],
)
def test_an_import_from_a_part_that_must_not_be_known_is_found(name: str, text: str, found: list[str]) -> None:
    assert wrong_parts(Source(name, text)) == [f"{name} imports {module}" for module in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from train.run import _option", ["eval.a imports train.run._option"]),
        ("from train._run import option", ["eval.a imports train._run.option"]),
        ("import train.run\ntrain.run._option()", ["eval.a uses train.run._option"]),
        ("from train import run as r\nr._option()", ["eval.a uses train.run._option"]),
        ("from train.run import __doc__\nfrom os import _exit\nself._own, run._other", []),
    ],
)
def test_the_use_of_a_private_name_is_found(text: str, found: list[str]) -> None:
    assert private_uses(Source("eval.a", text)) == found
