"""What the benchmark holds fixed. Nothing here changes without a new name of the protocol; a test holds `protocol_digest`."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from getbit_env.agent_registry import content_digest
from getbit_env.core.spec import GameSpec, Variant
from getbit_env.game_registry import find_variant, game_of

PROTOCOL = "getbit-benchmark-v1"
SEED = 20_261_130  # of all starts, of everything that agents draw, and of the mixed tables
TASKS = ("2p", "3p", "4p", "5p", "6p", "7p", "4p-memory", "4p-half") + tuple(
    f"sharks-{players}p-level{level}" for players in (2, 3, 4) for level in (1, 2)
)
MIXED = 4  # mixed tables of a task
DIGESTED_STARTS = 48  # so many starts of each task go into the digest

# The opponents by game. They are named here, so that a new bot changes no number of this protocol. First those against which
# recipes train by default, then those held out, against which no recipe trains unless it is told to. Those that search take
# hundreds of times as long and play fewer starts.
FAMILIAR: dict[str, tuple[str, ...]] = {
    "getbit/GetBit-v0": ("random", "highest", "lowest", "counter"),
    "getbit/SharksAreWild-v0": ("sharks-random", "sharks-greedy", "sharks-careful"),
}
HELD_OUT: dict[str, tuple[str, ...]] = {
    "getbit/GetBit-v0": (
        "forgetful",
        "level1",
        "level2",
        "adaptive",
        "mixture",
        "lookahead",
        "soft-lookahead",
        "montecarlo",
        "best-response:two_players",
        "best-response:four_players",
        "best-response:four_players_ppo",
    ),
    "getbit/SharksAreWild-v0": ("sharks-soft", "sharks-mixture", "sharks-montecarlo"),
}
SEARCHING = frozenset({"lookahead", "soft-lookahead", "montecarlo", "sharks-montecarlo"})
# Opponents that are not at every task of their game: `forgetful` plays as `counter` does where nothing is hidden, and a best
# response plays the variant for which it was computed.
ONLY_AT: dict[str, tuple[str, ...]] = {
    "forgetful": ("4p-memory",),
    "best-response:two_players": ("2p",),
    "best-response:four_players": ("4p",),
    "best-response:four_players_ppo": ("4p",),
}
# Counts changes of how a bot plays. Raised together with the version of the protocol.
OPPONENTS_VERSION = 1


@dataclass(frozen=True)
class Budget:
    """How much is played.

    Attributes:
        starts: of a table without a searching bot, each in all rotations.
        searching_starts: of a table with one.
        positions: games of so many positions are judged exactly.
        bound_frames: decisions that train the responder of a lower bound, where exact judging is not possible; 0: none is.
    """

    starts: int
    searching_starts: int
    positions: int
    bound_frames: int


BUDGETS = {
    "quick": Budget(240, 24, 1_000_000, 0),
    "standard": Budget(960, 240, 10_000_000, 500_000),
    "full": Budget(5040, 960, 10_000_000, 4_000_000),
}


def opponents_of(task: str) -> tuple[str, ...]:
    """The opponents of a task, those held out last."""
    game = find_variant(task).game
    return tuple(bot for bot in FAMILIAR[game] + HELD_OUT[game] if task in ONLY_AT.get(bot, (task,)))


def is_held_out(opponent: str) -> bool:
    """Whether recipes don't train against an opponent by default."""
    return any(opponent in bots for bots in HELD_OUT.values())


def tables_of(task: str) -> list[tuple[str, ...]]:
    """The players of the seats beside the agent: each bot in all of them, then the mixed tables."""
    others = find_variant(task).players - 1
    return [(bot,) * others for bot in opponents_of(task)] + mixed_tables(task)


def mixed_tables(task: str) -> list[tuple[str, ...]]:
    """Tables of different bots, as many different ones as there are seats. Two players have none: there is one opponent."""
    others, bots = find_variant(task).players - 1, opponents_of(task)
    if others < 2:
        return []
    tables = list(itertools.combinations(bots, others))
    return random.Random(f"{PROTOCOL} {SEED} {task}").sample(tables, MIXED)


def starts_of(table: tuple[str, ...], budget: Budget) -> int:
    """How many starts a table plays."""
    return budget.searching_starts if SEARCHING.intersection(table) else budget.starts


@cache
def protocol_digest() -> str:
    """Hex digest of what the protocol holds fixed.

    That is: tasks, seed, budgets, opponents, the weights of the agents to which some respond, tables, the first starts of each
    task.
    """
    digest = hashlib.sha256()
    fixed: dict[str, Any] = {
        "protocol": PROTOCOL,
        "seed": SEED,
        "budgets": {name: asdict(budget) for name, budget in BUDGETS.items()},
        "searching": sorted(SEARCHING),
        "familiar": FAMILIAR,
        "held out": HELD_OUT,
        "only at": ONLY_AT,
        "weights": {bot: content_digest(bot, find_variant(tasks[0])) for bot, tasks in ONLY_AT.items()},
        "opponents version": OPPONENTS_VERSION,
        "tables": {task: tables_of(task) for task in TASKS},
        "starts": {task: _first_starts(task) for task in TASKS},
    }
    digest.update(json.dumps(fixed, sort_keys=True).encode())
    return digest.hexdigest()[:16]


def _first_starts(task: str) -> Any:
    """The first starts of a task with all their rotations, as JSON can hold them."""
    variant: Variant = find_variant(task)
    game: GameSpec = game_of(variant)
    every = game.number_of_starts(variant) <= DIGESTED_STARTS
    starts = game.rotated_starts(variant, SEED, 0, DIGESTED_STARTS, every)
    return [[str(part) for part in start] for start in starts]
