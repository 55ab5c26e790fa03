"""The rules a second time, slowly: players with lists of cards, written from docs/sharks_are_wild.md and not from the kernels.

Cards are `"0"` to `"9"`, `"S"`, `"O"`, `"D"`; piles and runs are lists, a pile from the top, a run from its low end. A card of
a run is a pair: the number that it counts for, and the card. The random stream is written anew as well.
"""

from __future__ import annotations

LETTERS = "012346789SOD"
WORD = (1 << 64) - 1


class Stream:
    """A game's random numbers."""

    def __init__(self, key: int, drawn: int) -> None:
        self.key, self.drawn = key, drawn

    def below(self, bound: int) -> int:
        self.drawn += 1
        z = (self.key + self.drawn * 0x9E3779B97F4A7C15) & WORD
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        return ((z ^ (z >> 31)) >> 32) * bound >> 32

    def shuffle(self, bottom_first: list[str]) -> None:
        for i in reversed(range(1, len(bottom_first))):
            j = self.below(i + 1)
            bottom_first[i], bottom_first[j] = bottom_first[j], bottom_first[i]


class Player:
    def __init__(self) -> None:
        self.coins = 0
        self.hand: list[str] = []
        self.run = [(5, "5")]
        self.open: list[str] = []  # cards of the hand that all saw

    def let_go(self, card: str) -> None:
        self.hand.remove(card)
        if card in self.open:
            self.open.remove(card)


