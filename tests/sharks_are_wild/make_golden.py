"""Makes the golden files anew: `python -m tests.sharks_are_wild.make_golden`. Look at the diff before it is committed.

`golden/*.txt` are whole games in the notation, to be read by people. `golden/digests.json` holds, for each variant, a digest of all
that many games show: decisions, observations, masks, rewards, ends. Neither depends on the versions of NumPy or Python.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from getbit_env.sharks_are_wild.engine import Engine
from getbit_env.sharks_are_wild.notation import Game, print_game
from getbit_env.sharks_are_wild.rules import OVER
from getbit_env.sharks_are_wild.variants import parse_variant
from tests.get_bit.make_golden import NOTE
from tests.sharks_are_wild.play import MANY_VARIANTS, random_actions

GOLDEN = Path(__file__).parent / "golden"
TRANSCRIPTS = ("sharks-2p-level1", "sharks-2p-level2", "sharks-3p-level2", "sharks-4p-level1", "sharks-4p-level2", MANY_VARIANTS[6])


def random_game(name: str, seed: int) -> Game:
    """A whole game at random."""
    variant = parse_variant(name)
    engine = Engine(variant, 1, seed=seed)
    engine.start()
    state = engine.state
    cards, first, drawn = state.draw[0][::-1].tolist(), int(state.player[0]), int(engine.counters[0])
    actions: list[int] = []
    while state.stage[0] != OVER:
        decides = engine.choosing()[0]
        engine.play(random_actions(engine, len(actions), seed + 1000))
        actions.append(int(engine.actions[0, decides][0]))
    return Game(variant, int(engine.streams[0]), drawn, cards, first, actions)


def transcript(name: str) -> str:
    """A golden game as its file holds it."""
    return f"# A game at random; made by `python -m tests.sharks_are_wild.make_golden`.\n{print_game(random_game(name, 1))}"


def digest(name: str, games: int = 200) -> str:
    """SHA-256 of all that so many games show; in every eighth of them players don't heed their masks."""
    variant, sha = parse_variant(name), hashlib.sha256()
    engine = Engine(variant, games, seed=7)
    engine.start()
    number = 0
    while (engine.state.stage != OVER).any():
        live = (engine.state.stage != OVER)[:, None]
        asked = random_actions(engine, number, 8) * live
        asked[::8] = (asked[::8] * 7 + number) % variant.actions
        engine.play(asked)
        for array, dtype in (
            *((asked, "<i8"), (engine.observation, "u1"), (engine.action_mask, "i1"), (engine.replaced * live, "u1")),
            *((engine.outcome.reward, "<f4"), (engine.outcome.over, "u1"), (engine.outcome.finish, "u1")),
        ):
            sha.update(array.astype(dtype).tobytes())
        number += 1
    engine.observe()
    sha.update(engine.observation.astype("u1").tobytes() + np.int64(number).tobytes())
    return sha.hexdigest()


def main() -> None:
    """Write all golden files."""
    GOLDEN.mkdir(exist_ok=True)
    for name in TRANSCRIPTS:
        (GOLDEN / f"{name}.txt").write_text(transcript(name))
    digests = {name: digest(name) for name in MANY_VARIANTS}
    note = NOTE.replace("get_bit", "sharks_are_wild")
    (GOLDEN / "digests.json").write_text(json.dumps({"note": note, "sha256": digests}, indent=2) + "\n")


if __name__ == "__main__":
    main()
