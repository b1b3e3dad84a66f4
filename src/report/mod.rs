//! Renders results as text, Markdown, LaTeX, CSV and HTML. Computes nothing.

mod calibration;
mod cell;
mod comparison;
#[cfg(feature = "benchmarks")]
mod evaluation;
mod explanation;
mod files;
mod gate;
mod grouped;
#[cfg(feature = "html")]
mod html;
mod published;
#[cfg(feature = "benchmarks")]
mod recovery;
mod regression;
mod replication;
mod replication_tables;
mod run;
mod runs;
mod scan;
mod summed;
mod table;
mod wrap;

pub use calibration::{calibration_tables, render_calibration, render_sweeps, sweep_table};
pub use comparison::{comparison_tables, render_comparison};
#[cfg(feature = "benchmarks")]
pub use evaluation::{
    agreement_tables, call_tables, evolution_tables, mode_tables, proximity_tables, reflection_tables,
    relation_tables,
};
pub use explanation::render_explanation;
pub use files::render_files;
pub use gate::{calibration_markdown, junit, render_gate};
pub use grouped::{grouped_tables, render_grouped};
#[cfg(feature = "html")]
pub use html::*;
pub use published::{render_pass_k, render_replication};
#[cfg(feature = "benchmarks")]
pub use recovery::{inheritance_tables, recovery_tables, replay_tables, result_tables, selection_tables};
pub use regression::regression_table;
pub use replication::render_inference;
pub use replication_tables::replication_tables;
pub use run::{render_run, render_step};
pub use runs::{pass_k_table, simulation_table};
pub use summed::{render_summed, summed_tables};
pub use table::{TEXT_WIDTH, Table, render_tables};
