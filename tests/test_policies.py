"""`as_agent`: what is made of models, modules and functions plays as they do, wherever agents play."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper, VecNormalize

from examples.own_agent import Wary
from getbit_env import Agent, as_agent, load_agent, parse_variant
from getbit_env.agent_registry import check_agents, content_digest, is_code
from getbit_env.exact import Positions, exploitability
from getbit_env.exact.best_response import AgentError
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit import Options
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.match import play_match
from getbit_env.network import RecurrentNetworkAgent
from getbit_env.policies import TOLERANCE, PolicyAgent, sampled_observations, sampled_play
from getbit_env.sb3 import GetBitVecEnv, MaskableRecurrentPPO, network_of
from getbit_env.sb3.sharks_are_wild import SharksAreWildVecEnv

SMALL = "3p-1r-4c-1l"  # its positions are numbered in no time
ON_POLICY = {"n_steps": 16, "batch_size": 64, "learning_rate": 1e-2}
OFF_POLICY = {"buffer_size": 2000, "learning_starts": 64, "learning_rate": 1e-2}
ALGORITHMS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "PPO": (PPO, "MlpPolicy", ON_POLICY),
    "A2C": (A2C, "MlpPolicy", {"learning_rate": 1e-2}),
    "MaskablePPO": (MaskablePPO, "MlpPolicy", ON_POLICY),
    "DQN": (DQN, "MlpPolicy", OFF_POLICY),
    "QRDQN": (QRDQN, "MlpPolicy", OFF_POLICY),
    "RecurrentPPO": (RecurrentPPO, "MlpLstmPolicy", {**ON_POLICY, "policy_kwargs": {"lstm_hidden_size": 16}}),
    "MaskableRecurrentPPO": (MaskableRecurrentPPO, "MlpLstmPolicy", {**ON_POLICY, "policy_kwargs": {"lstm_hidden_size": 16}}),
}
RECURRENT = ("RecurrentPPO", "MaskableRecurrentPPO")
MEMORYLESS = [name for name in ALGORITHMS if name not in RECURRENT]
GREEDY = ("DQN", "QRDQN")


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def trained(algorithm: str, env: Any = None, timesteps: int = 384, policy: str | None = None, **options: Any) -> Any:
    make, usual_policy, defaults = ALGORITHMS[algorithm]
    env = GetBitVecEnv(8, "random", variant=SMALL, seed=1) if env is None else env
    return make(policy or usual_policy, env, seed=0, device="cpu", **{**defaults, **options}).learn(timesteps)


def layout_for(variant: str, **options: bool) -> Any:
    chosen = find_variant(variant)
    game = game_of(chosen)
    return game.make_layout(chosen, game.options(**options))


def expected(model: Any, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """What a memoryless model says, by its own functions, of what it is shown: masked afterwards."""
    with torch.no_grad():
        tensor, _ = model.policy.obs_to_tensor(observation)
        if hasattr(model.policy, "q_net"):
            scores = model.policy.q_net(tensor).numpy()
        elif hasattr(model.policy, "quantile_net"):
            scores = model.policy.quantile_net(tensor).numpy().mean(axis=1)
        else:
            probabilities = model.policy.get_distribution(tensor).distribution.probs.numpy() * mask
            return probabilities / probabilities.sum(axis=1, keepdims=True)
    return np.eye(mask.shape[1])[np.where(mask > 0, scores, -np.inf).argmax(axis=1)]


def assert_alike(got: np.ndarray, wanted: np.ndarray, greedy: bool) -> None:
    apart = np.abs(got - wanted).max(axis=1) > TOLERANCE
    assert apart.mean() <= (0.01 if greedy else 0)  # the best two actions of a row can be worth the same, but for rounding
    assert np.ptp(got, axis=0).max() > 0.01, "a policy that answers all alike would show little"


# --- models --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", MEMORYLESS)
def test_a_model_and_its_file_play_as_the_model(algorithm: str, tmp_path: Path) -> None:
    model = trained(algorithm)
    model.save(tmp_path / "model")
    observation, mask = sampled_observations(layout_for(SMALL), seed=7)
    wanted = expected(model, observation, mask)
    for made in (as_agent(model), as_agent(tmp_path / "model.zip"), load_agent(f"sb3:{tmp_path / 'model'}")):
        made.reset(layout_for(SMALL), np.ones(len(mask), bool), 0)
        assert_alike(made.probabilities(observation, mask), wanted, algorithm in GREEDY)
        assert made.deterministic is (algorithm in GREEDY)
        actions = made.act(observation, mask)
        assert mask[np.arange(len(mask)), actions].all()
    best = as_agent(model, deterministic=True)
    one_hot = best.probabilities(observation, mask)
    assert (one_hot.max(axis=1) == 1).all()
    assert_alike(one_hot, np.eye(mask.shape[1])[wanted.argmax(axis=1)], True)
    assert as_agent(model).name == algorithm
    assert as_agent(tmp_path / "model.zip").name == "model"


@pytest.mark.parametrize("algorithm", ["MaskablePPO", "DQN", *RECURRENT])
def test_it_is_an_agent_wherever_agents_play(algorithm: str, tmp_path: Path) -> None:
    model = trained(algorithm)
    path = tmp_path / "model.zip"
    model.save(path)
    agent = as_agent(model)
    results = [play_match([one, "random", "lowest"], SMALL, starts=24, seed=3) for one in (agent, str(path), f"sb3:{path}", path)]
    assert len({result[0].win.mean for result in results}) == 1
    assert all(result.failure is None for result in results)
    env = GetBitVecEnv(4, [str(path), agent], variant=SMALL, seed=0)
    env.reset()
    for _ in range(20):
        env.step(env.action_masks().argmax(axis=1))
    positions = Positions(parse_variant(SMALL))
    if algorithm in RECURRENT:
        with pytest.raises(AgentError, match="mine has no `probabilities`"):
            exploitability(agent, positions, name="mine")
    else:
        assert exploitability(agent, positions).gain == pytest.approx(exploitability(as_agent(path), positions).gain, abs=1e-6)


def test_a_copy_plays_on_when_the_model_is_trained_on() -> None:
    model = trained("PPO")
    agent = as_agent(model)
    observation, mask = sampled_observations(layout_for(SMALL))
    before = agent.probabilities(observation, mask)
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert np.array_equal(twin.probabilities(observation, mask), before)
    model.learn(384)
    assert np.array_equal(agent.probabilities(observation, mask), before)
    assert np.abs(as_agent(model).probabilities(observation, mask) - before).max() > 1e-3


class Wide(BaseFeaturesExtractor):
    """Features of one's own, with parts that differ between training and play."""

    def __init__(self, observation_space: Any, features_dim: int = 24) -> None:
        super().__init__(observation_space, features_dim)
        size = int(observation_space.shape[0])
        self.net = torch.nn.Sequential(
            torch.nn.Linear(size, features_dim), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(features_dim)
        )

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.net(observations)
        return made


