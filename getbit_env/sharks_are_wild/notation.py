"""A notation for positions and games that people can read and write.

A card is one character: its number, `S` for a Shark, `O` for an Octopus, `D` for a Dolphin. A player is a letter, `A` to `D`.
Behind it stand its coins, its run from the low to the high end, and behind a slash its hand; cards of the hand that were openly
taken from the discard pile stand again behind a star. Which number a Shark of a run stands for follows from the place of the 5.

    12. B play A2:S56/0138D B0:5/13S7OO*S draw=0448 discard=61

is a position after twelve turns, in which player B has drawn and is to play; piles are written from the top. Instead of `play` it
can be `draw`, `over`, or `steals A low`: then A is asked whether to block. In games with `may_decline` it can be `stole A low`:
then B decides whether the card joins his run or is discarded.

A game is its variant, its stream with the numbers drawn before the first turn, the deal (the cards from the top, and who begins),
and a line for every turn with what was decided and the position that follows:

    sharks-2p-level2 stream 0x5f3a90c1d2e4b687 53
    deal 0S4713... first B
    1. B draws, plays 4 | A draw A0:5/01378 ...
    2. A takes 8, steals B low, B blocks | ...
    ...
    end B 5, A 3

The stream says how the piles are shuffled in the course of the game; it isn't needed in a game that shuffles none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from getbit_env.core.messages import shown
from getbit_env.core.rendering import as_html_strip
from getbit_env.sharks_are_wild.engine import check_deal
from getbit_env.sharks_are_wild.rules import (
    BLOCK,
    BLOCK_IT,
    DISCARD,
    DRAW,
    FROM_DISCARD_PILE,
    FROM_DRAW_PILE,
    LOW,
    NUMBER,
    NUMBER_KINDS,
    OVER,
    PASS,
    PLAY,
    SHARK_AT,
    STARTER,
    STEAL,
    STOLEN,
    Games,
    Outcome,
    Rules,
    actor,
    deal,
    fits_thief,
    grabbed_number,
    legal,
    new_games,
    new_outcome,
    number_of,
    play,
)
from getbit_env.sharks_are_wild.variants import KIND_NAMES, Variant, parse_variant

LETTERS = "012346789SOD"  # of the kinds, in their order
PLAYERS = "ABCD"
ENDS = ("low", "high")
_NUMBER = "0|[1-9][0-9]{0,5}"  # as the notation writes one: ASCII digits, no zero before others
_PLAYER = re.compile(
    rf"(?P<name>[A-D])(?P<coins>{_NUMBER}):(?P<run>[0-9S]{{1,10}})/(?P<hand>[0-46-9SOD]{{0,20}})(?:\*(?P<taken>[0-46-9SOD]{{1,20}}))?"
)
_STAGES = {DRAW: "draw", PLAY: "play", OVER: "over"}
_GRABS = {BLOCK: "steals", STOLEN: "stole"}


class Game(NamedTuple):
    """A game as it was played."""

    variant: Variant
    stream: int  # key of its random stream
    drawn: int  # numbers of the stream that were used before the first turn
    cards: list[int]  # the deal: all kinds, from the top
    first: int  # who began
    actions: list[int]  # one a decision

    def _repr_html_(self) -> str:
        """What notebooks show: every position."""
        from getbit_env.sharks_are_wild import rendering

        return as_html_strip(rendering, rendering.scenes(self))


class Step(NamedTuple):
    """A position of a replayed game."""

    games: Games  # the batch of one game, changed by the next step
    outcome: Outcome  # of the decision that led here; all zero at the start
    drawn: int  # numbers of the stream used so far


def cards_text(counts: Any) -> str:
    """Cards of a hand, counted by kind, in the order of kinds."""
    return "".join(LETTERS[kind] * int(count) for kind, count in enumerate(counts))


def run_of(games: Games, game: int, player: int) -> str:
    """A player's run from its low to its high end."""
    sharks = int(games.sharks[game, player])
    numbers = range(int(games.low[game, player]), int(games.high[game, player]) + 1)
    return "".join("S" if sharks >> n & 1 else str(n) for n in numbers)


