//! Live use: the steps of a trace while it is open, the updates of its findings, and traces put together from pieces
//! that arrive in any order.

mod assembler;
mod event;
mod open;
mod options;
mod pairing;
mod piece;
mod remembered;
mod series;
mod session;
mod spans;
mod update;

pub use assembler::TraceAssembler;
pub use event::{AssemblerCounts, CloseReason, ClosedTrace, LiveEvent, OpenRun};
pub use options::AssemblerOptions;
pub use piece::Reply;
pub use session::{Conclusion, Monitor};
pub use update::{Update, UpdateKind};
