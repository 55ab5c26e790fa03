"""Matches: every seat played by everybody, exact where nothing is random, honest intervals elsewhere, failures named."""

import itertools
import json
import math
import re
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from getbit_env import parallel_env, parse_variant
from getbit_env.agent_registry import SHIPPED, load_agent
from getbit_env.core.agent import Agent
from getbit_env.get_bit.bots import Highest, Lowest, Random
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.match import ForfeitError, MatchResult, play_match
from getbit_env.match.runner import GAMES_PER_CHUNK, LineUp
from getbit_env.match.statistics import estimate, t_quantile
from getbit_env.network import POLICY_FILE
from getbit_env.sharks_are_wild.bots import BOTS, Greedy
from getbit_env.sharks_are_wild.observations import Options as SharksOptions


class Hash:
    """Plays a legal action that depends on all that it sees, and on nothing else."""

    deterministic = True

    def __init__(self, salt: int = 0) -> None:
        self.salt = salt

    def reset(self, layout: Layout, _begins: np.ndarray, _seed: int | None) -> None:
        self.weights = np.random.default_rng(self.salt).integers(1, 1000, layout.size)

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        number = observation.astype(np.int64) @ self.weights % action_mask.sum(1)
        order = np.cumsum(action_mask, axis=1) - 1
        return ((order == number[:, None]) & (action_mask != 0)).argmax(1)


class Bad:
    """Does something wrong from a call on."""

    def __init__(self, what: object, call: int = 3) -> None:
        self.what, self.call = what, call

    def reset(self, _layout: Layout, _begins: np.ndarray, _seed: int | None) -> None:
        self.calls = 0
        if self.what == "refuse":
            raise ValueError("not my game")

    def act(self, _observation: np.ndarray, action_mask: np.ndarray) -> object:
        self.calls += 1
        if self.calls < self.call:
            return action_mask.argmax(1)
        if self.what == "raise":
            raise KeyError("lost my head")
        if self.what == "sleep":
            time.sleep(30)
        if self.what == "sleep on":  # notices the alarm, and comes back late all the same
            try:
                time.sleep(30)
            except TimeoutError:
                return action_mask.argmax(1)
        if self.what == "illegal":
            return action_mask.argmin(1)
        return self.what(action_mask) if callable(self.what) else self.what


def play_slowly(line_up: list[Agent], name: str) -> dict[str, np.ndarray]:
    """The exact result by the environment, one game after another: every line, agents moving from seat to seat."""
    variant = parse_variant(name)
    n = variant.players
    env = parallel_env(variant=variant)
    found = {"win": np.zeros(n), "places": np.zeros((n, n)), "bites": np.zeros(n), "rounds": 0.0}
    games = 0
    for line in itertools.permutations(range(variant.robots)):
        for shift in range(n):
            observations, _ = env.reset(seed=0, options={"line": list(line)})
            seats = {agent: (p + shift) % n for p, agent in enumerate(env.possible_agents)}
            for agent in line_up:
                agent.reset(env.layout, np.ones(1, bool), 0)
            while env.agents:
                actions = {}
                for agent in env.agents:
                    seen = observations[agent]
                    actions[agent] = line_up[seats[agent]].act(seen["observation"][None], seen["action_mask"][None])[0]
                observations, *_ = env.step(actions)
            end = env.snapshot()
            games += 1
            found["rounds"] += end["round"]
            for p, place in enumerate(end["placement"]):
                seat = seats[f"player_{p}"]
                found["win"][seat] += place == 1
                found["places"][seat, place - 1] += 1
                mine = end["limbs"][p * variant.robots_per_player : (p + 1) * variant.robots_per_player]
                found["bites"][seat] += variant.limbs * variant.robots_per_player - sum(mine)
                if variant.robots_per_player == 1 and place == 2:  # eaten at the very end: no bite (G6.1)
                    assert sum(mine) > 0
    return {key: value / games for key, value in found.items()}


