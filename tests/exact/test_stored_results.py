"""Stored results: damaged in every way, they are refused with one error, and nothing large is read."""

import io
import json
import re
import struct
import threading
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from eval import solve
from getbit_env.core.files import InUseError
from getbit_env.exact import stored_results
from getbit_env.exact.agents import RESPONSE, BestResponse
from getbit_env.exact.best_response import exploitability
from getbit_env.exact.many_players import solve_many_players
from getbit_env.exact.positions import Positions
from getbit_env.exact.solutions import load_solution
from getbit_env.exact.solving import judged, solved
from getbit_env.exact.stored_results import ABOUT, FOLDER_VARIABLE, StoredResultError, cache_folder, save_result, solution_path
from getbit_env.exact.two_players import solve_two_players
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.variants import parse_variant

TWO, MANY = parse_variant("2p-3c-2l"), parse_variant("4p-3c-2l")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A stored result of each kind, with what reads it."""
    folder = tmp_path_factory.mktemp("results")
    two, many, response = (folder / name for name in ("two.npz", "many.npz", "response.npz"))
    solve_two_players(TWO).store(two)
    judged(solve_many_players(MANY)).store(many)
    positions = Positions(TWO)
    BestResponse(positions, exploitability(BOTS["random"](), positions).answer, "random").save(response)
    readers = {
        two: lambda path: load_solution(TWO, path),
        many: lambda path: load_solution(MANY, path),
        response: BestResponse.load,
    }
    for path, read in readers.items():
        read(path)
    return list(readers.items())


def refused(read, path):
    """The error with which a file is refused; anything else but StoredResultError fails the test."""
    tracemalloc.start()
    try:
        with pytest.raises(StoredResultError) as error:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert len(str(error.value)) < 700 + len(str(path))
    assert str(path) in str(error.value)
    return str(error.value)


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def test_no_flipped_bit_raises_anything_else(files, tmp_path):
    """Where a file is read all the same, the flip was in what nobody reads, such as a date."""
    rng = np.random.default_rng(0)
    refusals = 0
    for whole, read in files:
        data = whole.read_bytes()
        kept = contents(whole)
        directory = data.index(b"PK\x01\x02")
        bits = [
            *rng.choice(8 * directory, 120, replace=False),
            *rng.choice(np.arange(8 * directory, 8 * len(data)), 200, replace=False),
        ]
        for bit in bits:
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            path = tmp_path / "damaged.npz"
            path.write_bytes(damaged)
            try:
                read(path)
            except StoredResultError:
                refusals += 1
            else:
                assert contents(path) == kept
    assert refusals > 300


def test_no_file_cut_short_or_overwritten_raises_anything_else(files, tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "damaged.npz"
    for whole, read in files:
        data = whole.read_bytes()
        for end in rng.integers(0, len(data), 40):
            path.write_bytes(data[:end])
            refused(read, path)
        for begin in rng.integers(0, len(data) - 32, 60):
            path.write_bytes(data[:begin] + rng.bytes(32) + data[begin + 32 :])
            refused(read, path)


def test_other_compressions_and_passwords_are_refused(files, tmp_path):
    for whole, read in files:
        for compression in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
            assert "compressed in a way" in refused(read, write(tmp_path / "other.npz", contents(whole), compression))
        data = bytearray(whole.read_bytes())
        for at in (found.start() for found in re.finditer(b"PK\x01\x02", bytes(data))):
            data[at + 8] |= 1  # encrypted
        (tmp_path / "secret.npz").write_bytes(data)
        assert "encrypted" in refused(read, tmp_path / "secret.npz")


DEEP = "[" * 30000 + "]" * 30000


@pytest.mark.parametrize(
    "changes",
    [
        {"facts": None},
        {"facts": []},
        {"facts": {}},
        {"facts": {"gap": None, "start": None, "against": None, "gains": 3}},
        {"facts": {"gap": np.nan, "start": [np.inf] * 4, "branches": 0, "gains": [0] * 4, "regret": 0, "against": 3}},
        {"facts": {"gap": "0", "start": ["0"] * 4, "branches": 0, "gains": [0] * 4, "regret": 0, "against": ["random"]}},
        {"facts": {"gap": True, "start": [0.25] * 3, "branches": 0, "gains": [0] * 4, "regret": 0, "against": {}}},
        {"format": None},
        {"format": True},
        {"format": 2},
        {"kind": None},
        {"kind": "x" * 50_000},
        {"variant": 4},
        {"variant": "7p"},
        {"variant": "4p-memory"},
        {"variant": "../../etc"},
        {"variant": "2p" * 20_000},
        {"rules": None},
        {"rules": [1]},
        {"rules": [[1]] * 7},
        {"digest": 0},
        {"version": None},
        {"more": 1},
    ],
)
def test_what_a_file_says_of_itself_is_checked(files, tmp_path, changes):
    for whole, read in files:
        members = contents(whole)
        about = json.loads(members[ABOUT]) | changes
        refused(read, write(tmp_path / "other.npz", {**members, ABOUT: json.dumps(about).encode()}))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"null", b"3", b"[]", b"\xff\xfe", b"\0" * 1000, DEEP.encode(), b"{" + b" " * 100_000 + b"}", b'{"a":1e999}'],
)
def test_what_is_no_description_is_refused(files, tmp_path, text):
    for whole, read in files:
        refused(read, write(tmp_path / "other.npz", {**contents(whole), ABOUT: text}))


def array_file(array: np.ndarray, header: dict[str, object] | None = None) -> bytes:
    """An array as a file holds it, which may claim what it is not."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    if header is None:
        return file.getvalue()
    claimed = io.BytesIO()
    np.lib.format.write_array_header_1_0(claimed, header)
    return claimed.getvalue() + array.tobytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda array: array_file(array[:-1]),
        lambda array: array_file(array.astype(np.float32)),
        lambda array: array_file(array.view(array.dtype.newbyteorder() if array.itemsize > 1 else np.int8)),
        lambda array: array_file(array.astype(object)),
        lambda array: array_file(np.zeros((0,), array.dtype)),
        lambda array: array_file(array, {"descr": array.dtype.str, "fortran_order": False, "shape": (10**12,)}),
        lambda array: array_file(array, {"descr": array.dtype.str, "fortran_order": False, "shape": (-1,)}),
        lambda array: array_file(array, {"descr": array.dtype.str, "fortran_order": True, "shape": array.shape}),
        lambda array: array_file(array, {"descr": "|O", "fortran_order": False, "shape": array.shape}),
        lambda array: array_file(array) + b"more",
        lambda array: b"\x93NUMPY\x01\x00" + struct.pack("<H", 60000) + b"(" * 60000 + array.tobytes(),
        lambda array: b"\x93NUMPY\x09\x00" + array_file(array)[8:],
        lambda array: b"x" * len(array_file(array)),
        lambda _array: b"",
    ],
)
def test_an_array_of_another_size_or_type_is_refused_before_it_is_read(files, tmp_path, damage):
    for whole, read in files:
        members = contents(whole)
        for name in members.keys() - {ABOUT}:
            array = np.load(io.BytesIO(members[name]))
            refused(read, write(tmp_path / "other.npz", {**members, name: damage(array)}))


