"""Exact best responses against plain recursion, and what can't be judged."""

import importlib.util
import json
import re

import numpy as np
import pytest

from eval import solve
from eval.exploitability import main
from getbit_env.exact.agents import BestResponse
from getbit_env.exact.best_response import AgentError, as_face_up, exploitability, exploiting_line
from getbit_env.exact.positions import Positions
from getbit_env.exact.solving import solved
from getbit_env.exact.stored_results import StoredResultError
from getbit_env.exact.two_players import solve_two_players
from getbit_env.game_registry import find_variant
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import parse_game
from getbit_env.get_bit.observations import Options
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.get_bit.variants import parse_variant
from getbit_env.match import play_match
from tests.exact.brute_force import Whim, after, begin, choices, joint_choices, key, policy_of, response_value, situation

NAMES = ["2p-3c-1l", "2p-3c-1l-pick1", "3p-1r-4c-1l", "3p-1r-3c-2l-pick1", "4p-3c-1l"]
LINES = {2: [[0, 1, 2, 3], [0, 2, 1, 3], [0, 2, 3, 1]], 3: [[0, 1, 2]], 4: [[0, 1, 2, 3]]}


def judge(agent, name, **options):
    return exploitability(agent, Positions(parse_variant(name)), **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [Whim, BOTS["counter"], BOTS["lowest"]])
def test_values_are_those_of_plain_recursion(name, make):
    variant = parse_variant(name)
    result = judge(make(), name)
    policy = policy_of(make(), variant)
    for player in range(variant.players):
        best: dict[object, float] = {}
        own: dict[object, float] = {}
        for start, line in enumerate(LINES[variant.players]):
            table = begin(variant, line)
            assert result.best[start, player] == pytest.approx(response_value(table, player, player, policy, best), abs=1e-9)
            assert result.own[start, player] == pytest.approx(response_value(table, None, player, policy, own), abs=1e-9)


@pytest.mark.parametrize("name", ["2p-4c-2l", "4p-4c-2l", "5p-3c-2l"])
def test_properties_that_need_no_recursion(name):
    variant = parse_variant(name)
    result = judge(Whim(), name)
    total = 0 if variant.players == 2 else 1
    assert result.own.sum(axis=1) == pytest.approx(total, abs=1e-9)
    assert (result.best >= result.own - 1e-12).all()
    assert result.gain > 0.01
    assert result.nash_conv == pytest.approx(variant.players * result.gain)
    assert sum(leak.gain for leak in result.leaks) == pytest.approx(result.gain, abs=1e-9)
    assert min(leak.gain for leak in result.leaks) >= 0
    assert {leak.robots for leak in result.leaks} == set(range(variant.last_line + 1, variant.robots + 1))


def test_the_number_of_threads_changes_nothing():
    one, two = judge(Whim(), "4p-4c-2l"), judge(Whim(), "4p-4c-2l", threads=2)
    assert one.values.tobytes() == two.values.tobytes()
    assert one.answer.tobytes() == two.answer.tobytes()
    assert one.leaks == two.leaks


def test_a_best_response_wins_in_play_what_it_is_worth(tmp_path):
    """Against players who draw nothing by lot every game is its value; once from the file, in every seat and starting line."""
    name = "4p-4c-2l"
    variant = parse_variant(name)
    highest = BOTS["highest"]()
    result = judge(highest, name)
    BestResponse(result.positions, result.answer, "highest").save(tmp_path / "response.npz")
    response = BestResponse.load(tmp_path / "response.npz")
    assert response.against == "highest"
    engine = Engine(variant, 16)
    seat = np.repeat(np.arange(4), 4)  # of the responder; place in the starting line 0-3
    lines = np.array([[(s - g) % 4, *[r for r in range(4) if r != (s - g) % 4]] for g, s in enumerate(seat)])
    engine.start(starts=lines)
    place = (lines == seat[:, None]).argmax(axis=1)
    for agent, rows in ((highest, 64), (response, 16)):
        agent.reset(engine.layout, np.ones(rows, np.bool_), 0)
    games = np.arange(16)
    won = np.zeros(16)
    for _ in range(variant.most_rounds):
        engine.observe()
        actions = highest.act(engine.observation.reshape(64, -1), engine.action_mask.reshape(64, -1)).reshape(16, 4)
        actions[games, seat] = response.act(engine.observation[games, seat], engine.action_mask[games, seat])
        engine.play(actions)
        won += engine.outcome.finish[seat, games] == 1
    assert won.tolist() == result.best[0, place].tolist()
    assert set(place) == {0, 1, 2, 3}


