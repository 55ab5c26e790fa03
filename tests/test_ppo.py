"""The PPO recipe of our own: advantages by hand, samples of every seat, resuming to the byte, learning."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from getbit_env.loading import load_agent
from getbit_env.network import FILE
from train.ppo import ActorCritic, Collector, Config, Learner, _advantages, as_agent, main, train

TINY = Config(
    variant="3p-1r-4c-1l",
    frames=1500,
    games=16,
    rollout=8,
    leg=2,
    batch=64,
    epochs=1,
    network=[8, 8],
    evaluate=2,
    evaluation_tables=["random"],
    evaluation_lines=24,
)


def prepare(folder: Path, config: Config = TINY) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"config": config.__dict__, "about": {"command": "a test"}}))
    return folder


def test_advantages_by_hand() -> None:
    """A seat that goes on, one whose game ends and begins again, and one that is out for a while."""
    reward = np.array([[0, 0, -1], [0, 1, 0], [0, 0, 0]], np.float32)
    value = np.array([[0.5, 0.25, -0.5], [0.25, 0.5, 9], [0.5, -0.25, 0.125], [1, 0.25, 0.25]], np.float32)
    chose = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1]], bool)
    ended = np.array([[0, 0, 1], [0, 1, 0], [0, 0, 0]], bool)
    advantage = np.zeros_like(reward)
    _advantages(reward, value, chose, ended, np.float32(0.5), advantage)
    # Seat 0: 1 - 0.5; then 0.5 - 0.25 + half of that; then 0.25 - 0.5 + half of that. Seat 1: 0.25 + 0.25; 1 - 0.5, and before
    # that 0.5 - 0.25 + half of it. Seat 2: 0.25 - 0.125, nothing while it is out, and -1 + 0.5 when it goes out.
    wanted = [[-0.25 + 0.25, 0.25 + 0.25, -0.5], [0.25 + 0.25, 0.5, 0], [0.5, 0.5, 0.125]]
    assert advantage.tolist() == wanted


def test_every_seat_that_had_a_choice_is_a_sample_and_no_other() -> None:
    config = Config(**{**TINY.__dict__, "variant": "4p-1l", "rollout": 30})
    collector = Collector(config)
    collector.begin(0)
    rollout = collector.collect(ActorCritic(collector.layout, [8]))
    chose = collector._chose.reshape(30, 16, 4)
    assert chose[0].all(), "all play the first round"
    assert not chose.all(), "who is out waits for the next game"
    assert chose.any(2).all()
    assert len(rollout.action) == chose.sum()
    assert rollout.seen.any(1).all()
    assert rollout.legal.gather(1, rollout.action[:, None]).all()
    # A reward comes with the last choice of its seat.
    assert np.array_equal(collector._reward != 0, collector._ended & collector._chose)
    assert len(collector.rounds) > 16


def test_noise_added_to_logarithms_draws_from_the_policy() -> None:
    config = Config(**{**TINY.__dict__, "games": 4000, "rollout": 1})
    collector = Collector(config)
    torch.manual_seed(0)
    model = ActorCritic(collector.layout, [8])
    with torch.no_grad():
        model.policy[-1].bias += torch.tensor([0.0, 1.0, -1.0, 0.5])
    collector.begin(0)
    rollout = collector.collect(model)
    shares = np.bincount(rollout.action.numpy(), minlength=4) / len(rollout.action)
    agent = as_agent(model, collector.layout, 0)
    wanted = agent.probabilities(rollout.seen.numpy(), rollout.legal.numpy().astype(np.int8)).mean(0)
    assert np.abs(shares - wanted).max() < 4 * (0.25 / len(rollout.action)) ** 0.5


@pytest.mark.parametrize("reference", ["refreshed", "average"])
def test_the_reference_follows_the_policy(reference: str) -> None:
    config = Config(**{**TINY.__dict__, "reference": reference, "refresh": 4})
    learner = Learner(config, Collector(config).layout)
    start = learner.reference[0].weight.clone()
    with torch.no_grad():
        learner.model.policy[0].weight += 1
    distances = []
    for rollout in range(1, 5):
        learner.move_reference(rollout)
        distances.append(float((learner.reference[0].weight - start).mean()))
    wanted = [0, 0, 0, 1] if reference == "refreshed" else [1 - 0.75**k for k in range(1, 5)]
    assert distances == pytest.approx(wanted, abs=1e-5)


class CrashError(Exception):
    pass


def test_a_run_that_crashed_goes_on_as_if_it_had_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(TINY, prepare(tmp_path / "whole"), quiet=True)
    update, updates = Learner.update, 0

    def crash(learner: Learner, *arguments: Any) -> dict[str, float]:
        nonlocal updates
        updates += 1
        if updates == 4:  # the second of the second leg
            raise CrashError
        return update(learner, *arguments)

    monkeypatch.setattr(Learner, "update", crash)
    folder = prepare(tmp_path / "crashed")
    with pytest.raises(CrashError):
        train(TINY, folder, quiet=True)
    monkeypatch.setattr(Learner, "update", update)
    train(TINY, folder, quiet=True)
    for name in (FILE, "last.safetensors"):
        one, two = load_file(folder / name), load_file(whole / name)
        assert one.keys() == two.keys()
        assert all(np.array_equal(one[key], two[key]) for key in one)
    with (folder / "metrics.csv").open() as one, (whole / "metrics.csv").open() as two:
        for a, b in zip(csv.DictReader(one), csv.DictReader(two), strict=True):
            assert {k: v for k, v in a.items() if k != "seconds"} == {k: v for k, v in b.items() if k != "seconds"}
    assert "| random |" in (folder / "card.md").read_text()
    load_agent(str(folder))


def test_it_learns(tmp_path: Path) -> None:
    config = Config(
        **{**TINY.__dict__, "frames": 120_000, "games": 256, "rollout": 16, "batch": 2048, "epochs": 4, "network": [32, 32]}
    )
    config = Config(**{**config.__dict__, "evaluation_lines": 600, "evaluate": 100})
    folder = train(config, prepare(tmp_path / "run", config), quiet=True)
    with (folder / "evaluation.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    assert float(last["low"]) > 1 / 3 + 0.03, "surely above the equal share"


def test_nonsense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--reference", "best"])
    assert "--reference is one of none, refreshed, average, not best" in capsys.readouterr().err
