"""The command `getbit`: what it finds, what its examples say, and what it refuses."""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from getbit_env.command_line import command_parser
from getbit_env.commands import COMMANDS, is_there, load, main, training
from getbit_env.core.files import write_text

THERE = {name: command for name, command in COMMANDS.items() if is_there(command.module)}
ROOT = Path(__file__).parent.parent
RUN = [sys.executable, "-c", "import sys; from getbit_env.commands.main import main; sys.exit(main(sys.argv[1:]))"]


def parser_of(name: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = load(COMMANDS[name].module).make_parser(f"getbit {name}")
    return made


def getbit(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a new process."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([*RUN, *arguments], cwd=cwd, env=variables, capture_output=True, text=True, check=False)


# --- the list ----------------------------------------------------------------------------------------------------------------


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["-h"], ["--help"]):
        assert main.main(arguments) == 0
        shown = capsys.readouterr().out
        assert {"play", "tournament", "train", "warm-up"} <= THERE.keys()
        for name, command in THERE.items():
            assert re.search(rf"^  {name} +{re.escape(command.does)}$", shown, re.MULTILINE)


def test_the_list_and_small_commands_import_nothing_heavy() -> None:
    code = (
        "import sys; from getbit_env.commands.main import main\n"
        "for arguments in (['--help'], ['variants'], ['agents'], ['solve', '--help']):\n"
        "    try: main(arguments)\n"
        "    except SystemExit: pass\n"
        "heavy = {'torch', 'matplotlib', 'pygame', 'stable_baselines3', 'tqdm', 'starlette'}\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules} & heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["tornament", "--help"]) == 2
    assert capsys.readouterr().err == "getbit: error: no command 'tornament'; did you mean 'tournament'?\n"
    assert main.main(["xyzzy"]) == 2
    assert "getbit --help lists the commands" in capsys.readouterr().err


def test_what_a_command_imports_is_missed_all_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    there = main.need.__globals__["importlib"].util.find_spec
    gone = ("torch", "matplotlib", "tqdm")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in gone else there(name))
    assert main.main(["train", "--players", "4"]) == 1
    assert capsys.readouterr().err == (
        'getbit train: error: this needs torch, tqdm, matplotlib: pip install "getbit-env[sb3,commands]"\n'
    )


@pytest.mark.parametrize(
    ("recipe", "missing"),
    [
        ("selfplay", 'this needs stable_baselines3, sb3_contrib: pip install "getbit-env[sb3]"'),
        ("rllib_selfplay", 'this needs ray: pip install "getbit-env[ray]"'),
        ("ppo", None),
        ("exact.cfr_plus", None),
    ],
)
def test_a_recipe_needs_what_it_imports_alone(recipe: str, missing: str | None, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.abc, importlib.util as util, sys\n"
        "gone = {'stable_baselines3', 'sb3_contrib', 'ray'}\n"
        "found = util.find_spec\n"
        "util.find_spec = lambda package, *more: None if package in gone else found(package, *more)\n"
        "class Gone(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in gone:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Gone())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for called, prog in ([f"train.{recipe}"], "python -m train"), (["getbit_env", "train", recipe], "getbit train"):
        command = [sys.executable, "-m", *called, "--help"]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == (0 if missing is None else 1)
        assert done.stderr == ("" if missing is None else f"{prog}: error: {missing}\n")


def test_a_package_that_is_missed_later_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: str) -> None:
        raise ModuleNotFoundError("No module named 'matplotlib.figure'", name="matplotlib.figure")

    monkeypatch.setattr(main, "load", fail)
    assert main.main(["variants"]) == 1
    assert capsys.readouterr().err == 'getbit variants: error: this needs matplotlib: pip install "getbit-env[commands]"\n'


def test_another_package_of_a_folder_s_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "eval.py").write_text("print('mine')")
    done = getbit("solve", "--help", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}", cwd=tmp_path)
    assert done.returncode == 1
    assert "'eval' is not a package" in done.stderr or "comes before" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_read_no_further_is_no_traceback() -> None:
    done = subprocess.run(
        f"{shlex.join([*RUN, 'variants'])} | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""


def test_agents_of_the_working_folder_are_found_and_shadow_nothing(tmp_path: Path) -> None:
    write_text(
        tmp_path / "mine.py",
        "class Agent:\n"
        "    def reset(self, layout, begins, seed): pass\n"
        "    def act(self, observation, action_mask): return action_mask.argmax(1)\n",
    )
    write_text(tmp_path / "numpy.py", "raise SystemExit('shadowed')")
    arguments = ["mine:Agent", "highest", "--players", "2", "--starts", "24", "--output", "out"]
    script = tmp_path / "bin" / "getbit"  # as an installed script is: its folder is on the path, and the working folder is not
    write_text(script, "import sys\nfrom getbit_env.commands.main import main\nsys.exit(main())\n")
    done = subprocess.run(
        [sys.executable, str(script), "tournament", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "mine:Agent" in done.stdout


# --- help --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THERE)
def test_examples_of_the_help_are_understood(name: str) -> None:
    parser = parser_of(name)
    shown = parser.format_help()
    examples = re.findall(rf"^  getbit {name}(?: (.*))?$", shown[shown.index("examples:") :], re.MULTILINE)
    assert len(examples) >= 1
    for example in examples:
        parser.parse_args(shlex.split(example))
    assert len(re.findall(r"^  # \w", shown, re.MULTILINE)) == len(examples)


@pytest.mark.parametrize("recipe", training.RECIPES)
def test_recipes_are_named_or_left_out(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    if recipe == "rllib_selfplay":
        pytest.importorskip("ray")
    with pytest.raises(SystemExit):
        main.main(["train", recipe, "--help"])
    assert f"usage: getbit train {recipe} " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main.main(["train", "--help"])
    shown = capsys.readouterr().out
    assert "usage: getbit train " in shown
    assert f"getbit train {recipe} " in shown
    with pytest.raises(SystemExit):
        main.main(["train", "--players", "9"])
    assert "getbit train: error: " in capsys.readouterr().err


def test_descriptions_are_filled_and_examples_stay() -> None:
    text = "Some words " * 20 + "\n\nlist:\n  a    b\n  c"
    shown = command_parser("getbit x", text, {"--y 1": "why"}).format_help()
    assert "list:\n  a    b\n  c\n" in shown
    assert "examples:\n  # why\n  getbit x --y 1\n" in shown
    assert max(map(len, shown.splitlines())) < 132


# --- one kind of parser ------------------------------------------------------------------------------------------------------


def lax_parsers(text: str) -> list[int]:
    """The lines of a source in which a parser that takes abbreviations is made."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    makes = (call for call in calls if ast.unparse(call.func).endswith("ArgumentParser"))
    return [
        call.lineno
        for call in makes
        if not any(word.arg == "allow_abbrev" and ast.unparse(word.value) == "False" for word in call.keywords)
    ]


def test_no_command_takes_abbreviations() -> None:
    for package in ("getbit_env", "agents", "train", "eval", "docs", "examples", "tests/attack"):
        for path in (ROOT / package).rglob("*.py"):
            assert lax_parsers(path.read_text(encoding="utf-8")) == [], path
    assert lax_parsers("import argparse\nargparse.ArgumentParser(prog='x')") == [2]


def test_an_abbreviation_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["tournament", "random", "lowest", "--star", "24"])
    assert "unrecognized arguments: --star 24" in capsys.readouterr().err


# --- bars --------------------------------------------------------------------------------------------------------------------


def bars_in_files(text: str) -> list[int]:
    """The lines of a source in which a bar is made that shows where standard error is a file."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and ast.unparse(node.func) == "tqdm"]
    never = [call.lineno for call in calls if not any(word.arg == "disable" for word in call.keywords)]
    return [line for line in never if "no_bar()" not in text]


def test_files_hold_no_bars() -> None:
    for package in ("getbit_env", "agents", "train", "eval"):
        for path in (ROOT / package).rglob("*.py"):
            assert bars_in_files(path.read_text(encoding="utf-8")) == [], path
    assert bars_in_files("from tqdm import tqdm\nfor _ in tqdm(range(3)): pass") == [2]


# --- lists -------------------------------------------------------------------------------------------------------------------


def test_variants_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["variants"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^2p +Get Bit! +2 +25 +41$", shown, re.MULTILINE)
    assert "sharks-4p-level2" in shown
    assert main.main(["variants", "3p-1r-4c-1l"]) == 0
    assert re.search(r"^limbs +1$", capsys.readouterr().out, re.MULTILINE)
    assert main.main(["variants", "9p"]) == 2
    assert "players is 2 to 7" in capsys.readouterr().err


def test_agents_are_listed_by_what_they_can_play(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["agents"]) == 0
    every = capsys.readouterr().out
    for name in ("random", "equilibrium", "sharks-careful", "four_players"):
        assert re.search(rf"^{name} ", every, re.MULTILINE)
    assert main.main(["agents", "--variant", "5p"]) == 0
    some = capsys.readouterr().out
    assert "counter" in some
    assert "four_players" not in some
    assert "sharks-careful" not in some
    assert main.main(["agents", "--variant", "chess"]) == 2
    assert "--variant: no variant 'chess'" in capsys.readouterr().err


def test_every_command_has_its_section_in_the_docs() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in THERE:
        assert f"## getbit {name}" in page
        for example in re.findall(rf"^getbit {name}(?: (.*))?$", page, re.MULTILINE):
            parser_of(name).parse_args(shlex.split(example.partition("#")[0]))


def test_commands_have_one_name() -> None:
    modules = [command.module for command in THERE.values() if command.module.startswith("eval.") and "speed" not in command.module]
    other_name = re.compile(rf"python -m (?:{'|'.join(map(re.escape, [*modules, 'train.selfplay', 'train.ppo']))})\b")
    assert other_name.search("`python -m eval.solve --players 2`")
    pages = {*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "agents/README.md", *(ROOT / "getbit_env").rglob("*.py")}
    pages -= {ROOT / "docs/commands.md", ROOT / "docs/leaderboard.md"}  # the one says that there is another name, the other is made
    assert [page.name for page in pages if other_name.search(page.read_text(encoding="utf-8"))] == []


# --- warm-up -----------------------------------------------------------------------------------------------------------------

WITHOUT_FILES = """
import importlib, pkgutil, sys, getbit_env
for found in pkgutil.walk_packages(getbit_env.__path__, "getbit_env."):
    if not found.name.endswith("__main__"):
        try:
            importlib.import_module(found.name)
        except ImportError as error:  # of extras that the tests of every day don't have
            if (error.name or "").partition(".")[0] not in ("pyspiel", "open_spiel", "ray"):
                raise
import train.ppo
from getbit_env.core.compiled import cache_files, compiled_functions
for one in compiled_functions():
    if one.targetoptions.get("inline") != "always" and not cache_files([one]):  # a part has no code of its own
        print(one.py_func.__module__, one.py_func.__name__)
"""


def test_after_the_warm_up_everything_is_compiled_and_it_says_where() -> None:
    done = getbit("warm-up")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"^ready after \d+ s\n\d+ files, \d+\.\d MB, in \S+", done.stdout, re.MULTILINE)
    left = subprocess.run([sys.executable, "-c", WITHOUT_FILES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert left.returncode == 0, left.stderr
    only_measured = {"getbit_env.sharks_are_wild.bots.scripted choose_any", "getbit_env.get_bit.bots.playouts draw_playout_cards"}
    assert set(left.stdout.splitlines()) <= only_measured  # what only `eval.speed` calls
