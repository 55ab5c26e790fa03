"""A client of the server of `getbit play`, for tests: it keeps every byte that it is sent."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import threading
from collections.abc import Sequence
from typing import Any

import uvicorn
from websockets.sync.client import ClientConnection, connect

from getbit_env.web.agents import Roster
from getbit_env.web.command import listen, settings
from getbit_env.web.server import GameServer, Limits, Session, make_app

PATIENCE = 120  # seconds to wait for a message before a test fails
UNHURRIED = Limits(burst=10**9)  # tests play faster than people


class Observed(GameServer):
    """A server that notes in which loop it runs."""

    loop: asyncio.AbstractEventLoop

    async def connect(self, socket: Any) -> None:
        self.loop = asyncio.get_running_loop()
        await super().connect(socket)


class Served:
    """A server on a port of this machine, and clients of it."""

    def __init__(self, roster: Roster | None = None, limits: Limits | None = None, **options: Any) -> None:
        self.server = Observed(roster, limits or UNHURRIED)
        self._socket = listen("127.0.0.1", 0)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._uvicorn = uvicorn.Server(settings(make_app(self.server, **options), self.server.limits))
        self._thread = threading.Thread(target=self._uvicorn.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> Served:
        self._thread.start()
        while not self._uvicorn.started:
            assert self._thread.is_alive()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(PATIENCE)
        self._socket.close()

    def connect(self, session: str | None = None) -> Client:
        return Client(self, session)

    def drop(self, session: Session) -> None:
        """Cut the connection of a session, as a network does."""
        assert session.socket is not None
        asyncio.run_coroutine_threadsafe(session.socket.close(1011), self.server.loop).result(PATIENCE)

    def open(self, headers: dict[str, str] | None = None, origin: str | None = "") -> Any:
        """A WebSocket for `with`, from the server's own pages unless another origin is given."""
        came_from: Any = self.address if origin == "" else origin
        return connect(f"ws://127.0.0.1:{self.port}/play", origin=came_from, additional_headers=headers, max_size=None, proxy=None)

    def get(self, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> tuple[int, dict[str, str], str]:
        """Status, headers and body of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host="Host" in (headers or {}))
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        found = response.status, {name.lower(): value for name, value in response.getheaders()}, response.read().decode()
        connection.close()
        return found


class Client:
    """One connection; `with` opens it, and says hello."""

    def __init__(self, served: Served, session: str | None) -> None:
        self._served, self._session = served, session
        self.texts: list[str] = []
        self.standing: dict[str, Any] = {}

    def __enter__(self) -> Client:
        self._connection = self._served.open()
        self.socket: ClientConnection = self._connection.__enter__()
        self.send({"type": "hello", "session": self._session})
        self.session = self.receive("welcome")["session"]
        return self

    def __exit__(self, *problem: Any) -> None:
        self._connection.__exit__(*problem)

    def send(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def receive(self, kind: str | None = None) -> dict[str, Any]:
        """The next message, of this kind."""
        text = self.socket.recv(PATIENCE)
        assert isinstance(text, str)
        self.texts.append(text)
        message: dict[str, Any] = json.loads(text)
        if message["type"] == "exact" != kind:  # it comes when it is found
            return self.receive(kind)
        assert kind is None or message["type"] == kind, text[:500]
        if message["type"] in ("game", "frame"):
            self.standing = message
        return message

    def ask(self, message: Any, kind: str | None = None) -> dict[str, Any]:
        self.send(message)
        return self.receive(kind)

    def new(self, variant: str, seat: int | None = 0, agents: Sequence[str] | str = "random") -> dict[str, Any]:
        players = self.ask({"type": "variant", "name": variant}, "variant")["players"]
        names = [agents] * players if isinstance(agents, str) else list(agents)
        return self.ask({"type": "new", "variant": variant, "seat": seat, "agents": names}, "game")

    def settle(self) -> dict[str, Any]:
        """Wait until there is something to choose, or the game is over."""
        while not self.standing["over"] and self.standing["choices"] is None:
            self.receive("frame")
        return self.standing

    def actions(self) -> list[int]:
        """The actions that can be chosen, made from what the server tells as the page makes them."""
        choices = self.standing["choices"]
        if choices["kind"] == "actions":
            return [choice["action"] for choice in choices["actions"]]
        actions = [0]
        for hand in choices["hands"]:
            actions = [action * self.cards + card - 1 for action in actions for card in hand]
        return actions

    @property
    def cards(self) -> int:
        game = next(json.loads(text) for text in reversed(self.texts) if text.startswith('{"type":"game"'))
        cards: int = game["film"]["cards"]
        return cards

    def play(self, action: int) -> dict[str, Any]:
        self.ask({"type": "play", "number": self.standing["choices"]["number"], "action": action}, "frame")
        return self.settle()

    def play_on(self, seed: int = 0, rounds: int | None = None) -> int:
        """Play any actions to the end, or for some rounds; says how often it chose."""
        dice, chosen = random.Random(seed), 0
        self.settle()
        while not self.standing["over"] and chosen != rounds:
            self.play(dice.choice(self.actions()))
            chosen += 1
        return chosen


def frames_of(texts: Sequence[str]) -> list[dict[str, Any]]:
    """All frames in what a client was sent."""
    return [frame for text in texts for frame in json.loads(text).get("frames", [])]
