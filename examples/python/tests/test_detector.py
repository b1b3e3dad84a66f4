import threading

import pytest
import wrongturn as wt
from conftest import SOUND, STUBBORN


@wt.detector("system/too_long")
class TooLong:
    def __init__(self):
        self.calls = []

    def observe(self, step):
        if step.is_call:
            self.calls.append((step.index, step.tool, step.arguments, step.status))

    def findings(self):
        if len(self.calls) > 2:
            evidence = {"calls": len(self.calls)}
            yield wt.Found(self.calls[0][0], self.calls[-1][0], "too many calls", "certain", evidence)


def test_a_detector_in_python_runs_like_others():
    run = wt.check_messages(STUBBORN, detectors=[TooLong, "loop"])
    assert set(run.verdicts) == {"loop", "too_long"}
    (finding,) = run.verdicts["too_long"].findings
    assert (finding.mode, finding.confidence, finding.evidence) == (
        "system/too_long",
        "certain",
        {"calls": 3},
    )
    assert wt.check_messages(SOUND, detectors=[TooLong]).findings == []


def test_it_scans_files_in_threads(golden):
    report = wt.check(golden / "tau2", detectors=[TooLong], threads=2)
    runs = report.runs.to_pydict()
    assert runs["too_long"] == [actions > 2 for actions in runs["actions"]]


def test_steps_have_arguments_answers_and_messages():
    seen = []

    @wt.detector("system/seen", id="seen")
    class Seen:
        def observe(self, step):
            seen.append(step)

        def findings(self):
            return []

    wt.check_messages(SOUND, detectors=[Seen])
    message, call = seen
    assert (message.actor, message.is_call, message.text) == ("user", False, "Where is my order?")
    assert (call.tool, call.arguments, call.text, call.status) == ("get_order", {"id": "17"}, "shipped", "ok")


def test_its_exceptions_are_raised():
    @wt.detector("system/broken")
    class Broken:
        def observe(self, step):
            raise ZeroDivisionError("of the detector")

        def findings(self):
            return []

    with pytest.raises(ZeroDivisionError, match="of the detector"):
        wt.check_messages(SOUND, detectors=[Broken])
    with pytest.raises(wt.WrongturnError, match="nowhere"):
        wt.check(b"", detectors=[wt.detector("nowhere")(Broken)])
    with pytest.raises(TypeError, match="@detector"):
        wt.check(b"", detectors=[int])


def test_it_runs_in_a_monitor():
    monitor = wt.Monitor([TooLong])
    for _ in range(3):
        monitor.answer(monitor.call("look"), "a wall")
    assert monitor.end()["too_long"].detected


def test_threads_share_a_monitor():
    monitor = wt.Monitor([TooLong])

    def work():
        for _ in range(200):
            monitor.answer(monitor.call("look"), "a wall")

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=30)
    assert monitor.steps == 800
    assert monitor.end()["too_long"].findings[0].evidence == {"calls": 800}
