//! Sharp edges of section 3.2.

use serde_json::{Value, json};
use wrongturn::{Actor, Preset};

use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, AB, B, BA, C, Case, finds, novel, passes};

pub(super) fn cases() -> Vec<Case> {
    let stuck = [chains(), gaps_and_segments(), repeated_failures(), loops_together()].concat();
    [stuck, turns_and_records(), polls(), repeat()].concat()
}

fn looping(name: &'static str, events: Vec<Event>, verdict: Value) -> Case {
    let run = Run::new(events, None);
    Case { name, detector: "loop", preset: Preset::Default, config: Value::Null, run, verdict }
}

fn loops<const N: usize>(findings: [(u64, u64, Value); N]) -> Value {
    finds("strategy/loop", findings)
}

fn turns(kind: &str, (action, count): (&str, u64), repeating_keys: u64, period: Option<u64>) -> Value {
    json!({"kind": kind, "repeat_count": count, "repeating_keys": repeating_keys, "action": action,
        "location": null, "period": period})
}

const CALL: &str = "repeated_call";
const FAILURE: &str = "repeated_failure";

fn look() -> Event {
    ok("look", A, "a wall")
}

fn looks(count: usize) -> Vec<Event> {
    vec![look(); count]
}

fn four_looks() -> Value {
    loops([(0, 3, turns(CALL, ("look", 4), 1, Some(1)))])
}

fn chains() -> Vec<Case> {
    vec![
        looping("four are a loop", looks(4), four_looks()),
        looping("three are none", looks(3), passes()),
        looping("the range goes on", looks(6), loops([(0, 5, turns(CALL, ("look", 6), 1, Some(1)))])),
        looping("min_repeats is heeded", looks(2), loops([(0, 1, turns(CALL, ("look", 2), 1, Some(1)))]))
            .with(json!({"min_repeats": 2})),
        looping(
            "another observation restarts the chain",
            [looks(3), vec![ok("look", A, "a door")], looks(3)].concat(),
            passes(),
        ),
        looping(
            "another status with the same observation does not",
            vec![look(), error("look", A, "a wall"), look(), error("look", A, "a wall")],
            four_looks(),
        ),
        looping("two missing observations are equal", vec![unanswered("look", A); 4], four_looks()),
        looping(
            "a missing observation is no empty one",
            [vec![unanswered("look", A); 2], vec![ok("look", A, ""); 2]].concat(),
            passes(),
        ),
        looping(
            "names are trimmed and folded, arguments canonical",
            vec![ok(" Look", AB, "x"), ok("Look ", BA, "x"), ok("LOOK", AB, "x"), ok("look", AB, "x")],
            loops([(0, 3, turns(CALL, ("Look", 4), 1, Some(1)))]),
        ),
        looping(
            "the place is part of the key",
            [vec![look().near("hall"); 3], vec![look().near("attic"); 3], looks(3)].concat(),
            passes(),
        ),
        looping(
            "and is named",
            vec![look().near("hall"); 4],
            loops([(
                0,
                3,
                json!({"kind": CALL, "repeat_count": 4, "repeating_keys": 1, "action": "look", "location": "hall",
                    "period": 1}),
            )]),
        ),
    ]
}

fn turns_and_records() -> Vec<Case> {
    let fail = || error("book", A, "no");
    vec![
        looping("four of one turn are no repetition", [looks(1), vec![look().too(); 5]].concat(), passes()),
        looping(
            "one of each turn counts",
            [looks(1), vec![look().too()], looks(1), vec![look().too()], looks(2)].concat(),
            loops([(0, 5, turns(CALL, ("look", 4), 1, Some(1)))]),
        ),
        looping("nor are three failures of one turn", vec![fail(), fail().too(), fail().too()], passes()),
        looping(
            "both failures of a later turn repeat the first",
            vec![fail(), fail(), fail().too()],
            loops([(0, 2, turns(FAILURE, ("book", 2), 1, Some(1)))]),
        ),
        looping(
            "the published rule knows no turns",
            [looks(1), vec![look().too()]].concat(),
            loops([(0, 1, turns("repeat", ("look", 2), 1, Some(1)))]),
        )
        .bench_trace(),
        looping(
            "answers that were not recorded equal nothing",
            vec![look().left_out(false, true); 9],
            passes(),
        ),
        looping(
            "calls that were not recorded are none of a kind",
            [looks(1), vec![look().left_out(true, false); 9]].concat(),
            passes(),
        ),
        looping(
            "without arguments there is nothing to compare",
            vec![look().left_out(true, false); 9],
            json!({"not_applicable": true}),
        ),
        looping(
            "other failures of the tool are in its run",
            vec![fail(), error("book", B, "no"), fail(), error("book", B, "no")],
            loops([(0, 3, turns(FAILURE, ("book", 2), 2, Some(2)))]),
        ),
    ]
}