def pile_of(cards: Any, size: Any) -> str:
    """A pile from the top."""
    return "".join(LETTERS[kind] for kind in cards[: int(size)][::-1].tolist())


def print_position(variant: Variant, games: Games, game: int = 0) -> str:
    """One position of a batch, in the notation."""
    stage, player = int(games.stage[game]), PLAYERS[games.player[game]]
    doing = _STAGES[stage] if stage in _STAGES else f"{_GRABS[stage]} {PLAYERS[games.victim[game]]} {ENDS[games.end[game]]}"
    parts = [f"{games.turns[game]}. {player} {doing}"]
    for p in range(variant.players):
        taken = cards_text(games.taken[game, p])
        hand = cards_text(games.hand[game, p]) + (f"*{taken}" if taken else "")
        parts.append(f"{PLAYERS[p]}{games.coins[game, p]}:{run_of(games, game, p)}/{hand}")
    parts.append(f"draw={pile_of(games.draw[game], games.draw_size[game])}")
    parts.append(f"discard={pile_of(games.discard[game], games.discard_size[game])}")
    return " ".join(parts)


def parse_position(variant: Variant, text: str, *, all_cards: bool = True) -> Games:
    """Read a position into a batch of one game.

    Args:
        variant: of the game.
        text: the position.
        all_cards: the cards must be the variant's deck, each in one place. False lets positions be written with fewer cards.

    Raises:
        ValueError: the text is no position of the variant; the message says what is wrong.
    """
    head = re.fullmatch(rf"({_NUMBER})\. ([A-D]) (draw|play|over|(steals|stole) ([A-D]) (low|high)) (.*)", text.strip())
    if head is None:
        raise ValueError(
            f"a position begins with turns, player and stage, as in '12. B play' or '12. B steals A low', not {shown(text)}"
        )
    if int(head[1]) > variant.turn_limit:
        raise ValueError(f"'{head[1]}.': a game of {variant} takes at most {variant.turn_limit} turns")
    games = new_games(variant.rules, 1)
    games.turns[0], games.player[0] = int(head[1]), _player(variant, head[2])
    games.stage[0] = {word: stage for stage, word in (_STAGES | _GRABS).items()}[head[4] or head[3]]
    tokens = head[7].split()
    if len(tokens) != variant.players + 2:
        raise ValueError(f"a position of {variant} has {variant.players} players, then draw= and discard=; not {shown(head[7])}")
    for p, token in enumerate(tokens[: variant.players]):
        _parse_player(variant, games, p, token)
    for name, token, cards, size in (
        ("draw", tokens[-2], games.draw, games.draw_size),
        ("discard", tokens[-1], games.discard, games.discard_size),
    ):
        word, equals, pile = token.partition("=")
        if (word, equals) != (name, "="):
            raise ValueError(f"behind the players stand draw= and discard=, each with its cards from the top, not {shown(token)}")
        if len(pile) > variant.cards:
            raise ValueError(f"{shown(token)}: {variant} has only {variant.cards} cards")
        kinds = parse_cards(variant, pile)
        cards[0, : len(kinds)], size[0] = kinds[::-1], len(kinds)
    if head[4]:
        victim, end = _player(variant, head[5]), ENDS.index(head[6])
        if victim == games.player[0]:
            raise ValueError(f"{shown(text)}: nobody steals from himself")
        if (games.low if end == LOW else games.high)[0, victim] == STARTER:
            raise ValueError(f"{shown(text)}: at the {ENDS[end]} end of {head[5]} lies the starter 5, which nobody can steal (S3)")
        games.victim[0], games.end[0] = victim, end
        if games.stage[0] == STOLEN and not (variant.may_decline and fits_thief(games, 0, grabbed_number(games, 0))):
            raise ValueError(f"{shown(text)}: a thief chooses where the game has may_decline and the card fits his run (S3.1)")
    found = np.zeros(len(LETTERS), np.int64)
    for cards, size in ((games.draw, games.draw_size), (games.discard, games.discard_size)):
        np.add.at(found, cards[0, : size[0]], 1)
    found += games.hand[0].sum(axis=0, dtype=np.int64)
    for p in range(variant.players):
        for letter in run_of(games, 0, p).replace("5", ""):
            found[LETTERS.index(letter)] += 1
    for kind, wanted in enumerate(variant.counts):
        if found[kind] > wanted or (all_cards and found[kind] < wanted):
            raise ValueError(f"{shown(text)} has {found[kind]} x {KIND_NAMES[kind]}, the deck of {variant} has {wanted}")
    return games


