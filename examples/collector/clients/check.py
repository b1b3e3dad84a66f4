"""Sends looping runs of real clients to a collector, and checks that each is reported while its trace is open.

python check.py http://127.0.0.1:4318 http://127.0.0.1:4317

The collector runs with the default settings. Nothing leaves the machine: the models are scripted.
"""

import json
import sys
import time
import urllib.error
import urllib.request

from agents import Agent as OpenAiAgent
from agents import Model, Runner, Usage, function_tool
from agents import ModelResponse as OpenAiResponse
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings


def provider(exporter):
    made = TracerProvider(resource=Resource.create({"service.name": "clients"}))
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


def by_hand(tracers):
    """Five equal calls of a tool, with the attributes of the conventions for generative AI."""
    tracer = tracers.get_tracer("check")
    with tracer.start_as_current_span("invoke_agent clerk") as root:
        root.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"})
        for _ in range(5):
            with tracer.start_as_current_span("execute_tool get_order") as call:
                call.set_attributes(
                    {
                        "gen_ai.operation.name": "execute_tool",
                        "gen_ai.tool.name": "get_order",
                        "gen_ai.tool.call.arguments": '{"id": 17}',
                        "gen_ai.tool.call.result": "pending",
                    }
                )
        yield root.get_span_context().trace_id
    yield


def with_pydantic_ai(tracers):
    """An agent whose model asks for the same order five times."""
    asked = []

    def model(messages, info):
        asked.append(messages)
        if len(asked) > 5:
            return ModelResponse(parts=[TextPart("pending")])
        return ModelResponse(parts=[ToolCallPart("get_order", {"id": 17})])

    settings = InstrumentationSettings(tracer_provider=tracers, include_content=True)
    agent = Agent(FunctionModel(model), name="clerk")
    agent.instrument = settings

    @agent.tool_plain
    def get_order(id: int) -> str:
        return "pending"

    tracer = tracers.get_tracer("check")
    with tracer.start_as_current_span("request") as root:
        agent.run_sync("Where is order 17?")
        yield root.get_span_context().trace_id
    yield


def with_langgraph(tracers):
    """A graph whose model asks for the same order five times, instrumented by OpenInference."""
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=tracers)

    @tool
    def get_order(id: int) -> str:
        """Looks an order up."""
        return "pending"

    def call(number):
        return {"name": "get_order", "args": {"id": 17}, "id": f"call-{number}"}

    answers = [AIMessage(content="", tool_calls=[call(number)]) for number in range(5)]
    model = GenericFakeChatModel(messages=iter([*answers, AIMessage(content="pending")]))
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([get_order]))
    graph.set_entry_point("model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    with tracers.get_tracer("check").start_as_current_span("request") as root:
        graph.compile().invoke({"messages": [("user", "Where is order 17?")]})
        instrumentor.uninstrument()
        yield root.get_span_context().trace_id
    yield


class Scripted(Model):
    """A model of the OpenAI Agents SDK that asks for the same order five times."""

    asked = 0

    async def get_response(self, *args, **kwargs):
        self.asked += 1
        if self.asked > 5:
            text = ResponseOutputText(text="pending", type="output_text", annotations=[])
            output = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            output = ResponseFunctionToolCall(
                arguments='{"id": 17}', call_id=f"call-{self.asked}", name="get_order", type="function_call"
            )
        return OpenAiResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


def with_openai_agents(tracers):
    """An agent of the OpenAI Agents SDK, instrumented by OpenInference."""
    instrumentor = OpenAIAgentsInstrumentor()
    instrumentor.instrument(tracer_provider=tracers)

    @function_tool
    def get_order(id: int) -> str:
        return "pending"

    agent = OpenAiAgent("clerk", tools=[get_order], model=Scripted())
    with tracers.get_tracer("check").start_as_current_span("request") as root:
        Runner.run_sync(agent, "Where is order 17?")
        instrumentor.uninstrument()
        yield root.get_span_context().trace_id
    yield


def is_reported(collector, trace):
    """Returns whether the collector reports a loop in an open trace."""
    try:
        with urllib.request.urlopen(f"{collector}/traces/{trace:032x}") as answer:
            runs = json.load(answer)
    except urllib.error.HTTPError:
        return False
    return any(run["verdicts"]["loop"].get("detected") for run in runs)


def main(http, grpc):
    failed = False
    exporters = {"http": lambda: Http(endpoint=f"{http}/v1/traces"), "grpc": lambda: Grpc(endpoint=grpc)}
    for transport, exporter in exporters.items():
        for run in (by_hand, with_pydantic_ai, with_langgraph, with_openai_agents):
            tracers = provider(exporter())
            steps = run(tracers)
            trace = next(steps)
            deadline = time.monotonic() + 5
            while not (found := is_reported(http, trace)) and time.monotonic() < deadline:
                time.sleep(0.05)
            print(f"{run.__name__} over {transport}: {'reported' if found else 'NOT reported'}")
            failed |= not found
            next(steps)
            tracers.shutdown()
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
