"""Stored policies: written the same to the byte, read back, and refused with the reason where they are damaged or strange."""

import hashlib
import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from getbit_env import parallel_env, parse_variant
from getbit_env.agent_registry import SHIPPED, shipped_agents
from getbit_env.get_bit.observations import Layout, Options
from getbit_env.match import play_match
from getbit_env.network import POLICY_FILE, LstmLayer, NetworkAgent, RecurrentNetworkAgent, load_network, save_network
from getbit_env.sharks_are_wild.observations import Options as SharksOptions

VARIANT = parse_variant("4p")
SIZE = Layout(VARIANT, Options()).size


def layers(hidden: int = 8) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    shapes = [(hidden, SIZE), (VARIANT.actions, hidden)]
    return [(rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[0]).astype(np.float32)) for shape in shapes]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / POLICY_FILE
    save_network(path, NetworkAgent(layers(), VARIANT, Options(), about={"frames": "12", "score": "0.5", "by": "somebody"}))
    return path


def test_a_stored_policy_is_read_back(stored: Path) -> None:
    agent = load_network(stored, "again")
    assert agent.name == "again"
    assert (agent.variant, agent.options, agent.about["frames"]) == (VARIANT, Options(), "12")
    for (weight, bias), (was_weight, was_bias) in zip(agent.layers, layers(), strict=True):
        np.testing.assert_array_equal(weight, was_weight)
        np.testing.assert_array_equal(bias, was_bias)
    with safe_open(stored, framework="numpy") as file:
        assert sorted(file.keys()) == ["0.bias", "0.weight", "1.bias", "1.weight"]
        assert list(file.metadata()) != []


def test_equal_policies_are_equal_files(stored: Path, tmp_path: Path) -> None:
    """Saved in five processes, each with its own order of hashes, and again after they were read."""
    code = (
        "import sys; from pathlib import Path; from getbit_env.network import *; from getbit_env import parse_variant\n"
        "agent = load_network(Path(sys.argv[1]), 'x'); agent.about = dict(reversed(agent.about.items()))\n"
        "save_network(Path(sys.argv[2]), agent)"
    )
    found = {hashlib.sha256(stored.read_bytes()).hexdigest()}
    for k in range(5):
        subprocess.run([sys.executable, "-c", code, str(stored), str(tmp_path / f"{k}.safetensors")], check=True)
        found.add(hashlib.sha256((tmp_path / f"{k}.safetensors").read_bytes()).hexdigest())
    assert len(found) == 1


def test_shipped_agents_keep_their_weights_when_they_are_saved_again(tmp_path: Path) -> None:
    for name in shipped_agents():
        agent = load_network(SHIPPED / name / POLICY_FILE, name)
        save_network(tmp_path / POLICY_FILE, agent)
        again = load_network(tmp_path / POLICY_FILE, name)
        for one, other in zip(agent.layers, again.layers, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])


def test_a_policy_that_can_not_be_written_leaves_the_old_one(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stored.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        save_network(stored, NetworkAgent(layers(4), VARIANT))
    assert stored.read_bytes() == before
    assert [path.name for path in stored.parent.iterdir()] == [POLICY_FILE]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e35])
@pytest.mark.parametrize("tensor", [0, 1])
def test_weights_that_play_nothing_are_refused(value: float, tensor: int) -> None:
    parts = layers()
    parts[1][tensor].flat[3] = value
    with pytest.raises(ValueError, match=f"layer 1 has {('weights', 'bias')[tensor]} that are NaN, infinite, or larger"):
        NetworkAgent(parts, VARIANT)


