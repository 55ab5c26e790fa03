"""`best-response:NAME`: computed, kept, and computed anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from getbit_env import best_responses, load_agent, parse_variant
from getbit_env.agent_registry import SHIPPED, check_agents, content_digest
from getbit_env.best_responses import best_response_to, response_path
from getbit_env.exact import Positions, exploitability
from getbit_env.exact.best_response import as_face_up
from getbit_env.get_bit.bots import Highest
from getbit_env.match import play_match

SMALL = "3p-1r-3c-2l"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def computed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the agents against which something was computed."""
    names: list[str] = []

    def counted(agent: object, positions: Positions, **options: object) -> object:
        names.append(str(options["name"]))
        return exploitability(agent, positions, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(best_responses, "exploitability", counted)
    assert folder.exists()
    return names


@pytest.mark.parametrize("name", ["counter", "lowest", "level1"])
def test_it_wins_what_a_best_response_wins(name: str, computed: list[str]) -> None:
    variant = parse_variant(SMALL)
    wanted = exploitability(load_agent(name), Positions(variant))
    response = f"best-response:{name}"
    match = play_match([response, name, name], SMALL, starts=6000)
    win = match[response].win
    assert win.mean == pytest.approx(wanted.best.mean(), abs=1e-9 if win.low is None else 0.03)
    assert wanted.best.mean() > 0.4
    assert computed == [name], "it is computed once"


def test_it_is_kept_and_read_again(folder: Path, computed: list[str]) -> None:
    for _ in range(2):
        check_agents({"one": load_agent("best-response:counter")}, parse_variant(SMALL))
    best_responses._kept.cache_clear()
    check_agents({"one": load_agent("best-response:counter")}, parse_variant(SMALL))
    assert computed == ["counter"]
    path = response_path("counter", parse_variant(SMALL))
    assert path.parent == folder
    path.write_bytes(b"damaged")
    check_agents({"one": load_agent("best-response:counter")}, parse_variant(SMALL))
    assert computed == ["counter", "counter"]


def test_it_is_another_one_when_the_weights_change(folder: Path) -> None:
    variant, run = parse_variant("4p"), folder / "run"
    shutil.copytree(SHIPPED / "four_players", run)
    before = response_path(str(run), variant)
    assert before != response_path("four_players", variant)  # it says against whom
    shutil.copy(SHIPPED / "four_players_ppo" / "policy.safetensors", run)
    assert response_path(str(run), variant) != before
    assert content_digest("best-response:four_players", variant) == content_digest("four_players", variant)


def test_code_is_asked_every_time(folder: Path, computed: list[str]) -> None:
    name = f"{__name__}:Highest"
    for _ in range(2):
        best_response_to(Highest(), name, parse_variant(SMALL))
    assert computed == [name, name]
    assert not list(folder.glob("*.npz"))


def test_a_best_response_has_one_itself(computed: list[str]) -> None:
    variant = parse_variant(SMALL)
    agent = load_agent("best-response:best-response:highest")
    check_agents({"one": agent}, variant)
    assert computed == ["highest", "best-response:highest"]
    assert agent.name == "best-response:best-response:highest"
    gain = exploitability(load_agent("best-response:highest"), Positions(variant)).gain
    assert gain > 0.1


def test_with_perfect_recall_it_plays_memory_games(computed: list[str]) -> None:
    memory = parse_variant(f"{SMALL}-memory")
    agent = load_agent("recall:best-response:counter")
    check_agents({"one": agent}, memory)
    judged, face_up = as_face_up(agent, memory)
    assert face_up == parse_variant(SMALL)
    assert judged.against_name == "counter"
    with pytest.raises(ValueError, match="reads the default observation of a face-up game"):
        check_agents({"one": load_agent("best-response:counter")}, memory)
    assert computed == ["counter"]


@pytest.mark.parametrize(
    ("name", "variant", "message"),
    [
        ("best-response:montecarlo", SMALL, "montecarlo has no `probabilities`"),
        ("best-response:adaptive", SMALL, "adaptive"),
        ("best-response:four_players", "2p", "four_players"),
        ("best-response:counter", "7p", "7p"),
        ("best-response:counter", "sharks-2p-level1", "Get Bit!"),
    ],
)
@pytest.mark.usefixtures("computed")
def test_what_can_have_none_is_told_why(name: str, variant: str, message: str) -> None:
    from getbit_env.game_registry import find_variant

    with pytest.raises(ValueError, match=message):
        check_agents({name: load_agent(name)}, find_variant(variant))


def test_an_unknown_agent_has_none() -> None:
    with pytest.raises(ValueError, match="no agent 'contur'"):
        load_agent("best-response:contur")
    with pytest.raises(ValueError, match="and recall:, best-response: before one of these"):
        load_agent("besst-response")


def test_it_plays_the_best_action_where_it_is_asked(computed: list[str]) -> None:
    """Against three that play the highest: its answer is that of `exploitability`, position by position."""
    variant = parse_variant(SMALL)
    result = exploitability(load_agent("highest"), Positions(variant))
    response = best_response_to(load_agent("highest"), "highest", variant)
    np.testing.assert_array_equal(response.answer, result.answer)
    assert computed == ["highest"]
