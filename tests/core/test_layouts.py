"""Fields of observations: where they stand, and how they are read."""

from __future__ import annotations

import numpy as np
import pytest

from getbit_env.core.layouts import BlockLayout, Field


@pytest.fixture
def layout() -> BlockLayout:
    block = [("hand", 3, "the card is in its hand"), ("out", 1, "it is out")]
    return BlockLayout(2, block, [("round", 2, "rounds played"), ("first", 1, "it is the first round")], "player k")


def test_blocks_come_first_and_fields_follow_each_other(layout: BlockLayout) -> None:
    assert (layout.block, layout.size) == (4, 2 * 4 + 3)
    assert layout.block_fields["out"] == Field("out", 3, 1, "it is out")
    assert layout.game_fields["first"].slice == slice(10, 11)
    assert [layout.start_of(name) for name in ("hand", "out", "round", "first", "bites")] == [0, 3, 8, 10, -1]


def test_fields_are_views_of_the_observation(layout: BlockLayout) -> None:
    seen = np.arange(3 * 5 * layout.size).reshape(3, 5, layout.size)
    assert layout.blocks(seen)[2, 4].tolist() == [[154, 155, 156, 157], [158, 159, 160, 161]]
    assert layout.field(seen, "hand")[0, 0].tolist() == [[0, 1, 2], [4, 5, 6]]
    assert layout.field(seen, "out")[0, 1].tolist() == [[14], [18]]
    assert layout.field(seen, "round")[0, 1].tolist() == [19, 20]
    layout.field(seen, "out")[:] = -1
    assert (seen == -1).sum() == 3 * 5 * 2
    assert layout.field(seen[0, 0], "hand").shape == (2, 3), "one observation will do"
    with pytest.raises(KeyError, match="no field 'bites'; there are hand, out, round, first"):
        layout.field(seen, "bites")


def test_the_table_names_every_entry(layout: BlockLayout) -> None:
    assert layout.table().splitlines()[2:] == [
        "| 4k + 0..2 | `hand` of player k | the card is in its hand |",
        "| 4k + 3 | `out` of player k | it is out |",
        "| 8..9 | `round` | rounds played |",
        "| 10 | `first` | it is the first round |",
    ]
