"""Snapshots of games: a plain dict with all decisions so far, restored by playing them again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


def check_origin(snapshot: Mapping[str, Any], version: str, variant: str, keys: Collection[str]) -> None:
    """Refuse a snapshot of another version or variant, or one that lacks a key.

    Raises:
        ValueError: with what is wrong.
    """
    for key, ours in {"version": version, "variant": variant}.items():
        if snapshot.get(key) != ours:
            raise ValueError(f"the snapshot's {key} is {snapshot.get(key)!r}, this environment's is {ours!r}")
    missing = keys - snapshot.keys()
    if missing:
        raise ValueError(f"the snapshot lacks {', '.join(sorted(missing))}")


def check_position(snapshot: Mapping[str, Any], led_to: Mapping[str, Any], but: Collection[str] = ()) -> None:
    """Refuse a snapshot that says something else of the position than what its decisions lead to.

    Args:
        snapshot: what was given.
        led_to: the snapshot after the decisions were played again.
        but: keys that are not compared.

    Raises:
        ValueError: with the first difference.
    """
    for key, value in led_to.items():
        if key not in but and snapshot[key] != value:
            raise ValueError(f"the snapshot says {key} {snapshot[key]}, but its actions lead to {value}")
