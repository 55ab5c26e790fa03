"""Self-play PPO in which every seat learns from every game.

One policy plays all seats; a seat whose robot is out gives no samples until its next game. Beside the entropy, the policy is held
to a reference, its own past: KL regularisation is what makes policy gradients approach an equilibrium in self-play
(magnetic mirror descent, arXiv 2206.05825; a refreshed reference, 2510.18183; an average of the own weights, 2606.23995).
`train.run` says what the folder of a run holds, and how a run is resumed.
"""

from __future__ import annotations

import argparse
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from getbit_env.core.compiled import kernel
from getbit_env.core.streams import game_streams, random_bits
from getbit_env.get_bit import ID
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout
from getbit_env.network import Activation, Layers, NetworkAgent
from getbit_env.single_agent.cohorts import Cohorts

from . import run
from .recipe import CommonConfig, Recipe, option

REFERENCES = ("none", "refreshed", "average")
SHARE = 256  # games that a thread plays at once
PART = 2048  # decisions whose gradients a thread computes at once

Together = Callable[..., Iterable[Any]]  # `map`, or the one of a pool of threads; the results are the same


@dataclass(frozen=True)
class Config(CommonConfig):
    """Every option of a run."""

    total_timesteps: int = option(20_000_000, "decisions to train on", least=1, most=10**12)
    n_envs: int = option(512, "games at a time", least=1, most=10**6)
    eval_freq: int = option(64, "rollouts between evaluations", least=1)
    ent_coef: float = option(0.05, "entropy coefficient at the start", least=0)
    ent_coef_end: float = option(0.005, "and at the end, linear in between", least=0)
    reference: str = option("average", "what the policy is held to: none, refreshed, or average (of its own weights)")
    kl_coef: float = option(0.1, "coefficient of the KL divergence of the policy from the reference", least=0)
    reference_period: int = option(
        50, "refreshed: rollouts between refreshes; average: rollouts that it reaches back", least=1, most=10**9
    )
    vf_coef: float = option(0.5, "coefficient of the value loss", least=0)
    exploring_starts: float = option(
        0.5, "share of the games in which one seat first plays at random, for a random number of rounds", least=0, most=1
    )
    temperature: float = option(
        1.6, "by which logits are divided in the policy that is saved: softer play is less exploitable", over=0
    )
    threads: int = option(
        1, "threads that share out the work; what comes of it does not depend on their number", least=1, most=1024
    )

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            ValueError: with what is wrong.
        """
        super().__post_init__()
        if self.reference not in REFERENCES:
            raise ValueError(f"--reference is one of {', '.join(REFERENCES)}, not {self.reference}")
        if self.reference == "refreshed" and not self.kl_coef:
            raise ValueError("--reference refreshed holds the policy to nothing with --kl-coef 0; give --reference none")
        if self.batch_size > (most := self.n_envs * self.n_steps * self.played.players):
            raise ValueError(
                f"--batch-size {self.batch_size} is more than a rollout of --n-envs {self.n_envs} * --n-steps {self.n_steps} * "
                f"{self.played.players} players, {most}"
            )
        if self.game.id != ID:
            raise ValueError(f"{self.variant} is no variant of Get Bit!, for which this recipe is; train.selfplay learns both")

    def unused(self) -> dict[str, str]:
        """See `CommonConfig`."""
        return dict.fromkeys(("kl_coef", "reference_period"), "--reference is none") if self.reference == "none" else {}


# --- the policy --------------------------------------------------------------------------------------------------------------


class _Tanh(torch.autograd.Function):
    """NumPy's tanh, in place: on one thread a sixth of the time of torch's, which would be the dearest part of an update."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        np.tanh(x.numpy(), out=x.numpy())
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return torch.ops.aten.tanh_backward(gradient, *ctx.saved_tensors)  # type: ignore[no-any-return]


