"""The driver of both recipes: nothing is lost, nothing is counted twice, and what can't be used is refused."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from getbit_env.agent_registry import load_agent
from getbit_env.core.escaping import for_markdown, for_markdown_code
from getbit_env.core.files import InUseError, owned
from getbit_env.network import POLICY_FILE
from train import card, ppo, run, selfplay
from train.recipe import DamagedError, DivergedError, Recipe
from train.records import CsvRecord
from train.run_file import read_config

COMMON: dict[str, Any] = {
    "variant": "3p-1r-4c-1l",
    "n_envs": 16,
    "n_steps": 8,
    "save_freq": 2,
    "batch_size": 64,
    "n_epochs": 1,
    "net_arch": [8, 8],
    "eval_freq": 2,
    "eval_opponents": ["random"],
    "eval_starts": 24,
}
# Each is trained for three legs; an evaluation in the middle of none, so that the last one is at a rollout of its own.
CONFIGS = {
    "ppo": ppo.Config(**COMMON, total_timesteps=1500),
    "selfplay": selfplay.Config(
        **{**COMMON, "eval_freq": 3}, total_timesteps=16 * 8 * 5, opponent_groups=4, snapshot_freq=2, pool_size=3
    ),
}
CONFIGS["recurrent"] = dataclasses.replace(CONFIGS["selfplay"], policy="MlpLstmPolicy", lstm_hidden_size=8)  # type: ignore[call-arg]
RECIPES: dict[str, Any] = {"ppo": ppo, "selfplay": selfplay, "recurrent": selfplay}


@pytest.fixture(autouse=True)
def _short_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "CARD_STARTS", 24)


@pytest.fixture(params=RECIPES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a finished run that was never broken off."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = train(name, tmp_path_factory.mktemp("runs") / name)
        return made[name]

    return folder


def train(name: str, folder: Path, **options: Any) -> Path:
    trained: Path = RECIPES[name].train(dataclasses.replace(CONFIGS[name], **options), folder, quiet=True)
    return trained


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def copy_of(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    saved["config"] |= changes
    path.write_text(json.dumps(saved))


def assert_the_same_run(one: Path, two: Path) -> None:
    """Weights, checkpoints and records; and TensorBoard shows every row once."""
    for file in (POLICY_FILE, "last.safetensors", *(path.relative_to(one) for path in (one / "checkpoints").iterdir())):
        a, b = load_file(one / file), load_file(two / file)
        assert a.keys() == b.keys()
        assert all(np.array_equal(a[key], b[key]) for key in a), file
    for file in ("metrics.csv", "evaluation.csv"):
        assert rows(one / file) == rows(two / file)
        assert all(times == 1 for times in Counter(row["timesteps"] for row in rows(one / file)).values())
    board = EventAccumulator(str(one / "tensorboard")).Reload()
    assert [event.step for event in board.Scalars("train/seconds")] == [int(row["timesteps"]) for row in rows(one / "metrics.csv")]
    evaluated = [event.step for event in board.Scalars("eval/win_random")]
    assert evaluated == [int(row["timesteps"]) for row in rows(one / "evaluation.csv")]
    assert not list(one.rglob("*.part"))
    assert "| random |" in (one / "card.md").read_text()


class CrashError(Exception):
    pass


@pytest.mark.parametrize("stopped_by", [CrashError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [1, 4])
def test_a_run_that_was_broken_off_goes_on_as_if_it_had_not(
    name: str, at: int, stopped_by: type[BaseException], finished: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first leg, of which nothing is kept, and in the middle of the second one."""
    algorithm = RECIPES[name].RECIPE.make
    go_on, rollouts = algorithm.train_rollout, 0

    def stop(self: Any) -> dict[str, float]:
        nonlocal rollouts
        rollouts += 1
        figures: dict[str, float] = go_on(self)
        if rollouts == at:
            raise stopped_by
        return figures

    with monkeypatch.context() as patched:
        patched.setattr(algorithm, "train_rollout", stop)
        with pytest.raises(stopped_by):
            train(name, tmp_path / "run")
    assert (tmp_path / "run" / "last.safetensors").exists() == (at > 2)
    assert_the_same_run(train(name, tmp_path / "run"), finished(name))


