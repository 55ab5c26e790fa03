"""`getbit play` as a command."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from getbit_env.commands.play import main
from getbit_env.web.command import is_loopback

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "--port is 0 to 65535, not 70000"),
        (["--seat", "4"], "--seat is 0 to 3 in 4p, not 4"),
        (["--seat", "0", "--watch"], "--watch takes no seat"),
        (["--against", "nobody"], "--against nobody: no such agent plays 4p; there are random"),
        (["--against", "random", "random", "random", "random"], "--against names 4 agents for 3 seats"),
        (["--seed", "1", "--ascii"], "--seed --ascii is for the terminal: say --terminal as well"),
        (["--terminal", "--port", "1"], "--port --no-browser is for the browser"),
        (["--variant", "9p"], "players is 2 to 7"),
        (["--agent", "nobody"], "no agent 'nobody'"),
        (["--host", "no such host", "--port", "0"], "--host no such host"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("starlette", reason="the extra [web] is not installed")
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--no-browser"], "getbit play")
    assert ended.value.code == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_port_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("starlette", reason="the extra [web] is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit):
            main(["--no-browser", "--port", str(taken.getsockname()[1])], "getbit play")
    assert "--port 0 takes any that is free" in capsys.readouterr().err


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "starlette" else found(name, *rest))
    with pytest.raises(SystemExit):
        main(["--no-browser"], "getbit play")
    assert 'this needs starlette: pip install "getbit-env[web]"; or play with --terminal' in capsys.readouterr().err


def test_addresses_that_lead_to_this_machine_alone() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.0.1", "example.org", "localhost.example.org", ""]))


@pytest.mark.parametrize(("host", "token"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_it_serves_until_ctrl_c(host: str, token: bool) -> None:
    pytest.importorskip("starlette", reason="the extra [web] is not installed")
    command = [sys.executable, "-m", "getbit_env", "play", "--no-browser", "--port", "0", "--host", host]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://[^/]+:(\d+)/(\?token=([\w-]+))?", said)
        assert address is not None, said
        assert bool(address[3]) == token
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
        page = opener.open(f"http://127.0.0.1:{address[1]}/{address[2] or ''}", timeout=60).read().decode()
        assert "Get Bit!" in page
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert errors == ""
