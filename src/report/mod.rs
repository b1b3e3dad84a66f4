//! Rendering of results as text. Reads results; decides nothing.

mod calibration;
mod evaluation;
mod recovery;
mod replication;
mod scan;
mod table;

pub use calibration::{render_calibration, render_sweeps};
pub use evaluation::{
    render_agreement, render_calls, render_evolution, render_modes, render_reflection, render_relations,
};
pub use recovery::{render_comparison, render_inheritance, render_replay, render_selection};
pub use replication::{render_pass_k, render_replication};
pub use scan::ScanSummary;
