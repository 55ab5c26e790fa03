"""A game that the package does not know plays, is judged, trained, stored and loaded, by its registration alone."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from getbit_env import game_batch, game_registry
from getbit_env.agent_registry import load_agent
from getbit_env.conformance import check_parallel
from getbit_env.match import play_match, play_tournament, runner
from getbit_env.match.statistics import Estimate
from getbit_env.network import POLICY_FILE, NetworkAgent, load_network, save_network
from getbit_env.single_agent import SingleAgentBatch, SingleAgentEnv
from getbit_env.vector_envs import AllSeatsVectorEnv, SingleAgentVectorEnv
from tests.third_game import ID, bots
from tests.third_game.engine import Engine
from tests.third_game.environment import GoofspielEnv
from tests.third_game.spec import SPEC
from tests.third_game.variants import Reward, Variant

GAMES = ["goofspiel-2p-3c", "goofspiel-3p-3c", "goofspiel-4p-5c"]


def network(variant: Variant, seed: int = 0) -> NetworkAgent:
    rng = np.random.default_rng(seed)
    size = SPEC.make_layout(variant, None).size
    shapes = [(16, size), (variant.actions, 16)]
    layers = [(rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[0]).astype(np.float32)) for shape in shapes]
    return NetworkAgent(layers, variant)


# --- the rules ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prizes", "rounds", "points", "places"),
    [
        ([1, 2, 3], [[3, 1, 2], [1, 2, 3], [2, 3, 1]], [1, 3, 2], [3, 1, 2]),
        ([2, 1, 3], [[3, 3, 1], [2, 2, 3], [1, 1, 2]], [0, 0, 4], [2, 2, 1]),
        ([3, 1, 2], [[1, 1, 1], [2, 2, 2], [3, 3, 3]], [0, 0, 0], [1, 1, 1]),
        ([1, 2, 3], [[1, 2, 3], [2, 3, 1], [3, 1, 2]], [3, 2, 1], [1, 2, 3]),
        ([3, 1, 2], [[3, 2, 1], [2, 3, 1], [1, 1, 3]], [3, 1, 2], [1, 3, 2]),
        ([3, 2, 1], [[2, 3, 3], [3, 1, 1], [1, 2, 2]], [2, 0, 0], [1, 2, 2]),
    ],
)
def test_the_highest_bid_wins_the_prize_if_it_is_alone(
    prizes: list[int], rounds: list[list[int]], points: list[int], places: list[int]
) -> None:
    engine = Engine(Variant(3, 3), 1)
    engine.start(starts=[[prize - 1 for prize in prizes]])
    for k, bids in enumerate(rounds):
        assert not engine.outcome.over[0]
        engine.play(np.array([bids]) - 1)
        assert engine.lengths[0] == k + 1
    assert engine.state.points[0].tolist() == points
    assert engine.outcome.finish[:, 0].tolist() == places
    assert engine.outcome.over[0]


@pytest.mark.parametrize("name", GAMES)
def test_the_environment_keeps_the_contract(name: str) -> None:
    report = check_parallel(lambda: GoofspielEnv(variant=name, render_mode="ansi", points=True))
    assert {"determinism", "observations", "mask", "pickle"} <= set(report.passed)


# --- generic code ------------------------------------------------------------------------------------------------------------


def test_the_registry_finds_it() -> None:
    assert game_registry.find_game(ID) is SPEC
    assert game_registry.find_variant("goofspiel-3p-3c") == Variant(3, 3)
    assert isinstance(load_agent("goofspiel-random"), bots.Uniform)
    with pytest.raises(ValueError, match="no variant 'goofspiel-9p'"):
        game_registry.find_variant("goofspiel-9p")


@pytest.mark.parametrize("name", GAMES)
def test_it_plays_matches(name: str) -> None:
    players = game_registry.find_variant(name).players
    result = play_match(["goofspiel-matching"] + ["goofspiel-random"] * (players - 1), name, starts=120)
    assert result.failure is None
    assert result.games == result.starts * players
    assert result.length == game_registry.find_variant(name).cards
    assert result.length_unit == "rounds"
    matching, uniform = result["goofspiel-matching"], result["goofspiel-random"]
    assert set(matching.statistics) == {"points"}
    assert sum(matching.places) == pytest.approx(1)
    assert matching.win.mean > uniform.win.mean > 0


def test_games_can_be_drawn() -> None:
    result = play_match(["goofspiel-matching", "goofspiel-matching"], "goofspiel-2p-3c", starts=6)
    assert result.exact
    assert result["goofspiel-matching"].statistics == {"points": 0}
    assert result["goofspiel-matching"].places == (1, 0), "both share the first place"
    assert result["goofspiel-matching"].win.mean == 0.5, "and the win"
    assert result["goofspiel-matching"].payoff.mean == 0


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("reward", Reward)
def test_what_a_game_pays_adds_up_to_nothing_whoever_ties(name: str, reward: Reward) -> None:
    variant, games = game_registry.find_variant(name), 400
    engine = SPEC.make_engine(variant, games, seed=1, reward=reward)
    engine.start()
    rng = np.random.default_rng(1)
    for _ in range(variant.cards):
        engine.observe()
        engine.play((rng.random(engine.action_mask.shape) * engine.action_mask).argmax(axis=2))
    finish, paid = engine.outcome.finish, engine.outcome.reward
    assert ((finish == 1).sum(axis=0) > 1).any(), "some games have several winners"
    assert abs(paid.sum(axis=0)).max() < 1e-6
    line_up = ["goofspiel-random"] * (variant.players - 1) + ["goofspiel-matching"]
    match = play_match(line_up, name, starts=120, reward=reward)
    assert sum(s.seats * s.win.mean for s in match.standings.values()) == pytest.approx(1)
    assert sum(s.seats * s.payoff.mean for s in match.standings.values()) == pytest.approx(0)


class DrawsWithoutPlaces(Engine):
    """Nobody has a place where all tie; with `limit`, such games count as cut off by one."""

    limit = False

    def play(self, actions: np.ndarray, active: np.ndarray | None = None) -> None:
        super().play(actions, active)
        drawn = (self.outcome.finish == 1).all(axis=0)
        self.outcome.finish[:, drawn] = 0
        self.outcome.reward[:, drawn] = 0
        self._drawn = drawn

    @property
    def truncated(self) -> np.ndarray:
        return self._drawn if self.limit else super().truncated


@pytest.mark.parametrize("limit", [False, True])
def test_a_draw_is_truncated_only_where_a_limit_made_it(limit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stable-Baselines3 bootstraps from a truncated game, as if something were still to come."""
    from getbit_env.sb3 import SingleAgentVecEnv

    monkeypatch.setattr(DrawsWithoutPlaces, "limit", limit)
    spec = dataclasses.replace(SPEC, make_engine=DrawsWithoutPlaces, can_end_undecided=True)
    monkeypatch.setattr(game_batch, "game_of", lambda _variant: spec)
    env = SingleAgentVecEnv(SingleAgentBatch(Variant(2, 3), 64, "goofspiel-matching", seed=3))
    env.reset()
    for _ in range(Variant(2, 3).cards):
        *_, dones, infos = env.step(env.action_masks().argmax(axis=1))
    assert dones.all()
    drawn = [info["game"]["placement"] == 0 for info in infos]
    assert any(drawn)
    assert not all(drawn)
    assert [info["TimeLimit.truncated"] for info in infos] == [limit and one for one in drawn]


