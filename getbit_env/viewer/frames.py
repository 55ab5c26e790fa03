"""Games of any kind as frames: what the viewer in the browser shows, as JSON can hold it.

A game's own module (`GameSpec.frames`) has a `Recorder`, which plays one game and tells it in frames. A film is what
the viewer takes:

    {"game": ..., "variant": ..., ..., "viewer": null or a seat, "agents": [name of each player], "frames": [frame, ...]}

A frame is a position with the `events` that led to it, in the order in which they happen. Each event has a `kind` and a `text`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from getbit_env.core.messages import shown
from getbit_env.core.spec import Dynamics, Variant
from getbit_env.game_registry import find_variant, game_of


class Recorder(Protocol):
    """Plays one game, and tells it in frames."""

    variant: Any
    engine: Any  # a batch of one game: the position now
    start: Any  # how the game began, as JSON can hold it

    def header(self) -> dict[str, Any]:
        """What does not change in the course of a game."""

    def read_start(self, start: Any) -> Any:
        """A start as the engine takes it; raises ValueError for what is none."""

    def begin(self, start: Any) -> None:
        """Begin the game from a start; raises ValueError for what is none."""

    @property
    def over(self) -> bool:
        """Whether the game has ended."""

    def deciding(self) -> list[int]:
        """The players who choose now."""

    def legal(self, player: int) -> list[int]:
        """The actions of a player who chooses now; none for one who doesn't."""

    def play(self, actions: Sequence[int | None]) -> None:
        """Play a round or a decision, one action a player; raises ValueError, and plays nothing, if one is not legal."""

    def frame(self, viewer: int | None = None) -> dict[str, Any]:
        """The position now, and the events that led to it, as one player sees them; None sees all."""

    def choices(self, player: int) -> dict[str, Any] | None:
        """What a player chooses from now, None if it chooses nothing."""

    def label(self, player: int, action: int) -> str:
        """An action of a player now, for people."""


def recorder(variant: Variant) -> Recorder:
    """What records games of a variant.

    Raises:
        ValueError: its game has no frames.
    """
    game = game_of(variant)
    if not game.frames:
        raise ValueError(f"{game} can't be shown in a browser: its GameSpec names no `frames`")
    made: Recorder = import_module(game.frames).Recorder(variant)
    return made


def film(
    variant: Variant | str,
    start: Any,
    actions: Sequence[Any],
    *,
    viewer: int | None = None,
    agents: Sequence[str] | None = None,
    notes: Sequence[Mapping[int, Mapping[str, Any]]] | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """A recorded game as the viewer takes it.

    Args:
        variant: of the game, or its name.
        start: how it began: the starting line of Get Bit!, robots front to back; the deal of Sharks are Wild, a `Deal` or the same
            as a dict.
        actions: one entry a round or decision: the actions of all players (what stands for players who choose nothing does
            not count), or, where one player decides at a time, the action alone.
        viewer: the player through whose eyes the game is seen; None sees everything.
        agents: what each player is called, by seat.
        notes: one entry for each of the actions, at most: what players thought, by seat, each with any of `probabilities` (of
            actions, as a mapping or one a possible action) and `value`. They are shown with the position in which the
            player chose.
        title: of the game, for a page with several.

    Returns:
        The film: a dict that `page` and `board.js` take, JSON throughout.

    Raises:
        ValueError: the start is none of the variant, or an action is not legal; the message says which.
    """
    chosen: Variant = find_variant(variant)
    players = chosen.players
    if viewer is not None and (isinstance(viewer, bool) or not isinstance(viewer, int) or not 0 <= viewer < players):
        raise ValueError(f"viewer is a seat, 0 to {players - 1}, or None, not {shown(viewer)}")
    if agents is not None and len(agents) != players:
        raise ValueError(f"agents has {len(agents)} names for {players} players")
    if notes is not None and len(notes) > len(actions):
        raise ValueError(f"notes has {len(notes)} entries for {len(actions)} rounds or decisions")
    records = recorder(chosen)
    records.begin(start)
    in_turns = game_of(chosen).dynamics == Dynamics.SEQUENTIAL
    frames = []
    for number, action in enumerate(actions):
        frame = records.frame(viewer)
        if notes is not None and number < len(notes) and (thoughts := _thoughts(records, notes[number], viewer)):
            frame["thoughts"] = thoughts
        frames.append(frame)
        alone = in_turns and isinstance(action, int | np.integer)
        if not alone and not isinstance(action, list | tuple | np.ndarray):
            raise ValueError(f"entry {number} of actions is a list with an action a player, not {shown(action)}")
        records.play([action] * players if alone else list(action))
    frames.append(records.frame(viewer))
    described = records.header() | {"viewer": viewer, "agents": None if agents is None else [str(name) for name in agents]}
    return described | ({} if title is None else {"name": str(title)}) | {"frames": frames}


def _thoughts(records: Recorder, note: Mapping[int, Mapping[str, Any]], viewer: int | None) -> list[dict[str, Any]]:
    """What players thought in the position now; those of others than the viewer are left out."""
    thoughts = []
    for player in sorted(note):
        if (viewer is None or viewer == player) and player in records.deciding():
            value = note[player].get("value")
            told = thought(records, player, note[player].get("probabilities"), None if value is None else float(value))
            thoughts.append({"player": player, **told})
    return thoughts


def thought(records: Recorder, player: int, probabilities: Any = None, value: float | None = None) -> dict[str, Any]:
    """What a player thinks of the position now, as the viewer shows it.

    Args:
        records: the game.
        player: a player who chooses now.
        probabilities: of actions, as a mapping or a sequence with one entry an action; those of actions that are not legal are
            left out.
        value: what it expects.
    """
    pairs = (
        [(int(action), float(chance)) for action, chance in probabilities.items()]
        if isinstance(probabilities, Mapping)
        else []
        if probabilities is None
        else [(action, float(chance)) for action, chance in enumerate(probabilities)]
    )
    legal = set(records.legal(player))
    chances = [
        {"action": action, "text": records.label(player, action), "probability": chance}
        for action, chance in sorted(pairs, key=lambda pair: -pair[1])
        if action in legal and math.isfinite(chance) and chance > 0
    ]
    worth = None if value is None or not math.isfinite(value) else value
    return {"chances": chances, "value": worth}
