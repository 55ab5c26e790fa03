"""The games in RLlib, and the recipe over it. `nox -s ray` runs these tests; without Ray they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from getbit_env import load_agent
from getbit_env.game_registry import find_variant, game_of
from getbit_env.match import play_match
from getbit_env.network import NetworkAgent

ray: Any = pytest.importorskip("ray")
torch: Any = pytest.importorskip("torch")
ppo: Any = pytest.importorskip("ray.rllib.algorithms.ppo.ppo_catalog")
model_config: Any = pytest.importorskip("ray.rllib.core.rl_module.default_model_config")
rllib: Any = pytest.importorskip("getbit_env.rllib", exc_type=ImportError)
rllib_selfplay: Any = pytest.importorskip("train.rllib_selfplay", exc_type=ImportError)

OBS, LOGITS = "obs", "action_dist_inputs"  # RLlib's names
MASK, OBSERVATIONS, RLlibGameEnv, MaskedPPOModule = rllib.MASK, rllib.OBSERVATIONS, rllib.RLlibGameEnv, rllib.MaskedPPOModule
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own code warns of what it will change

GAMES = ["2p", "3p", "4p", "5p-4c-2l", "sharks-3p-level1"]


def play(env: Any, seed: int) -> list[tuple[Any, ...]]:
    """A game of random legal play."""
    generator = np.random.default_rng(seed)
    observations, infos = env.reset(seed=seed)
    steps: list[tuple[Any, ...]] = [(observations, {}, {}, {}, infos)]
    while True:
        acting = {agent: seen for agent, seen in observations.items() if agent in env.agents}
        actions = {agent: int(generator.choice(np.flatnonzero(seen[MASK]))) for agent, seen in acting.items()}
        steps.append(env.step(actions))
        observations, _, terminated, truncated, _ = steps[-1]
        if terminated["__all__"] or truncated["__all__"]:
            return steps


@pytest.mark.parametrize("name", GAMES)
def test_observations_lie_in_their_spaces_and_every_agent_ends_once(name: str) -> None:
    env = RLlibGameEnv({"variant": name})
    assert set(env.observation_spaces) == set(env.action_spaces) == set(env.possible_agents)
    for seed in range(5):
        ended: dict[str, int] = dict.fromkeys(env.possible_agents, 0)
        total = dict.fromkeys(env.possible_agents, 0.0)
        steps = play(env, seed)
        for observations, rewards, terminated, truncated, _ in steps:
            for agent, seen in observations.items():
                assert env.observation_spaces[agent].contains(seen)
                assert seen[OBSERVATIONS].dtype == seen[MASK].dtype == np.float32
            for agent, reward in rewards.items():
                total[agent] += reward
            for agent in env.possible_agents:
                if terminated.get(agent) or truncated.get(agent):
                    ended[agent] += 1
                    assert agent in observations
        assert set(ended.values()) == {1}
        assert env.agents == []
        assert sum(total.values()) == pytest.approx(0)
        assert max(total.values()) > 0


def test_the_same_seed_and_actions_give_the_game_of_pettingzoo() -> None:
    env = RLlibGameEnv({"variant": "4p", "reward": "placement"})
    other = game_of(find_variant("4p")).make_env(variant=find_variant("4p"), reward="placement")
    observations, _ = env.reset(seed=3)
    theirs, _ = other.reset(seed=3)
    while env.agents:
        for agent, seen in observations.items():
            np.testing.assert_array_equal(seen[OBSERVATIONS], theirs[agent]["observation"])
            np.testing.assert_array_equal(seen[MASK], theirs[agent]["action_mask"])
        actions = {agent: int(np.flatnonzero(observations[agent][MASK])[-1]) for agent in env.agents}
        observations, rewards, terminated, _, _ = env.step(actions)
        theirs, their_rewards, their_ends, _, _ = other.step(actions)
        assert rewards == their_rewards
        assert {**terminated, "__all__": None} == {**their_ends, "__all__": None}


def test_a_game_that_is_cut_off_is_truncated() -> None:
    *_, (_, _, terminated, truncated, _) = play(RLlibGameEnv({"variant": "4p", "max_cycles": 2}), 0)
    assert truncated["__all__"]
    assert not terminated["__all__"]


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="4q"):
        RLlibGameEnv({"variant": "4q"})
    with pytest.raises(TypeError, match="rewards"):
        RLlibGameEnv({"rewards": "win"})


def module_of(env: Any) -> Any:
    """A network for a game, as it is at the start of a run."""
    agent = env.possible_agents[0]
    return MaskedPPOModule(
        observation_space=env.observation_spaces[agent],
        action_space=env.action_spaces[agent],
        model_config=model_config.DefaultModelConfig(fcnet_hiddens=[16, 8], fcnet_activation="tanh", vf_share_layers=False),
        catalog_class=ppo.PPOCatalog,
    )


def seen_in_games(env: Any) -> dict[str, np.ndarray]:
    """What players see in some games, at their turn."""
    seen = [one for seed in range(4) for step in play(env, seed)[:-1] for one in step[0].values() if one[MASK].min() == 0]
    return {name: np.stack([one[name] for one in seen]) for name in (OBSERVATIONS, MASK)}


def test_illegal_actions_have_no_probability_and_exported_networks_play_the_same() -> None:
    env = RLlibGameEnv({"variant": "4p"})
    module, batch = module_of(env), seen_in_games(env)
    tensors = {name: torch.from_numpy(values) for name, values in batch.items()}
    for forward in (module.forward_inference, module.forward_exploration, module.forward_train):
        logits = forward({OBS: tensors})[LOGITS]
        chances = torch.softmax(logits, dim=1).detach().numpy()
        assert chances[batch[MASK] == 0].max() == 0
    network = NetworkAgent(rllib.network_layers(module.get_state()), find_variant("4p"))
    exported = network.probabilities(batch[OBSERVATIONS], batch[MASK].astype(np.int8))
    np.testing.assert_allclose(exported, chances, atol=1e-6)
    assert module.compute_values({OBS: tensors}).shape == (len(batch[MASK]),)
    with pytest.raises(ValueError, match="no weights of linear layers"):
        rllib.network_layers({"encoder.weight": np.zeros(3)})


def test_a_module_without_masks_is_refused() -> None:
    box = spaces.Box(0, 1, (3,), np.float32)
    with pytest.raises(ValueError, match="Dict of observations and action_mask"):
        MaskedPPOModule(observation_space=box, action_space=spaces.Discrete(2))


def nodes_of(cluster: Any) -> set[str]:
    """The nodes of a cluster without its head."""
    return {node.node_id for node in cluster.worker_nodes}


def test_environment_runners_play_on_the_other_nodes_of_a_cluster_and_go_on_when_one_is_lost(
    ray_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests below share a Ray of their own, which this one has to precede: a process is connected to one cluster at a time."""
    before = nodes_of(ray_cluster)
    played: list[set[str]] = []
    evaluate = rllib_selfplay._evaluate

    def evaluated(algorithm: Any, *arguments: Any) -> None:
        runners = algorithm.env_runner_group
        played.append(set(runners.foreach_env_runner(lambda _: ray.get_runtime_context().get_node_id(), local_env_runner=False)))
        evaluate(algorithm, *arguments)
        if len(played) == 1:
            ray_cluster.remove_node(next(iter(ray_cluster.worker_nodes)), allow_graceful=False)

    monkeypatch.setattr(rllib_selfplay, "_evaluate", evaluated)
    config = rllib_selfplay.Config(
        variant="3p-1r-4c-1l",
        ray=ray_cluster.address,
        env_runners=2,
        n_envs=8,
        n_steps=16,
        batch_size=128,
        eval_opponents=["random"],
        eval_starts=24,
        eval_freq=1,
        net_arch=[32],
        total_timesteps=3000,
    )
    rllib_selfplay.train(config, tmp_path / "run", quiet=True)
    assert not ray.is_initialized()
    assert played[0] == before
    assert played[-1] == nodes_of(ray_cluster)
    assert len(nodes_of(ray_cluster)) == len(before) - 1
    assert (tmp_path / "run" / "card.md").exists()


