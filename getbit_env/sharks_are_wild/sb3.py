"""Sharks are Wild for Stable-Baselines3. Needs the extra `getbit-env[sb3]`."""

from __future__ import annotations

from getbit_env.sb3.vec_env import Named, SeatVecEnv, load_table
from getbit_env.seat import SeatBatch
from getbit_env.sharks_are_wild.observations import Options
from getbit_env.sharks_are_wild.variants import Variant, parse_variant


class SharksAreWildVecEnv(SeatVecEnv):
    """A batch of games as a `VecEnv`, with the learner in one seat of each; all that it can do is said in `SeatVecEnv`.

    A step goes from a decision of the learner to its next one, or to the end of the game: what the others decide in between is part
    of it, and rewards are summed. A game that is drawn by its turn limit is truncated.
    """

    def __init__(
        self,
        num_envs: int,
        opponents: Named = "sharks-random",
        *,
        variant: Variant | str = "sharks-2p-level2",
        seat: int | None = None,
        seed: int | None = None,
        open_hands: bool = False,
        max_cycles: int | None = None,
    ) -> None:
        """Set the tables.

        Args:
            num_envs: games at a time.
            opponents: as for `GetBitVecEnv`.
            variant: the game, or its name.
            seat: the learner's, or None: drawn anew each game.
            seed: of deals, seats and agents; with one the same calls give the same bytes.
            open_hands: see `observations.Options`.
            max_cycles: decisions of the learner after which a game is cut off, or None.

        Raises:
            ValueError: an option is none of those that it may be.
        """
        variant = parse_variant(variant) if isinstance(variant, str) else variant
        options = Options(open_hands=open_hands)
        tables = load_table(opponents)
        super().__init__(SeatBatch(variant, num_envs, tables, seat=seat, seed=seed, options=options, max_cycles=max_cycles))
