"""The tables of a study: what `agentmig study --json` prints, and what every other format shows.

A row's fields are a table's columns: the name is the column of the CSV file, `Shown` says how people see it. Fields
without `Shown` are for programs.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

VERSION: Literal[1] = 1
Kind = Literal["text", "count", "share", "number", "usd"]


@dataclass(frozen=True)
class Shown:
    """How a column looks to people.

    Attributes:
        header: its title.
        kind: how its values are written.
    """

    header: str
    kind: Kind = "number"


class Part(BaseModel):
    """A part of the study."""

    model_config = ConfigDict(frozen=True)


class Estimate(Part):
    """A figure over a sample, with its 95% interval where there is one."""

    value: float | None
    n: int
    """How many observations it is computed from."""
    clusters: int | None = None
    """How many projects they are of, where that matters."""
    low: float | None = None
    high: float | None = None
    method: str = ""
    """Of the interval; empty where there is none."""
    note: str = ""
    """Why there is no interval."""


Migrations = Annotated[int, Shown("migrations", "count")]
Projects = Annotated[int, Shown("projects", "count")]
Group = Annotated[str, Shown("group", "text")]
Unit = Annotated[str, Shown("unit", "text")]


class LevelRow(Part):
    """A rung of the ladder: ended migrations, and projects by their best one."""

    level: Annotated[str, Shown("highest level", "text")]
    live_model: Annotated[int, Shown("live model", "count")]
    played_words: Annotated[int, Shown("played", "count")]
    by_hand: Annotated[int, Shown("by hand", "count")]
    migrations: Migrations
    at_least: Annotated[int, Shown("or higher", "count")]
    emulated: Annotated[int, Shown("of them emulated", "count")]
    """Migrations at exactly this level that have an emulated target."""
    projects: Projects
    projects_at_least: Annotated[int, Shown("or higher", "count")]
    projects_share: Annotated[Estimate, Shown("share or higher", "share")]


class GoalRow(Part):
    """How many meet the project-goal criterion."""

    unit: Unit
    group: Group
    met: Annotated[int, Shown("met", "count")]
    n: Annotated[int, Shown("n", "count")]
    share: Annotated[Estimate, Shown("share", "share")]


class Outcomes(Part):
    """Ended attempts by outcome, and what share of them failed."""

    attempts: Annotated[int, Shown("attempts", "count")]
    ok: Annotated[int, Shown("ok", "count")]
    loud: Annotated[int, Shown("loud", "count")]
    silent: Annotated[int, Shown("silent", "count")]
    unverified: Annotated[int, Shown("unverified", "count")]
    infra: Annotated[int, Shown("infra", "count")]
    failures: Annotated[int, Shown("failures", "count")]
    failure_share: Annotated[Estimate, Shown("failed", "share")]
    silent_share: Annotated[Estimate, Shown("failures without an error", "share")]
    running: int
    """Attempts that have not ended; part of no other number."""


class Sample(Part):
    """Which attempts."""

    group: Group
    projects: Projects


class AttemptsRow(Outcomes, Sample):
    """Attempts of a group."""


class Project(Part):
    """Whose attempts."""

    project: Annotated[str, Shown("project", "text")]
    migrations: Migrations


class ProjectAttemptsRow(Outcomes, Project):
    """Attempts of one project; they aren't independent, so there are no intervals."""


class CauseRow(Part):
    """A cause of failures."""

    cause: Annotated[str, Shown("cause", "text")]
    fault: Annotated[str, Shown("fault", "text")]
    """Whose, by the taxonomy; empty for a cause that it lacks."""
    loud: Annotated[int, Shown("loud", "count")]
    silent: Annotated[int, Shown("silent", "count")]
    failures: Annotated[int, Shown("failures", "count")]
    share: Annotated[Estimate, Shown("share of failures", "share")]
    projects: Projects
    rejected_claims: Annotated[int, Shown("rejected claims", "count")]
    """Claims that this cause decided against; no part of `failures`."""
    meaning: str


class ClaimsRow(Part):
    """What claims of success were worth."""

    group: Group
    migrations: Migrations
    projects: Projects
    claims: Annotated[int, Shown("claims", "count")]
    accepted: Annotated[int, Shown("accepted", "count")]
    rejected: Annotated[int, Shown("rejected", "count")]
    inconclusive: Annotated[int, Shown("inconclusive", "count")]
    rejected_share: Annotated[Estimate, Shown("rejected", "share")]
    pending: int
    """Not verified yet; part of no other number but `claims`."""


class InterventionsRow(Part):
    """People's messages, over ended migrations."""

    group: Group
    migrations: Migrations
    projects: Projects
    interventions: Annotated[int, Shown("interventions", "count")]
    mean: Annotated[Estimate, Shown("mean")]
    minutes: Annotated[float, Shown("minutes")]
    minutes_mean: Annotated[Estimate, Shown("mean minutes")]
    feedback: Annotated[int, Shown("supervisor's feedback", "count")]
    feedback_mean: Annotated[Estimate, Shown("mean feedback")]


class InterventionCountRow(Part):
    """How many migrations needed so many interventions."""

    group: Group
    interventions: Annotated[int, Shown("interventions", "count")]
    migrations: Migrations
    n: Annotated[int, Shown("n", "count")]
    share: Annotated[float, Shown("share", "share")]


