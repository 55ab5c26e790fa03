"""Every position that a game can come to, numbered, and the step from one to the positions of the next round.

From the second round on each round costs somebody a limb, so no position comes twice in a game: positions fall into *waves* by
rounds played, a round leads from one wave to the next, and whatever is asked of a whole game (equilibria, best responses, how
often a position is met) is one pass over the waves. All steps go through `rules.play_round`.

A position is what decides the rest of a game: the robots in the line front to back, whose they are, their limbs and hands, and
whether the first round is still to be played. What the players are called does not matter: with one robot each, *role* `p` is
the player of the robot in place `p`; with two, role 0 is the owner of the front robot. Numbers are found in two steps:

    code    mixed-radix number made of owner pattern and hands, after the first code of the position's *layer* (its limbs front
            to back); layers are ordered by wave
    number  how many reachable positions have a smaller code: a bit a code, and a count for every 64 of them

Reachable is what some legal play leads to from some starting line. The number after the last one stands for the end of a game,
where the role is the finishing place - 1. Axes: N positions, P players (roles), R robots, J joint choices of a position, A actions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import size_of
from getbit_env.core.compiled import kernel
from getbit_env.core.layouts import Show
from getbit_env.exact.stored_results import StoredResult, read_kept, save_result
from getbit_env.get_bit.observations import (
    Layout,
    View,
    new_observation_workspace,
    new_record,
    observe,
    read_hand,
    read_limbs,
    reads_first_round,
    reads_own,
)
from getbit_env.get_bit.rules import Games, Outcome, Rules, Scratch, new_games, new_outcome, new_scratch, play_round
from getbit_env.get_bit.variants import Variant

NUMBERING = "numbering"  # kind of the stored result
AT_ONCE = 64  # positions that are expanded together
MOST_CODES = 1 << 33  # 2.1 GB: a bit a code, and a count of 64 bits for every 64 codes
Progress = Callable[[str, int, int], None]  # what is going on, how much of it is done, and of how much
W = TypeVar("W")
T = TypeVar("T")


def silent(_what: str, _done: int, _all: int) -> None:
    """The `Progress` that shows nothing."""


class Index(NamedTuple):
    """The numbering of a variant's positions, as kernels take it."""

    rules: Rules
    players: int
    hands: NDArray[np.uint8]  # [H] the hands that a robot can have between rounds
    digit: NDArray[np.int64]  # [256] place of a hand in `hands`, -1 if it is none of them
    power: NDArray[np.int64]  # [R + 1] of H
    limbs_power: NDArray[np.int64]  # [R] of limbs + 1
    patterns: int  # ways in which two players can own the line, seen from the owner of the front robot
    layer_limbs: NDArray[np.uint8]  # [layers, R] front to back, 0 behind the line; the first layer is the first round
    layer_start: NDArray[np.int64]  # [layers + 1] first code
    layer_at: NDArray[np.int64]  # [(limbs + 1)^R] the layer with these limbs, front to back as digits, front lowest
    wave_layer: NDArray[np.int64]  # [waves + 1] first layer
    words: NDArray[np.uint64]  # [codes / 64] a bit a code: reachable
    counts: NDArray[np.int64]  # [codes / 64 + 1] reachable codes before this word


class Expansion(NamedTuple):
    """The joint choices of some positions, `[K]`, and where they lead. A thread keeps one and fills it again and again."""

    games: Games  # [R, J]
    cards: NDArray[np.uint8]  # [R, J]
    outcome: Outcome
    scratch: Scratch
    pays: NDArray[np.float32]
    options: NDArray[np.uint8]  # [K, R, cards] cards in each robot's hand, as bits
    choices: NDArray[np.int64]  # [K, R] how many; 1 for a robot that is out
    joint: NDArray[np.int64]  # [K] how many joint choices
    successor: NDArray[np.int64]  # [K, J] code or number of the position that follows; -1, or N, if the game is over
    role: NDArray[np.uint8]  # [K, P, J] the role in it of the player in role p


