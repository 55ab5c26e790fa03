"""The rules of Sharks are Wild, over a batch of games; clauses (S...) as numbered in `docs/sharks_are_wild.md`.

Everything that plays this game calls this module. A batch is a struct of arrays with these axes:

    G  games
    P  players
    K  kinds of cards: the numbers 0-4 and 6-9 (a 5 is never dealt, S1.1), Shark, Octopus, Dolphin
    N  cards of the deck

The first game's rounds are vector code over games, with games as the last axis. Here a decision touches one player of one game
and branches, so that games come first and what a game needs lies together. Hands are counted by kind, and a run is its two ends
and the numbers that Sharks stand for: a run is consecutive and holds its 5, so that says all.

A step is one decision of one player. Functions change their arguments in place and return nothing, or read and change nothing,
but for `_draw_card`. Kernels assume legal play; `replace_illegal_actions` meets illegal play, at the edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import inlined, kernel
from getbit_env.core.streams import random_bits

STARTER = 5
NUMBER_KINDS = 9
SHARK, OCTOPUS, DOLPHIN = 9, 10, 11  # kinds; before them the numbers: kind n for 0-4, kind n - 1 for 6-9
KINDS = 12

DRAW, PLAY, BLOCK, OVER = 0, 1, 2, 3  # stages: what is decided next, or that the game is over
STOLEN = 4  # a stage of games with `may_decline` alone: what becomes of a stolen card that fits (S3.1)
LOW, HIGH = 0, 1  # ends of a run

# Actions. Those of level one come first, so that they have the same numbers in every game.
FROM_DRAW_PILE = 0  # draw the top card of the draw pile (S2.1)
FROM_DISCARD_PILE = 1  # draw the top card of the discard pile (S2.1)
PASS = 2  # let an Octopus pass (S3); at other stages: there is nothing to draw (S2.5), or no card to play
NUMBER = 3  # + kind: play that number (S2.2)
SHARK_AT = 12  # + end: play a Shark there (S2.3)
DISCARD = 14  # + kind: discard such a card (S2.1)
BLOCK_IT = 26  # discard a Dolphin to block an Octopus (S3.2)
STEAL = 27  # + 2 * (k - 1) + end: play an Octopus at that end of the run of the k-th player after the own seat (S3)


class Rules(NamedTuple):
    """What the kernels need to know of a variant (`getbit_env.sharks_are_wild.variants`)."""

    players: int
    kinds: int  # 10 at level one, 12 at level two
    hand: int  # cards of a hand (S1.2)
    run: int  # cards of a complete run (S2.4)
    coins: int  # coins that win (S2.6)
    turn_limit: int  # turns after which a game is a draw (S4)
    deck: NDArray[np.uint8]  # [N] kinds of all cards that are dealt
    # Other readings of the published rules, 1 = in force:
    octopus_on_top: int  # a stolen card that is not used lies below the Octopus (S3.1)
    must_block: int  # a victim who has a Dolphin blocks (S3)
    may_decline: int  # a thief may discard a stolen card that fits (S3.1)
    early_shuffle: int  # the discard pile is turned over as soon as the draw pile runs out (S2.5)


class Games(NamedTuple):
    """The positions of a batch of games."""

    draw: NDArray[np.uint8]  # [G, N] kinds in the draw pile, the bottom first; behind the top whatever
    discard: NDArray[np.uint8]  # [G, N] kinds in the discard pile, likewise
    draw_size: NDArray[np.uint8]  # [G]
    discard_size: NDArray[np.uint8]  # [G]
    hand: NDArray[np.uint8]  # [G, P, K] cards of each kind
    taken: NDArray[np.uint8]  # [G, P, K] those of them that were openly taken from the discard pile (S5)
    low: NDArray[np.uint8]  # [G, P] number at the low end of the run
    high: NDArray[np.uint8]  # [G, P] number at its high end
    sharks: NDArray[np.int16]  # [G, P] bit n: a Shark stands for the number n in the run
    coins: NDArray[np.uint8]  # [G, P]
    player: NDArray[np.uint8]  # [G] whose turn it is
    stage: NDArray[np.uint8]  # [G] DRAW, PLAY, BLOCK, OVER or STOLEN
    victim: NDArray[np.uint8]  # [G] at BLOCK and STOLEN: the player whose run the Octopus grabs; at BLOCK the one who is asked
    end: NDArray[np.uint8]  # [G] at BLOCK and STOLEN: the end of that run, LOW or HIGH
    turns: NDArray[np.int32]  # [G] turns finished


class Outcome(NamedTuple):
    """What the last decision did."""

    finish: NDArray[np.uint8]  # [P, G] when it decided the game: 1 of the winner, 2 of all others; else 0
    over: NDArray[np.uint8]  # [G] 1 = it ended the game; by the turn limit if nobody finished (S4)
    reward: NDArray[np.float32]  # [P, G]


def level_one_actions() -> int:
    """How many actions level one has: all before the Octopus's own discard."""
    return DISCARD + OCTOPUS


