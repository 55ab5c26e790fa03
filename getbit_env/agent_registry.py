"""Agents by name: bots, trained agents, run folders, what was solved, and anything that Python can import."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from getbit_env.core.agent import Agent, name_of
from getbit_env.core.choices import did_you_mean
from getbit_env.core.spec import GameSpec, Layout, Variant
from getbit_env.game_registry import find_game, game_ids, game_named, game_of
from getbit_env.network import POLICY_FILE, load_network

PACKAGE = Path(__file__).parent
# In a wheel the trained agents lie inside the package; in a checkout they stay where they are made.
SHIPPED = PACKAGE / "shipped" if (PACKAGE / "shipped").is_dir() else PACKAGE.parent / "agents"
SB3, MODEL_SUFFIX = "sb3:", ".zip"
OPTION = "@"  # before each option after a name
LONGEST = 80  # letters of a name that a message repeats


def shipped_agents() -> list[str]:
    """Names of the trained agents that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{POLICY_FILE}"))


def trained_for(variant: Variant) -> list[str]:
    """Names of the trained agents that come with the package and were trained on a variant."""
    return [name for name in shipped_agents() if load_network(SHIPPED / name / POLICY_FILE, name).variant == variant]


def load_agent(agent: str | os.PathLike[str] | Agent, *, modules: bool = True) -> Agent:
    """The agent that a name stands for.

    Args:
        agent: one of

            - the name of a bot (`GameSpec.bots`), with options after it if need be, `montecarlo@playouts=1000`;
            - the name of a trained agent (`shipped_agents`);
            - `equilibrium`, which plays the games that `getbit solve` has solved (`getbit_env.exact.Equilibrium`);
            - `tree-search`, with options likewise, `tree-search@simulations=256@endgames=5` (`getbit_env.tree_search.TreeSearch`);
            - the folder of a run, which holds a `policy.safetensors`;
            - a file `*.npz` that holds a best response (`getbit_env.exact.BestResponse`);
            - a model of Stable-Baselines3, `PATH.zip` or `sb3:PATH.zip` (`getbit_env.as_agent`);
            - `module:attribute`, where the attribute is an agent, or makes one when it is called without arguments;
            - `recall:` and one of these: the agent with perfect recall, which plays a memory game as it plays the face-up game
              (`getbit_env.get_bit.recall.PerfectRecall`);
            - `best-response:` and one of these: what wins most against it, computed exactly and kept
              (`getbit_env.best_responses`);
            - an agent, which is returned as it is.

            A `pathlib.Path` is a folder or file, also if a bot has the same name.
        modules: whether `module:attribute` may be imported and a `.zip` unpickled, which runs their code. Pass False for a name
            that comes out of a file: no other name runs code of others (`docs/trust.md`).

    Returns:
        An agent, not yet reset.

    Raises:
        ValueError: nothing is called so, or it is no agent, or a file that can't be used, or code where none may be run;
            the message says what was looked for.
        TypeError: it is neither a name nor an agent.

    Examples:
        >>> from getbit_env import load_agent
        >>> load_agent("counter").name
        'Counter'
        >>> load_agent("four_players")  # a trained agent of the package
        NetworkAgent('four_players', 4p)
    """
    if is_agent(agent):
        return agent
    if not isinstance(agent, str | os.PathLike):
        raise TypeError(f"an agent is given by its name, or as an object with `reset` and `act`, not as {_described(agent)}")
    return _load_named(text_of(agent), modules)


def is_agent(agent: object) -> TypeGuard[Agent]:
    """Whether an object is an agent, rather than a class of agents or anything else."""
    return isinstance(agent, Agent) and not isinstance(agent, type)


def text_of(agent: str | os.PathLike[str]) -> str:
    """The name that `load_agent` reads: a text as it is; a path so that it is not taken for a bot, or for `module:attribute`."""
    if isinstance(agent, str):
        return agent
    path = os.fsdecode(agent)
    alone = os.sep not in path or ":" in path
    return os.path.join(os.curdir, path) if alone and not os.path.isabs(path) else path


def load_opponent(agent: str | os.PathLike[str] | Agent, layout: Layout) -> Agent:
    """The agent that a name stands for (`load_agent`), which has to be able to play games of this layout.

    Raises:
        ValueError: it can't play them, or `load_agent` refuses the name.
        TypeError: it is neither a name nor an agent.
    """
    loaded = load_agent(agent)
    check_plays(loaded, layout, text_of(agent) if isinstance(agent, str | os.PathLike) else None)
    return loaded


