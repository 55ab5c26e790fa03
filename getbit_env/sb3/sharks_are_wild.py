"""Sharks are Wild as a `VecEnv` of Stable-Baselines3."""

from __future__ import annotations

from typing import Unpack

from getbit_env.core.choices import options_from
from getbit_env.sb3.vec_env import SingleAgentVecEnv
from getbit_env.sharks_are_wild.observations import OptionNames, Options
from getbit_env.sharks_are_wild.variants import Variant, parse_variant
from getbit_env.single_agent import Opponents, SingleAgentBatch


class SharksAreWildVecEnv(SingleAgentVecEnv):
    """A batch of games of Sharks are Wild, with the learner in one seat of each; `SingleAgentVecEnv` says what it can do.

    A step goes from a decision of the learner to its next one, or to the end of the game. Rewards are summed over what the others
    decide in between. A game that is drawn by its turn limit is truncated.
    """

    def __init__(
        self,
        num_envs: int,
        opponents: Opponents = "sharks-random",
        *,
        variant: Variant | str = "sharks-2p-level2",
        seat: int | None = None,
        seed: int | None = None,
        max_cycles: int | None = None,
        render_mode: str | None = None,
        **observe: Unpack[OptionNames],
    ) -> None:
        """Seat the opponents.

        Args:
            num_envs: games at a time.
            opponents: an agent, or its name, for all other seats; or a sequence with one for each of them.
            variant: the game, or its name.
            seat: the learner's, or None: drawn anew each game.
            seed: of deals, seats and agents; with one the same calls give the same bytes.
            max_cycles: turns after which a game is cut off, or None.
            render_mode: None, or "rgb_array" for `render` and `VecVideoRecorder`.
            **observe: options of the observation, `getbit_env.sharks_are_wild.Options`.

        Raises:
            ValueError: an argument has a value that is not allowed.
            TypeError: `variant` is neither a variant of this game nor a name.
        """
        variant = parse_variant(variant) if isinstance(variant, str) else variant
        if not isinstance(variant, Variant):
            raise TypeError(f"variant is one of Sharks are Wild, or its name, such as 'sharks-2p-level2', not {variant!r}")
        options = options_from(Options, observe)
        batch = SingleAgentBatch(variant, num_envs, opponents, seat=seat, seed=seed, options=options, max_cycles=max_cycles)
        super().__init__(batch, render_mode=render_mode)
