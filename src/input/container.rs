//! A file of runs, whatever their format: an object with a list of runs, a bare list, one run, or one such value
//! per line.
//!
//! A slice is read in one pass by `serde_json`. Where that pass meets an error, and for streams, the careful walk
//! takes over.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::careful::{Careful, place};
use super::window::{Value as WindowValue, Window};
use super::wire::Str;
use crate::error::{Error, Result};
use crate::trace::StepSink;

/// What one format knows about its files.
pub(super) trait Layout: Clone {
    /// The key of the list of runs.
    const RUNS: &'static str;
    /// Keys by which an object is a run itself.
    const RUN_KEYS: &'static [&'static str];
    /// Keys by which an object without a list of runs is a run.
    const WEAK_RUN_KEYS: &'static [&'static str] = &[];
    /// What such a file is called.
    const NAME: &'static str;

    /// Memory that one run leaves to the next.
    type Scratch<'de>: Default;

    /// Takes another key of the file. Whether it tells something about the runs.
    fn header_value<'de, D: Deserializer<'de>>(&mut self, key: &str, value: D) -> Result<bool, D::Error>;

    /// Reads one run into the sink.
    fn run<'de, D: Deserializer<'de>>(
        &mut self,
        run: D,
        scratch: &mut Self::Scratch<'de>,
        context: &mut RunContext,
        sink: &mut dyn StepSink,
    ) -> Result<(), D::Error>;

    /// Whether the texts of arguments are kept from now on; gives back whether they were before.
    fn keep_texts(&mut self, keep: bool) -> bool {
        let _ = keep;
        true
    }

    /// The model that the file names.
    fn model(&self) -> Option<&Arc<str>> {
        None
    }

    /// The domain that the file names.
    fn domain(&self) -> Option<&Arc<str>> {
        None
    }
}

/// Carries this crate's own errors through `serde`, whose errors keep only text.
#[derive(Debug, Default)]
pub(super) struct RunContext {
    position: u64,
    error: Option<Error>,
}

impl RunContext {
    /// The place of the run in its file.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn typed<T, E: serde::de::Error>(&mut self, result: Result<T>) -> Result<T, E> {
        result.map_err(|error| {
            let text = E::custom(&error);
            self.error = Some(error);
            text
        })
    }

    fn resolve(&mut self, error: &serde_json::Error) -> Error {
        let parsed = Error::json(error);
        match self.error.take() {
            Some(own) => match parsed.location() {
                Some(location) => own.at(location),
                None => own,
            },
            None => parsed,
        }
    }
}

/// What became of a file.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Runs that reached the sink.
    pub(super) runs: u64,
    pub(super) errors: Vec<Error>,
}

/// Reads a whole file in memory. `header_only`: a file that has no runs is no error.
pub(super) fn read_slice<L: Layout>(
    layout: &mut L,
    bytes: &[u8],
    header_only: bool,
    sink: &mut dyn StepSink,
) -> Outcome {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut pass = Pass { layout, sink, context: RunContext::default(), state: State::default() };
    let mut clean = pass.fast(bytes);
    if clean && pass.state.late {
        // The runs were read without what the file says of them further down. Now it is known.
        pass.sink.rewind();
        pass.state = State::default();
        clean = pass.fast(bytes);
    }
    if clean && pass.state.has_runs {
        return Outcome { runs: pass.state.runs, errors: Vec::new() };
    }
    let done = pass.state.runs;
    let mut careful = Careful::new(pass, header_only, done);
    careful.walk(&mut Window::over_slice(bytes));
    if careful.pass.state.late {
        careful.pass.sink.rewind();
        careful = Careful::new(Pass { state: State::default(), ..careful.pass }, header_only, 0);
        careful.walk(&mut Window::over_slice(bytes));
    }
    careful.outcome()
}

/// Reads a stream, run by run. What the file says of its runs only behind them reaches the sink by
/// [`StepSink::describe`] as far as that can be.
pub(super) fn read_stream<L: Layout>(
    layout: &mut L,
    window: &mut Window<'_>,
    sink: &mut dyn StepSink,
) -> Outcome {
    let pass = Pass { layout, sink, context: RunContext::default(), state: State::default() };
    let mut careful = Careful::new(pass, false, 0);
    careful.walk(window);
    careful.pass.describe();
    careful.outcome()
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Runs that are complete.
    pub(super) runs: u64,
    /// Position of the next run.
    pub(super) next: u64,
    has_runs: bool,
    /// Whether the object turned out to be a run.
    single: bool,
    /// Whether something about the runs came behind them.
    pub(super) late: bool,
}

impl State {
    /// The state where so many runs reached the sink before.
    pub(super) fn with_runs(runs: u64) -> Self {
        Self { runs, ..Self::default() }
    }

    /// The state before the run at this position.
    pub(super) fn starting_at(next: u64) -> Self {
        Self { next, ..Self::default() }
    }
}

