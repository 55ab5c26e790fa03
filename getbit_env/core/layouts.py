"""Where things stand in an observation: blocks of the same fields, one for each thing that is seen, then fields of the game."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.messages import shown

T = TypeVar("T", bound=np.generic)


class Show(IntEnum):
    """Whom an engine shows a game to."""

    NONE = 0  # nobody: the rows of the game stay as they are
    CHOOSING = 1  # the players who have something to choose; the rows of the others are zero
    ALL = 2  # all players, also those who only look on


class Field(NamedTuple):
    """Some entries of an observation that belong together."""

    name: str
    start: int  # within a block, or within the observation
    size: int
    meaning: str

    @property
    def slice(self) -> slice:
        """The entries of the field."""
        return slice(self.start, self.start + self.size)

    @property
    def span(self) -> str:
        """The entries as a table names them: `4` or `4..8`."""
        return f"{self.start}" if self.size == 1 else f"{self.start}..{self.start + self.size - 1}"


class BlockLayout:
    """The fields of an observation, by name.

    Attributes:
        size: entries of an observation.
        block: entries of a block; block `k` starts at `k * block`.
        block_fields: `{name: Field}`, starts counted within a block.
        game_fields: `{name: Field}`, starts counted within the observation.
    """

    block_fields: dict[str, Field]
    block: int
    game_fields: dict[str, Field]
    size: int

    def __init__(
        self, blocks: int, block_fields: list[tuple[str, int, str]], game_fields: list[tuple[str, int, str]], block_of: str
    ) -> None:
        """Place the fields one after another.

        Args:
            blocks: how many there are.
            block_fields: name, entries and meaning of each field of a block.
            game_fields: likewise of the game, behind all blocks.
            block_of: what block k is about, for the table.
        """
        self._blocks, self._block_of = blocks, block_of
        self.block_fields, self.block = _place(block_fields, 0)
        self.game_fields, self.size = _place(game_fields, self.block * blocks)

    def __repr__(self) -> str:
        block = ", ".join(f"{field.name} {field.size}" for field in self.block_fields.values())
        game = "".join(f", {field.name} {field.size}" for field in self.game_fields.values())
        of = f" of {self.variant}" if hasattr(self, "variant") else ""
        return f"<{type(self).__name__}{of}: {self.size} entries, {self._blocks} x ({block}){game}>"

    def _repr_markdown_(self) -> str:
        """What notebooks show."""
        return f"{self!r}\n\n{self.table()}"

    def blocks(self, observation: NDArray[T]) -> NDArray[T]:
        """The blocks of observations: `[..., size]` -> view `[..., blocks, block]`."""
        return observation[..., : self.block * self._blocks].reshape(*observation.shape[:-1], self._blocks, self.block)

    def field(self, observation: NDArray[T], name: str) -> NDArray[T]:
        """A field of observations: `[..., size]` -> `[..., blocks, field size]`, or `[..., field size]` for one of the game.

        Raises:
            KeyError: this layout has no such field.
        """
        if name in self.block_fields:
            return self.blocks(observation)[..., self.block_fields[name].slice]
        if name in self.game_fields:
            return observation[..., self.game_fields[name].slice]
        raise KeyError(f"no field {name!r}; there are {', '.join([*self.block_fields, *self.game_fields])}")

    def start_of(self, name: str) -> int:
        """Where a field starts, within its block or the observation; -1 if this layout has none of that name."""
        field = self.block_fields.get(name) or self.game_fields.get(name)
        return -1 if field is None else field.start

    def table(self) -> str:
        """The layout as a Markdown table."""
        rows = ["| index | field | entries |", "| --- | --- | --- |"]
        rows += [f"| {self.block}k + {f.span} | `{f.name}` of {self._block_of} | {f.meaning} |" for f in self.block_fields.values()]
        rows += [f"| {f.span} | `{f.name}` | {f.meaning} |" for f in self.game_fields.values()]
        return "\n".join(rows)


def _place(fields: list[tuple[str, int, str]], start: int) -> tuple[dict[str, Field], int]:
    """The fields from an entry on, and where they end."""
    placed = {}
    for name, size, meaning in fields:
        placed[name] = Field(name, start, size, meaning)
        start += size
    return placed, start


def layout_of(env: Any) -> Any:
    """The layout of what an environment shows.

    Args:
        env: of PettingZoo, of Gymnasium, or a `VecEnv`, in wrappers or not; a layout is returned as it is.

    Raises:
        TypeError: it is no environment of this package.
    """
    found = env if hasattr(env, "view") and hasattr(env, "size") else None
    try:
        if found is None and hasattr(env, "get_attr"):  # of a `VecEnv`
            found = env.get_attr("layout", indices=[0])[0]
        elif found is None and hasattr(env, "get_wrapper_attr"):  # of Gymnasium
            found = env.get_wrapper_attr("layout")
        elif found is None:
            found = getattr(env, "layout", None)
    except AttributeError:
        found = None
    if not hasattr(found, "view"):
        raise TypeError(f"env is an environment of this package, which has a layout of observations, not {shown(env)}")
    return found
