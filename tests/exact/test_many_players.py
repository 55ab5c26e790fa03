"""Equilibria for three and more players: how good they are is measured by best responses, which have their own tests."""

import json

import numpy as np
import pytest

from eval.solve import main
from getbit_env.exact import many_players
from getbit_env.exact.agents import Equilibrium
from getbit_env.exact.best_response import exploitability
from getbit_env.exact.many_players import solve_many_players
from getbit_env.exact.solutions import load_solution, save_solution
from getbit_env.exact.solving import judged, solved
from getbit_env.exact.stored_results import FOLDER_VARIABLE, NotSolvedError, StoredResultError, save_result, solution_path
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.variants import parse_variant

SMALL = parse_variant("4p-4c-2l")


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))


@pytest.mark.parametrize("name", ["3p-1r-3c-2l-pick1", "3p-1r-4c-2l", "4p-3c-2l", "4p-4c-2l", "5p-3c-1l"])
def test_no_seat_gains_on_the_others(name):
    solution = solve_many_players(parse_variant(name))
    result = exploitability(Equilibrium(solution), solution.positions)
    assert result.regret < 1e-4
    assert result.most_gain < 1e-4
    assert result.own[0] == pytest.approx(solution.start, abs=1e-3)
    assert solution.start.sum() == pytest.approx(1)


def test_the_number_of_threads_changes_nothing():
    one, two = solve_many_players(SMALL), solve_many_players(SMALL, threads=2)
    assert one.policy.tobytes() == two.policy.tobytes()
    assert one.start.tobytes() == two.start.tobytes()


def test_only_legal_cards_are_played():
    solution = solve_many_players(SMALL)
    _, mask = solution.positions.see(np.arange(solution.positions.count))
    assert (solution.policy[mask == 0] == 0).all()
    alive = mask.min(axis=2) == 0
    sums = solution.policy.sum(axis=2, dtype=np.int64)
    assert abs(sums[alive] - many_players.ONE).max() <= SMALL.cards


def test_a_solution_is_read_back_and_found_by_the_agent():
    solution = solved(SMALL)
    again = load_solution(SMALL)
    assert again.policy.tobytes() == solution.policy.tobytes()
    assert again.start.tolist() == solution.start.tolist()
    assert (again.regret, again.branches, again.gains.tolist()) == (solution.regret, solution.branches, solution.gains.tolist())
    assert again.gains.max() < 1e-4
    agent = Equilibrium()
    agent.reset(Layout(SMALL), np.ones(4, np.bool_), 1)
    observation, mask = (rows[0] for rows in solution.positions.see(np.array([0])))
    assert agent.probabilities(observation, mask) == pytest.approx(solution.policy[0] / many_players.ONE, abs=1e-4)
    assert mask[np.arange(4), agent.act(observation, mask)].all()


def test_what_is_no_solution_of_this_is_never_used():
    with pytest.raises(NotSolvedError, match=r"getbit solve"):
        load_solution(SMALL)
    solution = judged(solve_many_players(SMALL))
    path = save_solution(solution)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(StoredResultError, match="damaged"):
        load_solution(SMALL)
    words = solution.positions.index.words
    facts = {"start": [0.25] * 4, "regret": 0, "branches": 0, "gains": [0] * 4}
    save_result(solution_path(SMALL), many_players.KIND, SMALL, facts, {"words": words, "policy": solution.policy[:-1]})
    with pytest.raises(StoredResultError, match="policy is no array of shape"):
        load_solution(SMALL)
    save_result(solution_path(SMALL), "something else", SMALL, facts, {"words": words, "policy": solution.policy})
    with pytest.raises(StoredResultError, match="holds something else"):
        load_solution(SMALL)


def test_an_interrupted_solve_goes_on_where_it_was(tmp_path, monkeypatch):
    whole = solve_many_players(SMALL)

    def stop_half_way(what, done, of):
        if what == "solving" and done > of / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_many_players(SMALL, partial=tmp_path, progress=stop_half_way)
    solve = many_players.solve_positions
    asked = []

    def note(values, first, *rest):
        asked.append(first)
        solve(values, first, *rest)

    monkeypatch.setattr(many_players, "solve_positions", note)
    again = solve_many_players(SMALL, partial=tmp_path)
    assert again.policy.tobytes() == whole.policy.tobytes()
    assert again.branches == whole.branches
    assert max(asked) < whole.positions.first[-2]


def test_other_games_are_refused():
    with pytest.raises(ValueError, match="one robot a player"):
        solve_many_players(parse_variant("2p-3c-1l"))


def test_command_prints_one_json_object(capsys):
    assert main(["--variant", "4p-3c-2l", "--json", "--threads", "1"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert sum(result["win_by_starting_place"]) == pytest.approx(1)
    assert max(result["gain_by_starting_place"]) < 1e-4
    assert main(["--variant", "4p-3c-2l", "--threads", "1"]) == 0
    assert "there are others" in capsys.readouterr().out
