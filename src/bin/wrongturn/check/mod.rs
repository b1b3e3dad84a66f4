//! `wrongturn check`: runs the detectors over files and directories, and prints the worst runs first.

mod gate;
mod groups;
mod streams;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common;
use crate::common::arguments::{Scanning, Surety, detector};
use crate::common::config::{Config, Judges};
use crate::common::inputs::{self, Inputs};
use crate::common::output::{is_stdout, protect};
use crate::common::parts::{self, PartialFile, TextOptions};
use crate::common::tables::TableFiles;
use crate::common::terminal::set_quiet;
use clap::{Parser, builder::NonEmptyStringValueParser};
use serde_json::Value;
use wrongturn::{
    ReadOptions, Scanner,
    detect::Preset,
    merge::{FlaggedRun, FlaggedRuns, PartialContent, ScanPart},
    scan::{Profile, RunFilter, ScanOptions, TraceRecord},
    trace::Actors,
};

use gate::{Baseline, FailOn};
use groups::Groups;
use streams::{Entry, FormattedFile, OutputFormat, Stream};

/// Lists the failures in recorded runs, worst runs first.
#[derive(Parser)]
#[command(after_help = common::notes_with(
    "runs of any format that `wrongturn formats` lists; directories are searched. Lines that are not JSON \
     cause a note, not status 3.",
    "the worst runs with their findings, and totals, on standard output. No output replaces an input, nor \
     any file if nothing could be read.",
    common::GATE_STATUS,
    "wrongturn check golden/tau2 --output findings.csv",
))]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    scanning: Scanning,
    /// Detectors, separated by commas; default: those that the settings select, or all but opt-in ones without an entry
    /// in the settings
    #[arg(help_heading = "Detectors", long, alias = "detector", value_delimiter = ',', value_name = "ID", value_parser = detector)]
    detectors: Vec<String>,
    /// Whose actions count (agent, user, all)
    #[arg(help_heading = "Detectors", long, default_value = "agent", hide_short_help = true)]
    actors: Actors,
    /// Which defaults the detectors start from (default, bench-trace)
    #[arg(help_heading = "Detectors", long, default_value = "default", hide_short_help = true)]
    preset: Preset,
    /// Settings; default: the nearest wrongturn.toml. A .json file holds configurations by detector
    #[arg(help_heading = "Detectors", long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Do not look for wrongturn.toml
    #[arg(help_heading = "Detectors", long, conflicts_with = "config", hide_short_help = true)]
    no_config: bool,
    #[command(flatten)]
    surety: Surety,
    /// Add fingerprints of how each model acts, as in `wrongturn fingerprint`, to the figures (.json) and partial states
    #[arg(help_heading = "Output", long, hide_short_help = true)]
    fingerprints: bool,
    /// Stream files larger than this many MiB instead of loading them
    #[arg(help_heading = "Input", long, default_value_t = 4, value_name = "MIB", hide_short_help = true)]
    stream_above: u64,
    /// Write to this file, in the format of its extension: .jsonl, .csv (findings), runs.csv, .sarif, .xml (JUnit),
    /// .json, .md, .tex, .html, .txt, .otlp.jsonl; or FORMAT=FILE. Repeatable
    #[arg(help_heading = "Output", long, short, alias = "out", value_name = "FILE")]
    output: Vec<FormattedFile>,
    /// Format of standard output: text, json (figures), jsonl (a record per run), csv (findings), runs-csv, sarif, junit,
    /// github (annotations), otlp (evaluation events), markdown, latex, html
    #[arg(help_heading = "Output", long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT", hide_possible_values = true)]
    output_format: OutputFormat,
    /// Exit with status 1 if a detector flags too many runs: loop, 'loop>5', 'loop>5%', any.
    /// Repeatable
    #[arg(help_heading = "Gate", long, value_name = "CONDITION")]
    fail_on: Vec<FailOn>,
    /// Leave out the findings that this file lists as known
    #[arg(help_heading = "Gate", long, value_name = "BASELINE.json")]
    baseline: Option<PathBuf>,
    /// Replace the baseline with all findings of this check
    #[arg(help_heading = "Gate", long)]
    update_baseline: bool,
    /// Add a line for each value of this: model, agent, domain, task, format, or the name of a label
    #[arg(help_heading = "Output", long, value_name = "WHAT", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "path")]
    group_by: Option<String>,
    /// Exit with status 0 if only some inputs could not be read
    #[arg(help_heading = "Gate", long, hide_short_help = true)]
    allow_unread: bool,
    #[command(flatten)]
    text: TextOptions,
    #[command(flatten)]
    files: TableFiles,
    #[command(flatten)]
    partial: PartialFile,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    if arguments.scanning.reading.join && arguments.partial.path.is_some() {
        return Err("--join cannot be used with --partial: a trace may be spread over several parts".into());
    }
    set_quiet(arguments.text.quiet);
    protect(&arguments.paths)?;
    let Scanning { reading, metadata, .. } = &arguments.scanning;
    let read = reading.options();
    let scan = arguments.scanning.options()?;
    let run_table = scan.run_table.clone();
    let (settings, judging) = judges(arguments)?;
    let fail_on = conditions(arguments, &settings, &judging)?;
    let Judges { own, profiles } = judging;
    let path_of_baseline = arguments.baseline.as_deref().or(settings.baseline.as_deref());
    if arguments.update_baseline && path_of_baseline.is_none() {
        return Err("--update-baseline needs --baseline, or `baseline` in wrongturn.toml".into());
    }
    let (files, mut streams) = outputs(arguments)?;
    let filters = filters(&profiles);
    let formats: Vec<OutputFormat> = streams.iter().map(Stream::format).collect();
    let places = formats.iter().any(|format| matches!(format, OutputFormat::Sarif | OutputFormat::Github));
    let options = ScanOptions {
        read: ReadOptions { places, ..read.clone() },
        fingerprints: arguments.fingerprints,
        digests: true,
        whole_file_limit: arguments.stream_above.saturating_mul(1 << 20),
        profiles,
        ..scan
    };
    let scanner = Scanner::new(own, options)?;
    let partial = arguments.partial.create()?;
    let is_part = partial.is_some();
    let known = match path_of_baseline {
        Some(path) if arguments.update_baseline => Baseline::may_replace(path).map(|()| None)?,
        path => path.map(Baseline::read).transpose()?,
    };
    let mut baseline = Baseline::default();
    let mut groups = arguments.group_by.as_deref().map(Groups::by);
    let mut part = ScanPart::default();
    let mut suppressed = 0;
    // This runs on the reading threads. The closure after it receives the results in order.
    let map = |mut record: TraceRecord| {
        mark(&filters, &record);
        settings.remove_ignored(&mut record);
        let findings = if arguments.update_baseline { Baseline::known_of(&record) } else { Vec::new() };
        let suppressed = known.as_ref().map_or(0, |known| known.remove_known(&mut record));
        let entries: Result<Vec<_>, String> =
            formats.iter().map(|format| Entry::of(&record, *format)).collect();
        // Boxed, because thousands of results may wait to be put in order.
        Box::new((entries, FlaggedRun::of(&record), findings, suppressed, record))
    };
    let inputs = inputs::scan(&scanner, &arguments.paths, map, |run| {
        let (entries, flagged, findings, removed, mut record) = *run;
        part.summary.add(&record);
        part.worst.extend(flagged);
        baseline.findings.extend(findings);
        suppressed += removed;
        if let Some(groups) = &mut groups {
            groups.add(&record);
        }
        if let Some(fingerprint) = record.fingerprint.take() {
            let model = record.metadata.model.as_deref().unwrap_or_default().to_owned();
            part.fingerprints.entry(model).or_default().merge(&fingerprint);
        }
        streams.iter_mut().zip(&entries?).try_for_each(|(stream, entry)| stream.add(entry))
    })?;
    metadata.tell(run_table.as_ref());
    groups.iter().for_each(Groups::report_unknown);
    part.files = inputs.files.clone();
    if !is_part {
        inputs.keep_files_if_nothing_read();
    }
    streams.into_iter().try_for_each(|stream| stream.finish(&inputs.files))?;
    if let Some(path) = path_of_baseline.filter(|_| arguments.update_baseline && !inputs.is_nothing_read()) {
        baseline.write(path)?;
        common::note(&format!("note: wrote the known findings to {}", path.display()));
    }
    let draw = |flagged: FlaggedRuns| {
        if reading.join { flagged.read_joined(&arguments.paths, &read) } else { flagged.read(&read) }
    };
    let broken: Vec<String> =
        fail_on.iter().filter_map(|condition| condition.broken_by(&part.summary)).collect();
    if let Some(out) = partial {
        let content = PartialContent::Scan(Box::new(part.clone()));
        let options = options_of(arguments, &settings)?;
        arguments.partial.write(out, &arguments.paths, &options, content)?;
    }
    if !arguments.partial.no_report {
        let mut more = groups.map(|groups| groups.render()).unwrap_or_default();
        if suppressed > 0 {
            more += &format!(
                "{} ignored (--baseline).\n",
                common::findings::counted(suppressed, "known finding")
            );
        }
        parts::write_scan(&part, &files)?;
        let text = (arguments.output_format == OutputFormat::Text).then_some(&arguments.text);
        parts::report_scan(part, draw, &files, text, &more)?;
    }
    inputs.tell_damaged();
    inputs.report();
    settings.report_unused(&filters);
    status(&inputs, &broken, is_part, arguments.allow_unread)
}

