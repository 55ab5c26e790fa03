"""Does a PettingZoo environment keep its contract? Checks for any environment, where PettingZoo's own tests do not look.

`check_parallel` and `check_aec` play whole games, legally where there are masks, and raise one `ConformanceError` that lists every
check that failed, what was seen, and how to mend it. Use them beside `pettingzoo.test`, not in its place.

    from getbit_env.conformance import check_parallel

    def test_my_env():
        check_parallel(lambda: my_env.parallel_env(render_mode="rgb_array"))
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv, ParallelEnv

SEEDS = (0, 1, 2)  # games that are looked at from beginning to end
RESETS = 6  # games among which at least two differ, where chance plays a part


class Failure(NamedTuple):
    """A check that failed."""

    check: str
    seen: str
    mend: str


class ConformanceError(AssertionError):
    """An environment does not keep the contract.

    Attributes:
        failures: each check that failed, in the order of `PARALLEL_CHECKS` or `AEC_CHECKS`.
    """

    def __init__(self, env: str, failures: list[Failure]) -> None:
        """Put the failures into words."""
        self.failures = failures
        listed = "\n".join(f"- {f.check}: {f.seen}\n  to mend: {f.mend}" for f in failures)
        super().__init__(f"{env} fails {len(failures)} check{'s' * (len(failures) > 1)}:\n{listed}")


class Report(NamedTuple):
    """What a check of an environment that keeps the contract found."""

    passed: tuple[str, ...]
    not_shown: dict[str, str]  # checks that had nothing to look at, and why


def check_parallel(
    make_env: Callable[[], ParallelEnv[Any, Any, Any]], *, strict: bool = False, skip: Collection[str] = (), max_steps: int = 10_000
) -> Report:
    """Check a `ParallelEnv`.

    Args:
        make_env: makes a new environment at each call. Give it a render mode, and rendering is checked too.
        strict: check also that wrong actions are refused by name (`STRICT_CHECKS`), which not every environment promises.
        skip: names of checks to leave out.
        max_steps: a game is over after so many steps.

    Returns:
        What passed, and what could not be shown.

    Raises:
        ConformanceError: a check failed.
        TypeError: `make_env` is no function.
        ValueError: `skip` names a check that there is not.
    """
    return _check(_ParallelGame, make_env, strict, skip, max_steps)


def check_aec(
    make_env: Callable[[], AECEnv[Any, Any, Any]], *, strict: bool = False, skip: Collection[str] = (), max_steps: int = 10_000
) -> Report:
    """Check an `AECEnv`; otherwise as `check_parallel`."""
    return _check(_AecGame, make_env, strict, skip, max_steps)


# How games are played -------------------------------------------------------------------------------------------------------


class _Wrong(Exception):  # noqa: N818 - it never leaves the module
    """A check failed; the message says what it saw."""


class _NotShown(Exception):  # noqa: N818 - it never leaves the module
    """Why a check has nothing to look at."""


class _Moment(NamedTuple):
    """All that an environment says after `reset` or a step."""

    holders: tuple[Any, ...]  # whom it has to speak of: those who acted; in AEC, those who are in `agents`
    agents: tuple[Any, ...]  # `agents` afterwards
    observations: Any
    rewards: Any
    terminations: Any
    truncations: Any
    infos: Any
    state: Any
    selection: Any = None  # AEC only: who acts next, and what `last` tells it
    last: Any = None

    def ended(self, agent: Any) -> bool:
        return bool(self.terminations.get(agent) or self.truncations.get(agent))


_COMPARED = ("agents", "observations", "rewards", "terminations", "truncations", "infos", "state", "selection", "last")


class _Game:
    """A game in play, and everything that was said in it.

    Attributes:
        moments: what was said; `kept` is the same, copied at the time.
    """

    base: Any  # the class of the environment

    def __init__(self, env: Any, seed: int | None, twist: Callable[[Any], Any] | None = None, spoil: bool = False) -> None:
        self.env, self.twist, self.spoil = env, twist or (lambda action: action), spoil
        self.rng = np.random.default_rng(0)
        self.samplers: dict[Any, spaces.Space[Any]] = {}
        self.begin(seed)

    def begin(self, seed: int | None = None) -> None:
        self.moments: list[_Moment] = []
        self.kept: list[_Moment] = []
        self._note(self._reset({} if seed is None else {"seed": seed}))

    @property
    def over(self) -> bool:
        return not self.env.agents

    def move(self) -> None:
        self._note(self._step())

    def play(self, steps: int) -> _Game:
        """Play on to the end, but no further than so many steps."""
        while not self.over and len(self.moments) <= steps:
            self.move()
        return self

    def copied(self, how: Callable[[Any], Any]) -> _Game:
        """The game with the environment copied."""
        other = copy.copy(self)
        other.env = how(self.env)
        other.rng, other.samplers = copy.deepcopy((self.rng, self.samplers))
        other.moments, other.kept = self.moments[:], self.kept[:]
        return other

    def choose(self, agent: Any) -> Any:
        space, now = self.env.action_space(agent), self.kept[-1]
        if not isinstance(space, spaces.Discrete):
            if agent not in self.samplers:
                self.samplers[agent] = copy.deepcopy(space)
                self.samplers[agent].seed(len(self.samplers))
            return self.samplers[agent].sample()
        legal = np.arange(space.n)
        for mask in _masks(now, agent).values():
            legal = np.flatnonzero(mask) if np.any(mask) else legal
        return int(space.start + legal[self.rng.integers(len(legal))])

    def _note(self, moment: _Moment) -> None:
        self.moments.append(moment)
        self.kept.append(_Moment(*copy.deepcopy(tuple(moment))))
        if self.spoil:
            seen = moment.last if self.base is AECEnv else (moment.observations, moment.infos)
            for array in _arrays(seen).values():
                if array.flags.writeable:
                    array[...] = 1 - array if array.dtype != np.bool_ else ~array

    def _reset(self, arguments: dict[str, Any]) -> _Moment:
        raise NotImplementedError

    def _step(self) -> _Moment:
        raise NotImplementedError


class _ParallelGame(_Game):
    base = ParallelEnv

    def _reset(self, arguments: dict[str, Any]) -> _Moment:
        said = self.env.reset(**arguments)
        if not (isinstance(said, tuple) and len(said) == 2):
            raise _Wrong(f"reset returned {_short(said)}, not (observations, infos)")
        observations, infos = said
        return self._moment(list(self.env.agents), (observations, {}, {}, {}, infos))

    def _step(self) -> _Moment:
        agents = list(self.env.agents)
        actions = {agent: self.choose(agent) for agent in agents}
        return self._moment(agents, self.env.step(self.twist(actions)))

    def _moment(self, holders: list[Any], said: Any) -> _Moment:
        if not (isinstance(said, tuple) and len(said) == 5 and all(isinstance(part, dict) for part in said)):
            raise _Wrong(f"step {len(self.moments)} returned {_short(said)}, not five dicts")
        return _Moment(tuple(holders), tuple(self.env.agents), *said, state=_state(self.env))


class _AecGame(_Game):
    base = AECEnv

    def _reset(self, arguments: dict[str, Any]) -> _Moment:
        self.env.reset(**arguments)
        return self._moment()

    def _step(self) -> _Moment:
        agent = self.env.agent_selection
        ended = self.env.terminations[agent] or self.env.truncations[agent]
        self.env.step(None if ended else self.twist(self.choose(agent)))
        return self._moment()

    def _moment(self) -> _Moment:
        env = self.env
        agents = tuple(env.agents)
        return _Moment(
            holders=agents,
            agents=agents,
            observations={agent: env.observe(agent) for agent in agents},
            rewards=dict(env.rewards),
            terminations=dict(env.terminations),
            truncations=dict(env.truncations),
            infos=dict(env.infos),
            state=_state(env),
            selection=env.agent_selection if agents else None,
            last=env.last() if agents else None,
        )


class _Trial:
    """An environment on trial."""

    def __init__(self, kind: type[_Game], make_env: Callable[[], Any], max_steps: int) -> None:
        self.kind, self.make_env, self.max_steps = kind, make_env, max_steps
        self.games: list[_Game] = []  # whole games, of the seeds `SEEDS`

    def game(self, seed: int | None = 0, **how: Any) -> _Game:
        """A new game in a new environment."""
        return self.kind(self.make_env(), seed, **how)

    def whole(self, seed: int | None = 0, **how: Any) -> _Game:
        return self.game(seed, **how).play(self.max_steps)

    def moments(self) -> Iterator[tuple[str, _Moment]]:
        """All that was said in whole games, and when."""
        for game in self.games:
            for step, moment in enumerate(game.kept):
                yield (f"step {step}" if step else "reset"), moment

    def compare(self, one: _Game, two: _Game, what: str, fields: Collection[str] = _COMPARED) -> None:
        """Two games must be the same."""
        for step, (a, b) in enumerate(zip(one.kept, two.kept, strict=False)):
            for field in fields:
                difference = _difference(getattr(a, field), getattr(b, field))
                if difference:
                    raise _Wrong(f"{what}: {f'step {step}' if step else 'reset'}, {field}{difference}")
        if len(one.kept) != len(two.kept):
            raise _Wrong(f"{what}: one game has {len(one.kept) - 1} steps, the other {len(two.kept) - 1}")


_OTHER_CHECK = {ParallelEnv: "check_aec is for AEC environments", AECEnv: "check_parallel is for parallel environments"}

# The checks -----------------------------------------------------------------------------------------------------------------


class _Check(NamedTuple):
    run: Callable[[_Trial], None]
    mend: str
    strict: bool
    demand: str


_CHECKS: dict[type[_Game], dict[str, _Check]] = {_ParallelGame: {}, _AecGame: {}}


def _demands(
    name: str, mend: str, *, only: type[_Game] | None = None, strict: bool = False
) -> Callable[[Callable[[_Trial], None]], Callable[[_Trial], None]]:
    def register(run: Callable[[_Trial], None]) -> Callable[[_Trial], None]:
        for kind, checks in _CHECKS.items():
            if only in (None, kind):
                checks[name] = _Check(run, mend, strict, " ".join((run.__doc__ or "").split()).rstrip("."))
        return run

    return register


def _check(kind: type[_Game], make_env: Callable[[], Any], strict: bool, skip: Collection[str], max_steps: int) -> Report:
    checks = _CHECKS[kind]
    unknown = set(skip) - checks.keys()
    if unknown:
        raise ValueError(f"there is no check {', '.join(sorted(unknown))}; there are {', '.join(checks)}")
    if not callable(make_env):
        raise TypeError(
            f"make_env is a function that makes a new environment at each call, as `lambda: my_env()` does, not {make_env}"
        )
    trial = _Trial(kind, make_env, max_steps)
    passed: list[str] = []
    not_shown: dict[str, str] = {}
    failures: list[Failure] = []
    for name, check in checks.items():
        if name in skip or (check.strict and not strict):
            continue
        try:
            check.run(trial)
        except _NotShown as reason:
            not_shown[name] = str(reason)
        except _Wrong as wrong:
            failures.append(Failure(name, str(wrong), check.mend))
        except Exception as error:
            failures.append(Failure(name, f"the environment raised {error!r}", check.mend))
        else:
            passed.append(name)
        if name == "before_reset" and not isinstance(make_env(), kind.base):
            break  # the other checks are about another kind of environment
        if not trial.games and name == "plays":
            break  # what can't be played can't be looked at
    if failures:
        raise ConformanceError(f"{make_env()}", failures) from None
    return Report(tuple(passed), not_shown)


@_demands(
    "before_reset",
    "Set these in __init__; only what depends on the game has to wait for reset.",
)
def _before_reset(trial: _Trial) -> None:
    """Before the first reset, possible_agents, spaces, metadata and render_mode are there; in a ParallelEnv also agents."""
    env = trial.make_env()
    if not isinstance(env, trial.kind.base):
        other = f"; {_OTHER_CHECK[trial.kind.base]}" if isinstance(env, AECEnv | ParallelEnv) else ""
        raise _Wrong(f"make_env made {_short(env)}, which is no {trial.kind.base.__name__}{other}")
    for name in ["possible_agents", "metadata", "render_mode", *["agents", "num_agents"] * (trial.kind is _ParallelGame)]:
        try:
            getattr(env, name)
        except Exception as error:
            raise _Wrong(f"before reset, {name} raised {error!r}") from error
    for agent in env.possible_agents:
        for function in (env.observation_space, env.action_space):
            try:
                function(agent)
            except Exception as error:
                raise _Wrong(f"before reset, {function.__name__}({agent!r}) raised {error!r}") from error


@_demands("plays", "Accept what the masks allow, return what PettingZoo asks for, and end every game, by truncation at the latest.")
def _plays(trial: _Trial) -> None:
    """Whole games can be played, legally, and they end."""
    if trial.make_env() is trial.make_env():
        raise _Wrong("make_env returned the same environment twice; it has to make a new one at each call")
    games: list[_Game] = []
    for seed in SEEDS:
        game = trial.game(seed)
        if game.over:
            raise _Wrong("agents is empty after reset")
        try:
            game.play(trial.max_steps)
        except _Wrong:
            raise
        except Exception as error:
            raise _Wrong(f"seed {seed}, step {len(game.moments)}: the environment raised {error!r}") from error
        if not game.over:
            raise _Wrong(f"after {trial.max_steps} steps the game still goes on")
        games.append(game)
    trial.games = games


@_demands("spaces", "Make each agent's spaces once, in __init__, and return those.")
def _spaces(trial: _Trial) -> None:
    """A space is the same object at every call, and each agent has its own, or seeding one seeds another."""
    game = trial.game()
    env = game.env
    found: dict[tuple[str, Any], Any] = {}
    for when in ("after reset", "after a step"):
        for agent in env.possible_agents:
            for function in (env.observation_space, env.action_space):
                space, name = function(agent), function.__name__
                if not isinstance(space, spaces.Space):
                    raise _Wrong(f"{name}({agent!r}) is {_short(space)}, no gymnasium space")
                if space is not found.setdefault((name, agent), space) or space is not function(agent):
                    raise _Wrong(f"{when}, {name}({agent!r}) is another object than before")
        game.move()
    for name in ("observation_space", "action_space"):
        owner: dict[int, Any] = {}
        for agent in env.possible_agents:
            other = owner.setdefault(id(found[name, agent]), agent)
            if other != agent:
                raise _Wrong(f"{name} of {other} and of {agent} are one object")


@_demands("dicts", "Speak exactly of those who acted: an agent that ends appears once more, and then never again.")
def _dicts(trial: _Trial) -> None:
    """Observations, rewards, terminations and truncations hold exactly the agents that acted (AEC: those in agents)."""
    for when, moment in trial.moments():
        for name in ("observations", "rewards", "terminations", "truncations"):
            said = getattr(moment, name)
            if said or name == "observations" or when != "reset":
                _same_agents(f"{when}, {name}", said, moment.holders)


@_demands("infos", "Return an info, if only an empty dict, for each of those agents and for nobody else.")
def _infos(trial: _Trial) -> None:
    """Infos hold exactly these agents too, and are dicts."""
    for when, moment in trial.moments():
        _same_agents(f"{when}, infos", moment.infos, moment.holders)
        for agent, info in moment.infos.items():
            if not isinstance(info, dict):
                raise _Wrong(f"{when}: the info of {agent} is {_short(info)}, no dict")


@_demands("agents", "Take an agent that ended out of agents, in the same step (AEC: in its step with None), and nobody else.")
def _agents(trial: _Trial) -> None:
    """An agent that ended leaves agents at once, and no other does, so that agents is empty right after the last step."""
    for game in trial.games:
        for step, (before, now) in enumerate(zip(game.kept, game.kept[1:], strict=False), 1):
            if trial.kind is _ParallelGame:
                leaves = {agent for agent in now.holders if now.ended(agent)}
            else:
                leaves = {before.selection} if before.ended(before.selection) else set()
            for agent in before.agents:
                if agent in leaves and agent in now.agents:
                    raise _Wrong(f"step {step}: {agent} ended, but is still in agents: {list(now.agents)}")
                if agent not in leaves and agent not in now.agents:
                    raise _Wrong(f"step {step}: {agent} did not end, but is not in agents: {list(now.agents)}")


@_demands("revival", "Leave agents that ended out until the next reset.")
def _revival(trial: _Trial) -> None:
    """An agent that left never comes back."""
    for game in trial.games:
        gone: set[Any] = set()
        for step, (before, now) in enumerate(zip(game.kept, game.kept[1:], strict=False), 1):
            back = gone & set(now.agents)
            if back:
                raise _Wrong(f"step {step}: {_names(back)} had left, and is back in agents")
            gone |= set(before.agents) - set(now.agents)


@_demands("flags", "Return bool(...) of what numpy computed.")
def _flags(trial: _Trial) -> None:
    """Terminations and truncations are True or False, Python's own."""
    for when, moment in trial.moments():
        for name in ("terminations", "truncations"):
            for agent, flag in getattr(moment, name).items():
                if not isinstance(flag, bool):
                    raise _Wrong(f"{when}: {name}[{agent!r}] is {flag!r}, a {type(flag).__name__}")


