//! Reference routes: the milestones that an expert reaches, in order, and the step at which each is reached.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical;
use super::digest::{self, Digest};
use super::route_index::{Indices, RouteIndex};
use super::step::{Actor, Actors};
use crate::error::{Error, Result};
use crate::objects::in_order;

/// The condition for reaching a milestone.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// The first step whose progress is at least this score.
    Score(f64),
    /// The first action with this actor and name whose compared arguments are equal.
    Action(ReferenceAction),
}

/// An action that a reference route expects.
///
/// ```
/// use serde_json::json;
/// use wrongturn::trace::{Actor, ReferenceAction};
///
/// // Only `order` is compared; `reason` may differ.
/// let compare = Some(vec!["order".to_owned()]);
/// let arguments = json!({"order": "O-42", "reason": "late"});
/// let expected = ReferenceAction::new(Actor::Agent, "cancel_order", &arguments, compare);
/// assert_eq!(expected.compare(), Some(&["order".to_owned()][..]));
/// assert_eq!(expected.arguments(), r#"{"order":"O-42","reason":"late"}"#);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceAction {
    actor: Actor,
    name: String,
    name_digest: Digest,
    arguments: String,
    digest: Digest,
    compare: Option<Vec<String>>,
}

impl ReferenceAction {
    /// Makes an expected action. `compare` names the arguments that must be equal: `None` stands for all, and
    /// an empty list for none.
    #[must_use]
    pub fn new(actor: Actor, name: &str, arguments: &Value, compare: Option<Vec<String>>) -> Self {
        let digest = Digest::of_arguments(arguments);
        Self::of_digest(actor, name, canonical::of_value(arguments), digest, compare)
    }

    /// Like [`ReferenceAction::new`], from a JSON text.
    pub(crate) fn from_json(actor: Actor, name: &str, arguments: &str, compare: Option<Vec<String>>) -> Self {
        let digest = if arguments == "null" { Digest::of_no_arguments() } else { Digest::of_json(arguments) };
        Self::of_digest(actor, name, arguments.to_owned(), digest, compare)
    }

    /// Like [`ReferenceAction::from_json`], with a known digest.
    pub(crate) fn of_digest(
        actor: Actor,
        name: &str,
        arguments: String,
        digest: Digest,
        compare: Option<Vec<String>>,
    ) -> Self {
        let name_digest = Digest::of_text(name);
        Self { actor, name: name.to_owned(), name_digest, arguments, digest, compare }
    }

    /// Returns the actor.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.actor
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn name_digest(&self) -> Digest {
        self.name_digest
    }

    /// Returns the arguments as JSON text.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Returns the digest of the arguments.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the digest of one argument, or `None` if the action lacks it.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Digest> {
        digest::member(&self.arguments, name)
    }

    /// Returns the names of the arguments that must be equal, or `None` for all.
    #[must_use]
    pub fn compare(&self) -> Option<&[String]> {
        self.compare.as_deref()
    }
}

/// A point on the reference route.
///
/// ```
/// use wrongturn::trace::{Milestone, Target};
///
/// let lamp = Milestone::score(12, 5.0).label("take the lamp");
/// assert_eq!((lamp.reference_step, lamp.target), (12, Target::Score(5.0)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Milestone {
    /// The step at which an expert reaches it.
    pub reference_step: u64,
    /// The condition for reaching it.
    pub target: Target,
    /// A description, which does not affect whether a run reaches the milestone.
    pub label: Option<String>,
}

impl Milestone {
    /// Makes a milestone that is reached at this score.
    #[must_use]
    pub fn score(reference_step: u64, score: f64) -> Self {
        Self { reference_step, target: Target::Score(score), label: None }
    }

    /// Makes a milestone that is reached by this action.
    #[must_use]
    pub fn action(reference_step: u64, action: ReferenceAction) -> Self {
        Self { reference_step, label: None, target: Target::Action(action) }
    }

