"""The variants of Get Bit!: the set-up table (G1), the options of the rulebooks, and custom small games for study."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import choice, switch, whole_number
from getbit_env.core.messages import shown
from getbit_env.get_bit.rules import Rules


class SetUp(NamedTuple):
    """A row of the table in G1."""

    robots_per_player: int
    cards: int  # every robot holds 1..cards


SET_UP = {
    2: SetUp(robots_per_player=2, cards=5),
    3: SetUp(robots_per_player=2, cards=7),
    4: SetUp(robots_per_player=1, cards=5),
    5: SetUp(robots_per_player=1, cards=6),
    6: SetUp(robots_per_player=1, cards=7),
    7: SetUp(robots_per_player=1, cards=7),  # with one more robot and deck than the box holds
}
ID = "getbit/GetBit-v0"  # of the environment; a new version when the same seed and actions give something else
LIMBS, HALF_LIMBS = 4, 8  # bites that put a robot out: the standard and the longer game (G1.3, G4.2)
MOST_CARDS, MOST_LIMBS = 7, 32  # a hand and the round counter are each one byte


class ThreePlayerEnding(StrEnum):
    """Who wins when a robot goes out in the three-player game (G6.3)."""

    SKIP_LOSER = "skip_loser"  # the frontmost robot of the two players who did not lose
    LITERAL = "literal"  # the frontmost robot of all, the loser's other one included


class Reward(StrEnum):
    """What a finishing place pays (G6.4)."""

    WIN = "win"  # +1 to the winner, -1/(players-1) to every other player
    PLACEMENT = "placement"  # linear from +1 for the winner to -1 for the last


@dataclass(frozen=True, repr=False)
class Variant:
    """One variant of the game. `standard_variant` makes those of the rulebooks, `parse_variant` reads a name.

    Attributes:
        players: 2 to 7.
        robots_per_player: two in the standard games of two and three players, else one.
        cards: every robot holds the cards 1 to `cards`.
        limbs: bites that put a robot out, 4 in the standard game, 8 (half limbs) in the longer one.
        pick_up_at: a hand down to so many cards or fewer takes its table back, 2 or 1 (G5).
        memory: tables lie face down (G7.3).
        three_player_ending: see `ThreePlayerEnding`.

    Raises:
        ValueError: the game would make no sense; the message says why.
    """

    game: ClassVar[str] = ID

    players: int
    robots_per_player: int
    cards: int
    limbs: int = LIMBS
    pick_up_at: int = 2
    memory: bool = False
    three_player_ending: ThreePlayerEnding = ThreePlayerEnding.SKIP_LOSER

    def __post_init__(self) -> None:
        for name in ("players", "robots_per_player", "cards", "limbs", "pick_up_at"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        object.__setattr__(self, "memory", switch("memory", self.memory))
        object.__setattr__(self, "three_player_ending", choice(ThreePlayerEnding, "three_player_ending", self.three_player_ending))
        if not 2 <= self.players <= 7:
            raise ValueError(f"players is 2 to 7, not {self.players}")
        allowed = {2: (2,), 3: (1, 2)}.get(self.players, (1,))
        if self.robots_per_player not in allowed:
            why = {
                2: "with one robot each the game would be over before it began, so two players have two robots each",
                3: "three players have one or two robots each",
            }.get(self.players, "four and more players have one robot each")
            raise ValueError(f"robots_per_player is {' or '.join(map(str, allowed))}, not {self.robots_per_player}: {why}")
        if self.pick_up_at not in (1, 2):
            raise ValueError(f"pick_up_at is 2 or 1 (the rulebooks know no other threshold), not {self.pick_up_at}")
        if not self.pick_up_at < self.cards <= MOST_CARDS:
            raise ValueError(
                f"cards is {self.pick_up_at + 1} to {MOST_CARDS}, not {self.cards}: with {self.pick_up_at} or fewer cards a hand "
                f"would always be taken back at once (pick_up_at={self.pick_up_at}), and decks end at {MOST_CARDS}"
            )
        if not 1 <= self.limbs <= MOST_LIMBS:
            raise ValueError(f"limbs (bites that put a robot out) is 1 to {MOST_LIMBS}, not {self.limbs}")
        if self.three_player_ending == ThreePlayerEnding.LITERAL and (self.players, self.robots_per_player) != (3, 2):
            raise ValueError(
                "three_player_ending='literal' is for three players with two robots each: no other game has that ending"
            )

    @property
    def robots(self) -> int:
        """Robots in the starting line."""
        return self.players * self.robots_per_player

    @property
    def actions(self) -> int:
        """Size of a player's action space: a card, or a pair of cards for two robots."""
        return int(self.cards**self.robots_per_player)

    @property
    def last_line(self) -> int:
        """Robots in the line at which the game is over: two (G6.1), or all but one where each player has two (G6.2, G6.3)."""
        return 2 if self.robots_per_player == 1 else self.robots - 1

    @property
    def least_rounds(self) -> int:
        """Rounds of the shortest game: from the second on a bite each (G6.5)."""
        return 1 + (self.robots - self.last_line) * self.limbs

    @property
    def most_rounds(self) -> int:
        """Rounds of the longest game: all that stay in the line come down to their last limb (G6.5)."""
        return self.least_rounds + self.last_line * (self.limbs - 1)

    @property
    def rules(self) -> Rules:
        """The variant as the kernels take it."""
        return Rules(
            robots_per_player=self.robots_per_player,
            deck=(1 << self.cards) - 1,
            limbs=self.limbs,
            pick_up_at=self.pick_up_at,
            last_line=self.last_line,
            literal_ending=int(self.three_player_ending == ThreePlayerEnding.LITERAL),
        )

    @property
    def name(self) -> str:
        """Short name that `parse_variant` reads: `4p`, `2p-half`, `4p-pick1-memory`, custom games as `3p-1r-4c-2l`."""
        standard = SET_UP[self.players]
        parts = [f"{self.players}p"]
        if self.robots_per_player != standard.robots_per_player:
            parts.append(f"{self.robots_per_player}r")
        if self.cards != standard.cards:
            parts.append(f"{self.cards}c")
        if self.limbs == HALF_LIMBS:
            parts.append("half")
        elif self.limbs != LIMBS:
            parts.append(f"{self.limbs}l")
        if self.pick_up_at == 1:
            parts.append("pick1")
        if self.memory:
            parts.append("memory")
        if self.three_player_ending == ThreePlayerEnding.LITERAL:
            parts.append("literal")
        return "-".join(parts)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"parse_variant({self.name!r})"

    def reward_of_finish(self, reward: str) -> NDArray[np.float64]:
        """What each finishing place pays: `[players + 1]` float64, entry 0 (undecided) is 0."""
        reward = choice(Reward, "reward", reward)
        pays = np.zeros(self.players + 1)
        if reward == Reward.WIN:
            pays[1], pays[2:] = 1, -1 / (self.players - 1)
        else:
            pays[1:] = np.linspace(1, -1, self.players)
        return pays


