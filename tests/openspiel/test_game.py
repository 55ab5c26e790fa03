"""The OpenSpiel game is the game of this package, and passes the tests of OpenSpiel."""

from __future__ import annotations

import contextlib
import io
import itertools
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import getbit_env
from getbit_env.get_bit.notation import parse_game
from getbit_env.get_bit.variants import parse_variant

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
from getbit_env.openspiel import NAME, game_of_variant  # noqa: E402 - only where OpenSpiel is

VARIANTS = ["2p", "2p-half-memory", "3p", "3p-literal", "3p-1r-4c-2l", "4p", "4p-pick1-memory", "6p", "7p"]


def shuffled_line(state: Any, rng: random.Random) -> list[int]:
    """Let chance form the line."""
    line = []
    while state.is_chance_node():
        robots, chances = zip(*state.chance_outcomes(), strict=True)
        assert chances == pytest.approx([1 / len(robots)] * len(robots))
        line.append(rng.choice(robots))
        state.apply_action(line[-1])
    return line


def played_out(game: Any, seed: int) -> Any:
    """A state at the end of a random game."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    shuffled_line(state, rng)
    while not state.is_terminal():
        legal = [state.legal_actions(player) for player in range(game.num_players())]
        state.apply_actions([rng.choice(actions) if actions else pyspiel.INVALID_ACTION for actions in legal])
    return state


# --- the same game -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"observe_last": True, "identity": True}], ids=["default", "options"])
@pytest.mark.parametrize("name", VARIANTS)
def test_every_state_is_that_of_the_environment(name: str, options: dict[str, bool]) -> None:
    variant = parse_variant(name)
    game = game_of_variant(variant, **options)
    env = getbit_env.parallel_env(variant=variant, illegal_action="raise", **options)
    past = getbit_env.parallel_env(variant=variant, observe_last=True, identity=True, history=True)
    assert (game.layout.size, game.history_layout.size) == (env.layout.size, past.layout.size)
    for seed in range(3):
        rng = random.Random(seed)
        state = game.new_initial_state()
        line = shuffled_line(state, rng)
        line += sorted(set(range(variant.robots)) - set(line))
        seen, _ = env.reset(options={"line": line})
        told, _ = past.reset(options={"line": line})
        paid = [0.0] * variant.players
        while env.agents:
            assert state.is_simultaneous_node()
            joint = []
            for player in range(variant.players):
                agent = f"player_{player}"
                legal = np.flatnonzero(seen[agent]["action_mask"]).tolist() if agent in env.agents else []
                assert state.legal_actions(player) == legal
                assert np.flatnonzero(state.legal_actions_mask(player)).tolist() == legal
                if legal:
                    assert np.array_equal(state.observation_tensor(player), seen[agent]["observation"])
                    assert np.array_equal(state.information_state_tensor(player), told[agent]["observation"])
                joint.append(rng.choice(legal) if legal else pyspiel.INVALID_ACTION)
            state.apply_actions(joint)
            actions = {agent: joint[int(agent[-1])] for agent in env.agents}
            seen, rewards, _, _, _ = env.step(actions)
            told, *_ = past.step(actions)
            for agent, reward in rewards.items():
                paid[int(agent[-1])] += reward
        assert state.is_terminal()
        assert state.returns() == paid
        assert parse_game(str(state)).line == line, "its text is a game in our notation, which is checked as it is read"


@pytest.mark.parametrize("name", ["4p", "3p", "4p-memory"])
def test_texts_tell_what_tensors_tell(name: str) -> None:
    game = game_of_variant(name)
    observations: dict[str, set[bytes]] = {}
    information: dict[str, set[bytes]] = {}
    for seed in range(40):
        state, rng = game.new_initial_state(), random.Random(seed)
        shuffled_line(state, random.Random(seed % 2))
        for _ in range(4):
            for player in range(game.num_players()):
                tensor = np.asarray(state.observation_tensor(player)).tobytes()
                observations.setdefault(state.observation_string(player), set()).add(tensor)
                tensor = np.asarray(state.information_state_tensor(player)).tobytes()
                information.setdefault(state.information_state_string(player), set()).add(tensor)
            state.apply_actions([rng.choice(state.legal_actions(player)) for player in range(game.num_players())])
    for told in (observations, information):
        assert all(len(tensors) == 1 for tensors in told.values())
        of_first = [next(iter(tensors)) for text, tensors in told.items() if text.startswith("player 0")]
        assert len(of_first) == len(set(of_first)) > 40


def test_the_text_of_an_observation_by_hand() -> None:
    state = game_of_variant("4p", "CADB").new_initial_state()
    state.apply_actions([4, 2, 2, 0])
    assert state.observation_string(1) == (
        "player 1 | limbs=0,1,2,3 hand=0,1,2,3 | limbs=0,1,2,3 hand=1,2,3,4 | limbs=0,1,2,3 hand=0,1,3,4 | "
        "owner=0 limbs=0,1,2,3 hand=0,1,3,4"
    )
    assert state.information_state_string(1) == "player 1 | C A D B | A5 B3 C3 D1"
    assert state.action_to_string(0, 3) == "4"
    two = game_of_variant("2p", "ABba").new_initial_state()
    assert two.action_to_string(0, 5 * 2 + 4) == "3 5"


@pytest.mark.parametrize("name", ["4p", "4p-memory"])
def test_nothing_hidden_is_observed(name: str) -> None:
    """D's card of the first round does not change the line, and then lies on its table: face down in the memory game."""
    ends = []
    for card in (0, 1):
        state = game_of_variant(name, "ABCD").new_initial_state()
        for joint in ([4, 3, 2, card], [3, 2, 1, 4]):
            state.apply_actions(joint)
        ends.append(state)
    one, other = ends
    for player in range(4):
        same = np.array_equal(one.observation_tensor(player), other.observation_tensor(player))
        assert same == (name == "4p-memory" and player < 3), "a player sees the own hand"
        assert same == (one.observation_string(player) == other.observation_string(player))
        assert one.information_state_string(player) != other.information_state_string(player), "with perfect recall"
        assert one.information_state_tensor(player) != other.information_state_tensor(player)


