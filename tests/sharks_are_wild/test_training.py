"""One seat of the game for learners: the Gymnasium environment, the `VecEnv`, the recipe; and matches by name."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from getbit_env.agent_registry import load_agent
from getbit_env.match import play_match, play_tournament, rate
from getbit_env.network import NetworkAgent, load_network, save_network
from getbit_env.sharks_are_wild import ID, parse_variant
from getbit_env.sharks_are_wild.bots import Greedy
from getbit_env.sharks_are_wild.environment import raw_env
from getbit_env.sharks_are_wild.observations import Layout
from getbit_env.single_agent import SingleAgentEnv
from getbit_env.single_agent.batch import SingleAgentBatch

pytest.importorskip("stable_baselines3")
from stable_baselines3.common.env_checker import check_env as check_sb3_env

from getbit_env.sb3.sharks_are_wild import SharksAreWildVecEnv

TWO = "sharks-2p-level2"


class Recorder(Greedy):
    """Greedy, noting what it was shown: (row, observation) of every decision."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def act(self, observation, action_mask):
        self.asked += int(observation.any(axis=1).sum())
        return super().act(observation, action_mask)

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize(("name", "seat"), [(TWO, None), ("sharks-3p-level1", 2), ("sharks-4p-level2-2coins", None)])
def test_a_step_of_the_batch_goes_from_own_decision_to_own_decision(name: str, seat: int | None) -> None:
    """The learner always has something to decide, sees its own hand, and gets the sum of its rewards at the end of the episode."""
    variant = parse_variant(name)
    other = Recorder()
    batch = SingleAgentBatch(variant, 40, other, seat=seat, seed=3)
    batch.reset()
    rng, total, episodes, lost = np.random.default_rng(0), np.zeros(40), 0, 0
    view = batch.engine.layout
    for _ in range(250):
        decides = np.where(batch.engine.state.stage == 2, batch.engine.state.victim, batch.engine.state.player)
        assert (decides == batch.seat).all()
        assert (batch.engine.state.stage != 3).all()
        own = batch.engine.state.hand[np.arange(40), batch.seat].sum(axis=1)
        assert (view.field(batch.observation, "hand")[:, 0].sum(axis=1) == own).all()
        actions = np.where(batch.action_mask > 0, rng.random(batch.action_mask.shape), -1).argmax(axis=1)
        step = batch.step(actions)
        total += step.reward
        assert not batch.engine.replaced[np.arange(40), batch.seat][~step.terminated].any()
        for k, game in enumerate(step.done):
            episodes += 1
            lost += step.placement[game] == 2
            assert step.total[k] == total[game] == pytest.approx(1 if step.placement[game] == 1 else -1 / (variant.players - 1))
            assert step.final_observation[k].any()
            total[game] = 0
        assert (total == 0).all(), "rewards come at the end only"
    assert episodes > 40
    assert lost > episodes / 2
    assert other.asked > 1000


def test_a_drawn_game_is_truncated_and_pays_nothing() -> None:
    batch = SingleAgentBatch(parse_variant("sharks-2p-level2-5turns"), 20, load_agent("sharks-random"), seed=1)
    batch.reset()
    drawn = 0
    for _ in range(40):
        step = batch.step(batch.action_mask.argmax(axis=1))
        drawn += step.truncated.sum()
        assert not (step.truncated & step.terminated).any()
        assert (step.reward[step.truncated] == 0).all()
    assert drawn > 50


def test_a_game_that_is_lost_before_the_first_decision_is_none() -> None:
    """With one coin to win the other player often wins in his first turn."""
    batch = SingleAgentBatch(parse_variant("sharks-2p-level1-30sharks-1coins"), 50, load_agent("sharks-greedy"), seed=1)
    batch.reset()
    for _ in range(20):
        assert (batch.engine.state.player == batch.seat).all()
        assert batch.observation.any(axis=1).all()
        batch.step(batch.action_mask.argmax(axis=1))


def test_the_batch_repeats_itself_and_games_do_not_depend_on_others() -> None:
    seen = []
    for games in (30, 30):
        batch = SingleAgentBatch(parse_variant(TWO), games, load_agent("sharks-random"), seed=8)
        batch.reset()
        for _ in range(60):
            batch.step(batch.action_mask.argmax(axis=1))
        seen.append(batch.observation.copy())
    assert (seen[0] == seen[1]).all()


