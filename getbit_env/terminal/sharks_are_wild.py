"""Sharks are Wild in a terminal: runs, coins and hands, and what a person may do. It shows a player what the rules show (S5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.sharks_are_wild.notation import ENDS, LETTERS, PLAYERS
from getbit_env.sharks_are_wild.rendering import Scene
from getbit_env.sharks_are_wild.rules import (
    BLOCK,
    BLOCK_IT,
    DISCARD,
    DRAW,
    FROM_DISCARD_PILE,
    FROM_DRAW_PILE,
    NUMBER,
    OVER,
    SHARK_AT,
    STARTER,
    STEAL,
    number_of,
)
from getbit_env.sharks_are_wild.variants import Variant
from getbit_env.terminal.screen import Screen

DEFAULT_OPPONENT = "sharks-careful"
CARD_NAMES = {"S": "Shark", "O": "Octopus", "D": "Dolphin"}
LONGEST_NAME = 24  # letters of a player's name in the table
HELP = """Draw a card, then play or discard one. A number goes to an end of your run if it is the next one there; a Shark stands for
any number and pays a coin at once. A run of five pays a coin. An Octopus steals from an end of another run, unless a Dolphin blocks
it. Five coins win."""


def start_of(variant: Variant, text: str) -> dict[str, Any]:
    """Deals are drawn from the seed.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{variant} has no starting line to give ({text!r}); --seed fixes the deal")


def label(variant: Variant, names: Sequence[str], player: int) -> str:
    """A player with its letter: `A sharks-greedy`."""
    del variant
    return f"{PLAYERS[player]} {names[player]}"


def board(scene: Scene, names: Sequence[str], viewers: Sequence[int] | None, screen: Screen) -> str:
    """The players as a table of at most 80 columns, a row each; the 5s stand in one column.

    Args:
        scene: what there is to see.
        names: of the players.
        viewers: the players who look on; what only others may know is left out. None: everything is shown.
        screen: where it is shown.
    """
    rows = [("", "player", "coins", "run".center(17), "hand")]
    owners = [-1]
    for player, run in enumerate(scene.runs):
        secret = scene.variant.level == 2 and viewers is not None and player not in viewers
        hand, taken = scene.hands[player], scene.taken[player]
        known = f", {' '.join(taken)} among them" if taken else ""
        name = label(scene.variant, names, player)
        rows.append(
            (
                "→" if player == decides(scene) else "",
                name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…",
                f"{scene.coins[player]}/{scene.variant.coins}",
                _run_in_columns(run),
                f"{len(hand)} cards{known}" if secret else " ".join(hand),
            )
        )
        owners.append(player)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, owner in zip(rows, owners, strict=True):
        line = " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        lines.append(screen.painted(line, "dim") if owner < 0 else screen.of_player(line, owner))
    top = _named(scene.discard[0]) if scene.discard else "nothing"
    piles = f"Draw pile {len(scene.draw)} cards, discard pile {len(scene.discard)} with {top} on top."
    return "\n".join([*lines, "", piles])


def _run_in_columns(run: str) -> str:
    """A run with its 5 in the fifth of nine columns, and a 0 before them."""
    numbers = ["."] * 9
    for number, card in enumerate(run, STARTER - run.index("5")):
        if 1 <= number <= 9:
            numbers[number - 1] = card
    has_zero = STARTER - run.index("5") == 0
    return (f"{run[0]} " if has_zero else "") + " ".join(numbers)


def decides(scene: Scene) -> int | None:
    """The player who decides next; None if the game is over."""
    if scene.stage == OVER:
        return None
    return scene.grab[0] if scene.grab else scene.player


def title(scene: Scene) -> str:
    """The first line over the board."""
    goes_on = scene.stage != OVER or scene.winner is not None  # a win ends the game within a turn
    return f"Sharks are Wild {scene.variant}, turn {scene.turn + goes_on}"


def story(before: Scene, after: Scene, names: Sequence[str]) -> list[str]:
    """What a decision did."""
    del before
    return [with_names(after.headline if after.stage == OVER else after.news, names, after.variant) + "."]


def with_names(text: str, names: Sequence[str], variant: Variant) -> str:
    """A text in which players have their names."""
    for player in range(len(names)):
        text = text.replace(f"player_{player}", label(variant, names, player))
    return text


def ranking(scene: Scene) -> list[tuple[int, int]]:
    """Finishing places and players, the winner first; empty in a draw."""
    if scene.winner is None:
        return []
    return sorted((1 if player == scene.winner else 2, player) for player in range(scene.variant.players))


def action_text(scene: Scene, seat: int, action: int) -> str:
    """What an action does here."""
    if action == FROM_DRAW_PILE:
        return "draw from the draw pile"
    if action == FROM_DISCARD_PILE:
        return f"take {_named(scene.discard[0])} from the discard pile"
    if action == BLOCK_IT and scene.variant.level == 2:
        return "block with a Dolphin"
    if NUMBER <= action < SHARK_AT:
        return f"play {number_of(action - NUMBER)}"
    if SHARK_AT <= action < DISCARD:
        return f"play a Shark at the {ENDS[action - SHARK_AT]} end"
    if DISCARD <= action < DISCARD + scene.variant.kinds:
        return f"discard {_named(LETTERS[action - DISCARD])}"
    if action >= STEAL:
        victim = (seat + 1 + (action - STEAL) // 2) % scene.variant.players
        return f"play an Octopus at the {ENDS[(action - STEAL) % 2]} end of {PLAYERS[victim]}'s run"
    return "let it pass" if scene.stage == BLOCK else "pass"


def question(scene: Scene, seat: int, mask: NDArray[np.int8]) -> str:
    """What a player is asked: a numbered list."""
    listed = [f"  {number:2} {action_text(scene, seat, action)}" for number, action in enumerate(np.flatnonzero(mask).tolist(), 1)]
    if scene.stage == BLOCK and scene.grab is not None:
        what = f"{PLAYERS[scene.player]} grabs the {ENDS[scene.grab[1]]} end of your run."
    else:
        what = "Draw a card." if scene.stage == DRAW else "Play or discard a card."
    return "\n".join([what, *listed, "Your choice:"])


def parse(scene: Scene, seat: int, mask: NDArray[np.int8], text: str) -> int:
    """The action that an answer names: its number in the list, or its words.

    Raises:
        ValueError: it is none; the message says what there is.
    """
    legal = np.flatnonzero(mask).tolist()
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= len(legal):
        return int(legal[int(text) - 1])
    for action in legal:
        if text.casefold() == action_text(scene, seat, action).casefold():
            return int(action)
    raise ValueError(f"{text!r} is no number from 1 to {len(legal)}")


def _named(card: str) -> str:
    """A card as it is spoken of: `a Shark`, `an Octopus`, `7`."""
    name = CARD_NAMES.get(card)
    return card if name is None else f"{'an' if name == 'Octopus' else 'a'} {name}"