@_demands("rewards", "Return float(...) of what numpy computed, and look for the division that went wrong.")
def _rewards(trial: _Trial) -> None:
    """Rewards are finite Python numbers."""
    for when, moment in trial.moments():
        for agent, reward in moment.rewards.items():
            if isinstance(reward, bool) or not isinstance(reward, int | float):
                raise _Wrong(f"{when}: the reward of {agent} is {reward!r}, a {type(reward).__name__}")
            if not math.isfinite(reward):
                raise _Wrong(f"{when}: the reward of {agent} is {reward}")


@_demands("last_step", "End all that remain in the same way: terminated, or truncated (an agent eliminated just then is both).")
def _last_step(trial: _Trial) -> None:
    """In the last step all agents that remain end alike, since libraries combine the flags of all."""
    for game in trial.games:
        ends = (m for m in game.kept if m.terminations and all(m.ended(agent) for agent in m.holders))
        last = next(ends, None)  # None: agents went without an end, which another check says
        if last and not (all(last.terminations.values()) or all(last.truncations.values())):
            raise _Wrong(f"the last step has terminations {last.terminations} and truncations {last.truncations}")


@_demands("observations", "Make the space as wide as what is observed, or clip; mind the dtype, and what ended agents see.")
def _observations(trial: _Trial) -> None:
    """Every observation lies in its space, the first and the last one too."""
    env = trial.games[0].env
    for when, moment in trial.moments():
        for agent, observation in moment.observations.items():
            outside = _outside(env.observation_space(agent), observation)
            if outside:
                raise _Wrong(f"{when}: the observation of {agent}{outside}")


