"""Self-play with a centralised critic: players choose by what they see, and the critic judges by the whole position.

    python -m examples.centralised_critic

One policy plays all seats (parameter sharing). In the memory game it sees only its own hand; the critic, used in training alone, is
given `state()` with the hands of all, and the seat that it judges. A trajectory belongs to one seat and ends when its fate is
decided; nothing is discounted, so its return is its last reward.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import getbit_env
from examples.shared import against_random, read
from getbit_env.match import MatchResult

GAMES, EPOCHS, MINIBATCHES = 64, 4, 4  # games of a rollout, each played to its end
LEARNING_RATE, CLIP, ENTROPY = 1e-3, 0.2, 0.02


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def chances_of(actor: nn.Module, seen: torch.Tensor, mask: torch.Tensor) -> Any:
    """The distribution over legal actions."""
    return Categorical(logits=actor(seen).masked_fill(mask == 0, -1e8))


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=60_000)
    torch.manual_seed(0)
    envs = [getbit_env.parallel_env(variant=options.variant) for _ in range(GAMES)]
    players, layout = envs[0].variant.players, envs[0].layout
    actor = network(layout.size, envs[0].variant.actions)
    critic = network(envs[0].state_layout.size + players, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], LEARNING_RATE)
    decisions = 0
    while decisions < options.total_timesteps:
        observations = [env.reset(seed=game if decisions == 0 else None)[0] for game, env in enumerate(envs)]
        returns = np.zeros((GAMES, players), np.float32)
        rollout, seats = [], []
        while any(env.agents for env in envs):
            choosing = [(game, agent) for game, env in enumerate(envs) for agent in env.agents]
            seen = torch.from_numpy(np.stack([observations[game][agent]["observation"] for game, agent in choosing]))
            mask = torch.from_numpy(np.stack([observations[game][agent]["action_mask"] for game, agent in choosing]))
            numbers = [(game, int(agent.removeprefix("player_"))) for game, agent in choosing]
            judged = np.stack([np.r_[envs[game].state(), np.eye(players)[seat]] for game, seat in numbers])
            with torch.no_grad():
                chances = chances_of(actor, seen, mask)
                action = chances.sample()
            rollout.append((seen, mask, torch.from_numpy(judged.astype(np.float32)), action, chances.log_prob(action)))
            seats += numbers
            chosen = dict(zip(choosing, action.tolist(), strict=True))
            for game, env in enumerate(envs):
                if env.agents:
                    observations[game], rewards, *_ = env.step({agent: chosen[game, agent] for agent in env.agents})
                    for agent, reward in rewards.items():
                        returns[game, int(agent.removeprefix("player_"))] += reward
        decisions += len(seats)
        rows = [*map(torch.cat, zip(*rollout, strict=True)), torch.from_numpy(returns[tuple(np.array(seats).T)])]
        for _ in range(EPOCHS):
            for chosen_rows in torch.randperm(len(seats)).chunk(MINIBATCHES):
                seen, mask, state, action, log_prob, target = (part[chosen_rows] for part in rows)
                value = critic(state).squeeze(-1)
                gain = target - value.detach()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                chances = chances_of(actor, seen, mask)
                ratio = (chances.log_prob(action) - log_prob).exp()
                loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
                loss = loss + 0.5 * (value - target).square().mean() - ENTROPY * chances.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return against_random(actor, options)


if __name__ == "__main__":
    main()
