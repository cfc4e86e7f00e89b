"""agentmig: supervised, verified migrations of PyTorch training off NVIDIA GPUs with a coding agent.

`docs/architecture.md` walks through the house; each package's docstring says what it holds.
"""

__version__ = "0.1.0"
