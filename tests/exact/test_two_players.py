"""The solved two-player game against plain recursion with a general solver, and what happens to its stored result."""

import ctypes
import json
import signal

import numpy as np
import pytest

from eval.solve import main
from getbit_env.command_line import interruptible
from getbit_env.exact import solving, stored_results, two_players
from getbit_env.exact.solutions import load_solution, save_solution
from getbit_env.exact.solving import solved
from getbit_env.exact.stored_results import NotSolvedError, StoredResultError, cache_folder, solution_path
from getbit_env.exact.two_players import PATTERNS, solve_two_players
from getbit_env.get_bit.variants import parse_variant
from tests.exact.brute_force import begin, equilibrium_value

LINES = {"AABB": [0, 1, 2, 3], "ABAB": [0, 2, 1, 3], "ABBA": [0, 2, 3, 1]}
SMALL = parse_variant("2p-4c-2l")


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv(stored_results.FOLDER_VARIABLE, str(tmp_path / "cache"))


@pytest.mark.parametrize("name", ["2p-3c-1l", "2p-3c-2l", "2p-4c-1l", "2p-3c-1l-pick1"])
def test_values_of_the_starting_lines(name):
    variant = parse_variant(name)
    solution = solve_two_players(variant)
    values = solution.starting_values()
    memo: dict[object, float] = {}
    for pattern in PATTERNS:
        mirror = pattern.translate(str.maketrans("AB", "BA"))
        brute = equilibrium_value(begin(variant, LINES[pattern]), memo)
        mirrored = equilibrium_value(begin(variant, [r ^ 2 for r in LINES[pattern]]), memo)
        assert values[pattern] == values[mirror] == pytest.approx(brute, abs=1e-9)
        assert mirrored == pytest.approx(-brute, abs=1e-9)
    assert solution.gap <= 1e-9


def test_no_first_round_no_bite():
    """With one limb the game would be over in the first round if it had a bite (G4.1): it can't be decided before the second."""
    solution = solve_two_players(parse_variant("2p-3c-1l"))
    assert solution.positions.waves == 2
    assert solution.positions.first.tolist() == [0, 3, 6]


def test_the_two_roles_have_opposite_values():
    solution = solve_two_players(SMALL)
    assert (solution.values[:, 0] == -solution.values[:, 1]).all()
    assert abs(solution.values).max() == 1


def test_the_number_of_threads_changes_nothing():
    one, two = solve_two_players(SMALL), solve_two_players(SMALL, threads=2)
    assert one.values.tobytes() == two.values.tobytes()
    assert one.gap == two.gap


def test_a_solution_is_read_back():
    solution = solve_two_players(SMALL)
    path = save_solution(solution)
    assert path.parent == cache_folder()
    again = load_solution(SMALL)
    assert again.values.tobytes() == solution.values.tobytes()
    assert again.positions.first.tolist() == solution.positions.first.tolist()
    assert again.gap == solution.gap


def test_what_is_not_solved_names_the_command():
    with pytest.raises(NotSolvedError, match=r"getbit solve"):
        load_solution(SMALL)


def test_a_game_for_more_is_refused():
    with pytest.raises(ValueError, match="no game for two"):
        solve_two_players(parse_variant("4p-3c-1l"))


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flip_a_byte, cut_short, empty])
def test_a_damaged_solution_is_never_used(damage):
    solution = solved(SMALL)
    damage(solution_path(SMALL))
    with pytest.raises(StoredResultError, match="damaged"):
        load_solution(SMALL)
    said: list[str] = []
    assert solved(SMALL, say=said.append).values.tobytes() == solution.values.tobytes()
    assert "solving again" in said[0]
    load_solution(SMALL)


def test_a_solution_of_other_rules_is_never_used(monkeypatch):
    solved(SMALL)
    monkeypatch.setattr(stored_results, "rules_digest", lambda: "those of tomorrow")
    with pytest.raises(StoredResultError, match="other rules"):
        load_solution(SMALL)


