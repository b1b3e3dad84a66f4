#!/usr/bin/env python3
"""Writes the files of this directory: invented episodes, annotations and predictions for `wrongturn bench benchtrace`.
No game was played, no model called and no person annotated.

    python3 golden/benchtrace/generate.py
"""

import json
import pathlib
import random

HERE = pathlib.Path(__file__).parent
TASKS = ["harbour", "library", "orchard"]
MODES = [
    "strategy/loop",
    "strategy/unexplored_direction",
    "operation/feedback_blindness",
    "operation/perception_error",
    "system/format",
]
WORDS = "the agent tries valve again although ladder gate key and lantern never opened before tide bell".split()


def lines(name, rows):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (HERE / name).write_text(text, encoding="utf-8")


def some_range(draw, steps=30, longest=8):
    first = draw.randrange(steps)
    return [first, min(steps - 1, first + draw.randrange(longest))]


def sentence(draw, length=8):
    return " ".join(draw.choice(WORDS) for _ in range(length))


def reflection(draw):
    """Episodes with failures, and a predictor that is often near and sometimes silent."""
    gold, predicted = [], []
    for number in range(24):
        failures = [
            {"type": draw.choice(MODES), "where": some_range(draw), "diagnosis": sentence(draw)}
            for _ in range(draw.randrange(4))
        ]
        gold.append({"id": f"g{number:02}", "task": draw.choice(TASKS), "failures": failures})
        if draw.random() < 0.1:
            continue
        ranges = []
        for failure in failures:
            first, last = failure["where"]
            shift = draw.choice([0, 0, 1, -1, 6])
            ranges.append([max(0, first + shift), max(0, last + shift)])
        diagnoses = []
        for place, failure in enumerate(failures):
            right = draw.random() < 0.7
            said = failure["diagnosis"].split()
            draw.shuffle(said)
            diagnoses.append({
                "failure": place,
                "mode": failure["type"] if right else draw.choice(MODES),
                "description": " ".join(said[: draw.randrange(3, 9)]) if draw.random() < 0.9 else None,
                "judge": draw.choice([1, 1, 0.5, 0, None]),
            })
        answer = "yes" if failures or draw.random() < 0.3 else "no"
        predicted.append({
            "episode": f"g{number:02}",
            "model": "invented",
            "detection": None if draw.random() < 0.1 else answer,
            "ranges": ranges,
            "diagnoses": diagnoses,
        })
    lines("gold.jsonl", gold)
    lines("predictions.jsonl", predicted)


def evolution(draw):
    """Cases cut before a failure; the new run often walks into it again."""
    places = [f"Quay {letter}\nPlanks and rope." for letter in "ABCDEFGH"]
    verbs = ["look", "north", "pull rope", "ring bell"]
    cases = []
    for number in range(40):
        original = [
            {"step": step, "obs": draw.choice(places), "action": draw.choice(verbs)} for step in range(16)
        ]
        first = draw.randrange(1, 12)
        last = min(15, first + draw.randrange(4))
        post = []
        for step in range(first - 1, first - 1 + draw.randrange(0, 10)):
            again = draw.random() < 0.35
            obs = original[min(step, 15)]["obs"] if again else f"Yard {draw.randrange(40)}\nGravel."
            post.append({"step": step, "obs": obs, "action": draw.choice(verbs)})
        cases.append({
            "id": f"c{number:02}",
            "framework": draw.choice(["notebook", "plain"]),
            "task": "jericho",
            "subtask": draw.choice(TASKS),
            "proximity": draw.randrange(1, 4),
            "distance": draw.choice([1, 5, 10]),
            "signal": f"g{draw.randrange(24):02}",
            "target": {"type": draw.choice(MODES), "where": [first, last]},
            "truncation": first - 1,
            "original": original,
            "post": post,
            "score": draw.randrange(0, 51, 5),
            "score_max": 100,
        })
    lines("cases.jsonl", cases)

    pairs = []
    for number in range(12):
        def failure():
            return {
                "episode": f"g{draw.randrange(6):02}",
                "task": "jericho",
                "subtask": draw.choice(TASKS),
                "type": draw.choice(MODES[:2]),
                "where": some_range(draw, steps=60),
            }

        pairs.append({"id": f"p{number:02}", "signal": failure(), "test": failure()})
    lines("pairs.jsonl", pairs)

    records = [
        {
            "case": f"c{number:02}",
            "framework": draw.choice(["notebook", "plain"]),
            "class": draw.choice(["operation", "operation", "strategy", "system"]),
            "detection": draw.random() < 0.9,
            "localization": draw.random() < 0.5,
            "diagnosis": draw.random() < 0.5,
            "avoided": draw.choice([True, False, False, None]),
        }
        for number in range(80)
    ]
    lines("records.jsonl", records)


