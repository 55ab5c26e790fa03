"""What commands share: their parsers, the options that name a variant, Ctrl-C, progress, and what they need installed."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from getbit_env.game_registry import find_variant
from getbit_env.get_bit.variants import ThreePlayerEnding, choose_variant
from getbit_env.sharks_are_wild.variants import READINGS
from getbit_env.sharks_are_wild.variants import Variant as SharksVariant

INTERRUPTED = 130  # exit code of a command that Ctrl-C ended
EXTRAS = {  # the extra that brings a package; `ray` brings those of _ALSO_RAY as well
    "stable_baselines3": "sb3",
    "sb3_contrib": "sb3",
    "torch": "sb3",
    "tensorboard": "sb3",
    "ray": "ray",
    "tqdm": "commands",
    "matplotlib": "commands",
    "openskill": "ratings",
    "open_spiel": "openspiel",
    "networkx": "openspiel",
    "cvxpy": "openspiel",
    "ecos": "openspiel",
    "pygame": "render",
    "starlette": "web",
    "uvicorn": "web",
    "websockets": "web",
    "PIL": "movies",
    "imageio_ffmpeg": "movies",
}
_ALSO_RAY = ("torch", "tensorboard", "tqdm", "matplotlib")
GET_BIT_OPTIONS = ("memory", "half_limbs", "pick_up_at", "three_player_ending")
SHARKS_OPTIONS = ("level", *READINGS)  # any of them says that the game is Sharks are Wild
VARIANT_OPTIONS = ("players", *GET_BIT_OPTIONS, *SHARKS_OPTIONS)


def need(*packages: str) -> None:
    """Refuse to begin without packages that the command needs later on.

    Raises:
        ValueError: with how to install what is missing.
    """
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        brought = _ALSO_RAY if "ray" in missing else ()
        extras = ",".join(dict.fromkeys(EXTRAS[package] for package in missing if package not in brought))
        raise ValueError(f'this needs {", ".join(missing)}: pip install "getbit-env[{extras}]"')


def missing_package(error: ImportError) -> str:
    """What a failed import says: how to install the package, if one of our extras brings it."""
    package = (error.name or "").partition(".")[0]
    return f'this needs {package}: pip install "getbit-env[{EXTRAS[package]}]"' if package in EXTRAS else str(error)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Paragraphs are filled to the width of the terminal; lines that are indented stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip().split("\n\n")
        filled = (p if p.startswith("  ") or "\n  " in p else textwrap.fill(" ".join(p.split()), width) for p in paragraphs)
        return "\n\n".join(indent + p for p in filled)


def command_parser(prog: str, description: str, examples: Mapping[str, str]) -> argparse.ArgumentParser:
    """The parser of a command. Options are written out: an abbreviation would mean another option as soon as one is added.

    Args:
        prog: how the command was called, such as `getbit solve`.
        description: what it does; the first sentence alone has to say it.
        examples: arguments that run, and what each is for.
    """
    shown = "\n".join(f"  # {what}\n  %(prog)s {arguments}".rstrip() for arguments, what in examples.items())
    return argparse.ArgumentParser(
        prog=prog, description=description, epilog=f"examples:\n{shown}", formatter_class=_Help, allow_abbrev=False
    )


def add_variant_arguments(parser: argparse.ArgumentParser, players: int = 4) -> None:
    """Add the options that name a variant, which `variant_of` reads."""
    parser.set_defaults(players_by_default=players)
    parser.add_argument(
        "--players",
        type=int,
        help=f"Get Bit! for so many players, 2 to 7; with --level Sharks are Wild, 2 to 4 (default {players})",
    )
    parser.add_argument("--memory", action="store_true", default=None, help="the memory game: tables lie face down")
    parser.add_argument("--half-limbs", action="store_true", default=None, help="the longer game: eight bites put a robot out")
    parser.add_argument("--pick-up-at", type=int, choices=(1, 2), help="a hand of so many cards takes its table back (default 2)")
    parser.add_argument(
        "--three-player-ending", choices=[str(ending) for ending in ThreePlayerEnding], help="who wins among three (G6.3)"
    )
    parser.add_argument("--level", type=int, choices=(1, 2), help="Sharks are Wild, at level one or two")
    readings = {
        "octopus_on_top": "a stolen card that is not used lies below the Octopus (S3.1)",
        "must_block": "a victim who has a Dolphin blocks (S3)",
        "may_decline": "a thief may discard a stolen card that fits (S3.1)",
        "early_shuffle": "the discard pile is turned over as soon as the draw pile runs out (S2.5)",
    }
    for name in READINGS:
        parser.add_argument(_flag(name), action="store_true", default=None, help=f"Sharks are Wild: {readings[name]}")
    parser.add_argument("--variant", help="any variant of any game by its name, such as 4p-memory, in place of the options above")


def variant_of(arguments: argparse.Namespace) -> Any:
    """The variant that the options name.

    Raises:
        ValueError: there is no such game, or they name two.
    """
    asked = {name: getattr(arguments, name) for name in VARIANT_OPTIONS if getattr(arguments, name) is not None}
    if arguments.variant is not None:
        variant = find_variant(arguments.variant)
        if asked and asked != {"players": variant.players}:
            raise ValueError(f"--variant {arguments.variant} already says what {flags_of(asked)} would; give one or the other")
        return variant
    options = {"players": arguments.players_by_default, **asked}
    of_sharks = [name for name in SHARKS_OPTIONS if name in asked]
    if not of_sharks:
        return choose_variant(None, **options)
    if of_get_bit := [name for name in GET_BIT_OPTIONS if name in asked]:
        raise ValueError(f"{flags_of(of_sharks)} is about Sharks are Wild, and {flags_of(of_get_bit)} about Get Bit!")
    if "level" not in asked:
        raise ValueError(f"{flags_of(of_sharks)} is about Sharks are Wild: say --level 1 or --level 2 as well")
    return SharksVariant(**options)


def _flag(name: str) -> str:
    """An option as it is typed."""
    return f"--{name.replace('_', '-')}"


def flags_of(names: Iterable[str]) -> str:
    """Options as they are typed, one after the other."""
    return " ".join(map(_flag, names))


def add_running_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--threads` and `--json`."""
    parser.add_argument(
        "--threads", type=at_least_one, default=os.cpu_count() or 1, help="the results do not depend on it (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout, and nothing else")


