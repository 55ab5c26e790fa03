"""Self-play PPO in which every seat learns from every game.

    python -m train.ppo --players 4 --frames 10000000 --output runs/second
    python -m train.ppo --resume runs/second

One policy plays all seats; a seat whose robot is out gives no samples until its next game. Beside the entropy, the policy is held
to a reference, its own past: KL regularisation is what makes policy gradients approach an equilibrium in self-play
(magnetic mirror descent, arXiv 2206.05825; a refreshed reference, 2510.18183; an average of the own weights, 2606.23995).
What the folder of a run holds, and how a run is resumed, is said in `train.run`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from getbit_env._compiled import kernel
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout
from getbit_env.network import FILE, NetworkAgent, save_network
from train.run import (
    Common,
    append_evaluation,
    append_row,
    command,
    interruptible,
    load_checkpoint,
    option,
    play_tables,
    save_checkpoint,
    write_card,
)

REFERENCES = ("none", "refreshed", "average")


@dataclass(frozen=True)
class Config(Common):
    """Every option of a run."""

    games: int = option(512, "games at a time")
    entropy: float = option(0.05, "entropy coefficient at the start")
    entropy_end: float = option(0.005, "and at the end, linear in between")
    reference: str = option("average", "what the policy is held to: none, refreshed, or average (of its own weights)")
    kl: float = option(0.1, "coefficient of the KL divergence of the policy from the reference")
    refresh: int = option(50, "refreshed: rollouts between refreshes; average: rollouts that it reaches back")
    value: float = option(0.5, "coefficient of the value loss")

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            ValueError: with what is wrong.
        """
        super().__post_init__()
        if self.reference not in REFERENCES:
            raise ValueError(f"--reference is one of {', '.join(REFERENCES)}, not {self.reference}")


# --- the policy --------------------------------------------------------------------------------------------------------------


def tanh_layers(sizes: Sequence[int], last_gain: float) -> nn.Sequential:
    """Linear layers with tanh between them, orthogonal at the start."""
    layers: list[nn.Module] = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        linear = nn.Linear(a, b)
        last = k == len(sizes) - 2
        nn.init.orthogonal_(linear.weight, last_gain if last else 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, nn.Tanh()]
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    """Policy and value, each with layers of its own."""

    def __init__(self, layout: Layout, widths: Sequence[int]) -> None:
        super().__init__()
        self.policy = tanh_layers([layout.size, *widths, layout.variant.actions], 0.01)
        self.value = tanh_layers([layout.size, *widths, 1], 1.0)


def log_policy(policy: nn.Module, seen: Tensor, legal: Tensor) -> Tensor:
    """Logarithms of the probabilities of all actions, `[B, A]`; -1e9 where illegal."""
    return F.log_softmax(policy(seen).masked_fill(~legal, -1e9), -1)