@pytest.mark.parametrize("name", ["4p", "4p-memory", "2p", "2p-memory", "3p-1r"])
@pytest.mark.clause("G1.2", "G6.4")
def test_a_match_of_deterministic_agents_is_exact(name: str) -> None:
    line_up: list[Agent] = [Hash(k) for k in range(parse_variant(name).players - 1)] + [Highest()]
    slow, fast = play_slowly(line_up, name), play_match(line_up, name)
    assert fast.exact
    assert fast.starts == math.factorial(parse_variant(name).robots)
    assert fast.length == pytest.approx(slow["rounds"])
    for seat, standing in enumerate(fast.standings.values()):
        assert standing.win == (pytest.approx(slow["win"][seat]), None, None)
        assert standing.places == pytest.approx(slow["places"][seat])
        assert standing.statistics["bites"] == pytest.approx(slow["bites"][seat])
        n = len(line_up)
        assert standing.payoff.mean == pytest.approx(standing.win.mean - (1 - standing.win.mean) / (n - 1), abs=1e-7)


def test_an_agent_with_several_seats_plays_them_together() -> None:
    """A name, or an object, that stands at several seats is one agent with the rows of all of them."""
    apart = play_match([Hash(1), Highest(), Hash(2), Highest()], "4p")
    assert list(apart.standings) == ["Hash#1", "Highest#1", "Hash#2", "Highest#2"]
    one = Highest()
    together = play_match([Hash(1), one, Hash(2), one], "4p")
    assert together.line_up == ("Hash#1", "Highest", "Hash#2", "Highest")
    assert together["Highest"].seats == 2
    mean = np.mean([apart[f"Highest#{k}"].win.mean for k in (1, 2)])
    assert together["Highest"].win.mean == pytest.approx(mean)
    assert together["Hash#1"] == apart["Hash#1"]
    assert play_match([Hash(1), "highest", Hash(2), "highest"], "4p")["highest"] == together["Highest"]


def test_rows_are_seats() -> None:
    """An agent is told of the games that begin, and every row stays the seat that it is."""

    class Watch(Random):
        def reset(self, layout: Layout, begins: np.ndarray, seed: int | None) -> None:
            super().reset(layout, begins, seed)
            assert begins.all()
            assert seed is not None
            self.number = np.full(begins.size, -1)

        def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
            layout = Layout(parse_variant("4p-memory"))
            hand = layout.field(observation, "hand").sum(1) @ (1 << np.arange(5))
            first = layout.field(observation, "first_round")[:, 0] == 1
            legal = action_mask @ (1 << np.arange(5))
            live = observation.any(1)
            assert (hand[live] == legal[live]).all()
            if not first.any():  # a card that is played is gone until the table comes back
                gone = self.number[live] & ~hand[live].astype(int)
                assert (gone != 0).sum() > 0
                assert ((gone & (gone - 1)) == 0).all()
            self.number = np.where(live, hand, self.number).astype(int)
            return super().act(observation, action_mask)

    watch = Watch()
    play_match([watch, "random", watch, "lowest"], "4p-memory", starts=24)


def test_equal_agents_have_equal_shares() -> None:
    result = play_match(["random"] * 4, "4p", starts=24)
    assert not result.exact
    assert result["random"].win == (0.25, 0.25 - math.log(20) / 24 * 0.25, pytest.approx(0.25 + math.log(20) / 24 * 0.75))
    assert result["random"].payoff.mean == pytest.approx(0, abs=1e-7)
    held = {"win": 0, "payoff": 0}
    for seed in range(10):
        for standing in play_match([Random() for _ in range(4)], "4p", starts=240, seed=seed).standings.values():
            held["win"] += standing.win.low < 0.25 < standing.win.high
            held["payoff"] += standing.payoff.low < 0 < standing.payoff.high
    assert 34 <= held["win"] <= 40
    assert 34 <= held["payoff"] <= 40