@pytest.mark.parametrize(
    ("algorithm", "policy_kwargs"),
    [
        ("PPO", {"net_arch": {"pi": [8, 8, 8], "vf": []}, "activation_fn": torch.nn.GELU}),
        ("MaskablePPO", {"net_arch": [], "features_extractor_class": Wide}),
        ("A2C", {"features_extractor_class": Wide, "share_features_extractor": False, "activation_fn": torch.nn.ReLU}),
        ("DQN", {"features_extractor_class": Wide, "features_extractor_kwargs": {"features_dim": 12}, "net_arch": [9]}),
        ("QRDQN", {"n_quantiles": 7, "net_arch": [9, 4], "activation_fn": torch.nn.Tanh}),
    ],
    ids=str,
)
def test_any_architecture(algorithm: str, policy_kwargs: dict[str, Any], tmp_path: Path) -> None:
    model = trained(algorithm, policy_kwargs=policy_kwargs)
    model.save(tmp_path / "model")
    observation, mask = sampled_observations(layout_for(SMALL), seed=7)
    agents = [as_agent(model), as_agent(tmp_path / "model.zip", variant=SMALL)]
    model.policy.set_training_mode(False)
    wanted = expected(model, observation, mask)
    for agent in agents:
        assert_alike(agent.probabilities(observation, mask), wanted, algorithm in GREEDY)


