"""The authored migration, built once."""

from pathlib import Path

import pytest

from agentmig.journal import Event, read_journal
from agentmig.report import ReportView, report, to_html
from tests.report.demo import demo


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's folder."""
    return demo(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def demo_events(demo_run: Path) -> list[Event]:
    """Its events."""
    return read_journal(demo_run)


@pytest.fixture(scope="session")
def demo_report(demo_events: list[Event]) -> ReportView:
    """The report on it."""
    return report([demo_events])


@pytest.fixture(scope="session")
def demo_html(demo_report: ReportView) -> str:
    """Its page."""
    return to_html(demo_report)