def add_ray_argument(parser: argparse.ArgumentParser, units: str) -> None:
    """Add `--ray`, which `core.units.executor` takes."""
    parser.add_argument(
        "--ray", metavar="ADDRESS", help=f"do the {units} on a Ray cluster: its address, auto, or local for this machine"
    )


def at_least_one(text: str) -> int:
    """Read a whole number of at least 1, as a `type` of argparse."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def at_least_zero(text: str) -> int:
    """Read a whole number of at least 0, as a `type` of argparse."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def progress_of(bar: Any) -> Callable[[str, int, int], None]:
    """A function that moves a bar of tqdm. It is called with what is done, how much of it, and how much there is."""

    def show(what: str, done: int, whole: int) -> None:
        if bar.disable:  # it has none of what follows
            return
        if bar.desc != what:
            bar.reset(whole)
            bar.set_description_str(what)
        bar.update(done - bar.n)

    return show


def no_bar() -> bool:
    """Whether progress bars are left out, as where output goes to a file."""
    return not sys.stderr.isatty()


def leave(code: int) -> NoReturn:
    """End the process of a command with its exit code.

    After Ctrl-C a thread can still be in a kernel, and Python waits for it. A second Ctrl-C then ends the process at once, without
    the traceback that Python would print. What was written is whole either way.
    """
    if code == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends the block with `KeyboardInterrupt`, also while a kernel is compiled.

    During compilation a callback from LLVM can drop the interrupt, and numba then fails with another error.
    Outside the main thread, where no signal arrives, nothing is changed.
    """
    interrupted = False

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as in a job that a script runs in the background
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
