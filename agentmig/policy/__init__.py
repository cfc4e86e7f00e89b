"""The stopping criteria: rules over named features of a migration's state.

`features` reads one row from a state, `model` is the file that people write, `evaluate` applies a policy to a table
of rows. A live migration has a table of one row; there is no second implementation.
"""

from agentmig.policy.evaluate import Ruling, evaluate, evaluate_row
from agentmig.policy.features import FEATURES, features
from agentmig.policy.model import Policy, Rule, load_policy

__all__ = ["FEATURES", "Policy", "Rule", "Ruling", "evaluate", "evaluate_row", "features", "load_policy"]
