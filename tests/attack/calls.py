"""Odd arguments for public calls. A call that fails says why in one of the promised errors, and has changed nothing."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import getbit_env
from getbit_env.agent_registry import load_agent
from getbit_env.game_registry import find_game, find_variant, game_ids
from getbit_env.get_bit.notation import parse_game, parse_position
from getbit_env.sharks_are_wild.environment import raw_env as sharks_env
from getbit_env.sharks_are_wild.notation import parse_game as parse_sharks_game
from getbit_env.sharks_are_wild.notation import parse_position as parse_sharks_position
from getbit_env.sharks_are_wild.variants import parse_variant as parse_sharks_variant
from getbit_env.single_agent import SingleAgentBatch, SingleAgentEnv
from tests.attack.report import Report, attempt

REFUSED = (ValueError, TypeError)
UNBEGUN = (*REFUSED, RuntimeError)
VARIANTS = ("4p", "2p", "3p-memory", "7p", "5p-half", "sharks-2p-level2", "sharks-4p-level1")
TEXTS = (
    "",
    " ",
    "ABCD",
    "4p",
    "04p",
    "٤p",
    "a" * 3000,
    "\0",
    "..:x",
    "recall:" * 500,
    "1e9",
    "None",
    "💀",
    "-1",
    "a:b.c",
    "/",
    "~",
)


def odd(dice: random.Random, depth: int = 0) -> Any:
    """A value that nobody expects."""
    simple: list[Callable[[], Any]] = [
        lambda: None,
        lambda: dice.choice([True, False]),
        lambda: dice.choice([-1, 0, 1, 2, 3, 4, 5, 7, 255, 256, 2**31, 2**63, 2**64, -(2**63), 10**30]),
        lambda: dice.choice([0.0, 1.0, 2.5, -0.0, math.nan, math.inf, -math.inf, 1e300]),
        lambda: dice.choice(TEXTS),
        lambda: dice.choice([b"", b"4p", b"\xff"]),
        lambda: dice.choice([Decimal(1), Fraction(1, 3), 1j, object(), int, len, Path("x"), ..., NotImplemented]),
        lambda: dice.choice(
            [np.int64(2), np.uint8(255), np.float32("nan"), np.array(1), np.array([0, 1, 2, 3]), np.zeros((2, 2)), np.array("x")]
        ),
    ]
    if depth > 2 or dice.random() < 0.6:
        return dice.choice(simple)()
    values = [odd(dice, depth + 1) for _ in range(dice.randrange(5))]
    kind = dice.randrange(5)
    if kind == 0:
        return values
    if kind == 1:
        return tuple(values)
    if kind == 2:
        return {f"k{i}": value for i, value in enumerate(values)}
    if kind == 3:
        return {str(value)[:9] for value in values}
    return iter(values)


def odd_line(dice: random.Random, robots: int) -> Any:
    """Something like a starting line."""
    line: list[Any] = dice.sample(range(robots), robots)
    kind = dice.randrange(9)
    if kind == 0:
        return line
    if kind == 1:
        return [float(r) for r in line]
    if kind == 2:
        return [str(r) for r in line]
    if kind == 3:
        return set(line)
    if kind == 4:
        return line[:-1]
    if kind == 5:
        return np.array(line, dice.choice([np.int64, np.uint8, np.float64, object]))
    if kind == 6:
        line[dice.randrange(robots)] = odd(dice, 3)
        return line
    if kind == 7:
        return dict.fromkeys(line)
    return odd(dice)


def odd_text(dice: random.Random, texts: list[str]) -> str:
    """A text like one that is right."""
    text = dice.choice(texts)
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(text) + 1)
        piece = dice.choice(["", "0", "9", "A", "-", ":", "/", " ", "~", "٣", "99999999999", "\n", "x", "(", "S", text])
        text = text[:at] + piece + text[at + dice.randrange(3) :]
    return text[:20_000]


def attack_parallel(report: Report, dice: random.Random) -> None:
    """Get Bit!: a failed call leaves everything as it is."""
    name = dice.choice([name for name in VARIANTS if not name.startswith("sharks")])
    env, twin = (getbit_env.parallel_env(variant=name) for _ in range(2))
    seed = dice.randrange(1000)
    for each in (env, twin):
        each.reset(seed=seed)
    for _ in range(dice.randrange(8)):
        if env.agents:
            joint = {agent: dice.randrange(env.action_space(agent).n) for agent in env.agents}
            for each in (env, twin):
                each.step(joint)
    snapshot = twin.snapshot()
    kind = dice.randrange(4)
    if kind == 0:
        line = odd_line(dice, env.variant.robots)
        what, call = f"{name} reset(options={{'line': {line!r:.200}}})", lambda: env.reset(options={"line": line})
    elif kind == 1:
        seed_given = odd(dice)
        what, call = f"{name} reset(seed={seed_given!r:.200})", lambda: env.reset(seed=seed_given)
    elif kind == 2:
        actions: Any = (
            {agent: odd(dice, 2) for agent in env.possible_agents if dice.random() < 0.8} if dice.random() < 0.7 else odd(dice)
        )
        what, call = f"{name} step({actions!r:.200})", lambda: env.step(actions)
    else:
        changed = json.loads(json.dumps(snapshot))
        for key in dice.sample(sorted(changed), dice.randrange(1, 3)):
            changed[key] = odd(dice) if dice.random() < 0.7 else changed.pop(key) and odd(dice, 2)
        what, call = f"{name} restore({changed!r:.300})", lambda: env.restore(changed)
    report.tried["calls of the parallel environment"] += 1
    if attempt(report, what, call, REFUSED):
        return
    if env.snapshot() != snapshot or env.agents != twin.agents:
        report.fault(f"{what} failed, and changed the environment")
        return
    while twin.agents:
        joint = {agent: dice.randrange(env.action_space(agent).n) for agent in twin.agents}
        env.step(joint)
        twin.step(joint)
    again, other = env.reset(), twin.reset()
    if env.snapshot() != twin.snapshot() or any(
        not np.array_equal(again[0][agent]["observation"], other[0][agent]["observation"]) for agent in twin.agents
    ):
        report.fault(f"{what} failed, and the games that follow are others")


def attack_sequential(report: Report, dice: random.Random) -> None:
    """Sharks are Wild: a failed call leaves everything as it is."""
    name = dice.choice([name for name in VARIANTS if name.startswith("sharks")])
    env, twin = sharks_env(variant=name), sharks_env(variant=name)
    seed = dice.randrange(1000)
    for each in (env, twin):
        each.reset(seed=seed)
    for _ in range(dice.randrange(8)):
        action = int(env.observe(env.agent_selection)["action_mask"].argmax())
        for each in (env, twin):
            each.step(action)
    snapshot = twin.snapshot()
    kind = dice.randrange(4)
    if kind == 0:
        deal: Any = (
            {"cards": dice.choice([snapshot["start"]["cards"], odd(dice)]), "first": odd(dice)}
            if dice.random() < 0.7
            else odd(dice)
        )
        what, call = f"{name} reset(options={{'deal': {deal!r:.200}}})", lambda: env.reset(options={"deal": deal})
    elif kind == 1:
        seed_given = odd(dice)
        what, call = f"{name} reset(seed={seed_given!r:.200})", lambda: env.reset(seed=seed_given)
    elif kind == 2:
        action_given = odd(dice)
        what, call = f"{name} step({action_given!r:.200})", lambda: env.step(action_given)
    else:
        changed = json.loads(json.dumps(snapshot))
        for key in dice.sample(sorted(changed), dice.randrange(1, 3)):
            changed[key] = odd(dice)
        what, call = f"{name} restore({changed!r:.300})", lambda: env.restore(changed)
    report.tried["calls of the sequential environment"] += 1
    if attempt(report, what, call, REFUSED):
        return
    if env.snapshot() != snapshot or env.agent_selection != twin.agent_selection:
        report.fault(f"{what} failed, and changed the environment")
        return
    env.reset()
    twin.reset()
    if env.snapshot() != twin.snapshot():
        report.fault(f"{what} failed, and the games that follow are others")


def attack_constructor(report: Report, dice: random.Random) -> None:
    """Arguments of environments, batches and names."""
    names = ("players", "memory", "half_limbs", "pick_up_at", "three_player_ending", "variant", "reward", "limb_reward")
    names += ("illegal_action", "max_cycles", "render_mode", "observe_last", "identity", "history", "histroy")
    given = {name: odd(dice, 2) for name in dice.sample(names, dice.randrange(1, 4))}
    game = dice.choice(game_ids())
    report.tried["constructors"] += 1
    which = dice.randrange(3)
    if which == 0:
        attempt(report, f"parallel_env(**{given!r:.200})", lambda: getbit_env.parallel_env(**given), REFUSED)
    elif which == 1:
        more = {name: odd(dice, 1) for name in ("opponents", "seat") if dice.random() < 0.5}
        attempt(
            report, f"SingleAgentEnv({game!r}, **{more | given!r:.200})", lambda: SingleAgentEnv(game, **more, **given), REFUSED
        )
    else:
        variant = find_variant(dice.choice(VARIANTS))
        more = {name: odd(dice, 1) for name in ("games", "seat", "seed", "max_cycles") if dice.random() < 0.5}
        more["games"] = dice.choice([2, 0, -1, "2", 2.5])  # never so many that the machine has no memory for them
        opponents = dice.choice([next(iter(find_game(variant.game).bots)), odd(dice)])
        attempt(
            report,
            f"SingleAgentBatch({variant}, opponents={opponents!r:.80}, **{more!r:.200})",
            lambda: SingleAgentBatch(variant, opponents=opponents, **more),
            REFUSED,
        )


def attack_text(report: Report, dice: random.Random) -> None:
    """Names, positions and games as text."""
    position = "3. C4:12345 A2:135/24 B3:1345/2 ~ D0:12/345"
    four, sharks = find_variant("4p"), find_variant("sharks-2p-level2")
    sharks_position = _sharks_position()
    readers: dict[str, tuple[Callable[[str], object], list[str]]] = {
        "find_variant": (find_variant, [*VARIANTS, "3p-1r-4c-2l", "4p-memory-pick1"]),
        "parse_position": (lambda text: parse_position(four, text), [position]),
        "parse_game": (parse_game, ["4p C A D B\n1. A5 B3 C3 D1"]),
        "sharks parse_variant": (parse_sharks_variant, ["sharks-4p-level1-3coins", "sharks-2p-level2-12turns"]),
        "sharks parse_position": (lambda text: parse_sharks_position(sharks, text), [sharks_position]),
        "sharks parse_game": (parse_sharks_game, ["sharks-2p-level2 A"]),
        "load_agent": (load_agent, ["random", "recall:counter", "four_players", "sharks-greedy", "equilibrium", *TEXTS]),
    }
    name, (read, texts) = dice.choice(list(readers.items()))
    text = odd_text(dice, texts)
    report.tried["texts"] += 1
    attempt(report, f"{name}({text!r:.200})", lambda: read(text), (ValueError,))


def _sharks_position() -> str:
    from getbit_env.sharks_are_wild.engine import Engine
    from getbit_env.sharks_are_wild.notation import print_position

    variant = parse_sharks_variant("sharks-2p-level2")
    engine = Engine(variant, 1, seed=1)
    engine.start()
    return print_position(variant, engine.state)


ATTACKS: dict[str, Callable[[Report, random.Random], None]] = {
    "parallel": attack_parallel,
    "sequential": attack_sequential,
    "constructor": attack_constructor,
    "text": attack_text,
}


def attack_calls(report: Report, dice: random.Random, number: int) -> None:
    """So many odd calls of every kind."""
    for _ in range(number):
        for attack in ATTACKS.values():
            attack(report, dice)