def test_the_first_rollout_of_a_leg_tells_of_no_games(name: str, finished: Any) -> None:
    """Those that end in it are the short ones; they are told with the others that began in it, when all are over."""
    told = ["length", "win_rate", "win_rate_latest"] if name == "selfplay" else ["length"]
    for k, row in enumerate(rows(finished(name) / "metrics.csv")):
        for figure in told:
            assert (row[figure] == "nan") == (k % COMMON["save_freq"] == 0), (k, figure)


@pytest.mark.parametrize("where", ["save_network", "save_checkpoint", "write_card", "_evaluate"])
@pytest.mark.parametrize("after", [0, 1])
def test_a_kill_at_any_step_of_the_driver_is_made_good(
    name: str, where: str, after: int, finished: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do = getattr(run, where)

    def crash(*arguments: Any) -> None:
        if after:
            do(*arguments)
        raise CrashError

    with monkeypatch.context() as patched:
        patched.setattr(run, where, crash)
        with pytest.raises(CrashError):
            train(name, tmp_path / "run")
    (tmp_path / "run" / ".policy.safetensors.abc.part").write_bytes(b"left over")
    assert_the_same_run(train(name, tmp_path / "run"), finished(name))


def test_resuming_a_finished_run_changes_nothing_and_extending_it_goes_on(name: str, finished: Any, tmp_path: Path) -> None:
    folder = copy_of(finished(name), tmp_path)
    (folder / "card.md").unlink()
    RECIPES[name].main(["--resume", str(folder), "--quiet"])
    assert_the_same_run(folder, finished(name))
    before = rows(folder / "metrics.csv")
    RECIPES[name].main(["--resume", str(folder), "--total-timesteps", "2000", "--quiet"])
    after = rows(folder / "metrics.csv")
    assert after[: len(before)] == before
    assert int(before[-1]["timesteps"]) < 2000 <= int(after[-1]["timesteps"])
    assert json.loads((folder / "config.json").read_text())["config"]["total_timesteps"] == 2000


SHORT = (
    "--variant 3p-1r-4c-1l --n-envs 16 --n-steps 8 --batch-size 64 --net-arch 8 --eval-starts 24 --eval-opponents random --quiet"
)


@pytest.mark.parametrize("name", ["ppo", "selfplay"])
def test_the_commands_of_a_card_train_the_agent_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a run that was resumed, and was then made longer twice; nobody named its folder."""
    monkeypatch.chdir(tmp_path)
    algorithm, python = RECIPES[name].RECIPE.make, f"python -m {RECIPES[name].RECIPE.name}"
    with monkeypatch.context() as patched:
        patched.setattr(algorithm, "train_rollout", interrupt)
        with pytest.raises(SystemExit):
            RECIPES[name].main([*SHORT.split(), "--total-timesteps", "300"])
    (folder,) = (path for path in Path("runs").iterdir() if path.is_dir())
    RECIPES[name].main(["--resume", str(folder), "--quiet"])
    for total in ("600", "900"):
        RECIPES[name].main(["--resume", str(folder), "--total-timesteps", total, "--quiet"])
    RECIPES[name].main(["--resume", str(folder), "--total-timesteps", "900", "--quiet"])
    about = json.loads((folder / "config.json").read_text())["about"]
    first, *later = about["command"].split(" && ")
    assert first == f"{python} {SHORT} --total-timesteps 300 --output {folder}"
    assert later == [f"{python} --resume {folder} --total-timesteps {total} --quiet" for total in (600, 900)]
    assert about["command"] in (folder / "card.md").read_text()
    folder.rename("kept")
    for command in (first, *later):
        RECIPES[name].main(command.removeprefix(python).split())
    assert_the_same_run(folder, Path("kept"))


def interrupt(_self: Any) -> dict[str, float]:
    raise KeyboardInterrupt


def break_off(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Press Ctrl-C in the next rollout of a run."""
    with monkeypatch.context() as patched:
        patched.setattr(RECIPES[name].RECIPE.make, "train_rollout", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(name, folder, **options)


def test_a_run_is_made_longer_when_it_is_finished(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its schedules moved would be in no command. A longer run that is not finished has no card."""
    folder = tmp_path / "run"
    break_off(name, folder, monkeypatch)
    said = r"can be raised to 2000 once the run is finished: it has no card\.md yet; first go on with it as it is"
    with pytest.raises(ValueError, match=said):
        train(name, folder, total_timesteps=2000)
    train(name, folder)
    assert (folder / "card.md").exists()
    break_off(name, folder, monkeypatch, total_timesteps=2000)
    assert not (folder / "card.md").exists()


def test_a_card_names_all_versions_that_trained(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_off(name, tmp_path / "run", monkeypatch)
    begun = json.loads((tmp_path / "run" / "config.json").read_text())["about"]
    later = {**begun, "commit": "abc", "time": "later", "command": "another"}
    monkeypatch.setattr(run, "provenance", lambda *_: later)
    train(name, tmp_path / "run")
    commit = f"{begun['commit']}, then abc"
    assert json.loads((tmp_path / "run" / "config.json").read_text())["about"] == {**begun, "commit": commit}
    assert f"| commit | `{commit}` |" in (tmp_path / "run" / "card.md").read_text()
    monkeypatch.setattr(run, "provenance", lambda *_: {**later, "commit": "abd"})
    train(name, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "config.json").read_text())["about"]["commit"] == commit, "nothing was left to train"


def test_a_run_can_not_be_made_shorter(finished: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy_of(finished("ppo"), tmp_path)
    with pytest.raises(SystemExit):
        ppo.main(["--resume", str(folder), "--total-timesteps", "1000"])
    assert "is 1500, and can only be raised, not set to 1000" in capsys.readouterr().err


def test_a_folder_has_one_owner(name: str, finished: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy_of(finished(name), tmp_path)
    with owned(folder, "run"), pytest.raises(InUseError, match="is in use by process"):
        train(name, folder)
    with owned(tmp_path / "new", "run"), pytest.raises(SystemExit):
        RECIPES[name].main(["--output", str(tmp_path / "new")])
    assert "is in use by process" in capsys.readouterr().err
    with owned(folder, "run"), pytest.raises(SystemExit):
        RECIPES[name].main(["--resume", str(folder)])
    assert "is in use by process" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_options_of_another_run_are_refused(name: str, finished: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy_of(finished(name), tmp_path)
    with pytest.raises(ValueError, match="holds a run with other options"):
        train(name, folder, seed=5)
    with pytest.raises(SystemExit):
        RECIPES[name].main(["--output", str(folder)])
    assert "already holds a run; go on with --resume" in capsys.readouterr().err
    other = selfplay if name == "ppo" else ppo
    with pytest.raises(SystemExit):
        other.main(["--resume", str(folder)])
    assert f"is a run of {RECIPES[name].RECIPE.name}, not of train." in capsys.readouterr().err


def test_a_game_that_the_recipe_does_not_know_is_trained_by_its_name(tmp_path: Path) -> None:
    """Goofspiel of the tests: options, opponents and rewards come from its `GameSpec`."""
    import tests.third_game  # noqa: F401 - registers it

    command = "--variant goofspiel-2p-3c --total-timesteps 3000 --n-envs 64 --n-steps 12 --batch-size 256 --eval-starts 12 --quiet"
    selfplay.main([*command.split(), "--output", str(tmp_path / "run")])
    assert load_agent(tmp_path / "run").variant.name == "goofspiel-2p-3c"  # type: ignore[attr-defined]
    saved = json.loads((tmp_path / "run" / "config.json").read_text())["config"]
    assert saved["bots"] == saved["eval_opponents"]
    assert all(bot.startswith("goofspiel-") for bot in saved["bots"])


# --- records -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        ("", []),
        ("timest", []),
        ("timesteps,win\n", []),
        ("timesteps,win\n100,0.5\n200,0.2", ["100,0.5"]),
        ("timesteps,win\n100,0.5\n4554,0.25\n1", ["100,0.5", "4554,0.25"]),
        ("timesteps,win\n100,0.5\n4554\n", ["100,0.5"]),
        ("timesteps,win\n100,0.5\n5000,0.75\n", ["100,0.5"]),
    ],
)
def test_a_torn_record_is_repaired(left: str, kept: list[str], tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(left)
    record = CsvRecord(path, 4554)
    assert [",".join(row.values()) for row in record.rows] == kept
    record.append([{"timesteps": 4700, "win": 0.75}])
    assert path.read_text().splitlines() == ["timesteps,win", *kept, "4700,0.75"]


def test_a_run_goes_on_with_a_torn_record(name: str, finished: Any, tmp_path: Path) -> None:
    folder = copy_of(finished(name), tmp_path)
    for file in ("metrics.csv", "evaluation.csv"):
        with (folder / file).open("a") as torn:
            torn.write("1")
    (folder / "card.md").unlink()
    assert_the_same_run(train(name, folder), finished(name))


# --- files from others -------------------------------------------------------------------------------------------------------


def test_no_module_that_a_run_names_is_imported_unless_allowed(
    finished: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "payload_of_a_test.py").write_text("from getbit_env.get_bit.bots import Random as Agent\n")
    monkeypatch.syspath_prepend(tmp_path)
    folder = copy_of(finished("selfplay"), tmp_path)
    for option in ("eval_opponents", "bots"):
        for agent in ("payload_of_a_test:Agent", "recall:payload_of_a_test:Agent"):
            change_config(folder, eval_opponents=["random"], bots=["random"])
            change_config(folder, **{option: [agent]})
            with pytest.raises(SystemExit):
                selfplay.main(["--resume", str(folder)])
            assert f"names the agent '{agent}', whose module would be run" in " ".join(capsys.readouterr().err.split())
            assert "payload_of_a_test" not in sys.modules
    change_config(folder, eval_opponents=["random", "payload_of_a_test:Agent"], bots=["random"])
    selfplay.main(["--resume", str(folder), "--allow-modules", "--quiet"])
    assert "payload_of_a_test" in sys.modules


@pytest.mark.parametrize(
    "wrong", [None, True, -1, 1.5, float("nan"), 10**400, "x", [], [1], ["x"], [[]], {}, [None]], ids=lambda wrong: repr(wrong)[:9]
)
def test_every_option_of_a_file_is_checked(name: str, wrong: Any, finished: Any, tmp_path: Path) -> None:
    """A wrong value is a ValueError that names the option, or was no wrong value."""
    recipe: Recipe = RECIPES[name].RECIPE
    good = json.loads((finished(name) / "config.json").read_text())
    for option, value in good["config"].items():
        (tmp_path / "config.json").write_text(json.dumps({**good, "config": {**good["config"], option: wrong}}))
        try:
            read_config(recipe, tmp_path)
        except ValueError as error:
            message = str(error)
        else:
            fits = type(wrong) is type(value) or (isinstance(value, float) and isinstance(wrong, int))
            assert fits or (wrong is None and option in ("reward", "bots", "eval_opponents")), option
            continue
        assert option == "variant" or option.replace("_", "-") in message.replace("_", "-"), message


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"recipe": 1}', "[" * 100_000, '{"recipe": "train.ppo", "run": "", "config": {}}']
)
def test_a_file_that_is_no_configuration_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config\.json is"):
        read_config(ppo.RECIPE, tmp_path)


def test_unknown_and_missing_options_are_refused(name: str, finished: Any, tmp_path: Path) -> None:
    recipe = RECIPES[name].RECIPE
    folder = copy_of(finished(name), tmp_path)
    change_config(folder, flavour="salt")
    with pytest.raises(ValueError, match="there is no option 'flavour'"):
        read_config(recipe, folder)
    saved = json.loads((finished(name) / "config.json").read_text())
    del saved["config"]["seed"]
    (folder / "config.json").write_text(json.dumps(saved))
    with pytest.raises(ValueError, match="it has no option 'seed'"):
        read_config(recipe, folder)


def test_a_damaged_checkpoint_is_named(name: str, finished: Any, tmp_path: Path) -> None:
    """Whichever byte is changed."""
    folder = copy_of(finished(name), tmp_path)
    newest = max((folder / "checkpoints").iterdir())
    good = newest.read_bytes()
    for at in np.random.default_rng(0).integers(len(good), size=12).tolist() + [0, 9]:
        newest.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        with pytest.raises(DamagedError, match="is damaged; delete it to go on from the one before"):
            train(name, folder)
    newest.unlink()
    assert_the_same_run(train(name, folder), finished(name))


def test_a_checkpoint_without_a_state_is_damaged(finished: Any, tmp_path: Path) -> None:
    folder = copy_of(finished("ppo"), tmp_path)
    newest = max((folder / "checkpoints").iterdir())
    for state in ("{}", "null", "[]", "{"):
        save_file(load_file(newest), newest, {"state": state})
        with pytest.raises(DamagedError, match="is damaged"):
            train("ppo", folder)


def test_a_checkpoint_of_another_run_is_refused(name: str, finished: Any, tmp_path: Path) -> None:
    other = train(name, tmp_path / "other", seed=3)
    shutil.rmtree(other / "checkpoints")
    shutil.copytree(finished(name) / "checkpoints", other / "checkpoints")
    with pytest.raises(DamagedError, match="is of another run"):
        train(name, other, seed=3)


# --- what can go wrong -------------------------------------------------------------------------------------------------------


def test_a_run_that_diverges_stops_and_keeps_the_last_good_checkpoint(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = RECIPES[name].RECIPE.make
    go_on, rollouts = algorithm.train_rollout, 0

    def spoil(self: Any) -> dict[str, float]:
        nonlocal rollouts
        rollouts += 1
        if rollouts == 4:
            self.optimizer.param_groups[0]["lr"] = float("nan")
            for parameter in self.module.parameters():
                parameter.data *= float("inf")
        figures: dict[str, float] = go_on(self)
        return figures

    monkeypatch.setattr(algorithm, "train_rollout", spoil)
    with pytest.raises(
        DivergedError, match=r"weights became NaN, infinite or larger than 1e\+30 in the update after \d+ decisions; the checkpoint"
    ):
        train(name, tmp_path / "run")
    for file in (POLICY_FILE, "last.safetensors", "checkpoints/000001.safetensors"):
        if (tmp_path / "run" / file).exists():
            assert all(np.isfinite(array).all() for array in load_file(tmp_path / "run" / file).values())
    assert (tmp_path / "run" / "checkpoints" / "000001.safetensors").exists()
    assert not (tmp_path / "run" / "card.md").exists()


def test_an_absurd_learning_rate_is_noticed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--learning-rate", "1e30", "--learning-rate-end", "1e30", "--variant", "3p-1r-4c-1l", "--total-timesteps", "6000"]
    arguments += ["--n-envs", "16", "--n-steps", "8", "--batch-size", "64", "--eval-starts", "24", "--quiet"]
    with pytest.raises(SystemExit) as stopped:
        RECIPES[name].main([*arguments, "--output", str(tmp_path / "run")])
    assert stopped.value.code == 1
    assert "training diverged" in capsys.readouterr().err


@pytest.mark.parametrize("called", ["random", "learner", "cost $1 or $2|`x` *y*"])
def test_a_folder_may_be_called_anything(name: str, called: str, tmp_path: Path) -> None:
    folder = train(name, tmp_path / called)
    assert (folder / "card.md").read_text().splitlines()[0] == f"# {for_markdown(called)}"
    assert (folder / "learning.png").stat().st_size > 1000


def test_text_from_outside_is_shown_letter_by_letter() -> None:
    assert for_markdown("a|b *c*\n# `d`") == r"a\|b \*c\* \# \`d\`"
    assert for_markdown_code("a|b") == r"`a\|b`"
    assert for_markdown_code("a `b` c") == "`` a `b` c ``"


def test_training_touches_neither_signals_nor_the_picture_backend(name: str, tmp_path: Path) -> None:
    """In a thread, where Python allows no signal to be set, and beside a caller who draws with another backend."""
    matplotlib.use("svg")
    handler, failed = signal.getsignal(signal.SIGINT), list[BaseException]()

    def work() -> None:
        try:
            train(name, tmp_path / "run")
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failed
    assert matplotlib.get_backend() == "svg"
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_opponent_that_fails_is_no_win(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent_that_fails.py").write_text(
        "class Agent:\n"
        "    def reset(self, layout, begins, seed): pass\n"
        "    def act(self, observation, action_mask): raise OSError('gone')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match=r"no evaluation against agent_that_fails:Agent: .*gone"):
        train(name, tmp_path / "run", eval_opponents=["agent_that_fails:Agent"])
    assert not (tmp_path / "run" / POLICY_FILE).exists()


def test_ctrl_c_twice_at_once_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "train.selfplay", "--output", str(folder), "--n-envs", "32", "--n-steps", "16"]
    command += ["--batch-size", "256", "--eval-starts", "24", "--save-freq", "2", "--quiet"]
    command += ["--variant", "3p-1r-4c-1l", "--eval-opponents", "random", "--bots", "random"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (folder / "last.safetensors").exists():
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert f"go on from the last checkpoint with: python -m train.selfplay --resume {folder}" in said
    with owned(folder, "run"):
        pass  # nobody owns it any more


def test_what_a_run_needs_is_missed_before_it_begins(name: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "found = util.find_spec\n"
        "util.find_spec = lambda package, *more: None if package == 'matplotlib' else found(package, *more)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", RECIPES[name].RECIPE.name, "--output", str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == 'python -m train: error: this needs matplotlib: pip install "getbit-env[commands]"\n'
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("called", ["file", "file/run", "x" * 300])
def test_an_output_that_can_not_be_made_is_one_line(
    name: str, called: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any training."""
    monkeypatch.setattr(RECIPES[name].RECIPE.make, "train_rollout", None)
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as stopped:
        RECIPES[name].main(["--output", str(tmp_path / called), "--quiet"])
    assert stopped.value.code == 1
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert said.startswith(f"python -m {RECIPES[name].RECIPE.name}: error: [Errno")
    assert called.partition("/")[0] in said, "the path that is in the way"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fames", "3"], "unrecognized arguments: --fames 3"),
        (["--players", "9"], "players is 2 to 7"),
        (["--variant", "9p"], "players is 2 to 7"),
        (["--n-envs", "0"], "--n-envs is at least 1, not 0"),
        (["--seed", "-1"], "--seed is at least 0, not -1"),
        (["--learning-rate", "nan"], "--learning-rate is a finite number, not nan"),
        (["--eval-opponents", "nobody"], "--eval-opponents: no agent 'nobody'"),
        (["--eval-opponents"], "--eval-opponents names at least one agent"),
        (["--eval-starts", "3"], "--eval-starts is at least 4, not 3"),
        (["--observe", "histroy"], "has no option 'histroy'; did you mean 'history'?"),
        (["--resume", "nowhere"], "nowhere holds no run"),
        (["--resume", os.devnull], "/dev/null holds no run"),
        (
            ["--resume", "nowhere", "--seed", "1"],
            "--resume takes every option but --total-timesteps from the run",
        ),
        (["--resume", "nowhere", "--players", "3"], "leave out --players"),
    ],
)
def test_nonsense_is_refused(
    name: str,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        RECIPES[name].main(arguments)
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
