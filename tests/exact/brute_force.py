"""Values of small games by plain recursion over the game as people play it: no numbering, no kernels, seats as they are."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from getbit_env.get_bit.notation import mask_of
from getbit_env.get_bit.observations import Layout, new_observation_workspace, new_record, observe
from getbit_env.get_bit.rules import Games, new_games
from getbit_env.get_bit.variants import Variant
from tests.get_bit.reference import Table

Cards = tuple[int, ...]  # of a player's robots in the line, front to back
Policy = Callable[[Table, int], dict[Cards, float]]


def begin(variant: Variant, line: list[int]) -> Table:
    return Table(
        line, robots_each=variant.robots_per_player, cards=variant.cards, limbs=variant.limbs, pick_up_at=variant.pick_up_at
    )


def own_robots(table: Table, player: int) -> list[int]:
    return [r for r in table.line if table.robots[r].owner == player]


def choices(table: Table, player: int) -> list[Cards]:
    return list(itertools.product(*(table.robots[r].hand for r in own_robots(table, player))))


def joint_choices(table: Table) -> Iterator[tuple[Cards, ...]]:
    return itertools.product(*(choices(table, p) for p in range(table.players)))


def after(table: Table, joint: tuple[Cards, ...]) -> Table:
    following = copy.copy(table)
    following.line, following.out, following.rounds, following.finish = [*table.line], [*table.out], [], {**table.finish}
    following.robots = [replace(robot, hand=[*robot.hand], table=[*robot.table]) for robot in table.robots]
    following.play({r: card for p, cards in enumerate(joint) for r, card in zip(own_robots(table, p), cards, strict=True)})
    return following


def key(table: Table) -> object:
    """The position, seats as they are."""
    return table.first_round, tuple(
        (r, table.robots[r].owner, table.robots[r].limbs, tuple(table.robots[r].hand)) for r in table.line
    )


def situation(table: Table) -> object:
    """The position, whatever the players and robots are called."""
    owners = list(dict.fromkeys(table.robots[r].owner for r in table.line))
    return table.first_round, tuple(
        (owners.index(table.robots[r].owner), table.robots[r].limbs, tuple(table.robots[r].hand)) for r in table.line
    )


def all_situations(variant: Variant) -> set[object]:
    found: dict[object, Table] = {}
    fresh = [begin(variant, list(line)) for line in itertools.permutations(range(variant.robots))]
    while fresh:
        table = fresh.pop()
        if not table.over and situation(table) not in found:
            found[situation(table)] = table
            fresh += [after(table, joint) for joint in joint_choices(table)]
    return set(found)


def payoff(table: Table, player: int) -> float:
    if table.players == 2:
        return 1.0 if table.finish[player] == 1 else -1.0
    return float(table.finish[player] == 1)


def equilibrium_value(table: Table, memo: dict[object, float]) -> float:
    """The value to player 0 of a game for two, a linear programme a position."""
    if table.over:
        return payoff(table, 0)
    if key(table) not in memo:
        rows, columns = choices(table, 0), choices(table, 1)
        matrix = np.array([[equilibrium_value(after(table, (a, b)), memo) for b in columns] for a in rows])
        m, n = matrix.shape
        answer = linprog(  # the most v with row strategy x such that x . column >= v for every column
            np.r_[np.zeros(m), -1],
            A_ub=np.c_[-matrix.T, np.ones(n)],
            b_ub=np.zeros(n),
            A_eq=[[1] * m + [0]],
            b_eq=[1],
            bounds=[(0, None)] * m + [(None, None)],
        )
        memo[key(table)] = -answer.fun
    return memo[key(table)]


def response_value(table: Table, responder: int | None, player: int, policy: Policy, memo: dict[object, float]) -> float:
    """The value to `player` where all follow the policy, but for the responder, who knows it and plays to win."""
    if player in table.finish:
        return payoff(table, player)
    if key(table) not in memo:
        mixed = [
            dict.fromkeys(choices(table, p), 1.0) if p == responder or not own_robots(table, p) else policy(table, p)
            for p in range(table.players)
        ]
        worth: dict[Cards, float] = {}
        for joint in joint_choices(table):
            chance = float(np.prod([mixed[p].get(cards, 0.0) for p, cards in enumerate(joint)]))
            if chance > 0:
                value = chance * response_value(after(table, joint), responder, player, policy, memo)
                mine = () if responder is None else joint[responder]
                worth[mine] = worth.get(mine, 0.0) + value
        memo[key(table)] = max(worth.values())
    return memo[key(table)]


def to_games(table: Table) -> Games:
    """The position as a batch of one game."""
    games = new_games(len(table.robots), 1)
    games.rounds[0] = 0 if table.first_round else 1
    for place, r in enumerate([*table.line, *reversed(table.out)]):
        robot = table.robots[r]
        games.place[r, 0], games.limbs[r, 0], games.hand[r, 0] = place, robot.limbs, mask_of(robot.hand)
    return games


def policy_of(agent: object, variant: Variant) -> Policy:
    """An agent of the package, asked about one position after another."""
    layout = Layout(variant)
    agent.reset(layout, np.ones(1, np.bool_), 0)

    def policy(table: Table, player: int) -> dict[Cards, float]:
        observation = np.empty((1, variant.players, layout.size), np.float32)
        mask = np.empty((1, variant.players, variant.actions), np.int8)
        games, record = to_games(table), new_record(layout, 1)
        show, words = np.ones(1, np.uint8), new_observation_workspace(layout)
        observe(layout.view, variant.last_line, games, record, show, words, observation, mask, 0, 1)
        chances = agent.probabilities(observation[0, [player]], mask[0, [player]])[0]
        numbers = {
            cards: sum((c - 1) * variant.cards**i for i, c in enumerate(reversed(cards))) for cards in choices(table, player)
        }
        return {cards: float(chances[number]) for cards, number in numbers.items()}

    return policy


class Whim:
    """Plays a strange mixture that depends on the whole observation."""

    def reset(self, layout: Layout, _begins: object, _seed: int | None) -> None:
        self.weights = np.random.default_rng(5).normal(size=(layout.size, layout.variant.actions))

    def probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        likes = np.where(action_mask == 1, np.exp(observation @ self.weights), 0)
        return likes / likes.sum(axis=1, keepdims=True)
