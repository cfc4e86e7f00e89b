"""Studies: many migrations, and the tables over them, computed from their journals alone (`docs/study.md`).

`reading` turns run folders into `facts`; `outcomes`, `effort` and `speed` count them, with the intervals of
`statistics`; `document` puts the tables of `model` together; `layout` and `formats` write them down.
"""

from agentmig.study.document import study
from agentmig.study.model import TABLES, StudyView
from agentmig.study.reading import Reading, read

__all__ = ["TABLES", "Reading", "StudyView", "read", "study"]
