"""A curriculum of opponents: MaskablePPO meets the next one when it wins often enough.

    python -m examples.curriculum

`set_opponents` changes the opponents of a vector environment at any time. Games that are going on are finished by those who began
them, and the last info of a game says which opponents played it.
"""

from collections import deque
from collections.abc import Sequence

from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from examples.shared import against_random, read
from getbit_env.match import MatchResult
from getbit_env.sb3 import GetBitVecEnv

LESSONS = ("random", "lowest", "highest", "counter")


class Curriculum(BaseCallback):
    """Goes on to the next lesson after so many games with so large a share of wins."""

    def __init__(self, games: int = 1000, win: float = 0.35) -> None:
        super().__init__()
        self.lesson, self._number, self._win = 0, 0, win
        self._wins: deque[float] = deque(maxlen=games)

    def _on_training_start(self) -> None:
        self._number = self._env.set_opponents(LESSONS[self.lesson])

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "game" in info and info["game"]["opponents"] == self._number:
                self._wins.append(info["game"]["win"])
        passed = len(self._wins) == self._wins.maxlen and sum(self._wins) / len(self._wins) >= self._win
        if passed and self.lesson < len(LESSONS) - 1:
            self.lesson += 1
            self._wins.clear()
            self._number = self._env.set_opponents(LESSONS[self.lesson])
            print(f"after {self.num_timesteps} decisions: {LESSONS[self.lesson]}")
        return True

    @property
    def _env(self) -> GetBitVecEnv:
        assert isinstance(self.training_env, GetBitVecEnv)
        return self.training_env


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=200_000)
    env = GetBitVecEnv(256, variant=options.variant, seed=0)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=16,
        batch_size=1024,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,
        ent_coef=0.02,
        seed=0,
        device="cpu",
    )
    model.learn(options.total_timesteps, callback=Curriculum())
    return against_random(model, options)


if __name__ == "__main__":
    main()