def test_a_response_to_other_rules_or_a_damaged_one_is_never_used(tmp_path, monkeypatch):
    result = judge(Whim(), "2p-3c-1l")
    path = tmp_path / "response.npz"
    BestResponse(result.positions, result.answer, "whim").save(path)
    monkeypatch.setattr("getbit_env.exact.stored_results.rules_digest", lambda: "those of tomorrow")
    with pytest.raises(StoredResultError, match="other rules"):
        BestResponse.load(path)
    monkeypatch.undo()
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(StoredResultError, match="damaged"):
        BestResponse.load(path)
    BestResponse(result.positions, result.answer[:-1], "whim").save(path)
    with pytest.raises(StoredResultError, match="damaged"):
        BestResponse.load(path)


@pytest.mark.parametrize("name", ["2p-4c-2l", "4p-4c-2l"])
def test_the_exploiting_line_is_a_game_by_the_rules(name):
    result = judge(BOTS["lowest"](), name)
    text = exploiting_line(result, BOTS["lowest"]())
    game = parse_game(text)  # which holds positions and end against the rules
    assert game.variant == parse_variant(name)
    assert text.splitlines()[-1].startswith("end ")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert len(comments) == len(game.cards)
    hero = comments[0][2]
    assert f"end {hero.upper()} 1" in text
    assert f"{result.best.ravel()[(result.best - result.own).argmax()]:.3f}" in comments[0]


class Broken(Whim):
    """Whim, with one thing wrong."""

    def __init__(self, wrong: str) -> None:
        self.wrong, self.asked = wrong, 0
        if wrong == "options":
            self.options = Options(observe_last=True)

    def probabilities(self, observation, action_mask):
        good = super().probabilities(observation, action_mask)
        self.asked += 1
        if self.wrong == "memory":
            good = np.roll(good, self.asked, axis=0) * action_mask
            good /= good.sum(axis=1, keepdims=True) + 1e-12
        return {
            "illegal": np.full(good.shape, 1 / good.shape[1]),
            "nan": good * np.nan,
            "negative": good * 2 - good.sum(axis=1, keepdims=True) / good.shape[1],
            "half": good / 2,
            "shape": good[:, :-1],
        }.get(self.wrong, good)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("options", "looks at more than the position"),
        ("memory", "differently|no distribution"),
        ("illegal", "illegal actions"),
        ("nan", "no distribution"),
        ("negative", "no distribution"),
        ("half", "no distribution"),
        ("shape", "of shape"),
    ],
)
def test_what_can_not_be_judged_is_refused(wrong, message):
    judge(Broken("nothing"), "4p-4c-2l")
    with pytest.raises(AgentError, match=message):
        judge(Broken(wrong), "4p-4c-2l")


def test_an_agent_that_needs_another_command_is_sent_there():
    there = r".*`getbit lower-bound`"
    with pytest.raises(AgentError, match="no `probabilities`" + there):
        judge(object(), "2p-3c-1l")
    with pytest.raises(AgentError, match="looks at more" + there):
        judge(Broken("options"), "2p-3c-1l")
    with pytest.raises(AgentError, match="whim has no perfect recall .* in 4p-4c-2l-memory it may forget" + there):
        as_face_up(Whim(), parse_variant("4p-4c-2l-memory"), "whim")
    assert importlib.util.find_spec("eval.lower_bound")


