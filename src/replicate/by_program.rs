//! Recovery where one tool is a shell: by the program that runs in it, beside the published rule.

use serde::Serialize;

use crate::detect::{
    Detector, FailureMode, Fold, RecoveryDefinition, Rule, ToolErrorRecovery, ToolErrorRecoveryConfig,
};
use crate::error::Result;
use crate::scan::TraceRecord;
use crate::trace::{Actors, Routing};

/// Recovery from tool errors where a shell is one tool for each program that runs in it.
///
/// By the published rule ([`ToolErrorRecovery`]) any later success of the shell recovers whatever failed in it. This
/// detector has a name of its own, so that it can be scanned for beside that rule.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Detector, Status, ToolErrorRecovery, Trace, detect::ToolErrorRecoveryConfig, replicate::RecoveryByProgram, trace::Actors};
///
/// let mut run = Trace::builder();
/// run.call("bash", &json!({"command": "pytest -q"}), Status::Error, "1 failed")?;
/// run.call("bash", &json!({"command": "ls"}), Status::Ok, "src")?;
/// let run = run.build()?;
/// let published = ToolErrorRecovery::new(ToolErrorRecoveryConfig::published())?;
/// let by_program = RecoveryByProgram::new(Actors::All, 0.5)?;
/// assert_eq!(published.detect(&run).measure("recovered"), Some(1.0));
/// assert_eq!(by_program.detect(&run).measure("recovered"), Some(0.0));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecoveryByProgram(ToolErrorRecovery);

impl RecoveryByProgram {
    /// The name under which it runs.
    pub const ID: &'static str = "tool_error_recovery_by_program";

    /// The detector for the actions of these actors; runs with a recovery rate below the threshold are flagged.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where the threshold is not in (0, 1].
    pub fn new(actors: Actors, threshold: f64) -> Result<Self> {
        let definition = RecoveryDefinition::Rate;
        Ok(Self(ToolErrorRecovery::new(ToolErrorRecoveryConfig {
            actors,
            definition,
            threshold,
            ..ToolErrorRecoveryConfig::default()
        })?))
    }
}

impl Detector for RecoveryByProgram {
    fn id(&self) -> &'static str {
        Self::ID
    }

    fn mode(&self) -> FailureMode {
        ToolErrorRecovery::MODE
    }

    fn reads_argument_texts(&self) -> bool {
        self.0.reads_argument_texts()
    }

    fn start(&self, routing: &Routing) -> Box<dyn Fold> {
        self.0.start(routing)
    }
}

/// What [`RecoveryByProgram`] says of a run.
///
/// Calls and errors are those of the published rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ByProgram {
    /// Errors whose program succeeded later.
    #[serde(rename = "recovered_by_program")]
    pub recovered: u64,
    /// Their share of the errors; 1 without errors.
    #[serde(rename = "recovery_rate_by_program")]
    pub recovery_rate: f64,
}

impl ByProgram {
    pub(super) fn of(record: &TraceRecord) -> Option<Self> {
        let verdict = record.verdict(RecoveryByProgram::ID)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the measure is a count")]
        let recovered = verdict.measure("recovered")? as u64;
        Some(Self { recovered, recovery_rate: verdict.measure("recovery_rate")? })
    }
}
