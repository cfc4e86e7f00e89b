"""The report: a run, or several, as one HTML file and as Markdown, computed from their journals alone.

`document` turns events into a `ReportView` (`model`), which `--json` prints; `html` and `markdown` show it. Every figure
is a function in `plots` from that data to an SVG. `junit` shows a verification to a CI system.
"""

from agentmig.report.document import build, report
from agentmig.report.html import to_html
from agentmig.report.junit import junit
from agentmig.report.markdown import to_markdown
from agentmig.report.model import ReportView

__all__ = ["ReportView", "build", "junit", "report", "to_html", "to_markdown"]