def _parse_player(variant: Variant, games: Games, p: int, token: str) -> None:
    match = _PLAYER.fullmatch(token)
    if match is None or match["name"] != PLAYERS[p] or "5" not in match["run"]:
        raise ValueError(f"{shown(token)} is not how player {PLAYERS[p]} is written, as in {PLAYERS[p]}2:S56/0138D")
    run = match["run"]
    low = STARTER - run.index("5")
    for n, letter in enumerate(run, low):
        if letter not in (str(n), "S") or (n == STARTER and letter == "S"):
            raise ValueError(f"{shown(token)}: a run is consecutive, so that {letter!r} can't lie where a {n} belongs")
    if low < 0 or low + len(run) - 1 > 9 or len(run) >= variant.run:
        raise ValueError(f"{shown(token)}: a run lies within 0-9 and has fewer than {variant.run} cards, or it is complete (S2.4)")
    if (coins := int(match["coins"])) > variant.coins + 1:
        raise ValueError(f"{shown(token)}: {variant.coins} coins win, and the last card can bring one more (S2.6)")
    games.coins[0, p], games.low[0, p], games.high[0, p] = coins, low, low + len(run) - 1
    games.sharks[0, p] = sum(1 << n for n, letter in enumerate(run, low) if letter == "S")
    for kind in parse_cards(variant, match["hand"]):
        games.hand[0, p, kind] += 1
    for kind in parse_cards(variant, match["taken"] or ""):
        games.taken[0, p, kind] += 1
        if games.taken[0, p, kind] > games.hand[0, p, kind]:
            raise ValueError(f"{shown(token)}: behind the star stand cards of the hand")
    most = variant.hand + (games.stage[0] == PLAY and games.player[0] == p)
    if (size := int(games.hand[0, p].sum())) > most:
        raise ValueError(f"{shown(token)}: the hand has {size} cards, at most {most} at this stage")


def parse_cards(variant: Variant, text: str) -> list[int]:
    """The kinds of some cards.

    Raises:
        ValueError: the variant has no such card.
    """
    letters = LETTERS[: variant.kinds]
    for letter in text:
        if letter not in letters:
            raise ValueError(f"{letter!r} in {shown(text)} is no card of {variant}: those are {letters}")
    return [letters.index(letter) for letter in text]


def _player(variant: Variant, name: str) -> int:
    if name not in PLAYERS[: variant.players]:
        raise ValueError(f"no player {shown(name)} in {variant}: it has {' '.join(PLAYERS[: variant.players])}")
    return PLAYERS.index(name)


# --- decisions -------------------------------------------------------------------------------------------------------------


def action_name(variant: Variant, action: int) -> str:
    """The text of an action, without its player and position, as in the tables of the docs and in `parse_action`."""
    if action == FROM_DRAW_PILE:
        return "draws"
    if action == FROM_DISCARD_PILE:
        return "takes"
    if action == PASS:
        return "passes"
    if NUMBER <= action < NUMBER + NUMBER_KINDS:
        return f"plays {number_of(action - NUMBER)}"
    if SHARK_AT <= action < DISCARD:
        return f"plays S {ENDS[action - SHARK_AT]}"
    if DISCARD <= action < DISCARD + variant.kinds:
        return f"discards {LETTERS[action - DISCARD]}"
    if variant.level == 2 and action == BLOCK_IT:
        return "blocks"
    if STEAL <= action < variant.actions:
        return f"steals +{(action - STEAL) // 2 + 1} {ENDS[(action - STEAL) % 2]}"
    raise ValueError(f"no action {action} in {variant}: actions are 0 to {variant.actions - 1}")


