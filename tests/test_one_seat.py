"""`begin` and `choose`: every agent plays one seat of a PettingZoo loop, in both games."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import RecurrentPPO

import getbit_env
from getbit_env import Agent, as_agent, load_agent, sharks_are_wild
from getbit_env.agent_registry import shipped_agents
from getbit_env.core.agent import SeatPlayer
from getbit_env.game_registry import find_game, game_ids, game_of
from getbit_env.get_bit.recall import perfect_recall
from getbit_env.sb3 import GetBitVecEnv, network_of

VARIANTS = {"getbit/GetBit-v0": ("4p-memory", "2p"), "getbit/SharksAreWild-v0": ("sharks-2p-level2",)}
GAMES = [(variant, bot) for game in game_ids() if game in VARIANTS for variant in VARIANTS[game] for bot in find_game(game).bots]


def lowest(observations: dict[str, Any], names: list[str]) -> dict[str, int]:
    return {name: int(observations[name]["action_mask"].argmax()) for name in names}


def play_parallel(env: Any, agent: Any, seed: int | None, env_seed: int | None = 1) -> list[int]:
    """A game of `player_1` against others who play their lowest cards: what it played."""
    observations, _ = env.reset(seed=env_seed)
    agent.begin(env, seed)
    played = []
    while env.agents:
        actions = lowest(observations, env.agents)
        if "player_1" in actions:
            actions["player_1"] = agent.choose(observations["player_1"])
            played.append(actions["player_1"])
            assert type(actions["player_1"]) is int
        observations, _, _, _, infos = env.step(actions)
        assert not any(info["illegal_action"] for info in infos.values())
    return played


def play_in_turns(env: Any, agent: Any, seed: int | None, env_seed: int | None = 1) -> list[int]:
    """The same in an AEC environment."""
    env.reset(seed=env_seed)
    agent.begin(env, seed)
    played = []
    for name in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        if termination or truncation:
            action = None
        elif name == "player_1":
            action = agent.choose(observation)
            assert observation["action_mask"][action]
            played.append(action)
        else:
            action = int(observation["action_mask"].argmax())
        env.step(action)
    return played


def environments(variant: str, **options: bool) -> list[tuple[Any, Any]]:
    """Each environment of a variant, with the function that plays it."""
    if variant.startswith("sharks"):
        return [(sharks_are_wild.env(variant=variant), play_in_turns)]
    return [
        (getbit_env.parallel_env(variant=variant, **options), play_parallel),
        (getbit_env.env(variant=variant, **options), play_in_turns),
    ]


@pytest.mark.parametrize(("variant", "bot"), GAMES)
def test_every_bot_plays_a_seat(variant: str, bot: str) -> None:
    games = []
    options: Any = getattr(load_agent(bot), "options", None)  # what it has to see
    wanted = {option: value for option, value in vars(options).items() if value} if options else {}
    for env, play in environments(variant, **wanted):
        agent = load_agent(bot)
        assert isinstance(agent, SeatPlayer)
        games.append([play(env, agent, 5), play(env, agent, None), play(env, load_agent(bot), 5)])
    for first, second, again in games:
        assert first == again, "the same seed, the same play"
        assert len(first) > 2
        if bot in ("random", "sharks-random"):
            assert first != second, "without a seed the stream goes on"
    assert all(game == games[0] for game in games), "the parallel and the AEC environment show the same"


@pytest.mark.parametrize("name", shipped_agents())
def test_every_shipped_agent_plays_a_seat(name: str) -> None:
    agent: Any = load_agent(name)
    wanted = {option: value for option, value in vars(agent.options).items() if value}
    for env, play in environments(agent.variant.name, **wanted):
        assert play(env, agent, 5) == play(env, load_agent(name), 5)
    if wanted:
        (env, _), *_ = environments(agent.variant.name)
        with pytest.raises(ValueError, match="was trained on"):
            agent.begin(env)
        with pytest.raises(RuntimeError, match=r"call begin\(env\)"):
            agent.choose(env.reset()[0]["player_0"])


def test_choose_is_act_of_one_row() -> None:
    """In the face-up and the memory game, against `reset` and `act` themselves; perfect recall remembers the game."""
    for variant in ("4p", "4p-memory"):
        for name in ("counter", "lookahead", "montecarlo"):
            env, agent = getbit_env.parallel_env(variant=variant), load_agent(name)
            played = play_parallel(env, load_agent(name), 5)
            observations, _ = env.reset(seed=1)
            agent.reset(env.layout, np.ones(1, bool), 5)
            wanted = []
            while env.agents:
                actions = lowest(observations, env.agents)
                if "player_1" in actions:
                    seen = observations["player_1"]
                    actions["player_1"] = int(agent.act(seen["observation"][None], seen["action_mask"][None])[0])
                    wanted.append(actions["player_1"])
                observations, *_ = env.step(actions)
            assert played == wanted


def uniform(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG001
    return mask / mask.sum(axis=1, keepdims=True)


class Own:
    """An agent without `begin` and `choose`, which remembers how many games and decisions it has had."""

    name = "own"

    def reset(self, layout: Any, begins: np.ndarray, seed: int | None) -> None:  # noqa: ARG002
        self.games = 1 if seed is not None else self.games + int(begins[0])
        self.decisions = 0

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
        self.decisions += 1
        return action_mask.argmax(axis=1)


def test_what_as_agent_makes_plays_a_seat() -> None:
    torch.manual_seed(0)
    env = getbit_env.parallel_env(variant="4p")
    recurrent = RecurrentPPO("MlpLstmPolicy", GetBitVecEnv(4, "random", seed=0), n_steps=8, batch_size=32, seed=0, device="cpu")
    for policy in (uniform, torch.nn.Linear(env.layout.size, 5), recurrent, "counter"):
        agent = as_agent(policy)
        assert play_parallel(env, agent, 5) == play_parallel(env, as_agent(policy), 5)
    own = Own()
    agent = as_agent(own)
    assert (agent.name, play_parallel(env, agent, 5)[0]) == ("own", 0)  # type: ignore[attr-defined]  # agents of others have names
    assert own.games == 1
    assert own.decisions > 2
    play_parallel(env, agent, None)
    assert own.games == 2
    with pytest.raises(AttributeError, match="choose"):
        own.choose  # type: ignore[attr-defined]  # noqa: B018


def test_a_recurrent_agent_forgets_at_the_beginning_of_a_game() -> None:
    env = getbit_env.parallel_env(variant="4p")
    model = RecurrentPPO(
        "MlpLstmPolicy", GetBitVecEnv(8, "random", seed=0), n_steps=16, batch_size=64, seed=0, device="cpu", learning_rate=1e-2
    )
    agent = as_agent(model.learn(512), deterministic=True)
    assert play_parallel(env, agent, 5) == play_parallel(env, agent, None) == play_parallel(env, agent, None)


def test_other_environments_say_what_is_played() -> None:
    agent = load_agent("counter")
    recalled = perfect_recall(getbit_env.parallel_env(variant="4p-memory"))
    assert play_parallel(recalled, agent, 5) == play_parallel(
        getbit_env.parallel_env(variant="4p-memory"), load_agent("counter"), 5
    )
    single = gymnasium.make("getbit_env:getbit/GetBit-v0", disable_env_checker=True)
    observation, info = single.reset(seed=1)
    agent.begin(single, 3)
    assert info["action_mask"][agent.choose(observation, info["action_mask"])]
    with pytest.raises(ValueError, match="give action_mask beside a vector"):
        agent.choose(observation)
    games: Any = GetBitVecEnv(3, "random", seed=1)
    agent.begin(games)
    assert agent.choose(games.reset()[0], games.action_masks()[0]) in range(5)
    agent.begin(games.layout)


def test_another_game_begins_everything_anew() -> None:
    """An agent that plays one variant and then another is as one that plays the other alone."""
    agent = load_agent("counter")
    for variant in ("4p-memory", "2p-memory", "4p", "4p-memory"):
        env = getbit_env.parallel_env(variant=variant)
        assert play_parallel(env, agent, None)


def test_nonsense_is_refused() -> None:
    agent, env = load_agent("random"), getbit_env.parallel_env()
    seen = env.reset(seed=1)[0]["player_0"]
    with pytest.raises(RuntimeError, match=r"call begin\(env\) at the start of each game, before choose\(observation\)"):
        agent.choose(seen)
    for wrong in (None, 3, "4p", gymnasium.make("CartPole-v1")):
        with pytest.raises(TypeError, match="env is an environment of this package"):
            agent.begin(wrong)
    with pytest.raises(ValueError, match="seed is a whole number, at least 0, or None, not -1"):
        agent.begin(env, -1)
    agent.begin(env, 1)
    with pytest.raises(ValueError, match=r"observation has observation and action_mask, not \['observation'\]"):
        agent.choose({"observation": seen["observation"]})
    with pytest.raises(ValueError, match=r"of 4p have 41 and 5 entries, not \[3\] and \[5\]"):
        agent.choose({**seen, "observation": [0, 1, 0]})
    with pytest.raises(ValueError, match="plays getbit/SharksAreWild-v0 and no other game"):
        load_agent("sharks-greedy").begin(env)

    class Wrong(Own, SeatPlayer):
        def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
            return np.array([7])

    wrong = Wrong()
    wrong.begin(env)
    with pytest.raises(ValueError, match="own played 7; legal are"):
        wrong.choose(seen)
    assert isinstance(wrong, Agent)


def test_networks_made_of_models_play_a_seat() -> None:
    env = getbit_env.parallel_env(variant="4p")
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", GetBitVecEnv(4, "random", seed=0), n_steps=8, batch_size=32, seed=0, device="cpu")
    assert game_of(env.variant).id == network_of(model).game
    assert play_parallel(env, network_of(model), 5) == play_parallel(env, as_agent(model), 5)