@pytest.mark.parametrize("name", ["4p", "2p"])
def test_observers_name_the_fields_of_the_layout(name: str) -> None:
    from open_spiel.python.observation import make_observation

    game = game_of_variant(name)
    observation = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    assert list(observation.dict) == ["line", "first_round", "start", "history"]
    state = game.new_initial_state()
    observation.set_from(state, 0)
    assert not observation.tensor.any()
    shuffled_line(state, random.Random(0))
    observation.set_from(state, 0)
    assert observation.dict["first_round"] == [1]
    assert observation.tensor.tolist() == state.information_state_tensor(0)
    with pytest.raises(ValueError, match="observers of python_getbit have no parameters"):
        game.make_py_observer(None, {"a": 1})
    everything = pyspiel.IIGObservationType(perfect_recall=True, private_info=pyspiel.PrivateInfoType.ALL_PLAYERS)
    with pytest.raises(ValueError, match="show private information of one player or of none, not of all"):
        game.make_py_observer(everything)


@pytest.mark.parametrize("recall", [False, True])
@pytest.mark.parametrize("name", ["4p-memory", "4p"])
def test_what_is_public_and_what_is_private(name: str, recall: bool) -> None:
    from open_spiel.python.observation import make_observation

    single, none = pyspiel.PrivateInfoType.SINGLE_PLAYER, pyspiel.PrivateInfoType.NONE
    game = game_of_variant(name, "CADB")
    state = game.new_initial_state()
    state.apply_actions([4, 2, 2, 0])
    told: dict[str, list[str]] = {}
    sums = dict[str, list[float]]()
    for kind, public, private in (
        ("both", True, single),
        ("public", True, none),
        ("private", False, single),
        ("none", False, none),
    ):
        observer = make_observation(
            game, pyspiel.IIGObservationType(public_info=public, perfect_recall=recall, private_info=private)
        )
        told[kind] = [observer.string_from(state, player) for player in range(4)]
        sums[kind] = []
        for player in range(4):
            observer.set_from(state, player)
            sums[kind].append(float(observer.tensor.sum()))
    assert len(set(told["public"])) == 1, "it is the same for all"
    own_hand = 4 if name == "4p-memory" else 0
    assert sums["private"] == [own_hand] * 4
    assert np.subtract(sums["both"], sums["public"]).tolist() == [own_hand] * 4
    assert sums["none"] == [0] * 4
    assert told["none"] == [""] * 4
    if name == "4p-memory":
        assert told["private"][2] == "player 2 | hand=0,1,3,4"


def test_players_who_are_out_are_dropped() -> None:
    """In turns nobody is asked who is out, and what is applied for them changes nothing."""
    game = game_of_variant("4p-1l")
    turns = pyspiel.convert_to_turn_based(game)
    for seed in range(10):
        end = played_out(game, seed)
        state = turns.new_initial_state()
        asked = 0
        for action in _history_in_turns(end):
            inner = state.simultaneous_game_state()
            if not state.is_chance_node():
                asked += 1
                assert inner.legal_actions(state.current_player())
            state.apply_action(action)
        assert state.is_terminal()
        assert state.returns() == end.returns()
        assert asked < 4 * len(end.position.joints), "somebody was out in the last round"
    state = game.new_initial_state()
    shuffled_line(state, random.Random(0))
    for cards in itertools.chain.from_iterable(itertools.repeat([[4, 3, 2, 1], [3, 2, 1, 0]])):
        out = [player for player in range(4) if not state.legal_actions(player)]
        if out:
            break
        state.apply_actions(cards)
    others = [(state.legal_actions(player) or [0])[0] for player in range(4)]
    texts = set()
    for ignored in (0, 4, pyspiel.INVALID_ACTION):
        child = state.clone()
        child.apply_actions([ignored if player in out else action for player, action in enumerate(others)])
        texts.add(str(child))
    assert len(texts) == 1


