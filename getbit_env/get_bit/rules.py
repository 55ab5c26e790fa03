"""The rules of Get Bit!, over a batch of games; clauses (G...) as numbered in `docs/rules.md`.

Everything that plays this game calls this module: the environments, the vector environment, the bots' look-ahead, the solver,
the replays. A batch is a struct of arrays with these axes:

    R  robots (robot `r` belongs to player `r // robots_per_player`)
    P  players
    G  games

A card is one bit, a hand is a mask of such bits, and the line is every robot's place in it. With that a whole round is a few
short loops over games without a branch, which the compiler turns into vector instructions on 64 games at a time; what keeps
it able to do so is that every operand is a byte. Functions change their arguments in place and return nothing.
Kernels assume legal play; `actions_to_cards` replaces illegal play, at the edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import lean_kernel, part
from getbit_env.core.streams import random_bits

BLOCK = 2048  # games that one pass works on: what a loop does once does not count, and its rows stay in a near cache


class Rules(NamedTuple):
    """What the kernels need to know of a variant (`getbit_env.get_bit.variants`)."""

    robots_per_player: int
    deck: int  # mask of all cards of a robot, bit c-1 for card c
    limbs: int  # bites that put a robot out (G1.3; eight in the longer game, G4.2)
    pick_up_at: int  # a hand of so many cards or fewer takes its table back: 1 or 2 (G5.1, G5.2)
    last_line: int  # the game is over when so many robots are left in the line (G6.1-G6.3)
    literal_ending: int  # 1: in the three-player ending the loser's other robot counts as well (G6.3)


class Games(NamedTuple):
    """The positions of a batch of games. A robot's table is the cards of its deck that are not in its hand."""

    place: NDArray[np.uint8]  # [R, G] place in the line, 0 = front; behind the line the robots that are out, the last one first
    limbs: NDArray[np.uint8]  # [R, G] bites left; 0 = out
    hand: NDArray[np.uint8]  # [R, G] mask of the cards not yet played
    played: NDArray[np.uint8]  # [R, G] bit of the card played in the last round; 0 = none
    rounds: NDArray[np.uint8]  # [G] rounds played


class Outcome(NamedTuple):
    """What the last round did."""

    bitten: NDArray[np.uint8]  # [R, G] 1 = the robot lost a limb
    finish: NDArray[np.uint8]  # [P, G] finishing place (1 = winner) of a player whose fate the round decided; else 0
    over: NDArray[np.uint8]  # [G] 1 = the round ended the game
    reward: NDArray[np.float32]  # [P, G]


class Scratch(NamedTuple):
    """Rows that the kernels work in, so that none of them allocates; one a thread."""

    untied: NDArray[np.uint8]  # [R, BLOCK] bit of the card if nobody else played it, else 0
    ahead: NDArray[np.uint8]  # [R, BLOCK] robots ahead after the move
    row: NDArray[np.uint8]  # [8, BLOCK]
    word: NDArray[np.uint64]  # [3, BLOCK]


def new_games(robots: int, games: int) -> Games:
    """Allocate a batch; no game has begun until `start_games` is called for it."""
    place, limbs, hand, played = (np.zeros((robots, games), np.uint8) for _ in range(4))
    return Games(place, limbs, hand, played, np.zeros(games, np.uint8))


def new_outcome(robots: int, players: int, games: int) -> Outcome:
    """Allocate the outcome of a batch."""
    return Outcome(
        np.zeros((robots, games), np.uint8),
        np.zeros((players, games), np.uint8),
        np.zeros(games, np.uint8),
        np.zeros((players, games), np.float32),
    )


def new_scratch(robots: int, games: int = BLOCK) -> Scratch:
    """Allocate the rows that one thread works in, for so many games or more."""
    columns = min(games, BLOCK)
    untied, ahead, row = (np.zeros((rows, columns), np.uint8) for rows in (robots, robots, 8))
    return Scratch(untied, ahead, row, np.zeros((3, columns), np.uint64))