_MEANINGS = {
    FROM_DRAW_PILE: "draw the top card of the draw pile (S2.1)",
    FROM_DISCARD_PILE: "draw the top card of the discard pile (S2.1)",
    PASS: "let an Octopus pass (S3.1); else: there is nothing to draw, or no card to play (S2.5)",
    BLOCK_IT: "block an Octopus with a Dolphin (S3.2)",
}


def action_meaning(variant: Variant, action: int) -> str:
    """What an action does, in a sentence."""
    if action in _MEANINGS:
        return _MEANINGS[action]
    if action < SHARK_AT:
        number = number_of(action - NUMBER)
        return f"play {'an' if number == 8 else 'a'} {number} (S2.2)"
    if action < DISCARD:
        return f"play a Shark at the {ENDS[action - SHARK_AT]} end of the own run (S2.3)"
    if action < DISCARD + variant.kinds:
        name = KIND_NAMES[action - DISCARD]
        return f"discard {'an' if name in ('8', 'Octopus') else 'a'} {name} ({'S3.3' if name == 'Dolphin' else 'S2.1'})"
    who = ("next player", "player after that", "third player")[(action - STEAL) // 2]
    return f"play an Octopus at the {ENDS[(action - STEAL) % 2]} end of the run of the {who} (S3)"


def action_table(variant: Variant) -> str:
    """The actions as a Markdown table."""
    rows = [f"| {a} | {action_name(variant, a)} | {action_meaning(variant, a)} |" for a in range(variant.actions)]
    return "\n".join(["| action | in the notation | meaning |", "| --- | --- | --- |", *rows])


def print_action(variant: Variant, games: Games, action: int, game: int = 0) -> str:
    """An action in its position: the card that is taken and the player who is robbed are named."""
    if action == FROM_DISCARD_PILE:
        return f"takes {LETTERS[games.discard[game, int(games.discard_size[game]) - 1]]}"
    if action >= STEAL:
        victim = (int(games.player[game]) + (action - STEAL) // 2 + 1) % variant.players
        return f"steals {PLAYERS[victim]} {ENDS[(action - STEAL) % 2]}"
    return action_name(variant, action)


def parse_action(variant: Variant, games: Games, text: str, game: int = 0) -> int:
    """Read an action of a position.

    Raises:
        ValueError: it is none that is legal there; the message says which are.
    """
    may = legal_actions(variant.rules, games, game)
    for action in may:
        if text.strip() == print_action(variant, games, action, game):
            return action
    who = PLAYERS[actor(games, game)]
    raise ValueError(
        f"{who} {shown(text.strip())} is not legal in {print_position(variant, games, game)}; legal is: "
        + ", ".join(print_action(variant, games, action, game) for action in may)
    )


def legal_actions(rules: Rules, games: Games, game: int = 0) -> list[int]:
    """The legal actions of the player who decides next, ascending; none if the game is over."""
    may = legal(rules, games, game)
    return [action for action in range(64) if may >> action & 1]


# --- games -----------------------------------------------------------------------------------------------------------------


def start_position(variant: Variant, cards: list[int], first: int) -> Games:
    """A batch of one game before its first turn.

    Raises:
        ValueError: the deal is not one of the variant.
    """
    check_deal(variant, cards, first)
    games = new_games(variant.rules, 1)
    games.draw[0] = cards[::-1]
    deal(variant.rules, games, 0, first)
    return games


def replay(game: Game) -> Iterator[Step]:
    """Play a game again, decision by decision.

    Yields:
        A `Step` for the start and for every decision; its arrays are reused by the next.

    Raises:
        ValueError: an action is not legal, or one too many; the message names decision, player and action.
    """
    variant, rules = game.variant, game.variant.rules
    games = start_position(variant, game.cards, game.first)
    outcome = new_outcome(variant.players, 1)
    streams, counters = np.array([game.stream], np.uint64), np.array([game.drawn], np.uint64)
    active, pays = np.ones(1, np.uint8), variant.reward_of_finish().astype(np.float32)
    yield Step(games, outcome, int(counters[0]))
    for number, action in enumerate(game.actions, 1):
        may = legal_actions(rules, games)
        if not may:
            raise ValueError(f"decision {number}: the game ended with decision {number - 1}")
        if action not in may:
            raise ValueError(f"decision {number}: player {PLAYERS[actor(games, 0)]} plays {action}, legal are {may}")
        actions = np.full((1, variant.players), action)
        play(rules, games, actions, active, streams, counters, pays, outcome, 0, 1)
        yield Step(games, outcome, int(counters[0]))


def print_game(game: Game) -> str:
    """A game in the notation, every turn with the position that follows, and how it ended."""
    variant = game.variant
    lines = [
        f"{variant} stream {game.stream:#018x} {game.drawn}",
        f"deal {''.join(LETTERS[kind] for kind in game.cards)} first {PLAYERS[game.first]}",
    ]
    said: list[str] = []
    stage, turns, player, games = DRAW, 0, PLAYERS[game.first], None
    for number, step in enumerate(replay(game)):
        games = step.games
        if number and (games.turns[0] != turns or games.stage[0] == OVER):
            lines.append(f"{turns + 1}. {player} {', '.join(said)} | {print_position(variant, games).partition('. ')[2]}")
            said = []
        stage, turns = int(games.stage[0]), int(games.turns[0])
        player = PLAYERS[games.player[0]]
        if number < len(game.actions):
            who = f"{PLAYERS[games.victim[0]]} " if stage == BLOCK else ""
            said.append(who + print_action(variant, games, game.actions[number]))
    if said:
        lines.append(f"{turns + 1}. {player} {', '.join(said)}")
    if stage == OVER and games is not None:
        coins = games.coins[0].tolist()
        order = sorted(range(variant.players), key=lambda p: -coins[p])
        lines.append(
            ("end " if max(coins) >= variant.coins else "end undecided ") + ", ".join(f"{PLAYERS[p]} {coins[p]}" for p in order)
        )
    return "\n".join(lines) + "\n"


def parse_game(text: str) -> Game:
    """Read a game. Positions behind the decisions and the end may be left out; if they are there, they must be right.

    Raises:
        ValueError: the text is no game, the play is illegal, or what it says of a position is not what the rules give.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip() and not line.strip().startswith("#")]
    head = re.fullmatch(r"(\S+) stream (0x[0-9a-f]{1,16}) (0|[1-9][0-9]{0,17})", lines[0]) if lines else None
    dealt = re.fullmatch(r"deal (\w{0,120}) first ([A-D])", lines[1]) if len(lines) > 1 else None
    if head is None or dealt is None:
        raise ValueError("a game begins with a line like 'sharks-2p-level2 stream 0x5f3a90c1d2e4b687 53' and a 'deal ... first A'")
    variant = parse_variant(head[1])
    game = Game(variant, int(head[2], 16), int(head[3]), parse_cards(variant, dealt[1]), _player(variant, dealt[2]), [])
    steps = replay(game)  # plays what is appended to its actions
    step = next(steps)
    for number, row in enumerate((row for row in lines[2:] if not row.startswith("end")), 1):
        turn, _, rest = row.partition("|")[0].partition(" ")
        if turn != f"{number}.":
            raise ValueError(f"turn {number} begins with '{number}.', not {shown(row)}")
        for said in rest.split(","):
            who, _, what = said.strip().partition(" ")
            if who not in PLAYERS or what == "":  # the player of the turn is named once
                who, what = PLAYERS[step.games.player[0]], said.strip()
            if step.games.stage[0] == OVER or who != PLAYERS[actor(step.games, 0)]:
                raise ValueError(f"turn {number}: {shown(said.strip())} is not what {print_position(variant, step.games)} asks for")
            game.actions.append(parse_action(variant, step.games, what))
            step = next(steps)
    for told, is_so in zip(lines, print_game(game).splitlines(), strict=False):
        if ("|" in told or told.startswith("end")) and told.split() != is_so.split():
            raise ValueError(f"the text says\n  {told[:400]}\nby the rules it is\n  {is_so}")
    if len(lines) > len(print_game(game).splitlines()):
        raise ValueError(f"the text goes on with {shown(lines[-1])}, but the game is not over")
    return game
