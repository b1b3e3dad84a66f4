//! Properties.

use super::*;
const CASES: u32 = 200;

fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

fn formats() -> [ReadOptions; 4] {
    [None, Some(Format::Tau2), Some(Format::BenchTrace), Some(Format::Native)]
        .map(|format| ReadOptions { format, ..ReadOptions::default() })
}

/// Bytes, mostly of the kind that JSON is made of.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"{}[]\",:\\ \n-0123truefalsn.eE\xef\xbb\xbf".to_vec()),
    ];
    prop::collection::vec(byte, 0..6)
}

/// A change to a text: what lies at a place is replaced by other bytes.
#[derive(Debug, Clone)]
struct Damage {
    at: Index,
    removed: usize,
    inserted: Vec<u8>,
}

impl Damage {
    /// Changes the bytes between two places.
    fn apply(&self, text: &mut Vec<u8>, from: usize, to: usize) {
        let at = from + self.at.index(to - from);
        text.splice(at..(at + self.removed).min(to), self.inserted.iter().copied());
    }
}

fn damaged(text: &str, damages: &[Damage]) -> Vec<u8> {
    let mut text = text.as_bytes().to_vec();
    for damage in damages {
        text.push(b' ');
        let end = text.len();
        damage.apply(&mut text, 0, end);
    }
    text
}

fn damage() -> impl Strategy<Value = Damage> {
    let removed = prop_oneof![0..3_usize, 0..60_usize];
    (any::<Index>(), removed, bytes()).prop_map(|(at, removed, inserted)| Damage { at, removed, inserted })
}

/// What opens and closes a file of runs. In the last one the header comes behind.
fn layouts() -> [(String, String); 4] {
    [
        (format!("{{\"info\": {INFO}, \"tasks\": {TASKS},\n\"simulations\": ["), "]}".to_owned()),
        ("[".to_owned(), "]".to_owned()),
        (
            "{\"model\": \"m\", \"domain\": \"d\", \"simulations\": [".to_owned(),
            "], \"passed\": 1}".to_owned(),
        ),
        ("{\"simulations\": [".to_owned(), format!("], \"info\": {INFO}}}")),
    ]
}

