//! The sharp edges of the definitions, each with its verdict spelled out as JSON (without the message).

mod expected_action;
mod feedback_blindness;
mod looping;
mod malformed_call;
mod route_inefficiency;
mod tool_error_recovery;
mod wasted_actions;

use serde_json::{Value, json};
use wrongturn::Preset;

use super::run::{Event, Run, ok};

/// A run, a configuration, and what is to come of them.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) detector: &'static str,
    pub(crate) preset: Preset,
    /// Fields over the preset.
    pub(crate) config: Value,
    pub(crate) run: Run,
    pub(crate) verdict: Value,
}

impl Case {
    /// With these fields over those that there are.
    fn with(mut self, config: Value) -> Self {
        match (&mut self.config, config) {
            (Value::Object(fields), Value::Object(more)) => fields.extend(more),
            (fields, config) => *fields = config,
        }
        self
    }

    fn bench_trace(mut self) -> Self {
        self.preset = Preset::BenchTrace;
        self
    }
}

pub(crate) fn all() -> Vec<Case> {
    let rules = [
        tool_error_recovery::cases(),
        looping::cases(),
        feedback_blindness::cases(),
        route_inefficiency::cases(),
        wasted_actions::cases(),
        malformed_call::cases(),
        malformed_call::refused_turns(),
        expected_action::cases(),
    ];
    rules.into_iter().flatten().collect()
}

const A: Option<&str> = Some(r#"{"a":1}"#);
const B: Option<&str> = Some(r#"{"a":2}"#);
const C: Option<&str> = Some(r#"{"a":3}"#);
const AB: Option<&str> = Some(r#"{"a":1,"b":{"c":2,"d":3}}"#);
const BA: Option<&str> = Some(r#"{"b":{"d":3,"c":2.0},"a":1.0}"#);

fn passes() -> Value {
    json!({"detected": false, "findings": []})
}

/// Findings of a mode: first step, last step, evidence.
fn finds<const N: usize>(mode: &str, findings: [(u64, u64, Value); N]) -> Value {
    let finding = |(first, last, evidence): (u64, u64, Value)| json!({"mode": mode, "where": [first, last], "evidence": evidence});
    json!({"detected": true, "findings": findings.map(finding).to_vec()})
}

/// Actions that occur nowhere else.
fn novel(count: u64) -> Vec<Event> {
    (0..count).map(|page| ok("list", Some(&format!(r#"{{"page":{page}}}"#)), "a page")).collect()
}