def standard_variant(
    players: int = 4,
    *,
    memory: bool = False,
    half_limbs: bool = False,
    pick_up_at: int = 2,
    three_player_ending: ThreePlayerEnding | str = ThreePlayerEnding.SKIP_LOSER,
) -> Variant:
    """The game of the rulebooks for so many players (G1), with their options.

    Raises:
        ValueError: there is no such game.
    """
    if isinstance(players, str):
        raise ValueError(f"players is 2 to 7, not {shown(players)}; the name of a variant goes into variant={shown(players)}")
    players = whole_number("players", players)
    if players not in SET_UP:
        raise ValueError(f"players is 2 to 7, not {shown(players)}")
    set_up = SET_UP[players]
    return Variant(
        players=players,
        robots_per_player=set_up.robots_per_player,
        cards=set_up.cards,
        limbs=HALF_LIMBS if switch("half_limbs", half_limbs) else LIMBS,
        pick_up_at=pick_up_at,
        memory=memory,
        three_player_ending=choice(ThreePlayerEnding, "three_player_ending", three_player_ending),
    )


def choose_variant(
    variant: Variant | str | None,
    players: int | None = None,
    *,
    memory: bool = False,
    half_limbs: bool = False,
    pick_up_at: int = 2,
    three_player_ending: ThreePlayerEnding | str = ThreePlayerEnding.SKIP_LOSER,
) -> Variant:
    """The variant that is named, or the standard one with these options.

    Args:
        variant: a `Variant`, its name, or None.
        players: 2 to 7, by default 4.
        memory: see `Variant`, as the others.
        half_limbs: eight bites put a robot out.
        pick_up_at: 2 or 1.
        three_player_ending: "skip_loser" or "literal".

    Raises:
        ValueError: there is no such game, or the variant already says what an option would.
        TypeError: `variant` is neither a name nor a variant.
    """
    options: dict[str, Any] = {
        "memory": switch("memory", memory),
        "half_limbs": switch("half_limbs", half_limbs),
        "pick_up_at": whole_number("pick_up_at", pick_up_at),
        "three_player_ending": choice(ThreePlayerEnding, "three_player_ending", three_player_ending),
    }
    if variant is None:
        return standard_variant(4 if players is None else players, **options)
    defaults = inspect.signature(choose_variant).parameters
    said = [name for name, value in options.items() if value != defaults[name].default]
    if said:
        raise ValueError(f"variant={str(variant)!r} already says what {', '.join(said)} would; give one or the other")
    chosen = parse_variant(variant) if isinstance(variant, str) else variant
    if not isinstance(chosen, Variant):
        hint = f"; for the standard game say players={variant}" if isinstance(variant, int) and variant in SET_UP else ""
        raise TypeError(f"variant is the name of a variant of Get Bit!, such as '4p', or a Variant, not {shown(variant)}{hint}")
    if players is not None and whole_number("players", players) != chosen.players:
        raise ValueError(f"variant={str(variant)!r} has {chosen.players} players, not {players}")
    return chosen


