"""Sharks are Wild, the second game of the package: turn by turn, with hidden hands at level two."""
