"""A batch of games that learners play: seeds, limits, and when a game that is over begins anew.

`single_agent.SingleAgentBatch`, in which one seat of every game learns, and `vector_envs.AllSeatsVectorEnv`, in which all do, stand
on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from getbit_env.core.choices import seed_or_none, whole_number
from getbit_env.core.drawing import picture_array
from getbit_env.core.environment import checked_max_cycles
from getbit_env.core.messages import shown
from getbit_env.core.spec import Dynamics, Engine, GameSpec, SequentialEngine, Variant
from getbit_env.core.streams import game_streams
from getbit_env.game_registry import find_variant, game_of

RENDER_FPS = 2  # rounds a second in films of games
Seeds = int | Sequence[int | None] | None  # one of the batch, or one for each game; None: streams go on


def autoreset_mode_of(value: Any) -> AutoresetMode:
    """A mode of Gymnasium, or its name or value, in any case: "NextStep" or "next_step".

    Raises:
        ValueError: there is none.
    """
    if isinstance(value, AutoresetMode):
        return value
    if isinstance(value, str):
        for mode in AutoresetMode:
            if value.replace("_", "").lower() == mode.value.lower():
                return mode
    named = ", ".join(repr(mode.value) for mode in AutoresetMode)
    raise ValueError(f"autoreset_mode is one of {named}, or a gymnasium.vector.AutoresetMode, not {shown(value)}")


def checked_render_mode(render_mode: Any, game: GameSpec) -> str | None:
    """The render mode of many games: None or "rgb_array".

    Raises:
        ValueError: there is no such mode, or nothing draws the game.
    """
    if render_mode not in (None, "rgb_array"):
        raise ValueError(f"render_mode of a vector environment is None or 'rgb_array', not {shown(render_mode)}")
    if render_mode is not None and not game.rendering:
        raise ValueError(f"render_mode is None: nothing draws {game}")
    return cast("str | None", render_mode)


class GameBatch:
    """G games of one variant, of which those that are over begin anew.

    Attributes:
        game: what the game is.
        variant: of all games.
        engine: the games.
        sequential: the players decide in turns.
        max_cycles: rounds or turns after which a game is cut off, or None, as in the game's PettingZoo environment.
        autoreset_mode: when a game whose episode is over begins anew: in the step that ends it, in the next step, or at a reset.
        ended: `[G]`, the games whose episode is over and that have not begun anew.
        begun: `reset` was called.
    """

    game: GameSpec
    variant: Variant
    engine: Engine
    sequential: bool
    max_cycles: int | None
    autoreset_mode: AutoresetMode
    ended: NDArray[np.bool_]
    begun: bool = False

    def __init__(
        self,
        variant: Variant | str,
        games: int,
        *,
        seed: int | None = None,
        options: Any = None,
        reward: str | None = None,
        max_cycles: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        **engine_options: Any,
    ) -> None:
        """Make the games; `reset` begins them.

        Args:
            variant: the game, or its name.
            games: how many.
            seed: of their streams.
            options: of the observations.
            reward: what finishing places pay, by default the first of the game's `rewards`.
            max_cycles: see the class.
            autoreset_mode: see the class; a mode of Gymnasium or its name.
            **engine_options: of the game's engine.

        Raises:
            ValueError: an argument has a value that is not allowed; the message names it.
            TypeError: `variant` is neither a variant nor a name, or `options` are not those of the game.
        """
        variant = cast(Variant, find_variant(variant))
        games, seed = whole_number("games", games, 1), seed_or_none(seed)
        self.max_cycles = None if max_cycles is None else checked_max_cycles(max_cycles)
        self.autoreset_mode = autoreset_mode_of(autoreset_mode)
        self.game = game_of(variant)
        if options is not None and not isinstance(options, self.game.options):
            raise TypeError(f"options are the Options of {self.game}, or None, not {shown(options)}")
        self.variant = variant
        reward = next(iter(self.game.rewards)) if reward is None else reward
        self.engine = self.game.make_engine(variant, games, seed=seed, options=options, reward=reward, **engine_options)
        self.sequential = self.game.dynamics == Dynamics.SEQUENTIAL
        self.ended = np.zeros(games, np.bool_)

    def seed_games(self, seeds: Seeds, games: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Set games to the beginning of their streams. With a seed of its own, a game has the stream of a batch of one.

        Args:
            seeds: one for all games, or one for each; None leaves a stream as it is.
            games: `[G]`, those whose streams are set, if each has a seed of its own.

        Returns:
            `[G]`, the games that have a new stream.

        Raises:
            ValueError: a seed is no whole number of at least 0, or they are too few or too many. Nothing has happened then.
        """
        seeds = checked_seeds(seeds, self.engine.size)
        if isinstance(seeds, int):
            self.engine.seed(seeds)
            return np.ones(self.engine.size, np.bool_)
        seeded = np.zeros(self.engine.size, np.bool_)
        for g, seed in enumerate(seeds or ()):
            if seed is not None and games[g]:
                self.engine.streams[g], self.engine.counters[g], seeded[g] = game_streams(seed, 1)[0], 0, True
        return seeded

    def check_playing(self) -> None:
        """Refuse a step of games that were not begun, or that wait for a reset.

        Raises:
            RuntimeError: with what to call.
        """
        if not self.begun:
            raise RuntimeError("call reset() before step()")
        if self.autoreset_mode == AutoresetMode.DISABLED and self.ended.any():
            raise RuntimeError(
                f"the episodes of games {shown(np.flatnonzero(self.ended).tolist())} are over, and autoreset_mode is 'Disabled': "
                "call reset(options={'reset_mask': ...}) before step()"
            )

    def play(self, actions: NDArray[np.int64]) -> None:
        """Play a round or a decision of the games whose episode goes on; `actions` `[G, P]`."""
        if self.sequential:
            cast(SequentialEngine, self.engine).play(actions, (~self.ended).astype(np.uint8))
        else:
            self.engine.play(actions)  # also in games that wait, which costs nothing: they begin anew before anybody looks

    def cut_off(self, over: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """`[G]`, the games that a limit cut off just now; `over` `[G]` are those that the engine ended."""
        cut: NDArray[np.bool_] = over & self.engine.truncated
        if self.max_cycles is not None:
            cut |= ~over & (self.engine.lengths >= self.max_cycles)
        return cut

    def pictures(self, games: Sequence[int]) -> list[NDArray[np.uint8]]:
        """A picture of each of these games, `[H, W, 3]`. Meant for a few games at a time.

        Raises:
            RuntimeError: the games were not begun.
        """
        if not self.begun:
            raise RuntimeError("call reset() before render()")
        rendering = import_module(self.game.rendering)
        return [picture_array(rendering.picture, rendering.scene_of_batch(self.engine, game)) for game in games]


def checked_seeds(seeds: Any, games: int) -> int | list[int | None] | None:
    """Seeds of games: one for all, one for each, or None.

    Raises:
        ValueError: one is no whole number of at least 0, or they are too few or too many.
    """
    if not isinstance(seeds, list | tuple | np.ndarray):
        return seed_or_none(seeds)
    if len(seeds) != games:
        raise ValueError(f"seed is a whole number, or a list with one for each of {games}, not {len(seeds)} of them")
    return [seed_or_none(seed) for seed in seeds]
