"""Trained policies: small networks, with LSTMs or without, stored as safetensors and played with NumPy alone."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from getbit_env.core.agent import SeatPlayer
from getbit_env.core.choices import choice, options_from
from getbit_env.core.files import write_whole
from getbit_env.core.sampling import sample
from getbit_env.core.spec import Layout, Variant
from getbit_env.core.streams import game_streams
from getbit_env.game_registry import find_variant, game_of

POLICY_FILE = "policy.safetensors"
VALUE, LSTM = "value.", "lstm."  # before the names of tensors of values, and of LSTMs
LARGEST_WEIGHT = 1e30  # sums of larger ones can overflow, and a policy of NaN plays nothing

Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]


class Activation(StrEnum):
    """What stands between two layers."""

    TANH = "tanh"
    RELU = "relu"


class LstmLayer(NamedTuple):
    """Weights of an LSTM of H units; gates are in torch's order: input, forget, cell, output."""

    weight_ih: NDArray[np.float32]  # [4 * H, in], of what it sees
    weight_hh: NDArray[np.float32]  # [4 * H, H], of its last output
    bias: NDArray[np.float32]  # [4 * H]


class TrainedPolicy(SeatPlayer):
    """A trained policy: layers, then a softmax over the legal actions.

    `NetworkAgent` is memoryless. `RecurrentNetworkAgent` has LSTMs before the layers.

    Attributes:
        name: what results call it.
        variant: the game that it was trained for.
        options: of the observations that it reads.
        layers: `[(weight [out, in], bias [out]), ...]` float32.
        activation: what stands between them.
        about: what its file says of where it comes from.
    """

    name: str
    variant: Variant
    options: Any
    game: str
    layers: Layers
    activation: Activation
    about: dict[str, str]

    def __init__(
        self, layers: Layers, variant: Variant, options: Any, *, activation: str, name: str, about: dict[str, str] | None
    ) -> None:
        """Check what all policies have; `NetworkAgent` and `RecurrentNetworkAgent` say what their arguments are."""
        game = game_of(variant)
        self.activation = choice(Activation, "activation", activation)
        _check_layers(layers)
        if options is not None and not isinstance(options, game.options):
            raise ValueError(f"observations of {variant} have the options {game.options()}, not {options!r}")
        self.name, self.variant, self.options = name, variant, options or game.options()
        self.game = game.id
        self.layers, self.about = layers, about or {}
        self._layout = game.make_layout(variant, self.options)

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `Agent`.

        Raises:
            ValueError: the games show their players something else than what the network was trained on.
        """
        self.check_layout(layout)
        if seed is not None:
            self._streams = game_streams(seed, len(begins))
            self._counters = np.zeros(len(begins), np.uint64)

    def check_layout(self, layout: Layout) -> None:
        """See `Agent`.

        Raises:
            ValueError: the games show their players something else than what the network was trained on.
        """
        if layout.view != self._layout.view:
            raise ValueError(
                f"{self.name} was trained on {self.variant} with {self.options}, not on {layout.variant} with {layout.options}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.variant})"


class NetworkAgent(TrainedPolicy):
    """A feed-forward policy. Memoryless, so it has `probabilities`.

    Attributes:
        value_layers: like `layers`, of what it expects to be paid at the end of a game; empty if it expects nothing.
    """

    value_layers: Layers

    def __init__(
        self,
        layers: Layers,
        variant: Variant,
        options: Any = None,
        *,
        activation: str = "tanh",
        name: str = "network",
        about: dict[str, str] | None = None,
        value_layers: Layers | None = None,
    ) -> None:
        """Make the policy.

        Raises:
            ValueError: the layers don't fit each other, or the observation and the actions of the variant; or weights are not
                float32, or NaN, or infinite; or the options are those of another game; or there is no such activation.
        """
        super().__init__(layers, variant, options, activation=activation, name=name, about=about)
        self._transposed = _transposed(layers, self._layout, variant.actions, f"{variant.actions} actions")
        self.value_layers, self._of_values = value_layers or [], None
        if value_layers:
            _check_layers(value_layers)
            self._of_values = _transposed(value_layers, self._layout, 1, "one value")

    def logits(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of all actions before masking: `[B, D]` -> `[B, A]`."""
        return _forward(self._transposed, self.activation, observation)

    @property
    def values(self) -> Callable[[NDArray[np.float32], NDArray[np.int8]], NDArray[np.float64]]:
        """See `Agent`.

        Raises:
            AttributeError: its file holds no values.
        """
        if self._of_values is None:
            raise AttributeError(f"{self.name} has no values")
        return self._values

    def _values(self, observation: NDArray[np.float32], _action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        assert self._of_values is not None
        values: NDArray[np.float64] = _forward(self._of_values, self.activation, observation)[:, 0].astype(np.float64)
        return values

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `Agent`."""
        return _distribution(self.logits(observation), action_mask)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `Agent`."""
        chooses = np.flatnonzero(observation.any(axis=1))
        if 2 * len(chooses) > len(observation):
            probabilities = self.probabilities(observation, action_mask)
        else:  # most have nothing to choose, as where players decide one after another
            probabilities = np.zeros(action_mask.shape)
            probabilities[:, 0] = 1
            probabilities[chooses] = self.probabilities(observation[chooses], action_mask[chooses])
        return sample(probabilities, self._streams, self._counters)


class RecurrentNetworkAgent(TrainedPolicy):
    """A policy with LSTMs before its layers. Each row has a state, which is zero when a game begins.

    What it plays depends on all that it has seen in a game, so it has no `probabilities`. A row that has nothing to choose keeps
    its state.

    Attributes:
        lstm: weights of the LSTMs, each of which sees the output of the one before.
    """

    lstm: list[LstmLayer]

    def __init__(
        self,
        lstm: list[LstmLayer],
        layers: Layers,
        variant: Variant,
        options: Any = None,
        *,
        activation: str = "tanh",
        name: str = "network",
        about: dict[str, str] | None = None,
    ) -> None:
        """Make the policy.

        Raises:
            ValueError: see `NetworkAgent`; LSTMs have equally many units.
        """
        super().__init__(layers, variant, options, activation=activation, name=name, about=about)
        _check_lstm(lstm, self._layout)
        self.lstm = lstm
        self._units = lstm[0].weight_hh.shape[1]
        self._of_lstm = [LstmLayer(*(np.ascontiguousarray(array.T) for array in layer)) for layer in lstm]
        way = f"{self._units} units of an LSTM to {variant.actions} actions"
        self._transposed = _chained(layers, self._units, variant.actions, way)

    def begun(self, rows: int) -> NDArray[np.float32]:
        """The state of so many rows whose games begin: `[2, L, B, H]`, outputs and cells of L LSTMs."""
        return np.zeros((2, len(self.lstm), rows, self._units), np.float32)

    def step(self, observation: NDArray[np.float32], state: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Scores of all actions before masking, and the next state: `[B, D]` and `[2, L, B, H]` -> `[B, A]` and `[2, L, B, H]`."""
        x, after = observation, np.empty_like(state)
        for k, (of_seen, of_last, bias) in enumerate(self._of_lstm):
            gates = x @ of_seen
            gates += state[0, k] @ of_last
            gates += bias
            enters, kept, cell, out = (gates[:, j * self._units : (j + 1) * self._units] for j in range(4))
            after[1, k] = _sigmoid(kept) * state[1, k] + _sigmoid(enters) * np.tanh(cell)
            after[0, k] = x = _sigmoid(out) * np.tanh(after[1, k])
        return _forward(self._transposed, self.activation, x), after

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `Agent`.

        Raises:
            ValueError: the games show their players something else than what the network was trained on.
        """
        super().reset(layout, begins, seed)
        if seed is not None:
            self._state = self.begun(len(begins))
        self._state[:, :, begins] = 0

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `Agent`."""
        chooses = np.flatnonzero(observation.any(axis=1))
        probabilities = np.zeros(action_mask.shape)
        probabilities[:, 0] = 1
        if chooses.size:
            logits, self._state[:, :, chooses] = self.step(observation[chooses], self._state[:, :, chooses])
            probabilities[chooses] = _distribution(logits, action_mask[chooses])
        return sample(probabilities, self._streams, self._counters)


def _sigmoid(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Without overflow."""
    half = np.float32(0.5)
    between: NDArray[np.float32] = np.tanh(x * half) * half + half
    return between


def _distribution(logits: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
    """The softmax over the legal actions: `[B, A]`."""
    scores = np.where(action_mask > 0, logits, -np.inf).astype(np.float64)
    scores -= scores.max(1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(1, keepdims=True)
    return scores


def _transposed(layers: Layers, layout: Any, size: int, what: str) -> Layers:
    """Layers as `_forward` takes them.

    Raises:
        ValueError: they don't lead from an observation to so many numbers.
    """
    return _chained(layers, layout.size, size, f"{layout.size} entries of an observation of {layout.variant} to {what}")


def _chained(layers: Layers, entries: int, size: int, way: str) -> Layers:
    """Layers as `_forward` takes them.

    Raises:
        ValueError: they don't lead from so many numbers to so many, which is the way that is named.
    """
    sizes = [weight.shape for weight, _ in layers]
    if (sizes[0][1], sizes[-1][0]) != (entries, size) or any(a[0] != b[1] for a, b in pairwise(sizes)):
        raise ValueError(f"layers {sizes} don't lead from {way}")
    return [(np.ascontiguousarray(weight.T), bias) for weight, bias in layers]


def _forward(transposed: Layers, activation: Activation, observation: NDArray[np.float32]) -> NDArray[np.float32]:
    x = observation
    for weight, bias in transposed[:-1]:
        x = x @ weight
        x += bias
        if activation == Activation.TANH:
            np.tanh(x, out=x)
        else:
            np.maximum(x, 0, out=x)
    weight, bias = transposed[-1]
    return x @ weight + bias


def _check_layers(layers: Layers) -> None:
    """Refuse layers that no network has.

    Raises:
        ValueError: with what is wrong.
    """
    if not layers:
        raise ValueError("a network has one layer or more, this has none")
    for k, (weight, bias) in enumerate(layers):
        if weight.ndim != 2 or bias.shape != weight.shape[:1]:
            raise ValueError(f"layer {k} has weights {list(weight.shape)} and bias {list(bias.shape)}, not [out, in] and [out]")
        for what, values in (("weights", weight), ("bias", bias)):
            _check_numbers(f"layer {k}", what, values)


def _check_lstm(lstm: list[LstmLayer], layout: Layout) -> None:
    """Refuse LSTMs that don't fit each other or the observation.

    Raises:
        ValueError: with what is wrong.
    """
    if not lstm:
        raise ValueError("a recurrent policy has one LSTM or more, this has none")
    units = lstm[0].bias.size // 4
    for k, layer in enumerate(lstm):
        entries = units if k else layout.size
        wanted = {"weight_ih": (4 * units, entries), "weight_hh": (4 * units, units), "bias": (4 * units,)}
        found = {name: array.shape for name, array in layer._asdict().items()}
        if found != wanted or not units:
            raise ValueError(f"LSTM {k} has {found}; after {entries} entries, with {units} units, it has {wanted}")
        for name, array in layer._asdict().items():
            _check_numbers(f"LSTM {k}", name, array)


def _check_numbers(where: str, what: str, values: NDArray[Any]) -> None:
    """Refuse weights with which nothing can be played.

    Raises:
        ValueError: with the reason.
    """
    if values.dtype != np.float32:
        raise ValueError(f"{where} has {what} of {values.dtype}, not float32")
    if values.size and not np.abs(values).max() < LARGEST_WEIGHT:  # so written, NaN is refused as well
        raise ValueError(f"{where} has {what} that are NaN, infinite, or larger than {LARGEST_WEIGHT:g}")


def save_network(path: Path, agent: TrainedPolicy) -> None:
    """Write a policy that `load_network` reads. The file appears whole or not at all; equal policies give equal bytes.

    Raises:
        OSError: it can't be written.

    Examples:
        >>> from pathlib import Path
        >>> from getbit_env import load_agent
        >>> from getbit_env.network import POLICY_FILE, save_network
        >>> folder = Path("runs/mine")
        >>> folder.mkdir(parents=True)
        >>> save_network(folder / POLICY_FILE, load_agent("four_players"))
        >>> load_agent("runs/mine").variant.name
        '4p'
    """
    tensors = {}
    for k, (weight, bias) in enumerate(agent.layers):
        tensors[f"{k}.weight"], tensors[f"{k}.bias"] = weight, bias
    if isinstance(agent, NetworkAgent):
        for k, (weight, bias) in enumerate(agent.value_layers):
            tensors[f"{VALUE}{k}.weight"], tensors[f"{VALUE}{k}.bias"] = weight, bias
    if isinstance(agent, RecurrentNetworkAgent):
        for k, layer in enumerate(agent.lstm):
            tensors |= {f"{LSTM}{k}.{name}": array for name, array in layer._asdict().items()}
    about = {key: str(value) for key, value in agent.about.items()} | {
        "env": game_of(agent.variant).id,
        "variant": agent.variant.name,
        "options": json.dumps(asdict(agent.options)),
        "activation": agent.activation.value,
    }
    content = _safetensors(tensors, about)
    write_whole(path, lambda part: part.write_bytes(content))


def _safetensors(tensors: Mapping[str, NDArray[np.float32]], about: Mapping[str, str]) -> bytes:
    """A file of safetensors. The library writes the metadata in an order that differs from process to process."""
    header: dict[str, Any] = {"__metadata__": dict(sorted(about.items()))}
    parts, end = [], 0
    for name in sorted(tensors):
        parts.append(np.ascontiguousarray(tensors[name], "<f4").tobytes())
        begin, end = end, end + len(parts[-1])
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def load_network(path: Path, name: str) -> TrainedPolicy:
    """Read a policy; nothing in the file is executed.

    Returns:
        A `RecurrentNetworkAgent` if the file holds LSTMs, else a `NetworkAgent`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, no policy, or one of another version of the environment.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about = file.metadata() or {}
            names = set(file.keys())
            of_values = {key for key in names if key.startswith(VALUE)}
            of_lstm = {key for key in names if key.startswith(LSTM)}
            layers = _read_layers(file, names - of_values - of_lstm)
            value_layers = _read_layers(file, of_values, VALUE) if of_values else []
            lstm = [LstmLayer(*arrays) for arrays in _read(file, of_lstm, LSTM, LstmLayer._fields)]
        if lstm and value_layers:
            raise ValueError("it holds LSTMs and values, which no policy has both")
        return _agent(about, layers, value_layers, lstm, name)
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} is damaged or holds no policy: {_cut(str(error))}") from error


def _read_layers(file: Any, names: set[str], prefix: str = "") -> Layers:
    """The layers of an open file that these tensors are, one or more."""
    if not names:
        raise ValueError("it holds no tensors")
    return [(weight, bias) for weight, bias in _read(file, names, prefix, ("weight", "bias"))]


def _read(file: Any, names: set[str], prefix: str, parts: Sequence[str]) -> list[list[NDArray[np.float32]]]:
    """What these tensors of an open file hold: `0.PART`, `1.PART`, ... of each part after a prefix, and nothing else."""
    wanted = [[f"{prefix}{k}.{part}" for part in parts] for k in range(-(-len(names) // len(parts)))]
    if missing := [name for layer in wanted for name in layer if name not in names]:
        raise ValueError(f"it lacks {missing[0]}" + (f", and has {_cut(min(names))}" if names else ""))
    if extra := sorted(names.difference(*wanted)):
        raise ValueError(f"it holds {_cut(extra[0])}, which no policy has")
    for name in sorted(names):
        if (dtype := file.get_slice(name).get_dtype()) != "F32":
            raise ValueError(f"{name} holds numbers of {dtype}, not F32")
    return [[file.get_tensor(name) for name in layer] for layer in wanted]


def _agent(about: dict[str, str], layers: Layers, value_layers: Layers, lstm: list[LstmLayer], name: str) -> TrainedPolicy:
    """The agent of a file's metadata and weights."""
    if lacking := [key for key in ("env", "variant", "options", "activation") if key not in about]:
        raise ValueError(f"it does not say its {lacking[0]}")
    variant = find_variant(about["variant"])
    game = game_of(variant)
    if about["env"] != game.id:
        raise ValueError(f"it was trained in {about['env']}, this is {game.id}")
    try:
        given = json.loads(about["options"])
        if not isinstance(given, dict):
            raise ValueError(f"they are {given!r}")
        options = options_from(game.options, given)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"its options are none of an observation of {game}: {error}") from error
    activation = about["activation"]
    if lstm:
        return RecurrentNetworkAgent(lstm, layers, variant, options, activation=activation, name=name, about=about)
    return NetworkAgent(layers, variant, options, activation=activation, name=name, about=about, value_layers=value_layers)


def _cut(text: str) -> str:
    """A text out of a file, for a message."""
    return text if len(text) <= 300 else f"{text[:300]}…"
