"""`python -m eval.bench`: the speed of everything, in one process on one thread.

Everything is measured in turns, several rounds of it, so that what disturbs the machine disturbs all alike; the figures are
medians. Compare figures of one run with each other, and not with those of another run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import getbit_env
from eval.peers import PEERS
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.rules import play_round, start_games
from getbit_env.match import play_match
from getbit_env.network import NetworkAgent
from getbit_env.provenance import provenance

OURS = "getbit-env: batch engine"
SECONDS = 0.5  # that a measurement takes at least

Block = Callable[[], int]  # does some work and says how much


# --- the batch engine --------------------------------------------------------------------------------------------------------


def recorded_cards(variant: str, games: int, rounds: int) -> tuple[Engine, list[NDArray[np.uint8]], Callable[[], None]]:
    """An engine, legal random cards for so many rounds with auto-reset, and what puts it back to where they begin."""
    engine = Engine(getbit_env.parse_variant(variant), games, seed=0)
    engine.start()
    begin = [array.copy() for array in engine.state], engine.counters.copy()
    rng = np.random.default_rng(0)
    bits = np.array([1 << c for c in range(engine.variant.cards)], np.uint8)
    cards = []
    for _ in range(rounds):
        weight = rng.random((*engine.state.hand.shape, len(bits))) * (engine.state.hand[..., None] & bits > 0)
        cards.append(np.where(engine.state.limbs > 0, bits[weight.argmax(-1)], 0).astype(np.uint8))
        engine.play_cards(cards[-1])
        engine.start(engine.outcome.over)

    def rewind() -> None:
        for array, at_start in zip(engine.state, begin[0], strict=True):
            array[:] = at_start
        engine.counters[:] = begin[1]

    return engine, cards, rewind


def engine_steps(variant: str, games: int = 4096, *, observe: bool = False) -> Block:
    """Rounds with given legal cards: moves, bites, taking back, end, rewards, auto-reset; and all seats' observations and masks."""
    engine, cards, rewind = recorded_cards(variant, games, 32)
    everyone = np.ones(games, np.uint8)

    def block() -> int:
        rewind()
        for laid in cards:
            play_round(
                engine._rules, engine.state, laid, engine._pays, engine._limb_reward, engine._scratch, engine.outcome, 0, games
            )
            start_games(engine._rules, engine.state, engine.outcome.over, engine.streams, engine.counters, engine._scratch, 0, games)
            if observe:
                engine.observe(everyone)
        return len(cards) * games

    return block


# --- the PettingZoo environment ----------------------------------------------------------------------------------------------


def parallel_loop(players: int = 4, *, sample: bool = False) -> Block:
    """Rounds of the loop that everybody writes, an action an agent picked from its mask."""
    env = getbit_env.parallel_env(players)

    def block() -> int:
        seen, _ = env.reset(seed=0)
        for _ in range(1000):
            if sample:
                picked: dict[str, Any] = {a: env.action_space(a).sample(seen[a]["action_mask"]) for a in env.agents}
            else:
                picked = {a: int(seen[a]["action_mask"].argmax()) for a in env.agents}
            seen, *_ = env.step(picked)
            if not env.agents:
                seen, _ = env.reset()
        return 1000

    return block


# --- Sharks are Wild ---------------------------------------------------------------------------------------------------------


def sharks_decisions(variant: str, games: int = 4096) -> Block:
    """Decisions of legal play at random: what is legal, a choice, the rules, reshuffles, rewards, auto-reset."""
    from getbit_env.sharks_are_wild import parse_variant
    from getbit_env.sharks_are_wild.bots import choose_any
    from getbit_env.sharks_are_wild.engine import Engine
    from getbit_env.sharks_are_wild.rules import play, start_games

    engine = Engine(parse_variant(variant), games, seed=0)
    engine.start()
    keys, counters, everyone = ~engine.streams, np.zeros(games, np.uint64), np.ones(games, np.uint8)
    rules, state, actions, streams, drawn = engine.rules, engine.state, engine.actions, engine.streams, engine.counters

    def block() -> int:
        for _ in range(32):
            choose_any(rules, state, keys, counters, actions)
            play(rules, state, actions, everyone, streams, drawn, engine._pays, engine.outcome, 0, games)
            start_games(rules, state, engine.outcome.over, streams, drawn, 0, games)
        return 32 * games

    return block


def sharks_loop(players: int, level: int) -> Block:
    """Steps of the loop that everybody writes, an action picked from the mask."""
    from getbit_env.sharks_are_wild import raw_env

    env = raw_env(players, level)

    def block() -> int:
        env.reset(seed=0)
        for _ in range(1000):
            seen, _, terminated, truncated, _ = env.last()
            env.step(None if terminated or truncated else int(seen["action_mask"].argmax()))
            if not env.agents:
                env.reset()
        return 1000

    return block


# --- training and matches ----------------------------------------------------------------------------------------------------


