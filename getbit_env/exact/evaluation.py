"""What every action of a policy is worth in every position: the whole game at once, without sampling.

A `GameGraph` keeps where each joint choice of each position leads, so that a pass over the game looks up where rounds lead
instead of playing them again. `evaluate` makes such passes. Algorithms that learn from all positions in every iteration can
stand on it.

Axes as in `positions`: N positions, P players (roles), A actions, E joint choices of all positions together. Values are in -1..1
with two players, and chances of winning with more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.exact.best_response import AskedPolicy, end_values, low_bit
from getbit_env.exact.positions import AT_ONCE, Expansion, Positions, Progress, Workers, expand, new_expansion, silent
from getbit_env.exact.ram import need_memory

_CHUNK = 1024  # positions that a thread works through at a time
_ROLE_BITS = 4  # of a word for the role of each player
_ASKED = 4096  # positions of one question to an agent

Policy = NDArray[np.float64]  # [N, P, A], the chances of each role's actions; zero rows for players who are out


class _Edges(NamedTuple):
    """The graph as kernels take it."""

    first: NDArray[np.int64]  # [N + 1] where the joint choices of each position begin
    successor: NDArray[np.int32]  # [E] the position that follows; N is the end of the game
    roles: NDArray[np.uint32]  # [E] the role there of each player, 4 bits each, role 0 lowest
    hand: NDArray[np.uint8]  # [N, R] cards in the hand of each robot, as bits; robots by role, then front to back


class _Choices(NamedTuple):
    """The choices in one position, in the order of its joint choices."""

    number: NDArray[np.int64]  # [P] how many; 1 for a player who is out
    action: NDArray[np.int64]  # [P, A]
    chance: NDArray[np.float64]  # [P, A]
    picked: NDArray[np.int64]  # [P] one choice each
    others: NDArray[np.float64]  # [P] see `_chances_of_others`
    worth: NDArray[np.float64]  # [P] of a run of joint choices


def _new_choices(players: int, actions: int) -> _Choices:
    whole, table = np.int64, (players, actions)
    return _Choices(
        np.zeros(players, whole),
        np.zeros(table, whole),
        np.zeros(table),
        np.zeros(players, whole),
        np.zeros(players),
        np.zeros(players),
    )


@kernel
def _count_choices(hand: NDArray[np.uint8], count: NDArray[np.int64]) -> None:
    """How many joint choices each position has, `[G]`, by the hands of its robots, `[G, R]`."""
    for g in range(hand.shape[0]):
        count[g] = 1
        for r in range(hand.shape[1]):
            cards = 0
            for c in range(8):
                cards += (hand[g, r] >> c) & 1
            count[g] *= max(cards, 1)


@kernel
def _keep_edges(first: int, last: int, expansion: Expansion, edges: _Edges) -> None:
    """Keep where the positions `first:last`, which were just expanded, lead."""
    players = expansion.role.shape[1]
    for k in range(last - first):
        begin = edges.first[first + k]
        for g in range(expansion.joint[k]):
            edges.successor[begin + g] = expansion.successor[k, g]
            roles = np.uint32(0)
            for p in range(players):
                roles |= np.uint32(expansion.role[k, p, g]) << np.uint32(_ROLE_BITS * p)
            edges.roles[begin + g] = roles


@kernel
def _list_choices(number: int, edges: _Edges, policy: NDArray[np.float64], choices: _Choices) -> None:
    """Fill in the choices of a position, in which each role plays by `policy`, `[N, P, A]`."""
    players = choices.number.shape[0]
    each = edges.hand.shape[1] // players
    cards = int(np.sqrt(choices.action.shape[1])) if each == 2 else 0
    for p in range(players):
        n, front, alive = 0, np.int64(edges.hand[number, p * each]), False
        for _ in range(8):
            behind = np.int64(edges.hand[number, p * each + 1]) if each == 2 else np.int64(0)
            alive |= bool(front + behind > 0)
            for _ in range(8):
                action = low_bit(np.uint8(front & -front))
                choices.action[p, n] = action * cards + low_bit(np.uint8(behind & -behind)) if each == 2 else action
                n += 1
                behind &= behind - 1
                if behind == 0:
                    break
            front &= front - 1
            if front == 0:
                break
        for i in range(n):
            choices.chance[p, i] = policy[number, p, choices.action[p, i]] if alive else 1.0
        choices.number[p] = n
        choices.picked[p] = 0


@kernel
def _chances_of_others(choices: _Choices) -> None:
    """How likely the choices that are picked are, of all players but the last and the one left out.

    The last player's choice changes fastest, so this holds for a whole run of joint choices. Entry P - 1 leaves out the last player
    alone.
    """
    first_ones = choices.number.shape[0] - 1
    before = 1.0
    for p in range(first_ones):
        choices.others[p] = before
        before *= choices.chance[p, choices.picked[p]]
    choices.others[first_ones] = before
    after = 1.0
    for p in range(first_ones - 1, -1, -1):
        choices.others[p] *= after
        after *= choices.chance[p, choices.picked[p]]


@kernel
def _pick_next(choices: _Choices) -> None:
    """Go on to the next joint choice of all players but the last."""
    for p in range(choices.number.shape[0] - 2, -1, -1):
        choices.picked[p] += 1
        if choices.picked[p] < choices.number[p]:
            break
        choices.picked[p] = 0


@kernel
def _go_back(
    first: int,
    last: int,
    edges: _Edges,
    policy: NDArray[np.float64],
    responds: bool,
    values: NDArray[np.float64],
    action_values: NDArray[np.float64],
    choices: _Choices,
) -> None:
    """Fill in `values`, `[N + 1, P]`, and `action_values`, `[N, P, A]`, of the positions `first:last`.

    A role's value is the mean over its own choices, or if it `responds`, the greatest.
    """
    players, worth = choices.number.shape[0], choices.worth
    last_one, mask = players - 1, np.uint32((1 << _ROLE_BITS) - 1)
    for number in range(first, last):
        _list_choices(number, edges, policy, choices)
        action_values[number] = 0
        for begin in range(edges.first[number], edges.first[number + 1], choices.number[last_one]):
            _chances_of_others(choices)
            worth[:] = 0
            for i in range(choices.number[last_one]):
                after, roles, chance = edges.successor[begin + i], edges.roles[begin + i], choices.chance[last_one, i]
                for p in range(last_one):
                    worth[p] += chance * values[after, (roles >> np.uint32(_ROLE_BITS * p)) & mask]
                role = (roles >> np.uint32(_ROLE_BITS * last_one)) & mask
                action_values[number, last_one, choices.action[last_one, i]] += choices.others[last_one] * values[after, role]
            for p in range(last_one):
                action_values[number, p, choices.action[p, choices.picked[p]]] += choices.others[p] * worth[p]
            _pick_next(choices)
        for p in range(players):
            mean, top = 0.0, action_values[number, p, choices.action[p, 0]]
            for i in range(choices.number[p]):
                each = action_values[number, p, choices.action[p, i]]
                mean += choices.chance[p, i] * each
                top = max(top, each)
            values[number, p] = top if responds else mean


@kernel
def _go_forward(
    first: int,
    last: int,
    edges: _Edges,
    policy: NDArray[np.float64],
    reach: NDArray[np.float64],
    reach_by_others: NDArray[np.float64],
    choices: _Choices,
) -> None:
    """Add to `reach`, `[N + 1]`, and `reach_by_others`, `[N + 1, P]`, of what follows from the positions `first:last`."""
    players = choices.number.shape[0]
    last_one, mask = players - 1, np.uint32((1 << _ROLE_BITS) - 1)
    for number in range(first, last):
        if not reach_by_others[number].any():
            continue
        _list_choices(number, edges, policy, choices)
        for begin in range(edges.first[number], edges.first[number + 1], choices.number[last_one]):
            _chances_of_others(choices)
            for i in range(choices.number[last_one]):
                after, roles, chance = edges.successor[begin + i], edges.roles[begin + i], choices.chance[last_one, i]
                reach[after] += reach[number] * choices.others[last_one] * chance
                for p in range(players):
                    role = (roles >> np.uint32(_ROLE_BITS * p)) & mask
                    others = choices.others[p] * (chance if p < last_one else 1.0)
                    reach_by_others[after, role] += reach_by_others[number, p] * others
            _pick_next(choices)


@kernel
def _meet_responder(
    first: int,
    last: int,
    edges: _Edges,
    policy: NDArray[np.float64],
    answer: NDArray[np.int64],
    values: NDArray[np.float64],
    reach: NDArray[np.float64],
    against: NDArray[np.float64],
    choices: _Choices,
) -> None:
    """Add to `reach`, `[N + 1, P]`, and `against`, `[N, P, A]`, of what follows from the positions `first:last`.

    One player, the responder, plays the actions `answer`, `[N, P]`, which bring it `values`, `[N + 1, P]`. The other players draw
    theirs from `policy`.
    """
    players, mask = choices.number.shape[0], np.uint32((1 << _ROLE_BITS) - 1)
    each = edges.hand.shape[1] // players
    stride, out = np.ones(players, np.int64), np.zeros(players, np.bool_)
    for number in range(first, last):
        if not reach[number].any():
            continue
        _list_choices(number, edges, policy, choices)
        for p in range(players - 2, -1, -1):
            stride[p] = stride[p + 1] * choices.number[p + 1]
        for p in range(players):
            out[p] = not edges.hand[number, p * each : (p + 1) * each].any()
        joint = edges.first[number + 1] - edges.first[number]
        for q in range(players):
            if out[q] or reach[number, q] == 0:
                continue
            choices.picked[:] = 0
            while choices.action[q, choices.picked[q]] != answer[number, q]:
                choices.picked[q] += 1
            for _ in range(joint // choices.number[q]):
                edge = edges.first[number]
                for p in range(players):
                    edge += stride[p] * choices.picked[p]
                after, role = edges.successor[edge], (edges.roles[edge] >> np.uint32(_ROLE_BITS * q)) & mask
                for p in range(players):  # where p = q, no other is left out: that is the reach
                    chance = reach[number, q]
                    for r in range(players):
                        if r not in (p, q):
                            chance *= choices.chance[r, choices.picked[r]]
                    if p == q:
                        reach[after, role] += chance
                    elif not out[p]:
                        against[number, p, choices.action[p, choices.picked[p]]] += chance * values[after, role]
                for p in range(players - 1, -1, -1):
                    if p == q:
                        continue
                    choices.picked[p] += 1
                    if choices.picked[p] < choices.number[p]:
                        break
                    choices.picked[p] = 0


@dataclass(frozen=True)
class Response:
    """A best response to a policy, by one player at a time.

    Attributes:
        values: `[N + 1, P]`, to the responder from each position on.
        answer: `[N, P]`, its action; the first of equally good ones.
        reach: `[N + 1, P]`, how likely the responder is met in this role while it has a robot in the line, from a starting line and
            a seat drawn uniformly.
        against: `[N, P, A]`, what the responder gets if this role, which is another player's, chooses this action, times how likely
            a responder is met beside it. This is the gradient of `value`, and so of the gain, by the policy.
        value: mean over starting lines and seats; the gain is what it exceeds the equal share by.
    """

    values: NDArray[np.float64]
    answer: NDArray[np.int64]
    reach: NDArray[np.float64]
    against: NDArray[np.float64]
    value: float

    def met(self, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """How likely each role meets a responder, `[N, P]`: what `against` is weighted by.

        Args:
            legal: `[N, P, A]`, of the graph.
        """
        return met_by_others(self.reach[:-1], legal)


def met_by_others(reach: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How likely each role meets one of the others there, `[N, P]`.

    Args:
        reach: `[N, P]`, how likely each role is there; players who are out don't count.
        legal: `[N, P, A]`, of the graph.
    """
    # Added up, not taken from the sum of all: a small reach beside a great one would be lost, and is divided by.
    players = reach.shape[1]
    others: NDArray[np.float64] = np.where(legal.any(axis=2), reach, 0) @ (1 - np.eye(players))
    return others


