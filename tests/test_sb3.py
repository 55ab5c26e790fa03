"""The VecEnv: against a slow re-implementation on `parallel_env`, and as Stable-Baselines3 uses it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecEnvWrapper, VecMonitor, VecNormalize, VecVideoRecorder

import getbit_env
from getbit_env.agent_registry import load_agent
from getbit_env.core.agent import Agent
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.rendering import scene_from_snapshot, scene_of_batch
from getbit_env.match import play_match
from getbit_env.network import RecurrentNetworkAgent, load_network, save_network
from getbit_env.sb3 import GetBitVecEnv, MaskableRecurrentPPO, OpponentPool, WinRate, network_of
from getbit_env.sb3.sharks_are_wild import SharksAreWildVecEnv
from getbit_env.single_agent.batch import SingleAgentBatch


class Slow:
    """The same, game by game on `parallel_env`, given the lines and seats; for opponents without chance or memory."""

    def __init__(self, fast: GetBitVecEnv, opponents: list[str], **options: Any) -> None:
        self.fast, self.options = fast, options
        players = fast.batch.variant.players
        self.agents = [load_agent(name) for name in opponents]
        self.envs = [getbit_env.parallel_env(variant=fast.batch.variant, **options) for _ in range(fast.num_envs)]
        self.players = players

    def begin(self, game: int) -> np.ndarray:
        batch = self.fast.batch
        line = np.argsort(batch.engine.record.start[:, game]).tolist()
        self.seen, _ = self.envs[game].reset(options={"line": line})
        self.seats = getattr(self, "seats", {}) | {game: int(batch.seat[game])}
        self.total = getattr(self, "total", {}) | {game: 0.0}
        self.last = getattr(self, "last", {}) | {game: self.seen}
        return self.seen[f"player_{self.seats[game]}"]["observation"]

    def step(self, game: int, action: int) -> tuple[np.ndarray, float, bool, bool, int]:
        env, me = self.envs[game], f"player_{self.seats[game]}"
        actions = {}
        for agent in env.agents:
            seen = self.last[game][agent]
            if agent == me:
                actions[agent] = action
            else:
                other = (int(agent[-1]) - self.seats[game]) % self.players - 1
                bot = self.agents[other % len(self.agents)]
                bot.reset(env.layout, np.ones(1, bool), 0)
                actions[agent] = int(bot.act(seen["observation"][None], seen["action_mask"][None])[0])
        self.last[game], rewards, terminations, truncations, _ = env.step(actions)
        placement = env.snapshot()["placement"][self.seats[game]] or 0
        return self.last[game][me]["observation"], rewards[me], terminations[me], truncations[me], placement


@pytest.mark.parametrize(
    ("options", "opponents"),
    [
        ({"variant": "4p"}, "lowest"),
        ({"variant": "4p", "seat": 2, "reward": "placement", "limb_reward": -0.125}, "highest"),
        ({"variant": "2p"}, "highest"),
        ({"variant": "3p-memory"}, ("lowest", "highest")),
        ({"variant": "5p", "max_cycles": 6}, ("lowest", "highest", "lowest", "highest")),
        ({"variant": "4p-memory", "history": True}, "highest"),
        ({"variant": "3p-1r-4c-1l", "observe_last": True, "identity": True}, "lowest"),
    ],
    ids=str,
)
def test_it_is_the_slow_environment(options: dict[str, Any], opponents: Any) -> None:
    games = 5
    fast = GetBitVecEnv(games, opponents, seed=7, **options)
    names = [opponents] if isinstance(opponents, str) else list(opponents)
    slow = Slow(fast, names, **{name: value for name, value in options.items() if name not in ("variant", "seat")})
    seen = fast.reset()
    rng = np.random.default_rng(0)
    for game in range(games):
        assert np.array_equal(seen[game], slow.begin(game))
    ended = 0
    for _ in range(60):
        masks = np.stack(fast.env_method("action_masks"))
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        expected = [slow.step(game, int(actions[game])) for game in range(games)]
        seen, rewards, dones, infos = fast.step(actions)
        for game, (last, reward, terminated, truncated, placement) in enumerate(expected):
            slow.total[game] += reward
            assert rewards[game] == pytest.approx(reward)
            assert dones[game] == (terminated or truncated)
            if not dones[game]:
                assert np.array_equal(seen[game], last)
                assert infos[game] == {}
                continue
            ended += 1
            assert np.array_equal(infos[game]["terminal_observation"], last)
            assert infos[game]["TimeLimit.truncated"] == truncated
            episode = infos[game]["episode"]
            rounds = slow.envs[game].snapshot()["round"]
            assert episode["l"] == rounds
            assert infos[game]["game"] == {
                "win": float(placement == 1),
                "placement": placement,
                "length": rounds,
                "opponents": 0,
            }
            assert episode["r"] == pytest.approx(slow.total[game])
            assert np.array_equal(seen[game], slow.begin(game))
            if options.get("seat") is not None:
                assert slow.seats[game] == options["seat"]
    assert ended > 5


@pytest.mark.parametrize("variant", ["4p", "2p", "3p-memory"])
def test_the_same_seed_gives_the_same_bytes_whatever_the_batch_size(variant: str) -> None:
    def run(games: int) -> list[bytes]:
        env = GetBitVecEnv(games, "random", variant=variant, seed=3)
        log = [env.reset()[:4].tobytes()]
        for _ in range(40):
            seen, rewards, dones, _ = env.step(env.action_masks().argmax(1))
            log += [seen[:4].tobytes(), rewards[:4].tobytes(), dones[:4].tobytes()]
        return log

    assert run(4) == run(9)


def test_a_reset_with_a_seed_begins_again_and_one_without_goes_on() -> None:
    def run(env: GetBitVecEnv) -> bytes:
        log = [env.reset()]
        log += [env.step(env.action_masks().argmax(1))[0] for _ in range(30)]
        return np.stack(log).tobytes()

    env = GetBitVecEnv(4, "random", seed=3)
    first, second = run(env), run(env)
    assert first != second
    env.seed(3)
    assert (run(env), run(env)) == (first, second)
    assert env.reset_infos == [{}] * 4


def test_every_seat_is_drawn_about_as_often() -> None:
    batch = SingleAgentBatch(getbit_env.parse_variant("4p"), 4000, load_agent("random"), seed=0)
    batch.reset()
    counts = np.bincount(batch.seat, minlength=4)
    assert counts.min() > 900
    assert len({tuple(line) for line in batch.engine.record.start.T.tolist()}) == 24


class Marked(Agent):
    """Always plays the lowest card, and remembers how many games it began."""

    def __init__(self, name: str) -> None:
        self.name, self.rows, self.begun = name, 0, 0

    def reset(self, layout: Layout, begins: np.ndarray, seed: int | None) -> None:  # noqa: ARG002
        if seed is not None:
            self.rows, self.begun = len(begins), 0
        else:
            self.begun += int(begins.sum())

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        assert len(observation) == self.rows
        assert action_mask[~observation.any(1)].all(), "rows without a choice have a mask of ones"
        return action_mask.argmax(1)


def test_new_opponents_take_over_game_by_game() -> None:
    env = GetBitVecEnv(6, Marked("a"), seed=0)
    first = env.set_opponent_groups([Marked("a"), Marked("b")])
    env.reset()
    for _ in range(3):
        env.step(env.action_masks().argmax(1))
    before = env.batch.engine.record.start.copy()
    (number,) = env.env_method("set_opponents", Marked("c"), indices=0)
    played_by: list[tuple[int, int]] = []
    for _ in range(40):
        _, _, dones, infos = env.step(env.action_masks().argmax(1))
        played_by += [(game, infos[game]["game"]["opponents"]) for game in np.flatnonzero(dones)]
    for game in range(6):
        mine = [group for g, group in played_by if g == game]
        assert mine[0] == first[game >= 3], "a game is finished by those who began it"
        assert set(mine[1:]) == {number}
    assert not np.array_equal(before, env.batch.engine.record.start)
    (group,) = env.batch._groups  # the earlier ones are gone when their last game is over
    assert group.agents[0].begun == 3 * len(played_by)  # type: ignore[attr-defined]


def test_an_agent_in_two_groups_is_two() -> None:
    marked = Marked("a")
    env = GetBitVecEnv(4, seed=0)
    env.set_opponent_groups([marked, [marked, marked, marked]])
    env.reset()
    for _ in range(20):
        env.step(env.action_masks().argmax(1))
    assert marked.rows == 0


class Broken(Marked):
    def __init__(self, answer: Any) -> None:
        super().__init__("broken")
        self.answer = answer

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return np.asarray(self.answer)

    def __repr__(self) -> str:
        return "Broken()"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0] * 5, r"opponent Broken\(\) returned int64 \(5,\), not one whole number for each of 6 rows"),
        ([0.5] * 6, "not one whole number"),
        ([0, 0, 5, 0, 0, 0], r"opponent Broken\(\) played 5; legal are \[0, 1, 2, 3, 4\]"),
    ],
)
def test_an_opponent_that_plays_wrongly_is_named(answer: Any, message: str) -> None:
    env = GetBitVecEnv(2, Broken(answer))
    env.reset()
    with pytest.raises(ValueError, match=message):
        env.step(np.zeros(2, np.int64))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seat": 4}, "seat is 0 to 3"),
        ({"opponents": ("random", "random")}, "a sequence of 3, one for each; not 2"),
        ({"opponents": ["random"] * 4}, "a sequence of 3, one for each; not 4"),
        ({"opponents": "nobody"}, "nobody"),
        ({"num_envs": 0}, "games is a whole number, at least 1, not 0"),
        ({"variant": "9p"}, "players is 2 to 7"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GetBitVecEnv(**{"num_envs": 2, **options})


@pytest.mark.parametrize("groups", [[], ["random"] * 3, "random"])
def test_games_that_can_not_be_shared_equally_are_refused(groups: Any) -> None:
    with pytest.raises(ValueError, match="a list whose length divides the number of games, 4"):
        GetBitVecEnv(4).set_opponent_groups(groups)


def test_wrong_actions_are_refused() -> None:
    env = GetBitVecEnv(2)
    env.reset()
    for wrong in (np.array([0, 5]), np.array([0, -1]), np.array([0])):
        with pytest.raises(ValueError, match=r"actions are 2 whole numbers 0\.\.4"):
            env.step(wrong)


def test_attributes_and_methods_of_the_games() -> None:
    env = GetBitVecEnv(3, seed=0)
    env.reset()
    assert env.has_attr("action_masks")
    assert not env.has_attr("flavour")
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.shape == (3, 5)
    assert masks.dtype == np.bool_
    assert len(env.env_method("action_masks", indices=[0, 2])) == 2
    with pytest.raises(AttributeError, match="no method 'fly'"):
        env.env_method("fly")
    with pytest.raises(AttributeError, match="no attribute 'flavour'"):
        env.get_attr("flavour")
    env.set_attr("flavour", "salt", indices=1)
    assert env.get_attr("flavour") == [None, "salt", None]
    assert env.get_attr("render_mode") == [None] * 3
    env.set_attr("seat", 1)
    env.reset()
    assert env.get_attr("seat") == [1, 1, 1]
    env.set_attr("seat", 3, indices=[2])
    env.reset()
    assert env.get_attr("seat") == [1, 1, 3]
    with pytest.raises(ValueError, match="seat is 0 to 3"):
        env.set_attr("seat", 4)
    env.set_attr("max_cycles", 2)
    with pytest.raises(ValueError, match="set it without indices"):
        env.set_attr("max_cycles", 2, indices=0)
    assert env.get_attr("max_cycles", indices=[0]) == [2]
    env.step(np.zeros(3, np.int64))
    _, _, dones, infos = env.step(np.zeros(3, np.int64))
    assert dones.all()
    assert all(info["TimeLimit.truncated"] for info in infos)
    assert env.env_is_wrapped(VecMonitor) == [False] * 3
    env.close()


@pytest.mark.filterwarnings("ignore:Training and eval env are not of the same type", "ignore:Evaluation environment is not wrapped")
def test_maskable_ppo_learns_with_monitor_and_evaluation_is_saved_and_loaded(tmp_path: Path) -> None:
    """The answer to sb3-contrib 250 and PettingZoo 1331, and that training learns something (PettingZoo 1147)."""
    env = VecMonitor(GetBitVecEnv(128, "random", seed=1))
    evaluation = GetBitVecEnv(64, "random", seed=2)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=64,
        batch_size=2048,
        n_epochs=4,
        gamma=1.0,
        ent_coef=0.02,
        learning_rate=1e-3,
        seed=0,
        device="cpu",
    )
    before, _ = evaluate_policy(model, evaluation, n_eval_episodes=1200, deterministic=False)
    model.learn(98304, callback=MaskableEvalCallback(evaluation, n_eval_episodes=64, eval_freq=200, verbose=0))
    evaluation.seed(2)
    after, _ = evaluate_policy(model, evaluation, n_eval_episodes=1200, deterministic=False)
    # A payoff of 0 is the equal share. The standard error of 1,200 games is about 0.02.
    assert before < 0.1
    assert after > before + 0.15
    model.save(tmp_path / "model")
    again = MaskablePPO.load(tmp_path / "model", env=env, device="cpu")
    seen = evaluation.reset()
    masks = evaluation.action_masks()
    one, _ = model.predict(seen, action_masks=masks, deterministic=True)
    two, _ = again.predict(seen, action_masks=masks, deterministic=True)
    assert np.array_equal(one, two)
    assert masks[np.arange(64), one].all()


# --- what is exported, and the callbacks ---------------------------------------------------------------------------------------


def model_of(env: Any, algorithm: Any = MaskablePPO, policy: str = "MlpPolicy", **options: Any) -> Any:
    defaults = {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "seed": 0, "device": "cpu", "learning_rate": 1e-2}
    return algorithm(policy, env, **{**defaults, **options})


def assert_plays_alike(model: Any, games: GetBitVecEnv, normalize: VecNormalize | None = None) -> None:
    """The exported policy and the model, on games that neither has seen."""
    agent, seen, far = network_of(model), games.reset(), 0.0
    for _ in range(12):
        masks = games.action_masks()
        shown = seen if normalize is None else normalize.normalize_obs(seen)
        tensor, _ = model.policy.obs_to_tensor(shown)
        with torch.no_grad():
            wanted = model.policy.get_distribution(tensor, masks).distribution.probs.numpy()
        got = agent.probabilities(seen, masks.astype(np.int8))
        assert np.abs(got - wanted).max() < 1e-5
        far = max(far, float(np.ptp(got[:, :2], axis=0).max()))
        seen, *_ = games.step(masks.argmax(1))
    assert far > 0.05, "policies that differ from seat to seat, or the test would tell little"


@pytest.mark.parametrize("wrappers", [[], [VecMonitor], [VecNormalize], [VecMonitor, VecNormalize], [VecNormalize, VecMonitor]])
def test_what_is_exported_is_what_was_trained(wrappers: list[Any], tmp_path: Path) -> None:
    env: Any = GetBitVecEnv(32, "random", seed=1, history=True)
    for wrapper in wrappers:
        env = wrapper(env)
    opponents = OpponentPool(str(tmp_path / "pool"), opponent_groups=4, snapshot_freq=2)
    evaluation = WinRate(["random"], every=32 * 16 * 2, starts=24, save_best=str(tmp_path / "best.safetensors"))
    model = model_of(env).learn(32 * 16 * 4, callback=[opponents, evaluation])
    assert_plays_alike(model, GetBitVecEnv(32, "random", seed=5, history=True), model.get_vec_normalize_env())
    assert load_network(tmp_path / "best.safetensors", "best").about["score"] == f"{evaluation.best:.4f}"
    assert len(list((tmp_path / "pool").iterdir())) == 2
    assert set(opponents.results) <= {"latest", "000000", "000002", "random", "lowest", "highest", "counter"}
    assert opponents.lengths
    assert min(opponents.lengths) >= 1


def test_clipping_of_vec_normalize_is_folded_in_too() -> None:
    """An entry that was never seen has so small a variance that the first time it is seen it is clipped."""
    env = VecNormalize(GetBitVecEnv(32, "random", seed=1), clip_obs=0.7)
    model = model_of(env).learn(32 * 16)
    assert np.abs(env.normalize_obs(np.ones((1, env.observation_space.shape[0]), np.float32))).max() == pytest.approx(0.7)
    assert_plays_alike(model, GetBitVecEnv(32, "random", seed=5), env)


def test_relu_layers_are_exported_too(tmp_path: Path) -> None:
    env = GetBitVecEnv(32, "random", seed=1)
    model = model_of(env, policy_kwargs={"activation_fn": torch.nn.ReLU}).learn(32 * 16 * 4)
    assert_plays_alike(model, GetBitVecEnv(32, "random", seed=5))
    save_network(tmp_path / "policy.safetensors", network_of(model))
    assert load_network(tmp_path / "policy.safetensors", "it").activation == "relu"


@pytest.mark.parametrize("algorithm", [RecurrentPPO, MaskableRecurrentPPO])
def test_lstms_are_exported_too(algorithm: Any, tmp_path: Path) -> None:
    """Two of them, behind `VecNormalize`, written and read, against the model's own distribution over whole games."""
    env = VecNormalize(GetBitVecEnv(32, "random", seed=1))
    kwargs = {"lstm_hidden_size": 16, "n_lstm_layers": 2, "activation_fn": torch.nn.ReLU}
    model = model_of(env, algorithm, "MlpLstmPolicy", policy_kwargs=kwargs).learn(32 * 16 * 4)
    save_network(tmp_path / "policy.safetensors", network_of(model))
    agent = load_network(tmp_path / "policy.safetensors", "it")
    assert isinstance(agent, RecurrentNetworkAgent)
    games, far = GetBitVecEnv(32, "random", seed=5), 0.0
    seen, mine, begins = games.reset(), agent.begun(32), np.ones(32, bool)
    theirs = torch.zeros(2, 32, 16), torch.zeros(2, 32, 16)
    for _ in range(20):
        mine[:, :, begins] = 0
        logits, mine = agent.step(seen, mine)
        with torch.no_grad():
            tensor, _ = model.policy.obs_to_tensor(env.normalize_obs(seen))
            found, theirs = model.policy.get_distribution(tensor, theirs, torch.as_tensor(begins, dtype=torch.float32))
        got = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        assert np.abs(got - found.distribution.probs.numpy()).max() < 1e-5
        far = max(far, float(np.ptp(got[:, :2], axis=0).max()))
        seen, _, begins, _ = games.step(games.action_masks().argmax(1))
    assert far > 0.02, "or the test would tell little"