def new_expansion(index: Index) -> Expansion:
    """An expansion of at most `AT_ONCE` positions, still empty."""
    robots = index.layer_limbs.shape[1]
    cards = int(index.rules.deck).bit_count()
    joint = cards**robots
    return Expansion(
        new_games(robots, joint),
        np.zeros((robots, joint), np.uint8),
        new_outcome(robots, index.players, joint),
        new_scratch(robots),
        np.zeros(1, np.float32),
        np.zeros((AT_ONCE, robots, cards), np.uint8),
        np.zeros((AT_ONCE, robots), np.int64),
        np.zeros(AT_ONCE, np.int64),
        np.zeros((AT_ONCE, joint), np.int64),
        np.zeros((AT_ONCE, index.players, joint), np.uint8),
    )


# --- codes and numbers ----------------------------------------------------------------------------------------------------


@kernel
def number_of(index: Index, code: int) -> int:
    """The number of a code, -1 if no play leads to it."""
    word, bit = index.words[code >> 6], np.uint64(1) << np.uint64(code & 63)
    if word & bit == np.uint64(0):
        return -1
    return int(index.counts[code >> 6] + size_of(word & (bit - np.uint64(1))))


@kernel
def code_of(index: Index, number: int) -> int:
    """The code of a number."""
    word = np.searchsorted(index.counts, number, side="right") - 1
    left = number - index.counts[word]
    bits = index.words[word]
    for _ in range(left):
        bits &= bits - np.uint64(1)
    return int(word * 64 + size_of((bits & (~bits + np.uint64(1))) - np.uint64(1)))


@kernel
def set_position(index: Index, code: int, games: Games, first: int, last: int) -> None:
    """Write the position of a code into the games `first:last`, its robots numbered by role and then front to back."""
    robots = games.place.shape[0]
    each = index.rules.robots_per_player
    layer = np.searchsorted(index.layer_start, code, side="right") - 1
    code -= index.layer_start[layer]
    limbs = index.layer_limbs[layer]
    line = 0
    for k in range(robots):
        line += limbs[k] > 0
    base = index.hands.shape[0]
    digits = code
    partner = 1 + code // index.power[line]  # place of the front robot's partner
    seen = 0
    for k in range(1, robots):
        digit = digits % base
        robot = k
        if each == 2:
            robot = 1 if k == partner else 2 + seen
            seen += k != partner
        games.place[robot, first:last] = k
        games.limbs[robot, first:last] = limbs[k]
        games.hand[robot, first:last] = index.hands[digit] if k < line else 0
        games.played[robot, first:last] = 0
        if k < line:
            digits //= base
    games.place[0, first:last] = 0
    games.limbs[0, first:last] = limbs[0]
    games.hand[0, first:last] = index.hands[digits % base]
    games.played[0, first:last] = 0
    games.rounds[first:last] = np.searchsorted(index.wave_layer, layer, side="right") - 1


@kernel
def _read_codes(index: Index, expansion: Expansion, k: int) -> None:
    """The codes of the positions in `expansion.games`, and the roles of their players, as what position `k` leads to."""
    robots, players = expansion.games.place.shape[0], index.players
    for g in range(expansion.joint[k]):
        line, limbs_key = 0, 0
        for r in range(robots):
            line += expansion.games.limbs[r, g] > 0
        if index.rules.robots_per_player == 1:
            for p in range(players):
                expansion.role[k, p, g] = expansion.games.place[p, g]
        elif expansion.outcome.over[g]:
            for p in range(players):
                expansion.role[k, p, g] = expansion.outcome.finish[p, g] - 1
        else:
            front_owner = 0 if expansion.games.place[0, g] == 0 or expansion.games.place[1, g] == 0 else 1
            expansion.role[k, 0, g] = front_owner
            expansion.role[k, 1, g] = 1 - front_owner
        if expansion.outcome.over[g]:
            expansion.successor[k, g] = -1
            continue
        code = 0
        for r in range(robots):
            place, limbs = np.int64(expansion.games.place[r, g]), np.int64(expansion.games.limbs[r, g])
            if limbs > 0:
                code += index.digit[expansion.games.hand[r, g]] * index.power[(line if place == 0 else place) - 1]
                limbs_key += limbs * index.limbs_power[place]
                if index.rules.robots_per_player == 2 and place == 0:
                    code += (np.int64(expansion.games.place[r ^ 1, g]) - 1) * index.power[line]
        expansion.successor[k, g] = index.layer_start[index.layer_at[limbs_key]] + code


