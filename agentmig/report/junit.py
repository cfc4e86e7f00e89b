"""The newest claim of a run as JUnit XML, for CI systems: a suite for each target, a case for each gate.

A gate that failed is a `failure`; one that could not tell, or has no verdict, an `error`; one that was not reached is
`skipped`. A training that answers several gates counts in the time of each. A run that isn't accepted always holds a failure or an error, so silence is never success.
"""

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from agentmig.failures.taxonomy import CAUSES
from agentmig.journal.events import GateResult, TargetRecord, Verdict
from agentmig.journal.view import AttemptView, ClaimView, RunView
from agentmig.report.document import headline
from agentmig.report.evidence import flat
from agentmig.report.text import clean
from agentmig.verification.gates import GATES

_TRAINING = ("runs", "hardware", "performance")
"""Gates that the first whole training answers."""
_OUTCOMES = ("failure", "error", "skipped")


def junit(view: RunView) -> str:
    """The XML document.

    Args:
        view: the run; only its newest claim is told.

    Returns:
        A `testsuites` element with the file's header.
    """
    root = Element("testsuites", name="agentmig")
    claim = view.claims[-1] if view.claims else None
    for target in view.targets:
        root.append(_suite(view, target, claim))
    said = root.find(".//failure") is not None or root.find(".//error") is not None
    if view.verdict != "accepted" and not said:
        root.append(_run_suite(view))
    _count(root, list(root))
    for element in root.iter():
        element.attrib = {name: clean(value) for name, value in element.attrib.items()}
        element.text = clean(element.text) if element.text else None
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(view: RunView, target: TargetRecord, claim: ClaimView | None) -> Element:
    name = f"{target.name} (EMULATED)" if target.emulated else target.name
    suite = Element("testsuite", name=name, timestamp=view.started.strftime("%Y-%m-%dT%H:%M:%S"))
    _properties(suite, view, target, claim)
    results = {gate.gate: gate for gate in claim.gates if gate.target == target.name} if claim else {}
    attempts = [
        a for a in view.attempts if claim and a.by == "verifier" and a.target == target.name and _of(a, claim)
    ]
    if not results:
        _case(suite, view, target, "verification", None)
    else:
        for gate in dict.fromkeys([*GATES, *results]):
            case = _case(suite, view, target, gate, results.get(gate))
            if (took := _took(gate, attempts)) is not None:
                case.set("time", f"{took:.3f}")
    suite.set("time", f"{sum(a.wall_s or 0.0 for a in attempts):.3f}")
    _count(suite, [suite])
    return suite


def _properties(suite: Element, view: RunView, target: TargetRecord, claim: ClaimView | None) -> None:
    values = {
        "verdict": view.verdict,
        "reason": view.reason,
        "emulated": str(target.emulated).lower(),
        "description": target.description,
        "words": view.words,
        "isolation": view.isolation,
        "run": view.run,
        "base_commit": view.base_commit,
        "claim": claim.id if claim else "none",
        "commit": claim.commit if claim else "none",
    }
    properties = SubElement(suite, "properties")
    for name, value in values.items():
        SubElement(properties, "property", name=name, value=value)


def _case(
    suite: Element, view: RunView, target: TargetRecord, gate: str, result: GateResult | None
) -> Element:
    case = SubElement(suite, "testcase", classname=f"agentmig.{view.workload}.{target.name}", name=gate)
    if result is None:
        what = (
            "nothing was verified"
            if gate == "verification"
            else "the verification ended before this gate had a verdict"
        )
        error = SubElement(case, "error", type="no_verdict", message=f"{what}: {view.verdict}")
        error.text = headline(view)
        return case
    kind = {Verdict.FAIL: "failure", Verdict.INCONCLUSIVE: "error", Verdict.NOT_REACHED: "skipped"}.get(
        result.verdict
    )
    if kind is None:
        SubElement(case, "system-out").text = _body(result)
    elif kind == "skipped":
        SubElement(case, kind, message=result.summary)
    else:
        SubElement(
            case, kind, type=result.cause or result.verdict.value, message=result.summary
        ).text = _body(result)
    return case


def _body(result: GateResult) -> str:
    """Summary, advice and numbers, a line each."""
    lines = [result.summary]
    if result.cause in CAUSES:
        lines += [
            f"cause: {result.cause}: {CAUSES[result.cause].meaning}",
            f"advice: {CAUSES[result.cause].advice}",
        ]
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in flat(result.evidence))])


def _run_suite(view: RunView) -> Element:
    """A run that isn't accepted although no gate says why."""
    suite = Element("testsuite", name="run", time=f"{view.wall_s:.3f}")
    case = SubElement(suite, "testcase", classname=f"agentmig.{view.workload}", name="verdict")
    SubElement(case, "error", type=view.verdict, message=view.reason or view.verdict).text = headline(view)
    _count(suite, [suite])
    return suite


def _of(attempt: AttemptView, claim: ClaimView) -> bool:
    return attempt.purpose.partition(":")[0] == claim.id


def _took(gate: str, attempts: Sequence[AttemptView]) -> float | None:
    """Seconds of the runs that answered a gate; None where none is known."""
    trainings = [a for a in attempts if a.purpose.partition(": ")[2].startswith("training")]
    if gate == "goal":
        chosen = trainings
    elif gate in _TRAINING:
        chosen = trainings[:1]
    else:
        chosen = [a for a in attempts if a.purpose.partition(": ")[2].split(",")[0] == gate]
    known = [a.wall_s for a in chosen if a.wall_s is not None]
    return sum(known) if known else None


def _count(element: Element, suites: Sequence[Element]) -> None:
    """Write the numbers of cases and of each outcome."""
    cases = [case for suite in suites for case in suite.iter("testcase")]
    element.set("tests", str(len(cases)))
    for outcome, name in zip(_OUTCOMES, ("failures", "errors", "skipped"), strict=True):
        element.set(name, str(sum(case.find(outcome) is not None for case in cases)))
    if element.tag == "testsuites":
        element.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
