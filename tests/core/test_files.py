"""Files are whole or what they were, and a folder has one owner at a time, whatever happens to the process."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from getbit_env.core.files import InUseError, owned, temporary_beside, write_json, write_text, write_whole

ROOT = Path(__file__).parents[2]


@contextmanager
def process(code: str, *arguments: Path) -> Iterator[subprocess.Popen[str]]:
    """Run code until it prints a line, which says that it is where it should be; it ends with the block."""
    command = [sys.executable, "-c", f"import sys, time\nfrom pathlib import Path\n{code}", *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "here\n"
            yield running
        finally:
            running.kill()


# --- whole files -------------------------------------------------------------------------------------------------------------


def test_a_file_is_written_into_folders_that_do_not_exist_yet(tmp_path: Path) -> None:
    write_json(tmp_path / "new" / "folder" / "a.json", {"ü": [1, 2.5]})
    assert (tmp_path / "new" / "folder" / "a.json").read_text() == '{\n "\\u00fc": [\n  1,\n  2.5\n ]\n}\n'
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["a.json"]


def test_a_kill_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_text(file, "old")
    code = """
from getbit_env.core.files import write_whole
def write(part):
    part.write_text("half of the n")
    print("here", flush=True)
    time.sleep(600)
write_whole(Path(sys.argv[1]), write)
"""
    with process(code, file) as writer:
        assert len(list(tmp_path.iterdir())) == 2, "it is in the middle"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    assert file.read_text() == "old"
    write_text(file, "new")
    assert file.read_text() == "new"


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt(), ValueError("no such thing")])
def test_an_error_in_the_middle_leaves_what_was_there_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    file = tmp_path / "file"
    write_text(file, "old")

    def write(part: Path) -> None:
        part.write_text("half of the n")
        raise error

    with pytest.raises(type(error)):
        write_whole(file, write)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_text(file, "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_text(file, "n" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_text() == "new"


def test_temporary_names_are_shared_by_nobody_and_not_too_long(tmp_path: Path) -> None:
    assert len({temporary_beside(tmp_path / "file") for _ in range(1000)}) == 1000
    write_text(tmp_path / ("ü" * 120), "the longest name that can be written")
    write_text(tmp_path / ("\U0001d524" * 60), "likewise")
    assert len(list(tmp_path.iterdir())) == 2


# --- owners ------------------------------------------------------------------------------------------------------------------

OWN = """
from getbit_env.core.files import owned
with owned(Path(sys.argv[1]), "run"):
    print("here", flush=True)
    time.sleep(600)
"""


def test_a_second_process_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with process(OWN, folder) as owner:
        pattern = rf"run {folder} is in use by process {owner.pid} on .+ since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC; wait"
        with pytest.raises(InUseError, match=pattern), owned(folder, "run"):
            pass
        with pytest.raises(InUseError, match=f"process {owner.pid} "), owned(folder, "run"):
            raise AssertionError("a refused process must not give free what it does not own")
        with owned(tmp_path / "another", "run"):
            pass


def test_the_owner_may_be_killed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with process(OWN, folder) as owner:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    with owned(folder, "run"), pytest.raises(InUseError, match=f"process {os.getpid()} "), owned(folder, "run"):
        pass


@pytest.mark.parametrize("error", [None, ValueError("wrong"), KeyboardInterrupt()])
def test_the_end_of_the_block_gives_free(tmp_path: Path, error: BaseException | None) -> None:
    for _ in range(2):
        with nullcontext() if error is None else pytest.raises(type(error)), owned(tmp_path / "run", "run"):
            if error:
                raise error
    assert not list(tmp_path.glob(".*.holder"))


def test_all_paths_to_a_folder_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "runs" / "first"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "linked").symlink_to(folder.parent)
    monkeypatch.chdir(folder)
    spellings = [Path("."), Path("../first"), Path("../../link"), tmp_path / "link", tmp_path / "linked" / "first"]
    with owned(folder, "run"):
        for path in spellings:
            with pytest.raises(InUseError), owned(path, "run"):
                pass
        with owned(folder / "..", "runs"):
            pass
    for path in spellings:
        with owned(path, "run"):
            pass


def test_the_folders_above_are_made_and_the_folder_itself_is_not(tmp_path: Path) -> None:
    with owned(tmp_path / "a" / "b" / "run", "run"):
        assert not (tmp_path / "a" / "b" / "run").exists()
        assert (tmp_path / "a" / "b").is_dir()


def test_of_many_that_begin_at_once_one_owns(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from getbit_env.core.files import InUseError, owned
print("ready", flush=True)
sys.stdin.readline()
try:
    with owned(Path(sys.argv[1]), "run"):
        print("owner", flush=True)
        sys.stdin.readline()
except InUseError:
    print("refused", flush=True)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1) for _ in range(3)]
    for each in running:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in running:
        assert each.stdin is not None
        each.stdin.write("go\n")
    said = [each.stdout.readline() for each in running if each.stdout is not None]
    for each in running:
        each.communicate()
    assert sorted(said) == ["owner\n", "refused\n", "refused\n"]
