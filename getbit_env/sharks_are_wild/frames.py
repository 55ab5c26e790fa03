"""Games as frames for the viewer in the browser: each position, and the events of the decision that led to it.

A frame is what one viewer may see, as JSON can hold it. What is hidden from the viewer is absent: no key has it. Cards are letters
of the notation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from getbit_env.core.messages import shown
from getbit_env.sharks_are_wild.engine import Deal, Engine, check_deal
from getbit_env.sharks_are_wild.notation import ENDS, LETTERS, PLAYERS, action_meaning, legal_actions, run_of
from getbit_env.sharks_are_wild.rules import (
    BLOCK,
    BLOCK_IT,
    DISCARD,
    DRAW,
    FROM_DISCARD_PILE,
    FROM_DRAW_PILE,
    LOW,
    NUMBER,
    OVER,
    PASS,
    SHARK,
    SHARK_AT,
    STEAL,
    actor,
    number_of,
)
from getbit_env.sharks_are_wild.variants import KIND_NAMES, Variant

Event = dict[str, Any]
CHEST = 18  # coins of the box (S1.1)


def read_start(variant: Variant, start: Any) -> Deal:
    """A deal as `Recorder.begin` takes it, from a `Deal` or from `{"cards": [kinds], "first": player, "stream": key}`.

    Raises:
        ValueError: it is no deal of the variant.
    """
    if isinstance(start, Mapping):
        if unknown := sorted(start.keys() - set(Deal._fields), key=str):
            raise ValueError(f"a deal has cards, first and stream, not {shown(unknown[0])}")
        start = [start.get("cards"), start.get("first"), start.get("stream")]
    if not isinstance(start, list | tuple) or len(start) != 3 or not isinstance(start[0], list | tuple | np.ndarray):
        raise ValueError(f"a deal of {variant} has cards (a list of kinds, from the top), first and stream, not {shown(start)}")
    cards = start[0].tolist() if isinstance(start[0], np.ndarray) else list(start[0])
    check_deal(variant, cards, start[1])
    stream = start[2]
    if stream is not None and (type(stream) is bool or not isinstance(stream, int | np.integer) or not 0 <= stream < 1 << 64):
        raise ValueError(f"the stream of a deal is a whole number of 64 bits or null, not {shown(stream)}")
    return Deal([int(card) for card in cards], int(start[1]), None if stream is None else int(stream))


class Recorder:
    """Plays one game, and tells it in frames.

    Attributes:
        variant: the game.
        engine: a batch of one game: the position now.
        start: the deal, as JSON can hold it.
    """

    engine: Engine

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.engine = Engine(variant, 1, seed=0)
        self.start: dict[str, Any] = {}

    def header(self) -> dict[str, Any]:
        """What does not change in the course of a game."""
        variant = self.variant
        return {
            "game": "sharks_are_wild",
            "title": "Sharks are Wild",
            "variant": variant.name,
            "players": list(PLAYERS[: variant.players]),
            "level": variant.level,
            "coins": variant.coins,
            "run": variant.run,
            "kinds": LETTERS[: variant.kinds],
        }

    def read_start(self, start: Any) -> Deal:
        """A start as the engine takes it, from `start` or from what `begin` takes; raises ValueError for what is none."""
        return read_start(self.variant, start)

    def begin(self, start: Any) -> None:
        """Begin the game from a deal; without a stream it takes that of seed 0.

        Raises:
            ValueError: it is no deal of the variant.
        """
        deal = read_start(self.variant, start)
        self.start = {"cards": list(deal.cards), "first": deal.first, "stream": deal.stream}
        self.engine.seed(0)
        self.engine.start(starts=[deal])
        self.engine.observe()
        self._events: list[tuple[Event, dict[str, Any], int | None]] = []
        self._decisions = 0
        self._tell("start", f"The cards are dealt. Player {PLAYERS[deal.first]} begins.")

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.engine.state.stage[0] == OVER)

    def deciding(self) -> list[int]:
        """The player who decides now, if the game goes on."""
        return [] if self.over else [actor(self.engine.state, 0)]

    def legal(self, player: int) -> list[int]:
        """The actions of a player who decides now; none for one who doesn't."""
        return legal_actions(self.variant.rules, self.engine.state) if player in self.deciding() else []

    def play(self, actions: Sequence[int | None]) -> None:
        """Play a decision.

        Args:
            actions: one a player; only that of the player who decides counts.

        Raises:
            ValueError: the action is not legal, or the game is over. Nothing has been played then.
        """
        number = self._decisions + 1
        if self.over:
            raise ValueError(f"decision {number}: the game ended with decision {number - 1}")
        if len(actions) != self.variant.players:
            raise ValueError(f"decision {number}: {len(actions)} actions for {self.variant.players} players")
        player = self.deciding()[0]
        action, may = actions[player], self.legal(player)
        if isinstance(action, bool) or not isinstance(action, int | np.integer) or action not in may:
            raise ValueError(f"decision {number}: player_{player} plays {shown(action)}, legal are {may}")
        before = _Before(self.engine, int(action))
        self.engine.play(np.full((1, self.variant.players), int(action), np.int64))
        self.engine.observe()
        self._decisions += 1
        self._events = []
        self._decided(before)

    def frame(self, viewer: int | None = None) -> dict[str, Any]:
        """The position now, and the events of the decision that led to it.

        Args:
            viewer: the player who looks at it: at level two the hands of other players are absent, but for cards that were openly
                taken. The draw pile is absent for everybody. None sees all hands.
        """
        state, variant = self.engine.state, self.variant
        players = []
        for player in range(variant.players):
            hand = _letters(state.hand[0, player])
            entry: dict[str, Any] = {
                "coins": int(state.coins[0, player]),
                "low": int(state.low[0, player]),
                "run": run_of(state, 0, player),
                "hand_size": len(hand),
                "taken": _letters(state.taken[0, player]),
            }
            if self._sees(viewer, player):
                entry["hand"] = hand
            players.append(entry)
        discard = state.discard[0, : int(state.discard_size[0])].tolist()
        winner = next((p for p in range(variant.players) if state.coins[0, p] >= variant.coins), None)
        places = [None if winner is None else 1 if p == winner else 2 for p in range(variant.players)]
        stage = int(state.stage[0])
        return {
            "number": self._decisions,
            "caption": f"Turn {int(state.turns[0]) + 1}",
            "stage": {DRAW: "draw", BLOCK: "block", OVER: "over"}.get(stage, "play"),
            "player": int(state.player[0]),
            "grab": [int(state.victim[0]), int(state.end[0])] if stage == BLOCK else None,
            "table": players,
            "draw_size": int(state.draw_size[0]),
            "discard_size": len(discard),
            "top": LETTERS[discard[-1]] if discard else None,
            "discarded": {LETTERS[kind]: discard.count(kind) for kind in sorted(set(discard))},
            "chest": max(0, CHEST - int(state.coins[0].sum())),
            "places": places,
            "over": self.over,
            "events": [event | (secret if self._sees(viewer, owner) else {}) for event, secret, owner in self._events],
        }

    def choices(self, player: int) -> dict[str, Any] | None:
        """What a player chooses from now, None if it chooses nothing."""
        may = self.legal(player)
        if not may:
            return None
        return {
            "kind": "actions",
            "number": self._decisions + 1,
            "actions": [
                {"action": action, "text": self.label(player, action), "card": _card_of(self.engine, action)} for action in may
            ],
        }

    def label(self, player: int, action: int) -> str:  # noqa: ARG002 - of the other game it depends on the player
        """An action now, for people."""
        state = self.engine.state
        if action == FROM_DRAW_PILE:
            return "Draw from the draw pile"
        if action == FROM_DISCARD_PILE:
            return f"Take the {_named(LETTERS[state.discard[0, int(state.discard_size[0]) - 1]])} from the discard pile"
        if action == PASS:
            return "Let the Octopus pass" if state.stage[0] == BLOCK else "Pass"
        if action >= STEAL:
            victim = (int(state.player[0]) + 1 + (action - STEAL) // 2) % self.variant.players
            return f"Octopus: grab the {ENDS[(action - STEAL) % 2]} end of player {PLAYERS[victim]}'s run"
        if SHARK_AT <= action < DISCARD:
            return f"Play a Shark at the {ENDS[action - SHARK_AT]} end"
        text = action_meaning(self.variant, action).partition(" (S")[0]
        return text[0].upper() + text[1:]

    def _sees(self, viewer: int | None, player: int | None) -> bool:
        """Whether the viewer sees the hand of a player."""
        return viewer is None or player is None or viewer == player or self.variant.level == 1

    def _tell(self, kind: str, text: str, secret: dict[str, Any] | None = None, owner: int | None = None, **more: Any) -> None:
        """Note an event; what is secret is added for those who see the hand of its owner."""
        self._events.append(({"kind": kind, **more, "text": text}, secret or {}, owner))

    def _decided(self, before: _Before) -> None:
        """The events of what was decided just now."""
        state, action, player = self.engine.state, before.action, before.player
        name = f"Player {PLAYERS[player]}"
        if before.stage == DRAW:
            if action == FROM_DISCARD_PILE:
                self._tell("take", f"{name} takes the {_named(before.top)} from the discard pile.", player=player, card=before.top)
            elif action == FROM_DRAW_PILE:
                drawn = _letters(state.hand[0, player] - before.hands[player])
                secret = {"card": drawn[0], "text": f"{name} draws the {_named(drawn[0])}."} if drawn else {}
                self._tell("draw", f"{name} draws a card.", secret, player, player=player)
            else:
                self._tell("pass", f"{name} has nothing to draw.", player=player)
        elif before.stage == BLOCK:
            self._blocked(before)
        elif action >= STEAL:
            victim, end = int(state.victim[0]), int(state.end[0])
            text = f"{name} plays an Octopus and grabs the {ENDS[end]} end of player {PLAYERS[victim]}'s run."
            self._tell("octopus", text, player=player, victim=victim, end=end)
        elif action >= DISCARD:
            card = LETTERS[action - DISCARD]
            self._tell("discard", f"{name} discards the {_named(card)}.", player=player, card=card)
        elif action >= SHARK_AT:
            number = before.low[player] - 1 if action == SHARK_AT + LOW else before.high[player] + 1
            text = f"{name} plays a Shark as {number} and takes a coin."
            self._tell("play", text, player=player, card="S", number=number)
            self._complete(player, before, 1)
        elif action >= NUMBER:
            number = number_of(action - NUMBER)
            self._tell("play", f"{name} plays {number}.", player=player, card=str(number), number=number)
            self._complete(player, before, 0)
        else:
            self._tell("pass", f"{name} has no card to play.", player=player)
        self._after(before)

    def _blocked(self, before: _Before) -> None:
        player, victim = before.player, before.victim
        assert victim is not None  # somebody is asked
        theft, mark = f"Player {PLAYERS[victim]}", f"player {PLAYERS[player]}"
        if before.action == BLOCK_IT:
            self._tell("block", f"{theft} blocks the Octopus with a Dolphin.", player=victim, thief=player)
            return
        number = before.low[victim] if before.end == LOW else before.high[victim]
        card = before.runs[victim][0 if before.end == LOW else -1]
        fits = number in (before.low[player] - 1, before.high[player] + 1)
        text = f"{theft} lets the Octopus pass: {mark} steals the {_named(card)}"
        text += "." if fits else ", which doesn't fit and is discarded."
        self._tell("steal", text, player=player, victim=victim, card=card, number=number, fits=fits)
        if fits:
            self._complete(player, before, 0)

    def _complete(self, player: int, before: _Before, for_shark: int) -> None:
        """S2.4: the run may be complete."""
        gained = int(self.engine.state.coins[0, player]) - before.coins[player] - for_shark
        if gained > 0:
            text = f"The run of player {PLAYERS[player]} is complete and pays a coin."
            self._tell("complete", text, player=player)

    def _after(self, before: _Before) -> None:
        """Hands that were filled up, a pile that was turned over, and the end."""
        state = self.engine.state
        for player in range(self.variant.players):
            if before.stage == DRAW or (player != before.player and player != before.victim):
                continue
            gone = np.array(before.hands[player])
            if (kind := before.left_hand(player)) is not None:
                gone[kind] -= 1
            new = _letters(state.hand[0, player].astype(int) - gone)
            if new:
                text = f"Player {PLAYERS[player]} draws {len(new)} card{'s' * (len(new) != 1)} to fill up."
                self._tell("refill", text, {"cards": new}, player, player=player, number=len(new))
        if state.draw_size[0] > before.draw_size:
            self._tell("shuffle", "The discard pile is shuffled into a new draw pile.")
        if self.over:
            coins = state.coins[0].tolist()
            winner = next((p for p, has in enumerate(coins) if has >= self.variant.coins), None)
            text = "The game is a draw." if winner is None else f"Player {PLAYERS[winner]} wins with {coins[winner]} coins."
            self._tell("end", text, winner=winner)


class _Before:
    """What an event is told from: a position, and what is decided in it."""

    def __init__(self, engine: Engine, action: int) -> None:
        state = engine.state
        players = range(engine.variant.players)
        self.action, self.stage, self.player = action, int(state.stage[0]), int(state.player[0])
        self.victim = int(state.victim[0]) if self.stage == BLOCK else None
        self.end = int(state.end[0])
        self.hands = state.hand[0].astype(int)
        self.low, self.high, self.coins = (values[0].tolist() for values in (state.low, state.high, state.coins))
        self.runs = [run_of(state, 0, player) for player in players]
        self.draw_size = int(state.draw_size[0])
        size = int(state.discard_size[0])
        self.top = LETTERS[state.discard[0, size - 1]] if size else ""

    def left_hand(self, player: int) -> int | None:
        """The kind of the card that left the hand of a player."""
        if self.stage == BLOCK:
            return LETTERS.index("D") if player == self.victim and self.action == BLOCK_IT else None
        if player != self.player:
            return None
        if self.action >= STEAL:
            return LETTERS.index("O")
        if self.action >= DISCARD:
            return self.action - DISCARD
        if self.action >= SHARK_AT:
            return SHARK
        return self.action - NUMBER if self.action >= NUMBER else None


def _letters(counts: Any) -> list[str]:
    """The cards that some counts by kind stand for."""
    return [LETTERS[kind] for kind, count in enumerate(np.asarray(counts).tolist()) for _ in range(max(0, int(count)))]


def _named(card: str) -> str:
    """The name of a card."""
    return KIND_NAMES[LETTERS.index(card)]


def _card_of(engine: Engine, action: int) -> str | None:
    """The card of the hand that an action plays or discards."""
    if action < NUMBER or action == BLOCK_IT:
        return "D" if action == BLOCK_IT else None
    kind = _Before(engine, action).left_hand(int(engine.state.player[0]))
    return None if kind is None else LETTERS[kind]
