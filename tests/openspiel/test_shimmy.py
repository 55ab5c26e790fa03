"""Through OpenSpiel, Shimmy reaches the game."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
shimmy = pytest.importorskip("shimmy.openspiel_compatibility", reason="Shimmy is not installed")

from getbit_env.openspiel import NAME  # noqa: E402 - only where OpenSpiel is

pytestmark = pytest.mark.filterwarnings("ignore")


def play(env: Any) -> None:
    """Play some random games.

    Shimmy counts chance nodes against the limit of decisions, so it cuts off the longest games, undecided.
    """
    decided = 0
    for seed in range(8):
        env.reset(seed=seed)
        rng, cut_off = np.random.default_rng(seed), False
        for agent in env.agent_iter():
            seen, _, terminated, truncated, info = env.last()
            assert seen.shape == env.observation_space(agent).shape
            over, cut_off = terminated or truncated, cut_off or truncated
            env.step(None if over else int(rng.choice(np.flatnonzero(info["action_mask"]))))
        returns = env.game_state.returns()
        assert sum(returns) == pytest.approx(0, abs=1e-6)
        assert cut_off or max(returns) == 1
        decided += not cut_off
    assert decided > 0


@pytest.mark.parametrize("name", ["4p", "3p-memory"])
def test_shimmy_plays_whole_games_in_turns(name: str) -> None:
    """Parameters go into `config`: at each reset Shimmy makes the game anew, by its name."""
    config = {"game": {"name": NAME, "variant": name}}
    env = shimmy.OpenSpielCompatibilityV0(game_name="turn_based_simultaneous_game", config=config)
    play(env)


def test_shimmy_plays_simultaneous_games_in_which_nobody_is_out_before_the_end() -> None:
    env = shimmy.OpenSpielCompatibilityV0(game_name=NAME, config={"variant": "2p"})
    play(env)


def test_shimmy_has_no_action_for_a_player_who_is_out_of_a_simultaneous_game() -> None:
    """Its own fault: it applies None for that player. If this fails, Shimmy has mended it, and the page can say so."""
    env = shimmy.OpenSpielCompatibilityV0(game_name=NAME, config={"variant": "4p"})
    with pytest.raises(TypeError, match="incompatible function arguments"):
        play(env)
