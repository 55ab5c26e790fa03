"""DQN through the Gymnasium environment: one seat is the learner's, agents play the others.

    python -m examples.dqn_single_agent

DQN knows nothing of masks, and the environment plays the lowest card in place of an illegal one. What it learns is a fixed answer
to these opponents, and can be exploited.
"""

import argparse
from collections.abc import Sequence

from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy


def main(arguments: Sequence[str] | None = None) -> DQN:
    """Train, and print the mean payoff before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--total-timesteps", type=int, default=40_000)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--opponents", default="random", help="a bot, an agent's folder, or module:attribute")
    parser.add_argument("--n-eval-episodes", type=int, default=500, help="games of each evaluation")
    options = parser.parse_args(arguments)
    game = {"players": options.players, "opponents": options.opponents}
    env = make_vec_env("getbit_env:getbit/GetBit-v0", n_envs=4, seed=0, env_kwargs=game)
    judge = make_vec_env("getbit_env:getbit/GetBit-v0", n_envs=16, seed=1, env_kwargs=game)
    # A game is short and pays at its end, so that nothing is discounted.
    model = DQN(
        "MlpPolicy",
        env,
        buffer_size=50_000,
        learning_starts=min(2_000, options.total_timesteps // 2),
        batch_size=256,
        learning_rate=5e-4,
        gamma=1.0,
        target_update_interval=500,
        exploration_fraction=0.3,
        seed=0,
        device="cpu",
    )
    for when in ("before", "after"):
        if when == "after":
            model.learn(options.total_timesteps)
        payoff, _ = evaluate_policy(model, judge, options.n_eval_episodes)
        print(f"{when}: mean payoff {payoff:+.3f} against {options.opponents} (0 is the equal share)")
    return model


if __name__ == "__main__":
    main()
