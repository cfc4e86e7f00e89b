"""The report's figures: each a function from the report's data to an SVG, a caption, a text alternative and a table.

Matplotlib is imported here alone, and this package only where figures are drawn.
"""

from agentmig.report.plots.figure import WIDTH, Figure
from agentmig.report.plots.goal import goal_figure
from agentmig.report.plots.numerics import numerics_figures
from agentmig.report.plots.semantics import semantics_figures
from agentmig.report.plots.speed import speed_figure
from agentmig.report.plots.spending import money_figure, tokens_figure
from agentmig.report.plots.timeline import timeline_figure

__all__ = [
    "WIDTH",
    "Figure",
    "goal_figure",
    "money_figure",
    "numerics_figures",
    "semantics_figures",
    "speed_figure",
    "timeline_figure",
    "tokens_figure",
]
