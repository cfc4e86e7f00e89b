"""Events as lines for people: what `run` prints while it happens."""

from rich.markup import escape

from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    DecisionMade,
    EnvironmentReady,
    Event,
    FeedbackSent,
    GateFinished,
    GateResult,
    Intervention,
    MigrationFinished,
    MigrationResumed,
    MigrationStarted,
    Outcome,
    QuestionAsked,
    ReferenceMeasured,
    SessionEnded,
    SessionStarted,
    ToolDenied,
    Turn,
    Verdict,
)

VERDICT_STYLE = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_REACHED: "dim",
}
OUTCOME_STYLE = {Outcome.OK: "green", Outcome.LOUD: "red", Outcome.SILENT: "bold red"}
RUN_STYLE = {"accepted": "bold green", "rejected": "bold red", "stopped": "red"}


def tell(event: Event) -> list[str]:
    """Lines of rich markup for one event; empty for what only programs need."""
    match event:
        case MigrationStarted():
            return _opening(event)
        case MigrationResumed():
            left = (
                f"; {event.processes_killed} processes were left and are ended"
                if event.processes_killed
                else ""
            )
            return [f"[bold]resumed[/] after: {escape(_one_line(event.after, 160))}{left}"]
        case EnvironmentReady():
            how = "found in the cache" if event.cached else f"built in {event.wall_s:.0f} s"
            return [f"environment {event.name}: {how} ({event.key})"]
        case ReferenceMeasured():
            return [_reference(event)]
        case SessionStarted():
            verb = "resumed" if event.resumed else "started"
            return [
                f"[bold]session[/] {verb}: Claude Code {escape(event.cli_version)} in {escape(event.cwd)}"
            ]
        case Turn():
            return _turn(event)
        case ToolDenied():
            return [f"  [yellow]denied[/] {event.tool}: {escape(event.reason)}"]
        case SessionEnded():
            detail = f": {escape(event.detail)}" if event.detail else ""
            return [f"session ended ({event.reason}{detail}); {event.processes_killed} processes reaped"]
        case AttemptStarted():
            chips = f"{event.chips} chip{'s' if event.chips != 1 else ''}"
            return [
                f"  {event.attempt} by the {event.by} on {event.target} ({chips}): {escape(event.purpose)} …"
            ]
        case AttemptFinished():
            return _attempt(event)
        case ClaimMade():
            return [f"[bold]{event.claim}[/] at {event.commit[:12]}: {escape(_one_line(event.summary, 160))}"]
        case GateFinished():
            return [] if event.result.verdict is Verdict.NOT_REACHED else [f"  {gate_line(event.result)}"]
        case ClaimVerified():
            style = VERDICT_STYLE[event.verdict]
            word = {Verdict.PASS: "ACCEPTED", Verdict.FAIL: "REJECTED"}.get(event.verdict, "INCONCLUSIVE")
            cause = f" ({event.cause})" if event.cause else ""
            return [f"[bold]{event.claim}[/] [{style}]{word}[/]{cause}: {escape(event.summary)}"]
        case DecisionMade():
            return [
                f"[dim]decision: {event.action} ({event.rule}): {escape(_one_line(event.reason, 200))}[/]"
            ]
        case QuestionAsked():
            return [f"[bold yellow]a person is needed[/] (asked by the {event.by}): {escape(event.question)}"]
        case Intervention():
            return [f"a person answered ({event.minutes:g} min): {escape(_one_line(event.text, 160))}"]
        case FeedbackSent():
            return [f"feedback about {event.about} goes back into the session"]
        case MigrationFinished():
            style = RUN_STYLE.get(event.verdict, "yellow")
            return [f"[{style}]{event.verdict.upper()}[/]: {escape(event.reason)}"]


def gate_line(result: GateResult) -> str:
    """One gate's verdict with its summary."""
    style = VERDICT_STYLE[result.verdict]
    cause = f" {result.cause}:" if result.cause else ""
    return f"[{style}]{result.verdict.value:>12}[/] {result.target}/{result.gate}:{cause} {escape(result.summary)}"


def _opening(event: MigrationStarted) -> list[str]:
    lines = [
        f"[bold]agentmig[/] {event.mode}: workload {event.workload} at {event.base_commit[:12]}, run {event.run_id}",
        f"  isolation: {'bubblewrap' if event.isolation == 'bubblewrap' else '[bold red]NONE (asked for)[/]'}",
        f"  words of the model: {escape(event.words)}",
    ]
    lines += [f"  target {target.name}: {escape(target.description)}" for target in event.targets]
    return lines


def _reference(event: ReferenceMeasured) -> str:
    mean = sum(event.values) / len(event.values)
    how = "from the cache" if event.cached else f"measured in {event.wall_s:.0f} s"
    return (
        f"[bold]reference[/] ({escape(event.hardware)}) {how}: {escape(event.metric)} {mean:.4f} over {len(event.values)} seeds "
        f"({min(event.values):.4f} to {max(event.values):.4f})"
    )


def _turn(event: Turn) -> list[str]:
    tokens = event.usage.total
    money = f", ${event.usd:.4f}" if event.usd is not None else ""
    lines = [f"  [cyan]turn[/] {escape(_one_line(event.text, 200))}" if event.text else "  [cyan]turn[/]"]
    tools = f"tools: {', '.join(event.tools)}; " if event.tools else ""
    return [*lines, f"       [dim]{tools}{tokens} tokens{money}[/]"]


def _attempt(event: AttemptFinished) -> list[str]:
    style = OUTCOME_STYLE.get(event.outcome, "yellow")
    cause = f" ({event.cause})" if event.cause else ""
    lines = [f"  {event.attempt} [{style}]{event.outcome.value}[/]{cause} after {event.wall_s:.0f} s"]
    if event.outcome is not Outcome.OK:
        lines.append(f"       {escape(_one_line(event.summary, 300))}")
    return lines


def _one_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
