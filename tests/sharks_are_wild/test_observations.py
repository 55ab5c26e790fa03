"""What a player sees (S5), and what not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docs.tables import written
from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.notation import LETTERS, parse_action, parse_position, print_position
from getbit_env.sharks_are_wild.observations import Layout, Options, read, unseen
from getbit_env.sharks_are_wild.rules import BLOCK, KINDS, OVER, STOLEN, Games, new_games
from getbit_env.sharks_are_wild.variants import parse_variant
from tests.sharks_are_wild.play import MANY_VARIANTS, random_actions

clause = pytest.mark.clause
TWO = "sharks-2p-level2-9of"


def see(name: str, position: str, options: Options | None = None) -> tuple[Layout, np.ndarray, np.ndarray]:
    """Layout, observations `[P, D]` and masks `[P, A]` in a position."""
    variant = parse_variant(name)
    engine = Engine(variant, 1, options=options)
    for array, one in zip(engine.state, parse_position(variant, position, all_cards=False), strict=True):
        array[:] = one
    engine.observe()
    return engine.layout, engine.observation[0], engine.action_mask[0]


def cards(entries: np.ndarray, counts: tuple[int, ...]) -> str:
    """Cards of a field that counts them by kind."""
    ends = np.cumsum(counts)
    return "".join(LETTERS[kind] * int(part.sum()) for kind, part in enumerate(np.split(entries, ends[:-1])))


def in_hand(layout: Layout, seen: np.ndarray, player: int) -> str:
    counts = tuple(min(count, layout.variant.hand + 1) for count in layout.variant.counts)
    return cards(layout.field(seen, "hand")[player], counts)


@clause("S5", "S5.1")
def test_every_field_of_a_position():
    position = "12. B steals C high A3:S5/0138D B0:5/12277*22 C1:456S/013SO*S draw=04499 discard=O0066"
    layout, seen, _ = see("sharks-3p-level2-9of", position)
    for viewer, (own, others) in enumerate((("0138D", ("22", "S")), ("12277", ("S", "")), ("013SO", ("", "22")))):
        assert in_hand(layout, seen[viewer], 0) == own
        assert tuple(in_hand(layout, seen[viewer], k) for k in (1, 2)) == others
    seen = seen[1]  # B, then C, then A
    assert layout.field(seen, "coins").sum(axis=1).tolist() == [0, 1, 3]
    assert layout.field(seen, "low").tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert layout.field(seen, "high").tolist() == [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    numbers = [1, 2, 3, 4, 6, 7, 8, 9]
    assert [[n for n, on in zip(numbers, row, strict=True) if on] for row in layout.field(seen, "sharks")] == [[], [7], [4]]
    assert layout.field(seen, "hand_size").sum(axis=1).tolist() == [5, 5, 5]
    assert [LETTERS[k] for k in np.flatnonzero(layout.field(seen, "top"))] == ["O"]
    assert cards(layout.field(seen, "discard"), layout.variant.counts) == "0066O"
    assert layout.field(seen, "draw_size").sum() == 5
    assert layout.field(seen, "stage").tolist() == [0, 0, 1]
    assert layout.field(seen, "turn").tolist() == [1, 0, 0]
    assert layout.field(seen, "victim").tolist() == [0, 1, 0]
    assert layout.field(seen, "end").tolist() == [0, 1]
    with pytest.raises(KeyError, match="no field 'limbs'; there are coins, low"):
        layout.field(seen, "limbs")


@clause("S5")
def test_level_one_shows_all_hands_and_open_hands_do_at_level_two():
    position = "0. A draw A0:5/01237 B0:5/00111 draw=89 discard=23"
    for name, options in (("sharks-2p-level1-9of", None), (TWO, Options(open_hands=True))):
        layout, seen, _ = see(name, position, options)
        assert [in_hand(layout, seen[0], k) for k in (0, 1)] == ["01237", "00111"]
        assert [in_hand(layout, seen[1], k) for k in (0, 1)] == ["00111", "01237"]


@clause("S5.1")
def test_a_card_openly_taken_is_known_until_its_owner_lets_one_of_its_kind_go():
    variant = parse_variant(TWO)
    engine = Engine(variant, 1, seed=0)
    start = "0. A draw A0:5/01777 B0:5/00111 draw=8999 discard=7"
    for array, one in zip(engine.state, parse_position(variant, start, all_cards=False), strict=True):
        array[:] = one
    known = []
    for decision in ("takes 7", "discards 0", "draws", "discards 0", "draws", "discards 7", "draws", "discards 0"):
        engine.play(np.full((1, 2), parse_action(variant, engine.state, decision)))
        engine.observe()
        known.append(in_hand(engine.layout, engine.observation[0, 1], 1))
    assert known == ["7", "7", "7", "7", "7", "", "", ""]  # A still has three 7s, but nobody saw those
    assert "A0:5/17779" in print_position(variant, engine.state)


@clause("S5.2")
@pytest.mark.parametrize("stage", ["B draw", "B play", "B steals A low"])
def test_positions_that_differ_in_what_is_hidden_look_alike(stage):
    """Another's hand, what lies in the draw pile and in which order, and what lies below the top of the discard pile."""
    extra = "1" if stage == "B play" else ""
    one = f"3. {stage} A1:45/01239 B1:567/0188S{extra}*8 C0:5/0012O draw=0449D discard=O123"
    other = f"3. {stage} A1:45/01239 B1:567/2248D{extra}*8 C0:5/0018S draw=90O4S discard=O321"
    layout, seen, masks = see("sharks-3p-level2-9of", one)
    _, seen_other, masks_other = see("sharks-3p-level2-9of", other)
    assert (seen[0] == seen_other[0]).all()
    assert (masks[0] == masks_other[0]).all()
    for viewer in (1, 2):
        assert not (seen[viewer] == seen_other[viewer]).all()
    assert layout.size == seen.shape[1]