class WithMask(gymnasium.ObservationWrapper):
    """Shows the dict that the PettingZoo environments show."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        mask = spaces.Box(0, 1, (int(env.action_space.n),), np.int8)
        self.observation_space = spaces.Dict({"observation": env.observation_space, "action_mask": mask})

    def observation(self, observation: Any) -> Any:
        return {"observation": observation, "action_mask": self.env.unwrapped.action_masks().astype(np.int8)}


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("algorithm", ["PPO", "DQN", "RecurrentPPO"])
def test_a_model_of_dicts(algorithm: str, normalized: bool, tmp_path: Path) -> None:
    def make() -> Any:
        return WithMask(gymnasium.make("getbit_env:getbit/GetBit-v0", variant=SMALL, disable_env_checker=True))

    env: Any = DummyVecEnv([make] * 4)
    if normalized:
        env = VecNormalize(env)
    policy = "MultiInputLstmPolicy" if algorithm == "RecurrentPPO" else "MultiInputPolicy"
    model = trained(algorithm, env, policy=policy)
    model.save(tmp_path / "model")
    if normalized:
        env.save(tmp_path / "model_vecnormalize.pkl")
    agents = [as_agent(model), as_agent(tmp_path / "model.zip")]
    if algorithm != "RecurrentPPO":
        observation, mask = sampled_observations(layout_for(SMALL), seed=7)
        given = {"observation": observation.copy(), "action_mask": mask.copy()}
        wanted = expected(model, env.normalize_obs(given) if normalized else given, mask)
        agents[1].reset(layout_for(SMALL), np.ones(1, bool), 0)
        for agent in agents:
            assert_alike(agent.probabilities(observation, mask), wanted, algorithm in GREEDY)
    wins = {play_match([agent, "random", "lowest"], SMALL, starts=24)[0].win.mean for agent in agents}
    assert len(wins) == 1


# --- VecNormalize --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", MEMORYLESS)
def test_vec_normalize_is_folded_in(algorithm: str, tmp_path: Path) -> None:
    env = VecNormalize(GetBitVecEnv(8, "random", variant=SMALL, seed=1), clip_obs=2.0)
    model = trained(algorithm, env)
    model.save(tmp_path / "model")
    observation, mask = sampled_observations(layout_for(SMALL), seed=7)
    wanted = expected(model, env.normalize_obs(observation), mask)
    assert np.abs(expected(model, observation, mask) - wanted).max() > 0.01, "without it the model plays differently"
    env.save(tmp_path / "elsewhere.pkl")
    agents = [
        as_agent(model),
        as_agent(tmp_path / "model.zip", normalize=env, variant=SMALL),
        as_agent(tmp_path / "model.zip", normalize=tmp_path / "elsewhere.pkl", variant=SMALL),
        as_agent(tmp_path / "model.zip", env=env),
    ]
    for beside in ("model_vecnormalize.pkl", "model.vecnormalize.pkl", "vecnormalize.pkl", "vec_normalize.pkl"):
        env.save(tmp_path / beside)
        agents.append(as_agent(tmp_path / "model.zip", variant=SMALL))
        (tmp_path / beside).unlink()
    for agent in agents:
        assert_alike(agent.probabilities(observation, mask), wanted, algorithm in GREEDY)


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_a_model_of_normalized_observations_is_refused_without(algorithm: str, tmp_path: Path) -> None:
    env = VecNormalize(GetBitVecEnv(8, "random", variant=SMALL, seed=1))
    model = trained(algorithm, env)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"other observations than the game shows: give its VecNormalize.*model_vecnormalize\.pkl"):
        as_agent(tmp_path / "model.zip")
    other = VecNormalize(GetBitVecEnv(8, "random", variant=SMALL, seed=1, seat=0))
    for _ in range(3):  # hardly any statistics
        other.reset()
    with pytest.raises(ValueError, match=r"with another VecNormalize than the given one, .* away from the zeros and ones"):
        as_agent(tmp_path / "model.zip", normalize=other)
    raw = trained(algorithm)
    with pytest.raises(ValueError, match="as the game shows them, which the given VecNormalize would change"):
        as_agent(raw, normalize=env)
    raw.save(tmp_path / "raw")
    env.save(tmp_path / "vecnormalize.pkl")  # of the other model in this folder
    assert as_agent(tmp_path / "raw.zip").name == "raw"


def test_checkpoints_of_stable_baselines3_are_found_with_their_normalization(tmp_path: Path) -> None:
    env = VecNormalize(GetBitVecEnv(8, "random", variant=SMALL, seed=1))
    keeping = CheckpointCallback(16, str(tmp_path), name_prefix="mine", save_vecnormalize=True)
    model = PPO("MlpPolicy", env, seed=0, device="cpu", **ON_POLICY).learn(256, callback=keeping)
    agent = as_agent(tmp_path / "mine_256_steps.zip", variant=SMALL)
    assert np.isfinite(agent.probabilities(*sampled_observations(layout_for(SMALL)))).all()
    assert model.num_timesteps == 256


# --- recurrent -----------------------------------------------------------------------------------------------------------------


def likeliest(agent: Any) -> Any:
    """The agent with its likeliest actions: what is exported draws them, so its last layer is made sharp."""
    if not isinstance(agent, RecurrentNetworkAgent):
        agent.deterministic = True
        return agent
    sharp = [*agent.layers[:-1], tuple(1e4 * part for part in agent.layers[-1])]
    return RecurrentNetworkAgent(agent.lstm, sharp, agent.variant, agent.options, activation=agent.activation)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("algorithm", RECURRENT)
@pytest.mark.parametrize("export", [as_agent, network_of])
def test_a_recurrent_model_remembers_a_game_and_forgets_it_at_the_next(export: Any, algorithm: str, normalized: bool) -> None:
    """Against the model's own `predict`, in the games of a `VecEnv` that begin anew at different times."""
    env: Any = GetBitVecEnv(6, "random", variant=SMALL, seed=4)
    if normalized:
        env = VecNormalize(env)
    model = trained(algorithm, env, timesteps=600)
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in [*model.policy.lstm_actor.parameters(), *model.policy.action_net.parameters()]:
            weight.normal_()  # so that states matter more than in a new network
    agent = likeliest(export(model))
    raw = GetBitVecEnv(6, "random", variant=SMALL, seed=9)
    seen, state, starts = raw.reset(), None, np.ones(6, bool)
    forgetting = likeliest(export(model))
    agent.reset(raw.layout, starts, 0)
    forgetting.reset(raw.layout, starts, 0)
    differs = 0
    for _ in range(60):
        masks = raw.action_masks().astype(np.int8)
        shown = env.normalize_obs(seen) if normalized else seen
        wanted, state = model.predict(shown, state=state, episode_start=starts, deterministic=True)
        legal = masks[np.arange(6), wanted] > 0
        got = agent.act(seen, masks)
        assert np.array_equal(got[legal], wanted[legal])
        forgetting.reset(raw.layout, np.ones(6, bool), None)
        differs += int((forgetting.act(seen, masks) != got).sum())
        seen, _, starts, _ = raw.step(got)
        agent.reset(raw.layout, starts, None)
    assert differs, "what it plays depends on what it saw before"
    assert getattr(agent, "probabilities", None) is None


