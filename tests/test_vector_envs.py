"""The vector environments, against Gymnasium's `SyncVectorEnv` of the scalar environment and against PettingZoo's environments."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import vector as wrappers

import getbit_env
from getbit_env.get_bit import ID
from getbit_env.sharks_are_wild.environment import raw_env
from getbit_env.single_agent import SingleAgentEnv
from getbit_env.vector_envs import AllSeatsVectorEnv, SingleAgentVectorEnv

SHARKS_ID = "getbit/SharksAreWild-v0"
MODES = list(AutoresetMode)
ONE_SEAT: list[tuple[str, dict[str, Any]]] = [
    (ID, {"opponents": "highest"}),
    (ID, {"opponents": ["lowest", "highest", "lowest"], "seat": 2, "limb_reward": -0.125, "reward": "placement"}),
    (ID, {"players": 2, "memory": True, "history": True, "opponents": "highest", "max_cycles": 5}),
    (ID, {"players": 3, "opponents": "lowest", "max_cycles": 7}),
    (SHARKS_ID, {"players": 2, "level": 2, "coins": 1, "opponents": "tests.test_vector_envs:First"}),
    (SHARKS_ID, {"players": 3, "coins": 1, "seat": 1, "max_cycles": 9, "opponents": "tests.test_vector_envs:First"}),
    (SHARKS_ID, {"players": 2, "turn_limit": 6, "opponents": "tests.test_vector_envs:First"}),
]


class First:
    """Plays the first legal action of any game."""

    deterministic = True

    def reset(self, layout: Any, begins: np.ndarray, seed: int | None) -> None:
        pass

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return action_mask.argmax(axis=1)


def both(game: str, mode: AutoresetMode, num_envs: int, **options: Any) -> tuple[SingleAgentVectorEnv, SyncVectorEnv]:
    """The native vector environment, and Gymnasium's own over the scalar one."""
    fast: Any = gymnasium.make_vec(f"getbit_env:{game}", num_envs=num_envs, autoreset_mode=mode, **options)
    assert isinstance(fast, SingleAgentVectorEnv)
    slow: Any = gymnasium.make_vec(
        f"getbit_env:{game}", num_envs, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    return fast, slow


def assert_same_infos(fast: dict[str, Any], slow: dict[str, Any]) -> None:
    """Whatever Gymnasium says of a game, we say too: same keys, kinds of arrays, and values of the games that it is about."""
    assert fast.keys() == slow.keys()
    for name, wanted in slow.items():
        if name.startswith("_"):
            assert (fast[name] >= wanted).all(), name
        elif isinstance(wanted, dict):
            assert_same_infos(fast[name], wanted)
        else:
            about = slow[f"_{name}"]
            assert fast[name].dtype == wanted.dtype, name
            if wanted.dtype == object:
                assert [None if x is None else x.tolist() for x in fast[name]] == [
                    None if x is None else x.tolist() for x in wanted
                ]
            else:
                assert np.array_equal(fast[name][about], wanted[about]), name


def assert_same(fast: tuple[Any, ...], slow: tuple[Any, ...]) -> None:
    for mine, wanted in zip(fast[:-1], slow[:-1], strict=True):
        assert mine.shape == wanted.shape
        assert np.array_equal(mine, wanted.astype(mine.dtype))
    assert_same_infos(fast[-1], slow[-1])


# --- one seat ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("game", "options"), ONE_SEAT, ids=str)
def test_it_is_gymnasiums_vector_environment_of_the_scalar_one(game: str, options: dict[str, Any], mode: AutoresetMode) -> None:
    """Step by step in every mode, with opponents that draw nothing: also where an action is illegal."""
    fast, slow = both(game, mode, 5, **options)
    assert fast.metadata["autoreset_mode"] is slow.metadata["autoreset_mode"] is mode
    assert fast.observation_space == slow.observation_space
    assert fast.action_space == slow.action_space
    assert fast.single_observation_space == slow.single_observation_space
    assert fast.single_action_space == slow.single_action_space
    seen = fast.reset(seed=11)
    assert_same(seen, slow.reset(seed=11))
    rng, ended, illegal, masks = np.random.default_rng(0), 0, 0, seen[1]["action_mask"]
    for k in range(90):
        legal = (rng.random(masks.shape) * masks).argmax(1)
        actions = np.where(rng.random(5) < 0.3, rng.integers(fast.single_action_space.n, size=5), legal)
        step = fast.step(actions)
        assert_same(step, slow.step(actions))
        assert step[0] in fast.observation_space
        over = step[2] | step[3]
        ended += over.sum()
        illegal += step[4]["illegal_action"].sum()
        masks = step[4]["action_mask"]
        if mode == AutoresetMode.DISABLED and over.any():
            wanted = slow.reset(options={"reset_mask": over.copy()})
            reset = fast.reset(options={"reset_mask": over})
            assert_same(reset, wanted)
            masks = reset[1]["action_mask"]
            assert masks.any(axis=1).all(), "a game that goes on keeps its mask"
        if k == 50:
            assert_same(fast.reset(), slow.reset())
    assert ended > 5
    assert illegal > 3


@pytest.mark.parametrize("opponents", ["random", ["random", "counter", "random"]], ids=str)
def test_one_game_of_it_is_the_scalar_environment_also_with_chance(opponents: Any) -> None:
    fast, slow = both(ID, AutoresetMode.SAME_STEP, 1, opponents=opponents)
    for seed in (3, None, 4):
        wanted = slow.reset(seed=seed)
        assert_same(fast.reset(seed=seed), wanted)
        for _ in range(40):
            actions = wanted[-1]["action_mask"].argmax(axis=1)
            wanted = slow.step(actions)
            assert_same(fast.step(actions), wanted)


def test_a_seed_fixes_everything_and_a_list_is_one_for_each_game() -> None:
    def run(env: Any, seed: Any) -> list[bytes]:
        seen, _ = env.reset(seed=seed)
        log = [seen.tobytes()]
        for _ in range(30):
            seen, rewards, *_ = env.step(env.sample_actions())
            log += [seen.tobytes(), rewards.tobytes()]
        return log

    for name, num_envs in ((ID, 4), ("getbit/GetBitAllSeats-v0", 8)):
        one, two = (gymnasium.make_vec(f"getbit_env:{name}", num_envs=num_envs) for _ in range(2))
        games = num_envs // getattr(two.unwrapped, "players", 1)
        first = run(one, 7)
        assert run(two, [7 + game for game in range(games)]) == first
        again = run(one, None)
        assert again != first
        assert run(two, None) == again, "the streams go on"
        assert run(one, np.int64(7)) == first


def test_a_reset_of_some_games_leaves_the_others_alone() -> None:
    env: Any = SingleAgentVectorEnv(ID, 4, "highest", autoreset_mode="Disabled")
    with pytest.raises(RuntimeError, match=r"call reset\(\) for all games before a reset of some"):
        env.reset(options={"reset_mask": np.array([True, False, False, False])})
    first, infos = env.reset(seed=[5, 6, 7, 8])
    env.step(infos["action_mask"].argmax(axis=1))
    before = env.batch.observation.copy()
    mask = np.array([False, True, False, True])
    seen, infos = env.reset(seed=[1, 6, None, None], options={"reset_mask": mask})
    assert np.array_equal(seen[[0, 2]], before[[0, 2]])
    assert np.array_equal(seen[1], first[1]), "it has the same seed"
    assert not np.array_equal(seen[3], before[3])
    assert infos["_action_mask"].all()
    assert mask.tolist() == [False, True, False, True]


def test_a_step_in_mode_disabled_needs_a_reset_of_what_is_over() -> None:
    for env in (
        SingleAgentVectorEnv(ID, 4, "highest", autoreset_mode="Disabled", max_cycles=1),
        AllSeatsVectorEnv(ID, 8, autoreset_mode="Disabled", max_cycles=1),
    ):
        env.reset(seed=0)
        env.step(env.sample_actions())
        with pytest.raises(
            RuntimeError, match=r"episodes of games \[0, 1.*\] are over, and autoreset_mode is 'Disabled': call reset"
        ):
            env.step(np.zeros(env.num_envs, np.int64))
        env.reset(options={"reset_mask": np.ones(env.num_envs, np.bool_)})
        env.step(env.sample_actions())


@pytest.mark.parametrize("mode", MODES)
def test_new_opponents_take_over_game_by_game_in_every_mode(mode: AutoresetMode) -> None:
    env = SingleAgentVectorEnv(ID, 6, "highest", autoreset_mode=mode)
    env.reset(seed=0)
    begun_by = env.batch.group.copy()
    groups = env.set_opponent_groups(["lowest", "highest"])
    started = np.zeros(6, np.bool_)
    over = started
    for _ in range(60):
        if mode == AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
            started |= over
        elif mode == AutoresetMode.NEXT_STEP:
            started = started | over
        _, _, terminated, truncated, _ = env.step(env.sample_actions())
        over = terminated | truncated
        if mode == AutoresetMode.SAME_STEP:
            started = started | over
        assert (env.batch.group == np.where(started, np.repeat(groups, 3), begun_by)).all()
    assert started.all()
    assert len(env.batch._groups) == 2, "those that began the first games are gone"


# --- all seats ---------------------------------------------------------------------------------------------------------------

ALL_SEATS: list[dict[str, Any]] = [
    {},
    {"players": 2, "memory": True, "limb_reward": -0.25},
    {"players": 3, "reward": "placement", "history": True},
    {"players": 6, "max_cycles": 7},
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", ALL_SEATS, ids=str)
def test_rows_of_all_seats_are_those_of_parallel_env(options: dict[str, Any], mode: AutoresetMode) -> None:
    games = 3
    twins = [getbit_env.parallel_env(**options) for _ in range(games)]
    players = twins[0].variant.players
    env: Any = gymnasium.make_vec("getbit_env:getbit/GetBitAllSeats-v0", num_envs=games * players, autoreset_mode=mode, **options)
    assert env.metadata["autoreset_mode"] is mode
    observations, infos = env.reset(seed=4)
    now = [twin.reset(seed=4 + game)[0] for game, twin in enumerate(twins)]
    rng, deaths, ends = np.random.default_rng(0), 0, 0

    def check(game: int) -> None:
        """Observations, masks and who lives; dead rows are zero with masks of ones."""
        for p in range(players):
            row, name = game * players + p, f"player_{p}"
            lives = name in twins[game].agents
            assert infos["alive"][row] == infos["acts"][row] == lives
            if lives:
                assert np.array_equal(observations[row], now[game][name]["observation"])
                assert np.array_equal(infos["action_mask"][row], now[game][name]["action_mask"])
            elif twins[game].agents:
                assert not observations[row].any()
                assert infos["action_mask"][row].all()

    for game in range(games):
        check(game)
    for _ in range(60):
        masks = infos["action_mask"]
        actions = np.where(rng.random(env.num_envs) < 0.1, rng.integers(masks.shape[1], size=env.num_envs), masks.argmax(axis=1))
        waited = [not twin.agents for twin in twins]
        observations, rewards, terminated, truncated, infos = env.step(actions)
        for game, twin in enumerate(twins):
            rows = slice(game * players, game * players + players)
            if waited[game]:
                assert mode == AutoresetMode.NEXT_STEP
                now[game], _ = twin.reset()
                told: tuple[dict[str, Any], ...] = ({}, {}, {}, {})
            else:
                now[game], *of_agents = twin.step({name: int(actions[rows][int(name[-1])]) for name in twin.agents})
                told = tuple(of_agents)
            for p in range(players):
                row, name = game * players + p, f"player_{p}"
                assert rewards[row] == pytest.approx(told[0].get(name, 0))
                assert terminated[row] == told[1].get(name, False)
                assert truncated[row] == (told[2].get(name, False) and not told[1][name])
                info = told[3].get(name, {"placement": 0, "illegal_action": False})
                assert infos["placement"][row] == info["placement"]
                assert infos["illegal_action"][row] == info["illegal_action"]
            deaths += terminated[rows].sum()
            if not twin.agents:
                ends += 1
                if mode == AutoresetMode.SAME_STEP:
                    for row in np.flatnonzero(truncated[rows]) + rows.start:
                        last = now[game][f"player_{row - rows.start}"]["observation"]
                        assert np.array_equal(infos["final_obs"][row], last)
                        assert infos["_final_obs"][row]
                    now[game], _ = twin.reset()
                elif not terminated[rows].all():  # cut off: what is seen is the last position, to bootstrap from
                    for row in np.flatnonzero(truncated[rows]) + rows.start:
                        assert np.array_equal(observations[row], now[game][f"player_{row - rows.start}"]["observation"])
            check(game)
        if mode == AutoresetMode.SAME_STEP:
            assert ("final_obs" in infos) == truncated.any()
        over = ~infos["alive"].reshape(-1, players).any(axis=1)
        if mode == AutoresetMode.DISABLED and over.any():
            observations, infos = env.reset(options={"reset_mask": np.repeat(over, players)})
            for game in np.flatnonzero(over):
                now[game], _ = twins[game].reset()
                check(game)
    assert ends > 3
    assert deaths > 3 or "max_cycles" in options


@pytest.mark.parametrize("options", [{"players": 2, "level": 2, "coins": 2}, {"players": 3, "max_cycles": 8}], ids=str)
def test_rows_of_all_seats_of_a_sequential_game_are_those_of_its_environment(options: dict[str, Any]) -> None:
    """One row of each game acts, the others look on; a reward comes also in a row that did not act."""
    twin = raw_env(**options)
    players = twin.variant.players
    env: Any = gymnasium.make_vec(
        "getbit_env:getbit/SharksAreWildAllSeats-v0", num_envs=2 * players, autoreset_mode="NextStep", **options
    )
    observations, infos = env.reset(seed=6)
    twin.reset(seed=6)
    ends = passive = 0
    rng = np.random.default_rng(1)
    for _ in range(400):
        acts = int(infos["acts"][:players].argmax())
        going = infos["alive"].reshape(-1, players).all(axis=1)
        assert (infos["acts"].reshape(-1, players).sum(axis=1) == going).all(), "one row of each game that goes on"
        for p, name in enumerate(twin.possible_agents):
            seen = twin.observe(name)
            assert np.array_equal(observations[p], seen["observation"])
            if p == acts:
                assert np.array_equal(infos["action_mask"][p], seen["action_mask"])
        over = twin.terminations["player_0"] or twin.truncations["player_0"]
        assert infos["alive"][:players].all() == (not over)
        masks = infos["action_mask"]
        actions = (rng.random(masks.shape) * masks).argmax(1)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        if over:
            twin.reset()
            assert not rewards[:players].any()
            continue
        assert twin.agent_selection == f"player_{acts}"
        twin.step(int(actions[acts]))
        ended = twin.terminations["player_0"] or twin.truncations["player_0"]
        for p, name in enumerate(twin.possible_agents):
            assert (terminated[p], truncated[p]) == (twin.terminations[name], twin.truncations[name])
            assert rewards[p] == pytest.approx(twin.rewards[name] if ended else 0)
            passive += p != acts and rewards[p] != 0
        ends += ended
    assert ends > 2
    assert passive > 0 or "max_cycles" in options


# --- memory ------------------------------------------------------------------------------------------------------------------


def test_what_all_seats_return_is_the_memory_of_the_engine() -> None:
    env: Any = AllSeatsVectorEnv(ID, 32)
    observations, infos = env.reset(seed=0)
    tensors = [torch.from_numpy(array) for array in (observations, infos["action_mask"], infos["alive"])]
    assert np.shares_memory(observations, env.batch.engine.observation)
    assert np.shares_memory(infos["action_mask"], env.batch.engine.action_mask)
    assert tensors[0].data_ptr() == env.batch.engine.observation.ctypes.data
    step = env.step(env.sample_actions())
    arrays = [*step[:4], *(array for name, array in step[4].items() if not name.startswith("_"))]
    for _ in range(12):
        later = env.step(env.sample_actions())
        now = [*later[:4], *(array for name, array in later[4].items() if not name.startswith("_"))]
        for mine, new in zip(arrays, now, strict=True):
            assert mine.ctypes.data == new.ctypes.data, "the same buffers, overwritten"
    assert np.array_equal(tensors[0].numpy(), later[0])
    assert np.array_equal(tensors[2].numpy(), later[4]["alive"])


@pytest.mark.parametrize("make", [lambda **k: SingleAgentVectorEnv(ID, 8, **k), lambda **k: AllSeatsVectorEnv(ID, 8, **k)])
def test_copies_stay_as_they_are_and_buffers_need_no_copy_to_become_tensors(make: Any) -> None:
    env = make(copy=True)
    seen, infos = env.reset(seed=0)
    step = env.step(env.sample_actions())
    kept = [seen, *infos.values(), *step[:4], *step[4].values()]
    before = copy.deepcopy(kept)
    for _ in range(20):
        step = env.step(env.sample_actions())
        assert not any(np.shares_memory(array, env.batch.engine.observation) for array in step[:4])
    for mine, as_it_was in zip(kept, before, strict=True):
        assert np.array_equal(mine, as_it_was)
    env = make(copy=False)
    seen, infos = env.reset(seed=0)
    tensor, mask = torch.from_numpy(seen), torch.from_numpy(infos["action_mask"])
    seen, _, _, _, infos = env.step(env.sample_actions())
    assert tensor.data_ptr() == seen.ctypes.data
    assert mask.data_ptr() == infos["action_mask"].ctypes.data
    assert np.array_equal(tensor.numpy(), seen)


# --- legal play at random, wrappers, pictures ----------------------------------------------------------------------------------


def test_actions_at_random_are_legal_and_all_alike() -> None:
    for env in (SingleAgentVectorEnv(ID, 2000), AllSeatsVectorEnv(ID, 2000)):
        with pytest.raises(RuntimeError, match=r"call reset\(\) before sample_actions"):
            env.sample_actions()
        env.reset(seed=0)
        counts = np.bincount(env.sample_actions(), minlength=5)
        assert counts.min() > 2000 / 5 * 0.8
        for _ in range(12):
            actions = env.sample_actions()
            assert env.action_mask[np.arange(2000), actions].all()
            assert not env.step(actions)[4]["illegal_action"].any()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_wrappers_of_gymnasium_do_with_it_what_they_do_with_its_own(mode: AutoresetMode) -> None:
    fast, slow = both(ID, mode, 4, opponents="highest")

    def wrapped(env: Any) -> Any:
        env = wrappers.RecordEpisodeStatistics(env)
        env = wrappers.TransformReward(env, lambda reward: 2 * reward)
        return wrappers.NormalizeObservation(env) if mode == AutoresetMode.NEXT_STEP else env  # it takes no other mode

    one, two = wrapped(fast), wrapped(slow)
    told = 0
    masks = one.reset(seed=1)[1]["action_mask"]
    two.reset(seed=1)
    for _ in range(60):
        actions = masks.argmax(axis=1)
        mine, theirs = one.step(actions), two.step(actions)
        for a, b in zip(mine[:4], theirs[:4], strict=True):
            assert np.allclose(a, b)
        masks = mine[4]["action_mask"]
        assert ("episode" in mine[4]) == ("episode" in theirs[4])
        if "episode" in mine[4]:
            told += 1
            for key in ("r", "l"):
                assert np.allclose(mine[4]["episode"][key], theirs[4]["episode"][key])
    assert told > 3
    assert isinstance(wrappers.DictInfoToList(fast).reset(seed=0)[1][0], dict)


def test_pictures_are_those_of_the_games() -> None:
    pytest.importorskip("pygame")
    scalar = SingleAgentEnv(ID, "highest", render_mode="rgb_array", seat=0)
    one: Any = gymnasium.make_vec(f"getbit_env:{ID}", num_envs=2, opponents="highest", seat=0, render_mode="rgb_array")
    seats: Any = gymnasium.make_vec("getbit_env:getbit/GetBitAllSeats-v0", num_envs=8, render_mode="rgb_array")
    for env in (one, seats):
        with pytest.raises(RuntimeError, match=r"call reset\(\) before render"):
            env.render()
        env.reset(seed=5)
        assert len(env.render()) == env.num_envs
        assert env.render()[0].dtype == np.uint8
    scalar.reset(seed=5)
    assert np.array_equal(one.render()[0], scalar.render())
    assert all(np.array_equal(picture, seats.render()[0]) for picture in seats.render()[:4])
    assert not np.array_equal(seats.render()[3], seats.render()[4])
    assert gymnasium.make_vec(f"getbit_env:{ID}", num_envs=2).render() is None


@pytest.mark.parametrize("name", ["GetBit-v0", "GetBitAllSeats-v0"])
def test_record_video_films_the_games(name: str, tmp_path: Path) -> None:
    moviepy = pytest.importorskip("moviepy", reason="MoviePy is not installed; nox -s movies")
    games: Any = gymnasium.make_vec(f"getbit_env:getbit/{name}", num_envs=4, render_mode="rgb_array", autoreset_mode="NextStep")
    env = wrappers.RecordVideo(games, str(tmp_path / "films"), step_trigger=lambda step: step == 2, video_length=5, fps=2)
    _, infos = env.reset(seed=1)
    for _ in range(10):
        *_, infos = env.step(infos["action_mask"].argmax(1))
    env.close()
    (film,) = (tmp_path / "films").glob("*.mp4")
    with moviepy.VideoFileClip(str(film)) as clip:
        frames = list(clip.iter_frames())
    assert len(frames) >= 5  # Gymnasium takes one more than `video_length`
    assert (frames[0] != frames[-1]).any()


@pytest.mark.parametrize("number", [0, 1])
def test_examples_of_the_page_run(number: int) -> None:
    page = (Path(__file__).parent.parent / "docs" / "gymnasium.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    found: dict[str, Any] = {}
    exec(blocks[number], found)
    if number == 1:
        assert found["alive"].float().mean() < 1, "some seats were out"
        assert (found["chosen"] < found["actions"]).all()
        assert found["loss"].isfinite()
        assert found["seen"].data_ptr() != found["observations"].ctypes.data


# --- what is refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"autoreset_mode": "now"}, ValueError, "autoreset_mode is one of 'NextStep', 'SameStep', 'Disabled', or a gymnasium"),
        ({"opponent": "random"}, TypeError, "unexpected keyword argument 'opponent'; did you mean 'opponents'?"),
        ({"half_limb": True}, TypeError, "did you mean 'half_limbs'?"),
        ({"render_mode": "human"}, ValueError, "render_mode of a vector environment is None or 'rgb_array', not 'human'"),
        ({"seat": 4}, ValueError, "seat is 0 to 3, or None to draw it anew each game, not 4"),
        ({"num_envs": 0}, ValueError, "games is a whole number, at least 1, not 0"),
        ({"illegal_action": "ignore"}, ValueError, "illegal_action is one of 'lowest', 'raise', not 'ignore'"),
        ({"max_cycles": 0}, ValueError, "max_cycles is a whole number, at least 1"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused_by_name(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gymnasium.make_vec(f"getbit_env:{ID}", **{"num_envs": 2, **options})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_envs": 10}, ValueError, "num_envs is a multiple of 4, the players of 4p: a row is a seat; not 10"),
        ({"num_envs": 1.5}, ValueError, "num_envs is a whole number, at least 1, not 1.5"),
        ({"opponents": "random"}, TypeError, "unexpected keyword argument 'opponents'"),
        ({"autoreset": "SameStep"}, TypeError, "did you mean 'autoreset_mode'?"),
    ],
    ids=str,
)
def test_wrong_arguments_of_all_seats_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AllSeatsVectorEnv(ID, **{"num_envs": 8, **options})


@pytest.mark.parametrize("make", [lambda **k: SingleAgentVectorEnv(ID, 8, **k), lambda **k: AllSeatsVectorEnv(ID, 8, **k)])
def test_a_wrong_call_is_refused_and_changes_nothing(make: Any) -> None:
    env, twin = make(), make()
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step"):
        env.step(np.zeros(8, np.int64))
    for each in (env, twin):
        each.reset(seed=2)
    for arguments, message in (
        ({"seed": -1}, "seed is a whole number, at least 0"),
        ({"seed": [1]}, r"or a list with one for each of \d, not 1 of them"),
        ({"options": [1]}, "options is a dict such as"),
        ({"options": {"line": [0, 1, 2, 3]}}, "there is no 'line': starts are drawn from the seed"),
        ({"options": {"reset_mask": [True] * 8}}, r"reset_mask is a bool array \[8\] with a True in it"),
        ({"options": {"reset_mask": np.zeros(8, np.bool_)}}, r"reset_mask is a bool array \[8\] with a True in it"),
        ({"options": {"reset_mask": np.ones(7, np.bool_)}}, r"reset_mask is a bool array \[8\] with a True in it"),
    ):
        with pytest.raises(ValueError, match=message):
            env.reset(**arguments)
    for actions in (np.zeros(7, np.int64), np.zeros(8), np.full(8, 5), np.full(8, -1), "x", None):
        with pytest.raises(ValueError, match=r"actions are 8 whole numbers 0\.\.4, not"):
            env.step(actions)
    for _ in range(10):
        actions = env.sample_actions()
        assert np.array_equal(actions, twin.sample_actions())
        assert np.array_equal(env.step(actions)[0], twin.step(actions)[0])


def test_a_reset_mask_is_about_whole_games() -> None:
    env = AllSeatsVectorEnv(ID, 8)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="reset_mask is True for all 4 rows of a game or for none"):
        env.reset(options={"reset_mask": np.arange(8) < 6})


@pytest.mark.parametrize("make", [lambda **k: SingleAgentVectorEnv(ID, 8, **k), lambda **k: AllSeatsVectorEnv(ID, 8, **k)])
def test_an_illegal_action_is_replaced_or_refused(make: Any) -> None:
    lenient, strict = make(), make(illegal_action="raise")
    for env in (lenient, strict):
        env.reset(seed=0)
        env.step(np.full(8, 4))
    with pytest.raises(ValueError, match=r"row 0: action 4 is illegal, legal are \[0, 1, 2, 3\]"):
        strict.step(np.full(8, 4))
    assert lenient.step(np.full(8, 4))[4]["illegal_action"].all()
    assert np.array_equal(lenient.action_mask, make_again(strict).action_mask), "nothing had happened"


def make_again(strict: Any) -> Any:
    """The strict environment after the lowest legal actions, which the lenient one has played."""
    strict.step(strict.action_mask.argmax(axis=1))
    return strict


def test_ids_are_registered_once_with_entry_points_that_import_nothing_early() -> None:
    for game in (ID, SHARKS_ID):
        assert gymnasium.spec(game).vector_entry_point == "getbit_env.vector_envs:SingleAgentVectorEnv"
        all_seats = gymnasium.spec(game.replace("-v0", "AllSeats-v0"))
        assert (all_seats.entry_point, all_seats.vector_entry_point) == (None, "getbit_env.vector_envs:AllSeatsVectorEnv")
    assert issubclass(SingleAgentVectorEnv, VectorEnv)
