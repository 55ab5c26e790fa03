"""What holds in every game of every variant: the code against the procedure at the table, and what the rules imply."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getbit_env.get_bit.notation import mask_of, start_position
from getbit_env.get_bit.rules import Games, Outcome, new_games, play_round
from getbit_env.get_bit.variants import Reward, Variant, parse_variant
from tests.get_bit.play import MANY_VARIANTS, cards_of_game, copy_of, fresh, line_of, pays, random_cards, table_at

clause = pytest.mark.clause


@st.composite
def variants(draw) -> Variant:
    """Mostly custom variants."""
    players = draw(st.integers(2, 7))
    each = {2: 2, 3: draw(st.integers(1, 2))}.get(players, 1)
    pick_up_at = draw(st.integers(1, 2))
    return Variant(
        players=players,
        robots_per_player=each,
        cards=draw(st.integers(pick_up_at + 1, 7)),
        limbs=draw(st.integers(1, 9)),
        pick_up_at=pick_up_at,
        three_player_ending=draw(st.sampled_from(["skip_loser", "literal"])) if (players, each) == (3, 2) else "skip_loser",
    )


@st.composite
def positions(draw) -> tuple[Variant, Games, np.ndarray]:
    """A position of an unfinished game, also one that no play leads to, and a legal card for each robot in the line."""
    variant = draw(variants())
    line = draw(st.permutations(range(variant.robots)))
    alive = draw(st.integers(variant.last_line + 1, variant.robots))
    games = start_position(variant, line)
    games.rounds[0] = draw(st.integers(0, 30))
    cards = np.zeros((variant.robots, 1), np.uint8)
    for place, robot in enumerate(line):
        deck = range(1, variant.cards + 1)
        hand = draw(st.sets(st.sampled_from(deck), min_size=variant.pick_up_at + 1))
        games.hand[robot] = mask_of(sorted(hand))
        games.limbs[robot] = draw(st.integers(1, variant.limbs)) if place < alive else 0
        games.played[robot] = draw(st.sampled_from([0, *(1 << (c - 1) for c in deck)]))
        if place < alive:
            cards[robot] = 1 << (draw(st.sampled_from(sorted(hand))) - 1)
    return variant, games, cards


def played(variant: Variant, games: Games, cards: np.ndarray, reward: str = "win", limb_reward: float = 0) -> tuple[Games, Outcome]:
    """The games a round later, in arrays of their own."""
    after, (outcome, scratch) = copy_of(games), fresh(variant, len(games.rounds))
    rewards = variant.reward_of_finish(reward).astype(np.float32)
    play_round(variant.rules, after, cards, rewards, np.float32(limb_reward), scratch, outcome, 0, len(games.rounds))
    return after, outcome


def assert_same(variant: Variant, games: Games, outcome: Outcome, game: int, table) -> None:
    """The code's position and outcome of a game are those of the reference."""
    assert line_of(games, game) == table.line + table.out[::-1]
    assert games.limbs[:, game].tolist() == [robot.limbs for robot in table.robots]
    assert games.hand[:, game].tolist() == [mask_of(robot.hand) for robot in table.robots]
    assert [r for r in range(variant.robots) if outcome.bitten[r, game]] == [r for r in [table.rounds[-1].bitten] if r is not None]
    assert bool(outcome.over[game]) == table.over


@clause("G3.2", "G3.3", "G4.3", "G4.4", "G5.1")
@settings(max_examples=500)
@given(positions())
def test_a_round_is_what_the_procedure_at_the_table_gives(position):
    variant, games, cards = position
    table = table_at(variant, games, 0)
    table.play(cards_of_game(cards, 0))
    after, outcome = played(variant, games, cards)
    assert_same(variant, after, outcome, 0, table)
    assert after.played.tolist() == cards.tolist()
    assert after.rounds[0] == games.rounds[0] + 1
    for robot in table.robots:
        assert sorted(robot.hand + robot.table) == list(range(1, variant.cards + 1))


