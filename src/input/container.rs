//! A file of runs, whatever their format: an object with a list of runs, a bare list, one run, or one such value
//! per line.
//!
//! A slice is read in one pass by `serde_json`. Where that pass meets an error, and for streams, a careful walk
//! takes over: it cuts the source into runs first, so that one bad run costs no other.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::window::{Value as WindowValue, Window};
use super::wire::Str;
use crate::error::{Error, ErrorKind, Location, Result};
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
    fn model(&self) -> Option<&str> {
        None
    }

    /// The domain that the file names.
    fn domain(&self) -> Option<&str> {
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
    late: bool,
}

impl State {
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
}

impl<L: Layout> Pass<'_, L> {
    /// Tells the sink what the file says of its runs only behind them.
    fn describe(&mut self) {
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

/// Walks a source value by value.
struct Careful<'x, L> {
    pass: Pass<'x, L>,
    header_only: bool,
    /// Runs that reached the sink in a pass before.
    done: u64,
    errors: Vec<Error>,
}

impl<'x, L: Layout> Careful<'x, L> {
    fn new(mut pass: Pass<'x, L>, header_only: bool, done: u64) -> Self {
        pass.state = State { runs: done, ..State::default() };
        Self { pass, header_only, done, errors: Vec::new() }
    }

    fn outcome(self) -> Outcome {
        Outcome { runs: self.pass.state.runs, errors: self.errors }
    }

    fn walk(&mut self, window: &mut Window<'_>) {
        if let Err(error) = self.try_walk(window) {
            self.errors.push(error);
        }
    }

    fn try_walk(&mut self, window: &mut Window<'_>) -> Result<()> {
        window.skip_byte_order_mark()?;
        let mut values = 0;
        let initial = self.pass.layout.clone();
        while let Some(first) = window.peek()? {
            // What one value told does not hold for the next. Where none follows, it still holds at the end.
            if values > 0 && matches!(first, b'{' | b'[') {
                self.pass.describe();
                *self.pass.layout = initial.clone();
            }
            match first {
                b'{' => self.object(window)?,
                b'[' => self.runs(window)?,
                _ => {
                    let message = format!("expected a {} (an object or a list)", L::NAME);
                    return Err(Error::new(ErrorKind::Syntax, message).at(window.position().location()));
                }
            }
            values += 1;
        }
        if values == 0 {
            return Err(Error::new(ErrorKind::Empty, "the input is empty"));
        }
        Ok(())
    }

    fn object(&mut self, window: &mut Window<'_>) -> Result<()> {
        let initial = self.pass.layout.clone();
        window.mark();
        let start = window.position();
        window.advance(1);
        let mut has_runs = false;
        let mut weak = false;
        let mut first = true;
        loop {
            match window.peek()? {
                Some(b'}') => {
                    window.advance(1);
                    break;
                }
                Some(b',') if !first => window.advance(1),
                Some(_) if first => {}
                _ => return Err(unexpected(window, "expected `,` or `}`")),
            }
            first = false;
            let key = key(window)?;
            weak |= L::WEAK_RUN_KEYS.contains(&&*key);
            if key == L::RUNS && !has_runs {
                window.unmark();
                has_runs = true;
                let next = window.peek()?;
                if next == Some(b'[') {
                    self.runs(window)?;
                } else if next.is_some() {
                    let place = window.position().location();
                    self.errors.push(Error::shape(format!("`{key}` is no list of runs")).at(place));
                    window.skip()?;
                }
            } else if !has_runs && L::RUN_KEYS.contains(&&*key) {
                *self.pass.layout = initial;
                window.rewind();
                return self.run(window);
            } else {
                self.header(window, &key, has_runs)?;
            }
        }
        if has_runs {
            return Ok(());
        }
        if weak {
            *self.pass.layout = initial;
            window.rewind();
            return self.run(window);
        }
        window.unmark();
        if !self.header_only {
            let message = format!("no {}: neither a list of runs (`{}`) nor a run", L::NAME, L::RUNS);
            self.errors.push(Error::shape(message).at(start.location()));
        }
        Ok(())
    }

    fn header(&mut self, window: &mut Window<'_>, key: &str, behind: bool) -> Result<()> {
        let value = window.value()?;
        let mut parser = serde_json::Deserializer::from_slice(window.bytes(value));
        match self.pass.layout.header_value(key, &mut parser) {
            Ok(told) => self.pass.state.late |= told && behind && self.pass.state.runs > 0,
            Err(error) => {
                let error = Error::json(&error);
                let place = place(&error, value, window.bytes(value));
                self.errors.push(Error::new(error.kind(), format!("`{key}`: {}", error.message())).at(place));
            }
        }
        window.pass(value);
        Ok(())
    }

    fn runs(&mut self, window: &mut Window<'_>) -> Result<()> {
        window.advance(1);
        let mut first = true;
        loop {
            match window.peek()? {
                Some(b']') => {
                    window.advance(1);
                    return Ok(());
                }
                Some(b',') if !first => window.advance(1),
                Some(_) if first => {}
                _ => return Err(unexpected(window, "expected `,` or `]`")),
            }
            if !first && window.peek()? == Some(b']') {
                let place = window.position().location();
                self.errors.push(Error::new(ErrorKind::Syntax, "a comma with nothing behind it").at(place));
                continue;
            }
            first = false;
            self.run(window)?;
        }
    }

    fn run(&mut self, window: &mut Window<'_>) -> Result<()> {
        let number = self.pass.state.next;
        if number < self.done {
            self.pass.state.next += 1;
            return window.skip();
        }
        let value = window.value().map_err(|error| error.in_run(number))?;
        if let Err(error) = self.pass.run(window.bytes(value), value) {
            self.errors.push(error.in_run(number));
        }
        window.pass(value);
        Ok(())
    }
}

/// Reads `"key":`.
pub(super) fn key(window: &mut Window<'_>) -> Result<String> {
    if window.peek()? != Some(b'"') {
        return Err(unexpected(window, "expected a key"));
    }
    let value = window.value()?;
    let key =
        serde_json::from_slice(window.bytes(value)).map_err(|_| unexpected_at(value, "expected a key"))?;
    window.pass(value);
    if window.peek()? != Some(b':') {
        return Err(unexpected(window, "expected `:`"));
    }
    window.advance(1);
    Ok(key)
}

/// The place in the source of an error within a value.
fn place(error: &Error, value: WindowValue, text: &[u8]) -> Location {
    let Some(mut inner) = error.location() else { return value.position.location() };
    if inner.column == 0 {
        // The parser has just passed the end of a line. What it did not like is the line break, or lies behind it.
        if error.kind() == ErrorKind::Syntax && inner.line > 1 {
            inner.line -= 1;
            let before = usize::try_from(inner.line - 1).ok();
            let line = before.and_then(|before| text.split(|byte| *byte == b'\n').nth(before));
            inner.column = line.map_or(0, |line| line.len() as u64);
        }
        inner.column = inner.column.max(1);
    }
    value.position.translate(inner)
}

fn unexpected_at(value: WindowValue, message: &str) -> Error {
    Error::new(ErrorKind::Syntax, message).at(value.position.location())
}

fn unexpected(window: &mut Window<'_>, message: &str) -> Error {
    let place = window.position().location();
    match window.peek() {
        Ok(None) => Error::new(ErrorKind::Truncated, "the input ends in the middle of a value").at(place),
        _ => Error::new(ErrorKind::Syntax, message).at(place),
    }
}