def training(opponents: Any, games: int = 1024) -> Block:
    """Frames of MaskablePPO, 4 epochs, batch 8,192, networks 64x64; `None`: on an environment that does nothing."""
    import torch
    from gymnasium import spaces
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecEnv

    from getbit_env.sb3 import GetBitVecEnv

    torch.set_num_threads(1)
    real = GetBitVecEnv(games, opponents or "random", seed=0)

    class Nothing(VecEnv):
        """Gives back the same arrays."""

        def __init__(self) -> None:
            self.seen = real.reset()
            self.answer = (self.seen, np.zeros(games, np.float32), np.zeros(games, bool))
            self.masks = np.ones((games, 5), bool)
            super().__init__(games, spaces.Box(0, 1, self.seen.shape[1:], np.float32), spaces.Discrete(5))

        def reset(self) -> Any:
            return self.seen

        def step_async(self, actions: Any) -> None:
            pass

        def step_wait(self) -> Any:
            return (*self.answer, [{} for _ in range(games)])

        def close(self) -> None:
            pass

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:  # noqa: ARG002
            if attr_name not in ("render_mode", "action_masks"):
                raise AttributeError(attr_name)
            return [None] * games

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            raise NotImplementedError

        def env_method(self, method_name: str, *_args: Any, indices: Any = None, **_kwargs: Any) -> list[Any]:  # noqa: ARG002
            return list(self.masks)

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002
            return [False] * games

    model = MaskablePPO(
        "MlpPolicy", real if opponents else Nothing(), n_steps=16, batch_size=8192, n_epochs=4, gamma=1.0, seed=0, device="cpu"
    )

    def block() -> int:
        model.learn(16 * games, reset_num_timesteps=False)
        return 16 * games

    return block


def frozen_network() -> NetworkAgent:
    """A random 64x64 policy."""
    rng = np.random.default_rng(0)
    variant = getbit_env.parse_variant("4p")
    sizes = [getbit_env.parallel_env().layout.size, 64, 64, variant.actions]
    layers = [(rng.normal(size=(b, a)).astype(np.float32) / a**0.5, np.zeros(b, np.float32)) for a, b in pairwise(sizes)]
    return NetworkAgent(layers, variant)


def matches(*line_up: str) -> Block:
    """Games of a match."""

    def block() -> int:
        return play_match(line_up, "4p", lines=5040).games

    return block


BENCHES: dict[str, tuple[str, Callable[[], Block]]] = {
    "engine 4p, 4,096 games": ("rounds/s", lambda: engine_steps("4p")),
    "engine 6p, 4,096 games": ("rounds/s", lambda: engine_steps("6p")),
    "engine 4p with all observations and masks": ("rounds/s", lambda: engine_steps("4p", observe=True)),
    "parallel_env 4p, argmax of the mask": ("rounds/s", parallel_loop),
    "parallel_env 4p, action_space.sample(mask)": ("rounds/s", lambda: parallel_loop(sample=True)),
    "match of random, highest, lowest, counter": ("games/s", lambda: matches("random", "highest", "lowest", "counter")),
    "Sharks are Wild, 2 players, level 1, 4,096 games": ("decisions/s", lambda: sharks_decisions("sharks-2p-level1")),
    "Sharks are Wild, 4 players, level 2, 4,096 games": ("decisions/s", lambda: sharks_decisions("sharks-4p-level2")),
    "Sharks are Wild, raw_env, 4 players, level 2, argmax of the mask": ("steps/s", lambda: sharks_loop(4, 2)),
    "MaskablePPO on nothing": ("frames/s", lambda: training(None)),
    "MaskablePPO against random": ("frames/s", lambda: training("random")),
    "MaskablePPO against a frozen 64x64 network": ("frames/s", lambda: training(frozen_network())),
}


def measure(benches: Mapping[str, tuple[str, Callable[[], Block]]], rounds: int) -> dict[str, dict[str, Any]]:
    """Measure in turns: `{name: {unit, median, least, most}}`; what needs a package that is not installed is left out."""
    blocks: dict[str, Block] = {}
    for name, (_, make) in tqdm(benches.items(), desc="set-up", file=sys.stderr):
        try:
            blocks[name] = make()
            blocks[name]()  # compiles what is not compiled yet
        except Exception as error:  # of a package that we don't know
            if name not in PEERS:
                raise
            blocks.pop(name, None)
            tqdm.write(f"left out: {name}: {type(error).__name__}: {error}", file=sys.stderr)
    rates: dict[str, list[float]] = {name: [] for name in blocks}
    for _ in tqdm(range(rounds), desc="rounds", file=sys.stderr):
        for name, block in blocks.items():
            done, start = 0, time.perf_counter()
            while (taken := time.perf_counter() - start) < SECONDS:
                done += block()
            rates[name].append(done / taken)
    return {
        name: {"unit": benches[name][0], "median": statistics.median(r), "least": min(r), "most": max(r)}
        for name, r in rates.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m eval.bench", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="measure other environments beside ours (eval/requirements-peers.txt)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only what has this text in its name")
    parser.add_argument("--rounds", type=int, default=7, help="how often each is measured (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    benches = {name: ("agent-steps/s", make) for name, make in PEERS.items()} if options.peers else BENCHES
    chosen = {name: bench for name, bench in benches.items() if options.only in name}
    if not chosen:
        parser.error(f"nothing has {options.only!r} in its name; there are: {', '.join(benches)}")
    if options.rounds < 1:
        parser.error(f"--rounds is at least 1, not {options.rounds}")
    rates = measure(chosen, options.rounds)
    ratios = {
        f"{OURS} / {name}": rates[OURS]["median"] / rate["median"] for name, rate in rates.items() if OURS in rates and name != OURS
    }
    nothing = rates.get("MaskablePPO on nothing")
    for name in ("MaskablePPO against random", "MaskablePPO against a frozen 64x64 network"):
        if nothing and name in rates:
            ratios[f"{name} / on nothing"] = rates[name]["median"] / nothing["median"]
    if options.json:
        print(json.dumps({"about": provenance(), "rates": rates, "ratios": ratios}))
        return
    print("| what | rate (median of rounds) | least to most |\n| --- | --- | --- |")
    for name, rate in rates.items():
        print(f"| {name} | {rate['median']:,.0f} {rate['unit']} | {rate['least']:,.0f} to {rate['most']:,.0f} |")
    for name, ratio in ratios.items():
        print(f"| {name} | {ratio:,.2f} | |")
    print("\n" + ", ".join(f"{key} {value}" for key, value in provenance().items()))


if __name__ == "__main__":
    main()
