"""The equilibrium agent: nobody gains on it, and it plays the same whatever it was asked before."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agents import AGENTS
from getbit_env.agent_registry import load_agent
from getbit_env.exact import agents
from getbit_env.exact.agents import BestResponse, Equilibrium
from getbit_env.exact.best_response import exploitability
from getbit_env.exact.solutions import save_solution
from getbit_env.exact.stored_results import FOLDER_VARIABLE, NotSolvedError
from getbit_env.exact.two_players import solve_two_players
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import parse_variant
from getbit_env.match import play_match

VARIANT = parse_variant("2p-4c-2l")


@pytest.fixture(scope="module")
def solution():
    return solve_two_players(VARIANT)


def ready(solution, rows=1, seed=0):
    agent = Equilibrium(solution)
    agent.reset(Layout(VARIANT), np.ones(rows, np.bool_), seed)
    return agent


def test_no_best_response_gains_on_it_and_so_no_bot(solution):
    result = exploitability(Equilibrium(solution), solution.positions)
    starts = solution.positions.starts
    assert result.best == pytest.approx(solution.values[starts], abs=1e-8)
    assert result.own == pytest.approx(solution.values[starts], abs=1e-8)
    assert result.gain < 1e-8


@pytest.mark.parametrize("bot", ["random", "highest", "lowest", "counter"])
def test_it_beats_the_bots_in_play(solution, bot):
    """Played out from both seats; the margin is what two thousand games leave to chance, three deviations of them."""
    wins = 0
    games = 1024
    for seat in (0, 1):
        engine = Engine(VARIANT, games, seed=3)
        engine.start()
        players = [Equilibrium(solution), BOTS[bot]()]
        for agent in players:
            agent.reset(engine.layout, np.ones(games, np.bool_), 7)
        for _ in range(VARIANT.most_rounds):
            engine.observe()
            actions = np.empty((games, 2), np.int64)
            for agent, s in zip(players, (seat, 1 - seat), strict=True):
                actions[:, s] = agent.act(engine.observation[:, s], engine.action_mask[:, s])
            engine.play(actions)
            wins += int((engine.outcome.finish[seat] == 1).sum())
            assert not (engine.replaced[:, seat] & (engine.outcome.finish[seat] == 0) & (engine.state.limbs.min(axis=0) > 0)).any()
    assert wins / (2 * games) > 0.5 - 3 * 0.5 / np.sqrt(2 * games)


def test_probabilities_depend_on_the_question_alone(solution):
    numbers = np.arange(0, solution.positions.count, 7)
    observation, mask = (rows.reshape(-1, rows.shape[-1]) for rows in solution.positions.see(numbers))
    fresh = ready(solution).probabilities(observation, mask)
    used = ready(solution)
    for row in (5, 3, 5):
        assert (used.probabilities(observation[[row]], mask[[row]])[0] == fresh[row]).all()
    assert (used.probabilities(observation[::-1], mask[::-1])[::-1] == fresh).all()
    assert fresh.sum(axis=1) == pytest.approx(1)
    assert (fresh[mask == 0] == 0).all()


def test_it_forgets_strategies_rather_than_fill_the_memory(solution, monkeypatch):
    observation, mask = (rows.reshape(-1, rows.shape[-1]) for rows in solution.positions.see(np.arange(60)))
    kept = ready(solution).probabilities(observation, mask)
    monkeypatch.setattr(agents, "MOST_KEPT", 20)
    forgetful = ready(solution)
    for first in range(0, 120, 10):
        assert (
            forgetful.probabilities(observation[first : first + 10], mask[first : first + 10]) == kept[first : first + 10]
        ).all()
        assert len(forgetful._strategies._kept) <= 20


def test_it_plays_what_its_probabilities_say_by_its_seed(solution):
    observation, mask = (np.repeat(rows[:, 0], 4000, axis=0) for rows in solution.positions.see(np.array([0])))
    plays = [ready(solution, 4000, seed).act(observation, mask).tolist() for seed in (1, 1, 2)]
    assert plays[0] == plays[1] != plays[2]
    chances = ready(solution).probabilities(observation[:1], mask[:1])[0]
    assert np.bincount(plays[0], minlength=16) / 4000 == pytest.approx(chances, abs=4 * 0.5 / np.sqrt(4000))


def test_rows_with_nothing_to_choose_are_answered_and_strange_ones_refused(solution):
    agent = ready(solution)
    layout = Layout(VARIANT)
    nothing = np.zeros((1, layout.size), np.float32)
    assert agent.probabilities(nothing, np.ones((1, 16), np.int8)) == pytest.approx(np.full((1, 16), 1 / 16))
    with pytest.raises(ValueError, match="no position"):
        agent.probabilities(nothing, np.eye(16, dtype=np.int8)[:1])
    with pytest.raises(ValueError, match="entries"):
        agent.probabilities(nothing[:, 1:], np.ones((1, 16), np.int8))


def test_what_it_does_not_play_is_refused(solution, tmp_path, monkeypatch):
    begins = np.ones(1, np.bool_)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(ValueError, match="three players with two robots"):
        Equilibrium().reset(Layout(parse_variant("3p")), begins, 0)
    with pytest.raises(ValueError, match="default observation"):
        Equilibrium().reset(Layout(VARIANT, Options(observe_last=True)), begins, 0)
    with pytest.raises(ValueError, match="solution is of"):
        Equilibrium(solution).reset(Layout(parse_variant("2p-3c-1l")), begins, 0)
    with pytest.raises(ValueError, match="best response plays"):
        BestResponse(solution.positions, np.zeros((1, 2), np.uint8), "x").reset(Layout(parse_variant("2p-3c-1l")), begins, 0)
    with pytest.raises(NotSolvedError, match=r"getbit solve"):
        Equilibrium().reset(Layout(VARIANT), begins, 0)
    save_solution(solution)
    found = Equilibrium()
    found.reset(Layout(VARIANT), begins, 0)
    observation, mask = (rows[:, 0] for rows in solution.positions.see(np.array([0])))
    assert (found.probabilities(observation, mask) == ready(solution).probabilities(observation, mask)).all()


def test_both_agents_are_loaded_by_name(solution, tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    save_solution(solution)
    assert isinstance(load_agent("equilibrium"), Equilibrium)
    assert AGENTS["equilibrium"].startswith("solved")
    result = exploitability(BOTS["random"](), solution.positions)
    BestResponse(solution.positions, result.answer, "random").save(tmp_path / "response.npz")
    response = str(tmp_path / "response.npz")
    loaded = load_agent(response)
    assert isinstance(loaded, BestResponse)
    assert (loaded.answer == result.answer).all()
    assert play_match([response, "random"], VARIANT, starts=240)[response].payoff.mean > 0.2
    assert play_match(["equilibrium", "random"], VARIANT, starts=240)["equilibrium"].payoff.mean > 0.2


def test_what_is_not_loaded_says_why(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"no such file; `getbit exploitability --save` writes one"):
        load_agent(str(tmp_path / "none.npz"))
    (tmp_path / "bad.npz").write_bytes(b"no result")
    with pytest.raises(ValueError, match="damaged or no stored result"):
        load_agent(str(tmp_path / "bad.npz"))
    there = r"random, .*, tree-search, trained agents .*, folders of runs, files \*\.npz, .* and recall:"
    with pytest.raises(ValueError, match=rf"no agent 'nobody'; there are {there}"):
        load_agent("nobody")
    with pytest.raises(ValueError, match="only Get Bit! has a memory game"):
        load_agent("recall:sharks_two_players")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(ValueError, match=r"2p-4c-2l is not solved here: there is no .*`getbit solve --variant 2p-4c-2l`"):
        play_match(["equilibrium", "random"], VARIANT, starts=24)


def test_the_solver_is_imported_only_when_it_is_needed():
    code = "import sys; from getbit_env import load_agent; load_agent('random'); assert 'getbit_env.exact' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
