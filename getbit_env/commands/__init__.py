"""`getbit`, the installed command: which sub-commands there are, and where each is.

`train` and `eval` are folders of their own in a checkout, beside the package. A wheel carries them in here, so that no such name
lands in site-packages, where it would shadow a researcher's own.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]


class Command(NamedTuple):
    """A sub-command.

    Attributes:
        module: its module, with `make_parser(prog)` and `main(arguments, prog)`: of this package, of `eval` or of `train`.
        does: what it does, for the list.
        needs: packages that the module imports, so that all that are missing are named together.
    """

    module: str
    does: str
    needs: tuple[str, ...] = ()


COMMANDS = {
    "play": Command("play", "play a game yourself, in the browser or the terminal"),
    "watch": Command("watch", "watch agents play, in the terminal"),
    "replay": Command("eval.replay", "show a recorded game"),
    "report": Command("eval.report", "write a page about an agent, with its games"),
    "tournament": Command("eval.tournament", "play agents against each other"),
    "benchmark": Command("eval.benchmark", "judge an agent by a fixed protocol"),
    "exploitability": Command("eval.exploitability", "the exact gain of a best response to an agent"),
    "lower-bound": Command(
        "eval.lower_bound",
        "the gain of a trained opponent, where no exact figure can be had",
        ("torch", "stable_baselines3", "sb3_contrib", "tqdm"),
    ),
    "solve": Command("eval.solve", "solve a game exactly"),
    "train": Command("training", "train an agent by self-play"),  # what it needs depends on the recipe
    "bench": Command("eval.speed.bench", "measure speed", ("tqdm",)),
    "variants": Command("variants", "list the variants of the games"),
    "agents": Command("agents", "list the agents"),
    "warm-up": Command("warm_up", "compile everything now, and show where it is kept"),
}


def is_there(module: str) -> bool:
    """Whether this installation has the module of a command."""
    return any((folder / f"{module.replace('.', '/')}{end}").exists() for folder in (HERE, CHECKOUT) for end in ("", ".py"))


def load(module: str) -> ModuleType:
    """Import the module of a command.

    Raises:
        ImportError: it needs a package that is not installed; or this installation has no such module; or, in a checkout, another
            package of that name comes first on the path.
    """
    top = module.partition(".")[0]
    if (HERE / top).exists() or (HERE / f"{top}.py").exists():
        return import_module(f"{__package__}.{module}")
    found = import_module(module)
    file = Path(found.__file__ or "")
    if not file.resolve().is_relative_to(CHECKOUT.resolve()):
        raise ImportError(f"{file} comes before {CHECKOUT / top} on the path; rename it, or leave its folder")
    return found
