"""What commands share."""

from __future__ import annotations

import argparse
import io
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from tqdm import tqdm

from getbit_env import command_line
from getbit_env.command_line import add_running_arguments, add_variant_arguments, interruptible, need, progress_of, variant_of


def variant_named(*arguments: str, players: int = 4) -> str:
    parser = argparse.ArgumentParser()
    add_variant_arguments(parser, players=players)
    return str(variant_of(parser.parse_args(arguments)).name)


# --- variants ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([], "4p"),
        (["--players", "6"], "6p"),
        (["--players", "2", "--memory", "--half-limbs"], "2p-half-memory"),
        (["--pick-up-at", "1"], "4p-pick1"),
        (["--players", "3", "--three-player-ending", "literal"], "3p-literal"),
        (["--variant", "5p-memory"], "5p-memory"),
        (["--variant", "5p", "--players", "5"], "5p"),
        (["--variant", "sharks-2p-level2"], "sharks-2p-level2"),
        (["--level", "1"], "sharks-4p-level1"),
        (["--level", "2", "--players", "3"], "sharks-3p-level2"),
        (
            ["--level", "2", "--players", "2", "--octopus-on-top", "--must-block", "--may-decline", "--early-shuffle"],
            "sharks-2p-level2-octopusontop-mustblock-maydecline-earlyshuffle",
        ),
    ],
)
def test_options_name_a_variant(arguments: list[str], name: str) -> None:
    assert variant_named(*arguments) == name


def test_each_command_has_its_own_number_of_players() -> None:
    assert variant_named(players=2) == "2p"
    assert variant_named("--memory", players=3) == "3p-memory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variant", "4p", "--memory"], "--variant 4p already says what --memory would; give one or the other"),
        (["--variant", "4p", "--players", "5"], "--variant 4p already says what --players would"),
        (["--variant", "sharks-2p-level2", "--half-limbs"], "already says what --half-limbs would"),
        (["--variant", "sharks-2p-level2", "--must-block"], "already says what --must-block would"),
        (["--level", "2", "--memory"], "--level is about Sharks are Wild, and --memory about Get Bit!"),
        (["--may-decline"], "--may-decline is about Sharks are Wild: say --level 1 or --level 2 as well"),
        (["--level", "1", "--must-block"], "must_block is about Octopus and Dolphin cards"),
        (["--level", "2", "--players", "6"], "players is 2 to 4, not 6"),
        (["--variant", "chess"], "chess"),
        (["--players", "9"], "9"),
    ],
)
def test_two_variants_or_none_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        variant_named(*arguments)


def test_counts_are_whole_numbers_from_1_on(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_running_arguments(parser)
    assert parser.parse_args([]).threads >= 1
    assert parser.parse_args(["--threads", "12"]).threads == 12
    for text in ("0", "-1", "1.5", "two", "", "\u0664"):
        with pytest.raises(SystemExit):
            parser.parse_args([f"--threads={text}"])
        assert f"argument --threads: {text!r} is no whole number from 1 on" in capsys.readouterr().err


# --- what is installed -------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_named_with_its_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    need("tqdm", "matplotlib")
    there = command_line.importlib.util.find_spec
    gone = ("tqdm", "matplotlib", "torch")
    monkeypatch.setattr(command_line.importlib.util, "find_spec", lambda name: None if name in gone else there(name))
    with pytest.raises(ValueError) as refused:
        need("tqdm", "torch", "openskill", "matplotlib")
    assert str(refused.value) == 'this needs tqdm, torch, matplotlib: pip install "getbit-env[commands,sb3]"'
    gone = ("ray", *gone)
    with pytest.raises(ValueError) as refused:
        need("tqdm", "torch", "ray")
    assert str(refused.value) == 'this needs tqdm, torch, ray: pip install "getbit-env[ray]"'


# --- progress ----------------------------------------------------------------------------------------------------------------


def test_progress_moves_a_bar_and_begins_a_new_one_for_other_work() -> None:
    with tqdm(total=0, file=io.StringIO()) as bar:
        show = progress_of(bar)
        show("solving", 3, 10)
        show("solving", 7, 10)
        assert (bar.desc, bar.n, bar.total) == ("solving", 7, 10)
        show("writing", 1, 2)
        assert (bar.desc, bar.n, bar.total) == ("writing", 1, 2)


@pytest.mark.parametrize("terminal", [True, False])
def test_bars_are_for_terminals(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    stderr.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(command_line.sys, "stderr", stderr)
    assert command_line.no_bar() is not terminal


# --- Ctrl-C ------------------------------------------------------------------------------------------------------------------


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100):  # the handler runs between two instructions of Python
        pass


def test_ctrl_c_ends_the_block_and_the_handler_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    reached = []
    with pytest.raises(KeyboardInterrupt), interruptible():
        reached.append(press_ctrl_c())
    assert reached == []
    assert signal.getsignal(signal.SIGINT) is before


def test_what_stumbles_over_an_interrupt_that_was_dropped_is_an_interrupt() -> None:
    def stumble() -> None:
        with suppress(KeyboardInterrupt):  # as LLVM drops what is raised in its callbacks
            press_ctrl_c()
        raise RuntimeError("half a kernel")

    with pytest.raises(KeyboardInterrupt) as raised, interruptible():
        stumble()
    assert isinstance(raised.value.__cause__, RuntimeError)


def test_other_errors_stay_what_they_are() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="wrong"), interruptible():
        raise ValueError("wrong")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_job_in_the_background_goes_on() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible():
            press_ctrl_c()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_nothing_is_changed() -> None:
    seen: list[Any] = []

    def work() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


def test_a_second_ctrl_c_while_a_thread_finishes_ends_the_process_without_a_traceback():
    program = (
        "import sys, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from getbit_env.command_line import leave\n"
        "ThreadPoolExecutor(1).submit(time.sleep, 60)\n"
        "print('leaving', flush=True)\n"
        "leave(130)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "leaving\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert said == ""
