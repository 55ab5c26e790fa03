"""What players see and may do: the layout as documented, nothing more, and the same from every seat (G7)."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from getbit_env.get_bit import observations
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import cards_of, mask_of, parse_position, robot_name, robot_number
from getbit_env.get_bit.observations import Layout, Options, actions_to_cards
from getbit_env.get_bit.variants import Variant, parse_variant
from tests.get_bit.play import cards_in, cards_of_game, line_of, random_cards, table_at
from tests.get_bit.reference import Table

clause = pytest.mark.clause

FACE_UP = ["2p", "3p", "4p", "5p-half", "6p", "7p", "3p-1r", "2p-pick1", "3p-literal"]
MEMORY = ["2p-memory", "3p-memory", "4p-memory", "5p-half-memory", "6p-memory", "7p-memory"]
OPTIONS = [Options(), Options(observe_last=True), Options(identity=True), Options(history=True), Options(True, True, True)]
# The memory game shows last cards and identities anyway.
LAYOUTS = [*product(FACE_UP, OPTIONS), *product(MEMORY, [Options(), Options(history=True)])]


def option_names(value) -> str:
    """For the names of tests."""
    return "+".join(name for name, on in vars(value).items() if on) or "plain" if isinstance(value, Options) else str(value)


def engine_at(name: str, position: str, *, options: Options | None = None, start: str = "", played: str = "") -> Engine:
    """One game in a position, with the starting line and the last cards where they matter."""
    variant = parse_variant(name)
    engine = Engine(variant, 1, seed=0, options=options)
    for array, parsed in zip(engine.state, parse_position(variant, position), strict=True):
        array[:] = parsed
    if start:
        engine.record.start[[robot_number(variant, robot) for robot in start.split()], 0] = np.arange(variant.robots)
    engine.state.played[:] = cards_in(variant, played)
    engine.observe()
    return engine


def digits(text: str) -> list[int]:
    """`10 111 | 0` as a vector."""
    return [int(digit) for digit in text if digit in "01"]


def ones(count: int, size: int) -> list[int]:
    return [int(i < count) for i in range(size)]


def one_hot(index: int, size: int) -> list[int]:
    return [int(i == index) for i in range(size)]


def in_hand(hand: list[int], size: int) -> list[int]:
    return [int(c + 1 in hand) for c in range(size)]


def renamed(engine: Engine, player: list[int], *, swap: bool = False) -> Engine:
    """The same games, all the way, where player `p` is called `player[p]`, and perhaps its two robots change names."""
    variant, each = engine.variant, engine.variant.robots_per_player
    robot = [player[r // each] * each + (r % each ^ (swap and each == 2)) for r in range(variant.robots)]
    other = Engine(variant, engine.size, seed=0, options=engine.layout.options)
    for old, new in zip((*engine.state[:-1], *engine.record), (*other.state[:-1], *other.record), strict=True):
        new[..., robot, :] = old
    other.state.rounds[:] = engine.state.rounds
    return other


def random_games(variant: Variant, options: Options | None = None, size: int = 24, seed: int = 3):
    """Every position of some games played at random, from the start to the last end: the engine, having observed."""
    engine, rng = Engine(variant, size, seed=seed, options=options), np.random.default_rng(seed)
    engine.start()
    engine.observe()
    yield engine
    while playing(engine).any():
        engine.play_cards(random_cards(variant, engine.state, rng))
        engine.observe()
        yield engine


def playing(engine: Engine) -> np.ndarray:
    """`[G]`: the game is not over."""
    return (engine.state.limbs > 0).sum(axis=0) > engine.variant.last_line


# --- the layout ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), LAYOUTS, ids=option_names)
def test_fields_lie_side_by_side_and_fill_the_observation(name, options):
    layout = Layout(parse_variant(name), options)
    robots, next_entry = layout.variant.robots, 0
    for field in layout.block_fields.values():
        assert (field.start, field.slice) == (next_entry, slice(next_entry, next_entry + field.size))
        next_entry += field.size
    assert next_entry == layout.block
    next_entry *= robots
    for field in layout.game_fields.values():
        assert (field.start, field.slice) == (next_entry, slice(next_entry, next_entry + field.size))
        next_entry += field.size
    assert next_entry == layout.size
    vector = np.arange(layout.size)
    assert layout.blocks(vector)[2].tolist() == list(range(2 * layout.block, 3 * layout.block))
    hand = layout.block_fields["hand"]
    assert layout.field(vector, "hand")[1].tolist() == list(range(layout.block + hand.start, layout.block + hand.start + hand.size))
    assert layout.field(vector[None], "first_round").tolist() == [[robots * layout.block]]


def test_the_documented_table_names_every_field_and_its_entries():
    rows = [row.strip("| ").split(" | ") for row in Layout(parse_variant("4p-memory")).table().splitlines()]
    assert rows == [
        ["index", "field", "entries"],
        ["---", "---", "---"],
        [
            *("23k + 0..3", "`seat` of the robot in place k"),
            "whose robot it is, one-hot: 0 the viewer, 1 the next seat after the viewer, ...",
        ],
        [
            *("23k + 4..7", "`limbs` of the robot in place k"),
            "entry k: the robot has more than k bites left (entry 0: it is in the line)",
        ],
        [
            *("23k + 8..12", "`hand` of the robot in place k"),
            "of the viewer's own robots (zero for others): card k+1 is in its hand",
        ],
        ["23k + 13..17", "`hand_size` of the robot in place k", "entry k: its hand has more than k cards"],
        [
            *("23k + 18..22", "`last` of the robot in place k"),
            "one-hot: the card that it played in the last round (zero before the first)",
        ],
        ["92", "`first_round`", "1 in the first round, in which nobody is bitten"],
    ]


@pytest.mark.parametrize("name", MEMORY)
def test_the_memory_game_shows_last_cards_and_identities_anyway(name):
    plain, asked = (Layout(parse_variant(name), options) for options in (Options(), Options(observe_last=True, identity=True)))
    assert (asked.block_fields, asked.game_fields) == (plain.block_fields, plain.game_fields)
    assert {"seat", "last"} <= plain.block_fields.keys()


def test_a_field_that_a_layout_does_not_have_is_an_error_that_lists_those_it_has():
    layout = Layout(parse_variant("4p"))
    with pytest.raises(KeyError, match="no field 'seat'; there are owner, limbs, hand, first_round"):
        layout.field(np.zeros(layout.size), "seat")


# --- positions by hand -----------------------------------------------------------------------------------------------------


@clause("G7.1", "G7.2")
@pytest.mark.parametrize(
    ("name", "position", "viewer", "sees"),
    [
        # owner limbs hand, a block a place
        (
            *("4p", "3. C4:12345 A2:135/24 B3:1345/2 ~ D0:12/345", "A"),
            "0 1111 11111 | 1 1100 10101 | 0 1110 10111 | 0 0000 00000 | 0",
        ),
        (
            *("4p", "3. C4:12345 A2:135/24 B3:1345/2 ~ D0:12/345", "B"),
            "0 1111 11111 | 0 1100 10101 | 1 1110 10111 | 0 0000 00000 | 0",
        ),
        (
            *("4p", "3. C4:12345 A2:135/24 B3:1345/2 ~ D0:12/345", "D"),
            "0 1111 11111 | 0 1100 10101 | 0 1110 10111 | 0 0000 00000 | 0",
        ),
        ("4p-3c-2l", "0. B2:123 D2:123 A2:123 C2:123", "D", "0 11 111 | 1 11 111 | 0 11 111 | 0 11 111 | 1"),
        ("2p-3c-2l", "1. b2:123 A1:123 a2:123 B2:123", "B", "1 11 111 | 0 10 111 | 0 11 111 | 1 11 111 | 0"),
        # three players: owner is the viewer, the opponent who comes first in the line, the other one
        (
            *("3p-4c-1l-pick1", "1. c1:1234 B1:124/3 A1:123/4 b1:14/23 a1:134/2 C1:234/1", "A"),
            "010 1 1111 | 001 1 1101 | 100 1 1110 | 001 1 1001 | 100 1 1011 | 010 1 0111 | 0",
        ),
        (
            *("3p-4c-1l-pick1", "1. c1:1234 B1:124/3 A1:123/4 b1:14/23 a1:134/2 C1:234/1", "C"),
            "100 1 1111 | 010 1 1101 | 001 1 1110 | 010 1 1001 | 001 1 1011 | 100 1 0111 | 0",
        ),
    ],
)
def test_the_face_up_game_by_hand(name, position, viewer, sees):
    engine = engine_at(name, position)
    assert engine.observation[0, "ABCDEFG".index(viewer)].tolist() == digits(sees)


@clause("G7.1", "G7.3")
def test_the_memory_game_by_hand():
    """Seat, limbs, own hand, size of the hand, last card; D went out in the round just played."""
    position = "3. C3:12345 A2:135/24 B3:1345/2 ~ D0:12/345"
    engine = engine_at("4p-memory", position, played="A4 B2 C5 D5")
    sees = {
        "A": "0010 1110 00000 11111 00001 | 1000 1100 10101 11100 00010 | 0100 1110 00000 11110 01000",
        "B": "0100 1110 00000 11111 00001 | 0001 1100 00000 11100 00010 | 1000 1110 10111 11110 01000",
        "C": "1000 1110 11111 11111 00001 | 0010 1100 00000 11100 00010 | 0001 1110 00000 11110 01000",
        "D": "0001 1110 00000 11111 00001 | 0100 1100 00000 11100 00010 | 0010 1110 00000 11110 01000",
    }
    for viewer, vector in enumerate(engine.observation[0].astype(int).tolist()):
        assert vector == [*digits(sees["ABCD"[viewer]]), *[0] * 23, 0]


@clause("G7.1")
def test_two_robots_of_a_player_can_be_told_apart_in_the_memory_game():
    """Seat, number (0: nearer the front at the start), limbs, own hand, size of the hand, last card."""
    position = "1. b1:124/3 A1:134/2 a1:123/4 B1:234/1"
    engine = engine_at("2p-4c-1l-pick1-memory", position, start="a B A b", played="A2 a4 B1 b3")
    assert engine.observation[0, 0].tolist() == digits(
        "01 01 1 0000 1110 0010 | 10 01 1 1011 1110 0100 | 10 10 1 1110 1110 0001 | 01 10 1 0000 1110 1000 | 0"
    )
    assert engine.observation[0, 1].tolist() == digits(
        "10 01 1 1101 1110 0010 | 01 01 1 0000 1110 0100 | 01 10 1 0000 1110 0001 | 10 10 1 0111 1110 1000 | 0"
    )


def test_the_history_by_hand():
    """The smallest game: three robots, three cards, one limb; the first round is the only one with a next."""
    engine = Engine(parse_variant("3p-1r-3c-1l"), 1, seed=0, options=Options(history=True))
    engine.start(starts=[[2, 0, 1]])
    engine.observe()
    start = "010 001 100"  # places of A, B, C
    assert engine.observation[0, 0].tolist() == digits("0 1 111 | 1 1 111 | 0 1 111 | 1 |" + start + 3 * "000 000 0")
    engine.play_cards(cards_in(engine.variant, "A2 B3 C2"))  # B leads; C, A tied; nobody is bitten
    engine.observe()
    a, b, c = "010 001 0", "001 100 0", "010 010 0"  # card, place, bitten
    assert engine.observation[0, 0].tolist() == digits("0 1 111 | 0 1 111 | 1 1 111 | 0" + "010 001 100" + a + b + c)
    assert engine.observation[0, 1].tolist() == digits("1 1 111 | 0 1 111 | 0 1 111 | 0" + "001 100 010" + b + c + a)
    assert engine.observation[0, 2].tolist() == digits("0 1 111 | 1 1 111 | 0 1 111 | 0" + "100 010 001" + c + a + b)


# --- every position of random games ----------------------------------------------------------------------------------------


def expected(layout: Layout, table: Table, viewer: int, start: list[int]) -> np.ndarray:
    """The observation as the layout's documentation has it, from the game on the table, field by field."""
    variant = layout.variant
    cards, robots, players = variant.cards, variant.robots, variant.players
    vector = np.zeros(layout.size, np.float32)
    owner = [robot.owner for robot in table.robots]
    opponents = list(dict.fromkeys(owner[r] for r in table.line if owner[r] != viewer))
    number = {r: sorted((s for s in range(robots) if owner[s] == owner[r]), key=start.index).index(r) for r in range(robots)}
    last = table.rounds[-1].cards if table.rounds else {}
    for place, r in enumerate(table.line):
        robot, mine = table.robots[r], owner[r] == viewer
        whose = 0 if mine else 1 + opponents.index(owner[r])
        entries = {
            "owner": one_hot(whose, 3) if (players, variant.robots_per_player) == (3, 2) else [int(mine)],
            "seat": one_hot((owner[r] - viewer) % players, players),
            "number": one_hot(number[r], 2),
            "limbs": ones(robot.limbs, variant.limbs),
            "hand": in_hand(robot.hand if mine or not variant.memory else [], cards),
            "hand_size": ones(len(robot.hand), cards),
            "last": one_hot(last[r] - 1, cards) if last else [0] * cards,
        }
        for name, field in layout.block_fields.items():
            vector[place * layout.block :][field.slice] = entries[name]
    vector[layout.game_fields["first_round"].slice] = not table.rounds
    if layout.options.history:
        by_seat = sorted(range(robots), key=lambda r: ((owner[r] - viewer) % players, number[r]))
        vector[layout.game_fields["start"].slice] = np.concatenate([one_hot(start.index(r), robots) for r in by_seat])
        history = []
        for past in table.rounds[: layout.history_rounds]:
            for r in by_seat:
                history += one_hot(past.cards[r] - 1, cards) if r in past.cards else [0] * cards
                history += one_hot(past.line.index(r), robots) if r in past.line else [0] * robots
                history += [int(past.bitten == r)]
        at = layout.game_fields["history"].start
        vector[at : at + len(history)] = history
    return vector


