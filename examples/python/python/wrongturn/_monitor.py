"""Runs detectors over a run in progress."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any, Literal

from . import _native
from ._detector import Actors, Confidence, Detectors, selection
from ._errors import LoopDetected
from ._report import Finding, Verdict, _verdicts

Actor = Literal["agent", "user", "system", "environment"]


class Monitor:
    """Runs detectors over a run in progress, and reports each finding as soon as no later step can retract it.

    >>> monitor = Monitor()
    >>> for attempt in range(2):
    ...     call = monitor.call("search", {"q": "x"})
    ...     monitor.answer(call, "Error: unknown index", error=True)
    >>> [finding.detector for finding in monitor.findings]
    ['feedback_blindness']
    """

    def __init__(
        self,
        detectors: Detectors | None = None,
        *,
        config: Mapping[str, Mapping[str, Any]] | None = None,
        min_confidence: Confidence = "likely",
        actors: Actors = "agent",
    ) -> None:
        options, custom = selection(detectors, config, min_confidence, actors)
        self._native = _native.Monitor(json.dumps(options), custom)
        self._numbers = itertools.count(1)

    def call(self, name: str, arguments: Any = None, *, id: str | None = None, actor: Actor = "agent") -> str:
        """Adds a call and returns its id. Detectors see the call once it is answered.

        `arguments` may be the JSON text that a model wrote.
        """
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                pass
        id = id if id is not None else f"call {next(self._numbers)}"
        self._native.call(name, json.dumps(arguments, default=str), id, actor)
        return id

    def answer(self, id: str, text: object, *, error: bool = False) -> None:
        """Answers an open call."""
        self._native.answer(id, text if isinstance(text, str) else json.dumps(text, default=str), error)

    def message(self, text: str, *, actor: Actor = "agent") -> None:
        """Adds a message, which becomes a step."""
        self._native.message(text, actor)

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return self._native.steps

    @property
    def findings(self) -> list[Finding]:
        """The confirmed findings, each as it was when it was confirmed."""
        return [Finding._of(finding) for finding in json.loads(self._native.confirmed())]

    @property
    def ongoing(self) -> list[Finding]:
        """The confirmed findings that include the latest answered call; empty unless a failure is ongoing."""
        return [Finding._of(finding) for finding in json.loads(self._native.ongoing())]

    def raise_if_looping(self, after: int = 0) -> None:
        """Raises :class:`LoopDetected` if any finding is still ongoing `after` steps after it was confirmed."""
        confirmed = {finding.id: finding.last for finding in self.findings} if after else {}
        for finding in self.ongoing:
            if finding.last >= confirmed.get(finding.id, finding.last) + after:
                raise LoopDetected(f"{finding.detector}: {finding.message}")

    def verdicts(self) -> dict[str, Verdict]:
        """Returns the verdicts by detector, as if the run ended here."""
        return _verdicts(json.loads(self._native.verdicts()))

    def end(self) -> dict[str, Verdict]:
        """Ends the run: open calls count as unanswered. Returns the verdicts."""
        self._native.end()
        return self.verdicts()

    def __repr__(self) -> str:
        return f"Monitor({self.steps} steps, {len(self.findings)} findings)"
