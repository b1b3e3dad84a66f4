//! Sharp edges of section 3.3.

use serde_json::{Value, json};
use tracelint::{Actor, Preset};

use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, AB, B, BA, C, Case, finds, passes};

pub(super) fn cases() -> Vec<Case> {
    [repeats(), refusals(), bench_trace()].concat()
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