@clause("G7.1", "G7.2", "G7.3")
@pytest.mark.parametrize(("name", "options"), LAYOUTS, ids=option_names)
def test_every_field_says_what_is_documented(name, options):
    variant = parse_variant(name)
    engine, rng = Engine(variant, 3, seed=7, options=options), np.random.default_rng(7)
    engine.start()
    tables = [table_at(variant, engine.state, g) for g in range(3)]
    starts = [line_of(engine.state, g) for g in range(3)]
    while True:
        engine.observation[:] = np.nan  # every entry is written anew
        engine.observe()
        for g, (table, start) in enumerate(zip(tables, starts, strict=True)):
            for viewer in range(variant.players):
                np.testing.assert_array_equal(engine.observation[g, viewer], expected(engine.layout, table, viewer, start))
        if all(table.over for table in tables):
            break
        cards = random_cards(variant, engine.state, rng)
        for g, table in enumerate(tables):
            if not table.over:
                table.play(cards_of_game(cards, g))
        engine.play_cards(cards)


@pytest.mark.parametrize(("name", "options"), LAYOUTS, ids=option_names)
def test_every_entry_is_zero_or_one_and_whose_robots_are_the_viewers_can_be_read(name, options):
    variant = parse_variant(name)
    owner = np.arange(variant.robots) // variant.robots_per_player
    for engine in random_games(variant, options, size=6):
        assert np.isin(engine.observation, (0, 1)).all()
        assert np.isin(engine.action_mask, (0, 1)).all()
        for g in range(6):
            line = line_of(engine.state, g)
            alive = engine.state.limbs[line, g] > 0
            for viewer in range(variant.players):
                mine = engine.layout.mine(engine.observation[g, viewer])
                assert mine.tolist() == ((owner[line] == viewer) & alive).tolist()


