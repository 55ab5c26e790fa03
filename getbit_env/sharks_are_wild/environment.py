"""Sharks are Wild as a PettingZoo AEC environment. Rules are in `rules`, what is seen in `observations`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv

from getbit_env.core.choices import (
    IllegalAction,
    reset_options,
    seed_or_none,
    suggesting,
    taking_arguments_of,
    whole_number,
)
from getbit_env.core.environment import GameEnv, Observation, OrderEnforcedEnv, TurnBased
from getbit_env.core.messages import shown
from getbit_env.core.snapshots import check_origin, check_position, read_count, read_flag, read_list, read_stream
from getbit_env.sharks_are_wild.engine import Deal, Engine, check_deal
from getbit_env.sharks_are_wild.notation import ENDS, LETTERS, cards_text, parse_cards, pile_of, run_of
from getbit_env.sharks_are_wild.observations import Layout, Options
from getbit_env.sharks_are_wild.rules import BLOCK, DRAW, STOLEN, actor
from getbit_env.sharks_are_wild.variants import ID, Reward, Variant, parse_variant

STAGES = ("draw", "play", "block", "over", "stolen")
MOST_STEPS_OF_A_TURN = 4  # draw, play, block, and what becomes of a stolen card


class SharksAreWildEnv(GameEnv, TurnBased, AECEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo ships no types
    """Sharks are Wild, turn by turn. Make it with `raw_env` or `env`, which say what the options are.

    | fact | value |
    | --- | --- |
    | agents | `player_0` ... `player_{players-1}` |
    | steps | two a turn: which pile to draw from, and what to do with a card; one more for a robbed player: whether to block |
    | | with `may_decline` one more for the thief: what becomes of a stolen card |
    | actions | one `Discrete` space for all of them; `notation.action_table(variant)` says what each is |
    | observations | `{"observation": float32 [D], "action_mask": int8 [A]}`; the mask of a player with nothing to decide is all 1 |
    | rewards | at the end: the winner +1, every other player -1/(players-1), a draw 0 (S6) |
    | the end | all agents end together: terminated with the last coin (S2.6), truncated by the turn limit (S4) or `max_cycles` |

    An info holds a copy of `action_mask`; `illegal_action`, True if the last action asked for was illegal and was replaced; and
    `placement`, 1 = winner, 2 = any other, 0 while undecided and in a draw.

    Attributes:
        variant: the game.
        layout: what the entries of an observation mean; `layout.table()` is its documentation.
        state_layout: the same for `state()`.
        max_cycles: turns after which a game is cut off, or None; may be written at any time.
        render_mode: None, "ansi", "rgb_array" or "human".

    Version history:
        v0: the first.
    """

    agent_selection: str
    rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, dict[str, Any]]
    variant: Variant
    layout: Layout
    state_layout: Layout
    title = "Sharks are Wild"
    rendering = "getbit_env.sharks_are_wild.rendering"
    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo reads it from the class
        "name": "sharks_are_wild_v0",
        "render_modes": ["ansi", "rgb_array", "human"],
        "render_fps": 2,
        "is_parallelizable": False,
    }

    def __init__(
        self, variant: Variant, *, illegal_action: IllegalAction | str, max_cycles: int | None, render_mode: str | None
    ) -> None:
        super().__init__(
            Engine(variant, 1),
            Layout(variant, Options(open_hands=True)),
            illegal_action=illegal_action,
            max_cycles=max_cycles,
            render_mode=render_mode,
        )
        # Rewards are taken from here and not from the engine, whose float32 makes them sum to something else than zero.
        self._pays: list[float] = variant.reward_of_finish(Reward.WIN).tolist()
        self._all_seen = False  # all rows of the engine's observation are up to date, not only that of the player who decides
        self._cut_off = self._ended = False  # `_ended`: also while agents are still to step with None
        self._skip_agent_selection = None

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a game.

        Args:
            seed: fixes this game and those that follow; without one the stream of the last seed goes on.
            options: `{"deal": {"cards": "0S47...", "first": 0}}` sets the order of the deck, from the top, in the letters of the
                notation, and who begins. What is shuffled later comes from the stream. Other options are ignored.

        Raises:
            ValueError: the seed is no whole number of at least 0, `options` is no dict, or the deal is not an order of the deck and
                a player. Nothing has happened then.
        """
        seed = seed_or_none(seed)
        given = reset_options(options, "{'deal': {'cards': '0S47...', 'first': 0}}").get("deal")
        deal = None if given is None else self._read_deal(given)
        if self.render_mode == "human":
            self._shown(lambda: self._begin(seed, deal))
        else:
            self._begin(seed, deal)

    def step(self, action: int | None) -> None:
        """Decide for `agent_selection`.

        Args:
            action: what it does; None for an agent whose game is over, which then leaves `agents`.

        Raises:
            RuntimeError: the environment was never reset, or the game is over.
            ValueError: the action is out of range, or (with `illegal_action="raise"`) illegal; or an agent whose game is over does
                something. Nothing has happened then.
            TypeError: the action is not a whole number.
        """
        self._check_playing("step")
        agent = self.agent_selection
        if self._ended or self.terminations.get(agent) or self.truncations.get(agent):
            self._was_dead_step(action)
            return
        wanted = self.check_action(agent, action)
        if self.render_mode == "human":
            self._shown(lambda: self._step(wanted))
        else:
            self._step(wanted)

    def _step(self, action: int) -> None:
        agent, engine, played = self.agent_selection, self._engine, self._played
        assert played is not None
        p = self._seats[agent]
        self._asked[0, p] = action
        decides = engine.step(self._asked)
        self._all_seen = False
        played.append(int(engine.actions[0, p]))
        self._cumulative_rewards[agent] = 0.0
        self._replaced[p] = bool(engine.replaced[0, p])
        self.infos[agent] = self._info(p)
        if engine.outcome.over[0]:
            self._end()
        elif self._max_cycles is not None and engine.state.turns[0] >= self._max_cycles and engine.state.stage[0] == DRAW:
            self._cut_off = True
            self._end()
        elif decides != p:
            self.agent_selection = self._names[decides]
            self.infos[self.agent_selection] = self._info(decides)

    def observe(self, agent: str) -> Observation:
        """What an agent sees now, also one with nothing to decide.

        Raises:
            RuntimeError: the environment was never reset.
            ValueError: there is no such agent.
        """
        self._check_begun("observe")
        p = self._seat(agent)
        if self._ended or agent != self.agent_selection:
            self._see_all()
        return {"observation": self._engine.observation[0, p].copy(), "action_mask": self._mask(p)}

    def state(self) -> NDArray[np.float32]:
        """The whole position but the order of the piles, for centralised critics: `state_layout.size` entries float32, as
        `player_0` would see it with open hands.

        Raises:
            RuntimeError: the environment was never reset.
        """
        return super().state()

    def snapshot(self) -> dict[str, Any]:
        """The game so far as a plain dict for JSON: everything that there is to know, and what `restore` needs.

        Returns:
            `version`, `variant` (name), `turn` (turns finished), `player` (whose turn it is), `stage` ("draw", "play", "block",
            "stolen" or "over"), `grab` (at "block" and "stolen": victim and end, else null), `coins`, `runs`, `hands` and `taken`
            (of each player; cards are
            letters of the notation, `taken` the part of the hand that all know of, S5.1), `draw` and `discard` (the piles from the
            top), `winner` (player or null), `truncated`, `start` (the deal, and how many numbers of the stream it took to be here),
            `actions` (all so far), `stream` (key as a hexadecimal string, numbers drawn).

        Raises:
            RuntimeError: the environment was never reset.
        """
        self._check_begun("snapshot")
        assert self._played is not None
        state, players = self._engine.state, range(self.variant.players)
        stage, coins = int(state.stage[0]), state.coins[0].tolist()
        winner = next((p for p in players if coins[p] >= self.variant.coins), None)
        return {
            "version": ID,
            "variant": self.variant.name,
            "turn": int(state.turns[0]),
            "player": int(state.player[0]),
            "stage": STAGES[stage],
            "grab": [int(state.victim[0]), ENDS[state.end[0]]] if stage in (BLOCK, STOLEN) else None,
            "coins": coins,
            "runs": [run_of(state, 0, p) for p in players],
            "hands": [cards_text(state.hand[0, p]) for p in players],
            "taken": [cards_text(state.taken[0, p]) for p in players],
            "draw": pile_of(state.draw[0], state.draw_size[0]),
            "discard": pile_of(state.discard[0], state.discard_size[0]),
            "winner": winner,
            "truncated": self._cut_off or bool(self._engine.truncated[0]),
            "start": {**self._start},
            "actions": self._played[:],
            "stream": [hex(self._engine.streams[0]), int(self._engine.counters[0])],
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go to the position of a snapshot; from there everything goes on as it would have where it was taken.

        Rewards that were not yet looked at are there again, and where the game is over all agents are.

        Args:
            snapshot: what `snapshot` of an environment of the same variant returned, through JSON or not.

        Raises:
            ValueError: it is damaged, or of another version or variant, or what it says of the position is not what its actions
                lead to. Nothing has happened then.
        """
        check_origin(snapshot, ID, self.variant.name, _SNAPSHOT_KEYS)
        start, (key, _), truncated = snapshot["start"], read_stream(snapshot), read_flag(snapshot, "truncated")
        deal = self._read_deal(start)
        again = self._twin()
        again.max_cycles, again.render_mode, again._refuse_illegal = None, None, True
        again._engine.streams[0] = key
        again._engine.counters[0] = read_count("the snapshot's drawn of its start", start.get("drawn"))
        again._begin(None, deal)
        most = self.variant.turn_limit * MOST_STEPS_OF_A_TURN
        for number, action in enumerate(read_list(snapshot, "actions", most), 1):
            try:
                if type(action) is not int or again._ended:
                    raise ValueError("it is no whole number, or the game is over")
                again.step(action)
            except (ValueError, TypeError) as error:
                raise ValueError(f"the snapshot's decision {number} can't be played: {error}") from error
        if truncated and not again._ended:
            if again._engine.state.stage[0] != DRAW or again._engine.state.turns[0] == 0:
                raise ValueError("the snapshot says truncated, but a game is cut off at the end of a turn")
            again._cut_off = True
            again._end()
        check_position(snapshot, again.snapshot())
        again.max_cycles, again.render_mode, again._refuse_illegal = self.max_cycles, self.render_mode, self._refuse_illegal
        self._become(again)

    def _begin(self, seed: int | None, deal: Deal | None) -> None:
        engine = self._engine
        if seed is not None:
            engine.seed(seed)
        engine.start(starts=None if deal is None else [deal])
        cards = "".join(LETTERS[kind] for kind in engine.state.draw[0][::-1])
        self._start = {"cards": cards, "first": int(engine.state.player[0]), "drawn": int(engine.counters[0])}
        self._played, self._all_seen, self._cut_off, self._ended = [], False, False, False
        self._replaced = [False] * self.variant.players
        self._see_all()
        self._agents = self._names[:]
        self.rewards = dict.fromkeys(self._agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self._agents, 0.0)
        self.terminations = dict.fromkeys(self._agents, False)
        self.truncations = dict.fromkeys(self._agents, False)
        self.agent_selection = self._names[actor(engine.state, 0)]
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
        return {"action_mask": self._mask(p), "illegal_action": self._replaced[p], "placement": 0}

    def _end(self) -> None:
        """All agents end together; the first to step with None is the one after the agent that decided last."""
        self._ended = True
        self._see_all()
        finish: list[int] = self._engine.outcome.finish[:, 0].tolist()
        cut_off = self._cut_off or bool(self._engine.truncated[0])
        for agent, p in self._seats.items():
            self.rewards[agent] = self._pays[finish[p]]
            self._cumulative_rewards[agent] = self._cumulative_rewards.get(agent, 0.0) + self.rewards[agent]
            self.terminations[agent], self.truncations[agent] = not cut_off, cut_off
            self.infos[agent] = {**self._info(p), "placement": finish[p]}
        last = self._seats[self.agent_selection]
        self.agent_selection = self._names[(last + 1) % self.variant.players]

    def _read_deal(self, deal: Any) -> Deal:
        if (
            not isinstance(deal, Mapping)
            or not {"cards", "first"} <= deal.keys() <= {"cards", "first", "drawn"}
            or not isinstance(deal["cards"], str)
        ):
            raise ValueError(f"a deal is {{'cards': '0S47...', 'first': 0}}, not {shown(deal)}")
        if len(deal["cards"]) > 2 * self.variant.cards:
            raise ValueError(f"a deal of {self.variant} has {self.variant.cards} cards, not {len(deal['cards'])}")
        first = whole_number("the first player of a deal", deal["first"], 0, self.variant.players - 1)
        cards = parse_cards(self.variant, deal["cards"])
        check_deal(self.variant, cards, first)
        return Deal(cards, first)


_SNAPSHOT_KEYS = {
    *("version", "variant", "turn", "player", "stage", "grab", "coins", "runs", "hands", "taken", "draw", "discard"),
    *("winner", "truncated", "start", "actions", "stream"),
}


@suggesting
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
    octopus_on_top: bool = False,
    must_block: bool = False,
    may_decline: bool = False,
    early_shuffle: bool = False,
    illegal_action: IllegalAction | str = IllegalAction.LOWEST,
    variant: Variant | str | None = None,
    max_cycles: int | None = None,
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
        octopus_on_top: another reading of the published rules, as the next three: a stolen card that is not used lies below the
            Octopus (S3.1).
        must_block: a victim who has a Dolphin blocks (S3).
        may_decline: a thief may discard a stolen card that fits (S3.1).
        early_shuffle: the discard pile is turned over as soon as the draw pile runs out (S2.5).
        illegal_action: "lowest": an illegal action is replaced by the legal one with the lowest number and flagged in the infos;
            "raise": an error.
        variant: a `Variant` or its name, in place of all options above but `illegal_action`.
        max_cycles: turns after which the game is cut off, undecided: truncated, reward 0. Unlike `turn_limit` it is no rule of the
            game: observations don't show it, and it may be written at any time.
        render_mode: None, "ansi", "rgb_array" or "human".

    Returns:
        The environment.

    Raises:
        ValueError: an option has a value that is not allowed, or the options make no game.
        TypeError: there is no option of that name, or `variant` is neither a name nor a variant.
    """
    options: dict[str, Any] = {
        "players": players,
        "level": level,
        "numbers": numbers,
        "sharks": sharks,
        "octopuses": octopuses,
        "dolphins": dolphins,
        "hand": hand,
        "run": run,
        "coins": coins,
        "turn_limit": turn_limit,
        "octopus_on_top": octopus_on_top,
        "must_block": must_block,
        "may_decline": may_decline,
        "early_shuffle": early_shuffle,
    }
    if variant is None:
        variant = Variant(**options)
    elif said := [name for name, value in options.items() if value != (4 if name == "players" else getattr(Variant, name))]:
        raise ValueError(f"variant={shown(str(variant))} already says what {', '.join(said)} would; give one or the other")
    variant = parse_variant(variant) if isinstance(variant, str) else variant
    if not isinstance(variant, Variant):
        raise TypeError(
            f"variant is the name of a variant of Sharks are Wild, such as 'sharks-4p-level1', or a Variant, not {shown(variant)}"
        )
    return SharksAreWildEnv(variant, illegal_action=illegal_action, max_cycles=max_cycles, render_mode=render_mode)


@taking_arguments_of(raw_env)
def env(*args: Any, **kwargs: Any) -> AECEnv[str, Observation, int]:
    """`raw_env`, with PettingZoo's checks that it is used in the right order."""
    return OrderEnforcedEnv(raw_env(*args, **kwargs))
