"""The callbacks that measure a learner: what they measure, where they record it, and how a training goes on."""

from __future__ import annotations

import csv
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import VecNormalize
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from getbit_env import as_agent, load_agent, parse_variant
from getbit_env.benchmark import play_task
from getbit_env.exact import Positions, exploitability
from getbit_env.match import play_match
from getbit_env.network import load_network
from getbit_env.sb3 import BenchmarkScore, Evaluation, ExactGain, Figure, GetBitVecEnv, WinRate, exact_gain
from getbit_env.sb3.sharks_are_wild import SharksAreWildVecEnv

SMALL = "3p-1r-4c-1l"  # its positions are numbered in no time
ROLLOUT = 128  # decisions


def model_of(env: Any = None, algorithm: Any = PPO, policy: str = "MlpPolicy", **options: Any) -> Any:
    env = GetBitVecEnv(8, "random", variant=SMALL, seed=1) if env is None else env
    defaults = {"learning_rate": 1e-2} if algorithm is DQN else {"n_steps": 16, "batch_size": 64, "learning_rate": 1e-2}
    return algorithm(policy, env, seed=0, device="cpu", **{**defaults, **options})


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def on_the_board(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Of each figure of an evaluation: the steps and values that TensorBoard shows."""
    found: dict[str, list[tuple[int, float]]] = {}
    for run in sorted(folder.iterdir()):
        events = EventAccumulator(str(run)).Reload()
        for tag in events.Tags()["scalars"]:
            if tag.startswith("eval/"):
                found.setdefault(tag, []).extend((event.step, event.value) for event in events.Scalars(tag))
    return found


class Counted(Evaluation):
    """Measures what it is told to."""

    judged_by = "eval/number"

    def __init__(self, numbers: list[float], **options: Any) -> None:
        super().__init__(**options)
        self.numbers = numbers

    def measure(self, agent: Any, variant: Any) -> list[Figure]:  # noqa: ARG002
        number = self.numbers.pop(0)
        return [Figure("eval/number", number, number - 0.5, number + 0.5)]


# --- where and when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("every", "log_interval"), [(ROLLOUT, 4), (3 * ROLLOUT, 4), (3 * ROLLOUT, 1), (300, 1)])
def test_figures_are_at_the_step_at_which_they_were_measured(every: int, log_interval: int, tmp_path: Path) -> None:
    """In TensorBoard and in the CSV file, and the two say the same."""
    model = model_of(tensorboard_log=str(tmp_path / "board"))
    callbacks: list[Any] = [
        WinRate(["random", "lowest"], every=every, starts=8, csv=tmp_path / "eval.csv"),
        ExactGain(every=every, csv=tmp_path / "eval.csv"),
    ]
    model.learn(12 * ROLLOUT, callback=callbacks, log_interval=log_interval)
    ends = range(ROLLOUT, 12 * ROLLOUT + 1, ROLLOUT)
    steps = [end for end in ends if end // every > (end - ROLLOUT) // every]
    rows = rows_of(tmp_path / "eval.csv")
    board = on_the_board(tmp_path / "board")
    assert board.keys() == {row["name"] for row in rows}
    assert board.keys() == {"eval/win", "eval/win_random", "eval/win_lowest", "eval/gain", "eval/nash_conv"}
    for name, shown in board.items():
        kept = [(int(row["timesteps"]), float(row["value"])) for row in rows if row["name"] == name]
        assert [step for step, _ in shown] == [step for step, _ in kept] == steps
        assert np.allclose([value for _, value in shown], [value for _, value in kept])
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in rows)


def test_off_policy_algorithms_are_measured_as_often() -> None:
    """Their rollouts are a few steps: `every` counts decisions."""
    model = model_of(algorithm=DQN, buffer_size=1000, learning_starts=32)
    counted = Counted([1.0] * 10, every=200)
    model.learn(640, callback=counted)
    assert len(counted.numbers) == 10 - 3


# --- what ----------------------------------------------------------------------------------------------------------------------


def test_the_exact_gain_is_that_of_the_solver(tmp_path: Path) -> None:
    model = model_of()
    gain = ExactGain(every=ROLLOUT, save_best=tmp_path / "best.zip")
    drawn = ExactGain(every=ROLLOUT, deterministic=True)
    model.learn(ROLLOUT, callback=[gain, drawn])
    positions = Positions(parse_variant(SMALL))
    kept = as_agent(tmp_path / "best.zip")
    wanted = exploitability(kept, positions)
    assert gain.score == pytest.approx(wanted.gain, abs=1e-6)
    assert [one.value for one in gain.figures] == pytest.approx([wanted.gain, wanted.nash_conv], abs=1e-6)
    assert drawn.score == pytest.approx(exploitability(as_agent(tmp_path / "best.zip", deterministic=True), positions).gain)
    assert drawn.score > gain.score


def test_the_benchmark_score_is_that_of_the_benchmark(tmp_path: Path) -> None:
    model = model_of(SharksAreWildVecEnv(8, "sharks-random", variant="sharks-2p-level1", seed=1), MaskablePPO)
    score = BenchmarkScore(every=ROLLOUT, by="worst_win", save_best=tmp_path / "best.zip", csv=tmp_path / "eval.csv")
    model.learn(ROLLOUT, callback=score)
    wanted = play_task(str(tmp_path / "best.zip"), "sharks-2p-level1", truth=False)
    assert score.result is not None
    assert score.result.tables == wanted.tables
    assert wanted.worst is not None
    assert score.best == wanted.worst.value.mean
    names = {row["name"] for row in rows_of(tmp_path / "eval.csv")}
    assert {"eval/benchmark_win", "eval/benchmark_payoff", "eval/benchmark_worst_win"} < names
    assert "eval/benchmark_win_sharks-greedy" in names


def test_the_win_rate_is_that_of_a_match() -> None:
    model = model_of(algorithm=RecurrentPPO, policy="MlpLstmPolicy", policy_kwargs={"lstm_hidden_size": 8})
    rate = WinRate(["lowest"], every=ROLLOUT, starts=24, seed=5, deterministic=True)
    model.learn(ROLLOUT, callback=rate)
    model = model_of(algorithm=RecurrentPPO, policy="MlpLstmPolicy", policy_kwargs={"lstm_hidden_size": 8})
    before = Kept(every=ROLLOUT)
    model.learn(ROLLOUT, callback=before)
    assert rate.score == play_match([before.kept, "lowest", "lowest"], SMALL, starts=24, seed=5)[0].win.mean


class Kept(Counted):
    """Keeps the agent that it is given."""

    def __init__(self, **options: Any) -> None:
        super().__init__([], deterministic=True, **options)

    def measure(self, agent: Any, variant: Any) -> list[Figure]:  # noqa: ARG002
        self.kept = agent
        return [Figure("eval/number", 0.0, 0.0, 0.0)]


# --- the best, and going on ----------------------------------------------------------------------------------------------------


def test_the_best_policy_is_kept_and_no_other(tmp_path: Path) -> None:
    normalized = VecNormalize(GetBitVecEnv(8, "random", variant=SMALL, seed=1))
    model = model_of(normalized)
    best, network = tmp_path / "best.zip", tmp_path / "best.safetensors"
    counted = Counted([1.0, 3.0, 2.0, 2.5], every=ROLLOUT, save_best=best)
    also = Counted([1.0, 3.0, 2.0, 2.5], every=ROLLOUT, save_best=network)
    kept = Kept(every=2 * ROLLOUT)
    model.learn(2 * ROLLOUT, callback=[kept, counted, also])
    the_best = kept.kept
    model.learn(2 * ROLLOUT, callback=[counted, also], reset_num_timesteps=False)
    assert (counted.best, counted.score) == (3.0, 2.5)
    found = load_agent(str(best))
    layout = normalized.venv.layout  # type: ignore[attr-defined]
    seen = GetBitVecEnv(64, "random", variant=SMALL, seed=3)
    observation, mask = seen.reset(), np.ones((64, 4), np.int8)
    for agent in (found, load_network(network, "best")):
        agent.reset(layout, np.ones(64, bool), 0)
        drawn = agent.probabilities(observation, mask)  # type: ignore[union-attr]
        assert np.array_equal(drawn.argmax(axis=1), the_best.probabilities(observation, mask).argmax(axis=1))
    assert load_network(network, "best").about["score"] == "3.0000"
    assert {path.name for path in tmp_path.iterdir()} == {"best.zip", "best_vecnormalize.pkl", "best.safetensors"}


def test_a_training_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    file, best = tmp_path / "eval.csv", tmp_path / "best.zip"
    model = model_of()
    model.learn(2 * ROLLOUT, callback=Counted([1.0, 5.0], every=ROLLOUT, csv=file, save_best=best))
    model.save(tmp_path / "checkpoint")
    model.learn(2 * ROLLOUT, callback=Counted([9.0, 0.0], every=ROLLOUT, csv=file), reset_num_timesteps=False)
    assert [float(row["value"]) for row in rows_of(file)] == [1.0, 5.0, 9.0, 0.0]
    with file.open("a") as torn:  # the process was killed
        torn.write("51")
    kept = best.read_bytes()
    again = PPO.load(tmp_path / "checkpoint", env=GetBitVecEnv(8, "random", variant=SMALL, seed=1), device="cpu")
    counted = Counted([4.0, 6.0], every=ROLLOUT, csv=file, save_best=best)
    again.learn(ROLLOUT, callback=counted, reset_num_timesteps=False)
    assert [float(row["value"]) for row in rows_of(file)] == [1.0, 5.0, 4.0]
    assert counted.best == 5.0
    assert best.read_bytes() == kept
    again.learn(ROLLOUT, callback=counted, reset_num_timesteps=False)
    assert [int(row["timesteps"]) for row in rows_of(file)] == [128, 256, 384, 512]
    assert best.read_bytes() != kept


def test_figures_of_another_training_are_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "eval.csv"
    model_of().learn(ROLLOUT, callback=Counted([1.0], every=ROLLOUT, csv=file))
    before = file.read_bytes()
    with pytest.raises(ValueError, match=r"holds figures of a training before this one: .* reset_num_timesteps=False"):
        model_of().learn(ROLLOUT, callback=Counted([2.0], every=ROLLOUT, csv=file))
    assert file.read_bytes() == before
    (tmp_path / "mine.csv").write_text("name,age\nme,3\n")
    with pytest.raises(ValueError, match=r"mine\.csv holds something else than figures, whose first line is timesteps,name,value"):
        model_of().learn(ROLLOUT, callback=Counted([2.0], every=ROLLOUT, csv=tmp_path / "mine.csv"))
    assert (tmp_path / "mine.csv").read_text() == "name,age\nme,3\n"


def test_ctrl_c_in_an_evaluation_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal arrives while positions are judged; the training goes on from there afterwards."""
    file, model = tmp_path / "eval.csv", model_of()
    gain = ExactGain(every=ROLLOUT, csv=file, save_best=tmp_path / "best.zip")
    judged = exact_gain._positions

    def and_then_ctrl_c(variant: Any, threads: int) -> Any:
        signal.raise_signal(signal.SIGINT)
        time.sleep(5)  # a signal is heard at once, or at the next step of Python
        return judged(variant, threads)

    with monkeypatch.context() as patch:
        patch.setattr(exact_gain, "_positions", and_then_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            model.learn(ROLLOUT, callback=gain)
    assert not file.exists()
    assert list(tmp_path.iterdir()) == []
    model.learn(ROLLOUT, callback=gain, reset_num_timesteps=False)
    assert [int(row["timesteps"]) for row in rows_of(file)] == [256, 256]
    assert (tmp_path / "best.zip").exists()


# --- refused -------------------------------------------------------------------------------------------------------------------


def in_sharks() -> Any:
    return model_of(SharksAreWildVecEnv(8, "sharks-random", variant="sharks-2p-level1", seed=1))


def with_memory() -> Any:
    return model_of(GetBitVecEnv(8, "random", variant=f"{SMALL}-memory", seed=1))


def recurrent() -> Any:
    return model_of(algorithm=RecurrentPPO, policy="MlpLstmPolicy")


def of_elu() -> Any:
    return model_of(policy_kwargs={"activation_fn": torch.nn.ELU})


@pytest.mark.parametrize(
    ("model", "make", "message"),
    [
        (in_sharks, lambda _: ExactGain(), "no best response is computed in Sharks are Wild"),
        (with_memory, lambda _: ExactGain(), "the learner has no perfect recall"),
        (recurrent, lambda _: ExactGain(), "the learner has no `probabilities`"),
        (of_elu, lambda path: WinRate(save_best=path / "best.safetensors"), "can be played with NumPy"),
        (model_of, lambda _: ExactGain(threads=0), "threads is a whole number, at least 1, not 0"),
        (model_of, lambda _: ExactGain(every=0), "every is a whole number, at least 1, not 0"),
        (model_of, lambda _: BenchmarkScore(), "the benchmark has no task 3p-1r-4c-1l; there are 2p, 3p"),
        (in_sharks, lambda _: BenchmarkScore(by="mixed_win"), "two players have no mixed tables"),
        (
            model_of,
            lambda _: BenchmarkScore(by="wins"),
            "by is one of win, payoff, worst_win, mixed_win, not 'wins'; did you mean 'win'",
        ),
        (model_of, lambda _: BenchmarkScore(budget="long"), "budget is one of quick, standard, full, not 'long'"),
        (model_of, lambda path: WinRate(save_best=path / "best"), r"save_best is a file \*.zip or \*.safetensors, not .*best"),
        (model_of, lambda path: WinRate(save_best=path / "a.safetensors", deterministic=True), "draws its actions: give save_best"),
    ],
)
def test_nonsense_is_refused_before_training(model: Any, make: Any, message: str, tmp_path: Path) -> None:
    learner = model()
    with pytest.raises(ValueError, match=message):
        learner.learn(ROLLOUT, callback=make(tmp_path))
    assert learner.num_timesteps == 0
    assert list(tmp_path.iterdir()) == []