def test_a_spec_that_hides_draws_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "game_of", lambda _variant: dataclasses.replace(SPEC, make_engine=DrawsWithoutPlaces))
    with pytest.raises(ValueError, match="ended without a winner, which the GameSpec of Goofspiel says can't be"):
        play_match(["goofspiel-random", "goofspiel-matching"], "goofspiel-2p-3c", starts=60)


def test_it_plays_tournaments(tmp_path: Path) -> None:
    agents = ["goofspiel-random", "goofspiel-matching", "mine"]
    own = {"mine": network(Variant(3, 3))}
    result = play_tournament(agents, "goofspiel-3p-3c", own=own, starts=24, path=tmp_path / "tournament.json")
    assert result.win("mine", "mine") == Estimate(1 / 3), "a win that is shared is still one win"
    assert all(match.failure is None for match in result.matches)
    assert len(result.matches) == 6 + len(result.mixed)
    again = play_tournament(agents, "goofspiel-3p-3c", own=own, starts=24, path=tmp_path / "tournament.json")
    assert again.to_dict() == result.to_dict()


def test_policies_are_stored_and_loaded(tmp_path: Path) -> None:
    mine = network(Variant(2, 3))
    save_network(tmp_path / POLICY_FILE, mine)
    loaded = load_network(tmp_path / POLICY_FILE, "mine")
    by_folder = load_agent(tmp_path)
    assert loaded.variant == Variant(2, 3)
    assert loaded.game == ID
    for agent in (loaded, by_folder):
        for (weight, bias), (its_weight, its_bias) in zip(mine.layers, agent.layers, strict=True):
            assert np.array_equal(weight, its_weight)
            assert np.array_equal(bias, its_bias)
    assert play_match([by_folder, "goofspiel-random"], "goofspiel-2p-3c", starts=6).failure is None


