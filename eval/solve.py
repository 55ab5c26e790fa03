"""Solve a game exactly, and certify every position.

The solution goes to the cache folder (GETBIT_ENV_CACHE, else the user's), where the agent `equilibrium` finds it. An interrupted
run goes on where it was when the same command is given again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from getbit_env.command_line import (
    add_running_arguments,
    add_variant_arguments,
    command_parser,
    interruptible,
    leave,
    need,
    no_bar,
    progress_of,
    variant_of,
)
from getbit_env.core.files import InUseError, temporary_beside
from getbit_env.exact.many_players import ManyPlayerSolution
from getbit_env.exact.positions import Progress, silent
from getbit_env.exact.solutions import Solution
from getbit_env.exact.solving import check_solvable, solved
from getbit_env.exact.stored_results import solution_path
from getbit_env.exact.two_players import TwoPlayerSolution
from getbit_env.game_registry import game_of
from getbit_env.get_bit.variants import ID, Variant


def say(text: str) -> None:
    """Tell the user something, beside the results."""
    if no_bar():
        print(text, file=sys.stderr)
    else:
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on a terminal; nothing in a file."""
    if no_bar():
        yield silent
        return
    from tqdm import tqdm

    with tqdm(total=0, file=sys.stderr, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}") as bar:
        yield progress_of(bar)


def get_bit_variant(arguments: argparse.Namespace) -> Variant:
    """The variant of Get Bit! that the options name.

    Raises:
        ValueError: there is no such variant, or it is one of another game.
    """
    variant = variant_of(arguments)
    if variant.game != ID:
        raise ValueError(f"{variant} is a variant of {game_of(variant)}, and this command is for Get Bit! alone")
    assert isinstance(variant, Variant)
    return variant


def check_output(path: Path) -> None:
    """Find out before the work whether a file can be written.

    Raises:
        OSError: it can't.
    """
    with suppress(FileNotFoundError):
        path.lstat()  # a name can be too long
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = temporary_beside(path)
    try:
        part.touch()
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


EXAMPLES = {
    "--variant 2p-4c-2l": "a small game: some seconds",
    "--players 2": "the game of the rulebook",
    "--players 4 --json": "an equilibrium of four players, as JSON",
}


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = command_parser(prog, __doc__, EXAMPLES)
    add_variant_arguments(parser, players=2)
    add_running_arguments(parser)
    return parser


def main(argv: list[str] | None = None, prog: str = "python -m eval.solve") -> int:
    """Run the command; returns its exit code."""
    arguments = make_parser(prog).parse_args(argv)
    begun = time.perf_counter()
    path = None
    try:
        need("tqdm")
        variant = get_bit_variant(arguments)
        check_solvable(variant)
        path = solution_path(variant)
        check_output(path)
        with interruptible(), progress_bar() as progress:
            solution = solved(variant, threads=arguments.threads, progress=progress, say=say)
        size = path.stat().st_size
    except KeyboardInterrupt:
        say("interrupted: finished rounds are kept, and the same command goes on from there")
        return 130
    except ValueError as error:
        say(f"error: {error}")
        return 2
    except InUseError as error:
        say(f"error: {error}")
        return 1
    except OSError as error:
        say(f"error: {path} can't be written ({error}); what its folder holds is used when the command is given again")
        return 1
    seconds = time.perf_counter() - begun
    common = {
        "variant": variant.name,
        "positions": solution.positions.count,
        "positions_by_rounds_played": [int(n) for n in solution.positions.first[1:] - solution.positions.first[:-1]],
        "seconds": seconds,
        "file": str(path),
        "file_bytes": size,
    }
    if arguments.json:
        print(json.dumps({**as_json(solution), **common}))
    else:
        print(f"{variant}: {as_text(solution)}")
        print(f"{solution.positions.count:,} positions; {seconds:.0f} s; {size / 1e6:.1f} MB in {path}")
    return 0


def as_json(solution: Solution) -> dict[str, object]:
    """What was found, in full precision."""
    if isinstance(solution, TwoPlayerSolution):
        return {"values": solution.starting_values(), "certificate_gap": solution.gap}
    return {
        "win_by_starting_place": solution.start.tolist(),
        "gain_by_starting_place": solution.gains.tolist(),
        "most_regret_of_a_position": solution.regret,
        "positions_off_the_principal_branch": solution.branches,
    }


def as_text(solution: Solution) -> str:
    """The result as lines of text."""
    if isinstance(solution, TwoPlayerSolution):
        lines = ["value to the owner of the front robot, on -1..1, by the owners of the starting line"]
        lines += [f"  {line}  {value:+.6f}" for line, value in solution.starting_values().items()]
        return "\n".join([*lines, f"primal and dual of each position agree to {solution.gap:.1e}"])
    assert isinstance(solution, ManyPlayerSolution)
    lines = ["an equilibrium; there are others with other chances. Chance of winning by place in the starting line"]
    lines += [f"  {place}  {win:.4f}" for place, win in enumerate(solution.start, 1)]
    lines.append(
        f"exact gain of a best response to it: {solution.gains.max():.2e} in the place where it is most, "
        f"{solution.gains.mean():.2e} in the mean"
    )
    lines.append(f"regret in any one position: at most {solution.regret:.2e}")
    return "\n".join([*lines, f"positions in which the principal branch was lost: {solution.branches}"])


if __name__ == "__main__":
    leave(main())
