"""Solve a game exactly: `python -m eval.solve --players 2`.

The table goes to the cache folder (`GETBIT_ENV_CACHE`, else the user's), where the equilibrium agent finds it. An interrupted run
goes on where it was when the same command is given again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from tqdm import tqdm

from getbit_env.command_line import add_running_arguments, add_variant_arguments, interruptible, progress_of, variant_of
from getbit_env.exact.many_players import ManySolution
from getbit_env.exact.solving import solved
from getbit_env.exact.stored_results import cache_folder, solution_path
from getbit_env.exact.two_players import Solution


def say(text: str) -> None:
    """Tell the user something, beside the results."""
    tqdm.write(text, file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m eval.solve", description=__doc__.splitlines()[0])
    add_variant_arguments(parser, players=2)
    add_running_arguments(parser)
    arguments = parser.parse_args(argv)
    begun = time.perf_counter()
    try:
        variant = variant_of(arguments)
        bar_format = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        with interruptible(), tqdm(total=0, file=sys.stderr, bar_format=bar_format) as bar:
            solution = solved(variant, threads=arguments.threads, progress=progress_of(bar), say=say)
    except KeyboardInterrupt:
        say("interrupted: finished rounds are kept, and the same command goes on from there")
        return 130
    except ValueError as error:
        say(f"error: {error}")
        return 2
    except OSError as error:
        say(f"error: {cache_folder()} can't be written to ({error}); what it holds is used when the command is given again")
        return 1
    path = solution_path(variant)
    seconds, size = time.perf_counter() - begun, path.stat().st_size
    common = {
        "variant": variant.name,
        "positions": solution.positions.count,
        "positions_by_rounds_played": [int(n) for n in solution.positions.first[1:] - solution.positions.first[:-1]],
        "seconds": seconds,
        "table": str(path),
        "table_bytes": size,
    }
    if arguments.json:
        print(json.dumps({**as_json(solution), **common}))
    else:
        print(f"{variant}: {as_text(solution)}")
        print(f"{solution.positions.count:,} positions; {seconds:.0f} s; table of {size / 1e6:.1f} MB in {path}")
    return 0


def as_json(solution: Solution | ManySolution) -> dict[str, object]:
    """What was found, in full precision."""
    if isinstance(solution, Solution):
        return {"values": solution.starting_values(), "certificate_gap": solution.gap}
    return {
        "win_by_starting_place": solution.start.tolist(),
        "gain": solution.gain,
        "most_regret_of_a_position": solution.regret,
        "positions_off_the_principal_branch": solution.branches,
    }


def as_text(solution: Solution | ManySolution) -> str:
    """The same to read."""
    if isinstance(solution, Solution):
        lines = ["value to the owner of the front robot, on -1..1, by the owners of the starting line"]
        lines += [f"  {line}  {value:+.6f}" for line, value in solution.starting_values().items()]
        return "\n".join([*lines, f"primal and dual of each position agree to {solution.gap:.1e}"])
    lines = ["an equilibrium (there can be others); chance of winning by place in the starting line"]
    lines += [f"  {place}  {win:.4f}" for place, win in enumerate(solution.start, 1)]
    lines.append(f"exact gain of a best response to it: {solution.gain:.1e}, mean over the places")
    lines.append(f"regret in any one position: at most {solution.regret:.1e}")
    return "\n".join([*lines, f"positions in which the principal branch of logit equilibria was lost: {solution.branches}"])


if __name__ == "__main__":
    sys.exit(main())
