//! Whole corpora: which files there are, and the parallel scan over them. The only place that knows threads,
//! paths and order.

mod scan;
mod source;

pub use scan::{FileScan, Progress, ScanOptions, Scanner, TraceRecord};
