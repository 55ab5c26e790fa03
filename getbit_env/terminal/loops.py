"""The loops of `getbit play --terminal` and `getbit watch`: they ask, let the table play, and tell what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from getbit_env.terminal.faces import face_of
from getbit_env.terminal.screen import LeftError, Screen
from getbit_env.terminal.table import YOU, Table

WORDS = """At a question you can also say
  ask [AGENT]   what would this agent play here? By default the first of the others
  view          show the board again
  again         begin this game anew, from the same start
  help          the rules in short, and these words
  quit          leave"""
LIKELY = 0.005  # chances below are not shown


class _AgainError(Exception):
    """The person wants to begin the game anew."""


class Game:
    """A table on a screen.

    Attributes:
        table: where the game is played.
        screen: where it is shown.
    """

    table: Table
    screen: Screen

    def __init__(self, table: Table, screen: Screen) -> None:
        self.table, self.screen = table, screen
        self._face: Any = face_of(table.variant)
        self._people = [seat for seat, name in enumerate(table.names) if name == YOU]

    # --- a person plays ------------------------------------------------------------------------------------------------------

    def play(self, seed: int, start: Mapping[str, Any] | None) -> None:
        """Games of a person with agents, until the person leaves.

        Args:
            seed: of the first game; the next ones have the seeds that follow.
            start: of the first game.

        Raises:
            LeftError: the person left.
            AgentError: an agent failed.
        """
        self.screen.tell(f"You are {self._label(self._people[0])}. {self._others()}\nSay help for the rules, quit to leave.")
        while True:
            self.screen.tell(f"\nThis game has --seed {seed}.")
            self.table.begin(seed, start)
            try:
                self._play_to_the_end()
                answer = self._asked("Again from the same start (again), a new game (new), or leave (quit)?", ("again", "new"))
            except _AgainError:
                continue
            if answer == "new":
                seed, start = seed + 1, None

    def _play_to_the_end(self) -> None:
        self._show_board()
        while choosing := self.table.choosing():
            chosen = {seat: self._choice(seat) for seat in choosing if seat in self._people}
            self._advance(chosen)
            if not self._waits_for_others():
                self._show_board()
        self._show_end()

    def _waits_for_others(self) -> bool:
        """Whether the person has nothing to choose now, but the game goes on."""
        choosing = self.table.choosing()
        return bool(choosing) and not set(choosing) & {*self._people}

    def _choice(self, seat: int) -> int:
        scene, mask = self.table.scene(), self.table.mask(seat)
        if mask.sum() == 1:
            (action,) = mask.nonzero()[0].tolist()
            self.screen.tell(f"\nYou can do one thing only: {self._face.action_text(scene, seat, action)}.")
            return int(action)
        while True:
            answer = self.screen.ask("\n" + self._face.question(scene, seat, mask))
            word, _, rest = answer.partition(" ")
            if word == "ask":
                self._ask_agent(rest.strip(), seat)
            elif not self._word(word):
                try:
                    return int(self._face.parse(scene, seat, mask, answer))
                except ValueError as error:
                    self.screen.tell(str(error), "red")

    def _word(self, word: str) -> bool:
        """Do what a word asks for; whether it is one."""
        if word in ("quit", "q", "exit"):
            raise LeftError
        if word == "again":
            raise _AgainError
        if word == "view":
            self._show_board()
        elif word in ("help", "h", "?"):
            self.screen.tell(" ".join(self._face.HELP.split()))
            self.screen.show(f"\n{WORDS}")
        else:
            return False
        return True

    def _asked(self, question: str, answers: Sequence[str]) -> str:
        """The answer of a person, one of these, or its first letter."""
        while True:
            answer = self.screen.ask(f"\n{question}")
            for known in answers:
                if answer and known.startswith(answer):
                    return known
            if not self._word(answer):
                self.screen.tell(f"{answer!r} is none of {', '.join(answers)}, quit", "red")

    def _ask_agent(self, name: str, seat: int) -> None:
        name = name or next((other for other in self.table.names if other != YOU), self._face.DEFAULT_OPPONENT)
        try:
            advice = self.table.advice(name, seat)
        except (ValueError, RuntimeError) as error:
            self.screen.tell(str(error), "red")
            return
        scene = self.table.scene()
        text = f"{name} would choose: {self._face.action_text(scene, seat, advice.action)}"
        if advice.probabilities is not None:
            order = advice.probabilities.argsort()[::-1].tolist()
            likely = [(action, float(advice.probabilities[action])) for action in order[:6]]
            shown = [f"{self._face.action_text(scene, seat, action)}: {p:.0%}" for action, p in likely if p >= LIKELY]
            text += f"\n  its chances: {'; '.join(shown)}"
        self.screen.tell(text, "green")

    # --- agents play ---------------------------------------------------------------------------------------------------------

    def watch(
        self, seed: int, start: Mapping[str, Any] | None, wait: Callable[[], None], *, games: int = 1, fresh: bool = False
    ) -> None:
        """Games of agents.

        Args:
            seed: of the first game; the next ones have the seeds that follow.
            start: of the first game.
            wait: called before every round.
            games: how many.
            fresh: begin each round at the top of an empty screen.

        Raises:
            AgentError: an agent failed.
        """
        for number in range(games):
            self.table.begin(seed + number, start if number == 0 else None)
            told: list[str] = [self._others(), f"This game has --seed {seed + number}."]
            while True:
                if fresh:
                    self.screen.clear()
                self.screen.tell("\n".join(told))
                self._show_board()
                if not self.table.choosing():
                    break
                wait()
                before = self.table.scene()
                self.table.play({})
                told = self._face.story(before, self.table.scene(), self.table.names)
            self._show_end()

    # --- both ----------------------------------------------------------------------------------------------------------------

    def _advance(self, chosen: Mapping[int, int]) -> None:
        before = self.table.scene()
        self.table.play(chosen)
        self.screen.tell("\n".join(self._face.story(before, self.table.scene(), self.table.names)))

    def _show_board(self) -> None:
        scene = self.table.scene()
        viewers = self._people if self._people and self.table.choosing() else None
        self.screen.tell(f"\n{self._face.title(scene)}", "bold")
        self.screen.show(self._face.board(scene, self.table.names, viewers, self.screen))

    def _show_end(self) -> None:
        ranking = self._face.ranking(self.table.scene())
        if not ranking:
            self.screen.tell("\nNobody wins.")
            return
        listed = ", ".join(f"{place}. {self._label(seat)}" for place, seat in ranking)
        won = ranking[0][1] in self._people
        verdict = "" if not self._people else " You win!" if won else " You lose."
        self.screen.tell(f"\nThe end: {listed}.{verdict}", "bold")

    def _label(self, seat: int) -> str:
        text: str = self._face.label(self.table.variant, self.table.names, seat)
        return text

    def _others(self) -> str:
        listed = ", ".join(self._label(seat) for seat, name in enumerate(self.table.names) if name != YOU)
        return f"{'The others' if self._people else 'Players'}: {listed}."


def every(seconds: float) -> Callable[[], None]:
    """What waits so long between rounds."""
    return lambda: time.sleep(seconds)


def for_a_key(screen: Screen) -> Callable[[], None]:
    """What waits for the person to press Enter between rounds; the end of the input, or q, ends it."""

    def wait() -> None:
        if screen.ask("Enter goes on, q leaves:") in ("q", "quit"):
            raise LeftError

    return wait
