"""What notebooks show, what `repr` says, and the tutorial."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import getbit_env
from docs.notebook import TUTORIAL, executed
from getbit_env import sharks_are_wild
from getbit_env.benchmark.protocol import BUDGETS, HELD_OUT, Budget, protocol_digest
from getbit_env.game_registry import find_variant
from getbit_env.get_bit import ID, notation
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.rendering import scene_of_batch, scenes
from getbit_env.replays import load_replay
from getbit_env.sharks_are_wild import notation as sharks_notation

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"


def pictures(shown: str) -> list[str]:
    """The texts beside the pictures of what is shown; the pictures are well-formed SVG."""
    texts = []
    for picture in re.findall(r"<svg .*?</svg>", shown, re.DOTALL):
        drawn = ElementTree.fromstring(picture)
        assert len(drawn) > 50
        texts.append(drawn.findtext(f"{SVG}title"))
    return texts


# --- pictures ----------------------------------------------------------------------------------------------------------------


def test_environments_show_the_position() -> None:
    for env in (
        getbit_env.parallel_env(2),
        getbit_env.raw_env(4, memory=True),
        getbit_env.env(5),
        sharks_are_wild.raw_env(variant="sharks-2p-level2"),
        sharks_are_wild.env(variant="sharks-3p-level1"),
    ):
        assert env._repr_svg_() is None
        env.reset(seed=1)
        (text,) = pictures(env._repr_svg_())
        assert str(env.unwrapped.variant) in text


def test_positions_and_games_show_themselves() -> None:
    game = notation.parse_game((ROOT / "tests/get_bit/golden/4p.txt").read_text(encoding="utf-8"))
    shown = pictures(game._repr_html_())
    assert len(shown) == len(game.cards) + 1
    assert "player_" in shown[-1]
    assert pictures(next(scenes(game))._repr_svg_()) == shown[:1]
    engine = Engine(find_variant("3p"), 2, seed=1)
    engine.start()
    assert len(pictures(scene_of_batch(engine, 1)._repr_svg_())) == 1
    text = (ROOT / "tests/sharks_are_wild/golden/sharks-2p-level1.txt").read_text(encoding="utf-8")
    other = sharks_notation.parse_game(text)
    assert len(pictures(other._repr_html_())) == len(other.actions) + 1


@pytest.mark.parametrize("name", ["4p", "sharks-4p-level1-2coins"])
def test_a_replay_shows_every_position(name: str) -> None:
    replay = load_replay(ROOT / f"tests/golden_replays/{name}.replay.json")
    shown = replay._repr_html_()
    assert len(pictures(shown)) == len(replay.moves) + 1
    assert shown.startswith(f"<pre>{replay}</pre>")
    damaged = replace(replay, end=replace(replay.end, digest="0" * 16))
    assert "the replay says digest" in damaged._repr_html_()
    assert pictures(damaged._repr_html_()) == []


def test_pictures_for_notebooks_need_no_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = getbit_env.parallel_env(2)
    env.reset(seed=1)
    (text,) = pictures(env._repr_svg_())
    assert text.startswith("Get Bit! 2p, round 0")
    painted = getbit_env.parallel_env(2, render_mode="rgb_array")
    painted.reset(seed=1)
    with pytest.raises(ImportError, match="drawing needs pygame"):
        painted.render()


def test_a_layout_shows_its_table() -> None:
    layout = getbit_env.parallel_env(2).layout
    assert layout.table() in layout._repr_markdown_()


# --- repr --------------------------------------------------------------------------------------------------------------------


def test_a_repr_says_where_a_game_stands() -> None:
    env = getbit_env.parallel_env(4)
    assert repr(env) == "<GetBitParallelEnv 4p: before the first reset()>"
    seen, _ = env.reset(seed=1)
    assert repr(env) == "<GetBitParallelEnv 4p: 0 steps, player_0, player_1, player_2, player_3 play>"
    while env.agents:
        seen, *_ = env.step({agent: int(seen[agent]["action_mask"].argmax()) for agent in env.agents})
    assert re.fullmatch(r"<GetBitParallelEnv 4p: over after \d+ steps>", repr(env))
    turns = getbit_env.env(2)
    turns.reset(seed=1)
    assert repr(turns).endswith("player_0, player_1 play>, player_0 is next>")
    sharks = sharks_are_wild.env(variant="sharks-2p-level2")
    sharks.reset(seed=1)
    for _ in sharks.agent_iter():
        observation, _, over, cut, _ = sharks.last()
        if over or cut:
            break
        sharks.step(int(observation["action_mask"].argmax()))
    assert re.fullmatch(r"<SharksAreWildEnv sharks-2p-level2: over after \d+ steps>", repr(sharks))


@pytest.mark.parametrize(
    "name", ["2p", "4p-half-memory", "3p-literal", "3p-1r-4c-1l", "sharks-3p-level2", "sharks-2p-level1-3coins"]
)
def test_a_variant_says_what_makes_it(name: str) -> None:
    variant = find_variant(name)
    assert repr(variant) == f"parse_variant({name!r})"
    of_game = sharks_are_wild if name.startswith("sharks") else getbit_env
    assert eval(repr(variant), vars(of_game)) == variant


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("random", "Random()"),
        ("counter", "Counter()"),
        ("lookahead", "LookAhead(exact_up_to=5, samples=512)"),
        ("montecarlo", "MonteCarlo(playouts=200)"),
        ("recall:forgetful", "PerfectRecall(agent=Forgetful())"),
        ("sharks-montecarlo", "MonteCarlo(determinizations=48)"),
        ("equilibrium", "<Equilibrium, of whatever is solved>"),
        ("two_players", "NetworkAgent('two_players', 2p)"),
    ],
)
def test_an_agent_says_what_makes_it(name: str, said: str) -> None:
    assert repr(getbit_env.load_agent(name)) == said


def test_a_replay_says_what_was_played() -> None:
    replay = load_replay(ROOT / "tests/golden_replays/4p.replay.json")
    assert repr(replay) == "<Replay 4p: four_players against lookahead against random against counter, 12 rounds, lookahead won>"


def test_a_layout_says_its_fields() -> None:
    said = repr(getbit_env.parallel_env(2).layout)
    assert said == "<Layout of 2p: 41 entries, 4 x (owner 1, limbs 4, hand 5), first_round 1>"


# --- the tutorial ------------------------------------------------------------------------------------------------------------


def outputs_of(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its cells, on a small game, after little training, with a small budget."""
    monkeypatch.chdir(tmp_path)
    protocol_digest()  # before anything is changed
    monkeypatch.setitem(BUDGETS, "quick", Budget(8, 4, 1000, 0))
    monkeypatch.setitem(HELD_OUT, ID, ())
    smaller = {"500_000": "8_192", "Positions(env.variant)": 'Positions(getbit_env.parse_variant("2p-3c-1l"))'}
    notebook = json.loads(TUTORIAL.read_text(encoding="utf-8"))
    every = "".join("".join(cell["source"]) for cell in notebook["cells"])

    def smaller_of(source: str) -> str:
        for large, small in smaller.items():
            source = source.replace(large, small)
        return source.replace("exploitability(agent,", 'exploitability(getbit_env.load_agent("lowest"),').replace(
            "exploiting_line(result, agent)", 'exploiting_line(result, getbit_env.load_agent("lowest"))'
        )  # a network plays the game that it was trained on, and no smaller one

    assert all(every.count(large) == 1 for large in smaller)
    shown, kept = outputs_of(executed(notebook, smaller_of)), outputs_of(notebook)
    assert [[output["output_type"] for output in outputs] for outputs in shown] == [
        [output["output_type"] for output in outputs] for outputs in kept
    ]
    assert "wins" in "".join(shown[-4][0]["text"])
    assert "a best response gains" in "".join(shown[-3][0]["text"])
    assert len(pictures("".join(shown[-1][0]["data"]["text/html"]))) >= 3
    assert shown[0] == kept[0], "the picture of the first position is what is kept"
    assert shown[2] == kept[2]


def test_the_tutorial_holds_what_its_text_says() -> None:
    kept = outputs_of(json.loads(TUTORIAL.read_text(encoding="utf-8")))
    (against_random,) = re.findall(r"runs/tutorial +x1 +win (0\.\d+)", "".join(kept[5][0]["text"]))
    gain = float(re.findall(r"gains (\d\.\d+)", "".join(kept[-3][0]["text"]))[0])
    assert float(against_random) > 0.8
    assert gain > 0.5
