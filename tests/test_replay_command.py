"""`getbit replay`: pages, GIF and MP4 of recorded games."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eval import replay as command
from eval.replay import main
from getbit_env import movies
from getbit_env.replays import load_replay
from tests.make_replays import GOLDEN

FILE = GOLDEN / "4p.replay.json"


def test_a_page_holds_the_game_and_loads_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "game.html"
    assert main([str(FILE), "--html", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert re.findall(r"https?:", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert "default-src 'none'" in text
    (films,) = re.findall('<script type="application/json" id="films">(.*)</script>', text)
    (film,) = json.loads(films)
    replay = load_replay(FILE)
    assert film["agents"] == list(replay.agents)
    assert len(film["frames"]) == len(replay.moves) + 1
    chances = film["frames"][0]["thoughts"][0]["chances"]
    assert replay.moves[0].probabilities is not None
    assert replay.moves[0].probabilities[0] is not None
    assert {one["action"]: one["probability"] for one in chances} == replay.moves[0].probabilities[0]
    assert str(replay) in capsys.readouterr().out


def test_without_options_it_opens_the_browser(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        return False

    monkeypatch.setattr(command.webbrowser, "open", browse)
    assert main([str(FILE)]) == 0
    path = Path(opened[0].removeprefix("file://"))
    assert "four_players" in path.read_text(encoding="utf-8")
    assert "no browser could be opened" in capsys.readouterr().err
    path.unlink()


@pytest.mark.parametrize("name", ["4p", "sharks-4p-level1-2coins"])
def test_a_gif_shows_every_position(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    image = pytest.importorskip("PIL.Image")
    file = tmp_path / "game.gif"
    assert main([str(GOLDEN / f"{name}.replay.json"), "--gif", str(file), "--seconds", "0.5"]) == 0
    replay = load_replay(GOLDEN / f"{name}.replay.json")
    first = next(movies.pictures(replay))
    with image.open(file) as gif:
        assert gif.size == (first.shape[1], first.shape[0])
        durations = []
        for number in range(gif.n_frames):
            gif.seek(number)
            durations.append(gif.info["duration"])
    assert sum(durations) == 500 * len(replay.moves) + 1500, "equal pictures are one, shown for longer"


def test_an_mp4_can_be_decoded(tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    file = tmp_path / "game.mp4"
    assert main([str(FILE), "--mp4", str(file), "--seconds", "0.2"]) == 0
    frames, seconds = ffmpeg.count_frames_and_secs(str(file))
    positions = len(load_replay(FILE).moves) + 1
    assert frames == 2 * (positions - 1) + 2 * movies.LAST
    assert seconds == pytest.approx(frames / movies.RATE, abs=0.2)


@pytest.mark.parametrize(("flag", "package"), [("--mp4", "imageio_ffmpeg"), ("--gif", "PIL")])
def test_what_is_not_installed_is_named_before_the_work(
    flag: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(name: str) -> Any:
        return None if name == package else object()

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(SystemExit):
        main([str(FILE), flag, str(tmp_path / "x")])
    assert f'this needs {package}: pip install "getbit-env[movies]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json can't be read or written: No such file"),
        (["{damaged}"], "the replay says length 3 at its end"),
        ([str(FILE), "--seconds", "nan"], "--seconds is 0.02 to 60, not nan"),
        ([str(FILE), "--html", "{damaged}/x.html"], "damaged.replay.json can't be read or written: File exists"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    data["end"]["length"] = 3
    damaged = tmp_path / "damaged.replay.json"
    damaged.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(SystemExit) as error:
        main([one.format(damaged=damaged) for one in arguments])
    assert error.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_commands_start_without_what_they_do_not_need() -> None:
    """To read a replay takes neither pygame, Pillow, torch nor matplotlib."""
    unneeded = ("pygame", "PIL", "torch", "matplotlib")
    code = f"import sys, eval.replay, getbit_env.replays; print([name for name in {unneeded} if name in sys.modules])"
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"
