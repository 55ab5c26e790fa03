"""Bots of OpenSpiel at our tables, our agents at its own, and its algorithms on small games beside our solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import getbit_env
from getbit_env.exact import exploitability
from getbit_env.exact.positions import Positions
from getbit_env.exact.two_players import solve_two_players
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.variants import parse_variant
from getbit_env.match import play_match
from tests.exact import brute_force

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
from open_spiel.python import policy as policies  # noqa: E402 - only where OpenSpiel is
from open_spiel.python.algorithms import (  # noqa: E402
    best_response,
    cfr,
    evaluate_bots,
    expected_game_score,
    external_sampling_mccfr,
    mcts,
    outcome_sampling_mccfr,
)
from open_spiel.python.algorithms import (  # noqa: E402
    exploitability as nash_conv,
)
from open_spiel.python.bots.policy import PolicyBot  # noqa: E402

from getbit_env.openspiel import AgentBot, AgentPolicy, OpenSpielAgent, game_of_variant  # noqa: E402

PATTERNS = {"AABB": "AaBb", "ABAB": "ABab", "ABBA": "ABba"}  # lines that differ, of two players with two robots each
TINY = "2p-3c-1l-pick1"


class Whim(brute_force.Whim):
    """An agent whose mixture depends on the whole observation."""

    def act(self, observation: Any, action_mask: Any) -> Any:
        return self.probabilities(observation, action_mask).argmax(axis=1)


def turns(game: Any) -> Any:
    return pyspiel.convert_to_turn_based(game)


# --- its bots at our tables ----------------------------------------------------------------------------------------------------


def uniform(_game: Any, player: int, seed: int) -> Any:
    return pyspiel.make_uniform_random_bot(player, seed)


class Spy(pyspiel.Bot):
    """Plays by lot, and keeps what it was shown."""

    seen: list[str] = []  # noqa: RUF012 - of all of them
    told: list[list[int]] = []  # noqa: RUF012

    def __init__(self, _game: Any, player: int, seed: int) -> None:
        super().__init__()
        assert player == 0
        self.rng = np.random.default_rng(seed)

    def restart_at(self, state: Any) -> None:
        assert state.is_initial_state()

    def inform_actions(self, state: Any, joint: list[int]) -> None:
        assert state.is_simultaneous_node()
        self.told.append(joint)

    def step(self, state: Any) -> int:
        self.seen.append(str(state))
        return int(self.rng.choice(state.legal_actions(0)))


@pytest.mark.parametrize("name", ["4p", "4p-memory", "2p", "3p-memory", "5p-1l"])
def test_a_bot_sees_the_game_that_is_played(name: str) -> None:
    """From each seat of the environment the bot's state is the game, players and robots renamed."""
    variant = parse_variant(name)
    env = getbit_env.parallel_env(variant=variant, observe_last=True, identity=True, history=True, illegal_action="raise")
    for seed in range(3):
        Spy.seen.clear()
        observations, _ = env.reset(seed=seed)
        agents = {agent: OpenSpielAgent(Spy) for agent in env.agents}
        for agent in agents.values():
            agent.begin(env, seed=seed)
        while env.agents:
            Spy.seen.clear()
            actions = {agent: agents[agent].choose(observations[agent]) for agent in env.agents}
            snapshot = env.snapshot()
            for agent, seen in zip(env.agents, Spy.seen, strict=True):
                assert seen == str(renamed(snapshot, int(agent[-1])))
            observations, *_ = env.step(actions)


def renamed(snapshot: dict[str, Any], viewer: int) -> Any:
    """The game of a snapshot as the viewer's bot has it."""
    variant = parse_variant(snapshot["variant"])
    each, start = variant.robots_per_player, snapshot["start"]
    line = []
    for robot in start:
        owner, other = robot // each, robot ^ 1
        number = int(each == 2 and start.index(other) < start.index(robot))
        line.append((owner - viewer) % variant.players * each + number)
    state = game_of_variant(variant).new_initial_state()
    for robot in line[:-1]:
        state.apply_action(robot)
    for joint in snapshot["actions"]:
        state.apply_actions([0 if one is None else one for one in joint[viewer:] + joint[:viewer]])
    return state


