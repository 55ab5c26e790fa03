"""How fast other environments are, as their users drive them: what `python -m eval.speed.bench --peers` measures beside us.

`pip install -r eval/speed/requirements-peers.txt` brings them. Every measurement is of one core, plays at random and (where there
is such a thing) legally, begins anew when a game is over, and counts agent-steps: each choice of each agent that acts, whoever
makes it. Choosing at random is part of the work; where a library has its own way to do that, it is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from getbit_env.get_bit.variants import parse_variant

from .workloads import Block, RecurringGames, vector_steps

PACKAGES = ("open_spiel", "rlcard", "envpool", "pufferlib-core", "pgx", "jax", "jaxlib")


def peer_versions() -> dict[str, str]:
    """Versions of the peers that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


# --- us ----------------------------------------------------------------------------------------------------------------------


def our_engine(games: int = 4096, rounds: int = 50) -> Block:
    """The batch engine of Get Bit!, four players, cards drawn by the rules' own kernel; a step is a card of a robot in the line."""
    batch = RecurringGames(parse_variant("4p"), games)

    def play(count: bool = False) -> int:
        batch.begin()
        steps = 0
        for _ in range(rounds):
            batch.draw()
            steps += int(np.count_nonzero(batch.cards)) if count else 0
            batch.play(batch.cards)
        return steps

    steps = play(count=True)  # every block plays the same games

    def block() -> int:
        play()
        return steps

    return block


def our_vec_env(games: int = 1024) -> Block:
    """The Stable-Baselines3 VecEnv, 1,024 games against three random opponents, whose steps don't count."""
    from getbit_env.sb3 import GetBitVecEnv

    env = GetBitVecEnv(games, "random", seed=0)
    env.reset()
    rng = np.random.default_rng(0)

    def block() -> int:
        for _ in range(20):
            masks = env.action_masks()
            env.step((rng.random(masks.shape, np.float32) * masks).argmax(1))
        return 20 * games

    return block


def our_parallel_env() -> Block:
    """The PettingZoo environment, four players, driven like any other."""
    import getbit_env

    return _parallel(getbit_env.parallel_env(), masked=True)


# --- PettingZoo --------------------------------------------------------------------------------------------------------------


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


def pettingzoo_parallel(name: str) -> Block:
    """A parallel environment of PettingZoo without masks; a step is an action of an agent."""
    import pettingzoo

    return _parallel(pettingzoo.make("parallel", name), masked=False)


def pettingzoo_aec(name: str) -> Block:
    """A turn-based environment of PettingZoo; the empty steps of agents that are out don't count."""
    import pettingzoo

    env = pettingzoo.make("aec", name)

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


# --- RLCard ------------------------------------------------------------------------------------------------------------------


def rlcard_game(name: str) -> Block:
    """A game of RLCard with its own loop and its own random agents; a step is a state in which an agent chose."""
    import rlcard
    from rlcard.agents import RandomAgent

    env = rlcard.make(name)
    env.set_agents([RandomAgent(num_actions=env.num_actions) for _ in range(env.num_players)])

    def block() -> int:
        steps = 0
        while steps < 500:
            trajectories, _ = env.run(is_training=False)
            steps += sum(len(trajectory) // 2 for trajectory in trajectories)  # state, action, ..., state
        return steps

    return block


# --- OpenSpiel ---------------------------------------------------------------------------------------------------------------
# Goofspiel is its game most like ours: all choose a card at once, ties take nothing. Four players, five cards; a step is a card
# of a player (the last card is played for them and isn't counted).

GOOFSPIEL = {"players": 4, "num_cards": 5, "points_order": "descending"}
GOOFSPIEL_STEPS = 4 * 4  # of a game


def openspiel_from_python(*, observe: bool) -> Block:
    """Goofspiel driven from Python.

    Args:
        observe: all players' observation tensors and masks are written into arrays, as a learner needs them and as all of ours do.
    """
    import pyspiel
    from open_spiel.python.observation import make_observation

    game = pyspiel.load_game("goofspiel", GOOFSPIEL)
    observation = make_observation(game)
    seen = np.zeros((4, len(observation.tensor)), np.float32)
    masks = np.zeros((4, game.num_distinct_actions()), np.int8)

    def look(state: Any) -> None:
        for player in range(4):
            observation.set_from(state, player)
            seen[player] = observation.tensor
            masks[player] = state.legal_actions_mask(player)

    def block() -> int:
        steps = 0
        while steps < 5000:
            state = game.new_initial_state()
            while not state.is_terminal():
                if observe:
                    look(state)
                state.apply_actions([random.choice(state.legal_actions(player)) for player in range(4)])
                steps += 4
        return steps

    return block


def openspiel_rollouts(rollouts: int = 2000) -> Block:
    """Goofspiel in OpenSpiel's own C++ roll-outs, which Python reaches through its search bot.

    The bot makes two simulations, each of which plays so many random games to the end: from the start, and from after the first
    player's choice. What it does besides is nothing by comparison.
    """
    import pyspiel

    game = pyspiel.load_game_as_turn_based("goofspiel", GOOFSPIEL)
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(rollouts, 7), 1.0, 2, 100, False, 7, False)
    state = game.new_initial_state()

    def block() -> int:
        bot.step(state)
        return rollouts * (GOOFSPIEL_STEPS + GOOFSPIEL_STEPS - 1)

    return block