@_demands("state", "As for observations; or leave state_space out.")
def _state_in_space(trial: _Trial) -> None:
    """The state lies in state_space at every step."""
    if not hasattr(trial.games[0].env, "state_space"):
        raise _NotShown("there is no state_space")
    for when, moment in trial.moments():
        outside = _outside(trial.games[0].env.state_space, moment.state)
        if outside:
            raise _Wrong(f"{when}: the state{outside}")


@_demands("mask", "Return np.int8 of shape (n,), 1 for legal and 0 for illegal, to every agent at every step.")
def _mask(trial: _Trial) -> None:
    """A mask is int8, one entry an action, zeros and ones; every live agent has one if any has; in two places it is the same."""
    env = trial.games[0].env
    masked = False
    for when, moment in trial.moments():
        for agent in moment.observations:
            masks = _masks(moment, agent)
            for where, mask in masks.items():
                size = getattr(env.action_space(agent), "n", None)
                if not isinstance(mask, np.ndarray) or mask.dtype != np.int8 or (size is not None and mask.shape != (size,)):
                    raise _Wrong(f"{when}: the mask of {agent} in {where} is {_short(mask)}, not int8 of shape ({size},)")
                if not np.isin(mask, (0, 1)).all():
                    raise _Wrong(f"{when}: the mask of {agent} in {where} is {mask.tolist()}, not zeros and ones")
            if len({mask.tobytes() for mask in masks.values()}) > 1:
                raise _Wrong(f"{when}: the masks of {agent} in {' and '.join(masks)} differ")
            if masked and not masks and not moment.ended(agent):
                raise _Wrong(f"{when}: {agent} has no mask, others have")
            masked |= bool(masks)
    if not masked:
        raise _NotShown("there are no masks")


