"""Sharks are Wild as a PettingZoo AEC environment. Rules are in `rules`, what is seen in `observations`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from getbit_env.core.choices import IllegalAction, choice
from getbit_env.core.rendering import Rendered
from getbit_env.core.snapshots import check_origin, check_position
from getbit_env.sharks_are_wild.engine import Deal, Engine, check_deal
from getbit_env.sharks_are_wild.notation import ENDS, LETTERS, cards_text, legal_actions, parse_cards, pile_of, run_of
from getbit_env.sharks_are_wild.observations import Layout, Options
from getbit_env.sharks_are_wild.rules import BLOCK, OVER, actor
from getbit_env.sharks_are_wild.variants import ID, Variant, parse_variant

STAGES = ("draw", "play", "block", "over")

Observation = dict[str, NDArray[Any]]


class SharksAreWildEnv(Rendered, AECEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """Sharks are Wild, turn by turn. Make it with `raw_env` or `env`, which say what the options are.

    | fact | value |
    | --- | --- |
    | agents | `player_0` ... `player_{players-1}` |
    | steps | a turn is two: from which pile to draw, and what to do with a card; who is robbed has one, whether to block |
    | actions | one `Discrete` space for all of them; `notation.action_table(variant)` says what each is |
    | observations | `{"observation": float32 [D], "action_mask": int8 [A]}`; the mask of who decides nothing now is all ones |
    | rewards | at the end: the winner +1, every other player -1/(players-1), a draw 0 (S6) |
    | the end | all agents end together: terminated when somebody has the coins (S2.6), truncated by the turn limit (S4) |

    An info holds a copy of the `action_mask`, whether the last `illegal_action` asked for was replaced, and the `placement` (1 =
    winner, 2 = any other, 0 while undecided and in a draw).

    Attributes:
        variant: the game.
        layout: what the entries of an observation mean; `layout.table()` is its documentation.
        state_layout: the same for `state()`.
        render_mode: None, "ansi", "rgb_array" or "human".

    Version history:
        v0: the first.
    """

    title = "Sharks are Wild"
    rendering = "getbit_env.sharks_are_wild.rendering"
    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo reads it from the class
        "name": "sharks_are_wild_v0",
        "render_modes": ["ansi", "rgb_array", "human"],
        "render_fps": 2,
        "is_parallelizable": False,
    }

    agents: list[str]
    agent_selection: str
    rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, dict[str, Any]]

    def __init__(self, variant: Variant, *, illegal_action: IllegalAction, render_mode: str | None) -> None:
        super().__init__()
        self.variant = variant
        self.render_mode = render_mode
        self._refuse_illegal = illegal_action == IllegalAction.RAISE
        self._engine = Engine(variant, 1)
        self.layout = self._engine.layout
        self.state_layout = Layout(variant, Options(open_hands=True))
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
        self._asked = np.zeros((1, variant.players), np.int64)
        self._played: list[int] | None = None  # the actions so far; None before the first reset
        self._all_seen = False  # all rows of the engine's observation are of now, not only that of who decides

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent, the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The action space of an agent, the same object at every call."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a game.

        Args:
            seed: fixes this game and those that follow; without one the stream of the last seed goes on.
            options: `{"deal": {"cards": "0S47...", "first": 0}}` sets the order of the deck, from the top, in the letters of the
                notation, and who begins. What is shuffled later comes from the stream. Other options are ignored.

        Raises:
            ValueError: the deal is not an order of the deck and a player.
        """
        deal = None if options is None or options.get("deal") is None else self._read_deal(options["deal"])
        if seed is not None:
            self._engine.seed(seed)
        self._begin(deal)
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Decide for `agent_selection`.

        Args:
            action: what it does; None for an agent whose game is over, which then leaves `agents`.

        Raises:
            RuntimeError: the environment was never reset.
            ValueError: the action is out of range, or (with `illegal_action="raise"`) illegal. Nothing has happened then.
            TypeError: the action is not a whole number.
        """
        if self._played is None:
            raise RuntimeError("call reset() before step()")
        agent, engine = self.agent_selection, self._engine
        if not self.agents or self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        try:
            wanted = index(action)  # type: ignore[arg-type]  # None is no whole number, and is refused like all others
        except TypeError:
            raise TypeError(f"{agent}: an action is a whole number, not {action!r}") from None
        if not 0 <= wanted < self.variant.actions:
            raise ValueError(f"{agent}: action {wanted} is out of range, actions are 0..{self.variant.actions - 1}")
        p = self._seats[agent]
        if self._refuse_illegal and not engine.action_mask[0, p, wanted]:
            raise ValueError(f"{agent}: action {wanted} is illegal, legal are {legal_actions(engine.rules, engine.state)}")

        self._asked[0, p] = wanted
        decides = engine.step(self._asked)
        self._all_seen = False
        self._played.append(int(engine.actions[0, p]))
        self._cumulative_rewards[agent] = 0.0
        self.infos[agent] = self._info(p)
        self.infos[agent]["illegal_action"] = bool(engine.replaced[0, p])
        if engine.outcome.over[0]:
            self._end()
        elif decides != p:
            self.agent_selection = self.possible_agents[decides]
            self.infos[self.agent_selection] = {**self.infos[self.agent_selection], "action_mask": self._mask(decides)}
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        """What an agent sees now, also one who decides nothing."""
        p = self._seats[agent]
        if self._engine.state.stage[0] == OVER or agent != self.agent_selection:
            self._see_all()
        return {"observation": self._engine.observation[0, p].copy(), "action_mask": self._mask(p)}

    def state(self) -> NDArray[np.float32]:
        """The whole position but the order of the piles, for centralised critics: `state_layout.size` entries float32, as
        `player_0` would see it with open hands.
        """
        position: NDArray[np.float32] = self._engine.observe_as(self.state_layout)[0, 0]
        return position

    def snapshot(self) -> dict[str, Any]:
        """The game so far as a plain dict for JSON: everything that there is to know, and what `restore` needs.

        Returns:
            `version`, `variant` (name), `turn` (turns finished), `player` (whose turn it is), `stage` ("draw", "play", "block" or
            "over"), `grab` (at "block": victim and end, else null), `coins`, `runs`, `hands` and `taken` (of each player; cards are
            letters of the notation, `taken` the part of the hand that all know of, S5.1), `draw` and `discard` (the piles from the
            top), `winner` (player or null), `truncated`, `start` (the deal, and how many numbers of the stream it took to be here),
            `actions` (all so far), `stream` (key as a hexadecimal string, numbers drawn).

        Raises:
            RuntimeError: the environment was never reset.
        """
        if self._played is None:
            raise RuntimeError("call reset() before snapshot()")
        state, players = self._engine.state, range(self.variant.players)
        stage, coins = int(state.stage[0]), state.coins[0].tolist()
        winner = next((p for p in players if coins[p] >= self.variant.coins), None)
        return {
            "version": ID,
            "variant": self.variant.name,
            "turn": int(state.turns[0]),
            "player": int(state.player[0]),
            "stage": STAGES[stage],
            "grab": [int(state.victim[0]), ENDS[state.end[0]]] if stage == BLOCK else None,
            "coins": coins,
            "runs": [run_of(state, 0, p) for p in players],
            "hands": [cards_text(state.hand[0, p]) for p in players],
            "taken": [cards_text(state.taken[0, p]) for p in players],
            "draw": pile_of(state.draw[0], state.draw_size[0]),
            "discard": pile_of(state.discard[0], state.discard_size[0]),
            "winner": winner,
            "truncated": stage == OVER and winner is None,
            "start": copy.copy(self._start),
            "actions": self._played[:],
            "stream": [hex(self._engine.streams[0]), int(self._engine.counters[0])],
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go to the position of a snapshot; from there everything goes on as it would have where it was taken.

        Rewards that were not yet looked at are there again, and where the game is over all agents are.

        Args:
            snapshot: what `snapshot` of an environment of the same variant returned, through JSON or not.

        Raises:
            ValueError: it is of another version or variant, or what it says of the position is not what its actions lead to.
        """
        check_origin(snapshot, ID, self.variant.name, _SNAPSHOT_KEYS)
        again = copy.deepcopy(self)  # so that a snapshot that turns out to be wrong leaves this environment as it is
        again.render_mode, again._refuse_illegal = None, True
        again._engine.streams[0] = int(snapshot["stream"][0], 16)
        again._engine.counters[0] = snapshot["start"]["drawn"]
        again._begin(again._read_deal(snapshot["start"]))
        for number, action in enumerate(snapshot["actions"], 1):
            try:
                again.step(action)
            except (ValueError, TypeError) as error:
                raise ValueError(f"the snapshot's decision {number} can't be played: {error}") from error
        check_position(snapshot, again.snapshot())
        again.render_mode, again._refuse_illegal, again._canvas = self.render_mode, self._refuse_illegal, self._canvas
        self.__dict__.update(again.__dict__)

    def _begin(self, deal: Deal | None) -> None:
        engine = self._engine
        engine.start(starts=None if deal is None else [deal])
        cards = "".join(LETTERS[kind] for kind in engine.state.draw[0][::-1])
        self._start = {"cards": cards, "first": int(engine.state.player[0]), "drawn": int(engine.counters[0])}
        self._played, self._all_seen = [], False
        self._see_all()
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self.possible_agents[actor(engine.state, 0)]
        self._skip_agent_selection = None
        self.infos = {agent: self._info(p) for agent, p in self._seats.items()}

    def _see_all(self) -> None:
        if not self._all_seen:
            self._engine.observe()
            self._all_seen = True

    def _mask(self, p: int) -> NDArray[np.int8]:
        mask: NDArray[np.int8] = self._engine.action_mask[0, p].copy()
        return mask

    def _info(self, p: int) -> dict[str, Any]:
        return {"action_mask": self._mask(p), "illegal_action": False, "placement": 0}

    def _end(self) -> None:
        """All agents end together; the one after who decided last is the first to be told."""
        outcome = self._engine.outcome
        decided = bool(outcome.finish.any())
        for agent, p in self._seats.items():
            self.rewards[agent] = float(outcome.reward[p, 0])
            self._cumulative_rewards[agent] += self.rewards[agent]
            self.terminations[agent], self.truncations[agent] = decided, not decided
            self.infos[agent] = {**self.infos[agent], "action_mask": self._mask(p), "placement": int(outcome.finish[p, 0])}
        last = self._seats[self.agent_selection]
        self.agent_selection = self.possible_agents[(last + 1) % self.variant.players]

    def _read_deal(self, deal: Mapping[str, Any]) -> Deal:
        try:
            cards, first = parse_cards(self.variant, deal["cards"]), index(deal["first"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"a deal is {{'cards': '0S47...', 'first': 0}}, not {deal!r}") from error
        check_deal(self.variant, cards, first)
        return Deal(cards, first)


_SNAPSHOT_KEYS = {
    *("version", "variant", "turn", "player", "stage", "grab", "coins", "runs", "hands", "taken", "draw", "discard"),
    *("winner", "truncated", "start", "actions", "stream"),
}


def raw_env(
    players: int = 4,
    level: int = 1,
    *,
    numbers: int = 4,
    sharks: int = 8,
    octopuses: int = 6,
    dolphins: int = 4,
    hand: int = 5,
    run: int = 5,
    coins: int = 5,
    turn_limit: int = 500,
    illegal_action: IllegalAction | str = IllegalAction.LOWEST,
    variant: Variant | str | None = None,
    render_mode: str | None = None,
) -> SharksAreWildEnv:
    """Sharks are Wild as a PettingZoo AEC environment.

    Args:
        players: 2 to 4.
        level: 1, with open hands; or 2, with secret hands, Octopus and Dolphin cards.
        numbers: cards of each number (S1.1).
        sharks: Shark cards.
        octopuses: Octopus cards of level two.
        dolphins: Dolphin cards of level two.
        hand: cards of a hand.
        run: cards of a complete run, the starter 5 included.
        coins: coins that win.
        turn_limit: turns after which the game is a draw, truncated with reward 0 (S4).
        illegal_action: "lowest": an illegal action is replaced by the legal one with the lowest number and flagged in the infos;
            "raise": an error.
        variant: a `Variant` or its name, in place of all options above but `illegal_action`.
        render_mode: None, "ansi", "rgb_array" or "human".

    Returns:
        The environment.

    Raises:
        ValueError: an option is none of those that it may be, or the options make no game.
    """
    named = Variant(players, level, numbers, sharks, octopuses, dolphins, hand, run, coins, turn_limit)
    if variant is None:
        variant = named
    elif named != Variant(4):
        raise ValueError(f"variant={str(variant)!r} already says what the options of the game would; give one or the other")
    variant = parse_variant(variant) if isinstance(variant, str) else variant
    if render_mode not in (None, *SharksAreWildEnv.metadata["render_modes"]):
        raise ValueError(f"render_mode is None or one of {SharksAreWildEnv.metadata['render_modes']}, not {render_mode!r}")
    return SharksAreWildEnv(
        variant, illegal_action=choice(IllegalAction, "illegal_action", illegal_action), render_mode=render_mode
    )


def env(*args: Any, **kwargs: Any) -> AECEnv:
    """`raw_env`, with PettingZoo's checks that it is used in the right order."""
    return OrderEnforcingWrapper(raw_env(*args, **kwargs))
