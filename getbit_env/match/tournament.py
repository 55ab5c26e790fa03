"""A tournament: every ordered pair of agents as one against many, and mixed tables; saved as it goes, so that it can go on."""

from __future__ import annotations

import hashlib
import itertools
import json
import multiprocessing
import os
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from getbit_env.agent_registry import check_agents, load_agent
from getbit_env.core.agent import Agent
from getbit_env.core.spec import Variant
from getbit_env.game_registry import find_variant, game_of
from getbit_env.match.runner import STARTS, MatchResult, chosen_reward, play_match
from getbit_env.match.statistics import Estimate
from getbit_env.version import __version__

MIXED = 24
TIME_LIMIT = 60.0

Progress = Callable[[tuple[str, ...], float], None]


@dataclass(frozen=True)
class TournamentResult:
    """What came out of a tournament.

    Attributes:
        agents: names, in the order given.
        players: at a table.
        settings: what the results depend on, beside the line-ups.
        matches: a result a table, one-against-many tables first.
    """

    agents: tuple[str, ...]
    players: int
    settings: dict[str, Any]
    matches: tuple[MatchResult, ...]

    def match(self, one: str, many: str) -> MatchResult:
        """The table of `one` among `players - 1` times `many`.

        Raises:
            KeyError: no such table was played.
        """
        for match in self.matches:
            if sorted(match.line_up) == sorted([one] + [many] * (self.players - 1)):
                return match
        raise KeyError(f"no table of {one!r} among {self.players - 1} x {many!r}")

    def win(self, one: str, many: str) -> Estimate:
        """How often `one` wins among `players - 1` times `many`; among its like the equal share, by symmetry."""
        return Estimate(1 / self.players) if one == many else self.match(one, many)[one].win

    @property
    def mixed(self) -> tuple[MatchResult, ...]:
        """The tables that are not one against many."""
        return tuple(match for match in self.matches if max(map(match.line_up.count, match.line_up)) < self.players - 1)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return {
            "agents": list(self.agents),
            "players": self.players,
            "settings": self.settings,
            "matches": [match.to_dict() for match in self.matches],
        }


def cross_tables(agents: Sequence[str], players: int) -> list[tuple[str, ...]]:
    """One against many, for every ordered pair; with two players every pair once."""
    pairs = itertools.permutations(agents, 2) if players > 2 else itertools.combinations(agents, 2)
    return [(one, *[many] * (players - 1)) for one, many in pairs]


def mixed_tables(agents: Sequence[str], players: int, most: int = MIXED, seed: int = 0) -> list[tuple[str, ...]]:
    """Tables of agents that are as different as their number allows, all of them or `most` that are drawn from the seed."""
    often, rest = divmod(players, len(agents))
    tables = [tuple(sorted([*agents] * often + [*some], key=agents.index)) for some in itertools.combinations(agents, rest)]
    tables = [table for table in tables if max(map(table.count, table)) < players - 1]
    return tables if len(tables) <= most else sorted(random.Random(seed).sample(tables, most), key=tables.index)