# --- a round --------------------------------------------------------------------------------------------------------------


@kernel
def list_joint_choices(expansion: Expansion, k: int) -> int:
    """Lay out the joint choices of position `k` of an expansion, which its first game is set to; returns how many there are.

    Joint choices are numbered with the choice of robot 0 as the slowest digit, so that of two own robots the one nearer the
    front comes first, as in actions; each robot's choices are its cards in ascending order.
    """
    robots = expansion.games.place.shape[0]
    joint = 1
    for r in range(robots):
        hand, n = np.int64(expansion.games.hand[r, 0]), 0
        expansion.options[k, r, 0] = 0
        while hand:
            expansion.options[k, r, n] = hand & -hand
            hand &= hand - 1
            n += 1
        expansion.choices[k, r] = max(n, 1)
        joint *= expansion.choices[k, r]
    expansion.joint[k] = joint
    run = joint
    for r in range(robots):
        cards = expansion.cards[r]
        outer = run
        run //= expansion.choices[k, r]
        for begin in range(0, joint, outer):
            for i in range(expansion.choices[k, r]):
                cards[begin + i * run : begin + (i + 1) * run] = expansion.options[k, r, i]
    return int(joint)


@kernel
def _expand(index: Index, codes: NDArray[np.int64], numbered: bool, expansion: Expansion) -> None:
    """Play every joint choice of at most `AT_ONCE` positions; `expansion` then holds what they lead to, as codes or as numbers.

    What is done with the result is left to other kernels: the rules are long to compile, and everything that calls them is
    compiled with them.
    """
    games = expansion.games
    end = index.counts[index.counts.shape[0] - 1] if numbered else 0
    for k in range(codes.shape[0]):
        set_position(index, codes[k], games, 0, 1)
        joint = list_joint_choices(expansion, k)
        set_position(index, codes[k], games, 0, joint)
        play_round(
            index.rules, games, expansion.cards, expansion.pays, np.float32(0), expansion.scratch, expansion.outcome, 0, joint
        )
        _read_codes(index, expansion, k)
        if numbered:
            for g in range(joint):
                code = expansion.successor[k, g]
                expansion.successor[k, g] = end if code < 0 else number_of(index, code)


