"""Damaged files. Reading one raises what is promised, runs nothing that stands in it, and never takes it for another."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from getbit_env.agent_registry import SHIPPED
from getbit_env.exact import BestResponse, StoredResultError
from getbit_env.exact.positions import Positions
from getbit_env.get_bit.variants import parse_variant
from getbit_env.match import play_tournament
from getbit_env.network import POLICY_FILE, load_network
from tests.attack.report import Report, attempt, damaged


def attack_files(report: Report, dice: random.Random, number: int, folder: Path) -> None:
    """So many damaged copies of every kind of file that a person may be sent."""
    policy = (SHIPPED / "two_players" / POLICY_FILE).read_bytes()
    positions = Positions(parse_variant("4p-3c-1l"))
    answer = np.zeros((positions.count, 4), np.uint8)
    BestResponse(positions, answer, "nobody").save(folder / "response.npz")
    play_tournament(["highest", "lowest"], "2p-3c-1l", starts=4, path=folder / "tournament.json")
    readers: dict[str, tuple[bytes, Callable[[Path], object]]] = {
        "policy.safetensors": (policy, lambda path: load_network(path, "sent")),
        "response.npz": ((folder / "response.npz").read_bytes(), BestResponse.load),
        "tournament.json": (
            (folder / "tournament.json").read_bytes(),
            lambda path: play_tournament(["highest", "lowest"], "2p-3c-1l", starts=4, path=path),
        ),
    }
    for n in range(number):
        for name, (data, read) in readers.items():
            path = folder / f"damaged-{n}-{name}"
            path.write_bytes(damaged(dice, data))
            report.tried[f"damaged copies of {name}"] += 1
            attempt(
                report,
                f"damaged copy {n} of {name} ({path})",
                lambda read=read, path=path: read(path),
                (ValueError, StoredResultError),
            )  # type: ignore[misc]
            path.unlink()