def as_agent(model: ActorCritic, layout: Layout, frames: int, name: str = "learner") -> NetworkAgent:
    """The policy as it is now."""
    linear = [layer for layer in model.policy if isinstance(layer, nn.Linear)]
    layers = [(layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in linear]
    return NetworkAgent(layers, layout.variant, layout.options, name=name, about={"frames": str(frames)})


# --- a rollout ---------------------------------------------------------------------------------------------------------------


class Rollout(NamedTuple):
    """What the seats that had a choice saw, did, and should have done: M samples."""

    seen: Tensor  # [M, D]
    legal: Tensor  # [M, A] bool
    action: Tensor  # [M]
    log_probability: Tensor  # [M] of the action, by the policy that chose it
    advantage: Tensor  # [M]
    target: Tensor  # [M] of the value


@kernel
def _advantages(
    reward: NDArray[np.float32],
    value: NDArray[np.float32],
    chose: NDArray[np.bool_],
    ended: NDArray[np.bool_],
    decay: np.float32,
    advantage: NDArray[np.float32],
) -> None:
    """Generalised advantage estimates of every seat over its own steps; all `[T, N]`, `value` has a row more for what follows."""
    steps, seats = reward.shape
    for n in range(seats):
        ahead = np.float32(0)
        for t in range(steps - 1, -1, -1):
            if not chose[t, n]:
                ahead = np.float32(0)
            elif ended[t, n]:
                ahead = reward[t, n] - value[t, n]
            else:
                ahead = reward[t, n] + value[t + 1, n] - value[t, n] + decay * ahead
            advantage[t, n] = ahead


class Collector:
    """Plays all seats of G games with the policy. Axes: N = G * P seats, T rounds.

    Attributes:
        layout: of the observations.
        rounds: lengths of the games that ended in the last rollout.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.engine = Engine(config.game, config.games, options=config.options, reward=config.reward)
        seats, layout = config.games * config.game.players, self.engine.layout
        self.layout = layout
        steps = config.rollout
        self._seen = np.zeros((steps, seats, layout.size), np.float32)
        self._legal = np.zeros((steps, seats, config.game.actions), np.bool_)
        self._action = np.zeros((steps, seats), np.int64)
        self._log_probability = np.zeros((steps, seats), np.float32)
        self._value = np.zeros((steps + 1, seats), np.float32)
        self._reward = np.zeros((steps, seats), np.float32)
        self._chose = np.zeros((steps, seats), np.bool_)
        self._ended = np.zeros((steps, seats), np.bool_)
        self.rounds: list[int] = []

    def begin(self, seed: int) -> None:
        """Begin all games anew."""
        self.engine.seed(seed)
        self.engine.start()
        self._rng = np.random.default_rng(seed)

    @torch.no_grad()
    def collect(self, model: ActorCritic) -> Rollout:
        """Play T rounds."""
        config, engine, view = self.config, self.engine, self.engine.layout.view
        blank = np.ones(engine.size, np.uint8)  # who is out sees nothing
        self.rounds.clear()
        actions = np.zeros(engine.size * view.players, np.int64)
        for t in range(config.rollout + 1):
            engine.observe(blank)
            seen = engine.observation.reshape(len(actions), -1)
            rows = np.flatnonzero(seen[:, view.limb])  # the robot in front is always in the line, so a row that sees has this entry
            tensor = torch.from_numpy(seen[rows])
            self._value[t, rows] = model.value(tensor).squeeze(-1).numpy()
            if t == config.rollout:
                break
            legal = engine.action_mask.reshape(len(actions), -1)[rows].astype(np.bool_)
            log_probability = log_policy(model.policy, tensor, torch.from_numpy(legal)).numpy()
            # The largest of log-probabilities plus Gumbel noise is a draw from the distribution.
            noise = -np.log(self._rng.standard_exponential(log_probability.shape) + 1e-30)
            chosen = (log_probability + noise).argmax(1)
            actions[rows] = chosen
            self._seen[t] = seen
            self._legal[t, rows] = legal
            self._action[t, rows] = chosen
            self._log_probability[t, rows] = log_probability[np.arange(len(rows)), chosen]
            self._chose[t] = False
            self._chose[t, rows] = True
            engine.play(actions.reshape(engine.size, -1))
            self._reward[t] = engine.outcome.reward.T.reshape(-1)
            self._ended[t] = engine.outcome.finish.T.reshape(-1) > 0
            over = engine.outcome.over
            self.rounds += engine.state.rounds[over > 0].tolist()
            engine.start(over)
        advantage = np.zeros_like(self._reward)
        _advantages(self._reward, self._value, self._chose, self._ended, np.float32(config.gae_lambda), advantage)
        chose = self._chose.reshape(-1)
        target = advantage + self._value[:-1]
        return Rollout(
            *(
                torch.from_numpy(array.reshape(len(chose), *array.shape[2:])[chose])
                for array in (self._seen, self._legal, self._action, self._log_probability, advantage, target)
            )
        )


# --- learning ----------------------------------------------------------------------------------------------------------------


class Learner:
    """The policy, its reference, and their update."""

    def __init__(self, config: Config, layout: Layout) -> None:
        self.config = config
        self.model = ActorCritic(layout, config.network)
        self.reference = copy.deepcopy(self.model.policy).requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.model.parameters(), config.learning_rate, eps=1e-5)
        self.both = nn.ModuleDict({"model": self.model, "reference": self.reference})  # what a checkpoint holds

    def update(self, rollout: Rollout, frames: int) -> dict[str, float]:
        """Several passes over a rollout; what to log of the last one."""
        config = self.config
        self.optimiser.param_groups[0]["lr"] = config.at(frames, "learning_rate")
        entropy_coefficient = config.at(frames, "entropy")
        with torch.no_grad():
            held_to = log_policy(self.reference, rollout.seen, rollout.legal) if config.reference != "none" else None
        advantage = (rollout.advantage - rollout.advantage.mean()) / (rollout.advantage.std() + 1e-8)
        size = len(advantage)
        logged = np.zeros(4)
        for epoch in range(config.epochs):
            for batch in torch.split(torch.randperm(size), config.batch):
                legal = rollout.legal[batch]
                log_probability = log_policy(self.model.policy, rollout.seen[batch], legal)
                probability = log_probability.exp()
                chosen = log_probability.gather(1, rollout.action[batch, None]).squeeze(1)
                ratio = (chosen - rollout.log_probability[batch]).exp()
                gain = torch.min(ratio * advantage[batch], ratio.clamp(1 - config.clip, 1 + config.clip) * advantage[batch]).mean()
                value = F.mse_loss(self.model.value(rollout.seen[batch]).squeeze(-1), rollout.target[batch])
                entropy = -(probability * log_probability).sum(1).mean()
                kl = (probability * (log_probability - held_to[batch])).sum(1).mean() if held_to is not None else torch.zeros(())
                loss = -gain + config.value * value - entropy_coefficient * entropy + config.kl * kl
                self.optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
                nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
                self.optimiser.step()
                if epoch == config.epochs - 1:
                    logged += [float(x.detach()) * len(batch) / size for x in (gain, value, entropy, kl)]
        return dict(zip(("gain", "value_loss", "entropy", "kl"), logged.tolist(), strict=True))

    @torch.no_grad()
    def move_reference(self, rollouts: int) -> None:
        """Bring the reference up to date, after so many rollouts."""
        if self.config.reference == "average":
            for held, now in zip(self.reference.parameters(), self.model.policy.parameters(), strict=True):
                held.lerp_(now, 1 / self.config.refresh)
        elif rollouts % self.config.refresh == 0:
            self.reference.load_state_dict(self.model.policy.state_dict())


def train(config: Config, folder: Path, quiet: bool = False) -> Path:
    """Train, or go on where the folder's last checkpoint is.

    Args:
        config: every option.
        folder: of the run, with its `config.json`.
        quiet: no progress bar.

    Returns:
        The folder.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; what was learnt is saved.
    """
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    collector = Collector(config)
    learner = Learner(config, collector.layout)
    state: dict[str, Any] = {"leg": 0, "frames": 0, "rollouts": 0, "best": -1.0, "seconds": 0.0}
    state |= load_checkpoint(folder, learner.both, learner.optimiser) or {}
    board = SummaryWriter(str(folder / "tensorboard"))
    since = time.perf_counter()

    def evaluate() -> None:
        agent = as_agent(learner.model, collector.layout, state["frames"])
        results = play_tables(agent, config.evaluation_tables, config.evaluation_lines, config.seed)
        append_evaluation(folder / "evaluation.csv", state["frames"], results)
        score = float(np.mean([result["learner"].win.mean for result in results.values()]))
        if score > state["best"]:
            state["best"] = score
            save_network(folder / FILE, agent)

    with (
        interruptible() as interrupt,
        tqdm(total=config.frames, initial=state["frames"], unit="frame", unit_scale=True, mininterval=1, disable=quiet) as bar,
    ):
        while state["frames"] < config.frames and not interrupt.pressed:
            drawn = np.random.SeedSequence([config.seed, state["leg"]]).generate_state(2)
            torch.manual_seed(int(drawn[0]))
            collector.begin(int(drawn[1]))
            for _ in range(config.leg):
                rollout = collector.collect(learner.model)
                logged = learner.update(rollout, state["frames"])
                state["frames"] += len(rollout.action)
                state["rollouts"] += 1
                learner.move_reference(state["rollouts"])
                bar.update(len(rollout.action))
                seconds = state["seconds"] + time.perf_counter() - since
                row = {
                    "frames": state["frames"],
                    "seconds": round(seconds, 1),
                    **logged,
                    "rounds": float(np.mean(collector.rounds)),
                }
                append_row(folder / "metrics.csv", row)
                for name, figure in row.items():
                    board.add_scalar(f"ppo/{name}", figure, state["frames"])
                if state["rollouts"] % config.evaluate == 0:
                    evaluate()
                if interrupt.pressed or state["frames"] >= config.frames:
                    break
            now = time.perf_counter()
            state["seconds"] += now - since
            since = now
            state["leg"] += 1
            save_network(folder / "last.safetensors", as_agent(learner.model, collector.layout, state["frames"]))
            save_checkpoint(folder, state["leg"], learner.both, learner.optimiser, state)
    board.close()
    if interrupt.pressed:
        raise KeyboardInterrupt
    evaluate()
    write_card(folder, config, state["frames"], state["seconds"])
    return folder


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    command(Config, train, "python -m train.ppo", __doc__ or "", arguments)


if __name__ == "__main__":
    main()