def test_what_unpacks_to_gigabytes_is_not_unpacked(files, tmp_path):
    """37 MB of zeros would be 8.6 GB; here 200 MB, and the reader may take 20."""
    for whole, read in files:
        for name in contents(whole):
            path = tmp_path / "bomb.npz"
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
                for member, data in contents(whole).items():
                    if member == name:
                        with file.open(member, "w") as out:
                            for _ in range(200):
                                out.write(bytes(1_000_000))
                    else:
                        file.writestr(member, data)
            refused(read, path)


def test_members_that_lack_or_are_more_are_refused(files, tmp_path):
    for whole, read in files:
        members = contents(whole)
        for name in members:
            refused(read, write(tmp_path / "other.npz", {key: data for key, data in members.items() if key != name}))
        refused(read, write(tmp_path / "other.npz", {**members, "more.npy": b""}))
        with zipfile.ZipFile(tmp_path / "twice.npz", "w") as file, warnings.catch_warnings(action="ignore"):
            for name, data in [*members.items(), *members.items()]:
                file.writestr(name, data)
        refused(read, tmp_path / "twice.npz")


def test_values_that_none_can_be_are_refused(files, tmp_path):
    for (whole, read), name, wrong in zip(files, ("values.npy", "policy.npy", "answer.npy"), (2.0, 1, 255), strict=True):
        members = contents(whole)
        array = np.load(io.BytesIO(members[name]))
        array[-1] = wrong
        refused(read, write(tmp_path / "other.npz", {**members, name: array_file(array)}))
    members = contents(files[0][0])
    array = np.load(io.BytesIO(members["values.npy"]))
    array[0] = np.nan
    refused(files[0][1], write(tmp_path / "other.npz", {**members, "values.npy": array_file(array)}))


