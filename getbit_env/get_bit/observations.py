"""What a player sees (G7): one table of fields, from which slices, bounds, documentation and the kernel's offsets are made.

Every entry is 0 or 1. An observation is a block of fields for each robot, robots in the line first, front to back, blocks of
robots that are out all zero; then fields of the game. Nothing in it depends on the number of a seat: the same situation gives
the same vector from every seat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import inlined, lean_kernel, part
from getbit_env.core.layouts import BlockLayout, Show
from getbit_env.get_bit.rules import Games
from getbit_env.get_bit.variants import MOST_CARDS, Variant

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Options:
    """What an observation shows beyond what the variant's rules make it show.

    Attributes:
        observe_last: the cards of the last round also in the face-up game (the memory game always shows them).
        identity: also in the face-up game, whose robot each one is by seat, and which of that player's robots.
        history: all past rounds as the player saw them.
    """

    observe_last: bool = False
    identity: bool = False
    history: bool = False


class OptionNames(TypedDict, total=False):
    """The fields of `Options`, as keyword arguments."""

    observe_last: bool
    identity: bool
    history: bool


class View(NamedTuple):
    """A `Layout` as the kernel takes it: where each field starts (-1 where there is none), and how wide it is."""

    players: int
    robots_per_player: int
    cards: int
    limbs: int
    block: int
    owner: int
    owner_size: int
    seat: int
    number: int
    limb: int
    hand: int
    hidden: int  # 1: hands of other players are not shown
    hand_size: int
    last: int
    first_round: int
    history: int
    history_rounds: int
    size: int
    words: int  # words of 64 bits in which `observe` makes an observation without a history
    places: int  # places of the line of which one word holds the blocks


class Record(NamedTuple):
    """What a position does not tell of how it came about; axes as in `rules`, and H past rounds, the first one first."""

    start: NDArray[np.uint8]  # [R, G] place in the starting line
    played: NDArray[np.uint8]  # [H, R, G] bit of the card played; H is 0 where no history is kept
    place: NDArray[np.uint8]  # [H, R, G] place after the round
    limbs: NDArray[np.uint8]  # [H, R, G] bites left after the round


class Layout(BlockLayout):
    """Where things stand in the observation of a variant.

    Attributes:
        variant, options: what it is the layout of.
        history_rounds, history_robot: past rounds that the history shows, and entries of a robot in each.
        view: the layout as the kernels take it.
    """

    variant: Variant
    options: Options
    history_rounds: int
    history_robot: int
    view: View

    def __init__(self, variant: Variant, options: Options | None = None) -> None:
        options = options or Options()
        self.variant, self.options = variant, options
        named = variant.memory or options.identity
        cards, players = variant.cards, variant.players
        opponents_differ = variant.robots_per_player == 2 and players == 3

        robot: list[tuple[str, int, str]] = []
        if named:
            robot.append(("seat", players, "whose robot it is, one-hot: 0 the viewer, 1 the next seat after the viewer, ..."))
            if variant.robots_per_player == 2:
                robot.append(
                    ("number", 2, "which of its owner's robots it is, one-hot: 0 the one nearer the front of the starting line")
                )
        elif opponents_differ:
            robot.append(("owner", 3, "one-hot: the viewer, the opponent whose frontmost robot is ahead, the other opponent"))
        else:
            robot.append(("owner", 1, "1 if the robot is the viewer's"))
        robot.append(("limbs", variant.limbs, "entry k: the robot has more than k bites left (entry 0: it is in the line)"))
        whose = "of the viewer's own robots (zero for others): " if variant.memory else ""
        robot.append(("hand", cards, f"{whose}card k+1 is in its hand"))
        if variant.memory:
            robot.append(("hand_size", cards, "entry k: its hand has more than k cards"))
        if variant.memory or options.observe_last:
            robot.append(("last", cards, "one-hot: the card that it played in the last round (zero before the first)"))

        game = [("first_round", 1, "1 in the first round, in which nobody is bitten")]
        self.history_rounds = variant.most_rounds - 1 if options.history else 0
        self.history_robot = cards + variant.robots + 1
        if options.history:
            game.append(
                (
                    "start",
                    variant.robots**2,
                    "for each robot, by seat from the viewer on and by number: its place in the starting line, one-hot",
                )
            )
            game.append(
                (
                    "history",
                    self.history_rounds * variant.robots * self.history_robot,
                    "for each past round, the first one first, and each robot (order as in start): "
                    "its card, one-hot; its place after the round, one-hot; 1 if it was bitten",
                )
            )
        super().__init__(variant.robots, robot, game, "the robot in place k")

        words = -(-variant.robots // (63 // self.block))  # a bit is left for the first round

        self.view = View(
            players=players,
            robots_per_player=variant.robots_per_player,
            cards=cards,
            limbs=variant.limbs,
            block=self.block,
            owner=self.start_of("owner"),
            owner_size=self.block_fields["owner"].size if "owner" in self.block_fields else 0,
            seat=self.start_of("seat"),
            number=self.start_of("number"),
            limb=self.start_of("limbs"),
            hand=self.start_of("hand"),
            hidden=int(variant.memory),
            hand_size=self.start_of("hand_size"),
            last=self.start_of("last"),
            first_round=self.start_of("first_round"),
            history=self.start_of("start"),
            history_rounds=self.history_rounds,
            size=self.size,
            words=words,
            places=-(-variant.robots // words),
        )

    def mine(self, observation: NDArray[T]) -> NDArray[np.bool_]:
        """`[..., size]` -> `[..., places]`: the robot in this place is the viewer's."""
        first = self.start_of("seat" if "seat" in self.block_fields else "owner")
        is_mine: NDArray[np.bool_] = self.blocks(observation)[..., first] != 0
        return is_mine


