//! `wrongturn compare`: compares two agents, or one before and after a change, on the same tasks.
//!
//! Prints which one succeeds more often and how certain that is, pass^k, the findings of both sides, how much
//! the behaviour changed, and which tasks flipped. Without paths, it compares two of the bundled scripted
//! policies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common;
use crate::common::arguments::{Resamples, Scanning, Surety, detector};
use crate::common::findings::counted;
use crate::common::inputs::{self, Inputs};
use crate::common::tables::TableFiles;
use clap::Parser;
use serde_json::Value;
use wrongturn::{
    Detector, Registry, Scanner,
    compare::{ComparedRun, Comparison, DetectorComparison, PairedOutcomes},
    detect::{Preset, with_min_confidence},
    report::{comparison_document, why_unshared},
    scan::{ScanOptions, TraceRecord},
    stats::{Resampling, mcnemar},
    trace::Actors,
};

/// Maximum number of models named if the requested one is missing.
const MODELS_NAMED: usize = 20;

/// Compares two agents on the tasks that both tried.
#[derive(Parser)]
#[command(after_help = common::notes(
    "files or directories of runs of any format, one for each agent; without any, two of the bundled scripted policies. \
     To compare two models in one directory, name it twice: compare runs/ runs/ --first-model A --second-model B.",
    "tables on standard output, and the requested files. No output replaces an input.",
    "wrongturn compare --html report.html --markdown report.md",
))]
pub(crate) struct Arguments {
    /// File or directory of the first agent's runs
    #[arg(requires = "second")]
    first: Option<PathBuf>,
    /// File or directory of the second agent's runs
    second: Option<PathBuf>,
    /// Only runs of this model on the first side
    #[arg(long, value_name = "MODEL")]
    first_model: Option<String>,
    /// Only runs of this model on the second side
    #[arg(long, value_name = "MODEL")]
    second_model: Option<String>,
    /// Whose actions count (agent, user, all)
    #[arg(long, default_value = "agent", hide_short_help = true)]
    actors: Actors,
    /// Print all tables
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    scan: Scan,
    #[command(flatten)]
    resampling: Resamples,
    #[command(flatten)]
    files: TableFiles,
}

#[derive(clap::Args)]
struct Scan {
    #[command(flatten)]
    surety: Surety,
    #[command(flatten)]
    scanning: Scanning,
}

/// Fails if the detectors fire more often than on earlier runs of the same tasks.
#[derive(Parser)]
#[command(after_help = common::notes_with(
    "files or directories of runs of any format, on the same tasks.",
    "a line for each detector, with McNemar's exact test over pairs of runs of the same task, on standard output. `too \
     few` are so few pairs that none of their outcomes could fail.",
    common::GATE_STATUS,
    "wrongturn gate golden/tau2 --against golden/tau2 --detectors loop",
))]
pub(crate) struct Gate {
    /// File or directory of the new runs
    new: PathBuf,
    /// File or directory of the earlier runs
    #[arg(long, value_name = "OLD")]
    against: PathBuf,
    /// Detectors that the gate checks, separated by commas; default: all but the opt-in ones
    #[arg(long, alias = "detector", value_delimiter = ',', value_name = "ID", value_parser = detector)]
    detectors: Vec<String>,
    /// Fail on p-values below this
    #[arg(long, default_value_t = 0.05, value_name = "P", value_parser = alpha)]
    alpha: f64,
    #[command(flatten)]
    scan: Scan,
}

fn alpha(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|alpha| (0.0..=1.0).contains(alpha) && *alpha > 0.0);
    share.ok_or_else(|| "expected a number above 0, at most 1".to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let bundled = || common::records::golden("tau2");
    let by_default = |model: &Option<String>, bundled: &str| {
        model.clone().or_else(|| arguments.first.is_none().then(|| bundled.to_owned()))
    };
    let models = [
        by_default(&arguments.first_model, "scripted-careless"),
        by_default(&arguments.second_model, "scripted-persistent"),
    ];
    let or_bundled = |path: &Option<PathBuf>| path.clone().map_or_else(bundled, Ok);
    let paths = [or_bundled(&arguments.first)?, or_bundled(&arguments.second)?];
    let resampling = arguments.resampling.options();
    let scan = &arguments.scan;
    let detectors = Registry::default().build(&[], Preset::Default, arguments.actors, &Value::Null)?;
    scan.compare(&paths, &models, detectors, true, &resampling, |comparison| {
        let document = comparison_document(comparison);
        arguments.files.report(&document, comparison, arguments.full)?;
        Ok(0)
    })
}