def test_a_slow_agent_is_judged_and_the_user_is_told_how_long_it_takes(monkeypatch):
    """No verdict hangs on the clock."""
    said: list[str] = []
    expected = judge(Whim(), "2p-3c-1l")
    assert exploitability(Whim(), Positions(parse_variant("2p-3c-1l")), say=said.append).gain == expected.gain
    assert said == []
    monkeypatch.setattr("getbit_env.exact.best_response._LONG", 0)
    assert exploitability(Whim(), Positions(parse_variant("2p-3c-1l")), name="whim", say=said.append).gain == expected.gain
    assert len(said) == 1
    assert re.search(r"whim is slow: .* takes about \d+ minutes.*getbit lower-bound", said[0])


def test_the_regret_of_a_position_is_what_another_action_gains_there():
    """Against plain recursion: the agent but for one action in one position."""
    variant = parse_variant("3p-1r-4c-1l")
    result = judge(Whim(), variant.name)
    policy, most = policy_of(Whim(), variant), 0.0
    tables = [begin(variant, [0, 1, 2])]
    seen = set()
    while tables:
        table = tables.pop()
        if table.over or situation(table) in seen:
            continue
        seen.add(situation(table))
        for player in table.finish.keys() ^ range(3):
            own = response_value(table, None, player, policy, {})
            for cards in choices(table, player):

                def once(t, p, cards=cards, player=player, here=table):
                    return {cards: 1.0} if p == player and key(t) == key(here) else policy(t, p)

                most = max(most, response_value(table, None, player, once, {}) - own)
        tables += [after(table, joint) for joint in joint_choices(table)]
    assert result.regret == pytest.approx(most, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exploitability("random", Positions(parse_variant("2p-3c-1l"))), r"`load_agent\('random'\)` gives, not a name"),
        (lambda: exploitability(Whim(), "4p"), r"positions are `Positions.*not '4p'"),
        (lambda: Positions("4p"), r"variant is one of Get Bit!, such as `parse_variant\('4p'\)` gives, not '4p'"),
        (lambda: solve_two_players("2p"), "variant is one of Get Bit!"),
        (lambda: solved(find_variant("sharks-2p-level2")), "variant is one of Get Bit!"),
    ],
)
def test_names_in_place_of_objects_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.clause("G7.3")
def test_with_perfect_recall_the_memory_game_is_judged_as_the_face_up_game():
    """The best response wins in the memory game what it is worth, but for what so many games leave to chance, four deviations."""
    memory = parse_variant("4p-4c-2l-memory")
    agent = BOTS["counter"]()
    inner, face_up = as_face_up(agent, memory)
    assert inner is agent.agent
    assert face_up == parse_variant("4p-4c-2l")
    assert as_face_up(agent, face_up) == (agent, face_up)
    result = judge(inner, face_up.name)
    response = PerfectRecall(BestResponse(result.positions, result.answer, "counter"))
    match = play_match(["response", *["counter"] * 3], memory, agents={"response": response}, starts=480)
    worth = result.best.mean()
    assert match["response"].win.mean == pytest.approx(worth, abs=4 * np.sqrt(worth * (1 - worth) / (4 * 480)))
    assert result.own.mean() + 0.2 < worth < 1


def test_command_judges_perfect_recall_and_sends_others_elsewhere(capsys):
    found = {}
    for name in ("4p-3c-2l", "4p-3c-2l-memory"):
        assert main(["counter", "--variant", name, "--threads", "1", "--json"]) == 0
        found[name] = json.loads(capsys.readouterr().out)
        assert found[name]["variant"] == name
        assert found[name]["judged_in"] == "4p-3c-2l"
    assert found["4p-3c-2l"]["places"] == found["4p-3c-2l-memory"]["places"]
    assert main(["counter", "--variant", "4p-3c-2l-memory", "--threads", "1"]) == 0
    assert capsys.readouterr().out.startswith("counter in 4p-3c-2l-memory (with perfect recall it equals 4p-3c-2l): ")
    assert main(["random", "--variant", "4p-3c-2l-memory"]) == 2
    assert "getbit lower-bound" in capsys.readouterr().err
    assert main(["montecarlo", "--variant", "4p-3c-2l-memory"]) == 2  # remembers, but draws lots
    assert "no `probabilities`" in capsys.readouterr().err


