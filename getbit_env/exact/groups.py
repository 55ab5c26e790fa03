"""Positions in groups, so that no machine has to hold the positions of a whole wave.

A *group* is what positions of a wave have in common if the order of the line is left out: how many limbs and how many cards in hand
each robot has. Whatever is played, a robot that is bitten loses a limb and takes its cards back, and every other robot has one card
less, or takes its cards back. So a group leads to as many groups as it has different robots, at most. A step from a group to the
next wave needs the group itself and those few.

Positions have codes inside their group, and numbers inside it by their codes' order:

    code    mixed-radix number made of the hands, each counted among the hands of its size, and of the owner pattern, after the
            first code of the position's *layer*, which is an order of the group's robots
    number  how many reachable positions of the group have a smaller code

Roles, waves and joint choices are those of `positions`, whose numbering takes one array for the whole game. Axes: P players
(roles), R robots, J joint choices of a position.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import size_of
from getbit_env.core.compiled import kernel
from getbit_env.exact.positions import AT_ONCE, Expansion, list_joint_choices, see_games
from getbit_env.get_bit.rules import Games, Rules, new_games, new_outcome, new_scratch, play_round
from getbit_env.get_bit.variants import Variant

MOST_POSITIONS_CODES = 1e10  # 5p has 3.05e9; a game of six has 1e13
Group = tuple[tuple[int, int], ...]  # limbs and cards in hand of each robot in the line, ascending; or in the line's order


@cache
def grouping_digest() -> str:
    """Hex digest of this file, which says what a number inside a group means."""
    return hashlib.sha256(Path(__file__).read_bytes().replace(b"\r\n", b"\n")).hexdigest()


# --- which groups there are -----------------------------------------------------------------------------------------------


def check_grouped(variant: Variant) -> None:
    """Refuse a variant whose positions are not grouped, or too many.

    Raises:
        TypeError: it is no variant of Get Bit!.
        ValueError: with the reason.
    """
    if not isinstance(variant, Variant):
        raise TypeError(f"variant is one of Get Bit!, such as `parse_variant('5p')` gives, not {variant!r}")
    if variant.memory:
        raise ValueError(
            f"positions of {variant} are not numbered: give the face-up game {replace(variant, memory=False)}, "
            "which is the same game for players with perfect recall"
        )
    if variant.players == 3 and variant.robots_per_player == 2:
        raise ValueError(f"positions of {variant} are not numbered: three players with two robots each have too many")
    most = codes_at_most(variant)
    if most > MOST_POSITIONS_CODES:
        raise ValueError(
            f"{variant} is too large to be judged exactly, on any number of machines: its positions have about {most:.0e} codes, "
            f"and {MOST_POSITIONS_CODES:.0e} is the most. Fewer cards or limbs make it smaller, such as 6p-4c-2l"
        )


def codes_at_most(variant: Variant) -> float:
    """About how many codes all groups have; exact where that takes no time."""
    sizes = range(variant.pick_up_at + 1, variant.cards + 1)
    hands = sum(math.comb(variant.cards, size) for size in sizes)
    patterns = 3 if variant.robots_per_player == 2 else 1
    bound = patterns * sum(float(variant.limbs * hands) ** line for line in range(variant.last_line + 1, variant.robots + 1))
    if bound <= MOST_POSITIONS_CODES or bound > 1e3 * MOST_POSITIONS_CODES:
        return bound
    return float(sum(number_of_codes(variant, group) for wave in groups_of(variant) for group in wave))


def successors_of(variant: Variant, wave: int, group: Group) -> list[Group]:
    """The groups of the next wave to which a group leads, in their order."""

    def fewer(size: int) -> int:  # G5.1, G5.2
        return size - 1 if size - 1 > variant.pick_up_at else variant.cards

    after = [(limbs, fewer(size)) for limbs, size in group]
    if wave == 0:  # nobody is bitten in the first round (G4.1)
        return [tuple(sorted(after))]
    found = set()
    for bitten, (limbs, _) in enumerate(group):
        rest = after[:bitten] + after[bitten + 1 :]
        line = [*rest, (limbs - 1, variant.cards)] if limbs > 1 else rest
        if len(line) > variant.last_line:
            found.add(tuple(sorted(line)))
    return sorted(found)


@cache
def groups_of(variant: Variant) -> tuple[tuple[Group, ...], ...]:
    """The groups of each wave, in their order."""
    wave: list[Group] = [((variant.limbs, variant.cards),) * variant.robots]
    waves = []
    while wave:
        waves.append(tuple(wave))
        wave = sorted({after for group in wave for after in successors_of(variant, len(waves) - 1, group)})
    return tuple(waves)


def number_of_codes(variant: Variant, group: Group) -> int:
    """How many codes a group has; at least as many as positions."""
    orders = math.factorial(len(group))
    for same in Counter(group).values():
        orders //= math.factorial(same)
    patterns = 3 if variant.robots_per_player == 2 else 1
    return orders * patterns * math.prod(math.comb(variant.cards, size) for _, size in group)


# --- a step from a group to the next wave ---------------------------------------------------------------------------------


class Layers(NamedTuple):
    """Layers, and their first codes. All of one group, or those of several groups after each other."""

    limbs: NDArray[np.uint8]  # [L, R] front to back, 0 behind the line
    sizes: NDArray[np.uint8]  # [L, R] cards in hand
    base: NDArray[np.int64]  # [L, R + 1] what a hand in each place counts in a code, and then the owner pattern
    start: NDArray[np.int64]  # [L + 1]


class Step(NamedTuple):
    """What kernels need to lead the positions of a group to those of the next wave."""

    rules: Rules
    players: int
    wave: int
    hands: NDArray[np.uint8]  # [cards + 1, H] the hands of each size
    rank: NDArray[np.int64]  # [256] place of a hand among those of its size
    size: NDArray[np.uint8]  # [256] cards in each hand
    own: Layers
    after: Layers  # of the groups to which it leads
    kind: NDArray[np.int64]  # [limbs + 1, cards + 1] a digit for each kind of robot in them, 0 for none
    power: NDArray[np.int64]  # [R] of the digits' base
    layer_at: NDArray[np.int64]  # [base^R] the layer with these kinds of robots, front to back, front lowest; -1 for none
    words: NDArray[np.uint64]  # [codes / 64] a bit a code of `after`: reachable
    counts: NDArray[np.int64]  # [codes / 64 + 1] the number of the first code of each word


def layers_of(variant: Variant, groups: list[Group]) -> tuple[Layers, NDArray[np.int64]]:
    """The layers of some groups, and the first code of each group, `[G + 1]`, which is a multiple of 64."""
    patterns = 3 if variant.robots_per_player == 2 else 1
    limbs, sizes, start, first = [], [], [], []
    code = 0
    for group in groups:
        first.append(code)
        for order in sorted(set(itertools.permutations(group))):
            padded = [*order, *[(0, 0)] * (variant.robots - len(order))]
            limbs.append([robot[0] for robot in padded])
            sizes.append([robot[1] for robot in padded])
            start.append(code)
            code += patterns * math.prod(math.comb(variant.cards, size) for _, size in order)
        code = -(-code // 64) * 64
    shape = (len(start), variant.robots)
    sizes_of = np.array(sizes, np.uint8).reshape(shape)
    base = np.ones((len(start), variant.robots + 1), np.int64)
    base[:, 1:] = np.cumprod(np.array([math.comb(variant.cards, size) for size in range(variant.cards + 1)])[sizes_of], axis=1)
    layers = Layers(np.array(limbs, np.uint8).reshape(shape), sizes_of, base, np.array([*start, code], np.int64))
    return layers, np.array([*first, code], np.int64)


def new_step(variant: Variant, wave: int, group: Group) -> tuple[Step, NDArray[np.int64]]:
    """The step from a group, without numbers, and the first code of each group to which it leads, `[G + 1]`."""
    rules, cards = variant.rules, variant.cards
    masks = [[mask for mask in range(1 << cards) if mask.bit_count() == size] for size in range(cards + 1)]
    hands = np.zeros((cards + 1, max(map(len, masks))), np.uint8)
    rank = np.zeros(256, np.int64)
    for size, found in enumerate(masks):
        hands[size, : len(found)] = found
        rank[found] = np.arange(len(found))
    groups = successors_of(variant, wave, group)
    after, first = layers_of(variant, groups)
    kinds = sorted({robot for found in groups for robot in found})
    kind = np.zeros((variant.limbs + 1, cards + 1), np.int64)
    for digit, (limbs, size) in enumerate(kinds, 1):
        kind[limbs, size] = digit
    power = (len(kinds) + 1) ** np.arange(variant.robots, dtype=np.int64)
    layer_at = np.full((len(kinds) + 1) ** variant.robots, -1, np.int64)
    layer_at[kind[after.limbs, after.sizes] @ power] = np.arange(len(after.limbs))
    step = Step(
        rules=rules,
        players=variant.players,
        wave=wave,
        hands=hands,
        rank=rank,
        size=np.bitwise_count(np.arange(256, dtype=np.uint8)),
        own=layers_of(variant, [group])[0],
        after=after,
        kind=kind,
        power=power,
        layer_at=layer_at,
        words=np.zeros(0, np.uint64),
        counts=np.zeros(1, np.int64),
    )
    return step, first


def numbered(step: Step, words: NDArray[np.uint64], first: int) -> Step:
    """The step whose successors, those with a bit in `words`, have numbers from `first` on; the end of a game has the next one."""
    counts = np.full(len(words) + 1, first, np.int64)
    counts[1:] += np.cumsum(np.bitwise_count(words), dtype=np.int64)
    return step._replace(words=words, counts=counts)


def new_group_expansion(variant: Variant) -> Expansion:
    """An expansion of at most `AT_ONCE` positions of any group, still empty."""
    robots, cards = variant.robots, variant.cards
    joint = cards**robots
    return Expansion(
        new_games(robots, joint),
        np.zeros((robots, joint), np.uint8),
        new_outcome(robots, variant.players, joint),
        new_scratch(robots),
        np.zeros(1, np.float32),
        np.zeros((AT_ONCE, robots, cards), np.uint8),
        np.zeros((AT_ONCE, robots), np.int64),
        np.zeros(AT_ONCE, np.int64),
        np.zeros((AT_ONCE, joint), np.int64),
        np.zeros((AT_ONCE, variant.players, joint), np.uint8),
    )


@kernel
def _set_position(step: Step, code: int, games: Games, first: int, last: int) -> None:
    """Write the position of a code into the games `first:last`, its robots numbered by role and then front to back."""
    robots = games.place.shape[0]
    layer = np.searchsorted(step.own.start, code, side="right") - 1
    code -= step.own.start[layer]
    limbs, sizes, base = step.own.limbs[layer], step.own.sizes[layer], step.own.base[layer]
    partner = 1 + code // base[robots]  # place of the front robot's partner, where players have two
    seen = 0
    for k in range(robots):
        robot = k
        if step.rules.robots_per_player == 2 and k > 0:
            robot = 1 if k == partner else 2 + seen
            seen += k != partner
        hand = np.uint8(0)
        if limbs[k] > 0:
            hand = step.hands[sizes[k], code // base[k] % (base[k + 1] // base[k])]
        games.place[robot, first:last] = k
        games.limbs[robot, first:last] = limbs[k]
        games.hand[robot, first:last] = hand
        games.played[robot, first:last] = 0
    games.rounds[first:last] = step.wave


@kernel
def set_positions(step: Step, codes: NDArray[np.int64], games: Games) -> None:
    """Write the positions of some codes of the step's group, `[G]`, into the games of a batch."""
    for g in range(codes.shape[0]):
        _set_position(step, codes[g], games, g, g + 1)


