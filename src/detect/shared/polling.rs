//! Polling calls and transient failures, which rules skip.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::transient::{Matcher, TransientRules};
use crate::error::{Error, Result};
use crate::trace::{Action, Arguments, Digest, Digests, fold_name};

/// A call that is meant to be repeated: any call of a tool, or a call in which one argument has certain values.
///
/// In JSON: the name alone, or `{"tool", "argument", "values"}`, where a value of null stands for an argument that is
/// not given. If the text of the arguments is not known, the name alone decides.
///
/// ```
/// use serde_json::json;
/// use wrongturn::detect::PollingCall;
///
/// let poll: PollingCall =
///     serde_json::from_value(json!({"tool": "process", "argument": "action", "values": ["poll", "log"]})).unwrap();
/// let values = vec![Some("poll".to_owned()), Some("log".to_owned())];
/// assert_eq!(poll, PollingCall::Call { tool: "process".to_owned(), argument: "action".to_owned(), values });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum PollingCall {
    /// Every call of this tool. Names are trimmed, and case is ignored.
    Tool(String),
    /// The calls of a tool in which one argument has one of these values.
    Call {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// Its values; `None` stands for an argument that is not given.
        values: Vec<Option<String>>,
    },
}

impl PollingCall {
    /// Returns the polling calls of common agents.
    #[must_use]
    pub fn known() -> Vec<Self> {
        let tool = |tool: &str| Self::Tool(tool.to_owned());
        let call = |tool: &str, argument: &str, values: &[Option<&str>]| Self::Call {
            tool: tool.to_owned(),
            argument: argument.to_owned(),
            values: values.iter().map(|value| value.map(str::to_owned)).collect(),
        };
        vec![
            call("write_stdin", "chars", &[None, Some("")]),
            tool("wait"),
            call("process", "action", &[Some("poll"), Some("list"), Some("log")]),
            tool("TaskOutput"),
            tool("BashOutput"),
            tool("AgentOutputTool"),
            call("manage_task", "Action", &[Some("status"), Some("list")]),
        ]
    }

    fn name(&self) -> &str {
        match self {
            Self::Tool(tool) | Self::Call { tool, .. } => tool,
        }
    }

    /// Returns true if a call is one of those that this describes.
    fn matches(&self, action: &Action<'_>) -> bool {
        if fold_name(self.name()) != fold_name(action.name) {
            return false;
        }
        let Self::Call { argument, values, .. } = self else { return true };
        let arguments = action.arguments.as_ref();
        let given = arguments.present().map(Arguments::json);
        let value = match (arguments.is_absent(), given) {
            (true, _) => Value::Null,
            (_, Some(Some(json))) => {
                let given: Value = serde_json::from_str(json).unwrap_or_default();
                given.get(argument).cloned().unwrap_or_default()
            }
            _ => return true,
        };
        values
            .iter()
            .any(|wanted| value.as_str() == wanted.as_deref() && (value.is_null() || value.is_string()))
    }
}

/// The compiled fields `exempt` and `transient` of a configuration.
#[derive(Debug, Default)]
pub(in crate::detect) struct SkipRules {
    /// The digests of the folded names of the tools, to skip most calls quickly.
    tools: Vec<Digest>,
    exempt: Vec<PollingCall>,
    transient: Option<Matcher>,
}

impl SkipRules {
    pub(in crate::detect) fn new(exempt: &[PollingCall], transient: Option<&TransientRules>) -> Self {
        let tools = exempt.iter().map(|call| Digest::of_text(&fold_name(call.name()))).collect();
        Self { tools, exempt: exempt.to_vec(), transient: transient.map(Matcher::new) }
    }

    pub(in crate::detect) fn check(exempt: &[PollingCall], transient: Option<&TransientRules>) -> Result<()> {
        if exempt.iter().any(|call| call.name().trim().is_empty()) {
            return Err(Error::config("exempt", "a tool without a name"));
        }
        transient.map_or(Ok(()), |rules| rules.validate("transient"))
    }

    /// Returns true if the call is meant to be repeated.
    pub(in crate::detect) fn is_exempt(&self, action: &Action<'_>, digests: &Digests) -> bool {
        let is_named = || self.exempt.iter().any(|call| call.matches(action));
        self.tools.contains(&digests.folded_name) && is_named() || self.is_scripted(action)
    }

    /// Returns true if a Codex script makes an exempt call: `await tools.write_stdin({session_id: 7, chars: ""})`.
    fn is_scripted(&self, action: &Action<'_>) -> bool {
        let given = action.arguments.as_ref().present().filter(|_| action.name == "exec");
        let script = given.and_then(Arguments::json).filter(|json| json.contains("tools."));
        let Some(script) = script.map(|json| json.replace(['\\', ' '], "")) else { return false };
        self.exempt.iter().any(|call| {
            let Some((_, given)) = script.split_once(&format!("tools.{}(", call.name())) else {
                return false;
            };
            let given = given.split(')').next().unwrap_or_default();
            match call {
                PollingCall::Tool(_) => true,
                PollingCall::Call { argument, values, .. } => values.iter().any(|value| match value {
                    Some(value) => given.contains(&format!("{argument}:\"{value}\"")),
                    None => !given.contains(&format!("{argument}:")),
                }),
            }
        })
    }

    /// Returns true if a failed action failed transiently. `by_default` caches the answer of the default rules.
    pub(in crate::detect) fn is_transient(&self, action: &Action<'_>, by_default: &OnceLock<bool>) -> bool {
        self.transient.as_ref().is_some_and(|rules| {
            let matches = || rules.is_transient(action);
            if rules.are_default { *by_default.get_or_init(matches) } else { matches() }
        })
    }
}

/// Returns true if some calls of the tool are known to be polling calls.
#[cfg(feature = "statistics")]
pub(super) fn is_known(name: &str) -> bool {
    PollingCall::known().iter().any(|call| fold_name(call.name()) == fold_name(name))
}
