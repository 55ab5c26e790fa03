"""Bots that search: what they compute against games played by hand, card by card."""

import copy
import itertools

import numpy as np
import pytest

from getbit_env import parse_variant
from getbit_env.get_bit.bots import LookAhead, MonteCarlo
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout, Options, read_position
from getbit_env.get_bit.rules import Games, new_games
from tests.get_bit.play import copy_of, random_cards, table_at
from tests.test_bots import look, see


def positions(name: str, games: int, rounds: int, seed: int = 0) -> Games:
    """Positions of games played at random."""
    engine, rng = Engine(parse_variant(name), games, seed=seed), np.random.default_rng(seed)
    engine.start()
    for _ in range(rounds):
        engine.play_cards(random_cards(engine.variant, engine.state, rng))
    return copy_of(engine.state)


@pytest.mark.parametrize("options", [Options(), Options(observe_last=True, identity=True)])
@pytest.mark.parametrize("name", ["2p", "3p", "4p", "7p", "3p-1r", "4p-half"])
def test_the_position_is_read_as_it_is_seen(name: str, options: Options) -> None:
    """Seen again, the position that was read gives the same observation, from the seat of every player."""
    variant = parse_variant(name)
    for rounds in (0, 1, 4, variant.least_rounds - 1):
        state = positions(name, 20, rounds)
        for viewer in range(variant.players):
            layout, observation, _ = look(variant, state, viewer)
            shown, wanted, _ = look(variant, state, viewer, options)
            read = new_games(variant.robots, 20)
            for g in range(20):
                columns = [np.zeros(variant.robots, np.uint8) for _ in range(3)]
                line = read_position(shown.view, wanted, g, *columns)
                alive = bool(observation[g].any())
                assert line == (state.limbs[:, g] > 0).sum() if alive else line == 0
                read.place[:, g], read.limbs[:, g], read.hand[:, g] = columns
                read.rounds[g] = rounds > 0
                assert sorted(columns[0]) == list(range(variant.robots)) or not alive
            np.testing.assert_array_equal(look(variant, read, 0)[1][observation.any(1)], observation[observation.any(1)])
            assert layout.size == observation.shape[1]


def shares(name: str, games: Games, viewer: int) -> dict[int, float]:
    """The share that every legal action is expected to leave the viewer, by the reference, which plays card by card."""
    variant = parse_variant(name)
    each = variant.robots_per_player
    start = table_at(variant, games, 0)
    mine = [r for r in start.line if start.robots[r].owner == viewer]
    others = [r for r in start.line if start.robots[r].owner != viewer]
    found = {}
    for own in itertools.product(*(start.robots[r].hand for r in mine)):
        total, plays = 0.0, 0
        for cards in itertools.product(*(start.robots[r].hand for r in others)):
            table = copy.deepcopy(start)
            table.play(dict(zip(mine + others, own + cards, strict=True)))
            plays += 1
            if table.over:
                total += table.finish[viewer] == 1
            else:
                strength = [
                    np.prod([table.robots[r].limbs ** 2 for r in range(p * each, p * each + each)]) for p in range(variant.players)
                ]
                total += strength[viewer] / sum(strength)
        action = own[0] - 1 if each == 1 else (own[0] - 1) * variant.cards + own[1] - 1
        found[action] = total / plays
    return found


@pytest.mark.parametrize(
    ("name", "rounds"),
    [("4p", 1), ("4p", 4), ("4p", 8), ("3p-1r", 5), ("2p", 3), ("2p-1l", 1), ("3p-3c-1l-literal", 1), ("4p-pick1", 5)],
)
@pytest.mark.clause("G4.2", "G6.1", "G6.2", "G6.3")
def test_look_ahead_is_exact(name: str, rounds: int) -> None:
    variant = parse_variant(name)
    state = positions(name, 3, rounds)
    agent = LookAhead(exact_up_to=6)
    for g, viewer in itertools.product(range(3), range(0, variant.players, 2)):
        if state.limbs[viewer, g] == 0:
            continue
        one = copy_of(state, [g])
        layout, observation, mask = look(variant, one, viewer)
        agent.reset(layout, np.ones(1, bool), 0)
        values = agent.agent.values(observation, mask)[0]
        wanted = shares(name, one, viewer)
        assert {a: pytest.approx(v) for a, v in wanted.items()} == {a: values[a] for a in np.flatnonzero(mask[0])}
        assert (values[mask[0] == 0] == -1).all()
        best = max(wanted.values())
        likes = agent.probabilities(observation, mask)[0]
        assert set(np.flatnonzero(likes)) == {a for a, v in wanted.items() if v > best - 1e-9}


def test_look_ahead_by_hand() -> None:
    """Three robots with a limb each: who is bitten is out, and the one in front of the other two wins."""
    agent = LookAhead()
    seen = see("4p", "12. A1:345/12 B1:123/45 C1:123/45 ~ D0:12345")
    agent.reset(seen[0], np.ones(1, bool), 0)
    values = agent.agent.values(*seen[1:])[0]
    # 4 and 5 are higher than all others; a 3 is tied with chance 5/9, which leaves A in front if both others tie it.
    np.testing.assert_allclose(values[[3, 4]], 1)
    three = (4 * 1 + 1 * 1) / 9  # both lower: A passes them, or stays ahead of two that tie; all three tie
    assert values[2] == pytest.approx(three)


