"""Tree search: what it computes against solved games, whatever the batch, and its options."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from getbit_env import load_agent, parse_variant
from getbit_env.agent_registry import content_digest
from getbit_env.compiled_network import CompiledNetwork
from getbit_env.exact import GameGraph, Positions, gain_of
from getbit_env.exact import endgames as solving_endgames
from getbit_env.exact.endgames import Endgames, endgames, endgames_path, ending_of, solve_endgames
from getbit_env.exact.many_players import solve_many_players
from getbit_env.exact.positions import see_games
from getbit_env.exact.stored_results import FOLDER_VARIABLE, StoredResultError
from getbit_env.exact.two_players import TwoPlayerSolution, solve_two_players
from getbit_env.get_bit.bots import tree
from getbit_env.get_bit.bots.playouts import draw_playout_cards, new_lots
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.rules import Games, new_games
from getbit_env.get_bit.variants import Variant
from getbit_env.match import play_match
from getbit_env.network import POLICY_FILE, NetworkAgent, load_network, save_network
from getbit_env.policies import sampled_observations
from getbit_env.tree_search import TreeSearch


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def ready(agent: Any, name: str, rows: int = 1, seed: int = 0) -> Any:
    agent.reset(Layout(parse_variant(name)), np.ones(rows, np.bool_), seed)
    return agent


# --- positions -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["4p-2l", "2p-3c-2l", "3p-1r-4c-2l"])
def test_every_position_has_a_key_of_its_own(name: str) -> None:
    positions = Positions(parse_variant(name))
    keys = np.zeros(positions.count, np.uint64)
    tree.position_keys(positions.variant.robots_per_player, positions.games(np.arange(positions.count)), keys)
    assert len(np.unique(keys)) == positions.count
    assert keys.all()


@pytest.mark.parametrize("name", ["4p", "2p"])
def test_a_key_does_not_depend_on_the_numbers_of_the_players(name: str) -> None:
    variant = parse_variant(name)
    games = Positions(variant if name == "2p" else parse_variant("4p-2l")).games(np.arange(200))
    each, players = variant.robots_per_player, variant.players
    order = np.arange(variant.robots).reshape(players, each)[::-1, ::-1].ravel()  # players, and robots of each, the other way round
    others = games._replace(place=games.place[order].copy(), limbs=games.limbs[order].copy(), hand=games.hand[order].copy())
    keys, same = np.zeros(200, np.uint64), np.zeros(200, np.uint64)
    tree.position_keys(each, games, keys)
    tree.position_keys(each, others, same)
    np.testing.assert_array_equal(keys, same)


def test_playouts_draw_every_card_of_a_hand_alike() -> None:
    games, draws = new_games(4, 60_000), []
    games.limbs[:3], games.limbs[3] = 1, 0
    games.hand[:] = np.array([0b10110, 0b1111111, 0b100, 0b11111], np.uint8)[:, None]
    seeds = np.random.default_rng(0).integers(0, 2**32, 60_000, np.uint32)
    for turn in range(2):
        cards = np.zeros((4, 60_000), np.uint8)
        draw_playout_cards(games, seeds, turn, new_lots(), cards, 60_000)
        draws.append(cards)
        for robot, hand in enumerate([[2, 4, 16], [1, 2, 4, 8, 16, 32, 64], [4], [0]]):
            drawn, counts = np.unique(cards[robot], return_counts=True)
            assert drawn.tolist() == hand
            assert abs(counts / 60_000 - 1 / len(hand)).max() < 4.5 * 0.5 / np.sqrt(60_000)
    together = np.unique(np.stack([draws[0][0], draws[0][1]]), axis=1, return_counts=True)[1]
    again = np.unique(np.stack([draws[0][0], draws[1][0]]), axis=1, return_counts=True)[1]
    for counts in (together, again):  # robots, and rounds, draw independently
        assert abs(counts / 60_000 - 1 / len(counts)).max() < 4.5 * 0.4 / np.sqrt(60_000)


# --- what it plays -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["4p", "2p", "3p", "7p", "3p-1r"])
def test_it_is_a_pure_function_of_a_row(name: str) -> None:
    """Neither the batch nor the seed nor what was asked before changes it, and it plays legal actions alone."""
    layout = Layout(parse_variant(name))
    seen, mask = sampled_observations(layout)
    seen, mask = seen[:40].copy(), mask[:40].copy()
    seen[7], mask[7] = 0, 1
    agent = ready(TreeSearch(simulations=48), name, 40)
    together = agent.probabilities(seen, mask)
    np.testing.assert_allclose(together.sum(axis=1), 1)
    assert (together[mask == 0] == 0).all()
    assert len(np.unique(together, axis=0)) > 10
    ready(agent, name, 40, seed=5)
    np.testing.assert_array_equal(agent.probabilities(seen[::-1].copy(), mask[::-1].copy())[::-1], together)
    for b in (0, 7, 39):
        np.testing.assert_array_equal(agent.probabilities(seen[b : b + 1], mask[b : b + 1])[0], together[b])
    threaded = ready(TreeSearch(simulations=48, threads=2), name, 40)
    np.testing.assert_array_equal(threaded.probabilities(seen, mask), together)
    played = [ready(agent, name, 40, seed).act(seen, mask) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(played[0], played[1])
    assert (played[0] != played[2]).any()
    assert (mask[np.arange(40), played[0]] == 1).all()
    assert played[0][7] == 0


def gain(agent: Any, graph: GameGraph) -> float:
    return gain_of(graph.policy_of(agent), graph)[0]


def test_more_simulations_come_nearer_to_an_equilibrium() -> None:
    """With two players; with more, what regret matching comes to need not be one."""
    graph = GameGraph(Positions(parse_variant("2p-3c-1l")))
    gains = [gain(TreeSearch(simulations=simulations), graph) for simulations in (256, 1 << 14)]
    assert gains[1] < 0.12 < 0.3 < gains[0]


def test_a_safe_card_is_found() -> None:
    """Three robots with a limb each (as in `test_look_ahead_by_hand`): 4 and 5 are higher than all others, and win."""
    from tests.test_bots import see

    layout, seen, mask = see("4p", "12. A1:345/12 B1:123/45 C1:123/45 ~ D0:12345")
    agent = TreeSearch(simulations=2048)
    agent.reset(layout, np.ones(1, np.bool_), 0)
    assert agent.probabilities(seen, mask)[0, 3:].sum() > 0.9


def test_it_plays_the_memory_game_with_perfect_recall() -> None:
    match = play_match([TreeSearch(simulations=16), "random", "random", "random"], "4p-memory", starts=6)
    assert match.failure is None
    agent = ready(TreeSearch(simulations=16), "4p-memory")
    assert not hasattr(agent, "probabilities")


def test_a_clock_ends_the_search() -> None:
    layout = Layout(parse_variant("4p"))
    seen, mask = sampled_observations(layout)
    agent = ready(TreeSearch(simulations=1 << 14, milliseconds=1.0), "4p", 4)
    played = agent.act(seen[:4], mask[:4])
    assert (mask[np.arange(4), played] == 1).all()
    assert agent.agent._spaces[0].trees.done[0] < 1 << 14
    assert not hasattr(agent, "probabilities")


# --- endgames --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "limbs"), [("2p-3c-2l", 6), ("3p-1r-4c-2l", 5), ("4p-4c-1l", 4)])
def test_endgames_have_the_values_of_the_solved_game(name: str, limbs: int) -> None:
    variant = parse_variant(name)
    found = solve_endgames(variant, limbs)
    positions = Positions(variant)
    games = positions.games(np.arange(positions.count))
    inside = games.limbs.sum(axis=0) <= limbs
    keys = np.zeros(positions.count, np.uint64)
    tree.position_keys(variant.robots_per_player, games, keys)
    np.testing.assert_array_equal(keys[inside], found.keys)
    if variant.players == 2:
        solution = solve_two_players(variant)
        wanted: NDArray[np.float64] = (solution.values[:-1] + 1) / 2
    else:
        equilibrium = solve_many_players(variant)
        graph = GameGraph(positions)
        parts = equilibrium.policy.astype(np.float64)
        parts /= np.maximum(parts.sum(axis=2, keepdims=True), 1)
        wanted = graph.go_back(parts)[0][:-1]
    np.testing.assert_allclose(found.values, wanted[inside], atol=1e-4)
    known, chances = found.chances(np.concatenate([keys[inside][::-1], [np.uint64(2)]]))
    assert known.tolist() == [True] * int(inside.sum()) + [False]
    legal = GameGraph(positions).legal[inside][::-1]
    assert ((chances > 0) <= legal).all()
    np.testing.assert_allclose(chances.sum(axis=2), legal.any(axis=2))


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["2p-3c-1l", "3p-1r-4c-1l"])
def test_with_the_whole_game_as_endgames_it_plays_an_equilibrium(name: str) -> None:
    variant = parse_variant(name)
    agent = TreeSearch(simulations=1, endgames=variant.robots * variant.limbs)
    assert abs(gain(agent, GameGraph(Positions(variant)))) < 1e-3


@pytest.mark.usefixtures("cache")
def test_endgames_at_the_leaves_help() -> None:
    graph = GameGraph(Positions(parse_variant("3p-1r-4c-2l")))
    assert gain(TreeSearch(simulations=256, endgames=4), graph) < 0.7 * gain(TreeSearch(simulations=256), graph)


LAST_ROBOTS = [("4p-4c-2l", 5, 4), ("4p-4c-2l", 5, 3), ("3p-1r-4c-2l", 5, 3), ("2p-4c-2l", 5, 4)]


@pytest.mark.parametrize(("name", "limbs", "robots"), LAST_ROBOTS)
def test_the_last_robots_have_the_values_of_the_solved_game(
    name: str, limbs: int, robots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is solved where a game is too large, in games that are not: the same values and policies, for up to so many robots."""
    variant = parse_variant(name)
    wanted = solve_endgames(variant, limbs)
    monkeypatch.setattr(solving_endgames, "MOST_CODES", 0)
    if robots < variant.robots:
        monkeypatch.setattr(solving_endgames, "MOST_JOINT_CHOICES", 1 << 16)
    ending = ending_of(variant, limbs)
    assert (ending.game.robots, ending.reachable) == (robots, False)
    found = solve_endgames(variant, limbs)
    positions = Positions(variant)
    games = positions.games(np.arange(positions.count))
    keys = np.zeros(positions.count, np.uint64)
    tree.position_keys(variant.robots_per_player, games, keys)
    inside = (games.limbs.sum(axis=0) <= limbs) & ((games.limbs > 0).sum(axis=0) <= robots)
    assert inside.sum() > 30
    assert np.isin(keys, found.keys).sum() == inside.sum()
    assert len(np.unique(found.keys)) == len(found.keys)
    order, players = np.argsort(found.keys), ending.game.players
    at = order[np.searchsorted(found.keys, keys[inside], sorter=order)]
    numbers = {int(key): number for number, key in enumerate(wanted.keys)}
    theirs = np.array([numbers[int(key)] for key in keys[inside]])
    np.testing.assert_allclose(found.values[at], wanted.values[theirs][:, :players], atol=1e-6)
    assert (wanted.values[theirs][:, players:] == 0).all()
    np.testing.assert_array_equal(found.policy[at], wanted.policy[theirs][:, :players])


