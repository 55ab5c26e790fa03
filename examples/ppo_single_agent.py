"""Plain PPO through the Gymnasium environment: one seat is the learner's, agents play the others.

    python -m examples.ppo_single_agent

PPO knows nothing of masks, and the environment plays the lowest card in place of an illegal one. It learns, but see
`examples.maskable_ppo` for what masks and a batch of games are worth.
"""

import argparse
from collections.abc import Sequence

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy


def main(arguments: Sequence[str] | None = None) -> PPO:
    """Train, and print the mean payoff before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--total-timesteps", type=int, default=40_000)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--opponents", default="random", help="a bot, an agent's folder, or module:attribute")
    parser.add_argument("--n-eval-episodes", type=int, default=500, help="games of each evaluation")
    options = parser.parse_args(arguments)
    game = {"players": options.players, "opponents": options.opponents}
    env = make_vec_env("getbit_env:getbit/GetBit-v0", n_envs=16, seed=0, env_kwargs=game)
    judge = make_vec_env("getbit_env:getbit/GetBit-v0", n_envs=16, seed=1, env_kwargs=game)
    # A game is short and pays at its end, so that nothing is discounted.
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=128,
        batch_size=512,
        learning_rate=1e-3,
        gamma=1.0,
        ent_coef=0.01,
        seed=0,
        device="cpu",
    )
    for when in ("before", "after"):
        if when == "after":
            model.learn(options.total_timesteps)
        payoff, _ = evaluate_policy(model, judge, options.n_eval_episodes, deterministic=False)
        print(f"{when}: mean payoff {payoff:+.3f} against {options.opponents} (0 is the equal share)")
    return model


if __name__ == "__main__":
    main()