def test_a_bot_plays_a_match_and_is_told_of_every_round() -> None:
    Spy.told.clear()
    result = play_match([OpenSpielAgent(Spy, name="spy"), "random", "lowest", "counter"], "4p", starts=6, seed=0)
    assert result.failure is None
    assert Spy.told
    assert {len(joint) for joint in Spy.told} == {4}
    again = play_match([OpenSpielAgent(Spy, name="spy"), "random", "lowest", "counter"], "4p", starts=6, seed=0)
    assert str(again) == str(result), "the seed of the match fixes what the bot draws"


@pytest.mark.parametrize("turn_based", [False, True], ids=["simultaneous", "turns"])
def test_a_random_bot_is_our_random(turn_based: bool) -> None:
    """Its win share among three of ours is that of a fourth; the interval of the match says how exactly that is known."""
    bot = OpenSpielAgent(uniform, turn_based=turn_based)
    result = play_match([bot, "random", "random", "random"], "4p", starts=60, seed=3)
    assert result.failure is None
    share = result["uniform"].win
    assert share.low - 0.05 < 0.25 < share.high + 0.05


def test_a_bot_that_plays_what_is_illegal_fails_the_match_by_name() -> None:
    class Cheat(pyspiel.Bot):
        def restart_at(self, _state: Any) -> None:
            pass

        def step(self, _state: Any) -> int:
            return 0

        def inform_actions(self, _state: Any, _joint: list[int]) -> None:
            pass

    result = play_match([OpenSpielAgent(lambda *_: Cheat(), name="cheat"), "random", "random", "random"], "4p", starts=4)
    assert result.failure is not None
    assert "the bot of cheat played 0; legal are" in str(result.failure)


def test_an_agent_that_is_shown_no_history_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="agent uniform needs observations with history=True and identity=True"):
        OpenSpielAgent(uniform).reset(Layout(parse_variant("4p")), np.ones(1, np.bool_), 0)


def test_mcts_sits_at_our_tables_and_beats_random() -> None:
    """A search of 30 rollouts a decision against uniform play. Measured: a payoff of about +0.5; half of it is asked for."""

    def search(game: Any, _player: int, seed: int) -> Any:
        rng = np.random.RandomState(seed)
        return mcts.MCTSBot(game, 1.5, 30, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)

    result = play_match([OpenSpielAgent(search, turn_based=True, name="mcts"), "random"], TINY, starts=24, seed=0)
    assert result.failure is None
    assert result["mcts"].payoff.mean > 0.2


# --- our agents at its tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn_based", [False, True], ids=["simultaneous", "turns"])
@pytest.mark.parametrize("agent", ["counter", "recall:lowest"])
def test_our_agents_play_as_bots(agent: str, turn_based: bool) -> None:
    game: Any = game_of_variant("4p-memory" if agent.startswith("recall") else "4p")
    game = turns(game) if turn_based else game
    bots = [AgentBot(game, player, agent, seed=player) for player in range(4)]
    rng = np.random.RandomState(0)
    for _ in range(5):
        for bot in bots:
            bot.restart()
        paid = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
        assert sorted(paid) == pytest.approx([-1 / 3] * 3 + [1])


def test_what_is_no_policy_is_refused() -> None:
    game = game_of_variant("4p")
    with pytest.raises(ValueError, match="agent montecarlo has no probabilities and is not deterministic, so it is no policy"):
        AgentPolicy(game, "montecarlo")
    with pytest.raises(TypeError, match="this needs a state of GetBitGame or of its turn-based form, not of kuhn_poker"):
        AgentPolicy(pyspiel.load_game("kuhn_poker"), "random")