class Pickled(BaseCallback):
    """Keeps the model as an agent at the end of each rollout, and what it plays in a match."""

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.kept = pickle.dumps(as_agent(self.model))


def test_a_callback_can_keep_a_recurrent_model_in_the_middle_of_a_rollout() -> None:
    callback = Pickled()
    trained("MaskableRecurrentPPO", timesteps=0).learn(128, callback=callback)
    assert play_match([pickle.loads(callback.kept), "random", "random"], SMALL, starts=24).failure is None


def test_a_recurrent_model_that_has_nothing_to_choose_learns_nothing_from_it() -> None:
    """Rows of zeros, as of players who wait for their turn, leave the state as it is."""
    env = SharksAreWildVecEnv(4, "sharks-random", variant="sharks-2p-level1", seed=1)
    model = trained("RecurrentPPO", env)
    layout = env.layout
    observation, mask = sampled_observations(layout)
    one, two = as_agent(model, deterministic=True), as_agent(model, deterministic=True)
    for agent in (one, two):
        agent.reset(layout, np.ones(1, bool), 0)
    nothing = np.zeros((1, layout.size), np.float32), np.ones((1, layout.variant.actions), np.int8)
    for k in range(20):
        two.act(*nothing)
        assert one.act(observation[k : k + 1], mask[k : k + 1]) == two.act(observation[k : k + 1], mask[k : k + 1])