@pytest.mark.parametrize("reward", ["win", "placement"])
def test_standings_add_up(reward: str) -> None:
    result = play_match(["random", "random", "counter", "lowest", "highest"], "5p", starts=60, reward=reward)
    assert result.games == 300
    assert (result.starts, result.exact, result.failure) == (60, False, None)
    standings = result.standings.values()
    assert sum(s.seats * s.win.mean for s in standings) == pytest.approx(1)
    assert sum(s.seats * s.payoff.mean for s in standings) == pytest.approx(0, abs=1e-6)
    for s in standings:
        assert sum(s.places) == pytest.approx(1)
        assert s.places[0] == pytest.approx(s.win.mean)
        pays = np.linspace(1, -1, 5) if reward == "placement" else np.array([1, *[-1 / 4] * 4])
        assert s.payoff.mean == pytest.approx(pays @ s.places, abs=1e-6)
        assert s.payoff.low < s.payoff.mean < s.payoff.high
    for place in range(5):
        assert sum(s.seats * s.places[place] for s in standings) == pytest.approx(1)
    assert sum(s.seats * s.statistics["bites"] for s in standings) == pytest.approx(
        result.length - 1
    )  # G4.2: one a round from the second on
    assert sum(games for _, games in result.orders) == 300
    assert all(sorted(itertools.chain(*order)) == sorted(result.line_up) for order, _ in result.orders)
    assert all(len(place) == 1 for order, _ in result.orders for place in order), "Get Bit! has no ties"
    first = sum(games for order, games in result.orders if order[0] == ("counter",))
    assert first / 300 == pytest.approx(result["counter"].win.mean)


@pytest.mark.parametrize(
    ("name", "asked", "lines", "exact"),
    [
        ("4p", 4, 4, False),  # fewer than there are: drawn
        ("4p", 24, 24, True),
        ("4p", 5040, 24, True),
        ("5p", 119, 119, False),
        ("5p", 120, 120, True),
        ("3p-1r", 5040, 6, True),
    ],
)
@pytest.mark.clause("G1.2")
def test_lines_are_enumerated_where_they_are_few(name: str, asked: int, lines: int, exact: bool) -> None:
    players = parse_variant(name).players
    result = play_match(["highest"] + ["lowest"] * (players - 1), name, starts=asked)
    assert (result.starts, result.exact) == (lines, exact)
    random = play_match(["random"] + ["lowest"] * (players - 1), name, starts=asked)
    every = math.factorial(parse_variant(name).robots)
    assert (random.starts, random.exact) == (math.ceil(asked / every) * every if asked >= every else asked, False)


