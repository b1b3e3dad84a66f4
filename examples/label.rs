//! Labels recorded runs by hand: draws runs to read, writes sheets without verdicts, appends golden entries, and says
//! how far two readers agree.
//!
//! `cargo run --release --example label -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracelint::stats::cohens_kappa;
use tracelint::{
    ALL, Actors, Difficulty, GoldenEntry, GoldenSet, HtmlReport, ReadOptions, RunFeatures, ScanEvent, Trace,
    TraceReference, draw, read_files, render_run, run_of, trace_digest,
};

/// Labels of runs, given by reading them.
///
/// To label a run:
///   label FILE --run ID --detector loop --yes --where 8-14 --difficulty hard
///         --description "…"
/// To draw runs to read: label --sample FILE… --detector loop --n 40 --seed 1
/// To make entries of a filled sheet: label --filled SHEET.jsonl
/// To compare two readers: label SHEET.jsonl --second OTHER.jsonl
#[derive(Parser)]
#[command(verbatim_doc_comment, after_help = common::notes(
    "files of runs of any format; with --filled and --second, sheets or golden entries.",
    "golden entries, appended; a sheet and its page; or the agreement of two readers on standard output.",
    "Exit status: 0; 2 when some input could not be read; 1 for wrong usage, or when nothing could be done.",
    "label --sample golden/tau2 --detector loop --n 40 --out sheet.jsonl",
))]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct Arguments {
    /// File of runs, in any format that can be read; with --second, the labels of the first reader
    #[arg(required_unless_present_any = ["sample", "filled"])]
    file: Option<PathBuf>,
    /// The run: its id, or `#` and its 0-based place
    #[arg(long)]
    run: Option<String>,
    /// The detector that the label is for
    #[arg(long)]
    detector: Option<String>,
    /// The failure is there
    #[arg(long, conflicts_with = "no")]
    yes: bool,
    /// The failure is not there
    #[arg(long)]
    no: bool,
    /// First and last step of the failure, such as 8-14
    #[arg(long = "where", value_name = "FIRST-LAST", value_parser = range)]
    range: Option<(u64, u64)>,
    /// How hard it is to judge: easy, medium or hard
    #[arg(long)]
    difficulty: Option<Difficulty>,
    /// Why the label is what it is, in one sentence
    #[arg(long)]
    description: Option<String>,
    /// Tags, with commas between
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// The id of the entry; default: the detector and the digest of the run
    #[arg(long)]
    id: Option<String>,
    /// Write a reference to the run instead of its trace, for data that must not be copied
    #[arg(long)]
    reference: bool,
    /// Keep the messages, which no detector reads
    #[arg(long)]
    messages: bool,
    /// Where entries are appended, or the sheet is written; default: <detector>.jsonl, sheet.jsonl
    #[arg(long, value_name = "OUT.jsonl")]
    out: Option<PathBuf>,
    /// Draw runs of these files and directories to read
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "file")]
    sample: Vec<PathBuf>,
    /// How many runs to draw
    #[arg(long, default_value_t = 40)]
    n: usize,
    /// Seed of the draw
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Append an entry for every row of this sheet that has a label
    #[arg(long, value_name = "SHEET.jsonl", conflicts_with_all = ["file", "sample"])]
    filled: Option<PathBuf>,
    /// Compare with the labels of a second reader: entries, or rows of the same sheet
    #[arg(long, value_name = "READER.jsonl", requires = "file")]
    second: Option<PathBuf>,
}

/// A row of a sheet: what a reader fills in, and the run to read. Nothing in it comes from a detector.
#[derive(Serialize, Deserialize)]
struct Row {
    n: usize,
    detector: String,
    file: String,
    run: String,
    digest: String,
    label: Option<bool>,
    #[serde(rename = "where")]
    range: Option<(u64, u64)>,
    difficulty: Option<Difficulty>,
    description: Option<String>,
    /// The run in the native form, without what tells how it went.
    trace: Value,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| text.trim().parse().map_err(|_| format!("`{text}` is no step"));
    let (first, last) = text.split_once(['-', '–']).unwrap_or((text, text));
    Ok((number(first)?, number(last)?))
}

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    if let Some(id) = &arguments.detector {
        tracelint::detector_info(id).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
            format!("unknown detector `{id}`; known are {}", known.join(", "))
        })?;
    }
    if let (Some(second), Some(first)) = (&arguments.second, &arguments.file) {
        agreement(first, second)
    } else if let Some(sheet) = &arguments.filled {
        filled(arguments, sheet)
    } else if let Some(file) = &arguments.file {
        label(arguments, file)
    } else {
        sample(arguments)
    }
}

