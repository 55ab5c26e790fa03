"""What a recipe is: its options, its algorithm, and how it is named."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, get_type_hints

import numpy as np
import torch

from getbit_env.agent_registry import check_agents, load_agent
from getbit_env.core.choices import choice, did_you_mean, options_from
from getbit_env.core.spec import GameSpec
from getbit_env.game_registry import find_variant, game_of
from getbit_env.network import TrainedPolicy


def option(default: Any, meaning: str, *, least: float | None = None, most: float | None = None, over: float | None = None) -> Any:
    """A field of a recipe's options.

    Args:
        default: its value unless another is given.
        meaning: its sentence for `--help`.
        least: the least value that makes sense.
        most: the greatest one.
        over: a bound that it has to exceed.
    """
    return field(default_factory=lambda: default, metadata={"help": meaning, "least": least, "most": most, "over": over})


def check_options(options: Any) -> None:
    """Check every field of a dataclass of options, and make floats of whole numbers where floats belong.

    Raises:
        ValueError: one is not of its type, or out of its bounds.
    """
    kinds = get_type_hints(type(options))
    for entry in dataclasses.fields(options):
        value = _checked(flag(entry.name), kinds[entry.name], getattr(options, entry.name), entry.metadata)
        object.__setattr__(options, entry.name, value)


def check_used(options: Any, given: Collection[str] = ()) -> None:
    """Refuse options that would be ignored.

    Args:
        options: a dataclass of options, whose `unused` names those that have no effect beside the others, and says why.
        given: options that were typed. Typed ones are refused whatever their value, others unless they have their default.

    Raises:
        ValueError: one would be ignored.
    """
    unused: Mapping[str, str] = options.unused()
    for entry in dataclasses.fields(options):
        if entry.name not in unused:
            continue
        value, default = getattr(options, entry.name), entry.default_factory()  # type: ignore[operator]  # `option` gives every field one
        if entry.name in given or value != default:
            shown = " ".join(map(str, value)) if isinstance(value, list) else value
            raise ValueError(f"{flag(entry.name)} {shown!s:.80} would be ignored: {unused[entry.name]}; leave it out")


@dataclass(frozen=True)
class CommonConfig:
    """The options of every recipe."""

    variant: str = option("4p", "name of the variant")
    observe: list[str] = option([], "what the learner sees beyond what the rules make it see: names of the game's `Options`")
    reward: str | None = option(None, "what finishing places pay, by default the first of the game's rewards")

    total_timesteps: int = option(4_000_000, "decisions to train on", least=1, most=10**12)
    n_envs: int = option(1024, "games at a time", least=1, most=10**6)
    n_steps: int = option(32, "rounds, or own decisions, of each game in a rollout", least=1, most=10**6)
    batch_size: int = option(8192, "decisions a minibatch", least=2, most=10**9)
    n_epochs: int = option(4, "passes over a rollout", least=1, most=10**4)
    learning_rate: float = option(1e-3, "of Adam at the start", over=0, most=1e30)
    learning_rate_end: float = option(3e-4, "and at the end, linear in between", over=0, most=1e30)
    gae_lambda: float = option(0.95, "of the advantages; rewards are not discounted, since games end", least=0, most=1)
    clip_range: float = option(0.2, "range of the policy's ratio", over=0)
    ent_coef: float = option(0.05, "entropy coefficient at the start", least=0)
    ent_coef_end: float = option(0.02, "and at the end, linear in between", least=0)
    net_arch: list[int] = option([64, 64], "widths of the tanh layers, of policy and of value", least=1, most=10**5)

    eval_freq: int = option(8, "rollouts between evaluations", least=1)
    eval_opponents: list[str] | None = option(None, "agents against which the policy is evaluated, one kind at a time")
    eval_starts: int = option(480, "starts of an evaluation, each in every rotation of the seats", least=4, most=10**7)
    save_freq: int = option(16, "rollouts between checkpoints", least=1)
    seed: int = option(0, "of everything", least=0, most=2**32 - 1)

    def __post_init__(self) -> None:
        """Check every option, and fill in what depends on the game.

        Raises:
            ValueError: with what is wrong.
        """
        check_options(self)
        check_used(self)
        reward = next(iter(self.game.rewards)) if self.reward is None else choice(self.game.rewards, "--reward", self.reward)
        object.__setattr__(self, "reward", str(reward))
        self._set_agents("eval_opponents")
        _ = self.observed

    def unused(self) -> dict[str, str]:
        """The options that have no effect beside the others, and why; see `check_used`."""
        return {}

    def _set_agents(self, name: str) -> None:
        """Fill in the game's opponents where none are named; refuse agents that can't play the game."""
        if getattr(self, name) is None:
            object.__setattr__(self, name, list(self.game.default_opponents))
        names: list[str] = getattr(self, name)
        if not names:
            raise ValueError(f"{flag(name)} names at least one agent")
        for one in names:
            if names.count(one) > 1:
                raise ValueError(f"{flag(name)} names {one!r} twice")
            try:
                check_agents({one: load_agent(one)}, self.played)
            except ValueError as error:
                raise ValueError(f"{flag(name)}: {error}") from error

    @property
    def played(self) -> Any:
        """The variant to train on."""
        return find_variant(self.variant)

    @property
    def game(self) -> GameSpec:
        """The game that it is a variant of."""
        return game_of(self.played)

    @property
    def observed(self) -> Any:
        """What the learner sees: `Options` of the game's observations.

        Raises:
            ValueError: the game has nothing of the kind to show, or its rules hide it.
        """
        known = [entry.name for entry in dataclasses.fields(self.game.options)]
        for name in self.observe:
            if name not in known:
                there = f"there are {', '.join(known)}" if known else "there is nothing else to see"
                raise ValueError(f"--observe: {self.game} has no option {name!r}{did_you_mean(name, known)}; {there}")
            if name in self.game.secret_options:
                raise ValueError(f"--observe: {name} shows what the rules hide from players; no such policy can play matches")
        options = options_from(self.game.options, dict.fromkeys(self.observe, True))
        self.game.make_layout(self.played, options)
        return options

    def at(self, timesteps: int, name: str) -> float:
        """The value that an option with a schedule has after so many decisions: from `name` to `name_end`."""
        start, end = getattr(self, name), getattr(self, f"{name}_end")
        return float(start + min(timesteps / self.total_timesteps, 1.0) * (end - start))


def flag(name: str) -> str:
    """An option as it is typed."""
    return f"--{name.replace('_', '-')}"


def _checked(name: str, kind: Any, value: Any, bounds: Mapping[str, Any]) -> Any:
    """The value of an option, if it is of its type and within its bounds.

    Raises:
        ValueError: it is not.
    """
    if kind in (list[str], list[int], list[str] | None):
        if value is None and kind == list[str] | None:
            return None
        if not isinstance(value, list):
            raise ValueError(f"{name} is a list, not {value!r:.80}")
        return [_checked(name, int if kind == list[int] else str, one, bounds) for one in value]
    if kind in (str, str | None):
        if not (isinstance(value, str) or (value is None and kind == str | None)):
            raise ValueError(f"{name} is a text, not {value!r:.80}")
        return value
    if kind == float | None:
        if value is None:
            return None
        kind = float
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        value = float(value)
    if type(value) is not kind:
        raise ValueError(f"{name} is {'a whole number' if kind is int else 'a number'}, not {value!r:.80}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is a finite number, not {value}")
    least, most, over = bounds["least"], bounds["most"], bounds["over"]
    if least is not None and value < least:
        raise ValueError(f"{name} is at least {least}, not {value}")
    if most is not None and value > most:
        raise ValueError(f"{name} is at most {most:,}, not {value!s:.80}")
    if over is not None and value <= over:
        raise ValueError(f"{name} is over {over}, not {value}")
    return value


class Kept(Protocol):
    """What a checkpoint keeps of an algorithm."""

    timesteps: int  # decisions trained on, or iterations

    @property
    def module(self) -> torch.nn.Module:
        """All weights."""

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Adam, of which the moments are kept."""

    def state(self) -> dict[str, Any]:
        """What is kept beside weights and `timesteps`, for JSON."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go to what `state` returned.

        Raises:
            ValueError: it is none.
        """


