"""Goofspiel, the game of pure strategy: the third game, which shows what generic code asks of a game.

The cards 1 to N are prizes, in an order that nobody knows, and each player holds the cards 1 to N as well. Each round the next
prize is turned up, and all bid one card at once. The highest bid wins the prize if it is alone; else nobody does. After N rounds
who has the most points wins. Players with equal points share a place.
"""

from getbit_env.game_registry import register_game
from tests.third_game.variants import ID, PREFIX

register_game(ID, prefix=PREFIX, spec="tests.third_game.spec:SPEC")
