"""The conformance kit: it passes our environments, and fails an environment that is wrong in each way that it looks for."""

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.utils import EzPickle
from pettingzoo import ParallelEnv
from pettingzoo.utils.conversions import parallel_to_aec_wrapper
from pettingzoo.utils.wrappers import BaseParallelWrapper, BaseWrapper

import getbit_env
from getbit_env.conformance import AEC_CHECKS, PARALLEL_CHECKS, STRICT_CHECKS, ConformanceError, check_aec, check_parallel

GAME = {"variant": "5p-1l", "render_mode": "ansi"}  # four rounds; in each but the first a player goes out


@pytest.mark.parametrize(
    "options",
    [
        *({"players": players, "memory": memory} for players in range(2, 8) for memory in (False, True)),
        {"players": 2, "memory": True, "history": True},
        {"players": 3, "three_player_ending": "literal", "reward": "placement"},
        {"pick_up_at": 1, "limb_reward": -0.1, "illegal_action": "raise", "max_cycles": 6},
        {"observe_last": True, "identity": True, "history": True},
        {"variant": "3p-1r-4c-1l"},
    ],
    ids=str,
)
def test_our_environments_pass(options: dict[str, Any]) -> None:
    report = check_parallel(lambda: getbit_env.parallel_env(**options, render_mode="ansi"), strict=True)
    assert set(report.passed) | report.not_shown.keys() == PARALLEL_CHECKS.keys()
    few = getbit_env.parallel_env(**options).variant.players < 4  # the game is over as soon as one is out (G6)
    expected = {"refuses_ended", "mask_of_terminated"} if "max_cycles" in options else {"refuses_ended"} if few else set()
    assert report.not_shown.keys() == expected


@pytest.mark.parametrize("options", [{}, {"players": 2, "memory": True}, {"variant": "3p-1r-4c-1l", "history": True}], ids=str)
def test_our_aec_environments_pass(options: dict[str, Any]) -> None:
    for make in (getbit_env.env, getbit_env.raw_env):
        report = check_aec(lambda make=make: make(**options, render_mode="ansi"), strict=True)
        assert report == (tuple(AEC_CHECKS), {})


