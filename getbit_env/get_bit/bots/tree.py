"""Search trees for simultaneous moves: many trees, several simulations of each, all in step with each other.

A node is a position, and a position is the same node however it came about. In a node every player matches regrets: the chance of
an action is in proportion to how much more it would have won than what was played. A simulation walks from the root by actions
drawn from these chances, adds the first new position that it meets to the tree, and goes on at random to the end of the game, or
until a position whose values are known. Then what it won goes back along its path.

All simulations of all trees play their rounds together, as one batch of the rules kernel; those that are done make room. What a
tree draws depends on its root alone, not on the batch.

Players are numbered by *role* in a node: by the place of their frontmost robot. Axes: C trees, N nodes of each, W simulations of
each at a time, S = C * W, R robots, P players, A actions, D rounds of the longest game.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import inlined, lean_kernel
from getbit_env.core.streams import random_bits
from getbit_env.get_bit.bots.playouts import Lots, draw, new_lots, playout_seed
from getbit_env.get_bit.observations import View, read_position, reads_first_round
from getbit_env.get_bit.rules import (
    Games,
    Outcome,
    Rules,
    Scratch,
    new_games,
    new_outcome,
    new_scratch,
    play_round,
)
from getbit_env.get_bit.variants import Variant

AT_A_TIME = 16  # simulations of a tree that don't see each other's results
EXPLORATION = 0.2  # part of the actions that is drawn uniformly
OUT = 255  # role of a player who has no robot in the line
_MOVED = 0.25  # part of the batch that is done before the rest moves up


class KnownValues(NamedTuple):
    """Positions whose values are known: a hash table by `position_key`, open addressing. An empty one has one place."""

    limbs: int  # positions with more limbs in the line are not in it
    keys: NDArray[np.uint64]  # [H] 0: empty; H is a power of two
    values: NDArray[np.float32]  # [H, P] chance of winning, by role; of the last rounds, as many roles as players are left


class Trees(NamedTuple):
    """The trees of a batch of positions."""

    key: NDArray[np.uint64]  # [C] of the root
    place: NDArray[np.uint8]  # [R, C] the root, as `rules.Games` has it
    limbs: NDArray[np.uint8]  # [R, C]
    hand: NDArray[np.uint8]  # [R, C]
    rounds: NDArray[np.uint8]  # [C]
    size: NDArray[np.int64]  # [C] nodes in use; the root is node 0
    keys: NDArray[np.uint64]  # [C, H] hash table, open addressing; 0: empty; H is a power of two
    nodes: NDArray[np.int32]  # [C, H] the node of each key
    legal: NDArray[np.uint64]  # [C, N, P] set of actions
    regret: NDArray[np.float32]  # [C, N, P, A]
    mean: NDArray[np.float32]  # [C, N, P, A] of what was won by the action
    tried: NDArray[np.float32]  # [C, N, P, A] how often it was played
    policy: NDArray[np.float64]  # [C, P, A] chances in the root, summed
    done: NDArray[np.int64]  # [C] simulations


class Walks(NamedTuple):
    """Simulations under way, and where they have been."""

    games: Games  # [R, S]
    cards: NDArray[np.uint8]  # [R, S]
    pays: NDArray[np.float32]  # [P + 1] nothing
    outcome: Outcome
    scratch: Scratch
    lots: Lots
    seeds: NDArray[np.uint32]  # [S]
    walk: NDArray[np.int64]  # [S] the simulation of each game, -1 if it is done
    node: NDArray[np.int32]  # [S] where it is; -1: outside the tree
    # By simulation, not by game:
    length: NDArray[np.int64]  # [S] nodes that it passed
    path: NDArray[np.int32]  # [S, D]
    role: NDArray[np.uint8]  # [S, D, P] of each player
    action: NDArray[np.uint8]  # [S, D, P] of each role
    chance: NDArray[np.float32]  # [S, D, P] with which it was drawn
    value: NDArray[np.float64]  # [S, P] what each player won
    # New nodes:
    fresh: NDArray[np.int64]  # [1] how many
    fresh_games: Games  # [R, S]
    fresh_tree: NDArray[np.int64]  # [S]
    fresh_node: NDArray[np.int32]  # [S]
    fresh_walk: NDArray[np.int64]  # [S] that came to it first


def no_values(players: int) -> KnownValues:
    """No position is known."""
    return KnownValues(0, np.zeros(1, np.uint64), np.zeros((1, players), np.float32))


def table_size(entries: int) -> int:
    """Places of a hash table for so many entries: a power of two, and at most half of it in use."""
    return 1 << max(2 * entries, 2).bit_length()


def new_trees(variant: Variant, trees: int, nodes: int) -> Trees:
    """Allocate trees of at most so many nodes."""
    robots, players, actions = variant.robots, variant.players, variant.actions
    places, table = (robots, trees), (trees, nodes, players, actions)
    size = table_size(nodes)
    return Trees(
        np.zeros(trees, np.uint64),
        np.zeros(places, np.uint8),
        np.zeros(places, np.uint8),
        np.zeros(places, np.uint8),
        np.zeros(trees, np.uint8),
        np.zeros(trees, np.int64),
        np.zeros((trees, size), np.uint64),
        np.zeros((trees, size), np.int32),
        np.zeros(table[:3], np.uint64),
        np.zeros(table, np.float32),
        np.zeros(table, np.float32),
        np.zeros(table, np.float32),
        np.zeros((trees, players, actions)),
        np.zeros(trees, np.int64),
    )


def new_walks(variant: Variant, walks: int) -> Walks:
    """Allocate so many simulations, S."""
    robots, players, most = variant.robots, variant.players, variant.most_rounds
    whole = np.int64
    return Walks(
        new_games(robots, walks),
        np.zeros((robots, walks), np.uint8),
        np.zeros(players + 1, np.float32),
        new_outcome(robots, players, walks),
        new_scratch(robots),
        new_lots(),
        np.zeros(walks, np.uint32),
        np.zeros(walks, whole),
        np.zeros(walks, np.int32),
        np.zeros(walks, whole),
        np.zeros((walks, most), np.int32),
        np.zeros((walks, most, players), np.uint8),
        np.zeros((walks, most, players), np.uint8),
        np.zeros((walks, most, players), np.float32),
        np.zeros((walks, players)),
        np.zeros(1, whole),
        new_games(robots, walks),
        np.zeros(walks, whole),
        np.zeros(walks, np.int32),
        np.zeros(walks, whole),
    )


# --- positions ------------------------------------------------------------------------------------------------------------


@inlined
def _front(each: int, games: Games, g: int, p: int) -> int:
    """Place of a player's frontmost robot."""
    front = int(games.place[p * each, g])
    if each == 2:
        front = min(front, int(games.place[2 * p + 1, g]))
    return front


