"""`python -m tests.attack`: some minutes of odd calls, damaged files, kills, interrupts and full disks; run before each release.

    python -m tests.attack                       # everything, about a quarter of an hour
    python -m tests.attack calls --number 20000  # calls alone, for longer
    python -m tests.attack kills --seed 7        # the same moments again, as far as the machine allows

It prints what it tried, what came of it, and every fault with what it takes to see it again; it ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
from pathlib import Path

from tests.attack.calls import attack_calls
from tests.attack.files import attack_files
from tests.attack.processes import attack_processes
from tests.attack.report import Report


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", nargs="*", choices=["calls", "files", "kills", []], help="by default all of them")
    parser.add_argument("--number", type=int, default=2000, help="rounds of calls, and of files; a hundredth of it of kills")
    parser.add_argument("--seed", type=int, help="by default drawn, and printed")
    options = parser.parse_args()
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    report, dice = Report(seed), random.Random(seed)
    chosen = options.what or ["calls", "files", "kills"]
    with tempfile.TemporaryDirectory() as folder:
        try:
            if "calls" in chosen:
                attack_calls(report, dice, options.number)
            if "files" in chosen:
                attack_files(report, dice, options.number, Path(folder))
            if "kills" in chosen:
                attack_processes(report, dice, max(1, options.number // 500), Path(folder))
        except KeyboardInterrupt:
            sys.stderr.write("broken off\n")
    sys.stdout.write(f"{report}\n")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
