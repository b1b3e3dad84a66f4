"""DeepEval: a metric over the tools that an agent called.

::

    evaluate([LLMTestCase(input=…, actual_output=…, tools_called=[ToolCall(…), …])], [WrongturnMetric()])
"""

from __future__ import annotations

from typing import Any

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from . import Monitor
from ._detector import Confidence, Detectors


class WrongturnMetric(BaseMetric):
    """The share of applicable detectors that find nothing. No model is called.

    The score is 1 if nothing was found, and the reason names the findings. `threshold` is the lowest score that passes.
    """

    def __init__(
        self,
        threshold: float = 1.0,
        *,
        detectors: Detectors | None = None,
        min_confidence: Confidence = "likely",
    ) -> None:
        self.threshold = threshold
        self.detectors = detectors
        self.min_confidence: Confidence = min_confidence
        self.async_mode = False
        self.include_reason = True

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        monitor = Monitor(self.detectors, min_confidence=self.min_confidence)
        monitor.message(str(test_case.input), actor="user")
        for tool in test_case.tools_called or []:
            call = monitor.call(tool.name, tool.input_parameters or {})
            if tool.output is not None:
                text = tool.output if isinstance(tool.output, str) else str(tool.output)
                monitor.answer(call, text, error=text.startswith(("Error", "error:")))
        verdicts = [verdict for verdict in monitor.end().values() if verdict.detected is not None]
        passed = sum(not verdict.detected for verdict in verdicts)
        score = passed / len(verdicts) if verdicts else 1.0
        found = [f"{one.detector}: {one.message}" for verdict in verdicts for one in verdict.findings]
        self.reason = "; ".join(found) or "no findings"
        self.score, self.success = score, score >= (self.threshold or 0.0)
        return score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return "Wrongturn"