@inlined
def _role(each: int, games: Games, g: int, p: int) -> int:
    """The role of a player: how many players are ahead of it; `OUT` if its robot is out."""
    if games.limbs[p * each, g] == 0:
        return OUT
    if each == 1:
        return int(games.place[p, g])
    front, role = _front(each, games, g, p), 0
    for q in range(games.place.shape[0] // each):
        role += int(_front(each, games, g, q) < front)
    return role


@inlined
def _key(each: int, games: Games, g: int) -> np.uint64:
    """A number that tells the position of game `g` from all others, but for one in 2^63; never 0."""
    key = np.uint64(1)
    for r in range(games.place.shape[0]):
        if games.limbs[r, g] > 0:
            its = (np.uint64(games.place[r, g]) << np.uint64(16)) | (np.uint64(games.limbs[r, g]) << np.uint64(8))
            its |= np.uint64(games.hand[r, g])
            if each == 2:
                its |= np.uint64(_role(each, games, g, r // 2)) << np.uint64(24)
            key += random_bits(its, np.uint64(1 + int(games.rounds[g] == 0)))
    return key | np.uint64(1)


@lean_kernel
def position_keys(each: int, games: Games, keys: NDArray[np.uint64]) -> None:
    """The key of every position, `[G]`: the same for positions that differ in the numbers of the players alone."""
    for g in range(keys.shape[0]):
        keys[g] = _key(each, games, g)


@inlined
def _limbs_in_line(games: Games, g: int) -> int:
    limbs = 0
    for r in range(games.limbs.shape[0]):
        limbs += int(games.limbs[r, g])
    return limbs


@lean_kernel
def fill_known(keys: NDArray[np.uint64], values: NDArray[np.float32], known: KnownValues) -> None:
    """Put positions, by their keys `[G]`, and their values, `[G, P]`, into an empty table."""
    mask = np.uint64(known.keys.shape[0] - 1)
    for g in range(keys.shape[0]):
        at = keys[g] & mask
        while known.keys[at] != 0:
            at = (at + np.uint64(1)) & mask
        known.keys[at] = keys[g]
        for p in range(values.shape[1]):
            known.values[at, p] = values[g, p]


@inlined
def _find_known(known: KnownValues, key: np.uint64) -> np.int64:
    """Where a position stands in the table; -1 if nowhere."""
    mask = np.uint64(known.keys.shape[0] - 1)
    at = key & mask
    while known.keys[at] != 0:
        if known.keys[at] == key:
            return np.int64(at)
        at = (at + np.uint64(1)) & mask
    return np.int64(-1)


# --- trees ----------------------------------------------------------------------------------------------------------------


@inlined
def _find_node(trees: Trees, c: int, key: np.uint64) -> np.int64:
    """The place of a key in the hash table of tree `c`: where it stands, or could stand."""
    mask = np.uint64(trees.keys.shape[1] - 1)
    at = key & mask
    while trees.keys[c, at] != 0 and trees.keys[c, at] != key:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@inlined
def _add_node(each: int, cards: int, trees: Trees, c: int, at: np.int64, key: np.uint64, games: Games, g: int) -> int:
    """Make the position of game `g` the next node of tree `c`."""
    node = trees.size[c]
    trees.size[c] += 1
    trees.keys[c, at] = key
    trees.nodes[c, at] = node
    line = 0
    for r in range(games.limbs.shape[0]):
        line += int(games.limbs[r, g] > 0)
    players = trees.legal.shape[2]
    for p in range(players):
        trees.legal[c, node, p] = 0
    expected = np.float32(each) / np.float32(line)
    for p in range(players):
        role = _role(each, games, g, p)
        if role == OUT:
            continue
        if each == 1:
            trees.legal[c, node, role] = np.uint64(games.hand[p, g])
        else:
            ahead = 2 * p + int(games.place[2 * p + 1, g] < games.place[2 * p, g])
            behind = ahead ^ 1
            for card in range(cards):
                if (games.hand[ahead, g] >> card) & 1:
                    trees.legal[c, node, role] |= np.uint64(games.hand[behind, g]) << np.uint64(card * cards)
        for a in range(trees.regret.shape[3]):
            trees.regret[c, node, role, a] = 0
            trees.mean[c, node, role, a] = expected
            trees.tried[c, node, role, a] = 0
    return int(node)


@lean_kernel
def read_roots(
    view: View, observation: NDArray[np.float32], walks: Walks, keys: NDArray[np.uint64], roles: NDArray[np.int64]
) -> None:
    """The key of the position that each observation, `[B, D]`, shows, and the viewer's role in it; 0 and -1 for zeros."""
    for b in range(observation.shape[0]):
        keys[b], roles[b] = 0, -1
        roles[b] = _read_root(view, observation, b, walks, 0)
        if roles[b] >= 0:
            keys[b] = _key(view.robots_per_player, walks.fresh_games, 0)


@inlined
def _read_root(view: View, observation: NDArray[np.float32], b: int, walks: Walks, g: int) -> int:
    """Set new game `g` to what an observation shows, its players numbered by role, and say the viewer's role; -1 for zeros."""
    read, games, each = walks.games, walks.fresh_games, view.robots_per_player
    if read_position(view, observation, b, read.place[:, 0], read.limbs[:, 0], read.hand[:, 0]) == 0:
        return -1
    last = view.players - 1
    for p in range(view.players):
        player = _role(each, read, 0, p)
        if player == OUT:
            player = last
            last -= 1
        for k in range(each):
            r, to = p * each + k, player * each + k
            games.place[to, g], games.limbs[to, g], games.hand[to, g] = read.place[r, 0], read.limbs[r, 0], read.hand[r, 0]
    games.rounds[g] = np.uint8(not reads_first_round(view, observation, b))
    return _role(each, read, 0, 0)


@lean_kernel
def plant(view: View, observation: NDArray[np.float32], trees: Trees, walks: Walks) -> None:
    """Begin a tree for the position of each observation, `[C, D]`, none of which is zero; the roots are the new nodes."""
    each, games = view.robots_per_player, walks.fresh_games
    for c in range(observation.shape[0]):
        for i in range(trees.keys.shape[1]):
            trees.keys[c, i] = 0
        trees.size[c] = trees.done[c] = 0
        for p in range(trees.policy.shape[1]):
            for a in range(trees.policy.shape[2]):
                trees.policy[c, p, a] = 0
        _read_root(view, observation, c, walks, c)
        for r in range(games.place.shape[0]):
            trees.place[r, c], trees.limbs[r, c], trees.hand[r, c] = games.place[r, c], games.limbs[r, c], games.hand[r, c]
        trees.rounds[c] = games.rounds[c]
        trees.key[c] = _key(each, games, c)
        _add_node(each, view.cards, trees, c, _find_node(trees, c, trees.key[c]), trees.key[c], games, c)
        walks.fresh_tree[c], walks.fresh_node[c], walks.fresh_walk[c] = c, 0, -1
    walks.fresh[0] = observation.shape[0]


@inlined
def _positive(regret: np.float32) -> float:
    return float(regret) if regret > 0 else 0.0


@inlined
def _choose(each: int, cards: int, exploration: float, trees: Trees, walks: Walks, c: int, g: int, w: int) -> None:
    """Every player of game `g`, which is in a node of tree `c`, draws an action by its regrets."""
    games, node, depth = walks.games, walks.node[g], walks.length[w]
    walks.path[w, depth] = node
    for p in range(trees.legal.shape[2]):
        role = _role(each, games, g, p)
        walks.role[w, depth, p] = role
        if role == OUT:
            continue
        regret = trees.regret[c, node, role]
        legal, size, total, last = trees.legal[c, node, role], 0, 0.0, 0
        for a in range(regret.shape[0]):
            if (legal >> np.uint64(a)) & np.uint64(1):
                size += 1
                last = a
                total += _positive(regret[a])
        number = np.uint64(trees.done[c] + w % AT_A_TIME) << np.uint64(16) | np.uint64(depth << 8 | p)
        left = (random_bits(trees.key[c], ~number) >> np.uint64(11)) * 2.0**-53
        uniform, scale = exploration / size, 0.0
        if total > 0:
            scale = (1 - exploration) / total
        else:
            uniform = 1.0 / size
        chosen, chance = last, 0.0
        for a in range(regret.shape[0]):
            if (legal >> np.uint64(a)) & np.uint64(1):
                chance = uniform + scale * _positive(regret[a])
                left -= chance
                if left < 0:
                    chosen = a
                    break
        walks.action[w, depth, role] = chosen
        walks.chance[w, depth, role] = chance
        if each == 1:
            walks.cards[p, g] = np.uint8(1) << np.uint8(chosen)
        else:
            ahead = 2 * p + int(games.place[2 * p + 1, g] < games.place[2 * p, g])
            walks.cards[ahead, g] = np.uint8(1) << np.uint8(chosen // cards)
            walks.cards[ahead ^ 1, g] = np.uint8(1) << np.uint8(chosen % cards)
    walks.length[w] += 1


@inlined
def _move_up(walks: Walks, n: int) -> int:
    """Games that are done make room; returns how many are left."""
    games, m = walks.games, 0
    for g in range(n):
        if walks.walk[g] < 0:
            continue
        if g > m:
            for r in range(games.place.shape[0]):
                games.place[r, m], games.limbs[r, m], games.hand[r, m] = games.place[r, g], games.limbs[r, g], games.hand[r, g]
            games.rounds[m] = games.rounds[g]
            walks.seeds[m] = walks.seeds[g]
            walks.walk[m], walks.node[m] = walks.walk[g], walks.node[g]
        m += 1
    return m


@inlined
def _note_fresh(trees: Trees, walks: Walks, c: int, g: int, w: int) -> None:
    """Note a new node, and its position."""
    games, to = walks.games, walks.fresh_games
    i = walks.fresh[0]
    walks.fresh[0] += 1
    walks.fresh_tree[i], walks.fresh_node[i], walks.fresh_walk[i] = c, trees.size[c] - 1, w
    for r in range(games.place.shape[0]):
        to.place[r, i], to.limbs[r, i], to.hand[r, i] = games.place[r, g], games.limbs[r, g], games.hand[r, g]
    to.rounds[i] = games.rounds[g]


@inlined
def _walk(
    rules: Rules,
    view: View,
    count: int,
    exploration: float,
    plays_out: bool,
    known: KnownValues,
    trees: Trees,
    walks: Walks,
) -> None:
    """Walk `AT_A_TIME` simulations of each of the first `count` trees, to their ends; see `grow`."""
    each, players, cards = view.robots_per_player, view.players, view.cards
    games, outcome = walks.games, walks.outcome
    n = 0
    walks.fresh[0] = 0
    for c in range(count):
        for i in range(AT_A_TIME):
            w = c * AT_A_TIME + i
            for r in range(games.place.shape[0]):
                games.place[r, n], games.limbs[r, n], games.hand[r, n] = trees.place[r, c], trees.limbs[r, c], trees.hand[r, c]
            games.rounds[n] = trees.rounds[c]
            walks.walk[n], walks.node[n], walks.length[w] = w, 0, 0
            walks.seeds[n] = playout_seed(trees.key[c], trees.done[c] + i)
            n += 1
    turn = 0
    while n > 0:
        draw(games, walks.seeds, turn, walks.lots, walks.cards, n)
        turn += 1
        for g in range(n):
            if walks.walk[g] >= 0 and walks.node[g] >= 0:
                c = walks.walk[g] // AT_A_TIME
                _choose(each, cards, exploration, trees, walks, c, g, walks.walk[g])
        play_round(rules, games, walks.cards, walks.pays, np.float32(0), walks.scratch, outcome, 0, n)
        finished = 0
        for g in range(n):
            w = walks.walk[g]
            if w < 0:
                finished += 1
                continue
            if outcome.over[g]:
                for p in range(players):
                    walks.value[w, p] = outcome.finish[p, g] == 1
                walks.walk[g] = -1
                finished += 1
                continue
            ends = known.limbs > 0 and _limbs_in_line(games, g) <= known.limbs
            if not ends and walks.node[g] < 0:
                continue
            key = _key(each, games, g)
            at = _find_known(known, key) if ends else np.int64(-1)
            if at >= 0:
                for p in range(players):
                    role = _role(each, games, g, p)
                    walks.value[w, p] = 0.0 if role == OUT else float(known.values[at, role])
                walks.walk[g] = -1
                finished += 1
                continue
            if walks.node[g] < 0:
                continue
            c = w // AT_A_TIME
            place = _find_node(trees, c, key)
            if trees.keys[c, place] == key:
                walks.node[g] = trees.nodes[c, place]
                continue
            walks.node[g] = -1
            if trees.size[c] < trees.legal.shape[1]:
                _add_node(each, cards, trees, c, place, key, games, g)
                _note_fresh(trees, walks, c, g, w)
                if not plays_out:
                    walks.walk[g] = -1
                    finished += 1
        if finished == n:
            break
        if finished >= _MOVED * n:
            n = _move_up(walks, n)


@inlined
def _go_back(count: int, trees: Trees, walks: Walks) -> None:
    """See `go_back`."""
    players = trees.regret.shape[2]
    for c in range(count):
        for i in range(AT_A_TIME):
            w = c * AT_A_TIME + i
            trees.done[c] += 1
            for depth in range(walks.length[w] - 1, -1, -1):
                for p in range(players):
                    role = walks.role[w, depth, p]
                    if role != OUT:
                        _learn(trees, c, walks.path[w, depth], role, depth == 0, walks, w, depth, p)


@inlined
def _learn(trees: Trees, c: int, node: int, role: int, at_root: bool, walks: Walks, w: int, depth: int, p: int) -> None:
    """Player `p` learns in a node from one simulation, whose value then becomes what the player expects in this node.

    What an action would have won is estimated by its mean so far, and corrected, for the action that was played, by what it won
    this time over the chance with which it was played. That is without bias, and varies little. Regrets don't fall below 0 (RM+).
    """
    legal, regret, mean = trees.legal[c, node, role], trees.regret[c, node, role], trees.mean[c, node, role]
    played, won = walks.action[w, depth, role], walks.value[w, p]
    number, total = 0, 0.0
    for a in range(regret.shape[0]):
        if (legal >> np.uint64(a)) & np.uint64(1):
            number += 1
            total += _positive(regret[a])
    excess = (won - mean[played]) / walks.chance[w, depth, role]
    expected = 0.0
    for a in range(regret.shape[0]):
        if (legal >> np.uint64(a)) & np.uint64(1):
            chance = _positive(regret[a]) / total if total > 0 else 1.0 / number
            expected += chance * (mean[a] + (excess if a == played else 0.0))
            if at_root:  # later ones count more
                trees.policy[c, role, a] += trees.done[c] * chance
    for a in range(regret.shape[0]):
        if (legal >> np.uint64(a)) & np.uint64(1):
            regret[a] = max(regret[a] + mean[a] - expected + (excess if a == played else 0.0), 0.0)
    trees.tried[c, node, role, played] += 1
    mean[played] += (won - mean[played]) / trees.tried[c, node, role, played]
    walks.value[w, p] = expected


@lean_kernel
def grow(
    rules: Rules,
    view: View,
    count: int,
    times: int,
    exploration: float,
    plays_out: bool,
    goes_back: bool,
    known: KnownValues,
    trees: Trees,
    walks: Walks,
) -> None:
    """Simulate `times * AT_A_TIME` games in each of the first `count` trees.

    Args:
        rules: of the face-up variant.
        view: of its layout.
        count: trees.
        times: how often.
        exploration: part of the actions that is drawn uniformly.
        plays_out: whether new nodes are played out at random. If not, simulations end there, and what they won has yet to be
            written.
        goes_back: whether what was won goes back. If not, `go_back` has yet to be called.
        known: positions at which a simulation ends.
        trees: to which nodes are added.
        walks: overwritten.
    """
    for _ in range(times):
        _walk(rules, view, count, exploration, plays_out, known, trees, walks)
        if goes_back:
            _go_back(count, trees, walks)


@lean_kernel
def go_back(count: int, trees: Trees, walks: Walks) -> None:
    """Take what the simulations of the first `count` trees won back along their paths."""
    _go_back(count, trees, walks)


@lean_kernel
def write_priors(each: int, weight: float, policy: NDArray[np.float64], trees: Trees, walks: Walks) -> None:
    """Begin in the new nodes with a policy, `[F, P, A]` by player, as if it had been regretted so much not to play it."""
    for i in range(policy.shape[0]):
        c, node = walks.fresh_tree[i], walks.fresh_node[i]
        for p in range(policy.shape[1]):
            role = _role(each, walks.fresh_games, i, p)
            if role == OUT:
                continue
            for a in range(policy.shape[2]):
                trees.regret[c, node, role, a] = weight * policy[i, p, a]


@lean_kernel
def write_values(each: int, values: NDArray[np.float64], trees: Trees, walks: Walks) -> None:
    """Say what players win in the new nodes, `[F, P]` by player: the simulation that came there first, and its actions so far."""
    for i in range(values.shape[0]):
        c, node, w = walks.fresh_tree[i], walks.fresh_node[i], walks.fresh_walk[i]
        for p in range(values.shape[1]):
            if w >= 0:
                walks.value[w, p] = values[i, p]
            role = _role(each, walks.fresh_games, i, p)
            if role == OUT:
                continue
            for a in range(trees.mean.shape[3]):
                trees.mean[c, node, role, a] = values[i, p]