class Doubled(VecEnvWrapper):
    """Shows twice of everything."""

    def reset(self) -> Any:
        return 2 * self.venv.reset()  # type: ignore[operator]

    def step_wait(self) -> Any:
        seen, *rest = self.venv.step_wait()
        return 2 * seen, *rest  # type: ignore[operator]


class OwnExtractor(FlattenExtractor):
    pass


def test_what_can_not_be_exported_is_refused(tmp_path: Path) -> None:
    env = GetBitVecEnv(8, "random", seed=1)
    for options, message in [
        (
            {"policy_kwargs": {"activation_fn": torch.nn.ELU}},
            "not Linear, ELU, Linear, ELU; give the model policy_kwargs",
        ),
        ({"policy_kwargs": {"features_extractor_class": OwnExtractor}}, "the features extractor OwnExtractor"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            network_of(model_of(env, **options))
    lstm = model_of(env, MaskableRecurrentPPO, "MlpLstmPolicy", policy_kwargs={"lstm_kwargs": {"bias": False}})
    with pytest.raises(ValueError, match=re.escape("an LSTM with lstm_kwargs={'bias': False} can't be played with NumPy")):
        network_of(lstm)
    with pytest.raises(ValueError, match="the model sees other observations than the game shows, through Doubled"):
        network_of(model_of(Doubled(env)).learn(128))
    with pytest.raises(ValueError, match="VecNormalize twice"):
        network_of(model_of(VecNormalize(VecNormalize(env))))
    with pytest.raises(ValueError, match="or an MlpLstmPolicy, can be played with NumPy, not DQNPolicy"):
        network_of(DQN("MlpPolicy", env, device="cpu", buffer_size=100))
    model = model_of(env)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"the model has no environment, .* MaskablePPO\.load\(path, env=\.\.\.\)"):
        network_of(MaskablePPO.load(tmp_path / "model", device="cpu"))
    with torch.no_grad():
        model.policy.action_net.bias[0] = float("nan")
    with pytest.raises(ValueError, match="bias that are NaN, infinite"):
        network_of(model)


def test_a_policy_that_was_trained_without_masks_is_exported() -> None:
    model = model_of(make_vec_env("getbit_env:getbit/GetBit-v0", 4), PPO).learn(64)
    seen = np.random.default_rng(0).integers(0, 2, (20, model.observation_space.shape[0])).astype(np.float32)
    with torch.no_grad():
        wanted = model.policy.get_distribution(torch.as_tensor(seen)).distribution.probs.numpy()
    assert np.abs(network_of(model).probabilities(seen, np.ones((20, 5), np.int8)) - wanted).max() < 1e-5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda _: WinRate(["sharks-random", "random"]),
            "agent 'sharks-random' plays Sharks are Wild, but 4p is a variant of Get Bit!",
        ),
        (lambda _: WinRate(["nobody"]), "no agent 'nobody'"),
        (lambda _: WinRate([]), "opponents names at least one agent"),
        (lambda _: WinRate("random"), "agents are given as a list of names"),
        (lambda _: WinRate(every=0), "every is a whole number, at least 1, not 0"),
        (lambda path: OpponentPool(path, bots=["sharks-random"]), "agent 'sharks-random' plays Sharks are Wild"),
        (lambda path: OpponentPool(path, opponent_groups=3), "8 games can't be shared equally by opponent_groups=3"),
        (lambda path: OpponentPool(path, opponent_groups=0), "opponent_groups is a whole number from 1 on, not 0"),
        (lambda path: OpponentPool(path, latest_share=0.8, bot_share=0.8), "add up to 1 at most"),
        (lambda path: OpponentPool(path, sampling="best"), "sampling is one of 'latest', 'uniform', 'prioritised', not 'best'"),
    ],
)
def test_callbacks_refuse_nonsense_before_training(make: Any, message: str, tmp_path: Path) -> None:
    model = model_of(GetBitVecEnv(8, "random", seed=1))
    with pytest.raises(ValueError, match=message):
        model.learn(128, callback=make(tmp_path / "pool"))
    assert model.num_timesteps == 0
    assert not (tmp_path / "pool").exists()