def test_the_largest_weights_allowed_still_play() -> None:
    parts = layers()
    for tensors in parts:
        for tensor in tensors:
            tensor[:] = np.sign(tensor) * 9e29
    agent = NetworkAgent(parts, VARIANT)
    seen = (np.random.default_rng(1).random((500, SIZE)) < 0.5).astype(np.float32)
    chances = agent.probabilities(seen, np.ones((500, VARIANT.actions), np.int8))
    np.testing.assert_allclose(chances.sum(1), 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda parts: parts.clear(), "one layer or more, this has none"),
        (lambda parts: parts.pop(), "don't lead from"),
        (lambda parts: parts.append(parts[1]), "don't lead from"),
        (lambda parts: parts.__setitem__(0, (parts[0][0].ravel(), parts[0][1])), r"layer 0 has weights \[328\] and bias \[8\]"),
        (lambda parts: parts.__setitem__(1, (parts[1][0], parts[1][1][:3])), r"layer 1 has weights \[5, 8\] and bias \[3\]"),
        (
            lambda parts: parts.__setitem__(0, (parts[0][0].astype(float), parts[0][1])),
            "layer 0 has weights of float64, not float32",
        ),
    ],
)
def test_layers_that_are_no_network_are_refused(change: Callable[[Any], object], reason: str) -> None:
    parts = layers()
    change(parts)
    with pytest.raises(ValueError, match=reason):
        NetworkAgent(parts, VARIANT)


def test_options_of_another_game_are_refused() -> None:
    with pytest.raises(ValueError, match="have the options Options"):
        NetworkAgent(layers(), VARIANT, SharksOptions())


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata())  # noqa: SIM118 - no iterator


def metadata(**change: str | None) -> Callable[[dict[str, np.ndarray], dict[str, str]], None]:
    def edit(_: dict[str, np.ndarray], about: dict[str, str]) -> None:
        for key, value in change.items():
            about.pop(key, None)
            if value is not None:
                about[key] = value

    return edit


def tensor(name: str, value: np.ndarray | None) -> Callable[[dict[str, np.ndarray], dict[str, str]], None]:
    def edit(tensors: dict[str, np.ndarray], _: dict[str, str]) -> None:
        tensors.pop(name, None)
        if value is not None:
            tensors[name] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (metadata(options=None), "does not say its options"),
        (metadata(env=None), "does not say its env"),
        (metadata(variant=None), "does not say its variant"),
        (metadata(activation=None), "does not say its activation"),
        (metadata(options="null"), "its options are none of an observation of Get Bit!: they are None"),
        (metadata(options="[]"), r"they are \[\]"),
        (metadata(options="{"), "its options are none"),
        (metadata(options="[" * 100_000), "its options are none"),
        (metadata(options='{"histori": true}'), "unexpected keyword argument 'histori'; did you mean 'history'"),
        (metadata(options='{"history": 1}'), "history is True or False, not 1"),
        (metadata(options='{"history": true}'), "don't lead from"),
        (metadata(options='{"open_hands": false}'), "unexpected keyword argument 'open_hands'"),
        (metadata(variant="5p"), "don't lead from"),
        (metadata(variant="x" * 10**6), "no variant"),
        (metadata(variant="sharks-2p-level2"), "it was trained in getbit/GetBit-v0, this is getbit/SharksAreWild-v0"),
        (metadata(env="getbit/GetBit-v9" * 10**5), "it was trained in getbit/GetBit-v9"),
        (metadata(activation="gelu"), "activation is one of 'tanh', 'relu', not 'gelu'"),
        (tensor("1.bias", None), "it lacks 1.bias"),
        (tensor("0.weight", None), "it lacks 0.weight"),
        (tensor("2.bias", np.zeros(5, np.float32)), "it lacks 2.weight"),
        (tensor("extra", np.zeros(5, np.float32)), "it lacks 2.weight, and has 0.bias"),
        (tensor("0.weight", np.zeros(8 * SIZE, np.float32)), r"layer 0 has weights \[328\]"),
        (tensor("0.weight", np.zeros((8, SIZE))), "0.weight holds numbers of F64, not F32"),
        (tensor("0.weight", np.zeros((8, SIZE), np.float16)), "0.weight holds numbers of F16, not F32"),
        (tensor("1.bias", np.full(5, np.nan, np.float32)), "layer 1 has bias that are NaN"),
        (tensor("1.bias", np.array(3, np.float32)), r"layer 1 has weights \[5, 8\] and bias \[\]"),
        (tensor("0.weight", np.zeros((8, 0), np.float32)), "don't lead from"),
        (lambda tensors, _: tensors.clear(), "it holds no tensors"),
    ],
)
def test_a_file_that_holds_no_policy_says_why(edit: Callable[..., object], reason: str, stored: Path) -> None:
    tensors, about = read(stored)
    edit(tensors, about)
    save_file(tensors, stored, about)
    with pytest.raises(ValueError, match=reason) as error:
        load_network(stored, "x")
    assert str(stored) in str(error.value)
    assert len(str(error.value)) < 1000


