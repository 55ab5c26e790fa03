"""The benchmark: how strong an agent is, in numbers that two papers can compare. `docs/benchmark.md` is the protocol."""

from getbit_env.benchmark.protocol import BUDGETS, PROTOCOL, TASKS, Budget, protocol_digest
from getbit_env.benchmark.results import Over, TableResult, TaskResult, Truth, over_seeds
from getbit_env.benchmark.tasks import play_task

__all__ = [
    "BUDGETS",
    "PROTOCOL",
    "TASKS",
    "Budget",
    "Over",
    "TableResult",
    "TaskResult",
    "Truth",
    "over_seeds",
    "play_task",
    "protocol_digest",
]
