"""Claude Agent SDK: hooks that warn the model about confirmed findings, and can stop the session.

::

    guard = LoopGuard(stop_after=3)
    ClaudeAgentOptions(hooks=guard.hooks())
"""

from __future__ import annotations

from typing import Any

from claude_agent_sdk import HookMatcher

from . import LoopDetected, Monitor


class LoopGuard:
    """Follows the tool calls of one session with a :class:`wrongturn.Monitor`.

    The model is warned about each finding once, after the call that confirmed it. With `stop_after`, the session is
    stopped when a finding goes on for that many more calls.
    """

    def __init__(self, monitor: Monitor | None = None, *, stop_after: int | None = None) -> None:
        self.monitor = monitor if monitor is not None else Monitor()
        self.stop_after = stop_after
        self._reported = 0

    def hooks(self) -> dict[Any, list[HookMatcher]]:
        """Returns the value of ``ClaudeAgentOptions(hooks=…)``."""
        return {
            "PreToolUse": [HookMatcher(hooks=[self._before])],
            "PostToolUse": [HookMatcher(hooks=[self._after])],
            "PostToolUseFailure": [HookMatcher(hooks=[self._after])],
        }

    async def _before(self, event: Any, tool_use_id: str | None, context: Any) -> Any:
        self.monitor.call(event["tool_name"], event["tool_input"], id=event["tool_use_id"])
        return {}

    async def _after(self, event: Any, tool_use_id: str | None, context: Any) -> Any:
        failed = event["hook_event_name"] == "PostToolUseFailure"
        answer = event["error"] if failed else event["tool_response"]
        self.monitor.answer(event["tool_use_id"], answer, error=failed)
        if self.stop_after is not None:
            try:
                self.monitor.raise_if_looping(self.stop_after)
            except LoopDetected as loop:
                return {"continue_": False, "stopReason": str(loop)}
        findings = self.monitor.findings
        new, self._reported = findings[self._reported :], len(findings)
        if not new:
            return {}
        advice = " ".join(f"{finding.message}." for finding in new) + " Change the approach instead of repeating it."
        return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "additionalContext": advice}}
