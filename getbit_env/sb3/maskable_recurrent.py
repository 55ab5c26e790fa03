"""`MaskableRecurrentPPO`: PPO of a recurrent policy that plays legal actions only, for every environment with action masks.

sb3-contrib has `RecurrentPPO` and `MaskablePPO`, and nothing that is both (Stable-Baselines-Team/stable-baselines3-contrib#76,
#101). This is its `RecurrentPPO`, whose loops are used as they are, with the buffers, distributions and masks of its `MaskablePPO`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, Self

import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import RecurrentPPO
from sb3_contrib.common.maskable.buffers import MaskableDictRolloutBuffer, MaskableRolloutBuffer
from sb3_contrib.common.maskable.distributions import MaskableDistribution, make_masked_proba_distribution
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from sb3_contrib.common.recurrent.buffers import RecurrentDictRolloutBuffer, RecurrentRolloutBuffer
from sb3_contrib.common.recurrent.policies import (
    RecurrentActorCriticCnnPolicy,
    RecurrentActorCriticPolicy,
    RecurrentMultiInputActorCriticPolicy,
)
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.vec_env import VecEnv

State = tuple[torch.Tensor, torch.Tensor]  # outputs and cells of an LSTM


class MaskedStates(NamedTuple):
    """The states of the LSTMs at the beginning of each sequence of a minibatch, with the masks of all its steps.

    sb3-contrib hands the states of a minibatch to the policy and nothing else that could hold masks.
    """

    pi: State
    vf: State
    action_masks: torch.Tensor  # [N, A], ones where a sequence is padded


# --- policies ------------------------------------------------------------------------------------------------------------------


class MaskableRecurrentActorCriticPolicy(RecurrentActorCriticPolicy):
    """A policy with LSTMs that takes masks of actions, as `MaskableActorCriticPolicy` does: `MlpLstmPolicy`.

    Arguments are those of sb3-contrib's `RecurrentActorCriticPolicy`. Actions are `Discrete`, `MultiDiscrete` or `MultiBinary`.
    """

    action_dist: MaskableDistribution
    action_net: torch.nn.Module
    _action_masks: Any = None  # of what is computed now

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.action_dist = make_masked_proba_distribution(self.action_space)
        self.action_net = self.action_dist.proba_distribution_net(latent_dim=self.mlp_extractor.latent_dim_pi)
        if self.ortho_init:
            self.action_net.apply(lambda module: self.init_weights(module, gain=0.01))

    @contextmanager
    def _masked(self, action_masks: Any) -> Iterator[None]:
        """Within it, distributions have these masks; with None, those that they have already.

        The methods of `RecurrentActorCriticPolicy` make their distributions in one place, `_get_action_dist_from_latent`.
        """
        before = self._action_masks
        self._action_masks = before if action_masks is None else action_masks
        try:
            yield
        finally:
            self._action_masks = before

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> MaskableDistribution:
        made: MaskableDistribution = self.action_dist.proba_distribution(action_logits=self.action_net(latent_pi))
        if self._action_masks is not None:
            made.apply_masking(self._action_masks)
        return made

    @staticmethod
    def _process_sequence(
        features: torch.Tensor, lstm_states: State, episode_starts: torch.Tensor, lstm: torch.nn.LSTM
    ) -> Any:  # an output and a `State`, which sb3-contrib types as something else
        """Sequences through an LSTM. Where states are reset at the first step only, as in training, it is called once."""
        sequences = lstm_states[0].shape[1]
        starts = episode_starts.reshape(sequences, -1)
        if not starts[:, 1:].any():
            kept = (1 - starts[:, 0]).view(1, sequences, 1)
            lstm_states = (kept * lstm_states[0], kept * lstm_states[1])
            episode_starts = torch.zeros_like(episode_starts)
        return RecurrentActorCriticPolicy._process_sequence(features, lstm_states, episode_starts, lstm)

    def forward(self, *given: Any, action_masks: Any = None, **named: Any) -> Any:
        """Actions, values, log probabilities and next states, see `RecurrentActorCriticPolicy`; `action_masks`: `[B, A]`."""
        with self._masked(action_masks):
            return super().forward(*given, **named)

    def get_distribution(self, *given: Any, action_masks: Any = None, **named: Any) -> Any:
        """The distribution of actions and the next states, see `RecurrentActorCriticPolicy`; `action_masks`: `[B, A]`."""
        with self._masked(action_masks):
            return super().get_distribution(*given, **named)

    def evaluate_actions(self, obs: Any, actions: Any, lstm_states: Any, episode_starts: Any, action_masks: Any = None) -> Any:  # type: ignore[override]  # sb3-contrib's differs from SB3's, too
        """Values, log probabilities and entropy, see `RecurrentActorCriticPolicy`.

        Masks are `action_masks`, `[B, A]`, or those that come with the states (`MaskedStates`).
        """
        masks = getattr(lstm_states, "action_masks", None) if action_masks is None else action_masks
        with self._masked(masks):
            return super().evaluate_actions(obs, actions, lstm_states, episode_starts)

    def predict(self, *given: Any, action_masks: Any = None, **named: Any) -> Any:
        """Actions and the next states, see `RecurrentActorCriticPolicy`; `action_masks`: `[B, A]`."""
        with self._masked(action_masks):
            return super().predict(*given, **named)


class MaskableRecurrentActorCriticCnnPolicy(MaskableRecurrentActorCriticPolicy, RecurrentActorCriticCnnPolicy):
    """The same for images: `CnnLstmPolicy`."""


class MaskableRecurrentMultiInputActorCriticPolicy(MaskableRecurrentActorCriticPolicy, RecurrentMultiInputActorCriticPolicy):
    """The same for observations of several parts: `MultiInputLstmPolicy`."""


# --- buffers -------------------------------------------------------------------------------------------------------------------


class _MaskedSequences:
    """What both buffers add to their bases: minibatches whose states have the masks of their rows, see `MaskedStates`."""

    action_masks: NDArray[Any]

    def get(self: Any, batch_size: int | None = None) -> Generator[Any, None, None]:
        """Minibatches of sequences."""
        if not self.generator_ready:
            self.action_masks = self.swap_and_flatten(self.action_masks)
        yield from super().get(batch_size)  # type: ignore[misc]  # a buffer's

    def _get_samples(self: Any, *given: Any, **named: Any) -> Any:
        samples, rows = super()._get_samples(*given, **named), given[0]  # type: ignore[misc]  # likewise
        masks = self.pad(self.action_masks[rows], padding_value=1.0).reshape(-1, self.mask_dims)  # padded as the other arrays are
        return samples._replace(lstm_states=MaskedStates(samples.lstm_states.pi, samples.lstm_states.vf, masks))


class MaskableRecurrentRolloutBuffer(_MaskedSequences, RecurrentRolloutBuffer, MaskableRolloutBuffer):  # type: ignore[misc]  # each `add` calls the next
    """States of LSTMs and masks of actions."""


class MaskableRecurrentDictRolloutBuffer(_MaskedSequences, RecurrentDictRolloutBuffer, MaskableDictRolloutBuffer):  # type: ignore[misc]  # likewise
    """The same for observations of several parts."""


# --- the algorithm -------------------------------------------------------------------------------------------------------------


class MaskableRecurrentPPO(RecurrentPPO):
    """PPO of a policy with LSTMs that plays legal actions only, for every environment that has `action_masks`.

    Arguments are those of sb3-contrib's `RecurrentPPO`; policies are `MlpLstmPolicy`, `CnnLstmPolicy` and `MultiInputLstmPolicy`.
    Masks come from the method `action_masks` of the environment, as `MaskablePPO` takes them.

    Examples:
        >>> import numpy as np
        >>> from getbit_env.sb3 import GetBitVecEnv, MaskableRecurrentPPO
        >>> env = GetBitVecEnv(8, "random", variant="4p-memory", seed=0)
        >>> model = MaskableRecurrentPPO("MlpLstmPolicy", env, n_steps=16, batch_size=64, seed=0, device="cpu")
        >>> _ = model.learn(256)
        >>> seen, state, begins = env.reset(), None, np.ones(8, bool)
        >>> for _ in range(20):
        ...     actions, state = model.predict(seen, state, begins, action_masks=env.action_masks())
        ...     assert env.action_masks()[np.arange(8), actions].all()
        ...     seen, rewards, begins, infos = env.step(actions)
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpLstmPolicy": MaskableRecurrentActorCriticPolicy,
        "CnnLstmPolicy": MaskableRecurrentActorCriticCnnPolicy,
        "MultiInputLstmPolicy": MaskableRecurrentMultiInputActorCriticPolicy,
    }
    rollout_buffer: MaskableRecurrentRolloutBuffer | MaskableRecurrentDictRolloutBuffer
    _use_masking = True

    def _setup_model(self) -> None:
        super()._setup_model()
        if not isinstance(self.policy, MaskableRecurrentActorCriticPolicy):
            raise ValueError(f"policy is a subclass of MaskableRecurrentActorCriticPolicy, not {type(self.policy).__name__}")
        made_by_sb3: Any = self.rollout_buffer
        several = isinstance(self.observation_space, spaces.Dict)
        made = MaskableRecurrentDictRolloutBuffer if several else MaskableRecurrentRolloutBuffer
        self.rollout_buffer = made(
            self.n_steps,
            self.observation_space,
            self.action_space,
            made_by_sb3.hidden_state_shape,
            self.device,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            n_envs=self.n_envs,
        )

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "MaskableRecurrentPPO",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
        *,
        use_masking: bool = True,
    ) -> Self:
        """Train, see `MaskablePPO.learn`.

        Raises:
            ValueError: `use_masking`, and the environment has no `action_masks`.
        """
        self._use_masking = use_masking
        return super().learn(total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar)

    def collect_rollouts(self, env: VecEnv, callback: BaseCallback, rollout_buffer: RolloutBuffer, n_rollout_steps: int) -> bool:
        """Play a rollout, see `RecurrentPPO`. The policy is called once a step; before that it gets the masks of the step.

        Raises:
            ValueError: the environment has no `action_masks`.
        """
        if not self._use_masking:
            return bool(super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps))
        if not is_masking_supported(env):
            raise ValueError(
                "the environment has no method action_masks: wrap it in sb3_contrib.common.wrappers.ActionMasker, or learn with "
                "use_masking=False"
            )
        assert isinstance(rollout_buffer, MaskableRecurrentRolloutBuffer | MaskableRecurrentDictRolloutBuffer)

        def give_masks(_policy: Any, given: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            masks = get_action_masks(env)
            rollout_buffer.action_masks[rollout_buffer.pos] = masks.reshape(rollout_buffer.n_envs, rollout_buffer.mask_dims)
            return given, {**named, "action_masks": masks}

        hook = self.policy.register_forward_pre_hook(give_masks, with_kwargs=True)
        try:
            return bool(super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps))
        finally:
            hook.remove()

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = False,
        action_masks: NDArray[Any] | None = None,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """Actions and the next states.

        Args:
            observation: `[B, ...]`, or a single one.
            state: what the last call returned, or None when all games begin.
            episode_start: `[B]`, the games that begin, whose states are reset.
            deterministic: play the likeliest actions instead of drawing them.
            action_masks: `[B, A]`, True = legal.
        """
        return self.policy.predict(observation, state, episode_start, deterministic, action_masks=action_masks)  # type: ignore[call-arg]  # of ours


class WithMasks:
    """A model that takes its masks from an environment, for what calls `predict` without any, such as SB3's `evaluate_policy`.

    sb3-contrib's own `evaluate_policy`, and so its `MaskableEvalCallback`, gives masks, but loses the states of a recurrent model
    after every step: it would judge a policy that remembers nothing.

    Examples:
        >>> from stable_baselines3.common.evaluation import evaluate_policy
        >>> from getbit_env.sb3 import GetBitVecEnv, MaskableRecurrentPPO, WithMasks
        >>> env = GetBitVecEnv(8, "random", variant="4p-memory", seed=0)
        >>> model = MaskableRecurrentPPO("MlpLstmPolicy", env, seed=0, device="cpu")
        >>> reward, _ = evaluate_policy(WithMasks(model, env), env, n_eval_episodes=16, warn=False)
    """

    def __init__(self, model: Any, env: VecEnv) -> None:
        """Put them together."""
        self._model, self._env = model, env

    def predict(self, *given: Any, **named: Any) -> Any:
        """Actions that are legal in the environment as it is now, and the next states, see `BaseAlgorithm.predict`."""
        return self._model.predict(*given, **named, action_masks=get_action_masks(self._env))
