"""Positions of Sharks are Wild for people: as text, and as a picture drawn with pygame.

Both show the spectator everything, also the hands that are secret at level two; there they are marked as secret. pygame is imported
when the first `Canvas` is made: importing this module does not need it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from getbit_env.core.drawing import (
    GOLD,
    GREY,
    INK,
    NIGHT,
    OWNERS,
    RED,
    SAND,
    SEA_HIGH,
    SEA_LOW,
    SHARK_BACK,
    SLATE,
    WHITE,
    Color,
    Drawing,
    import_pygame,
    mix,
    save_surface,
)
from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.notation import (
    ENDS,
    LETTERS,
    Game,
    cards_text,
    pile_of,
    print_action,
    replay,
    run_of,
    start_position,
)
from getbit_env.sharks_are_wild.rules import BLOCK, DISCARD, DRAW, OVER, PLAY, SHARK_AT, STARTER, STEAL, STOLEN, Games, actor
from getbit_env.sharks_are_wild.variants import Variant

STAGES = {"draw": DRAW, "play": PLAY, "block": BLOCK, "over": OVER, "stolen": STOLEN}
NEXT = {
    DRAW: "is to draw",
    PLAY: "is to play or discard a card",
    BLOCK: "is asked whether to block",
    STOLEN: "is to play or discard the stolen card",
}
CHEST = 18  # coins of the box (S1.1)


class Scene(NamedTuple):
    """What there is to see of a game. Players are numbered as in `rules`; cards are letters of the notation, piles from the top."""

    variant: Variant
    turn: int  # turns finished
    player: int  # whose turn it is
    stage: int  # what is decided next, as in `rules`
    grab: tuple[int, int] | None  # victim and end that an Octopus grabs
    coins: tuple[int, ...]
    runs: tuple[str, ...]
    hands: tuple[str, ...]
    taken: tuple[str, ...]  # the part of each hand that all know of
    draw: str
    discard: str
    news: str  # what was decided last

    @property
    def winner(self) -> int | None:
        """The player who won, None while the game goes on and in a draw."""
        return next((p for p, coins in enumerate(self.coins) if coins >= self.variant.coins), None)

    @property
    def headline(self) -> str:
        """What was decided last, and what is next."""
        if self.winner is not None:
            return f"{self.news}: player_{self.winner} wins"
        if self.stage == OVER:
            return f"{self.news}: the game is a draw"
        return f"{self.news}; player_{self.actor} {NEXT[self.stage]}"

    @property
    def actor(self) -> int:
        """The player who decides next."""
        return self.grab[0] if self.grab is not None and self.stage == BLOCK else self.player

    def _repr_svg_(self) -> str:
        """What notebooks show."""
        return svg(self)


def scene_from_snapshot(snapshot: Mapping[str, Any], variant: Variant) -> Scene:
    """The scene of an environment's snapshot."""
    grab = snapshot["grab"]
    return Scene(
        variant=variant,
        turn=snapshot["turn"],
        player=snapshot["player"],
        stage=STAGES[snapshot["stage"]],
        grab=None if grab is None else (grab[0], ENDS.index(grab[1])),
        coins=tuple(snapshot["coins"]),
        runs=tuple(snapshot["runs"]),
        hands=tuple(snapshot["hands"]),
        taken=tuple(snapshot["taken"]),
        draw=snapshot["draw"],
        discard=snapshot["discard"],
        news=_last_news(variant, snapshot),
    )


def scene_of_batch(engine: Engine, game: int) -> Scene:
    """The scene of one game of a batch, which does not remember what was decided last."""
    return _scene(engine.variant, engine.state, game, f"Turn {engine.state.turns[game] + 1}")


def _scene(variant: Variant, games: Games, game: int, news: str) -> Scene:
    """The scene of a position of a batch."""
    players, stage = range(variant.players), int(games.stage[game])
    return Scene(
        variant=variant,
        turn=int(games.turns[game]),
        player=int(games.player[game]),
        stage=stage,
        grab=(int(games.victim[game]), int(games.end[game])) if stage in (BLOCK, STOLEN) else None,
        coins=tuple(games.coins[game].tolist()),
        runs=tuple(run_of(games, game, p) for p in players),
        hands=tuple(cards_text(games.hand[game, p]) for p in players),
        taken=tuple(cards_text(games.taken[game, p]) for p in players),
        draw=pile_of(games.draw[game], games.draw_size[game]),
        discard=pile_of(games.discard[game], games.discard_size[game]),
        news=news,
    )


def scenes(game: Game) -> Iterator[Scene]:
    """The scenes of a recorded game: the start, and one a decision."""
    variant = game.variant
    news = "The cards are dealt"
    for number, (games, _, _) in enumerate(replay(game)):
        yield _scene(variant, games, 0, news)
        if number < len(game.actions):
            news = _news(variant, games, game.actions[number])


def _last_news(variant: Variant, snapshot: Mapping[str, Any]) -> str:
    actions, start = snapshot["actions"], snapshot["start"]
    if not actions:
        return "The cards are dealt"
    cards = [LETTERS.index(letter) for letter in start["cards"]]
    game = Game(variant, int(snapshot["stream"][0], 16), start["drawn"], cards, start["first"], actions[:-1])
    games = start_position(variant, cards, start["first"])
    for step in replay(game):
        games = step.games
    return _news(variant, games, actions[-1])


