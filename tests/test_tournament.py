"""Tournaments: which line-ups, saved as they go, taken up again, and the command."""

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval import tournament as command
from getbit_env import parse_variant
from getbit_env.core.files import InUseError
from getbit_env.exact import BestResponse
from getbit_env.exact.positions import Positions
from getbit_env.get_bit.bots import Highest
from getbit_env.get_bit.observations import Layout
from getbit_env.match import Estimate, ForfeitError, MatchResult, play_match, play_tournament, rate
from getbit_env.match.tournament import cross_line_ups, mixed_line_ups
from getbit_env.network import POLICY_FILE, NetworkAgent, save_network
from getbit_env.sharks_are_wild.bots import BOTS

TWO = ["sharks-greedy", "sharks-careful"]


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


def test_cross_line_ups() -> None:
    assert cross_line_ups("ab", 2) == [("a", "b")]
    assert cross_line_ups("abc", 2) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert cross_line_ups("ab", 4) == [("a", "b", "b", "b"), ("b", "a", "a", "a")]


def test_mixed_line_ups() -> None:
    assert mixed_line_ups("ab", 2) == []  # all that there are is one against one
    assert mixed_line_ups("ab", 3) == []  # two of one and one of the other: one against many
    assert mixed_line_ups("ab", 4) == [tuple("aabb")]
    assert mixed_line_ups("abc", 3) == [tuple("abc")]
    assert mixed_line_ups("abc", 4) == [tuple("aabc"), tuple("abbc"), tuple("abcc")]
    assert mixed_line_ups("cab", 4) == [tuple("ccab"), tuple("caab"), tuple("cabb")]
    assert len(mixed_line_ups("abcdef", 4)) == 15
    some = mixed_line_ups("abcdefgh", 4, most=20, seed=1)
    assert len(set(some)) == 20
    assert set(some) < set(mixed_line_ups("abcdefgh", 4, most=70))
    assert some == mixed_line_ups("abcdefgh", 4, most=20, seed=1) != mixed_line_ups("abcdefgh", 4, most=20, seed=2)


def test_a_tournament_is_its_matches() -> None:
    result = play_tournament(["random", "counter", "lowest"], "3p-1r", starts=60, seed=4)
    assert len(result.matches) == 7
    assert [match.line_up for match in result.mixed] == [("random", "counter", "lowest")]
    assert result.match("counter", "lowest") == play_match(["counter", "lowest", "lowest"], "3p-1r", starts=60, seed=4)
    assert result.win("counter", "lowest") == result.match("counter", "lowest")["counter"].win
    for name in ("counter", "stranger"):
        with pytest.raises(KeyError, match=f"no line-up of '{name}' among 2 x '{name}'"):
            result.match(name, name)
    with pytest.raises(KeyError, match="no line-up of 'stranger' among 2 x 'stranger'"):
        result.win("stranger", "stranger")
    with pytest.raises(KeyError, match="no line-up of 'highest' among 2 x 'lowest'"):
        result.match("highest", "lowest")
    two = play_tournament(["random", "counter"], "2p", starts=24)
    wins = [two.win("random", "counter"), two.win("counter", "random")]
    assert sum(win.mean for win in wins if win) == pytest.approx(1)


