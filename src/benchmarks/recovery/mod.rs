//! Recovery-Bench: failed trials, the commands that rebuild their state, and recovery against fresh starts.

mod arms;
mod commands;
mod compare;
mod inherit;
mod results;
mod select;
mod trajectory;
mod transcript;

pub use arms::{Arm, ComparedTrial};
pub use commands::{Replay, ReplayCommand, ReplayMode, Via, replay_commands};
pub use compare::{
    Comparison, ContextComparison, Difference, McNemar, ModelComparison, PairedComparison, Ranks,
    RelativeDrop, compare,
};
pub use inherit::{Inheritance, InheritancePair, InheritanceReport, InheritanceVerdict, Inherited, inherit};
pub use results::{Results, SkippedFile, Trial, TrialFormat, read_results};
pub use select::{Candidate, LeftOut, Selection, SelectionRule, select};
pub use transcript::{Transcript, transcript};
