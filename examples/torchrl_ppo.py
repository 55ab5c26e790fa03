"""Self-play in TorchRL: one policy in all seats, trained with its `ClipPPOLoss`.

    python -m examples.torchrl_ppo

TorchRL stacks the agents of a game, so none may leave: `fixed_population` keeps the players who are out. What they do does not
count, and `alive` in the infos tells their rows apart. A trajectory ends with the reward that decides a player's fate, so nothing
is discounted and the return of a decision is the sum of its player's rewards.
"""

from collections.abc import Sequence
from typing import Any

import torch
from tensordict.nn import InteractionType, TensorDictModule
from torch import nn
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

import getbit_env
from examples.shared import against_random, read
from getbit_env.fixed_population import fixed_population
from getbit_env.match import MatchResult

GAMES, EPOCHS, MINIBATCHES = 32, 4, 4  # games of a rollout, each played to its end


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def actor_of(policy: nn.Module, *group: str) -> ProbabilisticActor:
    """The policy as TorchRL plays it, on the tensors of a group of agents or on rows of decisions."""

    def key(name: str) -> tuple[str, ...] | str:
        return (*group, name) if group else name

    return ProbabilisticActor(
        TensorDictModule(policy, in_keys=[key("observation")], out_keys=[key("logits")]),
        in_keys={"logits": key("logits"), "mask": key("action_mask")},
        out_keys=[key("action")],
        distribution_class=MaskedCategorical,
        default_interaction_type=InteractionType.RANDOM,  # by default `rollout` plays the likeliest action and explores nothing
        return_log_prob=True,
        log_prob_key=key("action_log_prob"),
    )


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=40_000)
    torch.manual_seed(0)
    game = getbit_env.parallel_env(variant=options.variant, illegal_action="raise")
    env = PettingZooWrapper(fixed_population(game, mask="infos"), group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=0)
    policy = network(game.layout.size, game.variant.actions)
    critic = ValueOperator(network(game.layout.size, 1), in_keys=["observation"])
    playing, learning = actor_of(policy, "agents"), actor_of(policy)
    loss = ClipPPOLoss(learning, critic, clip_epsilon=0.2, entropy_coeff=0.02, critic_coeff=0.5, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    decisions = 0
    while decisions < options.total_timesteps:
        rows: list[Any] = []  # of TensorDicts
        for _ in range(GAMES):
            with torch.no_grad():
                played: Any = env.rollout(game.variant.most_rounds, playing)
            seats = played["agents"].select("observation", "action_mask", "action", "action_log_prob")
            seats["value_target"] = played["next", "agents", "reward"].sum(0, keepdim=True).expand(len(played), -1, -1).clone()
            rows.append(seats[played["agents", "info", "alive"] != 0])
        batch: Any = torch.cat(rows)
        decisions += len(batch)
        with torch.no_grad():
            batch["advantage"] = batch["value_target"] - critic(batch.select("observation"))["state_value"]
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(batch)).chunk(MINIBATCHES):
                parts = loss(batch[chosen])
                optimizer.zero_grad()
                (parts["loss_objective"] + parts["loss_entropy"] + parts["loss_critic"]).backward()
                optimizer.step()
    return against_random(policy, options)


if __name__ == "__main__":
    main()
