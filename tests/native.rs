//! Tests that the native form keeps all that detectors see: runs that are written and read again have the
//! same verdicts and the same evidence.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use std::sync::{Arc, LazyLock};

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use wrongturn::{
    Detector, ReadOptions, Registry, Trace,
    detect::{ALL, Preset, Verdict},
    read_traces,
    trace::{Actors, TraceBuilder},
};

fn verdicts(trace: &Trace) -> Vec<Verdict> {
    static DETECTORS: LazyLock<Vec<Arc<dyn Detector>>> = LazyLock::new(|| {
        let ids: Vec<&str> = ALL.iter().map(|info| info.id).collect();
        Registry::default().build(&ids, Preset::Default, Actors::All, &Value::Null).unwrap()
    });
    DETECTORS.iter().map(|detector| detector.detect(trace)).collect()
}

/// Draws texts of arguments: sound, nested, with unpaired surrogates, with numbers that do not fit into a
/// float, and damaged.
fn arguments() -> impl Strategy<Value = String> {
    let nested = (prop_oneof![Just(1), Just(2), 90..130_usize])
        .prop_map(|depth| format!("{}1{}", "{\"a\":[".repeat(depth / 2), "]}".repeat(depth / 2)));
    prop_oneof![
        2 => prop_oneof![Just("{}"), Just("{\"path\":\"a.rs\"}"), Just("{\"b\":2.0,\"a\":1}")].prop_map(str::to_owned),
        2 => nested,
        1 => Just("{\"text\":\"half \\ud83d of it\"}".to_owned()),
        1 => Just("{\"\\udc00\":1,\"n\":123456789012345678901234567890}".to_owned()),
        1 => Just("{\"n\":1e999}".to_owned()),
        1 => Just("{\"path\":".to_owned()),
        1 => Just("null".to_owned()),
    ]
}

/// Draws a chat of calls with and without answers.
fn chat() -> impl Strategy<Value = String> {
    let answer = prop_oneof![
        Just(None),
        Just(Some("\"done\"")),
        Just(Some("\"Error: no such file\"")),
        Just(Some("\"\\ud800 \\u0000 \\t\"")),
    ];
    let name = prop_oneof![3 => Just("read"), 1 => Just("write")];
    vec((name, arguments(), answer), 0..12).prop_map(|calls| {
        let mut messages = vec![json!({"role": "user", "content": "go"}).to_string()];
        for (number, (name, arguments, answer)) in calls.iter().enumerate() {
            let call = json!({"id": number.to_string(), "function": {"name": name, "arguments": arguments}});
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}).to_string());
            messages.extend(answer.map(|text| {
                format!("{{\"role\":\"tool\",\"tool_call_id\":\"{number}\",\"content\":{text}}}")
            }));
        }
        format!("[{}]", messages.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn runs_that_are_written_and_read_again_are_judged_alike(chat in chat()) {
        let (runs, reading) = read_traces(chat.as_bytes(), &ReadOptions::default());
        prop_assert_eq!((runs.len(), reading.errors.len()), (1, 0), "{:?}", reading.errors);
        let written = serde_json::to_string(&runs[0]).unwrap();
        let (again, reading) = read_traces(written.as_bytes(), &ReadOptions::default());
        prop_assert_eq!((again.len(), reading.errors.len()), (1, 0), "{:?}", reading.errors);
        prop_assert_eq!(verdicts(&runs[0]), verdicts(&again[0]));
    }
}

#[test]
fn the_reason_for_a_missing_route_is_kept() {
    let options = ReadOptions { routes: false, ..ReadOptions::default() };
    let file = json!({"simulations": [{"id": "a", "task_id": "t", "messages": []}], "info": {}, "tasks": []});
    let (runs, _) = read_traces(file.to_string().as_bytes(), &options);
    let again: Trace = serde_json::from_str(&serde_json::to_string(&runs[0]).unwrap()).unwrap();
    assert_eq!(again.routing(), runs[0].routing());
    assert_ne!(again.routing(), TraceBuilder::default().build().unwrap().routing());
}

#[test]
fn arguments_are_given_once() {
    let step = json!({"name": "x", "arguments": {}, "arguments_json": "{}"});
    let run = json!({"version": 1, "steps": [step]}).to_string();
    let error = serde_json::from_str::<Trace>(&run).unwrap_err().to_string();
    assert!(error.contains("expected `arguments` or `arguments_json`, found both"), "{error}");
}