# --- the same from every seat ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), LAYOUTS, ids=option_names)
def test_the_decoder_reads_what_was_written(name, options):
    variant = parse_variant(name)
    each, view = variant.robots_per_player, Layout(variant, options).view
    for engine in random_games(variant, options, size=2):
        state, record, seen = engine.state, engine.record, engine.observation.reshape(-1, engine.layout.size)
        for viewer, g in product(range(variant.players), range(2)):
            row = (view, seen, g * variant.players + viewer)
            assert observations.reads_first_round(*row) == (state.rounds[g] == 0)
            order, fronts = np.argsort(state.place[:, g]), []
            for k, robot in enumerate(order.tolist()):
                here = (*row, k)
                assert observations.reads_in_line(*here) == (state.limbs[robot, g] > 0)
                assert observations.read_limbs(*here) == state.limbs[robot, g]
                if state.limbs[robot, g] == 0:
                    continue
                owner = robot // each
                fronts += [owner] if owner != viewer and owner not in fronts else []
                seat = (owner - viewer) % variant.players
                if view.seat < 0 and seat > 0:  # opponents are told apart, if at all, by who is ahead
                    seat = 1 + fronts.index(owner) if view.owner_size == 3 else 1
                assert observations.reads_own(*here) == (owner == viewer)
                assert observations.read_seat(*here) == seat
                behind = each == 2 and record.start[robot, g] > record.start[robot ^ 1, g]
                assert observations.read_number(*here) == (behind if view.number >= 0 else 0)
                if not view.hidden or owner == viewer:
                    assert observations.read_hand(*here) == state.hand[robot, g]
                else:
                    assert observations.read_hand(*here) == 0
                if view.hidden:
                    assert observations.reads_full_hand(*here) == (state.hand[robot, g] == variant.rules.deck)
                if view.last >= 0:
                    assert observations.read_last(*here) == state.played[robot, g]