# --- a round, in the order of the rulebook --------------------------------------------------------------------------------
# Inside a block a condition is a byte: 0, or 255 so that `&` selects. Loops are short, since the compiler has to check that what a
# loop writes overlaps nothing else in it, and makes no vectors where that would be more than a few checks; and what is compared or
# kept in between is made a byte again (`np.uint8`, a row of its own), since a sum of bytes is a whole number of 64 bits.


@part
def _reveal(rules: Rules, games: Games, cards: NDArray[np.uint8], scratch: Scratch, start: int, stop: int) -> None:
    """G2.2 and G3.1: the cards leave the hands; a card that two robots in the line played is tied."""
    last_line = np.uint8(rules.last_line)
    n = stop - start
    line, live, once, tied = scratch.row[0, :n], scratch.row[1, :n], scratch.row[2, :n], scratch.row[3, :n]
    line[:] = 0
    once[:] = 0
    tied[:] = 0
    for r in range(games.limbs.shape[0]):
        limbs = games.limbs[r, start:stop]
        for g in range(n):
            line[g] += limbs[g] > 0
    for g in range(n):
        live[g] = 0 - (line[g] > last_line)  # a finished game stays as it is
    for r in range(games.limbs.shape[0]):
        card, hand, played, untied = (
            cards[r, start:stop],
            games.hand[r, start:stop],
            games.played[r, start:stop],
            scratch.untied[r, :n],
        )
        for g in range(n):
            played[g] = (card[g] & live[g]) | (played[g] & ~live[g])
        for g in range(n):
            untied[g] = card[g] & live[g]
            hand[g] &= ~untied[g]
        for g in range(n):
            tied[g] |= once[g] & untied[g]
            once[g] |= untied[g]
    for r in range(games.limbs.shape[0]):
        untied = scratch.untied[r, :n]
        for g in range(n):
            untied[g] &= ~tied[g]


@part
def _move(games: Games, scratch: Scratch, start: int, stop: int) -> None:
    """G3.3: a robot is ahead of another if its untied number is higher, or if neither moved and it was ahead before."""
    n = stop - start
    scratch.ahead[:, :n] = 0
    for r in range(1, games.place.shape[0]):
        place_r, untied_r, ahead_of_r = games.place[r, start:stop], scratch.untied[r, :n], scratch.ahead[r, :n]
        for s in range(r):
            place_s, untied_s, ahead_of_s = games.place[s, start:stop], scratch.untied[s, :n], scratch.ahead[s, :n]
            for g in range(n):
                s_first = (untied_s[g] > untied_r[g]) | ((untied_s[g] == untied_r[g]) & (place_s[g] < place_r[g]))
                ahead_of_r[g] += s_first
                ahead_of_s[g] += not s_first


