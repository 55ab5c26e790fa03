"""Copies of modules whose kernels Python runs, without the compiler."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from getbit_env.core import compiled


def plain_copies(*modules: ModuleType) -> list[ModuleType]:
    """Load modules anew with decorators that compile nothing.

    Args:
        modules: each after all that it calls: a copy calls the copies of those before it.

    Returns:
        The copies, none of which holds a compiled function.
    """
    copies = []
    with pytest.MonkeyPatch.context() as patch:
        for decorator in ("kernel", "lean_kernel", "inlined", "part"):
            patch.setattr(compiled, decorator, lambda function: function)
        for module in modules:
            assert module.__file__ is not None
            spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
            assert spec is not None
            assert spec.loader is not None
            copies.append(importlib.util.module_from_spec(spec))
            patch.setitem(sys.modules, module.__name__, copies[-1])  # for dataclasses, and for the copies to come
            spec.loader.exec_module(copies[-1])
    for module in modules:
        assert any(hasattr(thing, "py_func") for thing in vars(module).values()), f"{module.__name__} holds no kernel"
    for copy in copies:
        assert not any(hasattr(thing, "py_func") for thing in vars(copy).values()), f"{copy.__name__} is compiled"
    return copies
