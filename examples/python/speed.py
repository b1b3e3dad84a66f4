"""Compares the package with other ways to the same figures, on the same runs, in CPU seconds.

    python speed.py DIRECTORY_OF_TAU2_RESULTS [--mb 200] [--chats CHATS.jsonl]

Needs orjson; comparisons with tracelint and inspect_scout run if these are installed. Every comparison checks that both
sides count the same errors.
"""

import argparse
import json
import resource
import shutil
import tempfile
from pathlib import Path

import orjson
import wrongturn as wt

RATE = {"tool_error_recovery": {"definition": "rate", "by_program": False, "actors": "all"}}


def fold(messages):
    """Counts the failed calls of a run, and those whose tool succeeded later."""
    names, failed, errors, recovered = {}, {}, 0, 0
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["name"]
        if message.get("role") == "tool":
            for answer in message.get("tool_messages") or (message,):
                name = names.get(answer.get("id") or answer.get("tool_call_id"))
                text = answer.get("content") or ""
                if answer.get("error") or text.startswith("Error"):
                    failed[name] = failed.get(name, 0) + 1
                    errors += 1
                else:
                    recovered += failed.pop(name, 0)
    return errors, recovered


def with_orjson(files):
    errors = 0
    for file in files:
        for run in orjson.loads(file.read_bytes()).get("simulations") or ():
            errors += fold(run.get("messages") or ())[0]
    return errors


def cpu(work):
    """CPU seconds of a call and of the processes that it starts, and its result."""

    def now():
        return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

    began = now()
    result = work()
    return now() - began, result


def best(work, rounds=3):
    return min((cpu(work) for _ in range(rounds)), key=lambda one: one[0])


def errors_of(report):
    measured = report.runs.to_pydict()["tool_error_recovery.errors"]
    return int(sum(value for value in measured if value is not None))


def openai(messages):
    """The messages of a run as a request to OpenAI has them, and as Inspect has them."""
    chat = []
    for message in messages:
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for call in message.get("tool_calls") or ()
        ]
        for answer in message.get("tool_messages") or (message,):
            if answer["role"] == "tool":
                chat.append({"role": "tool", "tool_call_id": answer["id"], "content": answer.get("content") or ""})
            else:
                chat.append(
                    {
                        "role": answer["role"],
                        "content": answer.get("content") or "",
                        **({"tool_calls": calls} if calls else {}),
                    }
                )
    return chat


def against_tracelint(runs):
    from tracelint import lint_trace
    from tracelint.adapters.openai import from_openai_messages
    from tracelint.rules import default_rules

    documents = [json.dumps({"messages": run}).encode() for run in runs]

    def lint():
        rules = default_rules()
        return [lint_trace(from_openai_messages(json.loads(text)["messages"]), rules) for text in documents]

    theirs, reports = cpu(lint)
    ours, report = best(lambda: wt.check(b"\n".join(documents), threads=1))
    assert len(report) == len(reports), (len(report), len(reports))
    return theirs, ours


