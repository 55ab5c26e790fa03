"""What can be known exactly of Get Bit!: solved games, best responses, exploitability. `docs/exact.md` says how, and how far."""

from getbit_env.exact.agents import BestResponse, Equilibrium
from getbit_env.exact.best_response import AgentError, Exploitability, as_face_up, exploitability, exploiting_line
from getbit_env.exact.many_players import ManySolution
from getbit_env.exact.positions import Positions
from getbit_env.exact.solving import solved
from getbit_env.exact.stored_results import StoredResultError, cache_folder
from getbit_env.exact.two_players import Solution

__all__ = [
    "AgentError",
    "BestResponse",
    "Equilibrium",
    "Exploitability",
    "ManySolution",
    "Positions",
    "Solution",
    "StoredResultError",
    "as_face_up",
    "exploitability",
    "cache_folder",
    "exploiting_line",
    "solved",
]