@pytest.mark.parametrize(("name", "options"), LAYOUTS, ids=option_names)
def test_the_same_situation_is_the_same_vector_from_every_seat(name, options):
    """Everybody moves on by some seats, and the names of a player's two robots are exchanged."""
    variant = parse_variant(name)
    for number, engine in enumerate(random_games(variant, options, size=8)):
        by = 1 + number % (variant.players - 1)
        player = [(p + by) % variant.players for p in range(variant.players)]
        other = renamed(engine, player, swap=number % 2 == 0)
        other.observe()
        np.testing.assert_array_equal(other.observation[:, player], engine.observation)
        np.testing.assert_array_equal(other.action_mask[:, player], engine.action_mask)


@clause("G7.1")
@pytest.mark.parametrize("options", [Options(), Options(observe_last=True)], ids=option_names)
@pytest.mark.parametrize("name", FACE_UP)
def test_the_face_up_vector_does_not_depend_on_what_others_are_called(name, options):
    variant = parse_variant(name)
    names = list(permutations(range(variant.players)))
    for number, engine in enumerate(random_games(variant, options, size=8)):
        player = list(names[(number * 37 + 1) % len(names)])
        other = renamed(engine, player, swap=number % 2 == 0)
        other.observe()
        np.testing.assert_array_equal(other.observation[:, player], engine.observation)
        np.testing.assert_array_equal(other.action_mask[:, player], engine.action_mask)


