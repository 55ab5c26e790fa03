"""Agents that play what was computed: equilibria, and best responses."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.agent import SeatPlayer
from getbit_env.core.compiled import kernel
from getbit_env.core.sampling import sample
from getbit_env.core.streams import game_streams
from getbit_env.exact.best_response import low_bit
from getbit_env.exact.many_players import ManyPlayerSolution
from getbit_env.exact.positions import AT_ONCE, Positions, check_numbered, expand
from getbit_env.exact.solutions import Solution, check_solved, load_solution
from getbit_env.exact.stored_results import kind_of, open_result, save_result, solution_path
from getbit_env.exact.two_players import SolverWorkspace, TwoPlayerSolution, new_solver_workspace, solve_position
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import ID, Variant

RESPONSE, POLICY = "best response", "policy"  # kinds of stored results
MOST_KEPT = 1 << 17  # positions whose strategies are kept, 50 MB in the standard game


class PositionAgent(SeatPlayer):
    """Plays by the number of the position that it sees, and its role in it.

    Attributes:
        deterministic: whether it draws nothing by lot.
        options: what it wants to see: the default, face up.
    """

    deterministic: ClassVar[bool] = False
    options: Options = Options()
    game: ClassVar[str] = ID

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: it does not play this variant, or the layout is not the default one.
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
            NotSolvedError: the variant has yet to be solved.
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


class StoredAgent(PositionAgent):
    """Plays one variant, by what a file holds.

    Attributes:
        positions: of the variant that it plays.
        name: what results call it.
    """

    positions: Positions
    name: str
    refusal: ClassVar[str]  # of other variants, before the name of its own

    def __init__(self, positions: Positions, name: str) -> None:
        self.positions, self.name = positions, name

    def positions_of(self, variant: Variant) -> Positions:
        """See `PositionAgent`."""
        if variant != self.positions.variant:
            raise ValueError(f"{self.refusal} {self.positions.variant}, not {variant}")
        return self.positions


class BestResponse(StoredAgent):
    """Plays a best response to the agent that it was computed against.

    Attributes:
        positions: of the variant that it plays.
        answer: `[N, P]` uint8, its action for every position and role.
        against: name of that agent.

    Examples:
        >>> from getbit_env import load_agent, parse_variant
        >>> from getbit_env.exact import BestResponse, Positions, exploitability
        >>> from getbit_env.match import play_match
        >>> result = exploitability(load_agent("counter"), Positions(parse_variant("3p-1r-4c-1l")), name="counter")
        >>> agent = BestResponse(result.positions, result.answer, "counter")
        >>> match = play_match([agent, "counter", "counter"], "3p-1r-4c-1l", starts=600)
        >>> print(match[agent.name].win.mean > match["counter"].win.mean)
        True
    """

    refusal = "this best response plays"
    answer: NDArray[np.uint8]
    against: str
    deterministic = True

    def __init__(self, positions: Positions, answer: NDArray[np.uint8], against: str) -> None:
        super().__init__(positions, f"best response to {against}")
        self.answer, self.against = answer, against

    def __repr__(self) -> str:
        return f"<BestResponse to {self.against} in {self.positions.variant}>"

    def policy(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `PositionAgent`."""
        return np.eye(self.positions.variant.actions)[self.answer[numbers, roles]]

    def save(self, path: Path) -> None:
        """Write it to a file; whole or not at all.

        Raises:
            OSError: it can't be written.
        """
        arrays: dict[str, NDArray[Any]] = {"words": self.positions.index.words, "answer": self.answer}
        save_result(path, RESPONSE, self.positions.variant, {"against": self.against}, arrays)

    @classmethod
    def load(cls, path: Path) -> BestResponse:
        """Read it from a file.

        Raises:
            FileNotFoundError: there is no such file.
            StoredResultError: it is damaged, no best response, or was computed by other rules.
        """
        with open_result(path, RESPONSE, None, ("words", "answer")) as stored:
            positions, variant = Positions.stored(stored), stored.variant
            answer = stored.array("answer", np.uint8, (positions.count, variant.players))
            if answer.size and answer.max() >= variant.actions:
                raise stored.error("an answer is no action")
            return cls(positions, answer, stored.text("against"))


