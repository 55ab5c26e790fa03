"""The self-play recipe: that it learns, that nothing is lost, and that what it leaves can be played."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from getbit_env.agent_registry import load_agent
from getbit_env.network import POLICY_FILE, load_network, save_network
from getbit_env.sb3 import Past, PastSampling, network_of
from getbit_env.sb3.callbacks import SAMPLING
from train.selfplay import Config, main, make_model, train

TINY = Config(
    variant="4p-1l",
    total_timesteps=16 * 8 * 6,
    n_envs=16,
    n_steps=8,
    save_freq=2,
    batch_size=64,
    n_epochs=1,
    net_arch=[8, 8],
    opponent_groups=4,
    snapshot_freq=2,
    pool_size=3,
    eval_freq=3,
    eval_opponents=["random"],
    eval_starts=24,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(TINY, tmp_path_factory.mktemp("runs") / "whole", quiet=True)


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
    assert [int(row["timesteps"]) for row in rows] == [128 * k for k in range(1, 7)]
    assert 0 < float(rows[-1]["win_rate"]) < 1
    assert float(rows[0]["ent_coef"]) == pytest.approx(0.05)
    assert float(rows[-1]["ent_coef"]) == pytest.approx(0.05 - 5 / 6 * 0.03)
    assert len(list((finished / "checkpoints").iterdir())) == 2
    assert list((finished / "tensorboard").iterdir())
    assert int(load_agent(finished).about["timesteps"]) in (384, 768)  # type: ignore[attr-defined]


def test_a_run_is_loaded_as_an_agent_that_masks_itself(finished: Path) -> None:
    agent = load_agent(str(finished))
    from getbit_env import parse_variant
    from getbit_env.match import play_match

    result = play_match([agent, "random", "random", "random"], parse_variant("4p-1l"), starts=24)
    assert result.failure is None
    assert 0 < result[0].win.mean < 1


def test_another_seed_is_another_run(finished: Path, tmp_path: Path) -> None:
    config = dataclasses.replace(TINY, seed=1)
    assert not equal(weights(train(config, tmp_path / "other", quiet=True)), weights(finished))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "MlpLstm"], "--policy is one of 'MlpPolicy', 'MlpLstmPolicy', not 'MlpLstm'"),
        (["--policy", "MlpLstmPolicy", "--lstm-hidden-size", "0"], "--lstm-hidden-size is at least 1, not 0"),
        (["--sampling", "best"], "--sampling is one of 'latest', 'uniform', 'prioritised', not 'best'"),
        (
            ["--lstm-hidden-size", "32"],
            "--lstm-hidden-size 32 would be ignored: --policy MlpPolicy has no LSTM, MlpLstmPolicy has one",
        ),
        (["--lstm-hidden-size", "64"], "--lstm-hidden-size 64 would be ignored: --policy MlpPolicy has no LSTM"),
        (
            ["--bot-share", "0", "--bots", "lowest", "highest"],
            "--bots lowest highest would be ignored: --bot-share is 0; leave it out",
        ),
        (["--bot-share", "0.05"], "--bot-share 0.05 of --opponent-groups 8 is less than half a group"),
        *(
            (
                ["--latest-share", "0.6", "--bot-share", "0.4", *option.split()],
                f"{option} would be ignored: no group is of past selves",
            )
            for option in ("--sampling prioritised", "--pool-size 9", "--snapshot-freq 8")
        ),
        (["--allow-modules"], "--allow-modules would be ignored: it is about --resume"),
        (["--latest-share", "0.8", "--bot-share", "0.8"], "add up to 1 at most"),
        (["--bots", "nobody"], "--bots: no agent 'nobody'"),
        (["--bots"], "--bot-share is over 0, but there are no --bots"),
        (["--bots", "random", "random"], "--bots names 'random' twice"),
        (["--n-envs", "4", "--n-steps", "4", "--opponent-groups", "2"], "--batch-size 8192 is more than a rollout"),
        (["--n-envs", "1000", "--opponent-groups", "3"], "--n-envs 1000 can't be shared equally by --opponent-groups 3"),
    ],
)
def test_nonsense_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in " ".join(capsys.readouterr().err.split())


def test_sampling_rules() -> None:
    assert set(SAMPLING) == set(PastSampling)
    past = [Past("a", 0.9), Past("b", 0.1), Past("c", 0.9)]
    rng = np.random.default_rng(0)
    drawn = {rule: [SAMPLING[rule](past, rng).name for _ in range(600)] for rule in SAMPLING}
    assert set(drawn["latest"]) == {"c"}
    assert all(150 < drawn["uniform"].count(name) < 250 for name in "abc")
    assert drawn["prioritised"].count("b") > 500, "those that it does not beat yet"


def test_numpy_and_torch_compute_the_same_policy(tmp_path: Path) -> None:
    config = dataclasses.replace(TINY, net_arch=[64, 64], variant="2p", seed=3)
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
