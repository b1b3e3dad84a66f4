//! Reports a replication of one part, or of several merged parts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wrongturn::{
    merge::{Files, ReplicationPart},
    replicate::{
        ClusterBy, GroupBy, GroupedReplication, PassK, Relation, Replication, ReplicationAnalysis,
        ReplicationOptions, RewardRegression, SimulationRow, SummedReplication, mark_duplicates,
        pass_k_by_pair,
    },
    report::{
        ReplicationView, forest_chart, render_replication, replication_document, simulation_table,
        summed_document,
    },
    trace::Actors,
};

use super::Failure;
use super::arguments::{Resamples, Threads};
use super::output::{Output, write_jsonl, write_text};
use super::tables::TableFiles;
use super::terminal::printable;

/// Which copies of a run count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Duplicates {
    /// All copies
    Keep,
    /// Only the copy with the most metadata
    #[default]
    Drop,
    /// Like drop, and print a table of the dropped copies
    List,
}

/// Options that affect the figures. Partial states record them, and `merge` requires them to be equal.
#[derive(clap::Args, Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Options {
    /// Whose actions count (agent, user, all)
    #[arg(long, default_value = "all", hide_short_help = true)]
    pub(crate) actors: Actors,
    /// Recovery rate below which a run is flagged, in (0, 1]
    #[arg(long, default_value_t = 0.5, value_name = "RATE")]
    pub(crate) threshold: f64,
    /// Print only the tables of the published note: count every run, include pairs with an unknown model or domain, and
    /// rank signals by |r|
    #[arg(long, conflicts_with_all = ["csv", "markdown", "latex", "html", "chart"])]
    pub(crate) as_published: bool,
    /// Cluster runs by this: task (within its domain), file, model-domain or none
    #[arg(long, default_value = "task", value_name = "WHAT")]
    cluster: ClusterBy,
    /// Minimum number of runs with errors for a model-domain pair to be ranked among the signals
    #[arg(long, default_value_t = 20, value_name = "N", hide_short_help = true)]
    min_n: u64,
    /// Read any format, and add tables grouped by these (agent, model, domain, task); count recovery separately for
    /// each program run in a shell
    #[arg(long, value_delimiter = ',', value_name = "WHAT", conflicts_with = "as_published")]
    pub(crate) group_by: Vec<GroupBy>,
    /// How to treat runs recorded twice (same id, or same messages, task, agent, model and trial): keep all, drop the
    /// copies with less metadata, or list (drop, and print a table of them)
    #[arg(long, value_enum, default_value_t = Duplicates::Drop, value_name = "WHAT", hide_possible_values = true,
        conflicts_with = "as_published")]
    duplicates: Duplicates,
    #[command(flatten)]
    #[serde(flatten)]
    resampling: Resamples,
    /// Add regressions of the reward on recovery, errors and calls together, with cluster-robust standard errors
    #[arg(long, conflicts_with = "as_published")]
    #[serde(default)]
    regression: bool,
    /// Add tau-bench's pass^k per model and domain
    #[arg(long)]
    pass_k: bool,
    /// Maximum number of runs kept individually; above it, only sums by model, domain and task are kept
    #[arg(long, default_value_t = 200_000, value_name = "N", hide_short_help = true)]
    pub(crate) exact_runs: u64,
}

impl Options {
    fn analysis(&self) -> ReplicationOptions {
        ReplicationOptions {
            cluster: self.cluster,
            min_n: self.min_n,
            keep_duplicates: self.duplicates == Duplicates::Keep,
            resampling: self.resampling.options(),
        }
    }
}

/// Outputs in addition to the terminal.
#[derive(clap::Args)]
pub(crate) struct Outputs {
    #[command(flatten)]
    pub(crate) files: TableFiles,
    /// Print all tables
    #[arg(long)]
    pub(crate) full: bool,
    /// Write the forest plot of recovery on runs with errors to this file
    #[arg(long, value_name = "OUT.svg")]
    pub(crate) chart: Option<PathBuf>,
    /// Write one JSON object per run to this file, or CSV if its name ends in .csv
    #[arg(long, alias = "sims", value_name = "OUT.jsonl")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Serialize)]
struct Summary<'r, F: Serialize, I: Serialize> {
    #[serde(flatten)]
    figures: &'r F,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass_k: Option<&'r [PassK]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grouped: Option<&'r GroupedReplication>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regression: Option<&'r RewardRegression>,
    inputs: I,
    config: Config,
}

