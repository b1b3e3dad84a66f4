//! Runs detectors over live runs.
//!
//! [`Monitor`] takes the steps of one run. [`TraceAssembler`] takes pieces of many runs in any order.
//! [`Guard`] answers the hooks of coding agents. A finding that grows is reported as several [`Update`]s that
//! share an id.

mod assembler;
mod assembler_options;
mod closed_traces;
mod event;
mod guard;
mod monitor;
mod open_fold;
mod open_trace;
mod open_traces;
mod parked_trace;
mod piece;
mod pieces;
mod saved;
mod span_text;
mod spans;
mod update;

pub use assembler::TraceAssembler;
pub use assembler_options::AssemblerOptions;
pub use event::{AssemblerCounts, CloseReason, ClosedTrace, LiveEvent, OpenRun};
pub use guard::{Advice, Guard, GuardState, Hook};
pub use monitor::{Conclusion, Monitor};
pub use piece::Reply;
pub use update::{Update, UpdateKind};
