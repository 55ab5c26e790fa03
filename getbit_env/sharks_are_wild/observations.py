"""What a player sees (S5): one table of fields, from which slices, bounds, documentation and the kernel's offsets are made.

Every entry is 0 or 1; a number is written as entries that say "more than 0", "more than 1", and so on. An observation is a block
of fields for each player, the viewer first and then by seat, and fields of the game. Players are counted from the viewer, so that
the same situation gives the same vector from every seat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.core.layouts import BlockLayout, Show
from getbit_env.sharks_are_wild.rules import BLOCK, KINDS, OVER, PLAY, SHARK, STARTER, STOLEN, Games, Rules, actor, kind_of, legal
from getbit_env.sharks_are_wild.variants import KIND_NAMES, Variant

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Options:
    """What an observation shows beyond what the variant's rules make it show.

    Attributes:
        open_hands: all hands also at level two; for centralised critics, and to study what secrecy is worth.
    """

    open_hands: bool = False


class OptionNames(TypedDict, total=False):
    """The fields of `Options`, as keyword arguments."""

    open_hands: bool


class View(NamedTuple):
    """A `Layout` as the kernel takes it: where each field starts, and how wide it is."""

    players: int
    kinds: int
    open_hands: int  # 1: all hands are shown
    block: int
    coins: int
    coins_size: int
    low: int
    high: int
    sharks: int
    lowest: int  # lowest number that a run can hold
    highest: int
    hand_size: int
    most_in_hand: int
    hand: int
    hand_starts: tuple[int, ...]  # [K + 1] where each kind begins within `hand`, and where the last one ends
    top: int
    discard: int
    discard_starts: tuple[int, ...]  # [K + 1]
    draw_size: int
    draw_entries: int
    stage: int
    turn: int
    victim: int
    end: int
    size: int


class Layout(BlockLayout):
    """Where things stand in the observation of a variant.

    Attributes:
        variant, options: what it is the layout of.
        view: the layout as the kernels take it.
    """

    variant: Variant
    options: Options
    view: View

    def __init__(self, variant: Variant, options: Options | None = None) -> None:
        options = options or Options()
        self.variant, self.options = variant, options
        open_hands = variant.level == 1 or options.open_hands
        players, longest = variant.players, variant.run - 1
        lowest, highest = max(0, STARTER - longest), min(9, STARTER + longest)
        most = variant.hand + 1  # after drawing
        hand_starts = _starts([min(count, most) for count in variant.counts])
        discard_starts = _starts(variant.counts)
        known = (
            "its hand: of each kind (order as below) entry j: more than j cards"
            if open_hands
            else "what the viewer knows of its hand: all of the own hand; of other hands the cards openly taken from the discard "
            "pile and still held. Of each kind (order as below) entry j: more than j cards"
        )
        declines = "or, where it is decided what to do with a card, whose card was stolen " * variant.may_decline
        player_fields = [
            ("coins", variant.coins, "entry j: it has more than j coins"),
            ("low", STARTER - lowest, f"entry j: its run goes down to {STARTER - 1}-j, or lower"),
            ("high", highest - STARTER, f"entry j: its run goes up to {STARTER + 1}+j, or higher"),
            (
                "sharks",
                highest - lowest,
                f"a Shark stands for the number in its run; in turn {', '.join(map(str, _but_starter(lowest, highest)))}",
            ),
            ("hand_size", most, "entry j: it has more than j cards in its hand"),
            ("hand", hand_starts[-1], known),
        ]
        game_fields = [
            ("top", variant.kinds, "one-hot: the top card of the discard pile (zero if there is none)"),
            ("discard", variant.cards, "cards in the discard pile: of each kind entry j: more than j"),
            ("draw_size", variant.cards, "entry j: more than j cards are in the draw pile"),
            ("stage", 3, "one-hot: what is decided: from which pile to draw, what to do with a card, whether to block"),
            ("turn", players, "one-hot: whose turn it is, 0 the viewer, 1 the next player, ..."),
            ("victim", players, f"one-hot: who is asked whether to block {declines}(zero if nobody is)"),
            ("end", 2, "one-hot: the end of that player's run that the Octopus grabs, low or high (zero likewise)"),
        ]
        super().__init__(players, player_fields, game_fields, "the k-th player from the viewer on")
        self.view = View(
            players=players,
            kinds=variant.kinds,
            open_hands=int(open_hands),
            block=self.block,
            coins=self.start_of("coins"),
            coins_size=variant.coins,
            low=self.start_of("low"),
            high=self.start_of("high"),
            sharks=self.start_of("sharks"),
            lowest=lowest,
            highest=highest,
            hand_size=self.start_of("hand_size"),
            most_in_hand=most,
            hand=self.start_of("hand"),
            hand_starts=_padded(hand_starts),
            top=self.start_of("top"),
            discard=self.start_of("discard"),
            discard_starts=_padded(discard_starts),
            draw_size=self.start_of("draw_size"),
            draw_entries=variant.cards,
            stage=self.start_of("stage"),
            turn=self.start_of("turn"),
            victim=self.start_of("victim"),
            end=self.start_of("end"),
            size=self.size,
        )

    def table(self) -> str:
        """The layout as a Markdown table."""
        kinds = ", ".join(f"{count} x {name}" for name, count in zip(KIND_NAMES, self.variant.counts, strict=False))
        return "\n".join([super().table(), "", f"The kinds in order, with how many the deck has of each: {kinds}."])


def _but_starter(lowest: int, highest: int) -> list[int]:
    return [n for n in range(lowest, highest + 1) if n != STARTER]


def _starts(sizes: list[int] | tuple[int, ...]) -> list[int]:
    return [0, *np.cumsum(sizes).tolist()]


def _padded(starts: list[int]) -> tuple[int, ...]:
    """As many starts at both levels, so that the kernels are compiled once for both."""
    return (*starts, *[starts[-1]] * (KINDS + 1 - len(starts)))


_NONE, _ALL = int(Show.NONE), int(Show.ALL)  # a member of an enum costs kernels more than a number


@kernel
def _more_than(out: NDArray[np.float32], at: int, number: int, entries: int) -> None:
    """Write a number as entries "more than j"."""
    for j in range(min(number, entries)):
        out[at + j] = 1


@kernel
def _number(seen: NDArray[np.float32], at: int, entries: int) -> int:
    """Read what `_more_than` wrote."""
    number = 0
    for j in range(entries):
        number += seen[at + j] != 0
    return number


@kernel
def _see(view: View, games: Games, g: int, viewer: int, seen: NDArray[np.float32]) -> None:
    """Write what one player sees of one game."""
    seen[:] = 0
    for k in range(view.players):
        p, at = (viewer + k) % view.players, k * view.block
        low, high, sharks = int(games.low[g, p]), int(games.high[g, p]), int(games.sharks[g, p])
        _more_than(seen, at + view.coins, int(games.coins[g, p]), view.coins_size)
        _more_than(seen, at + view.low, STARTER - low, STARTER - view.lowest)
        _more_than(seen, at + view.high, high - STARTER, view.highest - STARTER)
        if sharks != 0:
            for n in range(low, high + 1):
                if (sharks >> n) & 1 != 0:
                    seen[at + view.sharks + n - view.lowest - (n > STARTER)] = 1
        size = 0
        for kind in range(view.kinds):
            cards = int(games.hand[g, p, kind])
            size += cards
            if k != 0 and view.open_hands == 0:
                cards = int(games.taken[g, p, kind])
            start = view.hand_starts[kind]
            _more_than(seen, at + view.hand + start, cards, view.hand_starts[kind + 1] - start)
        _more_than(seen, at + view.hand_size, size, view.most_in_hand)
    height = int(games.discard_size[g])
    if height > 0:
        seen[view.top + int(games.discard[g, height - 1])] = 1
    for i in range(height):
        at = view.discard + view.discard_starts[games.discard[g, i]]
        while seen[at] != 0:
            at += 1
        seen[at] = 1
    _more_than(seen, view.draw_size, int(games.draw_size[g]), view.draw_entries)
    seen[view.turn + (int(games.player[g]) + view.players - viewer) % view.players] = 1
    if games.stage[g] == STOLEN:  # told from PLAY by the victim
        seen[view.stage + PLAY] = 1
    elif games.stage[g] != OVER:
        seen[view.stage + int(games.stage[g])] = 1
    if games.stage[g] == BLOCK or games.stage[g] == STOLEN:
        seen[view.victim + (int(games.victim[g]) + view.players - viewer) % view.players] = 1
        seen[view.end + int(games.end[g])] = 1


@kernel
def observe(
    view: View,
    rules: Rules,
    games: Games,
    show: NDArray[np.uint8],
    observation: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    start: int,
    stop: int,
) -> None:
    """Write what the players of the games `start:stop` see, and what they may do.

    Args:
        view: `Layout.view`.
        rules: of the variant.
        games: the positions.
        show: `[G]` uint8, whom each game is shown to (`Show`); one player at most has something to choose.
        observation: `[G, P, size]`, overwritten with zeros and ones.
        action_mask: `[G, P, actions]` int8, overwritten: 1 = legal; all ones for a player who has nothing to decide.
        start: the first of the games.
        stop: the one after the last.
    """
    for g in range(start, stop):
        if show[g] == _NONE:
            continue
        decides = actor(games, g) if games.stage[g] != OVER else -1
        for viewer in range(view.players):
            if show[g] == _ALL or viewer == decides:
                _see(view, games, g, viewer, observation[g, viewer])
            else:
                observation[g, viewer] = 0
            if viewer == decides:
                may = legal(rules, games, g)
                for a in range(action_mask.shape[2]):
                    action_mask[g, viewer, a] = (may >> a) & 1
            else:
                action_mask[g, viewer] = 1


@kernel
def read(view: View, seen: NDArray[np.float32], games: Games, g: int) -> None:
    """Write into game `g` the position that an observation tells, the viewer as player 0.

    Of other hands it holds what the viewer knows of them, in `hand` and in `taken`. What the viewer can't know is left: the draw
    pile has its size but whatever cards, the discard pile its cards and its top but whatever order. Turns are not told: 0.
    """
    grabs = False
    for p in range(view.players):
        at = p * view.block
        games.coins[g, p] = _number(seen, at + view.coins, view.coins_size)
        games.low[g, p] = STARTER - _number(seen, at + view.low, STARTER - view.lowest)
        games.high[g, p] = STARTER + _number(seen, at + view.high, view.highest - STARTER)
        sharks = 0
        for n in range(view.lowest, view.highest + 1):
            if n != STARTER and seen[at + view.sharks + n - view.lowest - (n > STARTER)] != 0:
                sharks |= 1 << n
        games.sharks[g, p] = sharks
        games.hand[g, p] = 0
        games.taken[g, p] = 0
        for kind in range(view.kinds):
            start = view.hand_starts[kind]
            cards = _number(seen, at + view.hand + start, view.hand_starts[kind + 1] - start)
            games.hand[g, p, kind] = cards
            games.taken[g, p, kind] = cards if p > 0 else 0
        if seen[view.turn + p] != 0:
            games.player[g] = p
        if seen[view.victim + p] != 0:
            games.victim[g] = p
            grabs = True
    top = -1
    for kind in range(view.kinds):
        if seen[view.top + kind] != 0:
            top = kind
    height = 0
    for kind in range(view.kinds):
        start = view.discard_starts[kind]
        for _ in range(_number(seen, view.discard + start, view.discard_starts[kind + 1] - start) - (kind == top)):
            games.discard[g, height] = kind
            height += 1
    if top >= 0:
        games.discard[g, height] = top
        height += 1
    games.discard_size[g] = height
    games.draw_size[g] = _number(seen, view.draw_size, view.draw_entries)
    games.stage[g] = OVER
    for stage in range(OVER):
        if seen[view.stage + stage] != 0:
            games.stage[g] = stage
    games.end[g] = seen[view.end + 1] != 0
    if not grabs:
        games.victim[g] = 0
    elif games.stage[g] == PLAY:
        games.stage[g] = STOLEN
    games.turns[g] = 0


@kernel
def hand_size(view: View, seen: NDArray[np.float32], player: int) -> int:
    """Cards in the hand of the `player`-th player from the viewer on, as an observation tells."""
    return _number(seen, player * view.block + view.hand_size, view.most_in_hand)


@kernel
def unseen(view: View, games: Games, g: int, cards: NDArray[np.int64]) -> None:
    """Count the cards of each kind that the viewer can't place, `[K]`: they are in other hands and in the draw pile.

    `games` holds in game `g` what `read` made of an observation.
    """
    for kind in range(KINDS):
        cards[kind] = view.discard_starts[kind + 1] - view.discard_starts[kind]
    for i in range(games.discard_size[g]):
        cards[games.discard[g, i]] -= 1
    for p in range(view.players):
        for kind in range(view.kinds):
            cards[kind] -= games.hand[g, p, kind]
        for n in range(games.low[g, p], games.high[g, p] + 1):
            if n != STARTER:
                cards[SHARK if (games.sharks[g, p] >> n) & 1 != 0 else kind_of(n)] -= 1
