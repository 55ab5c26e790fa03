"""How an agent plays: games against bots, and what it does in them, by seat, starting place and situation.

The agent has one seat, a bot plays all others; each of the game's `default_opponents` has a table. Everything is counted over all
of these tables together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.agent import Agent
from getbit_env.core.habits import Habit, Habits
from getbit_env.core.spec import Variant
from getbit_env.game_registry import find_variant, game_of
from getbit_env.match.runner import LEAST_STARTS, play_games
from getbit_env.match.statistics import Estimate, estimate
from getbit_env.replays import Replay

THE_AGENT = "the agent"


@dataclass(frozen=True)
class Share:
    """How often the agent wins under some condition.

    Attributes:
        name: of the condition.
        games: that were played under it.
        win: with its interval.
    """

    name: str
    games: int
    win: Estimate


@dataclass(frozen=True)
class Profile:
    """How an agent plays.

    Attributes:
        agent: its name.
        variant: name of the variant.
        opponents: the bots of the tables.
        starts: of each table, each played in all rotations.
        games: played.
        win: of the agent.
        seats: wins by how many seats the players were moved on.
        places: wins by where the agent begins, such as its place in the starting line.
        habits: what it does where.
        statistics: what the game counts, means of a game.
        samples: games to look at, the agent's losses first.
    """

    agent: str
    variant: str
    opponents: tuple[str, ...]
    starts: int
    games: int
    win: Estimate
    seats: tuple[Share, ...]
    places: tuple[Share, ...]
    habits: tuple[Habit, ...]
    statistics: dict[str, float]
    samples: tuple[Replay, ...]


def profile_of(
    name: str,
    agent: Agent,
    variant: Variant | str,
    *,
    starts: int = 24,
    seed: int = 0,
    opponents: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Profile:
    """Play an agent against bots, and see what it does.

    Args:
        name: of the agent, for the report.
        agent: any.
        variant: the game, or its name.
        starts: of each table.
        seed: of starts and agents.
        opponents: bots, a table each; by default the `default_opponents` of the game.
        progress: called with what is done, how many tables of it, and how many there are.

    Raises:
        ValueError: the agent can't play the variant, or there are too few starts.
        ForfeitError: it fails.
    """
    chosen: Variant = find_variant(variant)
    game = game_of(chosen)
    bots = tuple(game.default_opponents if opponents is None else opponents)
    replays: list[Replay] = []
    for number, bot in enumerate(bots):
        if progress is not None:
            progress(f"games of {name} in {chosen}", number, len(bots))
        line_up = [THE_AGENT, *[bot] * (chosen.players - 1)]
        games = play_games(line_up, chosen, agents={THE_AGENT: agent}, starts=max(starts, LEAST_STARTS), seed=seed)
        replays += [_named(replay, name) for replay in games]
    if progress is not None:
        progress(f"games of {name} in {chosen}", len(bots), len(bots))
    won = np.array([replay.end.placement[0] == 1 for replay in replays], np.float64)
    players = chosen.players
    seats = np.array([(replay.number or 0) % players for replay in replays])
    habits, places = watch(replays, chosen, 0)
    statistics = {one.name: float(np.mean([replay.end.statistics[one.name][0] for replay in replays])) for one in game.statistics}
    return Profile(
        name,
        chosen.name,
        bots,
        len(replays) // len(bots) // players,
        len(replays),
        # the rotations of a start belong together: they are the units, as in matches
        _share("all", won.reshape(-1, players).mean(axis=1), len(won)).win,
        tuple(_share(f"+{seat}", won[seats == seat]) for seat in range(players)),
        tuple(_share(place, won[np.array(places) == place]) for place in sorted(set(places), key=_by_numbers)),
        tuple(habits),
        statistics,
        _samples(replays),
    )


def watch(replays: Sequence[Replay], variant: Variant, player: int) -> tuple[list[Habit], list[str]]:
    """What a player does in some games, and where it begins in each.

    Raises:
        ReplayError: a start is none.
        ValueError: a move can't be played.
    """
    game = game_of(variant)
    if not game.habits or not replays:
        return [], ["" for _ in replays]
    counts: Habits = import_module(game.habits).Habits(variant)
    starts = [game.stored_starts.read(variant, replay.start) for replay in replays]
    engine = game.make_engine(variant, len(replays), seed=0)
    engine.start(starts=starts)
    lengths = np.array([len(replay.moves) for replay in replays])
    actions = np.zeros((len(replays), lengths.max(initial=0), variant.players), np.int64)
    for g, replay in enumerate(replays):
        for t, move in enumerate(replay.moves):
            actions[g, t] = [0 if action is None else action for action in move.actions]
    for t in range(actions.shape[1]):
        active: NDArray[np.bool_] = lengths > t
        counts.before(engine, player)
        engine.play(np.ascontiguousarray(actions[:, t]))
        counts.after(engine, active)
    return counts.habits(), counts.start_places(starts, player)


def _share(name: str, won: NDArray[np.float64], games: int | None = None) -> Share:
    if won.size < 2:  # no interval of one value
        return Share(name, won.size, Estimate(float(won.mean()) if won.size else 0.0, 0.0, 1.0))
    return Share(name, won.size if games is None else games, estimate(won, 0, 1))


def _named(replay: Replay, name: str) -> Replay:
    agents = tuple(name if one == THE_AGENT else one for one in replay.agents)
    return Replay(**{**vars(replay), "agents": agents})


def _samples(replays: Sequence[Replay]) -> tuple[Replay, ...]:
    """A game that the agent lost against the strongest bot, where there is one, and one that it won."""
    lost = [replay for replay in replays if replay.end.over and replay.end.placement[0] != 1]
    won = [replay for replay in replays if replay.end.placement[0] == 1]
    tables: dict[str, list[Replay]] = {}
    for replay in lost:
        tables.setdefault(replay.agents[1], []).append(replay)
    worst: list[Replay] = max(tables.values(), key=len, default=[])
    return (*worst[:1], *won[-1:])


def _by_numbers(place: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", place)]
