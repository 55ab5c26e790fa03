"""Self-play on PufferLib's vector environment: one policy in all seats, trained by the PPO of `examples.cleanrl_ppo`.

    python -m examples.pufferlib_ppo

PufferLib's emulation keeps the rows of players who are out, and flattens what an agent observes, mask included, into one array of
bytes. `obs_dtype` views it as fields again. `pufferlib-core` brings emulation and vectorisation alone; the trainer of PufferLib
wants CUDA.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pufferlib
import torch
from pufferlib import emulation, vector

import getbit_env
from examples.cleanrl_ppo import LEARNING_RATE, Policy, advantages, learn
from examples.shared import against_random, read
from getbit_env.match import MatchResult

GAMES, STEPS = 64, 32  # a rollout


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Train, play a match against random players, print the result."""
    options = read(__doc__, arguments, total_timesteps=100_000)
    torch.manual_seed(0)
    game = getbit_env.parallel_env(variant=options.variant)
    if not hasattr(pufferlib, "unroll_nested_dict"):  # where pufferlib-core 3.0.3 looks for it
        pufferlib.unroll_nested_dict = pufferlib.pufferlib.unroll_nested_dict

    def make(**given: Any) -> Any:
        return emulation.PettingZooPufferEnv(getbit_env.parallel_env(variant=options.variant), **given)

    env = vector.make(make, backend=vector.Serial, num_envs=GAMES, seed=0)
    env.reset(seed=0)
    fields = env.observations.view(env.driver_env.obs_dtype).squeeze(-1)  # the next step overwrites them

    def look() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Copies of the observations and masks, and which rows decide something."""
        alive = env.masks & ~env.terminals & ~env.truncations
        return torch.tensor(fields["observation"]), torch.tensor(fields["action_mask"]), torch.tensor(alive)

    policy = Policy(game.layout.size, game.variant.actions)
    optimizer = torch.optim.Adam(policy.parameters(), LEARNING_RATE, eps=1e-5)
    decisions = 0
    while decisions < options.total_timesteps:
        rollout: list[tuple[torch.Tensor, ...]] = []
        for _ in range(STEPS):
            seen, mask, alive = look()
            with torch.no_grad():
                chances, value = policy.both(seen, mask)
                action = chances.sample()
            env.step(action.numpy().astype(np.int32))
            done = torch.tensor(env.terminals | env.truncations).float()
            rollout.append((seen, mask, action, chances.log_prob(action), value, torch.tensor(env.rewards), done, alive))
        seen, mask, action, log_prob, value, reward, done, alive = map(torch.stack, zip(*rollout, strict=True))
        with torch.no_grad():
            _, following = policy.both(*look()[:2])
        advantage = advantages(reward, done, value, following)
        learn(policy, optimizer, [part[alive] for part in (seen, mask, action, log_prob, advantage, advantage + value)])
        decisions += int(alive.sum())
    env.close()
    return against_random(policy, options)


if __name__ == "__main__":
    main()
