"""Snapshots of games: a plain dict with all decisions so far, restored by playing them again.

What is played again is checked here before it is used. Everything else that a snapshot says is compared with what its decisions
lead to, type by type, since 1, 1.0 and true are different things in a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from getbit_env.core.messages import shown

_KEY = re.compile(r"0x[0-9a-f]{1,16}")


def check_origin(snapshot: Any, version: str, variant: str, keys: Collection[str], optional: Collection[str] = ()) -> None:
    """Refuse a snapshot of another version or variant, or one with other keys.

    Args:
        snapshot: what was given.
        version: of the environment.
        variant: its name.
        keys: all that a snapshot has.
        optional: what it may have as well.

    Raises:
        ValueError: with what is wrong.
    """
    if not isinstance(snapshot, Mapping):
        raise ValueError(f"a snapshot is the dict that snapshot() returns, not {shown(snapshot)}")
    for key, ours in {"version": version, "variant": variant}.items():
        if not same(snapshot.get(key), ours):
            raise ValueError(f"the snapshot's {key} is {shown(snapshot.get(key))}, this environment's is {ours!r}")
    missing = sorted(key for key in keys if key not in snapshot)
    if missing:
        raise ValueError(f"the snapshot lacks {', '.join(missing)}")
    unknown = [key for key in snapshot if key not in keys and key not in optional]
    if unknown:
        raise ValueError(
            f"the snapshot has {', '.join(shown(key) for key in unknown[:5])}, which no snapshot of this environment has"
        )


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
        if key not in but and not same(snapshot[key], value):
            raise ValueError(f"the snapshot says {key} {shown(snapshot[key])}, but its actions lead to {shown(value)}")


def same(given: Any, ours: Any) -> bool:
    """Whether a value from a snapshot is ours, types included; tuples pass for lists."""
    if isinstance(ours, dict):
        return isinstance(given, Mapping) and given.keys() == ours.keys() and all(same(given[key], ours[key]) for key in ours)
    if isinstance(ours, list):
        return isinstance(given, list | tuple) and len(given) == len(ours) and all(map(same, given, ours))
    return type(given) is type(ours) and bool(given == ours)


def read_list(snapshot: Mapping[str, Any], key: str, most: int) -> list[Any]:
    """A list of a snapshot.

    Raises:
        ValueError: it is none, or longer than `most`.
    """
    value = snapshot[key]
    if not isinstance(value, list | tuple):
        raise ValueError(f"the snapshot's {key} is a list, not {shown(value)}")
    if len(value) > most:
        raise ValueError(f"the snapshot's {key} has {len(value)} entries, but there are at most {most}")
    return list(value)


def read_flag(snapshot: Mapping[str, Any], key: str) -> bool:
    """True or False of a snapshot.

    Raises:
        ValueError: it is neither.
    """
    value = snapshot[key]
    if not isinstance(value, bool):
        raise ValueError(f"the snapshot's {key} is true or false, not {shown(value)}")
    return value


def read_count(name: str, value: Any) -> int:
    """How many numbers of a stream were drawn.

    Raises:
        ValueError: it is no whole number of 64 bits.
    """
    if type(value) is not int or not 0 <= value < 2**64:
        raise ValueError(f"{name} is a whole number of at most 64 bits, not {shown(value)}")
    return value


def read_stream(snapshot: Mapping[str, Any]) -> tuple[int, int]:
    """Key of a snapshot's stream, and how many numbers were drawn from it.

    Raises:
        ValueError: it is no stream.
    """
    value = snapshot["stream"]
    if not (isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str) and _KEY.fullmatch(value[0])):
        raise ValueError(f"the snapshot's stream is a list such as ['0x1f', 3], key and numbers drawn, not {shown(value)}")
    return int(value[0], 16), read_count("the snapshot's numbers drawn from its stream", value[1])
