"""An agent of your own, in a match and in a tournament.

python -m examples.own_agent
getbit tournament examples.own_agent:Wary random counter
"""

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from getbit_env.get_bit import Layout
from getbit_env.match import MatchResult, play_match


class Wary:
    """Plays the card that the fewest robots ahead can tie, and of those the highest: a tied robot stays where it is (G3.1, G3.2).

    An agent is asked for all its seats in all games at once, one a row; see `getbit_env.core.agent.Agent`.
    """

    deterministic = True  # it uses no random numbers, so that matches need not be repeated

    def reset(self, layout: Layout, begins: NDArray[np.bool_], seed: int | None) -> None:  # noqa: ARG002 - no memory, no chance
        """Learn what game this is. With hidden hands or two robots the rule would need more than it is here."""
        if layout.variant.robots_per_player == 2 or layout.variant.memory:
            raise ValueError(f"Wary plays face-up games with one robot a player, not {layout.variant}")
        self.layout = layout

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose a card for each row."""
        hands = self.layout.field(observation, "hand")  # [rows, places in the line, cards]
        mine = self.layout.mine(observation)  # [rows, places in the line]
        ahead = ~np.logical_or.accumulate(mine, axis=1)
        can_tie = (hands * ahead[..., None]).sum(axis=1)  # [rows, cards]
        cards = np.arange(action_mask.shape[1])
        worth = np.where(action_mask != 0, cards - len(cards) * can_tie, -np.inf)
        return np.asarray(worth.argmax(axis=1), np.int64)


def main(arguments: Sequence[str] | None = None) -> MatchResult:
    """Play a match against three others, print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--against", default="random", help="a bot, an agent's folder, or module:attribute")
    parser.add_argument("--starts", type=int, default=5040, help="starts, each in all rotations of the seats")
    options = parser.parse_args(arguments)
    result = play_match([Wary(), *[options.against] * 3], "4p", starts=options.starts)
    print(result)
    return result


if __name__ == "__main__":
    main()
