//! Behavioural fingerprints: how often one kind of event follows another.
//!
//! Events are the calls and the non-empty messages of the agent and the user. Other messages, and the results
//! of calls, are not events.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind, Result};
use crate::trace::{Actor, Event, Step, Trace};

/// A kind of event. Displays as `agent`, `user`, `tool:<name>` or `user-tool:<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A message from the agent.
    Agent,
    /// A message from the user.
    User,
    /// A call by the agent.
    Tool(String),
    /// A call by the user.
    UserTool(String),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent => f.write_str("agent"),
            Self::User => f.write_str("user"),
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::UserTool(name) => write!(f, "user-tool:{name}"),
        }
    }
}

impl FromStr for Node {
    type Err = Error;

    /// Parses the output of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for any other text.
    fn from_str(text: &str) -> Result<Self> {
        match (text, text.split_once(':')) {
            ("agent", _) => Ok(Self::Agent),
            ("user", _) => Ok(Self::User),
            (_, Some(("tool", name))) => Ok(Self::Tool(name.to_owned())),
            (_, Some(("user-tool", name))) => Ok(Self::UserTool(name.to_owned())),
            _ => Err(Error::new(
                ErrorKind::Config,
                format!("`{text}` is not an event (`agent`, `user`, `tool:<name>`, `user-tool:<name>`)"),
            )),
        }
    }
}

/// Counts of transitions between consecutive events.
///
/// In JSON: `{"<from>": {"<to>": count}}`, sorted.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Status, Trace, fingerprint::Fingerprint};
///
/// let mut run = Trace::builder();
/// for _ in 0..3 {
///     run.call("look", &json!({}), Status::Ok, "a wall")?;
/// }
/// let fingerprint = Fingerprint::of(&run.build()?);
/// assert_eq!(serde_json::to_value(&fingerprint).unwrap(), json!({"tool:look": {"tool:look": 2}}));
/// assert_eq!(fingerprint.distance(&fingerprint)?, 0.0);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fingerprint {
    edges: BTreeMap<(Node, Node), u64>,
}

impl Fingerprint {
    /// Makes the fingerprint of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut builder = FingerprintBuilder::default();
        for step in trace.steps() {
            builder.observe(&step);
        }
        builder.finish()
    }

    /// Returns the transitions with their counts, sorted.
    pub fn edges(&self) -> impl Iterator<Item = (&Node, &Node, u64)> {
        self.edges.iter().map(|((from, to), count)| (from, to, *count))
    }

    /// Returns true if it holds no transitions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Adds the counts of another fingerprint.
    pub fn merge(&mut self, other: &Self) {
        for (edge, count) in &other.edges {
            let sum = self.edges.entry(edge.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Returns the sum of all transition counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.edges.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns the Jensen–Shannon distance to another fingerprint, in [0, 1]
    /// ([`jensen_shannon`](crate::stats::jensen_shannon())).
    ///
    /// # Errors
    /// [`ErrorKind::Statistics`] if either fingerprint has no transitions.
    #[cfg(feature = "statistics")]
    pub fn distance(&self, other: &Self) -> Result<f64> {
        let edges: std::collections::BTreeSet<_> = self.edges.keys().chain(other.edges.keys()).collect();
        let counts = |side: &Self| -> Vec<f64> {
            let count = |edge: &&(Node, Node)| side.edges.get(*edge).copied().unwrap_or(0);
            edges.iter().map(|edge| crate::stats::float(count(edge))).collect()
        };
        crate::stats::jensen_shannon(&counts(self), &counts(other))
            .ok_or_else(|| Error::new(ErrorKind::Statistics, "a fingerprint has no transitions"))
    }

    /// Returns the fingerprint as a directed graph in Graphviz's DOT language.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph fingerprint {\n");
        for ((from, to), count) in &self.edges {
            // Writing to a string cannot fail.
            let _ = writeln!(dot, "  {} -> {} [label={count}];", dot_id(from), dot_id(to));
        }
        dot.push_str("}\n");
        dot
    }
}

fn dot_id(node: &Node) -> String {
    format!("\"{}\"", node.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut nested: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for (from, to, count) in self.edges() {
            nested.entry(from.to_string()).or_default().insert(to.to_string(), count);
        }
        nested.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nested = BTreeMap::<String, BTreeMap<String, u64>>::deserialize(deserializer)?;
        let mut edges = BTreeMap::new();
        for (from, counts) in nested {
            let from: Node = from.parse().map_err(D::Error::custom)?;
            for (to, count) in counts {
                edges.insert((from.clone(), to.parse().map_err(D::Error::custom)?), count);
            }
        }
        Ok(Self { edges })
    }
}

/// Builds a [`Fingerprint`] step by step.
///
/// ```
/// use wrongturn::{Action, fingerprint::{Fingerprint, FingerprintBuilder}, trace::{Actor, StepValidator, StepInput}};
///
/// let (mut gate, mut builder) = (StepValidator::new(), FingerprintBuilder::default());
/// builder.observe(&gate.admit(StepInput::message(Actor::User, "where is it?"))?);
/// builder.observe(&gate.admit(StepInput::action(Actor::Agent, Action::new("look")))?);
/// let fingerprint: Fingerprint = builder.finish();
/// assert_eq!(serde_json::to_string(&fingerprint).unwrap(), r#"{"user":{"tool:look":1}}"#);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct FingerprintBuilder {
    fingerprint: Fingerprint,
    last: Option<Node>,
}

impl FingerprintBuilder {
    /// Counts the transition to this step, if the step is an event.
    pub fn observe(&mut self, step: &Step<'_>) {
        let node = match (step.actor(), step.event()) {
            (Actor::Agent, Event::Message(text)) if !text.is_empty() => Node::Agent,
            (Actor::User, Event::Message(text)) if !text.is_empty() => Node::User,
            (Actor::Agent, Event::Action(action)) => Node::Tool(action.name.to_owned()),
            (Actor::User, Event::Action(action)) => Node::UserTool(action.name.to_owned()),
            _ => return,
        };
        if let Some(last) = self.last.replace(node.clone()) {
            *self.fingerprint.edges.entry((last, node)).or_default() += 1;
        }
    }

    /// Returns the fingerprint.
    #[must_use]
    pub fn finish(self) -> Fingerprint {
        self.fingerprint
    }
}
