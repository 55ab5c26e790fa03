"""The optimizer of networks that learn from all positions: Muon for the weights between layers, Adam for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
SMALL = 1e-7
STEPS, COEFFICIENTS = 5, (3.4445, -4.7750, 2.0315)  # Jordan's: they bring singular values to between 0.7 and 1.2


class MuonAndAdam(torch.optim.Adam):
    """Muon (Jordan et al. 2024) for the weights between layers, Adam for biases and for the last layer of each network.

    `torch.optim.Muon` computes in bfloat16: 30 times as long on CPUs that have no such units, and what it learns here is worse.
    """

    def __init__(self, networks: Iterable[nn.Sequential]) -> None:
        between: list[Tensor] = []
        rest: list[Tensor] = []
        for layers in networks:
            *hidden, last = (layer for layer in layers if isinstance(layer, nn.Linear))
            between += [layer.weight for layer in hidden]
            rest += [*(layer.bias for layer in hidden), last.weight, last.bias]
        rest = rest or [torch.zeros(1)]  # an optimizer has a weight at least, and tables have none
        super().__init__([{"params": rest}, {"params": between}], eps=SMALL)

    def set_rates(self, adam: float, muon: float) -> None:
        """Set the learning rates."""
        for group, rate in zip(self.param_groups, (adam, muon), strict=True):
            group["lr"] = rate

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Do a step."""
        between = self.param_groups[1]
        for weight in between["params"]:
            if weight.grad is None:
                continue
            state = self.state[weight]
            if not state:
                state["momentum"] = torch.zeros_like(weight)
                state["step"] = torch.zeros(())  # every entry that Adam reads from a checkpoint has one
            momentum = state["momentum"].lerp_(weight.grad, 1 - MOMENTUM)
            rows, columns = weight.shape
            direction = orthogonalized(weight.grad.lerp(momentum, MOMENTUM))
            weight.sub_(direction, alpha=between["lr"] * max(1.0, rows / columns) ** 0.5)
            weight.grad = None  # Adam leaves such weights alone
        return super().step(closure)


def orthogonalized(matrix: Tensor) -> Tensor:
    """A matrix with the singular vectors of this one and singular values close to 1, by a Newton-Schulz iteration."""
    tall = matrix.shape[0] > matrix.shape[1]
    found = matrix.T if tall else matrix
    found = found / (found.norm() + SMALL)
    a, b, c = COEFFICIENTS
    for _ in range(STEPS):
        gram = found @ found.T
        found = a * found + (b * gram + c * gram @ gram) @ found
    result: Tensor = found.T if tall else found
    return result
