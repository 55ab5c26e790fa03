"""The rules, clause by clause, in the order of docs/sharks_are_wild.md. Every expected position was worked out by hand."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.notation import LETTERS, parse_action, parse_position, print_position, start_position
from getbit_env.sharks_are_wild.variants import parse_variant, standard_variant
from tests.get_bit.test_rules import clauses_tested
from tests.sharks_are_wild.play import legal, play

clause = pytest.mark.clause
ROOT = Path(__file__).parents[2]
# With nine cards of each number, so that a position may hold several that don't matter.
ONE, TWO, THREE = "sharks-2p-level1-9of", "sharks-2p-level2-9of", "sharks-3p-level2-9of"


def kinds(text: str) -> list[int]:
    return [LETTERS.index(letter) for letter in text]


# --- set-up ----------------------------------------------------------------------------------------------------------------


@clause("S1.1")
@pytest.mark.parametrize(("level", "cards"), [(1, 44), (2, 54)])
def test_the_deck(level, cards):
    variant = standard_variant(2, level)
    counts = Counter(LETTERS[kind] for kind in variant.rules.deck)
    assert counts == {**dict.fromkeys("012346789", 4), "S": 8} | ({"O": 6, "D": 4} if level == 2 else {})
    assert variant.cards == cards


@clause("S1.1")
def test_counts_are_parameters():
    variant = parse_variant("sharks-2p-level2-2of-3sharks-1octopuses-0dolphins")
    assert Counter(LETTERS[kind] for kind in variant.rules.deck) == {**dict.fromkeys("012346789", 2), "S": 3, "O": 1}


@clause("S1.1", "S2.2")
def test_a_0_can_only_be_discarded():
    """1-5 is complete, so that no run waits for a 0; only with longer runs it has a place."""
    for run in ("5", "45", "345", "2345", "SSS5"):
        assert "plays 0" not in legal(ONE, f"0. A play A0:{run}/000012 B0:5/ draw= discard=")
    assert "discards 0" in legal(ONE, "0. A play A0:2345/000012 B0:5/ draw= discard=")
    assert "plays 0" in legal("sharks-2p-level1-9of-6run", "0. A play A0:12345/000022 B0:5/ draw= discard=")


@clause("S1.2")
def test_five_cards_each_and_the_next_one_starts_the_discard_pile():
    variant = parse_variant("sharks-3p-level1-2of-2sharks")
    deck = "01234" + "67899" + "01278" + "S" + "346S"
    assert sorted(deck) == sorted("012346789" * 2 + "SS")
    games = start_position(variant, kinds(deck), 1)
    assert print_position(variant, games) == "0. B draw A0:5/01278 B0:5/01234 C0:5/67899 draw=346S discard=S"


@clause("S1.2")
def test_a_deal_is_the_next_shuffle_of_a_game_s_stream_and_anybody_may_begin():
    engine = Engine(parse_variant("sharks-3p-level2"), 6000, seed=3)
    engine.start()
    first, tops = np.bincount(engine.state.player, minlength=3), np.bincount(engine.state.discard[:, 0], minlength=12)
    assert abs(first - 2000).max() < 150  # four standard deviations
    expected = 6000 * np.array(engine.variant.counts) / 54
    assert (abs(tops - expected) < 4 * np.sqrt(expected)).all()
    assert (engine.state.hand.sum(axis=2) == 5).all()
    before = engine.state.draw.copy()
    engine.start()
    assert (before != engine.state.draw).any(axis=1).all()


@clause("S1.2")
def test_the_same_cards_with_another_first_player_are_the_same_game_with_the_seats_moved_on():
    variant = parse_variant(THREE)
    cards = np.random.default_rng(0).permutation(variant.rules.deck).tolist()
    one, two = start_position(variant, cards, 0), start_position(variant, cards, 2)
    for k in range(3):
        assert (one.hand[0, k] == two.hand[0, (2 + k) % 3]).all()
    assert (one.draw[0, : one.draw_size[0]] == two.draw[0, : two.draw_size[0]]).all()


@clause("S1.2")
def test_turns_go_round_by_seat():
    start = "0. B draw A0:5/00011 B0:5/22233 C0:5/46688 draw=777999 discard=0"
    after = play(THREE, start, "draws", "discards 2", "draws", "discards 8", "draws", "discards 1")
    assert after.position.startswith("3. B draw")


# --- other readings of the published rules (docs: "Where the published rules can be read in two ways") ----------------------


@clause("S3.1")
@pytest.mark.parametrize(("run", "end", "card"), [("567", "high", "7"), ("S5", "low", "S")])
def test_octopus_on_top_a_stolen_card_that_is_not_used_lies_below_it(run, end, card):
    start = f"0. A play A0:345/00011O B0:{run}/00112 draw=8 discard=9"
    for name, pile in ((TWO, f"{card}O9"), (f"{TWO}-octopusontop", f"O{card}9")):
        after = play(name, start, f"steals B {end}", "passes")
        assert after.position.endswith(f"draw=8 discard={pile}")
    # A card that is used, and an Octopus that is blocked, lie as they do without it.
    fits = "0. A play A0:45/00011O B0:56/0011D draw=87 discard=9"
    for decision in ("passes", "blocks"):
        positions = {play(name, fits, "steals B high", decision).position for name in (TWO, f"{TWO}-octopusontop")}
        assert len(positions) == 1


@clause("S3")
def test_must_block_a_dolphin_cannot_be_held_back():
    start = "0. A play A0:45/00011O B0:56/0011{} draw=87 discard=9"
    asked = [play(f"{TWO}-mustblock", start.format(card), "steals B high").position for card in "D2"]
    assert [legal(f"{TWO}-mustblock", position) for position in asked] == [["blocks"], ["passes"]]
    assert play(f"{TWO}-mustblock", asked[0], "blocks").position == play(TWO, asked[0], "blocks").position


@clause("S3.1", "S2.4", "S2.6")
def test_may_decline_a_stolen_card_that_fits_can_be_discarded():
    name = f"{TWO}-maydecline"
    start = "0. A play A0:45/00011O B0:567/00112 draw=8 discard=9"
    assert play(name, start, "steals B high", "passes").position.startswith("1. B draw"), "nobody chooses where it doesn't fit"
    start = "0. A play A4:3456/00011O B4:567/00112 draw=8 discard=9"
    asked = play(name, start, "steals B high", "passes")
    assert asked.position == "0. A stole B high A4:3456/00011 B4:567/00112 draw=8 discard=O9"
    assert not asked.over
    assert legal(name, asked.position) == ["plays 7", "discards 7"]
    declined = play(name, asked.position, "discards 7")
    assert declined.position == "1. B draw A4:3456/00011 B4:56/00112 draw=8 discard=7O9"
    used = play(name, asked.position, "plays 7")
    assert used.position == "0. A over A5:5/00011 B4:56/00112 draw=8 discard=O93467"
    assert used.finish == {"A": 1, "B": 2}
    both = play(f"{TWO}-octopusontop-maydecline", asked.position, "discards 7")
    assert both.position == "1. B draw A4:3456/00011 B4:56/00112 draw=8 discard=O79"


@clause("S3.1")
@pytest.mark.parametrize(("thief", "victim", "end"), [("45", "5S", "high"), ("56", "S5", "low")])
def test_may_decline_a_stolen_shark_keeps_its_end_and_pays_nothing(thief, victim, end):
    name = f"{TWO}-maydecline"
    asked = play(name, f"0. A play A0:{thief}/0001SO B1:{victim}/00112 draw=8 discard=9", f"steals B {end}", "passes").position
    assert legal(name, asked) == [f"plays S {end}", "discards S"]
    used = f"{thief}S" if end == "high" else f"S{thief}"
    assert play(name, asked, f"plays S {end}").position == f"1. B draw A0:{used}/0001S B1:5/00112 draw=8 discard=O9"
    assert play(name, asked, "discards S").position == f"1. B draw A0:{thief}/0001S B1:5/00112 draw=8 discard=SO9"


@clause("S2.5")
def test_early_shuffle_the_pile_is_turned_over_with_its_last_card():
    start = "0. A draw A0:5/01237 B0:5/00111 draw=8 discard=9234"
    assert play(ONE, start, "draws").position == "0. A play A0:5/012378 B0:5/00111 draw= discard=9234"
    head, piles = play(f"{ONE}-earlyshuffle", start, "draws").position.split(" draw=")
    draw, discard = piles.split(" discard=")
    assert (head, sorted(draw), discard) == ("0. A play A0:5/012378 B0:5/00111", list("234"), "9")
    after = play(f"{ONE}-earlyshuffle", start, "draws", "discards 8").position
    assert after.endswith(f"draw={draw} discard=89"), "what is discarded now is not in it"
    # With one card the discard pile can't be turned over yet: then when somebody is about to draw.
    alone = "0. A draw A0:5/01237 B0:5/00111 draw=8 discard=9"
    assert play(f"{ONE}-earlyshuffle", alone, "draws").position.endswith("draw= discard=9")
    assert play(f"{ONE}-earlyshuffle", alone, "draws", "discards 8").position.endswith("draw=9 discard=8")
    assert play(f"{TWO}-earlyshuffle", "0. A play A0:45/00011O B0:56/0011D draw=8 discard=9", "steals B high", "blocks").position[
        -len("discard=D") :
    ] == ("discard=D")


# --- a turn ----------------------------------------------------------------------------------------------------------------


@clause("S2.1")
def test_draw_from_the_draw_pile_then_discard():
    start = "0. A draw A0:5/01237 B0:5/00111 draw=89 discard=23"
    assert legal(ONE, start) == ["draws", "takes 2"]
    assert play(ONE, start, "draws").position == "0. A play A0:5/012378 B0:5/00111 draw=9 discard=23"
    assert play(ONE, start, "draws", "discards 0").position == "1. B draw A0:5/12378 B0:5/00111 draw=9 discard=023"


@clause("S2.1")
def test_draw_from_the_discard_pile_then_play():
    start = "0. A draw A0:5/01237 B0:5/00111 draw=89 discard=43"
    assert play(ONE, start, "takes 4").position == "0. A play A0:5/012347*4 B0:5/00111 draw=89 discard=3"
    assert play(ONE, start, "takes 4", "plays 4").position == "1. B draw A0:45/01237 B0:5/00111 draw=89 discard=3"


@clause("S2.1")
def test_a_hand_that_lacks_cards_is_filled_up_at_the_end_of_its_owner_s_turn():
    start = "0. A play A0:5/0123 B0:5/00111 draw=8997 discard=2"
    assert play(ONE, start, "discards 0").position == "1. B draw A0:5/12389 B0:5/00111 draw=97 discard=02"
    only_one = "0. A play A0:5/0123 B0:5/00111 draw=8 discard="
    assert play(ONE, only_one, "discards 0").position == "1. B draw A0:5/1238 B0:5/00111 draw= discard=0"


@clause("S2.2")
@pytest.mark.parametrize(
    ("run", "hand", "playable"),
    [
        ("5", "012346", "46"),
        ("5", "788999", ""),
        ("456", "334777", "37"),
        ("S5S", "346777", "37"),
        ("2345", "112666", "16"),
        ("5678", "449999", "49"),
    ],
)
def test_numbers_next_to_the_run_are_playable(run, hand, playable):
    may = legal(ONE, f"0. A play A0:{run}/{hand} B0:5/ draw= discard=")
    assert [what for what in may if what.startswith("plays")] == [f"plays {n}" for n in playable]


@clause("S2.3")
def test_a_shark_stands_for_the_next_number_at_the_end_that_its_player_names_and_pays():
    start = "0. A play A1:56/0012SS B0:5/00111 draw=8 discard="
    assert legal(ONE, start) == ["plays S low", "plays S high", "discards 0", "discards 1", "discards 2", "discards S"]
    assert play(ONE, start, "plays S low").position == "1. B draw A2:S56/0012S B0:5/00111 draw=8 discard="
    assert play(ONE, start, "plays S high").position == "1. B draw A2:56S/0012S B0:5/00111 draw=8 discard="


@clause("S2.3")
def test_a_shark_keeps_its_number():
    """A 4 is not playable on a Shark that stands for 4, a 3 is."""
    may = legal(ONE, "0. A play A1:S5/233446 B0:5/00111 draw=8 discard=")
    assert [what for what in may if what.startswith("plays")] == ["plays 3", "plays 6"]


@clause("S2.3")
def test_a_shark_can_be_a_9_and_not_a_10_nor_less_than_0():
    after = play(ONE, "0. A play A1:5678/0012SS B0:5/00111 draw=4 discard=", "plays S high")
    assert after.position == "1. B draw A3:5/0012S B0:5/00111 draw=4 discard=678S"
    longer = "sharks-2p-level1-9of-7run"
    assert "plays S high" not in legal(longer, "0. A play A1:56789/0012SS B0:5/00111 draw=4 discard=")
    assert "plays S low" in legal(longer, "0. A play A1:56789/0012SS B0:5/00111 draw=4 discard=")
    assert "plays S low" not in legal(longer, "0. A play A1:012345/0012SS B0:5/00111 draw=4 discard=")
    after = play(longer, "0. A play A1:12345/0012SS B0:5/00111 draw=4 discard=", "plays S low")
    assert after.position == "1. B draw A2:S12345/0012S B0:5/00111 draw=4 discard="


@clause("S2.4")
def test_a_complete_run_pays_and_goes_under_the_discard_pile_low_end_uppermost():
    after = play(ONE, "0. A play A0:3S56/001122 B0:5/00111 draw=8 discard=99", "plays 2")
    assert after.position == "1. B draw A1:5/00112 B0:5/00111 draw=8 discard=9923S6"


@clause("S2.4")
def test_under_an_empty_discard_pile_the_low_end_is_the_top():
    after = play(ONE, "0. A play A0:3456/001122 B0:5/00111 draw=8 discard=", "plays 2")
    assert after.position == "1. B draw A1:5/00112 B0:5/00111 draw=8 discard=2346"


@clause("S2.4")
def test_the_starter_stays_and_the_next_run_starts_from_it():
    after = play(
        *(ONE, "0. A play A0:2345/466789 B0:5/00111 draw=8888 discard=11", "plays 6"),
        *("draws", "discards 0", "draws", "plays 6"),
    )
    assert after.position == "3. B draw A1:56/47889 B0:5/01118 draw=88 discard=0112346"


@clause("S2.5")
def test_an_empty_draw_pile_is_made_of_the_discard_pile_without_its_top():
    start = "0. A draw A0:5/01237 B0:5/00111 draw=8 discard=2344"
    after = play(ONE, start, "draws", "discards 8")
    head, piles = after.position.split(" draw=")
    draw, discard = piles.split(" discard=")
    assert head == "1. B draw A0:5/01237 B0:5/00111"
    assert discard == "8"
    assert sorted(draw) == list("2344")


@clause("S2.5")
def test_every_order_of_the_shuffle_is_equally_likely_and_games_shuffle_for_themselves():
    variant = parse_variant(ONE)
    position = parse_position(variant, "0. A play A0:5/012378 B0:5/00111 draw= discard=234", all_cards=False)
    engine = Engine(variant, 6000, seed=2)
    for array, one in zip(engine.state, position, strict=True):
        array[:] = one
    engine.play(np.full((6000, 2), parse_action(variant, position, "discards 8")))
    orders = Counter(map(bytes, engine.state.draw[:, :3]))
    assert len(orders) == 6
    assert max(abs(count - 1000) for count in orders.values()) < 120  # four standard deviations
    assert (engine.state.draw_size == 3).all()


@clause("S2.5")
def test_only_the_top_is_left_to_take_when_the_discard_pile_is_one_card():
    assert legal(ONE, "0. A draw A0:5/01237 B0:5/00111 draw= discard=2") == ["takes 2"]


@clause("S2.5")
def test_only_the_draw_pile_is_left_when_the_discard_pile_is_empty():
    assert legal(ONE, "0. A draw A0:5/01237 B0:5/00111 draw=22 discard=") == ["draws"]


@clause("S2.5", "S2.1")
def test_both_piles_empty_a_player_draws_nothing_and_plays_a_card_of_five():
    start = "0. A draw A0:5/01236 B0:5/00111 draw= discard="
    assert legal(ONE, start) == ["passes"]
    assert play(ONE, start, "passes", "plays 6").position == "1. B draw A0:56/0123 B0:5/00111 draw= discard="
    # B must draw nothing either and discards; A takes that, plays, and nothing is there to fill up the hand with.
    after = play(ONE, start, "passes", "plays 6", "passes", "discards 0", "takes 0", "discards 1")
    assert after.position == "3. B draw A0:56/0023*0 B0:5/0111 draw= discard=1"


@clause("S2.5", "S2.1")
def test_a_completed_run_can_be_what_a_hand_is_filled_up_from():
    start = "0. A draw A0:3456/01222 B0:5/00111 draw= discard="
    after = play(ONE, start, "passes", "plays 2")
    head, piles = after.position.split(" draw=")
    assert piles.endswith("discard=2")
    assert len(piles.split()[0]) == 2
    assert sorted(head.split()[3].split("/")[1])[:4] == list("0122")


@clause("S2.5")
def test_a_player_without_cards_passes():
    start = "0. A draw A0:5/ B0:5/00111 draw= discard="
    assert play(ONE, start, "passes").position == "0. A play A0:5/ B0:5/00111 draw= discard="
    assert legal(ONE, "0. A play A0:5/ B0:5/00111 draw= discard=") == ["passes"]
    assert play(ONE, start, "passes", "passes").position == "1. B draw A0:5/ B0:5/00111 draw= discard="


@clause("S2.6", "S6")
def test_five_coins_win_at_once():
    after = play(ONE, "7. A play A4:2345/001122 B4:5/00111 draw=8 discard=99", "discards 0")
    assert not after.over
    after = play(ONE, "7. A play A4:3456/001122 B4:5/00111 draw=8 discard=99", "plays 2")
    assert after.position == "7. A over A5:5/00112 B4:5/00111 draw=8 discard=992346"
    assert after.over
    assert after.finish == {"A": 1, "B": 2}
    assert after.reward == {"A": 1.0, "B": -1.0}


@clause("S2.6", "S2.3", "S2.4")
def test_a_shark_that_completes_a_run_pays_two_coins():
    after = play(ONE, "0. A play A1:3456/0011SS B0:5/00111 draw=8 discard=", "plays S high")
    assert after.position == "1. B draw A3:5/0011S B0:5/00111 draw=8 discard=346S"
    after = play(ONE, "0. A play A4:3456/0011SS B4:5/00111 draw=8 discard=", "plays S low")
    assert after.position == "0. A over A6:5/0011S B4:5/00111 draw=8 discard=S346"
    assert after.finish == {"A": 1, "B": 2}


@clause("S2.6")
def test_a_shark_s_own_coin_wins_in_the_middle_of_a_run():
    after = play(ONE, "0. A play A4:5/0011SS B4:5/00111 draw=8 discard=", "plays S low")
    assert after.position == "0. A over A5:S5/0011S B4:5/00111 draw=8 discard="
    assert legal(ONE, after.position) == []


@clause("S2.7")
def test_who_could_play_may_discard_anything():
    may = legal(TWO, "0. A play A0:5/46SOD0 B0:56/00111 draw=8 discard=")
    assert [what for what in may if what.startswith("discards")] == [f"discards {card}" for card in "046SOD"]


# --- level two -------------------------------------------------------------------------------------------------------------


@clause("S3")
def test_an_octopus_names_a_player_and_an_end_that_is_not_the_starter():
    start = "0. B play A0:S5/00011 B0:456/0123OD C0:567/00112 draw=8 discard=9"
    assert [w for w in legal(THREE, start) if w.startswith("steals")] == ["steals C high", "steals A low"]
    both = "0. A play A0:5/0123OD B0:456/00011 C0:5/00112 draw=8 discard=9"
    assert [w for w in legal(THREE, both) if w.startswith("steals")] == ["steals B low", "steals B high"]


@clause("S3")
def test_a_run_that_is_only_its_starter_cannot_be_robbed():
    may = legal(TWO, "0. A play A0:456/00011O B0:5/00112 draw=8 discard=9")
    assert not [w for w in may if w.startswith("steals")]
    assert "discards O" in may


@clause("S3")
def test_the_octopus_is_discarded_and_the_victim_is_asked_whatever_he_holds():
    start = "0. A play A0:5/00011O B0:56/{} draw=8 discard=9"
    after = play(TWO, start.format("00112"), "steals B high")
    assert after.position == "0. A steals B high A0:5/00011 B0:56/00112 draw=8 discard=O9"
    assert legal(TWO, after.position) == ["passes"]
    after = play(TWO, start.format("0011D"), "steals B high")
    assert after.position == "0. A steals B high A0:5/00011 B0:56/0011D draw=8 discard=O9"
    assert legal(TWO, after.position) == ["passes", "blocks"]


@clause("S3.1")
def test_a_stolen_card_that_fits_joins_the_thief_s_run():
    start = "0. A play A0:45/00011O B0:56/00112 draw=8 discard=9"
    after = play(TWO, start, "steals B high", "passes")
    assert after.position == "1. B draw A0:456/00011 B0:5/00112 draw=8 discard=O9"


@clause("S3.1")
def test_a_stolen_card_that_does_not_fit_lies_above_the_octopus():
    start = "0. A play A0:45/00011O B0:567/00112 draw=8 discard=9"
    after = play(TWO, start, "steals B high", "passes")
    assert after.position == "1. B draw A0:45/00011 B0:56/00112 draw=8 discard=7O9"
    low = play(TWO, "0. A play A0:345/00011O B0:S5/00112 draw=8 discard=9", "steals B low", "passes")
    assert low.position == "1. B draw A0:345/00011 B0:5/00112 draw=8 discard=SO9"


@clause("S3.1")
def test_a_stolen_shark_keeps_its_number_and_pays_nothing():
    start = "0. A play A0:45/00011O B1:5S/00112 draw=8 discard=9"
    after = play(TWO, start, "steals B high", "passes")
    assert after.position == "1. B draw A0:45S/00011 B1:5/00112 draw=8 discard=O9"
    # It stands for a 7 there, so that it doesn't fit here.
    start = "0. A play A0:45/00011O B1:56S/00112 draw=8 discard=9"
    after = play(TWO, start, "steals B high", "passes")
    assert after.position == "1. B draw A0:45/00011 B1:56/00112 draw=8 discard=SO9"


@clause("S3.1", "S2.4")
def test_a_stolen_card_that_completes_the_run_pays_one_coin_also_a_shark():
    start = "0. A play A0:3456/00011O B1:45S/00112 draw=8 discard=9"
    assert "passes" in legal(TWO, play(TWO, start, "steals B low").position)
    start = "0. A play A0:3456/00011O B1:56S/00112 draw=8 discard=9"
    after = play(TWO, start, "steals B high", "passes")
    assert after.position == "1. B draw A1:5/00011 B1:56/00112 draw=8 discard=O9346S"


@clause("S3.1", "S2.6")
def test_a_theft_can_win_and_the_victim_decides_last():
    start = "0. A play A4:3456/00011O B4:567/00112 draw=8 discard=9"
    after = play(TWO, start, "steals B high", "passes")
    assert after.position == "0. A over A5:5/00011 B4:56/00112 draw=8 discard=O93467"
    assert after.finish == {"A": 1, "B": 2}
    assert after.reward == {"A": 1.0, "B": -1.0}


@clause("S3.2")
def test_a_block_costs_both_cards_and_the_victim_draws_at_once():
    start = "0. A play A0:45/00011O B0:56/0011D draw=8 discard=9"
    after = play(TWO, start, "steals B high", "blocks")
    head, piles = after.position.split(" draw=")
    assert head == "1. B draw A0:45/00011 B0:56/00118"  # the draw pile was empty then, and B is about to draw
    assert piles in ("9O discard=D", "O9 discard=D")
    start = "0. A play A0:45/00011O B0:56/0011D draw=87 discard=9"
    after = play(TWO, start, "steals B high", "blocks")
    assert after.position == "1. B draw A0:45/00011 B0:56/00118 draw=7 discard=DO9"


@clause("S3.2", "S2.5")
def test_a_block_can_turn_the_discard_pile_over():
    start = "0. A play A0:45/00011O B0:56/0011D draw= discard=9"
    after = play(TWO, start, "steals B high", "blocks")
    head, piles = after.position.split(" draw=")
    drawn = head[-1]
    assert head.startswith("1. B draw A0:45/00011 B0:56/0011")
    assert {drawn, piles[0]} == {"9", "O"}
    assert piles.endswith(" discard=D")


@clause("S3.2", "S2.5", "S2.1")
def test_who_blocks_with_nothing_to_draw_fills_up_at_the_end_of_his_own_turn():
    variant = TWO
    start = "0. A play A0:45/00011O B0:56/0011D draw= discard="
    after = play(variant, start, "steals B high", "blocks")
    assert after.position == "1. B draw A0:45/00011 B0:56/0011O draw= discard=D"  # it draws the Octopus itself
    start = "0. A play A0:45/00011O B0:56/0011 draw=8 discard="
    after = play(variant, start, "steals B high", "passes", "draws", "discards 8")
    assert after.position.startswith("2. A draw A0:456/00011 B0:5/0011")


@clause("S3.2", "S3.1")
def test_a_dolphin_may_be_kept():
    start = "0. A play A0:45/00011O B0:56/0011D draw=8 discard=9"
    after = play(TWO, start, "steals B high", "passes")
    assert after.position == "1. B draw A0:456/00011 B0:5/0011D draw=8 discard=O9"


@clause("S3.3")
def test_a_dolphin_can_otherwise_only_be_discarded():
    may = legal(TWO, "0. A play A0:5/00011D B0:56/0011D draw=8 discard=9")
    assert may == ["discards 0", "discards 1", "discards D"]


@clause("S3")
def test_level_one_has_no_octopus_and_no_dolphin():
    with pytest.raises(ValueError, match="'O' in '0123O' is no card of sharks-2p-level1-9of"):
        legal(ONE, "0. A draw A0:5/0123O B0:5/00111 draw=8 discard=9")


# --- the end, and rewards --------------------------------------------------------------------------------------------------


@clause("S4", "S6")
def test_after_the_last_turn_the_game_is_a_draw():
    name = "sharks-2p-level1-9of-8turns"
    after = play(name, "6. A draw A0:5/01237 B0:5/00111 draw=8999 discard=9", "draws", "discards 0")
    assert not after.over
    after = play(name, after.position, "draws", "discards 0")
    assert after.over
    assert after.finish == {}
    assert after.reward == {}
    assert after.position.startswith("8. A over")


@clause("S4")
def test_a_win_in_the_last_turn_counts():
    name = "sharks-2p-level1-9of-8turns"
    after = play(name, "7. B play A4:5/01237 B4:5/00111S draw=8999 discard=9", "plays S low")
    assert after.over
    assert after.finish == {"A": 2, "B": 1}


@clause("S6")
@pytest.mark.parametrize(("players", "loss"), [(2, -1), (3, -0.5), (4, -0.3333)])
def test_the_winner_takes_what_the_others_lose(players, loss):
    others = " ".join(f"{name}4:5/00" for name in "ABCD"[: players - 1])
    winner = "ABCD"[players - 1]
    after = play(
        f"sharks-{players}p-level1-9of",
        f"9. {winner} play {others} {winner}4:5/0011S draw=8 discard=",
        "plays S high",
    )
    assert after.reward == {**dict.fromkeys("ABCD"[: players - 1], loss), winner: 1.0}
    assert after.finish == {**dict.fromkeys("ABCD"[: players - 1], 2), winner: 1}


# --- the page and these tests ----------------------------------------------------------------------------------------------


def test_every_clause_of_the_page_has_a_test_and_no_test_names_another():
    page = (ROOT / "docs" / "sharks_are_wild.md").read_text()
    clauses = re.findall(r"^- \*\*(S\d(?:\.\d+)?)\*\*", page, re.MULTILINE)
    assert clauses == sorted(set(clauses))
    assert clauses_tested("S") == set(clauses)


def test_the_code_cites_only_clauses_of_the_page():
    page = (ROOT / "docs" / "sharks_are_wild.md").read_text()
    files = list((ROOT / "getbit_env" / "sharks_are_wild").glob("*.py"))
    assert files
    for path in files:
        for cited in re.findall(r"\bS\d\.\d+\b", path.read_text()):
            assert f"**{cited}**" in page, f"{path.name} cites {cited}"