@_demands("mask_empty", "Allow at least one action, if only one that passes: nobody can draw from an empty set.")
def _mask_empty(trial: _Trial) -> None:
    """The mask of a live agent (AEC: that is to act) is never all zero, which many take for uniform over everything."""
    masked = False
    for when, moment in trial.moments():
        for agent in moment.observations if trial.kind is _ParallelGame else [moment.selection]:
            for where, mask in _masks(moment, agent).items():
                masked = True
                if not np.any(mask) and not moment.ended(agent):
                    raise _Wrong(f"{when}: the mask of {agent} in {where} is all zero")
    if not masked:
        raise _NotShown("there are no masks")


@_demands("mask_of_terminated", "Choose one rule and write it down; all ones is safest.")
def _mask_of_terminated(trial: _Trial) -> None:
    """The masks of terminated agents follow one rule: all ones throughout, or all zeros throughout."""
    found: dict[str, str] = {}
    for when, moment in trial.moments():
        for agent in moment.observations:
            for mask in _masks(moment, agent).values():
                if moment.terminations.get(agent):  # an agent that is only truncated may need its mask, to bootstrap
                    kind = "all ones" if np.all(mask) else "neither" if np.any(mask) else "all zeros"
                    found.setdefault(kind, f"{when}: {agent} is terminated and has the mask {np.asarray(mask).tolist()}")
    if not found:
        raise _NotShown("no terminated agent has a mask")
    if len(found) > 1 or "neither" in found:
        raise _Wrong("; ".join(found.values()))