@kernel
def _read_successors(step: Step, by_number: bool, expansion: Expansion, k: int) -> None:
    """What position `k` leads to, and the players' roles there; the games of the expansion are its joint choices, played."""
    games = expansion.games
    robots, two = games.place.shape[0], step.rules.robots_per_player == 2
    end = step.counts[step.counts.shape[0] - 1] if by_number else np.int64(-1)
    for g in range(expansion.joint[k]):
        over = expansion.outcome.over[g] > 0
        if not two:
            for p in range(step.players):
                expansion.role[k, p, g] = games.place[p, g]
        elif over:
            for p in range(step.players):
                expansion.role[k, p, g] = expansion.outcome.finish[p, g] - 1
        else:
            front_owner = 0 if games.place[0, g] == 0 or games.place[1, g] == 0 else 1
            expansion.role[k, 0, g] = front_owner
            expansion.role[k, 1, g] = 1 - front_owner
        if over:
            expansion.successor[k, g] = end
            continue
        key = np.int64(0)
        for r in range(robots):
            if games.limbs[r, g] > 0:
                key += step.kind[games.limbs[r, g], step.size[games.hand[r, g]]] * step.power[games.place[r, g]]
        layer = step.layer_at[key]
        if layer < 0:
            expansion.successor[k, g] = -2
            continue
        code = step.after.start[layer]
        for r in range(robots):
            if games.limbs[r, g] > 0:
                code += step.rank[games.hand[r, g]] * step.after.base[layer, games.place[r, g]]
            if two and games.place[r, g] == 0:
                code += (np.int64(games.place[r ^ 1, g]) - 1) * step.after.base[layer, robots]
        if by_number:
            word, bit = step.words[code >> 6], np.uint64(1) << np.uint64(code & 63)
            code = step.counts[code >> 6] + size_of(word & (bit - np.uint64(1))) if word & bit else np.int64(-2)
        expansion.successor[k, g] = code


