"""The PettingZoo environment: the official tests, our own, and the contract where those do not look."""

from __future__ import annotations

import copy
import importlib
import inspect
import io
import json
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import getbit_env
from getbit_env.conformance import check_aec
from getbit_env.sharks_are_wild import ID, SharksAreWildEnv, env, parse_variant, raw_env
from getbit_env.sharks_are_wild.variants import READINGS

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import its environments in its own old way
    from pettingzoo.test import api_test, render_test, seed_test

OPTIONS = [
    *({"players": p, "level": level, "coins": 2} for p in (2, 3, 4) for level in (1, 2)),  # short games
    {"players": 2, "level": 2},
    {"players": 2, "level": 2, "turn_limit": 7},
    {"variant": "sharks-2p-level2-1of-1sharks-0octopuses-1dolphins-30turns"},
    {"players": 3, "level": 2, "numbers": 2, "sharks": 4, "octopuses": 9, "run": 6, "coins": 3},
    {"players": 2, "level": 2, "coins": 3, **dict.fromkeys(READINGS, True)},
]


def play(game: Any, seed: int | None = 0, *, reset: bool = True, limit: int = 10_000) -> list[Any]:
    """Play a game legally at random to its end; what `last` said at every step."""
    rng, log = np.random.default_rng(0), []
    if reset:
        game.reset(seed=seed)
    while game.agents and len(log) < limit:
        seen, reward, terminated, truncated, info = game.last()
        log.append((game.agent_selection, seen, reward, terminated, truncated, copy.deepcopy(info)))
        game.step(None if terminated or truncated else int(rng.choice(np.flatnonzero(seen["action_mask"]))))
    return log


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
# PettingZoo says these two of every environment with a mask in its observation but those of its own, which it knows by name.
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be", "ignore:Observation is not a NumPy array")
def test_official_tests_pass(options: dict[str, Any]) -> None:
    """Its `max_cycles_test` is for parallel environments."""
    api_test(env(**options), num_cycles=200)
    api_test(raw_env(**options), num_cycles=200)
    seed_test(lambda: env(**options), num_cycles=100)


@pytest.mark.parametrize(
    ("maker", "options"),
    [
        (raw_env, {"players": 2, "level": 2, "coins": 2, "render_mode": "ansi"}),
        (raw_env, {"players": 3, "level": 2, "turn_limit": 9}),
        (raw_env, {"players": 4, "level": 1, "coins": 2}),
        (env, {"players": 2, "level": 2, "coins": 2}),
        (raw_env, {"players": 3, "level": 2, "octopuses": 12, "coins": 2, **dict.fromkeys(READINGS, True)}),
    ],
)
def test_our_own_tests_pass(maker: Callable[..., Any], options: dict[str, Any]) -> None:
    report = check_aec(lambda: maker(**options), strict=True)
    assert len(report.passed) > 20


def test_official_render_test_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(lambda render_mode: env(render_mode=render_mode, level=2))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_all_end_together_and_are_paid_once(options: dict[str, Any]) -> None:
    game = raw_env(**options)
    total, endings = dict.fromkeys(game.possible_agents, 0.0), {}
    for agent, seen, reward, terminated, truncated, info in play(game):
        assert game.observation_space(agent).contains(seen)
        assert np.array_equal(info["action_mask"], seen["action_mask"])
        assert info["action_mask"] is not seen["action_mask"]
        total[agent] += reward
        if terminated or truncated:
            endings[agent] = (terminated, truncated, info["placement"])
            assert seen["action_mask"].all(), "the mask of one who has nothing to decide is all ones"
    assert len(endings) == game.variant.players
    winner = game.snapshot()["winner"]
    for p, agent in enumerate(game.possible_agents):
        if winner is None:
            assert endings[agent] == (False, True, 0)
            assert total[agent] == 0
        else:
            assert endings[agent] == (True, False, 1 if p == winner else 2)
            assert total[agent] == pytest.approx(1 if p == winner else -1 / (game.variant.players - 1))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_seed_fixes_the_whole_game_and_reset_goes_on_with_its_stream(options: dict[str, Any]) -> None:
    one, two = raw_env(**options), raw_env(**options)
    assert same(play(one, seed=5), play(two, seed=5))
    starts = []
    for _ in range(5):
        one.reset()
        two.reset()
        assert one.snapshot() == two.snapshot()
        starts.append(one.snapshot()["start"]["cards"])
    assert len(set(starts)) == 5


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("how", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))], ids=["deepcopy", "pickle"])
def test_a_copy_in_the_middle_of_a_game_goes_on_identically(how: Callable[[Any], Any], options: dict[str, Any]) -> None:
    game = raw_env(**options)
    play(game, seed=3, limit=9)
    other = how(game)
    for _ in range(2):  # also into the next game: the stream is copied as well
        assert same(play(game, reset=False), play(other, reset=False))
        assert game.snapshot() == other.snapshot()
        game.reset()
        other.reset()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_snapshot_through_json_goes_on_identically(options: dict[str, Any]) -> None:
    game, other = raw_env(**options), raw_env(**options)
    for limit in (0, 1, 2, 5, 8):
        play(game, seed=4, limit=limit)
        snapshot = json.loads(json.dumps(game.snapshot()))
        other.restore(snapshot)
        assert other.snapshot() == snapshot
        assert other.agent_selection == game.agent_selection
        for agent in game.agents:
            assert same(other.observe(agent), game.observe(agent))
        assert same(play(game, reset=False), play(other, reset=False))
        game.reset()
        other.reset()
        assert game.snapshot() == other.snapshot()


