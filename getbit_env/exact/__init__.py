"""What can be known exactly of Get Bit!: solved games, best responses, exploitability. `docs/exact.md` says how, and how far."""

from getbit_env.exact.agents import BestResponse, Equilibrium, StoredPolicy
from getbit_env.exact.best_response import AgentError, Exploitability, as_face_up, exploitability, exploiting_line
from getbit_env.exact.evaluation import Evaluation, GameGraph, Response, evaluate, gain_of
from getbit_env.exact.many_players import ManyPlayerSolution
from getbit_env.exact.positions import Positions
from getbit_env.exact.solving import solved
from getbit_env.exact.stored_results import NotSolvedError, StoredResultError, cache_folder
from getbit_env.exact.two_players import TwoPlayerSolution

__all__ = [
    "AgentError",
    "BestResponse",
    "Equilibrium",
    "Evaluation",
    "Exploitability",
    "GameGraph",
    "ManyPlayerSolution",
    "NotSolvedError",
    "Positions",
    "Response",
    "StoredPolicy",
    "StoredResultError",
    "TwoPlayerSolution",
    "as_face_up",
    "cache_folder",
    "evaluate",
    "exploitability",
    "exploiting_line",
    "gain_of",
    "solved",
]