@pytest.mark.parametrize(
    ("line_up", "variant", "message"),
    [
        (
            ["random", "goofspiel-random"],
            "goofspiel-2p-3c",
            "'random' plays Get Bit!, but goofspiel-2p-3c is a variant of Goofspiel",
        ),
        (["goofspiel-random", "sharks-random"], "goofspiel-2p-3c", "'sharks-random' plays Sharks are Wild"),
        (["random", "goofspiel-matching"], "2p", "'goofspiel-matching' plays Goofspiel"),
    ],
)
def test_agents_of_other_games_are_refused(line_up: list[str], variant: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play_match(line_up, variant)


@pytest.mark.parametrize("name", GAMES)
def test_one_seat_of_it_is_a_gymnasium_environment(name: str) -> None:
    env = SingleAgentEnv(ID, variant=name, points=True)
    check_env(env, skip_render_check=True)
    cards = env.multi_agent_env.variant.cards
    for seed in range(20):
        env.reset(seed=seed)
        for k in range(cards):
            _, reward, terminated, truncated, info = env.step(int(env.action_masks().argmax()))
            assert (terminated, truncated) == (k == cards - 1, False)
        assert info["placement"] > 0
        assert (reward > 0) <= (info["placement"] == 1) or env.multi_agent_env.variant.players > 2


@pytest.mark.parametrize("name", GAMES)
def test_a_learner_sits_in_a_batch_of_it(name: str) -> None:
    variant = game_registry.find_variant(name)
    batch = SingleAgentBatch(variant, 32, ["goofspiel-random"] * (variant.players - 1), seed=3)
    batch.reset()
    done = 0
    for _ in range(3 * variant.cards):
        step = batch.step(batch.action_mask.argmax(axis=1))
        assert not step.truncated.any()
        assert (step.length == variant.cards).all()
        assert np.array_equal(step.win > 0, step.placement[step.done] == 1)
        assert np.array_equal(step.total == 1, step.win == 1), "a win that is not shared pays all"
        done += step.done.size
    assert done == 3 * 32
    assert len(set(batch.seat.tolist())) == variant.players


@pytest.mark.parametrize("name", GAMES)
def test_its_vector_environments_play_it(name: str) -> None:
    variant = game_registry.find_variant(name)
    env = SingleAgentVectorEnv(ID, 8, variant=name, points=True, autoreset_mode="SameStep")
    env.reset(seed=0)
    for k in range(2 * variant.cards):
        *_, terminated, truncated, infos = env.step(env.sample_actions())
        assert terminated.all() == ("final_info" in infos) == ((k + 1) % variant.cards == 0)
        assert not truncated.any()
    seats = AllSeatsVectorEnv(ID, 8 * variant.players, variant=name)
    _, infos = seats.reset(seed=0)
    for k in range(2 * variant.cards):
        assert infos["alive"].all(), "nobody is out before the end"
        _, rewards, terminated, _, infos = seats.step(seats.sample_actions())
        assert terminated.all() == ((k + 1) % variant.cards == 0)
        assert rewards.reshape(-1, variant.players).sum(axis=1) == pytest.approx(0, abs=1e-6)
        assert terminated.all() == rewards.any()


# --- training ----------------------------------------------------------------------------------------------------------------


def test_stable_baselines3_learns_it(tmp_path: Path) -> None:
    """Nothing beats a player that matches every prize; the best response has as many points, and shares the win."""
    from sb3_contrib import MaskablePPO

    from getbit_env.sb3 import SingleAgentVecEnv, network_of

    env = SingleAgentVecEnv(SingleAgentBatch(Variant(2, 3), 64, "goofspiel-matching", seed=0))
    model = MaskablePPO("MlpPolicy", env, n_steps=12, batch_size=768, n_epochs=8, learning_rate=3e-3, gamma=1.0, seed=0)
    before = play_match([network_of(model), "goofspiel-matching"], "goofspiel-2p-3c", starts=60)
    model.learn(12_000)
    mine = network_of(model)
    after = play_match([mine, "goofspiel-matching"], "goofspiel-2p-3c", starts=60)
    assert after["learner"].win.mean > 0.45 > before["learner"].win.mean
    save_network(tmp_path / POLICY_FILE, mine)
    assert load_agent(tmp_path).variant == Variant(2, 3)


@pytest.mark.parametrize("variant", ["goofspiel-2p-3c", "goofspiel-3p-3c"])
def test_the_self_play_recipe_trains_it(tmp_path: Path, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from train import card, selfplay

    monkeypatch.setattr(card, "CARD_STARTS", 24)
    small: dict[str, Any] = {"n_envs": 64, "n_steps": 6, "batch_size": 192, "net_arch": [16], "eval_starts": 24}
    config = selfplay.Config(
        variant=variant, observe=["points"], total_timesteps=3000, opponent_groups=4, snapshot_freq=2, save_freq=4, **small
    )
    assert config.bots == ["goofspiel-random", "goofspiel-matching"]
    folder = selfplay.train(config, tmp_path / "run", quiet=True)
    agent = load_agent(folder)
    assert agent.game == ID
    assert agent.options.points
    assert f"A policy for {variant}" in (folder / "card.md").read_text()
    players = game_registry.find_variant(variant).players
    assert play_match([agent] + ["goofspiel-random"] * (players - 1), variant, starts=24).failure is None
