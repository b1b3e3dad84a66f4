//! Tests partial states: for any division of a corpus and any order of its parts, the merged state and every
//! report equal those of one process byte for byte. States that do not fit are refused.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Folder, ends};
use proptest::prelude::*;
use serde_json::{Value, json};
use wrongturn::{
    ErrorKind, ReadOptions, Scanner, default_detectors,
    merge::{FileReport, FlaggedRun, PartialContent, PartialState, ReplicationPart, ScanPart},
    replicate::{ReplicationAnalysis, ReplicationOptions, SimulationRow, SummedReplication},
    report::{Detail, ReplicationView, render_files, replication_document, scan_document, summed_document},
    scan::{FileScan, ScanOptions},
    stats::Resampling,
};

// ---- Corpora of any shape

/// A run: its id, task, trial and reward, and its calls, each with the tool and whether it fails.
type Run = (Option<u8>, Option<u8>, Option<u8>, Option<f64>, Vec<(u8, bool)>);

fn a_run() -> impl Strategy<Value = Run> {
    let reward = prop_oneof![Just(0.0), Just(1.0), Just(1.0 / 3.0), Just(0.1), Just(-1e300), Just(5e-324)];
    (
        proptest::option::of(0..5_u8),
        proptest::option::weighted(0.8, 0..3_u8),
        proptest::option::of(0..3_u8),
        proptest::option::weighted(0.9, reward),
        proptest::collection::vec((0..3_u8, any::<bool>()), 0..9),
    )
}

fn json_of((id, task, trial, reward, calls): &Run) -> Value {
    let mut messages = Vec::new();
    for (number, (tool, fails)) in calls.iter().enumerate() {
        let number = number.to_string();
        let call = json!({"id": number, "name": format!("tool{tool}"), "arguments": {}});
        messages.push(json!({"role": "assistant", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "id": number, "content": "what came back", "error": fails}));
    }
    let mut run = json!({"messages": messages, "termination_reason": "agent_stop"});
    for (key, value) in [("id", id), ("task_id", task), ("trial", trial)] {
        if let Some(value) = value {
            run[key] = if key == "trial" { json!(value) } else { json!(value.to_string()) };
        }
    }
    if let Some(reward) = reward {
        run["reward_info"] = json!({"reward": reward});
    }
    run
}

/// Draws a file of runs, possibly with a damaged one, or a file that is empty or holds something else.
fn a_file() -> impl Strategy<Value = String> {
    let runs = (proptest::option::of(0..2_u8), proptest::option::of(0..2_u8), any::<bool>());
    prop_oneof![
        8 => (runs, proptest::collection::vec(a_run(), 0..6)).prop_map(|((model, domain, damaged), runs)| {
            let mut runs: Vec<Value> = runs.iter().map(json_of).collect();
            if damaged {
                runs.push(json!({"id": "damaged", "messages": 7}));
            }
            let name = |name: Option<u8>| name.map(|name| format!("name{name}"));
            let info = json!({
                "agent_info": {"llm": name(model)},
                "environment_info": {"domain_name": name(domain)},
            });
            json!({"info": info, "tasks": [], "simulations": runs}).to_string()
        }),
        1 => Just("{\"neither\": 1}".to_owned()),
        1 => Just("[1, 2".to_owned()),
    ]
}

fn scanned(files: &[String]) -> Vec<FileScan> {
    let options = ScanOptions { digests: true, fingerprints: true, ..ScanOptions::default() };
    let scanner = Scanner::new(default_detectors(), options).unwrap();
    let name = |number| PathBuf::from(format!("corpus/{}{number}.json", ["a/", "a-", ""][number % 3]));
    files
        .iter()
        .enumerate()
        .map(|(number, text)| scanner.scan_slice(&name(number), text.as_bytes()))
        .collect()
}

fn report_of(file: &FileScan) -> FileReport {
    let errors: Vec<String> = file.errors.iter().map(ToString::to_string).collect();
    let foreign = file.errors.iter().filter(|error| error.kind() == ErrorKind::Format).count() as u64;
    FileReport::of(&file.summary, &errors, foreign)
}

fn scan_part<'f>(files: impl IntoIterator<Item = &'f FileScan>) -> PartialContent {
    let mut part = ScanPart::default();
    for file in files {
        part.files.add(&file.path, true, &report_of(file));
        for record in &file.traces {
            part.summary.add(record);
            part.worst.extend(FlaggedRun::of(record));
            let model = record.metadata.model.as_deref().unwrap_or_default().to_owned();
            part.fingerprints.entry(model).or_default().merge(record.fingerprint.as_ref().unwrap());
        }
    }
    PartialContent::Scan(Box::new(part))
}