@_demands("arrays_kept", "Return copies: env.board.copy(), not env.board.")
def _arrays_kept(trial: _Trial) -> None:
    """Later steps don't change arrays that were returned, or replay buffers fill with the last step."""
    for game in trial.games:
        for step, (given, kept) in enumerate(zip(game.moments, game.kept, strict=True)):
            for name in ("observations", "infos", "state"):
                difference = _difference(getattr(kept, name), getattr(given, name))
                if difference:
                    raise _Wrong(f"what {f'step {step}' if step else 'reset'} gave was changed later: {name}{difference}")


@_demands("arrays_apart", "Give each agent arrays of its own, and the info's mask apart from the observation's.")
def _arrays_apart(trial: _Trial) -> None:
    """No two arrays of a step share memory."""
    for game in trial.games:
        for step, moment in enumerate(game.moments):
            arrays = list(_arrays({"observations": moment.observations, "infos": moment.infos}).items())
            for k, (one, a) in enumerate(arrays):
                for two, b in arrays[:k]:
                    if np.shares_memory(a, b):
                        raise _Wrong(f"{f'step {step}' if step else 'reset'}: {two} and {one} share memory")


@_demands("arrays_owned", "Return copies: normalising an observation in place must not change the game.")
def _arrays_owned(trial: _Trial) -> None:
    """Writing into arrays that were returned changes nothing in the game."""
    # In AEC the environment may show an agent the same array again until it acts; what it did to that is its own affair.
    fields = _COMPARED if trial.kind is _ParallelGame else ("agents", "rewards", "terminations", "truncations", "state", "last")
    trial.compare(trial.games[0], trial.whole(SEEDS[0], spoil=True), "after writing into arrays that were returned", fields)