@kernel
def _find_codes(index: Index, numbers: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
    for i in range(numbers.shape[0]):
        codes[i] = code_of(index, numbers[i])


def expand(index: Index, numbers: NDArray[np.int64], expansion: Expansion) -> None:
    """Play every joint choice of the positions `numbers`, at most `AT_ONCE`; see `_expand`."""
    codes = np.empty(len(numbers), np.int64)
    _find_codes(index, numbers, codes)
    _expand(index, codes, True, expansion)


@kernel
def _mark_successors(expansion: Expansion, count: int, base: int, marks: NDArray[np.uint8]) -> None:
    """Mark what follows from the first `count` positions of `expansion`; `marks` begins at code `base`."""
    for k in range(count):
        for g in range(expansion.joint[k]):
            if expansion.successor[k, g] >= 0:
                marks[expansion.successor[k, g] - base] = 1


# --- observations ---------------------------------------------------------------------------------------------------------


@kernel
def set_positions(index: Index, numbers: NDArray[np.int64], games: Games) -> None:
    """Write the positions of some numbers, `[G]`, into the games of a batch."""
    for g in range(numbers.shape[0]):
        set_position(index, code_of(index, numbers[g]), games, g, g + 1)


@kernel
def read_observations(
    index: Index, view: View, observation: NDArray[np.float32], numbers: NDArray[np.int64], roles: NDArray[np.int64]
) -> None:
    """The position, `[B]`, that each observation, `[B, D]`, of the face-up game shows, and the viewer's role in it.

    Both are -1 where the observation shows no position that a game can come to in which the viewer has a choice.
    """
    robots = index.layer_limbs.shape[1]
    for b in range(observation.shape[0]):
        numbers[b] = roles[b] = -1
        line, limbs_key, code, partner, role, possible = 0, 0, 0, 0, -1, True
        for k in range(robots):
            limbs = read_limbs(view, observation, b, k)
            line += limbs > 0
            limbs_key += limbs * index.limbs_power[k]
        for k in range(line):
            hand = read_hand(view, observation, b, k)
            possible &= index.digit[hand] >= 0
            code += index.digit[hand] * index.power[(line if k == 0 else k) - 1]
            mine = reads_own(view, observation, b, k)
            if view.robots_per_player == 1:
                role = k if mine else role
            elif k > 0 and mine == reads_own(view, observation, b, 0):
                partner = k
        if view.robots_per_player == 2:
            role = 0 if reads_own(view, observation, b, 0) else 1
            code += (partner - 1) * index.power[line]
        layer = index.layer_at[limbs_key]
        if reads_first_round(view, observation, b):
            possible &= layer == 1  # all limbs whole
            layer = 0
        if not possible or layer < 0 or code < 0 or role < 0:
            continue
        code += index.layer_start[layer]
        if code < index.layer_start[layer + 1]:
            numbers[b] = number_of(index, code)
            roles[b] = role if numbers[b] >= 0 else -1


# --- the numbering of a variant -------------------------------------------------------------------------------------------


class Workers(Generic[W]):
    """Threads that each have a workspace; kernels release the interpreter lock."""

    def __init__(self, new: Callable[[], W], threads: int) -> None:
        self._spaces = [new() for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads)

    def run(
        self, task: Callable[[int, int, W], T], first: int, last: int, chunk: int, tick: Callable[[int], None] = lambda _end: None
    ) -> list[T]:
        """Call `task(begin, end, workspace)` for the chunks of `first:last`, and `tick(end)` when all before `end` are done.

        Returns:
            The results in the order of the chunks.
        """

        def one(begin: int) -> T:
            space = self._spaces.pop()
            try:
                return task(begin, min(begin + chunk, last), space)
            finally:
                self._spaces.append(space)

        futures = [self._pool.submit(one, begin) for begin in range(first, last, chunk)]
        results = []
        try:
            for begin, future in zip(range(first, last, chunk), futures, strict=True):
                results.append(future.result())
                tick(min(begin + chunk, last))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return results


class Positions:
    """The positions of a variant, numbered.

    Attributes:
        variant: the game.
        index: the numbering, as kernels take it.
        count: how many positions there are.
        first: `[waves + 1]`, the first number of each wave; wave `w` holds what is met after `w` rounds.
        starts: `[patterns]`, the numbers of the positions before the first round.

    Examples:
        >>> from getbit_env import parse_variant
        >>> from getbit_env.exact import Positions
        >>> positions = Positions(parse_variant("3p-1r-4c-1l"))
        >>> print(positions.count, "positions, one before the first round,", positions.first[2] - positions.first[1], "after it")
        21 positions, one before the first round, 20 after it
    """

    index: Index
    count: int
    first: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __init__(
        self,
        variant: Variant,
        words: NDArray[np.uint64] | None = None,
        *,
        threads: int = 1,
        progress: Progress = silent,
    ) -> None:
        """Number the positions.

        Args:
            variant: the game: face up; two players with two robots each, or players with one robot each.
            words: `index.words` of an earlier numbering of the same variant under the same rules, which saves the search.
            threads: that search at the same time; the result does not depend on it.
            progress: is told of codes searched.

        Raises:
            ValueError: positions of this variant are not numbered, or too many, or `words` are not of this variant.
        """
        self.variant = variant
        index, wave_start = _codes(variant)
        length = int(wave_start[-1]) // 64
        if words is not None and (words.shape != (length,) or words.dtype != np.uint64):
            raise ValueError(f"a numbering of {variant} is {length} words of 64 bits, not {words.shape} of {words.dtype}")
        index = index._replace(words=np.zeros(length, np.uint64) if words is None else words)
        start_codes = (np.arange(index.patterns) + 1) * index.power[variant.robots] - 1  # the full hand is the last one
        if words is None:
            for code in start_codes:
                index.words[code // 64] |= np.uint64(1) << np.uint64(code % 64)
            waves = len(wave_start) - 1
            workers = Workers(lambda: new_expansion(index), threads)
            for wave in range(waves - 1):
                here, there, end = (int(code) for code in wave_start[wave : wave + 3])
                marks = np.zeros(end - there, np.uint8)

                bits = np.unpackbits(index.words[here // 64 : there // 64].view(np.uint8), bitorder="little")
                codes = here + np.flatnonzero(bits)

                def mark(
                    begin: int,
                    stop: int,
                    expansion: Expansion,
                    codes: NDArray[np.int64] = codes,
                    base: int = there,
                    marks: NDArray[np.uint8] = marks,
                ) -> None:
                    _expand(index, codes[begin:stop], False, expansion)
                    _mark_successors(expansion, stop - begin, base, marks)

                workers.run(mark, 0, len(codes), AT_ONCE)
                index.words[there // 64 : end // 64] = np.packbits(marks, bitorder="little").view(np.uint64)
                progress("finding positions", end, int(wave_start[-1]))
        counts = np.zeros(length + 1, np.int64)
        np.cumsum(np.bitwise_count(index.words), out=counts[1:])
        self.index = index._replace(counts=counts)
        self.count = int(counts[-1])
        self.first = counts[wave_start // 64]
        self.starts = np.arange(index.patterns)

    @classmethod
    def kept(cls, variant: Variant, folder: Path | None, *, threads: int, progress: Progress) -> Positions:
        """The positions of a variant, whose search is kept in a folder if there is one, and taken from there if it was."""
        words = np.zeros(number_of_words(variant), np.uint64)
        if read_kept(folder, "words", NUMBERING, variant, {"words": words}) is not None:
            return cls(variant, words)
        positions = cls(variant, threads=threads, progress=progress)
        if folder is not None:
            save_result(folder / "words.npz", NUMBERING, variant, {}, {"words": positions.index.words})
        return positions

    @classmethod
    def stored(cls, result: StoredResult) -> Positions:
        """The positions that are numbered in a stored result.

        Raises:
            StoredResultError: they are not those of its variant.
        """
        try:
            length = number_of_words(result.variant)
        except ValueError as error:
            raise result.error(str(error)) from error
        return cls(result.variant, result.array("words", np.uint64, (length,)))

    @property
    def waves(self) -> int:
        """How many rounds the longest game has."""
        return len(self.first) - 1

    def games(self, numbers: NDArray[np.int64]) -> Games:
        """The positions of some numbers as a batch of games, whose players are numbered by role."""
        games = new_games(self.variant.robots, len(numbers))
        set_positions(self.index, numbers, games)
        return games

    def see(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """What the player of each role observes, and what it may play: `[G, P, D]` and `[G, P, A]`; zero and ones if it is out."""
        return see_games(self.variant, self.games(numbers))

    def read(self, observation: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of the position that each observation shows, and the viewer's role in it, `[B]` each; -1 for none."""
        numbers, roles = np.empty(len(observation), np.int64), np.empty(len(observation), np.int64)
        read_observations(self.index, Layout(self.variant).view, observation, numbers, roles)
        return numbers, roles


def see_games(variant: Variant, games: Games) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """`Positions.see` of games whose players are numbered by role."""
    layout, count = Layout(variant), games.place.shape[1]
    observation = np.empty((count, variant.players, layout.size), np.float32)
    mask = np.empty((count, variant.players, variant.actions), np.int8)
    show, record, work = np.full(count, Show.CHOOSING, np.uint8), new_record(layout, count), new_observation_workspace(layout)
    observe(layout.view, variant.last_line, games, record, show, work, observation, mask, 0, count)
    return observation, mask


def check_numbered(variant: Variant) -> None:
    """Refuse a variant whose positions are not numbered, or too many.

    Raises:
        TypeError: it is no variant of Get Bit!.
        ValueError: with the reason.
    """
    if not isinstance(variant, Variant):
        raise TypeError(f"variant is one of Get Bit!, such as `parse_variant('4p')` gives, not {variant!r}")
    if variant.memory:
        raise ValueError(
            f"positions of {variant} are not numbered: give the face-up game {replace(variant, memory=False)}, "
            "which is the same game for players with perfect recall"
        )
    if variant.players == 3 and variant.robots_per_player == 2:
        raise ValueError(f"positions of {variant} are not numbered: three players with two robots each have too many")
    hands = sum(comb(variant.cards, left) for left in range(variant.pick_up_at + 1, variant.cards + 1))
    patterns = 3 if variant.robots_per_player == 2 else 1
    codes = patterns * sum((variant.limbs * hands) ** line for line in range(variant.last_line + 1, variant.robots + 1))
    if codes > MOST_CODES:
        raise ValueError(
            f"{variant} is too large to be solved: its positions have {codes:.1e} codes, and {MOST_CODES:.1e} is the most"
        )


def number_of_words(variant: Variant) -> int:
    """How many words of 64 bits the numbering of a variant takes.

    Raises:
        ValueError: positions of this variant are not numbered, or too many.
    """
    return int(_codes(variant)[1][-1]) // 64


def _codes(variant: Variant) -> tuple[Index, NDArray[np.int64]]:
    """The numbering of a variant without its bits, and the first code of each wave, a multiple of 64."""
    check_numbered(variant)
    rules, robots = variant.rules, variant.robots
    hands = np.array([mask for mask in range(rules.deck + 1) if mask.bit_count() > rules.pick_up_at], np.uint8)
    digit = np.full(256, -1, np.int64)
    digit[hands] = np.arange(len(hands))
    power = np.array([len(hands) ** k for k in range(robots + 1)], np.int64)
    limbs_power = np.array([(rules.limbs + 1) ** k for k in range(robots)], np.int64)
    patterns = 3 if variant.robots_per_player == 2 else 1
    layers = [
        (rules.limbs * robots - sum(limbs), limbs + (0,) * (robots - line))
        for line in range(robots, rules.last_line, -1)
        for limbs in itertools.product(range(1, rules.limbs + 1), repeat=line)
    ]
    layers.sort()
    layers.insert(0, (-1, layers[0][1]))  # the first round
    layer_start, wave_layer, wave_start = [], [], []
    code = 0
    for number, (bites, limbs) in enumerate(layers):
        if number == 0 or bites != layers[number - 1][0]:
            code = -(-code // 64) * 64
            wave_layer.append(number)
            wave_start.append(code)
        layer_start.append(code)
        code += patterns * len(hands) ** sum(n > 0 for n in limbs)
    code = -(-code // 64) * 64
    layer_limbs = np.array([limbs for _, limbs in layers], np.uint8)
    layer_at = np.full((rules.limbs + 1) ** robots, -1, np.int64)
    layer_at[layer_limbs[1:] @ limbs_power] = np.arange(1, len(layers))
    index = Index(
        rules=rules,
        players=variant.players,
        hands=hands,
        digit=digit,
        power=power,
        limbs_power=limbs_power,
        patterns=patterns,
        layer_limbs=layer_limbs,
        layer_start=np.array([*layer_start, code], np.int64),
        layer_at=layer_at,
        wave_layer=np.array([*wave_layer, len(layers)], np.int64),
        words=np.zeros(0, np.uint64),
        counts=np.zeros(0, np.int64),
    )
    return index, np.array([*wave_start, code], np.int64)
