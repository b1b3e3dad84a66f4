//! Saves the state of an assembler as lines of JSON, to continue after a crash or in another process.

use std::io::{BufRead, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::assembler::TraceAssembler;
use super::event::AssemblerCounts;
use super::open_trace::OpenTrace;
use super::open_traces::State;
use super::parked_trace::unpacked;
use crate::error::{Error, Result};

/// The version of saved states that this crate writes, and the only one it reads.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Head {
    wrongturn_state: u32,
    now: u64,
    traces: u64,
    counts: AssemblerCounts,
    /// Closed traces in the order in which they closed, each with its number of late pieces.
    closed: Vec<(String, u64)>,
}

#[derive(Serialize, Deserialize)]
struct Line<'l> {
    trace: String,
    pieces: u64,
    due: u64,
    #[serde(borrow)]
    state: &'l RawValue,
}

impl TraceAssembler {
    /// Writes the state of the assembler: open and parked traces, counts, and the ids of closed traces.
    /// Does not write events that the caller has not taken yet. [`TraceAssembler::load`] reads the state.
    ///
    /// The state is written as lines of JSON, with a version. It holds the received pieces and the reported
    /// findings, but no detector state, so an assembler with other detectors can load it.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the writer fails.
    ///
    /// ```
    /// use wrongturn::{Action, Status, TraceAssembler, default_detectors, live::{AssemblerOptions, LiveEvent, UpdateKind}, trace::{Actor, StepInput}};
    ///
    /// let start = || TraceAssembler::new(default_detectors(), AssemblerOptions::default());
    /// let look = Action::new("look").answered(Status::Ok, "a wall");
    /// let look = StepInput::action(Actor::Agent, look);
    /// let mut before = start()?;
    /// for now in 0..2 {
    ///     before.step(now, "run", &look)?;
    /// }
    /// let mut state = Vec::new();
    /// before.save(&mut state)?;
    ///
    /// let mut after = start()?;
    /// after.load(&mut state.as_slice())?;
    /// after.step(2, "run", &look)?;
    /// let Some(LiveEvent::Update { update, .. }) = after.next_event() else { panic!("a loop") };
    /// assert_eq!((update.kind, update.finding.id.as_str()), (UpdateKind::Opened, "loop:2"));
    /// # Ok::<(), wrongturn::Error>(())
    /// ```
    pub fn save(&self, to: &mut dyn Write) -> Result<()> {
        let head = Head {
            wrongturn_state: VERSION,
            now: self.now,
            traces: self.slots.traces.len() as u64,
            counts: self.counts,
            closed: self.closed.iter().map(|(trace, late)| (trace.to_owned(), late)).collect(),
        };
        write_line(to, &head)?;
        for (id, slot) in &self.slots.traces {
            let json = match &slot.state {
                State::Open(open) => open.to_json(),
                State::Parked(parked) => unpacked(parked),
            };
            let state: &RawValue = serde_json::from_slice(&json).map_err(|error| broken(&error))?;
            let line = Line { trace: id.to_string(), pieces: slot.pieces, due: slot.due, state };
            write_line(to, &line)?;
        }
        Ok(())
    }

    /// Adds a state that [`TraceAssembler::save`] wrote. Its traces are parked; when their next piece arrives,
    /// they continue, and their findings keep their ids. Traces also keep the times at which they are due to be
    /// closed, so `now` must count from the same moment as before.
    ///
    /// States of several assemblers can be added one after the other: traces with the same id are joined, and
    /// counts are added up.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if the version differs, a line is invalid, or the state
    /// ends early; [`ErrorKind::Io`](crate::ErrorKind::Io) if the reader fails. Lines before the error have
    /// then been added.
    pub fn load(&mut self, from: &mut dyn BufRead) -> Result<()> {
        let mut text = String::new();
        read_line(from, &mut text)?;
        let head: Head = serde_json::from_str(&text).map_err(|error| at(1, &error.to_string()))?;
        if head.wrongturn_state != VERSION {
            let found = head.wrongturn_state;
            return Err(at(1, &format!("expected a state of version {VERSION}, got version {found}")));
        }
        self.now = self.now.max(head.now);
        self.counts.add(&head.counts);
        for (trace, late) in head.closed {
            self.closed.insert(trace.into(), late);
        }
        for number in 0..head.traces {
            read_line(from, &mut text)?;
            let place = number + 2;
            let line: Line<'_> =
                serde_json::from_str(&text).map_err(|error| at(place, &error.to_string()))?;
            let mut open = OpenTrace::from_json(line.state.get().as_bytes())
                .map_err(|error| at(place, &error.message()))?;
            let id: Arc<str> = line.trace.into();
            let (mut pieces, mut due) = (line.pieces, line.due);
            if let Some(own) = self.slots.remove(&id) {
                (pieces, due) = (pieces.saturating_add(own.pieces), due.min(own.due));
                open.merge(own.state.into_open());
            }
            self.slots.insert(&id, State::Parked(open.packed()), pieces);
            self.slots.set_due(&id, due);
        }
        self.keep_below_cap();
        Ok(())
    }
}

impl AssemblerCounts {
    fn add(&mut self, other: &Self) {
        *self = Self {
            received: self.received.saturating_add(other.received),
            judged: self.judged.saturating_add(other.judged),
            evicted: self.evicted.saturating_add(other.evicted),
            late: self.late.saturating_add(other.late),
            ignored: self.ignored.saturating_add(other.ignored),
            open: self.open.saturating_add(other.open),
            parked: self.parked.saturating_add(other.parked),
            out_of_order: self.out_of_order.saturating_add(other.out_of_order),
            traces_closed: self.traces_closed.saturating_add(other.traces_closed),
            traces_evicted: self.traces_evicted.saturating_add(other.traces_evicted),
            traces_parked: self.traces_parked.saturating_add(other.traces_parked),
            traces_resumed: self.traces_resumed.saturating_add(other.traces_resumed),
            findings: self.findings.saturating_add(other.findings),
            looked_at: self.looked_at.saturating_add(other.looked_at),
        };
    }
}

fn write_line(to: &mut dyn Write, line: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(line).map_err(|error| broken(&error))?;
    text.push(b'\n');
    Ok(to.write_all(&text)?)
}

fn read_line(from: &mut dyn BufRead, text: &mut String) -> Result<()> {
    text.clear();
    from.read_line(text)?;
    if text.ends_with('\n') { Ok(()) } else { Err(Error::trace("the state ends early")) }
}

fn at(line: u64, message: &str) -> Error {
    Error::trace(format!("line {line} of the state: {message}"))
}

fn broken(error: &serde_json::Error) -> Error {
    Error::trace(format!("cannot write the state of a trace: {error}"))
}