def new_record(layout: Layout, games: int) -> Record:
    """Allocate the record that observations of this layout need."""
    robots, rounds = layout.variant.robots, layout.history_rounds
    past = [np.zeros((rounds, robots, games), np.uint8) for _ in range(3)]
    return Record(np.zeros((robots, games), np.uint8), *past)


@lean_kernel
def record_start(games: Games, record: Record, begin: NDArray[np.uint8], start: int, stop: int) -> None:
    """Remember the starting lines of those of the games `start:stop` that begin."""
    for r in range(games.place.shape[0]):
        place, at_start, begins = games.place[r, start:stop], record.start[r, start:stop], begin[start:stop]
        for g in range(stop - start):
            new = np.uint8(0) - np.uint8(begins[g] != 0)
            at_start[g] = (at_start[g] & ~new) | (place[g] & new)


@lean_kernel
def record_round(games: Games, record: Record, start: int, stop: int) -> None:
    """Remember the round just played, after `play_round`, if a history is kept."""
    if record.played.shape[0] == 0:
        return
    for g in range(start, stop):
        h = games.rounds[g] - 1
        if 0 <= h < record.played.shape[0]:
            for r in range(games.place.shape[0]):
                record.played[h, r, g] = games.played[r, g]
                record.place[h, r, g] = games.place[r, g]
                record.limbs[h, r, g] = games.limbs[r, g]


@part
def _number(view: View, record: Record, r: int, g: int) -> int:
    """0 if robot `r` is the one of its owner's that was nearer the front at the start, else 1."""
    if view.robots_per_player == 1:
        return 0
    return int(record.start[r, g] > record.start[r ^ 1, g])


