"""What the studies share: one owner of a folder, errors of one line, and files only of what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.studies import conduct, study_parser
from getbit_env.core.files import owned


def run(folder: Path, *, study: Any = lambda: {"found": 1}, check: Any = lambda: None) -> None:
    parser = study_parser("python -m eval.made_up", "A study.", {}, "made_up")
    files = ["--figures", str(folder / "figures.json"), "--picture", str(folder / "picture.png")]
    given = parser.parse_args(["--output", str(folder / "runs"), *files])

    def draw(found: dict[str, Any], path: Path) -> None:
        path.write_text(f"a picture of {found['found']}")

    conduct(parser, given, check=check, study=study, draw=draw)


def test_figures_and_picture_are_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path)
    assert json.loads((tmp_path / "figures.json").read_text()) == {"found": 1}
    assert (tmp_path / "picture.png").read_text() == "a picture of 1"
    assert capsys.readouterr().err == f"{tmp_path / 'figures.json'}, {tmp_path / 'picture.png'}\n"


def test_defaults_are_the_files_of_its_page() -> None:
    given = study_parser("python -m eval.made_up", "A study.", {}, "made_up").parse_args([])
    assert (given.output, given.figures, given.picture) == (
        Path("runs/made-up"),
        Path("docs/made_up.json"),
        Path("docs/images/made_up.png"),
    )


def test_a_folder_has_one_study_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with owned(tmp_path / "runs", "the study"), pytest.raises(SystemExit) as stopped:
        run(tmp_path)
    assert stopped.value.code == 2
    assert "the study" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "figures.json").exists()


def fails(error: BaseException) -> Any:
    def failing() -> Any:
        raise error

    return failing


@pytest.mark.parametrize(
    ("where", "error", "code"),
    [
        ("check", ValueError("no such game"), 2),
        ("study", ValueError("it is damaged"), 2),
        ("study", OSError("the disk is full"), 2),
        ("study", RuntimeError("a command failed"), 2),
        ("study", KeyboardInterrupt(), 130),
    ],
)
def test_failures_leave_no_figures_and_one_line(
    where: str, error: BaseException, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(tmp_path, **{where: fails(error)})
    assert stopped.value.code == code
    assert str(error) in capsys.readouterr().err
    assert not (tmp_path / "figures.json").exists()
    assert where != "check" or not list(tmp_path.iterdir())
