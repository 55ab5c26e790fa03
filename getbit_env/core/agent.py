"""What plays: the protocol of an agent, batched and seeded."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import seed_or_none
from getbit_env.core.layouts import layout_of
from getbit_env.core.messages import shown


@runtime_checkable
class Agent(Protocol):
    """Plays B seats at once, one a row, knowing nothing but what it is given here.

    Row `b` is the same seat of the same game until `reset` says that the row's next game begins. A row whose player has nothing to
    choose is all zero with a mask of ones, and the action for it is ignored. The arrays are reused: an agent that keeps one has to
    copy it.

    Whatever an agent raises, `SystemExit` included, is its failure in a match; `KeyboardInterrupt` ends the match.

    An agent can also have

    `probabilities(observation, action_mask) -> float64 [B, A]`
        if its choice depends on nothing but its two arguments: a pure function, each row a distribution over legal actions, the
        one that `act` draws from. Exact best responses are computed against it. None says of a deterministic agent that its choice
        depends on more.
    `values(observation, action_mask) -> float64 [B]`
        what it expects its seat to be paid at the end of the game, likewise a pure function; NaN where it expects nothing.
        Replays keep it.
    `name: str`
        what results call it.
    `deterministic: bool`
        whether it uses no random numbers. One without `probabilities` is judged exactly by what `act` plays.
    `options`
        what it wants to see beyond the default: the `Options` of its game's observations.
    `options_for(variant) -> Options`
        in place of `options`, if they depend on the variant. Raises `ValueError` if it can't play the variant.
    `begin(env, seed)` and `choose(observation)`
        to play one seat of a PettingZoo loop. `SeatPlayer` has both, and all agents of this package are one.
    `game: str`
        the id of the only game that it plays.
    `check_layout(layout) -> None`
        raises `ValueError` if it can't play games whose observations are laid out so. It is asked before anything is played.
    `files(variant) -> list[Path]`
        the files that it reads to play a variant. Agents of `GameSpec.named_agents` have it: saved results are not used again after
        one of these files has changed.

    Examples:
        >>> from getbit_env.match import play_match
        >>> class LowestCard:
        ...     def reset(self, layout, begins, seed):
        ...         pass
        ...
        ...     def act(self, observation, action_mask):
        ...         return action_mask.argmax(axis=1)
        >>> print(play_match([LowestCard(), "random", "random", "random"], "4p", starts=24)["LowestCard"].seats)
        1
    """

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """Begin the next game of some rows.

        Args:
            layout: a `Layout` of the game, which says what the columns of observations mean; `layout.variant` is its variant.
            begins: `[B]`, the rows whose next observation is the first of a game.
            seed: given once, before anything else, when all rows begin and the agent forgets what it knew; later None.
        """

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose an action for each row.

        Args:
            observation: `[B, D]`, zeros and ones.
            action_mask: `[B, A]`, 1 = legal.

        Returns:
            `[B]`, a legal action a row.
        """


class SeatPlayer(Agent):
    """An agent that can also play one seat, one observation at a time.

    All agents of this package inherit from it. An agent of your own gets both methods from `getbit_env.as_agent(agent)`, or if its
    class inherits from this one.

    Examples:
        >>> import getbit_env
        >>> env, agent = getbit_env.parallel_env(players=2), getbit_env.load_agent("lowest")
        >>> observations, infos = env.reset(seed=1)
        >>> agent.begin(env)
        >>> agent.choose(observations["player_0"])
        0
    """

    _seat_layout: Any = None  # of the game that `choose` plays
    _seat_seeds: np.random.SeedSequence | None = None

    def begin(self, env: Any, seed: int | None = None) -> None:
        """Begin a game of one seat. Call it at the start of each game, as `env.reset`; then `choose` plays.

        An agent plays one seat at a time. For a second seat make a second agent, since it can remember what it saw.

        Args:
            env: the environment, which says what observations mean; or its `layout`.
            seed: fixes what the agent draws in this game and those that follow. Without one the random stream of the last seed goes
                on; the first stream comes from the operating system.

        Raises:
            ValueError: the agent can't play this game, or the seed is none.
            TypeError: `env` is no environment of this package.
        """
        layout, seed = layout_of(env), seed_or_none(seed)
        if seed is not None or self._seat_seeds is None:
            self._seat_seeds = np.random.SeedSequence(seed)
            seed = int(self._seat_seeds.generate_state(1, np.uint64)[0] >> np.uint64(1)) if seed is None else seed
        elif self._seat_layout is None or (self._seat_layout.variant, self._seat_layout.view) != (layout.variant, layout.view):
            (child,) = self._seat_seeds.spawn(1)  # another game than the last one: everything begins anew
            seed = int(child.generate_state(1, np.uint64)[0] >> np.uint64(1))
        self._seat_layout = None
        self.reset(layout, np.ones(1, np.bool_), seed)
        self._seat_layout = layout

    def choose(self, observation: Any, action_mask: Any = None) -> int:
        """Choose an action for one seat.

        Args:
            observation: what the environment shows the player: the dict of `observation` and `action_mask`, or the vector alone.
            action_mask: `[A]`, 1 = legal; for a vector.

        Returns:
            A legal action, as `env.step` takes it.

        Raises:
            RuntimeError: no game was begun.
            ValueError: it is no observation of the game that was begun, or the agent played what is not legal.
        """
        layout = self._seat_layout
        if layout is None:
            raise RuntimeError("call begin(env) at the start of each game, before choose(observation)")
        if isinstance(observation, Mapping):
            if not {"observation", "action_mask"} <= observation.keys():
                raise ValueError(f"observation has observation and action_mask, not {shown(sorted(observation))}")
            observation, action_mask = observation["observation"], observation["action_mask"]
        if action_mask is None:
            raise ValueError("give action_mask beside a vector: choose(observation, info['action_mask'])")
        seen, mask = np.array(observation, np.float32), np.array(action_mask, np.int8)
        if seen.shape != (layout.size,) or mask.shape != (layout.variant.actions,):
            raise ValueError(
                f"observation and action_mask of {layout.variant} have {layout.size} and {layout.variant.actions} entries, "
                f"not {list(seen.shape)} and {list(mask.shape)}; begin(env) says what is played"
            )
        action = int(self.act(seen[None], mask[None])[0])
        if not 0 <= action < len(mask) or not mask[action]:
            raise ValueError(f"{name_of(self)} played {action}; legal are {np.flatnonzero(mask).tolist()}")
        return action


def described(agent: Any) -> str:
    """An agent as the call that makes it, as far as its attributes tell: `MonteCarlo(playouts=200)`."""
    within = getattr(agent, "agent", None)
    arguments = []
    for name in inspect.signature(type(agent)).parameters:
        value = getattr(agent, name, getattr(within, name, None))
        if value is not None:
            arguments.append(f"{name}={value!r}")
    return f"{type(agent).__name__}({', '.join(arguments)})"


def name_of(agent: Agent) -> str:
    """What to call an agent: its attribute `name`, or that of its class."""
    return str(getattr(agent, "name", type(agent).__name__))