# --- EnvPool -----------------------------------------------------------------------------------------------------------------


def envpool_env(name: str, games: int = 1024) -> Block:
    """An environment of EnvPool, 1,024 games: it has no game like ours, these are among the cheapest that it has."""
    import envpool

    env = envpool.make(name, env_type="gymnasium", num_envs=games, num_threads=1)
    env.reset()
    rng = np.random.default_rng(0)

    def block() -> int:
        for _ in range(50):
            env.step(rng.integers(0, env.action_space.n, games))
        return 50 * games

    return block


# --- PufferLib ---------------------------------------------------------------------------------------------------------------


def pufferlib_emulation(games: int = 64) -> Block:
    """Our `parallel_env` in PufferLib's emulation and vectorisation, 64 games in one process; a step is a row of a living agent.

    Its row stands for what a learner gets from PufferLib out of any PettingZoo environment: padded rows in one buffer.
    """
    import pufferlib.emulation
    import pufferlib.pufferlib as parts  # the package of the core alone has its parts one level deeper
    import pufferlib.vector

    import getbit_env

    if not hasattr(pufferlib, "unroll_nested_dict"):  # its own vectorisation looks for it here
        pufferlib.unroll_nested_dict = parts.unroll_nested_dict

    def make(**given: Any) -> Any:  # without its statistics of episodes, which take another third of the time
        return pufferlib.emulation.PettingZooPufferEnv(getbit_env.parallel_env(), **given)

    env = pufferlib.vector.make(make, backend=pufferlib.vector.Serial, num_envs=games)
    env.reset()
    seen = env.observations.view(env.driver_env.obs_dtype)
    rng = np.random.default_rng(0)

    def block() -> int:
        steps = 0
        for _ in range(20):
            steps += int(np.count_nonzero(env.masks & ~env.terminals & ~env.truncations))
            masks = seen["action_mask"].reshape(env.num_envs, -1)
            env.step((rng.random(masks.shape, np.float32) * masks).argmax(1))
        return steps

    return block


# --- Pgx ---------------------------------------------------------------------------------------------------------------------


def pgx_game(name: str, games: int = 8192, rounds: int = 20) -> Block:
    """A game of Pgx on JAX on the CPU (on the one core), batch 8,192, twenty steps in one compiled call."""
    import jax
    import pgx
    from jax import numpy as jnp
    from pgx.experimental import auto_reset

    env = pgx.make(name)
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


BATCH, ALL_SEATS, SCALAR = "getbit-env, batch engine", "getbit-env, VectorEnv of all seats", "getbit-env, parallel_env"
OURS = (BATCH, ALL_SEATS, SCALAR)  # with which peers are compared
ROWS = ("EnvPool", "PufferLib", "Pgx")  # what names of peers that give observations of many games in a call begin with
PEERS: dict[str, Callable[[], Block]] = {
    BATCH: our_engine,
    ALL_SEATS: lambda: vector_steps("getbit/GetBitAllSeats-v0", 4 * 2048),
    "getbit-env, VectorEnv of one seat": lambda: vector_steps("getbit/GetBit-v0", 2048, opponents="random"),
    "getbit-env, VecEnv": our_vec_env,
    SCALAR: our_parallel_env,
    "OpenSpiel goofspiel, C++ roll-outs": openspiel_rollouts,
    "OpenSpiel goofspiel, observations and masks": lambda: openspiel_from_python(observe=True),
    "OpenSpiel goofspiel, no observations": lambda: openspiel_from_python(observe=False),
    "PufferLib's emulation of our parallel_env": pufferlib_emulation,
    "EnvPool CartPole": lambda: envpool_env("CartPole-v1"),
    "EnvPool FrozenLake": lambda: envpool_env("FrozenLake-v1"),
    "Pgx Kuhn poker": lambda: pgx_game("kuhn_poker"),
    "Pgx Leduc hold'em": lambda: pgx_game("leduc_holdem"),
    "Pgx tic-tac-toe": lambda: pgx_game("tic_tac_toe"),
    "Pgx connect four": lambda: pgx_game("connect_four"),
    "PettingZoo rock paper scissors": lambda: pettingzoo_parallel("classic/rps_v2"),
    "PettingZoo Leduc hold'em": lambda: pettingzoo_aec("classic/leduc_holdem_v4"),
    "PettingZoo connect four": lambda: pettingzoo_aec("classic/connect_four_v3"),
    "RLCard Leduc hold'em": lambda: rlcard_game("leduc-holdem"),
    "RLCard limit hold'em": lambda: rlcard_game("limit-holdem"),
    "RLCard Uno": lambda: rlcard_game("uno"),
}


def our_like(peer: str) -> str | None:
    """Which of ours is driven as a peer is, and gives as much; None if a peer is driven from Python and gives no observations."""
    if "roll-outs" in peer:
        return BATCH
    if peer.startswith(ROWS):
        return ALL_SEATS
    return None if "no observations" in peer else SCALAR
