"""PPO with masks in AgileRL: one seat learns, the others play at random.

    python -m examples.agilerl_ppo

AgileRL's PPO takes the masks of a Gymnasium `VectorEnv` from the infos, and keeps them for learning. So it plays many games in one
process, in the vector environment of this package. IPPO, its PPO for PettingZoo, fails on masks that are arrays, and
learns without masks, so it is no example here.
"""

from collections.abc import Sequence

import gymnasium
import torch
from agilerl.algorithms import PPO
from agilerl.rollouts.on_policy import collect_rollouts

from examples.shared import against_random, read
from getbit_env.match import MatchResult

GAMES, STEPS = 64, 32


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=60_000)
    torch.manual_seed(0)
    # A new game begins in the step that ends the old one: every step is a decision.
    envs = gymnasium.make_vec(
        "getbit_env:getbit/GetBit-v0", num_envs=GAMES, variant=options.variant, opponents="random", autoreset_mode="SameStep"
    )
    envs.reset(seed=0)
    learner = PPO(
        envs.single_observation_space,
        envs.single_action_space,
        num_envs=GAMES,
        learn_step=GAMES * STEPS,
        batch_size=512,
        lr=1e-3,
        gamma=1.0,
        ent_coef=0.02,
        net_config={"encoder_config": {"hidden_size": [64]}, "head_config": {"hidden_size": [64]}, "latent_dim": 64},
    )
    playing: tuple[object, ...] = ()  # where the last rollout stopped
    for _ in range(-(-options.total_timesteps // learner.learn_step)):
        names = ("last_obs", "last_done", "last_scores", "last_info")
        _, *playing = collect_rollouts(learner, envs, **dict(zip(names, playing, strict=False)))
        learner.learn()
    envs.close()
    actor = learner.actor  # what it samples with, masks, and keeps, is no part of the policy
    return against_random(torch.nn.Sequential(actor.encoder, actor.head_net.wrapped), options)


if __name__ == "__main__":
    main()