@pytest.mark.parametrize(
    ("variant", "agents", "known"),
    [("2p", ["random", "counter"], True), ("sharks-2p-level2-12turns", ["sharks-random", "sharks-greedy"], False)],
)
def test_an_agent_among_its_like_wins_its_equal_share_only_where_each_game_is_won(
    variant: str, agents: list[str], known: bool, tmp_path: Path
) -> None:
    """Sharks are Wild can end undecided: there nobody knows without playing, and the report says so."""
    result = play_tournament(agents, variant, starts=24)
    played = {name: play_match([name, name], variant, starts=240)[name].win for name in agents}
    text = [line.split() for line in command.report(result, {}).splitlines()[5:7]]
    for k, name in enumerate(agents):
        assert text[k][0] == name
        if known:
            assert result.win(name, name) == Estimate(0.5)
            assert played[name].mean == 0.5
            assert "0.500" in text[k]
        else:
            assert result.win(name, name) is None
            assert played[name].mean < 0.4
            assert "-" in text[k]
    command.draw(result, {}, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5_000


def test_a_broken_off_tournament_goes_on(tmp_path: Path) -> None:
    names, own = ["mine", "random", "lowest"], {"mine": Counted()}
    whole = play_tournament(names, "4p", own={"mine": Highest()}, starts=24)
    path = tmp_path / "deep" / "file.json"

    def break_off(line_up: tuple[str, ...], part: float) -> None:
        if line_up == ("random", "lowest", "lowest", "lowest") and part == 1.0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_tournament(names, "4p", own=own, starts=24, path=path, progress=break_off)
    assert own["mine"].matches == 3  # of its seven line-ups
    assert len(json.loads(path.read_text())["matches"]) == 4
    assert [file.name for file in path.parent.iterdir() if file.name != ".file.json.lock"] == ["file.json"]

    done = []
    resumed = play_tournament(names, "4p", own=own, starts=24, path=path, progress=lambda table, part: done.append((table, part)))
    assert own["mine"].matches == 7
    assert resumed.matches == whole.matches
    assert [table for table, part in done if part == 1.0][-1] == ("mine", "random", "lowest", "lowest")
    assert json.loads(path.read_text()) == json.loads(json.dumps(resumed.to_dict()))

    more = play_tournament([*names, "counter"], "4p", own=own, starts=24, path=path, mixed=0)
    assert own["mine"].matches == 9, "only line-ups with the newcomer are played"
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


def store(folder: Path, seed: int) -> str:
    """A run's folder with a policy of random weights."""
    variant = parse_variant("2p")
    weight = np.random.default_rng(seed).normal(size=(variant.actions, Layout(variant).size)).astype(np.float32)
    save_network(folder / POLICY_FILE, NetworkAgent([(weight, np.zeros(variant.actions, np.float32))], variant))
    return str(folder)


def test_an_agent_that_changed_is_another_agent(tmp_path: Path) -> None:
    folder, path = store(tmp_path / "run", 0), tmp_path / "tournament.json"
    remembered = f"recall:{folder}"
    first = play_tournament([folder, remembered, "lowest"], "2p", starts=24, path=path)
    assert play_tournament([tmp_path / "run", "random"], "2p", starts=24, path=path).settings == first.settings
    store(tmp_path / "run", 1)
    for name in (folder, remembered):
        with pytest.raises(ValueError, match=f"what {name} plays from changed"):
            play_tournament([name, "lowest"], "2p", starts=24, path=path)
    play_tournament(["random", "lowest"], "2p", starts=24, path=path)
    store(tmp_path / "run", 0)
    play_tournament([folder, "lowest"], "2p", starts=24, path=path)


def test_a_best_response_that_changed_is_another_agent(tmp_path: Path) -> None:
    positions = Positions(parse_variant("2p-3c-1l"))
    response, path = tmp_path / "best.npz", tmp_path / "tournament.json"
    for card in range(2):
        BestResponse(positions, np.full((positions.count, 2), card, np.uint8), "random").save(response)
        if card == 0:
            play_tournament([response, "lowest"], "2p-3c-1l", starts=24, path=path)
        else:
            with pytest.raises(ValueError, match=f"what {response} plays from changed"):
                play_tournament([response, "lowest"], "2p-3c-1l", starts=24, path=path)


def test_code_that_changed_is_another_agent_and_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module, path = tmp_path / "changing.py", tmp_path / "tournament.json"
    module.write_text("from getbit_env.get_bit.bots import Highest as Agent\n")
    names = ["changing:Agent", "mine", "lowest"]
    result = play_tournament(names, "2p", own={"mine": Counted()}, starts=24, path=path)
    assert result.settings["unchecked"] == ["changing:Agent", "mine"]
    assert "Code, whose changes a resumed tournament can't notice in full: changing:Agent, mine" in command.report(result, {})
    module.write_text("from getbit_env.get_bit.bots import Lowest as Agent\n")
    with pytest.raises(ValueError, match="what changing:Agent plays from changed"):
        play_tournament(["changing:Agent", "lowest"], "2p", starts=24, path=path)
    assert play_tournament(["random", "lowest"], "2p", starts=24, path=path).settings["unchecked"] == ["changing:Agent", "mine"]


def test_one_tournament_at_a_time_plays_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tournament.json"
    own = {"mine": Counted()}
    refused = []

    def begin_another(_table: tuple[str, ...], _part: float) -> None:
        with pytest.raises(InUseError, match=rf"the tournament {path} is in use by process \d+ on .* since"):
            play_tournament(["random", "mine"], "2p", own=own, starts=24, path=path)
        refused.append(own["mine"].matches)

    play_tournament(["random", "lowest"], "2p", starts=24, path=path, progress=begin_another)
    assert refused == [0]
    both = play_tournament(["random", "mine"], "2p", own=own, starts=24, path=path)
    assert len(both.matches) == 1
    assert len(json.loads(path.read_text())["matches"]) == 2


def test_two_tournaments_begun_at_once_lose_no_table(tmp_path: Path) -> None:
    """One plays, the other is refused and names it; what is in the file is what was played."""
    arguments = [
        "-m",
        "eval.tournament",
        "random",
        "lowest",
        "highest",
        "--players",
        "2",
        "--starts",
        "24",
        "--output",
        str(tmp_path),
    ]
    both = [
        subprocess.Popen([sys.executable, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate()[1] for process in both]
    assert 0 in [process.returncode for process in both]
    for process, text in zip(both, said, strict=True):
        assert process.returncode == 0 or "is in use by process" in text
    assert len(json.loads((tmp_path / "tournament.json").read_text())["matches"]) == 3


def test_failures_lose_and_the_tournament_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "tournament.json"
    names = ["broken", "random", "lowest"]
    result = play_tournament(names, "4p", own={"broken": Broken()}, starts=24, path=path)
    assert {match.line_up for match in result.matches if match.failure} == {
        m.line_up for m in result.matches if "broken" in m.line_up
    }
    assert all(m.failure.agent == "broken" for m in result.matches if m.failure)
    with pytest.raises(ForfeitError, match="broken failed in all of its line-ups"):
        result.win("broken", "broken")
    for one, many in (("broken", "random"), ("random", "broken")):
        with pytest.raises(ForfeitError, match=r"was not played: broken failed \(OSError: no board"):
            result.win(one, many)
    assert result.failed == ("broken",)
    win = result.win("random", "lowest")
    assert win
    assert win.low is not None
    assert set(rate(result.matches)) == {"random", "lowest"}
    text = command.report(result, rate(result.matches))
    assert "broken at broken, random, random, random: OSError: no board" in text
    table = [line.split() for line in text.splitlines()[5:8]]
    assert table[0] == ["broken", "forfeit*", "forfeit*", "forfeit*"]
    assert table[1][:3] == ["random", "forfeit*", "0.250"]
    command.draw(result, rate(result.matches), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    repaired = play_tournament(names, "4p", own={"broken": Highest()}, starts=24, path=path)
    assert not any(match.failure for match in repaired.matches)
    assert repaired.failed == ()


def test_wrong_agents_are_refused_at_once() -> None:
    for names in ([], ["random"], ["random", "random"]):
        with pytest.raises(ValueError, match="two or more agents with different names"):
            play_tournament(names)
    with pytest.raises(ValueError, match="no agent 'nobody'"):
        play_tournament(["random", "nobody"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"agents": "random"}, TypeError, "agents is a list of agents or of their names, not 'random'"),
        ({"own": ["mine"]}, TypeError, r"own is a dict of agents by their names, or None, not \['mine'\]"),
        ({"mixed": -1}, ValueError, "mixed is a whole number, at least 0, not -1"),
        ({"mixed": "all"}, ValueError, "mixed is a whole number, at least 0, not 'all'"),
        ({"processes": 0}, ValueError, "processes is a whole number, at least 1, not 0"),
        ({"path": "."}, ValueError, r"path is a file in which results are saved, and \. is a folder"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        play_tournament(**{"agents": ["random", "lowest"], "variant": "2p", "starts": 4, **options})


def test_one_match_is_no_list_of_matches() -> None:
    with pytest.raises(TypeError, match="matches is a list of MatchResult, not one of them"):
        rate(play_match(["random", "lowest"], "2p", starts=4))  # type: ignore[arg-type]


def test_processes_change_nothing() -> None:
    one = play_tournament(["random", "counter"], "2p-memory", starts=1000)
    assert play_tournament(["random", "counter"], "2p-memory", starts=1000, processes=2) == one


def test_ratings() -> None:
    result = play_tournament(["random", "counter", "lowest"], "4p", starts=120)
    ratings = rate(result.matches, seed=1)
    assert list(ratings) == ["counter", "random", "lowest"]
    assert ratings == rate(result.matches, seed=1) != rate(result.matches, seed=2)
    assert all(0 < rating.error < 1.5 and 0 < rating.sigma < 25 / 3 for rating in ratings.values())
    level = rate([play_match(["random", "other", "random", "other"], "4p", starts=120, agents={"other": Counted()})], seed=1)
    assert level["other"].mu > level["random"].mu
    alike = rate([play_match(["highest", "other"], "2p", agents={"other": Counted()})])
    assert abs(alike["highest"].mu - alike["other"].mu) < 5


def test_equal_agents_that_tie_are_rated_equal() -> None:
    """Three of four are second in every game: an order of these by seat would put the one named first far ahead."""
    names = list("abcd")
    agents = {name: BOTS["sharks-random"]() for name in names}
    ratings = rate([play_match(names, "sharks-4p-level2", agents=agents, starts=1200, seed=1)])
    assert max(rating.mu for rating in ratings.values()) - min(rating.mu for rating in ratings.values()) < 5
    greedy, careful = (play_tournament(pair, "sharks-3p-level1", starts=120) for pair in (TWO, TWO[::-1]))
    assert list(rate(greedy.matches)) == list(rate(careful.matches)), "who is named first changes nothing"


def test_drawn_games_draw_ratings_together() -> None:
    def match(*orders: tuple[tuple[tuple[str, ...], ...], int]) -> MatchResult:
        return MatchResult("4p", ("a", "b"), 4, 4, False, {}, 1.0, "rounds", orders)

    won, drawn = ((("a",), ("b",)), 10), ((("a", "b"),), 90)
    gap = [(found := rate([match(*orders)]))["a"].mu - found["b"].mu for orders in ((won,), (won, drawn), (drawn,))]
    assert gap[0] > 2 * gap[1] > 0
    assert gap[2] == pytest.approx(0, abs=1e-9)


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
    assert err == "", "no bar goes into a file"
    saved = json.loads((tmp_path / "tournament.json").read_text())
    assert saved == {key: data[key] for key in saved}
    assert (tmp_path / "tournament.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

    code, out, _ = run(capsys, *arguments)
    assert code == 0
    win = data["matches"][0]["standings"]["random"]["win"]
    assert f"{win[0]:.3f} [{win[1]:.3f}, {win[2]:.3f}]" in out
    assert "the equal share is 0.333" in out
    assert f"Results and picture are in {tmp_path}" in out


def test_the_bar_ends_where_all_is_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "no_bar", lambda: False)
    code, _, err = run(capsys, "random", "lowest", "highest", "--players", "3", "--starts", "2500", "--output", str(tmp_path))
    assert code == 0
    assert "7.0/7 line-ups" in err
    assert "-00" not in err
    bar = type("Bar", (), {"n": 0, "total": 3, "set_description_str": lambda *_, **__: None})()
    bar.update = lambda more: setattr(bar, "n", bar.n + more)
    move = command._mover(bar)
    for table in "abc":
        for part in np.linspace(0, 1, 7):
            move((table,), float(part))
            assert bar.n <= 3
    assert bar.n == 3


def test_the_command_leaves_matplotlib_as_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "$a_{$"
    code = (
        "import sys, matplotlib; matplotlib.use('svg'); from eval import tournament\n"
        f"assert tournament.main(['random', 'lowest', '--players', '2', '--starts', '24', '--output', {str(folder)!r}]) == 0\n"
        "assert matplotlib.get_backend() == 'svg'; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    agent = store(folder / "run$x_{", 0)
    assert run(capsys, agent, "lowest", "--players", "2", "--starts", "24", "--output", str(folder / "two"))[0] == 0
    assert (folder / "two" / "tournament.png").exists()


def test_an_agent_that_fails_everywhere_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "leaving.py").write_text(
        "import sys\nfrom getbit_env.get_bit.bots import Highest\n"
        "class Agent(Highest):\n    def act(self, *_):\n        sys.exit(0)\n"
    )
    code, out, err = run(capsys, "leaving:Agent", "random", "lowest", "--players", "3", "--starts", "24", "--output", str(tmp_path))
    assert code == 1
    assert err == "failed in every line-up: leaving:Agent\n"
    assert "leaving:Agent at leaving:Agent, random, random: SystemExit: 0" in out


def test_the_command_needs_what_it_uses_before_it_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else find(name, *rest))
    with pytest.raises(SystemExit):
        command.main(["random", "lowest", "--output", str(tmp_path / "out")])
    assert 'this needs matplotlib: pip install "getbit-env[commands]"' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


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
        (["random", "equilibrium", "--players", "2"], "`getbit solve --variant 2p` makes it"),
        (["random", "recall:equilibrium", "--players", "2"], "`getbit solve --variant 2p` makes it"),
        (
            ["random", "counter", "--variant", "sharks-2p-level2"],
            "agent 'random' plays Get Bit!, but sharks-2p-level2 is a variant of",
        ),
        (
            ["sharks-random", "counter", "--players", "2"],
            "agent 'sharks-random' plays Sharks are Wild, but 2p is a variant of Get Bit!",
        ),
        (["random", "four_players", "--players", "6"], "four_players was trained on 4p"),
        (["random", "lowest", "--reward", "money"], "reward is one of 'win', 'placement', not 'money'"),
        (["random", "lowest", "--mixed", "-3"], "'-3' is no whole number from 0 on"),
        (["random", "lowest", "--time-limit", "0"], "time_limit is a number of seconds over 0"),
        (["random", "lowest", "--processes", "0"], "'0' is no whole number from 1 on"),
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
