"""The notation refuses what is no position or game; golden games are read and made as they stand."""

from __future__ import annotations

import json

import pytest

from getbit_env.sharks_are_wild.notation import action_name, parse_game, parse_position, print_game, replay
from getbit_env.sharks_are_wild.variants import Variant, parse_variant, standard_variant
from tests.sharks_are_wild.make_golden import GOLDEN, TRANSCRIPTS, digest, random_game, transcript
from tests.sharks_are_wild.play import MANY_VARIANTS


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_golden_games_are_made_and_read_as_they_stand(name: str) -> None:
    text = (GOLDEN / f"{name}.txt").read_text()
    assert transcript(name) == text
    game = parse_game(text)
    assert f"{text.splitlines()[0]}\n{print_game(game)}" == text
    told = "\n".join(line.partition("|")[0] for line in text.splitlines() if not line.startswith("end"))
    assert parse_game(told) == game, "positions and the end may be left out"


def test_what_games_show_has_not_changed() -> None:
    golden = json.loads((GOLDEN / "digests.json").read_text())
    assert {name: digest(name) for name in MANY_VARIANTS} == golden["sha256"], golden["note"]


POSITION = "12. B play A2:S56/0138D B0:5/11SSOO*S draw=0448 discard=61"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("12. B play", "B play"), "begins with turns, player and stage"),
        (("12. B play", "12. C play"), "no player 'C' in sharks-2p-level2: it has A B"),
        (("B play A2:S56/0138D B0:5/11SSOO*S", "B steals B low A2:S56/0138D B0:5/11SSO*S"), "nobody steals from himself"),
        (("B play", "B steals A high"), "hand has 6 cards, at most 5"),
        (
            ("B play A2:S56/0138D B0:5/11SSOO*S", "B stole A high A2:S56/0138D B0:5/11SSO*S"),
            "a thief chooses where the game has may_decline and the card fits his run",
        ),
        ((" B0:5/11SSOO*S", ""), "has 2 players, then draw= and discard="),
        (("A2:S56", "B2:S56"), "not how player A is written"),
        (("A2:S56", "A2:S57"), "consecutive, so that '7' can't lie where a 6 belongs"),
        (("A2:S56", "A2:S5678"), "fewer than 5 cards, or it is complete"),
        (("0138D", "0138DD"), "hand has 6 cards, at most 5 at this stage"),
        (("*S", "*8"), "behind the star stand cards of the hand"),
        (("draw=0448", "piles=0448"), "draw= and discard=, each with its cards from the top, not 'piles=0448'"),
        (("draw=0448", "draw=04X8"), "'X' in '04X8' is no card of sharks-2p-level2: those are 012346789SOD"),
        (("draw=0448", "draw=044444"), "has 5 x 4, the deck of sharks-2p-level2 has 4"),
        (("12. B", "012. B"), "begins with turns, player and stage"),
        (("12. B", "١٢. B"), "begins with turns, player and stage"),
        (("12. B", "501. B"), "'501.': a game of sharks-2p-level2 takes at most 500 turns"),
        (("12. B", "4294967296. B"), "begins with turns, player and stage"),
        (("A2:S56", "A02:S56"), "not how player A is written"),
        (("A2:S56", "A٢:S56"), "not how player A is written"),
        (("A2:S56", "A7:S56"), "5 coins win, and the last card can bring one more"),
        (("A2:S56", "A256:S56"), "5 coins win"),
        (("0138D", "8" * 256), "not how player A is written"),
        (("*S", "*" + "S" * 257), "not how player B is written"),
        (("A2:S56", "A2:" + "5" * 100_000), "not how player A is written"),
        (("A2:S56", "A2:" + "S" * 5000), "not how player A is written"),
        (("draw=0448", "draw=" + "4" * 100_000), "sharks-2p-level2 has only 54 cards"),
        ((POSITION, "x" * 100_000), "begins with turns, player and stage"),
    ],
)
def test_what_is_no_position_is_refused_with_its_reason(change: tuple[str, str], message: str) -> None:
    variant = standard_variant(2, 2)
    with pytest.raises(ValueError, match=message) as refusal:
        parse_position(variant, POSITION.replace(*change), all_cards=False)
    assert len(str(refusal.value)) < 400


def test_a_position_must_have_all_cards_unless_it_is_said() -> None:
    variant = standard_variant(2, 2)
    parse_position(variant, POSITION, all_cards=False)
    with pytest.raises(ValueError, match="x 0, the deck of sharks-2p-level2 has 4"):
        parse_position(variant, POSITION)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _text: "", "a game begins with a line like"),
        (lambda text: text.replace("deal ", "deals "), "a game begins with a line like"),
        (lambda text: text.replace("\n1. ", "\n2. ", 1), "turn 1 begins with '1.'"),
        (lambda text: text.replace("draws", "blocks", 1), "is not legal in 0. .*; legal is: draws, takes"),
        (lambda text: text.replace("draw=", "draw=0", 1), "the text says"),
        (lambda text: text + "end A 3\n", "the text goes on with 'end A 3'"),
        (lambda text: text.replace("\nend", "\n999. A draws\nend"), "begins with"),
        (lambda text: text.replace("first ", "first A, "), "a game begins"),
    ],
)
def test_what_is_no_game_is_refused_with_its_reason(change, message: str) -> None:
    text = transcript("sharks-2p-level2")
    with pytest.raises(ValueError, match=message):
        parse_game(change(text))