def new_games(rules: Rules, games: int) -> Games:
    """Allocate a batch; every game is over until `start_games` or `deal` is called for it."""
    players, cards = rules.players, rules.deck.size
    draw, discard = (np.zeros((games, cards), np.uint8) for _ in range(2))
    hand, taken = (np.zeros((games, players, KINDS), np.uint8) for _ in range(2))
    low, high, coins = (np.zeros((games, players), np.uint8) for _ in range(3))
    draw_size, discard_size, player, stage, victim, end = (np.zeros(games, np.uint8) for _ in range(6))
    stage[:] = OVER
    low[:] = high[:] = STARTER
    sharks = np.zeros((games, players), np.int16)
    return Games(
        draw=draw,
        discard=discard,
        draw_size=draw_size,
        discard_size=discard_size,
        hand=hand,
        taken=taken,
        low=low,
        high=high,
        sharks=sharks,
        coins=coins,
        player=player,
        stage=stage,
        victim=victim,
        end=end,
        turns=np.zeros(games, np.int32),
    )


def new_outcome(players: int, games: int) -> Outcome:
    """Allocate the outcome of a batch."""
    return Outcome(np.zeros((players, games), np.uint8), np.zeros(games, np.uint8), np.zeros((players, games), np.float32))


@inlined
def kind_of(number: int) -> int:
    """The kind of a number that is not 5."""
    return number - (number > STARTER)


@inlined
def number_of(kind: int) -> int:
    """The number of a kind below `SHARK`."""
    return kind + (kind >= STARTER)


@inlined
def seat_after(rules: Rules, p: int, k: int) -> int:
    """The `k`-th player after `p`, `k` being below the number of players."""
    q = p + k
    return q if q < rules.players else q - rules.players


@inlined
def actor(games: Games, g: int) -> int:
    """Who decides next."""
    return int(games.victim[g]) if games.stage[g] == BLOCK else int(games.player[g])


# --- chance: the deal, who begins, and every shuffle (S1.2, S2.5) -----------------------------------------------------------


@inlined
def _below(bound: int, streams: NDArray[np.uint64], counters: NDArray[np.uint64], g: int) -> int:
    """The next number of a game's stream, brought to 0..bound-1; the bias is below bound / 2^32."""
    counters[g] += np.uint64(1)
    bits = random_bits(streams[g], counters[g]) >> np.uint64(32)
    return int((bits * np.uint64(bound)) >> np.uint64(32))


@kernel
def _shuffle(cards: NDArray[np.uint8], size: int, streams: NDArray[np.uint64], counters: NDArray[np.uint64], g: int) -> None:
    """Fisher-Yates over the first `size` of some cards."""
    for i in range(size - 1, 0, -1):
        j = _below(i + 1, streams, counters, g)
        card = cards[i]
        cards[i] = cards[j]
        cards[j] = card


@kernel
def start_games(
    rules: Rules,
    games: Games,
    begin: NDArray[np.uint8],
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    start: int,
    stop: int,
) -> None:
    """Begin those of the games `start:stop` for which `begin[g]` is not 0, each with the next shuffle of its own stream (S1.2).

    `streams` and `counters` are `[G]` uint64.
    """
    cards = rules.deck.shape[0]
    for g in range(start, stop):
        if begin[g] != 0:
            for i in range(cards):
                games.draw[g, i] = rules.deck[i]
            first = _below(rules.players, streams, counters, g)
            _shuffle(games.draw[g], cards, streams, counters, g)
            deal(rules, games, g, first)