def check_plays(agent: Agent, layout: Layout, name: str | None = None) -> None:
    """Refuse an agent that can't play games of this layout.

    Raises:
        ValueError: with the reason.
    """
    name = name or name_of(agent)
    game = game_of(layout.variant)
    its_game = getattr(agent, "game", game.id)
    if its_game != game.id:
        title = find_game(its_game) if its_game in game_ids() else repr(its_game)
        raise ValueError(f"agent {_short(name)} plays {title}, but {layout.variant} is a variant of {game}")
    check = getattr(agent, "check_layout", None)
    if check is None:
        return
    try:
        check(layout)
    except ValueError as error:
        trained = trained_for(layout.variant) if getattr(agent, "variant", layout.variant) != layout.variant else []
        if not trained:
            raise
        raise ValueError(f"{error}. Trained on {layout.variant}: {', '.join(trained)}") from error
    except Exception as error:  # such as a file that it plays from and that is not there
        raise ValueError(f"agent {_short(name)} can't play {layout.variant}: {_said(error)}") from error


def check_agents(agents: Mapping[str, Agent], variant: Variant) -> dict[str, Any]:
    """Refuse agents that can't play a variant, before anything is played: each is asked with the observation that it wants.

    Returns:
        The options of the observation that each wants, by name.

    Raises:
        ValueError: with the name of the first one that can't, and the reason.
    """
    game = game_of(variant)
    wanted: dict[str, Any] = {}
    for name, agent in agents.items():
        options = agent.options_for(variant) if hasattr(agent, "options_for") else getattr(agent, "options", None)
        fits = options is None or isinstance(options, game.options)
        check_plays(agent, game.make_layout(variant, options if fits else None), name)
        if not fits:
            raise ValueError(f"agent {_short(name)} wants to see {options!r}, which {game} does not have")
        if secret := [] if options is None else _secrets(game, variant, options):
            raise ValueError(
                f"agent {_short(name)} wants to see {', '.join(secret)}, which the rules of {variant} hide from players: "
                "it can be studied in training, and plays in no match"
            )
        wanted[name] = game.options() if options is None else options
    return wanted


def _secrets(game: GameSpec, variant: Variant, options: Any) -> list[str]:
    """Options that make an observation show what the rules hide; not where the rules show it anyway."""
    view = game.make_layout(variant, options).view
    asked = [name for name in game.secret_options if getattr(options, name, False)]
    return [name for name in asked if game.make_layout(variant, type(options)(**{**vars(options), name: False})).view != view]


def content_digest(name: str, variant: Variant) -> str | None:
    """Digest of what an agent plays from, if its name alone does not say that: results of one content don't hold for another.

    It covers weights, stored results, and the file of a module, but not what that module imports or reads (`is_code`).

    Args:
        name: as `load_agent` knows it.
        variant: what it is to play.

    Returns:
        Some hex digits, or None for a bot, which the version of the package tells apart.

    Raises:
        ValueError: it plays from a file that can't be read.
    """
    files = agent_files(name, variant)
    digest = hashlib.sha256()
    for file in files:
        try:
            digest.update(file.read_bytes())
        except OSError as error:
            raise ValueError(f"agent {_short(name)} plays from {file}, which can't be read: {error.strerror}") from error
    return digest.hexdigest()[:16] if files else None


def agent_files(name: str, variant: Variant) -> list[Path]:
    """The files that an agent plays from; none for a bot.

    Args:
        name: as `load_agent` knows it.
        variant: what it is to play.
    """
    _, name = _unwrapped(name)
    game = game_named(name)
    make, options = _with_options(name, game)
    if name.partition(OPTION)[0] in game.bots:
        return []
    if name in shipped_agents():
        return [SHIPPED / name / POLICY_FILE]
    if make is not None:
        agent = make(**options)
        return list(agent.files(variant)) if hasattr(agent, "files") else []
    if _is_folder(name):
        return [Path(name) / POLICY_FILE]
    if _loader_of_file(name):
        return [Path(name)]
    if model := _model_file(name):
        return [model, *(model.with_name(beside) for beside in normalization_names(model) if model.with_name(beside).is_file())]
    module = importlib.import_module(name.partition(":")[0])
    return [Path(module.__file__)] if getattr(module, "__file__", None) else []  # type: ignore[arg-type]  # not None


