import math
import re
import warnings
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure as Canvas

from agentmig.report import ReportView
from agentmig.report.model import (
    Divergence,
    Entry,
    Estimate,
    GoalView,
    NumericsView,
    Pair,
    SemanticsView,
    Side,
    SpeedView,
)
from agentmig.report.plots import (
    Figure,
    goal_figure,
    money_figure,
    numerics_figures,
    semantics_figures,
    speed_figure,
    timeline_figure,
    tokens_figure,
)
from agentmig.report.plots.figure import draw, drawable, lost, placed, power_of_ten
from tests.report.journals import texts

wild = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1.0, 1e-308, 1e308, -1e308, math.inf]),
)


def sound(figure: Figure) -> str:
    """The figure in a page, after what holds for every figure was checked."""
    svg = placed(figure.svg, "p", figure.alt)
    root = ElementTree.fromstring(svg)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) and all(str(name).startswith("p-") for name in ids)
    for target in re.findall(r'(?:url\(#|href="#)([^)"]+)', svg):
        assert target in ids
    assert "nan" not in re.sub(r">[^<]*<|aria-label=\"[^\"]*\"", "", svg).lower()
    assert figure.alt and all(len(row) == len(figure.table.columns) for row in figure.table.rows)
    return svg


def seen(step: int, error: float) -> SemanticsView:
    pairs = [
        Pair(reference=[2.0 - 0.1 * n], candidate=[2.0 - 0.1 * n + (error if n >= step else 0.0)])
        for n in range(6)
    ]
    where = Divergence(step=step, quantity="loss", words=f"loss at step {step}")
    differences: dict[str, list[float | None]] = {"loss": [0.0 if n < step else error for n in range(6)]}
    return SemanticsView(
        steps=list(range(6)),
        quantities={"loss": pairs},
        differences=differences,
        tolerance=1e-6,
        first_divergence=where,
        findings=[],
    )


def test_the_first_step_that_parts_is_marked_and_named() -> None:
    loss, differences = semantics_figures(seen(3, 0.1))
    assert "first divergence: step 3" in sound(loss)
    assert "They part first in loss at step 3." in loss.alt
    assert sound(differences).count("var(--f-fail)") >= 1
    whole = seen(3, 0.1).model_copy(update={"first_divergence": None})
    assert "first divergence" not in sound(semantics_figures(whole)[0])
    outside = seen(3, 0.1).first_divergence
    assert outside is not None
    later = seen(3, 0.1).model_copy(update={"first_divergence": outside.model_copy(update={"step": 99})})
    assert "first divergence" not in sound(semantics_figures(later)[0])


def test_where_the_numbers_of_the_candidate_end_is_said() -> None:
    loss = semantics_figures(seen(4, math.nan))[0]
    assert "candidate not finite from step 4" in sound(loss)


def test_rounding_is_not_blown_up_to_a_curve() -> None:
    flat = seen(0, 1e-9)
    pairs = [Pair(reference=[0.25 + n * 1e-9], candidate=[0.25 - n * 1e-9]) for n in range(6)]
    (figure,) = semantics_figures(
        flat.model_copy(update={"quantities": {"grad_norm": pairs}, "differences": {}})
    )
    labels = {float(text) for text in re.findall(r">(0\.2\d*)</text>", sound(figure))}
    assert labels and max(labels) - min(labels) > 1e-3


def test_no_difference_at_all_is_the_lowest_line_not_a_gap() -> None:
    view = NumericsView(
        reference=[1.0, 0.9],
        candidate=[1.0, 0.9],
        errors={"loss": [0.0, 0.0]},
        calibration_errors={"loss": [1e-7, 2e-7]},
        limits={"loss": 1e-4},
        medians={"loss": 0.0},
    )
    errors = sound(numerics_figures(view)[1])
    assert ">0</text>" in errors
    assert errors.count("stroke: var(--f-candidate)") >= 2


def test_lanes_are_those_of_who_took_part(demo_report: ReportView) -> None:
    entries = demo_report.runs[0].timeline
    whole = sound(timeline_figure(entries, 4.4))
    assert ">model</text>" in whole and ">people</text>" not in whole
    person = Entry(kind="intervention", begin_s=1, end_s=60, label="a person")
    verified = [entry for entry in entries if entry.by == "verifier"]
    few = sound(timeline_figure([person, *verified], 4.4))
    assert ">people</text>" in few and ">model</text>" not in few


