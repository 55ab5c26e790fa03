"""The table of variants, their names, and nonsense."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from getbit_env.get_bit.variants import Reward, Variant, parse_variant, standard_variant
from tests.get_bit.play import MANY_VARIANTS, pays
from tests.get_bit.test_properties import variants

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()


def table_below(heading: str) -> list[list[str]]:
    """The first table of the page behind some text, without its head."""
    rows = re.search(r"(?:^\|.*\n)+", PAGE[PAGE.index(heading) :], re.MULTILINE)
    assert rows
    return [[cell.strip() for cell in row.strip("|\n").split("|")] for row in rows[0].splitlines()[2:]]


@pytest.mark.clause("G1.1", "G1.3")
def test_the_set_up_table_of_the_page():
    rows = table_below("## G1 Set-up")
    assert [int(row[0]) for row in rows] == [2, 3, 4, 5, 6, 7]
    for players, robots_each, cards, robots in rows:
        variant = standard_variant(int(players))
        assert (variant.players, variant.robots_per_player) == (int(players), int(robots_each))
        assert f"1-{variant.cards}" == cards
        assert variant.robots == int(robots)
        assert (variant.limbs, variant.pick_up_at, variant.memory, variant.three_player_ending) == (4, 2, False, "skip_loser")
        assert variant.rules.deck == (1 << variant.cards) - 1


@pytest.mark.clause("G6.5")
def test_the_table_of_lengths_of_the_page():
    rows = table_below("**G6.5**")
    assert [int(row[0]) for row in rows] == [2, 3, 4, 5, 6, 7]
    for players, rounds, longer in rows:
        for half_limbs, told in ((False, rounds), (True, longer)):
            variant = standard_variant(int(players), half_limbs=half_limbs)
            assert f"{variant.least_rounds}-{variant.most_rounds}" == told


def test_the_names_in_the_table_of_variants_of_the_page():
    assert parse_variant("4p") == standard_variant(4)
    for row in table_below("## Variants"):
        assert parse_variant(row[3].strip("`")).name == row[3].strip("`")


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("4p", standard_variant()),
        ("2p-half", standard_variant(2, half_limbs=True)),
        ("4p-pick1-memory", standard_variant(4, pick_up_at=1, memory=True)),
        ("3p-half-memory-literal", standard_variant(3, half_limbs=True, memory=True, three_player_ending="literal")),
        ("3p-1r-4c-2l", Variant(players=3, robots_per_player=1, cards=4, limbs=2)),
        ("2p-3c-1l", Variant(players=2, robots_per_player=2, cards=3, limbs=1)),
        ("7p-6c-32l", Variant(players=7, robots_per_player=1, cards=6, limbs=32)),
        ("3p", Variant(3, 2, 7)),
    ],
)
def test_names(name, variant):
    assert variant.name == str(variant) == name
    assert parse_variant(name) == variant


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("memory-4p-8l", "4p-half-memory"),
        ("4p-memory-half", "4p-half-memory"),
        ("4p-1r-5c-4l-pick2", "4p"),
        ("04p", "4p"),
        ("4p-05c", "4p"),
        ("2p-pick01", "2p-pick1"),
    ],
)
def test_a_game_has_one_name(name, canonical):
    with pytest.raises(ValueError, match=f"no variant '{name}': the name of that game is '{canonical}'$"):
        parse_variant(name)


@pytest.mark.parametrize(
    "name", ["٤p", "4p-٣c", "\uff14p", "4p\n", " 4p", "4p-" + "9" * 5000 + "c", "x" * 100_000, "4p" + "-half" * 50_000]
)
def test_other_alphabets_and_endless_names_are_refused_in_one_short_line(name):
    with pytest.raises(ValueError, match=r"^no variant '") as refusal:
        parse_variant(name)
    assert len(str(refusal.value)) < 400


@given(variants())
def test_every_name_is_read_back(variant):
    assert parse_variant(variant.name) == variant


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", "no variant '': '' is none of 4p, 2r, 5c"),
        ("4", "no variant '4': '4' is none of"),
        ("4p-fast", "'fast' is none of"),
        ("4p--half", "'' is none of"),
        ("4P", "'4P' is none of"),
        ("half", "no variant 'half': it says nothing of the players, as 4p does"),
        ("1p", "no variant '1p': players is 2 to 7"),
        ("8p", "no variant '8p': players is 2 to 7"),
        ("4p-4p", "'4p' says a thing twice"),
        ("4p-half-8l", "'8l' says a thing twice"),
        ("4p-8l-half", "'half' says a thing twice"),
        ("4p-memory-memory", "'memory' says a thing twice"),
        ("4p-2r", "robots_per_player is 1, not 2: four and more players have one robot each"),
        ("4p-2c", "cards is 3 to 7, not 2: with 2 or fewer cards a hand would always be taken back at once"),
        ("4p-pick3", "pick_up_at is 2 or 1"),
        ("4p-literal", "'literal' is for three players with two robots each"),
        ("3p-1r-literal", "'literal' is for three players with two robots each"),
    ],
)
def test_what_is_no_name_is_refused_with_what_is_wrong(name, error):
    with pytest.raises(ValueError, match=error):
        parse_variant(name)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"players": 1}, "players is 2 to 7, not 1"),
        ({"players": 8}, "players is 2 to 7, not 8"),
        ({"players": 4.0}, "players is a whole number, not 4.0"),
        ({"players": True}, "players is a whole number, not True"),
        ({"players": "4"}, "players is a whole number, not '4'"),
        ({"players": 2}, "robots_per_player is 2, not 1: with one robot each the game would be over before it began"),
        ({"players": 3, "robots_per_player": 3}, "robots_per_player is 1 or 2, not 3: three players have one or two robots each"),
        ({"robots_per_player": 2}, "robots_per_player is 1, not 2: four and more players have one robot each"),
        ({"robots_per_player": 0}, "robots_per_player is 1, not 0"),
        ({"cards": 2}, r"cards is 3 to 7, not 2: with 2 or fewer cards .* \(pick_up_at=2\)"),
        ({"cards": 1, "pick_up_at": 1}, r"cards is 2 to 7, not 1: with 1 or fewer cards .* \(pick_up_at=1\)"),
        ({"cards": 8}, "cards is 3 to 7, not 8: .* decks end at 7"),
        ({"limbs": 0}, r"limbs \(bites that put a robot out\) is 1 to 32, not 0"),
        ({"limbs": 33}, "limbs .* is 1 to 32, not 33"),
        ({"limbs": 2.5}, "limbs is a whole number, not 2.5"),
        ({"pick_up_at": 0}, "pick_up_at is 2 or 1 .*, not 0"),
        ({"pick_up_at": 3}, "pick_up_at is 2 or 1 .*, not 3"),
        ({"three_player_ending": "none"}, "three_player_ending is one of 'skip_loser', 'literal', not 'none'"),
        ({"three_player_ending": "literal"}, "'literal' is for three players with two robots each"),
    ],
)
def test_nonsense_is_refused_with_what_is_wrong(change, error):
    with pytest.raises(ValueError, match=error):
        Variant(**{"players": 4, "robots_per_player": 1, "cards": 5, **change})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"players": 1}, "players is 2 to 7, not 1"),
        ({"players": "4p"}, "players is 2 to 7, not '4p'"),
        ({"pick_up_at": 5}, "pick_up_at is 2 or 1"),
        ({"three_player_ending": "literal"}, "'literal' is for three players"),
        ({"players": 3, "three_player_ending": "last"}, "three_player_ending is one of 'skip_loser', 'literal', not 'last'"),
    ],
)
def test_there_is_no_such_standard_game(arguments, error):
    with pytest.raises(ValueError, match=error):
        standard_variant(**arguments)


def test_numbers_of_numpy_are_numbers():
    assert standard_variant(np.int64(5)) == standard_variant(5)
    assert type(Variant(np.int32(4), np.int8(1), np.uint8(5)).cards) is int


def test_a_variant_is_a_value():
    assert len({parse_variant(name) for name in [*MANY_VARIANTS, *MANY_VARIANTS]}) == len(MANY_VARIANTS)
    with pytest.raises(AttributeError):
        standard_variant().cards = 6


@pytest.mark.parametrize(
    ("name", "actions", "last_line"), [("2p", 25, 3), ("3p", 49, 5), ("3p-1r", 7, 2), ("4p", 5, 2), ("7p", 7, 2)]
)
def test_actions_and_the_line_at_the_end(name, actions, last_line):
    variant = parse_variant(name)
    assert (variant.actions, variant.last_line) == (actions, last_line)


@pytest.mark.parametrize("players", range(2, 8))
def test_what_finishing_places_pay(players):
    variant = standard_variant(players)
    for reward in Reward:
        table = variant.reward_of_finish(reward)
        assert table.dtype == np.float64
        assert table[0] == 0
        np.testing.assert_allclose(table[1:], [pays(reward, players, place) for place in range(1, players + 1)], rtol=1e-6)
        assert table[1:].sum() == pytest.approx(0, abs=1e-6)
    assert standard_variant(4).reward_of_finish("win").tolist() == pytest.approx([0, 1, -1 / 3, -1 / 3, -1 / 3])
    assert standard_variant(5).reward_of_finish("placement").tolist() == [0, 1, 0.5, 0, -0.5, -1]
    with pytest.raises(ValueError, match="reward is one of 'win', 'placement', not 'score'"):
        variant.reward_of_finish("score")
