from agentmig.journal import Event, Verdict
from agentmig.journal.events import ClaimMade, ClaimVerified, GateFinished, GateResult, MigrationStarted
from agentmig.report import ReportView, build, tables
from agentmig.report.model import NumericsView
from tests.journal.builders import put
from tests.report.journals import Memory


def test_the_newest_claim_stands_first_gate_by_gate(demo_report: ReportView) -> None:
    table = tables.gates(demo_report.runs[0])
    assert table.columns[:4] == ("claim", "target", "integrity", "semantics")
    assert [row[:2] for row in table.rows] == [
        ("claim-2", "xla (EMULATED)"),
        ("claim-2", "torch-tpu (EMULATED)"),
        ("claim-1", "xla (EMULATED)"),
        ("claim-1", "torch-tpu (EMULATED)"),
    ]
    assert table.rows[2][2:5] == ("pass", "fail", "not reached")


def test_a_gate_without_a_verdict_is_pending_until_the_claim_was_verified() -> None:
    journal = Memory()
    put(journal, MigrationStarted)
    put(journal, ClaimMade)
    odd = GateResult(gate="of older days", target="xla", verdict=Verdict.PASS, summary="")
    put(journal, GateFinished, claim="claim-1", result=odd)
    table = tables.gates(build(journal.events))
    assert (table.columns[-2], table.rows[0][-2]) == ("of older days", "pass")
    assert table.rows[0][2] == "pending"
    put(journal, ClaimVerified)
    assert tables.gates(build(journal.events)).rows[0][2] == "no verdict"


def test_time_and_cost_have_intervals_or_say_why_not(demo_report: ReportView) -> None:
    rows = {row[0]: row[1:] for row in tables.speed(demo_report.runs[0]).rows}
    assert rows["reference"][:2] == ("4", "21.32 (20.2\u00a0to\u00a022.5)")
    assert rows["reference"][4] == "119.6 (one run)"
    assert rows["xla (EMULATED)"][2] == "$0.00085 ($0.00083\u00a0to\u00a0$0.00087)"
    assert rows["torch-tpu / reference"][1] == "1.07 × (1.00\u00a0to\u00a01.14)"
    assert rows["torch-tpu / reference"][4] == "0.940 × (no interval: 1 run of the reference)"


def test_a_budget_shows_what_is_left_of_each_bound(demo_report: ReportView, demo_events: list[Event]) -> None:
    rows = {row[0]: row[1:] for row in tables.budget(demo_report.runs[0]).rows}
    assert rows["agent"] == ("$0.24", "$5.00", "4.8%")
    assert rows["tokens"] == ("299,117", "2,000,000", "15.0%")
    unbound = demo_events[0].model_copy(update={"budget": {"agent_usd": None, "turns": 0}})
    open_ends = {row[0]: row[1:] for row in tables.budget(build([unbound, *demo_events[1:]])).rows}
    assert open_ends == {"agent": ("$0.24", "no bound", ""), "turns": ("11", "0", "")}


def test_steps_of_unequal_length_are_filled_up() -> None:
    view = NumericsView(
        reference=[1.0],
        candidate=[1.5],
        errors={"loss": [0.5, 0.25]},
        calibration_errors={},
        limits={"loss": 1e-4},
        medians={},
    )
    assert tables.forced_steps(view).rows == [("0", "1", "1.5", "0.5", "–"), ("1", "–", "–", "0.25", "–")]
    assert tables.limits(view).rows == [("loss", "–", "0.0001")]


def test_the_story_is_told_in_order(demo_report: ReportView) -> None:
    rows = tables.history(demo_report.runs[0].timeline).rows
    kinds = [row[2] for row in rows]
    assert kinds.index("reference") < kinds.index("attempt (agent)") < kinds.index("attempt (verifier)")
    assert kinds[-1] == "end"
    loud = next(row for row in rows if row[4] == "loud")
    assert loud[1] == "13 s" and "device_mismatch" in loud[5]