class Steering(ParallelEnv):
    """Nothing like ours: continuous actions, no masks, no state, no chance."""

    metadata = {"name": "steering_v0"}  # noqa: RUF012 - as PettingZoo has it
    render_mode = None

    def __init__(self) -> None:
        self.possible_agents = ["left", "right"]
        self.agents = self.possible_agents[:]
        self.spaces = {agent: (Box(-9, 9, (2,)), Box(-1, 1, (2,))) for agent in self.possible_agents}
        self.at = np.zeros(2, np.float32)

    def observation_space(self, agent: str) -> Any:
        return self.spaces[agent][0]

    def action_space(self, agent: str) -> Any:
        return self.spaces[agent][1]

    def reset(self, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002
        self.agents, self.at, self.steps = self.possible_agents[:], np.zeros(2, np.float32), 0
        return self.look(), {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        self.steps += 1
        self.at = self.at + sum(actions.values())
        over = self.steps == 4
        said = [dict.fromkeys(self.agents, value) for value in (-float(abs(self.at).max()), False, over)]
        infos: Any = {agent: {} for agent in self.agents}
        seen = self.look()
        self.agents = [] if over else self.agents
        return seen, *said, infos if seen else {}

    def look(self) -> Any:
        return {agent: self.at.copy() for agent in self.agents}


def test_another_kind_of_environment_passes() -> None:
    nothing_to_see = {
        "state",
        "mask",
        "mask_empty",
        "mask_of_terminated",
        "stream",
        "int_kinds",
        "max_cycles",
        "render_after_the_end",
    }
    assert check_parallel(Steering).not_shown.keys() == nothing_to_see


class Wrapped(BaseParallelWrapper):
    """Ours, about to be broken."""

    def __init__(self, **options: Any) -> None:
        super().__init__(getbit_env.parallel_env(**GAME, **options))
        self.steps = 0

    @property
    def max_cycles(self) -> Any:
        return self.env.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: Any) -> None:
        self.env.max_cycles = value

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.steps = 0
        return self.change(*super().reset(seed, options))

    def step(self, actions: Any) -> Any:
        observations, *flags, infos = self.env.step(actions)
        self.steps += 1
        observations, infos = self.change(observations, infos)
        return self.alter(observations, *flags, infos)

    def change(self, observations: Any, infos: Any) -> Any:
        return observations, infos

    def alter(self, *said: Any) -> Any:
        return said


class LateSpaces(Wrapped):
    def action_space(self, agent: str) -> Any:
        if not hasattr(self.env, "started"):
            raise RuntimeError("reset first")
        return super().action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.env.started = True
        return super().reset(seed, options)


class RaisesAtFive(Wrapped):
    def step(self, actions: Any) -> Any:
        if 4 in actions.values():
            raise ValueError("I don't know a 5")
        return super().step(actions)


class NewSpaces(Wrapped):
    def observation_space(self, agent: str) -> Any:
        return copy.deepcopy(super().observation_space(agent))


class OneSpace(Wrapped):
    def action_space(self, agent: str) -> Any:  # noqa: ARG002
        return super().action_space("player_0")


class NoLastReward(Wrapped):
    def alter(self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any) -> Any:
        return observations, {a: r for a, r in rewards.items() if a in self.env.agents}, terminations, truncations, infos


class CommonInfo(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        return observations, infos | {"common": {}} if infos else infos


class GoesWithoutEnding(Wrapped):
    def alter(self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any) -> Any:
        ends = dict.fromkeys(terminations, not self.env.agents)
        return observations, rewards, ends, truncations, infos


class Ghost(Wrapped):
    """One who is out haunts the game: a step later, or at once without having left."""

    wait = 1

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.since: dict[str, int] = {}
        return super().reset(seed, options)

    @property
    def agents(self) -> Any:
        inner = list(self.env.agents)
        return inner + [a for a, step in self.since.items() if inner and self.steps - step >= self.wait]

    def step(self, actions: Any) -> Any:
        ghosts = [agent for agent in self.agents if agent not in self.env.agents]
        said = super().step({agent: action for agent, action in actions.items() if agent not in ghosts})
        for agent in ghosts:
            nothing = {name: np.ones(space.shape, space.dtype) for name, space in self.observation_space(agent).items()}
            values = (nothing, 0.0, not self.env.agents or self.wait == 0, False, {})
            for part, value in zip(said, values, strict=True):
                part[agent] = value
        self.since = {a: self.since.get(a, self.steps) for a in self.possible_agents if a not in self.env.agents}
        return said


class Lingers(Ghost):
    wait = 0


class NumpyFlags(Wrapped):
    def alter(self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any) -> Any:
        return observations, rewards, {a: np.bool_(end) for a, end in terminations.items()}, truncations, infos


class NumpyRewards(Wrapped):
    def alter(self, observations: Any, rewards: Any, *rest: Any) -> Any:
        return observations, {a: np.float32(r) for a, r in rewards.items()}, *rest


class NanReward(Wrapped):
    def alter(self, observations: Any, rewards: Any, *rest: Any) -> Any:
        return observations, {a: float("nan") if r > 0 else r for a, r in rewards.items()}, *rest


class EndsInTwoWays(Wrapped):
    def alter(self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any) -> Any:
        if not self.env.agents:
            terminations = {a: r > 0 for a, r in rewards.items()}
            truncations = {a: r <= 0 for a, r in rewards.items()}
        return observations, rewards, terminations, truncations, infos


class StrangeLastObservation(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        for agent in observations.keys() - set(self.env.agents):
            observations[agent]["observation"] *= 2
        return observations, infos


class StrangeState(Wrapped):
    def state(self) -> Any:
        return super().state() * 2


class WideMask(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        for info in infos.values():
            info["action_mask"] = info["action_mask"].astype(np.int64)
        return observations, infos


class TwoMasks(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        for info in infos.values():
            info["action_mask"] = np.ones_like(info["action_mask"])
        return observations, infos


class EmptyMask(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        if self.steps == 1:
            for held in (observations, infos):
                held["player_1"]["action_mask"][:] = 0
        return observations, infos


class MasksOfTerminated(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        for agent in observations.keys() - set(self.env.agents):
            for held in (observations, infos):
                held[agent]["action_mask"][1:] = 0
        return observations, infos


class OneBuffer(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        if not hasattr(self, "buffers"):
            self.buffers = {agent: np.zeros(self.env.layout.size, np.float32) for agent in self.possible_agents}
        for agent, observation in observations.items():
            self.buffers[agent][:] = observation["observation"]
            observation["observation"] = self.buffers[agent]
        return observations, infos


class OneMask(Wrapped):
    def change(self, observations: Any, infos: Any) -> Any:
        for agent, info in infos.items():
            info["action_mask"] = observations[agent]["action_mask"]
        return observations, infos


class BelievesItsMasks(Wrapped):
    """Looks into the mask that it gave away to see what was legal."""

    def step(self, actions: Any) -> Any:
        given = self.masks
        said = super().step(actions)
        for agent, action in actions.items():
            if not given[agent][action]:
                said[1][agent] -= 1.0
        return said

    def change(self, observations: Any, infos: Any) -> Any:
        self.masks = {agent: observation["action_mask"] for agent, observation in observations.items()}
        return observations, infos


class GlobalRandom(Wrapped):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        np.random.seed(seed)  # noqa: NPY002 - what many environments do
        return super().reset(seed, options)

    def alter(self, observations: Any, rewards: Any, *rest: Any) -> Any:
        return observations, {a: r + float(np.random.random()) for a, r in rewards.items()}, *rest  # noqa: NPY002


class CountsGames(Wrapped):
    games = 0

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.games += 1
        return super().reset(seed, options)

    def alter(self, observations: Any, rewards: Any, *rest: Any) -> Any:
        return observations, {a: r + self.games for a, r in rewards.items()}, *rest


class SameGameAgain(Wrapped):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.seed = getattr(self, "seed", 0) if seed is None else seed
        return super().reset(self.seed, options)


class SeedsByTheClock(Wrapped):
    clock = 0

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        SeedsByTheClock.clock += 1
        return super().reset(SeedsByTheClock.clock if seed is None else seed, options)


class NoCopy(Wrapped):
    def __deepcopy__(self, memo: Any) -> NoCopy:
        return self


class Locked(Wrapped):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def __deepcopy__(self, memo: Any) -> Locked:
        other = Locked()
        other.env, other.steps = copy.deepcopy(self.env, memo), self.steps
        return other


class Easy(Wrapped, EzPickle):
    def __init__(self) -> None:
        EzPickle.__init__(self)
        super().__init__()


class OnlyInt(Wrapped):
    def step(self, actions: Any) -> Any:
        if any(type(action) is not int for action in actions.values()):
            raise TypeError("an int, please")
        return super().step(actions)


class FirstComesFirst(Wrapped):
    def step(self, actions: Any) -> Any:
        said = super().step(actions)
        for agent in list(actions)[:1]:
            said[1][agent] += 0.5
        return said


class ComplainsAfterTheEnd(Wrapped):
    def step(self, actions: Any) -> Any:
        if not actions:
            raise RuntimeError("the game is over")
        return super().step(actions)


class HidesMaxCycles(BaseParallelWrapper):
    def __init__(self) -> None:
        super().__init__(getbit_env.parallel_env(**GAME))


class DrawsAgents(Wrapped):
    def render(self) -> Any:
        return super().render() + self.env.agents[0]


class ClosesOnce(Wrapped):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


class Lenient(Wrapped):
    """Plays something for who is missing, and does not look at the others."""

    missing = unknown = ended = out_of_range = False

    def step(self, actions: Any) -> Any:
        agents, possible = self.env.agents, self.possible_agents
        if self.missing:
            actions = dict.fromkeys(agents, 0) | actions
        if self.unknown:
            actions = {agent: action for agent, action in actions.items() if agent in possible}
        if self.ended:
            actions = {agent: action for agent, action in actions.items() if agent in agents or agent not in possible}
        if self.out_of_range:
            actions = {agent: action % 6 for agent, action in actions.items()}
        return super().step(actions)


class MissingIsFine(Lenient):
    missing = True


class UnknownIsFine(Lenient):
    unknown = True


class EndedIsFine(Lenient):
    ended = True


class OutOfRangeIsFine(Lenient):
    out_of_range = True


class Nameless(Wrapped):
    def step(self, actions: Any) -> Any:
        if any(not 0 <= action < 6 for action in actions.values()):
            raise ValueError("bad action")
        return super().step(actions)


class LooksTooLate(Wrapped):
    def step(self, actions: Any) -> Any:
        wrong = [agent for agent in self.env.agents if agent not in actions]
        said = super().step(dict.fromkeys(wrong, 0) | actions)
        if wrong:
            raise ValueError(f"no action for {wrong}")
        return said


class TwiceBroken(NumpyRewards, CommonInfo):
    pass


def endless() -> Wrapped:
    env = Wrapped()
    env.step = lambda _: (*Wrapped.step(copy.deepcopy(env), dict.fromkeys(env.agents, 0))[:1], *[{}] * 4)
    return env


def one_and_the_same() -> Callable[[], Any]:
    env = Wrapped()
    return lambda: env


BROKEN: list[tuple[str, Callable[[], Any], str, str]] = [
    ("before_reset", LateSpaces, r"before reset, action_space\('player_0'\) raised RuntimeError", ""),
    ("plays", RaisesAtFive, r"seed 0, step \d+: the environment raised ValueError\(\"I don't know a 5\"\)", ""),
    ("spaces", NewSpaces, r"after reset, observation_space\('player_0'\) is another object", ""),
    ("spaces", OneSpace, "action_space of player_0 and of player_1 are one object", ""),
    ("flags", NumpyFlags, r"step \d+: terminations\['player_0'\] is np.False_, a bool", ""),
    ("rewards", NumpyRewards, r"step \d+: the reward of player_0 is np.float32\(0.0\), a float32", ""),
    ("rewards", NanReward, r"step \d+: the reward of player_\d is nan", ""),
    ("last_step", EndsInTwoWays, "the last step has terminations {.*True.*} and truncations {.*True.*}", ""),
    (
        "observations",
        StrangeLastObservation,
        r"step \d+: the observation of player_\d\['observation'\] is float32 of shape \(\d+,\) from 0.0 to 2.0, which does not lie",
        "",
    ),
    ("state", StrangeState, "reset: the state is float32 .* from 0.0 to 2.0, which does not lie in Box", ""),
    ("mask", WideMask, r"reset: the mask of player_0 in the info is array\(\[1, 1, 1, 1, 1, 1\]\), not int8 of shape \(6,\)", ""),
    ("mask", TwoMasks, r"step \d+: the masks of player_0 in the observation and the info differ", ""),
    ("mask_empty", EmptyMask, r"step \d+: the mask of player_1 in the observation is all zero", ""),
    ("mask_of_terminated", MasksOfTerminated, r"step \d+: player_\d is terminated and has the mask \[1, 0, 0, 0, 0, 0\]", ""),
    ("arrays_kept", OneBuffer, r"what reset gave was changed later: observations\['player_0'\]\['observation'\]\[\d+\] is", ""),
    (
        "arrays_apart",
        OneMask,
        r"reset: observations\['player_0'\]\['action_mask'\] and infos\['player_0'\]\['action_mask'\] share memory",
        "",
    ),
    ("arrays_owned", BelievesItsMasks, r"after writing into arrays that were returned: step \d+, rewards\['player_0'\]", ""),
    ("determinism", GlobalRandom, r"two games with seed 0: step \d+, rewards\['player_0'\] is", "stream deepcopy pickle"),
    ("reseeding", CountsGames, r"a new environment and one used for 2 steps, same seed: step \d+, rewards", ""),
    ("stream", SameGameAgain, "6 resets without a seed gave the same game, seeds give different ones", ""),
    ("stream", SeedsByTheClock, "game 2 after one seed, twice: reset, ", "deepcopy pickle"),
    (
        "deepcopy",
        NoCopy,
        "(a game that a deepcopy was made of, played on after the deepcopy: |the environment raised ValueError)",
        "",
    ),
    ("deepcopy", Easy, r"the environment raised RuntimeError\('call reset\(\) before step\(\)'\)", "pickle"),
    ("pickle", Locked, r"after \d+ steps, pickle raised TypeError", ""),
    ("int_kinds", OnlyInt, r"actions as np.int64: the environment raised TypeError\('an int, please'\)", ""),
    ("render_after_the_end", DrawsAgents, r"the environment raised IndexError", ""),
    ("close", ClosesOnce, r"the environment raised RuntimeError\('closed already'\)", ""),
    ("refuses_out_of_range", OutOfRangeIsFine, "action 6 for player_0 was accepted", ""),
    ("refuses_out_of_range", Nameless, r"action 6 for player_0: the error does not name it: ValueError\('bad action'\)", ""),
]
PARALLEL_ONLY = [
    ("plays", endless, "after 100 steps the game still goes on", ""),
    ("dicts", NoLastReward, r"step \d+, rewards lacks player_\d; it is for player_0, ", ""),
    ("infos", CommonInfo, "reset, infos holds common as well; it is for player_0, player_1, player_2, player_3, player_4", ""),
    ("agents", GoesWithoutEnding, r"step \d+: player_\d did not end, but is not in agents: \['player_", ""),
    ("agents", Lingers, r"step \d+: player_\d ended, but is still in agents", ""),
    ("revival", Ghost, r"step \d+: player_\d had left, and is back in agents", ""),
    ("order", FirstComesFirst, r"actions in order and in reverse order: step \d+, rewards\['player_0'\] is 0.5 and 0.0", ""),
    ("after_the_end", ComplainsAfterTheEnd, r"the environment raised RuntimeError\('the game is over'\)", ""),
    ("max_cycles", HidesMaxCycles, r"with max_cycles = 1 the game went on for \d+ steps", ""),
    ("refuses_missing", MissingIsFine, "no action for player_4 was accepted", ""),
    ("refuses_missing", LooksTooLate, r"after a refused step \(no action for player_4\): step 1", ""),
    ("refuses_unknown", UnknownIsFine, "an action for nobody_99 was accepted", ""),
    ("refuses_ended", EndedIsFine, r"an action after its end for player_\d was accepted", ""),
]


class WrappedAec(BaseWrapper):
    """Ours, about to be broken as AEC."""

    def __init__(self) -> None:
        super().__init__(getbit_env.raw_env(**GAME))

    @property
    def _cumulative_rewards(self) -> Any:
        return self.env._cumulative_rewards


class AecLacksARewards(WrappedAec):
    @property
    def rewards(self) -> Any:
        return {agent: reward for agent, reward in self.env.rewards.items() if agent != "player_1"}


class AecCommonInfo(WrappedAec):
    @property
    def infos(self) -> Any:
        return self.env.infos | {"common": {}}


class AecGhost(WrappedAec):
    """One who has left is shown again, or for one step longer."""

    wait = 2

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.since: dict[str, int] = {}
        super().reset(seed, options)

    def step(self, action: Any) -> None:
        super().step(action)
        left = [agent for agent in self.possible_agents if agent not in self.env.agents]
        self.since = {agent: self.since.get(agent, -1) + 1 for agent in left}

    def shown(self, values: Any, ghost: Any) -> Any:
        ghosts = [a for a, steps in self.since.items() if self.env.agents and (steps >= 2 if self.wait else steps == 0)]
        return values + ghosts if isinstance(values, list) else values | dict.fromkeys(ghosts, ghost)

    def observe(self, agent: Any) -> Any:
        if agent in self.env.agents or not self.wait:
            return super().observe(agent)
        return {name: np.ones(space.shape, space.dtype) for name, space in self.observation_space(agent).items()}

    agents = property(lambda self: self.shown(self.env.agents, None))
    rewards = property(lambda self: self.shown(self.env.rewards, 0))
    terminations = property(lambda self: self.shown(self.env.terminations, True))
    truncations = property(lambda self: self.shown(self.env.truncations, False))
    infos = property(lambda self: self.shown(self.env.infos, {}))


class AecLingers(AecGhost):
    wait = 0


class AecEndedIsFine(WrappedAec):
    def step(self, action: Any) -> None:
        agent = self.env.agent_selection
        super().step(None if self.env.terminations[agent] else action)


AEC_ONLY = [
    ("dicts", AecLacksARewards, "reset, rewards lacks player_1; it is for player_0", ""),
    ("infos", AecCommonInfo, "reset, infos holds common as well", ""),
    ("agents", AecLingers, r"step \d+: player_\d ended, but is still in agents", ""),
    ("revival", AecGhost, r"step \d+: player_\d had left, and is back in agents", "agents"),
    ("refuses_action_of_ended", AecEndedIsFine, r"player_\d had ended, and its action was accepted", ""),
]


def failures(check: Callable[..., Any], make: Callable[[], Any]) -> ConformanceError:
    with pytest.raises(ConformanceError) as raised:
        check(make, strict=True, max_steps=100)
    return raised.value


@pytest.mark.parametrize(
    ("name", "make", "message", "besides"), [*BROKEN, *PARALLEL_ONLY], ids=lambda v: getattr(v, "__name__", "")
)
def test_a_broken_environment_fails_just_that(name: str, make: Callable[[], Any], message: str, besides: str) -> None:
    error = failures(check_parallel, make)
    assert {failure.check for failure in error.failures} == {name, *besides.split()}
    assert re.search(f"- {name}: {message}", str(error)), error
    assert error.failures[0].mend in str(error)


@pytest.mark.parametrize(("name", "make", "message", "besides"), [*BROKEN, *AEC_ONLY], ids=lambda v: getattr(v, "__name__", ""))
def test_a_broken_aec_environment_fails_just_that(name: str, make: Callable[[], Any], message: str, besides: str) -> None:
    error = failures(check_aec, make if issubclass(make, WrappedAec) else lambda: parallel_to_aec_wrapper(make()))
    assert {failure.check for failure in error.failures} == {name, *besides.split()}
    assert re.search(f"- {name}: {message}", str(error)), error


def test_every_check_is_seen_to_fail() -> None:
    assert {name for name, *_ in [*BROKEN, *PARALLEL_ONLY]} == PARALLEL_CHECKS.keys()
    assert {name for name, *_ in [*BROKEN, *AEC_ONLY]} == AEC_CHECKS.keys()
    assert {name for name in [*PARALLEL_CHECKS, *AEC_CHECKS] if name.startswith("refuses")} == set(STRICT_CHECKS)


def test_several_failures_are_listed_together() -> None:
    error = failures(check_parallel, TwiceBroken)
    assert str(error).startswith("get_bit_v0 fails 2 checks:\n- infos: ")
    assert "\n- rewards: " in str(error)


def test_what_is_no_environment_is_said_to_be_none() -> None:
    with pytest.raises(ConformanceError, match=r"made .*, which is no ParallelEnv"):
        check_parallel(getbit_env.raw_env)
    with pytest.raises(ConformanceError, match=r"is no ParallelEnv; check_aec is for AEC environments") as raised:
        check_parallel(getbit_env.env)
    assert len(raised.value.failures) == 1, "the other checks are about another kind of environment"
    with pytest.raises(ConformanceError, match=r"is no AECEnv; check_parallel is for parallel environments"):
        check_aec(getbit_env.parallel_env)
    for wrong in (getbit_env.parallel_env(), "4p", None):
        with pytest.raises(TypeError, match="make_env is a function that makes a new environment at each call, as `lambda: my_env"):
            check_parallel(wrong)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ConformanceError, match="make_env returned the same environment twice"):
        check_parallel(one_and_the_same())


def test_strict_checks_are_made_when_asked_for_and_others_can_be_skipped() -> None:
    assert not set(check_parallel(OutOfRangeIsFine).passed) & set(STRICT_CHECKS)
    assert "close" not in check_parallel(ClosesOnce, skip=["close"]).passed
    with pytest.raises(ValueError, match="there is no check closing; there are before_reset, plays, "):
        check_parallel(Wrapped, skip=["closing"])


def test_what_could_not_be_shown_is_said() -> None:
    report = check_parallel(lambda: getbit_env.parallel_env(players=2), strict=True)
    assert report.not_shown == {
        "render_after_the_end": "the environment has no render mode; let make_env give it one",
        "refuses_ended": "no agent ended before the others did",
    }
