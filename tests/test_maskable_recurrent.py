"""`MaskableRecurrentPPO`: masks, states, gradients through time, files; with environments that this package knows nothing of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from getbit_env.sb3 import MaskableRecurrentPPO, WithMasks

CUES, DELAY = 2, 3


class Remember(gymnasium.Env[Any, Any]):
    """Shows a cue, then nothing for some steps; whoever plays the cue in the last one is paid. Illegal actions raise."""

    action_space: Any = spaces.Discrete(CUES + 2)

    def __init__(self, kind: str = "vector", delay: int = DELAY) -> None:
        shape = {"vector": (CUES,), "image": (3, 36, 36)}.get(kind)
        self.kind, self.delay = kind, delay
        box = spaces.Box(0, 1, (CUES,), np.float32) if kind != "image" else spaces.Box(0, 255, shape, np.uint8)
        self.observation_space = spaces.Dict({"cue": box, "nothing": box}) if kind == "dict" else box
        if kind == "multi":
            self.action_space = spaces.MultiDiscrete([CUES + 2, 3])
        if kind == "binary":
            self.action_space = spaces.MultiBinary(2)

    def action_masks(self) -> NDArray[np.bool_]:
        """Cues at the end, what is none before."""
        over = self.step_number == self.delay
        if self.kind == "binary":
            return np.array([True, over, over, True])
        mask = np.array([over] * CUES + [not over, False])
        return np.concatenate([mask, [over, not over, False]]) if self.kind == "multi" else mask

    def _see(self) -> Any:
        shown = np.zeros(CUES, np.float32)
        if self.step_number == 0:
            shown[self.cue] = 1
        if self.kind == "image":
            return np.broadcast_to(np.uint8(255 * shown[0]), (3, 36, 36)).copy()
        return {"cue": shown, "nothing": np.zeros_like(shown)} if self.kind == "dict" else shown

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin with a cue that is drawn."""
        super().reset(seed=seed, options=options)
        self.step_number, self.cue = 0, int(self.np_random.integers(CUES))
        return self._see(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Check what is played."""
        played = np.atleast_1d(action)
        sizes = {"multi": [CUES + 2, 3], "binary": [2, 2]}.get(self.kind, [CUES + 2])
        masks = np.split(self.action_masks(), np.cumsum(sizes)[:-1])
        assert all(mask[one] for mask, one in zip(masks, played, strict=True)), f"{action} is illegal"
        over = self.step_number == self.delay
        self.step_number += 1
        return self._see(), float(over and played[0] == self.cue), over, False, {}


class AllLegal(Remember):
    """The same, where every action is legal."""

    def action_masks(self) -> NDArray[np.bool_]:
        """All."""
        return np.ones(CUES + 2, np.bool_)


def games(kind: str = "vector", number: int = 8, *, delay: int = DELAY) -> DummyVecEnv:
    """Games whose lengths differ, so that they begin anew at different times."""
    env = DummyVecEnv([lambda k=k: Remember(kind, delay + k % 2) for k in range(number)])  # type: ignore[misc]
    env.seed(0)
    return env


def model_of(env: VecEnv | None = None, policy: str = "MlpLstmPolicy", **options: Any) -> MaskableRecurrentPPO:
    """A small model."""
    kwargs = {"lstm_hidden_size": 16, "net_arch": [16], **options.pop("policy_kwargs", {})}
    settings: dict[str, Any] = {"n_steps": 16, "batch_size": 32, "n_epochs": 2, "seed": 0, "device": "cpu", **options}
    return MaskableRecurrentPPO(policy, env or games(), policy_kwargs=kwargs, **settings)


# --- masks ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "policy"),
    [
        ("vector", "MlpLstmPolicy"),
        ("image", "CnnLstmPolicy"),
        ("dict", "MultiInputLstmPolicy"),
        ("multi", "MlpLstmPolicy"),
        ("binary", "MlpLstmPolicy"),
    ],
)
def test_training_plays_legal_actions_only(kind: str, policy: str) -> None:
    """`Remember.step` raises at an illegal one, and most actions are illegal."""
    model = model_of(games(kind), policy).learn(256)
    assert model.num_timesteps == 256


def test_without_masks_it_plays_illegal_actions() -> None:
    with pytest.raises(AssertionError, match="is illegal"):
        model_of().learn(256, use_masking=False)


class Kept(BaseCallback):
    """What was seen of the rollout by the environment."""

    def __init__(self) -> None:
        super().__init__()
        self.masks: list[Any] = []

    def _on_rollout_start(self) -> None:
        self.masks.append(np.stack(self.training_env.env_method("action_masks")))

    def _on_step(self) -> bool:
        self.masks.append(np.stack(self.training_env.env_method("action_masks")))
        return True


def test_the_buffer_holds_the_masks_under_which_actions_were_chosen() -> None:
    model, kept = model_of(), Kept()
    model._setup_learn(64, kept)
    model.collect_rollouts(model.env, kept, model.rollout_buffer, 16)
    buffer: Any = model.rollout_buffer
    np.testing.assert_array_equal(buffer.action_masks, np.stack(kept.masks)[:-1])
    assert not model.policy._forward_pre_hooks  # nothing is left of the rollout


@pytest.mark.parametrize("kind", ["vector", "dict"])
def test_minibatches_say_what_the_rollout_said(kind: str) -> None:
    """Values, and log probabilities under the masks, of the policy that played; over sequences, padding left out."""
    model = model_of(games(kind), "MultiInputLstmPolicy" if kind == "dict" else "MlpLstmPolicy")
    _, callback = model._setup_learn(64, None)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 16)
    seen = 0
    for batch in model.rollout_buffer.get(48):
        real = batch.mask > 0.5
        assert not real.all()
        masks = batch.lstm_states.action_masks  # type: ignore[attr-defined]  # `MaskedStates`
        with torch.no_grad():
            value, log_prob, entropy = model.policy.evaluate_actions(
                batch.observations, batch.actions.long().flatten(), batch.lstm_states, batch.episode_starts
            )
        torch.testing.assert_close(log_prob[real], batch.old_log_prob[real], atol=1e-5, rtol=0)
        torch.testing.assert_close(value.flatten()[real], batch.old_values[real], atol=1e-5, rtol=0)
        assert torch.equal(entropy[real] < 1e-6, masks[real].sum(1) == 1)  # where one action is legal, it is certain
        assert (masks[~real] == 1).all()
        assert torch.isfinite(log_prob).all()
        seen += int(real.sum())
    assert seen == 8 * 16


def test_an_environment_without_masks_is_refused() -> None:
    model = model_of(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]))
    with pytest.raises(ValueError, match=r"no method action_masks: wrap it in sb3_contrib\.common\.wrappers\.ActionMasker"):
        model.learn(16)
    assert model.learn(16, use_masking=False).num_timesteps == 16


def test_what_has_no_masks_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Discrete, MultiDiscrete"):
        model_of(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
    with pytest.raises(ValueError, match="subclass of MaskableRecurrentActorCriticPolicy, not RecurrentActorCriticPolicy"):
        MaskableRecurrentPPO(RecurrentActorCriticPolicy, games(), device="cpu")


# --- states --------------------------------------------------------------------------------------------------------------------


def test_sequences_in_one_call_are_sequences_step_by_step() -> None:
    """`_process_sequence` against sb3-contrib's, which takes a step at a time; resets at the first step, and in the middle."""
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(3, 5)
    features, states = torch.randn(4 * 6, 3), (torch.randn(1, 4, 5), torch.randn(1, 4, 5))
    for middle in (False, True):
        starts = torch.zeros(4, 6)
        starts[:2, 0] = 1
        starts[3, 2] = float(middle)
        policy = model_of().policy
        mine, after = policy._process_sequence(features, states, starts.flatten(), lstm)
        theirs, wanted = RecurrentActorCriticPolicy._process_sequence(features, states, starts.flatten(), lstm)
        torch.testing.assert_close(mine, theirs)
        torch.testing.assert_close(after, wanted)
        without, _ = policy._process_sequence(features, states, torch.zeros(24), lstm)
        assert not torch.allclose(mine, without)


def test_states_are_reset_where_episodes_begin() -> None:
    """A game that begins is played as one without a past; one that goes on is not."""
    model = model_of()
    seen, masks = model.env.reset(), np.ones((8, CUES + 2), bool)
    _, state = model.predict(seen, action_masks=masks)
    assert state is not None
    begins = np.arange(8) % 2 == 0
    _, after = model.predict(seen, state, begins, action_masks=masks)
    _, fresh = model.predict(seen, None, np.ones(8, bool), action_masks=masks)
    assert after is not None
    assert fresh is not None
    for one, other in zip(after, fresh, strict=True):
        np.testing.assert_allclose(one[:, begins], other[:, begins], atol=1e-6)
        assert (np.abs(one - other)[:, ~begins].max(axis=-1) > 1e-4).all()


def test_predict_takes_masks_and_a_single_observation() -> None:
    model = model_of()
    mask = np.array([False, True, False, False])
    for _ in range(20):
        action, state = model.predict(np.zeros(CUES, np.float32), action_masks=mask)
        assert action == 1
        assert action.shape == ()
        assert state is not None
        assert state[0].shape == (1, 1, 16)
    drawn = {int(model.predict(np.zeros(CUES, np.float32))[0]) for _ in range(100)}
    assert drawn == {0, 1, 2, 3}  # no mask is left from before


# --- learning ------------------------------------------------------------------------------------------------------------------


def test_gradients_flow_through_time() -> None:
    """The log probability of the last action depends on the first observation, by way of the LSTM."""
    model = model_of()
    policy: Any = model.policy
    seen = torch.zeros(DELAY + 1, CUES, requires_grad=True)
    zero = torch.zeros(1, 1, 16)
    starts = torch.tensor([1.0] + [0.0] * DELAY)
    masks = torch.tensor([[True, True, False, False]] * (DELAY + 1))
    states = RNNStates((zero, zero), (zero, zero))
    _, log_prob, _ = policy.evaluate_actions(seen, torch.zeros(DELAY + 1, dtype=torch.long), states, starts, masks)
    log_prob[-1].backward()
    assert seen.grad is not None
    assert seen.grad[0].abs().max() > 0


def share_of(model: Any, env: VecEnv) -> float:
    """Mean reward of a model that plays the likeliest legal actions."""
    mean, _ = evaluate_policy(WithMasks(model, env), env, n_eval_episodes=64, warn=False)
    assert isinstance(mean, float)
    return mean


def test_it_learns_what_has_to_be_remembered() -> None:
    """A policy with a memory comes to 1; one without can't do better than the half that chance gives."""
    options: dict[str, Any] = {"n_steps": 32, "batch_size": 256, "n_epochs": 8, "learning_rate": 0.01, "gamma": 1.0}
    options["ent_coef"] = 0.01
    model = model_of(games(number=16), **options).learn(16 * 32 * 16)
    assert share_of(model, games()) == 1.0
    memoryless = MaskablePPO("MlpPolicy", games(number=16), seed=0, device="cpu", **options).learn(16 * 32 * 16)
    assert 0.3 < share_of(memoryless, games()) < 0.7


def test_equal_seeds_learn_equally() -> None:
    one, other = (model_of(games()).learn(256) for _ in range(2))
    for mine, theirs in zip(one.policy.parameters(), other.policy.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize(
    "kwargs", [{"shared_lstm": True, "enable_critic_lstm": False}, {"enable_critic_lstm": False}, {"n_lstm_layers": 2}]
)
def test_other_lstms(kwargs: dict[str, Any]) -> None:
    model = model_of(policy_kwargs=kwargs)
    before = [parameter.clone() for parameter in model.policy.lstm_actor.parameters()]
    model.learn(128)
    assert all(not torch.equal(was, now) for was, now in zip(before, model.policy.lstm_actor.parameters(), strict=True))


# --- files ---------------------------------------------------------------------------------------------------------------------


def test_a_saved_model_plays_and_trains_on(tmp_path: Path) -> None:
    model = model_of().learn(256)
    model.save(tmp_path / "model.zip")
    loaded = MaskableRecurrentPPO.load(tmp_path / "model.zip", env=games(), device="cpu")
    env = games()
    for deterministic in (True, False):
        states: list[Any] = [None, None]
        begins, seen = np.ones(8, bool), env.reset()
        for _ in range(2 * DELAY):
            masks, actions = np.stack(env.env_method("action_masks")), []
            for k, one in enumerate((model, loaded)):
                torch.manual_seed(3)
                action, states[k] = one.predict(seen, states[k], begins, deterministic, action_masks=masks)
                actions.append(action)
            np.testing.assert_array_equal(*actions)
            seen, _, begins, _ = env.step(actions[0])
    assert loaded.learn(128, reset_num_timesteps=False).num_timesteps == 256 + 128


def test_it_learns_as_recurrent_ppo_does_where_everything_is_legal() -> None:
    """The same rollout and losses as sb3-contrib's, from the same weights."""
    env = DummyVecEnv([AllLegal] * 8)
    mine = model_of(env)
    theirs = RecurrentPPO(
        "MlpLstmPolicy",
        env,
        n_steps=16,
        batch_size=32,
        n_epochs=2,
        seed=0,
        device="cpu",
        policy_kwargs={"lstm_hidden_size": 16, "net_arch": [16]},
    )
    theirs.policy.load_state_dict(mine.policy.state_dict())
    for model in (mine, theirs):
        torch.manual_seed(5)
        np.random.seed(5)  # noqa: NPY002 - SB3's buffers draw from it
        env.seed(5)
        model.learn(256)
    for one, other in zip(mine.policy.parameters(), theirs.policy.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
