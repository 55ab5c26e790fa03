"""MaskablePPO on SuperSuit's vector environment: one policy learns in all seats of a PettingZoo environment.

    python -m examples.supersuit_ppo

SuperSuit stacks the agents of a game, so none may leave: `fixed_population` keeps the players who are out, with zero observations
and rewards, until the game ends. SuperSuit passes no masks on; `Masked` takes them from the infos. `getbit_env.sb3.GetBitVecEnv`
needs neither, and is many times faster.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import supersuit
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnvWrapper

import getbit_env
from examples.shared import against_random, read
from getbit_env.fixed_population import fixed_population
from getbit_env.match import MatchResult


class Masked(VecEnvWrapper):
    """Tells `MaskablePPO` the masks that stand in the infos."""

    _seed: int | None = None

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the games at the next reset; SuperSuit has no `seed`, which `MaskablePPO` calls."""
        self._seed = seed
        return [seed] * self.num_envs

    def reset(self) -> Any:
        """Begin all games."""
        within: Any = self.venv  # of SuperSuit, whose own reset takes a seed
        seen, self._infos = within.venv.reset(seed=self._seed)
        self._seed = None
        return seen

    def step_wait(self) -> Any:
        """Play a round of all games; those that end begin anew, and their infos are those of the new game."""
        *said, self._infos = self.venv.step_wait()
        return *said, self._infos

    def has_attr(self, attr_name: str) -> bool:
        """Whether there are masks: there are."""
        return attr_name == "action_masks" or super().has_attr(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """The masks, one for each seat."""
        if method_name == "action_masks":
            return [np.asarray(info["action_mask"], np.bool_) for info in self._infos]
        return super().env_method(method_name, *args, indices=indices, **kwargs)


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=60_000)
    game = fixed_population(getbit_env.parallel_env(variant=options.variant, illegal_action="raise"), mask="infos")
    vector = supersuit.pettingzoo_env_to_vec_env_v1(game)
    env = Masked(supersuit.concat_vec_envs_v1(vector, num_vec_envs=8, num_cpus=0, base_class="stable_baselines3"))
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=64,
        batch_size=512,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,
        ent_coef=0.02,
        seed=0,
        device="cpu",
    )
    model.learn(options.total_timesteps)
    return against_random(model, options)


if __name__ == "__main__":
    main()
