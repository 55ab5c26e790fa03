"""What is known exactly of a position of Get Bit!, where a solution is in the cache folder (`getbit solve`)."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.spec import Variant
from getbit_env.exact.agents import Equilibrium
from getbit_env.exact.best_response import exploitability
from getbit_env.exact.many_players import ManyPlayerSolution
from getbit_env.exact.positions import Positions, check_numbered
from getbit_env.exact.solutions import check_solved, load_solution
from getbit_env.exact.stored_results import cache_folder, open_result, save_result
from getbit_env.exact.two_players import TwoPlayerSolution
from getbit_env.get_bit.variants import Variant as GetBitVariant

VALUES = "values of positions"  # kind of the stored result

_lock = threading.Lock()
_kept: dict[str, tuple[Positions, NDArray[np.float64]]] = {}  # of the variant asked for last


def is_solved(variant: Variant) -> bool:
    """Whether exact values of positions of a variant can be had here. Nothing is read."""
    if not isinstance(variant, GetBitVariant):
        return False
    try:
        check_numbered(variant)
        check_solved(variant)
    except ValueError:
        return False
    return True


def exact_value(variant: Variant, observation: NDArray[np.float32]) -> dict[str, Any] | None:
    """What a position is worth to the player who sees it, if everybody plays the equilibrium from there on.

    With two players the solution holds the values. With more, the first question ever takes some minutes: the values of all
    positions are computed from the solution, and kept beside it in the cache folder.

    Args:
        variant: a face-up game.
        observation: `[D]`, the default one.

    Returns:
        `value`, and `unit`: the payoff from -1 to 1 with two players, else the chance of winning. None if the variant is not solved
        here.
    """
    if not is_solved(variant):
        return None
    with _lock:
        try:
            positions, values = _values(variant)
        except (ValueError, OSError):  # the file is damaged, or gone
            return None
        numbers, roles = positions.read(observation[None])
    if numbers[0] < 0:
        return None
    value = float(values[numbers[0], roles[0]])
    return {"value": value, "unit": "payoff, from -1 to 1" if variant.players == 2 else "chance of winning"}


def _values(variant: Any) -> tuple[Positions, NDArray[np.float64]]:
    if variant.name not in _kept:
        solution = load_solution(variant)
        values = solution.values if isinstance(solution, TwoPlayerSolution) else _stored_values(solution)
        _kept.clear()
        _kept[variant.name] = solution.positions, values
    return _kept[variant.name]


def _stored_values(solution: ManyPlayerSolution) -> NDArray[np.float64]:
    """The values of all positions under an equilibrium, `[N, P]`: from the cache folder, or computed and kept there."""
    positions = solution.positions
    variant, digest = positions.variant, hashlib.sha256(solution.policy.tobytes()).hexdigest()
    path = cache_folder() / f"{variant.name}-values.npz"
    try:
        with open_result(path, VALUES, variant, ("values",)) as stored:
            if stored.text("policy") == digest:
                values: NDArray[np.float64] = stored.array("values", np.float64, (positions.count, variant.players))
                return values
    except (OSError, ValueError):  # not there, damaged, or of other rules: it is computed anew
        pass
    values = exploitability(Equilibrium(solution), positions).own_values[:-1]
    with contextlib.suppress(OSError):
        save_result(path, VALUES, variant, {"policy": digest}, {"values": values})
    return values
