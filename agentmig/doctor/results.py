"""What the doctor found, as people and programs read it: `agentmig doctor --json` prints a `Report`.

Only additions within a schema version; a field that changes its meaning raises it.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

State = Literal["ok", "warn", "missing", "broken", "not needed"]
Group = Literal["agent", "isolation", "machine", "backends", "workload", "machines"]

TITLES: dict[Group, str] = {
    "agent": "Agent",
    "isolation": "Isolation",
    "machine": "This machine",
    "backends": "Backends",
    "workload": "Workload",
    "machines": "Machines of the workload",
}
"""The groups in their order, with their headings."""


class Finding(BaseModel):
    """What one check saw."""

    model_config = ConfigDict(frozen=True)

    state: State = Field(
        description="a run needs what is missing or broken; it can begin in spite of a warning"
    )
    seen: str
    fix: str = Field(
        default="", description="the command or step that gets what lacks; empty where there is none"
    )

    def named(self, name: str, group: Group) -> "Result":
        """The finding with its place in the report."""
        return Result(name=name, group=group, **self.model_dump())


class Result(Finding):
    """A finding, and what it is about."""

    name: str
    group: Group


class Report(BaseModel):
    """Everything that was looked at, in a fixed order."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    agentmig: str = Field(description="the version that looked")
    workload: str | None = Field(description="the workload file; null where none was named")
    results: list[Result]

    @computed_field(description="whether nothing that a run needs is missing or broken")  # type: ignore[prop-decorator]
    @property
    def ready(self) -> bool:
        """Whether nothing that a run needs is missing or broken."""
        return not self.failing

    @computed_field(description="the steps towards a run, in their order")  # type: ignore[prop-decorator]
    @property
    def todo(self) -> list[str]:
        """What to do before a run, in its order, each step once."""
        return list(dict.fromkeys(result.fix for result in self.failing if result.fix))

    @property
    def failing(self) -> list[Result]:
        """What keeps a run from beginning."""
        return [result for result in self.results if result.state in ("missing", "broken")]

    @property
    def suggestions(self) -> list[str]:
        """What may be done about the warnings."""
        needed = self.todo
        fixes = [result.fix for result in self.results if result.state == "warn" and result.fix]
        return [fix for fix in dict.fromkeys(fixes) if fix not in needed]


def ok(seen: str) -> Finding:
    """All is well."""
    return Finding(state="ok", seen=seen)


def warn(seen: str, fix: str = "") -> Finding:
    """A run can begin; somebody should know this all the same."""
    return Finding(state="warn", seen=seen, fix=fix)


def missing(seen: str, fix: str = "") -> Finding:
    """A run needs it, and it isn't there."""
    return Finding(state="missing", seen=seen, fix=fix)


def broken(seen: str, fix: str = "") -> Finding:
    """A run needs it; it is there and doesn't work."""
    return Finding(state="broken", seen=seen, fix=fix)


def not_needed(seen: str) -> Finding:
    """It may be there or not: nothing asks for it."""
    return Finding(state="not needed", seen=seen)


def softened(finding: Finding, why: str) -> Finding:
    """What lacks as a warning, where a run can begin all the same."""
    return warn(f"{finding.seen}; {why}", finding.fix) if finding.state in ("missing", "broken") else finding
