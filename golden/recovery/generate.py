#!/usr/bin/env python3
"""Writes the files of this directory: invented trials and trajectories for `wrongturn bench recovery`.
No benchmark was run and no model called.

    python3 golden/recovery/generate.py
"""

import json
import pathlib
import random

HERE = pathlib.Path(__file__).parent
TASKS = [f"mend-{thing}" for thing in "fence roof gate pump sail wheel clock stove lamp cart".split()]
MODELS = {"quick": 0.7, "careful": 0.6, "small": 0.3}
CONTEXTS = {"fresh": 0.0, "env": 0.15, "env+summary": 0.2, "env+full": 0.35}


def lines(name, rows):
    (HERE / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def whole(name, value):
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def results(draw):
    trials = []
    for task in TASKS:
        for attempt in (1, 2):
            resolved = draw.choice([True, False, False, None])
            tests = {"test_holds": "passed", "test_clean": "passed" if resolved else "failed"}
            trials.append({
                "trial_name": f"{task}.{attempt}-of-2.invented",
                "task_id": task,
                "instruction": f"Please mend the {task[5:]}.",
                "is_resolved": resolved,
                "failure_mode": draw.choice(["unset", "agent_timeout"]),
                "parser_results": None if resolved is None else tests,
                "total_input_tokens": draw.randrange(1000, 9000),
                "total_output_tokens": draw.randrange(100, 900),
            })
    resolved = sum(trial["is_resolved"] is True for trial in trials)
    whole("results.json", {"id": "invented", "results": trials, "accuracy": resolved / len(trials)})
    whole("harbor/result.json", {
        "task_name": "mend-fence",
        "trial_name": "mend-fence__invented",
        "verifier_result": {"rewards": {"reward": 0.0}},
        "exception_info": {"exception_type": "AgentTimeoutError"},
        "agent_result": {"n_input_tokens": 4000, "n_output_tokens": 300},
    })


def trajectories():
    def call(arguments, tool="terminal"):
        return {"tool_call_id": "c", "function_name": tool, "arguments": arguments}

    typed = [
        [call({"keystrokes": "ls fence\n", "duration": 0.5})],
        [call({"keystrokes": "saw plank\n", "duration": 30}), call({"keystrokes": "C-c"})],
        [call({"command": ["bash", "-lc", "nail plank && paint plank"]}, tool="shell")],
    ] + [[call({"keystrokes": f"check board {board}\n"})] for board in range(9)]
    steps = [{"step_id": 1, "source": "user", "message": "Please mend the fence."}]
    for calls in typed:
        steps.append({"step_id": len(steps) + 1, "source": "agent", "message": "", "tool_calls": calls})
    written = {"analysis": "one board is loose", "commands": [{"keystrokes": "nail board 7\n", "duration": 2.5}]}
    steps.append({"step_id": len(steps) + 1, "source": "agent", "message": json.dumps(written)})
    whole("harbor/agent/trajectory.json", {
        "schema_version": "ATIF-v1.5",
        "session_id": "invented",
        "agent": {"name": "invented", "version": "0"},
        "steps": steps,
    })
    replies = [
        {"episode": 1, "text": json.dumps({"commands": [{"keystrokes": "oil wheel\n", "timeout_sec": 20}]})},
        {"episode": 0, "text": json.dumps({"commands": [{"keystrokes": "look wheel\n"}, {"keystrokes": "C-d"}]})},
        {"episode": 2, "text": "The wheel turns."},
    ]
    whole("terminus.json", {"responses": replies})


def candidates(draw):
    rows = []
    for number in range(40):
        rows.append({
            "trial": f"t{number:02}",
            "task": draw.choice(TASKS),
            "resolved": draw.random() < 0.3,
            "interactions": draw.choice([None, 4, 9, 10, 11, 18, 33]),
            "context_bytes": draw.choice([None, 9_000, 64_000, 64_001, 120_000]),
        })
    lines("candidates.jsonl", rows)


def trials(draw):
    rows = []
    for model, skill in MODELS.items():
        for context, loss in CONTEXTS.items():
            for task in TASKS:
                if draw.random() < 0.05:
                    continue
                resolved = draw.random() < skill - loss
                rows.append({
                    "model": model,
                    "context": context,
                    "task": task,
                    "trial": f"{model}.{context}.{task}",
                    "resolved": resolved,
                    "scored": resolved or draw.random() < 0.95,
                    "reward": 1.0 if resolved else 0.0,
                    "interactions": draw.randrange(5, 40),
                })
    lines("trials.jsonl", rows)


def pairs(draw):
    def action(step):
        name = draw.choice(["terminal", "read_file"])
        arguments = {"keystrokes": draw.choice(["saw\n", "nail\n"])} if name == "terminal" else {"path": "plan.txt"}
        status = draw.choice(["ok", "error", "unknown"])
        observation = draw.choice(["no such plank", "busy", None]) if status == "error" else "done"
        return {"step": step, "name": name, "arguments": arguments, "status": status, "observation": observation}

    rows = []
    for number in range(20):
        failed = [action(step) for step in range(draw.randrange(1, 5))]
        recovery = [action(step) for step in range(draw.randrange(1, 7))]
        rows.append({"id": f"i{number:02}", "failed": failed, "recovery": recovery})
    lines("pairs.jsonl", rows)


results(random.Random(1))
trajectories()
candidates(random.Random(2))
trials(random.Random(3))
pairs(random.Random(4))
