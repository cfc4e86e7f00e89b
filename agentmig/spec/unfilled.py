"""Which values of a workload a person still has to give."""

from collections.abc import Iterator

from agentmig.spec.workload import Workload

MARK = "FILL-IN"
"""Stands in every value of a drafted workload file that only a person can give."""


def unfilled(workload: Workload) -> list[str]:
    """Dotted keys of a workload whose values still hold `FILL-IN`, in the order of the schema."""
    return list(dict.fromkeys(_marked("", workload.model_dump(mode="json"))))


def _marked(key: str, value: object) -> Iterator[str]:
    if isinstance(value, str) and MARK in value:
        yield key
    elif isinstance(value, dict):
        for name, item in value.items():
            inner = f"{key}.{name}" if key else str(name)
            if MARK in str(name):
                yield inner
            yield from _marked(inner, item)
    elif isinstance(value, list):
        for item in value:
            yield from _marked(key, item)
