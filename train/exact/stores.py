"""What an algorithm writes to and reads from: a number for every action of every role in every position, in a table or a network.

An algorithm that is written with stores learns in a table and in a network without a change. A table gives back what was written.
A network gives back what it has learnt of that, from some minibatches of positions. Policies are stored as logits.

Axes as in `exact.evaluation`: N positions, P roles, A actions; M rows, one for each role that has a choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from getbit_env.exact import GameGraph
from getbit_env.get_bit.observations import Layout
from getbit_env.network import NetworkAgent

from ..ppo import as_agent, linear_layers

POSITIONS_AT_ONCE = 4096
ROWS_AT_ONCE = 16384
LEAST_LOG = -30.0  # of a chance, in losses

Numbers = NDArray[np.float64]


class Rows(NamedTuple):
    """The positions as roles see them."""

    at: NDArray[np.int64]  # [M] position * P + role
    seen: Tensor  # [M, D] uint8
    illegal: Tensor  # [M, A] 0 for legal actions, a very low number for others


def see_rows(graph: GameGraph) -> Rows:
    """What every role that has a choice sees in every position."""
    chooses: NDArray[np.bool_] = np.logical_or.reduce(graph.legal, axis=2)
    parts = []
    for begin in range(0, graph.positions.count, POSITIONS_AT_ONCE):
        some = np.arange(begin, min(begin + POSITIONS_AT_ONCE, graph.positions.count))
        parts.append(graph.positions.see(some)[0][chooses[some]].astype(np.uint8))
    at = np.flatnonzero(chooses)
    illegal = np.where(graph.legal.reshape(-1, graph.legal.shape[2])[at], 0, -1e9).astype(np.float32)
    return Rows(at, torch.from_numpy(np.concatenate(parts)), torch.from_numpy(illegal))


def softmax(logits: Numbers, legal: NDArray[np.bool_]) -> Numbers:
    """The policy of some logits, `[N, P, A]`: zero for illegal actions, and for players who are out."""
    masked = np.where(legal, logits, -np.inf)
    top = masked.max(axis=2, keepdims=True)
    chances = np.exp(masked - np.where(np.isfinite(top), top, 0))
    policy: Numbers = chances / np.maximum(chances.sum(axis=2, keepdims=True), 1e-300)
    return policy


def centred(numbers: Numbers, legal: NDArray[np.bool_]) -> Numbers:
    """The same without the mean over legal actions, `[N, P, A]`; zero for others."""
    only = np.where(legal, numbers, 0)
    mean = only.sum(axis=2, keepdims=True) / np.maximum(legal.sum(axis=2, keepdims=True), 1)
    result: Numbers = np.where(legal, only - mean, 0)
    return result


class Descent(NamedTuple):
    """The policy that costs least, but is near to the last one and to the uniform one.

    In each role it minimises `pi . cost - strength * entropy(pi) + KL(pi, softmax(logits)) / step`.
    """

    logits: Numbers  # [N, P, A] of the last policy, centred
    cost: Numbers  # [N, P, A] of every action, centred
    step: float
    strength: float


class Table(nn.Module):
    """Keeps what is written."""

    def __init__(self, graph: GameGraph) -> None:
        super().__init__()
        self.numbers: Tensor
        self.register_buffer("numbers", torch.zeros(graph.legal.shape, dtype=torch.float64))

    def read(self) -> Numbers:
        """All numbers, `[N, P, A]`."""
        numbers: Numbers = self.numbers.numpy()
        return numbers

    def write(self, numbers: Numbers, met: Numbers, rng: np.random.Generator) -> None:  # noqa: ARG002 - a network's arguments
        """Keep these numbers, `[N, P, A]`."""
        self.numbers.copy_(torch.from_numpy(numbers))

    def descend(self, target: Descent, met: Numbers, rng: np.random.Generator) -> None:
        """Go to the policy that `target` asks for."""
        self.write((target.logits - target.step * target.cost) / (1 + target.step * target.strength), met, rng)


class Network(nn.Module):
    """Learns what is written.

    Args:
        graph: of the game.
        rows: of the same.
        options: a `Config` of `train.exact.study`.
        of_policy: the numbers are logits, and what counts is the policy that they make: it learns by cross entropy. Otherwise the
            numbers count, up to a common factor, and it learns by least squares.
    """

    def __init__(self, graph: GameGraph, rows: Rows, options: Any, *, of_policy: bool) -> None:
        super().__init__()
        self._legal, self._rows, self._options, self._of_policy = graph.legal, rows, options, of_policy
        self.layers = linear_layers([rows.seen.shape[1], *options.net_arch, graph.legal.shape[2]], 0.01, nn.ReLU)
        self.scale: Tensor
        self.register_buffer("scale", torch.ones((), dtype=torch.float64))
        self.optimizer: torch.optim.Optimizer  # the learner's, which has the weights of all its networks

    @torch.no_grad()
    def read(self) -> Numbers:
        """What it says of all positions, `[N, P, A]`."""
        numbers = np.zeros((self._legal.size // self._legal.shape[2], self._legal.shape[2]))
        for begin in range(0, len(self._rows.at), ROWS_AT_ONCE):
            some = slice(begin, begin + ROWS_AT_ONCE)
            numbers[self._rows.at[some]] = self.layers(self._rows.seen[some].float()).numpy()
        numbers *= float(self.scale)
        return numbers.reshape(self._legal.shape)

    def write(self, numbers: Numbers, met: Numbers, rng: np.random.Generator) -> None:
        """Go some steps towards these numbers.

        Args:
            numbers: `[N, P, A]`.
            met: `[N, P]`, how much each row matters: minibatches are drawn by it, and a tenth of them uniformly.
            rng: what draws.
        """
        _, seen, illegal = self._rows
        if self._of_policy:
            wanted = softmax(numbers, self._legal)
        else:
            self.scale.fill_(max(float(np.sqrt((numbers[self._legal] ** 2).mean())), 1e-12))
            wanted = numbers / float(self.scale)
        target = self._of_rows(wanted)
        for rows, _ in self._minibatches(met, rng):
            said = self.layers(seen[rows].float())
            if self._of_policy:
                loss = -(target[rows] * torch.log_softmax(said + illegal[rows], 1)).sum(1).mean()
            else:
                loss = ((said - target[rows]) * (illegal[rows] == 0)).square().sum(1).mean()
            self._step(loss)

    def descend(self, target: Descent, met: Numbers, rng: np.random.Generator) -> None:
        """Go some steps towards the policy that `target` asks for; `met` and `rng` as in `write`.

        It descends the sum of what is minimised, each role weighted by how often it is met. To write the logits that a table would
        get comes to the same policies if it succeeds, but weighs an error that costs nothing like one that costs the game.
        """
        _, seen, illegal = self._rows
        cost, last = self._of_rows(target.cost), self._of_rows(np.log(np.maximum(softmax(target.logits, self._legal), 1e-12)))
        for rows, weights in self._minibatches(met, rng):
            log_policy = torch.log_softmax(self.layers(seen[rows].float()) + illegal[rows], 1).clamp(min=LEAST_LOG)
            policy = log_policy.exp()
            each = cost[rows] + target.strength * log_policy + (log_policy - last[rows]) / target.step
            self._step((weights * (policy * each).sum(1)).mean())

    def _of_rows(self, numbers: Numbers) -> Tensor:
        """What `[N, P, A]` says of the rows, `[M, A]`."""
        return torch.from_numpy(numbers.reshape(-1, numbers.shape[2])[self._rows.at].astype(np.float32))

    def _minibatches(self, met: Numbers, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows, drawn by how often they are met and a tenth of them uniformly, and weights by which their mean is that by `met`."""
        matters = met.ravel()[self._rows.at]
        share = matters / max(matters.sum(), 1e-300)
        chance = 0.9 * share + 0.1 / len(share)
        weights = torch.from_numpy((share / chance).astype(np.float32))
        sums = np.cumsum(chance)
        drawn = np.searchsorted(sums, rng.random((self._options.n_batches, self._options.batch_size)) * sums[-1])
        for rows in torch.from_numpy(np.minimum(drawn, len(share) - 1)):
            yield rows, weights[rows]

    def _step(self, loss: Tensor) -> None:
        """One step of the optimizer."""
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.layers.parameters(), 1.0)
        self.optimizer.step()

    def agent(self, graph: GameGraph, iterations: int) -> NetworkAgent:
        """The policy whose logits it holds."""
        return as_agent(self.layers, Layout(graph.positions.variant), iterations)


Store = Table | Network
