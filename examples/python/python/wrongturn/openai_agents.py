"""OpenAI Agents SDK: a tracing processor that follows the tools of every run, and hooks that can stop one.

::

    processor = WrongturnProcessor()
    agents.add_trace_processor(processor)
    await Runner.run(agent, "…", hooks=processor.hooks(after=2))   # raises LoopDetected
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents import RunHooks
from agents.tracing import FunctionSpanData, TracingProcessor, get_current_trace

from . import Monitor


class WrongturnProcessor(TracingProcessor):
    """Feeds the function spans of each trace to a :class:`wrongturn.Monitor` of its own.

    `on_end` is called with the id and the monitor of each trace that ends. `monitor` creates the monitors.
    """

    def __init__(
        self,
        on_end: Callable[[str, Monitor], None] | None = None,
        *,
        monitor: Callable[[], Monitor] = Monitor,
    ) -> None:
        self.on_end = on_end
        self._new = monitor
        self._open: dict[str, Monitor] = {}

    def monitor(self, trace_id: str) -> Monitor:
        """Returns the monitor of a trace that has not ended."""
        return self._open.setdefault(trace_id, self._new())

    def hooks(self, after: int = 0) -> RunHooks[Any]:
        """Returns hooks that raise :class:`wrongturn.LoopDetected` before the model is called once more.

        The SDK catches what a processor raises, so only hooks can stop a run.
        """
        return _Hooks(self, after)

    def on_trace_start(self, trace: Any) -> None:
        self.monitor(trace.trace_id)

    def on_trace_end(self, trace: Any) -> None:
        monitor = self._open.pop(trace.trace_id, None)
        if monitor is not None and self.on_end is not None:
            monitor.end()
            self.on_end(trace.trace_id, monitor)

    def on_span_start(self, span: Any) -> None:
        pass

    def on_span_end(self, span: Any) -> None:
        data = span.span_data
        if isinstance(data, FunctionSpanData):
            monitor = self.monitor(span.trace_id)
            monitor.call(data.name, data.input, id=span.span_id)
            failure = span.error
            text = data.output if data.output is not None else (failure or {}).get("message", "")
            monitor.answer(span.span_id, text, error=failure is not None)

    def shutdown(self) -> None:
        self._open.clear()

    def force_flush(self) -> None:
        pass


class _Hooks(RunHooks[Any]):
    def __init__(self, processor: WrongturnProcessor, after: int) -> None:
        self.processor = processor
        self.after = after

    async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        trace = get_current_trace()
        if trace is not None:
            self.processor.monitor(trace.trace_id).raise_if_looping(self.after)
