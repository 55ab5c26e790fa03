"""What a client can't do to the server of `getbit play`, and what it is never sent."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from websockets.exceptions import ConnectionClosed, InvalidStatus

from getbit_env.game_registry import find_variant
from getbit_env.viewer import recorder
from getbit_env.web.server import FILES, Limits
from tests.web.client import PATIENCE, UNHURRIED, Client, Served, frames_of
from tests.web.test_server import OwnRoster


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as one:
        yield one


# --- hidden cards ------------------------------------------------------------------------------------------

PUBLIC = {"limbs", "hand_size", "table_size", "card"}  # of another player's robot in the memory game
KEYS = {  # of what a client is sent, by kind
    "welcome": {"type", "session", "games", "choice"},
    "variant": {"type", "name", "players", "agents", "solved"},
    "game": {"type", "film", "open", "solved", "choices", "over", "failure", "frames"},
    "frame": {"type", "choices", "over", "failure", "frames"},
}
FRAME = {"number", "caption", "line", "out", "robots", "tied", "bitten", "places", "over", "events"}
EVENTS = {
    "start": {"kind", "text"},
    "reveal": {"kind", "text", "cards", "tied"},
    "move": {"kind", "text", "robot", "line"},
    "calm": {"kind", "text"},
    "bite": {"kind", "text", "robot", "limbs"},
    "escape": {"kind", "text", "robot", "line"},
    "out": {"kind", "text", "robot", "line"},
    "take_back": {"kind", "text", "robots"},
    "end": {"kind", "text", "eaten", "places"},
}


@pytest.mark.parametrize("variant", ["2p-memory", "3p-memory", "4p-memory", "5p-half-memory", "7p-memory"])
def test_a_memory_game_sends_nothing_but_what_its_player_may_see(served: Served, variant: str) -> None:
    """Every key of every message is one of a list in which hands and tables of others don't occur."""
    chosen = find_variant(variant)
    for seat in (0, chosen.players - 1):
        with served.connect() as client:
            client.new(variant, seat, "random")
            client.play_on(seat)
            for text in client.texts:
                message = json.loads(text)
                assert message.keys() == KEYS[message["type"]]
                for frame in message.get("frames", []):
                    assert frame.keys() == FRAME
                    for event in frame["events"]:
                        assert event.keys() == EVENTS[event["kind"]]
                    for robot, entry in enumerate(frame["robots"]):
                        mine = robot // chosen.robots_per_player == seat
                        assert entry.keys() == PUBLIC | ({"hand", "table"} if mine else set())
                    revealed = [event["cards"] for event in frame["events"] if event["kind"] == "reveal"]
                    assert [entry["card"] for entry in frame["robots"]] == (revealed or [[None] * chosen.robots])[0]
                choices = message.get("choices")
                if choices:
                    assert all(robot // chosen.robots_per_player == seat for robot in choices["robots"])


def test_histories_that_differ_in_a_hidden_card_alone_look_the_same() -> None:
    """B plays 5 or 4 in the first round, and the rest is the same: after the second round A can't see which it was."""
    seen, all_of_it = [], []
    for hidden in (4, 3):
        game = recorder(find_variant("4p-memory"))
        game.begin([0, 1, 2, 3])
        game.play([0, hidden, 1, 2])
        game.play([1, 2, 3, 4])
        seen.append(json.dumps(game.frame(0)))
        all_of_it.append(json.dumps(game.frame(None)))
    assert seen[0] == seen[1]
    assert all_of_it[0] != all_of_it[1]


def test_deals_that_differ_in_hidden_cards_alone_look_the_same() -> None:
    """At level two neither the hands of others nor the order of the draw pile can be seen."""
    variant = find_variant("sharks-2p-level2")
    deck = variant.rules.deck.tolist()
    random.Random(3).shuffle(deck)
    seen = []
    for swap in ((0, 0), (6, 30), (20, 40)):  # nothing; a card of the other hand and one of the pile; two of the pile
        cards = list(deck)
        cards[swap[0]], cards[swap[1]] = cards[swap[1]], cards[swap[0]]
        game = recorder(variant)
        game.begin({"cards": cards, "first": 0, "stream": 7})
        seen.append((json.dumps(game.frame(0)), json.dumps(game.frame(None))))
    assert deck[6] != deck[30]
    assert seen[0][0] == seen[1][0] == seen[2][0]
    assert seen[0][1] != seen[1][1]


def test_secret_hands_and_the_draw_pile_are_never_sent(served: Served) -> None:
    with served.connect() as client:
        client.new("sharks-3p-level2", 1, "sharks-random")
        client.play_on(1)
        for frame in frames_of(client.texts):
            assert frame.keys().isdisjoint({"draw", "hands", "stream", "deck"})
            for player, entry in enumerate(frame["table"]):
                assert ("hand" in entry) == (player == 1)
                assert entry.keys() <= {"coins", "low", "run", "hand_size", "taken", "hand"}
            for event in frame["events"]:
                if event["kind"] == "draw" and event["player"] != 1:
                    assert event.keys() == {"kind", "text", "player"}
                    assert event["text"].endswith("draws a card.")
                if event["kind"] == "refill" and event["player"] != 1:
                    assert "cards" not in event
        assert not any("stream" in text or "seed" in text for text in client.texts)


@pytest.mark.parametrize("variant", ["4p", "4p-memory"])
def test_cards_that_others_chose_are_not_sent_before_all_have_chosen(variant: str) -> None:
    """Two agents that choose differently: until the person has chosen, every byte is the same."""
    told = {}
    for bot in ("lowest", "highest"):

        def mystery(bot: str = bot) -> Any:
            return OwnRoster().make(bot, find_variant("4p"))

        with Served(OwnRoster(mystery=mystery)) as served, served.connect() as client:
            client.ask({"type": "new", "variant": variant, "seat": 0, "agents": [None] + ["mystery"] * 3}, "game")
            table = served.server.sessions[client.session].table
            assert table is not None
            client.ask({"type": "play", "number": 1, "action": 99}, "error")  # and nothing comes of errors either
            client.ask({"type": "advise", "agent": "random"}, "advice")
            line = json.dumps(table.start, separators=(",", ":"))  # drawn anew for each of the two games
            told[bot] = [re.sub(rf'"advice":.*|{re.escape(line)}', "", text) for text in client.texts[1:]]
            client.play(0)
            assert client.standing["frames"][-1]["robots"][1]["card"] == (1 if bot == "lowest" else 5)
    assert told["lowest"] == told["highest"]


def test_the_whole_game_is_shown_when_it_is_over_and_not_before(served: Served) -> None:
    with served.connect() as client:
        client.new("4p-memory", 0, "random")
        for kind in ("film", "page"):
            assert "not over" in client.ask({"type": kind}, "error")["message"]
        client.play_on()
        frames = client.ask({"type": "film"}, "film")["film"]["frames"]
        assert all("hand" in robot for frame in frames for robot in frame["robots"])


def test_advice_for_a_memory_game_knows_what_the_person_knows() -> None:
    """An adviser is shown the observation of the person's seat and nothing else."""
    shown: list[bytes] = []

    class Looks:
        def reset(self, layout: Any, begins: Any, seed: int | None) -> None:
            pass

        def act(self, observation: Any, action_mask: Any) -> Any:
            shown.append(observation[:1].tobytes())
            return action_mask.argmax(1)

    told = []
    for hidden in (4, 3):
        roster = OwnRoster(looks=Looks)
        from getbit_env.web.games import Table

        table = Table(roster, find_variant("4p-memory"), 0, [None, "random", "random", "random"], [0, 1, 2, 3])
        table._apply([0, hidden, 1, 2])
        table._apply([1, 2, 3, 4])
        shown.clear()
        table.advise("looks")
        told.append(shown[-1])
    assert told[0] == told[1]


# --- messages that are wrong ------------------------------------------------------------------------------------------

NONSENSE: list[Any] = [
    "",
    "null",
    "[]",
    "3",
    '"play"',
    "{",
    "{}",
    '{"type": NaN}',
    '{"type": 1e999, "x": Infinity}',
    '{"type": null}',
    '{"type": ["play"]}',
    '{"type": "_begin"}',
    '{"type": "__class__"}',
    '{"type": "hello", "session": "x"}',
    "[" * 3000,
    '{"a":' * 700 + "1" + "}" * 700,
    '{"type": "play", "number": ' + "9" * 4000 + "}",
    '{"type": "play"}',
    '{"type": "play", "number": 1}',
    '{"type": "play", "number": 1, "action": null}',
    '{"type": "play", "number": 1, "action": "0"}',
    '{"type": "play", "number": 1, "action": true}',
    '{"type": "play", "number": true, "action": 0}',
    '{"type": "play", "number": 1, "action": 0.0}',
    '{"type": "play", "number": 1, "action": -1}',
    '{"type": "play", "number": 1, "action": 5}',
    '{"type": "play", "number": 1, "action": 18446744073709551616}',
    '{"type": "play", "number": 0, "action": 0}',
    '{"type": "play", "number": 2, "action": 0}',
    '{"type": "play", "number": [1], "action": {"a": 1}}',
    '{"type": "new"}',
    '{"type": "new", "variant": 4}',
    '{"type": "new", "variant": "4p", "seat": 4, "agents": ["random", "random", "random", "random"]}',
    '{"type": "new", "variant": "4p", "seat": -1, "agents": ["random", "random", "random", "random"]}',
    '{"type": "new", "variant": "4p", "seat": true, "agents": [null, "random", "random", "random"]}',
    '{"type": "new", "variant": "4p", "seat": 0, "agents": ["random"]}',
    '{"type": "new", "variant": "4p", "seat": 0, "agents": [null, null, "random", "random"]}',
    '{"type": "new", "variant": "4p", "seat": 0, "agents": [null, {"a": 1}, "random", "random"]}',
    '{"type": "new", "variant": "4p", "seat": 0, "agents": "random"}',
    '{"type": "new", "variant": "4p", "seat": 0, "agents": [null, "sharks-random", "random", "random"]}',
    '{"type": "new", "variant": "9p", "seat": 0, "agents": []}',
    '{"type": "new", "variant": "' + "4p-" * 60 + '", "seat": 0, "agents": []}',
    '{"type": "variant", "name": "<script>alert(1)</script>"}',
    '{"type": "variant", "name": "4p\\u0000"}',
    '{"type": "variant"}',
    '{"type": "advise", "agent": 3}',
    '{"type": "advise", "agent": "nobody"}',
    '{"type": "film"}',
    '{"type": "page"}',
    b"\x00\xff\xfe",
    b'{"type": "again"}',
    "\ud83e\udd88".encode("utf-16", "surrogatepass").decode("utf-16") * 30,
    '{"type": "play", "pad": "' + "x" * 5000 + '"}',
    "x" * 60000,
]


def test_every_wrong_message_gets_an_error_and_the_game_goes_on(served: Served) -> None:
    with served.connect() as client:
        client.new("4p", 0, "lowest")
        before = frames_of(client.texts)
        for message in NONSENSE:
            told = client.ask(message, "error")["message"]
            assert 0 < len(told) < 1200, message
            assert "\n" not in told
        assert client.standing["choices"]["number"] == 1
        assert frames_of(client.texts) == before
        client.play_on()
        assert client.standing["over"]
        for message in NONSENSE[17:30]:
            client.ask(message, "error")


def mutated(dice: random.Random, session: str) -> str:
    """A message that is nearly right: parts of those that are, put together anew."""
    words = ["new", "again", "play", "advise", "film", "page", "variant", "hello", "close", "__init__"]
    values: list[Any] = [
        None,
        0,
        1,
        -1,
        4.5,
        True,
        "",
        "4p",
        "2p",
        "sharks-2p-level2",
        "random",
        "counter",
        session,
        [],
        {},
        [None] * 4,
    ]
    keys = ["type", "variant", "name", "seat", "agents", "number", "action", "agent", "session", "x" * dice.randrange(1, 9)]
    message = {key: dice.choice([*values, dice.randrange(-9, 99), [dice.choice(values)] * 4]) for key in dice.sample(keys, 5)}
    if dice.random() < 0.9:
        message["type"] = dice.choice(words)
    text = json.dumps(message)
    return text if dice.random() < 0.8 else text[: dice.randrange(len(text))]


def test_messages_that_are_nearly_right_break_nothing(served: Served) -> None:
    dice = random.Random(1)
    with served.connect() as client:
        client.new("4p", 0, "random")
        for _ in range(400):
            client.send(mutated(dice, client.session))
        client.send({"type": "variant", "name": "7p"})
        kinds = []
        while (message := client.receive()) and not (message["type"] == "variant" and message["name"] == "7p"):
            kinds.append(message["type"])
        assert kinds.count("error") > 200
        client.new("4p", 0, "random")
        client.play_on()
        assert client.standing["failure"] is None
    for session in served.server.sessions.values():
        assert session.table is None or session.table.failure is None


def test_repeated_and_late_choices_get_an_error(served: Served) -> None:
    with served.connect() as client:
        client.new("4p", 0, "lowest")
        choice = {"type": "play", "number": 1, "action": 2}
        client.send(choice)
        client.send(choice)  # sent before the answer: refused as too early, or as late
        told = [client.receive()["type"] for _ in range(2)]
        assert sorted(told) == ["error", "frame"]
        assert "it was made already" in client.ask(choice, "error")["message"]
        assert len(served.server.sessions[client.session].table.actions) == 1  # type: ignore[union-attr]  # there is a game
        client.play_on()


def test_messages_that_are_too_large_for_the_socket_end_the_connection_and_not_the_game(served: Served) -> None:
    with served.connect() as client:
        client.new("4p", 0, "lowest")
        client.play_on(rounds=2)
        session = client.session
        client.send("x" * 70_000)
        with pytest.raises(ConnectionClosed) as closed:
            client.socket.recv(PATIENCE)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    with served.connect(session) as client:
        client.receive("game")
        client.play_on()
        assert client.standing["over"]


def test_before_hello_nothing_is_done(served: Served) -> None:
    with served.open() as socket:
        for message in ('{"type": "new"}', '{"type": "film"}', "nonsense"):
            socket.send(message)
            assert json.loads(socket.recv(PATIENCE))["type"] == "error"
        assert not served.server.sessions


@pytest.mark.parametrize("session", ["", "x", "../x", None, 3, ["a"], {"a": 1}, "A" * 3000])
def test_a_session_that_is_not_known_is_a_new_one(served: Served, session: Any) -> None:
    with served.connect(session) as client:
        assert client.session != session
        assert "no game" in client.ask({"type": "again"}, "error")["message"]


def flood(client: Client, told: list[str]) -> None:
    while True:
        told.append(client.ask({"type": "variant", "name": "4p"})["type"])


def test_too_many_messages_get_errors_and_then_the_connection_ends() -> None:
    with Served(limits=replace(UNHURRIED, burst=30, rate=0.001, excess=20)) as served:
        with served.connect() as client:
            client.new("4p", 0, "lowest")
            told: list[str] = []
            with pytest.raises(ConnectionClosed) as closed:
                flood(client, told)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
            assert 20 <= told.count("error") <= 21
            assert told.count("variant") <= 30
            session = client.session
        with served.connect(session) as client:
            client.receive("game")
            client.play_on(rounds=3)


def test_limits_are_as_the_page_says() -> None:
    limits = Limits()
    assert (limits.message, limits.frame, limits.burst, limits.rate, limits.games) == (4096, 65536, 60, 20, 1000)


# --- who may connect ------------------------------------------------------------------------------------------

FOREIGN = ["http://evil.example", "null", "https://127.0.0.1:1", "http://127.0.0.1.evil.example", "http://127.0.0.1", "file://", ""]


@pytest.mark.parametrize("origin", [*FOREIGN[:-1], None])
def test_a_page_of_another_site_can_not_connect(served: Served, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as refused, served.open(origin=origin):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.7", "[::2]", "a b", "127.0.0.1:x"]
)
def test_a_name_that_leads_here_from_elsewhere_is_refused(served: Served, host: str) -> None:
    """DNS rebinding: the browser takes this server for a page of another site."""
    for path in FILES:
        status, _, body = served.get(path, {"Host": host})
        assert status == 403
        assert "robot" not in body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost:9000", "[::1]:9000"])
def test_names_of_this_machine_are_served(served: Served, host: str) -> None:
    assert served.get("/", {"Host": host})[0] == 200


def test_pages_carry_headers_that_let_no_other_script_run(served: Served) -> None:
    for path in FILES:
        status, headers, body = served.get(path)
        assert status == 200
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
        assert "http://" not in body.replace("http://www.w3.org/", "") or path.endswith(".js")
    page = served.get("/")[2]
    assert "<script>" not in page
    assert "style=" not in page
    assert " onclick" not in page


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/..%2fserver.py",
        "/static/app.js",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/app.js/",
        "/play",
        "/docs",
    ],
)
def test_nothing_else_is_served(served: Served, path: str) -> None:
    assert served.get(path)[0] in (400, 404)


