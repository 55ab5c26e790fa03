"""Goofspiel as a PettingZoo `ParallelEnv`."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo.utils.env import ParallelEnv

from getbit_env.core.choices import options_from
from tests.third_game.engine import Engine
from tests.third_game.observations import Options
from tests.third_game.variants import Reward, Variant, parse_variant


class GoofspielEnv(ParallelEnv):
    """One game."""

    metadata = {"name": "goofspiel_v0", "render_modes": ["ansi"], "is_parallelizable": True}  # noqa: RUF012 - PettingZoo's own

    def __init__(
        self,
        *,
        variant: Variant | str = "goofspiel-2p-3c",
        reward: Reward | str = Reward.WIN,
        render_mode: str | None = None,
        **observe: bool,
    ) -> None:
        self.variant = parse_variant(variant) if isinstance(variant, str) else variant
        self._engine = Engine(self.variant, 1, options=options_from(Options, observe), reward=reward)
        self.layout, self.render_mode = self._engine.layout, render_mode
        self.possible_agents = [f"player_{p}" for p in range(self.variant.players)]
        self.agents: list[str] = []
        self._bids: list[list[int]] = []
        seen = spaces.Box(0, 1, (self.layout.size,), np.float32)
        mask = spaces.Box(0, 1, (self.variant.actions,), np.int8)
        self._spaces = {agent: spaces.Dict({"observation": seen, "action_mask": mask}) for agent in self.possible_agents}
        self._choices = {agent: spaces.Discrete(self.variant.actions) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Dict:
        return self._spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self._choices[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        if seed is not None:
            self._engine.seed(seed)
        self._engine.start(starts=None if not options else [options["prizes"]])
        self.agents, self._bids = self.possible_agents[:], []
        return self._see()

    def step(self, actions: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
        if actions.keys() != set(self.agents):
            raise ValueError(f"actions are one for each of {self.agents}, not for {list(actions)}")
        if not self.agents:
            return {}, {}, {}, {}, {}
        asked = [[index(actions[agent]) for agent in self.agents]]
        for agent, action in zip(self.agents, asked[0], strict=True):
            if not 0 <= action < self.variant.actions:
                raise ValueError(f"{agent}: action {action} is out of range, actions are 0..{self.variant.actions - 1}")
        self._engine.play(np.array(asked))
        self._bids.append(self._engine.actions[0].tolist())
        observations, infos = self._see()
        outcome = self._engine.outcome
        rewards = dict(zip(self.agents, outcome.reward[:, 0].tolist(), strict=True))
        terminations = dict.fromkeys(self.agents, bool(outcome.over[0]))
        truncations = dict.fromkeys(self.agents, False)
        for p, agent in enumerate(self.agents):
            infos[agent]["illegal_action"] = bool(self._engine.replaced[0, p])
            infos[agent]["placement"] = int(outcome.finish[p, 0])
        if outcome.over[0]:
            self.agents = []
        return observations, rewards, terminations, truncations, infos

    def snapshot(self) -> dict[str, Any]:
        """The prizes in their order, and all bids: what a replay needs."""
        return {"start": self._engine.state.prizes[0].tolist(), "actions": self._bids[:]}

    def render(self) -> str | None:
        """The position as a line of text."""
        state = self._engine.state
        left = [" ".join(str(card + 1) for card in np.flatnonzero(hand)) or "-" for hand in state.hand[0]]
        rows = zip(self.possible_agents, left, state.points[0], strict=True)
        parts = [f"{agent}: {cards} ({points})" for agent, cards, points in rows]
        return "; ".join(parts) if self.render_mode == "ansi" else None

    def _see(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._engine.observe()
        seen, mask = self._engine.observation[0], self._engine.action_mask[0]
        observations = {a: {"observation": seen[p].copy(), "action_mask": mask[p].copy()} for p, a in enumerate(self.agents)}
        infos = {a: {"action_mask": mask[p].copy(), "illegal_action": False, "placement": 0} for p, a in enumerate(self.agents)}
        return observations, infos
