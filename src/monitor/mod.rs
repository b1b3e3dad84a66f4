//! Live use: the steps of a trace while it is open, the updates of its findings, and traces put together from pieces
//! that arrive in any order.

mod session;
mod update;

pub use session::{Conclusion, Monitor};
pub use update::{Update, UpdateKind};
