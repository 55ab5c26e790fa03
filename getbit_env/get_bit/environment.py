"""Get Bit! as PettingZoo environments. The rules are in `rules`, what is seen in `observations`, the drawing in `rendering`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv, ParallelEnv

from getbit_env.core.choices import (
    IllegalAction,
    finite,
    options_from,
    reset_options,
    seed_or_none,
    taking_arguments_of,
    whole_numbers,
)
from getbit_env.core.environment import GameEnv, Observation, OrderEnforcedEnv, TurnBased
from getbit_env.core.messages import shown
from getbit_env.core.snapshots import check_origin, check_position, read_flag, read_list, read_stream, same
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import cards_of, check_line
from getbit_env.get_bit.observations import Layout, OptionNames, Options
from getbit_env.get_bit.variants import ID, Reward, ThreePlayerEnding, Variant, choose_variant

Infos = dict[str, dict[str, Any]]
Step = tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Infos]


class GetBitParallelEnv(GameEnv, ParallelEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo ships no types
    """Get Bit!, all players choosing at the same time. Make it with `parallel_env`, which says what the options are.

    | fact | value |
    | --- | --- |
    | agents | `player_0` ... `player_{players-1}`; robot `r` belongs to player `r // robots_per_player` |
    | actions | `Discrete(C)`, card - 1; with two robots a player `Discrete(C * C)` |
    | observations | `{"observation": float32 [D], "action_mask": int8 [A]}` |
    | rewards | when a player's fate is decided; see `parallel_env` |
    | an agent ends | when its robot is out (G4.4), or with the game (G6); it appears once more in what `step` returns |

    With two robots the action is (card of the own robot nearer the front - 1) * C + (card of the one nearer the shark - 1).

    Attributes:
        variant: the game.
        layout: what the entries of an observation mean; `layout.table()` is its documentation.
        state_layout: the same for `state()`.
        max_cycles: rounds after which a game is cut off, or None; may be written at any time.
        render_mode: None, "ansi", "rgb_array" or "human".

    Version history:
        v0: the first.
    """

    variant: Variant
    layout: Layout
    state_layout: Layout
    title = "Get Bit!"
    rendering = "getbit_env.get_bit.rendering"
    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo reads it from the class
        "name": "get_bit_v0",
        "render_modes": ["ansi", "rgb_array", "human"],
        "render_fps": 2,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        variant: Variant,
        *,
        reward: Reward | str,
        limb_reward: float,
        illegal_action: IllegalAction | str,
        options: Options,
        max_cycles: int | None,
        render_mode: str | None,
    ) -> None:
        self._limb_reward = finite("limb_reward", limb_reward)
        super().__init__(
            Engine(variant, 1, options=options),
            Layout(_face_up(variant), Options(observe_last=True, identity=True)),
            illegal_action=illegal_action,
            max_cycles=max_cycles,
            render_mode=render_mode,
        )
        # Rewards are taken from here and not from the engine, whose float32 makes them sum to something else than zero.
        self._pays: list[float] = variant.reward_of_finish(reward).tolist()
        self._placement = [0] * variant.players
        self._cut_off = False
        self._resets = 0  # how often a game was begun or restored

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[dict[str, Observation], Infos]:
        """Begin a game.

        Args:
            seed: fixes this game and those that follow; without one the stream of the last seed goes on.
            options: `{"line": [robots, front to back]}` sets the starting line. Other options are ignored.

        Returns:
            Observations and infos of all agents.

        Raises:
            ValueError: the seed is no whole number of at least 0, `options` is no dict, or the line is not an order of the robots.
                Nothing has happened then.
        """
        seed = seed_or_none(seed)
        line = reset_options(options, "{'line': [2, 0, 1, 3]}").get("line")
        line = None if line is None else self._read_line("line", line)
        if self.render_mode == "human":
            return self._shown(lambda: self._reset(seed, line))
        return self._reset(seed, line)

    def _reset(self, seed: int | None, line: list[int] | None) -> tuple[dict[str, Observation], Infos]:
        if seed is not None:
            self._engine.seed(seed)
        self._engine.start(starts=None if line is None else [line])
        self._start = np.argsort(self._engine.state.place[:, 0]).tolist()
        self._played, self._placement, self._cut_off = [], [0] * self.variant.players, False
        self._agents = self._names[:]
        self._resets += 1
        return self._observe(self._agents)

    def step(self, actions: Mapping[str, int]) -> Step:
        """Play a round.

        Args:
            actions: an action for each of `agents`, no more and no fewer.

        Returns:
            Observations, rewards, terminations, truncations and infos of those agents. An info holds
            `action_mask`; `illegal_action`, True if the action asked for was illegal and was replaced; and `placement`, 1 = winner,
            0 while the player's fate is open.

        Raises:
            RuntimeError: the environment was never reset.
            ValueError: an agent is missing, unknown or no longer playing, or its action is out of range, or (with
                `illegal_action="raise"`) illegal. Nothing has happened then.
            TypeError: `actions` is no dict, or an action is not a whole number.
        """
        if self._played is None:
            self._check_begun("step")
        agents, asked, seats = self._agents, self._asked, self._seats
        if actions.__class__ is not dict:
            if not isinstance(actions, Mapping):
                raise TypeError(f"actions is a dict with an action for each agent, such as {{'player_0': 2}}, not {shown(actions)}")
            actions = dict(actions)  # which, other than a defaultdict, has no action for an agent that it lacks
        if len(actions) != len(agents):
            self._refuse_agents(actions)
        if not agents:
            return {}, {}, {}, {}, {}
        try:
            for agent in agents:
                asked[0, seats[agent]] = self.check_action(agent, actions[agent])
        except KeyError:
            self._refuse_agents(actions)
        if self.render_mode == "human":
            return self._shown(self._step)
        return self._step()

    def _step(self) -> Step:
        agents, engine, seats, played = self._agents, self._engine, self._seats, self._played
        assert played is not None
        engine.play_and_observe_one(self._asked)
        played.append(engine.actions.tobytes())
        self._cut_off = self._max_cycles is not None and len(played) >= self._max_cycles and not engine.outcome.over[0]
        observations, infos = self._see(agents)
        finish: list[int] = engine.outcome.finish.ravel().tolist()
        replaced: list[int] = engine.replaced.ravel().tolist()
        rewards, terminations = dict.fromkeys(agents, self._pays[0]), dict.fromkeys(agents, False)
        decided = any(finish)  # in most rounds nobody's fate is, and no card was illegal: no loops then
        if decided:
            for agent in agents:
                place = finish[seats[agent]]
                if place:
                    self._placement[seats[agent]] = infos[agent]["placement"] = place
                    rewards[agent], terminations[agent] = self._pays[place], True
        if any(replaced):
            for agent in agents:
                infos[agent]["illegal_action"] = replaced[seats[agent]] > 0
        if self._limb_reward:
            lost = engine.outcome.bitten.reshape(self.variant.players, -1).sum(axis=1).tolist()
            for agent in agents:
                rewards[agent] += self._limb_reward * lost[seats[agent]]
        truncations = dict.fromkeys(agents, self._cut_off)
        if self._cut_off:
            self._agents = []
        elif decided:
            self._agents = [agent for agent in agents if not terminations[agent]]
        return observations, rewards, terminations, truncations, infos

    def state(self) -> NDArray[np.float32]:
        """The whole position, for centralised critics: `state_layout.size` entries float32, as `player_0` would see it in the
        face-up game with identities and the last cards shown.

        Raises:
            RuntimeError: the environment was never reset.
        """
        return super().state()

    def snapshot(self) -> dict[str, Any]:
        """The game so far as a plain dict for JSON: everything that there is to know, and what `restore` needs.

        Returns:
            `version`, `variant` (name), `round` (rounds played), `line` (robots in the line, front to back), `hands` (a sorted
            list of cards a robot), `tables` (a list a robot, in the order played), `limbs` (bites left a robot), `revealed`
            (cards of the last round a robot, null if it did not play; null before the first round), `bitten` (robot bitten in
            the last round, or null), `winner` (player or null), `placement` (a finishing place a player, null while undecided),
            `truncated`, `start` (starting line), `actions` (for each round, an action a player, null for a player who was out),
            `stream` (key as a hexadecimal string, numbers drawn).

        Raises:
            RuntimeError: the environment was never reset.
        """
        self._check_begun("snapshot")
        assert self._played is not None
        variant, state = self.variant, self._engine.state
        tables: list[list[int]] = [[] for _ in range(variant.robots)]
        joint: list[list[int | None]] = []
        again = Engine(variant, 1)
        again.start(starts=[self._start])
        for played in self._played:
            limbs = again.state.limbs.reshape(variant.players, -1).copy()
            actions = np.frombuffer(played, np.int64)
            joint.append([int(actions[p]) if limbs[p].any() else None for p in range(variant.players)])
            again.play(actions[None])
            for robot, table in enumerate(tables):
                table += cards_of(again.state.played[robot, 0])
                if again.state.hand[robot, 0] == variant.rules.deck:
                    table.clear()
        revealed = [next(iter(cards_of(bit)), None) for bit in state.played[:, 0]]
        return {
            "version": ID,
            "variant": variant.name,
            "round": len(self._played),
            "line": [int(r) for r in np.argsort(state.place[:, 0]) if state.limbs[r, 0]],
            "hands": [cards_of(hand) for hand in state.hand[:, 0]],
            "tables": tables,
            "limbs": state.limbs[:, 0].tolist(),
            "revealed": revealed if self._played else None,
            "bitten": next((int(r) for r in np.flatnonzero(self._engine.outcome.bitten[:, 0])), None) if self._played else None,
            "winner": self._placement.index(1) if 1 in self._placement else None,
            "placement": [place or None for place in self._placement],
            "truncated": self._cut_off,
            "start": self._start[:],
            "actions": joint,
            "stream": [hex(self._engine.streams[0]), int(self._engine.counters[0])],
        }

    def restore(self, snapshot: Mapping[str, Any]) -> tuple[dict[str, Observation], Infos]:
        """Go to the position of a snapshot; from there everything goes on as it would have where it was taken.

        Args:
            snapshot: what `snapshot` of an environment of the same variant returned, through JSON or not.

        Returns:
            Observations and infos of the agents that still play.

        Raises:
            ValueError: it is damaged, or of another version or variant, or what it says of the position is not what its actions
                lead to. Nothing has happened then.
        """
        again, _ = self._replayed(snapshot)
        self._become(again)
        return self._observe(self._agents)

    def infos_of_ended(self) -> Infos:
        """The infos of the agents that are no longer in `agents`, as of the last step that had infos for them.

        A wrapper that keeps these agents needs them after `restore`. Whether their last action was replaced is not stored.
        """
        self._check_begun("infos_of_ended")
        return {
            agent: {
                "action_mask": np.ones(self._limit, np.int8) if self._placement[p] else self._engine.action_mask[0, p].copy(),
                "illegal_action": False,
                "placement": self._placement[p],
            }
            for agent, p in self._seats.items()
            if agent not in self._agents
        }

    def _replayed(self, snapshot: Mapping[str, Any]) -> tuple[Self, Step | None]:
        """A twin of this environment in the position of a snapshot, and what its last step returned."""
        check_origin(snapshot, ID, self.variant.name, _SNAPSHOT_KEYS)
        line = self._read_line("the snapshot's start", snapshot["start"])
        truncated, stream = read_flag(snapshot, "truncated"), read_stream(snapshot)
        again, last = self._twin(), None
        again.max_cycles, again.render_mode = None, None
        again._reset(None, line)
        for number, joint in enumerate(read_list(snapshot, "actions", self.variant.most_rounds), 1):
            try:
                last = again.step(again._read_joint_action(joint))
            except (ValueError, TypeError) as error:
                raise ValueError(f"the snapshot's actions of round {number} can't be played: {error}") from error
            if any(info["illegal_action"] for info in last[-1].values()):
                raise ValueError(f"the snapshot's actions of round {number} can't be played: a card is not in its hand")
        if truncated:
            if last is None or not again._agents:
                raise ValueError("the snapshot says truncated, but its game is over or has not begun")
            again._agents, again._cut_off = [], True
            last = (*last[:3], dict.fromkeys(last[3], True), last[4])
        check_position(snapshot, again.snapshot(), but=("stream",))
        again._engine.streams[0], again._engine.counters[0] = stream
        again.max_cycles, again.render_mode = self.max_cycles, self.render_mode
        return again, last

    def _read_line(self, name: str, line: Any) -> list[int]:
        robots, wanted = whole_numbers(name, line), self.variant.robots
        if len(robots) != wanted:
            raise ValueError(
                f"{name} of {self.variant} holds each of the robots 0..{wanted - 1} once, front to back, not {shown(line)}"
            )
        check_line(self.variant, robots)
        return robots

    def _read_joint_action(self, joint: Any) -> dict[str, int]:
        """The actions of a round of a snapshot: a number for each player that plays, null for the others."""
        if not isinstance(joint, list | tuple) or len(joint) != self.variant.players:
            raise ValueError(f"they are a list with an entry for each player, not {shown(joint)}")
        for agent, p in self._seats.items():
            if (type(joint[p]) is int) != (agent in self._agents) or (agent not in self._agents and joint[p] is not None):
                wanted = "a whole number" if agent in self._agents else "null, since it is out"
                raise ValueError(f"that of {agent} is {wanted}, not {shown(joint[p])}")
        return {agent: joint[self._seats[agent]] for agent in self._agents}

    def _observe(self, agents: list[str]) -> tuple[dict[str, Observation], Infos]:
        self._engine.observe()
        return self._see(agents)

    def _see(self, agents: list[str]) -> tuple[dict[str, Observation], Infos]:
        """What was last observed, in fresh copies."""
        engine = self._engine
        seen, masks, info_masks = engine.observation[0].copy(), engine.action_mask[0].copy(), engine.action_mask[0].copy()
        observations, infos = {}, {}
        for agent in agents:
            p = self._seats[agent]
            observations[agent] = {"observation": seen[p], "action_mask": masks[p]}
            infos[agent] = {"action_mask": info_masks[p], "illegal_action": False, "placement": 0}
        return observations, infos

    def _refuse_agents(self, actions: Mapping[str, int]) -> None:
        for agent in self._agents:
            if agent not in actions:
                raise ValueError(f"no action for {agent}; these agents play: {', '.join(self._agents)}")
        agent = next(agent for agent in actions if agent not in self._agents)
        why, name = "is no agent of this environment", agent if isinstance(agent, str) and len(agent) < 100 else shown(agent)
        if agent in self._seats:
            why = "is out or its game is over"
        raise ValueError(f"an action for {name}, which {why}; these agents play: {', '.join(self._agents) or 'none, call reset()'}")


_SNAPSHOT_KEYS = {
    *("version", "variant", "round", "line", "hands", "tables", "limbs", "revealed", "bitten", "winner", "placement"),
    *("truncated", "start", "actions", "stream"),
}


def _face_up(variant: Variant) -> Variant:
    return Variant(**{**variant.__dict__, "memory": False})


def parallel_env(
    players: int | None = None,
    *,
    memory: bool = False,
    half_limbs: bool = False,
    pick_up_at: int = 2,
    three_player_ending: ThreePlayerEnding | str = ThreePlayerEnding.SKIP_LOSER,
    variant: Variant | str | None = None,
    reward: Reward | str = Reward.WIN,
    limb_reward: float = 0.0,
    illegal_action: IllegalAction | str = IllegalAction.LOWEST,
    max_cycles: int | None = None,
    render_mode: str | None = None,
    **observe: Unpack[OptionNames],
) -> GetBitParallelEnv:
    """Get Bit! as a PettingZoo `ParallelEnv`.

    Args:
        players: 2 to 7, by default 4; two and three players have two robots each.
        memory: tables lie face down; a player sees only the cards of the round just played (G7.3).
        half_limbs: the longer game, in which eight bites put a robot out (G4.2).
        pick_up_at: a hand down to so many cards takes its table back, 2 or 1 (G5).
        three_player_ending: "skip_loser" or "literal" (G6.3).
        variant: a `Variant` or its name, in place of the five options above; the way to custom small games ("3p-1r-4c-2l").
        reward: "win": +1 to the winner, -1/(players-1) to every other player; "placement": linear from +1 to -1 by finishing
            place. Given when a player's fate is decided.
        limb_reward: added per limb lost. Shaping: it changes which play is best.
        illegal_action: "lowest": each illegal card is replaced by the lowest of that robot's hand and flagged in the infos;
            "raise": an error.
        max_cycles: rounds after which the game is cut off, undecided: truncated, reward 0.
        render_mode: None, "ansi", "rgb_array" or "human".
        **observe: options of the observation, all False by default (`getbit_env.get_bit.Options`). `observe_last`: show the cards
            of the last round in the face-up game too. `identity`: show of every robot its owner, by seat, and which of the
            owner's robots it is. `history`: show all past rounds as the player saw them.

    Returns:
        The environment.

    Raises:
        ValueError: an option has a value that is not allowed, or the options make no game.
        TypeError: there is no option of that name.

    Examples:
        >>> from getbit_env import parallel_env
        >>> env = parallel_env(players=4)
        >>> observations, infos = env.reset(seed=1)
        >>> observations["player_0"]["observation"].shape, observations["player_0"]["action_mask"].tolist()
        ((41,), [1, 1, 1, 1, 1])
        >>> observations, rewards, terminations, truncations, infos = env.step({f"player_{i}": i for i in range(4)})
        >>> rewards["player_0"]
        0.0
    """
    return GetBitParallelEnv(
        choose_variant(
            variant,
            players,
            memory=memory,
            half_limbs=half_limbs,
            pick_up_at=pick_up_at,
            three_player_ending=three_player_ending,
        ),
        reward=reward,
        limb_reward=limb_reward,
        illegal_action=illegal_action,
        options=options_from(Options, observe, parallel_env),
        max_cycles=max_cycles,
        render_mode=render_mode,
    )


class GetBitAECEnv(TurnBased, AECEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo ships no types
    """The players choose one after another; nobody sees the choices of the round, which is played after the last one.

    Make it with `raw_env` or `env`. The attributes are those of the parallel environment.

    Attributes:
        env: the parallel environment. It must not be reset, stepped or restored by itself.
    """

    metadata: dict[str, Any]
    state_space: spaces.Box
    agent_selection: str
    infos: dict[str, dict[str, Any]]
    rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    env: GetBitParallelEnv

    def __init__(self, env: GetBitParallelEnv) -> None:
        self.env = env
        self.metadata = {**copy.deepcopy(env.metadata), "is_parallelizable": True}
        self.state_space = env.state_space
        self._agents = env.possible_agents
        self._skip_agent_selection = None
        self._observations: dict[str, Observation] = {}
        self._chosen: dict[str, int] = {}  # in this round, so far
        self._position = self._position_within()

    @property
    def possible_agents(self) -> list[str]:
        """All agents, in order of their seats."""
        return self.env.possible_agents

    @property
    def agents(self) -> list[str]:
        """The agents of the game in play, with those that ended and did not yet step with None. May be set to `[]`."""
        return self._agents[:]

    @agents.setter
    def agents(self, agents: Any) -> None:
        if list(agents) not in ([], self._agents):
            raise ValueError(f"agents may be set to [] alone, which breaks the game off, not to {shown(agents)}")
        self._agents = list(agents)

    @property
    def variant(self) -> Variant:
        """The game."""
        return self.env.variant

    @property
    def layout(self) -> Layout:
        """What the entries of an observation mean."""
        return self.env.layout

    @property
    def state_layout(self) -> Layout:
        """What the entries of `state()` mean."""
        return self.env.state_layout

    @property
    def max_cycles(self) -> int | None:
        """Rounds after which a game is cut off, or None; may be written at any time."""
        return self.env.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self.env.max_cycles = value

    @property
    def render_mode(self) -> str | None:
        """None, "ansi", "rgb_array" or "human"."""
        return self.env.render_mode

    @render_mode.setter
    def render_mode(self, value: str | None) -> None:
        self.env.render_mode = value

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a game; see `GetBitParallelEnv.reset`."""
        self._begin(*self.env.reset(seed=seed, options=options))

    def observe(self, agent: str) -> Observation:
        """What an agent saw when the round began, or when it ended.

        Raises:
            RuntimeError: the environment was never reset.
            ValueError: the agent is unknown, or ended earlier.
        """
        self._check_begun("observe")
        if not isinstance(agent, str) or agent not in self._observations:
            raise ValueError(f"{shown(agent)} sees nothing: these agents play: {', '.join(self._observations)}")
        return {name: part.copy() for name, part in self._observations[agent].items()}

    def step(self, action: int | None) -> None:
        """Take the action of `agent_selection`; a wrong one is refused at once, and can be mended.

        Args:
            action: its action; None for an agent that has ended, which then leaves `agents`.

        Raises:
            RuntimeError: the environment was never reset, or the game is over.
            ValueError: see `GetBitParallelEnv.check_action`; or an agent that has ended does something.
            TypeError: see `GetBitParallelEnv.check_action`.
        """
        self._check_playing("step")
        if self._position != self._position_within():
            raise RuntimeError("the parallel environment within was stepped by itself: reset() or restore() this one")
        agent = self.agent_selection
        live = self.env.agents
        if self._has_ended(agent) or agent not in live:
            self._was_dead_step(action)
            return
        chosen = {**self._chosen, agent: self.env.check_action(agent, action)}
        if len(chosen) == len(live):
            self._told(self.env.step(chosen))
            return
        if not self._chosen:
            self._clear_rewards()
        self._chosen = chosen
        self.agent_selection = live[len(chosen)]

    def snapshot(self) -> dict[str, Any]:
        """The game so far, as `GetBitParallelEnv.snapshot` has it. Two more entries are `agents`, and `chosen`: the actions of this
        round in the order of the agents.

        Raises:
            RuntimeError: the environment was never reset.
        """
        self._check_begun("snapshot")
        return {**self.env.snapshot(), "agents": self.agents, "chosen": list(self._chosen.values())}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go to the position of a snapshot; see `GetBitParallelEnv.restore`.

        A snapshot of the parallel environment is restored too: nobody has chosen then, and agents that ended in its last round
        are still to step with None.

        Raises:
            ValueError: see `GetBitParallelEnv.restore`.
        """
        inner = snapshot
        if isinstance(snapshot, Mapping):
            inner = {key: value for key, value in snapshot.items() if key not in ("agents", "chosen")}
        within, last = self.env._replayed(inner)
        again = GetBitAECEnv(within)
        within.render_mode = None
        if last is None:
            again._begin(*within._observe(within._agents))
        else:
            again.agent_selection = list(last[0])[-1]  # the agent that chose last in that round
            again._told(last)
        agents = snapshot.get("agents", again.agents)
        while again._agents and not same(agents, again._agents) and again._has_ended(again.agent_selection):
            again.step(None)
        if not same(agents, again._agents):
            raise ValueError(f"the snapshot's agents are {shown(again._agents)} after its actions, not {shown(agents)}")
        others = len(within._agents) - 1  # at most so many have chosen: after the last agent's choice the round is over
        for action in read_list({"chosen": [], **snapshot}, "chosen", max(others, 0)):
            if type(action) is not int or again._has_ended(again.agent_selection):
                raise ValueError(f"the snapshot's chosen is a list of actions of agents that play, not {shown(snapshot['chosen'])}")
            again.step(action)
        within.render_mode = self.env.render_mode
        self.env._become(within)
        again.env = self.env
        self.__dict__.update(
            again.__dict__, metadata=self.metadata, state_space=self.state_space, _position=self._position_within()
        )

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent, the same object at every call."""
        return self.env.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Discrete:
        """The action space of an agent, the same object at every call."""
        return self.env.action_space(agent)

    def state(self) -> NDArray[np.float32]:
        """The whole position when the round began; see `GetBitParallelEnv.state`."""
        return self.env.state()

    def render(self) -> str | NDArray[np.uint8] | None:
        """Show the position; see `GetBitParallelEnv.render`."""
        return self.env.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.env.close()

    def __str__(self) -> str:
        return str(self.env)

    def __repr__(self) -> str:
        next_ = f", {self.agent_selection} is next" if self._agents and self._observations else ""
        return f"<{type(self).__name__} within {self.env!r}{next_}>"

    def _repr_svg_(self) -> str | None:
        """What notebooks show."""
        return self.env._repr_svg_()

    def _begin(self, observations: dict[str, Observation], infos: Infos) -> None:
        self._observations, self.infos, self._agents, self._chosen = observations, infos, self.env.agents, {}
        self.rewards, self._cumulative_rewards = dict.fromkeys(self._agents, 0.0), dict.fromkeys(self._agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self._agents, False), dict.fromkeys(self._agents, False)
        self._skip_agent_selection = None
        self.agent_selection = self._agents[0]
        self._position = self._position_within()

    def _told(self, said: Step) -> None:
        """Take over what the round brought; agents that ended step first."""
        self._observations, self.rewards, self.terminations, self.truncations, self.infos = said
        self._cumulative_rewards, self._chosen = self.rewards.copy(), {}
        live = self.env.agents
        self._agents = live + [agent for agent in self._observations if agent not in live]
        self._skip_agent_selection = None
        if live:
            self.agent_selection = live[0]
        self._position = self._position_within()
        self._deads_step_first()

    def _has_ended(self, agent: str) -> bool:
        return self.terminations.get(agent, False) or self.truncations.get(agent, False)

    def _position_within(self) -> tuple[int, int]:
        """Where the environment within stands, to see whether somebody else moved it."""
        return self.env._resets, len(self.env._played or ())

    def _check_begun(self, call: str) -> None:
        self.env._check_begun(call)


@taking_arguments_of(parallel_env)
def raw_env(*args: Any, **kwargs: Any) -> GetBitAECEnv:
    """`parallel_env` as an AEC environment, `GetBitAECEnv`."""
    return GetBitAECEnv(parallel_env(*args, **kwargs))


@taking_arguments_of(parallel_env)
def env(*args: Any, **kwargs: Any) -> AECEnv[str, Observation, int]:
    """`raw_env`, with PettingZoo's checks that it is used in the right order."""
    return OrderEnforcedEnv(raw_env(*args, **kwargs))