@_demands(
    "determinism", "Draw everything from one generator of the environment's own, seeded in reset; not from np.random or random."
)
def _determinism(trial: _Trial) -> None:
    """The seed and the actions fix the whole game, to its last step, while another environment is played in between."""
    for seed in SEEDS:
        one, two = trial.game(seed), trial.game(seed)
        while not (one.over or two.over) and len(one.moments) <= trial.max_steps:
            one.move()
            two.move()
        trial.compare(one, two, f"two games with seed {seed}")


@_demands("reseeding", "Set everything up anew in reset, and seed anew whenever a seed is given.")
def _reseeding(trial: _Trial) -> None:
    """Reset with a seed alone fixes the game, whatever was played before, a broken-off game too."""
    for before in (2, trial.max_steps):
        used = trial.game(99).play(before)
        again = trial.kind(used.env, SEEDS[0]).play(trial.max_steps)
        trial.compare(trial.games[0], again, f"a new environment and one used for {len(used.moments) - 1} steps, same seed")


@_demands("stream", "Seed the generator only if a seed is given; otherwise let it go on.")
def _stream(trial: _Trial) -> None:
    """Reset without a seed goes on with the stream of the last seed: reproducibly, and not with the same game again."""
    one, two = trial.whole(), trial.whole()
    followers = []
    for number in range(RESETS):
        for game in (one, two):
            game.rng = np.random.default_rng(0)
            game.samplers.clear()
            game.begin()
            game.play(trial.max_steps)
        trial.compare(one, two, f"game {number + 2} after one seed, twice")
        followers.append(one.kept)
    by_seed = [trial.whole(seed).kept for seed in range(RESETS)]

    def alike(games: list[list[_Moment]]) -> bool:
        return all(_difference(games[0], game) is None for game in games[1:])

    if alike(by_seed):
        raise _NotShown("all seeds give the same game: there is no chance in it, or it can't be seen")
    if alike(followers):
        raise _Wrong(f"{RESETS} resets without a seed gave the same game, seeds give different ones")


def _copies(trial: _Trial, how: Callable[[Any], Any], name: str) -> None:
    half = len(trial.games[0].moments) // 2
    game = trial.game(SEEDS[0]).play(half)
    try:
        other = game.copied(how)
    except Exception as error:
        raise _Wrong(f"after {half} steps, {name} raised {error!r}") from error
    other.play(trial.max_steps)
    trial.compare(trial.games[0], other, f"a game and its {name} after step {half}")
    game.play(trial.max_steps)
    trial.compare(trial.games[0], game, f"a game that a {name} was made of, played on after the {name}")
    for each in (other, game):
        each.begin()
        each.play(trial.max_steps)
    trial.compare(game, other, f"the next game of a game and of its {name}")


@_demands(
    "deepcopy",
    "Keep all state, the generator included, in attributes, none in globals or closures; and do without EzPickle, which makes a "
    "new environment instead of a copy.",
)
def _deepcopy(trial: _Trial) -> None:
    """A deepcopy in mid-game goes on identically, into the next game too, and apart from the original."""
    _copies(trial, copy.deepcopy, "deepcopy")


@_demands("pickle", "As for deepcopy; and keep lambdas, locks and windows out of attributes, or drop them in __getstate__.")
def _pickle(trial: _Trial) -> None:
    """A pickled copy in mid-game goes on identically, into the next game too, and apart from the original."""
    _copies(trial, lambda env: pickle.loads(pickle.dumps(env)), "pickle")


@_demands("int_kinds", "Take any integer: operator.index(action) does.")
def _int_kinds(trial: _Trial) -> None:
    """Discrete actions may be int, a numpy integer or an array of no dimensions, and mean the same."""
    env = trial.games[0].env
    if not all(isinstance(env.action_space(agent), spaces.Discrete) for agent in env.possible_agents):
        raise _NotShown("not all action spaces are Discrete")
    for name, kind in {"np.int64": np.int64, "np.int32": np.int32, "0-d array": np.array}.items():

        def turn(asked: Any, kind: Any = kind) -> Any:
            return {agent: kind(action) for agent, action in asked.items()} if isinstance(asked, dict) else kind(asked)

        try:
            played = trial.whole(SEEDS[0], twist=turn)
        except Exception as error:
            raise _Wrong(f"actions as {name}: the environment raised {error!r}") from error
        trial.compare(trial.games[0], played, f"actions as int and as {name}")


