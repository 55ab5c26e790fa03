"""How many games the server of `getbit play` bears at a time (`docs/play.md`).

The server runs in a process of its own, as people run it. Every client keeps its connection open from the first to the last game.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from getbit_env.command_line import at_least_one, command_parser, leave


class Client:
    """A person at one table."""

    def __init__(self, address: str, number: int, variant: str, agent: str, players: int, pause: float) -> None:
        self.address, self.dice, self.pause = address, random.Random(number), pause
        self.first = {"type": "new", "variant": variant, "seat": 0, "agents": [None] + [agent] * (players - 1)}
        self.waits: list[float] = []
        self.received = 0
        self.over = False

    async def play(self, ready: asyncio.Barrier) -> None:
        """Connect, wait for all others, and play one game."""
        origin = Origin(f"http://{self.address}")
        async with connect(
            f"ws://{self.address}/play", origin=origin, max_size=None, open_timeout=120, ping_interval=None
        ) as socket:
            await self.ask(socket, {"type": "hello", "session": None})
            standing = await self.ask(socket, self.first)
            await ready.wait()
            cards = standing["film"]["cards"]
            await asyncio.sleep(self.dice.random() * self.pause)
            while not standing["over"]:
                if standing["choices"] is None:
                    standing = await self.receive(socket)
                    continue
                await asyncio.sleep(self.pause * (0.5 + self.dice.random()))
                action = 0
                for hand in standing["choices"]["hands"]:
                    action = action * cards + self.dice.choice(hand) - 1
                begun = time.perf_counter()
                standing = await self.ask(socket, {"type": "play", "number": standing["choices"]["number"], "action": action})
                self.waits.append(time.perf_counter() - begun)
            self.over = True

    async def ask(self, socket: ClientConnection, message: dict[str, Any]) -> dict[str, Any]:
        """Send, and wait for the answer."""
        await socket.send(json.dumps(message))
        return await self.receive(socket)

    async def receive(self, socket: ClientConnection) -> dict[str, Any]:
        """The next message."""
        text = await socket.recv()
        self.received += len(text)
        answer: dict[str, Any] = json.loads(text)
        if answer["type"] == "error":
            raise RuntimeError(str(answer["message"]))
        return answer


async def measure(options: argparse.Namespace, address: str) -> dict[str, float]:
    """Play all games at the same time."""
    players = int(options.variant[0])
    clients = [Client(address, k, options.variant, options.agent, players, options.pause) for k in range(options.games)]
    ready = asyncio.Barrier(len(clients))
    begun = time.perf_counter()
    await asyncio.gather(*(client.play(ready) for client in clients))
    seconds = time.perf_counter() - begun
    waits = sorted(wait for client in clients for wait in client.waits)
    return {
        "games": sum(client.over for client in clients),
        "seconds": seconds,
        "rounds": len(waits),
        "rounds a second": len(waits) / seconds,
        "wait, median (ms)": 1000 * statistics.median(waits),
        "wait, 99 of 100 (ms)": 1000 * waits[int(0.99 * (len(waits) - 1))],
        "wait, longest (ms)": 1000 * waits[-1],
        "sent (MB)": sum(client.received for client in clients) / 1e6,
    }


def memory_of(process: int) -> float:
    """Resident memory of a process in MB, where the system tells; else 0."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(row.split()[1]) / 1024 for row in status.splitlines() if row.startswith("VmHWM")), 0.0)


def processor_time_of(process: int) -> float:
    """Seconds that a process has computed, where the system tells; else 0."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """The command."""
    examples = {"": "500 people who think for five seconds before each card", "--pause 0": "and people who don't"}
    parser = command_parser("python -m eval.speed.web", __doc__, examples)
    parser.add_argument("--games", type=at_least_one, default=500, help="at the same time")
    parser.add_argument("--variant", default="4p", help="of Get Bit!, by its name")
    parser.add_argument("--agent", default="counter", help="in the other seats")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds before each choice, on average")
    options = parser.parse_args()
    command = [sys.executable, "-m", "getbit_env", "play", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split("http://")[1].split("/")[0]
            asyncio.run(measure(argparse.Namespace(**{**vars(options), "games": 1, "pause": 0.0}), address))  # compiles
            before = processor_time_of(server.pid)
            figures = asyncio.run(measure(options, address))
            used = processor_time_of(server.pid) - before
            figures |= {"processor a round (ms)": 1000 * used / figures["rounds"], "memory (MB)": memory_of(server.pid)}
            for name, figure in figures.items():
                print(f"{name:24}{figure:12.1f}")
        finally:
            server.terminate()
    return 0


if __name__ == "__main__":
    leave(main())