    /// Sets the description.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}

/// Milestones in the order of their reference steps: either all scores or all actions.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Trace, trace::{Actor, ReferenceAction, Milestone, ReferenceRoute}};
///
/// let expected = |name: &str| ReferenceAction::new(Actor::Agent, name, &json!({}), None);
/// let route = ReferenceRoute::new(vec![
///     Milestone::action(0, expected("open_door")),
///     Milestone::action(3, expected("take_lamp")),
/// ])?;
/// let trace = Trace::builder().route(route).build()?;
/// assert_eq!(trace.routing().route().map(|route| route.milestones().len()), Some(2));
/// // Scores and actions do not mix.
/// let mixed = vec![Milestone::score(0, 1.0), Milestone::action(3, expected("take_lamp"))];
/// assert!(ReferenceRoute::new(mixed).is_err());
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WireRoute", into = "WireRoute")]
pub struct ReferenceRoute {
    milestones: Vec<Milestone>,
    indices: Indices,
}

impl ReferenceRoute {
    /// Makes a route of these milestones.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if reference steps decrease, a score is not finite, or
    /// scores and actions are mixed.
    pub fn new(milestones: Vec<Milestone>) -> Result<Self> {
        for pair in milestones.windows(2) {
            if let [before, after] = pair {
                if after.reference_step < before.reference_step {
                    return Err(Error::trace(format!(
                        "reference step {} comes after reference step {}",
                        after.reference_step, before.reference_step
                    )));
                }
                if matches!(before.target, Target::Score(_)) != matches!(after.target, Target::Score(_)) {
                    return Err(Error::trace("a reference route mixes scores and actions"));
                }
            }
        }
        for milestone in &milestones {
            if let Target::Score(score) = milestone.target
                && !score.is_finite()
            {
                return Err(Error::trace(format!("the score of a milestone is {score}, not finite")));
            }
        }
        Ok(Self { milestones, indices: Indices::default() })
    }

    /// Returns the milestones in order.
    #[must_use]
    pub fn milestones(&self) -> &[Milestone] {
        &self.milestones
    }

    /// Returns the lookup tables of the route for these actors, built on first use.
    pub(crate) fn index(&self, actors: Actors) -> &std::sync::Arc<RouteIndex> {
        self.indices.get(&self.milestones, actors)
    }
}

/// The reference route of a run, or why it has none.
#[derive(Debug, Clone, PartialEq)]
pub enum RouteStatus {
    /// The route is known.
    Known(std::sync::Arc<ReferenceRoute>),
    /// The route is missing, for this reason.
    Unknown(Cow<'static, str>),
}

impl RouteStatus {
    /// Returns the route, if known.
    #[must_use]
    pub fn route(&self) -> Option<&ReferenceRoute> {
        match self {
            Self::Known(route) => Some(route),
            Self::Unknown(_) => None,
        }
    }
}

impl From<Option<ReferenceRoute>> for RouteStatus {
    fn from(route: Option<ReferenceRoute>) -> Self {
        match route {
            Some(route) => Self::Known(std::sync::Arc::new(route)),
            None => Self::Unknown("the trace has no reference route".into()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WireRoute {
    Scores { milestones: Vec<WireScore> },
    Actions { milestones: Vec<WireAction> },
}

#[derive(Serialize, Deserialize)]
struct WireScore {
    reference_step: u64,
    score: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct WireAction {
    reference_step: u64,
    #[serde(default = "agent")]
    actor: Actor,
    name: String,
    #[serde(default)]
    arguments: Value,
    compare: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

fn agent() -> Actor {
    Actor::Agent
}

impl TryFrom<WireRoute> for ReferenceRoute {
    type Error = Error;

    fn try_from(wire: WireRoute) -> Result<Self> {
        Self::new(match wire {
            WireRoute::Scores { milestones } => milestones
                .into_iter()
                .map(|m| Milestone { label: m.label, ..Milestone::score(m.reference_step, m.score) })
                .collect(),
            WireRoute::Actions { milestones } => milestones
                .into_iter()
                .map(|m| {
                    let action = ReferenceAction::new(m.actor, &m.name, &m.arguments, m.compare);
                    Milestone { label: m.label, ..Milestone::action(m.reference_step, action) }
                })
                .collect(),
        })
    }
}

impl From<ReferenceRoute> for WireRoute {
    fn from(route: ReferenceRoute) -> Self {
        let mut scores = Vec::new();
        let mut actions = Vec::new();
        for Milestone { reference_step, target, label } in route.milestones {
            match target {
                Target::Score(score) => scores.push(WireScore { reference_step, score, label }),
                Target::Action(action) => actions.push(WireAction {
                    reference_step,
                    actor: action.actor,
                    arguments: serde_json::from_str(&action.arguments)
                        .map_or(Value::String(action.arguments), in_order),
                    name: action.name,
                    compare: action.compare,
                    label,
                }),
            }
        }
        if scores.is_empty() {
            Self::Actions { milestones: actions }
        } else {
            Self::Scores { milestones: scores }
        }
    }
}
