"""Finds failures in recorded runs of AI agents, without a model call.

>>> import wrongturn as wt
>>> report = wt.check("runs/")                   # doctest: +SKIP
>>> report.findings.to_pandas()                  # doctest: +SKIP
"""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Any

from . import _native
from ._detector import Actors, Confidence, Detectors, Fold, Found, Step, detector, selection
from ._errors import LoopDetected, WrongturnError
from ._messages import to_json
from ._monitor import Monitor
from ._report import Finding, Report, Result, Run, Table, Verdict
from ._results import calibrate, compare, replicate

__all__ = [
    "Finding",
    "Fold",
    "Found",
    "LoopDetected",
    "Monitor",
    "Report",
    "Result",
    "Run",
    "Step",
    "Table",
    "Verdict",
    "WrongturnError",
    "calibrate",
    "check",
    "check_messages",
    "compare",
    "detector",
    "detectors",
    "replicate",
]

_Input = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[str] | IO[bytes]
Source = _Input | Iterable[_Input]


def check(
    source: Source,
    *,
    detectors: Detectors | None = None,
    config: Mapping[str, Mapping[str, Any]] | None = None,
    min_confidence: Confidence = "likely",
    actors: Actors = "agent",
    format: str | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Report:
    """Runs detectors over recorded runs.

    `source` is a path, a glob, bytes, an open file, or several of these; directories are searched. The format of each
    is recognised by its content unless `format` names one.

    `detectors` are names (:func:`detectors` lists them) and classes with :func:`detector`; None means those that run by
    default. `config` has a configuration for each detector, as ``wrongturn.toml`` has under ``[detectors]``.

    Inputs and runs that cannot be read are in :attr:`Report.errors`; the rest is still read. The interpreter's lock
    is released while files are read, so several checks can run in threads.

    Raises :class:`WrongturnError` if an option is not valid.

    >>> runs = b'{"messages": [{"role": "user", "content": "hi"}]}'
    >>> check(runs)
    Report(1 runs, 0 flagged, 0 errors)
    """
    options, custom = selection(detectors, config, min_confidence, actors)
    options |= {"format": format, "threads": threads}
    paths: list[str] = []
    memory: list[tuple[str, bytes]] = []
    is_several = isinstance(source, Iterable) and not isinstance(source, (str, bytes, bytearray, memoryview))
    inputs: Any = source if is_several and not hasattr(source, "read") else [source]
    for one in inputs:
        if isinstance(one, (str, os.PathLike)):
            path = os.fspath(one)
            is_pattern = glob.has_magic(path) and not os.path.exists(path)
            paths += (sorted(glob.glob(path, recursive=True)) if is_pattern else []) or [path]
        elif isinstance(one, (bytes, bytearray, memoryview)):
            memory.append((f"<bytes {len(memory)}>", bytes(one)))
        elif hasattr(one, "read"):
            content = one.read()
            name = getattr(one, "name", None)
            label = name if isinstance(name, str) else f"<file {len(memory)}>"
            memory.append((label, content.encode() if isinstance(content, str) else content))
        else:
            raise TypeError(f"expected a path, bytes or an open file, got {type(one).__name__}")
    native = _native.check(paths, memory, json.dumps(options), custom, _show if progress else None)
    if progress:
        sys.stderr.write("\n")
    return Report(native)


def _show(done: int, total: int, runs: int) -> None:
    share = f"{done / total:4.0%}" if total else f"{done:,} bytes"
    sys.stderr.write(f"\r{share}  {runs:,} runs")
    sys.stderr.flush()


def check_messages(messages: Any, **options: Any) -> Run:
    """Runs detectors over the messages of one run.

    `messages` are dicts or objects: of the OpenAI SDKs (chats and responses), of Anthropic's, of Gemini's, of the
    Claude Agent SDK, of Pydantic AI, of LangChain. `options` are those of :func:`check`.

    Raises :class:`WrongturnError` if they cannot be read as one run.

    >>> call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    >>> answer = {"role": "tool", "tool_call_id": "1", "content": "a wall"}
    >>> run = check_messages([{"role": "assistant", "tool_calls": [call]}, answer] * 4)
    >>> [finding.detector for finding in run.findings]
    ['loop', 'wasted_actions']
    """
    report = check(to_json(messages), **options)
    if len(report) != 1:
        raise next(iter(report.errors), WrongturnError(f"expected one run, got {len(report)}", "shape"))
    return next(iter(report))


def detectors() -> list[dict[str, Any]]:
    """Returns the detectors of the library, with id, mode, summary, docs, default configuration and `opt_in`."""
    listed: list[dict[str, Any]] = json.loads(_native.detectors())
    return listed
