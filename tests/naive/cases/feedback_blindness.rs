//! Sharp edges of section 3.3.

use serde_json::{Value, json};
use wrongturn::{Actor, Preset};

use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, AB, B, BA, C, Case, finds, novel, passes};

pub(super) fn cases() -> Vec<Case> {
    let any = [repeats(), refusals()].concat();
    let any = any.into_iter().map(|case| case.with(json!({"same_feedback": false})));
    [same_feedback(), same_feedback_across_turns(), any.collect(), bench_trace()].concat()
}

fn feedback(name: &'static str, events: Vec<Event>, verdict: Value) -> Case {
    let run = Run::new(events, None);
    Case { name, detector: "feedback_blindness", preset: Preset::Default, config: Value::Null, run, verdict }
}

/// Blind repeats: where, the first attempt, and what it was told.
fn blind<const N: usize>(findings: [(u64, u64, Value); N]) -> Value {
    let finding = |(step, first, observation): (u64, u64, Value)| {
        (step, step, json!({"first_attempt": first, "observation": observation}))
    };
    finds("operation/feedback_blindness", findings.map(finding))
}

fn fail(observation: &str) -> Event {
    error("book", A, observation)
}

/// The default: a repeat is blind that fails in turn with the same feedback.
fn same_feedback() -> Vec<Case> {
    let once = || blind([(1, 0, json!("no"))]);
    vec![
        feedback("refused twice with the same words", vec![fail("no"); 2], once()),
        feedback("other words are another answer", vec![fail("no"), fail("still no")], passes()),
        feedback("a repeat that succeeds", vec![fail("no"), ok("book", A, "no")], passes()),
        feedback("a repeat that is not answered", vec![fail("no"), unanswered("book", A)], passes()),
        feedback("only the first repeat of a key", vec![fail("no"); 5], once()),
        feedback(
            "every repeat names the latest attempt",
            vec![fail("no"); 3],
            blind([(1, 0, json!("no")), (2, 1, json!("no"))]),
        )
        .with(json!({"report": "every"})),
        feedback(
            "the same words after others",
            vec![fail("no"), fail("full"), fail("no")],
            blind([(2, 0, json!("no"))]),
        ),
        feedback(
            "two novel successes may lie between",
            [vec![fail("no")], novel(2), vec![fail("no")]].concat(),
            blind([(3, 0, json!("no"))]),
        ),
        feedback("three may not", [vec![fail("no")], novel(3), vec![fail("no")]].concat(), passes()),
        feedback(
            "failures are no successes, and old answers are not novel",
            [
                novel(3),
                vec![fail("no")],
                novel(3),
                vec![error("list", B, "no"), error("list", C, "no"), error("list", AB, "no"), fail("no")],
            ]
            .concat(),
            blind([(10, 3, json!("no"))]),
        ),
        feedback(
            "two that were told nothing are equal",
            vec![error("book", A, "").unheard(); 2],
            blind([(1, 0, Value::Null)]),
        ),
        feedback("a transient failure is passed over", vec![fail("503"), fail("503")], passes()),
        feedback("and polling is", vec![error("wait", A, "not yet"); 4], passes()),
        feedback("other arguments are another key", vec![fail("no"), error("book", B, "no")], passes()),
        feedback("the window is heeded", [vec![fail("no")], novel(1), vec![fail("no")]].concat(), passes())
            .with(json!({"window": 1})),
    ]
}

fn same_feedback_across_turns() -> Vec<Case> {
    vec![
        feedback("two of one turn could not know", vec![fail("no"), fail("no").too()], passes()),
        feedback(
            "a later turn could",
            vec![fail("no"), fail("no").too(), fail("no")],
            blind([(2, 1, json!("no"))]),
        ),
        feedback(
            "the latest attempt of an earlier turn",
            vec![fail("no"), error("list", A, "no"), fail("no").too()],
            blind([(2, 0, json!("no"))]),
        ),
        feedback(
            "feedback that was not recorded equals nothing",
            vec![fail("no").left_out(false, true); 3],
            passes(),
        ),
        feedback(
            "nor do arguments",
            [vec![ok("list", A, "x")], vec![fail("no").left_out(true, false); 3]].concat(),
            passes(),
        ),
        feedback(
            "without arguments there is nothing to compare",
            vec![fail("no").left_out(true, true); 3],
            json!({"not_applicable": true}),
        ),
        feedback(
            "gains of progress make answers novel again",
            {
                let page = |score| ok("list", A, "x").scored(score);
                vec![page(0.0), fail("no").scored(0.0), page(1.0), page(2.0), page(3.0), fail("no")]
            },
            passes(),
        ),
    ]
}

