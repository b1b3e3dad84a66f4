//! Results of parts of a corpus, which merge to the very results of the whole.
//!
//! One process reads some hundred megabytes a second; a store of traces may hold terabytes. A [`PartialState`] is what
//! one process has found in one part (a *split*: some files, or some lines of one), small enough to be sent, and merged
//! with those of other parts wherever they were made. What is printed is made of the merged state alone, and a single
//! process goes the same way with one split. So what is printed cannot depend on how a corpus was divided, on which
//! machine took which part, or on the order in which parts came back: by construction, and to the last bit.
//!
//! # What makes states merge exactly
//!
//! A state is the fold of records, and everything in it is one of these:
//!
//! | kind | of what | merged by |
//! |---|---|---|
//! | counts | runs, verdicts, steps, time and tokens inside of findings, formats, reasons, transitions | adding (at the largest number it stays) |
//! | fixed-point sums | rewards, recovery rates, counts, squares and products | adding integers (multiples of 2^-42 and 2^-60) |
//! | the first N | errors and names of a file, files with errors, the worst runs | the first N of both, in an order of what they are, never of when they came |
//! | rows in scan order | runs of the replication, up to as many as the state is made for | union, sorted by path and position |
//! | smallest digests | ids that several runs have, contents of runs | the smallest of both |
//! | sets | splits | union |
//!
//! Each is associative and commutative bit for bit, and a map of such is, key by key. Where something would grow without
//! bound it has two forms, the second a function of the first that respects merging: rows become sums by model,
//! domain and task, files listed one by one become sums. The number that decides is part of both forms, so that the same
//! runs always end in the same form.
//!
//! Which of two runs with the same content counts is decided when the rows are complete, in scan order
//! ([`mark_duplicates`](crate::replicate::mark_duplicates)); a part decides nothing that another part could overrule.
//!
//! # Splits
//!
//! A state names its splits, each with a digest of what was found in it. The same split twice (a task that was tried
//! again, a speculative copy) counts once; with another digest it is an error that names it. Two states that share some
//! of their splits and have others besides cannot be taken apart any more, and are refused: merge what they were made of.
//!
//! # Form
//!
//! One line of JSON: `{"wrongturn":"partial state","version":7,"crate":…,"kind":…,"options":{…},"splits":{…},
//! "state":{…},"digest":…}`. The same state has the same bytes. Other versions and other versions of this crate are refused
//! ([`ErrorKind::Version`](crate::ErrorKind::Version)), as digests and definitions may change with them.
//!
//! # Size
//!
//! | part | bytes of JSON, about |
//! |---|---|
//! | detector and model | 150 for each pair |
//! | ids | 110 for each run with an id, at most 50,000 ids |
//! | worst runs | 50 runs with their findings, 20,000 to some millions |
//! | files | 350 each, at most 100,000 |
//! | rows | 150 each, as many as the state is made for |
//! | sums | 700 for each task of a model in a domain, and 140,000 |
//! | splits | 50 and the name |

mod file_report;
mod files;
mod ids;
mod state;
mod summary;
mod worst;

pub use file_report::{FileReport, FileSums, ReadCounts};
pub use files::Files;
pub use ids::Repeats;
pub use state::{PartialContent, PartialKind, PartialState, ReplicationPart, ScanPart};
pub(crate) use summary::DetectorOfModel;
pub use summary::ScanSummary;
pub(crate) use summary::{CostPart, Counts};
pub(crate) use worst::WORST_RUNS;
pub use worst::{FlaggedRun, FlaggedRuns, RunStrip, StripFinding, StripStep};

#[cfg(test)]
mod tests;
