"""Games as frames for the viewer in the browser: each position, and the events that led to it, one after the other.

A frame is what one viewer may see, as JSON can hold it. What is hidden from the viewer is absent: no key has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from getbit_env.core.messages import shown
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import cards_of, check_line, robot_name
from getbit_env.get_bit.variants import HALF_LIMBS, Variant

Event = dict[str, Any]


def read_start(variant: Variant, start: Any) -> list[int]:
    """A starting line as `Recorder.begin` takes it, from a list or an array.

    Raises:
        ValueError: it is not an order of the robots.
    """
    line = np.asarray(start).tolist() if isinstance(start, np.ndarray) else start
    if not isinstance(line, list | tuple):
        raise ValueError(f"a starting line of {variant} is a list of robots, front to back, not {shown(start)}")
    check_line(variant, list(line))
    return [int(robot) for robot in line]


class Recorder:
    """Plays one game, and tells it in frames.

    Attributes:
        variant: the game.
        engine: a batch of one game: the position now.
        start: the starting line.
    """

    engine: Engine

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.engine = Engine(variant, 1)
        self.start: list[int] = []

    def header(self) -> dict[str, Any]:
        """What does not change in the course of a game."""
        variant = self.variant
        owners = [robot // variant.robots_per_player for robot in range(variant.robots)]
        return {
            "game": "get_bit",
            "title": "Get Bit!",
            "variant": variant.name,
            "players": ["ABCDEFG"[player] for player in range(variant.players)],
            "robots": [{"name": robot_name(variant, robot), "player": owner} for robot, owner in enumerate(owners)],
            "cards": variant.cards,
            "limbs": variant.limbs,
            "half_limbs": variant.limbs == HALF_LIMBS,
            "memory": variant.memory,
        }

    def read_start(self, start: Any) -> list[int]:
        """A start as the engine takes it, from `start` or from what `begin` takes; raises ValueError for what is none."""
        return read_start(self.variant, start)

    def begin(self, start: Any) -> None:
        """Begin the game from a starting line, robots front to back.

        Raises:
            ValueError: it is not an order of the robots.
        """
        self.start = read_start(self.variant, start)
        self.engine.start(starts=[self.start])
        self.engine.observe()
        self._tables: list[list[int]] = [[] for _ in range(self.variant.robots)]
        self._places = [0] * self.variant.players
        self._tied: list[int] = []
        self._bitten: int | None = None
        self._over = False
        self._deciding = list(range(self.variant.players))
        self._events: list[Event] = [{"kind": "start", "text": "The robots are in the water."}]

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self._over

    def legal(self, player: int) -> list[int]:
        """The actions of a player who chooses now; none for one who doesn't."""
        if player not in self._deciding:
            return []
        return [int(action) for action in np.flatnonzero(self.engine.action_mask[0, player])]

    def check(self, actions: Sequence[int | None]) -> None:
        """Refuse a round that can't be played.

        Args:
            actions: one a player; what stands for a player who is out does not count.

        Raises:
            ValueError: with the round, the player, and what may be played.
        """
        number = int(self.engine.lengths[0]) + 1
        if self._over:
            raise ValueError(f"round {number}: the game ended in round {number - 1}")
        if len(actions) != self.variant.players:
            raise ValueError(f"round {number}: {len(actions)} actions for {self.variant.players} players")
        for player, action in enumerate(actions):
            may = self.legal(player)
            if may and (isinstance(action, bool) or not isinstance(action, int | np.integer) or action not in may):
                raise ValueError(f"round {number}: player_{player} plays {shown(action)}, legal are {may}")

    def play(self, actions: Sequence[int | None]) -> None:
        """Play a round.

        Args:
            actions: one a player; what stands for a player who is out does not count.

        Raises:
            ValueError: an action is not legal, or the game is over. Nothing has been played then.
        """
        self.check(actions)
        state = self.engine.state
        line, first = self._line(), int(state.rounds[0]) == 0
        legal = [action if self.legal(player) else 0 for player, action in enumerate(actions)]
        self.engine.play(np.array([legal], np.int64))
        self.engine.observe()
        cards = {robot: cards_of(state.played[robot, 0])[0] for robot in line}
        for robot, card in cards.items():
            self._tables[robot].append(card)
        events = self._move(line, cards)
        bitten = next(iter(np.flatnonzero(self.engine.outcome.bitten[:, 0]).tolist()), None)
        events += [{"kind": "calm", "text": "Nobody is bitten in the first round."}] if first else self._bite(bitten)
        self._bitten = bitten
        events += self._take_back(line)
        finish = self.engine.outcome.finish[:, 0].tolist()
        self._places = [now or before for now, before in zip(finish, self._places, strict=True)]
        self._deciding = np.flatnonzero(self.engine.choosing()[0]).tolist()
        if self.engine.outcome.over[0]:
            self._over = True
            events.append(self._end())
        self._events = events

    def frame(self, viewer: int | None = None) -> dict[str, Any]:
        """The position now, and the events of the round that led to it.

        Args:
            viewer: the player who looks at it: in the memory game hands and tables of other players are absent. None sees all.
        """
        state, variant = self.engine.state, self.variant
        robots = []
        for robot in range(variant.robots):
            hand = cards_of(state.hand[robot, 0])
            entry: dict[str, Any] = {
                "limbs": int(state.limbs[robot, 0]),
                "hand_size": len(hand),
                "table_size": len(self._tables[robot]),
                "card": next(iter(cards_of(state.played[robot, 0])), None),
            }
            if not variant.memory or viewer is None or robot // variant.robots_per_player == viewer:
                entry |= {"hand": hand, "table": list(self._tables[robot])}
            robots.append(entry)
        order = np.argsort(state.place[:, 0]).tolist()
        return {
            "number": int(state.rounds[0]),
            "caption": f"Round {int(state.rounds[0])}" if state.rounds[0] else "Start",
            "line": self._line(),
            "out": [robot for robot in order if not state.limbs[robot, 0]],
            "robots": robots,
            "tied": list(self._tied),
            "bitten": self._bitten,
            "places": [place or None for place in self._places],
            "over": self._over,
            "events": [dict(event) for event in self._events],
        }

    def deciding(self) -> list[int]:
        """The players who choose now."""
        return list(self._deciding)

    def choices(self, player: int) -> dict[str, Any] | None:
        """What a player chooses from now, None if it chooses nothing.

        A player chooses a card of each of its robots in the line, the one nearer the front first. With C cards in a deck, cards
        f and b are the action (f - 1) * C + (b - 1).
        """
        if not self.legal(player):
            return None
        each = self.variant.robots_per_player
        mine = [robot for robot in self._line() if robot // each == player]
        hands = [cards_of(self.engine.state.hand[robot, 0]) for robot in mine]
        return {"kind": "cards", "number": int(self.engine.lengths[0]) + 1, "robots": mine, "hands": hands}

    def label(self, player: int, action: int) -> str:
        """An action of a player now, for people: `5`, or `A 5, a 2` for two robots."""
        each, cards = self.variant.robots_per_player, self.variant.cards
        if each == 1:
            return str(action + 1)
        mine = [robot_name(self.variant, robot) for robot in self._line() if robot // each == player]
        return ", ".join(f"{name} {card + 1}" for name, card in zip(mine, divmod(action, cards), strict=True))

    def _line(self) -> list[int]:
        state = self.engine.state
        return [robot for robot in np.argsort(state.place[:, 0]).tolist() if state.limbs[robot, 0]]

    def _names(self, robots: Sequence[int]) -> str:
        names = [robot_name(self.variant, robot) for robot in robots]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

    def _move(self, line: list[int], cards: dict[int, int]) -> list[Event]:
        """G2.2 and G3: the cards are turned up at once, then the lowest untied number moves first."""
        count = Counter(cards.values())
        self._tied = [robot for robot in line if count[cards[robot]] > 1]
        said = ", ".join(f"{robot_name(self.variant, robot)} {cards[robot]}" for robot in sorted(line))
        ties = [self._names([robot for robot in sorted(line) if cards[robot] == card]) for card in sorted(count) if count[card] > 1]
        told = "".join(f" {names} are tied." for names in ties) or " Nobody is tied."
        events: list[Event] = [
            {
                "kind": "reveal",
                "cards": [cards.get(robot) for robot in range(self.variant.robots)],
                "tied": list(self._tied),
                "text": f"Cards: {said}.{told}",
            }
        ]
        self._moved = list(line)
        for robot in sorted(set(line) - set(self._tied), key=cards.__getitem__):
            was = self._moved.index(robot)
            self._moved = [robot, *self._moved[:was], *self._moved[was + 1 :]]
            stays = " and stays there" if was == 0 else ""
            text = f"{self._names([robot])} swims to the front with {cards[robot]}{stays}."
            events.append({"kind": "move", "robot": robot, "line": list(self._moved), "text": text})
        return events

    def _bite(self, robot: int | None) -> list[Event]:
        """G4: the robot at the back is bitten; it swims to the front, or is out."""
        if robot is None:
            return []
        left, name = int(self.engine.state.limbs[robot, 0]), self._names([robot])
        unit = {HALF_LIMBS: "half limb"}.get(self.variant.limbs, "limb")
        rest = [other for other in self._moved if other != robot]
        if left == 0:
            self._tables[robot].clear()
            text = f"The shark bites {name}, which is out."
            return [
                {"kind": "bite", "robot": robot, "limbs": 0, "text": text},
                {"kind": "out", "robot": robot, "line": rest, "text": ""},
            ]
        self._moved = [robot, *rest]
        self._tables[robot].clear()
        return [
            {
                "kind": "bite",
                "robot": robot,
                "limbs": left,
                "text": f"The shark bites {name}, which has {left} {unit}{'s' * (left != 1)} left.",
            },
            {
                "kind": "escape",
                "robot": robot,
                "line": list(self._moved),
                "text": f"{name} swims to the front and takes its cards back.",
            },
        ]

    def _take_back(self, line: list[int]) -> list[Event]:
        """G5: hands that are down to the threshold take their tables back."""
        state, deck = self.engine.state, self.variant.rules.deck
        takes = [robot for robot in line if state.limbs[robot, 0] and self._tables[robot] and state.hand[robot, 0] == deck]
        for robot in takes:
            self._tables[robot].clear()
        if not takes:
            return []
        verb, whose = ("takes", "its") if len(takes) == 1 else ("take", "their")
        return [{"kind": "take_back", "robots": takes, "text": f"{self._names(takes)} {verb} {whose} cards back."}]

    def _end(self) -> Event:
        """G6: the end, with the last robot that the shark eats where the players have one robot each."""
        winner = "ABCDEFG"[self._places.index(1)]
        event: Event = {"kind": "end", "eaten": None, "places": list(self._places), "text": f"Player {winner} wins."}
        if self.variant.robots_per_player == 1:
            eaten = self._line()[-1]
            event |= {"eaten": eaten, "text": f"The shark eats {self._names([eaten])}. Player {winner} wins."}
        return event