def last_positions(variant: Variant, robots: int) -> Games:
    """Every position of so many robots with a limb each, in the game of more players, all others being out."""
    hands = [mask for mask in range(1 << variant.cards) if mask.bit_count() > variant.pick_up_at]
    held = np.array(list(itertools.product(hands, repeat=robots)), np.uint8).T
    games = new_games(variant.robots, held.shape[1])
    games.place[:] = np.arange(variant.robots)[:, None]
    games.limbs[:robots], games.hand[:robots] = 1, held
    games.rounds[:] = 9
    return games


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["5p-5c", "6p-5c", "7p-4c"])
def test_endgames_are_played_where_a_game_is_too_large_to_be_solved(name: str) -> None:
    variant = parse_variant(name)
    solved = endgames(variant, 3)
    assert solved.variant.players == 3
    agent = TreeSearch(simulations=16, endgames=3)
    games = last_positions(variant, 3)
    agent.reset(Layout(variant), np.ones(1, np.bool_), 0)
    seen, mask = see_games(variant, games)
    found = agent.probabilities(seen[:, 0].copy(), mask[:, 0].copy())
    keys = np.zeros(games.place.shape[1], np.uint64)
    tree.position_keys(1, games, keys)
    known, wanted = solved.chances(keys)
    assert known.all()
    np.testing.assert_allclose(found, wanted[:, 0], atol=1e-12)
    again = TreeSearch(simulations=16)
    again.reset(Layout(variant), np.ones(1, np.bool_), 0)
    assert abs(again.probabilities(seen[:, 0].copy(), mask[:, 0].copy()) - found).max() > 0.3
    assert play_match([agent, *["random"] * (variant.players - 1)], variant, starts=4).failure is None


