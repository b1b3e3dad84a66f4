//! Guides: what goes further than the page of a type, in the order in which one may want to read it.
//!
//! * [`detectors`]: what each finds, what counts as the same action and as an error, configuration, one's own.
//! * [`formats`]: what is read, what stands beside it, and what becomes of what cannot be read.
//! * [`embedding`]: finished runs, steps one by one, spans in any order, a receiver, features.
//! * [`statistics`]: the replication of the tau2-bench finding, intervals that hold, two agents side by side.
//! * [`calibration`]: how good the detectors are, and the way from runs to a gate in CI.
//! * [`benchmarks`]: the evaluations of BenchTrace and Recovery-Bench.
//! * [`operations`]: the collector as a service: settings, metrics, sizes, what is lost when.
//! * [`python`]: the Python package: reports, tables, live runs, statistics, and the frameworks that it plugs into.
//! * [`scale`]: speed, memory, and results in parts that merge exactly.
//!
//! Every command on these pages is run by a test, and every snippet. Each page ends with links to the types it names.

#[doc = include_str!("benchmarks.md")]
///
/// ## In this crate
///
/// [`evaluation`](crate::benchmarks) lists questions and answers: [`reflect`](crate::benchmarks::reflect),
/// [`evolve`](crate::benchmarks::evolve), [`agree`](crate::benchmarks::agree),
/// [`detect_modes`](crate::benchmarks::detect_modes), [`check_calls`](crate::benchmarks::check_calls),
/// [`select`](crate::benchmarks::select), [`replay_commands`](crate::benchmarks::replay_commands),
/// [`compare`](crate::benchmarks::compare()), [`inherit`](crate::benchmarks::inherit).
pub mod benchmarks {}

#[doc = include_str!("calibration.md")]
///
/// ## In this crate
///
/// [`GoldenSet`](crate::calibrate::GoldenSet) and [`GoldenEntry`](crate::calibrate::GoldenEntry) hold labelled runs, [`sample_runs`](crate::calibrate::sample_runs) chooses
/// those to read, [`calibrate`](crate::calibrate) gives a [`CalibrationReport`](crate::calibrate::CalibrationReport),
/// [`perturb`](crate::calibrate::perturb) is behind pass^k, [`tier`](crate::calibrate::tier) and
/// [`compare_with_baseline`](crate::calibrate::compare_with_baseline) are the gates, [`sweep`](crate::calibrate::sweep) varies a parameter, and
/// [`Detector::explain`](crate::Detector::explain) says why.
pub mod calibration {}

#[doc = include_str!("ci.md")]
pub mod ci {}

#[doc = include_str!("detectors.md")]
///
/// ## In this crate
///
/// [`Loop`](crate::Loop), [`ToolErrorRecovery`](crate::ToolErrorRecovery),
/// [`FeedbackBlindness`](crate::FeedbackBlindness), [`RouteInefficiency`](crate::RouteInefficiency),
/// [`WastedActions`](crate::WastedActions), [`MalformedCall`](crate::MalformedCall) and
/// [`ExpectedAction`](crate::ExpectedAction); [`Registry`](crate::Registry) makes them from JSON;
/// [`Detector`](crate::Detector), [`Fold`](crate::Fold) and [`Rule`](crate::detect::Rule) are for one's own;
/// [`Explanation`](crate::detect::Explanation) says why.
pub mod detectors {}

#[doc = include_str!("embedding.md")]
///
/// ## In this crate
///
/// [`Trace`](crate::Trace), [`read_traces`](crate::read_traces) and [`Scanner`](crate::Scanner) for finished runs;
/// [`Monitor`](crate::Monitor) and [`Update`](crate::live::Update) for steps one by one;
/// [`Guard`](crate::live::Guard), [`Hook`](crate::live::Hook) and [`Advice`](crate::live::Advice) for the hooks of coding agents;
/// [`TraceAssembler`](crate::TraceAssembler), [`AssemblerOptions`](crate::live::AssemblerOptions),
/// [`LiveEvent`](crate::live::LiveEvent) and [`SpanBatch`](crate::read::SpanBatch) for spans;
/// [`EventContext`](crate::export::EventContext) and [`otlp_json`](crate::export::otlp_json) for evaluation events.
pub mod embedding {}

#[expect(
    clippy::doc_markdown,
    reason = "the table of formats names products and files as the program prints them"
)]
#[doc = include_str!("formats.md")]
///
/// ## In this crate
///
/// [`Format`](crate::read::Format) lists the formats; [`read_traces`](crate::read_traces), [`read_slice`](crate::read::read_slice) and
/// [`read_stream`](crate::read::read_stream) read them as [`ReadOptions`](crate::ReadOptions) say, and a
/// [`ReadSummary`](crate::read::ReadSummary) says what became of an input; [`Content`](crate::trace::Content) is what was recorded and what was
/// not; [`NATIVE_VERSION`](crate::trace::NATIVE_VERSION) describes the native form.
pub mod formats {}

#[doc = include_str!("operations.md")]
pub mod operations {}

#[doc = include_str!("python.md")]
pub mod python {}

#[doc = include_str!("scale.md")]
///
/// ## In this crate
///
/// [`Scanner`](crate::Scanner) and [`ScanOptions`](crate::scan::ScanOptions) for one machine;
/// [`PartialState`](crate::merge::PartialState), [`ScanPart`](crate::merge::ScanPart), [`ReplicationPart`](crate::merge::ReplicationPart) and
/// [`Files`](crate::merge::Files) for several.
pub mod scale {}

#[doc = include_str!("statistics.md")]
///
/// ## In this crate
///
/// [`stats`](crate::stats) has the formulas; [`Replication`](crate::replicate::Replication) is as published,
/// [`ReplicationAnalysis`](crate::replicate::ReplicationAnalysis) adds intervals and tests, [`GroupedReplication`](crate::replicate::GroupedReplication) takes other
/// groups; [`Comparison`](crate::compare::Comparison) holds two agents against each other.
pub mod statistics {}