pub(crate) fn gate(arguments: &Gate) -> Result<u8, common::Failure> {
    // The intervals of rates are not shown, so one resample is enough.
    let resampling = Resampling { resamples: 1, ..Resampling::default() };
    let paths = [arguments.against.clone(), arguments.new.clone()];
    let ids: Vec<&str> = arguments.detectors.iter().map(String::as_str).collect();
    let detectors = Registry::default().build(&ids, Preset::Default, Actors::Agent, &Value::Null)?;
    arguments.scan.compare(&paths, &[None, None], detectors, false, &resampling, |comparison| {
        let (mut text, mut status) = (String::new(), 0);
        for DetectorComparison { detector, paired, .. } in &comparison.detectors {
            let PairedOutcomes { both, first_only, second_only, neither, .. } = *paired;
            let p = paired.p.unwrap_or(1.0);
            let is_worse = second_only > first_only && p < arguments.alpha;
            let (old, new) = (both + first_only, both + second_only);
            let pairs = both + first_only + second_only + neither;
            // The worst outcome is that each pair got worse.
            let may_fail = mcnemar(0, pairs) < arguments.alpha;
            let verdict = match (is_worse, may_fail) {
                (true, _) => "FAILED",
                (false, true) => "ok",
                (false, false) => "too few",
            };
            let pairs = counted(pairs, "pair");
            text += &format!("{verdict:7} {detector:22} {old} before, {new} now, of {pairs}; p = {p:.4}\n");
            status = if is_worse { common::FAILED } else { status };
        }
        common::report(&text)?;
        Ok(status)
    })
}

impl Scan {
    /// Reads and compares both sides, calls `show`, then reports which inputs could not be read.
    fn compare(
        &self,
        paths: &[PathBuf; 2],
        models: &[Option<String>; 2],
        detectors: Vec<Arc<dyn Detector>>,
        fingerprints: bool,
        resampling: &Resampling,
        show: impl FnOnce(&Comparison) -> Result<u8, common::Failure>,
    ) -> Result<u8, common::Failure> {
        common::output::protect(paths)?;
        let Scanning { metadata, threads, .. } = &self.scanning;
        let options = ScanOptions { fingerprints, ..self.scanning.options()? };
        let run_table = options.run_table.clone();
        let scanner = Scanner::new(with_min_confidence(detectors, self.surety.min_confidence), options)?;
        let mut inputs = Inputs::default();
        let mut side = |path: &PathBuf, model: &Option<String>| -> Result<_, common::Failure> {
            let mut runs = Vec::new();
            let mut models = BTreeSet::new();
            let chosen = |record: TraceRecord| {
                let named = record.metadata.model.clone();
                let chosen = model.is_none() || named.as_deref() == model.as_deref();
                (named, chosen.then(|| ComparedRun::of(&record)))
            };
            let read = inputs::scan(&scanner, std::slice::from_ref(path), chosen, |(named, run)| {
                models.extend(named);
                runs.extend(run);
                Ok(())
            })?;
            let is_lacking = runs.is_empty() && !read.is_nothing_read();
            inputs.add(read);
            if let Some(model) = model.as_ref().filter(|_| is_lacking) {
                inputs.report();
                return Err(nobody(model, path, &models).into());
            }
            Ok((model.clone().unwrap_or_else(|| path.display().to_string()), runs))
        };
        let (first, second) = (side(&paths[0], &models[0])?, side(&paths[1], &models[1])?);
        if inputs.is_nothing_read() {
            return inputs.finish();
        }
        let comparison = threads
            .pool()?
            .install(|| Comparison::of((&first.0, &first.1), (&second.0, &second.1), resampling))?;
        if comparison.tasks == 0 {
            let why = format!("{} --meta can name tasks.", why_unshared(&comparison));
            let is_whole = inputs.finish()? == 0;
            return Err(if is_whole { why.into() } else { common::Unread(why).into() });
        }
        let status = show(&comparison)?;
        metadata.tell(run_table.as_ref());
        let unread = inputs.finish()?;
        Ok(if status == 0 { unread } else { status })
    }
}

/// Returns the error for a side without runs of the requested model. It names the models of the side.
fn nobody(model: &str, path: &Path, models: &BTreeSet<Arc<str>>) -> String {
    let mut there: Vec<&str> = models.iter().map(AsRef::as_ref).take(MODELS_NAMED).collect();
    if models.len() > MODELS_NAMED {
        there.push("…");
    }
    let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    format!("no run of the model `{model}` in {}; models there: {there}", path.display())
}