def test_names_do_tell_opponents_apart_with_identities():
    """The negative of the test before: exchange two opponents, and who wants to see identities sees it."""
    for name, options in (("4p", Options(identity=True)), ("3p", Options(identity=True)), ("4p-memory", Options())):
        variant = parse_variant(name)
        engine = Engine(variant, 1, seed=1, options=options)
        engine.start()
        engine.observe()
        other = renamed(engine, [0, 2, 1, *range(3, variant.players)])
        other.observe()
        assert (other.observation[0, 0] != engine.observation[0, 0]).any()


# --- the position and nothing else -----------------------------------------------------------------------------------------


def position_read_from(layout: Layout, vector: np.ndarray) -> tuple:
    """What a face-up observation says, in words: robots in the line front to back, and whether it is the first round."""
    robots = []
    for block in layout.blocks(vector):
        owner, limbs, hand = (block[layout.block_fields[field].slice].astype(int).tolist() for field in ("owner", "limbs", "hand"))
        if limbs[0]:
            whose = "viewer" if owner[0] else f"opponent {owner.index(1)}" if len(owner) == 3 else "opponent"
            robots.append((whose, sum(limbs), [c for c, held in enumerate(hand, 1) if held]))
    return robots, bool(vector[layout.game_fields["first_round"].start])