/// Returns the conditions that fail the check. Drops those of the settings whose detectors `--detectors` leaves out.
/// Fails if another condition names a detector that does not run, because it could never hold.
fn conditions(
    arguments: &Arguments,
    settings: &Config,
    Judges { own, profiles }: &Judges,
) -> Result<Vec<FailOn>, common::Failure> {
    let runs = |id: &str| {
        let of_profiles = profiles.iter().flat_map(|profile| &profile.detectors);
        own.iter().chain(of_profiles).any(|detector| detector.id() == id)
    };
    let of_settings: Result<Vec<FailOn>, String> =
        settings.fail_on.iter().map(|condition| condition.parse()).collect();
    let mut all = of_settings?;
    all.retain(|condition| arguments.detectors.is_empty() || condition.detector.is_none_or(&runs));
    all.extend_from_slice(&arguments.fail_on);
    match all.iter().filter_map(|condition| condition.detector).find(|id| !runs(id)) {
        Some(id) => Err(format!(
            "fail-on: `{id}` does not run; select it with --detectors, or `select` in wrongturn.toml"
        )
        .into()),
        None => Ok(all),
    }
}

/// The conditions of a profile, and whether a run meets them.
type Filter = (RunFilter, AtomicBool);

fn filters(profiles: &[Profile]) -> Vec<Filter> {
    profiles.iter().map(|profile| (profile.filter.clone(), AtomicBool::new(false))).collect()
}

