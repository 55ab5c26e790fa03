"""Models of Stable-Baselines3 and sb3-contrib as agents: `as_agent`, and `network_of`, whose agents play without torch."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.distributions import CategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecCheckNan, VecEnvWrapper, VecMonitor, VecNormalize, VecVideoRecorder
from stable_baselines3.dqn.policies import DQNPolicy

from getbit_env.agent_registry import normalization_names
from getbit_env.core.agent import SeatPlayer
from getbit_env.core.layouts import layout_of
from getbit_env.core.messages import shown
from getbit_env.core.spec import Layout, Variant
from getbit_env.game_registry import game_of
from getbit_env.network import Activation, Layers, LstmLayer, NetworkAgent, RecurrentNetworkAgent, TrainedPolicy
from getbit_env.policies import (
    TOLERANCE,
    Answer,
    Kind,
    PolicyAgent,
    RecurrentAgent,
    difference,
    different,
    fitting_options,
    sampled_observations,
)
from getbit_env.sb3.maskable_recurrent import MaskableRecurrentActorCriticPolicy, MaskableRecurrentPPO
from getbit_env.sb3.vec_env import SingleAgentVecEnv
from getbit_env.torch_policies import Frozen

OBSERVATION, MASK = "observation", "action_mask"  # keys of the observations of PettingZoo's environments
PLAYABLE = "PPO, A2C, DQN, MaskablePPO, QRDQN, RecurrentPPO and MaskableRecurrentPPO"
HARMLESS_WRAPPERS = (VecMonitor, VecNormalize, VecCheckNan, VecVideoRecorder)  # VecNormalize is folded in
CHECKED_OBSERVATIONS, FEW_OBSERVATIONS = 256, 16
CHECKED_STEPS = 4  # of a recurrent policy
LSTM_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

# What is kept in a file and not needed to play: buffers are made small, and schedules may be code of another version of Python.
NOT_NEEDED: dict[str, Any] = {"buffer_size": 1, "learning_rate": 0.0, "lr_schedule": lambda _: 0.0, "clip_range": lambda _: 0.0}


# --- agents of models ----------------------------------------------------------------------------------------------------------


def model_agent(
    policy: Any,
    *,
    env: Any = None,
    layout: Layout | None = None,
    variant: Variant | None = None,
    normalize: Any = None,
    deterministic: bool = False,
    name: str | None = None,
) -> SeatPlayer:
    """`as_agent` of a model, of its policy, or of the path of its `.zip`.

    Args:
        policy: the model, policy or path.
        env: the environment that the user named, or None.
        layout: of the observations, if the user named it.
        variant: the game, if the user named it without options.
        normalize: see `as_agent`.
        deterministic: see `as_agent`.
        name: see `as_agent`.

    Returns:
        The agent.

    Raises:
        ValueError: see `as_agent`.
    """
    path = Path(policy) if isinstance(policy, str | os.PathLike) else None
    model = policy if path is None else load_model(path)
    name = name or (type(model).__name__ if path is None else path.stem)
    env = getattr(model, "env", None) if env is None else env
    played: Any = getattr(model, "policy", model)
    size, actions = sizes_of(played, name)
    if variant is not None:
        layout = game_of(variant).make_layout(variant, fitting_options(variant, size, actions, name))
    elif layout is None and env is not None:
        try:
            layout = layout_of(env)
        except TypeError:
            raise ValueError(f"the environment of {name} is none of this package: name the game, variant=...") from None
    normalization = _normalization(model, env, normalize, path, name)
    if hasattr(played, "lstm_actor"):
        layers, _, hidden = played.lstm_hidden_state_shape
        return RecurrentAgent(
            RecurrentScores(played, normalization),
            (2, layers, hidden),
            reference=Reference(played, normalization).step,
            layout=layout,
            sizes=(size, actions),
            deterministic=deterministic,
            name=name,
        )
    frozen = Scores(played, normalization)
    return PolicyAgent(
        frozen,
        reference=Reference(played, normalization),
        layout=layout,
        sizes=(size, actions),
        deterministic=deterministic or frozen.kind is Kind.VALUES,
        name=name,
    )


def sizes_of(policy: Any, name: str) -> tuple[int, int]:
    """Entries of an observation that a policy reads, and its actions.

    Raises:
        ValueError: it reads or plays something else than the games of this package show and take, or it is none that is known.
    """
    space, actions = policy.observation_space, policy.action_space
    if not isinstance(actions, spaces.Discrete) or actions.start != 0:
        raise ValueError(f"{name} has the actions {shown(actions)}; the games have Discrete ones from 0 on")
    parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {OBSERVATION: space}
    vectors = all(isinstance(part, spaces.Box) and len(part.shape or ()) == 1 for part in parts.values())
    if OBSERVATION not in parts or not parts.keys() <= {OBSERVATION, MASK} or not vectors:
        raise ValueError(
            f"{name} reads {shown(space)}; the games show a vector, Box [D], or a Dict of {OBSERVATION} and {MASK}, such as "
            "PettingZoo's environments have"
        )
    size = int(parts[OBSERVATION].shape[0])  # type: ignore[index]  # it is a vector
    kind_of(policy, name)
    return size, int(actions.n)


def kind_of(policy: Any, name: str) -> Kind:
    """What a policy answers with.

    Raises:
        ValueError: it is none that is known.
    """
    if isinstance(getattr(policy, "q_net", None) or getattr(policy, "quantile_net", None), torch.nn.Module):
        return Kind.VALUES
    categorical = CategoricalDistribution | MaskableCategoricalDistribution
    if hasattr(policy, "get_distribution") and isinstance(getattr(policy, "action_dist", None), categorical):
        return Kind.LOGITS
    raise ValueError(f"{name} has a {type(policy).__name__}; policies of {PLAYABLE} can be made agents")


def _scores(policy: Any, seen: Any) -> torch.Tensor:
    """Logits or action values, `[B, A]`."""
    if hasattr(policy, "quantile_net"):
        return policy.quantile_net(seen).mean(dim=1)  # type: ignore[no-any-return]  # SB3's modules are typed as any
    if hasattr(policy, "q_net"):
        return policy.q_net(seen)  # type: ignore[no-any-return]
    return policy.get_distribution(seen).distribution.logits  # type: ignore[no-any-return]


def _as_array(tensor: torch.Tensor) -> NDArray[np.float64]:
    return tensor.detach().cpu().numpy().astype(np.float64)


class Shown:
    """What a policy is shown in place of an observation of the game: normalized, and with the mask where it reads a dict.

    Entries are 0 or 1, so what `VecNormalize` makes of them, clipping included, is one of two numbers for each.
    """

    def __init__(self, policy: Any, normalize: VecNormalize | None) -> None:
        space: Any = policy.observation_space
        parts: Any = space.spaces if isinstance(space, spaces.Dict) else None
        self._parts = None if parts is None else {key: part.shape[0] for key, part in parts.items()}
        self._made: list[Any] | None = None  # of zeros and of ones
        if normalize is not None:
            self._made = []
            for x in (0, 1):
                raw: Any = (
                    np.full((1, space.shape[0]), x, np.float32)
                    if self._parts is None
                    else {key: np.full((1, size), x, np.float32) for key, size in self._parts.items()}
                )
                self._made.append(normalize.normalize_obs(raw))

    def __call__(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> Any:
        """`[B, D]` and `[B, A]` -> an array, or a dict of them."""
        if self._parts is None:
            return observation if self._made is None else np.where(observation > 0, self._made[1], self._made[0])
        given: dict[str, NDArray[Any]] = {OBSERVATION: observation, MASK: action_mask}
        if self._made is None:
            return {key: given[key] for key in self._parts}
        return {key: np.where(given[key] > 0, self._made[1][key], self._made[0][key]) for key in self._parts}


class _FrozenModel:
    """A copy of a policy as it is now, with what it is shown."""

    def __init__(self, policy: Any, normalize: VecNormalize | None) -> None:
        self._shown = Shown(policy, normalize)
        # `MaskableRecurrentPPO` gives masks through hooks; a callback can make an agent in the middle of a rollout.
        instead: dict[int, Any] = {id(policy.optimizer): None, id(policy._forward_pre_hooks): OrderedDict()}
        if hasattr(policy, "action_dist"):  # it keeps the distribution of the last call, which is in a graph
            instead[id(policy.action_dist)] = without_last = copy.copy(policy.action_dist)
            without_last.distribution = None
        self._frozen = Frozen(policy, instead)

    def tensors(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> Any:
        """What the policy is shown, as it takes it."""
        seen = self._shown(observation, action_mask)
        if isinstance(seen, Mapping):
            return {key: self._frozen.tensor(part) for key, part in seen.items()}
        return self._frozen.tensor(seen)


class Scores(_FrozenModel):
    """A copy of a policy that looks at one observation.

    Attributes:
        kind: what it answers with.
    """

    kind: Kind

    def __init__(self, policy: Any, normalize: VecNormalize | None) -> None:
        super().__init__(policy, normalize)
        self.kind = kind_of(policy, type(policy).__name__)

    def __call__(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> Answer:
        """Ask it."""
        with torch.no_grad():
            return Answer(self.kind, _as_array(_scores(self._frozen.module, self.tensors(observation, action_mask))))


class RecurrentScores(_FrozenModel):
    """A copy of a recurrent policy. The state of B rows is `[2, layers, B, hidden]`."""

    def __call__(
        self,
        observation: NDArray[np.float32],
        action_mask: NDArray[np.int8],
        state: NDArray[np.float32],
        begins: NDArray[np.bool_],
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Ask it."""
        with torch.no_grad():
            return _step(self._frozen.module, self.tensors(observation, action_mask), state, begins, self._frozen.device)


