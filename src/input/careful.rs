//! The careful walk: it cuts a source into runs first, so that one bad run costs no other, and nothing but the run at
//! hand is held.

use super::container::{Layout, Outcome, Pass, State};
use super::window::{Value as WindowValue, Window};
use crate::error::{Error, ErrorKind, Location, Result};

/// Walks a source value by value.
pub(super) struct Careful<'x, L> {
    pub(super) pass: Pass<'x, L>,
    header_only: bool,
    /// Runs that reached the sink in a pass before.
    done: u64,
    errors: Vec<Error>,
}

impl<'x, L: Layout> Careful<'x, L> {
    pub(super) fn new(mut pass: Pass<'x, L>, header_only: bool, done: u64) -> Self {
        pass.state = State::with_runs(done);
        Self { pass, header_only, done, errors: Vec::new() }
    }

    pub(super) fn outcome(self) -> Outcome {
        Outcome { runs: self.pass.state.runs, errors: self.errors }
    }

    pub(super) fn walk(&mut self, window: &mut Window<'_>) {
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
pub(super) fn place(error: &Error, value: WindowValue, text: &[u8]) -> Location {
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