def test_command_prints_one_json_object(capsys, tmp_path):
    arguments = ["random", "--variant", "3p-1r-4c-2l", "--threads", "1", "--save", str(tmp_path / "r.npz")]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    result = judge(BOTS["random"](), "3p-1r-4c-2l")
    assert found["gain"] == result.gain
    assert [place["best_response"] for place in found["places"]] == result.best.ravel().tolist()
    assert sum(leak["gain"] for leak in found["leaks"]) == pytest.approx(result.gain)
    parse_game(found["exploiting_line"])
    assert (BestResponse.load(tmp_path / "r.npz").answer == result.answer).all()
    assert main(arguments) == 0
    assert f"NashConv {result.nash_conv:.4g}" in capsys.readouterr().out


def test_command_judges_any_agent_that_is_made_to_remember(capsys):
    found = []
    for agent, game in (("random", "4p-3c-2l"), ("recall:random", "4p-3c-2l-memory"), ("recall:random", "4p-3c-2l")):
        assert main([agent, "--variant", game, "--threads", "1", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["places"])
    assert found[0] == found[1] == found[2]


def test_command_says_what_is_wrong(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path / "cache"))
    for arguments, message in (
        (["nobody", "--variant", "2p-3c-1l"], "no agent 'nobody'"),
        (["random", "--variant", "3p"], "three players"),
        (["random", "--variant", "sharks-2p-level2"], "a variant of Sharks are Wild, and this command is for Get Bit! alone"),
        (["sharks-greedy", "--variant", "2p-3c-1l"], "agent 'sharks-greedy' plays Sharks are Wild"),
        (["equilibrium", "--variant", "2p-4c-1l-pick1"], "2p-4c-1l-pick1 is not solved here"),
        (
            ["random", "--variant", "2p-half", "--players", "4", "--pick-up-at", "1"],
            "already says what --players --pick-up-at would",
        ),
        (["random", "--save", str(tmp_path / "response")], "--save takes a file *.npz"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["random", "--threads", "0"])
    assert "'0' is no whole number from 1 on" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.npz").mkdir()
    for path in (tmp_path / "file" / "r.npz", tmp_path / "folder.npz", tmp_path / f"{'x' * 300}.npz"):
        assert main(["random", "--variant", "2p-3c-1l", "--save", str(path)]) == 2
        said = capsys.readouterr()
        assert said.out == "", "refused before the work"
        assert f"{path} can't be written" in said.err
    monkeypatch.setattr(BestResponse, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    assert main(["random", "--variant", "2p-3c-1l", "--save", str(tmp_path / "r.npz")]) == 1
    said = capsys.readouterr()
    assert "NashConv" in said.out, "what was found is told all the same"
    assert f"can't be written to {tmp_path / 'r.npz'}" in said.err


def test_command_refuses_before_it_numbers_positions(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path))
    monkeypatch.delattr("eval.exploitability.Positions")
    for name, message in (
        ("montecarlo", "no `probabilities`"),
        ("equilibrium", "2p-half is not solved here"),
        ("four_players", "was trained on 4p"),
    ):
        assert main([name, "--variant", "2p-half"]) == 2
        assert message in capsys.readouterr().err


def test_command_takes_the_numbering_of_an_agent_that_has_one(capsys, tmp_path, monkeypatch):
    response = str(tmp_path / "response.npz")
    assert main(["lowest", "--variant", "2p-3c-2l", "--threads", "1", "--save", response]) == 0
    monkeypatch.delattr("eval.exploitability.Positions")
    capsys.readouterr()
    assert main([response, "--variant", "2p-3c-2l", "--threads", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nash_conv"] > 0


@pytest.mark.parametrize("name", ["2p-3c-1l", "4p-3c-1l"])
def test_what_memory_does_not_hold_is_refused(name, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path))
    monkeypatch.setattr("getbit_env.exact.ram.machine_memory", lambda: 10)
    for command, arguments in ((main, ["random"]), (solve.main, [])):
        assert command([*arguments, "--variant", name]) == 2
        assert re.search(rf"positions of {name} takes 0\.0 GB of memory, and this machine has 0\.0", capsys.readouterr().err)
    monkeypatch.setattr("getbit_env.exact.ram.machine_memory", lambda: None)
    assert main(["random", "--variant", name]) == 0
