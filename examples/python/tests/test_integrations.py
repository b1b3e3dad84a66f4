"""Each integration against the real package, without a network. Skipped if the package is not installed."""

import asyncio
import subprocess
import sys

import pytest
import wrongturn as wt
from conftest import SOUND, STUBBORN

pytest_plugins = ["pytester"]


def test_pytest_asserts_and_reports(pytester):
    pytester.makepyfile(
        f"""
        import wrongturn as wt
        from wrongturn.pytest_plugin import assert_no_findings

        STUBBORN = {STUBBORN!r}

        def test_sound(agent_runs):
            assert_no_findings(agent_runs.check({SOUND!r}))

        def test_stubborn(agent_runs):
            assert_no_findings(agent_runs.check(STUBBORN))

        def test_allowed():
            names = [found.detector for found in wt.check_messages(STUBBORN).findings]
            assert_no_findings(STUBBORN, allow=names)
        """
    )
    result = pytester.runpytest_subprocess("--wrongturn-report", "runs.html")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*feedback_blindness: `get_order*", "*1 of 2 runs flagged*", "report: runs.html"])
    assert "get_order" in (pytester.path / "runs.html").read_text()


def test_langchain_stops_a_looping_agent():
    tools = pytest.importorskip("langchain_core.tools")
    from wrongturn.langchain import LoopCallback

    @tools.tool
    def get_order(id: str) -> str:
        """Looks up an order."""
        raise ValueError("no such order")

    handler = LoopCallback(after=2)
    calls = 0
    with pytest.raises(wt.LoopDetected, match="get_order"):
        while calls < 20:
            calls += 1
            try:
                get_order.invoke({"id": "17"}, config={"callbacks": [handler]})
            except ValueError:
                pass
    assert calls == 5
    assert {finding.detector for finding in handler.monitor.findings} == {"feedback_blindness", "loop"}


def test_langgraph_stops_a_looping_agent():
    messages = pytest.importorskip("langchain_core.messages")
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    graphs = pytest.importorskip("langgraph.graph")
    from langchain_core.tools import tool
    from wrongturn.langchain import LoopCallback

    @tool
    def get_order(id: str) -> str:
        """Looks up an order."""
        return "pending"

    def model(state):
        call = {
            "name": "get_order",
            "args": {"id": "17"},
            "id": str(len(state["messages"])),
            "type": "tool_call",
        }
        return {"messages": [messages.AIMessage(content="", tool_calls=[call])]}

    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", prebuilt.ToolNode([get_order]))
    graph.add_edge(graphs.START, "model")
    graph.add_edge("model", "tools")
    graph.add_edge("tools", "model")
    handler = LoopCallback(after=0)
    with pytest.raises(wt.LoopDetected, match="loop"):
        graph.compile().invoke({"messages": [("user", "where is it?")]}, config={"callbacks": [handler]})
    assert handler.monitor.steps == 3


def scripted_model():
    """A model of the OpenAI Agents SDK that always makes the same call."""
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseFunctionToolCall

    class Scripted(Model):
        calls = 0

        async def get_response(self, *args, **kwargs):
            self.calls += 1
            call = ResponseFunctionToolCall(
                arguments='{"id": "17"}', call_id=str(self.calls), name="get_order", type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)

        def stream_response(self, *args, **kwargs):
            raise NotImplementedError

    return Scripted()


def test_openai_agents_stops_a_looping_run():
    agents = pytest.importorskip("agents")
    from wrongturn.openai_agents import WrongturnProcessor

    @agents.function_tool
    def get_order(id: str) -> str:
        raise ValueError("no such order")

    ended = {}
    processor = WrongturnProcessor(ended.__setitem__)
    agents.set_trace_processors([processor])
    agents.set_tracing_disabled(False)
    agent = agents.Agent("clerk", tools=[get_order], model=scripted_model())
    with pytest.raises(wt.LoopDetected, match="get_order"):
        asyncio.run(agents.Runner.run(agent, "Where is order 17?", hooks=processor.hooks(), max_turns=20))
    (monitor,) = ended.values()
    # The SDK tells the model to try again, which excuses the first repetitions.
    assert monitor.steps == 5
    assert [finding.detector for finding in monitor.findings] == ["loop"]


def test_deepeval_scores_tool_calls():
    pytest.importorskip("deepeval")
    from deepeval.test_case import LLMTestCase, ToolCall
    from wrongturn.deepeval import WrongturnMetric

    def case(*outputs):
        tools = [ToolCall(name="get_order", input_parameters={"id": "17"}, output=output) for output in outputs]
        return LLMTestCase(input="Where is it?", actual_output="I do not know.", tools_called=tools)

    metric = WrongturnMetric()
    assert metric.measure(case("shipped")) == 1.0 and metric.is_successful()
    assert asyncio.run(metric.a_measure(case(*["Error: no such order"] * 4))) < 1.0
    assert not metric.is_successful() and "loop: `get_order" in metric.reason


