"""`python -m eval.speed.guard`: has anything become slower? It counts instructions, which don't depend on how busy a machine is.

Each piece of work is done once in a process under valgrind, and the instructions that it takes are compared with those that
guard.json, beside this file, keeps. Kernels are compiled for one named processor instead of the one at hand (so without its
widest vectors), and what is counted is x86-64 code: other machines of that kind count the same. It stands in for time only
roughly: a cache miss costs no instruction. `python -m eval.speed.bench` measures time.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eval.speed.workloads import (
    Block,
    engine_steps,
    matches,
    monte_carlo,
    parallel_loop,
    sharks_decisions,
    sharks_loop,
    solver,
    vector_steps,
)
from getbit_env.command_line import interruptible, leave

STORED = Path(__file__).parent / "guard.json"
PROCESSOR = "x86-64-v3"  # AVX2: valgrind knows nothing wider
COMPILED, INTERPRETED = 0.02, 0.05  # what a count may grow by: where kernels are nearly all of it, and where Python is

GUARDED: dict[str, tuple[str, float, Callable[[], Block]]] = {
    "engine, 4 players": ("round", COMPILED, lambda: engine_steps("4p", 4096, rounds=8)),
    "engine, 6 players": ("round", COMPILED, lambda: engine_steps("6p", 4096, rounds=8)),
    "engine, 2 players": ("round", COMPILED, lambda: engine_steps("2p", 4096, rounds=8)),
    "engine, 3 players": ("round", COMPILED, lambda: engine_steps("3p", 4096, rounds=8)),
    "engine, 4 players, cards drawn": ("round", COMPILED, lambda: engine_steps("4p", 4096, draw=True, rounds=8)),
    "engine, 4 players, observations": ("round", COMPILED, lambda: engine_steps("4p", 1024, observe=True, rounds=4)),
    "engine, 2 players, memory, observations": ("round", COMPILED, lambda: engine_steps("2p-memory", 1024, observe=True, rounds=4)),
    "engine of one game, 4 players": ("round", INTERPRETED, lambda: engine_steps("4p", 1, draw=True, observe=True, rounds=50)),
    "parallel_env, 4 players": ("round", INTERPRETED, lambda: parallel_loop(rounds=100)),
    "VectorEnv of one seat, 4 players, random opponents": (
        "agent-step",
        INTERPRETED,
        lambda: vector_steps("getbit/GetBit-v0", 1024, opponents="random", rounds=8),
    ),
    "VectorEnv of all seats, 4 players": (
        "agent-step",
        INTERPRETED,
        lambda: vector_steps("getbit/GetBitAllSeats-v0", 4096, rounds=8),
    ),
    "match of random, highest, counter, lookahead": (
        "game",
        INTERPRETED,
        lambda: matches("random", "highest", "counter", "lookahead", starts=48),
    ),
    "MonteCarlo, 4 players": ("playout", COMPILED, lambda: monte_carlo(4, games=2)),
    "solver, 2 players": ("position", COMPILED, lambda: solver("2p-3c-2l-pick1", chunks=2)),
    "Sharks are Wild, 4 players, level 2": ("decision", COMPILED, lambda: sharks_decisions("sharks-4p-level2", 256)),
    "Sharks are Wild, raw_env, 4 players, level 2": ("step", INTERPRETED, lambda: sharks_loop(4, 2, steps=100)),
}


# --- in the process that is counted ------------------------------------------------------------------------------------------


class Valgrind:
    """Tells the valgrind that this process runs under what to count.

    A request is a sequence of instructions that does nothing (four rotations by 128 bits in all, an exchange of a register with
    itself) and that valgrind looks out for, with the address of the request in a register; valgrind.h has it as a macro.
    """

    _CODE = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
    _RUNNING_ON_VALGRIND = 0x1001
    _ZERO, _DUMP_AT, _START, _STOP = (ord("C") << 24 | ord("T") << 16 | number for number in (1, 3, 4, 5))

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory.write(self._CODE)
        code = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._call = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(code)

    def _request(self, number: int, argument: int = 0) -> int:
        words = (ctypes.c_size_t * 6)(number, argument)
        return int(self._call(ctypes.addressof(words)))

    @property
    def present(self) -> bool:
        """Whether this process runs under it."""
        return self._request(self._RUNNING_ON_VALGRIND) > 0

    def count(self, name: str, block: Block) -> int:
        """Let it count a block, and write the count to its file under a name; returns what the block does."""
        label = ctypes.create_string_buffer(name.encode())
        self._request(self._START)
        self._request(self._ZERO)
        done = block()
        self._request(self._DUMP_AT, ctypes.addressof(label))
        self._request(self._STOP)
        return done


def work(names: Sequence[str]) -> None:
    """Do each piece of work twice, first with all that has to be done once, then counted by valgrind; prints how much it is."""
    valgrind = Valgrind()
    present = valgrind.present
    gc.disable()
    done = {}
    for name in names:
        block = GUARDED[name][2]()
        block()
        gc.collect()
        done[name] = valgrind.count(name, block) if present else block()
    print(json.dumps(done))


# --- in the process that compares --------------------------------------------------------------------------------------------


def read_counts(output: str) -> dict[str, int]:
    """The instructions of each named part of callgrind's output, its files put together."""
    parts = re.findall(r"^desc: Trigger: Client Request: (.*?)$.*?^totals: (\d+)$", output, re.DOTALL | re.MULTILINE)
    return {name: int(total) for name, total in parts}


