"""The PettingZoo environments: the official tests, and the contract where those do not look."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pettingzoo
import pytest

import getbit_env
from getbit_env.get_bit.environment import ID, GetBitParallelEnv

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
    ],
)
def test_nonsense_is_refused_with_its_reason(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getbit_env.parallel_env(**options)


def test_rendering_needs_a_mode_and_goes_on_after_the_end() -> None:
    with pytest.raises(ValueError, match="render_mode"):
        getbit_env.parallel_env().render()
    env = getbit_env.parallel_env(render_mode="ansi")
    play(env)
    assert isinstance(env.render(), str)
    env.close()
    env.close()
