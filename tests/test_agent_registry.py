"""Agents by name: what a name stands for, what is refused before anything is played, and what names from files never do."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from getbit_env import load_agent, parse_variant
from getbit_env.agent_registry import (
    SHIPPED,
    check_agents,
    check_plays,
    content_digest,
    is_code,
    load_opponent,
    shipped_agents,
    text_of,
    trained_for,
)
from getbit_env.core.agent import name_of
from getbit_env.game_registry import find_variant
from getbit_env.get_bit.bots import Random
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.get_bit.recall import PerfectRecall
from getbit_env.network import POLICY_FILE, NetworkAgent, load_network, save_network
from getbit_env.sharks_are_wild.bots import Greedy
from getbit_env.sharks_are_wild.observations import Options as SharksOptions
from getbit_env.sharks_are_wild.variants import parse_variant as parse_sharks

ROOT = Path(__file__).parent.parent


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that leaves a mark when it is imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "marks", raising=False)
    (tmp_path / "marks.py").write_text(
        "from pathlib import Path\n"
        "from getbit_env.get_bit.bots import Highest as Agent\n"
        f"Path({str(tmp_path / 'mark')!r}).touch()\n"
        "agent = Agent()\n"
        "number = 3\n"
        "def leave():\n    raise SystemExit(3)\n"
    )
    return tmp_path


@pytest.mark.parametrize("name", ["marks:Agent", "recall:marks:Agent", "recall:recall:marks:agent", "os:abort", "./marks:Agent"])
def test_a_name_from_a_file_runs_no_code(name: str, module: Path) -> None:
    with pytest.raises(ValueError, match="is code, and names that come out of a file run none"):
        load_agent(name, modules=False)
    assert not (module / "mark").exists()


def test_the_example_of_the_page_on_trust_says_what_happens() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "trust.md").read_text(), re.DOTALL)
    _, _, plays, refused = block.splitlines()
    exec(f"from getbit_env import load_agent\n{plays}", {})
    call, said = refused.split("# ValueError: ")
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        exec(f"from getbit_env import load_agent\n{call}", {})


def test_without_modules_all_else_is_loaded(tmp_path: Path) -> None:
    for name in ("random", "sharks-greedy", "four_players", "recall:four_players", "equilibrium", str(SHIPPED / "four_players")):
        assert name_of(load_agent(name, modules=False)) == name_of(load_agent(name))
    with pytest.raises(ValueError, match="there is no such file"):
        load_agent(str(tmp_path / "x.npz"), modules=False)


def test_a_name_that_is_typed_may_be_a_module(module: Path) -> None:
    assert name_of(load_agent("marks:Agent")) == name_of(load_agent("marks:agent")) == "Highest"
    assert isinstance(load_agent("recall:marks:Agent"), PerfectRecall)
    assert (module / "mark").exists()
    for name, reason in (
        ("marks:Agents", "has no attribute 'Agents'; did you mean 'Agent'"),
        ("marks:number", "gives 3, without `reset` and `act`"),
        ("marks:leave", r"leave\(\) raised SystemExit: 3"),
        ("markz:Agent", "module 'markz' can't be imported: ModuleNotFoundError"),
    ):
        with pytest.raises(ValueError, match=reason):
            load_agent(name)


@pytest.mark.parametrize("code", ["raise SystemExit(0)", "1 / 0", "def", "raise RuntimeError('x' * 10**6)"])
def test_a_module_that_breaks_is_named(code: str, module: Path) -> None:
    (module / "breaks.py").write_text(code)
    with pytest.raises(ValueError, match="agent 'breaks:Agent': module 'breaks' can't be imported") as error:
        load_agent("breaks:Agent")
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    "name",
    ["", "x" * 300, "x" * 300 + ".npz", "..:x", ":", ":x", "a:", "a\0b", "a\0b.npz", "a\0b:c", "sharks-", "recall:", "no/x"],
)
def test_nonsense_is_one_line(name: str) -> None:
    with pytest.raises(ValueError, match="agent") as error:
        load_agent(name)
    assert len(str(error.value)) < 500
    assert "\n" not in str(error.value)


def test_messages_name_what_is_near_in_every_game() -> None:
    with pytest.raises(
        ValueError,
        match=r"no agent 'rando'; did you mean 'random'\? there are random, .*equilibrium, tree-search, trained agents .*, folders",
    ):
        load_agent("rando")
    with pytest.raises(ValueError, match="did you mean 'sharks-greedy'"):
        load_agent("shark-greedy")


def test_wrappers_are_taken_off_without_end() -> None:
    agent = load_agent("recall:" * 2000 + "random")
    assert isinstance(agent, PerfectRecall)
    assert isinstance(agent.agent, Random)
    with pytest.raises(ValueError, match="no agent ''"):
        load_agent("recall:" * 2000)


def test_what_is_no_agent_is_named() -> None:
    class Model:
        policy = None

        def predict(self) -> None: ...

    for value, reason in (
        (Random, "the class Random: call it"),
        (Model(), "a model of Stable-Baselines3"),
        (lambda: Random(), "the function '<lambda>'"),
        (3, "not as 3"),
        (b"random", "not as b'random'"),
    ):
        with pytest.raises(TypeError, match=reason):
            load_agent(value)  # type: ignore[arg-type]


def test_a_path_is_a_folder_even_if_a_bot_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random").mkdir()
    (tmp_path / "random" / POLICY_FILE).write_bytes((SHIPPED / "four_players" / POLICY_FILE).read_bytes())
    assert isinstance(load_agent("random"), Random)
    for path in (Path("random"), tmp_path / "random"):
        agent = load_agent(path)
        assert isinstance(agent, NetworkAgent)
        assert agent.name == text_of(path) != "random"
    assert text_of(Path("runs/x")) == "runs/x"
    with pytest.raises(ValueError, match="there is no such folder"):
        load_agent(Path("counter"))


def policy(folder: Path, variant: str, options: object = None, seed: int = 0) -> str:
    """A run's folder with a policy of random weights."""
    chosen = parse_sharks(variant) if variant.startswith("sharks") else parse_variant(variant)
    from getbit_env.game_registry import game_of

    game = game_of(chosen)
    size = game.make_layout(chosen, options or game.options()).size
    weight = np.random.default_rng(seed).normal(size=(chosen.actions, size)).astype(np.float32)
    save_network(folder / POLICY_FILE, NetworkAgent([(weight, np.zeros(chosen.actions, np.float32))], chosen, options))
    return str(folder)


