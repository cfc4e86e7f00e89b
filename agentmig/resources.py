"""Where prompts, policies and the price book lie: beside the package in a checkout, inside it in a wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(*parts: str) -> Path:
    """Path of a file or folder that ships with agentmig, such as `resource("policies", "default.toml")`.

    Raises:
        FileNotFoundError: neither the wheel's nor the checkout's copy exists (a broken installation).
    """
    for root in (_PACKAGE / "_resources", _PACKAGE.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise FileNotFoundError(
        f"agentmig's own file {'/'.join(parts)} is missing from the installation; reinstall agentmig"
    )
