import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentmig.policy import Policy, evaluate, evaluate_row, load_policy

TEXT = {
    "name": "p",
    "rule": [
        {"name": "both", "when": [{"feature": "turns", "at_least": 5}, {"feature": "attempts", "below": 2}], "action": "ask", "reason": "r"},
        {"name": "late", "when": [{"feature": "turns", "at_least": 10}], "action": "stop", "reason": "r"},
    ],
}  # fmt: skip


def _ruling(turns: float, attempts: float) -> str | None:
    rule = evaluate_row(Policy.model_validate(TEXT), {"turns": turns, "attempts": attempts}).rule
    return rule.name if rule else None


def test_the_first_rule_whose_conditions_all_hold_decides() -> None:
    assert _ruling(4, 0) is None
    assert _ruling(5, 0) == "both"
    assert _ruling(5, 2) is None
    assert _ruling(10, 2) == "late"
    assert _ruling(10, 1) == "both"


_NUMBERS = st.floats(0, 20)


@given(st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=1, max_size=20))
def test_a_table_is_decided_as_its_rows_are(rows: list[tuple[float, float]]) -> None:
    policy = Policy.model_validate(TEXT)
    table = {"turns": np.array([r[0] for r in rows]), "attempts": np.array([r[1] for r in rows])}
    names = [policy.rule[i].name if i >= 0 else None for i in evaluate(policy, table)]
    assert names == [_ruling(*row) for row in rows]


def test_a_fresh_migration_breaks_no_rule_of_the_default_policy() -> None:
    from agentmig.journal import State
    from agentmig.policy import features

    assert evaluate_row(load_policy(), features(State())).rule is None
