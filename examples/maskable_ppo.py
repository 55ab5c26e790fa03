"""MaskablePPO on a batch of games, and what came of it as an agent in a match.

    python -m examples.maskable_ppo

`GetBitVecEnv` is a native `VecEnv`: 256 games in one process, masks through `action_masks`. In one half of the games the others
play at random, in the other half they are `counter`.
For self-play see `train.selfplay`.
"""

import argparse
from collections.abc import Sequence

from sb3_contrib import MaskablePPO

from getbit_env.match import MatchResult, play_match
from getbit_env.sb3 import GetBitVecEnv, network_of


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--total-timesteps", type=int, default=400_000)
    parser.add_argument("--variant", default="4p", help="such as 4p-memory or 2p")
    parser.add_argument("--starts", type=int, default=5040, help="starts of the match, each in all rotations of the seats")
    options = parser.parse_args(arguments)
    env = GetBitVecEnv(256, variant=options.variant, seed=0)
    env.set_opponent_groups(["random", "counter"])
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=32,
        batch_size=2048,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,
        ent_coef=0.02,
        seed=0,
        device="cpu",
    )
    model.learn(options.total_timesteps)
    others = ["random"] * (env.batch.variant.players - 1)
    result = play_match([network_of(model), *others], options.variant, starts=options.starts)
    print(result)
    return result


if __name__ == "__main__":
    main()