def test_agents_that_can_not_play_are_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Blind(Random):
        def check_layout(self, _layout: Layout) -> None:
            raise KeyError("eyes")

    class Strange(Random):
        options = SharksOptions()

    class Elsewhere(Random):
        game = "getbit/Chess-v0"  # type: ignore[misc]

    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path))
    six = policy(tmp_path / "six", "6p")
    variant = parse_variant("4p")
    for agent, reason in (
        (load_agent("sharks-greedy"), "agent 'it' plays Sharks are Wild, but 4p is a variant of Get Bit!"),
        (load_agent(six), "was trained on 6p with .* not on 4p"),
        (Strange(), "agent 'it' wants to see .*, which Get Bit! does not have"),
        (Elsewhere(), "agent 'it' plays 'getbit/Chess-v0', but 4p"),
        (Blind(), "agent 'it' can't play 4p: KeyError: 'eyes'"),
        (load_agent("equilibrium"), "4p is not solved here|getbit solve"),
    ):
        with pytest.raises(ValueError, match=reason):
            check_agents({"it": agent}, variant)
    with pytest.raises(ValueError, match="agent 'sharks-greedy' plays Sharks are Wild"):
        load_opponent("sharks-greedy", Layout(variant))
    with pytest.raises(ValueError, match="agent 'counter' plays Get Bit!"):
        check_agents({"counter": load_agent("counter")}, parse_sharks("sharks-2p-level2"))


