//! Rendering of results: text, Markdown, LaTeX, CSV, HTML. Reads results; decides nothing.

mod calibration;
mod comparison;
mod evaluation;
mod explanation;
mod gate;
#[cfg(feature = "html")]
mod html;
mod published;
mod recovery;
mod replication;
mod run;
mod scan;
mod table;
mod wide;

pub use calibration::{calibration_tables, render_calibration, render_sweeps, sweep_table};
pub use comparison::{comparison_tables, render_comparison};
pub use evaluation::{
    render_agreement, render_calls, render_evolution, render_modes, render_reflection, render_relations,
};
pub use explanation::render_explanation;
pub use gate::{calibration_markdown, junit, render_gate};
#[cfg(feature = "html")]
pub use html::*;
pub use published::{render_pass_k, render_replication};
pub use recovery::{render_inheritance, render_recovery, render_replay, render_selection};
pub use replication::{pass_k_table, render_inference, replication_tables, simulation_table};
pub use run::{render_run, render_step};
pub use scan::ScanSummary;
pub use table::{Cell, TEXT_WIDTH, Table};
