"""The server of `getbit play`: whole games, reloads, advice, and many games side by side."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from websockets.exceptions import ConnectionClosed, InvalidStatus

from getbit_env.exact import exploitability, solved
from getbit_env.exact.solutions import load_solution
from getbit_env.exact.stored_results import save_result
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.engine import Engine
from getbit_env.web import advice
from getbit_env.web.agents import Roster
from tests.web.client import PATIENCE, UNHURRIED, Client, Served, frames_of

VARIANTS = [
    *("2p", "2p-memory", "3p", "3p-literal", "4p", "4p-memory", "4p-half", "4p-pick1", "5p", "6p-memory", "7p-half-memory"),
    *("3p-1r-4c-2l", "4p-20l", "sharks-2p-level1", "sharks-3p-level2", "sharks-4p-level2", "sharks-2p-level2-3coins-30turns"),
]


@pytest.fixture(autouse=True)
def no_solutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is solved on this machine changes no test."""
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path))


@pytest.fixture
def served() -> Any:
    with Served() as one:
        yield one


@pytest.mark.parametrize("variant", VARIANTS)
def test_whole_games_of_every_kind(served: Served, variant: str) -> None:
    agent = "sharks-random" if variant.startswith("sharks-") else "random"
    for seat in range(min(2, find_variant(variant).players)):
        with served.connect() as client:
            client.new(variant, seat, agent)
            assert client.play_on(seat) > 0
            assert client.standing["failure"] is None
            film = client.ask({"type": "film"}, "film")["film"]
            assert film["frames"][-1]["over"]
            assert [frame["number"] for frame in film["frames"]] == list(range(len(film["frames"])))
            live = frames_of([text for text in client.texts if text.startswith(('{"type":"game"', '{"type":"frame"'))])
            assert len(live) == len(film["frames"])
            assert "<script" in client.ask({"type": "page"}, "page")["html"]


def test_every_agent_of_the_list_plays_and_advises(served: Served) -> None:
    for variant in ("2p", "4p", "4p-memory", "sharks-2p-level2"):
        with served.connect() as client:
            names = client.ask({"type": "variant", "name": variant}, "variant")["agents"]
            assert len(names) == len(set(names)) > 3
            for name in names:
                client.new(variant, 0, name)
                client.play_on(rounds=2)
                if not client.standing["over"]:
                    client.send({"type": "advise", "agent": name})
                    told = client.receive("advice")
                    chances = told["advice"]["chances"]
                    assert sum(one["probability"] for one in chances) == pytest.approx(1)
                    assert {one["action"] for one in chances} <= set(client.actions())


def test_agents_alone_play_to_the_end_and_everything_is_visible(served: Served) -> None:
    for variant, agent in (("4p-memory", "random"), ("sharks-2p-level2", "sharks-random")):
        with served.connect() as client:
            client.new(variant, None, agent)
            client.settle()
            assert client.standing["over"]
            for frame in frames_of(client.texts):
                assert all("hand" in entry for entry in frame.get("robots", frame.get("table")))


def test_the_same_start_again(served: Served) -> None:
    with served.connect() as client:
        begun = client.new("5p", 3, "counter")
        client.play_on(rounds=4)
        again = client.ask({"type": "again"}, "game")
        assert again["film"] == begun["film"]
        assert again["frames"] == begun["frames"]
        client.play_on()


def test_a_reload_goes_on_with_the_game(served: Served) -> None:
    with served.connect() as client:
        client.new("4p", 1, "lowest")
        client.play_on(rounds=3)
        seen, standing, session = frames_of(client.texts), client.standing, client.session
    with served.connect(session) as client:
        assert client.session == session
        game = client.receive("game")
        assert game["frames"] == seen
        assert (game["choices"], game["over"]) == (standing["choices"], False)
        client.play_on()
        assert client.standing["over"]


def test_a_reload_of_a_memory_game_shows_the_last_round_alone(served: Served) -> None:
    with served.connect() as client:
        client.new("4p-memory", 1, "lowest")
        client.play_on(rounds=3)
        last, session = frames_of(client.texts)[-1], client.session
    with served.connect(session) as client:
        assert client.receive("game")["frames"] == [last]


def test_a_lost_connection_while_agents_look_on_is_taken_up_again(served: Served) -> None:
    with served.connect() as client:
        client.new("7p", None, "random")
        session = client.session
    with served.connect(session) as client:
        client.receive("game")
        client.settle()
        assert client.standing["over"]


def test_a_second_window_takes_the_game_over(served: Served) -> None:
    with served.connect() as first:
        first.new("4p")
        with served.connect(first.session) as second:
            second.receive("game")
            with pytest.raises(ConnectionClosed) as closed:
                first.socket.recv(PATIENCE)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4001
            second.play_on()
            assert second.standing["over"]


