//! Tests large answers, and many calls with one id.

use wrongturn::trace::{Actors, Event};

use super::{Drip, ReadOptions, recognition::read, stream};

#[test]
fn an_answer_of_two_megabytes_is_read_whole() {
    let answer = "long line é\\n".repeat(160_000);
    for (call, end) in [
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}]}, {"role": "tool", "tool_call_id": "1", "content": ""#,
            "\"}]",
        ),
        (
            r#"{"schema_version": "ATIF-v1.7", "agent": {}, "steps": [{"source": "agent", "tool_calls": [{"tool_call_id": "1", "function_name": "f"}], "observation": {"results": [{"content": ""#,
            "\"}]}}]}",
        ),
        (
            "{\"type\": \"assistant\", \"uuid\": \"1\", \"message\": {\"content\": [{\"type\": \"tool_use\", \"id\": \"1\", \"name\": \"f\"}]}}\n{\"type\": \"user\", \"uuid\": \"2\", \"message\": {\"content\": [{\"type\": \"tool_result\", \"tool_use_id\": \"1\", \"content\": \"",
            "\"}]}}",
        ),
        (
            "{\"type\": \"response_item\", \"payload\": {\"type\": \"function_call\", \"name\": \"f\", \"call_id\": \"1\"}}\n{\"type\": \"response_item\", \"payload\": {\"type\": \"function_call_output\", \"call_id\": \"1\", \"output\": \"",
            "\"}}",
        ),
    ] {
        let text = format!("{call}{answer}{end}\n");
        let (traces, reading) = read(&text);
        assert_eq!(traces.len(), 1, "{call}: {:?}", reading.errors);
        let step = traces[0].steps().next().unwrap();
        let Event::Action(action) = step.event() else { panic!("a message: {call}") };
        let found = action.observation.present().unwrap().to_str();
        assert_eq!(found.len(), answer.len() - 160_000, "{call}");
        assert_eq!(stream(Drip(text.as_bytes(), 1 << 16), &ReadOptions::default()).0, traces, "{call}");
    }
}

/// Pairing takes less than quadratic time in the number of calls that share an id.
#[test]
fn thirty_thousand_calls_of_one_id_have_their_results() {
    const CALLS: usize = 30_000;
    let calls = vec![r#"{"tool_call_id": "x", "function_name": "f", "arguments": {}}"#; CALLS].join(",");
    let results = vec![r#"{"content": "o"}"#; CALLS].join(",");
    let (traces, reading) = read(format!(
        r#"{{"schema_version": "ATIF-v1.7", "agent": {{}}, "steps": [
            {{"source": "agent", "tool_calls": [{calls}], "observation": {{"results": [{results}]}}}},
            {{"source": "agent", "observation": {{"results": [{{"source_call_id": "x", "content": "p"}}]}}}}]}}"#
    ));
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    assert_eq!(traces[0].steps().filter(|step| step.action_of(Actors::All).is_some()).count(), CALLS);
    assert_eq!(traces[0].unpaired().calls, 0);
}
