"""LangChain and LangGraph: a callback that follows the tools of an agent, and can stop it.

::

    handler = LoopCallback(after=2)
    agent.invoke({"messages": [...]}, config={"callbacks": [handler]})   # raises LoopDetected
    handler.monitor.findings
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from . import Monitor


class LoopCallback(BaseCallbackHandler):
    """Feeds the tool calls of one run to a :class:`wrongturn.Monitor`.

    With `after`, :class:`wrongturn.LoopDetected` is raised when a finding goes on for that many calls after it was
    confirmed; without it, nothing is raised.
    """

    #: Exceptions reach the agent, and calls are seen in their order.
    raise_error = True
    run_inline = True

    def __init__(self, monitor: Monitor | None = None, *, after: int | None = None) -> None:
        self.monitor = monitor if monitor is not None else Monitor()
        self.after = after

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: Any,
        inputs: Any = None,
        **kwargs: Any,
    ) -> None:
        name = kwargs.get("name") or (serialized or {}).get("name", "tool")
        self.monitor.call(name, input_str if inputs is None else inputs, id=str(run_id))

    def on_tool_end(self, output: Any, *, run_id: Any, **kwargs: Any) -> None:
        text = getattr(output, "content", output)
        self._answer(run_id, text, error=getattr(output, "status", None) == "error")

    def on_tool_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> None:
        self._answer(run_id, f"{type(error).__name__}: {error}", error=True)

    def _answer(self, run_id: Any, text: object, *, error: bool) -> None:
        self.monitor.answer(str(run_id), text, error=error)
        if self.after is not None:
            self.monitor.raise_if_looping(self.after)