@inlined
def deal(rules: Rules, games: Games, g: int, first: int) -> None:
    """S1.2: begin game `g` with all cards in the draw pile, in the order in which they lie there.

    The player who begins gets the cards from the top, the next player the next ones, and so on, so that the same cards with
    another first player are the same game with the seats moved on.
    """
    games.hand[g] = 0
    games.taken[g] = 0
    games.low[g] = STARTER
    games.high[g] = STARTER
    games.sharks[g] = 0
    games.coins[g] = 0
    top = rules.deck.shape[0]
    for k in range(rules.players):
        p = seat_after(rules, first, k)
        for _ in range(rules.hand):
            top -= 1
            games.hand[g, p, games.draw[g, top]] += 1
    games.discard[g, 0] = games.draw[g, top - 1]
    games.discard_size[g] = 1
    games.draw_size[g] = top - 1
    games.player[g] = first
    games.stage[g] = DRAW
    games.victim[g] = 0
    games.end[g] = 0
    games.turns[g] = 0


# --- cards that move --------------------------------------------------------------------------------------------------------


@inlined
def _shuffle_in(games: Games, g: int, streams: NDArray[np.uint64], counters: NDArray[np.uint64]) -> None:
    """S2.5: if the draw pile is empty, the discard pile except its top card becomes a new one."""
    if games.draw_size[g] == 0 and games.discard_size[g] > 1:
        _turn_over(games.draw[g], games.discard[g], int(games.discard_size[g]) - 1, streams, counters, g)
        games.draw_size[g] = games.discard_size[g] - 1
        games.discard_size[g] = 1


@kernel
def _turn_over(
    draw: NDArray[np.uint8],
    discard: NDArray[np.uint8],
    size: int,
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    g: int,
) -> None:
    """The first `size` cards of the discard pile become the draw pile, the one above them the discard pile."""
    for i in range(size):
        draw[i] = discard[i]
    discard[0] = discard[size]
    _shuffle(draw, size, streams, counters, g)


@inlined
def _draw_card(rules: Rules, games: Games, g: int, p: int, streams: NDArray[np.uint64], counters: NDArray[np.uint64]) -> bool:
    """A card of the draw pile comes into the hand of `p`; says whether there was one."""
    _shuffle_in(games, g, streams, counters)
    if games.draw_size[g] == 0:
        return False
    games.draw_size[g] -= 1
    games.hand[g, p, games.draw[g, games.draw_size[g]]] += 1
    if rules.early_shuffle != 0:
        _shuffle_in(games, g, streams, counters)
    return True


@inlined
def _leave_hand(games: Games, g: int, p: int, kind: int) -> None:
    """A card leaves a hand. One that was openly taken leaves first: what is known of the rest is the least that can be there."""
    games.hand[g, p, kind] -= 1
    games.taken[g, p, kind] -= games.taken[g, p, kind] > 0


@inlined
def _on_discard_pile(games: Games, g: int, kind: int) -> None:
    games.discard[g, games.discard_size[g]] = kind
    games.discard_size[g] += 1


@inlined
def _join_run(rules: Rules, games: Games, g: int, p: int, number: int, shark: bool) -> None:
    """A card comes to an end of a run. A complete run pays a coin and goes under the discard pile, the low end uppermost (S2.4)."""
    if number < STARTER:
        games.low[g, p] = number
    else:
        games.high[g, p] = number
    if shark:
        games.sharks[g, p] |= 1 << number
    low, high = int(games.low[g, p]), int(games.high[g, p])
    if high - low + 1 < rules.run:
        return
    games.coins[g, p] += 1
    under = high - low
    for i in range(int(games.discard_size[g]) - 1, -1, -1):
        games.discard[g, i + under] = games.discard[g, i]
    i = 0
    for n in range(high, low - 1, -1):
        if n != STARTER:
            games.discard[g, i] = SHARK if (games.sharks[g, p] >> n) & 1 else kind_of(n)
            i += 1
    games.discard_size[g] += under
    games.low[g, p] = STARTER
    games.high[g, p] = STARTER
    games.sharks[g, p] = 0


@inlined
def grabbed_number(games: Games, g: int) -> int:
    """The number of the card that an Octopus grabs."""
    victim = int(games.victim[g])
    return int(games.low[g, victim]) if games.end[g] == LOW else int(games.high[g, victim])


@inlined
def is_shark(games: Games, g: int, p: int, number: int) -> bool:
    """A Shark stands for this number of the run of `p`."""
    stands: bool = (games.sharks[g, p] >> number) & 1 != 0
    return stands


@inlined
def fits_thief(games: Games, g: int, number: int) -> bool:
    """A stolen card of this number can join the run of the player whose turn it is."""
    thief = int(games.player[g])
    return number == int(games.low[g, thief]) - 1 or number == int(games.high[g, thief]) + 1


