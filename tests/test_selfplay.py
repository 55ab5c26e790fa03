"""The self-play recipe: that it learns, that nothing is lost, and that what it leaves can be played."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from getbit_env.agent_registry import load_agent
from getbit_env.network import POLICY_FILE, load_network, save_network
from getbit_env.sb3 import SAMPLING, Past, network_of
from train.selfplay import Config, Run, main, make_model, train

TINY = Config(
    variant="4p-1l",
    frames=16 * 8 * 6,
    games=16,
    rollout=8,
    leg=2,
    batch=64,
    epochs=1,
    network=[8, 8],
    tables=4,
    snapshot=2,
    pool=3,
    evaluate=3,
    evaluation_tables=["random"],
    evaluation_lines=24,
)


def prepare(folder: Path, config: Config = TINY) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"config": config.__dict__, "about": {"command": "a test"}}))
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(TINY, prepare(tmp_path_factory.mktemp("runs") / "whole"), quiet=True)


def weights(folder: Path, name: str = "last.safetensors") -> dict[str, np.ndarray]:
    return load_file(folder / name)


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_a_run_leaves_all_that_its_page_names(finished: Path) -> None:
    names = {
        "config.json",
        POLICY_FILE,
        "last.safetensors",
        "metrics.csv",
        "tensorboard",
        "evaluation.csv",
        "card.md",
        "learning.png",
    }
    assert names <= {path.name for path in finished.iterdir()}
    card = (finished / "card.md").read_text()
    assert "| random |" in card
    assert "4p-1l" in card
    with (finished / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frames"]) for row in rows] == [128 * k for k in range(1, 7)]
    assert 0 < float(rows[-1]["win_rate"]) < 1
    assert float(rows[0]["entropy_coefficient"]) == pytest.approx(0.05)
    assert float(rows[-1]["entropy_coefficient"]) == pytest.approx(0.05 - 5 / 6 * 0.03)
    assert len(list((finished / "checkpoints").iterdir())) == 2
    assert list((finished / "tensorboard").iterdir())


def test_a_run_is_loaded_as_an_agent_that_masks_itself(finished: Path) -> None:
    agent = load_agent(str(finished))
    from getbit_env import parse_variant
    from getbit_env.match import play_match

    result = play_match([agent, "random", "random", "random"], parse_variant("4p-1l"), starts=24)
    assert result.failure is None
    assert 0 < result[finished.name].win.mean < 1


class CrashError(Exception):
    pass


def test_a_run_that_crashed_goes_on_as_if_it_had_not(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = prepare(tmp_path / "crashed")
    step, steps = Run._on_step, 0

    def crash(run: Run) -> bool:
        nonlocal steps
        steps += 1
        if steps == 8 * 3 + 5:  # in the middle of the second rollout of the second leg
            raise CrashError
        return step(run)

    monkeypatch.setattr(Run, "_on_step", crash)
    with pytest.raises(CrashError):
        train(TINY, folder, quiet=True)
    (folder / "checkpoints" / "part").mkdir()  # as if it had crashed while writing one
    assert not equal(weights(folder), weights(finished))
    monkeypatch.setattr(Run, "_on_step", step)
    train(TINY, folder, quiet=True)
    assert equal(weights(folder), weights(finished))
    assert equal(weights(folder, POLICY_FILE), weights(finished, POLICY_FILE))
    for name in ("metrics.csv", "evaluation.csv"):
        with (folder / name).open() as one, (finished / name).open() as two:
            for a, b in zip(csv.DictReader(one), csv.DictReader(two), strict=True):
                assert {k: v for k, v in a.items() if k != "seconds"} == {k: v for k, v in b.items() if k != "seconds"}


def test_another_seed_is_another_run(finished: Path, tmp_path: Path) -> None:
    config = Config(**{**TINY.__dict__, "seed": 1})
    assert not equal(weights(train(config, prepare(tmp_path / "other", config), quiet=True)), weights(finished))


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "train.selfplay",
        "--output",
        str(folder),
        "--games",
        "32",
        "--rollout",
        "16",
        "--batch",
        "256",
    ]
    command += ["--evaluation-lines", "24", "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (folder / "metrics.csv").exists():
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping after this update" in said
    assert f"--resume {folder}" in said
    assert (folder / "last.safetensors").exists()
    assert next((folder / "checkpoints").iterdir()).name == "000001"


def test_a_damaged_checkpoint_is_named(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(finished, folder)
    newest = max((folder / "checkpoints").iterdir())
    (newest / "state.safetensors").write_bytes(b"nonsense")
    with pytest.raises(SystemExit):
        main(["--resume", str(folder), "--quiet"])
    assert f"checkpoint {newest} is damaged; delete it to go on from the one before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fames", "3"], "unrecognized arguments: --fames 3"),
        (["--players", "9"], "players is 2 to 7"),
        (["--sampling", "best"], "--sampling is one of latest, uniform, prioritised, not best"),
        (["--games", "0"], "--games is at least 1"),
        (["--latest", "0.8", "--bot-share", "0.8"], "add up to 1 at most"),
        (["--bots", "nobody"], "no agent 'nobody'"),
        (["--games", "4", "--rollout", "4", "--tables", "2"], "a minibatch of 8192 is more than a rollout"),
        (["--resume", "nowhere"], "nowhere holds no run"),
        (["--resume", "nowhere", "--seed", "1"], "--resume takes every option from the run; leave out --seed"),
    ],
)
def test_nonsense_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


def test_a_folder_with_a_run_is_not_overwritten(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--output", str(finished)])
    assert "already holds a run; go on with --resume" in capsys.readouterr().err


def test_options_of_another_version_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"config": {"flavour": "salt"}, "about": {}}))
    with pytest.raises(SystemExit):
        main(["--resume", str(tmp_path)])
    assert "is not of this recipe and version" in capsys.readouterr().err


def test_sampling_rules() -> None:
    past = [Past("a", 0.9), Past("b", 0.1), Past("c", 0.9)]
    rng = np.random.default_rng(0)
    drawn = {rule: [SAMPLING[rule](past, rng).name for _ in range(600)] for rule in SAMPLING}
    assert set(drawn["latest"]) == {"c"}
    assert all(150 < drawn["uniform"].count(name) < 250 for name in "abc")
    assert drawn["prioritised"].count("b") > 500, "those that it does not beat yet"


def test_numpy_and_torch_compute_the_same_policy(tmp_path: Path) -> None:
    config = Config(**{**TINY.__dict__, "network": [64, 64], "variant": "2p", "seed": 3})
    model: Any = make_model(config)
    with torch.no_grad():  # larger logits than those of a new network
        model.policy.action_net.weight *= 300
    save_network(tmp_path / POLICY_FILE, network_of(model))
    agent = load_network(tmp_path / POLICY_FILE, "saved")
    seen = model.env.reset()
    for _ in range(10):
        masks = model.env.action_masks()
        with torch.no_grad():
            wanted = model.policy.get_distribution(torch.as_tensor(seen), masks).distribution.probs.numpy()
        got = agent.probabilities(seen, masks.astype(np.int8))
        assert np.abs(got - wanted).max() < 1e-5
        assert got.max() > 0.5, "or the test would tell little"
        seen, *_ = model.env.step(got.argmax(1))


def test_a_network_of_another_game_or_a_damaged_file_is_refused(finished: Path, tmp_path: Path) -> None:
    from getbit_env import parse_variant
    from getbit_env.get_bit import Layout

    agent = load_agent(str(finished))
    with pytest.raises(ValueError, match=r"was trained on 4p-1l .* not on 5p"):
        agent.reset(Layout(parse_variant("5p")), np.ones(2, bool), 0)
    (tmp_path / POLICY_FILE).write_bytes((finished / POLICY_FILE).read_bytes()[:-10])
    with pytest.raises(ValueError, match="is damaged or holds no policy"):
        load_agent(str(tmp_path))
    (tmp_path / POLICY_FILE).unlink()
    with pytest.raises(ValueError, match=f"the folder holds no {POLICY_FILE}"):
        load_agent(str(tmp_path))
