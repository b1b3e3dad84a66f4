//! Guides, one page per task.
//!
//! | page | task |
//! |---|---|
//! | [`detectors`] | Configure detectors, read their findings, write a detector of your own |
//! | [`formats`] | See which parts of your trace files are read, and which are not |
//! | [`embedding`] | Use detectors in a Rust program: finished runs, live steps, spans |
//! | [`ci`] | Fail a build on findings: GitHub, pre-commit |
//! | [`python`] | Use the Python package: reports, tables, live runs, framework integrations |
//! | [`statistics`] | Replicate the tau2-bench finding, compare two agents, choose an interval |
//! | [`calibration`] | Measure how good the detectors are on your own labels |
//! | [`benchmarks`] | Compute the metrics of BenchTrace and Recovery-Bench |
//! | [`operations`] | Run the collector as a service |
//! | [`scale`] | Scan large corpora, on one machine or on several |
//!
//! Tests run the commands and snippets on these pages. Most pages end with links to the types they name.

#[doc = include_str!("benchmarks.md")]
///
/// ## In this crate
///
/// Questions and answers: [`reflect`](crate::benchmarks::reflect), [`evolve`](crate::benchmarks::evolve),
/// [`agree`](crate::benchmarks::agree), [`detect_modes`](crate::benchmarks::detect_modes),
/// [`check_calls`](crate::benchmarks::check_calls). Recovery-Bench: [`select`](crate::benchmarks::select),
/// [`replay_commands`](crate::benchmarks::replay_commands), [`compare`](crate::benchmarks::compare()),
/// [`inherit`](crate::benchmarks::inherit).
pub mod benchmarks {}

#[doc = include_str!("calibration.md")]
///
/// ## In this crate
///
/// - [`GoldenSet`](crate::calibrate::GoldenSet) and [`GoldenEntry`](crate::calibrate::GoldenEntry): labelled runs.
/// - [`sample_runs`](crate::calibrate::sample_runs): draws runs to label.
/// - [`calibrate`](crate::calibrate) and [`CalibrationReport`](crate::calibrate::CalibrationReport): the figures.
/// - [`perturb`](crate::calibrate::perturb): the changes that pass^k tries.
/// - [`tier`](crate::calibrate::tier) and [`compare_with_baseline`](crate::calibrate::compare_with_baseline): gates.
/// - [`sweep`](crate::calibrate::sweep): the figures for each value of one parameter.
/// - [`Detector::explain`](crate::Detector::explain): the reasons for a verdict.
pub mod calibration {}

#[doc = include_str!("ci.md")]
pub mod ci {}

#[doc = include_str!("detectors.md")]
///
/// ## In this crate
///
/// - [`Loop`](crate::Loop), [`ToolErrorRecovery`](crate::ToolErrorRecovery),
///   [`FeedbackBlindness`](crate::FeedbackBlindness), [`RouteInefficiency`](crate::RouteInefficiency),
///   [`WastedActions`](crate::WastedActions), [`MalformedCall`](crate::MalformedCall),
///   [`ExpectedAction`](crate::ExpectedAction): the detectors.
/// - [`Registry`](crate::Registry): detectors from JSON.
/// - [`Detector`](crate::Detector), [`Fold`](crate::Fold), [`Rule`](crate::detect::Rule): traits for your own.
/// - [`Explanation`](crate::detect::Explanation): counterfactuals and near misses.
pub mod detectors {}

#[doc = include_str!("embedding.md")]
///
/// ## In this crate
///
/// - [`Trace`](crate::Trace), [`read_traces`](crate::read_traces), [`Scanner`](crate::Scanner): finished runs.
/// - [`Monitor`](crate::Monitor), [`Update`](crate::live::Update): live steps.
/// - [`Guard`](crate::live::Guard), [`Hook`](crate::live::Hook), [`Advice`](crate::live::Advice): hooks of coding
///   agents.
/// - [`TraceAssembler`](crate::TraceAssembler), [`AssemblerOptions`](crate::live::AssemblerOptions),
///   [`LiveEvent`](crate::live::LiveEvent), [`SpanBatch`](crate::read::SpanBatch): spans.
/// - [`EventContext`](crate::export::EventContext), [`otlp_json`](crate::export::otlp_json): evaluation events.
/// - [`operations`]: the collector as a service.
pub mod embedding {}

#[expect(
    clippy::doc_markdown,
    reason = "the table of formats names products and files as the program prints them"
)]
#[doc = include_str!("formats.md")]
///
/// ## In this crate
///
/// - [`Format`](crate::read::Format): the formats.
/// - [`read_traces`](crate::read_traces), [`read_slice`](crate::read::read_slice),
///   [`read_stream`](crate::read::read_stream), [`ReadOptions`](crate::ReadOptions): the readers.
/// - [`ReadSummary`](crate::read::ReadSummary): what was read from an input and what was skipped.
/// - [`Content`](crate::trace::Content): content that was recorded, and content that was not.
/// - [`NATIVE_VERSION`](crate::trace::NATIVE_VERSION): the native form.
pub mod formats {}

#[doc = include_str!("operations.md")]
pub mod operations {}

#[doc = include_str!("python.md")]
pub mod python {}

#[doc = include_str!("scale.md")]
///
/// ## In this crate
///
/// - [`Scanner`](crate::Scanner), [`ScanOptions`](crate::scan::ScanOptions): one machine.
/// - [`PartialState`](crate::merge::PartialState), [`ScanPart`](crate::merge::ScanPart),
///   [`ReplicationPart`](crate::merge::ReplicationPart), [`Files`](crate::merge::Files): several machines.
pub mod scale {}

#[doc = include_str!("statistics.md")]
///
/// ## In this crate
///
/// - [`stats`](crate::stats): the formulas.
/// - [`Replication`](crate::replicate::Replication): the correlations as published.
/// - [`ReplicationAnalysis`](crate::replicate::ReplicationAnalysis): intervals and tests.
/// - [`GroupedReplication`](crate::replicate::GroupedReplication): groups other than model and domain.
/// - [`Comparison`](crate::compare::Comparison): two agents on the same tasks.
pub mod statistics {}