def test_replay_refuses_what_is_not_legal_and_names_it() -> None:
    game = random_game("sharks-2p-level2", 3)
    with pytest.raises(ValueError, match=r"decision 1: player [AB] plays 26, legal are \[0, 1\]"):
        list(replay(game._replace(actions=[26, *game.actions])))
    with pytest.raises(ValueError, match=f"decision {len(game.actions) + 1}: the game ended with decision {len(game.actions)}"):
        list(replay(game._replace(actions=[*game.actions, 0])))
    with pytest.raises(ValueError, match="the first player is 0 to 1, not 2"):
        list(replay(game._replace(first=2)))
    with pytest.raises(ValueError, match="a deck of sharks-2p-level2 is a list of 54 kinds"):
        list(replay(game._replace(cards=game.cards[:-1])))


@pytest.mark.parametrize("name", MANY_VARIANTS)
def test_every_action_has_a_name_of_its_own(name: str) -> None:
    variant = parse_variant(name)
    names = [action_name(variant, action) for action in range(variant.actions)]
    assert len(set(names)) == variant.actions
    with pytest.raises(ValueError, match=f"no action {variant.actions} in {name}"):
        action_name(variant, variant.actions)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_actions_of_level_one_have_the_same_numbers_at_level_two(players: int) -> None:
    one, two = standard_variant(players, 1), standard_variant(4, 2)
    for action in range(one.actions):
        assert action_name(one, action) == action_name(two, action)


# --- variants ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MANY_VARIANTS)
def test_names_of_variants_are_read_as_they_are_written(name: str) -> None:
    assert parse_variant(name).name == name
    assert str(parse_variant(name)) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("4p", "no variant '4p': a name is like sharks-2p-level2"),
        ("sharks-5p-level1", "players is 2 to 4, not 5"),
        ("sharks-2p-level3", "level is 1 to 2, not 3"),
        ("sharks-2p-level2-3fish", "'3fish' is none of 5of, 5sharks"),
        ("sharks-2p-level2-3coins-4coins", "'4coins' says a thing twice"),
        ("sharks-2p-level2-mustblock-mustblock", "'mustblock' says a thing twice"),
        ("sharks-2p-level2-5mustblock", "'5mustblock' is none of 5of, .* mustblock"),
        ("sharks-2p-level2-coins", "'coins' is none of 5of"),
        ("sharks-2p-level2-mustblock-octopusontop", "the name of that game is 'sharks-2p-level2-octopusontop-mustblock'$"),
        ("sharks-2p-level1-mustblock", "must_block is about Octopus and Dolphin cards; level one plays without them"),
        ("sharks-2p-level1-3dolphins", "level one plays without them"),
        ("sharks-4p-level1-1of-0sharks", "the deck has 9 cards, but it has 21 to 120: 5 for each of 4 players"),
        ("sharks-2p-level2-12of-60sharks", "the deck has 178 cards"),
        ("sharks-2p-level2-11run", "run is 2 to 10, not 11"),
        ("sharks-2p-level2-0turns", "turn_limit is 1 to 100000, not 0"),
        ("sharks-02p-level2", "the name of that game is 'sharks-2p-level2'$"),
        ("sharks-2p-level2-03coins", "the name of that game is 'sharks-2p-level2-3coins'$"),
        ("sharks-2p-level2-5coins", "the name of that game is 'sharks-2p-level2'$"),
        ("sharks-2p-level2-3coins-6hand", "the name of that game is 'sharks-2p-level2-6hand-3coins'$"),
        ("sharks-٢p-level2", "a name is like"),
        ("sharks-2p-level٢", "a name is like"),
        ("sharks-2p-level2-٣coins", "a name is like"),
        ("sharks-2p-level2\n", "a name is like"),
        ("sharks-2p-level2-" + "9" * 5000 + "coins", "a name is like"),
        ("sharks-2p-level2" + "-3coins" * 50_000, "a name is like"),
    ],
)
def test_names_that_make_no_game_are_refused_with_their_reason(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        parse_variant(name)
    assert len(str(refusal.value)) < 400


def test_counts_are_whole_numbers() -> None:
    with pytest.raises(ValueError, match=r"sharks is a whole number, not 2\.5"):
        Variant(2, sharks=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reward is one of 'win', not 'money'"):
        standard_variant(2).reward_of_finish("money")
