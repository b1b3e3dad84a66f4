//! Whole corpora: which files there are, and the parallel scan over them. The only place that knows threads,
//! paths and order.

mod by_folder;
mod companion;
mod composed;
mod folding;
mod joined;
mod open;
mod order;
mod part;
mod read;
mod record;
mod run_table;
mod scan;
mod source;
mod work;

pub use read::{read_files, read_joined};
pub use record::{FileScan, FileSummary, Progress, ScanEvent, TraceRecord};
pub use run_table::RunTable;
pub use scan::{ScanOptions, Scanner};
