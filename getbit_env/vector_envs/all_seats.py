"""All seats of many games as a Gymnasium `VectorEnv`: every seat learns, with one network for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from getbit_env.core.choices import whole_number
from getbit_env.core.layouts import Show
from getbit_env.core.messages import shown
from getbit_env.core.rows import settle_all_seats
from getbit_env.game_batch import GameBatch
from getbit_env.vector_envs.games import Arrays, GamesVectorEnv, read_arguments


class AllSeatsVectorEnv(GamesVectorEnv):
    """Row `g * players + p` is seat p of game g: `gymnasium.make_vec("getbit_env:getbit/GetBitAllSeats-v0", num_envs=4096)`.

    A seat's episode ends when its fate is decided: `terminations` has a True in that step, with the seat's reward. From then on the
    row is dead until its game is over and begins anew. `info["alive"]` says which rows live: a dead row is all zero with a mask of
    ones, its action is ignored, its reward is 0, and it is no sample to learn from.

    The arrays are views of the memory in which the engine plays, for `torch.from_numpy` without a copy. The next call of `reset` or
    `step` overwrites every one of them, unless `copy` is True.

    An info holds, for each row, `action_mask` (`[num_envs, A]` int8); `alive`; `acts`, whether the row's next action counts (in a
    sequential game one row of each game acts, the others look on; where all decide at once it is `alive`); `placement`, the
    finishing place if it was decided in this step, else 0; and `illegal_action`. In mode "SameStep", where a limit cut games off,
    it also holds `final_obs` of their live rows.

    Attributes:
        batch: the games.
        layout: what the entries of an observation mean.
        players: rows of a game.
    """

    players: int

    def __init__(
        self,
        game: str,
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        copy: bool = False,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the games.

        Args:
            game: id of the game.
            num_envs: rows: games times players.
            autoreset_mode: when a game that is over begins anew: "NextStep", "SameStep" or "Disabled", or a
                `gymnasium.vector.AutoresetMode`.
            copy: whether every call returns new arrays. Without, the next call overwrites them.
            render_mode: None or "rgb_array".
            **options: of the game's environment, for Get Bit! those of `parallel_env`.

        Raises:
            ValueError: an argument has a value that is not allowed.
            TypeError: there is no option of that name.
        """
        arguments = read_arguments(game, ("num_envs", "autoreset_mode", "copy", "render_mode"), options)
        self.players = arguments.variant.players
        rows = whole_number("num_envs", num_envs, 1)
        if rows % self.players:
            raise ValueError(
                f"num_envs is a multiple of {self.players}, the players of {arguments.variant}: a row is a seat; not {shown(rows)}"
            )
        batch = GameBatch(arguments.variant, rows // self.players, autoreset_mode=autoreset_mode, **arguments.of_batch)
        super().__init__(batch, self.players, refuses_illegal=arguments.refuses_illegal, copy=copy, render_mode=render_mode)
        games, of_seats = batch.engine.size, (batch.engine.size, self.players)
        self._show = np.full(games, Show.ALL if batch.sequential else Show.CHOOSING, np.uint8)  # in turns the others look on
        self._alive, self._acts = np.zeros(of_seats, np.bool_), np.zeros(of_seats, np.bool_)
        self._rewards, self._placement = np.zeros(of_seats, np.float32), np.zeros(of_seats, np.uint8)
        self._terminated, self._truncated, self._illegal = (np.zeros(of_seats, np.bool_) for _ in range(3))

    @property
    def observation(self) -> NDArray[np.float32]:
        """What each row sees, `[num_envs, D]`, where the engine writes it."""
        observation: NDArray[np.float32] = self.batch.engine.observation.reshape(self.num_envs, -1)
        return observation

    @property
    def action_mask(self) -> NDArray[np.int8]:
        """What each row may play, `[num_envs, A]`, 1 = legal, where the engine writes it."""
        action_mask: NDArray[np.int8] = self.batch.engine.action_mask.reshape(self.num_envs, -1)
        return action_mask

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin games.

        Args:
            seed: game g gets `seed + g`, or entry g of a list; without one the streams of the last seed go on.
            options: None, or `{"reset_mask": mask}`: only the games for which the mask `[num_envs]` is True begin, in all rows of
                the game.

        Returns:
            Observations and infos of all rows.

        Raises:
            ValueError: an argument is wrong. Nothing has happened then.
            RuntimeError: only some of the games begin, but none were begun before.
        """
        seeds, games = self._read_reset(seed, options)
        begins = np.ones(self.batch.engine.size, np.bool_) if games is None else games
        self.batch.seed_games(seeds, begins)
        self._begin(begins)
        self.batch.ended = self.batch.ended & ~begins
        self.batch.begun = True
        self._placement[begins], self._illegal[begins] = 0, False
        self.batch.engine.observe(begins * self._show)
        return self._returned(self.observation), self._own_infos()

    def step(self, actions: Any) -> Arrays:
        """Play a round of every game, or a decision.

        Args:
            actions: `[num_envs]` whole numbers; those of rows that don't act are ignored. In mode "NextStep" a game that was over
                after the last step begins anew instead.

        Returns:
            Observations, rewards, terminations, truncations and infos.

        Raises:
            RuntimeError: the games were not begun, or (in mode "Disabled") one is over.
            ValueError: an action is no whole number, out of range, or (with `illegal_action="raise"`) illegal. Nothing has happened
                then.
        """
        batch, engine = self.batch, self.batch.engine
        given = self._read_actions(actions, self._acts.reshape(-1))
        batch.play(given.reshape(-1, self.players))
        outcome, waiting = engine.outcome, batch.ended
        over = (outcome.over > 0) & ~waiting
        cut = batch.cut_off(over) & ~waiting
        settle_all_seats(
            outcome.finish,
            outcome.reward,
            over,
            cut,
            engine.replaced,
            self._alive,
            self._rewards,
            self._terminated,
            self._truncated,
            self._placement,
            self._illegal,
        )
        ends, final = over | cut, {}
        if batch.autoreset_mode == AutoresetMode.SAME_STEP:
            if cut.any():
                final = self._final(cut)
            self._begin(ends)
        else:
            if batch.autoreset_mode == AutoresetMode.NEXT_STEP:
                self._begin(waiting)
            batch.ended = ends
        engine.observe(self._show)
        return (
            self._returned(self.observation),
            self._returned(self._rewards.reshape(-1)),
            self._returned(self._terminated.reshape(-1)),
            self._returned(self._truncated.reshape(-1)),
            {**self._own_infos(), **final},
        )

    def _begin(self, begins: NDArray[np.bool_]) -> None:
        if begins.any():
            self.batch.engine.start(begins.view(np.uint8))
            self._alive[begins] = True

    def _final(self, cut: NDArray[np.bool_]) -> dict[str, Any]:
        """`final_obs` of the rows that a limit cut off. A terminated row needs none: nothing is bootstrapped from it."""
        self.batch.engine.observe(cut * self._show)
        rows = np.flatnonzero(self._truncated)
        return self._final_observations(rows, self.observation[rows])

    def _returned(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self._copy else array

    def _own_infos(self) -> dict[str, Any]:
        if self.batch.sequential:
            self._acts = self.batch.engine.choosing() & self._alive
        else:
            self._acts = self._alive
        arrays = {
            "action_mask": self.action_mask,
            "alive": self._alive.reshape(-1),
            "acts": self._acts.reshape(-1),
            "placement": self._placement.reshape(-1),
            "illegal_action": self._illegal.reshape(-1),
        }
        return self._infos(**{name: self._returned(array) for name, array in arrays.items()})
