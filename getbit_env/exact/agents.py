"""Agents that play what was computed: equilibria, and best responses."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import kernel
from getbit_env.core.sampling import sample
from getbit_env.core.streams import game_streams
from getbit_env.exact.best_response import low_bit
from getbit_env.exact.many_players import ManySolution, load_many
from getbit_env.exact.positions import AT_ONCE, Positions, check_numbered, expand
from getbit_env.exact.stored_results import StoredResultError, load_result, save_result, solution_path
from getbit_env.exact.two_players import Solution, Stage, load_solution, new_stage, solve_position
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import ID, Variant

RESPONSE = "best response"
MOST_KEPT = 1 << 17  # positions whose strategies are kept, 50 MB in the standard game


class PositionAgent:
    """Plays by the number of the position that it sees, and its role in it.

    Attributes:
        deterministic: whether it draws nothing by lot.
        options: what it wants to see: the default, face up.
    """

    deterministic: ClassVar[bool] = False
    options = Options()
    game: ClassVar[str] = ID

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: it has nothing to say on this variant, or the layout is not the default one.
            FileNotFoundError: the variant has yet to be solved.
        """
        self.check_layout(layout)
        self._layout = layout
        self._positions = self.positions_of(layout.variant)
        if seed is not None or getattr(self, "_streams", np.empty(0)).size != begins.size:
            self._streams = game_streams(seed, begins.size)
            self._counters = np.zeros(begins.size, np.uint64)

    def check_layout(self, layout: Layout) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the layout is not the default one of a face-up game, or the agent has nothing to say on the variant.
            FileNotFoundError: the variant has yet to be solved.
        """
        if layout.options != Options() or layout.variant.memory:
            raise ValueError(
                f"{type(self).__name__} reads the default observation of a face-up game, not {layout.variant} with {layout.options}"
            )
        self.positions_of(layout.variant)

    def positions_of(self, variant: Variant) -> Positions:
        """Get ready for a variant."""
        raise NotImplementedError

    def policy(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distribution, `[B, A]`, in each role, `[B]`, of the positions `[B]`."""
        raise NotImplementedError

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `getbit_env.core.agent.Agent`."""
        return sample(self.probabilities(observation, action_mask), self._streams, self._counters)

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """What `act` draws from: `[B, A]`, a pure function of its arguments; uniform where there is nothing to choose.

        Raises:
            ValueError: an observation shows what is no position of a game.
        """
        if observation.shape[1] != self._layout.size:
            raise ValueError(f"observations of {self._layout.variant} have {self._layout.size} entries, not {observation.shape[1]}")
        numbers, roles = self._positions.read(observation)
        chooses = numbers >= 0
        strange = ~chooses & (action_mask.min(axis=1) == 0)
        if strange.any():
            raise ValueError(f"row {int(strange.argmax())} shows no position that a game of {self._layout.variant} comes to")
        probabilities = np.full(action_mask.shape, 1 / action_mask.shape[1])
        probabilities[chooses] = self.policy(numbers[chooses], roles[chooses])
        return probabilities


class BestResponse(PositionAgent):
    """Plays a best response to the agent that it was computed against.

    Attributes:
        positions: of the variant that it plays.
        answer: `[N, P]` uint8, its action for every position and role.
        against: name of that agent.
    """

    deterministic = True

    def __init__(self, positions: Positions, answer: NDArray[np.uint8], against: str) -> None:
        self.positions, self.answer, self.against = positions, answer, against
        self.name = f"best response to {against}"

    def positions_of(self, variant: Variant) -> Positions:
        """See `PositionAgent`."""
        if variant != self.positions.variant:
            raise ValueError(f"this best response plays {self.positions.variant}, not {variant}")
        return self.positions

    def policy(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `PositionAgent`."""
        return np.eye(self.positions.variant.actions)[self.answer[numbers, roles]]

    def save(self, path: Path) -> None:
        """Write it to a file; whole or not at all.

        Raises:
            OSError: it can't be written.
        """
        facts = {"against": self.against}
        save_result(path, RESPONSE, self.positions.variant, facts, words=self.positions.index.words, answer=self.answer)

    @classmethod
    def load(cls, path: Path) -> BestResponse:
        """Read it from a file.

        Raises:
            FileNotFoundError: there is no such file.
            StoredResultError: it is damaged, no best response, or was computed by other rules.
        """
        variant, facts, arrays = load_result(path, RESPONSE)
        try:
            positions = Positions(variant, arrays["words"])
            answer = arrays["answer"]
            if answer.shape != (positions.count, variant.players) or answer.dtype != np.uint8:
                raise ValueError(f"{answer.shape} answers")
            return cls(positions, answer, str(facts["against"]))
        except (KeyError, ValueError) as error:
            raise StoredResultError(f"{path} is damaged ({error})") from error


