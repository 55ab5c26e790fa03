"""Makes the golden replays anew: `python -m tests.make_replays`. Look at the diff before it is committed.

They are games that this package must be able to play again, to the same end, as long as the `-vN` of the environments stays.
"""

from __future__ import annotations

from pathlib import Path

import tests.third_game  # noqa: F401 - registers the game
from getbit_env.match import play_games

GOLDEN = Path(__file__).parent / "golden_replays"
GAMES = {  # the agents of a match, and the number of the game that is kept
    "2p": (["two_players", "counter"], 1),
    "3p": (["random", "counter", "highest"], 4),
    "4p": (["four_players", "lookahead", "random", "counter"], 2),
    "4p-memory": (["four_players_memory", "random", "counter", "lowest"], 3),
    "4p-half": (["random", "counter", "random", "forgetful"], 0),
    "7p": (["random", "counter", "random", "random", "highest", "random", "lowest"], 5),
    "sharks-2p-level2": (["sharks-careful", "sharks-random"], 0),
    "sharks-4p-level1-2coins": (["sharks-careful", "sharks-random", "sharks-greedy", "sharks-random"], 6),
    "goofspiel-3p-3c": (["goofspiel-random", "goofspiel-matching", "goofspiel-random"], 1),
}


def main() -> None:
    """Write all files."""
    GOLDEN.mkdir(exist_ok=True)
    for variant, (line_up, number) in GAMES.items():
        play_games(line_up, variant)[number].save(GOLDEN / f"{variant}.replay.json")


if __name__ == "__main__":
    main()
