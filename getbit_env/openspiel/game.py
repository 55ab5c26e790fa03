"""The game as an OpenSpiel Python game: chance lines the robots up, then all players choose at the same time, round by round.

The rules, the legal actions and the tensors are those of `get_bit.engine`: here a position is loaded into an engine of one game,
played, and taken out again.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pyspiel
from numpy.typing import NDArray

from getbit_env.core.choices import choice
from getbit_env.core.messages import shown
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import Game, cards_of, print_game, robot_name, robot_number
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.variants import SET_UP, Reward, ThreePlayerEnding, Variant, choose_variant

NAME = "python_getbit"
KEPT_POSITIONS = 2**14  # of a variant: algorithms such as CFR walk through the same tree again and again
_OPTIONS = {"observe_last": False, "identity": False}  # of the observation; the information state shows all that there is
_CUSTOM = {
    "robots_per_player": 0,  # 0: as many as the rulebook has for so many players, here and of cards
    "cards": 0,
    "limbs": 4,
    "pick_up_at": 2,
    "memory": False,
    "three_player_ending": str(ThreePlayerEnding.SKIP_LOSER),
}
PARAMETERS: dict[str, Any] = {
    "players": 4,
    **_CUSTOM,
    "variant": "",  # its name, in place of all of these
    "line": "",  # the starting line, such as CADB, in place of chance
    "reward": str(Reward.WIN),
    **_OPTIONS,
}


def _game_type(variant: Variant | None = None, line: str = "") -> Any:
    """What OpenSpiel knows of the game: of all variants, or of one."""
    types = pyspiel.GameType
    hidden = variant is not None and variant.memory
    return types(
        short_name=NAME,
        long_name="Get Bit!",
        dynamics=types.Dynamics.SIMULTANEOUS,
        chance_mode=types.ChanceMode.DETERMINISTIC if line else types.ChanceMode.EXPLICIT_STOCHASTIC,
        information=types.Information.IMPERFECT_INFORMATION if hidden else types.Information.PERFECT_INFORMATION,
        utility=types.Utility.ZERO_SUM,
        reward_model=types.RewardModel.TERMINAL,
        max_num_players=max(SET_UP),
        min_num_players=min(SET_UP),
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=PARAMETERS,
    )


class _Position:
    """A position after some rounds, which is never changed: copies of a state share it.

    Attributes:
        line: the starting line, front to back.
        joints: what all players chose, round by round.
        text: all that was played so far.
        arrays: what loads the position into an engine.
        observation: `[P, D]`, what each player sees.
        over: whether the game is over.
        legal: of each player, the actions that are legal; none if there is nothing to choose.
        finish: `[P]`, the finishing places so far.
        cards: of each robot, the card of the last round; 0 if it played none.
    """

    line: tuple[int, ...]
    joints: tuple[tuple[int, ...], ...]
    text: str
    arrays: list[NDArray[np.uint8]]
    observation: NDArray[np.float32]
    over: bool
    legal: list[list[int]]
    finish: NDArray[np.uint8]
    cards: list[int]

    def __init__(self, engine: Engine, line: tuple[int, ...], joints: tuple[tuple[int, ...], ...], text: str) -> None:
        self.line, self.joints, self.text = line, joints, text
        self.arrays = [kept.copy() for kept in _kept(engine)]
        self.observation = engine.observation[0].copy()
        self.over = bool((engine.state.limbs > 0).sum() <= engine.variant.last_line)
        choosing = engine.choosing()[0]
        self.legal = [
            np.flatnonzero(mask).tolist() if one else [] for mask, one in zip(engine.action_mask[0], choosing, strict=True)
        ]
        self.finish = engine.outcome.finish[:, 0].copy()
        self.cards = [next(iter(cards_of(bit)), 0) for bit in engine.state.played[:, 0]]

    def __deepcopy__(self, _memo: object) -> Self:
        return self


def _kept(engine: Engine) -> list[NDArray[np.uint8]]:
    """The arrays that a position is made of."""
    return [*engine.state, engine.record.start]


class _Table:
    """A variant with the engines that its states are played with. States of equal games share it.

    Attributes:
        variant: the game.
        reward: what finishing places pay.
        pays: the payoff of each finishing place.
        layout: what the observation tensor means.
        history: what the information state tensor means.
    """

    variant: Variant
    reward: Reward
    pays: NDArray[np.float64]
    layout: Layout
    history: Layout
    start: Callable[[tuple[int, ...]], _Position]
    after: Callable[[_Position, tuple[int, ...]], _Position]

    def __init__(self, variant: Variant, options: Options, reward: Reward) -> None:
        self.variant, self.reward = variant, reward
        self.pays = variant.reward_of_finish(reward)
        self.layout = Layout(variant, options)
        self.history = Layout(variant, Options(observe_last=True, identity=True, history=True))
        self._engine = Engine(variant, 1, options=options)
        self._historian = Engine(variant, 1, options=self.history.options)
        self._told: tuple[_Position | None, NDArray[np.float32]] = (None, np.empty(0, np.float32))
        self._lock = threading.Lock()  # each engine plays one game at a time
        self.start = functools.lru_cache(KEPT_POSITIONS)(self._start)
        self.after = functools.lru_cache(KEPT_POSITIONS)(self._after)

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:  # OpenSpiel pickles what a state holds
        return _table, (self.variant, self.layout.options, self.reward)

    def _start(self, line: tuple[int, ...]) -> _Position:
        """The position before the first round."""
        with self._lock:
            self._engine.start(starts=[line])
            self._engine.outcome.finish[:] = 0
            self._engine.observe()
            return _Position(self._engine, line, (), " ".join(robot_name(self.variant, robot) for robot in line))

    def _after(self, position: _Position, joint: tuple[int, ...]) -> _Position:
        """The position after one more round.

        Raises:
            ValueError: an action is not legal.
        """
        actions = [action if legal else 0 for action, legal in zip(joint, position.legal, strict=True)]
        for player, (action, legal) in enumerate(zip(actions, position.legal, strict=True)):
            if legal and action not in legal:
                raise ValueError(f"player {player}: action {shown(action)} is illegal, legal are {legal}")
        with self._lock:
            engine = self._load(position)
            engine.asked[0] = actions
            engine.play_and_observe_one(engine.asked)
            finish = np.maximum(engine.outcome.finish[:, 0], position.finish)
            after = _Position(engine, position.line, (*position.joints, tuple(actions)), "")
        after.finish = finish
        played = [f"{robot_name(self.variant, robot)}{card}" for robot, card in enumerate(after.cards) if card]
        after.text = f"{position.text} | {' '.join(played)}"
        return after

    def observe_as(self, position: _Position, layout: Layout) -> NDArray[np.float32]:
        """A position as seen in another layout of the same game, with a history or without: `[P, layout.size]`."""
        with self._lock:
            if layout.history_rounds == 0:
                seen = self._load(position).observe_as(layout)
            else:
                self._replay(position)
                seen = self._historian.observe_as(layout)
        shown_to_each: NDArray[np.float32] = seen[0]
        return shown_to_each

    def tell(self, position: _Position) -> NDArray[np.float32]:
        """All that each player has seen so far: `[P, history.size]`."""
        if self._told[0] is not position:
            with self._lock:
                self._replay(position)
                self._told = position, self._historian.observation[0].copy()
        return self._told[1]

    def _load(self, position: _Position) -> Engine:
        for array, kept in zip(_kept(self._engine), position.arrays, strict=True):
            array[:] = kept
        return self._engine

    def _replay(self, position: _Position) -> None:
        self._historian.start(starts=[position.line])
        for joint in position.joints:
            self._historian.play(np.array([joint], np.int64))
        self._historian.observe()


@functools.cache
def _table(variant: Variant, options: Options, reward: Reward) -> _Table:
    return _Table(variant, options, reward)


class GetBitGame(pyspiel.Game):  # type: ignore[misc]  # OpenSpiel ships no types
    """Get Bit! for OpenSpiel, as `pyspiel.load_game("python_getbit")` makes it.

    A state begins with chance nodes, one for each place of the starting line but the last; they choose the robot that stands there,
    the front first. A line that is given has none. Then every node is simultaneous. Players who are out have no legal actions, and
    what is applied for them is ignored. Actions are those of the environment.

    Parameters:
        players: 2 to 7.
        robots_per_player, cards: by default as the rulebook has them.
        limbs, pick_up_at, memory, three_player_ending: see `getbit_env.Variant`.
        variant: the name of a variant, such as `3p-1r-4c-2l`, in place of all of these.
        line: the starting line, front to back, such as `CADB`, in place of chance.
        reward: "win" or "placement". OpenSpiel's algorithms want terminal rewards, so it is paid at the end.
        observe_last, identity: what observations show beyond the default (`getbit_env.get_bit.Options`).

    Attributes:
        variant: the game.
        line: the starting line, front to back; empty if chance makes it.
        table: what the states are played with.
        layout: what the observation tensor means.
        history_layout: what the information state tensor means.
    """

    variant: Variant
    line: tuple[int, ...]
    table: _Table
    layout: Layout
    history_layout: Layout

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = dict(params or {})
        self.variant = _variant(given)
        self.line = _line(self.variant, given.get("line", ""))
        reward = choice(Reward, "reward", given.get("reward", PARAMETERS["reward"]))
        options = Options(**{name: given.get(name, value) for name, value in _OPTIONS.items()})
        self.table = _table(self.variant, options, reward)
        self.layout, self.history_layout = self.table.layout, self.table.history
        info = pyspiel.GameInfo(
            num_distinct_actions=self.variant.actions,
            max_chance_outcomes=0 if self.line else self.variant.robots,
            num_players=self.variant.players,
            min_utility=float(self.table.pays.min()),
            max_utility=float(self.table.pays.max()),
            utility_sum=0.0,
            max_game_length=self.variant.most_rounds,
        )
        super().__init__(_game_type(self.variant, given.get("line", "")), info, given)

    def __reduce__(self) -> tuple[Any, ...]:  # OpenSpiel's own way leaves out what Python added
        return _load, (str(self),)

    def new_initial_state(self) -> GetBitState:
        """The state before anything has happened."""
        return GetBitState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Chance nodes of a game."""
        return 0 if self.line else self.variant.robots - 1

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> GetBitObserver:
        """What OpenSpiel makes tensors and strings with."""
        return GetBitObserver(self.table, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


def _load(text: str) -> GetBitGame:
    game: GetBitGame = pyspiel.load_game(text)
    return game


def _variant(given: Mapping[str, Any]) -> Variant:
    """The variant that parameters name.

    Raises:
        ValueError: there is no such game, or a parameter says what `variant` already does.
    """
    said = [name for name in ("players", *_CUSTOM) if given.get(name, PARAMETERS[name]) != PARAMETERS[name]]
    if given.get("variant"):
        if said:
            raise ValueError(f"variant={given['variant']} already says what {', '.join(said)} would; give one or the other")
        return choose_variant(given["variant"])
    players = given.get("players", PARAMETERS["players"])
    if players not in SET_UP:
        raise ValueError(f"players is {min(SET_UP)} to {max(SET_UP)}, not {shown(players)}")
    custom = {name: given.get(name, default) for name, default in _CUSTOM.items()}
    for name, standard in SET_UP[players]._asdict().items():
        custom[name] = custom[name] or standard
    return Variant(players=players, **custom)


def _line(variant: Variant, text: str) -> tuple[int, ...]:
    """The robots of a starting line, front to back; empty if there is no text.

    Raises:
        ValueError: it is not an order of the variant's robots.
    """
    robots = tuple(robot_number(variant, letter) for letter in text)
    if text and sorted(robots) != list(range(variant.robots)):
        every = "".join(robot_name(variant, robot) for robot in range(variant.robots))
        raise ValueError(f"line holds each robot of {variant} once, front to back, such as {every}, not {shown(text)}")
    return robots


def game_of_variant(variant: Variant | str, line: str = "", **parameters: Any) -> GetBitGame:
    """The game of a variant.

    Args:
        variant: the variant, or its name.
        line: see `GetBitGame`, as the parameters.
        **parameters: others.

    Raises:
        ValueError: there is no such variant, line or parameter.
    """
    if unknown := parameters.keys() - PARAMETERS.keys():
        raise ValueError(f"{NAME} has no parameter {', '.join(map(shown, sorted(unknown)))}; it has {', '.join(PARAMETERS)}")
    name = choose_variant(variant).name
    game: GetBitGame = pyspiel.load_game(NAME, {"variant": name, **({"line": line} if line else {}), **parameters})
    return game


class GetBitState(pyspiel.State):  # type: ignore[misc]  # OpenSpiel ships no types
    """A state of `GetBitGame`: a line that chance is forming, then a position.

    Attributes:
        table: what the state is played with.
        position: the position; None while chance forms the line.
    """

    table: _Table
    position: _Position | None

    def __init__(self, game: GetBitGame) -> None:
        """Called by `GetBitGame.new_initial_state` alone."""
        super().__init__(game)
        self.table, self._line = game.table, game.line
        self.position = self.table.start(game.line) if game.line else None

    def current_player(self) -> Any:
        """Chance, all at the same time, or nobody."""
        if self.position is None:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.position.over else pyspiel.PlayerId.SIMULTANEOUS

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The robots that may stand in the next place of the line, all with the same chance."""
        left = [robot for robot in range(self.table.variant.robots) if robot not in self._line]
        return [(robot, 1 / len(left)) for robot in left]

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.position is not None and self.position.over

    def returns(self) -> list[float]:
        """What the finishing places pay, at the end; before it zeros."""
        if self.position is None or not self.position.over:
            return [0.0] * self.table.variant.players
        paid: list[float] = self.table.pays[self.position.finish].tolist()
        return paid

    def _legal_actions(self, player: int) -> list[int]:
        return [] if self.position is None else self.position.legal[player]

    def _apply_action(self, robot: int) -> None:
        """A choice of chance."""
        self._line = (*self._line, robot)
        robots = range(self.table.variant.robots)
        if len(self._line) == len(robots) - 1:
            self._line += tuple(set(robots) - set(self._line))
            self.position = self.table.start(self._line)

    def _apply_actions(self, actions: Sequence[int]) -> None:
        """The choices of all players."""
        assert self.position is not None
        self.position = self.table.after(self.position, tuple(map(int, actions)))

    def _action_to_string(self, player: int, action: int) -> str:
        """`A` for chance; for players their cards, `5`, or `5 1` for two robots, that of the one nearer the front first."""
        if player == pyspiel.PlayerId.CHANCE:
            return robot_name(self.table.variant, action)
        cards = self.table.variant.cards
        numbers = divmod(action, cards) if self.table.variant.robots_per_player == 2 else (action,)
        return " ".join(str(number + 1) for number in numbers)

    def __str__(self) -> str:
        """The game so far, in our notation."""
        variant = self.table.variant
        if self.position is None:
            return " ".join([str(variant), *(robot_name(variant, robot) for robot in self._line)])
        position, rounds = self.table.start(self._line), []
        for joint in self.position.joints:
            position = self.table.after(position, joint)
            rounds.append(position.cards)
        return print_game(Game(variant, list(self._line), rounds)).rstrip()


class GetBitObserver:
    """What a player sees, as OpenSpiel's observers tell it.

    Without perfect recall the tensor is an observation of this package. With it, it is the layout that shows all past rounds. The
    same situation from another seat gives the same tensor; a string names the player.

    Private is the own hand in the memory game, and nothing else. Public information alone is the same for all players: what player
    0 sees, without a hand that is private.

    Attributes:
        tensor: float32, the whole vector.
        dict: views of it by the names of the layout's fields; `line` is a row for each place in the line.
    """

    tensor: NDArray[np.float32]
    dict: dict[str, NDArray[np.float32]]

    def __init__(self, table: _Table, iig_obs_type: Any, params: Mapping[str, Any] | None) -> None:
        if params:
            raise ValueError(f"observers of {NAME} have no parameters, {shown(dict(params))} were given")
        private = pyspiel.PrivateInfoType
        if iig_obs_type.private_info == private.ALL_PLAYERS:
            raise ValueError(f"observers of {NAME} show private information of one player or of none, not of all")
        self._table, self._recall, self._public = table, iig_obs_type.perfect_recall, iig_obs_type.public_info
        self._private = iig_obs_type.private_info == private.SINGLE_PLAYER
        self._layout = layout = table.history if self._recall else table.layout
        self.tensor = np.zeros(layout.size, np.float32)
        self.dict = {"line": layout.blocks(self.tensor)}
        for name in layout.game_fields:
            self.dict[name] = layout.field(self.tensor, name)

    def set_from(self, state: GetBitState, player: int) -> None:
        """Show a state to a player. Before the line has formed there is nothing to see."""
        self.tensor[:] = 0
        if state.position is None:
            return
        shows = self._table.tell(state.position) if self._recall else state.position.observation
        hidden = self._table.variant.memory
        if self._public:
            self.tensor[:] = shows[player if self._private else 0]
            if hidden and not self._private:
                self._layout.field(self.tensor, "hand")[:] = 0
        elif hidden and self._private:
            self._layout.field(self.tensor, "hand")[:] = self._layout.field(shows[player], "hand")

    def string_from(self, state: GetBitState, player: int) -> str:
        """What a player sees, as text."""
        told = [] if state.position is None else [state.position.text]
        if not (self._recall and self._public):
            self.set_from(state, player)
            told = self._entries()
        return " | ".join([f"player {player}", *told] if self._private else told)

    def _entries(self) -> list[str]:
        """The entries of the tensor that are not zero: a text for each place in the line, then the fields of the game."""
        layout = self._layout
        rows = [[(f, block[f.slice]) for f in layout.block_fields.values()] for block in layout.blocks(self.tensor)]
        rows += [[(f, self.tensor[f.slice])] for f in layout.game_fields.values()]
        texts = [" ".join(f"{f.name}={','.join(map(str, np.flatnonzero(bits)))}" for f, bits in row if bits.any()) for row in rows]
        return [text for text in texts if text]


if NAME not in pyspiel.registered_names():
    pyspiel.register_game(_game_type(), GetBitGame)