@inlined
def _steal(rules: Rules, games: Games, g: int, joins: bool) -> None:
    """S3.1: the card that the Octopus grabs leaves the victim's run, and joins the thief's run or is discarded."""
    victim, number = int(games.victim[g]), grabbed_number(games, g)
    shark = is_shark(games, g, victim, number)
    if games.end[g] == LOW:
        games.low[g, victim] = number + 1
    else:
        games.high[g, victim] = number - 1
    games.sharks[g, victim] &= ~(1 << number)
    if joins:
        _join_run(rules, games, g, int(games.player[g]), number, shark)
        return
    _on_discard_pile(games, g, SHARK if shark else kind_of(number))
    top = int(games.discard_size[g]) - 1
    if rules.octopus_on_top != 0 and top > 0:
        games.discard[g, top - 1], games.discard[g, top] = games.discard[g, top], games.discard[g, top - 1]


# --- a decision -------------------------------------------------------------------------------------------------------------


@inlined
def legal(rules: Rules, games: Games, g: int) -> int:
    """What the player who decides next may do: bit `a` is set if action `a` is legal. 0 if the game is over."""
    stage, p = games.stage[g], int(games.player[g])
    actions: int = 0
    if stage == OVER:
        return actions
    if stage == DRAW:
        actions = ((games.draw_size[g] > 0) << FROM_DRAW_PILE) | ((games.discard_size[g] > 0) << FROM_DISCARD_PILE)
        return actions if actions != 0 else 1 << PASS
    if stage == BLOCK:
        can_block = games.hand[g, games.victim[g], DOLPHIN] > 0
        actions |= (can_block << BLOCK_IT) | ((not can_block or rules.must_block == 0) << PASS)
        return actions
    if stage == STOLEN:  # the same actions as for a card of the hand
        number = grabbed_number(games, g)
        if is_shark(games, g, int(games.victim[g]), number):
            return (1 << (SHARK_AT + (HIGH if number > STARTER else LOW))) | (1 << (DISCARD + SHARK))
        return (1 << (NUMBER + kind_of(number))) | (1 << (DISCARD + kind_of(number)))
    hand = games.hand[g, p]
    for kind in range(rules.kinds):
        actions |= (hand[kind] > 0) << (DISCARD + kind)  # S2.7
    below, above = int(games.low[g, p]) - 1, int(games.high[g, p]) + 1
    if below >= 0:
        actions |= (hand[below] > 0) << (NUMBER + below)
        actions |= (hand[SHARK] > 0) << (SHARK_AT + LOW)
    if above <= 9:
        actions |= (hand[above - 1] > 0) << (NUMBER + above - 1)
        actions |= (hand[SHARK] > 0) << (SHARK_AT + HIGH)
    if hand[OCTOPUS] > 0:
        for k in range(1, rules.players):
            other = seat_after(rules, p, k)
            steal = STEAL + 2 * (k - 1)
            actions |= (games.low[g, other] < STARTER) << (steal + LOW)
            actions |= (games.high[g, other] > STARTER) << (steal + HIGH)
    return actions if actions != 0 else 1 << PASS


@inlined
def _decide(rules: Rules, games: Games, g: int, action: int, streams: NDArray[np.uint64], counters: NDArray[np.uint64]) -> None:
    """Do what a player decided, up to the end of the turn."""
    p, stage = int(games.player[g]), games.stage[g]
    if stage == DRAW:
        if action == FROM_DRAW_PILE:
            _draw_card(rules, games, g, p, streams, counters)
        elif action == FROM_DISCARD_PILE:
            games.discard_size[g] -= 1
            kind = games.discard[g, games.discard_size[g]]
            games.hand[g, p, kind] += 1
            games.taken[g, p, kind] += 1
        games.stage[g] = PLAY
        return
    if stage == BLOCK:
        victim = int(games.victim[g])
        if action == BLOCK_IT:  # S3.2
            _leave_hand(games, g, victim, DOLPHIN)
            _on_discard_pile(games, g, DOLPHIN)
            _draw_card(rules, games, g, victim, streams, counters)
        else:
            fits = fits_thief(games, g, grabbed_number(games, g))
            if fits and rules.may_decline != 0:
                games.stage[g] = STOLEN
                return
            _steal(rules, games, g, fits)
        games.victim[g] = 0
        games.end[g] = 0
    elif stage == STOLEN:
        _steal(rules, games, g, action < DISCARD)
        games.victim[g] = 0
        games.end[g] = 0
    elif action >= STEAL:  # S3
        which = action - STEAL
        _leave_hand(games, g, p, OCTOPUS)
        _on_discard_pile(games, g, OCTOPUS)
        games.victim[g] = seat_after(rules, p, 1 + (which >> 1))
        games.end[g] = which & 1
        games.stage[g] = BLOCK
        return
    elif action >= DISCARD:
        _leave_hand(games, g, p, action - DISCARD)
        _on_discard_pile(games, g, action - DISCARD)
    elif action >= SHARK_AT:  # S2.3
        _leave_hand(games, g, p, SHARK)
        games.coins[g, p] += 1
        number = int(games.low[g, p]) - 1 if action == SHARK_AT + LOW else int(games.high[g, p]) + 1
        _join_run(rules, games, g, p, number, True)
    elif action >= NUMBER:  # S2.2
        _leave_hand(games, g, p, action - NUMBER)
        _join_run(rules, games, g, p, number_of(action - NUMBER), False)
    if games.coins[g, p] >= rules.coins:  # S2.6
        games.stage[g] = OVER
        return
    _end_turn(rules, games, g, streams, counters)