@settings(max_examples=6)
@given(st.lists(st.tuples(wild, wild), min_size=1, max_size=5), wild)
def test_any_numbers_can_be_drawn(
    values: list[tuple[float | None, float | None]], limit: float | None
) -> None:
    old, new = [a for a, _ in values], [b for _, b in values]
    pairs = [Pair(reference=[a], candidate=[b, a]) for a, b in values]
    quantities = {"loss": pairs, "norm_before_clip": pairs}
    view = SemanticsView(
        steps=list(range(len(values))),
        quantities=quantities,
        differences=dict.fromkeys(quantities, new),
        tolerance=limit,
        first_divergence=None,
        findings=[],
    )
    limits = {"loss": limit, "gradient": limit}
    forced = NumericsView(
        reference=old,
        candidate=new,
        errors={"loss": new, "gradient": old},
        calibration_errors={"loss": old},
        limits=limits,
        medians=limits,
    )
    goal = GoalView(
        metric="m",
        direction="minimize",
        margin=limit,
        reference=old,
        candidate=new,
        difference=old[0],
        low=new[0],
        high=new[-1],
        level=limit,
    )
    for figure in [*semantics_figures(view), *numerics_figures(forced), goal_figure(goal)]:
        sound(figure)


@settings(max_examples=10)
@given(texts, texts)
def test_any_text_stays_text_in_a_drawing(name: str, detail: str) -> None:
    none = Estimate(values=[], mean=None)
    some = Estimate(values=[1.0, 2.0], mean=1.4, low=1.0, high=2.0)
    side = Side(
        name=name, hardware=name, emulated=True, seconds=some, usd=None, usd_note=detail, samples_per_s=none
    )
    view = SpeedView(
        target=name,
        claim="c",
        reference=side,
        candidate=side,
        ratios={"seconds": some, "samples_per_s": none},
    )
    sound(speed_figure([view]))
    entry = Entry(kind="attempt", begin_s=0, end_s=None, label=name, detail=detail, outcome=name)
    sound(timeline_figure([entry], 4.4))


def test_drawings_are_the_same_each_time_whatever_the_user_s_style(demo_report: ReportView) -> None:
    (item,) = demo_report.runs
    first = timeline_figure(item.timeline, 4.4).svg
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.fonttype": "path"}):
        assert timeline_figure(item.timeline, 4.4).svg == first
        assert mpl.rcParams["font.size"] == 30
    assert "Date" not in first and "matplotlib" not in placed(first, "p", "a")


def test_two_figures_in_one_page_share_no_id(demo_report: ReportView) -> None:
    svg = tokens_figure(demo_report.runs[0].spending).svg
    ids = [set(re.findall(r' id="([^"]+)"', placed(svg, prefix, "a"))) for prefix in ("a", "b")]
    assert ids[0] and not ids[0] & ids[1]


def test_money_is_stacked_where_the_journal_has_the_classes(demo_report: ReportView) -> None:
    whole = demo_report.runs[0].spending
    split = money_figure(whole)
    assert split is not None and split.table.columns == (
        "at",
        "total",
        "input",
        "output",
        "cache read",
        "cache write, 5 min",
    )
    older = [turn.model_copy(update={"usd_by_class": None}) for turn in whole.over_time]
    total = money_figure(whole.model_copy(update={"over_time": older}))
    assert total is not None and total.table.columns == ("at", "total")
    assert "no split by class" in total.caption
    unpriced = [turn.model_copy(update={"usd": None}) for turn in whole.over_time]
    assert money_figure(whole.model_copy(update={"over_time": unpriced})) is None


def test_an_interval_is_shown_against_the_margin(demo_report: ReportView) -> None:
    goal = demo_report.runs[0].claims[-1].targets[0].goal
    assert goal is not None
    figure = goal_figure(goal)
    assert "bounds -0.00552 to 0.00787, margin 0.015" in figure.alt
    assert "difference: right is better" in sound(figure)
    undecided = goal_figure(goal.model_copy(update={"low": None, "high": None, "difference": None}))
    assert "difference: right is better" not in sound(undecided)


def test_letters_that_the_font_lacks_give_no_warning() -> None:
    def plan(figure: Canvas) -> None:
        figure.text(0.5, 0.5, "漢字 $x")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "漢字 $x" in draw(plan)


@pytest.mark.parametrize(
    ("value", "shown"), [(1e-7, "10⁻⁷"), (0.01, "0.01"), (1.0, "1"), (1e5, "10⁵"), (0.0, "")]
)
def test_labels_of_a_logarithmic_axis(value: float, shown: str) -> None:
    assert power_of_ten(value) == shown


def test_what_cannot_be_drawn_to_scale_is_a_gap() -> None:
    values = [1.0, None, math.inf, 1e31, math.nan]
    assert [math.isnan(value) for value in drawable(values)] == [False, True, True, True, True]
    assert lost(values) == [2, 3, 4]