@clause("S3", "S5.2")
def test_being_asked_to_block_tells_nothing_of_a_dolphin():
    """Whatever the victim holds, the thief and everybody else see the same, and the victim's answer is awaited."""
    position = "3. B steals A low A1:45/0123{} B1:567/0188S C0:5/0012O draw=0449D discard=O123"
    engines = [see("sharks-3p-level2-9of", position.format(card)) for card in "D9"]
    (_, with_dolphin, masks), (_, without, other_masks) = engines
    assert (with_dolphin[1:] == without[1:]).all()
    assert (masks[1:] == other_masks[1:]).all()
    assert np.flatnonzero(masks[0]).tolist() == [2, 26]
    assert np.flatnonzero(other_masks[0]).tolist() == [2]
    assert masks[1:].all(), "the mask of one who has nothing to decide is all ones"


@clause("S5")
@pytest.mark.parametrize("name", ["sharks-4p-level2", "sharks-3p-level1", MANY_VARIANTS[-1]])
def test_the_same_situation_looks_the_same_from_every_seat(name):
    """Positions with their seats moved on, played on at random."""
    variant = parse_variant(name)
    engine, moved = Engine(variant, 8, seed=2), Engine(variant, 8, seed=2)
    engine.start()
    players = variant.players
    number = asked = 0
    while (engine.state.stage != OVER).any():
        actions = random_actions(engine, number)
        for field, array in engine.state._asdict().items():
            copy = getattr(moved.state, field)
            copy[:] = array
            if field in ("hand", "taken", "low", "high", "sharks", "coins"):
                copy[:] = np.roll(array, 1, axis=1)
            elif field in ("player", "victim"):
                grabs = np.isin(engine.state.stage, (BLOCK, STOLEN))
                copy[:] = np.where((field == "player") | grabs, (array + 1) % players, array)
        moved.observe()
        assert (np.roll(engine.observation, 1, axis=1) == moved.observation).all()
        assert (np.roll(engine.action_mask, 1, axis=1) == moved.action_mask).all()
        asked += (engine.state.stage == BLOCK).sum()
        engine.play(actions)
        number += 1
    assert asked > 0 or variant.level == 1


def known_position(games: Games, g: int, viewer: int, players: int, open_hands: bool) -> dict[str, list[int]]:
    """What a viewer knows of a position, the viewer first."""
    order = [(viewer + k) % players for k in range(players)]
    hands = games.hand if open_hands else games.taken
    discard = games.discard[g, : games.discard_size[g]].tolist()
    return {
        **{field: getattr(games, field)[g, order].tolist() for field in ("low", "high", "sharks")},
        "hand": [games.hand[g, viewer].tolist(), *hands[g, order[1:]].tolist()],
        "piles": [int(games.draw_size[g]), *sorted(discard), *discard[-1:]],
        "who": [(int(games.player[g]) - viewer) % players, int(games.stage[g])],
    }


