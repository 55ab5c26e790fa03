"""Bots: one that draws its bid, one that bids what the prize is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.sampling import sample
from getbit_env.core.streams import RowStreams
from tests.third_game.variants import ID, PREFIX


class Uniform:
    """Bids any card of its hand."""

    game = ID
    name = f"{PREFIX}random"
    deterministic = False

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:  # noqa: ARG002 - the protocol's signature
        if seed is not None:
            self._streams = RowStreams(seed, begins.size)

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:  # noqa: ARG002
        return action_mask / action_mask.sum(axis=1, keepdims=True)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        return sample(self.probabilities(observation, action_mask), self._streams.keys, self._streams.counters)


class Matching:
    """Bids the card that is worth as much as the prize."""

    game = ID
    name = f"{PREFIX}matching"
    deterministic = True

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:  # noqa: ARG002
        self._layout = layout

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:  # noqa: ARG002
        return self._layout.field(observation, "prize").argmax(axis=1)


BOTS = {Uniform.name: Uniform, Matching.name: Matching}
