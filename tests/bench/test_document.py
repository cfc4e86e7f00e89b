from agentmig.bench.document import headlines, markdown
from agentmig.bench.model import FaultBench
from agentmig.bench.summary import document
from tests.bench.builders import arm, observation, verified

CLEAN, LR, SAME = arm("clean-migration", "clean"), arm("lr"), arm("same")


def bench() -> FaultBench:
    found = {
        CLEAN.key: observation(CLEAN),
        LR.key: observation(LR, verified("pass", summary="a | b <script>\n# c")),
        SAME.key: observation(SAME, outcome="equivalent", reason="nothing differs", verified=None),
    }
    return document([CLEAN, LR, SAME], found, [], {}, "two <b>cores")


def test_the_page_says_what_was_counted() -> None:
    text = markdown(bench())
    assert "- 0 of 1 mutant rejected (0.0% \\[0.0, 97.5\\]), of 1 operator on 1 workload" in text
    assert "- 0 of 1 correct arm rejected" in text
    assert "with 95% confidence below 95.0%" in text
    for title in (
        "By gate",
        "By operator",
        "Simpler checks on the same arms",
        "Equivalent mutants, not counted",
    ):
        assert f"\n## {title}\n" in text
    assert "## Loud mutants" not in text
    assert "## Correct arms that were not accepted\n\nNone.\n" in text


def test_what_others_wrote_is_escaped() -> None:
    text = markdown(bench())
    assert "a \\| b \\<script\\> \\# c" in text
    assert "<script>" not in text
    assert "on two \\<b\\>cores." in text


def test_emulated_targets_are_said_to_be_so() -> None:
    chip = arm("lr", emulated=True)
    text = markdown(document([chip], {chip.key: observation(chip)}, [], {}, ""))
    assert "- 1 arm on EMULATED targets" in text
    assert "| tiny | cpu (EMULATED) |" in text


def test_the_page_is_a_function_of_the_document() -> None:
    made = bench()
    again = FaultBench.model_validate_json(made.model_dump_json())
    assert markdown(again) == markdown(made)


def test_nothing_run_is_told_without_figures() -> None:
    lines = headlines(document([], {}, [], {}, "").summary)
    assert (
        lines[0] == "0 of 0 mutants rejected, of 0 operators on 0 workloads; 0 of them for an expected cause."
    )
    assert lines[1] == "0 of 0 correct arms rejected; 0 inconclusive."
