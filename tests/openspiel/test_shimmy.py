"""Through OpenSpiel, Shimmy reaches the game."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
shimmy = pytest.importorskip("shimmy.openspiel_compatibility", reason="Shimmy is not installed")

from getbit_env.openspiel import NAME, game_of_variant  # noqa: E402 - only where OpenSpiel is

pytestmark = pytest.mark.filterwarnings("ignore")


def play(env: Any, size: int) -> None:
    """Play some random games."""
    for seed in range(5):
        env.reset(seed=seed)
        rng, paid = np.random.default_rng(seed), dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, info = env.last()
            paid[agent] += reward
            if terminated or truncated:
                env.step(None)
                continue
            assert np.asarray(seen).size == size
            env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        assert sum(paid.values()) == pytest.approx(0, abs=1e-6)
        assert max(paid.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", ["4p", "3p-memory"])
def test_shimmy_plays_whole_games_in_turns(name: str) -> None:
    """Parameters go into `config`: at each reset Shimmy makes the game anew, by its name."""
    config = {"game": {"name": NAME, "variant": name}}
    env = shimmy.OpenSpielCompatibilityV0(game_name="turn_based_simultaneous_game", config=config)
    play(env, pyspiel.convert_to_turn_based(game_of_variant(name)).information_state_tensor_size())


def test_shimmy_plays_simultaneous_games_in_which_nobody_is_out_before_the_end() -> None:
    env = shimmy.OpenSpielCompatibilityV0(game_name=NAME, config={"variant": "2p"})
    play(env, game_of_variant("2p").observation_tensor_size())


def test_shimmy_has_no_action_for_a_player_who_is_out_of_a_simultaneous_game() -> None:
    """Its own fault: it applies None for that player. If this fails, Shimmy has mended it, and the page can say so."""
    env = shimmy.OpenSpielCompatibilityV0(game_name=NAME, config={"variant": "4p"})
    with pytest.raises(TypeError, match="incompatible function arguments"):
        play(env, game_of_variant("4p").observation_tensor_size())
