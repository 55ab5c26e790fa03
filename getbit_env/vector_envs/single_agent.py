"""One seat of many games as a Gymnasium `VectorEnv`: the learner in one seat of each, agents in the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from getbit_env.game_registry import find_game
from getbit_env.single_agent.batch import Opponents, SingleAgentBatch, SingleAgentStep
from getbit_env.vector_envs.games import Arrays, GamesVectorEnv, read_arguments


class SingleAgentVectorEnv(GamesVectorEnv):
    """`SingleAgentEnv` for many games: `gymnasium.make_vec("getbit_env:getbit/GetBit-v0", num_envs=1024, opponents="random")`.

    Observations are `[num_envs, D]` float32, rewards float32. An info holds, for each game, `action_mask` (`[num_envs, A]` int8),
    `illegal_action`, `placement` and `seat`, as those of `SingleAgentEnv`. The games of `reset(seed=s)` are those of as many
    `SingleAgentEnv`s with the seeds s, s + 1, ...

    Attributes:
        batch: the `SingleAgentBatch` behind it.
        layout: what the entries of an observation mean.
    """

    batch: SingleAgentBatch

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        opponents: Opponents | None = None,
        *,
        seat: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Seat the opponents.

        Args:
            game: id of the game.
            num_envs: games at a time.
            opponents: an agent, or its name (`load_agent`), for all other seats; or a sequence with one for each of them, from the
                next seat on. By default the game's first bot.
            seat: the learner's, or None: drawn anew each game.
            autoreset_mode: when a game whose episode is over begins anew: "NextStep", "SameStep" or "Disabled", or a
                `gymnasium.vector.AutoresetMode`.
            copy: whether every call returns new arrays of observations and masks. Without, the next call overwrites them.
            render_mode: None or "rgb_array".
            **options: of the game's environment, for Get Bit! those of `parallel_env`.

        Raises:
            ValueError: an argument has a value that is not allowed.
            TypeError: there is no option of that name.
        """
        arguments = read_arguments(game, ("num_envs", "opponents", "seat", "autoreset_mode", "copy", "render_mode"), options)
        batch = SingleAgentBatch(
            arguments.variant,
            num_envs,
            next(iter(find_game(game).bots)) if opponents is None else opponents,
            seat=seat,
            copy=copy,
            autoreset_mode=autoreset_mode,
            **arguments.of_batch,
        )
        super().__init__(batch, 1, refuses_illegal=arguments.refuses_illegal, copy=copy, render_mode=render_mode)
        self._illegal, self._placement = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.int64)

    @property
    def action_mask(self) -> NDArray[np.int8]:
        """What the learner may play, `[num_envs, A]`, 1 = legal: `info["action_mask"]` of the last call."""
        return self.batch.action_mask

    def set_opponents(self, opponents: Opponents) -> int:
        """Change the opponents of all games; games that are going on are finished by those that began them.

        Returns:
            The number of these opponents: `batch.group` holds it for the games that they play.
        """
        return self.batch.set_opponents(opponents)

    def set_opponent_groups(self, opponent_groups: Sequence[Opponents]) -> list[int]:
        """`set_opponents` for several groups of opponents, each for an equal number of the games.

        Returns:
            A number for each group.
        """
        return self.batch.set_opponent_groups(opponent_groups)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin games.

        Args:
            seed: game g gets `seed + g`, or entry g of a list; without one the streams of the last seed go on. It fixes these games
                and those that follow, and where all games begin what opponents draw.
            options: None, or `{"reset_mask": mask}`: only the games for which the mask `[num_envs]` is True begin.

        Returns:
            Observations and infos of all games.

        Raises:
            ValueError: an argument is wrong. Nothing has happened then.
            RuntimeError: only some of the games begin, but none were begun before.
        """
        seeds, games = self._read_reset(seed, options)
        self.batch.reset(seeds, games)
        begun: Any = slice(None) if games is None else games
        self._illegal[begun], self._placement[begun] = False, 0
        return self.batch.observation, self._own_infos()

    def step(self, actions: Any) -> Arrays:
        """Play a round of every game; in a sequential game go to the next own decision.

        Args:
            actions: `[num_envs]` whole numbers. In mode "NextStep" a game whose episode ended in the last step begins anew instead,
                and its action is ignored.

        Returns:
            Observations, rewards, terminations, truncations and infos. In mode "SameStep" the infos hold `final_obs` and
            `final_info` of the games whose episode ended.

        Raises:
            RuntimeError: the games were not begun, or (in mode "Disabled") the episode of one is over.
            ValueError: an action is no whole number, out of range, or (with `illegal_action="raise"`) illegal. Nothing has happened
                then.
        """
        step = self.batch.step(self._read_actions(actions, ~self.batch.ended))
        self._illegal, self._placement = step.illegal, step.placement.astype(np.int64)
        final: dict[str, Any] = {}
        if step.done.size and self.batch.autoreset_mode == AutoresetMode.SAME_STEP:
            final = self._final(step)
            self._illegal[step.done], self._placement[step.done] = False, 0
        return self.batch.observation, step.reward, step.terminated, step.truncated, {**self._own_infos(), **final}

    def _own_infos(self) -> dict[str, Any]:
        return self._infos(
            action_mask=self.batch.action_mask,
            illegal_action=self._illegal.copy(),
            placement=self._placement.copy(),
            seat=self.batch.seat.copy(),
        )

    def _final(self, step: SingleAgentStep) -> dict[str, Any]:
        """`final_obs` and `final_info` of the games whose episode ended."""
        done, are = step.done, self._are(step.done)
        infos: dict[str, Any] = {}
        for name, values in {
            "action_mask": step.final_action_mask,
            "illegal_action": step.illegal[done],
            "placement": step.placement[done].astype(np.int64),
            "seat": step.final_seat,
        }.items():
            infos[name], infos[f"_{name}"] = np.zeros((self.num_envs, *values.shape[1:]), values.dtype), are
            infos[name][done] = values
        return {**self._final_observations(done, step.final_observation), "final_info": infos, "_final_info": are}
