"""A failed call changes nothing, in any environment or wrapper of both games; damaged snapshots raise nothing but ValueError."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils.env import ParallelEnv

import getbit_env
from getbit_env.core.drawing import Canvas
from getbit_env.fixed_population import fixed_population
from getbit_env.get_bit.recall import perfect_recall
from getbit_env.sharks_are_wild import environment as sharks
from getbit_env.single_agent import SingleAgentEnv

NONSENSE: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 3, 7, 10**30, 10**5000, 1.0, 0.5, float("nan"), float("inf"), "", "ABCD", "0123", b"\x00"),
    *([], [0], [0.0, 1.0, 2.0, 3.0], ["0", "1", "2", "3"], [[0], [1], [2], [3]], [None] * 4, [0, 0, 0, 0], [True, False, 2, 3]),
    *([3, 2, 1], {0, 1, 2, 3}, {}, {"line": 3}, {"deal": {}}, {"player_0": 0}, {1: 2}, object(), int, len, np.zeros(4)),
    *(np.zeros((2, 2), np.int64), np.array("x"), np.float32(2), [1, 2.0, 0, 3], ["0x1", -1], "9" * 10_000, [0] * 10_000),
)


def nonsense(rng: np.random.Generator) -> Any:
    """Something that belongs nowhere; now and then it fits by luck."""
    return copy.copy(NONSENSE[rng.integers(len(NONSENSE))])


def damaged(value: Any, rng: np.random.Generator) -> Any:
    """A value in which one thing, at some depth, is missing, doubled, nonsense, or nearly the same."""
    kind = rng.integers(8)
    if isinstance(value, dict) and value and kind < 7:
        key = list(value)[rng.integers(len(value))]
        if kind == 0:
            return {k: v for k, v in value.items() if k != key}
        return {**value, "more": 1} if kind == 1 else {**value, key: damaged(value[key], rng)}
    if isinstance(value, list) and value and kind < 6:
        at = int(rng.integers(len(value)))
        if kind == 0:
            return value[:at] + value[at + 1 :]
        return value[: at + 1] + value[at:] if kind == 1 else [*value[:at], damaged(value[at], rng), *value[at + 1 :]]
    if isinstance(value, bool) and kind < 4:
        return not value
    if isinstance(value, int) and kind < 6:
        return [value + 1, value - 1, float(value), -value, str(value), value + 2**64][kind]
    return nonsense(rng)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))


def wrong_call(env: Any, rng: np.random.Generator) -> Callable[[], Any]:
    """A call that is most likely refused."""
    kind = rng.integers(7)
    if kind < 2:
        wrong: dict[str, Any] = {"seed": int(rng.integers(9)), "options": nonsense(rng)}
        if kind == 1:
            wrong["options"] = {"line": nonsense(rng), "deal": None if rng.random() < 0.5 else nonsense(rng)}
        if rng.random() < 0.2:
            wrong["seed"] = nonsense(rng)
        return lambda: env.reset(**wrong)
    if kind == 2 and not isinstance(env, SingleAgentEnv):
        snapshot = damaged(env.snapshot(), rng)
        return lambda: env.restore(snapshot)
    if kind == 3 and not isinstance(env, SingleAgentEnv):
        name, value = str(rng.choice(["max_cycles", "possible_agents"])), nonsense(rng)
        return lambda: getattr(env, name).append(value) if name == "possible_agents" else setattr(env, name, value)
    if isinstance(env, ParallelEnv) and kind < 6:
        actions = damaged({agent: int(rng.integers(5)) for agent in env.agents}, rng)
        return lambda: env.step(actions)
    action = nonsense(rng)
    return lambda: env.step(action)


class Pair:
    """An environment that gets wrong calls, and its twin that does not."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.env, self.twin = make(), make()
        self.is_parallel, self.is_single = isinstance(self.env, ParallelEnv), isinstance(self.env, SingleAgentEnv)
        self.begin(0)

    def begin(self, seed: int | None) -> None:
        for each in (self.env, self.twin):
            if seed is not None and not self.is_single:
                each.max_cycles = None
            self.said = each.reset(seed=seed)
        self.over = False

    def look(self) -> Any:
        """All that the environment says without being changed."""
        env = self.env
        if self.is_single:
            return copy.deepcopy((env.multi_agent_env.snapshot(), env.np_random.bit_generator.state, env.seat, env.action_masks()))
        seen = (env.snapshot(), env.agents, env.possible_agents, env.max_cycles, env.state())
        if not self.is_parallel:
            seen += (env.rewards, env.terminations, env.truncations, env.infos, [env.observe(agent) for agent in env.agents])
            seen += (env.last() if env.agents else None,)
        return copy.deepcopy(seen)

    def go_on(self, rng: np.random.Generator) -> None:
        """The same legal step, or new game, in both, which must say the same."""
        if self.over or not (self.is_single or self.env.agents):
            self.begin(None)
        elif self.is_single:
            action = int(rng.choice(np.flatnonzero(self.env.action_masks())))
            one, two = self.env.step(action), self.twin.step(action)
            assert same(one, two)
            self.over = one[2] or one[3]
        elif self.is_parallel:
            choices = {agent: rng.choice(np.flatnonzero(self.said[0][agent]["action_mask"])) for agent in self.env.agents}
            one, two = self.env.step(choices), self.twin.step(choices)
            assert same(one, two)
            self.said = one
        else:
            seen, _, terminated, truncated, _ = self.env.last()
            chosen = None if terminated or truncated else int(rng.choice(np.flatnonzero(seen["action_mask"])))
            for each in (self.env, self.twin):
                each.step(chosen)
        if self.is_single:
            assert self.env.multi_agent_env.snapshot() == self.twin.multi_agent_env.snapshot()
        else:
            assert self.env.snapshot() == self.twin.snapshot()