@pytest.mark.usefixtures("cache")
def test_simulations_end_in_the_last_robots_of_a_larger_game() -> None:
    """Four robots with a limb each: after one round there are three, and what simulations win is what these are worth."""
    variant = parse_variant("7p-4c")
    agent = TreeSearch(simulations=16, endgames=3)
    agent.reset(Layout(variant), np.ones(1, np.bool_), 0)
    seen, mask = see_games(variant, last_positions(variant, 4))
    agent.probabilities(seen[7:8, 0].copy(), mask[7:8, 0].copy())
    space = agent.agent._spaces[0]  # type: ignore[attr-defined]
    assert space.trees.size[0] == 1  # the root alone
    values = endgames(variant, 3).values
    for action in np.flatnonzero(space.trees.tried[0, 0, 0] == 1):
        assert abs(values - space.trees.mean[0, 0, 0, action]).min() < 1e-6 or space.trees.mean[0, 0, 0, action] == 0


def test_games_that_end_alike_share_their_endgames(cache: Path) -> None:
    assert endgames_path(parse_variant("6p"), 4) == endgames_path(parse_variant("7p"), 4) == cache / "3p-1r-2l-last-robots-4.npz"
    assert endgames_path(parse_variant("4p"), 4) == cache / "4p-endgames-4.npz"
    assert endgames_path(parse_variant("5p"), 12).name == "3p-1r-6c-last-robots-12.npz"


