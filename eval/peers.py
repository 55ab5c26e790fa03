"""How fast other environments are, as their users drive them: what `python -m eval.bench --peers` measures beside us.

`pip install -r eval/requirements-peers.txt` brings them. Every measurement plays at random and legally, begins anew when a game is
over, and counts agent-steps: each choice of each agent that acts.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from getbit_env.get_bit.engine import Engine, game_streams
from getbit_env.get_bit.rules import draw_cards
from getbit_env.get_bit.variants import parse_variant

Block = Callable[[], int]


# --- us ----------------------------------------------------------------------------------------------------------------------


def our_engine(games: int = 4096, rounds: int = 50) -> Block:
    """The batch engine of Get Bit!, four players, random legal cards drawn by the rules' own kernel."""
    engine = Engine(parse_variant("4p"), games, seed=0)
    engine.start()
    streams, counters = game_streams(1, games), np.zeros(games, np.uint64)
    cards = np.zeros_like(engine.state.hand)

    def block() -> int:
        steps = 0
        for _ in range(rounds):
            draw_cards(engine.state, streams, counters, engine._scratch, cards, 0, games)
            steps += int(np.count_nonzero(cards))
            engine.play_cards(cards)
            engine.start(engine.outcome.over)
        return steps

    return block


def our_vec_env(games: int = 1024) -> Block:
    """The Stable-Baselines3 VecEnv, three random opponents: only the learner's steps count."""
    from getbit_env.sb3 import GetBitVecEnv

    env = GetBitVecEnv(games, "random", seed=0)
    env.reset()

    def block() -> int:
        for _ in range(20):
            env.step(env.action_masks().argmax(1))
        return 20 * games

    return block


def our_parallel_env() -> Block:
    """The PettingZoo environment, driven like any other."""
    import getbit_env

    return _parallel(getbit_env.parallel_env(), masked=True)


# --- peers -------------------------------------------------------------------------------------------------------------------


def _parallel(env: Any, *, masked: bool) -> Block:
    def block() -> int:
        seen, _ = env.reset(seed=0)
        steps = 0
        for _ in range(500):
            if not env.agents:
                seen, _ = env.reset()
            steps += len(env.agents)
            if masked:
                picked = {agent: random.choice(np.flatnonzero(seen[agent]["action_mask"]).tolist()) for agent in env.agents}
            else:
                picked = {agent: random.randrange(env.action_space(agent).n) for agent in env.agents}
            seen, *_ = env.step(picked)
        return steps

    return block


def pettingzoo_rps() -> Block:
    """PettingZoo's rock paper scissors, its own simultaneous game."""
    import pettingzoo

    return _parallel(pettingzoo.make("parallel", "classic/rps_v2"), masked=False)


def pettingzoo_leduc() -> Block:
    """PettingZoo's Leduc hold'em (on RLCard)."""
    import pettingzoo

    env = pettingzoo.make("aec", "classic/leduc_holdem_v4")

    def block() -> int:
        steps = 0
        while steps < 500:
            env.reset()
            for _ in env.agent_iter():
                seen, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                else:
                    env.step(random.choice(np.flatnonzero(seen["action_mask"]).tolist()))
                    steps += 1
        return steps

    return block


def rlcard_leduc() -> Block:
    """RLCard's Leduc hold'em with its random agents."""
    import rlcard
    from rlcard.agents import RandomAgent

    env = rlcard.make("leduc-holdem")
    env.set_agents([RandomAgent(num_actions=env.num_actions) for _ in range(env.num_players)])

    def block() -> int:
        steps = 0
        while steps < 500:
            trajectories, _ = env.run(is_training=False)
            steps += sum(len(trajectory) // 2 for trajectory in trajectories)
        return steps

    return block


def openspiel_goofspiel() -> Block:
    """OpenSpiel's goofspiel, four players and five cards, driven from Python: its game most like ours."""
    import pyspiel

    game = pyspiel.load_game("goofspiel", {"players": 4, "num_cards": 5, "points_order": "descending"})

    def block() -> int:
        steps = 0
        while steps < 5000:
            state = game.new_initial_state()
            while not state.is_terminal():
                state.apply_actions([random.choice(state.legal_actions(player)) for player in range(4)])
                steps += 4
        return steps

    return block


def envpool_cartpole() -> Block:
    """EnvPool's cart pole, 1,024 games, one thread: no game of several agents, but the fastest that it has."""
    import envpool

    env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=1024, num_threads=1)
    env.reset()
    actions = np.zeros(1024, np.int64)

    def block() -> int:
        for _ in range(50):
            env.step(actions)
        return 50 * 1024

    return block


def pgx_tic_tac_toe(games: int = 8192, rounds: int = 20) -> Block:
    """Pgx's tic-tac-toe on JAX on the CPU, batch 8,192."""
    import jax
    import pgx
    from jax import numpy as jnp
    from pgx.experimental import auto_reset

    env = pgx.make("tic_tac_toe")
    step = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit  # type: ignore[untyped-decorator]  # JAX may not be installed
    def play(state: Any, key: Any) -> Any:
        def once(state: Any, key: Any) -> tuple[Any, None]:
            choose, begin = jax.random.split(key)
            actions = jax.random.categorical(choose, jnp.where(state.legal_action_mask, 0.0, -1e9), axis=-1)
            return step(state, actions, jax.random.split(begin, games)), None

        return jax.lax.scan(once, state, jax.random.split(key, rounds))[0]

    holder = [jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), games))]
    keys = iter(range(1, 10**9))

    def block() -> int:
        holder[0] = play(holder[0], jax.random.PRNGKey(next(keys)))
        holder[0].rewards.block_until_ready()
        return games * rounds

    return block


PEERS: dict[str, Callable[[], Block]] = {
    "getbit-env: batch engine": our_engine,
    "getbit-env: VecEnv, learner's steps only": our_vec_env,
    "getbit-env: parallel_env": our_parallel_env,
    "PettingZoo rps": pettingzoo_rps,
    "PettingZoo Leduc": pettingzoo_leduc,
    "RLCard Leduc": rlcard_leduc,
    "OpenSpiel goofspiel from Python": openspiel_goofspiel,
    "EnvPool CartPole": envpool_cartpole,
    "Pgx tic-tac-toe, CPU": pgx_tic_tac_toe,
}