fn polls() -> Vec<Case> {
    let poll = |count: usize| vec![ok("wait", A, "not yet"); count];
    let endless = |last: u64, count: u64, period: Option<u64>| {
        loops([(0, last, turns("endless_polling", ("wait", count), 1, period))])
    };
    vec![
        looping("polling is no loop", poll(49), passes()),
        looping("unless it has no end", poll(50), endless(49, 50, Some(1))),
        looping("the range goes on", poll(60), endless(59, 60, Some(1))),
        looping(
            "another answer breaks the row",
            [poll(30), vec![ok("wait", A, "nearly")], poll(30)].concat(),
            passes(),
        ),
        looping(
            "other polls do not",
            [poll(1), vec![ok("wait", B, "done")], poll(2)].concat(),
            endless(3, 3, None),
        )
        .with(json!({"max_polls": 3})),
        looping(
            "two of one turn are one",
            [poll(2), vec![ok("wait", A, "not yet").too()]].concat(),
            passes(),
        )
        .with(json!({"max_polls": 3})),
        looping(
            "answers that were not recorded are no row",
            vec![ok("wait", A, "x").left_out(false, true); 9],
            passes(),
        )
        .with(json!({"max_polls": 3})),
        looping(
            "what polls is told by the arguments",
            vec![ok("process", Some(r#"{"action":"poll"}"#), "x"); 9],
            passes(),
        ),
        looping(
            "other calls of the tool are none",
            vec![ok("process", Some(r#"{"action":"kill"}"#), "x"); 4],
            loops([(0, 3, turns(CALL, ("process", 4), 1, Some(1)))]),
        ),
    ]
}

fn gaps_and_segments() -> Vec<Case> {
    vec![
        looping(
            "three novel actions may lie between",
            [looks(3), novel(3), looks(1)].concat(),
            loops([(0, 6, turns(CALL, ("look", 4), 1, None))]),
        ),
        looping("four may not", [looks(3), novel(4), looks(3)].concat(), passes()),
        looping(
            "only what is novel counts",
            [novel(5), looks(2), novel(5), looks(2)].concat(),
            loops([(5, 13, turns(CALL, ("look", 4), 1, None))]),
        ),
        looping(
            "an old call with a new answer is novel",
            [looks(3), ["1", "2", "3", "4"].map(|page| ok("list", A, page)).to_vec(), looks(1)].concat(),
            passes(),
        ),
        looping(
            "to each call its own: one new answer to two old calls is novel twice",
            [
                vec![ok("list", A, "1"), ok("list", B, "2")],
                looks(3),
                vec![ok("list", A, "3"), ok("list", B, "3")],
                novel(2),
                looks(1),
            ]
            .concat(),
            passes(),
        ),
        looping(
            "messages and other actors are not there; ranges are in source steps",
            vec![
                look().after(3),
                say(Actor::Agent),
                look().after(1),
                look().by(Actor::User),
                look(),
                look().after(10),
            ],
            loops([(3, 19, turns(CALL, ("look", 4), 1, Some(1)))]),
        ),
        looping("a polling tool is exempt", looks(9), passes()).with(json!({"exempt": [" LOOK"]})),
        looping(
            "a gain of progress begins a new segment",
            vec![
                look().scored(0.0),
                look().scored(0.0),
                look().scored(1.0),
                look().scored(1.0),
                look().scored(1.0),
            ],
            passes(),
        ),
        looping(
            "a loss does not",
            vec![look().scored(1.0), look().scored(1.0), look().scored(0.5), look().scored(0.0)],
            four_looks(),
        ),
        looping(
            "novelty begins anew with a segment",
            [novel(4), vec![look().scored(0.0), look().scored(1.0)], looks(2), novel(4), looks(1)].concat(),
            passes(),
        ),
    ]
}

fn repeated_failures() -> Vec<Case> {
    let fail = |arguments| error("buy", arguments, "sold out");
    vec![
        looping(
            "three failures, two of them repeats",
            vec![fail(A); 3],
            loops([(0, 2, turns(FAILURE, ("buy", 3), 1, Some(1)))]),
        ),
        looping("two are none", vec![fail(A); 2], passes()),
        looping("only one is a repeat", vec![fail(A), fail(B), fail(C), fail(A)], passes()),
        looping(
            "two are repeats, of different calls",
            vec![fail(A), fail(B), fail(B), fail(A)],
            loops([(0, 3, turns(FAILURE, ("buy", 2), 2, None))]),
        ),
        looping(
            "the observations may differ",
            vec![error("buy", A, "no"), error("buy", A, "still no"), error("buy", A, "never")],
            loops([(0, 2, turns(FAILURE, ("buy", 3), 1, Some(1)))]),
        ),
        looping(
            "a success of the tool in between ends the run, whatever its arguments",
            vec![
                fail(A),
                fail(A),
                ok("Buy", B, "bought"),
                error("buy", A, "closed"),
                error("buy", A, "closed"),
            ],
            passes(),
        ),
        looping(
            "neither a success of another tool nor an unanswered call does",
            vec![fail(A), ok("sell", A, "sold"), fail(A), unanswered("buy", A), fail(A)],
            loops([(0, 4, turns(FAILURE, ("buy", 4), 1, None))]),
        ),
        looping(
            "a success after the last failure is no part of it",
            vec![fail(A), fail(A), fail(A), ok("buy", A, "bought")],
            loops([(0, 2, turns(FAILURE, ("buy", 3), 1, Some(1)))]),
        ),
        looping(
            "min_failures - 1 repeats are asked for",
            vec![fail(A), fail(A), fail(B), fail(B)],
            loops([(0, 3, turns(FAILURE, ("buy", 2), 2, None))]),
        ),
        looping("and not fewer", vec![fail(A), fail(A), fail(B), fail(B)], passes())
            .with(json!({"min_failures": 4})),
        looping("transient failures are passed over", vec![error("buy", A, "503"); 9], passes()),
        looping("by their type too", vec![fail(A).typed("RATE_LIMIT"); 9], passes()),
        looping(
            "unless all failures count",
            vec![error("buy", A, "503"); 3],
            loops([(0, 2, turns(FAILURE, ("buy", 3), 1, Some(1)))]),
        )
        .with(json!({"transient": null})),
        looping(
            "what is passed over breaks neither run nor cycle, and is not counted",
            vec![fail(A), error("buy", A, "timeout"), fail(A), ok("poll", A, "x"), fail(A)],
            loops([(0, 4, turns(FAILURE, ("buy", 3), 1, Some(1)))]),
        )
        .with(json!({"exempt": ["poll"]})),
        looping(
            "a gain of progress ends a run of failures",
            vec![fail(A).scored(0.0), fail(A).scored(0.0), fail(A).scored(1.0), fail(A).scored(1.0)],
            passes(),
        ),
    ]
}

fn loops_together() -> Vec<Case> {
    let wait = ok("idle", A, "time passes");
    let (fail, other) = (error("buy", A, "sold out"), error("buy", B, "no money"));
    let waits = vec![wait.clone(); 4];
    vec![
        looping(
            "what touches does not overlap",
            [looks(4), waits.clone()].concat(),
            loops([
                (0, 3, turns(CALL, ("look", 4), 1, Some(1))),
                (4, 7, turns(CALL, ("idle", 4), 1, Some(1))),
            ]),
        ),
        looping(
            "one action in common does",
            vec![
                error("buy", A, "no"),
                error("buy", A, "not yet"),
                error("buy", A, "idle"),
                ok("buy", A, "idle"),
                ok("buy", A, "idle"),
                ok("buy", A, "idle"),
            ],
            loops([(0, 5, turns(FAILURE, ("buy", 6), 1, Some(1)))]),
        ),
        looping(
            "a cycle of two is one finding; of two keys the first seen is named",
            vec![[look(), wait.clone()]; 4].concat(),
            loops([(0, 7, turns(CALL, ("look", 4), 2, Some(2)))]),
        ),
        looping(
            "a cycle may be cut short",
            vec![[look(), wait.clone()]; 4].concat().into_iter().chain([look()]).collect(),
            loops([(0, 8, turns(CALL, ("look", 5), 2, Some(2)))]),
        ),
        looping(
            "the kind is that of the earlier part, the range the union",
            vec![fail.clone(), look(), fail.clone(), look(), fail.clone(), look(), look(), look()],
            loops([(0, 7, turns(FAILURE, ("look", 5), 2, None))]),
        ),
        looping(
            "and the other way round",
            vec![look(), fail.clone(), look(), fail.clone(), look(), look(), fail.clone()],
            loops([(0, 6, turns(CALL, ("look", 4), 2, None))]),
        ),
        looping(
            "of parts that begin together the repeated call gives the kind",
            vec![fail.clone(); 4],
            loops([(0, 3, turns(CALL, ("buy", 4), 1, Some(1)))]),
        ),
        looping(
            "so that a fourth failure may change it",
            vec![fail.clone(); 3],
            loops([(0, 2, turns(FAILURE, ("buy", 3), 1, Some(1)))]),
        ),
        looping(
            "parts may join others",
            [
                vec![look(), look(), look(), fail.clone(), look()],
                vec![wait.clone(), fail.clone(), wait.clone(), wait.clone(), fail.clone(), wait.clone()],
            ]
            .concat(),
            loops([(0, 10, turns(CALL, ("look", 4), 3, None))]),
        ),
        looping(
            "a key with two occurrences repeats, one with one does not",
            vec![look(), other.clone(), look(), fail.clone(), look(), other.clone(), look()],
            loops([(0, 6, turns(CALL, ("look", 4), 2, None))]),
        ),
        looping(
            "two segments, two findings",
            [looks(4), vec![look().scored(0.0), wait.clone().scored(1.0)], waits].concat(),
            loops([
                (0, 4, turns(CALL, ("look", 5), 1, Some(1))),
                (5, 9, turns(CALL, ("idle", 5), 1, Some(1))),
            ]),
        ),
    ]
}

fn repeat() -> Vec<Case> {
    let wait = ok("idle", A, "time passes");
    let loops = |events, verdict, name| looping(name, events, verdict).bench_trace();
    let kind = "repeat";
    vec![
        loops(
            vec![wait.clone(), look(), ok("look", A, "a door"), ok("list", A, "x")],
            self::loops([(0, 3, turns(kind, ("look", 2), 1, None))]),
            "twice is a loop, whatever was observed, and the range is the segment",
        ),
        loops(vec![look(), ok("look", B, "a wall"), wait.clone()], passes(), "once each is none"),
        loops(
            vec![look(), wait.clone(), wait.clone(), look()],
            self::loops([(0, 3, turns(kind, ("look", 2), 2, None))]),
            "of equals the first seen",
        ),
        loops(
            vec![look(), wait.clone(), wait.clone(), wait.clone(), look()],
            self::loops([(0, 4, turns(kind, ("idle", 3), 2, None))]),
            "the most repeated",
        ),
        loops(
            vec![
                look().scored(0.0),
                look().scored(0.0),
                wait.clone().scored(2.0),
                look().scored(2.0),
                wait.clone().scored(3.0).after(4),
                look().scored(3.0),
                look().scored(1.0),
            ],
            self::loops([
                (0, 1, turns(kind, ("look", 2), 1, Some(1))),
                (8, 10, turns(kind, ("look", 2), 1, None)),
            ]),
            "each segment for itself",
        ),
        loops(
            vec![error("look", A, "503"); 2],
            self::loops([(0, 1, turns(kind, ("look", 2), 1, Some(1)))]),
            "transient failures count",
        ),
        loops(
            vec![look(), wait.clone(), look(), wait.clone(), look()],
            self::loops([(0, 4, turns(kind, ("look", 3), 2, Some(2)))]),
            "a higher minimum",
        )
        .with(json!({"min_repeats": 3})),
        loops(vec![look(), wait.clone(), look(), wait], passes(), "a higher minimum, not met")
            .with(json!({"min_repeats": 3})),
    ]
}