pub(super) struct Pass<'x, L> {
    pub(super) layout: &'x mut L,
    pub(super) sink: &'x mut dyn StepSink,
    pub(super) context: RunContext,
    pub(super) state: State,
}

impl<L: Layout> Pass<'_, L> {
    /// One pass over the whole; `false` where something is wrong, with the complete runs counted.
    fn fast(&mut self, bytes: &[u8]) -> bool {
        let initial = self.layout.clone();
        let mut parser = serde_json::Deserializer::from_slice(bytes);
        let mut result = parser.deserialize_any(FileVisitor(self));
        if self.state.single {
            self.state.has_runs = true;
            // What looked like the file's was the run's.
            *self.layout = initial;
            parser = serde_json::Deserializer::from_slice(bytes);
            result = RunSeed { pass: self, scratch: &mut L::Scratch::default() }.deserialize(&mut parser);
        }
        result.and_then(|()| parser.end()).is_ok()
    }

    /// Tells the sink what the file says of its runs only behind them.
    pub(super) fn describe(&mut self) {
        if self.state.late {
            self.sink.describe(self.layout.model(), self.layout.domain());
        }
    }

    /// Reads one run from its own text.
    pub(super) fn run(&mut self, text: &[u8], value: WindowValue) -> Result<()> {
        let number = self.state.next;
        let mut result = self.parse(text);
        if result.is_err() && !self.layout.keep_texts(true) {
            // Arguments that have no digest but that of their text are no error.
            self.state.next = number;
            result = self.parse(text);
            self.layout.keep_texts(false);
        }
        result.map_err(|error| {
            let error = self.context.resolve(&error);
            let place = place(&error, value, text);
            error.at(place)
        })
    }

    fn parse(&mut self, text: &[u8]) -> serde_json::Result<()> {
        let mut parser = serde_json::Deserializer::from_slice(text);
        let scratch = &mut L::Scratch::default();
        RunSeed { pass: self, scratch }.deserialize(&mut parser).and_then(|()| parser.end())
    }
}

struct FileVisitor<'p, 'x, L>(&'p mut Pass<'x, L>);

impl<'de, L: Layout> Visitor<'de> for FileVisitor<'_, '_, L> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} (an object or a list)", L::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut file: A) -> Result<(), A::Error> {
        let pass = self.0;
        let mut weak = false;
        while let Some(Str(key)) = file.next_key::<Str<'de>>()? {
            weak |= L::WEAK_RUN_KEYS.contains(&&*key);
            if key == L::RUNS && !pass.state.has_runs {
                pass.state.has_runs = true;
                file.next_value_seed(RunsSeed(pass))?;
            } else if !pass.state.has_runs && L::RUN_KEYS.contains(&&*key) {
                pass.state.single = true;
                return Err(A::Error::custom("a run"));
            } else {
                let told = file.next_value_seed(HeaderSeed { layout: pass.layout, key: &key })?;
                pass.state.late |= told && pass.state.has_runs && pass.state.runs > 0;
            }
        }
        pass.state.single = weak && !pass.state.has_runs;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, runs: A) -> Result<(), A::Error> {
        self.0.state.has_runs = true;
        RunsSeed(self.0).visit_seq(runs)
    }
}

struct HeaderSeed<'x, L> {
    layout: &'x mut L,
    key: &'x str,
}

impl<'de, L: Layout> DeserializeSeed<'de> for HeaderSeed<'_, L> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<bool, D::Error> {
        self.layout.header_value(self.key, value)
    }
}

struct RunsSeed<'p, 'x, L>(&'p mut Pass<'x, L>);

impl<'de, L: Layout> DeserializeSeed<'de> for RunsSeed<'_, '_, L> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, runs: D) -> Result<(), D::Error> {
        runs.deserialize_seq(self)
    }
}

impl<'de, L: Layout> Visitor<'de> for RunsSeed<'_, '_, L> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of runs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut runs: A) -> Result<(), A::Error> {
        let mut scratch = L::Scratch::default();
        while runs.next_element_seed(RunSeed { pass: self.0, scratch: &mut scratch })?.is_some() {}
        Ok(())
    }
}

struct RunSeed<'p, 'x, 'de, L: Layout> {
    pass: &'p mut Pass<'x, L>,
    scratch: &'p mut L::Scratch<'de>,
}

impl<'de, L: Layout> DeserializeSeed<'de> for RunSeed<'_, '_, 'de, L> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, run: D) -> Result<(), D::Error> {
        let Pass { layout, sink, context, state } = self.pass;
        context.position = state.next;
        state.next += 1;
        let result = layout.run(run, self.scratch, context, *sink);
        match result {
            Ok(()) => state.runs += 1,
            Err(_) => sink.abandon(),
        }
        result
    }
}