def play_tournament(
    agents: Sequence[str],
    variant: Variant | str = "4p",
    *,
    own: Mapping[str, Agent] | None = None,
    starts: int = STARTS,
    seed: int = 0,
    reward: str | None = None,
    mixed: int = MIXED,
    time_limit: float | None = TIME_LIMIT,
    processes: int = 1,
    path: Path | str | None = None,
    progress: Progress | None = None,
) -> TournamentResult:
    """Play a tournament.

    Args:
        agents: names, as `getbit_env.load_agent` or `own` knows them.
        variant: the game, or its name.
        own: agents by name.
        starts: see `play_match`.
        seed: see `play_match`; all tables play the same starts.
        reward: see `play_match`.
        mixed: how many tables at most that are not one against many.
        time_limit: see `play_match`.
        processes: how many play, each a table at a time; the result is the same for any number. `own` must be picklable then.
        path: a JSON file in which results are saved as they come. If it is there already, tables that it holds are not played
            again, unless an agent failed at them; those of other agents are kept.
        progress: called with a line-up and the part of its starts that is done.

    Returns:
        The result. An agent that fails (raises, plays something illegal, takes too long) loses that match, and the tournament
        goes on.

    Raises:
        ValueError: there are fewer than two agents, a name is unknown or stands twice, or the file comes from another tournament.
    """
    chosen: Variant = find_variant(variant)
    agents = tuple(agents)
    if len(agents) < 2 or len(set(agents)) < len(agents):
        raise ValueError(f"a tournament has two or more agents with different names, not {', '.join(agents) or 'none'}")
    check_agents({name: (own or {}).get(name) or load_agent(name) for name in agents}, chosen)
    settings: dict[str, Any] = {
        "variant": chosen.name,
        "starts": starts,
        "seed": seed,
        "reward": chosen_reward(game_of(chosen), reward),
        "getbit_env": __version__,
        "weights": {name: digest for name in agents if (digest := _weights_digest(name))},
    }
    file = None if path is None else Path(path)
    saved = _load(file, settings) if file is not None and file.exists() else {}
    tables = cross_tables(agents, chosen.players) + mixed_tables(agents, chosen.players, mixed, seed)
    todo = [table for table in tables if table not in saved or saved[table].failure]
    play = partial(
        play_match, variant=chosen, agents=own, starts=starts, seed=seed, reward=settings["reward"], time_limit=time_limit
    )

    def tell(table: tuple[str, ...], done: int, of: int) -> None:
        if progress is not None and done < of:  # it is done when it is saved
            progress(table, done / of)

    def keep(table: tuple[str, ...], match: MatchResult) -> None:
        saved[table] = match
        if file is not None:
            order = [t for t in tables if t in saved] + [t for t in saved if t not in tables]
            _save(file, TournamentResult(agents, chosen.players, settings, tuple(saved[t] for t in order)).to_dict())
        if progress is not None:
            progress(table, 1.0)

    for table in tables:
        if table not in todo and progress is not None:
            progress(table, 1.0)
    if processes == 1:
        for table in todo:
            keep(table, play(table, on_chunk=partial(tell, table)))
    else:
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(play, table): table for table in todo}
            try:
                for future in as_completed(futures):
                    keep(futures[future], future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return TournamentResult(agents, chosen.players, settings, tuple(saved[table] for table in tables))


def _weights_digest(name: str) -> str | None:
    """Digest of the weights in an agent's folder, if it has one: a run that went on is another agent."""
    weights = sorted(Path(name).rglob("*.safetensors")) if Path(name).is_dir() else []
    return hashlib.sha256(b"".join(file.read_bytes() for file in weights)).hexdigest()[:16] if weights else None


def _load(file: Path, settings: dict[str, Any]) -> dict[tuple[str, ...], MatchResult]:
    """The matches of a file by line-up, if they were played with these settings; `settings` learns the file's weights.

    Raises:
        ValueError: they were not; the message says what differs.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        before, weights = data["settings"], dict(data["settings"]["weights"])
        matches = [MatchResult.from_dict(match) for match in data["matches"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} holds no tournament: {error!r}") from error
    differ = [f"{key} was {before.get(key)!r}, is {settings[key]!r}" for key in settings if before.get(key) != settings[key]]
    differ = [text for text in differ if not text.startswith("weights ")]
    differ += [
        f"the weights of {name} changed" for name, digest in settings["weights"].items() if weights.get(name, digest) != digest
    ]
    if differ:
        raise ValueError(f"{file} comes from another tournament: {'; '.join(differ)}. Remove it, or choose another output")
    settings["weights"] = {**weights, **settings["weights"]}
    return {match.line_up: match for match in matches}


def _save(file: Path, data: dict[str, Any]) -> None:
    """Write the file anew, so that it is whole whenever the process dies."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    part.write_text(json.dumps(data, indent=1), encoding="utf-8")
    os.replace(part, file)