fn replication_part<'f>(most: u64, files: impl IntoIterator<Item = &'f FileScan>) -> PartialContent {
    let mut part = ReplicationPart::new(most);
    for file in files {
        part.files.add(&file.path, true, &report_of(file));
        part.runs.extend(file.traces.iter().filter_map(SimulationRow::of));
    }
    PartialContent::Replication(Box::new(part))
}

/// Returns every report of a state.
fn reports(content: PartialContent) -> String {
    match content {
        PartialContent::Scan(part) => {
            let flagged = part.worst.read(&ReadOptions::default());
            let document = scan_document(&part.summary, flagged, &part.files);
            render_files(&part.files) + &part.summary.render() + &document.html()
        }
        PartialContent::Replication(mut part) => {
            let resampling = Resampling { resamples: 30, ..Resampling::default() };
            let options = ReplicationOptions { resampling, min_n: 2, ..ReplicationOptions::default() };
            let Some(rows) = part.runs.rows() else {
                let summed = SummedReplication::of(&part.runs, &options).unwrap().unwrap();
                let document = summed_document(&summed, true);
                return document.text(Detail::Full) + &document.html();
            };
            let analysis = ReplicationAnalysis::of(rows, &options).unwrap();
            let document = replication_document(&analysis, &ReplicationView::default());
            document.text(Detail::Full) + &serde_json::to_string(&analysis).unwrap() + &document.html()
        }
        _ => panic!("a kind without a test"),
    }
}

/// Makes the content of a state from files.
type Make<'m> = &'m dyn Fn(Vec<&FileScan>) -> PartialContent;

fn state(split: &str, content: PartialContent) -> PartialState {
    PartialState::new(split, &json!({"seed": 0}), content).unwrap()
}

/// Merges states in the order that these numbers give: any tree over any order of the leaves. States are
/// written and read back in between, and some are merged twice.
fn merged(mut states: Vec<PartialState>, picks: &[u8]) -> PartialState {
    let mut picks = picks.iter().map(|pick| usize::from(*pick)).cycle();
    while states.len() > 1 {
        let one = states.swap_remove(picks.next().unwrap() % states.len());
        let pick = picks.next().unwrap();
        let other = states.swap_remove(pick % states.len());
        let mut both = PartialState::from_json(&one.to_json().unwrap()).unwrap();
        both.merge(&other).unwrap();
        if pick % 3 == 0 {
            both.merge(&one).unwrap();
        }
        states.push(both);
    }
    states.pop().unwrap()
}

fn text(content: &PartialContent) -> String {
    serde_json::to_string(content).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_division_and_no_order_can_be_seen(
        files in proptest::collection::vec((a_file(), 0..4_usize), 1..9),
        picks in proptest::collection::vec(any::<u8>(), 16),
        other_picks in proptest::collection::vec(any::<u8>(), 16),
    ) {
        let (texts, parts): (Vec<String>, Vec<usize>) = files.into_iter().unzip();
        let scanned = scanned(&texts);
        let members = |part: usize| {
            scanned.iter().rev().zip(parts.iter().rev()).filter(move |(_, of)| **of == part).map(|(file, _)| file)
        };
        let makes: [Make<'_>; 3] = [
            &|files| scan_part(files),
            &|files| replication_part(1000, files),
            // The limit is so small that sums are kept of most corpora, and of some of their parts.
            &|files| replication_part(4, files),
        ];
        for make in makes {
            let whole = make(scanned.iter().collect());
            let leaves: Vec<PartialState> =
                (0..4).map(|part| state(&format!("part {part}"), make(members(part).collect()))).collect();
            let one = merged(leaves.clone(), &picks);
            let other = merged(leaves, &other_picks);
            prop_assert_eq!(one.to_json().unwrap(), other.to_json().unwrap());
            prop_assert_eq!(text(one.content()), text(&whole));
            prop_assert_eq!(one.content(), &whole);
            prop_assert_eq!(reports(one.into_content()), reports(whole));
        }
    }
    #[test]
    fn any_other_byte_is_refused(at in 0..4000_usize, byte in any::<u8>(), cut in 0..4000_usize) {
        let scanned = scanned(&[json!({"simulations": [json_of(&(Some(1), Some(1), None, Some(0.1), vec![(1, true); 4]))]})
            .to_string()]);
        for content in [scan_part(&scanned), replication_part(9, &scanned), replication_part(0, &scanned)] {
            let state = state("a", content);
            let bytes = state.to_json().unwrap();
            let mut edited = bytes.clone();
            let place = at % (bytes.len() - 1);
            edited[place] = byte;
            prop_assert_eq!(PartialState::from_json(&edited).ok(), (edited == bytes).then(|| state.clone()));
            let cut = cut % (bytes.len() - 1);
            prop_assert!(PartialState::from_json(&bytes[..cut]).is_err());
        }
    }
}