def test_an_opponent_that_fails_is_no_win() -> None:
    model = model_of(GetBitVecEnv(8, "random", seed=1))
    with pytest.raises(RuntimeError, match=r"no evaluation against tests.test_sb3:Failing: .* failed: .*gone"):
        model.learn(128, callback=WinRate(["tests.test_sb3:Failing"], every=128, starts=8))


class Failing(Marked):
    def __init__(self) -> None:
        super().__init__("failing")

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
        raise OSError("gone")


def test_win_rates_are_not_those_of_the_games_that_end_first(tmp_path: Path) -> None:
    """Of seven players many are out, and have lost, before the first one has won: what ends first is lost."""
    games, rounds = 256, 44
    env = GetBitVecEnv(games, "random", variant="7p-half", seed=1)
    pool = OpponentPool(tmp_path, opponent_groups=2, latest_share=0.5, bot_share=0.5, bots=["random"])
    model = model_of(env, n_steps=rounds, learning_rate=0.0)
    win = play_match([network_of(model), *["random"] * 6], "7p-half", starts=600)["learner"].win.mean
    pool.init_callback(model)
    pool.seat_opponents()  # as the recipe does: the games of the first rollout all begin at once, against these
    told = list[list[float]]()
    for _ in range(4):
        model.learn(games * rounds, callback=pool, reset_num_timesteps=False)
        told.append([one for wins in pool.results.values() for one in wins])
        assert len(pool.lengths) == len(told[-1])
    assert not told[0], "nearly all that have ended by now are lost"
    complete = [wins for wins in told if wins]
    assert len(complete) >= 2
    assert len(complete[0]) > games, "all that began in the first rollout, and those that followed on short ones"
    assert max(pool.lengths) > rounds
    won = np.concatenate(complete)
    assert abs(won.mean() - win) < 4 * np.sqrt(win / len(won))
    model.learn(games * rounds, callback=pool)  # SB3 resets the environment
    assert not pool.results, "the rest of games that were thrown away tells nothing"


