"""The PettingZoo environments: the official tests, and the contract where those do not look."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import io
import json
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils import aec_to_parallel
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import getbit_env
from getbit_env.get_bit import Options
from getbit_env.get_bit.environment import ID, GetBitAECEnv, GetBitParallelEnv

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import its environments in its own old way
    from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test, state_test

EVERY_GAME = [{"players": p, "memory": m} for p in range(2, 8) for m in (False, True)]
OPTIONS = [
    *({"players": p} for p in range(2, 8)),
    {"memory": True},
    {"players": 2, "memory": True, "history": True},
    {"players": 3, "three_player_ending": "literal", "reward": "placement"},
    {"half_limbs": True, "pick_up_at": 1, "limb_reward": -0.1},
    {"observe_last": True, "identity": True, "history": True},
    {"variant": "3p-1r-4c-1l"},
]

Chooser = Callable[[dict[str, Any], np.random.Generator], int]


def lowest(observation: dict[str, Any], _rng: np.random.Generator) -> int:
    return int(observation["action_mask"].argmax())


def legal(observation: dict[str, Any], rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(observation["action_mask"])))


def play(env: GetBitParallelEnv, seed: int = 0, choose: Chooser = legal, *, reset: bool = True) -> list[tuple[Any, ...]]:
    """Play a game to its end; what every reset and step returned."""
    rng = np.random.default_rng(seed)
    log: list[tuple[Any, ...]] = [env.reset(seed=seed)] if reset else []
    seen = log[0][0] if reset else env._observe(env.agents)[0]
    while env.agents:
        log.append(env.step({agent: choose(seen[agent], rng) for agent in env.agents}))
        seen = log[-1][0]
    return log


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))


@pytest.mark.parametrize("options", EVERY_GAME, ids=str)
# PettingZoo says these two of every environment with a mask in its observation but those of its own, which it knows by name.
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be", "ignore:Observation is not a NumPy array")
def test_official_tests_pass(options: dict[str, Any]) -> None:
    parallel_api_test(getbit_env.parallel_env(**options), num_cycles=100)
    api_test(getbit_env.env(**options), num_cycles=100)
    api_test(getbit_env.raw_env(**options), num_cycles=20)
    seed_test(lambda: getbit_env.env(**options), num_cycles=50)
    parallel_seed_test(lambda: getbit_env.parallel_env(**options), num_cycles=50)
    state_test(getbit_env.env(**options), getbit_env.parallel_env(**options))


def test_official_max_cycles_test_passes() -> None:
    max_cycles_test(getbit_env)


def test_official_render_test_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(lambda render_mode: getbit_env.env(render_mode=render_mode))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_observations_lie_in_their_space_and_infos_hold_exactly_the_agents(options: dict[str, Any]) -> None:
    env = getbit_env.parallel_env(**options)
    ended = set()
    for step, (observations, *rest) in enumerate(play(env)):
        infos = rest[-1]
        for agent, observation in observations.items():
            assert env.observation_space(agent).contains(observation)
            assert observation["action_mask"].any()
            assert np.array_equal(infos[agent]["action_mask"], observation["action_mask"])
            assert infos[agent]["action_mask"] is not observation["action_mask"]
        assert infos.keys() == observations.keys()
        assert {tuple(info) for info in infos.values()} == {("action_mask", "illegal_action", "placement")}, "libraries stack infos"
        assert not ended & observations.keys(), "an agent that ended came back"
        if step:
            rewards, terminations, truncations, _ = rest
            assert observations.keys() == rewards.keys() == terminations.keys() == truncations.keys()
            assert not any(truncations.values())
            gone = {agent for agent, end in terminations.items() if end}
            assert gone == {agent for agent, info in infos.items() if info["placement"]}
            for agent in gone:
                assert observations[agent]["action_mask"].all(), "the mask of one who has nothing to choose is all ones"
                assert infos[agent]["placement"] == env.snapshot()["placement"][env.possible_agents.index(agent)] or env.agents
            ended |= gone
    assert ended == set(env.possible_agents)
    assert sorted(env.snapshot()["placement"]) == list(range(1, env.variant.players + 1))
    assert env.step({}) == ({}, {}, {}, {}, {})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_seed_fixes_the_whole_game_and_reset_goes_on_with_its_stream(options: dict[str, Any]) -> None:
    one, two = getbit_env.parallel_env(**options), getbit_env.parallel_env(**options)
    assert same(play(one, seed=5), play(two, seed=5))
    one.reset()
    two.reset()
    assert one.snapshot() == two.snapshot()
    starts = [tuple(one.reset() and one.snapshot()["start"]) for _ in range(20)]
    assert len(set(starts)) > 1
    assert starts == [tuple(two.reset() and two.snapshot()["start"]) for _ in range(20)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"])
def test_a_copy_in_the_middle_of_a_game_goes_on_identically(how: Callable[[Any], Any], options: dict[str, Any]) -> None:
    env = getbit_env.parallel_env(**options)
    seen, _ = env.reset(seed=3)
    for _ in range(2):
        if env.agents:
            seen, *_ = env.step({agent: lowest(seen[agent], None) for agent in env.agents})  # type: ignore[arg-type]
    other = how(env)
    for _ in range(2):  # also into the next game: the stream is copied as well
        assert same(play(env, reset=False), play(other, reset=False))
        assert env.snapshot() == other.snapshot()
        assert same(env.reset(), other.reset())


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_snapshot_through_json_goes_on_identically(options: dict[str, Any]) -> None:
    env, other = getbit_env.parallel_env(**options), getbit_env.parallel_env(**options)
    seen, infos = env.reset(seed=4)
    for _ in range(4):
        snapshot = json.loads(json.dumps(env.snapshot()))
        restored = other.restore(snapshot)
        assert same(restored[0], {agent: seen[agent] for agent in env.agents})
        assert other.snapshot() == snapshot
        assert other.agents == env.agents
        if env.agents:
            rng = np.random.default_rng(0)
            seen, *_, infos = env.step({agent: legal(seen[agent], rng) for agent in env.agents})
    other.restore(env.snapshot())
    assert same(play(env, reset=False), play(other, reset=False))
    assert same(env.reset(), other.reset())
    assert infos


def test_a_snapshot_of_a_cut_off_game_is_over() -> None:
    env, other = getbit_env.parallel_env(max_cycles=3), getbit_env.parallel_env()
    play(env)
    other.restore(env.snapshot())
    assert other.agents == []
    assert other.snapshot() == env.snapshot()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stream": ["0x1", -1]}, "drawn from its stream is a whole number of at most 64 bits, not -1"),
        ({"stream": [1, 1]}, "stream is a list such as"),
        ({"start": [1, 2.0, 0, 3]}, "each entry of the snapshot's start is a whole number, not 2.0"),
        ({"start": "0123"}, "the snapshot's start is a list of whole numbers"),
        ({"round": 3.0}, r"says round 3.0, but its actions lead to 3"),
        ({"truncated": 1}, "truncated is true or false, not 1"),
        ({"actions": [[0, 1, 2, 3]] * 1000}, "actions has 1000 entries, but there are at most 15"),
        ({"actions": [[0, 1, 2, None]]}, "that of player_3 is a whole number, not None"),
        ({"actions": {}}, "the snapshot's actions is a list"),
        ({"limb": [4, 4, 4, 4]}, "has 'limb', which no snapshot of this environment has"),
        ({"version": "getbit/GetBit-v9"}, "version is 'getbit/GetBit-v9'"),
        ({"variant": "5p"}, "variant is '5p', this environment's is '4p'"),
        ({"limbs": [4, 4, 4, 4]}, "says limbs .* its actions lead to"),
        ({"start": [0, 1, 2, 2]}, "holds each of the robots"),
        ({"actions": [[9, 0, 0, 0]]}, "round 1 can't be played: player_0: action 9 is out of range"),
        ({"actions": [[0, 0, 0]]}, "round 1 can't be played"),
        ({"actions": [[0, 0, 0, 0], [0, 0, 0, 0]]}, "round 2 can't be played: a card is not in its hand"),
        ({"line": None}, "lacks line"),
    ],
)
def test_a_wrong_snapshot_is_refused_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    env = getbit_env.parallel_env()
    env.reset(seed=1)
    for _ in range(3):
        env.step(dict.fromkeys(env.agents, 0))
    before = env.snapshot()
    wrong = {key: value for key, value in (before | change).items() if value is not None or key != "line"}
    with pytest.raises(ValueError, match=message):
        env.restore(wrong)
    assert env.snapshot() == before


def test_a_finished_game_is_not_truncated() -> None:
    env = getbit_env.parallel_env()
    play(env)
    with pytest.raises(ValueError, match="says truncated, but its game is over or has not begun"):
        env.restore(env.snapshot() | {"truncated": True})
    env.reset()
    with pytest.raises(ValueError, match="says truncated"):
        env.restore(env.snapshot() | {"truncated": True})


def test_lists_that_are_handed_out_are_copies() -> None:
    env, twin = getbit_env.parallel_env(), getbit_env.parallel_env()
    env.reset(seed=0)
    twin.reset(seed=0)
    for handed_out in (env.agents, env.possible_agents, env.snapshot()["start"], env.metadata["render_modes"]):
        handed_out.append("x")
    env.snapshot()["actions"].append(0)
    assert GetBitParallelEnv.metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert same(env.step(dict.fromkeys(env.agents, 1)), twin.step(dict.fromkeys(env.agents, 1)))
    assert env.snapshot() == twin.snapshot()
    assert same(env.reset(), twin.reset())
    spaces = [env.observation_space(agent) for agent in env.agents]
    env.restore(env.snapshot())
    assert all(env.observation_space(agent) is space for agent, space in zip(env.agents, spaces, strict=True))


def test_agents_may_be_set_to_break_a_game_off_and_to_nothing_else() -> None:
    env = getbit_env.parallel_env()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"agents may be set to \[\] alone"):
        env.agents = ["player_0"]
    env.agents = []
    assert env.step({}) == ({}, {}, {}, {}, {})
    env.reset()
    assert len(env.agents) == 4


def test_snapshot_names_everything_of_the_position() -> None:
    env = getbit_env.parallel_env()
    env.reset(options={"line": [2, 0, 3, 1]})
    start = env.snapshot()
    assert (start["round"], start["line"], start["revealed"], start["winner"]) == (0, [2, 0, 3, 1], None, None)
    env.step({"player_0": 4, "player_1": 2, "player_2": 2, "player_3": 0})
    env.step({"player_0": 0, "player_1": 1, "player_2": 3, "player_3": 3})
    now = env.snapshot()
    # First 5 and 1 move: 0 3 2 1. Then 1 and 2 move, 4s are tied: 1 0 3 2, and 2 is bitten.
    assert now["line"] == [2, 1, 0, 3]
    assert now["limbs"] == [4, 4, 3, 4]
    assert now["bitten"] == 2
    assert now["hands"] == [[2, 3, 4], [1, 4, 5], [1, 2, 3, 4, 5], [2, 3, 5]]
    assert now["tables"] == [[5, 1], [3, 2], [], [1, 4]]
    assert now["revealed"] == [1, 2, 4, 4]
    assert now["actions"] == [[4, 2, 2, 0], [0, 1, 3, 3]]
    assert now["placement"] == [None] * 4
    assert json.loads(json.dumps(now)) == now


def test_it_works_before_reset_and_says_what_is_missing() -> None:
    env = getbit_env.parallel_env()
    assert env.agents == env.possible_agents == [f"player_{p}" for p in range(4)]
    assert env.num_agents == 4
    assert env.metadata["name"] == "get_bit_v0"
    for agent in env.agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
    assert env.action_space("player_0") is not env.action_space("player_1"), "or seeding one would seed the other"
    assert env.state_space.shape is not None
    with pytest.raises(RuntimeError, match="call reset"):
        env.step({})
    with pytest.raises(RuntimeError, match="call reset"):
        env.snapshot()


def test_actions_may_come_in_any_order_and_as_any_whole_number() -> None:
    env, other = getbit_env.parallel_env(), getbit_env.parallel_env()
    env.reset(seed=0)
    other.reset(seed=0)
    actions = {"player_0": 4, "player_1": 2, "player_2": 2, "player_3": 0}
    kinds: list[Callable[[int], Any]] = [np.int64, np.uint8, np.array, int]
    turned = {agent: kind(actions[agent]) for agent, kind in zip(reversed(actions), kinds, strict=True)}
    assert same(env.step(actions), other.step(turned))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"player_1": None}, ValueError, "no action for player_1; these agents play: player_0, player_1"),
        ({"player_9": 0}, ValueError, "player_9, which is no agent of this environment"),
        ({"player_2": 5}, ValueError, r"player_2: action 5 is out of range, actions are 0\.\.4"),
        ({"player_2": -1}, ValueError, "player_2: action -1 is out of range"),
        ({"player_3": 1.5}, TypeError, "player_3: an action is a whole number, not 1.5"),
        ({"player_3": np.array([1])}, TypeError, "player_3: an action is a whole number"),
        ({"player_3": 10**5000}, ValueError, "player_3: action a value of type int is out of range"),
    ],
)
def test_a_wrong_action_dict_is_refused_by_name_and_changes_nothing(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    env = getbit_env.parallel_env()
    env.reset(seed=0)
    before = env.snapshot()
    actions = {agent: action for agent, action in (dict.fromkeys(env.agents, 0) | change).items() if action is not None}
    with pytest.raises(error, match=message):
        env.step(actions)
    assert env.snapshot() == before


@pytest.mark.parametrize("actions", [[0, 0, 0, 0], None, 0, "player_0"])
def test_actions_that_are_no_dict_are_refused(actions: Any) -> None:
    env = getbit_env.parallel_env()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="actions is a dict with an action for each agent, such as"):
        env.step(actions)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed is a whole number, at least 0, or None, not -1"),
        ({"seed": 1.5}, "seed is a whole number"),
        ({"options": [0, 1, 2, 3]}, r"options is a dict such as {'line': \[2, 0, 1, 3\]}, or None, not"),
        ({"options": {"line": "ABCD"}}, "line is a list of whole numbers, not 'ABCD'"),
        ({"options": {"line": [0.0, 1.0, 2.0, 3.0]}}, "each entry of line is a whole number, not 0.0"),
        ({"options": {"line": {0, 1, 2, 3}}}, "line is a list of whole numbers"),
        ({"options": {"line": [[0], [1], [2], [3]]}}, r"each entry of line is a whole number, not \[0\]"),
        ({"options": {"line": [0, 1, 2]}}, "line of 4p holds each of the robots 0..3 once"),
    ],
)
def test_a_wrong_reset_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    for env in (getbit_env.parallel_env(), getbit_env.raw_env(), getbit_env.env()):
        with pytest.raises(ValueError, match=message):
            env.reset(**arguments)


def test_a_line_may_be_a_tuple_or_an_array() -> None:
    env = getbit_env.parallel_env()
    for line in ((2, 0, 3, 1), np.array([2, 0, 3, 1]), [np.int8(2), 0, 3, 1]):
        env.reset(options={"line": line})
        assert env.snapshot()["start"] == [2, 0, 3, 1]


def test_an_action_for_one_who_is_out_is_refused() -> None:
    env = getbit_env.parallel_env(variant="4p-1l")
    env.reset(seed=0)
    while len(env.agents) == 4:
        env.step(dict.fromkeys(env.agents, 0))
    (out,) = set(env.possible_agents) - set(env.agents)
    with pytest.raises(ValueError, match=f"{out}, which is out or its game is over"):
        env.step(dict.fromkeys(env.possible_agents, 0))


def test_an_illegal_card_is_replaced_by_the_lowest_and_flagged() -> None:
    env = getbit_env.parallel_env()
    env.reset(options={"line": [0, 1, 2, 3]})
    env.step({"player_0": 0, "player_1": 1, "player_2": 2, "player_3": 3})
    *_, infos = env.step({"player_0": 0, "player_1": 0, "player_2": 1, "player_3": 2})
    assert [infos[agent]["illegal_action"] for agent in env.possible_agents] == [True, False, False, False]
    assert env.snapshot()["revealed"] == [2, 1, 2, 3]
    assert env.snapshot()["actions"][-1] == [1, 0, 1, 2], "what was played, not what was asked for"


def test_of_two_cards_only_the_illegal_one_is_replaced() -> None:
    env = getbit_env.parallel_env(players=2)
    env.reset(options={"line": [0, 1, 2, 3]})
    env.step({"player_0": 0 * 5 + 3, "player_1": 1 * 5 + 2})  # 4 moves last, so robot 1 is now ahead of robot 0
    assert env.snapshot()["line"][:3] == [1, 3, 2]
    *_, infos = env.step({"player_0": 4 * 5 + 0, "player_1": 0})  # front robot 1 plays 5; robot 0 has played its 1
    assert infos["player_0"]["illegal_action"]
    assert env.snapshot()["revealed"][:2] == [2, 5]


def test_an_illegal_card_can_raise_and_then_changes_nothing() -> None:
    env = getbit_env.parallel_env(illegal_action="raise")
    env.reset(seed=0)
    env.step({"player_0": 0, "player_1": 1, "player_2": 2, "player_3": 3})
    before = env.snapshot()
    with pytest.raises(ValueError, match=r"player_3: action 3 is illegal, legal are \[0, 1, 2, 4\]"):
        env.step({"player_0": 1, "player_1": 2, "player_2": 3, "player_3": 3})
    assert env.snapshot() == before


def test_masks_and_observations_are_copies() -> None:
    env, other = getbit_env.parallel_env(), getbit_env.parallel_env()
    seen, infos = env.reset(seed=0)
    other.reset(seed=0)
    for agent in env.agents:
        seen[agent]["observation"][:] = 7
        seen[agent]["action_mask"][:] = 7
        infos[agent]["action_mask"][:] = 7
    actions = {agent: p for p, agent in enumerate(env.agents)}
    assert same(env.step(actions), other.step(actions))


def test_max_cycles_cuts_all_who_remain_off_and_one_eliminated_then_ends_both_ways() -> None:
    full = play(getbit_env.parallel_env(variant="4p-1l"), seed=0, choose=lowest)
    rounds = next(k for k, log in enumerate(full) if k and any(log[2].values()))
    env = getbit_env.parallel_env(variant="4p-1l", max_cycles=rounds)
    log = play(env, seed=0, choose=lowest)
    _, rewards, terminations, truncations, _ = log[-1]
    assert len(log) == rounds + 1
    assert env.agents == []
    assert all(truncations.values())
    (out,) = (agent for agent, end in terminations.items() if end)
    assert rewards == {agent: pytest.approx(-1 / 3) if agent == out else 0 for agent in env.possible_agents}


def test_a_game_that_ends_in_its_last_allowed_round_is_decided_not_cut_off() -> None:
    rounds = len(play(getbit_env.parallel_env(), seed=0)) - 1
    _, _, terminations, truncations, _ = play(getbit_env.parallel_env(max_cycles=rounds), seed=0)[-1]
    assert all(terminations.values())
    assert not any(truncations.values())


def test_max_cycles_may_be_written() -> None:
    env = getbit_env.parallel_env()
    env.max_cycles = 2
    assert len(play(env)) == 3


@pytest.mark.parametrize("players", range(2, 8))
def test_rewards_of_a_game(players: int) -> None:
    for reward in ("win", "placement"):
        env = getbit_env.parallel_env(players, reward=reward)
        total = dict.fromkeys(env.possible_agents, 0.0)
        for _, rewards, *_ in play(env, seed=players)[1:]:
            for agent, r in rewards.items():
                total[agent] += r
        for agent, place in zip(env.possible_agents, env.snapshot()["placement"], strict=True):
            if reward == "win":
                assert total[agent] == pytest.approx(1 if place == 1 else -1 / (players - 1))
            else:
                assert total[agent] == pytest.approx(1 - 2 * (place - 1) / (players - 1))


@pytest.mark.parametrize("players", range(2, 8))
def test_rewards_of_a_game_sum_to_zero_exactly(players: int) -> None:
    for reward in ("win", "placement"):
        total = 0.0
        for _, rewards, *_ in play(getbit_env.parallel_env(players, reward=reward), seed=1)[1:]:
            total += sum(rewards.values())
            assert all(type(r) is float for r in rewards.values())
        assert abs(total) < 1e-15


def test_a_limb_costs_what_was_asked_for_and_not_its_float32() -> None:
    env = getbit_env.parallel_env(limb_reward=0.1)
    log = play(env, seed=2)
    assert 0.1 in log[2][1].values()
    assert sorted(log[-1][1].values())[-1] == 1.0


def test_limb_reward_is_added_per_limb_lost() -> None:
    plain, shaped = (play(getbit_env.parallel_env(limb_reward=r), seed=2) for r in (0.0, -0.25))
    for (_, before, *_), (_, after, *_) in zip(plain[2:], shaped[2:], strict=True):
        assert sorted(after[agent] - before[agent] for agent in after) == pytest.approx([-0.25] + [0] * (len(after) - 1))


def test_unknown_reset_options_are_ignored_and_a_wrong_line_is_refused() -> None:
    env = getbit_env.parallel_env()
    env.reset(seed=1, options={"options": 1, "line": [3, 2, 1, 0]})
    assert env.snapshot()["line"] == [3, 2, 1, 0]
    before = env.snapshot()
    with pytest.raises(ValueError, match="holds each of the robots"):
        env.reset(seed=9, options={"line": [0, 1, 2]})
    assert env.snapshot() == before


def test_aec_is_the_same_game() -> None:
    env, aec = getbit_env.parallel_env(), getbit_env.env()
    seen, _ = env.reset(seed=8)
    aec.reset(seed=8)
    while env.agents:
        actions = {agent: lowest(seen[agent], None) for agent in env.agents}  # type: ignore[arg-type]
        for agent in env.agents:
            assert aec.agent_selection == agent
            observation, _, termination, truncation, _ = aec.last()
            assert same(observation, seen[agent])
            assert not termination
            assert not truncation
            aec.step(actions[agent])
        seen, rewards, terminations, *_ = env.step(actions)
        assert aec.snapshot() == {**env.snapshot(), "agents": aec.agents, "chosen": []}
        for agent, end in terminations.items():
            if end:
                assert aec.rewards[agent] == rewards[agent]
        while aec.agents and aec.terminations[aec.agent_selection]:
            aec.step(None)


@pytest.mark.parametrize("options", [{}, {"variant": "4p-1l"}, {"players": 2}, {"max_cycles": 3}], ids=str)
def test_the_aec_form_is_restored_at_any_moment(options: dict[str, Any]) -> None:
    """Through JSON and into another environment: in the middle of a round, and while those who ended are still to step."""
    for make in (getbit_env.env, getbit_env.raw_env):
        aec, other = make(**options), make(**options)
        aec.reset(seed=3)
        rng = np.random.default_rng(0)
        while aec.agents:
            snapshot = json.loads(json.dumps(aec.snapshot()))
            other.restore(snapshot)
            assert other.snapshot() == snapshot
            assert other.agent_selection == aec.agent_selection
            for name in ("agents", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos"):
                assert same(getattr(other, name), getattr(aec, name)), name
            assert same(other.last(), aec.last())
            seen, _, terminated, truncated, _ = aec.last()
            action = None if terminated or truncated else legal(seen, rng)
            other.step(action)
            aec.step(action)
            assert other.snapshot() == aec.snapshot()
        aec.reset()
        other.reset()
        assert aec.snapshot() == other.snapshot()


def test_the_aec_form_takes_a_snapshot_of_the_parallel_one_and_wrong_ones_are_refused() -> None:
    env, aec = getbit_env.parallel_env(), getbit_env.env()
    env.reset(seed=0)
    env.step({"player_0": 0, "player_1": 1, "player_2": 2, "player_3": 3})
    aec.restore(env.snapshot())
    assert aec.agent_selection == "player_0"
    aec.step(1)
    for wrong, message in (
        ({"chosen": [9]}, "player_0: action 9 is out of range"),
        ({"chosen": [1, 1, 1, 1]}, "chosen has 4 entries, but there are at most 3"),
        ({"chosen": [1.0]}, "chosen is a list of actions"),
        ({"agents": ["player_0"]}, "agents are .* after its actions"),
        ({"agents": 3}, "agents are .* after its actions"),
    ):
        before = aec.snapshot()
        with pytest.raises(ValueError, match=message):
            aec.restore(before | wrong)
        assert aec.snapshot() == before
    with pytest.raises(ValueError, match="has 'agents', 'chosen', which no snapshot of this environment has"):
        env.restore(aec.snapshot())


def test_the_aec_form_notices_that_the_environment_within_was_moved() -> None:
    aec = getbit_env.raw_env()
    aec.reset(seed=0)
    snapshot = aec.snapshot()
    aec.env.step(dict.fromkeys(aec.env.agents, 0))
    with pytest.raises(RuntimeError, match="was stepped by itself"):
        aec.step(0)
    aec.restore(snapshot)
    aec.step(0)
    aec.env.reset()
    with pytest.raises(RuntimeError, match="was stepped by itself"):
        aec.step(0)
    aec.reset()
    aec.step(0)


def test_the_aec_form_has_what_the_parallel_one_has() -> None:
    aec = getbit_env.env(players=2, memory=True, render_mode="ansi")
    assert isinstance(aec.unwrapped, GetBitAECEnv)
    assert (aec.variant.name, aec.layout.size, aec.state_layout.size) == ("2p-memory", 93, aec.state_space.shape[0])
    aec.max_cycles = 1
    assert aec.unwrapped.env.max_cycles == 1
    aec.reset(seed=0)
    aec.step(0)
    aec.step(0)
    assert all(aec.truncations.values())
    for handed_out in (aec.agents, aec.possible_agents):
        handed_out.append("x")
    assert aec.agents == aec.possible_agents == ["player_0", "player_1"]
    assert "round 1" in aec.render()


def test_the_aec_form_under_wrappers_of_pettingzoo() -> None:
    aec = TerminateIllegalWrapper(getbit_env.env(), illegal_reward=-1)
    aec.reset(seed=0)
    for card in (0, 1, 2, 3):
        aec.step(card)
    aec.observe("player_0")
    aec.step(0)
    assert all(aec.terminations.values())
    assert aec.rewards["player_0"] == -1
    while aec.agents:
        aec.step(None)
    parallel, env = aec_to_parallel(getbit_env.env()), getbit_env.parallel_env()
    seen, _ = parallel.reset(seed=1)
    assert same(seen, env.reset(seed=1)[0])
    rng = np.random.default_rng(0)
    while env.agents:
        actions = {agent: legal(seen[agent], rng) for agent in env.agents}
        theirs, ours = parallel.step(actions), env.step(actions)
        seen = ours[0]
        assert same(theirs[2:4], ours[2:4])
        assert same(dict(theirs[1]), ours[1])


def test_wrong_order_in_the_aec_form_is_said() -> None:
    raw = getbit_env.raw_env()
    for call in (lambda: raw.step(0), raw.last, lambda: raw.observe("player_0"), raw.snapshot, raw.state):
        with pytest.raises(RuntimeError, match=r"call reset\(\) before (step|last|observe|snapshot|state)\(\)"):
            call()
    raw.reset(seed=0)
    with pytest.raises(ValueError, match="'player_9' sees nothing: these agents play: player_0"):
        raw.observe("player_9")
    raw.max_cycles = 1
    for _ in range(4):
        raw.step(0)
    with pytest.raises(ValueError, match="player_0: its game is over, so that its action is None, not 0"):
        raw.step(0)
    assert raw.agent_selection == "player_0"
    for _ in range(4):
        raw.step(None)
    with pytest.raises(RuntimeError, match=r"the game is over: call reset\(\) before step"):
        raw.step(None)


def test_restore_stands_for_a_reset_and_a_failed_one_does_not() -> None:
    done = getbit_env.env()
    done.reset(seed=0)
    done.step(1)
    env = getbit_env.env()
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    with pytest.raises(ValueError, match="a snapshot is the dict"):
        env.restore([])
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        env.agents  # noqa: B018 - it raises
    env.restore(done.snapshot())
    assert env.agent_selection == "player_1"


def test_help_shows_the_arguments() -> None:
    wanted = inspect.signature(getbit_env.parallel_env).parameters
    for maker in (getbit_env.env, getbit_env.raw_env):
        assert inspect.signature(maker).parameters == wanted
        assert "half_limbs: the longer game" in str(maker.__doc__)
        assert pickle.loads(pickle.dumps(maker)) is maker


def test_a_wrong_action_is_refused_at_once_in_the_aec_form_and_can_be_mended() -> None:
    aec = getbit_env.env(illegal_action="raise")
    aec.reset(seed=0)
    aec.step(0)
    for wrong, error, message in (
        (7, ValueError, "player_1: action 7 is out of range"),
        ("x", TypeError, "player_1: an action is a whole number"),
    ):
        with pytest.raises(error, match=message):
            aec.step(wrong)
        assert aec.agent_selection == "player_1"
    for card in (1, 2, 3):
        aec.step(card)
    with pytest.raises(ValueError, match="player_0: action 0 is illegal"):
        aec.step(0)
    aec.step(4)
    assert aec.agent_selection == "player_1"


@pytest.mark.skipif(not hasattr(pettingzoo, "register"), reason="PettingZoo has a registry from 1.27 on")
def test_registered_once_in_each_registry() -> None:
    importlib.reload(getbit_env)
    env = pettingzoo.make("parallel", ID, players=5)
    assert isinstance(env.unwrapped, GetBitParallelEnv)
    assert len(env.possible_agents) == 5
    aec = pettingzoo.make("aec", ID, players=2, memory=True)
    aec.reset(seed=0)
    assert aec.unwrapped.variant.name == "2p-memory"


def test_nothing_hidden_shows_in_observations_masks_or_infos() -> None:
    """G7.3: two memory games that differ only in which cards lie face down look alike to who did not play them."""
    seen = []
    for hidden in (2, 3):  # player_2 plays a 3 or a 4 in the first round; the line is the same after both, and the second round too
        env = getbit_env.parallel_env(memory=True)
        env.reset(options={"line": [0, 1, 2, 3]})
        env.step({"player_0": 0, "player_1": 1, "player_2": hidden, "player_3": 4})
        seen.append(env.step({"player_0": 1, "player_1": 2, "player_2": 4, "player_3": 3}))
        assert env.snapshot()["tables"][2] == [hidden + 1, 5]
    for agent in ("player_0", "player_1", "player_3"):
        for one, two in zip(*seen, strict=True):
            assert same(one[agent], two[agent])
    assert not same(seen[0][0]["player_2"], seen[1][0]["player_2"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"players": 8}, "players is 2 to 7, not 8"),
        ({"pick_up_at": 3}, "pick_up_at is 2 or 1"),
        ({"reward": "money"}, "reward is one of 'win', 'placement', not 'money'"),
        ({"illegal_action": "ignore"}, "illegal_action is one of"),
        ({"three_player_ending": "literal"}, "for three players"),
        ({"render_mode": "vr"}, "render_mode is None or one of"),
        ({"max_cycles": 0}, "max_cycles is a whole number, at least 1, or None for no limit, not 0"),
        ({"variant": "4p-half", "half_limbs": True}, "already says what half_limbs would"),
        ({"variant": "5p", "players": 3}, "has 5 players, not 3"),
        ({"variant": "4x"}, "no variant '4x'"),
        ({"players": "4p"}, "players is 2 to 7, not '4p'; the name of a variant goes into variant='4p'"),
        ({"players": [4]}, r"players is a whole number, not \[4\]"),
        ({"players": 4.0}, "players is a whole number, not 4.0"),
        ({"max_cycles": 3.5}, "max_cycles is a whole number, at least 1, or None for no limit, not 3.5"),
        ({"max_cycles": True}, "max_cycles is a whole number"),
        ({"limb_reward": "0.1"}, "limb_reward is a finite number, not '0.1'"),
        ({"limb_reward": float("nan")}, "limb_reward is a finite number, not nan"),
        ({"limb_reward": float("inf")}, "limb_reward is a finite number, not inf"),
        ({"half_limbs": "no"}, "half_limbs is True or False, not 'no'"),
        ({"half_limbs": 1}, "half_limbs is True or False, not 1"),
        ({"memory": "yes"}, "memory is True or False, not 'yes'"),
        ({"variant": "4p", "memory": "no"}, "memory is True or False, not 'no'"),
        ({"history": "yes"}, "history is True or False, not 'yes'"),
        ({"render_mode": ["ansi"]}, "render_mode is None or one of"),
    ],
)
def test_nonsense_is_refused_with_its_reason(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getbit_env.parallel_env(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": 4}, "or a Variant, not 4; for the standard game say players=4"),
        ({"variant": None, "half_limb": True}, "unexpected keyword argument 'half_limb'; did you mean 'half_limbs'?"),
        ({"histroy": True}, "did you mean 'history'?"),
        ({"max_cycle": 3}, "did you mean 'max_cycles'?"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_hint(options: dict[str, Any], message: str) -> None:
    for maker in (getbit_env.parallel_env, getbit_env.raw_env, getbit_env.env):
        with pytest.raises(TypeError, match=message):
            maker(**options)


def test_the_text_is_ascii_where_standard_output_holds_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    env = getbit_env.parallel_env(render_mode="ansi")
    play(env, seed=0)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    beautiful = str(env.render())
    assert "●" in beautiful
    for encoding in ("ascii", "cp1252", "latin-1"):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
        plain = str(env.render())
        assert plain.encode("ascii")
        assert plain == beautiful.replace("●", "#").replace("○", ".")
        sys.stdout.write(plain)
        sys.stdout.flush()
    monkeypatch.setattr(sys, "stdout", None)
    assert env.render() == beautiful


def test_the_page_lists_every_argument_info_key_and_render_mode() -> None:
    page = (Path(__file__).parents[2] / "docs" / "environment.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
    arguments = inspect.signature(getbit_env.parallel_env).parameters.keys() - {"observe"}
    env = getbit_env.parallel_env()
    _, infos = env.reset(seed=0)
    wanted = arguments | {field.name for field in dataclasses.fields(Options)} | infos["player_0"].keys()
    assert wanted | {f'"{mode}"' for mode in env.metadata["render_modes"]} <= named


def test_rendering_needs_a_reset() -> None:
    for env in (getbit_env.parallel_env(render_mode="ansi"), getbit_env.raw_env(render_mode="ansi")):
        with pytest.raises(RuntimeError, match=r"call reset\(\) before render\(\)"):
            env.render()


def test_rendering_needs_a_mode_and_goes_on_after_the_end() -> None:
    with pytest.raises(ValueError, match="render_mode"):
        getbit_env.parallel_env().render()
    env = getbit_env.parallel_env(render_mode="ansi")
    play(env)
    assert isinstance(env.render(), str)
    env.close()
    env.close()
