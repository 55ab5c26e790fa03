"""The rules, clause by clause, in the order of docs/rules.md. Every expected position was worked out by hand."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from getbit_env.get_bit.notation import Game, parse_position, print_game, print_position, replay, start_position
from getbit_env.get_bit.rules import play_round
from getbit_env.get_bit.variants import parse_variant, standard_variant
from tests.get_bit.play import fresh, play

clause = pytest.mark.clause
ROOT = Path(__file__).parents[2]


def line_after_first_round(name: str, line: str, cards: str) -> str:
    variant = parse_variant(name)
    start = start_position(
        variant, ["AaBbCc".index(r) if variant.robots_per_player == 2 else "ABCDEFG".index(r) for r in line.split()]
    )
    after = play(name, print_position(variant, start), cards)
    assert after.bitten is None
    return " ".join(robot[0] for robot in after.position.split()[1:])


# --- G1 set-up -------------------------------------------------------------------------------------------------------------


@clause("G1.1", "G1.3")
@pytest.mark.parametrize(
    ("players", "start"),
    [
        (2, "0. A4:12345 a4:12345 B4:12345 b4:12345"),
        (3, "0. A4:1234567 a4:1234567 B4:1234567 b4:1234567 C4:1234567 c4:1234567"),
        (4, "0. A4:12345 B4:12345 C4:12345 D4:12345"),
        (5, "0. A4:123456 B4:123456 C4:123456 D4:123456 E4:123456"),
        (6, "0. A4:1234567 B4:1234567 C4:1234567 D4:1234567 E4:1234567 F4:1234567"),
        (7, "0. A4:1234567 B4:1234567 C4:1234567 D4:1234567 E4:1234567 F4:1234567 G4:1234567"),
    ],
)
def test_the_set_up_of_the_table(players, start):
    variant = standard_variant(players)
    assert print_position(variant, start_position(variant, list(range(variant.robots)))) == start


@clause("G1.1", "G2.2")
def test_two_robots_of_one_player_have_two_hands():
    after = play("2p", "0. A4:12345 a4:12345 B4:12345 b4:12345", "A1 a2 B3 b4")
    assert after.position == "1. b4:1235/4 B4:1245/3 a4:1345/2 A4:2345/1"


# --- G2 choose -------------------------------------------------------------------------------------------------------------


@clause("G2.1")
@pytest.mark.parametrize(
    ("second_round", "error"),
    [
        ([5, 1, 2, 3], "round 2: robot A plays 5, its hand is 1234"),
        ([0, 1, 2, 3], "round 2: robot A plays nothing, its hand is 1234"),
        ([6, 1, 2, 3], "round 2: robot A plays 6, its hand is 1234"),
        ([1, 2, 3], "round 2: 3 cards for 4 robots"),
    ],
)
def test_every_robot_plays_a_card_of_its_hand(second_round, error):
    game = Game(parse_variant("4p"), [0, 1, 2, 3], [[5, 4, 3, 2], second_round])
    with pytest.raises(ValueError, match=error):
        list(replay(game))


@clause("G2.1", "G4.4")
def test_a_robot_that_is_out_plays_nothing():
    game = Game(parse_variant("4p-1l"), [0, 1, 2, 3], [[5, 4, 3, 2], [4, 3, 2, 1], [1, 2, 4, 5]])
    with pytest.raises(ValueError, match="round 3: robot D is out and plays 5"):
        list(replay(game))


@clause("G2.2")
def test_played_cards_lie_on_the_table_in_the_order_played():
    game = print_game(Game(parse_variant("4p"), [0, 1, 2, 3], [[5, 5, 5, 5], [2, 3, 4, 1], [3, 2, 1, 5]]))
    assert game.splitlines()[1:] == [
        "1. A5 B5 C5 D5 | A4:1234/5 B4:1234/5 C4:1234/5 D4:1234/5",
        "2. A2 B3 C4 D1 | D3:12345 C4:123/54 B4:124/53 A4:134/52",
        "3. A3 B2 C1 D5 | C3:12345 D3:1234/5 A4:12345 B4:12345",
    ]


# --- G3 move ---------------------------------------------------------------------------------------------------------------


@clause("G3.1", "G3.2", "G3.3")
@pytest.mark.parametrize(
    ("name", "line", "cards", "after"),
    [
        pytest.param("4p", "C A D B", "A1 B2 C3 D4", "D C B A", id="all untied"),
        pytest.param("4p", "C A D B", "A4 B3 C2 D1", "A B C D", id="all untied, the other way"),
        pytest.param("4p", "C A D B", "A5 B3 C3 D1", "A D C B", id="two tied"),
        pytest.param("4p", "B A D C", "A5 B3 C3 D1", "A D B C", id="tied robots keep their order"),
        pytest.param("4p", "C A D B", "A1 B4 C4 D2", "D A C B", id="two tied with the highest number"),
        pytest.param("4p", "C A D B", "A1 B3 C5 D1", "C B A D", id="two tied with the lowest number"),
        pytest.param("4p", "C A D B", "A2 B2 C2 D1", "D C A B", id="three tied, the lowest number leads"),
        pytest.param("4p", "C A D B", "A2 B2 C2 D2", "C A D B", id="all tied"),
        pytest.param("4p", "C A D B", "A1 B4 C4 D1", "C A D B", id="two pairs"),
        pytest.param("5p", "E D C B A", "A6 B6 C1 D1 E3", "E D C B A", id="two pairs, the one in front is untied"),
        pytest.param("5p", "D C B A E", "A6 B6 C1 D1 E3", "E D C B A", id="two pairs, the one at the back is untied"),
        pytest.param("7p", "A B C D E F G", "A4 B7 C4 D1 E7 F7 G2", "G D A B C E F", id="a pair and a triple"),
        pytest.param("2p", "A B a b", "A1 a4 B3 b2", "a B b A", id="two robots each"),
    ],
)
def test_untied_robots_lead_by_descending_number_and_tied_ones_stay(name, line, cards, after):
    assert line_after_first_round(name, line, cards) == after


@clause("G3.1")
@pytest.mark.parametrize(("cards", "after"), [("A5 a5 B1 b2", "b B A a"), ("A5 a1 B5 b1", "A B a b"), ("A5 a5 B5 b1", "b A B a")])
def test_robots_of_one_player_tie_with_each_other_too(cards, after):
    assert line_after_first_round("2p", "A B a b", cards) == after


@clause("G3.1")
def test_robots_that_are_out_tie_nobody():
    position = "9. A2:12345 B1:12345 C2:12345 D1:12345"
    with_tie = play("4p", position, "A5 B4 C2 D5")
    assert with_tie.position == "10. B1:1235/4 C2:1345/2 A2:1234/5 ~ D0:1234/5"
    # D's 5 of the round before is no card of this one: B is alone with its 5 and leads.
    after = play("4p", position, "A5 B4 C2 D5", "A1 B5 C3")
    assert after.position == "11. A1:12345 B1:123/45 C2:145/23 ~ D0:1234/5"
    assert after.bitten == "A"


# --- G4 get bit ------------------------------------------------------------------------------------------------------------


@clause("G4.1")
def test_nobody_is_bitten_in_the_first_round():
    after = play("4p", "0. A4:12345 B4:12345 C4:12345 D4:12345", "A4 B3 C2 D1")
    assert after.position == "1. A4:1235/4 B4:1245/3 C4:1345/2 D4:2345/1"
    assert after.bitten is None


@clause("G4.1")
def test_nobody_is_bitten_in_the_first_round_even_if_it_would_be_the_last_limb():
    after = play("4p-1l", "0. A1:12345 B1:12345 C1:12345 D1:12345", "A4 B3 C2 D1")
    assert after.position == "1. A1:1235/4 B1:1245/3 C1:1345/2 D1:2345/1"
    assert (after.over, after.finish) == (False, {})


@clause("G4.2", "G4.3")
def test_in_the_second_round_the_robot_at_the_back_is_bitten_and_moves_to_the_front_with_all_its_cards():
    after = play("4p", "1. A4:1235/4 B4:1245/3 C4:1345/2 D4:2345/1", "A1 B2 C3 D4")
    assert after.position == "2. A3:12345 D4:235/14 C4:145/23 B4:145/23"
    assert after.bitten == "A"


@clause("G4.2")
def test_the_robot_at_the_back_can_be_a_tied_one():
    after = play("4p", "1. A4:1235/4 B4:1245/3 C4:1345/2 D4:2345/1", "A5 B1 C5 D5")
    # B is alone with its 1, the lowest number of all, and yet leads; D, last of the tied, is bitten.
    assert after.position == "2. D3:12345 B4:245/13 A4:123/45 C4:134/25"


@clause("G4.2", "G4.3")
def test_the_robot_in_front_before_the_move_can_be_bitten():
    after = play("4p", "5. A2:12345 B4:1245/3 C4:1345/2 D4:2345/1", "A1 B2 C3 D4")
    assert after.position == "6. A1:12345 D4:235/14 C4:145/23 B4:145/23"


@clause("G4.2")
def test_half_a_limb_in_the_longer_game():
    assert parse_variant("4p-half").limbs == 8
    after = play("4p-half", "1. A8:1235/4 B8:1245/3 C8:1345/2 D8:2345/1", "A1 B2 C3 D4")
    assert after.position == "2. A7:12345 D8:235/14 C8:145/23 B8:145/23"
    after = play("4p-half", "9. A4:1235/4 B1:1245/3 C8:1345/2 D1:2345/1", "A1 B2 C3 D4")
    assert (after.bitten, after.finish) == ("A", {})  # with four halves left a robot is not out


@clause("G4.4")
def test_the_last_limb_puts_a_robot_out_at_once():
    after = play("5p", "9. A1:123456 B4:12346/5 C3:13456/2 D2:2456/13 E1:12456/3", "A1 B2 C3 D4 E5")
    # A was at the front, falls to the back and is out from there, without its card; nobody else is touched.
    assert after.position == "10. E1:1246/35 D2:256/134 C3:1456/23 B4:1346/25 ~ A0:23456/1"
    assert (after.bitten, after.over, after.finish) == ("A", False, {"A": 5})


@clause("G4.4", "G5.1")
def test_a_robot_that_goes_out_takes_no_card_back_with_however_few_cards():
    after = play("4p", "9. A4:12345 B4:12345 C4:12345 D1:123/45", "A4 B3 C2 D1")
    assert after.position == "10. A4:1235/4 B4:1245/3 C4:1345/2 ~ D0:23/145"


@clause("G4.4", "G6.1")
def test_robots_that_are_out_lie_behind_the_line_the_last_one_first():
    after = play("6p-1l", "2. A1:1234567 B1:1234567 C1:1234567 D1:1234567 E1:1234567 ~ F0:123456/7", "A5 B4 C3 D2 E1")
    assert after.position == "3. A1:123467/5 B1:123567/4 C1:124567/3 D1:134567/2 ~ E0:234567/1 F0:123456/7"
    assert after.finish == {"E": 5}


# --- G5 take cards back ----------------------------------------------------------------------------------------------------


@clause("G5.1", "G5.3")
def test_a_hand_down_to_two_cards_takes_its_table_back_the_card_just_played_included():
    after = play("4p", "4. A4:345/12 B4:2345/1 C4:12345 D4:145/23", "A5 B4 C3 D1")
    # A is down to 3 4 and takes all back, B keeps three and C four, D is bitten and takes back for that reason.
    assert after.position == "5. D3:12345 A4:12345 B4:235/14 C4:1245/3"


@clause("G5.2")
def test_at_one_card_as_an_option():
    after = play("4p-pick1", "4. A4:345/12 B4:25/134 C4:12345 D4:145/23", "A5 B2 C3 D1")
    # A keeps two cards and takes nothing back; B is down to one and does.
    assert after.position == "5. D3:12345 A4:34/125 C4:1245/3 B4:12345"


@clause("G5.1")
def test_every_robot_by_itself_also_where_one_player_owns_two():
    after = play("2p", "4. A4:345/12 a4:2345/1 B4:12345 b4:12345", "A5 a4 B3 b1")
    assert after.position == "5. b3:12345 A4:12345 a4:235/14 B4:1245/3"


@clause("G5.1")
def test_in_the_first_round_as_well():
    after = play("4p-3c", "0. A4:123 B4:123 C4:123 D4:123", "A3 B2 C1 D3")
    assert after.position == "1. B4:123 C4:123 A4:123 D4:123"
    after = play("4p-2c-pick1", "0. A4:12 B4:12 C4:12 D4:12", "A2 B2 C1 D2")
    assert after.position == "1. C4:12 A4:12 B4:12 D4:12"


@clause("G5.1")
@pytest.mark.parametrize("players", range(2, 8))
def test_in_the_first_round_of_the_standard_decks_it_can_not_happen(players):
    for pick_up_at in (1, 2):
        variant = standard_variant(players, pick_up_at=pick_up_at)
        assert variant.cards - 1 > pick_up_at


# --- G6 the end ------------------------------------------------------------------------------------------------------------


@clause("G6.1", "G6.4")
def test_with_two_robots_left_the_front_one_wins_and_the_other_is_eaten():
    after = play("4p", "12. A2:123/45 B1:1234/5 C1:12345 ~ D0:12345", "A3 B2 C1")
    # Declared after G5: A, down to two cards, has taken its table back.
    assert after.position == "13. A2:12345 B1:134/25 ~ C0:2345/1 D0:12345"
    assert after.over
    assert after.finish == {"A": 1, "B": 2, "C": 3}


@clause("G6.1")
def test_limbs_do_not_matter_at_the_end_only_the_line_does():
    after = play("4p", "12. A1:12345 B4:12345 C1:12345 ~ D0:12345", "A3 B2 C1")
    assert after.finish == {"A": 1, "B": 2, "C": 3}
    after = play("4p", "12. A1:12345 B4:12345 C1:12345 ~ D0:12345", "A2 B3 C1")
    assert after.finish == {"B": 1, "A": 2, "C": 3}


@clause("G6.1", "G4.3")
def test_three_robots_left_play_on():
    after = play("4p", "11. A1:12345 B1:12345 C2:12345 ~ D0:12345", "A3 B2 C1")
    assert after.position == "12. C1:12345 A1:1245/3 B1:1345/2 ~ D0:12345"
    assert (after.over, after.finish) == (False, {})


@clause("G6.1", "G6.4")
@pytest.mark.parametrize("name", ["3p-1r-5c", "4p", "5p-5c", "6p-5c", "7p-5c"])
def test_the_end_is_at_two_robots_whatever_the_number_of_players(name):
    players = parse_variant(name).players
    gone = "".join(f" {robot}0:12345" for robot in "DEFG"[: players - 3])
    after = play(name, "9. A1:12345 B1:12345 C1:12345" + (" ~" + gone if gone else ""), "A2 B3 C1")
    assert after.position == "10. B1:1245/3 A1:1345/2 ~ C0:2345/1" + gone
    assert (after.over, after.finish) == (True, {"B": 1, "A": 2, "C": 3})


@clause("G6.2", "G6.4")
@pytest.mark.parametrize(
    ("cards", "position"),
    [
        pytest.param("B5 A4 b3 a1", "8. B2:1234/5 A4:1235/4 b1:1245/3 ~ a0:2345/1", id="the other player in front"),
        pytest.param("A5 B4 b3 a1", "8. A4:1234/5 B2:1235/4 b1:1245/3 ~ a0:2345/1", id="the loser's other robot in front"),
    ],
)
def test_two_players_the_first_robot_out_loses_for_its_owner(cards, position):
    after = play("2p", "7. A4:12345 B2:12345 b1:12345 a1:12345", cards)
    assert after.position == position
    assert (after.over, after.finish) == (True, {"B": 1, "A": 2})


THREE = "9. A3:1234567 B1:1234567 C2:1234567 b4:1234567 c1:1234567 a1:1234567"


@clause("G6.3", "G6.4")
@pytest.mark.parametrize(
    ("cards", "skip_loser", "literal"),
    [
        # a goes out in all of them; the order of the others is what they play, the highest in front.
        pytest.param("B7 C6 A5 b4 c3 a1", "BCA", "BCA", id="the loser's other robot behind both"),
        pytest.param("C7 A6 B5 b4 c3 a1", "CBA", "CBA", id="the loser's other robot between them"),
        pytest.param("A7 C6 B5 b4 c3 a1", "CBA", "ACB", id="the loser's other robot in front of all"),
        pytest.param("A7 c6 b5 B4 C3 a1", "CBA", "ACB", id="any robot of a player can be the frontmost one"),
        pytest.param("B7 b6 A5 C4 c3 a1", "BCA", "BCA", id="both robots of one player ahead"),
    ],
)
def test_three_players_the_first_robot_out_loses_and_the_frontmost_of_the_others_wins(cards, skip_loser, literal):
    for name, order in (("3p", skip_loser), ("3p-literal", literal)):
        after = play(name, THREE, cards)
        assert (after.bitten, after.over) == ("a", True)
        assert sorted(after.finish, key=after.finish.__getitem__) == list(order)
        assert sorted(after.finish.values()) == [1, 2, 3]


@clause("G6.3")
def test_either_robot_of_a_player_can_lose_the_game():
    for robot in "AaBbCc":
        others = [r for r in "AaBbCc" if r != robot]
        position = "9. " + " ".join(f"{r}{1 if r == robot else 2}:1234567" for r in "AaBbCc")
        cards = " ".join(f"{r}{7 - k}" for k, r in enumerate([*others, robot]))
        after = play("3p", position, cards)
        assert after.finish[robot.upper()] == 3
        assert after.finish[next(r for r in others if r.upper() != robot.upper()).upper()] == 1


@clause("G6.4")
def test_who_goes_out_later_finishes_better():
    """A whole game of five with one bite each: out go E, then D, then C; A is eaten, B wins."""
    variant = parse_variant("5p-1l")
    cards = [[6, 5, 4, 3, 2], [5, 4, 3, 2, 1], [4, 3, 2, 1, 0], [1, 2, 1, 0, 0]]
    finishes = [
        {"ABCDE"[p]: int(f) for p, f in enumerate(step.outcome.finish[:, 0]) if f}
        for step in replay(Game(variant, [0, 1, 2, 3, 4], cards))
    ]
    assert finishes == [{}, {}, {"E": 5}, {"D": 4}, {"B": 1, "A": 2, "C": 3}]


@pytest.mark.parametrize("position", ["13. A2:12345 B1:134/25 ~ C0:2345/1 D0:12345", "13. B1:134/25 A2:12345 ~ D0:2345/1 C0:12345"])
def test_a_finished_game_stays_as_it_is(position):
    variant = parse_variant("4p")
    games, outcome, scratch = parse_position(variant, position), *fresh(variant, 1)
    for array in outcome:
        array.fill(1)
    games.played[:, 0] = 1, 2, 4, 0
    for cards in ([1, 1, 1, 1], [4, 1, 2, 8], [0, 0, 0, 0]):
        bits = np.array(cards, np.uint8)[:, None]
        play_round(
            variant.rules, games, bits, variant.reward_of_finish("win").astype(np.float32), np.float32(1), scratch, outcome, 0, 1
        )
        assert print_position(variant, games) == position
        assert games.played[:, 0].tolist() == [1, 2, 4, 0]
        assert not any(array.any() for array in outcome)


# --- rewards ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "position", "cards", "win", "placement"),
    [
        (
            *("4p", "12. A2:123/45 B1:1234/5 C1:12345 ~ D0:12345", "A3 B2 C1"),
            {"A": 1, "B": -1 / 3, "C": -1 / 3},
            {"A": 1, "B": 1 / 3, "C": -1 / 3},
        ),
        ("4p", "9. A2:12345 B1:12345 C1:12345 D1:12345", "A4 B3 C2 D1", {"D": -1 / 3}, {"D": -1}),
        ("5p-5c", "9. A2:12345 B1:12345 C1:12345 D1:12345 ~ E0:12345", "A4 B3 C2 D1", {"D": -1 / 4}, {"D": -1 / 2}),
        ("4p", "9. A2:12345 B1:12345 C1:12345 D2:12345", "A4 B3 C2 D1", {}, {}),
        ("2p", "7. A4:12345 B2:12345 b1:12345 a1:12345", "A5 B4 b3 a1", {"A": -1, "B": 1}, {"A": -1, "B": 1}),
        ("3p", THREE, "A7 C6 B5 b4 c3 a1", {"A": -1 / 2, "B": -1 / 2, "C": 1}, {"A": -1, "C": 1}),
        ("3p-literal", THREE, "A7 C6 B5 b4 c3 a1", {"A": 1, "B": -1 / 2, "C": -1 / 2}, {"A": 1, "B": -1}),
    ],
)  # fmt: skip
def test_rewards_are_paid_when_a_fate_is_decided(name, position, cards, win, placement):
    assert play(name, position, cards).reward == pytest.approx(win)
    assert play(name, position, cards, reward="placement").reward == pytest.approx(placement)


def test_the_limb_reward_is_added_for_the_robot_that_was_bitten():
    first = "0. A4:12345 B4:12345 C4:12345 D4:12345"
    assert play("4p", first, "A4 B3 C2 D1", limb_reward=-0.25).reward == {}
    assert play("4p", first, "A4 B3 C2 D1", "A3 B2 C1 D2", limb_reward=-0.25).reward == {"D": -0.25}
    last_limb = play("4p", "9. A2:12345 B1:12345 C1:12345 D1:12345", "A4 B3 C2 D1", limb_reward=-0.25)
    assert last_limb.reward == pytest.approx({"D": -1 / 3 - 0.25})
    second_robot = play("2p", "5. A4:12345 a4:12345 B4:12345 b4:12345", "A5 a4 B3 b1", limb_reward=-0.25)
    assert second_robot.reward == {"B": -0.25}


# --- the page and these tests ----------------------------------------------------------------------------------------------


def clauses_tested(letter: str) -> set[str]:
    """The clauses with this first letter that tests anywhere below `tests/` name in a marker."""
    named = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) in ("clause", "pytest.mark.clause"):
                        named |= {ast.literal_eval(number) for number in mark.args}
    return {number for number in named if number.startswith(letter)}


def test_every_clause_of_the_page_has_a_test_and_no_test_names_another():
    page = (ROOT / "docs" / "rules.md").read_text()
    clauses = re.findall(r"^- \*\*(G\d\.\d+)\*\*", page, re.MULTILINE)
    assert clauses
    assert clauses == sorted(set(clauses))
    assert clauses_tested("G") == set(clauses)


def test_the_code_cites_only_clauses_of_the_page():
    page = (ROOT / "docs" / "rules.md").read_text()
    for path in (ROOT / "getbit_env").rglob("*.py"):
        for cited in re.findall(r"\bG\d\.\d+\b", path.read_text()):
            assert f"**{cited}**" in page, f"{path.name} cites {cited}"
