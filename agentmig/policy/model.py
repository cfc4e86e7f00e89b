"""A policy file, validated: named rules with conditions on features."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agentmig.policy.features import FEATURES
from agentmig.resources import resource
from agentmig.spec.loading import Problem, SpecError, read_toml


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Condition(_Part):
    """A bound on one feature; with both bounds, both must hold."""

    feature: str
    at_least: float | None = None
    below: float | None = None

    @model_validator(mode="after")
    def _is_meaningful(self) -> Self:
        if self.feature not in FEATURES:
            raise ValueError(f"no feature {self.feature!r}; known: {', '.join(sorted(FEATURES))}")
        if self.at_least is None and self.below is None:
            raise ValueError(f"the condition on {self.feature!r} needs at_least or below")
        return self


class Rule(_Part):
    """What to do when all conditions hold."""

    name: str
    when: Annotated[list[Condition], Field(min_length=1)]
    action: Literal["stop", "ask"]
    reason: str


class Policy(_Part):
    """An ordered list of rules."""

    name: str
    rule: list[Rule] = []


def load_policy(path: Path | None = None) -> Policy:
    """Read a policy file; by default the one that ships with agentmig.

    Raises:
        SpecError: it can't be read or holds mistakes; all are listed.
    """
    file = path or resource("policies", "default.toml")
    _, raw = read_toml(file)
    try:
        return Policy.model_validate(raw)
    except ValidationError as error:
        problems = [
            Problem(file, None, ".".join(map(str, d["loc"])) or "(file)", repr(d["input"])[:80], d["msg"])
            for d in error.errors()
        ]
        raise SpecError(problems) from error
