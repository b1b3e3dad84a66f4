//! Pairing.

use super::*;
/// Messages from a short spelling: `+id name` is a message with one call, `-id text` an answer, `* text` a user's
/// text. What has no id has the empty one.
fn script(steps: &str) -> String {
    let messages: Vec<String> = steps
        .split(';')
        .map(|step| {
            let (head, rest) = step.trim_start().split_once(' ').unwrap();
            let id = &head[1..];
            match &head[..1] {
                "+" => format!(
                    r#"{{"role": "assistant", "tool_calls": [{{"id": "{id}", "name": "{rest}", "arguments": {{}}}}]}}"#
                ),
                "-" => format!(r#"{{"role": "tool", "id": "{id}", "content": "{rest}"}}"#),
                _ => format!(r#"{{"role": "user", "content": "{rest}"}}"#),
            }
        })
        .collect();
    format!("[{}]", messages.join(", "))
}

#[test]
fn answers_find_their_calls() {
    let cases: [(&str, &[&str], Unpaired); 12] = [
        (
            // An id that comes again, once the first call is answered.
            "+a look; -a one; +a take; -a two",
            &["0@0 agent look({}) #a -> Ok by None: one", "1@2 agent take({}) #a -> Ok by None: two"],
            unpaired(0, 0),
        ),
        (
            // While it is not: the oldest call that waits is answered first.
            "+a look; +a take; +a drop; -a one; -a two",
            &[
                "0@0 agent look({}) #a -> Ok by None: one",
                "1@1 agent take({}) #a -> Ok by None: two",
                "2@2 agent drop({}) #a -> Unknown by None",
            ],
            unpaired(1, 0),
        ),
        (
            // Ids do not mix.
            "+a look; +b take; +a drop; -b one; -a two; -a three",
            &[
                "0@0 agent look({}) #a -> Ok by None: two",
                "1@1 agent take({}) #b -> Ok by None: one",
                "2@2 agent drop({}) #a -> Ok by None: three",
            ],
            unpaired(0, 0),
        ),
        (
            // An empty id is an id.
            "+ look; + take; - one; - two; +a drop; -a three",
            &[
                "0@0 agent look({}) # -> Ok by None: one",
                "1@1 agent take({}) # -> Ok by None: two",
                "2@4 agent drop({}) #a -> Ok by None: three",
            ],
            unpaired(0, 0),
        ),
        (
            // An answer listed before its call.
            "-a early; +a look; * thanks",
            &["0@1 agent look({}) #a -> Ok by None: early", "1@2 user: thanks"],
            unpaired(0, 0),
        ),
        (
            // It pairs in a second pass: an answer behind its call goes first.
            "-a early; +a look; +a take; -a late",
            &["0@1 agent look({}) #a -> Ok by None: late", "1@2 agent take({}) #a -> Ok by None: early"],
            unpaired(0, 0),
        ),
        (
            // Several early answers: first in, first out.
            "-a one; -a two; +a look; * hm; +a take",
            &[
                "0@2 agent look({}) #a -> Ok by None: one",
                "1@3 user: hm",
                "2@4 agent take({}) #a -> Ok by None: two",
            ],
            unpaired(0, 0),
        ),
        (
            // An answer that no call belongs to is a step of its own.
            "* hi; -x lost; +a look; -a one",
            &["0@0 user: hi", "1@1 environment: lost", "2@2 agent look({}) #a -> Ok by None: one"],
            unpaired(0, 1),
        ),
        (
            "+a look; -a one; -a again; * bye",
            &["0@0 agent look({}) #a -> Ok by None: one", "1@2 environment: again", "2@3 user: bye"],
            unpaired(0, 1),
        ),
        (
            // Also without a text.
            "-x ; +y look; * bye",
            &["0@0 environment: ", "1@1 agent look({}) #y -> Unknown by None", "2@2 user: bye"],
            unpaired(1, 1),
        ),
        (
            // The answer behind the call goes first, so that the early one stays without, at its own place.
            "-x lost; -a early; * hi; +a look; -a again",
            &[
                "0@0 environment: lost",
                "1@1 environment: early",
                "2@2 user: hi",
                "3@3 agent look({}) #a -> Ok by None: again",
            ],
            unpaired(0, 2),
        ),
        (
            // What found its call late leaves no gap among the steps.
            "* hi; -a early; -x lost; +a look; * bye",
            &[
                "0@0 user: hi",
                "1@2 environment: lost",
                "2@3 agent look({}) #a -> Ok by None: early",
                "3@4 user: bye",
            ],
            unpaired(0, 1),
        ),
    ];
    for (steps, expected, counts) in cases {
        let trace = run_of(&script(steps));
        assert_eq!(trace.unpaired(), counts, "{steps}");
        assert_eq!(lines(&trace), expected, "{steps}");
    }
}

#[test]
fn calls_and_answers_without_an_id_share_the_empty_one() {
    let trace = run_of(
        r#"[{"role": "assistant", "tool_calls": [{"name": "look"}, {"id": null, "name": "take"},
                {"id": "", "name": "drop"}, {"id": 7, "name": "wait"}]},
            {"role": "tool", "content": "one"}, {"role": "tool", "id": "7", "content": "seven"},
            {"role": "tool", "id": "", "content": "two"}, {"role": "tool", "id": null, "content": "three"}]"#,
    );
    assert_eq!(
        lines(&trace),
        [
            "0@0 agent look() # -> Ok by None: one",
            "1@0 agent take() # -> Ok by None: two",
            "2@0 agent drop() # -> Ok by None: three",
            "3@0 agent wait() #7 -> Ok by None: seven",
        ]
    );
    assert_eq!(trace.unpaired(), Unpaired::default());
}

#[test]
fn grouped_answers_are_flattened() {
    let trace = run_of(
        r#"[{"role": "assistant", "tool_calls": [{"id": "a", "name": "look"}, {"id": "b", "name": "take"}]},
            {"role": "tool", "tool_messages": [
                {"id": "b", "role": "tool", "content": "taken", "requestor": "assistant", "error": false},
                {"id": "a", "role": "tool", "content": "Error: dark"},
                {"id": "c", "role": "tool", "content": "lost"}]},
            {"role": "tool", "tool_messages": []},
            {"role": "tool", "tool_messages": null, "id": "d", "content": "alone"}]"#,
    );
    assert_eq!(
        lines(&trace),
        [
            "0@0 agent look() #a -> Error by Text: Error: dark",
            "1@0 agent take() #b -> Ok by Flag: taken",
            "2@1 environment: lost",
            "3@3 environment: alone",
        ]
    );
    assert_eq!(trace.unpaired(), unpaired(0, 2));
}

#[test]
fn a_thousand_calls_of_one_id_pair_in_order() {
    let message = |i: usize| {
        format!(
            r#"{{"role": "assistant", "tool_calls": [{{"id": "", "name": "n{i}"}}]}}, {{"role": "user", "content": "x"}}"#
        )
    };
    let answer = |i: usize| format!(r#"{{"role": "tool", "id": "", "content": "{i}"}}"#);
    let messages: Vec<String> = (0..1000).map(message).chain((0..999).map(answer)).collect();
    let trace = run_of(&format!("[{}]", messages.join(",")));
    for (i, step) in trace.steps().step_by(2).enumerate().take(999) {
        assert_eq!(line(&step), format!("{}@{} agent n{i}() # -> Ok by None: {i}", 2 * i, 2 * i));
    }
    assert_eq!(trace.unpaired(), unpaired(1, 0));
}
