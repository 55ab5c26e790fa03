"""The PPO recipe of our own: advantages by hand, samples of every seat, gradients of the loss, learning."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout
from train.ppo import (
    ActorCritic,
    Collector,
    Collectors,
    Config,
    Learner,
    Samples,
    Tanh,
    Weights,
    _advantages,
    _gradients,
    as_agent,
    main,
    new_samples,
    train,
)

TINY = Config(
    variant="3p-1r-4c-1l",
    total_timesteps=1500,
    n_envs=16,
    n_steps=8,
    save_freq=2,
    batch_size=64,
    n_epochs=1,
    net_arch=[8, 8],
    eval_freq=2,
    eval_opponents=["random"],
    eval_starts=24,
)


def samples_of(layout: Layout, **columns: Any) -> Samples:
    """Samples with these columns, the rest zero."""
    (size,) = {len(column) for column in columns.values()}
    samples = new_samples(size, layout)
    for name, column in columns.items():
        getattr(samples, name)[:] = column
    return samples


def test_advantages_by_hand() -> None:
    """A seat that goes on, one whose game ends and begins again, and one that is out for a while."""
    samples = samples_of(
        Layout(TINY.played),
        seat=[0, 1, 2, 0, 1, 0, 1, 2],  # three rounds; seat 2 is out in the second
        reward=[0, 0, -1, 0, 1, 0, 0, 0],
        value=[0.5, 0.25, -0.5, 0.25, 0.5, 0.5, -0.25, 0.125],
        ended=[0, 0, 1, 0, 1, 0, 0, 0],
    )
    advantage = np.zeros(8, np.float32)
    _advantages(samples, np.array([1, 0.25, 0.25], np.float32), np.float32(0.5), advantage)
    # Seat 0: 1 - 0.5; then 0.5 - 0.25 + half of that; then 0.25 - 0.5 + half of that. Seat 1: 0.25 + 0.25; 1 - 0.5, and before
    # that 0.5 - 0.25 + half of it. Seat 2: 0.25 - 0.125, nothing while it is out, and -1 + 0.5 when it goes out.
    assert advantage.tolist() == [-0.25 + 0.25, 0.25 + 0.25, -0.5, 0.25 + 0.25, 0.5, 0.5, 0.5, 0.125]


def test_lengths_are_not_those_of_the_games_that_end_first() -> None:
    """Nobody learns here, so that every rollout is as long in the mean."""
    config = dataclasses.replace(TINY, variant="7p-half", n_envs=64, n_steps=45, exploring_starts=0.0)
    games = Collectors(config)
    model, told = ActorCritic(games.layout, [8]), list[list[int]]()
    for seed in range(2):  # two legs: what was pending at the end of the first is dropped
        games.begin(np.random.SeedSequence(seed))
        for _ in range(3):
            games.collect(model, map)
            told.append(games.lengths)
    assert [bool(lengths) for lengths in told] == [False, True, True] * 2
    assert min(map(min, filter(None, told))) >= config.played.least_rounds
    means = [float(np.mean(lengths)) for lengths in told if lengths]
    assert max(means) - min(means) < 1
    assert len(told[1]) >= 64, "all that began, also those that took longest"


def test_every_seat_that_had_a_choice_is_a_sample_and_no_other() -> None:
    config = dataclasses.replace(TINY, variant="4p-1l", n_steps=30, exploring_starts=0.0)
    collector = Collector(config, 16)
    collector.begin(np.random.SeedSequence(0))
    model = ActorCritic(collector.layout, [8])
    samples, _ = collector.collect(model, 3)
    # Played again, round by round, from the actions.
    engine = Engine(config.played, 16)
    engine.seed(np.random.SeedSequence(0).spawn(3)[0])
    engine.start()
    at, lengths = 0, list[int]()
    for _ in range(30):
        engine.observe()
        alive = engine.state.limbs.T > 0
        seats = np.flatnonzero(alive)
        of_round = slice(at, at := at + len(seats))
        assert samples.seat[of_round].tolist() == seats.tolist()
        assert np.array_equal(samples.seen[of_round], engine.observation[alive])
        assert np.array_equal(samples.legal[of_round], engine.action_mask[alive])
        actions = np.zeros((16, 4), np.int64)
        actions[alive] = samples.action[of_round]
        engine.play(actions)
        assert not engine.replaced[alive].any(), "all legal"
        assert np.array_equal(samples.reward[of_round], engine.outcome.reward.T[alive])
        assert np.array_equal(samples.ended[of_round], engine.outcome.finish.T[alive] > 0)
        lengths += engine.state.rounds[engine.outcome.over > 0].tolist()
        engine.start(engine.outcome.over)
    assert at == len(samples.seat)
    assert len(lengths) > 16
    assert lengths == [rounds for _, rounds in collector.lengths]
    assert [began for began, _ in collector.lengths[:16]] == [0] * 16, "the first game of each had begun before"
    assert {began for began, _ in collector.lengths[16:]} == {3}
    with torch.no_grad():
        seen, legal = torch.from_numpy(samples.seen).float(), torch.from_numpy(samples.legal) > 0
        log_p = model.policy(seen).masked_fill(~legal, -torch.inf).log_softmax(1)
        value = model.value(seen).squeeze(1)
    chosen = log_p.gather(1, torch.from_numpy(samples.action)[:, None]).squeeze(1)
    assert np.allclose(samples.log_probability, chosen, atol=1e-5)
    assert np.allclose(samples.value, value, atol=1e-5)


def test_one_seat_explores_first_and_nothing_is_learnt_from_it_meanwhile() -> None:
    config = dataclasses.replace(TINY, variant="4p", n_steps=4, exploring_starts=1.0)
    collector = Collector(config, 400)
    torch.manual_seed(0)
    model = ActorCritic(collector.layout, [8])
    with torch.no_grad():
        model.policy[-1].bias[0] += 20  # plays the lowest card if it can
    collector.begin(np.random.SeedSequence(0))
    rounds, explorers = collector._exploring_rounds.copy(), collector._explorers.copy()
    assert np.array_equal(explorers // 4, np.arange(400))
    assert np.bincount(rounds, minlength=9)[1:9].min() > 20, "each number of rounds that no game ends in"
    samples, advantage = collector.collect(model, 0)
    assert len(samples.seat) == len(advantage)
    assert np.array_equal(np.bincount(samples.seat // 4, minlength=400), 4 * np.maximum(4 - rounds, 0)), "all are in yet"
    # Exploration for one round: then the other players have laid their lowest cards, the explorer any one.
    collector.begin(np.random.SeedSequence(0))
    collector._exploring_rounds[:] = 1
    samples, _ = collector.collect(model, 0)
    assert samples.seat[:1600].tolist() == list(range(1600))
    hands = collector.layout.field(samples.seen[:1600], "hand")[collector.layout.mine(samples.seen[:1600])]
    explored = np.isin(np.arange(1600), collector._explorers)
    assert (hands[~explored] == [0, 1, 1, 1, 1]).all()
    assert np.abs((1 - hands[explored]).mean(0) - 0.2).max() < 4 * (0.16 / 400) ** 0.5


def test_choices_are_drawn_from_the_policy() -> None:
    config = dataclasses.replace(TINY, n_steps=1, batch_size=48, exploring_starts=0.0)
    collector = Collector(config, 4000)
    torch.manual_seed(0)
    model = ActorCritic(collector.layout, [8])
    with torch.no_grad():
        model.policy[-1].bias += torch.tensor([0.0, 1.0, -1.0, 0.5])
    collector.begin(np.random.SeedSequence(0))
    samples, _ = collector.collect(model, 0)
    shares = np.bincount(samples.action, minlength=4) / len(samples.action)
    agent = as_agent(model.policy, collector.layout, 0)
    wanted = agent.probabilities(samples.seen.astype(np.float32), samples.legal.astype(np.int8)).mean(0)
    assert np.abs(shares - wanted).max() < 4 * (0.25 / len(samples.action)) ** 0.5


def test_tanh_is_that_of_torch() -> None:
    x = torch.linspace(-4, 4, 101, requires_grad=True)
    (slope,) = torch.autograd.grad(Tanh()(x * 2).pow(2).sum(), x)
    (wanted,) = torch.autograd.grad(torch.tanh(x * 2).pow(2).sum(), x)
    assert torch.allclose(slope, wanted, atol=1e-6)


def test_gradients_are_those_of_the_loss_written_down() -> None:
    """Against automatic differentiation of the formulas, at samples of which a part is outside the range of the ratio."""
    rng = np.random.default_rng(0)
    size, actions = 200, 4
    legal = rng.random((size, actions)) < 0.6
    legal[np.arange(size), rng.integers(actions, size=size)] = True
    action = (rng.random((size, actions)) * legal).argmax(1)
    before = rng.normal(-1.2, 0.4, size).astype(np.float32)
    samples = samples_of(Layout(TINY.played), legal=legal, action=action, log_probability=before)
    advantage, target = rng.normal(size=(2, size)).astype(np.float32)
    logits = torch.tensor(rng.normal(size=(size, actions)), dtype=torch.float32, requires_grad=True)
    value = torch.tensor(rng.normal(size=(size, 1)), dtype=torch.float32, requires_grad=True)
    log_q = (
        torch.tensor(rng.normal(size=(size, actions)), dtype=torch.float32)
        .masked_fill(~torch.from_numpy(legal), -1e9)
        .log_softmax(1)
    )

    log_p = logits.masked_fill(~torch.from_numpy(legal), -1e9).log_softmax(1)
    p = log_p.exp()
    ratio = (log_p[torch.arange(size), torch.from_numpy(action)] - torch.from_numpy(before)).exp()
    assert 0.2 < float(((ratio - 1).abs() > 0.2).float().mean()) < 0.95
    weighed = torch.from_numpy(advantage)
    gain = torch.min(ratio * weighed, ratio.clamp(0.8, 1.2) * weighed).mean()
    square = (value.squeeze(1) - torch.from_numpy(target)).pow(2).mean()
    entropy, kl = -(p * log_p).sum(1).mean(), (p * (log_p - log_q)).sum(1).mean()
    wanted = torch.autograd.grad(-gain + 0.5 * square - 0.07 * entropy + 0.3 * kl, (logits, value))

    of_logits, of_value, logged = np.ones((size, actions), np.float32), np.ones((size, 1), np.float32), np.zeros(4)
    _gradients(
        logits.detach().numpy(),
        value.detach().numpy(),
        samples,
        advantage,
        target,
        log_q.numpy(),
        Weights(*map(np.float32, (1 / size, 0.2, 0.5, 0.07, 0.3))),
        of_logits,
        of_value,
        logged,
    )
    assert np.allclose(of_logits, wanted[0], atol=1e-6)
    assert np.allclose(of_value, wanted[1], atol=1e-6)
    assert logged.tolist() == pytest.approx([float(x.detach()) for x in (gain, square, entropy, kl)], rel=1e-4)


@pytest.mark.parametrize("reference", ["refreshed", "average"])
def test_the_reference_follows_the_policy(reference: str) -> None:
    config = dataclasses.replace(TINY, reference=reference, reference_period=4)
    learner = Learner(config, Layout(config.played))
    start = learner.reference[0].weight.clone()
    with torch.no_grad():
        learner.model.policy[0].weight += 1
    distances = []
    for rollout in range(1, 5):
        learner.move_reference(rollout)
        distances.append(float((learner.reference[0].weight - start).mean()))
    wanted = [0, 0, 0, 1] if reference == "refreshed" else [1 - 0.75**k for k in range(1, 5)]
    assert distances == pytest.approx(wanted, abs=1e-5)


def test_a_run_is_the_same_whatever_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.ppo.SHARE", 6)
    monkeypatch.setattr("train.ppo.PART", 24)
    one, two = (
        load_file(train(config, tmp_path / str(config.threads), quiet=True) / "last.safetensors")
        for config in (TINY, dataclasses.replace(TINY, threads=2))
    )
    assert all(np.array_equal(one[key], two[key]) for key in one)


def test_it_learns(tmp_path: Path) -> None:
    config = dataclasses.replace(
        TINY,
        total_timesteps=240_000,
        n_envs=256,
        temperature=1.0,
        reference_period=5,
        n_steps=16,
        batch_size=2048,
        n_epochs=4,
        net_arch=[32, 32],
        eval_starts=600,
        eval_freq=100,
    )
    folder = train(config, tmp_path / "run", quiet=True)
    with (folder / "evaluation.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    assert float(last["low"]) > 1 / 3 + 0.03, "surely above the equal share"


def test_the_saved_policy_is_the_average_at_a_temperature() -> None:
    learner = Learner(dataclasses.replace(TINY, temperature=2.0), Layout(TINY.played))
    with torch.no_grad():
        learner.reference[-1].bias += torch.tensor([0.0, 1.0, -1.0, 0.5])
    seen = np.random.default_rng(0).integers(0, 2, (50, learner.layout.size)).astype(np.float32)
    with torch.no_grad():
        wanted = (learner.reference(torch.from_numpy(seen)) / 2).softmax(1)
    assert np.allclose(learner.agent(0).probabilities(seen, np.ones((50, 4), np.int8)), wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reference", "best"], "--reference is one of none, refreshed, average, not best"),
        (["--reference", "none", "--kl-coef", "0.1"], "--kl-coef 0.1 would be ignored: --reference is none; leave it out"),
        (["--reference", "none", "--reference-period", "9"], "--reference-period 9 would be ignored: --reference is none"),
        (["--reference", "refreshed", "--kl-coef", "0"], "--reference refreshed holds the policy to nothing with --kl-coef 0"),
        (
            ["--n-envs", "2", "--n-steps", "8"],
            "--batch-size 8192 is more than a rollout of --n-envs 2 * --n-steps 8 * 4 players, 64",
        ),
        (["--exploring-starts", "1.5"], "--exploring-starts is at most 1, not 1.5"),
        (["--temperature", "0"], "--temperature is over 0, not 0.0"),
        (["--variant", "sharks-2p-level1"], "sharks-2p-level1 is no variant of Get Bit!, for which this recipe is"),
    ],
)
def test_nonsense_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in " ".join(capsys.readouterr().err.split())
