"""Arrays in one block: both games' plans say where each lies."""

import copy
import pickle

import numpy as np
import pytest

from getbit_env.get_bit import batch as get_bit
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.observations import Options, View
from getbit_env.get_bit.variants import parse_variant
from getbit_env.sharks_are_wild import batch as sharks_are_wild
from getbit_env.sharks_are_wild.engine import Engine as SharksEngine
from getbit_env.sharks_are_wild.variants import parse_variant as parse_sharks


def engines():
    return [
        (get_bit, Engine(parse_variant("7p-memory"), 3, seed=1, options=Options(history=True))),
        (sharks_are_wild, SharksEngine(parse_sharks("sharks-3p-level2-mustblock-earlyshuffle"), 3, seed=1)),
    ]


@pytest.mark.parametrize(("module", "engine"), engines())
def test_a_plan_says_where_each_array_lies_by_the_names_of_fields(module, engine):
    places = []
    for name in module.Batch._fields:
        entry, place = getattr(engine._batch, name), getattr(module.AT, name)
        for array, at in zip(entry, place, strict=True) if isinstance(entry, tuple) else [(entry, place)]:
            address, *shape = engine._plan[at : at + 4].tolist()
            assert (address, shape[: array.ndim]) == (array.ctypes.data, list(array.shape)), name
            assert address % 64 == engine._block.ctypes.data % 64
            places.append(int(at))
    assert places == list(range(module.HEAD, len(engine._plan), 4))


def test_a_plan_begins_with_rules_and_view():
    (_, one), (_, two) = engines()
    rules = len(one.variant.rules)
    assert tuple(one._plan[:rules]) == one.variant.rules
    assert View(*one._plan[rules : get_bit.HEAD].tolist()) == one.layout.view
    head = two._plan[: sharks_are_wild.HEAD]
    told, view = sharks_are_wild._rules(two._plan), sharks_are_wild._view(two._plan)
    assert view == two.layout.view
    assert all(np.array_equal(a, b) for a, b in zip(told, two.rules, strict=True))
    assert len(head) == len(sharks_are_wild.head_of(two.rules, two.layout.view))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda engine: pickle.loads(pickle.dumps(engine))])
@pytest.mark.parametrize("number", [0, 1])
def test_a_copy_has_a_block_of_its_own(copied, number):
    _, engine = engines()[number]
    engine.start()
    other = copied(engine)
    before = [array.copy() for array in engine.state]
    other.play(np.zeros_like(other.actions))
    other.observe()
    assert all((a == b).all() for a, b in zip(before, engine.state, strict=True))
    assert any((a != b).any() for a, b in zip(other.state, engine.state, strict=True))
    assert (other._plan != engine._plan).any()
