"""What the page of lessons says is computed from solved games: here from tiny ones, and held to plain recursion and to play."""

import json
from functools import partial

import numpy as np
import pytest

from docs import lessons as page
from docs.tables import written
from eval import lessons
from getbit_env.exact import Equilibrium
from getbit_env.exact.many_players import solve_many_players
from getbit_env.exact.quantal_response import Selection
from getbit_env.exact.solving import judged
from getbit_env.exact.stored_results import FOLDER_VARIABLE
from getbit_env.exact.two_players import solve_two_players
from getbit_env.get_bit.bots import BOTS
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import cards_of
from getbit_env.get_bit.variants import parse_variant
from tests.exact import brute_force
from tests.exact.brute_force import begin, equilibrium_value

TWO, MANY = parse_variant("2p-3c-2l-pick1"), parse_variant("3p-1r-4c-2l")


@pytest.fixture(scope="module")
def two():
    return solve_two_players(TWO)


@pytest.fixture(scope="module")
def many():
    return judged(solve_many_players(MANY))


@pytest.fixture(scope="module")
def figures(two, many):
    others = {s.name: judged(solve_many_players(MANY, selection=s)) for s in Selection if s != Selection.PRINCIPAL_BRANCH}
    return {"two": lessons.teach_two(two), "many": lessons.teach_many(many, others)}


def as_table(positions, number, role):
    """A position as the slow reference has it, where player 0 is the one of the role."""
    games = positions.games(np.array([number]))
    mine = [r ^ 2 if role else r for r in range(4)]
    table = begin(TWO, [mine[r] for r in np.argsort(games.place[:, 0])])
    table.first_round = bool(games.rounds[0] == 0)
    for r in range(4):
        robot = table.robots[mine[r]]
        robot.limbs, robot.hand = int(games.limbs[r, 0]), cards_of(games.hand[r, 0])
        robot.table = [card for card in range(1, TWO.cards + 1) if card not in robot.hand]
    return table


def test_a_player_who_may_tie_after_all_has_the_values_of_the_game(two):
    assert lessons.values_without_ties(two, always=True, ties=True) == pytest.approx(two.values, abs=1e-9)


def test_what_it_costs_never_to_tie_with_oneself(two, monkeypatch):
    never = lessons.values_without_ties(two, always=True)
    once = lessons.values_without_ties(two, always=False)
    assert (never <= once + 1e-9).all()
    assert (once <= two.values + 1e-9).all()
    every = brute_force.choices
    monkeypatch.setattr(brute_force, "choices", lambda table, p: [pair for pair in every(table, p) if p == 1 or pair[0] != pair[1]])
    memo: dict[object, float] = {}
    costly = np.argwhere(two.values - never > 1e-6)
    assert len(costly) > 0
    for number, role in [*costly[-4:].tolist(), (150, 1), (300, 0)]:
        assert never[number, role] == pytest.approx(equilibrium_value(as_table(two.positions, number, role), memo), abs=1e-9)


def test_the_number_of_threads_changes_nothing(two):
    one, more = (lessons.values_without_ties(two, always=True, threads=threads) for threads in (1, 2))
    assert one.tobytes() == more.tobytes()


@pytest.mark.parametrize("name", ["two", "many"])
def test_positions_are_weighed_as_games_meet_them(name, request):
    solution = request.getfixturevalue(name)
    positions, play = solution.positions, lessons.EquilibriumPlay(solution)
    assert play.weight[play.rounds == 0].sum() == pytest.approx(1)
    alive = play.policy.any(axis=-1)
    assert play.policy.sum(axis=-1)[alive] == pytest.approx(1)
    assert (play.policy[~play.legal] == 0).all()
    games = 4096
    engine, agent = Engine(positions.variant, games, seed=5), Equilibrium(solution)
    engine.start()
    agent.reset(engine.layout, np.ones(games * positions.variant.players, np.bool_), 9)
    going, seen = np.ones(games, np.bool_), np.zeros(positions.count)
    while going.any():
        engine.observe()
        observation = engine.observation.reshape(-1, engine.observation.shape[-1])
        numbers = positions.read(observation)[0].reshape(games, -1).max(axis=1)
        np.add.at(seen, numbers[going], 1 / games)
        actions = agent.act(observation, engine.action_mask.reshape(len(observation), -1))
        engine.play(actions.reshape(games, -1))
        going &= engine.outcome.over == 0
    weight = np.zeros(positions.count)
    weight[play.met] = play.weight
    assert seen == pytest.approx(weight, abs=4.5 * 0.5 / np.sqrt(games))
    assert (seen[weight == 0] == 0).all()