@kernel
def expand_codes(step: Step, codes: NDArray[np.int64], by_number: bool, expansion: Expansion) -> None:
    """Play every joint choice of at most `AT_ONCE` positions of the step's group.

    Args:
        step: of the group; with numbers if `by_number`.
        codes: `[K]` of the positions.
        by_number: fill `expansion.successor` with numbers of the next wave's positions, and the one after the last for the end of a
            game. Otherwise with their codes, and -1. A position that the step does not know is -2, which no legal play leads to.
        expansion: filled in; joint choices are in the order of `positions.expand`.
    """
    games = expansion.games
    for k in range(codes.shape[0]):
        _set_position(step, codes[k], games, 0, 1)
        joint = list_joint_choices(expansion, k)
        _set_position(step, codes[k], games, 0, joint)
        play_round(
            step.rules, games, expansion.cards, expansion.pays, np.float32(0), expansion.scratch, expansion.outcome, 0, joint
        )
        _read_successors(step, by_number, expansion, k)


@kernel
def mark_successors(expansion: Expansion, count: int, marks: NDArray[np.uint8]) -> bool:
    """Mark the codes of what follows from the first `count` positions of `expansion`; False if one of them is unknown."""
    known = True
    for k in range(count):
        for g in range(expansion.joint[k]):
            code = expansion.successor[k, g]
            if code >= 0:
                marks[code] = 1
            elif code < -1:
                known = False
    return known


class GroupPositions:
    """Some of the positions of a group, numbered from 0, as `AskedPolicy` asks about them.

    Attributes:
        variant: the game.
        step: of the group.
        codes: `[N]` of the positions.
    """

    variant: Variant
    step: Step
    codes: NDArray[np.int64]

    def __init__(self, variant: Variant, step: Step, codes: NDArray[np.int64]) -> None:
        self.variant, self.step, self.codes = variant, step, codes

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.codes)

    def games(self, numbers: NDArray[np.int64]) -> Games:
        """The positions of some numbers as a batch of games, whose players are numbered by role."""
        games = new_games(self.variant.robots, len(numbers))
        set_positions(self.step, self.codes[numbers], games)
        return games

    def see(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """What the player of each role observes, and what it may play; see `Positions.see`."""
        return see_games(self.variant, self.games(numbers))
