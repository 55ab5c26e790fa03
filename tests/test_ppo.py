"""The PPO recipe of our own: advantages by hand, samples of every seat, slopes of the loss, resuming to the byte, learning."""

from __future__ import annotations

import copy
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.variants import parse_variant
from getbit_env.loading import load_agent
from getbit_env.network import FILE
from train.ppo import (
    ActorCritic,
    Collector,
    Config,
    Learner,
    Samples,
    Tanh,
    Weights,
    _slopes,
    _weigh,
    as_agent,
    main,
    new_samples,
    train,
)

THREE_CARDS = parse_variant("3p-1r-3c-1l")
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


def samples_of(layout: Layout, **columns: Any) -> Samples:
    """Samples with these columns, the rest zero."""
    (size,) = {len(column) for column in columns.values()}
    samples = new_samples(size, layout)
    for name, column in columns.items():
        getattr(samples, name)[:] = column
    return samples


def test_advantages_by_hand() -> None:
    """Two actions; a seat that goes on, one whose game ends and begins again, and one that goes out and comes back."""
    log_half = np.log(np.full(2, 0.5))
    samples = samples_of(
        Layout(THREE_CARDS),
        seat=[0, 1, 2, 0, 1, 0, 1, 2],  # three rounds; seat 2 is out in the second
        legal=[[1, 1, 0]] * 7 + [[0, 1, 1]],
        log_p=[[*log_half, -1e9]] * 7 + [[-1e9, *np.log([0.25, 0.75])]],
        action=[0, 0, 0, 1, 0, 0, 1, 1],
        reward=[[0, 0, 0], [0, 0, 0], [-1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
        ended=[[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    )
    worth = np.array(
        [[0.5, 0, 9], [0.25, 0.75, 9], [-1, 0, 9], [0, 1, 9], [1, 0.5, 9], [0.25, 0.75, 9], [0, -1, 9], [9, 1, 0]], np.float32
    )
    target = np.zeros(8, np.float32)
    _weigh(samples, worth, np.float32(0.5), target)
    # Targets are means over the policy: 0.5 and -0.5 for seats 0 and 1 in the last round, 0.25 * 1 for seat 2. Before that seat 0
    # counted on 1 and should have on 0.5, so 0.5 + 0.5 * (0.5 - 1); and in the first round on 0.5 instead of 0.25.
    # Seat 1 ended its game in the second round, mean 0.75; counted on 0.25 before it. Seat 2 went out in the first.
    assert target.tolist() == [0.25 + 0.5 * (0.25 - 0.5), 0.5 + 0.5 * (0.75 - 0.25), -0.5, 0.25, 0.75, 0.5, -0.5, 0.25]
    wanted = [[0.25, -0.25, 0], [-0.25, 0.25, 0], [-0.5, 0.5, 0], [-0.5, 0.5, 0], [0.25, -0.25, 0], [-0.25, 0.25, 0]]
    assert worth.tolist() == [*wanted, [0.5, -0.5, 0], [0, 0.75, -0.25]]


@pytest.mark.parametrize("variant", ["4p-1l", "2p-2l-memory"])
def test_samples_are_the_game_and_their_sequels_what_could_have_been(variant: str) -> None:
    """Every choice of every seat, and for every legal card what it leads to, played once more from there."""
    config = Config(**{**TINY.__dict__, "variant": variant, "rollout": 20, "history": "memory" in variant, "stray": 0.0})
    games, players = 3, config.game.players
    collector = Collector(config, games)
    collector.begin(np.random.SeedSequence(0))
    policy = ActorCritic(collector.layout, [8]).policy
<<<<<<< HEAD
    collector.collect(policy)
    samples, sequels = collector.look_ahead()
=======
    samples, sequels = collector.collect(policy)
>>>>>>> fe1f575 (wip: look ahead, stray)
    next_seen = dict(zip(sequels.at.tolist(), sequels.seen, strict=True))
    engine = Engine(config.game, games, options=config.options, seed=np.random.SeedSequence(0).spawn(3)[0])
    engine.start()
    i, lengths = 0, list[int]()
    for _ in range(config.rollout):
        engine.observe(np.ones(games, np.uint8))
        seen, mask = engine.observation.copy(), engine.action_mask.copy()
        choosing = [(g, p) for g in range(games) for p in range(players) if seen[g, p].any()]
        actions = np.zeros((games, players), np.int64)
        for k, (g, p) in enumerate(choosing):
            assert samples.seat[i + k] == g * players + p
            assert np.array_equal(samples.seen[i + k], seen[g, p])
            assert np.array_equal(samples.legal[i + k], mask[g, p])
            actions[g, p] = samples.action[i + k]
            assert mask[g, p, actions[g, p]]
        for k, (g, p) in enumerate(choosing):
            for action in np.flatnonzero(mask[g, p]):
                other = copy.deepcopy(engine)
                instead = actions.copy()
                instead[g, p] = action
                other.play(instead)
                assert samples.reward[i + k, action] == other.outcome.reward[p, g]
                assert samples.ended[i + k, action] == (other.outcome.finish[p, g] > 0)
                other.observe(np.ones(games, np.uint8))
                follows = next_seen.pop((i + k) * config.game.actions + action, None)
                assert (follows is None) == (other.outcome.finish[p, g] > 0)
                assert follows is None or np.array_equal(follows, other.observation[g, p])
        i += len(choosing)
        engine.play(actions)
        lengths += engine.state.rounds[engine.outcome.over > 0].tolist()
        engine.start(engine.outcome.over)
    assert i == len(samples.seat)
    assert not next_seen
    assert lengths == collector.lengths != []
    with torch.no_grad():
        logits = policy(torch.from_numpy(samples.seen).float()).masked_fill(torch.from_numpy(samples.legal) == 0, -1e9)
    assert np.allclose(samples.log_p, logits.log_softmax(1), atol=1e-5)


def test_games_go_astray_by_one_seat_and_nothing_is_learnt_from_it_meanwhile() -> None:
    config = Config(**{**TINY.__dict__, "variant": "4p", "rollout": 4, "stray": 1.0})
    collector = Collector(config, 400)
    torch.manual_seed(0)
    policy = ActorCritic(collector.layout, [8]).policy
    with torch.no_grad():
        policy[-1].bias[0] += 20  # plays the lowest card if it can
    collector.begin(np.random.SeedSequence(0))
    rounds, strays = collector._rounds_astray.copy(), collector._strays.copy()
    assert np.array_equal(strays // 4, np.arange(400))
    assert np.bincount(rounds, minlength=9)[1:9].min() > 20, "each number of rounds that no game ends in"
<<<<<<< HEAD
    collector.collect(policy)
    samples, sequels = collector.look_ahead()
=======
    samples, sequels = collector.collect(policy)
>>>>>>> fe1f575 (wip: look ahead, stray)
    assert set(sequels.at // 5) == set(range(len(samples.seat)))
    assert np.array_equal(np.bincount(samples.seat // 4, minlength=400), 4 * np.maximum(4 - rounds, 0)), "all are in yet"
    # Astray for one round: then the other players have laid their lowest cards, who strays any one.
    collector.begin(np.random.SeedSequence(0))
    collector._rounds_astray[:] = 1
<<<<<<< HEAD
    collector.collect(policy)
    samples, _ = collector.look_ahead()
=======
    samples, _ = collector.collect(policy)
>>>>>>> fe1f575 (wip: look ahead, stray)
    assert samples.seat[:1600].tolist() == list(range(1600))
    hands = collector.layout.field(samples.seen[:1600], "hand")[collector.layout.mine(samples.seen[:1600])]
    strayed = np.isin(np.arange(1600), collector._strays)
    assert (hands[~strayed] == [0, 1, 1, 1, 1]).all()
    assert np.abs((1 - hands[strayed]).mean(0) - 0.2).max() < 4 * (0.16 / 400) ** 0.5


def test_choices_are_drawn_from_the_policy() -> None:
    config = Config(**{**TINY.__dict__, "rollout": 1, "stray": 0.0})
    collector = Collector(config, 4000)
    torch.manual_seed(0)
    policy = ActorCritic(collector.layout, [8]).policy
    with torch.no_grad():
        policy[-1].bias += torch.tensor([0.0, 1.0, -1.0, 0.5])
    collector.begin(np.random.SeedSequence(0))
<<<<<<< HEAD
    collector.collect(policy)
    samples, _ = collector.look_ahead()
=======
    samples, _ = collector.collect(policy)
>>>>>>> fe1f575 (wip: look ahead, stray)
    shares = np.bincount(samples.action, minlength=4) / len(samples.action)
    agent = as_agent(policy, collector.layout, 0)
    wanted = agent.probabilities(samples.seen.astype(np.float32), samples.legal.astype(np.int8)).mean(0)
    assert np.abs(shares - wanted).max() < 4 * (0.25 / len(samples.action)) ** 0.5


def test_tanh_is_that_of_torch() -> None:
    x = torch.linspace(-4, 4, 101, requires_grad=True)
    (slope,) = torch.autograd.grad(Tanh()(x * 2).pow(2).sum(), x)
    (wanted,) = torch.autograd.grad(torch.tanh(x * 2).pow(2).sum(), x)
    assert torch.allclose(slope, wanted, atol=1e-6)


def test_slopes_are_those_of_the_loss_written_down() -> None:
    """Against automatic differentiation of the formulas, with a part of the ratios out of range."""
    rng = np.random.default_rng(0)
    size, actions = 200, 4
    legal = rng.random((size, actions)) < 0.6
    legal[np.arange(size), rng.integers(actions, size=size)] = True

    def drawn() -> torch.Tensor:
        return torch.tensor(rng.normal(0, 0.4, (size, actions)), dtype=torch.float32)

    def log_softmax(logits: torch.Tensor) -> torch.Tensor:
        return logits.masked_fill(~torch.from_numpy(legal), -1e9).log_softmax(1)

    logits, value = drawn().requires_grad_(), torch.randn((size, 1), generator=torch.manual_seed(0), requires_grad=True)
    before, log_q, advantage, target = log_softmax(drawn()), log_softmax(drawn()), drawn() * torch.from_numpy(legal), drawn()[:, 0]

    log_p = log_softmax(logits)
    p, old = log_p.exp(), before.exp()
    ratio = (log_p - before).exp()
    assert 0.2 < float(((ratio - 1).abs() > 0.2)[torch.from_numpy(legal)].float().mean()) < 0.95
    gain = (old * torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)).sum(1).mean()
    square = (value.squeeze(1) - target).pow(2).mean()
    entropy, kl = -(p * log_p).sum(1).mean(), (p * (log_p - log_q)).sum(1).mean()
    wanted = torch.autograd.grad(-gain + 0.5 * square - 0.07 * entropy + 0.3 * kl, (logits, value))

    of_logits, of_value, logged = np.ones((size, actions), np.float32), np.ones((size, 1), np.float32), np.zeros(4)
    _slopes(
        logits.detach().numpy(),
        value.detach().numpy(),
        samples_of(Layout(TINY.game), legal=legal, log_p=before.numpy()),
        advantage.numpy(),
        target.numpy(),
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
    config = Config(**{**TINY.__dict__, "reference": reference, "refresh": 4})
    learner = Learner(config, Layout(config.game))
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


def test_a_run_is_the_same_whatever_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.ppo.SHARE", 6)
    monkeypatch.setattr("train.ppo.PART", 24)
    one, two = (
        load_file(train(config, prepare(tmp_path / str(config.threads), config), quiet=True) / "last.safetensors")
        for config in (TINY, Config(**{**TINY.__dict__, "threads": 2}))
    )
    assert all(np.array_equal(one[key], two[key]) for key in one)


def test_it_learns(tmp_path: Path) -> None:
    config = Config(
        **{**TINY.__dict__, "frames": 120_000, "games": 256, "rollout": 16, "batch": 2048, "epochs": 4, "network": [32, 32]}
    )
    config = Config(**{**config.__dict__, "evaluation_lines": 600, "evaluate": 100})
    folder = train(config, prepare(tmp_path / "run", config), quiet=True)
    with (folder / "evaluation.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    assert float(last["low"]) > 1 / 3 + 0.03, "surely above the equal share"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reference", "best"], "--reference is one of none, refreshed, average, not best"),
        (["--variant", "sharks-2p-level1"], "sharks-2p-level1 is played in turns, this recipe is for Get Bit!"),
    ],
)
def test_nonsense_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in " ".join(capsys.readouterr().err.split())