def position_of(variant: Variant, engine: Engine, game: int, viewer: int) -> tuple:
    """The same from the position itself, opponents without names."""
    robots, opponents = [], []
    for r in line_of(engine.state, game):
        owner, limbs = r // variant.robots_per_player, int(engine.state.limbs[r, game])
        if limbs == 0:
            continue
        if owner != viewer and owner not in opponents:
            opponents.append(owner)
        whose = "viewer" if owner == viewer else "opponent"
        if whose == "opponent" and (variant.players, variant.robots_per_player) == (3, 2):
            whose += f" {1 + opponents.index(owner)}"
        robots.append((whose, limbs, cards_of(engine.state.hand[r, game])))
    return robots, bool(engine.state.rounds[game] == 0)


@clause("G7.1", "G7.2")
@pytest.mark.parametrize("name", FACE_UP)
def test_the_face_up_vector_tells_the_whole_position(name):
    variant = parse_variant(name)
    for engine in random_games(variant, size=5):
        for g in range(5):
            for viewer in range(variant.players):
                seen = position_read_from(engine.layout, engine.observation[g, viewer])
                assert seen == position_of(variant, engine, g, viewer)


@clause("G7.1")
@pytest.mark.parametrize("name", FACE_UP)
def test_the_face_up_vector_tells_nothing_of_how_the_position_came_about(name):
    """Other rounds played, other last cards, another starting line, robots that went out in another order or with other hands."""
    variant, rng = parse_variant(name), np.random.default_rng(1)
    for engine in random_games(variant):
        before = engine.observation.copy(), engine.action_mask.copy()
        state, size = renamed(engine, list(range(variant.players))), engine.size
        out = state.state.limbs == 0
        state.state.rounds[:] = np.where(engine.state.rounds > 0, rng.integers(1, 100, size), 0)
        state.state.played[:] = 1 << rng.integers(0, variant.cards, (variant.robots, size))
        state.state.hand[out] = rng.integers(0, 1 << variant.cards, int(out.sum()))
        for g in range(size):
            gone = np.flatnonzero(out[:, g])
            state.state.place[gone, g] = rng.permutation(state.state.place[gone, g])
        state.record.start[:] = rng.permuted(state.record.start, axis=0)
        state.observe()
        np.testing.assert_array_equal(state.observation, before[0])
        np.testing.assert_array_equal(state.action_mask, before[1])


# --- what is hidden --------------------------------------------------------------------------------------------------------


@clause("G7.3")
@pytest.mark.parametrize("options", [Options(), Options(history=True)], ids=option_names)
@pytest.mark.parametrize("name", MEMORY)
def test_the_memory_game_does_not_show_the_hands_of_others(name, options):
    """Others hold other cards, as many as before: the viewer sees no difference, and the others themselves do."""
    variant, rng = parse_variant(name), np.random.default_rng(1)
    owner = np.arange(variant.robots) // variant.robots_per_player
    changed = 0
    for engine in random_games(variant, options, size=6):
        for viewer in range(variant.players):
            other = renamed(engine, list(range(variant.players)))
            for r in np.flatnonzero(owner != viewer):
                for g in range(engine.size):
                    count = int(engine.state.hand[r, g]).bit_count()
                    other.state.hand[r, g] = mask_of((1 + rng.choice(variant.cards, count, replace=False)).tolist())
            other.observe()
            np.testing.assert_array_equal(other.observation[:, viewer], engine.observation[:, viewer])
            np.testing.assert_array_equal(other.action_mask[:, viewer], engine.action_mask[:, viewer])
            changed += (other.observation != engine.observation).any()
    assert changed


@clause("G7.3")
@pytest.mark.parametrize("name", MEMORY)
def test_who_remembers_everything_loses_nothing(name):
    """From the stream of what one player sees in the memory game follows the observation of the face-up game."""
    variant = parse_variant(name)
    face_up = Layout(parse_variant(name.replace("-memory", "")), Options(identity=True))
    size = 8
    remembered = [[{} for _ in range(variant.players)] for _ in range(size)]  # hands by (seat, number)
    for engine in random_games(variant, size=size):
        truth = engine.observe_as(face_up)
        for g in range(size):
            for viewer in range(variant.players):
                hands, seen = remembered[g][viewer], engine.observation[g, viewer]
                told = face_up.blocks(np.zeros(face_up.size, np.float32)).copy()
                for place, block in enumerate(engine.layout.blocks(seen).astype(bool)):
                    parts = {field: block[layout_field.slice] for field, layout_field in engine.layout.block_fields.items()}
                    if not parts["limbs"][0]:
                        continue
                    number = parts.get("number", np.array([True]))
                    key = (int(parts["seat"].argmax()), int(number.argmax()))
                    hand = hands.setdefault(key, np.ones(variant.cards, bool))
                    hand &= ~parts["last"]
                    if parts["hand_size"].all():
                        hand[:] = True
                    assert hand.sum() == parts["hand_size"].sum()
                    parts["hand"] = hand
                    told[place] = np.concatenate([parts[field] for field in face_up.block_fields])
                np.testing.assert_array_equal(told, face_up.blocks(truth[g, viewer]))
        if not playing(engine).all():
            break