def test_a_snapshot_of_a_finished_game_is_over() -> None:
    game, other = raw_env(players=2), raw_env(players=2)
    play(game)
    other.restore(game.snapshot())
    assert all(other.terminations.values())
    assert sorted(other.rewards.values()) == [-1, 1]
    assert other.snapshot() == game.snapshot()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "getbit/SharksAreWild-v9"}, "version is 'getbit/SharksAreWild-v9'"),
        ({"variant": "sharks-2p-level1"}, "variant is 'sharks-2p-level1', this environment's is 'sharks-2p-level2'"),
        ({"coins": [4, 4]}, "says coins .* its actions lead to"),
        ({"coins": [0.0, 0.0]}, r"says coins \[0.0, 0.0\], but its actions lead to"),
        ({"stream": ["0x1", -1]}, "drawn from its stream is a whole number of at most 64 bits, not -1"),
        ({"stream": "0x1"}, "stream is a list such as"),
        ({"start": ["0", 0, 0]}, "a deal is"),
        ({"start": {"cards": "0" * 10**6, "first": 0, "drawn": 0}}, "a deal of sharks-2p-level2 has 54 cards, not 1000000"),
        ({"start": {"cards": "0", "first": 2, "drawn": 0}}, "the first player of a deal is a whole number from 0 to 1, not 2"),
        ({"truncated": 1}, "truncated is true or false, not 1"),
        ({"truncated": True}, "says truncated, but a game is cut off at the end of a turn"),
        ({"actions": [None]}, "decision 1 can't be played"),
        ({"actions": {"0": 0}}, "the snapshot's actions is a list"),
        ({"coin": 1}, "has 'coin', which no snapshot of this environment has"),
        ({"start": {"cards": "0", "first": 0, "drawn": 0}}, "a deck of sharks-2p-level2 is a list of 54 kinds"),
        ({"start": {"cards": "0X", "first": 0, "drawn": 0}}, "'X' in '0X' is no card"),
        ({"actions": [99]}, "decision 1 can't be played: player_.: action 99 is out of range"),
        ({"actions": [26]}, "decision 1 can't be played: player_.: action 26 is illegal"),
        ({"runs": None}, "lacks runs"),
    ],
)
def test_a_wrong_snapshot_is_refused_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    game = raw_env(players=2, level=2)
    play(game, limit=9)
    before = game.snapshot()
    wrong = {key: value for key, value in (before | change).items() if value is not None or key != "runs"}
    with pytest.raises(ValueError, match=message):
        game.restore(wrong)
    assert game.snapshot() == before


DEAL = {"cards": "01234" + "016SO" + "2" + "4D67", "first": 0}


def dealt(**options: Any) -> SharksAreWildEnv:
    """A small game whose cards are known: A has 01234, B 016SO, the discard pile is a 2, and 4D67 are drawn in turn."""
    game = raw_env(players=2, level=2, **options)
    rest = list(game.snapshot()["start"]["cards"]) if game._played else None
    assert rest is None
    letters = "".join("012346789SOD"[kind] for kind in game.variant.rules.deck)
    for card in DEAL["cards"]:
        letters = letters.replace(card, "", 1)
    game.reset(options={"deal": {"cards": DEAL["cards"] + letters, "first": DEAL["first"]}, "unknown": 1})
    return game