def test_seeds_decide() -> None:
    one, same, other = (
        play_match(["random", "random", "counter", "lowest", "highest"], "5p", starts=30, seed=s) for s in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_every_chunk_and_every_agent_has_its_own_seed() -> None:
    class Seeded(Random):
        def reset(self, layout: Layout, begins: np.ndarray, seed: int | None) -> None:
            super().reset(layout, begins, seed)
            seeds.append(seed)

    seeds: list[int | None] = []
    for seed in (0, 1):
        play_match([Seeded(), Seeded()], "2p", starts=GAMES_PER_CHUNK, seed=seed)
    assert len(seeds) == 12, "whole blocks of lines make three chunks; two agents, two matches"
    assert len(set(seeds)) == 12


class Backwards(Executor):
    """Runs what it is given at once, the last one first."""

    def map(self, function, *iterables, **_):
        calls = list(zip(*iterables, strict=True))
        return iter(list(reversed([function(*call) for call in reversed(calls)])))

    def submit(self, function, /, *args, **kwargs) -> Future:
        raise NotImplementedError


def test_order_of_chunks_and_processes_change_nothing() -> None:
    line_up = ["random", "counter", "forgetful"]
    at_once = GAMES_PER_CHUNK // 3
    lines = 2 * at_once + 100
    done = []
    one = play_match(line_up, "3p", starts=lines, seed=3, on_chunk=lambda n, of: done.append((n, of)))
    assert one.starts == 2880  # four blocks of all lines
    assert done == [(at_once, 2880), (2 * at_once, 2880), (2880, 2880)]
    assert play_match(line_up, "3p", starts=lines, seed=3, pool=Backwards()) == one
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert play_match(line_up, "3p", starts=lines, seed=3, pool=pool) == one


def test_agents_see_what_they_ask_for() -> None:
    class Wants(Highest):
        def __init__(self, options: Options) -> None:
            super().__init__()
            self.options = options

        def reset(self, layout: Layout, begins: np.ndarray, seed: int | None) -> None:
            assert layout.options == self.options
            self.size = layout.size
            super().reset(layout, begins, seed)

        def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
            assert observation.shape[1] == self.size
            return super().act(observation, action_mask)

    eyes = [Wants(Options(history=True)), Wants(Options()), Wants(Options(identity=True, observe_last=True)), "lowest"]
    assert play_match(eyes, "4p").length == play_match(["highest"] * 3 + ["lowest"], "4p").length


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("refuse", r"ValueError: not my game \(.*test_match.py, line \d+\)$"),
        ("raise", "KeyError: 'lost my head'"),
        ("illegal", r"act gave the illegal action \d where \d, \d, \d were legal"),
        (None, r"act gave NoneType for 192 rows, not int64 \[192\]"),
        (lambda mask: np.full(len(mask), np.nan), r"act gave float64 \[192\] with NaN for 192 rows"),
        (lambda mask: mask.argmax(1).astype(float), r"act gave float64 \[192\] for 192 rows"),
        (lambda mask: mask.argmax(1)[:-1], r"act gave int64 \[191\] for 192 rows"),
        (lambda mask: mask, r"act gave int8 \[192, 5\] for 192 rows"),
        (lambda mask: np.full(len(mask), 5), "act gave 5, actions are 0 to 4"),
        (lambda mask: np.full(len(mask), -1), "act gave -1, actions are 0 to 4"),
    ],
)
def test_who_fails_loses(what: object, reason: str) -> None:
    result = play_match(["bad", "random", "bad", "counter"], "4p", starts=24, agents={"bad": Bad(what)})
    assert result.failure is not None
    assert result.failure.agent == "bad"
    assert re.match(reason, result.failure.reason), result.failure.reason
    assert (result.games, result.exact, result.orders) == (0, False, ())
    standings = result.standings
    assert standings["bad"].win == (0, None, None)
    assert standings["bad"].payoff.mean == pytest.approx(-1 / 3)
    assert standings["random"].win.mean == standings["counter"].win.mean == 0.5
    assert standings["random"].payoff.mean == pytest.approx(1 / 3)
    assert standings["bad"].places == (0, 0, 0.5, 0.5)
    assert standings["counter"].places == (0.5, 0.5, 0, 0)
    assert "not played, lost by bad, which failed" in str(result)
    assert "win" not in str(result)


def test_a_forfeit_can_not_be_read_as_a_result() -> None:
    result = play_match(["bad", "random"], "2p", starts=24, agents={"bad": Bad("raise")})
    for read in (lambda: result["random"], lambda: result["bad"], lambda: result[0], lambda: result["none"], result.require_played):
        with pytest.raises(ForfeitError, match=r"bad against random on 2p was not played: bad failed \(KeyError: 'lost my head'"):
            read()
    played = play_match(["counter", "random"], "2p", starts=24)
    assert played.require_played() is played
    assert played[0] is played["counter"]
    assert played[1] is played["random"]
    with pytest.raises(KeyError, match="no agent 'bad' in this line-up; there are counter, random"):
        played["bad"]


