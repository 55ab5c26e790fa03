"""The variants of Sharks are Wild: players, level, and what the box holds (S1), all of it parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import choice, switch, whole_number
from getbit_env.core.messages import shown
from getbit_env.sharks_are_wild.rules import DOLPHIN, NUMBER_KINDS, OCTOPUS, SHARK, STEAL, Rules, level_one_actions

ID = "getbit/SharksAreWild-v0"  # of the environment; a new version when the same seed and actions give something else
PREFIX = "sharks-"  # of the names of variants and bots
MOST_CARDS = 120  # a pile is counted in a byte, with room to spare
MOST_TURNS = 100_000


# Where the published rules can be read in two ways: what they say beside our ruling.
LEVEL_TWO_READINGS = ("octopus_on_top", "must_block", "may_decline")
READINGS = (*LEVEL_TWO_READINGS, "early_shuffle")


class Reward(StrEnum):
    """What the end of a game pays (S6)."""

    WIN = "win"  # +1 to the winner, -1/(players-1) to every other player, nothing if the game is a draw


@dataclass(frozen=True, repr=False)
class Variant:
    """One variant of the game. `standard_variant` makes those of the rulebook, `parse_variant` reads a name.

    Attributes:
        players: 2 to 4.
        level: 1, with open hands; or 2, with secret hands, Octopus and Dolphin cards (S1.2, S3).
        numbers: cards of each of the numbers 0-4 and 6-9.
        sharks: Shark cards.
        octopuses: Octopus cards of the box, which level one leaves there.
        dolphins: Dolphin cards, likewise.
        hand: cards of a hand.
        run: cards of a complete run, the starter 5 included.
        coins: coins that win.
        turn_limit: turns after which the game is a draw (S4).
        octopus_on_top: another reading of the published rules, as the next three: a stolen card that is not used lies below the
            Octopus (S3.1). Level two alone.
        must_block: a victim who has a Dolphin blocks (S3). Level two alone.
        may_decline: a thief may discard a stolen card that fits (S3.1). Level two alone.
        early_shuffle: the discard pile is turned over as soon as the draw pile runs out (S2.5).

    Raises:
        ValueError: the game would make no sense; the message says why.
    """

    game: ClassVar[str] = ID

    players: int
    level: int = 1
    numbers: int = 4
    sharks: int = 8
    octopuses: int = 6
    dolphins: int = 4
    hand: int = 5
    run: int = 5
    coins: int = 5
    turn_limit: int = 500
    octopus_on_top: bool = False
    must_block: bool = False
    may_decline: bool = False
    early_shuffle: bool = False

    def __post_init__(self) -> None:
        for entry in dataclass_fields(self):
            value = getattr(self, entry.name)
            if entry.name in READINGS:
                object.__setattr__(self, entry.name, switch(entry.name, value))
                continue
            if entry.name == "players" and isinstance(value, str):
                raise ValueError(f"players is 2 to 4, not {shown(value)}; the name of a variant goes into variant={shown(value)}")
            object.__setattr__(self, entry.name, whole_number(entry.name, value))
        for name, (least, most) in _BOUNDS.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {least} to {most}, not {shown(getattr(self, name))}")
        if self.level == 1:
            for name in ("octopuses", "dolphins"):
                if getattr(self, name) != getattr(Variant, name):
                    raise ValueError(f"{name} says how many of those cards level two has; level one plays without them (S3)")
            for name in LEVEL_TWO_READINGS:
                if getattr(self, name):
                    raise ValueError(f"{name} is about Octopus and Dolphin cards; level one plays without them (S3)")
        if not self.players * self.hand < self.cards <= MOST_CARDS:
            raise ValueError(
                f"the deck has {self.cards} cards, but it has {self.players * self.hand + 1} to {MOST_CARDS}: "
                f"{self.hand} for each of {self.players} players, and one that starts the discard pile"
            )

    @property
    def counts(self) -> tuple[int, ...]:
        """Cards of each kind in the deck: the numbers, Shark, and at level two Octopus and Dolphin."""
        return (*[self.numbers] * NUMBER_KINDS, self.sharks, *((self.octopuses, self.dolphins) if self.level == 2 else ()))

    @property
    def kinds(self) -> int:
        """How many kinds of cards the deck has: 10, at level two 12."""
        return len(self.counts)

    @property
    def cards(self) -> int:
        """Cards of the deck; the starter 5s are not among them (S1.1)."""
        return sum(self.counts)

    @property
    def actions(self) -> int:
        """Size of the action space."""
        return level_one_actions() if self.level == 1 else STEAL + 2 * (self.players - 1)

    @property
    def rules(self) -> Rules:
        """The variant as the kernels take it."""
        return Rules(
            players=self.players,
            kinds=self.kinds,
            hand=self.hand,
            run=self.run,
            coins=self.coins,
            turn_limit=self.turn_limit,
            deck=np.repeat(np.arange(self.kinds), self.counts).astype(np.uint8),
            **{name: int(getattr(self, name)) for name in READINGS},
        )

    @property
    def name(self) -> str:
        """Short name that `parse_variant` reads: `sharks-2p-level2`, others as `sharks-2p-level2-3coins-100turns-mustblock`."""
        parts = [f"{PREFIX}{self.players}p-level{self.level}"]
        for unit, name in _UNITS.items():
            value = getattr(self, name)
            if value != getattr(Variant, name):
                parts.append(f"{value}{unit}")
        parts += [word for word, name in _WORDS.items() if getattr(self, name)]
        return "-".join(parts)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"parse_variant({self.name!r})"

    def reward_of_finish(self, reward: str = Reward.WIN) -> NDArray[np.float64]:
        """What each finishing place pays: `[players + 1]` float64, entry 0 (a draw, or undecided) is 0.

        The winner is first and all others are second, whatever coins they have (S6).
        """
        choice(Reward, "reward", reward)
        pays = np.full(self.players + 1, -1 / (self.players - 1))
        pays[0], pays[1] = 0, 1
        return pays


_WORDS = {name.replace("_", ""): name for name in READINGS}
_UNITS = {
    "of": "numbers",
    "sharks": "sharks",
    "octopuses": "octopuses",
    "dolphins": "dolphins",
    "hand": "hand",
    "run": "run",
    "coins": "coins",
    "turns": "turn_limit",
}
_BOUNDS = {
    "players": (2, 4),
    "level": (1, 2),
    "numbers": (1, 12),
    "sharks": (0, 60),
    "octopuses": (0, 60),
    "dolphins": (0, 60),
    "hand": (1, 10),
    "run": (2, 10),
    "coins": (1, 20),
    "turn_limit": (1, MOST_TURNS),
}


def standard_variant(players: int = 4, level: int = 1) -> Variant:
    """The game of the rulebook for so many players, at a level.

    Raises:
        ValueError: there is no such game.
    """
    return Variant(players, level)


def parse_variant(name: str) -> Variant:
    """Read a variant's name, exactly as `Variant.name` prints it: a game has one name.

    Raises:
        ValueError: the name is not one, or the game would make no sense.
    """
    text = shown(str(name))
    match = re.fullmatch(rf"{PREFIX}([0-9]{{1,3}})p-level([0-9]{{1,3}})((?:-[0-9]{{0,6}}[a-z]{{1,13}}){{0,12}})", str(name))
    if match is None:
        raise ValueError(f"no variant {text}: a name is like {PREFIX}2p-level2 or {PREFIX}4p-level1-3coins")
    found: dict[str, int | bool] = {}
    for number, word in re.findall(r"-([0-9]*)([a-z]+)", match[3]):
        if word not in (_UNITS if number else _WORDS):
            raise ValueError(f"no variant {text}: '{number}{word}' is none of {', '.join([*(f'5{u}' for u in _UNITS), *_WORDS])}")
        field = _UNITS[word] if number else _WORDS[word]
        if field in found:
            raise ValueError(f"no variant {text}: '{number}{word}' says a thing twice")
        found[field] = int(number) if number else True
    variant = Variant(int(match[1]), int(match[2]), **found)  # type: ignore[arg-type]  # each is of the type of its field
    if variant.name != name:
        raise ValueError(f"no variant {text}: the name of that game is {variant.name!r}")
    return variant


KIND_NAMES = [*(str(n) for n in (0, 1, 2, 3, 4, 6, 7, 8, 9)), "Shark", "Octopus", "Dolphin"]
assert (KIND_NAMES[SHARK], KIND_NAMES[OCTOPUS], KIND_NAMES[DOLPHIN]) == ("Shark", "Octopus", "Dolphin")
