"""Torch modules as policies, see `getbit_env.as_agent`. Importing this imports torch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from getbit_env.policies import Answer, Kind


class Frozen:
    """A copy of a torch module as it is now, which plays and is trained no more. Copies of an agent share it."""

    module: torch.nn.Module
    device: torch.device

    def __init__(self, module: torch.nn.Module, instead: Mapping[int, Any] | None = None) -> None:
        """Copy a module.

        Args:
            module: any.
            instead: by the `id` of a part of it, what the copy has in its place.

        Raises:
            ValueError: it can't be copied.
        """
        try:
            self.module = copy.deepcopy(module, dict(instead or {})).eval().requires_grad_(False)
        except (RuntimeError, TypeError) as error:  # such as a tensor in a graph, or a file
            raise ValueError(f"{type(module).__name__} can't be copied: {error}") from error
        self.device = next((tensor.device for tensor in self.module.parameters()), torch.device("cpu"))

    def __deepcopy__(self, _memo: dict[int, Any]) -> Frozen:
        return self

    def tensor(self, array: NDArray[Any]) -> torch.Tensor:
        """A copy of an array, where the module is."""
        return torch.tensor(array, device=self.device)


class ModulePolicy:
    """A torch module that maps observations `[B, D]` to logits `[B, A]`, as a policy."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._frozen = Frozen(module)

    def __call__(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> Answer:  # noqa: ARG002 - as all policies
        """Ask it.

        Raises:
            ValueError: it returned something else.
        """
        with torch.no_grad():
            logits = self._frozen.module(self._frozen.tensor(observation))
        if not isinstance(logits, torch.Tensor):
            what = type(logits).__name__
            raise ValueError(
                f"{type(self._frozen.module).__name__} returns a {what}, not a tensor of logits [B, A]: wrap it in one that does"
            )
        return Answer(Kind.LOGITS, logits.cpu().numpy().astype(np.float64))