class InterventionReasonRow(Part):
    """Why people were needed."""

    group: Group
    reason: Annotated[str, Shown("reason", "text")]
    interventions: Annotated[int, Shown("interventions", "count")]
    n: Annotated[int, Shown("n", "count")]
    share: Annotated[float, Shown("share", "share")]
    minutes: Annotated[float, Shown("minutes")]
    migrations: Migrations


class CostRow(Part):
    """One measure of cost, over ended migrations for which it is known."""

    group: Group
    measure: Annotated[str, Shown("cost", "text")]
    unit: Unit
    migrations: Annotated[int, Shown("n", "count")]
    projects: Projects
    total: Annotated[float, Shown("total")]
    mean: Annotated[Estimate, Shown("mean")]
    median: Annotated[Estimate, Shown("median")]


class SuccessCostRow(Part):
    """What all ended migrations cost together, for each that was accepted."""

    group: Group
    measure: Annotated[str, Shown("cost", "text")]
    unit: Unit
    migrations: Annotated[int, Shown("n", "count")]
    projects: Projects
    total: Annotated[float, Shown("total")]
    successes: Annotated[int, Shown("accepted", "count")]
    per_success: Annotated[Estimate, Shown("for each accepted")]


class SpeedRow(Part):
    """Target over reference, over accepted migrations and targets; emulated ones never together with real ones."""

    targets: Annotated[Literal["real", "EMULATED"], Shown("targets", "text")]
    backend: Annotated[str, Shown("backend", "text")]
    measure: Annotated[str, Shown("target / reference", "text")]
    pairs: Annotated[int, Shown("n", "count")]
    projects: Projects
    ratio: Annotated[Estimate, Shown("geometric mean")]


class PairRow(Part):
    """One accepted migration on one target."""

    run: Annotated[str, Shown("run", "text")]
    project: str
    group: Group
    target: Annotated[str, Shown("target", "text")]
    targets: Annotated[Literal["real", "EMULATED"], Shown("targets", "text")]
    backend: str
    accelerator: str
    chips: int
    reference_hardware: str
    reference_runs: Annotated[int, Shown("reference runs", "count")]
    target_runs: Annotated[int, Shown("target runs", "count")]
    reference_s: Annotated[float | None, Shown("reference s")]
    target_s: Annotated[float | None, Shown("target s")]
    seconds_ratio: Annotated[Estimate, Shown("seconds")]
    reference_samples_per_s: float | None
    target_samples_per_s: float | None
    samples_per_s_ratio: Annotated[float | None, Shown("samples/s")]
    reference_usd: float | None
    target_usd: float | None
    usd_ratio: Annotated[Estimate, Shown("$ a run")]


class MigrationRow(Part):
    """One migration, as all other tables count it."""

    run: Annotated[str, Shown("run", "text")]
    project: Annotated[str, Shown("project", "text")]
    group: Group
    verdict: Annotated[str, Shown("verdict", "text")]
    level: Annotated[str, Shown("level", "text")]
    goal_met: bool
    targets: Annotated[int, Shown("targets", "count")]
    emulated: Annotated[int, Shown("EMULATED", "count")]
    attempts: Annotated[int, Shown("attempts", "count")]
    failures: Annotated[int, Shown("failures", "count")]
    claims: int
    interventions: Annotated[int, Shown("interventions", "count")]
    human_minutes: Annotated[float, Shown("minutes")]
    feedback: int
    turns: int
    agent_usd: Annotated[float | None, Shown("agent", "usd")]
    compute_usd: Annotated[float | None, Shown("compute", "usd")]
    wall_s: float


R = TypeVar("R", bound=Part)


class Table(Part, Generic[R]):
    """A table."""

    title: str
    notes: list[str]
    rows: list[R]


class Copy(Part):
    """A folder that was not counted because another holds the same run."""

    run: str
    folder: str
    counted: str


class Scope(Part):
    """What the study is over."""

    headline: str
    migrations: int
    projects: int
    ended: int
    unfinished: list[str]
    """Runs that are still running or wait for a person."""
    live_model: int
    played_words: int
    by_hand: int
    targets: int
    targets_emulated: int
    copies: list[Copy]
    left_out: list[str]
    """What was wrong with each journal that could not be read."""
    human_usd_per_hour: float | None
    level: float
    """Of every interval."""


class StudyView(Part):
    """A study; each field but the first two is a table."""

    schema_version: Literal[1] = VERSION
    scope: Scope
    levels: Table[LevelRow]
    goal: Table[GoalRow]
    attempts: Table[AttemptsRow]
    attempts_by_project: Table[ProjectAttemptsRow]
    causes: Table[CauseRow]
    claims: Table[ClaimsRow]
    interventions: Table[InterventionsRow]
    intervention_counts: Table[InterventionCountRow]
    intervention_reasons: Table[InterventionReasonRow]
    cost: Table[CostRow]
    cost_per_success: Table[SuccessCostRow]
    speed: Table[SpeedRow]
    speed_by_migration: Table[PairRow]
    migrations: Table[MigrationRow]


TABLES = tuple(name for name in StudyView.model_fields if name not in ("schema_version", "scope"))
"""The names of the tables, in the order in which they are shown."""


def main() -> None:
    """Print the JSON schema of the document."""
    print(json.dumps(StudyView.model_json_schema(mode="serialization"), indent=2))


if __name__ == "__main__":
    main()
