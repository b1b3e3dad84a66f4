"""Pytest: assertions on the runs of agents, and one report of all runs of a session.

The plugin is loaded by pytest itself. In a test::

    from wrongturn.pytest_plugin import assert_no_findings

    def test_refund(agent_runs):
        messages = my_agent("refund order 17")
        assert_no_findings(agent_runs.check(messages), allow=["wasted_actions"])

``pytest --wrongturn-report runs.html`` writes a page with all runs that went through the fixture.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from . import Report, Run, check, check_messages
from ._messages import to_json

_RUNS: pytest.StashKey[AgentRuns] = pytest.StashKey()


def assert_no_findings(trace: Any, *, allow: Collection[str] = ()) -> None:
    """Fails the test if a detector that is not in `allow` found something.

    `trace` is a run or a report, or messages as :func:`wrongturn.check_messages` takes them.
    """
    __tracebackhide__ = True
    runs: Iterable[Run] = (
        trace if isinstance(trace, Report) else [trace if isinstance(trace, Run) else check_messages(trace)]
    )
    found = [
        f"{run.id}, steps {finding.first}-{finding.last}, {finding.detector}: {finding.message}"
        for run in runs
        for finding in run.findings
        if finding.detector not in allow
    ]
    if found:
        pytest.fail("\n".join([f"{len(found)} findings", *found]), pytrace=False)


class AgentRuns:
    """The runs of a session."""

    def __init__(self) -> None:
        self._documents: list[bytes] = []

    def check(self, messages: Any, **options: Any) -> Run:
        """Checks the messages of one run, and keeps them for the report of the session."""
        run = check_messages(messages, **options)
        self._documents.append(to_json(messages))
        return run

    def report(self) -> Report:
        """Returns one report of all runs so far."""
        return check(self._documents)

    def __len__(self) -> int:
        return len(self._documents)


@pytest.fixture(scope="session")
def agent_runs(request: pytest.FixtureRequest) -> AgentRuns:
    """Collects the runs of the session into one report."""
    runs: AgentRuns = request.config.stash.setdefault(_RUNS, AgentRuns())
    return runs


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wrongturn")
    group.addoption("--wrongturn-report", metavar="FILE", help="write a page with the runs of the fixture agent_runs")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    runs = config.stash.get(_RUNS, None)
    if runs is None or not len(runs):
        return
    report = runs.report()
    terminalreporter.write_sep("=", "runs of agents")
    terminalreporter.write_line(f"{report.flagged} of {len(report)} runs flagged")
    path = config.getoption("--wrongturn-report")
    if path:
        report.to_html(path)
        terminalreporter.write_line(f"report: {path}")
