"""Perfect recall (G7.3): from what a player of the memory game sees, round by round, follows all that the face-up game shows."""

import copy
import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest

from getbit_env import parallel_env, parse_variant
from getbit_env.core.layouts import Show
from getbit_env.get_bit.bots import Forgetful, Random
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.recall import PerfectRecall, Recall, perfect_recall

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import a game of its own in a way that it deprecates
    from pettingzoo.test import parallel_api_test

VARIANTS = [
    "2p",
    "3p",
    "3p-literal",
    "4p",
    "5p",
    "6p",
    "7p",
    "2p-half-pick1",
    "4p-half",
    "4p-pick1",
    "3p-1r",
    "4p-3c-1l",
    "3p-pick1",
]
OPTIONS = [Options(*flags) for flags in itertools.product([False, True], repeat=3)]


def random_actions(engine: Engine, rng: np.random.Generator) -> np.ndarray:
    return (engine.action_mask * rng.random(engine.action_mask.shape)).argmax(2)


def both_games(name: str, options: Options, games: int, seed: int):
    """The same games face up and as memory games, with a `Recall` for all seats of the latter."""
    face_up = Engine(parse_variant(name), games, seed=seed, options=options)
    memory = Engine(replace(parse_variant(name), memory=True), games, seed=seed, options=options)
    recall = Recall(memory.layout, games * face_up.variant.players)
    return face_up, memory, recall


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.clause("G7.3")
def test_recalled_is_the_face_up_observation(name: str) -> None:
    for seed, options in enumerate([Options(), *OPTIONS[1:]] if name in ("3p", "4p") else [Options(), OPTIONS[-1]]):
        face_up, memory, recall = both_games(name, options, 64, seed)
        assert recall.layout.view == face_up.layout.view
        rng = np.random.default_rng(seed)
        for engine in (face_up, memory):
            engine.start()
        rounds = 2 * face_up.variant.most_rounds
        for _ in range(rounds):
            for engine in (face_up, memory):
                engine.observe()
            seen = recall.see(memory.observation.reshape(-1, memory.layout.size))
            np.testing.assert_array_equal(seen, face_up.observation.reshape(seen.shape))
            actions = random_actions(face_up, rng)
            for engine in (face_up, memory):
                engine.play(actions)
                engine.start(engine.outcome.over)  # games that are over begin anew in the same rows
        assert int(face_up.counters.min()) >= 2, "every row has seen a second game"


@pytest.mark.clause("G7.3")
def test_one_observation_is_not_enough() -> None:
    """The recall remembers: one that sees only the present round is wrong."""
    face_up, memory, _ = both_games("4p", Options(), 64, 0)
    rng = np.random.default_rng(0)
    for engine in (face_up, memory):
        engine.start()
    for _ in range(4):
        for engine in (face_up, memory):
            engine.observe()
        actions = random_actions(face_up, rng)
        for engine in (face_up, memory):
            engine.play(actions)
    for engine in (face_up, memory):
        engine.observe()
    seen = Recall(memory.layout, 256).see(memory.observation.reshape(256, -1))
    assert not np.array_equal(seen, face_up.observation.reshape(seen.shape))


def test_rows_of_players_who_are_out_stay_zero() -> None:
    _, memory, recall = both_games("4p", Options(), 32, 0)
    memory.start()
    show = np.full(32, Show.CHOOSING, np.uint8)
    for _ in range(memory.variant.most_rounds + 1):
        memory.observe(show)
        seen = recall.see(memory.observation.reshape(128, -1)).reshape(32, 4, -1)
        dead = (memory.observation == 0).all(axis=2)
        np.testing.assert_array_equal((seen == 0).all(axis=2), dead)
        memory.play(memory.action_mask.argmax(2))
    assert dead.all()


def test_a_face_up_game_has_nothing_to_recall() -> None:
    with pytest.raises(ValueError, match="4p: its tables lie face up"):
        Recall(Layout(parse_variant("4p")), 1)


@pytest.mark.parametrize("name", ["4p", "3p", "2p"])
@pytest.mark.clause("G7.3")
def test_an_agent_with_perfect_recall_plays_the_memory_game_like_the_face_up_game(name: str) -> None:
    played = []
    for variant in (parse_variant(name), replace(parse_variant(name), memory=True)):
        engine, agent = Engine(variant, 32, seed=5), PerfectRecall(Forgetful())
        rows = 32 * variant.players
        agent.reset(engine.layout, np.ones(rows, bool), 7)
        engine.start()
        actions = []
        for _ in range(2 * variant.most_rounds):
            engine.observe(np.ones(32, np.uint8))
            actions.append(agent.act(engine.observation.reshape(rows, -1), engine.action_mask.reshape(rows, -1)))
            engine.play(actions[-1].reshape(32, -1))
            over = engine.outcome.over
            agent.reset(engine.layout, np.repeat(over != 0, variant.players), None)
            engine.start(over)
        played.append(actions)
    np.testing.assert_array_equal(*played)


def test_probabilities_are_those_of_the_agent_within_and_only_in_face_up_games() -> None:
    agent = PerfectRecall(Random())
    face_up, memory = Layout(parse_variant("4p")), Layout(parse_variant("4p-memory"))
    agent.reset(face_up, np.ones(1, bool), 0)
    mask = np.array([[1, 0, 1, 0, 0]], np.int8)
    np.testing.assert_array_equal(agent.probabilities(np.ones((1, face_up.size), np.float32), mask), [[0.5, 0, 0.5, 0, 0]])
    agent.reset(memory, np.ones(1, bool), 0)
    assert not hasattr(agent, "probabilities")
    agent.reset(face_up, np.ones(1, bool), 0)
    assert hasattr(agent, "probabilities")


@pytest.mark.parametrize("options", [{}, {"history": True}, {"players": 3}, {"players": 2}])
@pytest.mark.clause("G7.3")
def test_the_environment_shows_what_the_face_up_one_does(options: dict) -> None:
    face_up, memory = parallel_env(**options), perfect_recall(parallel_env(memory=True, **options))
    rng = np.random.default_rng(1)
    for seed in (3, None):  # the second game goes on with the streams of the first
        seen, recalled = face_up.reset(seed=seed)[0], memory.reset(seed=seed)[0]
        while face_up.agents:
            for agent in face_up.agents:
                assert memory.observation_space(agent).contains(recalled[agent])
                np.testing.assert_array_equal(recalled[agent]["observation"], seen[agent]["observation"])
                np.testing.assert_array_equal(recalled[agent]["action_mask"], seen[agent]["action_mask"])
            actions = {a: int((o["action_mask"] * rng.random(len(o["action_mask"]))).argmax()) for a, o in seen.items()}
            twin = copy.deepcopy(memory)
            seen, recalled = face_up.step(actions)[0], memory.step(actions)[0]
            seen = {a: o for a, o in seen.items() if a in face_up.agents}
            for agent, other in twin.step(actions)[0].items():
                np.testing.assert_array_equal(other["observation"], recalled[agent]["observation"])


def test_the_environment_keeps_the_contract() -> None:
    env = perfect_recall(parallel_env(memory=True))
    assert env.observation_space("player_0") is env.observation_space("player_0")
    parallel_api_test(env, num_cycles=100)
    env.max_cycles = 2
    env.reset(seed=0)
    for _ in range(2):
        *_, truncated, _ = env.step(dict.fromkeys(env.agents, 0))
    assert all(truncated.values())
    with pytest.raises(ValueError, match="must see every round"):
        env.restore({})
    with pytest.raises(ValueError, match="face up"):
        perfect_recall(parallel_env())