class Tanh(nn.Module):
    """An `nn.Tanh` for small networks on CPUs."""

    def forward(self, x: Tensor) -> Tensor:
        """Overwrites `x`."""
        y: Tensor = _Tanh.apply(x)  # type: ignore[no-untyped-call]
        return y


def linear_layers(sizes: Sequence[int], last_gain: float, activation: type[nn.Module] = Tanh) -> nn.Sequential:
    """Linear layers with an activation between them, orthogonal at the start."""
    layers: list[nn.Module] = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        linear = nn.Linear(a, b)
        last = k == len(sizes) - 2
        nn.init.orthogonal_(linear.weight, last_gain if last else 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, activation()]
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    """Policy and value, each with layers of its own."""

    def __init__(self, layout: Layout, widths: Sequence[int]) -> None:
        super().__init__()
        self.policy = linear_layers([layout.size, *widths, layout.variant.actions], 0.01)
        self.value = linear_layers([layout.size, *widths, 1], 1.0)


def as_agent(
    policy: nn.Module,
    layout: Layout,
    timesteps: int,
    temperature: float = 1.0,
    name: str = "learner",
    value: nn.Module | None = None,
) -> NetworkAgent:
    """A policy as it is now, played at a temperature, and what it expects."""
    layers = _linear(policy)
    for array in layers[-1]:
        array /= np.float32(temperature)
    value_layers = [] if value is None else _linear(value)
    relu = any(isinstance(layer, nn.ReLU) for layer in policy.modules())
    return NetworkAgent(
        layers,
        layout.variant,
        layout.options,
        activation=Activation.RELU if relu else Activation.TANH,
        name=name,
        about={"timesteps": str(timesteps)},
        value_layers=value_layers,
    )