_TOKEN = re.compile(
    "(?P<players>N)p|(?P<robots>N)r|(?P<cards>N)c|(?P<limbs>N)l|pick(?P<pick>N)|(?P<word>half|memory|literal)".replace(
        "N",
        "[0-9]{1,3}",  # of ASCII: other alphabets have digits as well
    )
)


def parse_variant(name: str) -> Variant:
    """Read a variant's name, exactly as `Variant.name` prints it: a game has one name.

    Raises:
        ValueError: the name is not one, or the game would make no sense.

    Examples:
        >>> from getbit_env import parse_variant
        >>> variant = parse_variant("4p-half-memory")
        >>> variant.players, variant.limbs, variant.memory
        (4, 8, True)
    """
    text, found = shown(str(name)), dict[str, str]()
    for part in str(name)[:100].split("-"):
        match = _TOKEN.fullmatch(part)
        if match is None:
            raise ValueError(f"no variant {text}: {shown(part)} is none of 4p, 2r, 5c, 8l, half, pick1, memory, literal")
        kind, value = next((k, v) for k, v in match.groupdict().items() if v is not None)
        kind = value if kind == "word" else kind
        if kind in found or (kind in ("half", "limbs") and found.keys() & {"half", "limbs"}):
            raise ValueError(f"no variant {text}: {shown(part)} says a thing twice")
        found[kind] = value
    if "players" not in found:
        raise ValueError(f"no variant {text}: it says nothing of the players, as 4p does")
    players = int(found["players"])
    if players not in SET_UP:
        raise ValueError(f"no variant {text}: players is 2 to 7")
    standard = SET_UP[players]
    variant = Variant(
        players=players,
        robots_per_player=int(found.get("robots", standard.robots_per_player)),
        cards=int(found.get("cards", standard.cards)),
        limbs=HALF_LIMBS if "half" in found else int(found.get("limbs", LIMBS)),
        pick_up_at=int(found.get("pick", 2)),
        memory="memory" in found,
        three_player_ending=ThreePlayerEnding.LITERAL if "literal" in found else ThreePlayerEnding.SKIP_LOSER,
    )
    if variant.name != name:
        raise ValueError(f"no variant {text}: the name of that game is {variant.name!r}")
    return variant
