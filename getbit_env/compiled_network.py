"""Feed-forward networks in a compiled call, for agents that ask one about small batches many times a decision.

NumPy is as fast on large batches. On small ones its calls take longer than the sums. Its sums are also rounded by the size of the
batch, and a search can make another play of that. Here each row is summed by itself, in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import inlined, lean_kernel
from getbit_env.network import Activation, Layers, NetworkAgent

_HALF, _ONE, _TWO, _MOST = (np.float32(number) for number in (0.5, 1, 2, 9))
# Lambert's continued fraction of tanh, up to its seventh denominator
_A0, _A1, _A2 = (np.float32(number) for number in (135135, 17325, 378))
_B1, _B2, _B3 = (np.float32(number) for number in (62370, 3150, 28))


class _Weights(NamedTuple):
    """The layers, one behind the other."""

    sizes: NDArray[np.int64]  # [layers + 1] entries before and behind each layer
    weights: NDArray[np.float32]  # of each layer `[in, out]`
    biases: NDArray[np.float32]
    relu: int  # 1: ReLU stands between layers, 0: tanh


class CompiledNetwork:
    """The probabilities and values of a `getbit_env.network.NetworkAgent`, up to rounding; several threads can ask at a time."""

    def __init__(self, agent: NetworkAgent) -> None:
        """Compile the layers of an agent, and those of its values if it has them."""
        self._policy = _weights(agent.layers, agent.activation)
        self._values = _weights(agent.value_layers, agent.activation) if agent.value_layers else None

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `NetworkAgent`: `[B, D]` and `[B, A]` -> `[B, A]`. Each row has a legal action."""
        found = np.empty(action_mask.shape)
        _softmax(_outputs(self._policy, observation), action_mask, found)
        return found

    def values(self, observation: NDArray[np.float32], _action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `NetworkAgent`: `[B, D]` -> `[B]`. The agent has values."""
        assert self._values is not None
        return _outputs(self._values, observation)[:, 0].astype(np.float64)


def _weights(layers: Layers, activation: Activation) -> _Weights:
    """Layers, `[(weight [out, in], bias [out]), ...]`, as the kernel takes them."""
    return _Weights(
        np.array([layers[0][0].shape[1], *(len(bias) for _, bias in layers)], np.int64),
        np.concatenate([weight.T.ravel() for weight, _ in layers]),
        np.concatenate([bias for _, bias in layers]),
        int(activation == Activation.RELU),
    )


def _outputs(network: _Weights, observation: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the last layer says: `[B, D]` -> `[B, out]`."""
    found = np.empty((len(observation), int(network.sizes[-1])), np.float32)
    _forward(network, observation, np.empty((2, int(network.sizes[1:].max())), np.float32), found)
    return found


@inlined
def _tanh(x: np.float32) -> np.float32:
    """Half of the argument by the continued fraction, then the formula of the double: no branch, so that it makes vectors."""
    half = min(max(x, -_MOST), _MOST) * _HALF
    square = half * half
    above = half * (_A0 + square * (_A1 + square * (_A2 + square)))
    below = _A0 + square * (_B1 + square * (_B2 + square * _B3))
    t = above / below
    return np.float32(_TWO * t / (_ONE + t * t))


@lean_kernel
def _forward(network: _Weights, observation: NDArray[np.float32], scratch: NDArray[np.float32], found: NDArray[np.float32]) -> None:
    """See `_outputs`."""
    layers = network.sizes.shape[0] - 1
    for b in range(observation.shape[0]):
        x = observation[b]
        weight_at, bias_at = 0, 0
        for layer in range(layers):
            inputs, outputs = network.sizes[layer], network.sizes[layer + 1]
            y = found[b] if layer == layers - 1 else scratch[layer % 2, :outputs]
            for j in range(outputs):
                y[j] = network.biases[bias_at + j]
            for i in range(inputs):
                entry = x[i]
                if entry != 0:  # most entries of an observation are
                    row = network.weights[weight_at + i * outputs : weight_at + (i + 1) * outputs]
                    for j in range(outputs):
                        y[j] += entry * row[j]
            if layer < layers - 1:
                if network.relu:
                    for j in range(outputs):
                        y[j] = max(y[j], np.float32(0))
                else:
                    for j in range(outputs):
                        y[j] = _tanh(y[j])
            weight_at += inputs * outputs
            bias_at += outputs
            x = y


@lean_kernel
def _softmax(scores: NDArray[np.float32], action_mask: NDArray[np.int8], found: NDArray[np.float64]) -> None:
    """The softmax of scores, `[B, A]`, over the legal actions."""
    for b in range(scores.shape[0]):
        top, total = -np.inf, 0.0
        for a in range(scores.shape[1]):
            if action_mask[b, a] > 0:
                top = max(top, float(scores[b, a]))
        for a in range(scores.shape[1]):
            found[b, a] = np.exp(float(scores[b, a]) - top) if action_mask[b, a] > 0 else 0.0
            total += found[b, a]
        for a in range(scores.shape[1]):
            found[b, a] /= total