// ---- What is refused

fn one_file(reward: f64) -> Vec<FileScan> {
    let run = json_of(&(Some(1), None, None, Some(reward), vec![(1, true), (1, true)]));
    scanned(&[json!({"simulations": [run]}).to_string()])
}

#[track_caller]
fn refused(one: &PartialState, other: &PartialState, says: &str) {
    let mut merged = one.clone();
    let error = merged.merge(other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Partial);
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(&merged, one, "nothing has been added");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let scan = |split: &str, files: &[FileScan]| state(split, scan_part(files));
    let (none, file) = (scan("none", &[]), one_file(1.0));
    let options = PartialState::new("other", &json!({"seed": 1}), scan_part(&[])).unwrap();
    refused(&none, &options, "made with different options: `seed` differ");
    let replication = state("r", replication_part(9, &[]));
    refused(&none, &replication, "kind scan cannot be merged with one of kind replication");
    refused(&scan("a", &file), &scan("a", &[]), "the split `a` is in both states, with different content");
    refused(&scan("a", &file), &scan("b", &file), "corpus/a/0.json: the file is in more than one split");
    let pair = |one: &str, other: &str| {
        let mut pair = scan(one, &[]);
        pair.merge(&scan(other, &[])).unwrap();
        pair
    };
    refused(
        &pair("a", "b"),
        &pair("b", "c"),
        "the split `b` is in both states, and both have others besides",
    );
    // A state that is part of another adds nothing; a state that contains another replaces it.
    let mut both = scan("b", &[]);
    both.merge(&pair("a", "b")).unwrap();
    both.merge(&scan("a", &[])).unwrap();
    assert_eq!(both, pair("a", "b"));
}

#[test]
fn standard_input_may_be_in_any_number_of_parts() {
    let mut scanned = one_file(1.0);
    let part = |split: &str, scanned: &mut Vec<FileScan>| {
        for file in scanned.iter_mut() {
            file.path = Path::new("-").into();
            file.traces.iter_mut().for_each(|record| record.file = Path::new("-").into());
        }
        state(split, scan_part(&*scanned))
    };
    let mut all = part("a", &mut scanned);
    all.merge(&part("b", &mut scanned)).unwrap();
    let PartialContent::Scan(found) = all.into_content() else { panic!("a scan") };
    assert_eq!(render_files(&found.files), "-: tau2, 2 runs\n");
}

#[test]
fn other_versions_are_told_by_their_kind() {
    let text = String::from_utf8(state("a", scan_part(&one_file(1.0))).to_json().unwrap()).unwrap();
    let kind = |text: &str| PartialState::from_json(text.as_bytes()).unwrap_err().kind();
    assert_eq!(kind(&text.replace("\"version\":7", "\"version\":1")), ErrorKind::Version);
    let made_by = format!("\"crate\":\"{}\"", env!("CARGO_PKG_VERSION"));
    assert_eq!(kind(&text.replace(&made_by, "\"crate\":\"0.0.1\"")), ErrorKind::Version);
    assert_eq!(kind(&text.replace("\"runs\":1", "\"runs\":\"1\"")), ErrorKind::Partial);
    assert_eq!(kind(&text.replace("\"kind\":\"scan\"", "\"kind\":\"replication\"")), ErrorKind::Partial);
    assert_eq!(kind("{}"), ErrorKind::Partial);
    assert_eq!(kind(""), ErrorKind::Partial);
    assert_eq!(kind("[1]"), ErrorKind::Partial);
}

// ---- The programs

