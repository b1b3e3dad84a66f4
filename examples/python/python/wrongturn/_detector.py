"""Selects detectors, including those written in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

Confidence = Literal["likely", "certain"]
Actors = Literal["agent", "user", "all"]


@dataclass(frozen=True)
class Step:
    """One step of a run, as a detector sees it."""

    index: int
    turn: int
    actor: str
    #: The name of the tool; None if the step is a message.
    tool: str | None
    _arguments: str | None
    #: "ok", "error" or "unknown"; None if the step is a message.
    status: str | None
    #: The answer to a call, or the text of a message.
    text: str | None

    @property
    def is_call(self) -> bool:
        return self.tool is not None

    @cached_property
    def arguments(self) -> Any:
        """The arguments of a call, parsed; the text itself if it is not JSON."""
        if self._arguments is None:
            return None
        try:
            return json.loads(self._arguments)
        except ValueError:
            return self._arguments


@dataclass(frozen=True)
class Found:
    """A finding of a detector that is written in Python: its first and last step, and one sentence."""

    first: int
    last: int
    message: str
    confidence: Confidence = "likely"
    evidence: Any = None


class Fold(Protocol):
    """The state of a detector within one run."""

    def observe(self, step: Step) -> None:
        """Takes the next step."""

    def findings(self) -> Iterable[Found]:
        """Returns the findings, as if the run ended here."""
        ...


F = TypeVar("F", bound=type)
Detectors = Sequence[str | type]


class _Adapter:
    """Calls a fold with the types of this module."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold

    def observe(self, *fields: Any) -> None:
        self.fold.observe(Step(*fields))

    def findings(self) -> list[tuple[int, int, str, str, str]]:
        return [
            (found.first, found.last, found.message, found.confidence, json.dumps(found.evidence))
            for found in self.fold.findings()
        ]


def detector(mode: str, *, id: str | None = None) -> Callable[[F], F]:
    """Makes a class a detector: an instance folds over the steps of one run.

    `mode` is the failure mode, ``"system/…"``, ``"strategy/…"`` or ``"operation/…"``. Without `id`, the name of the
    class in snake case is used.

    >>> @detector("system/too_long")
    ... class TooLong:
    ...     def __init__(self):
    ...         self.calls = []
    ...     def observe(self, step):
    ...         if step.is_call:
    ...             self.calls.append(step.index)
    ...     def findings(self):
    ...         if len(self.calls) > 100:
    ...             yield Found(self.calls[0], self.calls[-1], f"{len(self.calls)} calls")

    A scan runs folds in several threads, one run in each. Findings are not confirmed before the run ends.
    """

    def decorate(cls: F) -> F:
        name = id or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        cls._wrongturn = name, mode, lambda: _Adapter(cls())  # type: ignore[attr-defined]
        return cls

    return decorate


def selection(
    detectors: Detectors | None,
    config: Mapping[str, Mapping[str, Any]] | None,
    min_confidence: Confidence,
    actors: Actors,
) -> tuple[dict[str, Any], list[tuple[str, str, Callable[[], Any]]]]:
    """Returns the options of the native half, and the detectors that are written in Python."""
    ids, custom = [], []
    for one in detectors or ():
        if isinstance(one, str):
            ids.append(one)
        elif hasattr(one, "_wrongturn"):
            custom.append(one._wrongturn)
        else:
            raise TypeError(f"expected the name of a detector or a class with @detector, got {one!r}")
    options = {
        "detectors": ids,
        "config": dict(config or {}),
        "min_confidence": min_confidence,
        "actors": actors,
    }
    return options, custom