def test_pages_are_read_and_nothing_else(served: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert served.get("/", method=method)[0] in (403, 405)


TOKEN = "right-token"


@pytest.fixture
def guarded() -> Iterator[Served]:
    with Served(host="0.0.0.0", token=TOKEN) as one:
        yield one


def test_with_a_token_nothing_is_served_without_it(guarded: Served) -> None:
    for path, cookie in itertools.product(
        [*FILES, "/?token=wrong", "/?token=", "/app.js?token=" + TOKEN], ["", "getbit_token=wrong", "x"]
    ):
        assert guarded.get(path, {"Cookie": cookie} if cookie else None)[0] == 403
    for headers in ({}, {"Cookie": "getbit_token=wrong"}, {"Cookie": "getbit_token="}):
        with pytest.raises(InvalidStatus) as refused, guarded.open(headers):
            pass
        assert refused.value.response.status_code == 403


def test_the_token_becomes_a_cookie_that_scripts_can_not_read(guarded: Served) -> None:
    status, headers, _ = guarded.get(f"/?token={TOKEN}")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    mine = {"Cookie": headers["set-cookie"].partition(";")[0]}
    assert guarded.get("/", mine)[0] == 200
    with guarded.open(mine) as socket:
        socket.send('{"type": "hello"}')
        assert json.loads(socket.recv(PATIENCE))["type"] == "welcome"
    with pytest.raises(InvalidStatus), guarded.open(mine, origin="http://evil.example"):
        pass


def test_with_a_token_addresses_are_served_and_names_of_others_are_not(guarded: Served) -> None:
    cookie = {"Cookie": f"getbit_token={TOKEN}"}
    assert guarded.get("/", {"Host": "192.168.1.5:8377", **cookie})[0] == 200
    assert guarded.get("/", {"Host": "evil.example", **cookie})[0] == 403
    assert guarded.get(f"/?token={TOKEN}", {"Host": "evil.example"})[0] == 403