fn required<'v, T>(value: Option<&'v T>, name: &str) -> Result<&'v T, String> {
    value.ok_or_else(|| format!("--{name} is missing"))
}

// ---- One label ---------------------------------------------------------------------------------------------------

fn label(arguments: &Arguments, file: &Path) -> Result<u8, common::Failure> {
    let detector = required(arguments.detector.as_ref(), "detector")?;
    if arguments.yes == arguments.no {
        return Err("say --yes or --no".into());
    }
    let (runs, format) = read(file)?;
    let name = required(arguments.run.as_ref(), "run")?;
    let trace = run_of(&runs, name)?;
    let entry = Label {
        detector,
        failure: arguments.yes,
        range: arguments.range,
        difficulty: *required(arguments.difficulty.as_ref(), "difficulty")?,
        description: required(arguments.description.as_ref(), "description")?,
        file,
        run: name,
    };
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{detector}.jsonl")));
    append(&out, &[entry.made(arguments, trace, &format, &out)?])?;
    Ok(0)
}

/// What a reader says of a run.
struct Label<'e> {
    detector: &'e str,
    failure: bool,
    range: Option<(u64, u64)>,
    difficulty: Difficulty,
    description: &'e str,
    file: &'e Path,
    run: &'e str,
}

impl Label<'_> {
    fn made(
        &self,
        arguments: &Arguments,
        trace: &Trace,
        source: &str,
        out: &Path,
    ) -> Result<GoldenEntry, common::Failure> {
        let digest = trace_digest(trace);
        let id = arguments
            .id
            .clone()
            .unwrap_or_else(|| format!("{}-{}", self.detector, digest.get(..12).unwrap_or(&digest)));
        let trace = if arguments.reference { Value::Null } else { trimmed(trace, arguments.messages)? };
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = relative(self.file, folder.unwrap_or(Path::new(".")))?;
        let reference =
            arguments.reference.then(|| TraceReference { file, run: self.run.to_owned(), digest });
        let mut entry = serde_json::json!({
            "id": id, "detector": self.detector, "difficulty": self.difficulty, "label": self.failure,
            "where": self.range, "description": self.description, "source": source, "tags": arguments.tags,
            "reference": reference, "trace": trace,
        });
        if let Some(fields) = entry.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        Ok(serde_json::from_value(entry)?)
    }
}

/// The way from a folder to a file.
fn relative(file: &Path, folder: &Path) -> Result<String, common::Failure> {
    let place = |path: &Path| fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()));
    let (file, folder) = (place(file)?, place(folder)?);
    let shared = file.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| "..".as_ref());
    let down = file.components().skip(shared).map(std::path::Component::as_os_str);
    let path: PathBuf = up.chain(down).collect();
    Ok(path.display().to_string())
}

/// A trace without what no detector reads: messages, what the run is called, how it went. The steps keep their numbers.
fn trimmed(trace: &Trace, messages: bool) -> Result<Value, common::Failure> {
    let mut json = blind(trace)?;
    // Where nobody acts, the messages are all there is.
    let acts = trace.steps().any(|step| step.action_of(Actors::All).is_some());
    let steps = json.get_mut("steps").and_then(Value::as_array_mut);
    if let Some(steps) = steps.filter(|_| acts && !messages) {
        steps.retain(|step| step.get("text").is_none());
    }
    Ok(json)
}

/// A trace without its names, its reward and the failures that somebody found in it.
fn blind(trace: &Trace) -> Result<Value, common::Failure> {
    let mut json = serde_json::to_value(trace)?;
    if let Some(fields) = json.as_object_mut() {
        for told in [
            "id",
            "parent",
            "task",
            "trial",
            "model",
            "source",
            "labels",
            "reward",
            "failures",
            "termination",
        ] {
            fields.remove(told);
        }
    }
    Ok(json)
}

/// Appends entries to a golden file, if the file is sound with them.
fn append(out: &Path, entries: &[GoldenEntry]) -> Result<(), common::Failure> {
    let mut text = match fs::read_to_string(out) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("{}: {error}", out.display()).into()),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let before = text.len();
    for entry in entries {
        text += &serde_json::to_string(entry)?;
        text.push('\n');
    }
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    GoldenSet::parse(&[(out, &text)], &known).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("nothing was written: {}", lines.join("\nerror: "))
    })?;
    let mut file = common::Output::create(out, &[])?;
    file.write_all(text.as_bytes())?;
    file.finish()?;
    eprintln!("{}: {} entries more, {} bytes", out.display(), entries.len(), text.len() - before);
    Ok(())
}

