"""The stopping criteria asked in the middle of a session, before anything is dispatched."""

from agentmig.journal import Journal, fold
from agentmig.policy import Policy, evaluate_row, features


class Limits:
    """Says whether the policy stops the migration now.

    Args:
        journal: the run's journal, from which the state is folded each time.
        policy: the stopping criteria.
    """

    def __init__(self, journal: Journal, policy: Policy):
        self._journal = journal
        self._policy = policy

    def exceeded(self) -> str | None:
        """The reason to stop, or None while the migration may go on."""
        rule = evaluate_row(self._policy, features(fold(self._journal.events))).rule
        return rule.reason if rule and rule.action == "stop" else None