def test_damaged_files_are_refused_or_play(stored: Path) -> None:
    """Cut off anywhere, with any bit flipped: a ValueError, or a policy whose distributions are distributions."""
    whole = stored.read_bytes()
    rng = np.random.default_rng(0)
    (header,) = struct.unpack("<Q", whole[:8])
    seen, mask = np.ones((1, SIZE), np.float32), np.ones((1, VARIANT.actions), np.int8)
    damaged = [whole[:k] for k in (0, 1, 7, 8, 9, header, header + 8, len(whole) - 1)] + [whole + b"\0"]
    for _ in range(400):
        flipped = bytearray(whole)
        flipped[int(rng.integers(header + 8 if rng.random() < 0.7 else len(whole)))] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    refused = 0
    for content in damaged:
        stored.write_bytes(content)
        try:
            agent = load_network(stored, "x")
        except ValueError:
            refused += 1
            continue
        np.testing.assert_allclose(agent.probabilities(seen, mask).sum(1), 1)
    assert refused > 200, "or the test would tell little"


def test_a_header_that_lies_is_refused(stored: Path) -> None:
    for header in ({"0.weight": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}}, {}, [], None, "x"):
        text = json.dumps(header).encode()
        stored.write_bytes(struct.pack("<Q", len(text)) + text)
        with pytest.raises(ValueError, match="is damaged or holds no policy"):
            load_network(stored, "x")
    stored.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(ValueError, match="is damaged or holds no policy"):
        load_network(stored, "x")


# --- with LSTMs --------------------------------------------------------------------------------------------------------------


def lstm_agent(layers_of_lstm: int = 2, units: int = 6) -> RecurrentNetworkAgent:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    sizes = [SIZE, *[units] * (layers_of_lstm - 1)]
    lstm = [LstmLayer(drawn(4 * units, size), drawn(4 * units, units), drawn(4 * units)) for size in sizes]
    return RecurrentNetworkAgent(lstm, [(drawn(VARIANT.actions, units), drawn(VARIANT.actions))], VARIANT, about={"by": "me"})