@pytest.fixture(scope="module")
def connected() -> Iterator[None]:
    """One Ray for all runs; a run leaves running what was there before."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    assert ray.is_initialized()
    ray.shutdown()


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("policies", ["shared", "separate"])
def test_a_run_is_an_agent_that_beats_random_and_goes_on(policies: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = {
        "variant": "3p-1r-4c-1l",
        "policies": policies,
        "n_envs": 16,
        "n_steps": 32,
        "eval_opponents": ["random"],
        "eval_starts": 24,
        "eval_freq": 4,
        "net_arch": [32],
        "learning_rate": 3e-3,
    }
    few = rllib_selfplay.Config(**options, total_timesteps=3000)
    rllib_selfplay.train(few, folder, quiet=True)
    (checkpoint,) = (folder / "rllib").iterdir()
    more = rllib_selfplay.Config(**options, total_timesteps=8000)
    rllib_selfplay.train(more, folder, quiet=True)
    (later,) = (folder / "rllib").iterdir()
    assert int(later.name) > int(checkpoint.name)
    assert {path.name for path in folder.iterdir()} >= {
        "config.json",
        "policy.safetensors",
        "card.md",
        "metrics.csv",
        "evaluation.csv",
    }
    names = {"shared"} if policies == "shared" else {"player_0", "player_1", "player_2"}
    assert {path.stem for path in (folder / "policies").iterdir()} == names
    result = play_match([load_agent(str(folder)), "random", "random"], "3p-1r-4c-1l", starts=240)
    low = result[result.line_up[0]].win.low
    assert low is None or low > 1 / 3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"policies": "many"}, "--policies is shared or separate, not 'many'"),
        ({"gpus": 1.0}, "--gpus are of learners: give --learners 1 or more"),
        ({"env_runners": -1}, "--env-runners is at least 0"),
        ({"n_envs": 4, "learners": 2}, "--batch-size 512 is more than the 128 steps of a rollout that a learner gets"),
    ],
)
def test_wrong_options_of_the_recipe_are_one_clear_error(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rllib_selfplay.Config(**option)
