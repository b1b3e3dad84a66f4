//! Live use: the steps of a trace while it is open, the updates of its findings, and traces put together from pieces
//! that arrive in any order.

mod assembler;
mod event;
mod guard;
mod monitor;
mod open;
mod options;
mod packed;
mod piece;
mod pieces;
mod remembered;
mod saved;
mod series;
mod spans;
mod update;

pub use assembler::TraceAssembler;
pub use event::{AssemblerCounts, CloseReason, ClosedTrace, LiveEvent, OpenRun};
pub use guard::{Advice, Guard, GuardState, Hook};
pub use monitor::{Conclusion, Monitor};
pub use options::AssemblerOptions;
pub use piece::Reply;
pub use update::{Update, UpdateKind};
