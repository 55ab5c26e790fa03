"""Get Bit! as PettingZoo environments. The rules are in `rules`, what is seen in `observations`, the drawing in `rendering`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from operator import index
from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.conversions import parallel_to_aec_wrapper
from pettingzoo.utils.env import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from getbit_env.core.choices import IllegalAction, choice, options_from
from getbit_env.core.rendering import Rendered
from getbit_env.core.snapshots import check_origin, check_position
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import cards_of, check_line
from getbit_env.get_bit.observations import Layout, OptionNames, Options
from getbit_env.get_bit.variants import ID, Reward, ThreePlayerEnding, Variant, choose_variant

Observation = dict[str, NDArray[Any]]


class GetBitParallelEnv(Rendered, ParallelEnv):  # type: ignore[misc]  # PettingZoo ships no types
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
        max_cycles: rounds after which a game is cut off, or None; may be changed at any time.
        render_mode: None, "ansi", "rgb_array" or "human".

    Version history:
        v0: the first.
    """

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
        reward: Reward,
        limb_reward: float,
        illegal_action: IllegalAction,
        options: Options,
        max_cycles: int | None,
        render_mode: str | None,
    ) -> None:
        self.variant = variant
        self.max_cycles = max_cycles
        self.render_mode = render_mode
        self._refuse_illegal = illegal_action == IllegalAction.RAISE
        self._engine = Engine(variant, 1, options=options, reward=reward, limb_reward=limb_reward)
        self.layout = self._engine.layout
        self.state_layout = Layout(_face_up(variant), Options(observe_last=True, identity=True))
        self.state_space = spaces.Box(0, 1, (self.state_layout.size,), np.float32)
        self.possible_agents = [f"player_{p}" for p in range(variant.players)]
        self.agents = self.possible_agents[:]
        self._seats = {agent: p for p, agent in enumerate(self.possible_agents)}
        self._observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, (self.layout.size,), np.float32),
                    "action_mask": spaces.Box(0, 1, (variant.actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self._action_spaces = {agent: spaces.Discrete(variant.actions) for agent in self.possible_agents}
        self._limit = variant.actions
        self._asked = np.zeros((1, variant.players), np.int64)
        self._played: list[bytes] | None = None  # the joint actions so far, int64 [P] each; None before the first reset
        self._placement = [0] * variant.players
        self._cut_off = False

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent, the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The action space of an agent, the same object at every call."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin a game.

        Args:
            seed: fixes this game and those that follow; without one the stream of the last seed goes on.
            options: `{"line": [robots, front to back]}` sets the starting line. Other options are ignored.

        Returns:
            Observations and infos of all agents.

        Raises:
            ValueError: the line is not an order of the robots.
        """
        line = None if options is None else options.get("line")
        if line is not None:
            check_line(self.variant, line)
        if seed is not None:
            self._engine.seed(seed)
        self._begin(line)
        if self.render_mode == "human":
            self.render()
        return self._observe(self.agents)

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play a round.

        Args:
            actions: an action for each of `agents`, no more and no fewer.

        Returns:
            Observations, rewards, terminations, truncations and infos of those agents. An info holds the `action_mask`, whether
            the `illegal_action` asked for was replaced, and the `placement` (1 = winner, 0 while the player's fate is open).

        Raises:
            RuntimeError: the environment was never reset.
            ValueError: an agent is missing, unknown or no longer playing, or its action is out of range, or (with
                `illegal_action="raise"`) illegal. Nothing has happened then.
            TypeError: an action is not a whole number.
        """
        if self._played is None:
            raise RuntimeError("call reset() before step()")
        agents, engine, asked, seats = self.agents, self._engine, self._asked, self._seats
        if actions.keys() != set(agents):
            self._refuse_agents(actions)
        if not agents:
            return {}, {}, {}, {}, {}
        for agent in agents:
            asked[0, seats[agent]] = self.check_action(agent, actions[agent])
        engine.play_and_observe_one(asked)
        self._played.append(engine.actions.tobytes())
        self._cut_off = self.max_cycles is not None and len(self._played) >= self.max_cycles and not engine.outcome.over[0]
        observations, infos = self._see(agents)
        finish: list[int] = engine.outcome.finish.ravel().tolist()
        reward: list[float] = engine.outcome.reward.ravel().tolist()
        replaced: list[int] = engine.replaced.ravel().tolist()
        rewards, terminations = {}, {}
        for agent in agents:
            p = seats[agent]
            rewards[agent], terminations[agent] = reward[p], finish[p] > 0
            if replaced[p]:
                infos[agent]["illegal_action"] = True
            if finish[p]:
                self._placement[p] = infos[agent]["placement"] = finish[p]
        truncations = dict.fromkeys(agents, self._cut_off)
        if self._cut_off:
            self.agents = []
        elif any(finish):
            self.agents = [agent for agent in agents if not terminations[agent]]
        if self.render_mode == "human":
            self.render()
        return observations, rewards, terminations, truncations, infos

    def check_action(self, agent: str, action: Any) -> int:
        """The action of a playing agent as a number.

        Raises:
            ValueError: it is out of range, or (with `illegal_action="raise"`) illegal.
            TypeError: it is not a whole number.
        """
        try:
            number = index(action)
        except TypeError:
            raise TypeError(f"{agent}: an action is a whole number, not {action!r}") from None
        if not 0 <= number < self._limit:
            raise ValueError(f"{agent}: action {number} is out of range, actions are 0..{self._limit - 1}")
        if self._refuse_illegal:
            mask = self._engine.action_mask[0, self._seats[agent]]
            if not mask[number]:
                raise ValueError(f"{agent}: action {number} is illegal, legal are {np.flatnonzero(mask).tolist()}")
        return number

    def state(self) -> NDArray[np.float32]:
        """The whole position, for centralised critics: `state_layout.size` entries float32, as `player_0` would see it in the
        face-up game with identities and the last cards shown.
        """
        position: NDArray[np.float32] = self._engine.observe_as(self.state_layout)[0, 0]
        return position

    def snapshot(self) -> dict[str, Any]:
        """The game so far as a plain dict for JSON: everything that there is to know, and what `restore` needs.

        Returns:
            `version`, `variant` (name), `round` (rounds played), `line` (robots in the line, front to back), `hands` (a sorted
            list of cards a robot), `tables` (a list a robot, in the order played), `limbs` (bites left a robot), `revealed`
            (cards of the last round a robot, null if it did not play; null before the first round), `bitten` (robot bitten in
            the last round, or null), `winner` (player or null), `placement` (a finishing place a player, null while undecided),
            `truncated`, `start` (starting line), `actions` (for each round, an action a player, null for one who was out),
            `stream` (key as a hexadecimal string, numbers drawn).

        Raises:
            RuntimeError: the environment was never reset.
        """
        if self._played is None:
            raise RuntimeError("call reset() before snapshot()")
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
            "start": self._start,
            "actions": joint,
            "stream": [hex(self._engine.streams[0]), int(self._engine.counters[0])],
        }

    def restore(self, snapshot: Mapping[str, Any]) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Go to the position of a snapshot; from there everything goes on as it would have where it was taken.

        Args:
            snapshot: what `snapshot` of an environment of the same variant returned, through JSON or not.

        Returns:
            Observations and infos of the agents that still play.

        Raises:
            ValueError: it is of another version or variant, or what it says of the position is not what its actions lead to.
        """
        check_origin(snapshot, ID, self.variant.name, _SNAPSHOT_KEYS)
        check_line(self.variant, snapshot["start"])
        again = copy.deepcopy(self)  # so that a snapshot that turns out to be wrong leaves this environment as it is
        again.max_cycles, again.render_mode = None, None
        again._begin(list(snapshot["start"]))
        for number, joint in enumerate(snapshot["actions"], 1):
            try:
                *_, infos = again.step({agent: joint[again._seats[agent]] for agent in again.agents})
            except (ValueError, TypeError, IndexError) as error:
                raise ValueError(f"the snapshot's actions of round {number} can't be played: {error}") from error
            if any(info["illegal_action"] for info in infos.values()):
                raise ValueError(f"the snapshot's actions of round {number} can't be played: a card is not in its hand")
        if snapshot["truncated"]:
            again.agents, again._cut_off = [], True
        check_position(snapshot, again.snapshot(), but=("stream",))
        key, drawn = snapshot["stream"]
        again._engine.streams[0], again._engine.counters[0] = int(key, 16), drawn
        again.max_cycles, again.render_mode, again._canvas = self.max_cycles, self.render_mode, self._canvas
        self.__dict__.update(again.__dict__)
        return self._observe(self.agents)

    def _begin(self, line: list[int] | None) -> None:
        self._engine.start(starts=None if line is None else [line])
        self._start = np.argsort(self._engine.state.place[:, 0]).tolist()
        self._played, self._placement, self._cut_off = [], [0] * self.variant.players, False
        self.agents = self.possible_agents[:]

    def _observe(self, agents: list[str]) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        self._engine.observe()
        return self._see(agents)

    def _see(self, agents: list[str]) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
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
        for agent in self.agents:
            if agent not in actions:
                raise ValueError(f"no action for {agent}; these agents play: {', '.join(self.agents)}")
        agent = next(agent for agent in actions if agent not in self.agents)
        why = "is out or its game is over" if agent in self._seats else "is no agent of this environment"
        raise ValueError(f"an action for {agent}, which {why}; these agents play: {', '.join(self.agents) or 'none, call reset()'}")


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
            of the last round in the face-up game too. `identity`: say of every robot whose it is, by seat, and which of that
            player's robots. `history`: show all past rounds as the player saw them.

    Returns:
        The environment.

    Raises:
        ValueError: an option is none of those that it may be, or the options make no game.
        TypeError: there is no option of that name.
    """
    if render_mode not in (None, *GetBitParallelEnv.metadata["render_modes"]):
        raise ValueError(f"render_mode is None or one of {GetBitParallelEnv.metadata['render_modes']}, not {render_mode!r}")
    if max_cycles is not None and max_cycles < 1:
        raise ValueError(f"max_cycles is at least 1, or None for no limit, not {max_cycles}")
    return GetBitParallelEnv(
        choose_variant(
            variant,
            players,
            memory=memory,
            half_limbs=half_limbs,
            pick_up_at=pick_up_at,
            three_player_ending=three_player_ending,
        ),
        reward=choice(Reward, "reward", reward),
        limb_reward=float(limb_reward),
        illegal_action=choice(IllegalAction, "illegal_action", illegal_action),
        options=options_from(Options, observe),
        max_cycles=max_cycles,
        render_mode=render_mode,
    )


class GetBitAECEnv(parallel_to_aec_wrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """The players choose one after another, without seeing a choice of the round, and the round is played after the last."""

    def step(self, action: int | None) -> None:
        """Take the action of `agent_selection`; a wrong one is refused at once, and can be mended.

        Raises:
            ValueError: see `GetBitParallelEnv.check_action`.
            TypeError: likewise.
        """
        agent = self.agent_selection
        if not (self.terminations[agent] or self.truncations[agent]):
            self.env.check_action(agent, action)
        super().step(action)


def raw_env(*args: Any, **kwargs: Any) -> AECEnv:
    """`parallel_env` as an AEC environment (`GetBitAECEnv`)."""
    return GetBitAECEnv(parallel_env(*args, **kwargs))


def env(*args: Any, **kwargs: Any) -> AECEnv:
    """`raw_env`, with PettingZoo's checks that it is used in the right order."""
    return OrderEnforcingWrapper(raw_env(*args, **kwargs))