def test_a_player_who_is_out_sees_the_game_to_its_end(served: Served) -> None:
    with served.connect() as client:
        client.new("7p", 0, "counter")
        while not client.standing["over"]:
            client.play(client.actions()[0])
        assert frames_of(client.texts)[-1]["places"][0] is not None


# --- agents ---------------------------------------------------------------------------------------


class Fails:
    """Plays for some rounds, and then does what it must not."""

    def __init__(self, how: str) -> None:
        self.how, self.rounds = how, 0

    def reset(self, layout: Any, begins: Any, seed: int | None) -> None:  # noqa: ARG002 - protocol
        self.rounds = 0

    def act(self, observation: Any, action_mask: Any) -> Any:  # noqa: ARG002 - protocol
        self.rounds += 1
        if self.rounds < 3:
            return action_mask.argmax(1)
        if self.how == "raises":
            raise SystemExit("<b>enough</b>")
        if self.how == "illegal":
            return np.full(len(action_mask), 99)
        return None


class OwnRoster(Roster):
    """Agents of tests, by name."""

    def __init__(self, **agents: Any) -> None:
        super().__init__()
        self.agents = agents

    def names(self, variant: Any) -> list[str]:
        return [*self.agents, *super().names(variant)]

    def make(self, name: str, variant: Any) -> Any:
        return self.agents[name]() if name in self.agents else super().make(name, variant)


@pytest.mark.parametrize("how", ["raises", "illegal", "nothing"])
def test_an_agent_that_fails_ends_its_game_and_no_other(how: str) -> None:
    with Served(OwnRoster(bad=lambda: Fails(how))) as served, served.connect() as other, served.connect() as client:
        other.new("4p")
        client.new("4p", 0, "bad")
        client.play_on()
        assert client.standing["over"]
        assert "agent bad" in client.standing["failure"]
        other.play_on()
        assert other.standing["failure"] is None
        client.new("4p", 0, "random")
        client.play_on()
        assert client.standing["failure"] is None


def test_a_fault_of_the_server_ends_its_game_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with Served() as served, served.connect() as other, served.connect() as client:
        other.new("4p")
        client.new("4p")
        table = served.server.sessions[client.session].table
        monkeypatch.setattr(table, "_apply", lambda _actions: 1 / 0)
        client.play_on()
        assert "the server failed" in client.standing["failure"]
        other.play_on()
        assert other.standing["failure"] is None


class Waits:
    """An agent that thinks until it is told to stop."""

    begun, enough = threading.Event(), threading.Event()

    def reset(self, layout: Any, begins: Any, seed: int | None) -> None:
        pass

    def act(self, observation: Any, action_mask: Any) -> Any:  # noqa: ARG002 - protocol
        self.begun.set()
        assert self.enough.wait(60)
        return action_mask.argmax(1)


