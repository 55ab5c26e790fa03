"""Get Bit! as generic code sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.spec import Dynamics, GameSpec, Statistic
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.engine import Engine, number_of_starts, rotated_starts
from getbit_env.get_bit.environment import parallel_env
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import ID, Reward, parse_variant


def bites(engine: Engine) -> NDArray[np.integer[Any]]:
    """Limbs that each player lost, `[P, G]`."""
    variant = engine.variant
    left = engine.state.limbs.reshape(variant.players, variant.robots_per_player, engine.size).sum(axis=1, dtype=np.int64)
    lost: NDArray[np.int64] = variant.robots_per_player * variant.limbs - left
    return lost


SPEC = GameSpec(
    id=ID,
    title="Get Bit!",
    dynamics=Dynamics.SIMULTANEOUS,
    prefix="",
    default_variant="4p",
    length_unit="rounds",
    parse_variant=parse_variant,
    make_engine=Engine,
    make_layout=Layout,
    make_env=parallel_env,
    options=Options,
    rewards=Reward,
    number_of_starts=number_of_starts,
    rotated_starts=rotated_starts,
    bots=BOTS,
    default_opponents=("random", "lowest", "highest", "counter"),
    rendering="getbit_env.get_bit.rendering",
    frames="getbit_env.get_bit.frames",
    habits="getbit_env.get_bit.habits",
    statistics=(Statistic("bites", bites),),
    named_agents={"equilibrium": "getbit_env.exact:Equilibrium", "tree-search": "getbit_env.tree_search:TreeSearch"},
    agent_files={".npz": "getbit_env.exact.agents:load_stored_agent"},
    agent_wrappers={"recall": "getbit_env.get_bit.recall:remember", "best-response": "getbit_env.best_responses:respond_to"},
)
