"""Replays: what is recorded plays again to the same end, and what is damaged is refused with the reason."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import getbit_env
import tests.third_game  # noqa: F401 - registers the game
from eval.tournament import main as tournament
from getbit_env.agent_registry import load_agent
from getbit_env.core.finish import wins_of_finish
from getbit_env.exact import Equilibrium
from getbit_env.exact.two_players import solve_two_players
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit.variants import parse_variant
from getbit_env.match import play_games, play_match
from getbit_env.replays import SUFFIX, Replay, ReplayError, load_replay, parse_replay, replay_of
from getbit_env.sharks_are_wild import env as sharks_env
from getbit_env.single_agent import SingleAgentEnv
from tests.make_replays import GAMES, GOLDEN
from tests.third_game.environment import GoofspielEnv

LINE_UPS = {
    "4p": ["counter", "random", "random", "highest"],
    "3p": ["random", "counter", "random"],
    "2p-memory": ["random", "counter"],
    "sharks-2p-level2": ["sharks-careful", "sharks-random"],
    "sharks-3p-level1-2coins": ["sharks-random", "sharks-greedy", "sharks-random"],
    "goofspiel-3p-3c": ["goofspiel-random", "goofspiel-matching", "goofspiel-random"],
}


def of_golden(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((GOLDEN / f"{name}.replay.json").read_text(encoding="utf-8"))
    return data


# --- golden ------------------------------------------------------------------------------------------------------------------


def test_every_game_has_golden_replays() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == {f"{name}.replay.json" for name in GAMES}
    assert {game_of(find_variant(name)).id for name in GAMES} >= set(getbit_env.game_registry.game_ids()) - {"test/Other-v0"}


@pytest.mark.parametrize("name", GAMES)
def test_a_golden_replay_plays_to_its_end(name: str) -> None:
    file = GOLDEN / f"{name}.replay.json"
    replay = load_replay(file)
    replay.verify()
    assert replay.to_json() == file.read_text(encoding="utf-8")
    assert replay.end.over
    assert 1 in replay.end.placement


# --- recording ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINE_UPS)
def test_a_recorded_match_is_the_match(name: str, tmp_path: Path) -> None:
    line_up = LINE_UPS[name]
    result = play_match(line_up, name, starts=4, seed=5, record=tmp_path / "games")
    assert result == play_match(line_up, name, starts=4, seed=5), "recording changes nothing"
    replays = sorted((load_replay(file) for file in (tmp_path / "games").iterdir()), key=lambda one: one.number or 0)
    assert [one.number for one in replays] == list(range(result.games))
    for replay in replays:
        replay.verify()
        assert parse_replay(replay.to_json()) == replay
        assert replay.agents == tuple(line_up)
        assert (replay.seed, replay.variant) == (5, name)
    assert np.mean([replay.end.length for replay in replays]) == pytest.approx(result.length)
    wins = wins_of_finish(np.array([[place or 0 for place in replay.end.placement] for replay in replays]).T)
    for agent in set(line_up):
        seats = [seat for seat, one in enumerate(line_up) if one == agent]
        assert wins[seats].mean() == pytest.approx(result[agent].win.mean)
        for statistic, mean in result[agent].statistics.items():
            counted = [replay.end.statistics[statistic][seat] for replay in replays for seat in seats]
            assert np.mean(counted) == pytest.approx(mean)


def test_a_match_records_as_many_games_as_asked(tmp_path: Path) -> None:
    line_up = LINE_UPS["4p"]
    play_match(line_up, "4p", starts=6, record=tmp_path, record_games=5)
    files = sorted(tmp_path.iterdir())
    assert [load_replay(file).number for file in files] == [0, 1, 2, 3, 4]
    assert all(file.name.endswith(SUFFIX) for file in files)
    play_match(line_up, "4p", starts=6, record=tmp_path, record_games=5)
    assert sorted(tmp_path.iterdir()) == files, "the same game has the same file"
    with pytest.raises(ValueError, match="record_games says how many games go into the folder"):
        play_match(line_up, "4p", starts=6, record_games=5)
    with pytest.raises(ValueError, match="record_games is a whole number, at least 0, not -1"):
        play_match(line_up, "4p", starts=6, record=tmp_path, record_games=-1)


def test_probabilities_are_those_of_the_agent() -> None:
    """The replay is played again, and the agent asked about what its seat sees: all that it said is there."""
    replay = play_games(["four_players", "random", "random", "counter"], "4p")[3]
    agent = load_agent("four_players")
    engines = replay.positions()
    agent.reset(next(engines).layout, np.ones(1, bool), 0)
    for move, engine in zip(replay.moves, replay.positions(), strict=False):
        assert move.probabilities is not None
        if move.actions[0] is None:
            assert move.probabilities[0] is None
            continue
        told = agent.probabilities(engine.observation[0, :1], engine.action_mask[0, :1])[0]
        chances = move.probabilities[0]
        assert chances is not None
        assert [chances.get(a, 0.0) for a in range(5)] == pytest.approx(told.tolist(), abs=1e-5)
        assert move.values is None


def test_an_exact_solution_tells_its_values() -> None:
    variant = parse_variant("2p-3c-1l")
    solution = solve_two_players(variant)
    for replay in play_games(["exact", "random"], variant, agents={"exact": Equilibrium(solution)}, seed=3):
        replay.verify()
        for move, engine in zip(replay.moves, replay.positions(), strict=False):
            number, role = solution.positions.read(engine.observation[0, :1])
            assert move.values is not None
            assert move.values == (pytest.approx(solution.values[number[0], role[0]], abs=1e-6), None)
        assert parse_replay(replay.to_json()) == replay


class Strange:
    """An agent whose distributions are none: the match is not lost for that, and the replay does without them."""

    deterministic = True

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def reset(self, layout: Any, begins: Any, seed: int | None) -> None:
        pass

    def act(self, observation: Any, action_mask: Any) -> Any:  # noqa: ARG002 - the protocol's signature
        return action_mask.argmax(axis=1)

    def probabilities(self, observation: Any, action_mask: Any) -> Any:  # noqa: ARG002 - likewise
        return self.answer(action_mask)


@pytest.mark.parametrize(
    "answer",
    [lambda _: 1 / 0, lambda _: "none", lambda mask: mask * np.nan, lambda _: np.ones(3), lambda mask: mask * 1.0],
)
def test_distributions_that_are_none_are_left_out(answer: Callable[[Any], Any]) -> None:
    for replay in play_games([Strange(answer), "highest", "highest", "highest"], "4p"):
        parse_replay(replay.to_json()).verify()
        for move in replay.moves:
            assert move.probabilities is None or move.probabilities[0] is None or list(move.probabilities[0].values()) == [1.0]


def play(env: Any, seed: int, most: int = 10_000) -> None:
    """Play random legal actions in a PettingZoo environment of either kind."""
    rng = np.random.default_rng(seed)
    if hasattr(env, "agent_iter"):
        env.reset(seed=seed)
        for agent in env.agent_iter(most):
            observation, _, terminated, truncated, _ = env.last()
            legal = np.flatnonzero(observation["action_mask"])
            env.step(None if terminated or truncated else int(rng.choice(legal)))
            assert agent
        return
    observations, _ = env.reset(seed=seed)
    while env.agents and most:
        most -= 1
        actions = {agent: int(rng.choice(np.flatnonzero(observations[agent]["action_mask"]))) for agent in env.agents}
        observations, *_ = env.step(actions)


@pytest.mark.parametrize(
    "make",
    [
        lambda: getbit_env.parallel_env(2, memory=True),
        lambda: getbit_env.parallel_env(5),
        lambda: getbit_env.env(),
        lambda: getbit_env.parallel_env(max_cycles=3),
        lambda: sharks_env(2, 2),
        lambda: sharks_env(4, coins=2),
        lambda: GoofspielEnv(variant="goofspiel-3p-3c"),
    ],
)
def test_a_loop_is_recorded(make: Callable[[], Any], tmp_path: Path) -> None:
    env = make()
    players = len(env.possible_agents)
    for seed in (1, 2):
        play(env, seed)
        replay = replay_of(env, [f"me {p}" for p in range(players)], seed=seed)
        file = replay.save(tmp_path)
        assert load_replay(file) == replay
        replay.verify()
        snapshot = env.unwrapped.snapshot()
        assert replay.end.over == (not snapshot.get("truncated", False))
        if "placement" in snapshot:
            assert [place or None for place in replay.end.placement] == snapshot["placement"]
    play(env, 3, most=2)
    replay_of(env).verify()
    with pytest.raises(ValueError, match=f"agents holds {players} names"):
        replay_of(env, ["a"])


def test_one_seat_is_recorded() -> None:
    env = SingleAgentEnv("getbit/GetBit-v0", opponents="random")
    env.reset(seed=1)
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(int(env.action_masks().argmax()))
        over = terminated or truncated
    replay_of(env).verify()
    with pytest.raises(TypeError, match="a replay is made of an environment with `snapshot`"):
        replay_of("4p")


def test_a_tournament_records_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["highest", "lowest", "--players", "4", "--starts", "24", "--output", str(tmp_path / "out")]
    assert tournament([*command, "--record", str(tmp_path / "games"), "--record-games", "3"]) == 0
    replays = [load_replay(file) for file in (tmp_path / "games").iterdir()]
    line_ups = {replay.agents for replay in replays}
    assert len(replays) == 3 * len(line_ups)
    assert ("highest", "lowest", "lowest", "lowest") in line_ups
    with pytest.raises(SystemExit):
        tournament([*command, "--record-games", "3"])
    assert "--record-games N says how many games go into --record FOLDER" in capsys.readouterr().err


# --- damage ------------------------------------------------------------------------------------------------------------------


def changed(name: str, change: Callable[[dict[str, Any]], object]) -> Replay:
    data = of_golden(name)
    change(data)
    return parse_replay(json.dumps(data))


def put(*path: Any) -> Callable[[dict[str, Any]], object]:
    """A function that puts the last entry where the others lead."""
    *keys, last, value = path

    def change(data: Any) -> None:
        for key in keys:
            data = data[key]
        data[last] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("4p", put("format", "getbit-game"), "this is no replay"),
        ("4p", put("format_version", 2), "has format version 2; this package reads version 1"),
        ("4p", put("format_version", True), "has format version True"),
        ("4p", put("game", "getbit/GetBit-v1"), "of 'getbit/GetBit-v1': other rules than getbit/GetBit-v0, which this"),
        ("4p", put("game", "somebody/Chess-v0"), "of 'somebody/Chess-v0': none of getbit/GetBit-v0"),
        ("4p", put("game", 4), "game is a text"),
        ("4p", put("variant", "9p"), "the replay's variant: .*players is 2 to 7"),
        ("4p", put("variant", "5p"), "agents is a list of 5 entries"),
        ("4p", put("agents", [1, 2, 3, 4]), "each entry of agents is a text"),
        ("4p", put("agents", 0, "x" * 501), "each entry of agents is a text of at most 500"),
        ("4p", put("seed", -1), "seed is a whole number"),
        ("4p", put("number", 1.5), "number is a whole number"),
        ("4p", put("start", [0, 1, 2, 2]), "the replay's start is none of 4p"),
        ("4p", put("start", "0123"), "the replay's start is none of 4p"),
        ("4p", put("start", [[0, 1, 2, 3]]), "the replay's start is none of 4p"),
        ("4p", put("surprise", 1), "the replay has 'surprise', which no replay has there"),
        ("4p", lambda data: data.pop("seed"), "the replay lacks seed"),
        ("4p", put("moves", 0, "actions", [0, 1, 2]), "the actions of move 1 is a list of 4 entries"),
        ("4p", put("moves", 0, "actions", 2, 5), "each action of move 1 is a whole number from 0 to 4, not 5"),
        ("4p", put("moves", 0, "actions", 2, True), "each action of move 1 is a whole number"),
        ("4p", put("moves", 0, "do", "x"), "move 1 has 'do'"),
        ("4p", put("moves", {}), "moves is a list"),
        ("4p", put("moves", 0, "probabilities", 0, {"7": 1.0}), "'7' is no action"),
        ("4p", put("moves", 0, "probabilities", 0, {"0": 0.5}), "sum to 1, not to 0.5"),
        ("4p", put("moves", 0, "probabilities", 0, {"0": -1, "1": 2}), "numbers from 0 to 1, not -1"),
        ("4p", put("moves", 0, "probabilities", 0, [1.0]), "are an object such as"),
        ("4p", put("moves", 0, "values", ["much", None, None, None]), "each value of move 1 is a number, not 'much'"),
        ("4p", put("end", "over", 1), "over is true or false"),
        ("4p", put("end", "placement", [1, 2, 3, 9]), "each entry of placement is a whole number from 0 to 4"),
        ("4p", put("end", "statistics", {}), "statistics lacks bites"),
        ("4p", put("end", "digest", "0"), "digest is 16 hexadecimal digits"),
        ("4p", put("end", None), "the end is an object"),
        ("sharks-2p-level2", put("start", "first", 2), "the first player of the start is a whole number from 0 to 1"),
        ("sharks-2p-level2", put("start", "stream", "zz"), "the stream of the start is a key"),
        ("sharks-2p-level2", put("start", "cards", "0000"), "start is none of sharks-2p-level2: a deck of"),
        ("sharks-2p-level2", put("start", [0, 1]), "the start is a deal with cards, first, stream"),
    ],
)
def test_damage_is_found_when_it_is_read(name: str, change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        changed(name, change)


def reverse_deal(data: dict[str, Any]) -> None:
    data["start"]["cards"] = data["start"]["cards"][::-1]


def swap_first_moves(data: dict[str, Any]) -> None:
    data["moves"][0], data["moves"][1] = data["moves"][1], data["moves"][0]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("4p", lambda data: data["moves"].pop(), "says over True at its end, but its moves lead to False"),
        ("4p", lambda data: data["moves"].append(copy.deepcopy(data["moves"][-1])), "can't be played: the game is over"),
        ("4p", lambda data: data["end"]["placement"].reverse(), "the replay says placement"),
        ("4p", put("end", "length", 3), "the replay says length 3 at its end"),
        ("4p", put("end", "statistics", "bites", [0, 0, 0, 0]), "the replay says statistics"),
        ("4p", put("end", "digest", "0" * 16), "the replay says digest '0000000000000000' at its end"),
        ("4p", put("moves", 0, "actions", 1, None), "that of player 1 is one of"),
        ("4p", put("moves", 2, {"actions": [0, 0, 0, 0]}), "move 3 of the replay can't be played: player"),
        ("4p", lambda data: data["start"].reverse(), "the replay says|can't be played"),
        ("2p", swap_first_moves, "the replay says|can't be played|not legal"),
        ("sharks-2p-level2", put("moves", 0, {"actions": [1, 1]}), "is null, since it has nothing to choose, not 1"),
        (
            "sharks-2p-level2",
            lambda data: put("start", "cards", data["start"]["cards"][::-1])(data),
            "the replay says|can't be played|not legal",
        ),
    ],
)
def test_damage_is_found_when_it_is_played(name: str, change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        changed(name, change).verify()


def test_chances_of_illegal_actions_are_found() -> None:
    data = of_golden("4p")
    played = {move["actions"][0] for move in data["moves"][:1]}
    data["moves"][1]["probabilities"] = [{str(played.pop()): 1.0}, None, None, None]  # the card lies on the table
    with pytest.raises(ReplayError, match="move 2 of the replay gives player 0 chances of actions that are not legal"):
        parse_replay(json.dumps(data)).verify()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no JSON"),
        ("[1, 2]", "this is no replay"),
        ("{", "this is no JSON"),
        ('{"format": "getbit-replay", "format": "x"}', "the replay says 'format' twice"),
        ('{"format": NaN}', "NaN is no number of JSON"),
        ("[" * 100_000, "this is no JSON"),
        (b"\xff\xfe\x00", "this is no JSON"),
    ],
)
def test_what_is_no_json_is_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "x.replay.json"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ReplayError, match=message) as error:
        load_replay(file)
    assert str(error.value).startswith(str(file)), "the message names the file"


def test_files_that_are_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getbit_env.replays.MOST_BYTES", 100)
    with pytest.raises(ReplayError, match="is larger than 100 bytes"):
        load_replay(GOLDEN / "4p.replay.json")
    with pytest.raises(FileNotFoundError):
        load_replay(tmp_path / "none")


def test_hostile_names_stay_in_the_folder(tmp_path: Path) -> None:
    data = of_golden("4p")
    data["agents"] = ["../../x", "a/b\\c", "", "\n\x00<script>"]
    file = parse_replay(json.dumps(data)).save(tmp_path)
    assert file.parent == tmp_path
    assert load_replay(file).agents == tuple(data["agents"])
