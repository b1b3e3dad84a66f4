//! Renders results as text, HTML, Markdown, LaTeX and CSV, charts as SVG, and test suites as JUnit XML.
//!
//! Most results become a [`Document`], which renders as text, HTML, Markdown and LaTeX. Its [`Table`]s also render
//! as CSV, and its [`Chart`]s as SVG.

mod axis;
mod calibration;
mod cell;
mod chart;
mod colours;
mod compare;
mod document;
mod draw;
#[cfg(feature = "benchmarks")]
mod evaluation;
#[cfg(feature = "benchmarks")]
mod evolution;
mod explanation;
mod files;
mod fingerprints;
mod gate;
mod graph;
mod html;
mod junit;
mod markup;
mod published;
#[cfg(feature = "benchmarks")]
mod recovery;
mod regression;
mod replication;
mod replication_answer;
mod replication_charts;
mod replication_tables;
mod run;
mod run_strip;
mod runs;
mod scan;
mod table;
mod wrap;

pub use calibration::calibration_document;
pub use chart::Chart;
pub use compare::{comparison_document, why_unshared};
pub use document::{Detail, Document};
#[cfg(feature = "benchmarks")]
pub use evaluation::{
    agreement_document, call_document, mode_document, proximity_document, reflection_document,
    relation_document,
};
#[cfg(feature = "benchmarks")]
pub use evolution::evolution_document;
pub use explanation::render_explanation;
pub use files::render_files;
pub use fingerprints::fingerprint_document;
pub use gate::{calibration_suites, gate_document, render_gate};
pub use junit::TestSuite;
pub use published::render_replication;
#[cfg(feature = "benchmarks")]
pub use recovery::{
    inheritance_document, recovery_document, replay_document, result_document, selection_document,
    transcript_document,
};
pub use replication::{ReplicationView, replication_document, summed_document};
pub use replication_charts::forest_chart;
pub use run::{render_run, render_step};
pub use runs::simulation_table;
pub use scan::scan_document;
pub use table::Table;