@_demands("order", "Go through the agents in the environment's own order, not in that of the dict.", only=_ParallelGame)
def _order(trial: _Trial) -> None:
    """The order of the action dict changes nothing."""
    turned = trial.whole(SEEDS[0], twist=lambda actions: dict(reversed(actions.items())))
    trial.compare(trial.games[0], turned, "actions in order and in reverse order")


@_demands("after_the_end", "Return five empty dicts when there are no agents.", only=_ParallelGame)
def _after_the_end(trial: _Trial) -> None:
    """After the end, step({}) returns five empty dicts."""
    env = trial.whole().env
    said = env.step({})
    if not (isinstance(said, tuple) and len(said) == 5 and not any(said)) or env.agents:
        raise _Wrong(f"step({{}}) returned {_short(said)}, agents are {env.agents}")


@_demands("max_cycles", "Read self.max_cycles at each step; in a wrapper, pass it on.", only=_ParallelGame)
def _max_cycles(trial: _Trial) -> None:
    """Where there is a max_cycles it may be written, and cuts the game off."""
    env = trial.make_env()
    if not hasattr(env, "max_cycles"):
        raise _NotShown("there is no max_cycles")
    env.max_cycles = 1
    game = trial.kind(env, SEEDS[0]).play(trial.max_steps)
    if len(game.moments) != 2:
        raise _Wrong(f"with max_cycles = 1 the game went on for {len(game.moments) - 1} steps")
    if not any(game.kept[-1].truncations.values()) and not all(game.kept[-1].terminations.values()):
        raise _Wrong("with max_cycles = 1 nobody was truncated")


@_demands("render_after_the_end", "Draw from the state that the last step left, not from agents.")
def _render_after_the_end(trial: _Trial) -> None:
    """The finished game can be rendered."""
    env = trial.whole().env
    if env.render_mode is None:
        raise _NotShown("the environment has no render mode; let make_env give it one")
    env.render()
    env.close()


@_demands("close", "Let close do nothing the second time.")
def _close(trial: _Trial) -> None:
    """Close may be called twice."""
    env = trial.whole().env
    env.close()
    env.close()


def _refuses(trial: _Trial, seed: int, steps: int, agent: Any, action: Any, what: str) -> None:
    """A step with this action of an agent (None: without one) raises, names the agent, and leaves the game as it was."""
    game, other = trial.game(seed).play(steps), trial.game(seed).play(steps)
    actions = {one: other.choose(one) for one in other.env.agents} | {agent: action}
    try:
        game.env.step({one: chosen for one, chosen in actions.items() if chosen is not None})
    except Exception as error:
        if str(agent) not in str(error):
            raise _Wrong(f"{what} for {agent}: the error does not name it: {error!r}") from None
    else:
        raise _Wrong(f"{what} for {agent} was accepted")
    trial.compare(trial.games[SEEDS.index(seed)], game.play(trial.max_steps), f"after a refused step ({what} for {agent})")


_REFUSE = "Look at the actions before anything is changed, and raise a ValueError that names the agent and what is wrong."


@_demands("refuses_missing", _REFUSE, only=_ParallelGame, strict=True)
def _refuses_missing(trial: _Trial) -> None:
    """An action dict that lacks an agent is refused with its name."""
    _refuses(trial, SEEDS[0], 0, trial.games[0].kept[0].agents[-1], None, "no action")


@_demands("refuses_unknown", _REFUSE, only=_ParallelGame, strict=True)
def _refuses_unknown(trial: _Trial) -> None:
    """An action for an agent that does not exist is refused with its name."""
    game = trial.game()
    _refuses(trial, SEEDS[0], 0, "nobody_99", game.choose(game.env.agents[0]), "an action")


@_demands("refuses_ended", _REFUSE, only=_ParallelGame, strict=True)
def _refuses_ended(trial: _Trial) -> None:
    """An action for an agent that has ended is refused with its name."""
    for seed, game in zip(SEEDS, trial.games, strict=True):
        everybody = game.kept[0].agents
        for step, moment in enumerate(game.kept):
            gone = [agent for agent in everybody if agent not in moment.agents]
            if gone and moment.agents:
                _refuses(trial, seed, step, gone[0], trial.game().choose(gone[0]), "an action after its end")
                return
    raise _NotShown("no agent ended before the others did")


@_demands("refuses_action_of_ended", "Begin step as PettingZoo does, with _was_dead_step(action).", only=_AecGame, strict=True)
def _refuses_action_of_ended(trial: _Trial) -> None:
    """An agent that has ended may step with None only."""
    game = trial.game()
    while not game.kept[-1].ended(game.env.agent_selection):
        game.move()
    agent = game.env.agent_selection
    try:
        game.env.step(game.choose(agent))
    except Exception:
        return
    raise _Wrong(f"{agent} had ended, and its action was accepted")


