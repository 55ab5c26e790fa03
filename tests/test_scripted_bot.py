"""What the scripted bots of both games have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from getbit_env.core.scripted_bot import SetBot
from getbit_env.game_registry import game_named

ALL_BOTS = [(variant, name) for variant in ("4p", "2p-memory", "sharks-2p-level2") for name in game_named(variant).bots]


def rows_of(variant: str, games: int = 3, options: Any = None) -> tuple[Any, np.ndarray, np.ndarray]:
    """Layout, observations and masks of the first decision, all seats of some games."""
    game = game_named(variant)
    engine = game.make_engine(game.parse_variant(variant), games, seed=1, options=options)
    engine.start()
    engine.observe()
    size, actions = engine.layout.size, engine.action_mask.shape[2]
    return engine.layout, engine.observation.reshape(-1, size), engine.action_mask.reshape(-1, actions)


@pytest.mark.parametrize(("variant", "name"), ALL_BOTS)
def test_a_bot_refuses_arrays_that_do_not_fit_its_layout(variant: str, name: str) -> None:
    """Compiled code would read behind their ends."""
    bot = game_named(variant).bots[name]()
    layout, seen, mask = rows_of(variant, options=getattr(bot, "options", None))
    bot.reset(layout, np.ones(len(seen), bool), 1)
    for wrong_seen, wrong_mask in (
        (seen[:, :-1], mask),
        (np.pad(seen, ((0, 0), (0, 1))), mask),
        (seen, mask[:, :-1]),
        (seen[0], mask),
    ):
        with pytest.raises((ValueError, RuntimeError), match="got"):
            bot.act(wrong_seen, wrong_mask)
        if hasattr(bot, "probabilities"):
            with pytest.raises(ValueError, match="got observations"):
                bot.probabilities(wrong_seen, wrong_mask)
    with pytest.raises(ValueError, match=f"of {variant}|of {variant.removesuffix('-memory')}"):
        bot.act(seen[:, :-1], mask)
    with pytest.raises((ValueError, RuntimeError), match=r"rows|observations"):
        bot.act(seen[:1], mask[:1])
    assert mask[np.arange(len(seen)), bot.act(seen, mask)].all(), "what was refused does no harm"


@pytest.mark.parametrize(("variant", "name"), ALL_BOTS)
def test_a_bot_refuses_the_layout_of_another_game(variant: str, name: str) -> None:
    bot, other = game_named(variant).bots[name](), "4p" if variant.startswith("sharks") else "sharks-2p-level2"
    layout, seen, _ = rows_of(other)
    with pytest.raises(ValueError, match=f"plays {game_named(variant).id} and no other game, not {other}"):
        bot.reset(layout, np.ones(len(seen), bool), 1)


class One(SetBot):
    """Has a choice in every other row only."""

    def preferred(self, _observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        sets = np.full(len(action_mask), 0b110, np.uint64)
        sets[::2] = 0b10
        return sets


class Always(One):
    draws_for_one = True


def test_only_rows_with_a_choice_draw_unless_the_bot_says_otherwise() -> None:
    layout, seen, mask = rows_of("4p")
    seen = seen.copy()
    seen[-3:] = 0
    for bot, drawn in ((One(), [0, 1] * 4 + [0] * 4), (Always(), [1] * 9 + [0] * 3)):
        bot.reset(layout, np.ones(12, bool), 1)
        actions = bot.act(seen, mask)
        assert bot._streams is not None
        assert bot._streams.counters.tolist() == drawn
        assert (actions[:9:2] == 1).all()
        assert not actions[-3:].any(), "a row of zeros plays 0"


def test_what_is_drawn_depends_on_seed_and_row_alone() -> None:
    layout, seen, mask = rows_of("4p", 8)
    played = []
    for rows in (32, 8):
        bot = game_named("4p").bots["random"]()
        bot.reset(layout, np.ones(rows, bool), 5)
        played.append([bot.act(seen[:rows], mask[:rows]) for _ in range(5)])
    for many, few in zip(*played, strict=True):
        np.testing.assert_array_equal(many[:8], few)