def test_vec_env_is_a_vec_env() -> None:
    env = SharksAreWildVecEnv(16, variant="sharks-3p-level2", seed=2)
    groups = env.set_opponent_groups(["sharks-random", ["sharks-greedy", "sharks-careful"]])
    seen = env.reset()
    assert seen.shape == (16, Layout(parse_variant("sharks-3p-level2")).size)
    games = []
    for _ in range(400):
        masks = np.array(env.env_method("action_masks"))
        assert masks.any(axis=1).all()
        seen, _, dones, infos = env.step(masks.argmax(axis=1))
        for game in np.flatnonzero(dones):
            games.append(infos[game]["game"])
            assert infos[game]["terminal_observation"].shape == seen[game].shape
    assert {game["opponents"] for game in games} == set(groups)
    assert {game["placement"] for game in games} <= {0, 1, 2}


def test_gymnasium_and_sb3_accept_one_seat() -> None:
    env = gymnasium.make(f"getbit_env:{ID}", opponents="sharks-greedy", players=2, level=2)
    assert isinstance(env.unwrapped, SingleAgentEnv)
    check_sb3_env(env.unwrapped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it can't try other render modes
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("options", [{"players": 2, "level": 2}, {"players": 3, "level": 1, "seat": 1}, {"players": 2, "coins": 1}])
def test_one_seat_plays_whole_games(options) -> None:
    env = SingleAgentEnv("getbit/SharksAreWild-v0", "sharks-greedy", **options)
    rng, wins, games, flagged = np.random.default_rng(0), 0, 25, 0
    for game in range(games):
        _, info = env.reset(seed=game)
        over, total = False, 0.0
        while not over:
            assert env.multi_agent_env.agent_selection == f"player_{info['seat']}"
            action = int(rng.choice(np.flatnonzero(info["action_mask"]))) if game % 2 else int(rng.integers(env.action_space.n))
            illegal = not env.action_masks()[action]
            _, reward, terminated, truncated, info = env.step(action)
            assert info["illegal_action"] == illegal
            flagged += illegal
            total += reward
            over = terminated or truncated
        assert total in (1.0, -1 / (env.multi_agent_env.variant.players - 1))
        wins += total > 0
        with pytest.raises(RuntimeError, match="call reset"):
            env.step(0)
    assert flagged
    assert wins < games
    with pytest.raises(ValueError, match="a sequence of 3, one for each; not 2"):
        SingleAgentEnv("getbit/SharksAreWild-v0", ["sharks-random", "sharks-random"], players=4)
    with pytest.raises(ValueError, match="seat is 0 to 1"):
        SingleAgentEnv("getbit/SharksAreWild-v0", seat=2, players=2)


# --- matches and policies by name ---------------------------------------------------------------------------------------------


def test_matches_give_every_deal_to_every_seat_and_repeat_themselves() -> None:
    """The same agent in all seats: by rotation every seat gets the same, and each wins its exact share."""
    result = play_match(["sharks-greedy", "sharks-careful"], TWO, starts=600, seed=4)
    assert result.to_dict() == play_match(["sharks-greedy", "sharks-careful"], TWO, starts=600, seed=4).to_dict()
    assert result.games == 1200
    assert sum(times for _, times in result.orders) == 1200
    alone = play_match(["sharks-greedy"] * 3, "sharks-3p-level1", starts=20)
    assert alone["sharks-greedy"].win.mean == pytest.approx(1 / 3)
    assert alone["sharks-greedy"].payoff.mean == pytest.approx(0, abs=1e-6)


def test_players_of_a_drawn_game_tie() -> None:
    result = play_match(["sharks-random", "sharks-greedy"], "sharks-2p-level2-4turns", starts=40)
    assert dict(result.orders)[("sharks-random", "sharks-greedy"),] > 0
    assert sum(times for _, times in result.orders) == result.games
    assert result["sharks-greedy"].payoff.mean == pytest.approx(-result["sharks-random"].payoff.mean)


def test_tournament_and_ratings_take_the_game_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "tournament.json"
    names = ["sharks-random", "sharks-greedy", "sharks-careful"]
    result = play_tournament(names, "sharks-3p-level2", starts=12, path=file)
    assert result.match("sharks-greedy", "sharks-random")["sharks-greedy"].win.mean > 0.5
    assert json.loads(file.read_text())["settings"]["variant"] == "sharks-3p-level2"
    pytest.importorskip("openskill")
    assert list(rate(result.matches))[-1] == "sharks-random"


def test_an_agent_of_the_other_game_is_refused_before_anything_is_played() -> None:
    with pytest.raises(ValueError, match="agent 'random' plays Get Bit!, but sharks-2p-level2 is a variant of Sharks are Wild"):
        play_match(["sharks-greedy", "random"], TWO, starts=8)


def test_policies_are_stored_with_their_game(tmp_path: Path) -> None:
    variant = parse_variant("sharks-2p-level2-2coins")
    layout, rng = Layout(variant), np.random.default_rng(0)
    shapes = [(8, layout.size), (variant.actions, 8)]
    layers = [(rng.normal(size=s).astype(np.float32), np.zeros(s[0], np.float32)) for s in shapes]
    agent = NetworkAgent(layers, variant, name="net")
    save_network(tmp_path / "policy.safetensors", agent)
    again = load_network(tmp_path / "policy.safetensors", "again")
    assert again.variant == variant
    one, two = (play_match([a, "sharks-random"], variant, starts=8) for a in (agent, again))
    assert one.failure is None
    assert one["net"].win == two["again"].win
    with pytest.raises(ValueError, match="was trained on sharks-2p-level2-2coins"):
        again.reset(Layout(parse_variant(TWO)), np.ones(1, bool), 0)


def test_idle_rows_of_a_network_change_nothing() -> None:
    variant = parse_variant(TWO)
    layout, rng = Layout(variant), np.random.default_rng(0)
    layers = [(rng.normal(size=(variant.actions, layout.size)).astype(np.float32), np.zeros(variant.actions, np.float32))]
    seen = (rng.random((10, layout.size)) < 0.2).astype(np.float32)
    mask = np.ones((10, variant.actions), np.int8)
    idle = seen.copy()
    idle[3:] = 0
    acted = []
    for rows in (seen, idle):
        agent = NetworkAgent(layers, variant)
        agent.reset(layout, np.ones(10, bool), 1)
        acted.append(agent.act(rows, mask)[:3].tolist())
    assert acted[0] == acted[1]


def test_the_recipe_trains_this_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A smoke test of the command: a few rollouts, a card, an agent that plays."""
    from train import card, selfplay

    monkeypatch.setattr(card, "CARD_STARTS", 8)
    folder = tmp_path / "run"
    command = (
        "--variant sharks-2p-level2-2coins --total-timesteps 4096 --n-envs 64 --batch-size 1024 --opponent-groups 4 --net-arch 16"
    )
    command += f" --eval-starts 8 --quiet --output {folder}"
    selfplay.main(command.split())
    assert "| sharks-careful |" in (folder / "card.md").read_text(), "the bots of the game are there without being named"
    saved = json.loads((folder / "config.json").read_text())
    assert saved["about"]["env"] == ID
    assert saved["config"]["bots"] == ["sharks-random", "sharks-greedy", "sharks-careful"]
    agent = load_agent(str(folder))
    assert play_match([agent, "sharks-random"], "sharks-2p-level2-2coins", starts=8).failure is None
    assert raw_env(variant="sharks-2p-level2-2coins").variant == agent.variant


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--observe", "history"], "--observe: Sharks are Wild has no option 'history'; there are"),
        (["--observe", "open_hands"], "--observe: open_hands shows what the rules hide from players"),
        (["--bots", "random"], "--bots: agent 'random' plays Get Bit!, but sharks-2p-level2 is a variant of Sharks are Wild"),
        (["--eval-opponents", "random"], "--eval-opponents: agent 'random' plays Get Bit!"),
        (["--reward", "placement"], "--reward is one of 'win', not 'placement'"),
    ],
)
def test_the_recipe_refuses_what_the_game_does_not_have(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from train import selfplay

    with pytest.raises(SystemExit):
        selfplay.main(["--variant", TWO, "--output", str(tmp_path / "run"), *arguments])
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists(), "nothing was begun"