/// Errors whose place is none of the text: lines and columns count from 1, and the place just behind a line, or
/// behind the last one, is the furthest.
fn astray<'e>(errors: &'e [Error], text: &[u8]) -> Vec<&'e Error> {
    let lengths: Vec<u64> = text.split(|byte| *byte == b'\n').map(|line| line.len() as u64).collect();
    let exists = |at: Location| {
        let line = usize::try_from(at.line).unwrap().checked_sub(1).and_then(|line| lengths.get(line));
        at.column >= 1 && line.is_some_and(|length| at.column <= length + 1)
    };
    errors.iter().filter(|error| error.location().is_some_and(|at| !exists(at))).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn errors_lie_within_the_text(
        layout in 0..4_usize,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (open, close) = &layouts()[layout];
        let text = damaged(&three_runs(open, close).0, &damages);
        for options in formats() {
            let reading = read_traces(&text, &options).1;
            prop_assert!(astray(&reading.errors, &text).is_empty(), "{:?}", reading.errors);
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_alike_and_without_panic(
        input in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            prop::collection::vec(bytes(), 0..60).prop_map(|parts| parts.concat()),
            prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\n", "7", "null", "\"simulations\"", "\"messages\"", "\"episodes\"",
                "\"snapshot\"", "\"trajectory\"", "\"steps\"", "\"version\"", "\"traces\"", "\"info\"", "\"tasks\"",
                "\"id\"", "\"role\"", "\"user\"", "{\"role\": \"user\", \"content\": \"hi\"}", "\"text\"",
                "{\"simulations\": [", "{\"messages\": []}", "{\"episodes\": [", "{\"traces\": [",
                "{\"snapshot\": {\"trajectory\": []}}", "{\"version\": 1, \"steps\": []}",
            ]), 0..30).prop_map(|parts| parts.concat().into_bytes()),
        ],
    ) {
        for options in formats() {
            let (traces, reading) = read_traces(&input, &options);
            for (others, other) in [stream(&input[..], &options), stream(Drip(&input, 1), &options)] {
                prop_assert_eq!(native(&others), native(&traces));
                prop_assert_eq!(told(&other.errors), told(&reading.errors));
            }
        }
    }

    #[test]
    fn damaged_files_are_read_alike_and_without_panic(
        layout in 0..4_usize,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (open, close) = &layouts()[layout];
        let text = damaged(&three_runs(open, close).0, &damages);
        for options in formats() {
            let (traces, reading) = read_traces(&text, &options);
            let (others, other) = stream(Drip(&text, 1), &options);
            prop_assert_eq!(native(&others), native(&traces));
            prop_assert_eq!(told(&other.errors), told(&reading.errors));
        }
    }

    #[test]
    fn damage_within_a_run_costs_none_before(
        layout in 0..4_usize,
        victim in 0..3_usize,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (open, close) = &layouts()[layout];
        let (text, places) = three_runs(open, close);
        let whole = read_traces(text.as_bytes(), &tau2()).0;
        let mut damaged = text.clone().into_bytes();
        let Range { start, mut end } = places[victim].clone();
        for damage in damages {
            // The brackets of the run stay.
            let before = damaged.len();
            if end > start + 2 {
                damage.apply(&mut damaged, start + 1, end - 1);
            }
            end = end + damaged.len() - before;
        }
        // From a damaged first run of a bare list the format cannot always be told.
        let found = if victim > 0 || layout != 1 { Some(ReadOptions::default()) } else { None };
        for options in found.into_iter().chain([tau2()]) {
            let (traces, reading) = read_traces(&damaged, &options);
            let (streamed, _) = stream(&damaged[..], &options);
            prop_assert!(traces.len() >= victim);
            for (trace, intact) in traces.iter().zip(&whole).take(victim) {
                prop_assert_eq!(lines(trace), lines(intact));
                prop_assert_eq!((trace.reward(), &trace.metadata().id), (intact.reward(), &intact.metadata().id));
            }
            prop_assert_eq!(native(&streamed), native(&traces));
            let earliest = reading.errors.iter().filter_map(Error::run).min();
            prop_assert!(earliest.is_none_or(|run| run >= victim as u64), "{:?}", reading.errors);
        }
    }

    #[test]
    fn damage_that_leaves_brackets_and_strings_costs_its_run_at_most(
        layout in 0..4_usize,
        victim in 0..3_usize,
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        let (open, close) = &layouts()[layout];
        let (text, places) = three_runs(open, close);
        let whole = read_traces(text.as_bytes(), &tau2()).0;
        let mut damaged = text.into_bytes();
        for (at, byte) in changes {
            let structural = |byte: u8| b"{}[]\"\\".contains(&byte);
            let Range { start, end } = places[victim].clone();
            let place = start + at.index(end - start);
            if !structural(damaged[place]) && !structural(byte) && damaged[place - 1] != b'\\' {
                damaged[place] = byte;
            }
        }
        let (traces, reading) = read_traces(&damaged, &tau2());
        let (streamed, _) = stream(&damaged[..], &tau2());
        prop_assert_eq!(native(&streamed), native(&traces));
        // A call whose key is damaged is reported, and its run is read.
        let lost: Vec<&Error> = reading.errors.iter().filter(|error| error.kind() != ErrorKind::Unread).collect();
        prop_assert!(lost.len() <= 1, "{:?}", reading.errors);
        prop_assert_eq!(traces.len() + lost.len(), 3);
        prop_assert!(lost.iter().all(|error| error.run() == Some(victim as u64)), "{:?}", reading.errors);
        for (i, intact) in whole.iter().enumerate().filter(|(i, _)| *i != victim) {
            let place = if lost.is_empty() || i < victim { i } else { i - 1 };
            prop_assert_eq!(&traces[place], intact);
        }
    }
}

/// The header behind the runs holds for them, whatever litter comes behind it.
#[test]
fn a_header_behind_the_runs_holds_where_litter_follows() {
    let (open, close) = &layouts()[3];
    let options = ReadOptions::default();
    for litter in ["}", "{", "[", "7"] {
        let text = three_runs(open, close).0 + litter;
        let (traces, reading) = read_traces(text.as_bytes(), &options);
        let (others, other) = stream(text.as_bytes(), &options);
        assert!(
            traces.len() == 3
                && traces.iter().all(|trace| trace.metadata().model.as_deref() == Some("gpt-4.1"))
        );
        assert_eq!(native(&others), native(&traces));
        assert_eq!(told(&other.errors), told(&reading.errors));
        assert_eq!(reading.errors.len(), 1, "{litter}");
    }
}