def counted(names: Sequence[str]) -> dict[str, float]:
    """Instructions that each piece of work takes, a unit of it.

    Raises:
        subprocess.CalledProcessError: the work, or valgrind, failed; what it said is on stderr.
    """
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": PROCESSOR,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    command = [sys.executable, "-m", "eval.speed.guard", "--work", *names]

    def run(*prefix: str) -> str:
        return subprocess.run([*prefix, *command], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout

    print("compiling", file=sys.stderr)
    run()  # or valgrind would watch the compiler, which takes forever
    print("counting", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        done = json.loads(run(*tool))
        counts = read_counts("".join(path.read_text() for path in Path(folder).iterdir()))
    return {name: counts[name] / done[name] for name in names}


def versions() -> dict[str, str]:
    """What counts depend on beside the code."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in ("numba", "llvmlite", "numpy")}}


def compare(stored: Mapping[str, float], counts: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """A line for each count, and the names of those that grew by more than they may."""
    rows, worse = [], []
    for name, count in counts.items():
        unit, tolerance, _ = GUARDED[name]
        before = stored.get(name)
        change = count / before - 1 if before else 0.0
        verdict = "no figure kept" if before is None else "MORE" if change > tolerance else "fewer" if change < -tolerance else ""
        rows.append(f"{count:14,.1f}  a {unit:9} {change:+8.2%} (of {tolerance:.0%})  {verdict:14}  {name}")
        if verdict == "MORE":
            worse.append(name)
    return rows, worse


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1: something takes more instructions; 2: it can't be told; 130: broken off."""
    parser = argparse.ArgumentParser(prog="python -m eval.speed.guard", description=__doc__, allow_abbrev=False)
    parser.add_argument("--update", action="store_true", help="keep the counts of the present code")
    parser.add_argument("--only", default="", metavar="TEXT", help="only what has this text in its name")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work(options.work)
        return 0
    names = [name for name in GUARDED if options.only in name]
    if not names:
        parser.error(f"nothing has {options.only!r} in its name; there are: {'; '.join(GUARDED)}")
    if platform.machine() != "x86_64" or shutil.which("valgrind") is None:
        parser.error("this needs valgrind, and a processor of the kind x86-64")
    kept: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    here, there = versions(), kept.get("versions", {})
    if there != here and not options.update:
        differ = ", ".join(
            f"{name} {there.get(name, 'unknown')} (here {number})" for name, number in here.items() if there.get(name) != number
        )
        parser.error(f"{STORED.name} was made with {differ}: install that, or keep the counts of older code with --update first")
    try:
        with interruptible():
            counts = counted(names)
    except KeyboardInterrupt:
        print("interrupted: nothing is kept of it", file=sys.stderr)
        return 130
    rows, worse = compare(kept.get("instructions", {}), counts)
    print("\n".join(rows))
    if options.update:
        all_counts = {**(kept.get("instructions", {}) if there == here else {}), **counts}
        instructions = {name: round(all_counts[name], 1) for name in GUARDED if name in all_counts}
        text = json.dumps({"versions": here, "instructions": instructions}, indent=1)
        STORED.write_text(text + "\n", encoding="utf-8")
        print(f"kept in {STORED.name}")
        return 0
    if worse:
        print(f"\nmore instructions than before: {'; '.join(worse)}\nif that is meant: python -m eval.speed.guard --update")
    return 1 if worse else 0


if __name__ == "__main__":
    leave(main())
