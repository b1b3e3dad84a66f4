//! The command line of `bench benchtrace`.

#![allow(clippy::doc_markdown, reason = "comments on commands are their help texts")]

use std::path::PathBuf;

use crate::common;
use crate::common::arguments::Resamples;
use crate::common::tables::TableFiles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use wrongturn::benchmarks::{Definition, EvolutionScorer, ModeRules};

/// Computes BenchTrace's evaluations of reflection and evolution
#[derive(Parser)]
#[command(after_help = common::notes(
    "files of one JSON object per line (reflect --episodes: a BenchTrace file); without any, the bundled generated data \
     of golden/benchtrace.",
    "tables on standard output, or JSON with `--json -`; files where they are asked for.",
    "wrongturn bench benchtrace evolve --mode code --json out.json",
))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Scores predictions against annotated episodes
    ///
    /// GOLD.jsonl:
    ///   {"id", "task", "subtask"?, "detection"?: "yes"|"no",
    ///    "failures": [{"type", "where": [a, b], "diagnosis"}]}
    /// PREDICTIONS.jsonl, of one model:
    ///   {"episode", "model"?, "detection": "yes"|"no"|null, "ranges": [[a, b]],
    ///    "diagnoses": [{"failure", "mode", "description", "judge"?: 0|0.5|1}]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Reflect(Reflect),
    /// Measures how often failures are avoided after learning from them
    ///
    /// CASES, one per line:
    ///   {"id", "framework"?, "model"?, "task", "subtask"?, "proximity"?, "distance"?,
    ///    "signal"?, "target": {"type", "where"}, "truncation",
    ///    "original": [{"step", "obs", "action"}], "post": [the same],
    ///    "original_obs"?: "before"|"after", "post_obs"?, "score"?, "score_max"?}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Evolve(Evolve),
    /// Measures how close signals are to the failures under test
    ///
    /// INPUT, one pair per line:
    ///   {"id", "signal": {"episode", "task", "subtask", "type", "where"},
    ///    "test": {the same}}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Proximity(TwoReadings),
    /// Compares two annotators
    ///
    /// INPUT, one episode per line:
    ///   {"id", "a": [{"type", "where", "tier": "core"|"marginal"}], "b": [the same]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Agree(TwoReadings),
    /// Compares avoidance after right and wrong reflection
    ///
    /// INPUT, one record per line:
    ///   {"case", "framework"?, "class", "detection", "localization", "diagnosis",
    ///    "avoided": true|false|null}
    /// or --gold, --predictions and --cases as for reflect and evolve, which are joined by signal
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Relate(Relate),
    /// Finds the rule-based failures of text-game episodes
    ///
    /// INPUT, one episode per line:
    ///   {"id", "trajectory": [{"step", "obs", "action", "cum_score"?, "reward"?}],
    ///    "milestones"?: [{"action", "score_after", "room"?}], "final_score"?}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Modes(Modes),
    /// Finds malformed calls and missed expected actions in tool runs
    ///
    /// INPUT, one run per line:
    ///   {"id", "actions": [{"step", "name", "arguments", "status", "observation",
    ///    "arguments_text"?}], "expected": [{"name", "arguments", "compare_args"}]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Calls(Plain),
}

#[derive(Args)]
pub(super) struct Reflect {
    /// Annotated episodes
    #[arg(long, value_name = "GOLD.jsonl", requires = "predictions")]
    pub(super) gold: Option<PathBuf>,
    /// Predictions of one model
    #[arg(long, value_name = "PREDICTIONS.jsonl", requires = "gold")]
    pub(super) predictions: Option<PathBuf>,
    /// Take the predictions from this crate's detectors, run on --episodes
    #[arg(long, value_enum, value_name = "WHO", conflicts_with_all = ["predictions", "gold"], requires = "episodes")]
    pub(super) predict: Option<Predictor>,
    /// A BenchTrace file of episodes with their annotated failures
    #[arg(long, value_name = "EPISODES.json", requires = "predict")]
    pub(super) episodes: Option<PathBuf>,
    /// Whose definition is followed: paper, code
    #[arg(long, default_value_t)]
    pub(super) mode: Definition,
    /// Add a funnel, `recall`, in which localization passes at this recall or above
    #[arg(long, value_name = "RECALL", value_parser = share)]
    pub(super) recall_gate: Option<f64>,
    #[command(flatten)]
    pub(super) intervals: Intervals,
    #[command(flatten)]
    pub(super) out: TableFiles,
}

#[derive(Args)]
pub(super) struct Evolve {
    /// Test cases
    pub(super) cases: Option<PathBuf>,
    /// Which scorer decides: paper, code, cosine
    #[arg(long, default_value_t)]
    pub(super) mode: EvolutionScorer,
    #[command(flatten)]
    pub(super) intervals: Intervals,
    #[command(flatten)]
    pub(super) out: TableFiles,
}

#[derive(Args)]
pub(super) struct TwoReadings {
    /// The input
    pub(super) input: Option<PathBuf>,
    /// Whose definition is followed: paper, code
    #[arg(long, default_value_t)]
    pub(super) mode: Definition,
    #[command(flatten)]
    pub(super) out: TableFiles,
}

#[derive(Args)]
pub(super) struct Relate {
    /// The input
    #[arg(conflicts_with = "cases")]
    pub(super) input: Option<PathBuf>,
    /// Annotated episodes
    #[arg(long, value_name = "GOLD.jsonl", requires = "cases")]
    pub(super) gold: Option<PathBuf>,
    /// Predictions of one model
    #[arg(long, value_name = "PREDICTIONS.jsonl", requires = "cases")]
    pub(super) predictions: Option<PathBuf>,
    /// Test cases, whose signals are annotated episodes
    #[arg(long, value_name = "CASES.jsonl", requires_all = ["gold", "predictions"])]
    pub(super) cases: Option<PathBuf>,
    /// Whose definitions are followed: paper, code
    #[arg(long, default_value_t, requires = "cases")]
    pub(super) mode: Definition,
    #[command(flatten)]
    pub(super) out: TableFiles,
}

#[derive(Args)]
pub(super) struct Modes {
    /// The input
    pub(super) input: Option<PathBuf>,
    /// Whose rules are followed: paper, code, dataset (the published labels)
    #[arg(long, default_value_t)]
    pub(super) mode: ModeRules,
    #[command(flatten)]
    pub(super) out: TableFiles,
}

#[derive(Args)]
pub(super) struct Plain {
    /// The input
    pub(super) input: Option<PathBuf>,
    #[command(flatten)]
    pub(super) out: TableFiles,
}

#[derive(Args)]
pub(super) struct Intervals {
    #[command(flatten)]
    pub(super) resampling: Resamples,
    /// Also write 95% intervals to the JSON, under `intervals`
    #[arg(long = "intervals")]
    pub(super) wanted: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Predictor {
    Detectors,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("expected a number from 0 to 1, got `{text}`")),
    }
}
