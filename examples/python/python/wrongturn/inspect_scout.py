"""Inspect Scout: the detectors as scanners of transcripts.

``scout scan wrongturn/findings -T logs/`` gives each transcript the number of its findings, and
``scout scan wrongturn/detector -S id=loop`` one detector's verdict.
"""

from __future__ import annotations

import json

from inspect_scout import Result, Scanner, Transcript, scanner

from . import Run, check


def _checked(transcript: Transcript, detectors: list[str] | None) -> Run | None:
    messages = [message.model_dump(mode="json", exclude_none=True) for message in transcript.messages]
    sample = {"id": transcript.transcript_id, "epoch": 1, "messages": messages}
    log = {"version": 2, "status": "success", "eval": {"task": "", "model": ""}, "samples": [sample]}
    report = check(json.dumps(log).encode(), detectors=detectors, format="inspect")
    return next(iter(report), None)


@scanner(messages="all")
def findings(detectors: list[str] | None = None) -> Scanner[Transcript]:
    """Counts the findings of a transcript. `detectors` are ids; None means those that run by default."""

    async def scan(transcript: Transcript) -> Result:
        run = _checked(transcript, detectors)
        found = run.findings if run is not None else []
        lines = [f"steps {one.first}-{one.last}, {one.detector}: {one.message}" for one in found]
        counts = {detector: len(verdict.findings) for detector, verdict in run.verdicts.items()} if run else {}
        return Result(value=len(found), explanation="\n".join(lines) or None, metadata=counts)

    return scan


@scanner(messages="all")
def detector(id: str) -> Scanner[Transcript]:
    """Returns the verdict of one detector: true, false, or null if it does not apply."""

    async def scan(transcript: Transcript) -> Result:
        run = _checked(transcript, [id])
        verdict = run.verdicts[id] if run is not None else None
        if verdict is None or verdict.detected is None:
            return Result(value=None, explanation=verdict.reason if verdict else "no messages")
        return Result(value=verdict.detected, explanation="\n".join(one.message for one in verdict.findings) or None)

    return scan