# --- what can't be made an agent ----------------------------------------------------------------------------------------------


class Doubled(VecEnvWrapper):
    """Shows twice of everything."""

    def reset(self) -> Any:
        return 2 * self.venv.reset()  # type: ignore[operator]

    def step_wait(self) -> Any:
        seen, *rest = self.venv.step_wait()
        return 2 * seen, *rest  # type: ignore[operator]


class Backwards(VecEnvWrapper):
    """Shows the entries in another order: zeros and ones, as the game does."""

    def reset(self) -> Any:
        return self.venv.reset()[:, ::-1].copy()  # type: ignore[call-overload]

    def step_wait(self) -> Any:
        seen, *rest = self.venv.step_wait()
        return seen[:, ::-1].copy(), *rest  # type: ignore[call-overload]


class BackwardsOne(gymnasium.ObservationWrapper):
    """The same around one game."""

    def observation(self, observation: Any) -> Any:
        return observation[::-1].copy()


@pytest.mark.parametrize("algorithm", ["PPO", "DQN", "RecurrentPPO"])
@pytest.mark.parametrize("normalized", [False, True])
def test_zeros_and_ones_that_are_not_those_of_the_game_are_refused(normalized: bool, algorithm: str) -> None:
    many = Backwards(GetBitVecEnv(4, "random", variant=SMALL, seed=1))
    single = make_vec_env("getbit_env:getbit/GetBit-v0", 4, env_kwargs={"variant": SMALL}, wrapper_class=BackwardsOne)
    for env, name in ((many, "Backwards"), (single, "BackwardsOne")):
        model = trained(algorithm, VecNormalize(env) if normalized else env, timesteps=128)
        with pytest.raises(ValueError, match=f"other observations than the game shows, through {name};"):
            as_agent(model)
        if algorithm == "PPO":
            with pytest.raises(ValueError, match=f"other observations than the game shows, through {name};"):
                network_of(model)


def test_models_that_play_something_else_are_refused() -> None:
    env = GetBitVecEnv(8, "random", variant=SMALL, seed=1)
    with pytest.raises(ValueError, match="other observations than the game shows, through Doubled"):
        as_agent(trained("PPO", Doubled(env)))
    with pytest.raises(ValueError, match="VecNormalize twice"):
        as_agent(trained("PPO", VecNormalize(VecNormalize(env))))
    with pytest.raises(ValueError, match="SAC has the actions Box"):
        as_agent(SAC("MlpPolicy", "Pendulum-v1", device="cpu", buffer_size=10))
    cart = PPO("MlpPolicy", "CartPole-v1", device="cpu")
    with pytest.raises(ValueError, match=r"the environment of PPO is none of this package: name the game, variant="):
        as_agent(cart)
    with pytest.raises(ValueError, match="PPO reads 4 entries and has 2 actions; 4p has 5 and shows 41, or 53 to 649 with options"):
        as_agent(cart, variant="4p")