/// What was once taken for runs of tau2 without an action.
#[test]
fn runs_of_other_kinds_do_not_pass_for_runs_without_actions() {
    // tau-bench v1, by the format told wrongly: an error that names the key.
    let other = r#"[{"task_id": 1, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "hi"}]}]"#;
    let (traces, errors) = read_with(other.as_bytes(), &tau2());
    assert_eq!((traces.len(), errors.len(), errors[0].run()), (0, 1, Some(0)));
    assert!(errors[0].message().contains("`traj`"), "{}", errors[0]);
    // Of voice runs, whose events are ticks, nothing is known.
    let voice = r#"{"simulations": [{"id": "v", "reward_info": {"reward": 1.0}, "messages": [], "ticks": [{}]}, {"id": "w", "termination_reason": "user_stop", "ticks": []}]}"#;
    let (traces, errors) = read(voice);
    assert_eq!((ids(&traces), errors.len()), (vec!["w"], 1));
    assert!(errors[0].message().contains("`ticks`"), "{}", errors[0]);
    // A task alone claims nothing, and neither does what is said of runs.
    for text in [r#"[{"task_id": 1}]"#, r#"{"task_id": 1}"#, r#"{"info": {}}"#] {
        let (traces, errors) = read_with(text.as_bytes(), &ReadOptions::default());
        assert_eq!((traces.len(), errors.len(), errors[0].kind()), (0, 1, ErrorKind::Format), "{text}");
    }
    let (traces, errors) = read(r#"{"simulations": [{"task_id": 1}]}"#);
    assert_eq!((traces.len(), errors.len()), (0, 1));
}

/// Each value of a file has a header of its own.
#[test]
fn the_header_of_one_line_is_not_that_of_another() {
    let text = "{\"model\":\"A\",\"simulations\":[]}\n{\"simulations\":[{\"id\":\"b\",\"messages\":[]}]}\n\
                {\"simulations\":[{\"id\":\"c\",\"messages\":[]}],\"model\":\"C\"}\n\
                {\"simulations\":[{\"id\":\"d\",\"messages\":[]}],\"model\":\"D\"}";
    let traces = clean(text);
    let models: Vec<_> = traces.iter().map(|trace| trace.metadata().model.as_deref()).collect();
    assert_eq!((ids(&traces), models), (vec!["b", "c", "d"], vec![None, Some("C"), Some("D")]));
}

#[test]
fn faults_around_the_runs_are_told_and_cost_no_run() {
    let run = |id: &str| format!(r#"{{"id": "{id}", "messages": []}}"#);
    let (a, b, c) = (run("a"), run("b"), run("c"));
    // A missing item costs itself.
    let (traces, errors) = read(format!("[{a},,{b},{c}]"));
    assert_eq!((ids(&traces), errors.len(), errors[0].run()), (vec!["a", "b", "c"], 1, Some(1)));
    let (traces, errors) = read(format!("[{a} {b},{c}]"));
    assert_eq!((ids(&traces), errors.len(), errors[0].run()), (vec!["a", "b", "c"], 1, None));
    let (traces, errors) = read(format!("[{a},{b},{c},]"));
    assert_eq!((ids(&traces), errors.len()), (vec!["a", "b", "c"], 1));
    // What is passed over must be JSON as well.
    let (traces, errors) = read_with(
        format!(r#"{{"timestamp": 12abc, "info": null, "simulations": [{a}], "x": truely}}"#).as_bytes(),
        &tau2(),
    );
    assert_eq!(ids(&traces), ["a"]);
    assert_eq!(errors.iter().filter(|error| error.kind() == ErrorKind::Syntax).count(), 2, "{errors:?}");
    let (_, errors) = read_with(br#"{"pad": "x", "simulations": ],"info": null}"#, &tau2());
    assert_eq!(errors[0].kind(), ErrorKind::Syntax);
}

/// Many small lines behind one whose header comes late cost no more than their number.
#[test]
fn late_headers_of_many_lines_cost_linear_time() {
    let line = r#"{"simulations":[{"id":"x","messages":[]}],"model":"M"}"#;
    let text = format!("{line}\n").repeat(30_000);
    let (traces, errors) = read_with(text.as_bytes(), &tau2());
    assert_eq!((traces.len(), errors.len()), (30_000, 0));
    assert!(traces.iter().all(|trace| trace.metadata().model.as_deref() == Some("M")));
}

#[test]
fn an_error_echoes_little_of_the_input() {
    let name = "\u{7}x".repeat(5_000);
    let quoted = serde_json::to_string(&name).unwrap();
    let (_, errors) =
        read(format!(r#"[{{"id": "a", "messages": [{{"role": {quoted}}}]}}, {{"messages": []}}]"#));
    let message = errors[0].to_string();
    assert!(message.chars().count() < 1_500 && !message.contains('\u{7}'), "{message}");
}
