//! Tests that the tables of detectors, formats and calibration in the README, the crate documentation and the
//! guide are up to date.
//!
//! `UPDATE_TABLES=1 cargo test --test tables` writes them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use wrongturn::{
    calibrate::{CalibrationOptions, CalibrationReport, DetectorReport, Difficulty, GoldenSet, calibrate},
    default_detectors,
    detect::{ALL, DetectorInfo, Preset},
    read::Format,
    trace::Actors,
};

/// Makes the lines of a table.
type Lines = fn() -> Vec<String>;

/// Each file, with the name of a table in it and the function that makes its lines.
const TABLES: [(&str, &str, Lines); 8] = [
    ("README.md", "detectors", detectors),
    ("src/lib.rs", "detectors", detectors),
    ("src/guide/detectors.md", "detectors", detectors),
    ("README.md", "formats", format_names),
    ("src/guide/formats.md", "formats", formats),
    ("README.md", "calibration", calibration),
    ("src/guide/calibration.md", "calibration", calibration_in_full),
    ("src/guide/calibration.md", "difficulty", by_difficulty),
];

fn detectors() -> Vec<String> {
    let row = |info: &DetectorInfo| {
        let DetectorInfo { id, summary, mode, .. } = info;
        let runs = if info.opt_in { "only if selected" } else { "by default" };
        let parameter = info.grid().unwrap_or_else(|| panic!("{id}: no grid")).parameter;
        let config = info.config(Preset::Default, Actors::Agent);
        let default = config.get(parameter).unwrap_or_else(|| panic!("{id}: no field `{parameter}`"));
        format!("| `{id}` | {summary} | `{mode}` | {runs} | `{parameter}` {default} |")
    };
    let head = ["| detector | finds | failure mode | runs | main parameter |", "|---|---|---|---|---|"];
    head.into_iter().map(str::to_owned).chain(ALL.iter().map(row)).collect()
}

/// Returns the names of all formats, in lines of at most 120 characters.
fn format_names() -> Vec<String> {
    let mut lines = vec![format!("{} formats are recognised:", Format::VARIANTS.len())];
    for (index, format) in Format::VARIANTS.iter().enumerate() {
        let end = if index + 1 == Format::VARIANTS.len() { '.' } else { ',' };
        let word = format!("`{}`{end}", format.name());
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= 120 => *line += &format!(" {word}"),
            _ => lines.push(word),
        }
    }
    lines
}

fn formats() -> Vec<String> {
    let row = |format: &Format| format!("| `{}` | {} |", format.name(), format.about());
    let head = ["| format | contents |", "|---|---|"];
    head.into_iter().map(str::to_owned).chain(Format::VARIANTS.iter().map(row)).collect()
}

/// The calibration on the bundled labels, as `wrongturn calibrate` prints it.
static CALIBRATION: LazyLock<CalibrationReport> = LazyLock::new(|| {
    let detectors = default_detectors();
    let ids: Vec<_> = detectors.iter().map(|detector| detector.id()).collect();
    let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
    let of = |id: &&str| PathBuf::from(format!("{}/golden/{id}.jsonl", env!("CARGO_MANIFEST_DIR")));
    let golden = GoldenSet::load(&ids.iter().map(of).collect::<Vec<_>>(), &ids).unwrap();
    calibrate(&golden, &detectors, &CalibrationOptions::default())
});

/// Makes a table with a row for each detector.
fn with_detectors(head: [&str; 2], cells: impl Fn(&DetectorReport) -> Vec<String>) -> Vec<String> {
    let row = |one: &DetectorReport| format!("| `{}` | {} |", one.detector, cells(one).join(" | "));
    head.into_iter().map(str::to_owned).chain(CALIBRATION.detectors.iter().map(row)).collect()
}

fn rounded(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}

/// Returns F1 with its interval, precision and recall.
fn figures(one: &DetectorReport) -> Vec<String> {
    let ends =
        one.figures.f1_ci95.interval.map_or([None; 2], |interval| [interval.low, interval.high].map(Some));
    let interval = ends.map(rounded).join("–");
    vec![rounded(one.figures.f1), interval, rounded(one.figures.precision), rounded(one.figures.recall)]
}

fn calibration() -> Vec<String> {
    with_detectors(["| detector | F1 | 95% CI | precision | recall |", "|---|--:|--:|--:|--:|"], figures)
}

fn calibration_in_full() -> Vec<String> {
    let head = [
        "| detector | n | F1 | 95% CI | precision | recall | tier | pass^4 | always firing |",
        "|---|--:|--:|--:|--:|--:|---|--:|--:|",
    ];
    with_detectors(head, |one| {
        let tier = format!("{}{}", one.tier, if one.unproven { ", unproven" } else { "" });
        let pass = one.pass_k.pass.map_or("–".to_owned(), |pass| pass.to_string());
        let always = rounded(one.baselines.always_fire_f1);
        [vec![one.figures.n.to_string()], figures(one), vec![tier, pass, always]].concat()
    })
}

fn by_difficulty() -> Vec<String> {
    let head = ["| detector | easy | medium | hard | coding, ops | others |", "|---|--:|--:|--:|--:|--:|"];
    with_detectors(head, |one| {
        let of = |difficulty: &Difficulty| one.by_difficulty.get(difficulty).and_then(|figures| figures.f1);
        let of_agents = |is_agent: bool| {
            let domains = one.by_domain.iter();
            let chosen =
                domains.filter(|(domain, _)| matches!(domain.as_str(), "coding" | "ops") == is_agent);
            let counts = chosen.map(|(_, figures)| figures.confusion);
            let (right, wrong) =
                counts.fold((0, 0), |(right, wrong), one| (right + 2 * one.tp, wrong + one.fp + one.fn_));
            Some(f64::from(u32::try_from(right).unwrap()) / f64::from(u32::try_from(right + wrong).unwrap()))
        };
        let by_difficulty = Difficulty::VARIANTS.iter().map(of);
        by_difficulty.chain([true, false].map(of_agents)).map(rounded).collect()
    })
}

/// Replaces the lines between the markers of a table.
fn with_table(file: &str, text: &str, name: &str, lines: Vec<String>) -> String {
    let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
    let comment =
        if Path::new(file).extension().is_some_and(|extension| extension == "rs") { "//! " } else { "" };
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{file}: no line `{begin}`"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file}: no line `{end}`"));
    let lines = lines.into_iter().map(|line| format!("{comment}{line}").trim_end().to_owned());
    let lines = lines.collect::<Vec<_>>().join("\n");
    format!("{before}{begin}\n{lines}\n{comment}{end}{after}")
}

#[test]
fn generated_tables_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for (file, name, lines) in TABLES {
        let path = root.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let generated = with_table(file, &text, name, lines());
        if generated == text {
            continue;
        }
        if std::env::var_os("UPDATE_TABLES").is_some() {
            fs::write(&path, generated).unwrap();
        } else {
            stale.push(file);
        }
    }
    let files = stale.join(", ");
    assert!(stale.is_empty(), "stale tables in {files}: run UPDATE_TABLES=1 cargo test --test tables");
}