def test_secret_hands_are_seen_in_no_match(tmp_path: Path) -> None:
    """At level one all hands are open (S1.2), and the option shows nothing more."""

    class Peeking(Greedy):
        options = SharksOptions(open_hands=True)

    reason = "wants to see open_hands, which the rules of sharks-2p-level2 hide from players"
    for agent in (Peeking(), load_agent(policy(tmp_path, "sharks-2p-level2", SharksOptions(open_hands=True)))):
        with pytest.raises(ValueError, match=reason):
            check_agents({"it": agent}, parse_sharks("sharks-2p-level2"))
    seen = check_agents({"it": Peeking(), "other": Greedy()}, parse_sharks("sharks-2p-level1"))
    assert seen == {"it": SharksOptions(open_hands=True), "other": SharksOptions()}


def test_content_tells_agents_of_one_name_apart(tmp_path: Path, module: Path) -> None:
    variant = parse_variant("4p")
    folder = policy(tmp_path / "run", "4p")
    before = content_digest(folder, variant)
    assert before == content_digest(f"recall:{folder}", variant) is not None
    policy(tmp_path / "run", "4p", seed=1)
    assert content_digest(folder, variant) != before
    table = tmp_path / "best.npz"
    table.write_bytes(b"one")
    before = content_digest(str(table), variant)
    table.write_bytes(b"two")
    assert content_digest(str(table), variant) != before
    shipped = [content_digest(name, variant) for name in shipped_agents()]
    assert len({*shipped, None}) == len(shipped) + 1
    assert content_digest("random", variant) is content_digest("sharks-greedy", variant) is None
    before = content_digest("marks:Agent", variant)
    (module / "marks.py").write_text((module / "marks.py").read_text() + "# changed\n")
    assert content_digest("recall:marks:Agent", variant) != before
    assert [is_code(name) for name in ("marks:Agent", "recall:marks:Agent", "recall:random", folder, str(table))] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_the_content_of_the_equilibrium_is_the_file_of_the_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GETBIT_ENV_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match=r"plays from .*2p-3c-1l-solved\.npz, which can't be read"):
        content_digest("equilibrium", parse_variant("2p-3c-1l"))
    digests = set()
    for variant in ("2p-3c-1l", "2p-3c-2l"):
        for content in (b"one", b"two"):
            (tmp_path / f"{variant}-solved.npz").write_bytes(content + variant.encode())
            digests.add(content_digest("recall:equilibrium", parse_variant(variant)))
    assert len(digests) == 4


def test_shipped_agents_are_loaded_by_name() -> None:
    for name in shipped_agents():
        assert load_agent(name).name == name  # type: ignore[attr-defined]
        assert load_network(SHIPPED / name / POLICY_FILE, "x").layers[0][0].dtype == np.float32


def test_a_trained_agent_of_another_table_is_refused_with_those_of_this_one() -> None:
    assert trained_for(parse_variant("2p")) == ["two_players"]
    assert trained_for(parse_variant("2p-half")) == []
    four = load_agent("four_players")
    with pytest.raises(ValueError, match=r"four_players was trained on 4p .* not on 2p with .*\)\. Trained on 2p: two_players$"):
        check_agents({"four_players": four}, parse_variant("2p"))
    with pytest.raises(ValueError, match=r"not on 2p-half with Options\([^)]*\)$"):
        check_agents({"four_players": four}, parse_variant("2p-half"))
    shown = Layout(four.variant, Options(history=True))  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"not on 4p with Options\([^)]*\)$"):
        check_plays(four, shown)


TABLES = [*(f"{players}p" for players in range(2, 8)), "4p-half", "4p-memory"]
TABLES += [f"sharks-{players}p-level{level}" for players in (2, 3, 4) for level in (1, 2)]


@pytest.mark.parametrize("table", TABLES)
def test_tables_have_trained_agents_with_their_pages(table: str) -> None:
    names = trained_for(find_variant(table))
    assert names
    page = (ROOT / "agents/README.md").read_text(encoding="utf-8")
    for name in names:
        assert f"| [`{name}`]({name}/card.md) | {table}" in page
        card = (ROOT / "agents" / name / "card.md").read_text(encoding="utf-8")
        assert card.startswith(f"# {name}\n\nPlays {table} from ")
        assert (ROOT / "agents" / name / "learning.png").stat().st_size > 0
        assert (ROOT / "agents" / name / POLICY_FILE).stat().st_size < 1_000_000
