"""Short ways to play: positions and cards as text for the tests by hand, legal cards at random for the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.get_bit.notation import cards_of, mask_of, parse_position, print_position, robot_name, robot_number
from getbit_env.get_bit.rules import Games, new_outcome, new_scratch, play_round
from getbit_env.get_bit.variants import Reward, Variant, parse_variant
from tests.get_bit.reference import Table

MANY_VARIANTS = [
    *("2p", "3p", "4p", "5p", "6p", "7p", "2p-half", "3p-literal", "4p-half", "4p-pick1", "2p-pick1", "3p-half-pick1-literal"),
    *("3p-1r", "4p-3c", "4p-2c-1l-pick1", "5p-7c-2l", "7p-3c-half", "3p-3c-1l"),
]


class After(NamedTuple):
    """What a round did."""

    position: str
    bitten: str | None
    finish: dict[str, int]  # places that the round decided
    over: bool
    reward: dict[str, float]


def cards_in(variant: Variant, text: str) -> NDArray[np.uint8]:
    """`A5 B3 ...` as the kernel takes it, `[R, 1]`."""
    cards = np.zeros((variant.robots, 1), np.uint8)
    for token in text.split():
        cards[robot_number(variant, token[0])] = mask_of([int(token[1:])])
    return cards


def play(name: str, position: str, *rounds: str, reward: str = "win", limb_reward: float = 0) -> After:
    """Play rounds from a position; each robot in the line plays a card of its hand, as in `A5 B3 C3 D1`."""
    variant = parse_variant(name)
    games, outcome, scratch = parse_position(variant, position), *fresh(variant, 1)
    for text in rounds:
        cards = cards_in(variant, text)
        assert ((cards != 0) == (games.limbs != 0)).all(), f"every robot in the line plays, and nobody else: {text}"
        assert (cards & ~games.hand == 0).all(), f"a card that is not in the hand: {text}"
        pays = variant.reward_of_finish(reward).astype(np.float32)
        play_round(variant.rules, games, cards, pays, np.float32(limb_reward), scratch, outcome, 0, 1)
    bitten = [robot_name(variant, r) for r in range(variant.robots) if outcome.bitten[r, 0]]
    assert len(bitten) <= 1
    names = "ABCDEFG"[: variant.players]
    return After(
        position=print_position(variant, games),
        bitten=bitten[0] if bitten else None,
        finish={p: int(place) for p, place in zip(names, outcome.finish[:, 0], strict=True) if place},
        over=bool(outcome.over[0]),
        reward={p: float(pay) for p, pay in zip(names, outcome.reward[:, 0], strict=True) if pay},
    )


def fresh(variant: Variant, games: int):
    """Outcome and scratch for a batch."""
    return new_outcome(variant.robots, variant.players, games), new_scratch(variant.robots)


def random_cards(variant: Variant, games: Games, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A legal card for every robot in the line of every game, each as likely as any other: `[R, G]`."""
    bits = np.uint8(1) << np.arange(variant.cards, dtype=np.uint8)
    in_hand = games.hand[..., None] & bits
    choice = np.where(in_hand, rng.random(in_hand.shape), -1).argmax(-1)
    return np.where(games.limbs > 0, bits[choice], 0).astype(np.uint8)


def copy_of(games: Games, columns: NDArray[np.intp] | list[int] | slice = slice(None)) -> Games:
    """Some games of a batch, or all, in arrays of their own."""
    return Games(*(np.ascontiguousarray(array[..., columns]).copy() for array in games))


def line_of(games: Games, game: int) -> list[int]:
    """The robots of a game by place, those that are out last."""
    return [int(r) for r in np.argsort(games.place[:, game])]


def table_at(variant: Variant, games: Games, game: int) -> Table:
    """The reference in a position of a batch."""
    line = line_of(games, game)
    table = Table(
        line,
        robots_each=variant.robots_per_player,
        cards=variant.cards,
        limbs=variant.limbs,
        pick_up_at=variant.pick_up_at,
        literal=variant.three_player_ending == "literal",
    )
    for r, robot in enumerate(table.robots):
        robot.limbs = int(games.limbs[r, game])
        robot.hand = cards_of(games.hand[r, game])
        robot.table = [c for c in range(1, variant.cards + 1) if c not in robot.hand]
    table.line = [r for r in line if table.robots[r].limbs]
    table.out = [r for r in reversed(line) if not table.robots[r].limbs]
    table.first_round = bool(games.rounds[game] == 0)
    return table


def cards_of_game(cards: NDArray[np.uint8], game: int) -> dict[int, int]:
    """The cards that the robots of one game play, as the reference takes them."""
    return {r: cards_of(bit)[0] for r, bit in enumerate(cards[:, game]) if bit}


def pays(reward: str, players: int, place: int) -> float:
    """What a finishing place pays, from the page of the rules."""
    if reward == Reward.WIN:
        return 1.0 if place == 1 else -1 / (players - 1)
    return 1 - 2 * (place - 1) / (players - 1)
