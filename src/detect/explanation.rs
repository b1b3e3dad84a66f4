//! The parts of an explanation: near misses, their conditions, and counterfactuals.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::names::named;

/// Why a detector fired on a trace or stayed quiet: returned by [`Detector::explain`](crate::Detector::explain).
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Detector, Loop, Status, Trace, detect::Counterfactual};
///
/// let mut run = Trace::builder();
/// for _ in 0..2 {
///     run.call("look", &json!({}), Status::Ok, "a wall")?;
/// }
/// let explanation = Loop::default().explain(&run.build()?);
/// // One more identical call would make it a loop.
/// assert_eq!(explanation.counterfactuals[0], Counterfactual::Repeat { step: 1, times: 1 });
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The detector.
    pub detector: Cow<'static, str>,
    /// Whether the detector fired; `None` if it does not apply.
    pub detected: Option<bool>,
    /// Why the detector does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<Cow<'static, str>>,
    /// The candidates closest to a finding, or the findings themselves, closest first; at most three.
    pub near_misses: Vec<NearMiss>,
    /// Changes that each flip the verdict on their own, verified by running the rule again.
    pub counterfactuals: Vec<Counterfactual>,
}

/// A candidate in a trace, with the main conditions under which the rule reports it.
///
/// ```
/// use wrongturn::detect::{Comparator, Condition, NearMiss};
///
/// let conditions = vec![Condition::count("repeats", 3, Comparator::AtLeast, 4)];
/// let near = NearMiss::new("repeated_call", conditions).tool("look").at((3, 9));
/// assert_eq!(near.to_string(), "repeated_call of `look`, steps 3–9: repeats 3, needs at least 4");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NearMiss {
    /// The kind of candidate, such as `repeated_call`.
    pub what: &'static str,
    /// The tool, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its first and last step.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub steps: Option<(u64, u64)>,
    /// The conditions. The rule may have others that are not listed.
    pub conditions: Vec<Condition>,
}

/// A value compared with a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Condition {
    /// The quantity.
    pub name: &'static str,
    /// Its value in the trace.
    pub value: Number,
    /// How the two are compared.
    pub comparator: Comparator,
    /// The limit.
    pub limit: Number,
    /// Whether the condition holds.
    pub holds: bool,
}

named! {
    /// How a value is compared with a limit.
    #[non_exhaustive]
    pub enum Comparator: "comparator" {
        /// Greater or equal.
        AtLeast = "at_least",
        /// Less or equal.
        AtMost = "at_most",
        /// Greater.
        Above = "above",
        /// Less.
        Below = "below",
    }
}

/// A change to the configuration or the trace that flips the verdict.
///
/// In JSON: `{"config": {field: value}}`, `{"repeat": {"step", "times"}}`, `{"succeed": {"steps"}}` or
/// `{"remove": {"ranges": [[first, last]]}}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Counterfactual {
    /// These fields of the configuration have other values.
    Config(Map<String, Value>),
    /// The action of this step is repeated right after it with the same answer, each time in a new turn. Later steps
    /// get higher indices.
    Repeat {
        /// The step.
        step: u64,
        /// The number of repeats.
        times: u64,
    },
    /// The actions of these steps are repeated at the end of the trace, each in a new turn, and succeed with an empty
    /// answer.
    Succeed {
        /// The steps.
        steps: Vec<u64>,
    },
    /// These steps are removed. Later steps get lower indices.
    Remove {
        /// First and last step of each range.
        ranges: Vec<(u64, u64)>,
    },
}

impl NearMiss {
    /// Creates a candidate without a tool or steps.
    #[must_use]
    pub fn new(what: &'static str, conditions: Vec<Condition>) -> Self {
        Self { what, tool: None, steps: None, conditions }
    }

    /// Sets the tool.
    #[must_use]
    pub fn tool(mut self, name: &str) -> Self {
        self.tool = Some(super::shared::quoted(name).to_owned());
        self
    }

    /// Sets the first and last step.
    #[must_use]
    pub fn at(mut self, steps: (u64, u64)) -> Self {
        self.steps = Some(steps);
        self
    }
}

impl Condition {
    /// Compares a count with a limit.
    #[must_use]
    pub fn count(name: &'static str, value: u64, comparator: Comparator, limit: u64) -> Self {
        let holds = comparator.holds(value, limit);
        Self { name, value: value.into(), comparator, limit: limit.into(), holds }
    }

    /// Compares a measured value with a limit. A number that is not finite is stored as 0.
    #[must_use]
    pub fn measure(name: &'static str, value: f64, comparator: Comparator, limit: f64) -> Self {
        let number = |value| Number::from_f64(value).unwrap_or_else(|| 0.into());
        let holds = comparator.holds(value, limit);
        Self { name, value: number(value), comparator, limit: number(limit), holds }
    }
}

impl Comparator {
    fn holds<T: PartialOrd + Copy>(self, value: T, limit: T) -> bool {
        match self {
            Self::AtLeast => value >= limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::Below => value < limit,
        }
    }
}

/// Writes one line, such as ``repeated_call of `look`, steps 3–9: repeats 3, needs at least 4``.
impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if let Some(tool) = &self.tool {
            write!(f, " of `{tool}`")?;
        }
        if let Some(steps) = self.steps {
            write!(f, ", {}", range(steps))?;
        }
        for (number, condition) in self.conditions.iter().enumerate() {
            write!(f, "{} {condition}", if number == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

/// Writes one clause, such as `repeats 3, needs at least 4`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |number: &Number| match number.as_f64() {
            Some(value) if number.is_f64() => format!("{}", (value * 1e4).round() / 1e4),
            _ => number.to_string(),
        };
        let comparator = self.comparator.name().replace('_', " ");
        let is = if self.holds { " is" } else { ", needs" };
        write!(f, "{} {}{is} {comparator} {}", self.name, short(&self.value), short(&self.limit))
    }
}

/// Writes one clause, such as `with max_gap 5`.
impl fmt::Display for Counterfactual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: Vec<String>| parts.join(", ");
        match self {
            Self::Config(fields) => {
                let fields = fields.iter().map(|(name, value)| format!("{name} {value}"));
                write!(f, "with {}", list(fields.collect()))
            }
            Self::Repeat { step, times } => {
                let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
                write!(f, "if step {step} were repeated {times} with the same answer")
            }
            Self::Succeed { steps } => {
                let plural = if steps.len() == 1 { "" } else { "s" };
                let steps = list(steps.iter().map(ToString::to_string).collect());
                write!(f, "if step{plural} {steps} were done again at the end and succeeded")
            }
            Self::Remove { ranges } => {
                write!(f, "without {}", list(ranges.iter().copied().map(range).collect()))
            }
        }
    }
}

fn range((first, last): (u64, u64)) -> String {
    if first == last { format!("step {first}") } else { format!("steps {first}–{last}") }
}