@kernel
def _solve_strategies(values: NDArray[np.float64], strategies: NDArray[np.float64], stage: Stage) -> None:
    """Write optimal strategies of both roles, `[G, 2, A]`, of the positions just expanded, `[G]`."""
    work = stage.work
    cards = work.options.shape[2]
    strategies[:] = 0
    for k in range(strategies.shape[0]):
        solve_position(values, k, stage)
        for p in range(2):
            chances = stage.game.row if p == 0 else stage.game.column
            for i in range(work.choices[k, 2 * p]):
                for j in range(work.choices[k, 2 * p + 1]):
                    action = low_bit(work.options[k, 2 * p, i]) * cards + low_bit(work.options[k, 2 * p + 1, j])
                    strategies[k, p, action] = chances[i * work.choices[k, 2 * p + 1] + j]


class Strategies:
    """Optimal strategies of the two-player game, solved from the table of values when their position is met, and kept.

    Attributes:
        positions: the numbering.
    """

    def __init__(self, solution: Solution) -> None:
        self.positions, self._values = solution.positions, solution.values
        self._slot = np.full(self.positions.count, -1)  # of a position in `_kept`
        self._kept = np.empty((0, 2, self.positions.variant.actions))
        self._stage = new_stage(self.positions.index)

    def chances(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distribution, `[B, A]`, in each role, `[B]`, of the positions, `[B]`."""
        new = np.unique(numbers[self._slot[numbers] < 0])
        if len(self._kept) + len(new) > MOST_KEPT:
            self._slot[:] = -1
            self._kept = self._kept[:0]
            new = np.unique(numbers)
        if len(new):
            strategies = np.empty((len(new), *self._kept.shape[1:]))
            for begin in range(0, len(new), AT_ONCE):
                expand(self.positions.index, new[begin : begin + AT_ONCE], self._stage.work)
                _solve_strategies(self._values, strategies[begin : begin + AT_ONCE], self._stage)
            self._slot[new] = len(self._kept) + np.arange(len(new))
            self._kept = np.concatenate([self._kept, strategies])
        distribution: NDArray[np.float64] = self._kept[self._slot[numbers], roles]
        return distribution


class Equilibrium(PositionAgent):
    """Plays an equilibrium.

    With two players it can't lose to anyone on average over both seats. With more players it only says that nobody gains by
    leaving an equilibrium that all others keep to; against others it can do worse than its equal share.
    """

    name = "equilibrium"

    def __init__(self, solution: Solution | ManySolution | None = None) -> None:
        """Make the agent.

        Args:
            solution: the solved game; by default the one of the cache folder (`python -m eval.solve`), read at `reset`.
        """
        self._given = solution
        self._strategies: Strategies | ManySolution | None = Strategies(solution) if isinstance(solution, Solution) else solution

    def files(self, variant: Variant) -> list[Path]:
        """What it reads to play a variant."""
        return [] if self._given is not None else [solution_path(variant)]

    def positions_of(self, variant: Variant) -> Positions:
        """See `PositionAgent`."""
        if self._given is not None and self._given.positions.variant != variant:
            raise ValueError(f"this solution is of {self._given.positions.variant}, not {variant}")
        check_numbered(variant)
        if self._strategies is None or self._strategies.positions.variant != variant:
            self._strategies = Strategies(load_solution(variant)) if variant.players == 2 else load_many(variant)
        return self._strategies.positions

    def policy(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `PositionAgent`."""
        assert self._strategies is not None
        return self._strategies.chances(numbers, roles)
