"""How long the first game takes: importing the package, the first `reset` and the first `step` of a new process.

*Cold* is with an empty folder of compiled kernels, as after an installation or an upgrade, *warm* with what the cold process
left in it. Everything is measured inside a new process, after the interpreter has started.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import getbit_env

ROOT = Path(getbit_env.__file__).parents[1]
PARTS = {
    "dependencies": "import of numpy, numba, gymnasium, pettingzoo",
    "package": "import of getbit_env",
    "make": "`parallel_env()`",
    "reset": "first `reset`",
    "step": "first `step`",
}
# numba tells when it begins and ends to compile a function; what the function itself calls is compiled meanwhile.
CODE = """
import json, sys, time
marks = [time.perf_counter()]
import numpy, numba, gymnasium, pettingzoo
marks.append(time.perf_counter())
import getbit_env
marks.append(time.perf_counter())
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    marks.append(time.perf_counter())
    env = getbit_env.parallel_env()
    marks.append(time.perf_counter())
    seen, _ = env.reset(seed=0)
    marks.append(time.perf_counter())
    env.step({agent: int(seen[agent]["action_mask"].argmax()) for agent in env.agents})
    marks.append(time.perf_counter())
kernels, open_ones = {}, []
for stamp, what in recorder.buffer:
    if what.is_start:
        open_ones.append([stamp, 0.0])
        continue
    begin, within = open_ones.pop()
    function = what.data["dispatcher"].py_func
    kernel = kernels.setdefault(f"{function.__module__.split('.')[-1]}.{function.__name__}", [0, 0.0])
    kernel[0] += 1
    kernel[1] += stamp - begin - within
    if open_ones:
        open_ones[-1][1] += stamp - begin
spans = [b - a for a, b in zip(marks, marks[1:])]
del spans[2]
print(json.dumps({"spans": spans, "kernels": kernels}))
"""


def first_use(cache: Path | None) -> tuple[dict[str, float], dict[str, tuple[int, float]]]:
    """Play the first round in a new process.

    Args:
        cache: the folder of compiled kernels; the usual one if None.

    Returns:
        Seconds of each of `PARTS`; and for each kernel compiled how often that was done (once for each combination of argument
        types) and how many seconds it took, without what it calls.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return dict(zip(PARTS, result["spans"], strict=True)), {name: tuple(kernel) for name, kernel in result["kernels"].items()}


def measure_first_use(rounds: int, tick: Any) -> dict[str, Any]:
    """Medians over rounds of a cold process and three warm ones; `tick` is called after each process.

    Returns:
        `seconds`: for warm and cold by part; `kernels`: of the cold process, the slowest first.
    """
    spans: dict[str, list[dict[str, float]]] = {"warm": [], "cold": []}
    kernels: list[dict[str, tuple[int, float]]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("cold", "warm", "warm", "warm"):
                parts, compiled = first_use(Path(folder))
                spans[kind].append(parts)
                if kind == "cold":
                    kernels.append(compiled)
                elif compiled:
                    raise RuntimeError(f"a warm process compiled {', '.join(compiled)}: kernels are not cached")
                tick()
    seconds = {kind: {part: statistics.median(s[part] for s in found) for part in PARTS} for kind, found in spans.items()}
    names = sorted(kernels[0], key=lambda name: -statistics.median(k[name][1] for k in kernels))
    return {
        "seconds": seconds,
        "kernels": {name: (kernels[0][name][0], statistics.median(k[name][1] for k in kernels)) for name in names},
    }


def as_rows(seconds: dict[str, dict[str, float]]) -> list[tuple[str, float, float]]:
    """Rows: what, seconds warm, seconds cold; with sums."""
    rows = [(PARTS[part], seconds["warm"][part], seconds["cold"][part]) for part in PARTS]
    sums = {
        "import, in all": ("dependencies", "package"),
        "first `reset` and `step`, with `parallel_env()`": ("make", "reset", "step"),
    }
    for name, parts in sums.items():
        warm, cold = (sum(seconds[kind][part] for part in parts) for kind in ("warm", "cold"))
        rows.append((f"**{name}**", warm, cold))
    return rows
