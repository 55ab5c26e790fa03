"""Where an agent of Get Bit! loses what, exactly: its losses to a best response by place and limbs, and a game as proof."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.agent import Agent
from getbit_env.core.habits import ordinal
from getbit_env.core.spec import Variant
from getbit_env.exact import Positions, as_face_up, exploitability, exploiting_line
from getbit_env.exact.best_response import Exploitability, require_markov_policy
from getbit_env.exact.positions import silent
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit import variants as get_bit
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.habits import place_names
from getbit_env.get_bit.notation import parse_game
from getbit_env.get_bit.rules import Games
from getbit_env.viewer import film

JUDGED = ("2p", "4p")  # games small enough to be judged while a report is made
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Leaks:
    """Where an agent loses what against a best response.

    Attributes:
        agent: its name.
        variant: in which it plays.
        judged: the face-up game in which it was judged: of a memory game, the same game with perfect recall.
        gain: of a best response, mean over seats and starting lines; the losses sum to it.
        nash_conv: the gains of all players together.
        rows, columns: what situations are called: places in line, limbs.
        row_name, column_name: what rows and columns stand for.
        loss: `[rows, columns]`, part of the gain that is lost there.
        reach: `[rows, columns]`, decisions there in a game, of one player.
        exploited: a game in which the agent is exploited, as the viewer shows it.
        unit: what values are measured in.
    """

    agent: str
    variant: str
    judged: str
    gain: float
    nash_conv: float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str
    column_name: str
    loss: NDArray[np.float64]
    reach: NDArray[np.float64]
    exploited: dict[str, Any]
    unit: str

    @property
    def most(self) -> tuple[str, str, float]:
        """Row, column and loss of the situation in which most is lost."""
        i, j = (int(k) for k in np.unravel_index(self.loss.argmax(), self.loss.shape))
        return self.rows[i], self.columns[j], float(self.loss[i, j])


def leaks_of(name: str, agent: Agent, variant: Variant | str, threads: int = 1, progress: Progress | None = None) -> Leaks:
    """Judge an agent exactly.

    Raises:
        ValueError: it can't be judged exactly, or the game is too large; the message says why.
    """
    chosen = find_variant(variant)
    if not isinstance(chosen, get_bit.Variant):
        raise ValueError(f"no best response is computed in {game_of(chosen)}")
    judged, face_up = as_face_up(agent, chosen, name)
    if face_up.name not in JUDGED:
        raise ValueError(f"a report judges {' and '.join(JUDGED)} exactly, not {face_up}")
    require_markov_policy(judged, face_up, name)
    positions = _positions(face_up, threads)
    result = exploitability(judged, positions, name=name, threads=threads, progress=progress or silent)
    return by_situation(result, judged, chosen)


@lru_cache(maxsize=1)  # several agents are judged in the same game one after another
def _positions(variant: Any, threads: int) -> Positions:
    return Positions(variant, threads=threads)


def by_situation(result: Exploitability, agent: Agent, plays_in: get_bit.Variant | None = None) -> Leaks:
    """The losses by where the player's robots are, and their limbs.

    Args:
        result: of the agent.
        agent: that was judged.
        plays_in: the variant in which it plays, by default the one in which it was judged.
    """
    positions = result.positions
    variant = positions.variant
    players, each = variant.players, variant.robots_per_player
    met = np.flatnonzero(result.reach[: positions.count])
    games = positions.games(met)
    row, column = _situations(variant, games) if each == 1 else _situations_of_pairs(variant, games)
    rows = place_names(variant.robots) if each == 1 else tuple(map(_pair_name, _pairs(variant.robots)))
    limbs = variant.limbs * each
    columns = tuple(f"{number} limbs left" if number > 1 else "1 limb left" for number in range(limbs, 0, -1))
    loss, reach = (np.zeros((len(rows), limbs)) for _ in range(2))
    for p in range(players):
        there = row[p] >= 0
        where = row[p, there], limbs - column[p, there]
        np.add.at(loss, where, result.reach[met[there]] * result.leak[met[there], p] / players)
        np.add.at(reach, where, result.reach[met[there]] / players)
    used: NDArray[np.bool_] = np.any(reach > 0, axis=0)
    return Leaks(
        result.name,
        (plays_in or variant).name,
        variant.name,
        result.gain,
        result.nash_conv,
        rows,
        tuple(name for name, there in zip(columns, used, strict=True) if there),
        "place in line" if each == 1 else "places of its robots",
        "limbs left" if each == 1 else "limbs left of both robots",
        loss[:, used],
        reach[:, used],
        _film(result, agent),
        "value, in -1 to 1" if players == 2 else "chance of winning",
    )


def _situations(variant: get_bit.Variant, games: Games) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Robots behind, -1 for one that is out, and limbs: `[P, G]`, of players with one robot each."""
    limbs = games.limbs.astype(np.int64)
    line = (limbs > 0).sum(axis=0)
    behind = np.where(limbs > 0, line - 1 - games.place.astype(np.int64), -1)
    assert behind.shape[0] == variant.players
    return behind, np.maximum(limbs, 1)


def _situations_of_pairs(variant: get_bit.Variant, games: Games) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of the pair of places, and limbs together: `[P, G]`, of players with two robots each."""
    pairs = {pair: number for number, pair in enumerate(_pairs(variant.robots))}
    number_of = np.full((variant.robots, variant.robots), -1)
    for (front, back), number in pairs.items():
        number_of[front, back] = number_of[back, front] = number
    place, limbs = games.place.astype(np.int64), games.limbs.astype(np.int64)
    return number_of[place[::2], place[1::2]], limbs[::2] + limbs[1::2]


def _pairs(robots: int) -> list[tuple[int, int]]:
    """Pairs of places, those nearest the shark first."""
    return sorted(((i, j) for j in range(robots) for i in range(j)), key=lambda pair: (-pair[1], -pair[0]))


def _pair_name(pair: tuple[int, int]) -> str:
    return f"{ordinal(pair[0] + 1)} and {ordinal(pair[1] + 1)}"


def _film(result: Exploitability, agent: Agent) -> dict[str, Any]:
    """The game in which the agent is exploited, with what each position is worth to the best response, for the viewer."""
    text = exploiting_line(
        replace(result, name="agent"), agent
    )  # a name can hold anything, also what the notation ends a line with
    game = parse_game(text)
    notes = [{"value": float(value)} for value in re.findall(r"^# \w: (-?[0-9.]+),", text, re.MULTILINE)]
    variant, each = game.variant, game.variant.robots_per_player
    line, joint = list(game.line), list[list[int]]()
    responder = int((result.best - result.own).argmax() % variant.players)
    engine = Engine(variant, 1)  # the viewer's frames are made of actions, the notation holds cards
    engine.start(starts=[line])
    for cards in game.cards:
        place = engine.state.place[:, 0]
        actions = []
        for p in range(variant.players):
            own = sorted(range(p * each, (p + 1) * each), key=lambda robot: place[robot])
            played = [max(cards[robot] - 1, 0) for robot in own]
            actions.append(played[0] if each == 1 else played[0] * variant.cards + played[1])
        joint.append(actions)
        engine.play(np.array([actions]))
    names = ["best response" if p == responder else result.name for p in range(variant.players)]
    told = [{responder: note} for note in notes]
    return film(variant, line, joint, agents=names, notes=told, title=f"{variant}: {result.name} is exploited by a best response")