def test_snapshot_names_everything_of_the_position() -> None:
    game = dealt()
    for action in (0, 7):  # player_0 draws a 4 and plays it
        game.step(action)
    for action in (0, 27):  # player_1 draws a Dolphin and grabs for the 4
        game.step(action)
    now = game.snapshot()
    assert {key: now[key] for key in ("turn", "player", "stage", "grab", "coins", "runs", "hands", "taken", "winner")} == {
        "turn": 1,
        "player": 1,
        "stage": "block",
        "grab": [0, "low"],
        "coins": [0, 0],
        "runs": ["45", "5"],
        "hands": ["01234", "016SD"],
        "taken": ["", ""],
        "winner": None,
    }
    assert now["discard"] == "O2"
    assert now["draw"].startswith("67")
    assert now["actions"] == [0, 7, 0, 27]
    assert now["start"] == {"cards": now["start"]["cards"], "first": 0, "drawn": 0}
    assert game.agent_selection == "player_0"
    assert np.flatnonzero(game.observe("player_0")["action_mask"]).tolist() == [2]
    game.step(2)
    assert game.snapshot()["runs"] == ["5", "45"]
    assert game.agent_selection == "player_0"
    assert json.loads(json.dumps(now)) == now


def test_a_turn_is_two_steps_of_one_player() -> None:
    game = dealt()
    order = []
    for _ in range(8):
        order.append(game.agent_selection)
        game.step(14 if game.snapshot()["stage"] == "play" else 0)
    assert order == ["player_0", "player_0", "player_1", "player_1"] * 2


def test_an_illegal_action_is_replaced_by_the_lowest_legal_one_and_flagged() -> None:
    game = dealt()
    game.step(26)  # nothing to block: draws
    assert game.infos["player_0"]["illegal_action"]
    assert game.snapshot()["actions"] == [0]
    game.step(11)  # no 9 in the hand: plays the 4
    assert game.infos["player_0"]["illegal_action"]
    assert game.snapshot()["actions"] == [0, 7]
    game.step(0)
    assert not game.infos["player_1"]["illegal_action"]
    game.step(1)  # drawing twice: plays the 6
    assert game.snapshot()["actions"][-1] == 8


def test_an_illegal_action_can_raise_and_then_changes_nothing() -> None:
    game = dealt(illegal_action="raise")
    game.step(0)
    before = game.snapshot()
    with pytest.raises(ValueError, match=r"player_0: action 11 is illegal, legal are \[7, 14, 15"):
        game.step(11)
    assert game.snapshot() == before


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (29, ValueError, r"player_0: action 29 is out of range, actions are 0\.\.28"),
        (-1, ValueError, "player_0: action -1 is out of range"),
        (1.5, TypeError, r"player_0: an action is a whole number, not 1\.5"),
        (None, TypeError, "player_0: an action is a whole number, not None"),
    ],
)
def test_a_wrong_action_is_refused_by_name_and_changes_nothing(action: Any, error: type[Exception], message: str) -> None:
    game = dealt()
    before = game.snapshot()
    with pytest.raises(error, match=message):
        game.step(action)
    assert game.snapshot() == before


def test_it_works_before_reset_and_says_what_is_missing() -> None:
    game = raw_env()
    assert game.agents == game.possible_agents == [f"player_{p}" for p in range(4)]
    assert game.action_space("player_0") is game.action_space("player_0")
    assert game.action_space("player_0") is not game.action_space("player_1"), "or seeding one would seed the other"
    for call in (lambda: game.step(0), game.snapshot, game.last, game.state, lambda: game.observe("player_0")):
        with pytest.raises(RuntimeError, match=r"call reset\(\) before (step|snapshot|last|state|observe)\(\)"):
            call()
    game.reset()
    with pytest.raises(ValueError, match="there is no agent 'player_9'; there are player_0"):
        game.observe("player_9")


def test_after_the_end_only_none_is_taken_and_then_nothing() -> None:
    game = raw_env(players=2, max_cycles=1)
    game.reset(seed=0)
    while not any(game.truncations.values()):
        game.step(int(game.last()[0]["action_mask"].argmax()))
    with pytest.raises(ValueError, match=r"player_\d: its game is over, so that its action is None, not 0"):
        game.step(0)
    for _ in range(2):
        game.step(None)
    assert game.agents == []
    for call in (lambda: game.step(None), game.last):
        with pytest.raises(RuntimeError, match=r"the game is over: call reset\(\) before"):
            call()


