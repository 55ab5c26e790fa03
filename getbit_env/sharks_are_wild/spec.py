"""Sharks are Wild as generic code sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import whole_number
from getbit_env.core.messages import shown
from getbit_env.core.spec import Dynamics, GameSpec, Statistic, StoredStarts
from getbit_env.core.streams import GOLDEN
from getbit_env.sharks_are_wild.bots import BOTS
from getbit_env.sharks_are_wild.engine import Deal, Engine, number_of_starts, rotated_starts
from getbit_env.sharks_are_wild.environment import raw_env
from getbit_env.sharks_are_wild.notation import LETTERS, parse_cards
from getbit_env.sharks_are_wild.observations import Layout, Options
from getbit_env.sharks_are_wild.variants import ID, PREFIX, Reward, Variant, parse_variant


def coins(engine: Engine) -> NDArray[np.integer[Any]]:
    """Coins that each player has, `[P, G]`."""
    return engine.state.coins.T


_START = {"cards", "first", "stream"}
_KEY = re.compile(r"0x[0-9a-f]{1,16}")


def describe_deal(deal: Deal) -> dict[str, Any]:
    """A deal for JSON: `cards` from the top in letters of the notation, `first`, and the key of the random stream from there on."""
    return {"cards": "".join(LETTERS[kind] for kind in deal.cards), "first": int(deal.first), "stream": hex(deal.stream or 0)}


def deal_of_snapshot(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The same of the game of a snapshot. A stream of which numbers were drawn is, from there on, that of another key."""
    start, key = snapshot["start"], int(snapshot["stream"][0], 16)
    return {"cards": start["cards"], "first": start["first"], "stream": hex((key + start["drawn"] * int(GOLDEN)) % (1 << 64))}


def read_deal(variant: Variant, value: Any) -> Deal:
    """A deal from JSON.

    Raises:
        ValueError: it is none of the variant.
    """
    if not isinstance(value, Mapping) or value.keys() != _START:
        raise ValueError(f"the start is a deal with {', '.join(sorted(_START))}, not {shown(value)}")
    if not isinstance(value["cards"], str) or len(value["cards"]) > 2 * variant.cards:
        raise ValueError(f"the cards of the start are a text of {variant.cards} cards, not {shown(value['cards'])}")
    if not isinstance(value["stream"], str) or not _KEY.fullmatch(value["stream"]):
        raise ValueError(f"the stream of the start is a key such as '0x1f', not {shown(value['stream'])}")
    first = whole_number("the first player of the start", value["first"], 0, variant.players - 1)
    return Deal(parse_cards(variant, value["cards"]), first, int(value["stream"], 16))


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
    habits="getbit_env.sharks_are_wild.habits",
    statistics=(Statistic("coins", coins),),
    stored_starts=StoredStarts(describe_deal, read_deal, deal_of_snapshot),
    secret_options=("open_hands",),
)