@pytest.mark.parametrize(("name", "rounds"), [("6p", 5), ("3p", 3), ("7p", 12)])
def test_sampled_values_are_near_the_exact_ones(name: str, rounds: int) -> None:
    layout, observation, mask = look(parse_variant(name), positions(name, 4, rounds), 0)
    exact, sampled = LookAhead(exact_up_to=7), LookAhead(exact_up_to=0, samples=20_000)
    found = []
    for agent in (exact, sampled):
        agent.reset(layout, np.ones(4, bool), 0)
        found.append(agent.agent.values(observation, mask))
    assert (found[0] != found[1]).any()
    np.testing.assert_allclose(found[1], found[0], atol=0.015)  # 0.5 / sqrt(20,000) is 0.0035


def test_look_ahead_is_a_pure_function() -> None:
    """Also where it samples: no seed, no row and no call before changes what it thinks of a position."""
    layout, observation, mask = look(parse_variant("6p"), positions("6p", 12, 4), 1)
    agent = LookAhead(samples=64)
    agent.reset(layout, np.ones(12, bool), 1)
    first = agent.probabilities(observation, mask)
    assert len(np.unique(first, axis=0)) > 2
    agent.act(observation, mask)
    agent.reset(layout, np.ones(12, bool), 2)
    np.testing.assert_array_equal(agent.probabilities(observation[::-1].copy(), mask[::-1].copy()), first[::-1])


def win_rate_by_hand(name: str, games: Games, viewer: int, action: int, plays: int) -> float:
    """How often the viewer wins after an action if all go on at random, by the reference."""
    variant, rng = parse_variant(name), np.random.default_rng(0)
    wins = 0
    start = table_at(variant, games, 0)
    for _ in range(plays):
        table = copy.deepcopy(start)
        cards = {r: int(rng.choice(table.robots[r].hand)) for r in table.line}
        mine = [r for r in table.line if table.robots[r].owner == viewer]
        own = [action + 1] if len(mine) == 1 else [action // variant.cards + 1, action % variant.cards + 1]
        cards.update(zip(mine, own, strict=True))
        while not table.over:
            table.play(cards)
            cards = {r: int(rng.choice(table.robots[r].hand)) for r in table.line}
        wins += table.finish[viewer] == 1
    return wins / plays


@pytest.mark.parametrize(("name", "rounds", "viewer"), [("4p", 5, 1), ("2p", 3, 1), ("3p", 4, 2), ("6p", 17, 0)])
def test_playouts_win_as_often_as_games_by_hand(name: str, rounds: int, viewer: int) -> None:
    state = positions(name, 12, rounds)
    g = int(np.flatnonzero(state.limbs[viewer * parse_variant(name).robots_per_player])[0])
    one = copy_of(state, [g])
    layout, observation, mask = look(parse_variant(name), one, viewer)
    agent = MonteCarlo(playouts=4000)
    agent.reset(layout, np.ones(1, bool), 0)
    values = agent.agent.values(observation, mask)[0]
    assert (values[mask[0] == 0] == -1).all()
    for action in np.flatnonzero(mask[0])[:2]:
        wanted = win_rate_by_hand(name, one, viewer, action, plays=600)
        assert values[action] == pytest.approx(wanted, abs=4.5 * np.sqrt(0.25 / 600))


def test_monte_carlo_by_hand() -> None:
    agent = MonteCarlo(playouts=20_000)
    seen = see("4p", "12. A1:345/12 B1:123/45 C1:123/45 ~ D0:12345")
    agent.reset(seen[0], np.ones(1, bool), 3)
    values = agent.agent.values(*seen[1:])[0]
    np.testing.assert_allclose(values[[3, 4]], 1)
    assert values[2] == pytest.approx(5 / 9, abs=0.015)
    assert agent.act(*seen[1:])[0] in (3, 4)
    assert not hasattr(agent, "probabilities")


def test_monte_carlo_draws_anew_at_every_decision_and_by_row() -> None:
    layout, observation, mask = look(parse_variant("4p"), positions("4p", 1, 3), 0)
    rows, masks = np.repeat(observation, 30, 0), np.repeat(mask, 30, 0)
    agent = MonteCarlo(playouts=10)
    agent.reset(layout, np.ones(30, bool), 0)
    first, second = agent.agent.values(rows, masks), agent.agent.values(rows, masks)
    assert len(np.unique(first, axis=0)) > 10
    assert not np.array_equal(first, second)
    agent.reset(layout, np.ones(7, bool), 0)
    np.testing.assert_array_equal(agent.agent.values(rows[:7], masks[:7]), first[:7])


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="playouts is 1 or more, not 0"):
        MonteCarlo(playouts=0)
    with pytest.raises(ValueError, match="samples is 1 or more, not 0"):
        LookAhead(samples=0)


def test_rows_of_zeros_are_left_alone() -> None:
    layout = Layout(parse_variant("4p"))
    rows, mask = np.zeros((3, layout.size), np.float32), np.ones((3, 5), np.int8)
    for agent in (LookAhead(), MonteCarlo()):
        agent.reset(layout, np.ones(3, bool), 0)
        assert agent.act(rows, mask).tolist() == [0, 0, 0]