/// The runs of a file, and its format.
fn read(file: &Path) -> Result<(Vec<Trace>, String), common::Failure> {
    let (mut runs, mut format) = (Vec::new(), "recorded".to_owned());
    read_files([file], &ReadOptions::default(), |event| {
        match event {
            ScanEvent::Record(trace) => runs.push(trace),
            ScanEvent::Error(error) => eprintln!("error: {error}"),
            ScanEvent::End(summary) => {
                format = summary.format.map_or(format.clone(), |format| format.name().to_owned());
            }
            _ => {}
        }
        Ok::<(), common::Failure>(())
    })?;
    if runs.is_empty() {
        return Err(format!("{}: no run could be read", file.display()).into());
    }
    Ok((runs, format))
}

// ---- Sheets ------------------------------------------------------------------------------------------------------

fn sample(arguments: &Arguments) -> Result<u8, common::Failure> {
    let detector = required(arguments.detector.as_ref(), "detector")?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("sheet.jsonl"));
    let (mut places, mut features) = (Vec::new(), Vec::new());
    let (mut file, mut position, mut status) = (PathBuf::new(), 0_usize, 0);
    // Twice over the files: what is drawn is all that is held.
    read_files(&arguments.sample, &ReadOptions::default(), |event| {
        match event {
            ScanEvent::Begin(path) => (file, position) = (path.to_path_buf(), 0),
            ScanEvent::Record(trace) => {
                places.push((file.clone(), position));
                features.push(RunFeatures::of(&trace));
                position += 1;
            }
            ScanEvent::Error(error) => {
                eprintln!("error: {error}");
                status = 2;
            }
            _ => {}
        }
        Ok::<(), common::Failure>(())
    })?;
    let drawn = draw(&features, arguments.n, arguments.seed);
    if drawn.is_empty() {
        return Err("no run could be read".into());
    }
    let mut wanted: BTreeMap<usize, usize> = drawn.iter().enumerate().map(|(n, place)| (*place, n)).collect();
    let mut rows: BTreeMap<usize, (Row, Trace)> = BTreeMap::new();
    let mut number = 0_usize;
    read_files(&arguments.sample, &ReadOptions::default(), |event| {
        if let ScanEvent::Record(trace) = event {
            if let (Some(n), Some((file, position))) = (wanted.remove(&number), places.get(number)) {
                let row = Row {
                    n,
                    detector: detector.clone(),
                    file: file.display().to_string(),
                    run: format!("#{position}"),
                    digest: trace_digest(&trace),
                    label: None,
                    range: None,
                    difficulty: None,
                    description: None,
                    trace: blind(&trace)?,
                };
                rows.insert(n, (row, trace));
            }
            number += 1;
        }
        Ok::<(), common::Failure>(())
    })?;
    // A sheet that stands there may hold labels.
    if out.exists() {
        return Err(format!("{}: there is a sheet already; name another by --out", out.display()).into());
    }
    let mut sheet = common::Output::create(&out, &arguments.sample)?;
    let mut page = HtmlReport::new(format!("{} runs to read for {detector}", rows.len()));
    let question = tracelint::detector_info(detector).map_or("", |info| info.summary);
    page.lead(format!(
        "Drawn by repeats, errors and length, not by any verdict. The question: {question}? Fill in each row of the sheet \
         beside this page: label true or false, where as [first, last] in the step numbers of the left column (null if \
         there is no place), difficulty easy, medium or hard, description in a sentence."
    ));
    for (n, (row, trace)) in &rows {
        sheet.write_all(&common::json_line(row)?)?;
        page.section(format!("Run {n}"));
        for line in render_run(trace, &[], 1000).lines() {
            page.paragraph(line);
        }
    }
    sheet.finish()?;
    let html = out.with_extension("html");
    common::tables::write_text(&html, &arguments.sample, &page.render())?;
    common::print(&format!(
        "{} of {} runs: {}, {}\n",
        rows.len(),
        features.len(),
        out.display(),
        html.display()
    ))?;
    Ok(status)
}

/// The objects of a file of one object a line.
fn lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>, common::Failure> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(number, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{}: line {number}: {error}", path.display()).into())
    });
    parsed.collect()
}