#[derive(Serialize)]
struct Config {
    actors: Actors,
    threshold: f64,
    version: &'static str,
}

/// Prints the report and writes the requested outputs.
pub(crate) fn report(
    part: ReplicationPart,
    options: &Options,
    outputs: &Outputs,
    threads: Threads,
) -> Result<(), Failure> {
    let ReplicationPart { files, mut runs, .. } = part;
    let pool = threads.pool()?;
    let writing = Writing { options, outputs, files: &files };
    let analysis = options.analysis();
    let Some(rows) = runs.rows() else {
        let summed = pool.install(|| SummedReplication::of(&runs, &analysis))?;
        return writing.summed(&summed.ok_or("neither runs nor sums are kept")?);
    };
    let mut rows = rows.to_vec();
    if !options.as_published {
        mark_duplicates(&mut rows);
    }
    if let Some(path) = &outputs.out {
        write_rows(path, &rows)?;
    }
    if options.as_published {
        let pass_k = options.pass_k.then(|| pass_k_by_pair(&rows));
        return writing.published(&Replication::of(&rows), pass_k.as_deref());
    }
    let by = &options.group_by;
    let found = pool.install(|| ReplicationAnalysis::of(&rows, &analysis))?;
    let grouped = (!by.is_empty())
        .then(|| pool.install(|| GroupedReplication::of(&rows, by, &analysis)))
        .transpose()?;
    let regression = options.regression.then(|| RewardRegression::of(&rows, &analysis));
    writing.analysed(&found, grouped.as_ref(), regression.as_ref())
}

struct Writing<'w> {
    options: &'w Options,
    outputs: &'w Outputs,
    files: &'w Files,
}

impl Writing<'_> {
    fn summary<'r, F: Serialize>(
        &self,
        figures: &'r F,
        pass_k: Option<&'r [PassK]>,
        grouped: Option<&'r GroupedReplication>,
        regression: Option<&'r RewardRegression>,
    ) -> impl Serialize {
        let Options { actors, threshold, .. } = *self.options;
        let config = Config { actors, threshold, version: env!("CARGO_PKG_VERSION") };
        Summary { figures, pass_k, grouped, regression, inputs: self.files.figures(), config }
    }

    fn published(&self, replication: &Replication, pass_k: Option<&[PassK]>) -> Result<(), Failure> {
        let files = &self.outputs.files;
        files.write_json(&self.summary(replication, pass_k, None, None))?;
        super::report(&printable(&render_replication(replication, pass_k)))
    }

    fn analysed(
        &self,
        analysis: &ReplicationAnalysis,
        grouped: Option<&GroupedReplication>,
        regression: Option<&RewardRegression>,
    ) -> Result<(), Failure> {
        let duplicates = self.options.duplicates == Duplicates::List;
        let view = ReplicationView { pass_k: self.options.pass_k, duplicates, grouped, regression };
        if let Some(path) = &self.outputs.chart {
            write_text(path, &forest_chart(analysis, Relation::RecoveryWithErrors).svg())?;
        }
        let pass_k = self.options.pass_k.then(|| pass_k_by_pair(&analysis.runs));
        let summary = self.summary(analysis, pass_k.as_deref(), grouped, regression);
        self.outputs.files.report(&replication_document(analysis, &view), &summary, self.outputs.full)
    }

    /// Reports a replication from sums, which are all that is kept of more than `exact_runs` runs.
    fn summed(&self, summed: &SummedReplication) -> Result<(), Failure> {
        if self.outputs.out.is_some() || self.outputs.chart.is_some() || self.options.regression {
            let most = self.options.exact_runs;
            return Err(format!(
                "--out, --chart and --regression need individual runs, which are not kept beyond {most} (--exact-runs)"
            )
            .into());
        }
        let pass_k = self.options.pass_k.then_some(summed.pass_k.as_slice());
        if self.options.as_published {
            return self.published(&summed.published, pass_k);
        }
        let document = summed_document(summed, self.options.pass_k);
        self.outputs.files.report(&document, &self.summary(summed, pass_k, None, None), self.outputs.full)
    }
}

/// Writes one row per run, as CSV if the path ends in `.csv` and as JSON lines otherwise.
pub(crate) fn write_rows(path: &Path, rows: &[SimulationRow]) -> Result<(), Failure> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        let mut out = Output::create(path)?;
        simulation_table(rows).write_csv(&mut out)?;
        out.finish()
    } else {
        write_jsonl(path, rows)
    }
}
