"""Trained policies: small networks stored as safetensors, played with NumPy alone."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from getbit_env.core.sampling import sample
from getbit_env.core.spec import Layout, Variant
from getbit_env.core.streams import game_streams
from getbit_env.game_registry import find_variant, game_of

POLICY_FILE = "policy.safetensors"


class NetworkAgent:
    """A feed-forward policy: tanh layers, then a softmax over the legal actions. Memoryless, so it has `probabilities`.

    Attributes:
        name: what it is called in tables.
        variant: the game that it was trained for.
        options: of the observations that it reads.
        layers: `[(weight [out, in], bias [out]), ...]` float32.
        about: what its file says of where it comes from.
    """

    def __init__(
        self,
        layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]],
        variant: Variant,
        options: Any = None,
        *,
        name: str = "network",
        about: dict[str, str] | None = None,
    ) -> None:
        """Make the policy.

        Raises:
            ValueError: the layers don't fit each other, or the observation and the actions of the variant.
        """
        game = game_of(variant)
        self.name, self.variant, self.options = name, variant, options or game.options()
        self.game = game.id
        self.layers, self.about = layers, about or {}
        sizes = [weight.shape for weight, _ in layers]
        self._layout = game.make_layout(variant, self.options)
        wanted = (self._layout.size, variant.actions)
        if (sizes[0][1], sizes[-1][0]) != wanted or any(a[0] != b[1] for a, b in pairwise(sizes)):
            raise ValueError(
                f"layers {sizes} don't lead from {wanted[0]} entries of an observation of {variant} to {wanted[1]} actions"
            )
        self._transposed = [(np.ascontiguousarray(weight.T), bias) for weight, bias in layers]

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

    def logits(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of all actions before masking: `[B, D]` -> `[B, A]`."""
        x = observation
        for weight, bias in self._transposed[:-1]:
            x = x @ weight
            x += bias
            np.tanh(x, out=x)
        weight, bias = self._transposed[-1]
        return x @ weight + bias

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `Agent`."""
        scores = np.where(action_mask > 0, self.logits(observation), -np.inf).astype(np.float64)
        scores -= scores.max(1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(1, keepdims=True)
        return scores

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

    def __repr__(self) -> str:
        return f"NetworkAgent({self.name!r}, {self.variant})"


def save_network(path: Path, agent: NetworkAgent) -> None:
    """Write a policy that `load_network` reads. The file appears whole or not at all."""
    tensors = {}
    for k, (weight, bias) in enumerate(agent.layers):
        tensors[f"{k}.weight"], tensors[f"{k}.bias"] = (
            np.ascontiguousarray(weight, np.float32),
            np.ascontiguousarray(bias, np.float32),
        )
    fixed = {
        "env": game_of(agent.variant).id,
        "variant": agent.variant.name,
        "options": json.dumps(agent.options.__dict__),
        "activation": "tanh",
    }
    temporary = path.with_suffix(".part")
    save_file(tensors, temporary, {**agent.about, **fixed})
    temporary.replace(path)


def load_network(path: Path, name: str) -> NetworkAgent:
    """Read a policy; nothing in the file is executed.

    Raises:
        ValueError: the file is damaged, no policy, or one of another version of the environment.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about = file.metadata() or {}
            layers = [(file.get_tensor(f"{k}.weight"), file.get_tensor(f"{k}.bias")) for k in range(len(file.keys()) // 2)]
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or holds no policy: {error}") from error
    try:
        variant = find_variant(about.get("variant", ""))
    except ValueError as error:
        raise ValueError(f"{path} holds a policy of no known game: {error}") from error
    game = game_of(variant)
    if about.get("env") != game.id or about.get("activation") != "tanh":
        raise ValueError(f"{path} holds a policy of {about.get('env', 'no known environment')}, this is {game.id}")
    return NetworkAgent(layers, variant, game.options(**json.loads(about["options"])), name=name, about=about)