def test_lstms_are_read_back(tmp_path: Path) -> None:
    agent = lstm_agent()
    save_network(tmp_path / POLICY_FILE, agent)
    again = load_network(tmp_path / POLICY_FILE, "again")
    assert isinstance(again, RecurrentNetworkAgent)
    assert not hasattr(again, "probabilities")
    for one, other in zip(agent.lstm, again.lstm, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    save_network(tmp_path / "twice.safetensors", again)
    assert (tmp_path / "twice.safetensors").read_bytes() == (tmp_path / POLICY_FILE).read_bytes()


def test_an_lstm_of_one_unit_by_hand() -> None:
    """Gates in the order input, forget, cell, output."""
    zero = np.zeros((4, SIZE), np.float32)
    layer = LstmLayer(zero, np.array([[0], [0], [1], [0]], np.float32), np.array([0, 1, 2, 3], np.float32))
    agent = RecurrentNetworkAgent([layer], [(np.arange(5, dtype=np.float32)[:, None], np.zeros(5, np.float32))], VARIANT)
    state = agent.begun(1)
    cell = output = 0.0
    for _ in range(3):
        logits, state = agent.step(np.ones((1, SIZE), np.float32), state)
        cell = cell / (1 + np.exp(-1)) + np.tanh(2 + output) / 2
        output = np.tanh(cell) / (1 + np.exp(-3))
        np.testing.assert_allclose(logits[0], np.arange(5) * output, rtol=1e-5)
        np.testing.assert_allclose(state.ravel(), [output, cell], rtol=1e-5)


def test_rows_remember_their_own_games() -> None:
    """A row whose game begins forgets, one that has nothing to choose neither sees nor forgets; a seed begins everything anew."""
    agent, layout = lstm_agent(), Layout(VARIANT, Options())
    seen = (np.random.default_rng(1).random((6, 3, SIZE)) < 0.5).astype(np.float32)
    mask = np.ones((3, VARIANT.actions), np.int8)
    every, first = np.ones(3, bool), np.array([True, False, False])
    agent.reset(layout, every, 0)
    begun = agent.act(seen[0], mask)
    agent.act(seen[1], mask)
    after_two = agent._state.copy()
    waiting = seen[2].copy()
    waiting[1] = 0
    agent.reset(layout, first, None)
    agent.act(waiting, mask)
    np.testing.assert_array_equal(agent._state[:, :, 1], after_two[:, :, 1])
    np.testing.assert_allclose(agent._state[:, :, 0], agent.step(seen[2, :1], agent.begun(1))[1][:, :, 0], atol=1e-6)
    np.testing.assert_allclose(agent._state[:, :, 2], agent.step(seen[2, 2:], after_two[:, :, 2:])[1][:, :, 0], atol=1e-6)
    agent.reset(layout, every, 0)
    np.testing.assert_array_equal(agent.act(seen[0], mask), begun)


def test_it_plays_matches_and_one_seat() -> None:
    agent = lstm_agent()
    one, two = (play_match([agent, "random", "random", "random"], VARIANT, starts=24, seed=1) for _ in range(2))
    assert one.failure is None
    assert one[0].win == two[0].win
    env = parallel_env(players=4)
    observations, _ = env.reset(seed=1)
    agent.begin(env, seed=2)
    assert observations["player_0"]["action_mask"][agent.choose(observations["player_0"])]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (tensor("lstm.1.bias", None), "it lacks lstm.1.bias"),
        (tensor("lstm.0.weight_hr", np.zeros(5, np.float32)), "it lacks lstm.2.weight_ih"),
        (tensor("lstm.0.bias", np.zeros(24)), "lstm.0.bias holds numbers of F64, not F32"),
        (tensor("lstm.0.bias", np.full(24, np.inf, np.float32)), "LSTM 0 has bias that are NaN, infinite"),
        (tensor("lstm.0.bias", np.array(3, np.float32)), "LSTM 0 has"),
        (tensor("lstm.0.weight_ih", np.zeros((24, 3), np.float32)), r"LSTM 0 has .* after 41 entries, with 6 units"),
        (tensor("lstm.1.weight_ih", np.zeros((24, 7), np.float32)), r"LSTM 1 has .* after 6 entries, with 6 units"),
        (tensor("0.weight", np.zeros((5, 7), np.float32)), "don't lead from 6 units of an LSTM to 5 actions"),
        (lambda tensors, _: tensors.update({"value.0.weight": tensors["0.weight"], "value.0.bias": tensors["0.bias"]}), "values"),
        (metadata(variant="5p"), "LSTM 0 has"),
    ],
)
def test_a_file_of_lstms_that_fit_nothing_says_why(edit: Callable[..., object], reason: str, tmp_path: Path) -> None:
    path = tmp_path / POLICY_FILE
    save_network(path, lstm_agent())
    tensors, about = read(path)
    edit(tensors, about)
    save_file(tensors, path, about)
    with pytest.raises(ValueError, match=reason):
        load_network(path, "x")


def test_no_lstms_are_no_recurrent_policy() -> None:
    with pytest.raises(ValueError, match="one LSTM or more, this has none"):
        RecurrentNetworkAgent([], layers(), VARIANT)


def test_no_file_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_network(tmp_path / POLICY_FILE, "x")
