"""The examples of frameworks train with masks and beat random; each is skipped where its framework is not installed.

`docs/frameworks.md` says what each was tried with; `noxfile.py` installs that and runs these tests.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from getbit_env.match import MatchResult

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "frameworks.md").read_text()

pytestmark = [pytest.mark.usefixtures("one_torch_thread"), pytest.mark.filterwarnings("ignore")]  # the frameworks warn a lot


def trained(example: str, needs: str, *arguments: str) -> MatchResult:
    """What an example returns. The match has 600 starts, each in four rotations: its interval is about 0.02 wide either way."""
    pytest.importorskip(needs, reason=f"{needs} is not installed", exc_type=ImportError)
    result: MatchResult = importlib.import_module(f"examples.{example}").main(["--starts", "600", *arguments])
    assert result.failure is None
    return result


# An equal share of the wins is 0.25. The bounds are well below what the page says was measured.
@pytest.mark.parametrize(
    ("example", "needs", "total_timesteps", "beats"),
    [
        ("cleanrl_ppo", "torch", 100_000, 0.30),
        ("centralised_critic", "torch", 30_000, 0.30),
        ("curriculum", "sb3_contrib", 100_000, 0.30),
        ("supersuit_ppo", "supersuit", 20_000, 0.28),
        ("tianshou_dqn", "tianshou", 3_000, 0.30),
        ("torchrl_ppo", "torchrl", 10_000, 0.29),
        ("benchmarl_ippo", "benchmarl", 24_000, 0.28),
        ("agilerl_ppo", "agilerl", 60_000, 0.30),
        ("pufferlib_ppo", "pufferlib", 60_000, 0.30),
    ],
    ids=["cleanrl", "critic", "curriculum", "supersuit", "tianshou", "torchrl", "benchmarl", "agilerl", "pufferlib"],
)
def test_an_example_beats_random(example: str, needs: str, total_timesteps: int, beats: float) -> None:
    result = trained(example, needs, "--total-timesteps", str(total_timesteps))
    assert result["learner"].win.low > beats


def test_the_critic_plays_the_memory_game_in_which_it_sees_more_than_the_players() -> None:
    result = trained("centralised_critic", "torch", "--total-timesteps", "2000", "--variant", "4p-memory")
    assert result["learner"].seats == 1


def test_a_lesson_ends_when_the_learner_wins_often_enough() -> None:
    pytest.importorskip("sb3_contrib", reason="sb3_contrib is not installed")
    from sb3_contrib import MaskablePPO

    from examples.curriculum import LESSONS, Curriculum
    from getbit_env.sb3 import GetBitVecEnv

    for win, lesson in ((0.0, len(LESSONS) - 1), (1.1, 0)):
        env = GetBitVecEnv(32, variant="4p", seed=0)
        model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=512, n_epochs=1, seed=0, device="cpu")
        callback = Curriculum(games=20, win=win)
        model.learn(32 * 16 * 10, callback=callback)
        assert callback.lesson == lesson


def test_tianshou_is_told_all_payoffs_with_fixed_population_where_the_plain_route_loses_some() -> None:
    """Why Tianshou is given `fixed_population`: in the plain AEC form it reads no reward of an agent that is out."""
    pytest.importorskip("tianshou", reason="Tianshou is not installed")
    from pettingzoo.utils import parallel_to_aec
    from tianshou.env import PettingZooEnv

    import getbit_env
    from getbit_env.fixed_population import fixed_population

    def paid(env: PettingZooEnv) -> float:
        """The payoff that the learner, who always plays, is told over a hundred games."""
        rng, total = np.random.default_rng(0), 0.0
        for seed in range(100):
            seen, _ = env.reset(seed=seed)
            over = False
            while not over:
                action = rng.choice(np.flatnonzero(seen["mask"]))
                seen, rewards, terminated, truncated, _ = env.step(int(action))
                over = terminated or truncated  # Tianshou's collector ends an episode here
                total += sum(rewards)
        return total

    kept = paid(PettingZooEnv(parallel_to_aec(fixed_population(getbit_env.parallel_env()))))
    plain = paid(PettingZooEnv(getbit_env.env()))
    assert abs(kept) < 1e-6, "a game's payoffs add up to zero"
    assert abs(plain) > 1, "without it a game seems over when the first player is out, and the winner is not yet paid"


def test_ippo_of_agilerl_fails_on_masks_that_are_arrays() -> None:
    """Why the example is PPO: `docs/frameworks.md` says so of the version that `noxfile.py` installs."""
    pytest.importorskip("agilerl", reason="AgileRL is not installed")
    from agilerl.algorithms import IPPO

    import getbit_env
    from getbit_env.fixed_population import fixed_population

    env = fixed_population(getbit_env.parallel_env(), mask="infos")
    seats = env.possible_agents
    learner = IPPO([env.observation_space(seat) for seat in seats], [env.action_space(seat) for seat in seats], agent_ids=seats)
    observations, infos = env.reset(seed=0)
    with pytest.raises(ValueError, match="truth value of an array"):
        learner.get_action(obs=observations, infos=infos)
    listed = {seat: {"action_mask": info["action_mask"].tolist()} for seat, info in infos.items()}
    actions, *_ = learner.get_action(obs=observations, infos=listed)
    assert all(infos[seat]["action_mask"][int(actions[seat].item())] for seat in seats)


def test_the_page_names_the_versions_that_the_sessions_install() -> None:
    text = (ROOT / "noxfile.py").read_text()
    pins = dict(reversed(re.findall(r'"([\w-]+)==([\w.]+)"', text)))
    for package in ("open_spiel", "supersuit", "tianshou", "torchrl", "benchmarl", "shimmy", "agilerl", "pufferlib-core"):
        assert re.search(rf"\| {package} \| {re.escape(pins[package])} \|", PAGE, re.IGNORECASE), package


def test_the_session_of_a_framework_finds_by_name_all_that_needs_it() -> None:
    """`nox -s tianshou` runs what has its name in its own, as `noxfile.py` says with -k; nothing else installs it."""
    sessions = ("supersuit", "tianshou", "torchrl", "benchmarl", "agilerl", "pufferlib")
    tests = re.split(r"^def ", Path(__file__).read_text(), flags=re.MULTILINE)[1:]
    needs = [(test.partition("(")[0], name) for test in tests for name in re.findall(r'importorskip\("(\w+)"', test)]
    found = [(test, name) for test, name in needs if name in sessions]
    assert found
    assert [(test, name) for test, name in found if name not in test] == []


def test_what_the_page_points_to_is_there() -> None:
    named = re.findall(r"\]\(\.\./([\w/.]+)\)", PAGE)
    assert len(named) > 6
    for file in named:
        assert (ROOT / file).exists(), file
