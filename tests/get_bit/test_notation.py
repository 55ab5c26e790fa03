"""Positions and games as people write them, and the golden games."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getbit_env.get_bit.notation import (
    Game,
    cards_of,
    mask_of,
    parse_game,
    parse_position,
    print_game,
    print_position,
    replay,
    robot_name,
    robot_number,
    start_position,
)
from getbit_env.get_bit.rules import Games
from getbit_env.get_bit.variants import parse_variant
from tests.get_bit.make_golden import DIGESTS, GOLDEN, NOTE, TRANSCRIPTS, digest, random_game, title, transcript
from tests.get_bit.play import MANY_VARIANTS, table_at

# --- positions -------------------------------------------------------------------------------------------------------------


def test_a_position_is_read_as_it_is_described():
    games = parse_position(parse_variant("4p"), "3. C4:12345 A2:135/24 B3:1345/2 ~ D0:12/345")
    assert games.rounds.tolist() == [3]
    assert games.place[:, 0].tolist() == [1, 2, 0, 3]
    assert games.limbs[:, 0].tolist() == [2, 3, 4, 0]
    assert games.hand[:, 0].tolist() == [0b10101, 0b11101, 0b11111, 0b00011]
    assert not games.played.any()


def test_spaces_and_the_order_of_cards_are_free():
    variant = parse_variant("4p")
    games = parse_position(variant, "  3.   C4:54321 A2:531/42\tB3:1345/2 ~ D0:/54321 ")
    assert print_position(variant, games) == "3. C4:12345 A2:135/24 B3:1345/2 ~ D0:/12345"


def test_a_position_can_be_printed_without_its_round_and_with_tables_in_order():
    variant = parse_variant("4p")
    games = parse_position(variant, "3. C4:12345 A2:135/24 B3:1345/2 ~ D0:12/345")
    text = print_position(variant, games, rounds=False, tables=[[4, 2], [2], [], [5, 3, 4]])
    assert text == "C4:12345 A2:135/42 B3:1345/2 ~ D0:12/534"


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("4p", "", "begins with the number of rounds played, as in '3.', not ''"),
        ("4p", "C4:12345 A2:135/24", "begins with the number of rounds played"),
        ("4p", "3 C4:12345", "begins with the number of rounds played"),
        ("4p", "16. A1:12345 B1:12345 C1:12345 D1:12345", "'16.': a game of 4p takes at most 15 rounds"),
        ("4p", "3. A1:12345 B1:12345 C1:12345", "has 3 robots, 4p has 4"),
        ("4p", "3. A1:12345 B1:12345 C1:12345 A1:12345", "robot A stands twice"),
        ("4p", "3. A1:12345 B1:12345 C1:12345 E1:12345", "no robot 'E' in 4p: it has A B C D"),
        ("4p", "3. A1:12345 a1:12345 C1:12345 D1:12345", "no robot 'a' in 4p"),
        ("2p", "3. A1:12345 C1:12345 B1:12345 b1:12345", "no robot 'C' in 2p: it has A a B b"),
        ("4p", "3. A1:12345 B1:1234 C1:12345 D1:12345", "'B1:1234': hand and table hold each of the cards 1-5 once"),
        ("4p", "3. A1:12345 B1:1234/45 C1:12345 D1:12345", "'B1:1234/45': hand and table hold each of the cards 1-5 once"),
        ("4p", "3. A1:12345 B1:123456 C1:12345 D1:12345", "'B1:123456': hand and table hold each"),
        ("4p", "3. A1:12345 B1:12/345 C1:12345 D1:12345", "'B1:12/345': a hand down to 2 takes its table back"),
        ("4p-pick1", "3. A1:12345 B1:1/2345 C1:12345 D1:12345", "a hand down to 1 takes"),
        ("4p", "3. A1:12345 B5:12345 C1:12345 D1:12345", "'B5:12345': in the line .* a robot has 1-4 bites left, behind it 0"),
        ("4p", "3. A1:12345 B0:12345 C1:12345 D1:12345", "'B0:12345': in the line"),
        ("4p", "3. A1:12345 B1:12345 C1:12345 ~ D1:12345", "'D1:12345': in the line"),
        ("4p", "3. A1:12345 ~ B0:12345 C0:12345 D0:12345", "has 1 in the line, a game of 4p ends with 2"),
        ("2p", "7. A1:12345 B1:12345 ~ a0:12345 b0:12345", "has 2 in the line, a game of 2p ends with 3"),
        ("4p", "3. A1:12345 B1:12345 ~ C0:12345 ~ D0:12345", "'~' is no robot of a position, as in A4:135/24"),
        ("4p", "3. A1:12345 B1:12345 C1-12345 D1:12345", "'C1-12345' is no robot of a position"),
        ("4p", "3. A1:12345 B1:12345 C1:12345/ D1:12345", "'C1:12345/' is no robot of a position"),
        ("4p", "3. A1:12345 B1:12345 C:12345 D1:12345", "'C:12345' is no robot of a position"),
        ("4p", "03. A1:12345 B1:12345 C1:12345 D1:12345", "begins with the number of rounds played"),
        ("4p", "٣. A1:12345 B1:12345 C1:12345 D1:12345", "begins with the number of rounds played"),
        ("4p", "3. A01:12345 B1:12345 C1:12345 D1:12345", "'A01:12345' is no robot of a position"),
        ("4p", "3. A\u0661:12345 B1:12345 C1:12345 D1:12345", "'A\u0661:12345' is no robot of a position"),
        ("4p", "3. A1:123٤5 B1:12345 C1:12345 D1:12345", "'A1:123٤5' is no robot of a position"),
        ("4p", "3. A1:" + "1" * 100_000, "is no robot of a position"),
        ("4p", "3." + " A1:12345" * 50_000, "has 50000 robots, 4p has 4"),
        ("4p", "9" * 5000 + ".", "begins with the number of rounds played"),
    ],
)
def test_what_is_no_position_is_refused_with_what_is_wrong(name, text, error):
    with pytest.raises(ValueError, match=error) as refusal:
        parse_position(parse_variant(name), text)
    assert len(str(refusal.value)) < 400


@settings(max_examples=60)
@given(st.sampled_from(MANY_VARIANTS), st.integers(0, 10_000))
def test_positions_of_random_games_are_read_as_they_were_printed(name, seed):
    variant = parse_variant(name)
    for step in replay(random_game(name, seed)):
        text = print_position(variant, step.games)
        games = parse_position(variant, text)
        for field in set(Games._fields) - {"played"}:
            np.testing.assert_array_equal(getattr(games, field), getattr(step.games, field))
        assert print_position(variant, games) == text


def test_names_of_robots():
    assert [robot_name(parse_variant("3p"), r) for r in range(6)] == ["A", "a", "B", "b", "C", "c"]
    assert [robot_name(parse_variant("7p"), r) for r in range(7)] == list("ABCDEFG")
    for name in ("2p", "3p", "3p-1r", "7p"):
        variant = parse_variant(name)
        assert [robot_number(variant, robot_name(variant, r)) for r in range(variant.robots)] == list(range(variant.robots))


def test_cards_and_masks():
    assert cards_of(0b1010001) == [1, 5, 7]
    assert mask_of([7, 1, 5]) == 0b1010001
    assert [mask_of(cards_of(mask)) for mask in range(128)] == list(range(128))


@pytest.mark.parametrize(
    "line",
    [
        *([0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4], []),
        *([0.0, 1.0, 2.0, 3.0], ["0", "1", "2", "3"], [False, True, 2, 3], [{0}, {1}, {2}, {3}], [None] * 4),
    ],
)
def test_a_starting_line_holds_every_robot_once(line):
    with pytest.raises(ValueError, match=r"a starting line of 4p holds each of the robots 0\.\.3 once, front to back, not \["):
        start_position(parse_variant("4p"), line)


# --- games -----------------------------------------------------------------------------------------------------------------

GAME = """\
3p-1r-4c-1l B C A
1. A4 B2 C2 | A1:123/4 B1:134/2 C1:134/2
2. A1 B4 C3 | B1:1234 C1:1234 ~ A0:23/41
end B 1, C 2, A 3
"""


def test_a_game_is_read_and_printed():
    game = parse_game(GAME)
    assert game == Game(parse_variant("3p-1r-4c-1l"), [1, 2, 0], [[4, 2, 2], [1, 4, 3]])
    assert print_game(game) == GAME


def test_positions_the_end_and_comments_are_optional():
    brief = "# a game\n3p-1r-4c-1l B C A\n\n1. A4 B2 C2\n  # the last round\n2. C3 B4 A1\n"
    assert print_game(parse_game(brief)) == GAME


def test_an_unfinished_game_has_no_end():
    unfinished = "".join(GAME.splitlines(keepends=True)[:2])
    assert print_game(parse_game(unfinished)) == unfinished
    assert print_game(parse_game("4p A B C D")) == "4p A B C D\n"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (GAME, "", "begins with its variant and starting line, as in '4p C A D B'; this text is empty"),
        (GAME, "# nothing\n", "this text is empty"),
        ("3p-1r-4c-1l", "3q", "no variant '3q'"),
        ("l B C A", "l B C", r"holds each of the robots 0\.\.2 once"),
        ("l B C A", "l B C D", "no robot 'D' in 3p-1r-4c-1l: it has A B C"),
        ("2. A1", "3. A1", "round 2 begins with '2.', not '3. A1"),
        ("A4 B2", "A4 Bx", "round 1: 'Bx' is no robot and card, as in A5"),
        ("A4 B2", "A4 b2", "no robot 'b'"),
        ("A4 B2", "A4 A2", "round 1: robot A plays twice"),
        ("A4 B2", "A4", "round 1: robot B plays nothing, its hand is 1234"),
        ("A4 B2", "A5 B2", "round 1: robot A plays 5, its hand is 1234"),
        ("A1 B4", "A4 B4", "round 2: robot A plays 4, its hand is 123"),
        ("A1:123/4 B1", "A2:123/4 B1", r"the text says\n  1\. A4 .*A2:.*\nby the rules it is\n  1\. A4 .*A1:"),
        ("A1:123/4 B1:134/2", "B1:134/2 A1:123/4", "the text says"),
        ("end B 1, C 2", "end C 1, B 2", r"the text says\n  end C 1, B 2, A 3\nby the rules it is\n  end B 1, C 2, A 3"),
        ("end B 1, C 2, A 3\n", "3. B1 C2\n", "round 3: the game ended in round 2"),
        ("2. A1 B4 C3 | B1:1234 C1:1234 ~ A0:23/41\n", "", "goes on with 'end B 1, C 2, A 3', but the game is not over"),
        ("end B 1, C 2, A 3\n", "end B 1, C 2, A 3\nend B 1, C 2, A 3\n", "the text goes on with 'end"),
    ],
)
def test_what_is_no_game_is_refused_with_what_is_wrong(old, new, error):
    assert old in GAME
    with pytest.raises(ValueError, match=error):
        parse_game(GAME.replace(old, new, 1))


@settings(max_examples=60)
@given(st.sampled_from(MANY_VARIANTS), st.integers(0, 10_000))
def test_random_games_are_read_as_they_were_printed(name, seed):
    game = random_game(name, seed)
    text = print_game(game)
    assert parse_game(text) == game
    assert print_game(parse_game(text)) == text


@settings(max_examples=60)
@given(st.sampled_from(MANY_VARIANTS), st.integers(0, 10_000))
def test_replayed_tables_are_in_the_order_played(name, seed):
    game = random_game(name, seed)
    table = None
    for number, step in enumerate(replay(game)):
        if table is None:
            table = table_at(game.variant, step.games, 0)
        else:
            table.play({robot: card for robot, card in enumerate(game.cards[number - 1]) if card})
        assert step.tables == [robot.table for robot in table.robots]
    assert table.over


# --- golden games ----------------------------------------------------------------------------------------------------------


def test_golden_files_are_those_that_the_command_makes():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(TRANSCRIPTS)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_golden_game_replays_to_the_byte(name):
    text = (GOLDEN / f"{name}.txt").read_text()
    comment, _, game = text.partition("\n")
    assert print_game(parse_game(text)) == game
    assert comment.startswith("# ")
    assert transcript(name) == text  # also the line and the choices


def test_the_golden_game_of_the_literal_ending_is_one_in_which_it_matters():
    game = parse_game((GOLDEN / "3p-literal.txt").read_text())
    *_, end = print_game(game).splitlines()
    assert end == "end A 1, B 2, C 3"
    *_, end = print_game(game._replace(variant=parse_variant("3p"))).splitlines()
    assert end == "end B 1, C 2, A 3"


@pytest.mark.parametrize(("name", "options"), DIGESTS, ids=[title(*entry) for entry in DIGESTS])
def test_a_thousand_games_show_what_they_always_showed(name, options):
    golden = json.loads((GOLDEN / "digests.json").read_text())
    assert golden["sha256"].keys() == {title(*entry) for entry in DIGESTS}
    assert digest(name, options) == golden["sha256"][title(name, options)], NOTE
