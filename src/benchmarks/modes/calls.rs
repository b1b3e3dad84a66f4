//! Runs of tool calls, and the two rules for them.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::super::read::{Record, null_as_default};
use super::{ExpectedActions, MalformedCalls, ModeVerdict};
use crate::trace::Status;

/// A run of tool calls with the calls that a reference expects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CallRun {
    /// Id of the run.
    pub id: String,
    /// The calls, in order.
    #[serde(default, deserialize_with = "null_as_default")]
    pub actions: Vec<CheckedCall>,
    /// The expected calls.
    #[serde(default, deserialize_with = "null_as_default")]
    pub expected: Vec<ExpectedCall>,
}

impl Record for CallRun {
    fn key(&self) -> String {
        format!("run `{}`", self.id)
    }
}

/// A tool call with its answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CheckedCall {
    /// The number of the entry.
    pub step: i64,
    /// Name of the tool.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Value,
    /// The outcome of the call.
    #[serde(default)]
    pub status: Status,
    /// The answer.
    #[serde(default)]
    pub observation: Option<String>,
    /// The arguments as the model wrote them, if recorded.
    #[serde(default)]
    pub arguments_text: Option<String>,
}

/// A tool call that a reference expects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ExpectedCall {
    /// Name of the tool.
    pub name: String,
    /// The arguments, in order.
    #[serde(default, deserialize_with = "in_order")]
    pub arguments: Vec<(String, Value)>,
    /// The arguments that must be equal: `None` for all of them, an empty list for none.
    #[serde(default)]
    pub compare_args: Option<Vec<String>>,
}

/// The malformed calls and missed actions of a run, see [`check_calls`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallReport {
    /// Id of the run.
    pub id: String,
    /// Calls that never reached a tool.
    pub malformed_call: ModeVerdict,
    /// Expected actions that were not taken, with reasons.
    pub expected_action: ModeVerdict,
}

/// Finds the malformed calls and the missed expected actions of a run, in one pass over its calls.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{CallRun, check_calls};
///
/// let run: CallRun = serde_json::from_value(json!({"id": "r",
///     "actions": [{"step": 0, "name": "get_order", "arguments": {"id": 7}, "status": "ok"}],
///     "expected": [{"name": "cancel_order", "arguments": {"id": 7}}],
/// }))?;
/// let report = check_calls(&run);
/// assert!(report.malformed_call.findings().is_empty());
/// assert_eq!(report.expected_action.findings()[0].mode, "operation/perception_error");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn check_calls(run: &CallRun) -> CallReport {
    let mut malformed = MalformedCalls::default();
    let mut expected = ExpectedActions::new(&run.expected);
    for call in &run.actions {
        malformed.observe(call);
        expected.observe(call);
    }
    CallReport { id: run.id.clone(), malformed_call: malformed.finish(), expected_action: expected.finish() }
}

/// Reads an object as a list, in the order of its keys. Null is empty.
fn in_order<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<(String, Value)>, D::Error> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, Value)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object of arguments")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members: Self::Value = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, Value>()? {
                match members.iter_mut().find(|(known, _)| *known == key) {
                    Some(known) => known.1 = value,
                    None => members.push((key, value)),
                }
            }
            Ok(members)
        }
    }

    value.deserialize_any(Members)
}
