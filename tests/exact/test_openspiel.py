"""The solver against OpenSpiel's algorithms, where OpenSpiel is installed: the same tiny games, written for it here.

OpenSpiel sees the whole game tree, a node for every history, where the solver sees each position once; and its games are played by
the card-by-card implementation of the rules that the tests keep.
"""

import ast

import numpy as np
import pytest

from getbit_env.exact.best_response import exploitability
from getbit_env.exact.positions import Positions
from getbit_env.exact.two_players import solve_two_players
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.variants import Variant, parse_variant
from tests.exact.brute_force import Whim, after, begin, choices, own_robots, payoff, policy_of

pyspiel = pytest.importorskip("pyspiel")
exploitability_of = pytest.importorskip("open_spiel.python.algorithms.exploitability")
expected_game_score = pytest.importorskip("open_spiel.python.algorithms.expected_game_score")
policies = pytest.importorskip("open_spiel.python.policy")

LINES = {"AABB": [0, 1, 2, 3], "ABAB": [0, 2, 1, 3], "ABBA": [0, 2, 3, 1]}


def number_of(cards, variant):
    """The action that plays these cards of a player's robots, front to back."""
    return sum((card - 1) * variant.cards**i for i, card in enumerate(reversed(cards)))


def open_spiel_game(variant: Variant, line: list[int]) -> "pyspiel.Game":
    """The game from one starting line on, turn by turn with the choices of a round hidden until all are made (G2.1)."""
    players = variant.players
    kind = pyspiel.GameType(
        short_name="get_bit",
        long_name=f"Get Bit! {variant}",
        dynamics=pyspiel.GameType.Dynamics.SIMULTANEOUS,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM if players == 2 else pyspiel.GameType.Utility.CONSTANT_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=players,
        min_num_players=players,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=False,
        provides_observation_tensor=False,
        provides_factored_observation_string=False,
        parameter_specification={},
    )
    info = pyspiel.GameInfo(
        num_distinct_actions=variant.actions,
        max_chance_outcomes=0,
        num_players=players,
        min_utility=-1.0 if players == 2 else 0.0,
        max_utility=1.0,
        utility_sum=0.0 if players == 2 else 1.0,
        max_game_length=variant.most_rounds,
    )

    class GetBit(pyspiel.Game):
        def __init__(self, params=None):
            super().__init__(kind, info, params or {})

        def new_initial_state(self):
            return State(self)

        def make_py_observer(self, _kind=None, _params=None):
            return Observer()

    class State(pyspiel.State):
        def __init__(self, game):
            super().__init__(game)
            self.table = begin(variant, line)
            self.played = ()

        def current_player(self):
            return pyspiel.PlayerId.TERMINAL if self.table.over else pyspiel.PlayerId.SIMULTANEOUS

        def cards(self, player):
            return {number_of(cards, variant): cards for cards in choices(self.table, player)}

        def _legal_actions(self, player):
            return sorted(self.cards(player))

        def _apply_actions(self, actions):
            self.played = (*self.played, tuple(actions))
            self.table = after(self.table, tuple(self.cards(player)[action] for player, action in enumerate(actions)))

        def _action_to_string(self, player, action):
            return f"{player}:{action}"

        def is_terminal(self):
            return self.table.over

        def returns(self):
            return [payoff(self.table, player) if self.table.over else 0.0 for player in range(players)]

        def __str__(self):
            return str(self.played)

    class Observer:
        """All that was played, which everybody saw."""

        def __init__(self):
            self.tensor, self.dict = None, {}

        def set_from(self, state, player):
            pass

        def string_from(self, state, player):
            return f"{player} {state.played}"

    return pyspiel.convert_to_turn_based(GetBit())


class AsPolicy(policies.Policy):
    """An agent of the package as a policy of OpenSpiel's."""

    def __init__(self, game, agent, variant, line):
        super().__init__(game, list(range(variant.players)))
        self.chances, self.variant, self.start = policy_of(agent, variant), variant, begin(variant, line)
        self.known: dict[object, dict[int, float]] = {}

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        question = state.information_state_string(player).splitlines()[-1].split(" ", 1)[1]
        if (question, player) not in self.known:
            table = self.start
            for actions in ast.literal_eval(question):
                joint = [{number_of(c, self.variant): c for c in choices(table, p)}[a] for p, a in enumerate(actions)]
                table = after(table, tuple(joint))
            chances = self.chances(table, player) if own_robots(table, player) else {(): 1.0}
            self.known[question, player] = {number_of(cards, self.variant): chance for cards, chance in chances.items()}
        return self.known[question, player]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("2p-3c-1l-pick1", BOTS["random"]),
        ("2p-3c-1l-pick1", Whim),
        ("3p-1r-3c-1l", BOTS["random"]),
        ("3p-1r-3c-1l", Whim),
        ("4p-2c-1l-pick1", Whim),  # with two cards nothing is gained on uniform play
    ],
)
def test_best_responses_and_nash_conv(name, make):
    variant = parse_variant(name)
    result = exploitability(make(), Positions(variant))
    lines = LINES.values() if variant.players == 2 else [list(range(variant.players))]
    sums = []
    for start, line in enumerate(lines):
        game = open_spiel_game(variant, line)
        policy = policies.UniformRandomPolicy(game) if make is BOTS["random"] else AsPolicy(game, make(), variant, line)
        gains = exploitability_of.nash_conv(game, policy, return_only_nash_conv=False)
        own = expected_game_score.policy_value(game.new_initial_state(), [policy] * variant.players)
        assert result.own[start] == pytest.approx(own, abs=1e-12)
        assert result.best[start] - result.own[start] == pytest.approx(gains.player_improvements, abs=1e-12)
        sums.append(gains.nash_conv)
    assert result.nash_conv == pytest.approx(np.mean(sums), abs=1e-12)
    assert result.nash_conv > 0.1


@pytest.mark.parametrize("name", ["2p-3c-1l-pick1", "2p-3c-1l"])
def test_values_of_the_two_player_game(name):
    """OpenSpiel's sequence-form linear programme, over histories, to the precision of its interior-point solver."""
    for needed in ("cvxpy", "ecos"):
        pytest.importorskip(needed)
    sequence_form_lp = pytest.importorskip("open_spiel.python.algorithms.sequence_form_lp")
    variant = parse_variant(name)
    values = solve_two_players(variant).starting_values()
    for pattern, line in LINES.items():
        first, second, *_ = sequence_form_lp.solve_zero_sum_game(open_spiel_game(variant, line))
        assert values[pattern] == pytest.approx(first, abs=1e-8)
        assert -values[pattern] == pytest.approx(second, abs=1e-8)
