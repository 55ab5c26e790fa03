"""Makes the golden files anew: `python -m tests.get_bit.make_golden`. Look at the diff before it is committed.

`golden/*.txt` are whole games in the notation, one for each family of variants, to be read by people. `golden/digests.json`
holds, for each variant, a digest of all that a thousand games show: actions, observations, masks, rewards, ends. Neither depends
on the versions of NumPy or Python: lines come from the package's own streams, and so do the actions.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from getbit_env.core.streams import game_streams, random_bits
from getbit_env.get_bit.engine import Engine
from getbit_env.get_bit.notation import Game, cards_of, print_game
from getbit_env.get_bit.observations import Options
from getbit_env.get_bit.variants import Reward, parse_variant
from tests.get_bit.play import line_of

GOLDEN = Path(__file__).parent / "golden"
NOTE = (
    "When an entry moves, the same seed and actions give something else than before: bump the -vN of the environment ids, "
    "say so in the changelog, and only then make this file anew with `python -m tests.get_bit.make_golden`."
)
# A seed each; that of 3p-literal is one in which the loser's second robot is in front, so that the loser wins.
TRANSCRIPTS = {"2p": 1, "3p": 1, "3p-literal": 2, "4p": 1, "4p-half": 1, "4p-pick1": 1, "5p": 1, "6p": 1, "7p": 1}
DIGESTS = [
    *((name, Options()) for name in ("2p", "3p", "4p", "5p", "6p", "7p")),
    *((name, Options()) for name in ("2p-half", "3p-literal", "4p-half", "4p-pick1", "2p-memory", "3p-memory", "4p-memory")),
    ("4p", Options(observe_last=True, identity=True)),
    ("2p-memory", Options(history=True)),
    ("4p", Options(history=True)),
]


def legal_actions(mask: NDArray[np.int8], bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row of `mask` the legal action that `bits` says."""
    wanted = (bits % mask.sum(axis=-1, dtype=np.uint64))[..., None]
    count = np.cumsum(mask, axis=-1, dtype=np.uint64)
    return ((mask > 0) & (count == wanted + np.uint64(1))).argmax(axis=-1)


def bits_of_round(seed: int, number: int, games: int, players: int) -> NDArray[np.uint64]:
    """Random bits for the choices of a round: `[games, players]`."""
    keys = game_streams(seed, games * players).reshape(games, players)
    return random_bits(keys, np.uint64(number + 1))


def random_game(name: str, seed: int) -> Game:
    """A whole game at random."""
    variant = parse_variant(name)
    engine = Engine(variant, 1, seed=seed)
    engine.start()
    line, rounds = line_of(engine.state, 0), []
    while not engine.outcome.over[0]:
        engine.observe()
        engine.play(legal_actions(engine.action_mask, bits_of_round(seed + 1000, len(rounds), 1, variant.players)))
        rounds.append([sum(cards_of(bit)) for bit in engine.state.played[:, 0]])
    return Game(variant, line, rounds)


def transcript(name: str) -> str:
    """A golden game as its file holds it."""
    return f"# A game at random; made by `python -m tests.get_bit.make_golden`.\n{print_game(random_game(name, TRANSCRIPTS[name]))}"


def digest(name: str, options: Options, games: int = 1000) -> str:
    """SHA-256 of all that so many games show; in every eighth of them players don't heed their masks."""
    variant, sha = parse_variant(name), hashlib.sha256()
    engine = Engine(variant, games, seed=7, options=options, reward=Reward.PLACEMENT, limb_reward=-0.125)
    engine.start()
    heedless = np.arange(games) % 8 == 0
    for number in range(variant.most_rounds):
        engine.observe()
        mask = engine.action_mask.copy()
        mask[heedless] = 1
        live = ((engine.state.limbs > 0).sum(axis=0) > variant.last_line)[:, None]
        asked = legal_actions(mask, bits_of_round(8, number, games, variant.players))
        engine.play(asked)
        for array, dtype in (
            *((asked, "<i8"), (engine.observation, "u1"), (engine.action_mask, "i1"), (engine.replaced * live, "u1")),
            *((engine.outcome.reward, "<f4"), (engine.outcome.over, "u1"), (engine.outcome.finish, "u1")),
        ):
            sha.update(array.astype(dtype).tobytes())
    engine.observe()
    sha.update(engine.observation.astype("u1").tobytes())
    return sha.hexdigest()


def title(name: str, options: Options) -> str:
    """Name of an entry."""
    return " + ".join([name, *(option for option, on in vars(options).items() if on)])


def main() -> None:
    """Write all golden files."""
    GOLDEN.mkdir(exist_ok=True)
    for name in TRANSCRIPTS:
        (GOLDEN / f"{name}.txt").write_text(transcript(name))
    digests = {title(name, options): digest(name, options) for name, options in DIGESTS}
    (GOLDEN / "digests.json").write_text(json.dumps({"note": NOTE, "sha256": digests}, indent=2) + "\n")


if __name__ == "__main__":
    main()
