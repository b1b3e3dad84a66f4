//! The reports of a replication, from what was found in one part or merged of many.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wrongturn::{
    merge::{Files, ReplicationPart},
    replicate::{
        ClusterBy, GroupBy, GroupedReplication, Inference, InferenceOptions, PassK, Relation, Replication,
        RewardRegression, SimulationRow, SummedReplication, distinct_runs, pass_k_by_pair,
    },
    report::{
        TEXT_WIDTH, Table, forest_chart, grouped_tables, pass_k_table, regression_table, render_grouped,
        render_inference, render_pass_k, render_replication, render_summed, replication_html,
        replication_tables, simulation_table, summed_html, summed_tables,
    },
    stats::Resampling,
    trace::Actors,
};

use super::Failure;
use super::arguments::Threads;
use super::output::{Output, write_jsonl, write_text};
use super::tables::TableFiles;

/// The measure of recovery that is correlated with the reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(crate) enum Rate {
    /// Failed calls whose tool succeeded later, by the published rule
    #[default]
    RecoveryRate,
    /// Goals that were reached after a failure, by the default rule
    GoalRecovery,
}

impl Rate {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_published(&self) -> bool {
        *self == Self::RecoveryRate
    }
}

/// Printed above the tables of [`Rate::GoalRecovery`].
const GOALS: &str = "\
By goals: \"errors\" are goals in which a call failed, \"recovered\" those that were
reached, and the recovery rate is goal_recovery.

";

/// What the figures depend on besides the runs. It is part of every partial state.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Options {
    pub(crate) actors: Actors,
    pub(crate) threshold: f64,
    #[serde(default, skip_serializing_if = "Rate::is_published")]
    pub(crate) rate: Rate,
    pub(crate) as_published: bool,
    pub(crate) cluster: ClusterBy,
    pub(crate) min_n: u64,
    pub(crate) group_by: Vec<GroupBy>,
    pub(crate) keep_duplicates: bool,
    pub(crate) resamples: u32,
    pub(crate) seed: u64,
    #[serde(default)]
    pub(crate) regression: bool,
    pub(crate) pass_k: bool,
    pub(crate) exact_runs: u64,
}

impl Options {
    fn inference(&self) -> InferenceOptions {
        InferenceOptions {
            cluster: self.cluster,
            min_n: self.min_n,
            keep_duplicates: self.keep_duplicates,
            resampling: Resampling {
                resamples: self.resamples as usize,
                seed: self.seed,
                ..Resampling::default()
            },
        }
    }
}

/// Where the reports go besides the terminal.
#[derive(clap::Args)]
pub(crate) struct Outputs {
    #[command(flatten)]
    pub(crate) files: TableFiles,
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

/// What the figures depend on, and nothing else.
#[derive(Serialize)]
struct Config {
    actors: Actors,
    threshold: f64,
    #[serde(skip_serializing_if = "Rate::is_published")]
    rate: Rate,
    version: &'static str,
}

/// Prints the reports and writes those that were asked for.
pub(crate) fn report(
    part: ReplicationPart,
    options: &Options,
    outputs: &Outputs,
    threads: Threads,
) -> Result<(), Failure> {
    if !options.rate.is_published() && (outputs.files.html.is_some() || outputs.chart.is_some()) {
        return Err(
            "expected --rate recovery_rate with --html and --chart, got goal_recovery: their texts are of \
                    failed calls"
                .into(),
        );
    }
    let ReplicationPart { files, mut runs, .. } = part;
    let pool = threads.pool()?;
    let writing = Writing { options, outputs, files: &files, pool: &pool };
    if let Some(rows) = runs.rows() {
        if let Some(path) = &outputs.out {
            write_rows(path, rows)?;
        }
        if options.as_published { writing.published(rows) } else { writing.inferred(rows) }
    } else {
        let summed = pool.install(|| SummedReplication::of(&runs, &options.inference()))?;
        writing.summed(&summed.ok_or("neither runs nor sums are kept")?)
    }
}

struct Writing<'w> {
    options: &'w Options,
    outputs: &'w Outputs,
    files: &'w Files,
    pool: &'w rayon::ThreadPool,
}

