"""Sessions with what the tests of every day leave out, such as `nox -s ray`. Each has an environment of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
HERE = Path(__file__).parent


def constraints_without(*packages: str) -> str:
    """The file of versions that this project is tested with, without some packages, which another package wants otherwise."""
    lines = (HERE / "constraints.txt").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.partition("==")[0] not in packages]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("\n".join(kept) + "\n")
    return file.name


@nox.session
def ray(session: nox.Session) -> None:
    """Ray and RLlib: parts on a cluster of several nodes, the adapter, the recipe. `ray[rllib]` 2.60 wants gymnasium 1.2.2."""
    session.install("--constraint", constraints_without("gymnasium"), "ray[rllib]==2.60.0", "gymnasium==1.2.2", ".[ray,sb3]")
    session.install("--constraint", constraints_without("gymnasium"), "pytest", "hypothesis")
    tests = ["tests/exact/test_ray.py", "tests/test_ray_units.py", "tests/test_rllib.py"]
    session.run("python", "-m", "pytest", *tests, *session.posargs)