@inlined
def _end_turn(rules: Rules, games: Games, g: int, streams: NDArray[np.uint64], counters: NDArray[np.uint64]) -> None:
    """The hand is filled up if it lacks cards (S2.1), and the next player is about to draw, if the game is not a draw (S4)."""
    p, size = int(games.player[g]), 0
    for kind in range(rules.kinds):
        size += int(games.hand[g, p, kind])
    while size < rules.hand and _draw_card(rules, games, g, p, streams, counters):
        size += 1
    games.player[g] = seat_after(rules, p, 1)
    games.turns[g] += 1
    if games.turns[g] >= rules.turn_limit:
        games.stage[g] = OVER
        return
    games.stage[g] = DRAW
    _shuffle_in(games, g, streams, counters)


@kernel
def play(
    rules: Rules,
    games: Games,
    actions: NDArray[np.int64],
    active: NDArray[np.uint8],
    streams: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    reward_of_finish: NDArray[np.float32],
    outcome: Outcome,
    start: int,
    stop: int,
) -> None:
    """Play one decision of the games `start:stop` in place, and say in `outcome` what it did.

    Args:
        rules: `Rules` of the variant.
        games: `Games`, changed in place. A finished game stays as it is and its outcome is all zero.
        actions: `[G, P]` int64, a legal action of whoever decides; those of other players are ignored.
        active: `[G]` uint8; a game for which it is 0 stays as it is, and its outcome is all zero.
        streams: `[G]` uint64, keys of `random_bits`.
        counters: `[G]` uint64, numbers drawn so far.
        reward_of_finish: `[P + 1]` float32, what each finishing place pays.
        outcome: `Outcome`, overwritten.
        start: the first of the games to play; threads may play disjoint ranges at the same time.
        stop: the one after the last.
    """
    for g in range(start, stop):
        outcome.over[g] = 0
        for p in range(rules.players):
            outcome.finish[p, g] = 0
            outcome.reward[p, g] = 0
        if active[g] == 0 or games.stage[g] == OVER:
            continue
        _decide(rules, games, g, actions[g, actor(games, g)], streams, counters)
        if games.stage[g] == OVER:
            outcome.over[g] = 1
            if games.coins[g, games.player[g]] >= rules.coins:
                for p in range(rules.players):
                    place = 1 if p == games.player[g] else 2
                    outcome.finish[p, g] = place
                    outcome.reward[p, g] = reward_of_finish[place]


@kernel
def replace_illegal_actions(
    rules: Rules,
    games: Games,
    actions: NDArray[np.int64],
    active: NDArray[np.uint8],
    replaced: NDArray[np.uint8],
    start: int,
    stop: int,
) -> None:
    """Meet illegal play at the edge of the rules: an action that is not legal, or none at all, becomes the lowest legal one.

    Args:
        rules: of the variant.
        games: the positions.
        actions: `[G, P]` int64; illegal ones of those who decide are overwritten.
        active: `[G]` uint8, 0: leave the game alone.
        replaced: `[G, P]` uint8, overwritten: 1 = the action of this player was illegal.
        start: the first of the games.
        stop: the one after the last.
    """
    for g in range(start, stop):
        for p in range(rules.players):
            replaced[g, p] = 0
        may = legal(rules, games, g)
        if active[g] == 0 or may == 0:
            continue
        p = actor(games, g)
        action = actions[g, p]
        if action < 0 or action > 62 or (may >> action) & 1 == 0:
            lowest = 0
            while (may >> lowest) & 1 == 0:
                lowest += 1
            actions[g, p] = lowest
            replaced[g, p] = 1
