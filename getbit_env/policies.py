"""Any policy as an agent: models of Stable-Baselines3, torch modules, and plain functions.

What plays is a copy of the policy as it was when the agent was made. Before it is trusted it is asked about observations of games
that are played at random, and compared with the policy that it was made from.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from getbit_env.agent_registry import is_agent, load_agent, text_of
from getbit_env.core.agent import Agent, SeatPlayer, name_of
from getbit_env.core.layouts import Show, layout_of
from getbit_env.core.messages import shown
from getbit_env.core.sampling import sample
from getbit_env.core.streams import RowStreams
from getbit_env.game_registry import find_variant, game_of

TOLERANCE = 1e-5  # probabilities of an agent and of what it was made from differ by no more; single precision gives about 1e-6
COMPARED = 512  # observations
GAMES, STEPS = 32, 64  # of sampled play
FEW_GAMES = 4  # likewise, for recurrent policies, which take a hundred times as long


class Kind(StrEnum):
    """What a policy answers with."""

    LOGITS = "logits"  # [B, A] unnormalised logarithms of probabilities
    VALUES = "values"  # [B, A] of the actions: it is greedy
    PROBABILITIES = "probabilities"  # [B, A]
    ACTIONS = "actions"  # [B]


class Answer(NamedTuple):
    """What a policy says."""

    kind: Kind
    scores: NDArray[Any]


Policy = Callable[[NDArray[np.float32], NDArray[np.int8]], Answer]
# A step of a recurrent policy: observations, masks and states `[..., B, H]` of some rows, and `[B]`, the rows whose games begin,
# whose states it takes for zero -> logits `[B, A]`, the next states.
RecurrentPolicy = Callable[
    [NDArray[np.float32], NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_]],
    tuple[NDArray[np.float64], NDArray[np.float32]],
]


def as_agent(
    policy: Any,
    *,
    env: Any = None,
    variant: Any = None,
    options: Any = None,
    normalize: Any = None,
    deterministic: bool = False,
    name: str | None = None,
) -> SeatPlayer:
    """Make an agent of a policy.

    Args:
        policy: one of

            - a model of Stable-Baselines3 or sb3-contrib with discrete actions (PPO, A2C, DQN, MaskablePPO, QRDQN, RecurrentPPO),
              or the path of its `.zip`. Loading a `.zip` runs code that is in it (`docs/trust.md`);
            - a torch module that maps observations `[B, D]` to logits `[B, A]`;
            - a function of observations `[B, D]` and masks `[B, A]` that returns probabilities `[B, A]` or actions `[B]`. It is a
              pure function: what it returns for a row depends on nothing but that row;
            - an agent, or its name (`load_agent`).
        env: an environment of this package, which says what observations mean; `VecNormalize` around it is folded in. By default
            that of the model.
        variant: the game that the policy was made for, or its name, in place of `env`. Without both the agent plays every game
            whose observations and actions have its sizes.
        options: of the observations, in place of `env`; by default those that fit the size of the policy's observations.
        normalize: the `VecNormalize` of the model, or the path of its pickle, which runs code as well. By default that around the
            model's environment; for a `.zip` the file beside it, see `docs/agents.md`.
        deterministic: the agent plays the likeliest action instead of drawing one. Policies of action values, such as DQN, always
            play the best one.
        name: what results call it.

    Returns:
        An agent. Illegal actions are left out of what it plays. It has `probabilities`, unless the policy is recurrent.

    Raises:
        ValueError: the policy can't be played, or the agent plays differently from the policy; the message says by how much.
        TypeError: it is nothing of these.
        ImportError: a `.zip` is given, and Stable-Baselines3 is not installed.

    Examples:
        >>> from getbit_env import as_agent
        >>> from getbit_env.match import play_match
        >>> def cautious(observation, action_mask):  # chances of actions, from arrays with a row for each seat
        ...     return action_mask / action_mask.sum(axis=1, keepdims=True)
        >>> print(play_match([as_agent(cautious), "random", "random", "random"], "4p", starts=24).failure)
        None
    """
    layout = _known_layout(env, variant, options)
    if _is_model_file(policy) or _is_model(policy):
        from getbit_env.sb3 import models  # here, since it imports torch

        inferred = find_variant(variant) if variant is not None and options is None else None
        return models.model_agent(
            policy,
            env=env,
            layout=None if inferred is not None else layout,
            variant=inferred,
            normalize=normalize,
            deterministic=deterministic,
            name=name,
        )
    if normalize is not None:
        raise ValueError(f"normalize belongs to a model of Stable-Baselines3, not to {shown(policy)}")
    if isinstance(policy, str | os.PathLike) or is_agent(policy):
        if deterministic or layout is not None:
            raise ValueError(f"an agent plays as it is: give no env, variant, options or deterministic with {shown(policy)}")
        return _seated(load_agent(policy), name or (text_of(policy) if isinstance(policy, str | os.PathLike) else None))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(policy, torch.nn.Module):
        from getbit_env.torch_policies import ModulePolicy

        module = ModulePolicy(policy)
        return PolicyAgent(module, layout=layout, deterministic=deterministic, name=name or type(policy).__name__)
    if callable(policy) and not isinstance(policy, type):
        called = name or str(getattr(policy, "__name__", type(policy).__name__))
        return PolicyAgent(FunctionPolicy(policy, called), layout=layout, deterministic=deterministic, name=called)
    raise TypeError(
        "a policy is a model of Stable-Baselines3 or the path of its .zip, a torch module, a function of observations and masks, "
        f"or an agent, not {shown(policy)}"
    )


def _known_layout(env: Any, variant: Any, options: Any) -> Any:
    """The layout that was named, or None."""
    if env is not None:
        if variant is not None or options is not None:
            raise ValueError("give env, or variant and options, and not both: env says what observations mean")
        return layout_of(env)
    if variant is None:
        if options is not None:
            raise ValueError("options are those of a variant: give variant as well")
        return None
    chosen = find_variant(variant)
    game = game_of(chosen)
    if options is not None and not isinstance(options, game.options):
        raise ValueError(f"options of {game} are {game.options()}, for example, not {shown(options)}")
    return game.make_layout(chosen, options)


def _is_model_file(policy: Any) -> bool:
    return isinstance(policy, str | os.PathLike) and Path(policy).suffix == ".zip"


def _is_model(policy: Any) -> bool:
    """Whether it is a model of Stable-Baselines3, or the policy of one."""
    return all(hasattr(policy, name) for name in ("observation_space", "action_space", "predict"))


class FunctionPolicy:
    """A plain function as a policy."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self._name = function, name

    def __call__(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> Answer:
        """Ask it; its own arrays, so that it may write into them."""
        given = np.asarray(self._function(observation.copy(), action_mask.copy()))
        if given.shape == action_mask.shape and given.dtype.kind == "f":
            return Answer(Kind.PROBABILITIES, given)
        if given.shape == (len(action_mask),) and given.dtype.kind in "iu":
            return Answer(Kind.ACTIONS, given)
        raise ValueError(
            f"{self._name} returns probabilities, floats {list(action_mask.shape)}, or actions, whole numbers "
            f"[{len(action_mask)}]; it returned {given.dtype} {list(given.shape)}"
        )


def distribution(answer: Answer, action_mask: NDArray[np.int8], deterministic: bool, name: str) -> NDArray[np.float64]:
    """What an answer says of the legal actions.

    Args:
        answer: of a policy.
        action_mask: `[B, A]`, 1 = legal.
        deterministic: whether the likeliest action has it all; of several, the first.
        name: of the policy, for messages.

    Returns:
        `[B, A]`, a distribution a row.

    Raises:
        ValueError: the answer says nothing of the kind.
    """
    legal = action_mask > 0
    rows = np.arange(len(legal))
    if answer.kind is Kind.ACTIONS:
        actions = answer.scores
        wrong = (actions < 0) | (actions >= legal.shape[1])
        wrong |= ~legal[rows, np.where(wrong, 0, actions)]
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"{name} plays {actions[row]}; legal are {np.flatnonzero(legal[row]).tolist()}")
        return _one_hot(actions, legal.shape[1])
    scores = answer.scores.astype(np.float64)
    if scores.shape != legal.shape:
        raise ValueError(f"{name} answers with {answer.kind} of shape {list(scores.shape)}, not {list(legal.shape)}")
    if not np.isfinite(scores[legal]).all():
        raise ValueError(f"{name} answers with {answer.kind} that are NaN or infinite")
    if answer.kind is Kind.PROBABILITIES:
        _check_distribution(scores, legal, name)
    if deterministic or answer.kind is Kind.VALUES:
        return _one_hot(np.where(legal, scores, -np.inf).argmax(axis=1), legal.shape[1])
    if answer.kind is Kind.LOGITS:
        scores = np.where(legal, scores, -np.inf)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    else:
        scores = np.where(legal, scores, 0)
    made: NDArray[np.float64] = scores / scores.sum(axis=1, keepdims=True)
    return made