/// Returns the bundled files in reverse order.
fn bundled() -> Vec<String> {
    let mut files: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/tau2"))
        .unwrap()
        .map(|entry| format!("golden/tau2/{}", entry.unwrap().file_name().to_str().unwrap()))
        .filter(|file| Path::new(file).extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort_by(|one, other| other.cmp(one));
    files
}

#[test]
fn merging_prints_what_one_scan_prints() {
    let folder = Folder::new("check");
    let (html, merged_html) = (folder.path("one.html"), folder.path("merged.html"));
    let one_json = folder.path("one.json");
    let (whole, _) =
        ends("check", &["golden/tau2", "--fingerprints", "--html", &html, "--json", &one_json], 0);
    let states = folder.path("states");
    fs::create_dir(&states).unwrap();
    for (number, file) in bundled().iter().enumerate() {
        ends("check", &[file, "--fingerprints", "--partial", &format!("{states}/{number}.json")], 0);
    }
    let summary = folder.path("summary.json");
    let (out, _) = ends("merge", &[&states, "--html", &merged_html, "--json", &summary], 0);
    assert_eq!(out, whole);
    assert_eq!(folder.text("merged.html"), folder.text("one.html"));
    let figures: Value = serde_json::from_str(&folder.text("summary.json")).unwrap();
    assert_eq!(figures["runs"], 408);
    assert!(figures["fingerprints"]["scripted-quitter"]["agent"].is_object());
    assert_eq!(folder.text("summary.json"), folder.text("one.json"));
    // The states are merged in two steps, and one part comes twice.
    let (few, again) = (folder.path("few.json"), format!("{states}/3.json"));
    ends("merge", &[&format!("{states}/1.json"), &again, "--partial", &few], 0);
    let (_, told) = ends("merge", &[&few, &again, &states], 0);
    assert_eq!(told, "");
    let rules = folder.write("rules.toml", "[[ignore]]\ndetector = \"loop\"\nreason = \"known\"\n");
    for (option, value, named) in
        [("--min-confidence", "certain", "min_confidence"), ("--config", &*rules, "ignore")]
    {
        let other = folder.path("other.json");
        ends("check", &[&bundled()[0], "--fingerprints", option, value, "--partial", &other], 0);
        let (_, told) = ends("merge", &[&other, &again], 2);
        assert!(told.contains(&format!("made with different options: `{named}` differ")), "{told}");
    }
    let (_, told) = ends("merge", &[&states, "--chart", &folder.path("x.svg")], 2);
    assert!(told.contains("--out and --chart need states of `replicate`"), "{told}");
}

#[test]
fn merging_prints_what_one_replication_prints() {
    let folder = Folder::new("replication");
    for exact in ["200000", "100"] {
        let options = ["--resamples", "100", "--pass-k", "--exact-runs", exact];
        let outputs = |name: &str| {
            let path = |end: &str| folder.path(&format!("{name}-{exact}{end}"));
            let [json, html, markdown, csv] = [".json", ".html", ".md", ""].map(path);
            ["--json", &json, "--html", &html, "--markdown", &markdown, "--csv", &csv].map(str::to_owned)
        };
        let with = |rest: &[&str], outputs: &[String]| -> String {
            let name = if rest[0] == "golden/tau2" { "replicate" } else { "merge" };
            let arguments: Vec<&str> =
                rest.iter().copied().chain(outputs.iter().map(String::as_str)).collect();
            ends(name, &arguments, 0).0
        };
        let one = with(&[&["golden/tau2"][..], &options].concat(), &outputs("one"));
        let mut states = Vec::new();
        for (number, file) in bundled().iter().enumerate() {
            states.push(folder.path(&format!("{exact}-{number}.state")));
            let state = states.last().unwrap();
            ends("replicate", &[&[file, "--partial", state, "--no-report"], &options[..]].concat(), 0);
        }
        let paths: Vec<&str> = states.iter().map(String::as_str).collect();
        assert_eq!(with(&paths, &outputs("merged")), one);
        assert_eq!(
            one.replace('\n', " ").contains("more runs than are kept individually"),
            exact == "100",
            "{one}"
        );
        assert_eq!(one.contains("Does recovery predict reward better"), exact != "100", "{one}");
        for end in [".json", ".html", ".md", "/by_model.csv", "/by_model_domain.csv"] {
            assert_eq!(
                folder.text(&format!("merged-{exact}{end}")),
                folder.text(&format!("one-{exact}{end}"))
            );
        }
    }
    let bundled = bundled();
    let other = folder.path("other.json");
    ends("replicate", &[&bundled[0], "--partial", &other, "--no-report", "--seed", "1"], 0);
    let (_, told) = ends("merge", &[&folder.path("100-1.state"), &other], 2);
    assert!(
        told.contains("made with different options: `exact_runs`, `pass_k`, `resamples`, `seed` differ"),
        "{told}"
    );
}

#[test]
fn what_no_part_could_read_is_told_by_who_merges() {
    let folder = Folder::new("unreadable");
    let garbage = folder.write("garbage.json", "hello");
    let (one, other) = (folder.path("1.state"), folder.path("2.state"));
    ends("check", &[&garbage, "--partial", &one], 3);
    ends("replicate", &[&garbage, "--partial", &other, "--no-report"], 3);
    let mut errors = String::new();
    for (states, status) in [(&[&*one][..], 3), (&[&other], 3), (&[&one, &other], 2), (&[&garbage], 2)] {
        errors += &ends("merge", states, status).1;
    }
    let state = folder.text("1.state");
    for wrong in
        ["{\"simulations\": []}", state.split_at(80).0, &state.replacen("\"runs\":0", "\"runs\":7", 1)]
    {
        assert_ne!(wrong, state);
        folder.write("garbage.json", wrong);
        errors += &ends("merge", &[&garbage], 2).1;
    }
    insta::assert_snapshot!("merge_errors", folder.masked(&errors));
}
