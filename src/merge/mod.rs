//! Partial results: scans of parts of a corpus on many machines, merged into the result of one scan.
//!
//! A process reads several hundred megabytes a second, and a store of traces may hold terabytes. A
//! [`PartialState`] holds the result of one *split* (some files, or some lines of one), is small enough to
//! send, and merges with the states of other splits. Reports use only the merged state, and a single process
//! takes the same path with one split. The output is therefore the same, byte for byte, however the corpus
//! was divided, whichever machine read a split, and in whatever order the states arrive.
//!
//! # Why merging is exact
//!
//! A state is a fold of records, and each of its fields is one of these:
//!
//! | kind | used for | merged by |
//! |---|---|---|
//! | counts | runs, verdicts, steps, time and tokens inside findings, formats, skip reasons, transitions | saturating addition |
//! | fixed-point sums | rewards, recovery rates, counts, squares and products | adding integers (multiples of 2^-42 and 2^-60) |
//! | the first N | errors and run ids of a file, files with errors, the worst runs | the first N of both, ordered by content and never by arrival |
//! | rows in scan order | runs of the replication, up to the limit of the state | union, sorted by path and position |
//! | smallest digests | ids of runs, contents of runs | the smallest of both together |
//! | sets | splits | union |
//!
//! Each of these operations is associative and commutative, bit for bit, and so is merging maps key by key.
//! A field that would grow without bound has two forms: rows become sums by model, domain and task; listed
//! files become sums. Both forms hold the count that triggers the change, so the same runs always end in the
//! same form.
//!
//! Duplicates are resolved when the rows are complete, in scan order
//! ([`mark_duplicates`](crate::replicate::mark_duplicates)); a single split never decides about them.
//!
//! # Splits
//!
//! A state lists its splits, each with a digest of its result. A split that arrives twice (a retried task, a
//! speculative copy) counts once; if the digests differ, merging fails and names the split. Two states that
//! share some splits, but each hold others too, cannot be separated and are refused: merge the states that
//! they were made from.
//!
//! # Format
//!
//! One line of JSON: `{"wrongturn":"partial state","version":7,"crate":…,"kind":…,"options":{…},"splits":{…},
//! "state":{…},"digest":…}`. Equal states have equal bytes. States of another format version or another
//! version of this crate are refused ([`ErrorKind::Version`](crate::ErrorKind::Version)), as digests and
//! definitions may have changed.
//!
//! # Size
//!
//! | part | approximate bytes of JSON |
//! |---|---|
//! | detector and model | 150 for each pair |
//! | ids | 110 for each run with an id, at most 50,000 ids |
//! | worst runs | 50 runs with their findings, 20,000 to several million |
//! | files | 350 each, at most 100,000 |
//! | rows | 150 each, up to the limit of the state |
//! | sums | 700 for each task of a model in a domain, plus 140,000 in all |
//! | splits | 50 and the name |

mod file_report;
mod files;
mod flagged;
mod ids;
mod state;
mod summary;
mod worst;

pub(crate) use file_report::total;
pub use file_report::{FileReport, FileSums};
pub use files::Files;
pub use flagged::{FlaggedRun, RunStrip, StripFinding, StripStep};
pub use ids::Repeats;
pub use state::{PartialContent, PartialState, ReplicationPart, ScanPart};
pub(crate) use summary::DetectorOfModel;
pub use summary::ScanSummary;
pub(crate) use summary::{CostPart, Counts};
pub use worst::FlaggedRuns;
pub(crate) use worst::WORST_RUNS;

#[cfg(test)]
mod tests;