def _history_in_turns(end: Any) -> list[int]:
    """The actions of a game, without those of players who were out."""
    game, history = end.get_game(), end.history()
    state, turns = game.new_initial_state(), []
    while state.is_chance_node():
        turns.append(history.pop(0))
        state.apply_action(turns[-1])
    while history:
        joint, history = history[: game.num_players()], history[game.num_players() :]
        turns += [action for player, action in enumerate(joint) if state.legal_actions(player)]
        state.apply_actions(joint)
    return turns


# --- the tests of OpenSpiel --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [False, True], ids=["simultaneous", "turns"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_official_simulation_test_passes(name: str, turns: bool) -> None:
    game = game_of_variant(name)
    pyspiel.random_sim_test(pyspiel.convert_to_turn_based(game) if turns else game, num_sims=3, serialize=True, verbose=False)


@pytest.mark.filterwarnings("ignore")  # of what OpenSpiel's own tests import
@pytest.mark.parametrize(
    "text",
    [
        NAME,
        *(f"{NAME}(players={players})" for players in range(2, 8)),
        f"{NAME}(players=3,robots_per_player=1,cards=4,limbs=2)",
        f"{NAME}(players=2,memory=True,reward=placement)",
        f"{NAME}(variant=4p-1l,line=CADB,identity=True)",
    ],
)
def test_the_official_python_tests_pass(text: str) -> None:
    games_sim_test = pytest.importorskip("open_spiel.python.tests.games_sim_test")
    test = games_sim_test.GamesSimTest()
    with contextlib.redirect_stdout(io.StringIO()):
        for game in (pyspiel.load_game(text), pyspiel.load_game_as_turn_based(text)):
            test.sim_game(game)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "text", [NAME, f"{NAME}(players=2)", f"{NAME}(variant=3p-1r-4c-2l,memory=False)", f"{NAME}(players=3,memory=True)"]
)
def test_playthroughs_are_made_and_replayed(text: str, tmp_path: Path) -> None:
    from absl import flags

    generate_playthrough = pytest.importorskip("open_spiel.python.algorithms.generate_playthrough")
    if not flags.FLAGS.is_parsed():
        flags.FLAGS(["test"])
    file = tmp_path / "playthrough.txt"
    file.write_text(generate_playthrough.playthrough(text, None, seed=1))
    made, again = generate_playthrough.replay(str(file))
    assert "IsTerminal() = True" in made
    assert made == again


def test_the_game_is_registered_once_and_known_by_its_parameters() -> None:
    assert pyspiel.registered_names().count(NAME) == 1
    game = pyspiel.load_game(NAME, {"players": 3, "cards": 5, "pick_up_at": 1, "memory": True, "three_player_ending": "literal"})
    assert game.variant == parse_variant("3p-5c-pick1-memory-literal")
    assert pyspiel.load_game(str(game)).variant == game.variant
    assert pickle.loads(pickle.dumps(game)).variant == game.variant
    kind = game.get_type()
    assert kind.information == pyspiel.GameType.Information.IMPERFECT_INFORMATION
    assert kind.chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    fixed = game_of_variant("4p", "CADB")
    assert fixed.get_type().chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
    assert fixed.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION
    assert fixed.new_initial_state().is_simultaneous_node()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"players": 8}, "players is 2 to 7, not 8"),
        ({"variant": "4p", "cards": 6}, "variant=4p already says what cards would; give one or the other"),
        ({"variant": "9p"}, "no variant '9p'"),
        ({"line": "ABC"}, "line holds each robot of 4p once, front to back, such as ABCD, not 'ABC'"),
        ({"line": "ABCX"}, "no robot 'X' in 4p: it has A B C D"),
        ({"reward": "most"}, "reward is one of"),
        ({"cards": 9}, "cards is 3 to 7, not 9"),
    ],
)
def test_parameters_that_make_no_game_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(NAME, parameters)


def test_unknown_parameters_and_illegal_actions_are_refused() -> None:
    with pytest.raises(ValueError, match="python_getbit has no parameter 'playerz'; it has players"):
        game_of_variant("4p", playerz=3)
    state = game_of_variant("4p", "ABCD").new_initial_state()
    state.apply_actions([0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"player 0: action 0 is illegal, legal are \[1, 2, 3, 4\]"):
        state.apply_actions([0, 0, 0, 0])
