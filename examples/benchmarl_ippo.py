"""Self-play by BenchMARL's IPPO: one policy in all seats.

    python -m examples.benchmarl_ippo

BenchMARL plays TorchRL environments. Its PettingZoo task knows PettingZoo's own environments alone, so `GetBitTask` gives it this
one, with `fixed_population`, since no agent may leave.
"""

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from benchmarl.algorithms import IppoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from numpy.typing import NDArray
from tensordict import TensorDict
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType

import getbit_env
from examples.shared import against_random, read
from getbit_env.fixed_population import fixed_population
from getbit_env.match import MatchResult


class GetBitTask(PettingZooClass):  # type: ignore[misc]  # BenchMARL is seen as untyped
    """The game as a task of BenchMARL; `config` holds the name of the variant."""

    def get_env_fun(self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any) -> Callable[[], Any]:  # noqa: ARG002
        """What makes an environment."""
        variant = self.config["variant"]

        def make() -> PettingZooWrapper:
            game = fixed_population(getbit_env.parallel_env(variant=variant, illegal_action="raise"), mask="infos")
            return PettingZooWrapper(
                game, categorical_actions=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=seed, device=device
            )

        return make

    def supports_discrete_actions(self) -> bool:
        """They are cards."""
        return True

    def has_render(self, env: Any) -> bool:  # noqa: ARG002 - BenchMARL says who is asked
        """Nothing is drawn."""
        return False

    def max_steps(self, env: Any) -> int:  # noqa: ARG002 - likewise
        """Rounds of the longest game."""
        return int(getbit_env.parse_variant(self.config["variant"]).most_rounds)


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=60_000)
    players = getbit_env.parse_variant(options.variant).players
    config = ExperimentConfig.get_from_yaml()
    config.gamma, config.lr = 1.0, 1e-3
    config.max_n_frames, config.on_policy_collected_frames_per_batch = options.total_timesteps // players, 1000
    config.on_policy_n_envs_per_worker, config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = 4, 4, 250
    config.evaluation, config.render, config.loggers, config.create_json = False, False, [], False
    config.save_folder = tempfile.mkdtemp(prefix="benchmarl-")
    algorithm, model = IppoConfig.get_from_yaml(), MlpConfig.get_from_yaml()
    algorithm.entropy_coef = 0.02
    model.num_cells = [64, 64]
    task = GetBitTask("GET_BIT", {"variant": options.variant})
    experiment = Experiment(
        task=task, algorithm_config=algorithm, model_config=model, critic_model_config=model, seed=0, config=config
    )
    experiment.run()
    policy = experiment.algorithm.get_policy_for_loss("agents")

    def learned(observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """Probabilities of the actions; the network plays all seats at once, so each row is shown to all of them."""
        seen = torch.from_numpy(observation)[:, None].expand(-1, players, -1)
        mask = torch.from_numpy(action_mask != 0)[:, None].expand(-1, players, -1)
        rows = TensorDict({"agents": TensorDict({"observation": seen, "action_mask": mask}, (len(seen), players))}, (len(seen),))
        with torch.no_grad():
            chances: NDArray[np.float64] = policy.get_dist(rows).probs[:, 0].double().numpy()
        return chances

    return against_random(learned, options)


if __name__ == "__main__":
    main()
