"""Compile everything now, so that nothing waits for it later, and show where it is kept.

Compiled code is kept beside the package, or in the folder that the environment variable NUMBA_CACHE_DIR names. An upgrade, or an
edit of a file that holds compiled code, makes it anew. For an image of a container: run this while it is built.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from getbit_env.agent_registry import check_agents, load_agent, shipped_agents
from getbit_env.command_line import command_parser, interruptible
from getbit_env.commands import load
from getbit_env.core.compiled import cache_files, compiled_functions
from getbit_env.core.first_use import QUIET
from getbit_env.core.spec import Dynamics, GameSpec
from getbit_env.game_registry import find_game, find_variant, game_ids
from getbit_env.match import play_match
from getbit_env.network import NetworkAgent

EXAMPLES = {"": "compile what is not compiled yet: some minutes the first time"}


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    return command_parser(prog, __doc__, EXAMPLES)


def main(arguments: Sequence[str], prog: str) -> int:
    """Run the command; returns its exit code."""
    make_parser(prog).parse_args(arguments)
    os.environ[QUIET] = "1"  # it says so itself
    begun = time.perf_counter()
    try:
        with interruptible():
            for what, job in jobs():
                print(f"{what} ...", flush=True)
                job()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: what is compiled is kept, and the same command goes on from there\n")
        return 130
    print(f"ready after {time.perf_counter() - begun:.0f} s\n{where_it_is_kept()}")
    return 0


def jobs() -> list[tuple[str, Callable[[], object]]]:
    """What is to be done once for everything to be compiled, in parts."""
    found: list[tuple[str, Callable[[], object]]] = []
    for game in map(find_game, game_ids()):
        found += [
            (f"{game}: rules, observations, environment", partial(play_environments, game)),
            (f"{game}: matches and bots", partial(play_matches, game)),
            (f"{game}: single-agent batches", partial(play_batches, game)),
        ]
    found.append(("exact solutions and best responses", solve_tiny_games))
    found.append(("tree search", search_trees))
    if all(importlib.util.find_spec(package) for package in ("torch", "stable_baselines3", "sb3_contrib", "tensorboard")):
        found.append(("training", train_a_little))
    return found


def where_it_is_kept() -> str:
    """Where compiled functions are kept, and how large they are."""
    files = cache_files(compiled_functions())
    if not files:
        return "nothing is kept: no folder can be written; NUMBA_CACHE_DIR can name one"
    size = f"{len(files)} files, {sum(files.values()) / 1e6:.1f} MB, in"
    folders = sorted({path.parent for path in files})
    return f"{size} {os.path.commonpath(folders)}" + f", folders {folders[0].name}" * (len({f.name for f in folders}) == 1)


def play_environments(game: GameSpec) -> None:
    """A game of each environment of a game, with every option of the observation, and batches of games."""
    for variant in some_variants(game):
        for option in (None, *vars(game.options()).keys() - {*game.secret_options}):
            env = game.make_env(variant=variant, **({} if option is None else {option: True}))
            (play_rounds if game.dynamics == Dynamics.SIMULTANEOUS else play_turns)(env)
            env.state()
        engine = game.make_engine(variant, 3, seed=0)
        engine.start()
        engine.observe()


def play_rounds(env: Any) -> None:
    """A game of a parallel environment."""
    observations, _ = env.reset(seed=0)
    while env.agents:
        observations, *_ = env.step({agent: int(observations[agent]["action_mask"].argmax()) for agent in env.agents})


def play_turns(env: Any) -> None:
    """A game of an AEC environment."""
    env.reset(seed=0)
    for _ in env.agent_iter():
        observation, _, over, cut, _ = env.last()
        env.step(None if over or cut else int(observation["action_mask"].argmax()))


def some_variants(game: GameSpec) -> list[Any]:
    """Variants whose kernels are those of all variants."""
    names = {"": ("4p", "2p-memory", "3p")}.get(game.prefix, (game.default_variant,))
    return [find_variant(name) for name in names]


def play_matches(game: GameSpec) -> None:
    """Every bot and every trained agent at a table with the first bot."""
    first = next(iter(game.bots))
    for variant in some_variants(game):
        for name in (*game.bots, *shipped_agents()):
            try:
                check_agents({name: load_agent(name)}, variant)
            except ValueError:
                continue
            play_match([name, *[first] * (variant.players - 1)], variant, starts=4, seed=0)


def play_batches(game: GameSpec) -> None:
    """A batch of games with one learner, and one in which every seat learns."""
    from getbit_env.single_agent import SingleAgentBatch
    from getbit_env.vector_envs import AllSeatsVectorEnv

    variant = some_variants(game)[0]
    batch = SingleAgentBatch(variant, 2, next(iter(game.bots)), seed=0)
    batch.reset()
    batch.step(batch.action_mask.argmax(axis=1))
    env = AllSeatsVectorEnv(game.id, 2 * variant.players, variant=variant)
    env.reset(seed=0)
    env.step(env.sample_actions())


def solve_tiny_games() -> None:
    """Everything of `exact` in games with a handful of positions."""
    from getbit_env.exact import Equilibrium, GameGraph, Positions, exploitability, exploiting_line
    from getbit_env.exact.agents import BestResponse
    from getbit_env.exact.many_players import solve_many_players
    from getbit_env.exact.sharded import judge_in_shards
    from getbit_env.exact.two_players import solve_two_players

    for solution in (
        solve_two_players(find_variant("2p-3c-1l")),
        solve_many_players(find_variant("3p-1r-4c-1l")),
    ):
        positions = solution.positions
        variant = positions.variant
        agent = load_agent("counter")
        result = exploitability(agent, Positions(variant), name="counter")
        exploiting_line(result, agent)
        response = BestResponse(positions, result.answer, "counter")
        play_match([response, *["random"] * (variant.players - 1)], variant, starts=4, seed=0)
        play_match([Equilibrium(solution), *["random"] * (variant.players - 1)], variant, starts=4, seed=0)
        graph = GameGraph(positions)
        graph.respond(graph.uniform_policy())
        with tempfile.TemporaryDirectory() as folder:
            judge_in_shards(agent, variant, Path(folder), name="counter")


def search_trees() -> None:
    """Trees with all that can help them, in games with a handful of positions."""
    from getbit_env.exact.endgames import solve_endgames
    from getbit_env.tree_search import TreeSearch

    for name in ("2p-3c-1l", "3p-1r-4c-1l"):
        variant = find_variant(name)
        solve_endgames(variant, 2)  # the agent reads those that the cache folder keeps, and would not compile what solves them
        size = find_game(variant.game).make_layout(variant).size
        policy, values = ([(np.zeros((n, size), np.float32), np.zeros(n, np.float32))] for n in (variant.actions, 1))
        prior = NetworkAgent(policy, variant, value_layers=values)
        for agent in (TreeSearch(16, endgames=2), TreeSearch(16, prior=prior, leaves="values")):
            play_match([agent, *["random"] * (variant.players - 1)], variant, starts=4, seed=0)


def train_a_little() -> None:
    """A rollout and an update of the recipe that has kernels of its own."""
    ppo = load("train.ppo")
    config = ppo.Config(variant="3p-1r-4c-1l", n_envs=2, n_steps=4, batch_size=2, threads=1)
    collectors = ppo.Collectors(config)
    collectors.begin(np.random.SeedSequence(0))
    learner = ppo.Learner(config, collectors.layout)
    samples, advantage = collectors.collect(learner.model, map)
    learner.update(samples, advantage, 0, map)
