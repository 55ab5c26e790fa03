"""What plays: the protocol of an agent, batched and seeded."""

from __future__ import annotations

import inspect
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Agent(Protocol):
    """Plays B seats at once, one a row, knowing nothing but what it is given here.

    Row `b` is the same seat of the same game until `reset` says that the row's next game begins. A row whose player has nothing to
    choose is all zero with a mask of ones, and the action for it is ignored. The arrays are reused: an agent that keeps one has to
    copy it.

    Whatever an agent raises, `SystemExit` included, is its failure in a match; `KeyboardInterrupt` ends the match.

    An agent can also have

    `probabilities(observation, action_mask) -> float64 [B, A]`
        if its choice depends on nothing but its two arguments: a pure function, each row a distribution over legal actions, the
        one that `act` draws from. Exact best responses are computed against it.
    `name: str`
        what results call it.
    `deterministic: bool`
        whether it uses no random numbers.
    `options`
        what it wants to see beyond the default: the `Options` of its game's observations.
    `game: str`
        the id of the only game that it plays.
    `check_layout(layout) -> None`
        raises `ValueError` if it can't play games whose observations are laid out so. It is asked before anything is played.
    `files(variant) -> list[Path]`
        the files that it reads to play a variant. Agents of `GameSpec.named_agents` have it: saved results are not used again after
        one of these files has changed.
    """

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """Begin the next game of some rows.

        Args:
            layout: a `Layout` of the game, which says what the columns of observations mean; `layout.variant` is its variant.
            begins: `[B]`, the rows whose next observation is the first of a game.
            seed: given once, before anything else, when all rows begin and the agent forgets what it knew; later None.
        """

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose an action for each row.

        Args:
            observation: `[B, D]`, zeros and ones.
            action_mask: `[B, A]`, 1 = legal.

        Returns:
            `[B]`, a legal action a row.
        """


def described(agent: Any) -> str:
    """An agent as the call that makes it, as far as its attributes tell: `MonteCarlo(playouts=200)`."""
    within = getattr(agent, "agent", None)
    arguments = []
    for name in inspect.signature(type(agent)).parameters:
        value = getattr(agent, name, getattr(within, name, None))
        if value is not None:
            arguments.append(f"{name}={value!r}")
    return f"{type(agent).__name__}({', '.join(arguments)})"


def name_of(agent: Agent) -> str:
    """What to call an agent: its attribute `name`, or that of its class."""
    return str(getattr(agent, "name", type(agent).__name__))
