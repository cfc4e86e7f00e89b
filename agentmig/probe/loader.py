"""How the probe gets into a Python process: one line of a `.pth` file, switched on by two variables."""

from pathlib import Path

PROBE_VARIABLE = "AGENTMIG_PROBE"
"""Absolute path of this folder; without it the line in the `.pth` file does nothing."""

PLAN_VARIABLE = "AGENTMIG_PROBE_PLAN"
"""Absolute path of the plan (JSON, see `plan.Plan`)."""

PTH_NAME = "agentmig_probe.pth"
"""File in an environment's site-packages that holds `PTH_LINE`."""

PTH_LINE = (
    "import os; _d = os.environ.get('AGENTMIG_PROBE'); _f = _d and os.path.join(_d, 'start.py'); "
    "_f and exec(compile(open(_f, 'rb').read(), _f, 'exec'), {'__name__': '_agentmig_start', '__file__': _f})"
)
"""`site` executes lines that begin with `import`; this survives -E, -s, -I and a PYTHONPATH of the command's own."""

PROBE_FOLDER = Path(__file__).resolve().parent
CHAIN_FOLDER = PROBE_FOLDER / "chain"
"""First on PYTHONPATH where the interpreter isn't ours: a sitecustomize that runs the one it shadows as well."""


def install(site_packages: Path) -> Path:
    """Write the `.pth` file into an environment's site-packages.

    Args:
        site_packages: the folder that the interpreter's own `site` reads (not one added by another `.pth`).

    Returns:
        The file that was written.
    """
    path = site_packages / PTH_NAME
    path.write_text(PTH_LINE + "\n", encoding="utf-8")
    return path


def environment(plan: Path) -> dict[str, str]:
    """Variables that switch the probe on for a command and all that it starts.

    Args:
        plan: the plan's file.

    Returns:
        Variables to add to the command's environment.
    """
    return {PROBE_VARIABLE: str(PROBE_FOLDER), PLAN_VARIABLE: str(plan.resolve())}
