//! Rendering of results as text. Reads results; decides nothing.

mod calibration;
mod replication;
mod scan;
mod table;

pub use calibration::{render_calibration, render_sweeps};
pub use replication::{render_pass_k, render_replication};
pub use scan::ScanSummary;
