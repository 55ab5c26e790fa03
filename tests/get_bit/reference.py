"""Get Bit! as people play it: robots and cards in lists, moved one at a time, written from docs/rules.md and from nothing else.

It is slow and imports nothing of the package, so that it can be held against the code.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Robot:
    owner: int
    limbs: int
    hand: list[int]
    table: list[int] = field(default_factory=list)


@dataclass
class Round:
    """What everybody saw of a round."""

    cards: dict[int, int]
    bitten: int | None
    line: list[int]  # after it


class Table:
    """A game in progress."""

    def __init__(
        self, line: list[int], *, robots_each: int, cards: int, limbs: int, pick_up_at: int = 2, literal: bool = False
    ) -> None:
        self.line = list(line)  # front to back
        self.out: list[int] = []  # in the order in which they went out
        self.robots = [Robot(owner=r // robots_each, limbs=limbs, hand=list(range(1, cards + 1))) for r in range(len(line))]
        self.players = len(line) // robots_each
        self.robots_each, self.pick_up_at, self.literal = robots_each, pick_up_at, literal
        self.first_round = True
        self.rounds: list[Round] = []
        self.finish: dict[int, int] = {}  # place of each player whose fate is decided
        self.over = False

    def play(self, cards: dict[int, int]) -> None:
        """A round; `cards` is what each robot in the line plays."""
        assert not self.over
        assert sorted(cards) == sorted(self.line)
        for robot, card in cards.items():  # G2
            self.robots[robot].hand.remove(card)
            self.robots[robot].table.append(card)
        self.move(cards)
        bitten = None if self.first_round else self.get_bit()  # G4.1
        for robot in self.line:  # G5
            if len(self.robots[robot].hand) <= self.pick_up_at:
                self.take_back(robot)
        self.first_round = False
        self.rounds.append(Round(dict(cards), bitten, list(self.line)))
        self.end()

    def move(self, cards: dict[int, int]) -> None:
        """G3."""
        times = Counter(cards.values())
        for number in sorted(times):
            if times[number] == 1:
                (robot,) = (r for r in cards if cards[r] == number)
                self.line.remove(robot)
                self.line.insert(0, robot)

    def get_bit(self) -> int:
        """G4.2-G4.4."""
        bitten = self.line.pop()
        self.robots[bitten].limbs -= 1
        if self.robots[bitten].limbs > 0:
            self.line.insert(0, bitten)
            self.take_back(bitten)
        else:
            self.out.append(bitten)
        return bitten

    def take_back(self, robot: int) -> None:
        self.robots[robot].hand += self.robots[robot].table
        self.robots[robot].hand.sort()
        self.robots[robot].table = []

    def end(self) -> None:
        """G6."""
        if self.robots_each == 1:
            for late, robot in enumerate(self.out):
                self.finish[self.robots[robot].owner] = self.players - late
            if len(self.line) == 2:
                self.over = True
                winner, eaten = self.line
                self.finish[self.robots[winner].owner] = 1
                self.finish[self.robots[eaten].owner] = 2
        elif self.out:
            self.over = True
            loser = self.robots[self.out[0]].owner
            owners = list(dict.fromkeys(self.robots[robot].owner for robot in self.line))  # by frontmost robot
            if not (self.literal and owners[0] == loser):
                owners.remove(loser)
                owners.append(loser)
            self.finish = {player: place for place, player in enumerate(owners, 1)}
