"""What docs/ecosystem.md says: that it names tests that there are, that its code runs, and what is tested nowhere else."""

from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import getbit_env
from getbit_env.conformance import AEC_CHECKS, PARALLEL_CHECKS, check_parallel
from getbit_env.fixed_population import fixed_population
from getbit_env.get_bit import Layout, parse_variant
from getbit_env.network import NetworkAgent

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import its environments in its own old way
    from pettingzoo.test import performance_benchmark

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "ecosystem.md").read_text()


def table_of_checks() -> str:
    rows = ["| check | demands | of |", "| --- | --- | --- |"]
    for name in PARALLEL_CHECKS | AEC_CHECKS:
        kinds = ["ParallelEnv"] * (name in PARALLEL_CHECKS) + ["AEC"] * (name in AEC_CHECKS)
        rows.append(f"| `{name}` | {(PARALLEL_CHECKS | AEC_CHECKS)[name]} | {', '.join(kinds)} |")
    return "\n".join(rows)


def test_the_page_lists_all_checks() -> None:
    assert f"<!-- checks -->\n\n{table_of_checks()}\n\n<!-- end of checks -->" in PAGE, f"put this there:\n{table_of_checks()}"


def test_what_the_page_points_to_is_there() -> None:
    named = re.findall(r"`((?:tests|eval|examples|train|getbit_env)/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 40
    for file, test in named:
        assert (ROOT / file).exists(), file
        assert not test or re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE), f"{file}::{test}"
    for line in PAGE.splitlines():
        for listed in re.findall(r"\| (?:checks?) ((?:`\w+`(?:, )?)+)", line):
            assert set(re.findall(r"`(\w+)`", listed)) <= PARALLEL_CHECKS.keys() | AEC_CHECKS.keys()


@pytest.mark.parametrize(
    "code", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), ids=["first", "fixed", "rllib", "conformance"]
)
def test_code_of_the_page_runs(code: str) -> None:
    exec(compile(code, "docs/ecosystem.md", "exec"), {})


# PettingZoo ---------------------------------------------------------------------------------------------------------------


def test_the_official_benchmark_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = itertools.count()  # it goes on until five seconds are over
    monkeypatch.setitem(performance_benchmark.__globals__, "time", SimpleNamespace(time=lambda: next(clock) / 4))
    performance_benchmark(getbit_env.env())
    assert "turns per second" in capsys.readouterr().out


@pytest.mark.parametrize("max_cycles", [None, 4, 9, 10, 11])
@pytest.mark.parametrize("players", [2, 4, 6])
def test_flags_combined_over_all_agents_say_when_the_game_is_over(players: int, max_cycles: int | None) -> None:
    for env in (getbit_env.parallel_env(players), fixed_population(getbit_env.parallel_env(players))):
        for seed in range(4):
            env.max_cycles = max_cycles
            env.reset(seed=seed)
            while env.agents:
                _, _, terminations, truncations, _ = env.step(dict.fromkeys(env.agents, seed))
                over = all(terminations.values()) or all(truncations.values())
                assert over == (not env.agents)


def test_turns_of_a_round_show_nothing_of_earlier_choices() -> None:
    """OpenSpiel's tools for simultaneous moves: here the turns of a round are taken blindly."""
    for cards in itertools.product((1, 4), repeat=3):
        aec, other = getbit_env.env(memory=True), getbit_env.env(memory=True)
        for env in (aec, other):
            env.reset(seed=0)
        before = {agent: repr(aec.observe(agent)) + repr(aec.infos[agent]) for agent in aec.agents}
        for card in cards:
            aec.step(card)
            assert {agent: repr(aec.observe(agent)) + repr(aec.infos[agent]) for agent in aec.agents} == before
            assert np.array_equal(aec.state(), other.state())


# Agents -------------------------------------------------------------------------------------------------------------------


def test_a_network_plays_by_chance_and_never_illegally() -> None:
    rng = np.random.default_rng(0)
    variant = parse_variant("2p")
    layout = Layout(variant)
    layers = [(rng.normal(size=shape).astype(np.float32), np.zeros(shape[0], np.float32)) for shape in ((8, layout.size), (25, 8))]
    agent = NetworkAgent(layers, variant)
    seen = np.repeat(rng.integers(0, 2, (10, layout.size)), 4000, 0).astype(np.float32)
    masks = np.repeat(rng.integers(0, 2, (10, 25)), 4000, 0).astype(np.int8)
    agent.reset(layout, np.ones(len(seen), np.bool_), 0)
    chosen = agent.act(seen, masks)
    assert masks[np.arange(len(masks)), chosen].all()
    played = np.stack([np.bincount(rows, minlength=25) for rows in chosen.reshape(10, 4000)]) / 4000
    # The standard error of a share of 4,000 draws is at most 0.008; the largest of 250 deviations stays below five of them.
    assert abs(played - agent.probabilities(seen, masks)[::4000]).max() < 0.04
    assert (played.max(1) < 0.99).any(), "it does not always play the most likely action"


# RLlib and TorchRL ----------------------------------------------------------------------------------------------------------


def test_the_adapter_for_rllib_keeps_the_contract() -> None:
    found: dict[str, Any] = {}
    (block,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class ForRLlib" in block)
    exec(block, found)

    def make() -> Any:
        return found["ForRLlib"](getbit_env.parallel_env(players=6, illegal_action="raise"))

    # RLlib wants float32 masks; a class that `exec` made can't be pickled; the few lines pass no `max_cycles` on.
    check_parallel(make, skip=["mask", "pickle", "max_cycles"])
    env = make()
    observations, _ = env.reset(seed=0)
    for agent, observation in observations.items():
        assert {key: part.dtype for key, part in observation.items()} == dict.fromkeys(["action_mask", "observations"], np.float32)
        assert env.observation_space(agent)["observations"] is env.unwrapped.observation_space(agent)["observation"]


@pytest.mark.filterwarnings("ignore")  # it warns of PettingZoo's version
@pytest.mark.parametrize("mask", ["observation", "infos"])
@pytest.mark.parametrize("options", [{}, {"players": 2, "memory": True}, {"max_cycles": 3}], ids=str)
def test_torchrl_plays_whole_games(options: dict[str, Any], mask: str) -> None:
    pytest.importorskip("torchrl", reason="TorchRL is not installed")
    from torchrl.envs.libs.pettingzoo import PettingZooWrapper
    from torchrl.envs.utils import MarlGroupMapType, check_env_specs

    inner = fixed_population(getbit_env.parallel_env(**options, illegal_action="raise"), mask=mask)
    env = PettingZooWrapper(inner, return_state=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=0)
    check_env_specs(env)
    game = env.rollout(100)
    assert inner.agents == []
    assert game["agents", "action_mask"].gather(-1, game["agents", "action"][..., None]).all()
    alive = game["next", "agents", "info", "alive"] != 0
    assert not alive[-1].any()
    assert (alive[1:] <= alive[:-1]).all()
    assert abs(float(game["next", "agents", "reward"].sum())) < 1e-5
