"""Exact best responses as agents: `best-response:NAME` plays what wins most against NAME in all other seats.

What was computed is kept in the cache folder, as solved games are (`getbit_env.exact.cache_folder`). It is computed again if the
rules or the weights of the agent have changed, or, for a bot, any kernel of the package.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import check_agents, content_digest, is_code
from getbit_env.core.agent import Agent
from getbit_env.core.compiled import kernel_sources_digest
from getbit_env.core.files import owned
from getbit_env.exact.agents import BestResponse, PositionAgent
from getbit_env.exact.best_response import exploitability, require_markov_policy
from getbit_env.exact.positions import Positions
from getbit_env.exact.stored_results import StoredResultError, cache_folder
from getbit_env.get_bit.variants import Variant


class ComputedResponse(PositionAgent):
    """A best response to an agent, in any variant whose positions are numbered.

    It is computed when it is first asked whether it can play (`check_layout`), if it is not kept yet: half a minute in 4p.

    Attributes:
        against: the agent.
        against_name: as `load_agent` knows it.
    """

    against: Agent
    against_name: str
    name: str
    deterministic = True

    def __init__(self, against: Agent, name: str) -> None:
        self.against, self.against_name, self.name = against, name, f"best-response:{name}"
        self._response: BestResponse | None = None

    def positions_of(self, variant: Variant) -> Positions:
        """See `PositionAgent`."""
        if self._response is None or self._response.positions.variant != variant:
            self._response = best_response_to(self.against, self.against_name, variant)
        return self._response.positions

    def policy(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `PositionAgent`."""
        assert self._response is not None
        return self._response.policy(numbers, roles)


def respond_to(agent: Agent, name: str) -> ComputedResponse:
    """What `best-response:` before a name makes of the agent of that name."""
    return ComputedResponse(agent, name)


def best_response_to(agent: Agent, name: str, variant: Variant, *, threads: int = 1, progress: Any = None) -> BestResponse:
    """A best response, read from the cache folder or written there.

    Args:
        agent: has `probabilities`, see `getbit_env.core.agent.Agent`.
        name: as `load_agent` knows it. Nothing is kept of `module:attribute`, whose play can change without a trace.
        variant: whose positions are numbered.
        threads: that work at the same time; the result does not depend on it.
        progress: see `getbit_env.exact.positions.Progress`.

    Raises:
        ValueError: the agent can't play the variant, or not by the position alone; or there is no cache folder.
        InUseError: another process computes it at the moment.
        OSError: it can't be written.
    """
    check_agents({name: agent}, variant)
    require_markov_policy(agent, variant, name)  # before anything takes long
    told = {} if progress is None else {"progress": progress}

    def computed() -> BestResponse:
        positions = Positions(variant, threads=threads, **told)
        return BestResponse(positions, exploitability(agent, positions, name=name, threads=threads, **told).answer, name)

    if is_code(name):
        return computed()
    path = response_path(name, variant)
    try:
        return _kept(path, path.stat().st_mtime_ns)
    except (FileNotFoundError, StoredResultError):
        pass
    with owned(path, "the best response"):
        try:  # another process may have computed it in between
            return _kept(path, path.stat().st_mtime_ns)
        except (FileNotFoundError, StoredResultError):
            response = computed()
            response.save(path)
    return response


@lru_cache(maxsize=8)
def _kept(path: Path, _written: int) -> BestResponse:
    return BestResponse.load(path)


def response_path(name: str, variant: Variant) -> Path:
    """The file of a best response in the cache folder. Its name tells apart what the agent played from when it was computed.

    Raises:
        ValueError: there is no cache folder, or what the agent plays from can't be read.
    """
    content = content_digest(name, variant) or kernel_sources_digest()  # bots play by kernels alone
    facts = repr((name, content))
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[-60:]
    return cache_folder() / f"{variant.name}-best-response-{plain}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}.npz"