@_demands("refuses_out_of_range", _REFUSE, strict=True)
def _refuses_out_of_range(trial: _Trial) -> None:
    """A Discrete action outside its space is refused with the agent's name (AEC: before the round is over)."""
    env = trial.games[0].env
    agent = trial.games[0].kept[0].agents[0]
    space = env.action_space(agent)
    if not isinstance(space, spaces.Discrete):
        raise _NotShown(f"the action space of {agent} is not Discrete")
    for action in (int(space.start + space.n), int(space.start - 1)):
        if trial.kind is _ParallelGame:
            _refuses(trial, SEEDS[0], 0, agent, action, f"action {action}")
            continue
        game = trial.game()
        agent = game.env.agent_selection
        try:
            game.env.step(action)
            for _ in game.env.possible_agents[1:]:
                game.env.step(game.choose(game.env.agent_selection))
        except Exception as error:
            if str(agent) not in str(error):
                raise _Wrong(f"action {action} for {agent}: the error does not name it: {error!r}") from None
        else:
            raise _Wrong(f"action {action} for {agent} was accepted")


PARALLEL_CHECKS = {name: check.demand for name, check in _CHECKS[_ParallelGame].items()}
"""What `check_parallel` demands, by name of the check."""
AEC_CHECKS = {name: check.demand for name, check in _CHECKS[_AecGame].items()}
"""What `check_aec` demands, by name of the check."""
STRICT_CHECKS = tuple(name for checks in _CHECKS.values() for name, check in checks.items() if check.strict)
"""The checks that are made only if they are asked for, with `strict=True`."""


# Looking at values ----------------------------------------------------------------------------------------------------------


def _same_agents(what: str, said: Mapping[Any, Any], agents: Collection[Any]) -> None:
    missing, extra = set(agents) - said.keys(), said.keys() - set(agents)
    if missing or extra:
        lacks = [f"lacks {_names(missing)}"] * bool(missing) + [f"holds {_names(extra)} as well"] * bool(extra)
        raise _Wrong(f"{what} {' and '.join(lacks)}; it is for {_names(agents)}")


def _names(agents: Collection[Any]) -> str:
    return ", ".join(sorted(map(str, agents))) or "nobody"


def _masks(moment: _Moment, agent: Any) -> dict[str, NDArray[Any]]:
    """The masks of an agent, by where they are."""
    observation, info = moment.observations.get(agent), moment.infos.get(agent)
    places = {"the observation": observation, "the info": info}
    return {where: held["action_mask"] for where, held in places.items() if isinstance(held, dict) and "action_mask" in held}


def _state(env: Any) -> Any:
    try:
        return env.state()
    except NotImplementedError:
        return None
    except Exception as error:
        return f"raised {error!r}"


def _arrays(value: Any, path: str = "") -> dict[str, NDArray[Any]]:
    """All arrays within a value, by path."""
    if isinstance(value, np.ndarray):
        return {path: value}
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    return {deep: array for key, part in inner for deep, array in _arrays(part, f"{path}[{key!r}]" if path else str(key)).items()}


def _outside(space: spaces.Space[Any], value: Any) -> str | None:
    """What of a value does not lie in a space, in words, or None."""
    if isinstance(space, spaces.Dict) and isinstance(value, dict) and value.keys() == space.keys():
        parts = (f"[{key!r}]{outside}" for key, inner in space.items() if (outside := _outside(inner, value[key])))
        return next(parts, None)
    return None if space.contains(value) else f" is {_short(value)}, which does not lie in {space}"


def _difference(a: Any, b: Any, path: str = "") -> str | None:
    """The first difference of two values, in words, or None."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return f"{path} has the keys {list(a)} and {list(b)}"
        pairs: Any = ((f"{path}[{key!r}]", a[key], b[key]) for key in a)
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return f"{path} is {_short(a)} and {_short(b)}"
        pairs = ((f"{path}[{k}]", x, y) for k, (x, y) in enumerate(zip(a, b, strict=True)))
    elif isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        x, y = np.asarray(a), np.asarray(b)
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"{path} is {_short(a)} and {_short(b)}"
        differ = x != y
        if x.dtype.kind in "fc":
            differ &= ~(np.isnan(x) & np.isnan(y))
        if not differ.any():
            return None
        at = tuple(int(i) for i in np.argwhere(differ)[0])
        return f"{path}{list(at) if at else ''} is {x[at]} and {y[at]}"
    else:
        same = a == b or (a != a and b != b)  # the second: both are NaN
        return None if same else f"{path} is {_short(a)} and {_short(b)}"
    return next((found for deep, x, y in pairs if (found := _difference(x, y, deep))), None)


def _short(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, np.ndarray) and value.size > 8:
        low_high = f" from {value.min()} to {value.max()}" if value.dtype.kind in "biuf" else ""
        return f"{value.dtype} of shape {value.shape}{low_high}"
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:110]}..."
