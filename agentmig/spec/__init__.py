"""What a person writes: the workload file, its targets, acceptance and budget; and the price book.

`load_workload(path)` is the one door: it returns a validated `Workload` or raises a `SpecError` that lists every
mistake at once with its file, line, key, what was found and what is allowed.
"""

from agentmig.spec.loading import Problem, SpecError, load_workload
from agentmig.spec.prices import ModelPrice, PriceBook, load_prices
from agentmig.spec.workload import (
    Acceptance,
    Budget,
    Environment,
    Goal,
    Reference,
    Target,
    Workload,
)

__all__ = [
    "Acceptance",
    "Budget",
    "Environment",
    "Goal",
    "ModelPrice",
    "PriceBook",
    "Problem",
    "Reference",
    "SpecError",
    "Target",
    "Workload",
    "load_prices",
    "load_workload",
]
