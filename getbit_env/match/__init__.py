"""Matches between agents, and what they say about how strong each is."""

from getbit_env.match.ratings import Rating, rate
from getbit_env.match.runner import Failure, ForfeitError, MatchResult, Standing, play_games, play_match
from getbit_env.match.statistics import Estimate
from getbit_env.match.tournament import TournamentResult, play_tournament

__all__ = [
    "Estimate",
    "Failure",
    "ForfeitError",
    "MatchResult",
    "Rating",
    "Standing",
    "TournamentResult",
    "play_games",
    "play_match",
    "play_tournament",
    "rate",
]
