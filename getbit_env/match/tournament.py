"""A tournament: every ordered pair of agents as one against many, and mixed line-ups; saved as it goes, so that it can go on.

All line-ups play the starts of one seed. So two of them differ by the agents and not by the luck of the starts, which makes them
easier to compare. But agents that these starts favour are favoured in every line-up: intervals of several line-ups do not miss
independently, and neither intervals nor ratings say what another seed would change in all of them together. Where a variant has no
more starts than are played, every start is played, and the seed decides about the agents alone.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from getbit_env.agent_registry import check_agents, content_digest, is_code, load_agent, text_of
from getbit_env.core.agent import Agent
from getbit_env.core.choices import whole_number
from getbit_env.core.files import owned, write_json
from getbit_env.core.spec import Variant
from getbit_env.core.units import executor, results
from getbit_env.game_registry import find_variant, game_of
from getbit_env.match.runner import (
    STARTS,
    ForfeitError,
    MatchResult,
    check_agents_given,
    check_own,
    check_settings,
    chosen_reward,
    play_match,
    recorded_games,
)
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
        players: in a line-up.
        settings: what the results depend on, beside the line-ups. `contents` are digests of what agents play from, by name.
            `unchecked` are names of agents that are code: a change in what they import or read is not noticed.
        matches: a result a line-up, those of one against many first.
    """

    agents: tuple[str, ...]
    players: int
    settings: dict[str, Any]
    matches: tuple[MatchResult, ...]

    def match(self, one: str, many: str) -> MatchResult:
        """The match of `one` among `players - 1` times `many`.

        Raises:
            KeyError: no such line-up was played. An agent among copies of itself never is.
        """
        for match in self.matches:
            if sorted(match.line_up) == sorted([one] + [many] * (self.players - 1)):
                return match
        raise KeyError(f"no line-up of {one!r} among {self.players - 1} x {many!r}")

    def win(self, one: str, many: str) -> Estimate | None:
        """How often `one` wins among `players - 1` times `many`.

        An agent among copies of itself is not played. Where each game is one win, it wins 1 / players, since every seat plays every
        start from every place. Where a game can end undecided (`GameSpec.can_end_undecided`), nobody knows: None.

        Raises:
            KeyError: no such line-up was played.
            ForfeitError: an agent failed in it, or `one` is `many` and failed in all of its line-ups.
        """
        if one != many or one not in self.agents:
            return self.match(one, many)[one].win
        if one in self.failed:
            raise ForfeitError(f"{one} failed in all of its line-ups")
        undecided = game_of(find_variant(self.settings["variant"])).can_end_undecided
        return None if undecided else Estimate(1 / self.players)

    @property
    def failed(self) -> tuple[str, ...]:
        """The agents that failed in every line-up in which they sat, if they sat in any."""
        sat = {name for match in self.matches for name in match.line_up}
        played = {name for match in self.matches for name in match.line_up if match.failure is None or match.failure.agent != name}
        return tuple(sorted(sat - played))

    @property
    def mixed(self) -> tuple[MatchResult, ...]:
        """The line-ups that are not one against many."""
        return tuple(match for match in self.matches if max(map(match.line_up.count, match.line_up)) < self.players - 1)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return {
            "agents": list(self.agents),
            "players": self.players,
            "settings": self.settings,
            "matches": [match.to_dict() for match in self.matches],
        }


def cross_line_ups(agents: Sequence[str], players: int) -> list[tuple[str, ...]]:
    """One against many, for every ordered pair; with two players every pair once."""
    pairs = itertools.permutations(agents, 2) if players > 2 else itertools.combinations(agents, 2)
    return [(one, *[many] * (players - 1)) for one, many in pairs]


def mixed_line_ups(agents: Sequence[str], players: int, most: int = MIXED, seed: int = 0) -> list[tuple[str, ...]]:
    """Line-ups of agents that are as different as their number allows, all of them or `most` that are drawn from the seed."""
    often, rest = divmod(players, len(agents))
    line_ups = [tuple(sorted([*agents] * often + [*some], key=agents.index)) for some in itertools.combinations(agents, rest)]
    line_ups = [line_up for line_up in line_ups if max(map(line_up.count, line_up)) < players - 1]
    return line_ups if len(line_ups) <= most else sorted(random.Random(seed).sample(line_ups, most), key=line_ups.index)