def test_an_agent_that_thinks_long_keeps_nobody_else_waiting() -> None:
    with Served(OwnRoster(slow=Waits)) as served, served.connect() as client, served.connect() as other:
        client.new("4p", 0, "slow")
        client.send({"type": "play", "number": 1, "action": 0})
        assert Waits.begun.wait(60)
        other.new("4p")
        other.play_on()  # a whole game while the agent of the first thinks
        assert other.standing["over"]
        client.send({"type": "play", "number": 1, "action": 1})
        assert "choice is made" in client.receive("error")["message"]
        Waits.enough.set()
        client.receive("frame")
        client.play_on()
        assert client.standing["over"]


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "tests.web.test_server:Waits",
        "/etc/passwd",
        "runs/first",
        "../agents/four_players",
        "x.npz",
        "recall:os:system",
        "",
        "random\x00",
    ],
)
def test_a_client_can_name_no_file_and_no_code(served: Served, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def imported(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("a name from a client was loaded")

    with served.connect() as client:
        client.new("4p")
        monkeypatch.setattr("getbit_env.web.agents.load_agent", imported)
        told = client.ask({"type": "new", "variant": "4p", "seat": 0, "agents": [None, name, "random", "random"]}, "error")
        assert "no agent" in told["message"]
        assert "no agent" in client.ask({"type": "advise", "agent": name}, "error")["message"]


def test_agents_of_the_command_line_are_listed_and_play() -> None:
    own = "getbit_env.get_bit.bots:Highest"
    with Served(Roster([own])) as served, served.connect() as client:
        assert own in client.ask({"type": "variant", "name": "4p"}, "variant")["agents"]
        client.new("4p", 0, own)
        client.play_on()
        assert client.standing["failure"] is None


# --- exact values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["2p-3c-1l", "3p-1r-3c-1l"])
def test_exact_values_where_a_solution_is_in_the_cache(served: Served, variant: str) -> None:
    with served.connect() as client:
        assert not client.ask({"type": "variant", "name": variant}, "variant")["solved"]
    solved(find_variant(variant))
    with Served() as fresh, fresh.connect() as client:
        assert client.ask({"type": "variant", "name": variant}, "variant")["solved"]
        game = client.new(variant, 0, "random")
        client.send({"type": "advise", "agent": "equilibrium"})
        told = client.receive("advice")["advice"]["chances"]
        told_value = client.receive("exact")["exact"]
    solution = load_solution(find_variant(variant))
    engine = Engine(find_variant(variant), 1)
    engine.start(starts=[game["frames"][0]["line"]])
    engine.observe()
    numbers, roles = solution.positions.read(engine.observation[0, :1])
    wanted = solution.values[numbers[0], roles[0]] if hasattr(solution, "values") else solution.start[roles[0]]
    assert told_value["value"] == pytest.approx(wanted, abs=1e-4)
    assert sum(one["probability"] for one in told) == pytest.approx(1)


def test_values_that_are_kept_belong_to_their_solution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = find_variant("3p-1r-3c-1l")
    solved(variant)
    engine = Engine(variant, 1, seed=1)
    engine.start()
    engine.observe()
    computed: list[str] = []

    def counted(agent: Any, positions: Any) -> Any:
        computed.append(str(positions.variant))
        return exploitability(agent, positions)

    monkeypatch.setattr(advice, "exploitability", counted)
    file = tmp_path / f"{variant}-values.npz"

    def ask() -> float:
        advice._kept.clear()  # as in another process
        told = advice.exact_value(variant, engine.observation[0, 0])
        assert told is not None
        return float(told["value"])

    first = ask()
    assert (ask(), len(computed)) == (first, 1)  # read from the file
    zeros = np.zeros((load_solution(variant).positions.count, 3))
    save_result(file, advice.VALUES, variant, {"policy": "another"}, {"values": zeros})
    assert (ask(), len(computed)) == (first, 2)  # the values of another solution are not used
    file.write_bytes(b"damaged")
    assert (ask(), len(computed)) == (first, 3)


def test_memory_games_have_no_exact_value(served: Served) -> None:
    with served.connect() as client:
        assert not client.ask({"type": "variant", "name": "2p-memory"}, "variant")["solved"]


# --- bounds ---------------------------------------------------------------------------------------


def test_games_are_bounded_and_those_left_alone_make_room() -> None:
    with Served(limits=replace(UNHURRIED, games=4)) as served, served.connect() as playing:
        playing.new("4p")
        left = []
        for _ in range(8):
            with served.connect() as client:
                client.new("4p")
                left.append(client.session)
        assert len(served.server.sessions) <= 4
        with served.connect(left[0]) as client:
            assert client.session != left[0]  # it is gone
        with served.connect(left[-1]) as client:
            assert client.session == left[-1]
            client.receive("game")
        playing.play_on()
        assert playing.standing["over"]


def test_connections_are_bounded() -> None:
    two = replace(UNHURRIED, connections=2)
    with Served(limits=two) as served, served.connect(), served.connect(), pytest.raises(InvalidStatus), served.open():
        pass
    with Served(limits=replace(UNHURRIED, connections=1)) as served:
        for _ in range(3):  # a connection that ends makes room
            with served.connect() as client:
                client.new("4p")
            while served.server.connections:  # the server has yet to see that the client is gone
                time.sleep(0.01)


def test_variants_whose_games_take_for_ever_are_refused(served: Served) -> None:
    with served.connect() as client:
        told = client.ask({"type": "new", "variant": "sharks-2p-level1-99999turns", "seat": 0, "agents": []}, "error")
        assert "at most 1000 turns" in told["message"]


def test_what_the_games_share_is_untouched_by_play(served: Served) -> None:
    game = game_of(find_variant("4p"))
    assert set(game.bots) == set(BOTS)
    first, second = (served.server.roster.make("four_players", find_variant("4p")) for _ in range(2))
    assert first is not second
    assert first.layers is second.layers  # weights are shared, streams are not
    first.reset(first._layout, np.ones(1, bool), 1)
    assert not hasattr(second, "_streams")


def test_frames_are_json_without_nan(served: Served) -> None:
    with served.connect() as client:
        client.new("3p", 0, "random")
        client.play_on()
        for text in client.texts:
            json.loads(text, parse_constant=lambda name: pytest.fail(name))


def test_clients_are_told_apart(served: Served) -> None:
    clients: list[Client] = []
    with served.connect() as one, served.connect() as two:
        clients += [one, two]
        one.new("4p", 0, "lowest")
        two.new("sharks-2p-level2", 1, "sharks-random")
        one.play_on()
        two.play_on()
        assert one.session != two.session
        assert len(one.session) >= 32
        for mine, other in ((one, two), (two, one)):
            assert not any(other.session in text for text in mine.texts)