def _linear(module: nn.Module) -> Layers:
    """Copies of the linear layers of a network."""
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    return [(layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in linear]


# --- a rollout ---------------------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """What the seats that had a choice saw, did, and got: M samples, in the order of time."""

    seat: NDArray[np.int64]  # [M] whose: game * players + player
    seen: NDArray[np.uint8]  # [M, D]
    legal: NDArray[np.uint8]  # [M, A]
    action: NDArray[np.int64]  # [M]
    log_probability: NDArray[np.float32]  # [M] of the action, by the policy that chose it
    value: NDArray[np.float32]  # [M] as it was expected then
    reward: NDArray[np.float32]  # [M] for this action
    ended: NDArray[np.uint8]  # [M] 1 = it was the last of the seat in its game


def new_samples(size: int, layout: Layout) -> Samples:
    """Allocate `size` samples."""
    return Samples(
        seat=np.zeros(size, np.int64),
        seen=np.zeros((size, layout.size), np.uint8),
        legal=np.zeros((size, layout.variant.actions), np.uint8),
        action=np.zeros(size, np.int64),
        log_probability=np.zeros(size, np.float32),
        value=np.zeros(size, np.float32),
        reward=np.zeros(size, np.float32),
        ended=np.zeros(size, np.uint8),
    )


@kernel
def _look(
    observation: NDArray[np.float32],
    mask: NDArray[np.int8],
    alive: int,
    explored: NDArray[np.bool_],
    samples: Samples,
    start: int,
    seen: NDArray[np.float32],
) -> tuple[int, int]:
    """Note what the seats that have a choice see, for the network and as samples from `start` on: games without exploration first.

    Returns:
        Ends of the samples to learn from, and of all.
    """
    i = stop = start
    players = observation.shape[0] // len(explored)
    for exploring in (False, True):
        for n in range(observation.shape[0]):
            if observation[n, alive] != 0 and explored[n // players] == exploring:
                samples.seat[i] = n
                for d in range(observation.shape[1]):
                    seen[i - start, d] = observation[n, d]
                    samples.seen[i, d] = np.uint8(observation[n, d])
                for a in range(mask.shape[1]):
                    samples.legal[i, a] = mask[n, a]
                i += 1
        stop = stop if exploring else i
    return stop, i


@kernel
def _choose(
    logits: NDArray[np.float32],
    samples: Samples,
    start: int,
    streams: NDArray[np.uint64],
    counter: np.uint64,
    explores: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    """Draw an action for each sample from `start` on, by the policy, or of all legal ones alike for seats that explore.

    Args:
        logits: `[B, A]`, overwritten for seats that explore.
        samples: the actions and their probabilities are noted there.
        start: the first of B samples.
        streams: `[N]`, of the seats.
        counter: numbers drawn so far from each.
        explores: `[N]`.
        actions: `[N]`, those of the seats of these samples are overwritten.
    """
    for b in range(logits.shape[0]):
        i = start + b
        n = samples.seat[i]
        if explores[n]:
            logits[b] = 0
        top = np.float32(-np.inf)
        for a in range(logits.shape[1]):
            if samples.legal[i, a] != 0:
                top = max(top, logits[b, a])
        total = np.float32(0)
        for a in range(logits.shape[1]):
            if samples.legal[i, a] != 0:
                total += np.exp(logits[b, a] - top)
        left = total * np.float32((random_bits(streams[n], counter) >> np.uint64(40)) * 2.0**-24)
        chosen = -1
        for a in range(logits.shape[1]):
            if samples.legal[i, a] != 0:
                chosen = a
                left -= np.exp(logits[b, a] - top)
                if left < 0:
                    break
        samples.action[i] = chosen
        samples.log_probability[i] = logits[b, chosen] - top - np.log(total)
        actions[n] = chosen


@kernel
def _note(reward: NDArray[np.float32], finish: NDArray[np.uint8], samples: Samples, start: int, stop: int) -> None:
    """Note what came of the actions of the samples `start:stop`; `reward` and `finish` are `[P, G]`."""
    players = reward.shape[0]
    for i in range(start, stop):
        g, p = samples.seat[i] // players, samples.seat[i] % players
        samples.reward[i] = reward[p, g]
        samples.ended[i] = finish[p, g] > 0


@kernel
def _advantages(samples: Samples, ahead: NDArray[np.float32], decay: np.float32, advantage: NDArray[np.float32]) -> None:
    """Generalised advantage estimates: every seat looks ahead along its own samples.

    Args:
        samples: M of them.
        ahead: `[N]` what each seat is expected to get after its last sample; overwritten.
        decay: lambda; rewards are not discounted.
        advantage: `[M]`, overwritten.
    """
    carried = np.zeros_like(ahead)  # of the seat's next sample
    for i in range(len(samples.seat) - 1, -1, -1):
        n = samples.seat[i]
        if samples.ended[i] != 0:
            ahead[n] = carried[n] = 0
        carried[n] = samples.reward[i] + ahead[n] - samples.value[i] + decay * carried[n]
        ahead[n] = samples.value[i]
        advantage[i] = carried[n]


class Collector:
    """Plays all seats of G games with the policy; N = G * P seats.

    Attributes:
        layout: of the observations.
        began: `[G]`, the rollout in which each game began, as `collect` was told.
        lengths: rollout and rounds of the games that ended in the last rollout.
    """

    def __init__(self, config: Config, games: int) -> None:
        self.config, players = config, config.played.players
        self.engine = Engine(config.played, games, options=config.observed, reward=str(config.reward))
        self.layout = self.engine.layout
        self.began = np.zeros(games, np.int64)
        self.lengths: list[tuple[int, int]] = []
        self._samples = new_samples(games * players * (config.n_steps + 1), self.layout)
        self._seen = np.zeros((games * players, self.layout.size), np.float32)
        self._actions = np.zeros((games, players), np.int64)
        self._nothing_when_out = np.ones(games, np.uint8)
        self._explorers = np.zeros(games, np.int64)  # the seat that plays at random
        self._exploring_rounds = np.zeros(games, np.int64)

    def begin(self, seed: np.random.SeedSequence) -> None:
        """Begin all games anew."""
        of_games, of_actions, of_explorers = seed.spawn(3)
        self.engine.seed(of_games)
        self._streams = game_streams(of_actions, self._actions.size)
        self._counter = 0
        self._rng = np.random.default_rng(of_explorers)
        self._start(np.ones(self.engine.size, np.uint8))

    def _start(self, begin: NDArray[np.uint8]) -> None:
        """Begin games.

        A best response leads this policy to positions to which it would not come by itself. So that it learns what to do there,
        some games begin with exploration, for less than the rounds of the shortest game.
        """
        self.engine.start(begin)
        began, game = np.flatnonzero(begin), self.config.played
        rounds = self._rng.integers(1, game.least_rounds, len(began))
        self._exploring_rounds[began] = np.where(self._rng.random(len(began)) < self.config.exploring_starts, rounds, 0)
        self._explorers[began] = began * game.players + self._rng.integers(game.players, size=len(began))

    def _observe(self, start: int) -> tuple[Tensor, int, NDArray[np.bool_]]:
        """See the games, and note it in samples from `start` on.

        Returns:
            What the seats that have a choice see; the end of the samples to learn from; and the games in which a seat explores,
            `[G]`. Samples of these stand behind the others, and those of the next round overwrite them.
        """
        engine = self.engine
        engine.observe(self._nothing_when_out)
        explored = engine.state.rounds < self._exploring_rounds
        observation, mask = engine.observation.reshape(self._actions.size, -1), engine.action_mask.reshape(self._actions.size, -1)
        # As long as there is a line, a robot is in front of it, so every row that is not zero has this entry.
        stop, end = _look(observation, mask, self.layout.view.limb, explored, self._samples, start, self._seen)
        return torch.from_numpy(self._seen[: end - start]), stop, explored

    @torch.no_grad()
    def collect(self, model: ActorCritic, rollout: int) -> tuple[Samples, NDArray[np.float32]]:
        """Play T rounds.

        Args:
            model: what plays.
            rollout: number of this rollout.

        Returns:
            The samples, which the next call overwrites, and their advantages `[M]`.
        """
        engine, samples, stop = self.engine, self._samples, 0
        self.lengths.clear()
        for _ in range(self.config.n_steps):
            start = stop
            seen, stop, explored = self._observe(start)
            samples.value[start:stop] = model.value(seen[: stop - start]).squeeze(1).numpy()
            self._counter += 1
            explores = np.zeros(self._actions.size, np.bool_)
            explores[self._explorers[explored]] = True
            actions = self._actions.reshape(-1)
            _choose(model.policy(seen).numpy(), samples, start, self._streams, np.uint64(self._counter), explores, actions)
            engine.play(self._actions)
            outcome = engine.outcome
            _note(outcome.reward, outcome.finish, samples, start, stop)
            over = outcome.over > 0
            self.lengths += zip(self.began[over].tolist(), engine.state.rounds[over].tolist(), strict=True)
            self.began[over] = rollout
            self._start(outcome.over)
        seen, end, _ = self._observe(stop)
        ahead = np.zeros(self._actions.size, np.float32)
        ahead[samples.seat[stop:end]] = model.value(seen[: end - stop]).squeeze(1).numpy()
        whole = Samples._make(array[:stop] for array in samples)
        advantage = np.zeros(stop, np.float32)
        _advantages(whole, ahead, np.float32(self.config.gae_lambda), advantage)
        return whole, advantage


class Collectors:
    """All games of a run, in shares.

    Attributes:
        lengths: rounds of the games of those rollouts whose last game ended in the last rollout (`Cohorts` says why).
    """

    def __init__(self, config: Config) -> None:
        shares = -(-config.n_envs // SHARE)
        edges = [config.n_envs * k // shares for k in range(shares + 1)]
        self.each = [Collector(config, b - a) for a, b in pairwise(edges)]
        self.layout = self.each[0].layout
        self.lengths: list[int] = []
        self._cohorts: Cohorts[int] = Cohorts()
        self._all_new = True

    def begin(self, seed: np.random.SeedSequence) -> None:
        """Begin all games anew."""
        for collector, child in zip(self.each, seed.spawn(len(self.each)), strict=True):
            collector.begin(child)
        self._cohorts, self._all_new = Cohorts(), True

    def collect(self, model: ActorCritic, together: Together) -> tuple[Samples, NDArray[np.float32]]:
        """Play T rounds of all: samples and advantages `[M]`."""
        rollout = self._cohorts.begin()
        if self._all_new:
            for collector in self.each:
                collector.began[:] = rollout
            self._all_new = False
        collected = list(together(lambda collector: collector.collect(model, rollout), self.each))
        for number, rounds in (ended for collector in self.each for ended in collector.lengths):
            self._cohorts.add(number, rounds)
        self.lengths = self._cohorts.end(Counter(number for collector in self.each for number in collector.began.tolist()))
        samples = Samples(*map(np.concatenate, zip(*(samples for samples, _ in collected), strict=True)))
        return samples, np.concatenate([advantage for _, advantage in collected])


# --- learning ----------------------------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """Weights of the parts of the loss, and the range of the ratio."""

    sample: np.float32  # in the mean
    clip: np.float32  # range of the ratio
    value: np.float32
    entropy: np.float32
    kl: np.float32


@kernel
def _gradients(
    logits: NDArray[np.float32],
    value: NDArray[np.float32],
    samples: Samples,
    advantage: NDArray[np.float32],
    target: NDArray[np.float32],
    log_q: NDArray[np.float32],
    weights: Weights,
    of_logits: NDArray[np.float32],
    of_value: NDArray[np.float32],
    logged: NDArray[np.float64],
) -> None:
    """The loss of PPO with entropy and KL divergence, and its derivatives, in one pass over samples.

    With probabilities p, reference q and H the entropy, the derivatives by the logit of action a are those of the ratio r of the
    chosen action c: r * ((a == c) - p[a]); of H: -p[a] * (log p[a] + H); of KL(p, q): p[a] * (log p[a] - log q[a] - KL).

    Args:
        logits: `[B, A]`, of the policy as it is.
        value: `[B, 1]`, as it is.
        samples: B of them.
        advantage: `[B]`, normalised.
        target: `[B]`, of the value.
        log_q: `[B, A]`, logarithms of the probabilities of the reference; finite where illegal.
        weights: of the parts of the loss.
        of_logits: `[B, A]`, overwritten with derivatives of the loss.
        of_value: `[B, 1]`, likewise.
        logged: `[4]`, to which means of the policy's objective, the value loss, the entropy and the KL divergence are added.
    """
    one, clip = np.float32(1), weights.clip
    legal, action, before = samples.legal, samples.action, samples.log_probability
    size, actions = logits.shape
    p, log_p = np.zeros(actions, np.float32), np.zeros(actions, np.float32)
    for b in range(size):
        chosen = action[b]
        top = np.float32(-np.inf)
        for a in range(actions):
            if legal[b, a] != 0:
                top = max(top, logits[b, a])
        total = np.float32(0)
        for a in range(actions):
            log_p[a] = logits[b, a] - top
            p[a] = np.exp(log_p[a]) if legal[b, a] != 0 else np.float32(0)
            total += p[a]
        log_total, entropy, kl = np.log(total), np.float32(0), np.float32(0)
        for a in range(actions):
            p[a] /= total
            log_p[a] -= log_total
            entropy -= p[a] * log_p[a]
            kl += p[a] * (log_p[a] - log_q[b, a])
        ratio = np.exp(log_p[chosen] - before[b])
        clipped = min(max(ratio, one - clip), one + clip)
        gain = min(ratio * advantage[b], clipped * advantage[b])
        rises = ratio * advantage[b] if gain == ratio * advantage[b] else 0.0
        for a in range(actions):
            gradient = rises * ((a == chosen) - p[a])
            gradient -= p[a] * (weights.entropy * (log_p[a] + entropy) + weights.kl * (log_p[a] - log_q[b, a] - kl))
            of_logits[b, a] = -weights.sample * gradient
        error = value[b, 0] - target[b]
        of_value[b, 0] = 2 * weights.sample * weights.value * error
        logged[0] += weights.sample * gain
        logged[1] += weights.sample * error * error
        logged[2] += weights.sample * entropy
        logged[3] += weights.sample * kl


def workers(threads: int) -> Together:
    """So many threads to share out work to. NumPy, torch and the kernels let go of the interpreter lock."""
    return map if threads == 1 else ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)).map


class Learner:
    """The policy, its reference, and their update."""

    def __init__(self, config: Config, layout: Layout) -> None:
        self.config, self.layout = config, layout
        self.model = ActorCritic(layout, config.net_arch)
        self.reference = copy.deepcopy(self.model.policy).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.model.parameters(), config.learning_rate, eps=1e-5, fused=True)
        self.both = nn.ModuleDict({"model": self.model, "reference": self.reference})  # what a checkpoint holds

    def update(self, samples: Samples, advantage: NDArray[np.float32], timesteps: int, together: Together) -> dict[str, float]:
        """Several passes over a rollout.

        Args:
            samples: M of them.
            advantage: `[M]`.
            timesteps: decisions trained on so far.
            together: does the parts of a minibatch.

        Returns:
            What to log of the last pass.
        """
        config, size = self.config, len(advantage)
        parameters = list(self.model.parameters())
        self.optimizer.param_groups[0]["lr"] = config.at(timesteps, "learning_rate")
        of_entropy = config.at(timesteps, "ent_coef")
        of_kl = 0.0 if config.reference == "none" else config.kl_coef
        # Shuffled once, in memory: to gather samples from all over a rollout in every pass takes as long as half of the arithmetic.
        # Passes differ in which parts make up a minibatch.
        order = torch.randperm(size).numpy()
        samples = Samples._make(array[order] for array in samples)
        target = advantage[order] + samples.value
        advantage = ((advantage - advantage.mean()) / (advantage.std() + 1e-8))[order]
        batches, at_once = max(round(size / config.batch_size), 1), -(-config.batch_size // PART)
        edges = [size * k // (batches * at_once) for k in range(batches * at_once + 1)]
        parts = [slice(a, b) for a, b in pairwise(edges)]
        seen = torch.from_numpy(samples.seen)
        log_q = np.zeros(samples.legal.shape, np.float32)

        @torch.no_grad()
        def look_up(rows: slice) -> None:
            logits = self.reference(seen[rows].float()).masked_fill_(torch.from_numpy(samples.legal[rows]) == 0, -1e9)
            log_q[rows] = logits.log_softmax(1).numpy()

        def derive(rows: slice, weights: Weights) -> tuple[tuple[Tensor, ...], NDArray[np.float64]]:
            x = seen[rows].float()
            logits, value, logged = self.model.policy(x), self.model.value(x), np.zeros(4)
            of_logits, of_value = torch.empty_like(logits), torch.empty_like(value)
            _gradients(
                logits.detach().numpy(),
                value.detach().numpy(),
                Samples._make(array[rows] for array in samples),
                advantage[rows],
                target[rows],
                log_q[rows],
                weights,
                of_logits.numpy(),
                of_value.numpy(),
                logged,
            )
            return torch.autograd.grad((logits, value), parameters, (of_logits, of_value)), logged

        if of_kl:
            list(together(look_up, parts))
        for _ in range(config.n_epochs):
            logged = np.zeros(4)
            shuffled = [parts[k] for k in torch.randperm(len(parts)).tolist()]
            for batch in (shuffled[k : k + at_once] for k in range(0, len(parts), at_once)):
                in_batch = sum(rows.stop - rows.start for rows in batch)
                weights = Weights(*map(np.float32, (1 / in_batch, config.clip_range, config.vf_coef, of_entropy, of_kl)))
                done = list(together(partial(derive, weights=weights), batch))
                for parameter, *gradients in zip(parameters, *(gradients for gradients, _ in done), strict=True):
                    parameter.grad = sum(gradients[1:], gradients[0])
                nn.utils.clip_grad_norm_(parameters, 0.5)
                self.optimizer.step()
                logged += sum(of_part for _, of_part in done) * in_batch / size
        return dict(zip(("gain", "value_loss", "entropy", "kl"), logged.tolist(), strict=True))

    def agent(self, timesteps: int) -> NetworkAgent:
        """What is saved: the average of the weights, if there is one, which circles less than the policy itself."""
        policy = self.reference if self.config.reference == "average" else self.model.policy
        return as_agent(policy, self.layout, timesteps, self.config.temperature, value=self.model.value)

    @torch.no_grad()
    def move_reference(self, rollouts: int) -> None:
        """Bring the reference up to date, after so many rollouts."""
        if self.config.reference == "average":
            for held, now in zip(self.reference.parameters(), self.model.policy.parameters(), strict=True):
                held.lerp_(now, 1 / self.config.reference_period)
        elif rollouts % self.config.reference_period == 0:
            self.reference.load_state_dict(self.model.policy.state_dict())


class SelfPlayPPO:
    """The algorithm as `train.run` drives it.

    Attributes:
        timesteps: decisions trained on.
        module: the policy, its value, and its reference.
        optimizer: Adam.
    """

    def __init__(self, config: Config, folder: Path) -> None:  # noqa: ARG002 - it keeps no files of its own
        """Begin with a new policy."""
        torch.set_num_threads(1)  # threads share out parts of the work, not of each operation
        torch.manual_seed(config.seed)
        self.games = Collectors(config)
        self.learner = Learner(config, self.games.layout)
        self.module, self.optimizer = self.learner.both, self.learner.optimizer
        self.timesteps = self.rollouts = 0
        self._together = workers(config.threads)

    def begin_leg(self, seed: np.random.SeedSequence) -> None:
        """See `Algorithm`."""
        torch.manual_seed(int(seed.generate_state(1)[0]))
        self.games.begin(seed)

    def train_rollout(self) -> dict[str, float]:
        """See `Algorithm`."""
        samples, advantage = self.games.collect(self.learner.model, self._together)
        logged = self.learner.update(samples, advantage, self.timesteps, self._together)
        self.timesteps += len(advantage)
        self.rollouts += 1
        self.learner.move_reference(self.rollouts)
        lengths = self.games.lengths
        return {**logged, "length": float(np.mean(lengths)) if lengths else float("nan")}

    def agent(self) -> NetworkAgent:
        """See `Algorithm`."""
        return self.learner.agent(self.timesteps)

    def state(self) -> dict[str, Any]:
        """See `Algorithm`."""
        return {"rollouts": self.rollouts}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Algorithm`."""
        if type(state["rollouts"]) is not int:
            raise ValueError(f"rollouts is {state['rollouts']!r:.80}")
        self.rollouts = state["rollouts"]


RECIPE = Recipe(
    name="train.ppo",
    config=Config,
    make=SelfPlayPPO,
    keeps_best=False,
    judged_by="the last policy, whatever it wins: judge it by its exploitability",
)


def train(config: Config, folder: Path, quiet: bool = False) -> Path:
    """`train.run.train` with this recipe."""
    return run.train(RECIPE, config, folder, quiet=quiet)


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    return run.make_parser(RECIPE, __doc__ or "", prog)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m train.ppo") -> None:
    """Run the command."""
    run.command(RECIPE, make_parser(prog), arguments)


if __name__ == "__main__":
    main()
