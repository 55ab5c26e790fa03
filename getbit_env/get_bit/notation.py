"""A notation for positions and games that people can read and write.

A robot is a letter: `A` to `G` for the players, and where each player has two robots the second one in lower case (`A`, `a`).
A robot of a position is its letter, its bites left, its hand, and behind a slash its table:

    3. C4:12345 A2:135/24 B3:1345/2 ~ D0:12/345

is a position after three rounds, front to back, `~` is the shark, and behind it lie the robots that are out, the last one
first. A game is its variant and starting line, and then a line for every round with the cards and the position that follows:

    4p C A D B
    1. A5 B3 C3 D1 | A4:1234/5 D4:2345/1 C4:1245/3 B4:1245/3
    ...
    end A 1, C 2, B 3, D 4

Tables of a game are in the order played; a position that was not reached by playing has them in ascending order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from getbit_env.core.messages import shown
from getbit_env.core.rendering import as_html_strip
from getbit_env.get_bit.rules import Games, Outcome, new_games, new_outcome, new_scratch, play_round
from getbit_env.get_bit.variants import Variant, parse_variant

_NUMBER = "0|[1-9][0-9]{0,2}"  # as the notation writes one: ASCII digits, no zero before others
_ROBOT = re.compile(rf"(?P<name>[A-Ga-g])(?P<limbs>{_NUMBER}):(?P<hand>[0-9]{{0,7}})(?:/(?P<table>[0-9]{{1,7}}))?")
_CARD = re.compile(r"(?P<name>[A-Ga-g])(?P<card>[0-9])")


class Game(NamedTuple):
    """A game as it was played."""

    variant: Variant
    line: list[int]  # robots of the starting line, front to back
    cards: list[list[int]]  # a list a round: the card of each robot, 0 for a robot that is out

    def _repr_html_(self) -> str:
        """What notebooks show: every position."""
        from getbit_env.get_bit import rendering

        return as_html_strip(rendering, rendering.scenes(self))


class Step(NamedTuple):
    """A position of a replayed game."""

    games: Games  # the batch of one game, changed by the next step
    tables: list[list[int]]  # cards on the table of each robot, in the order played
    outcome: Outcome  # of the round that led here; all zero at the start


def robot_name(variant: Variant, robot: int) -> str:
    """Letter of a robot: `A`, or `a` for its owner's second."""
    player, second = divmod(robot, variant.robots_per_player)
    letter = "ABCDEFG"[player]
    return letter.lower() if second else letter


def robot_number(variant: Variant, name: str) -> int:
    """The robot that a letter names.

    Raises:
        ValueError: the variant has no such robot.
    """
    for robot in range(variant.robots):
        if robot_name(variant, robot) == name:
            return robot
    raise ValueError(
        f"no robot {shown(name)} in {variant}: it has {' '.join(robot_name(variant, r) for r in range(variant.robots))}"
    )


def cards_of(mask: int) -> list[int]:
    """The cards of a mask, ascending."""
    return [c + 1 for c in range(8) if int(mask) >> c & 1]


def mask_of(cards: list[int]) -> int:
    """The mask of some cards."""
    return sum(1 << (c - 1) for c in set(cards))


def start_position(variant: Variant, line: list[int]) -> Games:
    """A batch of one game before its first round, with this starting line (robots, front to back).

    Raises:
        ValueError: the line is not an order of the variant's robots.
    """
    check_line(variant, line)
    games = new_games(variant.robots, 1)
    games.place[line, 0] = np.arange(variant.robots)
    games.limbs[:] = variant.limbs
    games.hand[:] = variant.rules.deck
    return games


def check_line(variant: Variant, line: list[int]) -> None:
    """Refuse a starting line that is not an order of the robots.

    Raises:
        ValueError: with what is wrong.
    """
    is_number = all(isinstance(robot, int | np.integer) and not isinstance(robot, bool) for robot in line)
    if not is_number or sorted(line) != list(range(variant.robots)):
        raise ValueError(
            f"a starting line of {variant} holds each of the robots 0..{variant.robots - 1} once, front to back, not {shown(line)}"
        )