impl Writing<'_> {
    fn summary<F: Serialize>(
        &self,
        figures: &F,
        pass_k: Option<&[PassK]>,
        grouped: Option<&GroupedReplication>,
        regression: Option<&RewardRegression>,
    ) -> Result<(), Failure> {
        let Options { actors, threshold, rate, .. } = *self.options;
        let config = Config { actors, threshold, rate, version: env!("CARGO_PKG_VERSION") };
        let summary = Summary { figures, pass_k, grouped, regression, inputs: self.files.figures(), config };
        self.outputs.files.write_json(&summary)
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        let heading = if self.options.rate.is_published() { "" } else { GOALS };
        self.outputs.files.print(&format!("{heading}{text}"))
    }

    fn published(&self, rows: &[SimulationRow]) -> Result<(), Failure> {
        let pass_k = self.options.pass_k.then(|| pass_k_by_pair(rows));
        let replication = Replication::of(rows);
        self.summary(&replication, pass_k.as_deref(), None, None)?;
        let more = pass_k.as_deref().map(render_pass_k).unwrap_or_default();
        self.print(&(render_replication(&replication) + &more))
    }

    fn inferred(&self, rows: &[SimulationRow]) -> Result<(), Failure> {
        let (options, by) = (self.options.inference(), &self.options.group_by);
        let pass_k = self.options.pass_k.then(|| pass_k_by_pair(rows));
        let inference = self.pool.install(|| Inference::of(rows, &options))?;
        let mut text = render_inference(&inference);
        let mut all = replication_tables(&inference);
        let grouped = (!by.is_empty())
            .then(|| self.pool.install(|| GroupedReplication::of(rows, by, &options)))
            .transpose()?;
        if let Some(grouped) = &grouped {
            text += &format!("\n{}", render_grouped(grouped));
            all.extend(grouped_tables(grouped));
        }
        let regression = self.options.regression.then(|| RewardRegression::of(rows, &options));
        if let Some(regression) = &regression {
            let table = regression_table(regression);
            text += &format!("\n{}", table.text(TEXT_WIDTH));
            all.push(table);
        }
        add_pass_k(pass_k.as_deref(), &mut text, &mut all);
        let page = || replication_html(&distinct_runs(rows).0, &inference, &pass_k_by_pair(rows));
        self.files(&all, page)?;
        if let Some(path) = &self.outputs.chart {
            let chart = forest_chart(&inference, Relation::RecoveryWithErrors);
            write_text(path, &chart.svg())?;
        }
        self.summary(&inference, pass_k.as_deref(), grouped.as_ref(), regression.as_ref())?;
        self.print(&text)
    }

    /// What can be told of more runs than are kept one by one.
    fn summed(&self, summed: &SummedReplication) -> Result<(), Failure> {
        if self.outputs.out.is_some() || self.outputs.chart.is_some() || self.options.regression {
            let most = self.options.exact_runs;
            return Err(format!(
                "--out, --chart and --regression need the runs, and only {most} are kept (--exact-runs)"
            )
            .into());
        }
        let pass_k = self.options.pass_k.then_some(summed.pass_k.as_slice());
        if self.options.as_published {
            self.summary(&summed.published, pass_k, None, None)?;
            let more = pass_k.map(render_pass_k).unwrap_or_default();
            return self.print(&(render_replication(&summed.published) + &more));
        }
        let (mut text, mut all) = (render_summed(summed), summed_tables(summed));
        add_pass_k(pass_k, &mut text, &mut all);
        self.files(&all, || summed_html(summed))?;
        self.summary(summed, pass_k, None, None)?;
        self.print(&text)
    }

    fn files(&self, all: &[Table], page: impl FnOnce() -> String) -> Result<(), Failure> {
        self.outputs.files.write(all)?;
        self.outputs.files.write_page(page)
    }
}

/// Adds pass^k to what is printed and to the tables, where it is asked for.
fn add_pass_k(pass_k: Option<&[PassK]>, text: &mut String, tables: &mut Vec<Table>) {
    if let Some(groups) = pass_k {
        let table = pass_k_table(groups);
        *text += &format!("\n{}", table.text(TEXT_WIDTH));
        tables.push(table);
    }
}

/// Writes a row per run.
pub(crate) fn write_rows(path: &Path, rows: &[SimulationRow]) -> Result<(), Failure> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        let mut out = Output::create(path)?;
        simulation_table(rows).write_csv(&mut out)?;
        out.finish()
    } else {
        write_jsonl(path, rows)
    }
}