def _step(
    policy: Any, seen: Any, state: NDArray[np.float32], begins: NDArray[np.bool_], device: Any
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Logits, and the next states."""
    before = torch.tensor(state, device=device)
    found, after = policy.get_distribution(seen, (before[0], before[1]), torch.tensor(begins, dtype=torch.float32, device=device))
    return _as_array(found.distribution.logits), torch.stack(after).cpu().numpy()


class Reference:
    """The policy itself, asked as Stable-Baselines3 asks it, behind the `VecNormalize` itself."""

    def __init__(self, policy: Any, normalize: VecNormalize | None) -> None:
        self._policy, self._normalize = policy, normalize

    def _see(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> Any:
        seen: Any = observation.copy()
        if isinstance(self._policy.observation_space, spaces.Dict):
            given = {OBSERVATION: seen, MASK: action_mask.copy()}
            seen = {key: given[key] for key in self._policy.observation_space.spaces}
        return seen if self._normalize is None else self._normalize.normalize_obs(seen)

    def __call__(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> Answer:
        """What the policy says of these observations.

        Raises:
            ValueError: what it plays is not what it says.
        """
        policy, name = self._policy, type(self._policy).__name__
        seen = self._see(observation, action_mask)
        played, _ = policy.predict(seen, deterministic=True)  # this ends training mode as well
        with torch.no_grad():
            answer = Answer(kind_of(policy, name), _as_array(_scores(policy, policy.obs_to_tensor(seen)[0])))
        worth = answer.scores / np.maximum(np.abs(answer.scores), 1)
        if answer.kind is Kind.LOGITS:
            worth = np.exp(answer.scores)
        behind = worth.max(axis=1) - worth[np.arange(len(worth)), np.asarray(played)]
        if not behind.max() <= TOLERANCE:
            raise ValueError(different(name, float(behind.max())))
        return answer

    def step(
        self,
        observation: NDArray[np.float32],
        action_mask: NDArray[np.int8],
        state: NDArray[np.float32],
        begins: NDArray[np.bool_],
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """The same of a recurrent policy."""
        self._policy.set_training_mode(False)
        with torch.no_grad():
            seen, _ = self._policy.obs_to_tensor(self._see(observation, action_mask))
            return _step(self._policy, seen, state, begins, self._policy.device)


# --- what the model sees -------------------------------------------------------------------------------------------------------


def wrappers_of(env: Any) -> list[VecEnvWrapper]:
    """The wrappers around an environment, the outermost first."""
    found = []
    while isinstance(env, VecEnvWrapper):
        found.append(env)
        env = env.venv
    return found


def normalization_of(env: Any) -> VecNormalize | None:
    """The wrapper that normalizes observations, if there is one.

    Raises:
        ValueError: there are two.
    """
    found = [wrapper for wrapper in wrappers_of(env) if isinstance(wrapper, VecNormalize) and wrapper.norm_obs]
    if len(found) > 1:
        raise ValueError("the environment is wrapped in VecNormalize twice; once can be exported")
    return found[0] if found else None


def _part(seen: Any) -> Any:
    """The vector of an observation that may be a dict."""
    return seen.get(OBSERVATION) if isinstance(seen, Mapping) else seen


def is_raw(seen: Any) -> bool:
    """Whether observations are zeros and ones, as the games show them."""
    return bool(np.isin(_part(seen), (0, 1)).all())


def check_wrappers(env: Any, seen: Any) -> None:
    """Refuse a wrapper that changes observations and is no `VecNormalize`.

    A wrapper that has another `layout` than the games says what it shows: its observations are taken for those of that layout.

    Args:
        env: of a model.
        seen: what the model saw last, before `VecNormalize`.

    Raises:
        ValueError: with the wrappers that can be meant.
    """
    wrappers = [type(wrapper).__name__ for wrapper in wrappers_of(env) if not isinstance(wrapper, HARMLESS_WRAPPERS)]
    changed = not is_raw(seen)
    of_games = env.unwrapped
    if not changed and wrappers and isinstance(of_games, SingleAgentVecEnv) and env.get_attr("layout", [0])[0] is of_games.layout:
        changed = not np.array_equal(_part(seen), of_games.batch.observation)
    if not changed and (inner := _observation_wrappers(env)):
        wrappers = [type(wrapper).__name__ for wrapper in inner]
        shown_by_game, _ = sampled_observations(layout_of(env))
        changed = not all(_same(inner, observation) for observation in shown_by_game[:FEW_OBSERVATIONS])
    if changed:
        raise ValueError(
            f"the model sees other observations than the game shows, through {', '.join(wrappers) or 'a wrapper'}; "
            "of wrappers that change them only VecNormalize can be exported"
        )


def _observation_wrappers(env: Any) -> list[Any]:
    """Gymnasium's wrappers of observations around a single game of a `DummyVecEnv`, the innermost first."""
    found, one = [], next(iter(getattr(env.unwrapped, "envs", [])), None)
    while isinstance(one, gymnasium.Wrapper):
        found += [one] * isinstance(one, gymnasium.ObservationWrapper)
        one = one.env
    return found[::-1]


def _same(wrappers: list[Any], observation: NDArray[np.float32]) -> bool:
    """Whether wrappers show an observation as it is, or as a part of a dict."""
    seen: Any = observation.copy()
    for wrapper in wrappers:
        seen = wrapper.observation(seen)
    return np.array_equal(_part(seen), observation)


def _normalization(model: Any, env: Any, given: Any, path: Path | None, name: str) -> VecNormalize | None:
    """The `VecNormalize` that is folded in, if any: the one that was given, that of the environment, or of the file beside a model.

    Raises:
        ValueError: there are several, or none, and the model saw normalized observations; or it is not that of the model.
    """
    found = normalization_of(env)
    last = getattr(model, "_last_obs", None)
    if given is not None:
        if found is not None and found is not given:
            raise ValueError("normalize is given, and the environment is wrapped in VecNormalize as well: give one of them")
        found = given if isinstance(given, VecNormalize) else load_normalization(Path(given))
        found = found if found.norm_obs else None
    if given is None and env is not None and env is getattr(model, "env", None):
        if last is not None:
            check_wrappers(env, last if found is None else found.old_obs)
        return found
    if found is None and given is None and path is not None and (last is None or not is_raw(last)):
        found = _beside(path)
    if last is None:
        return found
    if found is None:
        if not is_raw(last):
            raise ValueError(
                f"{name} was trained on other observations than the game shows: give its VecNormalize, normalize=..., or lay its "
                f"pickle beside the model as {normalization_names(path or Path('model.zip'))[0]}"
            )
    elif is_raw(last):
        raise ValueError(f"{name} was trained on observations as the game shows them, which the given VecNormalize would change")
    elif not (far := _distance_from_raw(_restored(found, last))) <= _staleness(model, last):
        raise ValueError(
            f"{name} was trained with another VecNormalize than the given one, which maps what the model saw last {far:.2g} away "
            "from the zeros and ones of the game"
        )
    return found


def _staleness(model: Any, last: Any) -> float:
    """How far from 0 and 1 the right `VecNormalize` can map what the model saw last, in the mean.

    A checkpoint within a rollout holds the observations of one step, and statistics that know one step more. Measured: that is at
    most half of this.
    """
    return 0.3 * len(_part(last)) / max(int(getattr(model, "num_timesteps", 0)), 1) + 1e-4


def _distance_from_raw(restored: NDArray[np.float64]) -> float:
    return float(np.abs(restored - np.clip(np.round(restored), 0, 1)).mean())


def _restored(normalize: VecNormalize, seen: Any) -> NDArray[np.float64]:
    """What `VecNormalize` was given when it made this, `[B, D]`; clipped entries too."""
    ends = []
    for x in (0, 1):
        if isinstance(seen, Mapping):
            raw: Any = {key: np.full((1, np.shape(part)[1]), x, np.float32) for key, part in seen.items()}
        else:
            raw = np.full((1, seen.shape[1]), x, np.float32)
        ends.append(np.asarray(_part(normalize.normalize_obs(raw)), np.float64))
    zero, one = ends
    return np.asarray((np.asarray(_part(seen), np.float64) - zero) / np.where(one == zero, 1, one - zero))


# --- files ---------------------------------------------------------------------------------------------------------------------


def load_model(path: Path) -> Any:
    """A model that was saved, without an environment, on the processor. This runs code that is in the file.

    Raises:
        ValueError: there is no such file, or it holds no model that can be played.
    """
    if not path.is_file():
        raise ValueError(f"agent {str(path)!r}: there is no such file")
    with warnings.catch_warnings(record=True) as said:  # of buffers and of what could not be unpickled
        warnings.simplefilter("always")
        try:
            data, _, _ = load_from_zip_file(path, device="cpu", custom_objects=NOT_NEEDED)
            if not data or "policy_class" not in data:
                raise ValueError("it holds no policy_class, as a model of Stable-Baselines3 does")
            return _algorithm(data).load(path, device="cpu", custom_objects=NOT_NEEDED)
        except Exception as error:  # whatever its code does
            reasons = [f"{type(error).__name__}: {error}", *(str(one.message) for one in said)]
            raise ValueError(f"agent {str(path)!r} holds no model that can be played: {' | '.join(reasons)[:400]}") from error


def _algorithm(data: Mapping[str, Any]) -> Any:
    """The algorithm whose model a file holds, which it does not name; for policies alike, one that loads them.

    Raises:
        ValueError: it is none that is known.
    """
    kinds: list[tuple[type, Any]] = [
        (MaskableRecurrentActorCriticPolicy, MaskableRecurrentPPO),
        (RecurrentActorCriticPolicy, RecurrentPPO),
        (MaskableActorCriticPolicy, MaskablePPO),
        (QRDQNPolicy, QRDQN),
        (DQNPolicy, DQN),
        (ActorCriticPolicy, PPO if "clip_range" in data else A2C),
    ]
    policy = data["policy_class"]
    for kind, algorithm in kinds:
        if isinstance(policy, type) and issubclass(policy, kind):
            return algorithm
    raise ValueError(f"it holds a {getattr(policy, '__name__', policy)}; policies of {PLAYABLE} can be made agents")


def load_normalization(path: Path) -> VecNormalize:
    """A `VecNormalize` that was saved, without an environment. This runs code that is in the file.

    Raises:
        ValueError: there is no such file, or it holds something else.
    """
    try:
        with path.open("rb") as file:
            found = pickle.load(file)
    except FileNotFoundError:
        raise ValueError(f"normalize: there is no file {path}") from None
    except Exception as error:  # whatever its code does
        raise ValueError(f"normalize: {path} can't be unpickled: {type(error).__name__}: {error}") from error
    if not isinstance(found, VecNormalize):
        raise ValueError(f"normalize: {path} holds a {type(found).__name__}, not a VecNormalize")
    return found


def file_beside(path: Path) -> Path | None:
    """The file of the `VecNormalize` that lies beside a model's file; None if there is none."""
    return next((path.with_name(name) for name in normalization_names(path) if path.with_name(name).is_file()), None)


def _beside(path: Path) -> VecNormalize | None:
    file = file_beside(path)
    found = None if file is None else load_normalization(file)
    return found if found is None or found.norm_obs else None


# --- without torch -------------------------------------------------------------------------------------------------------------


def network_of(model: Any, name: str = "learner") -> TrainedPolicy:
    """The policy of an SB3 model as it is now, as an agent that plays without torch.

    The observations that `VecNormalize` gives the model are folded into the first layer. Illegal actions are left out, as
    `MaskablePPO` does.

    Args:
        model: an on-policy algorithm with an `MlpPolicy` or `MlpLstmPolicy` of tanh or ReLU layers and an environment of this
            package.
        name: what to call the agent.

    Returns:
        A `NetworkAgent`; of an `MlpLstmPolicy` a `RecurrentNetworkAgent`.

    Raises:
        ValueError: the model has no environment, its policy can't be played with NumPy, or what was exported plays differently.

    Examples:
        >>> from sb3_contrib import MaskablePPO
        >>> from getbit_env.match import play_match
        >>> from getbit_env.sb3 import GetBitVecEnv, network_of
        >>> model = MaskablePPO("MlpPolicy", GetBitVecEnv(8, "random", seed=0), seed=0, device="cpu")
        >>> agent = network_of(model)  # plays without torch
        >>> print(play_match([agent, "random", "random", "random"], "4p", starts=24)["learner"].seats)
        1
    """
    if getattr(model, "env", None) is None:
        raise ValueError(f"the model has no environment, which says what it plays: {type(model).__name__}.load(path, env=...)")
    try:
        layout = model.env.get_attr("layout", indices=[0])[0]
    except AttributeError:
        raise ValueError("the model's environment is none of this package: it has no layout of observations") from None
    normalize = normalization_of(model.env)
    layers, activation = _layers(model)
    lstm = _lstm(model.policy)
    of_game, about = (layout.variant, layout.options), {"timesteps": str(model.num_timesteps)}
    agent: TrainedPolicy
    if lstm:
        if normalize is not None:
            weight, bias = _folded(normalize, (lstm[0].weight_ih, lstm[0].bias))
            lstm[0] = lstm[0]._replace(weight_ih=weight, bias=bias)
        agent = RecurrentNetworkAgent(lstm, layers, *of_game, activation=activation, name=name, about=about)
    else:
        if normalize is not None:
            layers[0] = _folded(normalize, layers[0])
        agent = NetworkAgent(layers, *of_game, activation=activation, name=name, about=about)
    _check_export(model, normalize, agent)
    return agent


def _layers(model: Any) -> tuple[Layers, Activation]:
    """Weights and biases of the policy, and what stands between its layers.

    Raises:
        ValueError: it is not made of linear layers, each but the last followed by the same tanh or ReLU.
    """
    policy = model.policy
    if not hasattr(policy, "mlp_extractor") or not hasattr(policy, "action_net"):
        raise ValueError(
            "only an MlpPolicy of PPO, A2C or MaskablePPO, or an MlpLstmPolicy, can be played with NumPy, not "
            f"{type(policy).__name__}"
        )
    extractor = getattr(policy, "pi_features_extractor", policy.features_extractor)
    if type(extractor) is not FlattenExtractor:
        raise ValueError(f"a policy with the features extractor {type(extractor).__name__} can't be played with NumPy")
    modules = list(policy.mlp_extractor.policy_net)
    kinds = [type(module) for module in modules]
    between = {torch.nn.Tanh: Activation.TANH, torch.nn.ReLU: Activation.RELU}
    activation = kinds[1] if modules else torch.nn.Tanh
    if activation not in between or kinds != [torch.nn.Linear, activation] * (len(modules) // 2):
        found = ", ".join(kind.__name__ for kind in kinds)
        raise ValueError(
            f"only linear layers, each followed by tanh or by ReLU, can be played with NumPy, not {found}; "
            'give the model policy_kwargs={"activation_fn": torch.nn.Tanh}'
        )
    layers: Layers = [(_weights(linear.weight), _weights(linear.bias)) for linear in [*modules[::2], policy.action_net]]
    return layers, between[activation]


def _lstm(policy: Any) -> list[LstmLayer]:
    """The LSTMs of a policy; none if it has no memory.

    Raises:
        ValueError: they are of a kind that can't be played with NumPy.
    """
    lstm = getattr(policy, "lstm_actor", None)
    if lstm is None:
        return []
    if lstm.bidirectional or lstm.proj_size or lstm.batch_first or not lstm.bias:
        raise ValueError(f"an LSTM with lstm_kwargs={policy.lstm_kwargs} can't be played with NumPy")
    layers = []
    for k in range(lstm.num_layers):
        weight_ih, weight_hh, bias_ih, bias_hh = (getattr(lstm, f"{name}_l{k}") for name in LSTM_WEIGHTS)
        layers.append(LstmLayer(_weights(weight_ih), _weights(weight_hh), _weights(bias_ih + bias_hh)))
    return layers


def _weights(tensor: torch.Tensor) -> NDArray[np.float32]:
    return tensor.detach().cpu().numpy().astype(np.float32)


def _folded(
    normalize: VecNormalize, layer: tuple[NDArray[np.float32], NDArray[np.float32]]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The first layer as it is for observations that are not normalized.

    Entries are 0 or 1, so what `VecNormalize` makes of each one, clipping included, is a linear function of it.
    """
    weight, bias = (array.astype(np.float64) for array in layer)
    size = weight.shape[1]
    zero, one = (np.asarray(normalize.normalize_obs(np.full((1, size), x, np.float32)), np.float64)[0] for x in (0, 1))
    return (weight * (one - zero)).astype(np.float32), (bias + weight @ zero).astype(np.float32)


def _check_export(model: Any, normalize: VecNormalize | None, agent: TrainedPolicy) -> None:
    """Compare what was exported with the model, on observations of its environment.

    Raises:
        ValueError: they differ, or a wrapper changes observations.
    """
    seen = normalize.old_obs if normalize is not None else model._last_obs
    size = (agent.lstm[0].weight_ih if isinstance(agent, RecurrentNetworkAgent) else agent.layers[0][0]).shape[1]
    compared = (np.random.default_rng(0).random((16, size)) < 0.5).astype(np.float32)
    if isinstance(seen, np.ndarray) and seen.shape[1:] == (size,):
        check_wrappers(model.env, seen)
        compared = np.concatenate([compared, seen[:CHECKED_OBSERVATIONS].astype(np.float32)])
    if isinstance(agent, RecurrentNetworkAgent):
        far = _distance_of_steps(model.policy, normalize, agent, compared)
    else:
        assert isinstance(agent, NetworkAgent)
        with torch.no_grad():
            tensor, _ = model.policy.obs_to_tensor(compared if normalize is None else normalize.normalize_obs(compared))
            wanted = model.policy.get_distribution(tensor).distribution.probs.cpu().numpy()
        played = agent.probabilities(compared, np.ones((len(compared), len(agent.layers[-1][1])), np.int8))
        far = float(np.abs(played - wanted).max())
    if not far <= TOLERANCE:
        raise ValueError(different(agent.name, far))


def _distance_of_steps(
    policy: Any, normalize: VecNormalize | None, agent: RecurrentNetworkAgent, compared: NDArray[np.float32]
) -> float:
    """How far the probabilities of a recurrent policy and of its export are apart at most, over some steps."""
    reference = Reference(policy, normalize)
    mine = theirs = agent.begun(len(compared))
    begins, far = np.ones(len(compared), np.bool_), 0.0
    for step in range(CHECKED_STEPS):
        seen = np.roll(compared, step, axis=0)
        logits, mine = agent.step(seen, mine)
        wanted, theirs = reference.step(seen, np.empty(0, np.int8), theirs, begins)
        far = max(far, difference(Answer(Kind.LOGITS, logits), Answer(Kind.LOGITS, wanted)))
        begins = np.zeros_like(begins)
    return far
