"""One agent at one task: every table of the protocol, and the truth where it can be known."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import check_agents, content_digest, is_code, load_agent
from getbit_env.benchmark.protocol import BUDGETS, PROTOCOL, SEED, opponents_of, protocol_digest, starts_of, tables_of
from getbit_env.benchmark.results import Kind, Status, TableResult, TaskResult, Truth
from getbit_env.core.agent import Agent
from getbit_env.core.choices import did_you_mean
from getbit_env.core.provenance import provenance
from getbit_env.core.spec import Variant
from getbit_env.game_registry import find_variant, game_of
from getbit_env.match.runner import LEAST_STARTS, MatchResult, play_match
from getbit_env.version import __version__

THE_AGENT = "the agent"  # its name at all tables: at that of its like, its seat is still one of its own

Progress = Callable[[str, int, int], None]
Bound = Callable[[Agent, Variant, int, int], float]


class Timed:
    """An agent, and how long it takes. In all else it is the agent that it is made of."""

    seconds: float
    decisions: int

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.seconds, self.decisions = 0.0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `Agent`."""
        self._agent.reset(layout, begins, seed)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `Agent`."""
        self.decisions += int((action_mask.sum(axis=1) < action_mask.shape[1]).sum())  # rows that look on have a mask of ones
        begin = time.perf_counter()
        try:
            return self._agent.act(observation, action_mask)
        finally:
            self.seconds += time.perf_counter() - begin


def settings_of(agent: str, task: str, budget: str, *, truth: bool = True, bound: bool = False) -> dict[str, Any]:
    """All that the result of a task depends on; equal settings give equal results.

    Args:
        agent: its name.
        task: name of the variant.
        budget: name of the budget.
        truth: whether the exact gain is computed.
        bound: whether a lower bound is trained where it can't be.

    Returns:
        For JSON. `unchecked` says that the agent is code, whose changes are seen in its own file alone.
    """
    try:
        content = content_digest(agent, find_variant(task))
    except ValueError:  # what it plays from is not there: it can't play, which the task says
        content = None
    return {
        "protocol": PROTOCOL,
        "protocol_digest": protocol_digest(),
        "getbit_env": __version__,
        "agent": agent,
        "content": content,
        "unchecked": is_code(agent),
        "task": task,
        "budget": budget,
        "truth": truth,
        "lower_bound": bound and BUDGETS[budget].bound_frames > 0,
    }


def play_task(
    agent: str,
    task: str,
    budget: str = "quick",
    *,
    truth: bool = True,
    bound: Bound | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> TaskResult:
    """Play a task.

    Args:
        agent: a name that `load_agent` knows.
        task: one of `TASKS`.
        budget: one of `BUDGETS`.
        truth: whether to compute the exact gain.
        bound: finds a lower bound where that is not possible, called with the agent, the variant, decisions to train on and a
            seed; it returns the gain that is certain. None: no bound is looked for.
        threads: that compute the exact gain.
        progress: called with what is done, how many tables of it, and how many there are.

    Returns:
        The result. An agent that can't play the task, or fails at it, has no numbers, and `reason` says why.

    Raises:
        ValueError: nothing is called so.
    """
    if budget not in BUDGETS:
        raise ValueError(f"budget is one of {', '.join(BUDGETS)}, not {budget!r}{did_you_mean(budget, BUDGETS)}")
    variant: Variant = find_variant(task)
    loaded = load_agent(agent)
    settings = settings_of(agent, task, budget, truth=truth, bound=bound is not None)
    about = provenance(game_of(variant).id)
    try:
        check_agents({agent: loaded}, variant)
    except ValueError as error:
        return TaskResult(task, agent, budget, settings, Status.UNFIT, str(error), about=about)
    if progress is not None:
        progress(f"{task}: getting the opponents ready", 0, 0)  # a best response is computed if none is kept
    check_agents({name: load_agent(name) for name in opponents_of(task)}, variant)
    timed, tables = Timed(loaded), tables_of(task)
    played: list[TableResult] = []
    _play(timed, tables[0], variant, LEAST_STARTS)  # compiles and loads what the agent needs, which is not its time to decide
    timed.seconds, timed.decisions = 0.0, 0
    for number, others in enumerate(tables):
        if progress is not None:
            progress(f"{agent} on {task}", number, len(tables))
        result = _play(timed, others, variant, starts_of(others, BUDGETS[budget]))
        played.append(_table(agent, others, result))
        if result.failure is not None and result.failure.agent == THE_AGENT:
            break  # it fails again elsewhere, or not: the task has no numbers either way
    if progress is not None:
        progress(f"{agent} on {task}", len(played), len(tables))
    lost = [f"at the table of {table.name}: {table.failure}" for table in played if table.failure]
    status = Status.FAILED if lost else Status.PLAYED
    known = Truth(Kind.UNKNOWN, note="the task was not played")
    if not lost:
        known = truth_of(agent, loaded, variant, budget, truth, bound, threads)
    mean = 1e6 * timed.seconds / timed.decisions if timed.decisions else 0.0
    return TaskResult(task, agent, budget, settings, status, "; ".join(lost), tuple(played), known, timed.decisions, mean, about)


def _play(agent: Agent, others: tuple[str, ...], variant: Variant, starts: int) -> MatchResult:
    return play_match([THE_AGENT, *others], variant, agents={THE_AGENT: agent}, starts=starts, seed=SEED)


def _table(agent: str, others: tuple[str, ...], result: MatchResult) -> TableResult:
    if result.failure is not None:
        who = agent if result.failure.agent == THE_AGENT else result.failure.agent
        return TableResult(others, 0, None, None, (), f"{who} failed: {result.failure.reason}")
    mine = result[THE_AGENT]
    return TableResult(others, result.starts, mine.win, mine.payoff, mine.places)


def truth_of(name: str, agent: Agent, variant: Variant, budget: str, exact: bool, bound: Bound | None, threads: int) -> Truth:
    """What a best response gains on an agent: exactly where that is possible, else a bound, else why neither is known."""
    chosen = BUDGETS[budget]
    if not exact:
        return Truth(Kind.UNKNOWN, note="not asked for")
    try:
        return _exact(name, agent, variant, chosen.positions, threads)
    except ValueError as error:
        reason = str(error)
    if chosen.bound_frames == 0:
        return Truth(Kind.UNKNOWN, note=f"{reason}; the budget {budget} trains no lower bound")
    if bound is None:
        return Truth(Kind.UNKNOWN, note=f"{reason}; no lower bound was looked for")
    try:
        found = bound(agent, variant, chosen.bound_frames, SEED)
    except ValueError as error:
        return Truth(Kind.UNKNOWN, note=f"{reason}; no lower bound: {error}")
    return Truth(Kind.LOWER_BOUND, found, None, f"a responder trained on {chosen.bound_frames:,} decisions, 95 %; {reason}")


def _exact(name: str, agent: Agent, variant: Variant, most: int, threads: int) -> Truth:
    """The exact gain.

    Raises:
        ValueError: it can't be computed, or not in this budget.
    """
    from getbit_env.exact import as_face_up, exploitability  # here, since it compiles the solver's kernels
    from getbit_env.exact.best_response import require_markov_policy
    from getbit_env.get_bit import variants as get_bit

    if not isinstance(variant, get_bit.Variant):
        raise ValueError(f"no best response is computed in {game_of(variant)}")
    judged, face_up = as_face_up(agent, variant, name)
    require_markov_policy(judged, face_up, name)
    if face_up.name not in POSITIONS:
        raise ValueError(f"this protocol judges {', '.join(POSITIONS)} exactly, not {face_up}")
    if (known := POSITIONS[face_up.name]) > most:
        raise ValueError(f"{face_up} has {known:,} positions, and this budget judges at most {most:,}")
    result = exploitability(judged, _positions(face_up, threads), name=name, threads=threads)
    where = f"in {face_up}, which is {variant} with perfect recall" if face_up != variant else ""
    return Truth(Kind.EXACT, result.gain, result.nash_conv, where)


# How many positions the tasks have that are judged exactly (`docs/exact.md`); counting them takes as long as numbering them.
POSITIONS = {"2p": 709_278, "4p": 329_800, "4p-half": 7_862_499}


@lru_cache(maxsize=1)  # several agents are judged in the same game one after another
def _positions(variant: Any, threads: int) -> Any:
    from getbit_env.exact import Positions

    return Positions(variant, threads=threads)
