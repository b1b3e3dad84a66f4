//! Measures recovery by the default rule, for comparison with the published rate.

use std::borrow::Cow;

use serde::Serialize;

use crate::detect::{Detector, FailureMode, Fold, Rule, ToolErrorRecovery, ToolErrorRecoveryConfig};
use crate::error::Result;
use crate::scan::TraceRecord;
use crate::trace::{Actors, RouteStatus};

/// The default rule of [`ToolErrorRecovery`] under another id, to run next to the published rule.
///
/// Under the published rule, any later success of a tool recovers its failures, even if the tool is a shell
/// that ran another program. The default rule measures recovery by program and the share of goals reached.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Detector, Status, ToolErrorRecovery, Trace, detect::ToolErrorRecoveryConfig, replicate::DefaultRecovery, trace::Actors};
///
/// let mut run = Trace::builder();
/// run.call("bash", &json!({"command": "git push"}), Status::Error, "error: failed to push some refs")?;
/// run.call("bash", &json!({"command": "ls"}), Status::Ok, "src")?;
/// let run = run.build()?;
/// let published = ToolErrorRecovery::new(ToolErrorRecoveryConfig::published())?;
/// let default = DefaultRecovery::new(Actors::All)?;
/// assert_eq!(published.detect(&run).measure("recovered"), Some(1.0));
/// assert_eq!(default.detect(&run).measure("recovered"), Some(0.0));
/// assert_eq!(default.detect(&run).measure("goal_recovery"), Some(0.0));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DefaultRecovery(ToolErrorRecovery);

impl DefaultRecovery {
    /// The id of the detector.
    pub const ID: &'static str = "tool_error_recovery_default";

    /// Returns the detector for the actions of these actors.
    ///
    /// # Errors
    /// None at present.
    pub fn new(actors: Actors) -> Result<Self> {
        Ok(Self(ToolErrorRecovery::new(ToolErrorRecoveryConfig {
            actors,
            ..ToolErrorRecoveryConfig::default()
        })?))
    }
}

impl Detector for DefaultRecovery {
    fn id(&self) -> Cow<'static, str> {
        Self::ID.into()
    }

    fn mode(&self) -> FailureMode {
        ToolErrorRecovery::MODE
    }

    fn reads_argument_texts(&self) -> bool {
        Detector::reads_argument_texts(&self.0)
    }

    fn start(&self, routing: &RouteStatus) -> Box<dyn Fold> {
        self.0.start(routing)
    }
}

/// The measures of [`DefaultRecovery`] for a run, except the numbers of calls and errors, which are the same as
/// under the published rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DefaultMeasures {
    /// Errors followed by a success of the same program.
    #[serde(rename = "recovered_by_program")]
    pub recovered: u64,
    /// `recovered / errors`; 1 without errors.
    #[serde(rename = "recovery_rate_by_program")]
    pub recovery_rate: f64,
    /// Goals in which a call failed.
    pub goals: u64,
    /// Goals that were reached.
    pub reached: u64,
    /// `reached / goals`; 1 without goals.
    pub goal_recovery: f64,
}

impl DefaultMeasures {
    pub(super) fn of(record: &TraceRecord) -> Option<Self> {
        let verdict = record.verdict(DefaultRecovery::ID)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the measure is a count")]
        let count = |name| verdict.measure(name).map(|value| value as u64);
        Some(Self {
            recovered: count("recovered")?,
            recovery_rate: verdict.measure("recovery_rate")?,
            goals: count("goals")?,
            reached: count("reached")?,
            goal_recovery: verdict.measure("goal_recovery")?,
        })
    }
}