fn mark(filters: &[Filter], run: &TraceRecord) {
    let is_of = |(filter, _): &&Filter| filter.matches(&run.file, run.format, &run.metadata);
    if let Some((_, is_used)) = filters.iter().find(is_of) {
        is_used.store(true, Ordering::Relaxed);
    }
}

fn judges(arguments: &Arguments) -> Result<(Config, Judges), common::Failure> {
    let settings =
        if arguments.no_config { Config::default() } else { Config::load(arguments.config.as_deref())? };
    let Arguments { detectors, preset, actors, surety, .. } = arguments;
    let judges = settings.build(detectors, *preset, *actors, surety.min_confidence)?;
    Ok((settings, judges))
}

/// Reports the conditions that fail the check, and returns the exit status. If there are none and nothing was read,
/// returns an error, unless this is one part of a larger check.
fn status(
    inputs: &Inputs,
    broken: &[String],
    is_part: bool,
    allow_unread: bool,
) -> Result<u8, common::Failure> {
    for condition in broken {
        common::note(&format!("error: fail-on: {condition}"));
    }
    if !broken.is_empty() {
        return Ok(common::FAILED);
    }
    match inputs.is_nothing_read() {
        true if !is_part => Err(inputs.nothing_read()),
        false if allow_unread => Ok(0),
        _ => Ok(inputs.status()),
    }
}

/// Returns the requested outputs: documents, which are written at the end, and streams.
fn outputs(arguments: &Arguments) -> Result<(TableFiles, Vec<Stream>), common::Failure> {
    let mut files = arguments.files.clone();
    let mut streams = Vec::new();
    let named = arguments.output.iter().map(|file| (file.format, file.path.as_path()));
    for (format, path) in named.chain([(arguments.output_format, Path::new("-"))]) {
        let document = match format {
            OutputFormat::Text if is_stdout(path) => continue,
            OutputFormat::Text => &mut files.text,
            OutputFormat::Json => &mut files.json,
            OutputFormat::Markdown => &mut files.markdown,
            OutputFormat::Latex => &mut files.latex,
            OutputFormat::Html => &mut files.html,
            stream => {
                streams.push(Stream::begin(stream, path)?);
                continue;
            }
        };
        *document = Some(path.to_path_buf());
    }
    Ok((files, streams))
}

/// Returns the options that a partial state records. `merge` requires them to be equal in all states.
fn options_of(arguments: &Arguments, settings: &Config) -> Result<Value, common::Failure> {
    let detectors = if arguments.detectors.is_empty() { &settings.select } else { &arguments.detectors };
    let mut options = serde_json::json!({
        "format": arguments.scanning.reading.format,
        "alignment": arguments.scanning.reading.alignment,
        "detectors": detectors.iter().collect::<BTreeSet<_>>(),
        "actors": arguments.actors,
        "preset": arguments.preset,
        "min_confidence": settings.min_confidence.max(Some(arguments.surety.min_confidence)),
        "fingerprints": arguments.fingerprints,
    });
    if let (Some(options), Value::Object(state)) = (options.as_object_mut(), settings.state()?) {
        options.extend(state);
    }
    Ok(options)
}