@part
def _get_bit(rules: Rules, games: Games, scratch: Scratch, outcome: Outcome, start: int, stop: int) -> None:
    """G4 and G5: from the second round on the robot at the back is bitten; bitten robots and small hands take cards back."""
    deck = np.uint8(rules.deck)
    stop_at_one = np.uint8(255 if rules.pick_up_at == 1 else 0)
    n = stop - start
    line, live, bite, survives, back = (
        scratch.row[0, :n],
        scratch.row[1, :n],
        scratch.row[2, :n],
        scratch.row[3, :n],
        scratch.row[4, :n],
    )
    rounds = games.rounds[start:stop]
    for g in range(n):
        back[g] = line[g] - 1
    for g in range(n):
        bite[g] = live[g] & (0 - (rounds[g] > 0))  # G4.1
        rounds[g] += live[g] & 1
        survives[g] = 0
    for r in range(games.limbs.shape[0]):
        limbs, ahead, bitten = games.limbs[r, start:stop], scratch.ahead[r, :n], outcome.bitten[r, start:stop]
        for g in range(n):
            bitten[g] = bite[g] & (ahead[g] == back[g])
        for g in range(n):
            limbs[g] -= bitten[g]  # G4.2
            survives[g] |= bitten[g] & (limbs[g] > 0)
    for r in range(games.limbs.shape[0]):
        limbs, ahead, bitten = games.limbs[r, start:stop], scratch.ahead[r, :n], outcome.bitten[r, start:stop]
        place, hand = games.place[r, start:stop], games.hand[r, start:stop]
        for g in range(n):  # G4.3: a bitten robot moves to the front and those ahead of it move one back
            place[g] = (ahead[g] + (survives[g] & (ahead[g] < back[g]))) & ((survives[g] & bitten[g]) - 1)
        for g in range(n):
            # G5.1: `fewer` is empty if the hand is down to `pick_up_at` cards or fewer
            fewer = np.uint8(hand[g] & (hand[g] - 1))
            fewer = np.uint8(fewer & ((fewer - 1) | stop_at_one))
            takes = (limbs[g] > 0) & (bitten[g] | (fewer == 0))  # G4.4: a robot that is out takes nothing back
            hand[g] |= deck & (0 - takes)
    for g in range(n):
        line[g] -= bite[g] & 1 & ~survives[g]  # G4.4


@part
def _end(rules: Rules, games: Games, scratch: Scratch, outcome: Outcome, start: int, stop: int) -> None:
    """G6: is the game over, and who finished in which place."""
    last_line = np.uint8(rules.last_line)
    n = stop - start
    line, live = scratch.row[0, :n], scratch.row[1, :n]
    over = outcome.over[start:stop]
    for g in range(n):
        over[g] = live[g] & 1 & (line[g] <= last_line)
    if rules.robots_per_player == 1:
        for p in range(outcome.finish.shape[0]):
            limbs, place, bitten = games.limbs[p, start:stop], games.place[p, start:stop], outcome.bitten[p, start:stop]
            finish = outcome.finish[p, start:stop]
            for g in range(n):  # behind the line the robots lie in the order in which they went out: places are finishing places
                decided = (over[g] & (limbs[g] > 0)) | (bitten[g] & (limbs[g] == 0))
                finish[g] = (place[g] + 1) & (0 - decided)
        return
    # Two robots each: players rank by their frontmost robot, whoever lost a robot behind the others (G6.2, G6.3).
    literal = np.uint8(rules.literal_ending)
    for p in range(outcome.finish.shape[0]):
        limbs_a, limbs_b = games.limbs[2 * p, start:stop], games.limbs[2 * p + 1, start:stop]
        place_a, place_b = games.place[2 * p, start:stop], games.place[2 * p + 1, start:stop]
        score = scratch.row[4 + p, :n]
        for g in range(n):
            lost = (limbs_a[g] == 0) | (limbs_b[g] == 0)
            best = min(place_a[g], place_b[g])
            score[g] = best + 8 * (lost & ((literal == 0) | (best > 0)))
    for p in range(outcome.finish.shape[0]):
        finish, score = outcome.finish[p, start:stop], scratch.row[4 + p, :n]
        for g in range(n):
            finish[g] = over[g]
        for q in range(outcome.finish.shape[0]):
            other = scratch.row[4 + q, :n]
            for g in range(n):
                finish[g] += over[g] & (other[g] < score[g])


