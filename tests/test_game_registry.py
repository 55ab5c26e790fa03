"""Games by variant, by name and by id; a third party's game is registered and found like the two of the package."""

import dataclasses
import sys
import types

import numpy as np
import pytest

from getbit_env import game_registry
from getbit_env.agent_registry import load_agent
from getbit_env.core.spec import GameSpec
from getbit_env.game_registry import find_game, find_variant, game_ids, game_named, game_of, register_game
from getbit_env.get_bit.bots import Highest
from getbit_env.get_bit.spec import SPEC
from getbit_env.get_bit.variants import parse_variant

GAME = "tests/ThirdGame-v0"


def named(name: str) -> object:
    if name != "third-small":
        raise ValueError(f"no variant {name!r}: there is third-small")
    return dataclasses.replace(parse_variant("2p"))


class ThirdBot(Highest):
    game = GAME


def remember(agent: object, name: str) -> object:
    agent.remembered = name
    return agent


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> GameSpec:
    """A third game, which shares the rules of the first and has names of its own."""
    spec = dataclasses.replace(
        SPEC,
        id=GAME,
        title="Third",
        prefix="third-",
        parse_variant=named,
        bots={"third-bot": ThirdBot},
        named_agents={"third-oracle": f"{__name__}:ThirdBot"},
        agent_files={".third": f"{__name__}:ThirdBot"},
        agent_wrappers={"third-memory": f"{__name__}:remember"},
    )
    module = types.ModuleType("third_game_of_tests")
    module.SPEC, module.OTHER = spec, SPEC
    monkeypatch.setitem(sys.modules, "third_game_of_tests", module)
    monkeypatch.setattr(game_registry, "_GAMES", dict(game_registry._GAMES))
    register_game(GAME, prefix="third-", spec="third_game_of_tests:SPEC")
    return spec


def test_the_games_of_the_package_are_found_by_every_name() -> None:
    assert game_ids()[:2] == ["getbit/GetBit-v0", "getbit/SharksAreWild-v0"]
    for name, title in (
        ("4p-memory", "Get Bit!"),
        ("random", "Get Bit!"),
        ("sharks-2p-level2", "Sharks are Wild"),
        ("", "Get Bit!"),
    ):
        assert game_named(name).title == title
    for name in ("4p", "sharks-2p-level2"):
        variant = find_variant(name)
        assert find_variant(variant) is variant
        assert variant.name == name
        assert game_of(variant) is game_named(name) is find_game(variant.game)
    for game in map(find_game, game_ids()[:2]):
        assert all(name.startswith(game.prefix) for name in (*game.bots, game.default_variant, *game.named_agents))
        assert set(game.default_opponents) <= set(game.bots)


@pytest.mark.parametrize("name", ["", "sharks-", "4q", "sharks", "Sharks-2p-level2", "third-small"])
def test_a_name_of_no_variant_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no variant"):
        find_variant(name)


@pytest.mark.parametrize("value", [4, None, 4.0, ["4p"], type(parse_variant("4p")), np.int64(4), b"4p"])
def test_what_is_no_variant_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=r"a variant is given by its name, such as '4p', or as a Variant, not as"):
        find_variant(value)


def test_a_third_game_is_found_by_its_names(third: GameSpec) -> None:
    assert game_ids()[-1] == GAME
    assert find_game(GAME) is game_named("third-small") is third
    assert find_variant("third-small").players == 2
    assert isinstance(load_agent("third-bot"), ThirdBot)
    assert isinstance(load_agent("third-oracle"), ThirdBot)
    assert load_agent("third-memory:third-bot").remembered
    assert not hasattr(load_agent("third-bot"), "remembered")
    assert game_named("thirdly") is SPEC
    with pytest.raises(
        ValueError,
        match=r"did you mean 'third-bot'\? .*files \*\.third, sb3:PATH\.zip, module:attribute, and .*third-memory: before",
    ):
        load_agent("third-bog")
    with pytest.raises(ValueError, match="plays another game"):
        load_agent("recall:third-bot")


def test_the_longest_prefix_decides(third: GameSpec) -> None:
    sys.modules["third_game_of_tests"].LONGER = dataclasses.replace(
        third, id="tests/Longer-v0", prefix="third-long-", title="Longer"
    )
    register_game("tests/Longer-v0", prefix="third-long-", spec="third_game_of_tests:LONGER")
    assert game_named("third-long-small").title == "Longer"
    assert game_named("third-lone").title == "Third"


def test_to_register_again_changes_nothing(third: GameSpec) -> None:
    before = game_ids()
    register_game(GAME, prefix="third-", spec="third_game_of_tests:SPEC")
    assert game_ids() == before
    assert find_game(GAME) is third


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((GAME, "other-", "a:B"), f"game '{GAME}' with the prefix 'other-' is like '{GAME}' with 'third-'"),
        (("tests/X-v0", "third-", "a:B"), f"is like '{GAME}'"),
        (("tests/X-v0", "", "a:B"), "is like 'getbit/GetBit-v0' with ''"),
        (("tests/X-v0", "4", "a:B"), "prefix is a word in small letters and a hyphen"),
        (("tests/X-v0", "x", "a:B"), "prefix is a word"),
        (("tests/X-v0", "-", "a:B"), "prefix is a word"),
        (("tests/X-v0", "x:-", "a:B"), "prefix is a word"),
        (("tests/X-v0", "x-", "module"), "spec is module:attribute, not 'module'"),
    ],
)
def test_a_registration_that_would_mix_games_up_is_refused(arguments: tuple[str, str, str], reason: str, third: GameSpec) -> None:
    before = game_ids()
    game, prefix, spec = arguments
    with pytest.raises(ValueError, match=reason):
        register_game(game, prefix=prefix, spec=spec)
    assert game_ids() == before
    assert find_game(GAME) is third


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("third_game_of_tests:NONE", "which is no GameSpec"),
        ("third_game_of_tests:OTHER", "is 'getbit/GetBit-v0' with the prefix '', not 'tests/Y-v0' with 'y-'"),
    ],
)
def test_a_registration_of_something_else_is_found_out(spec: str, reason: str, third: GameSpec) -> None:
    assert third.id == GAME
    register_game("tests/Y-v0", prefix="y-", spec=spec)
    with pytest.raises(ValueError, match=reason):
        find_game("tests/Y-v0")


def test_no_game_is_named() -> None:
    with pytest.raises(ValueError, match=r"no game 'chess'; there are getbit/GetBit-v0, getbit/SharksAreWild-v0"):
        find_game("chess")
