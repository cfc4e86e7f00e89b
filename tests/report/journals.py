"""Journals of every state, for properties: any order of things, any evidence, any text."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st

from agentmig.failures.taxonomy import CAUSES
from agentmig.journal import Event, GateResult, Journal, Outcome, Usage, Verdict
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    DecisionMade,
    EnvironmentReady,
    EventBase,
    FeedbackSent,
    GateFinished,
    Intervention,
    MigrationFinished,
    MigrationResumed,
    MigrationStarted,
    QuestionAsked,
    ReferenceMeasured,
    SessionEnded,
    SessionStarted,
    ToolDenied,
    Turn,
)
from agentmig.verification.gates import GATES
from tests.journal.builders import TARGET
from tests.journal.builders import put as put_event

HOSTILE = [
    '<script>alert("x")</script>',
    "</p></section><b onclick=alert(1) id=evil>",
    "]]></svg><!-- -->&amp;&lt;&#0;",
    "| a | b |\n|---|---|\n# head\n- item\n1. one\n```\ncode",
    "[link](javascript:alert(1)) ![i](http://x/y.png) <http://x>",
    "$\\frac{1}{2}$ {{ 7 * 7 }} {% raw %}",
    "nul \x00 bell \x07 turned \u202e txt \x85",
    "漢字 العربية 🦜 é",
    "x" * 3000,
    "",
]
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))
names = st.one_of(st.sampled_from(["xla", "torch-tpu", *HOSTILE[:3]]), st.text(min_size=1, max_size=12))
floats = st.floats(allow_nan=True, allow_infinity=True)
numbers = st.one_of(
    floats,
    st.integers(),
    st.sampled_from([0.0, 1e-300, 1e300, 10**400, 0.5]),
    st.sampled_from(["nan", "inf", "-inf"]),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=10,
)
sides = st.one_of(st.lists(st.one_of(st.none(), numbers), max_size=4), numbers)
pairs = st.one_of(st.lists(sides, min_size=2, max_size=2), json_values)
rows = st.fixed_dictionaries(
    {},
    optional={
        "step": st.one_of(st.integers(), st.none(), texts),
        "loss": pairs,
        "norm_before_clip": pairs,
        "grad_norm": pairs,
        "update_norm": pairs,
        "lr": pairs,
    },
)
series = st.one_of(
    st.dictionaries(st.sampled_from(["loss", "gradient", "<b>"]), st.lists(numbers, max_size=6)), json_values
)
values = st.one_of(st.dictionaries(st.sampled_from(["loss", "gradient", "<b>"]), numbers), json_values)
evidence = st.fixed_dictionaries(
    {},
    optional={
        "trace": st.one_of(st.lists(st.one_of(rows, json_values), max_size=6), json_values),
        "tolerance": st.one_of(st.fixed_dictionaries({"loss": numbers}), json_values),
        "first_divergence": json_values,
        "findings": json_values,
        "losses": st.one_of(st.lists(pairs, max_size=6), json_values),
        "errors": series,
        "calibration_errors": series,
        "limits": values,
        "medians": values,
        "metric": texts,
        "direction": st.sampled_from(["maximize", "minimize"]),
        "margin": numbers,
        "reference": st.one_of(st.lists(numbers, max_size=5), json_values),
        "candidate": st.one_of(st.lists(numbers, max_size=5), json_values),
        "difference": numbers,
        "interval": st.one_of(st.lists(numbers, max_size=3), json_values),
        "samples_per_s": numbers,
        "anything": json_values,
    },
)
causes = st.one_of(st.none(), st.sampled_from(sorted(CAUSES)), texts)


def gate_results(target: str) -> st.SearchStrategy[GateResult]:
    return st.builds(
        GateResult,
        gate=st.one_of(st.sampled_from(GATES), texts),
        target=st.just(target),
        verdict=st.sampled_from(Verdict),
        cause=causes,
        summary=texts,
        evidence=evidence,
    )


E = TypeVar("E", bound=EventBase)


class Memory(Journal):
    """A journal without a file, whose clock is set by hand."""

    def __init__(self) -> None:
        self.events = []
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def append(self, kind: type[E], **fields: Any) -> E:
        event = kind(seq=len(self.events) + 1, time=self.time, **fields)
        self.events.append(event)  # type: ignore[arg-type]
        return event


@st.composite
def journals(draw: st.DrawFn, most: int = 14) -> list[Event]:
    """The events of a run in any state, from the first event alone to a finished one."""
    journal = Memory()

    def put(kind: type[EventBase], **fields: Any) -> None:
        journal.time += timedelta(seconds=draw(st.sampled_from([0.0, 0.01, 7.0, 4000.0, -5.0])))
        put_event(journal, kind, **fields)

    targets = draw(st.lists(names, min_size=1, max_size=2, unique=True))
    records = [
        TARGET.model_copy(
            update={
                "name": name,
                "emulated": draw(st.booleans()),
                "description": draw(texts),
                "usd_per_hour": draw(st.sampled_from([None, 0.0, 3.6])),
            }
        )
        for name in targets
    ]
    words = draw(
        st.sampled_from(["live", "played from x (authored, 2 turns, m)", "none: a candidate made by hand"])
    )
    budget = draw(st.sampled_from([{}, {"agent_usd": 0.0, "turns": 10, "tokens": None, "unknown": 1}]))
    isolation = draw(st.sampled_from(["bubblewrap", "none"]))
    put(
        MigrationStarted,
        targets=records,
        words=words,
        budget=budget,
        isolation=isolation,
        workload=draw(texts),
        run_id=draw(texts),
        base_commit=draw(texts),
        versions={draw(texts): draw(texts)},
    )
    claims, attempts = 0, 0
    for step in draw(st.lists(st.integers(0, 12), max_size=most)):
        text, target = draw(texts), draw(st.sampled_from(targets))
        if step == 0:
            detail = draw(
                st.sampled_from([{}, {"runs_s": [1.0, 2.0], "run_s": 1.5}, {"runs_s": "x", "run_s": 2.0}])
            )
            measured = draw(st.lists(floats, max_size=4))
            rate = draw(st.one_of(st.none(), floats))
            put(EnvironmentReady, name=text, key=text, cached=draw(st.booleans()), wall_s=3.0)
            put(
                ReferenceMeasured,
                key=text,
                cached=draw(st.booleans()),
                hardware=text,
                chips=4,
                metric=text,
                values=measured,
                seeds=list(range(len(measured))),
                wall_s=5.0,
                samples_per_s=rate,
                detail=detail,
            )
        elif step in (1, 2):
            attempts += 1
            purpose = draw(st.sampled_from(["run_on_target", f"claim-{claims}: training 1 (seed 3)", text]))
            by = draw(st.sampled_from(["agent", "verifier"]))
            put(AttemptStarted, attempt=f"attempt-{attempts}", by=by, target=target, purpose=purpose)
            if draw(st.booleans()):
                gates = draw(st.lists(gate_results(target), max_size=1))
                put(
                    AttemptFinished,
                    attempt=f"attempt-{attempts}",
                    outcome=draw(st.sampled_from(Outcome)),
                    cause=draw(causes),
                    summary=text,
                    wall_s=draw(st.sampled_from([0.0, 1e-9, 3.0, 1e9])),
                    gates=gates,
                )
        elif step in (3, 4):
            claims += 1
            put(ClaimMade, claim=f"claim-{claims}", summary=text)
            for name in targets:
                for result in draw(st.lists(gate_results(name), max_size=2)):
                    put(GateFinished, claim=f"claim-{claims}", result=result)
            if draw(st.booleans()):
                verdict = draw(st.sampled_from(Verdict))
                put(ClaimVerified, claim=f"claim-{claims}", verdict=verdict, cause=draw(causes), summary=text)
        elif step in (5, 6):
            usd = draw(st.sampled_from([None, 0.0, 0.25]))
            split = draw(st.sampled_from([{}, dict.fromkeys(Usage.model_fields, 0.05)]))
            usage = Usage(input=draw(st.integers(0, 10)), cache_read=draw(st.sampled_from([0, 10**6])))
            put(
                Turn,
                message_id=f"m{draw(st.integers(0, 5))}",
                text=text,
                usage=usage,
                usd=usd,
                usd_by_class=split,
            )
        elif step == 7:
            put(SessionStarted, session=text, cli_version=text)
        elif step == 8:
            put(SessionEnded, session=text, detail=text, cli_usd=draw(st.sampled_from([None, 0.5])))
        elif step == 9:
            put(
                Intervention,
                reason="hint",
                text=text,
                minutes=draw(st.sampled_from([0.0, 4.5])),
                waited_s=9.0,
            )
            put(FeedbackSent, text=text, about=text)
        elif step == 10:
            put(DecisionMade, action=draw(st.sampled_from(["verify", "stop"])), rule=text, reason=text)
        elif step == 11:
            put(QuestionAsked, question=text, by="agent")
            put(ToolDenied, tool=text, reason=text, input=text)
        else:
            put(MigrationResumed, after=text, budget=budget, isolation="bubblewrap")
    if draw(st.booleans()):
        verdict = draw(st.sampled_from(["accepted", "rejected", "stopped", "inconclusive", "waiting"]))
        put(MigrationFinished, verdict=verdict, reason=draw(texts))
    return journal.events
