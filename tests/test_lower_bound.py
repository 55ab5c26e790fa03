"""The lower bound of a best response: below the exact one where that is known, and most of it where that is easy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eval.lower_bound import LowerBound, Remembering, lower_bound, main
from getbit_env import load_agent, parse_variant
from getbit_env.exact import Positions, as_face_up, exploitability
from getbit_env.game_registry import find_variant
from getbit_env.match import Estimate, play_match
from getbit_env.network import POLICY_FILE
from getbit_env.sb3 import GetBitVecEnv

TINY = "3p-1r-4c-1l"


@pytest.mark.parametrize(("name", "game"), [("random", TINY), ("highest", TINY), ("counter", TINY + "-memory")])
def test_it_is_below_the_exact_gain_and_finds_much_of_it(name: str, game: str) -> None:
    variant = parse_variant(game)
    judged, face_up = as_face_up(load_agent(name), variant)
    exact = exploitability(judged, Positions(face_up), name=name).gain
    found = lower_bound(load_agent(name), variant, 160_000, starts=1200, network=(32, 32), quiet=True)
    assert found.own == pytest.approx(1 / 3)
    assert found.gain.low is not None
    assert found.gain.low < exact, "a lower bound, with all but one chance in twenty"
    assert found.gain.low > exact / 2


@pytest.mark.clause("G7.3")
@pytest.mark.parametrize("name", ["4p-4c-2l", "2p-4c-2l"])
def test_a_responder_in_the_memory_game_is_shown_the_face_up_game(name: str) -> None:
    face_up, memory = (
        GetBitVecEnv(8, "lowest", variant=parse_variant(name + kind), seed=3, history=True) for kind in ("", "-memory")
    )
    remembering = Remembering(memory)
    assert remembering.observation_space == face_up.observation_space
    assert remembering.get_attr("layout", [0])[0].view == face_up.layout.view
    seen, shown = face_up.reset(), remembering.reset()
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(40):
        assert (seen == shown).all()
        masks = face_up.action_masks()
        assert (masks == np.stack(remembering.env_method("action_masks"))).all()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        (seen, *rest), (shown, *likewise) = face_up.step(actions), remembering.step(actions)
        assert all((one == other).all() for one, other in zip(rest[:2], likewise[:2], strict=True))
        ends += int(rest[1].sum())
    assert ends >= 8, "games begin anew as well"


def test_the_command_prints_one_object_and_keeps_the_responder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "responder")
    arguments = ["--variant", TINY + "-memory", "--total-timesteps", "20000", "--starts", "240", "--json"]
    assert main(["lowest", *arguments, "--save", folder]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["gain"]["low"] == pytest.approx(said["value"]["low"] - 1 / 3)
    assert said["value"]["mean"] > 0.5, "an agent that always plays its lowest card is easy prey"
    assert said["lower_bound"] == said["gain"]["low"]
    assert load_agent(folder).variant.name == TINY  # type: ignore[attr-defined]
    response = load_agent(f"recall:{folder}")
    match = play_match(["response", "lowest", "lowest"], TINY + "-memory", agents={"response": response}, starts=480)
    assert match["response"].win.mean == pytest.approx(said["value"]["mean"], abs=0.1), (
        "and plays the memory game as it was measured"
    )
    assert main([f"recall:{folder}", *arguments]) == 0, "whatever it is called, it can be responded to"


def test_a_figure_that_took_time_is_told_even_if_the_responder_can_not_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("eval.lower_bound.save_network", full)
    assert main(["lowest", "--variant", TINY, "--total-timesteps", "1", "--starts", "120", "--save", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "lower bound" in said.out
    assert f"can't be written to {tmp_path}: [Errno 28] No space left" in said.err


def test_a_folder_that_can_not_be_written_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("eval.lower_bound.lower_bound")
    (tmp_path / "file").write_text("")
    (tmp_path / "run" / POLICY_FILE).mkdir(parents=True)
    for folder in (tmp_path / "file", tmp_path / "file" / "within", tmp_path / "run", tmp_path / ("x" * 300)):
        with pytest.raises(SystemExit):
            main(["lowest", "--variant", TINY, "--save", str(folder)])
        assert f"can't be written to {folder}" in capsys.readouterr().err


@pytest.mark.parametrize(("variant", "own"), [("sharks-2p-level1-2coins", 0), ("sharks-3p-level2-1coins", 1 / 3)])
def test_sharks_are_wild_has_lower_bounds(variant: str, own: float, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["sharks-random", "--variant", variant, "--total-timesteps", "25000", "--starts", "120"]
    assert main([*arguments, "--json", "--save", str(tmp_path)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["own"] == pytest.approx(own)
    assert said["lower_bound"] > 0.1, "whoever plays its cards at random is easy prey"
    others = ["sharks-random"] * (find_variant(variant).players - 1)
    match = play_match(["response", *others], variant, agents={"response": load_agent(tmp_path)}, starts=120)
    standing = match["response"]
    measured = standing.payoff if own == 0 else standing.win
    assert measured.mean == pytest.approx(said["value"]["mean"], abs=0.15)


def test_an_agent_is_shown_what_it_wants_to_see() -> None:
    found = lower_bound(load_agent("adaptive"), parse_variant(TINY), 1, starts=24, quiet=True)
    assert (found.responder.options.identity, found.responder.options.observe_last) == (True, True)


@pytest.mark.parametrize(("name", "variant", "most"), [("random", "3p", ""), ("sharks-random", "sharks-3p-level1", "at most ")])
def test_where_games_can_end_without_a_winner_an_equal_share_is_the_most(
    name: str, variant: str, most: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = LowerBound(Estimate(0.5, 0.4, 0.6), 1 / 3, load_agent("four_players"), 1, 0.5)  # type: ignore[arg-type]
    monkeypatch.setattr("eval.lower_bound.lower_bound", lambda *_, **_options: found)
    assert main([name, "--variant", variant]) == 0
    assert f"the agent itself has {most}0.3333; so a best response gains at least 0.0667" in capsys.readouterr().out


def test_where_nothing_is_gained_the_bound_is_zero(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    responder = load_agent("four_players")
    for reached, low, bound in ((0.1, 0.0, 0.0), (0.5, 0.4, 0.15)):
        found = LowerBound(Estimate(reached, low, reached + 0.1), 0.25, responder, 1, reached)  # type: ignore[arg-type]
        monkeypatch.setattr("eval.lower_bound.lower_bound", lambda *_, found=found, **_options: found)
        assert main(["random", "--players", "4", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["lower_bound"] == pytest.approx(bound)
        assert main(["random", "--players", "4"]) == 0
        said = capsys.readouterr().out
        assert ("no gain was found (lower bound 0)" in said) == (bound == 0)
        assert ("gains at least 0.1500" in said) == (bound > 0)


def test_nonsense_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path))
    for arguments, message in (
        (["nobody"], "no agent 'nobody'"),
        (["random", "--players", "9"], "players is 2 to 7"),
        (["random", "--variant", TINY, "--half-limbs"], "already says what --half-limbs would"),
        (["sharks-greedy", "--players", "4"], "agent 'sharks-greedy' plays Sharks are Wild"),
        (["random", "--variant", "sharks-2p-level2"], "agent 'random' plays Get Bit!"),
        (["sharks-random", "--level", "1", "--half-limbs"], "--level is about Sharks are Wild, and --half-limbs about Get Bit!"),
        (["random", "--total-timesteps", "-5"], "--total-timesteps: '-5' is no whole number from 1 on"),
        (["equilibrium", "--variant", "4p-3c-1l"], "4p-3c-1l is not solved here"),
        (["four_players", "--variant", "4p-memory"], "four_players was trained on 4p with"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err