def _one_hot(actions: NDArray[np.integer[Any]], size: int) -> NDArray[np.float64]:
    made: NDArray[np.float64] = np.eye(size)[actions]
    return made


def _check_distribution(scores: NDArray[np.float64], legal: NDArray[np.bool_], name: str) -> None:
    """Refuse rows that are no distribution over legal actions."""
    illegal = np.where(legal, 0, np.abs(scores)).sum(axis=1)
    wrong = ~(np.isfinite(scores).all(axis=1) & (scores >= 0).all(axis=1) & (abs(scores.sum(axis=1) - 1) < TOLERANCE))
    for rows, what in ((wrong, "no distribution"), (illegal > TOLERANCE, "a distribution over illegal actions as well")):
        if rows.any():
            row = int(rows.argmax())
            raise ValueError(f"{name} answers with {what}: {scores[row].tolist()}, legal {np.flatnonzero(legal[row]).tolist()}")


def difference(one: Answer, other: Answer) -> float:
    """How far two answers are apart at most: in probability, or of action values in parts of the larger one, if it is over 1."""
    if one.kind is not other.kind or one.scores.shape != other.scores.shape:
        return float("inf")
    if one.kind is Kind.ACTIONS:
        return float((one.scores != other.scores).any())
    a, b = one.scores.astype(np.float64), other.scores.astype(np.float64)
    if one.kind is Kind.LOGITS:
        a, b = _softmax(a), _softmax(b)
    elif one.kind is Kind.VALUES:
        scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1)
        a, b = a / scale, b / scale
    far = np.abs(a - b)
    return float("inf") if np.isnan(far).any() else float(far.max(initial=0))


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