def test_two_players_see_a_lead_from_both_sides(figures):
    limbs = figures["two"]["limbs"]
    for key in ("lead", "weakest"):
        assert sum(share for share, _ in limbs[key].values()) == pytest.approx(1, abs=1e-5)
    for key, (share, value) in limbs["weakest"].items():
        assert limbs["weakest"][key[::-1]] == pytest.approx([share, -value], abs=2e-6)
    for key, (share, value) in limbs["lead"].items():
        assert limbs["lead"][str(-int(key))] == pytest.approx([share, -value], abs=2e-6)
    assert limbs["lead"]["1"][1] > 0


def test_chances_of_all_players_sum_to_one(figures):
    many = figures["many"]
    assert sum(many["start"]) == pytest.approx(1, abs=1e-5)
    shares, chances = np.transpose(list(many["limbs"]["lead"].values()))
    assert shares @ chances == pytest.approx(1 / 3, abs=1e-5), "three players, and no round with fewer"
    for part in (figures["two"], many):
        for action in part["openings"].values():
            assert sum(action) == pytest.approx(1, abs=1e-5)
        assert all(0 <= explained <= 1 for explained in part["limbs"]["explained"].values())


def test_every_bot_that_can_be_judged_is(figures):
    bots = {name for name, make in BOTS.items() if hasattr(make(), "probabilities")}
    assert {"random", "highest", "lowest", "counter"} <= bots
    for part, extra in ((figures["two"], set()), (figures["many"], {"equilibrium"})):
        assert set(part["agents"]) == bots | extra
        for own, best, gain, conv in part["agents"].values():
            assert gain == pytest.approx(best - own, abs=2e-6)
            assert conv >= gain >= 0
    assert figures["many"]["agents"]["equilibrium"][2] < 1e-4 < figures["many"]["agents"]["random"][2]


def test_equilibria_are_equilibria_and_differ(figures):
    found = figures["many"]["equilibria"]
    assert list(found) == list(page.SELECTIONS) == [selection.name for selection in Selection]
    assert found["PRINCIPAL_BRANCH"]["start"] == figures["many"]["start"]
    assert found["PRINCIPAL_BRANCH"]["openings"] == figures["many"]["openings"]
    for each in found.values():
        assert sum(each["start"]) == pytest.approx(1, abs=1e-5)
        assert max(each["gains"]) < 1e-4
        assert each["regret"] < 1e-4
        shares, chances = np.transpose(list(each["limbs"].values()))
        assert shares @ chances == pytest.approx(1 / 3, abs=1e-4), "of three players one wins"
    assert len({tuple(each["start"]) for each in found.values()}) > 1


def test_the_commands_write_figures_pictures_and_tables(figures, tmp_path, monkeypatch, capsys):
    text, pictures = page.PAGE.read_text(), {path.name for path in page.PICTURES.glob("lessons_*.png")}
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(lessons, "standard_variant", {2: TWO, 4: MANY}.get)
    for name, file in (("PAGE", "lessons.md"), ("FIGURES", "lessons.json"), ("PICTURES", "")):
        monkeypatch.setattr(page, name, tmp_path / file)
    page.PAGE.write_text(text)
    for _ in range(2):  # solved, then from the cache
        assert lessons.main(["--threads", "1", "--output", str(page.FIGURES)]) == 0
        assert json.loads(page.FIGURES.read_text()) == json.loads(json.dumps(figures))
    page.main([])
    drawn = list(tmp_path.glob("*.png"))
    assert {path.name for path in drawn} == pictures
    for path in drawn:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert f"images/{path.name}" in text, "the page shows it"
    written = page.PAGE.read_text()
    assert f"| AABB | {figures['two']['start']['AABB']:+.6f} |" in written
    assert f"| `random` | 0.3333 | {figures['many']['agents']['random'][1]:.4f} |" in written
    with pytest.raises(ValueError, match="no table 'other'"):
        page.table("other", figures)
    (tmp_path / "file").write_text("")
    assert lessons.main(["--output", str(tmp_path / "file" / "within.json")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_lead_counts_the_rounds_in_which_either_side_leads(figures):
    rows = page.table("lead-two", figures).splitlines()[2:]
    assert sum(float(row.split("|")[2]) for row in rows) == pytest.approx(1, abs=2e-4)


def test_the_page_holds_the_tables_of_its_figures():
    text = page.PAGE.read_text()
    figures = json.loads(page.FIGURES.read_text())
    assert text.count("<!-- table:") == text.count("<!-- end -->") > 1
    assert written(text, partial(page.table, figures=figures)) == text, "run python -m docs.lessons"
