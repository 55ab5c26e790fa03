"""What an attack tried, and what broke."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_MESSAGE = 2000  # letters that a person reads


@dataclass
class Report:
    """Counts of what was tried, and the faults that were found, each with what it takes to do it again."""

    seed: int
    tried: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, what: str) -> None:
        """Note a fault."""
        self.faults.append(what)

    def __str__(self) -> str:
        lines = [f"seed {self.seed}"]
        lines += [f"{number:9,}  {what}" for what, number in sorted(self.tried.items())]
        lines += ["came out as"] + [f"{number:9,}  {what}" for what, number in self.outcomes.most_common()]
        lines += [f"{len(self.faults)} faults"] + self.faults[:50]
        return "\n".join(lines)


def attempt(report: Report, what: str, call: Callable[[], object], promised: tuple[type[BaseException], ...]) -> bool:
    """Call, and note a fault if anything is raised that is not promised, or a message that nobody can read.

    Returns:
        Whether the call succeeded.
    """
    try:
        call()
    except promised as error:
        text = str(error)
        report.outcomes[type(error).__name__] += 1
        if not text.strip() or len(text) > LONGEST_MESSAGE:
            report.fault(f"{what}: {type(error).__name__} with a message of {len(text):,} letters: {text[:100]!r}")
        return False
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        report.outcomes[f"{type(error).__name__} (not promised)"] += 1
        report.fault(f"{what}: {type(error).__name__}: {str(error)[:200]} ({where.filename}:{where.lineno})")
        return False
    report.outcomes["accepted"] += 1
    return True


def damaged(dice: random.Random, data: bytes) -> bytes:
    """A copy of a file with one kind of damage."""
    kind = dice.randrange(6)
    at = dice.randrange(max(1, len(data)))
    if kind == 0:
        return data[:at]
    if kind == 1:
        flipped = bytearray(data)
        if flipped:
            flipped[at] ^= 1 << dice.randrange(8)
        return bytes(flipped)
    if kind == 2:
        return data[:at] + dice.randbytes(dice.randrange(1, 40)) + data[at:]
    if kind == 3:
        return data[:at] + data[min(len(data), at + dice.randrange(1, 200)) :]
    if kind == 4:
        return data + dice.randbytes(dice.randrange(1, 100))
    return dice.randbytes(dice.randrange(0, 200))