@clause("S5", "S3.1")
def test_where_a_thief_chooses_the_grabbed_card_is_shown_in_the_same_fields():
    """The observation has the same shape in all readings; the victim tells the choice from that of a card of the hand."""
    name = "sharks-3p-level2-9of-maydecline"
    layout, seen, mask = see(name, "3. A stole C high A0:5/0138D B0:5/12277 C0:56/0137O draw=0449 discard=O0066")
    assert layout.size == Layout(parse_variant("sharks-3p-level2-9of")).size
    assert [layout.field(row, "stage").tolist() for row in seen] == [[0, 1, 0]] * 3
    assert [layout.field(row, "victim").tolist() for row in seen] == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert [layout.field(row, "end").tolist() for row in seen] == [[0, 1]] * 3
    assert np.flatnonzero(mask[0]).tolist() == [8, 19]  # plays 6, discards 6
    assert (mask[1:] == 1).all(), "the victim is not asked"
    assert "whose card was stolen" in layout.table()
    assert "whose card was stolen" not in Layout(parse_variant("sharks-3p-level2-9of")).table()
    games = new_games(parse_variant(name).rules, 1)
    read(layout.view, seen[0], games, 0)
    assert (games.stage[0], games.player[0], games.victim[0], games.end[0]) == (STOLEN, 0, 2, 1)


@clause("S5")
@pytest.mark.parametrize("name", MANY_VARIANTS)
def test_an_observation_tells_the_position_as_far_as_the_viewer_knows_it(name):
    """`read` gets back all that the viewer knows, `unseen` counts the rest: so the observation lacks nothing."""
    variant = parse_variant(name)
    engine = Engine(variant, 5, seed=8)
    engine.start()
    number, again, rest = 0, new_games(variant.rules, 1), np.zeros(KINDS, np.int64)
    while (engine.state.stage != OVER).any():
        actions = random_actions(engine, number)
        for g in np.flatnonzero(engine.state.stage != OVER).tolist():
            for viewer in range(variant.players):
                read(engine.layout.view, engine.observation[g, viewer], again, 0)
                wanted = known_position(engine.state, g, viewer, variant.players, variant.level == 1)
                assert known_position(again, 0, 0, variant.players, True) == wanted
                assert again.coins[0].tolist() == np.roll(engine.state.coins[g], -viewer).tolist()
                if engine.state.stage[g] in (BLOCK, STOLEN):
                    assert (again.victim[0] + viewer) % variant.players == engine.state.victim[g]
                    assert again.end[0] == engine.state.end[g]
                unseen(engine.layout.view, again, 0, rest)
                hidden = engine.state.hand[g].sum() - again.hand[0].sum()
                assert rest.sum() == hidden + engine.state.draw_size[g]
                assert rest.min() >= 0
        engine.play(actions)
        number += 1


def test_who_decides_nothing_sees_nothing_if_so_asked_and_rows_can_be_left_alone():
    engine = Engine(parse_variant("sharks-2p-level2"), 3, seed=1)
    engine.start()
    engine.observation[:] = engine.action_mask[:] = 7
    engine.observe(np.array([0, 1, 2], np.uint8))
    decides = engine.choosing().argmax(axis=1)
    assert (engine.observation[0] == 7).all()
    assert (engine.action_mask[0] == 7).all()
    assert engine.observation[1, decides[1]].any()
    assert not engine.observation[1, 1 - decides[1]].any()
    assert engine.observation[2].any(axis=1).all()
    assert engine.action_mask[1, 1 - decides[1]].all()


@pytest.mark.parametrize("name", MANY_VARIANTS)
def test_the_fields_fill_the_observation_and_lie_in_its_bounds(name):
    variant = parse_variant(name)
    for options in (Options(), Options(open_hands=True)):
        layout = Layout(variant, options)
        ends = 0
        for field in layout.block_fields.values():
            assert field.start == ends
            ends += field.size
        assert ends == layout.block
        ends *= variant.players
        for field in layout.game_fields.values():
            assert field.start == ends
            ends += field.size
        assert ends == layout.size


def test_the_page_shows_what_code_prints():
    page = Path(__file__).parents[2] / "docs" / "sharks_are_wild.md"
    assert page.read_text().count("<!-- table:") == 5
    assert written(page.read_text()) == page.read_text(), "run python -m docs.tables"
