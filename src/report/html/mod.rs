//! Reports as one HTML file each.
//!
//! SVG and HTML are written here rather than by a plotting or template crate: charts take their colours from the page
//! (light and dark), carry titles and descriptions, and all text passes one function that escapes it.

mod axis;
mod calibration;
mod chart;
mod comparison;
mod cost;
mod draw;
#[cfg(feature = "benchmarks")]
mod evaluation;
mod markup;
mod page;
mod replication;
mod scan;
mod strip;

pub use calibration::calibration_html;
pub use chart::{Bar, BarChart, Chart, IntervalChart, IntervalRow, Line, LineChart};
pub use comparison::comparison_html;
pub use cost::{FailureCost, cost_charts};
#[cfg(feature = "benchmarks")]
pub use evaluation::{evolution_chart, recovery_charts, reflection_chart};
pub use page::HtmlReport;
pub use replication::{forest_chart, replication_html, summed_html};
pub use scan::scan_html;