@clause("G7.4", "G2.1")
@pytest.mark.parametrize("name", ["2p", "3p-memory", "4p", "4p-memory"])
def test_a_choice_shows_nowhere_before_all_are_made(name):
    variant, rng = parse_variant(name), np.random.default_rng(1)
    for engine in random_games(variant, Options(True, True, True), size=6):
        before = engine.observation.copy(), engine.action_mask.copy()
        actions = rng.integers(0, variant.actions, (6, variant.players))
        cards, replaced = np.zeros((variant.robots, 6), np.uint8), np.zeros((6, variant.players), np.uint8)
        actions_to_cards(engine.layout.view, engine.state, actions, cards, replaced, 0, 6)
        assert cards.any()
        engine.observe()
        np.testing.assert_array_equal(engine.observation, before[0])
        np.testing.assert_array_equal(engine.action_mask, before[1])


# --- who is out ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["4p", "4p-memory"])
def test_what_is_shown_to_players_who_are_out(name):
    position = "9. C3:12345 A2:135/24 B3:1345/2 ~ D0:12/345"
    engine = engine_at(name, position)
    looking_on = engine.observation.copy()
    assert looking_on[0, 3].any()
    engine.observation[:], engine.action_mask[:] = 7, 7
    engine.observe(np.array([0], np.uint8))
    assert (engine.observation == 7).all()
    assert (engine.action_mask == 7).all()
    engine.observe(np.array([1], np.uint8))
    np.testing.assert_array_equal(engine.observation[0, :3], looking_on[0, :3])
    assert not engine.observation[0, 3].any()
    assert engine.action_mask[0].tolist() == [[1, 0, 1, 0, 1], [1, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]]
    engine.observe(np.array([2], np.uint8))
    np.testing.assert_array_equal(engine.observation, looking_on)


def test_a_finished_game_shows_its_last_position_or_nothing():
    engine = engine_at("4p", "13. A2:12345 B1:134/25 ~ C0:2345/1 D0:12345")
    assert engine.observation[0, 0].tolist() == digits("1 1100 11111 | 0 1000 10110") + [0] * 21
    assert engine.action_mask.all()
    engine.observe(np.array([1], np.uint8))
    assert not engine.observation.any()
    assert engine.action_mask.all()


