"""Sharks are Wild as generic code sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.choices import whole_number
from getbit_env.core.messages import shown
from getbit_env.core.spec import Dynamics, GameSpec, Statistic, StoredStarts
from getbit_env.sharks_are_wild.bots import BOTS
from getbit_env.sharks_are_wild.engine import Deal, Engine, number_of_starts, rotated_starts
from getbit_env.sharks_are_wild.environment import raw_env
from getbit_env.sharks_are_wild.notation import LETTERS, parse_cards
from getbit_env.sharks_are_wild.observations import Layout, Options
from getbit_env.sharks_are_wild.variants import ID, PREFIX, Reward, parse_variant


def coins(engine: Engine) -> NDArray[np.integer[Any]]:
    """Coins that each player has, `[P, G]`."""
    return engine.state.coins.T


_START = {"cards", "first", "stream", "drawn"}
_KEY = re.compile(r"0x[0-9a-f]{1,16}")


def describe_deal(deal: Deal) -> dict[str, Any]:
    """A deal for JSON: `cards` from the top in letters of the notation, `first`, and key and position of the random stream."""
    cards = "".join(LETTERS[kind] for kind in deal.cards)
    return {"cards": cards, "first": int(deal.first), "stream": hex(deal.stream or 0), "drawn": 0}


def deal_of_snapshot(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The same of the game of a snapshot."""
    return {**snapshot["start"], "stream": snapshot["stream"][0]}


def begin_from_deals(engine: Engine, starts: Sequence[Any]) -> None:
    """Begin all games of an engine from such deals.

    Raises:
        ValueError: one is no deal of the variant.
    """
    deals, drawn = [], []
    for start in starts:
        if not isinstance(start, Mapping) or start.keys() != _START:
            raise ValueError(f"the start is a deal with {', '.join(sorted(_START))}, not {shown(start)}")
        if not isinstance(start["cards"], str) or len(start["cards"]) > 2 * engine.variant.cards:
            raise ValueError(f"the cards of the start are a text of {engine.variant.cards} cards, not {shown(start['cards'])}")
        if not isinstance(start["stream"], str) or not _KEY.fullmatch(start["stream"]):
            raise ValueError(f"the stream of the start is a key such as '0x1f', not {shown(start['stream'])}")
        first = whole_number("the first player of the start", start["first"], 0, engine.variant.players - 1)
        drawn.append(whole_number("the numbers drawn at the start", start["drawn"], 0, (1 << 64) - 1))
        deals.append(Deal(parse_cards(engine.variant, start["cards"]), first, int(start["stream"], 16)))
    engine.start(starts=deals)
    engine.counters[:] = np.array(drawn, np.uint64)


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
    rendering="getbit_env.sharks_are_wild.rendering",
    statistics=(Statistic("coins", coins),),
    stored_starts=StoredStarts(describe_deal, begin_from_deals, deal_of_snapshot),
    secret_options=("open_hands",),
)
