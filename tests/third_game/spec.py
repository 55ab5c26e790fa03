"""Goofspiel as generic code sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.spec import Dynamics, GameSpec, Statistic
from tests.third_game.bots import BOTS
from tests.third_game.engine import Engine, number_of_starts, rotated_starts
from tests.third_game.environment import GoofspielEnv
from tests.third_game.observations import Layout, Options
from tests.third_game.variants import ID, PREFIX, Reward, parse_variant


def points(engine: Any) -> NDArray[np.int64]:
    """Points of each player, `[P, G]`."""
    counted: NDArray[np.int64] = engine.state.points.T
    return counted


SPEC = GameSpec(
    id=ID,
    title="Goofspiel",
    dynamics=Dynamics.SIMULTANEOUS,
    prefix=PREFIX,
    default_variant=f"{PREFIX}2p-3c",
    length_unit="rounds",
    parse_variant=parse_variant,
    make_engine=Engine,
    make_layout=Layout,
    make_env=GoofspielEnv,
    options=Options,
    rewards=Reward,
    number_of_starts=number_of_starts,
    rotated_starts=rotated_starts,
    bots=BOTS,
    default_opponents=tuple(BOTS),
    statistics=(Statistic("points", points),),
)
