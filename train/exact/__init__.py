"""Recipes that learn from every position of the game at once, without sampling: `docs/exact_learning.md`."""
