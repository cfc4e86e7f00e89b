from agentmig.study.document import study
from agentmig.study.layout import columns, flat, flat_names, grid, row_type
from agentmig.study.model import TABLES, AttemptsRow, Estimate, GoalRow, SpeedRow, Table
from agentmig.study.reading import Reading

CLEAR = Estimate(value=0.5, n=4, low=0.25, high=0.75, method="a method")


def _goal(*shares: Estimate) -> Table[GoalRow]:
    rows = [GoalRow(unit="project", group="all", met=1, n=2, share=share) for share in shares]
    return Table[GoalRow](title="T", notes=["a note"], rows=rows)


def test_cells_carry_a_mark_for_each_method_and_each_reason() -> None:
    bare = Estimate(value=0.5, n=1, note="why not")
    laid = grid("goal", _goal(CLEAR, bare, CLEAR, Estimate(value=None, n=0, note="nothing to count")))
    assert [row[-1] for row in laid.rows] == [
        "50.0% [25.0, 75.0] (a)",
        "50.0% (b)",
        "50.0% [25.0, 75.0] (a)",
        "- (c)",
    ]
    assert laid.notes == [
        "a note",
        "(a) 95% interval: a method.",
        "(b) why not.",
        "(c) nothing to count.",
    ]


def test_marks_go_on_after_z() -> None:
    laid = grid("goal", _goal(*(Estimate(value=0.5, n=1, note=f"reason {i}") for i in range(28))))
    assert [row[-1] for row in laid.rows[25:]] == ["50.0% (z)", "50.0% (aa)", "50.0% (ab)"]


def test_what_is_for_programs_alone_is_not_shown() -> None:
    assert "running" not in [column.name for column in columns(AttemptsRow)]
    assert "running" in flat_names(AttemptsRow)


def test_the_first_column_says_what_a_row_is_about() -> None:
    assert [column.name for column in columns(AttemptsRow)][:2] == ["group", "projects"]
    assert [c.name for c in columns(SpeedRow) if c.is_text] == ["targets", "backend", "measure"]


def test_an_empty_table_has_its_columns() -> None:
    empty = _goal()
    assert row_type(empty) is GoalRow
    assert grid("goal", empty).columns
    assert flat_names(row_type(empty))[-7:] == [
        "share",
        "share_n",
        "share_clusters",
        "share_low",
        "share_high",
        "share_method",
        "share_note",
    ]


def test_a_row_for_programs_has_a_cell_for_each_name() -> None:
    (row,) = _goal(CLEAR).rows
    assert list(flat(row)) == flat_names(GoalRow)
    assert flat(row)["share_high"] == 0.75


def test_no_table_has_two_columns_of_one_name() -> None:
    view = study(Reading([], [], []), None)
    for name in TABLES:
        kind = row_type(getattr(view, name))
        assert len(set(flat_names(kind))) == len(flat_names(kind))
        assert columns(kind)
