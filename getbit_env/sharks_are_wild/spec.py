"""Sharks are Wild as generic code sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.spec import Dynamics, GameSpec, Statistic
from getbit_env.sharks_are_wild.bots import BOTS
from getbit_env.sharks_are_wild.engine import Engine, number_of_starts, rotated_starts
from getbit_env.sharks_are_wild.environment import raw_env
from getbit_env.sharks_are_wild.observations import Layout, Options
from getbit_env.sharks_are_wild.variants import ID, PREFIX, Reward, parse_variant


def coins(engine: Engine) -> NDArray[np.integer[Any]]:
    """Coins that each player has, `[P, G]`."""
    return engine.state.coins.T


SPEC = GameSpec(
    id=ID,
    title="Sharks are Wild",
    dynamics=Dynamics.SEQUENTIAL,
    prefix=PREFIX,
    default_variant="sharks-2p-level2",
    length_unit="turns",
    parse_variant=parse_variant,
    make_engine=Engine,
    make_layout=Layout,
    make_env=raw_env,
    options=Options,
    rewards=Reward,
    number_of_starts=number_of_starts,
    rotated_starts=rotated_starts,
    bots=BOTS,
    default_opponents=("sharks-random", "sharks-greedy", "sharks-careful"),
    can_end_undecided=True,  # by the turn limit (S4)
    rendering="getbit_env.sharks_are_wild.rendering",
    frames="getbit_env.sharks_are_wild.frames",
    statistics=(Statistic("coins", coins),),
    secret_options=("open_hands",),
)
