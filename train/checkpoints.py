"""Checkpoints: weights, moments of the optimizer and counters in one file, whole or not there; nothing in it is unpickled."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from getbit_env.core.files import write_whole

from .recipe import DamagedError, Kept

KEPT_CHECKPOINTS = 2


class Progress:
    """How far a run is.

    Attributes:
        leg: legs finished.
        rollouts: rollouts finished.
        seconds: of training, over all sessions.
        best: mean win rate of the best evaluation so far, or None.
    """

    def __init__(self) -> None:
        self.leg, self.rollouts, self.seconds = 0, 0, 0.0
        self.best: float | None = None


def _digest(state: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> str:
    """Of all that a checkpoint holds."""
    made = hashlib.sha256(json.dumps(state, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        made.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        made.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return made.hexdigest()


def save_checkpoint(folder: Path, run: str, progress: Progress, algorithm: Kept) -> None:
    """Write the checkpoint at the end of a leg, and delete old ones.

    Args:
        folder: of the run.
        run: its token.
        progress: how far it is.
        algorithm: what it has learnt.
    """
    tensors = {f"model.{name}": tensor for name, tensor in algorithm.module.state_dict().items()}
    moments = algorithm.optimizer.state_dict()["state"]
    tensors |= {f"optimizer.{i}.{name}": tensor for i, entry in moments.items() for name, tensor in entry.items()}
    state = {"run": run, **vars(progress), "timesteps": algorithm.timesteps, "algorithm": algorithm.state()}
    about = {"state": json.dumps({**state, "digest": _digest(state, tensors)})}
    write_whole(
        folder / "checkpoints" / f"{progress.leg:06d}.safetensors",
        lambda part: save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, part, about),
    )
    for old in _checkpoints(folder)[:-KEPT_CHECKPOINTS]:
        old.unlink()


def _checkpoints(folder: Path) -> list[Path]:
    """All checkpoints, the oldest first."""
    found = [path for path in (folder / "checkpoints").glob("*.safetensors") if path.stem.isdecimal()]
    return sorted(found, key=lambda path: int(path.stem))


def load_checkpoint(folder: Path, run: str, algorithm: Kept) -> Progress:
    """Go to the last checkpoint; without one, to the beginning.

    Raises:
        DamagedError: it is damaged, or another run's.
    """
    progress, found = Progress(), _checkpoints(folder)
    if not found:
        return progress
    path = found[-1]
    damaged = f"checkpoint {path} is damaged; delete it to go on from the one before"
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
            state = json.loads((file.metadata() or {})["state"])
        digest = state.pop("digest")
        if digest != _digest(state, tensors):
            raise ValueError("its digest is another")
        its_run = state["run"]
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError, SafetensorError) as error:
        raise DamagedError(f"{damaged} ({error})") from error
    if its_run != run:
        raise DamagedError(f"checkpoint {path} is of another run than config.json of {folder}")
    try:
        weights = {name.removeprefix("model."): tensor for name, tensor in tensors.items() if name.startswith("model.")}
        algorithm.module.load_state_dict(weights)
        moments: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, i, key = name.split(".")
                moments[int(i)][key] = tensor
        optimizer = algorithm.optimizer
        optimizer.load_state_dict({"state": dict(moments), "param_groups": optimizer.state_dict()["param_groups"]})
        algorithm.restore(state["algorithm"])
        algorithm.timesteps = _entry(state, "timesteps", int)
        progress.leg, progress.rollouts = _entry(state, "leg", int), _entry(state, "rollouts", int)
        progress.seconds = float(_entry(state, "seconds", float))
        progress.best = None if state["best"] is None else float(_entry(state, "best", float))
    except (KeyError, ValueError, RuntimeError) as error:
        raise DamagedError(f"{damaged} ({error})") from error
    return progress


def _entry(state: Mapping[str, Any], name: str, kind: type[int] | type[float]) -> Any:
    value: Any = state[name]
    if type(value) is not kind or value < 0:
        raise ValueError(f"{name} is {value!r:.80}")
    return value
