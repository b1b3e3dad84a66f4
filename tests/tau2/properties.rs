//! Tests properties of damaged files.

use super::*;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() }
}

fn formats() -> [ReadOptions; 4] {
    [None, Some(Format::Tau2), Some(Format::BenchTrace), Some(Format::Native)]
        .map(|format| ReadOptions { format, ..ReadOptions::default() })
}

/// Draws bytes, many of them characters that JSON uses.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"{}[]\",:\\ \n-0123truefalsn.eE\xef\xbb\xbf".to_vec()),
    ];
    prop::collection::vec(byte, 0..6)
}

/// Bytes to remove at a place, and those to insert there.
#[derive(Debug, Clone)]
struct Damage {
    at: Index,
    removed: usize,
    inserted: Vec<u8>,
}

impl Damage {
    /// Applies the damage at a place between `from` and `to`.
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

/// Returns the start and end of files of runs. The last file has its header after the runs.
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

/// Returns the errors whose place is outside the text. The column after the end of a line is inside.
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
                prop_assert_eq!(describe_errors(&other.errors), describe_errors(&reading.errors));
            }
        }
    }

    #[test]
    fn damage_within_a_run_loses_none_before_it(
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
        // The format of a bare list cannot always be detected if its first run is damaged.
        let found = if victim > 0 || layout != 1 { Some(ReadOptions::default()) } else { None };
        for options in found.into_iter().chain([tau2()]) {
            let (traces, reading) = read_traces(&damaged, &options);
            let (streamed, _) = stream(&damaged[..], &options);
            prop_assert!(traces.len() >= victim);
            for (trace, intact) in traces.iter().zip(&whole).take(victim) {
                let steps = |trace: &Trace| format!("{:?}", trace.steps().collect::<Vec<_>>());
                prop_assert_eq!(steps(trace), steps(intact));
                prop_assert_eq!((trace.reward(), &trace.metadata().id), (intact.reward(), &intact.metadata().id));
            }
            prop_assert_eq!(native(&streamed), native(&traces));
            let earliest = reading.errors.iter().filter_map(Error::run).min();
            prop_assert!(earliest.is_none_or(|run| run >= victim as u64), "{:?}", reading.errors);
        }
    }

    #[test]
    fn damage_that_leaves_brackets_and_strings_loses_one_run_at_most(
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
        // A call whose key is damaged is reported; its run is read.
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