# --- calls that make no sense ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [GetBitVecEnv, SharksAreWildVecEnv])
def test_calls_that_make_no_sense_are_refused(make: Any) -> None:
    env = make(2)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step\(\)"):
        env.step(np.zeros(2, np.int64))
    with pytest.raises(RuntimeError, match=r"call reset\(\) before action_masks\(\)"):
        env.action_masks()
    seen = env.reset().copy()
    for wrong in (np.zeros(2), np.full(2, np.nan), np.zeros(2, bool), [0.0, 1.0], np.array(["0", "0"]), np.zeros((2, 1), int), 0):
        with pytest.raises(ValueError, match=r"actions are 2 whole numbers 0\.\."):
            env.step(wrong)
    assert np.array_equal(env.batch.observation, seen), "nothing happened"
    env.step([0, 1])
    for options in ({"line": [0, 1, 2, 3]}, [{}, {"line": [0, 1, 2, 3]}]):
        with pytest.raises(ValueError, match="the games take no options of a reset"):
            env.set_options(options)
    env.set_options()
    env.set_options({})
    for wrong in (0, -1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="max_cycles is a whole number, at least 1, or None"):
            make(2, max_cycles=wrong)
        with pytest.raises(ValueError, match="max_cycles is a whole number, at least 1, or None"):
            env.set_attr("max_cycles", wrong)
    for wrong in (True, 1.0, "1", 9):
        with pytest.raises(ValueError, match="seat is 0 to"):
            env.set_attr("seat", wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda mode: GetBitVecEnv(3, players=2, half_limbs=True, seed=1, render_mode=mode),
        lambda mode: GetBitVecEnv(3, players=5, memory=True, seed=1, render_mode=mode),
        lambda mode: SharksAreWildVecEnv(3, seed=1, render_mode=mode),
    ],
)
def test_the_games_are_drawn(make: Any) -> None:
    env = make("rgb_array")
    with pytest.raises(RuntimeError, match="call reset"):
        env.render()
    env.reset()
    before = env.get_images()
    for _ in range(12):
        env.step(env.action_masks().argmax(1))
        after = env.get_images()
    assert all(image.dtype == np.uint8 and image.shape == before[0].shape and image.std() > 10 for image in before + after)
    assert all((one != other).any() for one, other in zip(before, after, strict=True))
    assert env.render().ndim == 3
    with pytest.raises(ValueError, match="render_mode of a vector environment is None or 'rgb_array', not 'human'"):
        make("human")