def test_endgames_are_kept(cache: Path) -> None:
    variant = parse_variant("3p-1r-4c-1l")
    first = endgames(variant, 3)
    path = endgames_path(variant, 3)
    assert path.parent == cache
    again = Endgames.read(path, variant)
    for name in ("keys", "values", "policy"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
    assert again.limbs == 3
    with pytest.raises(StoredResultError, match="3p-1r-4c-1l"):
        Endgames.read(path, parse_variant("3p-1r-4c-2l"))
    before = path.stat().st_mtime_ns
    endgames(variant, 3)
    assert path.stat().st_mtime_ns == before
    path.write_bytes(b"damaged")
    np.testing.assert_array_equal(endgames(variant, 3).keys, first.keys)
    assert content_digest("tree-search@endgames=3", variant) is not None
    assert content_digest("recall:tree-search@endgames=3", replace(variant, memory=True)) is not None


# --- a trained policy ------------------------------------------------------------------------------------------------------------


def network(name: str, with_values: bool = True) -> NetworkAgent:
    """One with random weights."""
    variant, rng = parse_variant(name), np.random.default_rng(0)
    size = Layout(variant).size

    def layers(outputs: int) -> list[Any]:
        return [
            (rng.normal(0, 0.3, (16, size)).astype(np.float32), np.zeros(16, np.float32)),
            (rng.normal(0, 1, (outputs, 16)).astype(np.float32), np.zeros(outputs, np.float32)),
        ]

    return NetworkAgent(layers(variant.actions), variant, value_layers=layers(1) if with_values else None)


def test_a_network_is_stored_with_its_values(tmp_path: Path) -> None:
    seen, mask = sampled_observations(Layout(parse_variant("4p")))
    for with_values in (True, False):
        agent = network("4p", with_values)
        save_network(tmp_path / POLICY_FILE, agent)
        again = load_network(tmp_path / POLICY_FILE, "again")
        np.testing.assert_array_equal(again.probabilities(seen, mask), agent.probabilities(seen, mask))
        assert hasattr(again, "values") is with_values
        if with_values:
            weight, bias = agent.value_layers[1]
            hidden = np.tanh(seen @ agent.value_layers[0][0].T)
            np.testing.assert_allclose(again.values(seen, mask), (hidden @ weight.T + bias)[:, 0], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="to one value"):
        NetworkAgent(agent.layers, agent.variant, value_layers=agent.layers)


@pytest.mark.parametrize(("name", "leaves"), [("4p", "playouts"), ("4p", "values"), ("2p", "values")])
def test_it_begins_with_the_policy_that_it_is_given(name: str, leaves: str) -> None:
    prior, layout = network(name), Layout(parse_variant(name))
    seen, mask = sampled_observations(layout)
    seen, mask = seen[:50], mask[:50]
    wanted = prior.probabilities(seen, mask)
    far = []
    for weight in (0.0, 1e6):
        agent = ready(TreeSearch(simulations=32, prior=prior, prior_weight=weight, leaves=leaves), name, 50)
        found = agent.probabilities(seen, mask)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        far.append(abs(found - wanted).max())
        alone = agent.probabilities(seen[3:4], mask[3:4])[0]
        np.testing.assert_allclose(alone, found[3], atol=1e-6)  # layers round by the size of a batch, on some machines
    assert far[1] < 1e-3 < far[0]


class Knowing:
    """Plays at random, and knows what positions are worth."""

    name = "knowing"

    def __init__(self, solution: TwoPlayerSolution) -> None:
        self.solution = solution

    def reset(self, layout: Any, begins: Any, seed: Any) -> None:
        """See `Agent`."""

    def act(self, observation: Any, action_mask: Any) -> Any:
        assert len(observation) == len(action_mask)
        return action_mask.argmax(axis=1)

    def probabilities(self, observation: Any, action_mask: Any) -> Any:
        assert len(observation) == len(action_mask)
        return action_mask / action_mask.sum(axis=1, keepdims=True)

    def values(self, observation: Any, action_mask: Any) -> Any:
        assert len(observation) == len(action_mask)
        numbers, roles = self.solution.positions.read(observation)
        return self.solution.values[numbers, roles]


def test_values_of_the_prior_are_what_its_leaves_are_worth() -> None:
    """Every new node is worth to each role what the prior says, and the root what its simulations came to."""
    solution = solve_two_players(parse_variant("2p-3c-2l"))
    positions = solution.positions
    agent = ready(TreeSearch(simulations=16, prior=Knowing(solution), leaves="values"), "2p-3c-2l")
    seen, mask = positions.see(np.array([1]))
    agent.probabilities(seen[:, 0].copy(), mask[:, 0].copy())
    trees = agent.agent._spaces[0].trees
    keys = np.zeros(positions.count, np.uint64)
    tree.position_keys(2, positions.games(np.arange(positions.count)), keys)
    numbers = {int(key): number for number, key in enumerate(keys)}
    met = 0
    for key, node in zip(trees.keys[0], trees.nodes[0], strict=True):
        if key and node:
            untried = trees.tried[0, node] == 0
            wanted = np.broadcast_to((solution.values[numbers[int(key)]][:, None] + 1) / 2, untried.shape)
            np.testing.assert_allclose(trees.mean[0, node][untried], wanted[untried], atol=1e-6)
            met += int(untried.sum())
    assert met > 100
    tried = trees.tried[0, 0] > 0
    assert (trees.mean[0, 0][tried] != 0.5).any()
    assert trees.tried[0, 0].sum() == 2 * 16


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_compiled_network_says_what_the_network_says(activation: str) -> None:
    """Up to rounding; and of a row always the same."""
    seen, mask = sampled_observations(Layout(parse_variant("4p")))
    narrow = network("4p")
    (weight, bias), (last, last_bias) = narrow.layers
    steep = [(3 * weight, bias + 1), (weight[:, :1] * np.eye(16, 16, dtype=np.float32), bias - 1), (last, last_bias)]
    for layers in (narrow.layers, steep):
        agent = NetworkAgent(layers, narrow.variant, activation=activation, value_layers=narrow.value_layers)
        compiled = CompiledNetwork(agent)
        together = compiled.probabilities(seen, mask)
        np.testing.assert_allclose(together, agent.probabilities(seen, mask), atol=1e-5)
        np.testing.assert_array_equal(compiled.probabilities(seen[5:6], mask[5:6])[0], together[5])
        np.testing.assert_allclose(compiled.values(seen, mask), agent.values(seen, mask), rtol=1e-4, atol=1e-5)


# --- options ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"simulations": 0}, "simulations is a whole number, at least 1"),
        ({"milliseconds": -1.0}, "milliseconds is 0 or more"),
        ({"exploration": 0.0}, "exploration is over 0"),
        ({"prior_weight": -1.0}, "prior_weight is 0 or more"),
        ({"endgames": -1}, "endgames is a whole number"),
        ({"threads": 0}, "threads is a whole number"),
        ({"leaves": "hunches"}, "leaves is one of 'playouts', 'values', not 'hunches'"),
        ({"leaves": "values"}, "needs a prior that has values"),
        ({"prior": "montecarlo"}, "prior is an agent with `probabilities`"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TreeSearch(**options)


def test_games_that_it_can_not_play_are_refused() -> None:
    for name, endgames_of, message in (
        ("6p", 5, "endgames is 5: endgames of 5 limbs in 6p are too many to be solved within minutes: at most 4 limbs can be"),
        ("2p-7c", 4, "endgames of 4 limbs in 2p-7c are too many to be solved within minutes: even those of 4 limbs can't be"),
        ("3p", 9, "endgames is 9: 3p has no small endgames: three players with two robots each keep all six"),
    ):
        with pytest.raises(ValueError, match=message):
            TreeSearch(endgames=endgames_of).check_layout(Layout(parse_variant(name)))
    for name, endgames_of in (("5p", 12), ("7p", 4), ("4p-32l", 6), ("7p-3c-32l", 6)):
        TreeSearch(endgames=endgames_of).check_layout(Layout(parse_variant(name)))
    with pytest.raises(ValueError, match="4p"):
        TreeSearch(prior="four_players").check_layout(Layout(parse_variant("5p")))


def test_options_follow_a_name() -> None:
    agent: Any = load_agent("tree-search@simulations=32@prior=four_players@exploration=0.5")
    assert (agent.agent.simulations, agent.agent.exploration, agent.prior) == (32, 0.5, "four_players")
    assert load_agent("montecarlo@playouts=7").agent.playouts == 7  # type: ignore[attr-defined]
    assert load_agent("recall:montecarlo@playouts=7").agent.playouts == 7  # type: ignore[attr-defined]
    assert content_digest("montecarlo@playouts=7", parse_variant("4p")) is None
    digests = [content_digest(name, parse_variant("4p")) for name in ("tree-search@prior=four_players", "four_players")]
    assert digests[0] == digests[1] is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("montecarlo@playout=7", "there is no option 'playout=7'; did you mean 'playouts'.; montecarlo has playouts"),
        ("montecarlo@7", "'7' is no OPTION=VALUE; montecarlo has playouts"),
        ("montecarlo@playouts=many", "playouts is a whole number, not 'many'"),
        ("montecarlo@playouts=0", "montecarlo@playouts=0': playouts is 1 or more, not 0"),
        ("montecarlo@playouts=1@playouts=2", "playouts is given twice"),
        ("soft-lookahead@temperature=warm", "temperature is a number, not 'warm'"),
        ("random@x=1", "random has no options"),
        ("four_players@x=1", "no agent"),
    ],
)
def test_wrong_options_after_a_name_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_agent(name)
