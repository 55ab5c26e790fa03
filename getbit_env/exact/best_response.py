"""How much a perfect opponent gains on an agent: exact best responses and exploitability.

One player, the *responder*, knows the agent and plays to win; a copy of the agent plays for each of the others. The agent's choice
depends on the position alone, so the responder's best choice does too. One pass over the waves of `positions`, the last rounds
first, gives its value.

Values are in -1..1 with two players, and chances of winning with more. Axes as in `positions`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.exact.positions import (
    AT_ONCE,
    Expansion,
    Index,
    Positions,
    Progress,
    Workers,
    check_numbered,
    expand,
    new_expansion,
    silent,
)
from getbit_env.exact.ram import need_memory
from getbit_env.get_bit.notation import Game, print_game, robot_name
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.get_bit.variants import Variant

_CHUNK = 4096  # positions of one question
_SAMPLE = 4096  # positions of the questions that are asked twice
_LONG = 600  # seconds of asking after which the user is told
INSTEAD = "`getbit lower-bound` trains an opponent against it instead, whose gain is a lower bound"
SAME = 1e-5  # probabilities that differ by less are the same; networks round differently in batches of different size


class AgentError(ValueError):
    """The agent can't be judged exactly; the message says why, and what can be done instead."""


class MarkovAgent(Protocol):
    """An agent with `probabilities`, see `getbit_env.core.agent.Agent`."""

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`."""

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `getbit_env.core.agent.Agent`."""


# --- kernels --------------------------------------------------------------------------------------------------------------


class ResponseWorkspace(NamedTuple):
    """What one thread works in."""

    expansion: Expansion
    chance: NDArray[np.float64]  # [P, A] of each choice of each player, in the order of `expand`
    action: NDArray[np.int64]  # [P, A] the action that it is
    choices: NDArray[np.int64]  # [P] how many
    picked: NDArray[np.int64]  # [P] one choice each
    to_best: NDArray[np.float64]  # [P, A] what each choice is worth if its player goes on with best responses
    to_own: NDArray[np.float64]  # [P, A] likewise if it goes on as the agent


def new_response_workspace(index: Index) -> ResponseWorkspace:
    """A workspace for positions of this numbering."""
    actions = int(index.rules.deck).bit_count() ** index.rules.robots_per_player
    return workspace_of(index.players, actions, new_expansion(index))


def workspace_of(players: int, actions: int, expansion: Expansion) -> ResponseWorkspace:
    """A workspace for positions that are expanded in `expansion`."""
    return ResponseWorkspace(
        expansion,
        np.zeros((players, actions)),
        np.zeros((players, actions), np.int64),
        np.zeros(players, np.int64),
        np.zeros(players, np.int64),
        np.zeros((players, actions)),
        np.zeros((players, actions)),
    )


@kernel
def low_bit(mask: np.uint8) -> int:
    """Number of the lowest bit, 0 for none."""
    number = 0
    while mask > 1:
        mask >>= 1
        number += 1
    return number


@kernel
def _list_choices(k: int, policy: NDArray[np.float64], workspace: ResponseWorkspace) -> None:
    """The players' choices in position `k` of those just expanded, and how likely the agent, `[P, A]`, makes each."""
    expansion, players = workspace.expansion, workspace.choices.shape[0]
    each, cards = expansion.options.shape[1] // players, expansion.options.shape[2]
    for p in range(players):
        n = 0
        for i in range(expansion.choices[k, p * each]):
            for j in range(expansion.choices[k, 2 * p + 1] if each == 2 else 1):
                action = low_bit(expansion.options[k, p * each, i])
                if each == 2:
                    action = action * cards + low_bit(expansion.options[k, 2 * p + 1, j])
                workspace.action[p, n] = action
                workspace.chance[p, n] = policy[p, action]
                n += 1
        if expansion.options[k, p * each, 0] == 0:  # it is out
            workspace.chance[p, 0] = 1
        workspace.choices[p] = n


@kernel
def respond(
    first: int,
    last: int,
    policy: NDArray[np.float64],
    best: NDArray[np.float64],
    own: NDArray[np.float64],
    leak: NDArray[np.float64],
    regret: NDArray[np.float64],
    answer: NDArray[np.uint8],
    workspace: ResponseWorkspace,
) -> None:
    """Fill in the positions `first:last`, which were just expanded, and whose successors are known.

    Args:
        first: number of the first position.
        last: the one after the last.
        policy: `[last - first, P, A]`, the agent.
        best: `[N + 1, P]`, to each role if it plays a best response from here on, and all others are the agent.
        own: `[N + 1, P]`, to each role if it is the agent as well.
        leak: `[N, P]`, what the agent's choice loses in this one round if its player goes on with best responses.
        regret: `[N]`, the most that any role gains by another choice in this one round, if all go on as the agent.
        answer: `[N, P]`, the responder's action.
        workspace: of the thread.
    """
    expansion, picked = workspace.expansion, workspace.picked
    players = workspace.choices.shape[0]
    for number in range(first, last):
        k = number - first
        _list_choices(k, policy[k], workspace)
        workspace.to_best[:] = 0
        workspace.to_own[:] = 0
        regret[number] = 0
        own[number] = 0
        picked[:] = 0
        for g in range(expansion.joint[k]):
            never = 0
            for p in range(players):
                never += workspace.chance[p, picked[p]] == 0
            if never <= 1:
                successor = expansion.successor[k, g]
                for p in range(players):
                    others = 1.0
                    for q in range(players):
                        if q != p:
                            others *= workspace.chance[q, picked[q]]
                    role = expansion.role[k, p, g]
                    workspace.to_best[p, picked[p]] += others * best[successor, role]
                    workspace.to_own[p, picked[p]] += others * own[successor, role]
                    own[number, p] += others * workspace.chance[p, picked[p]] * own[successor, role]
            for p in range(players - 1, -1, -1):  # the next joint choice
                picked[p] += 1
                if picked[p] < workspace.choices[p]:
                    break
                picked[p] = 0
        for p in range(players):
            top, mean = 0, 0.0
            for i in range(workspace.choices[p]):
                mean += workspace.chance[p, i] * workspace.to_best[p, i]
                if workspace.to_best[p, i] > workspace.to_best[p, top]:
                    top = i
                regret[number] = max(regret[number], workspace.to_own[p, i] - own[number, p])
            best[number, p] = workspace.to_best[p, top]
            leak[number, p] = best[number, p] - mean
            answer[number, p] = workspace.action[p, top]


@kernel
def spread_reach(
    numbers: NDArray[np.int64], policy: NDArray[np.float64], reach: NDArray[np.float64], workspace: ResponseWorkspace
) -> None:
    """Add to `reach`, `[N + 1]`, how likely the successors of positions just expanded, `[G]`, are met when all are the agent."""
    expansion, picked = workspace.expansion, workspace.picked
    players = workspace.choices.shape[0]
    for k in range(numbers.shape[0]):
        _list_choices(k, policy[k], workspace)
        picked[:] = 0
        for j in range(expansion.joint[k]):
            chance = reach[numbers[k]]
            for p in range(players):
                chance *= workspace.chance[p, picked[p]]
            reach[expansion.successor[k, j]] += chance
            for p in range(players - 1, -1, -1):
                picked[p] += 1
                if picked[p] < workspace.choices[p]:
                    break
                picked[p] = 0


# --- asking the agent -----------------------------------------------------------------------------------------------------


def require_markov_policy(agent: Any, variant: Variant, name: str = "the agent") -> None:
    """`check_policy`, and refuse a variant whose positions are not numbered.

    Raises:
        AgentError: see `check_policy`.
        ValueError: positions of the variant are not numbered, or the agent does not play it.
    """
    check_numbered(variant)
    check_policy(agent, variant, name)


def check_policy(agent: Any, variant: Variant, name: str = "the agent") -> None:
    """Refuse an agent that is seen at once not to play by the position alone; get any other ready.

    Args:
        agent: see `MarkovAgent`.
        variant: of the game.
        name: of the agent, for messages.

    Raises:
        AgentError: it has no `probabilities` and is not deterministic, or looks at more than the position.
        ValueError: the agent does not play the variant.
    """
    if isinstance(agent, str):
        raise TypeError(f"the agent is an object, such as `load_agent({agent!r})` gives, not a name")
    if not callable(getattr(agent, "probabilities", None)) and not is_judged_by_actions(agent):
        raise AgentError(
            f"{name} has no `probabilities`, so its play is not known to depend on the position alone. If it does, give it "
            "`probabilities`, or `deterministic = True` if it draws nothing by lot, or make an agent of a function that returns "
            f"probabilities or actions, `getbit_env.as_agent(function)`; if not, {INSTEAD}"
        )
    if (getattr(agent, "options", None) or Options()) != Options():
        raise AgentError(f"{name} looks at more than the position ({agent.options}); {INSTEAD}")
    agent.reset(Layout(variant), np.ones(1, np.bool_), 0)


def is_judged_by_actions(agent: Any) -> bool:
    """Whether an agent is deterministic and does not say more: what it plays has the probability 1."""
    return getattr(agent, "deterministic", False) is True and not hasattr(agent, "probabilities")


class _ByActions:
    """A deterministic agent with `probabilities`.

    It is reset for another number of rows alone. So one that remembers anything answers differently when it is asked again.
    """

    def __init__(self, agent: Any, layout: Layout, name: str) -> None:
        self._agent, self._layout, self._name, self._rows = agent, layout, name, 0

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `MarkovAgent`."""
        rows, actions = action_mask.shape
        if rows != self._rows:
            self._agent.reset(self._layout, np.ones(rows, np.bool_), 0)
            self._rows = rows
        played = np.asarray(self._agent.act(observation, action_mask))
        if played.shape != (rows,) or played.dtype.kind not in "iu" or (rows and not 0 <= played.min() <= played.max() < actions):
            raise AgentError(f"{self._name} answers {rows} questions with {played.dtype} {played.shape}, not an action each")
        made: NDArray[np.float64] = np.eye(actions)[played]
        return made


class Asked(Protocol):
    """Positions about which an agent is asked, such as `Positions`."""

    variant: Variant

    @property
    def count(self) -> int:
        """How many there are."""

    def see(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """See `Positions.see`."""


class AskedPolicy:
    """An agent that is asked about positions, one question at a time, and held to being a policy.

    Attributes:
        positions: of the game.
        name: of the agent, for messages.
        seconds: about how long it takes to ask about every position once.
    """

    positions: Asked
    name: str
    seconds: float

    def __init__(self, agent: Any, positions: Asked, name: str = "the agent", *, sample: int = _SAMPLE) -> None:
        """Get the agent ready, and ask it the same questions twice.

        Args:
            agent: see `MarkovAgent`.
            positions: of the game.
            name: of the agent, for messages.
            sample: positions of the questions that are asked twice.

        Raises:
            AgentError: it answers differently, or with something else than distributions over legal actions.
        """
        self.positions, self.name = positions, name
        self._lock = threading.Lock()
        check_policy(agent, positions.variant, name)
        self._agent = _ByActions(agent, Layout(positions.variant), name) if is_judged_by_actions(agent) else agent
        numbers = np.linspace(0, positions.count - 1, min(positions.count, sample)).astype(np.int64)
        observation, mask = positions.see(numbers)
        alive = observation.any(axis=-1)
        observation, mask = observation[alive], mask[alive]
        seconds = []
        answers = []
        for order in (slice(None), slice(None, None, -1)):  # the first question compiles kernels where need be
            begun = time.perf_counter()
            answers.append(self._ask(observation[order].copy(), mask[order].copy())[order])
            seconds.append(time.perf_counter() - begun)
        if np.abs(answers[0] - answers[1]).max() > SAME:
            raise AgentError(f"{name} answers the same question differently: it depends on more than the position; {INSTEAD}")
        self.seconds = min(seconds) * positions.count / len(numbers)

    def policy(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """The agent in each role of some positions: `[G, P, A]`, zero for players who are out.

        Raises:
            AgentError: what it answers is no distribution over legal actions.
        """
        observation, mask = self.positions.see(numbers)
        alive = observation.any(axis=-1)
        policy = np.zeros(mask.shape)
        with self._lock:
            policy[alive] = self._ask(observation[alive], mask[alive])
        return policy

    def _ask(self, observation: NDArray[np.float32], mask: NDArray[np.int8]) -> NDArray[np.float64]:
        answer = np.array(self._agent.probabilities(observation, mask), np.float64)
        if answer.shape != mask.shape:
            raise AgentError(
                f"{self.name} answers {len(mask)} questions with probabilities of shape {answer.shape}, not {mask.shape}"
            )
        illegal = np.where(mask == 0, answer, 0).sum(axis=1)
        wrong = ~(np.isfinite(answer).all(axis=1) & (answer.min(axis=1) >= 0) & (abs(answer.sum(axis=1) - 1) < SAME))
        for rows, what in ((wrong, "no distribution"), (illegal > SAME, "a distribution over illegal actions as well")):
            if rows.any():
                row = int(rows.argmax())
                raise AgentError(
                    f"{self.name} answers with {what}: {answer[row].tolist()}, legal {np.flatnonzero(mask[row]).tolist()}"
                )
        answer[mask == 0] = 0
        answer /= answer.sum(axis=1, keepdims=True)
        return answer


# --- best responses -------------------------------------------------------------------------------------------------------


class Leak(NamedTuple):
    """What an agent loses in some of the rounds of a game, see `Exploitability.leaks`."""

    robots: int  # in the line
    limbs: int  # of all robots together, before the round
    gain: float


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """How much a best response gains on an agent.

    Attributes:
        name: of the agent.
        best: `[starts, P]`, to a best response in each role of each position before the first round.
        own: `[starts, P]`, to the agent in that role.
        leaks: where the mean gain comes from: a part for each number of robots and limbs, which sum to it. A part is what the
            agent's choices lose in those rounds of games between agents, if their player goes on with best responses.
        regret: the most that any role gains by another choice in any one position, if all go on as the agent.
        seconds: that it took.
    """

    name: str
    best: NDArray[np.float64]
    own: NDArray[np.float64]
    leaks: list[Leak]
    regret: float
    seconds: float

    @property
    def variant(self) -> Variant:
        """The game in which the agent was judged."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Positions of the game."""
        raise NotImplementedError

    @property
    def gain(self) -> float:
        """What a best response gains on average over starting lines and places."""
        return float((self.best - self.own).mean())

    @property
    def most_gain(self) -> float:
        """What a best response gains in the starting line and place where it gains most."""
        return float((self.best - self.own).max())

    @property
    def nash_conv(self) -> float:
        """The gains of all players together, on average over starting lines."""
        return float((self.best - self.own).sum(axis=1).mean())


@dataclass(frozen=True, kw_only=True)
class Exploitability(Judgement):
    """The exact result.

    Attributes:
        positions: the numbering.
        answer: `[N, P]` uint8, the best response: an action for every position and role.
        values: `[N + 1, P]`, what the best response is worth from every position on.
        own_values: `[N + 1, P]`, likewise the agent.
        leak: `[N, P]`, what the agent's choice in each position loses, if its player goes on with best responses.
        reach: `[N + 1]`, how likely each position is met in a game between agents, all starting lines being as likely.
    """

    positions: Positions
    answer: NDArray[np.uint8]
    values: NDArray[np.float64]
    own_values: NDArray[np.float64]
    leak: NDArray[np.float64]
    reach: NDArray[np.float64]

    @property
    def variant(self) -> Variant:
        """The game in which the agent was judged."""
        return self.positions.variant

    @property
    def count(self) -> int:
        """Positions of the game."""
        return self.positions.count


def as_face_up(agent: Any, variant: Variant, name: str = "the agent") -> tuple[Any, Variant]:
    """The agent and the face-up game in which an agent of a memory game can be judged.

    With perfect recall both are the same game (G7.3). A best response loses nothing by remembering as well.

    Args:
        agent: any.
        variant: in which it plays.
        name: of the agent, for messages.

    Raises:
        AgentError: it plays a memory game without the perfect recall that is known to make it the face-up game.

    Examples:
        >>> from getbit_env import load_agent, parse_variant
        >>> from getbit_env.exact import as_face_up
        >>> agent, variant = as_face_up(load_agent("recall:counter"), parse_variant("4p-memory"))
        >>> print(variant)
        4p
    """
    if not variant.memory:
        return agent, variant
    if not isinstance(agent, PerfectRecall):
        raise AgentError(
            f"{name} has no perfect recall (as `recall:{name}` has), so in {variant} it may forget, which is not "
            f"judged exactly; {INSTEAD}"
        )
    return agent.agent, replace(variant, memory=False)


def exploitability(
    agent: Any,
    positions: Positions,
    *,
    name: str = "the agent",
    threads: int = 1,
    progress: Progress = silent,
    say: Callable[[str], None] = lambda _text: None,
) -> Exploitability:
    """Judge an agent exactly.

    Args:
        agent: has `reset` and `probabilities` (see `getbit_env.core.agent.Agent`), or is `deterministic`, and reads the default
            face-up observation.
        positions: of the game.
        name: of the agent.
        threads: that work at the same time; the agent is asked by one at a time, and the result does not depend on it.
        progress: is told how far it is.
        say: is told if the agent is so slow that this takes long.

    Returns:
        Best-response values, the best response, and where the agent leaks.

    Raises:
        AgentError: the agent can't be judged exactly.
        TypeError: `agent` or `positions` is a name.
        ValueError: the memory of this machine is too small for it.

    Examples:
        >>> from getbit_env import load_agent, parse_variant
        >>> from getbit_env.exact import Positions, exploitability
        >>> result = exploitability(load_agent("counter"), Positions(parse_variant("3p-1r-4c-1l")), name="counter")
        >>> print(f"a best response gains {result.gain:.3f}, NashConv {result.nash_conv:.3f}")
        a best response gains 0.167, NashConv 0.500
    """
    if not isinstance(positions, Positions):
        raise TypeError(f"positions are `Positions(parse_variant('4p'))`, for example, not {positions!r}")
    begun = time.perf_counter()
    index, count, players = positions.index, positions.count, positions.variant.players
    need_memory(
        count * (players * (3 * 8 + 1) + 2 * 8), f"the best response to {name} in the {count:,} positions of {positions.variant}"
    )
    asked = AskedPolicy(agent, positions, name)
    if asked.seconds > _LONG:
        say(f"{name} is slow: to ask it about all positions, twice, takes about {2 * asked.seconds / 60:.0f} minutes. {INSTEAD}")
    best, own = np.zeros((count + 1, players)), np.zeros((count + 1, players))
    best[count] = own[count] = end_values(positions.variant)
    leak, regret, answer = np.zeros((count, players)), np.zeros(count), np.zeros((count, players), np.uint8)
    workers = Workers(lambda: new_response_workspace(index), threads)

    def judge(begin: int, end: int, workspace: ResponseWorkspace) -> None:
        policy = asked.policy(np.arange(begin, end))
        for some in range(begin, end, AT_ONCE):
            stop = min(some + AT_ONCE, end)
            expand(index, np.arange(some, stop), workspace.expansion)
            respond(some, stop, policy[some - begin : stop - begin], best, own, leak, regret, answer, workspace)

    for wave in range(positions.waves - 1, -1, -1):
        first, last = int(positions.first[wave]), int(positions.first[wave + 1])

        def tick(end: int, first: int = first, last: int = last) -> None:
            progress("best response", count - last + (end - first), count)

        workers.run(judge, first, last, _CHUNK, tick)

    reach = np.zeros(count + 1)
    reach[positions.starts] = 1 / len(positions.starts)
    workspace = new_response_workspace(index)
    leaks: dict[tuple[int, int], float] = {}
    for wave in range(positions.waves):
        first, last = int(positions.first[wave]), int(positions.first[wave + 1])
        met = first + np.flatnonzero(reach[first:last])
        robots = np.zeros(len(met), np.int64)
        for begin in range(0, len(met), _CHUNK):
            some = met[begin : begin + _CHUNK]
            policy = asked.policy(some)
            for i in range(0, len(some), AT_ONCE):
                expand(index, some[i : i + AT_ONCE], workspace.expansion)
                spread_reach(some[i : i + AT_ONCE], policy[i : i + AT_ONCE], reach, workspace)
            robots[begin : begin + _CHUNK] = (positions.games(some).limbs > 0).sum(axis=0)
            progress("leaks", int(some[-1]) + 1, count)
        lost = reach[met] * leak[met].mean(axis=1)
        limbs = positions.variant.robots * positions.variant.limbs - max(wave - 1, 0)
        for n in np.unique(robots)[::-1].tolist():
            leaks[n, limbs] = leaks.get((n, limbs), 0.0) + float(lost[robots == n].sum())
    starts = positions.starts
    parts = [Leak(n, limbs, gain) for (n, limbs), gain in leaks.items()]
    seconds = time.perf_counter() - begun
    return Exploitability(
        name=name,
        best=best[starts],
        own=own[starts],
        leaks=parts,
        regret=float(regret.max()),
        seconds=seconds,
        positions=positions,
        answer=answer,
        values=best,
        own_values=own,
        leak=leak,
        reach=reach,
    )


def end_values(variant: Variant) -> NDArray[np.float64]:
    """What the end of a game is worth to the role of each finishing place: `[P]`, first place first."""
    values = np.zeros(variant.players)
    values[0] = 1
    if variant.players == 2:
        values[1] = -1
    return values


def exploiting_line(result: Exploitability, agent: Any) -> str:
    """A game in which the agent is exploited: where most is gained, the best response against the agent's likeliest cards.

    Args:
        result: what `exploitability` found.
        agent: the agent.

    Returns:
        The game in the notation, with a comment before each round: the value of the position to the responder,
        and to the agent in its place.

    Examples:
        >>> from getbit_env import load_agent, parse_variant
        >>> from getbit_env.exact import Positions, exploitability, exploiting_line
        >>> agent = load_agent("counter")
        >>> result = exploitability(agent, Positions(parse_variant("3p-1r-4c-1l")), name="counter")
        >>> print(exploiting_line(result, agent).splitlines()[1])
        # B: 0.500, counter in its place 0.312
    """
    positions = result.positions
    asked = AskedPolicy(agent, positions, result.name)
    workspace = new_response_workspace(positions.index)

    def meet(number: int) -> Met[int]:
        numbers = np.array([number])
        expand(positions.index, numbers, workspace.expansion)

        def follow(joint: int) -> int | None:
            successor = int(workspace.expansion.successor[0, joint])
            return successor if successor < positions.count else None

        return Met(
            place=positions.games(numbers).place[:, 0],
            best=result.values[number],
            own=result.own_values[number],
            answer=result.answer[number],
            policy=asked.policy(numbers)[0],
            workspace=workspace,
            follow=follow,
        )

    number, role = (int(i) for i in np.unravel_index((result.best - result.own).argmax(), result.best.shape))
    return line_of(positions.variant, result.name, meet, number, role)


N = TypeVar("N")


class Met(NamedTuple, Generic[N]):
    """A position that a line comes to."""

    place: NDArray[np.uint8]  # [R] of each robot, the robots numbered by role
    best: NDArray[np.float64]  # [P] to a best response in each role
    own: NDArray[np.float64]  # [P] to the agent
    answer: NDArray[np.uint8]  # [P] the best response's action
    policy: NDArray[np.float64]  # [P, A] of the agent
    workspace: ResponseWorkspace  # in which it was just expanded, as the first one
    follow: Callable[[int], N | None]  # the position that follows a joint choice, None for the end of the game


def line_of(variant: Variant, name: str, meet: Callable[[N], Met[N]], node: N | None, role: int) -> str:
    """The game of a best response against the agent's likeliest cards.

    Args:
        variant: the game.
        name: of the agent.
        meet: what there is to know of a position.
        node: the position at which the game begins, as `meet` takes it.
        role: of the responder in it.

    Returns:
        See `exploiting_line`.
    """
    each = variant.robots_per_player
    player, comments, rounds, start = role, [], [], list[int]()
    line = np.zeros(0, np.int64)
    while node is not None:
        met = meet(node)
        workspace, place = met.workspace, met.place
        if not start:
            line = np.argsort(place)  # the robot in each place, by its name in this game
            start = line.tolist()
        comments.append(f"# {robot_name(variant, player * each)}: {met.best[role]:.3f}, {name} in its place {met.own[role]:.3f}")
        _list_choices(0, met.policy, workspace)
        joint = 0
        for p, choices in enumerate(workspace.choices):
            answers = workspace.action[p, :choices] == met.answer[p] if p == role else workspace.chance[p, :choices]
            joint = joint * int(choices) + int(np.argmax(answers))
        after, cards = workspace.expansion.games.place[:, joint], workspace.expansion.cards[:, joint]
        played = np.zeros(variant.robots, int)
        played[line[place]] = [int(card).bit_length() for card in cards]
        rounds.append(played.tolist())
        moved = line.copy()
        moved[after] = line[place]
        line = moved
        node, role = met.follow(joint), int(workspace.expansion.role[0, role, joint])
    head, *rest = print_game(Game(variant, start, rounds)).splitlines()
    lines = [head]
    for k, text in enumerate(rest):
        lines += [*comments[k : k + 1], text]
    return "\n".join(lines) + "\n"
