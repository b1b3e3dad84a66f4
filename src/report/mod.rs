//! Rendering of results: text, Markdown, LaTeX, CSV, HTML. Reads results; decides nothing.

mod calibration;
mod cell;
mod comparison;
mod evaluation;
mod grouped;
#[cfg(feature = "html")]
mod html;
mod published;
mod recovery;
mod repeats;
mod replication;
mod runs;
mod scan;
mod table;
mod wide;
mod wrap;

pub use calibration::{calibration_tables, render_calibration, render_sweeps, sweep_table};
pub use cell::Cell;
pub use comparison::{comparison_tables, render_agent_comparison};
pub use evaluation::{
    render_agreement, render_calls, render_evolution, render_modes, render_reflection, render_relations,
};
pub use grouped::{grouped_tables, render_grouped};
#[cfg(feature = "html")]
pub use html::*;
pub use published::{render_pass_k, render_replication};
pub use recovery::{render_comparison, render_inheritance, render_replay, render_selection};
pub use repeats::Repeats;
pub use replication::{render_inference, replication_tables};
pub use runs::{pass_k_table, simulation_table};
pub use scan::ScanSummary;
pub use table::{TEXT_WIDTH, Table};
