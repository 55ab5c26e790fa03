"""The part of `getbit play` that serves the page on which people play, and look on."""

from __future__ import annotations

import argparse
import ipaddress
import secrets
import socket
import sys
import webbrowser
from contextlib import suppress
from typing import Any

from getbit_env.command_line import need
from getbit_env.core.spec import Variant

PAGE_OPTIONS = ("watch", "agent", "host", "port", "no_browser")
THIS_MACHINE = "127.0.0.1"
PORT = 8377


def add_page_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the options that the page alone has. One that is not given is None."""
    parser.add_argument("--watch", action="store_true", default=None, help="take no seat: agents play, you look on")
    parser.add_argument(
        "--agent", action="append", metavar="AGENT", help="list this agent too: a folder, a file, or module:attribute"
    )
    parser.add_argument("--host", help=f"address to serve on (default {THIS_MACHINE}: this machine alone)")
    parser.add_argument("--port", type=int, help=f"port to serve on, 0 for any that is free (default {PORT})")
    parser.add_argument("--no-browser", action="store_true", default=None, help="print the address, and open no browser")


def is_loopback(host: str) -> bool:
    """Whether an address leads to this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def serve(options: argparse.Namespace, variant: Variant) -> None:
    """Serve until Ctrl-C.

    Args:
        options: `against`, `seat`, and those of `add_page_arguments`.
        variant: what the page begins with.

    Raises:
        ValueError: an option is wrong, or a package is missing.
    """
    try:
        need("starlette", "uvicorn", "websockets")
    except ValueError as error:
        raise ValueError(f"{error}; or play with --terminal, which needs nothing more") from None
    import uvicorn

    from getbit_env.web.agents import Roster
    from getbit_env.web.server import GameServer, Limits, make_app

    host, port = options.host or THIS_MACHINE, PORT if options.port is None else options.port
    against = options.against or []
    if not 0 <= port < 65536:
        raise ValueError(f"--port is 0 to 65535, not {port}")
    roster = Roster([*(options.agent or [])])
    listed = roster.names(variant)
    for name in against:
        if name not in listed:
            raise ValueError(
                f"--against {name}: no such agent plays {variant}; there are {', '.join(listed)} (--agent adds others)"
            )
    choice: dict[str, Any] = {
        "variant": variant.name,
        "seat": None if options.watch else options.seat or 0,
        "agents": against,
    }
    limits = Limits()
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    app = make_app(GameServer(roster, limits, choice), host=host, token=token)
    listening = listen(host, port)
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    if host in ("0.0.0.0", "::"):
        name = socket.gethostname()
    address = f"http://{name}:{listening.getsockname()[1]}/" + ("" if token is None else f"?token={token}")
    sys.stdout.write(f"Get Bit! is at {address}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    if not options.no_browser:
        webbrowser.open(address)
    sys.setswitchinterval(0.001)  # messages and agents take turns: a round takes about as long as one turn
    with listening, suppress(KeyboardInterrupt):
        uvicorn.Server(settings(app, limits)).run([listening])


def settings(app: Any, limits: Any) -> Any:
    """How uvicorn serves the application."""
    import uvicorn

    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=limits.frame,
        ws_per_message_deflate=False,
        server_header=False,
        limit_concurrency=2 * limits.connections,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=2,
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ValueError: the address can't be had.
    """
    bare = host.strip("[]")
    listening = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(256)
    except OSError as error:
        if listening is not None:
            listening.close()
        hint = "; --port 0 takes any that is free" if isinstance(error, PermissionError) or error.errno == 98 else ""
        raise ValueError(f"--host {host} --port {port} can't be served on: {error.strerror or error}{hint}") from error
    listening.setblocking(False)
    return listening
