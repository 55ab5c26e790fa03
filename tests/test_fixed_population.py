"""The wrapper in which dead agents stay."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.utils.conversions import parallel_to_aec_wrapper

import getbit_env
from getbit_env.conformance import PARALLEL_CHECKS, check_aec, check_parallel
from getbit_env.fixed_population import FixedPopulation, fixed_population
from getbit_env.get_bit.recall import perfect_recall

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import its environments in its own old way
    from pettingzoo.test import parallel_api_test, parallel_seed_test

GAMES = [
    *({"players": players} for players in range(2, 8)),
    {"memory": True, "history": True},
    {"variant": "4p-1l", "max_cycles": 2},
]


def choose(env: FixedPopulation, seen: Any, infos: Any, rng: np.random.Generator) -> dict[str, int]:
    masks = {agent: infos[agent].get("action_mask") for agent in env.agents}
    masks = {agent: seen[agent]["action_mask"] if mask is None else mask for agent, mask in masks.items()}
    return {agent: int(rng.choice(np.flatnonzero(mask))) for agent, mask in masks.items()}


def play(env: FixedPopulation, seed: int = 0) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    log: list[tuple[Any, ...]] = [env.reset(seed=seed)]
    while env.agents:
        log.append(env.step(choose(env, log[-1][0], log[-1][-1], rng)))
    return log


@pytest.mark.parametrize("mask", ["observation", "infos"])
@pytest.mark.parametrize("options", GAMES, ids=str)
def test_it_keeps_the_contract(options: dict[str, Any], mask: str) -> None:
    def make() -> FixedPopulation:
        return fixed_population(getbit_env.parallel_env(**options, render_mode="ansi"), mask=mask)

    report = check_parallel(make, strict=True)
    assert report.not_shown.keys() <= {"refuses_ended", "mask_of_terminated"}, "nobody ends before the game does"
    assert set(report.passed) | report.not_shown.keys() == PARALLEL_CHECKS.keys()
    parallel_api_test(make(), num_cycles=100)
    parallel_seed_test(make, num_cycles=50)


def test_it_keeps_the_contract_as_aec() -> None:
    check_aec(lambda: parallel_to_aec_wrapper(fixed_population(getbit_env.parallel_env(variant="5p-1l", render_mode="ansi"))))


@pytest.mark.parametrize("mask", ["observation", "infos"])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_same_game_with_the_dead_added(seed: int, mask: str) -> None:
    env, fixed = getbit_env.parallel_env(players=6), fixed_population(getbit_env.parallel_env(players=6), mask=mask)
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    seen, infos = fixed.reset(seed=seed)
    alive, total, final = dict.fromkeys(env.possible_agents, True), dict.fromkeys(env.possible_agents, 0.0), {}
    while env.agents:
        assert fixed.agents == env.possible_agents
        actions = choose(fixed, seen, infos, rng)
        playing = env.agents
        inner = env.step({agent: actions[agent] for agent in playing})
        seen, rewards, terminations, truncations, infos = fixed.step(actions)
        assert np.array_equal(fixed.state(), env.state())
        for agent in env.possible_agents:
            total[agent] += rewards[agent]
            vector = seen[agent]["observation"] if mask == "observation" else seen[agent]
            legal = seen[agent]["action_mask"] if mask == "observation" else infos[agent]["action_mask"]
            assert ("action_mask" in infos[agent]) == (mask == "infos"), "the mask is in one place only"
            assert infos[agent]["alive"] == (agent in env.agents)
            if agent in playing:
                assert alive[agent]
                assert np.array_equal(vector, inner[0][agent]["observation"])
                assert np.array_equal(legal, inner[0][agent]["action_mask"])
                assert rewards[agent] == inner[1][agent]
                final[agent] = infos[agent]
            else:
                assert not vector.any()
                assert legal.all()
                assert rewards[agent] == 0
                assert {k: v for k, v in infos[agent].items() if k != "action_mask"} == {
                    k: v for k, v in final[agent].items() if k != "action_mask"
                }, "the info of one who is dead is its last one"
            alive[agent] = infos[agent]["alive"]
        assert set(terminations.values()) == {not env.agents}
        assert not any(truncations.values())
    assert fixed.agents == []
    assert sorted(info["placement"] for info in infos.values()) == [1, 2, 3, 4, 5, 6]
    assert sorted(total.values()) == pytest.approx([-0.2] * 5 + [1])


def test_actions_of_the_dead_are_ignored_and_may_be_missing() -> None:
    def run(dead_play: Any) -> list[Any]:
        env = fixed_population(getbit_env.parallel_env(variant="5p-1l"))
        env.reset(seed=1)
        log = []
        while env.agents:
            living = env.env.agents
            said = {agent: dead_play for agent in env.agents if agent not in living and dead_play is not None}
            log.append(env.step(dict.fromkeys(living, 1) | said)[1])
        return log

    assert run(None) == run(0) == run(3) == run(99) == run("nonsense")


def test_actions_of_the_living_are_looked_at_as_ever() -> None:
    env = fixed_population(getbit_env.parallel_env())
    env.reset(seed=0)
    with pytest.raises(ValueError, match="no action for player_3"):
        env.step(dict.fromkeys(env.agents[:3], 0))
    with pytest.raises(ValueError, match="player_7, which is no agent"):
        env.step(dict.fromkeys([*env.agents, "player_7"], 0))


def test_a_game_that_is_cut_off_truncates_all_and_the_dead_are_terminated_as_well() -> None:
    rounds = next(k for k, said in enumerate(play(fixed_population(getbit_env.parallel_env(6)))) if not _all_alive(said[-1]))
    env = fixed_population(getbit_env.parallel_env(6, max_cycles=rounds + 1))
    log = play(env)
    _, _, terminations, truncations, infos = log[-1]
    assert len(log) == rounds + 2
    assert env.agents == []
    assert all(truncations.values())
    dead = {agent for agent, info in infos.items() if info["placement"]}
    assert dead
    assert terminations == {agent: agent in dead for agent in env.possible_agents}
    assert all(not flag for said in log[1:-1] for flags in said[2:4] for flag in flags.values())


def _all_alive(infos: dict[str, dict[str, Any]]) -> bool:
    return all(info["alive"] for info in infos.values())


def test_what_is_around_the_game_passes_through() -> None:
    inner = getbit_env.parallel_env(render_mode="ansi")
    env = fixed_population(inner)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is inner.observation_space(agent)
        assert env.action_space(agent) is inner.action_space(agent)
    vectors = fixed_population(inner, mask="infos")
    assert vectors.observation_space("player_0") is inner.observation_space("player_0")["observation"]
    assert env.state_space is inner.state_space
    assert env.unwrapped is inner
    env.reset(seed=0, options={"line": [3, 2, 1, 0]})
    assert env.snapshot()["line"] == [3, 2, 1, 0]
    assert isinstance(env.render(), str)
    env.max_cycles = 5
    assert inner.max_cycles == env.max_cycles == 5


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"])
def test_a_copy_made_when_some_are_dead_goes_on_identically(how: Any) -> None:
    env = fixed_population(getbit_env.parallel_env(variant="6p-1l"))
    env.reset(seed=0)
    for _ in range(3):
        env.step(dict.fromkeys(env.agents, 2))
    other = how(env)
    while env.agents:
        one, two = (each.step(dict.fromkeys(env.possible_agents, 2)) for each in (env, other))
        assert repr(one) == repr(two)
    assert other.agents == []


@pytest.mark.parametrize("mask", ["observation", "infos"])
@pytest.mark.parametrize("max_cycles", [None, 6])
def test_a_restored_game_is_the_same_for_the_dead_too(mask: str, max_cycles: int | None) -> None:
    """At every moment, into an environment that was somewhere else, as well as one that was never reset."""

    def make() -> FixedPopulation:
        return fixed_population(getbit_env.parallel_env(variant="5p-1l", max_cycles=max_cycles), mask=mask)

    env, used, rng = make(), make(), np.random.default_rng(0)
    play(used, seed=9)
    seen, infos = env.reset(seed=2)
    while env.agents:
        snapshot = json.loads(json.dumps(env.snapshot()))
        for other in (used, make()):
            restored = other.restore(snapshot)
            for agent in env.agents:
                assert repr(sorted(restored[1][agent].items())) == repr(sorted(infos[agent].items()))
                vector = restored[0][agent]["observation"] if mask == "observation" else restored[0][agent]
                if infos[agent]["alive"]:
                    assert repr(restored[0][agent]) == repr(seen[agent])
                else:
                    assert not vector.any(), "what it saw when it died came with that step alone"
            assert other.agents == env.agents
            assert other.snapshot() == snapshot
        actions = choose(env, seen, infos, rng)
        one, two = env.step(actions), used.step(actions)
        assert repr(one) == repr(two)
        seen, *_, infos = one
    assert used.restore(env.snapshot()) == ({}, {})
    assert used.agents == []
    assert used.step({}) == ({}, {}, {}, {}, {})


def test_restore_is_refused_where_the_environment_within_can_not() -> None:
    env = fixed_population(Nested())
    env.reset()
    with pytest.raises(AttributeError, match="has no restore"):
        env.restore({})
    recalled = fixed_population(perfect_recall(getbit_env.parallel_env(memory=True)))
    recalled.reset(seed=0)
    with pytest.raises(ValueError, match="must see every round"):
        recalled.restore(recalled.snapshot())


class Nested(ParallelEnv):
    """Another environment: nested observations, masks in the infos, and one agent that is truncated before the others end."""

    metadata = {"name": "nested_v0"}  # noqa: RUF012 - as PettingZoo has it
    render_mode = None

    def __init__(self, low: float = -1) -> None:
        self.possible_agents = ["a", "b"]
        self.agents = self.possible_agents[:]
        space = spaces.Dict({"near": spaces.Tuple((spaces.Box(low, 5, (2,)), spaces.Discrete(3))), "bits": spaces.MultiBinary(4)})
        self.spaces = {agent: copy.deepcopy(space) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Any:
        return self.spaces[agent]

    def action_space(self, agent: str) -> Any:  # noqa: ARG002
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002
        self.agents, self.steps = self.possible_agents[:], 0
        return self.look()

    def look(self) -> Any:
        seen = {"near": (np.ones(2, np.float32), np.int64(2)), "bits": np.ones(4, np.int8)}
        masks = {agent: {"action_mask": np.array([0, 1], np.int8)} for agent in self.agents}
        return {agent: copy.deepcopy(seen) for agent in self.agents}, masks

    def step(self, actions: Any) -> Any:
        assert list(actions) == self.agents
        self.steps += 1
        seen, infos = self.look()
        truncations = {agent: agent == "a" for agent in self.agents}
        terminations = dict.fromkeys(self.agents, self.steps == 2)
        self.agents = ["b"] if self.steps == 1 else []
        return seen, dict.fromkeys(seen, 1.0), terminations, truncations, infos


def test_it_wraps_other_environments() -> None:
    env = fixed_population(Nested())
    env.reset()
    env.step({"a": 1, "b": 1})
    seen, rewards, terminations, truncations, infos = env.step({"a": 0, "b": 1})
    assert seen["a"] in env.observation_space("a")
    assert seen["a"]["near"][1] == 0
    assert not seen["a"]["near"][0].any()
    assert not seen["a"]["bits"].any()
    assert rewards == {"a": 0.0, "b": 1.0}
    assert terminations == {"a": True, "b": True}
    assert truncations == {"a": False, "b": False}
    assert infos["a"]["action_mask"].tolist() == [1, 1]
    assert infos["b"]["action_mask"].tolist() == [0, 1]


def test_what_can_not_be_wrapped_is_refused_with_its_reason() -> None:
    with pytest.raises(ValueError, match=r"a can't stay with a zero observation: Box\(2.0, 5.0, \(2,\), float32\) holds no zero"):
        fixed_population(Nested(low=2))
    with pytest.raises(ValueError, match="mask='infos', but the observation of a holds no action_mask"):
        fixed_population(Nested(), mask="infos")
    with pytest.raises(ValueError, match="mask is 'observation' or 'infos', not 'nowhere'"):
        fixed_population(getbit_env.parallel_env(), mask="nowhere")
    with pytest.raises(ValueError, match="has no possible_agents"):
        fixed_population(ParallelEnv())
    with pytest.raises(TypeError, match=r"env is a ParallelEnv, not the AEC environment get_bit_v0\(4p\)"):
        fixed_population(getbit_env.env())
    with pytest.raises(TypeError, match="env is a ParallelEnv, not '4p'"):
        fixed_population("4p")  # type: ignore[arg-type]  # that is the point
    env = fixed_population(getbit_env.parallel_env())
    env.reset(seed=0)
    with pytest.raises(TypeError, match="actions is a dict with an action for each agent"):
        env.step([0, 0, 0, 0])  # type: ignore[arg-type]  # likewise
