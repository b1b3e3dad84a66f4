//! Rendering of results: text, Markdown, LaTeX, CSV, HTML. Reads results; decides nothing.

mod calibration;
mod cell;
mod comparison;
#[cfg(feature = "html")]
mod html;
mod published;
mod replication;
mod runs;
mod scan;
mod table;
mod wide;
mod wrap;

pub use calibration::{calibration_tables, render_calibration, render_sweeps, sweep_table};
pub use cell::Cell;
pub use comparison::{comparison_tables, render_comparison};
#[cfg(feature = "html")]
pub use html::*;
pub use published::{render_pass_k, render_replication};
pub use replication::{render_inference, replication_tables};
pub use runs::{pass_k_table, simulation_table};
pub use scan::ScanSummary;
pub use table::{TEXT_WIDTH, Table};
