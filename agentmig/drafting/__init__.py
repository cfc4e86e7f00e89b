"""Drafts a workload file for a stranger's PyTorch project, by static analysis alone: nothing of it is imported or run.

`draft_workload(folder)` is the one door. It reads the folder within bounds (`tree`), finds the program that trains and
the one that evaluates (`programs`), what their command lines accept (`options`), and what paths and printed lines are
made of (`symbolic`, `prints`); from that it chooses commands (`training`, `evaluating`, `goal`) and writes down the line
that each choice rests on. What isn't there becomes a question, and `FILL-IN` in the value.
"""

from agentmig.drafting.door import DraftingError, draft_workload
from agentmig.drafting.findings import Document, Finding, Hazard, Question

__all__ = ["Document", "DraftingError", "Finding", "Hazard", "Question", "draft_workload"]