def print_position(
    variant: Variant, games: Games, game: int = 0, *, tables: list[list[int]] | None = None, rounds: bool = True
) -> str:
    """One position of a batch, in the notation.

    Args:
        variant: of the games.
        games: the batch.
        game: which of its games.
        tables: each robot's table in the order played, if known.
        rounds: begin with the number of rounds played.
    """
    parts = [f"{games.rounds[game]}."] if rounds else []
    out = False
    for robot in np.argsort(games.place[:, game], kind="stable"):
        if games.limbs[robot, game] == 0 and not out:
            out = True
            parts.append("~")
        hand = int(games.hand[robot, game])
        table = cards_of(variant.rules.deck & ~hand) if tables is None else tables[robot]
        text = f"{robot_name(variant, robot)}{games.limbs[robot, game]}:{_digits(cards_of(hand))}"
        parts.append(text + (f"/{_digits(table)}" if table else ""))
    return " ".join(parts)


def parse_position(variant: Variant, text: str) -> Games:
    """Read a position into a batch of one game; what was played last is not part of it.

    Raises:
        ValueError: the text is no position of the variant; the message says what is wrong.
    """
    tokens = text.split()
    rounds = re.fullmatch(rf"({_NUMBER})\.", tokens[0]) if tokens else None
    if rounds is None:
        raise ValueError(f"a position begins with the number of rounds played, as in '3.', not {shown(text)}")
    if (robots := len(tokens) - 1 - tokens.count("~")) > variant.robots:
        raise ValueError(f"{shown(text)} has {robots} robots, {variant} has {variant.robots}")
    if int(rounds[1]) > variant.most_rounds:
        raise ValueError(f"{shown(rounds[0])}: a game of {variant} takes at most {variant.most_rounds} rounds")
    games = new_games(variant.robots, 1)
    games.rounds[0] = int(rounds[1])
    seen: list[int] = []
    behind_shark = False
    for token in tokens[1:]:
        if token == "~" and not behind_shark:
            behind_shark = True
            continue
        match = _ROBOT.fullmatch(token)
        if match is None:
            raise ValueError(f"{shown(token)} is no robot of a position, as in A4:135/24")
        robot, limbs = robot_number(variant, match["name"]), int(match["limbs"])
        hand, table = ([int(c) for c in match[k] or ""] for k in ("hand", "table"))
        if robot in seen:
            raise ValueError(f"robot {match['name']} stands twice in {shown(text)}")
        if sorted(hand + table) != list(range(1, variant.cards + 1)):
            raise ValueError(f"{shown(token)}: hand and table hold each of the cards 1-{variant.cards} once")
        if limbs > variant.limbs or (limbs == 0) != behind_shark:
            raise ValueError(f"{shown(token)}: in the line (before '~') a robot has 1-{variant.limbs} bites left, behind it 0")
        if limbs and len(hand) <= variant.pick_up_at:
            raise ValueError(f"{shown(token)}: a hand down to {variant.pick_up_at} takes its table back (G5.1)")
        games.place[robot, 0], games.limbs[robot, 0], games.hand[robot, 0] = len(seen), limbs, mask_of(hand)
        seen.append(robot)
    if len(seen) != variant.robots:
        raise ValueError(f"{shown(text)} has {len(seen)} robots, {variant} has {variant.robots}")
    if (left := int((games.limbs > 0).sum())) < variant.last_line:
        raise ValueError(f"{shown(text)} has {left} in the line, a game of {variant} ends with {variant.last_line} (G6)")
    return games