def frames_of(film: Path) -> list[np.ndarray]:
    moviepy = pytest.importorskip("moviepy")
    with moviepy.VideoFileClip(str(film)) as clip:
        assert clip.fps == 2
        return list(clip.iter_frames())


@pytest.mark.parametrize(
    "make",
    [lambda: GetBitVecEnv(3, seed=1, render_mode="rgb_array"), lambda: SharksAreWildVecEnv(2, seed=1, render_mode="rgb_array")],
)
def test_vec_video_recorder_films_the_games(make: Any, tmp_path: Path) -> None:
    """Also through other wrappers, and a film shows what `render` shows."""
    pytest.importorskip("moviepy")
    env = VecVideoRecorder(VecMonitor(make()), str(tmp_path), lambda step: step == 2, video_length=4, name_prefix="games")
    env.reset()
    shown = []
    for step in range(1, 9):
        env.step(np.stack(env.env_method("action_masks")).argmax(1))
        if 2 <= step <= 6:
            shown.append(env.render())
    env.close()
    (film,) = tmp_path.iterdir()
    assert film.name == "games-step-2-to-step-6.mp4"
    frames = frames_of(film)
    assert len(frames) == len(shown) == 5
    for frame, wanted in zip(frames, shown, strict=True):
        assert abs(frame.shape[0] - wanted.shape[0]) <= 1  # an odd size is made even
        high, wide = (min(a, b) for a, b in zip(frame.shape[:2], wanted.shape[:2], strict=True))
        assert np.abs(frame[:high, :wide].astype(int) - wanted[:high, :wide]).mean() < 12, "compressed, but the same picture"
    assert (frames[0] != frames[-1]).any()


def test_the_picture_of_a_batch_is_that_of_the_environment() -> None:
    env = getbit_env.parallel_env(render_mode="rgb_array")
    env.reset(seed=4)
    engine = Engine(env.variant, 2, seed=4)
    engine.start()
    for _ in range(6):
        actions = np.zeros((2, 4), np.int64)
        engine.observe()
        actions[:] = engine.action_mask.argmax(2)
        env.step({agent: int(actions[0, int(agent[-1])]) for agent in env.agents})
        engine.play(actions)
        batch, alone = scene_of_batch(engine, 0), scene_from_snapshot(env.snapshot(), env.variant)
        assert batch._replace(tables=()) == alone._replace(tables=())
        assert [sorted(table) for table in batch.tables] == [sorted(table) for table in alone.tables]
