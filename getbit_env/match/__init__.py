"""Matches between agents, and what they say about how strong each is."""

from getbit_env.match.runner import Failure, MatchResult, Standing, play_match
from getbit_env.match.statistics import Estimate

__all__ = ["Estimate", "Failure", "MatchResult", "Standing", "play_match"]