def is_code(name: str) -> bool:
    """Whether a name is `module:attribute`, or that of a model which is unpickled: to load it runs code.

    What such an agent plays can change without a file that can be looked at.
    """
    _, name = _unwrapped(name)
    game = game_named(name)
    plain = name.partition(OPTION)[0]
    known = plain in game.bots or plain in game.named_agents or name in shipped_agents()
    coded = ":" in name or _model_file(name) is not None
    return coded and not known and not _is_folder(name) and not _loader_of_file(name)


def normalization_names(model: Path) -> list[str]:
    """What the file of the `VecNormalize` beside a model's file may be called: that of this model alone first."""
    names = [f"{model.stem}_vecnormalize.pkl", f"{model.stem}.vecnormalize.pkl"]
    if checkpoint := re.fullmatch(r"(.+)_(\d+)_steps", model.stem):  # as `CheckpointCallback` calls it
        names.insert(0, f"{checkpoint[1]}_vecnormalize_{checkpoint[2]}_steps.pkl")
    return [*names, "vecnormalize.pkl", "vec_normalize.pkl"]


def _unwrapped(name: str) -> tuple[list[tuple[str, str]], str]:
    """What is put around an agent, and the name of the agent within.

    Returns:
        What makes each wrapper, as `module:attribute`, with the name of what it is put around, the outermost first; and the name.
    """
    around: list[tuple[str, str]] = []
    while True:
        before, colon, rest = name.partition(":")
        wrapper = game_named(name).agent_wrappers.get(before) if colon else None
        if wrapper is None:
            return around, name
        around.append((wrapper, rest))
        name = rest


def _load_named(name: str, modules: bool) -> Agent:
    around, within = _unwrapped(name)
    agent = _load_unwrapped(within, modules)
    for wrapper, wrapped in reversed(around):
        agent = _attribute(wrapper)(agent, wrapped)
    return agent


def _load_unwrapped(name: str, modules: bool) -> Agent:
    game = game_named(name)
    make, options = _with_options(name, game)
    if make is not None:
        try:
            return make(**options)
        except ValueError as error:
            raise ValueError(f"agent {_short(name)}: {error}") from error
    if name in shipped_agents():
        return load_network(SHIPPED / name / POLICY_FILE, name)
    if _is_folder(name):
        file = Path(name) / POLICY_FILE
        if not file.exists():
            raise ValueError(f"agent {_short(name)}: the folder holds no {POLICY_FILE}; a run writes it at its first evaluation")
        return load_network(file, name)
    if loader := _loader_of_file(name):
        return _load_file(name, loader)
    if model := _model_file(name):
        if not modules:
            raise ValueError(
                f"agent {_short(name)} is code, and names that come out of a file run none: a model of Stable-Baselines3 is "
                "unpickled (docs/trust.md)"
            )
        return _load_model(name, model)
    module, colon, attribute = name.partition(":")
    if colon and not modules:
        raise ValueError(f"agent {_short(name)} is code, and names that come out of a file run none (docs/trust.md)")
    if colon:
        return _import_agent(name, module, attribute)
    raise ValueError(_unknown(name, game))


def _with_options(name: str, game: GameSpec) -> tuple[Callable[..., Agent] | None, dict[str, Any]]:
    """What makes the bot, or the other agent of the game, of this name, and the options after it; None if there is none.

    Raises:
        ValueError: it has no such option, or it is none of its values.
    """
    plain, *given = name.split(OPTION)
    if plain in game.bots:
        make: Callable[..., Agent] = game.bots[plain]
    elif plain in game.named_agents:
        make = _attribute(game.named_agents[plain])
    else:
        return None, {}
    options: dict[str, Any] = {}
    known = {option.name: option.default for option in inspect.signature(make).parameters.values()} if given else {}
    for text in given:
        option, equals, value = text.partition("=")
        if option not in known or not equals:
            said = f"there is no option {text!r:.80}{did_you_mean(option, known)}" if equals else f"{text!r:.80} is no OPTION=VALUE"
            raise ValueError(f"agent {_short(name)}: {said}; {plain} has {', '.join(known) or 'no options'}")
        if option in options:
            raise ValueError(f"agent {_short(name)}: {option} is given twice")
        kind = type(known[option])
        try:
            options[option] = kind(value) if kind in (int, float) else value
        except ValueError:
            number = "a whole number" if kind is int else "a number"
            raise ValueError(f"agent {_short(name)}: {option} is {number}, not {value!r:.80}") from None
    return make, options


