"""One seat of a game as a Gymnasium environment: the checkers of Gymnasium and Stable-Baselines3, seeds, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

from getbit_env.get_bit import ID
from getbit_env.single_agent import SingleAgentBatch, SingleAgentEnv

SHARKS_ID = "getbit/SharksAreWild-v0"
SHARKS: list[dict[str, Any]] = [
    {"players": 2, "level": 2, "opponents": "sharks-greedy"},
    {"players": 3, "coins": 1, "seat": 1, "max_cycles": 30},
]
SEATS: list[dict[str, Any]] = [
    {},
    {"opponents": ["highest", "counter", "lowest"], "seat": 2},
    {"players": 2, "memory": True, "history": True, "opponents": "counter"},
    {"players": 3, "reward": "placement", "opponents": "lowest"},
    {"variant": "7p-half", "max_cycles": 5},
]


def test_the_gymnasium_id_is_one_seat() -> None:
    env = gymnasium.make(f"getbit_env:{ID}", players=5)
    assert isinstance(env.unwrapped, SingleAgentEnv)
    if hasattr(pettingzoo, "register"):  # from PettingZoo 1.27 on
        assert ID in pettingzoo.parallel_registry
        assert ID in pettingzoo.aec_registry


@pytest.mark.parametrize("options", SEATS, ids=str)
def test_both_check_env_pass(options: dict[str, Any]) -> None:
    gymnasium_check_env(gymnasium.make(f"getbit_env:{ID}", **options).unwrapped, skip_render_check=True)
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    sb3.check_env(SingleAgentEnv(ID, **options))


@pytest.mark.parametrize("options", SHARKS, ids=str)
def test_both_check_env_pass_in_the_other_game(options: dict[str, Any]) -> None:
    gymnasium_check_env(gymnasium.make(f"getbit_env:{SHARKS_ID}", **options).unwrapped, skip_render_check=True)
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    sb3.check_env(SingleAgentEnv(SHARKS_ID, **options))


@pytest.mark.parametrize("game", [ID, SHARKS_ID])
def test_render_modes_are_those_of_the_metadata(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    gymnasium_check_env(gymnasium.make(f"getbit_env:{game}", players=2).unwrapped)  # it makes one of each mode
    for mode in SingleAgentEnv.metadata["render_modes"]:
        env = gymnasium.make(f"getbit_env:{game}", players=2, render_mode=mode)
        assert env.render_mode == env.unwrapped.render_mode == mode
        env.reset(seed=0)
        assert isinstance(env.render(), {"ansi": str, "rgb_array": np.ndarray, "human": type(None)}[mode])
        env.close()
    env = SingleAgentEnv(game)
    env.metadata["render_modes"].append("x")
    assert "x" not in SingleAgentEnv.metadata["render_modes"]


@pytest.mark.parametrize("options", SEATS, ids=str)
def test_one_seat_of_the_game(options: dict[str, Any]) -> None:
    """Whole games are fixed by the seed; masks, rewards and ends are the seat's."""

    def run(env: SingleAgentEnv, seed: int | None) -> list[Any]:
        rng = np.random.default_rng(0)
        observation, info = env.reset(seed=seed)
        log: list[Any] = [observation.tobytes(), info["seat"]]
        over = False
        while not over:
            assert np.array_equal(env.action_masks(), info["action_mask"] != 0)
            assert observation in env.observation_space
            assert info["seat"] == options.get("seat", info["seat"])
            observation, reward, terminated, truncated, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
            assert not info["illegal_action"]
            over = terminated or truncated
            log += [observation.tobytes(), reward, terminated, truncated, info["placement"]]
            assert terminated == (info["placement"] > 0)
        snapshot = env.multi_agent_env.snapshot()
        assert (snapshot["placement"][info["seat"]] or 0) == info["placement"]
        with pytest.raises(RuntimeError, match="the game is over"):
            env.step(0)
        return log

    one, two = SingleAgentEnv(ID, **options), SingleAgentEnv(ID, **options)
    first, second = ([run(env, seed) for seed in (3, None, None)] for env in (one, two))
    assert first == second
    assert first[0] != first[1]
    assert run(one, 3) == first[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seat": 4}, "seat is 0 to 3, or None to draw it anew each game, not 4"),
        ({"opponents": ["random"]}, "a sequence of 3, one for each; not 1"),
        ({"opponents": "nobody"}, "no agent 'nobody'"),
        ({"players": 9}, "players is 2 to 7, not 9"),
        ({"seat": 1.0}, "seat is 0 to 3, or None to draw it anew each game, not 1.0"),
        ({"seat": True}, "seat is 0 to 3"),
        ({"max_cycles": 0}, "max_cycles is a whole number, at least 1"),
    ],
)
def test_a_seat_that_there_is_not_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SingleAgentEnv(ID, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opponent": "random"}, "unexpected keyword argument 'opponent'; did you mean 'opponents'?"),
        ({"half_limb": True}, "did you mean 'half_limbs'?"),
        ({"histroy": True}, "did you mean 'history'?"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_hint(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        SingleAgentEnv(ID, **options)


@pytest.mark.parametrize("game", [ID, SHARKS_ID])
def test_what_is_called_too_early_or_wrongly_is_said(game: str) -> None:
    env = SingleAgentEnv(game)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before action_masks"):
        env.action_masks()
    with pytest.raises(RuntimeError, match="was not begun: call reset"):
        env.step(0)
    for wrong, message in (
        ({"seed": -1}, "seed is a whole number, at least 0"),
        ({"options": [1]}, "options is a dict, or None, not"),
    ):
        with pytest.raises(ValueError, match=message):
            env.reset(**wrong)  # type: ignore[arg-type]  # that is the point
    env.reset(seed=np.int64(3))
    with pytest.raises(TypeError, match=r"player_\d: an action is a whole number, not 'x'"):
        env.step("x")


def test_a_refused_step_does_not_make_the_others_choose_again() -> None:
    one, two = (SingleAgentEnv(ID, "random", seat=0, illegal_action="raise") for _ in range(2))
    one.reset(seed=0)
    two.reset(seed=0)
    for card in (0, 1, 2):
        for wrong in (99, card - 1, None):
            with pytest.raises((ValueError, TypeError)):
                one.step(wrong)
        one.step(card)
        two.step(card)
        assert one.multi_agent_env.snapshot() == two.multi_agent_env.snapshot()


def test_max_cycles_cuts_a_game_off() -> None:
    for game in (ID, SHARKS_ID):
        env = SingleAgentEnv(game, players=2, max_cycles=3)
        env.reset(seed=0)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(int(env.action_masks().argmax()))
            over = terminated or truncated
        assert (terminated, truncated, reward, info["placement"]) == (False, True, 0, 0)


def test_seeds_through_make_vec_env() -> None:
    sb3 = pytest.importorskip("stable_baselines3.common.env_util")

    def run(seed: int) -> tuple[bytes, np.ndarray]:
        env = sb3.make_vec_env(f"getbit_env:{ID}", n_envs=4, seed=seed, env_kwargs={"opponents": "random"})
        seen = [env.reset()]
        for _ in range(30):
            observations, rewards, dones, _ = env.step(np.array([4, 0, 2, 1]))
            seen += [observations, rewards, dones]
        return b"".join(np.ascontiguousarray(part).tobytes() for part in seen), seen[0]

    (one, lines), (two, _), (three, _) = run(1), run(1), run(2)
    assert one == two != three
    assert len({line.tobytes() for line in lines}) > 1, "games of a vector environment differ"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("9p", 4, "random"), {}, ValueError, "players is 2 to 7"),
        ((4, 4, "random"), {}, TypeError, "a variant is given by its name, such as '4p', or as a Variant, not as 4"),
        (("4p", 2.5, "random"), {}, ValueError, "games is a whole number, at least 1, not 2.5"),
        (("4p", 4, "random"), {"seat": "1"}, ValueError, "seat is 0 to 3, or None to draw it anew each game, not '1'"),
        (("4p", 4, "random"), {"seed": -1}, ValueError, "seed is a whole number, at least 0, or None, not -1"),
        (("4p", 4, "random"), {"options": {"history": True}}, TypeError, "options are the Options of Get Bit!, or None"),
    ],
)
def test_a_batch_refuses_nonsense_by_name(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SingleAgentBatch(*arguments, **options)
    assert SingleAgentBatch("4p", 4, "random").variant.name == "4p"
