"""PPO with masks in one file, in the style of CleanRL.

    python -m examples.cleanrl_ppo

256 games run in one process; the learner has one seat of each, random players have the others. Copy this file to change the
algorithm: only numpy, torch and `SingleAgentBatch` stand behind it.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.distributions import Categorical

from examples.shared import against_random, read
from getbit_env.match import MatchResult
from getbit_env.single_agent import SingleAgentBatch

GAMES, STEPS, EPOCHS, MINIBATCHES = 256, 16, 4, 4
LEARNING_RATE, LAMBDA, CLIP, ENTROPY, VALUE, GRADIENT = 1e-3, 0.95, 0.2, 0.02, 0.5, 0.5  # nothing is discounted: a game is short


class Policy(nn.Module):
    """Logits of the actions and a value, of observations."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, actions), nn.Linear(64, 1)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """The logits, `[B, A]`."""
        logits: torch.Tensor = self.actor(self.body(observation))
        return logits

    def both(self, observation: torch.Tensor, mask: torch.Tensor) -> tuple[Any, torch.Tensor]:
        """The distribution over legal actions, and the value `[B]`."""
        hidden = self.body(observation)
        logits = self.actor(hidden).masked_fill(mask == 0, -1e8)
        return Categorical(logits=logits), self.critic(hidden).squeeze(-1)


def advantages(reward: torch.Tensor, done: torch.Tensor, value: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
    """Generalised advantage estimates, `[T, B]`.

    Args:
        reward: `[T, B]`, of each step.
        done: `[T, B]`, 1 where the step ended a row's episode.
        value: `[T, B]`, of what was seen before the step.
        following: `[B]`, of what is seen after the last step.
    """
    advantage, ahead = torch.zeros_like(reward), torch.zeros_like(following)
    for t in reversed(range(len(reward))):
        ahead = reward[t] + following * (1 - done[t]) - value[t] + LAMBDA * (1 - done[t]) * ahead
        advantage[t], following = ahead, value[t]
    return advantage


def learn(policy: Policy, optimizer: torch.optim.Optimizer, rows: Sequence[torch.Tensor]) -> None:
    """Learn from a rollout.

    Args:
        policy: what learns.
        optimizer: of its parameters.
        rows: observations, masks, actions, their log probabilities, advantages and targets of the value, each `[N, ...]`.
    """
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(rows[0])).chunk(MINIBATCHES):
            seen, mask, action, log_prob, advantage, target = (part[chosen] for part in rows)
            chances, value = policy.both(seen, mask)
            ratio = (chances.log_prob(action) - log_prob).exp()
            gain = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            loss = loss + VALUE * (value - target).square().mean() - ENTROPY * chances.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), GRADIENT)
            optimizer.step()


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=200_000)
    torch.manual_seed(0)
    env = SingleAgentBatch(options.variant, GAMES, "random", seed=0)
    policy = Policy(env.engine.layout.size, env.variant.actions)
    optimizer = torch.optim.Adam(policy.parameters(), LEARNING_RATE, eps=1e-5)
    env.reset()
    for _ in range(-(-options.total_timesteps // (GAMES * STEPS))):
        rollout: list[tuple[torch.Tensor, ...]] = []
        for _ in range(STEPS):
            seen, mask = torch.from_numpy(env.observation), torch.from_numpy(env.action_mask)
            with torch.no_grad():
                chances, value = policy.both(seen, mask)
                action = chances.sample()
            step = env.step(action.numpy())
            done = torch.from_numpy(step.terminated | step.truncated).float()
            rollout.append((seen, mask, action, chances.log_prob(action), value, torch.from_numpy(step.reward), done))
        seen, mask, action, log_prob, value, reward, done = map(torch.stack, zip(*rollout, strict=True))
        with torch.no_grad():
            _, following = policy.both(torch.from_numpy(env.observation), torch.from_numpy(env.action_mask))
        advantage = advantages(reward, done, value, following)
        learn(policy, optimizer, [part.flatten(0, 1) for part in (seen, mask, action, log_prob, advantage, advantage + value)])
    return against_random(policy, options)


if __name__ == "__main__":
    main()