@pytest.mark.parametrize("max_cycles", [1, 4, 9])
def test_max_cycles_cuts_off_after_a_turn_with_no_reward(max_cycles: int) -> None:
    game = env(players=3, level=2, max_cycles=max_cycles)
    log = play(game)
    assert game.unwrapped.snapshot()["turn"] == max_cycles
    ended = [entry for entry in log if entry[3] or entry[4]]
    assert [(entry[2], entry[3], entry[4], entry[5]["placement"]) for entry in ended] == [(0, False, True, 0)] * 3
    snapshot = json.loads(json.dumps(game.snapshot()))
    assert snapshot["truncated"]
    assert snapshot["stage"] == "draw"
    masks = [entry[1]["action_mask"] for entry in ended]
    assert sum(not mask.all() for mask in masks) == 1, "who would have decided keeps the mask of the position"
    other = raw_env(players=3, level=2)
    other.restore(snapshot)
    assert all(other.truncations.values())
    assert other.snapshot() == snapshot
    game.reset(seed=0)
    game.max_cycles = None
    assert len(play(game)) > len(log)
    game.max_cycles = 2
    assert game.unwrapped.max_cycles == 2
    play(game)
    assert game.unwrapped.snapshot()["turn"] == 2
    if hasattr(pettingzoo, "register"):  # from PettingZoo 1.27 on
        assert pettingzoo.make("aec", ID, max_cycles=4).max_cycles == 4


def test_a_game_that_ends_in_its_last_allowed_turn_is_decided_not_cut_off() -> None:
    game = raw_env(players=2, coins=1)
    play(game)
    game.max_cycles = game.snapshot()["turn"] + 1  # the turn that wins is not finished
    play(game)
    assert game.snapshot()["winner"] is not None
    assert not game.snapshot()["truncated"]


def test_lists_that_are_handed_out_are_copies() -> None:
    game, twin = raw_env(players=2), raw_env(players=2)
    game.reset(seed=0)
    twin.reset(seed=0)
    for handed_out in (game.agents, game.possible_agents, game.metadata["render_modes"], game.snapshot()["actions"]):
        handed_out.append("x")
    game.snapshot()["start"]["cards"] = "x"
    (waits,) = set(game.agents) - {game.agent_selection}
    game.infos[waits]["placement"] = game.infos[waits]["illegal_action"] = 7
    assert SharksAreWildEnv.metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert same(play(game, reset=False), play(twin, reset=False))
    space = game.observation_space("player_0")
    game.restore(game.snapshot())
    assert game.observation_space("player_0") is space


def test_rewards_of_a_game_sum_to_zero_exactly() -> None:
    for players in (2, 3, 4):
        game = raw_env(players=players, coins=1)
        total = sum(entry[2] for entry in play(game))
        assert abs(total) < 1e-15
        assert type(game._pays[1]) is float


def test_under_wrappers_of_pettingzoo() -> None:
    game = TerminateIllegalWrapper(env(players=2), illegal_reward=-1)
    game.reset(seed=0)
    loser = game.agent_selection
    game.step(5)
    assert all(game.terminations.values())
    assert game.rewards[loser] == -1
    while game.agents:
        game.step(None)


