"""What goes wrong in a migration: the taxonomy of causes, and the classifier of runs that end with an error.

`taxonomy` names every cause that a gate or the classifier can give, with what it means, who is at fault, and what the
agent is told. `classify` turns an exit code and the end of a log into an outcome and a cause.
"""

from agentmig.failures.classify import Classification, classify
from agentmig.failures.taxonomy import CAUSES, Cause, advice

__all__ = ["CAUSES", "Cause", "Classification", "advice", "classify"]