class StoredPolicy(StoredAgent):
    """Plays a policy that was computed for every position.

    Attributes:
        positions: of the variant that it plays.
        chances: `[N, P, A]` float32, its policy for every position and role; zero for a player who is out.
        name: what results call it.
    """

    refusal = "this policy is of"
    chances: NDArray[np.float32]

    def __init__(self, positions: Positions, chances: NDArray[np.float32], name: str) -> None:
        """Make the agent.

        Raises:
            ValueError: the chances are no distributions over the actions of the variant.
        """
        wanted = (positions.count, positions.variant.players, positions.variant.actions)
        if chances.shape != wanted or chances.dtype != np.float32:
            raise ValueError(f"a policy of {positions.variant} is float32 {wanted}, not {chances.dtype} {chances.shape}")
        if reason := _no_policy(chances):
            raise ValueError(reason)
        super().__init__(positions, name)
        self.chances = chances

    def __repr__(self) -> str:
        return f"<StoredPolicy {self.name} of {self.positions.variant}>"

    def policy(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `PositionAgent`."""
        chances = self.chances[numbers, roles].astype(np.float64)
        distribution: NDArray[np.float64] = chances / chances.sum(axis=1, keepdims=True)
        return distribution

    def save(self, path: Path) -> None:
        """Write it to a file; whole or not at all.

        Raises:
            OSError: it can't be written.
        """
        arrays: dict[str, NDArray[Any]] = {"words": self.positions.index.words, "chances": self.chances}
        save_result(path, POLICY, self.positions.variant, {"name": self.name}, arrays)

    @classmethod
    def load(cls, path: Path) -> StoredPolicy:
        """Read it from a file.

        Raises:
            FileNotFoundError: there is no such file.
            StoredResultError: it is damaged, no policy, or of other rules.
        """
        with open_result(path, POLICY, None, ("words", "chances")) as stored:
            positions, variant = Positions.stored(stored), stored.variant
            chances = stored.array("chances", np.float32, (positions.count, variant.players, variant.actions))
            if reason := _no_policy(chances):
                raise stored.error(reason)
            return cls(positions, chances, stored.text("name"))


def _no_policy(chances: NDArray[np.float32]) -> str | None:
    """Why the rows of an array are not all distributions, or zero; None if they are."""
    sums = chances.sum(axis=2)
    if not np.isfinite(sums).all() or chances.min(initial=0) < 0 or (abs(sums - (sums > 0)) > 1e-3).any():
        return "a row of chances is no distribution"
    return None


def load_stored_agent(path: Path) -> BestResponse | StoredPolicy:
    """Read an agent that a command wrote to a file `*.npz`.

    Raises:
        FileNotFoundError: there is no such file.
        StoredResultError: it is damaged, no agent, or of other rules.
    """
    return StoredPolicy.load(path) if kind_of(path, (RESPONSE, POLICY)) == POLICY else BestResponse.load(path)


@kernel
def solve_strategies(values: NDArray[np.float64], strategies: NDArray[np.float64], workspace: SolverWorkspace) -> None:
    """Write optimal strategies of both roles, `[G, 2, A]`, of the positions just expanded, `[G]`."""
    expansion = workspace.expansion
    cards = expansion.options.shape[2]
    strategies[:] = 0
    for k in range(strategies.shape[0]):
        solve_position(values, k, workspace)
        for p in range(2):
            chances = workspace.game.row if p == 0 else workspace.game.column
            for i in range(expansion.choices[k, 2 * p]):
                for j in range(expansion.choices[k, 2 * p + 1]):
                    action = low_bit(expansion.options[k, 2 * p, i]) * cards + low_bit(expansion.options[k, 2 * p + 1, j])
                    strategies[k, p, action] = chances[i * expansion.choices[k, 2 * p + 1] + j]


class Strategies:
    """Optimal strategies of the two-player game, solved from the values when their position is met, and kept.

    Attributes:
        positions: the numbering.
        values: `[N + 1, 2]`, of each position to each role.
    """

    positions: Positions
    values: NDArray[np.float64]

    def __init__(self, solution: TwoPlayerSolution) -> None:
        self.positions, self.values = solution.positions, solution.values
        self._slot = np.full(self.positions.count, -1)  # of a position in `_kept`
        self._kept = np.empty((0, 2, self.positions.variant.actions))
        self._workspace = new_solver_workspace(self.positions.index)

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
                expand(self.positions.index, new[begin : begin + AT_ONCE], self._workspace.expansion)
                solve_strategies(self.values, strategies[begin : begin + AT_ONCE], self._workspace)
            self._slot[new] = len(self._kept) + np.arange(len(new))
            self._kept = np.concatenate([self._kept, strategies])
        distribution: NDArray[np.float64] = self._kept[self._slot[numbers], roles]
        return distribution


class Equilibrium(PositionAgent):
    """Plays an equilibrium.

    With two players nobody gains on it, on average over both seats. With more players nobody gains by leaving an equilibrium that
    all others play; against other players it can do worse than its equal share.

    Examples:
        >>> from getbit_env import parse_variant
        >>> from getbit_env.exact import Equilibrium, exploitability, solved
        >>> solution = solved(parse_variant("2p-3c-1l"))
        >>> agent = Equilibrium(solution)  # for matches: play_match([agent, "random"], "2p-3c-1l")
        >>> print(f"a best response gains {abs(exploitability(agent, solution.positions).gain):.3f}")
        a best response gains 0.000
    """

    name = "equilibrium"

    def __init__(self, solution: Solution | None = None) -> None:
        """Make the agent.

        Args:
            solution: the solved game; by default the one of the cache folder (`getbit solve`), read at `reset`.
        """
        self._given = solution
        self._strategies: Strategies | ManyPlayerSolution | None = (
            Strategies(solution) if isinstance(solution, TwoPlayerSolution) else solution
        )

    def __repr__(self) -> str:
        of = f" of {self._given.positions.variant}" if self._given is not None else ", of whatever is solved"
        return f"<Equilibrium{of}>"

    def check_layout(self, layout: Layout) -> None:
        """See `getbit_env.core.agent.Agent`.

        Raises:
            ValueError: the layout is not the default one of a face-up game, or this variant is not solved.
        """
        super().check_layout(layout)
        variant = layout.variant
        if self._given is not None and self._given.positions.variant != variant:
            raise ValueError(f"this solution is of {self._given.positions.variant}, not {variant}")
        check_numbered(variant)
        if self._strategies is None or self._strategies.positions.variant != variant:
            check_solved(variant)

    def files(self, variant: Variant) -> list[Path]:
        """What it reads to play a variant."""
        return [] if self._given is not None else [solution_path(variant)]

    def positions_of(self, variant: Variant) -> Positions:
        """See `PositionAgent`."""
        if self._given is not None and self._given.positions.variant != variant:
            raise ValueError(f"this solution is of {self._given.positions.variant}, not {variant}")
        check_numbered(variant)
        if self._strategies is None or self._strategies.positions.variant != variant:
            solution = load_solution(variant)
            self._strategies = Strategies(solution) if isinstance(solution, TwoPlayerSolution) else solution
        return self._strategies.positions

    def policy(self, numbers: NDArray[np.int64], roles: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `PositionAgent`."""
        assert self._strategies is not None
        return self._strategies.chances(numbers, roles)

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:  # noqa: ARG002 - the protocol's signature
        """The exact value of each position to its viewer, `[B]`; NaN for more than two players, whose solution keeps no values."""
        values = np.full(len(observation), np.nan)
        if isinstance(self._strategies, Strategies):
            numbers, roles = self._positions.read(observation)
            values[numbers >= 0] = self._strategies.values[numbers[numbers >= 0], roles[numbers >= 0]]
        return values
