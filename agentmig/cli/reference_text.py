"""A reference as lines for people."""

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.markup import escape

from agentmig.supervisor.reference import Forecast
from agentmig.verification.reference_cache import GOAL
from agentmig.verification.reference_inspection import Goal, Inspection, Margin, OtherKey
from agentmig.verification.reference_key import Manifest


def short(parts: Sequence[str]) -> str:
    """Names of parts in words."""
    return ", ".join(part.replace("-", " ") for part in parts)


def size(count: int) -> str:
    """A number of bytes in words."""
    if count < 1e5:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


def seconds(value: float) -> str:
    """A time in words."""
    return f"{value:.0f} s" if value < 90 else f"{value / 60:.0f} min"


def print_forecast(console: Console, manifest: Manifest, foreseen: Forecast, seeds: int) -> None:
    """Print what measuring takes."""
    console.print(_title(manifest.workload, manifest.commit, manifest.key))
    if not foreseen.missing:
        console.print("  everything is there already")
        return
    if foreseen.there:
        console.print(f"  there: {short(foreseen.there)}")
    count = foreseen.trainings
    goal = f", the goal's of {seeds} seeds with their evaluations" if GOAL in foreseen.missing else ""
    console.print(
        f"  to make: {short(foreseen.missing)}: [bold]{count} training{'s' if count != 1 else ''}[/]{goal}"
    )
    if foreseen.took:
        each = [
            f"{seconds(took)} for {'a training and evaluation' if part == GOAL else short([part])}"
            for part, took in sorted(foreseen.took.items(), key=lambda item: (item[0] != GOAL, item[0]))
        ]
        total = f"; about [bold]{seconds(foreseen.seconds)}[/] in all" if foreseen.seconds else ""
        console.print(f"  earlier results of this workload took {', '.join(each)}{total}")


def print_inspection(console: Console, found: Inspection) -> None:
    """Print what there is."""
    console.print(_title(found.workload, found.base_commit, found.key))
    if found.origin:
        origin = found.origin
        console.print(
            f"  [bold]imported from {escape(origin.host)}[/] at {_time(origin.imported)} ({escape(origin.machine)}, "
            f"{origin.cores} cores, environment {escape(origin.environment)})"
        )
    if found.goal:
        _goal(console, found.goal)
    elif found.seeds_measured:
        console.print(f"  goal: {found.seeds_measured} seeds are measured, the others not yet")
    for part in found.parts:
        source = f", imported from {part.imported_from}" if part.imported_from else ""
        took = f"{part.wall_s:.0f} s, " if part.wall_s is not None else ""
        console.print(
            f"  {short([part.name])}: {_measured(part.measured)}, {escape(part.hardware + source)}; {took}{size(part.bytes)}"
        )
    if found.missing:
        console.print(f"  missing: {short(found.missing)} (`agentmig reference make` measures them)")
    if found.bytes:
        console.print(f"  [dim]{size(found.bytes)} in {escape(found.folder)}[/]")
    if found.others:
        console.print(f"other results of {found.workload}, which don't apply:")
        for other in found.others:
            _other(console, other)
    if found.unknown:
        count = len(found.unknown)
        console.print(
            f"{count} folder{'s' if count != 1 else ''} without a manifest, so nobody can tell what "
            f"{'they are' if count != 1 else 'it is'} of: {', '.join(found.unknown)}"
        )


def _goal(console: Console, goal: Goal) -> None:
    console.print(
        f"  goal: {escape(goal.metric)} [bold]{goal.mean:.4g}[/] over {len(goal.values)} seeds, standard deviation "
        f"{goal.deviation:.3g}; {_measured(goal.measured)}, {escape(goal.hardware)}; {size(goal.bytes)}"
    )
    if goal.as_declared is False and not goal.imported_from:
        console.print("    [yellow]note:[/] this is not the accelerator that `[reference]` declares")
    runs = goal.runs_s if len(goal.runs_s) == len(goal.values) else [goal.run_s] * len(goal.values)
    for (seed, value), took in zip(goal.values.items(), runs, strict=True):
        console.print(f"    seed {seed}  {value:<10.5g} {took:.1f} s")
    speed = f", {goal.samples_per_s:.4g} samples/s" if goal.samples_per_s else ""
    console.print(f"    a training: {goal.run_s:.1f} s, {goal.steps} steps{speed}")
    if goal.margin is None:
        console.print("    [bold red]a value isn't finite:[/] nothing can be compared with this reference")
    else:
        console.print(f"    {_margin(goal.margin)}")


def _margin(margin: Margin) -> str:
    """Whether the margin can be shown, in words."""
    if margin.in_deviations is None:
        return (
            "[yellow]note:[/] every seed gave the same value: does the seed reach the training? "
            f"(margin {margin.margin:g})"
        )
    words = f"margin {margin.margin:g} is {margin.in_deviations:.3g} standard deviations"
    best = min(margin.shown_at, key=lambda look: margin.shown_at[look])
    least = f"the smallest margin that can be shown is {margin.shown_at[best]:.3g}, at the look of {best}"
    if margin.look is not None:
        return (
            f"{words}: a candidate exactly as good passes at the look of {margin.look} seeds with a chance of 80% or more; "
            f"{least}"
        )
    needed = (
        f"would need {margin.runs_needed} seeds" if margin.runs_needed else "would not at any number of seeds"
    )
    return (
        f"[yellow]{words}: too small for the looks at {', '.join(map(str, margin.looks))} seeds.[/] To pass with a chance of "
        f"80% a candidate exactly as good {needed}; {least}. Declare more seeds of the reference, more looks, or a larger "
        "margin"
    )


def _other(console: Console, other: OtherKey) -> None:
    parts = short(other.parts) or "nothing complete"
    console.print(
        f"  {other.key} at {other.base_commit[:12]}, {_time(other.newest)}: {parts}; {size(other.bytes)}"
    )
    for difference in other.differences:
        console.print(f"    {escape(difference)}")


def _title(workload: str, commit: str, key: str) -> str:
    return f"[bold]reference[/] of {workload} at {commit[:12]} (key {key})"


def _measured(time: datetime | None) -> str:
    return f"measured {_time(time)}" if time else "measured at a time that nobody wrote down"


def _time(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"