# --- actions ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FACE_UP + MEMORY)
def test_masks_hold_the_cards_of_the_hands_and_are_never_empty(name):
    """With two robots: card of the one in front times the number of cards, plus that of the other, whatever they are called."""
    variant = parse_variant(name)
    for engine in random_games(variant, size=6):
        live = playing(engine)
        for g in range(6):
            for viewer in range(variant.players):
                own = [r for r in line_of(engine.state, g) if r // variant.robots_per_player == viewer]
                mask = engine.action_mask[g, viewer]
                if not live[g] or not engine.state.limbs[own, g].any():
                    assert mask.all()
                    continue
                hands = [in_hand(cards_of(engine.state.hand[r, g]), variant.cards) for r in own]
                if variant.robots_per_player == 1:
                    assert mask.tolist() == hands[0]
                else:
                    assert mask.reshape(variant.cards, variant.cards).tolist() == np.outer(*hands).tolist()
                assert mask.any()


@pytest.mark.parametrize(
    ("name", "position", "player", "asked", "played", "is_legal"),
    [
        ("4p", "3. C4:12345 A2:135/24 B3:1345/2 D1:12345", "A", "3", "A3", True),
        ("4p", "3. C4:12345 A2:135/24 B3:1345/2 D1:12345", "A", "5", "A5", True),
        ("4p", "3. C4:12345 A2:135/24 B3:1345/2 D1:12345", "A", "4", "A1", False),
        ("4p", "3. C4:12345 A2:345/12 B3:1345/2 D1:12345", "A", "1", "A3", False),
        ("4p", "9. C4:12345 A2:345/12 B3:1345/2 ~ D0:345/12", "D", "1", "", True),  # who is out has nothing to choose
        # the robot in front first, then the other, whichever is called A
        ("2p", "3. A4:245/13 B3:12345 a2:135/24 b1:12345", "A", "43", "A4 a3", True),
        ("2p", "3. a4:245/13 B3:12345 A2:135/24 b1:12345", "A", "43", "a4 A3", True),
        ("2p", "3. A4:245/13 B3:12345 a2:135/24 b1:12345", "A", "13", "A2 a3", False),  # the legal one of the two is kept
        ("2p", "3. A4:245/13 B3:12345 a2:135/24 b1:12345", "A", "44", "A4 a1", False),
        ("2p", "3. a4:245/13 B3:12345 A2:135/24 b1:12345", "A", "32", "a2 A1", False),
        ("2p", "3. a4:245/13 B3:12345 A2:135/24 b1:12345", "A", "55", "a5 A5", True),
    ],
)
def test_an_illegal_card_becomes_the_lowest_of_that_robot_and_is_flagged(name, position, player, asked, played, is_legal):
    engine = engine_at(name, position)
    variant, p = engine.variant, "ABCD".index(player)
    index = 0
    for card in asked:
        index = index * variant.cards + int(card) - 1
    assert bool(engine.action_mask[0, p, index]) == is_legal
    others = engine.action_mask[0].argmax(axis=-1)  # legal
    actions = np.where(np.arange(variant.players) == p, index, others)[None]
    cards, replaced = np.zeros((variant.robots, 1), np.uint8), np.full((1, variant.players), 7, np.uint8)
    actions_to_cards(engine.layout.view, engine.state, actions, cards, replaced, 0, 1)
    laid = {robot_name(variant, r): cards_of(cards[r, 0]) for r in range(variant.robots)}
    own = {robot: laid.pop(robot) for robot in list(laid) if robot.upper() == player}
    assert own == {robot: [int(token[1]) for token in played.split() if token[0] == robot] for robot in own}
    assert all(hand for robot, hand in laid.items() if engine.state.limbs[robot_number(variant, robot), 0])
    assert replaced[0].tolist() == [int(q == p and not is_legal) for q in range(variant.players)]
    # and the action says what was played
    told = [
        card[0]
        for robot, card in sorted(own.items(), key=lambda item: line_of(engine.state, 0).index(robot_number(variant, item[0])))
        if card
    ]
    if told:
        back = 0
        for card in told:
            back = back * variant.cards + card - 1
        assert actions[0, p] == back


@pytest.mark.parametrize("name", FACE_UP)
def test_what_is_legal_is_played_as_it_is(name):
    """All legal actions of all players in many positions, each laid as the cards that its index means."""
    variant, rng = parse_variant(name), np.random.default_rng(1)
    for engine in random_games(variant, size=12):
        live = playing(engine)
        actions = np.where(engine.action_mask > 0, rng.random(engine.action_mask.shape), -1).argmax(axis=-1)
        asked = actions.copy()
        cards, replaced = np.zeros((variant.robots, 12), np.uint8), np.zeros((12, variant.players), np.uint8)
        actions_to_cards(engine.layout.view, engine.state, actions, cards, replaced, 0, 12)
        np.testing.assert_array_equal(actions[live], asked[live])
        assert not replaced[live].any()
        for g in np.flatnonzero(live):
            for p in range(variant.players):
                own = [r for r in line_of(engine.state, g) if r // variant.robots_per_player == p and engine.state.limbs[r, g]]
                if own:
                    index = 0
                    for r in own:
                        (card,) = cards_of(cards[r, g])
                        index = index * variant.cards + card - 1
                    assert index == asked[g, p]
