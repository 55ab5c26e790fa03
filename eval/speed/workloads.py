"""What `eval.speed.bench` times and `eval.speed.guard` counts: pieces of work, each a function that does some and says how much."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

import getbit_env
from getbit_env.core.compiled import kernel
from getbit_env.core.layouts import Show
from getbit_env.core.streams import game_streams, random_bits
from getbit_env.exact import NotSolvedError, StoredResultError, TwoPlayerSolution
from getbit_env.exact.positions import AT_ONCE, expand
from getbit_env.exact.solutions import load_solution
from getbit_env.exact.two_players import new_solver_workspace, solve_positions, solve_two_players
from getbit_env.get_bit.bots.playouts import AT_ONCE as AT_ONCE_PLAYED
from getbit_env.get_bit.bots.playouts import draw_playout_cards, new_lots
from getbit_env.get_bit.bots.search import PLAYOUTS, MonteCarlo
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout, read_position
from getbit_env.get_bit.rules import Games, Outcome, Rules, Scratch, draw_cards, new_games, new_outcome, new_scratch, play_round
from getbit_env.get_bit.variants import Variant, parse_variant, standard_variant
from getbit_env.match import play_match
from getbit_env.network import NetworkAgent

Block = Callable[[], int]


# --- the batch engine --------------------------------------------------------------------------------------------------------


class RecurringGames:
    """A batch of games with an endless supply of uniform legal cards, from streams beside those of the games.

    Attributes:
        engine: the games, all begun.
        cards: `[R, G]` uint8, as last drawn.
    """

    def __init__(self, variant: Variant, games: int, seed: int = 0) -> None:
        self.engine = Engine(variant, games, seed=seed)
        self.cards = np.zeros((variant.robots, games), np.uint8)
        self._scratch = new_scratch(variant.robots)
        self.engine.start()
        self._streams, self._counters = ~self.engine.streams, np.zeros(games, np.uint64)
        self._begun = [array.copy() for array in self._arrays()]

    def _arrays(self) -> list[NDArray[Any]]:
        return [*self.engine.state, self.engine.counters, self._counters]

    def begin(self) -> None:
        """Go back to the beginning of all games, always the same ones."""
        for array, begun in zip(self._arrays(), self._begun, strict=True):
            array[:] = begun

    def draw(self) -> None:
        """Draw a card for every robot in the line."""
        draw_cards(self.engine.state, self._streams, self._counters, self._scratch, self.cards, 0, self.engine.size)

    def play(self, cards: NDArray[np.uint8]) -> None:
        """Play a round; games that are over are followed by the next ones."""
        self.engine.play_cards(cards)
        self.engine.start(self.engine.outcome.over)


def engine_steps(
    variant: str, games: int = 4096, *, draw: bool = False, observe: bool = False, threads: int = 1, rounds: int = 32
) -> Block:
    """Rounds of the batch engine: moves, bites, taking back, end, rewards, auto-reset.

    Args:
        variant: of the games.
        games: in all.
        draw: uniform legal cards are drawn as part of the work, instead of before.
        observe: all seats' observations and masks are written.
        threads: each has an engine of its own with its part of the games; they meet at the end of the block.
        rounds: of every game in a block.
    """
    batches = [RecurringGames(parse_variant(variant), games // threads, seed) for seed in range(threads)]
    given: list[list[NDArray[np.uint8]]] = [[] for _ in batches]
    for batch, cards in zip(batches, given, strict=True):
        for _ in range(0 if draw else rounds):
            batch.draw()
            cards.append(batch.cards.copy())
            batch.play(batch.cards)
    show = np.full(games // threads, Show.CHOOSING, np.uint8)

    def play(batch: RecurringGames, cards: list[NDArray[np.uint8]]) -> None:
        if not draw:
            batch.begin()
        for i in range(rounds):
            if draw:
                batch.draw()
            batch.play(batch.cards if draw else cards[i])
            if observe:
                batch.engine.observe(show)

    pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def block() -> int:
        for _ in pool.map(play, batches, given) if pool else map(play, batches, given):
            pass
        return rounds * games

    return block


# --- the PettingZoo environment ----------------------------------------------------------------------------------------------


def parallel_loop(players: int = 4, *, sample: bool = False, rounds: int = 1000) -> Block:
    """Rounds of the loop that everybody writes, an action an agent picked from its mask."""
    env = getbit_env.parallel_env(players)

    def block() -> int:
        seen, _ = env.reset(seed=0)
        for _ in range(rounds):
            if sample:
                picked: dict[str, Any] = {a: env.action_space(a).sample(seen[a]["action_mask"]) for a in env.agents}
            else:
                picked = {a: int(seen[a]["action_mask"].argmax()) for a in env.agents}
            seen, *_ = env.step(picked)
            if not env.agents:
                seen, _ = env.reset()
        return rounds

    return block


def parallel_part(players: int = 4, *, engine: bool = False, rounds: int = 1000) -> Block:
    """The rounds of `parallel_loop` with the same actions, chosen beforehand: `step` and `reset`, or the engine within alone."""
    env = getbit_env.parallel_env(players)
    seen, _ = env.reset(seed=0)
    picked: list[dict[str, int]] = []
    for _ in range(rounds):
        picked.append({a: int(seen[a]["action_mask"].argmax()) for a in env.agents})
        seen, *_ = env.step(picked[-1])
        if not env.agents:
            seen, _ = env.reset()
    single = Engine(env.variant, 1)
    actions = np.zeros((rounds, 1, players), np.int64)
    for row, of_agents in zip(actions[:, 0], picked, strict=True):
        for agent, action in of_agents.items():
            row[env.possible_agents.index(agent)] = action

    def steps() -> int:
        env.reset(seed=0)
        for of_agents in picked:
            env.step(of_agents)
            if not env.agents:
                env.reset()
        return rounds

    def engine_steps() -> int:
        single.seed(0)
        single.start()
        single.observe()
        for row in actions:
            single.play_and_observe_one(row)
            if single.outcome.over[0]:
                single.start()
                single.observe()
        return rounds

    return engine_steps if engine else steps


# --- vector environments -----------------------------------------------------------------------------------------------------


def vector_steps(make_id: str, num_envs: int, *, opponents: str | None = None, rounds: int = 20) -> Block:
    """Agent-steps of a vector environment, legal actions drawn at random by itself, arrays reused.

    Args:
        make_id: for `gymnasium.make_vec`.
        num_envs: rows.
        opponents: of the one seat that learns, whose steps alone count; None where all seats learn: dead ones don't count.
        rounds: steps in a block.
    """
    given: dict[str, Any] = {} if opponents is None else {"opponents": opponents, "autoreset_mode": "SameStep"}
    env: Any = gymnasium.make_vec(f"getbit_env:{make_id}", num_envs=num_envs, copy=False, **given)
    _, infos = env.reset(seed=0)
    acts: list[Any] = [infos.get("acts", np.ones(num_envs, np.bool_))]

    def block() -> int:
        steps = 0
        for _ in range(rounds):
            steps += int(np.count_nonzero(acts[0]))
            *_, infos = env.step(env.sample_actions())
            acts[0] = infos.get("acts", acts[0])
        return steps

    return block


# --- Sharks are Wild ---------------------------------------------------------------------------------------------------------


def sharks_decisions(variant: str, games: int = 4096) -> Block:
    """Decisions of legal play at random: what is legal, a choice, the rules, reshuffles, rewards, auto-reset."""
    from getbit_env.sharks_are_wild import parse_variant
    from getbit_env.sharks_are_wild.bots.scripted import choose_any
    from getbit_env.sharks_are_wild.engine import Engine
    from getbit_env.sharks_are_wild.rules import play, start_games
    from getbit_env.sharks_are_wild.variants import Reward

    engine = Engine(parse_variant(variant), games, seed=0)
    engine.start()
    keys, counters, everyone = ~engine.streams, np.zeros(games, np.uint64), np.ones(games, np.uint8)
    rules, state, actions, streams, drawn = engine.rules, engine.state, engine.actions, engine.streams, engine.counters
    pays = engine.variant.reward_of_finish(Reward.WIN).astype(np.float32)

    def block() -> int:
        for _ in range(32):
            choose_any(rules, state, keys, counters, actions)
            play(rules, state, actions, everyone, streams, drawn, pays, engine.outcome, 0, games)
            start_games(rules, state, engine.outcome.over, streams, drawn, 0, games)
        return 32 * games

    return block


def sharks_loop(players: int, level: int, *, steps: int = 1000) -> Block:
    """Steps of the loop that everybody writes, an action picked from the mask."""
    from getbit_env.sharks_are_wild import raw_env

    env = raw_env(players, level)

    def block() -> int:
        env.reset(seed=0)
        for _ in range(steps):
            seen, _, terminated, truncated, _ = env.last()
            env.step(None if terminated or truncated else int(seen["action_mask"].argmax()))
            if not env.agents:
                env.reset()
        return steps

    return block


# --- search and solving ------------------------------------------------------------------------------------------------------
# Beside each, the rounds that it plays are recorded and played again by the rules kernel alone: the rest of its time is
# spent outside the rules.


class Recorded(NamedTuple):
    """Rounds that were played, segment by segment. In a segment the games that last longest come first."""

    games: Games  # [R, G] before the first round
    cards: NDArray[np.uint8]  # [T, R, G]
    first: NDArray[np.int64]  # [S + 1] the first game of each segment
    playing: NDArray[np.int64]  # [S, T] games of each that each round is played of


@kernel
def _play_recorded(
    rules: Rules, games: Games, recorded: Recorded, pays: NDArray[np.float32], scratch: Scratch, out: Outcome
) -> None:
    for s in range(recorded.playing.shape[0]):
        first = recorded.first[s]
        for t in range(recorded.playing.shape[1]):
            play_round(rules, games, recorded.cards[t], pays, np.float32(0), scratch, out, first, first + recorded.playing[s, t])


def rules_alone(variant: Variant, recorded: Recorded, count: int) -> tuple[Block, Games]:
    """The recorded rounds, played by the rules kernel alone; and the games, as the block leaves them."""
    robots, players, games = variant.robots, variant.players, int(recorded.first[-1])
    state, outcome, scratch = new_games(robots, games), new_outcome(robots, players, games), new_scratch(robots)
    pays = np.zeros(players + 1, np.float32)

    def block() -> int:
        for array, begin in zip(state, recorded.games, strict=True):
            array[:] = begin
        _play_recorded(variant.rules, state, recorded, pays, scratch, outcome)
        return count

    return block, state


def midgame(variant: Variant, games: int, rounds: int = 40) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """What the players who have a choice see, `[B, D]`, and may do, `[B, A]`, somewhere in random games that follow each other."""
    batch = RecurringGames(variant, games)
    for _ in range(rounds):
        batch.draw()
        batch.play(batch.cards)
    batch.engine.observe(np.full(games, Show.CHOOSING, np.uint8))
    seen = batch.engine.observation.reshape(-1, batch.engine.layout.size)
    choosing = seen.any(axis=1)
    return seen[choosing].astype(np.float32), batch.engine.action_mask.reshape(len(seen), -1)[choosing]


def record_playouts(
    variant: Variant, seen: NDArray[np.float32], mask: NDArray[np.int8], streams: NDArray[np.uint64], playouts: int
) -> Recorded:
    """The rounds that `MonteCarlo` plays for its first decision in each row, up to that which decides the viewer's fate."""
    view, robots, each = Layout(variant).view, variant.robots, variant.robots_per_player
    first = np.concatenate([[0], np.cumsum(playouts * mask.sum(axis=1, dtype=np.int64))])
    games, total = new_games(robots, first[-1]), int(first[-1])
    seeds = np.zeros(total, np.uint32)
    place, limbs, hand = (np.zeros(robots, np.uint8) for _ in range(3))
    for b, (start, stop) in enumerate(pairwise(first)):
        read_position(view, seen, b, place, limbs, hand)
        for array, one in zip(games, (place, limbs, hand), strict=False):
            array[:, start:stop] = one[:, None]
        games.rounds[start:stop] = seen[b, view.first_round] == 0
        numbers: Any = np.arange(stop - start, dtype=np.uint64)
        bits: Any = random_bits(np.uint64(random_bits(streams[b], np.uint64(1))), numbers)
        seeds[start:stop] = bits >> np.uint64(32)
    begin = Games(*(array.copy() for array in games))
    outcome, scratch, lots = new_outcome(robots, variant.players, total), new_scratch(robots), new_lots()
    pays, lasts = np.zeros(variant.players + 1, np.float32), np.zeros(total, np.int64)
    laid: list[NDArray[np.uint8]] = []
    undecided = np.ones(total, np.bool_)
    while undecided.any():
        cards = np.zeros((robots, total), np.uint8)
        draw_playout_cards(games, seeds, len(laid), lots, cards, total)
        if not laid:
            actions = np.concatenate([np.repeat(np.flatnonzero(row), playouts) for row in mask])
            for k in range(each):
                cards[k] = 1 << (actions // variant.cards ** (each - 1 - k) % variant.cards)
        laid.append(cards)
        lasts += undecided
        play_round(variant.rules, games, cards, pays, np.float32(0), scratch, outcome, 0, total)
        undecided &= (games.limbs[:each] > 0).all(axis=0) & ((games.limbs > 0).sum(axis=0) > variant.last_line)
    # Rows are played side by side, as many as there is room for.
    room, batches = max(AT_ONCE_PLAYED, playouts * variant.actions), [0]
    for start, stop in pairwise(first):
        if stop - batches[-1] > room:
            batches.append(int(start))
    ends = np.array([*batches, total])
    order = np.lexsort((-lasts, np.searchsorted(ends, np.arange(total), side="right")))
    turns = np.arange(len(laid))
    playing = np.array([(lasts[start:stop, None] > turns).sum(axis=0) for start, stop in pairwise(ends)])
    ordered = (np.ascontiguousarray(array[..., order]) for array in (*begin, np.array(laid)))  # else the rules read with strides
    *position, cards_played = ordered
    return Recorded(Games(*position), cards_played, ends, playing)


def monte_carlo(players: int, *, alone: bool = False, games: int = 16, playouts: int = PLAYOUTS) -> Block:
    """Playouts of the Monte-Carlo bot, to the end of the game, in the middle of random games; or the rules of them alone."""
    variant = standard_variant(players)
    seen, mask = midgame(variant, games)
    bot = MonteCarlo(playouts)
    bot.reset(Layout(variant), np.ones(len(seen), np.bool_), seed=0)
    count = int(mask.sum()) * playouts
    if alone:
        return rules_alone(variant, record_playouts(variant, seen, mask, game_streams(0, len(seen)), playouts), count)[0]

    def block() -> int:
        bot.act(seen, mask)
        return count

    return block


def solved_two_players(variant: Variant) -> TwoPlayerSolution:
    """The solved game, from the cache folder or else solved here and not kept."""
    try:
        solution = load_solution(variant)
        assert isinstance(solution, TwoPlayerSolution)
        return solution
    except (NotSolvedError, StoredResultError):
        return solve_two_players(variant, threads=os.cpu_count() or 1)


def record_expansion(solution: TwoPlayerSolution, numbers: NDArray[np.int64]) -> Recorded:
    """The one round of every joint choice in some positions."""
    variant, positions = solution.positions.variant, solution.positions.games(numbers)
    joint = []
    for k in range(len(numbers)):
        hands = [[1 << c for c in range(variant.cards) if hand >> c & 1] or [0] for hand in positions.hand[:, k].tolist()]
        joint.append(np.array(list(itertools.product(*hands)), np.uint8).T)
    sizes = [cards.shape[1] for cards in joint]
    games = Games(*(np.ascontiguousarray(np.repeat(array, sizes, axis=-1)) for array in positions))
    first = np.concatenate([[0], np.cumsum(sizes)])
    return Recorded(games, np.ascontiguousarray(np.concatenate(joint, axis=1))[None], first, np.array(sizes)[:, None])


def solver(variant: str = "2p", part: str = "all", chunks: int = 8) -> Block:
    """Positions of a game for two: their joint choices played, what follows numbered, their matrix games solved.

    Args:
        variant: the game.
        part: "all"; "expand", without the matrix games; "rules", the joint choices alone.
        chunks: of `AT_ONCE` positions, from all over the game.
    """
    solution = solved_two_players(parse_variant(variant))
    positions = solution.positions
    begins = np.linspace(0, positions.count - AT_ONCE, chunks).astype(np.int64)
    count = chunks * AT_ONCE
    if part == "rules":
        numbers = (begins[:, None] + np.arange(AT_ONCE)).ravel()
        return rules_alone(positions.variant, record_expansion(solution, numbers), count)[0]
    workspace = new_solver_workspace(positions.index)

    def block() -> int:
        for begin in begins.tolist():
            expand(positions.index, np.arange(begin, begin + AT_ONCE), workspace.expansion)
            if part == "all":
                solve_positions(solution.values, begin, begin + AT_ONCE, workspace)
        return count

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
    variant = parse_variant("4p")
    sizes = [Layout(variant).size, 64, 64, variant.actions]
    layers = [(rng.normal(size=(b, a)).astype(np.float32) / a**0.5, np.zeros(b, np.float32)) for a, b in pairwise(sizes)]
    return NetworkAgent(layers, variant)


def matches(*line_up: str, starts: int = 5040) -> Block:
    """Games of a match."""

    def block() -> int:
        return play_match(line_up, "4p", starts=starts).games

    return block


# --- all of it ---------------------------------------------------------------------------------------------------------------

WORKLOADS: dict[str, tuple[str, Callable[[], Block]]] = {
    "engine, 4 players": ("rounds/s", lambda: engine_steps("4p")),
    "engine, 6 players": ("rounds/s", lambda: engine_steps("6p")),
    "engine, 4 players, cards drawn": ("rounds/s", lambda: engine_steps("4p", draw=True)),
    "engine, 6 players, cards drawn": ("rounds/s", lambda: engine_steps("6p", draw=True)),
    "engine, 4 players, observations and masks": ("rounds/s", lambda: engine_steps("4p", observe=True)),
    "engine, 4 players, cards drawn, observations and masks": ("rounds/s", lambda: engine_steps("4p", draw=True, observe=True)),
    "engine, 4 players, 65,536 games": ("rounds/s", lambda: engine_steps("4p", 65_536)),
    "engine, 4 players, 65,536 games, 2 threads": ("rounds/s", lambda: engine_steps("4p", 65_536, threads=2)),
    "engine, 4 players, cards drawn, 65,536 games": ("rounds/s", lambda: engine_steps("4p", 65_536, draw=True)),
    "engine, 4 players, cards drawn, 65,536 games, 2 threads": (
        "rounds/s",
        lambda: engine_steps("4p", 65_536, draw=True, threads=2),
    ),
    "parallel_env, 4 players, argmax of the mask": ("rounds/s", parallel_loop),
    "parallel_env, 4 players, actions at hand": ("rounds/s", parallel_part),
    "parallel_env, 4 players, its engine alone": ("rounds/s", lambda: parallel_part(engine=True)),
    "parallel_env, 4 players, action_space.sample(mask)": ("rounds/s", lambda: parallel_loop(sample=True)),
    "VectorEnv of one seat, 4 players, random opponents": (
        "agent-steps/s",
        lambda: vector_steps("getbit/GetBit-v0", 2048, opponents="random"),
    ),
    "VectorEnv of all seats, 4 players": ("agent-steps/s", lambda: vector_steps("getbit/GetBitAllSeats-v0", 4 * 2048)),
    "MonteCarlo, 4 players": ("playouts/s", lambda: monte_carlo(4)),
    "MonteCarlo, 4 players, its rules alone": ("playouts/s", lambda: monte_carlo(4, alone=True)),
    "MonteCarlo, 2 players": ("playouts/s", lambda: monte_carlo(2, games=4)),
    "MonteCarlo, 2 players, its rules alone": ("playouts/s", lambda: monte_carlo(2, games=4, alone=True)),
    "solver, 2 players": ("positions/s", solver),
    "solver, 2 players, without the matrix games": ("positions/s", lambda: solver(part="expand")),
    "solver, 2 players, its rules alone": ("positions/s", lambda: solver(part="rules")),
    "match of random, highest, lowest, counter": ("games/s", lambda: matches("random", "highest", "lowest", "counter")),
    "Sharks are Wild, 2 players, level 1": ("decisions/s", lambda: sharks_decisions("sharks-2p-level1")),
    "Sharks are Wild, 4 players, level 2": ("decisions/s", lambda: sharks_decisions("sharks-4p-level2")),
    "Sharks are Wild, raw_env, 4 players, level 2, argmax of the mask": ("steps/s", lambda: sharks_loop(4, 2)),
    "MaskablePPO on nothing": ("steps/s", lambda: training(None)),
    "MaskablePPO against random": ("steps/s", lambda: training("random")),
    "MaskablePPO against a frozen 64x64 network": ("steps/s", lambda: training(frozen_network())),
}
RATIOS: dict[str, tuple[str, str]] = {
    "engine, 4 players: 2 threads / 1 thread": (
        "engine, 4 players, 65,536 games, 2 threads",
        "engine, 4 players, 65,536 games",
    ),
    "engine, 4 players, cards drawn: 2 threads / 1 thread": (
        "engine, 4 players, cards drawn, 65,536 games, 2 threads",
        "engine, 4 players, cards drawn, 65,536 games",
    ),
    "parallel_env, 4 players: part of the loop in step and reset": (
        "parallel_env, 4 players, argmax of the mask",
        "parallel_env, 4 players, actions at hand",
    ),
    "parallel_env, 4 players: part of the loop in the engine": (
        "parallel_env, 4 players, argmax of the mask",
        "parallel_env, 4 players, its engine alone",
    ),
    "MonteCarlo, 4 players: part of its time in the rules kernel": (
        "MonteCarlo, 4 players",
        "MonteCarlo, 4 players, its rules alone",
    ),
    "MonteCarlo, 2 players: part of its time in the rules kernel": (
        "MonteCarlo, 2 players",
        "MonteCarlo, 2 players, its rules alone",
    ),
    "solver, 2 players: part of its time in the rules kernel": ("solver, 2 players", "solver, 2 players, its rules alone"),
    "solver, 2 players: part of its time outside the matrix games": (
        "solver, 2 players",
        "solver, 2 players, without the matrix games",
    ),
    "MaskablePPO against random / on nothing": ("MaskablePPO against random", "MaskablePPO on nothing"),
    "MaskablePPO against a frozen 64x64 network / on nothing": (
        "MaskablePPO against a frozen 64x64 network",
        "MaskablePPO on nothing",
    ),
}