@part
def _reward(
    rules: Rules, reward_of_finish: NDArray[np.float32], limb_reward: np.float32, outcome: Outcome, start: int, stop: int
) -> None:
    """The reward of each player for this round: what its finishing place pays, and `limb_reward` a limb that it lost."""
    each = rules.robots_per_player
    n = stop - start
    players, nothing = outcome.finish.shape[0], np.float32(0)
    first, second = reward_of_finish[1], reward_of_finish[2]
    third = reward_of_finish[3] if players > 2 else nothing
    fourth = reward_of_finish[4] if players > 3 else nothing
    fifth = reward_of_finish[5] if players > 4 else nothing
    sixth = reward_of_finish[6] if players > 5 else nothing
    seventh = reward_of_finish[7] if players > 6 else nothing
    for p in range(players):
        finish, reward = outcome.finish[p, start:stop], outcome.reward[p, start:stop]
        for g in range(n):  # seven comparisons take less time than looking up in a table
            pays = first if finish[g] == 1 else nothing
            pays = second if finish[g] == 2 else pays
            pays = third if finish[g] == 3 else pays
            pays = fourth if finish[g] == 4 else pays
            pays = fifth if finish[g] == 5 else pays
            pays = sixth if finish[g] == 6 else pays
            reward[g] = seventh if finish[g] == 7 else pays
        if limb_reward != 0:
            for r in range(p * each, p * each + each):
                bitten = outcome.bitten[r, start:stop]
                for g in range(n):
                    reward[g] += limb_reward if bitten[g] > 0 else nothing


@lean_kernel
def play_round(
    rules: Rules,
    games: Games,
    cards: NDArray[np.uint8],
    reward_of_finish: NDArray[np.float32],
    limb_reward: np.float32,
    scratch: Scratch,
    outcome: Outcome,
    start: int,
    stop: int,
) -> None:
    """Play one round of the games `start:stop` in place, and say in `outcome` what it did.

    Args:
        rules: `Rules` of the variant.
        games: `Games`, changed in place. A finished game stays as it is and its outcome is all zero.
        cards: `[R, G]` uint8, for each robot in the line the bit of a card of its hand, 0 for a robot that is out.
        reward_of_finish: `[P + 1]` float32, what each finishing place pays; entry 0 (undecided) is not used.
        limb_reward: float32, added per limb lost.
        scratch: `Scratch` of this thread.
        outcome: `Outcome`, overwritten.
        start: the first of the games to play; threads may play disjoint ranges at the same time.
        stop: the one after the last.
    """
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        _reveal(rules, games, cards, scratch, first, last)
        _move(games, scratch, first, last)
        _get_bit(rules, games, scratch, outcome, first, last)
        _end(rules, games, scratch, outcome, first, last)
        _reward(rules, reward_of_finish, limb_reward, outcome, first, last)


# --- chance: the starting line, the only one (G1.2) ------------------------------------------------------------------------


@lean_kernel
def start_games(
    rules: Rules,
    games: Games,
    begin: NDArray[np.uint8],
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    scratch: Scratch,
    start: int,
    stop: int,
) -> None:
    """Set up those of the games `start:stop` for which `begin[g]` is not 0, each with the next line of its own stream.

    Args:
        rules: `Rules` of the variant.
        games: `Games`, changed in place.
        begin: `[G]` uint8.
        streams: `[G]` uint64, keys of `random_bits`.
        counters: `[G]` uint64, raised by one for each game that begins.
        scratch: `Scratch` of this thread.
        start: the first of the games.
        stop: the one after the last.
    """
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        _set_up(rules, games, begin, first, last)
        _line_up(games, begin, streams, counters, scratch, first, last)


@part
def _set_up(rules: Rules, games: Games, begin: NDArray[np.uint8], start: int, stop: int) -> None:
    """G1.1, G1.3: whole robots with full hands, for the games that begin."""
    deck, whole = np.uint8(rules.deck), np.uint8(rules.limbs)
    begin, rounds = begin[start:stop], games.rounds[start:stop]
    for g in range(stop - start):
        rounds[g] &= 0 - (begin[g] == 0)
    for r in range(games.place.shape[0]):
        limbs, hand, played = games.limbs[r, start:stop], games.hand[r, start:stop], games.played[r, start:stop]
        for g in range(stop - start):
            new = np.uint8(0) - np.uint8(begin[g] != 0)
            limbs[g] = (limbs[g] & ~new) | (whole & new)
            hand[g] = (hand[g] & ~new) | (deck & new)
            played[g] &= ~new