def play_tournament(
    agents: Sequence[str | os.PathLike[str]],
    variant: Variant | str = "4p",
    *,
    own: Mapping[str, Agent] | None = None,
    starts: int = STARTS,
    seed: int = 0,
    reward: str | None = None,
    mixed: int = MIXED,
    time_limit: float | None = TIME_LIMIT,
    processes: int = 1,
    ray: str | None = None,
    path: Path | str | None = None,
    progress: Progress | None = None,
    record: str | os.PathLike[str] | None = None,
    record_games: int | None = None,
) -> TournamentResult:
    """Play a tournament.

    Args:
        agents: names, as `getbit_env.load_agent` or `own` knows them, or paths of folders.
        variant: the game, or its name.
        own: agents by name.
        starts: see `play_match`.
        seed: see `play_match`; all line-ups play the same starts.
        reward: see `play_match`.
        mixed: how many line-ups at most that are not one against many.
        time_limit: see `play_match`.
        processes: how many play, each a line-up at a time; the result is the same for any number. `own` must be picklable then.
        ray: address of a Ray cluster whose workers play, or "local", in place of `processes`; see `core.units.RayExecutor`.
        path: a JSON file in which results are saved as they come. If it is there already, line-ups that it holds are not
            played again, unless an agent failed in them; those of other agents are kept. A file `.NAME.lock` beside it keeps
            it to one tournament at a time.
        progress: called with a line-up and the part of its starts that is done.
        record: a folder for replays of the line-ups that are played, see `play_match`; those that `path` holds leave none.
        record_games: how many games of each line-up are recorded, by default all.

    Returns:
        The result. An agent that fails (raises, plays something illegal, takes too long) loses that match, and the tournament
        goes on.

    Raises:
        ValueError: there are fewer than two agents, a name is unknown or stands twice, an agent can't play the variant, or the
            file comes from another tournament, or from agents that have changed since. Nothing has been played then.
        InUseError: another tournament plays into the file.
        OSError: the file can't be written.

    Examples:
        >>> from getbit_env.match import play_tournament
        >>> result = play_tournament(["counter", "random", "lowest"], "2p", starts=24)
        >>> print(result.win("counter", "random").mean > result.win("random", "counter").mean)
        True
    """
    chosen: Variant = find_variant(variant)
    check_agents_given("agents", agents)
    check_own("own", own)
    mixed, processes = whole_number("mixed", mixed, 0), whole_number("processes", processes, 1)
    if path is not None and Path(path).is_dir():
        raise ValueError(f"path is a file in which results are saved, and {path} is a folder")
    names = tuple(text_of(agent) for agent in agents)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"a tournament has two or more agents with different names, not {', '.join(names) or 'none'}")
    check_settings(starts, seed, time_limit)
    recorded_games(record, record_games)
    own = own or {}
    check_agents({name: load_agent(own.get(name, name)) for name in names}, chosen)
    named = [name for name in names if name not in own]
    settings: dict[str, Any] = {
        "variant": chosen.name,
        "starts": starts,
        "seed": seed,
        "reward": chosen_reward(game_of(chosen), reward),
        "getbit_env": __version__,
        "contents": {name: digest for name in named if (digest := content_digest(name, chosen))},
        "unchecked": sorted(name for name in names if name in own or is_code(name)),
    }
    play = partial(
        play_match,
        variant=chosen,
        agents=own,
        starts=starts,
        seed=seed,
        reward=settings["reward"],
        time_limit=time_limit,
        record=record,
        record_games=record_games,
    )
    line_ups = cross_line_ups(names, chosen.players) + mixed_line_ups(names, chosen.players, mixed, seed)
    if path is None:
        saved = _play_line_ups(line_ups, {}, play, processes, ray, progress)
    else:
        file = Path(path)
        with owned(file, "the tournament"):
            saved = _load(file, settings) if file.exists() else {}

            def save(matches: Mapping[tuple[str, ...], MatchResult]) -> None:
                order = [t for t in line_ups if t in matches] + [t for t in matches if t not in line_ups]
                write_json(file, TournamentResult(names, chosen.players, settings, tuple(matches[t] for t in order)).to_dict())

            saved = _play_line_ups(line_ups, saved, play, processes, ray, progress, save)
    return TournamentResult(names, chosen.players, settings, tuple(saved[line_up] for line_up in line_ups))


def _play_line_ups(
    line_ups: Sequence[tuple[str, ...]],
    saved: dict[tuple[str, ...], MatchResult],
    play: Callable[..., MatchResult],
    processes: int,
    ray: str | None,
    progress: Progress | None,
    save: Callable[[Mapping[tuple[str, ...], MatchResult]], None] | None = None,
) -> dict[tuple[str, ...], MatchResult]:
    """Play the line-ups that are not saved yet, or in which an agent failed, and save each when it is done."""
    todo = [line_up for line_up in line_ups if line_up not in saved or saved[line_up].failure]

    def tell(line_up: tuple[str, ...], done: int, of: int) -> None:
        if progress is not None and done < of:  # it is done when it is saved
            progress(line_up, done / of)

    def keep(line_up: tuple[str, ...], match: MatchResult) -> None:
        saved[line_up] = match
        if save is not None:
            save(saved)
        if progress is not None:
            progress(line_up, 1.0)

    for line_up in line_ups:
        if line_up not in todo and progress is not None:
            progress(line_up, 1.0)
    if processes == 1 and ray is None:
        for line_up in todo:
            keep(line_up, play(line_up, on_chunk=partial(tell, line_up)))
    else:
        with executor(processes=processes, ray=ray) as pool:
            for place, match in results(pool, play, todo):
                keep(todo[place], match)
    return saved


def _load(file: Path, settings: dict[str, Any]) -> dict[tuple[str, ...], MatchResult]:
    """The matches of a file by line-up, if they were played with these settings; `settings` adopts what it says of others.

    Raises:
        ValueError: they were not; the message says what differs.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        before, contents = data["settings"], dict(data["settings"]["contents"])
        unchecked = {str(name) for name in before["unchecked"]}
        matches = [MatchResult.from_dict(match) for match in data["matches"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{file} holds no tournament: {error!r:.300}") from error
    compared = [key for key in settings if key not in ("contents", "unchecked")]
    differ = [f"{key} was {before.get(key)!r:.80}, is {settings[key]!r}" for key in compared if before.get(key) != settings[key]]
    known = {name for match in matches for name in match.line_up}
    for name in [*settings["contents"], *settings["unchecked"]]:
        was, now = contents.get(name), settings["contents"].get(name)
        if name in known and was != now:
            differ.append(f"what {name} plays from changed")
    if differ:
        raise ValueError(f"{file} comes from another tournament: {'; '.join(differ)}. Remove it, or choose another output")
    settings["contents"] = {**contents, **settings["contents"]}
    settings["unchecked"] = sorted(unchecked | set(settings["unchecked"]))
    return {match.line_up: match for match in matches}
