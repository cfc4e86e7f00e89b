"""Whether `agentmig run` can begin on this machine, and what to do where it can't.

`examine` makes a `Report` of `Result`s. Each check (`checks`) looks at one thing and judges it; what it starts runs
with a time-out (`child`), and whatever goes wrong in a check becomes a result. Nothing is built, installed or left
behind, and no tokens are spent. `tiny_run` is a script for the interpreters that train, here or over ssh.
"""

from agentmig.doctor.examine import Examined, examine
from agentmig.doctor.results import TITLES, Report, Result, State

__all__ = ["TITLES", "Examined", "Report", "Result", "State", "examine"]