@settings(max_examples=300)
@given(positions(), st.data())
def test_it_does_not_matter_what_players_and_robots_are_called(position, data):
    variant, games, cards = position
    each = variant.robots_per_player
    player = np.array(data.draw(st.permutations(range(variant.players))))  # player p is now called player[p]
    swap = np.array(data.draw(st.lists(st.booleans(), min_size=variant.players, max_size=variant.players))) & (each == 2)
    robot = np.array([player[r // each] * each + ((r % each) ^ swap[r // each]) for r in range(variant.robots)])
    renamed, renamed_cards = new_games(variant.robots, 1), np.zeros_like(cards)
    for old, new in zip(games[:4], renamed[:4], strict=True):
        new[robot] = old
    renamed.rounds[:] = games.rounds
    renamed_cards[robot] = cards

    after, outcome = played(variant, games, cards, "placement", -0.5)
    after_renamed, outcome_renamed = played(variant, renamed, renamed_cards, "placement", -0.5)
    for old, new in zip((*after[:4], outcome.bitten), (*after_renamed[:4], outcome_renamed.bitten), strict=True):
        assert new[robot].tolist() == old.tolist()
    for old, new in zip((outcome.finish, outcome.reward), (outcome_renamed.finish, outcome_renamed.reward), strict=True):
        assert new[player].tolist() == old.tolist()
    assert outcome.over.tolist() == outcome_renamed.over.tolist()


@clause("G2.2", "G4.1", "G4.2", "G5.3", "G6.1", "G6.4", "G6.5")
@pytest.mark.parametrize("name", MANY_VARIANTS)
def test_whole_games(name):
    check_whole_games(parse_variant(name), seed=1)


@settings(max_examples=40)
@given(variants(), st.integers(0, 2**32 - 1))
def test_whole_custom_games(variant, seed):
    check_whole_games(variant, seed)


def check_whole_games(variant: Variant, seed: int) -> None:
    """24 games at random from random lines; three of them beside the reference."""
    rng, size = np.random.default_rng(seed), 24
    games = new_games(variant.robots, size)
    games.place[:] = rng.permuted(np.tile(np.arange(variant.robots, dtype=np.uint8)[:, None], size), axis=0)
    games.limbs[:], games.hand[:] = variant.limbs, variant.rules.deck
    tables = [table_at(variant, games, g) for g in range(3)]
    finish = np.zeros((variant.players, size), int)
    paid = {reward: np.zeros((variant.players, size)) for reward in Reward}
    length, playing = np.zeros(size, int), np.ones(size, bool)

    while playing.any():
        cards = random_cards(variant, games, rng)
        after, outcome = played(variant, games, cards)
        _, again = played(variant, games, cards, "placement")

        assert (np.sort(after.place, axis=0) == np.arange(variant.robots)[:, None]).all()
        assert (after.rounds == games.rounds + playing).all()
        bites = (playing & (games.rounds > 0)).astype(int)
        assert (outcome.bitten.sum(axis=0) == bites).all()
        assert (games.limbs - after.limbs == outcome.bitten).all()

        back = ((games.hand & ~cards) != after.hand) & playing  # took cards back: then all of them, and for one of the two reasons
        few = np.bitwise_count(games.hand & ~cards) <= variant.pick_up_at
        swims = (after.limbs > 0) & playing
        assert (back == (swims & (few | (outcome.bitten > 0)))).all()
        assert (after.hand[back] == variant.rules.deck).all()
        assert (np.bitwise_count(after.hand) > variant.pick_up_at)[after.limbs > 0].all()

        for before, then in zip(games, after, strict=True):  # what is finished stays
            assert (before[..., ~playing] == then[..., ~playing]).all()
        assert not any(array[..., ~playing].any() for array in outcome)

        assert ((outcome.finish == 0) | (finish == 0)).all()  # a fate is decided once
        assert (outcome.reward[outcome.finish == 0] == 0).all()
        finish += outcome.finish
        paid[Reward.WIN] += outcome.reward
        paid[Reward.PLACEMENT] += again.reward
        length[outcome.over > 0] = after.rounds[outcome.over > 0]
        for g, table in enumerate(tables):
            if playing[g]:
                table.play(cards_of_game(cards, g))
                assert_same(variant, after, outcome, g, table)
                assert {p: int(f) for p, f in enumerate(finish[:, g]) if f} == table.finish
        playing &= outcome.over == 0
        assert (((after.limbs > 0).sum(axis=0) > variant.last_line) == playing).all()
        games = after

    assert (np.sort(finish, axis=0) == np.arange(1, variant.players + 1)[:, None]).all()
    assert variant.least_rounds <= length.min()
    assert length.max() <= variant.most_rounds
    for reward, total in paid.items():
        np.testing.assert_allclose(total.sum(axis=0), 0, atol=1e-6)
        expected = np.vectorize(lambda place, kind=reward: pays(kind, variant.players, place))(finish)
        np.testing.assert_allclose(total, expected, atol=1e-6)


@clause("G6.5")
@pytest.mark.parametrize("longest", [False, True], ids=["shortest", "longest"])
@pytest.mark.parametrize("name", [*MANY_VARIANTS, "5p-half", "6p-half", "7p-half", "7p-32l"])
def test_the_bounds_on_the_length_of_a_game_are_reached(name, longest):
    """Play many games at random and go on from those that can still become the longest, or the shortest."""
    variant = parse_variant(name)
    rng, size = np.random.default_rng(1), 4096
    games = copy_of(start_position(variant, list(range(variant.robots))), np.zeros(size, np.intp))
    over = np.zeros(size, bool)
    while not over.any():
        games, outcome = played(variant, games, random_cards(variant, games, rng))
        over = outcome.over > 0
        if longest:
            on_the_way = ~over | (games.limbs.max(axis=0) == 1)
        else:
            on_the_way = (games.limbs == variant.limbs).sum(axis=0) >= variant.last_line
        assert on_the_way.any(), f"round {games.rounds[0]}"
        go_on = rng.choice(np.flatnonzero(on_the_way), size)
        games, over = copy_of(games, go_on), over[go_on]
    assert games.rounds[over.argmax()] == (variant.most_rounds if longest else variant.least_rounds)
