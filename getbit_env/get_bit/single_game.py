"""A batch of one game, for the environments that play game by game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env._compiled import kernel
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Record, View, Words, lay_cards, observe, record_round
from getbit_env.get_bit.rules import Games, Outcome, Rules, Scratch, play_round
from getbit_env.get_bit.variants import Variant

ALIGNMENT = 8  # bytes: every array begins where numbers of all types may begin


class SingleGame(Engine):
    """An `Engine` of one game that plays a round and observes it in one call.

    To hand twenty arrays to compiled code takes longer than a round of one game. Here they all lie in one block of memory, which
    is handed over as one array with a list of where each begins.
    """

    def __init__(self, variant: Variant, **options: Any) -> None:
        """Take the options of `Engine`."""
        super().__init__(variant, 1, **options)
        self._gather()

    def step(self, actions: NDArray[np.int64]) -> None:
        """`play` and `observe`: everybody looks on."""
        self.actions[:] = actions
        play_and_observe(self._spec, self._memory)

    def _gather(self) -> None:
        """Move all arrays into one block of memory, in the order in which `play_and_observe` finds them."""
        pays = np.append(self._pays, self._limb_reward)
        arrays: list[NDArray[Any]] = [*self.state, *self.outcome, *self.record, self.actions, self.replaced, pays]
        arrays += [self.observation, self.action_mask]
        starts = [0]
        for array in arrays:
            starts.append(starts[-1] + -(-array.nbytes // ALIGNMENT) * ALIGNMENT)
        self._memory = np.zeros(starts[-1], np.uint8)
        moved: list[Any] = []
        for array, start in zip(arrays, starts, strict=False):
            view = self._memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            view[:] = array
            moved.append(view)
        self.state, self.outcome, self.record = Games(*moved[:5]), Outcome(*moved[5:9]), Record(*moved[9:13])
        self.actions, self.replaced, _, self.observation, self.action_mask = moved[13:]
        self._spec = np.array([*self._rules, *self.layout.view, *starts[:-1]], np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_memory", "_spec")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._gather()  # the arrays of a copy are copies, no longer views of one block


@kernel
def _bytes(memory: NDArray[np.uint8], start: int, rows: int) -> NDArray[np.uint8]:
    return memory[start : start + rows].reshape((rows, 1))


@kernel
def play_and_observe(spec: NDArray[np.int64], memory: NDArray[np.uint8]) -> None:
    """Play a round of the game in `memory` and write what is seen, as `SingleGame._gather` laid it out.

    Args:
        spec: `[n]`, the fields of `Rules`, the fields of `View`, the starts of the arrays.
        memory: the arrays.
    """
    rules = Rules(spec[0], spec[1], spec[2], spec[3], spec[4], spec[5])
    s = spec[6:]
    view = View(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15], s[16], s[17])
    at = spec[24:]
    players, rounds = view.players, view.history_rounds
    robots = players * view.robots_per_player
    games = Games(
        _bytes(memory, at[0], robots),
        _bytes(memory, at[1], robots),
        _bytes(memory, at[2], robots),
        _bytes(memory, at[3], robots),
        memory[at[4] : at[4] + 1],
    )
    outcome = Outcome(
        _bytes(memory, at[5], robots),
        _bytes(memory, at[6], players),
        memory[at[7] : at[7] + 1],
        memory[at[8] : at[8] + 4 * players].view(np.float32).reshape((players, 1)),
    )
    past = rounds * robots
    record = Record(
        _bytes(memory, at[9], robots),
        memory[at[10] : at[10] + past].reshape((rounds, robots, 1)),
        memory[at[11] : at[11] + past].reshape((rounds, robots, 1)),
        memory[at[12] : at[12] + past].reshape((rounds, robots, 1)),
    )
    actions = memory[at[13] : at[13] + 8 * players].view(np.int64).reshape((1, players))
    replaced = memory[at[14] : at[14] + players].reshape((1, players))
    pays = memory[at[15] : at[15] + 4 * (players + 2)].view(np.float32)
    seen = memory[at[16] : at[16] + 4 * players * view.size].view(np.float32).reshape((1, players, view.size))
    choices = view.cards**view.robots_per_player
    mask = memory[at[17] : at[17] + players * choices].view(np.int8).reshape((1, players, choices))

    cards = np.empty((robots, 1), np.uint8)
    scratch = Scratch(np.empty((robots, 1), np.uint8), np.empty((robots, 1), np.uint8), np.empty((8, 1), np.uint8), np.empty((3, 1), np.uint64))
    lay_cards(view, games, actions, cards, replaced, 0, 1)
    play_round(rules, games, cards, pays[: players + 1], pays[players + 1], scratch, outcome, 0, 1)
    record_round(games, record, 0, 1)
    words = Words(
        np.empty((players * robots, 1), np.uint64),
        np.empty((players, 1), np.uint64),
        np.empty((players, 1), np.uint64),
        np.empty((3, 1), np.uint64),
    )
    observe(view, rules.last_line, games, record, np.full(1, 2, np.uint8), words, seen, mask, 0, 1)