def test_restore_stands_for_a_reset_and_a_failed_reset_does_not() -> None:
    done = env(players=2)
    done.reset(seed=0)
    game = env(players=2)
    with pytest.raises(ValueError, match="seed is a whole number, at least 0, or None, not -1"):
        game.reset(seed=-1)
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        game.agents  # noqa: B018 - it raises
    game.restore(done.snapshot())
    assert game.agent_selection == done.agent_selection


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deal": "0123"}, "a deal is {'cards': '0S47...', 'first': 0}, not '0123'"),
        ({"deal": {"cards": "0"}}, "a deal is"),
        ({"deal": {"cards": 5, "first": 0}}, "a deal is"),
        ({"deal": {"cards": "0", "first": True}}, "the first player of a deal is a whole number from 0 to 1, not True"),
        ([0, 1], "options is a dict such as"),
    ],
)
def test_wrong_reset_options_are_refused_by_name(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        raw_env(players=2).reset(options=options)


def test_help_shows_the_arguments() -> None:
    assert inspect.signature(env).parameters == inspect.signature(raw_env).parameters
    assert {"players", "max_cycles", "render_mode"} <= inspect.signature(env).parameters.keys()
    assert "turn_limit: turns after which" in str(env.__doc__)


def test_nothing_hidden_shows_in_observations_masks_or_infos() -> None:
    """Two games that differ only in a Dolphin of the victim's hand look alike to the thief, who learns it from the answer alone."""
    seen = []
    for card in "D9":
        game = raw_env(players=2, level=2)
        letters = "".join("012346789SOD"[kind] for kind in game.variant.rules.deck)
        cards = "01" + card + "34" + "016SO" + "2" + "48"
        for used in cards:
            letters = letters.replace(used, "", 1)
        game.reset(options={"deal": {"cards": cards + letters, "first": 0}})
        told = []
        for action in (0, 7, 0, 27):
            game.step(action)
            told.append(
                (game.agent_selection, game.observe("player_1"), copy.deepcopy(game.infos["player_1"]), game.rewards.copy())
            )
        seen.append(told)
        assert game.snapshot()["stage"] == "block"
    assert same(*seen)


def test_state_shows_all_hands() -> None:
    game = dealt()
    state = game.state()
    assert game.state_space.contains(state)
    assert game.state_layout.field(state, "hand").sum(axis=1).tolist() == [5, 5]
    assert game.layout.field(game.observe("player_0")["observation"], "hand").sum(axis=1).tolist() == [5, 0]


@pytest.mark.skipif(not hasattr(pettingzoo, "register"), reason="PettingZoo has a registry from 1.27 on")
def test_registered_once_and_not_imported_with_the_package() -> None:
    importlib.reload(getbit_env)
    game = pettingzoo.make("aec", ID, players=3, level=2)
    assert isinstance(game.unwrapped, SharksAreWildEnv)
    assert game.unwrapped.variant == parse_variant("sharks-3p-level2")
    code = "import sys, getbit_env; print([m for m in sys.modules if 'sharks' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"players": 5}, "players is 2 to 4, not 5"),
        ({"level": 3}, "level is 1 to 2, not 3"),
        ({"illegal_action": "ignore"}, "illegal_action is one of 'lowest', 'raise'"),
        ({"render_mode": "vr"}, "render_mode is None or one of"),
        ({"turn_limit": 0}, "turn_limit is 1 to"),
        ({"variant": "sharks-2p-level1", "level": 2}, "already says what level would; give one or the other"),
        ({"variant": "sharks-2p-level2", "must_block": True, "coins": 3}, "already says what coins, must_block would"),
        ({"level": 2, "must_block": 1}, "must_block is True or False, not 1"),
        ({"may_decline": True}, "may_decline is about Octopus and Dolphin cards; level one plays without them"),
        ({"variant": "4p"}, "no variant '4p'"),
        ({"max_cycles": 0}, "max_cycles is a whole number, at least 1, or None for no limit, not 0"),
        ({"max_cycles": 3.5}, "max_cycles is a whole number"),
        ({"players": "sharks-4p-level1"}, "the name of a variant goes into variant='sharks-4p-level1'"),
        ({"players": 2.0}, "players is a whole number, not 2.0"),
    ],
)
def test_nonsense_is_refused_with_its_reason(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        raw_env(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": 4}, "variant is the name of a variant of Sharks are Wild, such as 'sharks-4p-level1', or a Variant, not 4"),
        ({"turnlimit": 4}, "unexpected keyword argument 'turnlimit'; did you mean 'turn_limit'?"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_hint(options: dict[str, Any], message: str) -> None:
    for maker in (raw_env, env):
        with pytest.raises(TypeError, match=message):
            maker(**options)


def test_the_text_can_be_printed_on_any_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for level in (1, 2):
        game = raw_env(level=level, coins=1, render_mode="ansi")
        with pytest.raises(RuntimeError, match=r"call reset\(\) before render\(\)"):
            game.render()
        play(game)
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
        assert str(game.render()).encode("ascii")


def test_rendering_needs_a_mode_and_goes_on_after_the_end() -> None:
    with pytest.raises(ValueError, match="render_mode"):
        raw_env().render()
    game = raw_env(render_mode="ansi")
    play(game)
    assert isinstance(game.render(), str)
    game.close()
    game.close()
