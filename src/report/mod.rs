//! Rendering of results as text. Reads results; decides nothing.

mod replication;
mod scan;
mod table;

pub use replication::{render_pass_k, render_replication};
pub use scan::ScanSummary;