class Algorithm(Kept, Protocol):
    """How a recipe learns. Everything random in a leg follows from the seed of `begin_leg`."""

    def begin_leg(self, seed: np.random.SeedSequence) -> None:
        """Begin all games anew."""

    def train_rollout(self) -> dict[str, float]:
        """Play a rollout and learn from it; returns the figures to record, always the same ones, NaN where there is none."""

    def agent(self) -> TrainedPolicy:
        """The policy to evaluate and save."""


@dataclass(frozen=True)
class Recipe:
    """A way to train.

    Attributes:
        name: its module, as in `python -m train.selfplay`.
        config: its class of options; a `CommonConfig` unless there is `go_on`.
        make: makes the algorithm, called with the options and the folder of the run; None with `go_on`.
        keeps_best: the policy of the evaluation with the best mean win rate is the run's; else the last one is.
        judged_by: which policy that is, for the card.
        go_on: trains to the end in place of `train.run`, for algorithms that play no games themselves: called with the run's file,
            its folder, and whether there is no progress bar. It writes what else the folder holds.
        last: the file of the folder that is written last. A run that has it is finished.
        leaves: what the folder holds at the end, for the last line of the command.
        examples: arguments that run, and what each is for; by default those of `train.run`.
    """

    name: str
    config: type[Any]
    make: Callable[[Any, Path], Algorithm] | None
    keeps_best: bool
    judged_by: str
    go_on: Callable[[Any, Path, bool], None] | None = None
    last: str = "card.md"
    leaves: str = "policy, card.md, learning.png, metrics.csv, tensorboard/"
    examples: Mapping[str, str] | None = None


class DivergedError(RuntimeError):
    """The weights are no numbers any more; the message says since when."""


class DamagedError(ValueError):
    """A file of a run can't be used; the message says which, and what to do."""
