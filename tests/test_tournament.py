"""Tournaments: which tables, saved as they go, taken up again, and the command."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from eval import tournament as command
from getbit_env.get_bit.bots import Highest
from getbit_env.get_bit.observations import Layout
from getbit_env.match import play_match, play_tournament, rate
from getbit_env.match.tournament import cross_tables, mixed_tables


class Counted(Highest):
    """Counts the matches that it plays."""

    def __init__(self) -> None:
        super().__init__()
        self.matches = 0

    def reset(self, layout: Layout, begins: np.ndarray, seed: int | None) -> None:
        self.matches += 1
        super().reset(layout, begins, seed)


class Broken(Highest):
    def act(self, *_: np.ndarray) -> np.ndarray:
        raise OSError("no board")


def test_cross_tables() -> None:
    assert cross_tables("ab", 2) == [("a", "b")]
    assert cross_tables("abc", 2) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert cross_tables("ab", 4) == [("a", "b", "b", "b"), ("b", "a", "a", "a")]


def test_mixed_tables() -> None:
    assert mixed_tables("ab", 2) == []  # all that there are is one against one
    assert mixed_tables("ab", 3) == []  # two of one and one of the other: one against many
    assert mixed_tables("ab", 4) == [tuple("aabb")]
    assert mixed_tables("abc", 3) == [tuple("abc")]
    assert mixed_tables("abc", 4) == [tuple("aabc"), tuple("abbc"), tuple("abcc")]
    assert mixed_tables("cab", 4) == [tuple("ccab"), tuple("caab"), tuple("cabb")]
    assert len(mixed_tables("abcdef", 4)) == 15
    some = mixed_tables("abcdefgh", 4, most=20, seed=1)
    assert len(set(some)) == 20
    assert set(some) < set(mixed_tables("abcdefgh", 4, most=70))
    assert some == mixed_tables("abcdefgh", 4, most=20, seed=1) != mixed_tables("abcdefgh", 4, most=20, seed=2)


def test_a_tournament_is_its_matches() -> None:
    result = play_tournament(["random", "counter", "lowest"], "3p-1r", starts=60, seed=4)
    assert len(result.matches) == 7
    assert [match.line_up for match in result.mixed] == [("random", "counter", "lowest")]
    assert result.match("counter", "lowest") == play_match(["counter", "lowest", "lowest"], "3p-1r", starts=60, seed=4)
    assert result.win("counter", "lowest") == result.match("counter", "lowest")["counter"].win
    assert result.win("counter", "counter") == (1 / 3, None, None)
    with pytest.raises(KeyError, match="no table of 'highest' among 2 x 'lowest'"):
        result.match("highest", "lowest")
    two = play_tournament(["random", "counter"], "2p", starts=24)
    assert two.win("random", "counter").mean + two.win("counter", "random").mean == pytest.approx(1)


def test_a_broken_off_tournament_goes_on(tmp_path: Path) -> None:
    names, own = ["mine", "random", "lowest"], {"mine": Counted()}
    whole = play_tournament(names, "4p", own={"mine": Highest()}, starts=24)
    path = tmp_path / "deep" / "file.json"

    def break_off(table: tuple[str, ...], part: float) -> None:
        if table == ("random", "lowest", "lowest", "lowest") and part == 1.0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_tournament(names, "4p", own=own, starts=24, path=path, progress=break_off)
    assert own["mine"].matches == 3  # of its seven tables
    assert len(json.loads(path.read_text())["matches"]) == 4
    assert [file.name for file in path.parent.iterdir()] == ["file.json"]

    done = []
    resumed = play_tournament(names, "4p", own=own, starts=24, path=path, progress=lambda table, part: done.append((table, part)))
    assert own["mine"].matches == 7
    assert resumed.matches == whole.matches
    assert [table for table, part in done if part == 1.0][-1] == ("mine", "random", "lowest", "lowest")
    assert json.loads(path.read_text()) == json.loads(json.dumps(resumed.to_dict()))

    more = play_tournament([*names, "counter"], "4p", own=own, starts=24, path=path, mixed=0)
    assert own["mine"].matches == 9, "only tables with the newcomer are played"
    fewer = play_tournament(["random", "lowest"], "4p", starts=24, path=path, mixed=0)
    assert fewer.match("random", "lowest") == more.match("random", "lowest")
    assert len(json.loads(path.read_text())["matches"]) == 15, "those of others are kept"


def test_another_tournament_is_not_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "tournament.json"
    play_tournament(["random", "lowest"], "4p", starts=24, path=path, mixed=0)
    with pytest.raises(ValueError, match=r"another tournament: starts was 24, is 48; seed was 0, is 1\. Remove it, or choose"):
        play_tournament(["random", "lowest"], "4p", starts=48, seed=1, path=path)
    with pytest.raises(ValueError, match="variant was '4p', is '4p-half'"):
        play_tournament(["random", "lowest"], "4p-half", starts=24, path=path)
    path.write_text('{"settings": 3')
    with pytest.raises(ValueError, match="holds no tournament: JSONDecodeError"):
        play_tournament(["random", "lowest"], "4p", starts=24, path=path)
    path.write_text("{}")
    with pytest.raises(ValueError, match="holds no tournament: KeyError"):
        play_tournament(["random", "lowest"], "4p", starts=24, path=path)


def test_a_run_that_went_on_is_another_agent(tmp_path: Path) -> None:
    folder, path = tmp_path / "run", tmp_path / "tournament.json"
    folder.mkdir()
    weights = folder / "policy.safetensors"
    weights.write_bytes(b"one")
    own = {str(folder): Highest()}
    first = play_tournament([str(folder), "lowest"], "2p", own=own, starts=24, path=path)
    assert play_tournament([str(folder), "random"], "2p", own=own, starts=24, path=path).settings == first.settings
    weights.write_bytes(b"two")
    with pytest.raises(ValueError, match=f"the weights of {folder} changed"):
        play_tournament([str(folder), "lowest"], "2p", own=own, starts=24, path=path)
    play_tournament(["random", "lowest"], "2p", starts=24, path=path)


def test_failures_lose_and_the_tournament_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "tournament.json"
    names = ["broken", "random", "lowest"]
    result = play_tournament(names, "4p", own={"broken": Broken()}, starts=24, path=path)
    assert {match.line_up for match in result.matches if match.failure} == {
        m.line_up for m in result.matches if "broken" in m.line_up
    }
    assert all(m.failure.agent == "broken" for m in result.matches if m.failure)
    assert result.win("broken", "random").mean == 0
    assert result.win("random", "broken").mean == 1
    assert result.win("random", "lowest").low is not None
    assert set(rate(result.matches)) == {"random", "lowest"}
    text = command.report(result, rate(result.matches))
    assert "broken at broken, random, random, random: OSError: no board" in text
    assert "1.000*" in text
    repaired = play_tournament(names, "4p", own={"broken": Highest()}, starts=24, path=path)
    assert not any(match.failure for match in repaired.matches)


def test_wrong_agents_are_refused_at_once() -> None:
    for names in ([], ["random"], ["random", "random"]):
        with pytest.raises(ValueError, match="two or more agents with different names"):
            play_tournament(names)
    with pytest.raises(ValueError, match="no agent 'nobody'"):
        play_tournament(["random", "nobody"])


def test_processes_change_nothing() -> None:
    one = play_tournament(["random", "counter"], "2p-memory", starts=1000)
    assert play_tournament(["random", "counter"], "2p-memory", starts=1000, processes=2) == one


def test_ratings() -> None:
    result = play_tournament(["random", "counter", "lowest"], "4p", starts=120)
    ratings = rate(result.matches, seed=1)
    assert list(ratings) == ["counter", "random", "lowest"]
    assert ratings == rate(result.matches, seed=1) != rate(result.matches, seed=2)
    assert all(0 < rating.spread < 4 and 0 < rating.sigma < 25 / 3 for rating in ratings.values())
    level = rate([play_match(["random", "other", "random", "other"], "4p", starts=120, agents={"other": Counted()})], seed=1)
    assert level["other"].mu > level["random"].mu
    alike = rate([play_match(["highest", "other"], "2p", agents={"other": Counted()})])
    assert abs(alike["highest"].mu - alike["other"].mu) < 5


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = command.main(arguments)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_the_command_prints_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["random", "counter", "highest", "--players", "3", "--starts", "24", "--seed", "3", "--output", str(tmp_path)]
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0
    data = json.loads(out)
    assert out.count("\n") == 1
    assert data["agents"] == ["random", "counter", "highest"]
    assert data["settings"]["variant"] == "3p"
    assert len(data["matches"]) == 7
    assert list(data["ratings"]) != []
    assert "7.0/7 tables" in err
    saved = json.loads((tmp_path / "tournament.json").read_text())
    assert saved == {key: data[key] for key in saved}
    assert (tmp_path / "tournament.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

    code, out, _ = run(capsys, *arguments)
    assert code == 0
    win = data["matches"][0]["standings"]["random"]["win"]
    assert f"{win[0]:.3f} [{win[1]:.3f}, {win[2]:.3f}]" in out
    assert "the equal share is 0.333" in out
    assert f"Results and picture are in {tmp_path}" in out


def test_the_command_names_its_folder_by_what_it_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "highest", "lowest", "--variant", "2p-half", "--starts", "24")[0] == 0
    assert (tmp_path / "runs/tournament/2p-half-starts24-seed0/tournament.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random"], "two or more agents"),
        (["random", "rando"], "no agent 'rando'"),
        (["random", "lowest", "--players", "9"], "players is 2 to 7"),
        (["random", "lowest", "--players", "3", "--variant", "4p"], "--variant 4p already says what --players would"),
        (["random", "lowest", "--variant", "four"], "no variant 'four'"),
        (["random", "lowest", "--starts", "2"], "starts is 4 or more"),
        (["random", "equilibrium", "--players", "2"], "`python -m eval.solve` makes it"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SystemExit) as stopped:
        command.main([*arguments, "--output", str(tmp_path / "out")])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_command_broken_off_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "play_tournament", interrupt)
    code, out, err = run(capsys, "random", "lowest", "--output", str(tmp_path))
    assert (code, out) == (130, "")
    assert "the same command goes on from here" in err


def test_many_to_one_are_all_played() -> None:
    """Lines times rotations, whatever the table."""
    result = play_tournament(["highest", "lowest"], "5p", starts=5040)
    assert [m.games for m in result.matches] == [math.factorial(5) * 5] * 4
    assert all(m.exact for m in result.matches)
