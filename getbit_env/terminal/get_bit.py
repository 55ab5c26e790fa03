"""Get Bit! in a terminal: the line, what a round did, and a person's cards. It shows a player what the rules show (G7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import did_you_mean
from getbit_env.get_bit.notation import check_line, robot_name, robot_number
from getbit_env.get_bit.rendering import Scene
from getbit_env.get_bit.variants import HALF_LIMBS, Variant
from getbit_env.terminal.screen import Screen

DEFAULT_OPPONENT = "counter"
LONGEST_NAME = 9  # letters of a player's name in the table
HELP = """Every robot plays a card, all at once. From the lowest number up, each robot whose number nobody else played swims to the
front; tied robots stay. From the second round on the shark bites the robot at the back, which takes its table back and swims to
the front. A hand that is down to a few cards takes its table back too."""


def start_of(variant: Variant, text: str) -> dict[str, Any]:
    """The options of a reset that begin with a line, written front to back: `CADB` or `C A D B`.

    Raises:
        ValueError: it is no order of the robots.
    """
    line = [robot_number(variant, letter) for letter in text if not letter.isspace()]
    check_line(variant, line)
    return {"line": line}


def label(variant: Variant, names: Sequence[str], player: int) -> str:
    """A player with its robots: `A counter`, `Bb you`."""
    first = player * variant.robots_per_player
    robots = "".join(robot_name(variant, robot) for robot in range(first, first + variant.robots_per_player))
    return f"{robots} {names[player]}"


def board(scene: Scene, names: Sequence[str], viewers: Sequence[int] | None, screen: Screen) -> str:
    """The line as a table of at most 80 columns, the front at the top.

    Args:
        scene: what there is to see.
        names: of the players.
        viewers: the players who look on; what only others may know is left out. None: everything is shown.
        screen: where it is shown.
    """
    variant = scene.variant
    rows = [("", "robot", "player", "limbs", "played", "hand", "table", "")]
    owners = [-1]
    for place, robot in enumerate(scene.line + scene.out):
        owner, card, left = robot // variant.robots_per_player, scene.revealed[robot], scene.limbs[robot]
        name = names[owner]
        secret = variant.memory and viewers is not None and owner not in viewers
        finish = scene.placement[owner]
        notes = [*["bitten"] * (robot == scene.bitten), *([f"place {finish}"] if finish else [])]
        rows.append(
            (
                "out" if not left else "front" if place == 0 else "",
                robot_name(variant, robot),
                name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…",
                "●" * left + "○" * (variant.limbs - left) if variant.limbs <= HALF_LIMBS else f"{left}/{variant.limbs}",
                f"{card or ''}{' tied' * (robot in scene.tied)}",
                f"{len(scene.hands[robot])} cards" if secret else " ".join(map(str, scene.hands[robot])),
                (f"{len(scene.tables[robot])} down" if secret else " ".join(map(str, scene.tables[robot])))
                if scene.tables[robot]
                else "",
                ", ".join(notes),
            )
        )
        owners.append(owner)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, owner in zip(rows, owners, strict=True):
        line = " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        lines.append(screen.painted(line, "dim") if owner < 0 else screen.of_player(line, owner))
    shark = "~~~~ shark ".ljust(sum(widths) + len(widths) - 1, "~")
    lines.insert(1 + len(scene.line), screen.painted(shark, "blue"))
    return "\n".join(lines)


def title(scene: Scene) -> str:
    """The first line over the board."""
    return f"Get Bit! {scene.variant}, {'before the first round' if scene.rounds == 0 else f'after round {scene.rounds}'}"


def story(before: Scene, after: Scene, names: Sequence[str]) -> list[str]:
    """What a round did, in the order of the rules: cards, ties, moves, the bite."""
    variant = after.variant
    cards = {robot: card for robot, card in enumerate(after.revealed) if card is not None}
    times = Counter(cards.values())
    named = {robot: f"{robot_name(variant, robot)} {card}" for robot, card in cards.items()}
    told = [f"Round {after.rounds}, all cards at once: {', '.join(named[robot] for robot in before.line if robot in named)}."]
    for card in sorted(card for card, number in times.items() if number > 1):
        robots = [robot_name(variant, robot) for robot in before.line if cards.get(robot) == card]
        told.append(f"Tied at {card}, so they stay: {' '.join(robots)}.")
    moves = sorted((card, robot) for robot, card in cards.items() if times[card] == 1)
    if moves:
        order = " → ".join(f"{robot_name(variant, robot)} ({card})" for card, robot in moves)
        told.append(f"To the front, one after the other: {order}.")
    told.append(with_names(after.news, names, variant) + ".")
    return told


def with_names(text: str, names: Sequence[str], variant: Variant) -> str:
    """A text in which players have their names."""
    for player in range(len(names)):
        text = text.replace(f"player_{player}", label(variant, names, player))
    return text


def ranking(scene: Scene) -> list[tuple[int, int]]:
    """Finishing places and players, the winner first."""
    return sorted((place, player) for player, place in enumerate(scene.placement) if place)


def action_text(scene: Scene, seat: int, action: int) -> str:
    """What an action plays: `4`, or with two robots `A 4, a 2`."""
    variant = scene.variant
    cards = cards_of_action(variant, action)
    if variant.robots_per_player == 1:
        return str(cards[0])
    return ", ".join(f"{robot_name(variant, robot)} {card}" for robot, card in zip(_own_line(scene, seat), cards, strict=False))


def cards_of_action(variant: Variant, action: int) -> tuple[int, ...]:
    """The cards of an action, that of the robot nearer the front first."""
    if variant.robots_per_player == 1:
        return (action + 1,)
    return action // variant.cards + 1, action % variant.cards + 1


def question(scene: Scene, seat: int, mask: NDArray[np.int8]) -> str:
    """What a player is asked."""
    variant = scene.variant
    robots = _own_line(scene, seat)
    hands = "; ".join(f"{robot_name(variant, robot)} holds {' '.join(map(str, scene.hands[robot]))}" for robot in robots)
    wanted = "card" if len(robots) == 1 else f"cards for {' and '.join(robot_name(variant, robot) for robot in robots)}"
    del mask  # in this game it follows from the hands
    return f"{hands}. Your {wanted}:"


def parse(scene: Scene, seat: int, mask: NDArray[np.int8], text: str) -> int:
    """The action that an answer names: a card for each robot of the player in the line, the one nearer the front first.

    Raises:
        ValueError: it is none, or not legal; the message says what is.
    """
    variant, robots = scene.variant, _own_line(scene, seat)
    digits = [letter for letter in text if not letter.isspace() and letter != ","]
    if len(digits) != len(robots) or not all(digit.isascii() and digit.isdecimal() for digit in digits):
        form = "a card, such as 3" if len(robots) == 1 else "two cards, such as 3 5: first that of the robot nearer the front"
        raise ValueError(f"{text!r} is not {form}{did_you_mean(text, ('help', 'ask', 'view', 'again', 'quit'))}")
    cards = [int(digit) for digit in digits]
    for robot, card in zip(robots, cards, strict=True):
        if card not in scene.hands[robot]:
            raise ValueError(f"{robot_name(variant, robot)} holds {' '.join(map(str, scene.hands[robot]))}, not {card}")
    for action in np.flatnonzero(mask).tolist():
        if cards_of_action(variant, action)[: len(cards)] == tuple(cards):
            return int(action)
    raise ValueError(f"{text!r} can't be played")


def _own_line(scene: Scene, seat: int) -> list[int]:
    """The robots of a player in the line, front to back."""
    return [robot for robot in scene.line if robot // scene.variant.robots_per_player == seat]
