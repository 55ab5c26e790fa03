"""The server of `getbit play`: pages, and a WebSocket on which games are played. It trusts nothing that a client says.

A client sends objects of JSON with a `type`; each gets an answer, or an `error` after which the game goes on:

    {"type": "hello", "session": "..."}         first of all; a session that is known goes on with its game
    {"type": "variant", "name": "4p"}           which agents play a variant
    {"type": "new", "variant": "4p", "seat": 0, "agents": [null, "counter", ...]}
    {"type": "again"}                           the same start, seat and agents
    {"type": "play", "number": 3, "action": 2}  the choice for a round or decision
    {"type": "advise", "agent": "counter"}      what the agent would play; without one the exact value alone
    {"type": "film"}, {"type": "page"}          the game that is over, with everything visible

What a client is sent comes from `Table`, which shows what the person's seat may see.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import json
import logging
import os
import secrets
import socket as sockets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from getbit_env.core.messages import shown
from getbit_env.core.spec import Variant
from getbit_env.game_registry import find_game, find_variant, game_ids
from getbit_env.viewer.html import FOLDER, page
from getbit_env.web.advice import exact_value, is_solved
from getbit_env.web.agents import Roster
from getbit_env.web.games import RefusedError, Table, read_new_game
from getbit_env.web.threads import Threads

STATIC = Path(__file__).parent / "static"
FILES = {
    "/": (STATIC / "index.html", "text/html; charset=utf-8"),
    "/app.js": (STATIC / "app.js", "text/javascript; charset=utf-8"),
    "/app.css": (STATIC / "app.css", "text/css; charset=utf-8"),
    "/board.js": (FOLDER / "board.js", "text/javascript; charset=utf-8"),
    "/board.css": (FOLDER / "board.css", "text/css; charset=utf-8"),
    "/icon.svg": (STATIC / "icon.svg", "image/svg+xml"),
}
COOKIE = "getbit_token"
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Limits:
    """How much a client, and all of them, may ask for.

    Attributes:
        message: bytes of a message that is read; larger ones get an error, and those over `frame` end the connection.
        frame: bytes of a message that the socket takes.
        burst: messages that a connection may send at once.
        rate: messages a second that it may send after that.
        excess: messages beyond the rate after which the connection is closed.
        games: games that are kept; the one that was left alone longest makes room.
        connections: at a time.
        idle: seconds after which a game without a connection may be dropped.
        turns: the longest games that may be played, in turns.
        send: seconds that a client may take to receive a message.
    """

    message: int = 4096
    frame: int = 65536
    burst: int = 60
    rate: float = 20.0
    excess: int = 400
    games: int = 1000
    connections: int = 1200
    idle: float = 24 * 3600.0
    turns: int = 1000
    send: float = 30.0


COSTS = {"new": 4.0, "again": 4.0, "advise": 4.0, "film": 4.0, "page": 4.0}


@dataclass
class Session:
    """A client and its game. Nobody else learns its id, and no message names another's.

    Attributes:
        id: an unguessable name.
        table: the game, or None.
        socket: of the connection that it is shown on; the newest one.
        task: what plays on while the person has nothing to choose.
        busy: whether agents think at the moment.
        seen: when it was heard of last.
        asks: what finds an exact value.
        lock: of whoever reads or plays the game.
    """

    id: str
    table: Table | None = None
    socket: WebSocket | None = None
    task: asyncio.Task[None] | None = None
    busy: bool = False
    seen: float = 0.0
    asks: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Bucket:
    """Counts what a connection may still send."""

    excess: int

    def __init__(self, limits: Limits) -> None:
        self._limits, self._left, self._at = limits, float(limits.burst), time.monotonic()
        self.excess = 0

    def take(self, cost: float) -> bool:
        """Take a message off; False if there have been too many."""
        now = time.monotonic()
        self._left = min(self._limits.burst, self._left + (now - self._at) * self._limits.rate)
        self._at = now
        if self._left < cost:
            self.excess += 1
            return False
        self._left -= cost
        return True


class GameServer:
    """All games, and what clients can ask of them.

    Attributes:
        roster: the agents.
        limits: see `Limits`.
        sessions: by id, the one that was heard of last at the end.
        connections: how many there are.
    """

    roster: Roster
    limits: Limits
    choice: dict[str, Any]
    connections: int

    def __init__(self, roster: Roster | None = None, limits: Limits | None = None, choice: dict[str, Any] | None = None) -> None:
        """Make a server without games.

        Args:
            roster: the agents; by default those of the registry.
            limits: by default `Limits()`.
            choice: what the page proposes: `variant`, `seat` and `agents`.
        """
        self.roster, self.limits = roster or Roster(), limits or Limits()
        self.choice = choice or {}
        self.sessions: OrderedDict[str, Session] = OrderedDict()
        self.connections = 0
        self._threads = Threads(max(2, os.cpu_count() or 1), "agents")
        self._solutions = Threads(1, "solutions")  # of its own: to read one can take long

    def close(self) -> None:
        """End all that is going on."""
        for session in self.sessions.values():
            self._cancel(session)
        for threads in (self._threads, self._solutions):
            threads.close()

    # --- connections ---------------------------------------------------------------------------------------------------------

    async def connect(self, socket: WebSocket) -> None:
        """Serve a connection to its end."""
        if self.connections >= self.limits.connections:
            await socket.close(1013, "too many connections")
            return
        await socket.accept()
        self.connections += 1
        bucket = Bucket(self.limits)
        session: Session | None = None
        try:
            while True:
                text = await self._receive(socket)
                message = self._read(text)
                kind = message.get("type") if message is not None else None
                if not bucket.take(COSTS.get(kind, 1.0) if isinstance(kind, str) else 1.0):
                    if bucket.excess > self.limits.excess:
                        await socket.close(1008, "too many messages")
                        return
                    await self._say_error(socket, "too many messages: wait a moment")
                elif message is None:
                    await self._say_error(
                        socket, f"a message is an object of JSON with a type, of at most {self.limits.message} bytes"
                    )
                elif kind == "hello" and session is None:
                    session = await self._hello(socket, message)
                elif session is None:
                    await self._say_error(socket, 'the first message is {"type": "hello"}')
                elif session.socket is not socket:
                    await socket.close(4001, "the game goes on in another window")
                    return
                else:
                    await self._answer(session, message)
        except WebSocketDisconnect:
            pass
        finally:
            self.connections -= 1
            if session is not None and session.socket is socket:
                session.socket = None

    async def _receive(self, socket: WebSocket) -> str | None:
        """The text of the next message; None if it holds bytes."""
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text: str | None = message.get("text")
        return text

    def _read(self, text: str | None) -> dict[str, Any] | None:
        """A message, or None if it is none."""
        if text is None or len(text) > self.limits.message or len(text.encode("utf-8", "replace")) > self.limits.message:
            return None
        try:
            message = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    async def _send(self, session: Session, message: dict[str, Any], frames: list[str] | None = None) -> None:
        """Send to the client of a session, if it is there; one that does not receive loses its connection, not its game.

        Args:
            session: whose client it is.
            message: what to send.
            frames: is added as `frames`; they are JSON already.
        """
        socket = session.socket
        text = _json(message) if frames is None else f'{_json(message)[:-1]},"frames":[{",".join(frames)}]}}'
        if socket is not None and not await self._deliver(socket, text) and session.socket is socket:
            session.socket = None

    async def _deliver(self, socket: WebSocket, text: str) -> bool:
        try:
            await asyncio.wait_for(socket.send_text(text), self.limits.send)
        except TimeoutError:
            with contextlib.suppress(Exception):
                await socket.close(1008, "too slow")
            return False
        except (WebSocketDisconnect, RuntimeError, OSError):  # the connection is gone
            return False
        return True

    async def _say_error(self, socket: WebSocket, text: str) -> None:
        await self._deliver(socket, _json({"type": "error", "message": text}))

    # --- sessions ------------------------------------------------------------------------------------------------------------

    async def _hello(self, socket: WebSocket, message: dict[str, Any]) -> Session:
        name = message.get("session")
        session = self.sessions.get(name) if isinstance(name, str) else None
        if session is None:
            session = self._new_session()
        elif session.socket is not None:
            with contextlib.suppress(Exception):
                await session.socket.close(4001, "the game goes on in another window")
        session.socket = socket
        self._touch(session)
        await self._send(session, {"type": "welcome", "session": session.id, "games": _games(), "choice": self.choice})
        if session.table is not None:
            await self._show(session)
            self._go_on(session)
        return session

    def _new_session(self) -> Session:
        self._make_room()
        session = Session(secrets.token_urlsafe(24))
        self.sessions[session.id] = session
        return session

    def _make_room(self) -> None:
        """Drop games that were left alone for long, and as many others without a connection as it takes."""
        now = time.monotonic()
        alone = [session for session in self.sessions.values() if session.socket is None]
        for session in alone:
            if len(self.sessions) >= self.limits.games or now - session.seen > self.limits.idle:
                self._drop(session)
        for session in list(self.sessions.values()):  # connections are bounded, so these are few
            if len(self.sessions) >= self.limits.games and session.table is None:
                self._drop(session)

    def _drop(self, session: Session) -> None:
        self._cancel(session)
        self.sessions.pop(session.id, None)

    def _cancel(self, session: Session) -> None:
        for task in (session.task, session.asks):
            if task is not None:
                task.cancel()

    def _touch(self, session: Session) -> None:
        session.seen = time.monotonic()
        if session.id in self.sessions:
            self.sessions.move_to_end(session.id)
        else:  # it was dropped meanwhile, and comes back
            self._make_room()
            self.sessions[session.id] = session

    # --- messages ------------------------------------------------------------------------------------------------------------

    async def _answer(self, session: Session, message: dict[str, Any]) -> None:
        self._touch(session)
        kind = message.get("type")
        handler: Callable[[Session, dict[str, Any]], Awaitable[None]] | None = (
            getattr(self, f"_on_{kind}", None) if isinstance(kind, str) and kind in _KINDS else None
        )
        try:
            if handler is None:
                raise RefusedError(f"a type is one of {', '.join(_KINDS)}, not {shown(kind)}")
            await handler(session, message)
        except ValueError as error:  # `RefusedError`, or what the game itself refuses
            await self._send(session, {"type": "error", "message": str(error)})

    async def _on_variant(self, session: Session, message: dict[str, Any]) -> None:
        variant = self._variant(message.get("name"))
        names = await self._threads.run(self.roster.names, variant)
        told = {"name": variant.name, "players": variant.players, "agents": names, "solved": is_solved(variant)}
        await self._send(session, {"type": "variant", **told})

    async def _on_new(self, session: Session, message: dict[str, Any]) -> None:
        variant = self._variant(message.get("variant"))
        await self._begin(session, functools.partial(read_new_game, self.roster, message, variant))

    async def _on_again(self, session: Session, _message: dict[str, Any]) -> None:
        table = self._table(session)
        agents = ["" if name is None else name for name in table.agents]
        await self._begin(session, functools.partial(Table, self.roster, table.variant, table.seat, agents, table.start))

    async def _begin(self, session: Session, make: Callable[[], Table]) -> None:
        """Begin another game in place of the one that there is."""
        if session.task is not None:
            session.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await session.task
        session.task, session.busy = None, False
        async with session.lock:
            session.table = await self._threads.run(make)
        await self._show(session)
        self._go_on(session)

    async def _on_play(self, session: Session, message: dict[str, Any]) -> None:
        table = self._table(session)
        if session.busy:
            raise RefusedError("your choice is made, and the others are choosing")
        self._go_on(session, table.check_choice(message.get("number"), message.get("action")))

    async def _on_advise(self, session: Session, message: dict[str, Any]) -> None:
        table = self._table(session)
        if session.busy or not table.waits or table.seat is None:
            raise RefusedError("advice is for a player who is to choose")
        name = message.get("agent")
        if name is not None and not isinstance(name, str):
            raise RefusedError("agent is the name of an agent, or null")
        choices = table.choices()
        assert choices is not None  # it is to choose
        if name is not None:
            async with session.lock:
                told = await self._threads.run(table.advise, name)
            await self._send(session, {"type": "advice", "agent": name, "number": choices["number"], "advice": told})
        if is_solved(table.variant) and (session.asks is None or session.asks.done()):
            observation = table.records.engine.observation[0, table.seat].copy()
            session.asks = asyncio.create_task(self._value(session, table, choices["number"], observation))

    async def _value(self, session: Session, table: Table, number: int, observation: Any) -> None:
        """Send the exact value of a position when it is found; the first one takes a while, and the game goes on meanwhile."""
        worth = await self._solutions.run(exact_value, table.variant, observation)
        if session.table is table:
            await self._send(session, {"type": "exact", "number": number, "exact": worth})

    async def _on_film(self, session: Session, _message: dict[str, Any]) -> None:
        await self._send(session, {"type": "film", "film": await self._film(session)})

    async def _on_page(self, session: Session, _message: dict[str, Any]) -> None:
        told = await self._film(session)
        title = f"{told['title']} {told['variant']}"
        await self._send(session, {"type": "page", "name": f"getbit-{told['variant']}.html", "html": page(told, title)})

    async def _film(self, session: Session) -> dict[str, Any]:
        table = self._table(session)
        async with session.lock:
            return await self._threads.run(table.film)

    def _table(self, session: Session) -> Table:
        if session.table is None:
            raise RefusedError("there is no game: begin one")
        return session.table

    def _variant(self, name: Any) -> Variant:
        if not isinstance(name, str) or len(name) > 100:
            raise RefusedError("a variant is given by its name, such as 4p")
        try:
            variant: Variant = find_variant(name)
        except ValueError as error:
            raise RefusedError(str(error)) from error
        if getattr(variant, "turn_limit", 0) > self.limits.turns:
            raise RefusedError(f"{name}: a game in the browser takes at most {self.limits.turns} turns")
        return variant

    # --- play ----------------------------------------------------------------------------------------------------------------

    async def _show(self, session: Session) -> None:
        """Send the game as it stands."""
        table = session.table
        if table is not None:
            state = {"type": "game", "film": table.header(), "open": table.open, "solved": is_solved(table.variant)}
            await self._send(session, state | self._standing(session), table.seen())

    def _standing(self, session: Session) -> dict[str, Any]:
        table = session.table
        assert table is not None
        choices = None if session.busy else table.choices()
        return {"choices": choices, "over": table.over, "failure": table.failure}

    def _go_on(self, session: Session, choice: int | None = None) -> None:
        """Play on, until the person is to choose or the game is over."""
        table = session.table
        if table is None or session.busy or (choice is None and (table.waits or table.over)):
            return
        session.busy = True
        session.task = asyncio.create_task(self._play_on(session, table, choice))

    async def _play_on(self, session: Session, table: Table, choice: int | None) -> None:
        try:
            while True:
                async with session.lock:
                    frame = await asyncio.shield(self._threads.run(table.play, choice))
                choice = None
                more = not table.over and not table.waits
                session.busy = more
                await self._send(session, {"type": "frame"} | self._standing(session), [frame])
                if not more or (session.socket is None and table.seat is None):
                    return
        except Exception as error:  # a fault of ours ends this game and no other
            logging.getLogger(__name__).exception("game of %s", table.variant)
            table.failure = f"the server failed ({type(error).__name__})"
            session.busy = False
            await self._send(session, {"type": "frame"} | self._standing(session), [])
        finally:
            session.busy = False


_KINDS = ("variant", "new", "again", "play", "advise", "film", "page")


def _json(message: Any) -> str:
    return json.dumps(message, separators=(",", ":"))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


@functools.cache
def _games() -> list[dict[str, str]]:
    """The games that can be shown."""
    games = [find_game(game_id) for game_id in game_ids()]
    return [{"title": game.title, "prefix": game.prefix, "variant": game.default_variant} for game in games if game.frames]


# --- who may connect ----------------------------------------------------------------------------------------------------------


class Guard:
    """Lets in who asks for this host by a name that it has, comes from its own pages, and knows the token if there is one.

    A page of another site can make a browser connect here, also under a name of its own that it makes lead to this machine. The
    first has another `Origin`, the second another `Host`.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self._app, self._token = app, token
        self._names = {"localhost", "127.0.0.1", "::1", host.strip("[]").lower()}
        self._any_address = token is not None
        if self._any_address:
            self._names |= {sockets.gethostname().lower(), sockets.getfqdn().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refusal(scope, headers)
        if refused is None:
            await self._app(scope, receive, _with_security_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refused})
        else:
            await self._reply(scope, headers, refused)(scope, receive, _with_security_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        """Why somebody is not let in, or None."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "this host is not served here"
        origin = headers.get("origin")
        if (origin is None and scope["type"] == "websocket") or (origin is not None and not _same_origin(origin, hosts[0])):
            return "requests come from the pages of this server alone"
        if self._token is not None and not _knows(self._token, _cookie(headers)):
            return "the token is missing or wrong"
        return None

    def _is_ours(self, host: str) -> bool:
        name = _name_of_host(host)
        if name is None:
            return False
        if name in self._names:
            return True
        if not self._any_address:
            return False
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(name)  # an address, which no other site can take for itself
            return True
        return False

    def _reply(self, scope: Scope, headers: Headers, refused: str) -> Response:
        """Answer a client without access: with the cookie if it gives the token, else with the refusal."""
        hosts = headers.getlist("host")
        given = Request(scope).query_params.get("token", "")
        came_in = scope["path"] == "/" and len(hosts) == 1 and self._is_ours(hosts[0]) and headers.get("origin") is None
        if self._token is not None and came_in and _knows(self._token, given):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self._token, httponly=True, samesite="strict", path="/")
            return response
        return PlainTextResponse(f"{refused}\n", 403)


def _name_of_host(host: str) -> str | None:
    """The name in a `Host` header, without its port; None if it is none."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":") if bracket else "x"
    else:
        name, _, port = host.partition(":")
    return name.lower().rstrip(".") if port == "" or (port.isascii() and port.isdecimal()) else None


def _same_origin(origin: str, host: str) -> bool:
    scheme, separator, rest = origin.partition("://")
    return scheme in ("http", "https") and bool(separator) and rest.lower() == host.lower()


def _cookie(headers: Headers) -> str:
    with contextlib.suppress(CookieError):
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        return morsel.value if morsel is not None else ""
    return ""


def _knows(token: str, given: str) -> bool:
    return secrets.compare_digest(token.encode(), given.encode("utf-8", "replace"))


def _with_security_headers(send: Send) -> Send:
    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name.encode(): value.encode() for name, value in SECURITY_HEADERS.items()}
            message = {**message, "headers": [(name, value) for name, value in message.get("headers", []) if name not in own]}
            message["headers"] += list(own.items())
        await send(message)

    return with_headers


def make_app(server: GameServer, *, host: str = "127.0.0.1", token: str | None = None) -> ASGIApp:
    """The application, as uvicorn takes it.

    Args:
        server: the games.
        host: that it is served on.
        token: which clients have to know; None for none.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_app: Any) -> Any:
        yield
        server.close()

    def serve(path: str) -> Callable[[Request], Awaitable[Response]]:
        file, kind = FILES[path]

        async def send_file(_request: Request) -> Response:
            return FileResponse(file, media_type=kind)

        return send_file

    routes = [Route(path, serve(path), methods=["GET"]) for path in FILES]
    app = Starlette(routes=[*routes, WebSocketRoute("/play", server.connect)], lifespan=lifespan)
    app.router.redirect_slashes = False
    return Guard(app, host, token)
