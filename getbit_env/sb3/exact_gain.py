"""The callback that judges the learner of Get Bit! exactly while it trains."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from getbit_env.command_line import interruptible
from getbit_env.core.agent import SeatPlayer
from getbit_env.core.choices import whole_number
from getbit_env.core.spec import Layout, Variant
from getbit_env.game_registry import game_of
from getbit_env.get_bit import variants
from getbit_env.sb3.evaluation import Evaluation, Figure, figure

if TYPE_CHECKING:
    from getbit_env.exact import Exploitability, Positions


class ExactGain(Evaluation):
    """Computes what a best response gains on the learner when it plays all other seats: `eval/gain`, the less the better.

    `eval/nash_conv` is the gain of all players together. Both are exact (`docs/exact.md`), for two and four players, and for small
    custom games. Measured with one thread: to judge a policy takes twenty seconds with four players and forty with two; to number
    the positions takes four and eleven seconds, once. Ctrl-C breaks it off and leaves nothing behind.

    Attributes:
        result: of the last evaluation.

    Examples:
        >>> from sb3_contrib import MaskablePPO
        >>> from getbit_env.sb3 import ExactGain, GetBitVecEnv
        >>> games = GetBitVecEnv(8, "random", variant="3p-1r-4c-1l", seed=0)
        >>> model = MaskablePPO("MlpPolicy", games, n_steps=32, seed=0, device="cpu")
        >>> gain = ExactGain(every=256)
        >>> _ = model.learn(256, callback=gain)
        >>> print(0 < gain.best < 1)
        True
    """

    threads: int
    judged_by = "eval/gain"
    higher_is_better: ClassVar[bool] = False

    def __init__(
        self,
        *,
        every: int = 1_000_000,
        threads: int = 1,
        csv: str | os.PathLike[str] | None = None,
        save_best: str | os.PathLike[str] | None = None,
        deterministic: bool = False,
    ) -> None:
        """Set when it computes.

        Args:
            every: see `Evaluation`.
            threads: that compute; the result does not depend on it.
            csv: see `Evaluation`.
            save_best: see `Evaluation`.
            deterministic: see `Evaluation`.

        Raises:
            ValueError: an argument has a value that is not allowed.
        """
        super().__init__(every=every, csv=csv, save_best=save_best, deterministic=deterministic)
        self.threads = whole_number("threads", threads, 1)
        self.result: Exploitability | None = None

    def check(self, agent: SeatPlayer, layout: Layout) -> None:
        """See `Evaluation`."""
        from getbit_env.exact import as_face_up  # here, since it compiles the solver's kernels
        from getbit_env.exact.best_response import require_markov_policy

        variant = layout.variant
        if not isinstance(variant, variants.Variant):
            raise ValueError(f"no best response is computed in {game_of(variant)}")
        judged, face_up = as_face_up(agent, variant, "the learner")
        require_markov_policy(judged, face_up, "the learner")

    def measure(self, agent: SeatPlayer, variant: Variant) -> list[Figure]:
        """See `Evaluation`."""
        from getbit_env.exact import exploitability

        assert isinstance(variant, variants.Variant)  # see `check`
        with interruptible():
            self.result = exploitability(agent, _positions(variant, self.threads), name="the learner", threads=self.threads)
        return [figure(self.judged_by, self.result.gain), figure("eval/nash_conv", self.result.nash_conv)]


@lru_cache(maxsize=1)
def _positions(variant: variants.Variant, threads: int) -> Positions:
    """The positions of a variant, which are numbered once."""
    from getbit_env.exact import Positions

    return Positions(variant, threads=threads)