class GameGraph:
    """Where every joint choice of every position leads.

    Attributes:
        positions: the numbering.
        legal: `[N, P, A]` bool, the actions of each role; none for a player who is out.
        edges: how many joint choices there are, over all positions.

    Examples:
        >>> from getbit_env import parse_variant
        >>> from getbit_env.exact import GameGraph, Positions
        >>> graph = GameGraph(Positions(parse_variant("2p-3c-1l")))
        >>> print(graph.edges, "joint choices;", graph.legal[0].sum(axis=1), "legal actions of the roles in position 0")
        486 joint choices; [9 9] legal actions of the roles in position 0
    """

    positions: Positions
    legal: NDArray[np.bool_]
    edges: int

    def __init__(self, positions: Positions, *, threads: int = 1, progress: Progress = silent) -> None:
        """Play every joint choice of every position once.

        Args:
            positions: of the game. `4p` has 57 million joint choices and takes 0.5 GB, `2p` has 157 million and takes 1.3 GB.
            threads: that work at the same time here and in every pass; no result depends on it.
            progress: is told of positions.

        Raises:
            TypeError: `positions` is something else.
            ValueError: the memory of this machine is too small for it, or `threads` is below 1.
        """
        if not isinstance(positions, Positions):
            raise TypeError(f"positions are `Positions(parse_variant('4p'))`, for example, not {positions!r}")
        if threads < 1:
            raise ValueError(f"threads is at least 1, not {threads}")
        variant, count = positions.variant, positions.count
        self.positions, self._threads = positions, threads
        hand = np.zeros((count, variant.robots), np.uint8)
        joint = np.zeros(count, np.int64)
        for begin in range(0, count, _ASKED):
            end = min(begin + _ASKED, count)
            hand[begin:end] = positions.games(np.arange(begin, end)).hand.T
            _count_choices(hand[begin:end], joint[begin:end])
        first = np.zeros(count + 1, np.int64)
        np.cumsum(joint, out=first[1:])
        self.edges = int(first[-1])
        need_memory(
            self.edges * 8 + count * variant.players * variant.actions * 9,
            f"the {self.edges:,} joint choices of {variant}, and a policy for its positions",
        )
        self._edges = _Edges(first, np.zeros(self.edges, np.int32), np.zeros(self.edges, np.uint32), hand)
        self.legal = self._legal_actions()
        index = positions.index
        workers = Workers(lambda: new_expansion(index), threads)

        def keep(begin: int, end: int, expansion: Expansion) -> None:
            for some in range(begin, end, AT_ONCE):
                stop = min(some + AT_ONCE, end)
                expand(index, np.arange(some, stop), expansion)
                _keep_edges(some, stop, expansion, self._edges)

        workers.run(keep, 0, count, _CHUNK, lambda end: progress("joint choices", end, count))

    def _legal_actions(self) -> NDArray[np.bool_]:
        variant, hand = self.positions.variant, self._edges.hand
        has: NDArray[np.bool_] = ((hand[:, :, None] >> np.arange(variant.cards)) & 1).astype(np.bool_)  # [N, R, C]
        if variant.robots_per_player == 1:
            return has
        out: NDArray[np.bool_] = np.logical_not(has.any(axis=2))
        first_card = np.arange(variant.cards) == 0
        # A robot that is out has the lowest number in its player's action.
        plays: NDArray[np.bool_] = np.where(out[:, :, None], first_card, has)
        legal: NDArray[np.bool_] = plays[:, 0::2, :, None] & plays[:, 1::2, None, :]
        legal &= ~np.logical_and(out[:, 0::2], out[:, 1::2])[:, :, None, None]
        return legal.reshape(len(hand), variant.players, -1)

    def uniform_policy(self) -> Policy:
        """All legal actions alike: `[N, P, A]`."""
        number = self.legal.sum(axis=2, keepdims=True)
        policy: Policy = self.legal / np.maximum(number, 1)
        return policy

    def policy_of(self, agent: Any, *, name: str = "the agent", progress: Progress = silent) -> Policy:
        """What an agent does in every position: `[N, P, A]`.

        Args:
            agent: has `reset` and `probabilities`; see `exploitability`.
            name: of the agent, for messages.
            progress: is told of positions.

        Raises:
            AgentError: the agent does not play by the position alone.
        """
        positions = self.positions
        asked = AskedPolicy(agent, positions, name)
        policy = np.zeros(self.legal.shape)
        for begin in range(0, positions.count, _ASKED):
            end = min(begin + _ASKED, positions.count)
            policy[begin:end] = asked.policy(np.arange(begin, end))
            progress(name, end, positions.count)
        return policy

    def checked(self, policy: Any) -> Policy:
        """The policy as an array of float64.

        Raises:
            ValueError: it is no array `[N, P, A]` of distributions over legal actions.
        """
        array = np.asarray(policy, np.float64)
        if array.shape != self.legal.shape:
            raise ValueError(f"a policy of {self.positions.variant} is an array {self.legal.shape}, not {array.shape}")
        if not np.isfinite(array).all() or array.min() < 0 or (array > 0)[~self.legal].any():
            raise ValueError("a policy holds chances of legal actions: numbers of at least 0, and 0 for all other actions")
        sums = array.sum(axis=2)
        wrong = np.abs(sums - self.legal.any(axis=2)) > 1e-6
        if wrong.any():
            number, role = (int(k) for k in np.argwhere(wrong)[0])
            raise ValueError(f"the policy of role {role} in position {number} sums to {sums[number, role]}, not to 1")
        return np.ascontiguousarray(array)

    def go_back(self, policy: Policy, *, responds: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of all positions, the last rounds first: the pass without checks and reach, for algorithms.

        Args:
            policy: `[N, P, A]` float64, contiguous.
            responds: each role plays a best response to it from each position on, instead of the policy.

        Returns:
            `[N + 1, P]` to each role, and `[N, P, A]`, to each role by its action, 0 for illegal ones.
        """
        positions = self.positions
        values = np.zeros((positions.count + 1, positions.variant.players))
        values[-1] = end_values(positions.variant)
        action_values = np.zeros(self.legal.shape)
        workers = Workers(self._new_choices, self._threads)

        def go(begin: int, end: int, choices: _Choices) -> None:
            _go_back(begin, end, self._edges, policy, responds, values, action_values, choices)

        for wave in range(positions.waves - 1, -1, -1):
            workers.run(go, int(positions.first[wave]), int(positions.first[wave + 1]), _CHUNK)
        return values, action_values

    def go_forward(self, policy: Policy) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How likely positions are met, from a starting line drawn uniformly.

        Args:
            policy: `[N, P, A]` float64, contiguous.

        Returns:
            `[N + 1]` when all play by the policy; and `[N + 1, P]`, by the choices of all others alone: as if the player that
            has the role there had wanted to come there. This is the counterfactual reach of CFR, summed over the ways into the
            position.
        """
        positions = self.positions
        reach, by_others = np.zeros(positions.count + 1), np.zeros((positions.count + 1, positions.variant.players))
        reach[positions.starts] = by_others[positions.starts] = 1 / len(positions.starts)
        _go_forward(0, positions.count, self._edges, policy, reach, by_others, self._new_choices())
        return reach, by_others

    def respond(self, policy: Policy) -> Response:
        """What a best response gets against a policy, and which actions let it: the pass for algorithms that learn from that.

        Args:
            policy: `[N, P, A]` float64, contiguous. One player, the responder, plays a best response to it; all others play the
                policy. The responder has each seat in turn.
        """
        positions, players = self.positions, self.positions.variant.players
        values, action_values = self.go_back(policy, responds=True)
        answer = np.where(self.legal, action_values, -np.inf).argmax(axis=2)
        reach, against = np.zeros(values.shape), np.zeros(policy.shape)
        reach[positions.starts] = 1 / (len(positions.starts) * players)
        _meet_responder(0, positions.count, self._edges, policy, answer, values, reach, against, self._new_choices())
        return Response(values, answer, reach, against, float(values[positions.starts].mean()))

    def _new_choices(self) -> _Choices:
        return _new_choices(self.positions.variant.players, self.positions.variant.actions)


@dataclass(frozen=True)
class Evaluation:
    """A policy, evaluated in every position.

    Attributes:
        values: `[N + 1, P]`, to each role when all play by the policy.
        action_values: `[N, P, A]`, to each role by its action in this round, when all go on by the policy; 0 for illegal actions.
        best_values: `[N + 1, P]`, to each role if it alone plays a best response from here on.
        best_action_values: `[N, P, A]`, likewise by its action in this round.
        reach: `[N + 1]`, how likely the position is met when all play by the policy, from a starting line drawn uniformly.
        reach_by_others: `[N + 1, P]`, likewise by the choices of all others alone; the counterfactual reach of CFR.
        gain: what a best response gains, on average over starting lines and places; as `Exploitability.gain`.
        nash_conv: the gains of all players together; as `Exploitability.nash_conv`.
    """

    values: NDArray[np.float64]
    action_values: NDArray[np.float64]
    best_values: NDArray[np.float64]
    best_action_values: NDArray[np.float64]
    reach: NDArray[np.float64]
    reach_by_others: NDArray[np.float64]
    gain: float
    nash_conv: float


def evaluate(policy: Any, graph: GameGraph) -> Evaluation:
    """Evaluate a policy in every position and role.

    Args:
        policy: `[N, P, A]`, chances of actions, as `GameGraph.policy_of` and `GameGraph.uniform_policy` make them; or an agent with
            `probabilities`.
        graph: of the game.

    Raises:
        AgentError: the agent does not play by the position alone.
        TypeError: `graph` is something else.
        ValueError: the array is no policy.

    Examples:
        >>> from getbit_env import load_agent, parse_variant
        >>> from getbit_env.exact import GameGraph, Positions, evaluate
        >>> found = evaluate(load_agent("counter"), GameGraph(Positions(parse_variant("2p-3c-1l"))))
        >>> print(f"a best response gains {found.gain:.3f}")
        a best response gains 0.111
        >>> print(found.action_values.shape)  # positions, roles, actions
        (6, 2, 9)
    """
    if not isinstance(graph, GameGraph):
        raise TypeError(f"graph is a GameGraph, such as `GameGraph(Positions(parse_variant('4p')))`, not {graph!r}")
    table = graph.policy_of(policy) if hasattr(policy, "probabilities") else graph.checked(policy)
    values, action_values = graph.go_back(table)
    best, best_action_values = graph.go_back(table, responds=True)
    reach, by_others = graph.go_forward(table)
    gains = (best - values)[graph.positions.starts]
    return Evaluation(
        values, action_values, best, best_action_values, reach, by_others, float(gains.mean()), float(gains.sum(axis=1).mean())
    )


def gain_of(policy: Policy, graph: GameGraph) -> tuple[float, float]:
    """Gain and NashConv of a policy: `evaluate` without all the rest.

    Examples:
        >>> from getbit_env import parse_variant
        >>> from getbit_env.exact import GameGraph, Positions, gain_of
        >>> graph = GameGraph(Positions(parse_variant("2p-3c-1l")))
        >>> gain, nash_conv = gain_of(graph.uniform_policy(), graph)
        >>> print(f"{gain:.3f} {nash_conv:.3f}")
        0.424 0.848
    """
    starts = graph.positions.starts
    gains = graph.go_back(policy, responds=True)[0][starts] - graph.go_back(policy)[0][starts]
    return float(gains.mean()), float(gains.sum(axis=1).mean())
