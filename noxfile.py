"""Sessions that keep `docs/frameworks.md` true: each framework, Ray, each Python, the oldest and the newest of every dependency.

    python -m pip install nox
    nox                        # every session; each takes minutes and makes an environment of its own
    nox -s tianshou

They are not part of CI, whose tests skip what is not installed.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TORCH = "torch==2.13.0"
# What each framework is tried with. The table of docs/frameworks.md names the same versions; a test compares them.
FRAMEWORKS: dict[str, list[str]] = {
    "openspiel": ["open_spiel==2.0.2"],
    "shimmy": ["open_spiel==2.0.2", "shimmy==2.0.1"],
    "supersuit": ["supersuit==3.11.0", "stable-baselines3==2.9.2", "sb3-contrib==2.9.2"],
    "tianshou": ["tianshou==2.0.1"],
    "torchrl": ["torchrl==0.14.1"],
    "benchmarl": ["benchmarl==1.5.2", "torchrl==0.11.1"],
    # It imports peft, which only its extras for language models install; the version is theirs.
    "agilerl": ["agilerl==2.58.0", "peft==0.21.0", "transformers==5.14.1", "pettingzoo==1.26.1"],
    "pufferlib": ["pufferlib-core==3.0.3"],
}
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
DEV = ["pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.120", "scipy>=1.14"]
TYPES = ["mypy>=1.15", "pyright>=1.1.400"]
OWN_TESTS = ["tests/get_bit", "tests/sharks_are_wild", "tests/core", "tests/test_fixed_population.py", "tests/test_single_agent.py"]
MORE_TESTS = ["tests/test_match.py", "tests/test_sb3.py", "tests/test_vector_envs.py", "tests/exact"]


def run_tests(session: nox.Session, *paths: str) -> None:
    """Run some tests; what is not installed is skipped, and the reasons are shown."""
    session.run("python", "-m", "pytest", "-rs", *paths, *session.posargs, env={"OMP_NUM_THREADS": "1"})


def install(session: nox.Session, *packages: str) -> None:
    """Install torch and the packages, and then this one, without its pins: frameworks have bounds of their own."""
    session.install(TORCH, *DEV, *packages)
    session.install("--editable", ".")


@nox.session
def openspiel(session: nox.Session) -> None:
    """The game of OpenSpiel, its algorithms, and its bots at our tables."""
    install(session, *FRAMEWORKS["openspiel"], *PROJECT["optional-dependencies"]["openspiel"], *TYPES)
    session.run("python", "-m", "tests.verify_types", "getbit_env.openspiel")
    run_tests(session, "tests/openspiel", "tests/exact/test_openspiel.py")


@nox.session
def shimmy(session: nox.Session) -> None:
    """Shimmy's environments of OpenSpiel games."""
    install(session, *FRAMEWORKS["shimmy"])
    run_tests(session, "tests/openspiel/test_shimmy.py")


def add_example(name: str) -> None:
    """Add the session of a framework, named as it is."""

    @nox.session(name=name)
    def example(session: nox.Session) -> None:
        """The example of a framework trains to the win share that the page states."""
        install(session, *FRAMEWORKS[name])
        contract = ["tests/test_ecosystem.py"] if name == "torchrl" else []
        run_tests(session, "tests/test_frameworks.py", *contract, "-k", name)


for framework in ("supersuit", "tianshou", "torchrl", "benchmarl", "agilerl", "pufferlib"):
    add_example(framework)


def constraints_without(*packages: str) -> str:
    """The file of versions that this project is tested with, without some packages, which another package wants otherwise."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.partition("==")[0] not in packages]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("\n".join(kept) + "\n")
    return file.name


@nox.session
def ray(session: nox.Session) -> None:
    """Ray and RLlib: parts on a cluster of several nodes, the adapter, the recipe. `ray[rllib]` 2.60 wants gymnasium 1.2.2."""
    pins = ["--constraint", constraints_without("gymnasium")]
    session.install(*pins, "ray[rllib]==2.60.0", "gymnasium==1.2.2", "pytest", "hypothesis", *TYPES, "--editable", ".[ray]")
    session.run("python", "-m", "tests.verify_types", "getbit_env.rllib")
    run_tests(session, "tests/exact/test_ray.py", "tests/test_rllib.py")
    session.install(*pins, "--editable", ".[ray,sb3]")  # one of the units is the training of a lower bound
    run_tests(session, "tests/test_ray_units.py")
    run_tests(session, "tests/test_commands.py", "-k", "rllib_selfplay")


@nox.session(python=PYTHONS)
def python(session: nox.Session) -> None:
    """The tests that the other sessions of dependencies run, matches, training and exact results, with the versions of CI."""
    session.install("--constraint", str(ROOT / "constraints.txt"), "--editable", ".[sb3,commands,render,ratings,web,dev]")
    run_tests(session, *OWN_TESTS, *MORE_TESTS)


@nox.session
def movies(session: nox.Session) -> None:
    """Films by Stable-Baselines3 and Gymnasium, and of replays. MoviePy wants an older Pillow than the versions of CI."""
    install(
        session, "moviepy==2.2.1", "stable-baselines3==2.9.2", "sb3-contrib==2.9.2", *PROJECT["optional-dependencies"]["movies"]
    )
    run_tests(session, "tests/test_sb3.py", "tests/test_vector_envs.py", "-k", "films")
    run_tests(session, "tests/test_replay_command.py")


@nox.session
def oldest(session: nox.Session) -> None:
    """The lower bound of every dependency, and of what draws."""
    drawing = PROJECT["optional-dependencies"]["render"]
    bounds = [re.sub(">=", "==", requirement) for requirement in (*PROJECT["dependencies"], *drawing)]
    session.install(*DEV, *bounds)
    session.install("--editable", ".", "--no-deps")
    run_tests(session, *OWN_TESTS)


@nox.session
def newest(session: nox.Session) -> None:
    """The newest of every dependency, pre-releases left out: what pip and uv install into an environment that is new."""
    session.install(*DEV, "--editable", ".[render]")
    run_tests(session, *OWN_TESTS)