@pytest.mark.parametrize("reward", ["win", "placement"])
@pytest.mark.parametrize("players", range(2, 8))
def test_a_forfeit_pays_exactly(players: int, reward: str) -> None:
    for failed in range(1, players):
        line_up = ["bad"] * failed + ["random"] * (players - failed)
        result = play_match(line_up, f"{players}p", starts=4, agents={"bad": Bad("refuse")}, reward=reward)
        assert sum(s.seats * s.payoff.mean for s in result.standings.values()) == 0
        assert sum(s.seats * s.win.mean for s in result.standings.values()) == pytest.approx(1)


@pytest.mark.parametrize("ending", [SystemExit(0), SystemExit("done"), BaseException("odd"), RecursionError(), MemoryError()])
def test_an_agent_that_leaves_loses_only_its_match(ending: BaseException) -> None:
    def leave(_mask: np.ndarray) -> None:
        raise ending

    result = play_match(["bad", "random"], "2p", starts=24, agents={"bad": Bad(leave)})
    assert result.failure is not None
    assert result.failure.reason.startswith(type(ending).__name__)


def test_ctrl_c_ends_the_match() -> None:
    def interrupt(_mask: np.ndarray) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_match(["bad", "random"], "2p", starts=24, agents={"bad": Bad(interrupt)})


def test_what_is_played_for_the_dead_is_ignored() -> None:
    class Careless(Lowest):
        def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
            return np.where(observation.any(1), super().act(observation, action_mask), 99)

    careless = play_match(["lowest", "random", "random", "highest"], "4p", starts=24, agents={"lowest": Careless()})
    assert careless == play_match(["lowest", "random", "random", "highest"], "4p", starts=24)


def test_what_an_agent_writes_into_its_arrays_reaches_nobody() -> None:
    class Scribbler(Hash):
        def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
            actions = super().act(observation, action_mask)
            observation[:], action_mask[:] = 1, 0
            return actions

    others = ["random", "counter"]
    for seats in ([0], [0, 2]):
        results = []
        for agent in (Hash(1), Scribbler(1)):
            line_up = ["it" if seat in seats else others[seat % 2] for seat in range(4)]
            results.append(play_match(line_up, "4p-memory", agents={"it": agent}, starts=24))
        assert results[0] == results[1]


