"""Applying a policy to a table of feature rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agentmig.policy.model import Condition, Policy, Rule

Table = Mapping[str, npt.NDArray[np.float64]]
"""Columns of equal length, by feature name; one row a decision point."""

NO_RULE = -1


@dataclass(frozen=True)
class Ruling:
    """The rule that decided; None where the migration may go on."""

    rule: Rule | None


def evaluate(policy: Policy, table: Table) -> npt.NDArray[np.int64]:
    """Index of the first rule that holds in each row, `NO_RULE` where none does; shape (rows,)."""
    rows = len(next(iter(table.values())))
    decided = np.full(rows, NO_RULE, dtype=np.int64)
    for index in reversed(range(len(policy.rule))):
        holds = np.ones(rows, dtype=bool)
        for condition in policy.rule[index].when:
            holds &= _holds(condition, table[condition.feature])
        decided[holds] = index
    return decided


def evaluate_row(policy: Policy, row: Mapping[str, float]) -> Ruling:
    """The ruling for one row: a table of length one."""
    index = int(evaluate(policy, {name: np.array([value]) for name, value in row.items()})[0])
    return Ruling(None if index == NO_RULE else policy.rule[index])


def _holds(condition: Condition, column: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    holds = np.ones(len(column), dtype=bool)
    if condition.at_least is not None:
        holds &= column >= condition.at_least
    if condition.below is not None:
        holds &= column < condition.below
    return holds