def _news(variant: Variant, games: Games, action: int) -> str:
    """What somebody does in a position."""
    said = print_action(variant, games, action)
    if action >= STEAL:
        victim = (int(games.player[0]) + 1 + (action - STEAL) // 2) % variant.players
        said = f"grabs the {ENDS[(action - STEAL) % 2]} end of player_{victim}'s run"
    elif SHARK_AT <= action < DISCARD:
        said = f"plays a Shark at the {ENDS[action - SHARK_AT]} end"
    return f"player_{actor(games, 0)} {said}"


# --- text ------------------------------------------------------------------------------------------------------------------


def ansi(scene: Scene) -> str:
    """The scene as text of at most 100 columns, a row a player; the 5s stand in one column. No colour codes."""
    hand = "hand (secret)" if scene.variant.level == 2 else "hand"
    rows = [("", "player", "coins", "run".center(17), hand)]
    for p, run in enumerate(scene.runs):
        mark = ">" if p == scene.player and scene.stage != OVER else "*" if p == scene.winner else ""
        numbers = ["."] * 9
        for n, card in enumerate(run, STARTER - run.index("5")):
            if 1 <= n <= 9:
                numbers[n - 1] = card
        lead = "0 " if len(run) and run[0] == "0" else ""
        taken = f"  openly taken: {' '.join(scene.taken[p])}" if scene.taken[p] and scene.variant.level == 2 else ""
        rows.append((mark, f"player_{p}", "$" * scene.coins[p], lead + " ".join(numbers), " ".join(scene.hands[p]) + taken))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    top = scene.discard[0] if scene.discard else "none"
    piles = f"draw pile: {len(scene.draw)} cards; discard pile: {len(scene.discard)} cards, top {top}"
    return "\n".join([f"Sharks are Wild {scene.variant}, turn {scene.turn}", scene.headline, "", *lines, "", piles]) + "\n"


# --- picture ---------------------------------------------------------------------------------------------------------------
# A row a player. The numbers of all runs stand in the same columns, which makes runs easy to compare. Lengths are pixels, width and
# height multiples of 16.

WIDTH, HEADER, PILES, ROW = 1088, 56, 120, 136
CARD, STEP = (44, 62), 50  # a card, and from one to the next
RUN, HAND = 190, 700  # left edges of the runs, whose first column is the 1, and of the hands
CARD_COLORS: dict[str, Color] = {"S": (205, 225, 240), "O": (240, 214, 232), "D": (212, 240, 226)}


def picture(pygame: Any, scene: Scene) -> Any:
    """The scene as a surface of pygame."""
    return _Drawing.surface(pygame, scene)


def svg(scene: Scene) -> str:
    """The scene as SVG, which needs no other package."""
    return _Drawing.svg(scene, ansi(scene))


def save_picture(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene to a picture file; the ending of its name says of which kind, `.png` for example.

    Raises:
        ImportError: pygame is not installed.
    """
    save_surface(picture(import_pygame(), scene), path)


class _Drawing(Drawing):
    """One picture in the making."""

    _scene: Scene

    @staticmethod
    def size(scene: Scene) -> tuple[int, int]:
        """See `Drawing`."""
        height = HEADER + PILES + ROW * scene.variant.players
        return WIDTH, -(-height // 16) * 16

    def draw(self) -> None:
        """See `Drawing`."""
        self._shade(0, self._height, SEA_HIGH, SEA_LOW)
        self._titles()
        self._piles()
        for p in range(self._scene.variant.players):
            self._player(p, HEADER + PILES + ROW * p)

    def _titles(self) -> None:
        scene = self._scene
        self._box(0, 0, WIDTH, HEADER, NIGHT)
        self._text(f"Turn {scene.turn}", (16, HEADER / 2), 36, WHITE, "left")
        self._text(scene.headline, (150, HEADER / 2), 24, WHITE if scene.winner is None else GOLD, "left")

    def _piles(self) -> None:
        scene, middle = self._scene, HEADER + PILES / 2
        self._box(0, HEADER, WIDTH, PILES - 6, mix(SAND, SEA_HIGH, 0.25))
        for x, cards, name in ((70, scene.draw, "draw pile"), (300, scene.discard, "discard pile")):
            for i in reversed(range(min(len(cards), 3))):
                at = (x + 3 * i, middle - 2 * i)
                if name == "draw pile":
                    self._rounded(at[0] - CARD[0] / 2, at[1] - CARD[1] / 2, *CARD, 7, SLATE, NIGHT)
                else:
                    self._card(cards[i], at, SLATE)
            if not cards:
                self._rounded(x - CARD[0] / 2, middle - CARD[1] / 2, *CARD, 7, mix(SAND, SEA_HIGH, 0.4), GREY)
            self._text(f"{name}: {len(cards)}", (x + 40, middle), 22, INK, "left")
        self._text("coins left", (590, middle), 22, INK, "left")
        for i in range(max(0, CHEST - sum(scene.coins))):
            self._coin((690 + 19 * (i % 9), middle - 12 + 24 * (i // 9)), 9)
        self._text(str(scene.variant), (WIDTH - 14, middle + 44), 17, SLATE, "right")

    def _player(self, p: int, y: float) -> None:
        scene, color, middle = self._scene, OWNERS[p], y + ROW / 2
        acts = scene.stage != OVER and p == scene.actor
        back = mix(SEA_HIGH, WHITE, 0.55 if acts else 0.2)
        self._rounded(
            8, y + 4, WIDTH - 16, ROW - 10, 12, mix(GOLD, WHITE, 0.6) if p == scene.winner else back, INK if acts else SLATE
        )
        self._rounded(20, middle - 42, 128, 26, 13, color, mix(color, NIGHT, 0.55))
        self._text(f"player_{p}", (84, middle - 28), 22, WHITE if p == 1 else INK)
        for i in range(max(scene.variant.coins, scene.coins[p])):
            self._coin((34 + 24 * (i % 5), middle + 6 + 26 * (i // 5)), 10, there=i < scene.coins[p])
        self._run(p, middle)
        self._hand(p, middle)

    def _run(self, p: int, middle: float) -> None:
        scene, run = self._scene, self._scene.runs[p]
        low = STARTER - run.index("5")
        first = 0 if low == 0 else 1
        for n in range(first, 10):
            self._text(str(n), (RUN + STEP * (n - 1) + CARD[0] / 2, middle - 48), 18, SLATE)
        for n, card in enumerate(run, low):
            at = (RUN + STEP * (n - 1) + CARD[0] / 2, middle + 2)
            self._card(card, at, OWNERS[p] if n == STARTER else SLATE, stands_for=n if card == "S" else None)
            if scene.grab and scene.grab[0] == p and n == (low if scene.grab[1] == 0 else low + len(run) - 1):
                self._arms(at)

    def _arms(self, at: tuple[float, float]) -> None:
        """An Octopus's arms around a card."""
        purple = (150, 60, 130)
        for side in (-1, 1):
            for dy in (-18, 2, 22):
                self._stroke((at[0] + side * 26, at[1] + dy), (at[0] + side * 14, at[1] + dy + 6), 5, purple)
        self._text("?", (at[0], at[1] + 48), 26, RED)

    def _hand(self, p: int, middle: float) -> None:
        scene, hand = self._scene, self._scene.hands[p]
        secret = scene.variant.level == 2
        self._text("secret hand" if secret else "hand", (HAND, middle - 48), 18, SLATE, "left")
        known = list(scene.taken[p]) if secret else []
        step = min(STEP, (WIDTH - HAND - 30 - CARD[0]) / max(len(hand) - 1, 1))
        for i, card in enumerate(hand):
            at = (HAND + CARD[0] / 2 + step * i, middle + 2)
            self._card(card, at, SLATE)
            if card in known:
                known.remove(card)
                self._text("seen", (at[0], middle + 44), 17, RED)

    def _card(self, card: str, at: tuple[float, float], edge: Color, stands_for: int | None = None) -> None:
        left, top = at[0] - CARD[0] / 2, at[1] - CARD[1] / 2
        self._rounded(left, top, *CARD, 7, CARD_COLORS.get(card, WHITE), edge)
        if card == "S":
            self._polygon([(left + 8, at[1] + 14), (left + 20, at[1] - 16), (left + 32, at[1] + 14)], SHARK_BACK)
            self._stroke((left + 6, at[1] + 16), (left + 38, at[1] + 16), 3, SEA_LOW)
            if stands_for is not None:
                self._text(str(stands_for), (left + 35, top + 12), 22, RED)
        elif card == "O":
            self._disc((at[0], at[1] - 6), 12, (150, 60, 130))
            for dx in (-12, -4, 4, 12):
                self._stroke((at[0] + dx * 0.8, at[1] + 2), (at[0] + dx * 1.2, at[1] + 20), 4, (150, 60, 130))
            for dx in (-4, 5):
                self._disc((at[0] + dx, at[1] - 8), 2.5, WHITE)
        elif card == "D":
            body = [(-15, 6), (-8, -6), (4, -10), (15, -2), (8, 0), (0, 4), (-8, 10)]
            self._polygon([(at[0] + dx, at[1] + dy) for dx, dy in body], (60, 130, 150))
            self._polygon([(at[0] - 2, at[1] - 8), (at[0] + 2, at[1] - 18), (at[0] + 7, at[1] - 8)], (60, 130, 150))
            self._polygon([(at[0] - 13, at[1] + 7), (at[0] - 20, at[1] + 14), (at[0] - 10, at[1] + 15)], (60, 130, 150))
        else:
            self._text(card, (at[0], at[1] + 2), 44, INK)

    def _coin(self, at: tuple[float, float], radius: float, *, there: bool = True) -> None:
        self._disc(at, radius, mix(GOLD, NIGHT, 0.45) if there else mix(SEA_HIGH, GREY, 0.6))
        self._disc(at, radius - 2, GOLD if there else mix(SEA_HIGH, WHITE, 0.4))