@pytest.mark.parametrize("what", ["sleep", "sleep on"])
def test_who_takes_too_long_loses(what: str) -> None:
    before = signal.getsignal(signal.SIGALRM)
    result = play_match(["slow", "random"], "2p", starts=24, agents={"slow": Bad(what)}, time_limit=0.3)
    assert result.failure is not None
    assert result.failure.agent == "slow"
    assert result.failure.reason.startswith("TimeoutError: it took longer than 0.3 s (")
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_timer_of_others_goes_on() -> None:
    """It goes off when it is due, or after the call of an agent during which it is due, and is not that agent's failure."""
    fired = []
    before = signal.signal(signal.SIGALRM, lambda *_: fired.append(len(fired)))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000, 500)
        play_match(["counter", "random"], "2p", starts=24, time_limit=60)
        left, every = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 1000
        assert every == 500
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        pause = {"pause": Bad(lambda mask: time.sleep(0.2) or mask.argmax(1), call=3)}
        result = play_match(["pause", "random"], "2p", starts=4, agents=pause, time_limit=60)
        assert fired == [0]
        assert result.failure is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_time_limit_that_is_kept_changes_nothing() -> None:
    line_up = ["counter", "random"]
    assert play_match(line_up, "2p", starts=24, time_limit=60) == play_match(line_up, "2p", starts=24)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"line_up": "random"}, TypeError, "line_up is a list of agents or of their names, not 'random'"),
        ({"agents": ["random"]}, TypeError, r"agents is a dict of agents by their names, or None, not \['random'\]"),
        ({"time_limit": "1"}, ValueError, "time_limit is a number of seconds over 0, or None, not '1'"),
        ({"time_limit": True}, ValueError, "time_limit is a number of seconds over 0, or None, not True"),
        ({"pool": 4}, TypeError, "pool is an Executor of concurrent.futures, or None, not 4"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        play_match(**{"line_up": ["random", "lowest"], "variant": "2p", "starts": 4, **options})


def test_a_seat_that_there_is_not_and_a_dict_that_is_no_result() -> None:
    result = play_match(["random", "lowest"], "2p", starts=4)
    with pytest.raises(KeyError, match="no seat 5 in this line-up; there are 0 to 1"):
        result[5]
    for wrong in ({}, {"standings": 1}, {**result.to_dict(), "standings": {"random": {}}}):
        with pytest.raises(ValueError, match="no result of a match: "):
            MatchResult.from_dict(wrong)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ValueError, match="4p has 4 players, the line-up 3"):
        play_match(["random"] * 3, "4p")
    with pytest.raises(ValueError, match="no agent 'rando'"):
        play_match(["rando"] + ["random"] * 3, "4p")
    for wrong, reason in (
        ({"starts": 3}, "starts is 4 or more, not 3: fewer tell nothing"),
        ({"starts": 4.5}, "starts is a whole number, not 4.5"),
        ({"starts": "24"}, "starts is a whole number"),
        ({"seed": -1}, "seed is 0 or more, not -1"),
        ({"seed": None}, "seed is a whole number"),
        ({"time_limit": 0}, "time_limit is a number of seconds over 0, or None, not 0"),
        ({"time_limit": math.nan}, "time_limit is"),
    ):
        with pytest.raises(ValueError, match=reason):
            play_match(["random"] * 4, "4p", **wrong)
    with pytest.raises(ValueError, match="reward is one of"):
        play_match(["random"] * 4, "4p", reward="money")
    with pytest.raises(ValueError, match="no variant"):
        play_match(["random"] * 4, "4q")
    with pytest.raises(TypeError, match="a variant is given by its name"):
        play_match(["random"] * 4, 4)
    with pytest.raises(ValueError, match="agent 'random' plays Get Bit!, but sharks-4p-level1"):
        play_match(["random"] * 4, "sharks-4p-level1")
    with pytest.raises(ValueError, match="agent 'sharks-greedy' plays Sharks are Wild, but 2p is a variant"):
        play_match(["counter", "sharks-greedy"], "2p")
    with pytest.raises(ValueError, match=r"four_players was trained on 4p .* not on 6p"):
        play_match(["four_players", *["random"] * 5], "6p")
    for wrong, reason in ((Random, "the class Random: call it"), (lambda: Random(), "the function"), (None, "not as None")):
        with pytest.raises(TypeError, match=reason):
            play_match([wrong, "random"], "2p")
        with pytest.raises(TypeError, match=reason):
            play_match(["mine", "random"], "2p", agents={"mine": wrong})


def test_agents_that_want_to_see_secret_hands_play_no_match() -> None:
    class Peeking(Greedy):
        options = SharksOptions(open_hands=True)

    with pytest.raises(ValueError, match="wants to see open_hands, which the rules of sharks-2p-level2 hide"):
        play_match([Peeking(), "sharks-random"], "sharks-2p-level2", starts=8)
    assert play_match([Peeking(), "sharks-random"], "sharks-2p-level1", starts=8).failure is None


def test_a_folder_called_like_a_bot_is_not_the_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "runs" / "random"
    folder.mkdir(parents=True)
    (folder / POLICY_FILE).write_bytes((SHIPPED / "four_players" / POLICY_FILE).read_bytes())
    monkeypatch.chdir(folder.parent)
    shipped = play_match(["four_players", "random", "random", "random"], "4p", starts=24)
    for path, name in ((folder, str(folder)), (Path("random"), "./random"), ("./random", "./random")):
        result = play_match([path, "random", "random", "random"], "4p", starts=24)
        assert result[name] == shipped["four_players"]
        assert result["random"] == shipped["random"]
    agent = load_agent(folder)
    assert play_match([agent, "random", "random", "random"], "4p", starts=24)[agent.name] == result[0]