def test_a_policy_that_is_not_what_it_says_is_refused_with_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check: something between observation and action that a copy does not have."""
    model = trained("PPO")
    with monkeypatch.context() as patch:
        patch.setattr(model.policy, "_predict", lambda seen, deterministic=False: torch.zeros(len(seen), dtype=torch.int64))  # noqa: ARG005
        with pytest.raises(ValueError, match=r"plays differently from the policy, by up to 0\.\d+ where 1e-05 is allowed"):
            as_agent(model)
    from getbit_env.sb3 import models

    scale = 1 + 4 * TOLERANCE
    with monkeypatch.context() as patch:
        patch.setattr(models.Shown, "__call__", lambda self, observation, mask: scale * observation + 0.01)  # noqa: ARG005
        with pytest.raises(ValueError, match=r"plays differently from the policy, by up to [\d.e-]+ where 1e-05 is allowed"):
            as_agent(model)
    assert as_agent(model)


def test_the_export_without_torch_is_held_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained("PPO")
    from getbit_env.sb3 import models

    layers = models._layers

    def slightly_off(of: Any) -> Any:
        (*first, (weight, bias)), activation = layers(of)
        return [*first, (weight, bias + np.float32(1e-4) * np.arange(len(bias), dtype=np.float32))], activation

    monkeypatch.setattr(models, "_layers", slightly_off)
    with pytest.raises(ValueError, match=r"by up to \d\.?\d*e-05 where 1e-05 is allowed"):
        network_of(model)


def test_files_that_are_no_models_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    for name, message in [("text.zip", "holds no model that can be played"), ("none.zip", "there is no such file")]:
        for load in (as_agent, load_agent):
            with pytest.raises(ValueError, match=message) as caught:
                load(str(tmp_path / name))
            assert "\n" not in str(caught.value)
    SAC("MlpPolicy", "Pendulum-v1", device="cpu", buffer_size=10).save(tmp_path / "sac")
    with pytest.raises(
        ValueError,
        match="it holds a SACPolicy; policies of PPO, A2C, DQN, MaskablePPO, QRDQN, RecurrentPPO and MaskableRecurrentPPO",
    ):
        as_agent(tmp_path / "sac.zip")
    model = trained("PPO")
    for given, message in [(tmp_path / "none.pkl", "there is no file"), (tmp_path / "text.zip", "can't be unpickled")]:
        with pytest.raises(ValueError, match=message):
            as_agent(model.policy, normalize=given)
    (tmp_path / "list.pkl").write_bytes(pickle.dumps([1]))
    with pytest.raises(ValueError, match="holds a list, not a VecNormalize"):
        as_agent(model.policy, normalize=tmp_path / "list.pkl")


@pytest.mark.parametrize("around", ["", "sb3:", "recall:", "recall:sb3:"])
def test_a_name_from_a_file_unpickles_nothing(around: str, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "mark",)

    model = trained("PPO")
    model.trap = Trap()
    model.save(tmp_path / "model")
    name = f"{around}{tmp_path / 'model.zip'}"
    with pytest.raises(ValueError, match=r"is code, and names that come out of a file run none: .* unpickled"):
        load_agent(name, modules=False)
    assert not (tmp_path / "mark").exists()
    assert is_code(name)
    load_agent(name)
    assert (tmp_path / "mark").exists(), "else the test shows nothing"


def test_the_content_of_a_model_is_its_file_and_the_normalization_beside_it(tmp_path: Path) -> None:
    env = VecNormalize(GetBitVecEnv(8, "random", variant=SMALL, seed=1))
    trained("PPO", env).save(tmp_path / "model")
    variant, name = parse_variant(SMALL), str(tmp_path / "model.zip")
    first = content_digest(name, variant)
    env.save(tmp_path / "model_vecnormalize.pkl")
    assert content_digest(name, variant) not in (None, first)
    assert content_digest(f"sb3:{tmp_path / 'model'}", variant) == content_digest(name, variant)


# --- which game ----------------------------------------------------------------------------------------------------------------


def test_options_are_those_that_fit_the_size(tmp_path: Path) -> None:
    env = GetBitVecEnv(8, "random", variant=SMALL, seed=1, history=True)
    model = trained("PPO", env)
    model.save(tmp_path / "model")
    agent = as_agent(tmp_path / "model.zip")
    assert check_agents({"mine": agent}, parse_variant(SMALL))["mine"] == Options(history=True)
    assert play_match([agent, "random", "random"], SMALL, starts=12).failure is None
    assert as_agent(model).options == Options(history=True)
    assert as_agent(tmp_path / "model.zip", variant=SMALL).options == Options(history=True)
    with pytest.raises(ValueError, match=r"model reads \d+ entries and has 4 actions; 4p has 5 and shows 41, or \d+ to"):
        play_match([agent, "random", "random", "random"], "4p", starts=12)
    with pytest.raises(ValueError, match=r"PPO reads 3p-1r-4c-1l with Options\(.*history=True\), not 3p-1r-4c-1l with"):
        as_agent(model).reset(layout_for(SMALL), np.ones(1, bool), 0)
    with pytest.raises(AgentError, match="looks at more than the position"):
        exploitability(as_agent(model), Positions(parse_variant(SMALL)))


def test_perfect_recall_goes_around_it(tmp_path: Path) -> None:
    model = trained("PPO", GetBitVecEnv(8, "random", variant="3p-1r-4c-1l", seed=1))
    model.save(tmp_path / "model")
    memory = f"{SMALL}-memory"
    agent = load_agent(f"recall:{tmp_path / 'model.zip'}")
    assert isinstance(agent, PerfectRecall)
    assert play_match([agent, "random", "random"], memory, starts=12).failure is None
    with pytest.raises(ValueError, match="reads 3p-1r-4c-1l with"):
        play_match([as_agent(model), "random", "random"], memory, starts=12)


# --- modules and functions -----------------------------------------------------------------------------------------------------


def test_a_torch_module_is_played_by_its_logits() -> None:
    torch.manual_seed(0)
    layout = layout_for(SMALL)
    module = torch.nn.Sequential(torch.nn.Linear(layout.size, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, layout.variant.actions))
    observation, mask = sampled_observations(layout, seed=7)
    with torch.no_grad():
        logits = module.eval()(torch.tensor(observation)).numpy()
    module.train()
    wanted = np.exp(logits) * mask
    wanted /= wanted.sum(axis=1, keepdims=True)
    agent = as_agent(module, variant=SMALL)
    assert np.abs(agent.probabilities(observation, mask) - wanted).max() < TOLERANCE
    assert module.training, "the module itself is left as it is"
    assert play_match([as_agent(module), "random", "random"], SMALL, starts=12).failure is None
    with pytest.raises(ValueError, match=r"Linear can't be asked about observations of 3p-1r-4c-1l: mat1 and mat2"):
        as_agent(torch.nn.Linear(3, 4), variant=SMALL)
    with pytest.raises(ValueError, match=r"answers with logits of shape \[512, 9\], not \[512, 4\]"):
        as_agent(torch.nn.Linear(layout.size, 9), variant=SMALL)
    with pytest.raises(ValueError, match=r"returns a tuple, not a tensor of logits"):
        as_agent(torch.nn.LSTM(layout.size, 4), variant=SMALL)
    with torch.no_grad():
        module[2].bias[0] = torch.nan
    with pytest.raises(ValueError, match="answers with logits that are NaN or infinite"):
        as_agent(module, variant=SMALL)


def uniform(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG001
    return mask / mask.sum(axis=1, keepdims=True)


def highest(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG001
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)


def test_plain_functions_are_the_bots_that_they_describe() -> None:
    positions = Positions(parse_variant(SMALL))
    for function, bot in ((uniform, "random"), (highest, "highest")):
        agent = as_agent(function)
        assert agent.name == function.__name__
        assert exploitability(agent, positions).gain == pytest.approx(exploitability(load_agent(bot), positions).gain, abs=1e-9)
    as_drawn, as_it_is = (play_match([one, "lowest", "lowest"], SMALL, starts=24) for one in (as_agent(highest), "highest"))
    assert as_drawn.exact
    assert as_drawn[0].win == as_it_is[0].win
    sharks = play_match([as_agent(uniform), "sharks-greedy"], "sharks-2p-level2", starts=24)
    assert sharks.failure is None


def drawing(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG001
    return (np.random.default_rng().random(mask.shape) * mask).argmax(axis=1)


def by_batch(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
    weight = mask * np.linspace(1, 1 + observation.mean(), mask.shape[1])
    return weight / weight.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (drawing, "drawing answers the same observations differently, by 1 where 1e-05 is allowed"),
        (by_batch, "by_batch answers the same observations differently, by"),
        (lambda _, mask: mask.astype(float), "<lambda> answers with no distribution"),
        (lambda _, mask: np.full(mask.shape, 1 / mask.shape[1]), "a distribution over illegal actions as well"),
        (lambda _, mask: np.full(len(mask), 3), r"<lambda> plays 3; legal are \["),
        (lambda _, mask: np.full(len(mask), -1), r"<lambda> plays -1; legal are \["),
        (lambda _, mask: mask.argmax(), r"floats \[512, 4\], or actions, whole numbers \[512\]; it returned int64 \[\]"),
        (lambda _: 0, "can't be asked about observations of 3p-1r-4c-1l: .*positional argument"),
    ],
)
def test_functions_that_are_no_policies_are_refused(function: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_agent(function, variant=SMALL)
    with pytest.raises(ValueError, match=message):
        play_match([as_agent(function), "random", "random"], SMALL, starts=4)


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        (3, {}, TypeError, "a policy is a model of Stable-Baselines3 or the path of its .zip, a torch module, a function"),
        (PPO, {}, TypeError, "a policy is a model"),
        ("random", {"deterministic": True}, ValueError, "an agent plays as it is"),
        ("rando", {}, ValueError, "no agent 'rando'; did you mean 'random'"),
        (uniform, {"normalize": "x.pkl"}, ValueError, "normalize belongs to a model of Stable-Baselines3"),
        (uniform, {"options": Options()}, ValueError, "options are those of a variant: give variant as well"),
        (uniform, {"variant": "sharks-2p-level1", "options": Options()}, ValueError, "options of Sharks are Wild are"),
        (uniform, {"env": 3}, TypeError, "env is an environment of this package"),
        (uniform, {"env": GetBitVecEnv(1), "variant": "4p"}, ValueError, "give env, or variant and options, and not both"),
    ],
)
def test_nonsense_is_refused(given: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message) if "'" not in message else message):
        as_agent(given, **options)


def test_the_message_for_agents_without_probabilities_names_the_way() -> None:
    recurrent = as_agent(trained("RecurrentPPO"), deterministic=True)
    for agent in (load_agent("montecarlo"), recurrent):
        with pytest.raises(AgentError, match=r"has no `probabilities`.*If it does, give it .*`getbit_env\.as_agent\(function\)`"):
            exploitability(agent, Positions(parse_variant(SMALL)))


def test_deterministic_agents_are_judged_as_they_are() -> None:
    """Without `probabilities`, by what they play; unless they remember something, which shows when they are asked again."""
    positions = Positions(parse_variant(SMALL))
    own = exploitability(Wary(), positions, name="Wary")
    highest_of_all = as_agent(lambda seen, mask: wary(seen, mask), variant=SMALL)
    assert own.gain == pytest.approx(exploitability(highest_of_all, positions).gain, abs=1e-12)
    assert exploitability(as_agent(Wary()), positions).gain == own.gain
    assert 0 < own.gain < 1

    class Alternating(Wary):
        """Plays its highest or its lowest card, in turns."""

        turn = 0

        def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
            self.turn += 1
            return highest(observation, action_mask) if self.turn % 2 else action_mask.argmax(axis=1)

    class Outside(Wary):
        def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
            return np.full(len(action_mask), 9)

    for agent, message in ((Alternating(), "answers the same question differently"), (Outside(), "not an action each")):
        with pytest.raises(AgentError, match=message):
            exploitability(agent, positions)


def wary(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
    agent = Wary()
    agent.reset(layout_for(SMALL), np.ones(len(mask), bool), 0)
    return agent.act(observation, mask)


def test_what_is_sampled_is_play() -> None:
    """Every player is seen, games begin anew, and in a game of turns one player chooses at a time."""
    for variant in (SMALL, "sharks-2p-level2"):
        layout = layout_for(variant)
        begun = 0
        for observation, mask, begins in sampled_play(layout):
            chooses = observation.any(axis=1).reshape(-1, layout.variant.players)
            begun += int(begins.sum())
            assert (mask[observation.any(axis=1)].sum(axis=1) > 0).all()
            if variant.startswith("sharks"):
                assert (chooses.sum(axis=1) == 1).all()
        assert begun > len(begins)


def test_an_agent_of_a_gymnasium_environment() -> None:
    model = trained("PPO", make_vec_env("getbit_env:getbit/SharksAreWild-v0", 4, env_kwargs={"variant": "sharks-2p-level1"}))
    agent = as_agent(model)
    assert isinstance(agent, Agent)
    assert isinstance(agent, PolicyAgent)
    assert play_match([agent, "sharks-random"], "sharks-2p-level1", starts=12).failure is None