def test_what_can_not_be_read_is_refused(files, tmp_path, monkeypatch):
    for whole, read in files:
        refused(read, tmp_path)  # a folder
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(zipfile, "ZipFile", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
            assert "Permission denied" in refused(read, whole)
        monkeypatch.setattr("getbit_env.exact.ram.machine_memory", lambda: 10)
        assert "this machine has 0.0" in refused(read, whole)
        monkeypatch.undo()


def test_equal_results_give_equal_files(files, tmp_path):
    solve_two_players(TWO).store(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == files[0][0].read_bytes()
    arrays = {"words": np.arange(3)}
    for name in ("one", "other"):
        save_result(tmp_path / name, RESPONSE, TWO, {"against": "x"}, arrays)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    with np.load(files[0][0]) as file:
        assert set(file.files) == {"words", "values", ABOUT}, "NumPy reads it as well"


@pytest.mark.parametrize("name", ["2p-3c-2l", "4p-3c-2l"])
def test_one_process_solves_at_a_time_and_the_other_is_told(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    variant, said, inside, done = parse_variant(name), [], threading.Event(), threading.Event()

    def wait(_what, _done, _whole):
        inside.set()
        assert done.wait(60)

    first = threading.Thread(target=lambda: said.append(solved(variant, progress=wait)))
    first.start()
    assert inside.wait(60)
    try:
        with pytest.raises(InUseError, match="in use by process"):
            solved(variant)
        assert solve.main(["--variant", name]) == 1
        assert "in use by process" in capsys.readouterr().err
    finally:
        done.set()
        first.join()
    assert len(said) == 1
    solved(variant)


def test_the_cache_folder_is_expanded_and_missed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, "~/c")
    assert cache_folder() == tmp_path / "c"

    def homeless(*_arguments):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(Path, "expanduser", homeless)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr("sys.platform", platform)
        for named in ("~/c", ""):
            monkeypatch.setenv(FOLDER_VARIABLE, named)
            with pytest.raises(ValueError, match=f"set {FOLDER_VARIABLE} to a folder"):
                cache_folder()
    monkeypatch.setattr("sys.platform", "linux")
    assert solve.main(["--variant", "2p-3c-1l"]) == 2
    assert f"set {FOLDER_VARIABLE} to a folder" in capsys.readouterr().err


def test_a_cache_folder_that_can_not_be_written_is_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "within", tmp_path / ("x" * 300)):
        monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
        assert solve.main(["--variant", "2p-3c-1l"]) == 1
        said = capsys.readouterr().err
        assert "can't be written" in said
        assert len(said.splitlines()) == 1
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "read-only"))
    monkeypatch.setattr(Path, "touch", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    assert solve.main(["--variant", "2p-3c-1l"]) == 1
    assert "Permission denied" in capsys.readouterr().err
    assert not solution_path(TWO).exists()


def test_the_digest_is_of_the_rules_and_the_numbering():
    before = stored_results.rules_digest()
    read = Path.read_bytes
    for name in ("rules.py", "positions.py"):
        stored_results.rules_digest.cache_clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "read_bytes", lambda path, name=name: read(path) + b"#" * (path.name == name))
            assert stored_results.rules_digest() != before
    stored_results.rules_digest.cache_clear()
    assert stored_results.rules_digest() == before
