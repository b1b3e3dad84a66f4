//! The native JSON form and its validation.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::native_step::WireStep;
use super::route::{ReferenceRoute, RouteStatus};
use super::sink::{LabelledFailure, Metadata, Unpaired};
use super::trace::Trace;
use crate::error::{Error, Result};
use crate::objects::Objects;

/// The version of the native JSON form that this crate writes, and the only one it reads.
///
/// ```json
/// {"version": 1, "id": "…", "agent": "…", "parent": "…", "model": "…", "domain": "…", "task": "…", "trial": 0,
///  "source": "…", "termination": "…", "labels": {"key": "value"}, "reward": 1.0,
///  "unpaired": {"calls": 0, "messages": 0}, "failures": [{"mode": "strategy/loop", "where": [3, 9], "core": true}],
///  "route": {"kind": "scores", "milestones": [{"reference_step": 2, "score": 9.0}]},
///  "steps": [{"actor": "user", "text": "…"},
///            {"actor": "agent", "name": "get_order", "arguments": {}, "call_id": "…", "observation": "…",
///             "status": "error", "provenance": "flag", "error_type": "timeout",
///             "step": 4, "turn": 1, "location": "…", "progress": 3.0, "time": 1767225600000000000,
///             "usage": {"duration_ns": 5, "input_tokens": 900, "output_tokens": 40, "cached_tokens": 800},
///             "span": "b7ad6b7169203331"},
///            {"name": "get_order", "not_recorded": ["arguments", "observation"],
///             "status": "unknown", "reason": "running"}]}
/// ```
///
/// `version` and `steps` are required. Later releases may add fields to version 1, so unknown fields are
/// skipped. A step has either `text` and `actor` (a message) or `name` (an action). By default, the `actor`
/// of an action is the agent, `status` is `unknown`, and `step` and `turn` start at 0 and grow by one with
/// each step.
///
/// `not_recorded` lists content that the source does not record, which differs from absent content. `arguments_json`
/// has the JSON text of arguments that `arguments` would change, such as those that are deeply nested or have an
/// unpaired surrogate or a number of many digits; `arguments_digest` stands for arguments whose text was not kept.
/// `no_route` says why `route` is missing. `where` has the first and the last step of a failure. `time` is in
/// nanoseconds since 1970. `usage` is the cost of the step: each action of a turn (in a turn without actions, each
/// message of the agent) has the tokens of the response that issued it, so sums must count a turn once. A route of
/// `{"kind": "actions"}` has milestones `{"reference_step", "actor", "name", "arguments", "compare"}`, with `compare`
/// as in [`ReferenceAction::new`](crate::trace::ReferenceAction::new).
pub const NATIVE_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct WireTrace {
    version: u32,
    #[serde(flatten)]
    metadata: Metadata,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reward: Option<f64>,
    #[serde(default, skip_serializing_if = "Unpaired::is_zero")]
    unpaired: Unpaired,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failures: Vec<LabelledFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    route: Option<ReferenceRoute>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_route: Option<String>,
    steps: Vec<WireStep>,
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WireTrace {
            version: NATIVE_VERSION,
            metadata: self.metadata().clone(),
            reward: self.reward(),
            unpaired: self.unpaired(),
            failures: self.failures().to_vec(),
            route: self.routing().route().cloned(),
            no_route: match self.routing() {
                RouteStatus::Unknown(reason) if *self.routing() != None.into() => Some(reason.to_string()),
                _ => None,
            },
            steps: self.steps().map(Into::into).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireTrace::deserialize(Objects(deserializer))?;
        Self::try_from(wire).map_err(D::Error::custom)
    }
}

impl TryFrom<WireTrace> for Trace {
    type Error = Error;