def test_inspect_scout_scans_transcripts(tmp_path):
    scout = pytest.importorskip("inspect_scout")
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall, ToolCallError
    from wrongturn.inspect_scout import detector, findings

    def transcript(times):
        messages = [ChatMessageUser(content="Where is it?")]
        for number in range(times):
            call = ToolCall(id=str(number), function="get_order", arguments={"id": "17"})
            messages.append(ChatMessageAssistant(content="", tool_calls=[call]))
            error = ToolCallError("unknown", "no such order")
            messages.append(ChatMessageTool(content="", tool_call_id=str(number), function="get_order", error=error))
        return scout.Transcript(transcript_id=f"t{times}", messages=messages)

    async def scanned(scanner, times):
        return await scanner(transcript(times))

    found = asyncio.run(scanned(findings(), 4))
    assert found.value >= 2 and "loop: `get_order" in found.explanation and found.metadata["loop"] == 1
    assert asyncio.run(scanned(findings(), 0)).value == 0
    assert asyncio.run(scanned(detector("loop"), 4)).value is True
    assert asyncio.run(scanned(detector("loop"), 1)).value is False
    assert asyncio.run(scanned(detector("route_inefficiency"), 1)).value is None


def test_claude_agent_sdk_hooks_warn_and_stop():
    pytest.importorskip("claude_agent_sdk")
    from wrongturn.claude_agent_sdk import LoopGuard

    guard = LoopGuard(stop_after=2)
    hooks = guard.hooks()

    async def call(number):
        event = {"tool_name": "Bash", "tool_input": {"command": "pytest"}, "tool_use_id": str(number)}
        before = {"hook_event_name": "PreToolUse", **event}
        assert await hooks["PreToolUse"][0].hooks[0](before, str(number), None) == {}
        after = {"hook_event_name": "PostToolUseFailure", "error": "1 failed: test_total", **event}
        return await hooks["PostToolUseFailure"][0].hooks[0](after, str(number), None)

    outputs = [asyncio.run(call(number)) for number in range(5)]
    assert outputs[0] == {}
    said = next(output for output in outputs if output)
    assert "pytest" in said["hookSpecificOutput"]["additionalContext"]
    assert outputs[-1]["continue_"] is False and "pytest" in outputs[-1]["stopReason"]


def chat_objects():
    chat = pytest.importorskip("openai.types.chat")
    function = {"name": "get_order", "arguments": '{"id": "17"}'}
    calls = [{"id": "1", "type": "function", "function": function}]
    return [
        chat.ChatCompletionMessage(role="assistant", tool_calls=calls),
        {"role": "tool", "tool_call_id": "1", "content": "pending"},
    ]


def responses():
    types = pytest.importorskip("openai.types.responses")
    call = types.ResponseFunctionToolCall(arguments='{"id": "17"}', call_id="1", name="get_order", type="function_call")
    return [call, {"type": "function_call_output", "call_id": "1", "output": "pending"}]


def anthropic_objects():
    types = pytest.importorskip("anthropic.types")
    block = types.ToolUseBlock(id="1", name="get_order", input={"id": "17"}, type="tool_use")
    result = {"type": "tool_result", "tool_use_id": "1", "content": "pending"}
    return [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]


def gemini_objects():
    types = pytest.importorskip("google.genai.types")
    call = types.Part.from_function_call(name="get_order", args={"id": "17"})
    answer = types.Part.from_function_response(name="get_order", response={"status": "pending"})
    return [types.Content(role="model", parts=[call]), types.Content(role="user", parts=[answer])]


def pydantic_ai_objects():
    types = pytest.importorskip("pydantic_ai.messages")
    call = types.ToolCallPart("get_order", {"id": "17"}, tool_call_id="1")
    answer = types.ToolReturnPart("get_order", "pending", tool_call_id="1")
    return [types.ModelResponse(parts=[call]), types.ModelRequest(parts=[answer])]


def langchain_objects():
    types = pytest.importorskip("langchain_core.messages")
    call = {"name": "get_order", "args": {"id": "17"}, "id": "1", "type": "tool_call"}
    return [types.AIMessage(content="", tool_calls=[call]), types.ToolMessage("pending", tool_call_id="1")]


def claude_objects():
    types = pytest.importorskip("claude_agent_sdk")
    call = types.ToolUseBlock(id="1", name="get_order", input={"id": "17"})
    answer = types.ToolResultBlock(tool_use_id="1", content="pending")
    return [
        types.AssistantMessage(content=[types.TextBlock(text="I look it up."), call], model="m"),
        types.UserMessage(content=[answer]),
    ]


@pytest.mark.parametrize(
    "objects",
    [
        chat_objects,
        responses,
        anthropic_objects,
        gemini_objects,
        pydantic_ai_objects,
        langchain_objects,
        claude_objects,
    ],
    ids=lambda objects: objects.__name__,
)
def test_messages_of_sdks_are_read(objects):
    seen = []

    @wt.detector("system/seen", id="seen")
    class Seen:
        def observe(self, step):
            if step.is_call:
                seen.append((step.tool, step.arguments, step.status))

        def findings(self):
            return []

    messages = objects()
    wt.check_messages(messages, detectors=[Seen])
    assert seen == [("get_order", {"id": "17"}, "ok")]
    found = wt.check_messages(messages * 4).findings
    assert "loop" in [finding.detector for finding in found]


def test_messages_that_are_none_raise():
    with pytest.raises(wt.WrongturnError):
        wt.check_messages([])
    with pytest.raises(TypeError, match="expected messages"):
        wt.check_messages([object()])


def test_optional_packages_are_not_imported():
    names = ["pandas", "polars", "pyarrow", "pytest", "langchain_core", "agents", "deepeval", "inspect_scout"]
    code = f"import sys, wrongturn; print([name for name in {names} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