@part
def _see_history(view: View, games: Games, record: Record, g: int, viewer: int, out: NDArray[np.float32]) -> None:
    """Write `start` and `history` as `viewer` saw them."""
    robots = games.place.shape[0]
    width = view.cards + robots + 1
    for r in range(robots):
        seat = (r // view.robots_per_player - viewer) % view.players
        row = seat * view.robots_per_player + _number(view, record, r, g)
        out[view.history + row * robots + int(record.start[r, g])] = 1
        before = view.limbs
        for h in range(min(int(games.rounds[g]), view.history_rounds)):
            at = view.history + robots * robots + (h * robots + row) * width
            if before > 0:
                for c in range(view.cards):
                    out[at + c] = (record.played[h, r, g] >> c) & 1
                left = int(record.limbs[h, r, g])
                if left > 0:
                    out[at + view.cards + int(record.place[h, r, g])] = 1
                out[at + view.cards + robots] = left < before
                before = left


_NONE, _CHOOSING = int(Show.NONE), int(Show.CHOOSING)  # a member of an enum costs kernels more than a number
GAMES_PER_PASS = 256  # games that one pass observes: their words stay in the first-level cache
# Entry i: bit i alone. Comparing becomes vector instructions; a table of all bytes, eight entries a load, took 1.4 times as long.
BITS = np.uint64(1) << np.arange(64, dtype=np.uint64)


class ObservationWorkspace(NamedTuple):
    """What `observe` works in, one a thread, N games at a time: observations and masks are bits of words, then spread out."""

    seen: NDArray[np.uint64]  # [P * W, N] W words for each viewer: the blocks of `View.places` places a word, then the first round
    legal: NDArray[np.uint64]  # [P, N] the masks of all players one after the other, as many to a word as it holds whole
    front: NDArray[np.uint64]  # [P, N] place of a player's frontmost robot in the line
    row: NDArray[np.uint64]  # [6, N]


def new_observation_workspace(layout: Layout, games: int = GAMES_PER_PASS) -> ObservationWorkspace:
    """Allocate what `observe` works in, for so many games or more."""
    players, view = layout.variant.players, layout.view
    seen, legal, front, row = (
        np.zeros((rows, min(games, GAMES_PER_PASS)), np.uint64) for rows in (players * view.words, players, players, 6)
    )
    return ObservationWorkspace(seen, legal, front, row)


@part
def _line(view: View, last_line: int, games: Games, work: ObservationWorkspace, start: int, stop: int) -> None:
    """Find the players in the line: `row[0]` is all ones where the game goes on, `front` is 255 for a player who is out."""
    playing = work.row[0, : stop - start]
    playing[:] = 0
    work.front[:] = 255
    for r in range(games.limbs.shape[0]):
        limbs, place = games.limbs[r, start:stop], games.place[r, start:stop]
        front = work.front[r // view.robots_per_player, : stop - start]
        for g in range(stop - start):
            playing[g] += np.uint64(limbs[g] > 0)
            front[g] = np.uint64(place[g]) if limbs[g] > 0 and place[g] < front[g] else front[g]
    for g in range(stop - start):
        playing[g] = np.uint64(0) - np.uint64(playing[g] > np.uint64(last_line))


@part
def _see_robot(view: View, games: Games, record: Record, r: int, block: NDArray[np.uint64], start: int, stop: int) -> None:
    """Make the block of robot `r` but for what only its owner sees: the same for all viewers."""
    one = np.uint64(1)
    limb = np.uint64(view.limb)
    limbs, hand, played = games.limbs[r, start:stop], games.hand[r, start:stop], games.played[r, start:stop]
    for g in range(stop - start):
        block[g] = ((one << np.uint64(limbs[g])) - one) << limb
    if view.hidden == 0:
        at = np.uint64(view.hand)
        for g in range(stop - start):
            block[g] |= np.uint64(hand[g]) << at
    else:
        at = np.uint64(view.hand_size)
        for g in range(stop - start):
            size = np.uint64(0)
            for c in range(MOST_CARDS):
                size += np.uint64((hand[g] >> c) & 1)
            block[g] |= ((one << size) - one) << at
    if view.number >= 0:
        at, place, other = np.uint64(view.number), record.start[r, start:stop], record.start[r ^ 1, start:stop]
        for g in range(stop - start):
            block[g] |= one << (at + np.uint64(place[g] > other[g]))
    if view.last >= 0:
        at = np.uint64(view.last)
        for g in range(stop - start):
            block[g] |= np.uint64(played[g]) << at


@part
def _see_owner(
    view: View, games: Games, work: ObservationWorkspace, r: int, viewer: int, own: NDArray[np.uint64], start: int, stop: int
) -> None:
    """Make what this viewer sees of robot `r` beyond that: whose it is, and in the memory game a viewer's own hand."""
    one, owner = np.uint64(1), r // view.robots_per_player
    own[:] = 0
    if view.seat >= 0:
        own[:] = one << np.uint64(view.seat + (owner - viewer) % view.players)
    elif owner == viewer:
        own[:] = one << np.uint64(view.owner)
    elif view.owner_size == 3:
        opponent, front, other_front = np.uint64(view.owner + 1), work.front[owner], work.front[3 - viewer - owner]
        for g in range(stop - start):
            own[g] = one << (opponent + np.uint64(front[g] > other_front[g]))
    if view.hidden == 1 and owner == viewer:
        hand, hand_at = games.hand[r, start:stop], np.uint64(view.hand)
        for g in range(stop - start):
            own[g] |= np.uint64(hand[g]) << hand_at


@part
def _see(view: View, games: Games, record: Record, work: ObservationWorkspace, start: int, stop: int) -> None:
    """Make all observations, as if all looked on."""
    n, count, places = stop - start, view.words, view.places
    block, own, at, here, placed = work.row[1, :n], work.row[2, :n], work.row[3, :n], work.row[4, :n], work.row[5, :n]
    rounds, first_round = games.rounds[start:stop], np.uint64(view.first_round - (count - 1) * places * view.block)
    work.seen[:] = 0
    for viewer in range(view.players):
        seen = work.seen[viewer * count + count - 1, :n]
        for g in range(n):
            seen[g] = np.uint64(rounds[g] == 0) << first_round
    for r in range(games.place.shape[0]):
        limbs, place = games.limbs[r, start:stop], games.place[r, start:stop]
        _see_robot(view, games, record, r, block, start, stop)
        for w in range(count):
            for g in range(n):
                to = np.int64(place[g]) - w * places
                at[g] = np.uint64((to * view.block) & 63)
                here[g] = np.uint64(0) - np.uint64((limbs[g] > 0) & (to >= 0) & (to < places))
                placed[g] = (block[g] << at[g]) & here[g]
            for viewer in range(view.players):
                seen = work.seen[viewer * count + w, :n]
                if view.owner_size == 1 and r // view.robots_per_player != viewer:  # it sees nothing more of the robot
                    for g in range(n):
                        seen[g] |= placed[g]
                else:
                    _see_owner(view, games, work, r, viewer, own, start, stop)
                    for g in range(n):
                        seen[g] |= placed[g] | ((own[g] << at[g]) & here[g])


@part
def _choose(view: View, games: Games, show: NDArray[np.uint8], work: ObservationWorkspace, start: int, stop: int) -> None:
    """Make all masks, and take from the observations of those who have nothing to choose what `show` does not let them see."""
    n, each, count = stop - start, view.robots_per_player, view.words
    playing, choosing, mask = work.row[0, :n], work.row[1, :n], work.row[2, :n]
    show = show[start:stop]
    actions = view.cards**each
    to_a_word = 64 // actions
    every = (np.uint64(1) << np.uint64(actions)) - np.uint64(1)
    work.legal[:] = 0
    for viewer in range(view.players):
        front = work.front[viewer, :n]
        for g in range(n):
            choosing[g] = playing[g] & (np.uint64(0) - np.uint64(front[g] < np.uint64(255)))
        for w in range(count):
            seen = work.seen[viewer * count + w, :n]
            for g in range(n):
                seen[g] &= choosing[g] | (np.uint64(0) - np.uint64(show[g] != _CHOOSING))
        if each == 1:
            hand = games.hand[viewer, start:stop]
            for g in range(n):
                mask[g] = np.uint64(hand[g])
        else:
            hand_a, hand_b = games.hand[2 * viewer, start:stop], games.hand[2 * viewer + 1, start:stop]
            place_a, place_b = games.place[2 * viewer, start:stop], games.place[2 * viewer + 1, start:stop]
            mask[:] = 0
            for c in range(view.cards):
                card, at = np.uint64(c), np.uint64(c * view.cards)
                for g in range(n):
                    swap = place_a[g] > place_b[g]
                    nearer_front, nearer_shark = (
                        np.uint64(hand_b[g] if swap else hand_a[g]),
                        np.uint64(hand_a[g] if swap else hand_b[g]),
                    )
                    held = np.uint64(0) - ((nearer_front >> card) & np.uint64(1))
                    mask[g] |= (held & nearer_shark) << at
        legal, at = work.legal[viewer // to_a_word, :n], np.uint64(viewer % to_a_word * actions)
        for g in range(n):
            legal[g] |= ((mask[g] & choosing[g]) | (every & ~choosing[g])) << at


@lean_kernel
def observe(
    view: View,
    last_line: int,
    games: Games,
    record: Record,
    show: NDArray[np.uint8],
    work: ObservationWorkspace,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    start: int,
    stop: int,
) -> None:
    """Write what the players of the games `start:stop` see, and what they may play.

    Args:
        view: `Layout.view`.
        last_line: `Rules.last_line`.
        games: the positions.
        record: the games' `Record`.
        show: `[G]` uint8, whom each game is shown to (`Show`); a player who is out has nothing to choose.
        work: `ObservationWorkspace` of this thread.
        observation: `[G, P, size]`, overwritten with zeros and ones.
        action_mask: `[G, P, actions]` int8, overwritten: 1 = legal; all ones for a player who has nothing to choose.
        start: the first of the games.
        stop: the one after the last.
    """
    for first in range(start, stop, GAMES_PER_PASS):
        last = min(first + GAMES_PER_PASS, stop)
        _line(view, last_line, games, work, first, last)
        _see(view, games, record, work, first, last)
        _choose(view, games, show, work, first, last)
        _spread(view, games, record, show, work, observation, action_mask, first, last)


@part
def _spread(
    view: View,
    games: Games,
    record: Record,
    show: NDArray[np.uint8],
    work: ObservationWorkspace,
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    start: int,
    stop: int,
) -> None:
    """Write the words to where they belong, a number for each bit."""
    count, size, width = view.words, view.first_round + 1, view.places * view.block
    for g in range(start, stop):
        if show[g] == _NONE:
            continue
        for w in range(count):
            entries = width if w < count - 1 else size - w * width
            for viewer in range(view.players):
                word, row = work.seen[viewer * count + w, g - start], observation[g, viewer, w * width :]
                for i in range(entries):
                    row[i] = np.float32(1) if word & BITS[i] else np.float32(0)
    masks = action_mask.reshape((action_mask.shape[0], action_mask.shape[1] * action_mask.shape[2]))
    run = 64 // action_mask.shape[2] * action_mask.shape[2]  # entries of all masks that share a word
    for m in range(0, masks.shape[1], run):
        entries = min(run, masks.shape[1] - m)
        for g in range(start, stop):
            if show[g] == _NONE:
                continue
            word, mask = np.int64(work.legal[m // run, g - start]), masks[g, m:]
            for i in range(entries):
                mask[i] = (word >> i) & 1
    if view.history >= 0:
        for g in range(start, stop):
            if show[g] == _NONE:
                continue
            for viewer in range(view.players):
                row = observation[g, viewer]
                row[size:] = 0
                if row[view.limb] > 0:  # it sees: there is a robot in front
                    _see_history(view, games, record, g, viewer, row)


# --- reading it back -------------------------------------------------------------------------------------------------------
# The decoder of what `observe` writes: row `b` of `[B, size]`, and the robot in place `k` of the line. Every kernel that reads
# observations reads them with these, so that a field is laid out here and nowhere else.


@inlined
def reads_in_line(view: View, observation: NDArray[np.float32], b: int, k: int) -> bool:
    """There is a robot in this place. Of place 0: the row shows anything at all."""
    is_so: bool = observation[b, k * view.block + view.limb] != 0
    return is_so


@inlined
def read_limbs(view: View, observation: NDArray[np.float32], b: int, k: int) -> int:
    """Bites left; 0 if there is no robot in this place."""
    limbs, at = 0, k * view.block + view.limb
    for i in range(view.limbs):
        limbs += observation[b, at + i] != 0
    return limbs


@inlined
def reads_own(view: View, observation: NDArray[np.float32], b: int, k: int) -> bool:
    """The robot is the viewer's: the first entry of `seat` or `owner`, of which one is there, says so."""
    is_so: bool = observation[b, k * view.block + max(view.seat, view.owner)] != 0
    return is_so


@inlined
def read_seat(view: View, observation: NDArray[np.float32], b: int, k: int) -> int:
    """Whose robot it is: 0 the viewer. Others by seat where seats are shown, or as `owner` tells them apart; else all are 1."""
    if view.owner_size == 1:
        return int(observation[b, k * view.block + view.owner] == 0)
    seat, at = 0, k * view.block + max(view.seat, view.owner)
    for s in range(view.players):
        seat += s * int(observation[b, at + s] != 0)
    return seat


@inlined
def read_number(view: View, observation: NDArray[np.float32], b: int, k: int) -> int:
    """Which of its owner's robots it is; 0 where that is not shown."""
    return int(observation[b, k * view.block + view.number + 1] != 0) if view.number >= 0 else 0


@inlined
def _read_cards(view: View, observation: NDArray[np.float32], b: int, at: int) -> int:
    cards = 0
    for c in range(view.cards):
        cards |= int(observation[b, at + c] != 0) << c
    return cards


@inlined
def read_hand(view: View, observation: NDArray[np.float32], b: int, k: int) -> int:
    """Mask of the cards of its hand; 0 where that is hidden."""
    return _read_cards(view, observation, b, k * view.block + view.hand)


@inlined
def reads_full_hand(view: View, observation: NDArray[np.float32], b: int, k: int) -> bool:
    """It holds all its cards: it has not played yet, or took its table back. Only where hands are hidden."""
    is_so: bool = observation[b, k * view.block + view.hand_size + view.cards - 1] != 0
    return is_so


@inlined
def read_last(view: View, observation: NDArray[np.float32], b: int, k: int) -> int:
    """Bit of the card that it played in the last round, 0 before the first; only where that is shown."""
    return _read_cards(view, observation, b, k * view.block + view.last)


@inlined
def reads_first_round(view: View, observation: NDArray[np.float32], b: int) -> bool:
    """Nothing was played yet."""
    is_so: bool = observation[b, view.first_round] != 0
    return is_so


@lean_kernel
def read_position(
    view: View,
    observation: NDArray[np.float32],
    b: int,
    place: NDArray[np.uint8],
    limbs: NDArray[np.uint8],
    hand: NDArray[np.uint8],
) -> int:
    """Read a face-up observation, row `b`, into `[R]` arrays as `rules.Games` has them.

    Player 0 is the viewer, the others are numbered as they come in the line, front to back, and so are robots of one player: the
    same situation gives the same arrays, whatever else the observation shows.

    Returns:
        Robots in the line; 0 for a row of zeros.
    """
    each, robots = view.robots_per_player, view.players * view.robots_per_player
    limbs[:] = 0
    hand[:] = 0
    line = others = 0
    first = -1  # seat of the first opponent that is met
    for k in range(robots):
        if not reads_in_line(view, observation, b, k):
            break
        player, seat = 0, read_seat(view, observation, b, k)
        if seat > 0:
            first = seat if first < 0 else first
            player = 1 + others if each == 1 else 1 if seat == first else 2
            others += 1
        robot = player * each
        if limbs[robot] > 0:
            robot += 1
        place[robot] = k
        limbs[robot] = read_limbs(view, observation, b, k)
        hand[robot] = read_hand(view, observation, b, k)
        line += 1
    behind = line
    for robot in range(robots):
        if limbs[robot] == 0:
            place[robot] = behind
            behind += 1
    return line


# --- what is played ----------------------------------------------------------------------------------------------------------


@lean_kernel
def actions_to_cards(
    view: View,
    games: Games,
    actions: NDArray[np.int64],
    cards: NDArray[np.uint8],
    replaced: NDArray[np.uint8],
    start: int,
    stop: int,
) -> None:
    """Turn actions into cards, at the edge of the rules: an illegal card becomes the lowest of that robot's hand.

    Args:
        view: `Layout.view`.
        games: the positions.
        actions: `[G, P]` int64, each in the action space: card - 1, or for two robots
            (card of the own robot nearer the front - 1) * cards + (card of the one nearer the shark - 1).
            Illegal ones are overwritten with what is played instead.
        cards: `[R, G]` uint8, overwritten with bits of cards; 0 for robots that are out.
        replaced: `[G, P]` uint8, overwritten: 1 = a card of this player was illegal.
        start: the first of the games.
        stop: the one after the last.
    """
    each = view.robots_per_player
    if each == 1:  # without the divisions that take a pair of cards apart
        for g in range(start, stop):
            for p in range(view.players):
                hand = np.int64(games.hand[p, g]) * np.int64(games.limbs[p, g] > 0)
                bit = (np.int64(1) << actions[g, p]) & hand
                is_illegal = (bit == 0) & (hand != 0)
                replaced[g, p] = is_illegal
                if is_illegal:
                    bit = hand & -hand
                    actions[g, p] = 0
                    while hand >> actions[g, p] & 1 == 0:
                        actions[g, p] += 1
                cards[p, g] = bit
        return
    for g in range(start, stop):
        for p in range(view.players):
            replaced[g, p] = 0
            action = actions[g, p]
            for r in range(p * each, p * each + each):
                worth = 1  # what one card more of this robot adds to the action
                if each == 2 and games.place[r, g] < games.place[r ^ 1, g]:
                    worth = view.cards
                card = (action // worth) % view.cards
                hand = np.int64(games.hand[r, g])
                bit = (np.int64(1) << card) & hand
                if games.limbs[r, g] == 0:
                    bit = np.int64(0)
                elif bit == 0:
                    lowest = np.int64(0)
                    while (hand >> lowest) & 1 == 0:
                        lowest += 1
                    bit = np.int64(1) << lowest
                    actions[g, p] += (lowest - card) * worth
                    replaced[g, p] = 1
                cards[r, g] = bit
