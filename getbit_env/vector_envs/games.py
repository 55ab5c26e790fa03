"""What the vector environments share: arguments, spaces, seeds, resets of some games, legal play at random, pictures."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from getbit_env.core.choices import IllegalAction, choice, reset_options
from getbit_env.core.messages import shown
from getbit_env.core.sampling import sample_legal
from getbit_env.core.spec import Layout, Variant
from getbit_env.core.streams import RowStreams
from getbit_env.game_batch import RENDER_FPS, GameBatch, checked_render_mode, checked_seeds
from getbit_env.game_registry import find_game
from getbit_env.single_agent.environment import make_multi_agent_env

Arrays = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class GameArguments(NamedTuple):
    """The arguments of a game's PettingZoo environment, for batches of its games."""

    variant: Variant
    of_batch: dict[str, Any]  # arguments of `GameBatch`
    refuses_illegal: bool  # illegal_action="raise"


def read_arguments(game: str, others: Iterable[str], options: Mapping[str, Any]) -> GameArguments:
    """Read them as the environment itself does: it is made, and asked.

    Args:
        game: id of the game.
        others: names of arguments that the caller has beside them.
        options: the arguments.

    Raises:
        ValueError: one has a value that is not allowed.
        TypeError: there is none of that name.
    """
    spec = find_game(game)
    env = make_multi_agent_env(spec, others, **options)
    of_engine = inspect.signature(spec.make_engine).parameters.keys() - {"variant", "games", "seed", "options"}
    of_batch = {name: value for name, value in options.items() if name in of_engine}
    of_batch |= {"options": env.layout.options, "max_cycles": options.get("max_cycles")}
    illegal_action = choice(IllegalAction, "illegal_action", options.get("illegal_action", IllegalAction.LOWEST))
    return GameArguments(env.variant, of_batch, illegal_action == IllegalAction.RAISE)


class GamesVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.integer], NDArray[Any]]):
    """A vector environment over a batch of games, whose rows are seats.

    Attributes:
        batch: the games.
        layout: what the entries of an observation mean.
    """

    batch: GameBatch
    layout: Layout
    render_mode: str | None
    num_envs: int
    single_observation_space: spaces.Space[Any]
    observation_space: spaces.Space[Any]
    single_action_space: spaces.Discrete
    action_space: spaces.Space[Any]
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": RENDER_FPS}  # noqa: RUF012 - Gymnasium's own

    def __init__(self, batch: GameBatch, rows: int, *, refuses_illegal: bool, copy: bool, render_mode: str | None) -> None:
        """Make the spaces.

        Args:
            batch: the games.
            rows: rows of a game.
            refuses_illegal: illegal actions raise `ValueError`.
            copy: whether every call returns new arrays.
            render_mode: None or "rgb_array".

        Raises:
            ValueError: there is no such mode, or nothing draws this game.
        """
        self.render_mode = checked_render_mode(render_mode, batch.game)
        self.metadata = {**type(self).metadata, "autoreset_mode": batch.autoreset_mode}
        self.batch, self.layout = batch, batch.engine.layout
        self._rows_per_game, self._copy, self._refuses_illegal = rows, copy, refuses_illegal
        self.num_envs = batch.engine.size * rows
        self.single_observation_space = spaces.Box(0, 1, (self.layout.size,), np.float32)
        self.observation_space = spaces.Box(0, 1, (self.num_envs, self.layout.size), np.float32)
        self.single_action_space = spaces.Discrete(batch.variant.actions)
        self.action_space = spaces.MultiDiscrete(np.full(self.num_envs, batch.variant.actions))
        self._has_info = np.ones(self.num_envs, np.bool_)
        self._has_info.flags.writeable = False
        self._sampled = RowStreams(None, self.num_envs)

    @property
    def action_mask(self) -> NDArray[np.int8]:
        """What each row may play, `[num_envs, A]`, 1 = legal: `info["action_mask"]` of the last call."""
        raise NotImplementedError

    def sample_actions(self) -> NDArray[np.int64]:
        """Draw a legal action for each row, all alike, in compiled code: `action_space.sample()` knows no masks and is slow.

        Returns:
            `[num_envs]`. What is drawn is fixed by the seed of the last reset that had one.

        Raises:
            RuntimeError: the environment was never reset.
        """
        if not self.batch.begun:
            raise RuntimeError("call reset() before sample_actions()")
        return sample_legal(self.action_mask, self._sampled)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A picture for each row, `[H, W, 3]`, as Gymnasium's `RecordVideo` takes them; rows of one game share theirs.

        Raises:
            RuntimeError: the environment was never reset.
        """
        if self.render_mode is None:
            return None
        each = self._rows_per_game
        return tuple(picture for picture in self.batch.pictures(range(self.batch.engine.size)) for _ in range(each))

    def _read_reset(self, seed: Any, options: Any) -> tuple[list[int | None] | None, NDArray[np.bool_] | None]:
        """The arguments of a reset: a seed for each game or None, and the games `[G]` that begin or None for all.

        Raises:
            ValueError: one is wrong. Nothing has happened then.
            RuntimeError: only some of the games begin, but none were begun before.
        """
        games, mask = self.batch.engine.size, None
        seeds = checked_seeds(seed, games)
        one = seeds if isinstance(seeds, int) else None
        if isinstance(seeds, int):
            seeds = [seeds + game for game in range(games)]
        for name, value in reset_options(options, "{'reset_mask': array}").items():
            if name != "reset_mask":
                raise ValueError(
                    f"options is None or {{'reset_mask': array}}; there is no {shown(name)}: starts are drawn from the seed"
                )
            mask = self._read_mask(value)
            if not self.batch.begun and not mask.all():
                raise RuntimeError("call reset() for all games before a reset of some")
        super().reset(seed=one)
        if seeds is not None and mask is None:
            known = [seed for seed in seeds if seed is not None]
            self._sampled = RowStreams(int(np.random.SeedSequence(known).generate_state(1)[0]), self.num_envs)
        return seeds, mask

    def _read_mask(self, value: Any) -> NDArray[np.bool_]:
        """The games `[G]` of a `reset_mask` of rows."""
        each = self._rows_per_game
        if not isinstance(value, np.ndarray) or value.dtype != np.bool_ or value.shape != (self.num_envs,) or not value.any():
            raise ValueError(f"reset_mask is a bool array [{self.num_envs}] with a True in it, not {shown(value)}")
        of_games: NDArray[np.bool_] = np.any(value.reshape(-1, each), axis=1)
        if not np.array_equal(np.repeat(of_games, each), value):
            raise ValueError(f"reset_mask is True for all {each} rows of a game or for none")
        return of_games

    def _read_actions(self, actions: Any, playing: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The actions of a step, `[num_envs]`; `playing` are the rows whose action counts.

        Raises:
            RuntimeError: the games were not begun, or wait for a reset.
            ValueError: an action is no whole number, out of range, or illegal where that is refused. Nothing has happened then.
        """
        self.batch.check_playing()
        limit, given = self.batch.variant.actions, np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= limit:
            raise ValueError(f"actions are {self.num_envs} whole numbers 0..{limit - 1}, not {shown(actions)}")
        if self._refuses_illegal:
            wrong = playing & (self.action_mask[np.arange(self.num_envs), given] == 0)
            if wrong.any():
                row = int(wrong.argmax())
                legal = np.flatnonzero(self.action_mask[row]).tolist()
                raise ValueError(f"row {row}: action {given[row]} is illegal, legal are {legal}")
        return np.ascontiguousarray(given, np.int64)

    def _infos(self, **arrays: NDArray[Any]) -> dict[str, Any]:
        """An info of arrays that hold a value for each row, as Gymnasium lays them out: `_key` says which rows `key` is about."""
        infos: dict[str, Any] = {}
        for name, array in arrays.items():
            infos[name], infos[f"_{name}"] = array, self._has_info
        return infos

    def _final_observations(self, rows: NDArray[np.int64], observations: NDArray[np.float32]) -> dict[str, Any]:
        """`final_obs` of some rows: an array of arrays, None for the other rows, as Gymnasium has it."""
        final = np.full(self.num_envs, None, dtype=object)
        final[rows] = np.fromiter(observations, dtype=object, count=len(rows))
        return {"final_obs": final, "_final_obs": self._are(rows)}

    def _are(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        are = np.zeros(self.num_envs, np.bool_)
        are[rows] = True
        return are