fn repeats() -> Vec<Case> {
    vec![
        feedback("refused twice", vec![fail("no"), fail("still no")], blind([(1, 0, json!("no"))])),
        feedback("a repeat that succeeds is a recovery", vec![fail("no"), ok("book", A, "yes")], passes()),
        feedback(
            "after which the refusal is still known",
            vec![fail("no"), ok("book", A, "yes"), fail("no more")],
            blind([(2, 0, json!("no"))]),
        ),
        feedback("a success is no refusal", vec![ok("book", A, "yes"), fail("no")], passes()),
        feedback("only the first repeat of a key", vec![fail("no"); 5], blind([(1, 0, json!("no"))])),
        feedback(
            "but of each key",
            vec![fail("no"), error("book", B, "nor this"), error("book", B, "no"), fail("no"), fail("no")],
            blind([(2, 1, json!("nor this")), (3, 0, json!("no"))]),
        ),
        feedback(
            "every repeat, if so wished",
            vec![fail("no"), fail("still no"), ok("book", A, "yes"), fail("no more")],
            blind([(1, 0, json!("no")), (3, 0, json!("no"))]),
        )
        .with(json!({"report": "every"})),
        feedback(
            "a success too, if so wished",
            vec![fail("no"), ok("book", A, "yes")],
            blind([(1, 0, json!("no"))]),
        )
        .with(json!({"success_recovers": false})),
        feedback(
            "an unanswered repeat is no recovery",
            vec![fail("no"), unanswered("book", A)],
            blind([(1, 0, json!("no"))]),
        ),
        feedback("an unanswered call is no refusal", vec![unanswered("book", A), fail("no")], passes()),
        feedback("other arguments are another key", vec![fail("no"), error("book", B, "no")], passes()),
        feedback(
            "other spellings are not",
            vec![error("book", AB, "no"), error("book", BA, "no")],
            blind([(1, 0, json!("no"))]),
        ),
        feedback("other names are", vec![fail("no"), error("Book", A, "no")], passes()),
        feedback(
            "the place does not matter",
            vec![fail("no").near("hall"), fail("no").near("attic")],
            blind([(1, 0, json!("no"))]),
        ),
    ]
}

fn refusals() -> Vec<Case> {
    let long = format!("{}end", "\u{e9}".repeat(200));
    vec![
        feedback("a transient failure is no refusal", vec![fail("Timed out"), fail("no")], passes()),
        feedback(
            "a repeat that meets one is not reported",
            vec![fail("no"), fail("timeout"), fail("no").after(3)],
            blind([(5, 0, json!("no"))]),
        ),
        feedback(
            "unless all failures count",
            vec![fail("Timed out"), fail("no")],
            blind([(1, 0, json!("Timed out"))]),
        )
        .with(json!({"transient": null})),
        feedback(
            "one action earlier is not within no action",
            vec![fail("no"), ok("list", A, "x"), fail("no")],
            passes(),
        )
        .with(json!({"window": 1})),
        feedback(
            "two actions earlier is within two",
            vec![fail("no"), say(Actor::Agent), ok("list", A, "x"), fail("no")],
            blind([(3, 0, json!("no"))]),
        )
        .with(json!({"window": 2})),
        feedback(
            "the earliest attempt is the earliest in the window",
            vec![fail("1"), fail("2"), fail("3"), fail("4")],
            blind([(1, 0, json!("1")), (2, 0, json!("1")), (3, 1, json!("2"))]),
        )
        .with(json!({"window": 2, "report": "every"})),
        feedback(
            "200 characters are quoted, not bytes",
            vec![fail(&long), fail("no")],
            blind([(1, 0, json!("\u{e9}".repeat(200)))]),
        ),
        feedback(
            "a refusal without a word",
            vec![error("book", A, "").unheard(), fail("no")],
            blind([(1, 0, Value::Null)]),
        ),
        feedback("somebody else was refused", vec![fail("no").by(Actor::User), fail("no")], passes()),
        feedback(
            "everybody's refusals",
            vec![fail("no").by(Actor::User), fail("no")],
            blind([(1, 0, json!("no"))]),
        )
        .with(json!({"actors": "all"})),
        feedback(
            "a phrase makes an answer negative",
            vec![ok("book", A, "Sorry, SOLD OUT."), unanswered("book", A)],
            blind([(1, 0, json!("Sorry, SOLD OUT."))]),
        )
        .with(json!({"patterns": ["sold out"]})),
        feedback("but not a transient failure", vec![fail("sold out; try again"), fail("no")], passes())
            .with(json!({"patterns": ["sold out"]})),
    ]
}

fn bench_trace() -> Vec<Case> {
    let told = |observation| ok("go north", None, observation);
    let twice = |observation: &'static str, name| {
        let verdict = blind([(1, 0, json!(observation))]);
        feedback(name, vec![told(observation), told("ok")], verdict).bench_trace()
    };
    vec![
        twice("You can't do that.", "you can't"),
        twice("YOU CANT do that.", "you cant"),
        twice("Hm. That's not a verb.", "that's not"),
        twice("it doesn't work", "doesn't work"),
        twice("it doesnt work", "doesnt work"),
        twice("Nothing happens.", "nothing happen"),
        twice("to no effect", "no effect"),
        twice("I don't see any north.", "i don't see"),
        twice("I dont see any north.", "i dont see"),
        twice("I don't understand", "i don't understand"),
        twice("I dont understand", "i dont understand"),
        twice("What?", "what?"),
        twice("already there", "already"),
        twice("One can't go that way.", "can't go that way"),
        twice("One cant go that way.", "cant go that way"),
        twice("not here", "not here"),
        twice("This is not possible.", "not possible"),
        feedback("thats not", vec![told("thats not it"), told("ok")], passes()).bench_trace(),
        feedback("a kind word", vec![told("a room"), told("a room")], passes()).bench_trace(),
        feedback(
            "every repeat, whatever its arguments and however it ends",
            vec![error("go", A, "503"), ok("go", B, "fine"), ok("go", A, "already"), unanswered("go", C)],
            blind([(1, 0, json!("503")), (2, 0, json!("503")), (3, 0, json!("503"))]),
        )
        .bench_trace(),
    ]
}