def test_tied_places_are_one_place() -> None:
    """In Sharks are Wild one wins and all others are second (S6), whatever their seats; without a winner all tie (S4)."""
    names = list("abcd")
    agents = {name: BOTS["sharks-random"]() for name in names}
    result = play_match(names, "sharks-4p-level2", agents=agents, starts=60)
    for order, _ in result.orders:
        (winner,), others = order
        assert others == tuple(name for name in names if name != winner)
    drawn = play_match(["sharks-random", "sharks-greedy"], "sharks-2p-level2-4turns", starts=40)
    orders = dict(drawn.orders)
    assert sum(orders.values()) == drawn.games
    assert orders[("sharks-random", "sharks-greedy"),] == round(
        drawn.games * (1 - sum(s.win.mean for s in drawn.standings.values()))
    )
    twice = play_match(["a", "b", "a"], "sharks-3p-level1", agents=agents, starts=20)
    assert {order for order, _ in twice.orders} <= {(("a",), ("a", "b")), (("b",), ("a", "a"))}


def test_orders_of_made_up_places() -> None:
    table = LineUp(("random", "counter", "random"), (), parse_variant("3p"), 0, 24, "win", None)
    finish = np.array([[1, 2, 0, 1, 2], [2, 1, 0, 1, 1], [3, 2, 0, 1, 0]], np.uint8)
    assert dict(table._orders(finish)) == {
        (("random",), ("counter",), ("random",)): 1,
        (("counter",), ("random", "random")): 1,
        (("random", "random", "counter"),): 2,  # nobody has a place, or all have the same
        (("counter",), ("random",), ("random",)): 1,
    }


def test_results_survive_json() -> None:
    result = play_match(["random", "counter"], "2p", starts=24)
    assert MatchResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    failed = play_match(["bad", "random"], "2p", starts=24, agents={"bad": Bad("raise")})
    assert MatchResult.from_dict(json.loads(json.dumps(failed.to_dict()))) == failed


def test_a_result_can_be_read() -> None:
    text = str(play_match(["lowest", "highest", "highest", "highest"], "4p"))
    assert text.splitlines()[0] == "4p: 24 starts, 96 games of 15.0 rounds, exact"
    assert "lowest   x1  win 0.000  payoff -0.333  places 0.000 0.000 0.000 1.000  bites 4.00" in text


@pytest.mark.parametrize("probability", [0.9, 0.975, 0.995])
def test_t_quantile(probability: float) -> None:
    for degrees in [1, 2, 3, 4, 5, 10, 23, 100, 5039]:
        assert t_quantile(probability, degrees) == pytest.approx(
            stats.t.ppf(probability, degrees), rel=0.002 if probability < 0.99 else 0.01
        )
    with pytest.raises(ValueError, match="at least two values, not 1"):
        t_quantile(0.975, 0)


@pytest.mark.parametrize(("n", "p"), [(24, 0.5), (24, 0.02), (200, 0.3), (200, 0.99), (200, 0.001), (1000, 0.9997)])
def test_intervals_hold_the_truth_as_often_as_they_say(n: int, p: float) -> None:
    """The unit is a mean of four games, each won with chance `p`."""
    rng = np.random.default_rng(0)
    trials = 2000
    held = 0
    for values in rng.binomial(4, p, (trials, n)) / 4:
        found = estimate(values, 0, 1)
        assert 0 <= found.low <= found.mean <= found.high <= 1
        held += found.low <= p <= found.high
    assert held / trials > 0.93


def test_an_interval_has_a_width_even_if_all_units_agree() -> None:
    assert estimate(np.ones(300), 0, 1) == (1.0, pytest.approx(1 - math.log(20) / 300), 1.0)
    assert estimate(np.zeros(300), -1, 1).high == pytest.approx(math.log(20) / 300)
