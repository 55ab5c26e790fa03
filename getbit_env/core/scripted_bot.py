"""What bots that follow a rule have in common: most play uniformly from a set of actions that they find for each row.

A set of actions is a mask of 64 bits, so that a rule is a kernel that writes one number a row, and what is played and the
`probabilities` come from the same number. A `LogitBot` plays better actions more often instead, and a `Mixture` is another bot in
every game.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.action_sets import pick, probabilities_of
from getbit_env.core.agent import Agent, SeatPlayer, described
from getbit_env.core.compiled import kernel
from getbit_env.core.sampling import sample
from getbit_env.core.streams import RowStreams, random_bits


@kernel
def _draw(
    observation: NDArray[np.float32],
    preferred: NDArray[np.uint64],
    for_one: bool,
    keys: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """Play an action of every row's set. A row of zeros uses no random number, so that the time others play on changes nothing.

    It has no branches that differ from row to row, since the processor could not foresee them.
    """
    size = observation.shape[1]
    first = min(size, 64)
    for b in range(preferred.shape[0]):
        sees = np.uint64(0)
        for i in range(first):
            sees |= np.uint64(observation[b, i] != 0)
        if size > first and sees == 0:
            for i in range(first, size):
                sees |= np.uint64(observation[b, i] != 0)
        draws = sees & np.uint64(for_one or preferred[b] & (preferred[b] - np.uint64(1)) != 0)
        counters[b] += draws
        bits = random_bits(keys[b], counters[b]) & (np.uint64(0) - draws)
        actions[b] = np.int64(sees) * np.int64(pick(preferred[b], bits))


def check_game(agent: Any, layout: Any) -> None:
    """Refuse a layout of another game than the one that an agent plays.

    Raises:
        ValueError: with the game that it plays.
    """
    if agent.game is not None and layout.variant.game != agent.game:
        raise ValueError(f"{type(agent).__name__} plays {agent.game} and no other game, not {layout.variant}")


class RowBot(SeatPlayer):
    """An agent with a random stream for each row. It refuses arrays that don't fit its last `reset`.

    Attributes:
        game: the id of the only game that it plays; None for a bot that plays any.
    """

    game: ClassVar[str | None] = None
    deterministic: ClassVar[bool] = False

    def __init__(self) -> None:
        self._streams: RowStreams | None = None

    def __repr__(self) -> str:
        return described(self)

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: it plays another game.
        """
        check_game(self, layout)
        self._layout, self._view = layout, layout.view
        if seed is not None or self._streams is None or self._streams.keys.size != begins.size:
            self._streams = RowStreams(seed, begins.size)

    def streams_for(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> RowStreams:
        """The streams of the rows that are to be played.

        Raises:
            RuntimeError: there was no `reset`, or one for another number of rows.
            ValueError: these are not observations and masks of the layout of that reset.
        """
        rows = observation.shape[0]
        if self._streams is None or self._streams.keys.size != rows:
            raise RuntimeError(f"{type(self).__name__}.act got {rows} rows without a reset for so many")
        self.check(observation, action_mask)
        return self._streams

    def check(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> None:
        """Refuse arrays of other widths than the layout's: compiled code would read behind their ends.

        Raises:
            ValueError: with what they should be.
        """
        size, actions = self._layout.size, self._layout.variant.actions
        if observation.shape[1:] != (size,) or action_mask.shape != (observation.shape[0], actions):
            raise ValueError(
                f"{type(self).__name__} got observations {observation.shape} and masks {action_mask.shape}; those of "
                f"{self._layout.variant} have {size} and {actions} entries a row"
            )


class SetBot(RowBot):
    """Plays uniformly from a set of actions that `preferred` finds for each row.

    Attributes:
        deterministic: whether the set never holds more than one action.
        draws_for_one: whether a row whose set holds one action uses a random number as well.
    """

    draws_for_one: ClassVar[bool] = False

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            RuntimeError: there was no `reset`, or one for another number of rows.
            ValueError: these are not observations and masks of the layout of that reset.
        """
        streams = self.streams_for(observation, action_mask)
        actions = np.empty(observation.shape[0], np.int64)
        _draw(observation, self.preferred(observation, action_mask), self.draws_for_one, streams.keys, streams.counters, actions)
        return actions

    def preferred(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.uint64]:
        """The set of actions of each row, `[B]`; each holds an action, and legal ones only."""
        raise NotImplementedError


class ScriptedBot(SetBot):
    """A `SetBot` whose sets are a pure function of observation and mask."""

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """What `act` draws from: `[B, A]`, a pure function of its arguments.

        Raises:
            ValueError: these are not observations and masks of the layout of the last reset.
        """
        self.check(observation, action_mask)
        probabilities = np.empty(action_mask.shape, np.float64)
        probabilities_of(self.preferred(observation, action_mask), probabilities)
        return probabilities


class DrawingBot(RowBot):
    """Draws its actions from a distribution that it finds for each row."""

    def distribution(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The distribution over legal actions, `[B, A]`."""
        raise NotImplementedError

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """What `act` draws from: `[B, A]`, a pure function of its arguments.

        Raises:
            ValueError: these are not observations and masks of the layout of the last reset.
        """
        self.check(observation, action_mask)
        return self.distribution(observation, action_mask)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            RuntimeError: there was no `reset`, or one for another number of rows.
            ValueError: these are not observations and masks of the layout of that reset.
        """
        streams = self.streams_for(observation, action_mask)
        live = observation.any(axis=1)  # a row of zeros draws nothing
        actions, counters = np.zeros(len(observation), np.int64), streams.counters[live]
        actions[live] = sample(self.distribution(observation[live], action_mask[live]), streams.keys[live], counters)
        streams.counters[live] = counters
        return actions


class LogitBot(DrawingBot):
    """Plays an action with a probability that grows as the exponential of its value: the higher the value, the more often.

    Attributes:
        temperature: two actions whose values differ by so much are played in the proportion e to 1. Near 0 it plays the best one,
            far above all differences any.
    """

    def __init__(self, temperature: float) -> None:
        """Set how soft it plays.

        Raises:
            ValueError: the temperature is not a number over 0.
        """
        super().__init__()
        if not 0 < temperature < math.inf:
            raise ValueError(f"temperature is a number over 0, not {temperature!r}")
        self.temperature = temperature

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The value of every action, `[B, A]`, a pure function of its arguments; what it says of illegal actions is ignored."""
        raise NotImplementedError

    def distribution(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `DrawingBot`."""
        logits = np.where(action_mask != 0, self.values(observation, action_mask) / self.temperature, -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return chances


class Mixture(RowBot):
    """Is one of several agents in every game: each row draws one when a game begins, and keeps it until the next game.

    Each agent sees the rows that drew it alone, and zeros in place of all others: so what a row plays depends on no other row.

    Attributes:
        agents: from which it draws, all alike. Each draws nothing for rows of zeros.
    """

    agents: tuple[Agent, ...]

    def __init__(self, agents: Sequence[Agent]) -> None:
        """Set from which agents it draws.

        Raises:
            ValueError: there are none.
        """
        super().__init__()
        if not agents:
            raise ValueError("agents are one or more, not none")
        self.agents = tuple(agents)

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: it plays another game.
        """
        anew = seed is not None or self._streams is None or self._streams.keys.size != begins.size
        super().reset(layout, begins, seed)
        assert self._streams is not None
        if anew:
            self._drawn = np.zeros(begins.size, np.uint64)  # number of the agent that plays each row
        keys, counters = self._streams.keys[begins], self._streams.counters[begins] + np.uint64(1)
        self._streams.counters[begins] = counters
        every: Any = random_bits  # it takes arrays as well
        self._drawn[begins] = ((every(keys, counters) >> np.uint64(32)) * np.uint64(len(self.agents))) >> np.uint64(32)
        for number, agent in enumerate(self.agents):
            own = None if seed is None else int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
            agent.reset(layout, begins, own)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            RuntimeError: there was no `reset`, or one for another number of rows.
            ValueError: these are not observations and masks of the layout of that reset.
        """
        self.streams_for(observation, action_mask)
        actions = np.zeros(len(observation), np.int64)
        for number, agent in enumerate(self.agents):
            mine = self._drawn == number
            if mine.any():
                actions[mine] = agent.act(np.where(mine[:, None], observation, np.float32(0)), action_mask)[mine]
        return actions
