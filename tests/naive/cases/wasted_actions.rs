//! Sharp edges of section 3.5.

use serde_json::{Value, json};
use wrongturn::{Actor, Preset};

use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, B, Case, novel};

fn waste(name: &'static str, events: Vec<Event>, verdict: Value) -> Case {
    let run = Run::new(events, None);
    Case { name, detector: "wasted_actions", preset: Preset::Default, config: Value::Null, run, verdict }
}

fn passes(score: f64) -> Value {
    json!({"detected": false, "score": score, "findings": []})
}

fn wasted((first, last): (u64, u64), score: f64, evidence: Value) -> Value {
    let mut verdict = json!({"detected": true, "score": score, "findings": [
        {"mode": "strategy/wasted_actions", "where": [first, last]}]});
    verdict["findings"][0]["evidence"] = evidence;
    verdict
}

fn of_one_tool(tool: &str, failed: u64, repeated: u64, actions: u64) -> Value {
    json!({"failed": failed, "repeated": repeated, "actions": actions,
        "by_tool": [{"tool": tool, "failed": failed, "repeated": repeated}]})
}

fn looks(count: usize) -> Vec<Event> {
    vec![ok("look", A, "a wall"); count]
}

pub(super) fn cases() -> Vec<Case> {
    [thresholds(), what_is_known(), tools()].concat()
}

fn thresholds() -> Vec<Case> {
    let fails = |count: u64| -> Vec<Event> {
        (0..count).map(|page| error("get", Some(&format!(r#"{{"page":{page}}}"#)), "no")).collect()
    };
    vec![
        waste("nothing was done", vec![say(Actor::Agent)], passes(1.0)),
        waste("six are not seven", fails(6), passes(0.0)),
        waste("seven failures", fails(7), wasted((0, 6), 0.0, of_one_tool("get", 7, 0, 7))),
        waste("seven answers that were known", looks(8), wasted((1, 7), 0.125, of_one_tool("look", 0, 7, 8))),
        waste(
            "a failure that was known is a failure",
            vec![error("get", A, "no"); 7],
            wasted((0, 6), 0.0, of_one_tool("get", 7, 0, 7)),
        ),
        waste(
            "a share of 0.15 is enough",
            [fails(9), novel(51)].concat(),
            wasted((0, 8), 1.0 - 9.0 / 60.0, of_one_tool("get", 9, 0, 60)),
        ),
        waste("less is not", [fails(9), novel(52)].concat(), passes(1.0 - 9.0 / 61.0)),
        waste("min_wasted is heeded", fails(2), wasted((0, 1), 0.0, of_one_tool("get", 2, 0, 2)))
            .with(json!({"min_wasted": 2})),
        waste("min_share is heeded", [fails(7), novel(7)].concat(), passes(0.5))
            .with(json!({"min_share": 0.6})),
    ]
}

fn what_is_known() -> Vec<Case> {
    vec![
        waste(
            "another answer is news",
            (0..9).map(|page| ok("look", A, ["a", "b", "c", "d", "e", "f", "g", "h", "i"][page])).collect(),
            passes(1.0),
        ),
        waste(
            "what comes in one turn was not known",
            [looks(1), vec![ok("look", A, "a wall").too(); 9]].concat(),
            passes(1.0),
        ),
        waste(
            "two that were never answered are equal",
            vec![unanswered("look", A); 8],
            wasted((1, 7), 0.125, of_one_tool("look", 0, 7, 8)),
        ),
        waste(
            "an answer that was not recorded equals nothing",
            vec![ok("look", A, "x").left_out(false, true); 9],
            passes(1.0),
        ),
        waste(
            "nor do arguments",
            [novel(1), vec![ok("look", A, "x").left_out(true, false); 9]].concat(),
            passes(1.0),
        ),
        waste(
            "without arguments there is nothing to compare",
            vec![ok("look", A, "x").left_out(true, false); 9],
            json!({"not_applicable": true}),
        ),
        waste("transient failures are passed over", vec![error("get", A, "503"); 9], passes(1.0)),
        waste(
            "unless all failures count",
            vec![error("get", A, "503"); 7],
            wasted((0, 6), 0.0, of_one_tool("get", 7, 0, 7)),
        )
        .with(json!({"transient": null})),
        waste("and so is polling", vec![ok("BashOutput", A, "nothing yet"); 9], passes(1.0)),
        waste("by its arguments", vec![ok("process", Some(r#"{"action":"poll"}"#), "x"); 9], passes(1.0)),
        waste(
            "other calls of the tool are no polling",
            vec![ok("process", Some(r#"{"action":"kill"}"#), "x"); 8],
            wasted((1, 7), 0.125, of_one_tool("process", 0, 7, 8)),
        ),
    ]
}

fn tools() -> Vec<Case> {
    let mixed = [looks(4), vec![error("get", A, "no"), error("get", B, "no")], looks(2)].concat();
    vec![
        waste(
            "the tool that wasted most comes first",
            [vec![error("get", A, "no")], mixed].concat(),
            wasted(
                (0, 8),
                1.0 - 8.0 / 9.0,
                json!({"failed": 3, "repeated": 5, "actions": 9, "by_tool": [
                    {"tool": "look", "failed": 0, "repeated": 5}, {"tool": "get", "failed": 3, "repeated": 0}]}),
            ),
        ),
        waste(
            "the waste of others is not the agent's",
            looks(9).into_iter().map(|event| event.by(Actor::User)).collect(),
            passes(1.0),
        ),
    ]
}