def refusal(call: Callable[[], Any], *kinds: type[Exception]) -> str | None:
    """The message with which a call is refused; None if it is not."""
    try:
        call()
    except kinds as error:
        return str(error)
    return None


SMALL = {"variant": "4p-1l"}
MAKERS: dict[str, Callable[[], Any]] = {
    "parallel": lambda: getbit_env.parallel_env(**SMALL),
    "refusing": lambda: getbit_env.parallel_env(**SMALL, illegal_action="raise"),
    "fixed": lambda: fixed_population(getbit_env.parallel_env(**SMALL)),
    "recall": lambda: perfect_recall(getbit_env.parallel_env(variant="4p-1l-memory")),
    "fixed recall": lambda: fixed_population(perfect_recall(getbit_env.parallel_env(variant="4p-1l-memory"))),
    "aec": lambda: getbit_env.env(**SMALL),
    "raw": lambda: getbit_env.raw_env(**SMALL, illegal_action="raise"),
    "sharks": lambda: sharks.env(players=2, level=2, coins=1),
    "sharks raw": lambda: sharks.raw_env(players=2, level=2, coins=1, illegal_action="raise"),
    "seat": lambda: SingleAgentEnv("getbit/GetBit-v0", ["random", "lowest", "counter"], **SMALL, illegal_action="raise"),
    "sharks seat": lambda: SingleAgentEnv("getbit/SharksAreWild-v0", players=2, coins=1),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_failed_call_changes_nothing(maker: str) -> None:
    """The environment says what it said before, and goes on as a twin that never got the call."""
    rng = np.random.default_rng(0)
    pair = Pair(MAKERS[maker])
    failed = 0
    for _ in range(600):
        before = pair.look()
        message = refusal(wrong_call(pair.env, rng), ValueError, TypeError, RuntimeError)
        if message is None:  # by luck it was no wrong call
            pair.begin(int(rng.integers(1000)))
            continue
        failed += 1
        assert 10 < len(message) < 1000
        assert same(pair.look(), before)
        if rng.random() < 0.4:
            pair.go_on(rng)
    assert failed > 300


@pytest.mark.parametrize("maker", ["parallel", "fixed", "raw", "aec", "sharks raw"])
def test_a_damaged_snapshot_raises_value_error_in_few_words(maker: str) -> None:
    rng = np.random.default_rng(1)
    pair = Pair(MAKERS[maker])
    refused = 0
    for _ in range(400):
        pair.go_on(rng)
        snapshot = pair.env.snapshot()
        wrong = damaged(snapshot, rng)
        message = refusal(lambda wrong=wrong: pair.env.restore(wrong), ValueError)  # type: ignore[misc]  # the default binds it
        if message is None:
            pair.begin(int(rng.integers(1000)))
            continue
        refused += 1
        assert 10 < len(message) < 1000
        assert pair.env.snapshot() == snapshot
    assert refused > 250


@pytest.mark.parametrize("maker", ["parallel", "raw", "sharks raw"])
def test_a_window_that_can_not_be_opened_changes_nothing(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make: Callable[..., Any] = {
        "parallel": getbit_env.parallel_env,
        "raw": getbit_env.raw_env,
        "sharks raw": sharks.raw_env,
    }[maker]
    pair = Pair(make)
    pair.env.render_mode = "human"

    def broken(*_: Any) -> Any:
        raise RuntimeError("no window can be opened")

    with monkeypatch.context() as patch:
        patch.setattr("getbit_env.core.rendering.Canvas", type("Broken", (Canvas,), {"__init__": lambda *_: None, "draw": broken}))
        for _ in range(3 if maker == "raw" else 0):  # the round, and with it the picture, comes after the fourth choice
            pair.env.step(0)
            pair.twin.step(0)
        before = pair.look()
        for call in (
            lambda: pair.env.reset(seed=7),
            lambda: pair.env.step(dict.fromkeys(pair.env.agents, 0) if pair.is_parallel else 0),
        ):
            with pytest.raises(RuntimeError, match="no window"):
                call()
            assert same(pair.look(), before)
    pair.env.render_mode = None
    rng = np.random.default_rng(0)
    for _ in range(9):
        pair.go_on(rng)


def test_arguments_with_thousands_of_digits_have_short_messages() -> None:
    assert sys.get_int_max_str_digits() < 5000
    env = getbit_env.parallel_env()
    env.reset(seed=0)
    for wrong in (lambda: env.step(dict.fromkeys(env.agents, 10**5000)), lambda: setattr(env, "max_cycles", -(10**5000))):
        with pytest.raises(ValueError, match="a value of type int"):
            wrong()
