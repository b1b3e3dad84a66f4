//! Calls that ask whether something is over yet: the same answer again and again is what they are for.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::trace::{Action, Arguments, Digest, Digests, fold_name};

/// A call that is meant to be made again and again: a tool, and which values of one of its arguments make it so.
///
/// In JSON: the name alone, or `{"tool", "argument", "values"}`, where a value of null stands for an argument that is
/// not given. Where the text of the arguments is not known, the name decides.
///
/// ```
/// use serde_json::json;
/// use wrongturn::PollingCall;
///
/// let poll: PollingCall =
///     serde_json::from_value(json!({"tool": "process", "argument": "action", "values": ["poll", "log"]})).unwrap();
/// assert_eq!(poll, PollingCall::with("process", "action", [Some("poll"), Some("log")]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub struct PollingCall {
    tool: String,
    condition: Option<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    argument: String,
    values: Vec<Option<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Name(String),
    Call(WireCall),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCall {
    tool: String,
    argument: String,
    values: Vec<Option<String>>,
}

impl From<Wire> for PollingCall {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Name(tool) => Self { tool, condition: None },
            Wire::Call(WireCall { tool, argument, values }) => {
                Self { tool, condition: Some(Condition { argument, values }) }
            }
        }
    }
}

impl From<PollingCall> for Wire {
    fn from(call: PollingCall) -> Self {
        match call.condition {
            None => Self::Name(call.tool),
            Some(Condition { argument, values }) => {
                Self::Call(WireCall { tool: call.tool, argument, values })
            }
        }
    }
}

impl PollingCall {
    /// Every call of this tool; names are compared trimmed and without case.
    pub fn tool(tool: impl Into<String>) -> Self {
        Self { tool: tool.into(), condition: None }
    }

    /// The calls of this tool in which the argument has one of these values; `None` is an argument that is not given.
    pub fn with<'v>(
        tool: impl Into<String>,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = Option<&'v str>>,
    ) -> Self {
        let values = values.into_iter().map(|value| value.map(Into::into)).collect();
        Self { tool: tool.into(), condition: Some(Condition { argument: argument.into(), values }) }
    }

    /// The polling calls of common agents.
    #[must_use]
    pub fn known() -> Vec<Self> {
        vec![
            Self::with("write_stdin", "chars", [None, Some("")]),
            Self::tool("wait"),
            Self::with("process", "action", [Some("poll"), Some("list"), Some("log")]),
            Self::tool("TaskOutput"),
            Self::tool("BashOutput"),
            Self::tool("AgentOutputTool"),
        ]
    }
}

/// Whether some calls of the tool are known to be polling.
pub(super) fn is_known(name: &str) -> bool {
    PollingCall::known().iter().any(|call| fold_name(&call.tool) == fold_name(name))
}

/// A list of polling calls, made ready.
#[derive(Debug, Clone)]
pub(super) struct Exempt {
    /// By the digest of the folded name.
    calls: Vec<(Digest, Option<Ready>)>,
    needs_texts: bool,
}

#[derive(Debug, Clone)]
struct Ready {
    argument: String,
    values: Vec<Option<Digest>>,
}

impl Exempt {
    pub(super) fn new(calls: &[PollingCall]) -> Self {
        let null = Digest::of_json("null");
        let ready = |condition: &Condition| {
            let value = |value: &Option<String>| value.as_deref().map(|text| Digest::of_value(&text.into()));
            let mut values: Vec<_> = condition.values.iter().map(value).collect();
            if values.contains(&None) {
                values.push(Some(null));
            }
            Ready { argument: condition.argument.clone(), values }
        };
        let call = |call: &PollingCall| {
            (Digest::of_text(&fold_name(&call.tool)), call.condition.as_ref().map(ready))
        };
        Self {
            // Where a reader keeps no texts, a list of one's own asks for them.
            needs_texts: calls.iter().any(|call| call.condition.is_some()) && calls != PollingCall::known(),
            calls: calls.iter().map(call).collect(),
        }
    }

    pub(super) fn validate(calls: &[PollingCall]) -> Result<()> {
        if calls.iter().any(|call| call.tool.trim().is_empty()) {
            return Err(Error::config("exempt", "a tool without a name"));
        }
        Ok(())
    }

    /// Whether the texts of arguments have to be kept for it.
    pub(super) fn needs_texts(&self) -> bool {
        self.needs_texts
    }

    #[inline]
    pub(super) fn matches(&self, action: &Action<'_>, digests: &Digests) -> bool {
        self.calls.iter().any(|(name, ready)| {
            *name == digests.folded_name && ready.as_ref().is_none_or(|ready| ready.matches(action))
        })
    }
}

impl Ready {
    fn matches(&self, action: &Action<'_>) -> bool {
        let arguments = action.arguments.as_ref();
        let known = arguments.is_absent() || arguments.present().is_some_and(|given| given.json().is_some());
        let given = || arguments.present().and_then(|given: &Arguments<'_>| given.member(&self.argument));
        !known || self.values.contains(&given())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_poll_is_known_by_tool_and_argument() {
        let exempt = Exempt::new(&PollingCall::known());
        let polls = |name: &str, arguments: serde_json::Value| {
            let action = Action::new(name).arguments(&arguments);
            exempt.matches(&action, &Digests::of(&action))
        };
        for (name, arguments) in [
            ("write_stdin", json!({"session_id": 1, "chars": ""})),
            ("write_stdin", json!({"session_id": 1})),
            ("write_stdin", json!({"chars": null})),
            ("wait", json!({"cell_id": 1})),
            ("process", json!({"action": "poll", "sessionId": "x"})),
            ("bashoutput", json!({"bash_id": "1"})),
        ] {
            assert!(polls(name, arguments.clone()), "{name} {arguments}");
        }
        for (name, arguments) in [
            ("write_stdin", json!({"chars": "y\n"})),
            ("process", json!({"action": "kill"})),
            ("process", json!({"sessionId": "x"})),
            ("await", json!({})),
        ] {
            assert!(!polls(name, arguments.clone()), "{name} {arguments}");
        }
        let unrecorded = Action::new("process").arguments_not_recorded();
        assert!(exempt.matches(&unrecorded, &Digests::of(&unrecorded)), "the name alone");
        let bare = Action::new("write_stdin");
        assert!(exempt.matches(&bare, &Digests::of(&bare)), "no arguments, so no characters");
    }

    #[test]
    fn the_list_is_written_and_read_back() {
        let known = PollingCall::known();
        let json = serde_json::to_value(&known).unwrap();
        assert_eq!(json[1], "wait");
        assert_eq!(json[0], json!({"tool": "write_stdin", "argument": "chars", "values": [null, ""]}));
        assert_eq!(serde_json::from_value::<Vec<PollingCall>>(json).unwrap(), known);
        assert!(!Exempt::new(&known).needs_texts());
    }
}