fn filled(arguments: &Arguments, sheet: &Path) -> Result<u8, common::Failure> {
    let rows: Vec<Row> = lines(sheet)?;
    let mut files: BTreeMap<PathBuf, (Vec<Trace>, String)> = BTreeMap::new();
    let mut made: BTreeMap<PathBuf, Vec<GoldenEntry>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.label.is_some()) {
        let place = |error: &dyn std::fmt::Display| format!("{}: run {}: {error}", sheet.display(), row.n);
        let file = PathBuf::from(&row.file);
        let (runs, format) = match files.entry(file.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(read(&file)?),
        };
        let trace = run_of(runs, &row.run).map_err(|error| place(&error))?;
        if trace_digest(trace) != row.digest {
            return Err(place(&"the file holds something else than was read").into());
        }
        let missing = || place(&"difficulty or description is missing");
        let entry = Label {
            detector: &row.detector,
            failure: row.label == Some(true),
            range: row.range,
            difficulty: row.difficulty.ok_or_else(missing)?,
            description: row.description.as_deref().ok_or_else(missing)?,
            file: &file,
            run: &row.run,
        };
        let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.jsonl", row.detector)));
        let entry = entry.made(arguments, trace, format, &out)?;
        made.entry(out).or_default().push(entry);
    }
    if made.is_empty() {
        return Err(format!("{}: no row has a label", sheet.display()).into());
    }
    for (out, entries) in made {
        append(&out, &entries)?;
    }
    Ok(0)
}

// ---- Two readers -------------------------------------------------------------------------------------------------

/// A label: of a golden entry (`id`), or of a row of a sheet (`n`).
#[derive(Deserialize)]
struct Given {
    id: Option<String>,
    n: Option<u64>,
    #[serde(default)]
    detector: String,
    label: Option<bool>,
    #[serde(default)]
    description: Option<String>,
}

impl Given {
    fn key(&self) -> Option<String> {
        self.id.clone().or_else(|| self.n.map(|n| format!("run {n}")))
    }
}

fn agreement(first: &Path, second: &Path) -> Result<u8, common::Failure> {
    let given = |path: &Path| -> Result<BTreeMap<String, Given>, common::Failure> {
        let labels: Vec<Given> = lines(path)?;
        let mut known = BTreeMap::new();
        for label in labels.into_iter().filter(|label| label.label.is_some()) {
            let key =
                label.key().ok_or_else(|| format!("{}: a label without `id` or `n`", path.display()))?;
            if known.insert(key.clone(), label).is_some() {
                return Err(format!("{}: two labels of {key}", path.display()).into());
            }
        }
        Ok(known)
    };
    let (one, two) = (given(first)?, given(second)?);
    let mut tables: BTreeMap<&str, [[u64; 2]; 2]> = BTreeMap::new();
    let mut disagreements = String::new();
    let (mut both, only) = (0, one.keys().filter(|key| !two.contains_key(*key)).count());
    for (key, a) in &one {
        let Some(b) = two.get(key) else { continue };
        both += 1;
        let (yes, other) = (a.label == Some(true), b.label == Some(true));
        let [[neither, second_only], [first_only, all]] = tables.entry(&a.detector).or_default();
        let cell = match (yes, other) {
            (false, false) => neither,
            (false, true) => second_only,
            (true, false) => first_only,
            (true, true) => all,
        };
        *cell += 1;
        if yes != other {
            let why =
                |given: &Given| given.description.clone().unwrap_or_else(|| "no reason given".to_owned());
            disagreements += &format!("{key}\n  first {yes}: {}\n  second {other}: {}\n", why(a), why(b));
        }
    }
    if both == 0 {
        return Err("the two readers have no run in common".into());
    }
    let mut text = String::new();
    for (detector, [no, yes]) in &tables {
        let n: u64 = no.iter().chain(yes).sum();
        let agreed = no[0] + yes[1];
        text += &format!("{detector}: {agreed} of {n} alike");
        text += &match cohens_kappa(&[no, yes])? {
            Some(kappa) => format!(
                ", Cohen's kappa {:.4}, 95% [{:.4}, {:.4}]\n",
                kappa.kappa,
                kappa.ci95.low.max(-1.0),
                kappa.ci95.high.min(1.0)
            ),
            None => ", Cohen's kappa undefined: both say the same of everything\n".to_owned(),
        };
    }
    if only > 0 || two.len() > both {
        text += &format!("read by one alone: {only} and {}\n", two.len() - both);
    }
    common::print(&format!("{text}{disagreements}"))?;
    Ok(0)
}
