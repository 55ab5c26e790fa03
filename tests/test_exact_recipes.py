"""The recipes that learn from all positions at once: they come near equilibria, and their runs lose nothing."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents import promote
from getbit_env.agent_registry import load_agent
from getbit_env.core.files import write_whole
from getbit_env.exact import GameGraph, Positions, StoredPolicy, exploitability, gain_of
from getbit_env.get_bit.variants import parse_variant
from getbit_env.match import play_match
from train import run
from train.exact import cfr_plus, exploitability_descent, mirror_descent, policy_gradient, study
from train.exact.optimizer import MuonAndAdam
from train.exact.stores import Descent, Network, Table, centred, see_rows, softmax

RECIPES: dict[str, Any] = {
    "cfr_plus": cfr_plus,
    "mirror_descent": mirror_descent,
    "policy_gradient": policy_gradient,
    "exploitability_descent": exploitability_descent,
}
SMALL = "3p-1r-4c-1l"
QUICK: dict[str, Any] = {"variant": SMALL, "total_timesteps": 6, "eval_freq": 2}
QUICK_NETWORK = {"n_batches": 3, "batch_size": 64}
GAINS = {SMALL: (0.03, 0.01), "2p-3c-1l": (0.1, 0.04)}  # a best response to the uniform policy gains more, to the last less


def curve(folder: Path) -> list[dict[str, float]]:
    with (folder / study.CURVE).open(encoding="utf-8") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def train(name: str, folder: Path, **options: Any) -> float:
    recipe = RECIPES[name].RECIPE
    of_network = QUICK_NETWORK if options.get("net_arch") else {}
    run.train(recipe, recipe.config(**{**QUICK, **of_network, **options}), folder, quiet=True)
    return curve(folder)[-1]["gain"]


def files_of(folder: Path) -> dict[str, bytes]:
    """What a run holds, without times."""
    kept = [path for path in folder.rglob("*") if path.suffix in (".npz", ".safetensors") and path.parent.name != "checkpoints"]
    return {path.name: path.read_bytes() for path in kept}


@pytest.fixture(scope="module")
def graph() -> GameGraph:
    return GameGraph(Positions(parse_variant(SMALL)))


@pytest.mark.parametrize("variant", GAINS)
@pytest.mark.parametrize("name", RECIPES)
def test_a_table_comes_near_an_equilibrium(name: str, variant: str, tmp_path: Path) -> None:
    found = GameGraph(Positions(parse_variant(variant)))
    assert gain_of(found.uniform_policy(), found)[0] > GAINS[variant][0]
    gain = train(name, tmp_path / "run", variant=variant, total_timesteps=400, eval_freq=400)
    assert 0 <= gain < GAINS[variant][1]


@pytest.mark.parametrize("name", RECIPES)
def test_a_network_learns(name: str, tmp_path: Path) -> None:
    options = {"net_arch": [32, 32], "n_batches": 12, "batch_size": 256, "learning_rate": 3e-3}
    gain = train(name, tmp_path / "run", total_timesteps=30, eval_freq=30, **options)
    assert gain < 0.9 * exploitability(load_agent("random"), Positions(parse_variant(SMALL))).gain


@pytest.mark.parametrize("net_arch", [[], [8]])
@pytest.mark.parametrize("name", RECIPES)
def test_the_saved_policy_is_the_one_that_was_judged(name: str, net_arch: list[int], tmp_path: Path) -> None:
    gain = train(name, tmp_path / "run", net_arch=net_arch)
    rows = curve(tmp_path / "run")
    assert [row["iterations"] for row in rows] == [2, 4, 6]
    assert rows[-1]["gain"] == gain
    assert rows[-1]["nash_conv"] == pytest.approx(3 * gain, rel=1e-6)
    agent = load_agent(tmp_path / "run" if net_arch else tmp_path / "run" / study.TABLE_FILE)
    assert exploitability(agent, Positions(parse_variant(SMALL))).gain == pytest.approx(gain, abs=1e-6)


def test_a_network_becomes_a_shipped_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promote, "FOLDER", tmp_path)
    gain = train("exploitability_descent", tmp_path / "run", net_arch=[8])
    folder = promote.promote(tmp_path / "run", "learned", starts=4, timesteps=1)
    assert {path.name for path in folder.iterdir()} == {"card.md", "config.json", "learning.png", "policy.safetensors"}
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert "relu layers of 8" in card
    assert "after 6 iterations over all positions" in card
    assert f"a gain of {gain:.4f}" in card
    train("cfr_plus", tmp_path / "table")
    with pytest.raises(ValueError, match=r"table has no policy\.safetensors: agents that ship are networks"):
        promote.promote(tmp_path / "table", "learned", starts=4, timesteps=1)


@pytest.mark.parametrize("net_arch", [[], [8]])
@pytest.mark.parametrize("name", RECIPES)
def test_a_run_that_was_broken_off_goes_on_to_the_byte(
    name: str, net_arch: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(name, tmp_path / "whole", net_arch=net_arch)
    iterate = study.Learner.iterate

    def broken_off(self: Any) -> dict[str, float]:
        if self.timesteps == 5:
            raise KeyboardInterrupt
        told: dict[str, float] = iterate(self)
        return told

    folder = tmp_path / "part" / "whole"  # the name of a run is in its policy
    monkeypatch.setattr(study.Learner, "iterate", broken_off)
    with pytest.raises(KeyboardInterrupt):
        train(name, folder, net_arch=net_arch)
    monkeypatch.undo()
    assert [row["iterations"] for row in curve(folder)] == [2, 4]
    train(name, folder, net_arch=net_arch)
    assert files_of(folder) == files_of(tmp_path / "whole")
    drop = [{key: value for key, value in row.items() if key != "seconds"} for row in curve(folder)]
    assert drop == [{key: value for key, value in row.items() if key != "seconds"} for row in curve(tmp_path / "whole")]


def test_a_uniform_magnet_leads_to_the_logit_equilibrium(graph: GameGraph, tmp_path: Path) -> None:
    options = {"strength": 0.05, "strength_end": 0.05, "step": 5.0, "step_end": 5.0, "refresh_freq": 0}
    train("mirror_descent", tmp_path / "run", total_timesteps=300, eval_freq=300, **options)
    policy = load_agent(tmp_path / "run" / study.TABLE_FILE)
    assert isinstance(policy, StoredPolicy)
    chances = policy.chances.astype(np.float64)
    action_values = graph.go_back(np.ascontiguousarray(chances))[1]
    assert np.abs(softmax(action_values / 0.05, graph.legal) - chances).max() < 5e-4


def test_regret_matching() -> None:
    regrets = np.array([[[1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]])
    uniform = np.full((1, 2, 3), 1 / 3)
    assert cfr_plus.matched(regrets, uniform) == pytest.approx(np.array([[[0.25, 0.75, 0], [1 / 3, 1 / 3, 1 / 3]]]))


@pytest.mark.parametrize(("variant", "gain"), [("2p-3c-1l", 0.04), ("4p-4c-2l", 0.065)])
def test_roles_that_take_turns_need_fewer_iterations(variant: str, gain: float, tmp_path: Path) -> None:
    """All at once, the same 20 iterations come to 0.06 and 0.08."""
    assert train("cfr_plus", tmp_path / "run", variant=variant, total_timesteps=20, eval_freq=20) < gain


def test_a_network_begins_with_what_a_table_found(tmp_path: Path) -> None:
    """After the iterations of imitation it is near the table, and goes on from there; the schedules begin anew."""
    variant = "2p-3c-1l"
    train("cfr_plus", tmp_path / "table", variant=variant, total_timesteps=50, eval_freq=50)
    more = {"net_arch": [12], "n_batches": 16, "batch_size": 512, "learning_rate": 3e-3, "muon_rate": 0.1}
    imitate = {"imitate": str(tmp_path / "table" / study.TABLE_FILE), "imitate_iterations": 20, "step": 0.3, "step_end": 0.02}
    train("exploitability_descent", tmp_path / "run", variant=variant, total_timesteps=60, eval_freq=20, **more, **imitate)
    gains = [row["gain"] for row in curve(tmp_path / "run")]
    alone = train("exploitability_descent", tmp_path / "alone", variant=variant, total_timesteps=20, eval_freq=20, **more)
    assert gains[2] < gains[0] < alone
    steps = [row["step"] for row in curve(tmp_path / "run")]
    assert steps == pytest.approx([0.02, (0.3 * 0.02) ** 0.5, 0.02])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"imitate": "random"}, "--imitate random would be ignored: it is about networks"),
        ({"imitate_iterations": 3, "net_arch": [8]}, "--imitate-iterations 3 would be ignored: nothing is imitated without"),
        ({"imitate": "random", "net_arch": [8]}, "--imitate-iterations is less than --total-timesteps 6, not 50"),
        ({"imitate": "nobody", "net_arch": [8], "imitate_iterations": 2}, "--imitate: .*nobody"),
        ({"imitate": "sharks-greedy", "net_arch": [8], "imitate_iterations": 2}, "--imitate: .*sharks-greedy"),
    ],
)
def test_what_cannot_be_imitated(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exploitability_descent.RECIPE.config(**{**QUICK, **options})


def test_no_module_that_a_run_imitates_is_imported_unless_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train("exploitability_descent", tmp_path, net_arch=[8], imitate="random", imitate_iterations=2)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config["config"]["imitate"] = "no_such_module:Agent"
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(SystemExit):
        exploitability_descent.main(["--resume", str(tmp_path)])
    assert "names the agent 'no_such_module:Agent', whose module would be run" in " ".join(capsys.readouterr().err.split())


def test_a_table_keeps_and_a_network_approaches_what_is_written(graph: GameGraph) -> None:
    rng = np.random.default_rng(0)
    wanted = centred(rng.normal(size=graph.legal.shape), graph.legal)
    met = np.ones(wanted.shape[:2])
    table = Table(graph)
    table.write(wanted, met, rng)
    assert (table.read() == wanted).all()
    options = cfr_plus.RECIPE.config(**QUICK, net_arch=[64], n_batches=200, batch_size=512)
    for of_policy in (True, False):
        network = Network(graph, see_rows(graph), options, of_policy=of_policy)
        network.optimizer = MuonAndAdam([network.layers])
        network.optimizer.set_rates(3e-3, 0.03)
        errors = []
        for _ in range(2):
            found = network.read()
            errors.append(
                np.abs(
                    (softmax(found, graph.legal) - softmax(wanted, graph.legal)) if of_policy else (found - wanted)[graph.legal]
                ).mean()
            )
            network.write(wanted, met, rng)
        assert errors[1] < 0.75 * errors[0]


def test_a_network_descends_to_what_a_table_goes_to(graph: GameGraph) -> None:
    rng = np.random.default_rng(0)
    logits, cost = (centred(rng.normal(size=graph.legal.shape), graph.legal) for _ in range(2))
    target = Descent(logits, cost, step=2.0, strength=0.1)
    met = np.ones(logits.shape[:2])
    table = Table(graph)
    table.descend(target, met, rng)
    wanted = softmax(table.read(), graph.legal)

    def costs(policy: np.ndarray) -> float:
        """What a table minimises, over all roles."""
        log = np.log(np.maximum(policy, 1e-300))
        each = policy * (
            cost + target.strength * log + (log - np.log(np.maximum(softmax(logits, graph.legal), 1e-300))) / target.step
        )
        return float(each.sum())

    astray = softmax(table.read() + centred(rng.normal(size=graph.legal.shape), graph.legal) / 10, graph.legal)
    assert costs(wanted) < costs(astray)
    options = cfr_plus.RECIPE.config(**QUICK, net_arch=[64], n_batches=200, batch_size=512)
    network = Network(graph, see_rows(graph), options, of_policy=True)
    network.optimizer = MuonAndAdam([network.layers])
    network.optimizer.set_rates(3e-3, 0.03)
    far = []
    for _ in range(3):
        far.append(np.abs(softmax(network.read(), graph.legal) - wanted).mean())
        network.descend(target, met, rng)
    assert far[2] < far[1] < 0.75 * far[0]


def test_muon_makes_orthogonal_steps_and_leaves_the_last_layer_to_adam() -> None:
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    before = [weight.detach().clone() for weight in layers.parameters()]
    optimizer = MuonAndAdam([layers])
    optimizer.set_rates(0.01, 0.1)
    layers(torch.randn(50, 6)).square().sum().backward()
    optimizer.step()
    steps = [(weight.detach() - old) for weight, old in zip(layers.parameters(), before, strict=True)]
    assert torch.linalg.svdvals(steps[0]) / 0.1 == pytest.approx(np.ones(4), abs=0.35)
    for step in steps[1:]:  # the first step of Adam goes as far as its rate
        assert step.abs().max().item() == pytest.approx(0.01, rel=1e-3)


def test_rows_show_what_positions_show(graph: GameGraph) -> None:
    rows = see_rows(graph)
    players = graph.positions.variant.players
    for k in (0, 7, len(rows.at) - 1):
        number, role = divmod(int(rows.at[k]), players)
        seen, mask = graph.positions.see(np.array([number]))
        assert (rows.seen[k].numpy() == seen[0, role]).all()
        assert ((rows.illegal[k].numpy() == 0) == (mask[0, role] == 1)).all()


def test_a_stored_policy_plays_matches_and_refuses_other_games(tmp_path: Path) -> None:
    train("cfr_plus", tmp_path / "run")
    agent = load_agent(str(tmp_path / "run" / study.TABLE_FILE))
    result = play_match([agent, "random", "random"], SMALL, starts=24, seed=1)
    assert result.failure is None
    with pytest.raises(ValueError, match="this policy is of 3p-1r-4c-1l, not 4p"):
        play_match([agent, "random", "random", "random"], "4p", starts=24, seed=1)


def test_a_damaged_policy_is_refused(graph: GameGraph, tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    chances = graph.uniform_policy().astype(np.float32)
    StoredPolicy(graph.positions, chances, "uniform").save(path)
    assert isinstance(load_agent(path), StoredPolicy)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        write_whole(path, lambda part, cut=cut: part.write_bytes(whole[:cut]))  # type: ignore[misc]
        with pytest.raises(ValueError, match="can't be loaded"):
            load_agent(path)
    chances[0, 0] *= 2
    with pytest.raises(ValueError, match="no distribution"):
        StoredPolicy(graph.positions, chances, "doubled")
    with pytest.raises(ValueError, match="float32"):
        StoredPolicy(graph.positions, chances.astype(np.float64), "of float64")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--variant", "4p-memory"], "--variant is a face-up game of Get Bit!, not 4p-memory"),
        (["--variant", "sharks-2p-level1"], "--variant is a face-up game of Get Bit!, not sharks-2p-level1"),
        (["--step", "-1"], "--step is over 0, not -1.0"),
        (["--net-arch", "0"], "--net-arch is at least 1, not 0"),
        *(
            ([option, value], f"{option} {value} would be ignored: it is about networks, and without --net-arch a table learns")
            for option, value in (
                ("--seed", "0"),
                ("--batch-size", "64"),
                ("--n-batches", "3"),
                ("--learning-rate", "0.1"),
                ("--learning-rate-end", "0.1"),
                ("--muon-rate", "0.1"),
                ("--muon-rate-end", "0.1"),
            )
        ),
        (["--resume", "nowhere"], "nowhere holds no run"),
        (["--total", "5"], "unrecognized arguments"),
    ],
)
def test_what_can_not_be_done_is_said_in_a_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        mirror_descent.main(arguments)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_command_runs_resumes_and_refuses_a_folder_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    arguments = ["--variant", SMALL, "--eval-freq", "2", "--quiet"]
    mirror_descent.main([*arguments, "--total-timesteps", "2", "--output", str(folder)])
    assert f"{folder}: policy.npz or policy.safetensors, curve.csv, curve.png" in capsys.readouterr().err
    mirror_descent.main(["--resume", str(folder), "--total-timesteps", "4", "--quiet"])
    assert [row["iterations"] for row in curve(folder)] == [2, 4]
    assert (folder / "curve.png").stat().st_size > 1000
    python = "python -m train.exact.mirror_descent"
    begun = f"{python} {shlex.join(arguments)} --total-timesteps 2 --output {folder}"
    about = json.loads((folder / "config.json").read_text(encoding="utf-8"))["about"]
    assert about["command"] == f"{begun} && {python} --resume {folder} --total-timesteps 4 --quiet"
    (folder / "curve.png").unlink()  # as it is until the end
    with pytest.raises(SystemExit):
        mirror_descent.main(["--resume", str(folder), "--total-timesteps", "6"])
    assert "can be raised to 6 once the run is finished: it has no curve.png yet" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit):
        mirror_descent.main([*arguments, "--output", str(folder)])
    assert "already holds a run" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cfr_plus.main(["--resume", str(folder)])
    assert "is a run of train.exact.mirror_descent, not of train.exact.cfr_plus" in capsys.readouterr().err


def test_no_curve_can_be_drawn_of_a_folder_without_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no curve\.csv"):
        study.draw_curves({"nothing": tmp_path}, tmp_path / "curves.png")


def test_steps_of_exploitability_descent_depend_on_the_players_unless_they_are_given() -> None:
    config = exploitability_descent.DescentConfig
    assert [(it.step, it.step_end) for it in (config(variant="4p-2l"), config(variant="2p-2l"))] == [(16.0, 0.3), (1.0, 0.02)]
    given = config(variant="2p-2l", step=5)
    assert (given.step, given.step_end) == (5.0, 0.02)
    with pytest.raises(ValueError, match=r"--step-end is over 0, not 0\.0"):
        config(step_end=0)
