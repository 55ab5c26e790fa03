"""A policy evaluated in every position at once, against plain recursion and against `exploitability`."""

import re
from pathlib import Path

import numpy as np
import pytest

from getbit_env.exact.best_response import AgentError, exploitability
from getbit_env.exact.evaluation import GameGraph, evaluate, gain_of, met_by_others
from getbit_env.exact.positions import Positions
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.variants import parse_variant
from tests.exact.brute_force import Whim, after, begin, joint_choices, key, policy_of
from tests.exact.test_best_response import LINES, NAMES


@pytest.fixture(scope="module", params=NAMES)
def graph(request):
    return GameGraph(Positions(parse_variant(request.param)))


def some_policy(graph, seed=0):
    weights = np.random.default_rng(seed).exponential(size=graph.legal.shape) * graph.legal
    return weights / np.maximum(weights.sum(axis=2, keepdims=True), 1e-300)


@pytest.mark.parametrize("agent", [Whim, BOTS["counter"]])
def test_values_are_those_of_exploitability(graph, agent):
    told = exploitability(agent(), graph.positions)
    found = evaluate(agent(), graph)
    assert np.abs(found.best_values - told.values).max() < 1e-12
    assert np.abs(found.values - told.own_values).max() < 1e-12
    assert found.gain == pytest.approx(told.gain, abs=1e-12)
    assert found.nash_conv == pytest.approx(told.nash_conv, abs=1e-12)
    assert gain_of(graph.policy_of(agent()), graph) == pytest.approx((told.gain, told.nash_conv), abs=1e-12)


def test_the_value_of_an_action_is_that_of_the_policy_that_plays_it(graph):
    policy = some_policy(graph)
    found = evaluate(policy, graph)
    rng = np.random.default_rng(1)
    for number in rng.integers(graph.positions.count, size=12):
        role = rng.choice(np.flatnonzero(graph.legal[number].any(axis=1)))
        for action in np.flatnonzero(graph.legal[number, role]):
            changed = policy.copy()
            changed[number, role] = np.arange(policy.shape[2]) == action
            assert evaluate(changed, graph).values[number, role] == pytest.approx(
                found.action_values[number, role, action], abs=1e-12
            )
    mean = (policy * found.action_values).sum(axis=2)
    alive = graph.legal.any(axis=2)
    assert np.abs(mean - found.values[:-1])[alive].max() < 1e-12
    assert (found.action_values[alive][~graph.legal[alive]] == 0).all()


def test_positions_are_met_as_often_as_plain_recursion_says(graph):
    positions = graph.positions
    variant, found = positions.variant, evaluate(Whim(), graph)
    policy = policy_of(Whim(), variant)
    reach, by_others = np.zeros(positions.waves), np.zeros(positions.waves)
    starts = LINES[variant.players]
    stack = [(begin(variant, line), 0, 1 / len(starts), np.full(variant.players, 1 / len(starts))) for line in starts]
    while stack:
        table, wave, chance, others = stack.pop()
        if table.over:
            continue
        reach[wave] += chance
        by_others[wave] += others.sum()
        mixed = [
            policy(table, p) if any(table.robots[r].owner == p for r in table.line) else {(): 1.0} for p in range(table.players)
        ]
        for joint in joint_choices(table):
            each = np.array([mixed[p][cards] for p, cards in enumerate(joint)])
            rest = np.array([np.delete(each, p).prod() for p in range(table.players)])
            if wave < (2 if variant.players < 4 else 1):  # so that the recursion ends in this life
                stack.append((after(table, joint), wave + 1, chance * each.prod(), others * rest))
    for wave in range(min(3 if variant.players < 4 else 2, positions.waves)):
        part = slice(positions.first[wave], positions.first[wave + 1])
        assert found.reach[part].sum() == pytest.approx(reach[wave], abs=1e-9)
        assert found.reach_by_others[part].sum() == pytest.approx(by_others[wave], abs=1e-9)
    assert found.reach[-1] == pytest.approx(1, abs=1e-9)  # every game ends


def test_each_place_is_reached_by_the_others_as_plain_recursion_says(graph):
    """The reach by others of every finishing place at the end, which is wrong if a player is followed to a wrong role anywhere."""
    variant, policy = graph.positions.variant, policy_of(Whim(), graph.positions.variant)
    if variant.players > 3:
        pytest.skip("plain recursion takes too long")
    memo = {}

    def places(table, player):
        """How likely the others bring a player to each place, summed over all that the player can do."""
        if player in table.finish:
            return np.eye(variant.players)[table.finish[player] - 1]
        if (key(table), player) not in memo:
            mixed = [
                policy(table, p) if any(table.robots[r].owner == p for r in table.line) else {(): 1.0} for p in range(table.players)
            ]
            total = np.zeros(variant.players)
            for joint in joint_choices(table):
                others = np.prod([mixed[p][cards] for p, cards in enumerate(joint) if p != player])
                total += others * places(after(table, joint), player)
            memo[key(table), player] = total
        return memo[key(table), player]

    starts = [begin(variant, line) for line in LINES[variant.players]]
    wanted = sum(places(start, player) for start in starts for player in range(variant.players)) / len(starts)
    assert evaluate(Whim(), graph).reach_by_others[-1] == pytest.approx(wanted)


