"""Secrets kept out of the report, whichever program printed them."""

import re
from collections.abc import Iterable, Mapping, Sequence

from agentmig.doctor.results import Result

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_LOGIN = re.compile(r"(\w+://)[^\s/@]+@")
_SHORTEST = 6
"""A shorter value would be found in innocent words."""


def secrets_of(environ: Mapping[str, str], names: Iterable[str] = ()) -> list[str]:
    """Values of variables that are secrets by their name, or that are named; the longest first."""
    wanted = {name for name in environ if _NAMES.search(name)} | set(names)
    values = {environ.get(name, "").strip() for name in wanted}
    return sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)


def redacted(results: Sequence[Result], secrets: Sequence[str]) -> list[Result]:
    """The results without those values, and without logins in addresses."""

    def clean(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "…")
        return _LOGIN.sub(r"\1…@", text)

    return [
        result.model_copy(update={"seen": clean(result.seen), "fix": clean(result.fix)}) for result in results
    ]
