"""The pages: their code runs, also outside of a checkout; the site builds strictly, offline, with every page in its navigation."""

from __future__ import annotations

import argparse
import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from getbit_env.commands import COMMANDS, is_there, load
from getbit_env.commands.training import RECIPES
from tests import pages, release, verify_types

ROOT = Path(__file__).parent.parent
EXAMPLES = {path for path in (ROOT / "getbit_env").rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")}
needs_mkdocs = pytest.mark.skipif(find_spec("mkdocs") is None or find_spec("mkdocstrings") is None, reason="MkDocs is not there")

pytestmark = pytest.mark.usefixtures("one_torch_thread")


# --- code --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(EXAMPLES), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_of_docstrings_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path / "cache"))
    try:
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    except ModuleNotFoundError as error:
        if error.name not in ("ray", "pyspiel"):  # extras that the tests of every day do without
            raise
        pytest.skip(f"{error.name} is not installed")
    found = doctest.DocTestFinder(exclude_empty=True).find(module)
    runner = doctest.DocTestRunner()
    said: list[str] = []
    for example in found:
        runner.run(example, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    assert runner.tries > 0


def test_what_the_reference_promises_has_examples() -> None:
    for module, names in {
        "getbit_env": {"Agent", "as_agent", "load_agent", "parallel_env"},
        "getbit_env.exact": {"GameGraph", "Positions", "evaluate", "exploitability", "exploiting_line", "gain_of", "solved"},
        "getbit_env.sb3": {
            "BenchmarkScore",
            "Evaluation",
            "ExactGain",
            "MaskableRecurrentPPO",
            "OpponentPool",
            "WinRate",
            "network_of",
        },
    }.items():
        for name in names:
            assert ">>> " in (getattr(importlib.import_module(module), name).__doc__ or ""), f"{module}.{name}"


def test_blocks_for_a_checkout_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may name the tests. The solution that one asks for is the one of a smaller game here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path / "cache"))
    found = pages.all_blocks(checkout=True)
    assert {"docs/exact.md", "docs/third_game.md"} <= found.keys()
    from getbit_env import parse_variant
    from getbit_env.exact import solved

    solved(parse_variant("4p-3c-1l"))
    for page, blocks in found.items():
        assert any(pages.needs_checkout(block) for block in blocks)
        pages.run(page, [block.replace('parse_variant("4p")', 'parse_variant("4p-3c-1l")') for block in blocks])


def test_the_runner_of_pages_finds_what_is_wrong() -> None:
    pages.run("page", ["a = 1", "assert a == 1", 'int("x")  # ValueError: invalid literal'])
    for wrong, said in {
        "assert a": "name 'a'",
        "int('1')  # ValueError: no": "raises no error",
        "int('x')  # ValueError: no": "invalid literal",
    }.items():
        with pytest.raises((AssertionError, NameError), match=said):
            pages.run("page", [wrong])
    assert pages.needs_checkout("import tests.third_game  # runs in a checkout")
    assert not pages.needs_checkout("checkout = 'in a checkout'")