    fn try_from(wire: WireTrace) -> Result<Self> {
        if wire.version != NATIVE_VERSION {
            return Err(Error::trace(format!(
                "native trace version {} is not supported; expected {NATIVE_VERSION}",
                wire.version
            )));
        }
        let mut builder =
            Self::builder().metadata(wire.metadata).unpaired(wire.unpaired).failures(wire.failures);
        if let Some(reward) = wire.reward {
            builder = builder.reward(reward);
        }
        if let Some(route) = wire.route {
            builder = builder.route(route);
        }
        let no_route = wire.no_route;
        for (position, step) in wire.steps.iter().enumerate() {
            let place = |error: Error| Error::trace(format!("steps[{position}]: {}", error.message()));
            builder.push(step.input().map_err(place)?).map_err(place)?;
        }
        let mut trace = builder.build()?;
        if let (Some(reason), RouteStatus::Unknown(_)) = (no_route, &trace.routing) {
            trace.routing = RouteStatus::Unknown(reason.into());
        }
        Ok(trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<Trace, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// A derived `Deserialize` would accept a list in place of an object, and match fields by position.
    #[test]
    fn a_list_is_no_object() {
        let run = |step: Value| read(json!({"version": 1, "steps": [step]}));
        assert_eq!(
            run(json!({"step": 0, "turn": 0, "actor": "user", "text": "hi"})).unwrap().steps().len(),
            1
        );
        for wrong in [json!([0, 0, "user", "hi"]), json!([[]]), json!([])] {
            assert!(run(wrong).unwrap_err().contains("an object"));
        }
        assert!(read(json!([1])).is_err());
        assert!(read(json!({"version": 1, "steps": [], "unpaired": [1, 2]})).is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let wire = json!({"version": 1, "id": "t", "agent": "sub", "parent": "p", "model": "m", "trial": 2,
            "labels": {"k": "v"}, "reward": 0.5, "unpaired": {"calls": 1, "messages": 0}, "steps": [
            {"step": 0, "turn": 0, "actor": "user", "text": "hi", "time": 7},
            {"step": 1, "turn": 1, "actor": "agent", "text": "well", "usage": {"input_tokens": 7, "output_tokens": 0}},
            {"step": 3, "turn": 2, "actor": "agent", "name": "run", "not_recorded": ["arguments", "observation"],
             "status": "unknown", "provenance": "flag", "reason": "refused", "time": 1_767_225_600_000_000_000_u64,
             "usage": {"duration_ns": 5, "input_tokens": 900, "output_tokens": 40}, "span": "00f067aa0ba902b7"},
            {"step": 4, "turn": 3, "actor": "agent", "name": "run", "arguments": {}, "observation": "",
             "status": "ok", "provenance": "none"},
            {"step": 5, "turn": 4, "actor": "agent", "name": "run", "status": "ok", "provenance": "none"}]});
        let trace = read(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&trace).unwrap(), wire);
        let contents: Vec<_> = trace
            .steps()
            .filter_map(|step| Some((step.digested(crate::trace::Actors::All)?.1, step)))
            .map(|(digests, _)| (digests.arguments.is_some(), digests.observation.is_recorded()))
            .collect();
        assert_eq!(contents, [(false, false), (true, true), (true, true)]);
        assert_eq!(trace.metadata().agent.as_deref(), Some("sub"));
    }

    #[test]
    fn fields_of_a_later_version_1_are_passed_over() {
        let trace = read(
            json!({"version": 1, "mood": "good", "labels": {}, "unpaired": {"calls": 1, "oddities": 2},
            "route": {"kind": "scores", "colour": 1, "milestones": [{"reference_step": 1, "score": 2.0, "by": "x"}]},
            "steps": [{"name": "look", "status": "ok", "weight": 3, "usage": {"input_tokens": 1, "joules": 4}}]}),
        );
        let trace = trace.unwrap();
        assert_eq!((trace.steps().len(), trace.unpaired().calls), (1, 1));
        assert!(read(json!({"version": 2, "steps": []})).unwrap_err().contains("version 2 is not supported"));
    }

    #[test]
    fn contradictions_are_errors_with_their_place() {
        for (step, reason) in [
            (json!({"name": "x", "arguments": {}, "not_recorded": ["arguments"]}), "`arguments` is given"),
            (
                json!({"name": "x", "observation": "", "not_recorded": ["observation"]}),
                "`observation` is given",
            ),
            (json!({"text": "x", "actor": "user", "not_recorded": ["observation"]}), "fields of an action"),
            (json!({"text": "x", "actor": "user", "reason": "running"}), "fields of an action"),
        ] {
            let error = read(json!({"version": 1, "steps": [{"name": "y"}, step]})).unwrap_err();
            assert!(error.starts_with("steps[1]: ") && error.contains(reason), "{error}");
        }
        assert!(read(json!({"version": 1, "steps": [{"name": "x", "reason": "bored"}]})).is_err());
        for span in ["7", "0000000000000000", "b7ad6b716920333x"] {
            let error = read(json!({"version": 1, "steps": [{"name": "x", "span": span}]})).unwrap_err();
            assert!(error.contains("not the id of a span"), "{error}");
        }
        // With any other status, a reason has no meaning.
        let trace =
            read(json!({"version": 1, "steps": [{"name": "x", "status": "ok", "reason": "running"}]}));
        assert!(!serde_json::to_string(&trace.unwrap()).unwrap().contains("running"));
    }
}
