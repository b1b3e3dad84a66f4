"""What a user writes. mypy and pyright check it, and pytest runs it."""

import wrongturn as wt


@wt.detector("system/too_long")
class TooLong:
    def __init__(self) -> None:
        self.calls: list[int] = []

    def observe(self, step: wt.Step) -> None:
        if step.is_call:
            self.calls.append(step.index)

    def findings(self) -> list[wt.Found]:
        if len(self.calls) < 100:
            return []
        return [wt.Found(self.calls[0], self.calls[-1], f"{len(self.calls)} calls")]


def main(path: str) -> str:
    report = wt.check(path, detectors=["loop", "tool_error_recovery", TooLong], progress=False)
    for error in report.errors:
        print(error.path, error.line, error.message)
    lines = [f"{run.id}: {finding.message}" for run in report for finding in run.findings]
    monitor = wt.Monitor(min_confidence="certain")
    call = monitor.call("search", {"q": "x"})
    monitor.answer(call, "Error: unknown index", error=True)
    monitor.raise_if_looping(after=2)
    result = wt.replicate(report.runs.to_pydict(), rate="tool_error_recovery.goal_recovery")
    return "\n".join(lines) + str(result) + str(wt.compare(report, report))
