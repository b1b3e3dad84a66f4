//! Why a detector fired or did not, how near it was, and what would have turned it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::finding::Verdict;
use super::passed_over::Passed;
use crate::names::named;

/// How many near misses of one kind are shown.
pub(super) const SHOWN: usize = 3;

/// Why a detector fired on a trace or did not: [`Detector::explain`](crate::Detector::explain).
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Change, Detector, Loop, Status, Trace};
///
/// let mut run = Trace::builder();
/// for _ in 0..3 {
///     run.call("look", &json!({}), Status::Ok, "a wall")?;
/// }
/// let why = Loop::default().explain(&run.build()?);
/// assert_eq!(why.near[0].conditions[0].to_string(), "repeats 3, at least 4");
/// assert_eq!(why.changes[0], Change::Repeat { step: 2, times: 1 });
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The detector.
    pub detector: &'static str,
    /// Whether it fired; null where it is not applicable.
    pub detected: Option<bool>,
    /// Why it is not applicable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<Cow<'static, str>>,
    /// What came nearest to being found, or was found, each with the conditions it was held to. The nearest first.
    pub near: Vec<Near>,
    /// Failed actions that were passed over as transient.
    pub transient: u64,
    /// Actions that were passed over as polling.
    pub exempt: u64,
    /// What turns the verdict, each of them alone.
    pub changes: Vec<Change>,
}

/// Something in a trace, and the conditions under which the detector fires at it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Near {
    /// What was looked for, such as `repeated_call`.
    pub what: &'static str,
    /// The tool, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// First and last step.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<(u64, u64)>,
    /// The conditions, all of which have to hold.
    pub conditions: Vec<Condition>,
}

/// A number, and the limit that it is held to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Condition {
    /// What is counted or measured.
    pub name: &'static str,
    /// How much of it there is.
    pub value: Number,
    /// How it has to lie to the limit.
    pub bound: Bound,
    /// The limit.
    pub limit: Number,
    /// Whether the condition holds.
    pub holds: bool,
}

/// How a value has to lie to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bound {
    /// The limit or more.
    AtLeast,
    /// The limit or less.
    AtMost,
    /// More than the limit.
    Above,
    /// Less than the limit.
    Below,
}

named! { Bound, "bound" { AtLeast => "at_least", AtMost => "at_most", Above => "above", Below => "below" } }

impl Bound {
    fn holds<T: PartialOrd + Copy>(self, value: T, limit: T) -> bool {
        match self {
            Self::AtLeast => value >= limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::Below => value < limit,
        }
    }
}

/// A change that turns the verdict of a detector on a trace.
///
/// In JSON: `{"config": {field: value}}`, `{"repeat": {"step", "times"}}` or `{"succeed": {"steps"}}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// Other values of these fields of the configuration.
    Config(Map<String, Value>),
    /// The action of this step is done again right after it, so many times, each in a turn of its own, with the same
    /// answer.
    Repeat {
        /// The step.
        step: u64,
        /// How often it is done again.
        times: u64,
    },
    /// The actions of these steps are done again at the end of the trace, and succeed.
    Succeed {
        /// The steps.
        steps: Vec<u64>,
    },
}

impl Explanation {
    /// An explanation that knows no more than the verdict and its measures.
    #[must_use]
    pub fn of(detector: &'static str, verdict: &Verdict) -> Self {
        let not_applicable = match verdict {
            Verdict::NotApplicable { reason } => Some(reason.clone()),
            Verdict::Judged(_) => None,
        };
        Self {
            detector,
            detected: verdict.detected(),
            not_applicable,
            near: Vec::new(),
            transient: 0,
            exempt: 0,
            changes: Vec::new(),
        }
    }

    /// Counts an action that was passed over.
    pub(super) fn pass_over(&mut self, passed: Passed) {
        match passed {
            Passed::Exempt => self.exempt += 1,
            Passed::Transient => self.transient += 1,
        }
    }

    /// Whether the detector fired.
    pub(super) fn fired(&self) -> bool {
        self.detected == Some(true)
    }

    /// Adds that so many were found where `limit` are too many, and which value of the field turns that.
    pub(super) fn counted(&mut self, what: &'static str, field: &'static str, count: u64, limit: u64) {
        self.near.push(Near::new(what, vec![Condition::count(what, count, Bound::AtLeast, limit)]));
        let turned = if self.fired() { count.checked_add(1) } else { Some(count).filter(|count| *count > 0) };
        self.config(turned.map(|limit| (field, limit.into())));
    }

    /// Adds a change of the configuration, where there is anything to change.
    pub(super) fn config(&mut self, fields: impl IntoIterator<Item = (&'static str, Value)>) {
        let fields: Map<String, Value> =
            fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
        if !fields.is_empty() {
            self.changes.push(Change::Config(fields));
        }
    }
}

impl Near {
    /// Something without a place or a tool.
    #[must_use]
    pub fn new(what: &'static str, conditions: Vec<Condition>) -> Self {
        Self { what, tool: None, place: None, conditions }
    }

    /// With the name of a tool.
    #[must_use]
    pub fn tool(mut self, name: &str) -> Self {
        self.tool = Some(super::quoted(name).to_owned());
        self
    }

    /// With its first and last step.
    #[must_use]
    pub fn at(mut self, place: (u64, u64)) -> Self {
        self.place = Some(place);
        self
    }
}

/// One line, such as ``repeated_call of `look`, steps 3–9: repeats 3, at least 4``.
impl std::fmt::Display for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)?;
        if let Some(tool) = &self.tool {
            write!(f, " of `{tool}`")?;
        }
        if let Some((first, last)) = self.place {
            write!(f, ", steps {first}–{last}")?;
        }
        for (number, condition) in self.conditions.iter().enumerate() {
            write!(f, "{} {condition}", if number == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

/// One line, such as `with max_gap 5`.
impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Config(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(field, value)| format!("{field} {value}")).collect();
                write!(f, "with {}", fields.join(", "))
            }
            Self::Repeat { step, times: 1 } => {
                write!(f, "if step {step} were done once more, with the same answer")
            }
            Self::Repeat { step, times } => {
                write!(f, "if step {step} were done {times} times more, with the same answer")
            }
            Self::Succeed { steps } => {
                let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
                write!(f, "if what failed at step {} succeeded later", steps.join(", "))
            }
        }
    }
}

impl Condition {
    /// A count that is held to a limit.
    #[must_use]
    pub fn count(name: &'static str, value: u64, bound: Bound, limit: u64) -> Self {
        Self { name, value: value.into(), bound, limit: limit.into(), holds: bound.holds(value, limit) }
    }

    /// A measure that is held to a limit; what is not finite is written as 0.
    #[must_use]
    pub fn measure(name: &'static str, value: f64, bound: Bound, limit: f64) -> Self {
        let number = |value| Number::from_f64(value).unwrap_or_else(|| 0.into());
        Self { name, value: number(value), bound, limit: number(limit), holds: bound.holds(value, limit) }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, value, bound, limit, holds } = self;
        let missed = match bound {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
            Bound::Above => "above",
            Bound::Below => "below",
        };
        let short = |number: &Number| match number.as_f64() {
            Some(value) if number.is_f64() => format!("{}", (value * 1e4).round() / 1e4),
            _ => number.to_string(),
        };
        write!(f, "{name} {}, {missed} {}", short(value), short(limit))?;
        if *holds { f.write_str(" (holds)") } else { Ok(()) }
    }
}
