import pytest
import wrongturn as wt


def stuck(monitor, times):
    for number in range(times):
        monitor.call("search", {"q": "x"}, id=str(number))
        monitor.answer(str(number), "Error: unknown index", error=True)


def test_findings_are_reported_when_they_are_confirmed():
    monitor = wt.Monitor()
    stuck(monitor, 1)
    assert monitor.findings == []
    stuck(monitor, 1)
    assert [finding.detector for finding in monitor.findings] == ["feedback_blindness"]
    assert monitor.ongoing and repr(monitor) == "Monitor(2 steps, 1 findings)"
    monitor.answer(monitor.call("list_indexes"), ["a", "b"])
    assert monitor.ongoing == [] and len(monitor.findings) == 1


def test_verdicts_equal_those_of_the_whole_run():
    monitor = wt.Monitor()
    monitor.message("find x", actor="user")
    stuck(monitor, 4)
    messages = [{"role": "user", "content": "find x"}]
    for number in range(4):
        function = {"name": "search", "arguments": '{"q": "x"}'}
        call = {"id": str(number), "type": "function", "function": function}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(number), "content": "Error: unknown index"})
    live, batch = monitor.end(), wt.check_messages(messages).verdicts
    assert {name for name, verdict in live.items() if verdict.detected} == {
        name for name, verdict in batch.items() if verdict.detected
    }
    assert live["loop"].detected


def test_an_answer_needs_its_call():
    with pytest.raises(wt.WrongturnError, match="open call"):
        wt.Monitor().answer("7", "a wall")
    monitor = wt.Monitor()
    first, second = monitor.call("look"), monitor.call("go")
    monitor.answer(second, "a garden")
    assert monitor.steps == 1
    monitor.end()
    assert monitor.steps == 2 and first != second


def test_a_loop_can_stop_the_agent():
    monitor = wt.Monitor()
    stuck(monitor, 1)
    monitor.raise_if_looping()
    stuck(monitor, 1)
    with pytest.raises(wt.LoopDetected, match=r"feedback_blindness: .*search"):
        monitor.raise_if_looping()
    monitor.raise_if_looping(after=2)
    stuck(monitor, 3)
    with pytest.raises(wt.LoopDetected, match="loop: "):
        monitor.raise_if_looping(after=2)
