"""Any game as a Gymnasium environment: the learner in one seat, agents in the others.

For algorithms that know nothing of several agents, or of masks: an illegal action is replaced by the lowest legal one. For many
games at a time `getbit_env.vector_envs` and `getbit_env.sb3` are far faster.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from getbit_env.core.choices import did_you_mean, reset_options, seed_or_none
from getbit_env.core.rows import draw_seats
from getbit_env.core.spec import Dynamics, GameSpec
from getbit_env.core.streams import game_streams
from getbit_env.game_batch import RENDER_FPS
from getbit_env.game_registry import find_game
from getbit_env.single_agent.batch import AgentSeeds, Opponents, checked_seat, seat_opponents


def make_multi_agent_env(game: GameSpec, others: Iterable[str], **options: Any) -> Any:
    """The PettingZoo environment of a game.

    Args:
        game: what the game is.
        others: names of arguments that the caller has beside those of the environment, which a wrong name may have meant.
        **options: of the environment.

    Raises:
        ValueError: an option has a value that is not allowed.
        TypeError: there is no option of that name.
    """
    theirs = [*inspect.signature(game.make_env).parameters, *(f.name for f in fields(game.options))]
    for name in options.keys() - set(theirs):
        raise TypeError(f"unexpected keyword argument {name!r}{did_you_mean(name, [*others, *theirs])}")
    return game.make_env(**options)


class SingleAgentEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One seat of a game: `gymnasium.make("getbit_env:getbit/GetBit-v0", opponents="random", players=4)`.

    Observations are the vector of the game's PettingZoo environment, `[D]` float32. The mask of legal actions is
    `info["action_mask"]`, int8 `[A]`, and `action_masks()`, bool `[A]`. The episode ends when the learner's fate is decided. In a
    sequential game a step goes from a decision of the learner to its next one, or to the end, and its reward is the sum of all in
    between.

    Attributes:
        game_spec: what the game is.
        multi_agent_env: the PettingZoo environment behind it.
        layout: of the observations.
        seat: the learner's in this game.
    """

    game_spec: GameSpec
    multi_agent_env: Any
    layout: Any
    render_mode: str | None
    observation_space: spaces.Space[NDArray[np.float32]]
    action_space: spaces.Space[np.int64]
    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": RENDER_FPS}  # noqa: RUF012 - Gymnasium's own
    seat: int

    def __init__(
        self,
        game: str,
        opponents: Opponents | None = None,
        *,
        seat: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Seat the opponents.

        Args:
            game: id of the game.
            opponents: an agent, or its name (`load_agent`), for all other seats; or a sequence with one for each of them, from the
                next seat on. By default the game's first bot.
            seat: the learner's, or None: drawn anew each game.
            render_mode: of the environment.
            **options: of the game's environment, for Get Bit! those of `parallel_env`.

        Raises:
            ValueError: there is no such seat, or the opponents are too few or too many, or play another game.
            TypeError: there is no option of that name.
        """
        self.game_spec = find_game(game)
        self.multi_agent_env = make_multi_agent_env(self.game_spec, ("opponents", "seat"), render_mode=render_mode, **options)
        self.metadata = copy.deepcopy(self.metadata)  # its own, since the class hands its dict out
        self.layout, self.render_mode = self.multi_agent_env.layout, render_mode
        variant = self.multi_agent_env.variant
        others, seat = variant.players - 1, checked_seat(seat, variant.players)
        agents = seat_opponents(next(iter(self.game_spec.bots)) if opponents is None else opponents, self.layout)
        self._at_once = self.game_spec.dynamics == Dynamics.SIMULTANEOUS
        if len(agents) == 1 and not self._at_once:
            agents *= others
        self._opponents = [copy.deepcopy(agent) for agent in agents]
        self._rows = [slice(0, others)] if len(agents) == 1 else [slice(k, k + 1) for k in range(others)]
        self._fixed_seat = np.full(1, -1 if seat is None else seat, np.int64)
        self._seeded = False
        self._over = True
        self._chosen: dict[str, Any] | None = None  # what the others play in this round, where all decide at once
        self.observation_space = spaces.Box(0, 1, (self.layout.size,), np.float32)
        self.action_space = spaces.Discrete(variant.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a game. The others play until the learner has a decision.

        Args:
            seed: fixes this game and those that follow; without one the streams of the last seed go on.
            options: those of the `reset` of the environment behind it.

        Returns:
            Observation and info of the learner.

        Raises:
            ValueError: the seed or an option is wrong. Nothing has happened then.
        """
        seed = seed_or_none(seed)
        begun = self.multi_agent_env.reset(seed=seed, options=dict(reset_options(options)))
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._seat_stream, self._seats_drawn = game_streams(seed, 1), np.zeros(1, np.uint64)
            seeds = AgentSeeds(seed)
            for agent, rows in zip(self._opponents, self._rows, strict=True):
                agent.reset(self.layout, np.ones(rows.stop - rows.start, np.bool_), seeds.next())
        self._seeded, self._chosen = True, None
        self._seat_everybody()
        if self._at_once:
            self._over = False
            self._seen, infos = begun
            return self._seen[self._names[0]]["observation"].copy(), {**infos[self._names[0]], "seat": self.seat}
        while not self._play_on():  # a game that is over before the learner decides anything is no episode
            self.multi_agent_env.reset()
            self._seat_everybody()
        return self._own()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play a round; in a sequential game, decide, and let the others play until the next own decision.

        Raises:
            RuntimeError: the game is over, or was not begun.
            ValueError: the action is out of range, or (with `illegal_action="raise"`) illegal. Nothing has happened then.
            TypeError: it is not a whole number.
        """
        if self._over:
            raise RuntimeError("the game is over, or was not begun: call reset()")
        return self._step_at_once(action) if self._at_once else self._step_in_turn(action)

    def action_masks(self) -> NDArray[np.bool_]:
        """What the learner may do, `[A]`; all ones when its fate is decided.

        Raises:
            RuntimeError: the environment was never reset.
        """
        if not self._seeded:
            raise RuntimeError("call reset() before action_masks()")
        me = self._names[0]
        mask: NDArray[np.int8] = (self._seen[me] if self._at_once else self.multi_agent_env.observe(me))["action_mask"]
        return mask.astype(np.bool_)

    def render(self) -> Any:
        """Show the position, as `multi_agent_env` does."""
        return self.multi_agent_env.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.multi_agent_env.close()

    def _seat_everybody(self) -> None:
        """Seat the learner as the batch seats it, and the opponents after it."""
        players, seat = self.multi_agent_env.variant.players, np.zeros(1, np.int64)
        draw_seats(self._seat_stream, self._seats_drawn, np.ones(1, np.uint8), self._fixed_seat, players, seat)
        self.seat = int(seat[0])
        self._names = [f"player_{(self.seat + k) % players}" for k in range(players)]  # the learner first
        for agent, rows in zip(self._opponents, self._rows, strict=True):
            agent.reset(self.layout, np.ones(rows.stop - rows.start, np.bool_), None)

    def _step_at_once(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        me = self._names[0]
        if self._chosen is None:  # else the last step was refused, and the others don't choose again
            self._chosen = self._choices_of_others()
        self._seen, rewards, terminations, truncations, infos = self.multi_agent_env.step({**self._chosen, me: action})
        self._chosen = None
        self._over = terminations[me] or truncations[me]
        info = {**infos[me], "seat": self.seat}
        return self._seen[me]["observation"].copy(), rewards[me], terminations[me], truncations[me], info

    def _choices_of_others(self) -> dict[str, Any]:
        others, playing = self._names[1:], self.multi_agent_env.agents
        actions: dict[str, Any] = {}
        for agent, rows in zip(self._opponents, self._rows, strict=True):
            names = others[rows]
            seen = np.zeros((len(names), self.layout.size), np.float32)
            masks = np.ones((len(names), self.multi_agent_env.variant.actions), np.int8)
            for row, name in enumerate(names):
                if name in playing:
                    seen[row], masks[row] = self._seen[name]["observation"], self._seen[name]["action_mask"]
            chosen = agent.act(seen, masks)
            actions |= {name: chosen[row] for row, name in enumerate(names) if name in playing}
        return actions

    def _step_in_turn(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        env, me = self.multi_agent_env, self._names[0]
        env.step(action)
        replaced = env.infos[me]["illegal_action"]
        self._play_on()
        observation, info = self._own()
        info["illegal_action"] = replaced
        return observation, env.rewards[me], env.terminations[me], env.truncations[me], info

    def _play_on(self) -> bool:
        """Let the others play until the learner decides (True) or the game is over (False). Rewards come at its end only."""
        env, me = self.multi_agent_env, self._names[0]
        while not env.terminations[me] and not env.truncations[me] and env.agent_selection != me:
            seen = env.observe(env.agent_selection)
            agent = self._opponents[self._names.index(env.agent_selection) - 1]
            env.step(int(agent.act(seen["observation"][None], seen["action_mask"][None])[0]))
        self._over = env.terminations[me] or env.truncations[me]
        return not self._over

    def _own(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        me = self._names[0]
        return self.multi_agent_env.observe(me)["observation"], {**self.multi_agent_env.infos[me], "seat": self.seat}