# --- its algorithms, and our solver --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "make"),
    [(TINY, BOTS["random"]), (TINY, BOTS["lowest"]), (TINY, Whim), ("3p-1r-3c-1l", Whim), ("4p-2c-1l-pick1", Whim)],
)
def test_nash_conv_and_best_responses_are_ours(name: str, make: Any) -> None:
    """OpenSpiel sees a node for each history, our solver each position once; all starting lines count alike."""
    variant = parse_variant(name)
    ours = exploitability(make(), Positions(variant))
    lines = list(PATTERNS.values()) if variant.players == 2 else ["ABCD"[: variant.players]]
    for start, line in enumerate(lines):
        game = turns(game_of_variant(variant, line))
        policy = AgentPolicy(game, make())
        gains = nash_conv.nash_conv(game, policy, return_only_nash_conv=False)
        own = expected_game_score.policy_value(game.new_initial_state(), [policy] * variant.players)
        scale = 1 if variant.players == 2 else variant.players / (variant.players - 1)
        # Our payoffs of more players are shares of the win: theirs run from -1/(players-1) to 1.
        shift = 0 if variant.players == 2 else 1 / (variant.players - 1)
        assert ours.own[start] == pytest.approx((np.array(own) + shift) / scale, abs=1e-9)
        assert ours.best[start] - ours.own[start] == pytest.approx(np.array(gains.player_improvements) / scale, abs=1e-9)
        response = best_response.BestResponsePolicy(game, 0, policy)
        assert (response.value(game.new_initial_state()) + shift) / scale == pytest.approx(ours.best[start][0], abs=1e-9)
        if game.num_players() == 2:
            table = policies.python_policy_to_pyspiel_policy(policy.to_tabular())
            compiled = pyspiel.TabularBestResponse(game, 1, table)
            assert compiled.value_from_state(game.new_initial_state()) == pytest.approx(ours.best[start][1], abs=1e-9)


def test_nash_conv_over_all_lines_is_the_mean() -> None:
    variant = parse_variant("3p-1r-3c-1l")
    game = turns(game_of_variant(variant))
    gains = nash_conv.nash_conv(game, AgentPolicy(game, Whim()))
    assert gains / 1.5 == pytest.approx(exploitability(Whim(), Positions(variant)).nash_conv, abs=1e-9)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_cfr_finds_our_values(pattern: str) -> None:
    """Little can be gained on what CFR+ finds, and that bounds how far its value is from ours. NashConv is never negative."""
    value = solve_two_players(parse_variant(TINY)).starting_values()[pattern]
    game = turns(game_of_variant(TINY, PATTERNS[pattern]))
    solver = cfr.CFRPlusSolver(game)
    for _ in range(15):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    gap = nash_conv.nash_conv(game, average)
    assert 0 <= gap < 0.2
    assert expected_game_score.policy_value(game.new_initial_state(), [average] * 2)[0] == pytest.approx(value, abs=gap + 1e-9)


def test_compiled_cfr_finds_our_values() -> None:
    value = solve_two_players(parse_variant(TINY)).starting_values()["AABB"]
    game = turns(game_of_variant(TINY, PATTERNS["AABB"]))
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(15):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    gap = pyspiel.nash_conv(game, average, True)
    assert 0 <= gap < 0.1
    returns = pyspiel.expected_returns(game.new_initial_state(), average, -1, True)
    assert returns[0] == pytest.approx(value, abs=gap + 1e-9)


@pytest.mark.parametrize(
    ("sampling", "iterations"),
    [(external_sampling_mccfr.ExternalSamplingSolver, 200), (outcome_sampling_mccfr.OutcomeSamplingSolver, 2000)],
    ids=["external", "outcome"],
)
def test_mccfr_comes_close_to_our_values(sampling: Any, iterations: int) -> None:
    np.random.seed(0)  # noqa: NPY002 - OpenSpiel draws from it
    value = solve_two_players(parse_variant(TINY)).starting_values()["AABB"]
    game = turns(game_of_variant(TINY, PATTERNS["AABB"]))
    solver = sampling(game)
    before = nash_conv.nash_conv(game, policies.UniformRandomPolicy(game))
    for _ in range(iterations):
        solver.iteration()
    average = solver.average_policy()
    gap = nash_conv.nash_conv(game, average)
    assert 0 <= gap < 0.7 * before
    assert expected_game_score.policy_value(game.new_initial_state(), [average] * 2)[0] == pytest.approx(value, abs=gap)


def test_a_policy_that_cfr_found_plays_at_our_tables() -> None:
    game = turns(game_of_variant("3p-1r-3c-1l"))
    solver = cfr.CFRPlusSolver(game)
    for _ in range(10):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()

    def found(_game: Any, player: int, seed: int) -> Any:
        return PolicyBot(player, np.random.RandomState(seed), average)

    result = play_match([OpenSpielAgent(found, turn_based=True), "random", "random"], "3p-1r-3c-1l", starts=120, seed=0)
    assert result.failure is None
    assert result["found"].payoff.low > 0
