"""Short ways to play: positions and decisions as text for the tests by hand, legal actions at random for the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from getbit_env.core.streams import random_bits
from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.notation import legal_actions, parse_action, parse_position, print_action, print_position
from getbit_env.sharks_are_wild.rules import OVER, Games, new_outcome
from getbit_env.sharks_are_wild.rules import play as play_kernel
from getbit_env.sharks_are_wild.variants import parse_variant

MANY_VARIANTS = [
    *("sharks-2p-level1", "sharks-3p-level1", "sharks-4p-level1", "sharks-2p-level2", "sharks-3p-level2", "sharks-4p-level2"),
    "sharks-2p-level2-1of-1sharks-0octopuses-1dolphins-60turns",  # as few cards as can be dealt: both piles run out
    "sharks-2p-level2-2of-2sharks-8octopuses-8dolphins-3hand",
    "sharks-3p-level2-2of-4sharks-9octopuses-2dolphins-6run-3coins",  # a 0 can be played
    "sharks-2p-level1-2of-1sharks-2hand-10run-2coins-90turns",
    "sharks-4p-level2-1of-12sharks-9octopuses-1hand-3run-2coins",
    "sharks-3p-level2-2of-4sharks-9octopuses-5dolphins-80turns-octopusontop-mustblock-maydecline-earlyshuffle",
]


class After(NamedTuple):
    """What some decisions did."""

    position: str
    finish: dict[str, int]
    over: bool
    reward: dict[str, float]


def play(name: str, position: str, *decisions: str, stream: int = 1) -> After:
    """Make decisions from a position, each as the notation says it; cards that are not in the position don't exist."""
    variant = parse_variant(name)
    games, outcome = parse_position(variant, position, all_cards=False), new_outcome(variant.players, 1)
    streams, counters, active = np.array([stream], np.uint64), np.zeros(1, np.uint64), np.ones(1, np.uint8)
    for decision in decisions:
        actions = np.full((1, variant.players), parse_action(variant, games, decision))
        pays = variant.reward_of_finish().astype(np.float32)
        play_kernel(variant.rules, games, actions, active, streams, counters, pays, outcome, 0, 1)
    names = "ABCD"[: variant.players]
    return After(
        position=print_position(variant, games),
        finish={p: int(place) for p, place in zip(names, outcome.finish[:, 0], strict=True) if place},
        over=bool(outcome.over[0]),
        reward={p: round(float(pay), 4) for p, pay in zip(names, outcome.reward[:, 0], strict=True) if pay},
    )


def legal(name: str, position: str) -> list[str]:
    """What is legal in a position, in words."""
    variant = parse_variant(name)
    games = parse_position(variant, position, all_cards=False)
    return [print_action(variant, games, action) for action in legal_actions(variant.rules, games)]


def random_actions(engine: Engine, number: int, seed: int = 1000) -> np.ndarray:
    """A legal action for whoever decides in each game, by streams of their own; `[G, P]`. Observes as well."""
    engine.observe()
    mask = engine.action_mask
    keys = np.arange(mask.shape[0] * mask.shape[1], dtype=np.uint64).reshape(mask.shape[:2]) * np.uint64(seed)
    wanted = (random_bits(keys, np.uint64(number + 1)) % mask.sum(axis=-1, dtype=np.uint64))[..., None]
    count = np.cumsum(mask, axis=-1, dtype=np.uint64)
    return ((mask > 0) & (count == wanted + np.uint64(1))).argmax(axis=-1)


def copy_of(games: Games, rows: list[int] | slice = slice(None)) -> Games:
    """Some games of a batch, or all, in arrays of their own."""
    return Games(*(np.ascontiguousarray(array[rows]).copy() for array in games))


def is_over(games: Games) -> np.ndarray:
    """`[G]`."""
    return games.stage == OVER
