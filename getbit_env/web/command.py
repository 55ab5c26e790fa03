"""`getbit play`: a page on which a person plays with agents, or looks on."""

from __future__ import annotations

import argparse
import ipaddress
import secrets
import socket
import sys
import webbrowser
from collections.abc import Sequence
from typing import Any

from getbit_env.command_line import add_variant_arguments, need, variant_of

EPILOG = """examples:
  getbit play                                 four players; choose everything on the page
  getbit play --players 2 --against equilibrium
  getbit play --variant 4p-memory --seat 2 --against counter montecarlo
  getbit play --agent runs/first              your own agent is in the lists as well
  getbit play --watch --variant 7p            agents play, you look on
  getbit play --host 0.0.0.0                  for other machines too; the address holds a token
"""


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        prog="getbit play", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_variant_arguments(options)
    options.add_argument("--against", nargs="+", default=[], metavar="AGENT", help="agents of the other seats, in turn")
    options.add_argument("--seat", type=int, help="your seat, from 0 on (default 0)")
    options.add_argument("--watch", action="store_true", help="take no seat")
    options.add_argument(
        "--agent", action="append", default=[], metavar="AGENT", help="list this agent too: a folder, a file, or module:attribute"
    )
    options.add_argument("--host", default="127.0.0.1", help="address to serve on (default 127.0.0.1: this machine alone)")
    options.add_argument("--port", type=int, default=8377, help="port to serve on, 0 for any that is free (default 8377)")
    options.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    return options


def is_loopback(host: str) -> bool:
    """Whether an address leads to this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C.

    Returns:
        What the process ends with: 0, or 2 for a wrong argument.
    """
    options = parser()
    arguments = options.parse_args(argv)
    try:
        need("starlette", "uvicorn", "websockets")
        return _serve(arguments)
    except ValueError as error:
        options.error(str(error))
    except KeyboardInterrupt:
        return 0


def _serve(arguments: argparse.Namespace) -> int:
    import uvicorn

    from getbit_env.web.agents import Roster
    from getbit_env.web.server import GameServer, Limits, make_app

    variant = variant_of(arguments)
    if arguments.watch and arguments.seat is not None:
        raise ValueError("--watch takes no seat, and --seat takes one; give one or the other")
    if arguments.seat is not None and not 0 <= arguments.seat < variant.players:
        raise ValueError(f"--seat is 0 to {variant.players - 1} in {variant}, not {arguments.seat}")
    if not 0 <= arguments.port < 65536:
        raise ValueError(f"--port is 0 to 65535, not {arguments.port}")
    roster = Roster([*arguments.agent])
    listed = roster.names(variant)
    for name in arguments.against:
        if name not in listed:
            raise ValueError(
                f"--against {name}: no such agent plays {variant}; there are {', '.join(listed)} (--agent adds others)"
            )
    choice: dict[str, Any] = {
        "variant": variant.name,
        "seat": None if arguments.watch else arguments.seat or 0,
        "agents": arguments.against,
    }
    limits = Limits()
    token = None if is_loopback(arguments.host) else secrets.token_urlsafe(24)
    app = make_app(GameServer(roster, limits, choice), host=arguments.host, token=token)
    listening = listen(arguments.host, arguments.port)
    port = listening.getsockname()[1]
    name = f"[{arguments.host}]" if ":" in arguments.host and not arguments.host.startswith("[") else arguments.host
    if arguments.host in ("0.0.0.0", "::"):
        name = socket.gethostname()
    address = f"http://{name}:{port}/" + ("" if token is None else f"?token={token}")
    sys.stdout.write(f"Get Bit! is at {address}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    if not arguments.no_browser:
        webbrowser.open(address)
    sys.setswitchinterval(0.001)  # messages and agents take turns: a round takes about as long as one turn
    with listening:
        uvicorn.Server(settings(app, limits)).run([listening])
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