def replay(game: Game) -> Iterator[Step]:
    """Play a game again, round by round.

    Yields:
        A `Step` for the start and for every round; its arrays are reused by the next.

    Raises:
        ValueError: a card is played that is not in the hand, or a round too many; the message names round, robot and card.
    """
    variant = game.variant
    rules = variant.rules
    games = start_position(variant, game.line)
    outcome = new_outcome(variant.robots, variant.players, 1)
    scratch = new_scratch(variant.robots)
    pays = variant.reward_of_finish("win").astype(np.float32)
    tables: list[list[int]] = [[] for _ in range(variant.robots)]
    yield Step(games, tables, outcome)
    for number, cards in enumerate(game.cards, 1):
        if outcome.over[0]:
            raise ValueError(f"round {number}: the game ended in round {number - 1}")
        if len(cards) != variant.robots:
            raise ValueError(f"round {number}: {len(cards)} cards for {variant.robots} robots")
        bits = np.zeros((variant.robots, 1), np.uint8)
        for robot, card in enumerate(cards):
            name, hand = robot_name(variant, robot), cards_of(games.hand[robot, 0])
            if games.limbs[robot, 0] == 0:
                if card:
                    raise ValueError(f"round {number}: robot {name} is out and plays {card}")
                continue
            if card not in hand:
                raise ValueError(f"round {number}: robot {name} plays {card or 'nothing'}, its hand is {_digits(hand)}")
            bits[robot] = 1 << (card - 1)
            tables[robot].append(card)
        play_round(rules, games, bits, pays, np.float32(0), scratch, outcome, 0, 1)
        for robot in range(variant.robots):
            if games.hand[robot, 0] == rules.deck:
                tables[robot].clear()
        yield Step(games, tables, outcome)


def print_game(game: Game) -> str:
    """A game in the notation, every round with the position that follows, and the finishing places."""
    variant = game.variant
    lines = [f"{variant} {' '.join(robot_name(variant, r) for r in game.line)}"]
    finish = np.zeros(variant.players, int)
    over = False
    for number, step in enumerate(replay(game)):
        if number:
            cards = " ".join(f"{robot_name(variant, r)}{c}" for r, c in enumerate(game.cards[number - 1]) if c)
            lines.append(f"{number}. {cards} | {print_position(variant, step.games, tables=step.tables, rounds=False)}")
        finish = np.maximum(finish, step.outcome.finish[:, 0])
        over = bool(step.outcome.over[0])
    if over:
        order = sorted(range(variant.players), key=lambda p: finish[p])
        lines.append("end " + ", ".join(f"{'ABCDEFG'[p]} {finish[p]}" for p in order))
    return "\n".join(lines) + "\n"


def parse_game(text: str) -> Game:
    """Read a game. Positions behind the cards and the end may be left out; if they are there, they must be right.

    Raises:
        ValueError: the text is no game, the play is illegal, or what it says of a position is not what the rules give.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip() and not line.strip().startswith("#")]
    if not lines:
        raise ValueError("a game begins with its variant and starting line, as in '4p C A D B'; this text is empty")
    name, *order = lines[0].split()
    variant = parse_variant(name)
    line = [robot_number(variant, robot) for robot in order]
    check_line(variant, line)
    rounds = []
    for number, row in enumerate((row for row in lines[1:] if not row.startswith("end")), 1):
        head, *tokens = row.partition("|")[0].split()
        if head != f"{number}.":
            raise ValueError(f"round {number} begins with '{number}.', not {shown(row)}")
        cards = [0] * variant.robots
        for token in tokens:
            match = _CARD.fullmatch(token)
            if match is None:
                raise ValueError(f"round {number}: {shown(token)} is no robot and card, as in A5")
            robot = robot_number(variant, match["name"])
            if cards[robot]:
                raise ValueError(f"round {number}: robot {match['name']} plays twice")
            cards[robot] = int(match["card"])
        rounds.append(cards)
    game = Game(variant, line, rounds)
    for told, is_so in zip(lines, print_game(game).splitlines(), strict=False):
        if ("|" in told or told.startswith("end")) and told.split() != is_so.split():
            raise ValueError(f"the text says\n  {told[:200]}\nby the rules it is\n  {is_so}")
    if len(lines) > len(print_game(game).splitlines()):
        raise ValueError(f"the text goes on with {shown(lines[-1])}, but the game is not over")
    return game


def _digits(cards: list[int]) -> str:
    return "".join(map(str, cards))