def against_inspect_scout(runs, folder):
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall, ToolCallError
    from inspect_scout import Result, Scanner, Transcript, scan, scanner, transcripts_from

    def converted(run):
        names = {}
        for message in run:
            if message["role"] == "assistant":
                calls = [
                    ToolCall(
                        id=call["id"],
                        function=call["function"]["name"],
                        arguments=json.loads(call["function"]["arguments"]) or {},
                    )
                    for call in message.get("tool_calls", ())
                ]
                names.update((call.id, call.function) for call in calls)
                yield ChatMessageAssistant(content=message["content"], tool_calls=calls or None)
            elif message["role"] == "tool":
                text, id = message["content"], message["tool_call_id"]
                error = ToolCallError("unknown", text) if text.startswith("Error") else None
                yield ChatMessageTool(content=text, tool_call_id=id, function=names.get(id), error=error)
            else:
                kind = ChatMessageUser if message["role"] == "user" else ChatMessageSystem
                yield kind(content=message["content"])

    samples = [
        EvalSample(id=number, epoch=1, input="", target="", messages=list(converted(run)))
        for number, run in enumerate(runs)
    ]
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="tau2",
        model="mockllm/model",
        dataset=EvalDataset(),
        config=EvalConfig(),
    )
    log = folder / "log.eval"
    write_eval_log(EvalLog(eval=spec, status="success", samples=samples), str(log))

    @scanner(messages="all", name="recovery")
    def recovery() -> Scanner[Transcript]:
        async def scanned(transcript: Transcript) -> Result:
            failed, errors, recovered = {}, 0, 0
            for message in transcript.messages:
                if message.role == "tool":
                    if message.error is not None:
                        failed[message.function] = failed.get(message.function, 0) + 1
                        errors += 1
                    else:
                        recovered += failed.pop(message.function, 0)
            return Result(value=errors, metadata={"recovered": recovered})

        return scanned

    theirs, status = cpu(
        lambda: scan(
            [recovery()],
            transcripts_from(str(log)),
            scans=str(folder / "scans"),
            display="none",
            max_processes=1,
        )
    )
    assert status.complete, status
    ours, report = best(lambda: wt.check(log, detectors=["tool_error_recovery"], config=RATE, threads=1))
    assert len(report) == len(runs), (len(report), len(runs))
    return theirs, ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--mb", type=int, default=200, help="the files are repeated up to this size")
    parser.add_argument("--chats", type=Path, help="OpenAI chats, one a line, to compare with tracelint as well")
    options = parser.parse_args()
    files = sorted(options.directory.glob("*.json"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        corpus, size, repeated = folder / "corpus", 0, []
        corpus.mkdir()
        while size < options.mb << 20:
            for file in files:
                repeated.append(corpus / f"{len(repeated)}.json")
                shutil.copy(file, repeated[-1])
                size += file.stat().st_size
        megabytes = size / 1e6

        theirs, counted = best(lambda: with_orjson(repeated))
        ours, report = best(lambda: wt.check(corpus, detectors=["tool_error_recovery"], config=RATE, threads=1))
        print(
            f"{len(report)} runs, {megabytes:.0f} MB; errors: orjson and fold {counted}, wrongturn {errors_of(report)}"
        )
        print(f"orjson and a fold: {theirs:.2f} s, wt.check: {ours:.2f} s, {theirs / ours:.1f} times as fast")
        ours, report = best(lambda: wt.check(corpus, threads=1))
        print(
            f"wt.check with all default detectors: {ours:.2f} s, {theirs / ours:.1f} times as fast as orjson and a fold"
        )

        call = {
            "role": "assistant",
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        }
        answer = {"role": "tool", "tool_call_id": "1", "content": "a wall"}
        stuck = json.dumps({"messages": [call, answer] * 4}).encode() + b"\n"
        many = wt.check(stuck * 50_000)
        table, found = best(lambda: many.findings)
        frame, _ = best(found.to_pandas)
        print(f"{len(found)} findings: report.findings {table:.2f} s, to_pandas {frame:.2f} s more")

        runs = [
            openai(run.get("messages") or ())
            for file in files
            for run in json.loads(file.read_bytes()).get("simulations") or ()
        ]
        runs = [run for run in runs if run]
        chats = [json.loads(line)["messages"] for line in options.chats.open()] if options.chats else []
        for name, runs, measure in (
            ("tracelint, default rules", runs, against_tracelint),
            ("tracelint, default rules, on the chats", chats, against_tracelint),
            ("inspect_scout, an equal scanner", runs, lambda runs: against_inspect_scout(runs, folder)),
        ):
            if not runs:
                continue
            try:
                theirs, ours = measure(runs)
            except ImportError as missing:
                print(f"{name}: skipped, {missing}")
                continue
            print(
                f"{name}, {len(runs)} runs: {theirs:.2f} s, wt.check: {ours:.3f} s, {theirs / ours:.0f} times as fast"
            )


if __name__ == "__main__":
    main()