def test_no_result_depends_on_the_number_of_threads():
    positions = Positions(parse_variant("4p-4c-2l"))
    one, two = GameGraph(positions), GameGraph(positions, threads=2)
    policy = some_policy(one)
    for a, b in zip(one.go_back(policy), two.go_back(policy), strict=True):
        assert (a == b).all()
    assert one.edges == two.edges > positions.count
    assert (one.legal == two.legal).all()


def test_what_is_no_policy_is_refused(graph):
    policy = some_policy(graph)
    with pytest.raises(ValueError, match=r"is an array \(\d+, \d, \d+\), not \(2, 2\)"):
        evaluate(np.ones((2, 2)), graph)
    with pytest.raises(ValueError, match=r"sums to 0\.(5|4999)"):
        evaluate(policy / 2, graph)
    with pytest.raises(ValueError, match="chances of legal actions"):
        evaluate(-policy, graph)
    if not graph.legal.all():  # in a game of one round nothing is illegal
        with pytest.raises(ValueError, match="chances of legal actions"):
            evaluate(np.full_like(policy, 1 / policy.shape[2]), graph)
    with pytest.raises(TypeError, match="graph is a GameGraph"):
        evaluate(policy, graph.positions)
    with pytest.raises(TypeError, match="positions are"):
        GameGraph("4p")
    with pytest.raises(ValueError, match="threads is at least 1"):
        GameGraph(graph.positions, threads=0)
    with pytest.raises(AgentError, match="distribution"):
        evaluate(Half(), graph)


class Half(Whim):
    def probabilities(self, observation, action_mask):
        return super().probabilities(observation, action_mask) / 2


def test_the_examples_of_the_page_run(capsys):
    page = (Path(__file__).parents[2] / "docs" / "exact.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        if "brute_force" not in block:  # that one asks for a solution of the full game
            exec(block, names)
    assert re.fullmatch(
        r"a best response gains 0\.\d{4} on counter, NashConv \d\.\d{4}\n"
        r"\d+ joint choices; from one start the actions of role 0 are worth \[.*\]\n"
        r"a best response gains 0\.\d{4} on counter, and 0\.\d{4} if it plays at random now and then\n",
        capsys.readouterr().out,
        re.DOTALL,
    )
    found, better, legal = names["found"], names["better"], names["graph"].legal
    assert np.take_along_axis(legal, better[..., None], axis=2)[legal.any(axis=2)].all()
    assert found.best_values[names["start"], 0] == found.best_action_values[names["start"], 0].max()


def test_what_a_responder_gets_falls_as_its_gradient_says(graph):
    policy = some_policy(graph, 3)
    found = graph.respond(policy)
    gain, _ = gain_of(policy, graph)
    own = graph.go_back(policy)[0][graph.positions.starts].mean()
    assert found.value - own == pytest.approx(gain, abs=1e-12)
    # Away from ties the best response stays the same over a small step, and its value is linear in each role's policy.
    towards = some_policy(graph, 4)
    step = 1e-7
    moved = graph.go_back(policy + step * (towards - policy), responds=True)[0][graph.positions.starts].mean()
    assert (moved - found.value) / step == pytest.approx((found.against * (towards - policy)).sum(), abs=1e-5)
    assert abs((found.against * (towards - policy)).sum()) > 1e-3


def test_a_responder_is_met_where_its_answers_lead(graph):
    policy = some_policy(graph, 5)
    found, positions = graph.respond(policy), graph.positions
    assert found.reach[positions.starts].sum() == pytest.approx(1, abs=1e-12)
    alive = graph.legal.any(axis=2)
    assert (found.reach[:-1][~alive] >= 0).all()
    met = found.met(graph.legal)
    # What a responder gets beside a role is a mean over that role's policy, whatever role it is.
    first = np.flatnonzero(positions.starts)[:1] if positions.starts.dtype == bool else positions.starts[:1]
    for p in range(positions.variant.players):
        among = [q for q in range(positions.variant.players) if q != p]
        beside = (found.against[first, p] * policy[first, p]).sum()
        assert beside == pytest.approx((found.reach[first][:, among] * found.values[first][:, among]).sum(), abs=1e-12)
        assert met[first, p] == pytest.approx(found.reach[first][:, among].sum(), abs=1e-15)


def test_a_small_reach_beside_a_great_one_is_not_lost():
    legal = np.ones((1, 3, 2), bool)
    legal[0, 2] = False
    assert met_by_others(np.array([[1.0, 1e-30, 7.0]]), legal).tolist() == [[1e-30, 1.0, 1.0 + 1e-30]]