def annotators(draw):
    """Two annotators who mean the same failure more often than not."""
    episodes = []
    for number in range(20):
        a = [
            {"type": draw.choice(MODES), "where": some_range(draw), "tier": draw.choice(["core", "marginal"])}
            for _ in range(draw.randrange(4))
        ]
        b = []
        for failure in a:
            if draw.random() < 0.8:
                first, last = failure["where"]
                mode = failure["type"] if draw.random() < 0.8 else draw.choice(MODES)
                tier = failure["tier"] if draw.random() < 0.8 else "core"
                b.append({"type": mode, "where": [first, last + draw.randrange(3)], "tier": tier})
        if draw.random() < 0.3:
            b.append({"type": draw.choice(MODES), "where": some_range(draw), "tier": "marginal"})
        episodes.append({"id": f"a{number:02}", "a": a, "b": b})
    lines("annotators.jsonl", episodes)


def games(draw):
    """A walk on a small map, with a walkthrough of two scores."""
    rooms = {
        "Boat House": {"north": "Long Quay", "up": "Loft"},
        "Long Quay": {"south": "Boat House", "east": "Bell Tower"},
        "Loft": {"down": "Boat House"},
        "Bell Tower": {"west": "Long Quay"},
    }
    milestones = [
        {"action": "take rope", "score_after": 5, "room": "Loft", "observation_after": "** Loft **\nTaken."},
        {"action": "ring bell", "score_after": 10, "room": "Bell Tower", "observation_after": "** Bell Tower **\nDong."},
    ]
    episodes, bench = [], []
    for number in range(12):
        room, steps, score, taken, heading = "Boat House", [], 0, False, True
        for step in range(14):
            ways = rooms[room]
            named = ", ".join(ways)
            obs = f"** {room} **\nSmells of tar. Obvious exits: {named}." if heading else "Nothing comes of it."
            action = draw.choice(list(ways) + ["look", "take rope", "take oar", "ring bell", "pull oar"])
            if draw.random() < 0.05:
                action = draw.choice(["", '{"action": "look"}', "look\nlook"])
            reward, heading = 0, True
            if action in ways:
                room = ways[action]
            elif action == "take rope" and room == "Loft" and not taken:
                reward, taken = 5, True
            elif action == "ring bell" and room == "Bell Tower" and taken and score < 10:
                reward = 5
            elif action != "look":
                heading = False
            score += reward
            steps.append({"step": step, "obs": obs, "action": action, "reward": reward, "cum_score": score})
        episodes.append({"id": f"e{number:02}", "trajectory": steps, "milestones": milestones, "final_score": score})
        core = [{"type": draw.choice(MODES), "where": some_range(draw, steps=14, longest=5), "diagnosis": sentence(draw)}]
        bench.append({
            "id": f"e{number:02}",
            "game": "harbour",
            "task_type": "jericho",
            "model": "invented",
            "snapshot": {"final_score": score, "max_score": 10, "trajectory": steps},
            "failure_instances": {"core_failure": core, "marginal_failure": []},
        })
    lines("episodes.jsonl", episodes)
    (HERE / "episodes.json").write_text(
        json.dumps({"version": "1.0", "game": "harbour", "n_episodes": len(bench), "episodes": bench}, indent=1) + "\n",
        encoding="utf-8",
    )


def calls(draw):
    """Bookings of berths: some malformed, some refused, some forgotten."""
    runs = []
    for number in range(16):
        actions = []
        for step in range(draw.randrange(7)):
            name = draw.choice(["find_berth", "book_berth", "pay_fee", ""])
            status = draw.choice(["ok", "ok", "error", "unknown"])
            observation = draw.choice(["Unknown tool", "no berth is free"]) if status == "error" else "done"
            action = {
                "step": step,
                "name": name,
                "arguments": {"berth": draw.choice(["A1", "B2"]), "nights": draw.choice([1, 2])},
                "status": status,
                "observation": observation,
            }
            if draw.random() < 0.2:
                action["arguments_text"] = draw.choice(['{"berth": ', "[]", "{}"])
            actions.append(action)
        expected = [
            {
                "name": draw.choice(["book_berth", "pay_fee"]),
                "arguments": {"berth": "A1", "nights": 2},
                "compare_args": draw.choice([None, ["berth"], []]),
            }
            for _ in range(draw.randrange(3))
        ]
        runs.append({"id": f"r{number:02}", "actions": actions, "expected": expected})
    lines("calls.jsonl", runs)


for seed, part in enumerate([reflection, evolution, annotators, games, calls]):
    part(random.Random(seed))