def commands_of(page: Path) -> Iterator[list[str]]:
    """The command lines of a page, as words."""
    for block in pages.blocks_of(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            yield shlex.split(line, comments=True)


def parser(module: str, name: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = load(module).make_parser(name)
    return made


def test_command_lines_of_pages_are_ones_that_there_are() -> None:
    """`getbit` takes the arguments, `python -m` has the module, `make` the target. A line with `[...]` or `NAME...` is no call."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    seen = 0
    for page in pages.pages():
        for words in commands_of(page):
            match words:
                case ["getbit", "train", recipe, *arguments] if recipe in RECIPES:
                    if recipe != "rllib_selfplay" or is_there("ray"):
                        parser(f"train.{recipe}", f"getbit train {recipe}").parse_args(arguments)
                        seen += 1
                case ["getbit", name, *arguments] if name in COMMANDS:
                    if is_there(COMMANDS[name].module) and not any(re.search(r"[\[\]|]|\.\.\.|[*]", word) for word in arguments):
                        parser(COMMANDS[name].module, f"getbit {name}").parse_args(arguments)
                        seen += 1
                case ["getbit", *options]:
                    assert options == ["--help"], f"{page.name}: {words}"
                case ["python", "-m", module, *_]:
                    assert find_spec(module), f"{page.name}: {words}"
                case ["make", target]:
                    assert target in targets, f"{page.name}: {words}"
    assert seen > 40


# --- the site ----------------------------------------------------------------------------------------------------------------


class Loads(HTMLParser):
    """What a page makes a browser fetch, and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if "src" in given:
            self.fetched.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(given["href"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@needs_mkdocs
def test_the_site_builds_strictly_and_fetches_nothing_from_the_net(site: Path) -> None:
    read = {path: Loads(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(read) > 60
    for path, page in read.items():
        assert [one for one in page.fetched if re.match(r"\w+:|//", one)] == [], path
        assert "fonts.googleapis" not in path.read_text(encoding="utf-8")
        if path.name == "404.html":
            continue
        for link in page.links:
            to, _, anchor = link.partition("#")
            if not re.match(r"\w+:|//", link):
                target = (path.parent / to).resolve() if to else path
                target = target / "index.html" if target.is_dir() else target
                assert target.exists(), f"{path.name} leads to {link}"
                assert not anchor or target not in read or anchor in read[target].anchors, f"{path.name} leads to {link}"
    assert "mermaid" not in "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/**/*.md")), (
        "needs a script of the net"
    )
    assert not list(site.rglob("*.py"))
    assert not list(site.rglob("*.ipynb"))


@needs_mkdocs
def test_the_reference_has_every_public_name(site: Path) -> None:
    anchors = set().union(*(Loads(path.read_text(encoding="utf-8")).anchors for path in (site / "api").glob("*.html")))
    for module in (
        "",
        ".exact",
        ".match",
        ".benchmark",
        ".sb3",
        ".single_agent",
        ".get_bit",
        ".sharks_are_wild",
        ".viewer",
        ".report",
    ):
        package = importlib.import_module(f"getbit_env{module}")
        for name in package.__all__:
            value = getattr(package, name)
            if callable(value) and not isinstance(value, type(int | str)):
                named = {f"getbit_env{module}.{name}", f"{value.__module__}.{name}"}
                assert named & anchors or any(one.endswith(f".{name}") for one in anchors), f"{package.__name__}.{name}"


def test_every_page_is_in_the_navigation() -> None:
    import yaml

    class Loader(yaml.SafeLoader):
        """Takes the tags of MkDocs for their values."""

    Loader.add_multi_constructor("", lambda loader, _, node: loader.construct_sequence(node) if node.id == "sequence" else None)
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)

    def listed(entries: list[object]) -> Iterator[str]:
        for entry in entries:
            for one in entry.values() if isinstance(entry, dict) else [entry]:
                if isinstance(one, list):
                    yield from listed(one)
                else:
                    yield str(one)

    names = list(listed(config["nav"]))
    assert len(names) == len(set(names))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")} <= set(names)


# --- the release -------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("build") is None or find_spec("twine") is None, reason="build and twine are not there")
def test_two_builds_are_equal_and_pass_all_checks(tmp_path: Path) -> None:
    files = release.release(tmp_path, release.EPOCH)
    assert [path.suffix for path in files] == [".whl", ".gz"]


def test_the_version_is_the_same_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert release.version_faults() == []
    cited = re.search(r'^date-released: "(.+)"$', (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    heading = re.search(r"^## \S+ \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited
    assert heading
    assert cited[1] == heading[1]
    for name in ("getbit_env/version.py", "CITATION.cff", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "CITATION.cff").write_text("version: 9.9.9\n")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    assert release.version_faults() == ["CITATION.cff is of 9.9.9"]


@pytest.mark.skipif(find_spec("pyright") is None, reason="Pyright is not there")
def test_every_public_name_has_a_known_type() -> None:
    found = verify_types.report()
    faults = verify_types.faults(found)
    assert [fault for fault in faults if not verify_types.excused(fault)] == []
    assert faults or found["typeCompleteness"]["completenessScore"] == 1


def test_only_the_bases_of_an_extra_that_is_not_installed_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    base, taken = "Type of base class unknown", 'Type of parameter "state" is partially unknown\n  Parameter type is "GetBitState"'
    attribute = 'Type is missing type annotation and could be inferred differently by type checkers\n  Inferred type is "Layout"'
    unknown = 'Return type is partially unknown\n  Return type is "dict[str, Unknown]"'
    monkeypatch.setattr(verify_types, "find_spec", lambda name: None if name == "pyspiel" else name)
    assert verify_types.excused(f"getbit_env.openspiel.game.GetBitGame: {base}")
    assert verify_types.excused(f"getbit_env.openspiel.game.GetBitObserver.set_from: {taken}")
    assert not verify_types.excused(f"getbit_env.openspiel.game.GetBitGame.layout: {attribute}")
    assert not verify_types.excused(f"getbit_env.openspiel.game.tables: {unknown}")
    assert not verify_types.excused(f"getbit_env.rllib.RLlibGameEnv: {base}"), "Ray is installed"
    assert not verify_types.excused(f"getbit_env.exact.Solver: {base}")


def test_the_workflow_runs_what_ci_runs() -> None:
    import yaml

    folder = ROOT / ".github" / "workflows"
    jobs = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"] for path in folder.glob("*.yml")}
    assert [step["run"] for step in jobs["ci"]["test"]["steps"] if "run" in step] == ["bash .ci/run"]
    assert jobs["release"]["test"]["uses"] == "./.github/workflows/ci.yml"
    assert jobs["release"]["publish"]["permissions"] == {"id-token": "write"}
    assert "make docs" in [step.get("run") for step in jobs["docs"]["build"]["steps"]]
    supported = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert jobs["ci"]["test"]["strategy"]["matrix"]["python"] == supported
