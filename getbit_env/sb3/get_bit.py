"""Get Bit! as a `VecEnv` of Stable-Baselines3."""

from __future__ import annotations

from typing import Unpack

from getbit_env.core.choices import options_from
from getbit_env.get_bit.observations import OptionNames, Options
from getbit_env.get_bit.variants import Reward, ThreePlayerEnding, Variant, choose_variant
from getbit_env.sb3.vec_env import SingleAgentVecEnv
from getbit_env.single_agent import Opponents, SingleAgentBatch


class GetBitVecEnv(SingleAgentVecEnv):
    """A batch of games of Get Bit!, with the learner in one seat of each; `SingleAgentVecEnv` says what it can do.

    An episode's length is in rounds.

    Examples:
        >>> from getbit_env.sb3 import GetBitVecEnv
        >>> env = GetBitVecEnv(64, opponents=["random", "counter", "lowest"], players=4, seed=1)
        >>> print(env.reset().shape, env.action_masks().shape)
        (64, 41) (64, 5)
    """

    def __init__(
        self,
        num_envs: int,
        opponents: Opponents = "random",
        *,
        players: int | None = None,
        memory: bool = False,
        half_limbs: bool = False,
        pick_up_at: int = 2,
        three_player_ending: ThreePlayerEnding | str = ThreePlayerEnding.SKIP_LOSER,
        variant: Variant | str | None = None,
        seat: int | None = None,
        seed: int | None = None,
        reward: Reward | str = Reward.WIN,
        limb_reward: float = 0.0,
        max_cycles: int | None = None,
        render_mode: str | None = None,
        **observe: Unpack[OptionNames],
    ) -> None:
        """Seat the opponents.

        Args:
            num_envs: games at a time.
            opponents: an agent, or its name (`load_agent`), for all other seats; or a sequence with one for each of them, from the
                seat after the learner's on. `set_opponent_groups` seats different ones in different games.
            players: see `parallel_env`, likewise the four that follow.
            memory: the memory game.
            half_limbs: the longer game.
            pick_up_at: a hand of so many cards takes its table back.
            three_player_ending: "skip_loser" or "literal".
            variant: a `Variant` or its name, in place of the five options above.
            seat: the learner's, or None: drawn anew each game.
            seed: of starting lines, seats and agents; with one the same calls give the same bytes.
            reward: see `parallel_env`.
            limb_reward: see `parallel_env`.
            max_cycles: rounds after which a game is cut off, or None.
            render_mode: None, or "rgb_array" for `render` and `VecVideoRecorder`.
            **observe: options of the observation, `getbit_env.get_bit.Options`.

        Raises:
            ValueError: an argument has a value that is not allowed.
        """
        batch = SingleAgentBatch(
            choose_variant(
                variant,
                players,
                memory=memory,
                half_limbs=half_limbs,
                pick_up_at=pick_up_at,
                three_player_ending=three_player_ending,
            ),
            num_envs,
            opponents,
            seat=seat,
            seed=seed,
            options=options_from(Options, observe),
            reward=reward,
            max_cycles=max_cycles,
            limb_reward=limb_reward,
        )
        super().__init__(batch, render_mode=render_mode)