@part
def _line_up(
    games: Games,
    begin: NDArray[np.uint8],
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    scratch: Scratch,
    start: int,
    stop: int,
) -> None:
    """G1.2: a random line, for the games that begin.

    Fisher-Yates with the digits of a fixed-point fraction of 56 random bits: the bias of any order is below 7!/2^56. The few
    games that begin are gathered first, so that the shuffle is once more a loop without a branch.
    """
    robots = games.place.shape[0]
    fraction, digit, word = np.uint64((1 << 56) - 1), np.uint64(15), np.uint64(56)
    chosen, bits, order = scratch.word[0], scratch.word[1], scratch.word[2]
    n = 0
    for g in range(start, stop):
        chosen[n] = g
        n += begin[g] != 0
    for m in range(n):
        g = chosen[m]
        counters[g] += np.uint64(1)
        bits[m] = random_bits(streams[g], counters[g]) >> np.uint64(8)
        order[m] = np.uint64(0x6543210)  # robot in place i, four bits each
    for i in range(robots - 1, 0, -1):
        numbers, at_i = np.uint64(i + 1), np.uint64(4 * i)
        for m in range(n):
            drawn = bits[m] * numbers
            at_j = np.uint64(4) * (drawn >> word)
            bits[m] = drawn & fraction
            differ = ((order[m] >> at_i) ^ (order[m] >> at_j)) & digit
            order[m] ^= (differ << at_i) | (differ << at_j)
    for i in range(robots):
        for m in range(n):
            games.place[np.int64((order[m] >> np.uint64(4 * i)) & digit), np.int64(chosen[m])] = i


# --- random play, for playouts and measurements ------------------------------------------------------------------------------


@lean_kernel
def draw_cards(
    games: Games,
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    scratch: Scratch,
    cards: NDArray[np.uint8],
    start: int,
    stop: int,
) -> None:
    """Draw a card of its hand, any with the same chance, for every robot in the line of the games `start:stop`.

    Each draw uses 16 random bits, so that no card is likelier than another by more than 1 in 9,000.

    Args:
        games: the positions.
        streams: `[G]` uint64, keys of `random_bits`.
        counters: `[G]` uint64, raised by one for every four robots.
        scratch: `Scratch` of this thread.
        cards: `[R, G]` uint8, overwritten with bits of cards; 0 for robots that are out.
        start: the first of the games.
        stop: the one after the last.
    """
    bits, skip = scratch.word[0], scratch.row[0]
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        for r in range(games.hand.shape[0]):
            if r % 4 == 0:
                _next_bits(streams[first:last], counters[first:last], bits)
            _draw_row(games.hand[r, first:last], games.limbs[r, first:last], 16 * (r % 4), bits, skip, cards[r, first:last])


@part
def _next_bits(streams: NDArray[np.uint64], counters: NDArray[np.uint64], bits: NDArray[np.uint64]) -> None:
    for g in range(streams.shape[0]):
        counters[g] += np.uint64(1)
        bits[g] = random_bits(streams[g], counters[g])


@part
def _draw_row(
    hand: NDArray[np.uint8],
    limbs: NDArray[np.uint8],
    shift: int,
    bits: NDArray[np.uint64],
    skip: NDArray[np.uint8],
    card: NDArray[np.uint8],
) -> None:
    """Draw for one robot of every game: count its cards, skip a random number of the lowest, take the lowest that is left."""
    n = hand.shape[0]
    for g in range(n):
        size = hand[g] - ((hand[g] >> 1) & 0x55)
        size = (size & 0x33) + ((size >> 2) & 0x33)
        size = (size + (size >> 4)) & 0x0F
        skip[g] = (np.uint32(np.uint16(bits[g] >> np.uint64(shift))) * np.uint32(size)) >> 16
        card[g] = hand[g] & (0 - (limbs[g] > 0))
    for k in range(6):
        for g in range(n):
            card[g] &= (card[g] - 1) | (0 - (skip[g] <= k))
    for g in range(n):
        card[g] &= 0 - card[g]