def test_a_solution_of_another_variant_is_never_used():
    path = save_solution(solve_two_players(parse_variant("2p-3c-2l")))
    path.rename(solution_path(SMALL))
    with pytest.raises(StoredResultError, match="of the variant 2p-3c-2l"):
        load_solution(SMALL)


def test_a_solution_of_another_length_is_never_used():
    solution = solve_two_players(SMALL)
    stored_results.save_result(
        solution_path(SMALL), two_players.KIND, SMALL, {"gap": 0}, {"words": solution.positions.index.words, "values": np.zeros(3)}
    )
    with pytest.raises(StoredResultError, match="damaged"):
        load_solution(SMALL)


def test_an_interrupted_solve_goes_on_where_it_was(tmp_path):
    whole = solve_two_players(SMALL)
    told: list[int] = []

    def stop_half_way(what, done, of):
        if what == "solving" and done > of / 2:
            raise KeyboardInterrupt

    def note(what, done, _of):
        if what == "solving":
            told.append(done)

    with pytest.raises(KeyboardInterrupt):
        solve_two_players(SMALL, partial=tmp_path, progress=stop_half_way)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert "words.npz" in kept
    assert "wave-5.npz" in kept
    solved_before = two_players.solve_positions

    def solve_no_more_of_the_last_wave(values, first, last, stage):
        assert first < whole.positions.first[5]
        return solved_before(values, first, last, stage)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_players, "solve_positions", solve_no_more_of_the_last_wave)
        again = solve_two_players(SMALL, partial=tmp_path, progress=note)
    assert told[-1] == whole.positions.count
    assert again.values.tobytes() == whole.values.tobytes()


def test_a_full_disk_leaves_no_half_file(monkeypatch, tmp_path):
    def full(*_arguments, **_arrays):
        raise OSError(28, "No space left on device")

    solution = solve_two_players(SMALL)
    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left"):
        save_solution(solution)
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv(stored_results.FOLDER_VARIABLE)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "getbit-env"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "getbit-env"


def test_command_prints_one_json_object(capsys):
    assert main(["--variant", "2p-3c-2l", "--json", "--threads", "1"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["variant"] == "2p-3c-2l"
    assert set(result["values"]) == {"AABB", "BBAA", "ABAB", "BABA", "ABBA", "BAAB"}
    assert result["certificate_gap"] <= 1e-9
    assert sum(result["positions_by_rounds_played"]) == result["positions"]
    assert main(["--variant", "2p-3c-2l", "--threads", "1"]) == 0
    assert f"{result['values']['AABB']:+.6f}" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_is_not_lost_in_a_callback():
    """As while LLVM compiles: what is raised in a callback from C is dropped, and another error follows."""
    callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))

    @interruptible()
    def compile_something(in_between):
        in_between()
        raise RuntimeError("no compiled object yet")

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        compile_something(callback)
    with pytest.raises(RuntimeError):
        compile_something(lambda: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(RuntimeError):
            compile_something(callback)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert signal.getsignal(signal.SIGINT) is handler


def test_command_says_what_is_wrong(capsys, monkeypatch, tmp_path):
    monkeypatch.delattr("eval.solve.solved")
    for arguments, message in (
        (["--variant", "2p-memory"], "give the face-up game 2p"),
        (["--players", "3"], "three players with two robots each have too many. Solved can be face-up games for two players"),
        (["--players", "7"], "too large"),
        (["--variant", "sharks-2p-level2"], "is a variant of Sharks are Wild, and this command is for Get Bit! alone"),
        (["--level", "2"], "sharks-2p-level2 is a variant of Sharks are Wild, and this command is for Get Bit! alone"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert message in said
        assert len(said.splitlines()) == 1, "no bar before it"
    monkeypatch.undo()
    monkeypatch.setenv(stored_results.FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(solving, "save_solution", lambda _solution: (_ for _ in ()).throw(OSError(28, "No space left")))
    assert main(["--variant", "2p-3c-1l"]) == 1
    said = capsys.readouterr().err
    assert "No space left" in said
    assert str(cache_folder()) in said
