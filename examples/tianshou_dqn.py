"""DQN with masks in Tianshou: one seat learns, the others play at random.

    python -m examples.tianshou_dqn

Tianshou takes turns, so it is given the AEC form. `parallel_to_aec(fixed_population(env))` keeps all agents until the end: on the
plain AEC form an agent that is out leaves, its last reward comes when it is no longer asked, and training misses it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from pettingzoo.utils import parallel_to_aec
from tianshou.algorithm import DQN, MARLRandomDiscreteMaskedOffPolicyAlgorithm, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.algorithm_base import policy_within_training_step
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net

import getbit_env
from examples.shared import against_random, read
from getbit_env.fixed_population import fixed_population
from getbit_env.match import MatchResult

GAMES, DECISIONS_PER_UPDATE, BATCH = 16, 64, 256


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=10_000)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - Tianshou explores, and samples its buffer, by NumPy's global generator

    def make() -> PettingZooEnv:
        return PettingZooEnv(parallel_to_aec(fixed_population(getbit_env.parallel_env(variant=options.variant))))

    env = make()
    network = Net(state_shape=env.observation_space["observation"].shape, action_shape=env.action_space.n, hidden_sizes=[64, 64])
    policy = DiscreteQLearningPolicy(
        model=network,
        action_space=env.action_space,
        observation_space=env.observation_space["observation"],
        eps_training=0.3,
        eps_inference=0.0,
    )
    learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.99, n_step_return_horizon=3, target_update_freq=200)
    others = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=env.action_space) for _ in env.agents[1:]]
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[learner, *others], env=env)
    buffer = VectorReplayBuffer(40_000, GAMES)
    collector = Collector[CollectStats](algorithm, DummyVectorEnv([make for _ in range(GAMES)]), buffer, exploration_noise=True)
    collector.reset(gym_reset_kwargs={"seed": 0})
    players = len(env.agents)
    for _ in range(options.total_timesteps // DECISIONS_PER_UPDATE):
        with policy_within_training_step(algorithm.policy):
            collector.collect(n_step=DECISIONS_PER_UPDATE * players)
            for _ in range(4):
                algorithm.update(buffer, BATCH)
    return against_random(QValues(network), options)


class QValues(torch.nn.Module):
    """The values of the actions as logits, sharpened: the agent plays the best one nearly always."""

    def __init__(self, network: Net) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """`[B, D]` -> `[B, A]`."""
        values: torch.Tensor = self.network(observation)[0]
        return 100 * values


if __name__ == "__main__":
    main()