class Table:
    """A game. `decide` takes what a player does in the words of the notation."""

    def __init__(
        self,
        players: int,
        stream: Stream,
        *,
        hand: int,
        run: int,
        coins: int,
        turn_limit: int,
        readings: frozenset[str] = frozenset(),
    ) -> None:
        self.readings = readings  # other readings of the published rules, by the names of `Variant`
        self.players = [Player() for _ in range(players)]
        self.stream, self.size, self.length, self.goal, self.limit = stream, hand, run, coins, turn_limit
        self.turns, self.player, self.stage = 0, 0, "draw"
        self.draw: list[str] = []
        self.discard: list[str] = []
        self.grabbed: tuple[int, str] | None = None  # victim and end
        self.winner: int | None = None

    def deal(self, cards: list[str], first: int) -> None:
        rest = list(cards)
        for k in range(len(self.players)):
            player = self.players[(first + k) % len(self.players)]
            player.hand = [rest.pop(0) for _ in range(self.size)]
        self.discard, self.draw, self.player = [rest.pop(0)], rest, first

    @property
    def decides(self) -> int:
        return self.grabbed[0] if self.grabbed is not None and self.stage == "block" else self.player

    def grabbed_card(self) -> tuple[int, str]:
        assert self.grabbed is not None
        victim, end = self.grabbed
        return self.players[victim].run[0 if end == "low" else -1]

    def fits(self, player: Player, number: int) -> bool:
        return 0 <= number <= 9 and number in (player.run[0][0] - 1, player.run[-1][0] + 1)

    def legal(self) -> set[str]:
        me = self.players[self.player]
        if self.stage == "over":
            return set()
        if self.stage == "draw":
            may = {"draws"} if self.draw else set()
            may |= {f"takes {self.discard[0]}"} if self.discard else set()
            return may or {"passes"}
        if self.stage == "block":
            if "D" not in self.players[self.decides].hand:
                return {"passes"}
            return {"blocks"} if "must_block" in self.readings else {"passes", "blocks"}
        if self.stage == "stolen":
            number, card = self.grabbed_card()
            play = f"plays {card}" if card != "S" else "plays S high" if number > 5 else "plays S low"
            return {play, f"discards {card}"}
        may = set()
        for card in me.hand:
            may.add(f"discards {card}")
            if card.isdigit() and self.fits(me, int(card)):
                may.add(f"plays {card}")
            if card == "S":
                may |= {"plays S low"} if me.run[0][0] > 0 else set()
                may |= {"plays S high"} if me.run[-1][0] < 9 else set()
            if card == "O":
                for p, other in enumerate(self.players):
                    if other is not me:
                        may |= {f"steals {'ABCD'[p]} low"} if other.run[0] != (5, "5") else set()
                        may |= {f"steals {'ABCD'[p]} high"} if other.run[-1] != (5, "5") else set()
        return may or {"passes"}

    def decide(self, what: str) -> None:
        assert what in self.legal(), (what, self.legal())
        me, words = self.players[self.player], what.split()
        if self.stage == "draw":
            if what == "draws":
                self.draw_one(me)
            elif words[0] == "takes":
                card = self.discard.pop(0)
                me.hand.append(card)
                me.open.append(card)
            self.stage = "play"
            return
        if self.stage == "block":
            assert self.grabbed is not None
            victim = self.players[self.grabbed[0]]
            if what == "blocks":
                self.grabbed = None
                victim.let_go("D")
                self.discard.insert(0, "D")
                self.draw_one(victim)
            else:
                fits = self.fits(me, self.grabbed_card()[0])
                if fits and "may_decline" in self.readings:
                    self.stage = "stolen"
                    return
                self.steal(me, use=fits)
        elif self.stage == "stolen":
            self.steal(me, use=words[0] == "plays")
        elif words[0] == "discards":
            me.let_go(words[1])
            self.discard.insert(0, words[1])
        elif words[0] == "steals":
            me.let_go("O")
            self.discard.insert(0, "O")
            self.grabbed, self.stage = ("ABCD".index(words[1]), words[2]), "block"
            return
        elif words[0] == "plays":
            card = words[1]
            number = int(card) if card != "S" else me.run[0][0] - 1 if words[2] == "low" else me.run[-1][0] + 1
            me.let_go(card)
            if card == "S":
                me.coins += 1
            self.lay(me, number, card)
        self.finish_turn(me)

    def steal(self, me: Player, *, use: bool) -> None:
        assert self.grabbed is not None
        victim, end = self.grabbed
        number, card = self.players[victim].run.pop(0 if end == "low" else -1)
        self.grabbed = None
        if use:
            self.lay(me, number, card)
        elif "octopus_on_top" in self.readings:
            octopus = self.discard.pop(0)
            assert octopus == "O"
            self.discard[:0] = [octopus, card]
        else:
            self.discard.insert(0, card)

    def lay(self, player: Player, number: int, card: str) -> None:
        player.run = sorted([*player.run, (number, card)])
        if len(player.run) == self.length:
            player.coins += 1
            self.discard += [card for number, card in player.run if number != 5]
            player.run = [(5, "5")]

    def finish_turn(self, me: Player) -> None:
        if me.coins >= self.goal:
            self.winner, self.stage = self.player, "over"
            return
        while len(me.hand) < self.size and self.draw_one(me):
            pass
        self.turns += 1
        self.player = (self.player + 1) % len(self.players)
        self.stage = "draw"
        if self.turns >= self.limit:
            self.stage = "over"
        else:
            self.turn_over()

    def draw_one(self, player: Player) -> bool:
        self.turn_over()
        if self.draw:
            player.hand.append(self.draw.pop(0))
            if "early_shuffle" in self.readings:
                self.turn_over()
            return True
        return False

    def turn_over(self) -> None:
        if not self.draw and len(self.discard) > 1:
            rest = self.discard[:0:-1]  # without the top, the bottom first, as one shuffles
            self.stream.shuffle(rest)
            self.draw, self.discard = rest[::-1], self.discard[:1]

    def position(self) -> str:
        """The position in the notation."""

        def cards(some: list[str]) -> str:
            return "".join(sorted(some, key=LETTERS.index))

        if self.grabbed is not None:
            doing = f"{'steals' if self.stage == 'block' else 'stole'} {'ABCD'[self.grabbed[0]]} {self.grabbed[1]}"
        else:
            doing = self.stage
        text = f"{self.turns}. {'ABCD'[self.player]} {doing}"
        for name, p in zip("ABCD", self.players, strict=False):
            text += f" {name}{p.coins}:{''.join(card for _, card in p.run)}/{cards(p.hand)}{'*' * bool(p.open)}{cards(p.open)}"
        return f"{text} draw={''.join(self.draw)} discard={''.join(self.discard)}"
