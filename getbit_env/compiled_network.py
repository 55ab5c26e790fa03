"""Feed-forward networks in a compiled call, for agents that ask one about small batches many times a decision.

NumPy is as fast on large batches. On small ones its calls take longer than the sums. Its sums are also rounded by the size of the
batch, and a search can make another play of that. Here each row is summed by itself, in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.compiled import inlined, lean_kernel
from getbit_env.network import Activation, Layers

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
    """The layers of a `getbit_env.network.NetworkAgent`.

    Its numbers are those of the agent up to rounding, about 1e-6 of a score. It can be called by several threads.
    """

    def __init__(self, layers: Layers, activation: Activation) -> None:
        """Take the layers, `[(weight [out, in], bias [out]), ...]`, and what stands between them."""
        self._weights = _Weights(
            np.array([layers[0][0].shape[1], *(len(bias) for _, bias in layers)], np.int64),
            np.concatenate([weight.T.ravel() for weight, _ in layers]),
            np.concatenate([bias for _, bias in layers]),
            int(activation == Activation.RELU),
        )

    def outputs(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the last layer says: `[B, D]` -> `[B, out]`."""
        sizes = self._weights.sizes
        found = np.empty((len(observation), int(sizes[-1])), np.float32)
        _forward(self._weights, observation, np.empty((2, int(sizes[1:].max())), np.float32), found)
        return found

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The softmax of the outputs over the legal actions, at least one a row: `[B, D]` and `[B, A]` -> `[B, A]`."""
        found = np.empty(action_mask.shape)
        _softmax(self.outputs(observation), action_mask, found)
        return found


@inlined
def _tanh(x: np.float32) -> np.float32:
    """Half of the argument by the continued fraction, then the formula of the double; without a branch, so that it makes vectors."""
    half = min(max(x, -_MOST), _MOST) * _HALF
    square = half * half
    above = half * (_A0 + square * (_A1 + square * (_A2 + square)))
    below = _A0 + square * (_B1 + square * (_B2 + square * _B3))
    t = above / below
    return np.float32(_TWO * t / (_ONE + t * t))


@lean_kernel
def _forward(
    network: _Weights, observation: NDArray[np.float32], scratch: NDArray[np.float32], found: NDArray[np.float32]
) -> None:
    """See `CompiledNetwork.outputs`."""
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
    """See `CompiledNetwork.probabilities`."""
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
