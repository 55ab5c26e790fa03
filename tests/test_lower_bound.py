"""The lower bound of a best response: below the exact one where that is known, and most of it where that is easy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.lower_bound import lower_bound, main
from getbit_env import load_agent, parse_variant
from getbit_env.exact import Positions, exploitability

TINY = "3p-1r-4c-1l"


@pytest.mark.parametrize("name", ["random", "highest"])
def test_it_is_below_the_exact_gain_and_finds_much_of_it(name: str) -> None:
    variant = parse_variant(TINY)
    exact = exploitability(load_agent(name), Positions(variant), name=name).gain
    found = lower_bound(load_agent(name), variant, 160_000, lines=1200, network=(32, 32), quiet=True)
    assert found.own == pytest.approx(1 / 3)
    assert found.gain.low is not None
    assert found.gain.low < exact, "a lower bound, with all but one chance in twenty"
    assert found.gain.low > exact / 2


def test_the_command_prints_one_object_and_keeps_the_responder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["lowest", "--variant", TINY + "-memory", "--frames", "20000", "--lines", "240", "--json", "--save", str(tmp_path)]
    assert main(arguments) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["gain_lower_bound"]["low"] == pytest.approx(said["value"]["low"] - 1 / 3)
    assert said["value"]["mean"] > 0.5, "who always plays the lowest card is easy prey"
    assert load_agent(str(tmp_path)).variant.name == TINY + "-memory"  # type: ignore[attr-defined]


def test_nonsense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in ((["nobody"], "no agent 'nobody'"), (["random", "--players", "9"], "players is 2 to 7")):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err