class _Adapted(SeatPlayer):
    """What agents made of policies have in common."""

    name: str
    deterministic: bool
    options: Any
    game: str
    _reference: Any  # what it was made from, until both were compared
    _streams: RowStreams | None = None

    def __init__(self, *, layout: Any, sizes: tuple[int, int] | None, deterministic: bool, name: str) -> None:
        """Make the agent.

        Args:
            layout: of the observations that the policy reads; None: any of its sizes.
            sizes: entries of an observation, and actions; None: they are not known before it is asked.
            deterministic: whether it plays the likeliest action.
            name: what results call it.
        """
        self.name, self.deterministic = name, deterministic
        self._layout, self._sizes = layout, sizes
        self._trusted: set[tuple[str, Any]] = set()  # variants and options in which it was compared
        if layout is not None:
            self.options, self.game = layout.options, game_of(layout.variant).id
            self.check_layout(layout)

    def options_for(self, variant: Any) -> Any:
        """See `Agent`.

        Raises:
            ValueError: no observations of the variant have the size that the policy reads.
        """
        if self._layout is not None:
            return self._layout.options
        return None if self._sizes is None else fitting_options(variant, *self._sizes, self.name)

    def check_layout(self, layout: Any) -> None:
        """See `Agent`. In a game that is new to it, the agent is compared with what it was made from.

        Raises:
            ValueError: the observations are others than the policy reads, or the agent plays differently.
        """
        if self._layout is not None and layout.view != self._layout.view:
            mine = self._layout
            raise ValueError(f"{self.name} reads {mine.variant} with {mine.options}, not {layout.variant} with {layout.options}")
        if self._sizes is not None and self._sizes != (layout.size, layout.variant.actions):
            raise ValueError(
                f"{self.name} reads {self._sizes[0]} entries and has {self._sizes[1]} actions; {layout.variant} with "
                f"{layout.options} shows {layout.size} and has {layout.variant.actions}"
            )
        key = layout.variant.name, layout.options
        if key not in self._trusted:
            self._compare(layout)
            self._reference = None  # what plays is a copy: it can't come to differ
            self._trusted.add(key)

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `Agent`.

        Raises:
            ValueError: see `check_layout`.
        """
        self.check_layout(layout)
        if seed is not None or self._streams is None or self._streams.keys.size != begins.size:
            self._streams = RowStreams(seed, begins.size)
            self._forget(begins.size)
        self._begin_rows(begins)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `Agent`."""
        chooses = np.flatnonzero(observation.any(axis=1))
        probabilities = np.zeros(action_mask.shape)
        probabilities[:, 0] = 1
        if chooses.size:
            probabilities[chooses] = self._play(observation[chooses], action_mask[chooses], chooses)
        if self.deterministic:
            return np.asarray(probabilities.argmax(axis=1), np.int64)
        if self._streams is None:
            raise RuntimeError(f"{self.name} acts after a reset")
        return sample(probabilities, self._streams.keys, self._streams.counters)

    def _compare(self, layout: Any) -> None:
        """Compare the agent with what it was made from."""
        raise NotImplementedError

    def _forget(self, rows: int) -> None:
        """Forget all rows; there are so many from now on."""

    def _begin_rows(self, begins: NDArray[np.bool_]) -> None:
        """Begin the next game of some rows."""

    def _play(self, observation: NDArray[np.float32], mask: NDArray[np.int8], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distribution of the rows of these numbers, which all choose."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class PolicyAgent(_Adapted):
    """An agent made of a policy that looks at one observation, see `as_agent`."""

    def __init__(
        self,
        policy: Policy,
        *,
        reference: Policy | None = None,
        layout: Any = None,
        sizes: tuple[int, int] | None = None,
        deterministic: bool = False,
        name: str = "policy",
    ) -> None:
        """Make the agent.

        Args:
            policy: what plays.
            reference: what it was made from, which has to say the same.
            layout: of the observations that the policy reads; None: any of its sizes.
            sizes: entries of an observation, and actions; None: they are not known before it is asked.
            deterministic: whether it plays the likeliest action.
            name: what results call it.

        Raises:
            ValueError: the policy can't be played.
        """
        self._policy, self._reference = policy, reference
        super().__init__(layout=layout, sizes=sizes, deterministic=deterministic, name=name)

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """See `Agent`.

        Raises:
            ValueError: the policy answers with what says nothing of the legal actions.
        """
        return distribution(self._policy(observation, action_mask), action_mask, self.deterministic, self.name)

    def _play(self, observation: NDArray[np.float32], mask: NDArray[np.int8], rows: NDArray[np.int64]) -> NDArray[np.float64]:  # noqa: ARG002
        return self.probabilities(observation, mask)

    def _compare(self, layout: Any) -> None:
        observation, mask = sampled_observations(layout)
        try:
            answer = self._policy(observation, mask)
        except (RuntimeError, TypeError, IndexError) as error:  # such as layers of another size
            raise ValueError(f"{self.name} can't be asked about observations of {layout.variant}: {error}") from error
        distribution(answer, mask, self.deterministic, self.name)
        if answer.kind in (Kind.VALUES, Kind.ACTIONS):
            self.deterministic = True
        if self._reference is not None and not (far := difference(answer, self._reference(observation, mask))) <= TOLERANCE:
            raise ValueError(different(self.name, far))
        order = np.random.default_rng(1).permutation(len(observation))
        part = order[: len(order) // 2]
        again = self._policy(observation[part], mask[part])
        if not (far := difference(Answer(answer.kind, answer.scores[part]), again)) <= TOLERANCE:
            raise ValueError(
                f"{self.name} answers the same observations differently, by {far:.2g} where {TOLERANCE:g} is allowed: it has to "
                "depend on the observation and the mask of a row alone; a function that draws its actions returns their "
                "probabilities instead"
            )


class RecurrentAgent(_Adapted):
    """An agent made of a recurrent policy. Each row has a state of its own, which is zero when a game begins.

    What it plays depends on all that it has seen in a game, so it has no `probabilities`.
    """

    probabilities = None  # so that it is not judged by its actions either, where it is deterministic

    def __init__(
        self,
        policy: RecurrentPolicy,
        state_shape: tuple[int, ...],
        *,
        reference: RecurrentPolicy | None = None,
        layout: Any = None,
        sizes: tuple[int, int] | None = None,
        deterministic: bool = False,
        name: str = "policy",
    ) -> None:
        """Make the agent.

        Args:
            policy: what plays.
            state_shape: of the state of a row: `[..., H]`; the state of B rows is `[..., B, H]`.
            reference: what it was made from, which has to say the same.
            layout: of the observations that the policy reads; None: any of its sizes.
            sizes: entries of an observation, and actions.
            deterministic: whether it plays the likeliest action.
            name: what results call it.

        Raises:
            ValueError: the policy can't be played.
        """
        self._policy, self._reference, self._state_shape = policy, reference, state_shape
        super().__init__(layout=layout, sizes=sizes, deterministic=deterministic, name=name)

    def _forget(self, rows: int) -> None:
        self._state = self._zero(rows)
        self._first = np.ones(rows, np.bool_)  # the next decision is the first one of a game

    def _zero(self, rows: int) -> NDArray[np.float32]:
        return np.zeros((*self._state_shape[:-1], rows, self._state_shape[-1]), np.float32)

    def _begin_rows(self, begins: NDArray[np.bool_]) -> None:
        self._state[..., begins, :] = 0
        self._first |= begins

    def _play(self, observation: NDArray[np.float32], mask: NDArray[np.int8], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        logits, self._state[..., rows, :] = self._policy(observation, mask, self._state[..., rows, :], self._first[rows])
        self._first[rows] = False
        return distribution(Answer(Kind.LOGITS, logits), mask, self.deterministic, self.name)

    def _compare(self, layout: Any) -> None:
        if self._reference is None:
            return
        number = FEW_GAMES * layout.variant.players
        mine, theirs, far = self._zero(number), self._zero(number), 0.0
        first = np.zeros(number, np.bool_)
        for observation, mask, begins in sampled_play(layout, games=FEW_GAMES):
            mine[..., begins, :] = 0
            first |= begins
            rows = np.flatnonzero(observation.any(axis=1))
            seen, legal = observation[rows], mask[rows]
            logits, mine[..., rows, :] = self._policy(seen, legal, mine[..., rows, :], np.zeros(len(rows), np.bool_))
            wanted, theirs[..., rows, :] = self._reference(seen, legal, theirs[..., rows, :], first[rows])
            first[rows] = False
            far = max(far, difference(Answer(Kind.LOGITS, logits), Answer(Kind.LOGITS, wanted)))
        if not far <= TOLERANCE:
            raise ValueError(different(self.name, far))


class _Seated(SeatPlayer):
    """An agent of somebody's, which has got `begin` and `choose`. In all else it is that agent."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent, self.name = agent, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # `copy` and `pickle` ask before there is an agent
            raise AttributeError(name)
        return getattr(self._agent, name)

    def reset(self, layout: Any, begins: NDArray[np.bool_], seed: int | None) -> None:
        """See `Agent`."""
        self._agent.reset(layout, begins, seed)

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `Agent`."""
        return self._agent.act(observation, action_mask)


def _seated(agent: Agent, name: str | None) -> SeatPlayer:
    """The agent with `begin` and `choose`, called so."""
    if isinstance(agent, SeatPlayer) and name in (None, name_of(agent)):
        return agent
    return _Seated(agent, name or name_of(agent))


def different(name: str, far: float) -> str:
    """The message for an agent that plays differently from its policy."""
    return (
        f"{name} as an agent plays differently from the policy, by up to {far:.2g} where {TOLERANCE:g} is allowed: something "
        "between observation and action can't be exported"
    )


def fitting_options(variant: Any, size: int, actions: int, name: str) -> Any:
    """The options with which observations of a variant have a size; the default, if it has.

    Args:
        variant: the game.
        size: entries of an observation.
        actions: that the policy has.
        name: of the policy, for messages.

    Raises:
        ValueError: there are none, or several that show different things.
    """
    game = game_of(variant)
    names = [field.name for field in fields(game.options) if field.name not in game.secret_options]
    found: dict[Any, Any] = {}  # by view; the fewest options first
    sizes = []
    for chosen in sorted(itertools.product((False, True), repeat=len(names)), key=sum):
        options = game.options(**dict(zip(names, chosen, strict=True)))
        layout = game.make_layout(variant, options)
        sizes.append(layout.size)
        if layout.size == size and variant.actions == actions:
            found.setdefault(layout.view, options)
    if not found:
        more = f", or {min(sizes[1:])} to {max(sizes)} with options" if len(sizes) > 1 else ""
        raise ValueError(
            f"{name} reads {size} entries and has {actions} actions; {variant} has {variant.actions} and shows {sizes[0]}{more}"
        )
    first = next(iter(found.values()))
    if len(found) > 1 and first != game.options():
        raise ValueError(
            f"{name} reads {size} entries, as {variant} shows with {' or '.join(map(str, found.values()))}: name the options, "
            "getbit_env.as_agent(..., variant=..., options=...)"
        )
    return first


def sampled_play(
    layout: Any, seed: int = 0, games: int = GAMES
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.bool_]]]:
    """What players see in games in which all actions are drawn at random.

    Args:
        layout: of the observations.
        seed: of the games.
        games: how many at a time.

    Yields:
        Observations `[B, D]`, zero where a player has nothing to choose, masks `[B, A]`, and `[B]`, whose game begins.
    """
    variant = layout.variant
    engine = game_of(variant).make_engine(variant, games, seed=seed, options=layout.options)
    rng = np.random.default_rng(seed)
    begin, everywhere = np.ones(games, np.uint8), np.full(games, Show.CHOOSING, np.uint8)
    for _ in range(STEPS):
        engine.start(begin)
        engine.observe(everywhere)
        mask = engine.action_mask.copy()
        seen, rows = engine.observation.copy(), games * variant.players
        yield seen.reshape(rows, -1), mask.reshape(rows, -1), np.repeat(begin > 0, variant.players)
        engine.play((rng.random(mask.shape) * mask).argmax(axis=2))
        begin = engine.outcome.over.copy()


def sampled_observations(layout: Any, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Some of those of `sampled_play`, of players who choose: `[N, D]` and `[N, A]`."""
    seen, masks = [], []
    for observation, mask, _ in sampled_play(layout, seed):
        chooses = observation.any(axis=1)
        seen.append(observation[chooses])
        masks.append(mask[chooses])
    all_seen, all_masks = np.concatenate(seen), np.concatenate(masks)
    some = np.random.default_rng(seed).permutation(len(all_seen))[:COMPARED]
    return all_seen[some], all_masks[some]
