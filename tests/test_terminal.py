"""Games in a terminal: whole games of each kind, by injected lines and through a pseudo-terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from getbit_env.commands import play, watch
from getbit_env.game_registry import find_variant
from getbit_env.terminal.faces import face_of
from getbit_env.terminal.loops import Game
from getbit_env.terminal.screen import LeftError, Screen
from getbit_env.terminal.table import YOU, AgentError, Table

ROOT = Path(__file__).parent.parent
VARIANTS = (
    *("2p", "3p", "4p", "5p", "6p", "7p", "2p-memory", "3p-half-memory", "4p-memory", "7p-half", "4p-pick1", "3p-literal"),
    *("sharks-2p-level1", "sharks-4p-level1", "sharks-2p-level2", "sharks-4p-level2"),
)


def answer_to(shown: str) -> str:
    """A legal answer to the last question on a screen."""
    if shown.rstrip().endswith("Your choice:"):
        return "1"
    return " ".join(re.findall(r"holds (\d)", shown[shown.rindex("\n\n") :]))


class Person:
    """Answers questions, first with given lines; leaves after a number of games."""

    def __init__(self, *lines: str, games: int = 1, ascii_only: bool = False) -> None:
        self.out = io.StringIO()
        self.lines, self.games = list(lines), games
        self.screen = Screen(self.out, self.read, ascii_only=ascii_only)

    def read(self) -> str:
        if self.lines:
            answer = self.lines.pop(0)
        elif self.shown.rstrip().endswith("leave (quit)?"):
            self.games -= 1
            if not self.games:
                return ""
            answer = "again"
        else:
            answer = answer_to(self.shown)
        self.out.write(f"{answer}\n")  # as a terminal echoes it
        return f"{answer}\n"

    @property
    def shown(self) -> str:
        return self.out.getvalue()


def opponents(variant: str, *names: str) -> list[str]:
    chosen = find_variant(variant)
    return play.seated(names or [face_of(chosen).DEFAULT_OPPONENT], chosen.players - 1, "--against")


def played(variant: str, person: Person, *names: str, seat: int = 0, seed: int = 5) -> str:
    """All that a person saw."""
    others = opponents(variant, *names)
    table = Table(find_variant(variant), [*others[:seat], YOU, *others[seat:]])
    with pytest.raises(LeftError):
        Game(table, person.screen).play(seed, None)
    return person.shown


# --- whole games -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_whole_game_of_every_kind(variant: str, ascii_only: bool) -> None:
    shown = played(variant, Person(ascii_only=ascii_only), seat=1)
    assert re.search(r"The end: 1\. .*You\s+(win!|lose\.)", shown, re.DOTALL)
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.isascii() is ascii_only or variant.startswith("sharks")
    assert "\x1b" not in shown


HIDDEN = {  # rows of other players: the robot or player, its limbs or run, and no more than how many cards it has
    "random": re.compile(r"(front|out  |     ) \w +random +[●○]+ +(\d( tied)?)? +\d cards( +\d down)?( +(bitten|place \d|, )*)?"),
    "sharks-random": re.compile(r"[→ ] [A-D] sharks-random +\d/5 +([0-9S.] ?){9,10} +\d cards(, [0-9SOD ]+ among them)?"),
}


@pytest.mark.parametrize("variant", ["4p-memory", "3p-half-memory", "sharks-3p-level2"])
def test_hidden_cards_are_not_shown_before_the_end(variant: str) -> None:
    name = "sharks-random" if variant.startswith("sharks") else "random"
    shown = played(variant, Person(), name)
    *before, end = re.split(r"\n(?=Get Bit! |Sharks are Wild )", shown)
    assert len(before) > 5
    for board in before[1:]:
        rows = [
            line for line in board.splitlines() if re.match(rf"(front|out|→)? +\w (\w )?{name}|.. \w {name}|.{{6}}\w +{name}", line)
        ]
        assert len(rows) in (2, 3, 4)
        for row in rows:
            assert HIDDEN[name].fullmatch(row), row
    rows = [line for line in end.splitlines() if f" {name} " in line]
    assert not any(HIDDEN[name].fullmatch(row) for row in rows), "when the game is over, all is shown"


def test_the_face_up_game_shows_all_hands() -> None:
    assert "cards" not in played("4p", Person("quit"), "random").partition("after round 1")[2]


def test_the_same_start_again_is_the_same_game() -> None:
    for variant in ("4p", "sharks-2p-level2"):
        first, second = re.split(r"\nThis game has --seed 5\.\n", played(variant, Person(games=2)))[1:]
        assert first.removesuffix(" ") in second + "\n" or first.split("Again from")[0] == second.split("Again from")[0]


def test_a_new_game_is_another_one() -> None:
    shown = played("4p", Person(games=1))
    table = Table(find_variant("4p"), ["counter"] * 4)
    table.begin(5)
    first = table.scene()
    table.begin(6)
    assert table.scene() != first
    assert "--seed 5" in shown


def test_what_was_decided_follows_from_the_seed_and_the_answers() -> None:
    assert played("4p", Person(), "random") == played("4p", Person(), "random")
    assert played("4p", Person(), "random") != played("4p", Person(), "random", seed=6)


def test_who_is_out_looks_on() -> None:
    for seed in range(40):
        shown = played("7p", Person(), "random", seed=seed)
        rest = shown[shown.rindex("Your card") :]
        if rest.count("all cards at once") > 1:
            assert "The end" in rest
            return
    raise AssertionError("in no game somebody went out early")


# --- answers -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "answer", "said"),
    [
        ("4p", "9", "A holds 1 2 3 4 5, not 9"),
        ("4p", "1 2", "'1 2' is not a card, such as 3"),
        ("4p", "", "'' is not a card, such as 3"),
        ("4p", "hlep", "'hlep' is not a card, such as 3; did you mean 'help'?"),
        ("2p", "3", "'3' is not two cards, such as 3 5: first that of the robot nearer the front"),
        ("2p", "7 1", "holds 1 2 3 4 5, not 7"),
        ("sharks-2p-level2", "99", "'99' is no number from 1 to"),
        ("4p", "ask nobody", "no agent 'nobody'"),
        ("4p", "ask two_players", "two_players was trained on 2p"),
    ],
)
def test_a_wrong_answer_is_asked_again(variant: str, answer: str, said: str) -> None:
    shown = played(variant, Person(answer, "quit"))
    assert said in shown
    assert shown.count("Your c") == 2


def test_two_cards_go_to_the_robots_from_front_to_back() -> None:
    shown = played("2p", Person("25", "quit"))
    front, back = re.findall(r"(\w) holds", shown)[:2]
    assert re.search(rf"Round 1, all cards at once: .*{front} 2.*{back} 5", shown)


def test_what_an_agent_would_play_is_told_with_its_chances() -> None:
    shown = played("4p", Person("ask highest", "ask", "view", "help", "quit"))
    assert "highest would choose: 5\n  its chances: 5: 100%" in shown
    assert "counter would choose: " in shown
    assert "its table back" in shown
    shown = played("4p-memory", Person("1", "2", "ask counter", "quit"))
    assert re.search(r"counter would choose: [345]\n", shown), "it remembers what it would have seen"
    shown = played("2p", Person("ask two_players", "quit"))
    assert re.search(r"two_players would choose: \w \d, \w \d\n  its chances: \w \d, \w \d: \d+%", shown)


def test_asking_changes_nothing() -> None:
    asked = played("4p-memory", Person("ask counter", "1", "ask", "2"), "random")
    assert re.sub(r"(?m)^.*(would choose|its chances).*\n", "", asked).count("would") == 0
    story = re.compile(r"(?m)^Round .*$")
    assert story.findall(asked) == story.findall(played("4p-memory", Person("1", "2"), "random"))


def test_an_agent_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent_that_breaks.py").write_text(
        "class Agent:\n"
        "    def reset(self, layout, begins, seed): pass\n"
        "    def act(self, observation, action_mask): raise OSError('gone')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    table = Table(find_variant("4p"), ["agent_that_breaks:Agent"] * 4)
    with pytest.raises(AgentError, match=r"agent agent_that_breaks:Agent failed: OSError: gone"):
        Game(table, Person().screen).watch(0, None, lambda: None)


# --- agents alone ------------------------------------------------------------------------------------------------------------


def test_watching_shows_every_round_and_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["counter", "random", "--players", "4", "--seed", "3", "--start", "CADB"]
    assert watch.main(arguments, "getbit watch") == 0
    shown = capsys.readouterr().out
    rounds = [int(number) for number in re.findall(r"^Round (\d+),", shown, re.MULTILINE)]
    assert rounds == list(range(1, rounds[-1] + 1))
    assert re.findall(r"^(?:front|     ) (\w) ", shown, re.MULTILINE)[:4] == list("CADB")
    assert "The end: 1. " in shown
    assert watch.main(arguments, "getbit watch") == 0
    assert capsys.readouterr().out == shown
    assert watch.main([*arguments, "--games", "2"], "getbit watch") == 0
    two = capsys.readouterr().out
    assert two.startswith(shown)
    assert "--seed 4" in two


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random", "--players", "9"], "players is 2 to 7"),
        (["random", "random", "random", "--players", "2"], "AGENT names 3 agents for 2 seats"),
        (["nobody"], "no agent 'nobody'"),
        (["random", "--start", "ABCC"], "--start: a starting line of 4p holds each of the robots"),
        (["random", "--start", "ABCX"], "--start: no robot 'X' in 4p"),
        (["sharks-random", "--variant", "sharks-2p-level1", "--start", "AB"], "--seed fixes the deal"),
        (["random", "--seed", "-1"], "--seed is a whole number from 0 on, not -1"),
        (["random", "--delay", "-1"], "'-1' is no number of seconds from 0 to 3600"),
        (["random", "--delay", "nan"], "'nan' is no number of seconds"),
        (["random", "--delay", "1", "--step"], "not allowed with argument"),
    ],
)
def test_watch_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        watch.main(arguments, "getbit watch")
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seat", "4"], "--seat is 0 to 3 in 4p, not 4"),
        (["--against", "random", "random", "random", "random"], "--against names 4 agents for 3 seats"),
        (["--against", "sharks-greedy"], "plays Sharks are Wild"),
    ],
)
def test_play_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        play.main(["--terminal", *arguments], "getbit play")
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


# --- terminals ---------------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A terminal of some encoding."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # writable in the base
        return self._encoding

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "cp437"])
def test_a_terminal_that_can_t_show_signs_gets_ascii(encoding: str) -> None:
    out = Terminal(encoding)
    screen = Screen(out, lambda: "")
    assert screen.ascii
    screen.show("●●○ → …")
    assert out.getvalue() == "##. -> ...\n"


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_are_left_out_where_they_are_not_wanted(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Screen(Terminal("utf-8"), lambda: "").color
    monkeypatch.setenv(variable, value)
    screen = Screen(Terminal("utf-8"), lambda: "")
    assert not screen.color
    assert screen.painted("a", "red") + screen.of_player("b", 1) == "ab"


def through_a_terminal(arguments: list[str], answer: Callable[[str], str | None], **environment: str) -> tuple[str, int]:
    """What a command shows in a pseudo-terminal, and its exit code; `answer` gives the answer to what is shown, or None to wait."""
    main, other = pty.openpty()
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment}
    variables = {key: value for key, value in variables.items() if value}
    process = subprocess.Popen(
        [sys.executable, "-m", "getbit_env", *arguments], cwd=ROOT, env=variables, stdin=other, stdout=other, stderr=other
    )
    os.close(other)
    shown, answered, until = b"", 0, time.monotonic() + 120
    try:
        while time.monotonic() < until:
            ready, _, _ = select.select([main], [], [], 0.2)
            if ready:
                try:
                    read = os.read(main, 65536)
                except OSError:  # the other end is closed
                    break
                shown += read
            elif process.poll() is not None:
                break
            said = answer(shown[answered:].decode("utf-8", "replace").replace("\r\n", "\n"))
            if said is not None:
                answered = len(shown)
                os.write(main, f"{said}\n".encode())
    finally:
        process.kill()
        os.close(main)
    return shown.decode("utf-8", "replace").replace("\r\n", "\n"), process.wait()


def as_a_person(shown: str) -> str | None:
    if shown.endswith("leave (quit)? "):
        return "quit"
    return (
        answer_to(shown)
        if shown.endswith(("Your choice: ", "Your card: ")) or re.search(r"cards for \w and \w: $", shown)
        else None
    )


@pytest.mark.parametrize(
    "arguments", [["--players", "2", "--against", "lowest"], ["--variant", "sharks-2p-level2", "--against", "sharks-greedy"]]
)
def test_a_game_through_a_terminal(arguments: list[str]) -> None:
    shown, code = through_a_terminal(["play", "--terminal", "--seed", "1", *arguments], as_a_person, NO_COLOR="")
    assert code == 0
    assert "\x1b[38;5;" in shown
    assert re.search(r"The end: 1\. .*You (win|lose)!", shown) or "You lose." in shown
    assert shown.removesuffix("\x1b[0m").endswith("Bye.\n")  # colorama, where something imports it, resets colours at the end


def test_a_terminal_of_another_encoding_shows_ascii() -> None:
    arguments = ["play", "--terminal", "--players", "2", "--against", "lowest", "--seed", "1"]
    shown, code = through_a_terminal(arguments, as_a_person, PYTHONIOENCODING="cp1252", NO_COLOR="1")
    assert code == 0
    assert "####" in shown
    assert shown.isascii()


def test_watching_step_by_step_ends_when_the_person_leaves() -> None:
    answers = iter(["", "", "q"])
    shown, code = through_a_terminal(
        ["watch", "counter", "--seed", "1", "--step"], lambda shown: next(answers, None) if shown.endswith("leaves: ") else None
    )
    assert code == 0
    assert "after round 2" in shown
    assert "after round 3" not in shown