def _unknown(name: str, game: GameSpec) -> str:
    if name.endswith(".safetensors"):
        return f"agent {_short(name)}: a stored policy is named by its folder, in which it is called {POLICY_FILE}"
    if os.sep in name:
        return f"agent {_short(name)}: there is no such folder"
    games = [find_game(game_id) for game_id in game_ids()]
    known = [*game.bots, *shipped_agents(), *game.named_agents]
    suffixes = [f"files *{suffix}" for one in games for suffix in one.agent_files]
    wrappers = [f"{wrapper}:" for one in games for wrapper in one.agent_wrappers]
    near = did_you_mean(name[:LONGEST], [*known, *(bot for one in games for bot in one.bots)])
    trained = "trained agents (`getbit agents` lists them)"
    listed = [*game.bots, *game.named_agents, trained, "folders of runs", *suffixes, "sb3:PATH.zip", "module:attribute"]
    before = f", and {', '.join(wrappers)} before one of these" if wrappers else ""
    return f"no agent {_short(name)}{near or ';'} there are {', '.join(listed)}{before}"


def _model_file(name: str) -> Path | None:
    """The file of a model of Stable-Baselines3 that a name stands for: `PATH.zip`, or `sb3:PATH`, to which `.zip` is added."""
    if name.startswith(SB3):
        path = name.removeprefix(SB3)
        return Path(path if path.endswith(MODEL_SUFFIX) else path + MODEL_SUFFIX)
    return Path(name) if name.endswith(MODEL_SUFFIX) else None


def _load_model(name: str, file: Path) -> Agent:
    try:
        policies = importlib.import_module("getbit_env.policies")  # it imports this module
        agent: Agent = policies.as_agent(file, name=name)
    except ImportError as error:
        raise ValueError(f"agent {_short(name)} can't be loaded: {error}") from error
    return agent


def _is_folder(name: str) -> bool:
    """Whether a name is that of a folder; an empty one, and one that no file can have, is not."""
    try:
        return bool(name) and Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _loader_of_file(name: str) -> str | None:
    """What loads the file of this name, as `module:attribute`, if some game stores agents in files of its kind."""
    suffix = Path(name).suffix
    games = map(find_game, game_ids()) if suffix else ()
    return next((game.agent_files[suffix] for game in games if suffix in game.agent_files), None)


def _load_file(name: str, loader: str) -> Agent:
    try:
        loaded: Agent = _attribute(loader)(Path(name))
    except FileNotFoundError as error:
        raise ValueError(f"agent {_short(name)}: there is no such file; `getbit exploitability --save` writes one") from error
    except (OSError, ValueError) as error:  # it can't be read, or its name is none that a file can have
        raise ValueError(f"agent {_short(name)} can't be loaded: {_said(error)}") from error
    return loaded


def _attribute(entry_point: str) -> Any:
    module, _, attributes = entry_point.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found


def _import_agent(name: str, module: str, attribute: str) -> Agent:
    if not all(part.isidentifier() for part in [*module.split("."), *attribute.split(".")]):
        raise ValueError(f"agent {_short(name)} is no module:attribute of Python, and no file or folder is called so")
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever its code does
        raise ValueError(f"agent {_short(name)}: module {module!r} can't be imported: {_said(error)}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"agent {_short(name)}: {found!r} has no attribute {part!r}{did_you_mean(part, dir(found))}")
        found = getattr(found, part)
    if not is_agent(found) and callable(found):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise ValueError(f"agent {_short(name)}: {attribute}() raised {_said(error)}") from error
    if not is_agent(found):
        raise ValueError(f"agent {_short(name)} gives {found!r}, without `reset` and `act` (see getbit_env.core.agent.Agent)")
    agent: Agent = found
    return agent


def _short(name: str) -> str:
    """A name as a message quotes it."""
    return repr(name if len(name) <= LONGEST else f"{name[:LONGEST]}…")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300] if str(error) else type(error).__name__


def _described(value: Any) -> str:
    """What was given in place of an agent, with what may be meant."""
    if isinstance(value, type):
        return f"the class {value.__name__}: call it"
    if hasattr(value, "policy") and hasattr(value, "predict"):
        return "a model of Stable-Baselines3: make an agent of it with getbit_env.as_agent"
    if callable(value):
        return (
            f"the function {getattr(value, '__name__', value)!r}: getbit_env.as_agent makes an agent of a policy, and "
            "`module:function` names a function that makes an agent"
        )
    return repr(value)[:200]
