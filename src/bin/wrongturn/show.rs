//! `wrongturn show`: shows recorded runs as numbered steps with their findings, and explains the verdict of a
//! detector.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common;
use crate::common::arguments::{Reading, Surety, detector};
use crate::common::config::{Config, Judges};
use crate::common::inputs::find_run;
use crate::common::terminal::name;
use clap::Parser;
use wrongturn::{
    Detector, Finding, Trace,
    detect::Preset,
    read::Format,
    report::{render_explanation, render_run, render_step},
    scan::{ScanEvent, path_text},
    trace::Actors,
};

/// Shows a recorded run, step by step.
///
/// A line begins with the letters of the findings that include the step. Then come its number, its turn, who acted,
/// and for a call its status with the source: `flag` (recorded), `exit_code`, `text` (read from the answer), or why
/// it is unknown. Findings follow, each named by its detector and the step at which it was confirmed.
#[derive(Parser)]
#[command(after_help = common::notes(
    "a file or directory of runs of any format.",
    "one run, or the list of runs where there are several, on standard output.",
    "wrongturn show golden/tau2/scripted-quitter_airline.json --run 6",
))]
pub(crate) struct Arguments {
    /// File or directory; `-` is standard input
    path: PathBuf,
    /// The run: its id, or its position from 0 on; #3 is always a position. Default: the only run, else a list
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Show one step with everything that it holds
    #[arg(long, value_name = "STEP", conflicts_with_all = ["native", "explain"])]
    full: Option<u64>,
    /// Print the run in the native form instead, as JSON
    #[arg(long, alias = "json", conflicts_with = "explain")]
    native: bool,
    /// List only runs with findings
    #[arg(long, conflicts_with = "run")]
    flagged: bool,
    /// Explain the verdict of this detector: near misses, and changes that flip it
    #[arg(long, value_name = "ID", value_parser = detector)]
    explain: Option<String>,
    /// Settings; default: the nearest wrongturn.toml. A .json file holds configurations by detector
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    surety: Surety,
    #[command(flatten)]
    reading: Reading,
    /// Columns of a line; default: those of the terminal
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let (settings, least) = (Config::load(arguments.config.as_deref())?, arguments.surety.min_confidence);
    let Judges { own, profiles } =
        settings.build(arguments.explain.as_slice(), Preset::Default, Actors::Agent, least)?;
    let (mut path, mut runs, mut sources) = (Arc::from(arguments.path.as_path()), Vec::new(), Vec::new());
    let inputs = arguments.reading.read(&[&arguments.path], |event| {
        match event {
            ScanEvent::Begin(begun) => path = begun,
            ScanEvent::Record(trace) => runs.push(trace),
            ScanEvent::End(summary) => sources.resize(runs.len(), (Arc::clone(&path), summary.format)),
            _ => {}
        }
        Ok(())
    })?;
    let judges = |run: &Trace| {
        let place = runs.iter().position(|other| std::ptr::eq(other, run));
        let profile = place.and_then(|place| sources.get(place)).and_then(|(path, format)| {
            profiles.iter().find(|profile| profile.filter.matches(path, *format, run.metadata()))
        });
        profile.map_or(&*own, |profile| &profile.detectors)
    };
    let shown = show(arguments, &runs, &sources, &judges);
    inputs.report();
    shown?;
    Ok(inputs.status())
}

fn show<'d>(
    arguments: &Arguments,
    runs: &[Trace],
    files: &[(Arc<Path>, Option<Format>)],
    judges: &dyn Fn(&Trace) -> &'d [Arc<dyn Detector>],
) -> Result<(), common::Failure> {
    let width = arguments.width.map_or_else(common::width, usize::from);
    let Some(first) = runs.first() else {
        return Err(common::Unread::no("run", &arguments.path));
    };
    let trace = match &arguments.run {
        None if runs.len() > 1 => {
            let needs_one = arguments.native || arguments.full.is_some() || arguments.explain.is_some();
            if needs_one {
                return Err(format!("{} runs were read; choose one with --run", runs.len()).into());
            }
            let is_listed = |run: &Trace| !arguments.flagged || !findings(judges(run), run).is_empty();
            return common::print(&list(runs, files, &is_listed, width));
        }
        None => first,
        Some(name) => find_run(runs, &arguments.path, name)?,
    };
    if let Some(index) = arguments.full {
        let step = trace.steps().find(|step| step.index() == index);
        let step = step.ok_or_else(|| format!("the run has no step {index}"))?;
        return common::print(&render_step(&step));
    }
    if arguments.native {
        return common::print(&format!("{}\n", serde_json::to_string_pretty(trace)?));
    }
    let detectors = judges(trace);
    let findings = findings(detectors, trace);
    let heading = common::wrapped(&heading(trace), width, 2);
    common::print(&format!("{heading}\n\n{}", render_run(trace, &findings, width)))?;
    if arguments.explain.is_some() {
        for detector in detectors {
            common::print(&format!("\n{}", render_explanation(&detector.explain(trace))))?;
        }
        for finding in &findings {
            let evidence = serde_json::to_value(&finding.evidence)?;
            let rule = ["kind", "reason"].iter().find_map(|name| evidence.get(name)?.as_str());
            common::print(&rule.map_or_else(String::new, |rule| format!("  {} is a {rule}\n", finding.id)))?;
        }
    }
    Ok(())
}

fn findings(detectors: &[Arc<dyn Detector>], run: &Trace) -> Vec<Finding> {
    detectors.iter().flat_map(|detector| detector.detect(run).findings().to_vec()).collect()
}

/// Lists the runs that `is_listed` accepts, one per line, under the names of their files if there are several.
fn list(
    runs: &[Trace],
    files: &[(Arc<Path>, Option<Format>)],
    is_listed: &dyn Fn(&Trace) -> bool,
    width: usize,
) -> String {
    let mut text = String::new();
    let mut last = files.first().filter(|(first, _)| files.iter().all(|(file, _)| file == first));
    for ((place, trace), file) in runs.iter().enumerate().zip(files).filter(|((_, run), _)| is_listed(run)) {
        if last.is_none_or(|(last, _)| *last != file.0) {
            text += &format!("{}\n", path_text(file.0.as_os_str()));
            last = Some(file);
        }
        let line = format!("#{place:<5} {:>5} steps  {}", trace.steps().len(), heading(trace));
        text += &common::wrapped(&line, width, 20);
        text.push('\n');
    }
    text + "Choose one with --run.\n"
}

fn heading(trace: &Trace) -> String {
    let metadata = trace.metadata();
    let mut parts = vec![metadata.id.as_deref().map_or_else(|| "a run without an id".to_owned(), name)];
    let known = [
        ("model", metadata.model.as_deref()),
        ("domain", metadata.domain.as_deref()),
        ("task", metadata.task.as_deref()),
        ("ended by", metadata.termination.as_deref()),
    ];
    parts.extend(
        known.iter().filter_map(|(what, value)| value.map(|value| format!("{what} {}", name(value)))),
    );
    parts.extend(trace.reward().map(|reward| format!("reward {reward}")));
    parts.join(", ")
}
